"""Figures of predicted probabilities: whether they come true, and the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.comparison import Comparison
from missfit.comparison.calibration import Bins, Calibration
from missfit.report.table.figures import CHOSEN, HALF, OURS, RIVAL, empty_figure
from missfit.study.figures.panels import plain

# from few to many variables missing; they differ in lightness too
GROUPS = ("#2b6cb0", "#2f855a", "#c05621", "#6b46c1")
OTHERS = ("#2b6cb0", "#2f855a", "#6b46c1")
MOST_POINTS = 150  # of a ROC curve: more are not seen


def reliability_diagram(bins: Bins, share: NDArray[np.float64], label: str) -> Any:
    """Draw what came true against the probability, and how often each was given."""
    fig, (ax, below) = empty_figure(
        HALF, 4.6, nrows=2, sharex=True, height_ratios=[4, 1]
    )
    _diagonal(ax)
    ax.errorbar(
        bins.predicted, bins.actual, 1.96 * bins.error, fmt="o-", color=CHOSEN,
        ms=4.5, capsize=2.5,
    )  # fmt: skip
    ax.set(ylim=(-0.02, 1.02), ylabel="share that came true")
    below.hist(share, np.linspace(0, 1, 31), color=OURS, alpha=0.45)
    below.set(xlim=(-0.02, 1.02), xlabel=label, ylabel="rows")
    return fig


def reliability_by_count(groups: Sequence[Calibration], label: str) -> Any:
    """Draw what came true against the probability, by the number missing."""
    fig, ax = empty_figure(HALF, 4.6)
    _diagonal(ax)
    for group, colour in zip(groups, GROUPS, strict=False):
        ax.errorbar(
            group.bins.predicted,
            group.bins.actual,
            1.96 * group.bins.error,
            fmt="o-",
            color=colour,
            ms=4,
            lw=1.4,
            elinewidth=0.8,
            capsize=2,
            label=f"{group.label} missing ({group.n_rows:,} rows)",
        )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set(xlabel=label, ylabel="share that came true")
    ax.legend(frameon=False, loc="upper left", fontsize=8)
    return fig


def _diagonal(ax: Any) -> None:
    ax.plot([0, 1], [0, 1], color=RIVAL, lw=1.2, ls=(0, (4, 3)))


def roc_points(
    score: NDArray[np.float64], positive: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the false and the true positive rates, thinned to what can be seen."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)  # of rows with equal scores
    found, taken = (np.cumsum(one[order])[last] for one in (positive, ~positive))
    true, false = (np.append(0.0, one / max(1, one[-1])) for one in (found, taken))
    kept = np.unique(np.linspace(0, len(true) - 1, MOST_POINTS).astype(int))
    return false[kept], true[kept]


def roc(comparison: Comparison, names: Sequence[str]) -> Any:
    """Draw the ROC curves of some trials for the second of two classes."""
    fig, ax = empty_figure(HALF, 4.6)
    _diagonal(ax)
    rows = comparison.is_tested
    positive = comparison.y[rows] == 1
    palette = iter(OTHERS)
    for name in names:
        chosen = name == comparison.recommended
        shares = comparison.trial(name).predictions[rows]
        auc = comparison.scores[name].auc
        ax.plot(
            *roc_points(shares[:, 1], positive),
            color=CHOSEN if chosen else next(palette),
            lw=2.2 if chosen else 1.2,
            label=f"{plain(name)} ({auc:.3f})",
        )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set(xlabel="share of the others taken for it", ylabel="share of it found")
    ax.legend(frameon=False, loc="lower right", fontsize=8)
    return fig
