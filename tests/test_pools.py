"""Volumes that share devices with each other and with a neighbour."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples import first
from tests.runs import Run, commands, poisson, run
from tests.test_replay import scenario_of
from tiersim.devices.array.storage_pool import Neighbour, add_neighbour
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import DRIVE, RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operations import READ, WRITE
from tiersim.simulator.result import conservation

MS = 1_000_000
GIB = 1 << 30
COUNT = 1_500_000


def beside(neighbour: Neighbour, per_s: float, law: Any, count: int = COUNT, seed: int = 3) -> tuple[Run, PlantBuilder]:
    """Our Poisson arrivals and the neighbour's on one server of 1 ms."""
    builder = PlantBuilder(seed)
    server = add_server(builder, "server", 1, MS, law)
    entry = add_neighbour(builder, "others", neighbour, 0, GIB, server)
    return run(builder, commands(poisson(count, per_s, seed), entry)), builder


@pytest.mark.parametrize(("ours", "others"), first(1, (300, 300), (100, 700), (700, 100)))
def test_our_latency_under_a_neighbour_is_that_of_an_mm1_with_both_loads(ours: float, others: float) -> None:
    found, _ = beside(Neighbour(others, 0, 8192), ours, "exponential")
    load = (ours + others) / 1000
    assert found.latency_ns[COUNT // 50 :].mean() == pytest.approx(MS / (1 - load), rel=0.02)


@pytest.mark.parametrize(("ours", "others"), first(1, (300, 300), (200, 600)))
def test_and_of_an_md1_when_service_is_fixed(ours: float, others: float) -> None:
    """Pollaczek and Khinchine: load / (2 (1 - load)) services of waiting."""
    found, _ = beside(Neighbour(others / 2, others / 2, 8192), ours, "fixed")
    load = (ours + others) / 1000
    assert found.latency_ns[COUNT // 50 :].mean() == pytest.approx(MS * (1 + load / (2 * (1 - load))), rel=0.02)


def test_the_neighbour_is_in_the_utilisation_and_in_no_latency_of_ours() -> None:
    neighbour = Neighbour(400, 100, 8192)
    found, builder = beside(neighbour, 200, "fixed")
    seconds = found.outcome.end_ns / 1e9
    assert found.plant.work_ns[0, 0] / found.outcome.end_ns == pytest.approx(0.7, rel=0.01)
    assert found.metrics.completions.sum() == COUNT
    others = int(found.plant.stations["finished"][0]) - COUNT
    assert others == pytest.approx(500 * seconds, rel=0.01)
    checked = conservation(found.plant, builder.stations, found.outcome)
    assert checked == {"requests_in": COUNT, "requests_out": COUNT, "accounted_for": True, "little": True, "busy": True}


@pytest.mark.long
def test_arrivals_are_poisson_at_uniform_places_and_seeded() -> None:
    """Seen one by one at a station in plain Python."""
    from tiersim.simulator.metrics import new_metrics
    from tiersim.simulator.reference.engine import Device, ReferenceEngine

    seen: list[tuple[int, int, int, int]] = []

    class Witness(Device):
        def __init__(self, engine: ReferenceEngine) -> None:
            self.engine = engine

        def accept(self, now: int, slot: int) -> int:
            request = self.engine.plant.requests[slot]
            seen.append((now, int(request["op"]), int(request["offset_bytes"]), int(request["length_bytes"])))
            return now + 1

        def choose(self, now: int) -> Any:
            raise AssertionError

        def finish(self, slot: int, now: int) -> list[Any]:
            return []

    def requests(seed: int, ours: int = 1, end_ms: int = 4_000) -> list[tuple[int, int, int, int]]:
        seen.clear()
        builder = PlantBuilder(seed)
        server = add_server(builder, "server", 1, MS)
        entry = add_neighbour(builder, "others", Neighbour(150, 50, 16384), GIB, 10 * GIB + 5000, server)
        fed = commands([0, *range(1, ours), end_ms * MS], entry)
        ReferenceEngine(builder.build(), [fed], new_metrics(1, 2, RESOURCES, 2, 10**12), {0: Witness}).run()
        return seen[ours:-1]

    times, op, offset, length = (np.array(column) for column in zip(*requests(1, end_ms=40_000), strict=True))
    assert len(times) == pytest.approx(8000, rel=0.04)
    gaps = np.diff(times)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.04)  # exponential
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 0.04
    assert (op == READ).mean() == pytest.approx(0.75, abs=0.02)
    assert set(op) == {READ, WRITE}
    assert (length == 16384).all()
    assert ((offset - GIB) % 16384 == 0).all()
    assert offset.min() >= GIB
    assert offset.max() + 16384 <= 11 * GIB + 5000
    assert np.histogram(offset, 10, (GIB, 11 * GIB))[0] == pytest.approx(len(offset) / 10, rel=0.15)
    first = requests(1)
    assert requests(1) == requests(1, ours=20) == first  # whatever we ask for
    assert requests(2) != first


# ---- in a scenario

POOL = """
[pools.san]
device = "seagate-cheetah-15k7-300"
count = 8
layout = "raid10"
[volumes.data]
pool = "san"
size = "100 GiB"
[volumes.log]
pool = "san"
size = "20 GiB"
queue_depth = 4
[placement]
default = "data"
"""


def fed(folder: Path, text: str, per_s: float, volumes: list[str], count: int = 20_000) -> tuple[Run, PlantBuilder]:
    scenario = scenario_of(folder, text)
    builder = PlantBuilder(1)
    entries = scenario.build(builder)
    offsets = np.random.default_rng(1).integers(0, 20 * GIB // 8192, count) * 8192
    stations = np.resize(np.array([entries[name] for name in volumes], np.int32), count)
    requests = commands(poisson(count, per_s), 0, READ, offsets)
    requests.station[:] = stations
    return run(builder, requests), builder


def test_volumes_lie_behind_each_other_on_the_same_drives(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, POOL)
    assert [volume.capacity_bytes for volume in scenario.volumes.values()] == [100 * GIB, 20 * GIB]
    builder = PlantBuilder(1)
    scenario.build(builder)
    plant = builder.build()
    assert plant.ports["base_bytes"].tolist() == [0, 100 * GIB]
    assert [station.kind for station in builder.stations].count("hdd") == 8
    assert scenario.description == "8 × Seagate Cheetah 15K.7 300 GB (ST3300657SS), RAID10"
    assert scenario_of(tmp_path, scenario.to_toml()).volumes == scenario.volumes


def test_one_volume_feels_the_load_of_the_other_and_of_the_neighbour(tmp_path: Path) -> None:
    alone, _ = fed(tmp_path, POOL, 300, ["data"])
    both, _ = fed(tmp_path, POOL, 900, ["data", "data", "log"])
    neighbour = POOL + '[pools.san.neighbour]\nreads_per_s = 600\nwrites_per_s = 100\nsize = "8 KiB"\n'
    crowded, builder = fed(tmp_path, neighbour, 300, ["data"])
    assert alone.latency_ns.mean() < both.latency_ns.mean() < crowded.latency_ns.mean()
    drives = [index for index, row in enumerate(crowded.plant.stations) if row["kind"] == DRIVE]
    seconds = crowded.outcome.end_ns / 1e9
    # a write of the neighbour's is two on mirrors
    assert crowded.plant.stations["accepted"][drives].sum() / seconds == pytest.approx(300 + 600 + 200, rel=0.03)
    assert all(conservation(crowded.plant, builder.stations, crowded.outcome).values())


def test_slices_of_any_size_split_no_request(tmp_path: Path) -> None:
    """100 GB are no whole number of stripe units; the slice behind them begins at a whole MiB."""
    text = POOL.replace('"100 GiB"', '"100 GB"').replace('"20 GiB"', '"20 GB"')
    neighbour = text + '[pools.san.neighbour]\nreads_per_s = 600\nwrites_per_s = 0\nsize = "8 KiB"\n'
    run, builder = fed(tmp_path, neighbour, 300, ["log"])
    assert run.plant.ports["base_bytes"].tolist() == [0, -(-(10**11) // 2**20) << 20]
    members = [index for index, row in enumerate(run.plant.stations) if row["kind"] == DRIVE]
    through = sum(int(run.plant.stations["accepted"][index]) for index in members)
    neighbours = next(index for index, one in enumerate(builder.stations) if one.name == "san.neighbour")
    assert through <= int(run.plant.stations["accepted"][neighbours]) + 300


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            POOL.replace('"100 GiB"', '"2 TiB"'),
            "own.toml:2: pools.san: holds 1.091 TiB, its volumes are 2.02 TiB; make them",
        ),
        (
            POOL.replace('pool = "san"\nsize = "20', 'pool = "sam"\nsize = "20'),
            "volumes.log.pool: 'sam' is not one of the pools; did you mean 'san'?",
        ),
        (
            POOL.replace('size = "20 GiB"\n', ""),
            "volumes.log.size: of a slice of a pool has to be there, in whole 512 bytes",
        ),
        (
            POOL.replace("queue_depth = 4", 'count = 4\nlayout = "raid0"'),
            "volumes.log.count: the volume lies on a pool; write it under",
        ),
        (
            POOL.replace('"seagate-cheetah-15k7-300"', '"aws-gp3"'),
            "own.toml:3: pools.san.device: a pool is made of drives",
        ),
        (POOL + '[pools.other]\ndevice = "intel-p3700-800"\n', "pools.other: no volume lies on it; write pool ="),
        (POOL + '[pools.san.neighbour]\nsize = "8 KiB"\n', "pools.san.neighbour: asks for nothing; write reads_per_s"),
        (
            POOL + '[pools.san.neighbour]\nreads_per_s = 10\nsize = "1000 B"\n',
            "neighbour.size: is not a multiple of 512",
        ),
        (POOL + "[queues.san]\ndepth = 4\n", "pools.san: is the name of a queue; choose another"),
        (
            POOL + "[volumes.x]\nqueue_depth = 4\n",
            "volumes.x: the key 'device' is required and not there; a volume on a pool",
        ),
    ],
)
def test_mistakes_in_pools(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario_of(tmp_path, text)
    assert says in str(error.value)


def test_a_neighbour_needs_room(tmp_path: Path) -> None:
    scenario = scenario_of(tmp_path, POOL)
    whole = scenario.pools["san"].hardware.capacity_bytes - 20 * GIB
    text = POOL.replace('"100 GiB"', f'"{whole} B"') + '[pools.san.neighbour]\nreads_per_s = 10\nsize = "8 KiB"\n'
    with pytest.raises(ScenarioError, match=r"pools\.san\.neighbour: the volumes leave no room for it"):
        scenario_of(tmp_path, text)
