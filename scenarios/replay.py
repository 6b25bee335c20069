"""One trace on one scenario: what does not depend on the hardware is read once, recorded requests become commands at
stations, a run becomes a result. And how many replays that hold their trace fit into memory.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.shares import EQUAL_SHARE, Share, SharedQueue, add_shares, let_through
from tiersim.devices.cloud.instance import add_instance
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.measured import RECORDED, add_measured
from tiersim.devices.plant import PlantBuilder, Station
from tiersim.devices.station_records import RESOURCES, Plant
from tiersim.errors import ScenarioError
from tiersim.grouping import rows_of_each
from tiersim.operating_system import available_bytes
from tiersim.parallel import Newest, Note, side_by_side
from tiersim.scenarios import caveats
from tiersim.scenarios.causes import ENOUGH_MEASURED, Waiting, by_the_clock, from_disk, make_waiting, measured_share
from tiersim.scenarios.caveats import model_error_of
from tiersim.scenarios.hardware import Home, NamedScenario, place_files
from tiersim.scenarios.survey import (
    Checkpoint,
    JoinedCommands,
    Merged,
    RecordedCommands,
    TraceSurvey,
    latencies_of_files,
    load_recorded,
    merged_blocks,
    survey,
)
from tiersim.simulator.categories import CATEGORIES, COUNT, REQUESTS, categorise
from tiersim.simulator.commands import Commands, Outcome, in_time_order
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics, by_recording, new_metrics, of_recording, within
from tiersim.simulator.result import Result, summarise
from tiersim.simulator.sharing import NOT_RECORDED
from tiersim.simulator.streams import SYNC_ENDS, PlacedStreams, Places, Streams, part_of, to_run
from tiersim.simulator.streams import side_by_side as side_by_side_streams
from tiersim.simulator.verdict import late_sessions
from tiersim.traces.bundle import Bundle, Requests, starts_late
from tiersim.traces.schema import COARSE_CLOCK, NOT_MEASURED
from tiersim.traces.statistics import has_statements
from tiersim.units import format_bytes, format_ns

#: Resident bytes for each request of the trace, and for each of every run at the same time: one run of 10 million
#: requests took 1.42 GB beyond the program itself (commands 43, streams 48, the run 50), one at twice the load 2.09 GB;
#: rows for each run, which came later, take 34 more (3 million requests), requests that were gathered 24.
SHARED_BYTES, RUN_BYTES = 60, 130
#: The rest is for others.
_SHARE_OF_RUNS = 0.8


def workers_that_fit(requests: int, workers: int, free_bytes: int | None = None) -> int:
    """How many of *workers* runs of so many requests fit into memory at a time.

    *free_bytes* is what the machine has left when None. Raises ScenarioError when not even one fits.
    """
    free = available_bytes() if free_bytes is None else free_bytes
    fit = _runs(requests, free)
    if fit < 1:
        needed = requests * (SHARED_BYTES + RUN_BYTES)
        raise ScenarioError(
            f"{requests:,} requests take about {format_bytes(needed)} of memory in a replay that keeps causes, and "
            f"{format_bytes(free)} are free; --set replay.mode=open takes no more for a long trace than for a short one"
        )
    return min(workers, fit)


def fits(requests: int) -> bool:
    """Whether one run of so many requests fits into the memory that is left."""
    return _runs(requests, available_bytes()) > 0


def _runs(requests: int, free_bytes: int) -> int:
    return int((_SHARE_OF_RUNS * free_bytes - requests * SHARED_BYTES) // max(requests * RUN_BYTES, 1))


#: Ways of replaying (load, mode, clients ...) that are kept: the one that a sweep is at, and the one that it comes
#: from; of a long trace the last one.
_WAYS = 2
_LONG = 2_000_000
#: Resident bytes of a request as a command that waits, and in a block that comes by the clock.
_WAITING_BYTES, _BLOCK_BYTES = 50, 40
#: What may be kept beside each other: all commands, and a way of replaying them. What is more is read again.
_MOST_KEPT_BYTES = 1 << 30
#: The share of the free memory that blocks may take: longer traces are read again for each run.
_SHARE_OF_BLOCKS = 0.25
_Way = Waiting | list[Merged]


class Playback:
    """One surveyed trace for several runs, from any thread. Nothing is read before it is asked for."""

    def __init__(self, found: TraceSurvey, *, keep: bool = False, recorded: RecordedCommands | None = None) -> None:
        """*keep* who waits for whom, and blocks that come by the clock, for the next run: for sweeps, where few
        scenarios differ in them.

        *recorded* are all commands, where they were kept while the trace was surveyed.
        """
        self.found, self._keep = found, keep
        self._surveyed = recorded
        self._recorded: Newest[RecordedCommands] = Newest(1)
        self._ways: Newest[_Way] = Newest(_WAYS if found.requests < _LONG else 1)
        self._latencies: Newest[dict[int, NDArray[np.int64]]] = Newest(1)

    @property
    def held_bytes(self) -> int:
        """What is in memory since the survey."""
        return 0 if self._surveyed is None else self._surveyed.nbytes

    @property
    def recorded(self) -> RecordedCommands:
        """All commands, in memory."""
        if self._surveyed is not None:
            return self._surveyed
        return self._recorded.get(0, lambda: load_recorded(Bundle(self.found.path)))

    def waiting(self, scenario: NamedScenario) -> Waiting:
        """Who waits for whom when it is replayed as *scenario* says. Raises ScenarioError."""
        if not self._keep:
            return make_waiting(self.recorded, self.found, scenario)
        rules = scenario.model.replay
        # where the load is as recorded, the seed decides nothing here
        key = rules.model_copy(
            update={"addresses": "keep"} | ({"seed": 0} if rules.load == 1.0 else {})
        ).model_dump_json()
        way = self._ways.get(key, lambda: self._wait(scenario))
        assert isinstance(way, Waiting)
        return way

    def _wait(self, scenario: NamedScenario) -> Waiting:
        made = make_waiting(self.recorded, self.found, scenario)
        if self.recorded.nbytes + made.streams.commands * _WAITING_BYTES > _MOST_KEPT_BYTES:
            self._recorded.forget()
        return made

    def blocks(self) -> Iterable[Merged]:
        """Blocks of commands for a replay by the clock; from disk each time where they are long, or nothing is kept."""
        if self._keep and self.found.requests * _BLOCK_BYTES <= _SHARE_OF_BLOCKS * available_bytes():
            way = self._ways.get("blocks", lambda: list(self._read()))
            assert isinstance(way, list)
            return way
        return self._read()

    def _read(self) -> Iterator[Merged]:
        return merged_blocks(Bundle(self.found.path).blocks())

    def latencies_of_files(self) -> dict[int, NDArray[np.int64]]:
        """Measured latencies by file code, see :func:`tiersim.scenarios.survey.latencies_of_files`."""
        return self._latencies.get(0, lambda: latencies_of_files(Bundle(self.found.path)))


def survey_to_play(
    bundle: Bundle, scenarios: Sequence[NamedScenario], *, progress: Callable[[int, int], None] | None = None
) -> Playback:
    """Survey a trace for runs of *scenarios*; where they will need its commands in memory, these are kept on the way.
    Raises TraceError.
    """
    rules = [scenario.model.replay for scenario in scenarios]
    if all(one.mode == "open" and one.load == 1.0 for one in rules) or not fits(bundle.rows):
        return Playback(survey(bundle, progress=progress))
    gathered: JoinedCommands | None = JoinedCommands(bundle.rows)
    rows = measured = 0

    def gather(block: Requests) -> None:
        nonlocal gathered, rows, measured
        rows += len(block)
        measured += int(np.count_nonzero(block.latency_ns != NOT_MEASURED))
        if gathered is None or measured < ENOUGH_MEASURED * rows:  # then they most likely come by the clock
            gathered = None
        else:
            gathered.add(block)

    found = survey(bundle, progress=progress, also=gather)
    return Playback(found, recorded=None if gathered is None else gathered.all())


#: Intervals of the timeline over the recording; one more takes what ends after it.
INTERVALS = 240
#: Said of a recording that has queries and counters, too.
_REQUESTS_ALONE = (
    "the recording has queries or counters, too: its block requests are replayed, as the scenario has no [engine]; add"
    " [engine] to run the queries"
)


def replay_all(
    found: TraceSurvey,
    scenarios: Sequence[NamedScenario],
    *,
    workers: int,
    keep_requests: bool = False,
    waits: bool = False,
    progress: Callable[[int, int], None] | None = None,
    playback: Playback | None = None,
) -> list[Result]:
    """Replay a trace on every scenario, *workers* at a time (threads: the kernels let go of the lock).

    The results do not depend on the number of workers; fewer run at a time when memory is short. *playback* is the
    trace, see :func:`replay`. *progress* is called with the requests that have arrived in all runs together, and those
    of the trace times the runs. Raises ScenarioError when the trace does not fit one of them. An error in one run, or
    an interrupt, stops the others at their next step.
    """
    playback = Playback(found) if playback is None else playback
    in_memory = any(not from_disk(found, scenario) for scenario in scenarios)
    if in_memory:
        most = max(scenario.model.replay.load for scenario in scenarios)
        free_bytes = available_bytes() + playback.held_bytes
        workers = workers_that_fit(int(found.requests * max(most, 1.0)), workers, free_bytes)

    def run(scenario: NamedScenario, note: Note) -> Result:
        return replay(found, scenario, keep_requests=keep_requests, progress=note, playback=playback, waits=waits)

    def told(arrived: int) -> None:
        if progress is not None:
            progress(arrived, found.requests * len(scenarios))

    return side_by_side([partial(run, scenario) for scenario in scenarios], told, workers=workers)


def replay(
    found: TraceSurvey,
    scenario: NamedScenario,
    *,
    keep_requests: bool = False,
    progress: Callable[[int], None] | None = None,
    playback: Playback | None = None,
    tables: bool = True,
    waits: bool = False,
) -> Result:
    """Replay a block trace as the scenario says: open, partly open or closed (``docs/replay.md``).

    *playback* is the trace, where others play it, too. With *waits* the summary says where requests of each class wait
    behind which. Without *tables* those of the result are empty. *progress* is called with the number of commands that
    have arrived. Raises ScenarioError when the trace does not fit, or does not have what the mode needs.
    """
    part = PlayedRecording(Playback(found) if playback is None else playback, scenario)
    played = play([part], keep_requests, progress, waits)
    result = played.result(0, scenario.name, tables=tables)
    if not waits:
        return result
    by_class = {name: played.waits_ns(number, CATEGORIES) for number, name in enumerate(CATEGORIES)}
    return replace(result, summary=result.summary | {"waits_ns": {name: own for name, own in by_class.items() if own}})


#: What people see of the queue that recordings have shares of.
SHARES = "shares"


@dataclass(frozen=True)
class PlayedRecording:
    """One recording in a run: its scenario has the hardware, which all parts share, and where and how it is played."""

    playback: Playback
    scenario: NamedScenario
    shift_ns: int = 0  # that it begins later
    name: str = ""
    limit: TokenBucket | None = None  # on its requests to all volumes together
    queue_depth: int | None = None  # most of these outstanding
    shared: SharedQueue | None = None  # of all parts, before the volumes
    share: Share = EQUAL_SHARE  # of it

    @property
    def found(self) -> TraceSurvey:
        """What was surveyed."""
        return self.playback.found

    @property
    def own_stations(self) -> tuple[str, str]:
        """Names of its limit and its queue: no other recording's requests pass them."""
        return f"{self.name}.limit", f"{self.name}.queue"

    @property
    def end_ns(self) -> int:
        """When its time is over."""
        return self.shift_ns + self.found.span_ns


