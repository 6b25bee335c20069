"""What a run of statements says: latency of transactions, commits, queries; where their time went; what bounds them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim import __version__
from tiersim.devices.station import balances
from tiersim.devices.station_records import NEVER, Plant
from tiersim.errors import ScenarioError
from tiersim.scenarios import caveats
from tiersim.scenarios.calibration.synthesis.sessions import logged_transactions
from tiersim.scenarios.caveats import model_error_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import Assembled, is_extrapolated
from tiersim.scenarios.statements.course import (
    Column,
    Course,
    checkpoints_of,
    database_table,
    impact_of,
    log_of,
    stalls_of,
    written_of,
)
from tiersim.scenarios.statements.error_reasons import error_of, other_reads
from tiersim.scenarios.statements.programs import OTHERS
from tiersim.scenarios.statements.schedule import by_the_clock, steps_of_statements
from tiersim.scenarios.statements.statement_load import COMMIT, StatementLoad
from tiersim.simulator import verdict
from tiersim.simulator.categories import (
    CATEGORIES,
    FIRST_CLASS,
    OF_DATABASES,
    REQUESTS,
    TRANSACTION,
    WAIT_NAMES,
)
from tiersim.simulator.commands import Outcome
from tiersim.simulator.database.database_state import (
    CLOCK,
    COUNTED_FROM,
    HISTORY,
    SPENT,
)
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.result import (
    SCHEMA,
    Figure,
    Result,
    conservation,
    latencies,
    latency_table,
    station_figures,
    station_timeline,
    timeline,
)
from tiersim.simulator.verdict import Flow, LoadVerdict, Sessions, judge, judge_waiting
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_S, format_bytes, format_ns

#: What a result's verdict says of its ``cache`` if it answers less at the begin of the run than in the long run.
NOT_WARMED = "not warmed"
_NOT_WARMED = (
    "the buffer pool is not warm when the run begins: it may answer less, and the server be slower, than in the long"
    " run; set replay.warmup"
)
#: Of a pool whose reads a transaction fall by more than this share from the first third of a run to the last, and by
#: more than so many standard deviations, the state at time 0 was not that of a pool that has run for long.
_FALLS, _DEVIATIONS = 0.05, 4.0
#: A share of the time that is worth a sentence.
_SAID = 0.01


def summarise_statements(
    scenario: NamedScenario,
    assembled: Assembled,
    plant: Plant,
    metrics: Metrics,
    outcome: Outcome,
    trace: dict[str, Any],
) -> Result:
    """Make the result of a run; *trace* describes the recording. Raises ScenarioError where the warm-up outlasts it."""
    stations = assembled.builder.stations
    program, load = assembled.program, assembled.load
    intervals, interval_ns = len(metrics.arrivals) - 1, int(metrics.interval_ns[0])
    ran = min(
        max(-(-outcome.end_ns // interval_ns), 1), intervals
    )  # a closed loop may be over sooner than the recording was
    judged = _judge(scenario, assembled, metrics, outcome)
    balance = [one for one in balances(plant, outcome.end_ns) if one.resource in stations[one.station].resources]
    names = ["" if name == "processor" else name for name in (*CATEGORIES, *OF_DATABASES)]
    names[names.index("statement")] = ""  # commits that nobody counted are among them
    own = [name if name == COMMIT else f"query {name}" for name in program.names]
    from_ns, until_ns = _counted_time(assembled, outcome)
    course = _course(assembled, metrics, from_ns, until_ns)
    done = assembled.database.done_ns > 0  # who goes round does not come to all of it
    transactions = int((done & (program.statements.ends == 1)).sum())
    first = -(-from_ns // interval_ns)  # that is counted
    figures = latencies(metrics, judged, [*names, *own])
    if from_ns and (outcome.end_ns <= from_ns or "transaction" not in figures):
        raise ScenarioError(
            f"{scenario.name}: replay.warmup: {format_ns(from_ns)} leave nothing to count of a run that ends after"
            f" {format_ns(outcome.end_ns)}; take less"
        )
    queries = {name: figures.pop(f"query {name}", None) for name in program.names if name != COMMIT}
    sums = _by_name(assembled)
    figures_of_stations = station_figures(plant, stations, metrics, outcome, ran)
    sustainable = judged.sustainable_load if judged.verdict == "saturated" else None
    rates = _throughput(assembled, metrics, from_ns, until_ns, sustainable)
    believed: dict[str, Any] = {
        "load": judged.verdict,
        "calibration": "none",
        "cache": _cache(assembled, metrics, min(first, ran - 1), ran),
        "arrivals": _basis(load),
        "locks": _locks(assembled),
    } | ({"credits": verdict.credits_state(balance)} if balance else {})
    keeps_rate = _keeps_rate(scenario, assembled)
    reads = other_reads(load)
    rate = rates["transactions"]["value"] or 0.0
    error = error_of(scenario, assembled, reads, rate, until_ns - from_ns, keeps_rate=keeps_rate)
    if error is not None:
        believed["error"] = error
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "name": scenario.name,
        "tool_version": __version__,
        "description": scenario.description,
        "seed": assembled.builder.seed,
        "level": "statements",
        "trace": trace,
        "verdict": believed,
        "model_error": model_error_of(believed),
        "load": verdict.describe_load(judged, balance, stations, outcome.end_ns),
        "bottleneck": verdict.describe_busiest(metrics, stations, ran - 1, outcome.end_ns),
        "commands": int((program.executed & done).sum()),
        "throughput_per_s": rates,
        "throughput_over_time": curve(
            None if load.described else load.path,
            assembled.database.done_ns[done & (program.statements.ends == 1)] - _recording_ns(assembled),
            assembled.span_ns,
            load.span_ns,
        ),
        "throughput_shortfall_pct": judged.shortfall_pct,
        "hit_ratio": {"pool": _hit_ratio(assembled), "os_cache": _os_hit_ratio(assembled, metrics)},
        "latency_ns": figures,
        "commit_breakdown_ns": _breakdown(sums[COMMIT], figures.get(COMMIT)),
        "queries": {
            name: _query(assembled, name, sums[name], found) for name, found in queries.items() if found is not None
        },
        "stations": figures_of_stations,
        "host": {
            **assembled.settings.host,
            "utilisation": figures_of_stations["processors"]["utilisation"]["cores"],
            "clients_on_cores": assembled.clients == "here",
        },
        "engine": {
            **assembled.settings.engine,
            "frames": assembled.frames,
            "recorded_buffer_pool_bytes": None if load.described else load.pool_bytes,
        },
        "settings_from": assembled.settings.basis,
        "extrapolated": is_extrapolated(load, assembled.settings),
        "inferred": list(load.inferred),
        "replay": {
            "mode": scenario.model.replay.mode,
            "keeps": "rate" if keeps_rate else "clients",
            "load": scenario.model.replay.load,
            **({} if load.described else {"load_reached": _load_reached(scenario, load)}),
            "sessions": assembled.program.sessions,
            "recorded_connections": load.connections,
            "transactions": program.transactions,
            "transactions_done": transactions,
            "counted_ns": {"from": from_ns, "until": until_ns},
            **({} if (asked_ns := scenario.model.replay.duration) is None else {"asked_ns": asked_ns}),
        },
        "checkpoints": checkpoints_of(course),
        "checkpoint_impact": None if judged.verdict == "saturated" else impact_of(course),
        "stalls": stalls_of(course.ends_ns, course.from_ns, course.until_ns),
        "log": log_of(assembled.database, transactions),
        "pages_written": written_of(assembled.database),
        "measured_latency_ns": {},
        "recorded_mean_ns": {} if load.described else {name: one.mean_ns for name, one in load.recorded_means.items()},
        "in_transaction_ns": load.in_transaction_ns,
        "assumed": caveats.parameters_assumed(scenario),
        "caveats": [
            *(one for one in (reads, load.parallel) if one is not None),
            *([_NOT_WARMED] if believed["cache"] == NOT_WARMED else []),
            *_caveats(scenario, assembled),
        ],
        **(
            {}
            if load.described
            else steps_of_statements(scenario.model.replay, load).not_run(scenario.model.replay.load)
        ),
        "conservation": conservation(plant, stations, outcome),
    }
    if balance:
        summary["credits"] = verdict.describe_credits(balance, stations, outcome.end_ns)
    return Result(
        summary=summary,
        latency=latency_table(metrics, [*names, *own]),
        timeline=timeline(_when_due(assembled, metrics, from_ns) if keeps_rate else metrics, [*names, *own]),
        stations=station_timeline(metrics, stations),
        scenario_toml=scenario.to_toml(),
        database=database_table(course, outcome.end_ns),
    )


def _counted_time(assembled: Assembled, outcome: Outcome) -> tuple[int, int]:
    """Return begin and end of the time that is counted: the recording's, or the run's if that was over sooner."""
    from_ns = int(assembled.database.counted_ns[COUNTED_FROM])
    return from_ns, max(min(assembled.timeline_ns, outcome.end_ns), from_ns)


def _recording_ns(assembled: Assembled) -> int:
    """Return when the recording's time begins: behind the warm-up of clients that go round."""
    return assembled.timeline_ns - assembled.span_ns


