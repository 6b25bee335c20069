"""MQSim's latencies on its shipped device, and closed forms up to where it is saturated.

Device: NVMe over PCIe at 4 GB/s, 8 channels of 333 MB/s with 4 chips each, pages of 8 KiB, MLC read and program 75 and
750 µs, an ideal map, nothing written before. MQSim schedules by chip, so a chip is a die here: a command is for one of
its two dies, and for both planes of that if their pages have the same number. It places by address and never suspends a
program. It sends nothing to a chip that has data to transfer, nor
over a channel that is at work, so it saturates near 183,000 reads/s, where its channels could carry 325,000. Its DRAM
takes 100 MT/s of one byte, twice a cycle, so the write cache takes 24,414 writes/s: 81,380/s of a 70:30 mix.

Closed forms stand where no run of MQSim is known: Kleinrock, Queueing Systems I (M/D/1) and II (a queue with
priorities, section 3.3).
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.flash import Flash, add_flash
from tiersim.devices.station_records import RESOURCES
from tiersim.operations import READ, WRITE
from tiersim.scenarios.closed_loop import Loop, at_random, run_closed
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.simulator.commands import Commands
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_S

_LENGTH_BYTES, _SPAN_BYTES, _REQUESTS = 8192, 64 << 30, 200_000
#: (share of reads, write cache, requests/s, operation): mean and 99th percentile, µs. 200,000 requests each, Poisson.
MEASURED = {
    (1.0, False, 1_000, "read"): (102.67, 103.7),
    (1.0, False, 20_000, "read"): (107.28, 193.62),
    (1.0, False, 100_000, "read"): (147.3, 412.75),
    (0.7, False, 1_000, "read"): (105.56, 121.76),
    (0.7, False, 1_000, "write"): (780.58, 793.21),
    (0.7, False, 10_000, "read"): (133.21, 774.76),
    (0.7, False, 10_000, "write"): (810.73, 1495.56),
    (0.7, False, 30_000, "read"): (198.48, 849.65),
    (0.7, False, 30_000, "write"): (908.48, 2092.4),
    (0.7, True, 1_000, "read"): (105.56, 121.76),
    (0.7, True, 1_000, "write"): (43.8, 51.35),
    (0.7, True, 10_000, "read"): (133.21, 774.76),
    (0.7, True, 10_000, "write"): (46.41, 83.72),
    (0.7, True, 30_000, "read"): (198.45, 849.65),
    (0.7, True, 30_000, "write"): (55.63, 138.92),
}

#: Reads of which so many are outstanding at any time: mean and 99th percentile, µs. 200,000 each.
MEASURED_AT_DEPTH = {8: (121.92, 264.89), 32: (226.18, 786.21), 128: (737.24, 3150.53)}


#: Reads a second at a depth of which only the rate is known.
_DEEPEST, _DEEPEST_PER_S = 256, 180_000

_CHANNELS, _DIES, _READ_US, _PROGRAM_US = 8, 32, 75.0, 750.0
_TRANSFER_US, _BUFFERED_US, _COMMAND_US = _LENGTH_BYTES / 333, _LENGTH_BYTES / 200, 2.85
#: Share of reads in the mixes, and the rates at which closed forms stand beside the model.
_MIX, _BY_THEORY_PER_S, _BEYOND_PER_S = 0.7, (60_000, 90_000), 120_000


def device(*, write_cache: bool) -> Flash:
    """MQSim's shipped device."""
    values = {
        "kind": "flash",
        "name": "MQSim",
        "capacity": "64 GiB",
        "cell": "mlc",
        "channels": _CHANNELS,
        "dies": _DIES,
        "page": "8 KiB",
        "unit": "8 KiB",
        "spread": 1,
        "read": "75 us",
        "program": "750 us",
        "program_size": "8 KiB",
        "erase": "3800 us",
        "block": "2 MiB",
        "over_provisioning": 0.07,
        "allocation": "static",
        "commands": "held",
        "program_command": "361 ns",  # tCS + 6 tWC + tADL + tWPST + tWPSTH + tWB (ONFI_Channel_NVDDR2.cpp)
        "chip_dies": 2,
        "chip_planes": 2,
        "state": "fresh",
        "channel_rate": "333 MB/s",
        "link_rate": "4 GB/s",
        "controller_iops": 976_000,
        "read_latency": "0 ns",  # what is left of 2.85 µs beside controller and link, which are less
        "write_latency": "0 ns",
        "buffer": "1 MiB" if write_cache else "0 B",  # at most a page for each plane waits (SSD_Device.cpp)
        "power_loss_protection": True,
        "flush": "1 us",
        "queue_depth": 512,  # Queue_Fetch_Size: who comes later waits in the host's queue, reads behind writes
    }
    if write_cache:
        values["buffer_rate"] = "200 MB/s"
    sources = dict.fromkeys(values.keys() - {"kind", "name"}, "document: MQSim's shipped ssdconfig.xml")
    return Flash.model_validate(values | {"sources": sources})


