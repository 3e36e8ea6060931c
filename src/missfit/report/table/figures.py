"""Figures of the report on a table: data in, a matplotlib Figure out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison, Diagnosis
from missfit.study.figures.panels import plain

OURS, RIVAL, CHOSEN = "#2b6cb0", "#8a94a0", "#c05621"
MOST_VARIABLES = 40
MOST_PATTERNS = 25


def _figure(width: float, height: float, **options) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    fig = Figure(figsize=(width, height), layout="constrained")
    ax = fig.subplots(**options)
    for one in np.ravel(np.asarray(ax, dtype=object)):
        one.spines[["top", "right"]].set_visible(False)
    return fig, ax


def scores(comparison: Comparison) -> Any:
    """Draw R2 of every trial with its interval, the best on top."""
    found = sorted(comparison.scores.items(), key=lambda pair: pair[1].r2)
    fig, ax = _figure(7.2, 0.8 + 0.3 * len(found))
    rivals = {trial.name for trial in comparison.trials if trial.candidate.rival}
    for k, (name, score) in enumerate(found):
        colour = RIVAL if name in rivals else OURS
        colour = CHOSEN if name == comparison.recommended else colour
        ax.plot([score.low, score.high], [k, k], color=colour, lw=2.5)
        ax.plot(score.r2, k, "o", color=colour)
    best = found[-1][1]
    low = min(score.low for _, score in found)
    # one that failed must not squeeze the others together
    left = max(low, best.r2 - 6 * max(best.high - best.low, 0.03))
    ax.set_xlim(left - 0.01, best.high + 0.01)
    for k, (_, score) in enumerate(found):
        if score.r2 < left:
            ax.annotate(f"◀ {score.r2:.2f}", (left, k), va="center", fontsize=8)
    ax.set_yticks(range(len(found)), [plain(name) for name, _ in found])
    ax.set_ylim(-0.6, len(found) - 0.4)
    ax.set_xlabel("cross-validated R2, with 95 % interval")
    ax.grid(axis="x", alpha=0.3)
    return fig


def missing_rates(comparison: Comparison) -> Any:
    """Draw the share of the rows in which each variable is missing."""
    rate = comparison.mask.mean(axis=0)
    order = np.argsort(rate, kind="stable")[-MOST_VARIABLES:]
    fig, ax = _figure(6.4, 0.9 + 0.2 * len(order))
    ax.barh(range(len(order)), rate[order], color=OURS)
    ax.set_yticks(range(len(order)), [plain(comparison.names[j]) for j in order])
    ax.set(xlim=(0, 1), ylim=(-0.6, len(order) - 0.4), xlabel="share of rows missing")
    ax.tick_params(labelsize=8)
    return fig


def pattern_matrix(comparison: Comparison) -> Any:
    """Draw the most frequent patterns: which variables are missing together."""
    groups = comparison.patterns
    top = np.argsort(-groups.n_rows, kind="stable")[:MOST_PATTERNS]
    rate = comparison.mask.mean(axis=0)
    shown = np.argsort(-rate, kind="stable")[:MOST_VARIABLES]
    shown = np.sort(shown[rate[shown] > 0]) if (rate > 0).any() else shown[:1]
    fig, ax = _figure(2.4 + 0.2 * len(shown), 1.9 + 0.19 * len(top))
    ax.pcolormesh(
        groups.patterns[np.ix_(top, shown)],
        cmap=_two_colours(),
        vmin=0,
        vmax=1,
        edgecolors="#9aa4af",
        linewidth=0.3,
    )
    ax.invert_yaxis()
    names = [plain(comparison.names[j], 18) for j in shown]
    ax.set_xticks(np.arange(len(shown)) + 0.5, names, rotation=90, fontsize=8)
    counts = [f"{n:,} rows" for n in groups.n_rows[top]]
    ax.set_yticks(np.arange(len(top)) + 0.5, counts, fontsize=8)
    ax.tick_params(length=0)
    return fig


def _two_colours() -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap(["#dbe4ee", CHOSEN])


def co_missing(comparison: Comparison) -> Any | None:
    """Draw the correlations of the masks; None with fewer than two that vary."""
    rate = comparison.mask.mean(axis=0)
    varied = np.flatnonzero((rate > 0) & (rate < 1))
    varied = np.sort(varied[np.argsort(-rate[varied], kind="stable")][:MOST_VARIABLES])
    if len(varied) < 2:
        return None
    size = 1.9 + 0.2 * len(varied)
    fig, ax = _figure(size + 0.8, size)
    image = ax.pcolormesh(
        np.corrcoef(comparison.mask[:, varied].T), cmap="RdBu_r", vmin=-1, vmax=1
    )
    names = [plain(comparison.names[j], 18) for j in varied]
    middle = np.arange(len(varied)) + 0.5
    ax.set_xticks(middle, names, rotation=90, fontsize=8)
    ax.set_yticks(middle, names, fontsize=8)
    ax.invert_yaxis()
    ax.tick_params(length=0)
    fig.colorbar(image, ax=ax, label="correlation of being missing", shrink=0.8)
    return fig


def errors_by_count(diagnosis: Diagnosis, names: Sequence[str], chosen: str) -> Any:
    """Draw RMSE of some trials against the number of missing variables."""
    groups = diagnosis.by_count
    fig, ax = _figure(6.6, 3.4)
    palette = ["#2f855a", "#6b46c1", "#8a94a0", "#2b6cb0"]
    for k, name in enumerate(names):
        colour = CHOSEN if name == chosen else palette[k % len(palette)]
        ax.plot(
            range(len(groups)),
            [group.rmse[name] for group in groups],
            "o-",
            color=colour,
            lw=2.4 if name == chosen else 1.4,
            label=plain(name),
        )
    labels = [f"{group.label}\n{group.n_rows:,} rows" for group in groups]
    ax.set_xticks(range(len(groups)), labels, fontsize=8)
    ax.set(xlabel="variables missing in the row", ylabel="RMSE", ylim=(0, None))
    ax.legend(frameon=False, fontsize=8)
    return fig


def coverage(diagnosis: Diagnosis) -> Any:
    """Draw actual against asked coverage, and coverage by the number missing."""
    fig, (left, right) = _figure(7.6, 3.2, ncols=2)
    asked, actual = np.array(diagnosis.coverage).T
    left.plot([0.4, 1], [0.4, 1], color=RIVAL, lw=1)
    left.plot(asked, actual, "o-", color=CHOSEN)
    left.set(xlabel="coverage asked", ylabel="coverage on new rows")
    groups = diagnosis.coverage_by_count
    share = np.array([group[2] for group in groups])
    n_rows = np.array([group[1] for group in groups])
    error = 1.96 * np.sqrt(0.09 / n_rows)
    right.axhline(0.9, color=RIVAL, lw=1)
    right.errorbar(range(len(groups)), share, error, fmt="o", color=CHOSEN)
    right.set_xticks(range(len(groups)), [group[0] for group in groups], fontsize=8)
    right.set(xlabel="variables missing", ylabel="coverage, 90 % asked")
    right.set_ylim(min(0.7, share.min() - 0.05), 1.02)
    return fig


def learning_curve(diagnosis: Diagnosis) -> Any:
    """Draw R2 against the number of training rows."""
    fig, ax = _figure(6.0, 3.2)
    curve = diagnosis.curve
    n_rows, r2, error = np.array([(p.n_rows, p.r2, p.error) for p in curve]).T
    ax.errorbar(n_rows, r2, 1.96 * error, fmt="o-", color=CHOSEN, capsize=3)
    ax.set_xscale("log")
    ax.set_xticks(n_rows, [f"{p.n_rows:,}" for p in curve], fontsize=8)
    ax.set_xticks([], minor=True)
    ax.set(xlabel="training rows", ylabel="R2 on new rows")
    return fig


def worth(pairs: Sequence[tuple[str, float]]) -> Any:
    """Draw how much of the error would be saved by always measuring a variable."""
    top: NDArray = np.array([value for _, value in pairs[:15]])[::-1]
    names = [plain(name) for name, _ in pairs[:15]][::-1]
    fig, ax = _figure(6.4, 0.9 + 0.24 * len(top))
    ax.barh(range(len(top)), 100 * top, color=OURS)
    ax.set_yticks(range(len(top)), names, fontsize=8)
    ax.set_ylim(-0.6, len(top) - 0.4)
    ax.set_xlabel("% of the mean squared error saved")
    return fig
