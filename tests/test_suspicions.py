"""Suspicions: what is planted is found, clean tables stay clean, levels hold."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from missfit.cli.suspicions import answer
from missfit.report.table.suspicions import remedy_in_words, suspicions_section
from missfit.suspicions import Remedy, Suspicion, find_suspicions
from missfit.suspicions.groups import likeness
from missfit.suspicions.look import MOST_ROWS
from missfit.suspicions.one_column import level_r2, neighbour_r2
from missfit.suspicions.order import autocorrelation
from missfit.suspicions.suspicion import REMEDIES
from missfit.tables.options import ReadOptions
from missfit.tables.training import read_training
from suspect_tables import LAWS, PLANTED, SIZES, as_table, clean_table

SHARED = Path(__file__).parents[2] / "shared" / "data"


def found_in(frame, y, **options):
    return find_suspicions(as_table(frame, y), **options)


def kinds(suspicions):
    return [one.kind for one in suspicions]


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_found_in_20_of_20_tables(kind):
    plant, columns = PLANTED[kind]
    for k in range(20):  # four laws by four sizes and one more
        rng = np.random.default_rng([7, len(kind), k])
        frame, y = clean_table(LAWS[k % 4], SIZES[k // 4 % 4], rng)
        suspicions = found_in(*plant(frame, y, rng))
        hits = [one for one in suspicions if one.kind == kind]
        assert len(hits) == 1, (k, suspicions)
        assert columns <= set(hits[0].columns)
        # nothing else is said but what follows from it
        assert len(suspicions) == 1, (k, suspicions)


def test_clean_tables_raise_no_more_than_two_false_alarms_in_80():
    # two tests at 1 % in each table, most of them held back by a least effect
    alarms = Counter()
    for i, law in enumerate(LAWS):
        for k in range(20):
            rng = np.random.default_rng([11, i, k])
            alarms.update(kinds(found_in(*clean_table(law, SIZES[k % 4], rng))))
    assert alarms.total() <= 2, alarms


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("nhanes_sbp.csv", []),
        ("brandsma_lang.csv", []),
        ("star_math3.csv", ["groups"]),  # school systems
        ("math_placement.csv", ["time"]),  # rows stand in an order that tells y
        ("classes/pima_diabetes.csv.gz", []),
        ("classes/credit_bad.csv.gz", []),
        ("classes/chile_yes.csv.gz", []),
        ("classes/acath_event.csv.gz", []),
    ],
)
def test_real_tables_raise_what_a_person_would_say(file, expected):
    if not (SHARED / file).exists():
        pytest.skip(f"{SHARED / file} is not there")
    table = read_training(pd.read_csv(SHARED / file), "target")
    assert kinds(find_suspicions(table)) == expected


def gaussian(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame, y = clean_table("gaussian", n, rng)
    return frame, y, rng


def test_a_mask_that_tells_the_target_is_a_leak():
    frame, y, _ = gaussian()
    late = np.where(y > np.quantile(y, 0.7), np.nan, np.arange(len(y)) % 7 + 0.5)
    (one,) = found_in(frame.assign(exit_grade=late), y)
    assert one.kind == "leak by missing values"
    assert one.columns == ("exit_grade",)
    assert one.remedy == Remedy("drop", ("exit_grade",))


def test_a_mask_that_is_related_to_the_target_is_no_leak():
    frame, y, rng = gaussian(1000)
    chance = 1 / (1 + np.exp(-(y - y.mean()) / y.std()))
    frame["x0"] = frame["x0"].mask(rng.random(len(y)) < chance)
    assert found_in(frame, y) == []


def test_copies_are_found_in_another_unit_and_as_renamed_levels():
    frame, y, rng = gaussian()
    colour = rng.choice(["red", "green"], len(y))
    frame = frame.assign(
        feet=3.28 * frame["x1"] + 32,
        colour=colour,
        farbe=np.where(colour == "red", "rot", "gruen"),
    )
    suspicions = found_in(frame, y)
    assert kinds(suspicions) == ["copies", "copies"]
    assert {one.columns for one in suspicions} == {("x1", "feet"), ("colour", "farbe")}
    assert suspicions[0].remedy == Remedy("drop", ("feet",))


def test_repeated_rows_are_found_where_chance_would_not_repeat_them():
    frame, y, _ = gaussian()
    rows = np.append(np.arange(400), np.arange(0, 400, 10))
    assert kinds(found_in(frame.iloc[rows], y[rows])) == ["repeated rows"]


def test_repeated_rows_of_few_yes_and_no_answers_are_no_suspicion():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        rng.integers(0, 2, (500, 3)).astype(float), columns=list("abc")
    )
    y = frame.sum(axis=1) + rng.integers(0, 4, 500)
    assert found_in(frame, y) == []


def test_nearly_empty_columns_are_one_suspicion():
    frame, y, _ = gaussian()
    few = np.where(np.arange(len(y)) < 3, 1.0, np.nan)
    frame = frame.assign(fax=np.nan, telex=few)
    (one,) = found_in(frame, y)
    assert (one.kind, one.columns) == ("empty", ("fax", "telex"))
    assert "3 values or fewer in 400 rows" in one.sentence


def test_a_box_that_is_ticked_or_not_is_no_constant():
    frame, y, _ = gaussian()
    ticked = pd.Series(
        np.where(y > np.median(y) + np.sin(np.arange(len(y))), "x", None)
    )
    assert "constant" not in kinds(found_in(frame.assign(box=ticked), y))


def test_texts_too_many_to_tell_apart_are_said():
    frame, y, rng = gaussian(1000)
    words = rng.choice([f"w{k}" for k in range(300)], len(y))
    (one,) = found_in(frame.assign(comment=words), y)
    assert (one.kind, one.columns) == ("many texts", ("comment",))


def test_a_long_tail_is_said_where_the_logarithm_has_none():
    frame, y, _ = gaussian(1000)
    z = (y - y.mean()) / y.std()
    assert kinds(found_in(frame, np.exp(1.5 * z))) == ["long tail"]
    assert found_in(frame, np.exp(0.3 * z)) == []
    # a tail of negative numbers has no logarithm
    assert found_in(frame, -np.exp(1.5 * z)) == []


def test_a_smooth_number_is_no_group_and_a_code_is():
    rng = np.random.default_rng(5)
    n = 2000
    age = rng.integers(18, 80, n).astype(float)
    code = rng.integers(1, 60, n).astype(float)
    frame = pd.DataFrame({"age": age, "code": code, "x": rng.standard_normal(n)})
    smooth = np.sin(age / 12) * 3 + rng.standard_normal(n)
    assert found_in(frame, smooth) == []
    (one,) = found_in(frame, rng.standard_normal(60)[code.astype(int)] + smooth / 5)
    assert (one.kind, one.columns) == ("groups", ("code",))


def test_rows_sorted_by_the_target_or_a_column_are_not_in_time():
    frame, y, rng = gaussian(1000)
    by_y = np.argsort(y)
    assert found_in(frame.iloc[by_y], y[by_y]) == []
    age = np.sort(np.round(rng.normal(40, 9, len(y)), 1))
    assert found_in(frame.assign(size=age), y / y.std() + age / 9) == []


def random_walk(n, seed):
    """A walk, and features that are as smooth as walks of walks, and say nothing."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_normal((n, 5))
    walks = {f"s{j}": np.cumsum(np.cumsum(steps[:, j])) for j in range(4)}
    return pd.DataFrame(walks), np.cumsum(steps[:, 4])


