"""Formats of one request a line or record: what hand-written files become, how they are told
apart, what damage does.
"""

import gzip
import hashlib
import re
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.blktrace_records import content_hash
from tests.examples import examples
from tests.imported_rows import Row, import_files, import_text, in_order, said
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.readers.importing import FORMATS, SOURCES, formats_like
from tiersim.traces.schema import FLAG_READAHEAD, FLAG_SYNC

MS = 1_000_000
S = 1_000_000_000

FIO_3 = """fio version 3 iolog
10 /a/data add
12 /a/log add
15 /a/data open
20 /a/data read 8192 4096
22 /a/log write 0 512
25 /a/log datasync 0 0
30 /a/log sync 512 0
31 /a/data trim 0 65536
40 /a/data close
"""
FIO_2 = """fio version 2 iolog
data add
data open
data read 0 4096
data wait 1500 0
data write 4096 4096
data wait 500 0
data sync 0 0
data close
"""
BLKREPLAY = """Copyright Somebody

This file was generated; notice: reputation

########
start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0
      1.000000000 ;     16 ;    8 ; W ; 0.0 ; 0.0
      1.500000001 ;     24 ;    2 ; RA ; 0.25 ; 0.001000000
      1.600000000 ;     32 ;    2 ; WS ; 0.0 ; 0.002
"""
DISKSIM = "0.500000 0 16 8 1\n2.250000 1 32 4 0\n 2.500001\t1  64 4 40000001\n"
MQSIM = "1000000 0 16 8 1\n3500000 1 32 4 0\n"
VALIDATE = "R Hit 100 2 1500.5 20000.0\nW Miss 200 4 500.0 100.0\nR Doub 300 2 1.0 1.0\n"
ETW_US = (
    "IO Type,Priority,Process (Name),Init Time (s),Complete Time (s),IO Time (us),Size (B),Min Offset,Disk,Count\r\n"
    'Read,Normal,sqlservr.exe,1.000000100,1.001500200,"1,500.100","1,048,576",0x0000000000001000,0,1\r\n'
    "Write,Normal,System,1.000200000,1.000300000,100.000,512,0x0000000000002000,1,1\r\n"
    "Flush,Normal,System,1.000400000,1.000450000,50.000,0,0xFFFFFFFFFFFFFFFF,1,1\r\n"
    "Write,Normal,System,1.000500000,1.000600000,100.000,1024,0x0000000000002000,1,2\r\n"
)
ETW_DE = (
    "\ufeffIO Type;Disk;Process (Name);IO Time (µs);Init Time (s);Size (B);Min Offset\r\n"
    "Read;0;a.1.exe;1.500,100;1,000000100;1.048.576;0x0000000000001000\r\n"
    "Write;1;System;100,000;1,000200000;512;0x0000000000002000\r\n"
)
ETW_QUOTED_DE = (  # the delimiter is what stands before decimals, too
    "IO Type,Disk,Process (Name),IO Time (µs),Init Time (s),Size (B),Min Offset\n"
    'Read,0,a.exe,"1.500,100","1,000000100",1.048.576,0x0000000000001000\n'
    'Write,1,System,"100,000","1.001,000200000",512,0x0000000000002000\n'
)
MSR = "128166372003061629,src1,0,Read,8192,4096,100\n128166372003061639,src1,1,Write,0,512,20\n"
SYSTOR = (
    "Timestamp,Response,IOType,LUN,Offset,Size\n"
    "1455591804.310701000,0.006475000,R,0,8192,4096\n"
    "1455591804.310700000,,W,3,4096,512\n"
    "1455591804.310800000,,,3,4096,512\n"
)
TENCENT = "1538323200,16,8,1,1058\n1538323199,24,2,0,1063\n1538323200,32,8,0,1058\n"
ALIBABA = "419,W,8792731648,16384,1577808000000223\n725,R,3598610432,8192,1577808000000000\n"
SPC = "0,20941264,8192,W,0.551706,Alpha/NT\n0, 20939840, 8192, r, 0.554041\n1,3436288,15872,w,1.011732\n"
OPENCAS = "t_ns,latency_ns,op,lba_512,nsectors,ioclass\n0,83797,W,8,8,19\n35081,95069,D,16,8,0\n"
CLOUD = "version,time,op,size,lbn\n1,100,2a,512,8\n1,100,28,4096,16\n1,101,12,36,0\n1,101,35,0,0\n"

