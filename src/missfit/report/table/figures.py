"""Figures of the report on a table: data in, a matplotlib Figure out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison, Diagnosis
from missfit.report.page import number
from missfit.study.figures.panels import plain

WIDE, HALF = 9.2, 4.8  # inches: the width of the page, and of half of it
OURS, RIVAL, CHOSEN = "#2b6cb0", "#8a94a0", "#c05621"
OBSERVED = "#e4eaf1"
SLANT: dict[str, Any] = {"rotation": 45, "ha": "right"}
MOST_VARIABLES = 25
MOST_TOGETHER = 20  # names on both sides of a figure of half the width
MOST_PATTERNS = 25


def empty_figure(width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """Return a figure of a size in inches, and its axes, with no box around them."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    ax = fig.subplots(**options)
    for one in np.ravel(np.asarray(ax, dtype=object)):
        one.spines[["top", "right"]].set_visible(False)
    return fig, ax


def write_numbers(*axes: Any, most: int = 6) -> None:
    """Write the numbers at axes in full, 200,000 and not 2e5, and few enough."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(most))
        axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def both(draw: Callable[[float], Any]) -> tuple[Any, Any]:
    """Return what is drawn for a wide page, and for a phone."""
    return draw(WIDE), draw(HALF)


def scores(comparison: Comparison, width: float = WIDE) -> Any:
    """Draw the score of every trial with its interval, the best on top."""
    found = sorted(comparison.scores.items(), key=lambda pair: -pair[1].behind)
    fig, ax = empty_figure(width, 0.8 + 0.28 * len(found))
    rivals = {trial.name for trial in comparison.trials if trial.candidate.rival}
    for k, (name, score) in enumerate(found):
        colour = RIVAL if name in rivals else OURS
        colour = CHOSEN if name == comparison.recommended else colour
        ax.plot([score.low, score.high], [k, k], color=colour, lw=2.5)
        ax.plot(score.value, k, "o", color=colour)
    low, high = _shown_scores(comparison, [score for _, score in found])
    ax.set_xlim(low - 0.01, high + 0.01)
    for k, (_, score) in enumerate(found):
        if score.value < low:
            ax.annotate(f"◀ {score.value:.2f}", (low, k), va="center")
        if score.value > high:
            ax.annotate(f"{score.value:.2f} ▶", (high, k), va="center", ha="right")
    ax.set_yticks(range(len(found)), [plain(name) for name, _ in found])
    ax.set_ylim(-0.6, len(found) - 0.4)
    score = comparison.task.words.score
    ax.set_xlabel(f"cross-validated {score}, with 95 % interval")
    ax.grid(axis="x", alpha=0.3)
    return fig


def _shown_scores(comparison: Comparison, found: Sequence[Any]) -> tuple[float, float]:
    """Return the ends of the axis: one that failed must not squeeze the others."""
    best = found[-1]
    room = 6 * max(best.high - best.low, 0.03)
    if comparison.task.higher_is_better:
        low = min(score.low for score in found)
        return max(low, best.value - room), best.high
    high = max(score.high for score in found)
    return best.low, min(high, best.value + room)


def missing_rates(comparison: Comparison) -> Any:
    """Draw the share of the rows in which each variable is missing."""
    rate = comparison.mask.mean(axis=0)
    order = np.argsort(rate, kind="stable")[-MOST_VARIABLES:]
    fig, ax = empty_figure(HALF, 0.9 + 0.19 * len(order))
    ax.barh(range(len(order)), rate[order], color=OURS)
    ax.set_yticks(range(len(order)), [plain(comparison.names[j]) for j in order])
    ax.set(xlim=(0, 1), ylim=(-0.6, len(order) - 0.4), xlabel="share of rows missing")
    return fig


def frequent_patterns(comparison: Comparison) -> NDArray[np.intp]:
    """Return the most frequent patterns, without those of one row."""
    n_rows = comparison.patterns.n_rows
    order = np.argsort(-n_rows, kind="stable")[:MOST_PATTERNS]
    return order[n_rows[order] > 1]


def pattern_matrix(comparison: Comparison) -> Any:
    """Draw the most frequent patterns: which variables are missing together."""
    groups = comparison.patterns
    top = frequent_patterns(comparison)
    rate = comparison.mask.mean(axis=0)
    shown = np.argsort(-rate, kind="stable")[:MOST_VARIABLES]
    shown = np.sort(shown[rate[shown] > 0]) if (rate > 0).any() else shown[:1]
    fig, ax = empty_figure(WIDE, 1.7 + 0.17 * len(top))
    ax.fill_between([0, len(shown)], len(top), color=OBSERVED, lw=0)
    for k, p in enumerate(top):
        # one shape for neighbours that are missing together: a small page
        ends = np.diff(groups.patterns[p, shown].astype(int), prepend=0, append=0)
        starts, stops = np.flatnonzero(ends == 1), np.flatnonzero(ends == -1)
        spans = list(zip(starts.tolist(), (stops - starts).tolist(), strict=True))
        ax.broken_barh(spans, (k, 1), color=OURS, lw=0)
    ax.set(xlim=(0, len(shown)), ylim=(len(top), 0))
    ax.vlines(range(1, len(shown)), 0, len(top), color="#ffffff", lw=0.8)
    ax.hlines(range(1, len(top)), 0, len(shown), color="#ffffff", lw=0.8)
    ax.spines[:].set_visible(False)
    names = [plain(comparison.names[j], 18) for j in shown]
    ax.set_xticks(np.arange(len(shown)) + 0.5, names, rotation=90)
    counts = [f"{n:,} rows" for n in groups.n_rows[top]]
    ax.set_yticks(np.arange(len(top)) + 0.5, counts)
    ax.tick_params(length=0)
    return fig


def co_missing(comparison: Comparison) -> Any | None:
    """Draw the correlations of the masks; None with fewer than two that vary."""
    rate = comparison.mask.mean(axis=0)
    varied = np.flatnonzero((rate > 0) & (rate < 1))
    varied = np.sort(varied[np.argsort(-rate[varied], kind="stable")][:MOST_TOGETHER])
    if len(varied) < 2:
        return None
    size = min(HALF - 0.8, 1.9 + 0.2 * len(varied))
    fig, ax = empty_figure(HALF, size)
    image = ax.pcolormesh(
        np.corrcoef(comparison.mask[:, varied].T), cmap=_two_sides(), vmin=-1, vmax=1
    )
    names = [plain(comparison.names[j], 18) for j in varied]
    middle = np.arange(len(varied)) + 0.5
    small = 9 if len(varied) <= 12 else 7
    ax.set_xticks(middle, names, rotation=90, fontsize=small)
    ax.set_yticks(middle, names, fontsize=small)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    fig.colorbar(image, ax=ax, label="correlation of being missing", shrink=0.8)
    return fig


def _two_sides() -> Any:
    """Return colours from blue over nothing to orange, for light and dark pages."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    ends = [to_rgba(OURS), to_rgba(OURS, 0.0), to_rgba(CHOSEN, 0.0), to_rgba(CHOSEN)]
    pairs = list(zip((0.0, 0.5, 0.5, 1.0), ends, strict=True))
    return LinearSegmentedColormap.from_list("two sides", pairs)