@pytest.mark.parametrize("seed", range(4))
def test_a_random_walk_with_smooth_features_shows_what_shuffled_folds_hide(seed):
    (one,) = found_in(*random_walk(1500, seed))  # and no smooth feature is a leak
    assert one.kind == "time"
    shuffled, forward = map(float, _numbers(one.sentence)[-2:])
    assert shuffled > 0.95
    assert forward < 0.7  # the law has no relation: what is left is a common trend
    assert one.remedy == Remedy("time")


def _numbers(sentence):
    import re

    return re.findall(r"-?\d+\.\d+", sentence)


def test_dates_give_the_order_although_rows_are_shuffled():
    frame, y = random_walk(800, seed=1)
    frame = frame.assign(day=pd.date_range("2020-01-01", periods=800).astype(str))
    order = np.random.default_rng(0).permutation(800)
    (one,) = found_in(frame.iloc[order], y[order])
    assert one.remedy == Remedy("time", ("day",))


def test_dates_of_birth_are_not_the_time_of_rows():
    frame, y, rng = gaussian(800)
    days = pd.Timestamp("1950-01-01") + pd.to_timedelta(
        rng.integers(0, 18000, 800), "D"
    )
    frame = frame.assign(date_of_birth=days.astype(str))
    years = (days - days.min()).days.to_numpy() / 365
    assert "time" not in kinds(found_in(frame, y / y.std() + years / 10))


