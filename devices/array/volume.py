"""Arrays: a controller station over its members.

A volume: devices of one sort in a layout, as one station that requests are sent to.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from tiersim.devices.array.parity_kernels import LOCKS, ROWS_AT_ONCE
from tiersim.devices.host.file_system import Journal, add_files
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.measured import Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station import Device
from tiersim.devices.station_records import ARRAY, NEVER, NONE, PARITY, PASS_ON_NS, REBUILD, STRIPES
from tiersim.devices.tiering.tiers import Migration, tiers_capacity_bytes
from tiersim.units import NS_PER_S

Layout = Literal["single", "jbod", "raid0", "raid1", "raid10", "raid5", "raid6"]
#: Which copy of a mirror reads, in the order of the numbers of array_kernels: the one with the fewest outstanding
#: requests, or as Linux md chooses among rotating disks.
ReadBalance = Literal["fewest", "nearest"]
#: What a write to RAID 5 or 6 locks: the parity that it changes while it does so, or its rows while it lasts.
StripeLock = Literal["parity", "rows"]
#: Units of parity in a row of stripe units.
PARITIES: dict[Layout, int] = {"raid5": 1, "raid6": 2}
#: What one step of a rebuild reads of a member. Linux md has 2 MiB under way (drivers/md/raid1.c, RESYNC_WINDOW); here
#: it is two steps, one that reads and one that writes.
STEP_BYTES = 1 << 20
_SECTOR_BYTES = 512


@dataclass(frozen=True)
class Rebuild:
    """Replacements that are being filled from the other members."""

    members: tuple[int, ...]
    bytes_per_s: int  # for each replacement
    filled_bytes: int  # what they hold at the start
    member_bytes: int  # what they hold at the end


def copies_of(layout: Layout, count: int) -> int:
    """How many of *count* members hold the same data."""
    return count if layout == "raid1" else 2 if layout == "raid10" else 1


def unit_bytes(layout: Layout, member_bytes: int, stripe_bytes: int) -> int:
    """Length of a stripe unit: of JBOD and RAID 1, which are not striped, a whole member."""
    return member_bytes // _SECTOR_BYTES * _SECTOR_BYTES if layout in ("jbod", "raid1") else stripe_bytes


def problem_with(layout: Layout, count: int) -> str | None:
    """Say why *count* devices cannot form *layout*, or None."""
    if layout == "single" and count > 1:
        return f'count = {count} devices need a layout; write layout = "raid0" or "raid10"'
    if layout == "raid10" and count % 2:
        return f'layout = "{layout}" needs an even count, not {count}'
    least = PARITIES[layout] + 2 if layout in PARITIES else 2 if layout == "raid1" else 1
    return f'layout = "{layout}" needs a count of {least} or more, not {count}' if count < least else None


def loss_of(layout: Layout, count: int, failed: Collection[int]) -> str | None:
    """Say why *layout* of *count* devices cannot go on without those that *failed*, or None."""
    lost = sorted(set(failed))
    if len(lost) < len(failed):
        return f"{list(failed)} names a member twice; name it once"
    if lost and not 0 <= lost[0] <= lost[-1] < count:
        return f"the members of {count} devices are 0 to {count - 1}, not {list(failed)}; correct the number"
    if layout in PARITIES:
        most = PARITIES[layout]
        survives = f'layout = "{layout}" survives the loss of {most}, not of {len(lost)}; leave others out'
        return survives if len(lost) > most else None
    copies = copies_of(layout, count)
    if lost and copies == 1:
        return f'layout = "{layout}" has no second copy of what was on {lost}; leave failed out'
    for first in range(0, count, copies):
        own = [member for member in lost if first <= member < first + copies]
        if len(own) == copies:
            return f'members {own} of layout = "{layout}" hold all copies of their data; leave one of them out'
    return None


def add_array(
    builder: PlantBuilder,
    members: Sequence[int],
    layout: Layout,
    stripe_bytes: int,
    overhead_ns: int,
    name: str,
    rebuild: Rebuild | None = None,
    read_balance: ReadBalance = "fewest",
    stripe_lock: StripeLock = "parity",
) -> int:
    """Put an array over *members* (stations of equal drives, NONE for one that has failed) into the plant; return its
    station.

    In RAID 10 members 2i and 2i + 1 are mirrors. *overhead_ns* passes before the members get their requests.
    *stripe_bytes* is the length of a unit (:func:`unit_bytes`). Members of a *rebuild* are replacements.
    """
    parities = PARITIES.get(layout, 0)
    copies = copies_of(layout, len(members))
    columns = len(members) // copies
    replaced = rebuild.members if rebuild else ()
    # rows of parity are filled as a whole
    piece = stripe_bytes if parities else _SECTOR_BYTES
    start_bytes = rebuild.filled_bytes // piece * piece if rebuild else 0
    filled = [0 if m == NONE else start_bytes if i in replaced else NEVER for i, m in enumerate(members)]
    common = {
        "stripe_bytes": stripe_bytes,
        "members": len(members),
        "first_member": builder.table(members),
        "filled": builder.table(filled),
        "overhead_ns": overhead_ns,
        "rebuild": NONE,
    }
    if rebuild:
        group = len(members) if parities else copies
        common["rebuild"] = _add_rebuild(builder, rebuild, common, group, bool(parities), f"{name}.rebuild")
    if not parities:
        # the first read goes to copy 0
        last_read = builder.table([copies - 1] * columns)
        row = builder.row(
            "arrays",
            columns=columns,
            copies=copies,
            last_read=last_read,
            balance=get_args(ReadBalance).index(read_balance),
            ends=builder.table([-1] * len(members)),
            **common,
        )
        return builder.station(ARRAY, row, name, {}, children=len(members) + 1)
    row = builder.row(
        "parities",
        parities=parities,
        degraded=int(min(filled) < NEVER),
        last_part=builder.table([0] * len(members)),
        stripes=len(builder.stations),
        locks=builder.table(np.full(LOCKS, NONE)),
        ready=builder.queue(),
        **common,
    )
    # a read makes a child for each run between two units of parity, at most this many
    children = ROWS_AT_ONCE + 3 * len(members)
    builder.station(STRIPES, row, f"{name}.stripes", {"stripe lock": 1}, children=len(members))
    array = builder.station(PARITY, row, name, {}, children=children)
    return array if stripe_lock == "parity" else _add_row_locks(builder, array, common, parities, f"{name}.rows")


def _add_row_locks(builder: PlantBuilder, array: int, common: dict[str, int], parities: int, name: str) -> int:
    """Put what locks the rows of whole writes before an array with parity; return its station."""
    row = builder.row(
        "parities",
        stripe_bytes=common["stripe_bytes"],
        members=common["members"],
        parities=parities,
        stripes=array,
        locks_rows=1,
        locks=builder.table([NONE]),
        ready=builder.queue(),
        rebuild=NONE,
    )
    return builder.station(STRIPES, row, name, {"stripe lock": 1}, children=1)


def _add_rebuild(
    builder: PlantBuilder, rebuild: Rebuild, array: dict[str, int], group: int, parity: bool, name: str
) -> int:
    """Put the station that fills the replacements of an array into the plant and return it."""
    stripe_bytes = array["stripe_bytes"]
    step_bytes = max(STEP_BYTES // stripe_bytes, 1) * stripe_bytes if parity else STEP_BYTES
    row = builder.row(
        "rebuilds",
        members=array["members"],
        first_member=array["first_member"],
        filled=array["filled"],
        group=group,
        mirrored=int(not parity),
        end_bytes=rebuild.member_bytes // stripe_bytes * stripe_bytes,
        step_bytes=step_bytes,
        interval_ns=max(1, step_bytes * NS_PER_S // rebuild.bytes_per_s),
        waiting=NONE,
    )
    return builder.station(REBUILD, row, name, {}, children=array["members"] + 1)


def usable_bytes(member_bytes: int, count: int, layout: Layout, stripe_bytes: int) -> int:
    """Capacity of an array: whole stripe units of each member, once for each column that holds data."""
    if layout == "single":
        return member_bytes
    unit = unit_bytes(layout, member_bytes, stripe_bytes)
    return member_bytes // unit * unit * (count // copies_of(layout, count) - PARITIES.get(layout, 0))


@dataclass(frozen=True)
class VolumeHost:
    """How the host sends requests to a volume; the default adds nothing."""

    queue_depth: int | None = None  # most requests outstanding at the volume
    drive_queue_depth: int | None = None  # and at each member of an array
    max_request_bytes: int | None = None  # longer reads and writes are cut
    merge: bool = False  # requests that wait for the volume's queue are joined, up to max_request_bytes
    flush_overhead_ns: int | None = None  # time between a flush of the database and one of the device
    journal: Journal = "none"


def add_host(builder: PlantBuilder, name: str, host: VolumeHost, below: int, queues: Sequence[int] = ()) -> int:
    """Put the host's part of volume *name*, whose own queue is at station *below*, into the plant; return its entry.

    *queues* are the stations of shared gates that requests pass on their way, the first one first.
    """
    cut_bytes = host.max_request_bytes or 0
    for gate in reversed(queues):
        first = gate == queues[0]  # requests are cut before they ask for a place
        port = f"{builder.stations[gate].name}.{name}"
        below = add_port(builder, port, gate, beyond=below, part_bytes=cut_bytes if first else 0)
    if cut_bytes and not queues:
        below = add_port(builder, f"{name}.port", below, part_bytes=cut_bytes)
    if host.flush_overhead_ns is not None or host.journal != "none":
        below = add_files(builder, name, below, host.flush_overhead_ns or 0, host.journal)
    return below


def add_queue(builder: PlantBuilder, name: str, host: VolumeHost, below: int) -> int:
    """Put the queue of volume *name*, if it has one, before its devices at station *below*; return
    what takes requests.
    """
    if host.queue_depth is None:
        return below
    merge_bytes = host.max_request_bytes if host.merge else None
    return add_gate(builder, f"{name}.queue", host.queue_depth, below, merge_bytes or 0)


def add_drive_queues(builder: PlantBuilder, host: VolumeHost, drives: Sequence[int]) -> list[int]:
    """Put the queues of an array's drives, if they have any, before them; return what takes the requests of each."""
    if host.drive_queue_depth is None:
        return list(drives)
    return [add_gate(builder, f"{builder.stations[d].name}.queue", host.drive_queue_depth, d) for d in drives]


