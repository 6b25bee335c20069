"""What a run of statements says: latency of transactions, commits and queries, where their time went, what bounds them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim import __version__
from tiersim.devices.tables import Plant
from tiersim.devices.token_bucket import balances
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import caveats_of, parameters_assumed
from tiersim.scenarios.statements.assembly import Assembled, is_extrapolated
from tiersim.scenarios.statements.programs import COMMIT, OTHERS
from tiersim.scenarios.statements.schedule import by_the_clock
from tiersim.simulator import credits
from tiersim.simulator.categories import CATEGORIES, OF_DATABASES, REQUESTS, TRANSACTION
from tiersim.simulator.commands import Outcome
from tiersim.simulator.database.tables import COUNTED_FROM, SPENT
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

#: Of a pool whose reads a transaction fall by more than this share from the first third of a run to the last, and by more than so many
#: standard deviations, the state at time 0 was not that of a pool that has run for long.
_FALLS, _DEVIATIONS = 0.05, 4.0

Column = NDArray[np.int64]


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
    flow, late_ns = _flow(assembled, intervals, interval_ns)
    judged = _judge(scenario, assembled, metrics, outcome, flow, late_ns)
    balance = balances(plant, outcome.end_ns)
    busiest = max(to_blame(utilisation(metrics, stations, 0, ran - 1), stations), default=(0.0, 0, 0))
    names = ["" if name == "processor" else name for name in (*CATEGORIES, *OF_DATABASES)]
    names[names.index("statement")] = ""  # commits that nobody counted are among them
    own = [name if name == COMMIT else f"query {name}" for name in program.names]
    figures = latencies(metrics, judged, [*names, *own])
    queries = {name: figures.pop(f"query {name}", None) for name in program.names if name != COMMIT}
    figures_of_stations = station_figures(plant, stations, metrics, outcome, ran)
    summary: dict[str, Any] = {
        "schema": SCHEMA,
        "name": scenario.name,
        "tool_version": __version__,
        "description": scenario.description,
        "seed": assembled.builder.seed,
        "level": "statements",
        "trace": trace,
        "verdict": {
            "load": judged.verdict,
            "calibration": "none",
            "cache": _cache(scenario, assembled, metrics, ran),
            "arrivals": "synthetic" if load.synthetic else "recorded",
            "locks": "modelled" if program.locks_rows else "not modelled",
        }
        | ({"credits": credits.state(balance)} if balance else {}),
        "load": {
            "explanation": judged.explanation + credits.explain(balance, stations, outcome.end_ns),
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
        "commands": int(program.executed.sum()),
        "throughput_per_s": _throughput(assembled, metrics, outcome),
        "throughput_shortfall_pct": judged.shortfall_pct,
        "hit_ratio": {"pool": _hit_ratio(assembled), "os_cache": None},
        "latency_ns": figures,
        "queries": {name: _query(assembled, name, found) for name, found in queries.items() if found is not None},
        "stations": figures_of_stations,
        "host": {**assembled.settings.host, "utilisation": figures_of_stations["processors"]["utilisation"]["cores"]},
        "engine": {**assembled.settings.engine, "frames": assembled.frames},
        "settings_from": assembled.settings.basis,
        "extrapolated": is_extrapolated(load, assembled.settings),
        "inferred": list(load.inferred),
        "replay": {
            "mode": scenario.model.replay.mode,
            "load": scenario.model.replay.load,
            "sessions": assembled.program.sessions,
            "transactions": program.transactions,
        },
        "checkpoints": [],
        "measured_latency_ns": {},
        "assumed": parameters_assumed(scenario),
        "caveats": _caveats(scenario, assembled),
        "conservation": conservation(plant, stations, outcome),
    }
    if balance:
        summary["credits"] = credits.described(balance, stations, outcome.end_ns)
    return Result(
        summary=summary,
        latency=latency_table(metrics, [*names, *own]),
        timeline=timeline(metrics, [*names, *own]),
        stations=station_timeline(metrics, stations),
        scenario_toml=scenario.to_toml(),
    )


def _flow(assembled: Assembled, intervals: int, interval_ns: int) -> tuple[Flow, Column]:
    """Return when transactions come and are done, and how much later than by the clock the last one of each session is done."""
    program, database = assembled.program, assembled.database
    ends = np.flatnonzero(program.statements.ends)
    begins = np.flatnonzero(program.statements.begins)
    done_ns = database.done_ns[ends]
    start_ns = program.statements.start_ns[begins]

    def by_interval(times_ns: Column) -> Column:
        return np.bincount(np.minimum(times_ns // interval_ns, intervals), minlength=intervals + 1)[:intervals]

    last = np.array(program.statements.session_ends) - 1
    of_last = np.searchsorted(ends, last)
    late_ns = database.done_ns[last] - start_ns[of_last] - program.length_ns[of_last]
    return Flow("transactions", by_interval(start_ns), by_interval(done_ns)), late_ns


def _judge(
    scenario: NamedScenario, assembled: Assembled, metrics: Metrics, outcome: Outcome, flow: Flow, late_ns: Column
) -> Load:
    replay, load = scenario.model.replay, assembled.load
    stations, span_ns = assembled.builder.stations, assembled.span_ns
    if by_the_clock(load, replay.mode):
        return judge(metrics, stations, span_ns, outcome.end_ns, flow)
    if replay.clients is not None:  # they have no recorded times to be late against
        late_ns = np.zeros(0, np.int64)
    recorded = round(load.transactions * (1.0 if replay.clients is not None else replay.load))
    sessions = Sessions(replay.load, assembled.program.sessions, 0, late_ns)
    return judge_waiting(metrics, stations, span_ns, outcome.end_ns, recorded, sessions, flow)


def _throughput(assembled: Assembled, metrics: Metrics, outcome: Outcome) -> dict[str, Figure]:
    """Requests, statements and transactions a second over the recording's time, or the run's if that was over sooner."""
    program, done_ns = assembled.program, assembled.database.done_ns
    from_ns = int(assembled.database.counted_ns[COUNTED_FROM])
    until_ns = min(from_ns + assembled.span_ns, outcome.end_ns)
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


def _calls(assembled: Assembled) -> Column:
    """Count the statements of each class that are in the statistics."""
    counted = assembled.database.done_ns > assembled.database.counted_ns[COUNTED_FROM]
    return np.bincount(assembled.program.statements.classes[counted], minlength=len(assembled.program.classes))


def _hit_ratio(assembled: Assembled) -> float | None:
    """Return the share of the pages asked for that were in the pool."""
    program = assembled.program
    asked = float((_calls(assembled) * (np.array(program.pages) + np.array(program.other_pages))).sum())
    return 1 - int(assembled.database.pages_read.sum()) / asked if asked else None


def _query(assembled: Assembled, name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Add to the latency of a query where its time went, what it read, and what it is."""
    program, database, load = assembled.program, assembled.database, assembled.load
    classes = np.flatnonzero(np.array(program.category) == program.names.index(name))
    calls = max(found["count"], 1)
    spent = database.spent[classes].sum(axis=0)
    return {
        **found,
        "breakdown_ns": {part: float(spent[place]) / calls for place, part in enumerate(SPENT)},
        "physical_reads_per_call": float(database.pages_read[classes].sum()) / calls,
        "text": None if name == OTHERS else load.texts.get(name),
        "executions": "synthesised from counters" if load.synthetic else "recorded",
        "cpu": load.cpu_basis.get(name, "recorded"),
    }


