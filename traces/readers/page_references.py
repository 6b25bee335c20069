"""Sources of page references without operations: ARC's ``.lis``, the LIRS traces, libCacheSim's oracleGeneral.

Sources: the readme of the ARC traces (starting block, number of blocks, ignored, request number), the trace folder of
the LIRS program (one block number a line; ``*`` marks a place), ``oracleGeneral.h`` of libCacheSim (24 bytes,
little-endian).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers.delimited import WHOLE, Delimited, Field, chunks, single_blanks, sniffed_lines
from tiersim.traces.readers.opened import Opened, Progress, opened_files
from tiersim.traces.readers.request_files import DAMAGED
from tiersim.traces.references import pages_only
from tiersim.units import NS_PER_S

LIS, LIRS, ORACLE = "arc-lis", "lirs", "oracle-general"

_SNIFFED_LINES = 1000
#: Longer runs of blocks are damage.
_MOST_BLOCKS = 1 << 20
_ORACLE_RECORD = np.dtype([("time_s", "<u4"), ("page", "<u8"), ("bytes", "<u4"), ("next", "<i8")])
_SNIFFED_RECORDS = 2000
_MOST_REQUESTS = 1 << 40
_RECORDS_AT_ONCE = 1 << 20

_LIS = Delimited(
    (Field("page", WHOLE), Field("blocks", WHOLE), Field("ignored", WHOLE), Field("request", WHOLE)),
    delimiter=b" ",
    clean=single_blanks,
)
_LIRS = Delimited((Field("page", WHOLE),), delimiter=b"\t", skips=lambda line: line.strip() == b"*")


class _Losses:
    """What could not be read."""

    def __init__(self) -> None:
        self.dropped: dict[str, int] = {}
        self.warnings: list[str] = []

    def add(self, why: str, count: int, warning: str) -> None:
        if count:
            self.dropped[why] = self.dropped.get(why, 0) + count
            self.warnings.append(warning)


def looks_like_lis(first_bytes: bytes) -> bool:
    """Tell whether a file that begins so is in ARC's format: four numbers a line, the last of which counts requests."""
    lines = _LIS.parse_slowly(sniffed_lines(first_bytes, _SNIFFED_LINES))
    if not len(lines) or lines.damaged:
        return False
    numbers = lines.numbers
    return bool((_lis_well(numbers)).all() and np.isin(np.diff(numbers["request"]), (0, 1)).all())


def looks_like_lirs(first_bytes: bytes) -> bool:
    """Tell whether a file that begins so is nothing but one number a line, and marks."""
    lines = _LIRS.parse_slowly(sniffed_lines(first_bytes, _SNIFFED_LINES))
    return len(lines) > 1 and not lines.damaged and bool((lines.numbers["page"] >= 0).all())


