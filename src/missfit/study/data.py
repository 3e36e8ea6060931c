"""The data sets of a study: the paper's rows, draws from its laws, or a user's table.

The training rows are 75 % as in the paper (``train_test_split(X, y, random_state=0)``);
a user's table is split anew in each repetition.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from missfit.simulate import published, published_data, published_sizes
from missfit.simulate.published import N_REPETITIONS
from missfit.tables.chunks import TableFile, open_source
from missfit.tables.problems import TableError, refuse_absent
from missfit.tables.read import column_names, stored

TEST_SHARE = 0.25


class Parts(NamedTuple):
    """Training and test rows."""

    X_train: NDArray[np.float64]
    y_train: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


@dataclass(frozen=True)
class DataSet(ABC):
    """One table of a study.

    Attributes
    ----------
    setting : str
    d : int
        Features.
    rows : int
        All rows, training and test.
    repetition : int
    """

    setting: str
    d: int
    rows: int
    repetition: int

    kind = ""
    split_seed = 0

    @property
    def n(self) -> int:
        """Training rows."""
        return self.rows - int(np.ceil(TEST_SHARE * self.rows))

    @abstractmethod
    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X, NaN where missing, and y."""

    def identity(self) -> dict[str, Any]:
        """Return what the rows and their split depend on."""
        return asdict(self) | {"split": [TEST_SHARE, self.split_seed]}

    def parts(self) -> Parts:
        """Return the training and test rows."""
        X, y = self.table()
        parts: Any = train_test_split(
            X, y, test_size=TEST_SHARE, random_state=self.split_seed
        )
        X_train, X_test, y_train, y_test = parts
        return Parts(X_train, y_train, X_test, y_test)


@dataclass(frozen=True)
class SimulatedDataSet(DataSet):
    """Rows of one of the paper's settings.

    The authors' own rows where the paper has this number of rows and this repetition;
    otherwise a draw from the same law.
    """

    @property
    def kind(self) -> str:
        """Return "published" for the authors' rows, "drawn" for others."""
        sizes = published_sizes(self.setting)[1]
        known = self.rows in sizes and self.repetition < N_REPETITIONS
        return "published" if known else "drawn"

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X, NaN where missing, and y."""
        if self.kind == "published":
            return published_data(self.setting, self.d, self.repetition, self.rows)
        name = f"{self.setting} {self.d} {self.rows} {self.repetition}"
        seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 2**31
        return published(self.setting, self.d).sample(self.rows, random_state=seed)


class FileDescription(NamedTuple):
    """What is known of a file before a study: rows, features, digest."""

    n_rows: int
    d: int
    digest: str


@dataclass(frozen=True)
class FileDataSet(DataSet):
    """Rows of a table in a file, in a random order for each repetition.

    Attributes
    ----------
    path : str
    digest : str
        Of the file's content: another content is another data set.
    target : str
    drop : tuple of str
        Columns that are not features.
    """

    path: str
    digest: str
    target: str
    drop: tuple[str, ...] = ()

    kind = "file"

    @property
    def split_seed(self) -> int:
        """Seed of the split; the rows are the same in every repetition."""
        return self.repetition

    def identity(self) -> dict[str, Any]:
        """Return what the rows depend on: the content of the file, not its place."""
        content = super().identity()
        return {k: v for k, v in content.items() if k not in ("path", "setting")}

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X, NaN where missing, and y."""
        X, y, digest = _read_table(self.path, self.target, self.drop)
        if digest != self.digest:
            raise ValueError(f"{self.path} has changed since the study was read.")
        if self.rows < len(X):
            chosen = np.random.default_rng(self.repetition).permutation(len(X))
            X, y = X[chosen[: self.rows]], y[chosen[: self.rows]]
        return X, y

    @staticmethod
    def describe(path: str, target: str, drop: tuple[str, ...]) -> FileDescription:
        """Read a file and return its rows, features and digest."""
        X, _, digest = _read_table(path, target, drop)
        return FileDescription(len(X), X.shape[1], digest)


def _read_table(path: str, target: str, drop: tuple[str, ...]):
    """Return X, y and the digest of a table, read again only where it has changed."""
    states = [part.stat() for part in stored(path).parts]
    times = tuple((state.st_mtime_ns, state.st_size) for state in states)
    return _read_once(path, target, drop, times)


@lru_cache(maxsize=1)
def _read_once(path: str, target: str, drop: tuple[str, ...], state: tuple):
    del state
    names = column_names(path)
    refuse_absent([target, *drop], names, path)
    features = [name for name in names if name not in (target, *drop)]
    X, y = _numbers(path, features, target)
    if np.isnan(y).any():
        raise ValueError(
            f"{path}: the target {target!r} is missing in {int(np.isnan(y).sum())} "
            f"rows, first row {np.argmax(np.isnan(y))}; leave those rows out."
        )
    if len(X) < 4:
        raise ValueError(f"{path} has {len(X)} rows; a study needs at least 4.")
    X.setflags(write=False)
    y.setflags(write=False)
    return X, y, _digest(path)


def _numbers(path: str, features: list[str], target: str):
    """Return X and y of a table, as every estimator reads it."""
    if not features:
        raise ValueError(f"{path} has no column to be a feature beside {target!r}.")
    try:
        chunks = list(open_source(TableFile(path, features), target).chunks())
    except TableError as error:
        way_out = f" In a study: drop = [{error.column!r}]." if error.column else ""
        raise ValueError(f"{error}{way_out}") from error
    if not chunks:
        raise ValueError(f"{path} has a header and no rows; add rows.")
    X = np.concatenate([chunk.X.to_numpy() for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


def _digest(path: str) -> str:
    """Digest of the content of a table's files."""
    digest = hashlib.sha256()
    for part in stored(path).parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()
