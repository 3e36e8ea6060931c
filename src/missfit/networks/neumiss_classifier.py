"""NeuMissClassifier: the Neumann series of EM's Gaussian, for classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from missfit.estimators.emlr import EMLR
from missfit.estimators.links import latent_noise
from missfit.moments.patterns import group_rows
from missfit.moments.rows import Rows
from missfit.networks.classifier import NetworkClassifier
from missfit.networks.network import Params
from missfit.networks.neumiss import NeuMissNetwork

RIDGE = 0.1  # of the link: enough for finite slopes where classes are separated


class NeuMissClassifier(NetworkClassifier, NeuMissNetwork):
    """The NeuMiss network for classes, started at the probit of a Gaussian.

    The network of `missfit.NeuMiss`, trained on the cross-entropy, with one thing more.
    What is missing adds noise to the latent target of a probit, and so flattens its
    slopes; each missing feature divides the scores by a factor of its own::

        h_0 = (1 - m) (x - mu),   h = (1 - m) (W h) + h_0,  ``depth`` times
        scores(x) = exp(-g'm) (b + w'h),  or a ReLU layer on h beside w'h

    It starts from EM on the class indicators: with W = I - S / L, h is the series of
    `EMLR`'s prediction f, w and b are a logistic regression of the class on f, and g is
    what the Gaussian law says of the noise. The network learns from there what that
    law misses. Weights decay to where they start.

    Parameters
    ----------
    depth : int
        Layers. Strongly correlated features need more.
    head : None, int or str
        None is a linear head; a width (as `MLP`'s) adds a hidden ReLU layer beside it.
    weight_decay : float or sequence of float, optional
        Penalties to choose from, on the distance to the start; by default 1, 10, 100,
        1,000 and 10,000, the last of which all but stays at the start.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean log-loss of the folds. A number of
        folds means stratified ones. Each fold starts from EM on its own training rows.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn. Probabilities are then those of a
        table with such weights.
    random_state : int, RandomState or None
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    weight_decay_, cv_scores_, loss_curve_, n_iter_
        As of `MLPClassifier`.
    params_ : dict of ndarray
        mu, W_mix, W_out, b_out, W_scale (the g above), and those of the ReLU layer.
    """

    # Of these 1,000 was chosen on 2,000 rows of mixture1 (d = 10), with an excess
    # log-loss of .0157 (.0187 with the three of NeuMiss), and 100 on self-masked rows.
    decays = (1.0, 10.0, 1e2, 1e3, 1e4)

    def __init__(
        self,
        depth: int = 10,
        *,
        head: Any = None,
        weight_decay: Any = None,
        cv: Any = 3,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.depth = depth
        self.head = head
        self.weight_decay = weight_decay
        self.cv = cv
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def _linked(self, series: Params, em: EMLR, rows: Rows) -> Params:
        """Return the series with a logistic regression of the class on its outputs."""
        mask = np.isnan(rows.X)
        flatter = _log_noise(em, mask, rows.weight)
        f = self._evaluate(series, self._inputs(rows.X))
        slope = np.exp(-(mask @ flatter))
        coef, intercept = _link(f, slope, rows, len(self.classes_))
        return series | {
            "W_out": series["W_out"] @ coef.T,
            "b_out": series["b_out"] @ coef.T + intercept,
            "W_scale": flatter,
        }


def _log_noise(em: EMLR, mask: NDArray[np.bool_], weight: NDArray) -> NDArray:
    """Return how much each missing feature adds to the log of the latent noise.

    By least squares over the rows of `missfit.estimators.links.latent_noise`, which is
    exact for each pattern where X is Gaussian.
    """
    groups = group_rows(mask)

    def log_noise(patterns: NDArray[np.bool_]) -> NDArray:
        noise = latent_noise(em.maps(patterns), em.feature_law(), patterns)
        return np.log(noise).mean(axis=1)

    more = log_noise(groups.patterns) - log_noise(np.zeros_like(groups.patterns[:1]))
    root = np.sqrt(np.bincount(groups.pattern_of_row(), weight))
    return np.linalg.lstsq(groups.patterns * root[:, None], more * root)[0]


def _link(
    f: NDArray, slope: NDArray, rows: Rows, n_classes: int
) -> tuple[NDArray, NDArray]:
    """Return b and a of a logistic regression on slope (a + b f), f of shape (n, t)."""
    code, weight, n_outputs = rows.y, rows.weight, f.shape[1]
    if len(np.unique(code)) < n_classes:  # in a first chunk, or in a split of the user
        prior = np.log(np.bincount(code, weight, minlength=n_classes) + 0.5)
        flat = np.zeros((n_outputs, n_outputs))
        return flat, prior[1:] - prior[0] if n_classes == 2 else prior
    centre = np.average(f, axis=0, weights=weight)
    spread = np.sqrt(np.average((f - centre) ** 2, axis=0, weights=weight))
    spread = np.where(spread > 0, spread, 1.0)
    columns = np.hstack([(f - centre) / spread, np.ones((len(f), 1))])
    model: Any = LogisticRegression(
        C=1 / RIDGE, fit_intercept=False, max_iter=1000, tol=1e-8
    )
    model.fit(slope[:, None] * columns, code, weight)
    coef = model.coef_[:, :-1] / spread
    return coef, model.coef_[:, -1] - coef @ centre
