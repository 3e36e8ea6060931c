"""Whether a target is a number or a class, and what its classes are called."""

import numpy as np
import pandas as pd
import pytest

from missfit.tables.options import ReadOptions
from missfit.tables.training import read_training

N = 60


def table_of(values, **said):
    frame = pd.DataFrame({"x": np.arange(len(values)) * 0.5})
    frame["y"] = values
    return read_training(frame, "y", ReadOptions(**said))


def cycled(*values):
    return [values[k % len(values)] for k in range(N)]


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (cycled("red", "green", "blue"), ("blue", "green", "red")),
        (cycled("Yes", "No"), ("No", "Yes")),
        (cycled("ja", "nein"), ("ja", "nein")),
        (cycled(True, False), (False, True)),
        (cycled(0, 1), (0, 1)),
        (cycled(0.0, 1.0, np.nan), (0, 1)),
        (cycled(1, 2), (1, 2)),
        (cycled(-1.5, 2.5), (-1.5, 2.5)),
        (cycled(0, 1, 2), (0, 1, 2)),
        (cycled(1, 2, 3, 4, 5), (1, 2, 3, 4, 5)),
        (pd.Categorical(cycled(3, 5, 9)), ("3", "5", "9")),
        (cycled(1, "two", 3.5), ("1", "3.5", "two")),
        (cycled("<=50K", ">50K"), ("<=50K", ">50K")),
        (cycled("5+", "<5", "<5"), ("5+", "<5")),
        (cycled("<18", "18", "65+"), ("18", "65+", "<18")),
        (
            [f"class {k % 20:02}" for k in range(3 * N)],
            tuple(f"class {k:02}" for k in range(20)),
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_text_truth_values_and_few_whole_numbers_are_classes(values, classes):
    table = table_of(values)
    assert table.classes == classes
    labels = [table.classes[int(k)] for k in table.y]
    known = pd.Series(values, dtype=object).dropna()
    assert [str(one) for one in labels] == [
        str(int(one)) if isinstance(one, float) and one.is_integer() else str(one)
        for one in known
    ]


@pytest.mark.parametrize(
    "values",
    [
        np.linspace(0, 1, N),
        cycled(0, 1, 2, 3, 4, 5),  # six counts
        cycled(10, 20, 30),  # three numbers that do not count on from 0 or 1
        cycled(0.5, 1.5, 2.5),
    ],
    ids=["continuous", "six", "tens", "halves"],
)
def test_other_numbers_are_numbers(values):
    table = table_of(values)
    assert table.classes is None
    np.testing.assert_allclose(table.y, values)


def test_the_decision_and_how_to_decide_otherwise_are_said_in_a_note():
    (note,) = table_of(cycled(0, 1)).notes
    assert note == (
        "the target 'y' has 2 different values (0 and 1): each is predicted as a "
        "class, with a probability. To predict it as a number, set the task to number"
    )
    (note,) = table_of(cycled("a", "b", "c")).notes
    assert "('a', 'b' and 'c'): each is predicted as a class" in note
    assert "number" not in note  # text cannot be one
    (note,) = table_of(cycled(*range(6))).notes
    assert "it is predicted as a number" in note
    assert note.endswith("set the task to class")
    assert table_of(np.linspace(0, 1, N)).notes == []


def test_the_task_that_is_said_holds_whatever_the_values_look_like():
    assert table_of(cycled(0, 1), task="number").classes is None
    assert table_of(cycled(*range(8)), task="class").classes == tuple(range(8))
    assert table_of(cycled(0.5, 1.5, 2.5), task="class").classes == (0.5, 1.5, 2.5)
    assert table_of(cycled(0, 1), kinds={"y": "number"}).classes is None
    asked = table_of(cycled(10, 20, 30), kinds={"y": "category"})
    assert asked.classes == ("10", "20", "30")
    with pytest.raises(ValueError, match=r"'klass' is no task; choose one of number"):
        ReadOptions(task="klass")


def test_rows_without_a_label_are_left_out_with_a_sentence():
    table = table_of(cycled("a", "b", None, "NA", ""))
    assert table.classes == ("a", "b")
    assert len(table.y) == 2 * N / 5
    assert "36 rows without a target left out" in table.notes


def test_one_class_is_refused_with_its_label():
    with pytest.raises(ValueError, match="target 'y' is 'a' in every row; there is"):
        table_of(["a"] * N)
    with pytest.raises(ValueError, match="target 'y' is True in every row"):
        table_of([True] * N)


def test_hardly_any_row_of_another_class_is_refused():
    with pytest.raises(ValueError, match="'y' is 'a' in all rows but 4; at least 5"):
        table_of(["a"] * 56 + ["b", "b", "c", "c"])
    assert table_of(["a"] * 55 + ["b"] * 5).classes == ("a", "b")


def test_text_that_names_the_rows_is_no_class():
    with pytest.raises(ValueError, match=r"'y' holds text, such as 'row 0' in row 1, "):
        table_of([f"row {k}" for k in range(N)])
    with pytest.raises(ValueError, match=r"30 different values in 60 rows"):
        table_of([f"name {k % 30}" for k in range(N)])
    with pytest.raises(ValueError, match="has 200 different values, and at most 100"):
        table_of(np.arange(200), task="class")


def test_a_column_of_dates_is_no_target():
    dates = pd.date_range("2020-01-01", periods=N).astype(str)
    with pytest.raises(
        ValueError, match=r"holds dates, .*predicts numbers and classes"
    ):
        table_of(dates)


def test_bounds_among_many_numbers_are_numbers():
    values = ["<5", *map(str, range(5, 30))] * 3  # a limit of detection
    found = table_of(values)
    assert found.classes is None
    assert found.y.min() == 5


def test_a_feature_of_two_bounds_keeps_what_it_tells():
    frame = pd.DataFrame({"x": cycled("<=50K", ">50K"), "y": np.arange(N) * 0.1})
    found = read_training(frame, "y")
    assert found.X["x"].nunique() == 2


@pytest.mark.parametrize(
    "values",
    [
        [*np.arange(N - 2) * 0.1, "0.5", "<0.5"],  # numbers of Excel, and two texts
        [*(str(k % 9) for k in range(10 * N)), "8+"],  # one row of a bound
    ],
    ids=["texts among numbers", "a rare bound"],
)
def test_a_bound_in_one_row_does_not_make_a_category(values):
    frame = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    found = read_training(frame.assign(y=np.arange(len(values)) * 0.1), "y")
    assert found.X["x"].dtype == float
