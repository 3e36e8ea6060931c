"""Columns that name rows or times: counters, codes, and what their titles say."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from missfit.suspicions.look import Feature

FEWEST = 30  # rows with a value from which on a claim is made
SPARSE = 2.0  # numbers for each row that a counter may run over: some rows are gone
EVENLY = 0.01  # p-value of the test that codes are spread evenly
TIME_WORDS = {"time", "date", "day", "week", "month", "quarter", "year", "hour"}
TIME_WORDS |= {"timestamp", "datetime", "period", "minute", "t", "jahr", "datum"}
BIRTH_WORDS = {"birth", "born", "dob", "birthday", "birthdate"}
GROUP_WORDS = {"school", "class", "classroom", "teacher", "patient", "subject", "site"}
GROUP_WORDS |= {"person", "user", "customer", "client", "household", "family", "group"}
GROUP_WORDS |= {"hospital", "clinic", "store", "shop", "cluster", "batch", "lab"}
GROUP_WORDS |= {"village", "account", "device", "machine", "vehicle", "participant"}
GROUP_WORDS |= {"member", "student", "pupil", "farm", "plant", "center", "centre"}


def is_counter(feature: Feature, n_rows: int) -> bool:
    """Whether a column numbers the rows: whole, all different, and close together."""
    values, _ = feature.distinct
    if len(feature.known) < FEWEST or not feature.is_whole:
        return False
    if feature.share_distinct < 1:
        return False
    return bool(values[-1] - values[0] < SPARSE * n_rows)


def is_even_code(feature: Feature) -> bool:
    """Whether whole numbers are all different and spread evenly, as codes are."""
    values, _ = feature.distinct
    if len(feature.known) < FEWEST or not feature.is_whole:
        return False
    if feature.share_distinct < 1:
        return False
    low, width = values[0], values[-1] - values[0]
    return bool(kstest((values - low) / width, "uniform").pvalue > EVENLY)


def is_sorted(values: np.ndarray) -> bool:
    """Whether values rise or fall from row to row, but for 1 % of the steps."""
    steps = np.diff(values[~np.isnan(values)])
    if len(steps) < FEWEST or not steps.any():
        return False
    return bool(max((steps >= 0).mean(), (steps <= 0).mean()) >= 0.99)
