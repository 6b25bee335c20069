"""A 15K drive's random reads by queue depth, and writes into its cache."""

from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import READ, WRITE
from tiersim.scenarios.closed_loop import Loop, at_random, run_closed, settled_bytes_per_s
from tiersim.scenarios.validation.claims import Claim, Experiment

DEVICE = "seagate-cheetah-15k7-300"
LENGTH_BYTES, SPAN_BYTES = 4096, 1 << 30
#: Reads a second by depth, digitised to 5/s.
MEASURED = {1: 358, 4: 628, 8: 752, 16: 862, 32: 952, 64: 1015}
#: Writes a second with the drive's own cache on, one outstanding.
CACHED_WRITES = 829
#: Writes that may wait in the drive. It sets the number of segments dynamically, of some 13,000 kB (manual 100516226,
#: 4.5): at least as many as the commands that it sorts, at most as many 4 KiB as there is room for; between them the
#: geometric mean.
WAITING = (64, 456, 3250)
#: Rates of two seeds differ by 0.3 %; of a fifth of them by 0.7 %.
_COMMANDS, _CACHED_COMMANDS = 100_000, 20_000
#: Deviations of seeks in ns that the catalogue leaves open, from the one that gives the lower rates.
_SCATTERS_NS = (60_000, 20_000)
_DEEPEST, _DEEP_FROM = 64, 32


def reads_per_s(depth: int, **changes: int) -> float:
    """Predicted rate with *depth* reads outstanding, of the catalogue's drive with *changes*."""
    return _per_s(_drive().model_copy(update=changes), READ, depth, _COMMANDS)


def cached_writes_per_s(waiting: int, depth: int = 1) -> float:
    """Predicted rate of writes when so many may wait in the buffer."""
    return _per_s(_drive().model_copy(update={"write_segments": waiting}), WRITE, depth, _CACHED_COMMANDS)


def _drive() -> Hdd:
    drive = load_device(DEVICE)
    assert isinstance(drive, Hdd)
    return drive


def _per_s(drive: Hdd, op: int, depth: int, commands: int) -> float:
    builder = PlantBuilder(1)
    station = drive.add_to(builder, "drive")
    offsets = at_random(commands, 0, LENGTH_BYTES, SPAN_BYTES, seed=depth)
    return settled_bytes_per_s(run_closed(builder, [Loop(offsets, op, station, LENGTH_BYTES, depth)])) / LENGTH_BYTES


def experiment() -> Experiment:
    """Depths 1 to 64; depth 1 chose the drive's single-cylinder seek. Then a write at a time into the drive's cache."""
    low, middle, high = map(cached_writes_per_s, WAITING)
    cached = Claim(
        "writes into the drive's cache, depth 1",
        "writes/s",
        CACHED_WRITES,
        middle,
        10,
        low=low,
        high=high,
        note=("how many writes wait in the cache is not told: the more, the better the arm chooses"),
        figure="throughput",
    )
    beside, instead = (
        [
            cached_writes_per_s(waiting - taken, _DEEPEST) / alone
            for waiting, alone in zip(WAITING, (low, middle, high), strict=True)
        ]
        for taken in (0, _DEEPEST - 1)
    )
    falls = Claim(
        f"writes into the drive's cache: depth {_DEEPEST} over depth 1",
        "times",
        1,
        beside[1],
        0,
        low=min(beside + instead),
        high=max(beside + instead),
        widest=2,
        kind="qualitative",
        within=(0, 0.99),
        note=(
            "measured: it falls with depth; suspected: waiting commands take room in the buffer. If each takes that of"
            f" a write: {', '.join(f'{ratio:.2f} of {place}' for ratio, place in zip(instead, WAITING, strict=True))}"
        ),
    )
    return Experiment(
        "depth",
        "Cheetah 15K.7, 4 KiB at random in 1 GiB, by queue depth",
        "xzpeter, SAS benchmark, 2013-02-08 (fio on the raw drive; read off a picture to 5/s)",
        "seek_single_cylinder, to depth 1",
        (*map(_depth, MEASURED), cached, falls),
        assumed=(
            "writes that wait in the drive 456 (64 .. 3250)",
            "the standard deviation of seeks 43 µs (20 .. 60): a 10K drive's, looked up with the rates known",
        ),
        basis="calibrated",
    )


def _depth(depth: int) -> Claim:
    low, high = (reads_per_s(depth, seek_scatter=scatter_ns) for scatter_ns in _SCATTERS_NS)
    found, measured = reads_per_s(depth), MEASURED[depth]
    exact = _per_s(_drive().model_copy(update={"seek_scatter": None}), READ, depth, _COMMANDS)
    return Claim(
        f"depth {depth}", "reads/s", measured, found, 5, low=low, high=high, fitted=depth == 1, figure="throughput",
        note=f"with seeks that do not scatter {100 * (exact / measured - 1):+.1f} %" if depth >= _DEEP_FROM else "",
    )  # fmt: skip
