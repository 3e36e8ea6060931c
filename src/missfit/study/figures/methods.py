"""Which methods a figure shows, in which colour, and how large they are."""

from __future__ import annotations

import re

from missfit.theory import n_parameters

WIDTH = re.compile(r"MLP W\d+(?:\.\d+)?")  # a method of the paper
# Linear methods in cool and warm tones of their own, networks in one tone by width.
COLOURS = {
    "ConstantImputedLR": "#1f77b4",
    "EMLR": "#ff7f0e",
    "ExpandedLR": "#2ca02c",
    "MICELR": "#d62728",
}
NETWORK_COLOURS = ("#c9b3e6", "#9467bd", "#6a3fb0")
OTHER_COLOURS = ("#e6007e", "#8c564b", "#7f7f7f", "#bcbd22", "#17becf")
SHOWN = {  # widths of the MLP in figures 1 and 3
    "mixture1": ("MLP W0.3", "MLP W1", "MLP W4"),
    "mixture3": ("MLP W0.01", "MLP W0.1", "MLP W0.5"),
    "selfmasked": ("MLP W0.3", "MLP W1", "MLP W4"),
}


def shown_methods(table, setting: str) -> list[str]:
    """Return the methods of figures 1 and 3: linear, three widths, and others."""
    there = list(table["method"].unique())
    known = [*COLOURS, *SHOWN.get(setting, ())]
    others = [m for m in there if m not in known and not _is_other_width(m, setting)]
    return [m for m in known if m in there] + sorted(others)


def _is_other_width(method: str, setting: str) -> bool:
    return setting in SHOWN and is_width(method)


def colour_of(method: str, methods: list[str]) -> str:
    """Return the colour of a method among those drawn."""
    if method in COLOURS:
        return COLOURS[method]
    widths = [m for m in methods if is_width(m)]
    if method in widths:
        place = widths.index(method) + max(0, 3 - len(widths))
        return NETWORK_COLOURS[min(place, 2)]
    others = [m for m in methods if m not in COLOURS and m not in widths]
    return OTHER_COLOURS[others.index(method) % len(OTHER_COLOURS)]


def parameters_of(method: str, setting: str, d: int) -> int:
    """Return the number of parameters of a method of the paper.

    The units of an MLP depend on the setting.

    >>> [parameters_of(m, "mixture1", 10) for m in ("ExpandedLR", "MLP W1")]
    [6144, 221]
    """
    if is_width(method):
        width = units_of(method, setting, d)
        return n_parameters("MLP", d, width=max(1, width))
    return n_parameters(method, d)


def is_width(method: str) -> bool:
    """Return whether a method is an MLP of one of the paper's widths ("MLP W0.3").

    >>> is_width("MLP W0.3"), is_width("MLP Wide")
    (True, False)
    """
    return WIDTH.fullmatch(method) is not None


def units_of(method: str, setting: str, d: int) -> int:
    """Return the hidden units of "MLP Wx": x d, or x 2^d for mixture 3.

    >>> units_of("MLP W0.3", "mixture1", 10), units_of("MLP W0.5", "mixture3", 10)
    (3, 512)
    """
    share = float(method.removeprefix("MLP W"))
    return int(share * (2**d if setting == "mixture3" else d))
