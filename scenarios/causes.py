"""What each command waited for when it was recorded, as the streams of a simulation (``docs/replay.md`` has the
reasons): the clock in an open loop, an answer and the think time after it in a closed loop.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.grouping import order_by_code
from tiersim.kernel import kernel, table_set
from tiersim.operations import FLUSH, WRITE
from tiersim.scenarios.recorded import Recorded
from tiersim.scenarios.sessions import BURST, JOURNAL, SESSION, WRITER, Owners
from tiersim.simulator.categories import categorise
from tiersim.simulator.streams import CLOCK, OWN, PACE, STREAM, SYNC_BEGINS, SYNC_ENDS, Streams
from tiersim.traces.schema import LOG_WRITE


@dataclass(frozen=True)
class Rules:
    """How causes are inferred."""

    window_ns: int  # a command that came later than this after the one before it is not caused by it
    think_ns: int | None = None  # in place of the recorded think times
    keep_pace: bool = True  # whether writers follow the foreground, and not the clock
    one_at_a_time: bool = False  # whether a session waits for each command, whatever was recorded
    ordered: bool = True  # whether what had ended before must end before


def infer_streams(trace: Recorded, owners: Owners, rules: Rules) -> tuple[Streams, NDArray[np.int64]]:
    """Turn commands with their owners into streams; returns them and, by place in them, the row of *trace*.

    Columns that placement fills (station and address) hold the file and the offset within it. Of every stream, the
    commands that had ended before another was issued are counted; that many must end in the simulation, too.
    """
    order = order_by_code(owners.stream)
    owner = owners.stream[order]
    time_ns, op, purpose = trace.time_ns[order], trace.op[order], trace.purpose[order]
    count = len(trace)
    bounds = np.append(0, np.cumsum(np.bincount(owner, minlength=len(owners.role))))
    table = np.zeros(len(owners.role), STREAM)
    table["first"] = table["next"] = bounds[:-1]
    table["end"] = bounds[1:]
    table["foreground"] = owners.role == SESSION
    table["sync_start_ns"] = NEVER
    # in place: memory that nobody has touched costs as much as what is computed in it
    ends = trace.latency_ns[order]
    gathered_ns = trace.intended_ns[order]
    np.maximum(ends, 1, out=ends)
    ends += gathered_ns
    np.subtract(time_ns, gathered_ns, out=gathered_ns)
    for first, end in pairwise(bounds.tolist()):
        own = ends[first:end]
        np.maximum(own, time_ns[first:end] + 1, out=own)
        own.sort()
    is_session = owners.role == SESSION
    foreground = trace.time_ns[is_session[owners.stream]]
    waits, think = np.zeros(count, np.uint8), np.zeros(count, np.int64)
    ended_before, pace = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
    find_causes(
        Times(bounds, owners.role, time_ns, ends, foreground), rules.window_ns, rules.keep_pace, rules.one_at_a_time,
        Causes(waits, think, ended_before, pace),
    )  # fmt: skip
    if rules.think_ns is not None:
        think[waits == OWN] = rules.think_ns
    if not rules.ordered:
        ended_before[:] = 0
    of_log = purpose == LOG_WRITE
    sync = mark_syncs(of_log & (op == WRITE) & is_session[owner], of_log & (op == FLUSH) & (waits == OWN), owner)
    streams = Streams(
        streams=table,
        followers=np.flatnonzero(owners.role != SESSION).astype(np.uint32),
        pace_state=np.array([0, NEVER], np.int64),
        foreground_ns=np.zeros(len(foreground), np.int64),
        waits_for=waits,
        recorded_ns=time_ns,
        think_ns=think,
        ended_before=ended_before,
        pace=pace,
        gathered_ns=gathered_ns,
        station=trace.file[order].view(np.uint32),
        op=op,
        offset_bytes=trace.offset_bytes[order],
        length_bytes=trace.length_bytes[order],
        category=categorise(op, purpose),
        sync=sync,
        ended_ns=np.zeros(count, np.int64),
        started_ns=np.full(count, NEVER, np.int64),
        done_ns=np.full(count, NEVER, np.int64),
    )
    return streams, order


def mark_syncs(
    log_write: NDArray[np.bool_], log_flush: NDArray[np.bool_], owner: NDArray[np.int32]
) -> NDArray[np.uint8]:
    """Which commands begin and end what the server sees as one flush of its log: log writes, and the flush right
    behind.
    """
    follows = np.zeros(len(owner), np.bool_)
    if not log_flush.any():
        return follows.view(np.uint8)
    follows[1:] = log_flush[1:] & log_write[:-1] & (owner[1:] == owner[:-1])
    sync = np.where(follows, SYNC_ENDS, 0).astype(np.uint8)
    begins_run = log_write.copy()
    begins_run[1:] &= ~(log_write[:-1] & (owner[1:] == owner[:-1]))
    run = np.cumsum(begins_run) - 1  # number of the run of log writes that each row is in, or comes after
    if follows.any():
        flushed = np.zeros(int(begins_run.sum()), np.bool_)
        flushed[run[np.flatnonzero(follows) - 1]] = True
        sync[log_write & flushed[np.maximum(run, 0)]] = SYNC_BEGINS
    return sync


@table_set
class Times(NamedTuple):
    """When the commands of streams were issued and had ended; those of a stream lie together."""

    bounds: NDArray[np.int64]  # (streams + 1,): which rows are a stream's
    role: NDArray[np.uint8]  # by stream
    time_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]  # sorted within each stream
    foreground_ns: NDArray[np.int64]  # of the foreground's commands


@table_set
class Causes(NamedTuple):
    """What each command waits for, see :mod:`tiersim.simulator.streams`."""

    waits_for: NDArray[np.uint8]
    think_ns: NDArray[np.int64]
    ended_before: NDArray[np.uint32]
    pace: NDArray[np.uint32]


@kernel
def find_causes(t: Times, window_ns: int, keep_pace: bool, one_at_a_time: bool, c: Causes) -> None:
    """Fill the causes."""
    for stream in range(t.role.size):
        first = t.bounds[stream]
        ended = 0
        most = 1
        started = 0
        for row in range(first, t.bounds[stream + 1]):
            now = t.time_ns[row]
            while first + ended < row and t.end_ns[first + ended] <= now:
                ended += 1
            most = max(most, row + 1 - first - ended)
            c.ended_before[row] = ended
            if t.role[stream] == SESSION:
                if one_at_a_time and row > first:
                    c.waits_for[row] = OWN
                    c.think_ns[row] = max(0, now - t.end_ns[first + ended - 1]) if ended > 0 else 0
                    c.ended_before[row] = row - first
                elif ended > 0 and now - t.end_ns[first + ended - 1] <= window_ns:
                    c.waits_for[row] = OWN
                    c.think_ns[row] = now - t.end_ns[first + ended - 1]
                continue
            while started < t.foreground_ns.size and t.foreground_ns[started] <= now:
                started += 1
            if keep_pace and started > 0:
                c.waits_for[row] = PACE
                c.pace[row] = started
                c.think_ns[row] = now - t.foreground_ns[started - 1]
        if t.role[stream] == WRITER or t.role[stream] == BURST:
            for row in range(first, t.bounds[stream + 1]):
                c.ended_before[row] = max(0, row + 1 - first - most)


def facts(owners: Owners, streams: Streams) -> dict[str, Any]:
    """What was inferred, for the result: streams by role, what commands wait for, think times."""
    own = streams.waits_for == OWN
    think = streams.think_ns[own]
    return {
        "sessions": int(np.count_nonzero(owners.role == SESSION)),
        "writers": int(np.count_nonzero(owners.role == WRITER)),
        "writer_names": sorted(set(owners.name[owners.role == WRITER].tolist()) - {""}),
        "journals": int(np.count_nonzero(owners.role == JOURNAL)),
        "journal_names": sorted(set(owners.name[owners.role == JOURNAL].tolist()) - {""}),
        "inferred_sessions": owners.inferred_sessions,
        "waits_for_issuer": int(np.count_nonzero(own)),
        "waits_for_clock": int(np.count_nonzero(streams.waits_for == CLOCK)),
        "waits_for_foreground": int(np.count_nonzero(streams.waits_for == PACE)),
        "think_mean_ns": float(think.mean()) if think.size else None,
        "think_p50_ns": float(np.median(think, overwrite_input=True)) if think.size else None,
    }
