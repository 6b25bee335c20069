"""A real PostgreSQL, recorded once for each load, on other buffer pools and under other caps, predicted before it was
measured.

What a prediction sees: the counters of one run without a cap, how long a read of the device without a cap took then,
how long the last checkpoint was ago when that run began, and of what is predicted its pool, its cap and its length.
``benchmarks/real_postgres`` measures.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.loads import load_of
from tiersim.scenarios.validation.cell_figures import Conditions, Figures, MeasuredRun, read_runs
from tiersim.scenarios.validation.cell_simulation import simulate
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import CELLS, unpack

_LOADS = ("reads", "updates")
_NO_CAP = 10_000_000  # a second: as device.toml has it
_SEED = 1
#: How far the worst cell may be off, as benchmarks/real_postgres set it before anything was measured.
_RATE_PCT, _P95_PCT, _MISSES_PCT = 20, 25, 10


def experiment() -> Experiment:
    """Throughput, latency and misses of cells that were not fitted."""
    return Experiment(
        "pools-and-caps",
        "Lookups and updates of PostgreSQL 18: one recording of each, other buffer pools, caps of 300 and 700 a second",
        "our own runs of pgbench (benchmarks/real_postgres): 3 million rows by Zipf's law, 2 cores, 8 clients on them;"
        " three repeats",
        "the recorded run of each load (128 MiB, no cap): popularity to its misses, CPU of reads, of the log and of"
        " clients to its pace",
        tuple(claim for load in _LOADS for claim in _claims(CELLS / load)),
        basis="calibrated",
    )


def _claims(results: Path) -> Iterator[Claim]:
    runs = read_runs(results)
    (recorded,) = (run for run in runs if run.conditions.iops is None)
    wanted = dict.fromkeys(run.conditions for run in runs if run.conditions.iops is not None)
    for conditions, found in foresee(recorded, sorted(wanted, key=lambda one: one.place), results):
        known = Figures.mean([run.figures for run in runs if run.conditions == conditions])
        yield from _of(conditions.name, known, found)


def _of(where: str, known: Figures, found: Figures) -> Iterator[Claim]:
    is_far = abs(found.p95_ms / known.p95_ms - 1) > _P95_PCT / 100
    humps = _ON_HUMPS.format(known.slow_share, found.slow_share) if is_far and known.two_humped else ""
    yield Claim(
        f"{where}: transactions",
        "per s",
        known.transactions_per_s,
        found.transactions_per_s,
        _RATE_PCT,
        figure="throughput",
    )
    yield Claim(f"{where}: mean", "ms", known.mean_ms, found.mean_ms, _RATE_PCT, figure="mean")
    yield Claim(f"{where}: p95", "ms", known.p95_ms, found.p95_ms, _P95_PCT, figure="tail", note=humps)
    yield Claim(f"{where}: pages read a transaction", "", known.misses, found.misses, _MISSES_PCT, figure="count")


_ON_HUMPS = (
    "latencies have two humps, of those that waited for the cap and those that did not; more than 10 ms took {:.1%},"
    " predicted {:.1%}. Where that is near 5 %, the 95th percentile stands on one hump or on the other"
)


def foresee(recorded: MeasuredRun, wanted: Sequence[Conditions], results: Path) -> Iterator[tuple[Conditions, Figures]]:
    """Predict runs of the load of a run without a cap, whose counters are among the recordings of *results*."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        folder = Path(name)
        unpack(results, folder)
        trace = folder / "recorded.trace"
        import_trace([folder / recorded.name], trace)
        load = load_of(trace, _SEED)
        processor = calibrate(load, _scenario(folder, recorded, recorded.conditions))
        for conditions in wanted:
            scenario = _scenario(folder, recorded, conditions)
            simulated = simulate(load, scenario, processor, conditions.run_s)
            pause_s = (processor.pause_ns or 0) / 1e9
            yield conditions, Figures.simulated(simulated.ended_s, conditions.run_s, pause_s, simulated.misses)


def _scenario(folder: Path, recorded: MeasuredRun, conditions: Conditions) -> NamedScenario:
    """Return the recorded host with another pool and another cap."""
    host = CELLS / "host"
    device = (host / "device.toml").read_text(encoding="utf-8")
    device = device.replace('latency = "0.005 ms"', f'latency = "{recorded.device_latency_ns / 1e6} ms"')
    device = device.replace(f"iops = {_NO_CAP}", f"iops = {conditions.iops or _NO_CAP}")
    (folder / "device.toml").write_text(device, encoding="utf-8")
    (folder / "host.toml").write_text((host / "recorded.toml").read_text(encoding="utf-8"), encoding="utf-8")
    if conditions == recorded.conditions:
        return load_scenario(str(folder / "host.toml"))
    return load_scenario(
        str(folder / "host.toml"),
        [
            f"engine.buffer_pool={conditions.shared_buffers.replace('MB', ' MiB')}",  # PostgreSQL's MB are MiB
            f"replay.since_checkpoint={recorded.since_checkpoint_s} s",
            # clients go round for as long as was recorded behind the warm-up
            f"replay.warmup={max(conditions.run_s - recorded.conditions.run_s, 0)} s",
        ],
    )
