"""A volume: devices of one sort in a layout, as one station that requests are sent to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tiersim.devices.array.raid import Layout, ReadBalance, Rebuild, add_array, unit_bytes, usable_bytes
from tiersim.devices.host.file_system import Journal, add_files
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.measured import Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station import Device
from tiersim.devices.station_records import NONE, PASS_ON_NS
from tiersim.devices.tiering.tiers import Migration, tiers_capacity_bytes


@dataclass(frozen=True)
class Host:
    """How the host sends requests to a volume; the default adds nothing."""

    queue_depth: int | None = None  # most requests outstanding at the volume
    drive_queue_depth: int | None = None  # and at each member of an array
    max_request_bytes: int | None = None  # longer reads and writes are cut
    merge: bool = False  # requests that wait for the volume's queue are joined, up to max_request_bytes
    flush_overhead_ns: int | None = None  # time between a flush of the database and one of the device
    journal: Journal = "none"


def add_host(builder: PlantBuilder, name: str, host: Host, below: int, queues: Sequence[int] = ()) -> int:
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


def add_queue(builder: PlantBuilder, name: str, host: Host, below: int) -> int:
    """Put the queue of volume *name*, if it has one, before its devices at station *below*; return
    what takes requests.
    """
    if host.queue_depth is None:
        return below
    merge_bytes = host.max_request_bytes if host.merge else None
    return add_gate(builder, f"{name}.queue", host.queue_depth, below, merge_bytes or 0)


def add_drive_queues(builder: PlantBuilder, host: Host, drives: Sequence[int]) -> list[int]:
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
    host: Host = field(default_factory=Host)
    credits: float = 1.0  # share of a full balance of burst credits that each device starts with
    slice_bytes: int | None = None  # its part of a pool, if it lies on one
    failed: tuple[int, ...] = ()
    rebuild_bytes_per_s: int | None = None
    rebuild_from: float = 0.0
    read_balance: ReadBalance = "fewest"

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
    host: Host

    @property
    def capacity_bytes(self) -> int:
        """What can be stored on it."""
        size = self.migration.extent_bytes
        return tiers_capacity_bytes(self.fast.capacity_bytes, self.slow.capacity_bytes, size)


def add_hardware(
    builder: PlantBuilder, volume: Volume, overhead_ns: int, wire: Callable[[int], int] = lambda drive: drive
) -> int:
    """Put a volume's devices, each with what *wire* puts before it, and their queues into the plant.

    Returns the station that takes its requests; *overhead_ns* passes in an array before its members get their parts.
    """
    device = volume.device
    assert not isinstance(device, Measured), "it has a station for each file"
    if volume.layout == "single":
        return wire(device.add_to(builder, volume.name, volume.credits))
    missing = volume.failed if volume.rebuild_bytes_per_s is None else ()
    there = [index for index in range(volume.count) if index not in missing]
    drives = [wire(device.add_to(builder, f"{volume.name}.{index}", volume.credits)) for index in there]
    members = [NONE] * volume.count
    for index, station in zip(there, add_drive_queues(builder, volume.host, drives), strict=True):
        members[index] = station
    unit = unit_bytes(volume.layout, device.capacity, volume.stripe_bytes)
    return add_array(
        builder, members, volume.layout, unit, overhead_ns, volume.name, volume.rebuild, volume.read_balance
    )


def add_devices(builder: PlantBuilder, volume: Volume) -> int:
    """Put a volume's devices and their queues into the plant and return the station that takes its requests."""
    hardware = add_hardware(builder, volume, volume.controller_overhead_ns)
    return add_queue(builder, volume.name, volume.host, hardware)


def add_volume(builder: PlantBuilder, volume: Volume, queues: Sequence[int] = ()) -> int:
    """Put a volume and its host into the plant and return its entry; requests pass the shared gates *queues* first."""
    return add_host(builder, volume.name, volume.host, add_devices(builder, volume), queues)
