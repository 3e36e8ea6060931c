"""What a study names by an import path: found, and not called."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class StudyError(ValueError):
    """A study that cannot be read or run as it is written."""


def import_from(folder: str | None) -> None:
    """Let modules in a folder be imported."""
    if folder and folder not in sys.path:
        sys.path.append(folder)


def imported(path: str, role: str, example: str) -> Any:
    """Return what an import path names, such as ``sklearn.svm.SVR``.

    Its module is imported, which runs the code of that module; what is found there is
    not called.

    Parameters
    ----------
    path : str
        A module and a name in it, or a class in a module and a name in the class.
    role, example : str
        What is named, and a path that would do, for the message of an error.
    """
    module, _, name = path.replace(":", ".").rpartition(".")
    try:
        outer, _, inner = module.rpartition(".")
        if outer and inner[:1].isupper():  # by custom the name of a class
            return getattr(getattr(importlib.import_module(outer), inner), name)
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # whatever the module does
        raise StudyError(
            f"{role} {path!r} cannot be imported ({error}). Give the import path of "
            f"a class, such as {example!r}; modules beside the study's file are found."
        ) from error


def class_with(path: str, methods: Sequence[str], role: str, example: str) -> type:
    """Return the class that an import path names; raise where it lacks a method."""
    found = imported(path, role, example)
    lacks = [one for one in methods if not hasattr(found, one)]
    if isinstance(found, type) and not lacks:
        return found
    what = f"a class without {' and '.join(methods)}"
    if not isinstance(found, type):
        what = f"a {type(found).__name__}, not a class"
    needs = "that has both" if len(methods) > 1 else f"that has {methods[0]}"
    raise StudyError(
        f"{role} {path!r} is {what}. Give the import path of a class {needs}, such as "
        f"{example!r}."
    )


def check_call(
    what: str, function: Callable[..., Any], arguments: Mapping[str, Any]
) -> None:
    """Raise where a call could not be made, without making it."""
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise StudyError(
            f"{what} does not take {dict(arguments)} ({error})."
        ) from error
    except ValueError:  # a compiled class may have no signature
        pass
