"""Recordings of counters that ship with the project."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tiersim.scenarios.library import load_scenario
from tiersim.traces.differences import differences
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import reads, updates
from tiersim.traces.statistics import read_snapshots
from tiersim.units import NS_PER_S


@pytest.mark.parametrize(
    ("sample", "transactions", "since_ns"), [(reads, 462_253, 0), (updates, 323_428, 10 * NS_PER_S)]
)
def test_a_sample_holds_what_it_says(
    tmp_path: Path, sample: Callable[[Path], Path], transactions: int, since_ns: int
) -> None:
    folder = sample(tmp_path)
    import_trace([folder / "counters"], tmp_path / "one.trace")
    snapshots = read_snapshots(tmp_path / "one.trace")
    calls = [int(change.number("calls") or 0) for change in differences(snapshots).of("query").values()]
    assert transactions in calls
    scenario = load_scenario(str(folder / "host" / "recorded.toml"))
    assert scenario.model.host is not None
    assert scenario.model.host.clients == "here"
    assert scenario.model.replay.since_checkpoint == since_ns
