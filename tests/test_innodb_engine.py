"""InnoDB's pool, page cleaners, log and binary log: both engines equal, lists in order, closed forms."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.databases import DatabaseCase, binary_logs, database_cases, logs, page_cleaners, threaded_logs
from tests.examples import examples
from tests.runs import needs_jit, run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.innodb import group_ms
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.adaptive_flushing import MARIADB, MYSQL
from tiersim.simulator.database.buffer_pool.flush_list import checkpoint_age, count_older
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.buffer_pool.warm import begin_log, refer, settle, warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.database_state import (
    COMPUTE,
    DIRTY_PAGES,
    FREE_FRAMES,
    LOCK,
    LOG,
    LOOKUP,
    LRU,
    MIDPOINT,
    UNUSED,
    VALID,
    Database,
)
from tiersim.simulator.database.wal.binary_log import BinaryLog
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels

#: Cases with page cleaners, and two of three with a binary log.
innodb_cases = st.builds(
    lambda case, log, cleaner, binary_log: replace(
        case, policy=MIDPOINT, durability=(log, None), page_cleaner=cleaner, binary_log=binary_log, os_cache_pages=0
    ),
    database_cases,
    st.one_of(logs, threaded_logs),
    page_cleaners,
    st.one_of(st.none(), binary_logs),
)


def goes_on() -> Callable[[int], None]:
    """Return what fails when two million events pass in which no statement ends: cleaners never cease by themselves."""
    ended: list[int] = []

    def watch(statements: int) -> None:
        ended.append(statements)
        assert len(ended) < 20 or statements > ended[-20], f"nothing goes on after {statements} statements"

    return watch


@settings(max_examples=examples(150), deadline=None)
@given(innodb_cases)
def test_engines_agree_on_innodb(case: DatabaseCase) -> None:
    builder, database, metrics = case.fresh()
    plant, outcome = engine.run_database(builder.build(4), database, metrics, progress=goes_on())
    builder, other, other_metrics = case.fresh()
    reference = ReferenceEngine(builder.build(4), [], other_metrics, database=other)
    expected = reference.run()
    assert (outcome.end_ns, outcome.requests, outcome.left) == (expected.end_ns, expected.requests, case.sessions)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)
    for name in database._fields:
        if name not in ("laws", "holds"):
            np.testing.assert_array_equal(getattr(database, name), getattr(other, name), err_msg=name)


@pytest.mark.long
@settings(max_examples=examples(400), deadline=None)
@given(innodb_cases)
def test_lists_hold_what_the_frames_say(case: DatabaseCase) -> None:
    builder, d, metrics = case.fresh()
    engine.run_database(builder.build(4), d, metrics, progress=goes_on())
    frames = len(d.page_of)

    def walk(newer: np.ndarray, head: int) -> list[int]:
        found, frame = [], int(newer[head])
        while frame != head:
            found.append(frame)
            frame = int(newer[frame])
        return found

    young, old = walk(d.newer, frames), walk(d.newer, frames + 1)
    assert (len(young), len(old)) == (int(d.midpoint[0]["young"]), int(d.midpoint[0]["old"]))
    free = set(d.free_frames[: d.pool_state[FREE_FRAMES]].tolist()) | set(range(int(d.pool_state[UNUSED]), frames))
    assert free.isdisjoint([*young, *old])
    assert len(free) + len(young) + len(old) == frames
    assert all(d.frame_of[d.page_of[frame]] == frame + 1 for frame in [*young, *old])
    changed = walk(d.flush_newer, frames)
    assert sorted(changed) == np.flatnonzero(d.dirty).tolist()
    assert len(changed) == int(d.pool_state[DIRTY_PAGES])
    positions = d.oldest_position[changed]
    assert (np.diff(positions) >= 0).all()
    least = min([*positions.tolist(), *(row[1] for row in d.batches.tolist() if row[0])], default=None)
    inserted = int(d.log[0]["inserted"])
    assert checkpoint_age(d) == (0 if least is None else inserted - min(least, inserted))
    assert (d.used[d.state == VALID] <= 3).all()


_MS = 1_000_000


def run(
    does: list[Demand],
    statements: int,
    *,
    sessions: int = 1,
    frames: int = 400,
    pages: int = 1000,
    exponent: float = 0.0,
    log: Log | None = None,
    cleaner: PageCleaner | None = None,
    binary_log: BinaryLog | None = None,
    tables: int = 1,
    os_cache_pages: int = 0,
    aged: tuple[int, int] | None = None,
) -> tuple[Database, int, int]:
    """Sessions do the same again and again; returns requests of the disk (1 ms each) and of the log's (0.1 ms), too.

    The pool is full with so many changed pages over so many bytes of the log, *aged*, or empty.
    """
    builder = PlantBuilder(1)
    disk, volume = add_server(builder, "disk", 16, _MS), add_server(builder, "log volume", 1, _MS // 10)
    loads = statements_of(sessions, statements, cpu_ns=1000)
    host = DatabaseHost(
        8, frames, log_station=volume, log=log or Log(full_page_writes=False, segment_bytes=1 << 40), policy=MIDPOINT,
        page_cleaner=cleaner or PageCleaner(), doublewrite_station=disk,
        binary_log=None if binary_log is None else replace(binary_log, station=volume), page_bytes=16384,
        os_cache_pages=os_cache_pages,
    )  # fmt: skip
    database = add_database(
        builder, host, [Relation(pages, (pages,), exponent, station=disk, tables=tables)], [does], loads
    )
    if aged is not None:
        warm(database, builder.build(16), transaction_ns=_MS, most_references=20_000)
        settle(database, 0, *aged, 0)
    plant, _, _ = run_database(builder, database, progress=goes_on())
    return database, int(plant.work_ns[disk, 0]) // _MS, int(plant.work_ns[volume, 0]) // (_MS // 10)


COMMIT = [Demand(COMPUTE), Demand(LOG, log_bytes=100)]


@pytest.mark.parametrize("scan_depth", [1, 2, 100])
def test_mariadb_s_cleaner_frees_frames_however_few_it_looks_at(scan_depth: int) -> None:
    """Nothing else asks for pages to be written: nobody commits, and a third of io_capacity is no page."""
    change = [Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=100)]
    cleaner = PageCleaner(scan_depth=scan_depth, io_capacity=1, io_capacity_max=4, low_bytes=0)
    d, _, _ = run(change, 20, sessions=3, frames=2, pages=50, cleaner=cleaner)
    assert int(d.page_cleaner[0]["lru_pages"]) > 0


@pytest.mark.parametrize(("sync_every", "each"), [(0, 2), (1, 7), (10, 2.5)])
def test_a_commit_alone_costs_a_write_and_a_flush_and_a_write_and_the_journal_when_the_binary_log_is_synced(
    sync_every: int, each: float
) -> None:
    _, _, requests = run(COMMIT, 100, binary_log=BinaryLog(sync_every=sync_every))
    assert requests == pytest.approx(100 * each)


def test_fsync_of_a_log_that_is_written_over_commits_the_journal_once_a_tick() -> None:
    log = Log(full_page_writes=False, segment_bytes=1 << 40, fsync=True)
    d, _, requests = run(COMMIT, 100, log=log)  # 20 or 21 ms: two requests of 0.1 ms each, five with a commit
    assert int(d.journals[0]["commits"]) == 5
    assert requests == 200 + 3 * 5


def test_groups_of_the_binary_log_form_while_one_is_synced() -> None:
    d, _, requests = run(COMMIT, 200, sessions=8, binary_log=BinaryLog())
    groups = int(d.binary_log[0]["groups"])
    assert 400 <= groups < 1600  # one server: a group waits for the flush of the redo of the next
    assert int(d.binary_log[0]["done"]) == 1600
    assert requests == 5 * groups + 2 * int(d.log[0]["flushes"])


@pytest.mark.parametrize(("binary_log", "commits_a_flush"), [(None, 4.0), (BinaryLog(), 1.0)])
def test_a_row_waits_for_no_flush_of_the_redo_unless_there_is_a_binary_log(
    binary_log: BinaryLog | None, commits_a_flush: float
) -> None:
    """8 sessions change one row: they commit in two groups by turns, or one behind the other."""
    change = [Demand(COMPUTE), Demand(LOOKUP), Demand(LOCK, dirties=True, log_bytes=100), Demand(LOG, log_bytes=10)]
    d, _, _ = run(change, 100, sessions=8, pages=1, binary_log=binary_log)
    assert 800 / int(d.log[0]["flushes"]) == pytest.approx(commits_a_flush, rel=0.1)


@pytest.mark.parametrize(
    ("log", "requests"), [(Log(full_page_writes=False, synchronous_commit=False), 0), (Log(flushed_later=True), 100)]
)
def test_commits_that_wait_for_no_flush(log: Log, requests: int) -> None:
    """The log writer's first round comes after the run."""
    assert run(COMMIT, 100, log=replace(log, writer_delay_ns=10**9, segment_bytes=1 << 40))[2] == requests


