"""Groups of requests, by class, by file, by stream: how many, how large, how sequential, how fast."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import FINE_BITS, bin_edges_ns, bin_of, bins, quantile_ns
from tiersim.kernel import kernel, table_set
from tiersim.traces.bundle import RequestColumns, Requests
from tiersim.traces.description.survey import CLASSES, RequestSurvey
from tiersim.traces.schema import DISCARD, FLUSH, OPERATIONS, READ, WRITE
from tiersim.units import is_of_largest

Table = NDArray[np.int64]

#: Files and streams that get a group of their own: those with most requests.
TOP = 50
MOST_FREQUENT_SIZES = 16
#: The streams, files and operations whose last end is remembered; a newer one takes the place of an older.
REMEMBERED = 1 << 18
#: A request that begins within this much of the end of the one before is not random: a log writes its last page anew.
NEAR_BYTES = 64 << 10
FAR = 1 << 61
#: Bins an octave of the distributions that leave, for drawing.
DRAWN_BITS = 3
SIZE_OCTAVES = 47

COUNT, BYTES, READS, WRITES, FLUSHES, DISCARDS, READ_BYTES, WRITE_BYTES = range(8)
SEQUENTIAL, BY_STREAM, RANDOM, WITH_LENGTH, MEASURED = range(8, 13)
GROUP_COLUMNS = 13


@table_set
class Tables(NamedTuple):
    """What is counted of each group, and where requests ended."""

    counts: Table  # (groups, GROUP_COLUMNS)
    latency_ns: NDArray[np.float64]  # sums, (groups,)
    most_ns: Table  # latencies, (groups,)
    histograms: Table  # of latencies, (groups, fine bins)
    sizes: Table  # (groups, lengths told apart)
    ends_of_classes: Table  # (classes, files), -FAR before the first
    ends_of_files: Table  # (files,)
    ends_of_streams: Table  # (REMEMBERED, 2): key, end
    size_counts: Table  # measured requests, (operations, octaves of length)
    size_sums_ns: NDArray[np.float64]


@kernel
def _jump(ends: Table, stream: int, file: int, op: int, offset: int, stop: int) -> int:
    """Return how far from the end of the one before of the same key a request begins, and note its end."""
    key = (file * 4 + op) << 32 | (stream + 1)
    slot = ((stream + 1) * 4 + op + (file & 0x7FFFFFFF) * 0x9E3779B1) & (len(ends) - 1)
    jump = offset - ends[slot, 1] if ends[slot, 0] == key else FAR
    ends[slot, 0] = key
    ends[slot, 1] = stop
    return jump


class _Request(NamedTuple):
    """What is counted of a request in each of its groups."""

    op: int
    length: int
    size: int  # its place among the lengths told apart
    latency: int
    by_stream: int  # how far it begins from the end of the one before of its stream


@kernel
def _count(tables: Tables, group: int, r: _Request, jump: int) -> None:
    """Count a request in a group; *jump*: how far it begins from the end of the one before there."""
    counts = tables.counts
    counts[group, COUNT] += 1
    counts[group, BYTES] += r.length
    counts[group, READS + r.op] += 1
    if r.op <= WRITE:
        counts[group, READ_BYTES + r.op] += r.length
    tables.sizes[group, r.size] += 1
    if r.length > 0:
        counts[group, WITH_LENGTH] += 1
        counts[group, SEQUENTIAL] += jump == 0
        counts[group, BY_STREAM] += r.by_stream == 0
        counts[group, RANDOM] += min(abs(jump), abs(r.by_stream)) > NEAR_BYTES
    if r.latency >= 0:
        counts[group, MEASURED] += 1
        tables.latency_ns[group] += r.latency
        tables.most_ns[group] = max(tables.most_ns[group], r.latency)
        tables.histograms[group, bin_of(r.latency, FINE_BITS)] += 1


@kernel
def count_requests(
    block: RequestColumns,
    classes: NDArray[np.uint8],
    sizes: Table,
    group_of_file: Table,
    group_of_stream: Table,
    tables: Tables,
) -> None:
    """Add requests to the three groups that each belongs to; ``sizes`` are indices into the lengths told apart."""
    for row in range(len(block.op)):
        # int64 first: numba takes sums of a small unsigned and a signed number as float
        code, operation = int(np.int64(classes[row])), int(np.int64(block.op[row]))
        where, who = int(np.int64(block.file[row])), int(np.int64(block.stream[row]))
        offset, length, latency = block.offset_bytes[row], block.length_bytes[row], block.latency_ns[row]
        of_class = of_file = of_stream = by_stream = FAR
        if length > 0:
            stop = offset + length
            of_class = offset - tables.ends_of_classes[code, where]
            of_file = offset - tables.ends_of_files[where]
            tables.ends_of_classes[code, where] = stop
            tables.ends_of_files[where] = stop
            by_stream = _jump(tables.ends_of_streams, who, where, operation, offset, stop)
            # a flush has no place, so its code stands for any operation
            of_stream = _jump(tables.ends_of_streams, who, where, FLUSH, offset, stop)
        request = _Request(operation, length, sizes[row], latency, by_stream)
        _count(tables, code, request, of_class)
        _count(tables, group_of_file[where], request, of_file)
        _count(tables, group_of_stream[who + 1], request, of_stream)
        if latency >= 0:
            octave = 1 + bin_of(length, 0) if length > 0 else 0
            tables.size_counts[operation, octave] += 1
            tables.size_sums_ns[operation, octave] += latency


class Groups:
    """All groups of a trace; classes come first, then files, then streams."""

    def __init__(self, survey: RequestSurvey) -> None:
        """Make room for what the *survey* found."""
        self._survey = survey
        self._files = _Ranking(survey.file_counts, len(CLASSES))
        self._streams = _Ranking(survey.stream_counts, self._files.stop)
        groups, files = self._streams.stop, len(survey.file_counts)
        self._tables = Tables(
            counts=np.zeros((groups, GROUP_COLUMNS), np.int64),
            latency_ns=np.zeros(groups),
            most_ns=np.zeros(groups, np.int64),
            histograms=np.zeros((groups, bins(FINE_BITS)), np.int64),
            sizes=np.zeros((groups, len(survey.sizes_bytes)), np.int64),
            ends_of_classes=np.full((len(CLASSES), files), -FAR, np.int64),
            ends_of_files=np.full(files, -FAR, np.int64),
            ends_of_streams=np.full((REMEMBERED, 2), -1, np.int64),
            size_counts=np.zeros((len(OPERATIONS), SIZE_OCTAVES), np.int64),
            size_sums_ns=np.zeros((len(OPERATIONS), SIZE_OCTAVES)),
        )

    def add(self, block: Requests, classes: NDArray[np.uint8]) -> None:
        """Count the requests of *block*."""
        count_requests(
            block.columns,
            classes,
            np.searchsorted(self._survey.sizes_bytes, block.length_bytes, "right") - 1,
            self._files.group_of_code,
            self._streams.group_of_code,
            self._tables,
        )

    def classes(self) -> list[dict[str, Any]]:
        """Return the groups by class that occur, most requests first."""
        counts = self._tables.counts[: len(CLASSES), COUNT]
        return [self._group(code, CLASSES[code], 1) for code in np.argsort(-counts, kind="stable") if counts[code]]

    def files(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the groups by file, most requests first, the others last."""
        documents = []
        for group, codes in self._files.members():
            name = names[codes[0]] if len(codes) == 1 else "others"
            largest = int(self._survey.file_end_bytes[codes].max())
            documents.append(self._group(group, name, len(codes)) | {"largest_offset_bytes": largest})
        return documents

    def streams(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the groups by stream, most requests first, the others last."""
        named: list[str | None] = [None, *names]
        return [
            self._group(group, named[codes[0]] if len(codes) == 1 else "others", len(codes))
            for group, codes in self._streams.members()
        ]

    def latency(self) -> dict[str, list[list[int]]]:
        """Return the distribution of latency of each class that has one."""
        edges = bin_edges_ns(DRAWN_BITS)
        found = {}
        for code, name in enumerate(CLASSES):
            counts = self._tables.histograms[code].reshape(bins(DRAWN_BITS), -1).sum(axis=1)
            if counts.any():
                found[name] = [
                    [int(edges[i]), int(np.ceil(edges[i + 1])), int(counts[i])] for i in np.flatnonzero(counts)
                ]
        return found

    def latency_by_size(self) -> dict[str, list[list[float]]]:
        """Return count and mean latency of each operation by octave of length."""
        counts, sums = self._tables.size_counts, self._tables.size_sums_ns
        return {
            name: [
                [
                    1 << octave - 1 if octave else 0,
                    1 << octave,
                    int(counts[op, octave]),
                    float(sums[op, octave] / counts[op, octave]),
                ]
                for octave in map(int, np.flatnonzero(counts[op]))
            ]
            for op, name in enumerate(OPERATIONS)
            if counts[op].any()
        }

    def total_latency_ns(self) -> float:
        """Return the sum of all measured latencies."""
        return float(self._tables.latency_ns[: len(CLASSES)].sum())

    def _group(self, group: int, name: str | None, members: int) -> dict[str, Any]:
        counts: list[int] = self._tables.counts[group].tolist()
        of_size, sizes = self._tables.sizes[group], self._survey.sizes_bytes
        order = np.argsort(-of_size, kind="stable")[:MOST_FREQUENT_SIZES]
        measured, histogram = counts[MEASURED], self._tables.histograms[group]
        most_ns = int(self._tables.most_ns[group])
        return {
            "name": name,
            "members": members,
            "count": counts[COUNT],
            "bytes": counts[BYTES],
            "reads": counts[READS + READ],
            "writes": counts[READS + WRITE],
            "flushes": counts[READS + FLUSH],
            "discards": counts[READS + DISCARD],
            "read_bytes": counts[READ_BYTES],
            "write_bytes": counts[WRITE_BYTES],
            "sizes": [[int(sizes[i]), int(of_size[i])] for i in order if of_size[i]],
            "median_bytes": int(sizes[np.searchsorted(np.cumsum(of_size), counts[COUNT] / 2)]),
            "sequential": counts[SEQUENTIAL] / counts[COUNT],
            "sequential_by_stream": counts[BY_STREAM] / counts[COUNT],
            "random": counts[RANDOM] / counts[WITH_LENGTH] if counts[WITH_LENGTH] else None,
            "mean_ns": float(self._tables.latency_ns[group]) / measured if measured else None,
            **{
                name: None if is_of_largest(share, measured) else quantile_ns(histogram, share * measured, most_ns)
                for name, share in (("p50_ns", 0.5), ("p99_ns", 0.99))
            },
        }


class _Ranking:
    """Gives the codes with most requests a group each, from *first_group* on, and all others one together."""

    def __init__(self, counts: Table, first_group: int) -> None:
        self._order = [int(code) for code in np.argsort(-counts, kind="stable") if counts[code]]
        self._first = first_group
        own = len(self._order) if len(self._order) <= TOP + 1 else TOP
        self._own = own
        self.stop = first_group + own + (own < len(self._order))
        self.group_of_code = np.full(len(counts), first_group + own, np.int64)
        self.group_of_code[self._order[:own]] = first_group + np.arange(own)

    def members(self) -> list[tuple[int, list[int]]]:
        """List the groups and the codes in each."""
        alone = [(self._first + place, [code]) for place, code in enumerate(self._order[: self._own])]
        rest = self._order[self._own :]
        return [*alone, (self._first + self._own, rest)] if rest else alone
