"""Graphs of classifiers: the probabilities of the classes."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from missfit.estimators import (
    EMLR,
    ConditionalImputedLogistic,
    ConformalClassifier,
    EMProbit,
    PatternClassifier,
    PatternMixtureLR,
)
from missfit.estimators.classes import ABSENT, CERTAIN
from missfit.estimators.links import LEAST_NOISE, RARE, FittedLink
from missfit.gaussian.conditional import ScaledGaussian
from missfit.onnx_export.distributions import expit, ndtr
from missfit.onnx_export.gaussian_law import conditional
from missfit.onnx_export.graph import Graph, Value
from missfit.onnx_export.problems import ExportError, no_export_of
from missfit.onnx_export.rows import Rows
from missfit.onnx_export.targets import predicted


@singledispatch
def probabilities(model: Any, rows: Rows) -> Value:
    """Return the probability of each class of a fitted classifier, (n, K)."""
    raise no_export_of(model)


@probabilities.register
def _(model: ConformalClassifier, rows: Rows) -> Value:
    inner = probabilities(model.estimator_, rows)
    if len(model.estimator_.classes_) == len(model.classes_):
        return inner
    place = np.searchsorted(model.classes_, model.estimator_.classes_)
    least = np.full(len(model.classes_), ABSENT)  # of those that it has not seen
    least[place] = 0.0
    shares = inner @ np.eye(len(model.classes_))[place] + least
    return shares / (1.0 + least.sum())


@probabilities.register
def _(model: ConditionalImputedLogistic, rows: Rows) -> Value:
    law, n_scores = model._law_, len(model.coef_)
    found = conditional(rows, [law], model.coef_)
    offset = model.intercept_ + model.coef_ @ law.shift
    mean = found.mean.reshaped(0, n_scores)
    scores = mean + rows.mask @ model.mask_coef_.T + offset
    if n_scores > 1:
        return rows.graph.node("Softmax", scores, axis=-1)
    variance = found.variance.reshaped(0, 1)
    flatter = 1.0 / rows.graph.node("Sqrt", 1.0 + np.pi / 8 * variance)
    return both_shares(rows.graph, expit(flatter * scores))


@probabilities.register
def _(model: EMProbit, rows: Rows) -> Value:
    shares = []
    for law, coef, intercept in zip(
        model._laws_, model.coef_, model.intercept_, strict=True
    ):
        found = conditional(rows, [law], coef[None])
        mean = found.mean.reshaped(0, 1) + (intercept + coef @ law.shift)
        tau = rows.graph.node("Sqrt", found.variance.reshaped(0, 1) + 1.0)
        shares.append(ndtr(mean / tau))
    return normalised(rows.graph, rows.graph.joined(shares), len(shares))


@probabilities.register
def _(model: PatternClassifier, rows: Rows) -> Value:
    g = rows.graph
    if model._link_ is None:
        factor = model._discriminant_
        if factor is None:
            return both_shares(g, _gaussian_shares(model, rows))
        shares = _discriminant_shares(model, factor, rows)
        return normalised(g, shares, len(model.classes_))
    mean = predicted(model.estimator_, rows).mean
    scores = _link_scores(model._link_, mean, rows)
    if len(model.classes_) > 2:
        return g.node("Softmax", scores, axis=-1)
    return both_shares(g, expit(scores))


def _link_scores(link: FittedLink, prediction: Value, rows: Rows) -> Value:
    """Return the log-odds of the second class, or a score for each of several."""
    standard = (prediction - link.centre) / link.scale
    share = rows.mask @ np.full((rows.n_features, 1), 1 / rows.n_features)
    features = rows.graph.joined([standard, share, share * standard])
    return features @ link.coef.T + link.intercept


def _gaussian_shares(model: PatternClassifier, rows: Rows) -> Value:
    """Return the probabilities of `missfit.estimators.links.gaussian_shares`.

    Under the law of the predictor itself the prediction f has one mean p in all
    patterns, and in pattern m the variance b'Cb less what is not known of b'X there.
    """
    base, g = model.estimator_, rows.graph
    law = _own_law(base, model._law_)
    coef, intercept = np.atleast_2d(base.coef_), np.atleast_1d(base.intercept_)
    found, t = conditional(rows, [law], coef), len(coef)
    value = found.mean.reshaped(0, t) + (intercept + coef @ law.shift)
    centre = intercept + coef @ (law.shift + law.scale * law.mean)
    slopes = coef * law.scale
    whole = np.einsum("tj,jk,tk->t", slopes, law.cov, slopes)
    variance = whole - found.variance.reshaped(0, t)
    mean = np.clip(centre, RARE, 1 - RARE)
    h = ndtri(mean)
    q = np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)
    noise = g.node("Sqrt", g.node("Max", 1.0 - variance / q**2, LEAST_NOISE))
    return ndtr((h + (value - mean) / q) / noise)


def _discriminant_shares(model: PatternClassifier, factor: float, rows: Rows) -> Value:
    """Return the probabilities of `missfit.estimators.discriminant`.

    Under the law of the predictor itself they are those of Gaussian classes, whose
    means and common covariance follow from the covariances of X and the indicators.
    """
    base = model.estimator_
    law = _own_law(base, model._law_)
    slopes = np.atleast_2d(base.coef_) * law.scale
    centre = np.atleast_1d(base.intercept_) + slopes @ law.mean
    centre = centre + np.atleast_2d(base.coef_) @ law.shift
    if len(slopes) == 1:
        slopes, centre = np.vstack([-slopes, slopes]), np.r_[1 - centre, centre]
    share = np.clip(centre, RARE, 1 - RARE)
    apart = factor * (slopes @ law.cov) / share[:, None]  # (K, d)
    within = law.cov - (apart.T * share) @ apart
    laws = [law._replace(mean=law.mean + one, cov=within) for one in apart]
    density = conditional(rows, laws, np.zeros((1, rows.n_features))).log_density
    return rows.graph.node("Softmax", density + np.log(share), axis=-1)


def _own_law(base: Any, law: ScaledGaussian) -> ScaledGaussian:
    """Return the law of a link where it is that of the predictor, or refuse."""
    alone = isinstance(base, EMLR)
    alone |= isinstance(base, PatternMixtureLR) and base.n_components_ == 1
    own: Any = base.laws()[0][0] if alone else None
    if own is None or not all(map(np.array_equal, own, law)):
        raise ExportError(
            f"PatternClassifier({type(base).__name__}()) was fitted to moments, a "
            "stream or a file, and this link cannot be exported to ONNX. Fit it to "
            "rows in memory, or take PatternClassifier(EMLR())."
        )
    return law


def normalised(g: Graph, shares: Value, n_shares: int) -> Value:
    """Return probabilities that sum to one, from those of each class by itself."""
    if n_shares == 1:
        return both_shares(g, shares)
    shares = g.node("Max", shares, CERTAIN)
    return shares / (shares @ np.ones((n_shares, 1)))


def shares_of_scores(scores: Value, classes: Any) -> Value:
    """Return the probabilities of the log-odds of the second class, or of a softmax."""
    if len(classes) > 2:
        return scores.graph.node("Softmax", scores, axis=-1)
    share = expit(scores)
    return scores.graph.joined([1.0 - share, share])


def both_shares(g: Graph, share: Value) -> Value:
    """Return the probabilities of two classes from that of the second, (n, 1)."""
    share = g.node("Min", g.node("Max", share, CERTAIN), 1 - CERTAIN)
    return g.joined([1.0 - share, share])


def labels(classes: NDArray, shares: Value) -> Value:
    """Return the most probable class of each row, (n,)."""
    best = shares.graph.node("ArgMax", shares, axis=-1, keepdims=0)
    return shares.graph.node("Gather", label_array(classes), best)


def label_array(classes: NDArray) -> NDArray:
    """Return labels as the array that a graph holds: texts, integers, truth values."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "bf":
        return classes
    return np.array([str(label) for label in classes], dtype=object)
