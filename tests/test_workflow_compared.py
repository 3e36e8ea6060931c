"""missfit.compare: own estimators beside ours, on tables, arrays and known laws."""

import html
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GroupKFold, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

import missfit
from comparison_cases import gaussian, run_code
from missfit.bayes import BayesClassifier, BayesPredictor, bayes_r2
from missfit.simulate import MCARGaussian, Probit, ampute, published

CHEAP = ["ConstantImputedLR", "mean + indicator ridge"]


class Mine(RegressorMixin, BaseEstimator):
    """The mean imputed, then least squares: a researcher's own method."""

    def fit(self, X, y):
        self.model_ = make_pipeline(SimpleImputer(), LinearRegression()).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X, y = gaussian(rng, 200)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    return frame.assign(town=rng.choice(["x", "y", "z"], 200), y=y)


@pytest.fixture(scope="module")
def law():
    return published("mixture1", 4)


@pytest.fixture(scope="module")
def found(law):
    mine = {"mine": Mine(), "no NaN": LinearRegression()}
    only = [*mine, "EMLR", "ConstantImputedLR"]
    return missfit.compare(law, n=600, estimators=mine, only=only, random_state=1)


def test_an_own_method_is_compared_with_the_papers_in_five_lines():
    law = missfit.simulate.published("selfmasked", 4)
    paper = ["EMLR", "ConstantImputedLR", "ExpandedLR"]
    found = missfit.compare(law, estimators={"mine": Mine()}, only=["mine", *paper])
    assert set(found.table["predictor"]) == {"mine", *paper}
    assert found.table["regret"].notna().all()


def test_an_own_estimator_has_the_score_of_scikit_learns_cross_validation(found, law):
    X, y = law.sample(600, random_state=1)
    folds = KFold(5, shuffle=True, random_state=1)
    expected = cross_val_predict(Mine(), X, y, cv=folds)
    assert found.scores["mine"].r2 == pytest.approx(r2_score(y, expected), abs=1e-9)


def test_the_regret_is_to_the_bayes_predictor_on_the_same_rows(found, law):
    X, y = law.sample(600, random_state=1)
    best = r2_score(y, BayesPredictor(law).predict(X))
    assert found.bayes_r2 == pytest.approx(best, abs=1e-12)
    scored = found.table.dropna(subset="R2")
    np.testing.assert_allclose(scored["R2"] + scored["regret"], best, atol=1e-12)
    # 600 rows tell the Bayes R2 of the law to about 0.03
    assert best == pytest.approx(bayes_r2(law).value, abs=0.1)


def test_the_report_of_a_law_has_the_regret(found, tmp_path):
    page = found.report(tmp_path / "r.html").read_text()
    (cells,) = re.findall(r"<tr><t[dh][^>]*>EMLR</t[dh]>(.*?)</tr>", page, re.DOTALL)
    line = found.table.set_index("predictor").loc["EMLR"]
    assert f">{line['regret']:.4f}<" in cells
    assert "Regret: how far the R2 is below that of the Bayes predictor" in page


def test_quick_in_python_is_that_of_the_command_line(table):
    found = missfit.compare(table, "y", quick=True, only=CHEAP, budget=30)
    options = found.options
    assert (options.n_folds, options.max_rows, options.budget) == (3, 3_000, 30)
    assert found.comparison.n_folds == 3


def test_regret_and_distance_estimate_the_same_number(law):
    """Over draws of the rows their means agree, and the distance varies less."""
    draws = [
        missfit.compare(law, n=200, only=["ConstantImputedLR"], random_state=seed)
        for seed in range(12)
    ]
    regret, error, distance = np.array(
        [one.table.loc[0, ["regret", "regret_error", "distance"]] for one in draws],
        dtype=float,
    ).T
    assert distance.std() < 0.7 * regret.std()
    # the mean of 12 differences, in standard errors of such a mean
    assert abs((regret - distance).mean()) < 3 * error.mean() / np.sqrt(12)
    # the error that is said is that of the draws, whose spread is known to 20 %
    assert error.mean() == pytest.approx(regret.std(ddof=1), rel=0.6)


def test_an_estimator_that_takes_no_nan_says_so_with_the_pipeline_to_use(found):
    line = found.table.set_index("predictor").loc["no NaN"]
    assert np.isnan(line["R2"])
    assert "it takes no missing values (ValueError: Input X contains NaN)" in line.note
    assert "make_pipeline(SimpleImputer(add_indicator=True), no NaN)" in line.note
    assert "no NaN: failed" in repr(found)


