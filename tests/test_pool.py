"""The buffer pool by itself: which page has to go, rings, memory, and how a pool looks that has been used for long."""

import subprocess
import sys
import textwrap
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import first
from tests.runs import needs_jit, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import Plant
from tiersim.simulator.database.buffer_pool.pages import frame_for, loaded, touch, touch_in_ring, victim
from tiersim.simulator.database.buffer_pool.rings import close_ring, scans_in_ring
from tiersim.simulator.database.buffer_pool.warm import TransactionStarts, Warmed, refer, walk, warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import (
    BULK_READ,
    LOOKUP,
    LRU,
    LRU2,
    READING,
    SWEEP,
    VALID,
    Database,
)

pytestmark = pytest.mark.kernels

#: Of no page cache.
PLANT = PlantBuilder(1).build(1)


def pool(host: DatabaseHost, *relations: Relation, sessions: int = 1, dirties: bool = False, seed: int = 1) -> Database:
    """A database of single lookups, one of each table in turn for a transaction."""
    demands = [Demand(LOOKUP, table, dirties) for table in range(len(relations))]
    return add_database(PlantBuilder(seed), host, relations, [demands], statements_of(sessions, 1))


def lru2(references: list[tuple[int, int]], capacity: int, correlated: int, retained: int) -> int:
    """The paper's procedure, word by word; no two references have the same time, and within the correlated period LRU
    decides.
    """
    history: dict[int, list[int]] = {}
    used: dict[int, int] = {}
    cached: set[int] = set()
    missed = now = 0
    for page, gap in references:
        now += 1 + gap
        if page in cached:
            if now - used[page] > correlated:
                history[page] = [now, used[page]]
            used[page] = now
            continue
        missed += 1
        if len(cached) == capacity:
            ready = [q for q in cached if now - used[q] > correlated]
            if ready:
                cached.remove(min(ready, key=lambda q: (history[q][1], history[q][0])))
            else:
                cached.remove(min(cached, key=lambda q: used[q]))
        if page not in history or now - used[page] > retained:
            history[page] = [0, 0]
        history[page] = [now, history[page][0]]
        used[page] = now
        cached.add(page)
    return missed


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), max_size=80),
    st.integers(1, 8),
    st.integers(0, 12),
    st.integers(0, 60),
)
def test_lru2_is_what_its_authors_say(
    references: list[tuple[int, int]], capacity: int, correlated: int, retained: int
) -> None:
    host = DatabaseHost(1, capacity, policy=LRU2, correlated_ns=correlated, retained_ns=retained)
    database = pool(host, Relation(13, (13,)))
    missed = now = 0
    for page, gap in references:
        now += 1 + gap
        missed += not refer(database, page, 0, now - 1)
    assert missed == lru2(references, capacity, correlated, retained)


@pytest.mark.parametrize("policy", [SWEEP, LRU, LRU2])
def test_a_page_that_is_being_read_stays(policy: int) -> None:
    database = pool(DatabaseHost(1, 4, policy=policy), Relation(9, (9,)))
    for page in range(4):
        refer(database, page, 0, page)
    database.state[:3] = READING
    assert victim(database, 9) == 3
    loaded(database, 3, 8, 0, 9)
    database.state[3] = READING
    assert victim(database, 10) == -1


# ---- rings


def read_through_ring(database: Database, page: int, session: int = 0) -> bool:
    """Refer to a page as a scan does; tell whether it was there."""
    if touch_in_ring(database, page, 0):
        return True
    frame = frame_for(database, session, 0)
    if database.page_of[frame] >= 0:
        database.frame_of[database.page_of[frame]] = 0
    database.page_of[frame], database.frame_of[page] = page, frame + 1
    database.state[frame], database.dirty[frame] = VALID, 0
    loaded(database, frame, page, session + 1, 0)
    return False


def hot_pool(frames: int = 800, hot: int = 700) -> Database:
    """A pool that is full: pages that were used more than once, and others that were used once."""
    database = pool(DatabaseHost(1, frames), Relation(10_000, (10_000,)), sessions=2)
    database.sessions["ring"] = BULK_READ
    for page in range(frames):
        refer(database, page, 0, 0)
    for page in range(hot):
        refer(database, page, 0, 0)
    return database


