"""One file of a blktrace recording: read in chunks, scanned, put in time order."""

import hashlib
from concurrent.futures import Executor, Future
from pathlib import Path

import numpy as np

from tiersim.errors import TraceError, reason
from tiersim.traces.readers.blktrace_kernels import (
    ACTION,
    DAMAGED_PLACES,
    EVENT_COLUMNS,
    EXTRA,
    HEADER_BYTES_7,
    HIGHEST_NS,
    LOST_BYTES,
    MAX_CPUS,
    MAX_RECORD_BYTES,
    NAME,
    SCAN_COUNTS,
    TIME_NS,
    Bytes,
    Table,
    find_header,
    scan,
)

NAME_BYTES = 16
_NOTHING = np.empty((0, EVENT_COLUMNS), np.int64)


class Names:
    """The process names of a recording, by number in the order in which they were met."""

    def __init__(self) -> None:
        """Know no name yet."""
        self.texts: list[str] = []
        self._numbers: dict[bytes, int] = {}

    def number(self, raw: bytes) -> int:
        """Return the number of a NUL-padded name; what cannot be printed becomes a question mark."""
        raw = raw.split(b"\0", 1)[0]
        if raw not in self._numbers:
            self._numbers[raw] = len(self.texts)
            text = raw.decode(errors="replace")
            self.texts.append("".join(letter if letter.isprintable() else "?" for letter in text))
        return self._numbers[raw]


class EventFile:
    """The events of one file, in time order.

    ``reach_ns`` is how far in time it is read: no event before ``reach_ns - MAX_DISORDER_NS`` is to come.
    """

    def __init__(self, path: Path, chunk_bytes: int, names: Names, hashing: Executor) -> None:
        """Open *path*; raises TraceError when it cannot be."""
        self.path = path
        self.finished = False
        self.read_bytes = 0
        self.readable = False
        self.counts = np.zeros(SCAN_COUNTS, np.int64)
        self.counts[HIGHEST_NS] = -1
        self._chunk_bytes = chunk_bytes
        self._names = names
        self._hashing = hashing
        self._hash = hashlib.sha256()
        self._hashed: Future[None] | None = None
        self._sequences = np.zeros((MAX_CPUS, 3), np.int64)
        self._events = _NOTHING
        self._buffer = np.empty(chunk_bytes + MAX_RECORD_BYTES, np.uint8)
        self._rest = self._buffer[:0]  # what of it is not scanned yet
        self._big = False
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(path, error) from None

    @property
    def reach_ns(self) -> int:
        """The latest time read."""
        return int(self.counts[HIGHEST_NS])

    @property
    def lost_events(self) -> int:
        """How many events the kernel could not keep: the holes in the sequence numbers of each CPU.

        A file of several devices (each counts on its own) can hide such holes.
        """
        lowest, highest, seen = self._sequences.T
        return int(np.maximum(highest - lowest + 1 - seen, 0)[seen > 0].sum())

    def hash(self) -> str:
        """Return the hash of the whole file, once it is read (SHA-256, hexadecimal)."""
        if self._hashed:
            self._hashed.result()
        return self._hash.hexdigest()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read_chunk(self) -> None:
        """Read and scan the next chunk; at the end of the file set ``finished``."""
        if self._hashed:
            self._hashed.result()  # the buffer is free again
        self._buffer[: self._rest.size] = self._rest.copy()
        begin = self._rest.size
        try:
            count = self._file.readinto(self._buffer[begin : begin + self._chunk_bytes].data)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        chunk = self._buffer[begin : begin + count]
        self._hashed = self._hashing.submit(self._hash.update, chunk.data)
        if self.read_bytes == 0:
            self._begin(chunk)
        self.read_bytes += count
        self.finished = count == 0 or not self.readable
        if self.readable:
            self._scan(self._buffer[: begin + count])

    def take_until(self, limit_ns: int) -> Table:
        """Hand over the events up to *limit_ns*."""
        stop = int(np.searchsorted(self._events[:, TIME_NS], limit_ns, side="right"))
        taken, self._events = self._events[:stop], self._events[stop:]
        return taken

    def _begin(self, chunk: Bytes) -> None:
        """Find out whether there is any record, and the byte order of the first."""
        little = find_header(chunk, 0, chunk.size, False)
        big = find_header(chunk, 0, chunk.size if little < 0 else little, True)
        self.readable, self._big = max(little, big) >= 0, big >= 0
        if not self.readable:
            self.counts[LOST_BYTES] += self.path.stat().st_size
            self.counts[DAMAGED_PLACES] += chunk.size > 0

    def _scan(self, data: Bytes) -> None:
        events = np.empty((data.size // HEADER_BYTES_7 + 1, EVENT_COLUMNS), np.int64)
        done, written, names, behind = scan(data, self.finished, self._big, self._sequences, events, self.counts)
        events = events[:written]
        if names:
            rows = np.flatnonzero(events[:, ACTION] == NAME)
            texts = (data[at : at + NAME_BYTES].tobytes() for at in events[rows, EXTRA].tolist())
            events[rows, EXTRA] = [self._names.number(text) for text in texts]
        self._rest = data[done:]
        self._events = np.concatenate([self._events, events]) if len(self._events) else events
        if behind:
            self._events = self._events[np.argsort(self._events[:, TIME_NS], kind="stable")]


def _unreadable(path: Path, error: OSError) -> TraceError:
    return TraceError(f"{path}: cannot be read ({reason(error)}); give a file that blktrace wrote and you may read")
