"""The numbers that a fit may choose, and the drive that they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiersim.devices.ssd.flash import Flash
from tiersim.units import NS_PER_S

UNIT_BYTES = 4096
#: A link or a controller takes at least so long for a request beside its data; shorter fixed times cannot be told
#: apart.
_LEAST_FIXED_NS = 500


@dataclass(frozen=True)
class Parameter:
    """A number that may be fitted: where it starts, and within what it is assumed to lie if nothing tells."""

    name: str
    start: float
    low: float
    high: float
    key: str  # of the device file
    count: bool = False  # a whole number, a power of two as a rule


#: Starting points lie in the middle of what drives of the last fifteen years have; see the catalogue.
PARAMETERS = {
    parameter.name: parameter
    for parameter in (
        Parameter("unloaded_read_ns", 90_000, 8_000, 10_000_000, "read_latency"),
        Parameter("sense_ns", 60_000, 1_000, 200_000, "read"),
        Parameter("fast_page", 0.9, 0.7, 1.0, "read"),
        Parameter("slow_page", 1.1, 1.0, 1.5, "read"),
        Parameter("transfer_ns", 8_000, 1_000, 40_000, "channel_rate"),
        Parameter("dies", 16, 1, 512, "dies", count=True),
        Parameter("planes", 2, 1, 4, "planes", count=True),
        Parameter("page_units", 16, 1, 64, "page", count=True),
        Parameter("spread", 4, 1, 16, "spread", count=True),
        Parameter("link_bytes_per_s", 3.2e9, 1e8, 1.4e10, "link_rate"),
        Parameter("controller_iops", 400_000, 1_000, 3_000_000, "controller_iops"),
        Parameter("write_ns", 12_000, 3_000, 5_000_000, "write_latency"),
        Parameter("program_ns", 1_000_000, 20_000, 5_000_000, "program"),
        Parameter("program_units", 24, 1, 256, "program_size"),
        Parameter("buffer_units", 4096, 64, 65_536, "buffer"),
        Parameter("flush_ns", 500_000, 500, 20_000_000, "flush"),
        Parameter("flush_interval_ns", 1_000, 500, 20_000_000, "flush_interval"),
    )
}


def start() -> dict[str, float]:
    """Every parameter at its starting point."""
    return {parameter.name: parameter.start for parameter in PARAMETERS.values()}


def bounded(values: Mapping[str, float]) -> bool:
    """Whether every number is one that a drive can have."""
    if any(not parameter.low <= values[name] <= parameter.high for name, parameter in PARAMETERS.items()):
        return False
    if values["spread"] > values["dies"] or values["planes"] > values["page_units"]:
        return False
    if values["program_ns"] < values["sense_ns"] * values["slow_page"]:
        return False
    return _fixed_ns(values) >= _LEAST_FIXED_NS


def _controller_iops(values: Mapping[str, float]) -> float:
    """No more commands than the link could carry units."""
    return min(values["controller_iops"], values["link_bytes_per_s"] / UNIT_BYTES)


def _fixed_ns(values: Mapping[str, float]) -> float:
    """What is left of an unloaded read when sensing, channel, link and controller are taken off."""
    parts = values["sense_ns"] + values["transfer_ns"] + UNIT_BYTES * NS_PER_S / values["link_bytes_per_s"]
    return values["unloaded_read_ns"] - parts - NS_PER_S / _controller_iops(values)


def device_values(values: Mapping[str, float]) -> dict[str, Any]:
    """The device file's keys, with units, of a set of numbers."""
    dies = round(values["dies"])
    sense = values["sense_ns"]
    reads = (sense * values["fast_page"], sense, sense * values["slow_page"])
    program_bytes = round(values["program_units"]) * UNIT_BYTES
    return {
        "kind": "flash",
        "cell": "tlc" if min(reads) >= 20_000 else "slc" if max(reads) > 8_900 else "3d-xpoint",
        "channels": min(dies, 8),
        "dies": dies,
        "page": f"{round(values['page_units']) * UNIT_BYTES} B",
        "planes": round(values["planes"]),
        "unit": f"{UNIT_BYTES} B",
        "spread": round(values["spread"]),
        "read": [f"{round(time)} ns" for time in reads],
        "program": f"{round(values['program_ns'])} ns",
        "program_size": f"{program_bytes} B",
        "erase": f"{max(5_000_000, 2 * round(values['program_ns']))} ns",
        "block": f"{256 * program_bytes} B",
        "over_provisioning": 0.07,
        "state": "fresh",
        "channel_rate": f"{round(UNIT_BYTES * NS_PER_S / values['transfer_ns'])} B/s",
        "link_rate": f"{round(values['link_bytes_per_s'])} B/s",
        "controller_iops": round(_controller_iops(values)),
        "read_latency": f"{round(_fixed_ns(values))} ns",
        "write_latency": f"{round(values['write_ns'])} ns",
        "buffer": f"{max(round(values['buffer_units']), round(values['program_units'])) * UNIT_BYTES} B",
        "flush": f"{round(values['flush_ns'])} ns",
        "flush_interval": f"{round(values['flush_interval_ns'])} ns",
        "power_loss_protection": values["flush_ns"] < 100_000,
        "queue_depth": 1024,
    }


def device(values: Mapping[str, float]) -> Flash:
    """The drive that a set of numbers makes; nothing of it says where it is from."""
    keys = device_values(values) | {"name": "fitted", "capacity": f"{1 << 40} B"}
    return Flash.model_validate(
        keys | {"sources": dict.fromkeys(keys.keys() - {"kind", "name"}, "fitted: in progress")}
    )
