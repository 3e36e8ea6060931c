"""TableEncoder: columns of any kind to numbers, one mask bit per variable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from missfit.estimators.documented import DocumentedEstimator
from missfit.estimators.least import check_least
from missfit.estimators.levels import kept_levels, kinds_in_words, some_levels
from missfit.moments.patterns import variable_mask
from missfit.tables.arrays import masked_rows, refuse_same_names
from missfit.tables.column_reading import ColumnReading, Misfits
from missfit.tables.columns import (
    Column,
    array_column,
    pandas_column,
    polars_column,
    shown,
)
from missfit.tables.problems import TableError
from missfit.tables.reading import Reading, decided, refuse_misfits


class TableEncoder(TransformerMixin, DocumentedEstimator):
    """Turn the columns of a table into numbers and keep one mask bit per variable.

    Numbers and booleans stay one column, a date becomes days since 1970-01-01, a
    category of k levels becomes k - 1 columns of 0 and 1 (its most frequent level is
    all zeros). Where a value is missing, every column of its variable is NaN: the
    missing patterns of the output are those of the variables, and no level is made up
    for "missing". Put it in a Pipeline before any predictor of the library.

    Parameters
    ----------
    categorical : sequence of str or int
        Columns to take as categories although they look like numbers, dates or
        booleans, by name (by position where X has no names). pandas' and polars'
        categorical columns are taken as such without being named.
    max_categories : int
        A category with more levels keeps the most frequent ``max_categories - 1`` and
        puts the others together as "(other)", or as "((other))" where a level that is
        kept is itself called "(other)".
    unknown : {"missing", "error"}
        A level never seen at fit is counted among the rare ones, "(other)", where the
        variable has them together. Elsewhere it is taken as a missing value, or raises.
        So is a value that is no number, date or truth value in a column of these;
        where half of the values of a column are, it raises in any case.
    na : sequence of str
        Texts that stand for a missing value, beside those that are known.
    reading : Reading, optional
        How the columns are read, see `missfit.tables.reading.Reading`. By default this
        is decided from the rows of the fit.

    Attributes
    ----------
    kinds_ : list of str
        Of each variable: "number", "boolean", "date", "category", "identifier" (values
        that only tell rows apart) or "text" (free text), of both of which only the
        mask is kept, or "empty" (nothing observed at fit: always NaN).
    reading_ : Reading
        How each column is read; ``print(encoder.reading_.table())`` shows it.
    categories_ : list of list of str
        The levels of each variable, the one without a column first; [] for other kinds.
    pooled_ : list of str or None
        The name of the level that stands for the rare ones, None where there is none.
    variables_ : int ndarray of shape (n_columns_out,)
        The variable of each column of the output.
    n_features_in_, feature_names_in_

    Notes
    -----
    In columns of objects or text the kind is read off all their distinct values:
    numbers also with currencies, units, percent signs and decimal commas, dates in many
    writings, yes and no in several languages. A few values that do not fit are taken as
    missing, and so are numbers such as -999 that stand far from all others;
    ``reading_.notes()`` says which. pandas is not needed for arrays and polars frames,
    unless they hold dates as text.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1, "red"], [2, None], [None, "blue"], [4, "red"]], dtype=object)
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['x0', 'x1=blue']
    >>> encoder.transform(X).tolist()
    [[1.0, 0.0], [2.0, nan], [nan, 1.0], [4.0, 0.0]]
    """

    n_features_in_: int
    feature_names_in_: NDArray

    def __init__(
        self,
        *,
        categorical: Iterable[str | int] = (),
        max_categories: int = 30,
        unknown: str = "missing",
        na: Sequence[str] = (),
        reading: Reading | None = None,
    ):
        self.categorical = categorical
        self.max_categories = max_categories
        self.unknown = unknown
        self.na = na
        self.reading = reading

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kind and the levels of each column.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
        y : ignored
        """
        del y
        self._check_parameters()
        columns = self._columns(X, reset=True)
        self.reading_ = self._decided(columns)
        kinds, categories, pooled = [], [], []
        for column, one in zip(columns, self.reading_.columns, strict=True):
            levels = self._levels(column, one) if one.kind == "category" else []
            levels, rare = kept_levels(levels, self.max_categories)
            kinds.append(one.kind)
            categories.append(levels)
            pooled.append(rare)
        self.kinds_, self.categories_, self.pooled_ = kinds, categories, pooled
        n_columns = [max(1, len(levels) - 1) for levels in categories]
        self.variables_ = np.repeat(np.arange(len(columns)), n_columns)
        return self

    def _decided(self, columns: list[Column]) -> Reading:
        """Return how the columns are read, as was given or by their values."""
        names = self._names()
        forced = self._forced(names)
        if self.reading is None:
            kinds = {names[j]: "category" for j in forced}
            pairs = list(zip(names, columns, strict=True))
            return decided(pairs, kinds, self.na, many=self.max_categories)
        absent = set(names) - set(self.reading.names)
        if absent:
            raise ValueError(
                f"reading has no column {min(absent)!r}; its columns are "
                f"{some_levels(self.reading.names)}."
            )
        given = self.reading.select(names)
        kept = [
            replace(one, kind="category", format=None) if j in forced else one
            for j, one in enumerate(given.columns)
        ]
        return replace(given, columns=tuple(kept))

    def _check_parameters(self) -> None:
        if self.unknown not in ("missing", "error"):
            raise ValueError(f"unknown={self.unknown!r}; choose 'missing' or 'error'.")
        check_least(self, max_categories=2)
        if isinstance(self.categorical, str):
            raise ValueError(
                f"categorical={self.categorical!r} is one string; give a list of "
                f"columns, [{self.categorical!r}]."
            )

    def _forced(self, names: list[str]) -> set[int]:
        """Positions of the columns that ``categorical`` names."""
        forced = set()
        for column in self.categorical:
            if isinstance(column, str) and column in names:
                forced.add(names.index(column))
            elif not isinstance(column, str) and 0 <= column < len(names):
                forced.add(int(column))
            else:
                raise ValueError(
                    f"categorical names {column!r}, which is not a column; the columns "
                    f"are {', '.join(map(repr, names[:20]))}."
                )
        return forced

    def _levels(self, column: Column, one: ColumnReading) -> list[str]:
        """Levels of a category, most frequent first."""
        count = self._level_counts(column, one)
        return sorted(count, key=lambda level: (-count[level], level))

    def _level_counts(self, column: Column, one: ColumnReading) -> dict[str, int]:
        """Rows of each level of a category."""
        count: dict[str, int] = {}
        column = column.as_objects()
        for level, n in zip(one.levels(column), column.counts(), strict=True):
            if level is not None:
                count[level] = count.get(level, 0) + n
        return count

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the table as numbers, NaN where missing.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_columns_out), or what `set_output` asks for
        """
        out, misfits = self.transform_leniently(X)
        if misfits and self.unknown == "error":
            raise TableError(
                f"column {misfits[0].name!r} has {misfits[0]}. Correct them, or fit "
                "with unknown='missing' to take them as missing."
            )
        refuse_misfits(misfits)
        for one in misfits:
            warnings.warn(f"column {one.name!r}: {one} taken as missing", stacklevel=2)
        return out

    def transform_leniently(self, X: Any) -> tuple[NDArray[np.float64], list[Misfits]]:
        """Return the table as numbers, and the values that do not fit and are missing.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n, d)
        """
        check_is_fitted(self)
        return self.transform_columns(self._columns(X, reset=False))

    def transform_columns(
        self, columns: Sequence[Column]
    ) -> tuple[NDArray[np.float64], list[Misfits]]:
        """Do as `transform_leniently`, for columns that are taken apart already.

        Parameters
        ----------
        columns : sequence of Column
            The columns of the fit, in their order.
        """
        out = np.empty((len(columns[0].missing), len(self.variables_)))
        found = []
        for j, column in enumerate(columns):
            one, place = self.reading_.columns[j], self.variables_ == j
            if one.kind == "category":
                out[:, place] = self._dummies(column, one, j)
            elif one.kind in ("identifier", "text"):
                out[:, place] = np.where(one.seen(column), 0.0, np.nan)[:, None]
            else:
                numbers, unfit = one.numbers(column)
                out[:, place] = numbers[:, None]
                found.append(one.misfits(column, unfit))
        return out, [one for one in found if one is not None]

    def mask(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the mask of the variables, one bit each, of rows after `transform`."""
        check_is_fitted(self)
        return variable_mask(X, self.variables_)

    def _dummies(self, column: Column, one: ColumnReading, j: int) -> NDArray:
        """Columns of 0 and 1 for all levels of variable j but the first."""
        column, categories = column.as_objects(), self.categories_[j]
        position = {level: k for k, level in enumerate(categories)}
        other = -1 if self.pooled_[j] is None else len(categories) - 1
        codes = []
        for k, level in enumerate(one.levels(column)):
            if level is not None and level not in position and other < 0:
                if self.unknown == "error":
                    raise ValueError(
                        f"column {one.name!r} has the new level {shown(level)} in "
                        f"{column.where(k)}; at fit it had {some_levels(categories)}. "
                        "Correct it, or fit with unknown='missing' to take it as "
                        "missing."
                    )
                level = None
            codes.append(-1 if level is None else position.get(level, other))
        code = np.array(codes, dtype=int)[column.codes]
        dummies = np.zeros((len(code), max(1, len(categories) - 1)))
        rows = np.flatnonzero(code > 0)
        dummies[rows, code[rows] - 1] = 1.0
        dummies[code < 0] = np.nan
        return dummies

    def unknown_levels(self, X: Any) -> dict[str, list[str]]:
        """Levels of X, by column, that `transform` takes as missing.

        A level that was among the rare ones at fit is not told apart from a new one, so
        that columns whose rare levels stand together as "(other)" are left out.
        """
        check_is_fitted(self)
        return self.unknown_in_columns(self._columns(X, reset=False))

    def unknown_in_columns(self, columns: Sequence[Column]) -> dict[str, list[str]]:
        """Do as `unknown_levels`, for columns that are taken apart already."""
        found = self.unknown_counts(columns)
        return {name: sorted(levels) for name, levels in found.items()}

    def unknown_counts(self, columns: Sequence[Column]) -> dict[str, dict[str, int]]:
        """Count the rows of each level that `transform` takes as missing, by column."""
        found: dict[str, dict[str, int]] = {}
        for j, column in enumerate(columns):
            if self.kinds_[j] == "category" and self.pooled_[j] is None:
                count = self._level_counts(column, self.reading_.columns[j])
                new = {k: n for k, n in count.items() if k not in self.categories_[j]}
                if new:
                    found[self._names()[j]] = new
        return found

    def describe(self) -> list[str]:
        """Say in words what each kind of column was taken for."""
        check_is_fitted(self)
        return kinds_in_words(self._names(), self.kinds_, self.categories_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the output: the variable's, or ``variable=level``."""
        check_is_fitted(self)
        names = self._names()
        if input_features is not None:
            if hasattr(self, "feature_names_in_") and list(input_features) != names:
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != len(names):
                raise ValueError(
                    f"input_features should have length equal to {len(names)}, got "
                    f"{len(input_features)}."
                )
            names = [str(name) for name in input_features]
        out = []
        for name, levels in zip(names, self.categories_, strict=True):
            out += [f"{name}={level}" for level in levels[1:]] or [name]
        return np.array(out, dtype=object)

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return [str(name) for name in names]

    def _columns(self, X: Any, *, reset: bool) -> list[Column]:
        """Read a table column by column, so that each keeps its type."""
        refuse_same_names(X)
        if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = [X.iloc[:, j] for j in range(X.shape[1])]
            read: Callable = pandas_column
        elif hasattr(X, "get_columns"):  # polars
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns, read = X.get_columns(), polars_column
        else:
            columns = self._array_columns(X, reset)
            read = _array_or_masked
        if not len(columns):
            raise ValueError(f"X has 0 feature(s) (shape={X.shape}); at least 1.")
        if not len(columns[0]):
            raise ValueError(f"X has 0 sample(s) (shape={X.shape}); at least 1.")
        return [
            read(column, name)
            for column, name in zip(columns, self._names(), strict=True)
        ]

    def _array_columns(self, X: Any, reset: bool) -> list[NDArray]:
        """Return the columns of an array, masked ones with their masks."""
        X = masked_rows(X)
        array: Any = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite=False
        )
        if np.ma.isMaskedArray(X):
            array = np.ma.masked_array(array, np.ma.getmaskarray(X))
        return list(array.T)

    def __sklearn_tags__(self):
        """Return the tags: NaN, text and categories are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _array_or_masked(column: NDArray, name: str) -> Column:
    """Read a column of an array, or of a masked one."""
    return array_column(np.ma.getdata(column), name, np.ma.getmaskarray(column))
