"""Compiles kernels by using them: a small import, a small replay on every kind of device, in both engines."""

import multiprocessing
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tiersim.devices.array.volume import Volume, VolumeHost, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.controller.raid_controller import Controller, add_controller
from tiersim.devices.host.gate import add_gate
from tiersim.devices.host.upkeep import Upkeep, add_upkeep
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.ssd.ftl import PageMapping, add_ftl
from tiersim.devices.ssd.ftl_kernels import die_of, place_of, trim_unit
from tiersim.devices.station_records import RESOURCES, Plant
from tiersim.devices.tiering.flash_cache import Caching, add_flash_cache
from tiersim.devices.tiering.tiers import Migration, add_tiers
from tiersim.operating_system import ending_signals, processors
from tiersim.random_numbers import LOAD_GAP, fill_random_bits, random_bits
from tiersim.scenarios.calibration.synthesis.draws import Draws, bounded_sample
from tiersim.scenarios.calibration.synthesis.draws import scattered as scattered_misses
from tiersim.scenarios.packing.boxes import Packing
from tiersim.scenarios.packing.buying import pack
from tiersim.scenarios.survey import survey
from tiersim.scenarios.validation.write_amplification import write_random
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.buffer_pool.pages import touch_in_ring
from tiersim.simulator.database.buffer_pool.rings import close_ring, scans_in_ring
from tiersim.simulator.database.buffer_pool.warm import fill, settle, warm
from tiersim.simulator.database.build import NO_DATABASE, DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.database_state import (
    AGAIN,
    BACKGROUND_WRITER,
    BUFFER_POOL,
    CHECKPOINTER,
    COMPUTE,
    COPY,
    LOCK,
    LOG,
    LOG_STATION,
    LOOKUP,
    LOOKUPS,
    MIDPOINT,
    PROCESSORS,
    SCAN,
    SPILL,
)  # fmt: skip
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.miss_ratios import ExactCurve, Shards, size_grid
from tiersim.simulator.policies import POLICIES, misses, numbered
from tiersim.simulator.reference.engine import ReferenceEngine
from tiersim.simulator.station import STEP, addresses_of
from tiersim.traces.readers.sqlserver.warm import compile_readers

if TYPE_CHECKING:
    from tiersim.traces.bundle import Bundle

Progress = Callable[[int, int], None]

#: A few hundred records of the bundled recording.
_SAMPLE_BYTES = 48 * 400


def _plant(*, usual: bool) -> tuple[Plant, int, list[int]]:
    """Return a plant with stations of most kinds, or with the *usual* ones."""
    builder = PlantBuilder(1)
    disks = Volume("disks", load_device("seagate-cheetah-15k7-300"), 4, "raid10", 65536)
    entries = [
        *add_controller(builder, Controller("raid", 1 << 20, flush_interval_ns=0), [disks]).values(),
        add_volume(builder, Volume("flash", load_device("intel-p3700-800"), 1, "single", 65536)),
        add_volume(builder, Volume("cloud", load_device("aws-gp3"), 1, "single", 65536)),
        add_server(builder, "link", 1, 1000, "exponential"),
    ]
    if not usual:
        queue = add_gate(builder, "adapter", 64)
        host = VolumeHost(queue_depth=2, max_request_bytes=4096, merge=True, journal="ordered")
        parity = Volume("parity", load_device("seagate-cheetah-15k7-300"), 4, "raid5", 65536)
        queued = Volume("queued", load_device("intel-p3700-800"), 1, "single", 65536, host=host)
        entries += [add_volume(builder, parity), add_volume(builder, queued, [queue])]
        small, large = 1 << 20, 1 << 30
        caching, migration = Caching("write-back", 8192, 0), Migration(small, 1000, 10**9)
        link, cloud = entries[3], entries[2]
        entries.append(add_flash_cache(builder, "cache", caching, link, small, cloud, large))
        entries.append(add_tiers(builder, "tiers", migration, link, small, cloud, large))
        entries.append(add_upkeep(builder, "upkeep", Upkeep(1.0, 1.0), 8192, small, link))
    return builder.build(), len(builder.stations), entries


def compile_all(progress: Progress | None = None) -> None:
    """Compile all kernels into the cache folder.

    Where there is a second processor, a second process begins at the other end, until they meet. *progress* is called
    with how many steps are taken and how many there are.
    """
    _compile(_all_steps, progress)


def compile_usual(progress: Progress | None = None) -> None:
    """Compile the kernels that most runs need. What else a run has, such as a flash cache, compiles when it is used
    first.
    """
    _compile(_usual_steps, progress)


