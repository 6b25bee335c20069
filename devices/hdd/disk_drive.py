"""A disk drive from what its datasheet gives: geometry, seek curve, zones, buffer."""

from abc import abstractmethod
from math import ceil
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from tiersim.devices.hdd.hdd_buffer_kernels import (
    AHEAD_CYLINDER,
    AHEAD_NEXT_TRACK,
    AHEAD_NONE,
    AHEAD_SEGMENT,
    AHEAD_TRACK,
    MILLION,
)
from tiersim.devices.hdd.hdd_geometry import SECTOR_BYTES, Geometry, Zone, hint_table
from tiersim.devices.hdd.hdd_kernels import BY_DISTANCE, BY_TIME, CHANCE_BITS, CHANCE_STEPS, STEPS_A_DEVIATION
from tiersim.devices.hdd.seek_curves import lee_curve_ns, seek_table_ns
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.sourced import Sourced, hdd_reasons
from tiersim.devices.station_records import DRIVE, NONE
from tiersim.random_numbers import ROTATION_PHASE, random_below
from tiersim.toml_files import Bytes, BytesPerSecond, Nanoseconds
from tiersim.units import NS_PER_S, PS_PER_NS

#: A drive has 15 to 30 zones; the density is taken as linear over them (Van Meter, USENIX ATC 1997).
ZONES = 20

ReadAhead = Literal["none", "track", "next-track", "cylinder", "segment"]
_AHEAD: dict[ReadAhead, int] = {
    "none": AHEAD_NONE,
    "track": AHEAD_TRACK,
    "next-track": AHEAD_NEXT_TRACK,
    "cylinder": AHEAD_CYLINDER,
    "segment": AHEAD_SEGMENT,
}


