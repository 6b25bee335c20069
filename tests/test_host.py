"""A scenario's host: which way requests go, in a plant that is built from a file."""

from pathlib import Path

import numpy as np
import pytest

from tests.runs import Run, commands, run
from tests.test_replay import scenario_of
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

DEVICE = """
kind = "token-bucket"
name = "a volume of 1 ms without limits"
capacity = "1 TB"
latency = "1 ms"
refill_interval = "1 ms"
carry_over = "0 ns"
[sources]
capacity = "assumed: 1 TB .. 1 TB"
latency = "assumed: 1 ms .. 1 ms"
refill_interval = "assumed: 1 ms .. 1 ms"
carry_over = "assumed: 0 ns .. 0 ns"
"""
MS = 1_000_000


def fed(folder: Path, text: str, times: list[int], volumes: list[str], op: int = READ, length: int = 8192) -> Run:
    """Run commands on a scenario's volumes, all at different places."""
    (folder / "plain.toml").write_text(DEVICE)
    scenario = scenario_of(folder, text)
    builder = PlantBuilder(1)
    entries = scenario.build(builder)
    stations = np.array([entries[name] for name in volumes], np.int32)
    offsets = 0 if op == FLUSH else np.arange(len(times)) * (1 << 20)
    return run(builder, commands(times, stations, op, offsets, 0 if op == FLUSH else length))


def test_a_volume_without_a_host_is_its_device_alone(tmp_path: Path) -> None:
    found = fed(tmp_path, '[volumes.d]\ndevice = "plain.toml"\n', [0, 0], ["d", "d"])
    assert found.plant.stations.size == 1
    assert found.latency_ns.tolist() == [MS, MS]


def test_the_queue_of_a_volume(tmp_path: Path) -> None:
    found = fed(tmp_path, '[volumes.d]\ndevice = "plain.toml"\nqueue_depth = 2\n', [0, 1, 2], ["d"] * 3)
    assert found.latency_ns.tolist() == [MS + 1, MS + 1, 2 * (MS + 1) - 2]


def test_the_queue_of_each_drive(tmp_path: Path) -> None:
    """Two drives that take one command at a time each; the requests alternate between them."""
    text = '[volumes.d]\ndevice = "plain.toml"\ncount = 2\nlayout = "raid0"\nstripe = "1 MiB"\ndrive_queue_depth = 1\n'
    found = fed(tmp_path, text, [0, 1, 2, 3], ["d"] * 4)
    pass_on = 2  # controller and gate
    assert found.latency_ns.tolist() == [MS + pass_on] * 2 + [2 * MS + pass_on - 1] * 2


def test_volumes_behind_one_adapter_and_a_queue_of_one_of_them(tmp_path: Path) -> None:
    text = (
        '[volumes.a]\ndevice = "plain.toml"\n[volumes.b]\ndevice = "plain.toml"\nqueue_depth = 1\n'
        '[volumes.c]\ndevice = "plain.toml"\n[queues.hba]\ndepth = 2\nvolumes = ["a", "b"]\n[queues.vm]\ndepth = 8\n'
        '[placement]\ndefault = "a"\n'
    )
    found = fed(tmp_path, text, [0, 1, 2, 3], ["b", "b", "a", "c"])
    c_alone = MS + 2  # port and gate of the virtual machine
    b_first = MS + 5  # those, those of the adapter, and its own
    # the second of b holds a place at the adapter while it waits for its own queue, so a waits for the first of b
    assert found.latency_ns[[0, 3]].tolist() == [b_first, c_alone]
    assert found.latency_ns[1] == 2 * MS + 5 + 1 - 1
    assert found.latency_ns[2] == (b_first + 3 + MS) - 2


def test_requests_are_cut_before_they_ask_for_a_place(tmp_path: Path) -> None:
    text = '[volumes.d]\ndevice = "plain.toml"\nmax_request = "8 KiB"\n[queues.vm]\ndepth = 2\n'
    found = fed(tmp_path, text, [0], ["d"], WRITE, 4 * 8192)
    assert found.latency_ns.tolist() == [1 + 2 * (MS + 1)]


def test_flushes_pass_the_file_system_first(tmp_path: Path) -> None:
    text = '[volumes.d]\ndevice = "plain.toml"\nflush_overhead = "0.7 ms"\nqueue_depth = 8\n'
    found = fed(tmp_path, text, [0, 10], ["d", "d"], FLUSH)
    assert found.latency_ns.tolist() == [700_000 + 2 + MS, 700_000 + 1 + 2 * (MS + 1) + 1 - 10]


def test_what_is_written_down_reads_back(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(DEVICE)
    text = (
        '[volumes.d]\ndevice = "plain.toml"\ncount = 5\nlayout = "raid5"\nqueue_depth = 128\ndrive_queue_depth = 32\n'
        'max_request = "512 KiB"\nmerge = true\nflush_overhead = "0.7 ms"\njournal = "ordered"\n'
        '[queues.hba]\ndepth = 256\nvolumes = ["d"]\n'
    )
    scenario = scenario_of(tmp_path, text)
    assert scenario_of(tmp_path, scenario.to_toml()).model == scenario.model
    assert scenario.volumes["d"].capacity_bytes == 4 * (10**12 // 65536 * 65536)
