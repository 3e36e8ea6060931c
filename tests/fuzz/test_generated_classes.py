"""Probabilities of classes are probabilities, and no worse than the shares of classes.

The tables are those of `generated_tables`, whose y is cut into classes. On the rows
that a classifier was fitted to, its mean log-loss must not exceed that of the shares of
the classes, which need no feature at all, by more than `MOST_NATS`.

The long run is 1,000 tables for each linear classifier, 100 for the default and 50 for
each network: ``pytest tests/fuzz/test_generated_classes.py -m slow -n auto``.
"""

import warnings

import numpy as np
import pytest
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
BLOCK = 50  # tables of a test: what a process takes from the others
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


@pytest.mark.parametrize("name", [*LINEAR][:2])
def test_probabilities_are_no_worse_than_the_shares_of_the_classes(name):
    # 1 and 8: the slope of the link was negative; 45 and 79: the closed form was sure
    assert faults(LINEAR[name], [*range(12), 45, 79]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("name", LINEAR)
def test_probabilities_are_no_worse_than_the_shares_on_1000_tables(name, block):
    assert faults(LINEAR[name], range(block * BLOCK, (block + 1) * BLOCK)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("name", SLOW)
def test_probabilities_of_the_default_and_of_networks_are_no_worse(name, block):
    model, n_tables = SLOW[name]
    size = n_tables // 10
    assert faults(model, range(block * size, (block + 1) * size)) == {}
