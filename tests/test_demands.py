"""What statements ask for besides single rows: scans, rows with reads ahead, shared scans, row locks, temp blocks; as
closed forms say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import Plant
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import (
    COMPUTE,
    LOCK,
    LOG,
    LOOKUP,
    LOOKUPS,
    LRU,
    SCAN,
    SPENT,
    SPILL,
    VALID,
    Database,
)
from tiersim.simulator.database.sessions.processors import Costs

pytestmark = pytest.mark.kernels

MS = 1_000_000
PAGES = 640
SCANS = Demand(SCAN, depth=0)


@dataclass(frozen=True)
class Run:
    """A run on a disk of 64 places that takes 1 ms for any read, and a log of one place that takes 0.2 ms."""

    database: Database
    plant: Plant
    disk: int

    @property
    def done_ms(self) -> list[float]:
        return [round(done / MS, 3) for done in self.database.done_ns.tolist()]

    @property
    def reads(self) -> int:
        return int(self.plant.stations[self.disk]["finished"])

    def spent_ms(self, name: str) -> float:
        return round(float(self.database.spent[:, SPENT.index(name)].sum()) / MS, 3)


def run(
    demands: Sequence[Demand],
    *,
    sessions: int = 1,
    statements: int = 1,
    host: DatabaseHost | None = None,
    rows: int = 6400,
    heap: int = PAGES,
    places: int = 64,
    cpu_ns: int = 0,
    **columns: NDArray[np.uint8],
) -> Run:
    builder = PlantBuilder(3)
    disk = add_server(builder, "disk", places, MS)
    log = add_server(builder, "log", 1, MS // 5)
    loads = statements_of(sessions, statements, cpu_ns=cpu_ns, **columns)
    relations = [Relation(rows, (1, 8, heap), station=disk), Relation(8, (1,), station=disk)]
    host = replace(host or DatabaseHost(cores=16, frames=4000), log_station=log, temp_station=log)
    database = add_database(builder, host, relations, [demands], loads)
    plant, _, _ = run_database(builder, database)
    return Run(database, plant, disk)


def test_a_scan_without_reads_ahead_reads_longer_and_longer_blocks() -> None:
    done = run([Demand(SCAN)])
    assert done.reads == 4 + (PAGES - 15) // 16 + 1  # 1, 2, 4, 8, then 16 pages at a time, and what is left
    assert done.done_ms == [pytest.approx(done.reads, rel=1e-3)]
    assert int((done.database.state == VALID).sum()) == PAGES
    assert done.spent_ms("data read") == pytest.approx(done.reads, rel=1e-3)


def test_a_scan_that_begins_with_blocks_reads_blocks_only() -> None:
    assert run([Demand(SCAN, full=True)]).reads == PAGES // 16
    assert run([Demand(SCAN, full=True, block_pages=64)]).reads == PAGES // 64


def test_a_scan_of_a_part_goes_round() -> None:
    done = run([Demand(SCAN, pages=20, start_page=PAGES - 10, full=True)])
    heap = done.database.frame_of[-PAGES - 1 : -1]
    assert np.flatnonzero(heap).tolist() == [*range(10), *range(PAGES - 10, PAGES)]


@pytest.mark.parametrize("depth", [1, 3, 8])
def test_reads_ahead_are_as_many_as_the_depth_says(depth: int) -> None:
    done = run([Demand(SCAN, full=True, depth=depth)], heap=6400, host=DatabaseHost(cores=1, frames=40_000))
    assert done.done_ms == [pytest.approx(400 / depth, rel=0.03, abs=5)]


def test_reading_ahead_hides_the_disk_behind_the_processor() -> None:
    costs = Costs(scan_page_ns=100_000, scan_row_ns=2000, scan_read_ns=5000)
    done = run([Demand(SCAN, depth=8)], host=DatabaseHost(cores=1, frames=4000, costs=costs))
    cpu = PAGES * (100_000 + 10 * 2000 + 5000) / MS
    assert done.spent_ms("cpu") == pytest.approx(cpu, rel=1e-3)
    assert done.done_ms == [pytest.approx(cpu, abs=5)]  # the first reads are waited for


def test_the_distance_is_short_where_pages_are_there() -> None:
    done = run([Demand(SCAN, depth=8)], statements=2)
    reads = done.reads
    assert reads < PAGES // 16 + 12
    assert done.done_ms[1] - done.done_ms[0] < 0.01
    assert int(done.database.read_streams["distance"][0]) == 1


def test_a_page_that_two_scans_want_is_read_once() -> None:
    alone, both = run([Demand(SCAN, depth=4)]), run([Demand(SCAN, depth=4)], sessions=2)
    assert both.reads == alone.reads
    assert both.done_ms[0] == pytest.approx(alone.done_ms[0], rel=0.01)


PACED = Demand(SCAN, depth=4, block_pages=64, full=True, paced_ns=50_000)  # disks alone: 4 x 64 pages a ms


def test_a_paced_scan_takes_its_time_while_the_pool_fills() -> None:
    done = run([PACED], heap=6400, host=DatabaseHost(cores=1, frames=40_000))
    assert done.done_ms == [pytest.approx(99 * 64 * 0.05, rel=1e-3)]  # the last block is there by then
    assert done.spent_ms("data read") == pytest.approx(done.done_ms[0], rel=1e-3)


def test_a_paced_scan_is_as_fast_as_others_when_the_pool_is_full() -> None:
    host = DatabaseHost(cores=1, frames=1280, policy=LRU)
    done, other = (run([one], heap=6400, host=host) for one in (PACED, replace(PACED, paced_ns=0)))
    assert other.done_ms == [pytest.approx(25, rel=0.1)]
    assert done.done_ms[0] == pytest.approx(
        960 * 0.05 + other.done_ms[0] * 5440 / 6400, rel=0.05
    )  # 320 pages ahead of it


def test_a_paced_scan_of_pages_that_are_there_waits_for_nothing() -> None:
    done = run(
        [PACED], heap=6400, statements=2, host=DatabaseHost(cores=1, frames=40_000, costs=Costs(scan_page_ns=1000))
    )
    assert done.done_ms[1] - done.done_ms[0] == pytest.approx(6.4, rel=0.01)


def test_pages_of_a_scan_cost_what_is_done_with_them() -> None:
    done = run(
        [Demand(SCAN, depth=8, page_ns=40_000)], host=DatabaseHost(cores=1, frames=4000, costs=Costs(scan_page_ns=2000))
    )
    assert done.spent_ms("cpu") == pytest.approx(PAGES * 0.042, rel=1e-3)


@pytest.mark.parametrize("frames", [1, 2, 5, 30])
def test_scans_come_to_an_end_in_a_pool_that_is_too_small(frames: int) -> None:
    done = run([Demand(SCAN, depth=8, dirties=True)], sessions=3, host=DatabaseHost(cores=2, frames=frames))
    assert (done.database.done_ns > 0).all()
    assert done.reads > PAGES  # besides the reads, each page was written when it had to go


@pytest.mark.parametrize("depth", [1, 4, 16])
def test_rows_in_order_are_read_ahead_as_deep_as_the_depth(depth: int) -> None:
    done = run([Demand(LOOKUPS, rows=320, depth=depth)], heap=10_000, rows=10_000)
    index = 2  # pages on the way to the first row
    assert done.reads in range(index + 315, index + 321)  # some pages have neighbours
    assert done.done_ms == [pytest.approx(index + 320 / depth, rel=0.05, abs=5)]


def test_rows_that_are_many_are_read_ahead_and_few_are_not() -> None:
    many = Demand(LOOKUPS, rows=25, depth=64, in_order=False, threshold=26)
    few = run([many], heap=100_000, rows=100_000)
    assert few.reads == pytest.approx(25 + 1 + 8, abs=4)  # index pages among them
    assert few.done_ms == [pytest.approx(few.reads, rel=1e-3)]
    more = run([replace(many, rows=26)], heap=100_000, rows=100_000)
    assert more.reads == pytest.approx(26 + 1 + 8, abs=4)
    assert more.done_ms == [pytest.approx(more.reads - 26 + 1, abs=0.5)]  # index pages one by one, rows together


def test_rows_in_no_order_keep_the_depth_busy() -> None:
    done = run(
        [Demand(LOOKUPS, rows=1500, depth=8, in_order=False)], heap=100_000, rows=100_000, host=DatabaseHost(1, 40_000)
    )
    assert done.done_ms == [pytest.approx(done.reads / 8, rel=0.05)]


@pytest.mark.parametrize("workers", [1, 3, 12])
def test_readers_bound_how_many_reads_are_under_way(workers: int) -> None:
    host = DatabaseHost(cores=16, frames=4000, io_workers=workers, costs=Costs(async_read_ns=100_000))
    done = run([Demand(LOOKUPS, rows=320, depth=32)], heap=10_000, rows=10_000, host=host)
    assert done.done_ms == [
        pytest.approx(2 * 1.1 + 320 * 1.1 / workers, rel=0.02, abs=5)
    ]  # the distance grows at first
    assert done.spent_ms("cpu") == 0  # that of the readers holds up nobody


def test_who_finds_the_queue_of_the_readers_full_reads_by_itself() -> None:
    scan = Demand(LOOKUPS, rows=200, depth=200, in_order=False)
    host = DatabaseHost(cores=16, frames=4000, io_workers=1, costs=Costs(async_read_ns=1000))
    done = run([scan], heap=100_000, rows=100_000, host=host)
    assert done.spent_ms("cpu") == pytest.approx((done.reads - 65 - 9) / 1000 / 2, rel=0.5)
    assert done.done_ms[0] < 0.7 * done.reads


@pytest.mark.parametrize(("degree", "helpers", "shares"), [(1, 3, 1), (2, 3, 2), (4, 3, 4), (4, 1, 2)])
def test_a_shared_scan_is_as_many_times_faster_as_there_are_helpers(degree: int, helpers: int, shares: int) -> None:
    host = DatabaseHost(cores=8, frames=40_000, helpers=helpers, costs=Costs(scan_page_ns=10_000))
    done = run([Demand(SCAN, degree=degree)], statements=2, heap=6400, host=host)
    assert done.done_ms[1] - done.done_ms[0] == pytest.approx(64 / shares, rel=0.02)
    assert int(done.plant.stations[done.disk]["finished"]) > 400
    assert int(done.database.idle_helpers[0]) == helpers
    assert done.database.spent.sum() == done.database.done_ns[-1]


def test_a_scan_goes_on_alone_when_no_helper_is_free() -> None:
    host = DatabaseHost(cores=8, frames=40_000, helpers=1, costs=Costs(scan_page_ns=10_000))
    done = run([Demand(SCAN, degree=2)], sessions=4, statements=1, heap=640, host=host)
    assert (done.database.done_ns > 0).all()
    assert int(done.database.idle_helpers[0]) == 1


LOCKED = (Demand(LOOKUP, table=1), Demand(LOCK, table=1), Demand(COMPUTE), Demand(LOG, log_bytes=1))


def test_all_sessions_on_one_row_are_one_server() -> None:
    """The row is kept for 1 ms of CPU, a write and a flush of 0.2 ms each; the log has a place for each, so only the
    row is scarce.
    """
    builder = PlantBuilder(3)
    log = add_server(builder, "log", 8, MS // 5)
    count = 8 * 20
    host = DatabaseHost(cores=16, frames=10, log_station=log)
    relations = [Relation(1, (1,)), Relation(1, (1,), station=log)]
    database = add_database(builder, host, relations, [LOCKED], statements_of(8, 20, cpu_ns=MS))
    run_database(builder, database)
    ended = np.sort(database.done_ns)
    assert np.diff(ended) == pytest.approx(1.4 * MS, abs=100)
    assert database.spent[0, SPENT.index("lock")] == pytest.approx(sum(7 * 1.4 * MS for _ in range(count)), rel=0.05)
    # first come, first served: each of the eight has had its turn before one has its next
    owners = np.argsort(database.done_ns) // 20
    assert all(sorted(owners[turn : turn + 8]) == list(range(8)) for turn in range(0, count, 8))


def test_rows_that_differ_do_not_wait_for_each_other() -> None:
    done = run([replace(LOCKED[0], table=0), replace(LOCKED[1], table=0), *LOCKED[2:]], sessions=4, cpu_ns=MS)
    assert done.spent_ms("lock") == 0


def test_a_lock_is_kept_until_the_transaction_ends() -> None:
    """Two sessions of two statements each: the second session gets the row when both statements of
    the first are over.
    """
    flags = np.array([1, 0, 1, 0], np.uint8)
    demands = [Demand(LOCK, table=1), Demand(COMPUTE)]
    done = run(demands, sessions=2, statements=2, cpu_ns=MS, begins=flags, ends=1 - flags)
    assert done.done_ms == [1, 2, 3, 4]
    assert done.spent_ms("lock") == 2


def test_rows_are_locked_in_the_order_of_their_tables() -> None:
    """A transaction that comes back to an earlier table does not lock there, so that nobody waits in a circle."""
    done = run([Demand(LOCK, table=1), Demand(COMPUTE), Demand(LOCK, table=0)], sessions=3, cpu_ns=MS)
    assert int(done.database.locks_passed[0]) == 3
    assert done.done_ms == [1, 2, 3]


def test_a_session_that_leaves_gives_its_rows_back() -> None:
    begun = np.ones(2, np.uint8)
    done = run([Demand(LOCK, table=1), Demand(COMPUTE)], sessions=2, cpu_ns=MS, begins=begun, ends=1 - begun)
    assert done.done_ms == [1, 2]


def test_spilled_bytes_are_written_and_read_back() -> None:
    done = run([Demand(SPILL, temp_bytes=1_000_000)])
    assert done.done_ms == [pytest.approx(2 * 8 * 0.2, rel=1e-3)]
    assert done.spent_ms("temp") == done.done_ms[0]


@pytest.mark.parametrize("kind", ["rows", "table"])
def test_reads_ahead_cost_what_the_table_of_costs_says(kind: str) -> None:
    costs = Costs(
        read_ns=22_700, async_read_ns=13_200, scan_read_ns=4450, scan_page_ns=750, scan_row_ns=50, lookup_ns=4000
    )
    host = DatabaseHost(cores=1, frames=40_000, costs=costs)
    demand: dict[str, Any] = {"rows": 300, "in_order": False} if kind == "rows" else {"full": True}
    done = run(
        [Demand(LOOKUPS if kind == "rows" else SCAN, depth=32, **demand)],
        heap=100_000 if kind == "rows" else PAGES,
        rows=100_000,
        host=host,
    )
    index = 9 * 22.7
    expected = 300 * (4 + 13.2) + index if kind == "rows" else PAGES * (0.75 + 4.45) + 100_000 * 0.05
    assert done.spent_ms("cpu") == pytest.approx(expected / 1000, rel=0.01)
