"""What is wrong with the probabilities of a classifier on generated tables.

The tables are those of `generated_tables`, whose y is cut into classes. On the rows
that a classifier was fitted to, its mean log-loss must not exceed that of the shares of
the classes, which need no feature at all, by more than `MOST_NATS`.
"""

import warnings

import numpy as np
from generated_tables import generated_table
from sklearn.base import clone

from missfit import (
    EMLR,
    AutoClassifier,
    ConditionalImputedLogistic,
    ConstantImputedLR,
    EMProbit,
    MLPClassifier,
    NeuMissClassifier,
    PatternClassifier,
    PatternProbit,
    SelfMaskedLR,
)

MOST_NATS = 0.2
LINEAR = {
    "PatternClassifier": PatternClassifier(EMLR()),
    "PatternClassifier of constants": PatternClassifier(ConstantImputedLR()),
    "PatternProbit": PatternProbit(EMLR()),
    "PatternProbit of self-masking": PatternProbit(SelfMaskedLR()),
    "ConditionalImputedLogistic": ConditionalImputedLogistic(),
    "EMProbit": EMProbit(),
}
SLOW = {  # a second or more for each table
    "AutoClassifier": (AutoClassifier(random_state=0), 100),
    "MLPClassifier": (MLPClassifier(random_state=0), 50),
    "NeuMissClassifier": (NeuMissClassifier(depth=3, random_state=0), 50),
}


def classes_of(y, seed):
    """Cut y into two or three classes, of equal shares or with a rare one."""
    shares = ([0.5], [1 / 3, 2 / 3], [0.9], [0.1, 0.8])[seed % 4]
    return np.array(["a", "b", "c"])[np.searchsorted(np.quantile(y, shares), y)]


def log_loss(shares, label, classes, weight):
    """Mean of -log of the probabilities of what came."""
    probability = shares[np.arange(len(label)), np.searchsorted(classes, label)]
    return np.average(-np.log(np.maximum(probability, 1e-300)), weights=weight)


def fault(model, seed):
    """What is wrong with a classifier on the table of a seed, or None."""
    table = generated_table(seed)
    label = classes_of(table.y, seed)
    weight = np.ones(len(label)) if table.weight is None else table.weight
    if len(np.unique(label[weight > 0])) < 2:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rare patterns and classes: the point of it
        try:
            model = clone(model).fit(table.X, label, sample_weight=weight)
        except ValueError as error:
            if any(words in str(error) for words in ("fewer than the", "no split")):
                return None  # too few rows for the folds of the cross-validation
            raise
        shares, new = (model.predict_proba(rows) for rows in (table.X, table.new))
    both = np.vstack([shares, new])
    if not (both >= 0).all() or np.abs(both.sum(axis=1) - 1).max() > 1e-6:
        return f"no probabilities: {both.min()} to {both.max()}"
    constant = np.array([weight[label == one].sum() for one in model.classes_])
    constant = np.tile(constant / constant.sum(), (len(label), 1))
    ours, theirs = (
        log_loss(found, label, model.classes_, weight) for found in (shares, constant)
    )
    return f"{ours} nats, shares {theirs}" if ours > theirs + MOST_NATS else None


def faults(model, seeds):
    found = {seed: fault(model, seed) for seed in seeds}
    return {seed: text for seed, text in found.items() if text}