def test_the_table_is_sorted_and_names_the_best(found):
    scored = found.table.dropna(subset="R2")
    assert scored["R2"].is_monotonic_decreasing
    assert found.best == scored["predictor"].iloc[0]
    assert found.recommended in set(scored["predictor"])
    assert scored["behind"].iloc[0] == 0
    assert (scored["low"] < scored["R2"]).all()
    assert (scored["R2"] < scored["high"]).all()


def test_the_html_shows_every_predictor_and_escapes_its_name(law):
    hostile = "<script>alert(1)</script>"
    found = missfit.compare(law, n=60, estimators={hostile: Mine()}, only=[hostile])
    page = found._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert f"{found.scores[hostile].r2:.4f}" in page
    assert "The Bayes predictor has R2" in page
    assert page.count("<table") == page.count("</table>") == 1


def test_files_frames_and_arrays_are_one_table(table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    X = table.drop(columns="y")
    given = [
        (tmp_path / "t.csv", "y"),
        (str(tmp_path / "t.csv"), "y"),
        (table, "y"),
        (pl.from_pandas(table), "y"),
        (X, table["y"]),
        (X, table["y"].tolist()),
    ]
    scores = [missfit.compare(*one, only=CHEAP).scores for one in given]
    for other in scores[1:]:
        for name in CHEAP:
            # the numbers of the file have been through text
            np.testing.assert_allclose(other[name], scores[0][name], atol=1e-9)
    numbers = X[["a", "b", "c"]]
    arrays = missfit.compare(numbers.to_numpy(), table["y"].to_numpy(), only=CHEAP)
    names = missfit.compare(table.drop(columns="town"), "y", only=CHEAP)
    np.testing.assert_allclose(arrays.scores[CHEAP[0]], names.scores[CHEAP[0]])


def test_groups_by_a_column_or_an_array_are_those_of_scikit_learn(table):
    school = np.arange(200) // 10
    X, y = table[["a", "b", "c"]], table["y"]
    arrays = missfit.compare(X, y, {"mine": Mine()}, only=["mine"], group=school, cv=4)
    column = missfit.compare(
        X.assign(y=y, school=school), "y", {"mine": Mine()}, only=["mine"],
        group="school", cv=4,
    )  # fmt: skip
    assert arrays.scores == column.scores
    groups = pd.Series(school).astype(str)
    folds = GroupKFold(4, shuffle=True, random_state=0)
    expected = cross_val_predict(Mine(), X.to_numpy(), y, cv=folds, groups=groups)
    assert arrays.scores["mine"].r2 == pytest.approx(r2_score(y, expected), abs=1e-9)


def test_an_amputed_table_has_the_regret_to_the_law_that_is_given(rng):
    """Under MAR given what is observed, the Bayes predictor ignores the mechanism."""
    law = MCARGaussian([0, 1, 2], np.eye(3) + 0.5, [1, 2, -1], noise=1.0, rate=0.0)
    X, y = law.sample_complete(400, random_state=0)
    holes = ampute(X, "MAR", 0.3, random_state=0)
    found = missfit.compare(holes, y, only=["EMLR"], bayes=law)
    expected = r2_score(y, BayesPredictor(law).predict(holes))
    assert found.bayes_r2 == pytest.approx(expected, abs=1e-12)
    given = missfit.compare(holes, y, only=["EMLR"], bayes=BayesPredictor(law))
    pd.testing.assert_frame_equal(
        found.table.drop(columns="seconds"), given.table.drop(columns="seconds")
    )


def test_the_regret_for_a_class_predicted_as_a_number_is_to_its_probability():
    law = Probit(published("mixture1", 4), 1.0)
    found = missfit.compare(law, n=200, only=["ConstantImputedLR"], task="number")
    X, label = law.sample(200, random_state=0)
    best = r2_score(label, BayesClassifier(law).predict_proba(X)[:, 1])
    assert found.bayes_r2 == pytest.approx(best, abs=1e-9)


def test_in_time_regret_and_bayes_are_those_of_the_rows_that_are_tested(law):
    X, y = law.sample(300, random_state=2)
    day = np.random.default_rng(0).permutation(300)
    found = missfit.compare(
        X, y, {"mine": Mine()}, only=["mine"], time=day, cv=4, bayes=law
    )
    # 4 of 5 blocks are tested; the first one in time is not
    tested = day >= 60
    best = r2_score(y[tested], BayesPredictor(law).predict(X[tested]))
    assert found.bayes_r2 == pytest.approx(best, abs=1e-12)
    line = found.table.iloc[0]
    assert line["R2"] + line["regret"] == pytest.approx(best, abs=1e-9)


def test_suspicions_are_said_before_the_scores(table):
    leak = table["y"] * 2 + 1e-3 * np.random.default_rng(0).standard_normal(200)
    found = missfit.compare(table.assign(leak=leak), "y", only=CHEAP[:1])
    (line,) = (one for one in found.suspicions if "(leak)" in one)
    assert "'leak'" in line
    assert repr(found).startswith(found.suspicions[0])
    assert "Suspicion (leak)" in found._repr_html_()
    clean = missfit.compare(table, "y", only=CHEAP[:1])
    assert not clean.suspicions


def test_a_law_of_your_own_is_drawn_from_and_may_have_no_bayes_predictor():
    class Law:
        def sample(self, n, random_state=None):
            rng = np.random.default_rng(random_state)
            X = rng.exponential(size=(n, 2))
            y = X.sum(axis=1) + rng.standard_normal(n)
            X[rng.random(X.shape) < 0.2] = np.nan
            return X, y

    found = missfit.compare(Law(), n=100, only=["ConstantImputedLR"])
    assert len(found.comparison.y) == 100
    assert "regret" not in found.table
    assert "There is no regret: " in repr(found)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"target": None}, TypeError, "the target is missing"),
        ({"target": "z"}, ValueError, "has no column 'z'"),
        ({"estimators": {"EMLR": Mine()}}, ValueError, "another name"),
        ({"estimators": {"mine": Mine}}, TypeError, r"give an object, Mine\(\)"),
        ({"estimators": {"mine": 3}}, TypeError, "has no fit and no predict"),
        ({"only": ["EMRL"]}, ValueError, "'EMRL' is no predictor known here"),
        ({"only": "EMLR"}, TypeError, r"give \['EMLR'\]"),
        ({"skip": ["x"]}, ValueError, "'x' is no predictor"),
        ({"only": [CHEAP[0]], "skip": [CHEAP[0]]}, ValueError, "at least one"),
        ({"fold": 3}, TypeError, "takes no argument 'fold'; it takes .*cv"),
        ({"cv": 1}, ValueError, "1 folds; at least 2"),
        ({"target": np.zeros(3)}, ValueError, "3 values of target for 200 rows"),
    ],
)
def test_what_compare_refuses_is_said_with_the_way_out(table, change, error, message):
    given = {"data": table, "target": "y", "only": CHEAP[:1], **change}
    with pytest.raises(error, match=message):
        missfit.compare(**given)


