"""The report on a table: what to use, how good it is, where it fails."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from missfit.compare import Comparison, Diagnosis, Trial
from missfit.evidence.words import sentences
from missfit.report import table_figures as figures
from missfit.report.page import (
    Column,
    Html,
    element,
    facts,
    figure,
    page,
    paragraph,
    section,
    table,
)

MOST_NAMES = 3  # of a pattern in a table that a phone shows


def table_report(comparison: Comparison, diagnosis: Diagnosis, code: str) -> str:
    """Return the page.

    Parameters
    ----------
    comparison : Comparison
    diagnosis : Diagnosis
    code : str
        The Python that reproduces the recommended predictor's score.
    """
    with warnings.catch_warnings():
        # a name in a script that the font lacks is drawn by the browser's fonts
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        parts = [
            _recommendation(comparison, diagnosis),
            comparison_section(comparison),
            _picture(comparison),
            _errors(comparison, diagnosis),
            _intervals(comparison, diagnosis),
            _curve(diagnosis),
            _worth(comparison, diagnosis),
            _mechanism(comparison, diagnosis),
            _reproduce(comparison, code),
        ]
        return page(
            f"Predicting {comparison.target} with missing values",
            *parts,
            lead=f"{len(comparison.y):,} rows, {len(comparison.names)} variables, "
            f"{comparison.mask.mean():.1%} of the values missing.",
        )


def recommendation(comparison: Comparison) -> str:
    """Return the recommendation in a sentence or two of plain words."""
    chosen = comparison.scores[comparison.recommended]
    text = (
        f"Use {comparison.recommended}: on rows that it has not seen it explains "
        f"{chosen.r2:.1%} of the variance of {comparison.target} (95 % interval "
        f"{chosen.low:.1%} to {chosen.high:.1%}), with a typical error of "
        f"{chosen.rmse:.4g}."
    )
    if comparison.recommended != comparison.best:
        best = comparison.scores[comparison.best]
        text += (
            f" {comparison.best} scored {best.r2:.1%}, which is within one standard "
            f"error; {comparison.recommended} is quicker."
        )
    if chosen.low <= 0:
        text += (
            " But it may be no better than the mean of the target: with this table "
            "there is little to predict."
        )
    return text


def _rivals(comparison: Comparison) -> list[str]:
    return [trial.name for trial in comparison.sound if trial.candidate.rival]


def _recommendation(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    rivals = _rivals(comparison)
    notes = []
    if rivals:
        rival = max(rivals, key=lambda name: comparison.scores[name].r2)
        gain = comparison.scores[comparison.recommended].r2
        gain -= comparison.scores[rival].r2
        if comparison.recommended == rival:
            notes.append(
                "It is not a predictor of missfit: on this table what people use today "
                "is as good as anything here."
            )
        else:
            notes.append(
                f"The best of what people use today, {rival}, is "
                f"{abs(gain):.3f} R2 {'below' if gain >= 0 else 'above'} it."
            )
    worst = max(
        diagnosis.by_count, key=lambda group: group.rmse[comparison.recommended]
    )
    if len(diagnosis.by_count) > 1:
        notes.append(
            f"It is weakest on the {worst.n_rows:,} rows with {worst.label} variables "
            f"missing (RMSE {worst.rmse[comparison.recommended]:.4g})."
        )
    kinds = [("columns", line) for line in comparison.encoder.describe()]
    return section(
        "What to use",
        element("p", recommendation(comparison), class_="lead"),
        *(paragraph(note) for note in notes),
        facts([*kinds, *(("note", note) for note in comparison.notes)]),
    )


def comparison_section(comparison: Comparison) -> Html:
    """Return the scores of all predictors, as a figure and as a table."""
    rows = []
    for trial in comparison.trials:
        score = comparison.scores.get(trial.name)
        if score is None:
            why = "failed: see below" if trial.failure else "left out: see below"
            rows.append([trial.name, *[None] * 7, trial.seconds.mean(), why])
            continue
        rows.append(
            [
                trial.name,
                score.r2,
                score.low,
                score.high,
                score.behind,
                None if trial.name == comparison.best else score.behind_error,
                score.rmse,
                score.mae,
                trial.seconds.mean(),
                trial.candidate.about
                + (" (used today)" if trial.candidate.rival else ""),
            ]
        )
    rows.sort(key=lambda row: -np.inf if row[1] is None else -row[1])
    rows.sort(key=lambda row: row[1] is None)
    n_folds = int(comparison.fold.max()) + 1
    kept = " that keep groups together" if comparison.groups is not None else ""
    return section(
        "The comparison",
        figure(
            figures.scores(comparison),
            f"R2 of the predictions in {n_folds}-fold cross-validation{kept}, with "
            "95 % intervals by a bootstrap of the rows. Orange: recommended; blue: "
            "missfit; grey: used today. Intervals of two predictors may overlap "
            "although one is clearly better, since they meet the same rows: compare "
            "the columns “behind” and “± behind”.",
            name="scores",
        ),
        table(
            [
                Column("predictor"),
                Column("R2", ".4f"),
                Column("low", ".4f"),
                Column("high", ".4f"),
                Column("behind", ".4f"),
                Column("± behind", ".4f"),
                Column("RMSE", ".4g"),
                Column("MAE", ".4g"),
                Column("s / fit", ".2f"),
                Column("what it is"),
            ],
            rows,
            caption="Behind: how far the R2 is below the best one's on the same rows; "
            f"± behind: the standard error of this difference, by a bootstrap of the "
            f"{'groups' if comparison.groups is not None else 'rows'}.",
            name="comparison",
        ),
        *(
            paragraph(element("strong", trial.name), f": {_why_no_score(trial)}.")
            for trial in comparison.trials
            if trial.failure or trial.left_out
        ),
    )


def _why_no_score(trial: Trial) -> str:
    if trial.failure:
        return trial.failure.rstrip(".")
    return f"{trial.left_out} (missfit compare --all runs them)"


def _picture(comparison: Comparison) -> Html:
    if not comparison.mask.any():
        return section("What is missing", paragraph("Nothing: the table is complete."))
    from missfit.moments.patterns import group_rows

    groups = group_rows(comparison.mask)
    shown = min(figures.MOST_PATTERNS, len(groups.patterns))
    share = np.sort(groups.n_rows)[::-1][:shown].sum() / len(comparison.y)
    complete = (~comparison.mask.any(axis=1)).mean()
    rates = figure(
        figures.missing_rates(comparison),
        "Share of the rows in which each variable is missing"
        + (
            f" (the {figures.MOST_VARIABLES} most often missing)."
            if len(comparison.names) > figures.MOST_VARIABLES
            else "."
        ),
        name="rates",
    )
    patterns = figure(
        figures.pattern_matrix(comparison),
        f"The {shown} most frequent of {len(groups.patterns):,} patterns hold "
        f"{share:.0%} of the rows. Orange: missing. {complete:.0%} of the rows are "
        "complete.",
        name="patterns",
    )
    together = figures.co_missing(comparison)
    parts = [rates, patterns]
    if together is not None:
        parts.append(
            figure(
                together,
                "Variables that are missing together: red, always together; blue, one "
                "or the other.",
                name="together",
            )
        )
    return section("What is missing", *parts)


def pattern_in_words(missing: Sequence[str], rate: dict[str, float]) -> str:
    """Return a pattern as a few names: those missing, or all but those observed.

    Parameters
    ----------
    missing : sequence of str
    rate : dict
        How often each variable of the table is missing; seldom ones are named first.

    Examples
    --------
    >>> rate = dict(zip("abcdefgh", np.arange(8), strict=True))
    >>> pattern_in_words([], rate), pattern_in_words(["g", "a"], rate)
    ('none', 'a, g')
    >>> pattern_in_words("bcdefgh", rate), pattern_in_words("hgfe", rate)
    ('all but a', 'e, f, g and 1 more')
    """
    hidden = sorted(missing, key=lambda name: rate[name])
    seen = [name for name in rate if name not in set(missing)]
    if not hidden:
        return "none"
    if not seen:
        return "all"
    if len(hidden) > MOST_NAMES >= len(seen):
        return f"all but {', '.join(seen)}"
    more = len(hidden) - MOST_NAMES
    return ", ".join(hidden[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _errors(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    chosen = comparison.recommended
    rivals = sorted(_rivals(comparison), key=lambda n: -comparison.scores[n].r2)[:2]
    names = list(dict.fromkeys([chosen, comparison.best, *rivals]))
    shown = [chosen, *(name for name in names if name != chosen)][:3]
    rate = dict(zip(comparison.names, comparison.mask.mean(axis=0), strict=True))
    rows = [
        [
            pattern_in_words(found.missing, rate),
            found.n_rows,
            *(found.rmse[name] for name in shown),
            found.share,
        ]
        for found in diagnosis.by_pattern
    ]
    return section(
        "Where it errs",
        figure(
            figures.errors_by_count(diagnosis, names, chosen),
            "Root mean squared error on rows by the number of variables missing.",
            name="by-count",
        ),
        table(
            [
                Column("missing"),
                Column("rows", ",d"),
                *(Column(f"RMSE {name}", ".4g") for name in shown),
                Column("share of error", ".1%"),
            ],
            rows,
            caption=f"The {len(rows)} most frequent patterns; of long ones the "
            "variables that are seldom missing, which tell them apart. Share: of all "
            f"squared error of {chosen}.",
            filtered=len(rows) > 8,
        ),
    )


def _intervals(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    groups = diagnosis.coverage_by_count
    return section(
        "Prediction intervals",
        paragraph(
            "Intervals of missfit.ConformalRegressor around ",
            element("strong", comparison.recommended),
            ", on rows that neither has seen. They are what “missfit predict” writes. "
            "A row is calibrated by rows with the same values missing, where there are "
            "enough of them: then it is covered as often as was asked for, whatever "
            "makes values missing. Other rows are calibrated by rows with about as "
            "many values missing, and are covered so on average.",
        ),
        figure(
            figures.coverage(diagnosis),
            "Left: coverage against what was asked. Right: coverage of 90 % intervals "
            "by the number of variables missing; bars are what chance allows at 90 %.",
            name="coverage",
        ),
        table(
            [
                Column("missing"),
                Column("rows", ",d"),
                Column("covered", ".1%"),
                Column("median width", ".4g"),
            ],
            groups,
        ),
    )


def more_rows(diagnosis: Diagnosis) -> str:
    """Answer whether more rows would help, in plain words."""
    if len(diagnosis.curve) < 2:
        return "The learning curve could not be drawn."
    before, last = diagnosis.curve[-2:]
    step = f"from {before.n_rows:,} to {last.n_rows:,} training rows the R2"
    change = f"{last.gain:+.3f} ± {last.gain_error:.3f}"
    per_doubling = last.gain / np.log2(last.n_rows / before.n_rows)
    if per_doubling <= 0.003:
        return (
            f"Hardly: {step} changed by {change}. Better variables would help more "
            "than more rows."
        )
    if last.gain <= 2 * last.gain_error:
        return (
            f"It is not clear: {step} changed by {change} (standard error), which may "
            "be chance."
        )
    if per_doubling <= 0.01:
        return f"A little: {step} changed by {change} (standard error)."
    return f"Yes: {step} rose by {change} (standard error), and it may rise further."


def _curve(diagnosis: Diagnosis) -> Html:
    if len(diagnosis.curve) < 2:
        return section("Would more rows help?", paragraph(more_rows(diagnosis)))
    return section(
        "Would more rows help?",
        paragraph(more_rows(diagnosis)),
        figure(
            figures.learning_curve(diagnosis),
            "R2 of the recommended predictor when it learns from part of the rows, "
            "with 95 % intervals.",
            name="curve",
        ),
    )


def worth_of_measuring(comparison: Comparison, diagnosis: Diagnosis) -> str:
    """Say which variable to measure more often, and how that was found."""
    worth = diagnosis.worth
    ranked = worth.ranked(1e-4 * diagnosis.risk)
    if not ranked:
        return "None: measuring what is missing would not help, as far as can be told."
    best = ranked[0]
    gain = worth.drops[best] / comparison.y.var()
    error = worth.standard_errors[best] / comparison.y.var()
    spread = f" ± {error:.3f}" if error else ""
    return (
        f"If {comparison.names[best]} were always measured, the mean squared error "
        f"would fall by about {worth.drops[best] / diagnosis.risk:.1%}, and R2 would "
        f"rise by {gain:.3f}{spread}. Found {worth.method}."
    )


def _worth(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    words = paragraph(worth_of_measuring(comparison, diagnosis))
    worth, risk = diagnosis.worth, diagnosis.risk
    pairs = [
        (comparison.names[j], float(worth.drops[j] / risk))
        for j in worth.ranked(1e-4 * risk)
    ]
    title = "Which variable to measure more often"
    if not pairs:
        return section(title, words)
    return section(
        title,
        words,
        figure(
            figures.worth(pairs),
            "Expected fall of the mean squared error if a variable were never missing.",
            name="worth",
        ),
    )


def mechanism(comparison: Comparison, diagnosis: Diagnosis) -> list[str]:
    """Return what the table says about why values are missing, in plain words."""
    if not comparison.mask.any():
        return ["Nothing is missing."]
    return [
        *sentences(diagnosis.mechanism, comparison.names, comparison.target),
        "No table can prove that values are missing at random given what is observed: "
        "ask those who collected it.",
    ]


def _mechanism(comparison: Comparison, diagnosis: Diagnosis) -> Html:
    lines = [paragraph(line) for line in mechanism(comparison, diagnosis)]
    if not diagnosis.masks:
        return section("Why values are missing", *lines)
    rows = [
        [e.name, e.rate, e.target_gap, e.target_p, float(e.auc)]
        for e in sorted(diagnosis.masks, key=lambda e: -e.rate)
    ]
    return section(
        "Why values are missing",
        *lines,
        table(
            [
                Column("variable"),
                Column("missing", ".1%"),
                Column("target gap", "+.2f"),
                Column("p", ".2g"),
                Column("AUC", ".2f"),
            ],
            rows,
            caption="Target gap: mean of the target where missing minus where "
            "observed, in standard deviations; p: of a permutation test on ranks that "
            "the target does not differ there, corrected for the number of variables "
            "(1/300 is the least; up to it a difference is claimed above). AUC: how "
            "well the values of the other variables predict the mask, 0.5 not at all "
            "(tried for the most even masks).",
            filtered=len(rows) > 8,
        ),
    )


def _reproduce(comparison: Comparison, code: str) -> Html:
    score = comparison.scores[comparison.recommended].r2
    return section(
        "In Python",
        paragraph(f"This prints the R2 of the recommended predictor, {score:.4f}:"),
        element("pre", element("code", code)),
    )
