"""Class indicators, from which linear predictors learn classes, of rows or chunks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from missfit.estimators.classes import (
    LabelCount,
    added_counts,
    balanced_weights,
    check_class_weight,
    classes_and_codes,
    known_codes,
    label_array,
    label_counts,
    refuse_one_class,
)
from missfit.estimators.dask_columns import dask_columns, dask_mapped, dask_parts
from missfit.moments.rows import check_weight
from missfit.tables.chunks import Chunk, is_dask, open_source


def indicators(code: NDArray[np.intp], n_classes: int) -> NDArray[np.float64]:
    """Return the indicator of the second of two classes, or one for each of more.

    >>> indicators(np.array([0, 1]), 2).tolist(), indicators(np.array([2]), 3).tolist()
    ([0.0, 1.0], [[0.0, 0.0, 1.0]])
    """
    if n_classes == 2:
        return code.astype(float)
    return (code[:, None] == np.arange(n_classes)).astype(float)


def n_indicators(n_classes: int) -> int:
    """Return how many columns `indicators` has."""
    return 1 if n_classes == 2 else n_classes


class ClassIndicators(NamedTuple):
    """Known classes and their weights, the same for every chunk of rows.

    A chunk may lack a class, or have no row of weight.
    """

    classes: NDArray
    weights: NDArray[np.float64] | None  # of the classes, None where all are 1

    @classmethod
    def of(cls, classes: NDArray, class_weight: dict | None) -> ClassIndicators:
        """Take the weights of a dict; a class that it does not name has 1."""
        check_class_weight(class_weight)
        if class_weight is None:
            return cls(classes, None)
        return cls(
            classes, compute_class_weight(class_weight, classes=classes, y=classes)
        )

    @classmethod
    def of_counts(
        cls, parts: Iterable[dict[Any, LabelCount]], class_weight: Any
    ) -> ClassIndicators:
        """Learn the classes from counts of labels, and their weights if balanced."""
        counts = added_counts(parts)
        classes, code = classes_and_codes(label_array([*counts]))
        of_weight = np.array([float(n.n_of_weight) for n in counts.values()])
        if class_weight == "balanced":
            class_weight = balanced_weights(counts)
        found = cls.of(classes, class_weight)
        if found.weights is not None:
            of_weight = of_weight * found.weights[code]
        refuse_one_class(classes, code, of_weight)
        return found

    def of_rows(
        self, y: Any, sample_weight: Any
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return the indicators of some rows, and their weights or None."""
        code = known_codes(y, self.classes)
        weight = None if self.weights is None else self.weights[code]
        if sample_weight is not None:
            own = check_weight(sample_weight, len(code), may_be_zero=True)
            weight = own if weight is None else own * weight
        return indicators(code, len(self.classes)), weight


def indicators_of_source(
    X: Any, y: Any, sample_weight: Any, class_weight: Any
) -> tuple[NDArray, tuple]:
    """Return the classes of rows that come in chunks, and what to fit a predictor to.

    That is a source, or Dask collections, of features, indicators and weights. The
    labels are read once before the rows are.
    """
    rows = _of_dask if is_dask(X) else _of_chunks
    return rows(X, y, sample_weight, class_weight)


def _of_chunks(X: Any, y: Any, sample_weight: Any, class_weight: Any):
    source = open_source(X, y, sample_weight)
    if not source.again:
        raise ValueError(
            "X is an iterator, which can be read once, and the labels are read "
            "before the rows. Give a function that returns the iterator, or "
            "use partial_fit with classes."
        )
    counts = (label_counts(chunk.y, chunk.weight) for chunk in source.chunks())
    known = ClassIndicators.of_counts(counts, class_weight)

    def chunk_of(chunk: Chunk) -> tuple:
        target, weight = known.of_rows(chunk.y, chunk.weight)
        return (chunk.X, target) if weight is None else (chunk.X, target, weight)

    return known.classes, (lambda: map(chunk_of, source.chunks()),)


def _of_dask(X: Any, y: Any, sample_weight: Any, class_weight: Any):
    X, y, sample_weight = dask_columns(X, y, sample_weight)
    counts = dask_parts(label_counts, y, sample_weight)
    known = ClassIndicators.of_counts(counts, class_weight)
    n_targets = n_indicators(len(known.classes))
    target = dask_mapped(lambda *part: known.of_rows(*part)[0], y, None, n_targets)
    weight = None
    if sample_weight is not None or known.weights is not None:
        weight = dask_mapped(lambda *part: known.of_rows(*part)[1], y, sample_weight)
    return known.classes, (X, target, weight)
