"""SQL Server's log: many blocks under way, their limits, and who waits for which."""

import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.categories import LOG_SYNC
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.database_state import COMPUTE, LOG, LOOKUP, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.metrics import Metrics

pytestmark = pytest.mark.kernels

#: A write takes as long, and so does the flush behind it.
_IO_NS = 1_000_000
_LATENCY_NS = 2 * _IO_NS
_KB = 1024


def run(
    sessions: int,
    commits: int,
    log_bytes: int,
    log: LogBlocks,
    *,
    cpu_ns: int = 0,
    demands: list[Demand] | None = None,
    costs: Costs | None = None,
    distribution: bool = False,
) -> tuple[Database, Metrics, int]:
    """Let sessions commit on a volume that takes in any number of writes at once."""
    builder = PlantBuilder(1)
    volume = add_server(builder, "log volume", 512, _IO_NS, "exponential" if distribution else "fixed")
    loads = statements_of(sessions, commits, cpu_ns=cpu_ns)
    host = DatabaseHost(sessions, 64, log_station=volume, log=log, costs=costs or Costs())
    does = demands or [Demand(COMPUTE), Demand(LOG, log_bytes=log_bytes)]
    database = add_database(builder, host, [Relation(100, (16,), station=volume)], [does], loads)
    _, outcome, metrics = run_database(builder, database)
    return database, metrics, outcome.end_ns


def durable_by(database: Database, since: float, until: float) -> int:
    """Count the commits between two times, in latencies of a block."""
    done = database.done_ns / _LATENCY_NS
    return int(((done > since) & (done <= until)).sum())


@pytest.mark.parametrize(
    ("block_bytes", "writes"),
    [(8 * _KB, 112), (34 * _KB, 112), (35 * _KB, 109), (60 * _KB, 64)],
    ids=["8 KB", "34 KB", "35 KB", "60 KB"],
)
def test_its_ceiling_is_the_lesser_limit_over_the_latency(block_bytes: int, writes: int) -> None:
    """min(112 x block, 3,840 KB) / latency: from 34.3 KB on the bytes are the limit, in whole blocks."""
    assert writes == min(112, 3840 * _KB // block_bytes)
    database, _, _ = run(2 * writes, 4, block_bytes, LogBlocks(largest_block_bytes=block_bytes))
    assert database.log[0]["flushes"] == 2 * writes * 4
    assert durable_by(database, 0.5, 5.5) == 5 * writes


def test_up_to_2008_r2_it_is_32_writes() -> None:
    database, _, _ = run(64, 4, 8 * _KB, LogBlocks(largest_block_bytes=8 * _KB, most_writes=32))
    assert durable_by(database, 0.5, 5.5) == 5 * 32
    assert database.log[0]["write_bytes"] == 0


def test_below_the_limits_every_commit_has_a_block_and_waits_for_one_write() -> None:
    database, metrics, _ = run(100, 20, 700, LogBlocks())
    assert database.log[0]["flushes"] > 100  # all who come at the same instant share one
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= _LATENCY_NS + 10
    assert database.log[0]["written_bytes"] % 512 == 0


def test_a_block_ends_with_its_sector() -> None:
    database, _, _ = run(1, 10, 700, LogBlocks())
    assert (database.log[0]["flushes"], database.log[0]["written_bytes"]) == (10, 10 * 1024)


def test_with_the_limits_reached_blocks_grow() -> None:
    """One write at a time: the commits of 20 others are in the next block, as in a batch server."""
    database, metrics, _ = run(21, 20, 600, LogBlocks(most_writes=1), cpu_ns=1000)
    assert database.log[0]["commits"] == 420
    assert database.log[0]["flushes"] <= 2 * 20 + 2
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= 2 * _LATENCY_NS + 10


def test_60_kb_are_written_though_nobody_commits() -> None:
    change = [Demand(LOOKUP, dirties=True, log_bytes=20_000)] * 12
    database, _, _ = run(1, 1, 0, LogBlocks(), demands=[Demand(COMPUTE), *change])
    assert database.log[0]["commits"] == 0
    assert database.log[0]["written"] >= 2 * 61_440


def test_a_transaction_longer_than_a_block_has_its_blocks_under_way_together() -> None:
    database, _, end_ns = run(1, 1, 5 * 61_440, LogBlocks())
    assert database.log[0]["flushes"] == 5
    assert end_ns == pytest.approx(_LATENCY_NS, rel=1e-4)


def test_a_commit_waits_for_the_blocks_before_its_own() -> None:
    """Writes come back in any order; no session goes on before the log is durable up to its record."""
    database, metrics, _ = run(50, 40, 3000, LogBlocks(), distribution=True)
    fixed, fixed_metrics, _ = run(50, 40, 3000, LogBlocks())
    assert database.log[0]["flushed"] == database.log[0]["inserted"]
    mean, alone = (float(m.latency_sum_ns[:, LOG_SYNC].sum()) / 2000 for m in (metrics, fixed_metrics))
    assert mean > 1.3 * alone  # the slowest of those before decides, not the mean
    assert fixed.log[0]["first_block"] == fixed.log[0]["next_block"]


def test_with_delayed_durability_nobody_waits_and_whole_blocks_are_written() -> None:
    database, metrics, _ = run(4, 500, 1000, LogBlocks(delayed_durability=True), cpu_ns=100_000)
    assert int(metrics.latency_max_ns[LOG_SYNC]) <= 2
    written = database.log[0]["flushes"] * 61_440
    assert written == pytest.approx(4 * 500 * 1000, abs=5 * 61_440)


def test_who_issues_a_block_pays_for_it() -> None:
    costs = Costs(log_io_ns=50_000)
    _, metrics, _ = run(1, 10, 700, LogBlocks(), costs=costs)
    assert int(metrics.latency_sum_ns[:, LOG_SYNC].sum()) == pytest.approx(10 * (_LATENCY_NS + 50_000), rel=1e-4)
