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


class FigureModel(_Part):
    """A predicted number with its 80 % interval; ``value`` is None where the sample does not resolve it."""

    value: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    resolved: bool = True
    basis: str = ""


class LatencyModel(_Part):
    """Latency of one class, in nanoseconds."""

    count: int = 0
    mean: FigureModel | None = None
    p50: FigureModel | None = None
    p95: FigureModel | None = None
    p99: FigureModel | None = None
    p999: FigureModel | None = None


class QueryModel(LatencyModel):
    """A query of one point."""

    text: str | None = None
    breakdown_ns: dict[str, float | None] = {}
    physical_reads_per_call: FiniteFloat | None = None


class BottleneckModel(_Part):
    """The busiest resource."""

    station: str | None = None
    resource: str | None = None
    utilisation: FiniteFloat | None = None


class LoadVerdictModel(_Part):
    """Why the verdict on load is what it is."""

    explanation: str = ""
    station: str | None = None
    resource: str | None = None
    sustainable_load: FiniteFloat | None = None


class HitRatioModel(_Part):
    """Shares of the pages that were found."""

    pool: Ratio | None = None
    os_cache: Ratio | None = None


class StationModel(_Part):
    """A station's share of busy time by resource, and how many wait on average."""

    utilisation: dict[str, float | None] = {}
    queue_mean: FiniteFloat | None = None


class CostModel(_Part):
    """What a point costs."""

    capex: FiniteFloat | None = None
    monthly: FiniteFloat | None = None
    currency: str = ""
    price_date: str | None = None


class LoadNotRunModel(_Part):
    """A multiple of the recorded load that was asked for, and what ran in its place, as sessions are whole."""

    whole: str
    asked: FiniteFloat
    ran: FiniteFloat


class SummaryModel(_Part):
    """The part of a result's summary that a row holds."""

    name: str = ""
    verdict: dict[str, str | None] = {}
    in_doubt: bool = False
    load_reached: FiniteFloat | None = None  # multiple of the recorded load, where a row is of a recording
    load_not_run: LoadNotRunModel | None = None
    load: LoadVerdictModel = LoadVerdictModel()
    bottleneck: BottleneckModel | None = None
    throughput_per_s: dict[str, FigureModel | None] = {}
    throughput_shortfall_pct: FiniteFloat | None = None
    hit_ratio: HitRatioModel | None = None
    latency_ns: dict[str, LatencyModel] = {}
    queries: dict[str, QueryModel] = {}
    commit_breakdown_ns: dict[str, float | None] | None = None
    checkpoints: list[dict[str, Any]] | None = None
    stations: dict[str, StationModel] = {}
    extrapolated: bool = False
    cost: CostModel | None = None


class ScreenedModel(_Part):
    """Why a point was not simulated, and the one that gives the same."""

    by_point: int
    why: str = ""


class RowModel(_Part):
    """One simulated point (``docs/sweeps.md``)."""

    point: int = 0
    replication: int = 0
    settings: dict[str, str] = {}
    status: Literal["done", "failed", "screened"]
    error: str | None = None
    summary: SummaryModel | None = None
    screened: ScreenedModel | None = None


class TraceModel(_Part):
    """Which trace was replayed, and what of it was recorded."""

    name: str = ""
    hash: str | None = None
    requests: int | None = None
    references: int | None = None


class AxisModel(_Part):
    """One key of the grid with its values; ``numbers`` where they can be put on a scale."""

    key: str
    values: list[str] = Field(min_length=1)
    numbers: list[FiniteFloat] | None = None
    unit: str | None = None


class SweepModel(_Part):
    """``NAME.sweep/sweep.json``."""

    schema_: Literal["tiersim.sweep/1"] = Field(alias="schema")
    trace: TraceModel = TraceModel()
    scenario: str = ""
    axes: list[AxisModel] = []
    replications: int = 1


class CurvePointModel(_Part):
    """The miss ratio of a cache of this size, and half the width of its 80 % interval."""

    cache_bytes: Annotated[float, Field(gt=0)]
    miss_ratio: Ratio | None = None  # None: a sample of the pages that asks for too few
    error: Annotated[float, Field(ge=0)] | None = None


class CurveModel(_Part):
    """Misses of a part of the references."""

    kind: str
    name: str
    text: str | None = None
    references: int | None = None
    points: list[CurvePointModel] = []


