"""Numbers that only look like numbers: ids, row numbers, zip codes, padded codes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from missfit.tables.marks import words_in

LEAST_ROWS = 20  # below, numbers that all differ say nothing
MOSTLY_UNIQUE = 0.95  # share of different values among those of an id
PADDED = 3  # digits from which 007 is a code; 07 may be a month or an hour

_WORD = re.compile(r"[a-z]+|\d+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ID_WORDS = words_in("id ids uuid guid uid rowid rownum identifier rownames unnamed")
_ID_NAMES = words_in(  # as the whole name: a price index is no id
    "index idx key serial pid no nr num number row record instant obs n° rn sn"
) | {"order number", "row number", "customer number", "record number"}
_TIME_WORDS = words_in(
    """t time date day days week month quarter year years yr hour minute second step
    period epoch age tick wave round"""
)
_CODE_WORDS = words_in(
    """zip zipcode postal postcode postalcode plz fips phone telephone fax isbn ean
    gtin upc iban ssn"""
)

_WITH_CODES = words_in(
    "code codes no nr number num home work mobile customer shipping billing property us"
)


def words_of(name: str) -> list[str]:
    """Return the words of a column's name.

    >>> words_of("CustomerID"), words_of("zip_code"), words_of("Unnamed: 0")
    (['customer', 'id'], ['zip', 'code'], ['unnamed', '0'])
    """
    return _WORD.findall(_CAMEL.sub(" ", name).lower())


def is_code_name(name: str) -> bool:
    """Whether a column is called as codes are that look like numbers.

    >>> is_code_name("zip_code"), is_code_name("Phone"), is_code_name("zip_income")
    (True, True, False)
    """
    words = set(words_of(name))
    return bool(words & _CODE_WORDS) and words <= _CODE_WORDS | _WITH_CODES


def is_id_name(name: str) -> bool:
    """Whether a column is called as ids are.

    >>> is_id_name("house_id"), is_id_name("Unnamed: 0"), is_id_name("width")
    (True, True, False)
    """
    words, name = words_of(name), name.strip().lower()
    plain = name in _ID_NAMES or " ".join(words) in _ID_NAMES or "#" in name
    return plain or not _ID_WORDS.isdisjoint(words)


def are_ids(values: NDArray[Any], name: str) -> bool:
    """Whether the numbers of a column only tell its rows apart.

    Whole numbers that differ in almost every row of a column called as ids are; or
    those that count the rows from 0 or 1, unless the column is called as time is.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers without NaN, in the order of the rows.
    name : str

    Examples
    --------
    >>> ids = np.random.default_rng(0).permutation(10_000)[:50]
    >>> are_ids(ids, "user_id"), are_ids(ids, "price"), are_ids(np.arange(50), "n")
    (True, False, True)
    """
    if len(values) < LEAST_ROWS or not is_whole(values):
        return False
    named = is_id_name(name)
    if named and len(np.unique(values)) >= MOSTLY_UNIQUE * len(values):
        return True
    counted = values[0] in (0, 1) and bool((np.diff(values) == 1).all())
    return counted and _TIME_WORDS.isdisjoint(words_of(name))


def is_whole(values: NDArray[Any]) -> bool:
    """Whether all numbers are whole; a few of them tell most columns apart."""
    if values.dtype.kind in "iu":
        return True
    some = values[:64]
    with np.errstate(invalid="ignore"):
        whole = bool((some == np.floor(some)).all())
        return whole and bool((values == np.floor(values)).all())


def are_padded(texts: Sequence[str]) -> bool:
    """Whether digits are filled with zeros on the left, as 00501 is: codes.

    >>> are_padded(["00501", "10001"]), are_padded(["07", "12"]), are_padded(["0.5"])
    (True, False, False)
    """
    texts = [text.strip() for text in texts]
    if not texts or not all(text.isdigit() for text in texts):
        return False
    return any(len(text) >= PADDED and text[0] == "0" for text in texts)
