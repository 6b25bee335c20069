"""Queues of limited depth between a host and its devices, and the ports that lead into them."""

from tiersim.devices.host.port_kernels import PARTS_AT_ONCE
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import GATE, NONE, PORT

#: Lists in which waiting requests are looked up: some ten in each when a million wait.
_LISTS = 1 << 16


def add_gate(
    builder: PlantBuilder, name: str, depth: int, below: int = NONE, merge_bytes: int = 0, joins_flushes: bool = False
) -> int:
    """Put a gate into the plant and return its station: at most *depth* requests are outstanding at station *below*.

    Without *below* it is shared by volumes, each with a port (:func:`add_port`). Waiting requests are joined up to
    *merge_bytes*; 0: they are not. With *joins_flushes* all flushes that wait are joined, and nothing else.
    """
    lists = 1 if joins_flushes else _LISTS if merge_bytes > 0 else 0
    row = builder.row(
        "gates",
        depth=depth,
        queue=builder.queue(),
        ended=builder.queue(),
        below=below,
        most_bytes=max(merge_bytes, lists > 0),
        joins_flushes=int(joins_flushes),
        ends=builder.table([NONE] * lists),
        lists=lists,
    )
    # however many flushes there are, they do not wait longer: its place is nothing that runs out
    return builder.station(GATE, row, name, {} if joins_flushes else {"queue slots": depth}, children=1)


def add_port(
    builder: PlantBuilder,
    name: str,
    below: int,
    beyond: int = NONE,
    part_bytes: int = 0,
    base_bytes: int = 0,
    client: int = 0,
) -> int:
    """Put a port to station *below* into the plant and return it; reads and writes longer than *part_bytes* are cut.

    If *below* is a station for several volumes, *beyond* is the one behind it for the requests of this port.
    *base_bytes* is where the volume begins below; *client* is whose requests come, among those that have shares there.
    """
    row = builder.row("ports", below=below, beyond=beyond, part_bytes=part_bytes, base_bytes=base_bytes, client=client)
    return builder.station(PORT, row, name, {}, children=PARTS_AT_ONCE if part_bytes else 1)
