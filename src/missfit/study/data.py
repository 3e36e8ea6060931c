"""The data sets of a study: the paper's rows, draws from its laws, and tables in files.

In each data set 75 % of the rows are training rows, as in the paper
(``train_test_split(X, y, random_state=0)``). A table in a file is split anew in each
repetition. `missfit.study.laws` has the data sets of a user's own laws.
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

from missfit.simulate import ampute, published, published_data, published_sizes
from missfit.simulate.published import N_REPETITIONS
from missfit.tables.chunks import TableFile, open_source
from missfit.tables.problems import TableError, refuse_absent
from missfit.tables.read import column_names, stored

TEST_SHARE = 0.25


class Parts(NamedTuple):
    """The training rows, the test rows, and what could be known of the test rows.

    Attributes
    ----------
    X_train, y_train, X_test, y_test : ndarray
        Targets are floats, and classes are whole numbers.
    bayes : ndarray of shape (n_test,) or (n_test, K), optional
        What the Bayes predictor predicts for the test rows, or the probabilities of the
        Bayes classifier, where they are known.
    """

    X_train: NDArray[np.float64]
    y_train: NDArray
    X_test: NDArray[np.float64]
    y_test: NDArray
    bayes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class DataSet(ABC):
    """One table of a study.

    Attributes
    ----------
    setting : str
        The name of the data in tables and figures.
    d : int
        The number of features.
    rows : int
        The number of all rows, training and test.
    repetition : int
        Each repetition has other rows, or another split of the same rows.
    """

    setting: str
    d: int
    rows: int
    repetition: int

    kind = ""
    split_seed = 0

    @property
    def n(self) -> int:
        """The number of training rows."""
        return self.rows - int(np.ceil(TEST_SHARE * self.rows))

    @abstractmethod
    def table(self) -> tuple[NDArray[np.float64], NDArray]:
        """Return X, NaN where missing, and y."""

    def bayes(self, X: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return what the Bayes predictor predicts; None where it is not known."""
        return None

    def check(self) -> None:
        """Raise where the rows could not be made, before anything is run."""
        if self.n < 1:
            raise ValueError(
                f"{self.setting}: {self.rows} rows leave none to train on; give more."
            )

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
        return Parts(X_train, y_train, X_test, y_test, self.bayes(X_test))


@dataclass(frozen=True)
class SimulatedDataSet(DataSet):
    """Rows of one of the paper's settings.

    They are the authors' own rows where the paper has this number of rows and this
    repetition. Otherwise they are drawn from the same law.
    """

    @property
    def kind(self) -> str:
        """Return "published" for the authors' rows, "drawn" for others."""
        sizes = published_sizes(self.setting)[1]
        known = self.rows in sizes and self.repetition < N_REPETITIONS
        return "published" if known else "drawn"

    def table(self) -> tuple[NDArray[np.float64], NDArray]:
        """Return X, NaN where missing, and y."""
        if self.kind == "published":
            return published_data(self.setting, self.d, self.repetition, self.rows)
        name = f"{self.setting} {self.d} {self.rows} {self.repetition}"
        seed = int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 2**31
        return published(self.setting, self.d).sample(self.rows, random_state=seed)


class FileDescription(NamedTuple):
    """What is known of a file before a study.

    Attributes
    ----------
    n_rows, d : int
        The numbers of rows and of features.
    digest : str
        The digest of the file's content.
    """

    n_rows: int
    d: int
    digest: str


@dataclass(frozen=True)
class Amputation:
    """Holes to make in a table, see `missfit.simulate.ampute`.

    Attributes
    ----------
    mechanism : str
        "MCAR", "MAR", or "self-masking", which may be called "MNAR" too.
    rate : float
        The share of the observed values of each column that are taken out.
    strength : float
        How strongly the mechanism depends on the values.
    """

    mechanism: str
    rate: float
    strength: float = 1.0

    def __post_init__(self) -> None:
        # a table on which every rate that some table allows can be tried
        ampute(np.eye(100), self.mechanism, self.rate, strength=self.strength)

    @property
    def words(self) -> str:
        """Return the mechanism and the rate, as part of a name."""
        return f"{self.mechanism} {self.rate:g}"

    def applied(self, X: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        """Return a table with these holes beside those that it has.

        What is missing already counts as the mean of its column where the mechanism
        depends on it, and stays missing.
        """
        holes = np.isnan(X)
        if holes.all(axis=0).any():
            raise ValueError("a column without any value cannot be amputed; drop it.")
        filled = np.where(holes, np.nanmean(X, axis=0), X)
        options: Any = {"strength": self.strength, "random_state": seed}
        amputed = ampute(filled, self.mechanism, self.rate, **options)
        return np.where(holes, np.nan, amputed)


@dataclass(frozen=True)
class FileDataSet(DataSet):
    """Rows of a table in a file, split anew in each repetition.

    Attributes
    ----------
    path : str
        The file.
    digest : str
        The digest of the file's content: another content is another data set.
    target : str
        The column to predict.
    drop : tuple of str
        Columns that are not features.
    holes : Amputation, optional
        Holes to make, others in each repetition.
    """

    path: str
    digest: str
    target: str
    drop: tuple[str, ...] = ()
    holes: Amputation | None = None

    kind = "file"

    @property
    def split_seed(self) -> int:
        """The seed of the split; the rows are the same in every repetition."""
        return self.repetition

    def identity(self) -> dict[str, Any]:
        """Return what the rows depend on: the content of the file, not its place."""
        content = super().identity()
        left_out = ["path", "setting", *([] if self.holes else ["holes"])]
        return {k: v for k, v in content.items() if k not in left_out}

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X, NaN where missing, and y."""
        X, y, digest = _read_table(self.path, self.target, self.drop)
        if digest != self.digest:
            raise ValueError(f"{self.path} has changed since the study was read.")
        if self.rows < len(X):
            chosen = np.random.default_rng(self.repetition).permutation(len(X))
            X, y = X[chosen[: self.rows]], y[chosen[: self.rows]]
        return (self.holes.applied(X, self.repetition) if self.holes else X), y

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
    """Return the digest of the content of a table's files."""
    digest = hashlib.sha256()
    for part in stored(path).parts:
        digest.update(part.read_bytes())
    return digest.hexdigest()
