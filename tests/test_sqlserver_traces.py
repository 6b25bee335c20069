"""SQL Trace and Extended Events as texts: whichever way a trace was saved, it is the same executions."""

import random
import re
import tempfile
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.recorded_files import read_files, read_or_refused, read_text, statements
from tests.sqlserver_files import trc_event, trc_file
from tests.sqlserver_texts import EVENTS, Traced, event_data, event_series, event_table, trace_table, trace_xml
from tiersim.errors import TraceError
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.event_times import EventTimes
from tiersim.traces.readers.sqlserver.events import What
from tiersim.traces.readers.sqlserver.executions import ExecutionEvent, Executions
from tiersim.traces.readers.sqlserver.xml_events import LONGEST_ELEMENT
from tiersim.units import NS_PER_MS, NS_PER_US

_WHAT = {10: What.RPC, 12: What.BATCH, 14: What.LOGIN, 41: What.STATEMENT}


def executed(events: tuple[Traced, ...] = EVENTS, *, physical_reads: int = -1) -> list[dict[str, Any]]:
    """The executions of events that a reader of rows hands over."""
    recorded = Recorded()
    executions = recorded.of(Executions)
    for event in events:
        timed = event.event_class != 14
        executions.take(
            ExecutionEvent(
                _WHAT[event.event_class],
                event.text,
                event.start_ms * NS_PER_MS,
                event.end_ms * NS_PER_MS if timed else -1,
                event.duration_us * NS_PER_US if timed else -1,
                event.cpu_ms * NS_PER_MS,
                event.reads,
                physical_reads,
                event.writes,
                event.rows,
                event.spid,
            )
        )
    executions.finish()
    return statements(recorded)


@pytest.mark.parametrize(
    "text",
    [
        trace_xml(),
        trace_xml(namespace=False, header=False),
        trace_xml(encoding="utf-8"),  # whatever it declares
        trace_xml(encoding="utf-16-le"),  # without its mark
        trace_table().encode(),
        trace_table(named=True, null="").encode("utf-16"),
        trace_table(delimiter="\t").encode("utf-8-sig"),
        trace_table(delimiter=";").encode(),
    ],
    ids=["xml", "bare xml", "wrong encoding", "no mark", "table", "names of classes", "tabs", "semicolons"],
)
def test_a_trace_is_the_same_executions_however_it_was_saved(tmp_path: Path, text: bytes) -> None:
    recorded = read_text(tmp_path, text)
    assert statements(recorded) == executed()
    assert not recorded.dropped
    assert not recorded.warnings


