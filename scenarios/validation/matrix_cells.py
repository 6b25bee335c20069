"""Cells of a real PostgreSQL: a load, a pool and caps each, measured with its counters; what bounds each, and what one
would guess of one from another.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Folder of a cell with what a recording needs.
COUNTERS = "counters"
#: A cell whose caps leave it less than this share of what it does without any is saturated.
_SATURATED = 0.6
#: What the server writes: pages, and its log with the flushes.
_WRITES = (
    "client backend/relation/normal.writes",
    "background writer/relation/normal.writes",
    "checkpointer/relation/normal.writes",
)
_LOG = (
    "client backend/wal/normal.writes",
    "client backend/wal/normal.fsyncs",
    "walwriter/wal/normal.writes",
    "walwriter/wal/normal.fsyncs",
)
#: Requests a second of a device without a cap.
_NO_CAP = 10_000_000
_DEVICE = """\
kind = "token-bucket"
name = "a loop device on a file"
capacity = "8 GiB"
read_iops = {reads}
write_iops = {writes}
refill_interval = "100 ms"
carry_over = "0 s"
latency = "{latency_ns} ns"
{flush}
[sources]
capacity = "measured: the file's size"
read_iops = "measured: as it was set"
write_iops = "measured: as it was set"
refill_interval = "measured: the kernel's throttle"
carry_over = "measured: the kernel's throttle"
latency = "measured: of 8 KiB, {measured}"
{flush_source}"""
_FLUSH = 'flush = "{flush_ns} ns"\n'
_FLUSH_SOURCE = 'flush = "measured: what fdatasync takes beyond a write"\n'
#: Names of pools that are as many times as large as another, and the largest multiple of each.
_POOLS = (("smaller", 0.99), ("same", 1.0), ("2 to 4 x", 4.0), ("8 to 16 x", float("inf")))


@dataclass(frozen=True)
class Cell:
    """A cell, the means of its repeats: transactions a second, ms, shares, and counts a transaction; ``spread`` is that
    of repeats, as a share.
    """

    name: str
    load: str
    pool_mib: int
    iops: int | None
    log_iops: int | None
    device_latency_ns: int
    log_device_ns: Mapping[str, int]  # of a log that has a device of its own, where it was measured
    run_s: float
    since_checkpoint_s: float
    figures: Mapping[str, float]
    folder: Path  # of the first repeat

    @property
    def label(self) -> str:
        """Return its pool and its caps in short."""
        return f"{self.pool_mib} MiB, {self.cap}"

    @property
    def cap(self) -> str:
        """Return its caps in short."""
        return f"{self.iops:,}/s" if self.iops else f"log {self.log_iops:,}/s" if self.log_iops else "free"


#: The number of a repeat, behind the name of its cell.
_REPEAT = re.compile(r"-\d+$")


def cells_of(folder: Path) -> list[Cell]:
    """Return the cells of a folder that has one for each repeat of each cell, named after it with a number behind, if
    there were several.
    """
    repeats: dict[str, list[tuple[Path, dict[str, Any]]]] = {}
    for path in sorted(folder.glob("*/result.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        repeats.setdefault(_name(path.parent), []).append((path.parent, result))
    return [_mean(name, found) for name, found in repeats.items()]


def repeats_of(cell: Cell) -> list[dict[str, Any]]:
    """Return what was measured in each repeat of a cell."""
    found = sorted(cell.folder.parent.glob("*/result.json"))
    return [json.loads(path.read_text(encoding="utf-8")) for path in found if _name(path.parent) == cell.name]


def _name(folder: Path) -> str:
    """Return the cell that a folder is a repeat of."""
    return _REPEAT.sub("", folder.name)


def _mean(name: str, found: Sequence[tuple[Path, dict[str, Any]]]) -> Cell:
    folder, first = found[0]
    cell = first["cell"]
    figures = {
        "tps": [one["transactions_per_s"] for _, one in found],
        "mean_ms": [one["mean_ms"] for _, one in found],
        "p95_ms": [one["quantiles_ms"]["0.95"] for _, one in found],
        "slow": [one["slow_share"] for _, one in found],
        "misses": [_counted(one, "client backend/relation/normal.reads") for _, one in found],
        "written": [_counted(one, *_WRITES) for _, one in found],
        "logged": [_counted(one, *_LOG) for _, one in found],
    }
    means = {key: float(np.mean(values)) for key, values in figures.items()}
    means["spread"] = (max(figures["tps"]) - min(figures["tps"])) / means["tps"]
    return Cell(
        name,
        cell["script"],
        int(cell["settings"]["shared_buffers"].removesuffix("MB")),
        cell["iops"],
        cell.get("log_iops"),
        first["device_latency_ns"],
        first.get("log_device_ns", {}),
        cell["run_s"],
        first["since_checkpoint_s"],
        means,
        folder,
    )


def _counted(result: Mapping[str, Any], *names: str) -> float:
    """Return how often the server counted these, a transaction."""
    return sum(float(result["counted"].get(name, 0)) for name in names) / float(result["transactions"])


def capped_device(
    read_iops: int | None, write_iops: int | None, latency_ns: int, measured: str, *, flush_ns: int | None = None
) -> str:
    """Return the file of the device of a cell: its caps, None for none; how long a request takes, how that is known;
    how long a flush takes, None for as long.
    """
    return _DEVICE.format(
        reads=read_iops or _NO_CAP,
        writes=write_iops or _NO_CAP,
        latency_ns=latency_ns,
        measured=measured,
        flush="" if flush_ns is None else _FLUSH.format(flush_ns=flush_ns),
        flush_source="" if flush_ns is None else _FLUSH_SOURCE,
    )


def data_device(target: Cell, source: Cell) -> str:
    """Return the file of the device with the tables of *target*, as it was measured at *source*."""
    measured = "the median of 4,000 reads, one after the other"
    return capped_device(target.iops, target.iops, source.device_latency_ns, measured)


def log_device(target: Cell, source: Cell) -> str:
    """Return the file of the device with the log of *target*, as it was measured at *source*: by reads of the other
    device where nothing else was.
    """
    took_ns = source.log_device_ns
    if not took_ns:
        measured = "the median of 4,000 reads, one after the other"
        return capped_device(target.log_iops, target.log_iops, source.device_latency_ns, measured)
    measured = "the median of 1,000 writes, one after the other"
    flush_ns = max(took_ns["synced"] - took_ns["write"], 1)
    return capped_device(target.log_iops, target.log_iops, took_ns["write"], measured, flush_ns=flush_ns)


def kind_of(cell: Cell, cells: Iterable[Cell]) -> str:
    """Say what bounds a cell: nothing (free), a cap a little (mild), or a cap (saturated)."""
    if cell.iops is None and cell.log_iops is None:
        return "free"
    free = [c for c in cells if (c.load, c.pool_mib, c.iops, c.log_iops) == (cell.load, cell.pool_mib, None, None)]
    return "saturated" if not free or cell.figures["tps"] < _SATURATED * free[0].figures["tps"] else "mild"


def pools_of(source: Cell, target: Cell) -> str:
    """Say how large the pool of *target* is, beside that of *source*."""
    ratio = target.pool_mib / source.pool_mib
    return next(name for name, most in _POOLS if ratio <= most)


def scaled_by_cap(source: Cell, target: Cell) -> float:
    """Return the throughput that one would guess who knows the caps: with so many requests a transaction as the source,
    as many as the target's caps allow.

    Without a cap at the target it is that of the source.
    """
    found = [source.figures["tps"]] if target.iops is None and target.log_iops is None else []
    for cap, was, each in (
        (target.iops, source.iops, max(source.figures["misses"], source.figures["written"])),
        (target.log_iops, source.log_iops, source.figures["logged"]),
    ):
        if cap is not None and was is not None:
            found.append(source.figures["tps"] * cap / was)
        elif cap is not None and each > 0:
            found.append(min(source.figures["tps"], cap / each))
    return min(found, default=source.figures["tps"])
