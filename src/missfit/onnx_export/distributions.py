"""The normal and the logistic distribution in a graph, with all digits of float64.

The Erf of onnxruntime has float32 alone, and its Sigmoid other last digits than scipy.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import erfcx as exact_erfcx

from missfit.onnx_export.graph import Value

# (1 + 2x) erfcx(x) is a polynomial of t = (x - CENTRE) / (x + CENTRE) for x >= 0
# (Shepherd and Laframboise 1981): at this degree it is right to 2e-15.
CENTRE, DEGREE = 3.0, 28
# Its powers are products t^i t^(6j), i < 6 and j < 5: 11 calls of pow, not 29, which
# took 8 microseconds of 23 numbers in place of 5.
LOW, HIGH = 6, 5


@functools.cache
def _coefficients() -> NDArray[np.float64]:
    """Return those of (x + 1/2) erfcx(x) / 2 at t^i t^(6j), shape (6, 5)."""
    t = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
    x = CENTRE * (1 + t) / (1 - t)
    series = chebyshev.chebfit(t, (0.5 + x) * exact_erfcx(x) / 2, DEGREE)
    by_power = np.zeros(LOW * HIGH)  # lowest first
    by_power[: DEGREE + 1] = chebyshev.cheb2poly(series)
    return by_power.reshape(HIGH, LOW).T


def half_erfcx(x: Value) -> Value:
    """Return exp(x^2) erfc(x) / 2 of values >= 0, of any shape."""
    g = x.graph
    t = (x - CENTRE) / (x + CENTRE)
    column = g.node("Unsqueeze", t, np.array([-1], dtype=np.int64))
    low = g.node("Pow", column, np.arange(float(LOW))) @ _coefficients()
    high = g.node("Pow", column, LOW * np.arange(float(HIGH)))
    return (low * high).summed(HIGH) / (x + 0.5)


def ndtr(x: Value) -> Value:
    """Return the normal distribution function Phi(x)."""
    g = x.graph
    tail = g.node("Exp", -0.5 * (x * x)) * half_erfcx(g.node("Abs", x) / np.sqrt(2.0))
    return g.where(g.node("Less", x, 0.0), tail, 1.0 - tail)


def expit(x: Value) -> Value:
    """Return the logistic distribution function 1 / (1 + exp(-x)).

    By this formula, as scipy computes it: the logit of a probability near 1 has few of
    its digits, and both sides should lose the same.
    """
    return 1.0 / (1.0 + x.graph.node("Exp", -x))


def inverse_mills(x: Value) -> Value:
    """Return phi(x) / Phi(x)."""
    g = x.graph
    u = g.node("Abs", x) / np.sqrt(2.0)
    below = half_erfcx(u)
    # erfcx(-u) = 2 exp(u^2) - erfcx(u), which overflows to a quotient of 0
    above = g.node("Exp", u * u) - below
    return 1.0 / np.sqrt(2.0 * np.pi) / g.where(g.node("Less", x, 0.0), below, above)
