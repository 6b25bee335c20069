"""Streams drawn at random over a drawn load: every way to wait, ties, followers, log syncs."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.simulator.categories import LOG_FLUSH
from tiersim.simulator.commands import Commands
from tiersim.simulator.streams import (
    CLOCK,
    FLUSHED,
    NO_STREAMS,
    OWN,
    PACE,
    STREAM,
    SYNC_BEGINS,
    SYNC_ENDS,
    Streams,
    one_group,
    to_run,
)


def streams_of(
    commands: Commands,
    owner: NDArray[np.int64],
    foreground: NDArray[np.bool_],
    waits_for: Any,
    think_ns: Any,
    ended_before: Any,
    pace: Any = 0,
    sync: Any = 0,
) -> Streams:
    """Streams of commands, all given in time order; *owner* is the stream of each, *foreground* by stream."""
    order = np.argsort(owner, kind="stable")
    count = len(commands)
    followers = np.flatnonzero(~foreground).astype(np.uint32)
    first = np.searchsorted(owner[order], np.arange(len(foreground)))
    table = np.zeros(len(foreground), STREAM)
    table["first"] = table["next"] = first
    table["end"] = np.append(first[1:], count)
    table["foreground"] = foreground
    table["sync_start_ns"] = NEVER

    def column(values: Any, kind: Any) -> Any:
        return np.ascontiguousarray(np.broadcast_to(values, count)[order], kind)

    return Streams(
        streams=table,
        groups=one_group(followers),
        followers=followers,
        foreground_ns=np.zeros(int(foreground[owner].sum()), np.int64),
        flushes_ns=np.zeros(0, np.int64),
        waits_for=column(waits_for, np.uint8),
        recorded_ns=column(commands.time_ns, np.int64),
        think_ns=column(think_ns, np.int64),
        ended_before=column(ended_before, np.uint32),
        pace=column(pace, np.uint32),
        gathered_ns=column(commands.time_ns - commands.intended_ns, np.int64),
        station=column(commands.station, np.uint32),
        op=column(commands.op, np.uint8),
        offset_bytes=column(commands.offset_bytes, np.int64),
        length_bytes=column(commands.length_bytes, np.int64),
        category=column(commands.category, np.uint8),
        sync=column(sync, np.uint8),
        ended_ns=np.zeros(count, np.int64),
        started_ns=np.full(count, NEVER, np.int64),
        done_ns=np.full(count, NEVER, np.int64),
        rows=NO_STREAMS.rows,
    )


def draw_streams(commands: Commands, seed: int, syncs: bool = False, flushes: bool = False) -> Streams:
    """Deal commands to a few streams, some of which keep pace with the others; with *flushes* every fifth or so flushes
    the log, and others wait for those before them.
    """
    generator = np.random.default_rng(seed)
    count, streams = len(commands), int(generator.integers(1, 7))
    foreground = generator.random(streams) < 0.7
    foreground[0] = True
    owner = generator.integers(0, streams, count)
    clock = int(generator.choice([1, 1000, 1_000_000]))
    think = generator.integers(0, 3_000_000, count) // clock * clock
    waits, ended, pace = np.zeros(count, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.int64)
    seen, before = np.zeros(streams, np.int64), np.zeros(streams, np.int64)
    started = 0
    for row in range(count):
        s = owner[row]
        before[s] = ended[row] = min(seen[s], max(before[s], seen[s] - generator.integers(0, 4)))
        if generator.random() < 0.7 and ended[row] > 0 and (foreground[s] or generator.random() < 0.3):
            waits[row] = OWN
        elif not foreground[s] and started:
            waits[row], pace[row] = PACE, started
        else:
            waits[row] = CLOCK
        seen[s] += 1
        started += bool(foreground[s])
    sync = generator.choice([0, SYNC_BEGINS, SYNC_ENDS], count) if syncs else 0
    if not flushes:
        return streams_of(commands, owner, foreground, waits, think, ended, pace, sync)
    is_flush = generator.random(count) < 0.2
    before_it: NDArray[np.int64] = np.cumsum(is_flush) - is_flush
    flushed = (generator.random(count) < 0.3) & (before_it > 0) & foreground[owner]
    waits[flushed], pace[flushed] = FLUSHED, before_it[flushed]
    category = np.where(is_flush, LOG_FLUSH, commands.category).astype(np.uint8)
    return to_run(streams_of(replace(commands, category=category), owner, foreground, waits, think, ended, pace, sync))
