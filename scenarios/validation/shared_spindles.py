"""Founding document 004: what a checkpoint does to transactions on one pool of disks, beside a log on disks of its own,
on flash.

The document's charts are lost; it says in words that transactions a second collapsed on the pool, would fall moderately
if the log had disks of its own while its latency stayed as it was, and hardly moved on flash; and that data was read
1,000 times a second, mostly. It is SQL Server, of early 2015: automatic checkpoints of 2014. The workload is not
described: a transaction that finds ten rows and changes one is assumed, and a buffer pool that reads as much as the
document says; so are 24 disks behind what a SAN has before them, a write cache, and what remains of it for this
database. Without it the log would be held to 400 transactions a second by itself. The document's points are 5 s apart
for the SAN and 15 s for flash.

Data and log have LUNs of their own on all three, volumes being what the document's provider let one ask for. So many
requests of a LUN are outstanding at the array as its queue in the host bus adapter lets through ("the default value of
the queue depth is often 32": J. Sack, "SQL Server and HBA queue depth mashup", MSDN, January 2009). How many LUNs the
data had is not told: four are assumed, 1 to 8. What else a checkpoint writes waits in the host, behind its own LUN's
queue, and the log does not.

A checkpoint writes 2 GB, and 10 TiB of the flash array are spare. The array collects garbage in the background as long
as spare space lasts (Violin, "Fun with flash formats", 8 April 2015), so it is taken as fresh. Steady, it copies behind
each write what that will cost in the end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.array.volume import Layout, Volume, add_queue, add_volume
from tiersim.devices.array.volume import VolumeHost as Path
from tiersim.devices.catalogue import load_device
from tiersim.devices.controller.raid_controller import Controller, add_controller
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.scenarios.validation import ranges
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.pgbench import closed_loop, relations
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.simulator.categories import FIRST_CLASS, LOG_SYNC
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.gather_write import GATHERED_BEFORE_2016
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.buffer_pool.pages import clean_all
from tiersim.simulator.database.build import DatabaseHost, Demand, add_database
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints
from tiersim.simulator.database.database_state import COMPUTE, LOCK, LOG, LOOKUP, LRU2
from tiersim.simulator.database.sessions.processors import TABLES
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.metrics import new_metrics
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_S

_SCALE, _CLIENTS, _CORES, _CPU_NS = 400, 48, 16, 3_000_000
_HELD = 0.984  # of the tables: by the pool; fitted to the reads
#: The default recovery interval; writes that take longer than 20 ms slow a checkpoint down before SQL Server 2016.
_INTERVAL_S, _SLOW_NS = 60, 20_000_000
_SPAN_S, _BIN_S, _BIN_OF_FLASH_S = 90, 5, 15
_DISKS, _STRIPE_BYTES = 24, 64 << 10
#: Assumed: 256 MiB .. 4 GiB of the write cache (which holds a whole checkpoint), 0.2 .. 0.5 ms through switch and
#: controllers; disks of the log have a smaller cache.
_CACHE_BYTES, _CACHE_OF_LOG_BYTES, _PATH_NS = 1 << 30, 128 << 20, 300_000
#: Requests of a LUN that are outstanding at the array.
_LUN_QUEUE = 32
LUNS = Assumed("data_luns", 1, 4, 8)
_FLASH_STATE = Assumed("flash_state", "fresh", "fresh", "steady")
_MOST_PER_S = 6000
#: Of earlier runs: storage changes nothing about how a pool is filled.
_POOLS = WarmPools()


@dataclass(frozen=True)
class SpindleRun:
    """Transactions in each interval of *bin_s* over their mean, how long a sync of the log took in each, in ns, and
    pages read in a second before the checkpoint.
    """

    bin_s: int
    relative_rate: tuple[float, ...]
    log_sync_ns: tuple[float, ...]
    reads_per_s: float

    @property
    def lowest(self) -> float:
        """The lowest rate over the mean."""
        return min(self.relative_rate)

    @property
    def log_slowdown(self) -> float:
        """How much longer a sync of the log took in the interval in which the checkpoint began than in those before."""
        first = _INTERVAL_S // self.bin_s
        return self.log_sync_ns[first] / float(np.mean(self.log_sync_ns[first // 2 : first]))


def simulate(storage: str, data_luns: int = LUNS.taken, flash_state: str = _FLASH_STATE.taken) -> SpindleRun:
    """Run transactions on ``"pool"``, ``"separate"`` log disks, or ``"flash"``; a checkpoint begins after a minute."""
    bin_s = _BIN_OF_FLASH_S if storage == "flash" else _BIN_S
    builder = PlantBuilder(1)
    if storage == "flash":
        array = load_device("violin-6264").model_copy(update={"state": flash_state})
        data = log = add_volume(builder, Volume("flash", array, 1, "single", _STRIPE_BYTES))
    elif storage == "pool":
        data = log = _san(builder, "pool", _DISKS, "raid10", _CACHE_BYTES)
    else:
        data = _san(builder, "data", _DISKS - 2, "raid10", _CACHE_BYTES)
        log = _san(builder, "log", 2, "raid1", _CACHE_OF_LOG_BYTES)
    data = add_queue(builder, "data", Path(_LUN_QUEUE * data_luns), data)
    log = add_queue(builder, "log", Path(_LUN_QUEUE), log)
    tables = relations(_SCALE, data)
    pages = sum(sum(table.level_pages) for table in tables)
    host = DatabaseHost(
        cores=_CORES,
        frames=round(pages * _HELD),
        log_station=log,
        log=LogBlocks(),
        until_ns=_SPAN_S * NS_PER_S,
        checkpoints=BurstCheckpoints(
            interval_ns=_INTERVAL_S * NS_PER_S, slow_ns=_SLOW_NS, gathered_pages=GATHERED_BEFORE_2016
        ),
        costs=TABLES["sqlserver"],
        policy=LRU2,
        lazy_writer=LazyWriter(gathered_pages=GATHERED_BEFORE_2016),
    )
    does = [
        Demand(COMPUTE),
        *[Demand(LOOKUP)] * 10,
        Demand(LOCK, dirties=True, log_bytes=100),
        Demand(LOG, log_bytes=100),
    ]
    statements = closed_loop(_CLIENTS, _SPAN_S * _MOST_PER_S // _CLIENTS, _CPU_NS)
    database = add_database(builder, host, tables, [does], statements)
    plant = builder.build()
    _POOLS.fill(database, plant)
    clean_all(database)
    bins, bin_ns = _SPAN_S // bin_s, bin_s * NS_PER_S
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, bins + 1, bin_ns)
    engine.run_database(plant, database, metrics)
    done = np.bincount(database.done_ns[database.done_ns > 0] // bin_ns, minlength=bins)[:bins]
    syncs = metrics.latency_sum_ns[:bins, LOG_SYNC] / metrics.latency_over_time[:bins, LOG_SYNC].sum(axis=1)
    before = slice(_INTERVAL_S // bin_s // 2, _INTERVAL_S // bin_s)
    reads_per_s = float(metrics.completions[before, DATA_READ].mean()) / bin_s
    return SpindleRun(bin_s, tuple((done / done.mean()).tolist()), tuple(syncs.tolist()), reads_per_s)


def _san(builder: PlantBuilder, name: str, disks: int, layout: Layout, cache_bytes: int) -> int:
    """Put disks behind a write cache into the plant; returns what takes their requests."""
    disk = load_device("seagate-cheetah-15k7-300")
    volume = Volume(name, disk, disks, layout, _STRIPE_BYTES, controller_overhead_ns=_PATH_NS)
    return add_controller(builder, Controller(f"cache of {name}", cache_bytes), [volume])[name]


def _run(storage: str) -> Callable[[Mapping[str, Any]], dict[str, float]]:
    def run(values: Mapping[str, Any]) -> dict[str, float]:
        found = simulate(storage, **values)
        return {
            "reads": found.reads_per_s,
            "left": 100 * found.lowest,
            "dip": 100 * (1 - found.lowest),
            "sync": found.log_slowdown,
            "sync before": 1 / found.log_slowdown,
        }

    return run


def experiment() -> Experiment:
    """Collapse on the pool, a dip beside separate log disks, next to nothing on flash."""
    pool, flash = ranges.over([LUNS], _run("pool")), ranges.over([LUNS, _FLASH_STATE], _run("flash"))
    separate = simulate("separate")
    dip = 100 * (1 - separate.lowest)
    return Experiment(
        "shared-spindles",
        "A checkpoint on shared disks, beside a log of its own, on flash",
        "founding document 004, in words; its charts are lost",
        "the size of the buffer pool: pages read before the checkpoint; the workload, disks and the share of the write"
        " cache are assumed",
        (
            _claim("one pool: pages read before the checkpoint", "1/s", 1000, pool["reads"], 10, fitted=True),
            _claim(
                "one pool: transactions left in the worst 5 s", "%", 50, pool["left"], 0, at_most=True, note=_ON_POOL
            ),
            _claim("log on its own disks: dip", "%", 50, dip, 0, at_most=True),
            _claim(
                "log on its own disks: dip over that of the pool",
                "%",
                50,
                100 * dip / pool["dip"].predicted,
                0,
                at_most=True,
            ),
            _claim(
                "one pool: sync of the log before the checkpoint over in it",
                "",
                0.5,
                pool["sync before"],
                0,
                at_most=True,
            ),
            _claim("log on its own disks: sync in the checkpoint over before", "", 1, separate.log_slowdown, 20),
            _claim("flash: sync in the 15 s of the checkpoint over before", "", 1, flash["sync"], 20, note=_ON_FLASH),
            _claim("flash: dip in 15 s", "%", 10, flash["dip"], 0, at_most=True),
        ),
        fits=1,
        assumed=(
            "the workload",
            f"{_DISKS} disks of their type",
            "write cache 1 GiB (256 MiB .. 4 GiB)",
            "300 us to the array (200 .. 500 us)",
            f"{LUNS}, 32 requests outstanding of each",
            f"{_FLASH_STATE}",
            "the flash array's numbers",
        ),
    )


_ON_POOL = (
    "with one LUN for data a checkpoint waits in the host, and 77 % are left; with no limit to what is outstanding 39"
    " %. How many there were, and what part of the write cache this database had, is not told"
)
_ON_FLASH = (
    "a sync waits behind the checkpoint's pages on the array's link; steady, with four LUNs, 1.24 times as long as"
    " before: copies of its collection fill its channels, its buffer is full, and a write of the log waits for room"
)


def _claim(
    what: str,
    unit: str,
    published: float,
    found: float | ranges.Range,
    tolerance_pct: float,
    *,
    fitted: bool = False,
    at_most: bool = False,
    note: str = "",
) -> Claim:
    """Return one of the document's claims, of which only words are left."""
    predicted, low, high = (
        (found.predicted, found.low, found.high) if isinstance(found, ranges.Range) else (found, None, None)
    )
    return Claim(
        what,
        unit,
        published,
        predicted,
        tolerance_pct,
        fitted,
        at_most=at_most,
        id="G19",
        kind="qualitative",
        low=low,
        high=high,
        note=note,
    )
