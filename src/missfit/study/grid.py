"""The grid of a study: data sets x methods, read from TOML and frozen.

A cell is one data set and one method. Its key is a digest of everything that its result
depends on (rows, split, estimator, parameters), and its seed comes from the key, so
that results do not depend on the order of the cells, and a changed definition never
takes the results of another.
"""

from __future__ import annotations

import fnmatch
import hashlib
import importlib
import json
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from missfit.simulate import published_sizes
from missfit.study.data import DataSet, FileDataSet, SimulatedDataSet

FORMAT = 1  # of the keys: raise it when the meaning of a cell changes
FIGURES = (1, 2, 3, 4)


class StudyError(ValueError):
    """A study that cannot be read or run as it is written."""


@dataclass(frozen=True)
class Method:
    """An estimator by its import path, and where in the grid it is run.

    Attributes
    ----------
    name : str
        In tables and figures.
    estimator : str
        Import path of a class, or of a function, that returns an estimator.
    parameters : str
        Keyword arguments, as JSON with sorted keys.
    settings, d, rows : tuple or None
        Restrict the method to these; None is everywhere.
    """

    name: str
    estimator: str
    parameters: str = "{}"
    settings: tuple[str, ...] | None = None
    d: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None

    def applies_to(self, data: DataSet) -> bool:
        """Whether the method is run on a data set."""
        limits = (
            (self.settings, data.setting),
            (self.d, data.d),
            (self.rows, data.rows),
        )
        return all(allowed is None or value in allowed for allowed, value in limits)

    def build(self, seed: int | None = None) -> Any:
        """Return the estimator, with ``seed`` as random_state where it is not given."""
        model = resolved(self.estimator)(**json.loads(self.parameters))
        settable = getattr(model, "get_params", dict)()
        if (
            seed is not None
            and "random_state" in settable
            and settable["random_state"] is None
        ):
            model.set_params(random_state=seed)
        return model


def resolved(path: str) -> Any:
    """Return what an import path such as ``sklearn.svm.SVR`` names.

    >>> resolved("missfit.EMLR").__name__
    'EMLR'
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise StudyError(
            f"estimator {path!r} cannot be imported ({error}). Give the import path of "
            "a class or function, such as 'sklearn.ensemble.RandomForestRegressor'; "
            "modules beside the study's file are found."
        ) from error


@dataclass(frozen=True)
class Cell:
    """One method on one data set."""

    data: DataSet
    method: Method

    @cached_property
    def key(self) -> str:
        """Digest of all that the result depends on."""
        content = {
            "format": FORMAT,
            "data": self.data.identity(),
            "estimator": self.method.estimator,
            "parameters": json.loads(self.method.parameters),
        }
        text = json.dumps(content, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def seed(self) -> int:
        """Seed of what is random in the method."""
        return int(self.key[:12], 16) % 2**31


@dataclass(frozen=True)
class Study:
    """A frozen grid; see `load`.

    Attributes
    ----------
    name, title : str
    data : tuple of DataSet
    methods : tuple of Method
    figures : tuple of int
        Which of the paper's figures to draw.
    folder : str or None
        Where modules of the study's own are imported from.
    """

    name: str
    title: str
    data: tuple[DataSet, ...]
    methods: tuple[Method, ...]
    figures: tuple[int, ...] = FIGURES
    folder: str | None = None

    def cells(self) -> list[Cell]:
        """Return every method on every data set that it applies to."""
        return [
            Cell(data, method)
            for data in self.data
            for method in self.methods
            if method.applies_to(data)
        ]

    def method_names(self) -> list[str]:
        """Return the names of the methods, each once, in order."""
        return list(dict.fromkeys(method.name for method in self.methods))

    def only(
        self, methods: Iterable[str] | None = None, max_rows: int | None = None
    ) -> Study:
        """Return a part of the study.

        Parameters
        ----------
        methods : iterable of str, optional
            Names, patterns ("MLP W0.*") or first words ("MLP" is every MLP).
        max_rows : int, optional
            Leave out larger data sets.
        """
        kept, data = self.methods, self.data
        if methods is not None:
            kept = tuple(m for m in kept if any(_named(m.name, w) for w in methods))
            lost = [w for w in methods if not any(_named(m.name, w) for m in kept)]
            if lost:
                raise StudyError(
                    f"study {self.name} has no method {lost[0]!r}; it has "
                    f"{', '.join(self.method_names())}."
                )
        if max_rows is not None:
            data = tuple(item for item in data if item.rows <= max_rows)
        return replace(self, methods=kept, data=data)

    def check(self) -> None:
        """Build every estimator once, so that mistakes show before anything is run."""
        import_from(self.folder)
        for method in self.methods:
            try:
                model = method.build(0)
            except TypeError as error:
                raise StudyError(
                    f"method {method.name!r}: {method.estimator} does not take "
                    f"{method.parameters} ({error})."
                ) from error
            if not (hasattr(model, "fit") and hasattr(model, "predict")):
                raise StudyError(
                    f"method {method.name!r}: {method.estimator} gives a "
                    f"{type(model).__name__}, which has no fit and predict."
                )


def import_from(folder: str | None) -> None:
    """Let modules in a folder be imported."""
    if folder and folder not in sys.path:
        sys.path.append(folder)


def _named(name: str, wanted: str) -> bool:
    return name.split(" ")[0] == wanted or fnmatch.fnmatchcase(name, wanted)


# ---- reading -------------------------------------------------------------------------


def study_names() -> list[str]:
    """Names of the studies that come with missfit.

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
    if not path.exists():
        raise StudyError(f"the file {path} does not exist.")
    folder = path.resolve().parent
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise StudyError(f"{path} is not text in UTF-8 ({error}).") from error
    return parse(text, name=path.stem, folder=folder, where=str(path))