@dataclass(frozen=True)
class Volume:
    """*count* devices in a *layout*, and how their host sends requests to them.

    Members that have *failed* are missing or, with *rebuild_bytes_per_s*, replaced by empty ones that are being filled
    at that rate; the share *rebuild_from* is there at the start.
    """

    name: str
    device: Device | Measured
    count: int
    layout: Layout
    stripe_bytes: int
    controller_overhead_ns: int = PASS_ON_NS
    host: VolumeHost = field(default_factory=VolumeHost)
    credits: float = 1.0  # share of a full balance of burst credits that each device starts with
    slice_bytes: int | None = None  # its part of a pool, if it lies on one
    failed: tuple[int, ...] = ()
    rebuild_bytes_per_s: int | None = None
    rebuild_from: float = 0.0
    read_balance: ReadBalance = "fewest"
    stripe_lock: StripeLock = "parity"

    @property
    def capacity_bytes(self) -> int:
        """What can be stored on it."""
        if self.slice_bytes is not None:
            return self.slice_bytes
        return usable_bytes(self.device.capacity, self.count, self.layout, self.stripe_bytes)

    @property
    def rebuild(self) -> Rebuild | None:
        """What is being filled, if anything is."""
        if self.rebuild_bytes_per_s is None:
            return None
        capacity = self.device.capacity
        return Rebuild(self.failed, self.rebuild_bytes_per_s, round(capacity * self.rebuild_from), capacity)


