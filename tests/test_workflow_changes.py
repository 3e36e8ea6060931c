"""What has changed in new rows: false alarms, and planted changes that are found."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from missfit import TableEncoder
from missfit.evidence.change import (
    Counts,
    beyond_p_value,
    share_p_value,
    unseen_p_value,
)
from missfit.workflow.changes import changes
from missfit.workflow.missingness import Missingness
from missfit.workflow.model_file import TableModel
from missfit.workflow.profile import Profile
from missfit.workflow.watch import Watch

N_OLD, N_NEW = 2_000, 1_000
COLUMNS = [f"x{j}" for j in range(8)]


def table(n, rng):
    """Numbers, skewed and not, and a category, missing by each other (MAR)."""
    X = rng.normal(size=(n, 6))
    X[:, 1] = np.exp(X[:, 1])
    X[:, 2] = X[:, 2] > 0.5
    X[:, 3] = np.round(X[:, 3])
    frame = pd.DataFrame(X, columns=COLUMNS[:6]).astype(object)
    frame["x6"] = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    frame["x7"] = rng.integers(0, 10_000, n)
    rates = np.full(frame.shape, 0.2)
    rates[:, 4] = np.where(X[:, 0] > 0, 0.35, 0.05)  # by another column
    mask = rng.random(frame.shape) < rates
    mask[:, 5] &= ~mask[:, 1]  # never both
    return frame.mask(mask)


def model_of(frame):
    """A model without a predictor: what a comparison of tables needs."""
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    missingness = Missingness.of(encoder.mask(X))
    profile = Profile.of(X, encoder)
    return TableModel(encoder, None, "none", "y", missingness, profile)


def found(old, new):
    model = model_of(old)
    watch = Watch(model)
    for part in (new[:300], new[300:]):
        watch.see(part, *model.encoder.transform_leniently(part))
    return changes(model, watch.seen())


def pairs(n_pairs, seed):
    for k in range(n_pairs):
        rng = np.random.default_rng([seed, k])
        yield rng, table(N_OLD, rng), table(N_NEW, rng)


def false_alarms(n_pairs):
    return sum(bool(found(old, new)) for _, old, new in pairs(n_pairs, 1))


def rate_up(new, rng):
    more = (rng.random(len(new)) < 0.1 / 0.8) & new["x0"].notna()  # 20 % to 30 %
    return new.assign(x0=new["x0"].mask(more))


def new_pattern(new, rng):
    rows = rng.random(len(new)) < 0.05
    return new.assign(x1=new["x1"].mask(rows), x5=new["x5"].mask(rows))


def new_level(new, rng):
    rows = rng.random(len(new)) < 0.05
    return new.assign(x6=new["x6"].mask(rows & new["x6"].notna(), "d"))


def out_of_range(new, rng):
    return new.assign(x7=new["x7"] * np.where(rng.random(len(new)) < 0.05, 10, 1))


PLANTED = {
    "missing": (rate_up, "x0"),
    "pattern": (new_pattern, ""),
    "level": (new_level, "x6"),
    "range": (out_of_range, "x7"),
}


def n_found(kind, n_pairs):
    plant, column = PLANTED[kind]
    hits = 0
    for rng, old, new in pairs(n_pairs, 2):
        told = {(one.kind, one.column) for one in found(old, plant(new, rng))}
        hits += (kind, column) in told
    return hits


def test_few_pairs_of_samples_without_change_raise_an_alarm():
    assert false_alarms(6) <= 1


@pytest.mark.slow
def test_two_hundred_pairs_of_samples_without_change_raise_at_most_four_alarms():
    assert false_alarms(200) <= 4


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_change_is_found(kind):
    assert n_found(kind, 1) == 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_change_is_found_in_at_least_95_of_100(kind):
    assert n_found(kind, 100) >= 95


def test_the_words_name_the_column_the_shares_and_the_values():
    rng, old, new = next(pairs(1, 3))
    for kind, start in {
        "missing": "column 'x0' is missing in 30.1% of these rows, in 20.5% at fit",
        "level": "column 'x6' has the new level 'd' in ",
        "range": "column 'x7' has ",
    }.items():
        told = found(old, PLANTED[kind][0](new, rng))
        assert any(one.words.startswith(start) for one in told), told
    told = found(old, new_pattern(new, rng))
    assert any("'x1', 'x5' together, and nothing else" in one.words for one in told)


def test_the_p_values_are_those_of_the_hypergeometric_law(rng):
    """Against draws: how often a random half of the rows shows as much."""
    marked = np.repeat([True, False], [9, 41])
    draws = [rng.permutation(marked)[:20].sum() for _ in range(20_000)]
    low, high = np.mean(np.array(draws) <= 1), np.mean(np.array(draws) >= 1)
    expected = min(1.0, 2 * min(low, high))
    # of 20,000 draws the error is below 0.004
    assert share_p_value(Counts(8, 30, 1, 20)) == pytest.approx(expected, abs=0.015)
    values = np.arange(50)
    top = [(rng.permutation(values)[:20] >= 47).sum() == 3 for _ in range(20_000)]
    assert beyond_p_value(3, 30, 20) == pytest.approx(np.mean(top), abs=0.01)


def test_the_test_of_patterns_never_seen_holds_its_level():
    """With many rare patterns, where some are new in any sample."""
    rejected = 0
    for k in range(100):
        rng = np.random.default_rng([4, k])
        keys = rng.zipf(1.5, 600) % 1_000
        old, new = Counter(keys[:400].tolist()), Counter(keys[400:].tolist())
        rejected += unseen_p_value(old, new) <= 0.1
    assert rejected <= 20  # 10 expected, sd 3


def test_no_rows_and_the_same_rows_have_not_changed():
    _, old, _ = next(pairs(1, 5))
    assert found(old, old) == []
    model = model_of(old)
    assert changes(model, Watch(model).seen()) == []
