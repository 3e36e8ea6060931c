"""The grid of a study: data sets x methods, frozen; `definition` reads it from TOML.

A cell is one data set and one method. Its key is a digest of everything that its result
depends on (rows, split, estimator, parameters), and its seed comes from the key. So
results do not depend on the order of the cells, and after a change of the definition
no result of the old one is used.
"""

from __future__ import annotations

import fnmatch
import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from missfit.study.data import DataSet
from missfit.study.imported import (
    StudyError,
    check_call,
    class_with,
    import_from,
)

FORMAT = 1  # version of the keys: raise it when the meaning of a cell changes
FIGURES = (1, 2, 3, 4, 5)  # four of the paper, and the one of classes
EXAMPLE = "sklearn.ensemble.RandomForestRegressor"


@dataclass(frozen=True)
class Method:
    """An estimator by its import path, and where in the grid it is run.

    Attributes
    ----------
    name : str
        The name in tables and figures.
    estimator : str
        The import path of a class with fit and predict.
    parameters : str
        Keyword arguments, as JSON with sorted keys. A table with the key "class" stands
        for an object of that class, which its key "parameters" is given to.
    settings, d, rows : tuple or None
        The method is run only on these; None means everywhere.
    """

    name: str
    estimator: str
    parameters: str = "{}"
    settings: tuple[str, ...] | None = None
    d: tuple[int, ...] | None = None
    rows: tuple[int, ...] | None = None

    def applies_to(self, data: DataSet) -> bool:
        """Return whether the method is run on a data set."""
        limits = (
            (self.settings, data.setting),
            (self.d, data.d),
            (self.rows, data.rows),
        )
        return all(allowed is None or value in allowed for allowed, value in limits)

    def build(self, seed: int | None = None) -> Any:
        """Return the estimator, with ``seed`` as random_state if none is given."""
        given = json.loads(self.parameters)
        model = resolved(self.estimator)(**made(given))
        settable = getattr(model, "get_params", dict)()
        if (
            seed is not None
            and "random_state" in settable
            and settable["random_state"] is None
        ):
            model.set_params(random_state=seed)
        return model

    def parameter(self, name: str, default: Any = None) -> Any:
        """Return a parameter that is given, or its default, without building."""
        known = inspect.signature(resolved(self.estimator)).parameters
        if name in known and known[name].default is not inspect.Parameter.empty:
            default = known[name].default
        return json.loads(self.parameters).get(name, default)

    def check(self) -> None:
        """Raise where the estimator could not be built, without calling it."""
        given = json.loads(self.parameters)
        what = f"method {self.name!r}"
        check_call(f"{what}: {self.estimator}", resolved(self.estimator), given)
        for inner in _inner_objects(given):
            arguments = inner.get("parameters", {})
            check_call(f"{what}: {inner['class']}", _inner_class(inner), arguments)


def resolved(path: str) -> type:
    """Return the class of an estimator that an import path names; it is not called.

    >>> resolved("missfit.EMLR").__name__
    'EMLR'
    """
    return class_with(path, ("fit", "predict"), "estimator", EXAMPLE)


def made(value: Any) -> Any:
    """Return parameters in which tables that stand for an object are that object.

    >>> made({"estimator": {"class": "missfit.EMLR"}, "alpha": 1})
    {'estimator': EMLR(), 'alpha': 1}
    """
    if isinstance(value, list):
        return [made(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return _inner_class(value)(**made(value.get("parameters", {})))
    return {name: made(item) for name, item in value.items()}


def _inner_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the tables that stand for an object, from the outside to the inside."""
    if isinstance(value, dict):
        if "class" in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _inner_objects(item)


def _inner_class(value: dict[str, Any]) -> type:
    """Return the class of an object inside the parameters; it is not called."""
    return class_with(str(value["class"]), ("fit",), "class", "missfit.EMLR")


@dataclass(frozen=True)
class Cell:
    """One method on one data set."""

    data: DataSet
    method: Method

    @cached_property
    def key(self) -> str:
        """The digest of everything that the result depends on."""
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
        """The seed for what is random in the method."""
        return int(self.key[:12], 16) % 2**31


@dataclass(frozen=True)
class Study:
    """A frozen grid; see `missfit.study.load`.

    Attributes
    ----------
    name, title : str
    data : tuple of DataSet
    methods : tuple of Method
    figures : tuple of int
        Which figures to draw: 1 to 4 are the paper's, 5 is that of classes.
    folder : str or None
        The folder from which the study's own modules are imported.
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
        """Find every estimator and law, so that mistakes show before any run."""
        import_from(self.folder)
        for data in self.data:
            data.check()
        for method in self.methods:
            method.check()


def _named(name: str, wanted: str) -> bool:
    return name.split(" ")[0] == wanted or fnmatch.fnmatchcase(name, wanted)
