"""Each part of the database against its twin in plain Python, in both engines: every statement ends at the same ns."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import metrics_of
from tests.twins.buffer_pool import Lru, Policy, Pool, Sweep
from tests.twins.clock import Clock, Process
from tests.twins.locks import Locks
from tests.twins.page_cache import PageCache
from tests.twins.processors import Processors
from tests.twins.sessions import Sessions, Statement
from tests.twins.wal import Wal
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.database_state import (
    CLOCK,
    COMPUTE,
    LOCK,
    LOG,
    LOOKUP,
    LRU,
    LRU2,
    MIDPOINT,
    OWN,
    SPENT,
    SWEEP,
    Database,
)
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels

SEEDS = st.integers(0, 2**32 - 1)
READ_NS, LOG_NS = 1_000_003, 200_003


def pick(*values: Any) -> Any:
    return st.sampled_from(values)


def statements(sessions: int, each: int, seed: int, most_cpu_ns: int, most_think_ns: int) -> Statements:
    """Statements of so many sessions, each with a CPU time and a think time that nobody else has."""
    luck, count = np.random.default_rng(seed), sessions * each
    own = np.arange(count) * 17 % 1009
    cpu, think = (luck.integers(1, most, count) // 1009 * 1009 + own + 1 for most in (most_cpu_ns, most_think_ns))
    flags = np.ones(count, np.uint8)
    ends = [(place + 1) * each for place in range(sessions)]
    waits = np.full(count, OWN, np.uint8)
    return Statements(ends, np.zeros(count, np.int32), waits, think * 0, think, cpu, flags, flags)


def both(
    host: dict[str, Any],
    table: tuple[int, tuple[int, ...], float],
    demands: Sequence[Demand],
    load: Statements,
    seed: int,
    warm_pages: int = 0,
) -> Database:
    """Run in both engines, which must agree, with the first pages in the pool; return the compiled one's database."""

    def fresh() -> tuple[PlantBuilder, Database, Any]:
        builder = PlantBuilder(seed % 1000)
        disk, log = add_server(builder, "disk", 64, READ_NS), add_server(builder, "log volume", 1, LOG_NS)
        rows, level_pages, exponent = table
        relations = [Relation(rows, level_pages, exponent, station=disk)]
        database = add_database(builder, DatabaseHost(**{"log_station": log} | host), relations, [demands], load)
        for page in range(warm_pages):
            refer(database, page, 0, 0)
        return builder, database, metrics_of(builder)

    builder, database, metrics = fresh()
    engine.run_database(builder.build(16), database, metrics)
    builder, other, metrics = fresh()
    ReferenceEngine(builder.build(16), [], metrics, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()
    return database


def work_ns(load: Statements, row: int) -> int:
    """CPU of a statement, and the nanosecond that each takes at least."""
    return int(load.cpu_ns[row]) + 1


def run_sessions(clock: Clock, load: Statements, body: Callable[[int, int], Process]) -> list[int]:
    """Run *body* of (session, statement) behind each think time; when each statement ended."""
    done = [0] * len(load.classes)
    left = len(load.session_ends)

    def session(place: int, first: int, end: int) -> Process:
        for row in range(first, end):
            yield clock.now + int(load.think_ns[row])
            yield from body(place, row)
            done[row] = clock.now
        nonlocal left
        left -= 1
        clock.over = left == 0

    for place, end in enumerate(load.session_ends):
        first = load.session_ends[place - 1] if place else 0
        clock.at(0, session(place, first, end))
    clock.run()
    return done


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 9),
    cores=st.integers(1, 4),
    slower=pick(0, 47, 500),
    longest=pick(10_000, 3_000_000),
)
@example(seed=32726697, sessions=5, cores=3, slower=47, longest=10_000)  # a slice ends as another begins
def test_processors(seed: int, sessions: int, cores: int, slower: int, longest: int) -> None:
    slowdown = [1000 + slower * busy for busy in range(cores)]
    load = statements(sessions, 12, seed, longest, longest * 2)
    database = both({"cores": cores, "frames": 8, "slowdown": slowdown}, (10, (1,), 0.0), [Demand(COMPUTE)], load, seed)
    clock = Clock()
    processors = Processors(clock, cores, slowdown)
    done = run_sessions(clock, load, lambda _, row: processors.use(work_ns(load, row)))
    assert database.done_ns.tolist() == done


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    policy=pick(SWEEP, LRU, LRU2),
    frames=pick(3, 8, 40, 150),
    exponent=pick(0.0, 0.8),
    dirties=st.booleans(),
    count=pick(150, 600),
)
@example(seed=1, policy=SWEEP, frames=40, exponent=0.8, dirties=False, count=600)  # usage counts reach their ceiling
@example(seed=1, policy=LRU2, frames=40, exponent=0.8, dirties=False, count=600)  # pages come back
def test_buffer_pool(seed: int, policy: int, frames: int, exponent: float, dirties: bool, count: int) -> None:
    load = statements(1, count, seed, 1000, 1000)
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=dirties)]
    host = {"cores": 1, "frames": frames, "policy": policy, "log": Log(full_page_writes=False)}
    database = both(host, (1000, (1, 20, 200), exponent), demands, load, seed)
    policies: dict[int, Policy] = {SWEEP: Sweep(frames), LRU: Lru(frames)}
    pool = Pool(frames, policies.get(policy), READ_NS, READ_NS)
    assert database.done_ns.tolist() == lookups(database, load, pool, dirties)


