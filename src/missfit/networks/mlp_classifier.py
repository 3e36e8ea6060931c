"""MLPClassifier: one hidden ReLU layer on (X with 0 for missing, M), for classes."""

from __future__ import annotations

from typing import Any

from missfit.networks.classifier import NetworkClassifier
from missfit.networks.mlp import MLPNetwork


class MLPClassifier(NetworkClassifier, MLPNetwork):
    """A multilayer perceptron on (X with 0 for missing, M) that predicts classes.

    The network of `missfit.MLP`, trained by Adam on the cross-entropy: X is
    standardised first, so that 0 is the mean of a feature, the learning rate falls from
    1e-2 along a cosine, and of three starts of the last fit the one with the lowest
    training loss is kept. All candidates of the cross-validation train as one batch.

    Parameters
    ----------
    width : int or str
        Hidden units: a number, or a multiple of d or 2^d such as "2d" or "0.5*2^d".
    weight_decay : float or sequence of float, optional
        Penalties to choose from; by default 0.1, 0.3, 1, 3 and 10.
    cv : int, splitter or iterable
        Cross-validation that chooses, by the mean log-loss of the folds. A number of
        folds means stratified ones. Means and standard deviations of X are those of all
        rows.
    class_weight : dict, "balanced" or None
        Weights of the classes, as in scikit-learn. Probabilities are then those of a
        table with such weights.
    random_state : int, RandomState or None
        Seed of the initial weights and of the order of the rows.
    verbose : bool
        Show progress on stderr.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    width_ : int
        Hidden units.
    weight_decay_ : float
        The chosen penalty.
    cv_scores_ : dict
        Minus the mean log-loss of each penalty, where there was a choice.
    params_ : dict of ndarray
        Weights and biases W1, b1, W2, b2, for standardised inputs.
    loss_curve_ : list of float
        Training loss of each epoch.
    n_iter_ : int
        Epochs trained.
    """

    def __init__(
        self,
        width: Any = 40,
        *,
        weight_decay: Any = None,
        cv: Any = 3,
        class_weight: Any = None,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.width = width
        self.weight_decay = weight_decay
        self.cv = cv
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
