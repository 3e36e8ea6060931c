"""What all classifiers share: labels, weights, and the class that is predicted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from missfit.estimators.base import NanEstimator
from missfit.moments.rows import check_weight
from missfit.tables.arrays import is_missing
from missfit.tables.chunks import named_columns

CERTAIN = 1e-12  # no class is held to be less probable: its log-loss stays finite
# The probability of a class that is in no row of a fit: a class that is not among n
# rows is expected in about 1 of n.
ABSENT = 1e-3


class LabelledRows(NamedTuple):
    """Rows, the number of each row's class, and weights, None where all are 1."""

    X: NDArray[np.float64]
    code: NDArray[np.intp]
    weight: NDArray[np.float64] | None

    def take(self, index: NDArray) -> LabelledRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[index]
        return LabelledRows(self.X[index], self.code[index], weight)

    def of_weight(self) -> LabelledRows:
        """Return the rows of weight > 0."""
        return self if self.weight is None else self.take(np.flatnonzero(self.weight))


class NanClassifier(ClassifierMixin, NanEstimator):
    """A classifier that takes NaN in X, at fit and at predict.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels seen at fit, sorted.
    """

    classes_: NDArray
    class_weight: Any = None
    takes_chunks = "PatternClassifier(EMLR())"

    def _labelled_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        known: NDArray | None = None,
        reset: bool = True,
    ) -> LabelledRows:
        """Return validated rows, and remember the features and the classes.

        Where the classes are known beforehand, all labels must be among them; without
        ``reset`` the features are compared with those of before.
        """
        self._refuse_chunks(X)
        X, y, sample_weight = named_columns(X, label_array(y), sample_weight)
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None."
            )
        X = self._validated(X, reset=reset)
        self.classes_ = classes_and_codes(y)[0] if known is None else known
        code = self._codes(y)
        if len(code) != len(X):
            raise ValueError(
                f"X has {len(X)} rows and y has {len(code)} labels; give one label "
                "for each row."
            )
        weight = self._row_weights(code, sample_weight)
        if known is None:
            refuse_one_class(self.classes_, code, weight)
        return LabelledRows(X, code, weight)

    def _codes(self, y: Any) -> NDArray[np.intp]:
        """Return the place of each label among the classes."""
        return known_codes(y, self.classes_)

    def _row_weights(
        self, code: NDArray[np.intp], sample_weight: Any
    ) -> NDArray[np.float64] | None:
        """Return the weights of all rows times those of their classes, or None."""
        if sample_weight is None and self.class_weight is None:
            return None
        check_class_weight(self.class_weight)
        weight = np.ones(len(code))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(code))
        return weight * compute_sample_weight(self.class_weight, self.classes_[code])

    def fit_rows_given(self, start: Any, X: Any, y: Any, sample_weight: Any = None):
        """Fit to rows as `fit`, given `starts_from` fitted to the class indicators."""
        trial = self._trial()
        trial._fit_given(start, trial._labelled_rows(X, y, sample_weight))
        return self._become(trial)

    def _fit_given(self, start: Any, rows: LabelledRows) -> None:
        raise NotImplementedError(f"{type(self).__name__} starts from nothing.")

    @abstractmethod
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, for each row."""

    def predict(self, X: Any) -> NDArray:
        """Return the most probable class of each row, NaN in X where missing."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def check_class_weight(class_weight: Any) -> None:
    """Raise unless this is None, "balanced" or a dict of weights."""
    if class_weight is None or class_weight == "balanced":
        return
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight={class_weight!r}; it must be a dict from classes to "
            "weights, 'balanced' or None."
        )
    for label, weight in class_weight.items():
        if not (np.isfinite(weight) and weight >= 0):
            raise ValueError(
                f"class_weight gives the class {label!r} the weight {weight!r}; "
                "weights must be finite and >= 0."
            )


def label_array(y: Any) -> Any:
    """Return a list of labels as an array; anything else as it is.

    There is one target, so that a list of text holds labels and not names of columns.
    Text beside numbers stays what it is, for `classes_and_codes` to refuse.

    >>> label_array(["a", "b"]).tolist(), label_array("name")
    (['a', 'b'], 'name')
    """
    if not isinstance(y, (list, tuple)):
        return y
    labels = np.asarray(y)
    is_text = labels.dtype.kind in "US"
    mixed = is_text and not all(isinstance(label, (str, bytes)) for label in y)
    return np.asarray(y, dtype=object) if mixed else labels


