"""compare: honest scores, evidence that follows known laws, a page that is safe."""

import contextlib
import csv
import io
import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline

from conftest import random_cov
from missfit import EMLR, TableEncoder
from missfit.cli import main
from missfit.comparison import (
    CompareOptions,
    Comparison,
    Trial,
    compare_table,
    diagnose,
)
from missfit.comparison.candidates import CANDIDATES, Candidate, candidate
from missfit.comparison.diagnosis import (
    count_groups,
    mask_evidence,
    self_masking_trial,
    why_missing,
    worth_of_measuring,
)
from missfit.comparison.learning_curve import CurvePoint, learning_curve
from missfit.moments.patterns import group_rows
from missfit.report.table.code import reproducing_code
from missfit.report.table.learning_curve import more_rows
from missfit.report.table.mechanism import mechanism
from missfit.report.table.recommendation import recommendation
from missfit.report.table.report import table_report
from missfit.report.table.scores import scores_section
from missfit.simulate import published
from missfit.tables.options import ReadOptions
from missfit.tables.training import TrainingTable, read_training

CHROMIUM = Path("/usr/bin/chromium")
QUICK = [
    candidate(name)
    for name in ("EMLR", "ConstantImputedLR", "mean + indicator ridge", "ExpandedLR")
]
SLOW = [one.name for one in CANDIDATES if one not in QUICK]


def table_of(X, y, groups=None):
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return TrainingTable(frame, np.asarray(y, dtype=float), "y", groups, [])


def gaussian(rng, n, d=3, noise=0.5, rate=0.3):
    X = rng.multivariate_normal(np.zeros(d), random_cov(rng, d), n)
    y = X.sum(axis=1) + noise * rng.standard_normal(n)
    X[rng.random(X.shape) < rate] = np.nan
    return X, y


def comparison_of(X, y, **options):
    return compare_table(table_of(X, y), QUICK, CompareOptions(**options))


