"""The size of a recorded host's page cache, from what the pool missed and what the devices were read for."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.counted_databases import FRAMES, MISSED, counted_database
from tests.runs import needs_jit, statements_of
from tests.test_statements import scenario
from tiersim.devices.plant import PlantBuilder
from tiersim.scenarios.calibration.popularity import AccessedTable, Law
from tiersim.scenarios.calibration.popularity.occupancy import Pool
from tiersim.scenarios.calibration.popularity.recorded import PageCache, device_pages_read
from tiersim.scenarios.statements.loads import load_of
from tiersim.scenarios.statements.postgresql import stays_cached
from tiersim.scenarios.statements.settings import Settings, settings_of_load
from tiersim.simulator.database.buffer_pool.warm import warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOOKUP, SWEEP
from tiersim.simulator.database.wal.log import Log
from tiersim.traces.differences import EntityChange

PAGE = 8192
ROWS = 20_000


def change(**values: float) -> EntityChange:
    return EntityChange(grown={name: Decimal(value) for name, value in values.items()}, last={})


def read(pages: float, **others: float) -> EntityChange:
    return change(**{"reads": pages, "read_bytes": pages * PAGE, **others})


@needs_jit
@pytest.mark.parametrize(("frames", "cached"), [(60, 100), (60, 200), (60, 400), (200, 200), (200, 450)])
def test_it_is_as_large_as_the_simulated_one_that_misses_as_much(frames: int, cached: int) -> None:
    builder = PlantBuilder(1)
    host = DatabaseHost(1, frames, policy=SWEEP, os_cache_pages=cached)
    relation = Relation(ROWS, (1, 71, 600), 0.9, ordered=False)
    database = add_database(builder, host, [relation], [[Demand(LOOKUP)]], statements_of(1, 1))
    found = warm(database, builder.build(1))
    assert found.stationary
    table = AccessedTable("t", ROWS, 600, 73, accesses=1000, heap_missed=1, index_missed=1, ordered=False)
    inferred = Pool([table], 1).lru_below([Law(0.9)], frames, found.read / int(found.missed.sum()))
    assert inferred == pytest.approx(cached, rel=0.1)


@pytest.mark.parametrize(
    ("devices", "pages"),
    [
        ({}, None),
        ({"sda": change(busy_ms=5)}, None),
        ({"sda": read(100), "sda1": read(90), "sda2": read(10)}, 100),
        ({"nvme0n1": read(70), "nvme0n1p1": read(70), "nvme1n1": read(30)}, 100),
        ({"sda": read(50), "sdb": read(50), "md0": read(100), "dm-0": read(100)}, 100),
        ({"vda": read(3), "loop0": read(100)}, 100),  # its file lies in memory
        ({"sda": change(reads=40, reads_merged=10, read_bytes=400 * PAGE)}, 50),  # the system read ahead
        ({"sda": change(reads=400, read_bytes=100 * PAGE)}, 100),  # in smaller pieces
    ],
)
def test_no_read_is_counted_twice(devices: dict[str, EntityChange], pages: float | None) -> None:
    assert device_pages_read(devices, PAGE) == pages


FULL = PageCache(bytes=30, pool_bytes=40, most_bytes=100, memory_bytes=128, holds_all=False, said="")
ROOMY = replace(FULL, bytes=60, most_bytes=1000, memory_bytes=1100, holds_all=True)


@pytest.mark.parametrize(
    ("cache", "pool", "memory", "expected"),
    [
        (FULL, 40, None, 30),
        (FULL, 10, None, 30),
        (FULL, 60, None, 30),
        (FULL, 80, None, 20),  # no more memory is there
        (FULL, 200, None, 0),
        (FULL, 40, 188, 60),  # twice the memory that the recorded pool left
        (FULL, 40, 98, 15),
        (FULL, 40, 20, 0),
        (replace(FULL, most_bytes=None), 100, 188, 30),
        (replace(FULL, most_bytes=None), 200, 220, 20),  # the host's memory bounds it, whatever was recorded
        (replace(FULL, most_bytes=None), 200, 188, 0),
        (replace(FULL, memory_bytes=None), 40, 60, 20),
        (ROOMY, 40, None, 60),
        (ROOMY, 20, None, 80),  # pages that the pool has no room for
        (ROOMY, 900, None, 60),
        (ROOMY, 980, None, 20),
        (ROOMY, 40, 200, 60),
        (ROOMY, 40, 150, 10),
    ],
)
def test_beside_another_pool_it_has_the_memory_that_is_left(
    cache: PageCache, pool: int, memory: int | None, expected: int
) -> None:
    assert cache.beside(pool, memory) == expected


def settings(tmp_path: Path, reads: int | None, *changes: str, **host: Any) -> tuple[Settings, tuple[str, ...]]:
    of_device: dict[str, int | str] = {} if reads is None else {"reads": reads, "read_bytes": reads * PAGE}
    found = {("device", "sda"): of_device}
    path = counted_database(tmp_path / f"{reads}.trace", host={"debug_io_direct": ""} | host, more=found)
    load = load_of(path, 1)
    return settings_of_load(scenario(tmp_path, *changes), load), load.inferred


def test_the_page_cache_is_inferred_where_the_recording_tells(tmp_path: Path) -> None:
    made, inferred = settings(tmp_path, MISSED // 2)
    cached = made.of_engine.os_cache_bytes // PAGE
    assert 0 < cached < 220  # pages of the table and its index
    assert "inferred" in made.basis["engine.os_cache"]
    assert "the volumes were read for 50% of the pages" in "\n".join(inferred)
    assert not any("page cache" in caveat for caveat in made.caveats)
    smaller, _ = settings(tmp_path, MISSED // 2, f"engine.buffer_pool={FRAMES // 2 * 8}KiB")
    assert smaller.of_engine.os_cache_bytes // PAGE == cached
    assert settings(tmp_path, MISSED // 4)[0].of_engine.os_cache_bytes > made.of_engine.os_cache_bytes


@pytest.mark.parametrize(
    ("host", "version", "stays"),
    [
        ({}, None, True),
        ({}, "10.1", True),
        ({}, "9.6.24", False),
        ({"wal_level": "hot_standby"}, "9.4.1", True),
        ({"wal_level": "minimal"}, "18", False),
        ({"debug_io_direct": "data,wal"}, "18", False),
    ],
)
def test_a_log_that_somebody_may_read_stays_in_the_page_cache(
    host: dict[str, str], version: str | None, stays: bool
) -> None:
    assert stays_cached(host, version) == stays


@pytest.mark.parametrize(
    ("said", "times"), [({}, 3.0), ({"wal_level": "minimal"}, 1.0), ({"debug_io_direct": "wal"}, 1.0)]
)
def test_it_also_held_what_the_log_wrote(said: dict[str, str], times: float, tmp_path: Path) -> None:
    """Twice as many bytes as were read: of three pages one is a table's, if the log stays in it."""
    plain, _ = settings(tmp_path, MISSED // 2)
    reads = {"reads": MISSED // 2, "read_bytes": MISSED // 2 * PAGE}
    more: dict[tuple[str, str], dict[str, int | str]] = {("device", "sda"): dict(reads)}
    more["log", "log"] = {"bytes": 2 * reads["read_bytes"]}
    if level := said.get("wal_level"):
        more["setting", "wal_level"] = {"setting": level}
    host: dict[str, int | str] = {"debug_io_direct": said.get("debug_io_direct", "")}
    load = load_of(counted_database(tmp_path / "logged.trace", host=host, more=more), 1)
    logged = settings_of_load(scenario(tmp_path), load)
    assert logged.of_engine.os_cache_bytes == pytest.approx(times * plain.of_engine.os_cache_bytes, rel=1e-3)
    assert isinstance(logged.of_engine.log, Log)
    assert logged.of_engine.log.cached == (times > 1)


def test_what_the_scenario_says_of_the_page_cache_holds(tmp_path: Path) -> None:
    for size, pages in (("0 B", 0), ("80 KiB", 10)):
        made, _ = settings(tmp_path, MISSED // 2, f"engine.os_cache={size}")
        assert made.of_engine.os_cache_bytes == pages * PAGE
        assert not any("page cache" in caveat for caveat in made.caveats)
    assert settings(tmp_path, MISSED // 2, "engine.direct_io=true")[0].of_engine.os_cache_bytes == 0


def test_a_host_whose_devices_were_read_for_every_page_has_none_beside_this_pool(tmp_path: Path) -> None:
    made, inferred = settings(tmp_path, MISSED)
    assert made.of_engine.os_cache_bytes == 0
    assert "read for 100% of the pages" in "\n".join(inferred)
    assert not any("page cache" in caveat for caveat in made.caveats)


@pytest.mark.parametrize(("reads", "host"), [(None, {}), (MISSED // 2, {"debug_io_direct": "data"})])
def test_nothing_is_inferred_where_nobody_looked_and_of_direct_io(
    reads: int | None, host: dict[str, str], tmp_path: Path
) -> None:
    made, inferred = settings(tmp_path, reads, **host)
    assert made.of_engine.os_cache_bytes == 0
    assert not any("page cache" in sentence for sentence in inferred)
    assert any("page cache" in caveat for caveat in made.caveats) == (not host)
