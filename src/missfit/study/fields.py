"""The keys of a TOML table of a study, taken one by one; every mistake is named."""

from __future__ import annotations

import json
from typing import Any

from missfit.study.imported import StudyError
from missfit.tables.columns import shown

LONGEST_NAME = 100


class Fields:
    """The keys of a TOML table, taken one by one; what is left over is a mistake."""

    def __init__(self, content: Any, where: str):
        if not isinstance(content, dict):
            raise StudyError(
                f"{where}: {shown(content)} is not a table of keys and values."
            )
        self.content, self.where, self.known = dict(content), where, []

    def take(self, name: str, kind: type | tuple[type, ...], *default: Any) -> Any:
        """Take a value of one of some types."""
        self.known.append(name)
        if name not in self.content:
            if default:
                return default[0]
            raise StudyError(f"{self.where}: the key {name!r} is missing.")
        value = self.content.pop(name)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise StudyError(
                f"{self.where}: {name} = {shown(value)} is a {type(value).__name__}; "
                f"it must be a {' or a '.join(one.__name__ for one in kinds)}."
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

    def json(self, name: str) -> str:
        """Take a table of parameters as JSON with sorted keys; it may be absent."""
        value = self.take(name, dict, {})
        try:
            return json.dumps(value, sort_keys=True)
        except (TypeError, RecursionError) as error:
            raise StudyError(
                f"{self.where}: {name} must be numbers, texts, true or false, lists "
                f"and tables ({error})."
            ) from error

    def finish(self) -> None:
        """Raise where a key is left over."""
        if self.content:
            raise StudyError(
                f"{self.where}: unknown key {next(iter(self.content))!r}; known are "
                f"{', '.join(self.known)}."
            )
