"""PatternProbit: a probit on the features as a linear predictor's law knows them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from missfit.estimators.class_indicators import indicators
from missfit.estimators.classes import (
    LabelledRows,
    NanClassifier,
    both_shares,
    normalised,
)
from missfit.estimators.conditional_imputed_logistic import (
    ConditionalImputedLogistic,
)
from missfit.estimators.emlr import EMLR
from missfit.gaussian.expected_features import in_blocks
from missfit.gaussian.probit_regression import (
    LatentRegression,
    evidence,
    log_shares,
    probable_regression,
    rough_regression,
)
from missfit.moments.pattern_moments import PatternMoments
from missfit.moments.ridge import pseudo_rows
from missfit.moments.rows import row_counts

# Pseudo-rows of standard features whose latent target is 0, at least: they keep slopes
# finite where classes are separated. With 0.3 of them the log-loss of laws without
# noise is up to .002 higher at 7,500 x 10 (selfmasked), with 0.001 up to .002 higher
# at 750 x 10. The evidence asks for more where slopes are many and rows few. So the
# log-loss of AutoClassifier on breast cancer (569 x 30, a fifth hidden) is .087, and
# .125 with .03.
SLOPE_ROWS = 0.03
# Rows that tell the slopes: their d + 1 numbers cost (d + 1) / 100,000 of log-loss then
MOST_ROWS = 50_000
MOST_DOUBLES = 2**25  # of covariances, one for each row at worst: 256 MB


class PatternProbit(NanClassifier):
    """One probit for all patterns, on the law of X that a linear predictor learns.

    The label is 1 where y* = b0 + b'X + e is above 0, with e standard normal. A linear
    predictor of the library, fitted to the class indicators, has learned the law of X:
    one Gaussian (EMLR), several that patterns share (PatternMixtureLR), or one whose
    values hide themselves (SelfMaskedLR). Given that law::

        P(label = 1 | x_obs, m) = sum_k w_k Phi((b0 + b'E_k[X | x_obs, m]) / tau_k)

    with tau_k^2 = 1 + b'Cov_k(X | x_obs, m) b and w_k the probability of component k,
    and b0 and b are those of the greatest likelihood of the labels, less a ridge on b
    as strong as makes the labels most probable. Where X follows the law, this is the
    Bayes classifier but for the errors of estimation; EMProbit, which fits both at once
    by EM, takes some hundred times longer for the same with EMLR.
    With more than two classes each is told from the others by slopes of its own, and
    the probabilities are divided by their sum.

    Parameters
    ----------
    estimator : linear predictor of missfit with a law of X
        EMLR(), PatternMixtureLR() or SelfMaskedLR().
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimator_ : the predictor, fitted to the class indicators
        PatternMixtureLR to X alone: a 0/1 target upsets its search for components. With
        two classes the labels then tell, too, which component a pattern belongs to.
    regressions_ : list of LatentRegression
        b0 and b in the standard units of the predictor's law: of the second class where
        there are two, else one for each class.
    n_features_in_ : int

    Notes
    -----
    Of more than 50,000 rows as many, evenly spaced, tell b0 and b; the law of X is
    fitted to all of them.

    Examples
    --------
    >>> from missfit import PatternMixtureLR
    >>> from missfit.simulate import Probit, published
    >>> X, label = Probit(published("mixture3", 4), 1.0).sample(2000, random_state=0)
    >>> model = PatternProbit(PatternMixtureLR(random_state=0)).fit(X, label)
    >>> model.predict_proba(X).shape
    (2000, 2)
    """

    is_linear = True
    named_by_estimator = True
    estimator_: Any
    regressions_: list[LatentRegression]

    def __init__(self, estimator: Any, *, class_weight: Any = None):
        self.estimator = estimator
        self.class_weight = class_weight

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, near: Any = None
    ) -> Self:
        """Fit to rows, forgetting any fit before.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,), or str
            The labels, or the name of their column.
        sample_weight : array-like of shape (n,), or str, optional
            As in `missfit.EMLR.fit`.
        near : PatternProbit, optional
            One that is fitted to similar rows, to go on from. Only where the law of X
            is fitted without the labels: its search for components is not repeated.
        """
        trial = self._trial()
        _check_law(self.estimator)
        rows = trial._labelled_rows(X, y, sample_weight)
        start: Any = clone(self.estimator)
        nothing = np.zeros(len(rows.X))
        if not start.law_without_target:
            target = indicators(rows.code, len(trial.classes_))
            start.fit(rows.X, target, rows.weight)
        elif near is None:
            start.fit(rows.X, nothing, rows.weight)
        else:
            moments = PatternMoments.from_data(rows.X, nothing, rows.weight)
            start.fit_moments(moments, near=near.estimator_)
        trial._fit_given(start, rows)
        return self._become(trial)

    def _fit_given(self, start: Any, rows: LabelledRows) -> None:
        n, d = rows.X.shape
        most = max(1, min(MOST_ROWS, MOST_DOUBLES // d**2))
        weight = np.ones(n) if rows.weight is None else row_counts(rows.weight, n)
        kept = np.flatnonzero(weight)
        some = kept[np.linspace(0, len(kept) - 1, min(most, len(kept))).astype(int)]
        seen = LabelledRows(rows.X[some], rows.code[some], weight[some])
        slope_rows = SLOPE_ROWS + pseudo_rows(float(weight.sum()), d)
        self.estimator_ = start
        parts = start.expected_features(seen.X)
        if self._has_evidence(parts):  # a second round changes less than 1e-3
            sign = np.where(seen.code == 1, 1.0, -1.0)
            rough = rough_regression(parts, seen.code == 1, weight[some], slope_rows)
            found = evidence(parts, rough, sign) * weight[some, None]
            self.estimator_ = start.given_evidence(seen.X, found)
            parts = self.estimator_.expected_features(seen.X)
        self.regressions_ = self._regressions(parts, seen, slope_rows)

    def _has_evidence(self, parts: list) -> bool:
        """Whether labels tell which component patterns belong to."""
        return len(parts) > 1 and len(self.classes_) == 2

    def _regressions(self, parts: list, rows: LabelledRows, slope_rows: float) -> list:
        n_classes, weight = len(self.classes_), np.asarray(rows.weight)
        return [
            probable_regression(parts, rows.code == k, weight, slope_rows)
            for k in ([1] if n_classes == 2 else range(n_classes))
        ]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, NaN in X where missing.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        check_is_fitted(self)
        X = self._check_predict(X)
        shares = np.empty((len(X), len(self.regressions_)))
        for some in in_blocks(*X.shape):
            parts = self.estimator_.expected_features(X[some])
            above = np.ones(len(X[some]))
            for k, law in enumerate(self.regressions_):
                shares[some, k] = np.exp(log_shares(parts, law, above))
        if shares.shape[1] == 1:
            return both_shares(shares)
        return normalised(shares)

    # --- what a choice among predictors asks ---

    @property
    def takes_near(self) -> bool:
        """Whether a fit goes on from one to similar rows; otherwise its start does."""
        return self.estimator.law_without_target and self.estimator.takes_near

    @property
    def costs_by_row(self) -> bool:
        """Whether the law of X is fitted row by row; the slopes cost little."""
        return self.estimator.costs_by_row

    def starts_from(self) -> Any:
        """Return the linear predictor, if it is fitted to the class indicators."""
        return None if self.estimator.law_without_target else clone(self.estimator)

    def hinted_by(self) -> Any:
        """Return the regression that knows what is missing, if it gives a sign."""
        silent = self.estimator.hinted_by() is None
        return None if silent else ConditionalImputedLogistic()

    def hint_rival(self) -> Any:
        """Return a probit that does not know it.

        Where that one is ahead by a standard error, values that hide themselves would
        add nothing that few rows can show.
        """
        return None if self.hinted_by() is None else self._on(EMLR())

    def scout(self) -> Any:
        """Return a probit on the scout of the linear predictor, if it has one."""
        return self._on(self.estimator.scout())

    def scout_rival(self) -> Any:
        """Return a probit on what that scout must beat, or on what it starts from."""
        rival = self.estimator.scout_rival()
        return self._on(self.estimator.starts_from() if rival is None else rival)

    def _on(self, other: Any) -> Any:
        copy: Any = clone(self)
        return None if other is None else copy.set_params(estimator=other)

    def why_not(self) -> str:
        """Say why the law of X has nothing to add to simpler ones."""
        if self.estimator_.law_without_target and len(self.estimator_.laws()) == 1:
            return "one component"
        return self.estimator_.why_not()

    def self_masking_found(self) -> bool | None:
        """Whether the law of X is one whose values hide themselves."""
        return self.estimator_.self_masking_found()


def _check_law(estimator: Any) -> None:
    """Raise where a predictor has no law of X."""
    if not getattr(estimator, "has_law", False):
        raise TypeError(
            f"estimator={estimator!r} has no law of X; give EMLR(), PatternMixtureLR() "
            "or SelfMaskedLR()."
        )
