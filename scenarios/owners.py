"""Who issued what: the streams of a trace, what each is, and sessions where the recording does not tell processes
apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.grouping import order_by_code
from tiersim.histogram import counts_of
from tiersim.kernel import kernel, table_set
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios.survey import CommandColumns, RecordedCommands
from tiersim.traces.schema import FLAG_SYNC

#: What a stream is. A session waits for what it asks; the others work for it and keep its pace. Writers (checkpointer,
#: background writer, kernel write-back) have many writes outstanding; a journal does one thing after another; a burst
#: is what inferred sessions were all busy for.
SESSION, WRITER, JOURNAL, BURST = range(4)

#: Names of kernel threads that write for others, and of those among them that write a journal.
_KERNEL_WRITERS = (
    "kworker",
    "flush-",
    "pdflush",
    "loop",
    "md",
    "dm-",
    "xfsaild",
    "xfs-",
    "kswapd",
    "ksoftirqd",
    "swapper",
)
_JOURNALS = ("jbd2", "kjournald", "xfs-cil", "xfs-log", "txg_sync")

#: A process whose requests are in this share writes that nobody waits for is a writer: the checkpointer and background
#: writer of the recordings in ``docs/replay.md`` have 93 to 100 %, backends at most 1 %.
_WRITER_SHARE = 0.5

#: Without processes, the number of sessions is what this share of arrivals finds outstanding, itself included, at most;
#: bursts beyond it (read-ahead, write-back) are no sessions.
_SESSION_QUANTILE = 0.95
#: A process of which so many scattered requests are outstanding then is not one session.
_MANY = 4
#: A scan skips pages that are cached; what Linux reads ahead by default (read_ahead_kb).
_READ_AHEAD_BYTES = 128 << 10
#: More would not be sessions but a measure of something else.
_MOST_SESSIONS = 1024
#: Where nobody recorded who writes, each file has a writer of its own; more files than this share them. A run looks at
#: all writers each time that the foreground has come to where one of them waits for it.
_MOST_WRITERS = 1024


@dataclass(frozen=True)
class Owners:
    """The stream of each command."""

    stream: NDArray[np.int32]  # by command
    role: NDArray[np.uint8]  # by stream: SESSION, WRITER, JOURNAL or BURST
    name: NDArray[np.str_]  # by stream: of the process; empty when it was not recorded
    inferred_sessions: int  # of them, made up because the recording does not tell threads apart


def find_owners(trace: RecordedCommands, names: Sequence[str], clients: int | None) -> Owners:
    """Give every command its stream; *names* are those of the recorded streams.

    *clients* is the number of sessions among commands whose process is unknown; inferred when None. A process that has
    many commands outstanding is many sessions, too: threads, or one thread that waits for none of them in particular.
    """
    seen = _seen(trace, len(names))
    roles = _roles(seen, names)
    crowded = np.flatnonzero(seen.crowded & (np.array(roles) == SESSION))
    unknown = np.flatnonzero(trace.stream < 0)
    stream = trace.stream.copy() if crowded.size or unknown.size else trace.stream
    labels = list(names)
    made = 0

    def deal_out(rows: NDArray[np.int64], sessions: int) -> None:
        """Give *rows* to new sessions, and what finds all of them busy to a follower."""
        nonlocal made
        session = assign_sessions(trace.take(rows), sessions)
        stream[rows] = np.where(session >= 0, len(roles) + session, len(roles) + sessions)
        roles.extend([SESSION] * sessions + [BURST])
        labels.extend([""] * (sessions + 1))
        made += sessions

    by_stream = order_by_code(trace.stream + np.int32(1)) if crowded.size else unknown  # first those of nobody
    bounds = unknown.size + np.append(0, np.cumsum(seen.requests))
    for code in crowded:
        rows = by_stream[bounds[code] : bounds[code + 1]]
        own = trace.take(rows)
        scattered = own.take(~_goes_on(own))
        sessions = session_count(scattered) if len(scattered) else 0
        if sessions >= _MANY:
            deal_out(rows, sessions)
    if unknown.size:
        waited = _is_waited_for(trace.take(unknown), trace)
        if not waited.any():
            waited[:] = True
        deal_out(unknown[waited], clients or session_count(trace.take(unknown[waited])))
        others = unknown[~waited]
        writers = min(int(trace.file.max()) + 1, _MOST_WRITERS)
        stream[others] = len(roles) + trace.file[others] % writers
        roles += [WRITER] * writers
        labels += [""] * writers
    used, stream = _renumbered(stream)
    role = np.array(roles, np.uint8)[used]
    if not (role == SESSION).any():
        role[:] = SESSION
    return Owners(stream, role, np.array(labels, np.str_)[used], made)


def deal_to_clients(trace: RecordedCommands, owners: Owners, clients: int) -> Owners:
    """The same with the commands of all sessions, and their bursts, dealt to *clients*, who do one thing at a time."""
    role = owners.role[owners.stream]
    of_sessions = np.flatnonzero((role == SESSION) | (role == BURST))
    session = assign_sessions(trace.take(of_sessions), clients)
    busy = session < 0
    session[busy] = np.arange(np.count_nonzero(busy)) % clients
    role = np.concatenate([np.full(clients, SESSION, np.uint8), owners.role])
    stream = owners.stream + np.int32(clients)
    stream[of_sessions] = session
    used, stream = _renumbered(stream)
    name = np.concatenate([np.full(clients, ""), owners.name])
    return Owners(stream, role[used], name[used], clients)


def _renumbered(stream: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the streams that occur, ascending, and of each command the place of its stream among them."""
    used = counts_of(stream, int(stream.max(initial=-1)) + 1) > 0
    return np.flatnonzero(used), stream if used.all() else (np.cumsum(used, dtype=np.int32) - 1)[stream]


