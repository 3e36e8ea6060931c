"""What stands beside a number: currencies, percent, magnitudes and units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

CURRENCIES = {
    "$": "$ usd us$ dollar",
    "€": "€ eur euro",
    "£": "£ gbp pound",
    "¥": "¥ jpy yen cny rmb cn¥ 元",
    "CHF": "chf fr sfr franken",
    "₹": "₹ inr rs rupee",
    "kr": "kr sek nok dkk",
    "zł": "zł pln zl",
    "Kč": "kč czk",
    "Ft": "huf forint",
    "₽": "₽ rub руб",
    "R$": "r$ brl real",
    "C$": "c$ cad ca$",
    "A$": "a$ aud au$",
    "NZ$": "nz$ nzd",
    "HK$": "hk$ hkd",
    "S$": "s$ sgd",
    "MX$": "mx$ mxn",
    "R": "zar r",
    "₩": "₩ krw won",
    "₺": "₺ try tl",
    "₪": "₪ ils",
    "฿": "฿ thb baht",
    "AED": "aed",
    "SAR": "sar",
}
_CURRENCY = {name: key for key, names in CURRENCIES.items() for name in names.split()}

MAGNITUDES = {
    **dict.fromkeys(("k", "tsd", "thousand"), 1e3),
    **dict.fromkeys(("lakh", "lac"), 1e5),
    **dict.fromkeys(("m", "mn", "mm", "mio", "mln", "million"), 1e6),
    **dict.fromkeys(("cr", "crore"), 1e7),
    **dict.fromkeys(("b", "bn", "mrd", "md", "billion"), 1e9),
    **dict.fromkeys(("trn", "trillion"), 1e12),
}

# units of one kind, by the size of each
SIZES: dict[str, dict[str, float]] = {
    "length": {
        **{"mm": 1e-3, "cm": 1e-2, "dm": 0.1, "m": 1.0, "km": 1e3, "in": 0.0254},
        **{"ft": 0.3048, "yd": 0.9144, "mi": 1609.344, "nmi": 1852.0},
    },
    "mass": {
        **{"µg": 1e-9, "mg": 1e-6, "g": 1e-3, "kg": 1.0, "t": 1e3},
        **{"lb": 0.45359237, "oz": 0.028349523125, "st": 6.35029318},
    },
    "time": {
        **{"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0},
        **{"week": 604800.0, "month": 2629746.0, "y": 31556952.0},
    },
    "area": {
        **{"cm2": 1e-4, "m2": 1.0, "km2": 1e6, "ha": 1e4, "acre": 4046.8564224},
        **{"ft2": 0.09290304, "yd2": 0.83612736, "mi2": 2589988.110336},
    },
    "volume": {
        **{"ml": 1e-3, "cl": 1e-2, "dl": 0.1, "l": 1.0, "hl": 100.0, "m3": 1e3},
        **{"cm3": 1e-3, "gal": 3.785411784},
    },
    "speed": {"km/h": 1.0, "m/s": 3.6, "mph": 1.609344, "kn": 1.852},
    "power": {"w": 1e-3, "kw": 1.0, "mw": 1e3, "hp": 0.745699872, "ps": 0.73549875},
    "energy": {"wh": 1e-3, "kwh": 1.0, "mwh": 1e3, "gwh": 1e6},
    "data": {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12},
    "share": {"%": 1.0, "‰": 0.1, "bp": 0.01},
}
_NAMES = {
    "mm": "millimeter millimetre",
    "cm": "centimeter centimetre",
    "m": "meter metre mtr",
    "km": "kilometer kilometre",
    "in": 'inch inche zoll " ″',
    "ft": "foot feet ' ′",
    "yd": "yard",
    "mi": "mile",
    "µg": "μg ug mcg",
    "mg": "milligram",
    "g": "gram gr",
    "kg": "kilogram kilo",
    "t": "ton tonne",
    "lb": "pound",
    "oz": "ounce",
    "s": "sec second sek",
    "min": "minute mn",
    "h": "hour hr std stunde heure",
    "d": "day tag jour",
    "week": "wk",
    "month": "mo mth monat moi",
    "y": "year yr jahr an année",
    "m2": "sqm squaremeter squaremetre qm sqmt",
    "ft2": "sqft squarefeet squarefoot sft sqfeet",
    "km2": "sqkm",
    "yd2": "sqyd sqyard",
    "mi2": "sqmi",
    "ha": "hectare hektar",
    "acre": "ac",
    "l": "liter litre ltr",
    "ml": "milliliter millilitre cc",
    "gal": "gallon",
    "km/h": "kmh kph kmph",
    "mph": "mi/h",
    "kn": "knot kt",
    "hp": "bhp",
    "%": "percent pct prozent pc",
}
_NAME = {name: key for key, names in _NAMES.items() for name in names.split()}
_MAGNITUDE = re.compile(r"(tsd|mio|mln|mrd|mn|mm|bn|k|m|b)\.? ?(\D+)")
MOST_UNIT = 20  # characters of a unit


def currency_of(text: str) -> str:
    """Return the sign of a currency that is written in any way, or "".

    >>> currency_of("EUR"), currency_of("Rs."), currency_of("km")
    ('€', '₹', '')
    """
    folded = text.strip().casefold()
    found = _CURRENCY.get(folded) or _CURRENCY.get(folded.rstrip("."))
    return found or _CURRENCY.get(folded.rstrip("s"), "")


def unit_of(text: str) -> tuple[str, str]:
    """Return the currency and the unit of what stands after a number.

    A magnitude, such as the k of "k€", is a unit.

    >>> unit_of("km"), unit_of("Mio. €"), unit_of("EUR"), unit_of("sq. ft.")
    (('', 'km'), ('€', 'mio'), ('€', ''), ('', 'ft2'))
    """
    if not text:
        return "", ""
    currency = currency_of(text)
    if currency:
        return currency, ""
    folded = text.strip().casefold()
    both = _MAGNITUDE.fullmatch(folded)
    if both and both[2] not in ("r", "rs") and currency_of(both[2]):  # 3 br are rooms
        return currency_of(both[2]), both[1]
    folded = re.sub(r"[\s.^]", "", folded).replace("²", "2").replace("³", "3")
    if len(folded) > 2 and folded.isalpha() and folded.endswith("s"):
        folded = folded[:-1]
    return "", _NAME.get(folded, folded)


def scales_of(units: Mapping[str, float], currency: bool) -> dict[str, float] | None:
    """Return the factor of each unit of a column, None where they do not go together.

    Parameters
    ----------
    units : mapping of str to float
        The units found and how many rows have each; "" for a bare number.
    currency : bool
        Whether amounts of money stand in the column, so that "m" is a million.

    Examples
    --------
    >>> scales_of({"km": 90, "m": 10}, False)
    {'km': 1.0, 'm': 0.001}
    >>> scales_of({"": 5, "k": 2}, False), scales_of({"kg": 1, "km": 9}, False)
    ({'': 1.0, 'k': 1000.0}, None)
    """
    named = [unit for unit in units if unit]
    many = len(named) > 1 or currency
    if named and set(named) <= set(MAGNITUDES) and (many or named != ["m"]):
        return {unit: MAGNITUDES.get(unit, 1.0) for unit in units}
    if len(named) <= 1:
        return dict.fromkeys(units, 1.0)
    for sizes in SIZES.values():
        if set(named) <= set(sizes):
            main = max(named, key=lambda unit: units[unit])
            factor = {unit: _ratio(sizes[unit], sizes[main]) for unit in named}
            return {unit: factor.get(unit, 1.0) for unit in units}
    return None


def _ratio(size: float, main: float) -> float:
    """Divide sizes so that powers of ten come out as they are written.

    >>> _ratio(1.0, 1e3), _ratio(1e-3, 1.0), _ratio(1e3, 1.0)
    (0.001, 0.001, 1000.0)
    """
    ratio = size / main
    ten = float(f"1e{round(math.log10(ratio))}")
    return ten if math.isclose(ratio, ten, rel_tol=1e-12) else ratio
