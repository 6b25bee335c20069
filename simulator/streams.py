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

from collections.abc import Iterable, Sequence
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
        ("ended", np.uint32),  # commands that have ended
        ("group", np.uint32),
        ("foreground", np.uint8),
        ("scheduled", np.uint8),  # its next command has a time
        ("paced", np.uint8),  # its next command waits for the foreground
        ("unflushed", np.uint8),  # its next command waits for the log
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
        ("flushed", np.int64),  # of several recordings: commands of this one that wait for a flush
    ],
    align=True,
)


#: What a run reads of a command. It lies in one piece: with many streams each command then takes a line or two of a
#: processor's cache, where twelve columns took as many.
COMMAND: np.dtype[Any] = np.dtype(
    [
        ("recorded_ns", np.int64),
        ("think_ns", np.int64),
        ("offset_bytes", np.int64),
        ("length_bytes", np.int64),
        ("ended_before", np.uint32),
        ("pace", np.uint32),
        ("station", np.uint32),
        ("waits_for", np.uint8),
        ("op", np.uint8),
        ("category", np.uint8),
        ("sync", np.uint8),
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
    rows: NDArray[Any]  # COMMAND[commands] with stations and addresses, once these are known; (0,): columns have them

    @property
    def commands(self) -> int:
        """How many commands there are (``len`` counts the columns of a NamedTuple)."""
        return len(self.recorded_ns)


@table_set
class Running(NamedTuple):
    """Streams as a run has them: the tables of :class:`Streams`, and in place of its columns a row for each command."""

    streams: NDArray[Any]  # STREAM[streams]
    groups: NDArray[Any]  # GROUP[recordings]
    followers: NDArray[np.uint32]
    foreground_ns: NDArray[np.int64]
    flushes_ns: NDArray[np.int64]
    commands: NDArray[Any]  # COMMAND[commands]
    gathered_ns: NDArray[np.int64]
    ended_ns: NDArray[np.int64]
    started_ns: NDArray[np.int64]
    done_ns: NDArray[np.int64]


_WIDE, _SMALL, _INDEX = np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint32)
_NO_ROWS = np.zeros(0, COMMAND)
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
    rows=_NO_ROWS,
)


@table_set
class Places(NamedTuple):
    """Where commands go that are at places of files."""

    file: NDArray[np.unsignedinteger[Any]]  # by command; (0,) where the columns say stations and addresses
    station: NDArray[np.uint32]  # by file
    base_bytes: NDArray[np.int64]  # by file: added to the offset of what has a length


_AS_THEY_SAY = Places(_SMALL, _INDEX, _WIDE)


class PlacedStreams(NamedTuple):
    """Streams, and where their commands go."""

    streams: Streams
    places: Places = _AS_THEY_SAY


@kernel
def pack(s: Streams, p: Places, rows: NDArray[Any], first: int, shift_ns: int, first_category: int) -> None:
    """Fill *rows*, from the *first* one on, with commands that come *shift_ns* later; their categories are counted from
    *first_category* on.
    """
    for row in range(s.recorded_ns.size):
        c = rows[first + row]
        c["recorded_ns"] = s.recorded_ns[row] + shift_ns
        c["think_ns"] = s.think_ns[row]
        c["offset_bytes"] = s.offset_bytes[row]
        if p.file.size == 0:
            c["station"] = s.station[row]
        else:
            c["station"] = p.station[p.file[row]]
            if s.length_bytes[row] > 0:
                c["offset_bytes"] += p.base_bytes[p.file[row]]
        c["length_bytes"] = s.length_bytes[row]
        c["ended_before"] = s.ended_before[row]
        c["pace"] = s.pace[row]
        c["waits_for"] = s.waits_for[row]
        c["op"] = s.op[row]
        c["category"] = s.category[row] + first_category
        c["sync"] = s.sync[row]


def _packed(part: PlacedStreams) -> NDArray[Any]:
    rows = np.empty(part.streams.commands, COMMAND)
    pack(*part, rows, 0, 0, 0)
    return rows


