"""What a table of results shows, beside what the paper says that it should show.

Section 7 of the paper has three regimes of sample sizes. It says that about 15 rows per
parameter lead to the Bayes rate (Figure 2), and that the number of hidden units needed
grows like d, or like 2^d in mixture 3 (Figure 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from missfit.study.figures.methods import is_width, parameters_of, units_of
from missfit.study.figures.panels import TITLES, finished, finished_classes
from missfit.study.published import bayes_rates, beside_published

CLOSE = 0.01  # difference in R2 up to which two predictors count as equally good
CLASSES = "Classes"  # the title of the scores on classes
LINEAR = ("ConstantImputedLR", "EMLR", "MICELR", "ExpandedLR")


class Finding(NamedTuple):
    """A table to print.

    Attributes
    ----------
    title, text : str
    columns : tuple of str
    rows : list of tuple
        The values, None where one is not known.
    """

    title: str
    text: str
    columns: tuple[str, ...]
    rows: list[tuple]


def findings(table: Any) -> list[Finding]:
    """Return what a table of results shows.

    On the settings of the paper these are the regimes, the rows per parameter and the
    widths; on other data, and on classes, they are the scores of all methods, the best
    one first.
    """
    classes = finished_classes(table)
    done = finished(table)
    done = done[done["split"] == "test"]
    paper = done["setting"].isin(TITLES)
    median = done[paper].groupby(["setting", "d", "n", "method"])["r2"].median()
    every = [
        regimes(median),
        rows_to_bayes(median),
        units_needed(median),
        scores_elsewhere(done[~paper]),
    ]
    if len(classes):
        every.append(scores_of_classes(classes[classes["split"] == "test"]))
    return [finding for finding in every if finding.rows]


def scores_elsewhere(done: Any) -> Finding:
    """Return the scores of all methods on data that are not the paper's."""
    both = beside_published(done).sort_values(
        ["setting", "d", "n", "r2_median"], ascending=[True, True, True, False]
    )
    return Finding(
        "Your own data",
        "Test R2 of every method, the best one first. The regret is how far the mean "
        "R2 is below that of the Bayes predictor, where it is known, with the standard "
        "error over the repetitions.",
        ("setting", "d", "n", "method", "median R2", "mean R2", "regret", "± regret"),
        [
            (
                row.setting,
                int(row.d),
                int(row.n),
                row.method,
                *map(_number, (row.r2_median, row.r2, row.regret, row.regret_error)),
            )
            for row in both.itertuples()
        ],
    )


def scores_of_classes(done: Any) -> Finding:
    """Return the scores of all methods on data whose target is a class."""
    keys = ["setting", "d", "n", "method"]
    excess = "excess_log_loss"
    by_method = done.groupby(keys, as_index=False)
    means = by_method[["log_loss", excess, "accuracy", "bayes_accuracy"]].mean()
    means["error"] = by_method[excess].sem()[excess]
    means = means.sort_values(["setting", "d", "n", excess])
    numbers = ["log_loss", excess, "error", "accuracy", "bayes_accuracy"]
    return Finding(
        CLASSES,
        "Test log-loss of every method, the best one first, means over the "
        "repetitions. The excess is how far it is expected to be above that of the "
        "Bayes classifier on the same rows, whatever their labels, with its standard "
        "error. The accuracy is the share of rows whose most probable class is right, "
        "beside that of the Bayes classifier.",
        (*keys, "log-loss", "excess", "± excess", "accuracy", "Bayes accuracy"),
        [
            (
                row.setting,
                int(row.d),
                int(row.n),
                row.method,
                *(_number(getattr(row, name)) for name in numbers),
            )
            for row in means.itertuples()
        ],
    )


def regimes(median: Any) -> Finding:
    """Return which predictor is best for each number of training rows.

    Parameters
    ----------
    median : Series
        The median test R2 by setting, d, n and method. Each setting is shown at d = 10,
        or at its largest d.
    """
    return Finding(
        "Sample-size regimes",
        "Median test R2 by number of training rows; the MLP is the best of its widths.",
        ("setting", "d", "n", *LINEAR, "best MLP", "best of all", "Bayes rate"),
        [
            row
            for setting in _settings(median)
            for row in _regime_rows(setting, median[setting])
        ],
    )


def _regime_rows(setting: str, median: Any) -> Iterator[tuple]:
    """Yield the scores of one setting for each number of training rows."""
    dimensions = median.index.get_level_values("d").unique()
    d = 10 if 10 in dimensions else max(dimensions)
    scores = median[d].unstack()
    networks = [m for m in scores if is_width(m)]
    for n, row in scores.iterrows():
        known = row.dropna()
        yield (
            setting,
            int(d),
            int(n),
            *(_number(row.get(m)) for m in LINEAR),
            _number(known.reindex(networks).max() if networks else np.nan),
            known.idxmax(),
            bayes_rates().get((setting, int(d))),
        )


