"""Runs cases of `hostile_files`: a process that loads missfit once and forks for each.

A crash, a hang or a full memory is that of the fork, and is counted. Numbers of cases
come in on standard input, one in a line; results go out as lines of JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from hostile_files import Case, case, place

# Of work. A whole comparison of 80 rows with three classes takes 34 on two cores of a
# Xeon, 19 of them for networks, which are worth it: with 48 and 80 rows of |x1| + x3
# MLP has an R2 of .81 and .89, the next best .58 and .73.
SECONDS, COMPARISON = 20, 90
WAITING = 2_000  # the machine may be busy
BYTES = 2 * 2**30


def serve() -> None:
    """Answer until standard input ends."""
    import matplotlib.figure  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import skops.io  # noqa: F401

    import missfit.cli
    import missfit.workflow.compare
    import missfit.workflow.predict  # noqa: F401

    bases = _bases()
    for line in sys.stdin:
        result = run(int(line), bases)
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def _bases() -> dict[str, bytes]:
    """Return sound files, made in a fork: this process must not start threads."""
    folder = Path(tempfile.mkdtemp())
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _write_bases(folder)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the sound files could not be made")
    bases = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    shutil.rmtree(folder)
    return bases


def _write_bases(folder: Path) -> None:
    import numpy as np
    import pandas as pd

    from missfit.cli import main

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 80).round(2)})
    frame["city"] = rng.choice(["Paris", "Lyon", "Nice"], 80)
    frame["y"] = (frame["age"] + rng.normal(size=80)).round(3)
    frame["dose"] = np.where(rng.random(80) < 0.3, np.nan, 1.0 + np.arange(80))
    frame["day"] = pd.date_range("2020-01-01", periods=80).strftime("%Y-%m-%d")
    frame.to_csv(folder / "table.csv", index=False)
    line = ["fit", str(folder / "table.csv"), "--target", "y", "--model"]
    assert main([*line, str(folder / "model.skops"), "--predictor=EMLR"]) == 0
    if importlib.util.find_spec("openpyxl"):
        frame.to_excel(folder / "sheet.xlsx", index=False, engine="openpyxl")
    rich = frame.assign(day=pd.to_datetime(frame["day"]))
    rich["flag"] = rng.random(80) < 0.5
    rich["kind"] = pd.Categorical(rng.choice(["a", "b"], 80))
    rich["count"] = pd.array(rng.integers(0, 9, 80), dtype="Int64")
    for compression in ("lz4", "zstd", "uncompressed"):
        rich.to_feather(folder / f"{compression}.feather", compression=compression)
    frame.to_feather(folder / "plain.feather", compression="uncompressed")
    for compression in ("snappy", "none"):
        rich.to_parquet(folder / f"{compression}.parquet", compression=compression)


def run(number: int, bases: dict[str, bytes]) -> dict[str, Any]:
    """Run a case in a fork, and return how it ended and what is wrong with that."""
    one = case(number, bases)
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        place(one, folder, bases)
        start = time.monotonic()
        child = os.fork()
        if not child:
            _be_the_command(one, folder)
        status, n_bytes = _wait(child, start + WAITING)
        seconds = time.monotonic() - start
        wrong = _problems(one, folder, bases, status)
        wrong += [f"{n_bytes:,} bytes"] if n_bytes > BYTES else []
        code = os.waitstatus_to_exitcode(status)
        err = _read(folder / ".err")
        shown = one.argv if len(str(one.argv)) < 500 else str(one.argv)[:500]
        return {
            "case": number,
            "kind": one.kind,
            "argv": shown,
            "code": code,
            "seconds": round(seconds, 2),
            "bytes": n_bytes,
            "wrong": wrong,
            "last": err.strip().rpartition("\n")[2][:400],
        }
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(child: int, deadline: float) -> tuple[int, int]:
    """Wait for a fork, and end it after a time; return its status and most memory."""
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(child, os.WNOHANG)
        if pid:
            return status, usage.ru_maxrss * 1024
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return status, usage.ru_maxrss * 1024


def _be_the_command(one: Case, folder: Path) -> None:
    """Run the command line of a case as this process, and end it."""
    code = 99
    try:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (size + 3 * 2**30,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        seconds = COMPARISON if "compare" in one.argv[:1] else SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        os.chdir(folder)
        os.environ["COLUMNS"] = "80"
        _set_streams(one)
        from missfit.cli import main

        code = main(one.argv)
    except SystemExit as stop:  # argparse
        code = stop.code if isinstance(stop.code, int) else 98
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "backslashreplace"))
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


def _set_streams(one: Case) -> None:
    places = ("/dev/null", "/dev/full" if one.full else ".out", ".err")
    for descriptor, name in enumerate(places):
        opened = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(opened, descriptor)
        os.close(opened)
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))
    for descriptor in one.closed:
        os.close(descriptor)
        if descriptor:
            setattr(sys, ("", "stdout", "stderr")[descriptor], None)


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _problems(one: Case, folder: Path, bases: dict[str, bytes], status: int) -> list:
    """Return what is wrong with how a case ended."""
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        late = " (over time)" if name in ("SIGKILL", "SIGXCPU") else ""
        return [f"signal {name}{late}"]
    code = os.waitstatus_to_exitcode(status)
    err, out = _read(folder / ".err"), _read(folder / ".out")
    wrong = []
    if code not in (0, 1, 2) or (code == 1 and one.argv[0] != "study"):
        wrong.append(f"exit code {code}")
    if "Traceback" in err or "not foreseen" in err:
        wrong.append(f"traceback: {err[-600:]}")
    if any(not c.isprintable() and c != "\n" for c in err + out):
        wrong.append("control characters are printed raw")
    if code == 2 and 2 not in one.closed and not _helps(err):
        wrong.append(f"no line that helps: {err[-300:]!r}")
    left = [p.name for p in folder.rglob(".*") if p.name not in (".out", ".err")]
    if left:
        wrong.append(f"left behind: {left}")
    for name in ("table.csv", "model.skops"):
        if name in one.argv and (folder / name).read_bytes() != bases[name]:
            wrong.append(f"{name}, which the command reads, was changed")
    for name, what in one.odd.items():
        if what == "fifo" and not (folder / name).is_fifo():
            wrong.append("a pipe was replaced")
        if "link to" in what and not (folder / name).is_symlink():
            wrong.append("a link was replaced")
        if what == "private" and (folder / name).stat().st_mode & 0o777 != 0o600:
            wrong.append("permissions were changed")
    return wrong


def _helps(err: str) -> bool:
    """Whether the last line of standard error is a message of ours, of some length."""
    last = err.strip().rpartition("\n")[2]
    return last.startswith("missfit") and 20 < len(last) < 1_500


if __name__ == "__main__":
    serve()