def running(s: Streams) -> Running:
    """Return *s* for a run, which writes what it finds into the tables of *s*."""
    rows = s.rows if s.rows.size else _packed(PlacedStreams(s))
    return Running(
        s.streams, s.groups, s.followers, s.foreground_ns, s.flushes_ns, rows, s.gathered_ns, s.ended_ns,
        s.started_ns, s.done_ns,
    )  # fmt: skip


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
    if groups["flushed"].any() if len(groups) > 1 else (s.waits_for == FLUSHED).any():
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


def side_by_side(parts: Iterable[PlacedStreams], shifts_ns: Sequence[int], commands: int) -> Streams:
    """Return the streams of several recordings, which have so many *commands*, as one set, each a group that begins
    *shifts_ns* later, its commands behind those of the one before; before :func:`to_run`.

    Categories are counted on: those of the n-th recording begin at n times COUNT. A part is not needed any more when
    the next one is asked for. The columns of several are views of their rows.
    """
    if len(shifts_ns) == 1 and not shifts_ns[0]:
        alone = next(iter(parts))
        return alone.streams._replace(rows=_packed(alone))
    rows = np.empty(commands, COMMAND)
    tables, groups = [], []
    followers: list[NDArray[np.uint32]] = []
    gathered_ns: list[NDArray[np.int64]] = []
    before = streams = 0
    for number, ((part, places), shift_ns) in enumerate(zip(parts, shifts_ns, strict=True)):
        pack(part, places, rows, before, shift_ns, number * COUNT)
        table, group = part.streams.copy(), part.groups.copy()
        for name in ("first", "end", "next"):
            table[name] += np.uint32(before)
        table["group"] = number
        for name in ("first_follower", "end_follower"):
            group[name] += sum(len(one) for one in followers)
        group["flushed"] = np.count_nonzero(part.waits_for == FLUSHED)
        tables.append(table)
        groups.append(group)
        followers.append(part.followers + np.uint32(streams))
        gathered_ns.append(part.gathered_ns if part.gathered_ns.size else np.broadcast_to(np.int64(0), part.commands))
        before += part.commands
        streams += len(table)
    return NO_STREAMS._replace(
        streams=np.concatenate(tables),
        groups=np.concatenate(groups),
        followers=np.concatenate(followers),
        gathered_ns=np.concatenate(gathered_ns) if any(one.strides[0] for one in gathered_ns) else _WIDE,
        rows=rows,
        **{name: rows[name] for name in _columns(rows)},
    )


def _columns(rows: NDArray[Any]) -> tuple[str, ...]:
    return rows.dtype.names or ()


def part_of(s: Streams, group: int, shift_ns: int) -> Streams:
    """Return the streams of one recording after a run, as if it had run alone from time 0."""
    if len(s.groups) == 1 and not shift_ns:
        return s
    own = s.streams[s.streams["group"] == group].copy()
    rows = slice(int(own["first"][0]), int(own["end"][-1]))
    for name in ("first", "end", "next"):
        own[name] -= np.uint32(rows.start)
    columns = {name: getattr(s, name)[rows] for name in (*_columns(s.rows), "ended_ns", "started_ns")}
    for name in ("gathered_ns", "done_ns"):
        columns[name] = getattr(s, name)[rows] if getattr(s, name).size else getattr(s, name)
    for name in ("recorded_ns", "started_ns", "ended_ns", "done_ns"):
        columns[name] = columns[name] - shift_ns
    columns["category"] = columns["category"] - np.uint8(group * COUNT)
    return s._replace(streams=own, groups=s.groups[group : group + 1], rows=_NO_ROWS, **columns)


@kernel
def gathered_before_ns(s: Streams | Running, row: int) -> int:
    """How long the parts of a command had been gathered when it arrived."""
    return int(s.gathered_ns[row]) if s.gathered_ns.size > 0 else 0


@kernel
def next_start(s: Running, stream: int, now: int) -> int:
    """When the next command of a stream starts, at *now* or later; NEVER when it waits for something without a time."""
    r = s.streams[stream]
    row = r["next"]
    if r["scheduled"] or row == r["end"]:
        return NEVER
    c = s.commands[row]
    if r["ended"] < c["ended_before"]:
        return NEVER
    start = c["recorded_ns"]
    if c["waits_for"] == OWN:
        start = s.ended_ns[r["first"] + c["ended_before"] - 1] + c["think_ns"]
    elif c["waits_for"] == PACE:
        g = s.groups[r["group"]]
        if g["started"] < c["pace"]:
            r["paced"] = 1
            g["least_wanted"] = min(g["least_wanted"], c["pace"])
            return NEVER
        start = s.foreground_ns[g["first_foreground"] + c["pace"] - 1] + c["think_ns"]
    elif c["waits_for"] == FLUSHED:
        g = s.groups[r["group"]]
        if g["flushes"] < c["pace"]:
            r["unflushed"] = 1
            g["least_flushes"] = min(g["least_flushes"], c["pace"])
            return NEVER
        start = s.flushes_ns[g["first_flush"] + c["pace"] - 1] + c["think_ns"]
    r["scheduled"] = 1
    return int(max(start, now))


