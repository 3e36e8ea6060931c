"""Runs: moments of the rows of every pattern, in pieces that fit the cache."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.blocks import n_threads
from missfit.moments.pooling import SetMoments
from missfit.moments.rows import Rows

BATCH_DOUBLES = 2**17  # 1 MB: rows gathered at once stay in the cache


class Runs(NamedTuple):
    """Pieces of consecutive sorted rows, each of one pattern, fit for the cache."""

    pattern: NDArray[np.intp]
    start: NDArray[np.intp]
    length: NDArray[np.intp]
    mask: NDArray[np.bool_]


def cut_runs(
    patterns: NDArray[np.bool_], starts: NDArray[np.intp], chosen: NDArray[np.intp]
) -> Runs:
    """Cut the sorted rows of the chosen patterns into pieces of bounded length."""
    longest = max(1, BATCH_DOUBLES // (patterns.shape[1] + 2))
    n_rows = np.diff(starts)[chosen]
    n_runs = -(-n_rows // longest)
    pattern = np.repeat(chosen, n_runs)
    piece = np.arange(len(pattern)) - np.repeat(np.cumsum(n_runs) - n_runs, n_runs)
    start = starts[pattern] + piece * longest
    length = np.minimum(longest, starts[pattern + 1] - start)
    return Runs(pattern, start, length, patterns[pattern])


def run_moments(runs: Runs, rows: Rows, order: NDArray[np.intp]) -> SetMoments:
    """Return the moments of every run, many short runs at a time.

    Runs are sorted by length and padded to the longest of their batch with rows of
    weight zero, so that one batched product serves many patterns.
    """
    n_columns = rows.X.shape[1] + rows.y.shape[1]
    out = SetMoments(
        np.empty(len(runs.start)),
        np.empty((len(runs.start), n_columns)),
        np.empty((len(runs.start), n_columns, n_columns)),
    )

    def fill(batch: NDArray[np.intp]) -> None:
        length = runs.length[batch, None]
        within = np.arange(length[0, 0])
        position = runs.start[batch, None] + np.minimum(within, length - 1)
        piece = _batch_moments(
            rows.take(order[position]), within < length, runs.mask[batch]
        )
        for target, values in zip(out, piece, strict=True):
            target[batch] = values

    # numpy lets go of the interpreter lock in every step, so threads share the work;
    # each writes its own runs.
    batches = _batches(runs.length, max(1, BATCH_DOUBLES // (n_columns + 1)))
    if len(batches) < 4:
        for batch in batches:
            fill(batch)
        return out
    with ThreadPoolExecutor(min(len(batches), n_threads())) as pool:
        for _ in pool.map(fill, batches):
            pass
    return out


def _batches(length: NDArray[np.intp], n_rows: int) -> list[NDArray[np.intp]]:
    """Split runs, longest first, so that each batch pads to about ``n_rows`` rows."""
    by_length = np.argsort(-length, kind="stable")
    batches, done = [], 0
    while done < len(by_length):
        size = max(1, n_rows // length[by_length[done]])
        batches.append(by_length[done : done + size])
        done += size
    return batches


@np.errstate(over="ignore", invalid="ignore")  # rows.refuse_overflow sees it
def _batch_moments(
    rows: Rows, valid: NDArray[np.bool_], mask: NDArray[np.bool_]
) -> SetMoments:
    """Moments of b runs of r rows each: X (b, r, d), y (b, r, t), weight (b, r).

    Two passes: the mean, then the scatter about it. A last column of ones yields the
    rounding error of the first mean for free, which corrects both (Chan, Golub and
    LeVeque 1983, "corrected two-pass").
    """
    n_features, n_columns = rows.X.shape[2], rows.X.shape[2] + rows.y.shape[2]
    weight = np.where(valid, rows.weight, 0.0)
    Z = np.empty((*valid.shape, n_columns + 1))
    Z[..., :n_features] = rows.X
    Z[..., n_features:n_columns] = rows.y
    Z[..., n_columns] = 1.0
    np.copyto(Z[..., :n_features], 0.0, where=mask[:, None, :])
    total = (weight[:, None, :] @ Z)[:, 0]
    count = total[:, n_columns]
    mean = total[:, :n_columns] / count[:, None]
    Z[..., :n_columns] -= mean[:, None, :]
    if not (weight == 1.0).all():
        Z *= np.sqrt(weight)[..., None]
    product = Z.transpose(0, 2, 1) @ Z
    error = product[:, n_columns, :n_columns] / count[:, None]
    scatter = product[:, :n_columns, :n_columns]
    scatter -= count[:, None, None] * error[:, :, None] * error[:, None, :]
    diagonal = np.einsum("pii->pi", scatter)  # a view
    np.maximum(diagonal, 0.0, out=diagonal)  # the correction may round below zero
    return SetMoments(count, mean + error, scatter)
