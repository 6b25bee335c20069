"""Sessions, processors and buffer pool: both engines equal, and as queueing theory and plain counting say."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases import DatabaseCase, database_cases
from tests.examples import examples
from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.kernel.blocks import of_tables
from tiersim.simulator.categories import FIRST_CLASS, LOG_SYNC, STATEMENT, TRANSACTION
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.midpoint import Midpoint
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.build import NO_DATABASE, DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import (
    AFTER,
    ASYNC_READ_NS,
    AT_RANDOM,
    BETWEEN,
    CHANGE_NS,
    COMPUTE,
    EVICT_CLEAN_NS,
    EVICT_DIRTY_NS,
    FOR_CPU,
    FOR_READ,
    IN_ORDER,
    LOG,
    LOG_IO_NS,
    LOOKUP,
    LOOKUP_NS,
    LRU,
    LRU2,
    MIDPOINT,
    OLDER_OF_TWO,
    OWN,
    PAGE_NS,
    READ_NS,
    READ_PAGE_NS,
    RUNNING,
    SCAN_PAGE_NS,
    SCAN_READ_NS,
    SCAN_ROW_NS,
    SESSIONS_ACTIVE,
    SESSIONS_OVER,
    SPENT,
    SWEEP,
    UNUSED,
    VALID,
    Database,
)
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.policies import misses, numbered
from tiersim.simulator.reference.engine import ReferenceEngine
from tiersim.traces.schema import DATA_READ

pytestmark = pytest.mark.kernels

#: Names of the policies where they are alone.
ALONE = {SWEEP: "postgresql", LRU: "lru", LRU2: "lru-2", MIDPOINT: "midpoint"}


@settings(max_examples=examples(100), deadline=None)
@given(database_cases)
def test_engines_agree_on_every_statement(case: DatabaseCase) -> None:
    builder, database, metrics = case.fresh()
    plant, outcome = engine.run_database(builder.build(4), database, metrics)
    builder, other, other_metrics = case.fresh()
    reference = ReferenceEngine(builder.build(4), [], other_metrics, database=other)
    expected = reference.run()
    np.testing.assert_array_equal(database.done_ns, other.done_ns)
    np.testing.assert_array_equal(database.spent, other.spent)
    np.testing.assert_array_equal(database.spent.sum(axis=1), metrics.latency_sum_ns[:, FIRST_CLASS:].sum(axis=0))
    assert (outcome.end_ns, outcome.arrived, outcome.left, outcome.requests) == (
        expected.end_ns, expected.arrived, expected.left, expected.requests,
    )  # fmt: skip
    for name, left, right in zip(Metrics._fields, metrics, other_metrics, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)
    assert (outcome.left, int(database.done_ns.min(initial=1)) > 0) == (case.sessions, True)
    for name in (
        "page_of", "used", "dirty", "state", "pool_state", "sessions", "ring_of", "ring_length", "times_ns", "writer",
        "page_cache", "dirty_since_ns", "dirty_newer", "read_streams", "locks", "pages_read", "session_counts",
        "resting", "copies", "copied", "midpoint", "midpoint_frames", "page_cleaner", "flush_newer", "oldest_position",
        "binary_log", "log", "journals", "file_changed_ns",
    ):  # fmt: skip
        np.testing.assert_array_equal(getattr(database, name), getattr(other, name), err_msg=name)


class Counted(ReferenceEngine):
    """Counts at each step of a session what the database keeps: who is active, who rests, who helps whom."""

    _woken: ClassVar[set[int]] = set()

    def _go_on_session(self, session: int) -> None:
        d = self.database
        resting = {place for place in range(int(d.first_helper[0])) if self._rests(place)}
        self._woken.clear()
        super()._go_on_session(session)
        s = d.sessions
        active = (s["transaction_ns"] >= 0) & (s["phase"] == RUNNING)
        assert int(d.session_counts[SESSIONS_ACTIVE]) == int(active.sum())
        due = {place for place in resting if d.start_ns[s["next"][place]] <= d.session_counts[SESSIONS_OVER]}
        assert self._woken & resting - {session} == due
        leaders = d.read_streams["leader"]
        for leader in range(int(d.first_helper[0])):
            helpers, following = [], int(d.read_streams["first_helper"][leader])
            while following > 0:
                helpers.append(following - 1)
                following = int(d.read_streams["next_helper"][following - 1])
            assert sorted(helpers) == np.flatnonzero(leaders == leader + 1).tolist()

    def _wake(self, session: int, at_ns: int, rank: int) -> None:
        self._woken.add(session)
        super()._wake(session, at_ns, rank)

    def _rests(self, session: int) -> bool:
        d, row = self.database, self.database.sessions[session]
        waits = row["phase"] == BETWEEN and row["next"] < row["end"] and d.waits_for[row["next"]] == AFTER
        return bool(waits and d.start_ns[row["next"]] > d.session_counts[SESSIONS_OVER])


@settings(max_examples=examples(50), deadline=None)
@given(database_cases, st.integers(0, 2))
def test_what_is_kept_of_sessions_is_what_counting_them_gives(case: DatabaseCase, phased: int) -> None:
    builder, database, metrics = replace(case, phased=phased).fresh()
    Counted(builder.build(4), [], metrics, database=database).run()
    assert int(database.session_counts[SESSIONS_ACTIVE]) == 0
    assert int(database.session_counts[SESSIONS_OVER]) == case.sessions


@settings(max_examples=examples(50), deadline=None)
@given(database_cases)
def test_what_sessions_share_is_left_in_order(case: DatabaseCase) -> None:
    builder, database, metrics = case.fresh()
    engine.run_database(builder.build(4), database, metrics)
    held = np.flatnonzero(database.frame_of)
    frames = database.frame_of[held] - 1
    assert (database.page_of[frames] == held).all()
    assert not (database.starting[frames] & (database.state[frames] == VALID)).any()
    assert (database.ahead_for > 0).sum() == database.sessions["in_flight"].sum()
    assert not database.sessions["locks"].any()
    assert not database.lock_heads.any()
    assert sorted(database.idle_helpers[1:].tolist()) == [case.sessions + place for place in range(case.helpers)]
    assert int(database.idle_helpers[0]) == case.helpers
    at_work_later = (
        case.io_workers > 0 or case.costs[LOG_IO_NS] > 0
    )  # a reader, or the log writer, when the last session ends
    assert not database.in_service.any() or at_work_later
    assert (database.spent >= 0).all()


def one_session(
    statements: int, frames: int, rows: int, exponent: float, *, seed: int = 3, policy: int = SWEEP
) -> tuple[Database, Metrics]:
    """Run one session of single lookups, on a disk that takes 1 ms, with 10 us of CPU each."""
    return sessions_of(1, statements, frames, rows, exponent, seed=seed, policy=policy)


def sessions_of(
    sessions: int,
    statements: int,
    frames: int,
    rows: int,
    exponent: float,
    *,
    cores: int = 1,
    cpu_ns: int = 10_000,
    seed: int = 3,
    counted_from_ns: int = 0,
    policy: int = SWEEP,
    ramp_pages: int = 1,
) -> tuple[Database, Metrics]:
    builder = PlantBuilder(seed)
    disk = add_server(builder, "disk", 64, 1_000_000)
    loads = statements_of(sessions, statements, cpu_ns=cpu_ns)
    relations = [Relation(rows, (1, 40, 400), exponent, station=disk)]
    host = DatabaseHost(
        cores=cores, frames=frames, policy=policy, ramp_pages=ramp_pages, counted_from_ns=counted_from_ns,
        midpoint=Midpoint(old_time_ns=0),
    )  # fmt: skip
    database = add_database(builder, host, relations, [[Demand(COMPUTE), Demand(LOOKUP)]], loads)
    _, _, metrics = run_database(builder, database, 3)
    return database, metrics


@pytest.mark.parametrize("policy", [SWEEP, LRU, LRU2, MIDPOINT])
@pytest.mark.parametrize("exponent", [0.0, 1.0])
@pytest.mark.parametrize("frames", [8, 60, 300])
def test_the_pool_misses_what_the_policy_alone_misses(frames: int, exponent: float, policy: int) -> None:
    """One session asks for one page after the other, so its pages in order are all that counts."""
    database, metrics = one_session(600, frames, 5000, exponent, policy=policy)
    asked = [
        page_at(database, 0, draw_row(database, 0, 0, statement * 256 + 1, 0), reference)
        for statement in range(600) for reference in range(3)
    ]  # fmt: skip
    assert metrics.latency[DATA_READ].sum() == misses(ALONE[policy], *numbered(np.array(asked)), frames)


def test_one_code_serves_replays_with_a_database_and_without() -> None:
    database, _ = one_session(1, 1, 1, 0.0)
    assert of_tables(NO_DATABASE).kind == of_tables(database).kind
    assert all(not table.size for table in NO_DATABASE if isinstance(table, np.ndarray))


def test_sessions_begin_when_those_before_them_are_over() -> None:
    """Three sessions of 2, 3 and 1 ms; two that wait for all of them, one that waits for these, too."""
    builder = PlantBuilder(1)
    waits = np.array([OWN, OWN, OWN, AFTER, AFTER, AFTER], np.uint8)
    cpu_ns = np.array([2, 3, 1, 2, 1, 1]) * 1_000_000
    loads = statements_of(6, cpu_ns=cpu_ns, waits_for=waits, start_ns=np.array([0, 0, 0, 3, 3, 5]))
    database = add_database(builder, DatabaseHost(cores=8, frames=1), [Relation(1, (1,))], [[Demand(COMPUTE)]], loads)
    run_database(builder, database)
    assert database.done_ns == pytest.approx(np.array([2, 3, 1, 5, 4, 6]) * 1_000_000, abs=10)


def test_a_session_alone_takes_the_sum_of_its_parts() -> None:
    database, metrics = one_session(100, 500, 50, 0.0)
    missed = int(metrics.latency[DATA_READ].sum())
    # CPU and a millisecond, and the nanosecond of the pool's own for each page that was missed
    assert int(database.done_ns[-1]) == pytest.approx(100 * 10_001 + missed * 1_000_001, abs=2)


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_sessions_that_need_nothing_but_cpu_share_the_cores(cores: int) -> None:
    """Every page stays in the pool: 12 sessions keep all cores busy, so statements leave at cores by CPU time."""
    database, _ = sessions_of(12, 200, 500, 50, 0.0, cores=cores, cpu_ns=1_000_000)
    took_s = int(database.done_ns.max()) / 1e9
    assert 12 * 200 / took_s == pytest.approx(cores / 1.000001e-3, rel=0.02)
    assert database.done_ns.reshape(12, 200)[:, -1].min() > 0.98 * took_s * 1e9


def test_only_statements_that_start_in_time_are_counted() -> None:
    database, metrics = sessions_of(1, 100, 500, 50, 0.0, counted_from_ns=200_000)
    late = np.concatenate([[0], database.done_ns[:-1]]) >= 200_000
    assert 0 < late.sum() < 100
    assert metrics.latency[[STATEMENT, FIRST_CLASS, TRANSACTION]].sum(axis=1).tolist() == [late.sum()] * 3
    assert database.calls.tolist() == [late.sum()]
    assert database.spent.sum() == np.diff(database.done_ns, prepend=0)[late].sum()


def test_where_the_time_of_a_statement_went() -> None:
    """A session on one core that runs at half speed, a disk of 1 ms, a log of 0.2 ms, a pool of one frame that is
    always dirty.
    """
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 1, 1_000_000)
    log = add_server(builder, "log", 1, 200_000)
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=True), Demand(LOG, log_bytes=1)]
    costs = Costs(lookup_ns=4000, page_ns=1000, read_ns=20_000, evict_dirty_ns=3000, change_ns=500)
    host = DatabaseHost(cores=1, frames=1, log_station=log, costs=costs, slowdown=(2000,))
    relations = [Relation(1, (1, 1), station=disk)]
    database = add_database(builder, host, relations, [demands], statements_of(1, 2, cpu_ns=300_000))
    run_database(builder, database)
    spent = dict(zip(SPENT, database.spent[0].tolist(), strict=True))
    # index and heap page are read twice each; both heap pages were changed, one of them had to be written in between
    cpu = 2 * (300_001 + 4000 + 2 * 1000 + 500 + 2 * 20_000) + 3000
    assert spent["cpu"] == 2 * cpu
    assert spent["cpu queue"] == spent["lock"] == spent["temp"] == 0
    assert (spent["data read"], spent["eviction"], spent["log"]) == (4 * 1_000_001 - 1, 1_000_001, 2 * 400_001)


def in_service_order(sessions: int, cpu_order: int, seed: int = 1) -> list[int]:
    """Return which session is served next when all ask one core at the same moment."""
    builder = PlantBuilder(seed)
    host = DatabaseHost(cores=1, frames=4, cpu_order=cpu_order)
    database = add_database(builder, host, [], [[Demand(COMPUTE)]], statements_of(sessions, cpu_ns=100_000))
    run_database(builder, database)
    return [int(session) for session in np.argsort(database.done_ns)]


def test_who_comes_first_is_served_first_where_the_engine_schedules() -> None:
    assert in_service_order(300, IN_ORDER) == list(range(300))


def test_of_two_processes_drawn_at_random_the_one_that_waits_longer_is_next() -> None:
    """Of 64 that are asked the first is drawn at least once in 1 - (63 / 64)^2 of the choices; nobody is left out."""
    order = in_service_order(20_000, OLDER_OF_TWO)
    waiting = list(range(20_000))
    first = 0
    for session in order[:19_000]:
        first += session == waiting[0]
        assert session in waiting[:64]
        waiting.remove(session)
    assert first / 19_000 == pytest.approx(1 - (63 / 64) ** 2, abs=0.005)


@pytest.mark.long
def test_of_three_processes_the_one_that_waits_longest_is_next_five_times_of_nine() -> None:
    first = [in_service_order(3, OLDER_OF_TWO, seed)[0] for seed in range(500)]
    assert np.bincount(first, minlength=3) / 500 == pytest.approx([5 / 9, 3 / 9, 1 / 9], abs=0.06)


def test_of_64_processes_drawn_at_random_the_one_that_waits_longest_is_no_likelier_than_another() -> None:
    order = in_service_order(20_000, AT_RANDOM)
    waiting = list(range(20_000))
    places = []
    for session in order[:19_000]:
        places.append(waiting.index(session))
        waiting.remove(session)
    assert max(places) < 64
    assert places.count(0) / 19_000 == pytest.approx(1 / 64, abs=0.003)
    assert np.mean(places) == pytest.approx(31.5, abs=0.5)


def test_who_waits_for_a_core_is_told_so() -> None:
    """Two sessions on one core take turns; before the first slice of a statement it has not started."""
    database, _ = sessions_of(2, 1, 500, 1, 0.0, cpu_ns=2_000_000)
    assert database.spent[0, FOR_CPU] > 1_900_000


def test_a_statement_starts_when_it_is_first_served() -> None:
    database, metrics = sessions_of(2, 1, 500, 1, 0.0, cpu_ns=900_000)
    missed = database.spent[0, FOR_READ]
    assert database.spent[0, FOR_CPU] == 0
    assert metrics.latency_sum_ns[:, STATEMENT].sum() == 2 * 900_001 + missed
    assert metrics.latency_sum_ns[:, TRANSACTION].sum() > 3 * 900_000


def test_a_client_on_the_same_host_takes_its_processors_and_is_no_part_of_the_statement() -> None:
    builder = PlantBuilder(1)
    loads = statements_of(2, cpu_ns=100_000, client_ns=np.full(2, 2_500_000))
    database = add_database(builder, DatabaseHost(cores=1, frames=4), [], [[Demand(COMPUTE)]], loads)
    _, _, metrics = run_database(builder, database)
    assert int(database.done_ns.max()) == 2 * 2_600_001
    assert metrics.latency_sum_ns[:, STATEMENT].sum() == 2 * 100_001
    assert metrics.latency_max_ns[TRANSACTION] == 2 * 2_600_001


def test_a_slice_is_slower_beside_others() -> None:
    builder = PlantBuilder(1)
    host = DatabaseHost(cores=2, frames=4, slowdown=(1000, 1500))
    database = add_database(builder, host, [], [[Demand(COMPUTE)]], statements_of(2, cpu_ns=500_000))
    run_database(builder, database)
    assert sorted(database.done_ns.tolist()) == [500_001, 750_001]


def test_a_commit_is_a_write_and_then_a_flush() -> None:
    builder = PlantBuilder(1)
    log = add_server(builder, "log", 1, 200_000)
    host = DatabaseHost(cores=1, frames=4, log_station=log)
    database = add_database(builder, host, [], [[Demand(LOG, log_bytes=9000)]], statements_of(1))
    _, _, metrics = run_database(builder, database)
    assert int(database.done_ns[0]) == 400_002
    assert database.log[0]["written_bytes"] == 16384
    assert int(metrics.latency[TRANSACTION].sum()) == int(metrics.latency[LOG_SYNC].sum()) == 1


def test_a_pool_that_fills_reads_aligned_blocks() -> None:
    """1, 40 and 400 pages in blocks of 8 are 1, 5 and 50 reads; frames for less than a block are filled by single
    pages.
    """
    database, metrics = sessions_of(1, 5000, 500, 5000, 0.0, ramp_pages=8)
    assert metrics.latency[DATA_READ].sum() == 1 + 5 + 50
    assert metrics.completed_bytes[:, DATA_READ].sum() == 441 * 8192
    database, metrics = sessions_of(1, 5000, 16, 5000, 0.0, ramp_pages=8)
    assert database.pool_state[UNUSED] == 16
    assert metrics.completed_bytes[:, DATA_READ].sum() > 441 * 8192


def test_a_page_that_many_sessions_miss_is_read_once() -> None:
    database, metrics = sessions_of(6, 1, 500, 1, 0.0, cores=6)
    assert metrics.latency[DATA_READ].sum() == 6 * 3  # each waited for each page
    builder_reads = int((database.state == VALID).sum())
    assert builder_reads == 3


def test_a_dirty_page_is_written_before_its_frame_is_used_again() -> None:
    builder = PlantBuilder(5)
    disk = add_server(builder, "disk", 1, 1_000_000)
    relations = [Relation(1000, (1000,), 0.0, station=disk)]
    does = [[Demand(LOOKUP, dirties=True)]]
    database = add_database(builder, DatabaseHost(cores=1, frames=2), relations, does, statements_of(1, 50))
    plant, _, metrics = run_database(builder, database)
    missed = int(metrics.latency[DATA_READ].sum())
    written = int(plant.stations[disk]["finished"]) - missed
    assert written == missed - int(database.dirty.sum())
    assert database.dirty.sum() == 2


def test_costs_are_found_by_their_places() -> None:
    places = [
        LOOKUP_NS,
        PAGE_NS,
        SCAN_PAGE_NS,
        SCAN_ROW_NS,
        READ_NS,
        ASYNC_READ_NS,
        READ_PAGE_NS,
        SCAN_READ_NS,
        EVICT_CLEAN_NS,
        EVICT_DIRTY_NS,
        CHANGE_NS,
    ]
    names = "lookup page scan_page scan_row read async_read read_page scan_read evict_clean evict_dirty change"
    assert [Costs._fields[place] for place in places] == [f"{name}_ns" for name in names.split()]
