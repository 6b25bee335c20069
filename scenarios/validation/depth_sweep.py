"""A 15K drive's random reads by queue depth."""

from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import READ
from tiersim.scenarios.closed import Loop, at_random, run_closed, settled_bytes_per_s
from tiersim.scenarios.validation.claims import Claim, Experiment

DEVICE = "seagate-cheetah-15k7-300"
LENGTH_BYTES, SPAN_BYTES = 4096, 1 << 30
#: Reads a second by depth, digitised to 5/s.
MEASURED = {1: 358, 4: 628, 8: 752, 16: 862, 32: 952, 64: 1015}
_COMMANDS = 20_000


def reads_per_s(depth: int) -> float:
    """Predicted rate with *depth* reads outstanding."""
    builder = PlantBuilder(1)
    station = load_device(DEVICE).add_to(builder, "drive")
    offsets = at_random(_COMMANDS, 0, LENGTH_BYTES, SPAN_BYTES, seed=depth)
    return settled_bytes_per_s(run_closed(builder, [Loop(offsets, READ, station, LENGTH_BYTES, depth)])) / LENGTH_BYTES


def experiment() -> Experiment:
    """Depths 1 to 64; depth 1 chose the drive's single-cylinder seek."""
    claims = tuple(
        Claim(f"depth {depth}", "reads/s", measured, reads_per_s(depth), 10, fitted=depth == 1, figure="throughput")
        for depth, measured in MEASURED.items()
    )
    return Experiment(
        "depth",
        "Cheetah 15K.7, 4 KiB random reads in 1 GiB, by queue depth",
        "xzpeter, SAS benchmark, 2013-02-08 (fio on the raw drive; read off a picture to 5/s)",
        "seek_single_cylinder, to depth 1",
        claims,
        basis="calibrated",
    )
