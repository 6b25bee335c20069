"""A page-mapped flash translation layer: where each unit of a drive lies, and its garbage collection.

Each die fills one block at a time, with units of the host and those that collection copies. When its last erased block
becomes the active one, a victim is chosen. Its valid units are copied while the host fills the active block, so many
for each unit of the host that they are done when the block is full, and the victim is erased. So no write waits for a
whole block, unless the victim leaves room for a single unit. (LRU cleaning may meet blocks without any stale unit;
these are copied whole before a write.)

A place is valid if the map of logical units points to it; nothing else is kept about it.
"""

import numpy as np

from tiersim.devices.station_records import NONE, Plant
from tiersim.kernel import kernel

#: The first list of a die: its erased blocks. Behind it, one of sealed blocks; or, for the greedy collector, one for
#: every number of valid units.
ERASED = 0
SEALED = 1


@kernel
def place_of(p: Plant, ftl: int, logical: int) -> int:
    """Where a logical unit lies, or NONE if it was never written or was trimmed."""
    place = int(np.int64(p.units[p.ftls[ftl]["places"] + logical])) - 1
    return place if place >= 0 else NONE


@kernel
def die_of(p: Plant, ftl: int, place: int) -> int:
    """Die of a place."""
    f = p.ftls[ftl]
    return place // (f["die_blocks"] * f["block_units"])


@kernel
def _unlink(p: Plant, block: int) -> None:
    """Take a block out of its list."""
    newer = p.mapped_blocks[block]["newer"]
    older = p.mapped_blocks[block]["older"]
    p.mapped_blocks[older]["newer"] = newer
    p.mapped_blocks[newer]["older"] = older


@kernel
def _append(p: Plant, head: int, block: int) -> None:
    """Put a block into a list, as the newest one."""
    newest = p.mapped_blocks[head]["older"]
    p.mapped_blocks[block]["older"] = newest
    p.mapped_blocks[block]["newer"] = head
    p.mapped_blocks[newest]["newer"] = block
    p.mapped_blocks[head]["older"] = block


@kernel
def _sealed_list(p: Plant, ftl: int, die: int, valid: int) -> int:
    """Head of the list of a die's sealed blocks with so many valid units."""
    f = p.ftls[ftl]
    return f["first_list"] + die * f["lists"] + SEALED + f["greedy"] * valid


@kernel
def trim_unit(p: Plant, ftl: int, logical: int) -> None:
    """Forget where a logical unit lies: its place is stale."""
    f = p.ftls[ftl]
    place = int(np.int64(p.units[f["places"] + logical])) - 1
    if place < 0:
        return
    p.units[f["places"] + logical] = 0
    number = place // f["block_units"]
    die = number // f["die_blocks"]
    block = f["first_block"] + number
    d = p.ftl_dies[f["first_die"] + die]
    d["valid_units"] -= 1
    valid = p.mapped_blocks[block]["valid_units"] - 1
    p.mapped_blocks[block]["valid_units"] = valid
    if f["greedy"] and block != d["active"] and block != d["victim"]:
        _unlink(p, block)
        _append(p, _sealed_list(p, ftl, die, valid), block)
        d["lowest"] = min(d["lowest"], valid)


@kernel
def _put(p: Plant, ftl: int, die: int, logical: int) -> None:
    """Write a unit to the next place of a die."""
    f = p.ftls[ftl]
    d = p.ftl_dies[f["first_die"] + die]
    place = (d["active"] - f["first_block"]) * f["block_units"] + d["filled_units"]
    d["filled_units"] += 1
    p.mapped_blocks[d["active"]]["valid_units"] += 1
    p.units[f["holds"] + place] = logical
    p.units[f["places"] + logical] = place + 1


@kernel
def _erase(p: Plant, ftl: int, die: int, block: int) -> None:
    f = p.ftls[ftl]
    p.ftl_dies[f["first_die"] + die]["free_blocks"] += 1
    _append(p, f["first_list"] + die * f["lists"] + ERASED, block)
    f["erased_blocks"] += 1