def errors_by_count(
    comparison: Comparison,
    diagnosis: Diagnosis,
    names: Sequence[str],
    width: float = WIDE,
) -> Any:
    """Draw the errors of some trials against the number of missing variables."""
    chosen = comparison.recommended
    groups = diagnosis.by_count
    fig, ax = empty_figure(width, 3.4)
    palette = ["#2f855a", "#6b46c1", "#8a94a0", "#2b6cb0"]
    for k, name in enumerate(names):
        colour = CHOSEN if name == chosen else palette[k % len(palette)]
        ax.plot(
            range(len(groups)),
            [group.errors[name] for group in groups],
            "o-",
            color=colour,
            lw=2.4 if name == chosen else 1.4,
            label=plain(name),
        )
    mine = [group.errors[chosen] for group in groups]
    error = [1.96 * group.error for group in groups]
    ax.errorbar(range(len(groups)), mine, error, fmt="none", ecolor=CHOSEN, capsize=3)
    labels = [f"{group.label}\n{group.n_rows:,} rows" for group in groups]
    slant = {}
    if len(groups) > width:  # an inch for each of these labels
        labels, slant = [group.label for group in groups], SLANT
    ax.set_xticks(range(len(groups)), labels, **slant)
    error_name = comparison.task.words.error
    ax.set(xlabel="variables missing in the row", ylabel=error_name, ylim=(0, None))
    write_numbers(ax.yaxis)
    ax.legend(frameon=False)
    return fig


