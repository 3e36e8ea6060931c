"""A user's own estimators as candidates, and the choice among all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from missfit.comparison.candidates import Candidate
from missfit.comparison.offers import ALL_NAMES

OWN = "your own estimator"


def own_candidates(estimators: Mapping[str, Any] | None) -> list[Candidate]:
    """Return candidates for estimators of the user, by the names they are shown with.

    Parameters
    ----------
    estimators : mapping of str to estimator, optional
        Each has fit(X, y) and predict(X); a classifier has predict_proba(X) too. X is
        the table as `TableEncoder` encodes it: numbers, with NaN where a value is
        missing.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> [one.name for one in own_candidates({"mean": DummyRegressor()})]
    ['mean']
    """
    for name in estimators or {}:
        if name in ALL_NAMES:
            raise ValueError(
                f"there is a predictor of the library named {name!r}; give your "
                "estimator another name."
            )
    return [own_candidate(str(k), one) for k, one in (estimators or {}).items()]


def refuse_without_shares(own: Sequence[Candidate]) -> None:
    """Raise where an estimator of the user gives no probabilities."""
    for one in own:
        if not hasattr(one.make(0), "predict_proba"):
            raise TypeError(
                f"the estimator {one.name!r} has no predict_proba, and the target is a "
                "class, whose probabilities are compared; give a classifier that has "
                "it, such as CalibratedClassifierCV around yours."
            )


def own_candidate(name: str, estimator: Any) -> Candidate:
    """Return a candidate for an estimator of the user."""
    lacks = [one for one in ("fit", "predict") if not hasattr(estimator, one)]
    if isinstance(estimator, type) or lacks:
        what = f"of type {type(estimator).__name__}, which has no"
        what += f" {' and no '.join(lacks)}"
        if isinstance(estimator, type):
            what = f"a class; give an object, {estimator.__name__}()"
        raise TypeError(f"the estimator {name!r} is {what}.")
    return Candidate(name, _Maker(estimator), name, OWN)


class _Maker:
    """Makes copies of an estimator that are not fitted; a class, to be pickled."""

    def __init__(self, estimator: Any):
        self.estimator = estimator

    def __call__(self, seed: int) -> Any:
        model: Any = clone(self.estimator, safe=False)
        parameters = getattr(model, "get_params", dict)()
        if "random_state" in parameters and parameters["random_state"] is None:
            model.set_params(random_state=seed)
        return model


def chosen(
    candidates: Sequence[Candidate],
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
) -> list[Candidate]:
    """Return the candidates of some names, or all but some, in their order.

    >>> from missfit.comparison.candidates import CANDIDATES
    >>> [one.name for one in chosen(CANDIDATES, ["ExpandedLR", "EMLR"])]
    ['EMLR', 'ExpandedLR']
    """
    check_names(only, skip, [one.name for one in candidates])
    kept = set(only or (one.name for one in candidates)) - set(skip)
    if not kept:
        raise ValueError("no predictor is left to be tried; leave at least one.")
    return [one for one in candidates if one.name in kept]


def check_names(
    only: Sequence[str], skip: Sequence[str], names: Sequence[str] = ALL_NAMES
) -> None:
    """Raise where a name that is to be tried, or not to be, is no predictor's."""
    for said, value in (("only", only), ("skip", skip)):
        if isinstance(value, str):
            raise TypeError(f"{said}={value!r} is one string; give [{value!r}].")
        for name in value:
            if name not in names:
                raise ValueError(
                    f"{name!r} is no predictor known here; choose among "
                    f"{', '.join(map(repr, names))}."
                )
