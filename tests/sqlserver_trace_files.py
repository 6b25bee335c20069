"""Files that a DBA would have of an hour that was made up: the trace as Profiler's server wrote it, and
sys.dm_io_virtual_file_stats before and after.
"""

import struct
from datetime import timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.sqlserver_files import COLUMNS, EPOCH, entry, trc_event, trc_header
from tiersim.traces.statistics import read_queries, read_snapshots, read_statements

_DIGITS = 7  # of literals
#: So many events are laid out at a time.
_EVENTS = 200_000
_NS_PER_MS = 1_000_000
_FILE_COLUMNS = (
    "captured_at,database_id,file_id,database_name,type_desc,physical_name,num_of_reads,num_of_bytes_read,io_stall_read_ms,num_of_writes,"
    "num_of_bytes_written,io_stall_write_ms,size_on_disk_bytes"
)


def text_of(text: str, kind: str) -> str:
    """Return a statement with literals of zeros, as its application sends it; those of calls with parameters come as
    one of them.
    """
    zeros = "0" * _DIGITS
    if kind != "rpc":
        return text.replace("?", zeros)
    return f"exec sp_executesql N'{text.replace('?', '@p0')}',N'@p0 int',@p0={zeros}"


def _template(text: str, kind: str) -> tuple[NDArray[np.uint8], dict[str, int], list[int]]:
    """Return the bytes of an event, where its values stand, and where its literals do."""
    sent = text_of(text, kind)
    name = "RPC:Completed" if kind == "rpc" else "SQL:BatchCompleted"
    event = trc_event(
        name,
        TextData=sent,
        DatabaseName="sales",
        LoginName="app",
        SPID=1,
        Duration=1,
        StartTime=EPOCH,
        EndTime=EPOCH,
        Reads=1,
        Writes=0,
        CPU=1,
        RowCounts=1,
    )
    places, at = {}, 9
    names = {number: key for key, number in COLUMNS.items()}
    texts_at = 0
    while at < len(event):
        number, length = struct.unpack_from("<HB", event, at)
        at += 3
        if length == 0xFF:
            (length,) = struct.unpack_from("<I", event, at)
            at += 4
        places[names[number]] = at
        if names[number] == "TextData":
            texts_at = at
        at += length
    encoded = "0" * _DIGITS
    literals = [texts_at + 2 * place for place in range(len(sent)) if sent.startswith(encoded, place)]
    assert len(event) == at
    return np.frombuffer(event, np.uint8), places, literals


def _put(rows: NDArray[np.uint8], at: int, values: NDArray[np.int64], kind: str) -> None:
    width = np.dtype(kind).itemsize
    rows[:, at : at + width] = values.astype(kind).view(np.uint8).reshape(len(values), width)


def _put_time(rows: NDArray[np.uint8], at: int, ms: NDArray[np.int64]) -> None:
    """Put a time of the day of EPOCH, as SYSTEMTIME has it."""
    start = timedelta(hours=EPOCH.hour, minutes=EPOCH.minute, seconds=EPOCH.second) // timedelta(milliseconds=1)
    left = ms + start
    for place, unit in ((4, 3_600_000), (5, 60_000), (6, 1_000), (7, 1)):
        _put(rows, at + 2 * place, left // unit, "<u2")
        left = left % unit


def write_trc(path: Path, bundle: Path) -> None:
    """Write the statements of a bundle as a trace file: events in the order in which they ended, each with literals of
    its own.
    """
    table, queries = read_statements(bundle), read_queries(bundle)
    texts = dict(zip(queries.texts("query"), queries.texts("text"), strict=True))
    columns = table.columns
    ends_ns = columns["time_ns"] + columns["duration_ns"]
    order = np.argsort(ends_ns, kind="stable")
    spid = np.array([int(name) for name in table.words["session"]])
    kinds = [""] * len(table.words["query"])
    for code in np.unique(columns["query"]).tolist():
        row = int(np.argmax(columns["query"] == code))
        kinds[code] = table.words["kind"][columns["kind"][row]]
    templates = [_template(texts[query] or "", kind) for query, kind in zip(table.words["query"], kinds, strict=True)]
    lengths = np.array([len(event) for event, _, _ in templates])
    with path.open("wb") as file:
        file.write(trc_header())
        for first in range(0, len(order), _EVENTS):
            rows = order[first : first + _EVENTS]
            query = columns["query"][rows]
            offset = np.cumsum(lengths[query]) - lengths[query]
            out = np.empty(int(lengths[query].sum()), np.uint8)
            for code in np.unique(query).tolist():
                event, places, literals = templates[code]
                own = np.flatnonzero(query == code)
                taken = rows[own]
                block = np.tile(event, (len(own), 1))
                for name, values, kind in (
                    ("SPID", spid[columns["session"][taken]], "<i4"),
                    ("Duration", columns["duration_ns"][taken] // 1000, "<i8"),
                    ("Reads", columns["logical_reads"][taken], "<i8"),
                    ("Writes", columns["writes"][taken], "<i8"),
                    ("CPU", columns["cpu_ns"][taken] // _NS_PER_MS, "<i4"),
                    ("RowCounts", columns["rows"][taken], "<i8"),
                ):
                    _put(block, places[name], values, kind)
                _put_time(block, places["StartTime"], columns["time_ns"][taken] // _NS_PER_MS)
                _put_time(block, places["EndTime"], ends_ns[taken] // _NS_PER_MS)
                for at in literals:
                    left = taken.astype(np.int64)
                    for digit in range(_DIGITS - 1, -1, -1):
                        block[:, at + 2 * digit] = 48 + left % 10
                        left //= 10
                out[offset[own][:, None] + np.arange(len(event))] = block
            file.write(out.tobytes())
        file.write(entry(0xFFF6, struct.pack("<HI", 65533, 0)))  # the trace was stopped


def write_file_stats(folder: Path, bundle: Path) -> list[Path]:
    """Write the files' counters of a bundle as they would be saved, a CSV for each moment."""
    paths = []
    for name, snapshot in zip(("before", "after"), read_snapshots(bundle), strict=True):
        lines = [_FILE_COLUMNS]
        moment = EPOCH + timedelta(microseconds=(snapshot.time_ns or 0) // 1000)
        for (subject, entity), values in snapshot.values.items():
            if subject != "file":
                continue
            numbers = [
                f"{values[key]:f}".partition(".")[0]
                for key in ("reads", "read_bytes", "read_ms", "writes", "written_bytes", "write_ms", "size_bytes")
            ]
            kind = "LOG" if values["kind"] == "log" else "ROWS"
            own = [*entity.split("/"), str(values["database"]), kind, str(values["path"]), *numbers]
            lines.append(",".join([f"{moment:%Y-%m-%d %H:%M:%S.%f}", *own]))
        paths.append(folder / f"dm_io_virtual_file_stats.{name}.csv")
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths
