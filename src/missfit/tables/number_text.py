"""Numbers as people write them: $1,200.50, 1.234,56 €, (300), 12 %, 3.5kg, 1.2k."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.units import MOST_UNIT, currency_of, scales_of, unit_of

MAJORITY = 0.9  # share of the rows whose unit is taken where units do not go together
# <5 beside >5 are labels, and no numbers, where fewer different numbers than this are
# in the column, and the rarer of both texts has this share of the rows: a single 8+
# among counts up to 8 is a number.
FEW_VALUES, SHARE_OF_LABEL = 10, 0.05
MOST_TEXT = 64  # characters of a number with all that stands around it

_MONEY = r"[A-Za-z]{0,3}\.?[$€£¥₹₽₩₺₪฿]|[A-Za-z]{2,3}\.?(?=[\s\d(+-])|R(?=\s?\d)"
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SIMPLE = re.compile(r"(-?)([$€£]?) ?(\d[\d.,]*) ?([%€£$]?)")  # most of them, faster
_NUMERAL = re.compile(
    rf"""(?P<bound>(?:[<>≤≥~≈]=?|ca\.?|approx\.?|about)\s*)?
    (?P<open>\(\s*)?(?P<sign>[+-]\s*)?(?P<before>(?:{_MONEY})\s*)?
    (?P<inner>\(\s*)?(?P<after_sign>[+-]\s*)?
    (?P<body>\d[\d.,'’_\ ]*|[.,]\d+)(?P<exponent>[eE][+-]?\d{{1,3}})?
    \s*(?P<minus>-(?=\s*(?:$|\D*$)))?
    \s*(?P<unit>(?:[^\W\d_]|[%‰°$€£¥₹₽₩₺₪฿"″'′]|/(?=[A-Za-z]))
      (?:[^\d]|(?<=[A-Za-z^])[23](?!\d)){{0,{MOST_UNIT}}}?|/\s?(?:5|10|20|100))?
    \s*(?P<tail>[+-])?\s*(?P<close>\))?""",
    re.VERBOSE,
)
_GROUPS = {  # thousands in groups of three, or as in India, after one sign throughout
    ".": re.compile(
        r"(?:\d+|[1-9]\d{0,2}(?:([,'’_ ])\d{3})(?:\1\d{3})*"
        r"|[1-9]\d?(?:,\d\d)+,\d{3})(?:\.\d*)?|\.\d+"
    ),
    ",": re.compile(
        r"(?:\d+|[1-9]\d{0,2}(?:([.'’_ ])\d{3})(?:\1\d{3})*)(?:,\d*)?|,\d+"
    ),
}
_BETWEEN = dict.fromkeys(map(ord, ",'’_ "))  # what stands between thousands
_BOUNDS = dict(zip("<≤>≥~≈ca", "<<>>~~~~", strict=True))  # by the first character
_DASHES = str.maketrans("−–‐‑﹣", "-----")


class Numeral(NamedTuple):
    """A number as it is written: what each part of the text is."""

    negative: bool
    body: str  # digits and what stands between them
    exponent: str
    currency: str
    unit: str
    bound: str  # "<" for a bound from above, ">" from below as in 10+, "~" for about


def numeral(text: str) -> Numeral | None:
    """Take a text apart, None where it is no number in any writing.

    >>> numeral("-$1,200.50")[:4]
    (True, '1,200.50', '', '$')
    >>> numeral("(3,5 km)").unit, numeral("10+").bound, numeral("12a34")
    ('km', '>', None)
    """
    text = text.strip()
    if _PLAIN.fullmatch(text):
        body, _, exponent = text.lower().lstrip("+-").partition("e")
        return Numeral(text[0] == "-", body, exponent, "", "", "")
    simple = _SIMPLE.fullmatch(text)
    if simple and not (simple[2] and simple[4]):
        money = simple[2] or simple[4].strip("%")
        percent = "%" if simple[4] == "%" else ""
        return Numeral(simple[1] == "-", simple[3], "", money, percent, "")
    if len(text) > MOST_TEXT or not any(map(str.isdigit, text)):
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_DASHES).strip()
    found = _NUMERAL.fullmatch(text)
    if found is None:
        return None
    part = {name: (value or "").strip() for name, value in found.groupdict().items()}
    opened = bool(part["open"] or part["inner"])
    currency, unit = unit_of(part["unit"])
    before = currency_of(part["before"])
    if opened != bool(part["close"]) or (part["before"] and not before):
        return None
    minus = [part[name] for name in ("sign", "after_sign", "minus", "tail")].count("-")
    if minus + opened > 1 or (before and currency not in ("", before)):
        return None
    bound = ">" if part["tail"] == "+" else _BOUNDS.get(part["bound"][:1], "")
    exponent = part["exponent"][1:]
    negative = bool(minus or opened)
    return Numeral(negative, part["body"], exponent, before or currency, unit, bound)


def amount(body: str, decimal: str) -> float | None:
    """Return the digits as a number where a sign is the decimal one.

    >>> amount("1.234,5", ","), amount("1.234,5", "."), amount("1,234", ".")
    (1234.5, None, 1234.0)
    """
    if body.isdigit():
        return float(body)
    if not _GROUPS[decimal].fullmatch(body):
        return None
    if decimal == ",":
        body = body.replace(".", "").replace(",", ".")
    return float(body.translate(_BETWEEN))


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written.

    Attributes
    ----------
    decimal : str
        "." or ",", before the decimals; the other one may stand between thousands.
        A number that can be read only the other way is read the other way.
    scales : mapping of str to float
        The units that stand after the numbers and the factor of each; "" where none
        stands there.
    currencies : tuple of str
        The currencies that stand beside the numbers.
    """

    decimal: str = "."
    scales: Mapping[str, float] = field(default_factory=lambda: {"": 1.0})
    currencies: tuple[str, ...] = ()

    def numbers(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Read texts, NaN for those that do not fit.

        >>> NumberFormat(",", {"": 1.0}, ("€",)).numbers(["1.234,50 €", "7", "$3", "x"])
        array([1234.5,    7. ,    nan,    nan])
        """
        return np.array([self.number(numeral(text)) for text in texts], dtype=float)

    def number(self, found: Numeral | None) -> float:
        """Return the number of a numeral, NaN where it does not fit."""
        if found is None or (found.currency and found.currency not in self.currencies):
            return np.nan
        scale = self.scales.get(found.unit)
        value = amount(found.body, self.decimal)
        if value is None:
            value = amount(found.body, "," if self.decimal == "." else ".")
        if value is None or scale is None:
            return np.nan
        if found.exponent:  # as text, so that 1.1e-5 is the nearest number to it
            value = float(f"{value!r}e{found.exponent}")
        value = -value if found.negative else value
        return value if scale == 1.0 else value * scale

    def is_plain(self) -> bool:
        """Whether the numbers are written as Python writes them."""
        plain = self.decimal == "." and not self.currencies
        return plain and set(self.scales) == {""}

    def describe(self) -> str:
        """Return what stands beside the digits, in words."""
        parts = ["decimal comma"] if self.decimal == "," else []
        parts += [f"in {' and '.join(self.currencies)}"] if self.currencies else []
        main = [unit for unit, scale in self.scales.items() if unit and scale == 1.0]
        parts += [f"in {main[0]}"] if main else []
        other = [unit for unit in self.scales if unit and unit not in main[:1]]
        parts += [f"{' and '.join(other)} converted"] if other else []
        return ", ".join(parts)


class Found(NamedTuple):
    """A format that suits most texts, and what the texts left open."""

    format: NumberFormat
    values: NDArray[np.float64]  # of each text, NaN where it does not fit
    ambiguous: bool  # the decimal sign is a guess, since 1,234 can be read both ways
    notes: tuple[str, ...]
    are_labels: bool  # a few numbers, of which some are texts of different bounds


def number_format(
    texts: Sequence[str], rows: NDArray[np.int64], hint: str = "", n_others: int = 0
) -> Found | None:
    """Find how most of the numbers among some texts are written.

    Parameters
    ----------
    texts : sequence of str
        Distinct texts of a column.
    rows : int ndarray
        How many rows have each of them.
    hint : str
        The decimal sign of other columns, for numbers that can be read both ways.
    n_others : int
        How many different values that are no text the column has.
    """
    every = [numeral(text) for text in texts]
    numerals = [
        (one, n) for one, n in zip(every, rows.tolist(), strict=True) if one is not None
    ]
    if not numerals:
        return None
    currencies = Counter[str]()
    units = Counter[str]()
    for one, n in numerals:
        units[one.unit] += n
        if one.currency:
            currencies[one.currency] += n
    money = bool(currencies)
    bodies = [(one.body, n) for one, n in numerals]
    decimal, ambiguous = _decimal(bodies, "" if money else hint, money)
    scales, notes = _scales(numerals, units, money)
    if ambiguous:
        sign = "comma" if decimal == "," else "point"
        notes.append(
            f"numbers such as {ambiguous} can be read in two ways; the {sign} "
            "was taken for the decimal sign"
        )
    if len(currencies) > 1:
        notes.append(
            f"amounts in {' and '.join(currencies)} stand in one column and are not "
            "converted"
        )
    if any(one.bound for one, _ in numerals):
        notes.append("bounds such as <5 or 10+ were taken as the number itself")
    form = NumberFormat(decimal, scales, tuple(sorted(currencies)))
    values = np.array([form.number(one) for one in every], dtype=float)
    few = n_others < FEW_VALUES and len(np.unique(values)) + n_others < FEW_VALUES
    labels = few and _are_labels(every, values.tolist(), rows.tolist())
    return Found(form, values, bool(ambiguous), tuple(notes), labels)


def _are_labels(
    every: list[Numeral | None], values: list[float], rows: list[int]
) -> bool:
    """Whether numbers merge texts that say different things: <=50K and >50K."""
    said: dict[float, Counter[str]] = {}
    for one, value, n in zip(every, values, rows, strict=True):
        if one is not None and one.bound != "~":
            said.setdefault(value, Counter())[one.bound] += n
    rarer = [some.most_common(2)[1][1] for some in said.values() if len(some) > 1]
    return bool(rarer) and max(rarer) >= SHARE_OF_LABEL * sum(rows)


def _decimal(bodies: list[tuple[str, int]], hint: str, money: bool) -> tuple[str, str]:
    """Return the decimal sign, and an example where it is a guess, "" elsewhere.

    Amounts of money never have three decimals: 1.234 € is more than a thousand.
    """
    fits = {".": 0, ",": 0}
    for body, n in bodies:
        for sign in fits:
            fits[sign] += n * (amount(body, sign) is not None)
    if fits["."] != fits[","]:
        return max(fits, key=lambda sign: fits[sign]), ""
    open_ones = [body for body, _ in bodies if "," in body or "." in body]
    open_ones = [body for body in open_ones if amount(body, ".") != amount(body, ",")]
    if not open_ones:
        return ".", ""
    if hint:
        return hint, ""
    point = "." in open_ones[0]
    if money:
        return ("," if point else "."), ""
    if point and _are_thousands([body for body, _ in bodies]):
        return ",", open_ones[0]
    return ".", open_ones[0]


def _are_thousands(bodies: list[str]) -> bool:
    """Whether 1.234 beside 567 is 1234: the bare numbers all have at most 3 digits.

    Decimals that are always three, beside numbers without any, would be chance: one in
    ten numbers with three decimals ends in 0 and is written shorter.
    """
    bare = [body for body in bodies if body.isdigit()]
    pointed = len(bodies) - len(bare)
    return bool(bare) and pointed >= 20 and max(map(len, bare)) <= 3


def _scales(
    numerals: list[tuple[Numeral, int]], units: Counter[str], money: bool
) -> tuple[dict[str, float], list[str]]:
    """Return the factor of each unit that is taken, and notes on it."""
    scales, notes = scales_of(units, money), []
    if scales is None:  # the units of some rows do not go with those of the others
        main = max((unit for unit in units if unit), key=lambda unit: units[unit])
        together = {main: units[main], "": units[""]}
        scales = dict.fromkeys(together, 1.0)
        if sum(together.values()) < MAJORITY * units.total():
            scales = {"": 1.0}
    if units[""] and any(scales):
        unit = next(unit for unit in scales if unit)
        if unit == "%" and _are_shares(numerals):
            scales[""] = 100.0
            notes.append("numbers without % are at most 1 and were multiplied by 100")
        elif scales[unit] == 1.0:
            n = units[""]
            what = "1 number" if n == 1 else f"{n:,} numbers"
            notes.append(f"{what} without a unit taken as {unit}")
    return {"": 1.0, **scales}, notes


def _are_shares(numerals: list[tuple[Numeral, int]]) -> bool:
    """Whether 0.12 stands beside 12 %: bare numbers up to 1, percents mostly above."""
    values: dict[bool, list[float]] = {True: [], False: []}
    for one, _ in numerals:
        value = amount(one.body, ".")
        value = amount(one.body, ",") if value is None else value
        if value is not None and one.unit in ("", "%"):
            values[one.unit == "%"].append(value)
    if not values[True] or not values[False]:
        return False
    return max(values[False]) <= 1 < float(np.median(values[True]))
