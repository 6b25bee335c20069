"""What counters grew by, and what happened to them in between."""

from collections.abc import Mapping
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.traces.differences import Differences, differences
from tiersim.traces.statistics import Snapshot, Values

QUERY = ("query", "1/10/t/42")


def seen(*values: Mapping[str, str | int] | None, subject: tuple[str, str] = QUERY, times: bool = True) -> Differences:
    """Return the differences of snapshots, one a second, in which one entity says *values*, or is absent."""
    snapshots = []
    for place, found in enumerate(values):
        number = {
            k: v if isinstance(v, str) and k in ("since", "started_at") else Decimal(v)
            for k, v in (found or {}).items()
        }
        other = {("query", "other"): {"calls": Decimal(place)}}
        snapshots.append(Snapshot(place * 10**9 if times else None, other | ({subject: number} if found else {})))
    return differences(snapshots)


def grown(found: Differences, counter: str = "calls") -> Decimal:
    value = found.of("query")[QUERY[1]].number(counter)
    assert value is not None
    return value


@given(st.lists(st.integers(0, 2**62), min_size=2, max_size=6))
def test_steps_of_what_only_grows_add_up_to_the_difference(counts: list[int]) -> None:
    counts.sort()
    found = seen(*({"calls": count} for count in counts))
    assert grown(found) == counts[-1] - counts[0]
    assert not found.findings()
    assert found.span_ns["query"] == (len(counts) - 1) * 10**9


def test_times_keep_their_last_digit() -> None:
    found = seen({"calls": 1, "exec_ms": "10388.826000000001"}, {"calls": 2, "exec_ms": "10389.000000000002"})
    assert grown(found, "exec_ms") == Decimal("0.174000000001")


def test_a_counter_that_falls_began_anew() -> None:
    found = seen({"calls": 10, "pages_read": 5}, {"calls": 14, "pages_read": 6}, {"calls": 3, "pages_read": 1})
    assert [grown(found), grown(found, "pages_read")] == [4 + 3, 1 + 1]
    assert found.resets == {"query": [QUERY[1]]}
    assert "reset between snapshots" in found.findings()[0]


def test_a_query_that_was_evicted_and_called_more_often_is_found_by_its_other_counters() -> None:
    found = seen({"calls": 10, "pages_read": 500}, {"calls": 12, "pages_read": 3})
    assert [grown(found), grown(found, "pages_read")] == [12, 3]
    assert found.resets


def test_a_query_that_came_back_with_more_of_everything_is_found_by_its_time() -> None:
    found = seen({"calls": 10, "since": "09:00"}, {"calls": 12, "since": "09:05"})
    assert grown(found) == 12
    assert found.resets
    assert grown(seen({"calls": 10, "since": "09:00"}, {"calls": 12, "since": "09:00"})) == 2


def test_a_new_query_counts_from_nothing_and_one_that_left_is_said() -> None:
    assert grown(seen(None, {"calls": 7}, {"calls": 9})) == 9
    found = seen({"calls": 7}, {"calls": 9}, None)
    assert grown(found) == 2
    assert found.evicted == {"query": [QUERY[1]]}
    assert "left the view" in found.findings()[0]


def test_what_had_no_counts_has_none_to_lose_when_it_leaves() -> None:
    sizes = {("relation", "used"): {"index_scans": Decimal(1)}, ("relation", "unused"): {"pages": Decimal(1)}}
    found = differences([Snapshot(0, sizes), Snapshot(10**9, {("relation", "other"): {"index_scans": Decimal(1)}})])
    assert found.evicted == {"relation": ["used"]}


def test_one_snapshot_tells_no_growth() -> None:
    assert grown(seen({"calls": 7})) == 0


def test_what_is_said_in_some_snapshots_only_is_compared_with_the_last_that_says_it() -> None:
    log = ("log", "log")
    snapshots = [
        Snapshot(t, {log: {"bytes": Decimal(b)}} if b else {QUERY: {"calls": Decimal(t)}})
        for t, b in ((0, 5), (1, 0), (2, 9))
    ]
    found = differences(snapshots)
    assert found.of("log")["log"].number("bytes") == 4
    assert found.span_ns["log"] == 2


def test_a_restart_is_said() -> None:
    found = seen({"started_at": "1"}, {"started_at": "1"}, {"started_at": "2"}, subject=("server", "server"))
    assert found.restarts == 1
    assert "restarted once" in found.findings()[0]