@pytest.mark.parametrize("sessions", [1, 8])
def test_who_commits_at_once_shares_a_flush_of_the_log_threads(sessions: int) -> None:
    """A flush takes a write and a flush of the volume."""
    d, _, requests = run(COMMIT, 200, sessions=sessions, log=Log(full_page_writes=False, threads=True))
    assert int(d.log[0]["flushed"]) == int(d.log[0]["inserted"]) == 200 * sessions * 100
    assert (int(d.log[0]["flushes"]), requests) == (200, 400)


CHANGE = [Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=100), Demand(LOG, log_bytes=10)]


@pytest.mark.parametrize(("form", "flushed_twice"), [(MYSQL, True), (MYSQL, False), (MARIADB, True)])
def test_a_pool_that_is_changed_all_over_writes_each_page_twice(form: int, flushed_twice: bool) -> None:
    """A page is written for each that is read, and as often to the doublewrite file, in batches or by itself; MySQL 5.7
    flushes behind both, MySQL 8 behind the page alone.
    """
    cleaner = PageCleaner(
        form, interval_ns=50 * _MS, scan_depth=64, io_capacity=1, io_capacity_max=4000, batch_pages=16,
        flush_doublewrite=flushed_twice,
    )  # fmt: skip
    d, requests, _ = run(CHANGE, 500, sessions=8, cleaner=cleaner)
    c = d.page_cleaner[0]
    missed = int(d.pages_read.sum())
    written = int(c["written_pages"] + c["single_pages"])
    assert missed > 1500
    assert 0 <= written - (missed - 400) <= 0.08 * missed  # who is changed while it is written is written again
    flushes = (1 + flushed_twice) * int(c["batches"] + c["single_pages"])
    assert requests == pytest.approx(
        missed + written + int(c["batches"]) + int(c["single_pages"]) + flushes, abs=40
    )  # the last are under way
    assert (int(c["single_pages"]) > 0) <= (form == MYSQL)


