"""Dates and times of day as people write them; pandas reads them by explicit formats.

A text is brought to one writing first: its time is split off, month names in several
languages become English ones, and one sign stands between the parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from missfit.tables.marks import words_in
from missfit.tables.problems import needs

DAY = 86_400.0  # seconds
MOST_TEXT = 48  # characters of a date with its time and the name of its day
LATEST = 2040  # a year of two digits is not taken for a later one

_MONTHS = (
    "jan january januar janvier janv enero ene gennaio gen janeiro januari jänner",
    "feb february februar février fevrier févr fev febrero febbraio fevereiro februari",
    "mar march märz maerz mrz mär mars marzo março marco maart mrt",
    "apr april avril avr abril abr aprile",
    "may mai mayo maggio mag maio mei",
    "jun june juni juin junio giugno giu junho",
    "jul july juli juillet juil julio luglio lug julho",
    "aug august août aout agosto ago augustus",
    "sep sept september septembre septiembre settembre set setembro",
    "oct october oktober okt octobre octubre ottobre ott outubro out",
    "nov november novembre noviembre novembro",
    "dec december dezember dez décembre decembre déc diciembre dic dicembre dezembro",
)
_ENGLISH = {name: one.split()[0] for one in _MONTHS for name in one.split()}
_FILLERS = words_in("""of the de del do le den der""")
_WEEKDAYS = words_in(
    """mon monday tue tues tuesday wed wednesday thu thur thurs thursday fri friday sat
    saturday sun sunday mo montag di dienstag mi mittwoch donnerstag fr freitag sa
    samstag so sonntag lundi lun mardi mercredi mer jeudi jeu vendredi ven samedi
    sam dimanche dim lunes martes miércoles jueves viernes sábado domingo"""
)
_CLOCK = re.compile(
    r"(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s*([ap])?(?:\.?m\.?)?"
    r"\s*(z|utc|gmt|[+-]\d{2}:?\d{2})?(?: ?uhr)?"
)
_SPAN = re.compile(
    r"(?:\d+(?:\.\d+)? ?(?:d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?) ?)+"
)
_TIMED = re.compile(rf"(.*?\d)(?:t|,?\s+|\s*-\s+|(?<=\d{{4}}):){_CLOCK.pattern}")
_COMPACT = re.compile(r"((?:19|20)\d{6})(?:t?(\d\d)(\d\d)(\d\d)?)?z?")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th|er|º|ª)\b")
_SHAPE = re.compile(
    r"\d{1,4}-(?:\d{1,2}|[a-z]{3})(?:-\d{1,4})?|[a-z]{3}-\d{1,4}(-\d+)?"
)

YEAR_LAST = ("%d-%m-%Y", "%m-%d-%Y")
SHORT = ("%d-%m-%y", "%m-%d-%y", "%y-%m-%d")
FORMATS = (
    *("%Y-%m-%d", "%Y%m%d", "%d-%b-%Y", "%b-%d-%Y", "%Y-%b-%d", "%b-%Y", "%Y-%m"),
    *("%m-%Y", "%d-%b-%y", "%b-%d-%y", "%b-%y", *YEAR_LAST, *SHORT),
)
_WORDS = {"%d-%m": "day first", "%m-%d": "month first", "%y-%m": "year first"}


class Moment(NamedTuple):
    """A date in one writing, and its time."""

    date: str
    time: str  # "" where there is none
    zone: str


def moment(text: str) -> Moment | None:
    """Bring a date to one writing, None where a text has not the shape of one.

    >>> moment("Mon, 3. Mai 2021 14:30"), moment("1/2/21").date, moment("12 km")
    (Moment(date='3-may-2021', time='14:30', zone=''), '1-2-21', None)
    """
    text = text.strip()
    if not 4 <= len(text) <= MOST_TEXT or not any(map(str.isdigit, text)):
        return None
    text = unicodedata.normalize("NFKC", text).casefold()
    compact = _COMPACT.fullmatch(text)
    if compact:
        hour, minute, second = compact[2], compact[3], compact[4] or "00"
        return Moment(compact[1], f"{hour}:{minute}:{second}" if hour else "", "")
    date, time, zone = text, "", ""
    timed = _TIMED.fullmatch(text)
    if timed:
        date, zone = timed[1], timed[4] or ""
        time = f"{timed[2]} {timed[3]}m" if timed[3] else timed[2]
    parts = [_plain(part) for part in re.split(r"[\s/.,_-]+", date.strip(" ,.-/"))]
    date = "-".join(part for part in parts if part)
    return Moment(date, time, zone) if _SHAPE.fullmatch(date) else None


def _plain(part: str) -> str:
    """Return digits, an English month, or "" for a part that says nothing."""
    part = _ORDINAL.sub("", part)
    if part in _ENGLISH:
        return _ENGLISH[part]
    return "" if part in _FILLERS or part in _WEEKDAYS else part


@dataclass(frozen=True)
class DateFormat:
    """How the dates of a column are written.

    Attributes
    ----------
    formats : tuple of str
        As `datetime.strptime` takes them, in the order in which they are tried.
    first_year : int
        The first of the hundred years that years of two digits stand for.
    """

    formats: tuple[str, ...]
    first_year: int = LATEST - 99

    def numbers(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return days since 1970-01-01, NaN for texts that do not fit.

        >>> DateFormat(("%d-%m-%Y",)).numbers(["31.01.1970", "1/2/1970 12:00", "x"])
        array([30. , 31.5,  nan])
        """
        moments = [moment(text) for text in texts]
        dates = [one.date if one else "" for one in moments]
        days = np.full(len(texts), np.nan)
        for form in self.formats:
            todo = np.flatnonzero(np.isnan(days))
            days[todo] = days_of([dates[i] for i in todo], form, self.first_year)
        return days + _times(moments)

    def describe(self) -> str:
        """Return the order of day and month where figures alone do not say it."""
        words = [_WORDS[form[:5]] for form in self.formats if form in YEAR_LAST + SHORT]
        return " or ".join(dict.fromkeys(words))


