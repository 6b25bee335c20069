"""The pseudo-SLC cache of a client drive: cells of two to four bits that take one bit each at first.

Programs of one bit are short. While the cache has room, what the write buffer gives away goes there. When it is full,
writes go past it to the cells' full density, or into it still, with as many units moved out behind each program
(folding). A drive that has been idle for a while moves out what is there, until a command comes; that waits for the
program in progress as any read does.

The cache is a count of units, not a map: a unit that is written twice takes room twice. (Samsung, data sheet of the
970 EVO Plus: sizes, and rates within and beyond the cache; Micron, Dynamic Write Acceleration, by PC Perspective,
2014-09.)
"""

from tiersim.devices.station_records import NEVER, Plant
from tiersim.kernel import kernel

_PS_PER_NS = 1_000


@kernel
def choose_cells(p: Plant, flash: int) -> None:
    """Let the next program go to the cache, if that has room or always takes writes, or else past it."""
    f = p.flashes[flash]
    cached = f["slc_folds"] == 1 or f["slc_free_units"] >= f["slc_program_units"]
    f["into_slc"] = int(cached)
    f["program_ns"] = f["slc_program_ns"] if cached else f["dense_program_ns"]
    f["program_units"] = f["slc_program_units"] if cached else f["dense_program_units"]


@kernel
def take_room(p: Plant, flash: int, die: int, units: int) -> None:
    """Note a program of *units* on a *die*: the room that it takes in the cache, and what must be moved out for it."""
    f = p.flashes[flash]
    p.pool[f["program_took"] + die] = f["program_ns"]
    if f["into_slc"] == 0:
        return
    short = units - f["slc_free_units"]
    if short > 0:
        p.pool[f["copies_owed"] + die] += short << 16
        p.pool[f["erases_owed"] + die] += short * f["slc_erases_q32"]
    f["slc_free_units"] = max(-short, 0)


@kernel
def fold_idle(p: Plant, flash: int, now: int) -> None:
    """Move out what was moved out since the drive had nothing else to do; the dies are at a program if there is more.

    All dies fold side by side, out of step.
    """
    f = p.flashes[flash]
    cached = f["slc_units"] - f["slc_free_units"]
    idle = now - max(f["busy_until_ns"], f["last_program_ns"]) - f["slc_idle_ns"]
    if cached == 0 or idle <= 0:
        return
    if idle > cached * f["fold_ps"] // _PS_PER_NS:
        f["slc_free_units"] = f["slc_units"]
    else:
        f["slc_free_units"] += idle * _PS_PER_NS // f["fold_ps"]
        program_ns = f["dense_program_ns"]
        for die in range(f["dies"]):
            begun = (idle + die * program_ns // f["dies"]) % program_ns
            free = f["program_free"] + die
            p.pool[free] = max(p.pool[free], now + program_ns - begun)
            p.pool[f["program_took"] + die] = program_ns
        for register in range(f["registers"], f["registers"] + f["dies"] * f["planes"]):
            p.pool[register] = NEVER
    if f["filled_units"] == 0:
        choose_cells(p, flash)
