"""Whether probabilities come true: what is found where they do, and where not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from class_cases import class_comparison, class_frame
from missfit.comparison.calibration import (
    calibration_by_count,
    probabilities,
    reliability,
)
from missfit.report.table.probabilities import confusion, in_words

MEAN = "mean + indicator logistic"


@pytest.fixture(scope="module")
def compared():
    return class_comparison(class_frame(np.random.default_rng(0), 600, rate=0.3))


def with_shares(comparison, share):
    """Return the comparison with other probabilities of the second class."""

    trial = comparison.trial(comparison.recommended)
    shares = np.column_stack([1 - share, share])
    return replace(
        comparison, trials=[replace(trial, predictions=shares)], chosen=trial.name
    )


def test_the_expected_calibration_error_is_the_mean_gap_of_the_bins():
    rng = np.random.default_rng(1)
    share = rng.random(1000)
    true = rng.random(1000) < share
    bins = reliability(share, true)
    order = np.argsort(share)
    parts = [order[k * 100 : (k + 1) * 100] for k in range(10)]
    gap = [abs(true[rows].mean() - share[rows].mean()) for rows in parts]
    assert bins.n_rows.sum() == 1000
    assert bins.expected_error == pytest.approx(np.mean(gap), abs=2e-3)  # edges


def test_right_probabilities_exceed_what_chance_allows_in_one_of_twenty_tables():
    # of 400 tables 20 are expected, with a standard deviation of 4.4
    rng = np.random.default_rng(2)
    exceeded = 0
    for _ in range(400):
        share = rng.beta(2, 3, 300)
        bins = reliability(share, rng.random(300) < share)
        exceeded += bins.expected_error > bins.allowed_error()
    assert 5 <= exceeded <= 38


def test_probabilities_that_are_too_bold_where_much_is_missing_are_found(compared):
    rng = np.random.default_rng(3)
    n, missing = len(compared.y), compared.mask.sum(axis=1)
    share = np.clip(expit(logit(rng.beta(2, 2, n))), 0.02, 0.98)
    y = (rng.random(n) < share).astype(float)
    bold = np.where(missing >= 2, expit(3 * logit(share)), share)

    comparison = with_shares(replace(compared, y=y), bold)
    groups = calibration_by_count(comparison)
    assert [group.label for group in groups][:2] == ["0", "1"]
    assert [group.is_off for group in groups[:2]] == [False, False]
    assert groups[2].is_off
    words = in_words(comparison, groups)
    assert words.startswith("Not everywhere: on the ")
    assert f"rows with {groups[2].label} variables missing" in words


def test_right_probabilities_are_said_to_come_true(compared):
    rng = np.random.default_rng(4)
    share = rng.beta(2, 2, len(compared.y))

    y = (rng.random(len(share)) < share).astype(float)
    comparison = with_shares(replace(compared, y=y), share)
    words = in_words(comparison, calibration_by_count(comparison))
    assert words.startswith("Yes, as far as these rows can tell")


def test_with_more_than_two_classes_the_most_probable_one_is_looked_at():
    frame = class_frame(np.random.default_rng(5), 200, ("a", "b", "c"))
    found = class_comparison(frame, n_folds=3)
    share, true = probabilities(found)
    shares = found.trial(found.recommended).predictions
    np.testing.assert_array_equal(share, shares.max(axis=1))
    assert true.mean() == pytest.approx(found.scores[found.recommended].accuracy)
    counts = confusion(found)
    assert counts.sum() == 200
    assert np.trace(counts) == true.sum()
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(found.y.astype(int)))
