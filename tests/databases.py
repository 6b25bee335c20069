"""Databases drawn at random, small enough for the SimPy engine: sessions, statements, tables, pools, hosts."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from tiersim.devices.host.upkeep import Upkeep, add_upkeep
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.database.buffer_pool.adaptive_flushing import MARIADB, MYSQL
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.buffer_pool.midpoint import Midpoint
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.buffer_pool.warm import settle, warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.checkpoint.checkpointer import NAP_NS, Checkpoints
from tiersim.simulator.database.database_state import (
    AFTER,
    AGAIN,
    BULK_READ,
    CLOCK,
    COMPUTE,
    COPY,
    IN_ORDER,
    LOCK,
    LOG,
    LOOKUP,
    LOOKUPS,
    LRU,
    LRU2,
    MIDPOINT,
    NO_RING,
    OWN,
    SCAN,
    SPILL,
    SWEEP,
    Database,
)
from tiersim.simulator.database.sessions.copies import NOTHING
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.binary_log import BinaryLog
from tiersim.simulator.database.wal.log import Log, Replica
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.metrics import Metrics, new_metrics

#: The station of a case's log, behind that of its disk.
LOG_VOLUME = 1


@dataclass(frozen=True)
class DatabaseCase:
    """One draw."""

    seed: int
    sessions: int
    statements: int  # of each session
    cores: int
    frames: int
    rows: int
    exponent: float
    classes: tuple[tuple[Demand, ...], ...]
    tick_ns: int  # times are multiples of it, so that many fall together
    disks: int
    costs: tuple[int, ...]
    counted_from: int
    io_workers: int
    helpers: int
    policy: int
    ramp_pages: int
    correlated: int  # period, in ticks
    warmed: bool
    writer_pages: int  # most of a round of the background writer; 0: there is none
    os_cache_pages: int
    durability: (
        tuple[Log, Checkpoints | None] | tuple[LogBlocks, BurstCheckpoints | IndirectCheckpoints | None]
    )  # in ticks
    lazy_ticks: int  # interval of the lazy writer, with LRU-2; 0: there is none
    extension_pages: int
    temp: bool  # the second table is of a temporary database
    page_cleaner: PageCleaner | None  # with the midpoint and the plain log, in ticks
    binary_log: BinaryLog | None
    phased: int  # sessions from here on begin when some of those before are over; 0: none

    @property
    def log(self) -> Log | LogBlocks:
        return self.durability[0]

    @property
    def checkpoints(self) -> Checkpoints | BurstCheckpoints | IndirectCheckpoints | None:
        return self.durability[1]

    @property
    def page_cleaner_in_ns(self) -> PageCleaner | None:
        if self.page_cleaner is None or self.policy != MIDPOINT or not isinstance(self.log, Log):
            return None
        return replace(self.page_cleaner, interval_ns=self.page_cleaner.interval_ns * self.tick_ns)

    def fresh(self, log_law: Literal["fixed", "exponential"] = "exponential") -> tuple[PlantBuilder, Database, Metrics]:
        builder = PlantBuilder(self.seed)
        disk = add_server(builder, "disk", self.disks, 40 * self.tick_ns)
        log = add_server(builder, "log", 1, 10 * self.tick_ns, log_law)
        if self.seed & 64:
            upkeep = Upkeep(
                reads=0.4 * (1 + self.seed % 7),
                writes=0.3,
                run_pages=1 + self.seed % 5,
                depth=2,
                page_ns=self.seed % 2 * 90_000,
            )
            disk = add_upkeep(builder, "upkeep", upkeep, 8192, 1 << 20, disk)
        rng = np.random.default_rng(self.seed)
        count = self.sessions * self.statements
        relations = [
            Relation(
                self.rows,
                (1, 3, 9),
                self.exponent,
                ordered=bool(self.seed & 1),
                station=disk,
                moved=0.7 if self.seed & 4 else 0.0,
                updates=float(self.seed % 30),
                indexes=[(1, 5), (2,)] if self.seed & 8 else [],
                tables=1 + self.seed % 5,
            ),
            Relation(
                self.rows // 2 + 1,
                (4,),
                0.0,
                station=disk,
                hot=((1, 0.4),),
                recent=bool(self.seed & 2),
                temp=self.temp,
                indexes=[(3,)] if self.seed & 16 else [],
                file="relation 0" if self.seed & 32 else "",
            ),
        ]
        lazy = LazyWriter(self.lazy_ticks * self.tick_ns, examined=2, gathered_pages=3)
        lazy_writer = lazy if self.lazy_ticks and self.policy == LRU2 else None
        host = DatabaseHost(
            cores=self.cores,
            cpu_order=self.seed % 3 if self.policy == SWEEP else IN_ORDER,
            frames=self.frames,
            log_station=log,
            log=self.log_in_ns(),
            checkpoints=None if self.page_cleaner_in_ns is not None else self.checkpoints_in_ns(),
            midpoint=Midpoint(37, self.correlated * self.tick_ns, self.seed % 2, 6 + self.seed % 16),
            page_cleaner=self.page_cleaner_in_ns,
            doublewrite_station=disk,
            binary_log=None
            if self.binary_log is None or isinstance(self.log, LogBlocks)
            else replace(self.binary_log, station=log, delay_ns=self.binary_log.delay_ns * self.tick_ns),
            costs=Costs(*(cost * self.tick_ns for cost in self.costs)),
            counted_from_ns=self.counted_from * 20 * self.tick_ns,
            io_workers=self.io_workers,
            helpers=self.helpers,
            temp_station=log,
            temp_bytes=1 << 20,
            slowdown=[1000 + 100 * busy for busy in range(self.cores)],
            policy=self.policy,
            ramp_pages=self.ramp_pages,
            correlated_ns=self.correlated * self.tick_ns,
            retained_ns=self.correlated * 50 * self.tick_ns,
            ring_bytes=8192,
            os_cache_pages=self.os_cache_pages,
            lazy_writer=lazy_writer,
            extension_station=log,
            extension_pages=self.extension_pages if lazy_writer is not None else 0,
            background_writer=(
                BackgroundWriter(15 * self.tick_ns, self.writer_pages, flush_after_pages=self.writer_pages - 1)
                if self.writer_pages and self.policy == SWEEP
                else None
            ),
        )
        statements = Statements(
            session_ends=[(session + 1) * self.statements for session in range(self.sessions)],
            classes=rng.integers(0, len(self.classes), count).astype(np.int32),
            waits_for=rng.choice([CLOCK, OWN], count).astype(np.uint8),
            start_ns=np.sort(rng.integers(0, 50, (self.sessions, self.statements)) * 20 * self.tick_ns, axis=1).ravel(),
            think_ns=rng.integers(0, 3, count) * 10 * self.tick_ns,
            cpu_ns=rng.integers(0, 4, count) * 500_000,
            begins=rng.integers(0, 2, count).astype(np.uint8),
            ends=rng.integers(0, 2, count).astype(np.uint8),
            client_ns=rng.integers(0, 3, count) * 600_000,
        )
        phased = rng.integers(0, self.sessions, self.sessions)  # sessions that begin when others are over
        for session in range(self.phased, self.sessions):
            first = session * self.statements
            if self.phased and self.statements:
                statements.waits_for[first], statements.start_ns[first] = AFTER, min(phased[session], self.phased)
        database = add_database(builder, host, relations, self.classes, statements, intervals=4)
        database.sessions["ring"] = rng.integers(NO_RING, BULK_READ + 1, len(database.sessions))
        if self.warmed:
            warm(database, builder.build(4), transaction_ns=self.tick_ns, most_references=20_000)
            if self.page_cleaner_in_ns is not None:
                settle(database, self.frames // 4, self.frames // 2, 5000, 100 * (self.seed % 2))
        interval_ns = 200 * self.tick_ns
        columns, counted_ns = FIRST_CLASS + len(self.classes), self.counted_from * 20 * self.tick_ns
        metrics = new_metrics(columns, len(builder.stations), RESOURCES, 4, interval_ns, counted_from_ns=counted_ns)
        return builder, database, metrics

    def log_in_ns(self) -> Log | LogBlocks:
        if isinstance(self.log, LogBlocks):
            return self.log
        replica, tick = self.log.replica, self.tick_ns
        return replace(
            self.log,
            commit_delay_ns=self.log.commit_delay_ns * tick,
            writer_delay_ns=self.log.writer_delay_ns * tick,
            replica=None if replica is None else Replica(replica.round_trip_ns * tick, replica.flush_ns * tick),
        )

    def checkpoints_in_ns(self) -> Checkpoints | BurstCheckpoints | IndirectCheckpoints | None:
        settings, tick = self.checkpoints, self.tick_ns
        if settings is None:
            return None
        if isinstance(settings, BurstCheckpoints):
            interval_ns, since_ns = settings.interval_ns * tick, settings.since_ns * tick
            return replace(settings, interval_ns=interval_ns, since_ns=since_ns, slow_ns=settings.slow_ns * tick)
        if isinstance(settings, IndirectCheckpoints):
            return replace(settings, target_ns=settings.target_ns * tick, slow_ns=settings.slow_ns * tick)
        nap_ns = settings.nap_ns if settings.nap_ns == NAP_NS else settings.nap_ns * tick
        return replace(
            settings, timeout_ns=settings.timeout_ns * tick, since_ns=settings.since_ns * tick, nap_ns=nap_ns
        )


def _lock(table: int, dirties: bool, log_bytes: int, entry_share: int, needs_room: bool) -> Demand:
    """Lock rows of the second table first: everybody has to keep to one order."""
    return Demand(
        LOCK, table=table, dirties=dirties, log_bytes=log_bytes, rank=1 - table, entry_share=entry_share,
        needs_room=needs_room,
    )  # fmt: skip


_log_bytes = st.integers(0, 3000)
_entry_shares = st.sampled_from((0, 400_000, 1_000_000))
_changed = st.sampled_from((0, 0, 1, 7))
_demands = st.one_of(
    st.builds(Demand, kind=st.just(COMPUTE), share=st.integers(0, 1000)),
    st.builds(
        Demand,
        kind=st.sampled_from((LOOKUP, AGAIN)),
        table=st.integers(0, 1),
        dirties=st.booleans(),
        log_bytes=_log_bytes,
        entry_share=_entry_shares,
        needs_room=st.booleans(),
        changed=_changed,
    ),
    st.builds(Demand, kind=st.just(LOG), log_bytes=st.integers(1, 20_000)),
)
_scans = st.builds(
    Demand, kind=st.just(SCAN), table=st.integers(0, 1), dirties=st.booleans(), pages=st.integers(0, 12),
    start_page=st.integers(0, 3), depth=st.integers(0, 4), block_pages=st.sampled_from((1, 2, 16)), full=st.booleans(),
    degree=st.integers(1, 3), page_ns=st.sampled_from((0, 700)), paced_ns=st.sampled_from((0, 0, 30_000)),
)  # fmt: skip
_many = st.builds(
    Demand,
    kind=st.just(LOOKUPS),
    table=st.integers(0, 1),
    dirties=st.booleans(),
    rows=st.integers(1, 12),
    depth=st.integers(0, 4),
    block_pages=st.sampled_from((1, 2, 16)),
    in_order=st.booleans(),
    threshold=st.sampled_from((0, 6)),
    changed=_changed,
)
_copies = st.builds(
    Demand,
    kind=st.just(COPY),
    table=st.just(0),
    tables=st.integers(1, 2),
    depth=st.integers(1, 4),
    block_pages=st.integers(1, 40),
    degree=st.integers(1, 3),
    page_ns=st.sampled_from((0, 90_000)),
    station=st.sampled_from((NOTHING, LOG_VOLUME)),
    file_bytes=st.sampled_from((0, 1 << 16)),
    restores=st.booleans(),
    ratio=st.sampled_from((0, 330, 1000)),
)
_buffered_spills = st.builds(
    Demand,
    kind=st.just(COPY),
    tables=st.just(0),
    depth=st.integers(1, 4),
    block_pages=st.integers(1, 40),
    station=st.just(LOG_VOLUME),
    temp_bytes=st.sampled_from((512, 300_032)),
)
_demands = st.one_of(
    _demands,
    _scans,
    _many,
    _copies,
    _buffered_spills,
    st.builds(_lock, st.integers(0, 1), st.booleans(), _log_bytes, _entry_shares, st.booleans()),
    st.builds(Demand, kind=st.just(SPILL), temp_bytes=st.sampled_from((1, 300_000, 1_200_000))),
)
logs = st.builds(
    Log,
    file_bytes=st.just(1 << 16),
    segment_bytes=st.sampled_from((8192, 32768)),
    block_bytes=st.sampled_from((512, 8192)),
    buffer_bytes=st.sampled_from((1, 4096, 1 << 20)),
    full_page_writes=st.booleans(),
    commit_delay_ns=st.sampled_from((0, 0, 5)),
    commit_siblings=st.integers(0, 2),
    synchronous_commit=st.booleans(),
    flushed_later=st.booleans(),
    writer_delay_ns=st.integers(1, 100),
    writer_flush_bytes=st.sampled_from((0, 512, 20_000)),
    replica=st.one_of(st.none(), st.builds(Replica, round_trip_ns=st.integers(0, 20), flush_ns=st.integers(0, 30))),
)
#: Of MySQL 8, whose threads flush it.
threaded_logs = st.builds(
    Log,
    file_bytes=st.just(1 << 16),
    segment_bytes=st.just(1 << 50),
    block_bytes=st.sampled_from((512, 4096)),
    buffer_bytes=st.sampled_from((1, 4096, 1 << 20)),
    full_page_writes=st.just(False),
    threads=st.just(True),
    fsync=st.booleans(),
)
_checkpoints = st.builds(
    Checkpoints,
    timeout_ns=st.integers(1, 1000),
    completion_target=st.sampled_from((0.5, 0.9)),
    segments=st.integers(1, 4),
    flush_after_pages=st.integers(0, 3),
    in_file_order=st.booleans(),
    since_ns=st.integers(0, 1000),
    nap_ns=st.sampled_from((NAP_NS, 50)),
)
_log_blocks = st.builds(
    LogBlocks,
    file_bytes=st.just(1 << 16),
    largest_block_bytes=st.sampled_from((512, 4096, 61_440)),
    most_writes=st.integers(1, 4),
    most_bytes=st.sampled_from((4096, 1 << 20)),
    delayed_durability=st.booleans(),
)
_pages = st.sampled_from((1, 3, 8800))
_bursts = st.builds(
    BurstCheckpoints,
    interval_ns=st.integers(1, 1000),
    slow_ns=st.sampled_from((0, 50)),
    most_pages=_pages,
    gathered_pages=st.integers(1, 4),
    since_ns=st.integers(0, 1000),
)
_indirect = st.builds(
    IndirectCheckpoints,
    target_ns=st.integers(1, 1000),
    slow_ns=st.sampled_from((0, 50)),
    most_pages=_pages,
    gathered_pages=st.integers(1, 4),
)
page_cleaners = st.builds(
    PageCleaner,
    form=st.sampled_from((MYSQL, MARIADB)),
    interval_ns=st.integers(20, 400),
    scan_depth=st.sampled_from((1, 4, 20)),
    io_capacity=st.integers(1, 4),
    io_capacity_max=st.integers(4, 12),
    neighbours=st.booleans(),
    workers=st.integers(1, 3),
    batch_pages=st.sampled_from((1, 3, 128)),
    doublewrite=st.booleans(),
    flush_doublewrite=st.booleans(),
    flush_data=st.booleans(),
    low_percent=st.sampled_from((0.0, 10.0)),
    most_percent=st.sampled_from((30.0, 90.0)),
    low_bytes=st.integers(0, 3000),
    async_bytes=st.integers(1000, 9000),
    sync_bytes=st.integers(2000, 9000),
    most_bytes=st.integers(3000, 20_000),
    loops=st.integers(1, 4),
    fsync=st.booleans(),
    most_singles=st.integers(0, 3),
)
binary_logs = st.builds(
    BinaryLog,
    commit_bytes=st.integers(1, 9000),
    sync_every=st.integers(0, 3),
    delay_ns=st.integers(0, 5),
    file_bytes=st.just(1 << 16),
)
_classes = st.lists(st.lists(_demands, max_size=5).map(tuple), min_size=1, max_size=3).map(tuple)

database_cases = st.builds(
    DatabaseCase,
    seed=st.integers(0, 10_000),
    sessions=st.integers(1, 6),
    statements=st.integers(0, 8),
    cores=st.integers(1, 3),
    frames=st.one_of(st.integers(2, 12), st.integers(13, 60)),
    rows=st.integers(1, 200),
    exponent=st.sampled_from((0.0, 0.8, 1.3)),
    classes=_classes,
    tick_ns=st.sampled_from((1000, 100_000)),
    disks=st.integers(1, 3),
    costs=st.lists(st.integers(0, 2), min_size=len(Costs._fields), max_size=len(Costs._fields)).map(tuple),
    counted_from=st.sampled_from((0, 0, 20)),
    io_workers=st.integers(0, 2),
    helpers=st.integers(0, 3),
    policy=st.sampled_from((SWEEP, LRU, LRU2, MIDPOINT)),
    ramp_pages=st.sampled_from((1, 1, 2, 8)),
    correlated=st.integers(0, 100),
    warmed=st.booleans(),
    writer_pages=st.integers(0, 3),
    os_cache_pages=st.sampled_from((0, 0, 1, 5, 30)),
    durability=st.one_of(
        st.tuples(logs, st.one_of(st.none(), _checkpoints)),
        st.tuples(_log_blocks, st.one_of(st.none(), _bursts, _indirect)),
    ),
    lazy_ticks=st.sampled_from((0, 20, 200)),
    extension_pages=st.sampled_from((0, 0, 1, 7)),
    temp=st.booleans(),
    page_cleaner=st.one_of(st.none(), page_cleaners),
    binary_log=st.one_of(st.none(), st.none(), binary_logs),
    phased=st.sampled_from((0, 0, 1, 3)),
)