def _first_out_ns(assembled: Assembled) -> int:
    """Return when the first of the clients that go round had nothing left to do, which leaves the hardware to the
    others.
    """
    statements = assembled.program.statements
    behind = np.array(statements.session_ends)
    last_ns = assembled.database.done_ns[behind - 1]
    if assembled.load.described:  # who comes by the clock does not go round
        last_ns = last_ns[statements.waits_for[np.append(0, behind[:-1])] != CLOCK]
    return int(last_ns[last_ns > 0].min(initial=NEVER)) if assembled.stops else NEVER


def _course(assembled: Assembled, metrics: Metrics, from_ns: int, until_ns: int) -> Course:
    """Return what tells of checkpoints, over the time that is counted and in which all clients have something to do."""
    program, database = assembled.program, assembled.database
    done_ns = database.done_ns[program.statements.ends == 1]
    classes = {"transaction": TRANSACTION, COMMIT: FIRST_CLASS + program.names.index(COMMIT)}
    until_ns = max(min(until_ns, _first_out_ns(assembled)), from_ns)
    ends_ns = np.sort(done_ns[done_ns > from_ns], kind="stable")  # merges what sessions have in order
    return Course(database, metrics, classes, ends_ns, from_ns, until_ns)


def _flow(assembled: Assembled, metrics: Metrics, from_ns: int) -> Flow:
    """Return when transactions come, and when those that end behind *from_ns* are done; some may never have begun."""
    begins, ends = _clocked(assembled)
    due_ns, done_ns = assembled.program.statements.start_ns[begins], assembled.database.done_ns[ends]
    came, done = (_by_interval(metrics, times_ns)[:-1] for times_ns in (due_ns, done_ns[done_ns > from_ns]))
    return Flow("transactions", came, done, _begun_share(assembled))


