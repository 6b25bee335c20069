"""A disk drive from what its datasheet gives: geometry, seek curve, zones."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tiersim.devices.hdd_kernels import SECTOR_BYTES, SEEK_EXACT, SEEK_STEP_BITS
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced
from tiersim.devices.tables import DRIVE
from tiersim.random_numbers import ROTATION_PHASE, random_below
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import PS_PER_NS

#: A drive has 15 to 30 zones; the density is taken as linear over them (Van Meter, USENIX ATC 1997).
ZONES = 20
#: The zone of a sector is looked up by its leading bits, 2^HINT_BITS entries over the capacity.
HINT_BITS = 10


class Hdd(Sourced):
    """A disk drive; see ``docs/devices.md`` for each key."""

    kind: Literal["hdd"]
    capacity: Bytes = Field(gt=0)
    rpm: int = Field(gt=0, le=30_000)
    surfaces: int = Field(gt=0)
    cylinders: int = Field(gt=1)
    outer_rate: BytesPerSecond = Field(gt=0)  # sustained, so it includes the time lost between tracks
    inner_rate: BytesPerSecond = Field(gt=0)
    seek_single_cylinder: Nanoseconds
    seek_average: Nanoseconds  # over random pairs of cylinders
    seek_full_stroke: Nanoseconds
    write_settle: Nanoseconds
    track_switch: Nanoseconds  # what the skew between neighbouring tracks hides
    command_overhead: Nanoseconds
    flush: Nanoseconds = Field(gt=0)  # with the write cache off: no more than the way there
    queue_depth: int = Field(gt=0)
    age_limit: Nanoseconds

    @model_validator(mode="after")
    def _plausible(self) -> "Hdd":
        if not self.seek_single_cylinder < self.seek_average < self.seek_full_stroke:
            raise ValueError("seek times must rise: seek_single_cylinder < seek_average < seek_full_stroke")
        if self.inner_rate > self.outer_rate:
            raise ValueError("inner_rate is above outer_rate; outer tracks hold more sectors")
        return self

    @property
    def revolution_ps(self) -> int:
        """Time of one revolution in ps."""
        return round(60 * 10**12 / self.rpm)


def seek_curve_ns(drive: Hdd) -> NDArray[np.int64]:
    """Seek time by distance in cylinders, int64[cylinders]; Lee's curve through the three datasheet points.

    t(d) = c + a sqrt(d - 1) + b (d - 1), with a and b such that the mean over random pairs of cylinders is the average
    (DiskSim 4.0 reference manual, B.5.1; E. Lee, UCB/CSD-93-778).
    """
    n = drive.cylinders
    least, average, most = drive.seek_single_cylinder, drive.seek_average, drive.seek_full_stroke
    a = (-10 * least + 15 * average - 5 * most) / (3 * n**0.5)
    b = (7 * least - 15 * average + 8 * most) / (3 * n)
    distance = np.arange(n, dtype=np.float64)
    curve = least + a * np.sqrt(np.maximum(distance - 1, 0)) + b * (distance - 1)
    curve[0] = 0
    return np.rint(np.maximum.accumulate(curve)).astype(np.int64)


def seek_table_ns(drive: Hdd) -> NDArray[np.int64]:
    """Seek curve as the kernels read it: every distance below SEEK_EXACT, then every 2^SEEK_STEP_BITS-th, int64.

    Straight lines between the knots are within 0.1 us of the curve.
    """
    curve = seek_curve_ns(drive)
    knots = np.arange(SEEK_EXACT, drive.cylinders + (2 << SEEK_STEP_BITS), 1 << SEEK_STEP_BITS)
    exact = curve[np.minimum(np.arange(SEEK_EXACT), drive.cylinders - 1)]
    return np.concatenate([exact, curve[np.minimum(knots, drive.cylinders - 1)]])


def zone_table(drive: Hdd) -> list[tuple[int, int, int, int]]:
    """Return (first sector, first track, sectors per track, time of a sector in ps) of each zone, outermost first.

    The sectors of a track fall linearly from zone to zone.
    """
    tracks = drive.cylinders * drive.surfaces
    sectors = drive.capacity // SECTOR_BYTES
    ratio = drive.inner_rate / drive.outer_rate
    outer = 2 * sectors / tracks / (1 + ratio)
    per_track = outer * (1 - (1 - ratio) * (np.arange(ZONES) + 0.5) / ZONES)
    cylinders = np.linspace(0, drive.cylinders, ZONES + 1).astype(np.int64)
    zones, first_sector = [], 0
    for zone in range(ZONES):
        whole = int(np.ceil(per_track[zone]))
        zones.append((first_sector, int(cylinders[zone]) * drive.surfaces, whole, drive.revolution_ps // whole))
        first_sector += int(cylinders[zone + 1] - cylinders[zone]) * drive.surfaces * whole
    return zones


def add_drive(builder: PlantBuilder, drive: Hdd, name: str) -> int:
    """Put one drive into the plant and return its station."""
    zones = zone_table(drive)
    key = ("zones", drive.model_dump_json())
    entity = len(builder.stations)
    hint_shift = max(0, (drive.capacity // SECTOR_BYTES).bit_length() - HINT_BITS)
    starts = np.array([first for first, _, _, _ in zones])
    hints = np.searchsorted(starts, np.arange(1 << HINT_BITS) << hint_shift, "right") - 1
    first_zone = builder.zones(zones, key)
    row = builder.row(
        "drives",
        queue=builder.queue(),
        revolution_ps=drive.revolution_ps,
        phase_ps=random_below(drive.revolution_ps, builder.seed, ROTATION_PHASE, entity, 0),
        surfaces=drive.surfaces,
        first_zone=first_zone,
        zones=len(zones),
        zone_hint=builder.table(hints, share=("hints", key)),
        hint_shift=hint_shift,
        seek_table=builder.table(seek_table_ns(drive), share=("seek", key)),
        write_settle_ns=drive.write_settle,
        head_switch_ns=drive.track_switch,
        skew_ps=drive.track_switch * PS_PER_NS,
        overhead_ns=drive.command_overhead,
        flush_ns=drive.flush,
        queue_depth=drive.queue_depth,
        age_limit_ns=drive.age_limit,
    )
    return builder.station(DRIVE, row, name, {"actuator": 1})


def describe(drive: Hdd) -> dict[str, Any]:
    """Figures that a person checks a drive by: mean random service time and rate of single commands, whole drive."""
    rotation_ns = drive.revolution_ps // PS_PER_NS // 2
    service_ns = drive.command_overhead + drive.seek_average + rotation_ns
    return {"random_read_ns": service_ns, "random_reads_per_s": round(1e9 / service_ns)}
