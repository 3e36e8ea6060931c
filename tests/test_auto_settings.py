"""Settings of boosting, chosen by a look at some rows."""

import numpy as np
import pytest

from missfit import ConstantImputedLR
from missfit.auto.boosting import PartCandidate
from missfit.auto.candidates import boosting
from missfit.auto.heldout import Table, all_and_splits
from missfit.auto.objective import SQUARED_ERROR
from missfit.auto.settings import SETTINGS, set_by_a_look

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
