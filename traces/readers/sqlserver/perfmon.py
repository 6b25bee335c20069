"""Performance logs of Windows as CSV or TSV: ``relog -f csv``, ``typeperf``, logs that perfmon writes as text."""

import csv
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Key, Piece, Recorded, Source, lines_of
from tiersim.traces.readers.sqlserver.events import PAGE_BYTES
from tiersim.traces.readers.sqlserver.performance_counters import UNCHECKED, BundleCounter, counted, engine_of
from tiersim.traces.readers.sqlserver.pool_size import tell_pool
from tiersim.traces.readers.timestamps import Clock, moment_within
from tiersim.traces.readers.views import number
from tiersim.traces.statistics import storable
from tiersim.units import NS_PER_S

#: The first heading tells the format, the zone's name in the language of the host, and what is to be added to reach
#: UTC, in minutes.
_FIRST = re.compile(r'"?\(PDH-[CT]SV 4\.0\)(?:.*\((-?\d{1,4})\))?"?')
_PATH = re.compile(r"\\\\[^\\]+\\(?P<object>[^\\(]+)(?:\((?P<instance>.*)\))?\\(?P<counter>[^\\]+)")
_NS_PER_MIN = 60 * NS_PER_S
_DAMAGED = "damaged lines"
#: How the names of its moments begin.
_OWN = "perfmon "
_MOST_NAMED = 3


class _Column(NamedTuple):
    """A counter that is kept."""

    place: int
    counted: BundleCounter


def _looks_like(start: str) -> bool:
    return any(_FIRST.match(line) for line in start.split("\n", 8)[:8])


def _read(path: Path, opened: Opened, recorded: Recorded) -> None:
    """Add what the counters say, sample by sample; raises TraceError when none is known or most lines are damaged."""
    lines = lines_of(opened)
    heading = next((line for line in lines if _FIRST.match(line)), None)
    if heading is None:
        raise TraceError(
            f"{path}: has no line of headings that begins with (PDH-CSV 4.0); export it again by relog -f csv"
        )
    delimiter = "\t" if heading.startswith(('"(PDH-TSV', "(PDH-TSV")) else ","
    names = _values(heading, delimiter)
    columns = _columns(path, names, recorded)
    first = _FIRST.match(heading)
    offset = first[1] if first else None
    clock = Clock()
    sums: dict[tuple[Key, str], Decimal] = {}
    before_ns: int | None = None
    good = damaged = 0
    for values in _rows(lines, delimiter):
        local_ns = clock.unix_ns(values[0].strip()) if len(values) == len(names) else None
        unix_ns = None if local_ns is None else local_ns + int(offset or 0) * _NS_PER_MIN
        if unix_ns is None or (before_ns is not None and unix_ns <= before_ns):
            damaged += 1
            continue
        found = _sample(columns, values, sums, None if before_ns is None else unix_ns - before_ns)
        before_ns = unix_ns
        good += 1
        recorded.add(f"{_OWN}{moment_within(path, unix_ns)}", unix_ns, found)
    if damaged > good:
        raise TraceError(
            f"{path}: {damaged:,} of {damaged + good:,} lines are no samples; export it again by relog -f csv"
        )
    if not good:
        raise TraceError(f"{path}: holds no samples; record again")
    recorded.lose(_DAMAGED, damaged)
    if opened.damage:
        recorded.warnings.append(f"{path.name}: {opened.damage}; what stands before is read")
    _say(path, columns, recorded, zone_is_told=offset is not None)


def _finish(recorded: Recorded) -> None:
    """Leave out what was added up from samples where the server tells the sums themselves: both
    count from other zeros.
    """
    own = [piece.moment.startswith(_OWN) for piece in recorded.pieces]
    others = {key for piece, is_own in zip(recorded.pieces, own, strict=True) if not is_own for key in piece.values}
    left_out = False
    for place, piece in enumerate(recorded.pieces):
        twice = {key for key in piece.values if own[place] and key[0] in _SUMMED and key in others}
        if twice:
            left_out = True
            kept = {key: values for key, values in piece.values.items() if key not in twice}
            recorded.pieces[place] = Piece(piece.moment, piece.unix_ns, kept)
    if left_out:
        recorded.warnings.append(
            "SQL Server's counters are there as samples of perfmon and as sums of dm_os_performance_counters: the sums"
            " count"
        )
    tell_pool(recorded)


#: Subjects that rates are added up of.
_SUMMED = ("database", "checkpointer", "background writer", "log")

#: What the registry of sources holds of it.
PERFMON = Source(_read, _looks_like, _finish)


def _rows(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    for line in lines:
        if not line.lstrip('"')[:1].isdigit():
            continue  # what typeperf says at the end
        yield _values(line, delimiter)


def _values(line: str, delimiter: str) -> list[str]:
    """Return the values of a line; none when it is damaged."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _columns(path: Path, names: Sequence[str], recorded: Recorded) -> list[_Column]:
    """Return the counters that are kept; raises TraceError when there are none."""
    columns: list[_Column] = []
    engines: dict[str, None] = {}
    for place, name in enumerate(names):
        found = _PATH.fullmatch(name.strip())
        if found is None:
            continue
        known = counted(found["object"], found["counter"], found["instance"] or "")
        if known is None:
            continue
        engine = engine_of(found["object"])
        if engine is not None:
            engines.setdefault(engine.lower())
            if engine.lower() != next(iter(engines)):
                continue
        columns.append(_Column(place, known))
    if len(engines) > 1:
        first, *others = engines
        recorded.warnings.append(
            f"{path.name}: has counters of several instances of SQL Server; those of {first} are read, and not those of"
            f" {', '.join(others[:_MOST_NAMED])}"
        )
    if not columns:
        few = ", ".join(name[:60] for name in names[1 : 1 + _MOST_NAMED])
        raise TraceError(
            f"{path}: none of its {len(names) - 1:,} counters is known ({few}); their names have to be English, such as"
            " \\PhysicalDisk(*)\\Disk Reads/sec"
        )
    return columns


def _sample(
    columns: Sequence[_Column], values: Sequence[str], sums: dict[tuple[Key, str], Decimal], step_ns: int | None
) -> dict[Key, dict[str, Decimal | str]]:
    """Return what one line says. Rates add up: each is the mean since the line before, which lies *step_ns* back."""
    found: dict[Key, dict[str, Decimal | str]] = {}
    for place, known in columns:
        text = values[place].strip()
        if "," in text:
            text = text.replace(",", ".")
        key = (known.subject, known.entity)
        try:
            value = number(text) if text else None
        except ValueError:
            value = None
        if known.rate:
            grown = sums.get((key, known.word), Decimal(0))
            if value is not None and step_ns is not None and value > 0:
                grown = storable(grown + value * step_ns / NS_PER_S) or grown
            sums[key, known.word] = grown
            found.setdefault(key, {})[known.word] = grown
        elif value is not None:
            kept = storable(value * known.factor)
            if kept is not None:
                found.setdefault(key, {})[known.word] = kept
    return found


def _say(path: Path, columns: Sequence[_Column], recorded: Recorded, *, zone_is_told: bool) -> None:
    if not zone_is_told:
        recorded.inferred.append(f"{path.name} has no time zone: its times are assumed to be UTC")
    if any(column.counted.rate for column in columns):
        recorded.host.setdefault("engine", "sqlserver")
        recorded.host.setdefault("page_bytes", PAGE_BYTES)
        recorded.inferred.append(f"{path.name}: what it counts per second is added up from sample to sample")
    if any(column.counted.word == "flush_wait_ms" for column in columns):
        recorded.inferred.append(f"{path.name}: {UNCHECKED}")