def classes_and_codes(y: Any) -> tuple[NDArray, NDArray[np.intp]]:
    """Return the sorted labels and the place of each row's label among them.

    >>> classes, codes = classes_and_codes(["b", "a", "b"])
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, 1])
    """
    if np.ma.isMA(y):  # what is masked is missing
        y = np.ma.filled(y.astype(object), np.nan) if np.ma.is_masked(y) else y.data
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "Of":
        missing = np.array([is_missing(label) for label in labels], dtype=bool)
        if missing.any():
            raise ValueError(
                f"y is missing (NaN) in {missing.sum()} of {len(labels)} rows, first "
                f"in row {np.argmax(missing)}. Only features may be missing: drop the "
                "rows without a label."
            )
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("y holds infinity (inf); give labels.")
    labels = _of_one_type(labels)
    try:
        found = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise TypeError(
            f"y mixes labels of the types {' and '.join(kinds)}, which have no order; "
            "give all labels as text, or all as numbers."
        ) from error
    check_classification_targets(labels)
    return found


def known_codes(y: Any, classes: NDArray) -> NDArray[np.intp]:
    """Return the place of each label among sorted classes, or say which is none."""
    labels, code = classes_and_codes(y)
    place = np.searchsorted(classes, labels)
    known = np.take(classes, place, mode="clip") == labels
    if not known.all():
        raise ValueError(
            f"y holds the label {labels[~known].tolist()[0]!r}, which is not among "
            f"the classes {classes.tolist()}."
        )
    return place[code]


def _of_one_type(labels: NDArray) -> NDArray:
    """Return objects that are all truth values, or all whole numbers, as such."""
    kinds = {type(label) for label in labels} if labels.dtype.kind == "O" else set()
    if kinds and kinds <= {bool, np.bool_}:
        return labels.astype(bool)
    if kinds and all(issubclass(kind, (int, np.integer)) for kind in kinds):
        numbers = np.array(labels.tolist())
        return numbers if numbers.dtype.kind in "iu" else labels
    return labels


class LabelCount(NamedTuple):
    """How many rows have a label, and how many of them have a weight above zero."""

    n_rows: int
    n_of_weight: int


def label_counts(y: Any, sample_weight: Any = None) -> dict[Any, LabelCount]:
    """Return the count of each label of some rows, which may be none.

    >>> label_counts(["b", "a", "b"], [1.0, 0.0, 2.0])["a"]
    LabelCount(n_rows=1, n_of_weight=0)
    """
    if len(y) == 0:
        return {}
    labels, code = classes_and_codes(y)
    there = np.ones(len(code), dtype=bool)
    if sample_weight is not None:
        there = np.ravel(sample_weight) > 0
    n = np.bincount(code, minlength=len(labels)).tolist()
    of_weight = np.bincount(code[there], minlength=len(labels)).tolist()
    counts = map(LabelCount, n, of_weight)
    return dict(zip(labels.tolist(), counts, strict=True))


def added_counts(parts: Iterable[dict[Any, LabelCount]]) -> dict[Any, LabelCount]:
    """Return the counts of all parts together."""
    total: dict[Any, LabelCount] = {}
    for part in parts:
        for label, count in part.items():
            before = total.get(label, (0, 0))
            total[label] = LabelCount(*map(sum, zip(before, count, strict=True)))
    return total


def balanced_weights(counts: dict[Any, LabelCount]) -> dict[Any, float]:
    """Return the weight of each class that makes all classes weigh the same.

    >>> balanced_weights({"a": LabelCount(1, 1), "b": LabelCount(3, 3)})["a"]
    2.0
    """
    n = sum(count.n_rows for count in counts.values())
    return {label: n / (len(counts) * count.n_rows) for label, count in counts.items()}


def refuse_one_class(
    classes: NDArray, code: NDArray[np.intp], weight: NDArray[np.float64] | None = None
) -> None:
    """Raise where only one class has rows of positive weight."""
    if not len(code):
        raise ValueError("y holds no label; a classifier needs rows to learn from.")
    present = np.bincount(code, weight, minlength=len(classes)) > 0
    if present.sum() < 2:
        only = classes.tolist()[int(np.argmax(present))]
        raise ValueError(
            f"y holds only one class, {only!r}; a classifier needs rows of at least "
            "two classes."
        )


def shares_of_all(
    shares: NDArray[np.float64], seen: NDArray[np.intp], n_classes: int
) -> NDArray[np.float64]:
    """Return probabilities of all classes from those of the ones that a fit has seen.

    The others have a small probability rather than none, or no row of them could be
    scored.

    >>> shares_of_all(np.array([[0.25, 0.75]]), np.array([0, 2]), 3).round(4)
    array([[0.2498, 0.001 , 0.7493]])
    """
    if len(seen) == n_classes:
        return shares
    found = np.full((len(shares), n_classes), ABSENT)
    found[:, seen] = shares
    return found / found.sum(axis=1, keepdims=True)


def both_shares(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of two classes from that of the second, (n, 1)."""
    share = np.clip(share, CERTAIN, 1 - CERTAIN)
    return np.hstack([1 - share, share])


def normalised(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities of several classes that sum to one, none of them zero."""
    shares = np.maximum(shares, CERTAIN)
    return shares / shares.sum(axis=1, keepdims=True)
