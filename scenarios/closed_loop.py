"""Synthetic commands in a closed loop, as load generators issue them: so many outstanding, whatever the device does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import NEVER, RESOURCES
from tiersim.simulator.compiled import engine
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.streams import CLOCK, NO_STREAMS, OWN, STREAM, Streams, one_group
from tiersim.units import NS_PER_S

#: Share of the commands that is left out of a rate: caches fill, queues settle.
_SETTLING = 0.5


@dataclass(frozen=True)
class Loop:
    """Commands in their order, *depth* of them outstanding; scalars hold for all."""

    offset_bytes: NDArray[np.int64]
    op: Any
    station: Any
    length_bytes: Any
    depth: int


def sequential(count: int, first_bytes: int, length_bytes: int) -> NDArray[np.int64]:
    """Offsets of commands that follow each other."""
    return first_bytes + np.arange(count, dtype=np.int64) * length_bytes


def at_random(count: int, first_bytes: int, length_bytes: int, span_bytes: int, seed: int) -> NDArray[np.int64]:
    """Offsets of commands at random multiples of their length within *span_bytes* from the first byte on."""
    places = np.random.default_rng(seed).integers(0, (span_bytes - first_bytes) // length_bytes, count)
    return first_bytes + places * length_bytes


def run_closed(builder: PlantBuilder, loops: Sequence[Loop]) -> Streams:
    """Run all loops side by side; the streams hold when each command started and was done."""
    streams = _streams(loops)
    metrics = new_metrics(1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    engine.run_streams(builder.build(), streams, metrics)
    return streams


def settled_bytes_per_s(streams: Streams) -> float:
    """Bytes per second, counted from when half of the commands were done."""
    order = np.argsort(streams.done_ns)
    first = int(len(order) * _SETTLING)
    elapsed_ns = int(streams.done_ns[order[-1]] - streams.done_ns[order[first - 1]])
    return float(streams.length_bytes[order[first:]].sum()) * NS_PER_S / elapsed_ns


def _streams(loops: Sequence[Loop]) -> Streams:
    ends = np.cumsum([len(loop.offset_bytes) for loop in loops])
    count = int(ends[-1])
    table = np.zeros(len(loops), STREAM)
    table["end"] = ends
    table["first"] = table["next"] = np.append(0, ends[:-1])
    table["foreground"] = 1
    table["sync_start_ns"] = NEVER

    def column(key: str, kind: Any) -> Any:
        parts = [np.broadcast_to(getattr(loop, key), len(loop.offset_bytes)) for loop in loops]
        return np.concatenate(parts).astype(kind)

    place = np.concatenate([np.arange(len(loop.offset_bytes)) for loop in loops])
    ended_before = np.maximum(place - column("depth", np.int64) + 1, 0)
    zeros, nobody = np.zeros(count, np.int64), np.zeros(0, np.uint32)
    return Streams(
        streams=table,
        groups=one_group(nobody),
        followers=nobody,
        foreground_ns=zeros.copy(),
        flushes_ns=np.zeros(0, np.int64),
        waits_for=np.where(ended_before > 0, OWN, CLOCK).astype(np.uint8),
        recorded_ns=zeros,
        think_ns=zeros,
        ended_before=ended_before.astype(np.uint32),
        pace=np.zeros(count, np.uint32),
        gathered_ns=np.zeros(0, np.int64),
        station=column("station", np.uint32),
        op=column("op", np.uint8),
        offset_bytes=column("offset_bytes", np.int64),
        length_bytes=column("length_bytes", np.int64),
        category=np.zeros(count, np.uint8),
        sync=np.zeros(count, np.uint8),
        ended_ns=zeros.copy(),
        started_ns=np.full(count, NEVER, np.int64),
        done_ns=np.full(count, NEVER, np.int64),
        rows=NO_STREAMS.rows,
    )
