"""Founding document 002: 25 rows are read one by one, 26 at once; nothing here is fitted to what it reports."""

from typing import NamedTuple

import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.plant import PlantBuilder
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOOKUP, LOOKUPS
from tiersim.simulator.database.sessions.processors import Costs

#: The document's costs: 26 us for a read of 8 KiB into a full pool, of which just over 3 are the eviction; 16 to 17 for
#: one ahead; 4 a row.
COSTS = Costs(lookup_ns=4000, read_ns=22_700, async_read_ns=13_200, evict_clean_ns=3300)
LEAF_PAGES = (64 << 30) // 8192
#: A seek in the nonclustered index gives the keys of all rows, which lie one behind the other in it. It reads a leaf
#: and most times the page above that, so that 25 rows take 1.073 reads each, as in the document, once the pool is full.
SEEK_PAGES, FRAMES = (1, 300, 400_000), 120
STATEMENTS = 200


class Mean(NamedTuple):
    """Of a statement, once the pool is full."""

    ms: float
    cpu_ms: float
    reads_per_row: float
    read_ms: float


def drive() -> Hdd:
    """The 73 GB drive of the family: one disk of the four in the catalogue's."""
    whole = load_device("seagate-cheetah-15k5-300")
    assert isinstance(whole, Hdd)
    return whole.model_copy(update={"surfaces": whole.surfaces // 4, "capacity": whole.capacity // 4})


def totals(rows: int, statements: int) -> tuple[int, int, int, int]:
    """Simulate statements on eight drives: (ns, CPU, reads, ns in them)."""
    builder = PlantBuilder(1)
    disks = add_volume(builder, Volume("data", drive(), 8, "raid0", 64 << 10))
    loads = statements_of(1, statements)
    demands = [Demand(LOOKUP, table=1), Demand(LOOKUPS, rows=rows, depth=64, in_order=False, threshold=26)]
    relations = [Relation(10**9, (1, LEAF_PAGES), station=disks), Relation(10**9, SEEK_PAGES, station=disks)]
    database = add_database(builder, DatabaseHost(cores=8, frames=FRAMES, costs=COSTS), relations, [demands], loads)
    plant, _, _ = run_database(builder, database, 1, 10**12)
    station = plant.stations[disks]
    return (
        int(database.done_ns[-1]),
        int(database.spent[0, 0]),
        int(station["finished"]),
        int(station["residence_ns"]),
    )


def simulate(rows: int) -> Mean:
    before, after = totals(rows, STATEMENTS), totals(rows, 3 * STATEMENTS)
    ns, cpu, reads, waited = (late - early for late, early in zip(after, before, strict=True))
    count = 2 * STATEMENTS
    return Mean(ns / count / 1e6, cpu / count / 1e6, reads / count / rows, waited / reads / 1e6)


def test_25_rows_are_read_one_by_one() -> None:
    mean = simulate(25)
    assert mean.reads_per_row == pytest.approx(1.073, abs=0.01)
    assert mean.ms == pytest.approx(110, rel=0.20)
    assert mean.ms == pytest.approx(25 * mean.reads_per_row * mean.read_ms + mean.cpu_ms, rel=1e-3)
    assert mean.cpu_ms == pytest.approx(0.82, rel=0.05)
    assert mean.read_ms == pytest.approx(4.1, rel=0.20)


def test_26_rows_are_read_at_once() -> None:
    mean = simulate(26)
    assert mean.reads_per_row == pytest.approx(1.073, abs=0.01)
    assert mean.ms == pytest.approx(26, rel=0.20)
    assert mean.cpu_ms == pytest.approx(0.69, rel=0.20)
    assert mean.read_ms == pytest.approx(8.6, rel=0.20)
    assert mean.ms < simulate(25).ms / 3