Steps = list[Callable[[], object]]


def _compile(steps_of: Callable[[], Steps], progress: Progress | None) -> None:
    context = multiprocessing.get_context("spawn")
    taken = context.Value("i", 0)
    beside = context.Process(target=_compile_beside, args=(steps_of, taken), daemon=True)
    if processors() > 1:
        beside.start()
    steps = steps_of()
    for step in _not_taken(steps, taken):
        step()
        if progress is not None:
            progress(taken.value, len(steps))
    if beside.pid is not None:
        beside.join()
    if beside.exitcode:  # it was ended, and what it had taken may be missing
        for step in steps:
            step()


def _compile_beside(steps_of: Callable[[], Steps], taken: Any) -> None:
    for number in ending_signals():
        signal.signal(number, signal.SIG_DFL)  # it ends without a word: the first process reports the interrupt
    for step in _not_taken(steps_of()[::-1], taken):
        step()


def _not_taken(steps: Steps, taken: Any) -> Iterator[Callable[[], object]]:
    """Yield *steps* until as many are *taken*, a number that both processes share, as there are."""
    for step in steps:
        with taken.get_lock():
            if taken.value == len(steps):
                return
            taken.value += 1
        yield step


def _usual_steps() -> Steps:
    """Return what most runs need, in parts: what takes longest first and last."""
    plant, stations, _ = _plant(usual=True)
    metrics = new_metrics(1, stations, RESOURCES, 2, 1_000_000)
    kinds = (BACKGROUND_WRITER, CHECKPOINTER, PROCESSORS, LOG_STATION, BUFFER_POOL, STEP)
    return [
        partial(_run, usual=True, reference=False),
        partial(_import_and_replay, 1),
        _count_distances,
        _synthesise,
        partial(fill_random_bits, np.zeros(1, np.int64), 1, LOAD_GAP, 0),
        *[partial(addresses_of, kind, plant, NO_DATABASE, metrics) for kind in kinds],
        _run_usual_sessions,
    ]


def _all_steps() -> Steps:
    """Return what commands need, in parts: what takes longest first and last. The reference engine calls kernels one by
    one that the loop of the other holds, so that it comes behind that.
    """
    plant, stations, _ = _plant(usual=False)
    metrics = new_metrics(1, stations, RESOURCES, 2, 1_000_000)
    places = [partial(addresses_of, place, plant, NO_DATABASE, metrics) for place in range(STEP + 1)]
    return [
        partial(_run, usual=False, reference=False),
        partial(_run, usual=False, reference=True),
        compile_readers,
        _count_misses,
        _map_units,
        _count_distances,
        _synthesise,
        partial(fill_random_bits, np.zeros(1, np.int64), 1, LOAD_GAP, 0),
        partial(random_bits, 1, LOAD_GAP, 0, 0),
        *places,
        partial(_run_sessions, reference=True),
        partial(_run_sessions, reference=False),
        partial(_import_and_replay, 2),  # with a copy of what was recorded
        _describe,
        _pack,
    ]


def _pack() -> None:
    """Two items in boxes."""
    packing = Packing(np.ones(1), np.full((1, 2, 1), 0.5), np.zeros((2, 2), bool))
    pack(packing)


def _map_units() -> None:
    builder = PlantBuilder(1)
    units = 64
    ftl = add_ftl(builder, PageMapping(units, 1, 8, 0.25), steady=True)
    plant = builder.build()
    write_random(plant, ftl, 0, units, units, 2**32)
    die_of(plant, ftl, place_of(plant, ftl, 0))
    trim_unit(plant, ftl, 0)


