"""Trace files of SQL Server are read to the last byte, in any number and order, and whatever is
left of damaged ones.
"""

import csv
import gzip
import struct
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.imported_rows import said
from tests.recorded_files import SHARED, read_files, statements, texts
from tests.sqlserver_files import (
    CLASSES,
    COLUMNS,
    EPOCH,
    Load,
    entry,
    smallest_files,
    trc_event,
    trc_file,
    trc_header,
    trc_of,
)
from tiersim.errors import TraceError
from tiersim.kernel import jit_enabled, registry
from tiersim.kernel.calls import Caller
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver import trc, trc_kernels, window
from tiersim.traces.readers.sqlserver.coded_texts import text_at
from tiersim.traces.readers.sqlserver.trc_kernels import LOST_BYTES, MISSING, MOMENT, NUMBER, PLACE, SCAN_COUNTS, scan
from tiersim.traces.readers.sqlserver.warm import compile_readers
from tiersim.traces.statistics import read_statements

pytestmark = pytest.mark.kernels

REAL = SHARED / "sqlserver" / "trc"
US, MS = 1_000, 1_000_000
EPOCH_NS = int((EPOCH - datetime(1970, 1, 1)) / timedelta(microseconds=1)) * US


def completed(text: str = "select 1", **columns: Any) -> bytes:
    known: dict[str, Any] = {"SPID": 51, "Duration": 900, "StartTime": EPOCH}
    return trc_event("SQL:BatchCompleted", TextData=text, **(known | columns))


def read(folder: Path, data: bytes, name: str = "a.trc") -> Recorded:
    (folder / name).write_bytes(data)
    return read_files(folder / name, key="sqlserver-trc")


def scanned(data: bytes, kinds: dict[str, int]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return all events of a file's bytes behind its header, with those columns, and what the scan counted."""
    values, counts = np.empty((100_000, 1 + len(kinds)), np.int64), np.zeros(SCAN_COUNTS, np.int64)
    array = np.frombuffer(data, np.uint8)
    at, rows = scan(array, 0, True, trc.columns_of(kinds), values, counts)
    assert at == len(data)
    found = []
    for row in values[:rows].tolist():
        event: dict[str, Any] = {"EventClass": row[0]}
        for (name, kind), value in zip(kinds.items(), row[1:], strict=True):
            if value != MISSING:
                event[name] = text_at(array, value) if kind == PLACE else value
        found.append(event)
    return found, counts.tolist()


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside this checkout")
def test_a_real_file_is_decoded_to_the_last_byte() -> None:
    data = (REAL / "YourSqlDba_trace.trc").read_bytes()
    with (REAL / "YourSqlDba_trace.decoded.csv").open(newline="") as file:
        expected = list(csv.DictReader(file))
    names = [name for name in expected[0] if name not in ("EventClass", "EventName")]
    kinds = {
        name: PLACE if name.endswith(("Name", "TextData")) else MOMENT if name == "StartTime" else NUMBER
        for name in names
    }
    found, counts = scanned(data[0x290 - 2 + 5 :], kinds)
    assert counts[LOST_BYTES] == 0
    assert len(found) == len(expected) == 3_437
    for event, row in zip(found, expected, strict=True):
        if "StartTime" in event:
            moment = datetime(1970, 1, 1) + timedelta(milliseconds=event.pop("StartTime") // MS)
            event["StartTime"] = moment.isoformat(timespec="milliseconds")
        assert {name: str(value) for name, value in event.items()} == {
            name: value for name, value in row.items() if name != "EventName" and (value or name in event)
        }


@pytest.mark.shared
@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not beside this checkout")
def test_a_real_file_becomes_its_statements() -> None:
    recorded = read_files(REAL / "YourSqlDba_trace.trc")
    with (REAL / "YourSqlDba_trace.decoded.csv").open(newline="") as file:
        expected = [row for row in csv.DictReader(file) if row["EventName"] == "SP:StmtCompleted"]
    rows = statements(recorded)
    assert len(rows) == len(expected) == 1_679
    # each thing that took time is counted once: what others called is not taken twice; of a few the caller did not
    # complete
    outermost_ns = sum(int(row["Duration"]) for row in expected if row["NestLevel"] == "1") * US
    assert outermost_ns <= sum(row["duration_ns"] for row in rows) < 1.003 * outermost_ns
    assert sum(int(row["Duration"]) for row in expected) * US > 1.2 * outermost_ns
    assert {row["session"] for row in rows} == {"72.1"}
    assert recorded.host["version"] == 14
    assert not recorded.warnings


def test_what_is_written_is_read(tmp_path: Path) -> None:
    start = EPOCH + timedelta(milliseconds=123)
    recorded = read(
        tmp_path,
        trc_file(
            [
                completed(
                    "select a from t where b = 'x'",
                    CPU=15,
                    Reads=7,
                    Writes=2,
                    RowCounts=3,
                    TransactionID=99,
                    StartTime=start,
                    DatabaseName="Shop",
                    LoginName="app",
                    BinaryData=b"\0" * 300,
                    EventSequence=5,
                ),
                trc_event("RPC:Completed", TextData="exec p 1", Duration=5, EndTime=start, SPID=52),
                trc_event("Trace Stop", StartTime=start),
            ],
            server="HOST\\SQL",
        ),
    )
    second, first = statements(recorded)
    assert first.pop("query") in texts(recorded)
    assert first == {
        "time_ns": EPOCH_NS + 123 * MS,
        "duration_ns": 900 * US,
        "cpu_ns": 15 * MS,
        "session": "51.1",
        "transaction": 99,
        "kind": "language",
        "logical_reads": 7,
        "writes": 2,
        "rows": 3,
    }
    assert second["time_ns"] == EPOCH_NS + 123 * MS - 5 * US
    assert second["kind"] == "rpc"
    assert [(query["text"], query.get("database")) for query in recorded.queries.values()] == [
        ("select a from t where b = ?", "Shop"),
        ("exec p ?", None),
    ]
    assert recorded.host == {
        "engine": "sqlserver",
        "version": 14,
        "version_text": "14.0.3391",
        "page_bytes": 8192,
        "server": "HOST\\SQL",
    }
    for what in (
        "how many of them were physical",
        "local time without an offset",
        "CPU, EndTime, TransactionID, LoginName of trace files",
    ):
        assert any(what in sentence for sentence in recorded.inferred)


TEXTS = st.text(st.characters(exclude_categories=()), max_size=300)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(sorted(CLASSES)),
        st.dictionaries(st.sampled_from(["TextData", "HostName"]), TEXTS),
        st.integers(0, 2**62 - 1),
        st.integers(-(2**31), 2**31 - 1),
    ),
    max_size=12,
)


