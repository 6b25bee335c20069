"""Quantities with units: exact integers inside (bytes, nanoseconds), text with a unit outside."""

import difflib
import re
from collections.abc import Mapping

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
PS_PER_NS = 1_000

_SIZES: dict[str, int] = {
    "B": 1,
    **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTP", 1)},
    **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGTP", 1)},
}
_DURATIONS: dict[str, int] = {
    "ns": 1,
    "us": NS_PER_US,
    "µs": NS_PER_US,
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "min": 60 * NS_PER_S,
    "h": 3600 * NS_PER_S,
}
_RATES: dict[str, int] = {f"{unit}/s": factor for unit, factor in _SIZES.items()}
_QUANTITY = re.compile(r"\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*([A-Za-zµ/]+)\s*")


def _parse(value: object, units: Mapping[str, int], what: str, whole: str, example: str) -> int:
    from decimal import Decimal

    if not isinstance(value, str):
        raise ValueError(f"{value!r} is a {what} without a unit; write for example {example!r}")
    match = _QUANTITY.fullmatch(value)
    if not match or match[2] not in units:
        near = difflib.get_close_matches(match[2] if match else value, list(units), 1, 0.5)
        hint = f" (did you mean the unit {near[0]!r}?)" if near else ""
        raise ValueError(f"{value!r} is not a {what}; write for example {example!r}{hint}")
    quantity = Decimal(match[1].replace("_", "")) * units[match[2]]
    if quantity != int(quantity):
        raise ValueError(f"{value!r} is not a whole number of {whole}")
    if quantity >= 2**63:
        raise ValueError(f"{value!r} is larger than 2^63 {whole}")
    return int(quantity)


def parse_bytes(value: object) -> int:
    """Parse a size such as ``"64 KiB"`` (IEC) or ``"800 GB"`` (SI) to bytes; raises ValueError."""
    return _parse(value, _SIZES, "size", "bytes", "16 GiB")


def parse_ns(value: object) -> int:
    """Parse a duration such as ``"3.4 ms"`` to nanoseconds; raises ValueError."""
    return _parse(value, _DURATIONS, "duration", "nanoseconds", "3.4 ms")


def parse_signed_ns(value: object) -> int:
    """Parse a duration that may be negative, such as ``"-0.6 ms"``; raises ValueError."""
    if isinstance(value, str) and value.startswith("-"):
        return -parse_ns(value[1:])
    return parse_ns(value)


def parse_bytes_per_s(value: object) -> int:
    """Parse a data rate such as ``"204 MB/s"`` to bytes per second; raises ValueError."""
    return _parse(value, _RATES, "data rate", "bytes per second", "204 MB/s")


def format_bytes(size_bytes: float) -> str:
    """Write a size for a person: ``65536`` becomes ``"64 KiB"``, ``800000000000`` ``"800 GB"``."""
    value = float(size_bytes)
    if value >= 1e6 and value % 1e6 == 0 and value % (1 << 20):  # it was given in decimal units
        for unit, factor in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
            if value >= factor:
                return f"{value / factor:.4g} {unit}"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.4g} {unit}" if abs(value) < 1000 else f"{value:.0f} {unit}"


def is_of_largest(share: float, count: int) -> bool:
    """Tell whether the quantile of a *share* of so many samples is that of their largest: less than one lies beyond it.

    >>> is_of_largest(0.99, 99), is_of_largest(0.99, 100)
    (True, False)
    """
    return round(count * (1 - share), 6) < 1


def format_per_s(rate: float) -> str:
    """Write how often a second for a person: ``5469.2`` becomes ``"5,469"``, ``0.0111`` stays ``"0.0111"``."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.3g}"


def format_times(multiple: float, digits: int = 3) -> str:
    """Write a multiple, or a mean count, for a person: ``12.34`` becomes ``"12.3"``, ``5123.4`` ``"5,123"``."""
    return f"{multiple:,.0f}" if multiple >= 10**digits - 0.5 else f"{multiple:.{digits}g}"


def format_ns(duration_ns: float) -> str:
    """Write a duration for a person: ``1500000`` becomes ``"1.5 ms"``."""
    for unit, factor in (("s", NS_PER_S), ("ms", NS_PER_MS), ("µs", NS_PER_US)):
        if abs(duration_ns) >= factor:
            value = duration_ns / factor
            return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{round(duration_ns)} ns"
