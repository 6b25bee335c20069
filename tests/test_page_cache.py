"""The operating system's page cache: what it holds, when it writes back, and who waits for that."""

import numpy as np
import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NONE, WAIT, Plant
from tiersim.devices.tiering.cached_blocks_kernels import (
    CLEAN,
    CLEANING,
    DIRTY,
    REDIRTIED,
    find,
    state_of,
    take_place,
)
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.categories import STATEMENT
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database, with_slots
from tiersim.simulator.database.cached_pages import be_written, change_state, take_page, use
from tiersim.simulator.database.database_state import AWAIT, LOOKUP, LRU, PREFETCH, Database
from tiersim.simulator.database.page_cache import (
    BY_WRITER,
    PAGES_AT_ONCE,
    accept_page_cache,
    choose_page_cache,
    finish_page_cache,
    hand_on,
    has_any,
    note_write_back,
    resume_page_cache,
)
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.policies import misses, numbered

pytestmark = pytest.mark.kernels

MS = 1_000_000
SECOND = 1000 * MS


def database_of(
    pages: int, cached: int, statements: int, *, dirties: bool = False, think_ns: list[int] | None = None,
    servers: int = 64, exponent: float = 0.0,
) -> tuple[PlantBuilder, Database, int]:  # fmt: skip
    """One session whose pool holds one page only, so that it goes to the page cache for nearly every one; a disk of 1
    ms.
    """
    builder = PlantBuilder(2)
    disk = add_server(builder, "disk", servers, MS)
    loads = statements_of(1, statements, **({} if think_ns is None else {"think_ns": np.array(think_ns)}))
    host = DatabaseHost(1, 1, policy=LRU, os_cache_pages=cached)
    demands = [[Demand(LOOKUP, dirties=dirties)]]
    return (
        builder,
        add_database(builder, host, [Relation(pages, (pages,), exponent, station=disk)], demands, loads),
        disk,
    )


def run(builder: PlantBuilder, database: Database) -> tuple[Plant, Metrics]:
    plant, _, metrics = run_database(builder, database)
    return plant, metrics


@pytest.mark.parametrize("cached", [1, 20, 150])
def test_it_holds_the_pages_that_were_used_last(cached: int) -> None:
    builder, database, disk = database_of(100, cached, 800, exponent=0.8)
    drawn = (draw_row(database, 0, 0, 256 * statement, 0) for statement in range(800))
    asked = np.array([page_at(database, 0, row, 0) for row in drawn])
    plant, _ = run(builder, database)
    past_the_pool = asked[np.append(True, np.diff(asked) != 0)]
    assert int(plant.stations[disk]["finished"]) == misses("lru", *numbered(past_the_pool), cached)
    cache = database.page_cache[0]
    assert cache["read_pages"] == len(past_the_pool)
    assert cache["read_pages"] - cache["hit_pages"] == plant.stations[disk]["finished"]


def test_a_page_that_it_holds_is_there_at_once() -> None:
    builder, database, _ = database_of(3, 10, 200)
    _, metrics = run(builder, database)
    assert int(database.done_ns[-1]) < 3 * MS + 200 * 20
    assert int(metrics.latency[STATEMENT].sum()) == 200


@pytest.mark.parametrize(("until_s", "written"), [(34, 0), (36, 1)])
def test_a_dirty_page_is_written_back_when_it_is_30_s_old(until_s: int, written: int) -> None:
    """The flusher comes every 5 s. The first page is evicted, dirty, when the second one is read."""
    builder, database, disk = database_of(1000, 100, 3, dirties=True, think_ns=[0, 0, until_s * SECOND])
    plant, _ = run(builder, database)
    assert database.page_cache[0]["written_back_pages"] == written
    assert int(plant.stations[disk]["finished"]) == 3 + written


def test_more_than_a_tenth_of_dirty_pages_is_written_back() -> None:
    builder, database, _ = database_of(100_000, 1000, 150, dirties=True)
    plant, _ = run(builder, database)
    dirty = int(plant.flash_caches[0]["dirty"]) + int(database.page_cache[0]["cleaning"])
    assert database.page_cache[0]["background_pages"] == 100
    assert dirty + int(database.page_cache[0]["written_back_pages"]) - int(database.page_cache[0]["cleaning"]) == 149
    assert 95 <= dirty <= 102


