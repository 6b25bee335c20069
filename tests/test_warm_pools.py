"""Pools that are remembered: they are as if they were filled anew, whatever else differs."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.databases import DatabaseCase, database_cases
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.scenarios.statements import warm_pools
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.scenarios.validation.pgbench import closed_loop
from tiersim.simulator.database.buffer_pool.midpoint import Midpoint
from tiersim.simulator.database.buffer_pool.warm import Warmed, warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOG, LOOKUP, MIDPOINT, Database

Run = tuple[Database, Plant]


def assert_equal(found: Run, expected: Run) -> None:
    """All tables, so that nothing is forgotten that a later version fills."""
    tables: list[tuple[Any, Any]] = list(zip(found, expected, strict=True))
    for one, other in tables:
        for name in one._fields:
            values, wanted = getattr(one, name), getattr(other, name)
            pairs = zip(values, wanted, strict=True) if name == "laws" else [(values, wanted)]
            assert all(np.array_equal(*pair) for pair in pairs), name


@pytest.mark.kernels
@given(database_cases)
def test_a_pool_that_was_filled_before_is_as_if_it_was_filled_anew(case: DatabaseCase) -> None:
    case, pools = replace(case, warmed=False), WarmPools()
    runs = []
    dearer = replace(case, costs=tuple(2 * cost for cost in case.costs))
    for one in (dearer, case, case):
        builder, database, _ = one.fresh()
        runs.append((database, builder.build(4)))
    for database, plant in runs[:2]:
        found = pools.fill(database, plant, transaction_ns=7, most_references=20_000)
    expected = warm(*runs[2], transaction_ns=7, most_references=20_000)
    assert [np.asarray(value).tolist() for value in found] == [np.asarray(value).tolist() for value in expected]
    assert_equal(runs[1], runs[2])


def of_one_class(each: int, log_bytes: int, frames: int = 40, os_cache_pages: int = 30, dirties: bool = True) -> Run:
    """Clients whose transactions are all alike."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 1, 1000)
    host = DatabaseHost(1, frames, log_station=disk, os_cache_pages=os_cache_pages)
    does = [Demand(LOOKUP, dirties=dirties, log_bytes=log_bytes), Demand(LOG, log_bytes=log_bytes)]
    database = add_database(
        builder, host, [Relation(2000, (1, 20, 200), station=disk)], [does], closed_loop(3, each, 10)
    )
    return database, builder.build()


@pytest.mark.kernels
def test_alike_transactions_fill_a_pool_alike_whatever_they_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    filled = []

    def noted(d: Database, p: Plant, **settings: int) -> Warmed:
        filled.append((len(d.page_of), int(p.flash_caches[0]["blocks"])))
        return warm(d, p, **settings)

    monkeypatch.setattr(warm_pools, "warm", noted)
    pools = WarmPools()
    pools.fill(*of_one_class(5, 100))
    remembered = of_one_class(50, 3000)
    pools.fill(*remembered)
    assert filled == [(40, 30)]
    anew = of_one_class(50, 3000)
    warm(*anew)
    assert_equal(remembered, anew)
    for frames, os_cache_pages in ((41, 30), (40, 31)):
        pools.fill(*of_one_class(5, 100, frames, os_cache_pages))
    pools.fill(*of_one_class(5, 100, dirties=False))
    pools.fill(*of_one_class(5, 100), transaction_ns=1)
    pools.fill(*of_one_class(5, 100), most_references=50)
    assert filled == [(40, 30), (41, 30), (40, 31), *[(40, 30)] * 3]
    monkeypatch.setattr(warm_pools, "_MOST_BYTES", 0)  # no page cache is that small
    pools.fill(*of_one_class(5, 100))
    assert len(filled) == 7


@pytest.mark.kernels
@pytest.mark.parametrize("midpoint", [Midpoint(20, 1000), Midpoint(37, 2000)])
def test_a_pool_of_innodb_is_not_that_of_other_settings_of_its_list(midpoint: Midpoint) -> None:
    def of(settings: Midpoint) -> Run:
        builder = PlantBuilder(1)
        disk = add_server(builder, "disk", 1, 1000)
        host = DatabaseHost(1, 40, log_station=disk, policy=MIDPOINT, midpoint=settings)
        does = [Demand(LOOKUP, dirties=True), Demand(LOG)]
        database = add_database(
            builder, host, [Relation(2000, (1, 20, 200), station=disk)], [does], closed_loop(3, 5, 10)
        )
        return database, builder.build()

    pools = WarmPools()
    pools.fill(*of(Midpoint(37, 1000)))
    found, anew = of(midpoint), of(midpoint)
    pools.fill(*found)
    warm(*anew)
    assert_equal(found, anew)
