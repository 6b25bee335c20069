"""A 15K drive's random reads by queue depth, and writes into its cache."""

from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import READ, WRITE
from tiersim.scenarios.closed import Loop, at_random, run_closed, settled_bytes_per_s
from tiersim.scenarios.validation.claims import Claim, Experiment

DEVICE = "seagate-cheetah-15k7-300"
LENGTH_BYTES, SPAN_BYTES = 4096, 1 << 30
#: Reads a second by depth, digitised to 5/s.
MEASURED = {1: 358, 4: 628, 8: 752, 16: 862, 32: 952, 64: 1015}
#: Writes a second with the drive's own cache on, one outstanding.
CACHED_WRITES = 829
#: Segments that its buffer may have, and so writes that may wait in it: what the device file assumes.
SEGMENTS = (8, 64)
_COMMANDS = 20_000


def reads_per_s(depth: int) -> float:
    """Predicted rate with *depth* reads outstanding."""
    return _per_s(_drive(), READ, depth)


def cached_writes_per_s(segments: int, depth: int = 1) -> float:
    """Predicted rate of writes when each takes one of the buffer's *segments*."""
    return _per_s(_drive().model_copy(update={"buffer_segments": segments, "write_segments": segments}), WRITE, depth)


def _drive() -> Hdd:
    drive = load_device(DEVICE)
    assert isinstance(drive, Hdd)
    return drive


def _per_s(drive: Hdd, op: int, depth: int) -> float:
    builder = PlantBuilder(1)
    station = drive.add_to(builder, "drive")
    offsets = at_random(_COMMANDS, 0, LENGTH_BYTES, SPAN_BYTES, seed=depth)
    return settled_bytes_per_s(run_closed(builder, [Loop(offsets, op, station, LENGTH_BYTES, depth)])) / LENGTH_BYTES


def experiment() -> Experiment:
    """Depths 1 to 64; depth 1 chose the drive's single-cylinder seek. Then a write at a time into the drive's cache."""
    low, high = map(cached_writes_per_s, SEGMENTS)
    cached = Claim(
        "writes into the drive's cache, depth 1",
        "writes/s",
        CACHED_WRITES,
        cached_writes_per_s(_drive().buffer_segments or 0),
        10,
        low=low,
        high=high,
        note=(
            "how many writes the cache takes is not told: each takes a segment here, 8 to 64 of them, and more let the"
            " arm choose better; that the measured rate falls with depth is not predicted"
        ),
        figure="throughput",
    )
    claims = tuple(
        Claim(f"depth {depth}", "reads/s", measured, reads_per_s(depth), 10, fitted=depth == 1, figure="throughput")
        for depth, measured in MEASURED.items()
    )
    return Experiment(
        "depth",
        "Cheetah 15K.7, 4 KiB at random in 1 GiB, by queue depth",
        "xzpeter, SAS benchmark, 2013-02-08 (fio on the raw drive; read off a picture to 5/s)",
        "seek_single_cylinder, to depth 1",
        (*claims, cached),
        assumed=("write segments 16 (8 .. 64)",),
        basis="calibrated",
    )
