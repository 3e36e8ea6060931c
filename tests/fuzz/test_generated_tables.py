"""No prediction leaves the range of y by more than ten ranges, whatever the table.

For rows whose values lie in the range of the training data. The long run is 5,000
tables for each linear predictor, 500 for the default and 100 for each network:
``pytest tests/fuzz/test_generated_tables.py -m slow -n auto``. For 5,000 tables through
every predictor on many cores, run ``python benchmarks/generated.py``.
"""

import pytest
from generated_numbers import DEFAULT, LINEAR, NETWORKS, wild

BLOCK = 100  # tables of a test: what a process takes from the others


@pytest.mark.parametrize("name", ["ConstantImputedLR", "ConditionalImputedLR", "EMLR"])
def test_predictions_stay_near_the_range_of_y(name):
    # 218 and 224 had coefficients of 1e9 for columns without two values at fit, 3436
    # has a column twice, and one of the two misses a value
    assert not wild(LINEAR[name], [*range(12), 218, 224, 3436])


@pytest.mark.slow
@pytest.mark.parametrize("block", range(50))
@pytest.mark.parametrize("name", LINEAR)
def test_predictions_stay_near_the_range_of_y_on_5000_tables(name, block):
    assert not wild(LINEAR[name], range(block * BLOCK, (block + 1) * BLOCK))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(25))
def test_predictions_of_the_default_stay_near_the_range_of_y(block):
    default = DEFAULT["AutoRegressor"]
    assert not wild(default, range(block * 20, (block + 1) * 20))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("name", NETWORKS)
def test_predictions_of_networks_stay_near_the_range_of_y(name, block):
    assert not wild(NETWORKS[name], range(block * 10, (block + 1) * 10))
