"""Missing patterns: which features are missing together, and in which rows.

A pattern is a bool vector of length d, True where a feature is missing. Patterns are
compared through packed bits, so that nothing here but `all_patterns` allocates 2^d
of anything.
Tables of patterns are kept in lexicographic order with feature 0 first, which is the
order of the integers that the paper's authors number their patterns by.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_SUBSETS = 2**20
DIGIT_BITS = 16  # numpy sorts 16-bit integers by radix: linear in the rows


@dataclass(frozen=True, slots=True)
class PatternGroups:
    """The rows of a mask, grouped by pattern.

    Attributes
    ----------
    patterns : bool ndarray of shape (P, d)
        The distinct patterns, in lexicographic order.
    order : int ndarray of shape (n,)
        The rows sorted by pattern; rows of one pattern keep their order.
    starts : int ndarray of shape (P + 1,)
        ``order[starts[p]:starts[p + 1]]`` are the rows of pattern ``p``.
    """

    patterns: NDArray[np.bool_]
    order: NDArray[np.intp]
    starts: NDArray[np.intp]

    @property
    def n_rows(self) -> NDArray[np.intp]:
        """Number of rows of each pattern."""
        return np.diff(self.starts)

    def pattern_of_row(self) -> NDArray[np.intp]:
        """Index into ``patterns`` of each row of the mask."""
        index = np.empty(len(self.order), dtype=np.intp)
        index[self.order] = np.repeat(np.arange(len(self.patterns)), self.n_rows)
        return index


def group_rows(mask: NDArray[np.bool_]) -> PatternGroups:
    """Group the rows of a mask by missing pattern.

    The cost is one radix sort for every 16 features, linear in the rows.

    Parameters
    ----------
    mask : bool ndarray of shape (n, d)
        True where a value is missing.

    Examples
    --------
    >>> groups = group_rows(np.array([[0, 1], [0, 0], [0, 1]], dtype=bool))
    >>> groups.patterns.tolist()
    [[False, False], [False, True]]
    >>> groups.n_rows.tolist(), groups.order.tolist(), groups.pattern_of_row().tolist()
    ([1, 2], [1, 0, 2], [1, 0, 1])
    """
    if len(mask) == 1:  # predicted alone, it would spend most of its time below
        return PatternGroups(mask, np.zeros(1, dtype=np.intp), np.array([0, 1]))
    digits = _digits(mask)
    order = np.argsort(digits[-1], kind="stable")
    for digit in digits[-2::-1]:  # least significant first, each sort stable
        order = order[np.argsort(digit[order], kind="stable")]
    is_first = np.ones(len(mask), dtype=bool)
    if len(mask):
        is_first[1:] = False
    for digit in digits:
        ordered = digit[order]
        is_first[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(is_first)
    return PatternGroups(mask[order[first]], order, np.append(first, len(mask)))


def variable_mask(
    X: NDArray[np.float64], variables: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return the mask of the variables of a table, one bit each.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        NaN where missing. The columns of one variable are missing together.
    variables : int ndarray of shape (k,)
        The variable of each column, in order.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan, np.nan], [np.nan, 0.0, 1.0]])
    >>> variable_mask(X, np.array([0, 1, 1])).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    first = np.unique(variables, return_index=True)[1]
    return np.isnan(X[:, first])


def pattern_keys(patterns: NDArray[np.bool_]) -> NDArray[np.bytes_]:
    r"""Packed bits of each pattern, as byte strings that sort like the patterns.

    >>> pattern_keys(np.array([[1, 0], [0, 1]], dtype=bool)).tolist()
    [b'\x80', b'@']
    """
    packed = np.packbits(np.ascontiguousarray(patterns), axis=1)
    packed = np.ascontiguousarray(packed)
    # numpy strips trailing zero bytes of a string, but all have one width: distinct
    # patterns stay distinct.
    return packed.view(f"S{packed.shape[1]}")[:, 0]


def unpacked_patterns(keys: Iterable[bytes], n_features: int) -> NDArray[np.bool_]:
    r"""Return the patterns of keys, one bit for each of so many features.

    >>> unpacked_patterns([b"", b"\x80"], 2).astype(int).tolist()
    [[0, 0], [1, 0]]
    """
    width = -(-n_features // 8)
    packed = b"".join(key.ljust(width, b"\0") for key in keys)
    bits = np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)
    return np.unpackbits(bits, axis=1, count=n_features).astype(bool)


def find_keys(table: NDArray[np.bytes_], keys: NDArray[np.bytes_]) -> NDArray[np.intp]:
    """Position of each key in a sorted table of keys, -1 where it is absent.

    >>> find_keys(np.array([b"a", b"c"]), np.array([b"c", b"b"])).tolist()
    [1, -1]
    """
    if not len(table):
        return np.full(len(keys), -1, dtype=np.intp)
    position = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[position] == keys, position, -1)


def subsets_up_to(n_features: int, order: int) -> NDArray[np.bool_]:
    """All subsets of at most ``order`` features, in lexicographic order.

    >>> subsets_up_to(3, 1).astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    subsets = np.zeros((1, n_features), dtype=bool)
    for j in range(n_features - 1, -1, -1):  # add feature j to those that have room
        more = subsets[subsets.sum(axis=1) < order]
        more[:, j] = True
        subsets = np.concatenate([subsets, more])
        if len(subsets) > MAX_SUBSETS:
            raise ValueError(
                f"more than {MAX_SUBSETS:,} subsets of at most {order} of {n_features} "
                "features; choose a lower order."
            )
    return subsets


def subsets_inside(
    subsets: NDArray[np.bool_], patterns: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """1 where all features of subset s are missing in pattern p, shape (P, n_subsets).

    The products prod_{k in S} M_k of Proposition 4.2.
    """
    outside = (~patterns).astype(float) @ subsets.T
    return (outside == 0).astype(float)


def format_pattern(pattern: NDArray[np.bool_]) -> str:
    """Write a pattern for an error message: the missing features, by index.

    >>> format_pattern(np.array([True, False, True]))
    'features 0, 2 of 3 missing'
    """
    missing = np.flatnonzero(pattern)
    if not len(missing):
        return f"none of {len(pattern)} features missing"
    shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
    return f"features {shown} of {len(pattern)} missing"


def _digits(mask: NDArray[np.bool_]) -> list[NDArray[np.uint16]]:
    """Return the mask's rows as numbers in base 2^16, most significant digit first."""
    bits = np.ascontiguousarray(mask).view(np.uint8)
    digits = []
    for start in range(0, mask.shape[1], DIGIT_BITS):
        columns = bits[:, start : start + DIGIT_BITS].T
        digit = np.zeros(len(mask), dtype=np.uint16)
        for shift, column in enumerate(columns[::-1]):
            digit |= column.astype(np.uint16) << np.uint16(shift)
        digits.append(digit)
    return digits


def all_patterns(n_features: int) -> NDArray[np.bool_]:
    """All 2^d patterns in lexicographic order: row i has the binary digits of i.

    >>> all_patterns(2).astype(int).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    index = np.arange(2**n_features)[:, None]
    return (index >> np.arange(n_features - 1, -1, -1)) & 1 == 1
