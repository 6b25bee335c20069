"""How many pages are read, against twins in plain Python, in both engines: rings, reads ahead, copies; every statement
ends at the same ns.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.runs import metrics_of
from tests.test_database_twins import READ_NS, SEEDS, pick, statements, work_ns
from tests.twins.clock import Clock
from tests.twins.copies import Copy
from tests.twins.processors import Processors
from tests.twins.read_stream import Readers, Stream
from tests.twins.rings import RingPool
from tests.twins.stand_in import Recorded
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.pages import draw_row, page_at
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.database_state import COMPUTE, COPY, LOOKUP, SCAN, Database
from tiersim.simulator.database.sessions.copies import NOTHING
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.reference.engine import ReferenceEngine

pytestmark = pytest.mark.kernels

Seen = list[tuple[int, int, int, int]]


def read_by(
    host: dict[str, Any],
    relations: Sequence[tuple[int, ...]],
    classes: Sequence[Sequence[Demand]],
    load: Statements,
    seed: int,
    places: int = 64,
) -> tuple[Database, Seen]:
    """Run both engines, which must agree, on a disk that serves so many requests at once; return the database, and what
    the disk was asked for. A table has pages by level, and ten rows on each of the last one.
    """

    def fresh() -> tuple[PlantBuilder, Database, Any, int]:
        builder = PlantBuilder(seed % 1000)
        disk = add_server(builder, "disk", places, READ_NS)
        tables = [Relation(levels[-1] * 10, levels, station=disk) for levels in relations]
        database = add_database(builder, DatabaseHost(**host), tables, classes, load)
        return (
            builder,
            database,
            new_metrics(FIRST_CLASS + len(classes), len(builder.stations), RESOURCES, 2, 10**9),
            disk,
        )

    builder, database, metrics, _ = fresh()
    engine.run_database(builder.build(64), database, metrics)
    builder, other, metrics, disk = fresh()
    recorder = Recorded(READ_NS)
    devices = {disk: recorder.bind} if places == 64 else {}
    ReferenceEngine(builder.build(64), [], metrics, devices, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()
    return database, recorder.seen


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    frames=pick(16, 40, 100),
    ring_pages=pick(1, 4, 32),
    small=pick(3, 20, 60),
    large=pick(5, 12, 30, 90),
    dirties=st.booleans(),
)
@example(seed=1, frames=40, ring_pages=1, small=3, large=10, dirties=False)  # a quarter of the pool, and no more
def test_rings(seed: int, frames: int, ring_pages: int, small: int, large: int, dirties: bool) -> None:
    """Lookups in two tables, and scans of the second."""
    load = statements(1, 60, seed, 1000, 1000)
    load = replace(load, classes=np.random.default_rng(seed).integers(0, 3, 60).astype(np.int32))
    classes = [
        [Demand(COMPUTE), Demand(LOOKUP, 0, dirties=dirties)],
        [Demand(COMPUTE), Demand(LOOKUP, 1, dirties=dirties)],
        [Demand(COMPUTE), Demand(SCAN, 1, block_pages=1)],
    ]
    host = {"cores": 1, "frames": frames, "ring_bytes": ring_pages * 8192, "log": Log(full_page_writes=False)}
    database, _ = read_by(host, [(1, small), (1, large)], classes, load, seed)
    pool = RingPool(frames, ring_pages, READ_NS, READ_NS)
    now, done = 0, []
    for row in range(60):
        now += int(load.think_ns[row]) + work_ns(load, row)
        table = int(load.classes[row])
        if table == 2:
            now += pool.scan(small + 2, large, ring=large > frames // 4)
        else:
            drawn = draw_row(database, table, 0, row * 256 + 1, 0)
            for level in (0, 1):
                page = int(page_at(database, table, drawn, level))
                now += pool.refer(page)
            if dirties:
                pool.change(page)
        done.append(now)
    assert database.done_ns.tolist() == done


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    pages=pick(1, 7, 40, 150),
    depth=pick(0, 1, 2, 16),
    block=pick(1, 4, 16),
    full=st.booleans(),
    looked_up=pick(0, 5, 60),
)
@example(seed=207614565, pages=40, depth=2, block=16, full=False, looked_up=5)  # the distance ends at the last page
def test_read_stream(seed: int, pages: int, depth: int, block: int, full: bool, looked_up: int) -> None:
    """Lookups bring some pages of a table that fits into the pool, then it is scanned."""
    load = statements(1, looked_up + 1, seed, 1000, 1000)
    load = replace(load, classes=np.array([0] * looked_up + [1], np.int32))
    scan = Demand(SCAN, depth=depth, block_pages=block, full=full)
    classes = [[Demand(COMPUTE), Demand(LOOKUP)], [Demand(COMPUTE), scan]]
    database, seen = read_by({"cores": 1, "frames": 1000}, [(1, pages)], classes, load, seed)
    clock, there, reads = Clock(), dict[int, int](), []
    now = 0
    for row in range(looked_up):
        now += int(load.think_ns[row]) + work_ns(load, row)
        drawn = draw_row(database, 0, 0, row * 256 + 1, 0)
        for level in (0, 1):
            page = int(page_at(database, 0, drawn, level))
            if page not in there:
                reads.append((now + 1, page, 1))
                now += 1 + READ_NS
                there[page] = now
    now += int(load.think_ns[looked_up]) + work_ns(load, looked_up)
    stream = Stream(clock, depth, block, full, READ_NS, there)
    clock.at(now, stream.scan(1, pages))
    clock.run()
    assert [(when, offset // 8192, size // 8192) for when, _, offset, size in seen] == reads + stream.reads
    assert int(database.done_ns[-1]) == clock.now


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=SEEDS,
    pages=pick(1, 7, 40, 150),
    depth=pick(1, 2, 16),
    block=pick(1, 4, 16),
    full=st.booleans(),
    workers=st.integers(1, 4),
    costs=pick((0, 0), (700, 90), (1_500_000, 40_000)),
)
@example(seed=0, pages=7, depth=1, block=4, full=False, workers=1, costs=(700, 90))  # a read of several pages
def test_readers(
    seed: int, pages: int, depth: int, block: int, full: bool, workers: int, costs: tuple[int, int]
) -> None:
    """A scan whose pages I/O workers read; a read of one page costs them the first of *costs*, else each the second."""
    one, each = costs
    load = statements(1, 1, seed, 1000, 1000)
    scan = Demand(SCAN, depth=depth, block_pages=block, full=full)
    host = {"cores": 8, "frames": 1000, "io_workers": workers, "costs": Costs(async_read_ns=one, scan_read_ns=each)}
    database, seen = read_by(host, [(1, pages)], [[Demand(COMPUTE), scan]], load, seed)
    now = int(load.think_ns[0]) + work_ns(load, 0)
    clock = Clock()
    readers = Readers(workers, READ_NS, lambda count: one if count == 1 else count * each)
    stream = Stream(clock, depth, block, full, READ_NS, {}, readers=readers)
    clock.at(now, stream.scan(1, pages))
    clock.run()
    assert sorted((when, offset // 8192, size // 8192) for when, _, offset, size in seen) == sorted(stream.reads)
    assert int(database.done_ns[-1]) == clock.now


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=SEEDS,
    pages=st.lists(pick(1, 30, 64, 200), min_size=1, max_size=3),
    apart=st.booleans(),
    buffers=st.integers(1, 5),
    buffer_pages=pick(1, 16, 64),
    threads=st.integers(1, 3),
    page_ns=pick(0, 7_001, 50_003),
    cores=st.integers(1, 3),
    kind=pick("backup", "restore", "nul", "new"),
)
@example(  # the work on a buffer takes more than a slice
    seed=0,
    pages=[30],
    apart=False,
    buffers=1,
    buffer_pages=64,
    threads=1,
    page_ns=50_003,
    cores=1,
    kind="backup",
)
def test_copies(
    seed: int,
    pages: list[int],
    apart: bool,
    buffers: int,
    buffer_pages: int,
    threads: int,
    page_ns: int,
    cores: int,
    kind: str,
) -> None:
    """One session copies tables that lie on one volume, or each on its own."""
    load = statements(1, 1, seed, 1000, 1000)

    def fresh() -> tuple[PlantBuilder, Database, Any]:
        builder = PlantBuilder(seed % 1000)
        disks = [add_server(builder, f"disk {place}", 64, READ_NS + place) for place in range(len(pages))]
        target = add_server(builder, "target", 64, 2 * READ_NS)
        copy = Demand(
            COPY, depth=buffers, block_pages=buffer_pages, degree=threads, page_ns=page_ns, tables=len(pages),
            station=target if kind in ("backup", "restore") else NOTHING, restores=kind in ("restore", "new"),
        )  # fmt: skip
        tables = [Relation(10, (1, count), station=disks[place if apart else 0]) for place, count in enumerate(pages)]
        database = add_database(builder, DatabaseHost(cores, 8), tables, [[Demand(COMPUTE), copy]], load)
        return builder, database, metrics_of(builder)

    builder, database, metrics = fresh()
    engine.run_database(builder.build(64), database, metrics)
    builder, other, metrics = fresh()
    ReferenceEngine(builder.build(64), [], metrics, database=other).run()
    assert other.done_ns.tolist() == database.done_ns.tolist()
    clock = Clock()
    volumes = len(pages) if apart else 1
    levels = [deque[int]() for _ in range(volumes)]
    for place, count in enumerate(pages):
        levels[place if apart else 0] += [1, count]
    file_ns = 2 * READ_NS if kind in ("backup", "restore") else 0
    copy = Copy(
        clock, Processors(clock, cores, [1000] * cores), buffers, buffer_pages, threads, page_ns, levels,
        [READ_NS + place for place in range(volumes)], file_ns, kind in ("restore", "new"),
    )  # fmt: skip
    clock.at(int(load.think_ns[0]) + work_ns(load, 0), copy.run())
    clock.run()
    assert int(database.done_ns[0]) == clock.now
