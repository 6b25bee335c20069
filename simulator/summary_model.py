"""What the summary of a result has, as a schema: ``summary.json``, and ``Result.summary`` in Python.

``tiersim devices schema result`` prints it; the tables of ``docs/result.md`` are made of it.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Said(BaseModel):
    """A table of the summary; a key that nobody knows is refused."""

    model_config = ConfigDict(extra="forbid")


class FigureSaid(_Said):
    """One predicted figure, see :class:`tiersim.simulator.result.Figure`."""

    value: float | None = Field(description="The figure; null when the run is too short for it.")
    low: float | None = Field(description="Lower end of the 80 % interval of random variation.")
    high: float | None = Field(description="Upper end of it.")
    resolved: bool = Field(description="Whether `value` is known.")
    basis: str = Field(description="How the interval was computed.")


class VerdictSaid(_Said):
    """How far a result may be believed."""

    load: Literal["steady", "behind", "saturated", "undecided"] = Field(description="See Verdict, above.")
    calibration: Literal["none", "calibrated", "uncalibrated"] = Field(
        description="With `--recorded-on`: whether the model of the recorded hardware gives the recorded means."
    )
    cache: str = Field(description="How full the buffer pool was at the start; of requests `not modelled`.")
    locks: str = Field(description="Whether row locks are simulated; `none`: no statement changes rows.")
    arrivals: str = Field(
        description="`inferred`: sessions were inferred; `synthetic`: executions were synthesised; `described`: a "
        "workload."
    )
    credits: Literal["kept", "falling", "ran out"] | None = Field(
        default=None,
        description="Burst credits; while they are `falling`, `steady` holds only as long as they last. `load` says "
        "when they run out.",
    )
    error: (
        Literal[
            "innodb",
            "waits",
            "flushes",
            "arrivals",
            "pauses",
            "commits",
            "clients",
            "counted",
            "contradicted",
            "clock",
            "reads",
            "parallel",
            "volatile buffer",
            "sample",
            "unknown",
        ]
        | None
    ) = Field(
        default=None,
        description="Why the error is not that of `calibration`. Known: `innodb` (MySQL and MariaDB), `clients` (CPU "
        "and clients decide, and neither was recorded), `counted` (CPU time was counted on the recorded processors). "
        "Unknown: `waits` (clients waited for the recorded storage, or may have), `flushes` (clients mostly wait "
        "for the WAL, and CPU was not recorded), `arrivals` (transactions come at a fixed rate), `pauses` (of "
        "clients, not recorded), `commits` (changes of InnoDB commit by themselves, and sessions were not "
        "sampled), `contradicted` (transactions take another time on the described hardware than recorded), "
        "`reads` (the model reads another number of pages than recorded), `parallel` (several processors worked "
        "on one query), `sample` (a part of the recording), `clock` (the recording's clock is coarse), `volatile "
        "buffer` (FUA writes to a drive without power-loss protection), "
        "`unknown` (InnoDB, in results of older versions).",
    )
    reach: str | None = Field(
        default=None,
        description="`within the recording`, or `beyond the recording`: the buffer pool is larger, or CPU limits a run "
        "whose recording had idle CPU or fewer reads (`calibration.beyond` says which). `, with assumed costs` follows "
        "if CPU costs were not recorded.",
    )
    storage: Literal["of another kind"] | None = Field(
        default=None,
        description="The drives are of another kind than the recorded ones, such as disks instead of volumes with a "
        "limit: the result has the errors of one without a calibration.",
    )
    recorded_storage: list[Literal["flash", "hdd", "token bucket"]] | None = Field(
        default=None, description="Of `storage`: what the recorded hardware has; `token bucket`: a limit."
    )
    transactions: Literal["as recorded"] | None = Field(
        default=None,
        description="Of an `uncalibrated` result: the model of the recorded hardware gives the mean of transactions, "
        "and not that of each query. Its throughput has the error of a calibrated one.",
    )


class LoadSaid(_Said):
    """Why the verdict on load is what it is; station, resource and time are null of a steady run."""

    explanation: str = Field(description="One sentence, or a few.")
    station: str | None = Field(description="The station that limits the load.")
    resource: str | None = Field(description="Its resource.")
    since_ns: int | None = Field(description="When the backlog begins to grow.")
    sustainable_load: float | None = Field(description="The share of this load that could be sustained.")
    burst: dict[str, Any] | None = Field(
        default=None,
        description="The time in which requests of a steady run take longest, if that is more than 1 s: `from_ns` to "
        "`until_ns`, their `mean_ns`, and the busiest `station`, `resource` and its `utilisation` then.",
    )
    grows_from_ns: int | None = Field(
        default=None,
        description="When the queue of a steady run begins to grow behind a part that is always busy: latencies "
        "depend on the length of the run.",
    )


class BottleneckSaid(_Said):
    """The busiest resource."""

    station: str = Field(description="Name of the station.")
    resource: str = Field(description="Its busiest resource.")
    utilisation: float = Field(description="Share of the time in which it is busy, 0 to 1.")
    peak: dict[str, Any] | None = Field(
        default=None,
        description="Of requests, where a part is much busier at times: the busiest 30th of the run.",
    )


class LatencySaid(_Said):
    """Latencies of one class, in ns; ``max`` is null of a saturated run."""

    count: int = Field(description="Requests or executions of the class.")
    mean: FigureSaid = Field(description="Mean.")
    p50: FigureSaid = Field(description="Median.")
    p95: FigureSaid = Field(description="95th percentile.")
    p99: FigureSaid = Field(description="99th percentile.")
    p999: FigureSaid = Field(description="99.9th percentile.")
    max: int | None = Field(description="Largest; null when saturated.")


class QuerySaid(LatencySaid):
    """Latencies of one query, where its time went, and what it is; the last three keys are of described workloads."""

    breakdown_ns: dict[str, float] = Field(
        description="Mean time by wait class: `cpu`, `cpu queue`, `data read`, `eviction`, `log`, `lock`, `temp`, "
        "`copy`."
    )
    physical_reads_per_call: float = Field(description="Pages read from the volumes.")
    text: str | None = Field(description="Its text, without literals.")
    executions: str = Field(description="What the executions were taken from.")
    cpu: str = Field(description="What the CPU time was taken from.")
    took_ns: float | None = Field(
        default=None, description="Mean duration from the first time on a core, however few executions."
    )
    bulk_bytes_per_call: int | None = Field(default=None, description="Bytes of a scan or copy.")
    bulk_mb_per_s: float | None = Field(default=None, description="Rate of scans and copies.")


class ConservationSaid(_Said):
    """What every sound run satisfies."""

    requests_in: int = Field(description="Requests that entered a station.")
    requests_out: int = Field(description="Requests that left one.")
    accounted_for: bool = Field(description="Whether both are equal.")
    little: bool = Field(description="Whether Little's law holds at every station.")
    busy: bool = Field(description="Whether no resource was busy for longer than the run.")


class ModelErrorSaid(_Said):
    """Between which multiples of a predicted figure 80 % of the measured ones lay, by kind of figure."""

    basis: Literal["calibrated", "extrapolated", "storage", "assumed", "clients", "counted", "innodb", "unknown"] = (
        Field(
            description="`calibrated`: the calibration passed, of transactions at least; `extrapolated`: beyond the "
            "recording; `storage`: of another kind; `assumed`: data sheets and guesses; `clients`, `counted`: CPU and "
            "clients decide; `innodb`: of MySQL and MariaDB; `unknown`: nobody measured such predictions "
            "(`verdict.error` says why), so there are no `figures`."
        )
    )
    figures: dict[str, dict[str, float]] = Field(
        description="By kind (`throughput`, `mean`, `tail`: percentiles from the 95th on, `count`: pages, WAL, "
        "checkpoints, `other`): measured ÷ predicted lay between `low` and `high` in 80 % of the past checks; "
        "`measurements` and `experiments` count these."
    )


class Summary(_Said):
    """The summary of a result, whatever ran; what only some runs say is behind what all say."""

    schema_: Literal["tiersim.result/1"] = Field(alias="schema", description="Name of this schema.")
    name: str = Field(description="Name of the scenario.")
    tool_version: str = Field(description="Version of tiersim.")
    description: str = Field(description="What the scenario says of itself.")
    seed: int = Field(description="Seed of the random numbers.")
    trace: dict[str, Any] = Field(
        description="What was replayed: name, hash, counts; `checkpoints` has those of the recording."
    )
    verdict: VerdictSaid = Field(description="How far the result may be believed, below.")
    load: LoadSaid = Field(description="Why the verdict on load is what it is, below.")
    bottleneck: BottleneckSaid = Field(description="The busiest resource, below.")
    commands: int = Field(description="Requests that were sent.")
    throughput_per_s: dict[str, FigureSaid] = Field(
        description="`requests`; of statements also `transactions`, `statements`."
    )
    throughput_shortfall_pct: float = Field(
        description="How far throughput is below the recording; negative: above it."
    )
    latency_ns: dict[str, LatencySaid] = Field(
        description="By class (see Latency, above). `transaction` is from the start of its first statement to the end "
        "of its last."
    )
    stations: dict[str, dict[str, Any]] = Field(
        description="By name: `utilisation` by resource, `queue_mean`, `requests`, their mean time there (`time_ns`); "
        "`cache` and `tiers` ([tiers](tiers.md)); `flash` with the write amplification, and the free share of an SLC "
        "cache at the end."
    )
    conservation: ConservationSaid = Field(description="The checks of every run, below.")
    replay: dict[str, Any] = Field(
        description="Mode, streams by role, what commands waited for, think times, sessions that end late. Of "
        "statements: what the mode `keeps` (`clients` or `rate`), `transactions`, `transactions_done`, `counted_ns`, "
        "`recorded_connections` (the most sessions of clients that a sample shows). Clients of a closed loop repeat "
        "their statements, up to 2 million, until the recorded time is over; with `replay.duration` (`asked_ns`) up "
        "to 40 million, until that is over."
    )
    checkpoints: list[dict[str, Any]] = Field(
        description="Of requests: `start`, `end`, `writes`, and `basis`: how a checkpoint was recognised. Of "
        "statements: `start_ns`, `end_ns` (null: not over), `write_ns`, `sync_ns`, `pages` (dirty when it began), "
        "`written_pages`, `bytes`, `log_bytes` (since the one before), `trigger` (`time` or `log`), `latency_ns` "
        "inside, `dip_pct`: how far the lowest throughput of 5 s is below the mean."
    )
    measured_latency_ns: dict[str, dict[str, float]] = Field(description="Latencies of the recorded hardware by class.")
    recorded_mean_ns: dict[str, float] = Field(
        default={},
        description="Of statements: recorded means of transactions, queries, and reads and writes of counted files.",
    )
    in_transaction_ns: float | None = Field(
        default=None,
        description="Of statements: how long a session was active or in a transaction, per recorded transaction, by "
        "the server's counters.",
    )
    assumed: list[dict[str, str]] = Field(description="Every assumed or fitted number of a device, with its source.")
    caveats: list[str] = Field(
        description="Known faults of the description, each with its reason: a datasheet's seek curve with deep queues, "
        "pages that no access distribution explains, keys without effect."
    )
    load_not_run: dict[str, float | str] | None = Field(
        default=None,
        description="The load that was `asked` for, and the one that `ran`: `whole` says what is never divided.",
    )
    model_error: ModelErrorSaid = Field(description="Expected error of the models, below.")
    credits: list[dict[str, Any]] | None = Field(
        default=None,
        description="Burst credits by station and resource: `start` and `end` as shares of a full balance, "
        "`ran_out_ns`, `lasts_ns`.",
    )
    calibration: dict[str, Any] | None = Field(
        default=None,
        description="With `--recorded-on`: measured and simulated means of `classes`; `read_error_pct`; `reasons` why "
        "nothing is calibrated; `beyond`.",
    )
    relative_latency_ns: dict[str, dict[str, FigureSaid]] | None = Field(
        default=None, description="With `--recorded-on`: latencies corrected by the recorded ones."
    )
    lag_ns: dict[str, float] | None = Field(
        default=None,
        description="Of requests: how much later than recorded commands start: `mean`, `max`, `at_end`. Null in an "
        "open replay.",
    )
    waits_ns: dict[str, dict[str, dict[str, float]]] | None = Field(
        default=None,
        description="With `replay --waits`: waiting time by class, station, and class of what was served meanwhile "
        "([how it is divided](tenants.md)).",
    )
    in_doubt: bool | None = Field(
        default=None,
        description="Of a tenant whose transactions come at a fixed rate, and of requests to disks that serve old "
        "requests first: whether the other verdict on load is possible.",
    )
    shared: dict[str, Any] | None = Field(
        default=None, description="Where other recordings ran beside it: [tenants](tenants.md)."
    )
    level: Literal["statements"] | None = Field(default=None, description="Of statements: `statements`.")
    throughput_over_time: dict[str, Any] | None = Field(
        default=None,
        description="Of statements: transactions a second in up to ten steps of `step_ns`, simulated and as a load "
        "generator logged them.",
    )
    hit_ratio: dict[str, float | None] | None = Field(
        default=None,
        description="Of statements: `pool`: share of the pages asked for that the buffer pool holds; `os_cache`: "
        "share of the pages missed there that the OS page cache holds.",
    )
    commit_breakdown_ns: dict[str, float] | None = Field(
        default=None, description="Of statements: mean time of a commit by wait class."
    )
    queries: dict[str, QuerySaid] | None = Field(
        default=None,
        description="Of statements: the 200 queries with most time by fingerprint, the rest as `others`, below.",
    )
    host: dict[str, Any] | None = Field(
        default=None, description="Of statements: cores, costs, how busy the cores were, whether clients run on them."
    )
    engine: dict[str, Any] | None = Field(default=None, description="Of statements: the settings that ran.")
    settings_from: Any = Field(default=None, description="Of statements: where each setting and cost comes from.")
    extrapolated: Any = Field(
        default=None, description="Of statements: the pool is more than four times as large or small as recorded."
    )
    inferred: list[str] | None = Field(
        default=None, description="Of statements: what was inferred, and from what, a sentence each."
    )
    checkpoint_impact: dict[str, Any] | None = Field(
        default=None,
        description="Of statements: `inside` and `outside` of checkpoints: duration, transactions a second, count, "
        "mean and p95 of transactions and commits; null without checkpoints or when saturated.",
    )
    stalls: dict[str, Any] | None = Field(
        default=None,
        description="Of statements: times of more than 1 s in which fewer than a tenth of the mean transactions a "
        "second end: `count`, its 90 % Poisson interval `low` to `high`, `longest_ns`, `total_ns`, `depth_pct` "
        "(throughput in them below the mean); null (not resolved) below 20 transactions a second.",
    )
    log: dict[str, Any] | None = Field(
        default=None,
        description="Of statements: `flushes`, `commits`, `commits_per_flush`, `bytes`, `written_bytes` (whole "
        "blocks), `bytes_per_transaction`, `full_page_images`, `sync_mean_ns` (a write and its flush); of InnoDB "
        "`pages_flushed`, `doublewrite_writes`; calibrated also `measured_commits_per_flush`, "
        "`relative_commits_per_flush`.",
    )
    pages_written: dict[str, int] | None = Field(
        default=None,
        description="Of statements on PostgreSQL: dirty pages of the buffer pool that `sessions` wrote for want of a "
        "frame, the `background_writer`, and `checkpoints`, in the whole run.",
    )
    range: dict[str, Any] | None = Field(
        default=None,
        description="With `--recorded-on`, of PostgreSQL's counters: `low` and `high` of `transactions_per_s` and "
        "`transaction_mean_ns`, which hold `share` of the `draws` with the error of the models; of `p99_ns` by name, "
        "without that error; `verdict` `determined` or `underdetermined`; `explained_by` (`cpu`, `read`, `law`; on "
        "more than 2 cores `order`; of limits whose `refill_interval` is assumed `refill`), `mostly`, `remedy`. "
        "Without `--recorded-on`, between both extremes of what may be `waits`.",
    )
    tails: dict[str, Any] | None = Field(
        default=None,
        description="With `--recorded-on`, of PostgreSQL's counters, for `transaction`, `commit` and `query ID` in "
        "`p99_ns`: `value`, `low` and `high` of the interval that should hold `share` of recorded 99th percentiles, "
        "`verdict` `resolved`, `not resolved` (the ends are further apart than a factor of 2) or `not checked` "
        "(nobody recorded percentiles of such predictions), `of` `waits` or `processors` (what makes such latencies).",
    )
    streams: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Of described workloads, by name: `clients`, `start_ns`, `end_ns`, `elapsed_ns`, `statements`, "
        "`transactions`, `transactions_per_s` (warm-up included), `geometric_mean_ns` of all statements, as in "
        "TPC-H's power metric (null if clients think).",
    )