def lookups(database: Database, load: Statements, pool: Pool, dirties: bool) -> list[int]:
    """When each lookup of one session ends."""
    now, done = 0, []
    for row in range(len(load.classes)):
        now += int(load.think_ns[row]) + work_ns(load, row)
        drawn = draw_row(database, 0, 0, row * 256 + 1, 0)
        for level in range(3):
            page = int(page_at(database, 0, drawn, level))
            now += pool.refer(page)
        if dirties:
            pool.change(page)
        done.append(now)
    return done


@settings(max_examples=examples(20), deadline=None)
@given(seed=SEEDS, frames=pick(3, 8, 40), cached=pick(5, 20, 100), exponent=pick(0.0, 0.8))
def test_page_cache(seed: int, frames: int, cached: int, exponent: float) -> None:
    load = statements(1, 150, seed, 1000, 1000)
    host = {"cores": 1, "frames": frames, "os_cache_pages": cached}
    database = both(host, (1000, (1, 20, 200), exponent), [Demand(COMPUTE), Demand(LOOKUP)], load, seed)
    pool = Pool(frames, Sweep(frames), READ_NS, READ_NS, PageCache(cached, READ_NS))
    assert database.done_ns.tolist() == lookups(database, load, pool, False)


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    cores=st.integers(1, 3),
    length=pick(100, 3000, 20_000),
    segment=pick(16384, 1 << 20),
    think_ns=pick(20_000, 400_000, 2_000_000),
    log_io_ns=pick(0, 7001),
    cpu_ns=pick(50_000, 500_000),  # the flushing process meets cores that work, and slices that wait
    files=pick(0, 1, 20),  # other segments have none
)
@example(
    seed=1, sessions=8, cores=1, length=100, segment=1 << 20, think_ns=20_000, log_io_ns=7001, cpu_ns=500_000, files=0
)  # the queue for the core is long
def test_wal(
    seed: int, sessions: int, cores: int, length: int, segment: int, think_ns: int, log_io_ns: int, cpu_ns: int,
    files: int,
) -> None:  # fmt: skip
    load = statements(sessions, 12, seed, cpu_ns, think_ns)
    log = Log(segment_bytes=segment, most_kept_bytes=files * segment)
    host = {"cores": cores, "frames": 8, "log": log, "costs": Costs(log_io_ns=log_io_ns)}
    demands = [Demand(COMPUTE), Demand(LOG, log_bytes=length)]
    database = both(host, (10, (1,), 0.0), demands, load, seed)
    clock = Clock()
    processors = Processors(clock, cores, [1000] * cores)
    wal = Wal(clock, log, LOG_NS, processors, log_io_ns)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        yield from wal.commit(length)

    assert database.done_ns.tolist() == run_sessions(clock, load, body)
    assert written(database) == (wal.inserted, wal.flushed, wal.flushes, wal.written_bytes)


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    length=pick(100, 3000, 20_000),
    segment=pick(16384, 1 << 20),
    think_ns=pick(20_000, 400_000),
    delay_ns=pick(500_009, 5_000_011, 200_000_000),
    flush_bytes=pick(0, 8192, 100_000),
)
@example(
    seed=1, sessions=8, length=20_000, segment=1 << 20, think_ns=400_000, delay_ns=200_000_000, flush_bytes=100_000
)  # only the bytes make the log writer flush
def test_log_writer(
    seed: int, sessions: int, length: int, segment: int, think_ns: int, delay_ns: int, flush_bytes: int
) -> None:
    load = statements(sessions, 12, seed, 50_000, think_ns)
    log = Log(segment_bytes=segment, synchronous_commit=False, writer_delay_ns=delay_ns, writer_flush_bytes=flush_bytes)
    host = {"cores": sessions, "frames": 8, "log": log}
    database = both(host, (10, (1,), 0.0), [Demand(COMPUTE), Demand(LOG, log_bytes=length)], load, seed)
    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    wal = Wal(clock, log, LOG_NS, processors)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        yield from wal.commit_later(length)

    assert database.done_ns.tolist() == run_sessions(clock, load, body)
    assert written(database) == (wal.inserted, wal.flushed, wal.flushes, wal.written_bytes)


