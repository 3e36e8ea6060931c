"""Settings of boosting, chosen by a look at some rows."""

import numpy as np
import pytest

from missfit import AutoClassifier, ConditionalImputedLogistic, ConstantImputedLR
from missfit.auto.boosting import PartCandidate
from missfit.auto.candidates import Candidates, boosting, class_boosting
from missfit.auto.heldout import Table, all_and_splits
from missfit.auto.log_loss import LogLoss
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.settings import CLASS_SETTINGS, SETTINGS, set_by_a_look

STUMPS, TREES = {"max_leaf_nodes": 2}, {"max_leaf_nodes": 8}


def look(rng, y, X, settings):
    """Return the candidate after a look at a split of a table."""
    n = len(X)
    table = Table(X, y, np.ones(n), None)
    rows = np.arange(n)
    _, splits = all_and_splits(table, [(rows[: 2 * n // 3], rows[2 * n // 3 :])])
    candidate = PartCandidate(boosting(), "part", SQUARED_ERROR.tasks[1], settings)
    set_by_a_look(table, ConstantImputedLR(), splits[0], [candidate], rng)
    return candidate


def test_trees_are_taken_where_stumps_cannot_learn_a_product(rng):
    X = rng.standard_normal((900, 2))
    found = look(rng, X[:, 0] * X[:, 1], X, (STUMPS, TREES))
    assert found.estimator.max_leaf_nodes == 8
    assert found.setting_words() == ", 8 leaves a tree"
    assert found.seconds > 0


def test_the_first_setting_stays_where_no_other_is_clearly_better(rng):
    X = rng.standard_normal((900, 2))
    found = look(rng, rng.standard_normal(900), X, (STUMPS, TREES))
    assert found.estimator.max_leaf_nodes == 2


def test_few_rows_are_not_looked_at(rng):
    X = rng.standard_normal((300, 2))
    found = look(rng, X[:, 0] * X[:, 1], X, (STUMPS, TREES))
    assert found.estimator.max_leaf_nodes == 2
    assert found.seconds == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_settings_are_parameters_of_the_default_boosting(setting):
    parameters = boosting().set_params(**setting).get_params()
    assert {name: parameters[name] for name in setting} == setting


@pytest.mark.parametrize("setting", CLASS_SETTINGS)
def test_the_settings_of_classes_are_parameters_of_their_boosting(setting):
    parameters = class_boosting(0).set_params(**setting).get_params()
    assert {name: parameters[name] for name in setting} == setting


@pytest.mark.parametrize(("n_rows", "leaves"), [(2_999, 4), (3_000, 15)])
def test_classes_of_few_rows_are_boosted_by_small_trees(rng, n_rows, leaves):
    X = rng.standard_normal((n_rows, 2))
    *_, flexible = AutoClassifier().candidates_for(X, X[:, 0] > 0)
    assert flexible.max_leaf_nodes == leaves


def class_look(rng, score):
    """Return the leaves of trees for classes after a look at a split."""
    X = rng.standard_normal((1_500, 3))
    label = (score(X) + rng.logistic(size=1_500) > 0).astype(int)
    table = Table(X, label, np.ones(1_500), None, LogLoss(2, 1e-3))
    rows = np.arange(1_500)
    _, splits = all_and_splits(table, [(rows[:1_000], rows[1_000:])])
    parts = Candidates([], [class_boosting(1_500)]).for_the_parts(0, LogLoss.tasks)
    set_by_a_look(table, ConditionalImputedLogistic(), splits[0], parts, rng)
    return {part.estimator.max_leaf_nodes for part in parts}


def test_a_product_of_three_features_takes_larger_trees_than_a_sum(rng):
    assert class_look(rng, lambda X: 5 * np.sign(X.prod(axis=1))) == {15}
    assert class_look(rng, lambda X: X.sum(axis=1)) == {4}
