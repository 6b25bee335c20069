"""One recording of statements on one scenario, from the bundle to the result."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.parallel import side_by_side
from tiersim.scenarios.calibration.cpu_and_waits import READ_NS
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.caveats import (
    ARRIVALS,
    COUNTED,
    OTHER_READS,
    PARALLEL,
    PAUSES,
    WAITS,
    model_error_of,
)
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS, PlayedRecording, entries_of, seen_by, streams_on
from tiersim.scenarios.statements.assembly import Assembled, Shared, assemble
from tiersim.scenarios.statements.calibration import (
    are_elsewhere,
    calibrate,
    costs_of_recording,
    host_time_of,
)
from tiersim.scenarios.statements.calibration_verdict import stamped
from tiersim.scenarios.statements.loads import Loads
from tiersim.scenarios.statements.ranges import DRAWS, LAWS, Draw, draws_of, with_range, with_waits
from tiersim.scenarios.statements.recorded_host import part_of
from tiersim.scenarios.statements.result import summarise_statements
from tiersim.scenarios.statements.statement_load import (
    LEAST_WAITS,
    LIKELY_WAITS,
    MOST_WAITS,
    StatementLoad,
)
from tiersim.scenarios.tails import with_tails
from tiersim.simulator.categories import COUNT, FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import ended_statements, with_statements
from tiersim.simulator.database.database_state import SESSIONS_OVER, Database
from tiersim.simulator.metrics import Metrics, new_metrics, of_columns
from tiersim.simulator.result import Result
from tiersim.simulator.streams import NO_STREAMS, Streams
from tiersim.simulator.taps import FIRST_TAPS, tapped
from tiersim.traces.bundle import Bundle
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.units import NS_PER_US, format_ns

#: Receives a finished run and the requests to its volumes; returns False if some of these were not noted.
Tap = Callable[[Assembled, Metrics], bool]
#: Clients are through early before this share of their time; what they then do more is so many times what they seem to
#: need, and no more statements than these, or than those where a time is asked, each of which takes some 150 bytes.
#: When they will be through shows once they have done this share.
_THROUGH, _SPARE, _MOST_STATEMENTS, _MOST_ASKED = 0.95, 1.1, 2_000_000, 40_000_000
_TOLD = 0.5
_COUNTED_SAID = (
    "CPU of {} is what they used on the recorded host; where its storage was slower, the extra CPU after long waits is"
    " taken off"
)
_HERE, _ELSEWHERE = "queries, reads and clients", "sessions and reads"
#: Work of other processes is said from this share of the processors' time on; in 36 recordings without any at most 0.06
#: was not accounted for.
_LEAST_OTHER = 0.1
_OTHER_WORK = (
    "other work kept {:.2g} of the {} recorded processors busy; it is left out here, and the recorded transactions"
    " may have waited for it"
)
_BUSY_SAID = (
    "CPU of a transaction is that of the recorded host, which was busy for {:.0%} of the time, divided by how many"
    f" ended; {READ_NS / NS_PER_US:g} µs of it are assumed for each page read"
)


def replay_statements_all(
    bundle: Bundle,
    scenarios: Sequence[NamedScenario],
    *,
    recorded_on: NamedScenario | None = None,
    ranges: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Run the statements of a bundle on every scenario, as many at a time as there are processors; loads are
    synthesised once for each seed.

    With *recorded_on*, a scenario of the recorded hardware, statements cost what they cost there, and each result says
    how well a run on that hardware agrees with the recording. With *ranges*, a result also says how far it may be off:
    by what the recording leaves open, or, without *recorded_on*, by what may have been waits for the recorded storage.
    *progress* is called with the statements that have ended in all runs together, and how many there will be.
    """
    runs = [*scenarios, *([] if recorded_on is None else [recorded_on])]
    loads, shared = Loads(bundle.path, recorded_on, LAWS * len(runs)), Shared()
    processor = None if recorded_on is None else calibrate(loads.of(recorded_on), recorded_on, shared)
    by_counters = recorded_on is not None and loads.of(recorded_on).logical_reads is None
    parts = [part_of(loads.of(one), one) for one in scenarios] if ranges and by_counters else []
    statements = sum(len(loads.of(one)) for one in runs)
    done = _Done(progress, statements + sum((1 + DRAWS) * len(part) for part in parts))

    def run(scenario: NamedScenario, note: Callable[[int], None]) -> Result:
        load = loads.of(scenario)
        return replay_statements(load, scenario, processor=processor, shared=shared, progress=note)

    results = side_by_side([partial(run, scenario) for scenario in runs], done.next(statements))
    if recorded_on is None:
        return _between_ends(results, scenarios, loads, shared, done) if ranges else results
    assert processor is not None
    results = stamped(results[:-1], results[-1], loads.of(recorded_on), processor)
    if parts:
        results = _with_draws(results, scenarios, parts, loads, processor, done)
    return [with_tails(one) for one in results] if by_counters else results


