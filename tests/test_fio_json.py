"""Files that fio 3.33 wrote, and what its JSON leaves to be understood."""

import json
import lzma
import math
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fio_documents import DATA, direction, document, job, latency_ns, read, read_one
from tiersim.errors import TraceError
from tiersim.traces.readers.load_generators import measurements


def raw_jobs(name: str) -> list[dict[str, Any]]:
    """The jobs of a file that fio wrote, by the standard library."""
    path = DATA / name
    text = lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text()
    jobs: list[dict[str, Any]] = json.loads(text[text.index("{") :])["jobs"]
    return jobs


def test_each_direction_of_a_file_is_what_fio_wrote_of_it() -> None:
    """39 measured jobs and two that precondition, json+."""
    points = measurements(DATA / "fit.json.xz")
    raw = [(entry, name) for entry in raw_jobs("fit.json.xz") for name in ("read", "write") if entry[name]["total_ios"]]
    assert len(points) == len(raw) == 45
    for point, (entry, name) in zip(points, raw, strict=True):
        wrote = entry[name]
        clat = wrote["clat_ns"]
        assert (point.job, point.operation, point.requests) == (entry["jobname"], name, wrote["total_ios"])
        assert point.iops == pytest.approx(wrote["iops"], rel=1e-6)
        assert point.seconds == wrote["runtime"] / 1000
        assert (point.mean_ns, point.stddev_ns, point.least_ns, point.most_ns) == (
            clat["mean"], clat["stddev"], clat["min"], clat["max"],
        )  # fmt: skip
        assert point.percentiles == tuple((float(percent), ns) for percent, ns in clat["percentile"].items())
        assert point.completion_only is True
        assert point.submission_mean_ns == (wrote["slat_ns"]["mean"] if wrote["slat_ns"]["N"] else None)
        assert (point.sync_mean_ns is not None) == point.job.startswith("sync")
        assert point.direct is True
        assert point.warnings == ()


def test_settings_of_a_file() -> None:
    points = {(point.job, point.operation): point for point in measurements(DATA / "fit.json.xz")}
    read_8k = points["r8k-d32", "read"]
    assert (read_8k.pattern, read_8k.block_bytes, read_8k.depth, read_8k.jobs) == ("random", 8192, 32, 1)
    assert (read_8k.read_share, read_8k.engine, read_8k.sync_every, read_8k.sync) == (1.0, "libaio", 0, None)
    assert points["sw1m-d8", "write"].pattern == "sequential"
    for operation in ("read", "write"):
        assert points["mix8k-d8", operation].read_share == 0.7
    commits = points["sync4k-j16", "write"]
    assert (commits.depth, commits.jobs, commits.sync_every, commits.sync) == (16, 16, 1, "fdatasync")
    assert commits.sync_mean_ns is not None
    # a commit is the write and its fdatasync: then the rate is that of 16 jobs, one after another each
    assert commits.mean_ns
    assert commits.sync_mean_ns
    assert commits.iops == pytest.approx(16e9 / (commits.mean_ns + commits.sync_mean_ns), rel=0.05)
    assert len(commits.sync_percentiles) == 11
    assert points["open8k", "read"].rate_limit_iops == 2000
    assert points["r1m-d1", "read"].rate_limit_iops is None


def test_jobs_that_fio_did_not_add_up_are_one() -> None:
    """Two commits jobs, a mix at a rate, writes that are durable themselves; fio's notes stand before the JSON."""
    points = measurements(DATA / "jobs.json")
    raw = raw_jobs("jobs.json")
    commits, mix_reads, mix_writes, durable = points
    first, second = raw[0], raw[1]
    assert first["jobname"] == second["jobname"] == commits.job
    assert (commits.depth, commits.jobs) == (2, 2)  # iodepth=8 of a synchronous engine is 1
    assert "synchronous" in commits.warnings[0]
    parts = [entry["write"]["clat_ns"] for entry in (first, second)]
    total = sum(part["N"] for part in parts)
    assert commits.requests == total
    assert commits.mean_ns == pytest.approx(sum(part["N"] * part["mean"] for part in parts) / total)
    assert commits.most_ns == max(part["max"] for part in parts)
    assert "not exact" in commits.warnings[1]
    for percent, ns in commits.percentiles:
        of_jobs = [part["percentile"][f"{percent:f}"] for part in parts]
        assert min(of_jobs) <= ns <= max(of_jobs)
    assert (mix_reads.rate_limit_iops, mix_writes.rate_limit_iops) == (700, 300)
    assert (durable.block_bytes, durable.sync_every, durable.sync) == (8192, 1, "O_DSYNC")
    assert durable.completion_only is False  # lat_percentiles
    assert durable.mean_ns == raw[3]["write"]["lat_ns"]["mean"]
    assert durable.percentiles[0] == (50.0, raw[3]["write"]["lat_ns"]["percentile"]["50.000000"])