def test_writers_wait_while_a_fifth_is_dirty() -> None:
    """All pages are there and any write makes another dirty: beyond 20 pages, one more each millisecond for the one
    disk to write.
    """
    builder, database, disk = database_of(90, 100, 400, dirties=True, servers=1)
    fill = builder.build

    def filled(slots: int = 1024) -> Plant:
        plant = fill(slots)
        for page in range(90):
            take_place(plant, 0, page, CLEAN, 0)
        return plant

    builder.build = filled  # type: ignore[method-assign]  # the plant is made inside, and its cache has to be full by then
    plant, metrics = run(builder, database)
    written = int(plant.stations[disk]["finished"])
    assert int(database.page_cache[0]["read_pages"]) == int(database.page_cache[0]["hit_pages"])
    assert 50 < written < 400  # a page that was changed again before it was written is written once
    assert int(database.done_ns[-1]) == pytest.approx(written * MS, rel=0.1)
    assert int(plant.flash_caches[0]["dirty"]) + int(database.page_cache[0]["cleaning"]) <= 20
    assert int(metrics.latency_max_ns[STATEMENT]) > MS // 2


def test_a_sync_waits_for_pages_that_are_being_written_back() -> None:
    """Of five pages the first is clean, the second is being written back, the third is dirty, the fourth was changed
    while it is written back, the fifth is dirty.
    """
    builder, database, disk = database_of(100, 20, 1)
    plant, database = builder.build(16), with_slots(database, 16)
    size = 8192
    cache = int(database.page_cache[0]["station"])
    for page, state in enumerate((CLEAN, CLEANING, DIRTY, REDIRTIED, DIRTY)):
        change_state(plant, database, take_page(plant, database, page, 0), state)

    def ask(slot: int, op: int, first: int, pages: int, parent: int) -> int:
        request = plant.requests[slot]
        request["op"], request["parent"], request["row"] = op, parent, NONE
        request["offset_bytes"], request["length_bytes"] = first * size, pages * size
        return accept_page_cache(plant, database, slot, 1)

    def asked(made: int) -> list[tuple[int, int, int, int]]:
        children = plant.children[:made]
        return [(int(c["station"]), int(c["op"]), int(c["offset_bytes"]), int(c["length_bytes"])) for c in children]

    def end_write_back(page: int) -> None:
        ask(10, WRITE, page, 1, NONE)
        resume_page_cache(plant, database, 10, 2)

    def become(page: int, state: int) -> None:
        change_state(plant, database, find(plant, 0, page), state)

    database.page_cache[0]["cleaning"], database.page_cache[0]["write_backs"] = 2, 3
    assert ask(0, FLUSH, 0, 5, 1) == 2
    written, waited = asked(finish_page_cache(plant, database, 0))
    assert written == (cache, AWAIT, 2 * size, size)
    assert waited == (cache, PREFETCH, 3 * size, size)
    assert ask(2, PREFETCH, 3, 1, 0) == WAIT
    assert choose_page_cache(plant, database, 1)[0] == NONE
    end_write_back(3)  # what has changed is dirty now
    assert state_of(plant, 0, find(plant, 0, 3)) == DIRTY
    assert choose_page_cache(plant, database, 2)[0] == 2
    assert finish_page_cache(plant, database, 2) == 0
    become(2, CLEAN)
    assert asked(resume_page_cache(plant, database, 0, 3)) == [(cache, AWAIT, 3 * size, 2 * size)]
    become(3, CLEAN)
    become(4, CLEAN)
    assert asked(resume_page_cache(plant, database, 0, 4)) == [(cache, PREFETCH, size, 4 * size)]
    assert ask(3, PREFETCH, 1, 4, 0) == WAIT
    become(2, CLEANING)  # begun since then, further on
    end_write_back(1)
    assert choose_page_cache(plant, database, 5)[0] == NONE
    end_write_back(2)
    assert choose_page_cache(plant, database, 6)[0] == 3
    assert asked(resume_page_cache(plant, database, 0, 7)) == [(disk, FLUSH, 0, 0)]
    assert resume_page_cache(plant, database, 0, 8) == 0


@pytest.mark.parametrize("changed", [False, True])
def test_a_page_that_is_dirty_when_its_turn_comes_goes_once_it_is_written(changed: bool) -> None:
    """Of three pages the first was read last, which counts, the second was written to last, which does not."""
    builder, database, _ = database_of(100, 3, 1)
    plant = builder.build(16)

    def held() -> list[int]:
        return [page for page in range(6) if find(plant, 0, page)]

    first, second, _ = (take_page(plant, database, page, 0) for page in range(3))
    use(plant, 0, first)
    for state in (DIRTY, CLEANING):
        change_state(plant, database, second, state)
    take_page(plant, database, 3, 0)
    assert held() == [0, 1, 3]
    use(plant, 0, second)  # does not save it
    if changed:
        change_state(plant, database, second, REDIRTIED)
    be_written(plant, database, second)
    assert int(plant.flash_caches[0]["dirty"]) == changed
    take_page(plant, database, 4, 0)
    assert held() == ([1, 3, 4] if changed else [0, 3, 4])
    take_page(plant, database, 5, 0)
    assert held() == ([1, 4, 5] if changed else [3, 4, 5])


