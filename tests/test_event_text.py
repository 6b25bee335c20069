"""Text of block events: what it says is what the binary recording says, and what it lacks is said."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blktrace_records import as_lists, import_paths, same_rows
from tests.event_lines import Line, import_text
from tests.examples import examples
from tiersim.errors import TraceError
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.event_text import categories_of
from tiersim.traces.schema import FLAG_META, FLAG_READAHEAD, FLAG_SYNC, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

US = 1000
PRINTED = {"blkparse": Line.blkparse, "ftrace": Line.ftrace, "old_ftrace": Line.old_ftrace, "perf": Line.perf}
CSV = "TIME_NS,EVENT,DEV,SECTOR,NSECTORS,BYTES,RWBS,PID_or_LATENCY,COMM\n"

#: A read, a read with a split and a requeue, and what fsync waited for; a log writer's name has a space and a bracket.
LINES = [
    Line(0, "Q", "R", 64, 8),
    Line(5, "D", "R", 64, 8),
    Line(20, "Q", "RA", 1000, 32, pid=7, comm="my [db"),
    Line(21, "X", "RA", 1000, 1016, pid=7, comm="my [db"),
    Line(22, "D", "RA", 1000, 16, pid=7),
    Line(23, "D", "RA", 1016, 16, pid=7),
    Line(24, "R", "RA", 1016, 16, pid=3),
    Line(30, "D", "RA", 1016, 16, pid=9, comm="kworker/0:1H"),
    Line(95, "C", "R", 64, 8, pid=0),
    Line(120, "C", "RA", 1000, 16, pid=0),
    Line(140, "C", "RA", 1016, 16, pid=0),
    Line(200, "Q", "FWS", pid=7, comm="my [db"),
    Line(210, "D", "FN", pid=9, comm="kworker/0:1H"),
    Line(290, "C", "FN", pid=0),
    Line(300, "C", "WS", pid=0),
]


def text(lines: list[Line], printed: str) -> str:
    return "".join(PRINTED[printed](line) + "\n" for line in lines)


@pytest.mark.parametrize("printed", PRINTED)
def test_requests_of_a_text_written_by_hand(tmp_path: Path, printed: str) -> None:
    rows, manifest, bundle = import_text(tmp_path, text(LINES, printed))
    assert as_lists(rows, "time_ns", "op", "offset_bytes", "length_bytes", "issue_ns", "latency_ns", "flags") == [
        (0, READ, 32768, 4096, 5 * US, 95 * US, 0),
        (20 * US, READ, 512000, 8192, 22 * US, 100 * US, FLAG_READAHEAD),
        (20 * US, READ, 520192, 8192, 30 * US, 120 * US, FLAG_READAHEAD),
        (200 * US, FLUSH, 0, 0, 210 * US, 100 * US, FLAG_SYNC),
    ]
    assert [bundle.stream_names[code] for code in rows.stream] == ["fio 100", "my [db 7", "my [db 7", "my [db 7"]
    assert bundle.file_names == ["7,0"]
    assert (manifest.unmatched, manifest.dropped, manifest.warnings) == (0, {}, [])
    assert manifest.source_format == ("blkparse" if printed == "blkparse" else "ftrace")


def test_letters_mean_what_the_kernel_and_blkparse_print() -> None:
    flush, write, fua, discard = categories_of(b"F"), categories_of(b"W"), 0x8000, categories_of(b"D")
    assert categories_of(b"FF") == categories_of(b"FN") == flush
    assert flush is not None
    assert write is not None
    assert categories_of(b"FWFSM") == flush | write | fua | 0x8 | 0x1000
    assert categories_of(b"WFS") == write | fua | 0x8
    assert categories_of(b"DE") == discard
    assert (categories_of(b"N"), categories_of(b"R")) == (0, 1)
    assert categories_of(b"ZAS") == write | 0x8  # zone append
    assert [categories_of(letters) for letters in (b"", b"X", b"WX", b"FFFW", b"r", b"ZR")] == [None] * 6


@st.composite
def recordings(draw: st.DrawFn) -> list[Line]:
    """Draw events that may, or may not, make sense together."""
    lines, now_us = [], draw(st.sampled_from([0, 1_000_000]))
    for _ in range(draw(st.integers(1, 30))):
        now_us += draw(st.integers(0, 3))
        action = draw(st.sampled_from("QQQDDCCRX"))
        rwbs = draw(st.sampled_from(["R", "RA", "WS", "WSM", "FWS", "FWFSM", "WFS", "FN", "D"]))
        flush = rwbs == "FN" or (rwbs == "FWS" and draw(st.booleans()))
        sector, sectors = 8 * draw(st.integers(0, 5)), 8 * draw(st.integers(1, 3))
        if action == "X":
            rwbs, sectors, flush = "R", sector + 8, False
        pid = draw(st.integers(1, 2))
        lines.append(Line(now_us, action, rwbs, 0 if flush else sector, 0 if flush else sectors, pid, f"p{pid}"))
    return lines


@pytest.mark.long
@pytest.mark.parametrize("printed", PRINTED)
@given(lines=recordings())
@settings(max_examples=examples(40), deadline=None)
def test_text_and_binary_of_the_same_events_are_the_same_requests(
    tmp_path_factory: pytest.TempPathFactory, printed: str, lines: list[Line]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    recording = folder / "recording.bin"
    recording.write_bytes(b"".join(line.record() for line in lines))
    written = text(lines, printed)
    try:
        rows, bundle = import_paths(folder, recording)
    except TraceError:
        with pytest.raises(TraceError, match="no queued or issued request"):
            import_text(folder, written)
        return
    found, manifest, _ = import_text(folder, written)
    if any(line.action == "Q" for line in lines):
        assert same_rows(rows, found)
    else:  # the streams of a recording without queue events
        assert same_rows(rows, found, without=("stream",))
        assert set(found.stream) == {-1}
    assert (manifest.unmatched, manifest.dropped) == (bundle.manifest.unmatched, bundle.manifest.dropped)


# blkparse.

SUMMARY = """CPU0 (loop0):
 Reads Queued:         829,     6632KiB\t Writes Queued:         709,     5672KiB
 IO unplugs:          1373        \t Timer unplugs:           0