def coverage(diagnosis: Diagnosis) -> Any:
    """Draw the actual coverage against the coverage that was asked for."""
    fig, ax = empty_figure(HALF, 3.6)
    asked, actual, error = np.array(diagnosis.coverage).T
    ax.plot([0.4, 1], [0.4, 1], color=RIVAL, lw=1.2, ls=(0, (4, 3)))
    ax.errorbar(asked, actual, 1.96 * error, fmt="o-", color=CHOSEN, capsize=2.5)
    ax.set(xlabel="coverage asked", ylabel="coverage on new rows")
    return fig


def coverage_by_count(diagnosis: Diagnosis) -> Any:
    """Draw the coverage of 90 % intervals by the number of missing variables."""
    fig, ax = empty_figure(HALF, 3.6)
    groups = diagnosis.coverage_by_count
    share = np.array([group[2] for group in groups])
    error = 1.96 * np.array([group[4] for group in groups])
    ax.axhline(0.9, color=RIVAL, lw=1.2, ls=(0, (4, 3)))
    ax.errorbar(range(len(groups)), share, error, fmt="o", color=CHOSEN, capsize=2.5)
    slant = SLANT if len(groups) > 6 else {}
    ax.set_xticks(range(len(groups)), [group[0] for group in groups], **slant)
    ax.set(xlabel="variables missing", ylabel="coverage, 90 % asked")
    ax.set_ylim(min(0.7, share.min() - 0.05), 1.02)
    ax.margins(x=0.12)
    return fig


def learning_curve(score: str, diagnosis: Diagnosis, width: float = WIDE) -> Any:
    """Draw the score of this name against the number of training rows."""
    fig, ax = empty_figure(width, 3.2)
    curve = diagnosis.curve
    n_rows, value, error = np.array([(p.n_rows, p.score, p.error) for p in curve]).T
    ax.errorbar(n_rows, value, 1.96 * error, fmt="o-", color=CHOSEN, capsize=3)
    ax.set_xscale("log")
    ax.set_xticks(n_rows, [f"{p.n_rows:,}" for p in curve])
    ax.set_xticks([], minor=True)
    ax.set(xlabel="training rows", ylabel=f"{score} on new rows")
    return fig


def bars(
    names: Sequence[str],
    values: NDArray[np.float64],
    errors: NDArray[np.float64],
    label: str,
    width: float = WIDE,
) -> Any:
    """Draw a value for each name, the first on top, with 95 % intervals.

    There are no intervals where all errors are 0: what follows from a law has none.
    """
    fig, ax = empty_figure(width, 0.9 + 0.26 * len(names))
    place = np.arange(len(names))[::-1]
    ax.barh(place, values, color=OURS, alpha=0.35, height=0.7)
    if errors.any():
        ax.errorbar(
            values, place, xerr=1.96 * errors, fmt="o", color=OURS, ms=4, capsize=2
        )
    ax.axvline(0, color=RIVAL, lw=1)
    ax.set_yticks(place, [plain(name) for name in names])
    ax.set(ylim=(-0.7, len(names) - 0.3), xlabel=label)
    ax.grid(axis="x", alpha=0.3)
    return fig
