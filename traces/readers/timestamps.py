"""Points in time as logs and tools print them: with digits to the nanosecond, in the zones that can be told.

Abbreviations of zones are no standard: those that mean one offset in practice are known, others (``CST`` is American
and Chinese, ``IST`` Indian, Irish and Israeli) are taken as UTC, which is said.
"""

import re
from datetime import date
from functools import lru_cache

from tiersim.units import NS_PER_S

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
