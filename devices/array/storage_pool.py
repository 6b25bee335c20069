"""A pool: devices that volumes share, each with a slice of them, beside the requests of a neighbour."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate

from tiersim.devices.array.volume import Volume, add_devices, add_queue
from tiersim.devices.host.gate import add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import TABLE_BITS, exponential_table_ns
from tiersim.devices.station_records import NEIGHBOUR
from tiersim.units import NS_PER_S

#: Slices begin on whole MiB, as fdisk and Windows align partitions: requests of a slice do not straddle stripe units
#: that they would lie within on a volume of its own.
_ALIGNED_BYTES = 1 << 20


@dataclass(frozen=True)
class Neighbour:
    """The load of others: Poisson arrivals at uniform addresses outside our slices."""

    reads_per_s: float
    writes_per_s: float
    size_bytes: int


@dataclass(frozen=True)
class StoragePool:
    """*hardware* under the pool's name, and the load of others on it."""

    hardware: Volume
    neighbour: Neighbour | None = None


def begins_of(sizes_bytes: Iterable[int]) -> list[int]:
    """Return where slices of these sizes begin, and what is behind them."""
    return list(accumulate((-(-size // _ALIGNED_BYTES) * _ALIGNED_BYTES for size in sizes_bytes), initial=0))


def add_pool(builder: PlantBuilder, pool: StoragePool, slices: Mapping[str, Volume]) -> dict[str, int]:
    """Put a pool into the plant; returns the station that takes the requests of each volume in *slices*.

    The volumes lie behind each other from the beginning of the pool; they need what they hold, and a neighbour needs
    room.
    """
    station = add_devices(builder, pool.hardware)
    *begins, first_byte = begins_of(volume.capacity_bytes for volume in slices.values())
    if pool.neighbour is not None:
        room = pool.hardware.capacity_bytes - first_byte
        station = add_neighbour(builder, f"{pool.hardware.name}.neighbour", pool.neighbour, first_byte, room, station)
    entries = {}
    for (name, volume), begin in zip(slices.items(), begins, strict=True):
        port = add_port(builder, f"{name}.slice", station, base_bytes=begin)
        entries[name] = add_queue(builder, name, volume.host, port)
    return entries


def add_neighbour(
    builder: PlantBuilder, name: str, neighbour: Neighbour, first_byte: int, room_bytes: int, below: int
) -> int:
    """Put a neighbour before station *below* into the plant and return the station that our requests pass, too.

    Its requests go to the *room_bytes* from *first_byte* on.
    """
    per_s = neighbour.reads_per_s + neighbour.writes_per_s
    gap_ns = NS_PER_S / per_s
    row = builder.row(
        "neighbours",
        below=below,
        gaps=builder.table(exponential_table_ns(gap_ns), share=("exponential", gap_ns)),
        gap_bits=TABLE_BITS,
        reads=round(neighbour.reads_per_s / per_s * (1 << 32)),
        first_byte=first_byte,
        size_bytes=neighbour.size_bytes,
        places=room_bytes // neighbour.size_bytes,
        entity=len(builder.stations),
    )
    return builder.station(NEIGHBOUR, row, name, {}, children=2)