def test_a_scan_uses_256_kib_and_leaves_the_rest_alone() -> None:
    database = hot_pool()
    for page in range(2000, 6000):
        assert not read_through_ring(database, page)
    held = Counter((database.page_of >= 2000).tolist())
    assert held[True] == 256 // 8
    assert all(touch(database, page, 0) for page in range(700))
    assert sorted(database.page_of[database.page_of >= 2000]) == list(range(6000 - 32, 6000))


def test_a_ring_takes_no_more_than_an_eighth_of_the_pool() -> None:
    database = hot_pool(frames=80, hot=10)
    for page in range(2000, 2100):
        read_through_ring(database, page)
    assert (database.page_of >= 2000).sum() == 10
    assert database.ring_pages.tolist() == [0, 10]
    assert pool(DatabaseHost(1, 1 << 20), Relation(9, (9,))).ring_pages.tolist() == [0, 32]


def test_a_page_that_somebody_else_used_leaves_the_ring_and_stays() -> None:
    database = hot_pool()
    for page in range(2000, 2032):
        read_through_ring(database, page)
    assert touch(database, 2000, 0)
    assert touch_in_ring(database, 2001, 0)  # who comes through a ring does not make it hotter
    assert database.used[database.frame_of[2001] - 1] == 1
    read_through_ring(database, 3000)
    read_through_ring(database, 3001)
    assert database.frame_of[2000] > 0
    assert database.frame_of[2001] == 0
    assert database.ring_length[0] == 32


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_changed_page_leaves_the_ring_and_stays_if_its_log_is_not_durable(is_durable: bool) -> None:
    database = hot_pool(frames=80, hot=10)
    for page in range(2000, 2010):
        read_through_ring(database, page)
    database.dirty[database.frame_of[2000] - 1] = 1
    database.page_position[2000] = 100
    database.log[0]["flushed"] = 100 if is_durable else 99
    read_through_ring(database, 3000)
    assert (database.frame_of[2000] == 0) == is_durable


def test_a_ring_that_was_closed_begins_anew() -> None:
    database = hot_pool()
    for page in range(2000, 2032):
        read_through_ring(database, page)
    close_ring(database, 0)
    assert database.ring_length[0] == 0
    assert not database.ring_of.any()
    read_through_ring(database, 3000)
    assert database.frame_of[2000] > 0


def test_tables_above_a_quarter_of_the_pool_are_scanned_through_a_ring() -> None:
    database = pool(DatabaseHost(1, 800), Relation(9, (9,)))
    assert not scans_in_ring(database, 200)
    assert scans_in_ring(database, 201)


# ---- memory

_RESIDENT = textwrap.dedent("""
    import sys
    import numpy as np
    from pathlib import Path
    from tests.test_pool import PLANT, pool
    from tiersim.simulator.database.build import DatabaseHost, Relation
    from tiersim.simulator.database.buffer_pool.warm import TransactionStarts, walk

    def resident() -> int:
        fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        return int(fields["RssAnon"].split()[0]) << 10

    def database(frames: int, pages: int, policy: int):
        return pool(DatabaseHost(1, frames, policy=policy), Relation(40 * pages, (1, pages // 250, pages), 1.0))

    def touched(database, references: int) -> int:
        one = np.array([0, 1])
        transactions = TransactionStarts(one, one, one)
        walk(PLANT, database, transactions, 0, references, np.zeros(3, np.int64), np.zeros(3, np.int64))
        return int((database.pool_state[1]))

    touched(database(8, 1000, int(sys.argv[1])), 10)
    before = resident()
    huge = database(64 << 20, 20_000_000, int(sys.argv[1]))
    made = resident()
    pages = touched(huge, 6_000_000)
    print(made - before, pages, resident() - made)
    """)


@pytest.mark.long
@needs_jit
@pytest.mark.parametrize("policy", first(1, LRU2, SWEEP))
def test_a_huge_pool_costs_memory_for_the_pages_that_are_touched(policy: int) -> None:
    """64 million frames over 20 million pages: what is looked up by page costs 4 bytes for each at
    most, with LRU-2 28.
    """
    done = subprocess.run([sys.executable, "-c", _RESIDENT, str(policy)], check=True, capture_output=True, text=True)
    at_first, pages, grown = map(int, done.stdout.split())
    assert pages > 500_000
    assert at_first < 64 << 20
    by_page = 28 if policy == LRU2 else 4
    assert grown < 60 * pages + by_page * 20_100_000 + (64 << 20)


