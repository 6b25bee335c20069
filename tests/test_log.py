"""The write-ahead log: who waits for which flush, what is written, what follows a checkpoint."""

from dataclasses import replace

import numpy as np
import pytest

from tests.examples import first
from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.simulator.categories import LOG_SYNC
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.database_state import COMPUTE, LOCK, LOG, LOOKUP, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.log import Log, Replica, recycle_segments
from tiersim.simulator.metrics import Metrics

pytestmark = pytest.mark.kernels

_IO_NS = 200_000


def run(
    sessions: int,
    commits: int,
    *,
    log: Log | None = None,
    cpu_ns: int = 1000,
    log_bytes: int = 100,
    costs: Costs | None = None,
    demands: list[Demand] | None = None,
    frames: int = 64,
    pages: int = 16,
    checkpoints: Checkpoints | None = None,
    bytes_per_s: int | None = None,
    os_cache_pages: int = 0,
) -> tuple[Database, Metrics, Plant]:
    """Let sessions commit one after the other on a log of 0.2 ms for a write and for a flush, with cores for all of
    them.
    """
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 8, 1_000_000)
    volume = add_server(builder, "log volume", 1, _IO_NS, bytes_per_s=bytes_per_s)
    loads = statements_of(sessions, commits, cpu_ns=cpu_ns)
    host = DatabaseHost(
        sessions, frames, log_station=volume, log=log or Log(), costs=costs or Costs(), checkpoints=checkpoints,
        os_cache_pages=os_cache_pages,
    )  # fmt: skip
    does = demands or [Demand(COMPUTE), Demand(LOG, log_bytes=log_bytes)]
    relations = [Relation(pages * 10, (pages,), station=disk)]
    database = add_database(builder, host, relations, [does], loads)
    plant, _, metrics = run_database(builder, database)
    return database, metrics, plant


def test_commits_that_come_during_a_flush_share_the_next() -> None:
    """Two batches alternate: the one that is flushed, and all others, which came meanwhile."""
    database, metrics, _ = run(8, 100)
    assert database.log[0]["commits"] == 800
    assert database.log[0]["flushes"] == pytest.approx(800 / 4, rel=0.05)
    took = int(metrics.latency_sum_ns[:, LOG_SYNC].sum()) / 800
    assert took == pytest.approx(2 * 2 * _IO_NS, rel=0.05)  # the flush under way, and one's own


def test_one_session_alone_flushes_each_commit() -> None:
    database, _, _ = run(1, 50)
    assert (database.log[0]["flushes"], database.log[0]["flushed"]) == (50, 5000)
    assert int(database.done_ns[-1]) == pytest.approx(50 * (1000 + 2 * _IO_NS), abs=300)