def _wait_us(load: float, service_us: float) -> float:
    """Mean wait before one server with a fixed service time, in µs (M/D/1)."""
    return load * service_us / (2 * (1 - load))


def expected_us(read_share: float, requests_per_s: float) -> tuple[float, float]:
    """Mean of reads and of writes without a cache by a closed form, in µs.

    A die has a queue in which reads go first, and holds what it reads and what it takes until a channel is free. Left
    out are that a command to read waits for a channel, too, which makes writes 8 % slower at 90,000/s, and that one
    command programs two planes, which makes them 6 % faster there.
    """
    transfer_us = _TRANSFER_US + _wait_us(requests_per_s / _CHANNELS * _TRANSFER_US / 1e6, _TRANSFER_US)
    read_us, write_us = _READ_US + transfer_us, _PROGRAM_US + transfer_us
    per_us = requests_per_s / _DIES / 1e6
    reads, writes = per_us * read_share * read_us, per_us * (1 - read_share) * write_us
    under_way_us = (reads * read_us + writes * write_us) / 2
    waits_us = under_way_us / (1 - reads), under_way_us / ((1 - reads) * (1 - reads - writes))
    return _COMMAND_US + read_us + waits_us[0], _COMMAND_US + write_us + waits_us[1]


def expected_buffered_us(writes_per_s: float) -> float:
    """Mean of writes into the cache by a closed form, in µs: its memory takes them one by one."""
    return _COMMAND_US + _BUFFERED_US + _wait_us(writes_per_s * _BUFFERED_US / 1e6, _BUFFERED_US)


def latencies_us(read_share: float, write_cache: bool, requests_per_s: int) -> dict[str, tuple[float, float]]:
    """Predicted mean and 99th percentile by operation, in µs."""
    times, done, op = _run(read_share, write_cache, requests_per_s)
    took_us = (done - times) / 1000
    found = {}
    for name, operation in (("read", READ), ("write", WRITE)):
        own = took_us[op == operation]
        if len(own):
            found[name] = (float(own.mean()), float(np.quantile(own, 0.99)))
    return found


