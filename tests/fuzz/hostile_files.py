"""Hostile files and command lines, made from a number; `hostile_server` runs them.

Every case is a folder with a table, a model file and what the case adds, and a command
line that is run in it. Case ``i`` is always the same.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile_bytes import damaged, odd_archive, odd_text, odd_workbook

ESCAPE = "\x1b]0;owned\x07\x1b[31m\x1b[2J"
TINY = """
figures = []
[[data]]
setting = "mixture1"
d = 4
rows = 1_000
repetitions = 1

[[methods]]
name = "ConstantImputedLR"
estimator = "missfit.ConstantImputedLR"
"""


@dataclass
class Case:
    """A command line, the files that it finds, and the streams that are closed."""

    kind: str
    argv: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)  # name -> what stands there
    closed: tuple[int, ...] = ()
    full: bool = False  # standard output has no room


def case(number: int, bases: dict[str, bytes]) -> Case:
    """Return the case of a number; ``bases`` are sound files to damage."""
    rng = random.Random(number)
    kinds = KINDS if number < TABLES_FROM else TABLE_KINDS
    return kinds[number % len(kinds)](rng, bases)


def place(one: Case, folder: Path, bases: dict[str, bytes]) -> None:
    """Write the files of a case."""
    for name in ("table.csv", "model.skops"):
        (folder / name).write_bytes(bases[name])
    for name, content in one.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    for name, what in one.odd.items():
        ODD[what](folder / name)


ODD = {
    "fifo": os.mkfifo,
    "folder": os.mkdir,
    "link to the table": lambda path: path.symlink_to("table.csv"),
    "link to the model": lambda path: path.symlink_to("model.skops"),
    "hard link": lambda path: os.link(path.parent / "table.csv", path),
    "dangling link": lambda path: path.symlink_to("nowhere.csv"),
    "loop": lambda path: path.symlink_to(path.name),
    "device": lambda path: path.symlink_to("/dev/null"),
    "zeros": lambda path: path.symlink_to("/dev/zero"),
    "private": lambda path: (path.write_text("old"), path.chmod(0o600)),
}


def _odd_csv(rng: random.Random, text: str) -> bytes:
    lines = text.splitlines()
    half = len(lines) // 2
    header, body = lines[0], "\n".join(lines[1:])
    choices: list[Any] = [
        "\r".join(lines),
        "\n".join(lines[:half]) + "\r\n" + "\r".join(lines[half:]),
        text.encode("utf-16"),
        text.replace("Paris", "Orl\u00e9ans").encode("latin-1"),
        text.encode("utf-8-sig"),
        text.replace("Paris", "\0"),
        text.replace("Paris", "x" * 500_000, 1),
        text.replace("Paris", '"' + "x" * 1_200_000 + '"', 1),
        text.replace("Paris", '"Paris', 1),
        header.replace("age", "city") + "\n" + body,
        header.replace("age", "") + "\n" + body,
        header.replace("age", ESCAPE) + "\n" + body,
        text.replace("Paris", ESCAPE),
        header.replace("age", "x" * 200_000) + "\n" + body,
        header,
        "",
        "\n\n\n",
        body,
        text.replace(",", ";").replace(".", ","),
        text.replace(",", ";"),
        "\n".join([header, *["," * 5] * 60]),
        text.replace("Paris", "1" + "0" * 400),
        "\n".join([lines[0]] + [f"{10**400},a,{j},1,2020-01-01" for j in range(60)]),
        "\n".join([lines[0]] + [f"{j},a,{j}{'0' * 400},1,x" for j in range(60)]),
        "\n".join([lines[0]] + [f"{j},a,1e{j * 10},1,x" for j in range(60)]),
        text.replace("2020-01", "2020-13"),
        text.replace("2020", "99999999"),
        text.replace("\n", "\n\n"),
        "\n".join(line + ",7" for line in lines),
        "\n".join([header] + [line + ",7" for line in lines[1:]]),
        "\n".join(line.rsplit(",", 1)[0] for line in lines),
        ",".join(f"c{j}" for j in range(3000)) + ",y\n" + "1," * 3000 + "2\n",
        "y\n" + "1\n2\n" * 60,
        rng.randbytes(rng.choice([1, 10, 5000])),
        "PK\x03\x04" + text,
        "\ud800".encode("utf-8", "surrogatepass") + text.encode(),
        text.replace("Paris", "\u202e\u2066"),
        "<html><body>" + text,
        '{"a": 1}\n' * 50,
        text.replace("y", "Y"),
    ]
    made = rng.choice(choices)
    content = made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
    return damaged(rng, content) if content and rng.random() < 0.2 else content


def _command_on(rng: random.Random, data: str) -> list[str]:
    """Return a command that reads a table, and is quick where the table is sound."""
    which = rng.random()
    said = rng.choice(SAID) if rng.random() < 0.2 else []
    if which < 0.5:
        line = ["fit", data, "--target", "y", "--model", "out.skops", *said]
        return [*line, "--predictor", "ConstantImputedLR"]
    if which < 0.95:
        out = ["--out", "out.csv"] if rng.random() < 0.7 else []
        return ["predict", "model.skops", data, *out, *said]
    return ["compare", data, "--target", "y", "--jobs", "1", *said, *QUICK]


SAID = [["--encoding", name] for name in ("utf-8", "utf-16", "cp1252", "punycode")]
SAID += [["--na", "Paris"], ["--na", ""], ["--sheet", "Sheet"], ["--sheet", ESCAPE]]
SLOW = (
    *("AutoRegressor", "ConditionalImputedLR", "EMLR", "ExpandedLR", "FactorizedLR"),
    *("HistGradientBoosting", "IterativeImputer + ridge", "MICELR", "MLP", "NeuMiss"),
    *("PartialPooling", "PatternMixtureLR", "SelfMaskedLR", "mean + indicator ridge"),
)
QUICK = [part for name in SLOW for part in ("--skip", name)]


# ---- kinds of case -------------------------------------------------------------------


def csv_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Damage a CSV file."""
    content = _odd_csv(rng, bases["table.csv"].decode())
    return Case("csv", _command_on(rng, "odd.csv"), {"odd.csv": content})