class _Done:
    """How many statements of all runs have ended, for a progress bar; ``total`` may grow."""

    def __init__(self, progress: Callable[[int, int], None] | None, total: int) -> None:
        self._progress, self._before, self.total = progress, 0, total

    def next(self, count: int, each: int = 1) -> Callable[[int], None]:
        """Return what hears how many of the next *count* parts of *each* statements have ended."""
        before = self._before
        self._before += count * each

        def hear(done: int) -> None:
            if self._progress is not None:
                self._progress(before + each * done, self.total)

        return hear


def _between_ends(
    results: Sequence[Result], scenarios: Sequence[NamedScenario], loads: Loads, shared: Shared, done: _Done
) -> list[Result]:
    """Return *results*, those whose error is that of recorded waits with their range."""
    which = [one.summary["verdict"].get("error") == WAITS for one in results]
    counts = [2 * len(loads.of(scenario)) for scenario in scenarios]
    done.total += sum(count for count, is_unknown in zip(counts, which, strict=True) if is_unknown)
    return [
        between_waits(result, scenario, loads.of(scenario), shared, done.next(count)) if is_unknown else result
        for result, scenario, count, is_unknown in zip(results, scenarios, counts, which, strict=True)
    ]


def _with_draws(
    results: Sequence[Result],
    scenarios: Sequence[NamedScenario],
    parts: Sequence[StatementLoad],
    loads: Loads,
    processor: ProcessorCosts,
    done: _Done,
) -> list[Result]:
    """Return calibrated *results* with the range of what their recording leaves open, as *parts* of the loads tell."""
    draws: dict[int, list[Draw]] = {}
    shared = Shared()

    def run(scenario: NamedScenario, load: StatementLoad, costs: ProcessorCosts) -> Result:
        return replay_statements(load, scenario, processor=costs, shared=shared, goes_on=False)

    found = []
    for result, scenario, part in zip(results, scenarios, parts, strict=True):
        seed = scenario.model.replay.seed
        if seed not in draws:
            draws[seed] = draws_of(part, processor, seed)
        note = done.next(1 + DRAWS, len(part))
        if result.summary["verdict"].get("error") == WAITS:  # draws leave out how long these were
            note(1 + DRAWS)
        else:  # the statements in the arrangements of several seeds
            arranged = [part, *(part_of(loads.of(scenario, number), scenario) for number in range(1, LAWS))]
            result = with_range(result, scenario, arranged, processor, draws[seed], run, note)
        found.append(result)
    return found


def between_waits(
    result: Result,
    scenario: NamedScenario,
    load: StatementLoad,
    shared: Shared,
    progress: Callable[[int], None],
    beside: Sequence[PlayedRecording] = (),
) -> Result:
    """Return a *result* with the range of what may be waits of its recording, simulated at both ends; *beside* others
    as :func:`replay_statements`.
    """
    ends = [replace(load, waits=waits) for waits in (LEAST_WAITS, MOST_WAITS)]

    def run(one: StatementLoad, note: Callable[[int], None]) -> Result:
        return replay_statements(one, scenario, shared=shared, progress=note, beside=beside)

    return with_waits(result, side_by_side([partial(run, one) for one in ends], progress))


