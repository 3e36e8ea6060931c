"""Hostile tables for estimators: one seed, one case, and what may come of it.

Four kinds of cases. A *disguise* is the same numbers in another dress (masked arrays
with junk under the mask, objects, frames, decimals, ...): the predictions are those of
the plain table. A *law* changes the table in a way that has a known effect on the
predictions (permuted rows or columns, other units, rows of weight zero). A *poison* is
no table of numbers: a ValueError or TypeError must say so. *Far* rows end in a finite
answer or in such an error.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hostile_tables import (
    BAD_TARGETS,
    BAD_WEIGHTS,
    DISGUISES,
    LATER_READ_AS_MISSING,
    MAY_BE_ENCODED,
    NEVER_LATER,
    ONLY_LATER,
    READ_AS_MISSING,
    TABLES,
    TARGETS,
    with_first,
)
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import missfit

LINEAR = [
    missfit.ConstantImputedLR(),
    missfit.FactorizedLR(alphas=(1.0,)),
    missfit.ExpandedLR(alphas=(1.0,)),
    missfit.EMLR(),
    missfit.ConditionalImputedLR(),
    missfit.PatternMixtureLR(n_components=2, max_iter=30, random_state=0),
    missfit.SelfMaskedLR(),
    missfit.MICELR(),
]
WRAPPED = [
    missfit.PartialPooling(missfit.EMLR()),
    missfit.ConformalRegressor(missfit.EMLR(), random_state=0),
    make_pipeline(missfit.TableEncoder(), missfit.EMLR()),
]
SLOW = [
    missfit.AutoRegressor(random_state=0),
    missfit.MLP(width=4, weight_decay=0.1, random_state=0),
    missfit.NeuMiss(depth=1, weight_decay=0.1, random_state=0),
]
SHARE_OF_SLOW = 0.02  # of the cases: one takes seconds, one of LINEAR milliseconds
SECONDS = 20.0
# Relative to the spread of y. EM stops at changes of 1e-6 or less, and the disguises
# and laws change the order of sums; a masked -999 taken as data moves it by 1 or more.
TOLERANCE = 1e-4
# What an error of numpy or pandas says when nobody has checked the input.
OPAQUE = re.compile(
    r"broadcast|unsupported operand|not subscriptable|has no attribute|out of bounds|"
    r"zero-size|empty sequence|ufunc|truth value|invalid literal|must be the same size|"
    r"not aligned|could not convert to|NoneType"
)


class Rows(NamedTuple):
    """What fit and predict are given; no weights where None."""

    X: Any
    y: Any
    weight: Any
    new: Any


class Case(NamedTuple):
    """A hostile input, and what is allowed to come of it.

    Attributes
    ----------
    story : str
        What is hostile about it.
    given : Rows
    plain : Rows, optional
        Plain arrays whose predictions ``given`` must lead to; None if ``given`` must be
        refused, before or after a fit to ``fitted``.
    back : function
        From the predictions of ``given`` to those of ``plain``.
    fitted : Rows, optional
        Fit to these first, then predict ``given.new``.
    chunks : int
        Give the rows to `partial_fit` in so many parts. If they must be refused, that
        is the second part, after rows of ``fitted``.
    """

    story: str
    estimator: Any
    given: Rows
    plain: Rows | None
    back: Callable = lambda prediction: prediction
    fitted: Rows | None = None
    chunks: int = 1
    may_refuse: bool = False  # rows too few, or values too far, for an answer


def case(seed: int, *, slow: bool = True) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng(seed)
    quick = [*LINEAR, *WRAPPED]
    among = SLOW if slow and rng.random() < SHARE_OF_SLOW else quick
    estimator = among[rng.integers(len(among))]
    kind = rng.choice(["disguise", "law", "poison", "far"], p=[0.4, 0.2, 0.3, 0.1])
    if kind == "law" and not any(estimator is one for one in LINEAR):
        kind = "disguise"
    make = {"disguise": _disguise, "law": _law, "poison": _poison, "far": _far}[kind]
    return make(rng, clone(estimator))


def fault(case: Case) -> str | None:
    """Return what is wrong with the outcome of a case, None if nothing is."""
    start = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _outcome(case)
    except (ValueError, TypeError) as error:
        found = _fault_of(error, case)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    # the smaller of both: neither other processes nor threads of our own count
    seconds = min(time.perf_counter() - start[0], time.process_time() - start[1])
    if seconds > SECONDS:
        found = f"took {seconds:.0f} s"
    name = " ".join(repr(case.estimator).split())
    return found and f"{name}, {case.story}: {found}"


def _outcome(case: Case) -> str | None:
    if case.chunks > 1 and case.fitted is not None:
        _partial_fit(case.estimator, case.fitted)
        _partial_fit(case.estimator, case.given)
        return "accepted at partial_fit"
    if case.fitted is not None:
        _fit(case.estimator, case.fitted)
        case.estimator.predict(case.given.new)
        return "accepted at predict"
    if case.plain is None:
        _fit(case.estimator, case.given).predict(case.given.new)
        return "accepted"
    expected = _fit(clone(case.estimator), case.plain).predict(case.plain.new)
    fit = _fit_in_chunks if case.chunks > 1 else _fit
    found = fit(case.estimator, case.given).predict(case.given.new)
    if not np.isfinite(expected).all():
        return f"predicts {expected[~np.isfinite(expected)][0]}"
    if found.size != len(case.plain.new):
        return f"predicts shape {found.shape} for {len(case.plain.new)} rows"
    scale = np.std(case.plain.y) or max(1.0, np.abs(case.plain.y).max())
    gap = np.abs(case.back(found.ravel()) - expected.ravel()).max() / scale
    return None if gap <= TOLERANCE else f"off by {gap:.2g} sd"


def _fit(model: Any, rows: Rows) -> Any:
    if rows.weight is None:
        return model.fit(rows.X, rows.y)
    return model.fit(rows.X, rows.y, sample_weight=rows.weight)


def _partial_fit(model: Any, rows: Rows) -> Any:
    if rows.weight is None:
        return model.partial_fit(rows.X, rows.y)
    return model.partial_fit(rows.X, rows.y, sample_weight=rows.weight)


def _fit_in_chunks(model: Any, rows: Rows) -> Any:
    for part in np.array_split(np.arange(len(rows.y)), 3):
        weight = None if rows.weight is None else rows.weight[part]
        _partial_fit(model, Rows(rows.X[part], rows.y[part], weight, None))
    return model


def _fault_of(error: Exception, case: Case) -> str | None:
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, np.linalg.LinAlgError):
        return text
    if case.plain is not None and not case.may_refuse:
        return f"refused: {text}"
    clear = len(str(error)) >= 20 and not OPAQUE.search(str(error))
    return None if clear else f"not clear: {text}"


# ── Plain tables ──────────────────────────────────────────────────────────────────────


def _table(rng, n: int, d: int) -> Rows:
    """Draw a table without spite: correlated features, holes, linear y and noise."""
    X = rng.standard_normal((n, d)) @ rng.uniform(-1, 1, (d, d)) + rng.normal(size=d)
    X += 0.3 * rng.standard_normal((n, d))
    y = X @ rng.normal(size=d) + 0.5 * rng.standard_normal(n) + rng.normal()
    X[rng.random((n, d)) < rng.choice([0.0, 0.2, 0.5])] = np.nan
    new = np.where(rng.random((7, d)) < 0.3, np.nan, X[rng.integers(n, size=7)])
    return Rows(X, y, None, new)


def _weighted(rng, estimator, plain: Rows) -> Rows:
    takes = isinstance(estimator, tuple(type(one) for one in LINEAR))
    if not takes or rng.random() < 0.5:
        return plain
    return plain._replace(weight=rng.uniform(0.5, 3.0, len(plain.y)))


# ── Cases ───────────────────────────────────────────────────────────────────────────


def _disguise(rng, estimator) -> Case:
    few = rng.random() < 0.2
    n = int(rng.integers(1, 6)) if few else int(rng.integers(20, 80))
    plain = _weighted(rng, estimator, _table(rng, n, int(rng.integers(1, 6))))
    among = [d for d in DISGUISES if not _odd(d.__name__, estimator)]
    dress = among[rng.integers(len(among))]
    seed = int(rng.integers(2**32))  # the same choices for rows to fit and to predict
    X, read = dress(np.random.default_rng(seed), plain.X)
    new, read_new = dress(np.random.default_rng(seed), plain.new)
    y = TARGETS[rng.integers(len(TARGETS))]
    weight = plain.weight
    if weight is not None:
        weight = TARGETS[rng.integers(len(TARGETS))](weight)
    given = Rows(X, y(plain.y), weight, new)
    story = f"{'few rows, ' if few else ''}{dress.__name__[1:]} of {plain.X.shape}"
    plain = plain._replace(X=read, new=read_new)
    return Case(story, estimator, given, plain, may_refuse=few)


def _far(rng, estimator) -> Case:
    """Rows far from those of the fit, and units at the ends of what float64 holds."""
    plain = _table(rng, 40, int(rng.integers(1, 5)))
    unit = 10.0 ** rng.integers(-135, 140)
    plain = plain._replace(X=plain.X * unit, new=plain.new * unit)
    plain = plain._replace(y=plain.y * 10.0 ** rng.integers(-135, 140))
    plain.new[0, 0] = rng.choice([1e149, -1e100, 1e20, 1e-300, 0.0])
    return Case("far rows", estimator, plain, plain, may_refuse=True)


# ── Laws: a change whose effect is known ──────────────────────────────────────────────


def _law(rng, estimator) -> Case:
    plain = _weighted(rng, estimator, _table(rng, 80, int(rng.integers(2, 5))))
    law = LAWS[rng.integers(len(LAWS))]
    plain, given, back = law(rng, plain)
    streams = hasattr(estimator, "partial_fit") and rng.random() < 0.3
    story = f"law of {law.__name__[1:]}{', in chunks' if streams else ''}"
    chunks = 3 if streams else 1
    return Case(story, estimator, given, plain, back, chunks=chunks)


def _same(prediction):
    return prediction


def _permuted_rows(rng, plain: Rows):
    order = rng.permutation(len(plain.y))
    weight = None if plain.weight is None else plain.weight[order]
    given = plain._replace(X=plain.X[order], y=plain.y[order], weight=weight)
    return plain, given, _same


def _moved_target(rng, plain: Rows):
    scale, shift = 10.0 ** rng.integers(-30, 30), rng.choice([0.0, 1.0, -100.0])
    given = plain._replace(y=scale * (plain.y + shift))
    return plain, given, lambda prediction: prediction / scale - shift


def _other_units(rng, plain: Rows):
    unit = 10.0 ** rng.integers(-100, 100, plain.X.shape[1])
    return plain, plain._replace(X=plain.X * unit, new=plain.new * unit), _same


def _weightless_junk(rng, plain: Rows):
    junk = 1e6 * rng.standard_normal((5, plain.X.shape[1]))
    weight = np.ones(len(plain.y)) if plain.weight is None else plain.weight
    given = Rows(
        np.vstack([plain.X, junk]),
        np.append(plain.y, 1e6 * rng.standard_normal(5)),
        np.append(weight, np.zeros(5)),
        plain.new,
    )
    return plain, given, _same


def _repeated_rows(rng, plain: Rows):
    weight = np.ones(len(plain.y)) if plain.weight is None else plain.weight
    twice = [np.concatenate([part, part]) for part in (plain.X, plain.y, weight)]
    return plain._replace(weight=2 * weight), Rows(*twice, plain.new), _same


LAWS = [_permuted_rows, _moved_target, _other_units, _weightless_junk, _repeated_rows]


def _poison(rng, estimator) -> Case:
    plain = _table(rng, int(rng.integers(20, 60)), int(rng.integers(1, 6)))
    encodes = hasattr(estimator, "steps")
    where = rng.choice(["X", "new", "y", "weight"], p=[0.35, 0.25, 0.25, 0.15])
    if where == "weight" and not isinstance(
        estimator, tuple(type(one) for one in LINEAR)
    ):
        where = "y"
    bad: dict[str, Callable] = {"y": BAD_TARGETS, "weight": BAD_WEIGHTS}.get(
        where, TABLES
    )
    if where == "weight":
        plain = plain._replace(weight=np.ones(len(plain.y)))
    later = where != "new" and hasattr(estimator, "partial_fit") and rng.random() < 0.3
    names = [
        name
        for name in bad
        if not (encodes and _encoded(name, where))
        and (later or name not in ONLY_LATER)
        and not (later and name in NEVER_LATER)
    ]
    name = names[rng.integers(len(names))]
    given = plain._replace(**{where: bad[name](getattr(plain, where))})
    story = f"{name} for {where}{', in a later chunk' if later else ''}"
    later_missing = where == "new" and name in LATER_READ_AS_MISSING
    if encodes and (name in READ_AS_MISSING or later_missing):
        missing = plain._replace(**{where: with_first(getattr(plain, where), np.nan)})
        return Case(story, estimator, given, missing, may_refuse=later_missing)
    fitted = plain if where == "new" or later else None
    chunks = 2 if later else 1
    return Case(story, estimator, given, None, fitted=fitted, chunks=chunks)


def _odd(dress: str, estimator) -> bool:
    """Whether TableEncoder reads the disguise as something else: "nan" is text."""
    return dress == "_text" and hasattr(estimator, "steps")


def _encoded(name: str, where: str) -> bool:
    return where == "X" and any(word in name for word in MAY_BE_ENCODED)