def test_gauges_are_what_they_were_last_and_unknown_subjects_do_no_harm() -> None:
    found = seen({"calls": 1, "exec_mean_ms": 5}, {"calls": 2, "exec_mean_ms": 4})
    assert grown(found, "exec_mean_ms") == 4
    assert not found.resets
    assert seen({"calls": 9}, {"calls": 1}, subject=("what another tool counts", "x")).resets == {}


def test_times_that_nobody_noted_give_no_span() -> None:
    assert seen({"calls": 1}, {"calls": 2}, times=False).span_ns["query"] is None


def test_gauges_that_another_tool_took_in_between_are_no_snapshot_of_the_counters() -> None:
    def counted(second: int, reads: int) -> Snapshot:
        return Snapshot(second * 10**9, {("device", name): {"reads": Decimal(reads)} for name in ("sda", "loop0")})

    def gauged(second: int) -> Snapshot:
        return Snapshot(second * 10**9, {("device", "sda"): {"reads_per_s": Decimal(second)}})

    found = differences([gauged(0), counted(1, 100), gauged(2), counted(3, 140), gauged(4)])
    assert found.of("device")["sda"].number("reads") == 40
    assert found.of("device")["sda"].number("reads_per_s") == 4
    assert found.of("device")["loop0"].number("reads") == 40
    assert (found.snapshots["device"], found.span_ns["device"]) == (2, 2 * 10**9)
    assert not found.findings()


def test_gauges_alone_have_a_span() -> None:
    found = differences([Snapshot(n * 10**9, {("device", "sda"): {"reads_per_s": Decimal(n)}}) for n in range(3)])
    assert (found.snapshots["device"], found.span_ns["device"]) == (3, 2 * 10**9)


def step_to(subject: str, entity: str, *said: Mapping[str, int] | None) -> Differences:
    """Return the differences of snapshots, one a second, of one entity; None is a snapshot without its subject."""
    snapshots = [
        Snapshot(place * 10**9, {} if one is None else {(subject, entity): {k: Decimal(v) for k, v in one.items()}})
        for place, one in enumerate(said)
    ]
    return differences(snapshots)


def test_a_restart_leaves_the_place_in_the_log_of_innodb() -> None:
    """Five terabytes of redo were written before; the server wrote 3 MB in the minute around its restart."""
    before, after = {"bytes": 5 * 10**12, "writes": 10**9}, {"bytes": 5 * 10**12 + 3 * 10**6, "writes": 70}
    found = step_to("log", "log", before, after)
    assert [found.of("log")["log"].number("bytes"), found.of("log")["log"].number("writes")] == [3 * 10**6, 70]
    assert found.resets == {"log": ["log"]}


def test_user_statistics_that_are_flushed_leave_the_other_counters_of_a_server() -> None:
    """FLUSH USER_STATISTICS and FLUSH STATUS begin some counters anew; all others go on."""
    before, after = {"cpu_ms": 90_000, "pages_read": 10**9}, {"cpu_ms": 40, "pages_read": 10**9 + 500}
    change = step_to("database", "*", before, after).of("database")["*"]
    assert [change.number("cpu_ms"), change.number("pages_read")] == [40, 500]


def test_a_counter_that_was_not_read_before_has_not_grown_since_the_server_was_started() -> None:
    """The first file of user statistics is missing."""
    found = step_to("database", "*", {"pages_read": 100}, {"pages_read": 130, "cpu_ms": 10**9})
    change = found.of("database")["*"]
    assert [change.number("pages_read"), change.number("cpu_ms")] == [30, 0]


def test_a_counter_that_a_snapshot_lacks_is_compared_with_the_one_before() -> None:
    said = [{"pages_read": 100, "cpu_ms": 1000}, {"pages_read": 120}, {"pages_read": 130, "cpu_ms": 1700}]
    change = step_to("database", "*", *said).of("database")["*"]
    assert [change.number("pages_read"), change.number("cpu_ms")] == [30, 700]


def test_an_index_that_another_view_counts_has_not_left() -> None:
    """The view of indexes was not read once; that of tables was."""
    table, index = {"rows_read": Decimal(5)}, {"index_rows": Decimal(10**6)}
    snapshots = [
        Snapshot(0, {("relation", "t"): table, ("relation", "t.k"): index}),
        Snapshot(1, {("relation", "t"): table}),
        Snapshot(2, {("relation", "t"): table, ("relation", "t.k"): {"index_rows": Decimal(10**6 + 7)}}),
    ]
    found = differences(snapshots)
    assert found.of("relation")["t.k"].number("index_rows") == 7
    assert not found.findings()


