"""Chooses the parameters of a flash drive so that its model takes as long as was measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tiersim.scenarios.calibration.fitting.loops import residuals_of_loops
from tiersim.scenarios.calibration.fitting.model import PARAMETERS, start
from tiersim.scenarios.calibration.fitting.residuals import TRACE, FitRange, Misfit, Residual, measure, misfit, ranges
from tiersim.scenarios.calibration.fitting.search import compass
from tiersim.scenarios.calibration.fitting.targets import FitTarget, HostSpread

#: How many of the shapes that fit best at first are looked at closely.
_FINALISTS = 4
_PAGES_OF_A_SPREAD = 2
_DIES = (1, 2, 4, 8, 16, 32, 64, 128)
_PLANES = (2, 1, 4)
_SPREADS = (1, 2, 4, 8, 16)
_PAGE_UNITS = (1, 2, 4, 8, 16, 32, 64)
_PROGRAM_UNITS = (1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_PROGRAMS_NS = (100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000)

Progress = Callable[[str], None]
Values = dict[str, float]

#: Requests of this size and more are limited by the data rate of the link.
LARGE_BYTES = 1 << 16

SHAPE_PARAMETERS = ("unloaded_read_ns", "sense_ns", "fast_page", "slow_page")
FLUSH_PARAMETERS = ("write_ns", "flush_ns", "flush_interval_ns")


@dataclass(frozen=True)
class Fit:
    """Numbers that were chosen, what the measurement says of each, and what remains.

    *ranges* has those that the measurement could tell anything of; the others stand where the search began.
    """

    values: Values
    ranges: dict[str, FitRange]
    residuals: tuple[Residual, ...]
    judged: tuple[Residual, ...] = ()  # of what was measured, too, and not fitted to

    @property
    def misfit(self) -> float:
        """What the search made small, see :func:`misfit`."""
        return misfit(self.residuals)

    @property
    def unknown(self) -> list[str]:
        """Parameters that the measurement cannot tell."""
        return [name for name in PARAMETERS if name not in self.ranges or not self.ranges[name].identified]


def fit_loops(targets: Sequence[FitTarget], progress: Progress = lambda what: None) -> Fit:
    """Fit a flash drive to what a load generator measured; the same targets give the same fit."""
    reads = [one for one in targets if one.setting.read_share == 1 and one.setting.pattern == "random"]
    least = min((one.setting.block_bytes for one in reads), default=0)
    small = [one for one in reads if one.setting.block_bytes == least]
    synchronous = [one for one in targets if one.setting.sync_every]
    writes = [one for one in targets if one.setting.read_share < 1 and one not in synchronous]
    writes = [one for one in writes if one.setting.pattern == "random"]
    values, told, memory = start() | _limits(targets), set[str](), _UNKNOWN
    if small:
        progress("random reads by depth")
        unloaded = _typical_ns(min(small, key=lambda one: one.setting.depth))
        memory = _reads_from_memory(targets, least, unloaded)
        fastest = max(one.requests_per_s for one in small)
        values = fit_shape(values, _measure(small, memory), unloaded, fastest, memory.typical_ns)
        told |= {*SHAPE_PARAMETERS, "dies", "planes"}
    if len(reads) > len(small):
        progress("random reads by size")
        values = fit_sizes(values, _measure(reads, memory))
        told |= {"transfer_ns", "page_units", "spread"}
    if writes:
        progress("writes, and reads behind them")
        values = fit_writes(values, _measure(writes, memory))
        told |= {"write_ns", "program_ns", "program_units"}
    if synchronous:
        progress("flushes")
        values = fit_flushes(values, _measure(synchronous, memory), alone=not writes)
        told |= set(FLUSH_PARAMETERS)
    progress("how sure each number is")
    used = [*reads, *writes, *synchronous]
    beside = [one for one in targets if one not in used]
    values = _with_memory(values, memory.typical_ns)
    found = ranges(values, told, _measure(used, replace(memory, typical_ns=math.inf)))
    remaining, judged = (tuple(residuals_of_loops(some, values, memory.host)) for some in (used, beside))
    return Fit(values, found, remaining, judged)


@dataclass(frozen=True)
class _FromMemory:
    """What a read takes that needs no flash, infinite if that is not known; and what the host adds, as it shows."""

    typical_ns: float
    host: HostSpread


_UNKNOWN = _FromMemory(math.inf, HostSpread())


def _measure(targets: Sequence[FitTarget], memory: _FromMemory) -> Misfit:
    """The misfit of numbers of a drive, which reads from its memory as it was measured to."""
    found = measure(partial(residuals_of_loops, targets, host=memory.host))
    return lambda values: found(_with_memory(values, memory.typical_ns))


def _with_memory(values: Mapping[str, float], memory_ns: float) -> Values:
    """A read alone takes the flash's time and that of one from memory, if the latter is known."""
    if memory_ns == math.inf:
        return {**values}
    return {**values, "unloaded_read_ns": memory_ns + values["sense_ns"] + values["transfer_ns"]}


def _typical_ns(target: FitTarget) -> float:
    read = target.latencies["read"]
    return read.percentiles_ns.get(50.0, read.mean_ns)


