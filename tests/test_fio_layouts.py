"""Layouts of older fio, written by hand after what its stat.c printed then (and an issue with a whole file of 3.1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fio_documents import read

#: fio 2.0: no options, no counts of requests, whole IOPS; KiB, microseconds; 20 percentiles, whether asked for or not.
PERCENTILES_US = '"percentile" : {\n"50.000000" : 90,\n"99.000000" : 300,\n"0.00" : 0,\n"0.00" : 0,\n"0.00" : 0\n}'
NOTHING = '"slat" : {"min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00}'
FIO_2_0 = f"""{{
  "fio version" : "fio-2.0.10",
  "jobs" : [
    {{
      "jobname" : "old",
      "groupid" : 0,
      "error" : 0,
      "read" : {{
        "io_bytes" : 80000,
        "bw" : 80000,
        "iops" : 9999,
        "runtime" : 1000,
        "slat" : {{"min" : 2, "max" : 9, "mean" : 3.50, "stddev" : 1.00}},
        "clat" : {{"min" : 20, "max" : 900, "mean" : 100.25, "stddev" : 30.50, {PERCENTILES_US}}},
        "lat" : {{"min" : 22, "max" : 905, "mean" : 103.75, "stddev" : 31.00}}
      }},
      "write" : {{"io_bytes" : 0, "bw" : 0, "iops" : 0, "runtime" : 0, {NOTHING}}}
    }}
  ]
}}
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_fio_2_0_says_no_options_and_is_in_microseconds(tmp_path: Path) -> None:
    [point] = read(tmp_path, FIO_2_0)
    assert (point.job, point.operation, point.iops, point.seconds) == ("old", "read", 9999, 1)
    assert (point.mean_ns, point.stddev_ns) == (100_250, 30_500)
    assert (point.least_ns, point.most_ns) == (20_000, 900_000)
    assert point.percentiles == ((50.0, 90_000), (99.0, 300_000))
    assert point.submission_mean_ns == 3500
    assert point.completion_only is True
    assert (point.pattern, point.block_bytes, point.depth, point.jobs, point.read_share) == (None,) * 5
    assert (point.requests, point.direct, point.engine, point.sync_every, point.rate_limit_iops) == (None,) * 5
    assert "holds no options" in point.warnings[0]


FIO_2_21 = changed(
    FIO_2_0,
    ("fio-2.0.10", "fio-2.21"),
    (
        '"error" : 0,',
        '"error" : 0,\n"job options" : {"rw" : "randread", "bs" : "8k", "iodepth" : "4", "ioengine" : "libaio"},',
    ),
    ('  "jobs" : [', '  "global options" : {"direct" : "1", "numjobs" : "1"},\n  "jobs" : ['),
    ('"iops" : 9999,', '"iops" : 9999.900000,'),
    ('"runtime" : 1000,', '"runtime" : 1000,\n"total_ios" : 10000,\n"short_ios" : 0,\n"drop_ios" : 0,'),
)


def test_fio_2_21_has_options_and_bytes_in_kib(tmp_path: Path) -> None:
    [point] = read(tmp_path, FIO_2_21)
    assert (point.iops, point.requests, point.mean_ns) == (10_000, 10_000, 100_250)
    assert (point.pattern, point.block_bytes, point.depth, point.direct) == ("random", 8192, 4, True)
    assert point.warnings == ()


FIO_3_1 = changed(
    FIO_2_21,
    ("fio-2.21", "fio-3.1"),
    ('"io_bytes" : 80000,', '"io_bytes" : 81920000,\n"io_kbytes" : 80000,'),
    ('"clat" : {"min" : 20, "max" : 900, "mean" : 100.25, "stddev" : 30.50',
     '"clat_ns" : {"min" : 20123, "max" : 900456, "mean" : 100250.5, "stddev" : 30500.25'),
    ('"50.000000" : 90,\n"99.000000" : 300,', '"50.000000" : 90624,\n"99.000000" : 301056,'),
    ('"slat" : {"min" : 2, "max" : 9, "mean" : 3.50', '"slat_ns" : {"min" : 2345, "max" : 9876, "mean" : 3500.5'),
    ('"lat" : {"min" : 22', '"lat_ns" : {"min" : 22'),
)  # fmt: skip


def test_fio_3_1_is_in_nanoseconds_without_counts_of_samples(tmp_path: Path) -> None:
    [point] = read(tmp_path, FIO_3_1)
    assert (point.mean_ns, point.stddev_ns, point.least_ns, point.most_ns) == (100_250.5, 30_500.25, 20_123, 900_456)
    assert point.percentiles == ((50.0, 90_624), (99.0, 301_056))
    assert (point.submission_mean_ns, point.warnings) == (3500.5, ())


@pytest.mark.parametrize("text", [FIO_2_21, FIO_3_1])
def test_bins_of_old_json_plus_are_in_its_units(tmp_path: Path, text: str) -> None:
    """Two jobs, half of whose requests are in one bin each."""
    unit_ns, clat = (1000, "clat") if "clat_ns" not in text else (1, "clat_ns")
    value: dict[str, Any] = json.loads(text)
    entries = []
    for middle in (70, 500):
        entry = json.loads(text)["jobs"][0]
        entry["read"][clat]["bins"] = {str(middle * 1000 // unit_ns): 10_000}
        entries.append(entry)
    value["jobs"] = entries
    [point] = read(tmp_path, json.dumps(value))
    assert point.percentiles == ((50.0, 70_000), (99.0, 500_000))
    assert (point.requests, point.iops, point.jobs, point.depth) == (20_000, 20_000, 2, 8)


def test_a_document_in_another_order_is_the_same(tmp_path: Path) -> None:
    assert read(tmp_path, json.dumps(json.loads(FIO_3_1), sort_keys=True)) == read(tmp_path, FIO_3_1)
