"""The report of a study: its figures, ours against published, what was run."""

from __future__ import annotations

import json
from pathlib import Path

from missfit.report.page import (
    Column,
    Html,
    element,
    facts,
    figure,
    page,
    paragraph,
    section,
    switches,
    table,
    write_page,
)
from missfit.study.collect import Collected
from missfit.study.figures.class_curves import class_colours
from missfit.study.figures.methods import colour_of, shown_methods
from missfit.study.figures.panels import finished, finished_classes
from missfit.study.findings import Finding
from missfit.study.grid import Study
from missfit.terminal import duration

CAPTIONS = {
    1: (
        "Figure 1. Learning curves. R2 against the number of training samples: test "
        "in plain lines (median over the repetitions, 95 % bootstrap interval), "
        "training in dotted lines (mean). The line across is the Bayes rate, the best "
        "that any predictor can do; the paper could not draw it for self-masking."
    ),
    2: (
        "Figure 2. Learning curves over dimensions. R2 minus the Bayes rate against "
        "training samples per parameter, for ExpandedLR and the MLP (2d hidden units; "
        "half of 2^d for mixture 3). Medians over the repetitions."
    ),
    3: (
        "Figure 3. R2 of every method at the largest number of training samples, over "
        "the repetitions; the line across is the Bayes rate."
    ),
    4: (
        "Figure 4. Width of the MLP. Test R2 minus the Bayes rate against the number "
        "of hidden units, in units of d (2^d for mixture 3)."
    ),
    5: (
        "Figure 5. Learning curves of classifiers. Expected test log-loss above that "
        "of the Bayes classifier, which no classifier can beat, against the number of "
        "training samples: medians over the repetitions, 95 % bootstrap intervals. "
        "Both axes are logarithmic."
    ),
}
MARKS = " Open diamonds are the published means."
# The table of ours beside published: field of a row, its type, and its column.
BESIDE = (
    ("setting", str, Column("setting")),
    ("d", int, Column("d")),
    ("n", int, Column("n", ",")),
    ("method", str, Column("method")),
    ("split", str, Column("split")),
    ("n_repetitions", int, Column("repetitions")),
    ("r2", float, Column("R2 mean", ".4f")),
    ("r2_median", float, Column("R2 median", ".4f")),
    ("r2_mean", float, Column("published mean", ".4f")),
    ("r2_difference", float, Column("difference", "+.4f")),
    ("r2_std", float, Column("published s.d.", ".4f")),
    ("r2_bayes", float, Column("Bayes rate", ".4f")),
    ("regret", float, Column("regret", ".4f")),
)
PUBLISHED = ("r2_mean", "r2_difference", "r2_std")  # only where the paper has them


def write_report(
    study: Study,
    collected: Collected,
    path: str | Path,
    *,
    published: bool = False,
    command: str = "",
) -> None:
    """Write the report of a study as one self-contained page.

    Parameters
    ----------
    study : Study
    collected : Collected
        From `missfit.study.collect`.
    path : path
        The file to write.
    published : bool
        Whether the figures mark the published means.
    command : str
        The command that ran the study, for those who want to run it again.
    """
    write_page(path, study_page(study, collected, published=published, command=command))


def study_page(
    study: Study, collected: Collected, *, published: bool = False, command: str = ""
) -> str:
    """Return the report of a study; see `write_report`."""
    parts = [
        _warning(collected),
        section("Figures", _switches(collected.table), *_figures(collected, published)),
        section("What it shows", *_findings(collected.findings)),
        *_scores(collected),
        section("What was run", _what_was_run(study, collected, command)),
    ]
    if collected.n_failed:
        parts.insert(1, section("Cells that failed", _failures(collected.table)))
    lead = (
        f"{collected.n_cells - collected.n_missing:,} of {collected.n_cells:,} cells: "
        "one cell is one method fitted to one data set. After Le Morvan, Prost, Josse, "
        "Scornet, Varoquaux, Linear predictor on linearly-generated data with missing "
        "values, AISTATS 2020."
    )
    return page(study.title, *parts, lead=lead)


def _warning(collected: Collected) -> Html:
    words = []
    if collected.n_failed:
        words.append(f"{collected.n_failed:,} cells failed.")
    if collected.n_missing:
        words.append(
            f"{collected.n_missing:,} cells have not been run yet: give the same "
            "command again to go on."
        )
    return paragraph(" ".join(words), class_="warning") if words else Html("")


def _figures(collected: Collected, published: bool) -> list[Html]:
    return [
        figure(
            fig,
            CAPTIONS[k] + (MARKS if published and k <= 4 else ""),
            name=f"figure{k}",
        )
        for k, fig in collected.figures.items()
    ]


