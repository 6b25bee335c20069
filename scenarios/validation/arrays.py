"""Arrays of a drive against closed forms, and against DiskSim where the two differ.

DiskSim 4.0 was run by others with cheetah9LP drives at 60 % load; the parameter files of its arrays were not kept.
Assumed here: reads alone, of 8 KiB, all over the array, first come first served. Closed forms take the drive's time
alone, from reads that find it at rest.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import Layout, Volume, add_volume
from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES
from tiersim.devices.hdd.hdd_measured import MeasuredDrive
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.operations import READ, WRITE
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.demerits import MISSING, folder_of
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_MS, NS_PER_S, PS_PER_NS

_DRIVE = "cheetah9LP"
LENGTH_BYTES, LOAD = 8192, 0.6
#: Requests that find each drive at rest are this far apart: longer than any read-ahead.
_APART_NS = 100 * NS_PER_MS
#: Requests for each drive: means of two seeds differ by 1 %.
_REQUESTS = 20_000
#: DiskSim's mean response time, ms.
DISKSIM_MS = {"one drive": 19.1, "RAID 0 of 16": 26.0, "RAID 10 of 16": 19.1}
_UNIT_BYTES = 64 << 10
#: Stripe units of the arrays that come with DiskSim (valid/*.parv: 64 sectors).
_DISKSIM_UNIT_BYTES = 32 << 10


_ARRAYS: dict[str, tuple[Layout, int]] = {
    "one drive": ("single", 1),
    "RAID 0 of 16": ("raid0", 16),
    "RAID 5 of 16": ("raid5", 16),
    "RAID 1 of 2": ("raid1", 2),
    "RAID 10 of 16": ("raid10", 16),
}
_MIRRORS = ("RAID 1 of 2", "RAID 10 of 16")
_BETWEEN = "from one queue for both copies to one for each"
_LATER = "from one copy to the later of two exponential ones"
_TURN = "the later of two reads, and a turn"


@dataclass(frozen=True)
class Moments:
    """Mean and mean square of the times of one drive alone, ms."""

    mean_ms: float
    square: float

    def queue_ms(self) -> float:
        """Mean response time of one queue before one drive: M/G/1 (Pollaczek and Khinchine)."""
        return self.mean_ms + LOAD * self.square / self.mean_ms / (2 * (1 - LOAD))

    def pair_ms(self) -> float:
        """Mean response time of one queue before two drives: M/M/2 with Lee and Longton's factor."""
        spread = self.square / self.mean_ms**2 / 2
        return self.mean_ms * (1 + spread * LOAD**2 / (1 - LOAD**2))


def mean_ms(volume: Volume, op: int, every_ms: float, step_bytes: int = LENGTH_BYTES) -> float:
    """Predicted mean response time of requests that come at random times, one in *every_ms*, at random multiples of
    *step_bytes*.
    """
    apart_ns = np.random.default_rng(7).exponential(every_ms * NS_PER_MS, _REQUESTS * volume.count)
    return float(_took_ms(volume, op, np.cumsum(apart_ns).astype(np.int64), step_bytes).mean())


def alone_ms(volume: Volume, op: int) -> NDArray[np.float64]:
    """Predicted response times of requests that find all drives at rest."""
    return _took_ms(volume, op, np.arange(_REQUESTS) * _APART_NS, LENGTH_BYTES)


