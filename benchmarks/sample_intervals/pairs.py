"""Pairs of a recording and a change: each figure of a sample beside that of the whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiersim.errors import ScenarioError
from tiersim.scenarios.exploring.sample import WINDOWS, Windows, WindowSample
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sweeps.sources import RequestSource
from tiersim.traces.bundle import Bundle

SCENARIOS = (
    "15k-raid10", "15k-raid10-bare", "pcie-flash", "sas-ssd-raid10", "perc6-raid5", "hdd-100", "sata-ssd-12", "violin",
)  # fmt: skip
LOADS = (0.5, 1.0, 2.0)
#: Of p99.9 a sample gives no figure: half of the intervals hold the whole, whatever the factor of other recordings.
STATISTICS = ("mean", "p50", "p95", "p99")
#: A sample is such a part of the recording.
_PART = 10


@dataclass(frozen=True)
class Figure:
    """A statistic of the sample, with its interval, and what it is of the whole."""

    category: str
    statistic: str
    value: float
    low: float
    high: float
    whole: float
    why_not: str | None = None  # given, however wide its interval

    @property
    def off(self) -> float:
        """How far the whole lies from the sample's figure, in half-widths of the interval on that side."""
        half = self.value - self.low if self.whole < self.value else self.high - self.value
        away = abs(self.whole - self.value)
        return away / half if half > 0 else (0.0 if away == 0 else float("inf"))

    def half_width(self, factor: float) -> float:
        """Half the width of the interval that is *factor* times as wide, as a share of the figure."""
        return factor * (self.high - self.low) / 2 / self.value


@dataclass(frozen=True)
class Pair:
    """One change of one recording."""

    recording: str
    scenario: str
    load: float
    verdict: str  # on the load, of the sample
    whole_verdict: str
    figures: tuple[Figure, ...]


def pairs_of(bundle: Path) -> Iterator[Pair]:
    """Run the sample and the whole of a recording on each scenario under each load; what does not fit is passed by."""
    trace = Bundle(bundle)
    windows = Windows(trace.rows, trace.manifest.span_ns, most=max(trace.rows // _PART, WINDOWS))
    source = RequestSource(trace, None, None, also=windows.add)
    if not windows.requests:
        print(f"{bundle}: no request lies in a window")
        return
    sample = windows.sample(source.found, source.waiting)
    for name in SCENARIOS:
        for load in LOADS:
            scenario = load_scenario(name, [f"replay.load={load}", "replay.addresses=pack"])
            try:
                whole = source.run(scenario, _pass, tables=False).summary
                found = sample.plain(scenario, _pass).summary
            except ScenarioError as error:
                print(f"{bundle}: {error}")
                continue
            figures = tuple(_figures(sample, found["latency_ns"], whole["latency_ns"]))
            yield Pair(str(bundle), name, load, found["verdict"]["load"], whole["verdict"]["load"], figures)


def _figures(sample: WindowSample, found: dict[str, Any], whole: dict[str, Any]) -> Iterator[Figure]:
    """Yield figures that both resolve."""
    for name in sorted(found.keys() & whole.keys()):
        for statistic in STATISTICS:
            one, other = found[name][statistic], whole[name][statistic]
            if one["value"] is not None and other["value"] is not None:
                yield Figure(name, statistic, one["value"], one["low"], one["high"], other["value"],
                             sample.why_not(name, one))  # fmt: skip


def _pass(_: int) -> None:
    """Nobody waits for progress."""
