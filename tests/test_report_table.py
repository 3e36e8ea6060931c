"""The report on a table: safe, whole, in plain words."""

import contextlib
import csv
import io
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score

from comparison_cases import (
    QUICK,
    SLOW,
    bootstrapped_r2,
    comparison_of,
    gaussian,
    made,
    run_code,
    trial_of,
)
from missfit.cli import main
from missfit.comparison import diagnose
from missfit.comparison.learning_curve import CurvePoint
from missfit.report.table.learning_curve import more_rows
from missfit.report.table.mechanism import mechanism
from missfit.report.table.scores import scores_section

CHROMIUM = Path("/usr/bin/chromium")


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
    promised = re.search(r"R2 of the recommended predictor, (-?[\d.]*\d)", page)
    assert promised is not None
    assert run_code(html.unescape(code[1])) == promised[1]


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
    assert said((20, 0.1, 0.1)) == "The learning curve was not drawn."


def test_plain_words_say_what_the_numbers_say(rng):
    X, y = gaussian(rng, 1500, rate=0.2)
    found = comparison_of(X, y)
    diagnosis = diagnose(found)
    words = " ".join(mechanism(found, diagnosis))
    assert "Nothing speaks against" in words
    assert "No sign that y differs where a variable is missing." in words
    first = more_rows(diagnosis).split(":")[0]
    assert first in ("Yes", "A little", "It is not clear", "Hardly")
