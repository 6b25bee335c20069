"""What counters grew by, and what happened to them in between."""

from collections.abc import Mapping
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from tiersim.traces.differences import Differences, differences
from tiersim.traces.statistics import Snapshot

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
