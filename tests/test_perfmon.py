"""Performance logs of Windows as text."""

from decimal import Decimal
from pathlib import Path

import pytest

from tests.recorded_files import read_files
from tiersim.errors import TraceError
from tiersim.traces.differences import differences
from tiersim.traces.readers.recorded import Recorded

DATA = Path(__file__).parent / "data" / "sqlserver"
HEAD = '"(PDH-CSV 4.0) (W. Europe Standard Time)(-60)"'


def logged(folder: Path, counters: list[str], rows: list[str], head: str = HEAD) -> Recorded:
    path = folder / "perf.csv"
    heading = ",".join([head, *(f'"\\\\HOST\\{name}"' for name in counters)])
    path.write_text("\r\n".join([heading, *rows, ""]), encoding="utf-8")
    return read_files(path)


def test_what_relog_prints_becomes_gauges_and_sums() -> None:
    recorded = read_files(DATA / "perfmon.csv")
    snapshots = recorded.snapshots()
    assert len(snapshots) == 3
    disk = snapshots[1].values["device", "0 C: D:"]
    assert disk == {"reads_per_s": Decimal("120.5"), "read_latency_ms": Decimal("5.1234567890123")}
    assert not any(entity == "_Total" for snapshot in snapshots for _, entity in snapshot.values)
    grown = differences(snapshots).of("log")["log"].grown
    assert grown["flushes"] == 100 * 15 + Decimal("120.2") * Decimal("15.5")  # means over the time before each sample
    assert differences(snapshots).of("checkpointer")["checkpointer"].grown["pages_written"] == 15_500
    assert snapshots[2].values["processor", "host"]["busy_share"] == Decimal("0.5")
    assert snapshots[2].values["memory", "host"]["available_bytes"] == 2047 << 20
    assert recorded.host["buffer_pool_bytes"] == 8 << 30
    assert not recorded.dropped  # what typeperf says at its end is no loss


def test_the_bias_of_the_heading_leads_to_utc(tmp_path: Path) -> None:
    (snapshot,) = logged(tmp_path, ["Memory\\Available Bytes"], ['"11/22/2026 08:00:00.250","5"']).snapshots()
    assert snapshot.time_ns == 1_795_330_800_250_000_000  # 07:00:00.25 UTC


@pytest.mark.parametrize("bias_min", [-720, -60, 0, 300, 480])
def test_a_log_has_all_its_samples_on_both_sides_of_greenwich(tmp_path: Path, bias_min: int) -> None:
    """Times of samples were compared before the bias was added with those after: west of it none followed the first."""
    rows = [f'"11/22/2026 08:0{minute}:00.000","100"' for minute in range(4)]
    counter = "MSSQL$SALES:Databases(_Total)\\Log Flushes/sec"
    recorded = logged(tmp_path, [counter], rows, f'"(PDH-CSV 4.0) (a zone)({bias_min})"')
    snapshots = recorded.snapshots()
    assert [(one.time_ns or 0) - (snapshots[0].time_ns or 0) for one in snapshots] == [
        minute * 60_000_000_000 for minute in range(4)
    ]
    assert differences(snapshots).of("log")["log"].grown["flushes"] == 100 * 180
    assert not recorded.dropped


def test_a_heading_without_a_zone_is_said(tmp_path: Path) -> None:
    recorded = logged(tmp_path, ["Memory\\Available Bytes"], ['"11/22/2026 08:00:00.250","5"'], '"(PDH-CSV 4.0)"')
    assert any("no time zone" in sentence for sentence in recorded.inferred)


def test_numbers_may_have_a_decimal_comma(tmp_path: Path) -> None:
    (snapshot,) = logged(
        tmp_path, ["PhysicalDisk(1 E:)\\Disk Reads/sec"], ['"11/22/2026 08:00:00.250","5,5"']
    ).snapshots()
    assert snapshot.values["device", "1 E:"]["reads_per_s"] == Decimal("5.5")


def test_of_two_instances_one_is_read_and_the_other_named(tmp_path: Path) -> None:
    counters = ["MSSQL$A:Memory Manager\\Total Server Memory (KB)", "MSSQL$B:Memory Manager\\Total Server Memory (KB)"]
    recorded = logged(tmp_path, counters, ['"11/22/2026 08:00:00.000","1","2"'])
    assert recorded.snapshots()[0].values["memory", "host"]["engine_bytes"] == 1024
    assert any("mssql$b" in warning for warning in recorded.warnings)


def test_counters_that_nobody_knows_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"none of its 1 counters is known .*Speicher.* English"):
        logged(tmp_path, ["Speicher\\Verfügbare Bytes"], ['"11/22/2026 08:00:00.000","1"'])


def test_lines_that_are_no_samples_are_counted(tmp_path: Path) -> None:
    rows = ['"11/22/2026 08:00:00.000","1"', '"11/22/2026 08:00:15.000"', '"11/22/2026 08:00:30.000","3"']
    recorded = logged(tmp_path, ["Memory\\Available Bytes"], rows)
    assert recorded.dropped == {"damaged lines": 1}
    assert len(recorded.snapshots()) == 2


def test_sums_of_the_server_count_where_samples_are_there_too() -> None:
    recorded = read_files(DATA / "perfmon.csv", *sorted(DATA.glob("dm_os_performance_counters.*")))
    found = differences(recorded.snapshots())
    assert found.of("log")["log"].grown["flushes"] == 60_000
    assert not found.resets
    assert found.of("device")  # samples of what the server does not count stay
