"""What PostgreSQL 18's ways to read ahead achieve, against published measurements of random pages on an NVMe drive.

Fitted: the latency of the drive, on reads one by one; the CPU of a read ahead, on io_uring with 128 reads ahead. From
the row that is predicted: what a page costs that is there. Assumed: 32 parts of the drive that read independently, as
the catalogue's drives of that size have.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.runs import needs_jit, run_database, statements_of
from tiersim.devices.array.volume import add_array
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import LOOKUPS
from tiersim.simulator.database.sessions.processors import Costs

pytestmark = [pytest.mark.kernels, pytest.mark.shared]

PAGES, ROWS_PER_PAGE = 555_556, 18
READ_PAGES = 2000
PARTS = 32


@dataclass(frozen=True)
class Measured:
    """Of one server: how it reads ahead, and us a page when no page is in the pool and when all are."""

    method: str
    workers: int
    depth: int
    pool: str
    cold_us: float
    warm_us: float


@pytest.fixture(scope="module")
def measured(shared: Path) -> list[Measured]:
    with (shared / "published" / "pg18_aio_random_scan_nvme.csv").open() as lines:
        return [
            Measured(
                row["io_method"], int(row["io_workers"]), int(row["eic"]), row["shared_buffers"],
                float(row["cold_us_per_page_median"]), float(row["warm_us_per_page_median"]),
            )
            for row in csv.DictReader(lines)
        ]  # fmt: skip


def simulated_us(depth: int, workers: int, latency_us: float, page_us: float, ahead_us: float) -> float:
    """Simulate a bitmap heap scan of random pages that are not in the pool; returns us a page."""
    builder = PlantBuilder(1)
    dies = [add_server(builder, f"part {part}", 1, round(latency_us * 1000)) for part in range(PARTS)]
    drive = add_array(builder, dies, "raid0", 8192, 1, "drive")
    costs = Costs(page_ns=round(page_us * 1000), async_read_ns=round(ahead_us * 1000))
    host = DatabaseHost(cores=16, frames=PAGES, costs=costs, io_workers=workers)
    relation = Relation(PAGES * ROWS_PER_PAGE, (1, PAGES), station=drive)
    demand = Demand(LOOKUPS, rows=READ_PAGES, depth=depth)
    database = add_database(builder, host, [relation], [[demand]], statements_of(1))
    run_database(builder, database)
    return float(database.done_ns[0]) / READ_PAGES / 1000


def predicted(measured: list[Measured]) -> dict[Measured, float]:
    """Predict every server but those that were fitted to."""
    found = {}
    for pool in ("32GB", "4GB"):
        rows = [row for row in measured if row.pool == pool]
        serial = next(row for row in rows if row.method == "sync" and row.depth == 0)
        fitted = next(row for row in rows if row.method == "io_uring" and row.depth == 128)
        latency, ahead = serial.cold_us - serial.warm_us, fitted.cold_us - fitted.warm_us
        for row in rows:
            workers = row.workers if row.method == "worker" else 0
            found[row] = simulated_us(row.depth, workers, latency, row.warm_us, ahead)
    return found


@needs_jit
def test_published_random_scans(measured: list[Measured]) -> None:
    errors = {row: us / row.cold_us - 1 for row, us in predicted(measured).items()}
    workers = {row: error for row, error in errors.items() if row.method == "worker" and row.depth > 0}
    assert len(workers) == 8
    assert max(abs(error) for error in workers.values()) < 0.10
    others = {row: error for row, error in errors.items() if row.method != "worker" or row.depth == 0}
    # posix_fadvise makes two system calls of each page in the one process, which these numbers cannot tell from its
    # other CPU
    assert {(row.method, row.depth) for row, error in others.items() if abs(error) > 0.15} == {("sync", 128)}


def test_three_workers_are_three_times_as_fast_as_none(measured: list[Measured]) -> None:
    serial = next(row for row in measured if row.method == "worker" and row.depth == 0)
    latency = serial.cold_us - serial.warm_us
    alone, three = (simulated_us(depth, 3, latency, serial.warm_us, 2.6) for depth in (0, 16))
    assert three == pytest.approx(alone / 3, rel=0.1)
    for row in measured:
        if row.method == "worker" and row.workers == 3 and row.depth > 0:
            assert row.cold_us == pytest.approx(three, rel=0.1)
