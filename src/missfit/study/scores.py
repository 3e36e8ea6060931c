"""How good the predictions of a method are: of numbers, or of classes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from missfit.study.data import Parts

Scores = dict[str, float]
# The least probability that a class counts with, so that a method that was certain and
# wrong has a finite log-loss.
CERTAIN = 1e-12


def scores(model: Any, parts: Parts) -> dict[str, Scores]:
    """Return the scores of a fitted method on training and on test rows.

    Labels, which are whole numbers, are scored by the probabilities of the classes.
    """
    is_class = parts.y_train.dtype.kind == "i"
    found: dict[str, Scores] = {}
    for split, X, y in (
        ("train", parts.X_train, parts.y_train),
        ("test", parts.X_test, parts.y_test),
    ):
        start = time.perf_counter()
        predicted = _shares(model, X) if is_class else model.predict(X)
        seconds = time.perf_counter() - start
        found[split] = (class_score if is_class else number_score)(
            y, np.asarray(predicted, dtype=float)
        )
        found[split]["seconds"] = seconds
    if parts.bayes is not None and is_class:
        best = class_score(parts.y_test, parts.bayes)
        found["test"] |= {f"bayes_{name}": value for name, value in best.items()}
        shares = _shares(model, parts.X_test)
        found["test"]["excess_log_loss"] = excess_log_loss(parts.bayes, shares)
    elif parts.bayes is not None:
        found["test"]["bayes_r2"] = number_score(parts.y_test, parts.bayes)["r2"]
    return found


def number_score(y: NDArray, predicted: NDArray) -> Scores:
    """Return the MSE, and R2 = 1 - MSE / variance of y over the same rows."""
    predicted = predicted.reshape(len(predicted), -1)
    if predicted.shape != (len(y), 1):
        raise ValueError(
            f"predictions of shape {predicted.shape} for {len(y)} rows; one number "
            "per row is needed."
        )
    _refuse_infinite(predicted)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        mse = float(np.mean((y - predicted[:, 0]) ** 2))
        return {"mse": mse, "r2": float(1 - mse / np.var(y))}


def class_score(y: NDArray, shares: NDArray[np.float64]) -> Scores:
    """Return the log-loss of probabilities, and the share of rows that are right.

    >>> score = class_score(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    >>> round(score["log_loss"], 4), score["accuracy"]
    (0.6931, 0.5)
    """
    _refuse_infinite(shares)
    own = shares[np.arange(len(y)), y]
    return {
        "log_loss": float(-np.mean(np.log(np.maximum(own, CERTAIN)))),
        "accuracy": float(np.mean(shares.argmax(axis=1) == y)),
    }


def excess_log_loss(true: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return what is expected of the log-loss above that of the true probabilities.

    It is the mean of sum_k p_k log(p_k / q_k) over the rows. The chance in the labels
    of the rows is not in it, and it is never negative.

    >>> half = np.array([[0.5, 0.5]])
    >>> excess_log_loss(half, half)
    0.0
    """
    missing = true.shape[1] - shares.shape[1]  # classes that were never seen
    shares = np.pad(shares, [(0, 0), (0, max(0, missing))])
    return float(rel_entr(true, np.maximum(shares, CERTAIN)).sum(axis=1).mean())


def _shares(model: Any, X: NDArray) -> NDArray[np.float64]:
    """Return the probabilities of the classes 0, 1, ...; 0 of those never seen."""
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has no predict_proba, and classes are scored by "
            "their probabilities; give a classifier that has it."
        )
    shares = np.asarray(model.predict_proba(X), dtype=float)
    aligned = np.zeros((len(shares), int(max(model.classes_)) + 1))
    aligned[:, np.asarray(model.classes_, dtype=int)] = shares
    return aligned


def _refuse_infinite(predicted: NDArray) -> None:
    bad = int((~np.isfinite(predicted)).any(axis=-1).sum())
    if bad:
        raise ValueError(f"{bad} of {len(predicted)} predictions are not finite.")