class Drive(Sourced):
    """What every disk drive has, however its geometry and seeks are known."""

    rpm: float = Field(gt=0, le=30_000, description="Revolutions a minute.")
    surfaces: int = Field(gt=0, description="Number of surfaces, each with a head.")
    cylinders: int = Field(gt=1, description="Number of cylinders.")
    write_settle: Nanoseconds = Field(description="Added to the seek or head switch of a write.")
    track_switch: Nanoseconds = Field(
        description="Time to switch to the next track, also to another head; the track skew is chosen to hide it."
    )
    seek_scatter: Nanoseconds | None = Field(
        default=None,
        gt=0,
        le=200_000,
        description=(
            "Standard deviation of seeks and switches of heads. The scheduler goes by the mean access time. Left out:"
            " each takes what it takes on average."
        ),
    )
    command_overhead: Nanoseconds = Field(description="Fixed time of a command that moves the arm.")
    write_overhead: Nanoseconds | None = Field(
        default=None, description="The same for writes; left out: as command_overhead."
    )
    flush: Nanoseconds = Field(gt=0, description="Time of a flush when no write waits in the buffer.")
    queue_depth: int = Field(gt=0, description="Commands that the drive chooses from.")
    age_limit: Nanoseconds = Field(description="A command that has waited longer goes first.")
    scheduler: Literal["fcfs", "sstf", "sptf"] | None = Field(
        default=None,
        description=(
            "sptf: shortest positioning time first; sstf: nearest cylinder first; fcfs: order of "
            "arrival. Left out: sptf."
        ),
    )
    # the buffer on board, if there is one
    buffer_segments: int | None = Field(
        default=None, gt=0, le=256, description="Number of buffer segments; left out: no buffer."
    )
    buffer_segment: Bytes | None = Field(default=None, ge=SECTOR_BYTES, description="Size of a buffer segment.")
    interface_rate: BytesPerSecond | None = Field(default=None, gt=0, description="Data rate between buffer and host.")
    write_interface_rate: BytesPerSecond | None = Field(
        default=None, gt=0, description="The same for writes; left out: as interface_rate."
    )
    completion_overhead: Nanoseconds | None = Field(default=None, description="Added to every command.")
    write_completion_overhead: Nanoseconds | None = Field(
        default=None, description="The same for writes; left out: as completion_overhead."
    )
    hit_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = Field(
        default=None,
        description=(
            "Of a command that the buffer serves: read after read, read after write, write after read, "
            "write after write."
        ),
    )
    miss_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = Field(
        default=None,
        description="The same for a command that moves the arm; left out: command_overhead and write_overhead.",
    )
    data_overhead: Nanoseconds | None = Field(
        default=None, description="Before data pass the interface, while the arm works."
    )
    disconnect_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds] | None = Field(
        default=None,
        description="To release the bus while the arm works: read after read, read after write, write.",
    )
    reconnect_overheads: tuple[Nanoseconds, Nanoseconds] | None = Field(
        default=None, description="To get the bus again, and to get it again after an extra disconnect."
    )
    extra_write_disconnect: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = Field(
        default=None,
        description=(
            "Five times of a write that does not continue the write before it: 1. to decode it, 2. until the"
            " arm moves, 3. to disconnect, 4. until the drive reconnects, 5. to disconnect again. Such a drive starts"
            " to write when 10 sectors have arrived, 15 of a write of 45 or more."
        ),
    )
    water_mark: float | None = Field(
        default=None, ge=0, le=1, description="Share of a read that is in the buffer before data go to the host."
    )
    water_mark_of_segment: bool | None = Field(
        default=None, description="The water mark is a share of the segment, not of the read."
    )
    read_hits_wait: bool | None = Field(
        default=None, description="A read from the buffer waits for the write in progress."
    )
    writes_wait: bool | None = Field(
        default=None, description="A write into the buffer waits for the write in progress."
    )
    write_move_least: Nanoseconds | None = Field(
        default=None, description="Shortest arm movement of a write to the platter."
    )
    write_segment_apart: bool | None = Field(default=None, description="Writes use no buffer segment of reads.")
    write_into: Literal["last used", "longest unused"] | None = Field(
        default=None, description="Segment that a write takes; left out: the last used."
    )
    read_ahead: ReadAhead | None = Field(
        default=None,
        description=(
            "How far the drive reads ahead: to the end of the track, of the next track (if the segment "
            "began before this one), of the cylinder, or until the segment is full."
        ),
    )
    read_ahead_limit: Bytes | None = Field(
        default=None, description="Longest read-ahead beyond the read; left out: the segment."
    )
    read_ahead_adaptive: bool | None = Field(
        default=None, description="Read ahead only after a read that continues the one before it."
    )
    read_ahead_after_hit: bool | None = Field(
        default=None, description="A read from the buffer lets read-ahead continue."
    )
    read_awaits_ahead: bool | None = Field(
        default=None,
        description=(
            "A read of data that the read-ahead reaches within a track waits for it, without a seek. Default: true."
        ),
    )
    write_segments: int | None = Field(
        default=None,
        gt=0,
        le=256,
        description="Writes that end in the buffer and wait for the arm; left out: a write ends on the platter.",
    )

    @model_validator(mode="after")
    def _a_buffer_has_segments(self) -> "Drive":
        if (self.buffer_segments is None) != (self.buffer_segment is None):
            raise ValueError("buffer_segments: a buffer needs both buffer_segments and buffer_segment")
        if self.buffer_segments is None and (self.read_ahead or self.write_segments):
            raise ValueError("read_ahead: reading ahead and waiting writes need buffer_segments and buffer_segment")
        return self

    @property
    def revolution_ps(self) -> int:
        """Time of one revolution in ps."""
        return round(60 * 10**12 / self.rpm)

    @abstractmethod
    def geometry(self) -> Geometry:
        """Where its sectors are, and how the arm moves."""

    def add_to(self, builder: PlantBuilder, name: str, credits: float = 1.0) -> int:
        """Put one into the plant and return its station; *credits* are for cloud volumes."""
        return add_drive(builder, self, name)

    def describe(self) -> dict[str, Any]:
        """Return figures that a person checks it by."""
        return describe(self)


#: Rules of the scheduler by name; fcfs is a queue of one command.
_RULES = {None: BY_TIME, "sptf": BY_TIME, "sstf": BY_DISTANCE, "fcfs": BY_TIME}


