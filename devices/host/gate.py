"""Queues of limited depth between a host and its devices, and the ports that lead into them, as passive machines.

A gate is such a limit: at most ``depth`` requests are outstanding below it (the queue depth), others wait first come,
first served. It stands for the queue of a LUN, of a host adapter, of a virtual machine's disk, or of a drive as its
host sees it.

A gate may join waiting requests as an IO scheduler does (back merge: Linux block/elevator.c, elv_rqhash_find): one that
begins where a waiting one of the same operation ends travels with it, as long as both together are not too long. Front
merges are left out: much less common (Linux Documentation/block/deadline-iosched). Requests that were joined end 1 ns
after the one that carried them. A gate for flushes joins all that wait.

A port is a volume's way into a queue; it cuts what is longer than the host sends in one command.
"""

from tiersim.devices import requests
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import GATE, NEVER, NONE, PASS_ON_NS, PORT, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import DISCARD, FLUSH

_ALONE, _JOINED = range(2)


@kernel
def _list_of_end(p: Plant, gate: int, end_bytes: int) -> int:
    """Index into the pool of the list for an address."""
    g = p.gates[gate]
    sector = end_bytes >> 9
    return g["ends"] + ((sector ^ sector >> 10 ^ sector >> 20) & (g["lists"] - 1))


@kernel
def _joins(p: Plant, gate: int, slot: int) -> bool:
    """Whether the gate joins requests like this one: reads, writes and discards, or flushes."""
    g = p.gates[gate]
    return bool(g["most_bytes"] > 0 and (p.requests[slot]["op"] == FLUSH) == (g["joins_flushes"] == 1))


@kernel
def _end_of(p: Plant, slot: int) -> int:
    return p.requests[slot]["offset_bytes"] + p.holds[slot]["carried_bytes"]


@kernel
def _enlist(p: Plant, gate: int, slot: int) -> None:
    head = _list_of_end(p, gate, _end_of(p, slot))
    after = p.pool[head]
    p.holds[slot]["ahead"] = NONE
    p.holds[slot]["chain"] = after
    if after != NONE:
        p.holds[after]["ahead"] = slot
    p.pool[head] = slot


@kernel
def _strike(p: Plant, gate: int, slot: int) -> None:
    ahead = p.holds[slot]["ahead"]
    after = p.holds[slot]["chain"]
    if ahead == NONE:
        p.pool[_list_of_end(p, gate, _end_of(p, slot))] = after
    else:
        p.holds[ahead]["chain"] = after
    if after != NONE:
        p.holds[after]["ahead"] = ahead


@kernel
def _find_carrier(p: Plant, gate: int, slot: int) -> int:
    """The youngest waiting request that *slot* can travel with, or NONE."""
    request = p.requests[slot]
    most = p.gates[gate]["most_bytes"]
    other = p.pool[_list_of_end(p, gate, request["offset_bytes"])]
    while other != NONE:
        if (
            p.requests[other]["op"] == request["op"]
            and _end_of(p, other) == request["offset_bytes"]
            and p.holds[other]["carried_bytes"] + request["length_bytes"] <= most
        ):
            return other
        other = p.holds[other]["chain"]
    return NONE


@kernel
def _join(p: Plant, gate: int, carrier: int, slot: int) -> None:
    """Let *slot* travel with *carrier*, which now ends where *slot* does."""
    _strike(p, gate, carrier)
    p.holds[slot]["phase"] = _JOINED
    hold = p.holds[carrier]
    hold["carried_bytes"] += p.requests[slot]["length_bytes"]
    p.links[slot]["next"] = NONE
    if hold["joined"] == NONE:
        hold["joined"] = slot
    else:
        p.links[hold["last_joined"]]["next"] = slot
    hold["last_joined"] = slot
    _enlist(p, gate, carrier)


@kernel
def _account(p: Plant, station: int, gate: int, now: int) -> None:
    """Add up how long places have been taken."""
    g = p.gates[gate]
    p.work_ns[station, 0] += g["in_flight"] * (now - g["changed_ns"])
    g["changed_ns"] = now