def test_the_predictions_are_those_of_scikit_learns_cross_validation(rng):
    X, y = gaussian(rng, 300)
    # 25 levels, some of which are not in every training part
    frame = table_of(X, y).X.assign(
        city=rng.choice(["a", "b", None], 300), code=many_levels(rng, 300)
    )
    found = compare_table(
        TrainingTable(frame, y, "y", None, []), QUICK, CompareOptions(seed=3)
    )
    folds = KFold(5, shuffle=True, random_state=3)
    for trial in found.trials:
        model = make_pipeline(TableEncoder(), trial.candidate.make(3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = cross_val_predict(model, frame, y, cv=folds)
        np.testing.assert_allclose(trial.predictions, expected, rtol=1e-8, atol=1e-8)
        score = found.scores[trial.name]
        assert score.r2 == pytest.approx(r2_score(y, expected))
        assert score.mae == pytest.approx(mean_absolute_error(y, expected))
        assert score.low < score.r2 < score.high


def many_levels(rng, n, n_levels=25):
    """Text of so many levels, of which the last are rare."""
    share = 1 / np.arange(1, n_levels + 1) ** 1.5
    names = np.array([f"level {k:02}" for k in range(n_levels)])
    return rng.choice(names, n, p=share / share.sum())


def test_models_fitted_as_one_batch_meet_the_tables_of_their_own_folds(rng):
    def fit_each(models, tables):
        for model, (X, target) in zip(models, tables, strict=True):
            model.fit(X, target)

    X, y = gaussian(rng, 100)
    frame = table_of(X, y).X.assign(code=many_levels(rng, 100))
    batch = QUICK[0]._replace(name="batch", fit_many=fit_each)
    table = TrainingTable(frame, y, "y", None, [])
    found = compare_table(table, [QUICK[0], batch])
    assert len({part.shape[1] for part in found.fold_tables}) > 1
    np.testing.assert_array_equal(*(trial.predictions for trial in found.trials))


def test_r2_does_not_depend_on_the_mean_of_the_target(rng):
    X, y = gaussian(rng, 300)
    far = y + 1e9
    found = comparison_of(X, far)
    plain = comparison_of(X, y)
    for trial in found.trials:
        score = found.scores[trial.name]
        # sums of squares about the mean by scikit-learn; y + 1e9 is known to 1e-7
        assert score.r2 == pytest.approx(r2_score(far, trial.predictions), abs=1e-9)
        np.testing.assert_allclose(score, plain.scores[trial.name], atol=1e-5)
    for one, other in zip(learning_curve(found), learning_curve(plain), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_the_interval_of_r2_is_that_of_another_bootstrap(rng):
    X, y = gaussian(rng, 400)
    found = comparison_of(X, y)
    guess = found.trial("EMLR").predictions
    other = stats.bootstrap(
        (y, guess), r2_score, paired=True, vectorized=False, method="percentile",
        n_resamples=600, rng=0,
    ).confidence_interval  # fmt: skip
    score = found.scores["EMLR"]
    # the ends of 400 and 600 draws differ by about a tenth of the width
    width = other.high - other.low
    assert score.low == pytest.approx(other.low, abs=0.25 * width)
    assert score.high == pytest.approx(other.high, abs=0.25 * width)


def test_groups_stay_together_and_widen_the_interval(rng):
    school = np.repeat(np.arange(40), 10)
    X, y = gaussian(rng, 400)
    y = y + 2 * rng.standard_normal(40)[school]
    found = compare_table(table_of(X, y, school), QUICK[:1])
    for one in range(40):
        assert len(np.unique(found.fold[school == one])) == 1
    apart = compare_table(table_of(X, y), QUICK[:1])
    width = [c.scores["EMLR"].high - c.scores["EMLR"].low for c in (found, apart)]
    assert width[0] > 1.3 * width[1]


def trial_of(name, guess, seconds, rival=False):
    one = Candidate(name, lambda seed: None, name, "a test", rival=rival)
    return Trial(one, guess, np.full(5, seconds))


def made(y, trials):
    encoder = TableEncoder().fit(pd.DataFrame({"a": y}))
    fold = np.arange(len(y)) % 5
    return Comparison(y[:, None], y, encoder, fold, None, trials, "y", 0)


def test_the_quickest_within_a_standard_error_of_the_best_is_recommended(rng):
    y = rng.standard_normal(1000)
    error = rng.standard_normal(1000)
    best = trial_of("best", y + 0.5 * error, 9.0)
    close = trial_of("close", y - 0.5 * rng.permutation(error), 1.0)
    far = trial_of("far", y + 0.7 * error, 0.1)
    found = made(y, [best, close, far])
    assert found.best in ("best", "close")
    assert found.recommended == "close"
    assert found.scores["far"].behind_low > 0  # surely worse
    assert "Use close" in recommendation(found)


def test_a_candidate_that_fails_is_a_result_and_not_the_end(rng):
    def broken(seed):
        raise RuntimeError("no such thing")

    X, y = gaussian(rng, 100)
    bad = Candidate("bad", broken, "", "")
    found = compare_table(table_of(X, y), [bad, QUICK[0]])
    assert found.trials[0].failure == "RuntimeError: no such thing"
    assert found.recommended == "EMLR"
    with pytest.raises(ValueError, match="no predictor could be fitted: RuntimeError"):
        compare_table(table_of(X, y), [bad])


MEAN = Candidate("mean", lambda _: DummyRegressor(), "DummyRegressor()", "the mean")


def test_a_slow_candidate_that_is_clearly_behind_is_left_out_and_says_so(
    rng, monkeypatch
):
    monkeypatch.setattr("missfit.comparison.trials.PATIENCE", 0.0)
    X, y = gaussian(rng, 400)
    tried = [QUICK[0], MEAN, QUICK[1]]
    found = compare_table(table_of(X, y), tried)
    mean = found.trial("mean")
    first = found.fold == 0
    np.testing.assert_allclose(mean.predictions[first], y[~first].mean())
    assert np.isnan(mean.predictions[~first]).all()
    r2 = r2_score(y[first], mean.predictions[first])
    gap = r2_score(y[first], found.trial("EMLR").predictions[first]) - r2
    assert f"after 1 of 5 folds: R2 {r2:.4f} there, {gap:.4f} ± " in mean.left_out
    assert "behind EMLR; the others would take about 1 min" in mean.left_out
    assert [trial.name for trial in found.sound] == ["EMLR", "ConstantImputedLR"]
    lines = [row for row in found.fold_rows() if row["predictor"] == "mean"]
    assert [row["fold"] for row in lines] == [0]
    whole = compare_table(table_of(X, y), tried, CompareOptions(all_folds=True))
    assert not whole.trial("mean").left_out


def test_what_is_left_out_is_printed_and_reported(rng, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("missfit.comparison.trials.PATIENCE", 0.0)
    monkeypatch.setattr("missfit.workflow.compare.CANDIDATES", [QUICK[0], MEAN])
    X, y = gaussian(rng, 200)
    table_of(X, y).X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    call = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--jobs", "1"]
    assert main([*call, "--out", str(tmp_path / "some")]) == 0
    said = capsys.readouterr()
    assert re.search(r"^mean +left out", said.out, re.MULTILINE)
    assert re.search(r"missfit: mean: left out after 1 of 5 .*--all runs", said.err)
    page = (tmp_path / "some" / "report.html").read_text()
    assert "left out after 1 of 5 folds" in page
    assert main([*call, "--all", "--out", str(tmp_path / "all")]) == 0
    assert "left out" not in capsys.readouterr().out
    assert "left out after" not in (tmp_path / "all" / "report.html").read_text()


def test_many_rows_are_drawn_from(rng):
    X, y = gaussian(rng, 500)
    found = compare_table(table_of(X, y), QUICK[:1], CompareOptions(max_rows=200))
    assert len(found.y) == 200
    assert found.notes == ["200 of 500 rows drawn at random"]


def test_what_goes_with_a_mask_is_found_and_chance_is_not(rng):
    X, y = gaussian(rng, 3000, rate=0.0)
    X[y > np.quantile(y, 0.8), 0] = np.nan  # with the target
    X[X[:, 2] > np.quantile(X[:, 2], 0.7), 1] = np.nan  # with another variable
    X[rng.random(3000) < 0.3, 2] = np.nan  # with nothing
    found = comparison_of(X, y)
    why = why_missing(found, EMLR().fit(X, y))
    evidence = {e.name: e for e in mask_evidence(found, why)}
    assert evidence["x0"].target_p == pytest.approx(1 / 300)  # the least there is
    hidden = np.isnan(X[:, 0])
    gap = (y[hidden].mean() - y[~hidden].mean()) / y.std()
    assert evidence["x0"].target_gap == pytest.approx(gap)
    assert evidence["x1"].auc > 0.8
    assert evidence["x2"].target_p > 0.01
    assert 0.45 < evidence["x2"].auc < 0.55


def test_self_masking_is_seen_where_it_is_and_not_where_it_is_not():
    two = [candidate("EMLR"), candidate("SelfMaskedLR")]
    for setting, expected in (("selfmasked", True), ("mixture1", False)):
        X, y = published(setting, 4).sample(1500, random_state=0)
        found = compare_table(table_of(X, y), two, CompareOptions(n_folds=3))
        trial = self_masking_trial(found)
        assert trial is not None
        assert trial.wins == expected
        assert why_missing(found, EMLR().fit(X, y)).self_masking == expected


def test_the_worth_of_measuring_is_that_of_the_known_law(rng):
    """Independent features: y = 2 a + b + e, a missing in 50 %, b in 20 %.

    Var(y | observed) is 1 + 4 [a missing] + 1 [b missing]: 3.2 on average, of which a
    costs 2 and b 0.2.
    """
    n = 40_000
    X = rng.standard_normal((n, 2))
    y = X @ [2, 1] + rng.standard_normal(n)
    X[rng.random(n) < 0.5, 0] = np.nan
    X[rng.random(n) < 0.2, 1] = np.nan
    linear = [candidate("EMLR"), candidate("ConstantImputedLR")]
    found = compare_table(table_of(X, y), linear, CompareOptions(max_rows=n, n_folds=2))
    worth, risk = worth_of_measuring(found, EMLR().fit(X, y))
    # the law is estimated from 40,000 rows: errors below 0.01
    assert worth.drops[0] / risk == pytest.approx(2 / 3.2, abs=0.02)
    assert worth.drops[1] / risk == pytest.approx(0.2 / 3.2, abs=0.01)


def test_the_learning_curve_rises_to_the_score_of_the_comparison(rng):
    X, y = gaussian(rng, 2000, d=8)
    found = comparison_of(X, y)
    curve = learning_curve(found, repeats=5)
    assert [point.n_rows for point in curve] == [160, 400, 800, 1600]
    assert curve[0].r2 < curve[-1].r2
    # with all rows it is the cross-validation itself
    assert curve[-1].r2 == pytest.approx(found.scores[found.recommended].r2, abs=1e-6)


def bootstrapped_r2(rng, y, guess):
    """R2 of 2,000 bootstrap samples of the rows."""
    rows = rng.integers(0, len(y), (2000, len(y)))
    error = np.mean((y[rows] - guess[rows]) ** 2, axis=1)
    return 1 - error / y[rows].var(axis=1)


def test_the_error_of_a_point_of_the_curve_is_that_of_a_bootstrap(rng):
    X, y = gaussian(rng, 600)
    found = comparison_of(X, y)
    *_, before, last = learning_curve(found, repeats=5)
    guess = found.trial(found.recommended).predictions
    r2 = bootstrapped_r2(rng, y, guess)
    # 2,000 draws know a standard deviation to 2 %, the delta method's is to first order
    assert last.error == pytest.approx(np.std(r2), rel=0.1)
    assert last.gain == pytest.approx(last.r2 - before.r2, abs=1e-9)
    assert 0 < last.gain_error < last.error  # they meet the same rows


def test_the_sentence_on_more_rows_says_what_the_last_step_of_the_plot_shows():
    def said(*points):
        return more_rows(SimpleNamespace(curve=[CurvePoint(*p) for p in points]))

    steep = [(20, 0.1, 0.1), (24, 0.4, 0.1, 0.3, 0.1)]
    rise = said(*steep, (48, 0.52, 0.05, 0.12, 0.03))
    assert rise.startswith("Yes: from 24 to 48 training rows")
    assert "+0.120 ± 0.030" in rise
    assert said(*steep, (48, 0.52, 0.05, 0.12, 0.1)).startswith("It is not clear:")
    assert said(*steep, (48, 0.405, 0.05, 0.005, 0.001)).startswith("A little:")
    assert said(*steep, (48, 0.4, 0.05, 0.0, 0.001)).startswith("Hardly:")
    assert said((20, 0.1, 0.1)) == "The learning curve could not be drawn."


def test_the_curve_of_a_small_table_has_no_point_twice(rng):
    curve = learning_curve(comparison_of(*gaussian(rng, 60)))
    assert [point.n_rows for point in curve] == [20, 24, 48]


def test_rows_are_grouped_by_number_missing_with_enough_in_each():
    mask = np.zeros((200, 4), dtype=bool)
    mask[100:160, 0] = True
    mask[160:195, :2] = True
    mask[195:, :] = True
    groups = count_groups(mask)
    assert [(label, int(rows.sum())) for label, rows in groups] == [
        ("0", 100),
        ("1", 60),
        ("2 to 4", 40),
    ]
    assert sum(rows.astype(int) for _, rows in groups).tolist() == [1] * 200


def test_coverage_on_new_rows_is_what_was_asked(rng):
    X, y = gaussian(rng, 6000, rate=0.2)
    found = diagnose(comparison_of(X, y))
    for asked, actual in found.coverage:
        # 1,200 test and 1,200 calibration rows: standard error up to 0.02
        assert actual == pytest.approx(asked, abs=0.06)
    assert all(0.84 < group[2] <= 1 for group in found.coverage_by_count)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A table with hostile names, compared from the command line."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(5)
    n = 240
    frame = pd.DataFrame(
        {
            "<script>alert(1)</script>": rng.normal(size=n),
            'cost in $ & "more"': rng.normal(size=n),
            "город": rng.choice(["<b>a</b>", "b", "c"], n),
            "day": np.datetime64("2020-01-01") + rng.integers(0, 900, n),
            "code": rng.integers(0, 3, n),
        }
    )
    y = frame.iloc[:, 0] + (frame["город"] == "b") + 0.3 * rng.normal(size=n)
    frame = frame.mask(rng.random(frame.shape) < 0.2).assign(**{"<i>y</i>": y})
    frame.to_csv(folder / "t.csv", index=False, sep=";", encoding="utf-8-sig")
    skip = [part for name in SLOW for part in ("--skip", name)]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        given = ["compare", str(folder / "t.csv"), "--target", "<i>y</i>", *skip]
        options = ["--out", str(folder / "out"), "--categorical", "code", "--jobs", "1"]
        code = main([*given, *options])
    assert code == 0
    return folder, out.getvalue(), (folder / "out" / "report.html").read_text()


def test_the_table_is_printed_and_results_are_written(report):
    folder, printed, _ = report
    for one in QUICK:
        assert re.search(rf"^{re.escape(one.name)} +-?[\d.]+ ", printed, re.M)
    assert "Use " in printed
    with (folder / "out" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(QUICK) * 5
    assert sum(int(r["rows"]) for r in rows if r["predictor"] == "EMLR") == 240


def test_names_of_the_table_are_escaped_everywhere(report):
    *_, page = report
    for hostile in ("<script>alert", "<b>a</b>", "<i>y</i>"):
        assert hostile not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "город" in page


def test_the_page_loads_nothing(report):
    *_, page = report
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", page)
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_how_far_a_predictor_is_behind_is_shown_with_its_error(rng):
    y = rng.standard_normal(400)
    good = trial_of("good", y + 0.5 * rng.standard_normal(400), 1.0)
    bad = trial_of("bad", y + 0.9 * rng.standard_normal(400), 1.0)
    found = made(y, [good, bad])
    page = scores_section(found)
    heads = re.findall(r"<th.*?<button[^>]*>(.*?)</button>", page)
    place = heads.index("behind")
    assert heads[place + 1] == "± behind"
    (line,) = re.findall(r"<tr><td>bad</td>.*?</tr>", page)
    cells = re.findall(r">([^<>]*)</td>", line)
    # of a difference of means of squares, to first order and by another bootstrap
    r2 = [
        bootstrapped_r2(np.random.default_rng(0), y, trial.predictions)
        for trial in (good, bad)
    ]
    behind = r2[0] - r2[1]
    assert float(cells[place]) == pytest.approx(
        r2_score(y, good.predictions) - r2_score(y, bad.predictions), abs=6e-5
    )
    # the standard deviation of 400 draws is known to 3.5 %
    assert float(cells[place + 1]) == pytest.approx(behind.std(), rel=0.15)


def test_the_report_holds_what_it_promises(report):
    *_, page = report
    for heading in (
        "What to use", "The comparison", "What is missing", "Where it errs",
        "Prediction intervals", "Would more rows help?",
        "Which variable to measure more often", "Why values are missing", "In Python",
    ):  # fmt: skip
        assert f"<h2>{heading}</h2>" in page
    assert page.count("<svg") >= 7


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (390, "dark")], ids=["laptop", "phone"]
)
def test_the_report_works_in_a_browser(report, width, scheme):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='pip install "missfit[dev]"'
    )
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there; `make browser` installs it")
    path = report[0] / "out" / "report.html"
    said, asked = [], []
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": width, "height": 844}, color_scheme=scheme
        )
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        # only figures and tables may scroll sideways
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # a click on a head sorts by numbers
        page.locator("#comparison th button", has_text="RMSE").click()
        cells = page.locator("#comparison tbody tr td:nth-child(7)")
        values = cells.evaluate_all("all => all.map(c => Number(c.dataset.value))")
        assert values == sorted(values)
        assert len(values) == len(QUICK)
        browser.close()
    assert said == []
    assert asked == [path.as_uri()]


def test_the_python_of_the_report_prints_its_score(report, monkeypatch):
    folder, _, page = report
    monkeypatch.chdir(folder)
    import html

    code = re.search(r"<code>(.*?)</code>", page, re.S)
    assert code is not None
    promised = re.search(r"R2 of the recommended predictor, (-?[\d.]+):", page)
    assert promised is not None
    assert run_code(html.unescape(code[1])) == promised[1]


def run_code(code):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {})
    return said.getvalue().strip()


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


