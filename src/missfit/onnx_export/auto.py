"""AutoRegressor in a graph: the base, and its flexible parts."""

from __future__ import annotations

from missfit.auto.parts import Part
from missfit.auto.regressor import AutoRegressor
from missfit.auto.trees import FlatTrees
from missfit.onnx_export.graph import Value
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted
from missfit.onnx_export.trees import tree_sum


@predicted.register
def _(model: AutoRegressor, rows: Rows) -> Target:
    trees = [_trees_of(part) for part in model.parts_]  # refused before any work
    base = mean = predicted(model.base_, rows).mean
    for part, own in zip(model.parts_, trees, strict=True):
        mean = mean + part.weight * _addition(part, own, rows, base)
    return Target(mean)


def _addition(part: Part, trees: FlatTrees, rows: Rows, base: Value) -> Value:
    """Return what a part adds to the prediction of the base, before its weight."""
    if not part.on_residuals:
        return tree_sum(trees, rows.x) - base
    return tree_sum(trees, rows.graph.joined([rows.x, base]))


def _trees_of(part: Part) -> FlatTrees:
    if not isinstance(part.model, FlatTrees):
        raise ExportError(
            f"the part {part.name!r} of this AutoRegressor cannot be exported to ONNX: "
            "it is no sum of trees of squared error with at most 64 leaves. Leave it "
            "out of the candidates, or use scikit-learn's "
            "HistGradientBoostingRegressor in its place."
        )
    return part.model
