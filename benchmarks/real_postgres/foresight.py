"""Predict runs with other pools and caps from one recording of each load.

What a prediction sees: the counters of one run without a cap, how long a read of the device without a cap took then, how long the last
checkpoint was ago when that run began, and of what is predicted its pool, its cap and its length.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.real_postgres.figures import Figures
from benchmarks.real_postgres.predict import HOST
from benchmarks.real_postgres.results import unpack
from benchmarks.real_postgres.runs import Conditions, Measured
from benchmarks.real_postgres.simulation import simulate
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.loading import load_scenario
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.replay import load_of
from tiersim.traces.readers import import_trace

_NO_CAP = 10_000_000  # a second: as host/device.toml has it
_SEED = 1


def foresee(recorded: Measured, wanted: Sequence[Conditions], results: Path) -> Iterator[tuple[Conditions, Figures]]:
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


def _scenario(folder: Path, recorded: Measured, conditions: Conditions) -> NamedScenario:
    """Return the recorded host with another pool and another cap."""
    device = (HOST / "device.toml").read_text()
    device = device.replace('latency = "0.005 ms"', f'latency = "{recorded.device_latency_ns / 1e6} ms"')
    device = device.replace(f"iops = {_NO_CAP}", f"iops = {conditions.iops or _NO_CAP}")
    (folder / "device.toml").write_text(device)
    (folder / "host.toml").write_text((HOST / "recorded.toml").read_text())
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
