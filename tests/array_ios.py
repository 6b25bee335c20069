"""Arrays driven by hand, without an engine: which IOs reach the members, and where data and parity
live by definition.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from tiersim.devices.array.parity_kernels import LOCKS
from tiersim.devices.array.volume import Layout, Rebuild, add_array
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import NONE, Plant
from tiersim.operations import READ
from tiersim.simulator import station as machine
from tiersim.simulator.database.build import NO_DATABASE

MS = 1_000_000
PARITIES: dict[Layout, int] = {"raid5": 1, "raid6": 2}


def build(
    layout: Layout,
    members: int,
    unit: int,
    servers: int = 1,
    overhead_ns: int = 1,
    failed: Collection[int] = (),
    rebuild: Rebuild | None = None,
    service_ns: int = MS,
) -> tuple[PlantBuilder, int]:
    """An array of fixed-service members; those that *failed* are missing."""
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", servers, service_ns) for index in range(members)]
    there = [NONE if index in failed else drive for index, drive in enumerate(drives)]
    return builder, add_array(builder, there, layout, unit, overhead_ns, "array", rebuild)


@dataclass
class Ios:
    """What reaches the members for one request: (member, offset, length), in the phases that follow each other."""

    reads: list[tuple[int, int, int]] = field(default_factory=list)
    writes: list[tuple[int, int, int]] = field(default_factory=list)


@lru_cache(maxsize=64)
def _idle(layout: Layout, members: int, unit: int, failed: frozenset[int]) -> tuple[Plant, int]:
    """An array that one request after the other leaves as it was."""
    builder, array = build(layout, members, unit, failed=failed)
    return builder.build(8), array


def ios(
    layout: Layout, members: int, unit: int, op: int, offset: int, length: int, failed: Collection[int] = ()
) -> Ios:
    """Drive the array's stations by hand."""
    plant, array = _idle(layout, members, unit, frozenset(failed))
    found = Ios()

    def request(slot: int, station: int, op: int, offset: int, length: int) -> None:
        row = plant.requests[slot]
        row["op"], row["offset_bytes"], row["length_bytes"] = op, offset, length
        assert machine.accept(plant, NO_DATABASE, station, slot, 0) == 1
        made = machine.finish(plant, NO_DATABASE, station, slot)
        while made:
            parts = [tuple(int(value) for value in child) for child in plant.children[:made]]
            for below, part_op, part_offset, part_length, background in parts:
                assert not background
                if below < members:
                    target = found.reads if part_op == READ else found.writes
                    target.append((below, part_offset, part_length))
                else:
                    request(slot + 1, below, part_op, part_offset, part_length)
            made = machine.resume(plant, NO_DATABASE, station, slot, 0)

    request(0, array, op, offset, length)
    if layout in PARITIES:
        locks = int(plant.parities[0]["locks"])
        assert (plant.pool[locks : locks + LOCKS] == NONE).all()  # every lock is given back
    return found


def home(layout: Layout, members: int, unit: int, byte: int) -> tuple[int, int, int, int]:
    """Where a byte lives: (member, offset, row, which of the row's units), by the definition of left-symmetric."""
    columns = members - PARITIES[layout]
    row, column = byte // unit // columns, byte // unit % columns
    return (members - 1 - row % members + PARITIES[layout] + column) % members, row * unit + byte % unit, row, column
