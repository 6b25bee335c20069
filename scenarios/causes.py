"""What each command waited for when it was recorded, as the streams of a simulation (``docs/replay.md`` has the
reasons): the clock in an open loop, an answer and the think time after it in a closed loop.

More or less load than was recorded: sessions are cloned or left out; time is never compressed.

A clone does what its original did, begins at another point of the recording and wraps around at its end, and asks for
other addresses among those that its file was touched at. Its log goes where the log went.

Which commands wait for others in a replay, and what that says of the recording itself.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER
from tiersim.errors import ScenarioError
from tiersim.grouping import order_by_code
from tiersim.histogram import FINE_BITS, bins, count_codes, count_durations, counts_of
from tiersim.kernel import kernel, table_set
from tiersim.operating_system import processors
from tiersim.operations import FLUSH, WRITE
from tiersim.parallel import Note, side_by_side
from tiersim.random_numbers import CHOSEN_SESSIONS, CLONES, random_below, random_bits
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.load_steps import LoadSteps, counted, taken
from tiersim.scenarios.owners import BURST, JOURNAL, SESSION, WRITER, Owners, deal_to_clients, find_owners
from tiersim.scenarios.survey import EXTENT_BYTES, Checkpoint, CommandColumns, FileUse, RecordedCommands, TraceSurvey
from tiersim.simulator.categories import CATEGORIES, LOG_FLUSH, LOG_SYNC, LOG_SYNC_DEVICE, categorise
from tiersim.simulator.result import measured_latencies
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
    gathered_before_ns,
    one_group,
)
from tiersim.simulator.verdict import Sessions
from tiersim.traces.schema import CHECKPOINT_WRITE, LOG_WRITE

#: What the process is called that writes checkpoints, where the recording tells processes apart.
CHECKPOINTER = "checkpointer"


@dataclass(frozen=True)
class Copy:
    """Commands of a recording that are issued once more, or some of them; of the first copy nothing is moved."""

    number: int
    kept: NDArray[np.bool_] | None  # by command; None: all
    streams: NDArray[np.int32]  # by stream of the recording: its number in the crowd
    requests: NDArray[np.int64]  # by stream of the recording


@dataclass(frozen=True)
class Crowd:
    """Who issues what under a load: copies of the commands of a trace, each with streams of its own. No column is as
    long as all copies are: they are made as they are asked for.
    """

    trace: RecordedCommands
    owners: Owners  # of the trace
    copies: tuple[Copy, ...]
    role: NDArray[np.uint8]  # by stream of the crowd
    name: NDArray[np.str_]
    span_ns: int
    files: Sequence[FileUse]
    seed: int

    @property
    def is_recorded(self) -> bool:
        """Whether it is the trace as it was recorded."""
        return len(self.copies) == 1 and self.copies[0].kept is None

    @property
    def requests(self) -> NDArray[np.int64]:
        """Count the commands of each stream."""
        counts = np.zeros(len(self.role), np.int64)
        for copy in self.copies:
            there = copy.requests > 0
            counts[copy.streams[there]] = copy.requests[there]
        return counts

    def blocks(self, pieces: Sequence["CopiedRows"]) -> Iterator[tuple[RecordedCommands, NDArray[np.int32]]]:
        """Yield the commands of *pieces* and their streams; those of a stream come in order of time."""
        for piece in pieces:
            rows = piece.rows
            part = self.trace.take(rows)
            if piece.copy.number:
                part = _elsewhere(part, piece.shift_ns, self.span_ns, piece.extents)
            yield part, self.streams(piece, rows)

    def pieces(self) -> list["CopiedRows"]:
        """Return what the commands are made of, in the order of :meth:`blocks`."""
        found = []
        for copy in self.copies:
            shift_ns = random_below(self.span_ns, self.seed, CLONES, copy.number, 0) if copy.number else 0
            extents = _turned(self.files, self.seed, copy.number)
            wraps = int(np.searchsorted(self.trace.time_ns, self.span_ns - shift_ns)) if shift_ns else 0
            for first, end in ((wraps, len(self.trace)), (0, wraps)):
                for start in range(first, end, _BLOCK):
                    found.append(CopiedRows(copy, shift_ns, extents, start, min(start + _BLOCK, end)))
        return found

    def streams(self, piece: "CopiedRows", rows: Any) -> NDArray[np.int32]:
        """Return the streams of the commands of *piece*, which are at *rows* of the trace."""
        own: NDArray[np.int32] = self.owners.stream[rows]
        return own if self.is_recorded else piece.copy.streams[own]

    def before(self, pieces: Sequence["CopiedRows"]) -> NDArray[np.int64]:
        """Count the commands of each stream in *pieces*."""
        counts = np.zeros(len(self.role), np.int64)
        for piece in pieces:
            count_codes(self.streams(piece, piece.rows), counts)
        return counts

    def joined(self) -> tuple[RecordedCommands, Owners]:
        """Return all commands in order of time."""
        if self.is_recorded:
            return self.trace, self.owners
        parts, streams = zip(*self.blocks(self.pieces()), strict=True)
        whole = RecordedCommands(
            **{
                name: np.concatenate([getattr(part, name) for part in parts])
                for name in RecordedCommands.__dataclass_fields__
            }
        )
        order = np.argsort(whole.time_ns, kind="stable")
        made = self.owners.inferred_sessions
        return whole.take(order), Owners(np.concatenate(streams)[order], self.role, self.name, made)


@dataclass(frozen=True)
class CopiedRows:
    """Commands of a copy that follow each other, from row *first* of the trace to before *end*."""

    copy: Copy
    shift_ns: int
    extents: "Extents"
    first: int
    end: int

    @property
    def rows(self) -> Any:
        """The rows of the trace, those that are left out apart."""
        rows = slice(self.first, self.end)
        return rows if self.copy.kept is None else self.first + np.flatnonzero(self.copy.kept[rows])


#: Commands that are looked at, or of a copy made, at a time: columns of them fit into a processor's cache, and are not
#: given back to the system in between.
_BLOCK = 1 << 16


def scale_load(
    trace: RecordedCommands, owners: Owners, load: float, span_ns: int, files: Sequence[FileUse], seed: int
) -> Crowd:
    """Clone sessions until there are *load* times as many; of a fraction, a seeded choice of the sessions takes part.

    Writers have no sessions to choose from: of a fraction, every so many of their commands stay.
    """
    copies: list[Copy] = []
    used: list[NDArray[np.int64]] = []
    streams = 0
    for number in range(math.ceil(load)):
        kept = _kept(trace, owners, min(1.0, load - number), seed, number)
        requests = counts_of(owners.stream if kept is None else owners.stream[kept], len(owners.role))
        there = requests > 0
        copies.append(Copy(number, kept, np.cumsum(there, dtype=np.int32) - 1 + np.int32(streams), requests))
        used.append(np.flatnonzero(there))
        streams += len(used[-1])
    all_used = np.concatenate(used)
    return Crowd(trace, owners, tuple(copies), owners.role[all_used], owners.name[all_used], span_ns, files, seed)


def _kept(trace: RecordedCommands, owners: Owners, share: float, seed: int, copy: int) -> NDArray[np.bool_] | None:
    """Which commands a share of the sessions issues; None: all of them."""
    if share >= 1.0:
        return None
    takes_part = _takes_part(owners, share, seed, copy)
    is_writer = owners.role != SESSION
    kept = np.empty(len(trace), np.bool_)
    for first in range(0, len(trace), _BLOCK):
        stream = owners.stream[first : first + _BLOCK]
        number = np.arange(first, first + len(stream))
        kept[first : first + len(stream)] = np.where(is_writer[stream], _evenly(number, share), takes_part[stream])
    return kept


def _takes_part(owners: Owners, share: float, seed: int, copy: int) -> NDArray[np.bool_]:
    """Tell, by stream, which sessions a share of them is."""
    sessions = np.flatnonzero(owners.role == SESSION)
    drawn = [random_bits(seed, CHOSEN_SESSIONS, copy, int(session)) for session in sessions]
    found = np.zeros(len(owners.role), np.bool_)
    found[sessions[np.argsort(drawn)[: taken(share, len(sessions))]]] = True
    return found


def _evenly(number: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Tell which commands of writers, by their *number* in the trace, a share of them is."""
    found: NDArray[np.bool_] = np.floor((number + 1) * share) > np.floor(number * share)
    return found