@kernel
def _choose_victim(p: Plant, ftl: int, die: int) -> int:
    """Choose the block to clean next; returns how many units had to be copied to find one with stale units.

    All blocks but the active one are sealed, and hold fewer valid units than they have places.
    """
    f = p.ftls[ftl]
    d = p.ftl_dies[f["first_die"] + die]
    head = _sealed_list(p, ftl, die, d["lowest"])
    while p.mapped_blocks[head]["newer"] == head:
        head += 1
        d["lowest"] += 1
    block = p.mapped_blocks[head]["newer"]
    copied = 0
    _unlink(p, block)
    while p.mapped_blocks[block]["valid_units"] == f["block_units"]:  # never the greedy one's
        # copied whole, to a block that is as good: it need not even change its name
        _append(p, head, block)
        f["erased_blocks"] += 1
        copied += f["block_units"]
        block = p.mapped_blocks[head]["newer"]
        _unlink(p, block)
    d["victim"] = block
    d["scanned_units"] = 0
    return copied


@kernel
def _open_block(p: Plant, ftl: int, die: int) -> int:
    """Seal the active block and make an erased one active; returns how many units were copied."""
    f = p.ftls[ftl]
    d = p.ftl_dies[f["first_die"] + die]
    sealed = d["active"]
    valid = p.mapped_blocks[sealed]["valid_units"]
    _append(p, _sealed_list(p, ftl, die, valid), sealed)
    d["lowest"] = min(d["lowest"], f["greedy"] * valid)
    opened = p.mapped_blocks[f["first_list"] + die * f["lists"] + ERASED]["newer"]
    _unlink(p, opened)
    d["active"] = opened
    d["filled_units"] = 0
    d["free_blocks"] -= 1
    return _choose_victim(p, ftl, die) if d["free_blocks"] == 0 else 0


@kernel
def _copy(p: Plant, ftl: int, die: int, count: int) -> None:
    """Copy the next *count* valid units of a die's victim."""
    f = p.ftls[ftl]
    d = p.ftl_dies[f["first_die"] + die]
    victim = d["victim"]
    first = (victim - f["first_block"]) * f["block_units"]
    scanned = d["scanned_units"]
    left = count
    while left > 0:
        place = first + scanned
        logical = int(np.int64(p.units[f["holds"] + place]))
        scanned += 1
        if p.units[f["places"] + logical] == place + 1:
            _put(p, ftl, die, logical)
            left -= 1
    d["scanned_units"] = scanned
    p.mapped_blocks[victim]["valid_units"] -= count


@kernel
def _collect(p: Plant, ftl: int, die: int) -> int:
    """Make room for one unit of the host on a die; returns how many units were copied for it.

    Of the active block's places, one is kept for each valid unit of the victim. The others, at least one, are the
    host's; the victim is empty when the last of them is taken.
    """
    f = p.ftls[ftl]
    d = p.ftl_dies[f["first_die"] + die]
    copied = _open_block(p, ftl, die) if d["filled_units"] == f["block_units"] else 0
    if d["victim"] != NONE:
        victim = d["victim"]
        valid = p.mapped_blocks[victim]["valid_units"]
        hosts = f["block_units"] - d["filled_units"] - valid
        count = (valid + hosts - 1) // hosts
        if count > 0:
            _copy(p, ftl, die, count)
            copied += count
        if count == valid:
            d["victim"] = NONE
            _erase(p, ftl, die, victim)
    f["copied_units"] += copied
    return copied


@kernel
def write_unit(p: Plant, ftl: int, die: int, logical: int) -> int:
    """Write a logical unit to the next place of *die*; returns how many units collection copied within the die for it.

    If the die holds as many units as it may, the next one that does not takes it: ask for its place where it went.
    """
    f = p.ftls[ftl]
    trim_unit(p, ftl, logical)
    while p.ftl_dies[f["first_die"] + die]["valid_units"] >= f["most_valid"]:
        die = die + 1 if die + 1 < f["dies"] else 0
    copied = _collect(p, ftl, die)
    _put(p, ftl, die, logical)
    p.ftl_dies[f["first_die"] + die]["valid_units"] += 1
    f["host_units"] += 1
    return copied
