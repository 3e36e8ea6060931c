"""Commands run in worker processes that are limited, watched and replaced."""

import contextlib
import io
import multiprocessing
import os
import resource
import sys
import time
import traceback
from typing import NamedTuple

MOST_SECONDS = 20  # of work; of waiting a hundred times as many, on a busy machine
MOST_BYTES = 2 << 30
RUNS_CODE = {
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "subprocess.Popen",
    "socket.connect",
    "pickle.find_class",
}


class Outcome(NamedTuple):
    """What became of one command."""

    code: int | None  # of the command; None where the process died or was killed
    err: str
    seconds: float
    peak: int  # bytes of the worker so far
    events: list  # code that ran beside Python's own


class Worker:
    """A process that runs commands of missfit one by one."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, there = context.Pipe()
        self.process = context.Process(target=_serve, args=(there,), daemon=True)
        self.process.start()
        there.close()
        self.pipe.recv()  # ready: imports are not the command's time

    def run(self, arguments):
        """Run a command; a worker that dies or takes too long is replaced."""
        start = time.monotonic()
        with contextlib.suppress(EOFError, ConnectionError):
            self.pipe.send([str(argument) for argument in arguments])
            if self.pipe.poll(100 * MOST_SECONDS):
                return self.pipe.recv()
        seconds = time.monotonic() - start
        self.close()
        code = self.process.exitcode
        err = f"the process ended by signal {-code}" if code else "no end"
        self.__init__()
        return Outcome(None, err, seconds, 0, [])

    def close(self):
        """End the process."""
        self.process.join(0.1)
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe):
    """Run the commands that come through a pipe."""
    from missfit.cli import main

    # beyond the limit that is checked, so that what goes over it is told, not killed
    resource.setrlimit(resource.RLIMIT_DATA, (4 * MOST_BYTES, 4 * MOST_BYTES))
    events = []
    sys.addaudithook(
        lambda name, args: events.append(name) if name in RUNS_CODE else None
    )
    pipe.send("ready")
    while True:
        arguments = pipe.recv()
        del events[:]
        start, err = _limited_seconds(), io.StringIO()
        with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
            try:
                code = main(arguments)
            except BaseException:
                traceback.print_exc()
                code = 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        seconds = time.process_time() - start
        pipe.send(Outcome(code, err.getvalue(), seconds, peak, list(events)))


def _limited_seconds():
    """Let this process work a while longer; return the seconds it has worked so far."""
    worked = time.process_time()
    end = int(worked) + MOST_SECONDS + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (end, hard))
    return worked


def faults_of_refusal(outcome):
    """What is wrong with how a command ended, beside what it wrote."""
    faults = []
    if outcome.code not in (0, 2) or "Traceback" in outcome.err:
        faults.append(f"code {outcome.code}: {outcome.err[-600:]}")
    lines = [line for line in outcome.err.splitlines() if "warning:" not in line]
    if outcome.code == 2 and len(lines) != 1:
        faults.append(f"{len(lines)} lines: {outcome.err[:600]}")
    if outcome.seconds > MOST_SECONDS:
        faults.append(f"{outcome.seconds:.0f} s")
    if outcome.peak > MOST_BYTES:
        faults.append(f"{outcome.peak / 2**30:.1f} GB")
    if outcome.events:
        faults.append(f"ran {outcome.events}")
    return faults


def leftovers(folder, known):
    """Names in a folder that were not there before."""
    return sorted(set(os.listdir(folder)) - set(known))
