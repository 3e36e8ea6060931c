"""Figures, findings and the report of a study, from a table made of published means."""

import re
from pathlib import Path

import numpy as np
import pytest

from missfit import study
from missfit.report.study import study_page
from missfit.study.collect import Collected
from missfit.study.figures import (
    FIGURES,
    box_plots,
    learning_curves,
    possible_figures,
    rows_per_parameter,
    save_figures,
    widths,
)
from missfit.study.figures.panels import largest_size, median_interval
from missfit.study.findings import crossing, findings, interpolated, markdown
from missfit.study.published import bayes_rates, beside_published, published_means
from missfit.study.records import COLUMNS

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="module")
def table():
    """Three repetitions around the published means, as if they were ours."""
    means = published_means()
    rng = np.random.default_rng(0)
    rows = means.loc[means.index.repeat(3)].reset_index(drop=True)
    rows["repetition"] = np.tile(range(3), len(means))
    shift = np.tile([-0.001, 0.0, 0.001], len(means))
    rows["r2"], rows["mse"] = rows["r2_mean"] + shift, rows["mse_mean"]
    rows["status"], rows["message"], rows["data"] = "ok", "", "published"
    rows["fit_seconds"] = rng.random(len(rows))
    rows["predict_seconds"] = rng.random(len(rows))
    rows["rows"] = rows["n"] * 4 // 3
    rows["versions"], rows["device"] = "missfit 0", "cpu"
    rows["estimator"] = rows["parameters"] = rows["seed"] = rows["key"] = ""
    return rows.reindex(columns=list(COLUMNS))  # no bayes_r2, as in older tables


def lines(ax, name):
    return [line for line in ax.get_lines() if line.get_gid() == name]


def test_figure_1_draws_medians_and_the_bayes_rate_in_every_panel(table):
    fig = learning_curves(table)
    assert [ax.get_title() for ax in fig.axes] == [
        "Mixture 1 (MCAR)",
        "Mixture 3",
        "Self-masked (MNAR)",
    ]
    means = published_means()
    for ax, setting in zip(
        fig.axes, ("mixture1", "mixture3", "selfmasked"), strict=True
    ):
        (line,) = lines(ax, "series:EMLR:test")
        theirs = means[
            (means["setting"] == setting)
            & (means["d"] == 10)
            & (means["method"] == "EMLR")
            & (means["split"] == "test")
            & (means["n"] <= 75_000)
        ]
        np.testing.assert_allclose(line.get_xdata(), theirs["n"])
        np.testing.assert_allclose(line.get_ydata(), theirs["r2_mean"], atol=1e-12)
        (bayes,) = [k for k in ax.get_lines() if k.get_label() == "Bayes rate"]
        assert bayes.get_ydata()[0] == bayes_rates()[setting, 10]
        assert bayes.get_color() == "black"
        (train,) = lines(ax, "series:ExpandedLR:train")
        assert train.get_linestyle() == ":"


def test_published_means_are_marked_on_request(table):
    plain, marked = learning_curves(table), learning_curves(table, published=True)
    assert not lines(plain.axes[0], "series:EMLR:published")
    assert len(lines(marked.axes[0], "series:EMLR:published")) == 1


def test_figure_2_divides_by_the_parameters(table):
    fig = rows_per_parameter(table, published=True)
    assert len(fig.axes) == 6
    (line,) = lines(fig.axes[3], "series:d = 10:ExpandedLR")  # mixture1, test
    np.testing.assert_allclose(line.get_xdata()[-1], 75_000 / 6144)
    mlp = lines(fig.axes[3], "series:d = 10:MLP W2")[0]
    np.testing.assert_allclose(mlp.get_xdata()[-1], 75_000 / (20 * 22 + 1))


def test_figure_3_has_a_box_for_each_method_and_split(table):
    fig = box_plots(table, published=True)
    labels = [text.get_text() for text in fig.axes[1].get_yticklabels()]
    assert labels[::-1] == [
        "ConstantImputedLR",
        "EMLR",
        "ExpandedLR",
        "MICELR",
        "MLP W0.01",
        "MLP W0.1",
        "MLP W0.5",
    ]


def test_figure_4_leaves_out_networks_of_fewer_than_four_units(table):
    fig = widths(table, published=True)
    (line,) = lines(fig.axes[0], "series:d = 10:widths")
    assert line.get_xdata().tolist() == [0.5, 1, 2, 4]  # 0.3 d = 3 units
    assert "n = 375,000" in fig.axes[1].get_title()


