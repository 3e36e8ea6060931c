"""Every hostile table ends in a right answer, or an error that says what is wrong."""

import resource

import pytest
from hostile_arrays import case, fault

BLOCK = 100
GIGABYTES = 2.0


def faults(seeds, *, slow):
    """What is wrong with the outcomes of some seeds, by seed."""
    found = {seed: fault(case(seed, slow=slow)) for seed in seeds}
    return {seed: text for seed, text in found.items() if text}


def test_a_hostile_table_is_read_right_or_refused_with_the_reason():
    assert faults(range(100_000, 100_050), slow=False) == {}


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_hostile_tables_are_read_right_or_refused(block):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert faults(range(block * BLOCK, (block + 1) * BLOCK), slow=True) == {}
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in kB, the peak so far
    assert (after - before) / 2**20 < GIGABYTES