def _when_due(assembled: Assembled, metrics: Metrics, from_ns: int) -> Metrics:
    """Return the same, in which transactions by the clock arrive when they are due: sessions note them as they end."""
    begins, ends = _clocked(assembled)
    due_ns, done_ns = assembled.program.statements.start_ns[begins], assembled.database.done_ns[ends]
    counted = due_ns >= from_ns
    arrivals = metrics.arrivals.copy()
    arrivals[:, TRANSACTION] += _by_interval(metrics, due_ns[counted])
    arrivals[:, TRANSACTION] -= _by_interval(metrics, done_ns[counted & (done_ns > 0)])
    return metrics._replace(arrivals=arrivals)


def _begun_share(assembled: Assembled) -> float:
    """Return which share of the transactions by the clock ever began: of a pass, none that was to begin after its
    client's time.
    """
    _, ends = _clocked(assembled)
    begun = assembled.database.done_ns[ends] > 0
    return float(begun.mean()) if begun.any() else 1.0


def _clocked(assembled: Assembled) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which statements begin a transaction, and which end one; of a described workload, of those by the clock."""
    statements = assembled.program.statements
    begins, ends = statements.begins == 1, statements.ends == 1
    if assembled.load.described:  # clients that go round come and go as they like
        owner = np.searchsorted(statements.session_ends, np.arange(len(begins)), "right")
        clocked = np.isin(owner, owner[statements.waits_for == CLOCK])
        begins, ends = begins & clocked, ends & clocked
    return begins, ends


def _by_interval(metrics: Metrics, times_ns: Column) -> Column:
    """Count *times_ns* by interval; the last one is open."""
    last, interval_ns = len(metrics.arrivals) - 1, int(metrics.interval_ns[0])
    return np.bincount(np.minimum(times_ns // interval_ns, last), minlength=last + 1)


def _late_ns(assembled: Assembled) -> Column:
    """Return how much later than by the clock the last transaction of each session is done.

    Of a session that was stopped before, that is when it would have been done had it gone on as it did.
    """
    program, done_ns = assembled.program, assembled.database.done_ns
    statements = program.statements
    behind = np.array(statements.session_ends)
    ends = np.flatnonzero(statements.ends)
    bounds = np.searchsorted(ends, [0, *behind])  # the sessions' first ends
    planned = np.diff(bounds)
    done = np.diff(np.append(0, np.cumsum(done_ns[ends] > 0))[bounds])
    ended_ns = np.where(done < planned, assembled.timeline_ns * planned / np.maximum(done, 1), done_ns[behind - 1])
    last = np.searchsorted(ends, behind - 1)
    due_ns = statements.start_ns[statements.begins == 1][last] + program.length_ns[last]
    late_ns: Column = np.rint(ended_ns - due_ns).astype(np.int64)
    return late_ns


def _keeps_rate(scenario: NamedScenario, assembled: Assembled) -> bool:
    """Tell whether transactions come by the clock, whatever became of others; of a described workload, if some do."""
    load = assembled.load
    if load.described:
        return bool((assembled.program.statements.waits_for == CLOCK).any())
    return by_the_clock(load, scenario.model.replay.mode)


def _judge(scenario: NamedScenario, assembled: Assembled, metrics: Metrics, outcome: Outcome) -> LoadVerdict:
    replay, load = scenario.model.replay, assembled.load
    stations, span_ns = assembled.builder.stations, assembled.span_ns
    if _keeps_rate(scenario, assembled):
        return judge(metrics, stations, span_ns, outcome.end_ns, _flow(assembled, metrics, 0))
    if load.described:
        return LoadVerdict("steady", "clients wait for each answer: there is no recorded pace to keep", 0.0)
    # clients that are given have no recorded times to be late against
    late_ns = np.zeros(0, np.int64) if replay.clients is not None else _late_ns(assembled)
    # of a load that is no whole number of sessions, or clients, what those do that run
    program, given = assembled.program, load.transactions * _load_reached(scenario, load)
    recorded = given if replay.clients is not None else program.transactions // program.rounds
    recorded = round(recorded * span_ns / load.span_ns)  # at their pace, over the time that is asked
    stopped = bool((assembled.database.done_ns == 0).any())
    sessions = Sessions(program.sessions, 0, late_ns, stopped=stopped)
    from_ns = _recording_ns(assembled)
    flow = _flow(assembled, metrics, from_ns)
    wait = _largest_wait(assembled)
    return judge_waiting(metrics, stations, span_ns, outcome.end_ns - from_ns, recorded, sessions, flow, wait)


def _largest_wait(assembled: Assembled) -> str | None:
    """Say what the statements spend most of their time on; None where they spend none."""
    spent_ns = assembled.database.spent.sum(axis=0)
    most = int(np.argmax(spent_ns))
    if not spent_ns[most]:
        return None
    return f"Most of the time of queries and commits is {WAIT_NAMES[SPENT[most]]}"


def _throughput(
    assembled: Assembled, metrics: Metrics, from_ns: int, until_ns: int, sustainable: float | None = None
) -> dict[str, Figure]:
    """Requests, statements and transactions a second over the recording's time, or the run's if that was over sooner;
    the *sustainable* share of what comes of a load that saturates, of which little ends in that time.
    """
    program, done_ns = assembled.program, assembled.database.done_ns
    inside = (done_ns > from_ns) & ((done_ns <= until_ns) | (sustainable is not None))
    counts = {
        "requests": int(metrics.completions[:-1, REQUESTS].sum()),
        "statements": int((inside & program.executed).sum()),
        "transactions": int((inside & (program.statements.ends == 1)).sum()),
    }
    first_ns = int(metrics.first_counted[0] * metrics.interval_ns[0])  # requests are counted by interval
    seconds = {name: (until_ns - (first_ns if name == "requests" else from_ns)) / NS_PER_S for name in counts}
    rates = {name: count / seconds[name] if seconds[name] > 0 else 0.0 for name, count in counts.items()}
    basis = "completed within the recording's time"
    if sustainable is not None:
        share = sustainable / _begun_share(assembled)
        rates |= {name: share * rates[name] for name in ("statements", "transactions")}
        basis = "the share of what comes that can be sustained"
    return {name: Figure(value=rate, low=rate, high=rate, resolved=True, basis=basis) for name, rate in rates.items()}


def _basis(load: StatementLoad) -> str:
    """Return where it comes from what ran when."""
    return "described" if load.described else "synthetic" if load.synthetic else "recorded"


def _locks(assembled: Assembled) -> str:
    if assembled.program.locks_rows:
        return "modelled"
    return "not modelled" if assembled.program.changes_rows(described=assembled.load.described) else "none"


def _hit_ratio(assembled: Assembled) -> float | None:
    """Return the share of the pages asked for that were in the pool."""
    program, database = assembled.program, assembled.database
    asked = float((database.calls * (np.array(program.pages) + np.array(program.other_pages))).sum())
    return 1 - int(database.pages_read.sum()) / asked if asked else None


@dataclass(frozen=True)
class _Sums:
    """What the statements counted under one name spent, by part, and the pages that they read."""

    spent_ns: Column
    pages_read: int


def _by_name(assembled: Assembled) -> dict[str, _Sums]:
    """Add up what the classes that are counted under each name did."""
    program, database = assembled.program, assembled.database
    category = np.array(program.category)
    spent_ns, pages_read = np.zeros((len(program.names), len(SPENT)), np.int64), np.zeros(len(program.names), np.int64)
    np.add.at(spent_ns, category, database.spent)
    np.add.at(pages_read, category, database.pages_read)
    return {name: _Sums(spent_ns[place], int(pages_read[place])) for place, name in enumerate(program.names)}


def _breakdown(sums: _Sums, found: dict[str, Any] | None) -> dict[str, float]:
    """Return where the time of a call of a query goes, or of a commit, on average; nothing of what was never called."""
    if found is None:
        return {}
    return {part: float(sums.spent_ns[place]) / max(found["count"], 1) for place, part in enumerate(SPENT)}


def _os_hit_ratio(assembled: Assembled, metrics: Metrics) -> float | None:
    """Return the share of the pages that the pool missed that the operating system had, behind the warm-up."""
    database, first = assembled.database, int(metrics.first_counted[0])
    for row in database.page_cache:
        asked, hit = int(row["read_pages"]), int(row["hit_pages"])
        if first:
            before = dict(zip(HISTORY, database.history[first - 1].tolist(), strict=True))
            asked, hit = asked - before["pages asked of the OS cache"], hit - before["pages hit there"]
        return hit / asked if asked else None
    return None


def _query(assembled: Assembled, name: str, sums: _Sums, found: dict[str, Any]) -> dict[str, Any]:
    """Add to the latency of a query where its time went, what it read, and what it is."""
    load = assembled.load
    return {
        **found,
        "breakdown_ns": _breakdown(sums, found),
        "physical_reads_per_call": float(sums.pages_read) / max(found["count"], 1),
        "text": None if name == OTHERS else load.texts.get(name),
        "executions": "synthesised from counters" if load.synthetic else _basis(load),
        "cpu": load.cpu_basis.get(name, "described" if load.described else "recorded"),
    }


def _cache(assembled: Assembled, metrics: Metrics, first: int, ran: int) -> str:
    """Say whether the pool was warm: its reads a transaction do not fall over the run, and it was filled until it
    missed no fewer pages, or the run itself reads as many pages as there are frames, so that a fall would show.

    The run is that from the interval *first* to before *ran*.
    """
    if assembled.cache_state == "cold":
        return "cold"
    if assembled.cache_state == "recorded" and not assembled.warmed:
        return "as recorded"
    if not assembled.warmed and int(assembled.database.pages_read.sum()) < assembled.frames:
        return NOT_WARMED
    third = max((ran - first) // 3, 1)
    parts = (slice(first, first + third), slice(ran - third, ran))
    reads = [int(metrics.completions[part, DATA_READ].sum()) for part in parts]
    transactions = [max(int(metrics.completions[part, TRANSACTION].sum()), 1) for part in parts]
    before, after = (read / count for read, count in zip(reads, transactions, strict=True))
    noise = sum(read / count**2 for read, count in zip(reads, transactions, strict=True)) ** 0.5
    return NOT_WARMED if before - after > max(_FALLS * after, _DEVIATIONS * noise) else "warm"


def _load_reached(scenario: NamedScenario, load: StatementLoad) -> float:
    rules = scenario.model.replay
    return steps_of_statements(rules, load).at(rules.load)


def _caveats(scenario: NamedScenario, assembled: Assembled) -> list[str]:
    load = assembled.load
    found = [
        *assembled.settings.caveats,
        *caveats.of_hardware(scenario),
        *caveats.short_seeks(scenario, assembled.data_bytes),
    ]
    if assembled.program.changes_rows(described=load.described):
        found += caveats.empty_caches(scenario, statements=True)
    found += caveats.of_statements(
        scenario.model,
        assembled.volumes,
        described=load.described,
        engine=assembled.settings.engine,
        clients=assembled.clients,
    )
    if is_extrapolated(load, assembled.settings):
        found.append(
            f"extrapolated: the pool of {format_bytes(assembled.settings.buffer_pool_bytes)} is more than four times as"
            " large or small as the recorded one; record with a pool nearer to it"
        )
    found += _waits_without_pauses(assembled)
    if load.quiet_ns:
        found.append(
            f"the recording has holes: hardly any statement ended in {format_ns(load.quiet_ns)} of"
            f" {format_ns(load.span_ns)}, and rates and busy shares are of all that time; record while the load runs"
        )
    counted = load.counters.found
    found += [*counted.lost_counts(), *counted.changed_settings(), *counted.counted_twice(), *counted.replayed()]
    found += [*load.fitted.contradicted, *load.counters.drift.said]
    bounded = load.fitted.bounded
    if bounded:
        found.append(
            f"no access distribution explains the misses of {', '.join(bounded)}: table scans, or a pool that was still"
            " filling; the nearest one is used"
        )
    return found


def _waits_without_pauses(assembled: Assembled) -> Iterator[str]:
    """Say how much of the waits for commits no pause holds, if it matters."""
    load, program = assembled.load, assembled.program
    remedy = (
        "describe the recorded hardware (--recorded-on)"
        if assembled.clients is None
        else 'write host.clients = "here" if they ran on the same host'
    )
    share = program.kept_waits_ns * load.transactions / max(load.sessions * load.span_ns, 1)
    if share > _SAID:
        yield (
            f"commits waited {format_ns(program.kept_waits_ns)} a transaction longer than clients paused, {share:.0%}"
            f" of their time: that was in executions or between them, where it stays as if it were work; {remedy}"
        )


#: A step is the shortest of these of which so few fill the recording's time.
_STEPS_S, _MOST_STEPS = (1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600), 10


def curve(path: Path | None, ends_ns: Column, span_ns: int, recorded_ns: int) -> dict[str, Any]:
    """Return transactions a second in each whole step of *span_ns*, of a run in which they ended at *ends_ns* of that
    time, and of the bundle at *path*, which holds no more than *recorded_ns*; None where there is none and where no
    load generator logged when they ended.
    """
    step_ns = NS_PER_S * next(
        (step for step in _STEPS_S if span_ns < (_MOST_STEPS + 1) * step * NS_PER_S), _STEPS_S[-1]
    )
    logged = None if path is None else logged_transactions(path)
    recorded = logged.end_ns - logged.start_ns.min() if logged is not None and len(logged.end_ns) else None
    return {
        "step_ns": step_ns,
        "transactions_per_s": _rates(ends_ns, step_ns, span_ns),
        "recorded_transactions_per_s": (
            None if recorded is None else _rates(recorded, step_ns, min(span_ns, recorded_ns))
        ),
    }


def _rates(ends_ns: Column, step_ns: int, span_ns: int) -> list[float]:
    """Return what ends in a second of each step; one that lacks less than a twentieth is whole."""
    starts_ns = np.arange((span_ns + step_ns // 20) // step_ns) * step_ns
    lengths_ns = np.minimum(step_ns, span_ns - starts_ns)
    inside = (ends_ns >= 0) & (ends_ns < span_ns)
    counts = np.bincount(ends_ns[inside] // step_ns, minlength=len(starts_ns))[: len(starts_ns)]
    rates: list[float] = (counts * NS_PER_S / lengths_ns).tolist()
    return rates