def play(
    parts: Sequence[PlayedRecording],
    keep_requests: bool = False,
    progress: Callable[[int], None] | None = None,
    by_class: bool = False,
) -> "Played":
    """Run recordings side by side on the hardware of the first one's scenario; see :func:`replay`. Of several it is
    noted who waits for whom, of one, *by_class*, which class of requests for which. Raises ScenarioError when one has
    no rate, or has holes that clones of its sessions would fill.
    """
    hardware = parts[0].scenario
    homes = [place_files(part.scenario, part.found.files) for part in parts]
    builder = PlantBuilder(hardware.model.replay.seed)
    entries = entries_of(builder, hardware.build(builder), parts)
    stations = [_stations(builder, one, part, own) for one, part, own in zip(entries, parts, homes, strict=True)]
    for part in parts:
        if part.found.first_ns == part.found.span_ns - 1:
            raise ScenarioError(
                f"{part.found.path}: all its requests ({part.found.requests:,}) have the same time, so at what rate"
                " they came is not known, nor whether storage carries it; record again, with a clock"
            )
        if part.scenario.model.replay.load > 1 and 2 * part.found.quiet_ns > part.found.span_ns:
            raise ScenarioError(
                f"{part.found.path}: no request came in {format_ns(part.found.quiet_ns)} of"
                f" {format_ns(part.found.span_ns)}: sessions that are cloned would run in these holes, and its busy"
                " times would be no busier; import its busy times alone, or let replay.load be 1"
            )
    interval_ns = -(-max(part.end_ns for part in parts) // INTERVALS)
    several = len(parts) > 1
    owner_of = by_recording(len(parts)) if several else np.arange(COUNT) if by_class else None
    metrics = new_metrics(COUNT * len(parts), len(builder.stations), RESOURCES, INTERVALS + 1, interval_ns, owner_of)
    if all(from_disk(part.found, part.scenario) for part in parts):
        rows = _BLOCK // 4 if several else _BLOCK
        each = [
            commands(part.playback.blocks(), own, entries, part.shift_ns, number * COUNT, rows)
            for number, (part, own, entries) in enumerate(zip(parts, homes, stations, strict=True))
        ]
        blocks = each[0] if len(each) == 1 else in_time_order(each)
        plant, outcome = engine.run(builder.build(), blocks, metrics, keep_done=keep_requests, progress=progress)
        return Played(parts, builder.stations, plant, metrics, outcome, keep_requests)
    waiting = [part.playback.waiting(part.scenario) for part in parts]
    keep_done = keep_requests or several or any(part.found.checkpoints for part in parts)
    streams = _placed(parts, homes, stations, waiting, keep_done)
    plant, outcome = engine.run_streams(builder.build(), streams, metrics, progress=progress)
    return Played(parts, builder.stations, plant, metrics, outcome, keep_requests, waiting, streams)


def entries_of(
    builder: PlantBuilder, entry: Mapping[str, int], parts: Sequence[PlayedRecording]
) -> list[Mapping[str, int]]:
    """Put what parts share and the limits of each before the volumes, whose stations *entry* has; returns for each part
    the stations that take its requests, by volume.
    """
    shares = _with_shares(builder, entry, parts)
    return [_entry_of(builder, one, part) for one, part in zip(shares, parts, strict=True)]


def streams_on(
    builder: PlantBuilder, entries: Sequence[Mapping[str, int]], parts: Sequence[PlayedRecording]
) -> Streams:
    """Return the requests of parts for a run on a plant, each part's to its stations of *entries*."""
    homes = [place_files(part.scenario, part.found.files) for part in parts]
    stations = [_stations(builder, one, part, own) for one, part, own in zip(entries, parts, homes, strict=True)]
    waiting = [part.playback.waiting(part.scenario) for part in parts]
    return _placed(parts, homes, stations, waiting, keep_done=False)


def _placed(
    parts: Sequence[PlayedRecording],
    homes: Sequence[Sequence[Home]],
    stations: Sequence[NDArray[np.int32]],
    waiting: Sequence[Waiting],
    keep_done: bool,
) -> Streams:
    """Return the commands of parts as streams, at their places and stations."""
    placed = (
        PlacedStreams(
            one.streams._replace(
                think_ns=_without_flush_overhead(part.scenario, own, one),
                offset_bytes=_packed_addresses(own, one.file, one.streams.offset_bytes, one.streams.length_bytes),
            ),
            Places(one.file, entries.astype(np.uint32), _bases(own)),
        )
        for part, own, entries, one in zip(parts, homes, stations, waiting, strict=True)
    )
    commands = sum(one.streams.commands for one in waiting)
    return to_run(side_by_side_streams(placed, [part.shift_ns for part in parts], commands), keep_done=keep_done)


def seen_by(number: int, parts: Sequence[PlayedRecording], stations: Sequence[Station]) -> list[Station]:
    """Return stations as the result of one of the *parts* shows them: nothing of those that others alone pass."""
    if len(parts) < 2:
        return list(stations)
    unseen = {name for place, part in enumerate(parts) if place != number for name in part.own_stations}
    own = parts[number]
    unseen |= own.scenario.elsewhere({home.volume for home in place_files(own.scenario, own.found.files)})
    heads = tuple(f"{name}." for name in unseen)
    return [replace(one, resources=(), servers=()) if one.name in unseen or one.name.startswith(heads) else one
            for one in stations]  # fmt: skip


@dataclass(frozen=True)
class Played:
    """A run of recordings side by side; *waiting* and *streams* are there where commands waited for others."""

    parts: Sequence[PlayedRecording]
    stations: Sequence[Station]
    plant: Plant
    metrics: Metrics
    outcome: Outcome
    keep_requests: bool
    waiting: Sequence[Waiting] = ()
    streams: Streams | None = None

    def result(self, number: int, name: str, *, tables: bool = True) -> Result:
        """Make the result of one recording; what it says of stations is of the whole run, over the recording's time."""
        part = self.parts[number]
        found, scenario = part.found, part.scenario
        described = _described(found, scenario, _used_bytes(number, self.parts))
        described["replay"] |= _played_open(found, scenario)
        requests = sessions = None
        own = self.outcome if len(self.parts) == 1 else self._outcome(number)
        if self.streams is not None:
            waiting, streams = self.waiting[number], part_of(self.streams, number, part.shift_ns)
            described["replay"] |= waiting.facts
            described |= waiting.not_run
            described["measured_latency_ns"] = {**found.measured, **waiting.measured}
            if found.checkpoints:
                described["checkpoints"] = _checkpoints(waiting.checkpoints(streams, found.checkpoints))
            if not by_the_clock(found, scenario):
                sessions = waiting.sessions(streams)
                described["replay"]["late_sessions"] = len(late_sessions(sessions.late_ns, found.span_ns))
                if waiting.facts["inferred_sessions"]:
                    described["verdict"] |= {"arrivals": "inferred"}
            requests = waiting.requests(streams) if self.keep_requests else None
        result = summarise(
            name, self.plant, seen_by(number, self.parts, self.stations), self._metrics(number), self.outcome,
            found.span_ns, described, scenario.to_toml(), sessions=sessions, tables=tables, own=own,
        )  # fmt: skip
        summary = result.summary | {"model_error": model_error_of(result.summary["verdict"])}
        summary |= caveats.aged_queue(scenario, summary)
        return replace(result, summary=summary, requests=result.requests if requests is None else requests)

    def mean_ns(self, number: int) -> float:
        """Return the mean latency of all requests of one recording."""
        own = of_recording(self.metrics, number)
        return float(own.latency_sum_ns[:, REQUESTS].sum()) / max(int(own.completions[:, REQUESTS].sum()), 1)

    def steady_mean_ns(self, number: int) -> float | None:
        """Return the same; None where the backlog of that recording grows: then it hangs on how long that is."""
        load = self.result(number, self.parts[number].name, tables=False).summary["verdict"]["load"]
        return None if load == "saturated" else self.mean_ns(number)

    def _metrics(self, number: int) -> Metrics:
        """Return what was measured of one recording, over its own time."""
        part, interval_ns = self.parts[number], int(self.metrics.interval_ns[0])
        own = of_recording(self.metrics, number)
        if self.streams is not None and len(self.parts) > 1:
            streams = part_of(self.streams, number, 0)
            lag_ns = streams.started_ns - streams.recorded_ns
            own = own._replace(
                lag_sum_ns=np.full(1, lag_ns.sum(), np.int64), lag_max_ns=np.full(1, max(lag_ns.max(), 0), np.int64)
            )
        if part.end_ns == max(one.end_ns for one in self.parts):
            return within(own, part.shift_ns // interval_ns, INTERVALS)
        end = -(-part.end_ns // interval_ns)
        found = within(own, part.shift_ns // interval_ns, end)
        if self.streams is not None:  # what ends between its end and that of the interval is late
            streams = part_of(self.streams, number, 0)
            late = (streams.done_ns >= part.end_ns) & (streams.done_ns < end * interval_ns)
            for counts, weights in ((found.completions, None), (found.completed_bytes, streams.length_bytes[late])):
                moved = np.bincount(streams.category[late], weights, COUNT).astype(np.int64)
                counts[-2] -= moved
                counts[-1] += moved
        return found

    def waits_ns(self, number: int, names: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return how long requests of one owner waited at each station, by whose were served meanwhile: *names* of
        the owners, and what :mod:`tiersim.simulator.sharing` has behind them.
        """
        owners = (*names, *NOT_RECORDED)
        return {
            self.stations[station].name: {
                other: float(self.metrics.behind_ns[station, place, number])
                for place, other in enumerate(owners)
                if self.metrics.behind_ns[station, place, number]
            }
            for station in np.flatnonzero(self.metrics.behind_ns[:, :, number].any(axis=1)).tolist()
        }

    def let_through(self, number: int) -> dict[str, int]:
        """Return how many requests of one recording the shared queue let through, and how many by its minimum."""
        station = next(place for place, one in enumerate(self.stations) if one.name == SHARES)
        requests, by_minimum = let_through(self.plant, station, number)
        return {"requests": requests, "by_minimum": by_minimum}

    def _outcome(self, number: int) -> Outcome:
        """Return what the run left of one recording among several, times from its beginning."""
        shift_ns = self.parts[number].shift_ns
        own = of_recording(self.metrics, number)
        if self.streams is None:  # to an interval of the timeline
            last = int(np.flatnonzero(own.completions[:, REQUESTS].any(axis=1))[-1])
            end_ns = min(self.outcome.end_ns, (last + 1) * int(own.interval_ns[0]))
            end_ns = self.outcome.end_ns if last == len(own.completions) - 1 else end_ns
            last_arrival_ns = self.parts[number].end_ns - 1
        else:
            streams = part_of(self.streams, number, 0)
            end_ns, last_arrival_ns = int(streams.ended_ns.max()), int(streams.started_ns.max())
        return replace(
            self.outcome,
            last_arrival_ns=last_arrival_ns - shift_ns,
            end_ns=end_ns - shift_ns,
            arrived=int(own.arrivals[:, REQUESTS].sum()),
            left=int(own.completions[:, REQUESTS].sum()),
        )


def _played_open(found: TraceSurvey, scenario: NamedScenario) -> dict[str, Any]:
    """Why a replay that should keep causes comes by the clock."""
    if scenario.model.replay.mode == "open" or not by_the_clock(found, scenario):
        return {}
    share = 100 * measured_share(found)
    return {"played": "open", "why": f"latency was measured for {share:.0f} % of the requests: who waited is not known"}


def _with_shares(
    builder: PlantBuilder, entry: Mapping[str, int], parts: Sequence[PlayedRecording]
) -> list[Mapping[str, int]]:
    """Put the queue that the parts have shares of, if there is one, before its volumes; returns for each part the
    stations that take its requests, by volume.
    """
    queue = parts[0].shared
    if queue is None:
        return [entry for _ in parts]
    station = add_shares(builder, SHARES, queue, [part.share for part in parts])
    return [
        {
            volume: add_port(builder, f"{part.name}.{SHARES}.{volume}", station, beyond=below, client=number)
            if volume in (queue.volumes or entry)
            else below
            for volume, below in entry.items()
        }
        for number, part in enumerate(parts)
    ]


def _entry_of(builder: PlantBuilder, entry: Mapping[str, int], part: PlayedRecording) -> Mapping[str, int]:
    """Put the limits of one recording before the volumes; returns the stations that take its requests, by volume."""
    shared = []
    if part.limit is not None:
        shared.append(add_instance(builder, part.own_stations[0], part.limit, 1.0))
    if part.queue_depth is not None:
        shared.append(add_gate(builder, part.own_stations[1], part.queue_depth))
    for station in shared:
        name = builder.stations[station].name
        entry = {
            volume: add_port(builder, f"{name}.{volume}", station, beyond=below) for volume, below in entry.items()
        }
    return entry


def _stations(
    builder: PlantBuilder, entry: Mapping[str, int], part: PlayedRecording, homes: Sequence[Home]
) -> NDArray[np.int32]:
    """Return the station that takes each file's requests; *entry* has those of volumes."""
    stations = []
    scenario = part.scenario
    measured = {} if len(entry) == len(scenario.homes) else part.playback.latencies_of_files()
    for code, (home, use) in enumerate(zip(homes, part.found.files, strict=True)):
        if home.volume in entry:
            stations.append(entry[home.volume])
            continue
        if code not in measured or not measured[code].any():
            raise ScenarioError(
                f'{scenario.name}: volume {home.volume!r} is device = "{RECORDED}", and of {use.name} the recording has'
                " no latency; choose a device"
            )
        stations.append(add_measured(builder, measured[code], f"{home.volume}.{use.name}"))
    return np.array(stations, np.int32)


def _without_flush_overhead(scenario: NamedScenario, homes: Sequence[Home], waiting: Waiting) -> NDArray[np.int64]:
    """Think times, none before flushes on volumes whose file system has its own: it is the time between write and
    flush.
    """
    given = np.array([scenario.homes[home.volume].host.flush_overhead_ns is not None for home in homes])
    if not given.any():
        return waiting.streams.think_ns
    return np.where(given[waiting.file] & (waiting.streams.sync & SYNC_ENDS != 0), 0, waiting.streams.think_ns)


def trace_of(found: TraceSurvey) -> dict[str, Any]:
    """Describe the recording, as summaries do."""
    return {
        "name": found.path.absolute().name.removesuffix(".trace"),
        "hash": found.content_hash,
        "requests": found.requests,
        "span_ns": found.span_ns,
        **({"quiet_ns": found.quiet_ns} if found.quiet_ns else {}),
        "source_format": found.manifest.source_format,
        "inferred": list(found.manifest.inferred),
        "warnings": list(found.manifest.warnings),
        "checkpoints": _checkpoints(found.checkpoints),
    }


def _described(found: TraceSurvey, scenario: NamedScenario, used_bytes: Mapping[str, int]) -> dict[str, Any]:
    """What a summary says besides figures of the run; *used_bytes* is how much of its volumes all recordings take."""
    volatile = [*caveats.volatile_buffers(scenario, found.files, found.stable_writes, found.requests)]
    is_coarse = any(one.startswith(COARSE_CLOCK) for one in found.manifest.warnings)
    return {
        "description": scenario.description,
        "seed": scenario.model.replay.seed,
        "trace": trace_of(found),
        "verdict": {"arrivals": "recorded"}
        | ({"cache": "cold"} if scenario.caching else {})
        | ({"error": caveats.COARSE} if is_coarse and scenario.model.replay.mode != "closed" else {})
        | ({"error": caveats.VOLATILE} if volatile else {}),
        "checkpoints": _checkpoints(found.checkpoints),
        "replay": {"mode": scenario.model.replay.mode, "load": scenario.model.replay.load},
        "measured_latency_ns": found.measured,
        "assumed": caveats.parameters_assumed(scenario),
        "caveats": [
            *volatile,
            *caveats.of_hardware(scenario),
            *caveats.empty_caches(scenario, statements=False),
            *caveats.short_seeks(scenario, used_bytes),
            *caveats.of_requests(scenario, found.files, clocked=by_the_clock(found, scenario)),
            *([_REQUESTS_ALONE] if has_statements(found.path) else []),
            *_late_start(found),
            *([f"{why}; record longer"] if (why := caveats.too_short(found.span_ns - found.first_ns)) else []),
            *_holes(found),
        ],
    }


def _late_start(found: TraceSurvey) -> Iterator[str]:
    if starts_late(found.first_ns, found.span_ns - 1 - found.first_ns):
        yield (
            f"the first request comes {format_ns(found.first_ns)} after time 0, and rates and busy shares are of all"
            " that time; count times from the first request"
        )


def _holes(found: TraceSurvey) -> Iterator[str]:
    if found.quiet_ns:
        yield (
            f"the recording has holes: no request came in {format_ns(found.quiet_ns)} of {format_ns(found.span_ns)},"
            " and rates and busy shares are of all that time; import its busy times alone"
        )


def _used_bytes(number: int, parts: Sequence[PlayedRecording]) -> dict[str, int]:
    """Return behind which byte of each volume that one of the *parts* is on nothing lies, of any of them."""
    ends = {home.volume: 0 for home in place_files(parts[number].scenario, parts[number].found.files)}
    for part in parts:
        for home, use in zip(place_files(part.scenario, part.found.files), part.found.files, strict=True):
            if home.volume in ends:
                ends[home.volume] = max(ends[home.volume], home.end_bytes(use))
    return ends


def _checkpoints(checkpoints: Sequence[Checkpoint]) -> list[dict[str, Any]]:
    basis = "inferred: a process writes in ascending order, no session waits for these writes, then it flushes"
    return [
        {"start_ns": one.start_ns, "end_ns": one.end_ns, "writes": one.writes, "basis": basis} for one in checkpoints
    ]


#: Commands that are placed at a time: columns of them fit into a processor's cache.
_BLOCK = 1 << 16


def addresses(
    homes: Sequence[Home],
    file: NDArray[np.integer[Any]],
    offset_bytes: NDArray[np.int64],
    length_bytes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Addresses on the volumes; what has no length (a flush) keeps its offset."""
    base_bytes = _bases(homes)
    address = _packed_addresses(homes, file, offset_bytes, length_bytes)
    return address + np.where(length_bytes > 0, base_bytes[file], 0) if base_bytes.any() else address


def _bases(homes: Sequence[Home]) -> NDArray[np.int64]:
    """By file: what is added to the offsets of what has a length; 0 where extents are packed."""
    return np.array([home.base_bytes if home.packed is None else 0 for home in homes], np.int64)


def _packed_addresses(
    homes: Sequence[Home],
    file: NDArray[np.integer[Any]],
    offset_bytes: NDArray[np.int64],
    length_bytes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Offsets, and addresses on the volume of files whose extents are packed."""
    if all(home.packed is None for home in homes):
        return offset_bytes
    address, rows = offset_bytes.copy(), np.flatnonzero(length_bytes > 0)
    for code, own in rows_of_each(file[rows]):
        if homes[code].packed is not None:
            address[rows[own]] = homes[code].place(offset_bytes[rows[own]])
    return address


def _pieces(blocks: Iterable[Merged], rows: int) -> Iterator[Merged]:
    """Yield blocks in pieces of so many *rows*."""
    for block in blocks:
        for first in range(0, len(block.arrival_ns), rows):
            yield Merged._make(column[first : first + rows] for column in block)


def commands(
    blocks: Iterable[Merged],
    homes: Sequence[Home],
    stations: NDArray[np.int32],
    shift_ns: int = 0,
    first_category: int = 0,
    rows: int = _BLOCK,
) -> Iterator[Commands]:
    """Yield the trace as blocks of commands that come by the clock, *shift_ns* later; *homes* and *stations* are by
    file, and categories are counted from the first one on.
    """
    last_ns = 0
    for block in _pieces(blocks, rows):
        # a command at the end of a block may have been completed by a row after the next block's first
        arrival, intended = np.maximum(block.arrival_ns, last_ns), block.intended_ns
        last_ns = int(arrival[-1])
        address = addresses(homes, block.file, block.offset_bytes, block.length_bytes)
        category = categorise(block.op, block.purpose)
        category += np.uint8(first_category)
        if shift_ns:
            arrival, intended = arrival + shift_ns, intended + shift_ns
        yield Commands(arrival, intended, stations[block.file], block.op, address, block.length_bytes, category)