def days_of(dates: Sequence[str], form: str, first_year: int) -> NDArray[np.float64]:
    """Read dates of one writing in one format, as days since 1970-01-01.

    >>> days_of(["1-2-70", "1-2-69", ""], "%d-%m-%y", 1970).tolist()
    [31.0, 36191.0, nan]
    """
    pd = _pandas()
    read = pd.to_datetime(pd.Series(dates, dtype=object), format=form, errors="coerce")
    date = read.to_numpy().astype("datetime64[D]")
    if "%y" in form:
        month = date.astype("datetime64[M]")
        year = month.astype("datetime64[Y]").astype(np.int64) + 1970
        centuries = (first_year + (year - first_year) % 100 - year) // 100
        moved = month + (1200 * centuries).astype("timedelta64[M]")
        date = moved.astype("datetime64[D]") + (date - month)
    return np.where(np.isnat(date), np.nan, date.astype(np.int64))


def _times(moments: Sequence[Moment | None]) -> NDArray[np.float64]:
    """Return the share of the day of each time, in UTC; 0 where there is none."""
    times = [one.time if one else "" for one in moments]
    zones = [one.zone if one else "" for one in moments]
    share = np.zeros(len(times))
    timed = np.flatnonzero([bool(time) for time in times])
    if len(timed):
        share[timed] = hours([times[i] for i in timed]) / 24
    for i in np.flatnonzero([zone[:1] in ("+", "-") for zone in zones]):
        sign = -1 if zones[i][0] == "-" else 1
        zone = zones[i][1:].replace(":", "")
        share[i] -= sign * (int(zone[:2]) + int(zone[2:]) / 60) / 24
    return share


def hours(texts: Sequence[str]) -> NDArray[np.float64]:
    """Read times of day and lengths of time as hours, NaN for other texts.

    >>> hours(["14:30", "2:15 PM", "2h 30m", "late"])
    array([14.5 , 14.25,  2.5 ,   nan])
    """
    pd = _pandas()
    found = [_CLOCK.fullmatch(text.strip().casefold()) for text in texts]
    clock = [
        (f"{one[1]} {one[2]}m" if one[2] else one[1]).replace(",", ".") if one else ""
        for one in found
    ]
    out = np.full(len(texts), np.nan)
    for form in ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", "%I:%M %p", "%I:%M:%S %p"):
        todo = np.flatnonzero(np.isnan(out))
        some = pd.Series([clock[i] for i in todo], dtype=object)
        read = pd.to_datetime(some, format=form, errors="coerce")
        out[todo] = (read - read.dt.normalize()).dt.total_seconds() / 3600
    spans = [i for i, x in enumerate(out) if np.isnan(x) and is_span(texts[i])]
    if spans:
        some = [texts[i].casefold().replace("mins", "min") for i in spans]
        read = pd.to_timedelta(pd.Series(some), errors="coerce")
        out[spans] = read.dt.total_seconds() / 3600
    return out


def is_span(text: str) -> bool:
    """Whether a text is a length of time in one unit or more, such as 2h 30m."""
    return _SPAN.fullmatch(text.strip().casefold()) is not None


@dataclass(frozen=True)
class ClockFormat:
    """Times of day and lengths of time such as 2h 30m, read as hours."""

    def numbers(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return hours, NaN for texts that do not fit."""
        return hours(texts)

    def describe(self) -> str:
        """Return what the numbers are."""
        return "time in hours"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise needs("pandas", error) from error
    return pandas
