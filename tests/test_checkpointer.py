"""Checkpoints: when they begin, how they spread their writes, what they write and sync."""

import numpy as np
import pytest

from tests.runs import needs_jit, run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.database_state import COMPUTE, DIRTY_PAGES, LOG, LOOKUP, Database
from tiersim.simulator.database.wal.log import Log

pytestmark = pytest.mark.kernels

_S = 1_000_000_000
_CHANGE = (Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=200), Demand(LOG, log_bytes=50))


def run(
    statements: int,
    checkpoints: Checkpoints,
    *,
    cpu_ns: int = 4_000_000,
    pages: int = 500,
    frames: int = 1000,
    log: Log | None = None,
    os_cache_pages: int = 0,
    demands: tuple[Demand, ...] = _CHANGE,
    write_ns: int = 10_000,
    intervals: int = 8,
) -> tuple[Database, Plant, int]:
    """One session that changes a page, any of them, and commits, again and again; all pages are in the pool if it has
    room.
    """
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 8, write_ns)
    volume = add_server(builder, "log volume", 1, 10_000)
    loads = statements_of(1, statements, cpu_ns=cpu_ns)
    host = DatabaseHost(
        2, frames, log_station=volume, log=log or Log(), checkpoints=checkpoints, os_cache_pages=os_cache_pages
    )
    relations = [Relation(pages * 10, (pages,), station=disk)]
    database = add_database(builder, host, relations, [demands], loads, intervals=intervals)
    if pages <= frames:
        for page in range(pages):
            refer(database, page, 0, 0)
    plant, _, _ = run_database(builder, database, intervals, _S)
    return database, plant, disk


def test_a_timed_checkpoint_spreads_its_writes_over_its_share_of_the_time() -> None:
    database, _, _ = run(7_500, Checkpoints(timeout_ns=10 * _S))
    rows = database.checkpoints[: database.checkpointer[0]["count"]]
    assert len(rows) == 2
    assert np.diff(rows["start_ns"]).tolist() == [10 * _S]
    assert ((rows["written_ns"] - rows["start_ns"]) / (9 * _S)).tolist() == pytest.approx(
        [1, 1], abs=0.012
    )  # a nap is 0.1 s
    assert (rows["end_ns"] - rows["written_ns"] < 100_000).all()
    assert (rows["pages"] > 400).all()
    assert rows["written_pages"].tolist() == rows["pages"].tolist()


def test_the_first_comes_sooner_by_the_time_since_the_last() -> None:
    database, _, _ = run(2_000, Checkpoints(timeout_ns=10 * _S, since_ns=4 * _S))
    assert database.checkpoints[0]["start_ns"] == 6 * _S


def test_the_log_asks_for_one_when_it_has_grown_by_the_distance() -> None:
    """Between the beginnings lie as many segments as are allowed, at a segment's end."""
    log = Log(segment_bytes=16384, full_page_writes=False)
    database, _, _ = run(1500, Checkpoints(timeout_ns=1000 * _S, segments=4), log=log)
    rows = database.checkpoints[: database.checkpointer[0]["count"]]
    assert len(rows) > 3
    assert (rows["trigger"] == 1).all()
    assert (np.abs(rows["log_bytes"][1:] - 4 * 16384) <= 16384).all()
    assert rows["log_bytes"].mean() == pytest.approx(4 * 16384, rel=0.15)
    # written in 0.9 of the time that the log takes to grow so much again
    between = np.diff(rows["start_ns"]).mean()
    assert 0 <= (rows["written_ns"] - rows["start_ns"]).mean() - 0.9 * between <= 0.11 * _S  # a nap


@pytest.mark.parametrize("segments", [1, 2, 4])
def test_the_distance_is_that_of_the_sources(segments: int) -> None:
    """XLogCheckpointNeeded asks when the segment that is full is the last of so many, the one of the redo included."""
    log = Log(segment_bytes=16384, full_page_writes=False)
    database, _, _ = run(1000, Checkpoints(1000 * _S, completion_target=0.0, segments=segments), log=log)
    rows = database.checkpoints[: database.checkpointer[0]["count"]]
    assert (rows["log_bytes"] / 16384).tolist() == pytest.approx([segments] * len(rows), abs=0.05)


