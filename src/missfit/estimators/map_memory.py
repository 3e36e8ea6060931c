"""Affine maps that a fitted predictor has computed before, kept beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from missfit.moments.maps import AffineMaps

FEW_PATTERNS = 8  # looked up one by one; more of them are quicker computed together
MOST_DOUBLES = 2**17  # 1 MB for each predictor: 5,000 patterns of 26 features


class _Memory(NamedTuple):
    """The maps of single patterns, and the attributes that they follow from."""

    attributes: tuple
    maps: dict[bytes, AffineMaps]


# Beside the predictors and not in them: `predict` changes no attribute, and neither
# pickles nor model files hold what can be computed again.
_MEMORIES: WeakKeyDictionary[Any, _Memory] = WeakKeyDictionary()


def remembered_maps(
    predictor: Any,
    patterns: NDArray[np.bool_],
    make: Callable[[NDArray[np.bool_]], AffineMaps],
) -> AffineMaps:
    """Return ``make(patterns)``; the maps of a few patterns are computed once.

    Each of a few is computed alone, so that predictions do not depend, to the last bit,
    on what was predicted before. A predictor whose attributes were set anew, as by a
    fit, remembers nothing.
    """
    if not 0 < len(patterns) <= FEW_PATTERNS:
        return make(patterns)
    known = _known_maps(predictor)
    found = []
    for pattern in patterns[:, None, :]:
        key = pattern.tobytes()
        if key not in known:
            maps = make(pattern)
            if (len(known) + 1) * maps.coef.size <= MOST_DOUBLES:
                known[key] = maps
            found.append(maps)
        else:
            found.append(known[key])
    return found[0] if len(found) == 1 else _joined(found)


def _known_maps(predictor: Any) -> dict[bytes, AffineMaps]:
    """Return the maps computed so far, an empty table after a fit."""
    attributes = tuple(vars(predictor).values())
    memory = _MEMORIES.get(predictor)
    if memory is None or not _are_same(memory.attributes, attributes):
        memory = _MEMORIES[predictor] = _Memory(attributes, {})
    return memory.maps


def _are_same(some: tuple, others: tuple) -> bool:
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(a is b for a, b in pairs)


def _joined(maps: list[AffineMaps]) -> AffineMaps:
    variances = [m.variance for m in maps if m.variance is not None]
    return AffineMaps(
        np.concatenate([m.patterns for m in maps]),
        np.concatenate([m.intercept for m in maps]),
        np.concatenate([m.coef for m in maps]),
        np.concatenate(variances) if variances else None,
    )