def test_who_waits_for_room_in_the_log_of_an_idle_server_waits_round_after_round() -> None:
    """100 changed pages lie over 5 MB of a log of 3 MB: 41 must be written, two in a round, the first one at once."""
    cleaner = PageCleaner(
        MYSQL, interval_ns=50 * _MS, scan_depth=0, io_capacity=1, io_capacity_max=1, low_bytes=0,
        async_bytes=1_000_000, sync_bytes=2_000_000, most_bytes=3_000_000,
    )  # fmt: skip
    d, _, _ = run(CHANGE, 1, frames=1000, cleaner=cleaner, aged=(100, 5_000_000))
    assert int(d.page_cleaner[0]["log_waits"]) == 1
    assert int(d.log[0]["flushed"]) == 110  # of the statement that waited
    assert int(d.page_cleaner[0]["written_pages"]) == 42


@needs_jit
@pytest.mark.parametrize("second_ms", [10, 40])
def test_rates_of_page_cleaners_are_by_their_second(second_ms: int) -> None:
    """8 sessions commit in two groups by turns; a group takes a write and a flush of the log, 0.2 ms."""
    cleaner = PageCleaner(MYSQL, interval_ns=second_ms * _MS, io_capacity=1, io_capacity_max=1, loops=1)
    d, _, _ = run(CHANGE, 3000, sessions=8, frames=2000, pages=10, cleaner=cleaner)
    groups = second_ms / (2 * 0.1)
    assert int(d.page_cleaner[0]["log_rate"]) == pytest.approx(groups * 4 * 110, rel=0.1)