@pytest.mark.long
def test_neighbours_that_are_missing_are_read_together() -> None:
    builder, database, disk = database_of(1000, 500, 1)
    plant, database = builder.build(16), with_slots(database, 16)
    present = {3, 4, *range(10, 10 + 2 * PAGES_AT_ONCE)}
    for page in present:
        take_place(plant, 0, page, CLEAN, 0)
    request = plant.requests[0]
    request["op"], request["parent"], request["row"] = READ, 1, NONE
    request["offset_bytes"], request["length_bytes"] = 0, 8192 * 200
    made = finish_page_cache(plant, database, 0)
    read = [(int(c["offset_bytes"]) // 8192, int(c["length_bytes"]) // 8192) for c in plant.children[:made]]
    assert read == [(0, 3), (5, 5)]
    assert {int(c["station"]) for c in plant.children[:made]} == {disk}
    made = resume_page_cache(plant, database, 0, 1)
    assert made == 1  # the second part is there as a whole, the third is behind what is there
    assert int(plant.children[0]["offset_bytes"]) // 8192 == 10 + 2 * PAGES_AT_ONCE
    made = resume_page_cache(plant, database, 0, 2)
    assert made + int(database.page_cache[0]["hit_pages"]) == 1 * made + len(present)


def test_what_the_background_writer_has_written_is_handed_on_in_order() -> None:
    """The hand of the sweep comes to pages of all files, and to one twice; the table was made before its index, which
    has pages 0 to 10.
    """
    builder = PlantBuilder(2)
    disk = add_server(builder, "disk", 1, MS)
    host = DatabaseHost(1, 9, background_writer=BackgroundWriter(), os_cache_pages=50)
    relation = Relation(100, (1, 10, 100), 0.0, station=disk)
    database = add_database(builder, host, [relation], [[Demand(LOOKUP)]], statements_of(1, 1))
    plant = builder.build(16)
    for page in (40, 5, 12, 41, 3, 11, 3, 4):
        note_write_back(database, BY_WRITER, page)
    handed = plant.children[: hand_on(plant, database, BY_WRITER, 0)]
    size = 8192
    pages = [(int(one["offset_bytes"]) // size, int(one["length_bytes"]) // size) for one in handed]
    assert pages == [(11, 2), (40, 2), (3, 3)]
    assert not has_any(database, BY_WRITER)


def test_a_write_that_is_larger_than_the_cache_goes_on_piece_by_piece() -> None:
    """Five pages, room for two: two are dirty and are written back at once, the other three are asked for again."""
    builder, database, _ = database_of(100, 2, 1)
    plant, database = builder.build(16), with_slots(database, 16)
    size = 8192
    pieces, first, now = [], 7, 1
    for slot in range(3):
        request = plant.requests[slot]
        request["op"], request["parent"], request["row"] = WRITE, NONE, 0
        request["offset_bytes"], request["length_bytes"] = first * size, (12 - first) * size
        assert (accept_page_cache(plant, database, slot, now) == WAIT) == (slot > 0)  # what is dirty is on its way
        if slot > 0:
            assert choose_page_cache(plant, database, now)[0] == NONE
            assert resume_page_cache(plant, database, 10, now) == 0  # written back
            assert choose_page_cache(plant, database, now)[0] == slot
        children = plant.children[: finish_page_cache(plant, database, slot)].tolist()
        asked = [(op, offset // size, length // size) for _, op, offset, length, *_ in children if op == WRITE]
        assert (FLUSH in [child[1] for child in children]) == (slot == 0)  # the flusher begins with the first write
        written_back = asked[-1]
        pieces.append(written_back[1:])
        if len(asked) == 2:
            first = asked[0][1]
            assert asked[0][2] == 12 - first
        request = plant.requests[10]
        request["op"], request["parent"], request["row"] = WRITE, NONE, NONE
        request["offset_bytes"], request["length_bytes"] = written_back[1] * size, written_back[2] * size
        assert resume_page_cache(plant, database, slot, now) == 0  # who wrote goes on when its children are done
    assert pieces == [(7, 2), (9, 2), (11, 1)]
