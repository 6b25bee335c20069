"""What the blktrace reader makes of every kind of event, on records built here."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests import naive_blktrace
from tests.blktrace_records import (
    LOOP0,
    A,
    C,
    D,
    F,
    G,
    M,
    Order,
    P,
    Q,
    R,
    X,
    as_lists,
    categories,
    content_hash,
    import_bytes,
    import_paths,
    message,
    process,
    record,
    same_rows,
    split,
)
from tests.naive_blktrace import Event
from tiersim.errors import TraceError
from tiersim.traces.bundle import Requests, RequestWriter
from tiersim.traces.readers import blktrace
from tiersim.traces.readers.blktrace import QueueWindow, read_blktrace
from tiersim.traces.readers.blktrace_kernels import EVENT_COLUMNS
from tiersim.traces.readers.importing import formats_like
from tiersim.traces.readers.opened import find_parts
from tiersim.traces.schema import (
    DATA_READ,
    DATA_WRITE,
    DISCARD,
    FLAG_FUA,
    FLAG_META,
    FLAG_READAHEAD,
    FLAG_SYNC,
    FLUSH,
    LOG_WRITE,
    OPERATIONS,
    READ,
    UNKNOWN,
    WRITE,
)

pytestmark = pytest.mark.kernels

DATA = Path(__file__).parent / "data"
VDA = 254 << 20
DM = 253 << 20

# (queued, op, offset, length, issue, command, latency)
SHORT = ("time_ns", "op", "offset_bytes", "length_bytes", "issue_ns", "command", "latency_ns")


def short(folder: Path, *records: bytes) -> list[tuple[int, ...]]:
    return as_lists(import_bytes(folder, b"".join(records))[0], *SHORT)


# --- pairing


def test_a_request_is_queued_issued_and_completed(tmp_path: Path) -> None:
    rows = short(tmp_path, record(Q, 100, 8, 4096), record(D, 130, 8, 4096), record(C, 200, 8, 4096))
    assert rows == [(0, READ, 8 * 512, 4096, 30, 0, 100)]


def test_time_counts_from_the_first_queued_request(tmp_path: Path) -> None:
    records = record(P, 50), record(Q, 100, 8, 4096), record(Q, 107, 16, 4096)
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert rows.time_ns.tolist() == [0, 7]
    assert bundle.manifest.host == {"clock_start_ns": 100}


def test_merged_bios_share_command_and_issue(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 16, 4096, "W"),
        record(G, 101, 16, 4096, "W"),
        record(Q, 110, 24, 8192, "W"),
        record(M, 111, 24, 8192, "W"),
        record(Q, 120, 8, 4096, "W"),
        record(F, 121, 8, 4096, "W"),
        record(D, 150, 8, 16384, "W"),
        record(C, 250, 8, 16384, "W"),
    ]
    assert short(tmp_path, *records) == [
        (0, WRITE, 16 * 512, 4096, 50, 0, 150),
        (10, WRITE, 24 * 512, 8192, 50, 0, 140),
        (20, WRITE, 8 * 512, 4096, 50, 0, 130),
    ]


def test_a_split_bio_is_two_rows_of_one_queue_time_before_what_was_queued_later(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 0, 8192),
        record(Q, 101, 64, 4096),
        split(102, 0, 8),
        record(D, 110, 0, 4096),
        record(D, 112, 8, 4096),
        record(C, 120, 8, 4096),
        record(C, 130, 0, 4096),
    ]
    assert short(tmp_path, *records) == [
        (0, READ, 0, 4096, 10, 0, 30),
        (0, READ, 8 * 512, 4096, 12, 1, 20),
        (1, READ, 64 * 512, 4096, -1, -1, -1),
    ]


def test_after_a_requeue_the_last_issue_counts(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 0, 4096, "W"),
        record(D, 110, 0, 4096, "W"),
        record(R, 115, 0, 4096, "W"),
        record(D, 160, 0, 4096, "W"),
        record(C, 200, 0, 4096, "W"),
    ]
    assert short(tmp_path, *records) == [(0, WRITE, 0, 4096, 60, 1, 100)]


def test_a_requeue_that_no_issue_follows_takes_the_issue_back(tmp_path: Path) -> None:
    rows = [record(Q, 100, 0, 4096, "W"), record(D, 110, 0, 4096, "W"), record(R, 115, 0, 4096, "W")]
    assert short(tmp_path, *rows) == [(0, WRITE, 0, 4096, -1, -1, -1)]


def test_a_request_that_grew_after_its_requeue_is_one_command(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 8, 4096, "W"),
        record(D, 110, 8, 4096, "W"),
        record(R, 115, 8, 4096, "W"),
        record(Q, 120, 0, 4096, "W"),
        record(D, 160, 0, 8192, "W"),
        record(C, 200, 0, 8192, "W"),
    ]
    assert short(tmp_path, *records) == [(0, WRITE, 4096, 4096, 60, 1, 100), (20, WRITE, 0, 4096, 60, 1, 80)]


def test_equal_requests_in_flight_complete_first_come_first_served(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 0, 4096),
        record(Q, 105, 0, 4096),
        record(D, 110, 0, 4096),
        record(D, 120, 0, 4096),
        record(C, 200, 0, 4096),
        record(C, 300, 0, 4096),
    ]
    assert short(tmp_path, *records) == [(0, READ, 0, 4096, 10, 0, 100), (5, READ, 0, 4096, 20, 1, 195)]


def test_requests_at_one_sector_are_told_apart_by_direction_and_length(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 0, 4096, "R"),
        record(Q, 101, 0, 4096, "W"),
        record(Q, 102, 0, 8192, "R"),
        record(D, 110, 0, 8192, "R"),
        record(D, 111, 0, 4096, "W"),
        record(D, 112, 0, 4096, "R"),
        record(C, 201, 0, 4096, "W"),
        record(C, 202, 0, 8192, "R"),
        record(C, 203, 0, 4096, "R"),
    ]
    assert short(tmp_path, *records) == [
        (0, READ, 0, 4096, 12, 2, 103),
        (1, WRITE, 0, 4096, 11, 1, 100),
        (2, READ, 0, 8192, 10, 0, 100),
    ]


def test_a_partial_completion_leaves_a_request_at_the_next_sector(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 0, 4096),
        record(Q, 101, 8, 8192),
        record(D, 110, 0, 12288),
        record(C, 150, 0, 8192),
        record(C, 190, 16, 4096),
    ]
    assert short(tmp_path, *records) == [(0, READ, 0, 4096, 10, 0, 50), (1, READ, 4096, 8192, 10, 0, 89)]


def test_a_device_without_issues_is_measured_from_queue_to_completion(tmp_path: Path) -> None:
    """Device mapper: the upper device shows Q and C; the remap belongs to the lower device and is no request."""
    records = [
        record(Q, 100, 0, 4096, device=DM),
        record(A, 101, 2048, 4096, pdu=bytes(16), device=VDA),
        record(Q, 102, 2048, 4096, device=VDA),
        record(D, 105, 2048, 4096, device=VDA),
        record(C, 150, 2048, 4096, device=VDA),
        record(C, 155, 0, 4096, device=DM),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert bundle.file_names == ["253,0", "254,0"]
    assert as_lists(rows, "file", *SHORT) == [
        (0, 0, READ, 0, 4096, -1, 1, 55),
        (1, 2, READ, 2048 * 512, 4096, 5, 0, 48),
    ]
    assert bundle.manifest.unmatched == 0


def test_requests_that_device_mapper_hands_on_are_said_to_count_twice(tmp_path: Path) -> None:
    """A recording of all devices has each request of a logical volume once more, on the disk below."""
    records = []
    for number in range(20):
        at, sector = 1000 * number, 8 * number
        records += [
            record(Q, at, sector, 4096, device=DM),
            record(A, at + 1, sector + 800, 4096, device=VDA),
            record(Q, at + 2, sector + 800, 4096, device=VDA),
            record(D, at + 3, sector + 800, 4096, device=VDA),
            record(C, at + 90, sector + 800, 4096, device=VDA),
            record(C, at + 91, sector, 4096, device=DM),
        ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert len(rows) == 40
    (said,) = (one for one in bundle.manifest.warnings if "twice" in one)
    assert said.startswith("device 253,0: none of its 20 requests shows an issue")
    assert "if 254,0 got them" in said
    for device in (DM, VDA):
        own = b"".join(one for one in records if int.from_bytes(one[36:40], "little") == device)
        assert not import_bytes(tmp_path, own)[1].manifest.warnings


def test_the_process_that_queued_a_request_owns_it(tmp_path: Path) -> None:
    records = [
        process(50, 7, "postgres"),
        record(Q, 100, 0, 4096, pid=7),
        record(D, 101, 0, 4096, pid=9),
        record(C, 102, 0, 4096, pid=0),
        record(Q, 103, 8, 4096, pid=8),
        process(104, 7, "reused\x1b"),
        record(Q, 105, 16, 4096, pid=7),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert [bundle.stream_names[code] for code in rows.stream] == ["postgres 7", "pid 8", "reused? 7"]


def test_flags_come_from_the_queue_event(tmp_path: Path) -> None:
    rwbs = {"R": 0, "AR": FLAG_READAHEAD, "WS": FLAG_SYNC, "WSU": FLAG_SYNC | FLAG_FUA, "RM": FLAG_META}
    records = [record(Q, 100 + at, 8 * at, 4096, letters) for at, letters in enumerate(rwbs)]
    rows, _ = import_bytes(tmp_path, b"".join(records))
    assert rows.flags.tolist() == list(rwbs.values())


def test_discards_are_requests_and_passthrough_is_not(tmp_path: Path) -> None:
    discard = [record(action, time_ns, 0, 1 << 20, "DS") for action, time_ns in ((Q, 100), (D, 110), (C, 150))]
    passthrough = record(D, 120, 0, 512)
    passthrough = passthrough[:28] + (D | 0x201 << 16).to_bytes(4, "little") + passthrough[32:]
    assert short(tmp_path, *discard, passthrough) == [(0, DISCARD, 0, 1 << 20, 10, 0, 50)]


# --- flushes


def flush_command(issue_ns: int, complete_ns: int) -> list[bytes]:
    return [record(D, issue_ns, rwbs="FN"), record(C, complete_ns, rwbs="FN")]


def test_a_flush_lasts_until_its_bio_is_told(tmp_path: Path) -> None:
    rows = short(tmp_path, record(Q, 100, rwbs="FWS"), *flush_command(120, 180), record(C, 190, rwbs="WS"))
    assert rows == [(0, FLUSH, 0, 0, 20, 0, 90)]


def test_flushes_that_wait_together_share_one_command(tmp_path: Path) -> None:
    records = [
        record(Q, 100, rwbs="FWS"),
        record(D, 110, rwbs="FN"),
        record(Q, 120, rwbs="FWS"),
        record(Q, 130, rwbs="FWS"),
        record(C, 180, rwbs="FN"),
        record(C, 181, rwbs="WS"),
        *flush_command(190, 250),
        record(C, 251, rwbs="WS"),
        record(C, 252, rwbs="WS"),
    ]
    assert short(tmp_path, *records) == [
        (0, FLUSH, 0, 0, 10, 0, 81),
        (20, FLUSH, 0, 0, 90, 1, 131),
        (30, FLUSH, 0, 0, 90, 1, 122),
    ]


def test_two_hardware_queues_flush_at_once(tmp_path: Path) -> None:
    """The second command takes over the younger of those whom the first was given."""
    records = [
        record(Q, 100, rwbs="FWS"),
        record(Q, 101, rwbs="FWS"),
        record(D, 110, rwbs="FN"),
        record(D, 111, rwbs="FN"),
        record(C, 180, rwbs="FN"),
        record(C, 181, rwbs="WS"),
        record(C, 190, rwbs="FN"),
        record(C, 191, rwbs="WS"),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert as_lists(rows, "issue_ns", "command", "latency_ns") == [(10, 0, 81), (11, 1, 90)]
    assert bundle.manifest.unmatched == 0
    assert bundle.manifest.dropped == {}


def test_a_requeued_flush_command_is_issued_once(tmp_path: Path) -> None:
    records = [record(Q, 100, rwbs="FWS"), record(D, 110, rwbs="FN"), record(R, 115, rwbs="FN")]
    rows = short(tmp_path, *records, *flush_command(130, 180), record(C, 190, rwbs="WS"))
    assert rows == [(0, FLUSH, 0, 0, 30, 1, 90)]


def test_a_write_with_flush_and_fua_is_three_commands_on_a_device_without_fua(tmp_path: Path) -> None:
    """What the journal of ext4 does to a loop device."""
    records = [
        record(Q, 100, 64, 4096, "FWUSM"),
        *flush_command(110, 150),
        record(D, 160, 64, 4096, "WSM"),
        record(C, 190, 64, 4096, "WSM"),
        *flush_command(200, 240),
        record(C, 250, 64, 0, "WSM"),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert as_lists(rows, *SHORT) == [
        (0, FLUSH, 0, 0, 10, 0, 50),
        (0, WRITE, 64 * 512, 4096, 60, 1, 150),
        (0, FLUSH, 0, 0, 100, 2, 140),
    ]
    assert rows.flags.tolist() == [FLAG_SYNC | FLAG_META, FLAG_SYNC | FLAG_META | FLAG_FUA, FLAG_SYNC | FLAG_META]
    assert bundle.manifest.unmatched == 0


def test_a_device_with_fua_gets_no_flush_behind_the_write(tmp_path: Path) -> None:
    records = [
        record(Q, 100, 64, 4096, "FWUS"),
        *flush_command(110, 150),
        record(D, 160, 64, 4096, "WUS"),
        record(C, 190, 64, 4096, "WUS"),
        record(C, 195, 64 + 8, 0, "WUS"),  # older kernels tell the end of the write
    ]
    assert short(tmp_path, *records) == [(0, FLUSH, 0, 0, 10, 0, 50), (0, WRITE, 64 * 512, 4096, 60, 1, 95)]


def test_a_write_with_fua_alone_is_one_command(tmp_path: Path) -> None:
    records = [record(Q, 100, 0, 4096, "WUS"), record(D, 110, 0, 4096, "WUS"), record(C, 150, 0, 4096, "WUS")]
    assert short(tmp_path, *records) == [(0, WRITE, 0, 4096, 10, 0, 50)]


def test_a_flush_that_device_mapper_passes_on_has_no_issue(tmp_path: Path) -> None:
    records = [
        record(Q, 100, rwbs="FWS", device=DM),
        record(Q, 101, 8, 4096, "FWUS", device=DM),
        record(C, 150, rwbs="FWS", device=DM),
        record(C, 160, 8, 4096, "FWUS", device=DM),
    ]
    assert short(tmp_path, *records) == [(0, FLUSH, 0, 0, -1, 0, 50), (1, WRITE, 4096, 4096, -1, 1, 59)]


def test_a_flush_without_its_last_event_lasts_as_long_as_its_command(tmp_path: Path) -> None:
    rows, bundle = import_bytes(tmp_path, b"".join([record(Q, 100, rwbs="FWS"), *flush_command(120, 180)]))
    assert as_lists(rows, *SHORT) == [(0, FLUSH, 0, 0, 20, 0, 80)]
    assert bundle.manifest.dropped == {}


# --- what finds no partner


def test_requests_cut_off_by_the_recording_are_told_from_lost_ones(tmp_path: Path) -> None:
    second = 10**9
    records = [
        record(C, 90, 800, 4096),
        record(D, 95, 808, 4096),
        record(C, 99, 808, 4096),
        record(Q, 100, 0, 4096),
        record(D, 110, 0, 4096),
        record(C, 200, 0, 4096),
        record(Q, 300, 16, 4096),
        record(C, 20 * second, 840, 4096),
        record(Q, 21 * second, 8, 4096),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert rows.latency_ns.tolist() == [100, -1, -1]
    assert bundle.manifest.dropped == {
        "in flight when the recording began": 2,
        "in flight when the recording ended": 1,
    }
    assert bundle.manifest.unmatched == 2  # the row queued at 300 and the completion after 20 s


def test_a_row_that_never_completes_does_not_hold_the_rest_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blktrace, "FIRST_ROWS", 16)
    monkeypatch.setattr(blktrace, "MAX_ROWS", 64)
    records = [record(Q, 0, 1 << 20, 4096)]
    for at in range(500):
        begin = 1000 * at
        records += [record(Q, begin, 8 * at, 4096), record(D, begin + 10, 8 * at, 4096)]
        records += [record(C, begin + 100, 8 * at, 4096)]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert len(rows) == 501
    assert rows.latency_ns.tolist() == [-1] + [100] * 500
    assert bundle.manifest.unmatched == 1


def test_a_row_is_given_up_after_a_minute(tmp_path: Path) -> None:
    minute = 60 * 10**9
    records = [record(Q, 1, 0, 4096), record(Q, 2 * minute, 8, 4096), record(C, 2 * minute + 50, 8, 4096)]
    records += [record(C, 2 * minute + 60, 0, 4096)]
    window = QueueWindow()
    blocks = [block for at in records for block in window.add(*events_of_bytes(at))]
    assert not blocks
    assert window.given_up == 1


def events_of_bytes(raw: bytes) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    action = int.from_bytes(raw[28:32], "little")
    event = [int.from_bytes(raw[8:16], "little"), int.from_bytes(raw[16:24], "little")]
    event += [int.from_bytes(raw[24:28], "little"), action & 0xFF, action >> 16, 1, LOOP0, 0]
    return np.array([event]), np.arange(1)


def test_lost_events_are_seen_in_the_sequence_numbers(tmp_path: Path) -> None:
    one = [record(Q, 100, 0, 4096, sequence=1), record(C, 130, 0, 4096, sequence=5)]
    two = [record(D, 110, 0, 4096, sequence=7, cpu=1), record(P, 120, sequence=8, cpu=1)]
    rows, bundle = import_bytes(tmp_path, b"".join(one), b"".join(two))
    assert as_lists(rows, *SHORT) == [(0, READ, 0, 4096, 10, 0, 30)]
    assert bundle.manifest.dropped == {"events lost while recording": 3}
    assert "3 events were lost" in bundle.manifest.warnings[0]


def test_failed_requests_keep_their_latency_and_are_told(tmp_path: Path) -> None:
    records = [record(Q, 100, 0, 4096), record(D, 110, 0, 4096), record(C, 150, 0, 4096, error=5)]
    orders: tuple[Order, ...] = ("little", "big")
    for order in orders:
        raw = [record(Q, 100, 0, 4096, order=order), record(C, 150, 0, 4096, error=5, order=order)]
        rows, bundle = import_bytes(tmp_path, b"".join(raw))
        assert rows.latency_ns.tolist() == [50]
        assert bundle.manifest.warnings == ["1 completions report an error of the device"]
    assert short(tmp_path, *records)[0][-1] == 50


def test_without_queue_events_a_request_begins_when_it_is_issued(tmp_path: Path) -> None:
    """blktrace -a issue -a complete."""
    records = [
        record(C, 90, 800, 4096, "R"),
        record(D, 100, 0, 4096, "WS"),
        record(C, 150, 0, 4096, "WS"),
        *flush_command(160, 190),
        record(C, 195, rwbs="WS"),
        record(D, 200, 8, 4096),
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(records))
    assert as_lists(rows, *SHORT) == [
        (0, WRITE, 0, 4096, 0, 0, 50),
        (60, FLUSH, 0, 0, 60, 1, 30),
        (100, READ, 4096, 4096, 100, 2, -1),
    ]
    assert rows.stream.tolist() == [-1, -1, -1]
    manifest = bundle.manifest
    assert manifest.unmatched == 0
    assert manifest.dropped == {"in flight when the recording began": 1, "in flight when the recording ended": 1}
    assert manifest.inferred[0].startswith("no queue event is recorded")


def test_a_recording_without_requests_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no queued or issued request"):
        import_bytes(tmp_path, record(P, 100) + record(C, 120, 0, 4096))


# --- containers


MIX: tuple[tuple[Callable[..., bytes], tuple[Any, ...], dict[str, Any]], ...] = (
    (process, (90, 100, "fio"), {}),
    (record, (Q, 100, 1 << 33, 4096, "WS"), {}),
    (message, (101, "odd"), {}),
    (record, (Q, 103, 16, 8192), {"pid": 4_000_000_000}),
    (split, (104, 16, 24), {}),
    (record, (D, 110, 1 << 33, 4096, "WS"), {"device": LOOP0}),
    (record, (D, 111, 16, 4096), {}),
    (record, (C, 150, 1 << 33, 4096, "WS"), {"error": 5}),
    (record, (C, 160, 16, 4096), {}),
)


def mix(version: int, order: Order) -> bytes:
    return b"".join(make(*given, **more, version=version, order=order) for make, given, more in MIX)


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [7, 8])
def test_every_version_and_byte_order_reads_alike(tmp_path: Path, version: int, order: Order) -> None:
    rows, bundle = import_bytes(tmp_path, mix(version, order))
    assert as_lists(rows, *SHORT) == [
        (0, WRITE, 1 << 42, 4096, 10, 0, 50),
        (3, READ, 16 * 512, 4096, 11, 1, 57),
        (3, READ, 24 * 512, 4096, -1, -1, -1),
    ]
    assert bundle.stream_names == ["fio 100", "pid 4000000000"]
    assert bundle.manifest.dropped == {"in flight when the recording ended": 1}
    assert list(formats_like(mix(version, order))) == ["blktrace"]


def test_versions_may_be_mixed_in_one_stream(tmp_path: Path) -> None:
    records = [record(Q, 100, 0, 4096, version=8), record(D, 110, 0, 4096), record(C, 150, 0, 4096, version=8)]
    assert short(tmp_path, *records) == [(0, READ, 0, 4096, 10, 0, 50)]


def test_a_control_group_number_stands_before_the_payload(tmp_path: Path) -> None:
    plain = split(102, 0, 8)
    cut = plain[:28] + (int.from_bytes(plain[28:32], "little") | 0x100).to_bytes(4, "little") + plain[32:46]
    cut += (16).to_bytes(2, "little") + bytes(8) + plain[48:]
    assert [row[3] for row in short(tmp_path, record(Q, 100, 0, 8192), cut)] == [4096, 4096]


def test_events_of_all_cpus_are_paired_in_time_order(tmp_path: Path) -> None:
    """The queue event of one CPU, the issue of another, the completion of a third; each file slightly out of order."""
    one = record(Q, 300, 8, 4096) + record(Q, 100, 0, 4096)
    two = record(D, 310, 8, 4096, cpu=1) + record(D, 110, 0, 4096, cpu=1)
    three = record(C, 190, 0, 4096, cpu=2) + record(C, 390, 8, 4096, cpu=2)
    rows, _ = import_bytes(tmp_path, one, b"", two, three)
    assert as_lists(rows, *SHORT) == [(0, READ, 0, 4096, 10, 0, 90), (200, READ, 4096, 4096, 210, 1, 90)]


def test_chunks_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = import_paths(tmp_path, DATA / "vda.blktrace.0")
    monkeypatch.setattr("tiersim.traces.readers.blktrace.CHUNK_BYTES", 1000)
    monkeypatch.setattr("tiersim.traces.readers.blktrace.MIN_CHUNK_BYTES", 1000)
    monkeypatch.setattr(blktrace, "FIRST_ROWS", 16)
    monkeypatch.setattr(blktrace, "ROWS_PER_GROUP", 64)
    parts, _ = import_paths(tmp_path, DATA / "vda.blktrace.0")
    assert same_rows(whole, parts)


def test_one_file_stands_for_its_siblings(tmp_path: Path) -> None:
    names = ["sda.blktrace.0", "sda.blktrace.10", "sda.blktrace.2", "sdb.blktrace.1", "sda.blktrace.x", "dump"]
    for name in names:
        (tmp_path / name).touch()
    parts = [tmp_path / name for name in ("sda.blktrace.0", "sda.blktrace.2", "sda.blktrace.10")]
    assert find_parts(tmp_path / "sda") == parts
    assert find_parts(tmp_path / "sda.blktrace.2") == parts
    assert find_parts(tmp_path / "dump") == [tmp_path / "dump"]
    assert find_parts(tmp_path / "none") == [tmp_path / "none"]


def test_progress_ends_at_the_whole(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    writer = RequestWriter(tmp_path / "requests.parquet")
    read_blktrace([DATA / "vda.blktrace.0"], writer, lambda done, total: told.append((done, total)))
    writer.close()
    assert told[-1][0] == told[-1][1] > 0


def test_the_real_recording_that_is_shipped(tmp_path: Path) -> None:
    """1,003 records of fio on ext4 on a virtio disk: read-ahead, writes, discards, two flushes, a
    split and a requeue.
    """
    rows, bundle = import_paths(tmp_path, DATA / "vda.blktrace.1")
    manifest = bundle.manifest
    assert bundle.file_names == ["254,0"]
    assert [len(file["sha256"]) for file in manifest.source_files] == [64, 64]
    assert (manifest.unmatched, manifest.warnings) == (0, [])
    assert content_hash(bundle.path) == GOLDEN_HASH
    assert {OPERATIONS[op]: int(np.sum(rows.op == op)) for op in np.unique(rows.op)} == GOLDEN_COUNTS


GOLDEN_HASH = "9d00a9e45982d0f6030f84bc4cc9a0dd"
GOLDEN_COUNTS = {"read": 112, "write": 19, "flush": 2, "discard": 7}  # as blkparse counts Q, and one half of a split


# --- purposes


def log_records(writes: int) -> list[bytes]:
    records = []
    for at in range(writes):
        t, s = 1000 * at, 16 * at
        records += [record(action, t + at_ns, s, 8192, "WS") for action, at_ns in ((Q, 0), (D, 5), (C, 50))]
        records += [record(Q, t + 60, rwbs="FWS"), *flush_command(t + 65, t + 90), record(C, t + 95, rwbs="WS")]
    return records


def test_a_log_is_known_by_its_flushes(tmp_path: Path) -> None:
    other = [record(Q, 50_000 + at, 8 * at, 4096, "RWD"[at % 3], device=VDA) for at in range(9)]
    rows, bundle = import_bytes(
        tmp_path, b"".join([*log_records(40), *other, record(Q, 60_000, rwbs="FWS", device=VDA)])
    )
    log, data = rows.file == 0, rows.file == 1
    assert set(rows.purpose[log].tolist()) == {LOG_WRITE}
    purposes = dict(zip(rows.op[data].tolist(), rows.purpose[data].tolist(), strict=True))
    assert purposes == {READ: DATA_READ, WRITE: DATA_WRITE, DISCARD: UNKNOWN, FLUSH: UNKNOWN}
    assert [sentence.split(": ")[0] for sentence in bundle.manifest.inferred] == [
        "writes to device 7,0 count as writes of the log",
        "writes to device 254,0 count as writes of data",
    ]
    assert (
        "40 flushes for 40 writes; median size 8 KiB; 100% of the writes continue the previous one"
        in bundle.manifest.inferred[0]
    )


def test_few_writes_are_no_log(tmp_path: Path) -> None:
    rows, _ = import_bytes(tmp_path, b"".join(log_records(8)))
    assert set(rows.purpose[rows.op == WRITE].tolist()) == {DATA_WRITE}


# --- against the naive twin


def events(draw: st.DrawFn) -> list[Event]:
    """Few sectors, few kinds: nearly everything meets something."""
    count = draw(st.integers(1, 60))
    time_ns, made = 100, []
    for _ in range(count):
        time_ns += draw(st.integers(0, 3))
        action = draw(st.sampled_from([Q, Q, Q, D, D, C, C, R, X]))
        length = draw(st.sampled_from([0, 8, 16, 24]))
        letters = draw(st.sampled_from(["R", "W", "W", "WU", "FW", "FWU", "D"]))
        if length == 0:
            letters = draw(st.sampled_from(["FN", "FW", "W"])) if action != Q else draw(st.sampled_from(["FW", "W"]))
        sector = draw(st.sampled_from([0, 8, 16, 32]))
        device = draw(st.sampled_from([LOOP0, LOOP0, DM]))
        made.append(Event(action, time_ns, device, sector, length, letters, sector + draw(st.sampled_from([8, 16]))))
    return made


def as_arrays(made: Sequence[Event]) -> NDArray[np.int64]:
    columns = np.zeros((len(made), EVENT_COLUMNS), np.int64)
    for row, e in enumerate(made):
        extra = e.cut if e.action == X else 0
        columns[row] = [e.time_ns, e.sector, e.sectors * 512, e.action, categories(e.rwbs), 1, e.device, extra]
    return columns


@given(made=st.composite(events)(), chunk=st.integers(1, 40))
def test_pairing_agrees_with_the_naive_twin(made: list[Event], chunk: int) -> None:
    window = QueueWindow()
    blocks: list[Requests] = []
    for at in range(0, len(made), chunk):
        part = as_arrays(made[at : at + chunk])
        blocks += window.add(part, np.arange(len(part)))
    blocks += window.end()
    assert len(blocks) <= 1
    expected = naive_blktrace.pair(made)
    no_queue = all(event.action != Q for event in made)
    assert sum(window.orphans()) == expected.without_command + (0 if no_queue else expected.without_bio)
    found = [
        (
            time_ns + window.zero_ns,
            OPERATIONS[op],
            window.devices[file],
            offset,
            length,
            issue_ns if issue_ns < 0 else issue_ns + window.zero_ns,
            command,
            latency_ns if latency_ns < 0 else latency_ns + time_ns + window.zero_ns,
        )
        for block in blocks
        for time_ns, op, file, offset, length, issue_ns, command, latency_ns in as_lists(
            block, *SHORT[:2], "file", *SHORT[2:]
        )
    ]
    assert found == naive_blktrace.table(expected)
