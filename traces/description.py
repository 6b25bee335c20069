"""What a trace asks of its storage: mix, sizes, sequentiality, rates, measured latencies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import FINE_BITS, bins, count_durations, quantile_ns
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.schema import FLUSH, OPERATIONS, PURPOSES
from tiersim.units import NS_PER_S


class _Groups:
    """Running figures of groups of requests."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._count: list[int] = []
        self._bytes: list[int] = []
        self._sequential: list[int] = []
        self._sizes: list[dict[int, int]] = []
        self._histograms: list[NDArray[np.int64]] = []
        self._sums: list[int] = []

    def add(self, name: str, length_bytes: NDArray[np.int64], sequential: int, latency_ns: NDArray[np.int64]) -> None:
        if name not in self.names:
            self.names.append(name)
            self._histograms.append(np.zeros((1, bins(FINE_BITS)), np.int64))
            self._sizes.append({})
            for sums in (self._count, self._bytes, self._sequential, self._sums):
                sums.append(0)
        index = self.names.index(name)
        self._count[index] += len(length_bytes)
        self._bytes[index] += int(length_bytes.sum())
        self._sequential[index] += sequential
        for size, count in zip(*np.unique(length_bytes, return_counts=True), strict=True):
            sizes = self._sizes[index]
            sizes[int(size)] = sizes.get(int(size), 0) + int(count)
        total = np.zeros(1, np.int64)
        count_durations(self._histograms[index], total, np.zeros(len(latency_ns), np.uint8), latency_ns)
        self._sums[index] += int(total[0])

    def document(self) -> list[dict[str, Any]]:
        return [self._one(index) for index in sorted(range(len(self.names)), key=lambda i: -self._count[i])]

    def _one(self, index: int) -> dict[str, Any]:
        histogram = self._histograms[index][0]
        measured = int(histogram.sum())
        sizes = sorted(self._sizes[index].items())
        half = np.searchsorted(np.cumsum([count for _, count in sizes]), self._count[index] / 2)
        return {
            "name": self.names[index],
            "count": self._count[index],
            "bytes": self._bytes[index],
            "median_bytes": sizes[int(half)][0],
            "sequential": self._sequential[index] / self._count[index],
            "mean_ns": self._sums[index] / measured if measured else None,
            "p50_ns": quantile_ns(histogram, 0.5 * measured) if measured else None,
            "p99_ns": quantile_ns(histogram, 0.99 * measured) if measured else None,
        }


def describe(bundle: Bundle, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """Describe a trace (``tiersim.description/1``): groups by kind of request and by file, rates by second.

    ``sequential`` is the share of requests that begin where the one before them in the same file and group ended.
    ``rate_per_s`` is null for less than a second. *progress* is called with the rows read and the rows there are. Raises
    TraceError when there is nothing but page references.
    """
    bundle.refuse_references_alone()
    classes, files = _Groups(), _Groups()
    ends: dict[str, int] = {}
    per_second: dict[int, int] = {}
    rows_read, span_ns = 0, bundle.manifest.span_ns  # which another tool need not have written
    for block in bundle.blocks():
        for second, count in zip(*np.unique(block.time_ns // NS_PER_S, return_counts=True), strict=True):
            per_second[int(second)] = per_second.get(int(second), 0) + int(count)
        names = _class_names(block)
        for name in np.unique(names):
            _add(classes, str(name), block, np.flatnonzero(names == name), bundle.file_names, ends)
        for code in np.unique(block.file):
            rows = np.flatnonzero(block.file == code)
            _add(files, bundle.file_names[code], block, rows, bundle.file_names, ends)
        rows_read += len(block)
        span_ns = max(span_ns, int((block.time_ns + np.maximum(block.latency_ns, 0)).max(initial=0)))
        if progress is not None:
            progress(rows_read, bundle.rows)
    manifest = bundle.manifest
    return {
        "schema": "tiersim.description/1",
        "trace": bundle.path.absolute().name,
        "format": manifest.source_format,
        "requests": bundle.rows,
        "span_ns": span_ns,
        "rate_per_s": bundle.rows * NS_PER_S / span_ns if span_ns >= NS_PER_S else None,
        "peak_rate_per_s": max(per_second.values(), default=0),
        "classes": classes.document(),
        "files": files.document(),
        "inferred": list(manifest.inferred),
        "warnings": list(manifest.warnings),
    }


def _class_names(block: Requests) -> NDArray[np.str_]:
    names = np.array(PURPOSES)[block.purpose]
    return np.where(block.op < FLUSH, names, np.array(OPERATIONS)[block.op])


def _add(
    groups: _Groups,
    name: str,
    block: Requests,
    rows: NDArray[np.int64],
    file_names: Sequence[str],
    ends: dict[str, int],
) -> None:
    sequential = 0
    for code in np.unique(block.file[rows]):
        own = rows[block.file[rows] == code]
        own = own[block.length_bytes[own] > 0]
        if not own.size:
            continue
        stop = block.offset_bytes[own] + block.length_bytes[own]
        key = f"{id(groups)} {name} {file_names[code]}"
        before = np.concatenate([[ends.get(key, -1)], stop[:-1]])
        sequential += int((block.offset_bytes[own] == before).sum())
        ends[key] = int(stop[-1])
    groups.add(name, block.length_bytes[rows], sequential, block.latency_ns[rows])
