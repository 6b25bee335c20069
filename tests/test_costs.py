"""Tables of CPU costs against the figures that their authors published, and processors against what is said of them."""

import pytest

from tiersim.devices.catalogue import load_processor, processors
from tiersim.devices.host.processor import core_speed
from tiersim.errors import ScenarioError
from tiersim.simulator.database.sessions.processors import (
    MEASURED_ON,
    POSTGRESQL,
    SQL_SERVER,
    TABLES,
    UNKNOWN,
    Costs,
    scaled,
    slowdown,
)

PAGE_BYTES, MIB = 8192, 1 << 20
NS = 1e9


def scanned_mib_per_s(rows: int) -> float:
    """What a core scans from disk, reading included, no eviction."""
    c = SQL_SERVER
    return PAGE_BYTES / MIB * NS / (c.scan_page_ns + rows * c.scan_row_ns + c.scan_read_ns)


def test_reads_cost_what_founding_document_002_says() -> None:
    c = SQL_SERVER
    assert c.read_ns + c.evict_clean_ns == 26_000
    assert 16_000 <= c.async_read_ns + c.evict_clean_ns <= 17_000
    assert 44_000 <= c.read_ns + 7 * c.read_page_ns <= 50_000
    assert 4_300 <= c.scan_read_ns <= 4_600
    assert c.scan_read_ns + c.evict_clean_ns == pytest.approx(8_000, rel=0.05)
    assert c.lookup_ns == 4_000


def test_25_lookups_cost_what_founding_document_002_says() -> None:
    """820 µs at 1.073 reads a row."""
    c = SQL_SERVER
    assert 25 * (c.lookup_ns + 1.073 * (c.read_ns + c.evict_clean_ns)) == pytest.approx(820_000, rel=0.05)


def test_a_core_scans_at_the_rates_of_founding_document_002() -> None:
    assert scanned_mib_per_s(323) == pytest.approx(360, rel=0.05)
    assert scanned_mib_per_s(1) == pytest.approx(1.5 * 1024, rel=0.05)


def test_a_core_reads_at_random_as_founding_document_002_says() -> None:
    """30,000 to 45,000 a second: one at a time, and ahead; stated without a tolerance, held to 15 %."""
    c = SQL_SERVER
    one_by_one = NS / (c.read_ns + c.evict_clean_ns + c.lookup_ns)
    ahead = NS / (c.async_read_ns + c.evict_clean_ns + c.lookup_ns)
    assert one_by_one == pytest.approx(30_000, rel=0.15)
    assert ahead == pytest.approx(45_000, rel=0.15)


def test_eight_cores_do_what_founding_document_002_plans_with() -> None:
    speedup = 8 * 1000 / slowdown(8)[-1]
    assert 6 <= speedup <= 7
    c = SQL_SERVER
    one = NS / (c.read_ns + c.evict_clean_ns + c.lookup_ns)
    assert one * speedup == pytest.approx(200_000, rel=0.15)
    assert scanned_mib_per_s(323) * speedup == pytest.approx(2 * 1024, rel=0.15)


def test_the_first_core_is_not_slowed_down() -> None:
    assert slowdown(1) == (1000,)
    assert slowdown(4, 0) == (1000, 1000, 1000, 1000)
    assert slowdown(3, 50) == (1000, 1050, 1100)


def test_postgresql_scans_as_measured() -> None:
    """µs a page of 18 rows: 0.95 in the pool, 1.25 from the OS page cache, 3.6 cold at random with 128 in flight."""
    c = POSTGRESQL
    assert c.scan_page_ns + 18 * c.scan_row_ns == 950
    assert c.scan_page_ns + 18 * c.scan_row_ns + c.scan_read_ns == 1_250
    assert c.async_read_ns + 900 == 3_600


def test_what_nobody_measured_is_named() -> None:
    for engine, costs in TABLES.items():
        absent = {name for name, cost in zip(Costs._fields, costs, strict=True) if cost == 0}
        assert absent - {"page_ns"} <= set(UNKNOWN[engine])
        assert set(UNKNOWN[engine]) <= set(Costs._fields)


def test_a_faster_core_costs_less() -> None:
    assert scaled(Costs(lookup_ns=4_000, read_ns=26_000), 2.0) == Costs(lookup_ns=2_000, read_ns=13_000)
    assert scaled(SQL_SERVER, 1.0) == SQL_SERVER
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ScenarioError, match="no speed of a core"):
            scaled(SQL_SERVER, wrong)


def test_cores_are_as_fast_as_founding_document_000_says() -> None:
    old, new = load_processor("xeon-x5355"), load_processor("xeon-x5570")
    assert core_speed(new, old) == pytest.approx(1.62, abs=0.01)
    assert core_speed(new, load_processor(MEASURED_ON["sqlserver"])) == pytest.approx(1.62, abs=0.01)


def test_every_processor_can_be_read() -> None:
    assert len(processors()) >= 4
    for name in processors():
        assert load_processor(name).cores > 0


def test_what_is_not_known_of_a_processor_is_a_sentence() -> None:
    with pytest.raises(ScenarioError, match="did you mean 'xeon-x5570'"):
        load_processor("xeon-x5571")
    unrated = load_processor("xeon-e5-2690v3")
    with pytest.raises(ScenarioError, match="E5-2690 v3 has no rating"):
        core_speed(unrated, load_processor("xeon-e5430"))
