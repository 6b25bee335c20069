"""Volumes with allowances: what passes when."""

import numpy as np
import pytest
from pydantic import ValidationError

from tests.plants import bucket, hdd
from tests.runs import Run, commands, poisson, run
from tiersim.devices.cloud.token_bucket import TokenBucket, add_bucket
from tiersim.devices.hdd.disk_drive import add_drive
from tiersim.devices.host.gate import add_port
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import FLUSH, READ, WRITE

pytestmark = pytest.mark.kernels

SLICE_NS = 100_000_000
OPEN = {"iops": None, "rate": None, "accounting_unit": None, "latency": 1, "refill_interval": SLICE_NS, "carry_over": 0}


def run_bucket(volume: TokenBucket, times: object, op: object = READ, length: object = 8192) -> Run:
    builder = PlantBuilder(1)
    return run(builder, commands(times, add_bucket(builder, volume, "volume"), op, 0, length))


def test_a_burst_passes_slice_by_slice() -> None:
    found = run_bucket(bucket(**OPEN | {"iops": 400}), np.zeros(100))
    done = found.latency_ns - 1
    assert done.tolist() == [0] * 40 + [SLICE_NS] * 40 + [2 * SLICE_NS] * 20


def test_what_is_not_used_lapses_without_carry_over() -> None:
    late = np.full(100, 50 * SLICE_NS)
    lapsed = run_bucket(bucket(**OPEN | {"iops": 400}), late)
    assert (lapsed.latency_ns == 1).sum() == 40
    kept = run_bucket(bucket(**OPEN | {"iops": 400, "carry_over": SLICE_NS}), late)
    assert (kept.latency_ns == 1).sum() == 80


def test_a_slice_gives_a_fast_median_and_a_p95_below_the_slice() -> None:
    """The kernel's throttle as recorded: fast at the median, up to 100 ms at p95, nothing above but queues."""
    times = poisson(40_000, 392)
    latency = run_bucket(bucket(**OPEN | {"iops": 400, "latency": 200_000}), times).latency_ns
    assert np.median(latency) < 1_000_000
    assert 0.02 * SLICE_NS < np.percentile(latency, 95) < 1.5 * SLICE_NS


