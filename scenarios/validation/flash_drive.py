"""A real flash drive: what a fit to some of its measurements says of the others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from tiersim.devices.ssd.flash import Flash
from tiersim.scenarios.calibration.fitting.fit import fit_loops
from tiersim.scenarios.calibration.fitting.loops import residuals_of_drive
from tiersim.scenarios.calibration.fitting.model import UNIT_BYTES, device
from tiersim.scenarios.calibration.fitting.targets import FitTarget, HostSpread, Latencies, Setting
from tiersim.scenarios.validation.claims import Claim, Experiment, Figure
from tiersim.units import NS_PER_S

Pattern = Literal["random", "sequential"]
#: Random 4 KiB reads by depth: reads/s, then mean, p50, p95, p99 of completion, µs; means of three runs.
DEPTHS = {
    1: (12552.0, 77.49, 73.56, 90.62, 101.55),
    4: (42194.9, 93.0, 85.5, 148.48, 185.34),
    32: (133806.1, 237.69, 218.11, 460.8, 585.73),
    128: (148553.2, 860.16, 692.22, 2288.3, 3140.26),
}
#: Random reads at depth 32 by KiB, likewise.
SIZES = {
    16: (40141.4, 794.56, 847.87, 1242.46, 1384.45),
    32: (30619.1, 1041.16, 1122.3, 1417.22, 1531.9),
    64: (24846.7, 1282.76, 1384.45, 1695.74, 1826.82),
    128: (17699.4, 1799.88, 1957.89, 2244.61, 2386.6),
    256: (10281.6, 3098.32, 3369.64, 3817.47, 4014.08),
    512: (5313.2, 6060.23, 5952.86, 10791.62, 15816.02),
    1024: (2952.1, 10794.74, 10813.44, 18743.3, 24685.23),
}
#: 4 KiB at depth 32 by share of reads: of reads, then of writes.
MIXES = {
    0.7: ((67398.3, 465.36, 165.55, 1733.98, 2053.46), (28885.4, 17.26, 12.78, 34.86, 79.79)),
    0.5: ((48273.6, 639.85, 293.89, 1837.74, 2463.06), (48213.2, 18.95, 13.12, 44.46, 98.13)),
}
#: 99th percentiles of all runs that were equal, and not only of those above: lowest and highest, µs.
POOLED_P99_US = {1: (96.77, 105.98), 4: (185.34, 185.34), 32: (569.34, 741.38)}
#: How far beyond the pooled runs a percentile may lie.
_BEYOND = 0.15
#: One request outstanding, means of three runs (one of 4 KiB reads): pattern, KiB, share of reads; then as above.
ALONE: tuple[tuple[Pattern, int, float, tuple[float, ...]], ...] = (
    ("sequential", 4, 1.0, (75596.5, 11.93, 10.56, 14.14, 29.06)),
    ("sequential", 128, 1.0, (7500.2, 125.11, 119.3, 187.39, 229.72)),
    ("sequential", 128, 0.0, (13585.0, 61.48, 59.14, 64.08, 93.68)),
    ("random", 4, 0.0, (66351.6, 13.64, 12.1, 16.02, 30.85)),
)
_FITTED_SIZES, _FITTED_MIX = (16, 256), 0.7
#: A drive that is saturated shares itself out among what waits by rules of its own: its percentiles are not claimed.
_SATURATED_DEPTH = 128
_SATURATED_KIB = 128


def fit_target(
    depth: int, block_bytes: int, share: float, *directions: Sequence[float], pattern: Pattern = "random"
) -> FitTarget:
    """What a fit is given of a setting: a row of figures for each direction."""
    rate = sum(one[0] for one in directions)
    submission_us = depth * 1e6 / rate - sum(one[0] * one[1] for one in directions) / rate
    operations = {1.0: ("read",), 0.0: ("write",)}.get(share, ("read", "write"))
    latencies = {}
    for operation, (_, *figures) in zip(operations, directions, strict=True):
        mean, p50, p95, p99 = ((figure + submission_us) * 1000 for figure in figures)
        latencies[operation] = Latencies(mean, {50.0: p50, 95.0: p95, 99.0: p99})
    return FitTarget(Setting(pattern, block_bytes, depth, 1, share, 0), rate, latencies, 3)


def _claims(
    what: str, target: FitTarget, drive: Flash, percentile_too: bool, tolerances: tuple[float, float], host: HostSpread
) -> list[Claim]:
    """Of reads where there are any, else of writes.

    What the host adds is known here, and not of other hosts: percentiles of a request alone are claimed with it, and
    without it, as a replay has them.
    """
    alone = percentile_too and target.setting.depth == 1
    found = _of_host(what, target, drive, percentile_too, tolerances, host)
    if not alone:
        return found
    bare = _of_host(what, target, drive, percentile_too, tolerances, HostSpread())
    return [
        *(claim if claim.figure == "mean" else replace(claim, figure=None) for claim in found),
        *(
            replace(claim, what=f"{claim.what} without the host", note="" if claim.met else _HOST_MISSING)
            for claim in bare
            if claim.figure == "tail"
        ),
    ]


def _of_host(
    what: str, target: FitTarget, drive: Flash, percentile_too: bool, tolerances: tuple[float, float], host: HostSpread
) -> list[Claim]:
    claims = []
    operation = next(iter(target.latencies))
    for one in residuals_of_drive([target], drive, host):
        if one.operation == operation and (one.figure == "mean" or (one.figure == "p99" and percentile_too)):
            tolerance = tolerances[one.figure == "p99"]
            figure: Figure = "mean" if one.figure == "mean" else "tail"
            claims.append(
                Claim(f"{what}, {one.figure}", "µs", one.measured / 1000, one.fitted / 1000, tolerance, figure=figure)
            )
    return claims


_HOST_MISSING = "the rest is the host's: reads from the drive's memory, which all take as long, have the same tail"


def _pooled(claim: Claim, depth: int) -> Claim:
    """The claim of a 99th percentile, which may lie beyond all runs that were equal by so much."""
    if "p99" not in claim.what:
        return claim
    least, most = POOLED_P99_US[depth]
    submission_us = claim.published - DEPTHS[depth][-1]
    within = (1 - _BEYOND) * (least + submission_us), (1 + _BEYOND) * (most + submission_us)
    return replace(claim, within=within, note=(claim.note or _TOO_THIN) if claim.predicted < within[0] else "")


_TOO_THIN = "three sorts of pages are all that spreads reads here: no retries"
#: Least, taken, and most that the drive is assumed to read ahead.
READ_AHEAD_BYTES = (32 << 10, 128 << 10, 512 << 10)
#: Data sheet of this drive (MZVLB256HBHQ): writes in order, into cells with one bit.
_TURBO_BYTES_PER_S = 2_200_000_000
#: Of the retail drive of the same size, controller and flash (970 EVO Plus 250 GB): at any time, and while cells are
#: free. The file of the measurements, 8 GB, is written over: it lies within.
_SLC_STATIC_BYTES, _SLC_DYNAMIC_BYTES = 4 * 10**9, 9 * 10**9
_BITS_A_CELL = 3


def client(drive: Flash, read_ahead_bytes: int) -> Flash:
    """The fitted drive with its cache of one bit a cell, which is as fast as its data sheet says, and reading ahead."""
    size = max(drive.program_size // _BITS_A_CELL // UNIT_BYTES, 1) * UNIT_BYTES
    carried_ns = size * NS_PER_S / drive.channel_rate
    keys: dict[str, Any] = {
        "read_ahead": read_ahead_bytes,
        "slc_static": _SLC_STATIC_BYTES,
        "slc_dynamic": _SLC_DYNAMIC_BYTES,
        "slc_program_size": size,
        "slc_program": max(1, round(drive.dies * size * NS_PER_S / _TURBO_BYTES_PER_S - carried_ns)),
        "slc_idle": NS_PER_S,
    }
    return drive.model_copy(update=keys)


def _host(memory: FitTarget) -> HostSpread:
    """What the host of the measurements adds to a request alone, by sequential reads of two sizes."""
    (_, least_kib, _, small), (_, most_kib, _, large) = ALONE[:2]
    handed_over_us = [1e6 / figures[0] - figures[1] for figures in (small, large)]  # between completion and submission
    block_bytes = least_kib * 1024
    ns_per_byte = 1000 * (handed_over_us[1] - handed_over_us[0]) / (most_kib * 1024 - block_bytes)
    spread = HostSpread.of_reads_from_memory(memory.latencies["read"])
    return replace(spread, ns_per_byte=ns_per_byte, block_bytes=block_bytes)


def experiment() -> Experiment:
    """Each depth from the three others; sizes, a mix and single requests from depths, two sizes and another mix."""
    depths = {depth: fit_target(depth, 4096, 1.0, figures) for depth, figures in DEPTHS.items()}
    sizes = {kib: fit_target(32, kib * 1024, 1.0, figures) for kib, figures in SIZES.items()}
    mixes = {share: fit_target(32, 4096, share, *figures) for share, figures in MIXES.items()}
    # what a read takes that the drive's memory serves: it parts the flash's time from that of what is beside it
    pattern, kib, share, figures = ALONE[0]
    memory = fit_target(1, kib * 1024, share, figures, pattern=pattern)
    host = _host(memory)
    claims = []
    for depth, target in depths.items():
        drive = device(fit_loops([memory, *(other for other in depths.values() if other is not target)]).values)
        what = f"4 KiB reads, depth {depth}, from the other depths"
        found = _claims(what, target, drive, depth < _SATURATED_DEPTH, (10, 0), host)
        claims += [_pooled(claim, depth) for claim in found]
    fitted = device(
        fit_loops([memory, *depths.values(), *(sizes[kib] for kib in _FITTED_SIZES), mixes[_FITTED_MIX]]).values
    )
    for kib, target in sizes.items():
        if kib not in _FITTED_SIZES:
            found = _claims(f"{kib} KiB reads, depth 32", target, fitted, kib < _SATURATED_KIB, (20, 20), host)
            # which of the spreads that fit alike is taken was decided with these sizes in view
            claims += [replace(claim, fitted=True) for claim in found]
    for share, target in mixes.items():
        if share != _FITTED_MIX:
            claims += _claims(f"{share:.0%} reads of 4 KiB, depth 32: reads", target, fitted, True, (20, 20), host)
    for pattern, kib, share, figures in ALONE:
        alone = fit_target(1, kib * 1024, share, figures, pattern=pattern)
        what = f"{pattern} {'reads' if share else 'writes'} of {kib} KiB, depth 1"
        low, middle, high = (
            _claims(what, alone, client(fitted, ahead), not share, (20, 20), host) for ahead in READ_AHEAD_BYTES
        )
        found = [
            replace(claim, low=min(ends), high=max(ends)) if len(ends) > 1 else claim
            for claim, *others in zip(middle, low, high, strict=True)
            for ends in ({one.predicted for one in (claim, *others)},)
        ]
        used = (pattern, kib, share, figures) in ALONE[:2]
        claims += [replace(claim, fitted=used) for claim in found]
    return Experiment(
        "flash",
        "Samsung PM981a 256 GB: what a fit says of measurements that it was not given",
        "AIALRA-0/ECSE-4320, Project 3 (fio 3, io_uring; means of three runs)",
        "for each depth the three others; for all else all depths, 16 and 256 KiB, and 70 % reads (of their writes the"
        " median); for both sequential reads of 4 KiB, which also tell what the host adds to a request alone, and those"
        " of 128 KiB, how long it hands over; with all sizes in view, which of the spreads that fit alike is taken",
        tuple(claims),
        basis="calibrated",
    )
