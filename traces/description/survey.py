"""The first look at a trace: what the second has to make room for."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.histogram import COARSE_EDGES_NS
from tiersim.traces.bundle import MOST, Bundle, Requests
from tiersim.traces.readers.plausibility import Resolution
from tiersim.traces.schema import DISCARD, FLUSH, PURPOSES, READ, WRITE

#: Classes of requests in the order of their codes: purposes of reads and writes, and the operations that have none.
CLASSES = (*PURPOSES, "flush", "discard")
PAGE_BYTES = 4096
#: So many different lengths are told apart; those met later are rounded down to a sixteenth of their octave.
MAX_SIZES = 4096


@dataclass
class RequestSurvey:
    """Running figures of all requests of a trace. Null streams have the code -1, and stand first
    in ``stream_counts``.
    """

    requests: int = 0
    measured: int = 0
    first_ns: int = 0
    last_ns: int = 0  # queue time of the last request
    end_ns: int = 0  # the last queue time or completion
    peak_rate_per_s: int = 0
    resolution: Resolution = field(default_factory=Resolution)
    file_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    stream_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    file_end_bytes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sizes_bytes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    page_reads: int = 0
    page_writes: int = 0
    _bytes: float = 0.0
    _second: int = -1  # the last that was seen, and how many requests of it
    _of_second: int = 0

    def see(self, block: Requests, bundle: Bundle) -> None:
        """Take one block in; raises TraceError when the lengths of all requests are more than can be added."""
        if not self.requests:
            self.first_ns = int(block.time_ns[0])
        self.requests += len(block)
        self.measured += int(np.count_nonzero(block.latency_ns >= 0))
        self.last_ns = int(block.time_ns[-1])
        self.end_ns = max(self.end_ns, int((block.time_ns + np.maximum(block.latency_ns, 0)).max()))
        self._bytes += float(block.length_bytes.sum(dtype=np.float64))
        if self._bytes > MOST:
            raise TraceError(
                f"{bundle.path}: column 'length_bytes': all lengths together are more than 1 EiB; import again"
            )
        self.resolution.see(block.time_ns)
        self._see_seconds(block.time_ns)
        self._see_sizes(block.length_bytes)
        self.file_counts = _grown(self.file_counts, len(bundle.file_names))
        self.file_counts += np.bincount(block.file, minlength=len(self.file_counts))
        self.stream_counts = _grown(self.stream_counts, len(bundle.stream_names) + 1)
        self.stream_counts += np.bincount(block.stream + 1, minlength=len(self.stream_counts))
        self._see_places(block, len(bundle.file_names))

    def _see_seconds(self, time_ns: NDArray[np.int64]) -> None:
        seconds, counts = np.unique(time_ns // 1_000_000_000, return_counts=True)
        if int(seconds[0]) == self._second:
            counts[0] += self._of_second
        self._second, self._of_second = int(seconds[-1]), int(counts[-1])
        self.peak_rate_per_s = max(self.peak_rate_per_s, int(counts.max()))

    def _see_sizes(self, length_bytes: NDArray[np.int64]) -> None:
        sizes = np.unique(length_bytes)
        new = np.setdiff1d(sizes, self.sizes_bytes, assume_unique=True)
        room = max(MAX_SIZES - len(self.sizes_bytes), 0)
        if len(new) > room:
            new = np.concatenate([new[:room], [0], np.floor(COARSE_EDGES_NS).astype(np.int64)])
        self.sizes_bytes = np.union1d(self.sizes_bytes, new)

    def _see_places(self, block: Requests, files: int) -> None:
        self.file_end_bytes = _grown(self.file_end_bytes, files)
        for op in (READ, WRITE):
            rows = np.flatnonzero(block.op == op)
            ends = block.offset_bytes[rows] + block.length_bytes[rows]
            np.maximum.at(self.file_end_bytes, block.file[rows], ends)
            pages = int(((ends - 1) // PAGE_BYTES - block.offset_bytes[rows] // PAGE_BYTES + 1).sum())
            if op == READ:
                self.page_reads += pages
            else:
                self.page_writes += pages


def class_codes(block: Requests) -> NDArray[np.uint8]:
    """Return the index into CLASSES of each request."""
    codes = np.where(block.op < FLUSH, block.purpose, block.op + np.uint8(len(PURPOSES) - FLUSH))
    return codes.astype(np.uint8, copy=False)


def _grown(counts: NDArray[Any], length: int) -> NDArray[Any]:
    return np.concatenate([counts, np.zeros(length - len(counts), counts.dtype)]) if length > len(counts) else counts


assert CLASSES[len(PURPOSES) + DISCARD - FLUSH] == "discard"
