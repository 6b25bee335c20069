"""One trace on one scenario: recorded requests become commands at stations, a run becomes a result."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.measured import RECORDED, Measured, add_measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.grouping import rows_of_each
from tiersim.operating_system import available_bytes
from tiersim.parallel import Note, side_by_side
from tiersim.scenarios import caveats
from tiersim.scenarios.causes import Waiting, by_the_clock, from_disk, measured_share
from tiersim.scenarios.caveats import model_error_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.placement import Home, place_files
from tiersim.scenarios.playback import Playback, workers_that_fit
from tiersim.scenarios.survey import Checkpoint, Merged, Survey
from tiersim.simulator.categories import CATEGORIES, categorise
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import Result
from tiersim.simulator.streams import SYNC_ENDS, to_run
from tiersim.simulator.summary import summarise
from tiersim.simulator.verdict import late_sessions

#: Intervals of the timeline over the recording; one more takes what ends after it.
INTERVALS = 240


def replay_all(
    found: Survey,
    scenarios: Sequence[NamedScenario],
    *,
    workers: int,
    keep_requests: bool = False,
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
        return replay(found, scenario, keep_requests=keep_requests, progress=note, playback=playback)

    def told(arrived: int) -> None:
        if progress is not None:
            progress(arrived, found.requests * len(scenarios))

    return side_by_side([partial(run, scenario) for scenario in scenarios], told, workers=workers)


def replay(
    found: Survey,
    scenario: NamedScenario,
    *,
    keep_requests: bool = False,
    progress: Callable[[int], None] | None = None,
    playback: Playback | None = None,
    tables: bool = True,
) -> Result:
    """Replay a block trace as the scenario says: open, partly open or closed (``docs/replay.md``).

    *playback* is the trace, where others play it, too. Without *tables* those of the result are empty. *progress* is
    called with the number of commands that have
    arrived. Raises ScenarioError when the trace does not fit, or does not have what the mode needs.
    """
    playback = Playback(found) if playback is None else playback
    homes = place_files(scenario, found.files)
    builder = PlantBuilder(scenario.model.replay.seed)
    stations = _stations(builder, scenario, playback, homes)
    interval_ns = -(-found.span_ns // INTERVALS)
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, INTERVALS + 1, interval_ns)
    described = _described(found, scenario)
    requests = sessions = None
    described["replay"] |= _played_open(found, scenario)
    if from_disk(found, scenario):
        blocks = commands(playback.blocks(), homes, stations)
        plant, outcome = engine.run(builder.build(), blocks, metrics, keep_done=keep_requests, progress=progress)
    else:
        waiting = playback.waiting(scenario)
        streams = to_run(waiting.streams, keep_done=keep_requests or bool(found.checkpoints))._replace(
            station=stations.astype(np.uint32)[waiting.file],
            think_ns=_without_flush_overhead(scenario, homes, waiting),
            offset_bytes=addresses(homes, waiting.file, waiting.streams.offset_bytes, waiting.streams.length_bytes),
        )
        plant, outcome = engine.run_streams(builder.build(), streams, metrics, progress=progress)
        described["replay"] |= waiting.facts
        described["measured_latency_ns"] = {**found.measured, **waiting.measured}
        if found.checkpoints:
            described["checkpoints"] = _checkpoints(waiting.checkpoints(streams, found.checkpoints))
        if not by_the_clock(found, scenario):
            sessions = waiting.sessions(streams)
            described["replay"]["late_sessions"] = len(late_sessions(sessions.late_ns, found.span_ns))
            if waiting.facts["inferred_sessions"]:
                described["verdict"] |= {"arrivals": "inferred"}
        requests = waiting.requests(streams) if keep_requests else None
    result = summarise(
        scenario.name, plant, builder.stations, metrics, outcome, found.span_ns, described, scenario.to_toml(),
        sessions=sessions, tables=tables,
    )  # fmt: skip
    summary = result.summary | {"model_error": model_error_of(result.summary["verdict"])}
    return replace(result, summary=summary, requests=result.requests if requests is None else requests)


def _played_open(found: Survey, scenario: NamedScenario) -> dict[str, Any]:
    """Why a replay that should keep causes comes by the clock."""
    if scenario.model.replay.mode == "open" or not by_the_clock(found, scenario):
        return {}
    share = 100 * measured_share(found)
    return {"played": "open", "why": f"latency was measured for {share:.0f} % of the requests: who waited is not known"}


def _stations(
    builder: PlantBuilder, scenario: NamedScenario, playback: Playback, homes: Sequence[Home]
) -> NDArray[np.int32]:
    """Put the volumes into the plant; returns the station that takes each file's requests."""
    entry = scenario.build(builder)
    stations = []
    measured = {} if len(entry) == len(scenario.homes) else playback.latencies_of_files()
    for code, (home, use) in enumerate(zip(homes, playback.found.files, strict=True)):
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


