"""Caches and tiers as a scenario writes them: keys, errors, where things are placed, what the result says."""

from pathlib import Path

import numpy as np
import pytest

from tests.runs import Run, commands, run
from tests.test_replay import scenario_of, write_trace
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import FLASH_CACHE, TIERS
from tiersim.errors import ScenarioError
from tiersim.operations import READ
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.traces.bundle import Bundle

DATA = '[volumes.data]\ndevice = "seagate-cheetah-15k7-300"\n'
FLASH = '[volumes.flash]\ndevice = "intel-p3700-800"\n'
CACHED = DATA + FLASH + 'caches = "data"\n'
POOL = DATA + FLASH + '[volumes.pool]\ntiers = ["flash", "data"]\n'


def test_what_is_written_out_reads_back_the_same(tmp_path: Path) -> None:
    for text in (CACHED, CACHED + 'cache_mode = "write-back"\nsequential_cutoff = "0 B"\n', POOL + "queue_depth = 8\n"):
        first = scenario_of(tmp_path, text)
        again = scenario_of(tmp_path, first.to_toml())
        assert again.model == first.model
        assert again.to_toml() == first.to_toml()
    assert 'cache_block = "4096 B"' in scenario_of(tmp_path, CACHED).to_toml()
    assert "cache_mode" not in scenario_of(tmp_path, DATA).to_toml()


def test_the_default_volume_is_one_that_holds_data(tmp_path: Path) -> None:
    assert scenario_of(tmp_path, FLASH + 'caches = "data"\n' + DATA).model.default_volume == "data"
    pool = scenario_of(tmp_path, POOL)
    assert pool.model.default_volume == "pool"
    assert list(pool.homes) == ["pool"]


def test_capacities(tmp_path: Path) -> None:
    assert scenario_of(tmp_path, CACHED).homes["data"].capacity_bytes == 300 * 10**9
    extent = 256 << 20
    extents = 800 * 10**9 // extent + 300 * 10**9 // extent - 1
    assert scenario_of(tmp_path, POOL).homes["pool"].capacity_bytes == extents * extent


def test_the_host_stands_before_tiers_and_caches(tmp_path: Path) -> None:
    builder = PlantBuilder(1)
    text = POOL + 'queue_depth = 8\nmax_request = "64 KiB"\n[queues.hba]\ndepth = 4\n'
    assert scenario_of(tmp_path, text).build(builder) == {"pool": 5}
    assert [station.name for station in builder.stations] == ["data", "flash", "pool", "pool.queue", "hba", "hba.pool"]
    builder = PlantBuilder(1)
    text = DATA + 'queue_depth = 8\nmax_request = "64 KiB"\n' + FLASH + 'queue_depth = 16\ncaches = "data"\n'
    assert scenario_of(tmp_path, text).build(builder) == {"data": 5}
    assert [station.name for station in builder.stations] == [
        "data", "data.queue", "flash", "flash.queue", "data.cache", "data.port",
    ]  # fmt: skip


def fed(folder: Path, text: str, apart_bytes: int = 0) -> Run:
    builder = PlantBuilder(1)
    (station,) = scenario_of(folder, text).build(builder).values()
    return run(builder, commands(np.arange(4) * 10**9, station, READ, np.arange(4) * apart_bytes, 8192))


def test_requests_go_to_the_cache_first(tmp_path: Path) -> None:
    found = fed(tmp_path, CACHED)
    assert (found.latency_ns[1:] < 200_000).all()
    assert found.latency_ns[0] > 1_000_000
    assert FLASH_CACHE in found.plant.stations["kind"]


def test_requests_go_to_the_second_tier_at_first(tmp_path: Path) -> None:
    text = POOL + 'extent = "64 MiB"\nrebalance_interval = "1100 ms"\nmigration_rate = "1 GB/s"\n'
    found = fed(tmp_path, text, apart_bytes=16 << 20)  # in one extent, but too far apart for the drive's own buffer
    assert (found.latency_ns < 200_000).tolist() == [False, False, True, True]
    assert TIERS in found.plant.stations["kind"]


