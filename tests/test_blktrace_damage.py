"""Files that are damaged, cut off, hostile, or no blktrace files at all: one sentence, or what is readable of them."""

import contextlib
import random
from pathlib import Path

import numpy as np
import pytest

from tests.blktrace_records import (
    C,
    D,
    Q,
    as_lists,
    content_hash,
    import_bytes,
    import_paths,
    process,
    record,
    same_rows,
)
from tiersim.errors import TraceError
from tiersim.kernel import jit_enabled
from tiersim.traces.bundle import RequestWriter
from tiersim.traces.readers import import_trace
from tiersim.traces.readers.blktrace import read_blktrace
from tiersim.traces.readers.importing import formats_like

pytestmark = pytest.mark.kernels

DATA = Path(__file__).parent / "data"


def triple(at: int) -> bytes:
    begin, sector = 1000 * at, 8 * at
    return record(Q, begin, sector, 4096) + record(D, begin + 10, sector, 4096) + record(C, begin + 100, sector, 4096)


GOOD = b"".join(triple(at) for at in range(1, 9))


def refusal(folder: Path, content: bytes) -> str:
    path = folder / "recording"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        import_paths(folder, path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert "\n" not in text
    return text


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    assert "is empty" in refusal(tmp_path, b"")


@pytest.mark.parametrize(
    "content", [b"CPU0 (loop0):\n Reads Queued: 12\n" * 40, b"\x89PNG\r\n\x1a\n" + bytes(3000), bytes(100), b"\x07tae"]
)
def test_another_format_is_refused_with_what_stands_at_its_start(tmp_path: Path, content: bytes) -> None:
    text = refusal(tmp_path, content)
    assert "at byte 0" in text
    assert repr(content[:8]) in text
    assert "blkparse -d" in text


def test_folders_and_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    writer = RequestWriter(tmp_path / "requests.parquet")
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(TraceError, match="cannot be read"):
            read_blktrace([path], writer)
    writer.close()


@pytest.mark.long
def test_every_truncation_of_a_recording_is_read_or_refused(tmp_path: Path) -> None:
    named = process(900, 100, "fio") + GOOD[: 5 * 48]  # a request, and a part of the next
    for size in range(len(named)):
        if size < 64 + 48:  # the note and the first Q
            refusal(tmp_path, named[:size])
            continue
        (tmp_path / "recording").write_bytes(named[:size])
        rows, bundle = import_paths(tmp_path, tmp_path / "recording")
        whole, rest = divmod(size - 64, 48)
        assert len(rows) == (whole + 2) // 3
        assert int(np.sum(rows.latency_ns >= 0)) == whole // 3
        assert bundle.manifest.dropped.get("bytes that are no records", 0) == rest
        assert len(bundle.manifest.warnings) == (rest > 0)


def test_every_seventh_truncation_of_a_real_file(tmp_path: Path) -> None:
    whole = (DATA / "vda.blktrace.1").read_bytes()
    expected, _ = import_paths(tmp_path, DATA / "vda.blktrace.0")
    (tmp_path / "vda.blktrace.0").write_bytes((DATA / "vda.blktrace.0").read_bytes())
    for size in range(0, len(whole), 401):
        (tmp_path / "vda.blktrace.1").write_bytes(whole[:size])
        rows, bundle = import_paths(tmp_path, tmp_path / "vda")
        assert len(rows) <= len(expected)
        assert bundle.manifest.requests == len(rows)


@pytest.mark.parametrize("place", [0, 48, 120, 500])
def test_a_damaged_middle_costs_no_more_than_the_records_it_hits(tmp_path: Path, place: int) -> None:
    damaged = GOOD[:place] + b"\xff" * 30 + GOOD[place + 30 :]
    rows, bundle = import_bytes(tmp_path, damaged)
    assert len(rows) >= 7
    lost = bundle.manifest.dropped["bytes that are no records"]
    assert lost in (48, 96)
    assert f"{lost} bytes at 1 places" in bundle.manifest.warnings[0]


def test_an_absurd_payload_length_does_not_swallow_what_follows(tmp_path: Path) -> None:
    expected, _ = import_bytes(tmp_path, GOOD)
    for length in (9, 1000, 1025, 65535):
        damaged = bytearray(GOOD)
        damaged[3 * 48 + 46 : 3 * 48 + 48] = length.to_bytes(2, "little")
        rows, bundle = import_bytes(tmp_path, bytes(damaged))
        assert len(rows) >= len(expected) - 1, length
        assert bundle.manifest.warnings, length


def test_an_unknown_action_is_no_event(tmp_path: Path) -> None:
    """Nor does its damaged sequence number count as four billion lost events."""
    damaged = GOOD[:100] + b"\xff" * 30 + GOOD[130:]
    rows, bundle = import_bytes(tmp_path, damaged)
    assert len(rows) == 8
    assert bundle.manifest.dropped == {"events with impossible values": 1, "in flight when the recording ended": 1}


def test_hostile_values_are_left_out_and_counted(tmp_path: Path) -> None:
    hostile = [
        record(Q, 1500, 2**64 - 1, 4096),
        record(Q, 1500, 2**51, 4096),
        record(Q, 1500, 8, 4097),
        record(Q, 2**63, 8, 4096),
        record(D, 1500, 8, 2**32 - 1),
    ]
    expected, _ = import_bytes(tmp_path, GOOD)
    rows, bundle = import_bytes(tmp_path, GOOD[: 3 * 48] + b"".join(hostile) + GOOD[3 * 48 :])
    assert same_rows(rows, expected)
    assert bundle.manifest.dropped == {"events with impossible values": 5}


def test_the_largest_values_are_kept(tmp_path: Path) -> None:
    sector, length, device, pid = 2**51 - 2**24, 2**32 - 512, 2**32 - 1, 2**32 - 1
    given = [
        record(action, at, sector, length, device=device, pid=pid, cpu=2**32 - 1) for action, at in ((Q, 5), (C, 9))
    ]
    rows, bundle = import_bytes(tmp_path, b"".join(given))
    assert as_lists(rows, "offset_bytes", "length_bytes", "latency_ns") == [(sector * 512, length, 4)]
    assert (bundle.file_names, bundle.stream_names) == (["4095,1048575"], ["pid 4294967295"])


@pytest.mark.parametrize("wrong_ns", [0, 10**18])
def test_one_wrong_clock_does_not_move_the_others(tmp_path: Path, wrong_ns: int) -> None:
    hour = 3600 * 10**9
    good = [record(Q, hour + 1000 * at, 8 * at, 4096) for at in range(6)]
    rows, bundle = import_bytes(tmp_path, b"".join([*good[:3], record(Q, wrong_ns, 800, 4096), *good[3:]]))
    assert rows.time_ns.tolist() == [0, 1000, 2000, 3000, 4000, 5000]
    assert bundle.manifest.dropped["events out of time order"] == 1


def test_two_recordings_in_one_file_are_told(tmp_path: Path) -> None:
    second = 10**9
    late, early = record(Q, 900 * second, 0, 4096), record(Q, 100 * second, 0, 4096)
    rows, bundle = import_bytes(tmp_path, late + late + early + early)
    assert len(rows) == 2
    assert "several recordings in one file" in bundle.manifest.warnings[0]


def test_thousands_at_one_sector_take_no_forever(tmp_path: Path) -> None:
    count = 3000 if jit_enabled() else 200
    records = [record(Q, at, 0, 4096, "W") for at in range(count)] + [record(D, count, 0, 4096, "R")] * count
    rows, _ = import_bytes(tmp_path, b"".join(records))
    assert len(rows) == count


def test_random_bytes_never_end_in_anything_but_a_sentence(tmp_path: Path) -> None:
    dice = random.Random(7)
    for _ in range(60):
        content = bytearray(GOOD) if dice.random() < 0.7 else bytearray(dice.randbytes(dice.randrange(600)))
        for _ in range(dice.randrange(1, 20)):
            if content:
                content[dice.randrange(len(content))] = dice.randrange(256)
        (tmp_path / "recording").write_bytes(content)
        with contextlib.suppress(TraceError):
            rows, _ = import_paths(tmp_path, tmp_path / "recording")
            assert np.all(np.diff(rows.time_ns) >= 0)


def test_an_unreadable_sibling_is_left_out_with_a_warning(tmp_path: Path) -> None:
    rows, bundle = import_bytes(tmp_path, GOOD, b"not a trace " * 50)
    assert len(rows) == 8
    assert bundle.manifest.warnings == ["x.blktrace.1: 600 bytes at 1 places are no records and were left out"]


# --- telling formats


def test_blktrace_is_told_by_its_magic() -> None:
    assert list(formats_like(b"\x07tae" + bytes(44))) == ["blktrace"]
    assert list(formats_like(b"eat\x08")) == ["blktrace"]
    assert not list(formats_like(b"\x09tae"))
    assert not list(formats_like(b""))


def test_an_imported_recording_is_the_same_through_every_door(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    told: list[tuple[int, int]] = []
    one = tmp_path / "one.trace"
    manifest = import_trace([DATA / "vda"], one, progress=lambda done, total: told.append((done, total)))
    assert (manifest.source_format, manifest.requests) == ("blktrace", 140)
    assert told[-1] == (49640, 49640)
    assert import_trace([one], tmp_path / "two.trace") == manifest
    table = pq.read_table(one / "requests.parquet")
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as arrow:
        arrow.write_table(table)
    for path in (one / "requests.parquet", tmp_path / "t.arrow"):
        copied = import_trace([path], tmp_path / "three.trace", force=True)
        assert (copied.source_format, copied.source_files[0]["name"]) == ("arrow", path.name)
        assert content_hash(tmp_path / "three.trace") == content_hash(one)


def test_what_cannot_be_imported_is_said_in_one_sentence(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, empty, table, cut = (tmp_path / name for name in ("text", "empty", "table.parquet", "cut.arrow"))
    text.write_text("hello")
    empty.touch()
    cut.write_bytes(b"ARROW1\0\0" + bytes(50))
    pq.write_table(pa.table({"time_ns": [1], "offset_bytes": [0], "length_bytes": [512]}), table)
    (tmp_path / "nothing").mkdir()
    target = tmp_path / "out.trace"
    for path, form, what in (
        (text, None, "known are blktrace, fio-iolog"),
        (text, "blktrce", "did you mean 'blktrace'"),
        (text, "arrow", "is not a whole Arrow file"),
        (empty, None, "is empty"),
        (table, None, "'op' is required"),
        (cut, None, "is not a whole Arrow file"),
        (tmp_path, None, r"more than one recording of requests \(cut.arrow, table.parquet\)"),
        (tmp_path / "nothing", None, "no file in it is of a known format"),
        (tmp_path / "none", None, "no such file"),
    ):
        with pytest.raises(TraceError, match=what) as caught:
            import_trace([path], target, format=form)
        assert "\n" not in str(caught.value)
        assert form == "blktrce" or str(path) in str(caught.value)
        assert not target.exists()