@kernel
def fetch_next(s: Running, stream: int) -> None:
    """Let the processor load what a run reads and writes of the next command of a stream, and reads of the one behind
    it; of few streams it sees by itself that each reads its rows in order.
    """
    if s.streams.size > _FEW_STREAMS:
        row = s.streams[stream]["next"]
        fetch(s.commands, row)
        fetch(s.commands, row + 1)
        fetch(s.ended_ns, row)
        fetch(s.started_ns, row)
        fetch(s.done_ns, row)


@kernel
def note_started(s: Running, stream: int, now: int) -> Any:
    """The next command of a stream starts; returns its row."""
    r = s.streams[stream]
    row = r["next"]
    r["next"] = row + 1
    r["scheduled"] = 0
    s.started_ns[row] = now
    if s.commands[row]["sync"] & SYNC_BEGINS and r["sync_start_ns"] == NEVER:
        r["sync_start_ns"] = now - gathered_before_ns(s, row)
        r["sync_device_ns"] = 0
    if r["foreground"]:
        g = s.groups[r["group"]]
        if g["first_follower"] < g["end_follower"]:
            s.foreground_ns[g["first_foreground"] + g["started"]] = now
        g["started"] += 1
    return row


@kernel
def lets_followers_go(s: Running, stream: int) -> bool:
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
def wake_follower(s: Running, stream: int) -> bool:
    """Whether a stream waits for the pace of the foreground and that has been reached; it no longer waits then."""
    r = s.streams[stream]
    if not r["paced"]:
        return False
    g = s.groups[r["group"]]
    wanted = s.commands[r["next"]]["pace"]
    if wanted > g["started"]:
        g["least_wanted"] = min(g["least_wanted"], wanted)
        return False
    r["paced"] = 0
    return True


@kernel
def lets_committers_go(s: Running, stream: int, row: int, now: int) -> bool:
    """Whether the end of a stream's command is that of a flush which a stream of the recording waits for; ask each
    then.
    """
    if s.flushes_ns.size == 0 or s.commands[row]["category"] % COUNT != LOG_FLUSH:
        return False
    g = s.groups[s.streams[stream]["group"]]
    s.flushes_ns[g["first_flush"] + g["flushes"]] = now
    g["flushes"] += 1
    if g["flushes"] < g["least_flushes"]:
        return False
    g["least_flushes"] = NEVER
    return True


@kernel
def wake_committer(s: Running, stream: int) -> bool:
    """Whether a stream waits for a flush of the log, and asks anew whether it has ended."""
    r = s.streams[stream]
    waited = bool(r["unflushed"])
    r["unflushed"] = 0
    return waited


@kernel
def note_ended(s: Running, stream: int, row: int, now: int) -> tuple[int, int]:
    """A command ended; returns what the server waited for its log if this ended that wait: (all of it, the device's
    part).

    After the flush the server goes on as late as it went from the write to the flush: both times somebody is woken.
    """
    r = s.streams[stream]
    s.ended_ns[r["first"] + r["ended"]] = now
    if s.done_ns.size > 0:
        s.done_ns[row] = now
    r["ended"] += 1
    if r["sync_start_ns"] == NEVER or s.commands[row]["sync"] == 0:
        return 0, 0
    r["sync_device_ns"] += now - s.started_ns[row] + gathered_before_ns(s, row)
    if not s.commands[row]["sync"] & SYNC_ENDS:
        return 0, 0
    whole = now - r["sync_start_ns"]
    if s.commands[row]["waits_for"] == OWN:
        whole += s.commands[row]["think_ns"]
    r["sync_start_ns"] = NEVER
    return whole, r["sync_device_ns"]
