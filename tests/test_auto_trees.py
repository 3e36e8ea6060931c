"""Flat trees against scikit-learn's, and that no content leads them astray."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from missfit.auto import trees
from missfit.auto.trees import FlatTrees


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(1)  # ties with the thresholds
    y = np.sin(3 * X[:, 0]) + X[:, -1] * X[:, 0] + np.isnan(X).sum(axis=1)
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, y + np.isnan(X[:, 0])


@pytest.fixture(scope="module")
def boosting():
    X, y = rows(500, 4)
    return HistGradientBoostingRegressor(max_iter=150, min_samples_leaf=3).fit(X, y)


@pytest.mark.parametrize("n", [0, 1, 2, 8, 9, 64, 5000])
def test_predictions_are_those_of_scikit_learn_to_the_bit(boosting, n):
    X, _ = rows(max(n, 1), 4, seed=1)
    X[::7] = np.nan
    X = X[:n]
    flat = FlatTrees.from_boosting(boosting)
    if n:
        np.testing.assert_array_equal(flat.predict(X), boosting.predict(X))
        stages = zip(flat.staged_predict(X), boosting.staged_predict(X), strict=True)
        assert all(np.array_equal(ours, theirs) for ours, theirs in stages)
    else:
        assert flat.predict(X).shape == (0,)


def test_the_rounds_that_are_not_used_are_not_kept(boosting):
    X, _ = rows(100, 4, seed=2)
    flat = FlatTrees.from_boosting(boosting, rounds=40)
    assert flat.n_trees.tolist() == [40]
    expected = next(itertools.islice(boosting.staged_predict(X), 39, None))
    np.testing.assert_array_equal(flat.predict(X), expected)


def test_a_split_of_missing_against_present_and_a_tree_without_a_split():
    X = np.array([[np.nan], [1.0], [2.0], [3.0]] * 30)
    there = HistGradientBoostingRegressor(max_iter=3).fit(X, np.isnan(X[:, 0]))
    flat = FlatTrees.from_boosting(there)
    assert np.isinf(flat.number).any()
    np.testing.assert_array_equal(flat.predict(X), there.predict(X))
    constant = HistGradientBoostingRegressor(max_iter=3).fit(X, np.full(120, 2.5))
    flat = FlatTrees.from_boosting(constant)
    assert len(flat.feature) == flat.n_trees.sum()
    np.testing.assert_array_equal(flat.predict(X), constant.predict(X))


@pytest.mark.parametrize("max_leaf_nodes", [2, 32, 33, 64])
def test_every_number_of_leaves_that_fits_into_the_bits(max_leaf_nodes):
    X, y = rows(600, 2)
    model = HistGradientBoostingRegressor(
        max_leaf_nodes=max_leaf_nodes, min_samples_leaf=1, max_iter=5
    ).fit(X, y)
    flat = FlatTrees.from_boosting(model)
    for few in (X[:10], X):  # test by test, and by tables
        np.testing.assert_array_equal(flat.predict(few), model.predict(few))


def test_what_is_not_kept_flat_is_said():
    X, y = rows(400, 2)
    X = np.nan_to_num(X)
    large = HistGradientBoostingRegressor(
        max_leaf_nodes=None, max_iter=1, min_samples_leaf=1
    )
    with pytest.raises(ValueError, match="leaves; at most 64"):
        FlatTrees.from_boosting(large.fit(X, y))
    other = HistGradientBoostingRegressor(loss="absolute_error", max_iter=2)
    with pytest.raises(ValueError, match="loss='absolute_error'"):
        FlatTrees.from_boosting(other.fit(X, y))
    X[:, 0] = np.arange(400) % 5
    levels = HistGradientBoostingRegressor(categorical_features=[0], max_iter=2)
    with pytest.raises(ValueError, match="by category"):
        FlatTrees.from_boosting(levels.fit(X, X[:, 0] % 2))


def test_children_follow_from_the_order_of_the_nodes(boosting):
    flat = FlatTrees.from_boosting(boosting)
    sizes = [len(tree.nodes) for (tree,) in boosting._predictors]
    np.testing.assert_array_equal(flat.roots, np.cumsum(sizes) - sizes)
    for (tree,), root in zip(boosting._predictors, flat.roots, strict=True):
        nodes = tree.nodes
        own = slice(root, root + len(nodes))
        split = nodes["is_leaf"] == 0
        places = root + np.flatnonzero(split)
        np.testing.assert_array_equal(nodes["left"][split] + root, places + 1)
        np.testing.assert_array_equal(
            nodes["right"][split] + root, flat.right[own][split]
        )


def descend(nodes, x):
    """Read one tree off an iterator of nodes; return the leaf of a row.

    Written as trees are usually told, to compare with.
    """
    feature, number, missing_left = next(nodes)
    if feature < 0:
        return number
    left, right = descend(nodes, x), descend(nodes, x)
    missing = np.isnan(x[feature])
    return left if (missing and missing_left) or x[feature] <= number else right


def test_random_arrays_are_refused_or_are_trees_read_from_left_to_right():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 2)).round(1)
    X[0, 0] = X[1, 1] = np.nan
    n_read = 0
    for _ in range(2000):
        n = int(rng.integers(1, 14))
        feature = rng.choice([-1, -1, 0, 1], n).astype(np.int32)
        arrays = feature, rng.normal(size=n).round(1), rng.random(n) < 0.5
        try:
            n_trees = trees._right_and_roots(feature)[1].shape
            flat = FlatTrees(*arrays, np.array(n_trees), np.zeros(1), 2)
        except ValueError:
            # what ends in the middle of a tree: the reader below finds no node
            with pytest.raises((RuntimeError, StopIteration)):
                read_all(arrays, X[0])
            continue
        n_read += 1
        expected = [read_all(arrays, x) for x in X]
        np.testing.assert_array_equal(flat.predict(X), expected)
    assert n_read > 300


def read_all(arrays, x):
    nodes, total = zip(*arrays, strict=True), 0.0
    for first in nodes:
        total += descend(itertools.chain([first], nodes), x)
    return total


GOOD = {
    "feature": np.array([0, -1, 1, -1, -1], dtype=np.int32),
    "number": np.array([0.5, 1.0, 0.0, 2.0, 3.0]),
    "missing_left": np.array([True, False, False, False, False]),
    "n_trees": np.array([1]),
    "baseline": np.array([0.0]),
    "n_features": 2,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": np.array([0, -1, 9, -1, -1])}, "split features 0 to 9 of 2"),
        ({"feature": np.array([0, -1, -7, -1, -1])}, "split features -7 to 0 of 2"),
        ({"feature": np.array([0, -1, 1, -1, 1])}, "in the middle of one"),
        ({"feature": np.array([0, 0, 0, 0, 0])}, "in the middle of one"),
        ({"feature": np.array([0.0, -1, 1, -1, -1])}, "items of float64"),
        ({"feature": [0, -1, 1, -1, -1]}, "no array of one dimension"),
        ({"number": np.array([np.nan, 1, 0, 2, 3])}, "is no number"),
        ({"number": np.array([0.5, np.inf, 0, 2, 3])}, "is no number"),
        ({"number": np.zeros(4)}, "different lengths"),
        ({"number": np.zeros((5, 1))}, "no array of one dimension"),
        ({"missing_left": np.zeros(5)}, "items of float64"),
        ({"baseline": np.array([np.nan])}, "is no number"),
        ({"baseline": np.zeros(2)}, "1 trees are not those of 2 models"),
        ({"n_trees": np.array([2])}, "1 trees are not those of 1 models"),
        ({"n_trees": np.array([0, 1]), "baseline": np.zeros(2)}, "models with .0 1."),
        ({"n_trees": np.array([2, -1]), "baseline": np.zeros(2)}, "models with . 2 -1"),
        ({"n_trees": np.array([1.0])}, "items of float64"),
    ],
)
def test_what_is_no_tree_is_refused_when_it_is_loaded(change, message):
    assert FlatTrees(**GOOD).predict(np.array([[1.0, np.nan]])).tolist() == [3.0]
    blank = FlatTrees.__new__(FlatTrees)
    with pytest.raises(ValueError, match=message):
        blank.__setstate__({**GOOD, **change})


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 5\); the trees take 2"):
        FlatTrees(**GOOD).predict(np.zeros((3, 5)))


def test_blocks_of_trees_and_rows_do_not_change_a_bit(boosting, monkeypatch):
    X, _ = rows(300, 4, seed=3)
    whole = FlatTrees.from_boosting(boosting).predict(X)
    monkeypatch.setattr(trees, "BLOCK_TREES", 7)
    monkeypatch.setattr(trees, "BLOCK_ROWS", 11)
    np.testing.assert_array_equal(FlatTrees.from_boosting(boosting).predict(X), whole)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_do_not_change_a_bit(boosting, monkeypatch, n_threads):
    X, _ = rows(400, 4, seed=3)
    monkeypatch.setattr(trees, "n_threads", lambda: n_threads)
    monkeypatch.setattr(trees, "BLOCK_ROWS", 32)
    found = FlatTrees.from_boosting(boosting).predict(X)
    np.testing.assert_array_equal(found, boosting.predict(X))


def test_several_models_in_one_are_the_models_one_by_one(boosting):
    X, y = rows(300, 4, seed=4)
    columns = np.array([3, 1])  # of a fold that lacks the others
    other = HistGradientBoostingRegressor(max_iter=200).fit(X[:, columns], y)
    flat = [
        FlatTrees.from_boosting(boosting, rounds=30),
        FlatTrees.from_boosting(other, 140, columns, 4),
    ]
    joined = FlatTrees.joined(flat)
    every = [
        next(itertools.islice(boosting.staged_predict(X), 29, None)),
        next(itertools.islice(other.staged_predict(X[:, columns]), 139, None)),
    ]
    np.testing.assert_array_equal(joined.each(X), every)
    np.testing.assert_array_equal(joined.predict(X), np.mean(every, axis=0))
    for k, expected in enumerate(every):
        np.testing.assert_array_equal(joined.model(k).predict(X), expected)


def test_a_model_of_a_fold_without_columns_is_its_baseline(boosting):
    X, y = rows(100, 4)
    empty = HistGradientBoostingRegressor(max_iter=3).fit(np.zeros((100, 1)), y)
    flat = FlatTrees.from_boosting(empty, None, np.empty(0, dtype=np.intp), 4)
    np.testing.assert_array_equal(flat.predict(X), empty.predict(np.zeros((100, 1))))


def test_what_is_pickled_is_the_arrays_alone(boosting):
    flat = FlatTrees.from_boosting(boosting)
    before = len(pickle.dumps(flat))
    X, _ = rows(50, 4)
    flat.predict(X)
    again = pickle.loads(pickle.dumps(flat))
    assert len(pickle.dumps(flat)) == before
    np.testing.assert_array_equal(again.predict(X), flat.predict(X))


@pytest.fixture(scope="module")
def three_classes():
    X, y = rows(400, 4)
    label = np.digitize(y, [0.3, 1.2])
    model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=7)
    return model.fit(X, label)


def test_the_logits_of_classes_are_those_of_scikit_learn_to_the_bit(three_classes):
    X, _ = rows(200, 4, seed=1)
    flat = FlatTrees.from_boosting(three_classes)
    assert (flat.n_outputs, flat.n_trees.tolist()) == (3, [30, 30, 30])
    theirs = three_classes.decision_function(X)
    np.testing.assert_array_equal(flat.predict(X), theirs)
    stages = zip(
        flat.staged_predict(X), three_classes.staged_decision_function(X), strict=True
    )
    assert all(np.array_equal(ours, stage) for ours, stage in stages)
    again = pickle.loads(pickle.dumps(flat))
    np.testing.assert_array_equal(again.predict(X), theirs)
    np.testing.assert_array_equal(flat.output(2).predict(X), theirs[:, 2])


def test_fits_to_folds_are_averaged_output_by_output(three_classes):
    X, _ = rows(50, 4, seed=1)
    flat = FlatTrees.from_boosting(three_classes)
    fewer = FlatTrees.from_boosting(three_classes, rounds=10)
    both = FlatTrees.joined([flat, fewer])
    expected = (flat.predict(X) + fewer.predict(X)) / 2
    np.testing.assert_allclose(both.predict(X), expected, rtol=1e-13)
    np.testing.assert_array_equal(both.model(1).predict(X), fewer.predict(X))


def test_outputs_of_different_length_stay_after_their_last_round(three_classes):
    X, _ = rows(50, 4, seed=1)
    flat = FlatTrees.from_boosting(three_classes)
    constant = FlatTrees.constant(-3.0, 4)
    mixed = FlatTrees.joined([flat.output(0), constant], 2)
    *_, last = mixed.staged_predict(X)
    np.testing.assert_array_equal(last, mixed.predict(X))
    assert (last[:, 1] == -3.0).all()
    with pytest.raises(ValueError, match="2 models are not those of 3 outputs"):
        FlatTrees.joined([constant, constant], 3)
