"""Figures of the predictions: beside the actual values, and how they spread."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.report.page import number
from missfit.report.table.figures import (
    CHOSEN,
    HALF,
    OURS,
    RIVAL,
    empty_figure,
    write_numbers,
)
from missfit.study.figures.panels import plain

FEW = 400  # rows up to which each one is a dot; more would hide each other
MANY = 2_000  # rows from which the most extreme 1 in 500 may lie outside
CELLS = 34  # hexagons across: 600 of them at most, 60 kB of SVG
BINS = 40


def shown_range(
    y: NDArray[np.float64], guess: NDArray[np.float64]
) -> tuple[float, float]:
    """Return the ends of the axes: of all values, without the extremes of many rows."""
    both = np.concatenate([y, guess])
    tail = 0.001 if len(y) > MANY else 0.0
    low, high = np.quantile(both, [tail, 1 - tail])
    pad = 0.03 * (high - low) or 1.0
    return float(low - pad), float(high + pad)


def predicted_and_actual(y: NDArray[np.float64], guess: NDArray[np.float64]) -> Any:
    """Draw the actual values against the predictions, with the line of equals."""
    fig, ax = empty_figure(HALF, 4.4)
    low, high = shown_range(y, guess)
    if len(y) <= FEW:
        ax.plot(guess, y, "o", color=OURS, alpha=0.45, ms=4, mew=0)
    else:
        cells = ax.hexbin(
            guess,
            y,
            gridsize=CELLS,
            extent=(low, high, low, high),
            mincnt=1,
            bins="log",
            cmap=_shades(OURS),
            linewidths=0,
        )
        bar = fig.colorbar(cells, ax=ax, label="rows in a cell", shrink=0.75, aspect=28)
        bar.ax.minorticks_off()
        bar.ax.yaxis.set_major_formatter(lambda value, _: number(value))
    ax.plot([low, high], [low, high], color=RIVAL, lw=1.2, ls=(0, (4, 3)))
    middle, mean, error = tenths(y, guess)
    ax.errorbar(middle, mean, 1.96 * error, fmt="o", color=CHOSEN, ms=4.5, capsize=2.5)
    ax.set(xlim=(low, high), ylim=(low, high), xlabel="predicted", ylabel="actual")
    ax.set_aspect("equal")
    write_numbers(ax.xaxis, ax.yaxis, most=5)
    return fig


def tenths(y: NDArray[np.float64], guess: NDArray[np.float64]) -> Any:
    """Return the means of predicted and actual by tenths of the predictions.

    The third array holds the standard errors of the means of the actual values.
    """
    edges = np.unique(np.quantile(guess, np.linspace(0, 1, 11)))
    part = np.searchsorted(edges[1:-1], guess, side="right")
    rows = [np.flatnonzero(part == k) for k in range(max(1, len(edges) - 1))]
    rows = [some for some in rows if len(some) > 1]
    return tuple(
        np.array(
            [
                (guess[some].mean(), y[some].mean(), y[some].std() / len(some) ** 0.5)
                for some in rows
            ]
        )
        .reshape(-1, 3)
        .T
    )


def _shades(colour: str) -> Any:
    """Return one colour from thin to full, so that it suits a light and a dark page."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    ends = [to_rgba(colour, 0.12), to_rgba(colour, 1.0)]
    return LinearSegmentedColormap.from_list("shades", ends)


def bins(y: NDArray[np.float64], guess: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the edges of the bars; each holds as many of the values that y can take.

    >>> bins(np.arange(4.0), np.array([1.5])).tolist()
    [-0.5, 0.5, 1.5, 2.5, 3.5]
    """
    low, high = shown_range(y, guess)
    step = _step(y)
    if not step:
        return np.linspace(low, high, BINS + 1)
    width = step * np.ceil((high - low) / step / BINS)
    first = y[y >= low].min() - step / 2
    first -= width * np.ceil((first - low) / width)  # predictions may lie below
    return first + width * np.arange(np.ceil((high - first) / width) + 1)


def _step(y: NDArray[np.float64]) -> float:
    """Return the step between values, such as 1 or 0.5, or 0 where there is none."""
    values = np.unique(y)
    if len(values) < 2:
        return 0.0
    step = float(np.diff(values).min())
    times = values / step
    return step if abs(times - np.rint(times)).max() < 1e-6 else 0.0


def distribution(
    y: NDArray[np.float64], guess: NDArray[np.float64], target: str
) -> Any:
    """Draw the histogram of the target, and the outline of that of the predictions."""
    fig, ax = empty_figure(HALF, 3.8)
    edges = bins(y, guess)
    ax.hist(y, edges, color=OURS, alpha=0.35, label="actual")
    ax.hist(guess, edges, color=CHOSEN, histtype="step", lw=1.8, label="predicted")
    ax.set(xlabel=plain(target), ylabel="rows")
    write_numbers(ax.xaxis, ax.yaxis, most=5)
    ax.legend(frameon=False)
    return fig