def _switches(results) -> Html:
    """Return buttons for the methods; networks are one colour per width rank."""
    classes = finished_classes(results)
    colours = class_colours(classes) if len(classes) else {}
    done = finished(results)
    for setting in done["setting"].unique():
        methods = shown_methods(done[done["setting"] == setting], setting)
        for method in methods:
            colours.setdefault(method, colour_of(method, methods))
    return switches(colours.items()) if colours else Html("")


def _scores(collected: Collected) -> list[Html]:
    """Return our means and medians, beside the published means where there are any.

    A study of classes alone has none: its scores are among the findings.
    """
    both = collected.beside_published
    if len(both):
        return [_beside(both)]
    if collected.findings:
        return []
    return [section("All scores", paragraph("Nothing has been run yet."))]


def _beside(both) -> Html:
    has_published = both["r2_mean"].notna().any()
    fields = [one for one in BESIDE if has_published or one[0] not in PUBLISHED]
    rows = [
        [kind(getattr(row, name)) for name, kind, _ in fields]
        for row in both.itertuples()
    ]
    words = (
        "n is the number of training rows. The regret is how far the mean R2 on test "
        "rows is below the R2 of the Bayes predictor, where it is known."
    )
    if has_published:
        words = (
            "The published means are over 10 repetitions. Means of ExpandedLR and "
            "MICELR at small n are ruined by a few exploding runs, here as there; the "
            f"median is not. {words}"
        )
    columns = [column for _, _, column in fields]
    return section(
        "Ours against published" if has_published else "All scores",
        paragraph(words),
        table(columns, rows, name="beside", filtered=True),
    )


def _findings(found: list[Finding]) -> list[Html]:
    if not found:
        return [paragraph("Nothing has been run yet.")]
    parts = []
    for number, finding in enumerate(found):
        columns = [
            Column(name, "," if name in ("n", "parameters") else "")
            for name in finding.columns
        ]
        rows = [[_shown(value) for value in row] for row in finding.rows]
        parts.append(element("h3", finding.title))
        parts.append(paragraph(finding.text))
        parts.append(table(columns, rows, name=f"finding{number + 1}"))
    return parts


def _shown(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _failures(results) -> Html:
    failed = results[(results["status"] != "ok") & (results["split"] == "test")]
    columns = [
        Column("setting"),
        Column("d"),
        Column("n", ","),
        Column("repetition"),
        Column("method"),
        Column("error"),
    ]
    rows = [
        [r.setting, int(r.d), int(r.n), int(r.repetition), r.method, r.message]
        for r in failed.itertuples()
    ]
    return table(columns, rows, name="failures", filtered=True)


def _what_was_run(study: Study, collected: Collected, command: str) -> Html:
    """Return the facts of the run, the methods, and the time that they took."""
    results = collected.table
    cells = results[results["split"] == "test"]
    seconds = cells["fit_seconds"].sum() + results["predict_seconds"].sum()
    pairs = [
        ("study", study.name),
        ("command", element("code", command) if command else "from Python"),
        ("cells", f"{len(cells):,} run, {collected.n_missing:,} left"),
        ("time of fits and predictions", f"{duration(seconds)} in all"),
        ("versions", "; ".join(sorted(results["versions"].unique()))),
        ("devices", ", ".join(sorted(results["device"].unique()))),
    ]
    return Html(facts(pairs) + _methods(study) + _times(cells))


def _methods(study: Study) -> Html:
    """Return the methods of a study and their parameters."""
    names = ("method", "estimator", "parameters", "settings")
    rows = [
        [m.name, m.estimator, _parameters(m.parameters), ", ".join(m.settings or ())]
        for m in study.methods
    ]
    return table([Column(name) for name in names], rows)


def _times(cells) -> Html:
    """Return how long the fits of each method took."""
    by_method = (
        cells[cells["status"] == "ok"]
        .groupby("method")["fit_seconds"]
        .agg(["count", "sum", "median", "max"])
    )
    return table(
        [
            Column("method"),
            Column("cells", ","),
            Column("fits, s", ",.1f"),
            Column("median, s", ".3f"),
            Column("longest, s", ".2f"),
        ],
        [[r[0], int(r[1]), *map(float, r[2:])] for r in by_method.itertuples()],
        caption="Seconds of the fits. Networks that train together share the seconds "
        "of their batch.",
    )


def _parameters(text: str) -> str:
    return _arguments(json.loads(text))


def _arguments(given: dict) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in given.items())


def _value(value) -> str:
    """Return a parameter as it would be written in Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict) and "class" in value:
        name = value["class"].rpartition(".")[2]
        return f"{name}({_arguments(value.get('parameters', {}))})"
    return repr(value)
