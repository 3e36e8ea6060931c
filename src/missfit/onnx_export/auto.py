"""AutoRegressor and AutoClassifier in a graph: the base, and its flexible parts."""

from __future__ import annotations

from collections.abc import Sequence

from missfit.auto.average import Average, ClassAverage, LinearAverage
from missfit.auto.classifier import AutoClassifier
from missfit.auto.parts import Part
from missfit.auto.regressor import AutoRegressor
from missfit.auto.trees import FlatTrees
from missfit.estimators.classes import CERTAIN
from missfit.onnx_export.classes import both_shares, normalised, probabilities
from missfit.onnx_export.distributions import expit
from missfit.onnx_export.graph import Value
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import Target, predicted
from missfit.onnx_export.trees import tree_sum, with_room


@predicted.register
def _(model: AutoRegressor, rows: Rows) -> Target:
    _refuse_others(model.parts_)
    return Target(_with_parts(model.parts_, rows, predicted(model.base_, rows).mean))


@probabilities.register
def _(model: AutoClassifier, rows: Rows) -> Value:
    _refuse_others(model.parts_)
    g, n_classes = rows.graph, len(model.classes_)
    shares = probabilities(model.base_, rows)
    logs = g.node("Log", g.node("Max", shares, CERTAIN))
    if n_classes > 2:
        logits = _with_parts(model.parts_, rows, logs) + model._offset_
        found = g.node("Softmax", logits, axis=-1)
        return normalised(g, found, n_classes)
    first, second = logs.split(1, 1)
    logit = _with_parts(model.parts_, rows, second - first) + model._offset_
    return both_shares(g, expit(logit))


@predicted.register
def _(model: LinearAverage, rows: Rows) -> Target:
    return Target(
        _weighted(model, [predicted(m, rows).mean for m in model.estimators_])
    )


@probabilities.register
def _(model: ClassAverage, rows: Rows) -> Value:
    return _weighted(model, [probabilities(one, rows) for one in model.estimators_])


def _weighted(model: Average, told: Sequence[Value]) -> Value:
    """Return the mean of what the members tell, by their weights."""
    first, *others = (w * value for w, value in zip(model.weights, told, strict=True))
    return sum(others, first)


def _with_parts(parts: Sequence[Part], rows: Rows, base: Value) -> Value:
    """Return the guess of the base and what the parts add to it."""
    guess = base
    for part in parts:
        inputs = rows.graph.joined([rows.x, base]) if part.task.sees_base else rows.x
        own = tree_sum(with_room(_trees_of(part), rows.n_features), inputs)
        guess = guess + part.weight * (own if part.task.is_step else own - base)
    return guess


def _refuse_others(parts: Sequence[Part]) -> None:
    """Refuse parts that have no graph before any work is done."""
    for part in parts:
        _trees_of(part)


def _trees_of(part: Part) -> FlatTrees:
    if not isinstance(part.model, FlatTrees):
        raise ExportError(
            f"the flexible part {part.name!r} of this model cannot be exported to "
            "ONNX: it is no sum of trees with at most 64 leaves each. Leave it out of "
            "the candidates, or use scikit-learn's HistGradientBoostingRegressor or "
            "HistGradientBoostingClassifier in its place."
        )
    return part.model
