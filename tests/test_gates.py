"""Queues of limited depth, cutting and joining of requests: closed forms, order, and a naive twin."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from tests.runs import Run, commands, run
from tiersim.devices.host.gate import add_gate, add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.operations import DISCARD, FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

MS = 1_000_000


def gated(depth: int, fed: tuple[Any, ...], merge_bytes: int = 0) -> Run:
    builder = PlantBuilder(3)
    device = add_server(builder, "device", 64, MS)
    gate = add_gate(builder, "queue", depth, device, merge_bytes)
    times, op, offsets, lengths = fed
    return run(builder, commands(times, gate, op, offsets, lengths))


@pytest.mark.parametrize("depth", [1, 3, 32])
def test_throughput_is_depth_over_latency(depth: int) -> None:
    count = 96
    found = gated(depth, (np.zeros(count), READ, 0, 8192))
    assert found.outcome.end_ns == count // depth * (MS + 1)


def test_who_comes_first_goes_first() -> None:
    found = gated(2, (np.arange(8), [READ, WRITE] * 4, 0, 8192))
    assert found.latency_ns.tolist() == [turn * (MS + 1) - late for turn, late in
                                         [(1, 0), (1, 0), (2, 2), (2, 2), (3, 4), (3, 4), (4, 6), (4, 6)]]  # fmt: skip


def test_nobody_overtakes_who_waits_when_a_place_becomes_free() -> None:
    """One arrives at the very instant at which a place does."""
    found = gated(1, ([0, 10, MS + 1], READ, 0, 8192))
    assert found.latency_ns.tolist() == [MS + 1, 2 * (MS + 1) - 10, 2 * (MS + 1)]


def test_volumes_share_a_gate() -> None:
    """Two volumes behind one adapter that takes one command at a time; each gets its own commands."""
    builder = PlantBuilder(1)
    adapter = add_gate(builder, "adapter", 1)
    devices = [add_server(builder, name, 8, MS) for name in "ab"]
    ports = [add_port(builder, f"{name}.adapter", adapter, beyond=device)
             for name, device in zip("ab", devices, strict=True)]  # fmt: skip
    fed = replace(commands(np.arange(6), 0), station=np.resize(np.array(ports, np.int32), 6))
    found = run(builder, fed)
    assert found.latency_ns.tolist() == [turn * (MS + 1) + 1 - late for turn, late in enumerate(range(6), start=1)]
    assert found.plant.stations["finished"][devices].tolist() == [3, 3]


# ---- cutting


@pytest.mark.parametrize(("op", "parts"), [(READ, 5), (WRITE, 5), (DISCARD, 1), (FLUSH, 1)])
def test_long_reads_and_writes_are_cut(op: int, parts: int) -> None:
    builder = PlantBuilder(1)
    device = add_server(builder, "device", 1, MS)
    port = add_port(builder, "port", device, part_bytes=8192)
    found = run(builder, commands([0], port, op, 512, 0 if op == FLUSH else 4 * 8192 + 512))
    assert found.plant.stations["finished"][0] == parts
    assert found.latency_ns.tolist() == [parts * MS + 1]


def test_a_cut_request_ends_with_its_last_part_however_many_there_are() -> None:
    builder = PlantBuilder(1)
    device = add_server(builder, "device", 1, 1000)
    port = add_port(builder, "port", device, part_bytes=512)
    found = run(builder, commands([0], port, READ, 0, 1000 * 512 + 1))
    assert found.plant.stations["finished"][0] == 1001
    assert found.latency_ns.tolist() == [1001 * 1000 + 1]


# ---- joining


def test_waiting_neighbours_travel_together() -> None:
    """The first goes alone; the next three touch and go as one; they end a nanosecond after the
    one that carried them.
    """
    fed = ([0, 1, 2, 3], WRITE, np.arange(4) * 8192, 8192)
    found = gated(1, fed, merge_bytes=65536)
    ends = found.latency_ns + np.arange(4)
    assert ends.tolist() == [MS + 1, 2 * MS + 2, 2 * MS + 3, 2 * MS + 3]
    assert found.plant.stations["finished"][0] == 2


@pytest.mark.parametrize(
    ("op", "offsets", "lengths", "services"),
    [
        (WRITE, [0, 8192, 16384], 8192, 2),
        (WRITE, [0, 16384, 8192], 8192, 3),  # the later one lies in front: no back merge
        ([WRITE, WRITE, READ], [0, 8192, 16384], 8192, 3),  # another operation
        (WRITE, [0, 8192, 20480], 8192, 3),  # a gap
        (WRITE, [0, 8192, 16384], [8192, 8192, 24577], 3),  # too long together
        (WRITE, [0, 8192, 16384], [8192, 8192, 24576], 2),  # just not
        (FLUSH, 0, 0, 3),  # not here: see the file system
    ],
)
def test_what_is_joined(op: Any, offsets: Any, lengths: Any, services: int) -> None:
    found = gated(1, (np.arange(3), op, offsets, lengths), merge_bytes=32768)
    assert found.plant.stations["finished"][0] == services


def test_joined_bytes_are_transferred() -> None:
    builder = PlantBuilder(1)
    device = add_server(builder, "device", 1, MS, bytes_per_s=100_000_000)
    gate = add_gate(builder, "queue", 1, device, 1 << 20)
    found = run(builder, commands(np.arange(5), gate, READ, np.arange(5) * 100_000, 100_000))
    assert found.plant.work_ns[0, 0] == 2 * MS + 5 * MS


def naive_joins(offsets: NDArray[Any], lengths: NDArray[Any], op: NDArray[Any], most: int) -> list[list[int]]:
    """All arrive while nobody can start: lists of request numbers that travel together, in order of their start."""
    waiting: list[list[int]] = []
    ends: list[int] = []
    ages: list[int] = []  # when each list grew last
    for number in range(len(op)):
        fits = [
            (ages[index], index)
            for index, group in enumerate(waiting)
            if op[group[0]] == op[number] != FLUSH
            and ends[index] == offsets[number]
            and lengths[group].sum() + lengths[number] <= most
        ]
        if fits:
            _, index = max(fits)
            waiting[index].append(number)
        else:
            index = len(waiting)
            waiting.append([number])
            ends.append(0)
            ages.append(0)
        ends[index] = offsets[number] + lengths[number]
        ages[index] = number
    return waiting


@given(st.integers(0, 2**32), st.integers(1, 120), st.sampled_from([4096, 16384, 1 << 30]))
@settings(max_examples=examples(200), deadline=None)
def test_joining_against_a_naive_twin(seed: int, count: int, most: int) -> None:
    """One request holds the only place until all others have come; then the others go, one list after the other."""
    generator = np.random.default_rng(seed)
    op = generator.choice([READ, WRITE, FLUSH], count, p=[0.3, 0.6, 0.1]).astype(np.uint8)
    lengths = np.where(op == FLUSH, 0, generator.choice([512, 1024, 4096], count))
    offsets = np.where(op == FLUSH, 0, generator.integers(0, 12, count) * 512)
    times = np.concatenate([[0], np.arange(1, count + 1)])
    whole = [np.concatenate([[first], rest]) for first, rest in [(READ, op), (1 << 40, offsets), (512, lengths)]]
    found = gated(1, (times, *whole), merge_bytes=most)
    expected = np.zeros(count, np.int64)
    for turn, group in enumerate(naive_joins(offsets, lengths, op, most), start=2):
        expected[group] = turn * (MS + 1) + 1
        expected[group[0]] -= 1
    assert (found.latency_ns + times)[1:].tolist() == expected.tolist()
