"""Times of events, of which many are of the same second: only its first is read digit by digit."""

import re

from tiersim.traces.readers.timestamps import Clock

_PARTS = re.compile(r"(?:[.,](\d{1,9})\d*)?(.*)", re.DOTALL)
#: Length of a date and a time of day to the second, in ISO order.
_TO_SECONDS = 19
_MOST_SECONDS = 1 << 14


class EventTimes:
    """Turns texts such as ``2026-11-22T08:00:00.88+01:00`` into ns since 1970."""

    def __init__(self) -> None:
        """Begin with no second."""
        self._clock = Clock()
        self._seconds: dict[tuple[str, str], int | None] = {}

    def unix_ns(self, text: str) -> int:
        """Return a point in time; raises ValueError, a phrase, when *text* is none."""
        second = text[:_TO_SECONDS]
        found = _PARTS.fullmatch(text, _TO_SECONDS) if len(text) >= _TO_SECONDS else None
        if found is None or text[4:5] != "-":  # another order: month first, one digit of an hour
            unix_ns = self._clock.unix_ns(text)
            fraction = None
        else:
            fraction, zone = found.groups()
            key = second, zone
            if key not in self._seconds:
                if len(self._seconds) >= _MOST_SECONDS:
                    self._seconds.clear()
                self._seconds[key] = self._clock.unix_ns(second + zone)
            unix_ns = self._seconds[key]
        if unix_ns is None:
            raise ValueError(f"{text[:40]!r} is no time")
        return unix_ns + int(fraction.ljust(9, "0")) if fraction else unix_ns

    def said(self, name: str) -> list[str]:
        """Return a sentence for each assumption that was made in reading the file *name*."""
        return self._clock.said(name)