def test_the_result_says_how_much_the_cache_took(tmp_path: Path) -> None:
    """The trace has one file of 200,000 pages and a log; with write-back every page that is written ends on flash."""
    found = survey(Bundle(write_trace(tmp_path, count=3000)))
    summary = replay(found, load_scenario("15k-raid10-flash-cache", ["replay.mode=open"])).summary
    cache = summary["stations"]["data.cache"]["cache"]
    assert summary["verdict"]["cache"] == "cold"
    assert 0 < cache["read_hit_ratio"] < 0.05
    assert cache["write_hit_ratio"] == 1.0
    assert cache["filled_ns"] is None
    assert cache["read_hit_ratio_since_full"] is None
    assert all(summary["conservation"].values())
    assert "cache" not in summary["stations"]["data"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            DATA + FLASH + 'caches = "date"',
            "s.toml:5: volumes.flash.caches: 'date' is not one of the volumes; did you mean 'data'?",
        ),
        (
            DATA + FLASH + 'caches = "flash"',
            "volumes.flash.caches: 'flash' caches another volume; name a volume that is devices",
        ),
        (
            POOL + '[volumes.more]\ndevice = "intel-p3700-800"\ncaches = "pool"',
            "volumes.more.caches: 'pool' is made of tiers; name",
        ),
        (
            CACHED + '[volumes.more]\ndevice = "intel-p3700-800"\ncaches = "data"',
            "'data' belongs to 'flash'; a volume has one",
        ),
        (
            DATA + FLASH + 'cache_mode = "read"',
            "s.toml:5: volumes.flash.cache_mode: goes with caches, and that is not there",
        ),
        (
            CACHED + 'cache_mode = "around"',
            "s.toml:6: volumes.flash.cache_mode: 'around': input should be 'read' or 'write-back'",
        ),
        (
            CACHED + 'cache_block = "1000 B"',
            "s.toml:6: volumes.flash.cache_block: is not a positive multiple of 512 bytes",
        ),
        (CACHED + 'cache_block = "1 TB"', "volumes.flash.cache_block: is larger than the volume; write less"),
        (
            CACHED + 'cache_block = "512 B"',
            "volumes.flash.cache_block: makes more blocks than the table of them can hold",
        ),
        (
            CACHED + 'journal = "ordered"',
            "s.toml:6: volumes.flash.journal: belongs to the volume that is cached, 'data'; write it",
        ),
        (
            CACHED + '[placement]\ndefault = "flash"',
            "s.toml:7: placement.default: 'flash' caches 'data' and takes no requests of its own; write 'data'",
        ),
        (
            CACHED + '[queues.hba]\ndepth = 8\nvolumes = ["flash"]',
            "s.toml:8: queues.hba.volumes: 'flash' caches 'data' and takes no",
        ),
        (
            '[volumes.r]\ndevice = "recorded"\n' + FLASH + 'caches = "r"',
            "volumes.flash.caches: 'r' is device = \"recorded\", of which",
        ),
        (
            DATA + FLASH + '[volumes.pool]\ntiers = ["flash", "date"]',
            "s.toml:6: volumes.pool.tiers: 'date' is not one of the volumes",
        ),
        (
            DATA + '[volumes.pool]\ntiers = ["data", "data"]',
            "volumes.pool.tiers: 'data' belongs to 'pool'; a volume has one",
        ),
        (
            DATA + '[volumes.pool]\ntiers = ["data"]',
            "s.toml:4: volumes.pool.tiers: ['data']: list should have at least 2 items",
        ),
        (
            POOL + '[placement]\ndefault = "data"',
            "placement.default: 'data' is a tier of 'pool' and takes no requests of its own",
        ),
        (
            POOL + 'stripe = "32 KiB"',
            "s.toml:7: volumes.pool.stripe: belongs to the volumes that are its tiers; write it there",
        ),
        (
            DATA + 'journal = "ordered"\n' + POOL.removeprefix(DATA),
            "s.toml:3: volumes.data.journal: belongs to the volume with",
        ),
        (POOL + 'extent = "1000 KiB"', "s.toml:7: volumes.pool.extent: is not a positive multiple of 1 MiB"),
        (POOL + 'extent = "400 GiB"', "volumes.pool.extent: is larger than the tier 'data'; write less"),
        (POOL + 'migration_rate = "40 MB"', "s.toml:7: volumes.pool.migration_rate: '40 MB' is not a data rate"),
        (
            POOL + 'device = "aws-gp3"',
            "s.toml:7: volumes.pool.device: a volume has either a device, or two volumes as tiers",
        ),
        (
            POOL + 'caches = "data"',
            "s.toml:7: volumes.pool.caches: a volume that is made of tiers cannot cache; name one",
        ),
        ("[volumes.d]\nqueue_depth = 2", "s.toml:1: volumes.d: the key 'device' is required and not there"),
        (DATA + 'extent = "1 GiB"', "s.toml:3: volumes.data.extent: goes with tiers, and that is not there"),
    ],
)
def test_a_scenario_with_a_mistake(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(ScenarioError) as error:
        load_scenario(str(tmp_path / "s.toml"))
    assert says in str(error.value)
    assert "\n" not in str(error.value)
