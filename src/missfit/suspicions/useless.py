"""Columns that tell nothing: empty, constant, copies, names of rows, single texts."""

from __future__ import annotations

import numpy as np

from missfit.suspicions.look import Feature, Look
from missfit.suspicions.names import FEWEST, is_counter, is_even_code
from missfit.suspicions.one_column import neighbour_r2
from missfit.suspicions.suspicion import Remedy, Suspicion, listed
from missfit.tables.codes import is_id_name
from missfit.tables.columns import shown

NEARLY_EMPTY = 0.99  # share of missing values
FEW_VALUES = 10  # known values below which a column tells hardly anything
NEARLY_UNIQUE = 0.95  # distinct values per row of a column whose name says it is an id
UNIQUE_TEXT = 0.9  # distinct texts per row from which on they are names of rows
MANY_LEVELS = 50  # of text, above which most of them are too rare to be told apart
RELATED = 0.05  # R2 from which on a column of codes is a measurement after all
# Standard errors by which the target differs where a value is missing. With 3 one of 20
# constants with missing values at random passed for a box that is ticked or not.
INFORMATIVE = 5.0
SAME = 1e-9  # how far from 1 a correlation of copies may be


def empties(look: Look) -> list[Suspicion]:
    """Return the columns that are empty, or nearly."""
    found = [f for f in look.features if _is_nearly_empty(f)]
    if not found:
        return []
    names = tuple(f.name for f in found)
    most = max(len(f.known) for f in found)
    words = {0: "no value", 1: "one value or none"}
    has = words.get(most, f"{most} values or fewer")
    are = "has" if len(names) == 1 else "have"
    return [
        Suspicion(
            "empty",
            names,
            f"{listed(names)} {are} {has} in {look.of}.",
            Remedy("drop", names),
        )
    ]


def _is_nearly_empty(feature: Feature) -> bool:
    return len(feature.known) < FEW_VALUES or feature.missing.mean() >= NEARLY_EMPTY


def constants(look: Look) -> list[Suspicion]:
    """Return the columns that have one value wherever they have any.

    A value that stands beside empty fields may mean yes and no; where the target
    differs between the two, the column is not called constant.
    """
    found = [
        f
        for f in look.features
        if len(f.distinct[0]) == 1 and not _is_nearly_empty(f) and not _tells(f, look)
    ]
    if not found:
        return []
    names = tuple(f.name for f in found)
    values = ", ".join(f.written(f.distinct[0][0]) for f in found[:5])
    gaps = any(f.missing.any() for f in found)
    where = " that has a value" if gaps else ""
    are = "is" if len(names) == 1 else "are"
    return [
        Suspicion(
            "constant",
            names,
            f"{listed(names)} {are} the same in every row{where}: {values}.",
            Remedy("drop", names),
        )
    ]


def _tells(feature: Feature, look: Look) -> bool:
    """Whether the target differs where a column is missing."""
    a, b = look.rank[feature.missing], look.rank[feature.known]
    if min(len(a), len(b)) < FEW_VALUES:
        return False
    error = np.sqrt(a.var() / len(a) + b.var() / len(b))
    return bool(abs(a.mean() - b.mean()) > INFORMATIVE * max(error, 1e-12))


def same_columns(look: Look, known: set[str]) -> list[Suspicion]:
    """Return the columns that are copies of others, or the same in another unit.

    Numbers are copies where their correlation is 1 or -1 and the same rows are missing,
    categories where the same rows have the same level.

    Parameters
    ----------
    look : Look
    known : set of str
        Columns of which something else is said already: numbers of the rows and their
        dates may be the same, too.
    """
    copies: dict[str, list[str]] = {}
    features = [feature for feature in look.features if feature.name not in known]
    for block in _blocks_of_like(features):
        scaled = np.column_stack([_scaled(f) for f in block])
        same = np.abs(scaled.T @ scaled) >= 1 - SAME
        first = same.argmax(axis=0)
        for j in np.flatnonzero(first < np.arange(len(block))):
            copies.setdefault(block[first[j]].name, []).append(block[j].name)
    found = []
    for original, names in copies.items():
        are = "is the same column" if len(names) == 1 else "are the same column"
        found.append(
            Suspicion(
                "copies",
                (original, *names),
                f"{listed(names)} {are} as {shown(original)}, in the same or in "
                "another unit.",
                Remedy("drop", tuple(names)),
            )
        )
    return found