def test_nothing_is_said_of_groups_or_time_that_a_table_has_already():
    frame, y = random_walk(300, seed=0)
    frame = frame.assign(t=np.arange(300.0), y=y)
    table = read_training(frame, "y", time="t")
    assert find_suspicions(table) == []


# ── The tests and measures behind the claims ──────────────────────────────────────────


def test_the_test_of_groups_holds_its_level_for_skewed_targets():
    # 1,000 tables without groups: 10 +- 3.2 at 1 %; 25 is 4.8 standard errors above
    rng = np.random.default_rng(0)
    small = 0
    for _ in range(1000):
        codes = rng.integers(0, 20, 200)
        rank = np.argsort(np.argsort(rng.exponential(size=200) ** 3)).astype(float)
        small += likeness(codes, rank).p < 0.01
    assert small <= 25


def test_the_intraclass_correlation_is_that_of_the_law():
    # y = u_group + noise with variances 1 and 3: 1/4; 500 groups give about +- 0.02
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(500), 8)
    y = rng.standard_normal(500)[codes] + np.sqrt(3) * rng.standard_normal(4000)
    found = likeness(codes, y)
    assert found.correlation == pytest.approx(0.25, abs=0.06)
    assert found.p < 1e-10


def test_the_test_of_order_holds_its_level():
    rng = np.random.default_rng(1)
    p = np.array([autocorrelation(rng.exponential(size=60))[1] for _ in range(2000)])
    # 20 +- 4.5 of 2,000 at 1 %, and a skewed statistic of 60 rows has a longer tail
    assert (p < 0.01).sum() <= 50


def test_autocorrelation_is_that_of_an_autoregression():
    rng = np.random.default_rng(2)
    y = np.empty(20_000)
    y[0], noise = 0.0, rng.standard_normal(20_000)
    for t in range(1, len(y)):
        y[t] = 0.6 * y[t - 1] + noise[t]
    # standard error sqrt((1 - 0.36) / n) = 0.006
    assert autocorrelation(y)[0] == pytest.approx(0.6, abs=0.03)


def test_neighbours_measure_the_r2_of_any_smooth_function():
    rng = np.random.default_rng(3)
    x = rng.uniform(-3, 3, 5000)
    for function in (np.sin, np.square, np.exp):
        signal = function(x) / function(x).std()
        y = signal + 0.5 * rng.standard_normal(5000)
        # twenty neighbours leave a noise of 1/20 of theirs: R2 falls by 0.01
        assert neighbour_r2(x, y) == pytest.approx(0.8, abs=0.03)
    assert neighbour_r2(x, rng.standard_normal(5000)) < 0
    assert neighbour_r2(np.zeros(5000), np.arange(5000.0)) < 0  # ties tell nothing


def test_levels_measure_the_share_between_them():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, 4000)
    y = np.array([0.0, 1.0, 2.0, 3.0])[codes] + rng.standard_normal(4000)
    # variance of the levels 1.25, of the noise 1
    assert level_r2(codes, y) == pytest.approx(1.25 / 2.25, abs=0.03)


def test_a_large_table_is_looked_at_by_a_part_of_its_rows():
    rng = np.random.default_rng(0)
    n = MOST_ROWS + 5000
    frame = pd.DataFrame({"a": rng.standard_normal(n), "unit": 1.0})
    y = frame["a"] + rng.standard_normal(n)
    (one,) = found_in(frame, y)
    assert one.kind == "constant"
    assert found_in(frame, y) == found_in(frame, y)