def test_durations_are_in_milliseconds_before_sql_server_2005(tmp_path: Path) -> None:
    """The version of a trace tells the unit of its durations. In a table, EndTime - StartTime tells it."""

    def in_ms(text: str) -> str:
        for us in ("7327", "2000", "3000", "40000"):
            text = re.sub(rf"([>,]){us}([<,])", rf"\g<1>{us[:-3]}\g<2>", text)
        return text

    old = read_text(tmp_path, in_ms(trace_xml(encoding="utf-8", version=8).decode()))
    assert [row["duration_ns"] // NS_PER_MS for row in statements(old)] == [7, 2, 3, 40]
    assert any("durations are in ms" in sentence for sentence in old.inferred)
    assert not old.warnings
    (said,) = read_text(tmp_path, in_ms(trace_table())).warnings
    assert "is Duration in ms, as SQL Server 2000 had it?" in said


def test_trace_files_are_the_same_executions_as_their_xml(tmp_path: Path) -> None:
    names = {10: "RPC:Completed", 12: "SQL:BatchCompleted", 14: "Audit Login"}
    events = []
    for event in EVENTS:
        start, end = (datetime.fromtimestamp(ms / 1000, UTC) for ms in (event.start_ms, event.end_ms))
        is_timed = event.event_class != 14
        columns = {
            "CPU": event.cpu_ms,
            "Reads": event.reads,
            "Writes": event.writes,
            "RowCounts": event.rows,
            "SPID": event.spid,
        }
        events.append(
            trc_event(
                names[event.event_class],
                TextData=event.text,
                StartTime=start,
                EndTime=end if is_timed else None,
                Duration=event.duration_us if is_timed else None,
                DatabaseName="shop",
                LoginName="web",
                **columns,
            )
        )
    (tmp_path / "a.trc").write_bytes(trc_file(events))
    (tmp_path / "a.xml").write_bytes(trace_xml())
    (tmp_path / "a.csv").write_bytes(trace_table().encode())
    trc, xml, table = (read_files(tmp_path / f"a.{kind}") for kind in ("trc", "xml", "csv"))
    assert statements(trc) == statements(xml) == statements(table)
    assert trc.queries == xml.queries == table.queries


def test_system_sessions_are_left_out(tmp_path: Path) -> None:
    system = '<action name="is_system" package="sqlserver"><value>true</value></action></event>'
    recorded = read_text(tmp_path, event_data(EVENTS[1]).replace("</event>", system) + event_data(EVENTS[5]))
    assert len(statements(recorded)) == 1
    assert recorded.dropped == {"events of system sessions": 1}
    marked = trace_xml(EVENTS[1:2] + EVENTS[5:], encoding="utf-8", header=False).replace(
        b"</Event>", b'<Column id="60" name="IsSystem">1</Column></Event>', 1
    )
    recorded = read_text(tmp_path, marked)
    assert len(statements(recorded)) == 1
    assert recorded.dropped == {"events of system sessions": 1}


def test_what_the_trace_has_is_there_and_nothing_else(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, trace_xml())
    rows = statements(recorded)
    assert len(rows) == 4  # neither the login nor sp_reset_connection
    first = rows[0]
    assert (first["time_ns"], first["duration_ns"]) == (1_795_330_800_880_000_000, 7_327_000)
    assert (first["cpu_ns"], first["logical_reads"], first["writes"], first["rows"]) == (15_000_000, 120, 2, 9)
    assert "physical_reads" not in first  # SQL Trace has none
    assert [row["kind"] for row in rows] == ["language", "rpc", "rpc", "language"]
    assert rows[1]["query"] == rows[2]["query"]
    assert rows[2]["session"] != rows[3]["session"]  # a pooled connection that somebody else got
    texts = {row["text"] for row in recorded.queries.values()}
    assert texts == {"select a from t, u where b < ?", "select c from t where b = ?", "update t set a = ?"}
    assert recorded.host == {"engine": "sqlserver", "page_bytes": 8192, "version": 14}


def test_times_lie_where_their_offset_puts_them(tmp_path: Path) -> None:
    east = trace_xml().decode("utf-16").replace("+00:00", "+05:30")
    moved = statements(read_text(tmp_path, east.encode("utf-16")))
    assert {a["time_ns"] - b["time_ns"] for a, b in zip(executed(), moved, strict=True)} == {19_800 * 10**9}
    assert any("no time zone" in sentence for sentence in read_text(tmp_path, trace_table()).inferred)


def events_of(name: str) -> str:
    return {
        "series": event_series(),
        "table": event_table(),
        "quoted ring": f"<RingBufferTarget>{event_series()}</RingBufferTarget>",
    }[name]


@pytest.mark.parametrize("name", ["series", "table", "quoted ring"])
def test_event_data_is_the_same_executions_with_their_physical_reads(tmp_path: Path, name: str) -> None:
    recorded = read_text(tmp_path, events_of(name))
    found, expected = statements(recorded), executed(physical_reads=3)
    for row in expected:  # the end of an event is noted to the ms, the start follows from its duration
        row["time_ns"] += row["duration_ns"] // NS_PER_MS * NS_PER_MS - row["duration_ns"]
    assert found == expected
    assert not recorded.dropped


def test_waits_are_ms_where_queries_are_microseconds(tmp_path: Path) -> None:
    wait = (
        '<event name="wait_completed" package="sqlos" timestamp="2026-11-22T07:00:00.885Z">'
        '<data name="wait_type"><value>66</value><text>PAGEIOLATCH_SH</text></data>'
        '<data name="duration"><value>4</value></data>'
        '<action name="session_id" package="sqlserver"><value>51</value></action></event>'
    )
    (row,) = statements(read_text(tmp_path, wait + event_data(EVENTS[1])))
    assert row["io_wait_ns"] == 4 * NS_PER_MS
    assert row["duration_ns"] == 7_327_000


def test_a_ring_says_what_it_has_lost(tmp_path: Path) -> None:
    ring = (
        '<RingBufferTarget truncated="1" processingTime="0" totalEventsProcessed="100" eventCount="8" droppedCount="5"'
        ' memoryUsed="1">'
    )
    recorded = read_text(tmp_path, ring + event_series() + "</RingBufferTarget>")
    assert recorded.dropped == {
        "events that the ring had no place for any more": 92,
        "events that were dropped while recording": 5,
        "events of the ring that are not in its XML, which is cut at 4 MB": 2,
    }
    assert any("6 of 105" in warning for warning in recorded.warnings)


def test_reads_and_writes_of_files_are_counted_as_left_out(tmp_path: Path) -> None:
    read = (
        '<event name="file_read_completed" package="sqlserver" timestamp="2026-11-22T07:00:00.885Z"><data'
        ' name="size"><value>8192</value></data></event>'
    )
    recorded = read_text(tmp_path, event_series() + read)
    assert recorded.dropped == {"reads and writes of files, which are read from .xel files alone": 1}


BOMB = '<!DOCTYPE lolz [<!ENTITY a "{}"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "declared", [BOMB.format("x" * 99), '<!DOCTYPE x SYSTEM "file:///etc/passwd">', "<!doctype x>"]
)
def test_document_types_are_refused_in_a_sentence(tmp_path: Path, declared: str) -> None:
    for text in (trace_xml(encoding="utf-8").decode(), event_series()):
        with pytest.raises(
            TraceError, match=r"declares a document type, which no tool of SQL Server writes; export it again$"
        ):
            read_text(tmp_path, declared + text)