def parse(
    text: str, *, name: str, folder: Path | None = None, where: str | None = None
) -> Study:
    """Return the study that TOML text describes; see docs/study.md for its keys."""
    where = where or f"study {name}"
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StudyError(f"{where} is not TOML: {error}.") from error
    fields = _Fields(content, where)
    title = fields.take("title", str, name)
    figures = fields.numbers("figures", FIGURES, empty=True)
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
    unknown = set(figures) - set(FIGURES)
    if unknown:
        raise StudyError(
            f"{where}: figures = {list(figures)}; choose among 1, 2, 3, 4."
        )
    study = Study(
        name,
        title,
        tuple(data),
        tuple(methods),
        tuple(figures),
        None if folder is None else str(folder),
    )
    _check_unique(study, where)
    return study


class _Fields:
    """The keys of a TOML table, taken one by one; what is left over is a mistake."""

    def __init__(self, content: Any, where: str):
        if not isinstance(content, dict):
            raise StudyError(f"{where}: {content!r} is not a table of keys and values.")
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
                f"{self.where}: {name} = {value!r} is a {type(value).__name__}; it "
                f"must be a {kind.__name__}."
            )
        return value

    def numbers(self, name: str, *default: Any, empty: bool = False) -> tuple[int, ...]:
        """Take whole numbers >= 1, one or a list."""
        self.known.append(name)
        if name not in self.content and default:
            return default[0]
        value: Any = self.content.get(name)
        several: list[Any] = value if isinstance(value, list) else [value]
        wrong = any(type(v) is not int or v < 1 for v in several)
        if wrong or not (several or empty):
            raise StudyError(
                f"{self.where}: {name} = {value!r}; give a whole number >= 1, or a "
                "list of them."
            )
        del self.content[name]
        return tuple(several)

    def names(self, name: str, *default: Any) -> tuple[str, ...]:
        """Take texts, one or a list."""
        self.known.append(name)
        if name not in self.content and default:
            return default[0]
        value: Any = self.content.pop(name, None)
        several: list[Any] = value if isinstance(value, list) else [value]
        if not several or any(not isinstance(v, str) for v in several):
            raise StudyError(
                f"{self.where}: {name} = {value!r}; give a text, or a list of them."
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
    name = fields.take("name", str, path.stem)
    drop = fields.names("drop", ())
    rows = fields.numbers("rows", None)
    repetitions = _repetitions(fields)
    fields.finish()
    try:
        table = FileDataSet.describe(str(path), target, drop)
    except (OSError, ValueError, TypeError) as error:
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
                f"{fields.where}: repetitions = {value!r}; give how many, or a list of "
                "whole numbers >= 0."
            )
        return tuple(fields.take("repetitions", list))
    (count,) = fields.numbers("repetitions")
    return tuple(range(count))


def _method(fields: _Fields) -> Method:
    name = fields.take("name", str)
    fields.where += f" ({name})"
    estimator = fields.take("estimator", str)
    parameters = fields.take("parameters", dict, {})
    settings = fields.names("settings", None)
    d, rows = fields.numbers("d", None), fields.numbers("rows", None)
    fields.finish()
    try:
        text = json.dumps(parameters, sort_keys=True)
    except TypeError as error:
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