def test_reads_and_writes_have_their_own_allowances_and_a_flush_is_a_write() -> None:
    volume = bucket(**OPEN | {"read_iops": 10, "write_iops": 20})
    op = [READ] * 3 + [WRITE] * 2 + [FLUSH] * 2
    found = run_bucket(volume, np.zeros(7), op, [8192] * 5 + [0] * 2)
    assert (found.latency_ns // SLICE_NS).tolist() == [0, 1, 2, 0, 0, 1, 1]


def test_a_shared_allowance_is_first_come_for_reads_and_writes() -> None:
    found = run_bucket(bucket(**OPEN | {"iops": 10}), np.arange(4), [WRITE, READ, WRITE, READ])
    assert (found.latency_ns + np.arange(4) - 1).tolist() == [0, SLICE_NS, 2 * SLICE_NS, 3 * SLICE_NS]


@pytest.mark.parametrize("seed", range(5))
def test_writes_of_different_makers_take_turns(seed: int) -> None:
    """One write a slice: of those that wait goes the oldest of another maker than the last, else the oldest."""
    makers = np.random.default_rng(seed).choice(3, 40, p=[0.7, 0.2, 0.1])
    left, order = list(range(40)), list[int]()
    while left:
        others = [one for one in left if order and makers[one] != makers[order[-1]]]
        order.append((others or left)[0])
        left.remove(order[-1])
    for takes_turns, expected in ((True, order), (False, list(range(40)))):
        builder = PlantBuilder(1)
        volume = add_bucket(builder, bucket(**OPEN | {"iops": 10, "takes_turns": takes_turns}), "volume")
        ports = np.array([add_port(builder, f"maker{number}", volume) for number in range(3)])
        times = 10 * np.arange(40)
        found = run(builder, commands(times, ports[makers], WRITE))
        assert np.argsort(found.latency_ns + times).tolist() == expected


def test_the_rate_holds_to_the_token() -> None:
    for volume, length, per_second in (
        (bucket(**OPEN | {"iops": 3000, "refill_interval": 1_000_000}), 8192, 3000),
        (bucket(**OPEN | {"iops": 7, "refill_interval": 1_000_000}), 8192, 7),
        (bucket(**OPEN | {"iops": 750, "refill_interval": 10_000_000}), 8192, 750),
        (bucket(**OPEN | {"rate": 8192 * 500}), 8192, 500),
        (bucket(**OPEN | {"iops": 1000, "accounting_unit": 16384}), 65536, 250),
    ):
        count = 5 * per_second
        found = run_bucket(volume, np.zeros(count), READ, length)
        assert found.outcome.end_ns == pytest.approx(5e9, rel=0.03)


def test_a_request_larger_than_any_allowance_passes_and_leaves_a_debt() -> None:
    found = run_bucket(bucket(**OPEN | {"rate": 10_000_000}), np.zeros(2), READ, 8_000_000)
    assert found.latency_ns[0] == 1
    assert found.latency_ns[1] == pytest.approx(0.8e9, abs=2 * SLICE_NS)


def test_requests_go_on_to_the_device_below() -> None:
    builder = PlantBuilder(1)
    station = add_bucket(builder, bucket(**OPEN | {"iops": 10**6}), "volume", add_drive(builder, hdd(), "drive"))
    offsets = np.random.default_rng(1).integers(0, 10**6, 100) * 8192
    found = run(builder, commands(np.arange(100) * 50_000_000, station, READ, offsets))
    assert 1_000_000 < found.latency_ns.mean() < 10_000_000
    assert found.plant.stations["finished"].tolist() == [100, 100]


def test_two_ways_of_limiting_are_refused() -> None:
    values = {"capacity": "1 GiB", "latency": "1 ms", "refill_interval": "1 ms", "carry_over": "0 s", "iops": 10}
    values |= {"read_iops": 10}
    values |= {"sources": dict.fromkeys(values, "document: test"), "kind": "token-bucket", "name": "x"}
    with pytest.raises(ValidationError, match="not both"):
        TokenBucket.model_validate(values)


def written(refill_source: str = "", **more: str) -> TokenBucket:
    """A limit of 400 writes a second, as somebody writes it."""
    values = {"capacity": "1 GiB", "latency": "1 ms", "write_iops": 400, **more}
    sources = dict.fromkeys(values, "document: as ordered")
    sources |= {"refill_interval": refill_source} if refill_source else {}
    return TokenBucket.model_validate({"kind": "token-bucket", "name": "x", **values, "sources": sources})


def test_a_limit_that_says_only_how_much_refills_as_linux_does_and_may_refill_100_times_as_often() -> None:
    volume = written()
    assert (volume.refill_interval, volume.carry_over) == (SLICE_NS, 0)
    assert volume.sources["refill_interval"] == "assumed: 1 ms .. 100 ms"
    assert volume.refill_range_ns == (1_000_000, SLICE_NS)


def test_a_refill_interval_that_is_known_has_no_range() -> None:
    known = written("document: Linux 6.12, flash", refill_interval="20 ms")
    assert (known.refill_interval, known.refill_range_ns) == (20_000_000, None)


def test_a_range_may_say_why() -> None:
    volume = written("assumed: 5 ms .. 50 ms (nobody says)", refill_interval="20 ms")
    assert volume.refill_range_ns == (5_000_000, 50_000_000)


@pytest.mark.parametrize(("assumed", "said"), [("1 .. 2", "is not a duration"), ("1 ms .. 10 ms", "does not hold")])
def test_a_range_of_the_refill_interval_is_two_durations_around_it(assumed: str, said: str) -> None:
    with pytest.raises(ValidationError, match=f"sources: refill_interval: .*{said}"):
        written(f"assumed: {assumed}", refill_interval="20 ms")