def _blocks_of_like(features: list[Feature]) -> list[list[Feature]]:
    """Return features that are missing in the same rows and not constant, together."""
    blocks: dict[tuple, list[Feature]] = {}
    for feature in features:
        if len(feature.distinct[0]) > 1:
            key = feature.kind == "category", feature.missing.tobytes()
            blocks.setdefault(key, []).append(feature)
    return [block for block in blocks.values() if len(block) > 1]


def _scaled(feature: Feature) -> np.ndarray:
    """Return values of length 1 around 0, levels numbered by their first row."""
    values = feature.values[feature.known]
    if feature.kind == "category":
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        values = np.argsort(np.argsort(first))[codes].astype(float)
    values = values / np.abs(values).max()  # squares of large numbers overflow
    values = values - values.mean()
    length = np.sqrt(values @ values)
    return values / length if length > 0 else values


def ids(look: Look, times: set[str]) -> list[Suspicion]:
    """Return the columns that name rows: counters, codes and texts, all different.

    Parameters
    ----------
    look : Look
    times : set of str
        Columns that are suspected to be the time of the rows.
    """
    found = [f for f in look.features if f.name not in times and _is_id(f, look)]
    if not found:
        return []
    names = tuple(f.name for f in found)
    n_distinct, n = len(found[0].distinct[0]), len(found[0].known)
    are = "looks like a name or number" if len(names) == 1 else "look like names"
    return [
        Suspicion(
            "id",
            names,
            f"{listed(names)} {are} of the rows, not a measurement: {n_distinct:,} "
            f"different values in {n:,} rows of {shown(names[0])}. New rows will have "
            "new ones.",
            Remedy("drop", names),
        )
    ]


def _is_id(feature: Feature, look: Look) -> bool:
    if len(feature.known) < FEWEST:
        return False
    if feature.kind == "category":
        return feature.share_distinct >= UNIQUE_TEXT
    if is_counter(feature, look.n_rows):
        return True
    if not feature.is_whole:
        return False
    if is_id_name(feature.name):
        return feature.share_distinct >= NEARLY_UNIQUE
    known = feature.known
    return (
        is_even_code(feature)
        and neighbour_r2(feature.values[known], look.rank[known]) < RELATED
    )


def many_texts(look: Look, known: set[str]) -> list[Suspicion]:
    """Return the columns of text with more levels than can be told apart.

    Parameters
    ----------
    look : Look
    known : set of str
        Columns of which something else is said already.
    """
    found = []
    for feature in look.features:
        values, counts = feature.distinct
        is_long = feature.kind == "category" and len(values) > MANY_LEVELS
        if is_long and feature.name not in known:
            alone = int((counts == 1).sum())
            found.append(
                Suspicion(
                    "many texts",
                    (feature.name,),
                    f"{shown(feature.name)} has {len(values):,} different texts in "
                    f"{len(feature.known):,} rows, {alone:,} of them in one row only. "
                    "What they have in common, such as a word or a region, would tell "
                    "more as a column of its own.",
                    Remedy("drop", (feature.name,)),
                )
            )
    return found


def same_rows(look: Look) -> list[Suspicion]:
    """Return whether rows are repeated that chance would not repeat.

    A table of a few columns with few values repeats rows by chance. So repeats count
    where rows that are not related would hardly have any: the product, over all columns
    and the target, of the probability that two rows agree, times the number of pairs.
    Columns that depend on each other repeat more; therefore the three columns that
    agree least must by themselves make repeats rare.
    """
    n = len(look.y)
    target = look.code
    if target is None:
        _, target = np.unique(look.y, return_inverse=True)
    codes = [target, *(feature.codes for feature in look.features)]
    agree = sorted(float(((np.bincount(c) / n) ** 2).sum()) for c in codes)
    expected = n * (n - 1) / 2 * np.prod(agree[:3])
    weights = np.random.default_rng(0).integers(1, 2**63, len(codes), dtype=np.uint64)
    key = np.zeros(n, dtype=np.uint64)
    for code, weight in zip(codes, weights, strict=True):
        key += code.astype(np.uint64) * weight
    _, counts = np.unique(key, return_counts=True)
    n_repeats = int(n - len(counts))
    if n_repeats < max(2, 0.005 * n) or n_repeats < 10 * expected:
        return []
    return [
        Suspicion(
            "repeated rows",
            (),
            f"{n_repeats:,} of {look.of} are copies of others, in every column and in "
            f"{shown(look.target)}. A copy in another fold gives the answer away; "
            "remove the copies from the file, unless they are rows of their own.",
        )
    ]