def looks_like_oracle(first_bytes: bytes) -> bool:
    """Tell whether a file that begins so is oracleGeneral: what its records say of the next use of an object is so."""
    count = min(len(first_bytes) // _ORACLE_RECORD.itemsize, _SNIFFED_RECORDS)
    records = np.frombuffer(first_bytes, _ORACLE_RECORD, count)
    if not count or (np.diff(records["time_s"].astype(np.int64)) < 0).any() or not records["bytes"].all():
        return False
    here, then, page = np.arange(count), records["next"], records["page"]
    again = then >= 0
    if (then[~again] < -1).any() or (then[again] <= here[again]).any() or (then[again] > _MOST_REQUESTS).any():
        return False
    near = again & (then < count)
    return any((page[then[near] - first] == page[near]).all() for first in (0, 1))  # some count requests from 1


def read_lis(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Write the references of ``.lis`` files to *writer* and return what the manifest says of them.

    Raises TraceError when most lines of a file are damaged or there is no reference.
    """
    return _read(LIS, paths, writer, progress, lambda source, losses: _read_lines(source, losses, writer, _LIS, LIS))


def read_lirs(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Do the same for files of one number a line."""
    manifest = _read(
        LIRS, paths, writer, progress, lambda source, losses: _read_lines(source, losses, writer, _LIRS, LIRS)
    )
    manifest["inferred"] = ["one number a line is assumed to be the number of a page, in the order of the references"]
    return manifest


def read_oracle(paths: Sequence[Path], writer: RequestWriter, progress: Progress | None = None) -> dict[str, Any]:
    """Do the same for oracleGeneral files, whose objects have a time, to the second, and a size."""
    clock = _Clock()
    return _read(ORACLE, paths, writer, progress, lambda source, losses: _read_records(source, losses, writer, clock))


def _read(
    key: str,
    paths: Sequence[Path],
    writer: RequestWriter,
    progress: Progress | None,
    read: Callable[[Opened, _Losses], None],
) -> dict[str, Any]:
    losses = _Losses()
    source_files = []
    writer.references.relation_names.append("data")
    for source in opened_files(list(dict.fromkeys(paths)), progress):
        read(source, losses)
        source_files.append({"name": source.path.name, "sha256": source.sha256()})
        if source.damage:
            losses.warnings.append(f"{source.path.name}: {source.damage}; what comes before was read")
    if not writer.references.rows:
        raise TraceError(f"{paths[0]}: holds no reference that could be read as {key}; record again")
    return {
        "source_format": key,
        "source_files": source_files,
        "dropped": losses.dropped,
        "warnings": [
            *losses.warnings,
            (
                f"{key} has {writer.references.rows:,} page references and no requests: for cache studies, not for a"
                " replay"
            ),
        ],
    }


def _read_lines(source: Opened, losses: _Losses, writer: RequestWriter, layout: Delimited, key: str) -> None:
    seen, damaged, first_damaged = 0, 0, 0
    for text, first_line in chunks(source):
        for lines in layout.parse(text, first_line):
            well = _lis_well(lines.numbers) if key == LIS else lines.numbers["page"] >= 0
            bad = [*lines.damaged, *lines.line[~well].tolist()]
            seen += len(lines) + len(lines.damaged)
            damaged += len(bad)
            first_damaged = first_damaged or min(bad, default=0)
            page = lines.numbers["page"][well]
            writer.references.append(pages_only(_spread(page, lines.numbers["blocks"][well]) if key == LIS else page))
    if not seen and not source.damage:
        raise TraceError(f"{source.path}: holds no line; record again")
    what = f"{damaged:,} of {seen:,} lines are not {key}, the first is line {first_damaged:,}"
    if 2 * damaged > seen:
        raise TraceError(f"{source.path}: {what}; give another file or another --format")
    losses.add(DAMAGED, damaged, f"{source.path.name}: {what}; they were left out")


def _lis_well(numbers: dict[str, NDArray[np.int64]]) -> NDArray[np.bool_]:
    blocks = numbers["blocks"]
    well: NDArray[np.bool_] = (numbers["page"] >= 0) & (blocks > 0) & (blocks <= _MOST_BLOCKS)
    return well


def _spread(first: NDArray[np.int64], blocks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return every block of runs of blocks."""
    if (blocks == 1).all():
        return first
    before = np.cumsum(blocks) - blocks
    spread: NDArray[np.int64] = np.repeat(first - before, blocks) + np.arange(int(blocks.sum()))
    return spread


class _Clock:
    """Seconds of the first reference."""

    def __init__(self) -> None:
        self.zero_s: int | None = None


def _read_records(source: Opened, losses: _Losses, writer: RequestWriter, clock: _Clock) -> None:
    rest, is_first = source.read(), True
    if not rest and not source.damage:
        raise TraceError(f"{source.path}: is empty; record again")
    while rest:
        while len(rest) < _RECORDS_AT_ONCE * _ORACLE_RECORD.itemsize and (piece := source.read()):
            rest += piece
        if is_first and not looks_like_oracle(rest):
            raise TraceError(f"{source.path}: does not begin with records of {ORACLE}; choose another --format")
        is_first = False
        records = np.frombuffer(rest, _ORACLE_RECORD, len(rest) // _ORACLE_RECORD.itemsize)
        if not len(records):
            losses.add(
                "bytes that are no record",
                len(rest),
                f"{source.path.name}: ends within a record ({len(rest)} bytes); was it cut off?",
            )
            break
        time_s = records["time_s"].astype(np.int64)
        clock.zero_s = int(time_s[0]) if clock.zero_s is None else clock.zero_s
        block = pages_only(
            records["page"].astype(np.int64),  # the same 64 bits: large numbers become negative
            time_ns=np.maximum(time_s - clock.zero_s, 0) * NS_PER_S,
            length_bytes=records["bytes"].astype(np.int64),
        )
        writer.references.append(block)
        rest = rest[len(records) * _ORACLE_RECORD.itemsize :]
