"""Which commands wait for others in a replay, and what that says of the recording itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.histogram import FINE_BITS, bins, count_durations
from tiersim.scenarios.causes import Rules, facts, infer_streams
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.load_scaling import scale_load
from tiersim.scenarios.recorded import Recorded
from tiersim.scenarios.sessions import deal_to_clients, find_owners
from tiersim.scenarios.survey import Checkpoint, Survey, moved
from tiersim.simulator.categories import CATEGORIES, LOG_SYNC, LOG_SYNC_DEVICE
from tiersim.simulator.streams import SYNC_BEGINS, SYNC_ENDS, Streams
from tiersim.simulator.summary import measured_latencies
from tiersim.simulator.verdict import Sessions
from tiersim.traces.schema import CHECKPOINT_WRITE

#: Causes are inferred when at least this share of the requests has a measured end.
ENOUGH_MEASURED = 0.5
#: Nothing waits for anything.
BY_THE_CLOCK = Rules(-1, None, keep_pace=False, ordered=False)
_FOREVER_NS = 1 << 60


@dataclass(frozen=True)
class Waiting:
    """A trace as streams; columns by place in them."""

    streams: Streams
    file: NDArray[np.int32]
    row: NDArray[np.int64]  # which command of the (scaled) trace it is
    facts: dict[str, Any]  # what was inferred, for people
    measured: dict[str, Any]  # recorded waits for the log, as ``measured_latencies`` has them

    def checkpoints(self, streams: Streams, recorded: tuple[Checkpoint, ...]) -> list[Checkpoint]:
        """When the recorded checkpoints ran in a run of *streams*."""
        own = streams.category == CHECKPOINT_WRITE
        return moved(recorded, streams.recorded_ns[own], streams.started_ns[own], streams.done_ns[own])

    def sessions(self, streams: Streams) -> Sessions:
        """What a run of *streams* is judged by."""
        own = streams.streams[streams.streams["foreground"] == 1]
        last = own["end"].astype(np.int64) - 1
        inferred = self.facts["inferred_sessions"]
        return Sessions(self.facts["load"], len(own), inferred, streams.started_ns[last] - streams.recorded_ns[last])

    def requests(self, streams: Streams) -> pa.Table:
        """Start and end of each command in recorded order, after a run of *streams*."""
        order = np.argsort(self.row, kind="stable")
        return pa.table(
            {
                "recorded_ns": streams.recorded_ns[order],
                "start_ns": streams.started_ns[order],
                "done_ns": streams.done_ns[order],
            }
        )


def measured_share(found: Survey) -> float:
    """Share of the requests whose latency was measured."""
    return float(sum(figures["count"] for figures in found.measured.values())) / found.requests


def by_the_clock(found: Survey, scenario: NamedScenario) -> bool:
    """Whether commands come at their recorded times and nothing else decides; raises ScenarioError when it cannot be
    told.
    """
    rules = scenario.model.replay
    unmeasured = measured_share(found) < ENOUGH_MEASURED
    if rules.mode == "closed" and rules.clients is None and unmeasured:
        raise ScenarioError(
            f'{scenario.name}: mode = "closed" needs to know who waited for what, and the recording has latencies of '
            f"{100 * measured_share(found):.0f} % of its requests; write clients = 8, say, under [replay]"
        )
    return rules.mode == "open" or (rules.mode == "partly-open" and unmeasured)


def from_disk(found: Survey, scenario: NamedScenario) -> bool:
    """Whether the trace can pass through block by block; raises ScenarioError, see :func:`by_the_clock`."""
    return by_the_clock(found, scenario) and scenario.model.replay.load == 1.0


def make_waiting(trace: Recorded, found: Survey, scenario: NamedScenario) -> Waiting:
    """Infer the streams of a trace for a replay as *scenario* says; raises ScenarioError, see :func:`by_the_clock`."""
    rules, names = scenario.model.replay, found.stream_names
    owners = find_owners(trace, names, rules.clients)
    whole, owners = scale_load(trace, owners, rules.load, found.span_ns, found.files, rules.seed)
    causes = Rules(window_ns=rules.dependency_window, keep_pace=rules.writers == "pace")
    if rules.mode == "closed":
        causes = Rules(_FOREVER_NS, rules.think, causes.keep_pace, one_at_a_time=rules.clients is not None)
        if rules.clients is not None:
            owners = deal_to_clients(whole, owners, rules.clients)
    elif by_the_clock(found, scenario):
        causes = BY_THE_CLOCK
    streams, order = infer_streams(whole, owners, causes)
    known = facts(owners, streams) | {
        "load": rules.load,
        "commands": len(whole),
        "load_reached": len(whole) / len(trace),
    }
    return Waiting(streams, streams.station.view(np.int32), order, known, _recorded_syncs(streams, whole, order))


def _recorded_syncs(streams: Streams, trace: Recorded, order: NDArray[np.int64]) -> dict[str, Any]:
    """How long the server waited for its log in the recording: writes and the flush right behind them in one stream."""
    ends = np.flatnonzero(streams.sync & SYNC_ENDS)
    if not ends.size:
        return {}
    ordered = trace.take(order)
    begins = streams.sync & SYNC_BEGINS != 0
    new = begins.copy()
    new[1:] &= ~begins[:-1]
    new[streams.streams["first"][streams.streams["first"] < len(new)]] |= True
    start = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))  # of the run of log writes that a row is in
    first = start[ends - 1]
    done = ordered.intended_ns + ordered.latency_ns
    known = (ordered.latency_ns[ends] >= 0) & (ordered.latency_ns[ends - 1] >= 0)
    whole = done[ends] - ordered.intended_ns[first] + streams.think_ns[ends]
    total = np.concatenate([[0], np.cumsum(np.maximum(ordered.latency_ns, 0))])
    device = total[ends + 1] - total[first]
    histograms, sums = np.zeros((len(CATEGORIES), bins(FINE_BITS)), np.int64), np.zeros(len(CATEGORIES), np.int64)
    for category, durations in ((LOG_SYNC, whole), (LOG_SYNC_DEVICE, device)):
        chosen = durations[known]
        count_durations(histograms, sums, np.full(len(chosen), category, np.uint8), chosen)
    return measured_latencies(histograms, sums)
