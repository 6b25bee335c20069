"""A server that was recorded from its start on: how fast it is while its caches fill, where its reads are limited."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.runs import needs_jit
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import differences
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import start as sample
from tiersim.traces.statistics import read_snapshots

AB = Path(__file__).parents[2] / "shared" / "data" / "postgres" / "ab"


@pytest.mark.parametrize(("name", "transactions"), [("select", 117_849), ("tpcb", 17_039)])
def test_the_sample_holds_what_it_says(tmp_path: Path, name: str, transactions: int) -> None:
    folder = sample(tmp_path)
    import_trace([folder / name], tmp_path / "one.trace")
    calls = [
        int(c.number("calls") or 0) for c in differences(read_snapshots(tmp_path / "one.trace")).of("query").values()
    ]
    assert transactions in calls
    scenario = load_scenario(str(folder / "host" / "recorded.toml"))
    assert scenario.model.host is not None
    assert scenario.model.host.clients == "here"


@needs_jit
@pytest.mark.shared
@pytest.mark.long
@pytest.mark.skipif(not AB.is_dir(), reason="the recordings are not beside this checkout")
@pytest.mark.parametrize("name", ["sel", "tpcb"])
def test_a_folder_of_all_that_was_recorded_says_as_much(tmp_path: Path, name: str) -> None:
    """With transactions that were logged one by one, and the host's counters."""
    host = sample(tmp_path) / "host"
    import_trace([AB / f"{name}_fast_1"], tmp_path / "fast.trace")
    limited = (host / "data.toml").read_text().replace("read_iops = 10000000", "read_iops = 400")
    (host / "data-400.toml").write_text(limited)
    on = load_scenario(str(host / "recorded.toml"), ["volumes.data.device=data-400.toml"])
    recorded_on = load_scenario(str(host / "recorded.toml"))
    (result,) = replay_statements_all(Bundle(tmp_path / "fast.trace"), [on], recorded_on=recorded_on)
    printed = (AB / f"{name}_read400_1" / "pgbench.out").read_text()
    measured = [float(rate) for rate in re.findall(r"progress: [\d.]+ s, ([\d.]+) tps", printed)]
    found = np.array(result.summary["throughput_over_time"]["transactions_per_s"])
    assert found == pytest.approx(measured, rel=0.1)