@kernel
def accept_gate(p: Plant, station: int, gate: int, slot: int, now: int) -> int:
    """Let a request through if there is a place and nobody waits; else it joins one that waits, or waits itself."""
    g = p.gates[gate]
    hold = p.holds[slot]
    hold["phase"] = _ALONE
    hold["carried_bytes"] = p.requests[slot]["length_bytes"]
    hold["joined"] = NONE
    if g["in_flight"] < g["depth"] and p.queues[g["queue"]]["head"] == NONE:
        _account(p, station, gate, now)
        g["in_flight"] += 1
        return now + PASS_ON_NS
    if _joins(p, gate, slot):
        carrier = _find_carrier(p, gate, slot)
        if carrier != NONE:
            _join(p, gate, carrier, slot)
            return WAIT
        _enlist(p, gate, slot)
    requests.append(p, g["queue"], slot)
    return WAIT


@kernel
def choose_gate(p: Plant, station: int, gate: int, now: int) -> tuple[int, int, int]:
    """End what was carried; then let the oldest request through if there is a place."""
    g = p.gates[gate]
    slot = p.queues[g["ended"]]["head"]
    if slot != NONE:
        requests.remove(p, g["ended"], slot, NONE)
        return slot, now + PASS_ON_NS, NEVER
    slot = p.queues[g["queue"]]["head"]
    if slot == NONE or g["in_flight"] >= g["depth"]:
        return NONE, NEVER, NEVER
    requests.remove(p, g["queue"], slot, NONE)
    if _joins(p, gate, slot):
        _strike(p, gate, slot)
    _account(p, station, gate, now)
    g["in_flight"] += 1
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_gate(p: Plant, gate: int, slot: int) -> int:
    """Send a request on with all that it carries; one that was carried itself is done."""
    hold = p.holds[slot]
    if hold["phase"] == _JOINED:
        return 0
    request = p.requests[slot]
    below = p.gates[gate]["below"]
    if below == NONE:  # shared by volumes
        below = way_on(p, slot)
    return add_child(p, 0, below, request["op"], request["offset_bytes"], hold["carried_bytes"])


@kernel
def resume_gate(p: Plant, station: int, gate: int, slot: int, now: int) -> int:
    """A place is free; those that travelled with the request end next."""
    _account(p, station, gate, now)
    g = p.gates[gate]
    g["in_flight"] -= 1
    joined = p.holds[slot]["joined"]
    while joined != NONE:
        after = p.links[joined]["next"]
        requests.append(p, g["ended"], joined)
        joined = after
    return 0


#: A request of more parts goes on when the first so many are done: children are written to a table of fixed size.
PARTS_AT_ONCE = 256


@kernel
def _parts(p: Plant, port: int, slot: int) -> int:
    """Make the next parts of a request; a discard is not cut, for hosts give it limits of its own."""
    row = p.ports[port]
    request = p.requests[slot]
    position = p.holds[slot]["position"]
    end = request["offset_bytes"] + request["length_bytes"]
    most = row["part_bytes"] if row["part_bytes"] > 0 and request["op"] != DISCARD else end - position
    made = 0
    while position < end and made < PARTS_AT_ONCE:
        length = min(most, end - position)
        made = add_child(p, made, row["below"], request["op"], row["base_bytes"] + position, length)
        position += length
    p.holds[slot]["position"] = position
    return made


@kernel
def way_on(p: Plant, slot: int) -> int:
    """Where a request goes on behind a station that volumes share: the port that it came through knows."""
    port = p.requests[p.requests[slot]["parent"]]["station"]
    return int(p.ports[p.stations[port]["row"]]["beyond"])


@kernel
def accept_port(now: int) -> int:
    """Pass a request on; requests do not wait for each other here."""
    return now + PASS_ON_NS


@kernel
def finish_port(p: Plant, port: int, slot: int) -> int:
    """Make the parts of a request."""
    request = p.requests[slot]
    p.holds[slot]["position"] = request["offset_bytes"]
    if request["op"] == FLUSH:
        return add_child(p, 0, p.ports[port]["below"], request["op"], request["offset_bytes"], 0)
    return _parts(p, port, slot)


@kernel
def resume_port(p: Plant, port: int, slot: int) -> int:
    """Go on with a request of very many parts."""
    request = p.requests[slot]
    if p.holds[slot]["position"] >= request["offset_bytes"] + request["length_bytes"]:
        return 0
    return _parts(p, port, slot)


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