def text_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Write a text file in a strange way."""
    content = odd_text(rng, bases["table.csv"].decode())
    name = rng.choice(["odd.csv", "odd.csv", "odd.tsv", "odd.txt"])
    return Case("text", _command_on(rng, name), {name: content})


def packed_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Pack a table in a strange way."""
    name, content = odd_archive(rng, bases["table.csv"].decode())
    return Case("packed", _command_on(rng, name), {name: content})


def workbook_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Damage a workbook."""
    base = bases.get("sheet.xlsx", b"PK\x03\x04")
    content = odd_workbook(rng, base) if len(base) > 4 else base
    return Case("workbook", _command_on(rng, "odd.xlsx"), {"odd.xlsx": content})


def arrow_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Damage a Feather or Parquet file."""
    base = rng.choice(
        [n for n in sorted(bases) if n.endswith((".feather", ".parquet"))]
    )
    name = "odd." + base.rpartition(".")[2]
    content = damaged(rng, bases[base])
    return Case(base, _command_on(rng, name), {name: content})


NUMBERS = ["-1", "0", "1", "5", "1e3", "1e400", "nan", "inf", "", "x", "9" * 30, "²"]
NUMBERS += ["9" * 5000, "0x10", " 7 ", "-0", "1_000", "None", ESCAPE]
NAMES = ["y", "Y", "age", "city", "", "nothing", ESCAPE, "x" * 5000, "\ud800", "age,y"]