def written(database: Database) -> tuple[int, ...]:
    """What became of the log: inserted and flushed bytes, flushes, written bytes."""
    return tuple(int(database.log[0][name]) for name in ("inserted", "flushed", "flushes", "written_bytes"))


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS, sessions=st.integers(2, 8), rows=pick(1, 3, 10), think_ns=pick(20_000, 800_000), innodb=st.booleans()
)
def test_locks(seed: int, sessions: int, rows: int, think_ns: int, innodb: bool) -> None:
    """All rows lie on one page that is there: what is left is the wait for rows, the log, and its images. InnoDB has
    none, and lets a row go before its commit is durable.
    """
    load = statements(sessions, 10, seed, 50_000, think_ns)
    log = Log(full_page_writes=not innodb)
    host: dict[str, Any] = {"cores": sessions, "frames": 8, "log": log}
    if innodb:
        host |= {"policy": MIDPOINT, "page_cleaner": PageCleaner(interval_ns=10**12)}
    demands = [Demand(COMPUTE), Demand(LOOKUP), Demand(LOCK, dirties=True, log_bytes=90), Demand(LOG, log_bytes=50)]
    database = both(host, (rows, (1,), 0.0), demands, load, seed, warm_pages=1)
    clock = Clock()
    processors, locks = Processors(clock, sessions, [1000] * sessions), Locks(clock)
    wal = Wal(clock, log, LOG_NS, processors)

    def body(session: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        drawn = int(draw_row(database, 0, 0, row * 256 + 1, 0))
        yield from locks.lock(drawn, session)
        wal.change(0, 90)
        if innodb:
            locks.unlock(drawn)
        yield from wal.commit(50)
        if not innodb:
            locks.unlock(drawn)

    assert database.done_ns.tolist() == run_sessions(clock, load, body)
    assert written(database) == (wal.inserted, wal.flushed, wal.flushes, wal.written_bytes)


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 6),
    cores=st.integers(1, 3),
    lookups=pick(0, 5, 40, 100),
    costs=pick((0, 0), (3001, 0), (700, 1303), (20_000, 50_001)),
    log_bytes=pick(0, 500),
    clock_driven=st.booleans(),
    client_ns=pick(0, 70_001, 1_500_000),
)
def test_sessions(
    seed: int,
    sessions: int,
    cores: int,
    lookups: int,
    costs: tuple[int, int],
    log_bytes: int,
    clock_driven: bool,
    client_ns: int,
) -> None:
    """All pages are there: CPU by found page, in slices, and what each statement waits for."""
    each = 8
    load = statements(sessions, each, seed, 2_500_000, 1_500_000)
    count = len(load.classes)
    starts = np.random.default_rng(seed).integers(0, 20_000_000, count) // 1009 * 1009 + np.arange(count)
    load = replace(load, client_ns=np.full(count, client_ns), start_ns=starts)
    if clock_driven:
        # who waits for one flush, or for a core, would start the next at one instant, in an order of the engines
        log_bytes, cores = 0, max(cores, sessions)
        load = replace(load, waits_for=np.full(count, CLOCK, np.uint8))
    charged = Costs(lookup_ns=costs[0], page_ns=costs[1])
    demands = [Demand(COMPUTE), *[Demand(LOOKUP)] * lookups, *[Demand(LOG, log_bytes=log_bytes)] * (log_bytes > 0)]
    host = {"cores": cores, "frames": 32, "costs": charged}
    database = both(host, (100, (1, 20), 0.0), demands, load, seed, warm_pages=21)
    clock = Clock()
    processors = Processors(clock, cores, [1000] * cores)
    wal = Wal(clock, Log(), LOG_NS, processors)
    twin = Sessions(clock, processors, wal, charged, lookups, 2, log_bytes)
    own = [
        Statement(int(load.cpu_ns[row]), client_ns, int(load.think_ns[row]), int(starts[row]) if clock_driven else None)
        for row in range(count)
    ]
    twin.start([own[first : first + each] for first in range(0, count, each)])
    clock.run()
    assert database.done_ns.tolist() == [twin.done[row // each, row % each] for row in range(count)]
    spent = dict(zip(SPENT, database.spent[0].tolist(), strict=True))
    assert {name: ns for name, ns in spent.items() if ns} == {name: ns for name, ns in twin.spent.items() if ns}