# ---- warm


LAB = Relation(10_000_000, (1, 98, 27_323, 163_935), 1.05)


@needs_jit
def test_a_warm_pool_misses_what_a_real_one_misses() -> None:
    """256 MiB, which the popularity of rows was fitted to: what the recorded server missed is
    known to the third digit.
    """
    found = warm(pool(DatabaseHost(1, 32_768), LAB))
    assert found.stationary
    assert found.missed[:3].sum() / found.transactions == pytest.approx(0.1664, rel=0.02)
    assert found.missed[3] / found.transactions == pytest.approx(0.3161, rel=0.02)


@needs_jit
@pytest.mark.parametrize("policy", [SWEEP, LRU, LRU2])
def test_warm_tells_when_misses_fall_no_longer(policy: int) -> None:
    relation = Relation(20_000, (1, 10, 600), 0.9)
    database = pool(DatabaseHost(1, 100, policy=policy), relation, dirties=True)
    found = warm(database, transaction_ns=1000)
    assert found.stationary
    assert database.dirty.any()
    assert (database.state == VALID).all()
    more, again = np.zeros(3, np.int64), np.zeros(3, np.int64)
    more[:2] = 1 << 40  # what has not been drawn
    one = np.array([0, 1])
    walk(PLANT, database, TransactionStarts(one, one, one), 1000, 3 * found.transactions, more, again)
    went_on = again.sum() / (more[0] - (1 << 40))
    assert went_on == pytest.approx(found.missed.sum() / found.transactions, rel=0.05)
    assert not warm(pool(DatabaseHost(1, 100), relation), most_references=20_000).stationary


def test_a_pool_that_holds_everything_misses_nothing() -> None:
    database = pool(DatabaseHost(1, 700), Relation(20_000, (1, 10, 600), 0.9))
    found = warm(database)
    assert found.stationary
    assert not found.missed.any()
    assert database.frame_of.all()


def test_changed_pages_are_those_that_were_changed_since_they_came() -> None:
    """Every lookup changes its heap page, so all heap pages are dirty and none of the index is."""
    relation = Relation(20_000, (1, 10, 600), 0.9)
    database = pool(DatabaseHost(1, 100), relation, dirties=True)
    warm(database)
    np.testing.assert_array_equal(database.dirty, database.page_of >= 11)


def with_page_cache(frames: int, cached: int, *, dirties: bool = False) -> tuple[Database, Plant, Warmed]:
    builder = PlantBuilder(1)
    relations = [Relation(20_000, (1, 10, 600), 0.9)]
    host = DatabaseHost(1, frames, policy=LRU, os_cache_pages=cached)
    database = add_database(builder, host, relations, [[Demand(LOOKUP, dirties=dirties)]], statements_of(1, 1))
    plant = builder.build(1)
    return database, plant, warm(database, plant)


@needs_jit
def test_the_page_cache_holds_what_the_pool_has_missed() -> None:
    """By LRU a cache behind another that reads through it holds nothing that a pool of its size would not."""
    _, plant, found = with_page_cache(60, 200)
    assert found.stationary
    assert plant.flash_caches[0]["used"] == 200
    assert 0 < found.read < 0.7 * found.missed.sum()
    alone = warm(pool(DatabaseHost(1, 200, policy=LRU), Relation(20_000, (1, 10, 600), 0.9)))
    assert found.read / found.transactions > 0.95 * alone.missed.sum() / alone.transactions
    assert with_page_cache(60, 700)[2].read == 0


@needs_jit
def test_changed_pages_go_to_the_page_cache() -> None:
    """A page that was changed is newer there than one that was only read, so the two hold fewer pages twice."""
    assert with_page_cache(60, 60, dirties=True)[2].read < 0.95 * with_page_cache(60, 60)[2].read


def test_a_database_without_lookups_is_warm_at_once() -> None:
    found = warm(add_database(PlantBuilder(1), DatabaseHost(1, 4), [], [[]], statements_of(1, 3)))
    assert (found.stationary, found.references) == (True, 0)
