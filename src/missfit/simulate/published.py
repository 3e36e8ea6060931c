"""The paper's three simulated settings, regenerated to the last bits.

The authors drew with legacy ``numpy.random.RandomState``, whose streams are frozen, and
with ``multivariate_normal``, whose result depends on the signs of a singular value
decomposition. Those signs differ between versions of LAPACK from d = 6 on, so they are
made explicit here (``missfit/published/signs.json``).

Reference: Le Morvan, Prost, Josse, Scornet, Varoquaux, AISTATS 2020; code and results
of the authors in marineLM/linear_predictor_missing (BSD-3-Clause).
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from missfit.moments.patterns import all_patterns
from missfit.simulate.pattern_mixture import GaussianPatternMixture
from missfit.simulate.self_masked import SelfMaskedProbit

SIZES = (1_000, 5_000, 10_000, 25_000, 50_000, 100_000)
GRID = {  # setting: (dimensions, numbers of rows, training and test together)
    "mixture1": ((4, 6, 8, 10, 12, 14, 16), SIZES),
    "mixture3": ((4, 5, 6, 7, 8, 9, 10), (*SIZES, 500_000)),
    "selfmasked": ((4, 6, 8, 10, 12, 14, 16), SIZES),
}
N_REPETITIONS = 10
MASKING_SLOPE = 0.5  # lambda of the self-masking probit
MISSING_RATE = 0.25  # of the values of each feature in the self-masked setting


def published_sizes(setting: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the dimensions and the numbers of rows of a setting of the paper.

    >>> published_sizes("mixture1")[0]
    (4, 6, 8, 10, 12, 14, 16)
    """
    if setting not in GRID:
        raise ValueError(
            f"unknown setting {setting!r}; the paper has {', '.join(GRID)}."
        )
    return GRID[setting]


def published(setting: str, d: int) -> GaussianPatternMixture | SelfMaskedProbit:
    """Return the law that the paper draws a setting from.

    Parameters
    ----------
    setting : {"mixture1", "mixture3", "selfmasked"}
    d : int
        The number of features, one of those that the paper has for this setting.

    Examples
    --------
    >>> published("mixture3", 4).means.round(3).tolist()
    [[0.0, 0.0, 0.0, 0.0], [5.095, 0.0, 0.0, 0.0], [0.0, 5.095, 0.0, 0.0]]
    """
    dimensions, _ = published_sizes(setting)
    _check_member("d", d, dimensions, setting)
    rng = np.random.RandomState(_seeds()[0])
    beta = np.ones(d)
    if setting == "selfmasked":
        return SelfMaskedProbit.with_rate(
            np.zeros(d),
            _draw_cov(d, rng),
            beta,
            slope=MASKING_SLOPE,
            rate=MISSING_RATE,
            beta0=1.0,
        )
    n_components = int(setting.removeprefix("mixture"))
    component = _draw_components(2**d, n_components, rng)
    n_patterns = np.bincount(component)
    covs = np.stack([_draw_cov(d, rng) for _ in range(n_components)])
    # Component k >= 1 is shifted along the features of the binary digits of k.
    digits = np.arange(n_components)[:, None] >> np.arange(d) & 1
    shift = 2 * np.mean(np.diagonal(covs, axis1=1, axis2=2))
    return GaussianPatternMixture(
        patterns=all_patterns(d),
        weights=1 / n_components / n_patterns[component],
        means=shift * digits,
        covs=covs,
        component=component,
        beta=beta,
        beta0=1.0,
    )


