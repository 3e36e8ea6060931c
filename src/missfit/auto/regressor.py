"""AutoRegressor: the default predictor, chosen by held-out prediction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from missfit.auto.candidates import default_regressors
from missfit.auto.choice import AutoPredictor, checked_groups
from missfit.auto.clock import Clock
from missfit.auto.heldout import Table, effective_rows
from missfit.auto.objective import SQUARED_ERROR
from missfit.estimators.base import NanRegressor
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.rows import check_weight
from missfit.tables.chunks import comes_in_chunks, named_columns

SAMPLE_ROWS = 20_000  # of a source of chunks: they choose the candidates


class AutoRegressor(AutoPredictor, NanRegressor):
    """The default: a linear base chosen by held-out prediction, boosted if it pays.

    1. Linear predictors compete for the base. The first candidate, EMLR, stays unless
       another predicts the held-out rows better by one paired standard error. With
       2,000 rows or fewer none is picked: the base is the mean of their predictions,
       weighted by how well they predict the held-out rows.
    2. Gradient boosting is fitted to the residuals of the base, and beside it to y. The
       number of rounds and the weights of::

           f(x) = base(x) + u boosted_residual(x) + v (boosted_y(x) - base(x))

       come from the same held-out rows (least squares, u and v in [0, 1]); each part
       must lower their squared error by 1.5 standard errors, or it is left out. The
       weights are shrunk by the evidence for the parts, much where it is weak.

    Everything is refitted inside every fold. The base ends fitted to all rows. The
    boosting is the mean of its fits to the folds, or fitted to all rows where the
    splits go forward in time.

    Parameters
    ----------
    candidates : list of regressors, optional
        What to choose from. Linear predictors of missfit compete for the base, the
        first of them as the reference; any other regressor that takes NaN is a flexible
        part. By default those that suit the table, see `candidates_for`; without a
        flexible one the model is linear.
    cv : int, splitter or iterable, optional
        By default 5 shuffled folds, 3 from 5,000 rows on; groups are kept together.
        With `missfit.estimators.ForwardSplit` or scikit-learn's ``TimeSeriesSplit`` the
        candidates are chosen by rows that come later. Fewer than 10 rows (or groups)
        are not split: the reference is taken.
    time_budget : float, optional
        Seconds for the whole fit. No candidate is begun that would, as far as those
        before tell, leave too little time to fit the base to all rows; the reference is
        fitted in any case. The choice may differ from run to run.
    random_state : int, RandomState or None
        Seed of the folds, of the rows drawn from a source, and of every candidate whose
        own ``random_state`` is None.

    Attributes
    ----------
    base_ : estimator
        The chosen linear predictor, fitted to all rows. Where several are averaged,
        ``base_.estimators_`` are they and ``base_.weights`` their weights.
    parts_ : list of Part
        The flexible parts that earned their place, with their rounds and weights.
    scores_ : list of Score
        All candidates: held-out R2, gain over the reference (of a flexible part: over
        the base), its standard error, seconds, verdict. The R2 of one that left early
        is its rival's, plus the gain on the held-out rows that both have met.

    Notes
    -----
    Complete data are fine: the bases are then ordinary and ridge regression. Features
    all missing at fit are ignored, patterns never seen are predicted by the base's own
    rule. One target only.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> y = X.sum(axis=1) + 0.1 * rng.normal(size=500)
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = AutoRegressor(random_state=0).fit(X, y)
    >>> model.predict([[1.0, 2.0], [1.0, np.nan]]).round(1).tolist()
    [3.0, 1.0]
    """

    def __init__(
        self,
        candidates: Any = None,
        *,
        cv: Any = None,
        time_budget: float | None = None,
        random_state: Any = None,
    ):
        self.candidates = candidates
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d), or a source of chunks
            The features, NaN where missing. Of a source (see `missfit.EMLR.fit`) of
            more than 20,000 rows a random sample chooses the candidates and fits the
            flexible parts; the chosen base is fitted to the moments of all rows where
            it can be. `explain` says so.
        y : array-like of shape (n,), or str
            The target, or the name of its column.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the rows in every fit, in the held-out errors and so in every
            choice. Only their ratios count: they are scaled to add up to Kish's
            effective number of rows, (sum w)^2 / sum w^2.
        groups : array-like of shape (n,), optional
            Rows of one group (a school, a patient) are held out together.
        """
        if comes_in_chunks(X):
            return self._fit_source(X, y, sample_weight, groups)
        clock = Clock(self.time_budget)
        trial = self._trial()
        trial._choose(trial._table(X, y, sample_weight, groups), clock)
        return self._become(trial)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict rows, NaN where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        if comes_in_chunks(X):
            return self._predict_chunks(X)
        X = self._check_predict(X)
        return self._finite(self._guess(SQUARED_ERROR, X))

    def _fit_source(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Any:
        """Choose by a random sample; fit the base to the moments of all rows."""
        from missfit.estimators import (
            streams as engine,  # on use: most tables are in memory
        )

        if groups is not None:
            raise TypeError(
                "groups are not understood for rows that come in chunks; fit in memory."
            )
        trial = self._trial()
        tables: list[PatternMoments] = []
        weights = np.zeros(2)  # their sum, and that of their squares

        def check(X: Any, y: Any) -> tuple[NDArray, NDArray]:
            first = not hasattr(trial, "n_features_in_")
            return trial._check_fit(X, y, reset=first)

        def chunks():  # moments beside the sample, in one pass
            source = engine.any_source(X, y, sample_weight)
            for rows in engine.full_chunks(source, check):
                weights[:] += rows.weight.sum(), rows.weight @ rows.weight
                if rows.weight.any():
                    new = PatternMoments.from_data(*rows)
                    tables[:] = [tables[0] + new] if tables else [new]
                yield rows

        rng = np.random.default_rng(self._seed())
        rows, n_rows = engine.sampled(chunks(), SAMPLE_ROWS, rng)
        names = getattr(trial, "feature_names_in_", None)
        trial.fit(rows.X, rows.y[:, 0] if rows.y.shape[1] == 1 else rows.y, rows.weight)
        if names is not None:
            trial.feature_names_in_ = names
        if n_rows > SAMPLE_ROWS:
            # as `effective_rows` of all rows
            moments = _times(tables[0], weights[0] / weights[1])
            trial._fit_base_to(moments, len(rows.X), n_rows)
        return self._become(trial)

    def _fit_base_to(self, moments: PatternMoments, n_sample: int, n_rows: int) -> None:
        """Fit the base to all rows, at the strength that the sample chose."""
        said = f"Chosen by a random sample of {n_sample:,} of {n_rows:,} rows"
        if self.base_.needs_rows:
            said += f", to which {type(self.base_).__name__} is fitted."
        else:  # with several strengths to choose from it would need folds
            self.base_ = self.base_.with_chosen_strength().fit_moments(moments)
            said += "; the base is fitted to all of them."
        why = self._explanation_
        self._explanation_ = replace(why, reason=f"{why.reason} {said}")

    def _table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Table:
        """Return the rows."""
        X, y, sample_weight = named_columns(X, y, sample_weight)
        X, y = self._check_fit(X, y)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = effective_rows(check_weight(sample_weight, len(X)))
        return Table(X, y, weight, checked_groups(groups, X))

    def _default_candidates(self, moments: PatternMoments) -> list[Any]:
        return default_regressors(moments)

    def __sklearn_tags__(self):
        """Return the tags: one target is what boosting takes."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags


def _times(moments: PatternMoments, factor: float) -> PatternMoments:
    """Return the moments of the same rows with all weights times a factor."""
    if factor == 1.0:
        return moments
    rows = moments.rows
    return replace(
        moments,
        count=factor * moments.count,
        condensed_scatter=factor * moments.condensed_scatter,
        rows=rows._replace(weight=factor * rows.weight),
    )
