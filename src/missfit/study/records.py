"""The results: records appended to part files, and the tidy table of all of them.

A run appends one JSON line for each cell to a part file of its own and syncs it to the
disk. The folder may hold any number of part files, from any number of runs and
machines, and old ones may be compressed (.jsonl.gz). A line that was torn by a kill or
a full disk is not read, and its cell is run again.
"""

from __future__ import annotations

import gzip
import json
import os
import secrets
import zlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from missfit.study.grid import Cell, Study
from missfit.writing import sync_folder, whole_file

COLUMNS = (
    "setting",
    "d",
    "n",
    "rows",
    "repetition",
    "method",
    "split",
    "mse",
    "r2",
    "fit_seconds",
    "predict_seconds",
    "status",
    "message",
    "data",
    "estimator",
    "parameters",
    "seed",
    "versions",
    "device",
    "key",
    "bayes_r2",
)
LATER = ("bayes_r2",)  # columns that tables of older versions do not have
SECONDS = ("fit_seconds", "predict_seconds")  # the columns that differ between runs
ORDER = ["setting", "d", "n", "method", "repetition", "split"]
SPLITS = ("test", "train")
FIELDS = {
    "key": str,
    "status": str,
    "message": str,
    "versions": str,
    "device": str,
    "seed": int,
    "fit_seconds": (int, float),
}

Record = dict[str, Any]


class PartFile:
    """The part file that one run appends to; it is made at the first record."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.path: Path | None = None

    def append(self, records: Iterable[Record]) -> None:
        """Append records, and return when they are on the disk."""
        text = "".join(json.dumps(record) + "\n" for record in records)
        try:
            if self.path is None:
                self.path = self._new_file()
            with self.path.open("ab", buffering=0) as file:
                left = memoryview(text.encode())
                while left:
                    left = left[file.write(left) :]
                os.fsync(file.fileno())
        except OSError as error:
            raise OSError(
                error.errno,
                f"{error.strerror or error}; what was finished before is safe in "
                f"{self.folder}. Make room and give the same command again to go on",
                str(self.path or self.folder),
            ) from error

    def _new_file(self) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        path = self.folder / f"part-{stamp}-{secrets.token_hex(4)}.jsonl"
        path.touch(exist_ok=False)
        sync_folder(self.folder)
        return path


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of all part files by key.

    Where a cell has several records, a success is preferred to a failure, and then a
    later record to an earlier one.
    """
    records: dict[str, Record] = {}
    for path in sorted(folder.glob("part-*.jsonl*")):
        if not path.is_file():
            continue
        for line in _bytes_of(path).split(b"\n")[:-1]:  # the last has no end: torn
            record = _parsed(line)
            if record is None:
                continue
            old = records.get(record["key"])
            if old is None or old["status"] != "ok" or record["status"] == "ok":
                records[record["key"]] = record
    return records


def _bytes_of(path: Path) -> bytes:
    data = path.read_bytes()
    try:
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is damaged ({error}); copy it again, or remove it, and its cells "
            "are run again."
        ) from error


def _parsed(line: bytes) -> Record | None:
    """Return a record, None where the line is torn or damaged: the cell runs again."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and _is_sound(record) else None


def _is_sound(record: Record) -> bool:
    """Return whether a record has a key and a status, and values of the right types."""
    given = [record[name] for name in FIELDS if name in record]
    kinds = [FIELDS[name] for name in FIELDS if name in record]
    typed = all(map(isinstance, given, kinds))
    scores = [record.get(split, {}) for split in SPLITS]
    numbers = all(
        isinstance(one, dict) and all(isinstance(v, (int, float)) for v in one.values())
        for one in scores
    )
    return typed and numbers and {"key", "status", "message"} <= record.keys()


def finished(records: dict[str, Record]) -> set[str]:
    """Return the keys of the cells that need not be run again."""
    return {key for key, record in records.items() if record["status"] == "ok"}


def tidy_table(study: Study, records: dict[str, Record]):
    """Return one row per finished cell of the study and split, sorted."""
    import pandas as pd

    rows = [
        row
        for cell in study.cells()
        if cell.key in records
        for row in _rows(cell, records[cell.key])
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.sort_values(ORDER, kind="stable", ignore_index=True)


def _rows(cell: Cell, record: Record) -> Iterable[Record]:
    data, method = cell.data, cell.method
    common = {
        "setting": data.setting,
        "d": data.d,
        "n": data.n,
        "rows": data.rows,
        "repetition": data.repetition,
        "method": method.name,
        "fit_seconds": record.get("fit_seconds"),
        "status": record["status"],
        "message": record["message"],
        "data": data.kind,
        "estimator": method.estimator,
        "parameters": method.parameters,
        "seed": record.get("seed"),
        "versions": record.get("versions", ""),
        "device": record.get("device", ""),
        "key": cell.key,
    }
    for split in SPLITS:
        scores = record.get(split, {})
        yield common | {
            "split": split,
            "mse": scores.get("mse", float("nan")),
            "r2": scores.get("r2", float("nan")),
            "predict_seconds": scores.get("seconds", float("nan")),
            "bayes_r2": scores.get("bayes_r2", float("nan")),
        }


def write_table(table, path: Path) -> None:
    """Write a tidy table (.parquet, .csv or .csv.gz), whole or not at all."""
    with whole_file(path) as part:
        if path.suffix == ".parquet":
            table.to_parquet(part, index=False, compression="zstd")
        else:
            table.to_csv(part, index=False)


def read_table(path: str | Path):
    """Read a tidy table: a file, or the folder of a study's results."""
    import pandas as pd

    path = Path(path)
    if path.is_dir():
        path = path / "results.parquet"
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; has the study been run?")
    table = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    missing = [name for name in COLUMNS if name not in table and name not in LATER]
    if missing:
        raise ValueError(f"{path} is not a table of results: no column {missing[0]!r}.")
    return table.reindex(columns=list(COLUMNS)).fillna({"message": ""})
