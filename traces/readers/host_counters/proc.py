"""``/proc/diskstats``, ``/proc/stat`` and ``/proc/meminfo`` of Linux, alone or one behind the other, once or again and
again.

Fields are those of the kernel's ``Documentation/admin-guide/iostats.rst`` (11 since 2.6, 15 since 4.18, 17 since 5.5,
behind major, minor and name) and of proc(5). A line that is a time (as ``date`` prints it, or seconds since 1970)
begins a snapshot. Where a heading says what follows (``== /proc/stat ==``), what is behind another heading is left out.
"""

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Key, Recorded, lines_of
from tiersim.traces.readers.timestamps import Clock, moment_of, moment_within

#: Sectors are of this size whatever the device's own are; times of processors are in ticks of user space.
_SECTOR_BYTES, _TICK_MS, _KIB = 512, 10, 1024

#: Fields behind the name of a device: counter and what one of it is; None is not kept.
_DEVICE: tuple[tuple[str, int] | None, ...] = (
    ("reads", 1), ("reads_merged", 1), ("read_bytes", _SECTOR_BYTES), ("read_ms", 1),
    ("writes", 1), ("writes_merged", 1), ("written_bytes", _SECTOR_BYTES), ("write_ms", 1),
    ("in_flight", 1), ("busy_ms", 1), ("queue_ms", 1),
    ("discards", 1), None, ("discarded_bytes", _SECTOR_BYTES), ("discard_ms", 1),
    ("flushes", 1), ("flush_ms", 1),
)  # fmt: skip
_TIMES = (
    "user_ms",
    "nice_ms",
    "system_ms",
    "idle_ms",
    "io_wait_ms",
    "interrupt_ms",
    "soft_interrupt_ms",
    "steal_ms",
)
_MEMORY = {
    "MemTotal": "total_bytes", "MemFree": "free_bytes", "MemAvailable": "available_bytes", "Cached": "cached_bytes",
    "Dirty": "dirty_bytes", "Writeback": "writeback_bytes",
}  # fmt: skip

_DEVICE_LINE = re.compile(r" *\d{1,4} +\d{1,7} (\S{1,64}) (\d{1,20}(?: \d{1,20}){10}(?: \d{1,20}){0,9})")
_PROCESSORS_LINE = re.compile(r"cpu +(\d{1,20}(?: \d{1,20}){3,9})")
_CORE_LINE = re.compile(r"cpu\d{1,5}(?: \d{1,20}){4,10}")
_MEMORY_LINE = re.compile(r"([A-Z][\w()]{1,40}): +(\d{1,20})(?: kB)?")
_OTHER_LINE = re.compile(
    rf"{_CORE_LINE.pattern}|{_MEMORY_LINE.pattern}|"
    r"(?:intr|ctxt|btime|processes|procs_running|procs_blocked|softirq|page|swap) \d[\d ]*"
)

_HEADING = re.compile(r"== ?(\S[^=]{0,100}?) ?==\s*")
_FILES = ("/proc/diskstats", "/proc/stat", "/proc/meminfo")

#: Values by subject and entity.
_Values = dict[Key, dict[str, Decimal | str]]
_PROCESSORS: Key = ("processor", "host")

_SNIFFED_LINES, _SNIFFED_CHARACTERS = 200, 1 << 16
_WELL_SHARE = 0.9


def looks_like_proc(text: str) -> bool:
    """Tell whether a file that begins so holds any of the three."""
    lines = [line.strip("\r") for line in _of_proc(text.split("\n")[:_SNIFFED_LINES]) if line.strip()]
    if len(text) >= _SNIFFED_CHARACTERS and lines:
        lines.pop()  # it may go on
    clock = Clock()
    said = [_said(line) for line in lines]
    told = sum(
        bool(found) or _is_other(line) or clock.unix_ns(line.strip()) is not None
        for line, found in zip(lines, said, strict=True)
    )
    return any(found and found[1] for found in said) and told >= _WELL_SHARE * len(lines)


def read_proc(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add each snapshot of the file; raises TraceError when it holds none."""
    clock = Clock()
    found = list(_snapshots(source, clock, recorded))
    if not found:
        raise TraceError(f"{path}: holds no line of /proc/diskstats, /proc/stat or /proc/meminfo; record it again")
    for number, (unix_ns, values) in enumerate(found, 1):
        alone = len(found) == 1  # it may be of the moment of other files
        recorded.add(moment_of(path, "diskstats") if alone else moment_within(path, number), unix_ns, values)
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    recorded.inferred += clock.said(path.name)


def proc_values(lines: Iterable[str]) -> dict[Key, dict[str, Decimal | str]]:
    """Return what the lines of these files say of one moment, by subject and entity."""
    values: _Values = {}
    for line in lines:
        _take(values, line)
    return values


def _take(values: _Values, line: str) -> bool:
    """Take in a line that says something that counts; tell whether it does."""
    said = _said(line)
    if said is not None:
        key, more = said
        values.setdefault(key, {}).update(more)
        return True
    if _CORE_LINE.fullmatch(line):
        host = values.setdefault(_PROCESSORS, {})
        host["cores"] = Decimal(host.get("cores", 0)) + 1
        return True
    return False


def _snapshots(source: Opened, clock: Clock, recorded: Recorded) -> Iterator[tuple[int | None, _Values]]:
    """Yield times and values; a snapshot ends where a time stands, or where what it has already comes again."""
    unix_ns: int | None = None
    values: _Values = {}
    for line in _of_proc(lines_of(source)):
        said = _said(line)
        if said is not None and any(name in values.get(said[0], ()) for name in said[1]):
            yield unix_ns, values
            unix_ns, values = None, {}
        if not _take(values, line) and line.strip() and not _is_other(line):
            when = clock.unix_ns(line.strip())
            if when is None:
                recorded.lose("damaged lines of /proc files", 1)
                continue
            if values:
                yield unix_ns, values
            unix_ns, values = when, {}
    if values:
        yield unix_ns, values


def _of_proc(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that are behind no heading, or behind one of a file that is read."""
    read = True
    for line in lines:
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            read = heading[1] in _FILES
        elif read:
            yield line


def _is_other(line: str) -> bool:
    return _OTHER_LINE.fullmatch(line.rstrip()) is not None


def _said(line: str) -> tuple[Key, dict[str, Decimal]] | None:
    """Return what a line says of which subject and entity; None when it says nothing that counts."""
    if found := _DEVICE_LINE.fullmatch(line):
        numbers = zip(_DEVICE, found[2].split(), strict=False)
        return ("device", found[1]), {word[0]: Decimal(n) * word[1] for word, n in numbers if word is not None}
    if found := _PROCESSORS_LINE.fullmatch(line):
        return _PROCESSORS, {name: Decimal(n) * _TICK_MS for name, n in zip(_TIMES, found[1].split(), strict=False)}
    if (found := _MEMORY_LINE.fullmatch(line)) and found[1] in _MEMORY:
        return ("memory", "host"), {_MEMORY[found[1]]: Decimal(found[2]) * _KIB}
    return None
