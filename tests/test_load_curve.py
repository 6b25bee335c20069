"""A device alone under load: where the curve begins and how it goes on."""

import numpy as np
import pytest

from tiersim.devices.catalogue import load_device
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.errors import ScenarioError
from tiersim.random_numbers import LOAD_GAP, fill_random_bits, random_bits
from tiersim.scenarios import load_curve as module
from tiersim.scenarios.load_curve import LOADS, load_curve, title


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REQUESTS", 20_000)
    monkeypatch.setattr(module, "_REQUESTS_OF_A_DISK", 4_000)


def test_a_column_of_bits_is_that_of_the_counters() -> None:
    column = np.zeros(5, np.int64)
    fill_random_bits(column, 3, LOAD_GAP, 7)
    assert column.tolist() == [random_bits(3, LOAD_GAP, 7, counter) for counter in range(5)]


@pytest.mark.parametrize("name", ["intel-p3700-800", "intel-optane-p4800x-375"])
def test_flash_begins_at_a_read_alone_and_rises(name: str) -> None:
    device = load_device(name)
    curve = load_curve(device)
    figures = device.describe()
    assert [point.load for point in curve.points] == list(LOADS)
    assert curve.points[0].reads.p50_ns == pytest.approx(figures["random_read_ns"], rel=0.03)
    assert 0.6 < curve.saturated_per_s / figures["random_reads_per_s"] < 1.05
    means = [point.reads.mean_ns for point in curve.points]
    assert means == sorted(means)
    assert all(point.reads.p50_ns <= point.reads.p99_ns and point.writes is None for point in curve.points)


def test_a_disk_serves_more_than_one_after_the_other() -> None:
    """Its queue is sorted by what is nearest, so it sustains more than single commands would give."""
    device = load_device("seagate-cheetah-15k7-300")
    curve = load_curve(device)
    figures = device.describe()
    assert curve.points[0].reads.mean_ns == pytest.approx(figures["random_read_ns"], rel=0.1)
    assert 1.5 < curve.saturated_per_s / figures["random_reads_per_s"] < 4


def test_reads_behind_writes_wait() -> None:
    curves = [load_curve(load_device("intel-p3700-800"), share) for share in (1.0, 0.7)]
    alone, mixed = (curve.points[5] for curve in curves)
    assert mixed.writes is not None
    assert mixed.writes.p50_ns < mixed.reads.p50_ns
    assert mixed.reads.p99_ns > alone.reads.p99_ns
    assert curves[1].saturated_per_s < curves[0].saturated_per_s
    means = [point.reads.mean_ns for point in curves[1].points]
    assert means == sorted(means)


def test_what_a_buffer_takes_and_flash_does_not_program_is_not_kept_up_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # a short run ends before its last programs tell
    device = load_device("kioxia-cm7-r-3840")
    most_per_s = device.describe()["sustained_random_writes_per_s"]
    assert 0.5 < load_curve(device, 0.7).saturated_per_s * 0.3 / most_per_s < 1


def test_a_token_bucket_is_as_fast_as_ever_until_it_is_empty() -> None:
    values = {
        "kind": "token-bucket",
        "name": "bucket",
        "capacity": "100 GB",
        "iops": 10_000,
        "rate": "1 GB/s",
        "latency": "1 ms",
        "refill_interval": "1 ms",
        "carry_over": "5 ms",
    }
    sources = {key: "document: made up" for key in values.keys() - {"kind", "name"}}
    curve = load_curve(TokenBucket.model_validate({**values, "sources": sources}))
    assert curve.saturated_per_s == pytest.approx(10_000, rel=0.03)
    assert curve.points[0].reads.p50_ns == pytest.approx(1e6, rel=0.01)


def test_the_same_device_gives_the_same_curve_and_tells_its_progress() -> None:
    device, told = load_device("intel-p3700-800"), []
    curves = [load_curve(device, 1.0, lambda done, total: told.append((done, total))) for _ in range(2)]
    assert curves[0] == curves[1]
    assert told[-1] == (len(LOADS), len(LOADS))


def test_an_offer_without_an_order_has_no_curve() -> None:
    with pytest.raises(ScenarioError, match="a load curve needs limits"):
        load_curve(load_device("azure-ultra"))


def test_a_mix_in_words() -> None:
    assert title(1.0) == "random 8 KiB reads"
    assert title(0.7) == "random 8 KiB, 70% reads"