def test_a_target_of_nothing_writes_without_a_nap() -> None:
    database, _, _ = run(3_000, Checkpoints(timeout_ns=10 * _S, completion_target=0.0))
    row = database.checkpoints[0]
    assert row["written_ns"] - row["start_ns"] < 0.1 * _S


def test_without_changes_there_are_no_checkpoints() -> None:
    database, _, _ = run(
        500, Checkpoints(timeout_ns=_S // 10), cpu_ns=1_000_000, demands=(Demand(COMPUTE), Demand(LOOKUP))
    )
    assert database.checkpointer[0]["begun"] == 0


def test_one_that_takes_longer_than_its_time_is_followed_at_once() -> None:
    """A disk of 40 ms a write: some 480 pages take 19 s, and another was due after 10."""
    database, _, _ = run(7_500, Checkpoints(timeout_ns=10 * _S), write_ns=40_000_000)
    rows = database.checkpoints[:2]
    assert (rows["end_ns"] - rows["start_ns"])[0] > 16 * _S
    assert 0 <= rows["start_ns"][1] - rows["end_ns"][0] <= 10


@needs_jit
def test_pages_are_written_in_the_order_of_their_files_or_of_the_pool() -> None:
    for in_order in (True, False):
        database, _, _ = run(2_750, Checkpoints(timeout_ns=10 * _S, in_file_order=in_order), os_cache_pages=0)
        row = database.checkpoints[0]
        assert row["written_pages"] > 0
        assert bool(database.checkpointer[0]["in_file_order"]) == in_order


def test_others_writes_count_as_done() -> None:
    """A pool that is smaller than what is changed: sessions write pages that the checkpoint was to write."""
    database, _, _ = run(5_000, Checkpoints(timeout_ns=10 * _S), pages=1000, frames=250)
    row = database.checkpoints[0]
    assert 0 < row["written_pages"] < 0.9 * row["pages"]
    assert (row["written_ns"] - row["start_ns"]) / (9 * _S) == pytest.approx(1, abs=0.02)
    dirty = database.dirty[: len(database.page_of)].astype(bool)
    assert database.pool_state[DIRTY_PAGES] == dirty.sum()


def test_through_the_page_cache_pages_are_handed_on_and_synced() -> None:
    """With flush-after the volume gets the pages as they are written, and the sync waits for the last of them and a
    flush; without it, for all.
    """
    took = {}
    for pages in (32, 0):
        database, _, _ = run(
            3_000, Checkpoints(timeout_ns=5 * _S, flush_after_pages=pages), os_cache_pages=20_000, write_ns=200_000
        )
        row = database.checkpoints[0]
        took[pages] = int(row["end_ns"] - row["written_ns"])
        assert row["end_ns"] > 0
        assert database.page_cache[0]["written_back_pages"] >= row["written_pages"] > 300
    assert 2 * 200_000 <= took[32] < took[0] / 2


def test_each_file_that_was_written_to_is_synced_once() -> None:
    pages = 3 * 131_072 - 5
    database, _, _ = run(800, Checkpoints(timeout_ns=_S), pages=pages, frames=1000)
    assert len(database.written_files) == 3
    assert database.file_start.tolist() == [0, 131_072, 262_144, pages]
    assert database.checkpointer[0]["synced_files"] == 3 * database.checkpointer[0]["count"] > 0


def test_the_history_tells_of_dirty_pages_and_phases() -> None:
    database, _, _ = run(2_000, Checkpoints(timeout_ns=4 * _S), intervals=8)
    history = database.history
    assert history[:3, 4].tolist() == [0, 0, 0]
    assert set(history[4:7, 4].tolist()) == {1}
    assert (np.diff(history[:7, 1]) > 0).all()
    assert history[3, 0] > history[0, 0] > 0
    assert history[7, 3] >= history[4, 3] > 0


def test_a_page_that_others_wrote_is_not_written_again_though_it_was_changed_again() -> None:
    """A hot table in a pool too small for the rest: what has to go is written by sessions, comes back, and is changed
    again.
    """
    database, _, _ = run(5_000, Checkpoints(timeout_ns=10 * _S), pages=300, frames=200)
    row = database.checkpoints[0]
    assert row["written_pages"] < 0.4 * row["pages"]  # most have gone and come again before their turn
