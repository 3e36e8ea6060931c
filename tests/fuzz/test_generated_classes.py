"""Probabilities of classes are probabilities, and no worse than the shares of classes.

The long run is 1,000 tables for each linear classifier, 100 for the default and 50 for
each network: ``pytest tests/fuzz/test_generated_classes.py -m slow -n auto``. For 5,000
tables through every classifier on many cores, run ``python benchmarks/generated.py``.
"""

import pytest
from generated_classes import LINEAR, SLOW, faults

BLOCK = 50  # tables of a test: what a process takes from the others


@pytest.mark.parametrize("name", [*LINEAR][:2])
def test_probabilities_are_no_worse_than_the_shares_of_the_classes(name):
    # 1 and 8: the slope of the link was negative; 45 and 79: the closed form was sure
    assert faults(LINEAR[name], [*range(12), 45, 79]) == {}


def test_a_fold_of_rows_of_weight_zero_is_no_fold():
    # six rows of three classes, half of them of weight zero: nothing was left to learn
    assert faults(LINEAR["ConditionalImputedLogistic"], [4413]) == {}


def test_the_default_does_not_turn_its_base_round():
    # two parts that said nothing, each with a weight of one, left the base minus one
    assert faults(SLOW["AutoClassifier"][0], [1335, 4521]) == {}


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
