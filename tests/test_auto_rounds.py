"""Rounds of boosting: losses beside scikit-learn's own predictions, and when to end."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.metrics import log_loss, mean_squared_error

from missfit.auto.log_loss import LogLoss
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.parts import FoldModel
from missfit.auto.rounds import PATIENCE, WATCHED_STEPS, Examples, Growth

REGRESSOR = HistGradientBoostingRegressor(early_stopping=False, random_state=0)
CLASSIFIER = HistGradientBoostingClassifier(early_stopping=False, random_state=0)


def examples(rng, n, objective=SQUARED_ERROR, n_classes=0):
    X = rng.standard_normal((n, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n)
    if n_classes:
        y = np.clip(np.floor(y + n_classes / 2), 0, n_classes - 1).astype(int)
    return Examples(X, y, rng.random(n) + 0.5, objective)


def growth_of(estimator, seen, unseen):
    return Growth(FoldModel.unfitted(estimator, *seen), seen, unseen)


def test_the_losses_of_rounds_are_those_of_scikit_learn_s_predictions(rng):
    seen, unseen = examples(rng, 300), examples(rng, 100)
    growth = growth_of(REGRESSOR, seen, unseen)
    assert growth.is_watched
    growth.to(12)
    plain = clone(REGRESSOR).set_params(max_iter=12)
    plain.fit(seen.inputs, seen.target, seen.weight)
    expected = [
        mean_squared_error(unseen.target, guess, sample_weight=unseen.weight)
        for guess in plain.staged_predict(unseen.inputs)
    ]
    np.testing.assert_allclose(growth.loss, expected, rtol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_losses_of_classes_are_their_log_loss(rng, n_classes):
    objective = LogLoss(n_classes, 1e-3)
    seen = examples(rng, 300, objective, n_classes)
    unseen = examples(rng, 100, objective, n_classes)
    growth = growth_of(CLASSIFIER, seen, unseen)
    growth.to(8)
    plain = clone(CLASSIFIER).set_params(max_iter=8)
    plain.fit(seen.inputs, seen.target, seen.weight)
    expected = [
        log_loss(unseen.target, shares, sample_weight=unseen.weight)
        for shares in plain.staged_predict_proba(unseen.inputs)
    ]
    np.testing.assert_allclose(growth.loss, expected, rtol=1e-10)


def test_a_class_that_was_not_seen_is_told_by_the_objective(rng):
    objective = LogLoss(3, 1e-3)
    seen = examples(rng, 300, objective, 2)
    unseen = examples(rng, 100, objective, 3)
    growth = growth_of(CLASSIFIER, seen, unseen)
    assert not growth.is_watched
    growth.to(3)
    stages = list(growth.fold.stages(unseen.inputs))
    np.testing.assert_allclose(growth.loss, [unseen.loss(stage) for stage in stages])


def test_rounds_end_so_many_after_the_best(rng):
    seen, unseen = examples(rng, 200), examples(rng, 200)
    growth = growth_of(REGRESSOR, seen, unseen)
    growth.grow(np.inf, lambda guess: True)
    assert growth.best_rounds() == len(growth.loss) - PATIENCE
    watched = growth_of(
        HistGradientBoostingRegressor(early_stopping=True), seen, unseen
    )
    assert not watched.is_watched  # the rule is the user's own


def test_no_more_rounds_where_they_add_nothing_or_time_is_over(rng):
    seen, unseen = examples(rng, 2_000), examples(rng, 200)
    slow = clone(REGRESSOR).set_params(learning_rate=0.01)
    growth = growth_of(slow, seen, unseen)
    growth.grow(np.inf, lambda guess: False)
    assert len(growth.loss) == WATCHED_STEPS[0]
    growth = growth_of(slow, seen, unseen)
    growth.grow(0.0, lambda guess: True)
    assert len(growth.loss) == WATCHED_STEPS[0]
    growth = growth_of(slow, seen, unseen)
    growth.grow(np.inf, lambda guess: True)
    assert len(growth.loss) > WATCHED_STEPS[1]
