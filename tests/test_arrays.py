"""Arrays: what goes where, and how much."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawn_streams import streams_of
from tests.plants import bucket, hdd
from tests.runs import Run, commands, needs_jit, poisson, run
from tiersim.devices.array.array_kernels import column_part
from tiersim.devices.array.volume import Layout, Volume, add_array, add_volume, unit_bytes, usable_bytes
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import PASS_ON_NS, RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operations import DISCARD, FLUSH, READ, WRITE
from tiersim.scenarios.hardware import NamedScenario, place_files
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.survey import FileUse
from tiersim.simulator import station as machine
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import NO_DATABASE
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.streams import CLOCK, OWN

pytestmark = pytest.mark.kernels

UNIT = 65536


def run_array(layout: Layout, members: int, fed: tuple[Any, ...], service_ns: int = 1_000_000) -> Run:
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 1, service_ns) for index in range(members)]
    array = add_array(builder, drives, layout, UNIT, 1, "array")
    times, op, offsets, lengths = fed
    return run(builder, commands(times, array, op, offsets, lengths))


@settings(deadline=None)
@given(
    st.integers(1, 9), st.integers(1, 6), st.integers(0, 200), st.integers(1, 80), st.integers(0, 5)
)  # fmt: skip
def test_column_parts_are_what_byte_by_byte_striping_gives(
    stripe: int, columns: int, offset: int, length: int, column: int
) -> None:
    column %= columns
    own = [b for b in range(offset, offset + length) if b // stripe % columns == column]
    places = [b // stripe // columns * stripe + b % stripe for b in own]
    expected = (places[0], len(places)) if places else (0, 0)
    assert places == list(range(expected[0], expected[0] + expected[1]))
    assert column_part(offset, length, stripe, columns, column) == expected


@pytest.mark.parametrize(
    ("layout", "op", "per_request"),
    [("raid0", READ, 1), ("raid0", WRITE, 1), ("raid10", READ, 1), ("raid10", WRITE, 2), ("raid10", DISCARD, 2)],
)
def test_small_requests_cost_what_the_layout_says(layout: Layout, op: int, per_request: int) -> None:
    count = 4000
    offsets = np.random.default_rng(1).integers(0, 10**5, count) * 8192
    found = run_array(layout, 8, (np.arange(count) * 10_000_000, op, offsets, 8192))
    done = found.plant.stations["finished"][:8]
    assert done.sum() == per_request * count
    assert done.min() > 0.8 * done.mean()


def test_a_full_stripe_touches_every_column_once_and_a_flush_every_member() -> None:
    found = run_array("raid10", 8, ([0], READ, 0, 4 * UNIT))
    assert sorted(found.plant.stations["finished"][:8].tolist()) == [0] * 4 + [1] * 4
    found = run_array("raid10", 8, ([0], WRITE, 0, 8 * UNIT))
    assert found.plant.stations["finished"][:8].tolist() == [1] * 8
    found = run_array("raid10", 8, ([0], FLUSH, 0, 0))
    assert found.plant.stations["finished"][:8].tolist() == [1] * 8


def test_a_request_ends_with_its_last_part() -> None:
    found = run_array("raid0", 4, ([0, 0], READ, [0, 0], [8192, 4 * UNIT]))
    assert found.latency_ns.tolist() == [1_000_001, 2_000_001]


@needs_jit
@pytest.mark.parametrize(("layout", "reads", "writes"), [("raid0", 8000, 8000), ("raid10", 8000, 4000)])
def test_throughput_of_eight_drives(layout: Layout, reads: int, writes: int) -> None:
    """Each drive does 1000/s: striping gives all of them, mirroring all of them to reads and half to writes."""
    count = 40_000
    offsets = np.random.default_rng(1).permutation(count) * UNIT
    for op, rate in ((READ, reads), (WRITE, writes)):
        found = run_array(layout, 8, (np.zeros(count), op, offsets, 8192))
        assert count / (found.outcome.end_ns / 1e9) == pytest.approx(rate, rel=0.03)


@needs_jit
def test_mixed_load_on_raid10_keeps_members_as_busy_as_the_arithmetic_says() -> None:
    """r reads and w writes a second on n drives: each drive serves (r + 2 w) / n."""
    count, rate = 100_000, 3000.0
    generator = np.random.default_rng(1)
    op = (generator.random(count) < 0.3).astype(np.uint8)
    fed = (poisson(count, rate), op, generator.integers(0, 10**6, count) * 8192, 8192)
    found = run_array("raid10", 8, fed)
    expected = ((op == READ).sum() + 2 * (op == WRITE).sum()) * 1_000_000
    assert found.plant.work_ns[:8, 0].sum() == expected
    np.testing.assert_allclose(found.plant.work_ns[:8, 0], expected / 8, rtol=0.05)


def test_reads_go_to_the_idle_mirror() -> None:
    found = run_array("raid10", 2, (np.zeros(10), READ, 0, 8192))
    assert found.plant.stations["finished"][:2].tolist() == [5, 5]
    # two at a time: the pair works as one station with two servers
    assert found.outcome.end_ns == 5_000_001


def test_the_nearest_copy_reads() -> None:
    """Who read up to here goes on though the other is idle; else an idle one reads; of busy ones the nearest."""
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 1, 1_000_000) for index in range(2)]
    array = add_array(builder, drives, "raid1", 1 << 40, 1, "array", read_balance="nearest")
    plant = builder.build()

    def reads(offset: int, outstanding: tuple[int, int]) -> int:
        plant.stations["outstanding"][:2] = outstanding
        plant.requests[0]["offset_bytes"], plant.requests[0]["length_bytes"] = offset, 8192
        assert machine.finish(plant, NO_DATABASE, array, 0) == 1
        return int(plant.children[0]["station"])

    assert reads(0, (0, 0)) == 0
    assert reads(1 << 30, (1, 0)) == 1
    assert [reads(8192 * page, (0, 0)) for page in range(1, 4)] == [0, 0, 0]
    assert reads((1 << 30) + 8192, (5, 9)) == 1
    assert reads(100 << 20, (9, 1)) == 0
    assert reads(900 << 20, (1, 9)) == 1
    assert reads(200 << 20, (9, 0)) == 1


@pytest.mark.parametrize("copies", [2, 3])
def test_raid1_reads_from_all_members_and_writes_to_all(copies: int) -> None:
    found = run_array("raid1", copies, (np.zeros(60), READ, np.arange(60) * 8192, 8192))
    assert found.plant.stations["finished"][:copies].tolist() == [60 // copies] * copies
    found = run_array("raid1", copies, (np.zeros(60), WRITE, np.arange(60) * 8192, 3 * UNIT))
    assert found.plant.stations["finished"][:copies].tolist() == [60] * copies


def test_members_of_jbod_lie_one_after_the_other() -> None:
    builder = PlantBuilder(1)
    drives = [add_server(builder, f"drive {index}", 1, 1_000_000) for index in range(3)]
    unit = unit_bytes("jbod", 10 * UNIT, 4096)
    array = add_array(builder, drives, "jbod", unit, 1, "array")
    offsets = np.array([0, 9, 10, 19, 20, 29, 9]) * UNIT
    lengths = np.array([1, 1, 1, 1, 1, 1, 12]) * UNIT  # the last begins on the first member and ends on the third
    found = run(builder, commands(np.arange(7) * 10_000_000, array, READ, offsets, lengths))
    assert found.plant.stations["finished"][:3].tolist() == [3, 3, 3]
    assert usable_bytes(10 * UNIT + 700, 3, "jbod", 4096) == 3 * (10 * UNIT + 512)
    assert usable_bytes(10 * UNIT + 700, 3, "raid1", 4096) == 10 * UNIT + 512


def volume_of(keys: str, tmp_path: Path) -> tuple[NamedScenario, PlantBuilder, int]:
    file = tmp_path / "drawn.toml"
    file.write_text(f'[volumes.data]\ndevice = "intel-p3700-800"\n{keys}')
    scenario = load_scenario(str(file))
    builder = PlantBuilder(1)
    return scenario, builder, scenario.build(builder)["data"]


@needs_jit
@pytest.mark.parametrize(
    ("size", "offset", "members"),
    [(UNIT, "0 B", 1.0), (UNIT, "31.5 KiB", 2.0), (8192, "0 B", 1.0), (8192, "31.5 KiB", 1 + 1 / 8),
     (16384, "31.5 KiB", 1 + 1 / 4), (16384, "32 KiB", 1.0), (3 * UNIT, "0 B", 3.0), (3 * UNIT, "31.5 KiB", 4.0),
     (8192, "1 MiB", 1.0), (4096, "31.5 KiB", 1 + 1 / 16)],
)  # fmt: skip
def test_partitions_that_are_not_aligned_split_requests(size: int, offset: str, members: float, tmp_path: Path) -> None:
    """Requests at multiples of their size: each unit's end lies within one of them unless the
    offset is a multiple too.
    """
    scenario, builder, station = volume_of(f'count = 4\nlayout = "raid0"\noffset = "{offset}"\n', tmp_path)
    home = place_files(scenario, [FileUse("data", 10**9, False, np.zeros(0, np.int64))])[0]
    offsets = home.place(np.arange(4800) * size)
    drives = [index for index, one in enumerate(builder.stations) if one.kind == "flash"]
    found = run(builder, commands(np.arange(4800) * 1_000_000, station, READ, offsets, size))
    assert found.plant.stations["finished"][drives].sum() / 4800 == pytest.approx(members, abs=1e-3)


def test_an_offset_takes_room_and_moves_packed_extents_too(tmp_path: Path) -> None:
    whole, _, _ = volume_of("", tmp_path)
    capacity = whole.volumes["data"].capacity_bytes
    use = FileUse("data", capacity - (1 << 20), False, np.array([0, 5], np.int64))
    full, _, _ = volume_of('offset = "1 GiB"\n', tmp_path)
    with pytest.raises(ScenarioError, match="the trace needs"):
        place_files(full, [use])
    packed, _, _ = volume_of('offset = "31.5 KiB"\n[replay]\naddresses = "pack"\n', tmp_path)
    assert place_files(packed, [use])[0].place(np.zeros(1, np.int64)).tolist() == [32256]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('offset = "100 B"', "drawn.toml:3: volumes.data.offset: 100 bytes are not a multiple of 512; choose one"),
        ('count = 4\nlayout = "raid10"\nfailed = [2, 3]', r"volumes.data.failed: members \[2, 3\] of"),
        ("failed = [0]", "volumes.data.failed: layout = .single. has no second copy"),
        ('rebuild_rate = "30 MB/s"', "volumes.data.failed: names no member to rebuild; add for example failed = .0."),
        ('count = 2\nlayout = "raid1"\nfailed = [1]\nrebuild_from = 0.5', "rebuild_rate: is needed with rebuild_from"),
        ('count = 2\nlayout = "raid1"\nfailed = [1]\nrebuild_from = 2.0', "volumes.data.rebuild_from"),
        ('count = 2\nlayout = "raid0"\nread_balance = "nearest"', 'layout = "raid0" has no copies to choose among'),
        ("layout = \"raid1\"", 'layout = "raid1" needs a count of 2 or more, not 1'),
    ],
)  # fmt: skip
def test_what_is_not_possible_is_said_in_a_sentence(keys: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=message):
        volume_of(keys + "\n", tmp_path)


def test_a_rebuild_in_a_scenario(tmp_path: Path) -> None:
    keys = 'count = 4\nlayout = "raid5"\nfailed = [2]\nrebuild_rate = "30 MB/s"\nrebuild_from = 0.25\n'
    scenario, builder, _ = volume_of(keys, tmp_path)
    assert [one.name for one in builder.stations] == [
        "data.0", "data.1", "data.2", "data.3", "data.rebuild", "data.stripes", "data",
    ]  # fmt: skip
    text = "RAID5, member 2 failed and being rebuilt at no more than 30 MB/s, for 5.6 h or longer"
    assert scenario.description.endswith(text)
    again = tmp_path / "again.toml"
    again.write_text(scenario.to_toml())
    assert load_scenario(str(again)).model == scenario.model
    _, builder, _ = volume_of('count = 4\nlayout = "raid5"\nfailed = [2]\n', tmp_path)
    assert [one.name for one in builder.stations] == ["data.0", "data.1", "data.3", "data.stripes", "data"]


@pytest.mark.parametrize(("layout", "count"), [("single", 1), ("jbod", 1), ("raid1", 2), ("raid5", 3)])
@pytest.mark.parametrize("length", [8192, 3 * UNIT])
def test_what_passes_in_the_controller_passes_before_a_single_drive_too(
    layout: Layout, count: int, length: int
) -> None:
    def takes_ns(overhead_ns: int) -> int:
        builder = PlantBuilder(1)
        volume = Volume("data", bucket(latency=1_000_000), count, layout, UNIT, overhead_ns)
        return int(run(builder, commands([0], add_volume(builder, volume), READ, 4096, length)).latency_ns[0])

    assert takes_ns(300_000) - takes_ns(PASS_ON_NS) == pytest.approx(300_000, abs=PASS_ON_NS)


@needs_jit
@pytest.mark.parametrize("drives", [1, 2, 4, 8, 16, 24])
def test_saturated_random_reads_grow_with_the_number_of_drives(drives: int) -> None:
    """With 64 outstanding for each drive, as many as a drive orders."""
    per_drive = reads_per_s(drives) / drives
    assert per_drive == pytest.approx(reads_per_s(1), rel=0.05)


@cache
def reads_per_s(drives: int) -> float:
    """Throughput of a closed loop of 8 KiB reads all over a RAID 0, 64 clients for each drive."""
    clients, each = 64 * drives, 40
    volume = Volume("data", hdd(queue_depth=64), drives, "raid0", UNIT)
    builder = PlantBuilder(1)
    station = add_volume(builder, volume)
    pages = np.random.default_rng(1).integers(0, volume.capacity_bytes // 8192, clients * each)
    fed = commands(np.zeros(clients * each), station, READ, pages * 8192)
    place = np.arange(clients * each) // clients
    waits = np.where(place == 0, CLOCK, OWN)
    streams = streams_of(fed, np.arange(clients * each) % clients, np.ones(clients, np.bool_), waits, 0, place)
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 2, 1 << 40)
    engine.run_streams(builder.build(), streams, metrics)
    done = np.sort(streams.done_ns)
    # at the end clients are done and the queues run empty
    half = len(done) // 2
    return half / (int(done[half - 1]) / 1e9)


def test_capacity_counts_whole_units_of_the_columns() -> None:
    assert usable_bytes(10 * UNIT + 5, 4, "raid0", UNIT) == 40 * UNIT
    assert usable_bytes(10 * UNIT + 5, 4, "raid10", UNIT) == 20 * UNIT
    assert usable_bytes(10 * UNIT + 5, 1, "single", UNIT) == 10 * UNIT + 5
