"""SQL Server's checkpoints: when they come, what one write is for, how many are under way; those that go on and on."""

import pytest

from tests.runs import run_database, statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.simulator.database.buffer_pool.warm import refer
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, add_database
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.database_state import COMPUTE, DIRTY_PAGES, LOG, LOOKUP, LRU2, Database
from tiersim.simulator.database.wal.log_blocks import LogBlocks

pytestmark = pytest.mark.kernels

_S = 1_000_000_000
_MS = 1_000_000
_CHANGE = (Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=200), Demand(LOG, log_bytes=50))
_CALM = (Demand(COMPUTE),)


def run(
    seconds: float,
    checkpoints: BurstCheckpoints | IndirectCheckpoints,
    *,
    dirty: int = 0,
    cpu_ns: int = 10 * _MS,
    pages: int = 1000,
    demands: tuple[Demand, ...] = _CHANGE,
    write_ns: int = 20_000,
    disks: int = 64,
    temp: bool = False,
    intervals: int = 8,
) -> tuple[Database, int]:
    """One session that changes pages and commits; *dirty* pages in a row are changed when it begins. Returns what was
    written, too, in writes.
    """
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", disks, write_ns)
    volume = add_server(builder, "log volume", 1, 10_000)
    statements = max(round(seconds * _S / cpu_ns), 1)
    loads = statements_of(1, statements, cpu_ns=cpu_ns)
    host = DatabaseHost(2, 2 * pages, log_station=volume, log=LogBlocks(), checkpoints=checkpoints, policy=LRU2)
    relations = [Relation(pages * 10, (pages,), station=disk, temp=temp)]
    database = add_database(builder, host, relations, [demands], loads, intervals=intervals)
    for page in range(pages):
        refer(database, page, int(page < dirty), 0)
    plant, _, _ = run_database(builder, database, intervals, _S)
    return database, int(plant.work_ns[disk, 0]) // write_ns


def test_the_next_begins_an_interval_after_the_last_has_ended() -> None:
    database, _ = run(8, BurstCheckpoints(interval_ns=2 * _S), write_ns=5 * _MS, disks=1, cpu_ns=20 * _MS)
    rows = database.checkpoints[: database.checkpointer[0]["count"]]
    assert len(rows) >= 3
    assert rows["start_ns"][0] == 2 * _S
    assert (rows["start_ns"][1:] - rows["end_ns"][:-1]).tolist() == [2 * _S] * (len(rows) - 1)
    assert (rows["end_ns"] > rows["written_ns"]).all()
    assert (rows["pages"] == rows["written_pages"]).all()


def test_the_last_one_before_the_run_counts() -> None:
    database, _ = run(2, BurstCheckpoints(interval_ns=2 * _S, since_ns=_S // 2))
    assert database.checkpoints["start_ns"][0] == 3 * _S // 2


def test_there_is_none_without_any_log() -> None:
    """Two commits, 3 s apart, and 3 s more: whoever looks each second finds something to do twice."""
    settings = BurstCheckpoints(interval_ns=_S)
    database, _ = run(9, settings, demands=(Demand(COMPUTE), Demand(LOG, log_bytes=1)), cpu_ns=3 * _S)
    assert database.checkpointer[0]["count"] == 2


@pytest.mark.parametrize(("gathered", "writes"), [(1, 512), (32, 16), (128, 4)])
def test_pages_side_by_side_are_one_write_up_to_its_limit(gathered: int, writes: int) -> None:
    database, written = run(
        1.5,
        BurstCheckpoints(interval_ns=_S, gathered_pages=gathered),
        dirty=512,
        demands=(Demand(COMPUTE), Demand(LOG, log_bytes=1)),
    )
    assert database.checkpointer[0]["written_pages"] == 512
    assert written == writes + 1  # and the flush of the file
    assert database.pool_state[DIRTY_PAGES] == 0


def test_writes_end_at_pages_that_are_clean() -> None:
    """Of every third page that is clean, pairs are left."""
    builder = PlantBuilder(1)
    disk, volume = add_server(builder, "disk", 64, 20_000), add_server(builder, "log volume", 1, 10_000)
    loads = statements_of(1, 150, cpu_ns=10 * _MS)
    host = DatabaseHost(
        1, 600, log_station=volume, log=LogBlocks(), checkpoints=BurstCheckpoints(interval_ns=_S), policy=LRU2
    )
    does = [Demand(COMPUTE), Demand(LOG, log_bytes=1)]
    database = add_database(builder, host, [Relation(3000, (300,), station=disk)], [does], loads)
    for page in range(300):
        refer(database, page, int(page % 3 != 2), 0)
    plant, _, _ = run_database(builder, database, 1, _S)
    assert int(plant.work_ns[disk, 0]) // 20_000 == 100 + 1
    assert database.checkpointer[0]["written_pages"] == 200


def test_as_many_pages_are_under_way_as_the_target_says_and_it_looks_every_5_ms() -> None:
    """10 pages each 5 ms, on disks that are faster: 600 pages take 300 ms, the last look included."""
    database, _ = run(
        2,
        BurstCheckpoints(interval_ns=_S, gathered_pages=1, most_pages=10),
        dirty=600,
        demands=(Demand(COMPUTE), Demand(LOG, log_bytes=1)),
    )
    row = database.checkpoints[0]
    assert row["written_ns"] - row["start_ns"] == pytest.approx(60 * 5 * _MS, rel=1e-3)


def test_slow_writes_lower_the_target_and_fast_ones_raise_it_again() -> None:
    calm = (Demand(COMPUTE), Demand(LOG, log_bytes=1))
    settings = BurstCheckpoints(interval_ns=_S, gathered_pages=1, most_pages=100, slow_ns=20 * _MS)
    slow, _ = run(6, settings, dirty=900, demands=calm, write_ns=4 * _MS, disks=1)
    assert slow.checkpointer[0]["target_pages"] <= 8  # 5 writes of 4 ms, one behind the other, take 20 ms
    fast, _ = run(6, settings, dirty=900, demands=calm, write_ns=4 * _MS, disks=1000)
    assert fast.checkpointer[0]["target_pages"] == 100


def test_pages_of_a_temporary_database_are_passed_by_and_not_logged() -> None:
    database, written = run(3, BurstCheckpoints(interval_ns=_S), temp=True, dirty=100)
    assert written == 0
    assert database.pool_state[DIRTY_PAGES] > 100
    assert database.log[0]["inserted"] == 50 * database.log[0]["commits"]


def test_an_indirect_checkpoint_goes_round_once_in_its_time() -> None:
    """No page stays changed for longer, and what is written spreads evenly."""
    database, _ = run(
        8, IndirectCheckpoints(target_ns=2 * _S), dirty=1000, intervals=9, demands=(*_CALM, Demand(LOG, log_bytes=1))
    )
    dirty = database.history[:, 0]
    assert dirty[0] == pytest.approx(500, abs=60)
    assert dirty[1] == pytest.approx(0, abs=60)
    assert database.checkpointer[0]["written_pages"] == 1000


def test_an_indirect_checkpoint_writes_a_page_again_only_when_it_is_changed_again() -> None:
    settings = IndirectCheckpoints(target_ns=2 * _S, gathered_pages=1)
    database, _ = run(8, settings, pages=200, cpu_ns=2 * _MS)
    # 200 pages, all changed again and again: each once in 2 s
    assert database.checkpointer[0]["written_pages"] == pytest.approx(200 * 8 / 2, rel=0.1)