def trace_of(found: Survey) -> dict[str, Any]:
    """Describe the recording, as summaries do."""
    return {
        "name": found.path.absolute().name.removesuffix(".trace"),
        "hash": found.content_hash,
        "requests": found.requests,
        "span_ns": found.span_ns,
        "source_format": found.manifest.source_format,
        "inferred": list(found.manifest.inferred),
        "warnings": list(found.manifest.warnings),
        "checkpoints": _checkpoints(found.checkpoints),
    }


def _described(found: Survey, scenario: NamedScenario) -> dict[str, Any]:
    """What a summary says besides figures of the run."""
    return {
        "description": scenario.description,
        "seed": scenario.model.replay.seed,
        "trace": trace_of(found),
        "verdict": {"arrivals": "recorded"} | ({"cache": "cold"} if scenario.caching else {}),
        "checkpoints": _checkpoints(found.checkpoints),
        "replay": {"mode": scenario.model.replay.mode, "load": scenario.model.replay.load},
        "measured_latency_ns": found.measured,
        "assumed": parameters_assumed(scenario),
        "caveats": [
            *caveats_of(scenario),
            *caveats.of_requests(scenario, found.files, clocked=by_the_clock(found, scenario)),
        ],
    }


def _checkpoints(checkpoints: Sequence[Checkpoint]) -> list[dict[str, Any]]:
    basis = "inferred: writes of a process that writes in ascending order, for nobody, and then flushes"
    return [
        {"start_ns": one.start_ns, "end_ns": one.end_ns, "writes": one.writes, "basis": basis} for one in checkpoints
    ]


def addresses(
    homes: Sequence[Home],
    file: NDArray[np.int32],
    offset_bytes: NDArray[np.int64],
    length_bytes: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Addresses on the volumes; what has no length (a flush) keeps its offset."""
    base_bytes = np.array([home.base_bytes for home in homes], np.int64)
    if not base_bytes.any() and all(home.packed is None for home in homes):
        return offset_bytes
    data = length_bytes > 0
    address = np.where(data, offset_bytes + base_bytes[file], offset_bytes)
    if any(home.packed is not None for home in homes):
        rows = np.flatnonzero(data)
        for code, own in rows_of_each(file[rows]):
            address[rows[own]] = homes[code].place(offset_bytes[rows[own]])
    return address


def commands(blocks: Iterable[Merged], homes: Sequence[Home], stations: NDArray[np.int32]) -> Iterator[Commands]:
    """Yield the trace as blocks of commands that come by the clock; *homes* and *stations* are by file."""
    last_ns = 0
    for arrival_ns, rows, intended in blocks:
        # a command at the end of a block may have been completed by a row after the next block's first
        arrival = np.maximum(arrival_ns, last_ns)
        last_ns = int(arrival[-1])
        address = addresses(homes, rows.file, rows.offset_bytes, rows.length_bytes)
        category = categorise(rows.op, rows.purpose)
        yield Commands(arrival, intended, stations[rows.file], rows.op, address, rows.length_bytes, category)


def caveats_of(scenario: NamedScenario) -> list[str]:
    """What everybody who reads the result must know of the devices and controllers, once each."""
    devices = dict.fromkeys(text for volume in scenario.volumes.values() for text in volume.device.caveats)
    return [*scenario.defects, *devices]


def parameters_assumed(scenario: NamedScenario) -> list[dict[str, str]]:
    """Every parameter that is assumed or fitted, and from what."""
    found = [one for name, model in scenario.model.controllers.items() for one in model.assumed_defaults(name)]
    devices = {name: hardware.device for name, hardware in scenario.hardware.items()} | scenario.limits
    for name, device in devices.items():
        if isinstance(device, Measured):
            continue
        for key, source in sorted(device.sources.items()):
            if source.startswith(("assumed", "fitted")):
                what = f"{name}: {device.name}, {key}"
                found.append({"what": what, "value": device.text_of(key), "source": source})
    return found
