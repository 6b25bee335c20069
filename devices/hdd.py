"""A disk drive from what its datasheet gives: geometry, seek curve, zones, buffer."""

from abc import abstractmethod
from math import ceil
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from tiersim.devices.hdd_buffer_kernels import (
    AHEAD_CYLINDER,
    AHEAD_NEXT_TRACK,
    AHEAD_NONE,
    AHEAD_SEGMENT,
    AHEAD_TRACK,
    MILLION,
)
from tiersim.devices.hdd_geometry import Geometry, Zone, hint_table, lee_curve_ns, seek_table_ns
from tiersim.devices.hdd_kernels import SECTOR_BYTES
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
    """What every disk drive has, however its geometry and seeks are known; see ``docs/devices.md`` for each key."""

    rpm: float = Field(gt=0, le=30_000)
    surfaces: int = Field(gt=0)
    cylinders: int = Field(gt=1)
    write_settle: Nanoseconds
    track_switch: Nanoseconds
    command_overhead: Nanoseconds
    write_overhead: Nanoseconds | None = None  # None: as command_overhead
    flush: Nanoseconds = Field(gt=0)
    queue_depth: int = Field(gt=0)
    age_limit: Nanoseconds
    scheduler: Literal["fcfs", "sstf", "sptf"] | None = None  # None: sptf
    # the buffer on board, if there is one
    buffer_segments: int | None = Field(default=None, gt=0, le=256)
    buffer_segment: Bytes | None = Field(default=None, ge=SECTOR_BYTES)
    interface_rate: BytesPerSecond | None = Field(default=None, gt=0)
    write_interface_rate: BytesPerSecond | None = Field(default=None, gt=0)  # None: as interface_rate
    completion_overhead: Nanoseconds | None = None
    write_completion_overhead: Nanoseconds | None = None  # None: as completion_overhead
    #: of a command that needs no arm: a read after a read, a read after a write, a write after a read, one after a
    #: write
    hit_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = None
    miss_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = None  # of one that needs the arm
    data_overhead: Nanoseconds | None = None  # before data pass the interface
    #: of a read after a read, a read after a write, a write: to let the bus go while the arm works
    disconnect_overheads: tuple[Nanoseconds, Nanoseconds, Nanoseconds] | None = None
    #: to have the bus again, and to have it after an extra disconnect
    reconnect_overheads: tuple[Nanoseconds, Nanoseconds] | None = None
    #: of a write after another that it does not follow, before its data: to understand it, until the arm moves, to
    #: disconnect, until the drive reconnects, to disconnect again; None: the drive does no such thing
    extra_write_disconnect: tuple[Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds, Nanoseconds] | None = None
    water_mark: float | None = Field(default=None, ge=0, le=1)  # share of a read that is in before data go
    water_mark_of_segment: bool | None = None  # share of a segment, not of the read
    read_hits_wait: bool | None = None  # for the write that the arm is at
    writes_wait: bool | None = None  # so do writes into the buffer
    write_move_least: Nanoseconds | None = None  # of a write that ends on the platter
    write_segment_apart: bool | None = None  # writes take none of the segments
    write_into: Literal["last used", "longest unused"] | None = None  # which segment writes take; None: the last used
    read_ahead: ReadAhead | None = None
    read_ahead_limit: Bytes | None = None  # beyond the read; None: the segment is the limit
    read_ahead_adaptive: bool | None = None  # only when a read goes on where the one before it ended
    read_ahead_after_hit: bool | None = None  # a read from the buffer lets it go on
    write_segments: int | None = Field(default=None, gt=0, le=256)  # writes that wait in the buffer; None: none does

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
        """Put one into the plant and return its station; burst credits begin with such a share of a full balance."""
        return add_drive(builder, self, name)

    def describe(self) -> dict[str, Any]:
        """Return figures that a person checks it by."""
        return describe(self)


class Hdd(Drive):
    """A disk drive as its datasheet describes it; see ``docs/devices.md`` for each key."""

    kind: Literal["hdd"]
    capacity: Bytes = Field(gt=0)
    outer_rate: BytesPerSecond = Field(gt=0)  # sustained, so it includes the time lost between tracks
    inner_rate: BytesPerSecond = Field(gt=0)
    seek_single_cylinder: Nanoseconds
    seek_average: Nanoseconds  # over random pairs of cylinders
    seek_full_stroke: Nanoseconds

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
        """A datasheet's track-to-track time leaves out settling, which deep queues do not."""
        if not self.sources["seek_single_cylinder"].startswith("datasheet"):
            return []
        text = (
            f"{self.name}: deep queues come out too fast (up to 84 % at 64 commands on the Cheetah 15K.7), as the data"
            " sheet's shortest seek leaves out settling; fit seek_single_cylinder to a measurement, or give a measured"
            " curve"
        )
        return [text]

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
        read_overhead_ns=drive.command_overhead,
        write_overhead_ns=drive.command_overhead if drive.write_overhead is None else drive.write_overhead,
        flush_ns=drive.flush,
        queue_depth=1 if drive.scheduler == "fcfs" else drive.queue_depth,
        by_distance=int(drive.scheduler == "sstf"),
        age_limit_ns=drive.age_limit,
        **_buffer(builder, drive),
    )
    resources = {"actuator": 1} if drive.buffer_segments is None else {"actuator": 1, "interface": 1}
    return builder.station(DRIVE, row, name, resources)


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