def _reads_from_memory(targets: Sequence[FitTarget], block_bytes: int, unloaded_ns: float) -> _FromMemory:
    """What a read takes that needs no flash, which is a sequential one alone on a drive that reads ahead.

    Unknown where none was measured, or where it takes more than half the time of a random read: then it may be flash.
    """
    alone = [
        one
        for one in targets
        if (one.setting.pattern, one.setting.block_bytes, one.setting.depth) == ("sequential", block_bytes, 1)
        and one.setting.read_share == 1
        and 2 * _typical_ns(one) < unloaded_ns
    ]
    if not alone:
        return _UNKNOWN
    fastest = min(alone, key=_typical_ns)
    return _FromMemory(_typical_ns(fastest), HostSpread.of_reads_from_memory(fastest.latencies["read"]))


def _limits(targets: Sequence[FitTarget]) -> Values:
    """What the highest rates that were seen say of link and controller: they are no less."""
    large = [one for one in targets if one.setting.block_bytes >= LARGE_BYTES]
    bandwidth = max((one.requests_per_s * one.setting.block_bytes for one in large), default=0.0)
    return limits(bandwidth, max(one.requests_per_s for one in targets))


def limits(large_bytes_per_s: float, commands_per_s: float) -> Values:
    """Link and controller that let the highest rates through that were seen.

    A rate that large requests had was probably the link's; a rate of commands may have been the load's, so a controller
    is not taken for a slower one than it would be anyway.
    """
    link, controller = PARAMETERS["link_bytes_per_s"], PARAMETERS["controller_iops"]
    bandwidth = large_bytes_per_s * 1.02 if large_bytes_per_s else link.start
    return {
        "link_bytes_per_s": min(max(bandwidth, 2 * link.low), link.high),
        "controller_iops": min(max(commands_per_s * 1.05, controller.start), controller.high),
    }


def fit_shape(
    values: Values, found: Misfit, unloaded_ns: float, fastest_per_s: float, memory_ns: float = math.inf
) -> Values:
    """Fit reads on every number of dies and planes, a little, and on the best of them further.

    Of a read alone *memory_ns* are not the flash's, if that is known.
    """

    def shaped(dies: int, planes: int) -> list[tuple[float, int, int, Values]]:
        # the dies must carry the highest rate; what waits on other planes of a die comes almost for nothing
        sense = min(0.85 * unloaded_ns, dies * math.sqrt(planes) * 1e9 / fastest_per_s) - values["transfer_ns"]
        if memory_ns < math.inf:
            sense = unloaded_ns - memory_ns - values["transfer_ns"]
        if values["page_units"] < planes:
            return []
        if sense <= PARAMETERS["sense_ns"].low:
            return []
        shape = {"dies": dies, "planes": planes, "spread": min(dies, values["spread"])}
        guess = values | shape | {"unloaded_read_ns": unloaded_ns, "sense_ns": sense}
        tried, least = compass(found, guess, SHAPE_PARAMETERS[:2], steps=(1.15, 1.05), rounds=3)
        return [(least, dies, planes, tried)]

    shapes = [shape for dies in _DIES for shape in shaped(dies, _PLANES[0])]
    likely = sorted(shapes, key=lambda one: one[:3])[:_FINALISTS]
    shapes += [shape for one in likely for planes in _PLANES[1:] for shape in shaped(one[1], planes)]
    return _best(found, shapes, SHAPE_PARAMETERS)


def fit_sizes(values: Values, found: Misfit) -> Values:
    """Fit how large requests lie on the dies, then all of the reads together.

    The best of each spread are looked at: what is best at first is not what is best with the other numbers at their
    best. Of spreads that the measurement does not tell apart the least is taken: neighbours fill a page before they go
    to another die.
    """
    likely = []
    for spread in _SPREADS:
        guesses = [values | {"spread": spread, "page_units": page_units} for page_units in _PAGE_UNITS]
        likely += sorted(guesses, key=found)[:_PAGES_OF_A_SPREAD]
    nearer = [compass(found, guess, ("transfer_ns", "sense_ns"), steps=(1.25, 1.1)) for guess in likely]
    finalists = sorted(nearer, key=lambda one: one[1])[:_FINALISTS]
    fitted = [compass(found, guess, ("transfer_ns", *SHAPE_PARAMETERS)) for guess, _ in finalists]
    least = min(remaining for _, remaining in fitted)
    return min((one for one in fitted if one[1] <= least + TRACE), key=lambda one: (one[0]["spread"], one[1]))[0]


def fit_writes(values: Values, found: Misfit) -> Values:
    """Fit programs: how long one takes, and how much it writes."""
    tried = []
    for units in _PROGRAM_UNITS:
        for program_ns in _PROGRAMS_NS:
            guess = values | {"program_units": units, "program_ns": program_ns}
            tried.append((found(guess), units, program_ns, guess))
    return _best(found, tried, ("program_ns", "program_units", "write_ns"))


def fit_flushes(values: Values, found: Misfit, *, alone: bool) -> Values:
    """Fit what a flush costs, and how close flushes can follow each other; *alone*: nothing else tells of writes."""
    free = FLUSH_PARAMETERS if alone else FLUSH_PARAMETERS[1:]
    return compass(found, values, free, steps=(4.0, 2.0, 1.25, 1.1, 1.04, 1.015), rounds=12)[0]


def _best(found: Misfit, tried: list[tuple[float, int, int, Values]], free: tuple[str, ...]) -> Values:
    finalists = sorted(tried, key=lambda one: one[:3])[:_FINALISTS]
    return min((compass(found, one[3], free, (1.25, 1.1, 1.04, 1.015)) for one in finalists), key=lambda one: one[1])[0]
