"""The report on a table whose target is a class: what it shows and what it does not."""

from pathlib import Path

import numpy as np
import pytest

from class_cases import class_comparison, class_frame
from missfit.comparison import diagnose
from missfit.report.table.class_figures import roc_points
from missfit.report.table.class_words import baseline
from missfit.report.table.recommendation import recommendation
from missfit.report.table.report import table_report

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def two():
    return class_comparison(class_frame(np.random.default_rng(0), 200), n_folds=3)


@pytest.fixture(scope="module")
def page(two):
    return table_report(two, diagnose(two, seconds=0.5), "code")


def test_the_report_speaks_of_classes_and_not_of_numbers(page):
    for words in (
        "Do the probabilities come true?",
        "Which classes it finds",
        "Calibration by the number of variables missing",
        "rise of the log-loss if the variable is permuted",
        "training rows the log-loss",
        "ROC curves for yes",
        "said yes",
        "the share of label = &#x27;yes&#x27;",
    ):
        assert words in page.replace("&#39;", "&#x27;"), words
    for words in ("R2", "RMSE", "Prediction intervals", "ConformalRegressor", "nan"):
        assert f">{words}" not in page, words
        assert f" {words} " not in page, words


def test_the_recommendation_names_the_scores_beside_the_baselines(two):
    score, base = two.scores[two.recommended], baseline(two)
    share = np.bincount(two.y.astype(int)) / len(two.y)
    assert base.accuracy == share.max()
    assert base.log_loss == pytest.approx(-(share * np.log(share)).sum())
    words = recommendation(two)
    assert f"log-loss is {score.log_loss:.4f} (95 % interval {score.low:.4f}" in words
    assert f"AUC is {score.auc:.3f} ± {score.auc_error:.3f}" in words
    assert f"right in {score.accuracy:.1%}" in words
    assert f"is right in {base.accuracy:.1%})" in words


def test_labels_without_relation_leave_a_doubt():
    rng = np.random.default_rng(1)
    frame = class_frame(rng, 120)
    frame["label"] = rng.permutation(frame["label"])
    words = recommendation(class_comparison(frame))
    assert "it may be no better than the shares of the classes" in words


@pytest.mark.slow
def test_the_report_of_twenty_classes_has_a_line_for_each_and_escapes_their_names():
    labels = tuple(f"<b>{k}</b>" for k in range(20))
    frame = class_frame(np.random.default_rng(2), 300, labels)
    found = class_comparison(frame, n_folds=3)
    page = table_report(found, diagnose(found, with_curve=False, seconds=1.0), "code")
    assert "<b>7</b>" not in page
    assert page.count("&lt;b&gt;7&lt;/b&gt;") >= 1
    assert "ROC" not in page
    assert "said &lt;b&gt;" not in page  # too many for a table of each by each
    assert "probability of the most probable class" in page


def test_the_area_below_the_points_of_the_roc_curve_is_the_auc():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(3)
    positive = rng.random(100) < 0.4
    score = np.round(rng.standard_normal(100) + positive, 1)  # with ties
    false, true = roc_points(score, positive)
    assert np.trapezoid(true, false) == pytest.approx(roc_auc_score(positive, score))


@pytest.mark.slow
def test_the_report_on_classes_fits_a_desktop_and_a_phone(page, tmp_path):
    browsers = pytest.importorskip(
        "playwright.sync_api", reason='pip install "missfit[dev]"'
    )
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there; `make browser` installs it")
    path = tmp_path / "report.html"
    path.write_text(page, "utf-8")
    with browsers.sync_playwright() as running:
        browser = running.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox"]
        )
        for width in (1280, 390):
            opened = browser.new_page(viewport={"width": width, "height": 900})
            opened.goto(path.as_uri())
            sideways = "document.documentElement.scrollWidth - window.innerWidth"
            assert opened.evaluate(sideways) <= 0
            for name in ("reliability", "reliability-by-count", "roc"):
                box = opened.locator(f"#{name} svg").bounding_box()
                assert box["width"] > 250
                assert box["x"] + box["width"] <= width + 1
        browser.close()