class Hdd(Drive):
    """A disk drive as its datasheet describes it."""

    kind: Literal["hdd"]
    capacity: Bytes = Field(gt=0, description="Bytes.")
    outer_rate: BytesPerSecond = Field(gt=0, description="Sustained rate of the outermost zone.")
    inner_rate: BytesPerSecond = Field(
        gt=0, description="Sustained rate of the innermost zone. The two rates set the density of the 20 zones."
    )
    seek_single_cylinder: Nanoseconds = Field(description="Seek over one cylinder, with settling.")
    seek_average: Nanoseconds = Field(description="Mean seek over random pairs of cylinders.")
    seek_full_stroke: Nanoseconds = Field(description="Seek over all cylinders.")

    @model_validator(mode="after")
    def _plausible(self) -> "Hdd":
        if not self.seek_single_cylinder < self.seek_average < self.seek_full_stroke:
            raise ValueError("seek times must rise: seek_single_cylinder < seek_average < seek_full_stroke")
        if self.inner_rate > self.outer_rate:
            raise ValueError("inner_rate is above outer_rate; outer tracks hold more sectors")
        for reason in hdd_reasons(dict(self)):
            raise ValueError(reason)
        return self

    @property
    def caveats(self) -> list[str]:
        """A datasheet's track-to-track time leaves out settling, which matters with deep queues. Without a buffer
        nothing is read ahead.
        """
        found = []
        if self.buffer_segments is None:
            found.append(
                f"{self.name}: no buffer on board is described, so a read that goes on where the last one ended loses a"
                " turn: sequential reads of 256 KiB get a quarter of the drive's rate; give buffer_segments,"
                " buffer_segment and read_ahead"
            )
        if not self.sources["seek_single_cylinder"].startswith("datasheet"):
            return found
        text = (
            f"{self.name}: deep queues come out too fast (up to 84 % at 64 commands on the Cheetah 15K.7), as the data"
            " sheet's shortest seek leaves out settling; fit seek_single_cylinder to a measurement, or give a measured"
            " curve"
        )
        return [*found, text]

    def geometry(self) -> Geometry:
        """Zones whose density falls linearly; skew hides the switch of tracks; Lee's seek curve."""
        sectors = self.capacity // SECTOR_BYTES
        ratio = self.inner_rate / self.outer_rate
        outer = 2 * sectors / (self.cylinders * self.surfaces) / (1 + ratio)
        per_track = outer * (1 - (1 - ratio) * (np.arange(ZONES) + 0.5) / ZONES)
        cylinders = np.linspace(0, self.cylinders, ZONES + 1).astype(np.int64)
        skew_ps = self.track_switch * PS_PER_NS
        zones = []
        for zone in range(ZONES):
            whole = int(np.ceil(per_track[zone]))
            first, end = int(cylinders[zone]), int(cylinders[zone + 1])
            angle = first * self.surfaces * skew_ps % self.revolution_ps
            count = (end - first) * self.surfaces * whole
            zones.append(Zone(first, whole, angle, skew_ps, skew_ps, [(0, count)]))
        curve = lee_curve_ns(self.cylinders, self.seek_single_cylinder, self.seek_average, self.seek_full_stroke)
        return Geometry(self.revolution_ps, self.surfaces, zones, curve)


def add_drive(builder: PlantBuilder, drive: Drive, name: str) -> int:
    """Put one drive into the plant and return its station."""
    key = drive.model_dump_json()
    geometry = drive.geometry()
    zones = geometry.zone_rows()
    hints, hint_shift = hint_table([zone["first_sector"] for zone in zones], geometry.sectors)
    entity = len(builder.stations)
    row = builder.row(
        "drives",
        queue=builder.queue(),
        revolution_ps=drive.revolution_ps,
        phase_ps=random_below(drive.revolution_ps, builder.seed, ROTATION_PHASE, entity, 0),
        surfaces=drive.surfaces,
        serpentine=int(geometry.serpentine),
        first_zone=builder.rows("zones", zones, share=("zones", key)),
        zones=len(zones),
        zone_hint=builder.table(hints, share=("hints", key)),
        hint_shift=hint_shift,
        seek_table=builder.table(seek_table_ns(geometry.seek_ns), share=("seek", key)),
        write_settle_ns=drive.write_settle,
        head_switch_ns=drive.track_switch,
        **_scatter(builder, drive),
        read_overhead_ns=drive.command_overhead,
        write_overhead_ns=drive.command_overhead if drive.write_overhead is None else drive.write_overhead,
        flush_ns=drive.flush,
        queue_depth=1 if drive.scheduler == "fcfs" else drive.queue_depth,
        rule=_RULES[drive.scheduler],
        age_limit_ns=drive.age_limit,
        **_buffer(builder, drive),
    )
    resources = {"actuator": 1} if drive.buffer_segments is None else {"actuator": 1, "interface": 1}
    return builder.station(DRIVE, row, name, resources)


