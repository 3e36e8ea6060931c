"""Regressions on a Gaussian law of X, for any missing pattern, without a branch.

With the covariance C of the features in standard units, z their values less the mean
and w the 0/1 vector of those observed, the matrix diag(w) C diag(w) + diag(1 - w) holds
C_oo and leaves the missing features alone. Eliminating the features one by one, as
Gauss did, from this matrix bordered by what is to be predicted gives its conditional
expectation and variance: the same d steps for every row, so one graph for 2^d patterns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.gaussian.conditional import ScaledGaussian
from missfit.gaussian.distances import unexplained
from missfit.onnx_export.graph import Value
from missfit.onnx_export.rows import Rows


class Conditional(NamedTuple):
    """What the observed features say of targets under K laws.

    Attributes
    ----------
    mean, variance : Value of shape (n, K, t)
        Of b'X given what is observed, where it is one target at a time.
    covariance : Value of shape (n, K, t, t)
        Of all targets together.
    log_density : Value of shape (n, K)
        Of the observed features, in standard units.
    """

    mean: Value
    variance: Value
    covariance: Value
    log_density: Value


def conditional(
    rows: Rows, laws: Sequence[ScaledGaussian], coef: NDArray[np.float64]
) -> Conditional:
    """Return the moments of coef X, shape (t, d), given what is observed.

    The laws have the shift and the scale in common, as those of a mixture have. The
    mean is taken as `missfit.gaussian.conditional.conditional_maps` takes it: observed
    features come in by their own slopes, so that rounding in the elimination touches
    only what is said of the missing ones.
    """
    g, (t, d) = rows.graph, coef.shape
    parts = _parts(rows, laws, coef)
    rest, steps = eliminated(_bordered(parts, len(laws), d), d, d + t)
    left, shift = rest.split(t, 1)
    variance = (left * np.eye(t)).summed(t)
    square = _squared_distances(parts.gap, _weights(steps), laws)
    log_det = g.node("Log", g.joined([step.pivot for step in steps])).reshaped(0, 0, d)
    constant = rows.seen @ np.full((d, 1), np.log(2 * np.pi))
    return Conditional(
        parts.mean - shift.reshaped(0, 0, t),
        g.node("Max", variance, 0.0),
        left,
        -0.5 * (square + log_det.summed(d) + constant),
    )


def conditional_by_inverse(
    rows: Rows, law: ScaledGaussian, coef: NDArray[np.float64]
) -> tuple[Value, Value]:
    """Return the mean, (n, 1, t), and covariance, (n, t, t), of coef X, shape (t, d).

    As `conditional`, by one inverse in place of d steps: see `Value.inverse`.
    """
    t, d = coef.shape
    parts = _parts(rows, [law], coef)
    weights = parts.pull @ parts.inner.inverse()
    # onnxruntime 1.21 joins a transpose and a product to one step that it does not have
    # for float64; a reshape between them keeps them apart
    turned = rows.graph.node("Transpose", parts.pull, perm=[0, 1, 3, 2])
    turned = turned.reshaped(0, 1, d, t)
    shift = weights @ parts.gap.reshaped(0, 1, d, 1)
    left = parts.own - weights @ turned
    return parts.mean + shift.reshaped(0, 1, t), left.reshaped(0, t, t)


class _Parts(NamedTuple):
    """What conditional moments are made of, under K laws."""

    mean: Value  # (n, K, t), of the targets, with the missing features at their means
    inner: Value  # (n, K, d, d), C_oo, and the identity at the missing features
    pull: Value  # (n, K, t, d), what is missing of the targets with observed features
    own: Value  # (n, K, t, t), what is missing of the targets with itself
    gap: Value  # (n, K, d), from the means to the observed features, 0 where missing


def _parts(
    rows: Rows, laws: Sequence[ScaledGaussian], coef: NDArray[np.float64]
) -> _Parts:
    g, (t, d), k = rows.graph, coef.shape, len(laws)
    slopes = coef * laws[0].scale
    mean = np.stack([law.mean for law in laws])
    cov = np.stack([law.cov for law in laws])
    standard = (rows.x - laws[0].shift) / laws[0].scale
    known = g.where(rows.missing, 0.0, standard).reshaped(0, 1, d)
    seen, lost = rows.seen.reshaped(0, 1, d), rows.mask.reshaped(0, 1, d)
    filled = known + lost * mean
    # what is missing of each target, as a combination of the missing features
    missed = lost * slopes  # (n, t, d)
    # its covariances with all features, (n, K, t, d), by one product for all laws
    pull = (missed @ np.hstack(list(cov))).reshaped(0, t, k, d)
    pull = g.node("Transpose", pull, perm=[0, 2, 1, 3])
    turned = g.node("Transpose", missed, perm=[0, 2, 1]).reshaped(0, 1, d, t)
    across, down = seen.reshaped(0, 1, 1, d), seen.reshaped(0, 1, d, 1)
    return _Parts(
        filled @ slopes.T,
        down * across * cov + (1.0 - across) * np.eye(d),
        pull * across,
        pull @ turned,
        known - seen * mean,
    )


def _bordered(parts: _Parts, k: int, d: int) -> Value:
    """Return the matrix to eliminate from, (n, K, d + t, d + t + 1).

    Features above targets; features, targets and the gaps of the features side by side.
    """
    g = parts.gap.graph
    turned = g.node("Transpose", parts.pull, perm=[0, 1, 3, 2])
    upper = [parts.inner, turned, parts.gap.reshaped(0, k, d, 1)]
    lower = [parts.pull, parts.own, parts.pull @ np.zeros((d, 1))]
    return g.joined([g.joined(upper), g.joined(lower)], axis=-2)


class Step(NamedTuple):
    """One step of an elimination: the pivot, (..., 1, 1), and its row, (..., 1, m)."""

    pivot: Value
    row: Value


def eliminated(matrix: Value, n_steps: int, n_rows: int) -> tuple[Value, list[Step]]:
    """Return what Gauss leaves of a matrix after some steps, and these.

    Parameters
    ----------
    matrix : Value of shape (..., n_rows, n_rows + 1)
        No pivot among the first ``n_steps`` may be 0.
    n_steps : int
        How many of the first rows and columns are eliminated.
    n_rows : int
    """
    steps = []
    for j in range(n_steps):
        n_left = n_rows - j
        first, rest = matrix.split(1, n_left - 1, axis=-2)
        pivot, row = first.split(1, n_left)
        column, rest = rest.split(1, n_left)
        matrix = rest - column * (row / pivot)
        steps.append(Step(pivot, row))
    return matrix, steps


def _weights(steps: Sequence[Step]) -> Value:
    """Return C_oo^-1 z, (n, K, 1, d), from the elimination, the last feature first."""
    found = steps[-1].row.columns([-1]) / steps[-1].pivot
    for n_after, step in enumerate(reversed(steps[:-1]), 1):
        said = (step.row.columns(range(n_after)) * found).summed(n_after)
        gap = step.row.columns([-1]) - said.reshaped(0, 0, 1, 1)
        found = found.graph.joined([gap / step.pivot, found])
    return found


def _squared_distances(
    gaps: Value, weights: Value, laws: Sequence[ScaledGaussian]
) -> Value:
    """Return what `missfit.gaussian.distances.squared_distance` does, (n, K)."""
    k, d = len(laws), len(laws[0].mean)
    ones = [1] * k
    squares = []
    for law, gap, weight in zip(
        laws, gaps.split(*ones, axis=1), weights.split(*ones, axis=1), strict=True
    ):
        # onnxruntime has no product of no rows with a stack of matrices: one by one
        gap, weight = gap.reshaped(0, d), weight.reshaped(0, d)
        size = gap.graph.node("Abs", weight).summed(d).reshaped(0, 1)
        left = unexplained(gap, weight, size, law.cov)
        square = (weight * gap).summed(d) + (weight * left).summed(d)
        squares.append(square.reshaped(0, 1))
    return gaps.graph.joined(squares)
