"""What the summary of a result has, as a schema: ``summary.json``, and ``Result.summary`` in Python.

``docs/result.md`` and ``docs/statements.md`` say what each key means.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Said(BaseModel):
    """A table of the summary; a key that nobody knows is refused."""

    model_config = ConfigDict(extra="forbid")


class FigureSaid(_Said):
    """One predicted figure, see :class:`tiersim.simulator.result.Figure`."""

    value: float | None
    low: float | None
    high: float | None
    resolved: bool
    basis: str


class VerdictSaid(_Said):
    """How far a result may be believed."""

    load: Literal["steady", "behind", "saturated"]
    calibration: Literal["none", "calibrated", "uncalibrated"]
    cache: str
    locks: str
    arrivals: str
    credits: Literal["kept", "falling", "ran out"] | None = None
    error: Literal["unknown"] | None = None  # of an engine that was hardly compared with real servers
    reach: str | None = None  # of a result that was calibrated: whether it goes beyond the recording


class LoadSaid(_Said):
    """Why the verdict on load is what it is; station, resource and time are null of a steady run."""

    explanation: str
    station: str | None
    resource: str | None
    since_ns: int | None
    sustainable_load: float | None


class BottleneckSaid(_Said):
    """The busiest resource."""

    station: str
    resource: str
    utilisation: float


class LatencySaid(_Said):
    """Latencies of one class, in ns; ``max`` is null of a saturated run."""

    count: int
    mean: FigureSaid
    p50: FigureSaid
    p95: FigureSaid
    p99: FigureSaid
    p999: FigureSaid
    max: int | None


class QuerySaid(LatencySaid):
    """Latencies of one query, where its time went, and what it is; the last three keys are of described workloads."""

    breakdown_ns: dict[str, float]
    physical_reads_per_call: float
    text: str | None
    executions: str
    cpu: str
    took_ns: float | None = None
    bulk_bytes_per_call: int | None = None
    bulk_mb_per_s: float | None = None


class ConservationSaid(_Said):
    """What every sound run satisfies."""

    requests_in: int
    requests_out: int
    accounted_for: bool
    little: bool
    busy: bool


class ModelErrorSaid(_Said):
    """Between which multiples of a predicted figure 80 % of the measured ones lay, by kind of figure."""

    basis: Literal["calibrated", "extrapolated", "assumed", "unknown"]
    figures: dict[str, dict[str, float]]


class Summary(_Said):
    """The summary of a result, whatever ran; what only some runs say is behind what all say."""

    schema_: Literal["tiersim.result/1"] = Field(alias="schema")
    name: str
    tool_version: str
    description: str
    seed: int
    trace: dict[str, Any]
    verdict: VerdictSaid
    load: LoadSaid
    bottleneck: BottleneckSaid
    commands: int
    throughput_per_s: dict[str, FigureSaid]
    throughput_shortfall_pct: float
    latency_ns: dict[str, LatencySaid]
    stations: dict[str, dict[str, Any]]
    conservation: ConservationSaid
    replay: dict[str, Any]
    checkpoints: list[dict[str, Any]]
    measured_latency_ns: dict[str, dict[str, float]]
    assumed: list[dict[str, str]]
    caveats: list[str]
    model_error: ModelErrorSaid
    credits: list[dict[str, Any]] | None = None  # where there are burst credits
    # where the recorded hardware was simulated, too
    calibration: dict[str, Any] | None = None
    relative_latency_ns: dict[str, dict[str, FigureSaid]] | None = None
    # of replays of requests
    lag_ns: dict[str, float] | None = None
    waits_ns: dict[str, dict[str, dict[str, float]]] | None = None  # with --waits: by class, station, class
    shared: dict[str, Any] | None = None  # where other recordings ran beside it
    # of runs of statements
    level: Literal["statements"] | None = None
    throughput_over_time: dict[str, Any] | None = None
    hit_ratio: dict[str, float | None] | None = None
    commit_breakdown_ns: dict[str, float] | None = None
    queries: dict[str, QuerySaid] | None = None
    host: dict[str, Any] | None = None
    engine: dict[str, Any] | None = None
    settings_from: Any = None
    extrapolated: Any = None
    inferred: list[str] | None = None
    checkpoint_impact: dict[str, Any] | None = None
    log: dict[str, Any] | None = None
    range: dict[str, Any] | None = None
    # of described workloads
    streams: dict[str, dict[str, Any]] | None = None
