"""Boosted trees as one TreeEnsemble, missing values to the side that they go to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from missfit.auto.flat_classifier import FlatClassifier
from missfit.auto.trees import LEAF, FlatTrees
from missfit.estimators.filled_columns import FilledColumns, FilledColumnsClassifier
from missfit.onnx_export.classes import probabilities, shares_of_scores
from missfit.onnx_export.graph import LEARNING, Value
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted

SUM, NO_TRANSFORM = 1, 0  # as ONNX numbers them
LEQ = 0  # to the "true" side where x <= threshold
# Rounding of a base's guess, in units of its thresholds and their spread. Boosting puts
# thresholds on values that many rows have, such as the guess for rows of nothing: what
# is equal to a threshold in one arithmetic must not be above it in another.
ROUNDING = 1e-12


def tree_sum(trees: FlatTrees, inputs: Value) -> Value:
    """Return the prediction of flat trees, (n, outputs).

    Thresholds and values stay float64, and so do the inputs: a value goes to the same
    side as in scikit-learn, which compares in float64 too.
    """
    n_fits = len(trees.n_trees) // trees.n_outputs
    output = np.repeat(np.arange(len(trees.n_trees)), trees.n_trees) % trees.n_outputs
    alone = trees.feature[trees.roots] == LEAF  # trees that are one leaf: a constant
    constant = trees.baseline.reshape(n_fits, -1).sum(axis=0)
    lone = trees.number[trees.roots[alone]]
    constant += np.bincount(output[alone], lone, trees.n_outputs)
    if alone.all():
        nothing = np.zeros((trees.n_features, trees.n_outputs))
        return Rows(inputs, trees.n_features).filled() @ nothing + constant / n_fits
    return (_ensemble(trees, inputs, output, alone) + constant) / n_fits


def with_room(trees: FlatTrees, n_exact: int) -> FlatTrees:
    """Return trees that send what is a rounding error above a threshold to its left.

    Of inputs beyond the first ``n_exact``, which are computed and not given.
    """
    near = trees.feature >= n_exact
    if not near.any():
        return trees
    number = trees.number.copy()
    size = np.abs(number[near]) + np.ptp(number[near])
    number[near] += ROUNDING * size
    return FlatTrees(
        trees.feature,
        number,
        trees.missing_left,
        trees.n_trees,
        trees.baseline,
        trees.n_features,
        trees.n_outputs,
    )


def _ensemble(
    trees: FlatTrees, inputs: Value, output: NDArray, alone: NDArray
) -> Value:
    """Return the sums of the trees that split, as one operator."""
    leaf = trees.feature == LEAF
    kept, kept_leaf = ~leaf, leaf.copy()
    kept_leaf[trees.roots[alone]] = False
    sizes = np.diff(np.append(trees.roots, len(leaf)))
    place = np.where(leaf, np.cumsum(kept_leaf) - 1, np.cumsum(kept) - 1)
    left, right = np.flatnonzero(kept) + 1, trees.right[kept]
    return inputs.graph.node(
        "TreeEnsemble",
        inputs,
        domain=LEARNING,
        nodes_featureids=trees.feature[kept].tolist(),
        nodes_splits=trees.number[kept],
        nodes_modes=np.full(kept.sum(), LEQ, dtype=np.uint8),
        nodes_truenodeids=place[left].tolist(),
        nodes_trueleafs=leaf[left].astype(int).tolist(),
        nodes_falsenodeids=place[right].tolist(),
        nodes_falseleafs=leaf[right].astype(int).tolist(),
        nodes_missing_value_tracks_true=trees.missing_left[kept].astype(int).tolist(),
        leaf_targetids=np.repeat(output, sizes)[kept_leaf].tolist(),
        leaf_weights=trees.number[kept_leaf],
        tree_roots=place[trees.roots[~alone]].tolist(),
        n_targets=trees.n_outputs,
        aggregate_function=SUM,
        post_transform=NO_TRANSFORM,
    )


def flat_trees(model: Any) -> FlatTrees:
    """Return the trees of scikit-learn's boosting, or say why they are not exported."""
    try:
        return FlatTrees.from_boosting(model)
    except ValueError as error:
        raise ExportError(
            f"this {type(model).__name__} cannot be exported to ONNX: {error} Fit it "
            "with its default loss, no categorical features and at most 64 leaves."
        ) from error


@predicted.register
def _(model: FlatTrees, rows: Rows) -> Target:
    return Target(tree_sum(model, rows.x))


@predicted.register
def _(model: HistGradientBoostingRegressor, rows: Rows) -> Target:
    return Target(tree_sum(flat_trees(model), rows.x))


@probabilities.register
def _(model: HistGradientBoostingClassifier, rows: Rows) -> Value:
    return shares_of_scores(tree_sum(flat_trees(model), rows.x), model.classes_)


@probabilities.register
def _(model: FlatClassifier, rows: Rows) -> Value:
    return shares_of_scores(tree_sum(model.trees, rows.x), model.classes_)


@predicted.register
def _(model: FilledColumns, rows: Rows) -> Target:
    return predicted(model.estimator_, _filled(model.columns_, rows))


@probabilities.register
def _(model: FilledColumnsClassifier, rows: Rows) -> Value:
    return probabilities(model.estimator_, _filled(model.columns_, rows))


def _filled(columns: NDArray[np.intp], rows: Rows) -> Rows:
    """Return rows of some columns, or of one of zeros where there are none."""
    return rows.take(columns) if len(columns) else Rows(rows.repeated(0.0), 1)