def _took_ms(volume: Volume, op: int, times: NDArray[np.int64], step_bytes: int) -> NDArray[np.float64]:
    count = len(times)
    places = (volume.capacity_bytes - LENGTH_BYTES) // step_bytes
    builder = PlantBuilder(1)
    commands = Commands(
        time_ns=times,
        intended_ns=times,
        station=np.full(count, add_volume(builder, volume), np.int32),
        op=np.full(count, op, np.uint8),
        offset_bytes=np.random.default_rng(5).integers(0, places, count) * step_bytes,
        length_bytes=np.full(count, LENGTH_BYTES, np.int64),
        category=np.zeros(count, np.uint8),
    )
    metrics = new_metrics(1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    _, outcome = engine.run(builder.build(), [commands], metrics, keep_done=True)
    assert outcome.done_ns is not None
    return (outcome.done_ns - times) / NS_PER_MS


def _moments(took_ms: NDArray[np.float64]) -> Moments:
    return Moments(float(took_ms.mean()), float((took_ms**2).mean()))


def _drive(folder: Path) -> MeasuredDrive:
    drive = load_device(str(folder / f"{_DRIVE}.parv"))
    assert isinstance(drive, MeasuredDrive)
    return drive


def _array(drive: MeasuredDrive, layout: Layout, count: int, unit_bytes: int = _UNIT_BYTES) -> Volume:
    return Volume("data", drive, count, layout, unit_bytes)


def _reads(drive: MeasuredDrive) -> list[Claim]:
    alone = _moments(alone_ms(_array(drive, "single", 1), READ))
    queue, pair = alone.queue_ms(), alone.pair_ms()
    found = {
        name: mean_ms(_array(drive, *array), READ, alone.mean_ms / LOAD / array[1]) for name, array in _ARRAYS.items()
    }
    claims = [
        Claim(f"{name}, reads: a queue for each drive (M/G/1)", "ms", queue, found[name], 3)
        for name in ("one drive", "RAID 0 of 16", "RAID 5 of 16")
    ]
    claims += [
        Claim(f"{name}, reads: {_BETWEEN}", "ms", pair, found[name], 0, within=(0.97 * pair, queue))
        for name in _MIRRORS
    ]
    striped = _array(drive, "raid0", 16, _DISKSIM_UNIT_BYTES)
    split = mean_ms(striped, READ, alone.mean_ms / LOAD / 16, SECTOR_BYTES)
    for name, published in DISKSIM_MS.items():
        claim = Claim(f"{name}, reads: DiskSim's mean", "ms", published, found[name], 5)
        if name != "one drive":
            claim = replace(claim, low=found[name], high=split, note=_NO_CHOICE if name in _MIRRORS else _SPLIT)
        claims.append(claim)
    return claims


def _writes(drive: MeasuredDrive) -> list[Claim]:
    """Writes of drives without their buffers: to mirrors at 60 % load, to RAID 5 one after the other."""
    bare = drive.model_copy(update={"buffer_segments": None, "buffer_segment": None})
    alone = _moments(alone_ms(_array(bare, "single", 1), WRITE))
    each = alone.queue_ms()
    every_ms = {name: alone.mean_ms / LOAD / (_ARRAYS[name][1] // 2) for name in _MIRRORS}
    later = (each, (12 - LOAD) / 8 * each)
    claims = [
        Claim(
            f"{name}, writes: {_LATER}", "ms", each, mean_ms(_array(bare, *_ARRAYS[name]), WRITE, every), 0,
            within=later,
        )
        for name, every in every_ms.items()
    ]  # fmt: skip
    reads = alone_ms(_array(bare, "single", 1), READ)
    both = float(np.maximum(reads, np.random.default_rng(7).permutation(reads)).mean())
    turn_ms = bare.revolution_ps / PS_PER_NS / NS_PER_MS
    small = float(alone_ms(_array(bare, *_ARRAYS["RAID 5 of 16"]), WRITE).mean())
    return [*claims, Claim(f"RAID 5 of 16, small writes at rest: {_TURN}", "ms", both + turn_ms, small, 3)]


_SPLIT = (
    "suspected: DiskSim's requests were split. By the closed form an array that splits none answers as one drive does;"
    " of requests that begin at any sector 15 of 64 are split over units of 64 sectors, those of the arrays that come"
    " with DiskSim: the high end"
)

_NO_CHOICE = (
    "how DiskSim chose the copy was not kept; here md's read balance does. Chosen whatever waits for them, each drive"
    " has a queue of its own and the places of RAID 0's: 19.0 ms by the closed form, as DiskSim says, and RAID 0's high"
    " end where requests are split"
)


def experiment(folder: Path | None) -> Experiment:
    """RAID 0, 1, 10 and 5 at 60 % load; *folder* holds DiskSim's parameters of the drive."""
    title = "Arrays of cheetah9LP drives by closed forms, DiskSim's beside them"
    source = (
        "closed forms (Kleinrock, Queueing Systems I; Lee & Longton 1959; Nelson & Tantawi 1988); DiskSim 4.0, run with"
        " 16 drives at 60 % load"
    )
    place = folder_of(folder)
    if place is None:
        return Experiment("arrays", title, source, "nothing", missing=MISSING)
    drive = _drive(place)
    assumed = (
        "where requests begin: multiples of 8 KiB (any sector)",
        "which copy is read: md's choice (any, whatever waits for it)",
    )
    return Experiment("arrays", title, source, "nothing", (*_reads(drive), *_writes(drive)), assumed=assumed)
