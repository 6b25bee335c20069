"""Moments as PostgreSQL prints them in its ISO style, with the offset from UTC."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from tiersim.units import NS_PER_S, NS_PER_US

_ISO = re.compile(
    r"(\d{4,6}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:"
    r" ?(Z|UTC|GMT)|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)?",
    re.ASCII,
)
#: Seconds since 1970, as extract(epoch from now()) gives them, of this century.
_EPOCH = re.compile(r"([1-9]\d{9})(?:\.(\d{1,9})\d*)?", re.ASCII)
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
    if found := _EPOCH.fullmatch(text):
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
