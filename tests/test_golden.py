"""What a rebuilding must not change: predictions and tables as they were recorded."""

import json

import pytest

from golden import remake

GOLDEN = json.loads(remake.FILE.read_text())
# Where the same libraries do the arithmetic a rebuilding that changes nothing agrees to
# rounding; on others an iteration may stop a step earlier or later.
TOLERANCE = 1e-10 if GOLDEN["made on"] == remake.made_on() else 1e-4


def agrees(found):
    return pytest.approx(found, rel=TOLERANCE, abs=TOLERANCE, nan_ok=True)


def assert_as_recorded(found):
    for name, values in found.items():
        assert list(values) == agrees(GOLDEN["predictions"][name]), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_predictions_of_linear_estimators_are_as_recorded():
    assert_as_recorded(remake.quick_predictions())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_predictions_of_every_estimator_are_as_recorded():
    found = remake.predictions()
    assert found.keys() == GOLDEN["predictions"].keys()
    assert_as_recorded(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_quick_study_without_networks_is_as_recorded(tmp_path):
    assert remake.study_table(tmp_path) == agrees(GOLDEN["study"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("setting", ["mixture1", "selfmasked"])
def test_compare_on_a_small_table_is_as_recorded(setting, tmp_path):
    recorded = GOLDEN["compare"][setting]
    found = remake.compare_table(tmp_path, setting)
    assert {name: found.get(name) for name in recorded} == agrees(recorded)
