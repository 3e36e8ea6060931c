"""The mean of the linear candidates, weighted by their held-out predictions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from missfit.auto.heldout import Gain, HeldOut, Table
from missfit.auto.race import Candidate, Race

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


# Eight laws outside the families (benchmarks/robustness.py), 300 rows, ten draws: the
# mean R2 is .5236 by this rule, .5231 with exp(-z^2), and .5212 where the squared
# errors were taken for those of a Gaussian, exp(-gap / 4 s^2), whose tails are light.
def evidence_weights(
    table: Table, rows: NDArray[np.intp], loss: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return weights, which add up to 1, by the losses of candidates on some rows.

    A candidate that is z paired standard errors behind the best weighs exp(-z^2 / 2)
    times as much: as likely as chance makes it look so.

    Parameters
    ----------
    table : Table
    rows : int ndarray of shape (n,)
    loss : ndarray of shape (k, n)
        Of each candidate, for each row.
    """
    best = loss[np.argmin(loss @ table.weight[rows])]
    share = np.array([_chance(table.gain(rows, one, best)) for one in loss])
    share[share < LEAST_WEIGHT * share.sum()] = 0.0
    return share / share.sum()


def _chance(lead: Gain) -> float:
    """Return exp(-z^2 / 2) for a lead of z standard errors."""
    if not lead.value > 0:
        return 1.0
    z = lead.value / lead.standard_error if lead.standard_error else np.inf
    return float(np.exp(-(z**2) / 2))


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