def option_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Give options that are wrong, out of range, or at odds with each other."""
    command = rng.choice(["fit", "fit", "compare", "predict", "simulate", "study", ""])
    line = {
        "fit": ["fit", "table.csv", "--model", "out.skops"],
        "compare": ["compare", "table.csv"],
        "predict": ["predict", "model.skops", "table.csv"],
        "simulate": ["simulate", rng.choice(["mixture1", "selfmasked", ESCAPE])],
        "study": ["study", rng.choice(["quick", "nothing", ESCAPE, "table.csv"])],
        "": [rng.choice(NAMES)],
    }[command]
    if command == "study" and line[1] == "quick":
        line.append("--dry-run")
    if command == "compare":  # a target that stops it before anything is fitted
        line += ["--target", rng.choice(["city", "", "nothing", ESCAPE])]
    if command == "fit":
        line += ["--target", rng.choice(NAMES), "--predictor", "ConstantImputedLR"]
    if command == "simulate":
        line += ["--out", rng.choice(["out.csv", "out.parquet", "out.xlsx"])]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        name, values = rng.choice(OPTIONS[command])
        line += [name] if values is None else [f"{name}={rng.choice(values)}"]
    return Case("options", line)


KINDS_OF = [f"{name}={kind}" for name in NAMES for kind in ("number", "text", "drop")]
TABLE = [("--drop", NAMES), ("--categorical", NAMES), ("--group", NAMES)]
TABLE += [("--as", [*KINDS_OF, *NAMES]), ("--na", NAMES), ("--encoding", NAMES)]
TABLE += [("--seed", NUMBERS)]
OPTIONS: dict[str, list] = {
    "fit": [
        *TABLE,
        ("--target", NAMES),
        ("--coverage", NUMBERS),
        ("--predictor", NAMES),
    ],
    "compare": [*TABLE, ("--folds", NUMBERS), ("--rows", NUMBERS), ("--jobs", NUMBERS)],
    "predict": [("--out", ["out.parquet", "out.csv", "x" * 300]), ("--x", None)],
    "simulate": [("--d", [*NUMBERS, "4"]), ("--n", [*NUMBERS, "50", "9" * 15])] * 2
    + [("--seed", NUMBERS)],
    "study": [("--max-rows", NUMBERS), ("--methods", NAMES), ("--jobs", NUMBERS)],
    "": [("--version", None), ("--help", None), (ESCAPE, None)],
}


def output_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Write to odd places, or with streams that are closed or full."""
    what = rng.choice([*ODD, "table.csv", "model.skops", "name"])
    name = "odd.csv" if what in ODD else what
    if what == "name":
        names = ["", ".", "..", "/", "no/such/x.csv", "table.csv/x.csv", "x" * 300]
        names += [
            "x" * 250 + ".csv",
            "a\nb.csv",
            ESCAPE + ".csv",
            "/proc/x.csv",
            "é.csv",
        ]
        name = rng.choice([*names, "x." + "y" * 200, "/dev/full", "-"])
    line = rng.choice(
        [
            ["predict", "model.skops", "table.csv", f"--out={name}"],
            ["fit", "table.csv", "--target=y", f"--model={name}", "--predictor=EMLR"],
            ["simulate", "mixture1", "--d=4", "--n=50", f"--out={name}"],
            ["compare", "table.csv", "--target=city", f"--out={name}"],
            ["study", "tiny.toml", "--collect", f"--out={name}"],
            ["predict", "model.skops", "table.csv"],
        ]
    )
    closed = rng.choice([(), (), (), (0,), (1,), (2,), (1, 2), (0, 1, 2)])
    odd = {name: what} if what in ODD else {}
    files = {"tiny.toml": TINY.encode()}
    return Case("outputs", line, files, odd, closed, not closed and rng.random() < 0.1)


