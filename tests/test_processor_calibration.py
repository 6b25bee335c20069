"""What statements cost the processors: found again where it is known, and good enough to predict a real server at other
sizes and speeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.scenarios.calibration.cpu_and_waits import (
    ASSUMED_RANGE,
    CHANGE_MESSAGES,
    CLIENT_NS,
    COLD_NS,
    COMMIT_MESSAGES,
    COMMIT_NS,
    COUNTED_RANGE,
    GAPS_RANGE,
    LEAST_COMMIT_NS,
    LOG_NS,
    LOG_RANGE,
    READ_NS,
    Ios,
    assumed_client_ns,
    hot_share,
    idle_factor,
)
from tiersim.scenarios.calibration.host_time import HostTime
from tiersim.scenarios.calibration.processor import (
    CalibrationRun,
    Pace,
    ProcessorCosts,
    calibrate_processor,
    recorded_ios,
)
from tiersim.scenarios.calibration.synthesis.counted import MEASURED
from tiersim.scenarios.statements import calibration, client_gaps, flush_groups, recorded_host
from tiersim.scenarios.statements.programs import share_of_clients
from tiersim.simulator.database.database_state import FOR_CPU, FOR_LOCK, SPENT
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.traces.differences import Differences, EntityChange


@dataclass(frozen=True)
class Loop:
    """A closed loop as asymptotic bounds know it: the processors, or the sessions, limit it."""

    sessions: int = 8
    cores: int = 2
    reads: float = 0.5
    device_ns: float = 120_000
    statement_ns: float = 20_000
    statements: int = 1  # of which each waits for its client
    long_waits: float = 0.0

    def run(self, costs: ProcessorCosts) -> CalibrationRun:
        demand_ns = self.statement_ns + costs.client_ns + self.reads * costs.costs.read_ns
        cycle_ns = demand_ns + self.reads * self.device_ns
        rate = min(self.cores / demand_ns, self.sessions / cycle_ns)
        queued_ns = max(self.sessions / rate - cycle_ns, 0) / (1 + self.reads)
        read_ns = costs.costs.read_ns + self.device_ns + queued_ns
        gaps_ns = self.statements * costs.client_ns * self.sessions / self.cores  # of all that storage lets go at once
        pace = Pace(rate * 1e9, read_ns, awake_ns=self.sessions / rate - self.reads * read_ns, gaps_ns=gaps_ns)
        busy = rate * demand_ns / self.cores
        return CalibrationRun(pace, busy, self.cores, self.sessions, self.reads, 1.0, self.long_waits)


def _costs(client_ns: int, read_ns: int, pause_ns: int | None = 0) -> ProcessorCosts:
    return ProcessorCosts({}, client_ns, Costs(read_ns=read_ns), "a test", pause_ns)


def _model(loop: Loop, pause_ns: int | None = 0, commits: float = 0.0) -> Any:
    """A model of the recorded hardware that runs as a loop does, with so many *commits* a statement."""
    return SimpleNamespace(
        start=_costs(0, 0, pause_ns),
        run=loop.run,
        run_as_locked=loop.run,
        locked_ns={},
        waited_ns={},
        least_client_ns=round(CLIENT_NS + commits * LEAST_COMMIT_NS),
        assumed_client_ns=lambda mean_ns: round(assumed_client_ns(mean_ns) + commits * COMMIT_NS),
    )


@pytest.mark.parametrize("read_ns", [0, 5_000, 90_000])
@pytest.mark.parametrize("client_ns", [0, 3_000, 70_000])
@pytest.mark.parametrize("sessions", [1, 2, 8, 64])
def test_costs_that_a_load_ran_with_are_found(client_ns: int, read_ns: int, sessions: int) -> None:
    """To a share of the time of a read, most of which many sessions wait for a processor."""
    loop = Loop(sessions=sessions)
    recorded = loop.run(_costs(client_ns, read_ns)).pace
    found = calibrate_processor(recorded, _costs(0, 26_000), loop.run)
    assert found.simulated is not None
    assert found.simulated.transactions_per_s == pytest.approx(recorded.transactions_per_s, rel=0.01)
    assert recorded.read_ns is not None
    near_ns = max(3_000, 0.005 * recorded.read_ns)
    assert found.costs.read_ns == pytest.approx(read_ns, abs=near_ns)
    assert found.client_ns == pytest.approx(client_ns, abs=near_ns)


def test_clients_elsewhere_cost_nothing_here() -> None:
    recorded = Loop().run(_costs(0, 40_000)).pace
    found = calibrate_processor(recorded, _costs(0, 0, None), Loop().run)
    assert found.client_ns == 0
    assert found.costs.read_ns == pytest.approx(40_000, abs=2_000)


def test_a_search_that_is_too_fast_and_too_slow_in_turn_takes_smaller_steps() -> None:
    """A loop that answers changes of its clients four times as strongly as asymptotic bounds do."""
    loop = Loop()

    def strongly(costs: ProcessorCosts) -> CalibrationRun:
        return loop.run(ProcessorCosts({}, 4 * costs.client_ns, costs.costs, "a test", 0))

    recorded = strongly(_costs(20_000, 50_000)).pace
    found = calibrate_processor(recorded, _costs(0, 0), strongly)
    assert found.simulated is not None
    assert found.simulated.transactions_per_s == pytest.approx(recorded.transactions_per_s, rel=0.02)


def test_what_was_not_recorded_is_not_looked_for() -> None:
    found = calibrate_processor(Pace(None, None), _costs(1, 26_000), Loop().run)
    assert (found.client_ns, found.costs.read_ns) == (1, 26_000)


def test_writes_of_the_log_that_take_more_than_any_were_the_recorded_device() -> None:
    """Half a write or flush a statement: what they no longer take, clients do where their CPU is known in sum."""
    found = _costs(20_000, 40_000)
    slow, usual = (replace(found, costs=found.costs._replace(log_io_ns=ns)) for ns in (125_000, 63_000))
    assert calibration._with_log_bounded(usual, 0.5) == usual
    bounded = calibration._with_log_bounded(slow, 0.5)
    log_io_ns = LOG_NS + (71_000 - LOG_NS) * 71 // 125
    assert (bounded.costs.log_io_ns, bounded.client_ns) == (log_io_ns, 20_000 + (125_000 - log_io_ns) // 2)
    (said,) = bounded.assumed
    assert "took 250 µs longer than a simulated one, and CPU explains at most 142 µs of that" in said
    assert "51 µs of CPU for a WAL write are assumed" in said
    assert calibration._with_log_bounded(slow, 0.0).client_ns == 20_000


def test_a_little_more_than_any_cost_of_the_log_is_assumed_to_be_a_little_less() -> None:
    """No jump where the most ends, and far above it what is assumed where nothing tells."""
    found = _costs(20_000, 40_000)
    assumed = [
        calibration._with_log_bounded(replace(found, costs=found.costs._replace(log_io_ns=ns)), 0.5).costs.log_io_ns
        for ns in (71_000, 71_100, 1_000_000, 100_000_000)
    ]
    assert assumed == sorted(assumed, reverse=True)
    assert assumed[:2] == pytest.approx([71_000, 70_935], abs=1)
    assert assumed[-1] == pytest.approx(LOG_NS, abs=50)


def test_what_is_less_than_logs_vary_by_is_no_wrong_description() -> None:
    """A flush behind a cap took 4.9 ms: 0.2 ms more than simulated is a share of 4 %."""
    found = replace(_costs(20_000, 40_000), recorded=Pace(None, None, None, 4_900_000))
    unsure, sure = (
        calibration._with_log_bounded(replace(found, costs=found.costs._replace(log_io_ns=ns)), 0.5)
        for ns in (100_000, 130_000)
    )
    assert (len(unsure.assumed), len(sure.assumed)) == (0, 1)
    assert unsure.costs.log_io_ns < 71_000


@pytest.mark.parametrize("sessions", [1, 3, 8])
def test_a_search_takes_few_runs(sessions: int) -> None:
    """Where reads wait for processors behind reads, a plain search creeps: it takes 9 runs and more."""
    loop, runs = Loop(sessions=sessions), 0

    def counted(costs: ProcessorCosts) -> CalibrationRun:
        nonlocal runs
        runs += 1
        return loop.run(costs)

    calibrate_processor(loop.run(_costs(70_000, 90_000)).pace, _costs(0, 26_000), counted)
    assert runs <= 5


@given(st.lists(st.floats(0.9, 1.1), min_size=24, max_size=24))
def test_the_nearest_run_is_the_answer(noise: list[float]) -> None:
    """Of a simulation that answers like a die the last run is as likely to be far off as any."""
    loop, ran = Loop(), list[Pace]()

    def erratic(costs: ProcessorCosts) -> CalibrationRun:
        run = loop.run(costs)
        rate = (run.pace.transactions_per_s or 0) * noise[len(ran)]
        ran.append(replace(run.pace, transactions_per_s=rate))
        return replace(run, pace=ran[-1])

    recorded = loop.run(_costs(20_000, 0)).pace
    found = calibrate_processor(replace(recorded, read_ns=None), _costs(0, 0), erratic)

    def late(pace: Pace) -> float:
        return abs((recorded.transactions_per_s or 0) / (pace.transactions_per_s or 1) - 1)

    assert found.simulated is not None
    assert late(found.simulated) == min(map(late, ran))


def test_who_flushed_the_log_waits_for_a_processor_however_little_that_costs() -> None:
    """A flush is longer than recorded even if it costs next to nothing; with a cost of 0 it would have no wait."""

    def run(costs: ProcessorCosts) -> CalibrationRun:
        pace = Pace(None, None, None, 100_000 + 4 * costs.costs.log_io_ns)
        return replace(Loop().run(costs), pace=pace)

    found = calibrate_processor(Pace(None, None, None, 90_000), _costs(0, 0), run)
    assert found.costs.log_io_ns == 1
    assert calibrate_processor(Pace(None, None), _costs(0, 0), run).costs.log_io_ns == 0


@pytest.mark.parametrize(("groups", "log_io_ns"), [(0.4, 50_000), (0.3, 71_000), (0.9, 0)])
def test_groups_of_commits_tell_what_a_log_costs_that_nobody_timed(groups: float, log_io_ns: int) -> None:
    """Commits come 500,000 times a second, and share a flush of 100 us and its CPU. No log costs more than 71 us."""

    def run(costs: ProcessorCosts) -> CalibrationRun:
        took_ns = 100_000 + 2 * costs.costs.log_io_ns
        pace = Pace(None, None, None, took_ns, groups=80_000 / took_ns)
        return replace(Loop().run(costs), pace=pace)

    found = calibrate_processor(Pace(None, None, groups=groups), _costs(0, 0), run)
    assert found.costs.log_io_ns == pytest.approx(log_io_ns, rel=0.03, abs=1)


@pytest.mark.parametrize(
    ("groups", "log_io_ns", "client_ns", "is_bounded"), [(0.8, 50_000, 100_000, False), (0.5, 71_000, 62_210, True)]
)
def test_clients_whose_commits_come_back_too_late_for_the_next_flush_take_less(
    groups: float, log_io_ns: int, client_ns: int, is_bounded: bool
) -> None:
    """Commits come 60 us and a client apart, and share a flush of 100 us and its CPU; no log costs more than 71 us."""

    def run(costs: ProcessorCosts) -> CalibrationRun:
        took_ns = 100_000 + 2 * costs.costs.log_io_ns
        pace = Pace(None, None, None, took_ns, groups=(60_000 + costs.client_ns) / took_ns)
        return replace(Loop().run(costs), pace=pace)

    model = _model(Loop())
    model.run = run
    by_pace = replace(_costs(100_000, 0), cpu_range=ASSUMED_RANGE)
    found = flush_groups.costs_by_groups(model, by_pace, Pace(None, None, groups=groups))
    assert found.costs.log_io_ns == pytest.approx(log_io_ns, rel=0.03)
    assert found.cpu_range == (COUNTED_RANGE if is_bounded else ASSUMED_RANGE)
    assert found.client_ns == pytest.approx(client_ns, abs=3_000)
    assert [one.startswith("CPU of clients") for one in found.assumed] == [True] * is_bounded
    assert found.simulated == run(found).pace


def test_clients_take_their_least_from_reads() -> None:
    """Half a read a statement: what clients take more, two reads take less; as many transactions end as before."""
    loop = Loop(device_ns=0)
    found = calibration._with_clients(_model(loop), _costs(2_000, 90_000), loop.run(_costs(2_000, 90_000)))
    assert (found.client_ns, found.costs.read_ns) == (20_000, 54_000)
    assert loop.run(found).pace.transactions_per_s == loop.run(_costs(2_000, 90_000)).pace.transactions_per_s
    assert found.read_range[0] < 1 < found.read_range[1]
    elsewhere = _costs(2_000, 90_000, pause_ns=None)
    assert calibration._with_clients(_model(loop), elsewhere, loop.run(elsewhere)) == elsewhere
    enough = _costs(30_000, 90_000)
    assert calibration._with_clients(_model(loop), enough, loop.run(enough)) == enough


class _OneLookup:
    """A load of one execution that reads a page."""

    query = np.zeros(1, np.int32)
    queries = ("q",)
    counters = SimpleNamespace(found=None)
    transactions = 1

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("statement_ns", [20_000, 1])
def test_a_read_that_comes_out_without_cpu_is_told_of(monkeypatch: pytest.MonkeyPatch, statement_ns: float) -> None:
    """Busy or idle processors, and a device that is described too slow: what a read costs is below any storage's."""
    loop = Loop(statement_ns=statement_ns)
    monkeypatch.setattr(calibration, "_reads_pages", lambda load: True)
    monkeypatch.setattr(calibration, "statement_ns", lambda *_: {"q": 20_000})
    recorded = replace(loop.run(_costs(0, 0)).pace, read_ns=loop.device_ns / 2)
    found = calibration._by_pace(cast(Any, _OneLookup()), _model(loop), recorded, None)
    assert found.costs.read_ns in (1, READ_NS)
    assert "less than any storage needs" in found.assumed[0]
    assert found.read_range[1] > 1


