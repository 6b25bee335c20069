"""What all readers of single requests share: names, losses, order, purposes, and the manifest that tells of them."""

import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import MOST, RequestWriter
from tiersim.traces.readers.opened import Opened, Progress, opened_files
from tiersim.traces.readers.ordered import OrderedRows, Rows, StepsBack, requests_of
from tiersim.traces.readers.purposes import Purposes
from tiersim.traces.schema import DATA_READ, DATA_WRITE, FLUSH, READ, WRITE

#: More files or streams are a column that is something else.
MOST_NAMES = 1 << 20
_LONGEST_NAME = 200

DAMAGED = "damaged lines"
EMPTY = "requests of no bytes"


class Collected:
    """The requests of an import, and what is to be said of it."""

    def __init__(self, ordered: OrderedRows, writer: RequestWriter, paths: Sequence[Path]) -> None:
        """Begin with nothing of *paths*."""
        self.rows = 0
        self.dropped: dict[str, int] = {}
        self.inferred: list[str] = []
        self.warnings: list[str] = []
        self._ordered = ordered
        self._writer = writer
        self._paths = paths
        self._codes: dict[tuple[str, str], int] = {}
        self._steps_back = StepsBack()

    def end_file(self, path: Path) -> None:
        """Say whether times went back in the file that was read."""
        if minutes := self._steps_back.minutes():
            self.warnings.append(
                f"{path.name}: its times go back by {minutes} min (daylight saving time, or several recordings in one"
                " file?): requests from before lie among those from after, so rates are too high; import them apart"
            )
        self._steps_back = StepsBack()

    def lose(self, why: str, count: int) -> None:
        """Count what is not imported."""
        if count:
            self.dropped[why] = self.dropped.get(why, 0) + count

    def file_codes(self, names: Iterable[str]) -> NDArray[np.int32]:
        """Return the code of each file name; raises TraceError when there are too many."""
        return self._number("files", self._writer.file_names, names)

    def only_file(self, path: Path) -> int:
        """Return the code of the one file, or device, that *path* is of where the source names none."""
        alike = sum(path.name == other.name for other in self._paths)
        name = "data" if len(self._paths) == 1 else path.name if alike == 1 else str(path)
        return int(self.file_codes([name])[0])

    def stream_codes(self, names: Iterable[str]) -> NDArray[np.int32]:
        """Return the code of each stream name; raises TraceError when there are too many."""
        return self._number("streams", self._writer.stream_names, names)

    def _number(self, kind: str, known: list[str], names: Iterable[str]) -> NDArray[np.int32]:
        codes = []
        for name in names:
            if (kind, name) not in self._codes:
                if len(known) == MOST_NAMES:
                    raise TraceError(f"more than {MOST_NAMES:,} {kind} are named ({name!r}); is the format right?")
                self._codes[kind, name] = len(known)
                known.append(name)
            codes.append(self._codes[kind, name])
        return np.array(codes, np.int32)

    def add(self, rows: Rows) -> None:
        """Take requests; those of no bytes are counted and left out, flushes are at 0."""
        self._steps_back.watch(rows["time_ns"])
        flush = rows["op"] == FLUSH
        rows["offset_bytes"][flush] = 0
        rows["length_bytes"][flush] = 0
        empty = (rows["length_bytes"] == 0) & ~flush
        if empty.any():
            self.lose(EMPTY, int(np.count_nonzero(empty)))
            rows = rows[~empty]
        self.rows += len(rows)
        self._ordered.add(rows)

    def write(self, *, tells_flushes: bool) -> int:
        """Write everything in order of time, the first at 0, and return the time of the first on the source's clock.

        Raises TraceError when the times cannot be of one recording.
        """
        purposes = Purposes() if tells_flushes else None
        zero_ns: int | None = None
        for rows in self._ordered.blocks():
            times = rows["time_ns"]
            zero_ns = int(times[0]) if zero_ns is None else zero_ns
            if int(times[-1]) - zero_ns > MOST:
                raise TraceError(
                    "the times of the first and the last request are more than 36 years apart; is a line damaged, or"
                    " are these several recordings?"
                )
            block = requests_of(rows, zero_ns)
            if purposes is not None:
                purposes.fill(block, self._writer.file_names)
            else:
                block.purpose[block.op == READ] = DATA_READ
                block.purpose[block.op == WRITE] = DATA_WRITE
            self._writer.append(block)
        if purposes is not None:
            self.inferred += purposes.inferred
        else:
            self.inferred.append("all writes count as data writes: the source records no flushes, which identify a log")
        return zero_ns or 0


def read_files(
    paths: Sequence[Path],
    writer: RequestWriter,
    progress: Progress | None,
    key: str,
    read: Callable[[Opened, Collected], None],
    *,
    tells_flushes: bool,
) -> dict[str, Any]:
    """Read the files of one recording with *read*, merge them in order of time, and return what the manifest says.

    Raises TraceError when a file cannot be read or none holds a request.
    """
    paths = list(dict.fromkeys(paths))
    with tempfile.TemporaryDirectory(dir=writer.folder) as folder:
        collected = Collected(OrderedRows(Path(folder)), writer, paths)
        source_files = []
        for source in opened_files(paths, progress):
            try:
                read(source, collected)
            except TraceError as error:
                raise error if str(source.path) in str(error) else TraceError(f"{source.path}: {error}") from None
            collected.end_file(source.path)
            source_files.append({"name": source.path.name, "sha256": source.sha256()})
            if source.damage:
                collected.warnings.append(f"{source.path.name}: {source.damage}; what comes before was read")
        if len(paths) > 1:
            collected.inferred.append(f"the {len(paths)} files are assumed to share one clock")
        if not collected.rows:
            raise TraceError(f"{paths[0]}: holds no request that could be read as {key}; record again")
        try:
            first_ns = collected.write(tells_flushes=tells_flushes)
        except TraceError as error:
            raise TraceError(f"{paths[0]}: {error}") from None
    return {
        "source_format": key,
        "source_files": source_files,
        "dropped": collected.dropped,
        "inferred": collected.inferred,
        "warnings": collected.warnings,
        "host": {"clock_start_ns": first_ns},
    }


def name_of(word: bytes) -> str:
    """Return a name as text that can be printed."""
    text = word[:_LONGEST_NAME].decode(errors="replace")
    return "".join(letter if letter.isprintable() else "?" for letter in text)
