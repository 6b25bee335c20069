"""``/proc/diskstats``, ``/proc/stat`` and ``/proc/meminfo`` of Linux, alone or one behind the other, once or again and again.

Fields are those of the kernel's ``Documentation/admin-guide/iostats.rst`` (11 since 2.6, 15 since 4.18, 17 since 5.5, behind
major, minor and name) and of proc(5). A line that is a time (as ``date`` prints it, or seconds since 1970) begins a snapshot.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.moments import moment_of
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Key, Recorded, lines_of
from tiersim.traces.readers.timestamps import Clock

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
_PROCESSOR = (
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
_PROCESSOR_LINE = re.compile(r"cpu(\d{0,5}) +(\d{1,20}(?: \d{1,20}){3,9})")
_MEMORY_LINE = re.compile(r"([A-Z][\w()]{1,40}): +(\d{1,20})(?: kB)?")
_OTHER_LINE = re.compile(r"(?:intr|ctxt|btime|processes|procs_running|procs_blocked|softirq|page|swap) \d[\d ]*")

_SNIFFED_LINES = 200


def looks_like_proc(text: str) -> bool:
    """Tell whether a file that begins so holds any of the three."""
    lines = [line.strip("\r") for line in text.split("\n")[:_SNIFFED_LINES] if line.strip()]
    lines = lines[: -1 if len(text) >= 1 << 16 else None]
    clock = Clock()
    told = [bool(_values(line)) or _OTHER_LINE.fullmatch(line) is not None for line in lines]
    times = [not well and clock.unix_ns(line.strip()) is not None for line, well in zip(lines, told, strict=True)]
    kept = any(_kept(line) for line in lines)
    return kept and sum(told) + sum(times) >= 0.9 * len(lines)


def read_proc(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add each snapshot of the file; raises TraceError when it holds none."""
    clock = Clock()
    found = 0
    first: tuple[int | None, dict[Key, dict[str, Decimal | str]]] | None = None
    for unix_ns, values in _snapshots(source, clock, recorded):
        found += 1
        if found == 1:
            first = unix_ns, values
            continue
        if first is not None:
            recorded.add(f"{path.name} 1", *first)
            first = None
        recorded.add(f"{path.name} {found}", unix_ns, values)
    if first is not None:  # the only one may be of the moment of other files
        recorded.add(moment_of(path, "diskstats"), *first)
    if not found:
        raise TraceError(f"{path}: holds no line of /proc/diskstats, /proc/stat or /proc/meminfo; record it again")
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    recorded.inferred += clock.said(path.name)


def _snapshots(
    source: Opened, clock: Clock, recorded: Recorded
) -> Iterator[tuple[int | None, dict[Key, dict[str, Decimal | str]]]]:
    """Yield times and values; a snapshot ends where a time stands, or where what it has already comes again."""
    unix_ns: int | None = None
    values: dict[Key, dict[str, Decimal | str]] = {}
    for line in lines_of(source):
        said = _values(line)
        when = None if said or not line.strip() else clock.unix_ns(line.strip())
        if when is not None or any(
            name in values.get(key, ()) for key, more in said for name in more if name != "cores"
        ):
            if values:
                yield unix_ns, values
            unix_ns, values = when, {}
        if not said and when is None and line.strip() and not _OTHER_LINE.fullmatch(line.rstrip()):
            recorded.lose("damaged lines of /proc files", 1)
        for key, more in said:
            held = values.setdefault(key, {})
            cores = held.get("cores", Decimal(0))
            held.update(more)
            if "cores" in more:
                assert isinstance(cores, Decimal)
                held["cores"] = cores + 1
    if values:
        yield unix_ns, values


def _kept(line: str) -> bool:
    return any(more for _, more in _values(line))


def _values(line: str) -> list[tuple[Key, dict[str, Decimal]]]:
    """Return what a line says, by subject and entity; nothing when it is no line of these files."""
    if found := _DEVICE_LINE.fullmatch(line):
        numbers = zip(_DEVICE, found[2].split(), strict=False)
        return [(("device", found[1]), {word[0]: Decimal(n) * word[1] for word, n in numbers if word is not None})]
    if found := _PROCESSOR_LINE.fullmatch(line):
        if found[1]:
            return [(("processor", "host"), {"cores": Decimal(1)})]
        ticks = zip(_PROCESSOR, found[2].split(), strict=False)
        return [(("processor", "host"), {name: Decimal(n) * _TICK_MS for name, n in ticks})]
    if found := _MEMORY_LINE.fullmatch(line):
        counter = _MEMORY.get(found[1])
        return [(("memory", "host"), {} if counter is None else {counter: Decimal(found[2]) * _KIB})]
    return []