def steps_of_requests(owners: Owners, seed: int) -> LoadSteps:
    """Return in which steps the load of requests can be run, by what :func:`scale_load` keeps of them."""
    requests = counts_of(owners.stream, len(owners.role))
    written = np.flatnonzero((owners.role != SESSION)[owners.stream])

    def reached(load: float) -> float:
        copies = math.ceil(load) - 1
        share = load - copies
        of_sessions = int(requests[_takes_part(owners, share, seed, copies)].sum())
        return copies + (of_sessions + np.count_nonzero(_evenly(written, share))) / len(owners.stream)

    return LoadSteps(counted(int(np.count_nonzero(owners.role == SESSION)), "session"), reached)


@table_set
class Extents(NamedTuple):
    """The extents that files were touched at, one file behind the other, and how many a copy's addresses move on."""

    number: NDArray[np.int64]
    first: NDArray[np.int64]  # (files + 1,) of a file, in *number*
    turn: NDArray[np.int64]  # by file
    end_bytes: NDArray[np.int64]  # by file: behind the last byte touched


def _turned(files: Sequence[FileUse], seed: int, copy: int) -> Extents:
    """Return where addresses of a copy go."""
    sizes = [len(use.extents) for use in files]
    turns = [random_below(size, seed, CLONES, copy, 1 + code) if size else 0 for code, size in enumerate(sizes)]
    return Extents(
        np.concatenate([np.zeros(0, np.int64), *(use.extents for use in files)]),
        np.append(0, np.cumsum(sizes, dtype=np.int64)),
        np.array(turns, np.int64),
        np.array([use.end_bytes for use in files], np.int64),
    )


