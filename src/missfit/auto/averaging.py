"""The mean of the linear candidates, weighted by their held-out predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import HeldOut, Table
from missfit.auto.race import Candidate, Race
from missfit.estimators.splits import n_units

# The weights are the likelihoods of the held-out rows to the power of 1 / TEMPERATURE.
# Eight laws outside the families (benchmarks/robustness.py), 100 rows, ten draws: the
# mean R2 is below that of the best candidate of each law by .0026 with 2, as with 1.5
# and 3; by .0044 with the best candidate of each draw, by .0065 with the weights of
# least squares, and by .015 where the reference had to be beaten by a standard error.
TEMPERATURE = 2.0
LEAST_WEIGHT = 0.05  # below, a candidate is not worth the time of its predictions


def averaged(race: Race, splits: list[HeldOut]) -> Candidate | None:
    """Return the mean of the candidates left in a race; None where one is enough."""
    alive = [c for c in race.alive() if len(c.loss) == len(splits)]
    if not splits or not race.table.is_averaged or len(alive) < 2:
        return None
    loss = np.array([np.concatenate(candidate.loss) for candidate in alive])
    weights = evidence_weights(race.table, np.concatenate(race.tests), loss)
    for candidate, weight in zip(alive, weights, strict=True):
        candidate.weight = float(weight)
    kept = sorted((c for c in alive if c.weight), key=lambda c: -float(c.weight or 0))
    if len(kept) == 1:
        return kept[0]
    return _mean_of(kept, race.table, splits)


def evidence_weights(
    table: Table, rows: NDArray[np.intp], loss: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weights, which add up to 1, by the losses of candidates on some rows.

    A candidate weighs as much as the held-out rows are likely under it, to the power of
    1 / `TEMPERATURE`. The rows of a group count for one row together: they err alike.

    Parameters
    ----------
    table : Table
    rows : int ndarray of shape (n,)
    loss : ndarray of shape (k, n)
        Of each candidate, for each row.
    """
    weight = table.weight[rows]
    total = loss @ weight
    gap = table.objective.nats(total - total.min(), total.min() / weight.sum())
    if table.groups is not None:
        gap = gap * n_units(len(rows), table.groups[rows]) / len(rows)
    share = np.exp(-gap / TEMPERATURE)
    share[share < LEAST_WEIGHT * share.sum()] = 0.0
    return share / share.sum()


def _mean_of(kept: list[Candidate], table: Table, splits: list[HeldOut]) -> Candidate:
    """Return the weighted mean of candidates as a candidate that met all splits."""
    weights = tuple(float(candidate.weight or 0) for candidate in kept)
    members = [candidate.estimator for candidate in kept]
    estimator = table.objective.average(members, weights)
    names = [f"{c.weight:.2f} {c.name}" for c in kept]
    mean = Candidate(estimator, " + ".join(names))
    for split in splits:
        mean.run(split, table)
    return mean
