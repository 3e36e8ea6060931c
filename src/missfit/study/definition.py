"""Read a study from TOML into a frozen grid; every mistake is named."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from missfit.simulate import published_sizes
from missfit.study.data import DataSet, FileDataSet, SimulatedDataSet
from missfit.study.grid import FIGURES, Cell, Method, Study, StudyError
from missfit.tables.columns import shown
from missfit.writing import kind_of_place

MOST_BYTES = 10_000_000  # size of a file; one that is written by hand has thousands
MOST_CELLS = 1_000_000  # the paper has 12,670
MOST_ROWS = 10**9
LONGEST_NAME = 100
MOST_DOTS = 1_000  # dots in one line


def study_names() -> list[str]:
    """Return the names of the studies that come with missfit.

    >>> "quick" in study_names()
    True
    """
    folder = resources.files("missfit") / "study" / "studies"
    names = (item.name for item in folder.iterdir())
    return sorted(name[:-5] for name in names if name.endswith(".toml"))


def load(study: str | Path) -> Study:
    """Read a study: the name of one that comes with missfit, or a TOML file.

    Examples
    --------
    >>> figure1 = load("figure1")
    >>> len(figure1.cells())
    1260
    """
    if str(study) in study_names():
        path = resources.files("missfit") / "study" / "studies" / f"{study}.toml"
        return parse(path.read_text(encoding="utf-8"), name=str(study))
    path = Path(study)
    if path.suffix != ".toml":
        raise StudyError(
            f"there is no study {str(study)!r}; choose {', '.join(study_names())}, or "
            "give a .toml file."
        )
    text = _text_of(path)
    return parse(text, name=path.stem, folder=path.resolve().parent, where=str(path))


def _text_of(path: Path) -> str:
    kind = kind_of_place(path)
    if kind != "a file":
        problem = f"is {kind}, not a file" if kind else "does not exist"
        raise StudyError(f"the file {path} {problem}.")
    if path.stat().st_size > MOST_BYTES:
        raise StudyError(
            f"{path} has {path.stat().st_size:,} bytes; a study has at most "
            f"{MOST_BYTES:,}."
        )
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path} is not text in UTF-8 ({error}).") from error


def parse(
    text: str, *, name: str, folder: Path | None = None, where: str | None = None
) -> Study:
    """Return the study that TOML text describes; see docs/study.md for its keys."""
    where = where or f"study {name}"
    _refuse_depth(text, where)
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError(f"{where} is not TOML: {error}.") from error
    fields = _Fields(content, where)
    title = fields.name("title", name)
    figures = _figures(fields)
    data = [
        item
        for i, entry in enumerate(fields.take("data", list))
        for item in _data_sets(_Fields(entry, f"{where}, data {i + 1}"), folder)
    ]
    methods = [
        _method(_Fields(entry, f"{where}, method {i + 1}"))
        for i, entry in enumerate(fields.take("methods", list))
    ]
    fields.finish()
    _check_size(len(data), len(methods), where)
    place = None if folder is None else str(folder)
    study = Study(name, title, tuple(data), tuple(methods), figures, place)
    _check_unique(study, where)
    return study


def _figures(fields: _Fields) -> tuple[int, ...]:
    """Take the numbers of the figures to draw."""
    figures = fields.numbers("figures", FIGURES, empty=True)
    if set(figures) - set(FIGURES):
        raise StudyError(
            f"{fields.where}: figures = {list(figures)}; choose among 1, 2, 3, 4."
        )
    return figures


def _refuse_depth(text: str, where: str) -> None:
    """Refuse keys of thousands of parts: 20,000 take tomllib 12 s and 1.8 GB."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.count(".") > MOST_DOTS:
            raise StudyError(
                f"{where}: line {number} has more than {MOST_DOTS} dots, which is no "
                "key of a study."
            )


class _Fields:
    """The keys of a TOML table, taken one by one; what is left over is a mistake."""

    def __init__(self, content: Any, where: str):
        if not isinstance(content, dict):
            raise StudyError(
                f"{where}: {shown(content)} is not a table of keys and values."
            )
        self.content, self.where, self.known = dict(content), where, []

    def take(self, name: str, kind: type, *default: Any) -> Any:
        self.known.append(name)
        if name not in self.content:
            if default:
                return default[0]
            raise StudyError(f"{self.where}: the key {name!r} is missing.")
        value = self.content.pop(name)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise StudyError(
                f"{self.where}: {name} = {shown(value)} is a {type(value).__name__}; "
                f"it must be a {kind.__name__}."
            )
        return value

    def numbers(self, name: str, *default: Any, empty: bool = False) -> tuple[int, ...]:
        """Take one whole number >= 1, or a list of them."""
        self.known.append(name)
        if name not in self.content and default:
            return default[0]
        value: Any = self.content.get(name)
        several: list[Any] = value if isinstance(value, list) else [value]
        wrong = any(type(v) is not int or v < 1 for v in several)
        if wrong or not (several or empty):
            raise StudyError(
                f"{self.where}: {name} = {shown(value)}; give a whole number >= 1, or "
                "a list of them."
            )
        del self.content[name]
        return tuple(several)

    def name(self, name: str, *default: Any) -> str:
        """Take a text that is shown in tables and figures."""
        value = self.take(name, str, *default)
        if not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
            raise StudyError(
                f"{self.where}: {name} = {shown(value)}; give a text of 1 to "
                f"{LONGEST_NAME} characters that can be printed."
            )
        return value

    def names(self, name: str, *default: Any) -> tuple[str, ...]:
        """Take one text, or a list of texts."""
        self.known.append(name)
        if name not in self.content and default:
            return default[0]
        value: Any = self.content.pop(name, None)
        several: list[Any] = value if isinstance(value, list) else [value]
        if not several or any(not isinstance(v, str) for v in several):
            raise StudyError(
                f"{self.where}: {name} = {shown(value)}; give a text, or a list of "
                "them."
            )
        return tuple(several)

    def finish(self) -> None:
        if self.content:
            raise StudyError(
                f"{self.where}: unknown key {next(iter(self.content))!r}; known are "
                f"{', '.join(self.known)}."
            )


