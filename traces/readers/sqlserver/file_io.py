"""Reads and writes of files, as Extended Events tell them, as requests of a block trace."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers.ordered import OrderedRows, new_rows, requests_of
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.executions import plausible
from tiersim.traces.schema import DATA_READ, DATA_WRITE, LOG_WRITE, NOT_KNOWN, NOT_MEASURED, READ, TEMP, UNKNOWN, WRITE
from tiersim.units import NS_PER_MS, NS_PER_US

#: Without a folder for sorted runs so many rows are held in memory at most.
_IN_MEMORY = 1 << 62
#: More files or sessions than this are damage.
_MOST_NAMES = 1 << 16
#: ``tempdb`` has this id, and the first log file of a database this one (``sys.database_files``).
_TEMPDB, _FIRST_LOG = 2, 2
_LOG_SUFFIX = ".ldf"


class FileIo:
    """Takes completed reads and writes of files; ``rows`` is how many."""

    def __init__(self, recorded: Recorded) -> None:
        """Begin with none."""
        self.rows = 0
        self._recorded = recorded
        folder = tempfile.mkdtemp(prefix="requests-", dir=recorded.scratch) if recorded.scratch else None
        self._ordered = OrderedRows(Path(folder)) if folder else OrderedRows(Path(), _IN_MEMORY)
        self._files: dict[int, int] = {}  # database << 32 | file: code
        self._sessions: dict[int, int] = {}
        self._paths: dict[int, str] = {}
        self._said = ""
        self._waited_ns = 0
        self._span_ns = (1 << 62, 0)

    def add(
        self,
        reads: NDArray[np.bool_],
        end_ns: NDArray[np.int64],
        columns: Mapping[str, NDArray[np.int64]],
        said: str,
        path_of: Callable[[int], str | None],
    ) -> None:
        """Take events: whether each is a read, when it was over, its fields, what is *said* of
        durations, and its path.
        """
        length, offset = plausible(columns["size"], 1), plausible(columns["offset"], 1)
        database, file = plausible(columns["database_id"], 1), plausible(columns["file_id"], 1)
        well = (length > 0) & (offset >= 0) & (end_ns >= 0) & (database < 1 << 31) & (file < 1 << 31)
        self._recorded.lose(
            "reads and writes of files without a place, a length or a time", int(np.count_nonzero(~well))
        )
        if not well.any():
            return
        self._said = self._said or said
        latency = plausible(columns["duration"], NS_PER_MS if "millisecond" in said.lower() else NS_PER_US)[well]
        rows = new_rows(int(np.count_nonzero(well)))
        rows["time_ns"] = end_ns[well] - np.maximum(latency, 0)
        rows["latency_ns"] = np.where(latency < 0, NOT_MEASURED, latency)
        rows["offset_bytes"], rows["length_bytes"] = offset[well], length[well]
        rows["op"] = np.where(reads[well], READ, WRITE)
        whole = np.maximum(database, 0)[well] << 32 | np.maximum(file, 0)[well]
        rows["file"] = self._codes(self._files, whole, np.flatnonzero(well), path_of)
        rows["stream"] = self._codes(self._sessions, plausible(columns["session_id"], 1)[well])
        self._waited_ns += int(np.maximum(latency, 0).sum())
        self._span_ns = (
            min(self._span_ns[0], int(rows["time_ns"].min())),
            max(self._span_ns[1], int(end_ns[well].max())),
        )
        self.rows += len(rows)
        self._ordered.add(rows)
        self._recorded.requests = self

    def write(self, writer: RequestWriter) -> int:
        """Write the requests in order of time, the first at 0, and return when that was, ns since 1970."""
        writer.file_names += [f"{key >> 32}/{key & 0xFFFFFFFF}" for key in self._files]
        writer.stream_names += [str(session) for session in self._sessions]
        logs = [code for key, code in self._files.items() if self._is_log(key, code)]
        temps = [code for key, code in self._files.items() if key >> 32 == _TEMPDB]
        zero_ns: int | None = None
        for rows in self._ordered.blocks():
            zero_ns = int(rows["time_ns"][0]) if zero_ns is None else zero_ns
            block = requests_of(rows, zero_ns)
            is_read, is_log = block.op == READ, np.isin(block.file, logs)
            block.purpose[:] = np.where(
                is_read, np.where(is_log, UNKNOWN, DATA_READ), np.where(is_log, LOG_WRITE, DATA_WRITE)
            )
            block.purpose[np.isin(block.file, temps)] = TEMP
            writer.append(block)
        self._say()
        return zero_ns or 0

    def _is_log(self, key: int, code: int) -> bool:
        path = self._paths.get(code)
        return path.lower().endswith(_LOG_SUFFIX) if path else key & 0xFFFFFFFF == _FIRST_LOG

    def _say(self) -> None:
        said = f"its dictionary says {self._said!r}" if self._said else "its dictionary does not say the unit"
        unit = "ms" if "millisecond" in self._said.lower() else "µs"
        span_ns = max(self._span_ns[1] - self._span_ns[0], 1)
        say = self._recorded.inferred.append
        say(
            f"durations of reads and writes of files are assumed to be {unit} ({said}; no real server was at hand to"
            f" verify it): {self._waited_ns / span_ns:.3g} were outstanding on average"
        )
        say(
            "writes of files called *.ldf, or without a path those with file id 2, count as writes of the log,"
            " files of database 2 for tempdb"
        )
        if self._paths:
            names = {code: f"{key >> 32}/{key & 0xFFFFFFFF}" for key, code in self._files.items()}
            self._recorded.host["files"] = {names[code]: path for code, path in sorted(self._paths.items())}

    def _codes(
        self,
        known: dict[int, int],
        keys: NDArray[np.int64],
        rows: NDArray[np.int64] | None = None,
        path_of: Callable[[int], str | None] = lambda row: None,
    ) -> NDArray[np.int32]:
        """Return the code of each key, NOT_KNOWN for those below 0 and for new ones when there are too many."""
        found, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        numbers = []
        for key, place in zip(found.tolist(), first.tolist(), strict=True):
            if key >= 0 and key not in known and len(known) < _MOST_NAMES:
                known[key] = len(known)
                if rows is not None and (path := path_of(int(rows[place]))):
                    self._paths[known[key]] = path
            numbers.append(known.get(key, 0 if rows is not None else NOT_KNOWN))
        return np.array(numbers, np.int32)[codes]
