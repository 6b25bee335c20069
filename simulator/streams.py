"""Streams: commands that were issued in order, each after what its issuer had waited for.

A command waits for one of three things (``docs/replay.md`` says how it is inferred which):

* CLOCK: its recorded time. It arrives then, or as soon as it may if its stream is late.
* OWN: its issuer. It starts ``think_ns`` after an earlier command of the stream has ended.
* PACE: the foreground. It starts ``think_ns`` after as many foreground commands have started as had when it was
  recorded.

In each case as many commands of the stream must have ended as ``ended_before`` says; so no more are ever outstanding
than were when it was recorded, and commands of a stream start in their recorded order.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.kernel import kernel, table_set

CLOCK, OWN, PACE = range(3)
#: Bits of ``sync``: the command begins, or ends, what the server sees as one flush of its log.
SYNC_BEGINS, SYNC_ENDS = 1, 2

#: One row per stream. ``first`` and ``end`` bound its commands; the rest changes while time moves.
STREAM: np.dtype[Any] = np.dtype(
    [
        ("first", np.uint32),
        ("end", np.uint32),
        ("next", np.uint32),
        ("ended", np.int64),  # commands that have ended
        ("foreground", np.int64),
        ("scheduled", np.int64),  # its next command has a time
        ("paced", np.int64),  # its next command waits for the foreground
        ("sync_start_ns", np.int64),  # when its log write began that waits for a flush, or NEVER
        ("sync_device_ns", np.int64),  # what of that time the device took
    ],
    align=True,
)

#: Places in ``pace_state``: foreground commands started, and how many of them the first waiting follower needs.
STARTED, LEAST_WANTED = range(2)


@table_set
class Streams(NamedTuple):
    """Every stream and its commands; commands of a stream lie together, in recorded order."""

    streams: NDArray[Any]  # STREAM[streams]
    followers: NDArray[np.uint32]  # streams that are not of the foreground, ascending
    pace_state: NDArray[np.int64]  # (2,)
    foreground_ns: NDArray[np.int64]  # (foreground commands,): when the n-th of them started; (0,) without followers
    # by command
    waits_for: NDArray[np.uint8]  # CLOCK, OWN or PACE
    recorded_ns: NDArray[np.int64]  # when it arrived, in the recording
    think_ns: NDArray[np.int64]
    ended_before: NDArray[np.uint32]
    pace: NDArray[np.uint32]
    gathered_ns: NDArray[np.int64]  # from the queuing of its first part to its arrival
    station: NDArray[np.uint32]
    op: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    category: NDArray[np.uint8]
    sync: NDArray[np.uint8]
    # written while time moves
    ended_ns: NDArray[np.int64]  # when the n-th command of the stream ended, counted from the stream's first place
    started_ns: NDArray[np.int64]
    done_ns: NDArray[np.int64]  # (0,) where nobody asks for it

    @property
    def commands(self) -> int:
        """How many commands there are (``len`` counts the columns of a NamedTuple)."""
        return len(self.recorded_ns)


_WIDE, _SMALL, _INDEX = np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint32)
#: What the engines work on when commands come by the clock alone: no row in any table.
NO_STREAMS = Streams(
    streams=np.zeros(0, STREAM),
    followers=_INDEX,
    pace_state=_WIDE,
    foreground_ns=_WIDE,
    waits_for=_SMALL,
    recorded_ns=_WIDE,
    think_ns=_WIDE,
    ended_before=_INDEX,
    pace=_INDEX,
    gathered_ns=_WIDE,
    station=_INDEX,
    op=_SMALL,
    offset_bytes=_WIDE,
    length_bytes=_WIDE,
    category=_SMALL,
    sync=_SMALL,
    ended_ns=_WIDE,
    started_ns=_WIDE,
    done_ns=_WIDE,
)


def to_run(s: Streams, *, keep_done: bool = True) -> Streams:
    """The same with tables of its own for what a run writes; when commands were done only if *keep_done*."""
    first, end, foreground = (s.streams[name].astype(np.int64) for name in ("first", "end", "foreground"))
    return s._replace(
        streams=s.streams.copy(),
        pace_state=s.pace_state.copy(),
        foreground_ns=np.zeros(int((foreground * (end - first)).sum()) if s.followers.size else 0, np.int64),
        ended_ns=np.zeros(s.commands, np.int64),
        started_ns=np.full(s.commands, NEVER, np.int64),
        done_ns=np.full(s.commands if keep_done else 0, NEVER, np.int64),
    )


@kernel
def next_start(s: Streams, stream: int, now: int) -> int:
    """When the next command of a stream starts, at *now* or later; NEVER when it waits for something without a time."""
    r = s.streams[stream]
    row = r["next"]
    if r["scheduled"] or row == r["end"] or r["ended"] < s.ended_before[row]:
        return NEVER
    start = s.recorded_ns[row]
    if s.waits_for[row] == OWN:
        start = s.ended_ns[r["first"] + s.ended_before[row] - 1] + s.think_ns[row]
    elif s.waits_for[row] == PACE:
        if s.pace_state[STARTED] < s.pace[row]:
            r["paced"] = 1
            s.pace_state[LEAST_WANTED] = min(s.pace_state[LEAST_WANTED], s.pace[row])
            return NEVER
        start = s.foreground_ns[s.pace[row] - 1] + s.think_ns[row]
    r["scheduled"] = 1
    return int(max(start, now))


@kernel
def note_started(s: Streams, stream: int, now: int) -> Any:
    """The next command of a stream starts; returns its row."""
    r = s.streams[stream]
    row = r["next"]
    r["next"] = row + 1
    r["scheduled"] = 0
    s.started_ns[row] = now
    if s.sync[row] & SYNC_BEGINS and r["sync_start_ns"] == NEVER:
        r["sync_start_ns"] = now - s.gathered_ns[row]
        r["sync_device_ns"] = 0
    if r["foreground"]:
        if s.followers.size > 0:
            s.foreground_ns[s.pace_state[STARTED]] = now
        s.pace_state[STARTED] += 1
    return row


@kernel
def lets_followers_go(s: Streams, stream: int) -> bool:
    """Whether the start of a stream's command brought the foreground as far as the first waiting follower needs; ask
    each then.
    """
    if not s.streams[stream]["foreground"] or s.pace_state[STARTED] < s.pace_state[LEAST_WANTED]:
        return False
    s.pace_state[LEAST_WANTED] = NEVER
    return True


@kernel
def wake_follower(s: Streams, stream: int) -> bool:
    """Whether a stream waits for the pace of the foreground and that has been reached; it no longer waits then."""
    r = s.streams[stream]
    if not r["paced"]:
        return False
    wanted = s.pace[r["next"]]
    if wanted > s.pace_state[STARTED]:
        s.pace_state[LEAST_WANTED] = min(s.pace_state[LEAST_WANTED], wanted)
        return False
    r["paced"] = 0
    return True


@kernel
def note_ended(s: Streams, stream: int, row: int, now: int) -> tuple[int, int]:
    """A command ended; returns what the server waited for its log if this ended that wait: (all of it, the device's
    part).

    After the flush the server goes on as late as it went from the write to the flush: both times somebody is woken.
    """
    r = s.streams[stream]
    s.ended_ns[r["first"] + r["ended"]] = now
    if s.done_ns.size > 0:
        s.done_ns[row] = now
    r["ended"] += 1
    if r["sync_start_ns"] == NEVER or s.sync[row] == 0:
        return 0, 0
    r["sync_device_ns"] += now - s.started_ns[row] + s.gathered_ns[row]
    if not s.sync[row] & SYNC_ENDS:
        return 0, 0
    whole = now - r["sync_start_ns"]
    if s.waits_for[row] == OWN:
        whole += s.think_ns[row]
    r["sync_start_ns"] = NEVER
    return whole, r["sync_device_ns"]