TEXTS = {
    "fio-iolog": (
        FIO_3,
        [
            Row(0, "read", "/a/data", 8192, 4096),
            Row(2_000, "write", "/a/log", 0, 512),
            Row(5_000, "flush", "/a/log", 0, 0),
            Row(10_000, "flush", "/a/log", 0, 0),
            Row(11_000, "discard", "/a/data", 0, 65536),
        ],
    ),
    "fio-iolog 2": (
        FIO_2,
        [
            Row(0, "read", "data", 0, 4096),
            Row(1_500_000, "write", "data", 4096, 4096),
            Row(2 * MS, "flush", "data", 0, 0),
        ],
    ),
    "blkreplay": (
        BLKREPLAY,
        [
            Row(0, "write", "data", 16 * 512, 8 * 512),
            Row(600 * MS, "write", "data", 32 * 512, 1024, 2 * MS),
            Row(750 * MS + 1, "read", "data", 24 * 512, 1024, MS),
        ],
    ),
    "disksim": (
        DISKSIM,
        [
            Row(0, "read", "device 0", 8192, 4096),
            Row(1_750_000, "write", "device 1", 16384, 2048),
            Row(2_000_001, "read", "device 1", 32768, 2048),
        ],
    ),
    "mqsim": (MQSIM, [Row(0, "read", "device 0", 8192, 4096), Row(2_500_000, "write", "device 1", 16384, 2048)]),
    "disksim-validate": (
        VALIDATE,
        [
            Row(0, "read", "data", 51200, 1024, 1_500_500),
            Row(21_500_500, "write", "data", 102400, 2048, 500_000),
            Row(22_100_500, "read", "data", 153600, 1024, 1_000),
        ],
    ),
    "etw": (
        ETW_US,
        [
            Row(0, "read", "disk 0", 4096, 1048576, 1_500_100, "sqlservr.exe"),
            Row(199_900, "write", "disk 1", 8192, 512, 100_000, "System"),
            Row(399_900, "flush", "disk 1", 0, 0, 50_000, "System"),
        ],
    ),
    "etw in German": (
        ETW_DE,
        [
            Row(0, "read", "disk 0", 4096, 1048576, 1_500_100, "a.1.exe"),
            Row(199_900, "write", "disk 1", 8192, 512, 100_000, "System"),
        ],
    ),
    "etw in German, quoted": (
        ETW_QUOTED_DE,
        [
            Row(0, "read", "disk 0", 4096, 1048576, 1_500_100, "a.exe"),
            Row(1000 * S + 199_900, "write", "disk 1", 8192, 512, 100_000, "System"),
        ],
    ),
    "msr": (
        MSR,
        [Row(0, "read", "src1 disk 0", 8192, 4096, 10_000), Row(1_000, "write", "src1 disk 1", 0, 512, 2_000)],
    ),
    "systor17": (SYSTOR, [Row(0, "write", "lun 3", 4096, 512), Row(1_000, "read", "lun 0", 8192, 4096, 6_475_000)]),
    "tencent": (
        TENCENT,
        [
            Row(0, "read", "volume 1063", 24 * 512, 1024),
            Row(S, "write", "volume 1058", 8192, 4096),
            Row(S, "read", "volume 1058", 16384, 4096),
        ],
    ),
    "alibaba": (
        ALIBABA,
        [Row(0, "read", "device 725", 3598610432, 8192), Row(223_000, "write", "device 419", 8792731648, 16384)],
    ),
    "spc": (
        SPC,
        [
            Row(0, "write", "asu 0", 20941264 * 512, 8192),
            Row(2_335_000, "read", "asu 0", 20939840 * 512, 8192),
            Row(460_026_000, "write", "asu 1", 3436288 * 512, 15872),
        ],
    ),
    "opencas": (
        OPENCAS,
        [Row(0, "write", "data", 4096, 4096, 83797), Row(35081, "discard", "data", 8192, 4096, 95069)],
    ),
    "cloudphysics-csv": (
        CLOUD,
        [Row(0, "write", "data", 4096, 512), Row(0, "read", "data", 8192, 4096), Row(S, "flush", "data", 0, 0)],
    ),
}
#: Formats without a heading, whose lines alone tell them.
BARE = ("disksim", "mqsim", "disksim-validate", "msr", "tencent", "alibaba", "spc")