def input_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Read from odd places."""
    what = rng.choice(sorted(ODD))
    suffix = rng.choice(
        [".csv", ".parquet", ".feather", ".toml", ".skops", ".xlsx", ""]
    )
    name = "odd" + suffix
    if suffix == ".toml":
        return Case("inputs", ["study", name, "--dry-run"], odd={name: what})
    if suffix == ".skops":
        return Case("inputs", ["predict", name, "table.csv"], odd={name: what})
    return Case("inputs", _command_on(rng, name), odd={name: what})


def study_case(rng: random.Random, bases: dict[str, bytes]) -> Case:
    """Define a study in a strange way, or leave damaged parts in its folder."""
    line = ["study", "odd.toml", "--dry-run", "--out", "out"]
    files = {"odd.toml": _odd_study(rng), "own.py": b"import sys\nsys.exit('own')\n"}
    if rng.random() < 0.15:  # what there is of a study whose parts are damaged
        line[2] = "--collect"
        files["odd.toml"] = TINY.encode()
        files["out/parts/part-1.jsonl"] = damaged(rng, RECORD)
        files["out/parts/part-2.jsonl"] = rng.choice(PARTS)
        if rng.random() < 0.5:
            files["out/parts/part-3.jsonl.gz"] = rng.choice([b"", b"\x1f\x8bxx", b"x"])
    return Case("study", line, files)


KEY = b'{"key": "0123456789abcdef0123456789abcdef", '
RECORD = KEY + b'"status": "ok", "message": "", "test": {"r2": 0.5}}\n' * 3
PARTS = [
    b"{}\n[]\n3\nnull\n" + b"[" * 100_000 + b"\n",
    KEY + b'"status": 3}\n' + KEY + b'"status": "ok"}\n',
    KEY + b'"status": "ok", "message": "", "test": [1]}\n',
    KEY + b'"status": "ok", "message": "", "seed": ' + b"9" * 400 + b"}\n",
    b"\xff\xfe\0\0\n",
]


def _odd_study(rng: random.Random) -> bytes:
    deep = 20_000
    method = 'name = "a"\nestimator = "missfit.EMLR"'
    parts: list[str] = [
        TINY.replace("missfit.ConstantImputedLR", path)
        for path in (
            *("os.system", "subprocess.Popen", "builtins.eval", "os", "own.Thing"),
            *("missfit.cli.main", "antigravity_.x", "", ".", "...", ":", "a b.c"),
            *(
                "sklearn.svm.SVR",
                "missfit.EMLR.fit",
                ESCAPE.encode("unicode_escape").decode(),
            ),
        )
    ]
    parts += [
        TINY.replace('"ConstantImputedLR"', f'"{name}"', 1)
        for name in (
            r"$\\frac{$",
            "$",
            "a" * 5000,
            r"\u0000",
            r"\u202e",
            "",
            "MLP Wide",
        )
    ]
    parts += [
        TINY.replace(old, new)
        for old, new in (
            ("d = 4", "d = 1_000_000"),
            ("d = 4", "d = []"),
            ("d = 4", "d = 4.0"),
            ("rows = 1_000", f"rows = {10**30}"),
            ("rows = 1_000", "rows = 1"),
            ("rows = 1_000", f"rows = {list(range(1, 3000))}"),
            ("repetitions = 1", "repetitions = 1_000_000_000_000"),
            ("repetitions = 1", "repetitions = [0, 0]"),
            ("repetitions = 1", "repetitions = [-1]"),
            ('setting = "mixture1"', 'file = "table.csv"\ntarget = "y"'),
            ('setting = "mixture1"\nd = 4', 'file = "table.csv"\ntarget = "y"'),
            ('setting = "mixture1"\nd = 4', 'file = "no.csv"\ntarget = "y"'),
            ('setting = "mixture1"\nd = 4', 'file = "/dev/zero"\ntarget = "y"'),
            ('setting = "mixture1"\nd = 4', 'file = "own.py"\ntarget = "y"'),
            ("figures = []", "figures = [9]"),
            ("figures = []", f"figures = {10**400}"),
            ("[[data]]", "[data]"),
            ("[[methods]]", "[[methods]]\n" + method + "\n[[methods]]"),
        )
    ]
    parts += [
        "a = " + "[" * deep + "]" * deep,
        ".".join(["a"] * deep) + " = 1",
        TINY + "parameters = " + "{a = " * 2000 + "1" + "}" * 2000,
        TINY + "parameters = {x = 1}",
        TINY + "parameters = {x = nan, y = 1979-05-27}",
        TINY + f"d = {'9' * 5000}",
        "",
        "data = 3\nmethods = 4",
        "data = [1]\nmethods = [2]",
        "\0",
        "x = 1979-99-99",
    ]
    text = rng.choice(parts).encode()
    return damaged(rng, text) if text and rng.random() < 0.25 else text


TABLES_FROM = 1_000_000  # numbers of cases with tables alone
TABLE_KINDS = (text_case, csv_case, packed_case, workbook_case, text_case)
KINDS = (
    csv_case,
    arrow_case,
    option_case,
    text_case,
    packed_case,
    workbook_case,
    csv_case,
    arrow_case,
    output_case,
    study_case,
    arrow_case,
    option_case,
    input_case,
)
