"""From the predictions of a linear predictor of class indicators to probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from missfit.estimators.class_scores import class_scores
from missfit.estimators.classes import LabelledRows
from missfit.gaussian.conditional import ScaledGaussian
from missfit.moments.maps import AffineMaps
from missfit.moments.patterns import group_rows

# The variance of the latent target that is always left unexplained, of 1. Where the
# label is certain given x, the slope of the probit would be infinite. With .05 few rows
# would have less log-loss, but 7,500 of mixture1 (4 features, no noise) .002 more.
LEAST_NOISE = 0.01
# The part of it that two sides of one threshold can explain, with room for chance. From
# here on classes of a common covariance are taken (`discriminant_shares`). Mean
# log-loss of PatternClassifier(EMLR()) over mixture1 (4 and 10 features), mixture3 (4)
# and selfmasked (10), labels at the 50, 90 and 98 % quantile, 60 to 4,000 rows: .2426;
# from 1.1 on .2481, never .3511, always .2378, but then 4,000 rows of mixture1 have
# .010 more.
MOST_EXPLAINED = 1.05
RARE = 1e-9  # no class is held to be rarer than this
RIDGE = 0.1  # of the fitted link: enough for finite slopes where classes are separated
# Divided by the rows for each slope of a fitted link, this is its ridge. Chosen with
# PatternClassifier(ConstantImputedLR()) on mixture1 (4 features) and selfmasked (10),
# cut into 2, 3 and 5 classes. Mean log-loss of three equal classes with a ridge of .1
# and with this one: 20 rows 1.23 and 1.03, 60 rows .86 and .84, 750 rows .638 both.
ROWS_OF_A_SLOPE = 5.0


def gaussian_shares(
    maps: AffineMaps, law: ScaledGaussian, X: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return P(label of each indicator) where X is Gaussian, shape (n, t).

    Let the indicator be 1 where a latent Gaussian target is above a threshold. In
    pattern m its least-squares prediction f has the direction of the probit (Brillinger
    1982), and with the mean p and the variance v of f, h = Phi^-1(p), q = phi(h)::

        P = Phi((h + (f - p) / q) / sqrt(1 - v / q^2))

    Nothing is fitted: p and v follow from the law of X. For two classes (t = 1).
    """
    groups = group_rows(np.isnan(X))
    here = maps.at(groups.patterns)
    mean = mean_predictions(here, law)
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
    return np.sqrt(np.maximum(1 - _explained(maps.at(patterns), law), LEAST_NOISE))


def _explained(maps: AffineMaps, law: ScaledGaussian) -> NDArray[np.float64]:
    """Return v / q^2 of each pattern and indicator, (P, t)."""
    slopes = maps.coef * law.scale
    variance = np.einsum("ptj,jk,ptk->pt", slopes, law.cov, slopes)
    return variance / _density(ndtri(mean_predictions(maps, law))) ** 2


def mean_predictions(maps: AffineMaps, law: ScaledGaussian) -> NDArray[np.float64]:
    """Return the mean of f in each pattern, (P, t): the share of the class."""
    centre = law.shift + law.scale * law.mean
    return np.clip(maps.intercept + maps.coef @ centre, RARE, 1 - RARE)


def is_one_threshold(maps: AffineMaps, law: ScaledGaussian) -> bool:
    """Whether two classes can be two sides of a threshold, as in `gaussian_shares`.

    Then v is at most q^2, also in the one pattern of ``maps``, where nothing is
    missing. Classes that are clusters are further apart.
    """
    return bool(_explained(maps, law).max() < MOST_EXPLAINED)


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
        held_out: NDArray[np.float64],
        prediction: NDArray[np.float64],
        rows: LabelledRows,
        n_classes: int,
    ) -> FittedLink:
        """Fit to held-out predictions of shape (n, t).

        The standard units are those of the predictor that is fitted to all rows, where
        its ``prediction`` for them has the larger spread. Those that are fitted to some
        may hold an indicator for unpredictable, so that their predictions hardly
        differ: in units of these a link to 200 rows had a log-loss of 2.6 on new ones,
        and has one of .65 now.
        """
        centre = np.average(held_out, axis=0, weights=rows.weight)
        spread = [
            np.average((some - centre) ** 2, axis=0, weights=rows.weight)
            for some in (held_out, prediction)
        ]
        scale = np.sqrt(np.maximum(*spread))
        scale[scale == 0] = 1.0
        features = _link_features((held_out - centre) / scale, np.isnan(rows.X))
        n_rows = len(rows.code) if rows.weight is None else float(rows.weight.sum())
        ridge = link_ridge(n_rows, n_classes)
        return cls(centre, scale, *class_scores(features, rows, n_classes, ridge))

    def without_predictions(self, rows: LabelledRows) -> FittedLink:
        """Return a link that knows the shares of the classes alone."""
        n_classes = max(2, len(self.intercept))
        nothing = np.zeros((len(rows.code), self.coef.shape[1]))
        found = class_scores(nothing, rows, n_classes, RIDGE)
        return FittedLink(self.centre, self.scale, *found)

    def scores(
        self, prediction: NDArray[np.float64], mask: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return the log-odds of the second class, or a score for each of several."""
        features = _link_features((prediction - self.centre) / self.scale, mask)
        return features @ self.coef.T + self.intercept


def link_ridge(n_rows: float, n_classes: int) -> float:
    """Return the ridge of a link that is fitted to so many rows.

    With K classes there are 2 K predictions and products, and K - 1 slopes of each. Few
    rows do not tell so many.

    >>> link_ridge(20, 3), link_ridge(6000, 3)
    (3.0, 0.1)
    """
    n_slopes = 2 if n_classes == 2 else 2 * n_classes * (n_classes - 1)
    return max(RIDGE, ROWS_OF_A_SLOPE * n_slopes / n_rows)


def _link_features(standard: NDArray[np.float64], mask: NDArray[np.bool_]):
    share = mask.mean(axis=1, keepdims=True)
    return np.hstack([standard, share, share * standard])