@table_set
class Seen(NamedTuple):
    """What recorded streams do, by stream."""

    requests: NDArray[np.int64]
    unwaited_writes: NDArray[np.int64]
    crowded: NDArray[np.bool_]  # _MANY of its commands are outstanding at some time
    ends_ns: NDArray[np.int64]  # (streams, _MANY - 1): of those outstanding at the last of its commands
    has_flags: NDArray[np.bool_]  # (1,) whether any command, of a stream or of none, has FLAG_SYNC


def _seen(trace: RecordedCommands, streams: int) -> Seen:
    counts = np.zeros((2, streams), np.int64)
    crowded, has_flags = np.zeros(streams, np.bool_), np.zeros(1, np.bool_)
    seen = Seen(counts[0], counts[1], crowded, np.zeros((streams, _MANY - 1), np.int64), has_flags)
    see(trace.columns, seen)
    return seen


@kernel
def see(c: CommandColumns, seen: Seen) -> None:
    """Fill *seen*, which is zeros."""
    for row in range(c.time_ns.size):
        stream = c.stream[row]
        waited = c.flags[row] & FLAG_SYNC != 0
        if waited:
            seen.has_flags[0] = True
        if stream < 0:
            continue
        seen.requests[stream] += 1
        if c.op[row] == WRITE and not waited:
            seen.unwaited_writes[stream] += 1
        place = 0
        while place < _MANY - 1 and seen.ends_ns[stream, place] > c.time_ns[row]:
            place += 1
        if place == _MANY - 1:
            seen.crowded[stream] = True
        else:
            seen.ends_ns[stream, place] = end_ns(c, row)


@kernel
def end_ns(c: CommandColumns, row: int) -> int:
    """When a command ended: after it arrived; at once when its latency was not measured."""
    return int(max(c.intended_ns[row] + max(c.latency_ns[row], 1), c.time_ns[row] + 1))


