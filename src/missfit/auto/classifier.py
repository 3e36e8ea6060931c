"""AutoClassifier: the default classifier, chosen by held-out log-loss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from missfit.auto.candidates import default_classifiers
from missfit.auto.choice import AutoPredictor, checked_groups
from missfit.auto.clock import Clock
from missfit.auto.heldout import Table, effective_rows
from missfit.auto.log_loss import LogLoss
from missfit.estimators.classes import NanClassifier
from missfit.moments.pattern_moments import PatternMoments

UNSEEN = 0.5  # rows that a class has which a fold has not seen


class AutoClassifier(AutoPredictor, NanClassifier):
    """The default for classes: a linear base chosen by held-out log-loss, and boosting.

    1. Linear classifiers compete for the base. The first candidate,
       ConditionalImputedLogistic, stays unless another has a lower log-loss on the
       held-out rows by one paired standard error. With 2,000 rows or fewer none is
       picked: the base is the mean of their probabilities, weighted by how well they
       predict the held-out rows.
    2. Gradient boosting is fitted to X and the logit of the base, and beside it to X
       alone. The number of rounds and the weights of::

           logit(x) = base(x) + u (boosted_with_base(x) - base(x))
                              + v (boosted(x) - base(x))

       come from the same held-out rows (the least log-loss with u, v >= 0 and
       u + v <= 1); each part must lower their log-loss by half a standard error, or it
       is left out.
       Beside parts a number for each class is added to its logit, so that its mean
       probability on the held-out rows is nearly its share: a mean of logits says too
       little of a rare class.

    Everything is refitted inside every fold. The base ends fitted to all rows, the
    boosting is the mean of the logits of its fits to the folds. With more than two
    classes there is a logit for each, and the probabilities are their softmax.

    Parameters
    ----------
    candidates : list of classifiers, optional
        What to choose from. Linear classifiers of missfit compete for the base, the
        first of them as the reference; any other classifier that takes NaN and has
        ``predict_proba`` is a flexible part. By default those that suit the table, see
        `candidates_for`; without a flexible one the model is linear.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn. Probabilities are then those of a
        table with such weights.
    cv : int, splitter or iterable, optional
        By default 5 shuffled folds, 3 from 5,000 rows on, in which every class has its
        share; groups are kept together. Otherwise as in `missfit.AutoRegressor`.
    time_budget : float, optional
        Seconds for the whole fit. No candidate is begun that would, as far as those
        before tell, leave too little time to fit the base to all rows; the reference is
        fitted in any case. The choice may differ from run to run.
    random_state : int, RandomState or None
        Seed of the folds and of every candidate whose own ``random_state`` is None.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels seen at fit, sorted.
    base_ : estimator
        The chosen linear classifier, fitted to all rows, with the classes numbered.
        Where several are averaged, ``base_.estimators_`` are they and
        ``base_.weights`` their weights.
    parts_ : list of Part
        The flexible parts that earned their place, with their rounds and weights.
    scores_ : list of Score
        All candidates: held-out log-loss, drop below that of the reference (of a
        flexible part: of the base), its standard error, seconds, verdict.
    n_features_in_ : int

    Notes
    -----
    Complete data are fine. Features all missing at fit are ignored, patterns never seen
    are predicted by the base's own rule. Separated classes give a finite answer, and a
    class that some folds lack is given half a row there. Rows must be in memory.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> label = np.where(X.sum(axis=1) + 0.3 * rng.normal(size=500) > 0, "yes", "no")
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model = AutoClassifier(random_state=0).fit(X, label)
    >>> model.predict([[1.0, 2.0], [-1.0, np.nan]]).tolist()
    ['yes', 'no']
    """

    _objective_: LogLoss

    def __init__(
        self,
        candidates: Any = None,
        *,
        class_weight: Any = None,
        cv: Any = None,
        time_budget: float | None = None,
        random_state: Any = None,
    ):
        self.candidates = candidates
        self.class_weight = class_weight
        self.cv = cv
        self.time_budget = time_budget
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            The features, NaN where missing.
        y : array-like of shape (n,), or str
            The labels, or the name of their column.
        sample_weight : array-like of shape (n,), or str, optional
            Weights of the rows in every fit and in the held-out log-loss, as in
            `missfit.AutoRegressor.fit`.
        groups : array-like of shape (n,), optional
            Rows of one group (a school, a patient) are held out together.
        """
        clock = Clock(self.time_budget)
        trial = self._trial()
        table = trial._table(X, y, sample_weight, groups)
        trial._objective_ = table.objective
        trial._choose(table, clock)
        return self._become(trial)

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
        return self._objective_.shares(self._guess(self._objective_, X))

    def _table(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Table:
        """Return the rows, with the classes numbered."""
        rows = self._labelled_rows(X, y, sample_weight)
        n = len(rows.code)
        weight = np.ones(n) if rows.weight is None else effective_rows(rows.weight)
        objective = LogLoss(len(self.classes_), UNSEEN / n)
        groups = checked_groups(groups, rows.X)
        return Table(rows.X, rows.code, weight, groups, objective)

    def _default_candidates(self, moments: PatternMoments) -> list[Any]:
        return default_classifiers(moments)