@settings(max_examples=examples(80), deadline=None)
@given(EVENTS)
def test_every_column_comes_back(events: list[tuple[str, dict[str, str], int, int]]) -> None:
    data = b"".join(trc_event(name, Duration=long, **strings, SPID=short) for name, strings, long, short in events)
    kinds = {"TextData": PLACE, "HostName": PLACE, "Duration": NUMBER, "SPID": NUMBER, "LoginName": PLACE}
    found, counts = scanned(data + entry(0xFFFC, b"\0" * 10), kinds)
    expected = [
        {"EventClass": CLASSES[name], "Duration": long, "SPID": short}
        | {k: v.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for k, v in strings.items()}
        for name, strings, long, short in events
    ]
    assert found == expected
    assert counts[LOST_BYTES] == 0


def test_a_text_of_more_than_64_kib_comes_back() -> None:
    text = "select " + "x" * 40_000
    found, counts = scanned(completed(text), {"TextData": PLACE})
    assert [event["TextData"] for event in found] == [text]
    assert counts[LOST_BYTES] == 0


def test_events_across_the_edges_of_what_is_read_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = trc_file(trc_of(Load(200)))
    whole = statements(read(tmp_path, data))
    monkeypatch.setattr(trc, "_ROWS", 7)
    monkeypatch.setattr(window, "CHUNK_BYTES", 1024)
    assert statements(read(tmp_path, data)) == whole


def test_rollover_files_are_one_trace_in_any_order(tmp_path: Path) -> None:
    """Sessions go on from file to file: a handle that the first prepares is run in the eleventh."""
    prepare = "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output,N'',N'select a',1"
    names = ["a.trc", *(f"a_{number}.trc" for number in range(1, 11))]
    for number, name in enumerate(names):
        text = prepare if number == 0 else "exec sp_execute 7"
        event = trc_event(
            "RPC:Completed", TextData=text, SPID=51, Duration=1, StartTime=EPOCH + timedelta(seconds=number)
        )
        (tmp_path / name).write_bytes(trc_file([event]))
    for paths in ([tmp_path], sorted((tmp_path / name for name in names), reverse=True)):
        manifest = import_trace(paths, tmp_path / "out.trace", force=True)
        assert [file["name"] for file in manifest.source_files] == names
        assert len(set(read_statements(tmp_path / "out.trace").texts("query"))) == 1
        assert manifest.source_format == "sqlserver-trc"
        (tmp_path / "out.trace").rename(tmp_path.parent / f"{tmp_path.name}{len(paths)}.trace")


def test_files_of_other_servers_are_warned_of(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.trc").write_bytes(trc_file([completed()], server=name))
    recorded = read_files(tmp_path / "a.trc", tmp_path / "b.trc")
    assert said("b.trc: was written by b (14.0.3391), and a.trc by a (14.0.3391)", recorded.warnings)


def test_a_packed_file_is_read_as_such(tmp_path: Path) -> None:
    (tmp_path / "a.trc.gz").write_bytes(gzip.compress(trc_file([completed()])))
    assert detect_format(tmp_path / "a.trc.gz") == "sqlserver-trc"
    assert len(statements(read_files(tmp_path / "a.trc.gz"))) == 1


def test_other_versions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"a\.trc: is a trace file of version 8, and only version 9 .* save it as XML"):
        read(tmp_path, trc_header(version=8))
    with pytest.raises(TraceError, match=r"a\.trc: ends within the header of a trace file, after 100 bytes"):
        read(tmp_path, trc_header()[:100])


