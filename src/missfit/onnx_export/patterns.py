"""Tables by missing pattern in a graph: the row's mask as a number, then a lookup."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.moments.maps import AffineMaps
from missfit.onnx_export.graph import Value
from missfit.onnx_export.problems import ExportError
from missfit.onnx_export.rows import Rows

WORD = 62  # bits of a mask in one integer of 64 bits, whose sign stays out of it
MOST_NUMBERS = 4_000_000  # in one table: 32 MB of a file


class Affine(NamedTuple):
    """Values of maps and, of each row, whether its pattern has one."""

    value: Value  # (n, t)
    known: Value  # (n, 1), truth values


def pattern_number(rows: Rows, patterns: NDArray[np.bool_]) -> Value:
    """Return the place of each row's pattern among some, or their number if absent.

    The bits of a mask are read as one integer, of which a table knows the place. A
    wider mask is several integers: the place of the first, and then of the pair of it
    and the next.
    """
    g = rows.graph
    if not len(patterns):
        return rows.repeated(0.0).as_type("int64").reshaped(-1)
    bits = rows.missing.as_type("int64")
    place, known = None, np.zeros(len(patterns), dtype=np.int64)
    for start in range(0, rows.n_features, WORD):
        columns = np.arange(start, min(start + WORD, rows.n_features))
        power = np.int64(1) << np.arange(len(columns))
        word = (bits.columns(columns) @ power[:, None]).reshaped(-1)
        own = patterns[:, columns] @ power
        distinct = np.unique(own)
        found = g.table(word, _numbered(distinct), len(distinct))
        if place is None:
            place, known = found, np.searchsorted(distinct, own)
            continue
        base = len(distinct) + 1
        pair = known * base + np.searchsorted(distinct, own)
        pairs = np.unique(pair)
        both = place * np.array(base) + found
        place = g.table(both, _numbered(pairs), len(pairs))
        known = np.searchsorted(pairs, pair)
    assert place is not None  # there is at least one feature
    order = np.append(np.argsort(known), len(patterns))
    return g.node("Gather", order, place)


def _numbered(keys: NDArray[np.int64]) -> dict[int, int]:
    return {int(key): k for k, key in enumerate(keys)}


def of_pattern(
    rows: Rows, patterns: NDArray[np.bool_], table: NDArray, otherwise: NDArray
) -> Value:
    """Return what a table says of each row's pattern, shape (n, ...)."""
    if (len(patterns) + 1) * np.asarray(otherwise).size > MOST_NUMBERS:
        raise ExportError(
            f"the model holds {len(patterns):,} missing patterns with a map of their "
            f"own, {table.size:,} numbers, and a graph takes at most {MOST_NUMBERS:,}. "
            "Export a predictor whose size does not grow with the patterns, such as "
            "ConditionalImputedLR, or give ExpandedLR a larger min_rows and a fallback."
        )
    whole = np.concatenate([table, np.asarray(otherwise)[None]])
    return rows.graph.node("Gather", whole, pattern_number(rows, patterns), axis=0)


def evaluated(rows: Rows, maps: AffineMaps) -> Affine:
    """Return the values of maps of shape (P, t); 0 for patterns that have none."""
    t, d = maps.coef.shape[1:]
    numbers = np.concatenate([maps.coef, maps.intercept[:, :, None]], axis=2)
    own = of_pattern(rows, maps.patterns, numbers, np.zeros((t, d + 1)))
    coef, intercept = own.split(d, 1)
    value = (coef * rows.filled().reshaped(0, 1, d)).summed(d)
    flags = np.ones((len(maps.patterns), 1), dtype=bool)
    known = of_pattern(rows, maps.patterns, flags, np.zeros(1, dtype=bool))
    return Affine(value + intercept.reshaped(0, t), known)
