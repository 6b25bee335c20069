"""A recording with latencies as what a fit must come to: requests wait for what they waited for, and take as long as
they took.

Half of the recording, in alternate stretches, is for fitting; the other half judges the fit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.grouping import order_by_code
from tiersim.operations import DISCARD, FLUSH, OPERATIONS, READ, WRITE
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.fitting.fit import (
    FLUSH_PARAMETERS,
    LARGE_BYTES,
    SHAPE_PARAMETERS,
    Fit,
    Progress,
    Values,
    fit_flushes,
    fit_shape,
    fit_sizes,
    fit_writes,
    limits,
)
from tiersim.scenarios.calibration.fitting.loops import physics_of
from tiersim.scenarios.calibration.fitting.model import device, start
from tiersim.scenarios.calibration.fitting.residuals import Misfit, Residual, measure, ranges
from tiersim.scenarios.calibration.fitting.search import compass
from tiersim.scenarios.causes import BY_THE_CLOCK, ENOUGH_MEASURED, CauseRules, infer_streams
from tiersim.scenarios.model import ReplayModel
from tiersim.scenarios.owners import find_owners
from tiersim.scenarios.survey import RecordedCommands
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.streams import to_run
from tiersim.traces.schema import FLAG_HELD_BACK
from tiersim.units import NS_PER_S

#: Longer recordings are fitted to this many of their requests, from the start.
_MOST_REQUESTS = 150_000
#: Drives whose residuals are remembered, as in a search by loops.
_DRIVES = 20_000
#: Into how many stretches a recording is cut; every other one is for fitting.
STRETCHES = 40
#: A group of requests counts from this many on; an operation, too. Flushes are few.
_LEAST = {READ: 200, WRITE: 200, FLUSH: 50}
#: Outstanding requests at arrival, in classes.
_DEPTHS = (2, 3, 5, 9, 17, 33)
#: How large requests lie and how many dies there are decide each other where sizes are mixed.
_PASSES = 2
#: The rate of a link shows where data come fastest within this time.
_WINDOW_NS = 10_000_000


@dataclass(frozen=True)
class _Group:
    what: str
    operation: int
    rows: NDArray[np.int64]
    measured: dict[str, float]  # by figure
    weights: dict[str, float]


class Recording:
    """Requests of one device, those that are fitted to, and those that judge."""

    def __init__(self, trace: RecordedCommands, stream_names: Sequence[str]) -> None:
        """Take the first requests of a trace; raises ScenarioError when too few of them have a latency."""
        self.trace = trace.take(np.arange(min(len(trace), _MOST_REQUESTS)))
        data = (self.trace.op == READ) | (self.trace.op == WRITE) | (self.trace.op == FLUSH)
        self.measured = data & (self.trace.latency_ns > 0) & (self.trace.flags & FLAG_HELD_BACK == 0)
        if self.measured.sum() < 2 * _LEAST[READ]:
            raise ScenarioError(
                f"{int(self.measured.sum())} of its requests have a measured latency; a fit needs {2 * _LEAST[READ]} at"
                " least"
            )
        stretch = np.arange(len(self.trace)) * STRETCHES // len(self.trace)
        self.fitted_to = self.measured & (stretch % 2 == 0)
        self.judging = self.measured & (stretch % 2 == 1)
        self.groups = self._groups()
        measured = float(np.mean(self.trace.latency_ns >= 0)) >= ENOUGH_MEASURED
        rules = CauseRules(ReplayModel().dependency_window) if measured else BY_THE_CLOCK
        owners = find_owners(self.trace, stream_names, None)
        self._streams, self._order = infer_streams(self.trace, owners, rules), order_by_code(owners.stream)
        self._found: Newest[list[list[Residual]]] = Newest(_DRIVES)  # of drives that a search has tried, by group
        self.span_bytes = int((self.trace.offset_bytes + self.trace.length_bytes).max())

    def simulate(self, drive: Flash) -> NDArray[np.int64]:
        """Latency of each request on the *drive*, from when it had to wait for nothing else, ns."""
        builder = PlantBuilder(1)
        station = add_flash(builder, drive, "drive")
        streams = to_run(self._streams)._replace(station=np.full(len(self.trace), station, np.uint32))
        metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 2, int(self.trace.time_ns[-1]) + 1)
        engine.run_streams(builder.build(), streams, metrics)
        latency_ns = self.trace.time_ns - self.trace.intended_ns
        latency_ns[self._order] += streams.done_ns - streams.started_ns
        return latency_ns

    def residuals(
        self, values: Mapping[str, float], operations: tuple[int, ...] = (READ, WRITE, FLUSH)
    ) -> list[Residual]:
        """Means and percentiles of groups of requests that are fitted to, beside what a drive of these numbers does."""
        drive = device(values)

        def simulated() -> list[list[Residual]]:
            latencies = self.simulate(drive)
            return [_residuals(group, latencies[group.rows]) for group in self.groups]

        pairs = zip(self.groups, self._found.get(physics_of(drive), simulated), strict=True)
        return [one for group, found in pairs if group.operation in operations for one in found]

    def judge(self, drive: Flash) -> list[Residual]:
        """Mean of the half that was not fitted to; then mean, median and percentiles by operation."""
        simulated = self.simulate(drive)
        rows = np.flatnonzero(self.judging & (self.trace.op != FLUSH))
        measured = _figure("mean", self.trace.latency_ns[rows])
        found = [Residual("the other half", "all", "mean", measured, _figure("mean", simulated[rows]), 1.0)]
        for operation in (READ, WRITE, FLUSH):
            rows = np.flatnonzero(self.judging & (self.trace.op == operation))
            if len(rows) >= _LEAST[operation]:
                figures = dict.fromkeys(("mean", "p50", "p95", "p99"), 1.0)
                found += _residuals(self._group("the other half", operation, rows, figures), simulated[rows])
        return found

    def count(self, operation: int) -> int:
        """How many requests of an operation are fitted to."""
        return int((self.fitted_to & (self.trace.op == operation)).sum())

    def misfit(self, *operations: int) -> Misfit:
        """The misfit of requests of these operations."""
        return measure(lambda values: self.residuals(values, operations))

    def _groups(self) -> list[_Group]:
        """All of an operation, for its mean; and those of a size that found about as many outstanding.

        Percentiles of a group weigh as its requests do, its mean as its latencies add to those of all.
        """
        trace = self.trace
        depth = np.digitize(_outstanding(trace), _DEPTHS)
        groups = []
        for operation in (READ, WRITE, FLUSH):
            own = self.fitted_to & (trace.op == operation)
            if own.sum() < _LEAST[operation]:
                continue
            groups.append(self._group(f"all {OPERATIONS[operation]}s", operation, np.flatnonzero(own), {"mean": 1.0}))
            total_ns = float(trace.latency_ns[own].sum())
            sizes = np.ceil(np.log2(np.maximum(trace.length_bytes, 512))).astype(int)
            for size, level in sorted(set(zip(sizes[own].tolist(), depth[own].tolist(), strict=True))):
                rows = np.flatnonzero(own & (sizes == size) & (depth == level))
                if len(rows) >= _LEAST[operation]:
                    what = f"{OPERATIONS[operation]}s to {2**size} B, class {level} of depth"
                    share = len(rows) / int(own.sum())
                    of_time = float(trace.latency_ns[rows].sum()) / total_ns
                    groups.append(self._group(what, operation, rows, {"p50": share, "p90": share, "mean": of_time}))
        return groups

    def _group(self, what: str, operation: int, rows: NDArray[np.int64], weights: dict[str, float]) -> _Group:
        measured = {figure: _figure(figure, self.trace.latency_ns[rows]) for figure in weights}
        return _Group(what, operation, rows, measured, weights)

    def limits(self) -> Values:
        """Link and controller as fast as data and requests came at the fastest."""
        trace = self.trace
        window = (trace.time_ns + np.maximum(trace.latency_ns, 0) - trace.time_ns[0]) // _WINDOW_NS
        large = (trace.length_bytes >= LARGE_BYTES) & (trace.op != DISCARD)
        bandwidth = np.bincount(window, weights=np.where(large, trace.length_bytes, 0)).max() if large.any() else 0
        return limits(*(float(most) * NS_PER_S / _WINDOW_NS for most in (bandwidth, np.bincount(window).max())))


def _residuals(group: _Group, simulated: NDArray[np.int64]) -> list[Residual]:
    operation = OPERATIONS[group.operation]
    return [
        Residual(group.what, operation, figure, measured, _figure(figure, simulated), group.weights[figure])
        for figure, measured in group.measured.items()
    ]


def _figure(figure: str, latencies_ns: NDArray[np.int64]) -> float:
    """The mean, or a percentile such as ``p95``."""
    return float(latencies_ns.mean()) if figure == "mean" else float(np.quantile(latencies_ns, float(figure[1:]) / 100))


def _outstanding(trace: RecordedCommands) -> NDArray[np.int64]:
    """How many requests were outstanding when each came, itself included."""
    ended = np.sort(trace.time_ns + np.maximum(trace.latency_ns, 0))
    before = np.searchsorted(ended, trace.time_ns, side="right")
    return np.arange(1, len(trace) + 1) - before


def fit_recording(recording: Recording, progress: Progress = lambda what: None) -> Fit:
    """Fit a flash drive to half of a recording; the same recording gives the same fit."""
    values, told = start() | recording.limits(), set[str]()
    reads, writes, flushes = (recording.count(operation) >= least for operation, least in _LEAST.items())
    if reads:
        found = recording.misfit(READ)
        alone = recording.fitted_to & (recording.trace.op == READ) & (_outstanding(recording.trace) <= 1)
        unloaded = float(np.median(recording.trace.latency_ns[alone if alone.any() else recording.fitted_to]))
        for _ in range(_PASSES):
            progress("reads by depth")
            values = fit_shape(values, found, unloaded, 4e9 / unloaded)
            progress("reads by size")
            values = fit_sizes(values, found)
        values, _ = compass(found, values, (*SHAPE_PARAMETERS, "transfer_ns", "link_bytes_per_s"))
        told |= {*SHAPE_PARAMETERS, "dies", "planes", "transfer_ns", "page_units", "spread", "link_bytes_per_s"}
    if writes:
        progress("writes")
        found = recording.misfit(READ, WRITE)
        values = fit_writes(values, found)
        values, _ = compass(found, values, ("program_ns", "write_ns", *([] if reads else ["link_bytes_per_s"])))
        told |= {"program_ns", "program_units", "write_ns", "link_bytes_per_s"}
    if flushes:
        progress("flushes")
        values = fit_flushes(values, recording.misfit(FLUSH), alone=not writes)
        told |= set(FLUSH_PARAMETERS)
    progress("how sure each number is")
    every = recording.misfit(READ, WRITE, FLUSH)
    judged = tuple(recording.judge(device(values)))
    return Fit(values, ranges(values, told, every), tuple(recording.residuals(values)), judged)
