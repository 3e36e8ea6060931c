"""The picture of masking curves: the probability of being missing, by the value."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special


def draw_curves(
    mean: NDArray[np.float64],
    spread: NDArray[np.float64],
    curves: tuple[NDArray[np.float64], NDArray[np.float64]],
    found: NDArray[np.bool_],
    names: list[str],
    ax: Any = None,
) -> Any:
    """Draw Phi(a_j + c_j x_j) over two standard deviations of each feature.

    Parameters
    ----------
    mean, spread : ndarray of shape (d,)
        Mean and standard deviation of each feature.
    curves : pair of ndarray of shape (d,)
        a and c; a curve whose a is infinite is not drawn.
    found : bool ndarray of shape (d,)
        Whether the feature hides itself; the curves of the others are dotted.
    names : list of str
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = _new_axes() if ax is None else ax
    bias, slope = curves
    units = np.linspace(-2, 2, 81)
    probability = special.ndtr(bias + slope * (mean + units[:, None] * spread))
    for j in np.flatnonzero(np.isfinite(bias)):
        style = "-" if found[j] else ":"
        ax.plot(units, probability[:, j], style, label=names[j])
    ax.set_xlabel("value, in standard deviations from the mean")
    ax.set_ylabel("probability of being missing")
    ax.set_ylim(0, 1)
    ax.legend(title="dotted: no sign of self-masking")
    return ax


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "plot_masking needs matplotlib, which is not installed. Run "
            'pip install "missfit[study]", or draw masking_probability yourself.'
        ) from error
    return pyplot.subplots()[1]
