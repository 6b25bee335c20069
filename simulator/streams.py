"""Streams: commands that were issued in order, each after what its issuer had waited for.

A command waits for one of four things (``docs/replay.md`` says how it is inferred which):

* CLOCK: its recorded time. It arrives then, or as soon as it may if its stream is late.
* OWN: its issuer. It starts ``think_ns`` after an earlier command of the stream has ended.
* PACE: the foreground. It starts ``think_ns`` after as many foreground commands have started as had when it was
  recorded.
* FLUSHED: the log. It starts ``think_ns`` after as many flushes of the recording's log have ended as had when it was
  recorded: a session whose commit another one flushed.

In each case as many commands of the stream must have ended as ``ended_before`` says; so no more are ever outstanding
than were when it was recorded, and commands of a stream start in their recorded order.

Streams of several recordings run side by side in groups: followers keep the pace of the foreground of their own.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.kernel import fetch, kernel, table_set
from tiersim.simulator.categories import COUNT, LOG_FLUSH

CLOCK, OWN, PACE, FLUSHED = range(4)
#: Of so many streams a processor sees by itself that each reads its columns in order. 64 streams of 16 recordings take
#: 10 % less time if their rows are fetched.
_FEW_STREAMS = 16
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
        ("group", np.uint32),
        ("scheduled", np.int64),  # its next command has a time
        ("paced", np.int64),  # its next command waits for the foreground
        ("unflushed", np.int64),  # its next command waits for the log
        ("sync_start_ns", np.int64),  # when its log write began that waits for a flush, or NEVER
        ("sync_device_ns", np.int64),  # what of that time the device took
    ],
    align=True,
)

#: One row per recording: which of ``followers`` keep the pace of its foreground.
GROUP: np.dtype[Any] = np.dtype(
    [
        ("first_follower", np.int64),
        ("end_follower", np.int64),
        ("first_foreground", np.int64),  # index into ``foreground_ns``
        ("started", np.int64),  # commands of the foreground
        ("least_wanted", np.int64),  # how many of them the first waiting follower needs
        ("first_stream", np.int64),
        ("end_stream", np.int64),
        ("first_flush", np.int64),  # index into ``flushes_ns``
        ("flushes", np.int64),  # of the log, that have ended
        ("least_flushes", np.int64),  # how many of them the first waiting stream needs
    ],
    align=True,
)


@table_set
class Streams(NamedTuple):
    """Every stream and its commands; commands of a stream lie together, in recorded order."""

    streams: NDArray[Any]  # STREAM[streams]
    groups: NDArray[Any]  # GROUP[recordings]
    followers: NDArray[np.uint32]  # streams that are not of the foreground, ascending
    foreground_ns: NDArray[np.int64]  # by foreground command of a group: when the n-th started; of those with followers
    flushes_ns: NDArray[np.int64]  # by flush of a group's log: when the n-th ended; (0,) where nobody waits for one
    # by command
    waits_for: NDArray[np.uint8]  # CLOCK, OWN, PACE or FLUSHED
    recorded_ns: NDArray[np.int64]  # when it arrived, in the recording
    think_ns: NDArray[np.int64]
    ended_before: NDArray[np.uint32]
    pace: NDArray[np.uint32]  # how many commands of the foreground, or flushes
    gathered_ns: NDArray[np.int64]  # from the queuing of its first part to its arrival; (0,) where there is one part
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
#: Columns by command that a run only reads.
_BY_COMMAND = (
    "waits_for", "recorded_ns", "think_ns", "ended_before", "pace", "gathered_ns", "station", "op", "offset_bytes",
    "length_bytes", "category", "sync",
)  # fmt: skip
#: What the engines work on when commands come by the clock alone: no row in any table.
NO_STREAMS = Streams(
    streams=np.zeros(0, STREAM),
    groups=np.zeros(0, GROUP),
    followers=_INDEX,
    foreground_ns=_WIDE,
    flushes_ns=_WIDE,
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
    started = np.zeros(len(s.groups), np.int64)  # commands of the foreground that followers ask for
    np.add.at(started, s.streams["group"], foreground * (end - first))
    started[s.groups["first_follower"] == s.groups["end_follower"]] = 0
    groups = s.groups.copy()
    groups["first_foreground"] = np.cumsum(started) - started
    groups["end_stream"] = np.cumsum(np.bincount(s.streams["group"], minlength=len(groups)))
    groups["first_stream"][1:] = groups["end_stream"][:-1]
    flushes = np.zeros(len(groups), np.int64)
    if (s.waits_for == FLUSHED).any():
        flushes[:] = np.bincount(s.category[s.category % COUNT == LOG_FLUSH] // COUNT, minlength=len(groups))
    groups["first_flush"] = np.cumsum(flushes) - flushes
    groups["least_flushes"] = NEVER
    return s._replace(
        streams=s.streams.copy(),
        groups=groups,
        foreground_ns=np.zeros(int(started.sum()), np.int64),
        flushes_ns=np.zeros(int(flushes.sum()), np.int64),
        ended_ns=np.zeros(s.commands, np.int64),
        started_ns=np.full(s.commands, NEVER, np.int64),
        done_ns=np.full(s.commands if keep_done else 0, NEVER, np.int64),
    )


def one_group(followers: NDArray[np.uint32]) -> NDArray[Any]:
    """Return the table of groups of a single recording with these *followers*."""
    groups = np.zeros(1, GROUP)
    groups["end_follower"] = len(followers)
    groups["least_wanted"] = NEVER
    return groups


def side_by_side(parts: Sequence[Streams], shifts_ns: Sequence[int]) -> Streams:
    """Return the streams of several recordings as one set, each a group that begins *shifts_ns* later, its commands
    behind those of the one before; before :func:`to_run`.

    Categories are counted on: those of the n-th recording begin at n times COUNT.
    """
    if len(parts) == 1 and not shifts_ns[0]:
        return parts[0]
    tables, groups = [], []
    followers: list[NDArray[np.uint32]] = []
    commands = streams = 0
    for number, part in enumerate(parts):
        table, group = part.streams.copy(), part.groups.copy()
        for name in ("first", "end", "next"):
            table[name] += np.uint32(commands)
        table["group"] = number
        for name in ("first_follower", "end_follower"):
            group[name] += sum(len(one) for one in followers)
        tables.append(table)
        groups.append(group)
        followers.append(part.followers + np.uint32(streams))
        commands += part.commands
        streams += len(table)
    if any(part.gathered_ns.size for part in parts):
        parts = [
            part if part.gathered_ns.size else part._replace(gathered_ns=np.zeros(part.commands, np.int64))
            for part in parts
        ]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _BY_COMMAND}
    ends = np.cumsum([part.commands for part in parts]).tolist()
    for number, (part, end, shift_ns) in enumerate(zip(parts, ends, shifts_ns, strict=True)):
        own = slice(end - part.commands, end)
        columns["category"][own] += np.uint8(number * COUNT)  # in place: new memory costs more than the sum
        columns["recorded_ns"][own] += shift_ns
    return parts[0]._replace(
        streams=np.concatenate(tables), groups=np.concatenate(groups), followers=np.concatenate(followers), **columns
    )


def part_of(s: Streams, group: int, shift_ns: int) -> Streams:
    """Return the streams of one recording after a run, as if it had run alone from time 0."""
    if len(s.groups) == 1 and not shift_ns:
        return s
    own = s.streams[s.streams["group"] == group].copy()
    rows = slice(int(own["first"][0]), int(own["end"][-1]))
    for name in ("first", "end", "next"):
        own[name] -= np.uint32(rows.start)
    columns = {name: getattr(s, name)[rows] for name in (*_BY_COMMAND, "ended_ns", "started_ns")}
    columns["done_ns"] = s.done_ns[rows] if s.done_ns.size else s.done_ns
    for name in ("recorded_ns", "started_ns", "ended_ns", "done_ns"):
        columns[name] = columns[name] - shift_ns
    columns["category"] = columns["category"] - np.uint8(group * COUNT)
    return s._replace(streams=own, groups=s.groups[group : group + 1], **columns)


@kernel
def gathered_before_ns(s: Streams, row: int) -> int:
    """How long the parts of a command had been gathered when it arrived."""
    return int(s.gathered_ns[row]) if s.gathered_ns.size > 0 else 0


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
        g = s.groups[r["group"]]
        if g["started"] < s.pace[row]:
            r["paced"] = 1
            g["least_wanted"] = min(g["least_wanted"], s.pace[row])
            return NEVER
        start = s.foreground_ns[g["first_foreground"] + s.pace[row] - 1] + s.think_ns[row]
    elif s.waits_for[row] == FLUSHED:
        g = s.groups[r["group"]]
        if g["flushes"] < s.pace[row]:
            r["unflushed"] = 1
            g["least_flushes"] = min(g["least_flushes"], s.pace[row])
            return NEVER
        start = s.flushes_ns[g["first_flush"] + s.pace[row] - 1] + s.think_ns[row]
    r["scheduled"] = 1
    return int(max(start, now))


@kernel
def fetch_row(s: Streams, row: int) -> None:
    """Let the processor load what a run reads and writes of a command."""
    fetch(s.waits_for, row)
    fetch(s.recorded_ns, row)
    fetch(s.think_ns, row)
    fetch(s.ended_before, row)
    fetch(s.pace, row)
    fetch(s.station, row)
    fetch(s.op, row)
    fetch(s.offset_bytes, row)
    fetch(s.length_bytes, row)
    fetch(s.category, row)
    fetch(s.sync, row)
    fetch(s.ended_ns, row)
    fetch(s.started_ns, row)
    fetch(s.done_ns, row)


@kernel
def note_started(s: Streams, stream: int, now: int) -> Any:
    """The next command of a stream starts; returns its row."""
    r = s.streams[stream]
    row = r["next"]
    r["next"] = row + 1
    r["scheduled"] = 0
    s.started_ns[row] = now
    if s.streams.size > _FEW_STREAMS:
        fetch_row(s, row + 2)
    if s.sync[row] & SYNC_BEGINS and r["sync_start_ns"] == NEVER:
        r["sync_start_ns"] = now - gathered_before_ns(s, row)
        r["sync_device_ns"] = 0
    if r["foreground"]:
        g = s.groups[r["group"]]
        if g["first_follower"] < g["end_follower"]:
            s.foreground_ns[g["first_foreground"] + g["started"]] = now
        g["started"] += 1
    return row


@kernel
def lets_followers_go(s: Streams, stream: int) -> bool:
    """Whether the start of a stream's command brought the foreground as far as the first waiting follower needs; ask
    each then.
    """
    r = s.streams[stream]
    g = s.groups[r["group"]]
    if not r["foreground"] or g["started"] < g["least_wanted"]:
        return False
    g["least_wanted"] = NEVER
    return True


@kernel
def wake_follower(s: Streams, stream: int) -> bool:
    """Whether a stream waits for the pace of the foreground and that has been reached; it no longer waits then."""
    r = s.streams[stream]
    if not r["paced"]:
        return False
    g = s.groups[r["group"]]
    wanted = s.pace[r["next"]]
    if wanted > g["started"]:
        g["least_wanted"] = min(g["least_wanted"], wanted)
        return False
    r["paced"] = 0
    return True


@kernel
def lets_committers_go(s: Streams, stream: int, row: int, now: int) -> bool:
    """Whether the end of a stream's command is that of a flush which a stream of the recording waits for; ask each
    then.
    """
    if s.flushes_ns.size == 0 or s.category[row] % COUNT != LOG_FLUSH:
        return False
    g = s.groups[s.streams[stream]["group"]]
    s.flushes_ns[g["first_flush"] + g["flushes"]] = now
    g["flushes"] += 1
    if g["flushes"] < g["least_flushes"]:
        return False
    g["least_flushes"] = NEVER
    return True


@kernel
def wake_committer(s: Streams, stream: int) -> bool:
    """Whether a stream waits for a flush of the log, and asks anew whether it has ended."""
    r = s.streams[stream]
    waited = bool(r["unflushed"])
    r["unflushed"] = 0
    return waited


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
    r["sync_device_ns"] += now - s.started_ns[row] + gathered_before_ns(s, row)
    if not s.sync[row] & SYNC_ENDS:
        return 0, 0
    whole = now - r["sync_start_ns"]
    if s.waits_for[row] == OWN:
        whole += s.think_ns[row]
    r["sync_start_ns"] = NEVER
    return whole, r["sync_device_ns"]
