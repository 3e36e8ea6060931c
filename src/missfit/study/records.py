"""The results: records appended to part files, and the tidy table of all of them.

A run appends one JSON line for each cell to a part file (`missfit.part_files`). The
folder may hold those of any number of runs and machines, and old ones may be compressed
(.jsonl.gz). A line that was torn by a kill or a full disk is not read, and its cell is
run again.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path

from missfit.part_files import Record, whole_records
from missfit.study.grid import Cell, Study
from missfit.writing import whole_file

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
    "log_loss",
    "accuracy",
    "bayes_log_loss",
    "bayes_accuracy",
    "excess_log_loss",
)
LATER = COLUMNS[-6:]  # columns that tables of older versions do not have
SCORES = ("mse", "r2", *LATER)
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


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of all part files by key.

    Where a cell has several records, a success is preferred to a failure, and then a
    later record to an earlier one.
    """
    records: dict[str, Record] = {}
    for path in sorted(folder.glob("part-*.jsonl*")):
        if not path.is_file():
            continue
        for record in filter(_is_sound, whole_records(_bytes_of(path))):
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
            "predict_seconds": scores.get("seconds", float("nan")),
            **{name: scores.get(name, float("nan")) for name in SCORES},
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
