"""Points in time as logs and tools print them, PostgreSQL's ISO style among them: with digits to the nanosecond, in the
zones that can be told; and which moment of a recording a file belongs to by its name.

Abbreviations of zones are no standard: those that mean one offset in practice are known, others (``CST`` is American
and Chinese, ``IST`` Indian, Irish and Israeli) are taken as UTC, which is said.
"""

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import Path

from tiersim.units import NS_PER_S, NS_PER_US

#: Later times (of 2116) are damage, and differences of earlier ones fit int64.
LATEST_NS = 1 << 62

_EPOCH = date(1970, 1, 1).toordinal()
_DATE = r"(?:(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)|(?P<us>\d\d?/\d\d?/(?:\d{4}|\d\d)))"
_TIME = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,18}))?)?(?: ?(?P<half>[AP]M)\b)?"
_ZONE = r"(?: ?(?P<zone>[+-]\d\d(?::?\d\d){0,2}(?![\w.])|[A-Z]{1,5}\b))?"
#: A date and a time of day; as a text of its own, or at the beginning of what follows it.
TIMESTAMP = re.compile(rf"{_DATE}(?:T|, ?| +){_TIME}{_ZONE}")
#: What ``date`` prints: ``Sat Nov 21 19:52:09 UTC 2026``, ``Sat Nov 21 07:52:09 PM UTC 2026``.
_OF_DATE = re.compile(
    rf"[A-Z][a-z]{{2}} (?P<name>[A-Z][a-z]{{2}}) +(?P<day>\d\d?) {_TIME}{_ZONE} (?P<year>\d{{4}})(?P<us>)(?P<month>)"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SECONDS = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?")

#: Hours east of Greenwich.
_ABBREVIATIONS = {
    word: hours
    for hours, words in (
        (0.0, "UTC GMT Z UCT WET"),
        (1.0, "WEST CET MET BST"),
        (2.0, "CEST MEST EET SAST"),
        (3.0, "EEST MSK"),
        (8.0, "HKT AWST"),
        (9.0, "JST KST"),
        (9.5, "ACST"),
        (10.0, "AEST"),
        (10.5, "ACDT"),
        (11.0, "AEDT"),
        (12.0, "NZST"),
        (13.0, "NZDT"),
        (-2.5, "NDT"),
        (-3.0, "ADT"),
        (-3.5, "NST"),
        (-4.0, "AST EDT"),
        (-5.0, "EST CDT"),
        (-6.0, "MDT"),
        (-7.0, "MST PDT"),
        (-8.0, "PST AKDT"),
        (-9.0, "AKST"),
        (-10.0, "HST"),
    )
    for word in words.split()
}


class Clock:
    """Turns timestamps into ns since 1970 and remembers what it had to assume, for a sentence at the end."""

    def __init__(self) -> None:
        """Begin with nothing assumed."""
        self.zones: set[str] = set()  # that could not be told; "" is none at all
        self.month_first = False  # a date was taken as month/day/year and could be day/month/year

    def unix_ns(self, text: str) -> int | None:
        """Return the point in time that *text* begins with; None when it begins with none, or with
        one that cannot be.
        """
        if found := _SECONDS.fullmatch(text):
            return _within(int(found[1]) * NS_PER_S + _fraction_ns(found[2]))
        found = TIMESTAMP.match(text) or _OF_DATE.match(text)
        return None if found is None else self.of(found)

    def of(self, found: re.Match[str]) -> int | None:
        """Return the point in time of a match; None when there is no such day or hour, or it is before 1970."""
        us = found["us"]
        named = found.groupdict().get("name")
        if us:
            day = _us_day(us)
        else:
            month = int(found["month"]) if named is None else _month(named)
            day = _day(int(found["year"]), month, int(found["day"]))
        hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
        if found["half"]:
            hour = hour % 12 + 12 * (found["half"] == "PM")
        if day is None or hour > 23 or minute > 59 or second > 60:
            return None
        self.month_first |= bool(us) and all(int(part) < 13 for part in us.split("/")[:2])
        seconds = day * 86_400 + hour * 3_600 + minute * 60 + second - self._offset_s(found["zone"] or "")
        return _within(seconds * NS_PER_S + _fraction_ns(found["fraction"]))

    def said(self, name: str) -> list[str]:
        """Return a sentence for each assumption that was made in reading the file *name*."""
        said = []
        for zone in sorted(self.zones):
            which = f"the time zone {zone!r}, which has several meanings" if zone else "no time zone"
            said.append(f"{name} has {which}: its times are assumed to be UTC")
        if self.month_first:
            said.append(f"{name}: dates such as 03/04/2026 are assumed to be month/day/year")
        return said

    def _offset_s(self, zone: str) -> int:
        if zone[:1] in ("+", "-"):
            digits = zone[1:].replace(":", "").ljust(6, "0")
            seconds = int(digits[:2]) * 3_600 + int(digits[2:4]) * 60 + int(digits[4:6])
            return -seconds if zone[0] == "-" else seconds
        hours = _ABBREVIATIONS.get(zone.upper())
        if hours is None:
            self.zones.add(zone)
            return 0
        return round(hours * 3_600)


@lru_cache(64)
def _day(year: int, month: int, day: int) -> int | None:
    """Return the number of a day since 1970; None when there is none."""
    try:
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def _month(name: str) -> int:
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def _us_day(text: str) -> int | None:
    first, second, year = (int(part) for part in text.split("/"))
    month, day = (second, first) if first > 12 else (first, second)
    return _day(year if year > 99 else 2000 + year, month, day)


def _within(unix_ns: int) -> int | None:
    return unix_ns if 0 <= unix_ns < LATEST_NS else None


def _fraction_ns(digits: str | None) -> int:
    return int((digits or "")[:9].ljust(9, "0"))


_ISO = re.compile(
    r"(\d{4,6}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:"
    r" ?(Z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
#: Seconds since 1970, as extract(epoch from now()) gives them, of this century.
_UNIX_SECONDS = re.compile(r"([1-9]\d{9})(?:\.(\d{1,9})\d*)?", re.ASCII)
_1970 = datetime(1970, 1, 1)


@lru_cache(4096)
def unix_ns(text: str) -> int:
    """Return a moment in ns since 1970; without an offset it is taken as UTC, see :func:`has_offset`.

    >>> unix_ns("2026-11-21 01:58:52.385647+00") - unix_ns("2026-11-21T07:28:52+05:30")
    385647000

    Raises ValueError, a phrase, for what is no moment in ISO style.
    """
    ns = _ns(text.strip())
    if not 0 <= ns < 1 << 63:
        raise ValueError("no moment from 1970 to 2262, which 64 bits count")
    return ns


def _ns(text: str) -> int:
    if found := _UNIX_SECONDS.fullmatch(text):
        return int(found[1]) * NS_PER_S + int((found[2] or "").ljust(9, "0"))
    found = _ISO.fullmatch(text)
    if found is None:
        raise ValueError("no moment as PostgreSQL prints it in its ISO style; SET datestyle TO ISO and save it again")
    date, time, fraction, _, sign, *offset = found.groups()
    try:
        moment = datetime.fromisoformat(f"{date} {time}")
    except ValueError:
        raise ValueError("no day of the calendar, or no time of a day") from None
    hours, minutes, seconds = (int(part or 0) for part in offset)
    east = timedelta(hours=hours, minutes=minutes, seconds=seconds) * (-1 if sign == "-" else 1)
    whole = (moment - _1970 - east) // timedelta(seconds=1)
    return whole * NS_PER_S + int((fraction or "").ljust(9, "0"))


def has_offset(text: str) -> bool:
    """Tell whether a moment that :func:`unix_ns` understands says how far from UTC it is."""
    found = _ISO.fullmatch(text.strip())
    return found is None or found[4] is not None or found[5] is not None


@lru_cache(4096)
def canonical(text: str) -> str:
    """Return a moment in UTC, so that one moment is one text whatever the time zone of who saved it; other texts as
    they are.
    """
    try:
        ns = unix_ns(text)
        moment = datetime.fromtimestamp(ns // NS_PER_S, UTC).replace(microsecond=ns % NS_PER_S // NS_PER_US)
    except (ValueError, OverflowError, OSError):
        return text
    return moment.isoformat(" ")


_EARLY = ("before", "begin", "start", "first", "old", "pre")
_LATE = ("after", "end", "stop", "last", "new", "post", "finish", "final")
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_MANY = 1 << 30


def moment_of(path: Path, what: str) -> str:
    """Return the moment that a file of *what* (the name of a view, say) belongs to, by its name and its folder's.

    ``before/pg_stat_wal.csv`` and ``pg_stat_io.before.csv`` are of the moment ``before`` each; a file whose name says
    no moment is of its folder, and a number in it is one within a folder called *before* or *after*.
    """
    own = _words(path.name.split(".csv")[0].split(".json")[0].split(".txt")[0].replace(what, ""))
    folder = path.parent.name
    if rank(folder)[0]:  # before, pg_before
        folder = _words(folder)
    if own and (rank(own)[0] or not rank(folder)[0]):
        return own
    # of before/pg16_io.csv the number alone would be that of after/pg16_io.csv
    return f"{folder} {own}" if own else folder


def _words(name: str) -> str:
    """Return the words of a name that tell a moment."""
    return " ".join(word for word in _PARTS.findall(name) if word.isdigit() or word.lower() in (*_EARLY, *_LATE))


def moment_within(path: Path, number: int) -> str:
    """Return the name of one of the moments that a file tells apart itself."""
    return f"{path.parent.name}/{path.name} {number}"


def rank(moment: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return the place of a moment among others: those called *before* first, then by number, those called *after*
    last.
    """
    words = _PARTS.findall(moment.lower())
    side = any(word in _LATE for word in words) - any(word in _EARLY for word in words)
    numbers = tuple((int(word), "") if word.isdigit() and len(word) < 10 else (_MANY, word.zfill(40)) for word in words)
    return side, numbers


def pair_of(moment: str) -> tuple[str, ...]:
    """Return what a moment called *before* and the one called *after* it have in common: all other words."""
    return tuple(word for word in _PARTS.findall(moment.lower()) if word not in (*_EARLY, *_LATE))
