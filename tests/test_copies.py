"""Copies of pages past the pool: a backup, a restore, new pages; as the window of buffers says to the nanosecond."""

from dataclasses import dataclass, replace

import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import PASS_ON_NS, Plant
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import COPY, SPENT, Database
from tiersim.traces.schema import BACKUP

pytestmark = pytest.mark.kernels

MS, MIB, PAGE = 1_000_000, 1 << 20, 8192
READ_NS, WRITE_NS = 3 * MS, 2 * MS
#: Stations in the order in which they are built.
DATA, OTHER, TARGET = range(3)
BACKUP_OF_ALL = Demand(COPY, table=0, tables=2, depth=4, block_pages=MIB // PAGE, station=TARGET)


@dataclass(frozen=True)
class Run:
    database: Database
    plant: Plant

    @property
    def done_ns(self) -> int:
        return int(self.database.done_ns.max())

    def requests(self, station: int) -> int:
        return int(self.plant.stations[station]["finished"])


def run(
    demand: Demand,
    *,
    pages: int = 8192,
    other_pages: int = 0,
    places: int = 64,
    sessions: int = 1,
    cores: int = 16,
    backups: int = 1,
) -> Run:
    """Copy on volumes that take 3 ms for each request, to a place that takes 2 ms."""
    builder = PlantBuilder(1)
    data = add_server(builder, "data", places, READ_NS)
    other = add_server(builder, "other", places, READ_NS)
    add_server(builder, "target", places, WRITE_NS)
    relations = [
        Relation(pages, (1, pages - 1), station=data),
        Relation(max(other_pages, 1), (other_pages,), station=other),
    ]
    relations = relations if other_pages else relations[:1]
    demand = replace(demand, tables=min(demand.tables, len(relations)))
    database = add_database(
        builder, DatabaseHost(cores=cores, frames=10), relations, [[demand]], statements_of(sessions)
    )
    plant, outcome, metrics = run_database(builder, database)
    assert outcome.left == sessions
    assert metrics.latency[BACKUP].sum() == sessions * backups
    return Run(database, plant)


@pytest.mark.parametrize("buffers", [1, 4, 7])
def test_a_backup_passes_no_more_than_its_window(buffers: int) -> None:
    """Buffers of 1 MiB, each read and written in turn: N x M / (read + write)."""
    done = run(replace(BACKUP_OF_ALL, depth=buffers), pages=1 + buffers * 10 * MIB // PAGE)
    rounds = 10 + 1  # the root of the index is a read of its own
    assert done.requests(DATA) == done.requests(TARGET) == buffers * 10 + 1
    assert done.done_ns == pytest.approx(rounds * (READ_NS + WRITE_NS), abs=3 * PASS_ON_NS + 1)


def test_a_backup_to_nothing_waits_for_its_reads_alone() -> None:
    done = run(replace(BACKUP_OF_ALL, station=-1), pages=1 + 40 * MIB // PAGE)
    assert done.requests(TARGET) == 0
    assert done.done_ns == pytest.approx(11 * READ_NS, abs=3 * PASS_ON_NS + 1)


def test_volumes_are_read_side_by_side() -> None:
    """One request at a time at each of two volumes: both are busy all the time."""
    both = replace(BACKUP_OF_ALL, station=-1)
    done = run(both, pages=1 + 20 * MIB // PAGE, other_pages=20 * MIB // PAGE, places=1)
    assert done.requests(DATA) == done.requests(OTHER) + 1 == 21
    assert done.done_ns == pytest.approx(21 * READ_NS, abs=5)


@pytest.mark.parametrize(("threads", "expected_ms"), [(1, 40 * 12.8), (2, 20 * 12.8), (4, 10 * (12.8 + 5))])
def test_threads_bound_the_work_on_buffers(threads: int, expected_ms: float) -> None:
    """128 pages of 100 us each: 12.8 ms a buffer; with a thread for each of the four they wait for
    the devices besides.
    """
    done = run(replace(BACKUP_OF_ALL, degree=threads, page_ns=100_000), pages=1 + 40 * MIB // PAGE)
    assert done.done_ns / MS == pytest.approx(expected_ms, rel=0.04)


def test_the_work_needs_cores() -> None:
    done = run(replace(BACKUP_OF_ALL, degree=4, page_ns=100_000), pages=1 + 40 * MIB // PAGE, cores=1)
    assert done.done_ns / MS == pytest.approx(40 * 12.8, rel=0.04)


def test_a_restore_goes_the_other_way() -> None:
    there = run(replace(BACKUP_OF_ALL, restores=True, ratio=250), pages=1 + 40 * MIB // PAGE)
    assert there.requests(TARGET) == there.requests(DATA) == 41
    assert there.done_ns == pytest.approx(11 * (READ_NS + WRITE_NS), abs=3 * PASS_ON_NS + 1)


def test_new_pages_have_nothing_to_read() -> None:
    made = run(Demand(COPY, depth=2, block_pages=32, station=-1, restores=True), pages=1 + 640)
    assert made.requests(DATA) == 21
    assert made.done_ns == pytest.approx(11 * READ_NS, abs=3 * PASS_ON_NS + 1)


def test_a_file_is_as_much_shorter_as_it_is_compressed() -> None:
    """In whole sectors of 512 bytes: 1 MiB by 330 thousandths."""
    done = run(replace(BACKUP_OF_ALL, ratio=330, file_bytes=MIB), pages=1 + 10 * MIB // PAGE)
    of_file = int(done.database.copies["file_bytes"][0]) - MIB
    assert of_file == 10 * -(-MIB * 330 // 512000) * 512 + -(-PAGE * 330 // 512000) * 512


def test_a_spill_is_written_and_read_through_its_buffers() -> None:
    """40 blocks of 256 KiB, 8 at a time, there and back."""
    spill = Demand(COPY, tables=0, depth=8, block_pages=32, station=TARGET, temp_bytes=10 * MIB)
    done = run(spill, backups=0)
    assert done.requests(TARGET) == 80
    assert done.done_ns == pytest.approx(10 * WRITE_NS, abs=5)
    spent = dict(zip(SPENT, done.database.spent[0].tolist(), strict=True))
    assert spent["temp"] == pytest.approx(done.done_ns, abs=10)


def test_sessions_copy_by_themselves() -> None:
    both = run(BACKUP_OF_ALL, pages=1 + 40 * MIB // PAGE, sessions=2)
    assert both.requests(DATA) == 2 * 41
    assert len(set(both.database.done_ns.tolist())) == 1


def test_the_time_of_a_copy_is_the_copys() -> None:
    done = run(BACKUP_OF_ALL)
    spent = dict(zip(SPENT, done.database.spent[0].tolist(), strict=True))
    assert spent["copy"] == pytest.approx(done.done_ns, abs=10)
    assert sum(spent.values()) - spent["copy"] <= 10
