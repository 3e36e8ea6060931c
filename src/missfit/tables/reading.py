"""How a table is read: what was decided for each column, kept with a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from missfit.tables.column_reading import ColumnReading, Misfits
from missfit.tables.columns import Column, pandas_column, polars_column
from missfit.tables.date_text import DateFormat
from missfit.tables.decisions import MANY, Decision, Hints, decide
from missfit.tables.number_text import NumberFormat
from missfit.tables.options import ReadOptions
from missfit.tables.problems import TableError
from missfit.tables.reading_data import column_data, column_from_data

MOST_LINES = 30  # columns that are listed one by one
WIDTH = 32  # characters of a name, a kind or an example in that list
HALF = 0.5  # share of the values from which a column is of another kind


class Applied(NamedTuple):
    """A table as it was read, and the values that did not fit."""

    frame: Any  # pandas DataFrame
    misfits: list[Misfits]


@dataclass(frozen=True)
class Reading:
    """How the columns of a table are read.

    Attributes
    ----------
    columns : tuple of ColumnReading
    n_rows : int
        The rows from which it was decided.
    encoding, sheet : str or None
        The encoding and the sheet that the user named, for other files of the kind.

    Examples
    --------
    >>> import pandas
    >>> columns = {"price": ["$1,200", "$950", "n/a"], "sold": ["y", "n", "y"]}
    >>> frame = pandas.DataFrame(columns)
    >>> reading = Reading.of(frame)
    >>> print(reading.table())
    column  read as       example          missing
    price   number, in $  $1,200 = 1200          1
    sold    boolean       y = yes                0
    >>> reading.apply(frame).frame["price"].tolist()
    [1200.0, 950.0, nan]
    """

    columns: tuple[ColumnReading, ...]
    n_rows: int
    encoding: str | None = None
    sheet: str | None = None

    @classmethod
    def of(
        cls,
        frame: Any,
        options: ReadOptions | None = None,
        *,
        hints: Hints | None = None,
    ) -> Reading:
        """Decide how the columns of a pandas or polars frame are read.

        Parameters
        ----------
        frame : DataFrame
        options : ReadOptions, optional
            What the user says of the columns and of marks for missing values.
        hints : Hints, optional
            What the file says of numbers that can be read in two ways.
        """
        options = options or ReadOptions()
        columns = list(frame_columns(frame))
        return decided(columns, options.kinds, options.na, hints)

    def __getitem__(self, name: str) -> ColumnReading:
        """Return how the column of a name is read."""
        return next(one for one in self.columns if one.name == name)

    def select(self, names: Iterable[str]) -> Reading:
        """Return the reading of some columns, in this order."""
        known = {one.name: one for one in self.columns}
        return replace(self, columns=tuple(known[name] for name in names))

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return [one.name for one in self.columns]

    @property
    def text_columns(self) -> list[str]:
        """Return the columns that must come as text for their writing to be seen."""
        return [
            one.name
            for one in self.columns
            if one.format is not None or one.kind not in ("number", "date", "empty")
        ]

    def options_for(self, options: ReadOptions | None = None) -> ReadOptions:
        """Return how another file is read: as said, else as the first table was.

        The marks of missing values that were named for the first table hold too, and
        its encoding and sheet where the options name none.
        """
        options = options or ReadOptions()
        marks = [mark for one in self.columns for mark in one.marks]
        return replace(
            options,
            na=tuple(dict.fromkeys([*options.na, *marks])),
            encoding=options.encoding or self.encoding,
            sheet=options.sheet or self.sheet,
        )

    def notes(self) -> list[str]:
        """Return what a reader of the table should know of its columns."""
        return [
            f"{one.name}: {note}"
            for one in self.columns
            for note in (*one.notes, *one.sentinel_notes())
        ]

    def table(self) -> str:
        """Return a line for each column: its name, kind, an example, what is missing.

        Of more than 30 columns only those with something to say have a line; the
        others are counted by kind.
        """
        listed = list(self.columns)
        if len(listed) > MOST_LINES:
            listed = [one for one in listed if _says_something(one)][:MOST_LINES]
        lines = [("column", "read as", "example", "missing")]
        lines += [
            (*map(_cut, (one.name, one.describe(), one.example)), f"{one.missing:,}")
            for one in listed
        ]
        wide = [max(len(line[j]) for line in lines) for j in range(4)]
        text = [
            f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c:<{wide[2]}}  {d:>{wide[3]}}"
            for a, b, c, d in lines
        ]
        return "\n".join([*text, *self._others(len(listed))])

    def _others(self, n_listed: int) -> list[str]:
        """Return a line that counts all columns by kind where some are not listed."""
        if n_listed == len(self.columns):
            return []
        kinds = Counter(one.kind for one in self.columns)
        parts = ", ".join(f"{n:,} {kind}" for kind, n in kinds.most_common())
        return [f"{len(self.columns):,} columns in all: {parts}"]

    def apply(self, frame: Any) -> Applied:
        """Read a frame the same way; values that do not fit are missing.

        Parameters
        ----------
        frame : DataFrame
            pandas or polars, with the columns of the reading; others stay as they are.

        Returns
        -------
        Applied
            A pandas frame whose columns are typed: numbers, dates, booleans, text.
        """
        if hasattr(frame, "get_columns"):
            frame = frame.to_pandas()
        read, misfits = {}, []
        for one in self.columns:
            column = pandas_column(frame[one.name], one.name)
            values, odd = _values(one, column)
            if values is not None:
                read[one.name] = values
            misfits += [odd] if odd else []
        return Applied(frame.assign(**read) if read else frame, misfits)

    def as_json(self) -> dict[str, Any]:
        """Return plain data from which `from_json` makes the same reading."""
        columns = [column_data(one) for one in self.columns]
        named = {"encoding": self.encoding, "sheet": self.sheet}
        return {"n_rows": self.n_rows, "columns": columns, **named}

    @classmethod
    def from_json(cls, plain: Any) -> Reading:
        """Return the reading of `as_json`; raise ValueError for any other data."""
        if not isinstance(plain, dict) or not isinstance(plain.get("columns"), list):
            raise ValueError("a reading is no table of names and values")
        if type(plain.get("n_rows")) is not int or plain["n_rows"] < 0:
            raise ValueError(f"a reading of {str(plain.get('n_rows'))[:40]} rows")
        columns = tuple(column_from_data(one) for one in plain["columns"])
        named = [plain.get(name) for name in ("encoding", "sheet")]
        if not all(name is None or isinstance(name, str) for name in named):
            raise ValueError("a reading whose encoding or sheet is no name")
        ReadOptions(encoding=named[0])  # raises where it is none
        return cls(columns, plain["n_rows"], *named)


def frame_columns(frame: Any) -> Iterator[tuple[str, Column]]:
    """Yield the names and the columns of a pandas or polars frame."""
    if hasattr(frame, "get_columns"):
        for series in frame.get_columns():
            yield series.name, polars_column(series, series.name)
    else:
        for j, name in enumerate(frame.columns):
            yield str(name), pandas_column(frame.iloc[:, j], str(name))


def decided(
    columns: Sequence[tuple[str, Column]],
    kinds: Any,
    marks: Sequence[str] = (),
    hints: Hints | None = None,
    many: int = MANY,
) -> Reading:
    """Decide how columns are read; what one leaves open, the others may settle.

    Parameters
    ----------
    columns : sequence of (name, Column)
    kinds : mapping of str to str
        What the user says that some of them hold.
    marks : sequence of str
        Texts that the user says are missing.
    hints : Hints, optional
        What the file says.
    many : int
        Text with more levels than this, of which most differ, is no category.
    """
    hints = hints or Hints()

    def decision(name: str, column: Column, hints: Hints) -> Decision:
        said = kinds.get(name, "")
        return decide(column, name, said=said, marks=marks, hints=hints, many=many)

    found = [decision(name, column, hints) for name, column in columns]
    more = _hints([one.reading for one in found if not one.guessed], hints)
    for k, (name, column) in enumerate(columns):
        if found[k].guessed and more != hints:
            found[k] = decision(name, column, more)
    n_rows = len(columns[0][1].missing) if columns else 0
    return Reading(tuple(one.reading for one in found), n_rows)


def _hints(readings: Sequence[ColumnReading], hints: Hints) -> Hints:
    """Return what columns that leave nothing open say about the others."""
    decimals, firsts = set(), set()
    for one in readings:
        if isinstance(one.format, NumberFormat) and one.format.decimal == ",":
            decimals.add(",")
        elif one.kind == "number" and "." in one.example.split(" = ")[0]:
            decimals.add(".")
        if isinstance(one.format, DateFormat):
            firsts |= {form[:2] for form in one.format.formats if form[3:5] in "%d%m"}
    firsts &= {"%d", "%m"}
    decimal = hints.decimal or ("," if "," in decimals else "".join(decimals))
    first = hints.first or (firsts.pop() if len(firsts) == 1 else "")
    return Hints(decimal, first or ("%d" if decimal == "," else ""))


def refuse_misfits(misfits: Sequence[Misfits], where: str = "") -> None:
    """Raise where half of the values of a column or more do not fit."""
    for one in misfits:
        if one.n_rows >= HALF * one.n_observed:
            raise TableError(
                f"{where}column {one.name!r} held {one.kind}s at fit, and now {one}. "
                "Correct these values, or leave them empty.",
                column=one.name,
            )


def _values(one: ColumnReading, column: Column) -> tuple[Any, Misfits | None]:
    """Return a column in the type of its kind, None where it has this type."""
    if one.kind in ("number", "date", "boolean", "empty"):
        numbers, unfit = one.numbers(column)
        typed = column.typed == {"number": "f", "date": "M", "boolean": "b"}.get(
            one.kind
        )
        if typed and not one.sentinels and not unfit.any():
            return None, None
        return _typed_values(one.kind, numbers), one.misfits(column, unfit)
    if column.typed and one.kind != "category":
        return None, None
    column = column.as_objects()
    levels = np.array([*one.levels(column), None], dtype=object)
    return levels[column.codes], None


def _typed_values(kind: str, numbers: Any) -> Any:
    import pandas as pd

    if kind == "boolean":
        return pd.array(
            np.where(np.isnan(numbers), None, numbers == 1), dtype="boolean"
        )
    if kind == "date":
        seconds = np.where(np.isnan(numbers), 0, np.round(numbers * 86_400_000_000))
        dates = seconds.astype(np.int64).astype("datetime64[us]")
        return np.where(np.isnan(numbers), np.datetime64("NaT", "us"), dates)
    return numbers


def _says_something(one: ColumnReading) -> bool:
    plain = one.kind in ("number", "category") and one.format is None
    return bool(one.notes or one.sentinels) or not plain


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 3]}..."
