"""One trace on one scenario: recorded requests become commands at stations, a run becomes a result."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import RESOURCES
from tiersim.scenarios.model import NamedScenario
from tiersim.scenarios.placement import Home, place_files
from tiersim.scenarios.survey import Survey
from tiersim.simulator.categories import CATEGORIES, categorise
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import Result
from tiersim.simulator.summary import summarise
from tiersim.traces.bundle import Bundle, Requests

#: Intervals of the timeline over the recording; one more takes what ends after it.
INTERVALS = 240


def replay_all(
    found: Survey,
    scenarios: Sequence[NamedScenario],
    *,
    workers: int,
    keep_requests: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Result]:
    """Replay a trace on every scenario, *workers* at a time (threads: the kernels let go of the lock).

    The results do not depend on the number of workers. *progress* is called with the requests that have arrived in all
    runs together, and those of the trace times the runs. Raises ScenarioError when the trace does not fit one of them.
    An error in one run, or an interrupt, stops the others at their next step.
    """
    arrived = [0] * len(scenarios)
    stop = Event()

    def run(index: int) -> Result:
        def note(count: int) -> None:
            if stop.is_set():
                raise CancelledError
            arrived[index] = count
            if progress is not None:
                progress(sum(arrived), found.requests * len(scenarios))

        return replay(found, scenarios[index], keep_requests=keep_requests, progress=note)

    with ThreadPoolExecutor(workers) as pool:
        runs = [pool.submit(run, index) for index in range(len(scenarios))]
        try:
            for ended in as_completed(runs):
                ended.result()
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [ended.result() for ended in runs]


def replay(
    found: Survey,
    scenario: NamedScenario,
    *,
    keep_requests: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Result:
    """Replay a block trace, open: every command at its recorded time, latency from its intended start.

    *progress* is called with the number of commands that have arrived. Raises ScenarioError when the trace does not fit.
    """
    homes = place_files(scenario, found.files)
    builder = PlantBuilder(scenario.model.replay.seed)
    entry = scenario.build(builder)
    stations = np.array([entry[home.volume] for home in homes], np.int32)
    interval_ns = -(-found.span_ns // INTERVALS)
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, INTERVALS + 1, interval_ns)
    blocks = commands(Bundle(found.path), homes, stations)
    plant, outcome = engine.run(builder.build(), blocks, metrics, keep_done=keep_requests, progress=progress)
    described = {
        "description": scenario.description,
        "seed": scenario.model.replay.seed,
        "trace": {
            "name": found.path.absolute().name.removesuffix(".trace"),
            "hash": found.content_hash,
            "requests": found.requests,
            "span_ns": found.span_ns,
            "source_format": found.manifest.source_format,
            "inferred": list(found.manifest.inferred),
            "warnings": list(found.manifest.warnings),
        },
        "verdict": {"arrivals": "recorded"},
        "measured_latency_ns": found.measured,
        "assumed": _assumed(scenario),
    }
    return summarise(
        scenario.name, plant, builder.stations, metrics, outcome, found.span_ns, described, scenario.to_toml()
    )


def merge_commands(block: Requests) -> tuple[NDArray[np.int64], Requests, NDArray[np.int64]]:
    """Join the rows that went to the device as one command: (arrival, joined rows, intended start).

    A command can arrive when the last of its rows was queued; latency counts from the first. Rows of a command lie next
    to each other on the device, so the joined row reaches from the lowest to the highest address.
    """
    single = Requests(**{name: getattr(block, name) for name in Requests.__dataclass_fields__})
    numbered = block.command >= 0
    commands, first, counts = np.unique(block.command[numbered], return_index=True, return_counts=True)
    if not (counts > 1).any():
        return single.time_ns, single, single.time_ns
    rows = np.flatnonzero(numbered)
    group = np.searchsorted(commands, block.command[rows])
    low, end, last = (np.zeros(len(commands), np.int64) for _ in range(3))
    low[:] = np.iinfo(np.int64).max
    np.minimum.at(low, group, block.offset_bytes[rows])
    np.maximum.at(end, group, block.offset_bytes[rows] + block.length_bytes[rows])
    np.maximum.at(last, group, block.time_ns[rows])
    offset, length, arrival = block.offset_bytes.copy(), block.length_bytes.copy(), block.time_ns.copy()
    leaders = rows[first]
    offset[leaders], length[leaders], arrival[leaders] = low, end - low, last
    kept = np.ones(len(block), bool)
    kept[rows] = False
    kept[leaders] = True
    order = np.flatnonzero(kept)
    order = order[np.argsort(arrival[order], kind="stable")]
    columns: dict[str, Any] = {name: getattr(block, name)[order] for name in Requests.__dataclass_fields__}
    columns |= {"offset_bytes": offset[order], "length_bytes": length[order]}
    return arrival[order], Requests(**columns), block.time_ns[order]


def commands(bundle: Bundle, homes: Sequence[Home], stations: NDArray[np.int32]) -> Iterator[Commands]:
    """Yield the trace as blocks of commands; *homes* and *stations* are by file."""
    last_ns = 0
    for block in bundle.blocks():
        arrival, rows, intended = merge_commands(block)
        # a command at the end of a block may have been completed by a row after the next block's first
        arrival = np.maximum(arrival, last_ns)
        last_ns = int(arrival[-1])
        address = rows.offset_bytes.copy()
        for code, home in enumerate(homes):
            own = (rows.file == code) & (rows.length_bytes > 0)
            if own.any():
                address[own] = home.place(rows.offset_bytes[own])
        category = categorise(rows.op, rows.purpose)
        yield Commands(arrival, intended, stations[rows.file], rows.op, address, rows.length_bytes, category)


def _assumed(scenario: NamedScenario) -> list[dict[str, str]]:
    """Every parameter that is assumed or fitted, and from what."""
    found = []
    for name, volume in scenario.volumes.items():
        for key, source in sorted(volume.device.sources.items()):
            if source.startswith(("assumed", "fitted")):
                what = f"{name}: {volume.device.name}, {key}"
                found.append({"what": what, "value": volume.device.text_of(key), "source": source})
    return found
