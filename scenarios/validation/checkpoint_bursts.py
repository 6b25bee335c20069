"""SQL Server's log and checkpoints: the limits of its log, and two checkpoints that its error log told of.

J. Loureiro, "SQL Server checkpoint problems" (2008): 192,890 pages in 32,627 writes, 9.76 s, 154.4 MB/s with a target
of 2,586 pages under way; a minute after its end 185,883 pages in 31,357 writes, 5.74 s, 253 MB/s with 8,800. Neither
the server nor its disks are told, nor how changed pages lay. So a page is taken to be changed with a probability that
gives the first one's pages a write; 30 drives of 15,000 rpm in RAID 10 are assumed, 10 to 60, and for how long a drive
lets a write wait for nearer ones. The target is held: SQL Server 2008 is not known to move it within seconds. At those
targets and rates a write takes 131 and 273 ms (Little's law), so deep queues are what the drives choose from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.scenarios.validation import ranges
from tiersim.scenarios.validation.claims import Claim, Experiment, Figure
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.gather_write import GATHERED_BEFORE_2016
from tiersim.simulator.database.buffer_pool.warm import warm
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints
from tiersim.simulator.database.database_state import COMPUTE, DIRTY_PAGES, LOG, LRU2, OWN
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_MS, NS_PER_S

#: The share of pages that are changed, fitted on the first checkpoint.
CHANGED = 0.8308
#: The hardware is not told: how many drives, and how long a write waits at most while the drive takes nearer ones (the
#: catalogue's range).
DRIVES = Assumed("drives", 10, 30, 60)
AGE_LIMIT_MS = Assumed("age_limit_ms", 200, 500, 5000)
_DRIVE = "seagate-cheetah-15k5-300"


@dataclass(frozen=True)
class LoggedCheckpoint:
    """One checkpoint of the error log."""

    pages: int
    writes: int
    ms: int
    target_pages: int

    @property
    def mb_s(self) -> float:
        """MB/s as the server reckons it: 1,048,576 bytes."""
        return self.pages / 128 / self.ms * 1000


SAMPLES = (LoggedCheckpoint(192_890, 32_627, 9_760, 2_586), LoggedCheckpoint(185_883, 31_357, 5_740, 8_800))


@dataclass(frozen=True)
class Burst:
    """A simulated checkpoint."""

    pages_a_write: float
    mb_s: float


def _statements(count: int, sessions: int, cpu_ns: int) -> Statements:
    flags, nothing = np.ones(count, np.uint8), np.zeros(count, np.int64)
    ends = [(place + 1) * count // sessions for place in range(sessions)]
    own = np.full(count, OWN, np.uint8)
    return Statements(ends, np.zeros(count, np.int32), own, nothing, nothing, np.full(count, cpu_ns), flags, flags)


def simulate(
    sample: LoggedCheckpoint,
    drives: int = DRIVES.taken,
    age_limit_ms: int = AGE_LIMIT_MS.taken,
    changed: float = CHANGED,
) -> Burst:
    """Write the changed pages of a pool in one checkpoint."""
    builder = PlantBuilder(1)
    drive = load_device(_DRIVE).model_copy(update={"age_limit": age_limit_ms * NS_PER_MS})
    data = add_volume(builder, Volume("data", drive, drives, "raid10", 65536))
    log = add_server(builder, "log", 1, 1)
    pages = round(sample.pages / changed)
    checkpoints = BurstCheckpoints(
        interval_ns=NS_PER_S, slow_ns=0, most_pages=sample.target_pages, gathered_pages=GATHERED_BEFORE_2016
    )
    host = DatabaseHost(1, pages, log_station=log, log=LogBlocks(), checkpoints=checkpoints, policy=LRU2)
    does = [Demand(COMPUTE), Demand(LOG, log_bytes=1)]
    database = add_database(
        builder, host, [Relation(pages, (pages,), station=data)], [does], _statements(2, 1, 60 * NS_PER_S)
    )
    plant = builder.build()
    warm(database)
    _scatter(database.frame_of, database.page_of)
    dirty = np.random.default_rng(1).random(pages) < changed
    database.dirty[:] = dirty
    database.pool_state[DIRTY_PAGES] = int(dirty.sum())
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    engine.run_database(plant, database, metrics)
    row, checkpointer = database.checkpoints[0], database.checkpointer[0]
    seconds = int(row["end_ns"] - row["start_ns"]) / NS_PER_S
    written = int(row["written_pages"])
    return Burst(written / int(checkpointer["writes"]), written / 128 / seconds)


def _scatter(frame_of: NDArray[np.uint32], page_of: NDArray[np.int64]) -> None:
    """Let pages lie in frames of no order, as a hash table has them."""
    frames = np.random.default_rng(2).permutation(len(page_of))
    frame_of[:] = frames + 1
    page_of[frames] = np.arange(len(page_of))


def log_ceiling_mb_s(block_bytes: int, latency_ms: int, most_writes: int = 112) -> float:
    """Return the MB/s of a log whose volume takes any number of writes, each of so long."""
    builder = PlantBuilder(1)
    volume = add_server(builder, "log", 512, latency_ms * NS_PER_MS // 2)  # a write, and a flush behind it
    log = LogBlocks(largest_block_bytes=block_bytes, most_writes=most_writes)
    sessions = 2 * most_writes
    host = DatabaseHost(sessions, 1, log_station=volume, log=log)
    does = [Demand(COMPUTE), Demand(LOG, log_bytes=block_bytes)]
    database = add_database(builder, host, [], [does], _statements(20 * sessions, sessions, 0))
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    engine.run_database(builder.build(), database, metrics)
    rounds = database.done_ns / (latency_ms * NS_PER_MS)
    done = int(((rounds > 0.5) & (rounds <= 16.5)).sum())
    return done * block_bytes / (16 * latency_ms * 1000)


def _bursts(values: Mapping[str, Any]) -> dict[str, float]:
    """Return figures of both checkpoints on hardware of *values*."""
    first, second = (simulate(sample, **values) for sample in SAMPLES)
    return {
        "first, pages": first.pages_a_write,
        "first, rate": first.mb_s,
        "second, pages": second.pages_a_write,
        "second, rate": second.mb_s,
    }


def experiment() -> Experiment:
    """Ceilings of the log, and both checkpoints."""
    bursts = ranges.over([DRIVES, AGE_LIMIT_MS], _bursts)
    one, two = SAMPLES
    return Experiment(
        "checkpoint-bursts",
        "SQL Server: the limits of its log, two checkpoints of an error log",
        "P. Randal, sqlperformance.com, January 2013; SQLCAT, limits of the log manager; J. Loureiro, SQL Server"
        " checkpoint problems, 2008",
        "the share of changed pages, on the first checkpoint; the hardware is not told, and drives in RAID 10 are"
        " assumed",
        (
            Claim(
                "log, blocks of 8 KB at 2 ms: 112 at a time", "MB/s", 112 * 8192 / 2000, log_ceiling_mb_s(8192, 2), 0.1
            ),
            Claim(
                "log, blocks of 60 KB at 2 ms: 3,840 KB at a time",
                "MB/s",
                3840 * 1024 / 2000,
                log_ceiling_mb_s(61_440, 2),
                0.1,
            ),
            Claim(
                "log, blocks of 8 KB at 20 ms: 112 at a time",
                "MB/s",
                112 * 8192 / 20_000,
                log_ceiling_mb_s(8192, 20),
                0.1,
            ),
            Claim(
                "log of 2008 R2, blocks of 8 KB at 2 ms: 32 at a time",
                "MB/s",
                32 * 8192 / 2000,
                log_ceiling_mb_s(8192, 2, 32),
                0.1,
            ),
            _of_bursts(
                "first checkpoint: pages a write",
                "",
                one.pages / one.writes,
                bursts["first, pages"],
                "count",
                fitted=True,
            ),
            _of_bursts("first checkpoint: rate", "MB/s", one.mb_s, bursts["first, rate"], "throughput"),
            _of_bursts(
                "second checkpoint: pages a write", "", two.pages / two.writes, bursts["second, pages"], "count"
            ),
            _of_bursts("second checkpoint: rate", "MB/s", two.mb_s, bursts["second, rate"], "throughput"),
        ),
        fits=1,
        assumed=(str(DRIVES), str(AGE_LIMIT_MS), "their type and layout"),
    )


def _of_bursts(
    what: str, unit: str, published: float, found: ranges.Range, figure: Figure, *, fitted: bool = False
) -> Claim:
    return Claim(what, unit, published, found.predicted, 15, fitted, low=found.low, high=found.high, figure=figure)
