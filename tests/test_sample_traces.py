"""Sample traces of each format beside the project: told apart, and read as a naive twin reads them."""

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests import naive_tables as naive
from tests.blktrace_records import content_hash
from tests.examples import first
from tests.imported_rows import Row, import_files, in_order
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.references import ReferenceTable

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the sample traces are not beside this checkout"),
]

#: What the long tests read: files of formats of which others are read every day, and the largest one.
LARGE = (
    "other/blkreplay/linux-mysql.load.gz",
    "other/blkreplay/linux-webserver-2.load.gz",
    "traces/msps/DTRS100M.trace.gz",
    "traces/windows_etw/windows_disk_usage_etw.csv.bz2",
)
Twin = Callable[[Path], Iterator[Row]]
REQUESTS: dict[str, tuple[str, Twin]] = {
    "blktrace/fio_loop0/fio_iolog_v3.txt": ("fio-iolog", naive.fio_iolog),
    "other/blkreplay/linux-mysql.load.gz": ("blkreplay", naive.blkreplay),
    "other/blkreplay/linux-webserver-2.load.gz": ("blkreplay", naive.blkreplay),
    "other/blkreplay/windows-mssql.load.gz": ("blkreplay", naive.blkreplay),
    "other/blkreplay/windows-shared-server.load.gz": ("blkreplay", naive.blkreplay),
    "hdd/valid/atlas_III.trace": ("disksim-validate", naive.validate),
    "hdd/valid/barracuda.trace": ("disksim-validate", naive.validate),
    "hdd/valid/cheetah4LP.trace": ("disksim-validate", naive.validate),
    "hdd/valid/hp_c2490a.trace": ("disksim-validate", naive.validate),
    "traces/msps/DTRS100M.trace.gz": ("mqsim", naive.mqsim),
    "traces/mqsim_ascii/tpcc-small.trace": ("mqsim", naive.mqsim),
    "traces/mqsim_ascii/wsrch-small.trace": ("mqsim", naive.mqsim),
    "traces/windows_etw/windows_disk_usage_etw.csv.bz2": ("etw", naive.etw),
    "traces/rocksdb_optane/rocksdb_ycsba_optane_io.csv.gz": ("opencas", naive.opencas),
    "traces/cloudphysics/cloudPhysicsIO.csv": ("cloudphysics-csv", naive.cloudphysics_csv),
    "traces/cloudphysics/cloudPhysicsIO.vscsi": ("vscsi", naive.vscsi),
    "traces/format_samples/msr-cambridge1-sample.csv": ("msr", naive.msr),
    "traces/format_samples/systor17-traces-sample.csv.gz": ("systor17", naive.systor17),
    "traces/format_samples/systor17-additional-sample.csv.gz": ("systor17", naive.systor17),
    "traces/format_samples/cloud_storage-sample.bz2": ("tencent", naive.tencent),
}
LIRS = {"2_pools": 100_000, "cpp": 9_047, "cs": 6_781, "gli": 6_015, "loop": 505_500, "multi1": 15_858,
        "multi2": 26_311, "multi3": 30_241, "ps": 10_448, "sprite": 133_996}  # fmt: skip
REFERENCES = {
    "traces/cloudphysics/cloudPhysicsIO.oracleGeneral.bin": "oracle-general",
    "traces/arc/OLTP.lis.zst": "arc-lis",
    **{f"traces/lirs/{name}.trace.gz": "lirs" for name in LIRS},
}
#: Files of other kinds that lie beside them, which nothing may take.
OTHERS = (
    "traces/arc/README_repo.md",
    "traces/windows_etw/LICENSE",
    "hdd/valid/atlas_III.disksim.txt",
    "hdd/maxtor300g.seek",
    "blktrace/fio_loop0/lat_clat.1.log",
    "hdd/spec_15k_drives.csv",
    "blktrace/fio_loop0/fio.json",
    "traces/rocksdb_optane/sample_trace.tar.xz",
)


def unpacked(path: Path, most: int = -1) -> bytes:
    """Return what a sample holds, or the first bytes of it."""
    if path.suffix == ".zst":
        return bytes(pa.CompressedInputStream(str(path), "zstd").read(None if most < 0 else most))
    if path.suffix == ".gz":
        with gzip.open(path) as packed:
            return packed.read(most)
    with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as stream:
        return stream.read(most)


@pytest.mark.long
@pytest.mark.parametrize("name", first(len(REQUESTS) - len(LARGE), *sorted(REQUESTS, key=LARGE.__contains__)))
def test_a_sample_is_read_as_its_twin_reads_it(tmp_path: Path, name: str) -> None:
    key, twin = REQUESTS[name]
    rows, bundle = import_files(tmp_path, SHARED / name)
    expected = in_order(twin(SHARED / name))
    assert bundle.manifest.source_format == key
    assert len(rows) == len(expected) == bundle.manifest.requests
    assert rows == expected
    assert set(bundle.manifest.dropped) <= {"damaged lines"}