def vscsi_1(*requests: tuple[int, int, int, int]) -> bytes:
    """Return version 1 records of (µs, command, block, bytes)."""
    return b"".join(
        struct.pack("<IIIHHQQ", 7, size, 1, command, 1 << 8, block, time) for time, command, block, size in requests
    )


def vscsi_2(*requests: tuple[int, int, int, int, int]) -> bytes:
    """Return version 2 records of (µs, command, block, bytes, µs that it took)."""
    return b"".join(
        struct.pack("<HHIIIQQQ", command, 2 << 8, 7, size, 1, block, time, took)
        for time, command, block, size, took in requests
    )


@pytest.mark.parametrize("case", TEXTS)
def test_a_hand_written_file(tmp_path: Path, case: str) -> None:
    text, expected = TEXTS[case]
    rows, bundle = import_text(tmp_path, text)
    assert bundle.manifest.source_format == case.split()[0]
    assert rows == expected


@pytest.mark.parametrize("case", TEXTS)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_ends_of_lines_and_blank_lines_mean_nothing(tmp_path: Path, case: str, ends: str) -> None:
    text, expected = TEXTS[case]
    rows, _ = import_text(tmp_path, text.replace("\r\n", "\n").rstrip("\n").replace("\n", ends))
    assert rows == expected
    rows, bundle = import_text(tmp_path, text.replace("\r\n", "\n").replace("\n", ends + ends))
    assert rows == expected
    assert "damaged lines" not in bundle.manifest.dropped


def test_vscsi_records_of_both_versions(tmp_path: Path) -> None:
    rows, _ = import_text(tmp_path, vscsi_1((2_000, 0x2A, 8, 512), (1_000, 0x88, 16, 4096), (3_000, 0x12, 0, 36)))
    assert rows == [Row(0, "read", "data", 8192, 4096), Row(MS, "write", "data", 4096, 512)]
    rows, bundle = import_text(tmp_path, vscsi_2((1_000, 0x28, 8, 512, 250), (1_500, 0x35, 0, 0, 40)) + b"rest")
    assert rows == [Row(0, "read", "data", 4096, 512, 250_000), Row(500_000, "flush", "data", 0, 0, 40_000)]
    assert bundle.manifest.dropped == {"bytes that are no record": 4}


def test_flags_of_blkreplay(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, BLKREPLAY)
    assert bundle.requests().flags.tolist() == [0, FLAG_SYNC, FLAG_READAHEAD]


def test_what_is_set_aside_is_counted(tmp_path: Path) -> None:
    assert import_text(tmp_path, SYSTOR)[1].manifest.dropped == {
        "requests without a response, whose operation nobody knows": 1
    }
    assert import_text(tmp_path, ETW_US)[1].manifest.dropped == {"lines that stand for several requests": 1}
    assert import_text(tmp_path, CLOUD)[1].manifest.dropped == {"other SCSI commands": 1}
    assert import_text(tmp_path, SPC.replace(" 8192", "0"))[1].manifest.dropped == {"requests of no bytes": 1}


# What a format leaves open.


def test_addresses_of_spc_that_are_bytes(tmp_path: Path) -> None:
    in_bytes = "".join(f"0,{4096 * n * n},4096,r,{n}.5\n" for n in range(40))
    rows, bundle = import_text(tmp_path, in_bytes)
    assert rows[3].offset_bytes == 4096 * 9
    assert said(
        "addresses are assumed to be bytes (of the first 40, 0 are no multiples of 512)", bundle.manifest.inferred
    )
    rows, bundle = import_text(tmp_path, in_bytes + "0,7,4096,r,41.0\n")
    assert rows[3].offset_bytes == 4096 * 9 * 512
    assert said("blocks of 512 bytes (of the first 41, 1 are no", bundle.manifest.inferred)


