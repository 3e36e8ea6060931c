"""Studies of laws and files of one's own: rows, holes, the regret, what is refused."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from missfit import study
from missfit.bayes import BayesPredictor
from missfit.cli import main
from missfit.simulate import MARGaussian, MCARGaussian, ampute
from missfit.study.data import Amputation
from missfit.study.definition import parse
from missfit.study.laws import LawDataSet

EXAMPLE = Path(__file__).parents[1] / "examples" / "own_study"
LAW = """
[[data]]
law = "MCARGaussian"
name = "my law"
parameters = { mean = [0, 1], cov = [[1, 0.5], [0.5, 1]], beta = [1, 2], noise = 1, \
rate = 0.3 }
rows = 400
repetitions = 2
"""
METHOD = '\n[[methods]]\nname = "{}"\nestimator = "missfit.{}"\n'
CONSTANT = METHOD.format("mine", "ConstantImputedLR")


@pytest.fixture(autouse=True)
def modules_of_the_test_alone():
    """A module beside one test's study is not that of another test."""
    before = list(sys.path)
    yield
    sys.path[:] = before
    for name in ("own_study", "own_laws"):
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The study of the examples, run from the command line."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copytree(EXAMPLE, folder / "own")
    line = ["study", str(folder / "own" / "own_study.toml"), "--jobs", "1"]
    assert main([*line, "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_the_study_of_the_examples_runs_with_laws_files_and_a_method_of_ones_own(
    example,
):
    table = study.read_table(example)
    assert (table["status"] == "ok").all(), table["message"].unique()
    assert set(table["setting"]) == {
        "MAR",
        "Waves",
        "wells, MCAR 0.3",
        "wells, MNAR 0.3",
    }
    assert set(table["method"]) == {"EMLR", "ConstantImputedLR", "mine"}
    known = table[table["bayes_r2"].notna()]
    assert set(known["setting"]) == {"MAR"}
    assert set(known["split"]) == {"test"}


def test_its_report_shows_mine_with_its_regret_as_it_shows_ours(example):
    page = (example / "report.html").read_text()
    assert "Your own data" in page
    assert "All scores" in page
    assert "published mean" not in page
    lines = re.findall(r"<tr><td>MAR</td>.*?</tr>", page)
    for name in ("mine", "EMLR", "ConstantImputedLR"):
        own = [line for line in lines if f"<td>{name}</td>" in line]
        # two sizes in "Your own data", both splits of both in "All scores"
        assert len(own) == 6
        assert f"series:{name}:test" in page  # drawn, and can be switched off
    assert "Bayes rate" in page


def test_a_law_is_scored_beside_the_bayes_predictor_of_the_same_rows(tmp_path):
    item = parse(LAW + CONSTANT, name="mine")
    study.run(item, tmp_path, jobs=1)
    collected = study.collect(item, tmp_path)
    rows = collected.table[collected.table["split"] == "test"]
    law = MCARGaussian([0, 1], [[1, 0.5], [0.5, 1]], [1, 2], noise=1, rate=0.3)
    for data, (_, row) in zip(item.data, rows.iterrows(), strict=True):
        X, y = data.table()
        X_test, y_test = train_test_split(X, y, test_size=0.25, random_state=0)[1::2]
        expected = r2_score(y_test, BayesPredictor(law).predict(X_test))
        assert row["bayes_r2"] == pytest.approx(expected, abs=1e-12)
    gap = (rows["bayes_r2"] - rows["r2"]).to_numpy()
    both = collected.beside_published
    (line,) = both[both["split"] == "test"].to_dict("records")
    assert line["regret"] == pytest.approx(gap.mean())
    # of two values the standard error is half of their distance
    assert line["regret_error"] == pytest.approx(abs(gap[0] - gap[1]) / 2)
    assert f"Bayes rate {line['r2_bayes']:.4f}" in study.summary(collected)


def test_the_rows_of_a_law_are_its_own_and_others_in_each_repetition():
    first, second = (one.table() for one in parse(LAW + CONSTANT, name="a").data)
    assert first[0].shape == (400, 2)
    assert not np.array_equal(first[1], second[1])
    again = parse(LAW.replace("my law", "other name") + CONSTANT, name="a")
    np.testing.assert_array_equal(again.data[0].table()[0], first[0])
    assert again.cells()[0].key == parse(LAW + CONSTANT, name="a").cells()[0].key
    changed = parse(LAW.replace("rate = 0.3", "rate = 0.4") + CONSTANT, name="a")
    assert changed.cells()[0].key != again.cells()[0].key


def test_a_law_may_be_made_by_a_method_of_its_class():
    text = '{"mean": [0, 0], "cov": [[1, 0], [0, 1]], "beta": [1, 1], '
    text += '"observed": [0], "rate": 0.4, "slope": 2}'
    data = LawDataSet("a", 2, 100, 0, "MARGaussian.with_rate", text)
    data.check()
    assert isinstance(data.build(), MARGaussian)
    X, _ = data.table()
    assert np.isnan(X).mean(axis=0)[1] == pytest.approx(0.4, abs=0.15)


def amputed(mechanism, rate, X, seed=0):
    return Amputation(mechanism, rate).applied(X, seed)


def test_a_complete_file_is_amputed_as_by_the_function_ampute(tmp_path, rng):
    X = rng.standard_normal((300, 3))
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=X.sum(axis=1))
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "own.toml").write_text(
        '[[data]]\nfile = "t.csv"\ntarget = "y"\nrepetitions = 2\n'
        'ampute = { mechanism = ["MAR", "MNAR"], rate = [0.2, 0.5], strength = 2 }\n'
        + CONSTANT
    )
    item = study.load(tmp_path / "own.toml")
    names = ["t, MAR 0.2", "t, MAR 0.5", "t, MNAR 0.2", "t, MNAR 0.5"]
    assert [one.setting for one in item.data[::2]] == names
    for one in item.data:
        mechanism, rate = one.setting.split(", ")[1].split()
        seed = one.repetition
        expected = ampute(X, mechanism, float(rate), strength=2, random_state=seed)
        np.testing.assert_array_equal(one.table()[0], expected)
    assert len({cell.key for cell in item.cells()}) == 8


