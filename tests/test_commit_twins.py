"""What a commit waits for besides its own log, against twins in plain Python, in both engines: every statement ends at
the same ns.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import metrics_of
from tests.test_database_twins import LOG_NS, SEEDS, both, pick, run_sessions, statements, work_ns
from tests.twins.binary_log import Groups
from tests.twins.clock import Clock, Process
from tests.twins.journal import FileOfOneLength, Journal
from tests.twins.log_threads import LogThreads
from tests.twins.processors import Processors
from tests.twins.replica import Confirming
from tests.twins.stand_in import WRITE, Recorded
from tests.twins.wal import Wal
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import COMPUTE, LOG, LOOKUP, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.binary_log import BinaryLog
from tiersim.simulator.database.wal.log import Log, Replica
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels

GROUP_NS = 150_011


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    sync_every=pick(0, 1, 1, 2, 5),
    delay_ns=pick(0, 0, 70_001, 900_001),
    commit_bytes=pick(100, 5000),
    think_ns=pick(20_000, 400_000, 2_000_000),
)
def test_binary_log(seed: int, sessions: int, sync_every: int, delay_ns: int, commit_bytes: int, think_ns: int) -> None:
    load = statements(sessions, 12, seed, 50_000, think_ns)
    log, own = Log(full_page_writes=False), BinaryLog(0, commit_bytes, sync_every, delay_ns)

    def fresh() -> tuple[PlantBuilder, int, Database]:
        builder = PlantBuilder(seed % 1000)
        volume, log_volume = (
            add_server(builder, "binary log volume", 1, GROUP_NS),
            add_server(builder, "log", 1, LOG_NS),
        )
        host = DatabaseHost(
            sessions, 8, log_volume, log, binary_log=BinaryLog(volume, commit_bytes, sync_every, delay_ns)
        )
        demands = [Demand(COMPUTE), Demand(LOG, log_bytes=100)]
        database = add_database(builder, host, [Relation(10, (1,), station=volume)], [demands], load)
        return builder, volume, database

    builder, _, database = fresh()
    metrics = [metrics_of(builder) for _ in range(2)]
    engine.run_database(builder.build(16), database, metrics[0])
    builder, volume, other = fresh()
    recorder = Recorded(GROUP_NS)
    ReferenceEngine(builder.build(16), [], metrics[1], {volume: recorder.bind}, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()

    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    wal, groups = Wal(clock, log, LOG_NS, processors), Groups(clock, own, GROUP_NS)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        position = wal.insert(100)
        yield clock.now + 1
        yield from wal.flush(position)
        yield from groups.commit()

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    written = [(when, size) for when, op, _, size in recorder.seen if op == WRITE]
    assert len(written) == 3 * len(groups.written)  # two of each are the journal's


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    has_binary_log=st.booleans(),
    cpu_ns=pick(50_000, 1_000_000),
    think_ns=pick(20_000, 400_000, 2_000_000, 9_000_000),
)
def test_journal(seed: int, sessions: int, has_binary_log: bool, cpu_ns: int, think_ns: int) -> None:
    """The redo log, which is flushed by fsync, and a binary log share a volume and its journal."""
    load = statements(sessions, 12, seed, cpu_ns, think_ns)
    log = Log(full_page_writes=False, fsync=True)

    def fresh() -> tuple[PlantBuilder, Database]:
        builder = PlantBuilder(seed % 1000)
        volume = add_server(builder, "logs", 64, GROUP_NS)
        own = BinaryLog(volume) if has_binary_log else None
        host = DatabaseHost(sessions, 8, volume, log, binary_log=own)
        demands = [Demand(COMPUTE), Demand(LOG, log_bytes=100)]
        database = add_database(builder, host, [Relation(10, (1,), station=volume)], [demands], load)
        return builder, database

    builder, database = fresh()
    metrics = [metrics_of(builder) for _ in range(2)]
    engine.run_database(builder.build(16), database, metrics[0])
    builder, other = fresh()
    ReferenceEngine(builder.build(16), [], metrics[1], database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()

    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    journal = Journal(clock, GROUP_NS)
    wal = Wal(clock, log, GROUP_NS, processors, file=FileOfOneLength(journal))
    groups = Groups(clock, BinaryLog(), GROUP_NS, journal)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        position = wal.insert(100)
        yield clock.now + has_binary_log
        yield from wal.flush(position)
        if has_binary_log:
            yield from groups.commit()

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    assert int(database.journals[0]["commits"]) == journal.commits


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    round_trip_ns=pick(2, 60_002, 1_000_000),
    flush_ns=pick(30_011, 400_003),
    think_ns=pick(20_000, 400_000, 2_000_000),
)
def test_replica(seed: int, sessions: int, round_trip_ns: int, flush_ns: int, think_ns: int) -> None:
    load = statements(sessions, 12, seed, 50_000, think_ns)
    log = Log(full_page_writes=False, replica=Replica(round_trip_ns, flush_ns))
    host = {"cores": sessions, "frames": 8, "log": log}
    database = both(host, (10, (1,), 0.0), [Demand(COMPUTE), Demand(LOG, log_bytes=100)], load, seed)
    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    wal, replica = Wal(clock, log, LOG_NS, processors), Confirming(clock, log.replica or Replica(0, 0))

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        position = wal.insert(100)
        yield clock.now + 1
        yield from wal.flush(position)
        yield from replica.confirm()

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done


@settings(max_examples=examples(60), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    cores=st.integers(1, 8),
    log_io_ns=pick(0, 0, 9_001, 120_007),
    cpu_ns=pick(50_000, 3_000_000),
    changes=st.booleans(),
    think_ns=pick(20_000, 400_000, 2_000_000),
)
def test_log_threads(
    seed: int, sessions: int, cores: int, log_io_ns: int, cpu_ns: int, changes: bool, think_ns: int
) -> None:
    load = statements(sessions, 12, seed, cpu_ns, think_ns)
    host = {"cores": cores, "frames": 8, "log": Log(full_page_writes=False, threads=True)}
    change = [Demand(LOOKUP, dirties=True, log_bytes=50)] if changes else []
    demands = [*change, Demand(COMPUTE), Demand(LOG, log_bytes=100)]
    host["costs"] = Costs(log_io_ns=log_io_ns)
    database = both(host, (10, (1,), 0.0), demands, load, seed, warm_pages=1)
    clock = Clock()
    processors = Processors(clock, cores, [1000] * cores)
    log = LogThreads(clock, LOG_NS, processors, log_io_ns)

    def body(_: int, row: int) -> Process:
        log.insert(50 if changes else 0)
        yield from processors.use(work_ns(load, row))
        yield from log.flush(log.insert(100))

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    assert int(database.log[0]["flushes"]) == log.flushes


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    sessions=st.integers(1, 8),
    log_io_ns=pick(0, 0, 9_001),
    cpu_ns=pick(50_000, 1_000_000),
    think_ns=pick(20_000, 400_000, 2_000_000),
)
def test_log_threads_with_a_binary_log(seed: int, sessions: int, log_io_ns: int, cpu_ns: int, think_ns: int) -> None:
    """Half of what a commit logs comes when its group is synced, and nobody waits for it."""
    load = statements(sessions, 12, seed, cpu_ns, think_ns)
    log = Log(full_page_writes=False, threads=True)

    def fresh() -> tuple[PlantBuilder, Database]:
        builder = PlantBuilder(seed % 1000)
        volumes = [add_server(builder, name, 1, ns) for name, ns in (("binary log", GROUP_NS), ("log", LOG_NS))]
        own, costs = BinaryLog(volumes[0]), Costs(log_io_ns=log_io_ns)
        host = DatabaseHost(sessions, 8, volumes[1], log, binary_log=own, costs=costs)
        demands = [Demand(COMPUTE), Demand(LOG, log_bytes=101)]
        database = add_database(builder, host, [Relation(10, (1,), station=volumes[0])], [demands], load)
        return builder, database

    builder, database = fresh()
    metrics = [metrics_of(builder) for _ in range(2)]
    engine.run_database(builder.build(16), database, metrics[0])
    builder, other = fresh()
    ReferenceEngine(builder.build(16), [], metrics[1], database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()

    clock = Clock()
    processors = Processors(clock, sessions, [1000] * sessions)
    threads, groups = LogThreads(clock, LOG_NS, processors, log_io_ns), Groups(clock, BinaryLog(), GROUP_NS)

    def body(_: int, row: int) -> Process:
        yield from processors.use(work_ns(load, row))
        position = threads.insert(51)
        yield clock.now + 1
        yield from threads.flush(position)
        yield from groups.commit()
        threads.insert(50)
        threads.wake()

    done = run_sessions(clock, load, body)
    assert database.done_ns.tolist() == done
    assert int(database.log[0]["inserted"]) == 101 * len(done)
