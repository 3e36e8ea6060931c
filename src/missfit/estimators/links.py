"""From the predictions of a linear predictor of class indicators to probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.linear_model import LogisticRegression

from missfit.gaussian.conditional import ScaledGaussian
from missfit.moments.maps import AffineMaps
from missfit.moments.patterns import group_rows

# The variance of the latent target that is always left unexplained, of 1. Where the
# label is certain given x, the slope of the probit would be infinite.
LEAST_NOISE = 0.01
RARE = 1e-9  # no class is held to be rarer than this
RIDGE = 0.1  # of the fitted link: enough for finite slopes where classes are separated


def gaussian_shares(
    maps: AffineMaps, law: ScaledGaussian, X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P(label of each indicator) where X is Gaussian, shape (n, t).

    Let the indicator be 1 where a latent Gaussian target is above a threshold. In
    pattern m its least-squares prediction f has the direction of the probit (Brillinger
    1982), and with the mean p and the variance v of f, h = Phi^-1(p), q = phi(h)::

        P = Phi((h + (f - p) / q) / sqrt(1 - v / q^2))

    Nothing is fitted: p and v follow from the law of X.
    """
    groups = group_rows(np.isnan(X))
    here = maps.at(groups.patterns)
    centre = law.shift + law.scale * law.mean
    mean = np.clip(here.intercept + here.coef @ centre, RARE, 1 - RARE)
    h = ndtri(mean)
    q = _density(h)
    noise = latent_noise(maps, law, groups.patterns)
    index = groups.pattern_of_row()
    above = (here.evaluate(X, index) - mean[index]) / q[index]
    return ndtr((h[index] + above) / noise[index])


def latent_noise(
    maps: AffineMaps, law: ScaledGaussian, patterns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return sqrt(1 - v / q^2) of `gaussian_shares` for patterns (P, d), (P, t).

    It is the standard deviation of the latent target given what is observed, in units
    of the one that it has when nothing is.
    """
    here = maps.at(patterns)
    centre = law.shift + law.scale * law.mean
    mean = np.clip(here.intercept + here.coef @ centre, RARE, 1 - RARE)
    slopes = here.coef * law.scale
    variance = np.einsum("ptj,jk,ptk->pt", slopes, law.cov, slopes)
    return np.sqrt(np.maximum(1 - variance / _density(ndtri(mean)) ** 2, LEAST_NOISE))


def _density(h: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-(h**2) / 2) / np.sqrt(2 * np.pi)


class FittedLink(NamedTuple):
    """A logistic regression of the class on linear predictions and what is missing.

    The features are the predictions in standard units, the share of the features that
    is missing, and their products: what is missing flattens the slope.
    """

    centre: NDArray[np.float64]
    scale: NDArray[np.float64]
    intercept: NDArray[np.float64]
    coef: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        prediction: NDArray[np.float64],
        mask: NDArray[np.bool_],
        code: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
    ) -> FittedLink:
        """Fit to held-out predictions of shape (n, t)."""
        centre = np.average(prediction, axis=0, weights=weight)
        spread = np.average((prediction - centre) ** 2, axis=0, weights=weight)
        scale = np.where(spread > 0, np.sqrt(spread), 1.0)
        features = _link_features((prediction - centre) / scale, mask)
        model: Any = LogisticRegression(C=1 / RIDGE, max_iter=1000)
        model.fit(features, code, weight)
        share = float(np.average(mask.mean(axis=1), weights=weight))
        if (
            _mean_slope(model.coef_, share) < 0
        ):  # say nothing: they would say the reverse
            features[:, _of_predictions(prediction.shape[1])] = 0.0
            model.fit(features, code, weight)
        return cls(centre, scale, model.intercept_, model.coef_)

    def scores(
        self, prediction: NDArray[np.float64], mask: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the log-odds of the second class, or a score for each of several."""
        features = _link_features((prediction - self.centre) / self.scale, mask)
        return features @ self.coef.T + self.intercept


def _of_predictions(t: int) -> NDArray[np.intp]:
    """Return which of the features of a link depend on its t predictions."""
    return np.delete(np.arange(2 * t + 1), t)


def _mean_slope(coef: NDArray[np.float64], share: float) -> float:
    """Return how much a class gains where its own prediction rises, on average.

    Where the predictions of few rows are mostly noise, those of held-out rows are
    turned around: what is left out makes the mean of the rest lie on the other side. A
    link with such a slope had a log-loss of 1.8 on the rows of a fit, and their shares
    0.4.
    """
    t = coef.shape[1] // 2
    slope = coef[:, :t] + share * coef[:, t + 1 :]
    return float(np.trace(slope - slope.mean(axis=0)) if t > 1 else slope[0, 0])


def _link_features(standard: NDArray[np.float64], mask: NDArray[np.bool_]):
    share = mask.mean(axis=1, keepdims=True)
    return np.hstack([standard, share, share * standard])
