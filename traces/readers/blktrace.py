"""Reader of Linux block traces: the per-CPU files of blktrace(8), a ``blkparse -d`` dump, a tracefs ``blk`` stream.

One row is one queued bio; a split bio is two rows of the same queue time, merged bios share ``command`` and
``issue_ns``. ``issue_ns`` is the last time that the device got the command, null where a device shows no issue (device
mapper, md). A recording without queue events (blktrace -a issue -a complete) has one row for each issued command, whose
time is that of the issue, without a stream. ``latency_ns`` is from queue to completion, null when the recording has
none. ``stream`` is the process that queued it. ``file`` is the device, ``major,minor``.

Flushes are rows of length 0. What fsync waited for is one row: queued → last completion, ``issue_ns`` of the device's
flush command. Several that one flush command served share its number. A write that asks for a flush before its data is
the row of the write, with its latency up to the end of everything, behind a flush row of the same queue time, whose
latency is up to the end of that flush command. A write that must be on stable storage (FUA) on a device that has no
such write is followed by another flush row of the same queue time. Both kinds are there only if the device got the
command, so the distinct commands among the flush rows are the flush commands that the device got.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import Requests, RequestWriter
from tiersim.traces.readers.blktrace_files import EventFile, Names
from tiersim.traces.readers.blktrace_kernels import (
    DAMAGED_PLACES,
    IMPOSSIBLE,
    LOST_BYTES,
    MAGIC,
    MAX_DISORDER_NS,
    OUT_OF_ORDER,
    RECORDS,
    TIME_NS,
    Table,
)
from tiersim.traces.readers.blktrace_window import Window
from tiersim.traces.readers.purposes import Purposes

Order = NDArray[np.intp]
Progress = Callable[[int, int], None]

#: How files of the known versions begin, in either byte order.
MAGICS = tuple((MAGIC | version).to_bytes(4, order) for version in (7, 8) for order in ("little", "big"))
#: All files together are read so much at a time.
CHUNK_BYTES = 4 << 20
MIN_CHUNK_BYTES = 256 << 10
_PER_CPU = re.compile(r"(.+)\.blktrace\.(\d+)")
_REMEDY = "give the files that blktrace wrote, or a dump that `blkparse -d` wrote"


ISSUES_ONLY = (
    "no queue event is recorded: times and latencies begin when the device got the command, processes are not known"
)


def find_parts(path: Path) -> list[Path]:
    """List the files of the recording that *path* is one of, or is the base name of.

    ``sda.blktrace.0`` or ``sda`` stand for all ``sda.blktrace.N`` beside it; any other file stands for itself.
    """
    match = _PER_CPU.fullmatch(path.name)
    if match is None and path.exists():
        return [path]
    base = match[1] if match else path.name
    parts: dict[int, Path] = {}
    if path.parent.is_dir():
        for sibling in path.parent.iterdir():
            found = _PER_CPU.fullmatch(sibling.name)
            if found and found[1] == base:
                parts[int(found[2])] = sibling
    return [parts[cpu] for cpu in sorted(parts)] or [path]


def read_blktrace(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the requests of one recording to *writer* and return what the manifest says of it.

    *paths* are its files or base names, see :func:`find_parts`. Memory does not grow with their length. *progress* is
    called with the bytes read and the bytes there are. Raises TraceError when nothing in them is readable.
    """
    parts = list(dict.fromkeys(part for path in paths for part in find_parts(path)))
    names, window, purposes = Names(), Window(), Purposes()
    chunk_bytes = max(CHUNK_BYTES // max(len(parts), 1), MIN_CHUNK_BYTES)
    with ExitStack() as stack:
        hashing = stack.enter_context(ThreadPoolExecutor(1, "blktrace-hash"))
        files = [EventFile(part, chunk_bytes, names, hashing) for part in parts]
        for file in files:
            stack.callback(file.close)
        for events, order in _merged(files, progress):
            for block in window.add(events, order):
                write_rows(block, writer, window, names, purposes)
        _refuse_nothing(files, window)
        for block in window.end():
            write_rows(block, writer, window, names, purposes)
        source_files = [{"name": file.path.name, "sha256": file.hash()} for file in files if file.readable]
    unmatched, dropped, warnings = _losses(files, window)
    return {
        "source_format": "blktrace",
        "source_files": source_files,
        "unmatched": unmatched,
        "dropped": dropped,
        "inferred": [ISSUES_ONLY] * window.issues_only + purposes.inferred,
        "warnings": warnings,
        "host": {"clock_start_ns": window.zero_ns},
    }


def _merged(files: Sequence[EventFile], progress: Progress | None) -> Iterator[tuple[Table, Order]]:
    """Yield events of all files, and their order in time; at one time, those of the first file come first."""
    total_bytes = sum(file.path.stat().st_size for file in files)
    while True:
        unfinished = [file for file in files if not file.finished]
        if unfinished:
            min(unfinished, key=lambda file: file.reach_ns).read_chunk()
            unfinished = [file for file in files if not file.finished]
        limit_ns = min((file.reach_ns - MAX_DISORDER_NS for file in unfinished), default=2**63 - 1)
        taken = [events for file in files if len(events := file.take_until(limit_ns))]
        if taken:
            events = taken[0] if len(taken) == 1 else np.concatenate(taken)
            yield events, np.arange(len(events)) if len(taken) == 1 else np.argsort(events[:, TIME_NS], kind="stable")
        if progress:
            progress(sum(file.read_bytes for file in files), total_bytes)
        if not unfinished:
            return


def write_rows(block: Requests, writer: RequestWriter, window: Window, names: Names, purposes: Purposes) -> None:
    """Write one block that *window* yielded, with the names of its devices and processes, and its purposes."""
    for device in window.devices[len(writer.file_names) :]:
        writer.file_names.append(f"{device >> 20},{device & 0xFFFFF}")
    for pid, name in window.streams[len(writer.stream_names) :]:
        writer.stream_names.append(f"{names.texts[name]} {pid}" if name >= 0 else f"pid {pid}")
    purposes.fill(block, writer.file_names, writer.stream_names)
    writer.append(block)


def _refuse_nothing(files: Sequence[EventFile], window: Window) -> None:
    """Raise TraceError when there is not one request to write."""
    if window.begun:
        return
    first = files[0].path
    if not any(file.read_bytes for file in files):
        raise TraceError(f"{first}: is empty; {_REMEDY}")
    if not any(file.counts[RECORDS] for file in files):
        with first.open("rb") as file:
            begins = file.read(8)
        raise TraceError(f"{first}: at byte 0 is {begins!r}, and no blktrace record follows; {_REMEDY}")
    records = sum(int(file.counts[RECORDS]) for file in files)
    raise TraceError(
        f"{first}: holds {records:,} records but no queued or issued request (Q or D); record again without an action"
        " mask"
    )


def _losses(files: Sequence[EventFile], window: Window) -> tuple[int, dict[str, int], list[str]]:
    """Return the events without a partner, what is lost by why, and a sentence for each loss that should not be."""
    unmatched, of_window, more_warnings = window.losses()
    counted = np.sum([file.counts for file in files], axis=0)
    lost_events = sum(file.lost_events for file in files)
    everything = {
        **of_window,
        "events lost while recording": lost_events,
        "bytes that are no records": int(counted[LOST_BYTES]),
        "events with impossible values": int(counted[IMPOSSIBLE]),
        "events out of time order": int(counted[OUT_OF_ORDER]),
    }
    warnings = []
    if lost_events:
        warnings.append(f"{lost_events:,} events were lost while recording; record again with larger buffers (-b, -n)")
    for file in files:
        if file.counts[DAMAGED_PLACES]:
            warnings.append(
                f"{file.path.name}: {file.counts[LOST_BYTES]:,} bytes at {file.counts[DAMAGED_PLACES]:,} places are no "
                "records and were left out"
            )
        if file.counts[IMPOSSIBLE]:
            warnings.append(
                f"{file.path.name}: {file.counts[IMPOSSIBLE]:,} events have impossible values and were left out"
            )
        if file.counts[OUT_OF_ORDER]:
            warnings.append(
                f"{file.path.name}: {file.counts[OUT_OF_ORDER]:,} events lie more than {MAX_DISORDER_NS / 1e9} s before"
                " those above them and were left out; are these several recordings in one file?"
            )
    return unmatched, {why: count for why, count in everything.items() if count}, warnings + more_warnings