@pytest.mark.long
def test_figures_counted_by_other_tools(tmp_path: Path) -> None:
    """From awk over the files, and from what their makers say of them."""
    rows, _ = import_files(tmp_path, SHARED / "other/blkreplay/windows-mssql.load.gz")
    assert len(rows) == 42_976
    assert sum(row.op == "read" for row in rows) == 2_528
    rows, bundle = import_files(tmp_path, SHARED / "traces/windows_etw/windows_disk_usage_etw.csv.bz2")
    assert [sum(row.op == op for row in rows) for op in ("read", "write", "flush")] == [156_028, 16_259, 343]
    assert rows[-1].time_ns == 52_246_745_200 - 1_079_943_800
    assert sum(row.stream == "nextcloud.exe" for row in rows) == 62_992
    rows, bundle = import_files(tmp_path, SHARED / "traces/format_samples/msr-cambridge1-sample.csv")
    assert rows[0] == Row(0, "write", "hm disk 0", 9_056_014_336, 2048, 283_300)
    assert rows[1] == Row(21_500, "write", "hm disk 0", 11_855_351_808, 512, 261_700)
    assert bundle.manifest.host == {"clock_start_unix_ns": 1_172_164_929_551_466_300}  # 22 February 2007, 17:22:09 UTC
    rows, _ = import_files(tmp_path, SHARED / "hdd/valid/hp_c2490a.trace")
    assert rows[0] == Row(0, "read", "data", 1_390_458 * 512, 14 * 512, 12_434_375)
    assert rows[1].time_ns == 12_434_375 + 27_307_319
    assert np.mean([row.latency_ns for row in rows if row.latency_ns]) == pytest.approx(12.550e6, abs=500)


def test_the_vm_trace_is_the_same_in_binary_and_in_csv(tmp_path: Path) -> None:
    binary, _ = import_files(tmp_path, SHARED / "traces/cloudphysics/cloudPhysicsIO.vscsi")
    csv, bundle = import_files(tmp_path, SHARED / "traces/cloudphysics/cloudPhysicsIO.csv")
    assert [row[1:] for row in binary] == [row[1:] for row in csv]
    assert all(abs(one.time_ns - other.time_ns) < 10**9 for one, other in zip(binary, csv, strict=True))
    assert any("ticks every 1 s" in sentence for sentence in bundle.manifest.warnings)


@pytest.mark.long
@pytest.mark.parametrize("name", [*REQUESTS, *REFERENCES])
def test_a_sample_is_told_by_its_content_alone(tmp_path: Path, name: str) -> None:
    key = REQUESTS[name][0] if name in REQUESTS else REFERENCES[name]
    assert detect_format(SHARED / name) == key
    data = unpacked(SHARED / name, 1 << 14)
    packers: dict[str, Callable[[bytes], bytes]]
    packers = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
    for kind, pack in packers.items():
        path = tmp_path / kind
        path.write_bytes(pack(data))
        assert detect_format(path) == key, kind
    path = tmp_path / "zst"
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        stream.write(data)
    assert detect_format(path) == key


@pytest.mark.parametrize("name", OTHERS)
def test_other_files_are_taken_for_nothing(name: str) -> None:
    with pytest.raises(Exception, match="is of no known format"):
        detect_format(SHARED / name)


@pytest.mark.parametrize("name", ["traces/mqsim_ascii/tpcc-small.trace", "traces/arc/OLTP.lis.zst"])
def test_a_bundle_imported_again_is_the_same(tmp_path: Path, name: str) -> None:
    one, two = tmp_path / "one.trace", tmp_path / "two.trace"
    first = import_trace([SHARED / name], one)
    second = import_trace([one], two)
    assert vars(first) == vars(second)
    assert content_hash(one) == content_hash(two)
    if first.references:
        assert (one / "references.parquet").read_bytes() == (two / "references.parquet").read_bytes()


@pytest.mark.parametrize("name", LIRS)
def test_lirs_references_are_those_of_the_file(tmp_path: Path, name: str) -> None:
    path = SHARED / f"traces/lirs/{name}.trace.gz"
    manifest = import_trace([path], tmp_path / "out.trace")
    pages = np.concatenate([block.page for block in ReferenceTable(tmp_path / "out.trace").blocks()])
    expected = [int(line) for line in naive.lines(path) if line.strip() not in ("", "*")]
    assert manifest.references == len(expected) == LIRS[name]
    assert pages.tolist() == expected
    assert Bundle(tmp_path / "out.trace").rows == 0


def test_the_references_of_oltp_are_those_that_are_published(tmp_path: Path) -> None:
    manifest = import_trace([SHARED / "traces/arc/OLTP.lis.zst"], tmp_path / "out.trace")
    pages = np.concatenate([block.page for block in ReferenceTable(tmp_path / "out.trace").blocks()])
    assert (manifest.references, len(np.unique(pages))) == (914_145, 186_880)


def test_oracle_general_holds_the_references_of_the_vm_trace(tmp_path: Path) -> None:
    folder = SHARED / "traces/cloudphysics"
    import_trace([folder / "cloudPhysicsIO.oracleGeneral.bin"], tmp_path / "out.trace")
    block = next(ReferenceTable(tmp_path / "out.trace").blocks())
    twin = list(naive.cloudphysics_csv(folder / "cloudPhysicsIO.csv"))
    assert block.page.tolist() == [row.offset_bytes // 512 for row in twin]
    records = struct.iter_unpack("<IQIq", (folder / "cloudPhysicsIO.oracleGeneral.bin").read_bytes())
    assert block.length_bytes.tolist() == [size for _time, _object, size, _next in records]
    assert block.time_ns.tolist() == [row.time_ns - twin[0].time_ns for row in twin]
    assert len(np.unique(block.page)) == 48_974
