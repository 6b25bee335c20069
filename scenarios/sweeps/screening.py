"""Points that need no simulation: the fitted laws say that a pool of another size misses the same, or another load runs
as the same whole sessions.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.popularity.fit import predict
from tiersim.scenarios.load_steps import whole_loads
from tiersim.scenarios.statements.assembly import cache_state_of, frames_of
from tiersim.scenarios.statements.settings import settings_of_load
from tiersim.scenarios.sweeps.grid import Grid, Point
from tiersim.scenarios.sweeps.sources import RequestSource, StatementSource, SweepSource

POOL = "engine.buffer_pool"
LOAD = "replay.load"


@dataclass(frozen=True)
class StandIn:
    """The point that stands for another one, and why; what loads have whole numbers of, where it is that."""

    point: int
    why: str
    whole: str = ""


def stand_ins(grid: Grid, source: SweepSource, tolerance: float) -> Mapping[int, StandIn]:
    """Return, by number, the points whose pool misses as often as that of a smaller one, and that one.

    Points that differ in the size of the pool alone are looked at from the smallest on. A size is stood for by the last
    one that is simulated when the misses that the laws expect of both (``docs/popularity.md``) differ by no more than
    *tolerance* times the larger; so no chain of small differences adds up. What else follows from the size (dirty pages
    that stay, settings that the engine derives from it) is not compared. Raises ScenarioError where nothing can be
    compared.
    """
    axis = next((axis for axis in grid.axes if axis.key == POOL), None)
    if axis is None or axis.numbers is None or not isinstance(source, StatementSource):
        raise ScenarioError(
            f"--screen: compares sizes of a buffer pool under statements that were recorded; add --set {POOL}=A..B, or"
            " leave it out"
        )
    sizes = dict(zip(axis.values, axis.numbers, strict=True))
    groups: dict[tuple[object, ...], list[Point]] = {}
    for number in range(len(grid)):
        point = grid.point(number)
        others = tuple(value for key, value in point.settings.items() if key != POOL)
        groups.setdefault((point.replication, others), []).append(point)
    expected = _Expected(source)
    found: dict[int, StandIn] = {}
    for points in groups.values():
        simulated: tuple[Point, float] | None = None
        for point in sorted(points, key=lambda one: sizes[one.settings[POOL]]):
            misses = expected.misses(grid, point)
            if misses is None:
                continue
            if simulated is not None and abs(simulated[1] - misses) <= tolerance * max(simulated[1], misses):
                by, size = simulated[0].number, simulated[0].settings[POOL]
                found[point.number] = StandIn(
                    by,
                    f"by the fitted laws a pool of {point.settings[POOL]} misses {misses:,.0f} pages of the recording's"
                    f" accesses and one of {size} {simulated[1]:,.0f}, within {100 * tolerance:g} %: point {by} stands"
                    " for it",
                )
            else:
                simulated = point, misses
    return found


def same_loads(grid: Grid, source: SweepSource) -> Mapping[int, StandIn]:
    """Return, by number, the points that run the load of another one, as sessions are whole, and that one."""
    if all(axis.key != LOAD for axis in grid.axes) or not isinstance(source, RequestSource | StatementSource):
        return {}
    ran: dict[tuple[object, ...], tuple[float, float, str] | None] = {}  # by settings of the replay
    groups: dict[tuple[int, tuple[str, ...], float], list[tuple[float, int, str]]] = {}
    for number in range(len(grid)):
        point = grid.point(number)
        rules = tuple(one for one in point.settings.items() if one[0].startswith("replay."))
        if (point.replication, rules) not in ran:
            ran[point.replication, rules] = _load_ran(grid, point, source)
        found = ran[point.replication, rules]
        if found is not None:
            asked, load, whole = found
            others = tuple(value for key, value in point.settings.items() if key != LOAD)
            groups.setdefault((point.replication, others, load), []).append((abs(asked - load), number, whole))
    stand_ins = {}
    for (_, _, load), points in groups.items():
        (_, by, whole), *repeated = sorted(points)  # the one that asked for that load, if it is there
        for _, number, _ in repeated:
            why = whole_loads(whole, [f"{load:.4g} × ran, as at point {by}"])
            stand_ins[number] = StandIn(by, why, whole)
    return stand_ins


def _load_ran(grid: Grid, point: Point, source: RequestSource | StatementSource) -> tuple[float, float, str] | None:
    """Return the load that a point asks for, the one that it runs, and what is whole; None if it is no scenario."""
    try:
        scenario = grid.scenario_of(point)
    except ScenarioError:
        return None
    asked, steps = scenario.model.replay.load, source.steps(scenario)
    return asked, steps.at(asked), steps.whole


class _Expected:
    """Pages that pools miss, by the laws of a source; pools of as many frames alike."""

    def __init__(self, source: StatementSource) -> None:
        self._source = source
        self._by_frames: dict[int, float] = {}

    def misses(self, grid: Grid, point: Point) -> float | None:
        """Return how many pages the recorded accesses miss in the long run, None where the point is no scenario or its
        pool is not warm.
        """
        try:
            scenario = grid.scenario_of(point)
            load = self._source.load(scenario)
            if cache_state_of(scenario, load) != "warm":
                return None
            settings = settings_of_load(scenario, load)
        except ScenarioError:
            return None
        frames = frames_of(load, settings)
        if frames not in self._by_frames:
            each = predict(load.fitted, frames)
            self._by_frames[frames] = sum(
                table.accesses * (missed.index + missed.heap)
                for table, missed in zip(load.fitted.tables, each, strict=True)
            )
        return self._by_frames[frames]