def test_whole_blocks_are_written_and_the_last_again() -> None:
    database, _, _ = run(1, 10, log_bytes=3000)
    ends = np.arange(1, 11) * 3000
    begins = (ends - 3000) // 8192
    assert database.log[0]["written_bytes"] == int((-(-ends // 8192) - begins).sum()) * 8192


@pytest.mark.parametrize(
    ("cached", "log", "places"),
    [
        (100, Log(), 15 + 4),  # 30,000 bytes of the log begin four blocks
        (10, Log(), 10),
        (100, Log(cached=False), 15),
    ],
)
def test_the_log_takes_places_of_pages_in_the_page_cache(cached: int, log: Log, places: int) -> None:
    """Fifteen pages are read, one of which is the root; a block that is written again has its place."""
    demands = [Demand(LOOKUP), Demand(LOG, log_bytes=300)]
    _, _, plant = run(1, 100, log=log, demands=demands, frames=1, pages=15, os_cache_pages=cached)
    assert plant.flash_caches[0]["used"] == places


def test_what_the_log_wrote_last_makes_older_pages_leave() -> None:
    demands = [Demand(LOOKUP), Demand(LOG, log_bytes=8192)]
    caches = [
        run(1, 2000, log=log, demands=demands, frames=1, pages=90, os_cache_pages=100)[0].page_cache[0]
        for log in (Log(), Log(cached=False))
    ]
    beside, alone = (int(one["read_pages"] - one["hit_pages"]) for one in caches)
    assert beside > 5 * alone


def test_the_end_of_a_segment_is_flushed_by_itself() -> None:
    database, _, _ = run(1, 3, log=Log(segment_bytes=16384), log_bytes=40_000)
    # 120,000 bytes end 7 segments, and 3 commits
    assert database.log[0]["flushes"] == 7 + 3


def test_a_segment_without_a_file_is_filled_and_synced_first() -> None:
    segment = 1 << 20
    there, made = (
        run(1, 50, log=Log(segment_bytes=segment, most_kept_bytes=kept), log_bytes=40_000, bytes_per_s=10**9)[0].log[0]
        for kept in (0, segment)
    )
    assert made["written_bytes"] == there["written_bytes"]
    assert made["files_end"] == 2 * segment  # of 2,000,000 bytes
    # each takes 1 ns to come to its station, too
    assert made["sync_ns"] - there["sync_ns"] == pytest.approx(segment + 5 * _IO_NS, abs=20)


@pytest.mark.long
@pytest.mark.parametrize("most_segments", first(1, 7, 2, 40, 1000))
def test_old_files_become_those_of_segments_to_come(most_segments: int) -> None:
    """Beside a list of files, from which each checkpoint takes the old ones, one after the other."""
    segment = 1 << 20
    settings = Log(segment_bytes=segment, most_kept_bytes=most_segments * segment)
    log = run(1, 1, log=settings, checkpoints=Checkpoints(completion_target=0.5))[0]
    row = log.log[0]
    files, expected, redo, inserted = set(range(most_segments)), 0.0, 0, 0
    for number in range(200):
        distance = (number * 7919 % 40 + 1) * segment // 3
        redo, before = max(inserted - segment // 5, 0), redo
        inserted = redo + distance
        files |= set(range(inserted // segment + 1))
        expected = redo - before if expected < redo - before else int(0.9 * expected + 0.1 * (redo - before))
        wanted = redo // segment + -(-expected * 1.1 * 1.5 // segment)  # xlog.c, XLOGfileslop
        last = min(wanted, redo // segment + most_segments - 1)
        for old in sorted(file for file in files if file < redo // segment):
            files.remove(old)
            if max(files) + 1 <= last:
                files.add(max(files) + 1)
        files -= set(range(redo // segment))
        row["redo"] = redo
        row["files_end"] = max(row["files_end"], (inserted // segment + 1) * segment)  # made meanwhile
        recycle_segments(log, redo - before)
        assert row["files_end"] == (max(files) + 1) * segment


def test_a_delay_lets_others_come_along_if_enough_are_active() -> None:
    """Commits that come within the delay after one another share a flush."""
    alone, _, _ = run(8, 50, cpu_ns=500_000)
    delayed, _, _ = run(8, 50, cpu_ns=500_000, log=Log(commit_delay_ns=2_000_000, commit_siblings=1))
    lonely, _, _ = run(8, 50, cpu_ns=500_000, log=Log(commit_delay_ns=2_000_000, commit_siblings=8))
    assert delayed.log[0]["flushes"] < 0.7 * alone.log[0]["flushes"]
    assert lonely.log[0]["flushes"] == alone.log[0]["flushes"]


def test_without_synchronous_commit_nobody_waits_and_the_log_writer_flushes() -> None:
    database, metrics, _ = run(2, 1000, cpu_ns=1_000_000, log=Log(synchronous_commit=False))
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= 2
    assert database.log[0]["flushes"] == pytest.approx(1.0 / 0.2, abs=1)  # each 200 ms of the second that it took


@pytest.mark.parametrize(("flush_bytes", "least", "most"), [(1 << 20, 38, 48), (0, 5, 8)])
def test_the_log_writer_flushes_each_mib_before_its_time(flush_bytes: int, least: int, most: int) -> None:
    """40 MB in a second. Each of the two segments that end is flushed once more, and so is what has come when 200 ms
    are over.
    """
    log = Log(synchronous_commit=False, writer_flush_bytes=flush_bytes)
    database, metrics, _ = run(2, 1000, cpu_ns=1_000_000, log_bytes=20_000, log=log)
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= 2
    assert least <= int(database.log[0]["flushes"]) <= most


def test_a_replica_confirms_after_the_flush_here() -> None:
    """It is sent what is durable here: a message there and back and its flush come on top; its flushes share, too."""
    replica = Replica(round_trip_ns=600_000, flush_ns=300_000)
    database, _, _ = run(1, 10, log=Log(replica=replica))
    assert int(database.done_ns[-1]) == pytest.approx(10 * (1000 + 2 * _IO_NS + 900_000), abs=100)
    _, metrics, _ = run(16, 50, log=Log(replica=replica))
    worst = 2 * 2 * _IO_NS + 600_000 + 2 * 300_000
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= worst + 10_000


def test_cpu_between_write_and_flush_delays_all_who_wait() -> None:
    without, _, _ = run(4, 50)
    with_cpu, _, _ = run(4, 50, costs=Costs(log_io_ns=100_000))
    took = [int(one.done_ns.max()) for one in (without, with_cpu)]
    assert took[1] / took[0] == pytest.approx((2 * _IO_NS + 200_000) / (2 * _IO_NS), rel=0.05)


def test_full_buffers_are_written_by_who_inserts() -> None:
    change = [Demand(COMPUTE), *[Demand(LOOKUP, dirties=True, log_bytes=4000)] * 8, Demand(LOG, log_bytes=50)]
    roomy, _, _ = run(1, 20, demands=change, log=Log(full_page_writes=False))
    tight, _, _ = run(1, 20, demands=change, log=Log(full_page_writes=False, buffer_bytes=8192))
    assert int(tight.done_ns[-1]) > int(roomy.done_ns[-1])
    assert int(tight.log[0]["flushes"]) == int(roomy.log[0]["flushes"]) == 20
    assert tight.log[0]["inserted"] == roomy.log[0]["inserted"] == 20 * (8 * 4000 + 50)


_CHANGE = [Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=200), Demand(LOG, log_bytes=50)]


def test_the_first_change_of_a_page_brings_its_image() -> None:
    database, _, _ = run(1, 400, demands=_CHANGE)
    assert database.log[0]["images"] == 16
    assert database.log[0]["inserted"] == 400 * 250 + 16 * 8100


def test_a_checkpoint_brings_images_again() -> None:
    database, _, _ = run(1, 4000, demands=_CHANGE, checkpoints=Checkpoints(timeout_ns=400_000_000))
    begun = int(database.checkpointer[0]["begun"])
    assert begun >= 3
    assert database.log[0]["images"] == 16 * (1 + begun)


def test_without_full_page_writes_there_are_no_images() -> None:
    database, _, _ = run(1, 100, demands=_CHANGE, log=Log(full_page_writes=False))
    assert (database.log[0]["images"], database.log[0]["inserted"]) == (0, 100 * 250)


def test_a_page_that_has_to_go_waits_for_the_log() -> None:
    """Nobody commits: it is evictions alone that flush the log, before they write."""
    change = [Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=200)]
    database, _, _ = run(1, 200, demands=change, frames=2, pages=50)
    log = database.log[0]
    assert log["commits"] == 0
    assert log["flushes"] > 50
    left = database.page_position[database.frame_of == 0]
    assert (left <= log["flushed"]).all()


def test_rows_stay_locked_until_the_commit_is_durable() -> None:
    """All change the same row: no flush is shared, each transaction has to wait for all before it."""
    one_row = [
        Demand(COMPUTE), Demand(LOOKUP), Demand(LOCK, dirties=True, log_bytes=100), Demand(LOG, log_bytes=50)
    ]  # fmt: skip
    builder = PlantBuilder(1)
    disk, volume = add_server(builder, "disk", 8, 1000), add_server(builder, "log volume", 1, _IO_NS)
    host, relations = DatabaseHost(4, 4, log_station=volume), [Relation(1, (1,), station=disk)]
    database = add_database(builder, host, relations, [one_row], statements_of(4, 5))
    run_database(builder, database)
    assert database.log[0]["flushes"] == 20
    assert int(database.done_ns.max()) >= 20 * 2 * _IO_NS
    assert (np.diff(np.sort(database.done_ns)) >= 2 * _IO_NS).all()


def test_longer_logs_never_make_commits_faster() -> None:
    took = []
    for log_bytes in (100, 10_000, 100_000):
        database, _, _ = run(4, 30, log=replace(Log(), segment_bytes=1 << 20), log_bytes=log_bytes)
        took.append(int(database.done_ns.max()))
    assert took == sorted(took)