def replay_statements(
    load: StatementLoad,
    scenario: NamedScenario,
    *,
    processor: ProcessorCosts | None = None,
    shared: Shared | None = None,
    trace: dict[str, Any] | None = None,
    goes_on: bool = True,
    progress: Callable[[int], None] | None = None,
    tap: Tap | None = None,
    beside: Sequence[PlayedRecording] = (),
) -> Result:
    """Replay the statements of *load*, recorded or synthesised, as the scenario says (``docs/statements.md``).

    *processor* says what they cost the recorded host's processors; without it they cost what was recorded. *shared* has
    what was made for a run before this one, *trace* what :func:`trace_of` says of the load. *goes_on*: clients that are
    through early begin anew, until the time of the recording is over. *progress* is called with the number of
    statements that have ended, *tap* with what the run asked of each volume. *beside* it, on the same hardware, run
    recordings: all but the first, which is its own, and says what limits it. Raises ScenarioError or TraceError.
    """
    rounds = further = 1
    rows = FIRST_TAPS
    while further:
        others: list[Streams] = []

        def enter(builder: PlantBuilder, entry: Mapping[str, int], others: list[Streams] = others) -> Mapping[str, int]:
            own, *theirs = entries_of(builder, entry, beside)
            others.append(streams_on(builder, theirs, beside[1:]) if theirs else NO_STREAMS)
            return own

        going = _GoingRound(assemble(load, scenario, processor, shared, enter if beside else None), rounds)
        assembled = going.assembled
        interval_ns = max(-(-assembled.timeline_ns // INTERVALS), 1)
        columns = FIRST_CLASS + len(assembled.program.names)
        warmup_ns = scenario.model.replay.warmup
        stations = len(assembled.builder.stations)
        theirs = COUNT * len(beside[1:])
        metrics = new_metrics(
            columns + theirs, stations, RESOURCES, INTERVALS + 1, interval_ns, counted_from_ns=warmup_ns
        )
        if tap is not None:
            metrics = tapped(metrics, np.array(list(assembled.entry.values())), rows)
        plant, outcome = engine.run_database(
            assembled.plant,
            assembled.database,
            metrics,
            progress=_up_to(load, scenario, progress),
            more=going.more if goes_on else None,
            beside=others[0] if others else NO_STREAMS,
        )
        metrics = of_columns(metrics, slice(columns))
        assembled = going.assembled
        further = _further_rounds(assembled, outcome.end_ns, going.rounds) if goes_on else 0
        rounds = going.rounds + further
        if further:
            continue
        trace = trace_of(load) if trace is None else trace
        if beside:
            assembled.builder.stations[:] = seen_by(0, beside, assembled.builder.stations)
        result = summarise_statements(scenario, assembled, plant, metrics, outcome, trace)
        counted = _counted_costs(result, load, scenario, shared) if processor is None else None
        if counted is not None:
            again = replay_statements(
                load,
                scenario,
                processor=counted,
                shared=shared,
                trace=trace,
                goes_on=goes_on,
                tap=tap,
                beside=beside,
            )
            return _by_counted_cpu(again, load, counted)
        if tap is not None and not tap(assembled, metrics):
            rows, further = int(metrics.tap_count[0]), 1  # once more, with room for all
    return result


def _counted_costs(
    result: Result, load: StatementLoad, scenario: NamedScenario, shared: Shared | None
) -> ProcessorCosts | None:
    """Return what the recorded processors were counted to do, where that is known and the error of a *result* is not
    that of its engine.
    """
    if load.manifest.host.get("engine") in INNODB_ENGINES or load.waits != LIKELY_WAITS:
        return None
    shared = shared or Shared()
    # that host is the same for all, whatever its cores
    hardware = f"{scenario.on_recorded_host(1).identity} {are_elsewhere(scenario)}"
    return shared.costs(load, hardware, lambda: costs_of_recording(load, scenario, shared))


def _by_counted_cpu(result: Result, load: StatementLoad, counted: ProcessorCosts) -> Result:
    """Return a *result* that says that its CPU was *counted* on the recorded host, and has the errors of such ones."""
    summary = result.summary
    time = host_time_of(load)
    assert time is not None
    server = time.of_server() if counted.pause_ns is None else None
    found = summary["verdict"].get("error")
    error = found if found in (OTHER_READS, PARALLEL, ARRIVALS, PAUSES) else COUNTED
    verdict = summary["verdict"] | {"error": error}
    told = _COUNTED_SAID.format(_HERE if server is None else _ELSEWHERE)
    inferred = [*summary["inferred"], told if server or time.is_told else _BUSY_SAID.format(time.share)]
    other = time.share - (time if time.is_told or server is None else server).own_share
    more = [_OTHER_WORK.format(other * time.cores, time.cores)] if other > _LEAST_OTHER else []
    caveats = [*summary["caveats"], *more, *counted.assumed]
    said = {"verdict": verdict, "model_error": model_error_of(verdict), "inferred": inferred, "caveats": caveats}
    return replace(result, summary=summary | said)


class _GoingRound:
    """A load on a scenario, whose clients do what was recorded of them in so many rounds: more when they need them."""

    def __init__(self, once: Assembled, rounds: int) -> None:
        self.assembled, self.rounds = once, rounds
        self._once = once.program
        if rounds > 1:
            self._lay_out(once.database)

    def more(self, database: Database, now_ns: int) -> Database:
        """Return the running database, its clients with more to do if they will be through early."""
        done = ended_statements(database) / len(database.statement_class)
        if done >= _TOLD and not database.session_counts[SESSIONS_OVER]:
            further = _further_rounds(self.assembled, round(now_ns / done), self.rounds)
            if further:
                self.rounds += further
                return self._lay_out(database)
        return database

    def _lay_out(self, database: Database) -> Database:
        program = self._once.in_rounds(self.rounds, self.assembled.load.span_ns)
        database = with_statements(database, program.statements)
        self.assembled = replace(self.assembled, program=program, database=database)
        return database


def _up_to(
    load: StatementLoad, scenario: NamedScenario, progress: Callable[[int], None] | None
) -> Callable[[int], None] | None:
    """Return what hears of no more statements than were recorded, each of which a multiple of the load has often."""
    often = scenario.model.replay.load
    return None if progress is None else lambda done: progress(min(int(done / often), len(load)))


def _further_rounds(assembled: Assembled, end_ns: int, rounds: int) -> int:
    """Return how many more rounds clients need who were through with what was recorded well before
    its time was over.
    """
    whole_ns = assembled.timeline_ns
    if not assembled.stops or end_ns >= _THROUGH * whole_ns or not end_ns:
        return 0
    wanted = math.ceil(_SPARE * rounds * whole_ns / end_ns)
    recorded = max(len(assembled.load), 1)
    if assembled.is_asked:
        if wanted * recorded > _MOST_ASKED:
            raise ScenarioError(
                f"replay.duration: clients have {wanted * recorded:,} statements to do in {format_ns(whole_ns)}, more"
                f" than {_MOST_ASKED:,}; ask for less time"
            )
        return max(wanted - rounds, 0)
    return max(min(wanted, _MOST_STATEMENTS // recorded) - rounds, 0)


def trace_of(load: StatementLoad) -> dict[str, Any]:
    """Describe the recording of *load*, as summaries do."""
    return {
        "name": load.path.absolute().name.removesuffix(".trace"),
        "hash": _hash(load),
        "requests": Bundle(load.path).rows,
        "statements": len(load),
        "transactions": load.transactions,
        "span_ns": load.span_ns,
        **({"quiet_ns": load.quiet_ns} if load.quiet_ns else {}),
        "source_format": load.manifest.source_format,
        "inferred": list(load.manifest.inferred),
        "warnings": list(load.manifest.warnings),
        "checkpoints": [],
    }


def _hash(load: StatementLoad) -> str:
    """Return a hash of what was recorded: the same trace has the same anywhere."""
    digest = load.counters.digest()
    if not load.synthetic:
        pages = load.physical_reads if load.logical_reads is None else load.logical_reads
        for column in (load.start_ns, load.duration_ns, load.session, load.query, pages):
            digest.update(column.tobytes())
    return digest.hexdigest()
