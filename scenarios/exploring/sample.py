"""A sample of a recording: what is simulated at once after a change, with the interval of its figures.

Of statements that are synthesised from counters it is those that begin first: they are drawn alike all the time.

Of a block trace it is windows of time from all over the recording, put one behind the other and replayed as a short
trace. Each of WINDOWS equal parts of the recording gives one window, at a place that is drawn. Within a window requests
come as they came. A result has as many batches as there are windows (:data:`tiersim.simulator.result.BATCHES`), so the
interval of a figure is that of a stratified sample of time (Cochran, "Sampling Techniques", 3rd ed., section 5.4, with
the variance between strata left in: too wide where the load drifts). What a device remembers for longer than a window
(burst credits, contents of a cache, garbage collection, queues) is not in it: intervals are made as many times wider as
``sample_error.toml`` says, which ``python -m benchmarks.sample_intervals`` found from recordings that were simulated
whole.

A figure is an estimate of a ratio, a sum over requests by their number. Where few windows of the recording hold most
requests, its bias and its interval cannot be told from the windows that were drawn: the more the numbers of requests in
windows vary, the less (Cochran, chapter 6: the bias, in standard errors, is at most the coefficient of variation of
their mean). The whole recording was counted, so this is known; where it is too much, no figure is given. Nor is a
latency that is longer than a window: requests of other windows made it.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import FINE_BITS, bins, count_durations
from tiersim.random_numbers import WINDOW_PLACE, random_below
from tiersim.scenarios.causes import Waiting
from tiersim.scenarios.caveats import SAMPLE, model_error_of
from tiersim.scenarios.exploring.sample_sessions import decided_by_sessions
from tiersim.scenarios.exploring.sample_verdict import decided, was_full, while_not_full
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import Playback, PlayedRecording, play
from tiersim.scenarios.statements.recorded_host import first_of
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.scenarios.survey import (
    JoinedCommands,
    Merged,
    RecordedCommands,
    TraceSurvey,
    merge_commands,
    merged_blocks,
)
from tiersim.scenarios.sweeps.sources import StatementSource
from tiersim.simulator.categories import CATEGORIES, DERIVED, LOG_FLUSH, PERCENTILES, REQUESTS, categorise
from tiersim.simulator.result import (
    BATCHES,
    RESOLVED_HALF_WIDTH,
    Figure,
    Result,
    measured_latencies,
    withheld,
)
from tiersim.traces.bundle import Bundle, Requests
from tiersim.traces.schema import LOG_WRITE, NOT_MEASURED
from tiersim.units import format_ns

WINDOWS = BATCHES
#: Requests of a sample: some 0.2 s of a replay on one core. A shorter recording is replayed whole.
SAMPLE_REQUESTS = 200_000
#: Most that the mean number of requests in the windows may vary, as a share of it. A bias of 0.3 standard errors takes
#: 2 points from the coverage of an 80 % interval.
_MOST_VARIATION = 0.3
#: Most requests of a recording whose sessions are followed for the verdict: 0.1 to 0.3 s.
FOLLOWED_REQUESTS = 1_000_000
#: Statements of a sample: some 0.2 to 0.5 s.
SAMPLE_STATEMENTS = 10_000


WhoWaits = Callable[[NamedScenario], Waiting]


class Windows:
    """Takes the blocks of a trace as they are read, and keeps what lies in the windows; its time begins at 0 and has no
    gaps.
    """

    def __init__(self, requests: int, span_ns: int, *, most: int = SAMPLE_REQUESTS, seed: int = 1) -> None:
        """Draw the windows of a recording with so many *requests*, of which *most* are kept on average."""
        part_ns = span_ns // WINDOWS
        self.length_ns = max(int(part_ns * min(most / max(requests, 1), 1.0)), 1)
        room_ns = max(part_ns - self.length_ns, 1)
        self.starts_ns = [
            place * part_ns + random_below(room_ns, seed, WINDOW_PLACE, 0, place) for place in range(WINDOWS)
        ]
        self._kept: list[Requests] = []
        self._counts = np.zeros((len(CATEGORIES), max(span_ns // self.length_ns, 1)), np.int64)

    def add(self, block: Requests) -> None:
        """Take the next block."""
        cell = np.minimum(block.time_ns // self.length_ns, self._counts.shape[1] - 1)
        cell += self._counts.shape[1] * categorise(block.op, block.purpose).astype(np.int64)
        self._counts += np.bincount(cell, minlength=self._counts.size).reshape(self._counts.shape)
        for place, start_ns in enumerate(self.starts_ns):
            first, end = np.searchsorted(block.time_ns, [start_ns, start_ns + self.length_ns])
            if first < end:
                # copied: a view would keep the whole block in memory
                part = {name: getattr(block, name)[first:end].copy() for name in Requests.__dataclass_fields__}
                part["time_ns"] = part["time_ns"] - start_ns + place * self.length_ns
                self._kept.append(Requests(**part))

    @property
    def requests(self) -> int:
        """Count what is kept."""
        return sum(map(len, self._kept))

    def sample(self, found: TraceSurvey, waiting: WhoWaits | None = None) -> "WindowSample":
        """Return the sample of the trace that *found* is of; *waiting* says who waits for whom in all of it."""
        variations = {name: variation(own) for name, own in zip(CATEGORIES, self._counts, strict=True)}
        of_log = [variations[CATEGORIES[one]] for one in (LOG_WRITE, LOG_FLUSH)]
        variations |= dict.fromkeys(DERIVED, max(of_log))
        of_all = variation(self._counts[REQUESTS].sum(axis=0))
        bursts = frozenset(name for name, own in variations.items() if max(own, of_all) > _MOST_VARIATION)
        return WindowSample(found, self._kept, self.length_ns, bursts, waiting)


def variation(counts: NDArray[np.int64]) -> float:
    """Return the coefficient of variation of the mean of WINDOWS of these numbers, drawn without replacement; 0 where
    there is nothing.
    """
    if len(counts) <= WINDOWS or not counts.any():
        return 0.0
    return float(counts.std(ddof=1) / counts.mean() * np.sqrt(1 / WINDOWS - 1 / len(counts)))


class Sample(Protocol):
    """What is simulated first; ``share`` is the part of the recording that it holds."""

    share: float

    def run(self, scenario: NamedScenario, note: Callable[[int], None]) -> Result:
        """Run it; *note* is called now and then, and raises to end the run. Raises ScenarioError."""
        ...


class WindowSample:
    """The windows of a trace, to be replayed on any scenario."""

    def __init__(
        self,
        found: TraceSurvey,
        kept: list[Requests],
        length_ns: int,
        bursts: frozenset[str],
        waiting: WhoWaits | None = None,
    ) -> None:
        """Join the windows; *bursts* are the categories whose requests come in too few of them."""
        self._length_ns, self._bursts, self._whole, self._waiting = length_ns, bursts, found, waiting
        histograms = np.zeros((len(CATEGORIES), bins(FINE_BITS)), np.int64)
        sums, most_ns = np.zeros((2, len(CATEGORIES)), np.int64)
        gathered, measured = JoinedCommands(sum(map(len, kept))), 0
        for block in kept:
            gathered.add(block)
            _, joined, _ = merge_commands(block)
            count_durations(histograms, sums, most_ns, categorise(joined.op, joined.purpose), joined.latency_ns)
            measured += int(np.count_nonzero(block.latency_ns != NOT_MEASURED))
        self.found = replace(
            found,
            requests=sum(map(len, kept)),
            span_ns=WINDOWS * length_ns,
            measured=measured_latencies(histograms, sums, most_ns),
            measured_requests=measured,
            checkpoints=(),
        )
        self.share = self.found.requests / found.requests
        self._playback = _Windowed(self.found, list(merged_blocks(kept)), gathered.all())

    def run(self, scenario: NamedScenario, note: Callable[[int], None]) -> Result:
        """See :class:`Sample`."""
        result = self.plain(scenario, note)
        latencies = {name: self._given(name, of) for name, of in result.summary["latency_ns"].items()}
        return _with_caveat(
            replace(result, summary=result.summary | {"latency_ns": latencies}),
            f"a sample: {WINDOWS} windows with {100 * self.share:.2g} % of the requests; contents of caches, burst"
            " credits and garbage collection are those of a short run",
        )

    def why_not(self, name: str, figure: Figure) -> str | None:
        """Say why the sample cannot give a figure of a category, however wide its interval; None where it can."""
        if name in self._bursts:
            return "its requests come in a few bursts, and a sample may miss them"
        if figure["high"] is not None and figure["high"] > self._length_ns:
            return f"it may be longer than a window of the sample ({format_ns(self._length_ns)})"
        return None

    def _given(self, name: str, of: Mapping[str, Any]) -> dict[str, Any]:
        """Return the figures of a category as those of a sample; a statistic without a factor has none."""
        given = dict(of)
        for key in ("mean", *PERCENTILES):
            factor, why_not = _factors().get(key), self.why_not(name, of[key])
            if factor is None or why_not is not None:
                given[key] = withheld(why_not or "a sample does not resolve it")
            else:
                given[key] = widened(of[key], factor)
        return given

    def plain(self, scenario: NamedScenario, note: Callable[[int], None]) -> Result:
        """Run it; figures have the intervals of a short recording."""
        played = play([PlayedRecording(self._playback, scenario)], keep_requests=True, progress=note)
        result = replace(played, keep_requests=False).result(0, scenario.name)
        full = was_full(played.metrics, played.stations, WINDOWS)
        most = self._whole.requests * max(scenario.model.replay.load, 1.0)
        if result.summary["lag_ns"] is None or self._waiting is None or most > FOLLOWED_REQUESTS:
            own = decided(result, played.streams, played.mean_ns(0), WINDOWS, self._length_ns)
            return while_not_full(own, full)
        waiting, factor = self._waiting(scenario), _factors()["mean"]
        span_ns = self._whole.span_ns
        own = decided_by_sessions(result, played, waiting, span_ns, factor, WINDOWS, self._length_ns)
        return while_not_full(own, full)


@cache
def _factors() -> dict[str, float]:
    """Return how many times wider the interval of each statistic is than that of a recording as short."""
    text = (files("tiersim.scenarios.exploring") / "sample_error.toml").read_text(encoding="utf-8")
    factors: dict[str, float] = tomllib.loads(text)["factors"]
    return factors


def widened(figure: Figure, factor: float) -> Figure:
    """Return a figure whose interval is *factor* times as wide on each side; its value goes where that is too wide."""
    low, high = figure["low"], figure["high"]
    if low is None or high is None:
        return withheld(figure["basis"])
    value = (low + high) / 2 if figure["value"] is None else figure["value"]
    low, high = max(value - factor * (value - low), 0.0), value + factor * (high - value)
    resolved = figure["resolved"] and (high - low) / 2 <= RESOLVED_HALF_WIDTH * value
    basis = f"{figure['basis']}, {factor:.2g} times as wide for a sample"
    return Figure(value=figure["value"] if resolved else None, low=low, high=high, resolved=resolved, basis=basis)


def _with_caveat(result: Result, caveat: str) -> Result:
    return replace(result, summary=result.summary | {"caveats": [*result.summary["caveats"], caveat]})


class StatementSample:
    """The first statements of a load that is drawn alike all the time, by way of *source*."""

    def __init__(self, source: StatementSource, load: StatementLoad) -> None:
        """Take the first of *load*."""
        self._source, self._load = source, first_of(load, SAMPLE_STATEMENTS)
        self.share = len(self._load) / len(load)

    def run(self, scenario: NamedScenario, note: Callable[[int], None]) -> Result:
        """See :class:`Sample`; a pool that fills, and another seed than that of the load, are seen in the whole
        alone. The error is unknown: updates behind a write cache were twice as fast in it as in the whole.
        """
        result = self._source.run_part(self._load, scenario, note)
        verdict = result.summary["verdict"] | {"error": SAMPLE}
        summary = result.summary | {"verdict": verdict, "model_error": model_error_of(verdict)}
        return _with_caveat(
            replace(result, summary={key: value for key, value in summary.items() if key not in ("range", "tails")}),
            f"a sample: the first {100 * self.share:.2g} % of the statements; checkpoints, and pools that fill, are"
            " those of a short run",
        )


def sample_of_statements(source: StatementSource, load: StatementLoad) -> StatementSample | None:
    """Return a sample of a load; None where it is short, or was recorded statement by statement."""
    if not load.synthetic or len(load) <= SAMPLE_STATEMENTS:
        return None
    return StatementSample(source, load)


class _Windowed(Playback):
    """The commands of the windows, in place of those of the whole trace."""

    def __init__(self, found: TraceSurvey, merged: list[Merged], recorded: RecordedCommands) -> None:
        super().__init__(found, keep=True, recorded=recorded)
        self._merged = merged

    def blocks(self) -> Iterable[Merged]:
        """See :class:`Playback`."""
        return self._merged


def windows_of(bundle: Bundle) -> Windows | None:
    """Draw the windows of a trace; None where it is short enough to be replayed whole, or has no time."""
    span_ns = bundle.manifest.span_ns
    if bundle.rows <= SAMPLE_REQUESTS or span_ns < WINDOWS:
        return None
    return Windows(bundle.rows, span_ns)
