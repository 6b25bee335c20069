"""Runs a load generator's setting on a device model."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.fitting.model import device
from tiersim.scenarios.calibration.fitting.residuals import Residual
from tiersim.scenarios.calibration.fitting.targets import MEDIAN, FitTarget, HostSpread, Latencies, Setting
from tiersim.scenarios.closed_loop import Loop, at_random, run_closed, sequential
from tiersim.units import NS_PER_S

#: Where a load generator's requests lie: a file of this size, as a rule far larger than any buffer.
SPAN_BYTES = 16 << 30
#: Commands of a run, fewer when they are large; the first quarter is left out while queues fill.
_COMMANDS, _LEAST_COMMANDS, _MOST_BYTES = 24_000, 3_000, 1 << 29
_SETTLING = 0.25

#: Weight of a mean, or a rate, beside that of a percentile: it is measured better. What is rare is most often rare for
#: a reason that no parameter here stands for.
_MEAN_WEIGHT, _RARE_WEIGHT, _RARE_PERCENT = 4.0, 0.5, 99.0
#: A loop that takes this many times as long as the shortest of its sort has saturated the drive: how that shares itself
#: out among what waits decides its percentiles, which weigh less.
_SATURATED, _SATURATED_WEIGHT = 5.0, 0.25
_QUIET = HostSpread()

#: Runs that are remembered: half of those that a search asks for it has seen, since numbers of drives are whole.
_RUNS: Newest[tuple[float, dict[str, Latencies]]] = Newest(20_000)


def residuals_of_loops(
    targets: Sequence[FitTarget], values: Mapping[str, float], host: HostSpread = _QUIET
) -> list[Residual]:
    """What a drive of these numbers does behind a host, beside what was measured."""
    return residuals_of_drive(targets, device(values), host)


def residuals_of_drive(targets: Sequence[FitTarget], drive: Flash, host: HostSpread = _QUIET) -> list[Residual]:
    """What a drive does behind a host, beside what was measured.

    A write into the buffer takes the same time always here, so what it weighs is its median: the rest of its spread
    is the host's. Where the drive is saturated, all of it counts.
    """
    alone: dict[tuple[str, int], float] = {}
    for target in targets:
        for operation, measured in target.latencies.items():
            key = (operation, target.setting.block_bytes)
            alone[key] = min(alone.get(key, measured.mean_ns), measured.mean_ns)
    found = []
    for target in targets:
        percents = sorted({percent for one in target.latencies.values() for percent in one.percentiles_ns})
        rate, latencies = simulate(drive, target.setting, percents, host=host)
        what = str(target.setting)
        if not target.latencies:
            found.append(Residual(what, "", "rate", target.requests_per_s, rate, _MEAN_WEIGHT))
        for operation, measured in target.latencies.items():
            own = latencies[operation]
            saturated = measured.mean_ns > _SATURATED * alone[operation, target.setting.block_bytes]
            weight = _SATURATED_WEIGHT if saturated else 1.0
            by_median = operation == "write" and not saturated and MEDIAN in measured.percentiles_ns
            mean_weight = 0.0 if by_median else _MEAN_WEIGHT
            found.append(Residual(what, operation, "mean", measured.mean_ns, own.mean_ns, mean_weight))
            for percent, ns in measured.percentiles_ns.items():
                rare = _RARE_WEIGHT if percent >= _RARE_PERCENT else 1.0
                if by_median:
                    rare = _MEAN_WEIGHT if percent == MEDIAN else 0.0
                found.append(Residual(what, operation, f"p{percent:g}", ns, own.percentiles_ns[percent], weight * rare))
    return found


def simulate(
    drive: Flash, setting: Setting, percents: Sequence[float], commands: int = _COMMANDS, host: HostSpread = _QUIET
) -> tuple[float, dict[str, Latencies]]:
    """Requests a second, and latencies by operation, of a closed loop on the *drive*; the same every time.

    What the *host* adds is added where one request is outstanding; deeper loops collect completions in batches.
    """
    alone = host if setting.depth == 1 else _QUIET
    key = (physics_of(drive), setting, tuple(percents), commands, alone)
    return _RUNS.get(key, lambda: _simulate(drive, setting, percents, commands, alone))


def physics_of(drive: Flash) -> str:
    """Return all of a drive that a run depends on."""
    return drive.model_dump_json(exclude={"name", "notes", "sources"})


def _simulate(
    drive: Flash, setting: Setting, percents: Sequence[float], commands: int, host: HostSpread
) -> tuple[float, dict[str, Latencies]]:
    builder = PlantBuilder(1)
    station = add_flash(builder, drive, "drive")
    count = max(_LEAST_COMMANDS, min(commands, _MOST_BYTES // setting.block_bytes))
    loops = [_loop(setting, station, count // _loops(setting), index) for index in range(_loops(setting))]
    streams = run_closed(builder, loops)
    settled_ns = np.sort(streams.done_ns)[int(len(streams.done_ns) * _SETTLING)]
    counted = (streams.done_ns > settled_ns) & (streams.op != FLUSH)
    took_ns = streams.done_ns - streams.started_ns + host.drawn_ns(len(streams.done_ns), setting.block_bytes)
    rate = float(counted.sum()) * NS_PER_S / float(streams.done_ns.max() - settled_ns)
    latencies = {}
    for name, operation in (("read", READ), ("write", WRITE)):
        own = took_ns[counted & (streams.op == operation)]
        if len(own):
            latencies[name] = Latencies(
                float(own.mean()), {percent: float(np.quantile(own, percent / 100)) for percent in percents}
            )
    return rate, latencies


def _loops(setting: Setting) -> int:
    """One loop for all jobs, but where each has flushes of its own to wait for."""
    return setting.jobs if setting.sync_every else 1


def _loop(setting: Setting, station: int, count: int, index: int) -> Loop:
    size = setting.block_bytes
    if setting.pattern == "random":
        offsets = at_random(count, 0, size, SPAN_BYTES, seed=index + 1)
    else:
        offsets = sequential(count, index * (SPAN_BYTES // 64 // size) * size, size) % SPAN_BYTES
    operations = np.where(_shares(count, index) < setting.read_share, READ, WRITE)
    depth = setting.depth
    if setting.sync_every:
        depth = max(1, setting.depth // setting.jobs)
        operations[setting.sync_every :: setting.sync_every + 1] = FLUSH
    lengths = np.where(operations == FLUSH, 0, size)
    return Loop(np.where(operations == FLUSH, 0, offsets), operations, station, lengths, depth)


def _shares(count: int, index: int) -> NDArray[np.float64]:
    return np.random.default_rng([index, count]).random(count)