def _elsewhere(part: RecordedCommands, shift_ns: int, span_ns: int, extents: Extents) -> RecordedCommands:
    """Another time and other addresses."""
    time_ns, intended_ns, offset_bytes = (np.empty(len(part), np.int64) for _ in range(3))
    moved = replace(part, time_ns=time_ns, intended_ns=intended_ns, offset_bytes=offset_bytes)
    move_elsewhere(part.columns, shift_ns, span_ns, extents, moved.columns)
    return moved


@kernel
def move_elsewhere(c: CommandColumns, shift_ns: int, span_ns: int, extents: Extents, moved: CommandColumns) -> None:
    """Fill times and addresses of *moved*."""
    for row in range(c.time_ns.size):
        time_ns = c.time_ns[row] + shift_ns
        if time_ns >= span_ns:
            time_ns %= span_ns
        moved.time_ns[row] = time_ns
        moved.intended_ns[row] = max(time_ns - (c.time_ns[row] - c.intended_ns[row]), 0)
        offset, file = c.offset_bytes[row], c.file[row]
        moved.offset_bytes[row] = offset
        first, count = extents.first[file], extents.first[file + 1] - extents.first[file]
        if c.op[row] == FLUSH or c.purpose[row] == LOG_WRITE or count == 0:
            continue
        wanted = offset // EXTENT_BYTES
        # the first that is not before the command's: as far behind the file's first as its number, or less far
        low, high = 0, min(count, max(wanted - extents.number[first], 0))
        if high > 0 and extents.number[first + high - 1] < wanted:
            low = high
        while low < high:
            middle = (low + high) // 2
            if extents.number[first + middle] < wanted:
                low = middle + 1
            else:
                high = middle
        place = (low + extents.turn[file]) % count
        to = extents.number[first + place] * EXTENT_BYTES + offset % EXTENT_BYTES
        moved.offset_bytes[row] = min(to, max(extents.end_bytes[file] - c.length_bytes[row], 0))


