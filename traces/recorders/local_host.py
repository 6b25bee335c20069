"""Counters of the machine that this runs on, from /proc: devices, processors, memory."""

import os
from decimal import Decimal
from pathlib import Path

from tiersim.traces.readers.host_counters.proc import proc_values
from tiersim.traces.readers.recorded import Key

_PROC = Path("/proc")


def host_values() -> dict[Key, dict[str, Decimal | str]]:
    """Return what the kernel counts at this moment; what cannot be read is left out, and devices
    that were never used.
    """
    found = proc_values(line for name in ("diskstats", "stat", "meminfo") for line in _lines(name))
    return {key: values for key, values in found.items() if key[0] != "device" or any(values.values())}


def device_of(path: Path) -> str | None:
    """Return the kernel's name of the device that *path* lies on; None when that is not to be known."""
    if not hasattr(os, "major"):  # Windows
        return None
    try:
        number = path.stat().st_dev
        return Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve(strict=True).name
    except OSError:
        return None


def _lines(name: str) -> list[str]:
    try:
        return (_PROC / name).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
