"""What a host puts between a database and a volume: a file system, shared queues, the volume's own."""

from collections.abc import Sequence
from dataclasses import dataclass

from tiersim.devices.files import Journal, add_files
from tiersim.devices.gate import add_gate, add_port
from tiersim.devices.plant import PlantBuilder


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