@dataclass(frozen=True)
class CauseRules:
    """How causes are inferred."""

    window_ns: int  # a command that came later than this after the one before it is not caused by it
    think_ns: int | None = None  # in place of the recorded think times
    keep_pace: bool = True  # whether writers follow the foreground, and not the clock
    flushed: bool = False  # whether a session that issues nothing until another's flush of the log ends waits for that
    timed: bool = False  # whether a stream of the name of CHECKPOINTER comes by the clock nevertheless
    one_at_a_time: bool = False  # whether a session waits for each command, whatever was recorded
    ordered: bool = True  # whether what had ended before must end before

    @property
    def by_clock(self) -> bool:
        """Whether nothing waits for anything."""
        return self.window_ns < 0 and not (self.keep_pace or self.one_at_a_time or self.ordered)


#: Threads share what is longer; fewer commands take less time than a thread does to begin.
_FEWEST_AT_A_TIME = 1 << 18


def infer_streams(trace: RecordedCommands, owners: Owners, rules: CauseRules) -> Streams:
    """Turn commands with their owners into streams, see :func:`streams_of`."""
    return streams_of(scale_load(trace, owners, 1.0, 0, (), 0), rules)[0]


def streams_of(crowd: Crowd, rules: CauseRules) -> tuple[Streams, NDArray[np.int64]]:
    """Turn the commands of a crowd into streams, in order of their streams; a run needs what
    :func:`tiersim.simulator.streams.to_run` adds. Returns with them the recorded latency of each command that has a
    mark in ``sync``.

    Columns that placement fills (station and address) hold the file and the offset within it. Of every stream, the
    commands that had ended before another was issued are counted; that many must end in the simulation, too.
    """
    # memory that nobody has touched costs more than what is computed in it: each column is written once
    nothing = np.zeros(0, np.int64)
    requests = crowd.requests
    bounds = np.append(0, np.cumsum(requests))
    count = int(bounds[-1])
    table = np.zeros(len(crowd.role), STREAM)
    table["first"] = table["next"] = bounds[:-1]
    table["end"] = bounds[1:]
    is_session = crowd.role == SESSION
    table["foreground"] = is_session
    table["sync_start_ns"] = NEVER
    followers = np.flatnonzero(~is_session).astype(np.uint32)
    streams = Streams(
        streams=table,
        groups=one_group(followers),
        followers=followers,
        foreground_ns=nothing,
        flushes_ns=nothing,
        waits_for=np.zeros(count, np.uint8),
        recorded_ns=np.empty(count, np.int64),
        think_ns=np.empty(count, np.int64),
        ended_before=np.zeros(count, np.uint32),
        pace=np.zeros(count, np.uint32),
        gathered_ns=nothing if crowd.trace.intended_ns is crowd.trace.time_ns else np.zeros(count, np.int64),
        station=np.empty(count, np.uint32),
        op=np.empty(count, np.uint8),
        offset_bytes=np.empty(count, np.int64),
        length_bytes=np.empty(count, np.int64),
        category=np.empty(count, np.uint8),
        sync=np.zeros(count, np.uint8),
        ended_ns=nothing,
        started_ns=nothing,
        done_ns=nothing,
        rows=NO_STREAMS.rows,
    )
    pieces = crowd.pieces()
    workers = min(processors(), -(-count // _FEWEST_AT_A_TIME)) or 1
    foreground_ns = np.empty(int(requests[is_session].sum()) if followers.size and rules.keep_pace else 0, np.int64)

    def fill(first: int, end: int, _: Note) -> None:
        """Sort out some of the pieces."""
        before = crowd.before(pieces[:first])
        places, foreground = bounds[:-1] + before, int(before[is_session].sum())
        for part, owner in crowd.blocks(pieces[first:end]):
            sort_out(part.columns, owner, categorise(part.op, part.purpose), places, streams)
            if foreground_ns.size:
                times = part.time_ns[is_session[owner]]
                foreground_ns[foreground : foreground + len(times)] = times
                foreground += len(times)

    shares = np.linspace(0, len(pieces), workers + 1).astype(np.int64).tolist()
    side_by_side([partial(fill, first, end) for first, end in pairwise(shares)])
    if rules.by_clock:
        return streams._replace(think_ns=np.zeros(count, np.int64)), nothing  # latencies lay there
    if not crowd.is_recorded:
        foreground_ns.sort(kind="stable")
    flushes_ns = nothing
    if rules.flushed:
        flushes_ns = np.empty(count, np.int64)
        when_ended(streams, streams.think_ns, 0, flushes_ns)
        flushes_ns = np.sort(flushes_ns[streams.category == LOG_FLUSH])

    def find(first: int, end: int, _: Note) -> list[NDArray[np.int64]]:
        """Find what commands of some streams wait for; returns the latencies of those that have a mark."""
        of_syncs = []
        ends_ns = np.empty(int(requests[first:end].max(initial=0)), np.int64)
        for stream in range(first, end):
            rows = slice(int(bounds[stream]), int(bounds[stream + 1]))
            own = ends_ns[: rows.stop - rows.start]
            latency_ns = streams.think_ns[rows].copy()
            streams.think_ns[rows] = 0
            when_ended(streams, latency_ns, rows.start, own)
            own.sort()
            keep_pace = rules.keep_pace and not (rules.timed and crowd.name[stream] == CHECKPOINTER)
            times = Times(crowd.role, own, foreground_ns, flushes_ns)
            find_causes(times, stream, rules.window_ns, keep_pace, rules.one_at_a_time, streams)
            if is_session[stream]:
                category = streams.category[rows]
                log_flush = (category == LOG_FLUSH) & (streams.waits_for[rows] == OWN)
                if log_flush.any():
                    marks = mark_syncs((category == LOG_WRITE) & (streams.op[rows] == WRITE), log_flush)
                    streams.sync[rows] = marks
                    of_syncs.append(latency_ns[marks != 0])
        return of_syncs

    shares = np.searchsorted(bounds, np.linspace(0, count, workers + 1)).tolist()
    shares[-1] = len(requests)
    found = side_by_side([partial(find, first, end) for first, end in pairwise(shares)])
    of_syncs = [nothing, *chain.from_iterable(found)]
    if rules.think_ns is not None:
        streams.think_ns[streams.waits_for == OWN] = rules.think_ns
    if not rules.ordered:
        streams.ended_before[:] = 0
    return streams, np.concatenate(of_syncs)


@kernel
def sort_out(
    c: CommandColumns,
    owner: NDArray[np.int32],
    category: NDArray[np.uint8],
    places: NDArray[np.int64],
    s: Streams,
) -> None:
    """Copy each command to its place among those of its *owner*, and its latency to where its think time will be.

    *places*, by stream, are where the next command goes.
    """
    for row in range(owner.size):
        place = places[owner[row]]
        places[owner[row]] += 1
        s.recorded_ns[place] = c.time_ns[row]
        if c.intended_ns[row] != c.time_ns[row]:
            s.gathered_ns[place] = c.time_ns[row] - c.intended_ns[row]
        s.think_ns[place] = c.latency_ns[row]  # a column more would be the most that is ever held
        s.station[place] = c.file[row]
        s.op[place] = c.op[row]
        s.offset_bytes[place] = c.offset_bytes[row]
        s.length_bytes[place] = c.length_bytes[row]
        s.category[place] = category[row]


@kernel
def when_ended(s: Streams, latency_ns: NDArray[np.int64], first: int, ends_ns: NDArray[np.int64]) -> None:
    """Fill *ends_ns* with when the commands from place *first* on ended, which took *latency_ns*: after they arrived;
    at once when their latency was not measured.
    """
    for number in range(ends_ns.size):
        row = first + number
        begin_ns = s.recorded_ns[row] - gathered_before_ns(s, row)
        ends_ns[number] = max(begin_ns + max(latency_ns[number], 1), s.recorded_ns[row] + 1)


def mark_syncs(log_write: NDArray[np.bool_], log_flush: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Which commands of a stream begin and end what the server sees as one flush of its log: log writes, and the flush
    right behind.
    """
    follows = np.zeros(len(log_write), np.bool_)
    follows[1:] = log_flush[1:] & log_write[:-1]
    sync = np.where(follows, SYNC_ENDS, 0).astype(np.uint8)
    begins_run = log_write.copy()
    begins_run[1:] &= ~log_write[:-1]
    run = np.cumsum(begins_run) - 1  # number of the run of log writes that each row is in, or comes after
    if follows.any():
        flushed = np.zeros(int(begins_run.sum()), np.bool_)
        flushed[run[np.flatnonzero(follows) - 1]] = True
        sync[log_write & flushed[np.maximum(run, 0)]] = SYNC_BEGINS
    return sync


@table_set
class Times(NamedTuple):
    """When commands of a stream ended, and those of the foreground were issued."""

    role: NDArray[np.uint8]  # by stream
    end_ns: NDArray[np.int64]  # of one stream, sorted
    foreground_ns: NDArray[np.int64]  # of the foreground's commands, where others follow it
    flushes_ns: NDArray[np.int64]  # of flushes of the log, sorted, where sessions wait for those of others


@kernel
def find_causes(t: Times, stream: int, window_ns: int, keep_pace: bool, one_at_a_time: bool, s: Streams) -> None:
    """Fill what each command of a stream waits for."""
    first, end = int(np.int64(s.streams[stream]["first"])), int(np.int64(s.streams[stream]["end"]))
    ended = 0
    most = 1
    started = flushed = 0
    for row in range(first, end):
        now = s.recorded_ns[row]
        while first + ended < row and t.end_ns[ended] <= now:
            ended += 1
        most = max(most, row + 1 - first - ended)
        s.ended_before[row] = ended
        if t.role[stream] == SESSION:
            if one_at_a_time and row > first:
                s.waits_for[row] = OWN
                s.think_ns[row] = max(0, now - t.end_ns[ended - 1]) if ended > 0 else 0
                s.ended_before[row] = row - first
            elif ended > 0 and now - t.end_ns[ended - 1] <= window_ns:
                s.waits_for[row] = OWN
                s.think_ns[row] = now - t.end_ns[ended - 1]
                while flushed < t.flushes_ns.size and t.flushes_ns[flushed] <= now:
                    flushed += 1
                if flushed > 0 and t.flushes_ns[flushed - 1] > t.end_ns[ended - 1]:
                    s.waits_for[row] = FLUSHED
                    s.pace[row] = flushed
                    s.think_ns[row] = now - t.flushes_ns[flushed - 1]
            continue
        while started < t.foreground_ns.size and t.foreground_ns[started] <= now:
            started += 1
        if keep_pace and started > 0:
            s.waits_for[row] = PACE
            s.pace[row] = started
            s.think_ns[row] = now - t.foreground_ns[started - 1]
    if t.role[stream] == WRITER or t.role[stream] == BURST:
        for row in range(first, end):
            s.ended_before[row] = max(0, row + 1 - first - most)


def facts(crowd: Crowd, streams: Streams) -> dict[str, Any]:
    """What was inferred, for the result: streams by role, what commands wait for, think times."""
    own = (streams.waits_for == OWN) | (streams.waits_for == FLUSHED)
    think = streams.think_ns[own]
    return {
        "sessions": int(np.count_nonzero(crowd.role == SESSION)),
        "writers": int(np.count_nonzero(crowd.role == WRITER)),
        "writer_names": sorted(set(crowd.name[crowd.role == WRITER].tolist()) - {""}),
        "journals": int(np.count_nonzero(crowd.role == JOURNAL)),
        "journal_names": sorted(set(crowd.name[crowd.role == JOURNAL].tolist()) - {""}),
        "inferred_sessions": crowd.owners.inferred_sessions,
        "waits_for_issuer": int(np.count_nonzero(own)),
        "waits_for_clock": int(np.count_nonzero(streams.waits_for == CLOCK)),
        "waits_for_foreground": int(np.count_nonzero(streams.waits_for == PACE)),
        "think_mean_ns": float(think.mean()) if think.size else None,
        "think_p50_ns": float(np.median(think, overwrite_input=True)) if think.size else None,
    }


#: Causes are inferred when at least this share of the requests has a measured end.
ENOUGH_MEASURED = 0.5
#: Nothing waits for anything.
BY_THE_CLOCK = CauseRules(-1, None, keep_pace=False, ordered=False)
_FOREVER_NS = 1 << 60


@dataclass(frozen=True)
class Waiting:
    """A trace as streams, which are not placed yet; columns by place in them."""

    streams: Streams  # at no stations
    file: NDArray[np.unsignedinteger[Any]]  # as few bits as tell files apart
    owner: NDArray[np.int32] | None  # by command of the trace: its stream; None under another load
    names: NDArray[np.str_]  # by stream: of the process; empty when it was not recorded
    facts: dict[str, Any]  # what was inferred, for people
    measured: dict[str, Any]  # recorded waits for the log, as ``measured_latencies`` has them
    not_run: dict[str, Any]  # what a result says of a load that was asked for, where another runs

    def checkpoints(self, streams: Streams, recorded: tuple[Checkpoint, ...]) -> list[Checkpoint]:
        """When the recorded checkpoints, in order, ran in a run of *streams*."""
        begins_ns, ends_ns = np.array([(one.start_ns, one.end_ns) for one in recorded]).T
        start_ns = np.full(len(recorded), NEVER)
        done_ns, writes = np.zeros((2, len(recorded)), np.int64)
        for first in range(0, streams.commands, _BLOCK):  # whole columns once more would be the most that a run holds
            own = first + np.flatnonzero(streams.category[first : first + _BLOCK] == CHECKPOINT_WRITE)
            place = np.searchsorted(begins_ns, streams.recorded_ns[own], "right") - 1
            within = (place >= 0) & (streams.recorded_ns[own] <= ends_ns[place])
            own, place = own[within], place[within]
            np.minimum.at(start_ns, place, streams.started_ns[own])
            np.maximum.at(done_ns, place, streams.done_ns[own])
            np.add.at(writes, place, 1)
        found = np.stack([start_ns, done_ns, writes], axis=1)[writes > 0]
        return [Checkpoint(*one) for one in found.tolist()]

    def sessions(self, streams: Streams) -> Sessions:
        """What a run of *streams* is judged by."""
        foreground = streams.streams["foreground"] == 1
        own = streams.streams[foreground]
        last = own["end"].astype(np.int64) - 1
        late_ns = streams.started_ns[last] - streams.recorded_ns[last]
        inferred = self.facts["inferred_sessions"]
        return Sessions(len(own), inferred, late_ns, streams.recorded_ns[last], self.names[foreground])

    def requests(self, streams: Streams) -> pa.Table:
        """Start and end of each command in recorded order, after a run of *streams*; of copies, in order of time."""
        order = streams.recorded_ns if self.owner is None else order_by_code(self.owner)
        place = np.argsort(order, kind="stable")
        columns = {"recorded_ns": streams.recorded_ns, "start_ns": streams.started_ns, "done_ns": streams.done_ns}
        return pa.table({name: column[place] for name, column in columns.items()})


def measured_share(found: TraceSurvey) -> float:
    """Share of the requests whose latency was measured."""
    return found.measured_requests / found.requests


def by_the_clock(found: TraceSurvey, scenario: NamedScenario) -> bool:
    """Whether commands come at their recorded times and nothing else decides; raises ScenarioError when it cannot be
    told.
    """
    rules = scenario.model.replay
    unmeasured = measured_share(found) < ENOUGH_MEASURED
    if rules.mode == "closed" and rules.clients is None and unmeasured:
        raise ScenarioError(
            f'{scenario.name}: mode = "closed" needs to know who waited for what, and the recording has latencies of '
            f"{100 * measured_share(found):.0f} % of its requests; write clients = 8, say, under [replay]"
        )
    return rules.mode == "open" or (rules.mode == "partly-open" and unmeasured)


def from_disk(found: TraceSurvey, scenario: NamedScenario) -> bool:
    """Whether the trace can pass through block by block; raises ScenarioError, see :func:`by_the_clock`."""
    return by_the_clock(found, scenario) and scenario.model.replay.load == 1.0


def make_waiting(trace: RecordedCommands, found: TraceSurvey, scenario: NamedScenario) -> Waiting:
    """Infer the streams of a trace for a replay as *scenario* says; raises ScenarioError, see :func:`by_the_clock`."""
    rules, names = scenario.model.replay, found.stream_names
    owners = find_owners(trace, names, rules.clients)
    not_run = {} if rules.load == 1.0 else steps_of_requests(owners, rules.seed).not_run(rules.load)
    crowd = scale_load(trace, owners, rules.load, found.span_ns, found.files, rules.seed)
    causes = CauseRules(
        rules.dependency_window,
        keep_pace=rules.writers != "clock",
        flushed=rules.commits == "shared",
        timed=rules.writers == "timed",
    )
    if rules.mode == "closed":
        alone = rules.clients is not None
        causes = replace(causes, window_ns=_FOREVER_NS, think_ns=rules.think, one_at_a_time=alone)
        if rules.clients is not None:
            whole, owners = crowd.joined()
            owners = deal_to_clients(whole, owners, rules.clients)
            crowd = scale_load(whole, owners, 1.0, found.span_ns, found.files, rules.seed)
    elif by_the_clock(found, scenario):
        causes = BY_THE_CLOCK
    streams, latency_ns = streams_of(crowd, causes)
    syncs = _recorded_syncs(streams, latency_ns)
    known = facts(crowd, streams) | {
        "load": rules.load,
        "commands": streams.commands,
        "load_reached": streams.commands / len(trace),
    }
    owner = crowd.owners.stream if crowd.is_recorded else None
    file = streams.station.astype(np.min_scalar_type(len(found.files)))
    nowhere = streams._replace(station=np.zeros(0, np.uint32))
    return Waiting(nowhere, file, owner, crowd.name, known, syncs, not_run)


def _recorded_syncs(streams: Streams, latency_ns: NDArray[np.int64]) -> dict[str, Any]:
    """How long the server waited for its log in the recording: writes and the flush right behind them in one stream,
    which took *latency_ns*.
    """
    rows = np.flatnonzero(streams.sync)  # writes, and the flush right behind them
    if not rows.size:
        return {}
    ends = np.flatnonzero(streams.sync[rows] & SYNC_ENDS)
    first = np.append(0, ends[:-1] + 1)  # of what each flush ends
    intended = streams.recorded_ns[rows]
    if streams.gathered_ns.size:
        intended -= streams.gathered_ns[rows]
    known = (latency_ns[ends] >= 0) & (latency_ns[ends - 1] >= 0)
    whole = intended[ends] + latency_ns[ends] - intended[first] + streams.think_ns[rows[ends]]
    total = np.concatenate([[0], np.cumsum(np.maximum(latency_ns, 0))])
    device = total[ends + 1] - total[first]
    histograms = np.zeros((len(CATEGORIES), bins(FINE_BITS)), np.int64)
    sums, most_ns = np.zeros((2, len(CATEGORIES)), np.int64)
    for category, durations in ((LOG_SYNC, whole), (LOG_SYNC_DEVICE, device)):
        chosen = durations[known]
        count_durations(histograms, sums, most_ns, np.full(len(chosen), category, np.uint8), chosen)
    return measured_latencies(histograms, sums, most_ns)
