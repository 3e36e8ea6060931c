"""The Bayes risk: the error that no predictor can go below (appendix C)."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from missfit.bayes.predictor import (
    conditional_moments,
    expanded_coefficients,
    n_features_of,
    probit_parts,
)
from missfit.gaussian.probit import probit_law, probit_posterior
from missfit.moments.blocks import blocks
from missfit.simulate.linear_target import RandomState, as_generator
from missfit.simulate.self_masked import SelfMaskedProbit

N_DRAWS = 200_000


class Estimate(NamedTuple):
    """A number and its standard error, which is 0 where the number is exact.

    >>> str(Estimate(0.33765355, 0.00059299)), str(Estimate(0.25, 0.0))
    ('0.33765 ± 0.00059', '0.25')
    """

    value: float
    standard_error: float

    def __str__(self) -> str:
        if not 0 < self.standard_error < math.inf:
            return f"{self.value:g}"
        digits = max(0, 1 - math.floor(math.log10(self.standard_error)))
        if digits > 12:
            return f"{self.value:g} ± {self.standard_error:.2g}"
        return f"{self.value:.{digits}f} ± {self.standard_error:.{digits}f}"


@singledispatch
def bayes_risk(
    model: Any, *, n_draws: int = N_DRAWS, random_state: RandomState = 0
) -> Estimate:
    """Return the risk E(Y - f*(Z))^2 of the Bayes predictor (appendix C of the paper).

    It is the expectation of the conditional variance, sigma^2 + sum_m P(M = m) Lambda_m
    with Lambda_m = beta_mis' T_m beta_mis. It is exact where the patterns can be
    enumerated. Otherwise the conditional variance is averaged over ``n_draws``
    simulated rows (the residuals themselves are integrated out: Rao-Blackwell). Under
    probit self-masking the variance comes from expectation propagation. The mean of its
    error, found on one row in 50 by quasi-Monte-Carlo with separate points for each
    row, is added, and the standard error includes both parts. Register a function for a
    law of your own that has another closed form.

    Parameters
    ----------
    model : a law of `missfit.simulate`
    n_draws : int
        The number of rows to simulate where there is no closed form.
    random_state : int, Generator or RandomState

    Returns
    -------
    Estimate
        ``value`` and ``standard_error``, which is 0 where the value is exact.

    Examples
    --------
    >>> from missfit.simulate import published
    >>> round(bayes_risk(published("mixture1", 4)).value, 6)
    3.195629
    """
    n_features_of(model)
    if n_draws < 2:
        raise ValueError(f"n_draws={n_draws}; a standard error needs at least 2.")
    enumerated = model.pattern_probabilities()
    if enumerated is not None:
        patterns, probabilities = enumerated
        possible = probabilities > 0
        maps = expanded_coefficients(model, patterns[possible])
        risk = model.noise**2 + probabilities[possible] @ maps.variance
        return Estimate(float(risk), 0.0)
    X, _ = model.sample(n_draws, random_state)
    _, variance = conditional_moments(model, X)
    return Estimate(
        float(variance.mean()), float(variance.std(ddof=1) / np.sqrt(n_draws))
    )


@bayes_risk.register
def _(model: SelfMaskedProbit, *, n_draws: int = N_DRAWS, random_state=0):
    """Return the mean variance by EP on many rows, plus its mean error on a few."""
    n_exact = max(2, n_draws // 50)
    rng = as_generator(random_state)
    X, _ = model.sample(n_draws + n_exact, rng)
    _, rough = conditional_moments(model, X)
    error = _error_of_propagation(model, X[n_draws:], rng)
    rough = rough[:n_draws]
    spread = rough.var(ddof=1) / n_draws + error.var(ddof=1) / n_exact
    return Estimate(float(rough.mean() + error.mean()), float(np.sqrt(spread)))


def _error_of_propagation(model: SelfMaskedProbit, X, rng):
    """Return Var[Y | Z] of each row by quasi-Monte-Carlo minus Var[Y | Z] by EP.

    It is zero where at most one feature is missing, since EP is exact there.
    """
    error = np.zeros(len(X))
    for rows in blocks(len(X), 512 * model.n_features, size=2**22):
        for part in probit_parts(model, X[rows]):
            law, beta = part[2:], model.beta[part.missing]
            if beta.shape[1] > 1:
                cov = probit_posterior(*law).cov
                rough = np.einsum("ni,nij,nj->n", beta, cov, beta)
                exact = probit_law(*law, beta, rng).variance()
                error[rows][part.rows] = exact - rough
    return error


def bayes_r2(
    model: Any, *, n_draws: int = N_DRAWS, random_state: RandomState = 0
) -> Estimate:
    """Return the best possible R2, 1 - bayes_risk / Var(Y); see `bayes_risk`."""
    risk = bayes_risk(model, n_draws=n_draws, random_state=random_state)
    _, variance = model.target_moments()
    return Estimate(
        float(1 - risk.value / variance), float(risk.standard_error / variance)
    )
