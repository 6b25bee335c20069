"""Both engines mean the same: every request, every statistic, to the nanosecond."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from tests.drawn_streams import draw_streams
from tests.examples import examples
from tests.plants import Case, cases
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import CALL, NEVER, NONE, RESOURCES, Plant
from tiersim.simulator.categories import CATEGORIES, LOG_FLUSH
from tiersim.simulator.commands import Commands, Outcome
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import Metrics, new_metrics
from tiersim.simulator.reference.engine import Device, Part, ReferenceEngine
from tiersim.simulator.result import conservation
from tiersim.simulator.streams import FLUSHED, OWN, PACE, Streams

pytestmark = pytest.mark.kernels


def commands_at(case: Case, station: int) -> Commands:
    fed: Commands = replace(case.commands, station=np.full(len(case.commands), station, np.int32))
    return fed


def run_compiled(case: Case, blocks: int = 1, slots: int | None = None) -> tuple[Plant, Outcome, Metrics, PlantBuilder]:
    builder, station = case.fresh()
    metrics = case.metrics(builder)
    whole = commands_at(case, station)
    columns = {name: np.array_split(getattr(whole, name), blocks) for name in Commands.__dataclass_fields__}
    parts = [Commands(**{name: values[index] for name, values in columns.items()}) for index in range(blocks)]
    plant, outcome = engine.run(builder.build(slots or case.slots), parts, metrics, keep_done=True)
    return plant, outcome, metrics, builder


def run_streams(case: Case, slots: int | None = None) -> tuple[Plant, Outcome, Metrics, Streams, PlantBuilder]:
    builder, station = case.fresh()
    metrics = all_categories(case, builder)
    streams = draw_streams(commands_at(case, station), case.seed, syncs=True, flushes=case.seed % 2 == 1)
    plant, outcome = engine.run_streams(builder.build(slots or case.slots), streams, metrics)
    return plant, outcome, metrics, streams, builder


def all_categories(case: Case, builder: PlantBuilder) -> Metrics:
    span = int(case.commands.time_ns[-1]) + 1
    return new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 5, -(-span // 4))


def assert_same_metrics(a: Metrics, b: Metrics) -> None:
    for name, left, right in zip(Metrics._fields, a, b, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)


@settings(max_examples=examples(150), deadline=None)
@given(cases())
def test_engines_agree_on_every_request(case: Case) -> None:
    plant, outcome, metrics, _ = run_compiled(case)
    builder, station = case.fresh()
    reference_metrics = case.metrics(builder)
    reference = ReferenceEngine(builder.build(case.slots), [commands_at(case, station)], reference_metrics)
    expected = reference.run()
    assert outcome.done_ns is not None
    np.testing.assert_array_equal(outcome.done_ns, expected.done_ns)
    assert (outcome.end_ns, outcome.arrived, outcome.left, outcome.requests) == (
        expected.end_ns, expected.arrived, expected.left, expected.requests,
    )  # fmt: skip
    assert_same_metrics(metrics, reference_metrics)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)
    np.testing.assert_array_equal(plant.work_ns, reference.plant.work_ns)


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_engines_agree_on_commands_that_wait_for_others(case: Case) -> None:
    plant, outcome, metrics, streams, _ = run_streams(case)
    builder, station = case.fresh()
    reference_metrics = all_categories(case, builder)
    reference_streams = draw_streams(commands_at(case, station), case.seed, syncs=True, flushes=case.seed % 2 == 1)
    reference = ReferenceEngine(builder.build(case.slots), [], reference_metrics, streams=reference_streams)
    expected = reference.run()
    for name, left, right in zip(Streams._fields, streams, reference_streams, strict=True):
        np.testing.assert_array_equal(left, right, err_msg=name)
    assert (outcome.end_ns, outcome.arrived, outcome.left, outcome.requests, outcome.last_arrival_ns) == (
        expected.end_ns, expected.arrived, expected.left, expected.requests, expected.last_arrival_ns,
    )  # fmt: skip
    assert_same_metrics(metrics, reference_metrics)
    np.testing.assert_array_equal(plant.stations, reference.plant.stations)


@settings(max_examples=examples(60), deadline=None)
@given(cases())
def test_a_command_starts_when_what_it_waits_for_says(case: Case) -> None:
    """Against the definition: own think time, the clock, the pace of the foreground, flushes of the log, the
    recorded order.
    """
    _, outcome, _, s, _ = run_streams(case)
    assert outcome.left == len(case.commands)
    flushes = np.sort(s.done_ns[s.category == LOG_FLUSH])
    for stream in s.streams:
        rows = np.arange(stream["first"], stream["end"])
        assert (np.diff(s.started_ns[rows]) >= 0).all()
        ends = np.sort(s.done_ns[rows])
        for place, row in enumerate(rows):
            earliest = s.started_ns[row - 1] if place else 0
            needed = int(s.ended_before[row])
            if needed:
                earliest = max(earliest, ends[needed - 1])
            if s.waits_for[row] == OWN:
                earliest = max(earliest, ends[needed - 1] + s.think_ns[row])
            elif s.waits_for[row] == PACE:
                earliest = max(earliest, s.foreground_ns[s.pace[row] - 1] + s.think_ns[row])
            elif s.waits_for[row] == FLUSHED:
                earliest = max(earliest, flushes[s.pace[row] - 1] + s.think_ns[row])
            else:
                earliest = max(earliest, s.recorded_ns[row])
            assert s.started_ns[row] == earliest


@settings(max_examples=examples(30), deadline=None)
@given(cases())
def test_room_does_not_matter_to_streams(case: Case) -> None:
    _, _, metrics, streams, _ = run_streams(case, slots=4096)
    _, _, other, tight, _ = run_streams(case, slots=1)
    np.testing.assert_array_equal(streams.done_ns, tight.done_ns)
    assert_same_metrics(metrics, other)


@settings(max_examples=examples(60), deadline=None)
@given(cases())
def test_everything_that_goes_in_comes_out_and_littles_law_is_exact(case: Case) -> None:
    plant, outcome, metrics, builder = run_compiled(case)
    assert conservation(plant, builder.stations, outcome) == {
        "requests_in": len(case.commands),
        "requests_out": len(case.commands),
        "accounted_for": True,
        "little": True,
        "busy": True,
    }
    assert outcome.done_ns is not None
    assert (outcome.done_ns > case.commands.time_ns).all()
    assert metrics.latency.sum() == metrics.completions.sum() == metrics.arrivals.sum() == len(case.commands)
    assert metrics.latency_sum_ns.sum() == (outcome.done_ns - case.commands.intended_ns).sum()


@settings(max_examples=examples(40), deadline=None)
@given(cases())
def test_blocks_and_room_do_not_matter(case: Case) -> None:
    _, whole, metrics, _ = run_compiled(case, slots=4096)
    _, pieces, other, _ = run_compiled(case, blocks=7, slots=1)
    np.testing.assert_array_equal(whole.done_ns, pieces.done_ns)
    assert_same_metrics(metrics, other)


def test_a_device_in_plain_python_stands_in_for_a_station() -> None:
    class Slow(Device):
        """Serves one request at a time in 1 ms, youngest first."""

        def __init__(self, _: ReferenceEngine) -> None:
            self.stack: list[int] = []
            self.busy = False

        def accept(self, now: int, slot: int) -> int:
            self.stack.append(slot)
            return CALL

        def choose(self, now: int) -> tuple[int, int, int]:
            if self.busy or not self.stack:
                return NONE, NEVER, NEVER
            self.busy = True
            return self.stack.pop(), now + 1_000_000, NEVER

        def finish(self, slot: int, now: int) -> list[Part]:
            self.busy = False
            return []

    zeros, codes = np.zeros(3, np.int64), np.zeros(3, np.uint8)
    commands = Commands(zeros, zeros, np.zeros(3, np.int32), codes, zeros, zeros + 512, codes)
    builder = PlantBuilder(1)
    add_server(builder, "stand-in", 1, 1)
    metrics = new_metrics(1, 1, RESOURCES, 2, 1)
    outcome = ReferenceEngine(builder.build(2), [commands], metrics, {0: Slow}).run()
    assert outcome.done_ns is not None
    assert outcome.done_ns.tolist() == [3_000_000, 2_000_000, 1_000_000]


def test_a_device_in_plain_python_may_have_two_phases() -> None:
    """Half of a request goes down, and when that is done the other half."""

    class Halves(Device):
        def __init__(self, engine: ReferenceEngine) -> None:
            self.engine = engine
            self.halved: set[int] = set()

        def accept(self, now: int, slot: int) -> int:
            return now + 10

        def choose(self, now: int) -> tuple[int, int, int]:
            return NONE, NEVER, NEVER

        def finish(self, slot: int, now: int) -> list[Part]:
            return [self.half(slot)]

        def resume(self, slot: int, now: int) -> list[Part]:
            if slot in self.halved:
                self.halved.remove(slot)
                return []
            self.halved.add(slot)
            return [self.half(slot)]

        def half(self, slot: int) -> Part:
            return Part(1, 0, 0, int(self.engine.plant.requests[slot]["length_bytes"]) // 2)

    zeros, codes = np.zeros(2, np.int64), np.zeros(2, np.uint8)
    commands = Commands(zeros, zeros, np.zeros(2, np.int32), codes, zeros, np.array([2000, 6000]), codes)
    builder = PlantBuilder(1)
    add_server(builder, "stand-in", 1, 1)
    add_server(builder, "below", 1, 1000, bytes_per_s=1_000_000_000)
    metrics = new_metrics(1, 2, RESOURCES, 2, 1)
    outcome = ReferenceEngine(builder.build(2), [commands], metrics, {0: Halves}).run()
    assert outcome.done_ns is not None
    # services of 2, 4, 2 and 4 µs: the first request's second half queues behind the second request's first
    assert outcome.done_ns.tolist() == [10 + 8000, 10 + 12000]
