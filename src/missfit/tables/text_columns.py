"""Columns of text that hold plain numbers or booleans, as such; others stay text.

What else a text may mean (a price, a date, a word for yes) is decided where the rows of
the whole column are known: in `missfit.tables.columns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

TRUE, FALSE = ["True", "TRUE", "true"], ["False", "FALSE", "false"]
FEW_ROWS = 2_000  # below, threads take longer to begin than a column to read
LARGEST_WHOLE = 2**53  # beyond, float64 takes several whole numbers for one


def typed_frame(
    batches: Iterable[Any], decimal: str, text: Sequence[str], na: Sequence[str] = ()
) -> Any:
    """Return a pandas DataFrame of batches of text.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        All columns are text; at least one batch.
    decimal : str
        What stands before the decimals of a number.
    text : sequence of str
        Columns that stay text, whatever they look like.
    na : sequence of str
        Marks of missing values that were named: a number among them is missing in
        every way to write it.
    """
    import pyarrow as pa

    table = pa.Table.from_batches(list(batches))
    kept = set(text)
    numbers = [float(mark) for mark in na if is_number(mark)]
    names = table.column_names

    def column_of(name: str) -> Any:
        column = table.column(name)
        column = column if name in kept else _typed(column, decimal)
        return _without(column, numbers) if numbers else column

    if len(table) < FEW_ROWS:
        columns = list(map(column_of, names))
    else:
        with ThreadPoolExecutor() as threads:  # Arrow works without Python
            columns = list(threads.map(column_of, names))
    try:
        return pa.Table.from_arrays(columns, names).to_pandas(self_destruct=True)
    except pa.ArrowException as error:  # of values that have no room
        raise MemoryError(str(error)) from error


def arrow_functions() -> Any:
    """Return the functions of Arrow, which are made at run time: no type is known."""
    import pyarrow.compute

    return pyarrow.compute


def is_number(text: str) -> bool:
    """Whether a text is a number to Python.

    >>> is_number("-999"), is_number("?")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def numbers_of_text(column: Any, decimal: str) -> Any | None:
    """Return a column of text as float64, None where not all of it is plain numbers.

    Where the decimals come after a comma, points stand between thousands or dates, and
    are not read here.
    """
    from pyarrow import ArrowInvalid

    pc = arrow_functions()

    if decimal == ",":
        if pc.any(pc.match_substring(column, ".")).as_py():
            return None
        column = pc.replace_substring(column, ",", ".")
    for trim in (False, True):
        try:
            return pc.cast(pc.utf8_trim_whitespace(column) if trim else column, "f8")
        except ArrowInvalid:
            continue
    return None


def _typed(column: Any, decimal: str) -> Any:
    """Return a column of text as numbers or booleans where all of it is such."""
    pc = arrow_functions()

    if column.null_count == len(column):
        return pc.cast(column, "f8")
    numbers = numbers_of_text(column, decimal)
    if numbers is None:
        return _truths(column)
    some = numbers[:1000]  # tell most columns apart
    for part in (some, numbers):
        if not pc.all(pc.equal(pc.floor(part), part)).as_py():
            return numbers
    return _whole(column, numbers)


def _whole(column: Any, numbers: Any) -> Any:
    """Return whole numbers as integers; codes and what float64 cuts stay text."""
    from pyarrow import ArrowInvalid

    pc = arrow_functions()

    padded = pc.and_(pc.starts_with(column, "0"), pc.greater(pc.utf8_length(column), 1))
    padded = pc.and_(padded, pc.invert(pc.match_substring(column, ".")))
    if pc.any(padded).as_py():
        return column
    if not column.null_count:
        try:
            return pc.cast(column, "i8")
        except ArrowInvalid:  # as 1.0, or of twenty digits
            pass
    digits = pc.match_substring_regex(column, "^[+-]?[0-9]+$")
    return column if _beyond(numbers) and pc.all(digits).as_py() else numbers


def _beyond(numbers: Any) -> bool:
    pc = arrow_functions()

    ends = pc.min_max(numbers).as_py()
    return max(-(ends["min"] or 0), ends["max"] or 0) >= LARGEST_WHOLE


def _truths(column: Any) -> Any:
    """Return True and False as booleans where a column holds nothing else."""
    import pyarrow as pa

    pc = arrow_functions()

    first = pc.index(column.is_valid(), True).as_py()
    if column[first].as_py() not in [*TRUE, *FALSE]:
        return column
    known = pc.is_in(column.drop_null(), pa.array([*TRUE, *FALSE]))
    if not pc.all(known).as_py():
        return column
    return pc.if_else(column.is_valid(), pc.is_in(column, pa.array(TRUE)), None)


def _without(column: Any, numbers: list[float]) -> Any:
    """Return a column of numbers with null for some of them."""
    import pyarrow as pa

    pc = arrow_functions()

    if not pa.types.is_floating(column.type) and not pa.types.is_integer(column.type):
        return column
    marked = pc.is_in(pc.cast(column, "f8", safe=False), pa.array(numbers, "f8"))
    return pc.if_else(marked, pa.scalar(None, column.type), column)
