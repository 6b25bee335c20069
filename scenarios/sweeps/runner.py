"""Runs the points of a grid, in threads here or on a cluster, and keeps each as soon as it is done."""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from threading import Event
from typing import Any, Protocol

from tiersim import __version__
from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model import ReplayModel
from tiersim.scenarios.sweeps.folder import SCHEMA, Plan, SweepFolder
from tiersim.scenarios.sweeps.grid import Grid, Point
from tiersim.scenarios.sweeps.rows import Row, failed_row, row_of, screened_row
from tiersim.scenarios.sweeps.screening import StandIn
from tiersim.scenarios.sweeps.sources import Note, SweepSource
from tiersim.simulator.result import Result

#: How often the one who waits looks up, in seconds: for Ctrl-C and the progress bar.
_LOOKS_UP_S = 0.2
Progress = Callable[[int, int], None]


class Stopped(Exception):
    """A run ends because nobody waits for it any more."""


@dataclass(frozen=True)
class Overview:
    """What is known of a grid when every point's scenario has been loaded once."""

    first: NamedScenario  # the first point's that is a scenario
    replays: Sequence[NamedScenario]  # one for each way of replaying
    content_hash: str  # of all points' scenarios, with every default, and their devices


def look_over(grid: Grid, recorded_on: NamedScenario | None = None) -> Overview:
    """Load the scenario of every point; raises the ScenarioError of the first when none is one.

    A point that is none by itself is a failed point, and no reason not to run the others.
    """
    digest = hashlib.blake2b(digest_size=16)
    first: NamedScenario | None = None
    error: ScenarioError | None = None
    replays: dict[ReplayModel, NamedScenario] = {}
    for number in range(len(grid)):
        try:
            scenario = grid.scenario_of(grid.point(number))
        except ScenarioError as wrong:
            error = error or wrong
            digest.update(str(wrong).encode())
            continue
        first = first or scenario
        replays.setdefault(scenario.model.replay, scenario)
        digest.update(scenario.identity.encode())
    if first is None:
        assert error is not None  # a grid has at least one point
        raise error
    if recorded_on is not None:
        digest.update(recorded_on.identity.encode())
    return Overview(first, list(replays.values()), digest.hexdigest())


def plan_of(
    grid: Grid,
    overview: Overview,
    source: SweepSource,
    *,
    keep: bool = False,
    screen: float | None = None,
    recorded_on: NamedScenario | None = None,
) -> Plan:
    """Return the document of ``sweep.json``: what is to be run, to the last bit."""
    return {
        "schema": SCHEMA,
        "tool": __version__,
        "trace": {key: source.trace[key] for key in ("name", "hash", "source_format")},
        "scenario": overview.first.name,
        "scenario_hash": overview.content_hash,
        "axes": [
            {"key": axis.key, "values": list(axis.values), "numbers": axis.numbers, "unit": axis.unit}
            for axis in grid.axes
        ],
        "fixed": dict(grid.fixed),
        "replications": grid.replications,
        "points": len(grid),
        "keep": keep,
        "screen": screen,
        "recorded_on": None if recorded_on is None else recorded_on.name,
    }


@dataclass(frozen=True)
class Done:
    """What came of a point: its row, and its whole result where that is kept."""

    row: Row
    result: Result | None


class Workers(Protocol):
    """Whoever runs points: threads of this process, or a cluster."""

    def run(self, points: Iterable[tuple[Point, NamedScenario]]) -> Generator[Done | None]:
        """Take *points* one by one as there is room, and yield what came of each, in any order; None now and then, so
        that the caller can look up.
        """
        ...


class Threads:
    """Threads of this process on one source."""

    def __init__(self, source: SweepSource, count: int, *, keep: bool) -> None:
        """Use *count* threads; *keep* whole results."""
        self._source, self._count, self._keep = source, count, keep

    def __str__(self) -> str:
        """Say how many."""
        return f"{self._count} threads"

    def run(self, points: Iterable[tuple[Point, NamedScenario]]) -> Generator[Done | None]:
        """See :class:`Workers`; whoever stops to listen stops the threads at their next step."""
        stop = Event()

        def note(_: int) -> None:
            if stop.is_set():
                raise Stopped

        left = iter(points)
        first = next(left, None)
        if first is None:
            return
        left = chain([first], left)
        self._source.prepare()
        with ThreadPoolExecutor(self._count) as pool, ExitStack() as at_end:
            at_end.callback(pool.shutdown, wait=False, cancel_futures=True)
            at_end.callback(stop.set)
            running: set[Future[Done]] = set()
            while True:
                for point, scenario in left:
                    running.add(pool.submit(run_point, self._source, point, scenario, note, keep=self._keep))
                    if len(running) >= 2 * self._count:
                        break
                if not running:
                    return
                ended, running = wait(running, _LOOKS_UP_S, FIRST_COMPLETED)
                for future in ended:
                    yield future.result()
                yield None


def run_point(source: SweepSource, point: Point, scenario: NamedScenario, note: Note, *, keep: bool) -> Done:
    """Run one point; one whose scenario and trace do not fit each other is done, too: its row says why."""
    try:
        result = source.run(scenario, note, tables=keep)
    except (ScenarioError, TraceError) as error:
        return Done(failed_row(str(error), **about(point)), None)
    return Done(row_of(result, **about(point)), result if keep else None)


def run_sweep(
    grid: Grid,
    folder: SweepFolder,
    workers: Workers,
    stand_ins: Mapping[int, StandIn] | None = None,
    progress: Progress | None = None,
) -> int:
    """Run the points of *grid* that are not in *folder* yet and write each when it is done; return how many there were
    to run.

    Those of *stand_ins* are not run if the point that stands for them could be simulated. *progress* is called with the
    points that are done, and all of them. Raises OutputError; what was written stays.
    """
    stand_ins = stand_ins or {}
    missing = [number for number in grid.in_order_of_work() if not folder.has(grid.point(number))]
    left = len(missing)

    def write(done: Done) -> None:
        nonlocal left
        folder.write(done.row, done.result)
        left -= 1

    def scenarios_of(numbers: Iterable[int]) -> Iterator[tuple[Point, NamedScenario]]:
        for number in numbers:
            point = grid.point(number)
            try:
                scenario = grid.scenario_of(point)
            except ScenarioError as error:
                write(Done(failed_row(str(error), **about(point)), None))
            else:
                yield point, scenario

    def run(numbers: Iterable[int]) -> None:
        with closing(workers.run(scenarios_of(numbers))) as came:
            for done in came:
                if done is not None:
                    write(done)
                if progress is not None:
                    progress(len(grid) - left, len(grid))

    run(number for number in missing if number not in stand_ins)
    alone = []
    for number in missing:
        if number not in stand_ins:
            continue
        by = stand_ins[number]
        if folder.row(by.point)["status"] == "done":
            write(Done(screened_row(by.point, by.why, by.whole, **about(grid.point(number))), None))
        else:
            alone.append(number)
    run(alone)
    return len(missing)


def about(point: Point) -> dict[str, Any]:
    """Return what every row says of its point."""
    return {"point": point.number, "replication": point.replication, "settings": point.settings}
