"""Entries that changes of rows put into indexes: which leaves become dirty, and what counters say of how many there
are. The twin is plain Python and draws nothing from the kernels but where rows lie.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from tests.counted_databases import HEAP_PAGES, INDEX_PAGES, ROWS
from tests.runs import statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES, Plant
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.queries import NO_ENTRIES, IndexEntries, QueryWork, index_entries
from tiersim.scenarios.statements.variants import drawn_variants
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.buffer_pool.warm import warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOCK, LOG, LOOKUP, Database
from tiersim.simulator.database.wal.log import ENTRY_BYTES, Log
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.popularity import NONE_MOVED, first_updates, updated_pages, updates_before, zipf
from tiersim.traces.differences import Differences, EntityChange

LEAVES, HEAP, TABLE_ROWS, UPDATES = 20, 100, 2000, 150
_IMAGE, _RECORD, _COMMIT = 1000, 50, 30
#: Statements of a session draw rows by numbers that are so far apart.
_MOST_DEMANDS = 256


def _run(entry_share: int, *, needs_room: bool, **more: Any) -> Database:
    """Let one session update rows one after the other."""
    plant, database, stations = _made(entry_share, needs_room=needs_room, **more)
    engine.run_database(plant, database, new_metrics(FIRST_CLASS + 1, stations, RESOURCES, 2, 10**9))
    return database


def _made(
    entry_share: int,
    *,
    needs_room: bool,
    seen: float = 0.0,
    frames: int = 500,
    commits: bool = False,
    indexes: Sequence[Sequence[int]] = (),
    hint_images: bool = False,
) -> tuple[Plant, Database, int]:
    """Return a plant, its database before the run, and how many stations there are."""
    builder = PlantBuilder(3)
    disk = add_server(builder, "disk", 1, 1000)
    update = Demand(LOCK, dirties=True, log_bytes=_RECORD, entry_share=entry_share, needs_room=needs_room)
    demands = [Demand(LOOKUP), update, *([Demand(LOG, log_bytes=_COMMIT)] if commits else [])]
    host = DatabaseHost(1, frames, log_station=disk, log=Log(image_bytes=_IMAGE, hint_images=hint_images))
    relation = Relation(TABLE_ROWS, (1, LEAVES, HEAP), 0.5, station=disk, updates=seen, indexes=indexes)
    database = add_database(builder, host, [relation], [demands], statements_of(1, UPDATES))
    return builder.build(64), database, len(builder.stations)


def _rows(database: Database) -> list[int]:
    """Return the rows that the session updated, in order."""
    return [draw_row(database, 0, 0, statement * _MOST_DEMANDS, 0) for statement in range(UPDATES)]


def _dirty(database: Database) -> set[int]:
    return set(database.page_of[np.flatnonzero(database.dirty)].tolist())


def test_the_first_update_of_a_page_dirties_a_leaf_and_later_ones_do_not() -> None:
    database = _run(0, needs_room=True)
    leaves, heap = set(), set()
    for row in _rows(database):
        page = page_at(database, 0, row, 2)
        if page not in heap:
            leaves.add(page_at(database, 0, row, 1))
        heap.add(page)
    assert _dirty(database) == leaves | heap
    log = database.log[0]
    assert log["images"] == len(leaves) + len(heap)
    assert log["inserted"] == log["images"] * _IMAGE + UPDATES * _RECORD + len(heap) * ENTRY_BYTES


def test_a_page_that_was_updated_before_has_room() -> None:
    database = _run(0, needs_room=True, seen=1e9)
    assert database.has_room[1 + LEAVES :].all()
    assert _dirty(database) == {page_at(database, 0, row, 2) for row in _rows(database)}


@pytest.mark.parametrize("images", [True, False])
def test_the_next_lookup_of_a_row_that_moved_dirties_the_leaf_once(images: bool) -> None:
    """The twin goes on from the pages that the run began with."""
    _, begun, _ = _made(0, needs_room=True, seen=200)
    room, dead = begun.has_room.tolist(), begun.dead_entry.tolist()
    assert 10 < np.count_nonzero(dead) < HEAP
    database = _run(0, needs_room=True, seen=200, hint_images=images)
    dirty, logged, met, moved = set[int](), set[int](), 0, 0
    for row in _rows(database):
        leaf, page = (page_at(database, 0, row, level) for level in (1, 2))
        if dead[page] == row + 1:
            dead[page] = 0
            met += 1
            logged |= {leaf} if images and leaf not in dirty else set()
            dirty.add(leaf)
        if not room[page]:
            room[page], dead[page] = 1, row + 1
            moved += 1
            dirty.add(leaf)
            logged.add(leaf)
        dirty.add(page)
        logged.add(page)
    assert met > 10
    assert _dirty(database) == dirty
    assert database.dead_entry.tolist() == dead
    log = database.log[0]
    assert log["images"] == len(logged)
    assert log["inserted"] == len(logged) * _IMAGE + UPDATES * _RECORD + moved * ENTRY_BYTES


@pytest.mark.parametrize(("share", "least", "most"), [(0, 0, 0), (300_000, 30, 60), (1_000_000, UPDATES, UPDATES)])
def test_a_share_of_the_changes_puts_in_an_entry(share: int, least: int, most: int) -> None:
    database = _run(share, needs_room=False)
    log = database.log[0]
    entries, rest = divmod(int(log["inserted"] - log["images"] * _IMAGE - UPDATES * _RECORD), ENTRY_BYTES)
    assert rest == 0
    assert least <= entries <= most


def test_a_leaf_that_has_left_the_pool_is_read_again() -> None:
    database = _run(1_000_000, needs_room=False, frames=2)
    log = database.log[0]
    assert log["inserted"] - log["images"] * _IMAGE == UPDATES * (_RECORD + ENTRY_BYTES)


def test_with_no_entries_no_page_of_the_index_is_dirty() -> None:
    database = _run(0, needs_room=False, commits=True)
    assert min(_dirty(database)) > LEAVES


def test_how_many_updates_are_the_first_of_their_page() -> None:
    share = np.full(50, 1 / 50)
    assert first_updates(share, 0, 50) == pytest.approx(50 * (1 - np.exp(-1)))
    before = updates_before(share, 100, 10)
    assert before is not None
    assert first_updates(share, before, 100) == pytest.approx(10, rel=1e-3)
    assert updates_before(share, 100, 60) is None  # there are 50 pages


@pytest.mark.parametrize("lookups", [1, 3])
def test_which_pages_were_updated_and_whose_old_entry_nobody_has_met(lookups: float) -> None:
    """A row alone on its page, of which one update is expected: it waits for that, then for the next lookup."""
    rows = 100_000
    found = updated_pages(zipf(rows, 0.0), rows, rows, NONE_MOVED, False, rows, lookups, 1, 0)
    assert found.has_room.mean() == pytest.approx(1 - np.exp(-1), abs=0.01)
    expected = np.exp(-1) if lookups == 1 else (np.exp(-1) - np.exp(-lookups)) / (lookups - 1)
    assert (found.dead_entry > 0).mean() == pytest.approx(expected, abs=0.01)
    assert found.has_room[found.dead_entry > 0].all()
    assert len(set(found.dead_entry.tolist())) == (found.dead_entry > 0).sum() + 1


@pytest.mark.parametrize(("share", "needs_room"), [(0, True), (1_000_000, False)])
def test_every_index_of_the_table_gets_its_entry(share: int, needs_room: bool) -> None:
    others = [(1, 3, 40), (1,)]
    database = _run(share, needs_room=needs_room, indexes=others)
    dirty, heap, entries = set(), set(), 0
    for row in _rows(database):
        page = page_at(database, 0, row, 2)
        if share or page not in heap:
            entries += 1 + len(others)
            dirty |= {page_at(database, 0, row, 1), page_at(database, 1, row, 2), page_at(database, 2, row, 0)}
        heap.add(page)
    assert _dirty(database) == dirty | heap
    log = database.log[0]
    assert log["images"] == len(dirty | heap)
    assert log["inserted"] == log["images"] * _IMAGE + UPDATES * _RECORD + entries * ENTRY_BYTES


@pytest.mark.parametrize("frames", [2, 12, 40])
def test_pages_of_other_indexes_are_read_where_the_pool_does_not_hold_them(frames: int) -> None:
    alone, database = (
        _run(1_000_000, needs_room=False, frames=frames, commits=True, indexes=indexes)
        for indexes in ((), [(1, 3, 40), (7,)])
    )
    log = database.log[0]
    entries = 3 * ENTRY_BYTES
    assert log["inserted"] - log["images"] * _IMAGE == UPDATES * (_RECORD + _COMMIT + entries)
    assert database.pages_read[0] > alone.pages_read[0] + UPDATES * 0.3


def test_a_warm_pool_holds_pages_of_other_indexes() -> None:
    _, database, _ = _made(1_000_000, needs_room=False, frames=150, indexes=[(1, 40)])
    warm(database)
    first = 1 + LEAVES + HEAP
    assert sum(first <= page < first + 41 for page in database.page_of.tolist()) > 30


def _changes(values: Mapping[str, Mapping[str, int | str]]) -> dict[str, EntityChange]:
    return {
        name: EntityChange(
            {key: Decimal(value) for key, value in one.items() if isinstance(value, int)},
            {key: value for key, value in one.items() if isinstance(value, str)},
        )
        for name, one in values.items()
    }


def _entries(
    relation: Mapping[str, int],
    index_pages_hit: int,
    queries: Sequence[tuple[str, int]],
    others: Mapping[str, dict[str, int | str]] = {},
) -> IndexEntries:
    table = AccessedTable("accounts", ROWS, HEAP_PAGES, INDEX_PAGES, 900, 10, 10)
    relations: dict[str, dict[str, int | str]] = {
        "accounts": {"kind": "table", **relation},
        "accounts_pkey": {"kind": "index", "table": "accounts", "pages_hit": index_pages_hit},
        **others,
    }
    calls: dict[str, dict[str, int | str]] = {
        str(place): {"calls": count, "rows": count} for place, (_, count) in enumerate(queries)
    }
    texts = {str(place): text for place, (text, _) in enumerate(queries)}
    found = Differences({"relation": _changes(relations), "query": _changes(calls)})
    return index_entries(found, Fitted((table,), 100, (Law(),), (), (), 1), texts)[0]


def test_non_hot_updates_are_counted() -> None:
    found = _entries({"rows_updated": 450, "rows_hot_updated": 405}, 0, [])
    assert found.of_updates == pytest.approx(0.1)
    assert found.lookups == 2
    assert found.share == 0
    assert found.updates is not None
    assert found.updates > 0


def test_indexes_that_pages_were_asked_for_of_get_entries_too() -> None:
    others: dict[str, dict[str, int | str]] = {
        "accounts_owner": {"kind": "index", "table": "accounts", "pages": 70, "pages_hit": 9},
        "accounts_partial": {"kind": "index", "table": "accounts", "pages": 60, "pages_hit": 0},
        "tellers_pkey": {"kind": "index", "table": "tellers", "pages": 50, "pages_hit": 9},
    }
    updated = {"rows_updated": 1000, "rows_hot_updated": 900}
    assert _entries(updated, 99, [], others).others == (70,)
    assert _entries(updated, 99, []).others == ()


def test_more_than_first_updates_of_pages_come_with_a_share() -> None:
    found = _entries({"rows_updated": 1000, "rows_hot_updated": 0}, 0, [])
    assert found.of_updates == 1
    assert found.updates == 0
    assert found.share == pytest.approx(1 - HEAP_PAGES * (1 - np.exp(-1000 / HEAP_PAGES)) / 1000, rel=0.02)


def test_without_that_counter_pages_of_the_index_tell() -> None:
    queries = [("UPDATE accounts SET a = 1 WHERE id = ?", 1000), ("SELECT a FROM accounts WHERE id = ?", 500)]
    assert _entries({}, 2 * 1500 + 2 * 80, queries).of_updates == pytest.approx(0.08)
    assert _entries({}, 2 * 1500, queries) == NO_ENTRIES


def test_inserts_put_in_an_entry_each_and_deletes_none() -> None:
    entries = [IndexEntries(0.2, 0.05, 10.0, others=(40,))]
    for verb, share, room in (("insert", 1_000_000, False), ("update", 50_000, True), ("delete", 0, False)):
        asked = QueryWork((1.0,), (0.0,), 1.0, verb != "insert", True, 200.0, 0.0, verb=verb)
        changed = drawn_variants(asked, 1, Draws(1), [0], entries).demands[0][-1]
        assert (changed.entry_share, changed.needs_room) == (share, room)
        assert changed.log_bytes == {"insert": 72, "update": 174, "delete": 200}[verb]
