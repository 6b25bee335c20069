"""Tables of measured points."""

import csv
from pathlib import Path

import pytest

from tests.fio_documents import read
from tiersim.errors import TraceError
from tiersim.traces.readers import measured_points
from tiersim.traces.readers.load_generators import measurements

TABLE = """file,rw,bs,iodepth,numjobs,rwmixread,direction,iops,mean_us,p50_us,p95_us,p99_us,p999_us
a.json,randread,8k,32,2,,read,40142.7,794.44,847.87,1236.99,1384.45,1548.291
b.json,randrw,4k,16,1,70,write,1000,20.7,,,33.5,
"""


def test_a_row_is_a_point(tmp_path: Path) -> None:
    reads, writes = read(tmp_path, TABLE)
    assert (reads.job, reads.operation, reads.iops, reads.mean_ns) == ("a.json", "read", 40142.7, 794_440)
    assert reads.percentiles == ((50.0, 847_870), (95.0, 1_236_990), (99.0, 1_384_450), (99.9, 1_548_291))
    assert (reads.pattern, reads.block_bytes, reads.depth, reads.jobs, reads.read_share) == ("random", 8192, 64, 2, 1.0)
    assert (writes.operation, writes.read_share, writes.percentiles) == ("write", 0.7, ((99.0, 33_500),))
    for point in (reads, writes):
        unknown = (
            point.direct,
            point.engine,
            point.sync_every,
            point.sync,
            point.requests,
            point.seconds,
            point.stddev_ns,
        )
        assert unknown == (None,) * 7
        assert (point.completion_only, point.rate_limit_iops, point.warnings) == (None, None, ())


def test_the_heading_names_the_columns(tmp_path: Path) -> None:
    text = "note,P100_us,p99.99_us,p5_us,direction,mean_us,IOPS,bs,rw,iodepth\r\n,9,8,1,read,2,500,4k,read,1\r\n\r\n"
    [point] = read(tmp_path, text.encode("utf-8-sig"))
    assert point.percentiles == ((5.0, 1000), (99.99, 8000), (100.0, 9000))
    assert (point.job, point.pattern, point.depth, point.iops) == ("", "sequential", 1, 500)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("read,40142.7", "both,40142.7", ":2: direction is 'both'; write read or write"),
        ("40142.7", "-1", ":2: iops is '-1', not a number of 0 or more"),
        ("40142.7", "nan", ":2: iops is 'nan'"),
        ("40142.7", "1e999999", ":2: iops is '1e999999'"),
        ("1384.45", "1,384.45", ":2: has 14 columns, the heading 13"),
        ("8k", "8k-16k", ":2: bs=8k-16k is a range"),
        ("4k,16", "4k,none", ":3: iodepth=none is not a whole number"),
        ("a.json", '"a.json', "is not CSV"),
        ("p50_us,p95_us", "p95_us,p95_us", ":1: has two columns 'p95_us'"),
        (TABLE[TABLE.index("\n") :], "\n", "has a heading and no row"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in TABLE
    with pytest.raises(TraceError) as error:
        read(tmp_path, TABLE.replace(old, new))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_table_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_points, "_MOST_LINES", 2)
    with pytest.raises(TraceError, match="more than 2 lines"):
        read(tmp_path, TABLE)


@pytest.mark.shared
def test_a_real_drive(shared: Path) -> None:
    """Depths, block sizes and mixes of a client NVMe drive; by Little's law what it says fits together."""
    path = shared / "ssd" / "pm981a_fio.csv"
    points = measurements(path)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(points) == len(rows) == 97
    for point, row in zip(points, rows, strict=True):
        assert (point.job, point.operation, point.iops) == (row["file"], row["direction"], float(row["iops"]))
        assert point.mean_ns == pytest.approx(float(row["mean_us"]) * 1000)
        assert len(point.percentiles) == 4
        if point.read_share == 1.0:
            assert point.depth is not None
            assert point.mean_ns is not None
            assert 0.8 * point.depth <= (point.iops or 0) * point.mean_ns / 1e9 <= 1.01 * point.depth
    assert {point.depth for point in points} == {1, 4, 32, 128}
    assert {point.read_share for point in points} >= {1.0, 0.7, 0.5, 0.0}