def test_disksim_and_mqsim_are_told_by_their_times(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, MQSIM)
    assert said("assumed to be ns", bundle.manifest.inferred)
    assert said("400 requests/s as ns, one in 2,500 s as ms", bundle.manifest.inferred)
    rows, bundle = import_text(tmp_path, MQSIM, format="disksim")
    assert rows[1].time_ns == 2_500_000 * MS
    close = "10 0 16 8 1\n35 1 32 4 0\n"  # as ns 40 million requests a second, as ms 40
    rows, bundle = import_text(tmp_path, close)
    assert (bundle.manifest.source_format, rows[1].time_ns) == ("disksim", 25 * MS)
    assert said("assumed to be ms", bundle.manifest.inferred)
    rows, _ = import_text(tmp_path, close, format="mqsim")
    assert rows[1].time_ns == 25


def test_a_log_without_times_is_warned_of(tmp_path: Path) -> None:
    without = "".join(line for line in FIO_2.splitlines(keepends=True) if "wait" not in line)
    rows, bundle = import_text(tmp_path, without)
    assert [row.time_ns for row in rows] == [0, 0, 0]
    assert said("the log has no times", bundle.manifest.warnings)
    assert not said("the log has no times", import_text(tmp_path, FIO_2)[1].manifest.warnings)


def test_times_that_go_back_are_said(tmp_path: Path) -> None:
    """Once, by an hour: a clock was set, or two recordings lie in one file. A file in no order says nothing."""
    hour = 3600 * 10**7
    first = [f"{128166372003061629 + second * 10**7},src1,0,Read,8192,4096,100\n" for second in range(7200)]
    again = [f"{128166372003061629 + hour + second * 10**7},src1,0,Read,0,512,100\n" for second in range(7200)]
    sentence = "its times go back by 60 min (daylight saving time, or several recordings in one file?)"
    assert said(sentence, import_text(tmp_path, "".join(first + again))[1].manifest.warnings)
    shuffled = [line for pair in zip(first, again, strict=True) for line in pair]
    for text in ("".join(first), "".join(shuffled)):
        assert not said("its times go back", import_text(tmp_path, text)[1].manifest.warnings)


def test_a_coarse_clock_is_warned_of(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, TENCENT)
    assert said("ticks every 1 s", bundle.manifest.warnings)
    assert bundle.manifest.host == {"clock_start_unix_ns": 1_538_323_199 * S}


def test_decimals_are_exact(tmp_path: Path) -> None:
    """As floating point numbers these would be 119 ns off."""
    rows, _ = import_text(tmp_path, "1455591804.310701001,0.1,R,0,0,512\n1455591805.310701002,0.000000001,R,0,0,512\n")
    assert [(row.time_ns, row.latency_ns) for row in rows] == [(0, 100 * MS), (S + 1, 1)]
    rows, _ = import_text(tmp_path, "0.0000005 0 0 1 1\n1.0000004 0 0 1 1\n1.0000015 0 0 1 1\n")  # ms, rounded half up
    assert [row.time_ns for row in rows] == [0, 999_999, 1_000_001]


# Order, files, compression.


def test_rows_are_put_in_order_of_time_and_ties_keep_theirs(tmp_path: Path) -> None:
    times = np.random.default_rng(1).integers(0, 50, 500)
    text = "".join(f"{n},R,{512 * n},512,{1_577_808_000_000_000 + time}\n" for n, time in enumerate(times))
    rows, _ = import_text(tmp_path, text)
    assert rows == in_order(Row(int(t) * 1000, "read", f"device {n}", 512 * n, 512) for n, t in enumerate(times))


def test_more_rows_than_are_held_are_put_in_order_beside_the_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tiersim.traces.readers.ordered.ROWS_PER_RUN", 100)
    monkeypatch.setattr("tiersim.traces.readers.ordered.ROWS_PER_READ", 7)
    times = np.random.default_rng(1).integers(0, 5_000, 2_500)
    text = "".join(f"{n % 9},W,{512 * n},512,{time}\n" for n, time in enumerate(times))
    rows, bundle = import_text(tmp_path, text)
    assert rows == in_order(Row(int(t) * 1000, "write", f"device {n % 9}", 512 * n, 512) for n, t in enumerate(times))
    assert {path.name for path in bundle.path.iterdir()} == {"manifest.json", "requests.parquet"}