class KneeModel(_Part):
    """Where a curve bends."""

    cache_bytes: Annotated[float, Field(gt=0)]
    miss_ratio: Ratio


class RecordedModel(_Part):
    """The size of the recorded cache, and what a curve beyond it means."""

    cache_bytes: Annotated[float, Field(gt=0)] | None = None
    beyond: str | None = None


class MissRatiosModel(_Part):
    """``NAME.mrc.json``."""

    schema_: Literal["tiersim.mrc/1"] = Field(alias="schema")
    trace: TraceModel = TraceModel()
    policy: str = ""
    method: str = ""
    page_bytes: int | None = None
    references: int | None = None
    distinct_pages: int | None = None
    compulsory_miss_ratio: Ratio | None = None
    points: list[CurvePointModel] = Field(min_length=1)
    curves: list[CurveModel] = []
    knees: list[KneeModel] = []
    notes: list[str] = []
    recorded: RecordedModel = RecordedModel()

    @property
    def is_behind(self) -> bool:
        """Tell whether requests were recorded below a cache, so that sizes are of one added behind it."""
        return self.method != "law" and bool(self.trace.requests) and not self.trace.references


class LoadKneeModel(_Part):
    """Where latency begins to climb."""

    load: FiniteFloat
    basis: str = ""


class LoadModel(_Part):
    """``NAME.load.json``."""

    schema_: Literal["tiersim.load/1"] = Field(alias="schema")
    trace: TraceModel = TraceModel()
    scenario: str = ""
    points: list[RowModel] = Field(min_length=1)
    knee: LoadKneeModel | None = None
    largest_sustainable: FigureModel | None = None
    limited_by: str | None = None


class TargetModel(_Part):
    """What a candidate has to meet."""

    text: str


class CostPartModel(_Part):
    """One line of an offer."""

    what: str
    count: FiniteFloat | None = None
    each: FiniteFloat | None = None
    per: str | None = None
    source: str | None = None


class CandidateCostModel(CostModel):
    """The price of a candidate, line by line."""

    total: FiniteFloat | None = None
    years: FiniteFloat | None = None
    parts: list[CostPartModel] = []


class CandidateModel(_Part):
    """Hardware that could be bought, and whether it does."""

    name: str
    settings: dict[str, str] = {}
    cost: CandidateCostModel | None = None
    power_w: FiniteFloat | None = None
    endurance_years: FigureModel | None = None
    capacity_bytes: FiniteFloat | None = None
    survives_drive_failure: bool | None = None
    status: str
    why: list[str] = []
    doubts: list[str] = []
    row: RowModel | None = None


class UsedTargetModel(_Part):
    """A target, and the part of its limit that is used."""

    text: str
    used: FiniteFloat | None = None


class DoubtModel(_Part):
    """How targets of these databases may be missed."""

    tenants: list[str] = []
    why: str


class ArrayModel(_Part):
    """An array, whose databases it holds, and how much of it each takes."""

    candidate: str
    cost: FiniteFloat
    tenants: list[str] = Field(min_length=1)
    filled: dict[str, dict[str, FiniteFloat]] = {}
    targets: dict[str, list[UsedTargetModel]] = {}
    doubts: list[DoubtModel] = []
    caveats: list[str] = []


class HomelessModel(_Part):
    """A database that no array holds, and why, by candidate."""

    tenant: str
    why: dict[str, str] = {}


class RefusedModel(_Part):
    """Databases that cannot share an array."""

    candidate: str
    tenants: list[str]
    why: str


class PackModel(_Part):
    """``NAME.pack.json``."""

    schema_: Literal["tiersim.pack/1"] = Field(alias="schema")
    growth: FiniteFloat = 0.0
    failed_drive: bool = False
    currency: str | None = None
    cost: FiniteFloat | None = None
    years: FiniteFloat | None = None
    arrays: list[ArrayModel] = []
    does_not_fit: list[HomelessModel] = []
    refused: list[RefusedModel] = []
    assumed: str = ""


class SizeModel(_Part):
    """``NAME.size.json``."""

    schema_: Literal["tiersim.size/1"] = Field(alias="schema")
    trace: TraceModel = TraceModel()
    targets: list[TargetModel] = []
    candidates: list[CandidateModel] = Field(min_length=1)
    chosen: str | None = None
    simulated: int | None = None
    pareto_of: str | None = None