@pytest.mark.parametrize(("most", "at_once"), [(1, 1), (2, 2), (4, 4), (0, 5)])
def test_so_many_sessions_write_a_page_at_once(most: int, at_once: float) -> None:
    """Nobody else does. A page is written and flushed twice, 4 ms; 8 sessions, which read and commit besides, write 5
    at once where nobody counts them.
    """
    cleaner = PageCleaner(
        MYSQL, interval_ns=10_000 * _MS, scan_depth=0, io_capacity=1, io_capacity_max=1, most_singles=most
    )
    d, _, _ = run(CHANGE, 200, sessions=8, cleaner=cleaner)
    c = d.page_cleaner[0]
    assert int(c["written_pages"]) == int(c["singles"]) == 0
    assert int(d.pages_read.sum()) - 400 == pytest.approx(int(c["single_pages"]), rel=0.01)
    filled_ms = 400 / 8  # a page each
    took_ms = int(d.sessions["started_ns"].max()) / _MS - filled_ms
    assert took_ms == pytest.approx(int(c["single_pages"]) * 4 / at_once, rel=0.1)


def test_a_page_that_a_session_writes_is_flushed_where_it_lies() -> None:
    """The doublewrite file lies on another volume, which is flushed behind its own write alone."""
    builder = PlantBuilder(1)
    disk, volume, apart = (add_server(builder, name, 16, _MS) for name in ("disk", "log volume", "other volume"))
    cleaner = PageCleaner(MYSQL, interval_ns=10_000 * _MS, scan_depth=0, io_capacity=1, io_capacity_max=1)
    host = DatabaseHost(
        8, 400, log_station=volume, log=Log(full_page_writes=False, segment_bytes=1 << 40), policy=MIDPOINT,
        page_cleaner=cleaner, doublewrite_station=apart, page_bytes=16384,
    )  # fmt: skip
    relation = Relation(1000, (1000,), station=disk)
    d = add_database(builder, host, [relation], [CHANGE], statements_of(8, 200, cpu_ns=1000))
    plant, _, _ = run_database(builder, d, progress=goes_on())
    singles = int(d.page_cleaner[0]["single_pages"])
    assert singles > 300
    assert int(plant.stations[apart]["finished"]) == pytest.approx(2 * singles, abs=16)  # the last are under way
    assert int(plant.stations[disk]["finished"]) == pytest.approx(int(d.pages_read.sum()) + 2 * singles, abs=24)


@pytest.mark.parametrize("fsync", [False, True])
@pytest.mark.parametrize("scan_depth", [0, 200])  # sessions write pages, or cleaners do
def test_the_doublewrite_file_commits_the_journal_where_it_lies_by_fsync(scan_depth: int, fsync: bool) -> None:
    builder = PlantBuilder(1)
    disk, volume, apart = (add_server(builder, name, 16, _MS) for name in ("disk", "log volume", "other volume"))
    cleaner = PageCleaner(MYSQL, interval_ns=50 * _MS, scan_depth=scan_depth, io_capacity=1, fsync=fsync)
    host = DatabaseHost(
        8, 400, log_station=volume, log=Log(full_page_writes=False, segment_bytes=1 << 40), policy=MIDPOINT,
        page_cleaner=cleaner, doublewrite_station=apart, page_bytes=16384,
    )  # fmt: skip
    relation = Relation(1000, (1000,), station=disk)
    d = add_database(builder, host, [relation], [CHANGE], statements_of(8, 200, cpu_ns=1000))
    run_database(builder, d, progress=goes_on())
    c = d.page_cleaner[0]
    assert int(c["written_pages"] if scan_depth else c["single_pages"]) > 300
    assert bool((d.journals["commits"][d.journals["volume"] == apart] > 10).any()) == fsync


@pytest.mark.parametrize(("doublewrite", "there"), [(True, True), (False, False)])
def test_no_journal_lies_where_no_doublewrite_file_does(doublewrite: bool, there: bool) -> None:
    builder = PlantBuilder(1)
    disk, volume, apart = (add_server(builder, name, 16, _MS) for name in ("disk", "log volume", "other volume"))
    host = DatabaseHost(
        8, 400, log_station=volume, log=Log(full_page_writes=False, segment_bytes=1 << 40), policy=MIDPOINT,
        page_cleaner=PageCleaner(MYSQL, fsync=True, doublewrite=doublewrite), doublewrite_station=apart,
        page_bytes=16384,
    )  # fmt: skip
    add_database(builder, host, [Relation(1000, (1000,), station=disk)], [CHANGE], statements_of(1, 1))
    assert ("other volume.journal" in {one.name for one in builder.stations}) == there