def test_several_files_are_one_recording(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(MSR)
    two.write_text(MSR.replace("src1", "src2").replace("061639", "061634"))
    rows, bundle = import_files(tmp_path, one, two)
    assert [(row.time_ns, row.file) for row in rows] == [
        (0, "src1 disk 0"), (0, "src2 disk 0"), (500, "src2 disk 1"), (1_000, "src1 disk 1")]  # fmt: skip
    assert len(bundle.manifest.source_files) == 2
    one.write_text(OPENCAS)
    two.write_text(OPENCAS)
    rows, bundle = import_files(tmp_path, one, two)
    assert [row.file for row in rows] == ["one", "two", "one", "two"]
    assert "the 2 files are assumed to share one clock" in bundle.manifest.inferred
    (tmp_path / "b").mkdir()
    alike = tmp_path / "b" / "one"
    alike.write_text(OPENCAS)
    rows, _ = import_files(tmp_path, one, alike)
    assert [row.file for row in rows] == [str(one), str(alike)] * 2


def test_a_compressed_file_is_the_same_and_its_hash_that_of_the_disk(tmp_path: Path) -> None:
    plain, _ = import_text(tmp_path, MSR)
    packed = gzip.compress(MSR.encode())
    rows, bundle = import_text(tmp_path, packed)
    assert rows == plain
    assert bundle.manifest.source_files[0]["sha256"] == hashlib.sha256(packed).hexdigest()


def test_a_compressed_file_that_was_cut_off_is_read_to_there(tmp_path: Path) -> None:
    packed = gzip.compress("".join(f"{n},R,{n * n * 512},512,{n * n}\n" for n in range(5_000)).encode())
    rows, bundle = import_text(tmp_path, packed[: len(packed) // 2])
    assert 1_000 < len(rows) < 5_000
    assert rows == [Row(n * n * 1000, "read", f"device {n}", n * n * 512, 512) for n in range(len(rows))]
    assert said("its compressed data end too early; what comes before was read", bundle.manifest.warnings)


def test_formats_that_are_not_unpacked_say_so(tmp_path: Path) -> None:
    packed = gzip.compress((Path(__file__).parent / "data" / "vda.blktrace.0").read_bytes())
    with pytest.raises(TraceError, match="is compressed blktrace; unpack it first"):
        import_text(tmp_path, packed)


def test_a_bundle_imported_again_is_the_same(tmp_path: Path) -> None:
    _, bundle = import_text(tmp_path, ETW_US)
    again = import_trace([bundle.path], tmp_path / "again.trace")
    assert vars(again) == vars(bundle.manifest)
    assert content_hash(bundle.path) == content_hash(tmp_path / "again.trace")


# Damage.


@pytest.mark.parametrize("case", TEXTS)
def test_a_damaged_line_is_counted_and_named(tmp_path: Path, case: str) -> None:
    text, _ = TEXTS[case]
    lines = text.replace("\r\n", "\n").splitlines(keepends=True)
    row = next(
        line for line in lines if re.search(r"\d \S+ read|^data read|; W ;|^Read|,28,|,R,", line) or line == lines[-1]
    )
    many = "".join(lines) + row * 20
    expected, _ = import_text(tmp_path, many)
    at = many.count("\n") + 1
    rows, bundle = import_text(tmp_path, many + row[: len(row) // 3] + "\n" + row + "1 x;,\n")
    assert len(rows) == len(expected) + 1
    assert bundle.manifest.dropped["damaged lines"] == 2
    assert any(f"the first is line {at:,};" in sentence for sentence in bundle.manifest.warnings)


def test_values_that_cannot_be_are_damage(tmp_path: Path) -> None:
    good = "".join(f"{n},R,0,512,{n}\n" for n in range(20))
    bad = f"1,R,-512,512,5\n1,R,0,{1 << 61},5\n1,Q,0,512,5\n1,R,0,512,{1 << 62}\n1,R,0,512,{1 << 70}\n"
    rows, bundle = import_text(tmp_path, good + bad, format="alibaba")
    assert len(rows) == 20
    assert bundle.manifest.dropped == {"damaged lines": 5}
    assert said("5 of 25 lines are not alibaba, the first is line 21;", bundle.manifest.warnings)


def test_a_file_of_which_most_is_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"recorded: 3 of 5 lines are not msr, the first is line 3; give another file"):
        import_text(tmp_path, MSR + "x\ny\nz\n", format="msr")
    assert not (tmp_path / "out.trace").exists()


@pytest.mark.parametrize("key", [key for key, kind in FORMATS.items() if kind.unpacks])
@pytest.mark.parametrize("content", ["", "\n\n", "no trace\n", "\x00\xff" * 99, "1;2;3\n", "\x1f\x8b\x08"])
def test_what_holds_no_trace_is_refused_in_a_sentence(tmp_path: Path, key: str, content: str) -> None:
    with pytest.raises(TraceError, match="recorded: "):
        import_text(tmp_path, content.encode("latin-1"), format=key)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for key, kind in FORMATS.items():
        if kind.unpacks:
            with pytest.raises(TraceError, match="nosuch: cannot be read \\(no such file or directory\\)"):
                import_trace([tmp_path / "nosuch"], tmp_path / "out.trace", format=key)


def test_times_of_several_centuries_are_refused(tmp_path: Path) -> None:
    far = (1 << 60) // 1000 - 1
    with pytest.raises(
        TraceError, match="recorded: the times of the first and the last request are more than 36 years"
    ):
        import_text(tmp_path, f"1,R,0,512,0\n1,R,0,512,{far}\n1,R,0,512,{2 * far}\n")


def test_waits_of_an_iolog_add_up_from_piece_to_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.traces.readers.delimited.CHUNK_BYTES", 64)
    monkeypatch.setattr("tiersim.traces.readers.opened.PIECE_BYTES", 16)
    text = "fio version 2 iolog\ndata add\ndata open\n" + "data read 0 512\ndata wait 10 0\n" * 50
    found, _ = import_text(tmp_path, text)
    assert [row.time_ns for row in found] == [number * 10_000 for number in range(50)]


def test_what_nobody_measured_is_null_in_the_bundle(tmp_path: Path) -> None:
    found, bundle = import_text(tmp_path, FIO_3)
    table = pq.read_table(bundle.path / "requests.parquet", columns=["latency_ns", "issue_ns", "command"])
    assert [column.null_count for column in table.columns] == [len(found)] * 3


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.traces.readers.request_files.MOST_NAMES", 10)
    with pytest.raises(TraceError, match="recorded: more than 10 files are named"):
        import_text(tmp_path, "".join(f"{n},R,0,512,{n}\n" for n in range(12)))


# Telling formats apart.


@pytest.mark.parametrize("case", TEXTS)
def test_no_format_takes_the_files_of_another(tmp_path: Path, case: str) -> None:
    data = TEXTS[case][0].encode()
    assert list(formats_like(data)) == [case.split()[0]]


@given(st.binary(max_size=200))
def test_nothing_is_of_two_formats(data: bytes) -> None:
    assert len(list(formats_like(data))) <= 1


@settings(max_examples=examples(150), deadline=None)
@given(
    case=st.sampled_from([*TEXTS, "vscsi"]),
    places=st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=6), st.integers(0, 8)), min_size=1, max_size=4),
    cut=st.integers(0, 2_000),
)
def test_whatever_is_done_to_a_file_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, case: str, places: list[tuple[int, bytes, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    data = TEXTS[case][0].encode() * 2 if case != "vscsi" else vscsi_1(*[(n, 0x28, n, 512) for n in range(9)])
    for place, new, gone in places:
        place %= len(data) + 1
        data = data[:place] + new + data[place + gone :]
    refused = ""
    try:
        rows, bundle = import_text(folder, data[: cut or None], format=case.split()[0])
    except TraceError as error:
        refused = str(error)
    if refused:
        assert "recorded" in refused
        return
    assert rows
    assert all(row.time_ns >= 0 for row in rows)
    assert len(rows) == bundle.manifest.requests == len(Bundle(bundle.path).requests())


@settings(max_examples=examples(50), deadline=None)
@given(data=st.binary(max_size=300))
def test_detection_never_fails_but_in_a_sentence(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "recorded"
    for start in (b"", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd"):
        path.write_bytes(start + data)
        try:
            answer = detect_format(path)
        except TraceError as error:
            answer = str(error)
        assert answer in FORMATS or answer in SOURCES or "recorded" in answer
