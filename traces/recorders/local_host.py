"""Counters of the machine that this runs on, from /proc: devices, processors, memory.

Fields as the kernel documents them: Documentation/admin-guide/iostats.rst, proc_stat(5), proc_meminfo(5).
"""

import os
from decimal import Decimal
from pathlib import Path

from tiersim.traces.readers.recorded import Key

_PROC = Path("/proc")
_SECTOR_BYTES = 512
_KIB = 1024

#: Fields behind a device's name: counter and what one of it is.
_DEVICE = (
    ("reads", 1), ("reads_merged", 1), ("read_bytes", _SECTOR_BYTES), ("read_ms", 1),
    ("writes", 1), ("writes_merged", 1), ("written_bytes", _SECTOR_BYTES), ("write_ms", 1),
    ("in_flight", 1), ("busy_ms", 1), ("queue_ms", 1),
    ("discards", 1), ("", 1), ("discarded_bytes", _SECTOR_BYTES), ("discard_ms", 1),
    ("flushes", 1), ("flush_ms", 1),
)  # fmt: skip
_PROCESSOR = (
    "user_ms", "nice_ms", "system_ms", "idle_ms", "io_wait_ms", "interrupt_ms", "soft_interrupt_ms", "steal_ms",
)  # fmt: skip
_MEMORY = {
    "MemTotal": "total_bytes", "MemFree": "free_bytes", "MemAvailable": "available_bytes", "Cached": "cached_bytes",
    "Dirty": "dirty_bytes", "Writeback": "writeback_bytes",
}  # fmt: skip


def host_values() -> dict[Key, dict[str, Decimal | str]]:
    """Return what the kernel counts at this moment; what cannot be read is left out."""
    values: dict[Key, dict[str, Decimal | str]] = {}
    for line in _lines("diskstats"):
        name, *fields = line.split()[2:]
        if any(field != "0" for field in fields):  # devices that were never used are not worth a row
            values["device", name] = {
                counter: Decimal(int(field) * unit)
                for (counter, unit), field in zip(_DEVICE, fields, strict=False)
                if counter
            }
    tick_ms = Decimal(1000) / os.sysconf("SC_CLK_TCK")
    for line in _lines("stat")[:1]:
        ticks = zip(_PROCESSOR, line.split()[1:], strict=False)
        values["processor", "host"] = {counter: int(count) * tick_ms for counter, count in ticks}
        values["processor", "host"]["cores"] = Decimal(os.cpu_count() or 1)
    memory = dict(line.split()[:2] for line in _lines("meminfo"))
    values["memory", "host"] = {
        gauge: Decimal(int(memory[f"{name}:"]) * _KIB) for name, gauge in _MEMORY.items() if f"{name}:" in memory
    }
    return values


def device_of(path: Path) -> str | None:
    """Return the kernel's name of the device that *path* lies on; None when that is not to be known."""
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
