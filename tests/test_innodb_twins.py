"""InnoDB's kernels against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import statements_of
from tests.twins.innodb import DataFiles, FlushList, Midpoint, pages_wanted
from tiersim.devices.plant import PlantBuilder
from tiersim.simulator.database.buffer_pool import flush_list, midpoint
from tiersim.simulator.database.buffer_pool.adaptive_flushing import (
    percent_for_age,
    percent_for_dirty,
    percent_of_mariadb,
    wanted_pages,
    works_on_list,
)
from tiersim.simulator.database.buffer_pool.data_files import data_file_of, file_to_flush, note_written
from tiersim.simulator.database.buffer_pool.flush_list import BATCH_FIRST, BATCH_PAGES
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.buffer_pool.pages import change, clean
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Relation, add_database
from tiersim.simulator.database.database_state import MIDPOINT, Database
from tiersim.simulator.database.wal.log import Log

pytestmark = pytest.mark.kernels

ALWAYS_YOUNG = midpoint.Midpoint(old_time_ns=0)


def pool(
    frames: int,
    pages: int,
    settings: midpoint.Midpoint = ALWAYS_YOUNG,
    cleaner: PageCleaner | None = None,
    tables: int = 1,
) -> Database:
    host = DatabaseHost(
        1,
        frames,
        policy=MIDPOINT,
        midpoint=settings,
        page_cleaner=cleaner,
        log=Log(full_page_writes=False),
    )
    return add_database(PlantBuilder(1), host, [Relation(pages, (pages,), tables=tables)], [], statements_of(0))


def parts(referred: list[tuple[int, int, int]], d: Database, twin: Midpoint) -> None:
    """Pages are referred to, each later than the one before, and page cleaners free so many of the last ones: young and
    old pages are those of the twin.
    """
    now = 0
    for page, later, freed in referred:
        now += later
        twin.refer(page, now)
        refer(d, page, 0, now)
        for _ in range(min(freed, len(twin.order))):
            twin.free()
            frame = midpoint.tail(d)
            midpoint.let_go(d, frame)
            midpoint.free_frame(d, frame)
    found: list[list[int]] = []
    for head in range(twin.capacity, twin.capacity + 2):
        pages, frame = [], int(d.older[head])
        while frame != head:
            pages.append(int(d.page_of[frame]))
            frame = int(d.older[frame])
        found.append(pages)
    assert found == [twin.young, twin.old]
    assert int(d.midpoint[0]["evicted"]) == twin.evicted


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(1, 40),
    st.integers(0, 30),
    st.integers(0, 2),
    st.integers(12, 30),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.sampled_from((0, 0, 0, 0, 3))), max_size=300),
)
def test_the_list_is_that_of_the_sources(
    frames: int, old_time: int, tolerance: int, least: int, referred: list[tuple[int, int, int]]
) -> None:
    settings = midpoint.Midpoint(37, old_time, tolerance, least)
    parts(referred, pool(frames, 61, settings, PageCleaner()), Midpoint(frames, 37, old_time, tolerance, least))


@pytest.mark.parametrize("old_time", [0, 50, 1000])
@pytest.mark.parametrize(("frames", "tolerance", "least"), [(60, 2, 16), (700, 20, 512)])
def test_the_list_after_thousands_of_references(frames: int, tolerance: int, least: int, old_time: int) -> None:
    draw = np.random.default_rng(frames + old_time)
    pages = (draw.zipf(1.2, 100 * least) % (4 * frames)).tolist()
    freed = np.where(draw.random(len(pages)) < 1 / frames, frames // 3, 0).tolist()
    referred = list(zip(pages, [1] * len(pages), freed, strict=True))
    settings = midpoint.Midpoint(37, old_time, tolerance, least)
    for count in range(0, len(pages), len(pages) // 4):
        parts(
            referred[:count],
            pool(frames, 4 * frames, settings, PageCleaner()),
            Midpoint(frames, 37, old_time, tolerance, least),
        )


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 500), st.integers(0, 3)), max_size=200))
def test_the_flush_list_and_the_age_of_the_checkpoint(changes: list[tuple[int, int, int]]) -> None:
    d, twin = pool(40, 31, cleaner=PageCleaner()), FlushList()
    for page in range(31):
        refer(d, page, 0, 0)
    for page, log_bytes, written in changes:
        twin.change(page, log_bytes)
        change(d, page, log_bytes)
        for other in twin.write(written):
            frame = flush_list.oldest(d)
            assert int(d.page_of[frame]) == other
            clean(d, frame)
        assert flush_list.checkpoint_age(d) == twin.age


@settings(max_examples=examples(100), deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 5),
    st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 44), max_size=6)), max_size=60),
)
def test_two_batches_flush_each_data_file_that_was_written(
    tables: int, pages: int, steps: list[tuple[int, list[int]]]
) -> None:
    """A batch writes pages, or begins its next flush."""
    d, twin = pool(40, tables * pages, cleaner=PageCleaner(workers=2), tables=tables), DataFiles(tables, pages)
    assert [data_file_of(d, page) for page in range(tables * pages)] == [
        page // pages for page in range(tables * pages)
    ]
    next_files = [0, 0]
    for now_ms, (batch, wanted) in enumerate(steps):
        written = [page % (tables * pages) for page in wanted]
        if written:
            d.batches[batch, BATCH_PAGES] = len(written)
            d.batches[batch, BATCH_FIRST : BATCH_FIRST + len(written)] = written
            note_written(d, batch, now_ms * 1_000_000)
            twin.write(written, now_ms)
            next_files[batch] = 0
        else:
            file = file_to_flush(d, next_files[batch])
            assert twin.flush(next_files[batch] - 1) == (file if file < len(d.written_files) else None)
            next_files[batch] = file + 1
    assert set(np.flatnonzero(d.written_files)) == twin.unflushed
    assert (d.file_changed_ns // 1_000_000).tolist() == [twin.changed_ms.get(file, 0) for file in range(tables)]


@given(
    st.floats(10.1, 120), st.floats(0, 100), st.integers(1, 20_000), st.integers(1, 5), st.floats(0, 5000),
    st.floats(0, 5000),
)  # fmt: skip
def test_mysql_asks_for_as_many_pages_as_its_source(
    age: float, dirty: float, io_capacity: int, times: int, rate: float, older: float
) -> None:
    most = io_capacity * times
    limit = 1_000_000_000
    age_bytes = round(age / 100 * limit)
    percent = max(
        percent_for_age(age_bytes, limit // 10, limit, float(most // io_capacity)),
        percent_for_dirty(dirty, 10.0, 90.0),
    )
    wanted = pages_wanted(age_bytes * 100 / limit, dirty, io_capacity, most, rate, older)
    assert wanted_pages(percent, io_capacity, rate, older, most) == pytest.approx(wanted, abs=1)


@pytest.mark.parametrize(
    ("age", "low_percent", "dirty", "works"),
    [(9, 0, 50, False), (11, 0, 50, True), (9, 0, 90, True), (9, 10, 11, True), (9, 10, 9, False)],
)
def test_mariadb_works_on_the_flush_list_by_age_or_number(
    age: int, low_percent: float, dirty: float, works: bool
) -> None:
    assert works_on_list(age, 10, dirty, float(low_percent), 90.0) is works


@pytest.mark.parametrize(
    ("low_percent", "dirty", "percent"), [(0, 1, 100), (0, 99, 100), (10, 9, 100), (10, 45, 50), (10, 9.1, 100)]
)
def test_mariadb_writes_all_of_io_capacity_where_changed_pages_are_few(
    low_percent: float, dirty: float, percent: float
) -> None:
    assert percent_of_mariadb(dirty, float(low_percent), 90.0, 40.0) == percent
    assert (percent_of_mariadb(dirty, float(low_percent), 90.0, 400.0) == 400) == (0 < low_percent <= dirty)
