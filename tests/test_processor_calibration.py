"""What statements cost the processors: found again where it is known, and good enough to predict a real server at other sizes and speeds."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.recorded_files import SHARED
from tiersim.scenarios.calibration.processor import Pace, ProcessorCosts, Run, calibrate_processor
from tiersim.scenarios.loading import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.simulator.database.costs import Costs
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace

LAB = SHARED / "postgres" / "lab"


@dataclass(frozen=True)
class Loop:
    """A closed loop as asymptotic bounds know it: the processors, or the sessions, limit it."""

    sessions: int = 8
    cores: int = 2
    reads: float = 0.5
    device_ns: float = 120_000
    statement_ns: float = 20_000

    def run(self, costs: ProcessorCosts) -> Run:
        demand_ns = self.statement_ns + costs.client_ns + self.reads * costs.costs.read_ns
        cycle_ns = demand_ns + self.reads * self.device_ns
        rate = min(self.cores / demand_ns, self.sessions / cycle_ns)
        queued_ns = max(self.sessions / rate - cycle_ns, 0) / (1 + self.reads)
        pace = Pace(rate * 1e9, costs.costs.read_ns + self.device_ns + queued_ns)
        return Run(pace, rate * demand_ns / self.cores, self.cores, self.sessions, self.reads, 1.0)


def _costs(client_ns: int, read_ns: int, pause_ns: int | None = 0) -> ProcessorCosts:
    return ProcessorCosts({}, client_ns, Costs(read_ns=read_ns), "a test", pause_ns)


@pytest.mark.parametrize("read_ns", [0, 5_000, 90_000])
@pytest.mark.parametrize("client_ns", [0, 3_000, 70_000])
@pytest.mark.parametrize("sessions", [1, 2, 8, 64])
def test_costs_that_a_load_ran_with_are_found(client_ns: int, read_ns: int, sessions: int) -> None:
    """To a share of the time of a read, most of which many sessions wait for a processor."""
    loop = Loop(sessions=sessions)
    recorded = loop.run(_costs(client_ns, read_ns)).pace
    found = calibrate_processor(recorded, _costs(0, 26_000), loop.run)
    assert found.simulated is not None
    assert found.simulated.transactions_per_s == pytest.approx(recorded.transactions_per_s, rel=0.01)
    assert recorded.read_ns is not None
    near_ns = max(3_000, 0.005 * recorded.read_ns)
    assert found.costs.read_ns == pytest.approx(read_ns, abs=near_ns)
    assert found.client_ns == pytest.approx(client_ns, abs=near_ns)


def test_clients_elsewhere_cost_nothing_here() -> None:
    recorded = Loop().run(_costs(0, 40_000)).pace
    found = calibrate_processor(recorded, _costs(0, 0, None), Loop().run)
    assert found.client_ns == 0
    assert found.costs.read_ns == pytest.approx(40_000, abs=2_000)


def test_what_was_not_recorded_is_not_looked_for() -> None:
    found = calibrate_processor(Pace(None, None), _costs(1, 26_000), Loop().run)
    assert (found.client_ns, found.costs.read_ns) == (1, 26_000)


_DEVICE = """
kind = "token-bucket"
name = "a loop device"
capacity = "8 GiB"
read_iops = {iops}
write_iops = {iops}
refill_interval = "100 ms"
carry_over = "0 s"
latency = "{latency}"

[sources]
capacity = "measured: the lab"
read_iops = "measured: the lab"
write_iops = "measured: the lab"
refill_interval = "measured: the lab"
carry_over = "measured: the lab"
latency = "measured: the lab, low depth"
"""


def _scenario(folder: Path, name: str, iops: int, pool: str, latency: str = "0.12 ms") -> Path:
    """The lab's host with a pool and a cap on its device; 10 million requests a second are no cap."""
    (folder / f"{name}-device.toml").write_text(_DEVICE.format(iops=iops, latency=latency))
    path = folder / f"{name}.toml"
    path.write_text(
        f'[host]\ncores = 2\nclients = "here"\n[engine]\nbuffer_pool = "{pool}"\n[volumes.data]\ndevice = "{name}-device.toml"\n'
    )
    return path


@pytest.mark.shared
@pytest.mark.skipif(not LAB.exists(), reason="the recordings of the lab are not there")
def test_other_pools_and_devices_from_one_recording(tmp_path: Path) -> None:
    """One recording, 256 MiB and no cap, predicts two others: throughput and mean within 10 %, the tail within 25 % or 2 points."""
    trace = tmp_path / "lab.trace"
    import_trace([LAB / "select_zipf_sb256_free"], trace)
    recorded_on = load_scenario(str(_scenario(tmp_path, "recorded", 10_000_000, "256 MiB")))
    small, large = _scenario(tmp_path, "small", 500, "64 MiB"), _scenario(tmp_path, "large", 2000, "1 GiB")
    scenarios = [load_scenario(str(path)) for path in (small, large)]
    results = replay_statements_all(Bundle(trace), scenarios, recorded_on=recorded_on)
    capped, wide = (result.summary for result in results)
    assert capped["verdict"]["calibration"] == "calibrated"
    (query,) = (one for one in capped["queries"].values() if one["count"] > 1000)
    assert query["physical_reads_per_call"] == pytest.approx(0.828, rel=0.1)
    assert capped["throughput_per_s"]["transactions"]["value"] == pytest.approx(606.0, rel=0.1)
    assert capped["latency_ns"]["transaction"]["mean"]["value"] == pytest.approx(13.17e6, rel=0.1)
    assert capped["latency_ns"]["transaction"]["p95"]["value"] == pytest.approx(96.07e6, rel=0.25)
    assert wide["throughput_per_s"]["transactions"]["value"] == pytest.approx(21_347, rel=0.1)
    assert wide["latency_ns"]["transaction"]["mean"]["value"] == pytest.approx(0.334e6, rel=0.1)
    assert wide["latency_ns"]["transaction"]["p95"]["value"] == pytest.approx(0.702e6, rel=0.25)
