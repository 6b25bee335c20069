"""Counters of hosts and volumes: what /proc, sysstat, CloudWatch and Azure Monitor say, in one set of words."""

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.imported_rows import said
from tests.recorded_files import DATA, SHARED, read_files, read_or_refused, read_text, values
from tiersim.errors import TraceError
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.differences import differences
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.timestamps import Clock

S = 1_000_000_000
D = Decimal
SAMPLES = ("proc.txt", "iostat_xt.txt", "iostat_d.json", "sar-d-u-b.txt", "sadf-d-u-b.csv")


def all_words_are_known(recorded: Recorded) -> bool:
    """Tell whether everything that was added is in the table of words."""
    for piece in recorded.pieces:
        for (subject, _), found in piece.values.items():
            known = SUBJECTS[subject]
            if not set(found) <= known.counters | known.gauges | known.texts:
                return False
    return True


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_say_known_words_alone(name: str) -> None:
    assert all_words_are_known(read_files(DATA / name))


# /proc.

FIELDS = "10 1 20 3 40 5 60 7 8 9 11"


@pytest.mark.parametrize("more", ["", " 12 13 14 15", " 12 13 14 15 16 17"])
def test_a_device_of_proc(tmp_path: Path, more: str) -> None:
    recorded = read_text(tmp_path, f" 259       0 nvme0n1 {FIELDS}{more}\n")
    expected = {
        "reads": 10, "reads_merged": 1, "read_bytes": 20 * 512, "read_ms": 3, "writes": 40, "writes_merged": 5,
        "written_bytes": 60 * 512, "write_ms": 7, "in_flight": 8, "busy_ms": 9, "queue_ms": 11,
    }  # fmt: skip
    if more:
        expected |= {"discards": 12, "discarded_bytes": 14 * 512, "discard_ms": 15}
    if "16" in more:
        expected |= {"flushes": 16, "flush_ms": 17}
    assert values(recorded, "device") == {"nvme0n1": expected}
    assert recorded.snapshots()[0].time_ns is None


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(st.integers(0, 10**19 // 512 - 1), min_size=17, max_size=17), min_size=1, max_size=5))
def test_what_devices_grew_by_is_what_the_files_differ_by(
    tmp_path_factory: pytest.TempPathFactory, devices: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("proc")
    text = ["", ""]
    for number, fields in enumerate(devices):
        for place in range(2):
            text[place] += f" 8 {number} sd{number} {' '.join(str(n // (2 - place)) for n in fields)}\n"
    recorded = read_text(folder, f"1795290884.5\n{text[0]}1795290885.5\n{text[1]}")
    assert [s.time_ns for s in recorded.snapshots()] == [1_795_290_884_500_000_000, 1_795_290_885_500_000_000]
    grown = differences(recorded.snapshots()).of("device")
    for number, fields in enumerate(devices):
        change = grown[f"sd{number}"].grown
        assert change["reads"] == fields[0] - fields[0] // 2
        assert change["written_bytes"] == (fields[6] - fields[6] // 2) * 512
        assert change["flush_ms"] == fields[16] - fields[16] // 2


def test_three_files_of_proc_in_one_again_and_again() -> None:
    recorded = read_files(DATA / "proc.txt")
    first, second = recorded.snapshots()
    assert first.time_ns is not None
    assert second.time_ns == first.time_ns + 1_171_453_143  # the first is a `date`, which has no fractions
    text = (DATA / "proc.txt").read_text()
    user = int(text.split("cpu  ")[1].split()[0])
    assert first.values["processor", "host"]["user_ms"] == user * 10
    assert first.values["processor", "host"]["cores"] == 2
    total_kib = int(text.split("MemTotal:")[1].split()[0])
    assert first.values["memory", "host"]["total_bytes"] == total_kib * 1024
    assert ("device", "vda") in second.values
    assert not recorded.dropped


def test_behind_headings_only_files_of_proc_are_read(tmp_path: Path) -> None:
    recorded = read_text(
        tmp_path,
        f"== /proc/diskstats ==\n8 0 sda {FIELDS}\n== /proc/loadavg ==\n4.07 1.61 1.48 1/243 15824\n"
        "== /proc/PID/io ==\nrchar: 7\nwchar: 8\n== /proc/stat ==\ncpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 0 0 0 0\n",
    )
    assert set(values(recorded, "device")) == {"sda"}
    assert values(recorded, "processor")["host"]["cores"] == 2


def test_snapshots_without_times_begin_where_a_device_comes_again(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, f"8 0 sda {FIELDS}\n8 16 sdb {FIELDS}\n8 0 sda 11{FIELDS[2:]}\n8 16 sdb {FIELDS}\n")
    assert [len(s.values) for s in recorded.snapshots()] == [2, 2]
    assert values(recorded, "device", 1)["sda"]["reads"] == 11


def test_a_single_file_is_of_the_moment_of_its_folder(tmp_path: Path) -> None:
    for moment, reads in (("before", 5), ("after", 9)):
        (tmp_path / moment).mkdir()
        (tmp_path / moment / "diskstats.txt").write_text(f"8 0 sda {reads}{FIELDS[2:]}\n")
    recorded = read_files(tmp_path / "after" / "diskstats.txt", tmp_path / "before" / "diskstats.txt")
    assert differences(recorded.snapshots()).of("device")["sda"].grown["reads"] == 4


def test_damaged_lines_of_proc_are_counted(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, f"8 0 sda {FIELDS}\n8 16 sdb 1 2 3\nnonsense\n", key="proc")
    assert set(values(recorded, "device")) == {"sda"}
    assert recorded.dropped == {"damaged lines of /proc files": 2}


# sysstat.


def test_iostat_leaves_out_what_was_before_the_recording() -> None:
    recorded = read_files(DATA / "iostat_xt.txt")
    assert [s.time_ns for s in recorded.snapshots()] == [1_795_290_852 * S, 1_795_290_853 * S]
    assert values(recorded, "processor", 0)["host"]["system_share"] == D("0.01")
    assert said("the first report is of the time since the host was started, and was left out", recorded.inferred)
    assert said("has no time zone: its times are assumed to be UTC", recorded.inferred)


def test_iostat_as_json() -> None:
    recorded = read_files(DATA / "iostat_d.json")
    assert values(recorded, "device") == {
        "vda": {
            "reads_per_s": D(0),
            "writes_per_s": D(57),
            "flushes_per_s": D(0),
            "read_bytes_per_s": D(0),
            "written_bytes_per_s": D(852 * 1024),
            "write_latency_ms": D("1.67"),
            "queue_mean": D("0.10"),
            "busy_share": D("0.008"),
        }
    }
    assert said("its reports have no times; let iostat run with -t", recorded.warnings)


OLD_IOSTAT = """Linux 2.6.32-431.el6.x86_64 (host) \t11/21/2026 \t_x86_64_\t(24 CPU)

Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0,00     1,00    2,50    4,00    80,00   160,00    36,92     0,05    7,50   1,00   0,65
"""


def test_iostat_of_old_versions_in_any_locale(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, OLD_IOSTAT)
    assert recorded.formats == ["iostat"]
    assert values(recorded, "device")["sda"] == {
        "reads_per_s": D("2.5"),
        "writes_per_s": D(4),
        "read_bytes_per_s": D(80 * 512),
        "written_bytes_per_s": D(160 * 512),
        "queue_mean": D("0.05"),
        "latency_ms": D("7.5"),
        "busy_share": D("0.0065"),
    }
    assert said("holds one report, which is of the time since the host was started", recorded.warnings)


def test_damaged_json_of_iostat_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="recorded: is not whole JSON of iostat"):
        read_text(tmp_path, (DATA / "iostat_d.json").read_text()[:-20])


def test_sar_and_sadf_say_the_same() -> None:
    sar, sadf = read_files(DATA / "sar-d-u-b.txt"), read_files(DATA / "sadf-d-u-b.csv")
    assert [(s.time_ns, s.values) for s in sar.snapshots()] == [(s.time_ns, s.values) for s in sadf.snapshots()]
    assert sar.snapshots()[-1].values == {
        ("processor", "host"): {
            "user_share": D(0),
            "nice_share": D(0),
            "system_share": D("0.01"),
            "io_wait_share": D(0),
            "steal_share": D(0),
            "idle_share": D("0.99"),
        },
        ("device", "vda"): {
            "requests_per_s": D(11),
            "read_bytes_per_s": D(0),
            "written_bytes_per_s": D(84 * 1024),
            "queue_mean": D("0.01"),
            "latency_ms": D("1.27"),
            "busy_share": D(0),
        },
        ("device", "all devices"): {
            "requests_per_s": D(11),
            "reads_per_s": D(0),
            "writes_per_s": D(11),
            "read_bytes_per_s": D(0),
            "written_bytes_per_s": D(168 * 512),
        },
    }


def test_sar_goes_on_after_midnight_and_in_hours_of_twelve(tmp_path: Path) -> None:
    text = (
        "Linux 3.10.0 (host) \t11/21/2026 \t_x86_64_\t(4 CPU)\n\n"
        "11:58:00 PM       DEV       tps  rd_sec/s  wr_sec/s     await     %util\n"
        "11:59:00 PM    dev8-0      1.00      2.00      3.00      4.00      5.00\n"
        "12:00:00 AM    dev8-0      2.00      2.00      3.00      4.00      5.00\n"
        "11:59:00 AM LINUX RESTART\n"
        "12:01:00 AM       CPU     %user     %idle\n"
        "12:01:00 AM       all      1.00     99.00\n"
        "12:01:00 AM       DEV       tps  rd_sec/s  wr_sec/s     await     %util\n"
        "12:01:00 AM    dev8-0      3.00      2.00      3.00      4.00      5.00\n"
        "Average:       dev8-0      2.00      2.00      3.00      4.00      5.00\n"
    )
    recorded = read_text(tmp_path, text)
    midnight = Clock().unix_ns("2026-11-22 00:00:00 UTC")
    assert midnight is not None
    of_devices = [s.time_ns for s in recorded.snapshots() if ("device", "dev8-0") in s.values]
    assert of_devices == [midnight - 60 * S, midnight, midnight + 60 * S]
    assert values(recorded, "device")["dev8-0"]["read_bytes_per_s"] == 1024
    assert not recorded.dropped


def test_sar_counts_on_when_the_clock_is_set_back_by_an_hour(tmp_path: Path) -> None:
    """At the end of daylight saving time. What is earlier was taken for the next day: 23 hours were added."""
    heading = "          DEV       tps  rd_sec/s  wr_sec/s     await     %util\n"
    times = ("02:00:00", "02:10:00", "02:20:00", "02:30:00", "02:40:00", "02:50:00", "02:00:00", "02:10:00")
    lines = (f"{time}    dev8-{disk}   1.00   2.00   3.00   4.00   5.00\n" for time in times for disk in "01")
    recorded = read_text(
        tmp_path, f"Linux 3.10 (a) \t10/25/2026 \t_x86_64_\t(4 CPU)\n\n01:50:00{heading}{''.join(lines)}"
    )
    counted = [s.time_ns for s in recorded.snapshots()]
    assert [(later - first) // S for first, later in pairwise(counted) if first and later] == [600] * 7
    (said,) = recorded.warnings
    assert said.startswith("recorded: its clock was set back by 60 min (daylight saving time?); from there on times")


# Clouds.


def test_cloudwatch_statistics_of_volumes(tmp_path: Path) -> None:
    def metric(label: str, *sums: float) -> str:
        points = [{"Timestamp": f"2026-05-01T10:0{5 * n}:00+00:00", "Sum": s, "Unit": "x"} for n, s in enumerate(sums)]
        return json.dumps({"Label": label, "Datapoints": points[::-1]}, indent=4)

    text = "\n".join(
        (metric("VolumeReadOps", 3000, 0), metric("VolumeTotalReadTime", 6, 0), metric("VolumeWriteBytes", 300, 600))
    )
    recorded = read_text(tmp_path, text, name="vol-0123456789abcdef0.json")
    start = Clock().unix_ns("2026-05-01T10:00:00Z")
    assert start is not None
    assert [s.time_ns for s in recorded.snapshots()] == [start + 300 * S, start + 600 * S]
    assert values(recorded, "device", 0) == {
        "vol-0123456789abcdef0": {"reads_per_s": 10, "read_latency_ms": 2, "written_bytes_per_s": 1}
    }
    assert values(recorded, "device", 1) == {"vol-0123456789abcdef0": {"reads_per_s": 0, "written_bytes_per_s": 2}}
    assert all_words_are_known(recorded)


def test_cloudwatch_metric_data(tmp_path: Path) -> None:
    results = [
        {
            "Id": "a",
            "Label": "vol-0123456789abcdef0 VolumeIdleTime",
            "Timestamps": ["2026-05-01T10:01:00Z", "2026-05-01T10:00:00Z"],
            "Values": [45.0, 60.0],
        },
        {"Id": "b", "Label": "CPUUtilization", "Timestamps": ["2026-05-01T10:00:00Z"], "Values": [25.0]},
        {"Id": "c", "Label": "NetworkIn", "Timestamps": ["2026-05-01T10:00:00Z"], "Values": [25.0]},
    ]
    recorded = read_text(tmp_path, json.dumps({"MetricDataResults": results}))
    assert values(recorded, "device") == {"vol-0123456789abcdef0": {"busy_share": D("0.25")}}
    assert said("metrics that are not known, and not read: NetworkIn", recorded.warnings)
    assert said("volumeidletime does not tell its statistic, which is assumed to be the sum", recorded.inferred)
    # A single point does not tell its period.
    assert recorded.dropped == {"points of metrics without the statistic that is needed, or without their period": 1}


def test_cloudwatch_averages_that_are_no_sums_are_not_taken_for_them(tmp_path: Path) -> None:
    points = [{"Timestamp": f"2026-05-01T10:0{n}:00Z", "Average": 4.0, "SampleCount": 30.0} for n in range(2)]
    recorded = read_text(tmp_path, json.dumps({"Label": "VolumeReadOps", "Datapoints": points}))
    assert values(recorded, "device") == {"volume": {"reads_per_s": 2}}
    for point in points:
        del point["SampleCount"]
    with pytest.raises(TraceError, match="recorded: holds no metric that is known"):
        read_text(tmp_path, json.dumps({"Label": "VolumeReadOps", "Datapoints": points}))


def test_cloudwatch_table_of_the_console(tmp_path: Path) -> None:
    text = (
        "Full label,CPUUtilization,ReadLatency\nLabel,CPUUtilization,ReadLatency\n"
        "Statistic,Average,Average\nPeriod,300,300\n"
        "2026/05/01 10:00:00,12.5,0.0015\n2026/05/01 10:05:00,13.5,\n"
    )
    recorded = read_text(tmp_path, text)
    assert recorded.formats == ["cloudwatch"]
    assert values(recorded, "device") == {}
    assert values(recorded, "device", 0) == {"database": {"read_latency_ms": D("1.5")}}
    assert values(recorded, "processor") == {"host": {"busy_share": D("0.135")}}


AZURE = {
    "interval": "0:01:00",
    "value": [
        {
            "name": {"value": "Data Disk Read Operations/Sec"},
            "timeseries": [
                {
                    "metadatavalues": [{"name": {"value": "LUN"}, "value": "3"}],
                    "data": [
                        {"average": 12.5, "timeStamp": "2026-05-01T10:00:00Z"},
                        {"average": None, "timeStamp": "2026-05-01T10:01:00Z"},
                    ],
                }
            ],
        },
        {
            "name": {"value": "Percentage CPU"},
            "timeseries": [{"metadatavalues": [], "data": [{"average": 50, "timeStamp": "2026-05-01T10:00:00Z"}]}],
        },
    ],
}


def test_azure_metrics_of_the_command_line(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, json.dumps(AZURE, indent=2))
    (snapshot,) = recorded.snapshots()
    assert snapshot.time_ns == Clock().unix_ns("2026-05-01T10:01:00Z")
    assert snapshot.values == {
        ("device", "data disk 3"): {"reads_per_s": D("12.5")},
        ("processor", "host"): {"busy_share": D("0.5")},
    }
    assert not recorded.dropped
    assert all_words_are_known(recorded)


def test_azure_records_and_tables_say_the_same(tmp_path: Path) -> None:
    rows = [("read_iops", 100.5), ("disk_queue_depth", 2), ("cpu_percent", 50)]
    records = [
        {
            "time": "2026-05-01T10:00:00Z",
            "resourceId": "/SUBSCRIPTIONS/SECRET",
            "metricName": name,
            "timeGrain": "PT1M",
            "average": value,
        }
        for name, value in rows
    ]
    table = "TimeGenerated [UTC],ResourceId,MetricName,Average,TimeGrain\n" + "".join(
        f'"5/1/2026, 10:00:00.000 AM",/SUBSCRIPTIONS/SECRET,{name},{value},PT1M\n' for name, value in rows
    )
    found = [
        read_text(tmp_path, text)
        for text in (json.dumps({"records": records}), "\n".join(map(json.dumps, records)), "\ufeff" + table)
    ]
    for recorded in found:
        assert recorded.formats == ["azure-monitor"]
        (snapshot,) = recorded.snapshots()
        assert snapshot == found[0].snapshots()[0]
        assert snapshot.values["device", "database"] == {"reads_per_s": D("100.5"), "queue_mean": 2}
        assert "SECRET" not in str(recorded)


def test_metrics_of_several_resources_are_kept_apart(tmp_path: Path) -> None:
    records = [
        {
            "time": "2026-05-01T10:00:00Z",
            "resourceId": f"/{n}",
            "metricName": "read_iops",
            "timeGrain": "PT1M",
            "average": n,
        }
        for n in range(2)
    ]
    recorded = read_text(tmp_path, json.dumps(records))
    assert values(recorded, "device") == {
        "database of resource 1": {"reads_per_s": 0},
        "database of resource 2": {"reads_per_s": 1},
    }


# Damage.


@settings(max_examples=examples(200), deadline=None)
@given(
    name=st.sampled_from(SAMPLES),
    places=st.lists(st.tuples(st.integers(0, 3_000), st.binary(max_size=8), st.integers(0, 100)), max_size=4),
    cut=st.integers(0, 1_000),
)
def test_whatever_is_done_to_a_file_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, places: list[tuple[int, bytes, int]], cut: int
) -> None:
    data = (DATA / name).read_bytes()
    for place, new, gone in places:
        data = data[:place] + new + data[place + gone :]
    key = name.split(".")[0].split("_")[0].split("-")[0].replace("sadf", "sar")
    recorded = read_or_refused(tmp_path_factory.mktemp("fuzz"), data[: len(data) - cut], key)
    if recorded is None:
        return
    assert all_words_are_known(recorded)
    recorded.snapshots()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.text(max_size=3)
    | st.sampled_from(["2026-05-01T10:00:00Z", "VolumeReadOps", "read_iops"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "sysstat",
                    "hosts",
                    "statistics",
                    "disk",
                    "avg-cpu",
                    "Label",
                    "Datapoints",
                    "Timestamp",
                    "Sum",
                    "MetricDataResults",
                    "Id",
                    "Timestamps",
                    "Values",
                    "value",
                    "interval",
                    "name",
                    "timeseries",
                    "data",
                    "timeStamp",
                    "average",
                    "records",
                    "time",
                    "metricName",
                    "timeGrain",
                    "metadatavalues",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(200), deadline=None)
@given(JSON, st.sampled_from(["iostat", "cloudwatch", "azure-monitor"]))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, document: object, key: str) -> None:
    read_or_refused(tmp_path_factory.mktemp("fuzz"), json.dumps(document).encode(), key)


@pytest.mark.parametrize("key", ["iostat", "cloudwatch", "azure-monitor", "sar", "proc", "clock", "pgbench-output"])
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"nothing\n", b"\0\xff" * 99, b"{", b"[" * 100_000, b'{"a":' * 100_000, b"1;2;3\n"]
)
def test_what_holds_nothing_is_refused_in_a_sentence(tmp_path: Path, key: str, content: bytes) -> None:
    with pytest.raises(TraceError, match="recorded: "):
        read_text(tmp_path, content, key=key)


# Two clocks.


def test_two_clocks(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, "realtime_ns 1795226470707202812\nmonotonic_ns 2382305683312\n")
    assert recorded.formats == ["clock"]
    assert recorded.monotonic_to_unix_ns == 1795226470707202812 - 2382305683312


# Recordings.


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the sample traces are not beside this checkout")
@pytest.mark.parametrize("run", ["sel_fast_1", "sel_read400_1", "tpcb_fast_1", "tpcb_read400_1"])
def test_recorded_devices_grew_by_what_a_naive_reader_says(run: str) -> None:
    folder = SHARED / "postgres/ab" / run
    files = [folder / moment / "diskstats.txt" for moment in ("before", "after")]
    grown = differences(read_files(*files).snapshots()).of("device")
    before, after = (
        {line.split()[2]: [int(n) for n in line.split()[3:]] for line in file.read_text().splitlines()}
        for file in files
    )
    assert set(grown) == set(after)
    for device, fields in after.items():
        then = before[device]
        assert grown[device].grown["reads"] == fields[0] - then[0]
        assert grown[device].grown["read_bytes"] == (fields[2] - then[2]) * 512
        assert grown[device].grown["write_ms"] == fields[7] - then[7]
        assert grown[device].grown["flushes"] == fields[15] - then[15]
    assert read_files(folder / "clock.txt").monotonic_to_unix_ns is not None


def test_numbers_that_no_table_holds_are_left_out_and_counted(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, f" 259 0 nvme0n1 {FIELDS}\n 259 1 nvme1n1 {'9' * 20} {FIELDS[3:]}\n")
    assert "reads" not in values(recorded, "device")["nvme1n1"]
    assert recorded.dropped == {"numbers of 20 digits or more": 1}
