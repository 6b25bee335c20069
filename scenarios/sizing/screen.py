"""What arithmetic excludes without a run: the utilisation law bounds how often a device can be asked.

X requests a second that keep a device for S each keep it busy for X × S of the time, and that is 1 at most (Denning and
Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10(3), 1978). S is taken as the
least that the device's description allows: a command of its controller, bytes on its link, which a full-duplex link
carries both ways at a time. So what is excluded fails
certainly, and what is not excluded may fail all the same.
"""

from dataclasses import dataclass

import numpy as np

from tiersim.devices.array.volume import PARITIES, Volume, copies_of
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.measured import Measured
from tiersim.devices.ssd.flash import Flash
from tiersim.devices.station import Device
from tiersim.scenarios.hardware import NamedScenario
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_S, format_bytes

#: Reads a transaction depend a little on what ends when; so much of them there is in any case.
_SURELY = 0.9


@dataclass(frozen=True)
class VolumeDemand:
    """What one transaction, or one recorded request, asks of the volumes: requests and bytes, read and written."""

    reads: float
    read_bytes: float
    writes: float
    written_bytes: float


def demand_of(result: Result) -> VolumeDemand | None:
    """Return what each transaction read in a steady run; None of any other run. How many pages it writes depends on how
    fast a run is.
    """
    figure, table = result.summary["throughput_per_s"].get("transactions"), result.timeline
    if (
        result.summary["verdict"]["load"] != "steady"
        or not figure
        or not figure["value"]
        or "class" not in table.column_names
    ):
        return None
    start, end, moved, done = (table[key].to_numpy() for key in ("start_ns", "end_ns", "bytes", "completions"))
    closed = start < start.max()
    elapsed_ns = float(end[closed & (done > 0)].max(initial=0))
    reads = closed & (np.array(table["class"].to_pylist()) == "data read")
    if not elapsed_ns:
        return None
    share = _SURELY / (float(figure["value"]) * elapsed_ns / NS_PER_S)
    missed = 1 - (result.summary["hit_ratio"]["os_cache"] or 0.0)
    return VolumeDemand(share * missed * float(done[reads].sum()), share * missed * float(moved[reads].sum()), 0.0, 0.0)


def certain_failure(scenario: NamedScenario, demand: VolumeDemand, per_s: float) -> str | None:
    """Return why *scenario* cannot serve the *demand* of *per_s* a second, whatever else; None: it may."""
    volume = _only_volume(scenario)
    if volume is None or isinstance(volume.device, Measured):
        return None
    requests_per_s, bytes_per_s = _ceiling(volume.device)
    copies = _least_copies(volume)
    asked = per_s * (demand.reads + demand.writes * copies)
    moved = per_s * demand.read_bytes, per_s * demand.written_bytes * copies
    both_ways = isinstance(volume.device, Flash) and not volume.device.half_duplex
    passed = max(moved) if both_ways else sum(moved)
    if requests_per_s is not None and asked > requests_per_s * volume.count and not volume.host.merge:
        return (
            f"{asked:,.0f} requests a second are asked of devices that serve {requests_per_s * volume.count:,.0f} at"
            " most"
        )
    if bytes_per_s is not None and passed > bytes_per_s * volume.count:
        return (
            f"{format_bytes(passed)}/s are asked of devices that pass {format_bytes(bytes_per_s * volume.count)}/s at"
            " most"
        )
    return None


def _only_volume(scenario: NamedScenario) -> Volume | None:
    """Return the volume that everything goes to, if there is one, with nothing before it that may
    keep requests away.
    """
    if len(scenario.volumes) != 1 or scenario.controllers or scenario.pools:
        return None
    return next(iter(scenario.volumes.values()))


def _least_copies(volume: Volume) -> float:
    """Return how many bytes devices write for each one at least: parity comes once for each row at best."""
    parities = PARITIES.get(volume.layout, 0)
    whole_rows = volume.count / (volume.count - parities)
    return float(copies_of(volume.layout, volume.count) * whole_rows)


def _ceiling(device: Device) -> tuple[float | None, float | None]:
    """Return the most requests and bytes a second that the description of a device allows; None: it has no bound."""
    if isinstance(device, Flash):
        return float(device.controller_iops), float(device.link_rate)
    if isinstance(device, Drive):
        overhead_ns = max(device.command_overhead, 1) if device.hit_overheads is None else None
        rate = device.interface_rate
        return None if overhead_ns is None else NS_PER_S / overhead_ns, None if rate is None else float(rate)
    if isinstance(device, TokenBucket):
        return _bucket(device)
    return None, None


def _bucket(device: TokenBucket) -> tuple[float | None, float | None]:
    """Return the highest rates of a bucket without what merges requests, credits spent."""
    both = max((device.read_iops or 0) + (device.write_iops or 0), device.iops or 0, device.burst_iops or 0)
    rate = max((device.read_rate or 0) + (device.write_rate or 0), device.rate or 0, device.burst_rate or 0)
    one_sided = (device.read_iops is None) != (device.write_iops is None) or (device.read_rate is None) != (
        device.write_rate is None
    )
    if one_sided or device.carry_over > NS_PER_S:
        return None, None
    return (None if not both or device.merged_from else float(both)), (float(rate) or None)
