"""What sweeps, miss-ratio curves, load curves and searches for hardware leave on disk, as far as a page needs it.

Keys that are not listed here are let through: a file of a newer version with more in it can still be shown.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

#: Where a curve of ``tiersim mrc`` lies between no miss and all misses.
Ratio = Annotated[float, Field(ge=0, le=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Figure(_Part):
    """A predicted number with its 80 % interval; ``value`` is None where the sample does not resolve it."""

    value: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    resolved: bool = True
    basis: str = ""


class Latency(_Part):
    """Latency of one class, in nanoseconds."""

    count: int = 0
    mean: Figure | None = None
    p50: Figure | None = None
    p95: Figure | None = None
    p99: Figure | None = None
    p999: Figure | None = None


class Query(Latency):
    """A query of one point."""

    text: str | None = None
    breakdown_ns: dict[str, float | None] = {}
    physical_reads_per_call: FiniteFloat | None = None


class Bottleneck(_Part):
    """The busiest resource."""

    station: str | None = None
    resource: str | None = None
    utilisation: FiniteFloat | None = None


class LoadVerdict(_Part):
    """Why the verdict on load is what it is."""

    explanation: str = ""
    station: str | None = None
    resource: str | None = None
    sustainable_load: FiniteFloat | None = None


class HitRatio(_Part):
    """Shares of the pages that were found."""

    pool: Ratio | None = None
    os_cache: Ratio | None = None


class Station(_Part):
    """A station's share of busy time by resource, and how many wait on average."""

    utilisation: dict[str, float | None] = {}
    queue_mean: FiniteFloat | None = None


class Cost(_Part):
    """What a point costs."""

    capex: FiniteFloat | None = None
    monthly: FiniteFloat | None = None
    currency: str = ""
    price_date: str | None = None


class Summary(_Part):
    """The part of a result's summary that a row holds."""

    name: str = ""
    verdict: dict[str, str | None] = {}
    load: LoadVerdict = LoadVerdict()
    bottleneck: Bottleneck | None = None
    throughput_per_s: dict[str, Figure | None] = {}
    throughput_shortfall_pct: FiniteFloat | None = None
    hit_ratio: HitRatio | None = None
    latency_ns: dict[str, Latency] = {}
    queries: dict[str, Query] = {}
    commit_breakdown_ns: dict[str, float | None] | None = None
    checkpoints: list[dict[str, Any]] | None = None
    stations: dict[str, Station] = {}
    extrapolated: bool = False
    cost: Cost | None = None


class Screened(_Part):
    """Why a point was not simulated, and the one that gives the same."""

    by_point: int
    why: str = ""


class Row(_Part):
    """One simulated point (``docs/sweeps.md``)."""

    point: int = 0
    replication: int = 0
    settings: dict[str, str] = {}
    status: Literal["done", "failed", "screened"]
    error: str | None = None
    summary: Summary | None = None
    screened: Screened | None = None


class Trace(_Part):
    """Which trace was replayed, and what of it was recorded."""

    name: str = ""
    hash: str | None = None
    requests: int | None = None
    references: int | None = None


class Axis(_Part):
    """One key of the grid with its values; ``numbers`` where they can be put on a scale."""

    key: str
    values: list[str] = Field(min_length=1)
    numbers: list[FiniteFloat] | None = None
    unit: str | None = None


class Sweep(_Part):
    """``NAME.sweep/sweep.json``."""

    schema_: Literal["tiersim.sweep/1"] = Field(alias="schema")
    trace: Trace = Trace()
    scenario: str = ""
    axes: list[Axis] = []
    replications: int = 1


class CurvePoint(_Part):
    """The miss ratio of a cache of this size, and half the width of its 80 % interval."""

    cache_bytes: Annotated[float, Field(gt=0)]
    miss_ratio: Ratio | None = None  # None: a sample of the pages that asks for too few
    error: Annotated[float, Field(ge=0)] | None = None


class Curve(_Part):
    """Misses of a part of the references."""

    kind: str
    name: str
    text: str | None = None
    references: int | None = None
    points: list[CurvePoint] = []


class Knee(_Part):
    """Where a curve bends."""

    cache_bytes: Annotated[float, Field(gt=0)]
    miss_ratio: Ratio


class Recorded(_Part):
    """The size of the recorded cache, and what a curve beyond it means."""

    cache_bytes: Annotated[float, Field(gt=0)] | None = None
    beyond: str | None = None


class MissRatios(_Part):
    """``NAME.mrc.json``."""

    schema_: Literal["tiersim.mrc/1"] = Field(alias="schema")
    trace: Trace = Trace()
    policy: str = ""
    method: str = ""
    page_bytes: int | None = None
    references: int | None = None
    distinct_pages: int | None = None
    compulsory_miss_ratio: Ratio | None = None
    points: list[CurvePoint] = Field(min_length=1)
    curves: list[Curve] = []
    knees: list[Knee] = []
    notes: list[str] = []
    recorded: Recorded = Recorded()

    @property
    def is_behind(self) -> bool:
        """Tell whether requests were recorded below a cache, so that sizes are of one added behind it."""
        return self.method != "law" and bool(self.trace.requests) and not self.trace.references


class LoadKnee(_Part):
    """Where latency begins to climb."""

    load: FiniteFloat
    basis: str = ""


class Load(_Part):
    """``NAME.load.json``."""

    schema_: Literal["tiersim.load/1"] = Field(alias="schema")
    trace: Trace = Trace()
    scenario: str = ""
    points: list[Row] = Field(min_length=1)
    knee: LoadKnee | None = None
    largest_sustainable: Figure | None = None
    limited_by: str | None = None


class Target(_Part):
    """What a candidate has to meet."""

    text: str


class CostPart(_Part):
    """One line of an offer."""

    what: str
    count: FiniteFloat | None = None
    each: FiniteFloat | None = None
    source: str | None = None


class CandidateCost(Cost):
    """The price of a candidate, line by line."""

    total: FiniteFloat | None = None
    years: FiniteFloat | None = None
    parts: list[CostPart] = []


class Candidate(_Part):
    """Hardware that could be bought, and whether it does."""

    name: str
    settings: dict[str, str] = {}
    cost: CandidateCost | None = None
    power_w: FiniteFloat | None = None
    endurance_years: Figure | None = None
    capacity_bytes: FiniteFloat | None = None
    survives_drive_failure: bool | None = None
    status: str
    why: list[str] = []
    doubts: list[str] = []
    row: Row | None = None


class Size(_Part):
    """``NAME.size.json``."""

    schema_: Literal["tiersim.size/1"] = Field(alias="schema")
    trace: Trace = Trace()
    targets: list[Target] = []
    candidates: list[Candidate] = Field(min_length=1)
    chosen: str | None = None
    simulated: int | None = None
    pareto_of: str | None = None