def test_a_complete_table_and_one_with_a_single_variable_are_reported(tmp_path, rng):
    frame = pd.DataFrame({"a": rng.normal(size=80)}).assign(y=lambda t: t["a"] * 2)
    frame["y"] += rng.normal(size=80)
    frame.to_csv(tmp_path / "t.csv", index=False)
    skip = [part for name in SLOW for part in ("--skip", name)]
    arguments = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--jobs", "1"]
    assert main([*arguments, *skip, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Nothing: the table is complete." in page


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], "is empty"),
        ("y\n1\n2\n", [], "no column beside the target"),
        ("a,b\n1,2\n", [], "--target 'y'"),
        ("a,y\n" + "1,2\n" * 60, [], "'y' is 2 in every row"),
        ("a,y\n" + "1,up\n2,down\n" * 60, [], "holds text, such as 'up'"),
        ("a,y\n1,1\nx,2\n" + "3,4\n" * 60, [], "'a' mixes numbers"),
        ("a,y\n1,1\n2,2\n", [], "2 rows with a target; at least 50"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--skip", "Magic"], "no predictor known"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--folds", "1"], "at least 2"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--rows", "5"], "5 rows to draw; at least 50"),
        ("a,y\n" + "1,1\n2,2\n" * 60, ["--group", "g"], "--group 'g'"),
    ],
)
def test_what_compare_refuses_is_one_line_and_no_report(
    capsys, tmp_path, text, options, message
):
    (tmp_path / "t.csv").write_text(text)
    out = tmp_path / "out"
    given = ["compare", str(tmp_path / "t.csv"), "--target", "y", "--out", str(out)]
    code = main([*given, *options])
    said, err = capsys.readouterr()
    assert code == 2
    assert err.startswith("missfit: ")
    assert message in err
    assert err.count("\n") == 1
    assert not out.exists()
    assert said == ""


def test_patterns_are_found_once_and_a_score_does_not_depend_on_other_trials(
    rng, monkeypatch
):
    X, y = gaussian(rng, 200)
    found = comparison_of(X, y)
    calls = []

    def counted(mask):
        calls.append(mask.shape)
        return group_rows(mask)

    monkeypatch.setattr("missfit.comparison.results.group_rows", counted)
    diagnosis = diagnose(found)
    table_report(found, diagnosis, "")
    assert calls == [(200, 3)]
    one = found.trials[0]
    # alone or beside others, a trial has the same R2 and the same interval
    assert found.scores_of([one])[one.name][:3] == pytest.approx(
        found.scores[one.name][:3], rel=1e-12
    )


def test_plain_words_say_what_the_numbers_say(rng):
    X, y = gaussian(rng, 1500, rate=0.2)
    found = comparison_of(X, y)
    diagnosis = diagnose(found)
    words = " ".join(mechanism(found, diagnosis))
    assert "Nothing speaks against" in words
    assert "No sign that y differs where a variable is missing." in words
    first = more_rows(diagnosis).split(":")[0]
    assert first in ("Yes", "A little", "It is not clear", "Hardly")