@pytest.mark.parametrize("mechanism", ["MCAR", "MAR", "self-masking", "MNAR"])
def test_an_incomplete_file_keeps_its_holes_and_loses_the_rate_of_the_rest(
    mechanism, rng
):
    X = rng.standard_normal((4000, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    holes = np.isnan(amputed(mechanism, 0.3, X))
    assert holes[np.isnan(X)].all()
    # 3,200 values of each column: a standard error of 0.8 %; means fill the drivers
    taken = [holes[~np.isnan(X[:, j]), j].mean() for j in range(4)]
    np.testing.assert_allclose(taken, 0.3, atol=0.04)


def test_a_study_of_files_without_holes_has_the_keys_it_had():
    """Results of older versions are still known: no ampute, no trace of it."""
    plain = study.data.FileDataSet("t", 3, 100, 0, "t.csv", "abc", "y")
    assert "holes" not in plain.identity()


OWN_LAWS = """
class Law:
    def __init__(self, d):
        open(r"{mark}", "w").close()

    def sample(self, n, random_state=None):
        raise OSError

class NoLaw:
    pass
"""


@pytest.mark.parametrize(
    ("law", "words"),
    [
        ("os.system", "is a builtin_function_or_method, not a class"),
        ("own_laws.NoLaw", "is a class without sample"),
        ("own_laws.Nothing", "cannot be imported"),
        ("GaussianMixture", "cannot be imported"),
        ("MCARGaussian", "does not take"),
        ("own_laws.Law", None),
    ],
)
def test_a_law_that_a_study_names_is_found_and_not_called(tmp_path, law, words):
    mark = tmp_path / "called"
    (tmp_path / "own_laws.py").write_text(OWN_LAWS.format(mark=mark))
    (tmp_path / "own.toml").write_text(
        f'[[data]]\nlaw = "{law}"\nd = 2\nrows = 100\nrepetitions = 1\n{CONSTANT}'
    )
    item = study.load(tmp_path / "own.toml")
    if words is None:
        item.check()
    else:
        with pytest.raises(study.StudyError, match=words):
            item.check()
    assert not mark.exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("beta = [1, 2]", "slope = 1", "give d, the number of features"),
        ("rows = 400", "rows = 0", "whole number >= 1"),
        ("rows = 400", "", r"rows = None"),
        ("repetitions = 2", "repetitions = 2\ncolour = 1", "unknown key 'colour'"),
    ],
)
def test_a_mistake_about_a_law_is_named(old, new, words):
    with pytest.raises(study.StudyError, match=words):
        parse(LAW.replace(old, new) + CONSTANT, name="mine")


@pytest.mark.parametrize(
    ("ampute", "words"),
    [
        ('{ mechanism = "MCR", rate = 0.3 }', "unknown mechanism 'MCR'"),
        ('{ mechanism = "MAR", rate = 1.5 }', "between 0 and 1"),
        ('{ mechanism = "MAR", rate = true }', "is a bool"),
        ("{ rate = 0.3 }", "mechanism = None"),
        ('{ mechanism = "MAR", rate = 0.3, x = 1 }', "unknown key 'x'"),
    ],
)
def test_a_mistake_about_holes_is_named(tmp_path, ampute, words):
    pd.DataFrame({"a": range(9), "y": range(9)}).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "own.toml").write_text(
        '[[data]]\nfile = "t.csv"\ntarget = "y"\nrepetitions = 1\n'
        f"ampute = {ampute}\n{CONSTANT}"
    )
    with pytest.raises(study.StudyError, match=words):
        study.load(tmp_path / "own.toml")
