"""The section of the report with the Python that prints its score."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from missfit.comparison import CompareOptions, Comparison
from missfit.comparison.candidates import Candidate
from missfit.report.page import Html, element, paragraph, section


def code_section(comparison: Comparison, code: str) -> Html:
    """Return the code and the score that it prints."""
    score = comparison.scores[comparison.recommended].r2
    return section(
        "In Python",
        paragraph(f"This prints the R2 of the recommended predictor, {score:.4f}:"),
        element("pre", element("code", code)),
    )


def reproducing_code(
    comparison: Comparison, path: str | Path, options: CompareOptions
) -> str:
    """Return the Python that prints the recommended predictor's R2.

    It reads the file as `missfit.workflow.compare` does, draws the same rows, and
    leaves the folds to scikit-learn: the encoder and the predictor are fitted inside
    each fold.

    Parameters
    ----------
    comparison : Comparison
    path : str or Path
        The file of the table.
    options : CompareOptions
        The options that the table was compared with.
    """
    candidate = comparison.trial(comparison.recommended).candidate
    kind = "GroupKFold" if options.group else "KFold"
    said = [options.reading] if options.reading != CompareOptions().reading else []
    table = _call(
        "read_training", str(path), comparison.target, *said, group=options.group
    )
    encoder = "missfit.TableEncoder(reading=table.reading)"
    model = candidate.code.format(seed=comparison.seed)
    folds = _call(kind, comparison.n_folds, shuffle=True, random_state=comparison.seed)
    lines = [
        f"table = {table}",
        *_rows(comparison),
        f"model = make_pipeline({encoder}, {model})",
        f"folds = {folds}",
        "predicted = cross_val_predict(model, X, y, cv=folds"
        f"{_groups(candidate, options.group)})",
        'print(f"{r2_score(y, predicted):.4f}")',
    ]
    imports = _imports(comparison, candidate, kind, bool(said))
    return "\n".join([*imports, "", *lines])


def _imports(
    comparison: Comparison, candidate: Candidate, kind: str, options: bool
) -> list[str]:
    """Return the lines that import what the code uses."""
    lines = {
        "import missfit",
        *candidate.imports.split("\n"),
        "from missfit.tables.training import read_training",
        "from sklearn.metrics import r2_score",
        f"from sklearn.model_selection import {kind}, cross_val_predict",
        "from sklearn.pipeline import make_pipeline",
    }
    if options:
        lines.add("from missfit.tables.options import ReadOptions")
    if comparison.drawn_from is not None:
        lines.add("import numpy as np")
    return sorted(lines, key=_import_order)


def _rows(comparison: Comparison) -> list[str]:
    """Return the lines that name the rows, drawn as for the comparison."""
    names = ["X", "y"] if comparison.groups is None else ["X", "y", "groups"]
    if comparison.drawn_from is None:
        return [f"{', '.join(names)} = {', '.join(f'table.{name}' for name in names)}"]
    parts = ["table.X.iloc[rows]", "table.y[rows]", "table.groups[rows]"]
    return [
        f"order = np.random.default_rng({comparison.seed}).permutation(len(table.y))",
        f"rows = np.sort(order[:{len(comparison.y)}])",
        f"{', '.join(names)} = {', '.join(parts[: len(names)])}",
    ]


def _groups(candidate: Candidate, group: str | None) -> str:
    """Return the arguments that give the groups to the folds and to the predictor."""
    if not group:
        return ""
    if not candidate.takes_groups:
        return ", groups=groups"
    step = candidate.name.lower()  # the name of the step in the pipeline
    return f", groups=groups, params={{'{step}__groups': groups}}"


def _call(function: str, *arguments: Any, **options: Any) -> str:
    """Return a call as code, without the options that are empty.

    >>> _call("f", "a", drop=[], group="b")
    "f('a', group='b')"
    """
    given = [repr(value) for value in arguments]
    for name, value in options.items():
        if value or isinstance(value, (bool, int)):
            given.append(f"{name}={value!r}")
    return f"{function}({', '.join(given)})"


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line
