"""``sar -d``, ``-u`` and ``-b`` of sysstat as text, and ``sadf -d``, the same separated by semicolons.

Text has the date in its first line only, and local times without a zone; ``sadf`` prints UTC unless asked otherwise.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.host_counters.sysstat import ALL_DEVICES, device_gauges, processor_gauges
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Key, Recorded, lines_of
from tiersim.traces.readers.timestamps import LATEST_NS, Clock, moment_within
from tiersim.units import NS_PER_S

_SADF = re.compile(r"^# hostname;interval;timestamp(?:;[^;\n]+)+$", re.MULTILINE)
_BANNER = re.compile(r"^Linux \S+ \(.*\)\s+(\d\S{5,12})\s.*CPU\)$", re.MULTILINE)
_TIME = re.compile(r"(\d\d:\d\d:\d\d(?: [AP]M)?)\s+(\S.*)")
#: A heading has one of these.
_TOLD_BY = frozenset(["DEV", "CPU", "rtps"])
_SNIFFED_BYTES = 1 << 13
_MINUTE_NS = 60 * NS_PER_S
_DAY_NS = 86_400 * NS_PER_S


def looks_like_sar(text: str) -> bool:
    """Tell whether a file that begins so is text of sar or of ``sadf -d``."""
    head = text[:_SNIFFED_BYTES]
    if head.startswith("# hostname;interval;timestamp"):
        return True
    headings = (found for line in head.split("\n") if (found := _TIME.match(line)))
    return _BANNER.search(head) is not None and any(_TOLD_BY & set(found[2].split()) for found in headings)


def read_sar(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add each interval; raises TraceError when the file has none of the tables that are known."""
    clock = Clock()
    reader = _Reader(path, clock, recorded)
    for line in lines_of(source):
        reader.take(line)
    if not reader.found:
        raise TraceError(f"{path}: has no table of sar -d, -u or -b; record one of these")
    recorded.lose("damaged lines of sar", reader.damaged)
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    recorded.inferred += clock.said(path.name)


class _Reader:
    """Takes lines; what the columns are, the last heading says."""

    def __init__(self, path: Path, clock: Clock, recorded: Recorded) -> None:
        self.found = self.damaged = 0
        self._path = path
        self._clock = clock
        self._recorded = recorded
        self._day = ""
        self._last_ns: dict[tuple[str, ...], int] = {}  # of each table
        self._apart_ns: dict[tuple[str, ...], int] = {}  # of its last two times
        self._set_back_ns = 0  # by which the clock was
        self._columns: list[str] = []
        self._sadf = False

    def take(self, line: str) -> None:
        """Take one line."""
        if line.startswith("# hostname;"):
            self._sadf, self._columns = True, line.split(";")[3:]
        elif self._sadf:
            self._take_sadf(line)
        elif found := _BANNER.match(line):
            self._day, self._columns = found[1], []
            self._last_ns.clear()
        elif found := _TIME.match(line):
            self._take_text(found[1], found[2].split())
        elif line.strip() and not line.startswith("Average") and "RESTART" not in line:
            self.damaged += 1

    def _take_sadf(self, line: str) -> None:
        fields = line.split(";")
        unix_ns = self._clock.unix_ns(fields[2]) if len(fields) > 2 else None
        if "RESTART" in line or line.startswith("#") or not line.strip():
            return
        if unix_ns is None or len(fields) != len(self._columns) + 3:
            self.damaged += 1
            return
        self._add(unix_ns, dict(zip(self._columns, fields[3:], strict=True)))

    def _take_text(self, time: str, words: list[str]) -> None:
        unix_ns = self._clock.unix_ns(f"{self._day} {time}")
        if "RESTART" in words:
            return
        if unix_ns is None:
            self.damaged += 1
        elif _is_heading(words):
            self._columns = words  # headings come again on every screen, or at every interval
            self._last_ns.setdefault(tuple(words), unix_ns)
        elif len(words) == len(self._columns):
            table = tuple(self._columns)
            self._last_ns[table] = self._counted_on(table, unix_ns + self._set_back_ns)
            self._add(self._last_ns[table], dict(zip(table, words, strict=True)))
        elif self._columns:
            self.damaged += 1

    def _counted_on(self, table: tuple[str, ...], unix_ns: int) -> int:
        """Return a time behind the last of a table: if much earlier, of the next day; or its clock was set back."""
        last_ns = self._last_ns[table]
        if last_ns - unix_ns >= _DAY_NS // 2:
            return unix_ns + -((unix_ns - last_ns) // _DAY_NS) * _DAY_NS
        if unix_ns < last_ns:
            step_ns = last_ns + self._apart_ns.get(table, 0) - unix_ns
            self._set_back_ns += step_ns
            self._recorded.warnings.append(
                f"{self._path.name}: its clock was set back by {step_ns / _MINUTE_NS:.0f} min (daylight saving time?);"
                " from there on times count on as if it had not been"
            )
            return unix_ns + step_ns
        if unix_ns > last_ns:
            self._apart_ns[table] = unix_ns - last_ns
        return unix_ns

    def _add(self, unix_ns: int, columns: Mapping[str, str]) -> None:
        key: Key
        gauges: dict[str, Decimal | str]
        if unix_ns >= LATEST_NS:
            self.damaged += 1
            return
        if "DEV" in columns:
            key, gauges = ("device", columns["DEV"]), device_gauges(columns)
        elif columns.get("CPU") in ("all", "-1"):
            key, gauges = ("processor", "host"), processor_gauges(columns)
        elif "rtps" in columns:
            key, gauges = ("device", ALL_DEVICES), device_gauges(columns)
        else:
            return
        self.found += 1
        if gauges:
            self._recorded.add(moment_within(self._path, unix_ns), unix_ns, {key: gauges})


def _is_heading(words: list[str]) -> bool:
    return any(word.endswith("/s") or word.startswith("%") for word in words)
