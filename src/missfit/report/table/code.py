"""The section of the report with the Python that prints its score."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from missfit.comparison import CompareOptions, Comparison
from missfit.comparison.own import OWN
from missfit.report.page import Html, element, paragraph, section

# Options on which the score of a predictor does not depend, or that are told otherwise.
WITHOUT = ("reading", "group", "time", "seed", "skip", "only", "n_jobs", "all_folds")
WITHOUT += ("budget", "quick")


def code_section(comparison: Comparison, code: str) -> Html:
    """Return the code and the score that it prints."""
    value = comparison.scores[comparison.recommended].value
    score = comparison.task.words.score
    return section(
        "In Python",
        paragraph(
            f"This prints the {score} of the recommended predictor, {value:.4f}, and "
            "fits the predictor to all rows:"
        ),
        element("pre", element("code", code)),
    )


def reproducing_code(comparison: Comparison, data: Any, options: CompareOptions) -> str:
    """Return the Python that prints the recommended predictor's score, and fits it.

    Parameters
    ----------
    comparison : Comparison
    data : str, Path or object
        The file of the table. Anything else is named "data" in the code.
    options : CompareOptions
        The options that the table was compared with.
    """
    name = comparison.recommended
    own = comparison.trial(name).candidate.about == OWN
    field = comparison.task.columns[0].field
    reading = _reading(options)
    table = [_Code("data"), _Code("target")]
    if isinstance(data, (str, Path)):
        table = [str(data), comparison.target]
    seed = {"random_state": comparison.seed} if comparison.seed else {}
    mine = {"estimators": _Code(f"{{{name!r}: mine}}")} if own else {}
    compared = _call(
        "missfit.compare", *table, **mine, only=[name], **_folds(options), **reading,
        **seed,
    )  # fmt: skip
    predictor = _Code("mine") if own else name
    fitted = _call("missfit.fit_table", *table, predictor, **reading, **seed)
    lines = [
        "import missfit",
        "",
        *(["# data, target: the table that was compared"] * (table[0] == "data")),
        *(["# mine: your own estimator"] * own),
        f"found = {compared}",
        f'print(f"{{found.scores[{name!r}].{field}:.4f}}")',
        f"model = {fitted}",
    ]
    return "\n".join(lines)


class _Code(str):
    """Text that is code, and is not quoted."""

    def __repr__(self) -> str:
        return str(self)


def _reading(options: CompareOptions) -> dict[str, Any]:
    """Return how the table was read, as keyword arguments."""
    said = {
        one.name: getattr(options.reading, one.name) for one in fields(options.reading)
    }
    said |= {"group": options.group, "time": options.time}
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in said.items()}
    return {name: value for name, value in plain.items() if value}


def _folds(options: CompareOptions) -> dict[str, Any]:
    """Return the options that are not the defaults and that a score depends on."""
    usual = CompareOptions()
    names = [one.name for one in fields(options) if one.name not in WITHOUT]
    values = {name: getattr(options, name) for name in names}
    return {k: v for k, v in values.items() if v != getattr(usual, k)}


def _call(function: str, *arguments: Any, **options: Any) -> str:
    """Return a call as code.

    >>> _call("f", "a", group="b")
    "f('a', group='b')"
    """
    given = [repr(value) for value in arguments]
    given += [f"{name}={value!r}" for name, value in options.items()]
    return f"{function}({', '.join(given)})"