def test_bins_of_several_jobs_give_the_percentiles_of_all_requests() -> None:
    [point] = measurements(DATA / "commits.json.xz")
    values: list[int] = []
    deviations = []
    for entry in raw_jobs("commits.json.xz"):
        for middle, count in entry["write"]["clat_ns"]["bins"].items():
            values += [int(middle)] * count
        deviations.append((entry["write"]["clat_ns"]["N"], entry["write"]["clat_ns"]))
    values.sort()
    for percent, ns in point.percentiles:
        assert ns == values[math.ceil(percent / 100 * len(values)) - 1]
    assert not any("exact" in warning for warning in point.warnings)
    total = sum(count for count, _ in deviations)
    mean = sum(count * part["mean"] for count, part in deviations) / total
    squares = sum((n - 1) * part["stddev"] ** 2 + n * (part["mean"] - mean) ** 2 for n, part in deviations)
    assert point.stddev_ns == pytest.approx(math.sqrt(squares / (total - 1)))


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
@pytest.mark.parametrize("layout", ["json", "json+", "normal,json"])
def test_the_fio_that_is_installed(tmp_path: Path, layout: str) -> None:
    command = [
        "fio", f"--output-format={layout}", "--name=a", "--ioengine=null", "--size=8m", "--bs=8k", "--rw=randrw",
        "--rwmixread=70", "--numjobs=2", "--iodepth=3", "--rate_iops=7000,3000",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    reads, writes = read(tmp_path, done.stdout)
    assert (reads.requests or 0) + (writes.requests or 0) == 2 * 1024
    for point, rate in ((reads, 14_000), (writes, 6000)):
        assert (point.block_bytes, point.depth, point.jobs, point.rate_limit_iops) == (8192, 6, 2, rate)
        assert len(point.percentiles) == 17


def test_merging_draws_apart_is_the_statistics_of_the_whole(tmp_path: Path) -> None:
    """Mean, deviation and percentiles of two jobs against numpy's of all latencies."""
    generator = np.random.default_rng(1)
    draws = [generator.integers(10, 60, 900) * 1000, generator.integers(30, 200, 300) * 1000]
    jobs = []
    for values in draws:
        middles, counts = np.unique(values, return_counts=True)
        bins = {str(middle): int(count) for middle, count in zip(middles, counts, strict=True)}
        clat = latency_ns(
            float(values.mean()), len(values), stddev=float(values.std(ddof=1)), min=int(values.min()),
            max=int(values.max()), bins=bins,
        )  # fmt: skip
        jobs.append(job({"numjobs": "2"}, read=direction(len(values), clat_ns=clat)))
    point = read_one(tmp_path, *jobs)
    whole = np.concatenate(draws)
    assert point.mean_ns == pytest.approx(whole.mean())
    assert point.stddev_ns == pytest.approx(whole.std(ddof=1))
    assert (point.least_ns, point.most_ns, point.requests, point.depth) == (whole.min(), whole.max(), 1200, 8)
    assert point.percentiles == tuple(
        (percent, int(np.percentile(whole, percent, method="inverted_cdf"))) for percent in (50.0, 99.0)
    )


def test_documents_of_a_run_under_way_are_not_measurements_of_their_own() -> None:
    """``--status-interval=1``: four documents, of which the last holds all."""
    points = measurements(DATA / "interim.json.xz")
    assert [(point.job, point.operation) for point in points] == [("mix", "read"), ("mix", "write")]
    assert points[0].seconds == pytest.approx(3, abs=0.1)


def test_runs_one_after_another_in_one_file_are_each_a_measurement(tmp_path: Path) -> None:
    text = "".join(document(job(), timestamp_ms=1_700_000_000_000 + 2500 * run) for run in range(3))
    assert len(read(tmp_path, text)) == 3


def test_text_around_documents_and_between_their_lines(tmp_path: Path) -> None:
    whole = document(job()).replace('"groupid"', '"xyz" : -nan,\n"groupid"')
    lines = whole.splitlines(keepends=True)
    text = "11:45:00 - DEBUG - cbt - {pdsh: [osd]}\n" + "".join(lines[:5]) + "fio: native_fallocate call failed\n"
    text += "".join(lines[5:]) + "fio: pid=12, err=5/file:io_u.c:1803\nall done }\n" + whole
    points = read(tmp_path, text)
    assert len(points) == 2
    assert points[0] == points[1]
    assert points[0].warnings == ()


def test_what_is_damaged_is_left_out_and_said(tmp_path: Path) -> None:
    whole = document(job())
    points = read(tmp_path, whole[: len(whole) // 2] + "\n" + whole)
    assert len(points) == 1
    assert "was left out" in points[0].warnings[0]


def test_options_of_the_job_win_over_global_ones(tmp_path: Path) -> None:
    entry = job() | {"job options": {"name": "a", "bs": "8k"}}
    asked = {"rw": "randread", "bs": "4k", "iodepth": "16", "ioengine": "io_uring", "direct": "1"}
    point = read_one(tmp_path, entry, **{"global options": asked})
    assert (point.block_bytes, point.depth, point.engine) == (8192, 16, "io_uring")


def test_group_reporting_counts_its_jobs(tmp_path: Path) -> None:
    point = read_one(tmp_path, job({"numjobs": "3"}, job_runtime=3000))
    assert (point.jobs, point.depth, point.warnings) == (3, 12, ())
    point = read_one(tmp_path, job(job_runtime=3000))  # fio 2.x does not repeat a global numjobs
    assert (point.jobs, point.depth) == (3, 12)
    assert "3 jobs are added up" in point.warnings[0]


def test_latencies_of_fio_2_are_microseconds(tmp_path: Path) -> None:
    percentile = {"50.000000": 90, "99.000000": 300, "0.00": 0}
    clat = {"min": 20, "max": 900, "mean": 100.5, "stddev": 30.25, "percentile": percentile}
    counts = {key: value for key, value in direction().items() if not key.endswith("_ns")}
    point = read_one(tmp_path, job(read=counts | {"clat": clat}))
    assert (point.mean_ns, point.stddev_ns, point.least_ns, point.most_ns) == (100_500, 30_250, 20_000, 900_000)
    assert point.percentiles == ((50.0, 90_000), (99.0, 300_000))


def test_more_outstanding_than_the_depth_is_said(tmp_path: Path) -> None:
    clat = latency_ns(mean=1_000_000.0)
    point = read_one(tmp_path, job(read=direction(clat_ns=clat)))  # 10,000/s x 1 ms
    assert "10.0 requests were outstanding on average" in point.warnings[0]


def test_jobs_that_ran_at_the_same_time_are_said(tmp_path: Path) -> None:
    apart = read(tmp_path, document(job(name="a"), job(name="b", group=1)))
    assert [point.warnings for point in apart] == [(), ()]
    together = read(tmp_path, document(job(name="a"), job(name="b")))
    assert ["at the same time" in point.warnings[0] for point in together] == [True, True]


@pytest.mark.parametrize(
    ("options", "level", "depth"),
    [
        ({"ioengine": "psync"}, 100.0, 1),
        ({"ioengine": "libaio"}, 0.0, 4),
        ({"ioengine": "cufile"}, 200.0, 1),  # fio counted; fsync counts twice
        ({"ioengine": "libaio", "rate_iops": "100"}, 100.0, 4),  # few are outstanding because few come
        ({"ioengine": "psync", "numjobs": "8"}, 100.0, 8),
    ],
)
def test_depth_of_engines_that_do_one_thing_at_a_time(
    tmp_path: Path, options: dict[str, str], level: float, depth: int
) -> None:
    levels = {"1": level, "2": 0.0, "4": 100.0 - level if level <= 100 else 0.0, ">=64": 0.0}
    assert read_one(tmp_path, job(options, iodepth_level=levels)).depth == depth


def test_what_makes_a_point_other_than_it_seems_is_said(tmp_path: Path) -> None:
    for options, said in (
        ({"direct": "0"}, "page cache"),
        ({"random_distribution": "zipf:1.2"}, "zipf:1.2"),
        ({"percentage_random": "50"}, "neither random nor sequential"),
        ({"rw": "randread:8"}, "neither random nor sequential"),
        ({"thinktime": "100"}, "thinktime"),
        ({"bs": "4k"}, "8,192 bytes on average, not 4,096"),
    ):
        point = read_one(tmp_path, job(options))
        assert said in point.warnings[0]
        assert len(point.warnings) == 1
        assert point.pauses == ("thinktime" in options)
    assert read_one(tmp_path, job({"percentage_random": "50"})).pattern is None
    assert read_one(tmp_path, job(error=5)).warnings == ("the job ended with an error",)


def test_what_was_not_measured_is_none(tmp_path: Path) -> None:
    nothing = direction(0)["clat_ns"]
    point = read_one(tmp_path, job(read=direction(clat_ns=nothing)))  # gtod_reduce
    assert (point.mean_ns, point.stddev_ns, point.least_ns, point.most_ns) == (None, None, None, None)
    assert (point.percentiles, point.completion_only, point.submission_mean_ns) == ((), None, None)
    assert point.warnings == ("latencies were not measured",)
    point = read_one(tmp_path, job(read=direction(clat_ns=nothing, lat_ns=latency_ns(120_000.0))))  # disable_clat
    assert (point.mean_ns, point.completion_only) == (120_000.0, False)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (job({"bssplit": "4k/50:8k/50"}), "bssplit=4k/50:8k/50 mixes block sizes"),
        (job({"rw": "randtrim"}), "rw=randtrim trims"),
        (job(trim=direction()), "trims, which is not read"),
        ({key: value for key, value in job(mixed=direction()).items() if key not in ("read", "write")}, "added up"),
        (job(read=direction(0)), "fio measured no read and no write"),
    ],
)
def test_what_is_no_one_setting_is_refused(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message) as error:
        read(tmp_path, document(entry))
    assert str(tmp_path / "measured") in str(error.value)
    assert "\n" not in str(error.value)
