"""A volume: devices of one sort in a layout, as one station that requests are sent to."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tiersim.devices import flash, hdd, token_bucket
from tiersim.devices.array import Layout, add_array, usable_bytes
from tiersim.devices.flash import Flash, add_flash
from tiersim.devices.gate import add_gate
from tiersim.devices.hdd import Hdd, add_drive
from tiersim.devices.host import Host, add_host
from tiersim.devices.measured import Measured
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import PASS_ON_NS
from tiersim.devices.token_bucket import TokenBucket, add_bucket

Device = Hdd | Flash | TokenBucket


@dataclass(frozen=True)
class Volume:
    """*count* devices in a *layout*, and how their host sends requests to them."""

    name: str
    device: Device | Measured
    count: int
    layout: Layout
    stripe_bytes: int
    controller_overhead_ns: int = PASS_ON_NS
    host: Host = field(default_factory=Host)

    @property
    def capacity_bytes(self) -> int:
        """What can be stored on it."""
        return usable_bytes(self.device.capacity, self.count, self.layout, self.stripe_bytes)


def add_device(builder: PlantBuilder, device: Device, name: str) -> int:
    """Put one device of any sort into the plant and return its station."""
    if isinstance(device, Hdd):
        return add_drive(builder, device, name)
    if isinstance(device, Flash):
        return add_flash(builder, device, name)
    return add_bucket(builder, device, name)


def add_volume(builder: PlantBuilder, volume: Volume, queues: Sequence[int] = ()) -> int:
    """Put a volume into the plant and return the station that takes its requests; they pass the gates *queues* first."""
    assert not isinstance(volume.device, Measured), "it has a station for each file"
    return add_host(builder, volume.name, volume.host, _add_devices(builder, volume.device, volume), queues)


def _add_devices(builder: PlantBuilder, device: Device, volume: Volume) -> int:
    if volume.layout == "single":
        return add_device(builder, device, volume.name)
    names = [f"{volume.name}.{index}" for index in range(volume.count)]
    members = [add_device(builder, device, name) for name in names]
    depth = volume.host.drive_queue_depth
    if depth is not None:
        members = [
            add_gate(builder, f"{name}.queue", depth, member) for name, member in zip(names, members, strict=True)
        ]
    return add_array(builder, members, volume.layout, volume.stripe_bytes, volume.controller_overhead_ns, volume.name)


def describe(device: Device) -> dict[str, Any]:
    """Figures that a person checks any device by."""
    if isinstance(device, Hdd):
        return hdd.describe(device)
    if isinstance(device, Flash):
        return flash.describe(device)
    return token_bucket.describe(device)
