"""The Python that prints the score of a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from missfit.compare import Comparison


def reproducing_code(
    comparison: Comparison,
    path: str | Path,
    *,
    left_out: Sequence[str] = (),
    group: str | None = None,
    categorical: Sequence[str] = (),
) -> str:
    """Return the Python that prints the recommended predictor's R2.

    It reads the file as `missfit.compare` does, draws the same rows, and leaves the
    folds to scikit-learn: the encoder and the predictor are fitted inside each.

    Parameters
    ----------
    comparison : Comparison
    path : str or Path
    left_out : sequence of str
        Columns that are no features, beside the target and the groups.
    group : str, optional
        The column of the groups.
    categorical : sequence of str
        Columns that are taken as categories whatever they look like.
    """
    candidate = comparison.trial(comparison.recommended).candidate
    kind = "GroupKFold" if group else "KFold"
    drawn = comparison.drawn_from is not None
    imports = dict.fromkeys(
        [
            "import missfit",
            *(["import numpy as np"] if drawn else []),
            *candidate.imports.split("\n"),
            "from missfit.tables.training import read_training",
            "from sklearn.metrics import r2_score",
            f"from sklearn.model_selection import {kind}, cross_val_predict",
            "from sklearn.pipeline import make_pipeline",
        ]
    )
    names = {"drop": list(left_out), "categorical": list(categorical), "group": group}
    table = _call("read_training", str(path), comparison.target, **names)
    encoder = _call("missfit.TableEncoder", categorical=comparison.encoder.categorical)
    model = candidate.code.format(seed=comparison.seed)
    n_folds = int(comparison.fold.max()) + 1
    folds = _call(kind, n_folds, shuffle=True, random_state=comparison.seed)
    options = _groups(candidate, group)
    lines = [
        f"table = {table}",
        *_rows(comparison),
        f"model = make_pipeline({encoder}, {model})",
        f"folds = {folds}",
        f"predicted = cross_val_predict(model, X, y, cv=folds{options})",
        'print(f"{r2_score(y, predicted):.4f}")',
    ]
    return "\n".join([*sorted(imports, key=_import_order), "", *lines])


def _rows(comparison: Comparison) -> list[str]:
    """Return the lines that name the rows, drawn as by `missfit.compare`."""
    names = ["X", "y"] if comparison.groups is None else ["X", "y", "groups"]
    if comparison.drawn_from is None:
        return [f"{', '.join(names)} = {', '.join(f'table.{name}' for name in names)}"]
    parts = ["table.X.iloc[rows]", "table.y[rows]", "table.groups[rows]"]
    return [
        f"order = np.random.default_rng({comparison.seed}).permutation(len(table.y))",
        f"rows = np.sort(order[:{len(comparison.y)}])",
        f"{', '.join(names)} = {', '.join(parts[: len(names)])}",
    ]


def _groups(candidate: Any, group: str | None) -> str:
    """Return what the cross-validation is told of groups, and the predictor with it."""
    if not group:
        return ""
    if not candidate.takes_groups:
        return ", groups=groups"
    step = candidate.name.lower()  # of the pipeline
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