def _data_sets(fields: _Fields, folder: Path | None) -> Iterator[DataSet]:
    if "file" in fields.content:
        yield from _file_data_sets(fields, folder)
        return
    settings = fields.names("setting")
    for setting in settings:
        published_sizes(setting)
    d, rows = fields.numbers("d"), fields.numbers("rows")
    repetitions = _repetitions(fields)
    fields.finish()
    if max(rows) > MOST_ROWS:
        raise StudyError(
            f"{fields.where}: rows = {shown(max(rows))}; give at most {MOST_ROWS:,}."
        )
    _check_size(math.prod(map(len, (settings, d, rows, repetitions))), 1, fields.where)
    for setting in settings:
        dimensions, _ = published_sizes(setting)
        strange = [k for k in d if k not in dimensions]
        if strange:
            raise StudyError(
                f"{fields.where}: {setting} has no d = {strange[0]}; choose among "
                f"{', '.join(map(str, dimensions))}."
            )
        for k in d:
            for n in rows:
                yield from (
                    SimulatedDataSet(setting, k, n, repetition)
                    for repetition in repetitions
                )


def _file_data_sets(fields: _Fields, folder: Path | None) -> Iterator[DataSet]:
    file = fields.take("file", str)
    path = (folder or Path()) / file
    target = fields.take("target", str)
    name = fields.name("name", path.stem)
    drop = fields.names("drop", ())
    rows = fields.numbers("rows", None)
    repetitions = _repetitions(fields)
    fields.finish()
    try:
        table = FileDataSet.describe(str(path), target, drop)
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise StudyError(f"{fields.where}: {error}") from error
    for n in rows or (table.n_rows,):
        if n > table.n_rows:
            raise StudyError(
                f"{fields.where}: rows = {n}, but {path} has {table.n_rows}."
            )
        for repetition in repetitions:
            yield FileDataSet(
                name,
                table.d,
                n,
                repetition,
                str(path),
                table.digest,
                target,
                drop,
            )


def _repetitions(fields: _Fields) -> tuple[int, ...]:
    value = fields.content.get("repetitions")
    if isinstance(value, list):
        if any(type(v) is not int or v < 0 for v in value) or not value:
            raise StudyError(
                f"{fields.where}: repetitions = {shown(value)}; give how many, or a "
                "list of whole numbers >= 0."
            )
        return tuple(fields.take("repetitions", list))
    (count,) = fields.numbers("repetitions")
    _check_size(count, 1, f"{fields.where}, repetitions")
    return tuple(range(count))


def _check_size(n_data: int, n_methods: int, where: str) -> None:
    if n_data * n_methods > MOST_CELLS:
        raise StudyError(
            f"{where}: {shown(n_data)} data sets and {n_methods:,} methods are more "
            f"than {MOST_CELLS:,} cells, which is no study that could be run."
        )


def _method(fields: _Fields) -> Method:
    name = fields.name("name")
    fields.where += f" ({name})"
    estimator = fields.take("estimator", str)
    parameters = fields.take("parameters", dict, {})
    settings = fields.names("settings", None)
    d, rows = fields.numbers("d", None), fields.numbers("rows", None)
    fields.finish()
    try:
        text = json.dumps(parameters, sort_keys=True)
    except (TypeError, RecursionError) as error:
        raise StudyError(
            f"{fields.where}: parameters must be numbers, texts, true or false, lists "
            f"and tables ({error})."
        ) from error
    return Method(name, estimator, text, settings, d, rows)


def _check_unique(study: Study, where: str) -> None:
    seen: dict[tuple, Cell] = {}
    cells = study.cells()
    for cell in cells:
        place = (cell.data.setting, cell.data.d, cell.data.rows, cell.data.repetition)
        other = seen.setdefault((*place, cell.method.name), cell)
        if other is not cell:
            raise StudyError(
                f"{where}: {cell.method.name!r} is there twice for {cell.data.setting}"
                f", d = {cell.data.d}, rows = {cell.data.rows}; give the methods "
                "different names, or different settings, d or rows."
            )
    if not cells:
        raise StudyError(f"{where}: no method applies to any data set.")