@pytest.mark.slow
def test_figures_are_written_as_pdf_and_png(table, tmp_path):
    small = table[table["d"].isin([4, 10]) & (table["n"] >= 18_750)]
    save_figures(small, (1, 2, 3, 4), tmp_path)  # 5 is that of classes
    for number in (1, 2, 3, 4):
        assert (tmp_path / f"figure{number}.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / f"figure{number}.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_with_other_settings_has_the_figures_that_it_can_have(table):
    own = table[table["method"] == "EMLR"].copy()
    own["setting"], own["method"] = "mine", "my method"
    assert possible_figures(own) == [1, 3]
    fig = learning_curves(own[own["d"] == 4])
    assert lines(fig.axes[0], "series:my method:test")
    assert possible_figures(own.head(0)) == []
    box_plots(own[own["d"] == 4])


def test_the_interval_of_the_median_covers_it_at_its_level(rng):
    inside = 0
    for _ in range(300):
        low, high = median_interval(rng.normal(size=25))
        inside += low <= 0 <= high
    # a bootstrap interval of 25 values covers a little less than 95 %; 300 trials
    # have a standard error of 1.3 %
    assert 0.89 < inside / 300 < 0.99


def test_the_self_masked_bayes_rates_are_those_of_the_bayes_predictor():
    from missfit.bayes import bayes_r2
    from missfit.simulate import published

    estimate = bayes_r2(published("selfmasked", 4), n_draws=50_000, random_state=1)
    error = np.hypot(estimate.standard_error, 1.4e-4)  # that of the stored rate
    assert abs(estimate.value - bayes_rates()["selfmasked", 4]) < 4 * error


def test_ours_beside_published_has_the_differences(table):
    both = beside_published(table)
    assert len(both) == len(published_means())
    np.testing.assert_allclose(both["r2_difference"], 0, atol=1e-6)
    assert both["n_repetitions"].eq(3).all()


def test_crossing_and_interpolation_are_exact_on_lines_in_log_x():
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    y = 0.4 - 0.1 * np.log10(x)
    assert crossing(x, y, 0.15) == pytest.approx(10**2.5)
    assert interpolated(x, y, 10**1.5) == pytest.approx(0.25)
    assert crossing(x, y, 0.05) is None
    assert crossing(x, y, 0.5) == 1.0
    assert interpolated(x, y, 2000.0) is None


def test_findings_state_what_the_paper_says_on_the_published_table(table):
    regimes, rows, units = findings(table)
    best = {(r[0], r[2]): r[8] for r in regimes.rows}
    assert best["mixture3", 750] == "EMLR"  # small: EM
    assert best["mixture3", 7_500].startswith("MLP")  # medium: the MLP
    assert best["mixture3", 75_000] == "ExpandedLR"  # large
    needed = [r[3] for r in rows.rows if r[0] == "mixture3" and 5 <= r[1] <= 9]
    assert 8 < np.median(needed) < 22  # "around 15 samples per parameter"
    share = {r[1]: r[5] for r in units.rows if r[0] == "mixture3"}
    assert max(share.values()) / min(share.values()) < 3  # units in proportion to 2^d
    text = markdown(findings(table))
    assert "| mixture3 | 10 | 75,000 |" in text


NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def report(table):
    nasty = table[table["method"] == "EMLR"].assign(method=NASTY)
    failed = table.head(2).assign(status="error", message=NASTY, method="failed")
    part = pd.concat([table[table["n"] >= 18_750], nasty, failed], ignore_index=True)
    numbers = {k: FIGURES[k](part, published=True) for k in possible_figures(part)}
    item = study.load("paper")
    collected = Collected(part, numbers, 12_670, 1, 3)
    return study_page(item, collected, published=True, command=f"missfit {NASTY}")


def test_the_report_escapes_names_and_loads_nothing(report):
    assert "<img" not in report
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", report, re.I)
    assert "http" not in report
    assert "1 cells failed" in report
    assert "3 cells have not been run" in report
    for number in (1, 2, 3, 4):
        assert f'id="figure{number}"' in report


def test_the_report_works_in_a_browser_without_a_network(report, tmp_path):
    playwright = pytest.importorskip(
        "playwright.sync_api", reason='pip install "missfit[dev]"'
    )
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not there; `make browser` installs it")
    path = tmp_path / "report.html"
    path.write_text(report)
    said, asked = [], []
    with playwright.sync_playwright() as p:
        browser = p.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        # the phone does not scroll sideways: only figures and tables do
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # a switch hides a method in every figure
        drawn = page.locator('[data-series="series:EMLR:test"]')
        assert drawn.count() >= 3
        page.locator('button[data-switch="EMLR"]').click()
        assert not any(drawn.nth(i).is_visible() for i in range(drawn.count()))
        page.locator('button[data-switch="EMLR"]').click()
        # the table sorts by numbers, and filters
        page.locator("#beside th button", has_text="difference").click()
        cells = page.locator("#beside tbody tr td:nth-child(10)")
        values = [
            float(v)
            for v in cells.evaluate_all("all => all.map(c => c.dataset.value || 'NaN')")
        ]
        known = [v for v in values if not np.isnan(v)]
        assert known == sorted(known)
        assert np.isnan(values[len(known) :]).all()
        field = page.locator("section", has=page.locator("#beside")).locator("input")
        field.fill("mixture3 EMLR test")
        shown = page.locator("#beside tbody tr:visible")
        assert shown.count() > 0
        assert all("mixture3" in t for t in shown.all_inner_texts())
        browser.close()
    assert said == []
    assert asked == [path.as_uri()]


def test_the_size_of_box_plots_is_one_that_all_methods_have(table):
    part = table[(table["setting"] == "mixture1") & (table["d"] == 10)]
    assert largest_size(part) == 75_000
    few = part[(part["n"] <= 7_500) | (part["method"] == "EMLR")]
    assert largest_size(few) == 7_500