def _run(
    read_share: float, write_cache: bool, requests_per_s: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """When requests came and were done, in ns, and what they were."""
    random = np.random.default_rng(requests_per_s)
    builder = PlantBuilder(1)
    station = add_flash(builder, device(write_cache=write_cache), "drive")
    times = np.cumsum(random.exponential(NS_PER_S / requests_per_s, _REQUESTS)).astype(np.int64)
    op = np.where(random.random(_REQUESTS) < read_share, READ, WRITE).astype(np.uint8)
    commands = Commands(
        time_ns=times,
        intended_ns=times,
        station=np.full(_REQUESTS, station, np.int32),
        op=op,
        offset_bytes=random.integers(0, _SPAN_BYTES // _LENGTH_BYTES, _REQUESTS) * _LENGTH_BYTES,
        length_bytes=np.full(_REQUESTS, _LENGTH_BYTES, np.int64),
        category=np.zeros(_REQUESTS, np.uint8),
    )
    metrics = new_metrics(1, len(builder.stations), RESOURCES, 2, int(times[-1]) + 1)
    _, outcome = engine.run(builder.build(), [commands], metrics, keep_done=True)
    assert outcome.done_ns is not None
    return times, outcome.done_ns, op


def latencies_at_depth_us(depth: int) -> tuple[float, float]:
    """Predicted mean and 99th percentile of reads of which *depth* are outstanding at any time, in µs."""
    builder = PlantBuilder(1)
    station = add_flash(builder, device(write_cache=False), "drive")
    offsets = at_random(_REQUESTS, 0, _LENGTH_BYTES, _SPAN_BYTES, seed=depth)
    streams = run_closed(builder, [Loop(offsets, READ, station, _LENGTH_BYTES, depth)])
    took_us = (streams.done_ns - streams.started_ns) / 1000
    return float(took_us.mean()), float(np.quantile(took_us, 0.99))


def _by_theory() -> list[Claim]:
    """Mixes at higher rates than MQSim's against closed forms."""
    claims = []
    for rate in _BY_THEORY_PER_S:
        predicted = latencies_us(_MIX, False, rate)
        for operation, mean in zip(("read", "write"), expected_us(_MIX, rate), strict=True):
            what = f"70:30, no cache, {rate:,}/s: {operation}s, mean by a queue with priorities for each chip"
            claims.append(Claim(what, "µs", mean, predicted[operation][0], 10))
    rate = _BY_THEORY_PER_S[0]
    written = latencies_us(_MIX, True, rate)["write"][0]
    buffered = expected_buffered_us((1 - _MIX) * rate)
    claims.append(Claim(f"70:30, write cache, {rate:,}/s: writes, mean by M/D/1", "µs", buffered, written, 10))
    _, done, _ = _run(_MIX, True, _BEYOND_PER_S)
    most_per_s = 1e6 / _BUFFERED_US / (1 - _MIX)
    served_per_s = _REQUESTS * NS_PER_S / int(done.max())
    what = f"70:30, write cache, {_BEYOND_PER_S:,}/s: rate that its memory carries"
    claims.append(Claim(what, "requests/s", most_per_s, served_per_s, 2))
    return claims


def experiment() -> Experiment:
    """Reads alone to 100,000/s and to a depth of 256; 70:30 with and without a write cache to 30,000/s, and beyond
    against closed forms.
    """
    runs = {key[:3]: latencies_us(*key[:3]) for key in MEASURED}
    claims = []
    for (share, cached, rate, operation), (mean, p99) in MEASURED.items():
        mix = "reads alone" if share == 1 else f"70:30, {'write cache' if cached else 'no cache'}"
        predicted = runs[share, cached, rate][operation]
        what = f"{mix}, {rate:,}/s: {operation}s"
        claims.append(Claim(f"{what}, mean", "µs", mean, predicted[0], 10))
        claims.append(Claim(f"{what}, p99", "µs", p99, predicted[1], 20))
    for depth, (mean, p99) in MEASURED_AT_DEPTH.items():
        predicted = latencies_at_depth_us(depth)
        claims.append(Claim(f"reads alone, depth {depth}, mean", "µs", mean, predicted[0], 10))
        claims.append(Claim(f"reads alone, depth {depth}, p99", "µs", p99, predicted[1], 20))
    predicted_per_s = _DEEPEST * 1e6 / latencies_at_depth_us(_DEEPEST)[0]
    claims.append(Claim(f"reads alone, depth {_DEEPEST}, rate", "reads/s", _DEEPEST_PER_S, predicted_per_s, 10))
    claims += _by_theory()
    return Experiment(
        "mqsim",
        "MQSim's shipped device, random 8 KiB requests, by load and by depth",
        "MQSim (CMU-SAFARI, 2022), 200,000 requests each, percentiles logged by request; closed forms (Kleinrock,"
        " Queueing Systems)",
        "nothing",
        tuple(claims),
    )