def test_entities_that_nobody_declared_cost_their_event(tmp_path: Path) -> None:
    text = event_series().replace("update t", "&b;&b;", 1)
    recorded = read_text(tmp_path, text)
    assert len(statements(recorded)) == 3
    assert recorded.dropped == {"damaged events": 1}


def test_characters_that_xml_has_not_are_no_damage(tmp_path: Path) -> None:
    text = event_series().replace("update t", "update\0&#x1F; &#0;t", 1)
    recorded = read_text(tmp_path, text)
    assert len(statements(recorded)) == 4
    assert not recorded.dropped


def test_what_is_nested_deeply_or_very_long_costs_its_event_and_no_memory(tmp_path: Path) -> None:
    deep = '<event name="rpc_completed" package="sqlserver" timestamp="2026-11-22T07:00:00Z">' + "<a>" * 200_000
    long = (
        '<event name="rpc_completed" package="x" timestamp="2026-11-22T07:00:00Z"><data'
        f' name="statement"><value>{"x" * 2_000_000}'
    )
    never = '<event name="' + "x" * (LONGEST_ELEMENT + (1 << 20))
    text = event_series() + deep + "</a>" * 200_000 + "</event>" + long + "</value></data></event>" + event_series()
    recorded = read_text(tmp_path, text)
    assert len(statements(recorded)) == 8
    tracemalloc.start()
    with pytest.raises(TraceError, match="1 of 1 events cannot be read"):
        read_text(tmp_path, never, key="sqlserver-event-xml")
    assert tracemalloc.get_traced_memory()[1] < 200 << 20  # a few times the longest element
    tracemalloc.stop()


def test_a_file_that_is_cut_off_gives_what_is_readable_and_says_so(tmp_path: Path) -> None:
    for whole in (trace_xml(), event_series().encode()):
        recorded = read_text(
            tmp_path, whole[: whole.rindex("update".encode("utf-16-le") if whole[:1] == b"\xff" else b"update")]
        )
        assert len(statements(recorded)) == 3
        assert any(
            "cut off within an event; what stands before is read, the rest is lost" in said
            for said in recorded.warnings
        )


def test_numbers_that_were_never_set_are_not_known(tmp_path: Path) -> None:
    text = event_data(EVENTS[1]).replace(">9<", f">{(1 << 64) - 1}<")
    (row,) = statements(read_text(tmp_path, text))
    assert "rows" not in row
    (row,) = statements(read_text(tmp_path, trace_xml((EVENTS[1]._replace(cpu_ms=-1),))))
    assert "cpu_ns" not in row


def test_most_of_a_file_must_be_readable(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"6 of 6 events cannot be read"):
        read_text(tmp_path, event_series().replace('timestamp="', 'timestamp="x'))
    with pytest.raises(TraceError, match=r"with quotes around texts"):
        read_text(tmp_path, trace_table().replace('"', ""))


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for many in (200, 2_000):
        path = tmp_path / f"{many}.xml"
        path.write_bytes(trace_xml(EVENTS[1:4] * many))
        tracemalloc.start()
        read_text(tmp_path, path.read_bytes())
        peaks.append(tracemalloc.get_traced_memory()[1] - 2 * path.stat().st_size)
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + (24 << 20)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.integers(0, 1 << 32), st.sampled_from(["sqlserver-trace-xml", "sqlserver-event-xml", "sqlserver-trace-table"])
)
def test_damage_ends_in_a_sentence_at_worst(seed: int, key: str) -> None:
    chance = random.Random(seed)
    data = bytearray(
        {
            "sqlserver-trace-xml": trace_xml(),
            "sqlserver-event-xml": event_table().encode(),
            "sqlserver-trace-table": trace_table().encode(),
        }[key]
    )
    for _ in range(chance.randrange(1, 9)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    with tempfile.TemporaryDirectory() as folder:
        read_or_refused(Path(folder), bytes(data[: chance.randrange(1, len(data))]), key)


@pytest.mark.parametrize(
    ("text", "unix_ns"),
    [
        ("2026-11-22T07:00:00.88+00:00", 1_795_330_800_880_000_000),
        ("2026-11-22T07:00:00.5Z", 1_795_330_800_500_000_000),
        ("2026-11-22 07:00:00.1234567", 1_795_330_800_123_456_700),
        ("2026-11-22T08:00:00+01:00", 1_795_330_800_000_000_000),
        ("11/22/2026 7:00:00 AM", 1_795_330_800_000_000_000),
    ],
)
def test_times_are_exact(text: str, unix_ns: int) -> None:
    times = EventTimes()
    assert [times.unix_ns(text), times.unix_ns(text)] == [unix_ns, unix_ns]
    with pytest.raises(ValueError, match="is no time"):
        times.unix_ns("2026-02-30T07:00:00Z")
