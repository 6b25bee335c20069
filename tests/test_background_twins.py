"""What works behind the statements of a database against its twin in plain Python, in both engines: every write of a
page, and the end of every statement, at the same ns.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import metrics_of
from tests.test_database_twins import LOG_NS, READ_NS, SEEDS, pick, run_sessions, statements, work_ns
from tests.twins.background_writer import Writer
from tests.twins.buffer_pool import Pool, Sweep
from tests.twins.bursts import Bursts
from tests.twins.checkpointer import Checkpointer
from tests.twins.clock import Clock, Process
from tests.twins.lazy_writer import FreeList
from tests.twins.locks import Locks
from tests.twins.log_blocks import Blocks
from tests.twins.processors import Processors
from tests.twins.stand_in import WRITE, Recorded
from tests.twins.wal import Wal
from tests.twins.write_back import WriteBack
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.database_state import COMPUTE, LOCK, LOG, LOOKUP, LRU2, Database
from tiersim.simulator.database.wal.log import ENTRY_BYTES, Log
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels

PAGE = 8192
_MS = 1_000_000
LOG_RATE = 250_000_000

Seen = list[tuple[int, int, int, int]]


def watched(
    host: dict[str, Any],
    relation: tuple[int, tuple[int, ...], float],
    demands: Sequence[Demand],
    load: Statements,
    seed: int,
    warm: bool = True,
    log_volumes: int = 1,
) -> tuple[Database, Seen]:
    """Run in both engines, which must agree; return the compiled one's database, and what its disk was asked for.

    If *warm*, all pages are in the pool.
    """

    def fresh() -> tuple[PlantBuilder, Database, Any, int]:
        builder = PlantBuilder(seed % 1000)
        # more servers than a lazy writer writes pages at once, and a read
        disk, log = add_server(builder, "disk", 128, READ_NS), add_server(builder, "log", log_volumes, LOG_NS)
        rows, level_pages, exponent = relation
        given_host = DatabaseHost(**{"log_station": log} | host)
        database = add_database(
            builder, given_host, [Relation(rows, level_pages, exponent, station=disk)], [demands], load
        )
        for page in range(sum(level_pages) if warm else 0):
            refer(database, page, 0, 0)
        return builder, database, metrics_of(builder), disk

    builder, database, metrics, _ = fresh()
    engine.run_database(builder.build(64), database, metrics)
    builder, other, metrics, disk = fresh()
    recorder = Recorded(READ_NS)
    ReferenceEngine(builder.build(64), [], metrics, {disk: recorder.bind}, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()
    if database.checkpointer.size:
        assert other.checkpoints.tolist() == database.checkpoints.tolist()
    return database, recorder.seen


def logged(host: dict[str, Any], demands: Sequence[Demand], load: Statements, seed: int) -> tuple[Database, Seen]:
    """Run both engines on a log volume that serves requests at once; return the database and what it was asked for."""

    def fresh() -> tuple[PlantBuilder, Database, Any, int]:
        builder = PlantBuilder(seed % 1000)
        log = add_server(builder, "log volume", 128, LOG_NS, "fixed", LOG_RATE)
        database = add_database(
            builder, DatabaseHost(**{"log_station": log} | host), [Relation(10, (1,))], [demands], load
        )
        return builder, database, metrics_of(builder), log

    builder, database, metrics, _ = fresh()
    engine.run_database(builder.build(64), database, metrics)
    builder, other, metrics, log = fresh()
    recorder = Recorded(LOG_NS, LOG_RATE)
    ReferenceEngine(builder.build(64), [], metrics, {log: recorder.bind}, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()
    return database, recorder.seen


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 4),
    pages=pick(6, 40),
    timeout_ms=pick(300, 2000),
    target=pick(0.0, 0.5, 0.9),
    segments=pick(2, 5),
    since=pick(0, 100),
    nap_ms=pick(30, 100),
    images=st.booleans(),
    hints=st.booleans(),
    think_ns=pick(1_000_000, 40_000_000),
    flush_after=pick(None, 0, 3),
)
@example(  # pages whose log is not durable yet
    seed=0,
    sessions=3,
    pages=40,
    timeout_ms=300,
    target=0.0,
    segments=2,
    since=0,
    nap_ms=30,
    images=True,
    hints=True,
    think_ns=1_000_000,
    flush_after=None,
)
@example(  # files are synced while their pages are being written back
    seed=0,
    sessions=3,
    pages=40,
    timeout_ms=300,
    target=0.0,
    segments=5,
    since=0,
    nap_ms=30,
    images=True,
    hints=False,
    think_ns=40_000_000,
    flush_after=3,
)
@example(  # a hint in a page that a checkpoint is about to write
    seed=0,
    sessions=4,
    pages=12,
    timeout_ms=300,
    target=0.9,
    segments=5,
    since=0,
    nap_ms=30,
    images=True,
    hints=True,
    think_ns=20_000_000,
    flush_after=None,
)
def test_checkpointer(
    seed: int,
    sessions: int,
    pages: int,
    timeout_ms: int,
    target: float,
    segments: int,
    since: int,
    nap_ms: int,
    images: bool,
    hints: bool,
    think_ns: int,
    flush_after: int | None,
) -> None:
    """The index has one page, which the first update of a page of the heap changes, and who meets that row again. None:
    there is no page cache.
    """
    load = statements(sessions, 40, seed, 50_000, think_ns)
    log = Log(segment_bytes=1 << 16, full_page_writes=images, hint_images=hints)
    checkpoints = Checkpoints(
        timeout_ms * _MS, target, segments, flush_after or 0, since_ns=since * _MS, nap_ns=nap_ms * _MS
    )
    cached = 0 if flush_after is None else 4000  # a tenth is more than all pages
    host = {"cores": sessions, "frames": 64, "log": log, "checkpoints": checkpoints, "os_cache_pages": cached}
    record = 900
    update = Demand(LOCK, dirties=True, log_bytes=record, needs_room=True)
    demands = [Demand(COMPUTE), Demand(LOOKUP), update, Demand(LOG, log_bytes=50)]
    database, seen = watched(host, (pages * 7, (1, pages), 0.0), demands, load, seed)
    clock = Clock()
    processors, locks = Processors(clock, sessions, [1000] * sessions), Locks(clock)
    wal, dirty = Wal(clock, log, LOG_NS, processors), set[int]()
    cache = WriteBack(clock, cached, READ_NS, PAGE) if cached else None
    checkpointer = Checkpointer(clock, checkpoints, wal, dirty, lambda page: min(page, 1), READ_NS, cache)
    checkpointer.start()
    moved = dict[int, int]()  # by page of the heap that was updated: the row that moved away, until it is met

    def body(session: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        drawn = int(draw_row(database, 0, 0, row * 256 + 1, 0))
        page = int(page_at(database, 0, drawn, 1))
        if moved.get(page) == drawn:
            moved[page] = -1
            if 0 not in dirty:
                wal.hint(0)
                dirty.add(0)
        yield from locks.lock(drawn, session)
        wal.change(page, record)
        dirty.add(page)
        if page not in moved:
            moved[page] = drawn
            wal.change(0, ENTRY_BYTES)
            dirty.add(0)
        yield from wal.commit(50)
        locks.unlock(drawn)

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    end = max(done)
    writes = [(when, page, 1) for when, page in checkpointer.writes] if cache is None else cache.writes
    assert written_runs(seen, end) == [one for one in writes if one[0] < end]
    assert written_checkpoints(database, end) == [
        (c.start_ns, c.written_ns, c.end_ns, c.pages, c.written_pages, int(c.by_log))
        for c in checkpointer.done
        if c.end_ns < end
    ]


def written_pages(seen: Seen, end: int) -> list[tuple[int, int]]:
    """When each page was written, up to the end."""
    return [(when, page) for when, page, _ in written_runs(seen, end)]


def written_runs(seen: Seen, end: int) -> list[tuple[int, int, int]]:
    """When pages were written, the first and how many together, up to the end."""
    return [(when, offset // PAGE, size // PAGE) for when, op, offset, size in seen if op == WRITE and when < end]


def written_checkpoints(database: Database, end: int) -> list[tuple[int, ...]]:
    """When each checkpoint began, had written, ended; its pages, those it wrote itself, whether the log asked."""
    names = ("start_ns", "written_ns", "end_ns", "pages", "written_pages", "trigger")
    rows = database.checkpoints[: database.checkpointer[0]["count"]]
    return [tuple(int(row[name]) for name in names) for row in rows if row["end_ns"] < end]


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    frames=pick(20, 100),
    delay_ms=pick(3, 20),
    most_pages=pick(2, 30),
    multiplier=pick(0.5, 2.0, 5.0),
    think_ns=pick(100_000, 3_000_000),
    exponent=pick(0.0, 0.9),
)
@example(
    seed=84, frames=20, delay_ms=3, most_pages=2, multiplier=2.0, think_ns=3_000_000, exponent=0.9
)  # a round begins while a statement works, which has changed the page by then
def test_background_writer(
    seed: int, frames: int, delay_ms: int, most_pages: int, multiplier: float, think_ns: int, exponent: float
) -> None:
    load = statements(1, 200, seed, 50_000, think_ns)
    writer = BackgroundWriter(delay_ms * _MS, most_pages, multiplier)
    host = {"cores": 1, "frames": frames, "background_writer": writer, "log": Log(full_page_writes=False)}
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=True)]
    database, seen = watched(host, (400, (1, 200), exponent), demands, load, seed, warm=False)
    clock, sweep = Clock(), Sweep(frames)
    pool = Pool(frames, sweep, READ_NS, READ_NS)
    writes: list[tuple[int, int]] = []

    def write(page: int) -> Process:
        writes.append((clock.now, page))
        yield clock.now + READ_NS

    background = Writer(clock, writer, pool, sweep, write)

    def body(_: int, row: int) -> Process:
        work = work_ns(load, row)
        drawn = draw_row(database, 0, 0, row * 256 + 1, 0)
        for level in (0, 1):
            page = int(page_at(database, 0, drawn, level))
            if page not in pool.frame_of:  # CPU of what it has done is spent before it waits, not before each page
                yield clock.now + work
                work = 0
            taken, evicted = pool.taken, len(pool.evicted)
            took = pool.refer(page)
            writes.extend((clock.now + 1, gone) for gone in pool.evicted[evicted:])
            if pool.taken > taken:
                background.wake()
                yield clock.now + took
        pool.change(page)
        yield clock.now + work

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    assert written_pages(seen, max(done)) == sorted(one for one in writes if one[0] < max(done))


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 9),
    length=pick(100, 3000, 6000),  # what several insert fits into a block
    most_writes=pick(1, 2, 112),
    most_bytes=pick(8192, 61_440, 3_932_160),
    think_ns=pick(20_000, 400_000),
)
@example(
    seed=1, sessions=9, length=6000, most_writes=112, most_bytes=8192, think_ns=20_000
)  # blocks that would go beyond the limit
def test_log_blocks(seed: int, sessions: int, length: int, most_writes: int, most_bytes: int, think_ns: int) -> None:
    load = statements(sessions, 12, seed, 50_000, think_ns)
    log = LogBlocks(most_writes=most_writes, most_bytes=most_bytes)
    demands = [Demand(COMPUTE), Demand(LOG, log_bytes=length)]
    database, seen = logged({"cores": sessions, "frames": 8, "log": log}, demands, load, seed)
    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    blocks = Blocks(clock, log, lambda size: LOG_NS + size * 10**9 // LOG_RATE)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        yield from blocks.commit(length)

    done = run_sessions(clock, load, body)
    assert [(when, op, size) for when, op, _, size in seen] == blocks.asked
    assert database.done_ns.tolist() == done


def checkpointed(
    load: Statements, sessions: int, pages: int, checkpoints: BurstCheckpoints | IndirectCheckpoints, seed: int
) -> tuple[Database, Bursts, int]:
    """Change rows of a table that is in the pool, in both engines and their twin, which must write the same pages at
    the same time; return the end of the last session, too.
    """
    log, record = LogBlocks(), 900
    host = {"cores": sessions, "frames": 64, "log": log, "checkpoints": checkpoints}
    demands = [Demand(COMPUTE), Demand(LOOKUP), Demand(LOCK, dirties=True, log_bytes=record), Demand(LOG, log_bytes=50)]
    database, seen = watched(host, (pages * 7, (1, pages), 0.0), demands, load, seed, log_volumes=64)
    clock = Clock()
    processors, locks = Processors(clock, sessions, [1000] * sessions), Locks(clock)
    blocks, dirty, position_of = Blocks(clock, log, lambda size: LOG_NS), set[int](), dict[int, int]()
    bursts = Bursts(clock, checkpoints, blocks, dirty, position_of, pages + 1, READ_NS)
    bursts.start()

    def body(session: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        drawn = int(draw_row(database, 0, 0, row * 256 + 1, 0))
        yield from locks.lock(drawn, session)
        page = int(page_at(database, 0, drawn, 1))
        position_of[page] = blocks.insert(record)
        dirty.add(page)
        bursts.use_log()
        yield from blocks.commit(50)
        locks.unlock(drawn)

    done = run_sessions(clock, load, body)
    end = max(done)
    written = [(when, offset // PAGE, size // PAGE) for when, op, offset, size in seen if op == WRITE and when < end]
    assert written == [one for one in bursts.writes if one[0] < end]
    assert database.done_ns.tolist() == done
    return database, bursts, end


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 3),
    pages=pick(6, 60),
    interval_ms=pick(20, 200),
    most_pages=pick(1, 8, 8800),
    gathered=pick(1, 3, 128),
    slow=pick(0, READ_NS - 1, 2 * READ_NS),
    think_ns=pick(400_000, 4_000_000),
)
@example(
    seed=1, sessions=3, pages=60, interval_ms=20, most_pages=8, gathered=1, slow=READ_NS - 1, think_ns=400_000
)  # slow writes lower the target
@example(
    seed=182465, sessions=1, pages=6, interval_ms=20, most_pages=1, gathered=1, slow=0, think_ns=400_000
)  # a page is changed in the nanosecond in which it is to be written
def test_bursts(
    seed: int, sessions: int, pages: int, interval_ms: int, most_pages: int, gathered: int, slow: int, think_ns: int
) -> None:
    load = statements(sessions, 60, seed, 50_000, think_ns)
    checkpoints = BurstCheckpoints(interval_ms * _MS, slow, most_pages, gathered, since_ns=7 * _MS)
    database, bursts, end = checkpointed(load, sessions, pages, checkpoints, seed)
    assert [one[:5] for one in written_checkpoints(database, end)] == [
        (begun, posted, over, marked, wrote) for begun, posted, over, marked, wrote in bursts.done if over < end
    ]


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 3),
    pages=pick(6, 60),
    target_ms=pick(250, 1000, 7000),
    gathered=pick(1, 3, 128),
    think_ns=pick(4_000_000, 40_000_000),
)
@example(seed=0, sessions=1, pages=60, target_ms=250, gathered=1, think_ns=40_000_000)  # first change late in a step
def test_indirect(seed: int, sessions: int, pages: int, target_ms: int, gathered: int, think_ns: int) -> None:
    load = statements(sessions, 60, seed, 50_000, think_ns)
    checkpointed(load, sessions, pages, IndirectCheckpoints(target_ms * _MS, gathered_pages=gathered), seed)


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    frames=pick(24, 80),
    examined=pick(2, 8, 64),
    gathered=pick(1, 4),
    interval_ms=pick(5, 1000),
    think_ns=pick(100_000, 3_000_000),
    exponent=pick(0.0, 0.9),
)
def test_lazy_writer(
    seed: int, frames: int, examined: int, gathered: int, interval_ms: int, think_ns: int, exponent: float
) -> None:
    load = statements(1, 200, seed, 50_000, think_ns)
    lazy = LazyWriter(interval_ms * _MS, examined, gathered)
    host = {"cores": 1, "frames": frames, "policy": LRU2, "lazy_writer": lazy, "log": Log(full_page_writes=False)}
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=True)]
    database, seen = watched(host, (400, (1, 200), exponent), demands, load, seed, warm=False)
    clock = Clock()
    pool = FreeList(clock, lazy, frames, READ_NS, lambda page: min(page, 1))

    def body(_: int, row: int) -> Process:
        yield clock.now + work_ns(load, row)
        drawn = draw_row(database, 0, 0, row * 256 + 1, 0)
        for level in (0, 1):
            page = int(page_at(database, 0, drawn, level))
            yield from pool.refer(page)
        pool.dirty.add(page)

    done = run_sessions(clock, load, body)
    end = max(done)
    assert written_runs(seen, end) == [one for one in pool.writes if one[0] < end]
    assert database.done_ns.tolist() == done


@settings(max_examples=examples(24), deadline=None)
@given(
    seed=SEEDS,
    frames=pick(3, 20),
    cached=pick(20, 60, 100, 300),
    think_ns=pick(100_000, 5_000_000, 400_000_000),
    exponent=pick(0.0, 0.9),
)
# so few are dirty that only the flusher writes them
@example(seed=1, frames=20, cached=300, think_ns=2_000_000_000, exponent=0.0)
# a write-back and a read that begin and end together
@example(seed=524289, frames=20, cached=60, think_ns=5_000_000, exponent=0.9)
def test_write_back(seed: int, frames: int, cached: int, think_ns: int, exponent: float) -> None:
    load = statements(1, 300, seed, 50_000, think_ns)
    host = {"cores": 1, "frames": frames, "os_cache_pages": cached, "log": Log(full_page_writes=False)}
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=True)]
    database, seen = watched(host, (1000, (1, 200), exponent), demands, load, seed, warm=False)
    clock = Clock()
    pool = Pool(frames, Sweep(frames), 0, 0)
    cache = WriteBack(clock, cached, READ_NS, PAGE)
    cache.start()

    def body(_: int, row: int) -> Process:
        yield clock.now + work_ns(load, row)
        drawn = draw_row(database, 0, 0, row * 256 + 1, 0)
        for level in (0, 1):
            page = int(page_at(database, 0, drawn, level))
            missed, gone = page not in pool.frame_of, len(pool.evicted)
            pool.refer(page)
            if missed:
                yield clock.now + 1
                for evicted in pool.evicted[gone:]:
                    yield from cache.write(evicted)
                yield from cache.read(page)
        pool.change(page)

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    end = max(done)
    assert written_runs(seen, end) == [one for one in cache.writes if one[0] < end]