Total (loop0):
 Reads Queued:        3395,    27160KiB\t Writes Queued:        2058,    16464KiB

Throughput (R/W): 2716KiB/s / 1646KiB/s
Events (loop0): 32418 entries
Skips: 0 forward (0 -   0.0%)
"""


def test_what_blkparse_prints_besides_requests_is_left_out(tmp_path: Path) -> None:
    more = [
        "Input file sda.blktrace.0 added",
        "  7,0    1        5     0.000020860 14331  P   N [fio]",
        "  7,0    1        6     0.000021710 14331  U   N [fio] 1",
        "  7,0    1        6     0.000021710     0 UT   N [swapper] 1",
        "  7,0    1        6     0.000021710 14331  A   R 64 + 8 <- (7,1) 0",
        "  7,0    1        6     0.000021710 14331  m   N cfq14331S / alloced",
        "  7,0    1        6     0.000021710 14331  I   R 36 (12 00 00 00 24 00 ..) [hald]",
        "  7,0    1        6     0.000021710 14331  D   R 36 (12 00 00 00 24 00 ..) [hald]",
        "  7,0    1        6     0.000021710     0  C   R (12 00 00 00 24 00 ..) [0]",
    ]
    whole = "\n".join(more) + "\n" + text(LINES, "blkparse") + SUMMARY
    rows, manifest, _ = import_text(tmp_path, whole)
    alone, _, _ = import_text(tmp_path, text(LINES, "blkparse"))
    assert same_rows(rows, alone)
    assert (manifest.dropped, manifest.warnings) == ({}, [])
    windows, manifest, _ = import_text(tmp_path, whole.replace("\n", "\r\n"))
    assert same_rows(windows, alone)
    assert manifest.warnings == []


def test_elapsed_times_and_unknown_processes_are_understood(tmp_path: Path) -> None:
    lines = [
        "  7,0    1        3     0.000000000 14331  Q   R 0 + 32 [(null)]",
        "  7,0    1        7     0.000023010 14331  D   R 0 + 32 (   23010) [(null)]",
        "  7,0    1       10     0.018495567    22  C   R 0 + 32 (18472557) [5]",
    ]
    rows, manifest, bundle = import_text(tmp_path, "\n".join(lines))
    assert as_lists(rows, "length_bytes", "latency_ns") == [(16384, 18495567)]
    assert bundle.stream_names == ["pid 14331"]
    assert manifest.warnings == ["1 completions report an error of the device"]


# ftrace and perf.


def test_without_queue_events_a_request_begins_at_its_issue_and_nobody_queued_it(tmp_path: Path) -> None:
    lines = [line for line in LINES if line.action in "DRC"]
    rows, manifest, bundle = import_text(tmp_path, text(lines, "perf"))
    assert as_lists(rows, "time_ns", "op", "length_bytes", "issue_ns", "latency_ns") == [
        (0, READ, 4096, 0, 90 * US),
        (17 * US, READ, 8192, 17 * US, 98 * US),
        (18 * US, READ, 8192, 25 * US, 117 * US),
        (205 * US, FLUSH, 0, 205 * US, 80 * US),
    ]
    assert set(rows.stream) == {-1}
    assert bundle.stream_names == []
    assert manifest.inferred[0].startswith("no queue event is recorded: times and latencies begin when the device got")


def test_without_queue_events_an_inserted_request_begins_at_its_insertion(tmp_path: Path) -> None:
    lines = [
        Line(0, "I", "WS", 0, 8),
        Line(1, "I", "R", 800, 8),
        Line(2, "D", "R", 400, 8),  # went around the scheduler
        Line(10, "D", "WS", 0, 24),  # 8–24 was merged into it after its insertion
        Line(11, "D", "R", 792, 16),  # 792–800 was merged in front
        Line(12, "D", "FN"),
        Line(20, "R", "R", 792, 16),
        Line(21, "I", "R", 792, 16),  # inserted anew, but not queued anew
        Line(22, "D", "R", 792, 16),
        Line(30, "C", "R", 400, 8),
        Line(40, "C", "WS", 0, 24),
        Line(50, "C", "R", 792, 16),
        Line(60, "C", "FN"),
    ]
    rows, manifest, _ = import_text(tmp_path, text(lines, "ftrace"))
    assert as_lists(rows, "time_ns", "op", "offset_bytes", "length_bytes", "issue_ns", "latency_ns") == [
        (0, WRITE, 0, 4096, 10 * US, 40 * US),
        (1 * US, READ, 409600, 4096, 22 * US, 49 * US),
        (2 * US, READ, 204800, 4096, 2 * US, 28 * US),
        (10 * US, WRITE, 4096, 8192, 10 * US, 30 * US),
        (11 * US, READ, 405504, 4096, 22 * US, 39 * US),
        (12 * US, FLUSH, 0, 0, 12 * US, 48 * US),
    ]
    assert "inserted into the scheduler" in manifest.inferred[0]
    assert set(rows.stream) == {-1}
    assert (manifest.unmatched, manifest.dropped, manifest.warnings) == (0, {}, [])


def test_insertions_are_not_needed_where_queue_events_are(tmp_path: Path) -> None:
    with_inserts = sorted([*LINES, Line(2, "I", "R", 64, 8)])
    rows, _, _ = import_text(tmp_path, text(with_inserts, "ftrace"))
    alone, manifest, _ = import_text(tmp_path, text(LINES, "ftrace"))
    assert same_rows(rows, alone)
    assert not any("inserted" in sentence for sentence in manifest.inferred)


def test_other_events_are_left_out_and_lost_ones_counted(tmp_path: Path) -> None:
    lines = [
        "# tracer: nop",
        "#",
        "# entries-in-buffer/entries-written: 15/20   #P:2",
        "   fio-100   [000] d..2.     0.000001: sched_switch: prev_comm=fio prev_pid=100 ==> next_comm=a next_pid=1",
        "   fio-100   (    100) [000] .....     0.000001: block_plug: [fio]",
        "CPU:1 [LOST 7 EVENTS]",
        *(line.ftrace() for line in LINES),
    ]
    rows, manifest, _ = import_text(tmp_path, "\n".join(lines))
    assert len(rows) == 4
    assert manifest.dropped == {"events lost while recording": 12}
    assert manifest.warnings == ["12 events were lost while recording; record again with larger buffers"]


# bpftrace.


def test_requests_of_a_bpftrace_csv(tmp_path: Path) -> None:
    lines = [
        "1000,start,7:2,64,16,8192,WSM,21243,postgres",
        "1500,start,7:0,0,0,0,FWS,8,a,b",
        "2500,start,7:0,8,8,4096,RA,9,c",
        "401000,done,7:2,64,0,0,WSM,386_us,postgres",
        "402500,done,7:0,0,0,0,FF,300_us,a,b",
        "500000,start,7:0,0,0,0,FWS,8,a,b",
        "510000,start,7:0,0,0,0,FWS,9,c",  # the script forgets the one before
        "600000,done,7:0,0,0,0,FF,80_us,c",
        "2000000000,start,7:0,512,8,4096,WS,9,c",
    ]
    rows, manifest, bundle = import_text(tmp_path, CSV + "\n".join(lines))
    assert as_lists(rows, "time_ns", "op", "offset_bytes", "length_bytes", "latency_ns", "flags", "issue_ns") == [
        (0, WRITE, 32768, 8192, 386 * US, FLAG_SYNC | FLAG_META, -1),
        (500, FLUSH, 0, 0, 300 * US, FLAG_SYNC, -1),
        (1500, READ, 4096, 4096, -1, FLAG_READAHEAD, -1),
        (499000, FLUSH, 0, 0, -1, FLAG_SYNC, -1),
        (509000, FLUSH, 0, 0, 80 * US, FLAG_SYNC, -1),
        (1999999000, WRITE, 262144, 4096, -1, FLAG_SYNC, -1),
    ]
    assert [bundle.stream_names[code] for code in rows.stream] == [
        "postgres 21243",
        "a,b 8",
        "c 9",
        "a,b 8",
        "c 9",
        "c 9",
    ]
    assert bundle.file_names == ["7,2", "7,0"]
    assert manifest.unmatched == 2
    assert manifest.dropped == {"in flight when the recording ended": 1}
    assert manifest.source_format == "bpftrace"


# What is damaged, hostile, or something else.


@pytest.mark.parametrize("format", ["blkparse", "ftrace", "bpftrace"])
def test_a_file_without_requests_is_refused(tmp_path: Path, format: str) -> None:
    for content, why in [
        (b"", "is empty"),
        (b"\0\xff" * 5000, "line 1: "),
        (b"hello\nworld\n", "line 1: b'hello' is no event"),
        (b"\n\n", "but no queued or issued request"),
    ]:
        with pytest.raises(TraceError) as caught:
            import_text(tmp_path, content, format)
        message = str(caught.value)
        assert message.startswith(str(tmp_path / "events.txt"))
        assert why in message
        assert "\n" not in message
    with pytest.raises(TraceError, match="only one text of events"):
        import_trace([tmp_path / "events.txt", tmp_path / "more.txt"], tmp_path / "x.trace", format=format)
    with pytest.raises(TraceError, match="cannot be read"):
        import_trace([tmp_path / "none.txt"], tmp_path / "x.trace", format=format)
    assert not (tmp_path / "text.trace").exists()


@pytest.mark.parametrize("printed", PRINTED)
def test_damaged_lines_are_counted_and_the_first_is_shown(tmp_path: Path, printed: str) -> None:
    lines = text(LINES, printed).splitlines()
    lines[8:8] = ["rubbish \xff", "  7,0 " + "9" * 100_000, lines[1].replace(" R ", " RXQ ")]
    rows, manifest, _ = import_text(tmp_path, "\n".join(lines))
    alone, _, _ = import_text(tmp_path, text(LINES, printed))
    assert same_rows(rows, alone)
    assert manifest.dropped == {"lines that are no events": 3}
    assert "3 lines are no events and were left out, the first is line 9: 'rubbish" in manifest.warnings[0]


def test_a_leap_of_the_clock_and_a_second_recording_are_left_out(tmp_path: Path) -> None:
    leap = Line(10_000_000_000, "Q", "R", 8, 8)
    lines = [*LINES[:4], leap, *LINES[4:], *(line._replace(time_us=line.time_us + 300_000) for line in LINES[:2])]
    rows, manifest, _ = import_text(tmp_path, text(lines, "blkparse") + text(LINES, "blkparse"))
    assert len(rows) == 5
    assert manifest.dropped["events out of time order"] == 1 + len(LINES)
    assert "are these several recordings in one file?" in manifest.warnings[0]


def test_a_little_disorder_is_put_right(tmp_path: Path) -> None:
    lines = [LINES[1], LINES[0], *LINES[2:]]
    rows, manifest, _ = import_text(tmp_path, text(lines, "perf"))
    alone, _, _ = import_text(tmp_path, text(LINES, "perf"))
    assert same_rows(rows, alone, without=("stream",))
    assert manifest.warnings == []


def test_values_that_no_device_has_are_left_out(tmp_path: Path) -> None:
    lines = [*LINES[:2], Line(6, "Q", "R", 1 << 60, 8), Line(7, "Q", "N", 8, 8), *LINES[2:]]
    rows, manifest, _ = import_text(tmp_path, text(lines, "blkparse"))
    assert len(rows) == 4
    assert manifest.dropped == {"events with impossible values": 2}


def test_lines_are_whole_wherever_a_block_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alone, manifest, _ = import_text(tmp_path, text(LINES, "ftrace"))
    for chunk_bytes in (1, 7, 64, 1000):
        monkeypatch.setattr("tiersim.traces.readers.opened.PIECE_BYTES", chunk_bytes)
        rows, again, _ = import_text(tmp_path, text(LINES, "ftrace"))
        assert same_rows(rows, alone)
        assert again == manifest


WHOLE = [text(LINES, printed).encode() for printed in PRINTED] + [
    (CSV + "1,start,7:2,64,16,8192,WSM,21243,postgres\n9,done,7:2,64,0,0,WSM,386_us,postgres\n" * 3).encode()
]


@given(st.data())
@settings(max_examples=examples(150), deadline=None)
def test_hostile_text_gives_one_sentence_or_requests(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Bytes replaced, removed, repeated: whatever is imported is a whole bundle."""
    content = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(content) - 1))
        what = data.draw(st.sampled_from([b"", b"\n", b"9", b"-", b"[", b" ", b"\xff", b"99999999999999999999", b"0"]))
        content[at : at + data.draw(st.integers(0, 30))] = what
    format = data.draw(st.sampled_from([None, "blkparse", "ftrace", "bpftrace"]))
    with contextlib.suppress(TraceError):
        rows, _, _ = import_text(tmp_path_factory.getbasetemp(), bytes(content), format)
        assert np.all(np.diff(rows.time_ns) >= 0)


@pytest.mark.parametrize(("printed", "format"), [*((name, None) for name in PRINTED), ("csv", "bpftrace")])
def test_the_format_is_told_from_the_first_lines(tmp_path: Path, printed: str, format: str | None) -> None:
    path = tmp_path / "x"
    path.write_text(CSV if printed == "csv" else text(LINES, printed))
    assert detect_format(path) == (format or ("blkparse" if printed == "blkparse" else "ftrace"))


def test_a_completion_decades_later_is_left_out(tmp_path: Path) -> None:
    century_us = 100 * 365 * 86_400 * 1_000_000
    lines = [Line(0, "Q", "R", 8, 8), Line(1, "D", "R", 8, 8), Line(century_us, "C", "R", 8, 8)]
    rows, manifest, _ = import_text(tmp_path, text(lines, "blkparse"))
    assert rows.latency_ns.tolist() == [-1]
    assert manifest.dropped["events 36 years or more after the first"] == 1