@pytest.mark.parametrize(("tables", "batch_pages", "least"), [(1, 16, 1), (20, 1, 1), (20, 16, 9), (20, 100, 17)])
def test_each_data_file_of_a_batch_is_flushed_by_itself(tables: int, batch_pages: int, least: float) -> None:
    """Of 20 files 16 pages that are drawn evenly lie in 11; the last batch of a round is shorter."""
    cleaner = PageCleaner(MARIADB, interval_ns=50 * _MS, scan_depth=200, io_capacity_max=4000, batch_pages=batch_pages)
    d, requests, _ = run(CHANGE, 500, sessions=8, cleaner=cleaner, tables=tables)
    c = d.page_cleaner[0]
    batches, flushes = int(c["batches"]), int(c["file_flushes"])
    assert least * batches - 1 <= flushes <= min(tables, batch_pages) * batches
    written = int(c["written_pages"])
    assert requests == pytest.approx(int(d.pages_read.sum()) + written + 2 * batches + flushes, abs=40 + batch_pages)


@pytest.mark.parametrize(("os_cache_pages", "commits"), [(0, True), (2000, False)])
def test_data_files_commit_the_journal_by_fsync_but_in_the_os_page_cache(os_cache_pages: int, commits: bool) -> None:
    cleaner = PageCleaner(MARIADB, interval_ns=50 * _MS, scan_depth=200, io_capacity_max=4000, fsync=True)
    d, _, _ = run(CHANGE, 200, sessions=8, cleaner=cleaner, os_cache_pages=os_cache_pages)
    assert int(d.page_cleaner[0]["file_flushes"]) > 0
    assert bool(d.journals["commits"].any()) == commits


@pytest.mark.parametrize("fsync", [False, True])
def test_a_page_that_a_session_writes_commits_the_journal_by_fsync(fsync: bool) -> None:
    cleaner = PageCleaner(MYSQL, interval_ns=10_000 * _MS, scan_depth=0, io_capacity=1, io_capacity_max=1, fsync=fsync)
    d, _, _ = run(CHANGE, 200, sessions=8, cleaner=cleaner)
    assert int(d.page_cleaner[0]["written_pages"]) == 0 < int(d.page_cleaner[0]["single_pages"])
    assert bool(d.journals["commits"].any()) == fsync


@pytest.mark.parametrize("form", [MYSQL, MARIADB])
@pytest.mark.parametrize("frames", [1, 2, 3])
def test_who_waits_for_a_frame_takes_that_of_a_page_that_was_written_and_stayed(frames: int, form: int) -> None:
    """All frames are being written for the checkpoint's sake when a page is missed: the pool is told when they are."""
    cleaner = PageCleaner(
        form, interval_ns=3 * _MS, scan_depth=0, io_capacity=2, io_capacity_max=11, low_bytes=100, async_bytes=200,
        sync_bytes=200,
    )  # fmt: skip
    d, _, _ = run(CHANGE, 100, sessions=4, frames=frames, cleaner=cleaner)
    assert d.sessions["next"].tolist() == [100, 200, 300, 400]


@pytest.mark.parametrize("form", [MYSQL, MARIADB])
def test_the_checkpoint_gets_no_older_than_it_may(form: int) -> None:
    cleaner = PageCleaner(
        form, interval_ns=100 * _MS, io_capacity=1, io_capacity_max=2, low_bytes=10_000, async_bytes=60_000,
        sync_bytes=70_000, most_bytes=80_000,
    )  # fmt: skip
    d, _, _ = run(CHANGE, 600, sessions=4, frames=2000, cleaner=cleaner)
    assert int(d.log[0]["inserted"]) == 2400 * 110
    assert int(d.page_cleaner[0]["log_waits"]) > 0
    assert checkpoint_age(d) < 80_000 + 8 * 110


