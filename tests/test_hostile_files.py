"""Files that want more than to be read: bombs, links and names that lead elsewhere, depth without end, types that
nobody has.
"""

import gzip
import json
import lzma
import os
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.recorded_files import read_or_refused, read_text
from tiersim.devices.catalogue import load_device
from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.library import load_scenario
from tiersim.simulator.result import load_result
from tiersim.traces import statistics
from tiersim.traces.bundle import Bundle, write_bundle
from tiersim.traces.description import describe
from tiersim.traces.readers import import_trace
from tiersim.traces.readers.opened import Opened
from tiersim.traces.references import NAME as REFERENCES
from tiersim.traces.references import ReferenceTable
from tiersim.traces.statistics import NAME as STATISTICS
from tiersim.traces.statistics import PARTS, QUERIES, STATEMENTS, read_queries, read_snapshots, read_statements

TEXT = "1000,R,0,512,0\n1000,W,512,512,7\n"
BOMB_BYTES = 24 << 20


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A bundle of two requests."""
    (tmp_path / "recorded").write_text(TEXT)
    import_trace([tmp_path / "recorded"], tmp_path / "a.trace", format="alibaba")
    return tmp_path / "a.trace"


# Bundles: what lies outside is none of them.


def _requests(folder: Path) -> None:
    Bundle(folder).requests()


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("requests.parquet", _requests),
        ("manifest.json", Bundle),
        (STATEMENTS, read_statements),
        (QUERIES, read_queries),
        (STATISTICS, lambda folder: list(read_snapshots(folder))),
        (PARTS, lambda folder: list(read_snapshots(folder))),
        (REFERENCES, ReferenceTable),
    ],
)
@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_link_out_of_a_bundle_is_refused(tmp_path: Path, recorded: Path, name: str, read: object, how: str) -> None:
    assert callable(read)
    outside = tmp_path / "outside"
    outside.mkdir()
    part = recorded / name
    if part.exists():
        part.rename(outside / name)
    part.symlink_to(outside / name if how == "absolute" else Path("..") / "outside" / name)
    with pytest.raises(
        TraceError, match=rf"{name}: is a link that leads out of its bundle; put the file itself there$"
    ):
        read(recorded)


def test_a_link_out_of_a_folder_of_parts_is_refused(tmp_path: Path, recorded: Path) -> None:
    (recorded / PARTS).mkdir()
    (recorded / PARTS / "000000.parquet").symlink_to(tmp_path / "private.parquet")
    with pytest.raises(TraceError, match=r"000000\.parquet: is a link that leads out"):
        list(read_snapshots(recorded))


def test_a_link_within_a_bundle_and_a_link_to_a_bundle_are_none_of_that(tmp_path: Path, recorded: Path) -> None:
    (recorded / "requests.parquet").rename(recorded / "kept.parquet")
    (recorded / "requests.parquet").symlink_to("kept.parquet")
    (tmp_path / "link.trace").symlink_to(recorded)
    assert len(Bundle(tmp_path / "link.trace").requests()) == 2


def test_a_link_out_of_a_result_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.result").mkdir()
    (tmp_path / "a.result" / "summary.json").symlink_to("/etc/hostname")
    with pytest.raises(TraceError, match=r"summary\.json: is a link that leads out"):
        load_result(tmp_path / "a.result")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
@pytest.mark.parametrize("name", ["requests.parquet", "manifest.json"])
def test_a_pipe_in_a_bundle_is_not_waited_for(recorded: Path, name: str) -> None:
    (recorded / name).unlink()
    os.mkfifo(recorded / name)
    with pytest.raises(TraceError, match="is no file; write or import it again"):
        Bundle(recorded)


#: Paths that Python opened, while anybody looks.
_opened: list[str] | None = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | os.PathLike):
        _opened.append(os.fspath(arguments[0]))


@contextmanager
def _opens() -> Iterator[list[str]]:
    global _opened
    if _hear not in _hearing:
        _hearing.append(_hear)
        sys.addaudithook(_hear)  # which nobody can take away
    heard: list[str] = []
    _opened = heard
    yield heard
    _opened = None


_hearing: list[object] = []


@pytest.mark.parametrize("named", ["/etc/hostname", "../../outside", "~/.ssh/id_rsa", "\\\\server\\share"])
def test_nothing_that_a_manifest_names_is_opened(recorded: Path, named: str) -> None:
    path = recorded / "manifest.json"
    values = json.loads(path.read_text())
    values |= {
        "source_files": [{"name": named, "sha256": named}],
        "source_format": named,
        "path": named,
        "tables": [named],
    }
    values["host"] = {"devices": named, "path": named}
    path.write_text(json.dumps(values))
    with _opens() as opened:
        describe(Bundle(recorded))
    assert [
        place for place in opened if "hostname" in place or "outside" in place or "id_rsa" in place or "share" in place
    ] == []
    assert any(place.endswith("manifest.json") for place in opened)


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../outside.diskspecs", "x/../../outside.diskspecs", "nothing", "a\0b", "x" * 5000]
)
def test_parameters_of_disksim_name_files_beside_them_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside.diskspecs").write_text("disksim_disk A { }")
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "disk.parv"
    path.write_text(f"# a comment\nsource {name}\n")
    with pytest.raises(
        ScenarioError, match=r"disk\.parv:2: .* is (not in the folder of the file that names it|no file beside it)"
    ):
        load_device(str(path))


# Depth and digits.

DEEP = 20_000


@pytest.mark.parametrize(
    "value", ["[" * DEEP, "[" * DEEP + "]" * DEEP, "{a=" * DEEP, "9" * 10_000, "[{a = 9223372036854775808}]"]
)
def test_toml_without_end_is_refused(tmp_path: Path, value: str) -> None:
    path = tmp_path / "scenario.toml"
    path.write_text(f"kind = {value}\n")
    for load in (load_scenario, load_device):
        with pytest.raises(ScenarioError, match=r"scenario\.toml(:\d+)?: is not valid TOML: ") as caught:
            load(str(path))
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("text", ["[" * DEEP, '{"host":' * DEEP, '{"span_ns": ' + "9" * 10_000 + "}"])
def test_a_manifest_without_end_is_refused(recorded: Path, text: str) -> None:
    (recorded / "manifest.json").write_text(text)
    with pytest.raises(TraceError, match=r"manifest\.json: is not a JSON object"):
        Bundle(recorded)


def test_blocks_of_disksim_without_end_are_refused(tmp_path: Path) -> None:
    for text in ("a { b = " * DEEP, "a { b = " + "[" * DEEP):
        (tmp_path / "disk.diskspecs").write_text(text)
        with pytest.raises(ScenarioError, match="nested too deeply"):
            load_device(str(tmp_path / "disk.diskspecs"))


# Parquet.


def test_names_of_columns_that_are_no_text_are_refused(recorded: Path) -> None:
    path = recorded / "requests.parquet"
    data = path.read_bytes()
    assert b"purpose" in data
    path.write_bytes(data.replace(b"purpose", b"purp\xff\xfee"))
    with pytest.raises(TraceError, match=r"requests\.parquet: is not a whole Parquet file; write or import it again$"):
        Bundle(recorded)
    for name, read in ((STATEMENTS, read_statements), (QUERIES, read_queries)):
        (recorded / name).write_bytes(path.read_bytes())
        with pytest.raises(TraceError, match=rf"{name}: is not a whole Parquet file; import the recording again$"):
            read(recorded)
    (recorded / REFERENCES).write_bytes(path.read_bytes())
    with pytest.raises(TraceError, match=r"is not a whole Parquet file; import the trace again$"):
        ReferenceTable(recorded)


def test_indices_beyond_their_words_are_refused(tmp_path: Path) -> None:
    """Which pyarrow follows to wherever they point: the process was ended by that."""
    codes = pa.DictionaryArray.from_arrays(pa.array([1 << 24, 0], pa.int32()), pa.array(["read"]), safe=False)
    table = pa.table({"time_ns": [0, 1], "op": codes, "offset_bytes": [0, 0], "length_bytes": [512, 512]})
    path = tmp_path / "recorded.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TraceError, match=r"recorded\.arrow: is not a whole Arrow file \(.*out of bounds"):
        import_trace([path], tmp_path / "a.trace")


def test_a_table_that_says_it_has_no_end_is_not_begun(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "MOST_ROWS", 1000)
    pq.write_table(pa.table({"time_ns": np.zeros(1001, np.int64)}), recorded / STATEMENTS)
    with pytest.raises(TraceError, match="has 1,001 rows, more than 1,000; import parts of the recording"):
        read_statements(recorded)


def test_a_table_that_unpacks_to_far_more_is_read_in_pieces(tmp_path: Path) -> None:
    """Rows that are more than 500 times smaller as a file."""
    rows = 1 << 20
    table = pa.table(
        {
            "time_ns": np.zeros(rows, np.int64),
            "op": pa.array(["read"]).take(pa.array(np.zeros(rows, np.int8))),
            "offset_bytes": np.zeros(rows, np.int64),
            "length_bytes": np.full(rows, 512),
        }
    )
    with write_bundle(tmp_path / "bomb.trace"):
        pass
    path = tmp_path / "bomb.trace" / "requests.parquet"
    pq.write_table(table, path, compression="zstd", row_group_size=rows)
    assert path.stat().st_size * 500 < table.nbytes
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - before for _ in Bundle(path.parent).blocks(1 << 16))
    assert most < 16 << 20


# Compressed files.


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "start", "filler"),
    [
        ("sqlserver-trace-xml", '<TraceData><Events><Event id="12">', "x"),
        ("sqlserver-event-xml", '<event name="rpc_completed" timestamp="2026-11-22T07:00:00Z">', "<a>"),
        ("sqlserver-trace-table", 'EventClass,SPID,TextData\n12,51,"', "x"),
        ("sqlserver-trc", "", "\0"),
        ("sqlserver-xel", "", "\0"),
        ("postgresql-log", "2026-11-22 07:00:00 UTC [1] LOG:  duration: 1 ms  statement: select '", "x"),
        ("pgbench-log", "0 1 2 0 ", "1"),
        ("perfmon", '"(PDH-CSV 4.0)","', "x"),
    ],
)
def test_what_unpacks_to_one_text_without_end_takes_little_memory(
    tmp_path: Path, key: str, start: str, filler: str
) -> None:
    data = gzip.compress((start + filler * (BOMB_BYTES // len(filler))).encode(), 1)
    assert len(data) * 100 < BOMB_BYTES
    small = start + filler * ((1 << 20) // len(filler))
    read_or_refused(tmp_path, gzip.compress(small.encode(), 1), key)  # imports and compiles all that is called, once
    tracemalloc.start()
    read_or_refused(tmp_path, data, key)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < BOMB_BYTES


def test_a_file_that_is_read_whole_is_bounded_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tiersim.traces.readers.recorded.MOST_BYTES", 1 << 20)
    for key in ("sqlserver", "iostat", "cloudwatch", "azure-monitor"):
        with pytest.raises(TraceError, match="recorded: "):
            read_text(tmp_path, gzip.compress(b" " * (8 << 20), 1), key=key)


def test_xz_that_says_it_needs_gigabytes_is_refused(tmp_path: Path) -> None:
    data = bytearray(lzma.compress(b"x" * 100, preset=0))
    header = 12  # of the first block: its size, flags, filter 0x21 of one byte, which is the size of the dictionary
    size = (data[header] + 1) * 4
    assert data[header + 2 : header + 4] == b"\x21\x01"
    data[header + 4] = 40  # 4 GiB - 1
    data[header + size - 4 : header + size] = zlib.crc32(data[header : header + size - 4]).to_bytes(4, "little")
    (tmp_path / "file.xz").write_bytes(data)
    with Opened(tmp_path / "file.xz") as source:
        assert source.read() == b""
        assert source.damage == "its compressed data are damaged (Memory usage limit exceeded)"


def test_parquet_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.parquet"
    column = pa.array([1, 2])
    pq.write_table(pa.Table.from_arrays([column, column], names=["time_ns", "time_ns"]), path)
    with pytest.raises(TraceError, match=r"twice\.parquet: has more than one column 'time_ns'"):
        import_trace([path], tmp_path / "bundle.trace")