def published_data(
    setting: str, d: int, repetition: int, n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows that the authors drew: X with NaN where missing, and y.

    Sizes are nested: the rows of a smaller ``n`` are the first rows of a larger one.
    The authors split the rows by ``train_test_split(X, y, random_state=0)``.

    Parameters
    ----------
    setting : {"mixture1", "mixture3", "selfmasked"}
    d : int
    repetition : int
        From 0 to 9.
    n : int
        The number of all rows, one of the paper's sizes: 1,000 ... 100,000 (500,000
        for mixture3).

    Examples
    --------
    >>> X, y = published_data("mixture1", 4, repetition=0, n=1000)
    >>> X.shape, y.shape
    ((1000, 4), (1000,))
    """
    model = published(setting, d)
    sizes = published_sizes(setting)[1]
    _check_member("n", n, sizes, setting)
    _check_member("repetition", repetition, range(N_REPETITIONS), setting)
    rng = np.random.RandomState(_seeds()[1][repetition])
    roots = _oriented_roots(setting, d)
    draw: Any = _draw_selfmasked if setting == "selfmasked" else _draw_mixture
    increments = np.diff(sizes[: sizes.index(n) + 1], prepend=0)
    parts = [draw(model, roots, m, rng) for m in increments]
    X, mask, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return np.where(mask, np.nan, X), y


def _check_member(name: str, value: int, allowed, setting: str) -> None:
    if value not in allowed or int(value) != value or isinstance(value, float):
        raise ValueError(
            f"{name}={value!r} is not in the paper's {setting}; choose one of "
            f"{', '.join(map(str, allowed))}."
        )


def _seeds() -> tuple[int, NDArray]:
    """Return the seed of the parameters and the seeds of the repetitions."""
    rng = np.random.RandomState(123)
    parameters = rng.choice(1000)
    return parameters, rng.choice(10000, N_REPETITIONS)


def _draw_components(n_patterns: int, n_components: int, rng) -> NDArray[np.intp]:
    """Return the component of each pattern, shuffled; components are about equal."""
    share = round(n_patterns / n_components)
    sizes = [share] * (n_components - 1)
    component = np.repeat(np.arange(n_components), [*sizes, n_patterns - sum(sizes)])
    rng.shuffle(component)
    return component


def _draw_cov(d: int, rng) -> NDArray[np.float64]:
    """Return B B' + D with Gaussian B (d x d/2) and a small positive diagonal D."""
    B = rng.randn(d, int(0.5 * d))
    return B @ B.T + np.diag(rng.uniform(low=0.1, size=d))


@cache
def _oriented_roots(setting: str, d: int) -> tuple[NDArray[np.float64], ...]:
    """Return for each component a matrix R such that z @ R has its covariance.

    R = sqrt(s) V of the decomposition U s V. Each row of V is turned so that its
    largest entry is positive, and is then given the sign that it had with the authors'
    LAPACK.
    """
    model = published(setting, d)
    covs = model.covs if isinstance(model, GaussianPatternMixture) else [model.cov]
    path = resources.files("missfit") / "published" / "signs.json"
    signs = json.loads(path.read_text())[setting][str(d)]
    return tuple(_root(cov, sign) for cov, sign in zip(covs, signs, strict=True))


def _root(cov: NDArray[np.float64], signs: str) -> NDArray[np.float64]:
    _, s, V = np.linalg.svd(cov)
    largest = V[np.arange(len(V)), np.abs(V).argmax(axis=1)]
    sign = np.sign(largest) * np.where(np.array(list(signs)) == "+", 1, -1)
    return np.sqrt(s)[:, None] * (sign[:, None] * V)


def _draw_mixture(model: GaussianPatternMixture, roots, m: int, rng):
    """Draw m rows in the authors' order: patterns, then X by component, then noise."""
    index = rng.choice(len(model.weights), p=model.weights, size=m)
    component = model.component[index]
    X = np.empty((m, model.n_features))
    for k, root in enumerate(roots):
        rows = component == k
        X[rows] = rng.standard_normal((rows.sum(), len(root))) @ root + model.means[k]
    return X, model.patterns[index], _target(model, X, rng)


def _draw_selfmasked(model: SelfMaskedProbit, roots, m: int, rng):
    """Draw m rows in the authors' order: X, then noise, then the mask by feature."""
    X = rng.standard_normal((m, model.n_features)) @ roots[0] + model.mean
    y = _target(model, X, rng)
    threshold = -special.ndtri(MISSING_RATE) * np.sqrt(
        1 / MASKING_SLOPE**2 + np.diag(model.cov)
    )
    probability = special.ndtr(MASKING_SLOPE * (X - threshold))
    mask = np.column_stack([rng.binomial(n=1, p=p) for p in probability.T])
    return X, mask.astype(bool), y


def _target(model, X: NDArray[np.float64], rng) -> NDArray[np.float64]:
    y = model.beta0 + X @ model.beta
    rng.randn(len(X))  # the authors draw a noise and multiply it by zero
    return y
