"""Chooses the parameters of a flash drive so that loops on its model take as long as they were measured to take."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tiersim.devices.flash import Flash
from tiersim.scenarios.calibration.fitting.loops import simulate
from tiersim.scenarios.calibration.fitting.model import PARAMETERS, bounded, device, start
from tiersim.scenarios.calibration.fitting.search import compass
from tiersim.scenarios.calibration.fitting.targets import Target

#: Weight of a mean beside that of a percentile: a mean is measured better.
_MEAN_WEIGHT = 4.0
#: A loop that takes this many times as long as the shortest of its sort has saturated the drive.
_SATURATED = 5.0
_SATURATED_WEIGHT = 0.25
_LARGE = 0.2
_COARSE_COMMANDS = 24_000
#: How many of the shapes that fit best at first are looked at closely.
_FINALISTS = 4
#: A parameter that can move by this factor without a trace in the misfit cannot be told from the measurement.
_PROBES = (1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)
#: How much the misfit (root mean square of relative errors) may grow before a move has left a trace.
_TRACE = 0.01


@dataclass(frozen=True)
class Range:
    """Within what a fitted number could lie: beyond, the measurement would be missed by a percentage point more."""

    low: float
    high: float

    @property
    def identified(self) -> bool:
        """Whether the measurement says more than an order of magnitude."""
        return self.high / self.low < _PROBES[-1]


@dataclass(frozen=True)
class Residual:
    """A measured figure and what the fitted drive gives for it, ns or requests/s."""

    target: Target
    operation: str
    figure: str
    measured: float
    fitted: float

    @property
    def error_pct(self) -> float:
        """Fitted against measured."""
        return 100 * (self.fitted / self.measured - 1)


@dataclass(frozen=True)
class Fit:
    """Numbers that were chosen, how sure each is, and what remains."""

    values: dict[str, float]
    ranges: dict[str, Range]
    residuals: tuple[Residual, ...]
    misfit: float

    @property
    def drive(self) -> Flash:
        """The drive that the numbers make."""
        return device(self.values)


def residuals(values: Mapping[str, float], targets: Sequence[Target], commands: int | None = None) -> list[Residual]:
    """What a drive of these numbers does, beside what was measured."""
    drive = device(values)
    found = []
    for target in targets:
        percents = sorted({percent for one in target.latencies.values() for percent in one.percentiles_ns})
        extra = {} if commands is None else {"commands": commands}
        rate, latencies = simulate(drive, target.setting, percents, **extra)
        for operation, measured in target.latencies.items():
            own = latencies[operation]
            found.append(Residual(target, operation, "mean", measured.mean_ns, own.mean_ns))
            for percent, ns in measured.percentiles_ns.items():
                found.append(Residual(target, operation, f"p{percent:g}", ns, own.percentiles_ns[percent]))
    return found


def misfit(found: Sequence[Residual]) -> float:
    """Root mean square of the logarithm of fitted over measured; a mean weighs as much as four percentiles.

    Those of a saturated drive weigh less: how it shares itself out among what waits decides them.
    """
    alone: dict[tuple[str, int], float] = {}
    for one in found:
        if one.figure == "mean":
            key = (one.operation, one.target.setting.block_bytes)
            alone[key] = min(alone.get(key, one.measured), one.measured)
    weights = [_weight(one, alone[one.operation, one.target.setting.block_bytes]) for one in found]
    squares = [_loss(abs(math.log(one.fitted / one.measured))) for one in found]
    return math.sqrt(sum(weight * square for weight, square in zip(weights, squares, strict=True)) / sum(weights))


def _loss(error: float) -> float:
    """Square of a small error; of a large one, that the model has no means to mend, only its size counts (Huber, 1964)."""
    return error * error if error < _LARGE else _LARGE * (2 * error - _LARGE)


def _weight(one: Residual, alone_ns: float) -> float:
    if one.figure == "mean":
        return _MEAN_WEIGHT
    means = one.target.latencies[one.operation].mean_ns
    return _SATURATED_WEIGHT if means > _SATURATED * alone_ns else 1.0


def fit(targets: Sequence[Target], progress: Callable[[str], None] = lambda what: None) -> Fit:
    """Fit a flash drive to what was measured of it; the same targets give the same fit."""
    groups = _Groups(targets)
    values = start() | groups.limits()
    if groups.small_reads:
        progress("random reads by depth")
        values = _fit_shape(values, groups.small_reads, ("unloaded_read_ns", "sense_ns", "fast_page", "slow_page"))
    if groups.large_reads:
        progress("random reads by size")
        reads = [*groups.small_reads, *groups.large_reads]
        values = _fit_sizes(values, reads)
    if groups.writes:
        progress("writes, and reads behind them")
        values = _fit_writes(values, groups.writes)
    if groups.flushed:
        progress("flushes")
        free = ("write_ns", "flush_ns", "flush_interval_ns")
        values, _ = compass(_measure(groups.flushed), values, free, steps=(2.0, 1.25, 1.1, 1.04, 1.015), rounds=12)
    progress("how sure each number is")
    found = residuals(values, targets)
    return Fit(values, _ranges(values, targets, groups), tuple(found), misfit(found))


class _Groups:
    """Targets by what they tell."""

    def __init__(self, targets: Sequence[Target]) -> None:
        self.every = targets
        reads = [t for t in targets if t.setting.read_share == 1 and _at_random(t)]
        least = min((t.setting.block_bytes for t in reads), default=0)
        self.small_reads = [t for t in reads if t.setting.block_bytes == least]
        self.large_reads = [t for t in reads if t.setting.block_bytes > least]
        self.writes = [t for t in targets if t.setting.read_share < 1 and not t.setting.sync_every and _at_random(t)]
        self.flushed = [t for t in targets if t.setting.sync_every]

    def limits(self) -> dict[str, float]:
        """What the highest rates that were seen say of link and controller, at least."""
        bandwidth = max(t.requests_per_s * t.setting.block_bytes for t in self.every)
        commands = max(t.requests_per_s for t in self.every)
        return {
            "link_bytes_per_s": max(bandwidth, 2e8) * 1.02,
            "controller_iops": min(max(commands * 1.05, 20_000), PARAMETERS["controller_iops"].high),
        }

    def told(self) -> set[str]:
        """Parameters that the targets have any bearing on."""
        names = set()
        if self.small_reads or self.large_reads:
            names |= {"unloaded_read_ns", "sense_ns", "fast_page", "slow_page", "dies", "planes"}
        if self.large_reads:
            names |= {"transfer_ns", "page_units", "spread"}
        if self.writes:
            names |= {"write_ns", "program_ns", "program_units"}
        if self.flushed:
            names |= {"write_ns", "flush_ns", "flush_interval_ns"}
        return names


def _at_random(target: Target) -> bool:
    return target.setting.pattern == "random"


def _measure(targets: Sequence[Target], commands: int = _COARSE_COMMANDS) -> Callable[[Mapping[str, float]], float]:
    """The misfit of numbers to targets; infinite for what no drive can have."""

    def found(values: Mapping[str, float]) -> float:
        return misfit(residuals(values, targets, commands)) if bounded(values) else math.inf

    return found


def _fit_shape(values: dict[str, float], targets: Sequence[Target], free: tuple[str, ...]) -> dict[str, float]:
    """Fit reads of one size on every number of dies and planes, a little, and on the best of them further."""
    measure = _measure(targets)
    alone = min(targets, key=lambda target: target.setting.depth)
    figures = alone.latencies["read"]
    unloaded = figures.percentiles_ns.get(50.0, figures.mean_ns)
    fastest = max(target.requests_per_s for target in targets)
    shapes = []
    for dies in (1, 2, 4, 8, 16, 32, 64, 128):
        for planes in (1, 2, 4):
            # one sensing serves at most as many as there are planes
            sense = min(0.85 * unloaded, dies * math.sqrt(planes) * 1e9 / fastest) - values["transfer_ns"]
            guess = values | {
                "dies": dies,
                "spread": min(dies, values["spread"]),
                "planes": planes,
                "unloaded_read_ns": unloaded,
                "sense_ns": sense,
            }
            if sense > PARAMETERS["sense_ns"].low:
                found = compass(measure, guess, free[:2], steps=(1.15, 1.05), rounds=3)
                shapes.append((found[1], dies, planes, found[0]))
    shapes.sort(key=lambda shape: shape[:3])
    best = [compass(measure, shape[3], free) for shape in shapes[:_FINALISTS]]
    return min(best, key=lambda found: found[1])[0]


def _fit_sizes(values: dict[str, float], targets: Sequence[Target]) -> dict[str, float]:
    """Fit how large requests lie on the dies, then all of the reads together."""
    measure = _measure(targets)
    tried = []
    for spread in (1, 2, 4, 8, 16):
        for page_units in (1, 2, 4, 8, 16, 32, 64):
            if spread <= values["dies"] and page_units >= values["planes"]:
                guess = values | {"spread": spread, "page_units": page_units}
                tried.append((measure(guess), spread, page_units, guess))
    tried.sort(key=lambda one: one[:3])
    best = [compass(measure, one[3], ("transfer_ns", "sense_ns"), steps=(1.25, 1.1)) for one in tried[:_FINALISTS]]
    chosen = min(best, key=lambda found: found[1])[0]
    return compass(measure, chosen, ("transfer_ns", "sense_ns", "unloaded_read_ns", "fast_page", "slow_page"))[0]


def _fit_writes(values: dict[str, float], targets: Sequence[Target]) -> dict[str, float]:
    """Fit programs: how long one is, and how much it writes."""
    measure = _measure(targets)
    tried = []
    for units in (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256):
        for program_ns in (100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000):
            guess = values | {"program_units": units, "program_ns": program_ns}
            tried.append((measure(guess), units, program_ns, guess))
    tried.sort(key=lambda one: one[:3])
    free = ("program_ns", "program_units", "write_ns")
    best = [compass(measure, one[3], free) for one in tried[:_FINALISTS]]
    return min(best, key=lambda found: found[1])[0]


def _ranges(values: dict[str, float], targets: Sequence[Target], groups: _Groups) -> dict[str, Range]:
    """How far each number can move alone, up and down, before the misfit shows it."""
    measure = _measure(targets)
    least = measure(values)
    found = {}
    for name, parameter in PARAMETERS.items():
        if name not in groups.told():
            continue
        ends = []
        for direction in (-1, 1):
            end = values[name]
            for probe in (2.0, 4.0) if parameter.count else _PROBES:
                end = values[name] * probe**direction
                if measure(values | {name: end}) > least + _TRACE:
                    break
            ends.append(end)
        found[name] = Range(*ends)
    return found
