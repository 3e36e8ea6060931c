"""Words of a table that stand for a missing value, for yes and for no."""

from __future__ import annotations

from collections.abc import Sequence


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(words_in("yes no"))
    ['no', 'yes']
    """
    return frozenset(text.split())


# what pandas takes for missing by default (Arrow does not know <NA> and None), and the
# errors of a spreadsheet: missing in every column, in this spelling
EVERYWHERE = ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan"]
EVERYWHERE += ["1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a"]
EVERYWHERE += ["nan", "null", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!"]
EVERYWHERE += ["#NULL!", "NaT"]
_EVERYWHERE = frozenset(EVERYWHERE)

# missing beside numbers, dates and truth values, in any case; a column of categories
# may have "none" or "unknown" for a level, so that they are levels there
_BESIDE = words_in(
    """na n/a n.a. n.a n/k nk nan nat nil null none #n/a #na missing unknown unk
    undefined unspecified unavailable blank empty void tbd tba nd n.d. dk k.a.
    0000-00-00 00/00/0000 00.00.0000 inconnu unbekannt fehlt manquant desconocido
    refused - -- --- – — _ ? ?? ??? .
    .. ... … * ** # / \\ \\n"""
) | {
    "not available",
    "not applicable",
    "not known",
    "not recorded",
    "not given",
    "no data",
    "no answer",
    "no value",
    "no response",
    "don't know",
    "to be determined",
    "keine angabe",
    "varies",
}
# the signs alone stand for a missing value beside yes and no
_SIGNS = words_in("""- -- --- – — ? ?? ??? . .. ... …""")

YES = words_in("""true t yes y on oui o vrai ja j wahr si sí s sim verdadero tak""")
YES |= {"да", "是", "checked", "x"}
NO = words_in("""false f no n off non faux nein falsch não nao falso nie""")
NO |= {"нет", "否", "unchecked"}
# these mean yes or no without their opposite in the column
_CLEAR = words_in("""true false yes no oui non vrai faux ja nein wahr falsch""")
_DIGITS = {"0": 0.0, "1": 1.0}


def is_mark(text: str, others: Sequence[str] = ()) -> bool:
    """Whether a text stands for a missing value in a column of any kind.

    >>> is_mark("NA"), is_mark(" "), is_mark("none"), is_mark("x", ["x"])
    (True, True, False, True)
    """
    text = text.strip()
    return text in _EVERYWHERE or text in others


def is_mark_beside(text: str) -> bool:
    """Whether a text stands for a missing value in a column of numbers or dates.

    >>> is_mark_beside("Unknown"), is_mark_beside("-"), is_mark_beside("7")
    (True, True, False)
    """
    folded = text.strip().casefold()
    return folded in _BESIDE or (folded[:1] in "([<" and folded[1:-1] in _BESIDE)


def is_sign(text: str) -> bool:
    """Whether a text is a mere sign for a missing value, such as a dash."""
    return text.strip() in _SIGNS


def truth(text: str) -> float | None:
    """Return 1 for a word that means yes, 0 for no, None for others.

    >>> truth("Oui"), truth(" N "), truth("maybe")
    (1.0, 0.0, None)
    """
    folded = text.strip().casefold()
    if folded in YES:
        return 1.0
    return 0.0 if folded in NO else _DIGITS.get(folded)


def are_truths(texts: Sequence[str]) -> bool:
    """Whether all texts are words for yes and no, in one language or several.

    >>> are_truths(["Y", "N"]), are_truths(["Yes"]), are_truths(["M", "F"])
    (True, True, False)
    >>> are_truths(["0", "1"]), are_truths(["F"]), are_truths(["0", "no", "yes"])
    (False, False, True)
    """
    words = {text.strip().casefold() for text in texts}
    if not words <= YES | NO | set(_DIGITS) or words <= set(_DIGITS):
        return False
    both = bool(words & YES) and bool(words & NO)
    return both or bool(words & _CLEAR)
