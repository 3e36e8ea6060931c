"""From a ``[[data]]`` table of a study to its data sets: settings, laws and files."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

from missfit.simulate import published_sizes
from missfit.study.data import Amputation, DataSet, FileDataSet, SimulatedDataSet
from missfit.study.fields import LONGEST_NAME, Fields
from missfit.study.imported import StudyError
from missfit.study.labels import LabelledDataSet
from missfit.study.laws import LawDataSet
from missfit.tables.columns import shown

MOST_CELLS = 1_000_000  # the paper has 12,670
MOST_ROWS = 10**9


def data_sets(fields: Fields, folder: Path | None) -> Iterator[DataSet]:
    """Yield the data sets that a table of a study describes.

    Parameters
    ----------
    fields : Fields
        Its keys: "file", "law" or "setting" says what kind of data they are.
    folder : Path, optional
        The folder that files are found in.
    """
    if "file" in fields.content:
        yield from _file_data_sets(fields, folder)
    elif "law" in fields.content:
        yield from _law_data_sets(fields)
    else:
        yield from _published_data_sets(fields)


def _published_data_sets(fields: Fields) -> Iterator[DataSet]:
    """Yield the data sets of the paper's settings."""
    settings = fields.names("setting")
    for setting in settings:
        published_sizes(setting)
    d, rows = fields.numbers("d"), _rows(fields)
    repetitions, cut = _repetitions(fields), _cut(fields)
    fields.finish()
    check_size(math.prod(map(len, (settings, d, rows, repetitions))), 1, fields.where)
    for setting in settings:
        dimensions, _ = published_sizes(setting)
        strange = [k for k in d if k not in dimensions]
        if strange:
            raise StudyError(
                f"{fields.where}: {setting} has no d = {strange[0]}; choose among "
                f"{', '.join(map(str, dimensions))}."
            )
        for k, n, repetition in itertools.product(d, rows, repetitions):
            size = (setting, k, n, repetition)
            yield LabelledDataSet(*size, cut) if cut else SimulatedDataSet(*size)


def _cut(fields: Fields) -> tuple[float, ...]:
    """Take the quantiles at which the target is cut into classes; () for numbers."""
    value = fields.take("cut", (float, list), [])
    shares = value if isinstance(value, list) else [value]
    numbers = all(isinstance(share, float) and 0 < share < 1 for share in shares)
    if not numbers or any(a >= b for a, b in itertools.pairwise(shares)):
        raise StudyError(
            f"{fields.where}: cut = {shown(value)}; give a number between 0 and 1, the "
            "quantile of the target at which the classes are told apart, or a list of "
            "increasing ones."
        )
    return tuple(shares)


def _law_data_sets(fields: Fields) -> Iterator[DataSet]:
    """Yield the data sets of a law of `missfit.simulate`, or of the user's own."""
    law = fields.take("law", str)
    name = fields.name("name", law.rpartition(".")[2][:LONGEST_NAME] or law)
    parameters = fields.json("parameters")
    d = fields.numbers("d", _n_features(parameters))
    rows, repetitions = _rows(fields), _repetitions(fields)
    fields.finish()
    if d is None:
        raise StudyError(f"{fields.where}: give d, the number of features of {law}.")
    check_size(math.prod(map(len, (d, rows, repetitions))), 1, fields.where)
    for k, n, repetition in itertools.product(d, rows, repetitions):
        setting = name if len(d) == 1 else f"{name}, d = {k}"
        yield LawDataSet(setting, k, n, repetition, law, parameters)


def _n_features(parameters: str) -> tuple[int] | None:
    """Return the number of features by the slopes of a law, None where it has none."""
    beta = json.loads(parameters).get("beta")
    return (len(beta),) if isinstance(beta, list) and beta else None


def _rows(fields: Fields) -> tuple[int, ...]:
    """Take the numbers of rows to draw."""
    rows = fields.numbers("rows")
    if max(rows) > MOST_ROWS:
        raise StudyError(
            f"{fields.where}: rows = {shown(max(rows))}; give at most {MOST_ROWS:,}."
        )
    return rows


def _file_data_sets(fields: Fields, folder: Path | None) -> Iterator[DataSet]:
    """Yield the data sets of a table in a file, amputed where that is asked for."""
    file = fields.take("file", str)
    path = (folder or Path()) / file
    target = fields.take("target", str)
    name = fields.name("name", path.stem)
    drop = fields.names("drop", ())
    rows = fields.numbers("rows", None)
    holes = _amputations(fields)
    repetitions = _repetitions(fields)
    fields.finish()
    try:
        table = FileDataSet.describe(str(path), target, drop)
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise StudyError(f"{fields.where}: {error}") from error
    rows = rows or (table.n_rows,)
    check_size(math.prod(map(len, (rows, holes, repetitions))), 1, fields.where)
    for n, hole, repetition in itertools.product(rows, holes, repetitions):
        if n > table.n_rows:
            raise StudyError(
                f"{fields.where}: rows = {n}, but {path} has {table.n_rows}."
            )
        setting = f"{name}, {hole.words}" if hole else name
        whole = (setting, table.d, n, repetition, str(path), table.digest, target, drop)
        yield FileDataSet(*whole, hole)


def _amputations(fields: Fields) -> list[Amputation | None]:
    """Take the holes to make in a file: every mechanism with every rate; or none."""
    if "ampute" not in fields.content:
        fields.known.append("ampute")
        return [None]
    inner = Fields(fields.take("ampute", dict), f"{fields.where}, ampute")
    mechanisms = inner.names("mechanism")
    rates = inner.take("rate", (int, float, list))
    strength = inner.take("strength", (int, float), 1.0)
    inner.finish()
    rates = rates if isinstance(rates, list) else [rates]
    try:
        return [
            Amputation(mechanism, rate, strength)
            for mechanism, rate in itertools.product(mechanisms, rates)
        ]
    except ValueError as error:
        raise StudyError(f"{inner.where}: {error}") from error


def _repetitions(fields: Fields) -> tuple[int, ...]:
    """Take the repetitions: how many, or which."""
    value = fields.content.get("repetitions")
    if isinstance(value, list):
        if any(type(v) is not int or v < 0 for v in value) or not value:
            raise StudyError(
                f"{fields.where}: repetitions = {shown(value)}; give how many, or a "
                "list of whole numbers >= 0."
            )
        return tuple(fields.take("repetitions", list))
    (count,) = fields.numbers("repetitions")
    check_size(count, 1, f"{fields.where}, repetitions")
    return tuple(range(count))


def check_size(n_data: int, n_methods: int, where: str) -> None:
    """Raise where there are more cells than could be run."""
    if n_data * n_methods > MOST_CELLS:
        raise StudyError(
            f"{where}: {shown(n_data)} data sets and {n_methods:,} methods are more "
            f"than {MOST_CELLS:,} cells, which is no study that could be run."
        )
