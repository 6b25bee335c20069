"""What the tools of sysstat call their columns, 9 to 12: which gauge each is, and what one of its units is.

Kilobytes of sysstat are of 1,024 bytes, its sectors and blocks of 512 (man pages of iostat and sar).
"""

from collections.abc import Mapping
from decimal import Decimal

_KIB, _MIB, _SECTOR_BYTES = Decimal(1 << 10), Decimal(1 << 20), Decimal(512)
_ONE, _PERCENT = Decimal(1), Decimal("0.01")

#: Columns of a device.
DEVICE: Mapping[str, tuple[str, Decimal]] = {
    "r/s": ("reads_per_s", _ONE),
    "w/s": ("writes_per_s", _ONE),
    "f/s": ("flushes_per_s", _ONE),
    "tps": ("requests_per_s", _ONE),
    "rtps": ("reads_per_s", _ONE),
    "wtps": ("writes_per_s", _ONE),
    **{name: ("read_bytes_per_s", _KIB) for name in ("rkB/s", "kB_read/s")},
    **{name: ("read_bytes_per_s", _MIB) for name in ("rMB/s", "MB_read/s")},
    **{name: ("read_bytes_per_s", _SECTOR_BYTES) for name in ("rsec/s", "rd_sec/s", "Blk_read/s", "bread/s")},
    **{name: ("written_bytes_per_s", _KIB) for name in ("wkB/s", "kB_wrtn/s")},
    **{name: ("written_bytes_per_s", _MIB) for name in ("wMB/s", "MB_wrtn/s")},
    **{name: ("written_bytes_per_s", _SECTOR_BYTES) for name in ("wsec/s", "wr_sec/s", "Blk_wrtn/s", "bwrtn/s")},
    "r_await": ("read_latency_ms", _ONE),
    "w_await": ("write_latency_ms", _ONE),
    "f_await": ("flush_latency_ms", _ONE),
    "await": ("latency_ms", _ONE),
    "aqu-sz": ("queue_mean", _ONE),
    "avgqu-sz": ("queue_mean", _ONE),
    "%util": ("busy_share", _PERCENT),
    "util": ("busy_share", _PERCENT),
}

#: Columns of all processors together, without the ``%`` before them.
PROCESSOR: Mapping[str, tuple[str, Decimal]] = {
    **{name: (f"{name}_share", _PERCENT) for name in ("user", "nice", "system", "steal", "idle")},
    "iowait": ("io_wait_share", _PERCENT),
}

_LATENCIES = {
    "reads_per_s": "read_latency_ms",
    "writes_per_s": "write_latency_ms",
    "flushes_per_s": "flush_latency_ms",
    "requests_per_s": "latency_ms",
}

#: The entity of columns that add all devices up.
ALL_DEVICES = "all devices"


def device_gauges(columns: Mapping[str, str]) -> dict[str, Decimal | str]:
    """Return the gauges of a device from its columns, as printed in any locale; latencies of no requests are no 0."""
    gauges = _gauges(columns, DEVICE)
    for rate, latency in _LATENCIES.items():
        if gauges.get(rate) == 0:
            gauges.pop(latency, None)
    return gauges


def processor_gauges(columns: Mapping[str, str]) -> dict[str, Decimal | str]:
    """Return the gauges of the processors from their columns."""
    return _gauges({name.removeprefix("%"): value for name, value in columns.items()}, PROCESSOR)


def _gauges(columns: Mapping[str, str], words: Mapping[str, tuple[str, Decimal]]) -> dict[str, Decimal | str]:
    found: dict[str, Decimal | str] = {}
    for name, value in columns.items():
        if name in words and (number := decimal_of(value)) is not None:
            gauge, unit = words[name]
            found[gauge] = number * unit
    return found


def decimal_of(text: str) -> Decimal | None:
    """Return a number that is printed with a point or a comma; None for what is none."""
    digits = text.strip().replace(",", ".")
    whole, _, fraction = digits.partition(".")
    if len(digits) > 40 or not (whole + fraction).isascii() or not (whole + fraction).isdigit():
        return None
    return Decimal(digits)