@pytest.mark.parametrize("n", [20, 25, 60])
def test_small_and_strange_tables_are_looked_at_without_an_error(n):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame(
        {
            "empty": np.full(n, np.nan),
            "mixed": [1, "a"] * (n // 2) + [None] * (n % 2),
            "flag": [True, False] * (n // 2) + [True] * (n % 2),
            "far": rng.standard_normal(n) * 1e300,
            "when": pd.date_range("2020", periods=n),
        }
    )
    for y in (rng.standard_normal(n), np.arange(n) * 1e300, np.arange(n) % 2):
        for one in found_in(frame, y):
            assert one.sentence.endswith((".", "?"))


# ── What is said about them ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("action", REMEDIES)
def test_every_remedy_has_an_option_or_words(action):
    remedy = Remedy(action, ("my column",))
    assert remedy_in_words(remedy)
    option = answer(remedy)
    assert ("--" in option) == (action != "log")


def test_an_option_can_be_pasted():
    assert answer(Remedy("drop", ("-a", "b"))) == " Option: --drop=-a --drop b"
    assert answer(Remedy("group", ("the school",))) == " Option: --group 'the school'"
    assert "--time" in answer(Remedy("time"))
    assert answer(None) == ""


def test_the_report_escapes_names_and_is_silent_without_suspicions():
    one = Suspicion("leak", ("<b>",), "'<b>' knows.", Remedy("drop", ("<b>",)))
    html = suspicions_section([one])
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert suspicions_section([]) == ""


def classes_frame(rng, n=400, n_classes=2):
    frame, y = clean_table("gaussian", n, rng)
    cuts = np.quantile(y, np.arange(1, n_classes) / n_classes)
    labels = np.array(["apple", "bread", "cheese", "dates"])
    return frame, labels[np.searchsorted(cuts, y)]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_column_that_tells_the_classes_is_a_leak(n_classes, kind):
    for seed in range(5):
        rng = np.random.default_rng([20, seed])
        frame, label = classes_frame(rng, n_classes=n_classes)
        code = np.unique(label, return_inverse=True)[1]
        told = 10.0 * (code % 3) + rng.standard_normal(len(code))
        told = told + 100 * code if kind == "number" else np.char.add("t", label)
        found = find_suspicions(
            read_training(frame.assign(told=told, label=label), "label")
        )
        (one,) = [suspicion for suspicion in found if suspicion.kind == "leak"]
        assert one.columns == ("told",)
        assert "tells the classes of 'label' apart, with an AUC of" in one.sentence
        assert one.remedy == Remedy("drop", ("told",))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_clean_tables_with_classes_raise_no_suspicion(n_classes):
    for seed in range(10):
        frame, label = classes_frame(np.random.default_rng([21, seed]), 400, n_classes)
        table = read_training(frame.assign(label=label), "label")
        assert find_suspicions(table) == []


def test_a_column_that_is_missing_for_one_class_is_a_leak_by_missing_values():
    frame, label = classes_frame(np.random.default_rng(22), n_classes=3)
    frame["visit"] = np.where(label == "bread", np.nan, 1.0 + np.arange(len(label)) % 7)
    found = find_suspicions(read_training(frame.assign(label=label), "label"))
    (one,) = [x for x in found if x.kind == "leak by missing values"]
    assert one.columns == ("visit",)
    assert "'label' is 'bread' in 100.0% of the rows, elsewhere in 0.0%" in one.sentence


def test_rare_classes_and_one_that_prevails_are_named():
    frame, _ = classes_frame(np.random.default_rng(23), 1000)
    label = np.repeat(["no", "yes", "perhaps"], [940, 48, 12])
    label = np.random.default_rng(0).permutation(label)
    found = find_suspicions(read_training(frame.assign(label=label), "label"))
    assert kinds(found) == ["rare class", "one class prevails"]
    assert "1 of the 3 classes of 'label' has fewer than 30" in found[0].sentence
    assert "'perhaps' (12)" in found[0].sentence
    assert "'label' is 'no' in 94.0% of the rows" in found[1].sentence


def test_two_values_that_are_predicted_as_a_number_are_asked_about():
    frame, label = classes_frame(np.random.default_rng(24))
    frame["y"] = (label == "apple").astype(int)
    table = read_training(frame, "y", ReadOptions(task="number"))
    (one,) = find_suspicions(table)
    assert one.kind == "two classes"
    assert one.remedy == Remedy("task", ("class",))
