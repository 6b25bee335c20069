"""The table of the catalogue in docs/device-reference.md."""

from typing import Any

from tiersim.devices.catalogue import load_device, names
from tiersim.devices.station import Device
from tiersim.units import format_bytes, format_ns

_HEAD = (
    "| device | of | interface | capacity | 8 KiB read | reads/s | writes/s | price, USD | assumed, fitted |\n"
    "|---|--:|---|--:|--:|--:|--:|--:|--:|\n"
)


def table() -> str:
    """One row for each device but those that are sold by size, which have a table of their own."""
    devices = {name: load_device(name) for name in names()}
    return _HEAD + "".join(_row(name, device) for name, device in devices.items() if device.kind != "cloud-volume")


def _row(name: str, device: Device) -> str:
    figures = device.describe()
    unknown = sum(source.startswith(("assumed", "fitted")) for source in device.sources.values())
    cells = [
        f"`{name}`",
        _text(device.released),
        _text(device.interface),
        format_bytes(device.capacity),
        format_ns(figures["random_read_ns"]),
        _count(figures["random_reads_per_s"]),
        _count(figures.get("sustained_random_writes_per_s")),
        _count(device.price),
        f"{unknown} of {len(device.sources)}",
    ]
    return f"| {' | '.join(cells)} |\n"


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _count(value: float | None) -> str:
    """Three digits: more would only say how a figure was rounded."""
    return "" if value is None else f"{float(f'{value:.3g}'):,.0f}"
