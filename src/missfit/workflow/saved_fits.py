"""The finished fits of a comparison in a folder: it can be stopped, and go on."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison
from missfit.comparison.candidates import Candidate
from missfit.comparison.fits import Fit
from missfit.part_files import PartFile, Record, whole_records
from missfit.versions import versions
from missfit.writing import whole_file

NAME = re.compile(r"[0-9a-f]{16}")  # of the folder of one set of numbers
REPORTED = "reported"  # the file that holds the name of those that the report is of


class SavedFits:
    """Keeps fits in part files, in a folder for each set of numbers to learn from.

    What the fits depend on names the folder: the table as the candidates meet it, its
    folds, the seed and the versions of the libraries. So a table or an option that
    changes the numbers leads to another folder, and everything is fitted anew. A fit
    that failed is not kept, and a record that is damaged is not read: both are made
    again.

    Parameters
    ----------
    folder : Path
        It holds one folder for each set of numbers.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._known: dict[tuple[str, str, str], list[Fit]] = {}
        self._file: PartFile | None = None
        self._place = folder

    def begin(self, comparison: Comparison) -> list[str]:
        """Read the fits of this very comparison; say what was found."""
        place = self._place = self.folder / fingerprint(comparison)
        self._file = PartFile(place)
        for path in sorted(place.glob("part-*.jsonl")):
            for record in whole_records(_bytes_of(path)):
                fits = _fits(record)
                if fits is not None:
                    self._known[_key(record)] = fits
        if self._known:
            n_fits = sum(map(len, self._known.values()))
            return [f"{n_fits} fits of an earlier run are used, from {self.folder}"]
        if self._holds_others():
            return [
                f"{self.folder} has the fits of another table, of other options or of "
                "another version: everything is fitted anew, and what is beside it is "
                "kept as report-before.html and results-before.csv"
            ]
        return []

    @property
    def report_is_of_this(self) -> bool:
        """Whether the report beside the fits is of this very comparison."""
        name = self.folder / REPORTED
        return name.is_file() and name.read_bytes() == self._place.name.encode()

    def say_reported(self) -> None:
        """Remember that the report beside the fits is of this comparison."""
        with whole_file(self.folder / REPORTED) as part:
            part.write_text(self._place.name)

    def _holds_others(self) -> bool:
        if not self.folder.is_dir():
            return False
        return any(NAME.fullmatch(one.name) for one in self.folder.iterdir())

    def forget_others(self) -> None:
        """Remove the fits of other tables, options and versions.

        Those of this comparison stay: the same command with a longer budget, or with
        other candidates, goes on from them.
        """
        assert self._file is not None, "begin comes first"
        for one in self.folder.iterdir():
            if NAME.fullmatch(one.name) and one != self._place:
                shutil.rmtree(one, ignore_errors=True)

    def load(self, one: Candidate, part: str) -> list[Fit] | None:
        """Return the fits of a candidate to a part of the table, None if unknown."""
        return self._known.get((one.name, one.code, part))

    def save(self, one: Candidate, part: str, fits: Sequence[Fit]) -> None:
        """Keep fits that did not fail; they are on the disk when this returns."""
        assert self._file is not None, "begin comes first"
        if any(fit.failure for fit in fits):
            return
        self._known[one.name, one.code, part] = list(fits)
        record = {"candidate": one.name, "code": one.code, "part": part}
        self._file.append([record | {"fits": [_saved(fit) for fit in fits]}])


def fingerprint(comparison: Comparison) -> str:
    """Return a name for all that the fits of a comparison depend on.

    It is a hash of the numbers that the candidates meet, fold by fold, and not of the
    file: reading the same rows from another format changes nothing.
    """
    tables = [comparison.X]  # most folds meet the table as all rows encode it
    tables += [X for X in comparison.fold_tables if X is not comparison.X]
    groups = np.zeros(0) if comparison.fit_groups is None else comparison.fit_groups
    parts: list[NDArray] = [*tables, comparison.y, comparison.fold, groups]
    task = "" if comparison.task.classes is None else str(comparison.task.classes)
    found = hashlib.sha256(f"{comparison.seed} {versions()}{task}".encode())
    for values in parts:
        found.update(f"{values.dtype} {values.shape}".encode())
        if values.dtype.kind == "O":
            found.update("\0".join(map(str, values)).encode(errors="replace"))
        else:
            found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()[:16]


def _bytes_of(path: Path) -> bytes:
    """Return the content of a file, nothing where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _key(record: Record) -> tuple[str, str, str]:
    return tuple(record[name] for name in ("candidate", "code", "part"))


def _fits(record: Record) -> list[Fit] | None:
    """Return the fits of a record, None where it is damaged."""
    try:
        known = all(isinstance(name, str) for name in _key(record))
        fits = [_fit(one) for one in record["fits"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    return fits if known else None


def _saved(fit: Fit) -> dict[str, Any]:
    return {"predictions": fit.predictions.tolist(), "seconds": fit.seconds}


def _fit(saved: Any) -> Fit:
    predictions = np.asarray(saved["predictions"], dtype=np.float64)
    seconds = float(saved["seconds"])
    if not (np.isfinite(predictions).all() and 0 <= seconds < np.inf):
        raise ValueError("not finite")
    return Fit(predictions, seconds, "")
