"""The free list of SQL Server's pool: who fills it, how changed pages go, what the pool's extension holds."""

import numpy as np
import pytest

from tests.runs import needs_jit, run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.errors import ScenarioError
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.buffer_pool.warm import warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import (
    COMPUTE,
    FOR_EVICTION,
    FREE_FRAMES,
    LOOKUP,
    LRU2,
    SWEEP,
    TAKEN,
    VALID,
    Database,
)
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.log_blocks import LogBlocks

pytestmark = pytest.mark.kernels

_MS = 1_000_000
_READ_NS, _WRITE_NS = 1 * _MS, 1 * _MS


def run(
    statements: int,
    *,
    frames: int = 400,
    pages: int = 1000,
    dirties: bool = False,
    lazy: LazyWriter | None = None,
    costs: Costs | None = None,
    extension_pages: int = 0,
    cpu_ns: int = 100_000,
    exponent: float = 0.0,
    sessions: int = 1,
) -> tuple[Database, int, int]:
    """Sessions look up rows of one page each; returns what the disk and the extension did, too, in requests."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 16, _READ_NS)
    extension = add_server(builder, "extension", 16, 50_000)
    volume = add_server(builder, "log volume", 1, 10_000)
    loads = statements_of(sessions, statements, cpu_ns=cpu_ns)
    host = DatabaseHost(
        sessions, frames, log_station=volume, log=LogBlocks(), policy=LRU2, lazy_writer=lazy, costs=costs or Costs(),
        extension_station=extension, extension_pages=extension_pages,
    )  # fmt: skip
    relations = [Relation(pages, (pages,), exponent, station=disk)]
    does = [Demand(COMPUTE), Demand(LOOKUP, dirties=dirties)]
    database = add_database(builder, host, relations, [does], loads)
    warm(database, most_references=20_000)
    plant, _, _ = run_database(builder, database)
    return database, int(plant.work_ns[disk, 0]) // _READ_NS, int(plant.work_ns[extension, 0]) // 50_000


def test_frames_come_from_a_free_list_that_workers_fill() -> None:
    database, reads, _ = run(3000, lazy=LazyWriter(interval_ns=10**12))
    row = database.lazy_writer[0]
    taken = int(database.pool_state[TAKEN])
    assert reads == taken
    # all but the first, which LRU-2 gave, were freed before
    assert row["freed_frames"] - database.pool_state[FREE_FRAMES] == pytest.approx(taken, abs=1)
    assert database.pool_state[FREE_FRAMES] < 50 + 64  # an eighth of the pool was short
    held = np.flatnonzero(database.frame_of)
    assert len(held) + database.pool_state[FREE_FRAMES] == 400
    assert (database.page_of[database.frame_of[held] - 1] == held).all()


def test_the_lazy_writer_fills_a_short_list_up() -> None:
    """It comes each 20 ms, and at most fills the list: what statements take beyond that, workers provide."""
    seldom, _, _ = run(600, frames=800, pages=2000, lazy=LazyWriter(interval_ns=10**12))
    often, _, _ = run(600, frames=800, pages=2000, lazy=LazyWriter(interval_ns=1 * _MS))
    costs = Costs(evict_clean_ns=3_300)
    paid, _, _ = run(600, frames=800, pages=2000, lazy=LazyWriter(interval_ns=1 * _MS), costs=costs)
    assert often.pool_state[FREE_FRAMES] >= 64
    assert seldom.lazy_writer[0]["freed_frames"] > 300
    # who comes so often that the list is never short leaves nothing for the workers to pay
    assert int(paid.spent[0].sum()) == pytest.approx(int(often.spent[0].sum()), rel=0.01)


@needs_jit
def test_it_misses_hardly_more_than_lru_2_alone() -> None:
    _, alone, _ = run(20_000, frames=4000, pages=10_000, exponent=0.8)
    _, reads, _ = run(20_000, frames=4000, pages=10_000, exponent=0.8, lazy=LazyWriter())
    assert reads == pytest.approx(alone, rel=0.05)
    assert reads > alone  # free frames hold nothing


@needs_jit
def test_who_needs_a_frame_does_not_wait_for_a_changed_page_to_be_written() -> None:
    waits, _, _ = run(3000, dirties=True)
    lazy, _, _ = run(3000, dirties=True, lazy=LazyWriter(interval_ns=20 * _MS))
    assert waits.spent[0, FOR_EVICTION] == pytest.approx(int(waits.pool_state[TAKEN]) * _WRITE_NS, rel=0.05)
    assert lazy.spent[0, FOR_EVICTION] < 0.05 * waits.spent[0, FOR_EVICTION]
    assert lazy.lazy_writer[0]["written_pages"] > 1000


@needs_jit
def test_evicting_a_page_costs_the_workers_what_it_costs() -> None:
    """3.3 us each, all of them charged to statements, in lumps of those that one worker frees."""
    costs = Costs(evict_clean_ns=3_300)
    database, _, _ = run(3000, lazy=LazyWriter(interval_ns=10**12), costs=costs)
    free, _, _ = run(3000, lazy=LazyWriter(interval_ns=10**12))
    evicted = int(database.lazy_writer[0]["freed_frames"])
    more = int(database.spent[0].sum() - free.spent[0].sum())
    assert more == pytest.approx(evicted * 3_300, rel=0.02)


def test_what_is_changed_stays_until_it_is_written_and_nothing_is_lost() -> None:
    database, requests, _ = run(2000, dirties=True, lazy=LazyWriter(), sessions=8, frames=100)
    assert requests >= int(database.pool_state[TAKEN])
    frames = np.flatnonzero(database.state == VALID)
    assert (database.frame_of[database.page_of[frames]] == frames + 1).all()
    assert (database.done_ns > 0).all()


@needs_jit
def test_pages_that_left_are_read_back_from_the_extension() -> None:
    """The extension has room for all pages: the disk is hardly read any more."""
    database, reads, extension = run(6000, lazy=LazyWriter(), extension_pages=1000)
    alone, misses, _ = run(6000, lazy=LazyWriter())
    assert alone.lazy_writer[0]["extension_reads"] == 0
    assert reads < 0.02 * misses
    assert database.lazy_writer[0]["extension_reads"] > 0.95 * misses
    assert extension >= database.lazy_writer[0]["extension_reads"]


@needs_jit
def test_changed_pages_are_not_read_back_from_the_extension() -> None:
    """Each page that is read is changed: what lies in the extension of it is old, until it has been written and goes
    again.
    """
    clean, reads, _ = run(4000, lazy=LazyWriter(), extension_pages=100)
    place, page = clean.extension_place, clean.extension_page
    held = np.flatnonzero(place)
    assert (page[place[held] - 1] == held + 1).all()
    changed, _, _ = run(4000, lazy=LazyWriter(), extension_pages=900, dirties=True)
    dirty = changed.page_of[np.flatnonzero(changed.dirty)]
    assert not changed.extension_place[dirty].any()
    assert reads > 0


def test_parts_that_do_not_go_together_are_refused() -> None:
    builder = PlantBuilder(1)
    nothing = statements_of(0)
    with pytest.raises(ScenarioError, match="LRU-2"):
        add_database(builder, DatabaseHost(1, 1, policy=SWEEP, lazy_writer=LazyWriter()), [], [], nothing)
    with pytest.raises(ScenarioError, match="extension"):
        add_database(builder, DatabaseHost(1, 1, policy=LRU2, extension_pages=1), [], [], nothing)