def test_seeds_reach_an_own_estimator_that_has_none(table):
    class Seeded(Mine):
        seen: list = []  # noqa: RUF012

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, X, y):
            Seeded.seen.append(self.random_state)
            return super().fit(X, y)

    for given, expected in ((None, 7), (3, 3)):
        Seeded.seen.clear()
        mine = {"mine": Seeded(given)}
        missfit.compare(table, "y", mine, only=["mine"], random_state=7)
        assert set(Seeded.seen) == {expected}


class Zero:
    """A predictor that knows nothing."""

    def predict(self, X):
        return np.zeros(len(X))


def test_the_report_of_a_frame_has_code_that_runs_with_the_frame_at_hand(
    table, tmp_path
):
    numbers = table.drop(columns="town")
    mine = HistGradientBoostingRegressor(max_iter=5, random_state=0)
    found = missfit.compare(numbers, "y", {"mine": mine}, only=["mine"], bayes=Zero())
    assert found.report(tmp_path / "out") == tmp_path / "out" / "report.html"
    page = html.unescape((tmp_path / "out" / "report.html").read_text())
    assert "Use mine" in page
    assert f"The Bayes predictor has R2 {found.bayes_r2:.4f} on these rows." in page
    code = re.search(r"<pre><code>(.*?)</code>", page, re.S)[1]
    assert "# mine: your own estimator" in code
    prepared = {"data": numbers, "target": "y", "mine": mine}
    assert run_code(code, prepared) == f"{found.scores['mine'].r2:.4f}"
