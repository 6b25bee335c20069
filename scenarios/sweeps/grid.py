"""The points of a sweep: every combination of the axes' values, once for each replication."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from tiersim.errors import ScenarioError
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sweeps.axes import Axis

SEED = "replay.seed"
#: Keys under these decide what of a trace is played and how its pool is filled; points that agree in them come one
#: after the other.
_NOT_HARDWARE = ("replay", "engine", "host")


@dataclass(frozen=True)
class Point:
    """One combination: its number, which replication it is, and its settings by key, as text."""

    number: int
    replication: int
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Grid:
    """Axes over a scenario, with settings that all points share.

    Points are numbered with the last axis fastest and the replications slowest: a whole grid is there before the next
    begins.
    """

    scenario: str  # a name or a file, as ``load_scenario`` takes it
    axes: tuple[Axis, ...]
    fixed: Mapping[str, str]
    replications: int = 1

    @classmethod
    def of(cls, scenario: str, axes: Sequence[Axis], replications: int = 1) -> "Grid":
        """Make the grid of *axes*, of which those with one value vary nothing; raises ScenarioError."""
        if replications > 1 and any(axis.key == SEED and len(axis.values) > 1 for axis in axes):
            raise ScenarioError(
                f"--replications {replications}: each has a seed of its own, and so have the values of {SEED}; leave"
                " one of them out"
            )
        varying = tuple(axis for axis in axes if len(axis.values) > 1)
        return cls(
            scenario, varying, {axis.key: axis.values[0] for axis in axes if len(axis.values) == 1}, replications
        )

    def __len__(self) -> int:
        """Count the points."""
        return self.replications * prod(len(axis.values) for axis in self.axes)

    def point(self, number: int) -> Point:
        """Return the point of a number."""
        replication, place = divmod(number, len(self) // self.replications)
        settings = {}
        for axis in reversed(self.axes):
            place, value = divmod(place, len(axis.values))
            settings[axis.key] = axis.values[value]
        return Point(number, replication, dict(reversed(settings.items())))

    def in_order_of_work(self) -> Iterator[int]:
        """Yield all numbers, those of points that differ in their hardware alone one after the other.

        What is made of a trace for one point then does for the next. The order changes no result.
        """
        slow = [axis for axis in self.axes if axis.key.partition(".")[0] in _NOT_HARDWARE]
        fast = [axis for axis in self.axes if axis not in slow]
        weights = {}
        weight = 1
        for axis in reversed(self.axes):
            weights[axis.key] = weight
            weight *= len(axis.values)
        for replication in range(self.replications):
            yield from _walk([*slow, *fast], weights, replication * weight)

    def scenario_of(self, point: Point) -> NamedScenario:
        """Load the scenario of a point; raises ScenarioError. Replication r has the seed of the scenario, and r."""
        settings = [f"{key}={value}" for key, value in {**self.fixed, **point.settings}.items()]
        scenario = load_scenario(self.scenario, settings)
        if not point.replication:
            return scenario
        seed = scenario.model.replay.seed + point.replication
        return load_scenario(self.scenario, [*settings, f"{SEED}={seed}"])


def _walk(axes: Sequence[Axis], weights: Mapping[str, int], first: int) -> Iterator[int]:
    if not axes:
        yield first
        return
    for place in range(len(axes[0].values)):
        yield from _walk(axes[1:], weights, first + place * weights[axes[0].key])