@pytest.mark.parametrize(("interval_ms", "listed"), [(50, False), (1, True)])
def test_mariadb_lets_changed_pages_grow_old_while_frames_run_short(interval_ms: int, listed: bool) -> None:
    """8 sessions miss some 5 pages a ms: half of 64 frames last for 6 ms. All changes are older than the low mark."""
    cleaner = PageCleaner(MARIADB, interval_ns=interval_ms * _MS, scan_depth=64, io_capacity_max=4000, low_bytes=0)
    d, _, _ = run(CHANGE, 500, sessions=8, cleaner=cleaner)
    c = d.page_cleaner[0]
    evicted = int(c["lru_pages"])
    assert (int(c["written_pages"]) - evicted > evicted) == listed
    assert listed or int(c["written_pages"]) - evicted < 0.05 * evicted  # while the pool filled


@pytest.mark.parametrize(("pages", "sleeps"), [(600, True), (950, False)])
def test_mariadb_sleeps_while_its_checkpoint_is_young_until_it_is_woken(pages: int, sleeps: bool) -> None:
    """All changed pages stay in 1,000 frames; 90 % of these wake it, the low mark does not."""
    cleaner = PageCleaner(MARIADB, interval_ns=_MS, scan_depth=0, io_capacity=9, io_capacity_max=9, low_bytes=10_000)
    d, _, _ = run(CHANGE, 1000, sessions=8, frames=1000, pages=pages, cleaner=cleaner)
    assert checkpoint_age(d) > 10 * 10_000
    assert (int(d.page_cleaner[0]["written_pages"]) == 0) == sleeps


def test_mariadb_writes_what_is_older_than_its_mark() -> None:
    """The log holds 880,000 bytes; the cleaner could write all 600 pages in each of its rounds."""
    cleaner = PageCleaner(
        MARIADB, interval_ns=_MS, scan_depth=0, io_capacity=1, io_capacity_max=600, low_bytes=10_000,
        async_bytes=200_000,
    )  # fmt: skip
    d, _, _ = run(CHANGE, 1000, sessions=8, frames=1000, pages=600, cleaner=cleaner)
    assert checkpoint_age(d) == pytest.approx(200_000, rel=0.1)
    assert int(d.pool_state[DIRTY_PAGES]) > 400


@pytest.mark.parametrize(("transaction_bytes", "renewed"), [(0, 300), (1, 0), (1000, 151)])
def test_changed_pages_are_as_old_as_the_filling_of_the_pool_made_them(transaction_bytes: int, renewed: int) -> None:
    """A transaction changed each of 300 pages; the first is to be 150,000 bytes old."""
    builder = PlantBuilder(1)
    host = DatabaseHost(1, 300, policy=MIDPOINT, page_cleaner=PageCleaner(), log=Log(full_page_writes=False))
    d = add_database(builder, host, [Relation(300, (300,))], [], statements_of(0))
    for page in range(300):
        refer(d, page, 1, 0)
        d.log[0]["inserted"] += 1
    begin_log(d)
    settle(d, 0, 300, 150_000, transaction_bytes)
    ages = -d.oldest_position
    assert checkpoint_age(d) == int(ages.max()) == 150_000
    natural = np.arange(300, 0, -1) * transaction_bytes
    natural[:renewed] = 150_000 * np.arange(renewed, 0, -1) // max(renewed, 1)
    natural[0] = 150_000
    assert sorted(ages.tolist()) == sorted(natural.tolist())
    assert count_older(d, -75_000, 300) == int((ages > 75_000).sum())


def test_parts_that_do_not_go_together_are_refused() -> None:
    def make(host: DatabaseHost) -> None:
        add_database(PlantBuilder(1), host, [], [], statements_of(0))

    with pytest.raises(ScenarioError, match="page cleaners free what InnoDB's list lets go"):
        make(DatabaseHost(1, 1, policy=LRU, page_cleaner=PageCleaner()))
    with pytest.raises(ScenarioError, match="leave out the checkpoints"):
        make(DatabaseHost(1, 1, policy=MIDPOINT, page_cleaner=PageCleaner(), checkpoints=Checkpoints()))


@pytest.mark.parametrize("took_ms", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("busy", [0.05, 0.5, 1.0])
def test_a_group_of_commits_takes_what_explains_how_long_they_waited(took_ms: float, busy: float) -> None:
    assert group_ms(busy / took_ms, took_ms * (1 + busy / 2)) == pytest.approx(took_ms)


def test_groups_never_take_longer_than_they_are_apart() -> None:
    assert group_ms(2.0, 100.0) == 0.5
