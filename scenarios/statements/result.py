"""What a run of statements says: latency of transactions, commits, queries; where their time went; what bounds them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim import __version__
from tiersim.devices.cloud.token_bucket import balances
from tiersim.devices.station_records import NEVER, Plant
from tiersim.scenarios import without_effect
from tiersim.scenarios.calibration.synthesis.schedule import logged_transactions
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model_error import model_error_of
from tiersim.scenarios.replay import caveats_of, parameters_assumed
from tiersim.scenarios.statements.assembly import Assembled, is_extrapolated
from tiersim.scenarios.statements.checkpoint_results import (
    Course,
    checkpoints_of,
    database_table,
    impact_of,
    log_of,
)
from tiersim.scenarios.statements.programs import COMMIT, OTHERS
from tiersim.scenarios.statements.schedule import by_the_clock
from tiersim.scenarios.statements.statement_load import Load as StatementLoad
from tiersim.simulator import verdict
from tiersim.simulator.categories import CATEGORIES, FIRST_CLASS, OF_DATABASES, REQUESTS, TRANSACTION
from tiersim.simulator.commands import Outcome
from tiersim.simulator.database.database_state import CLOCK, COUNTED_FROM, SPENT, Database
from tiersim.simulator.figures import Figure
from tiersim.simulator.metrics import Metrics
from tiersim.simulator.result import SCHEMA, Result
from tiersim.simulator.summary import (
    conservation,
    latencies,
    latency_table,
    station_figures,
    station_timeline,
    timeline,
)
from tiersim.simulator.verdict import Flow, Load, Sessions, judge, judge_waiting, to_blame, utilisation
from tiersim.traces.schema import DATA_READ
from tiersim.units import NS_PER_S, format_bytes

#: Of a pool whose reads a transaction fall by more than this share from the first third of a run to the last, and by
#: more than so many standard deviations, the state at time 0 was not that of a pool that has run for long.
_FALLS, _DEVIATIONS = 0.05, 4.0

Column = NDArray[np.int64]
#: How sentences call what statements spend time on.
_WAITS = dict(
    zip(
        SPENT,
        ("CPU", "waiting for a core", "data reads", "eviction", "the log", "row locks", "temporary files", "copies"),
        strict=True,
    )
)


def summarise_statements(
    scenario: NamedScenario,
    assembled: Assembled,
    plant: Plant,
    metrics: Metrics,
    outcome: Outcome,
    trace: dict[str, Any],
) -> Result:
    """Make the result of a run; *trace* describes the recording."""
    stations = assembled.builder.stations
    program, load = assembled.program, assembled.load
    intervals, interval_ns = len(metrics.arrivals) - 1, int(metrics.interval_ns[0])
    ran = min(
        max(-(-outcome.end_ns // interval_ns), 1), intervals
    )  # a closed loop may be over sooner than the recording was
    judged = _judge(scenario, assembled, metrics, outcome)
    balance = balances(plant, outcome.end_ns)
    busiest = max(to_blame(utilisation(metrics, stations, 0, ran - 1), stations), default=(0.0, 0, 0))
    names = ["" if name == "processor" else name for name in (*CATEGORIES, *OF_DATABASES)]
    names[names.index("statement")] = ""  # commits that nobody counted are among them
    own = [name if name == COMMIT else f"query {name}" for name in program.names]
    from_ns, until_ns = _counted_time(assembled, outcome)
    course = _course(assembled, metrics, from_ns, until_ns)
    done = assembled.database.done_ns > 0  # who goes round does not come to all of it
    transactions = int((done & (program.statements.ends == 1)).sum())
    first = -(-from_ns // interval_ns)  # that is counted
    figures = latencies(metrics, judged, [*names, *own])
    queries = {name: figures.pop(f"query {name}", None) for name in program.names if name != COMMIT}
    sums = _by_name(assembled)
    figures_of_stations = station_figures(plant, stations, metrics, outcome, ran)
    believed: dict[str, Any] = {
        "load": judged.verdict,
        "calibration": "none",
        "cache": _cache(assembled, metrics, min(first, ran - 1), ran),
        "arrivals": _basis(load),
        "locks": "modelled" if program.locks_rows else "not modelled",
    } | ({"credits": verdict.credits_state(balance)} if balance else {})
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
        "load": {
            "explanation": judged.explanation + verdict.explain_credits(balance, stations, outcome.end_ns),
            "station": judged.station,
            "resource": judged.resource,
            "since_ns": judged.since_ns,
            "sustainable_load": judged.sustainable_load,
        },
        "bottleneck": {
            "station": stations[busiest[1]].name,
            "resource": stations[busiest[1]].resources[busiest[2]],
            "utilisation": busiest[0],
        },
        "commands": int((program.executed & done).sum()),
        "throughput_per_s": _throughput(assembled, metrics, from_ns, until_ns),
        "throughput_over_time": curve(None if load.described else load.path, assembled.database, assembled.span_ns),
        "throughput_shortfall_pct": judged.shortfall_pct,
        "hit_ratio": {"pool": _hit_ratio(assembled), "os_cache": _os_hit_ratio(assembled)},
        "latency_ns": figures,
        "commit_breakdown_ns": _breakdown(sums[COMMIT], figures.get(COMMIT)),
        "queries": {
            name: _query(assembled, name, sums[name], found) for name, found in queries.items() if found is not None
        },
        "stations": figures_of_stations,
        "host": {**assembled.settings.host, "utilisation": figures_of_stations["processors"]["utilisation"]["cores"]},
        "engine": {**assembled.settings.engine, "frames": assembled.frames},
        "settings_from": assembled.settings.basis,
        "extrapolated": is_extrapolated(load, assembled.settings),
        "inferred": list(load.inferred),
        "replay": {
            "mode": scenario.model.replay.mode,
            "keeps": "rate" if by_the_clock(load, scenario.model.replay.mode) else "clients",
            "load": scenario.model.replay.load,
            "sessions": assembled.program.sessions,
            "transactions": program.transactions,
            "transactions_done": transactions,
            "counted_ns": {"from": from_ns, "until": until_ns},
        },
        "checkpoints": checkpoints_of(course),
        "checkpoint_impact": None if judged.verdict == "saturated" else impact_of(course),
        "log": log_of(assembled.database, transactions),
        "measured_latency_ns": {},
        "assumed": parameters_assumed(scenario),
        "caveats": _caveats(scenario, assembled),
        "conservation": conservation(plant, stations, outcome),
    }
    if balance:
        summary["credits"] = verdict.describe_credits(balance, stations, outcome.end_ns)
    return Result(
        summary=summary,
        latency=latency_table(metrics, [*names, *own]),
        timeline=timeline(metrics, [*names, *own]),
        stations=station_timeline(metrics, stations),
        scenario_toml=scenario.to_toml(),
        database=database_table(course, outcome.end_ns),
    )


def _counted_time(assembled: Assembled, outcome: Outcome) -> tuple[int, int]:
    """Return begin and end of the time that is counted: the recording's, or the run's if that was over sooner."""
    from_ns = int(assembled.database.counted_ns[COUNTED_FROM])
    return from_ns, max(min(assembled.timeline_ns, outcome.end_ns), from_ns)


def _first_out_ns(assembled: Assembled) -> int:
    """Return when the first of the clients that go round had nothing left to do, which leaves the hardware to the
    others.
    """
    last_ns = assembled.database.done_ns[np.array(assembled.program.statements.session_ends) - 1]
    return int(last_ns[last_ns > 0].min(initial=NEVER)) if assembled.stops else NEVER


def _course(assembled: Assembled, metrics: Metrics, from_ns: int, until_ns: int) -> Course:
    """Return what tells of checkpoints, over the time that is counted and in which all clients have something to do."""
    program, database = assembled.program, assembled.database
    done_ns = database.done_ns[program.statements.ends == 1]
    classes = {"transaction": TRANSACTION, COMMIT: FIRST_CLASS + program.names.index(COMMIT)}
    until_ns = max(min(until_ns, _first_out_ns(assembled)), from_ns)
    return Course(database, metrics, classes, np.sort(done_ns[done_ns > from_ns]), from_ns, until_ns)


def _flow(assembled: Assembled, metrics: Metrics, from_ns: int) -> Flow:
    """Return when transactions come, and when those that end behind *from_ns* are done; some may never have begun."""
    intervals, interval_ns = len(metrics.arrivals) - 1, int(metrics.interval_ns[0])
    statements, done_ns = assembled.program.statements, assembled.database.done_ns

    def by_interval(times_ns: Column) -> Column:
        return np.bincount(np.minimum(times_ns // interval_ns, intervals), minlength=intervals + 1)[:intervals]

    begins, ends = statements.begins == 1, (statements.ends == 1) & (done_ns > from_ns)
    if assembled.load.described:  # clients that go round come and go as they like
        owner = np.searchsorted(statements.session_ends, np.arange(len(begins)), "right")
        clocked = np.isin(owner, owner[statements.waits_for == CLOCK])
        begins, ends = begins & clocked, ends & clocked
    return Flow("transactions", by_interval(statements.start_ns[begins]), by_interval(done_ns[ends]))


def _late_ns(assembled: Assembled) -> Column:
    """Return how much later than by the clock the last transaction of each session is done.

    Of a session that was stopped before, that is when it would have been done had it gone on as it did.
    """
    program, done_ns = assembled.program, assembled.database.done_ns
    statements = program.statements
    behind = np.array(statements.session_ends)
    ends = np.flatnonzero(statements.ends)
    session = np.searchsorted(behind, ends, "right")
    planned = np.bincount(session, minlength=len(behind))
    done = np.bincount(session[done_ns[ends] > 0], minlength=len(behind))
    ended_ns = np.where(done < planned, assembled.timeline_ns * planned / np.maximum(done, 1), done_ns[behind - 1])
    last = np.searchsorted(ends, behind - 1)
    due_ns = statements.start_ns[statements.begins == 1][last] + program.length_ns[last]
    late_ns: Column = np.rint(ended_ns - due_ns).astype(np.int64)
    return late_ns


def _judge(scenario: NamedScenario, assembled: Assembled, metrics: Metrics, outcome: Outcome) -> Load:
    replay, load = scenario.model.replay, assembled.load
    stations, span_ns = assembled.builder.stations, assembled.span_ns
    if load.described and not (assembled.program.statements.waits_for == CLOCK).any():
        return Load("steady", "clients wait for each answer: there is no recorded pace to keep", 0.0)
    if load.described or by_the_clock(load, replay.mode):
        return judge(metrics, stations, span_ns, outcome.end_ns, _flow(assembled, metrics, 0))
    # clients that are given have no recorded times to be late against
    late_ns = np.zeros(0, np.int64) if replay.clients is not None else _late_ns(assembled)
    recorded = round(load.transactions * (1.0 if replay.clients is not None else replay.load))
    stopped = bool((assembled.database.done_ns == 0).any())
    sessions = Sessions(replay.load, assembled.program.sessions, 0, late_ns, stopped)
    from_ns = assembled.timeline_ns - span_ns  # the warm-up, where the time of the recording comes behind it
    flow = _flow(assembled, metrics, from_ns)
    wait = _largest_wait(assembled)
    return judge_waiting(metrics, stations, span_ns, outcome.end_ns - from_ns, recorded, sessions, flow, wait)


def _largest_wait(assembled: Assembled) -> str | None:
    """Say what the statements spend most of their time on; None where they spend none."""
    spent_ns = assembled.database.spent.sum(axis=0)
    most = int(np.argmax(spent_ns))
    if not spent_ns[most]:
        return None
    return f"{100 * spent_ns[most] / spent_ns.sum():.0f} % of the time of queries and commits is {_WAITS[SPENT[most]]}"


def _throughput(assembled: Assembled, metrics: Metrics, from_ns: int, until_ns: int) -> dict[str, Figure]:
    """Requests, statements and transactions a second over the recording's time, or the run's if
    that was over sooner.
    """
    program, done_ns = assembled.program, assembled.database.done_ns
    inside = (done_ns > from_ns) & (done_ns <= until_ns)
    counts = {
        "requests": int(metrics.completions[:-1, REQUESTS].sum()),
        "statements": int((inside & program.executed).sum()),
        "transactions": int((inside & (program.statements.ends == 1)).sum()),
    }
    seconds = {name: (until_ns - (0 if name == "requests" else from_ns)) / NS_PER_S for name in counts}
    rates = {name: count / seconds[name] if seconds[name] > 0 else 0.0 for name, count in counts.items()}
    basis = "completed within the recording's time"
    return {name: Figure(value=rate, low=rate, high=rate, resolved=True, basis=basis) for name, rate in rates.items()}


def _basis(load: StatementLoad) -> str:
    """Return where it comes from what ran when."""
    return "described" if load.described else "synthetic" if load.synthetic else "recorded"


def _calls(assembled: Assembled) -> Column:
    """Count the statements of each class that are in the statistics."""
    counted = assembled.database.done_ns > assembled.database.counted_ns[COUNTED_FROM]
    return np.bincount(assembled.program.statements.classes[counted], minlength=len(assembled.program.classes))


def _hit_ratio(assembled: Assembled) -> float | None:
    """Return the share of the pages asked for that were in the pool."""
    program = assembled.program
    asked = float((_calls(assembled) * (np.array(program.pages) + np.array(program.other_pages))).sum())
    return 1 - int(assembled.database.pages_read.sum()) / asked if asked else None


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


def _os_hit_ratio(assembled: Assembled) -> float | None:
    """Return the share of the pages that the pool missed that the operating system had."""
    for row in assembled.database.page_cache:
        return int(row["hit_pages"]) / int(row["read_pages"]) if row["read_pages"] else None
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
    """Say whether the pool was warm: it was filled until it missed no fewer pages, and its reads a transaction do not
    fall over the run.

    The run is that from the interval *first* to before *ran*.
    """
    if assembled.cache_state == "cold":
        return "cold"
    if assembled.cache_state == "recorded" and not assembled.warmed:
        return "as recorded"
    if not assembled.warmed:
        return "not warmed"
    third = max((ran - first) // 3, 1)
    parts = (slice(first, first + third), slice(ran - third, ran))
    reads = [int(metrics.completions[part, DATA_READ].sum()) for part in parts]
    transactions = [max(int(metrics.completions[part, TRANSACTION].sum()), 1) for part in parts]
    before, after = (read / count for read, count in zip(reads, transactions, strict=True))
    noise = sum(read / count**2 for read, count in zip(reads, transactions, strict=True)) ** 0.5
    return "not warmed" if before - after > max(_FALLS * after, _DEVIATIONS * noise) else "warm"


def _caveats(scenario: NamedScenario, assembled: Assembled) -> list[str]:
    load = assembled.load
    found = [*assembled.settings.caveats, *caveats_of(scenario)]
    found += without_effect.of_statements(
        scenario.model, assembled.volumes, described=load.described, calibrated=assembled.calibrated
    )
    if is_extrapolated(load, assembled.settings):
        found.append(
            f"extrapolated: the pool of {format_bytes(assembled.settings.buffer_pool_bytes)} is more than four times as"
            " large or small as the recorded one; record with a pool nearer to it"
        )
    found += [*load.fitted.contradicted, *load.counters.drift.said]
    bounded = load.fitted.bounded
    if bounded:
        found.append(
            f"no access distribution explains the misses of {', '.join(bounded)}: table scans, or a pool that was still"
            " filling; the nearest one is used"
        )
    return found


#: A step is the shortest of these of which so few fill the recording's time.
_STEPS_S, _MOST_STEPS = (1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600), 10


def curve(path: Path | None, database: Database, span_ns: int) -> dict[str, Any]:
    """Return transactions a second in each whole step of *span_ns*, of a run and of the bundle at *path*, None where
    there is none and where no load generator logged when they ended.
    """
    step_ns = NS_PER_S * next(
        (step for step in _STEPS_S if span_ns < (_MOST_STEPS + 1) * step * NS_PER_S), _STEPS_S[-1]
    )
    logged = None if path is None else logged_transactions(path)
    recorded = logged.end_ns - logged.start_ns.min() if logged is not None and len(logged.end_ns) else None
    done_ns = database.done_ns[(database.ends > 0) & (database.done_ns > 0)]
    return {
        "step_ns": step_ns,
        "transactions_per_s": _rates(done_ns, step_ns, span_ns),
        "recorded_transactions_per_s": None if recorded is None else _rates(recorded, step_ns, span_ns),
    }


def _rates(ends_ns: Column, step_ns: int, span_ns: int) -> list[float]:
    """Return what ends in a second of each step; one that lacks less than a twentieth is whole."""
    starts_ns = np.arange((span_ns + step_ns // 20) // step_ns) * step_ns
    lengths_ns = np.minimum(step_ns, span_ns - starts_ns)
    counts = np.bincount(ends_ns[ends_ns < span_ns] // step_ns, minlength=len(starts_ns))[: len(starts_ns)]
    rates: list[float] = (counts * NS_PER_S / lengths_ns).tolist()
    return rates