def test_system_sessions_are_left_out(tmp_path: Path) -> None:
    recorded = read(tmp_path, trc_file([completed(IsSystem=1), completed(IsSystem=0)]))
    assert len(statements(recorded)) == 1
    assert recorded.dropped == {"events of system sessions": 1}


def test_a_file_that_was_cut_is_read_up_to_there(tmp_path: Path) -> None:
    events = [completed(f"select {number} from t{number}") for number in range(4)]
    data = trc_file(events)
    start = len(trc_header())
    for cut in range(start, len(data), 3):
        recorded = read(tmp_path, data[:cut])
        whole = max(0, (cut - start) // len(events[0]))
        assert len(statements(recorded)) == whole
        rest = cut - start - whole * len(events[0])
        assert recorded.dropped.get("bytes of trace files that are no events", 0) == rest
        assert bool(recorded.warnings) == bool(rest)


@pytest.mark.parametrize(
    "damage",
    [
        b"\0" * 64,
        b"\xf6\xff\x06" * 40,
        struct.pack("<HBHI", 0xFFF6, 6, 12, 0xFFFFFFFF),
        struct.pack("<HBHI", 0xFFF6, 6, 12, 30 << 20),
        struct.pack("<HBHI", 0xFFF6, 6, 12, 0) + b"\1\0\xff\xff\xff\xff\xff",
        struct.pack("<HBHI", 0xFFF6, 6, 12, 50) + b"\1\0\xff\xff\xff\xff\xff",
        struct.pack("<HBI", 0xFFFC, 0xFF, 0xFFFFFFFF),
        bytes(range(256)),
    ],
)
def test_what_stands_around_damage_is_read(tmp_path: Path, damage: bytes) -> None:
    recorded = read(tmp_path, trc_file([completed("select a")] * 3 + [damage] + [completed("select b")] * 3))
    assert len(statements(recorded)) in (6, 7)  # an event without a column is one
    assert said("at 1 places are no whole events", recorded.warnings) or len(damage) < 20


def test_an_impossible_time_or_number_is_not_known(tmp_path: Path) -> None:
    event = trc_event(
        "SQL:BatchCompleted",
        TextData="select 1",
        SPID=51,
        Duration=900,
        EndTime=EPOCH,
        StartTime=struct.pack("<8H", 2026, 13, 0, 40, 25, 61, 61, 1000),
    )
    more = trc_event("SQL:BatchCompleted", TextData="select 1", SPID=51, Duration=2**62, EndTime=EPOCH)
    recorded = read(tmp_path, trc_file([event, more, completed(Reads=-5, CPU=-1, SPID=-7)]))
    rows = statements(recorded)
    assert [row["time_ns"] for row in rows] == [EPOCH_NS - 900 * US, EPOCH_NS]
    assert recorded.dropped == {"events of executions without a duration or a time": 1}
    assert set(rows[1]) == {"time_ns", "duration_ns", "kind", "query"}


def test_an_empty_trace_is_no_error(tmp_path: Path) -> None:
    recorded = read(tmp_path, trc_header())
    assert not len(recorded.statements)
    assert not recorded.warnings
    assert COLUMNS["TextData"] == 1


def compiled_kinds() -> dict[str, int]:
    """Count the kinds of arguments that each kernel has code for in this process."""
    own = {name: kernel._call for name, kernel in registry.items() if ".readers.sqlserver." in name}
    return {name: len(call._entries) for name, call in own.items() if isinstance(call, Caller)}


@pytest.mark.skipif(not jit_enabled(), reason="the compiler is off")
def test_what_is_compiled_ahead_is_what_files_need(tmp_path: Path) -> None:
    compile_readers()
    before = compiled_kinds()
    assert sum(before.values()) > 5
    for key, files in smallest_files().items():
        (tmp_path / "sample").write_bytes(files[0])
        read_files(tmp_path / "sample", key=key)
    assert compiled_kinds() == before


def test_samples_for_damage_hold_executions(tmp_path: Path) -> None:
    for key, files in smallest_files().items():
        for data in files:
            (tmp_path / "sample").write_bytes(data)
            assert detect_format(tmp_path / "sample") == key
            assert statements(read_files(tmp_path / "sample"))


@pytest.mark.parametrize(
    ("entry", "found"),
    [
        (b"\x01\x00\x05", (3, 5)),
        (b"\x01\x00\xff\x00\x01\x00\x00", (7, 256)),
        (b"\x01\x00", (3, 0)),
        (b"\x01\x00\xff\x00\x01\x00", (7, 0)),
    ],
)
def test_the_head_of_an_entry_is_whole_or_behind_the_end(entry: bytes, found: tuple[int, int]) -> None:
    assert trc_kernels._value(np.frombuffer(entry, np.uint8), 0, len(entry)) == found