def test_statements_that_were_dropped_or_had_no_place_are_said() -> None:
    (said,) = step_to("query store", "statements", {"evictions": 4}, {"evictions": 9}).lost_counts()
    assert said.startswith("pg_stat_statements was full and dropped its least used statements 5 times")
    assert not step_to("query store", "statements", {"evictions": 4}, {"evictions": 4}).lost_counts()
    calls = [{("query", f"shop//t/{digest}"): {"calls": Decimal(count)} for digest, count in said.items()}
             for said in ({"a": 1000, "others": 0}, {"a": 1300, "others": 300})]  # fmt: skip
    (said,) = differences([Snapshot(place, values) for place, values in enumerate(calls)]).lost_counts()
    assert said.startswith("50% of the executions are in no digest of their own")


def test_what_a_replica_replays_is_said() -> None:
    found = step_to("io", "startup/relation/normal", {"read_bytes": 1, "written_bytes": 0}, {"read_bytes": 8193})
    (said,) = found.findings()
    assert said.startswith("a replica: it read 8 KiB and wrote 0 B to replay the WAL of its primary")
    assert not step_to("io", "client backend/relation/normal", {"read_bytes": 1}, {"read_bytes": 9}).findings()


def test_a_host_whose_wait_for_io_fell_did_not_begin_anew() -> None:
    """Linux takes some of it back; busy time since the machine was booted is none of the recording's."""
    busy = {"user_ms": 10**9, "idle_ms": 10**10, "io_wait_ms": 5_000}
    found = step_to("processor", "host", busy, {"user_ms": 10**9 + 70, "idle_ms": 10**10 + 900, "io_wait_ms": 4_990})
    change = found.of("processor")["host"]
    assert [change.number(name) for name in busy] == [70, 900, 0]
    assert not found.findings()
    rebooted = step_to("processor", "host", busy, {"user_ms": 50, "idle_ms": 600, "io_wait_ms": 7})
    assert [rebooted.of("processor")["host"].number(name) for name in busy] == [50, 600, 7]


def test_times_of_a_device_come_to_the_end_of_32_bits_while_its_counts_go_on() -> None:
    before = {"reads": 10**12, "read_ms": 2**32 - 100, "busy_ms": 2**32 - 1}
    found = step_to("device", "nvme0n1", before, {"reads": 10**12 + 500, "read_ms": 150, "busy_ms": 59})
    change = found.of("device")["nvme0n1"]
    assert [change.number(name) for name in before] == [500, 250, 60]
    assert not found.findings()
    again = step_to("device", "nvme0n1", before, {"reads": 500, "read_ms": 150, "busy_ms": 59})
    assert [again.of("device")["nvme0n1"].number(name) for name in before] == [500, 150, 59]


def test_a_setting_that_was_changed_between_snapshots_is_said() -> None:
    """Reads that were timed in a part of the time look faster than they were."""
    timing, pool = ("setting", "track_io_timing"), ("setting", "shared_buffers")
    size: Values = {"setting": Decimal("16384.000"), "unit": "8kB"}
    looks: list[dict[tuple[str, str], Values]] = [
        {timing: {"setting": "off"}, pool: size},
        {QUERY: {"calls": Decimal(1)}},
        {timing: {"setting": "on"}, pool: {**size, "setting": Decimal(32768)}},
    ]
    found = differences([Snapshot(place * 10**9, values) for place, values in enumerate(looks)])
    (said,) = found.changed_settings()
    assert "(shared_buffers from 16384 8kB to 32768 8kB, track_io_timing from off to on)" in said
    assert said in found.findings()
    alike = differences(
        [Snapshot(place * 10**9, values) for place, values in enumerate([looks[2], looks[1], looks[2]])]
    )
    assert not alike.findings()


@pytest.mark.parametrize(
    ("track", "version", "said"), [("all", 130_014, True), ("all", 140_000, False), ("top", 130_014, False)]
)
def test_statements_inside_functions_that_nothing_tells_from_others_are_said(
    track: str, version: int, said: bool
) -> None:
    settings: dict[tuple[str, str], Values] = {
        ("setting", "pg_stat_statements.track"): {"setting": track},
        ("setting", "server_version_num"): {"setting": Decimal(version)},
    }
    found = differences([Snapshot(0, settings), Snapshot(10**9, settings)])
    assert any("count twice" in sentence for sentence in found.findings()) == said
    assert len(found.counted_twice()) == said
