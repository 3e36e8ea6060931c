"""What a model answers: a prediction and its interval for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.estimators.any_table import missing_mask
from missfit.estimators.conformal_classifier import inside
from missfit.moments.patterns import group_rows, pattern_keys
from missfit.serve.json_rows import json_columns, unknown_keys
from missfit.serve.refusals import RefusedError
from missfit.tables.column_reading import Misfits
from missfit.tables.columns import Column, shown
from missfit.tables.problems import TableError
from missfit.tables.reading import frame_columns, refuse_misfits
from missfit.workflow.model_file import TableModel
from missfit.workflow.predict import NAMES, decimals_of

SHARE_DECIMALS = 6  # of a probability
MOST_KEPT = 20_000  # patterns whose thresholds are kept: a few megabytes
Rows = list[dict[str, Any]]


class Answer(NamedTuple):
    """Predictions of rows, and what their sender should know.

    Attributes
    ----------
    rows : list of dict
        For each row its prediction and the ends of its interval; an end that is
        infinite is None, since JSON has no infinity. For a class: the most probable
        one, the probability of each, and the set of those that are not ruled out.
    warnings : list of str
    """

    rows: list[dict[str, Any]]
    warnings: list[str]


class Answers:
    """Answers rows by a model, and keeps what patterns seen before have cost.

    Parameters
    ----------
    model : TableModel
    on_rows : callable
        Called with the rows of every answer: their columns, and as numbers.
    """

    def __init__(
        self,
        model: TableModel,
        on_rows: Callable[[Sequence[Column], Any], None] = lambda columns, X: None,
    ):
        self.model, self.on_rows = model, on_rows
        self.known = {*model.columns, model.target}
        labels = getattr(model.regressor, "classes_", None)
        self.classes = None if labels is None else labels.tolist()
        self.decimals = decimals_of(model) if labels is None else None
        self._kept: dict[bytes, float] = {}

    def of_jobs(self, jobs: Sequence[Rows]) -> list[Answer | Exception]:
        """Answer the rows of several requests at once, each as if it were alone.

        Most requests hold nothing odd, and are answered by one call of the model. Where
        any does, each is answered by itself, so that what is said of a request, and
        whether it is refused, depends on its own rows alone.
        """
        try:
            together = self._of_sound(jobs)
        except Exception:  # found again, and told, where each is by itself
            together = None
        return together or [self._tried(rows) for rows in jobs]

    def _tried(self, rows: Rows) -> Answer | Exception:
        try:
            return self.of_rows(rows)
        except Exception as error:
            return error

    def _of_sound(self, jobs: Sequence[Rows]) -> list[Answer | Exception] | None:
        """Return the answers of requests with nothing to be said of, or None."""
        rows = [row for job in jobs for row in job]
        columns = json_columns(rows, self.model.columns)
        X, misfits = self.model.encoder.transform_columns(columns)
        odd = misfits or self.model.encoder.unknown_in_columns(columns)
        if odd or not all(self.known.issuperset(row) for row in rows):
            return None
        values = self._predicted(columns, X)
        ends = np.cumsum([len(job) for job in jobs])[:-1].tolist()
        starts = [0, *ends]
        return [
            Answer(values[start:end], [])
            for start, end in zip(starts, [*ends, len(values)], strict=True)
        ]

    def of_rows(self, rows: Rows) -> Answer:
        """Answer rows that came as JSON."""
        if not rows:
            return Answer([], [])
        warnings = unknown_keys(rows, self.model.columns, self.model.target)
        answer = self.of_columns(json_columns(rows, self.model.columns))
        return Answer(answer.rows, warnings + answer.warnings)

    def of_frames(self, frames: Sequence[Any]) -> Answer:
        """Answer rows that came as a table, in one frame or several."""
        answer = Answer([], [])
        for frame in frames:
            columns = [column for _, column in frame_columns(frame[self.model.columns])]
            if len(frame):
                found = self.of_columns(columns)
                rows, warnings = answer.rows + found.rows, answer.warnings
                answer = Answer(rows, warnings + found.warnings)
        return answer

    def of_columns(self, columns: Sequence[Column]) -> Answer:
        """Answer rows by the columns of the model."""
        X, warnings = self.encoded(columns)
        return Answer(self._predicted(columns, X), warnings)

    def encoded(
        self, columns: Sequence[Column]
    ) -> tuple[NDArray[np.float64], list[str]]:
        """Return rows as numbers, and what is odd about them; refuse what does not fit.

        As with a file, a value that does not fit is taken as missing, and a column of
        which half of the values do not fit is refused: for a single row, each.
        """
        X, misfits = self.model.encoder.transform_columns(columns)
        try:
            refuse_misfits(misfits)
        except TableError as error:
            raise RefusedError(422, str(error)) from error
        unknown = self.model.encoder.unknown_in_columns(columns)
        return X, [*_misfit_warnings(misfits), *_level_warnings(unknown)]

    def _predicted(
        self, columns: Sequence[Column], X: NDArray[np.float64]
    ) -> list[dict[str, Any]]:
        """Return what is said of each row."""
        try:
            with_shares = self.classes is not None
            said = self._classified(X) if with_shares else self._numbers(X)
        except ValueError as error:  # numbers whose squares overflow
            raise RefusedError(422, str(error)) from error
        self.on_rows(columns, X)
        return said

    def _numbers(self, X: NDArray[np.float64]) -> list[dict[str, Any]]:
        """Return predictions and ends of intervals, rounded as in a CSV file."""
        center = self.model.regressor.predict(X)
        width = self._thresholds(missing_mask(X))
        values = np.column_stack([center, center - width, center + width])
        if self.decimals is not None:
            values = np.round(values, self.decimals) + 0.0  # no -0.0
        finite = np.isfinite(values)
        return [
            {
                name: value if fine else None
                for name, value, fine in zip(NAMES, row, is_fine, strict=True)
            }
            for row, is_fine in zip(values.tolist(), finite.tolist(), strict=True)
        ]

    def _classified(self, X: NDArray[np.float64]) -> list[dict[str, Any]]:
        """Return the most probable class, all probabilities, and the set of classes."""
        fitted: Any = self.model.regressor
        shares = fitted.predict_proba(X)
        sets = inside(shares, self._thresholds(missing_mask(X)))
        best = shares.argmax(axis=1).tolist()
        labels = self.classes or []
        return [
            {
                NAMES[0]: labels[k],
                "probabilities": dict(zip(map(str, labels), row, strict=True)),
                "set": [
                    label for label, is_in in zip(labels, ins, strict=True) if is_in
                ],
            }
            for k, row, ins in zip(
                best,
                np.round(shares, SHARE_DECIMALS).tolist(),
                sets.tolist(),
                strict=True,
            )
        ]

    def _thresholds(self, mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return half the widths of intervals, or the scores that end sets of classes.

        Those of new patterns are computed all at once, and kept.
        """
        groups = group_rows(mask)
        keys = pattern_keys(groups.patterns).tolist()
        kept = self._kept
        if len(kept) + len(keys) > MOST_KEPT:
            kept = {}
        new = [p for p, key in enumerate(keys) if key not in kept]
        if new:
            fitted = self.model.regressor
            found = fitted.thresholds(groups.patterns[new], [fitted.alpha]).value
            names = [keys[p] for p in new]
            # another dict, since two threads may be here at once
            kept = kept | dict(zip(names, found[0].tolist(), strict=True))
            self._kept = kept
        widths = np.array([kept[key] for key in keys])
        return widths[groups.pattern_of_row()]


def _misfit_warnings(misfits: Sequence[Misfits]) -> list[str]:
    return [f"column {shown(one.name)} has {one}, taken as missing" for one in misfits]


def _level_warnings(unknown: dict[str, list[str]]) -> list[str]:
    return [
        f"column {shown(name)} has levels never seen at fit "
        f"({', '.join(shown(level) for level in levels[:3])}), taken as missing"
        for name, levels in unknown.items()
    ]
