"""Points of a grid: their order, their numbers, their seeds, and in which order they are worked on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.errors import ScenarioError
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.scenarios.sweeps.grid import Grid


def grid(*settings: str, replications: int = 1) -> Grid:
    return Grid.of("pcie-flash", parse_axes(settings), replications)


def test_the_last_axis_is_fastest_and_replications_are_slowest() -> None:
    found = grid("replay.load=1,2", "volumes.data.count=1..4", replications=2)
    assert len(found) == 12
    settings = [tuple(found.point(number).settings.values()) for number in range(12)]
    assert settings[:6] == [("1", "1"), ("1", "2"), ("1", "4"), ("2", "1"), ("2", "2"), ("2", "4")]
    assert settings[6:] == settings[:6]
    assert [found.point(number).replication for number in (0, 5, 6, 11)] == [0, 0, 1, 1]
    assert list(found.point(7).settings) == ["replay.load", "volumes.data.count"]


def test_one_value_is_a_setting_of_all_points() -> None:
    found = grid("replay.mode=open", "replay.load=1,2")
    assert found.fixed == {"replay.mode": "open"}
    assert found.point(0).settings == {"replay.load": "1"}
    assert found.scenario_of(found.point(0)).model.replay.mode == "open"


def test_replication_r_has_the_seed_of_the_scenario_and_r() -> None:
    found = grid("replay.seed=5", "replay.load=1,2", replications=3)
    assert [found.scenario_of(found.point(number)).model.replay.seed for number in range(6)] == [5, 5, 6, 6, 7, 7]


def test_seeds_are_not_swept_and_replicated() -> None:
    with pytest.raises(ScenarioError, match=r"--replications 2: each has a seed of its own.*leave one of them out"):
        grid("replay.seed=1..4", replications=2)


def test_points_that_differ_in_hardware_alone_come_one_after_the_other() -> None:
    found = grid("volumes.data.count=1..4", "replay.load=1,2", replications=2)
    loads = [found.point(number).settings["replay.load"] for number in found.in_order_of_work()]
    assert loads == ["1"] * 3 + ["2"] * 3 + ["1"] * 3 + ["2"] * 3


@given(st.lists(st.integers(2, 4), min_size=0, max_size=3), st.integers(1, 3))
def test_every_point_is_worked_on_once(lengths: list[int], replications: int) -> None:
    keys = ("volumes.data.count", "replay.load", "volumes.data.queue_depth")
    settings = [f"{key}={','.join(map(str, range(1, length + 1)))}" for key, length in zip(keys, lengths, strict=False)]
    found = grid(*settings, replications=replications)
    assert sorted(found.in_order_of_work()) == list(range(len(found)))
    distinct = {(point.replication, *point.settings.values()) for point in map(found.point, range(len(found)))}
    assert len(distinct) == len(found)
