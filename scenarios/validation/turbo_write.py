"""Writes of a client drive within its cache of one bit a cell, and beyond it, by the size of the drive.

Four drives differ in how many dies they have. Times of their flash are those of the drive of the same controller in
the catalogue, but for the program.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash
from tiersim.operations import WRITE
from tiersim.scenarios.closed_loop import Loop, at_random, run_closed, sequential, settled_bytes_per_s
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.units import NS_PER_S

_DEVICE = "samsung-pm981a-256"
#: By capacity in GB: dies beside those of the smallest; MB/s in order into the cache; when it is full, MB/s in order,
#: and 4 KiB writes a second at random (32 outstanding of each of 4 threads).
PUBLISHED = {
    250: (1, 2300, 400, 100_000),
    500: (2, 3200, 900, 200_000),
    1000: (4, 3300, 1700, 400_000),
    2000: (8, 3300, 1750, 420_000),
}
_SMALLEST = 250
_LARGE_BYTES, _LARGE_DEPTH, _LARGE_COMMANDS = 128 << 10, 32, 16_000
_SMALL_BYTES, _SMALL_DEPTH, _SMALL_COMMANDS = 4096, 128, 200_000
_SPAN_BYTES = 100 << 30
_ENOUGH_DIES = "twice the dies of the drive of 1 TB write hardly more: something else limits them, which is not told"


def drive(gigabytes: int, *, full: bool) -> Flash:
    """The drive of a capacity, its cache *full* or empty."""
    like = load_device(_DEVICE)
    assert isinstance(like, Flash)
    bytes_per_s = PUBLISHED[_SMALLEST][2] * 1_000_000
    carried_ns = like.program_size * NS_PER_S / like.channel_rate
    keys = {
        "capacity": gigabytes * 10**9,
        "dies": like.dies * PUBLISHED[gigabytes][0],
        "program": round(like.dies * like.program_size * NS_PER_S / bytes_per_s - carried_ns),
        "slc_used": like.slc_bytes if full else 0,
    }
    return like.model_copy(update=keys)


def megabytes_per_s(gigabytes: int, *, full: bool) -> float:
    """Predicted rate of writes in order."""
    offsets = sequential(_LARGE_COMMANDS, 0, _LARGE_BYTES)
    return _bytes_per_s(drive(gigabytes, full=full), offsets, _LARGE_BYTES, _LARGE_DEPTH) / 1e6


def writes_per_s(gigabytes: int) -> float:
    """Predicted rate of 4 KiB writes at random, the cache full."""
    offsets = at_random(_SMALL_COMMANDS, 0, _SMALL_BYTES, _SPAN_BYTES, seed=gigabytes)
    return _bytes_per_s(drive(gigabytes, full=True), offsets, _SMALL_BYTES, _SMALL_DEPTH) / _SMALL_BYTES


def _bytes_per_s(drive: Flash, offsets: NDArray[np.int64], length_bytes: int, depth: int) -> float:
    builder = PlantBuilder(1)
    station = drive.add_to(builder, "drive")
    return settled_bytes_per_s(run_closed(builder, [Loop(offsets, WRITE, station, length_bytes, depth)]))


def experiment() -> Experiment:
    """Rates of four sizes; the program time is that of the smallest."""
    claims = []
    for gigabytes, (_, cached, in_order, at_random_per_s) in PUBLISHED.items():
        found = megabytes_per_s(gigabytes, full=False)
        claims.append(Claim(f"{gigabytes} GB, into the cache, in order", "MB/s", cached, found, 20))
        found = megabytes_per_s(gigabytes, full=True)
        fitted, note = gigabytes == _SMALLEST, _ENOUGH_DIES if gigabytes == max(PUBLISHED) else ""
        what = f"{gigabytes} GB, cache full"
        claims.append(Claim(f"{what}, in order", "MB/s", in_order, found, 20, fitted=fitted, note=note))
        found = writes_per_s(gigabytes)
        claims.append(Claim(f"{what}, 4 KiB at random", "writes/s", at_random_per_s, found, 20))
    return Experiment(
        "turbo-write",
        "Samsung 970 EVO Plus: writes into its cache of one bit a cell and beyond it, by size",
        "Samsung, data sheet of the 970 EVO Plus (rates beyond the cache: its note 4)",
        "the time of a program, to the smallest drive's writes in order beyond the cache",
        tuple(claims),
        assumed=("all else as the PM981a 256 GB of the catalogue, dies in proportion to the capacity",),
    )
