"""A drive with a buffer against its twin in plain Python, one command at a time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.plants import hdd
from tests.runs import commands, run
from tests.twins.hdd_buffer import NaiveDrive
from tiersim.devices.hdd.disk_drive import Drive, add_drive
from tiersim.devices.hdd.hdd_measured import MeasuredDrive, MeasuredZone
from tiersim.devices.plant import PlantBuilder

pytestmark = pytest.mark.kernels

_TIME = st.sampled_from([0, 20_000, 150_000, 1_100_000])
_RATE = st.sampled_from([None, 2_000_000, 4_000_000, 40_000_000, 600_000_000])
_BUFFERS = st.fixed_dictionaries(
    {
        "buffer_segments": st.integers(1, 4),
        "buffer_segment": st.sampled_from([32 * 512, 300 * 512, 2048 * 512]),
        "interface_rate": _RATE,
        "write_interface_rate": _RATE,
        "hit_overheads": st.tuples(*[_TIME] * 4),
        "miss_overheads": st.none() | st.tuples(*[_TIME] * 4),
        "write_settle": st.sampled_from([-1_500_000, 0, 400_000]),
        "completion_overhead": _TIME,
        "write_completion_overhead": st.none() | _TIME,
        "data_overhead": st.none() | _TIME,
        "disconnect_overheads": st.none() | st.tuples(*[_TIME] * 3),
        "reconnect_overheads": st.none() | st.tuples(*[_TIME] * 2),
        "extra_write_disconnect": st.none() | st.tuples(*[_TIME] * 5),
        "water_mark": st.sampled_from([None, 0.25, 0.75, 1.0]),
        "water_mark_of_segment": st.booleans(),
        "read_hits_wait": st.booleans(),
        "writes_wait": st.booleans(),
        "write_move_least": st.none() | _TIME,
        "write_segment_apart": st.booleans(),
        "write_into": st.sampled_from(["last used", "longest unused"]),
        "read_ahead": st.sampled_from(["none", "track", "next-track", "cylinder", "segment"]),
        "read_ahead_limit": st.sampled_from([None, 128 * 512]),
        "read_ahead_after_hit": st.booleans(),
        "read_awaits_ahead": st.none() | st.booleans(),
        "read_ahead_adaptive": st.booleans(),
        "write_segments": st.sampled_from([None, 1]),
        "seek_scatter": st.sampled_from([None, 1_000, 100_000, 200_000]),
    }
)


def slow_drive(**changes: Any) -> Drive:
    """A drive of the nineties, whose sectors take as long on the platter as on the bus, and some of whose sectors are
    bad.
    """
    zones = [
        MeasuredZone(
            first_cylinder=0, sectors_per_track=50, track_skew=6, cylinder_skew=9, runs=[(3, 400), (405, 595)]
        ),
        MeasuredZone(first_cylinder=20, sectors_per_track=40, track_skew=5, cylinder_skew=7, runs=[(0, 2400)]),
    ]
    own = hdd().model_dump() | {"rpm": 6000, "surfaces": 3, "cylinders": 40, "zones": zones, "track_switch": 900_000}
    own |= {"seek_curve": [(1, 1_000_000), (10, 3_000_000), (39, 6_000_000)], "serpentine": "no", "sources": {}}
    return MeasuredDrive.model_construct(**own | changes)


def check(drive: Drive, seed: int, count: int, sizes: list[int], write_share: float) -> None:
    """Give commands to the kernels at the times at which the twin would have them, and compare."""
    draw = np.random.default_rng(seed)
    builder = PlantBuilder(seed % 1000)
    station = add_drive(builder, drive, "drive")
    twin = NaiveDrive(drive, int(builder.build().drives[0]["phase_ps"]), builder.seed)
    times, writes, offsets, lengths, expected = [], [], [], [], []
    now, reached = 0, 0
    held = drive.geometry().sectors
    places = draw.integers(0, held, 3).tolist()
    for _ in range(count):
        now += int(draw.choice([1_000, 300_000, 4_000_000, 40_000_000])) + int(draw.integers(0, 1_000_000))
        sectors = int(draw.choice(sizes))
        near = int(draw.choice(places)) + int(draw.integers(0, 3000))
        first = (reached if draw.random() < 0.4 else near) % (held - max(sizes))
        write = bool(draw.random() < write_share)
        done = twin.done_ns(now, write, first, sectors)
        times.append(now)
        writes.append(write)
        offsets.append(first * 512)
        lengths.append(sectors * 512)
        expected.append(done - now)
        now, reached = done, first + sectors
    found = run(builder, commands(times, station, np.array(writes, np.uint8), offsets, lengths)).latency_ns
    assert found.tolist() == expected


#: Reads ahead to the end of a track are broken off while the heads switch to the next.
_AHEAD_OF_A_SWITCH: dict[str, Any] = {
    "buffer_segments": 3,
    "buffer_segment": 300 * 512,
    "interface_rate": 4_000_000,
    "hit_overheads": (0, 0, 0, 0),
    "write_settle": -1_500_000,
    "completion_overhead": 0,
    "write_into": "last used",
    "read_ahead": "track",
    "read_ahead_after_hit": True,
    "read_ahead_adaptive": False,
    "read_ahead_limit": None,
    "read_awaits_ahead": None,
    "read_hits_wait": False,
    "writes_wait": False,
    "water_mark": None,
    "water_mark_of_segment": False,
    "write_interface_rate": None,
    "write_segments": None,
    "write_segment_apart": False,
}


@pytest.mark.parametrize("make", [hdd, slow_drive])
@settings(deadline=None, max_examples=examples(100))
@example(buffer=_AHEAD_OF_A_SWITCH, seed=1_190_028)
@given(buffer=_BUFFERS, seed=st.integers(0, 2**32 - 1))
def test_a_drive_answers_as_its_twin(make: Callable[..., Drive], buffer: dict[str, Any], seed: int) -> None:
    check(make(queue_depth=1, **buffer), seed, 80, [1, 8, 16, 40, 60, 400], 0.4)


def test_a_drive_with_extra_disconnects_waits_for_ten_sectors() -> None:
    """Over a bus that is slower than the platter, or as fast: the first sectors have to be there,
    not the first alone.
    """
    extra = {"extra_write_disconnect": (640_000, 250_000, 45_000, 430_000, 130_000), "write_segments": None}
    buffer = {"buffer_segments": 2, "buffer_segment": 256 * 512, "interface_rate": 2_500_000, "read_ahead": "none"}
    check(slow_drive(queue_depth=1, **buffer, **extra), 1, 4000, [1, 8, 16, 44, 45, 60], 0.95)


def test_a_write_over_a_slow_bus_starts_when_no_sector_of_any_track_can_be_late() -> None:
    """A turn has few sectors: a start that is one too soon or too late shows in one write of so many as a track has."""
    buffer = {"buffer_segments": 2, "buffer_segment": 256 * 512, "interface_rate": 2_000_000, "read_ahead": "none"}
    check(slow_drive(queue_depth=1, write_segments=None, **buffer), 1, 4000, [60, 130, 200], 1.0)