def _cache(scenario: NamedScenario, assembled: Assembled, metrics: Metrics, ran: int) -> str:
    """Say whether the pool was warm: it was filled until it missed no fewer pages, and its reads a transaction do not fall over the run."""
    if scenario.model.replay.cache_state == "cold":
        return "cold"
    if not assembled.warmed:
        return "not warmed"
    third = max(ran // 3, 1)
    parts = (slice(0, third), slice(ran - third, ran))
    reads = [int(metrics.completions[part, DATA_READ].sum()) for part in parts]
    transactions = [max(int(metrics.completions[part, TRANSACTION].sum()), 1) for part in parts]
    first, last = (read / count for read, count in zip(reads, transactions, strict=True))
    noise = sum(read / count**2 for read, count in zip(reads, transactions, strict=True)) ** 0.5
    return "not warmed" if first - last > max(_FALLS * last, _DEVIATIONS * noise) else "warm"


def _caveats(scenario: NamedScenario, assembled: Assembled) -> list[str]:
    found = [*assembled.settings.caveats, *caveats_of(scenario)]
    if is_extrapolated(assembled.load, assembled.settings):
        found.append(
            f"extrapolated: a pool of {format_bytes(assembled.settings.buffer_pool_bytes)} is more than four times as large or small as the recorded one"
        )
    bounded = assembled.load.fitted.bounded
    if bounded:
        found.append(
            f"no law fits what was missed of {', '.join(bounded)}: they may be scanned, or the pool was still filling"
        )
    return found
