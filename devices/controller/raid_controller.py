"""A RAID controller over volumes: ceilings that they share, links, a battery-backed write cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tiersim.devices.array.volume import PARITIES, StripeLock, Volume, add_hardware, add_queue, copies_of
from tiersim.devices.controller.lines_kernels import LINE_BYTES, SECTOR_BYTES
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NONE, PASS_ON_NS, ROUTE, WRITE_CACHE
from tiersim.units import NS_PER_S

#: Longest write to a member that a destage is gathered to.
LONGEST_DESTAGE_BYTES = 1 << 20

#: Where the defaults are from.
DEFAULT_SOURCES = {
    "high_water": "document: the start percentage in the help of Dell's MD3000i storage manager, for example",
    "low_water": "assumed: 0.16 .. 0.8",
    "flush_interval": "document: 4 s in what MegaCli -AdpAllInfo prints of MegaRAID controllers",
    "destage_depth": "assumed: 1 .. 64",
}

#: What a defect that is known does not let pass, and what a result says of it.
Defect = Literal["perc6-raid0-write-back"]
DEFECT_BYTES_PER_S: dict[Defect, int] = {"perc6-raid0-write-back": 32_000_000}
DEFECTS: dict[Defect, str] = {
    "perc6-raid0-write-back": (
        "writes to RAID 0 of two drives or more are held to 32 MB/s: what a PERC 6/i with firmware 6.0.2-0002 was"
        " measured to do with its write cache on (31-33 MB/s sequential at 256 KB, 5 drives); a defect of that"
        " firmware, not physics"
    )
}


@dataclass(frozen=True)
class Controller:
    """What volumes share; None is no limit, or no such thing."""

    name: str
    cache_bytes: int | None = None  # of a write-back cache; None: writes pass through
    high_water: float = 0.8
    low_water: float = 0.2
    flush_interval_ns: int = 4 * NS_PER_S
    destage_depth: int = 16  # writes of destages outstanding at each drive, on average
    iops: int | None = None
    bytes_per_s: int | None = None  # of its processor, in both directions together
    host_link_bytes_per_s: int | None = None  # in each direction
    drive_link_bytes_per_s: int | None = None
    stripe_lock: StripeLock = "parity"
    known_defect: Defect | None = None


def problem_with_stripe(volume: Volume) -> str | None:
    """Say why a write cache cannot lie before *volume*, or None."""
    if volume.layout != "single" and volume.stripe_bytes % LINE_BYTES:
        return f"stripe is not a multiple of {LINE_BYTES} bytes, a line of its controller's write cache"
    return None


def add_route(
    builder: PlantBuilder,
    name: str,
    read: Sequence[int],
    write: Sequence[int],
    other: Sequence[int],
    overhead_ns: int = PASS_ON_NS,
    commands: int = NONE,
    cached: int = NONE,
) -> int:
    """Put a route over stations into the plant and return its station: the data of each operation pass its stops."""
    row = builder.row(
        "routes",
        overhead_ns=overhead_ns,
        commands=commands,
        read_stops=builder.table([*read, NONE]),
        write_stops=builder.table([*write, NONE]),
        other_stops=builder.table([*other, NONE]),
        cached=cached,
    )
    return builder.station(ROUTE, row, name, {}, children=max(len(read), len(write), len(other)))


def add_controller(builder: PlantBuilder, controller: Controller, volumes: Sequence[Volume]) -> dict[str, int]:
    """Put *volumes* and the controller that they share into the plant; returns what takes the requests of each."""
    wire = _drive_link(builder, controller)
    locked = [replace(volume, stripe_lock=controller.stripe_lock) for volume in volumes]
    below = [add_hardware(builder, volume, PASS_ON_NS, wire) for volume in locked]
    return add_front(builder, controller, volumes, below)


def add_front(
    builder: PlantBuilder, controller: Controller, volumes: Sequence[Volume], below: Sequence[int]
) -> dict[str, int]:
    """Put what of a controller lies before the arrays or drives *below* of its *volumes* into the plant."""
    name = controller.name
    devices, first_cached = below, NONE
    if controller.cache_bytes is not None:
        cache, first_cached = _add_cache(builder, controller, volumes, below)
        devices = [cache] * len(volumes)
    commands = add_server(builder, f"{name}.commands", 1, -(-NS_PER_S // controller.iops)) if controller.iops else NONE
    processor = _ceiling(builder, f"{name}.processor", controller.bytes_per_s)
    to_host = _ceiling(builder, f"{name}.host link.reads", controller.host_link_bytes_per_s)
    from_host = _ceiling(builder, f"{name}.host link.writes", controller.host_link_bytes_per_s)
    entries = {}
    for index, (volume, device) in enumerate(zip(volumes, devices, strict=True)):
        known = defect_at(controller, volume)
        defect = _ceiling(builder, f"{volume.name}.known defect", None if known is None else DEFECT_BYTES_PER_S[known])
        route = add_route(
            builder,
            f"{name}.{volume.name}",
            read=[device, *processor, *to_host],
            write=[*from_host, *processor, *defect, device],
            other=[device],
            commands=commands,
            overhead_ns=volume.controller_overhead_ns,
            cached=NONE if first_cached == NONE else first_cached + index,
        )
        entries[volume.name] = add_queue(builder, volume.name, volume.host, route)
    return entries


def _ceiling(builder: PlantBuilder, name: str, bytes_per_s: int | None) -> list[int]:
    return [] if bytes_per_s is None else [add_server(builder, name, 1, 0, bytes_per_s=bytes_per_s)]


def _drive_link(builder: PlantBuilder, controller: Controller) -> Callable[[int], int]:
    """What puts a drive behind the link that it shares with the others."""
    rate = controller.drive_link_bytes_per_s
    reads = _ceiling(builder, f"{controller.name}.drive link.reads", rate)
    writes = _ceiling(builder, f"{controller.name}.drive link.writes", rate)

    def wire(drive: int) -> int:
        if rate is None:
            return drive
        return add_route(builder, f"{builder.stations[drive].name}.link", [drive, *reads], [*writes, drive], [drive])

    return wire


def defect_at(controller: Controller, volume: Volume) -> Defect | None:
    """The known defect that *volume* suffers from behind *controller*."""
    hit = controller.cache_bytes is not None and volume.layout == "raid0" and volume.count > 1
    return controller.known_defect if hit else None


def _add_cache(
    builder: PlantBuilder, controller: Controller, volumes: Sequence[Volume], below: Sequence[int]
) -> tuple[int, int]:
    """Put the write cache into the plant; returns its station and the row of its first volume."""
    assert controller.cache_bytes is not None
    lines = controller.cache_bytes // LINE_BYTES
    cached = [_add_cached(builder, controller, volume, device) for volume, device in zip(volumes, below, strict=True)]
    lists = 1 << (lines - 1).bit_length()
    row = builder.row(
        "write_caches",
        first_line=builder.reserve("lines", lines),
        lines=lines,
        free=NONE,
        heads=builder.table(np.full(lists, NONE)),
        lists=lists,
        waiting=builder.queue(),
        destager=builder.queue(),
        first_volume=cached[0],
        volumes=len(cached),
        high_lines=int(lines * controller.high_water),
        low_lines=int(lines * controller.low_water),
        flush_interval_ns=controller.flush_interval_ns,
    )
    return builder.station(WRITE_CACHE, row, f"{controller.name}.cache", {"lines": lines}, children=2), cached[0]


def _add_cached(builder: PlantBuilder, controller: Controller, volume: Volume, below: int) -> int:
    copies, parities = copies_of(volume.layout, volume.count), PARITIES.get(volume.layout, 0)
    striped = volume.layout not in ("single", "jbod", "raid1")
    # what is not striped lies on one drive, or on mirrors
    columns = volume.count // copies - parities if striped else 1
    unit = volume.stripe_bytes if striped else LONGEST_DESTAGE_BYTES
    rows = max(1, LONGEST_DESTAGE_BYTES // unit)
    return builder.row(
        "cached",
        below=below,
        unit_sectors=unit // SECTOR_BYTES,
        row_sectors=unit * columns // SECTOR_BYTES,
        group_sectors=rows * unit * columns // SECTOR_BYTES,
        columns=columns,
        parities=parities,
        copies=copies,
        oldest=NONE,
        youngest=NONE,
        most_in_flight=controller.destage_depth * volume.count,
    )