def rows_to_bayes(median: Any) -> Finding:
    """Return the rows per parameter at which ExpandedLR is close to the Bayes rate."""
    rows = []
    for setting in _settings(median):
        part = median[setting]
        if "ExpandedLR" not in part.index.get_level_values("method"):
            continue
        curves = part.xs("ExpandedLR", level="method")
        for d in curves.index.get_level_values("d").unique():
            gap = bayes_rates()[setting, int(d)] - curves[d].sort_index()
            ratio = gap.index.to_numpy() / parameters_of("ExpandedLR", setting, int(d))
            rows.append(
                (
                    setting,
                    int(d),
                    parameters_of("ExpandedLR", setting, int(d)),
                    crossing(ratio, gap.to_numpy(), CLOSE),
                    interpolated(ratio, gap.to_numpy(), 15.0),
                )
            )
    return Finding(
        "Rows per parameter",
        f"Training rows per parameter at which ExpandedLR is within {CLOSE} of the "
        "Bayes R2 (interpolated between sizes; none where it is not reached), and its "
        "distance to the Bayes R2 at 15 rows per parameter.",
        ("setting", "d", "parameters", "rows per parameter", "distance at 15"),
        rows,
    )


def units_needed(median: Any) -> Finding:
    """Return the width from which the MLP is within 0.01 of the widest MLP in R2."""
    found = [
        _width_row(setting, int(d), median[setting][d].unstack("n"))
        for setting in _settings(median)
        for d in median[setting].index.get_level_values("d").unique()
    ]
    return Finding(
        "Width of the MLP",
        f"Fewest hidden units (of the widths tried) within {CLOSE} R2 of the widest "
        "network, at the largest n of networks: the same multiple of d for mixture 1 "
        "and self-masking, of 2^d for mixture 3, if the paper is right.",
        ("setting", "d", "n", "units", "units / d", "units / 2^d", "widest to Bayes"),
        [row for row in found if row],
    )


def _width_row(setting: str, d: int, by_method: Any) -> tuple | None:
    """Return the width needed at the largest n; None with fewer than two widths."""
    sizes = by_method.loc[_networks(by_method)].dropna(axis=1, how="all")
    if not len(sizes.columns):
        return None
    n = sizes.columns.max()
    scores = sizes[n].dropna()
    widths = {m: units_of(m, setting, d) for m in scores.index}
    if len(widths) < 2:
        return None
    widest = scores[max(widths, key=lambda m: widths[m])]
    enough = min(u for m, u in widths.items() if scores[m] >= widest - CLOSE)
    gap = bayes_rates()[setting, d] - float(widest)
    return (setting, d, int(n), enough, enough / d, enough / 2**d, gap)


def crossing(x, y, level: float) -> float | None:
    """Return the x from which y stays at or below a level; None if there is none.

    Between two points y is a line in log x.

    >>> crossing([1.0, 10.0, 100.0], [0.3, 0.2, 0.0], 0.1).__round__(3)
    31.623
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    above = np.flatnonzero(y > level)
    if not len(above):
        return float(x[0])
    k = above[-1]
    if k == len(y) - 1:
        return None
    share = (y[k] - level) / (y[k] - y[k + 1])
    return float(np.exp(np.log(x[k]) + share * (np.log(x[k + 1]) - np.log(x[k]))))


def interpolated(x, y, at: float) -> float | None:
    """Return y at a point, by lines in log x; None outside the points."""
    if not x[0] <= at <= x[-1]:
        return None
    return float(np.interp(np.log(at), np.log(x), y))


def markdown(found: list[Finding]) -> str:
    """Return findings as Markdown."""
    parts = []
    for finding in found:
        lines = [f"### {finding.title}", "", finding.text, ""]
        lines.append("| " + " | ".join(finding.columns) + " |")
        lines.append("|" + "---|" * len(finding.columns))
        lines += ["| " + " | ".join(map(shown, row)) + " |" for row in finding.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def shown(value: Any) -> str:
    """Return a value for people.

    >>> shown(18750), shown(0.12346), shown(None)
    ('18,750', '0.1235', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _number(value: Any) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _settings(median: Any) -> list[str]:
    there = set(median.index.get_level_values("setting"))
    return [setting for setting in TITLES if setting in there]


def _networks(names) -> list[str]:
    return [m for m in names.index if is_width(m)]