def _run(*, usual: bool, reference: bool) -> None:
    rows = 64
    times = np.arange(rows, dtype=np.int64) * 1000
    plant, stations, entries = _plant(usual=usual)
    commands = Commands(
        time_ns=times,
        intended_ns=times,
        station=np.resize(np.array(entries, np.int32), rows),
        op=(np.arange(rows) // 4 % 3).astype(np.uint8),
        offset_bytes=times * 8192,
        length_bytes=np.where(np.arange(rows) // 4 % 3 == 2, 0, 8192),
        category=np.zeros(rows, np.uint8),
    )
    metrics = new_metrics(1, stations, RESOURCES, 2, 1_000_000)
    if reference:
        ReferenceEngine(plant, [commands], metrics).run()
    else:
        engine.run(plant, [commands], metrics, keep_done=True)


def _run_usual_sessions() -> None:
    """A session on a pool of two pages that looks pages up, changes them and commits."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 1, 1000)
    writer, checkpoints = BackgroundWriter(delay_ns=1), Checkpoints(timeout_ns=1000)
    host = DatabaseHost(1, 2, log_station=disk, background_writer=writer, checkpoints=checkpoints)
    demands = [Demand(COMPUTE), Demand(LOOKUP, dirties=True, log_bytes=1), Demand(LOG, log_bytes=1)]
    relation = Relation(9, (1, 3, 9), 1.0, False, disk, moved=1.0)
    database = add_database(builder, host, [relation], [demands], _statements(), intervals=2)
    warm(database, most_references=1 << 15)
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 2, 1000)
    engine.run_database(builder.build(), database, metrics)


def _statements() -> Statements:
    one, zero = np.ones(1, np.uint8), np.zeros(1, np.int64)
    return Statements([1], np.zeros(1, np.int32), one, zero, zero, zero, one, one)


def _run_sessions(*, reference: bool) -> None:
    """A session on a pool of two pages that asks for all that there is."""
    builder = PlantBuilder(1)
    disk = add_server(builder, "disk", 1, 1000)
    statements = _statements()
    demands = [
        Demand(COMPUTE),
        Demand(LOOKUP, dirties=True, log_bytes=1),
        Demand(AGAIN),
        Demand(LOCK),
        Demand(LOG, log_bytes=1),
    ]
    demands += [
        Demand(SCAN, depth=1, degree=2, paced_ns=1),
        Demand(LOOKUPS),
        Demand(LOOKUPS, depth=1, in_order=False),
        Demand(SPILL),
        Demand(COPY, depth=1, degree=1, page_ns=1, station=disk, restores=True),
    ]
    database = add_database(
        builder,
        DatabaseHost(
            1,
            2,
            log_station=disk,
            background_writer=BackgroundWriter(delay_ns=1),
            os_cache_pages=2,
            io_workers=1,
            helpers=1,
            checkpoints=Checkpoints(timeout_ns=1000),
        ),
        [Relation(9, (1, 3, 9), 1.0, False, disk, moved=1.0)],
        [demands],
        statements,
        intervals=2,
    )
    warm(database, most_references=1 << 15)
    touch_in_ring(database, 0, 0)
    scans_in_ring(database, 1)
    close_ring(database, 0)
    # so many pages that one of them is changed
    innodb = DatabaseHost(1, 9, policy=MIDPOINT, page_cleaner=PageCleaner())
    filled = add_database(PlantBuilder(1), innodb, [Relation(9, (9,))], [demands], statements)
    fill(filled, 9)
    settle(filled, free=0, dirty_pages=2, age_bytes=1, transaction_bytes=1)
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 2, 1000)
    if reference:
        ReferenceEngine(builder.build(), [], metrics, database=database).run()
    else:
        engine.run_database(builder.build(), database, metrics)


def _count_misses() -> None:
    pages, distinct = numbered(np.arange(4, dtype=np.int64) % 3)
    for policy in POLICIES:
        misses(policy, pages, distinct, 2)


def _count_distances() -> None:
    sizes = size_grid()
    for writable in (True, False):  # those of a bundle cannot be written
        keys = np.arange(64, dtype=np.int64) % 24
        keys.flags.writeable = writable
        for curve in (ExactCurve(sizes), Shards(sizes, most_pages=16, samples=1)):
            curve.add(keys, np.zeros(64, np.int32))


def _synthesise() -> None:
    for lookups in (1, 1000):  # drawn one by one, and not
        scattered_misses(3, np.full(4, lookups), Draws(1))
    bounded_sample(np.arange(4.0), 0.5, 0.1, 0.0, 1.0)


def _import_and_replay(load: int) -> None:
    from tiersim.scenarios.library import load_scenario
    from tiersim.scenarios.owners import assign_sessions
    from tiersim.scenarios.replay import replay
    from tiersim.scenarios.survey import load_recorded

    with _sample() as bundle:
        replay(survey(bundle), load_scenario("recorded", [f"replay.load={load}"]))
        assign_sessions(load_recorded(bundle), 2)


def _describe() -> None:
    from tiersim.traces.description import describe

    with _sample() as bundle:
        describe(bundle)


@contextmanager
def _sample() -> "Iterator[Bundle]":
    """Import the begin of the bundled recording."""
    from tiersim.traces.bundle import Bundle
    from tiersim.traces.readers import import_trace
    from tiersim.traces.samples import pgbench

    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        recording, target = Path(folder) / "sample.blktrace", Path(folder) / "sample.trace"
        recording.write_bytes(pgbench()[:_SAMPLE_BYTES])
        import_trace([recording], target, format=None, force=False)
        yield Bundle(target)