@pytest.mark.parametrize("sessions", [1, 4])
def test_what_is_assumed_is_less_than_was_timed_on_idle_processors(sessions: int) -> None:
    loop = Loop(sessions=sessions, device_ns=2_000_000)
    model = _model(loop, commits=0.5)
    found, is_fit = calibration._by_guess(model, Pace(None, None), 20_000, _costs(0, 200_000), ["waits"])
    busy = loop.run(_costs(40_000 + COMMIT_NS // 2, READ_NS)).busy
    assert not is_fit
    assert found.hot == pytest.approx(1 / idle_factor(busy))
    assert found.client_ns == pytest.approx(2 * found.hot * 20_000 + COMMIT_NS / 2, abs=1)
    assert found.costs.read_ns == pytest.approx(found.hot * READ_NS, abs=1)
    assert found.assumed == ("waits",)


@pytest.mark.parametrize("client_ns", [50_000, 3_000_000])
def test_waits_for_a_limit_that_is_not_described_become_no_cpu_of_clients(client_ns: int) -> None:
    """Reads that would take more CPU than any storage: at their most, clients explain the rest, or no client does and
    what both cost is assumed.
    """
    loop = Loop()
    recorded = loop.run(_costs(client_ns, 150_000)).pace
    found, is_fit = calibration._by_guess(_model(loop), recorded, 20_000, _costs(0, 12_000_000), ["waits"])
    assert is_fit == (client_ns == 50_000)
    if is_fit:
        assert found.client_ns == pytest.approx(client_ns, abs=2_000)
        assert found.costs.read_ns == 150_000
        assert "the most that storage takes" in found.assumed[0]
    else:
        assert found.client_ns == pytest.approx(40_000, rel=0.01)
        assert found.costs.read_ns == pytest.approx(READ_NS, rel=0.01)
        assert "more than any client takes" in found.assumed[1]
        assert found.cpu_range == ASSUMED_RANGE


@pytest.mark.parametrize("late", [0.95, 1.0, 1.05])
def test_a_cap_that_answers_a_little_earlier_or_later_than_described_is_no_cpu(late: float) -> None:
    """5 % of 8 ms a transaction are ten times what its client takes; of that, an idle host makes a part."""
    recorded = Loop(device_ns=late * 16e6).run(_costs(40_000, 60_000)).pace
    model = _model(Loop(device_ns=16e6))
    found = calibration._by_time_awake(model, recorded, 20_000, ["untold"])
    assert found is not None
    assert found.hot == pytest.approx(hot_share(1.0, 0.0, 0.0), rel=0.03)
    assert found.client_ns == pytest.approx(found.hot * 40_000, rel=0.02)
    assert found.costs.read_ns == READ_NS
    assert found.read_range == (1 / 25, 6)
    assert found.log_range == LOG_RANGE  # nobody timed it
    assert found.assumed == ("untold",)


@pytest.mark.parametrize(("pause_ns", "client_ns"), [(None, 0), (0, 400_000)])
def test_time_awake_tells_nothing_of_clients_elsewhere_or_that_take_more_than_any(
    pause_ns: int | None, client_ns: int
) -> None:
    loop = Loop(device_ns=16e6)
    recorded = loop.run(_costs(client_ns, 0)).pace
    assert calibration._by_time_awake(_model(loop, pause_ns), recorded, 20_000, []) is None


def _transactions(gap_ns: float | None, changing: int = 0) -> Any:
    """A load of 100 transactions of two lookups each, or updates where they are *changing*, of 5 µs at least and 20 in
    the mean.
    """
    load = MagicMock(
        query=np.zeros(200, np.int64),
        queries=["q"],
        duration_ns=np.full(200, 5_000),
        cpu_ns=np.full(200, 20_000),
        lock_wait_ns=np.zeros(200),
        physical_reads=np.zeros(200),
        asked=[SimpleNamespace(changes=float(changing > 0), locks=changing > 0)],
        cpu_basis={"q": "execution time minus reads"},
        transactions=100,
        commits=changing,
        changing=changing,
        gap_ns=gap_ns,
        active=0.0,
        span_ns=1_000_000_000,
    )
    load.__len__.return_value = 200
    return load


@pytest.mark.parametrize(("changing", "besides"), [(0, 0.0), (100, COMMIT_MESSAGES + CHANGE_MESSAGES)])
def test_how_long_sessions_wait_for_clients_within_transactions_tells_their_cpu(changing: int, besides: float) -> None:
    """Sessions wait 100 µs for a message, of which a quarter is work: 8 of them that 2 cores serve. A transaction of
    two statements has four messages; commit and changes cost as much as some more.
    """
    load, model = _transactions(100_000, changing), _model(Loop(reads=1.0, device_ns=20e6, statements=2))
    found = client_gaps.costs_by_gaps(load, model, Pace(400.0, 20e6, 0, awake_ns=1.0), 20_000)
    assert found is not None
    hot = hot_share(1.0, 0.0, 0.01)
    assert found.client_ns == pytest.approx(hot * 25_000 * (4 + besides) / 2, rel=0.02)
    own = recorded_host.statement_ns_of(load, found, {})
    # of what may be waits for locked rows in the middle of the fastest and the mean; lookups wait for nobody
    assert own["q"] == (10_000 if changing else 20_000)
    assert found.cpu_range[0] < 1 < found.cpu_range[1]
    assert found.log_range == LOG_RANGE
    assert "by how long sessions waited for their clients" in found.assumed[0]


@dataclass
class Locking:
    """A loop that executions of a load are in the way of, each of which waits for locked rows as long as it works."""

    load: Any
    loop: Loop
    start: ProcessorCosts
    locked_ns: Mapping[str, float] = field(default_factory=dict)
    waited_ns: Mapping[str, float] = field(default_factory=dict)

    def run_as_locked(self, costs: ProcessorCosts) -> CalibrationRun:
        own_ns = recorded_host.statement_ns_of(self.load, costs, self.locked_ns)["q"]
        self.waited_ns = {"q": own_ns}
        return self.loop.run(replace(costs, client_ns=costs.client_ns + own_ns))

    def run(self, costs: ProcessorCosts) -> CalibrationRun:
        found = self.run_as_locked(costs)
        self.locked_ns = self.waited_ns
        return found


def test_waits_for_locked_rows_settle_with_what_clients_take() -> None:
    """Of 20 µs, an update waits for locked rows 1.2 times as long as it works, 10.9; with what clients take, its work
    is 50. A search with waits of the run before would have 20 µs of work and none in turn.
    """
    load, loop = _transactions(100_000, 100), Loop(reads=1.0, device_ns=20e6, statements=2)
    model = Locking(load, loop, _costs(0, 0))
    found = client_gaps.costs_by_gaps(load, cast(Any, model), Pace(400.0, 20e6, 0, awake_ns=1.0), 20_000)
    assert found is not None
    assert model.locked_ns["q"] == pytest.approx(20_000 * 1.2 / 2.2, rel=0.02)
    client_ns = hot_share(1.0, 0.0, 0.01) * (50_000 - 20_000 / 2.2) * (1 + (COMMIT_MESSAGES + CHANGE_MESSAGES) / 4)
    assert found.client_ns == pytest.approx(client_ns, rel=0.02)


def test_what_may_be_less_of_a_wait_for_locked_rows_is_in_the_range() -> None:
    """Of 20 µs 12 were taken off, and may be 9.5: an update takes 5 to 10.5 µs, in the middle of 5 and 8."""
    load, model = _transactions(100_000, 100), _model(Loop(reads=1.0, device_ns=20e6, statements=2))
    model.locked_ns, model.waited_ns = {"q": 12_000}, {"q": 10_000}
    found = client_gaps.costs_by_gaps(load, model, Pace(400.0, 20e6, 0, awake_ns=1.0), 20_000)
    assert found is not None
    own_ns = (5_000 * 8_000) ** 0.5
    taken = [
        (one_ns + times * found.client_ns) / (own_ns + found.client_ns)
        for one_ns, times in zip((5_000, 10_500), GAPS_RANGE, strict=True)
    ]
    assert found.cpu_range == pytest.approx(taken, rel=0.002)


def test_an_update_takes_as_many_times_its_fastest_as_lookups_that_wait_for_nobody() -> None:
    """Lookups take 20 µs, four times their fastest; an update takes four times its own, if it does not take less in the
    mean. Samples of waits for locks that came to lookups are of others.
    """
    load = _transactions(100_000, 100)
    load.query, load.queries = np.repeat([0, 1, 2], [80, 80, 40]), ["update", "lookup", "once"]
    load.duration_ns = np.repeat([4_000, 5_000, 30_000], [80, 80, 40])
    load.cpu_ns, load.lock_wait_ns = (
        np.repeat(each, [80, 80, 40]) for each in ([90_000, 15_000, 50_000], [0, 5_000, 0])
    )
    load.asked = [SimpleNamespace(changes=float(locks), locks=locks) for locks in (True, False, True)]
    found = client_gaps._least_ns_of(load, Pace(None, 20e6))
    assert found == {"update": 16_000, "lookup": 20_000, "once": 50_000}
    load.physical_reads = np.full(200, 0.5)  # then lookups wait for pages, too
    assert client_gaps._least_ns_of(load, Pace(None, 20e6)) == {"update": 4_000, "lookup": 5_000, "once": 30_000}


def test_clients_whose_sessions_wait_long_find_cold_caches() -> None:
    """The same waits for clients, after waits of 100 ms for storage, are less work of a busy host."""
    load, recorded = _transactions(100_000), Pace(400.0, 20e6, 0, awake_ns=1.0)
    loop = Loop(reads=1.0, device_ns=20e6, statements=2)
    often, never = (
        client_gaps.costs_by_gaps(load, _model(replace(loop, long_waits=share)), recorded, 20_000)
        for share in (0.2, 0.0)
    )
    assert often is not None
    assert never is not None
    cpu_ns = loop.run(replace(often, client_ns=50_000)).cpu_ns
    assert often.client_ns / never.client_ns == pytest.approx(1 - 0.2 * COLD_NS / cpu_ns, rel=0.02)


@pytest.mark.parametrize(("pause_ns", "gap_ns"), [(None, 100_000), (0, None), (0, 1_000_000)])
def test_waits_for_clients_tell_nothing_if_not_counted_or_of_clients_elsewhere_or_that_pause(
    pause_ns: int | None, gap_ns: float | None
) -> None:
    model = _model(Loop(reads=1.0, device_ns=20e6), pause_ns)
    assert client_gaps.costs_by_gaps(_transactions(gap_ns), model, Pace(400.0, 20e6, 0, awake_ns=1.0), 20_000) is None
    assert model.start.least_ns == {}


def test_a_session_that_was_left_in_a_transaction_is_no_waiting_client() -> None:
    """Each of 8 clients takes 20 ms a transaction, of which its session is active for 19.9: at three of four messages
    they waited for no more than the rest, and what the clocks are apart.
    """
    for gap_ns, is_theirs in ((150_000, True), (200_000, False)):
        load, model = _transactions(gap_ns), _model(Loop(reads=1.0, device_ns=20e6, statements=2))
        load.active, load.span_ns = 7.96, 250_000_000
        found = client_gaps.costs_by_gaps(load, model, Pace(400.0, 20e6, 0, awake_ns=1.0), 20_000)
        assert (found is not None) == is_theirs


def test_an_execution_takes_no_less_cpu_than_the_fastest_unless_that_waited_for_a_read() -> None:
    load = _transactions(None)
    assert recorded_host.least_ns_of(load, Pace(None, 20e6)) == {"q": 5_000}
    assert recorded_host.least_ns_of(load, Pace(None, 4_000)) == {}
    assert recorded_host.least_ns_of(load, Pace(None, None)) == {"q": 5_000}
    load.physical_reads = np.ones(200)
    assert recorded_host.least_ns_of(load, Pace(None, None)) == {}
    locked = {"q": 1e9}  # more than it took: what others did
    assert recorded_host.statement_ns(load, Costs(), locked, 1.0) == {"q": 0}
    assert recorded_host.statement_ns(load, Costs(), locked, 1.0, {"q": 5_000}) == {"q": 5_000}


def test_an_execution_takes_no_more_times_its_fastest_than_those_that_wait_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An update of 97 µs in the mean, of which one in a thousand waited for 90 ms unseen; a lookup takes 4 times what
    its fastest takes.
    """
    recorded = [Pace(None, 2_000_000.0)]
    monkeypatch.setattr(recorded_host, "recorded_pace", lambda _: recorded[0])
    load = MagicMock(
        query=np.array([0, 0, 1, 1]),
        queries=["lookup", "update"],
        cpu_ns=np.array([20_000, 20_000, 97_000, 97_000]),
        lock_wait_ns=np.zeros(4),
        duration_ns=np.array([5_000, 35_000, 6_000, 188_000]),
        physical_reads=np.zeros(4),
        asked=[SimpleNamespace(changes=0.0, locks=False), SimpleNamespace(changes=1.0, locks=True)],
        cpu_basis={},
    )
    assert recorded_host.statement_ns(load, Costs(), {}, is_counted=True) == {"lookup": 20_000, "update": 24_000}
    assert recorded_host.statement_ns(load, Costs(), {}) == {"lookup": 20_000, "update": 97_000}
    for recorded[0] in (Pace(None, 900_000.0), Pace(None, None)):  # fast storage hides no waits
        assert recorded_host.statement_ns(load, Costs(), {}, is_counted=True) == {"lookup": 20_000, "update": 97_000}
    recorded[0] = Pace(None, None, log_sync_ns=2_000_000.0)
    assert recorded_host.statement_ns(load, Costs(), {}, is_counted=True) == {"lookup": 20_000, "update": 24_000}
    load.cpu_basis = {"update": f"{MEASURED}, by an extension"}
    assert recorded_host.statement_ns(load, Costs(), {}, is_counted=True) == {"lookup": 20_000, "update": 97_000}
    load.cpu_basis, load.asked[0].locks = {}, True  # nothing tells how far the fastest is below the mean
    assert recorded_host.statement_ns(load, Costs(), {}, is_counted=True) == {"lookup": 20_000, "update": 97_000}


def test_a_described_log_that_is_faster_than_a_capped_one_is_said() -> None:
    simulated = replace(_costs(20_000, 40_000), simulated=Pace(None, None, None, 200_000.0))
    (said,) = calibration._with_said_log(simulated, Pace(None, None, None, 4_900_000.0)).assumed
    assert said.startswith("The described log device is too fast: a recorded WAL write took 4,700 µs longer")
    same = replace(simulated, simulated=Pace(None, None, None, 4_800_000.0))
    assert calibration._with_said_log(same, Pace(None, None, None, 4_900_000.0)) == same


def test_what_may_be_a_wait_for_others_that_waited_is_half_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Executions of 5 to 155 us and clients of 300, of which 20 are theirs: in the middle of 25 and 400."""
    load = MagicMock(query=np.array([0, 0]), queries=["q"], duration_ns=np.array([5_000, 155_000]), transactions=2)
    load.__len__.return_value = 2
    monkeypatch.setattr(recorded_host, "statement_ns_of", lambda *_: {"q": 100_000})
    model = _model(Loop())
    found = replace(_costs(300_000, READ_NS), cpu_range=(0.9, 1.1))
    left = calibration._without_hidden_waits(load, model, found, is_fit=True)
    assert (left.hot, left.client_ns) == (0.25, 75_000)
    assert left.cpu_range == pytest.approx((0.9 / 4, 1.1 * 4))
    assert "between 25 and 400 µs" in left.assumed[-1]
    guess = calibration._without_hidden_waits(load, _model(Loop()), found, is_fit=False)
    assert (guess.client_ns, guess.cpu_range) == (300_000, (1 / 16, 1.1))


@pytest.mark.parametrize(("sync_ns", "flushes", "waits"), [(0.9e6, 80, False), (1.1e6, 80, True), (1.1e6, 8, False)])
def test_a_slow_log_hides_cpu_where_transactions_wait_for_it(
    monkeypatch: pytest.MonkeyPatch, sync_ns: float, flushes: int, waits: bool
) -> None:
    monkeypatch.setattr(calibration, "recorded_flushes", lambda _: flushes)
    load = SimpleNamespace(transactions=100, counters=SimpleNamespace(found=None))
    assert calibration._waits_for_log(cast(Any, load), Pace(None, None, None, sync_ns)) == waits


@pytest.mark.parametrize(("slower", "waits"), [(1.1, 0.0), (50.0, 0.04)])
def test_what_described_hardware_does_not_let_sessions_wait_is_long_waits(
    monkeypatch: pytest.MonkeyPatch, slower: float, waits: float
) -> None:
    """80 µs a transaction of one session; fifty times as slow as recorded, 3.9 ms of it are a wait that is missing."""
    loop, asked = Loop(sessions=1, reads=0.0, statement_ns=80_000), []

    def as_counted(_load: Any, _model: Any, _recorded: Any, _time: Any, *long_waits: float) -> ProcessorCosts:
        asked.append(long_waits)
        return _costs(0, 26_000)

    monkeypatch.setattr(calibration, "_as_counted", as_counted)
    monkeypatch.setattr(calibration, "recorded_flushes", lambda _: 0)
    rate = loop.run(_costs(0, 26_000)).pace.transactions_per_s
    assert rate is not None
    model, time = SimpleNamespace(run=loop.run), SimpleNamespace(own_share=0.01, cores=2, is_of_server=False)
    found = calibration._by_host_time(
        cast(Any, _OneLookup()), cast(Any, model), Pace(rate / slower, None), cast(Any, time)
    )
    assert asked[1] == pytest.approx((waits, 10 * waits), rel=0.03)
    assert [one.startswith("The described hardware is too fast") for one in found.assumed] == [True] * bool(waits)


@pytest.mark.parametrize(
    ("log_sync_ns", "flushes", "log_io_ns"),
    [(None, 5, LOG_NS), (None, 0, 0), (100_000.0, 5, 0), (4_900_000.0, 5, LOG_NS)],
)
def test_writes_of_the_log_that_nobody_timed_take_what_is_assumed_of_what_processors_counted(
    monkeypatch: pytest.MonkeyPatch, log_sync_ns: float | None, flushes: int, log_io_ns: int
) -> None:
    """Of a range, too; clients take as much less. Where the log was timed, a search of its time tells, but of a capped
    log, which takes as long whatever a write costs.
    """
    loop, log_ios = Loop(sessions=1, reads=0.0, statement_ns=80_000), 2 * flushes / max(len(_OneLookup()), 1)
    monkeypatch.setattr(calibration, "_as_counted", lambda *_: _costs(900_000, 0))
    monkeypatch.setattr(calibration, "calibrate_processor", lambda _asked, start, _run: start)
    monkeypatch.setattr(calibration, "recorded_flushes", lambda _: flushes)
    model, time = SimpleNamespace(run=loop.run), SimpleNamespace(own_share=0.01, cores=2, is_of_server=False)
    recorded = Pace(loop.run(_costs(900_000, 0)).pace.transactions_per_s, None, log_sync_ns=log_sync_ns)
    found = calibration._by_host_time(cast(Any, _OneLookup()), cast(Any, model), recorded, cast(Any, time))
    assert found.costs.log_io_ns == log_io_ns
    assert found.log_range == (LOG_RANGE if log_io_ns else (1.0, 1.0))
    assert found.client_ns == max(round(900_000 - log_ios * log_io_ns), 0)


def test_a_load_by_the_clock_tells_by_how_long_it_executed_that_storage_was_slower() -> None:
    """5 ms recorded of executions, 0.6 here: 1 ms in all, of which 0.4 are between executions."""
    run = CalibrationRun(Pace(200.0, 200_000.0, awake_ns=800_000.0, gaps_ns=400_000.0), 0.1, 2, 4, 1.0, 3.0)
    load = SimpleNamespace(transactions=1_000, span_ns=5_000_000_000, duration_ns=np.full(3_000, 5_000_000 // 3))
    unseen_ns, said = calibration._unseen(cast(Any, load), Pace(None, None), run, 0.02)
    assert unseen_ns == pytest.approx(4_400_000, rel=0.001)
    assert said == "a transaction takes 600 µs, 5 ms were recorded"
    alike = SimpleNamespace(transactions=1_000, span_ns=5_000_000_000, duration_ns=np.full(3_000, 220_000))
    assert calibration._unseen(cast(Any, alike), Pace(None, None), run, 0.02) == (0.0, "")


def test_untimed_writes_of_the_log_take_no_more_cpu_than_was_counted() -> None:
    load = MagicMock()
    load.__len__.return_value = 100
    load.counters.found.of.return_value = {}
    costs = replace(_costs(4_000, READ_NS), costs=_costs(0, READ_NS).costs._replace(log_io_ns=0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "recorded_flushes", lambda _: 50)
        found = calibration._with_untimed_log(costs, load, Pace(None, None))
    assert found.costs.log_io_ns == 4_000  # one write or flush a statement


def test_the_server_takes_its_part_of_each_pause() -> None:
    pauses_ns = np.array([100, 300, 200])
    assert share_of_clients(50, pauses_ns) == pytest.approx(0.75)
    assert share_of_clients(300, pauses_ns) == 0.0
    assert share_of_clients(50, pauses_ns[:0]) == 1.0


@pytest.mark.parametrize(("reads", "extends"), [(1600, 64), (100, 4)])
def test_pages_count_alike_whether_the_server_counts_them_or_operations(reads: int, extends: int) -> None:
    """PostgreSQL 18 counts an operation of 16 pages once, 17 each of them; both say how many bytes these were."""
    bytes_of = {"read_bytes": 1600 * 8192, "extended_bytes": 64 * 8192}
    own = {"reads": reads, "extends": extends, "writes": 30, "flushes": 6, **bytes_of}
    counted = {"client backend/relation/normal": own, "checkpointer/relation/normal": {"writes": 200, "flushes": 10}}
    changes = {
        entity: EntityChange(grown={name: Decimal(count) for name, count in grown.items()})
        for entity, grown in counted.items()
    }
    assert recorded_ios(Differences({"io": changes}), 8192) == (1700, 1910)


@pytest.mark.parametrize("count", ["reads", "extends"])
def test_operations_of_unknown_size_are_not_counted_as_none(count: str) -> None:
    """Before PostgreSQL 18, an export without op_bytes does not tell what an operation reads."""
    grown = {count: Decimal(1600), "writes": Decimal(30)}
    changes = {"client backend/relation/normal": EntityChange(grown=grown)}
    assert recorded_ios(Differences({"io": changes}), 8192) is None


def test_what_processors_counted_is_divided_as_it_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 µs were counted of a transaction of two statements: with 40 that the fastest execution takes, or none."""
    load = _transactions(None)
    load.cpu_ns, load.counters, load.path = np.zeros(200), MagicMock(), MagicMock()
    load.counters.found.snapshots, load.lock_wait_ns = {}, np.zeros(200)
    load.counters.found.of.return_value = {}
    monkeypatch.setattr(calibration, "_ios", lambda *_: Ios(0.0, 0.0, 0.0))
    model, time = _model(Loop(reads=0.0)), HostTime(2, 0.2, 0.0, 0.0)
    for least_ns in ({}, {"q": 40_000.0}):
        model.start = replace(model.start, least_ns=least_ns)
        found = calibration._as_counted(load, model, Pace(1_000.0, None), time, 0.0)
        own_ns = recorded_host.statement_ns_of(load, found, {})["q"]
        assert own_ns == least_ns.get("q", 0.0)
        assert 2 * (own_ns + found.client_ns) == pytest.approx(found.hot * 200_000, abs=2)


@pytest.mark.parametrize(
    ("busy", "rate_per_s", "cpu_basis", "client_ns"),
    [
        (1.0, 10_000.0, {}, 80_000),
        (1.3, 10_000.0, {}, 100_000),
        (0.1, 10_000.0, {}, 0),
        (1.7, 20_000.0, {}, 100_000),
        (1.0, 10_000.0, {"q": "execution time minus reads"}, 100_000),
    ],
)
def test_clients_take_no_more_than_processors_did_that_were_not_the_limit(
    busy: float, rate_per_s: float, cpu_basis: dict[str, str], client_ns: int
) -> None:
    """The pace gives a transaction 120 us, 100 of them to its client. Of two processors *busy* ones worked, which is
    100, 130, 10 and 85 us a transaction; nothing tells if the server did not count what its statements take.
    """
    load, model = _transactions(None), _model(Loop(reads=0.0))
    load.cpu_basis = cpu_basis
    found = _costs(100_000, 0)
    recorded, time = Pace(rate_per_s, None), HostTime(2, busy, 0.0, 0.0)
    bounded = calibration._within_counted(load, model, found, recorded, time)
    assert bounded.client_ns == client_ns
    assert ["as the processors did no more" in one for one in bounded.assumed] == [True] * (client_ns < 100_000)


def test_what_an_execution_waits_for_rows_is_that_of_those_behind_the_warm_up() -> None:
    """Of 6 executions of two classes 2 are counted, which wait 600 ns for rows, and 100 ns then for a processor."""
    spent = np.zeros((2, len(SPENT)), np.int64)
    spent[0, FOR_LOCK], spent[1, FOR_LOCK], spent[1, FOR_CPU] = 400, 200, 100
    program = SimpleNamespace(names=("query",), category=(0, 0))
    database = SimpleNamespace(
        spent=spent,
        calls=np.array([1, 1]),
        pages_read=np.zeros(2, np.int64),
        statement_class=np.array([0, 0, 0, 0, 1, 1]),
    )
    assert recorded_host._locked_ns(cast("Any", program), cast("Any", database)) == {"query": 350.0}


def test_reads_and_clients_that_take_more_than_any_are_waits() -> None:
    model = _model(Loop())
    assert calibration._waits(model, _costs(20_000, 40_000), 20_000) == []
    (read,) = calibration._waits(model, _costs(200_000, 151_000), 20_000)
    assert "which no storage takes" in read
    (client,) = calibration._waits(model, _costs(200_000, 40_000), 20_000)
    assert "more than any client takes" in client
