"""The Python of a report prints the number that the report promises."""

import numpy as np
import pytest

from comparison_cases import gaussian, many_levels, run_code, table_of
from missfit.comparison import CompareOptions, compare_table
from missfit.comparison.candidates import candidate
from missfit.report.table.code import reproducing_code
from missfit.tables.options import ReadOptions
from missfit.tables.training import read_training


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mean + indicator ridge", {}),
        ("EMLR", {"max_rows": 150}),
        ("ExpandedLR", {"max_rows": 150, "group": "school"}),
        pytest.param("AutoRegressor", {"group": "school"}, marks=pytest.mark.slow),
    ],
)
def test_the_code_prints_the_score_with_many_levels_and_drawn_rows(
    name, options, tmp_path, rng
):
    X, y = gaussian(rng, 200, d=2)
    frame = table_of(X, y).X.assign(code=many_levels(rng, 200), number=range(200))
    frame["number"] %= 25
    y = y + (frame["code"] > "level 03") + frame["number"] % 3
    frame = frame.assign(left=1.0, school=rng.integers(0, 20, 200), y=y)
    frame.loc[::9, "y"] = np.nan  # rows without a target are left out first
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    group = options.get("group")
    reading = ReadOptions(drop=["left"], kinds={"number": "category"})
    table = read_training(tmp_path / "t.csv", "y", reading, group=group)
    options = CompareOptions(reading, **options, seed=3)
    found = compare_table(table, [candidate(name)], options)
    code = reproducing_code(found, tmp_path / "t.csv", options)
    assert run_code(code) == f"{found.scores[name].r2:.4f}"