def _scatter(builder: PlantBuilder, drive: Drive) -> dict[str, int]:
    if drive.seek_scatter is None:
        return {}
    late = [NormalDist().cdf(-(step + 0.5) / STEPS_A_DEVIATION) for step in range(CHANCE_STEPS)]
    chances = builder.table([round(chance * 2**CHANCE_BITS) for chance in late], share="turn chances")
    return {"scatter_ns": drive.seek_scatter, "turn_chances": chances}


def _buffer(builder: PlantBuilder, drive: Drive) -> dict[str, int]:
    if drive.buffer_segments is None or drive.buffer_segment is None:
        return {}
    segment_sectors = drive.buffer_segment // SECTOR_BYTES
    mark = drive.water_mark or 0.0
    of_segment = bool(drive.water_mark_of_segment)
    interface_ps = _sector_ps(drive.interface_rate)
    return {
        "segments": drive.buffer_segments,
        "first_segment": builder.rows("segments", [{}] * drive.buffer_segments),
        "segment_sectors": segment_sectors,
        "interface_ps": interface_ps,
        "write_interface_ps": _sector_ps(drive.write_interface_rate) if drive.write_interface_rate else interface_ps,
        "times": builder.table(_times(drive)),
        "mark_millionths": 0 if of_segment else round(mark * MILLION),
        "mark_sectors": ceil(mark * segment_sectors) if of_segment else 0,
        "write_move_least_ns": drive.write_move_least or 0,
        "extra_disconnect": int(drive.extra_write_disconnect is not None),
        "write_apart": int(drive.write_segment_apart or 0),
        "write_oldest": int(drive.write_into == "longest unused"),
        "hits_wait": int(drive.read_hits_wait or 0),
        "writes_wait": int(drive.writes_wait or 0),
        "read_ahead": _AHEAD[drive.read_ahead or "none"],
        "ahead_most_sectors": (drive.read_ahead_limit or 0) // SECTOR_BYTES,
        "adaptive": int(drive.read_ahead_adaptive or 0),
        "awaits_ahead": int(drive.read_awaits_ahead is not False),
        "ahead_after_hit": int(drive.read_ahead_after_hit or 0),
        "ahead_segment": NONE,
        "read_end": -1,
        "write_end": -1,
        "write_segments": drive.write_segments or 0,
        "first_write": builder.rows("dirty", [{}] * (drive.write_segments or 1)),
    }


def _sector_ps(rate: int | None) -> int:
    return 0 if rate is None else SECTOR_BYTES * NS_PER_S * PS_PER_NS // rate


def _times(drive: Drive) -> list[int]:
    """What commands take, in the order of hdd_buffer_kernels."""
    write = drive.command_overhead if drive.write_overhead is None else drive.write_overhead
    completion = drive.completion_overhead or 0
    return [
        *(drive.hit_overheads or (drive.command_overhead,) * 4),
        *(drive.miss_overheads or (drive.command_overhead, drive.command_overhead, write, write)),
        drive.data_overhead or 0,
        *(drive.reconnect_overheads or (0, 0)),
        *(drive.disconnect_overheads or (0, 0, 0)),
        completion,
        completion if drive.write_completion_overhead is None else drive.write_completion_overhead,
        *(drive.extra_write_disconnect or (0,) * 5),
    ]


def describe(drive: Drive) -> dict[str, Any]:
    """Figures that a person checks a drive by: mean random service time and rate of single commands, whole drive."""
    curve = drive.geometry().seek_ns
    # random pairs of cylinders: distance d has density 2 (n - d) / n^2, distance 0 half of that
    weights = 2.0 * (len(curve) - np.arange(len(curve)))
    weights[0] /= 2
    seek_ns = float((curve * weights).sum() / weights.sum())
    service_ns = round(drive.command_overhead + seek_ns + drive.revolution_ps / PS_PER_NS / 2)
    return {"random_read_ns": service_ns, "random_reads_per_s": round(1e9 / service_ns)}
