"""The log-loss as an objective, against scikit-learn and logistic regression."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, softmax
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from missfit.auto.heldout import Table, row_splits
from missfit.auto.log_loss import ROWS_WITHOUT_OFFSET, LogLoss
from missfit.auto.parts import FoldModel

TWO, THREE = LogLoss(2, 0.001), LogLoss(3, 0.001)


def test_losses_and_shares_are_those_of_scikit_learn(rng):
    y, guess = rng.integers(0, 2, 50), rng.normal(size=50)
    expected = log_loss(y, expit(guess))
    assert TWO.losses(y, guess).mean() == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(TWO.shares(guess)[:, 1], expit(guess), rtol=1e-12)
    y, guess = rng.integers(0, 3, 50), rng.normal(size=(50, 3))
    expected = log_loss(y, softmax(guess, axis=1))
    assert THREE.losses(y, guess).mean() == pytest.approx(expected, rel=1e-12)
    assert THREE.shares(guess).sum(axis=1) == pytest.approx(1, abs=1e-15)


def test_the_weights_inside_the_bounds_are_those_of_logistic_regression(rng):
    additions = rng.normal(size=(2, 2_000))
    base = rng.normal(size=2_000)
    y = (rng.random(2_000) < expit(base + [0.6, 0.3] @ additions)).astype(int)
    weight = rng.random(2_000)
    found = TWO.weights(y, base, list(additions), weight)
    # the base as a column of slope one: the slopes found must leave no gradient
    residual = expit(base + found @ additions) - y
    np.testing.assert_allclose(additions @ (weight * residual), 0, atol=0.05)
    alone = TWO.weights(y, np.zeros(2_000), [additions[0]], weight)
    theirs = LogisticRegression(C=np.inf, fit_intercept=False)
    theirs.fit(additions[0][:, None], y, weight)
    assert alone == pytest.approx(theirs.coef_[0], abs=1e-4)


def test_weights_stay_between_0_and_1_for_three_classes_too(rng):
    truth = rng.normal(size=(500, 3))
    y = truth.argmax(axis=1)
    assert THREE.weights(y, np.zeros((500, 3)), [truth], np.ones(500)) == [1.0]
    assert THREE.weights(y, truth, [-truth], np.ones(500)) == pytest.approx([0.0])
    noisy = truth + 2 * rng.normal(size=(500, 3))
    (found,) = THREE.weights(y, np.zeros((500, 3)), [noisy], np.ones(500))
    best = minimize_scalar(
        lambda w: THREE.losses(y, w * noisy).mean(), bounds=(0, 1), method="bounded"
    )
    assert found == pytest.approx(best.x, abs=1e-3)


def test_parts_take_no_more_than_the_whole_weight_of_the_base(rng):
    # a base that says the opposite of the truth, and two parts that say nothing
    truth = rng.normal(size=500)
    y = (truth > 0).astype(int)
    found = TWO.weights(y, -truth, [truth, truth], np.ones(500))
    assert found.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("shares", [[0.9, 0.1], [0.7, 0.28, 0.02]])
def test_with_the_offset_mean_probabilities_are_the_shares_of_classes(shares, rng):
    objective = {2: TWO, 3: THREE}[len(shares)]
    y = rng.choice(len(shares), 3_000, p=shares)
    guess, weight = rng.normal(size=(3_000, len(shares))), rng.random(3_000)
    guess = guess[:, 1] if len(shares) == 2 else guess
    offset = objective.offset(y, guess, weight)
    # the equations of the intercepts, but for the rows that speak against an offset
    found = weight @ objective.shares(guess + offset)
    lack = ROWS_WITHOUT_OFFSET * np.atleast_1d(offset)
    lack = np.array([-lack[0], lack[0]]) if len(shares) == 2 else lack
    expected = np.bincount(y, weight)
    np.testing.assert_allclose(found + lack, expected, rtol=0, atol=0.05)


def test_rows_of_a_fold_that_lacks_a_class_do_not_move_the_others(rng):
    y, guess = rng.integers(0, 3, 400), rng.normal(size=(400, 3))
    without = THREE.offset(y[:300], guess[:300], np.ones(300))
    guess[300:, 2] = np.log(THREE.floor)
    found = THREE.offset(y, guess, np.ones(400))
    np.testing.assert_allclose(found, without, rtol=0, atol=1e-6)
    assert (THREE.offset(y[300:], guess[300:], np.ones(100)) == 0).all()


@pytest.mark.parametrize("seen", [[0, 2], [0, 1, 3]])
def test_a_class_that_a_model_has_not_seen_has_the_floor(seen, rng):
    objective = LogLoss(4, 0.001)
    X = rng.normal(size=(300, 2))
    y = np.array(seen)[np.digitize(X[:, 0], [-0.5, 0.5][: len(seen) - 1])]
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    fold = FoldModel(model, np.arange(2), objective)
    flat = fold.flat(2)
    assert flat is not None
    theirs = model.predict_proba(X)
    for guess in (objective.guess(model, X), *objective.stages(model, X)):
        assert (guess[:, [k for k in range(4) if k not in seen]] == np.log(0.001)).all()
    for guess in (objective.guess(model, X), flat.predict(X)):
        ours = softmax(guess[:, seen], axis=1)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_every_class_has_its_share_of_each_fold(rng):
    y = np.repeat([0, 1, 2], [300, 90, 10])
    table = Table(rng.normal(size=(400, 2)), y, np.ones(400), None, THREE)
    splits = row_splits(table, None, 0)
    assert len(splits) == 5
    for _, test in splits:
        assert np.bincount(y[test]).tolist() == [60, 18, 2]
    groups = np.repeat(np.arange(40), 10)
    for train, test in row_splits(table._replace(groups=groups), 4, 0):
        assert not set(groups[train]) & set(groups[test])