@dataclass(frozen=True)
class TieredVolume:
    """A volume whose extents lie in one of two others, and how its host sends requests to it."""

    name: str
    fast: Volume
    slow: Volume
    migration: Migration
    host: VolumeHost

    @property
    def capacity_bytes(self) -> int:
        """What can be stored on it."""
        size = self.migration.extent_bytes
        return tiers_capacity_bytes(self.fast.capacity_bytes, self.slow.capacity_bytes, size)


def add_hardware(
    builder: PlantBuilder, volume: Volume, overhead_ns: int, wire: Callable[[int], int] = lambda drive: drive
) -> int:
    """Put a volume's devices, each with what *wire* puts before it, and their queues into the plant.

    Returns the station that takes its requests; *overhead_ns* passes before the drive, or the members of an array, get
    their parts.
    """
    device = volume.device
    assert not isinstance(device, Measured), "it has a station for each file"
    if volume.layout == "single":
        drive = wire(device.add_to(builder, volume.name, volume.credits))
        if overhead_ns == PASS_ON_NS:
            return drive
        unit = unit_bytes("jbod", device.capacity, volume.stripe_bytes)
        return add_array(builder, [drive], "jbod", unit, overhead_ns, f"{volume.name}.controller")
    missing = volume.failed if volume.rebuild_bytes_per_s is None else ()
    there = [index for index in range(volume.count) if index not in missing]
    drives = [wire(device.add_to(builder, f"{volume.name}.{index}", volume.credits)) for index in there]
    members = [NONE] * volume.count
    for index, station in zip(there, add_drive_queues(builder, volume.host, drives), strict=True):
        members[index] = station
    unit = unit_bytes(volume.layout, device.capacity, volume.stripe_bytes)
    return add_array(
        builder,
        members,
        volume.layout,
        unit,
        overhead_ns,
        volume.name,
        volume.rebuild,
        volume.read_balance,
        volume.stripe_lock,
    )


def add_devices(builder: PlantBuilder, volume: Volume) -> int:
    """Put a volume's devices and their queues into the plant and return the station that takes its requests."""
    hardware = add_hardware(builder, volume, volume.controller_overhead_ns)
    return add_queue(builder, volume.name, volume.host, hardware)


def add_volume(builder: PlantBuilder, volume: Volume, queues: Sequence[int] = ()) -> int:
    """Put a volume and its host into the plant and return its entry; requests pass the shared gates *queues* first."""
    return add_host(builder, volume.name, volume.host, add_devices(builder, volume), queues)
