"""Boosted trees as one TreeEnsemble, missing values to the side that they go to."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from missfit.auto.trees import LEAF, FlatTrees
from missfit.estimators.filled_columns import FilledColumns
from missfit.onnx_export.graph import LEARNING, Value
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted

SUM, NO_TRANSFORM = 1, 0  # as ONNX numbers them
LEQ = 0  # to the "true" side where x <= threshold


def tree_sum(trees: FlatTrees, inputs: Value) -> Value:
    """Return the prediction of flat trees, (n, 1).

    Thresholds and values stay float64, and so do the inputs: a value goes to the same
    side as in scikit-learn, which compares in float64 too.
    """
    n_models = len(trees.n_trees)
    leaf = trees.feature == LEAF
    alone = leaf[trees.roots]  # trees that are one leaf: a constant
    constant = (
        trees.baseline.sum() + trees.number[trees.roots[alone]].sum()
    ) / n_models
    if alone.all():
        return inputs @ np.zeros((trees.n_features, 1)) + constant
    kept = ~leaf
    kept_leaf = leaf.copy()
    kept_leaf[trees.roots[alone]] = False
    place = np.where(leaf, np.cumsum(kept_leaf) - 1, np.cumsum(kept) - 1)
    left, right = np.flatnonzero(kept) + 1, trees.right[kept]
    total = inputs.graph.node(
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
        leaf_targetids=[0] * int(kept_leaf.sum()),
        leaf_weights=trees.number[kept_leaf],
        tree_roots=place[trees.roots[~alone]].tolist(),
        n_targets=1,
        aggregate_function=SUM,
        post_transform=NO_TRANSFORM,
    )
    return total / n_models + constant


@predicted.register
def _(model: FlatTrees, rows: Rows) -> Target:
    return Target(tree_sum(model, rows.x))


@predicted.register
def _(model: HistGradientBoostingRegressor, rows: Rows) -> Target:
    try:
        trees = FlatTrees.from_boosting(model)
    except ValueError as error:
        raise ExportError(
            f"this HistGradientBoostingRegressor cannot be exported to ONNX: {error} "
            "Fit it with loss='squared_error', no categorical features and at most 64 "
            "leaves."
        ) from error
    return Target(tree_sum(trees, rows.x))


@predicted.register
def _(model: FilledColumns, rows: Rows) -> Target:
    if not len(model.columns_):  # fitted to one column of zeros
        rows = Rows(rows.filled() @ np.zeros((rows.n_features, 1)), 1)
        return predicted(model.estimator_, rows)
    return predicted(model.estimator_, rows.take(model.columns_))