def _roles(seen: Seen, names: Sequence[str]) -> list[int]:
    """What each recorded stream is."""
    mostly = seen.has_flags & (seen.unwaited_writes > _WRITER_SHARE * seen.requests)
    roles = np.where(mostly, WRITER, SESSION)
    for code, name in enumerate(names):
        if name.startswith(_JOURNALS):
            roles[code] = JOURNAL
        elif name.startswith(_KERNEL_WRITERS):
            roles[code] = WRITER
    return [int(role) for role in roles]


def _is_waited_for(part: RecordedCommands, trace: RecordedCommands) -> NDArray[np.bool_]:
    """Which commands of unknown processes somebody waits for: all but data writes that a later flush makes durable."""
    waited = np.ones(len(part), np.bool_)
    if (trace.flags & FLAG_SYNC).any():  # not every source says which writes somebody waits for
        waited = (part.op == READ) | (part.flags & FLAG_SYNC != 0)
    elif (trace.op == FLUSH).any():
        waited = (part.op != WRITE) | part.is_log_write
    return waited


def _goes_on(own: RecordedCommands) -> NDArray[np.bool_]:
    """Which commands of a process go on shortly behind the one before: many of those outstanding are one scan, read
    ahead.
    """
    found = np.zeros(len(own), np.bool_)
    gap = own.offset_bytes[1:] - own.offset_bytes[:-1] - own.length_bytes[:-1]
    found[1:] = (gap >= 0) & (gap <= _READ_AHEAD_BYTES) & (own.file[1:] == own.file[:-1])
    return found


def _ends(intended_ns: NDArray[np.int64], latency_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """When commands ended; what was not measured ends at once."""
    return intended_ns + np.maximum(latency_ns, 1)


def session_count(part: RecordedCommands) -> int:
    """How many sessions commands of unknown threads are taken for, from how many are outstanding at a time.

    A lower bound, if anything: a fast device hides how many wait for it at a time on a slow one.
    """
    ends = np.sort(_ends(part.intended_ns, part.latency_ns))
    found = np.arange(1, len(part) + 1) - np.searchsorted(ends, part.time_ns, "right")
    return int(np.clip(np.quantile(found, _SESSION_QUANTILE, method="lower"), 1, _MOST_SESSIONS))


def assign_sessions(part: RecordedCommands, sessions: int) -> NDArray[np.int32]:
    """Deal commands to *sessions*, int32 by command; -1 when all of them were busy.

    A log flush belongs to who wrote the log last; everything else to the session that has been idle for longest, which
    makes the think times of all sessions alike.
    """
    owner = np.full(len(part), -1, np.int32)
    ends = _ends(part.intended_ns, part.latency_ns)
    writers = np.full(int(part.file.max(initial=0)) + 1, -1, np.int64)
    idle_since = np.zeros(sessions, np.int64)
    deal(Dealt(part.time_ns, ends, part.file, part.is_log_write, part.is_log_flush), idle_since, writers, owner)
    return owner


@table_set
class Dealt(NamedTuple):
    """Commands that are dealt to sessions."""

    time_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    file: NDArray[np.int32]
    is_log_write: NDArray[np.bool_]
    is_log_flush: NDArray[np.bool_]


@kernel
def deal(commands: Dealt, idle_since: NDArray[np.int64], writers: NDArray[np.int64], owner: NDArray[np.int32]) -> None:
    """Fill *owner*; *idle_since* (sessions,) and *writers* (files,) are work space: when each session's last command
    ended, and who wrote each file's log last.
    """
    for row in range(commands.time_ns.size):
        chosen = -1
        if commands.is_log_flush[row]:
            writer = writers[commands.file[row]]
            if writer >= 0 and idle_since[writer] <= commands.time_ns[row]:
                chosen = writer
        if chosen < 0:
            longest = 0
            for session in range(1, idle_since.size):
                if idle_since[session] < idle_since[longest]:
                    longest = session
            if idle_since[longest] <= commands.time_ns[row]:
                chosen = longest
        if chosen < 0:
            continue
        owner[row] = chosen
        idle_since[chosen] = commands.end_ns[row]
        if commands.is_log_write[row]:
            writers[commands.file[row]] = chosen
