"""Offers of cloud providers: what an order gets, what is refused, how long credits last, what instances let through."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.plants import bucket
from tests.runs import Run, commands, run
from tests.test_replay import scenario_of
from tiersim.devices.catalogue import instances, load_device, load_instance, names
from tiersim.devices.cloud.cloud_volume import CloudVolume, OrderError
from tiersim.devices.cloud.token_bucket import TokenBucket, add_bucket
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station import balances
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.categories import CATEGORIES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import summarise
from tiersim.units import parse_bytes, parse_bytes_per_s

GIB = 1 << 30
MIB = 1 << 20
S = 1_000_000_000


def offer(name: str) -> CloudVolume:
    found = load_device(name)
    assert isinstance(found, CloudVolume)
    return found


def order(name: str, size: str | None = None, iops: int | None = None, throughput: str | None = None) -> TokenBucket:
    rate = None if throughput is None else parse_bytes_per_s(throughput)
    return offer(name).order(None if size is None else parse_bytes(size), iops, rate)


# ---- orders


@pytest.mark.parametrize(
    ("name", "size", "iops", "rate"),
    [
        ("aws-gp2", "1 GiB", 100, 128 * MIB),  # never less
        ("aws-gp2", "100 GiB", 300, 128 * MIB),
        ("aws-gp2", "170 GiB", 510, 128 * MIB),
        ("aws-gp2", "171 GiB", 513, 250 * MIB),
        ("aws-gp2", "5334 GiB", 16_000, 250 * MIB),  # never more
        ("aws-gp2", "16 TiB", 16_000, 250 * MIB),
        ("aws-gp3", "1 GiB", 3000, 125 * MIB),
        ("azure-premium", "4 GiB", 120, 25_000_000),
        ("azure-premium", "513 GiB", 5000, 200_000_000),  # a P30
        ("azure-premium-v2", "1 GiB", 3000, 125_000_000),
        ("gcp-hyperdisk-balanced", "100 GiB", 3000, 140 * MIB),
    ],
)
def test_what_a_size_includes(name: str, size: str, iops: int, rate: int) -> None:
    found = order(name, size)
    assert (found.capacity, found.iops, found.rate) == (parse_bytes(size), iops, rate)


def test_what_is_ordered() -> None:
    found = order("aws-gp3", "500 GiB", 6000, "250 MiB/s")
    assert (found.capacity, found.iops, found.rate) == (500 * GIB, 6000, 250 * MIB)
    assert found.name == "AWS EBS gp3, 500 GiB (6,000 IOPS, 250 MiB/s)"
    assert order("aws-io2", "256 GiB", 256_000).rate == 4000 * MIB
    assert order("gcp-hyperdisk-extreme", "1 TiB", 10_000).rate == 2500 * MIB  # comes with the IOPS
    assert order("gcp-hyperdisk-extreme", "1 TiB", 350_000).rate == 5000 * MIB
    assert order("azure-ultra", "64 GiB", 64_000, "10000 MB/s").rate == 10_000_000_000
    assert order("azure-premium-v2", "8 GiB", 4000, "1000 MB/s").iops == 4000  # the examples of its documentation
    assert order("azure-premium-v2", "6 GiB", 3000, "750 MB/s").rate == 750_000_000


@pytest.mark.parametrize(
    ("name", "size", "iops", "throughput", "key", "says"),
    [
        ("aws-gp3", "65 TiB", None, None, "size", "65 TiB: AWS EBS gp3 is sold from 1 GiB to 64 TiB"),
        ("aws-gp3", "500 GiB", 80_001, None, "iops", "80,001: AWS EBS gp3 has at most 80,000 IOPS"),
        (
            "aws-gp3",
            "10 GiB",
            5001,
            None,
            "iops",
            r"5,001: AWS EBS gp3 of 10 GiB has at most 5,000 IOPS \(500 a GiB\); choose a larger size",
        ),
        ("aws-gp3", "500 GiB", 2000, None, "iops", "2,000: AWS EBS gp3 has at least 3,000 IOPS"),
        (
            "aws-gp3",
            "500 GiB",
            3000,
            "751 MiB/s",
            "throughput",
            r"751 MiB/s: AWS EBS gp3 of 3,000 IOPS has at most 750 MiB/s \(0.25 MiB/s for each\); order more iops",
        ),
        ("aws-gp3", "500 GiB", 80_000, "2001 MiB/s", "throughput", "2001 MiB/s: AWS EBS gp3 has at most 2000 MiB/s"),
        ("aws-gp3", "500 GiB", None, "100 MiB/s", "throughput", "100 MiB/s: AWS EBS gp3 has at least 125 MiB/s"),
        ("aws-gp2", "500 GiB", 3000, None, "iops", "AWS EBS gp2: its iops cannot be ordered; leave it out"),
        (
            "aws-gp2",
            None,
            None,
            None,
            "device",
            "AWS EBS gp2: its limits follow from its size; write for example size =",
        ),
        (
            "aws-io2",
            "500 GiB",
            None,
            None,
            "device",
            "AWS EBS io2 Block Express: its iops has to be ordered; write iops",
        ),
        ("aws-io2", "4 GiB", 4001, None, "iops", r"has at most 4,000 IOPS \(1,000 a GiB\)"),
        ("aws-io2", "500 GiB", 10_000, "1 MiB/s", "throughput", "its throughput cannot be ordered"),
        ("azure-ultra", "4 GiB", 99, "1 MB/s", "iops", "at least 100 IOPS"),
        (
            "azure-ultra",
            "4 GiB",
            4000,
            "1001 MB/s",
            "throughput",
            "1001 MB/s: Azure Ultra Disk of 4,000 IOPS has at most 1000 MB/s",
        ),
        ("gcp-hyperdisk-extreme", "64 GiB", 76_801, None, "iops", r"at most 76,800 IOPS \(1,200 a GiB\)"),
    ],
)
def test_what_the_provider_refuses(
    name: str, size: str | None, iops: int | None, throughput: str | None, key: str, says: str
) -> None:
    with pytest.raises(OrderError, match=says) as error:
        order(name, size, iops, throughput)
    assert error.value.key == key


@pytest.mark.parametrize(
    "name", [name for name in names() if name.startswith(("aws-g", "aws-io", "azure-p", "azure-u", "gcp-h"))]
)
def test_every_offer_is_one_that_can_be_had(name: str) -> None:
    """The largest order passes its own checks, and the sizes of a table ascend."""
    found = offer(name)
    ordered = found.provisioned or ()
    volume = found.order(
        found.largest,
        found.most_iops if "iops" in ordered else None,
        found.most_throughput if "throughput" in ordered else None,
    )
    assert volume.iops
    assert volume.rate
    assert "assumed" in volume.sources["latency"] or "fitted" in volume.sources["latency"]


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("aws-gp3", "most_iops = 80000\n", "", "most_iops: is missing, and iops can be provisioned; write how far"),
        ("aws-gp2", "iops = 100\niops_per_gib = 3\n", "", "iops: is neither included nor provisioned; write iops"),
        ("aws-gp2", 'up_to = "16 TiB"', 'up_to = "17 TiB"', "sizes: do not ascend to the largest size"),
        ("aws-gp2", "burst_credits = 5400000\n", "", "burst_iops: needs burst_credits or burst_time, for how long"),
        ("azure-premium", 'burst_time = "30 min"\n', "", "burst_iops: needs burst_credits or burst_time, for how long"),
        ("azure-ultra", "[sources]", 'iops = "many"\n[sources]', "iops: 'many': input should be a valid integer"),
    ],
)  # fmt: skip
def test_mistakes_in_an_offer(tmp_path: Path, name: str, old: str, new: str, says: str) -> None:
    text = (Path(str(files("tiersim.devices"))) / "catalogue" / f"{name}.toml").read_text()
    (tmp_path / "own.toml").write_text(text.replace(old, new, 1))
    with pytest.raises(ScenarioError) as error:
        load_device(str(tmp_path / "own.toml"))
    assert says in str(error.value)


def test_orders_in_a_scenario(tmp_path: Path) -> None:
    text = (
        '[volumes.d]\ndevice = "aws-gp3"\nsize = "500 GiB"\niops = 6000\nthroughput = "250 MiB/s"\ncount = 2\nlayout ='
        ' "raid0"\n'
    )
    scenario = scenario_of(tmp_path, text)
    assert scenario.volumes["d"].capacity_bytes == 1000 * GIB
    (tmp_path / "again.toml").write_text(scenario.to_toml())
    assert scenario_of(tmp_path, scenario.to_toml()).volumes == scenario.volumes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '[volumes.d]\ndevice = "aws-gp3"\nsize = "10 GiB"\niops = 6000',
            "own.toml:4: volumes.d.iops: 6,000: AWS EBS gp3 of 10",
        ),
        (
            '[volumes.d]\ndevice = "aws-gp2"',
            "own.toml:2: volumes.d.device: AWS EBS gp2: its limits follow from its size",
        ),
        (
            '[volumes.d]\ndevice = "intel-p3700-800"\niops = 6000',
            "own.toml:3: volumes.d.iops: belongs to cloud volumes",
        ),
        ('[volumes.d]\ndevice = "aws-gp3"\ncredits = 0.5', "own.toml:3: volumes.d.credits: AWS EBS gp3, baseline"),
        ('[volumes.d]\ndevice = "aws-gp2"\nsize = "1 TiB"\ncredits = 0.5', "has no burst credits; leave it out"),
        (
            '[volumes.d]\ndevice = "aws-gp2"\nsize = "9 GiB"\ncredits = 1.5',
            "volumes.d.credits: 1.5: input should be less",
        ),
        (
            '[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\ntype = "aws-r5-large"\niops = 5',
            "the type has its own limits",
        ),
        ('[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\ntype = "aws-r5-larg"', "did you mean 'aws-r5-large'?"),
        (
            '[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\ncredits = 0.5',
            "instances.i: has no limits; write type, iops or",
        ),
        ('[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\niops = 5\nburst_iops = 9', "burst_iops: needs burst_time"),
        ('[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\nthroughput = "1000 GB/s"', "throughput: is more than can be"),
        (
            '[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\niops = 5\nburst_iops = 1000000\nburst_time = "3 h"',
            "burst_time: burst_iops has more credits than can be counted; shorten it",
        ),
        (
            '[volumes.d]\ndevice = "aws-gp3"\n[instances.i]\niops = 5\nvolumes = ["e"]',
            "instances.i.volumes: 'e' is not one of",
        ),
        (
            '[volumes.d]\ndevice = "aws-gp3"\n[instances.d]\niops = 5',
            "instances.d: is the name of a volume; choose another",
        ),
    ],
)
def test_mistakes_in_a_scenario(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario_of(tmp_path, text)
    assert says in str(error.value)


# ---- credits


def run_volume(volume: TokenBucket, fed: Any, credits: float = 1.0) -> Run:
    builder = PlantBuilder(1)
    add_bucket(builder, volume, "volume", credits=credits)
    return run(builder, fed)


def small_gp2(credits: int = 54_000, **changes: Any) -> TokenBucket:
    """A gp2 volume of 100 GiB with a hundredth of its credits: 20 s of burst instead of 33 min."""
    return order("aws-gp2", "100 GiB").model_copy(update={"burst_credits": credits, "latency": 1, **changes})


@pytest.mark.parametrize("share", [1.0, 0.5, 0.25])
def test_a_burst_lasts_for_credits_over_burst_minus_baseline(share: float) -> None:
    volume = small_gp2()
    assert (volume.iops, volume.burst_iops) == (300, 3000)
    count = 40 * 3000
    found = run_volume(volume, commands(np.arange(count) * S // 3000, 0), share)
    lasts_s = share * 54_000 / (3000 - 300)
    (left,) = balances(found.plant, found.outcome.end_ns)
    assert (left.start, left.resource) == (share, "credits")
    assert left.ran_out_ns == pytest.approx(lasts_s * S, abs=2 * volume.refill_interval)
    done_ns = found.latency_ns + np.arange(count) * S // 3000
    before = np.count_nonzero(done_ns < lasts_s * S)
    assert before == pytest.approx(3000 * lasts_s, abs=2 * 30)
    # from then on the baseline, to the request
    later = np.count_nonzero((done_ns >= lasts_s * S) & (done_ns < lasts_s * S + 100 * S))
    assert later == pytest.approx(100 * 300, abs=2 * 3)


@pytest.mark.long
def test_the_full_credits_of_gp2_last_as_documented() -> None:
    """AWS: 100 GiB, 2,000 s at 3,000 IOPS."""
    volume = order("aws-gp2", "100 GiB")
    found = run_volume(volume, commands(np.arange(2010 * 3000) * S // 3000, 0))
    (left,) = balances(found.plant, found.outcome.end_ns)
    assert left.ran_out_ns == pytest.approx(2000 * S, abs=2 * volume.refill_interval)


def test_credits_are_earned_while_the_volume_rests_and_no_more_than_a_full_balance() -> None:
    volume = small_gp2()
    burst = np.arange(30_000) * S // 3000  # 10 s: spends 27,000 of 54,000 beyond what is earned
    for rest_s, left_share in ((0, 0.5), (45, 0.75), (1000, 1.0)):
        times = np.concatenate([burst, [10 * S + rest_s * S]])
        (left,) = balances(run_volume(volume, commands(times, 0)).plant, int(times[-1]))
        assert left.end == pytest.approx(left_share, abs=0.001)
        assert left.ran_out_ns is None


def test_two_balances_run_out_apart() -> None:
    """Azure P4: 120 IOPS and 25 MB/s, 3,500 and 170 MB/s with credits for half an hour each; here for 20 s."""
    volume = order("azure-premium", "32 GiB")
    assert volume.burst_credits == (3500 - 120) * 1800
    assert volume.burst_bytes == (170 - 25) * 1_000_000 * 1800
    volume = volume.model_copy(update={"burst_credits": (3500 - 120) * 20, "burst_bytes": 145_000_000 * 20})
    small = run_volume(volume, commands(np.arange(30 * 3500) * S // 3500, 0, READ, 0, 512))
    requests, length = balances(small.plant, 30 * S)
    assert requests.ran_out_ns == pytest.approx(20 * S, abs=2 * volume.refill_interval)
    assert length.ran_out_ns is None
    assert length.end == pytest.approx(1.0, abs=1e-6)
    times = np.arange(30 * 650) * S // 650
    large = run_volume(volume, commands(times, 0, WRITE, 0, 1 << 18))  # 170.4 MB/s of 650 IOs of one unit
    requests, length = balances(large.plant, large.outcome.end_ns)
    assert length.ran_out_ns == pytest.approx(20 * S, abs=0.1 * S)
    done = large.latency_ns + times
    late = np.count_nonzero((done > 21 * S) & (done <= 31 * S))
    assert late * (1 << 18) / 10 == pytest.approx(25_000_000, rel=0.02)


def test_large_requests_cost_credits_by_the_accounting_unit() -> None:
    """gp2 without credits: 300 IOPS of up to 256 KiB each; 1 MiB counts as four."""
    for length, per_s in ((8192, 300), (1 << 18, 300), ((1 << 18) + 512, 150), (1 << 20, 75)):
        found = run_volume(small_gp2(), commands(np.zeros(20 * per_s), 0, READ, 0, length), 0.0)
        assert found.outcome.end_ns == pytest.approx(20 * S, rel=0.01)


@pytest.mark.kernels
@pytest.mark.parametrize(
    ("length", "step", "per_s"),
    [
        (1 << 15, 1 << 15, 2400),  # eight that follow each other are one
        (1 << 15, 1 << 16, 300),  # gaps between them
        (1 << 14, 1 << 14, 300),  # too small
        (3 << 16, 3 << 16, 400),  # 192 KiB: three units hold four
        (5 << 16, 5 << 16, 240),
    ],
)
def test_requests_that_follow_each_other_fill_units_together(length: int, step: int, per_s: int) -> None:
    """As AWS documents it, on gp2 without credits: 300 units of 256 KiB a second."""
    fed = commands(np.zeros(4 * per_s), 0, READ, np.arange(4 * per_s) * step, length)
    assert run_volume(small_gp2(), fed, 0.0).outcome.end_ns == pytest.approx(4 * S, rel=0.01)


@pytest.mark.kernels
def test_a_request_that_is_too_short_to_share_a_unit_shares_none_with_the_one_behind_it() -> None:
    """8 and 64 KiB in turn, each where the one before it ended: a unit each, although 72 KiB would fit one."""
    lengths = np.tile([1 << 13, 1 << 16], 600)
    fed = commands(np.zeros(1200), 0, WRITE, np.cumsum(lengths) - lengths, lengths)
    assert run_volume(small_gp2(), fed, 0.0).outcome.end_ns == pytest.approx(4 * S, rel=0.01)


@pytest.mark.kernels
@pytest.mark.parametrize(("counted", "refills"), [(True, [0, 1, 2, 3]), (False, [0, 0, 0, 1])])
def test_a_flush_with_a_time_of_its_own_takes_an_allowance_unless_flushes_are_free(
    counted: bool, refills: list[int]
) -> None:
    own = {"flush": 48_000, "flushes_counted": counted}
    volume = bucket(iops=10, rate=None, refill_interval=S // 10, carry_over=0, latency=500_000, **own)
    found = run_volume(volume, commands([0, 1, 2, 3], 0, [WRITE, FLUSH, FLUSH, WRITE]))
    ended_ns = found.latency_ns + np.arange(4)
    begun_ns = [max(number * S // 10, arrived) for arrived, number in enumerate(refills)]
    assert ended_ns.tolist() == [
        start + of for start, of in zip(begun_ns, [500_000, 48_000, 48_000, 500_000], strict=True)
    ]


def test_a_cap_of_writes_bounds_flushes_of_a_log() -> None:
    """A commit is a write and a flush: two of the writes that the cap allows."""
    volume = bucket(
        read_iops=1000, write_iops=100, iops=None, rate=None, refill_interval=S // 10, carry_over=0, flush=1_000_000
    )
    found = run_volume(volume, commands(np.zeros(1000), 0, [WRITE, FLUSH] * 500))
    assert found.outcome.end_ns == pytest.approx(10 * S, rel=0.02)


def test_flushes_of_a_volume_whose_guest_keeps_them_are_free() -> None:
    ordered = order("gcp-hyperdisk-balanced", "64 GiB", 3000, "140 MiB/s")
    assert not ordered.flushes_counted
    assert order("aws-gp3", "500 GiB", 3000, "125 MiB/s").flushes_counted


@pytest.mark.parametrize(
    ("name", "size", "iops", "throughput"),
    [
        ("aws-gp3", "500 GiB", 6000, "250 MiB/s"),
        ("azure-premium-v2", "8 GiB", 4000, "125 MB/s"),
        ("aws-io2", "20 GiB", 20_000, None),
        ("gcp-hyperdisk-extreme", "64 GiB", 5000, None),
        ("azure-ultra", "8 GiB", 8000, "100 MB/s"),
    ],
)
def test_long_run_rates_equal_the_limits(name: str, size: str, iops: int, throughput: str | None) -> None:
    volume = order(name, size, iops, throughput)
    found = run_volume(volume, commands(np.zeros(10 * iops), 0, READ, 0, 512))
    assert found.outcome.end_ns == pytest.approx(10 * S, rel=0.01)
    assert volume.rate is not None
    length = 1 << 18
    count = 5 * volume.rate // length
    found = run_volume(volume, commands(np.zeros(count), 0, READ, 0, length))
    assert found.outcome.end_ns == pytest.approx(5 * S, rel=0.02)


@pytest.mark.kernels
def test_a_refill_of_100_ms_gives_a_fast_median_and_a_p95_of_the_interval() -> None:
    """Bursts of twice what an interval allows, in every second one: half pass at once, half at the next refill."""
    volume = bucket(iops=400, rate=None, accounting_unit=None, refill_interval=S // 10, carry_over=0, latency=500_000)
    times = np.repeat(np.arange(100) * (S // 5), 79)
    latency = run_volume(volume, commands(times, 0)).latency_ns
    assert np.percentile(latency, 50) == 500_000
    assert np.percentile(latency, 95) == S // 10 + 500_000
    assert latency.max() == S // 10 + 500_000


def test_a_burst_needs_both_keys_and_a_lower_baseline() -> None:
    values = {"capacity": "1 GiB", "latency": "1 ms", "refill_interval": "1 ms", "carry_over": "0 s", "iops": 10}
    for more, says in (
        ({"burst_iops": 20}, "burst_iops and burst_credits belong together"),
        ({"burst_iops": 5, "burst_credits": 100}, "needs iops, the lower rate"),
        ({"burst_rate": "5 MB/s", "burst_bytes": "1 GB"}, "needs rate, the lower rate"),
    ):
        given = values | more
        given |= {"sources": dict.fromkeys(given, "document: test"), "kind": "token-bucket", "name": "x"}
        with pytest.raises(ValueError, match=says):
            TokenBucket.model_validate(given)


# ---- what a result says


def summary_of(builder: PlantBuilder, fed: Any) -> dict[str, Any]:
    span = int(fed.time_ns[-1]) + 1
    metrics = new_metrics(len(CATEGORIES), len(builder.stations), RESOURCES, 241, -(-span // 240))
    plant, outcome = engine.run(builder.build(), [fed], metrics)
    return summarise("x", plant, builder.stations, metrics, outcome, span, {}, "").summary


@pytest.mark.parametrize(
    ("per_s", "load", "credits", "says"),
    [
        (200, "steady", "kept", "no backlog grows"),
        (
            1000,
            "steady",
            "falling",
            "burst credits of data fall from 100.0 % to 74.1 % and run out after another 57.1 s",
        ),
        (3000, "saturated", "ran out", "burst credits of data run out after 20"),
    ],
)
def test_a_run_that_lives_on_credits_says_so(per_s: int, load: str, credits: str, says: str) -> None:
    builder = PlantBuilder(1)
    add_bucket(builder, small_gp2(latency=800_000), "data")
    seconds = 20 if per_s == 1000 else 60
    summary = summary_of(builder, commands(np.arange(seconds * per_s) * S // per_s, 0))
    assert (summary["verdict"]["load"], summary["verdict"]["credits"]) == (load, credits)
    assert says in summary["load"]["explanation"]
    if load == "saturated":
        assert (summary["load"]["station"], summary["load"]["resource"]) == ("data", "credits")
        assert summary["load"]["since_ns"] == pytest.approx(20 * S, rel=0.08)
    else:
        assert summary["stations"]["data"]["utilisation"]["credits"] == 0


# ---- instances


def fed_volumes(
    folder: Path, text: str, per_s: int, seconds: int, volumes: list[str], length: int = 8192
) -> dict[str, Any]:
    """Summary of reads that come evenly, in turn to the *volumes* of a scenario."""
    scenario = scenario_of(folder, text)
    builder = PlantBuilder(1)
    entries = scenario.build(builder)
    count = per_s * seconds
    fed = commands(np.arange(count) * S // per_s, 0, READ, 0, length)
    fed.station[:] = np.resize(np.array([entries[name] for name in volumes], np.int32), count)
    summary = summary_of(builder, fed)
    assert summary["conservation"]["little"]
    assert summary["conservation"]["accounted_for"]
    return summary


@pytest.mark.parametrize(
    ("volume", "instance", "station", "carried"),
    [(3000, 2000, "host", 2000), (3000, 20_000, "d", 3000), (5000, 6000, "d", 5000), (5000, 4000, "host", 4000)],
)
def test_a_volume_behind_an_instance_has_the_lower_of_both_limits(
    tmp_path: Path, volume: int, instance: int, station: str, carried: int
) -> None:
    text = f'[volumes.d]\ndevice = "aws-gp3"\nsize = "100 GiB"\niops = {volume}\n[instances.host]\niops = {instance}\n'
    summary = fed_volumes(tmp_path, text, 10_000, 20, ["d"])
    assert summary["verdict"]["load"] == "saturated"
    assert summary["load"]["station"] == summary["bottleneck"]["station"] == station
    assert summary["load"]["sustainable_load"] == pytest.approx(carried / 10_000, rel=0.02)
    assert {"d", "host"} <= summary["stations"].keys()


def test_volumes_share_an_instance(tmp_path: Path) -> None:
    """Two volumes of 3,000 IOPS each, 4,000 for both; a third one is not on it."""
    text = "".join(f'[volumes.{name}]\ndevice = "aws-gp3"\n' for name in "abc")
    text += '[instances.host]\niops = 4000\nvolumes = ["a", "b"]\n[placement]\ndefault = "a"\n'
    both = fed_volumes(tmp_path, text, 5000, 20, ["a", "b"])
    assert both["load"]["station"] == "host"
    assert both["load"]["sustainable_load"] == pytest.approx(0.8, rel=0.02)
    assert both["stations"]["a"]["requests"] == both["stations"]["b"]["requests"] == 50_000
    assert fed_volumes(tmp_path, text, 5000, 20, ["a", "c"])["verdict"]["load"] == "steady"


def test_a_type_of_the_catalogue_bursts_and_starts_with_a_share_of_its_credits(tmp_path: Path) -> None:
    assert load_instance("aws-r5-large").iops == 3600
    assert {"aws-r5-xlarge", "azure-e8ds-v5"} <= set(instances())
    assert all(load_instance(name).sources for name in instances())
    text = '[volumes.d]\ndevice = "aws-gp3"\nsize = "100 GiB"\niops = 10000\n[instances.host]\ntype = "aws-r5-large"\n'
    rich = fed_volumes(tmp_path, text, 9000, 10, ["d"])
    assert (rich["verdict"]["load"], rich["verdict"]["credits"]) == ("steady", "falling")
    poor = fed_volumes(tmp_path, text + "credits = 0.0\n", 9000, 10, ["d"])
    assert (poor["verdict"]["credits"], poor["load"]["station"], poor["load"]["resource"]) == (
        "ran out",
        "host",
        "credits",
    )
    assert poor["load"]["sustainable_load"] == pytest.approx(0.4, rel=0.03)


# ---- latency against a measurement


@pytest.mark.shared
def test_a_remote_disk_by_the_number_of_writers(shared: Path) -> None:
    """Latency is fitted to one writer; the others and the limit (50,000 IOPS were ordered) are predicted."""
    import csv

    measured: dict[int, list[float]] = {}
    with (shared / "published/fio_sync_by_device.csv").open() as lines:
        for row in csv.DictReader(lines):
            if row["host"] == "gcpR" and row["test"] in ("fsync=0_16K", "fdatasync=0_16K"):
                measured.setdefault(int(row["numjobs"]), []).append(float(row["iops"]))
    volume = order("gcp-hyperdisk-balanced", "1 TiB", 50_000, "800 MiB/s")
    assert sorted(measured) == [1, 2, 4, 8, 16, 32]
    for writers, runs in measured.items():
        unlimited = writers * S / volume.latency
        predicted = min(unlimited, volume.iops or 0)
        assert predicted == pytest.approx(np.mean(runs), rel=0.02)
