"""The background writer: as many pages as PostgreSQL's writes, no more, and none that need not be."""

import numpy as np
import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.errors import ScenarioError
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter, finish_writer, resume_writer
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import COMPUTE, EVICTED_DIRTY, LOOKUP, LRU, TAKEN, Database
from tiersim.traces.schema import DATA_READ

pytestmark = pytest.mark.kernels

_WRITE_NS = 1000


def database_of(
    frames: int,
    pages: int,
    cpu_ns: list[int],
    think_ns: list[int] | None = None,
    writer: BackgroundWriter | None = None,
    os_cache_pages: int = 0,
) -> tuple[PlantBuilder, Database, int]:
    """One session that looks up a page, any of them, in each statement; its disk takes a microsecond."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 64, _WRITE_NS)
    think = {} if think_ns is None else {"think_ns": np.array(think_ns)}
    loads = statements_of(1, len(cpu_ns), cpu_ns=cpu_ns, **think)
    host = DatabaseHost(1, frames, background_writer=writer or BackgroundWriter(), os_cache_pages=os_cache_pages)
    database = add_database(
        builder, host, [Relation(pages, (pages,), station=disk)], [[Demand(COMPUTE), Demand(LOOKUP)]], loads
    )
    return builder, database, disk


def run(builder: PlantBuilder, database: Database) -> tuple[Plant, int]:
    """Run to the end; returns the plant and how many pages were missed."""
    plant, _, metrics = run_database(builder, database)
    return plant, int(metrics.latency[DATA_READ].sum())


def full_of_dirty_pages(database: Database) -> None:
    """Fill the pool with pages that were changed and not used since."""
    for page in range(len(database.page_of)):
        refer(database, page, 1, 0)
    database.used[:] = 0
    database.pool_state[TAKEN] = 0


def test_it_writes_100_pages_every_200_ms_and_no_more() -> None:
    builder, database, disk = database_of(3000, 20_000, [1_000_000] * 2100)
    full_of_dirty_pages(database)
    plant, missed = run(builder, database)
    assert missed > 1500  # of which more than 100 in a round
    began, ended = 1_000_001, int(database.done_ns[-1])  # the first lookup misses
    rounds = (ended - began) // (200_000_000 + 100 * (_WRITE_NS + 1))
    assert rounds == 10
    assert database.writer[0]["rounds"] == rounds
    assert database.writer[0]["written_pages"] == 100 * rounds
    by_sessions = int(plant.stations[disk]["finished"]) - missed - 100 * rounds
    assert by_sessions > 500  # they had to write the others
    assert int(database.pool_state[EVICTED_DIRTY]) == pytest.approx(by_sessions, abs=1)


def test_what_it_writes_through_the_page_cache_is_written_back_soon() -> None:
    """Nothing else would be: the cache is not nearly full of dirty pages, and none is 30 s old."""
    written_back = []
    for pages in (64, 0):
        writer = BackgroundWriter(flush_after_pages=pages)
        builder, database, _ = database_of(3000, 20_000, [2_000_000] * 600, writer=writer, os_cache_pages=40_000)
        full_of_dirty_pages(database)
        run(builder, database)
        assert database.writer[0]["written_pages"] > 200
        written_back.append(int(database.page_cache[0]["written_back_pages"]))
    assert written_back[0] >= database.writer[0]["written_pages"] - 200
    assert written_back[1] == 0


def test_sessions_write_nothing_when_it_is_ahead_of_them() -> None:
    """30 pages are missed in a round, and it provides for 60: after the first round only it writes."""
    builder, database, disk = database_of(3000, 20_000, [5_000_000] * 1000)
    full_of_dirty_pages(database)
    plant, missed = run(builder, database)
    by_writer = int(database.writer[0]["written_pages"])
    assert missed - 40 <= by_writer <= missed + 100
    assert int(plant.stations[disk]["finished"]) - missed - by_writer <= 40


def test_it_sleeps_when_nothing_happens_and_wakes_for_the_next_page() -> None:
    """A pool of 2,400 pages is looked at within 120 s at the latest, 4 pages a round."""
    second = 1_000_000_000
    builder, database, _ = database_of(2400, 20_000, [1000] * 3, [0, 300 * second, second])
    full_of_dirty_pages(database)
    run(builder, database)
    assert 595 <= database.writer[0]["rounds"] <= 615
    assert database.writer[0]["awake"] == 1
    assert not database.dirty[database.page_of >= 0][5:].any()


def plain_rounds(frames: int, used: list[int], dirty: list[int], misses: list[int], hits: list[list[int]]) -> int:
    """PostgreSQL's procedure with its floating point numbers; returns how many pages the writer wrote.

    Before each round so many pages are missed, clean when they come, and frames are hit.
    """
    hand = laps = following = following_lap = last_hand = last_laps = written = 0
    alloc, density, known = 0.0, 10.0, False
    for missed, hit in zip(misses, hits, strict=True):
        for _ in range(missed):
            while True:
                frame = hand
                hand += 1
                if hand == frames:
                    hand, laps = 0, laps + 1
                if used[frame] == 0:
                    break
                used[frame] -= 1
            used[frame], dirty[frame] = 1, 0
        for frame in hit:
            used[frame] = min(used[frame] + 1, 5)
            dirty[frame] = 1
        passed = hand - last_hand + (laps - last_laps) * frames if known else 0
        if known and following_lap > laps:
            left = hand - following
        elif known and following_lap == laps and following >= hand:
            left = frames - (following - hand)
        else:
            following, following_lap, left = hand, laps, frames
        known, last_hand, last_laps = True, hand, laps
        if passed > 0 and missed > 0:
            density += (passed / missed - density) / 16
        estimate = int((frames - left) / density)
        alloc = missed if alloc <= missed else alloc + (missed - alloc) / 16
        upcoming = max(int(alloc * 2.0), int(frames / 600) + estimate)
        reusable, to_scan, this_round = estimate, left, 0
        while to_scan > 0 and reusable < upcoming:
            frame = following
            following += 1
            if following == frames:
                following, following_lap = 0, following_lap + 1
            to_scan -= 1
            if used[frame]:
                continue
            reusable += 1
            if dirty[frame]:
                dirty[frame] = 0
                this_round += 1
                if this_round == 100:
                    break
        written += this_round
        if left > to_scan and reusable > estimate:
            density += ((left - to_scan) / (reusable - estimate) - density) / 16
    return written


@pytest.mark.parametrize("seed", range(4))
def test_it_writes_as_many_pages_as_the_procedure_with_floating_point_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames, rounds = 700, 60
    builder, database, _ = database_of(frames, 10_000, [])
    plant = builder.build(16)
    for page in range(frames):
        refer(database, page, 0, 0)
    used, dirty = database.used.tolist(), database.dirty.tolist()
    misses = rng.integers(0, 30, rounds).tolist()
    hits = [rng.zipf(1.3, 200).astype(np.int64).clip(1, frames) - 1 for _ in range(rounds)]
    page = frames
    database.pool_state[TAKEN] = 0
    for missed, hit in zip(misses, hits, strict=True):
        for _ in range(missed):
            refer(database, page, 0, 0)
            page += 1
        for frame in hit.tolist():
            refer(database, int(database.page_of[frame]), 1, 0)
        made = finish_writer(plant, database)
        while made and not plant.children[0]["background"]:
            made = resume_writer(plant, database)
    expected = plain_rounds(frames, used, dirty, misses, [hit.tolist() for hit in hits])
    assert expected > 50
    assert database.writer[0]["written_pages"] == pytest.approx(expected, rel=0.03)


def test_it_goes_ahead_of_a_sweep_only() -> None:
    host = DatabaseHost(1, 8, policy=LRU, background_writer=BackgroundWriter())
    with pytest.raises(ScenarioError, match="goes ahead of PostgreSQL's sweep"):
        add_database(PlantBuilder(1), host, [], [], statements_of(0))
