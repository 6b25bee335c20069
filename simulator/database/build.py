"""Makes the arrays of a database from what is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder, values_of
from tiersim.devices.station_records import NEVER, NONE
from tiersim.devices.tiering.cached_blocks_kernels import FIRST_PLACE
from tiersim.errors import ScenarioError
from tiersim.random_numbers import CHOSEN_PROCESS, random_source
from tiersim.simulator.database.buffer_pool.background_writer import WRITER, BackgroundWriter, writer_fields
from tiersim.simulator.database.buffer_pool.flush_list import BATCH_FIRST
from tiersim.simulator.database.buffer_pool.lazy_writer import (
    LAZY_WRITER_ROW,
    MOST_RUNS,
    LazyWriter,
)
from tiersim.simulator.database.buffer_pool.midpoint import MIDPOINT_FRAME, MIDPOINT_ROW, Midpoint
from tiersim.simulator.database.buffer_pool.page_cleaner import PAGE_CLEANER_ROW, PageCleaner, cleaner_fields
from tiersim.simulator.database.buffer_pool.pages import note_sources
from tiersim.simulator.database.buffer_pool.rings import POOL_PART, RING_BYTES
from tiersim.simulator.database.checkpoint.bursts import MOST_RUNS as MOST_BURST_RUNS
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints, burst_fields
from tiersim.simulator.database.checkpoint.checkpointer import CHECKPOINTER_ROW, Checkpoints, checkpointer_fields
from tiersim.simulator.database.database_state import (
    ALIKE,
    ASKED,
    BACKGROUND_WRITER,
    BINARY_LOG,
    BUFFER_POOL,
    BURSTS,
    CHECKPOINT,
    CHECKPOINTER,
    COPIES,
    COPY,
    COPY_ROW,
    DEMAND,
    HISTORY,
    HOLD,
    IN_ORDER,
    INDEPENDENT,
    JOURNAL,
    LOCK,
    LOCKED_ROW,
    LOG_BLOCKS,
    LOG_STATION,
    LOG_THREADS,
    LRU2,
    MIDPOINT,
    MOST_LOCKS,
    MOST_PAGES,
    PAGE_CACHE,
    PAGE_CLEANER,
    PAGES_A_FILE,
    PLACED,
    PROCESSORS,
    READ_STREAM,
    READERS,
    RECENT,
    ROW_SOURCE,
    SESSION,
    SPENT,
    SWEEP,
    TEMP_BLOCK_BYTES,
    TO_WARM,
    Database,
)
from tiersim.simulator.database.journal import JOURNAL_ROW
from tiersim.simulator.database.page_cache import MOST_PAGES as MOST_WRITE_BACK
from tiersim.simulator.database.page_cache import MOST_WRITE_BACKS, PAGE_CACHE_ROW, PAGES_AT_ONCE, page_cache_fields
from tiersim.simulator.database.sessions.copies import NOTHING
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.wal.binary_log import BINARY_LOG_ROW, BinaryLog, binary_log_fields
from tiersim.simulator.database.wal.log import LOG_ROW, Log, log_fields
from tiersim.simulator.database.wal.log_blocks import LogBlocks, log_block_fields, remembered_blocks
from tiersim.simulator.popularity import (
    NONE_MOVED,
    Hot,
    MovedRows,
    Popularity,
    laws_of,
    moved_rows,
    updated_pages,
    zipf,
)

FREE_OF_COST = Costs()
PLAIN_LOG = Log()
PLAIN_MIDPOINT = Midpoint()
#: Checkpoints that a run can have; the last of more takes the place of the one before.
_MOST_CHECKPOINTS = 4096
#: Heaps that are remembered, of all databases together.
_MOST_HEAPS = 16


@dataclass(frozen=True)
class Demand:
    """One thing that a class of statements asks for, see :mod:`tiersim.simulator.database.database_state`."""

    kind: int
    table: int = 0
    dirties: bool = False
    share: int = 1000  # of the statement's CPU, in thousandths
    log_bytes: int = 0  # of the record of a change, or of a commit
    pages: int = 0  # of a scan; 0: the whole heap
    start_page: int = 0
    rows: int = 1  # of LOOKUPS
    depth: int = 0  # most reads ahead under way; 0: none (PostgreSQL: effective_io_concurrency)
    block_pages: int = 16  # that are read as one (PostgreSQL: io_combine_limit)
    full: bool = False  # the first read is that long already
    in_order: bool = (
        True  # of LOOKUPS: pages ascend and are waited for in that order; if not, rows are taken as their pages come
    )
    threshold: int = 0  # of LOOKUPS that are not in order: fewer rows are read one by one
    degree: int = 1  # sessions that share a scan
    temp_bytes: int = 0
    rank: int = 0  # of LOCK: rows of a transaction are locked in the order of these
    page_ns: int = 0  # of SCAN and COPY: CPU of each page, besides
    paced_ns: int = 0  # of SCAN: each page that it reads takes as long at least while the pool fills
    tables: int = 1  # of COPY: from *table* on, none: it spills; of its other fields see sessions/copies.py
    station: int = NOTHING
    file_bytes: int = 0
    restores: bool = False
    ratio: int = 1000
    entry_share: int = 0  # of changes that put an entry into the index, in millionths
    needs_room: bool = False  # so does the first change of a page of the heap that has no room for a new version
    changed: int = 0  # of LOOKUP and LOOKUPS: rows are of so many that were changed last; 0: by the law of the table


@dataclass(frozen=True)
class Relation:
    """A table whose rows are looked up: pages of each level of its index, from the root on, then of its heap.

    For the law of its rows see :func:`tiersim.simulator.popularity.zipf`; if *recent*, the hottest are the last ones.
    """

    rows: int
    level_pages: Sequence[int]
    exponent: float = 0.0
    ordered: bool = True
    station: int = 0  # of the volume that it lies on
    hot: Hot = ()
    recent: bool = False
    moved: float = (
        0.0  # share of the heap's pages whose row that was updated first lies on pages behind them (moved_rows)
    )
    temp: bool = False  # of a temporary database: its changes are not in the log, and checkpoints pass it by
    updates: float = 0.0  # of its rows since its pages were full: where one has come, there is room for the next
    lookups: float = 1.0  # of a row for each of its updates
    indexes: Sequence[Sequence[int]] = ()  # pages of each level of the others, which only changes of rows go through
    tables: int = 1  # that it stands for, used alike; each is a file of InnoDB
    file: str = ""  # InnoDB: relations that name the same one lie in the same files


@dataclass(frozen=True)
class Statements:
    """Statements of all sessions, those of a session together and in order; columns of equal length.

    A session that goes through the same pass again and again need have those passes only that it can come to, though
    more are ``planned``. Rows are drawn, and transactions that warm a pool, as if all that are planned were there. Of a
    session that gets more than are planned (:func:`with_statements`), a pool is warmed by the planned ones.
    """

    session_ends: Sequence[int]  # behind the last statement of each session
    classes: NDArray[np.int32]
    waits_for: NDArray[np.uint8]
    start_ns: NDArray[np.int64]
    think_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    begins: NDArray[np.uint8]
    ends: NDArray[np.uint8]
    client_ns: NDArray[np.int64] | None = None  # CPU of the host that goes before it, and belongs to its transaction
    planned: NDArray[np.int64] | None = None  # by session; None: those that are there


@dataclass(frozen=True)
class DatabaseHost:
    """What a database runs on above its devices."""

    cores: int
    frames: int  # of the buffer pool
    log_station: int = 0  # of the volume that the log lies on
    log: Log | LogBlocks = PLAIN_LOG
    checkpoints: Checkpoints | BurstCheckpoints | IndirectCheckpoints | None = None
    page_bytes: int = 8192
    costs: Costs = FREE_OF_COST
    temp_station: int = 0
    temp_bytes: int = 1 << 30
    helpers: int = 0  # processes that share scans of the sessions (PostgreSQL: max_parallel_workers)
    slowdown: Sequence[int] = ()  # thousandths, by busy cores from 1 on
    cpu_order: int = IN_ORDER  # whom a core serves next; sessions that are processes are chosen by the operating system
    io_workers: int = (
        0  # processes that read ahead for the sessions (PostgreSQL: io_method = worker); 0: these do it themselves
    )
    counted_from_ns: int = 0  # statements that start before warm the pool and are not counted
    until_ns: int = NEVER  # nobody starts a transaction then or later
    policy: int = SWEEP
    correlated_ns: int = 0  # LRU-2: uses of a page within this time of the one before are one
    retained_ns: int = NEVER  # a page that left is remembered so long after its last use
    ramp_pages: int = 1  # that come with one, itself included, while there are unused frames
    ring_bytes: int = RING_BYTES
    background_writer: BackgroundWriter | None = None  # with the sweep only
    lazy_writer: LazyWriter | None = None  # with LRU-2 only
    midpoint: Midpoint = PLAIN_MIDPOINT
    page_cleaner: PageCleaner | None = None  # with the midpoint only
    doublewrite_station: int = 0  # of the volume that the doublewrite file lies on
    binary_log: BinaryLog | None = None
    extension_station: int = 0
    extension_pages: int = 0  # of the buffer pool, with a lazy writer only; 0: there is none
    os_cache_pages: int = 0  # 0: direct IO


def add_database(
    builder: PlantBuilder,
    host: DatabaseHost,
    relations: Sequence[Relation],
    classes: Sequence[Sequence[Demand]],
    statements: Statements,
    categories: Sequence[int] | None = None,
    intervals: int = 0,
) -> Database:
    """Put processors and a buffer pool into the plant and return the database's arrays.

    *categories* are columns of the metrics by class, counted from FIRST_CLASS; without them each class has its own. The
    history has so many
    *intervals*.
    """
    tables = len(relations)
    relations, next_index = _with_indexes(relations)
    processors = builder.station(PROCESSORS, 0, "processors", {"cores": host.cores}, 1, role="processors")
    _refuse(host)
    posted = (
        0 if host.lazy_writer is None else MOST_RUNS + 3
    )  # by the lazy writer: runs, two for the extension, its next round
    pool = builder.station(BUFFER_POOL, 0, "buffer pool", {"lookups": 1}, MOST_PAGES + 1 + posted, role="buffer pool")
    cleaner = binary_log = readers = 0
    if host.page_cleaner is not None:
        children = host.page_cleaner.batch_pages + host.page_cleaner.workers + 2
        cleaner = builder.station(PAGE_CLEANER, 0, "page cleaner", {}, children, role="page cleaner")
    if host.binary_log is not None:
        binary_log = builder.station(BINARY_LOG, 0, "binary log", {}, 1, role="binary log")
    journals = _journals(builder, host, {r.station for r in relations})
    if host.io_workers > 0:
        readers = builder.station(READERS, 0, "readers", {"workers": host.io_workers}, 1, role="readers")
    log = builder.station(_log_kind(host.log), 0, "log", {}, 3, role="log")
    laws = [_law(r) for r in relations]
    heaps = [
        _heap(
            replace(r, level_pages=tuple(r.level_pages), station=0, indexes=(), tables=1, file=""), builder.seed, place
        )
        for place, r in enumerate(relations)
    ]
    moved = [heap.moved for heap in heaps]
    behind = (
        added
        for r, m in zip(relations, moved, strict=True)
        for added in [*[0] * (len(r.level_pages) - 1), m.added_pages]
    )
    level_pages = np.array([count for r in relations for count in r.level_pages], np.int64) + np.fromiter(
        behind, np.int64
    )
    pages = int(level_pages.sum())
    starts = [0, *statements.session_ends[:-1]]
    clients = len(statements.session_ends)
    sessions = np.zeros(clients + host.helpers, SESSION)
    for name, rows in (("first", starts[:clients]), ("next", starts[:clients]), ("end", statements.session_ends)):
        sessions[name][:clients] = rows
    for name in ("missing", "fetched", "leaf", "index", "transaction_ns"):
        sessions[name] = -1
    sessions["awaiting"] = NONE
    demands = np.zeros(max(sum(map(len, classes)), 1), DEMAND)
    for place, demand in enumerate(demand for one in classes for demand in one):
        demands[place] = astuple(demand)
    locking = len(sessions) if (demands["kind"] == LOCK).any() else 0
    copying = demands[demands["kind"] == COPY]
    copies = 0
    if len(copying):
        copies = builder.station(COPIES, 0, "copies", {}, int(copying["depth"].max()), role="copies")
    wide = np.int64
    return Database(
        sessions=sessions,
        asked=np.zeros(len(sessions), ASKED),
        spending=np.zeros((len(sessions), len(SPENT)), wide),
        called=np.zeros(len(sessions) + 1, wide),
        read_streams=np.zeros(len(sessions), READ_STREAM),
        io_starts=np.zeros((len(sessions), max(int(demands["depth"].max()), 1)), wide),
        first_helper=np.array([clients], wide),
        idle_helpers=np.array([host.helpers, *range(clients + host.helpers - 1, clients - 1, -1)], wide),
        session_counts=np.zeros(2, wide),
        resting=np.zeros(clients + 1, wide),
        first_number=_first_numbers(statements),
        **_copies(builder, len(sessions) if len(copying) else 0, len(level_pages)),
        locks=np.zeros(locking * MOST_LOCKS + 1, LOCKED_ROW),
        lock_heads=np.zeros(1 << (2 * locking).bit_length(), wide),
        locks_passed=np.zeros(1, wide),
        **_columns(statements),
        counted_ns=np.array([host.counted_from_ns, host.until_ns], wide),
        spent=np.zeros((len(classes), len(SPENT)), wide),
        category=np.array(range(len(classes)) if categories is None else categories, wide),
        calls=np.zeros(len(classes), wide),
        pages_read=np.zeros(len(classes), wide),
        first_demand=np.concatenate([[0], np.cumsum([len(one) for one in classes])]).astype(wide),
        demands=demands,
        rows=np.array([r.rows for r in relations], wide),
        ordered=np.array([RECENT if r.recent else ALIKE if r.ordered else INDEPENDENT for r in relations], wide),
        **_draws(builder.seed, len(relations)),
        **_changed(demands, len(relations)),
        first_moved=np.concatenate([[0], np.cumsum([len(one.ranks) for one in moved])]).astype(wide),
        moved_rank=np.concatenate([np.zeros(0, wide), *(one.ranks for one in moved)]),
        moved_page=np.concatenate([np.zeros(0, wide), *(one.pages for one in moved)]),
        moved_pages=np.array([one.added_pages for one in moved], wide),
        next_index=next_index,
        first_level=np.concatenate([[0], np.cumsum([len(r.level_pages) for r in relations])]).astype(wide),
        level_start=np.concatenate([[0], np.cumsum(level_pages)[:-1]]).astype(wide),
        level_pages=level_pages,
        file_order=_file_order(relations),
        level_station=np.array([r.station for r in relations for _ in r.level_pages], np.uint32),
        level_temp=np.array([r.temp for r in relations for _ in r.level_pages], np.uint8),
        has_room=_room(relations, heaps),
        dead_entry=_dead_entries(relations, heaps, pages if demands["needs_room"].any() else 0),
        laws=laws_of(laws),
        frame_of=np.zeros(pages, np.uint32),
        page_of=np.zeros(host.frames, wide),
        state=np.zeros(host.frames, np.uint8),
        used=np.zeros(host.frames, np.uint8),
        dirty=np.zeros(host.frames, np.uint8),
        chain=np.zeros(host.frames, np.uint32),
        leaving=np.zeros(host.frames, wide),
        starting=np.zeros(host.frames, np.uint8),
        ahead_for=np.zeros(host.frames, np.uint32),
        readers=np.array([host.io_workers, 0, builder.queue()], wide),
        pool_state=np.array([0, 0, builder.queue(), 0, 0, 0, 0, 0, 0, 0, 0], wide),
        **_lazy_writer(host, pages),
        **_midpoint(builder, host, cleaner),
        **_writer(builder, host),
        **_page_cache(builder, host),
        **_replacement(host, pages, len(sessions)),
        cores=np.array([host.cores], wide),
        in_service=np.zeros(1, wide),
        cpu_queue=np.array([builder.queue()], wide),
        cpu_order=np.array([host.cpu_order, 0, 0, random_source(builder.seed, CHOSEN_PROCESS, 0)], wide),
        slowdown=np.array([1000, *(host.slowdown or [1000] * host.cores)], wide),
        stations=np.array(
            [processors, pool, log, readers, host.temp_station, copies, host.extension_station, cleaner, binary_log],
            np.uint32,
        ),
        costs=np.array(host.costs, wide),
        temp_state=np.array([0, -(-host.temp_bytes // TEMP_BLOCK_BYTES) * TEMP_BLOCK_BYTES], wide),
        **_log(builder, host),
        **journals,
        **_checkpointer(builder, host),
        write_backs=_write_backs(host),
        **(_files(relations, tables) if host.page_cleaner is None else _data_files(relations, level_pages)),
        page_position=np.zeros(pages, wide),
        checkpoint_mark=np.zeros(pages, np.uint8),
        history=np.zeros((intervals, len(HISTORY)), wide),
        page_bytes=np.array([host.page_bytes], wide),
        seed=np.array([builder.seed], wide),
        holds=np.zeros(0, HOLD),  # an engine makes room
    )


def _columns(statements: Statements) -> dict[str, Any]:
    """Return the columns of a database that has these statements, none of them done."""
    count = len(statements.classes)
    return {
        "statement_class": statements.classes,
        "waits_for": statements.waits_for,
        "start_ns": statements.start_ns,
        "think_ns": statements.think_ns,
        "client_ns": np.zeros(count, np.int64) if statements.client_ns is None else statements.client_ns,
        "cpu_ns": statements.cpu_ns,
        "begins": statements.begins,
        "ends": statements.ends,
        "done_ns": np.zeros(count, np.int64),
    }


def with_statements(d: Database, statements: Statements) -> Database:
    """Return a database whose sessions have more *statements*, behind those that they have; it may be running."""
    sessions = d.sessions[: len(statements.session_ends)]
    ends = np.array(statements.session_ends, np.int64)
    moved = np.append(0, ends[:-1]) - sessions["first"]
    had = sessions["end"].astype(np.int64) - sessions["first"]
    columns = _columns(statements)
    columns["done_ns"][np.arange(len(d.done_ns)) + np.repeat(moved, had)] = d.done_ns
    sessions["first"] += moved.astype(np.uint32)
    sessions["next"] += moved.astype(np.uint32)
    sessions["end"] = ends
    return Database(**(d._asdict() | columns))


def ended_statements(d: Database) -> int:
    """Count the statements that sessions have behind them."""
    return int((d.sessions["next"].astype(np.int64) - d.sessions["first"]).sum())


def with_slots(d: Database, slots: int) -> Database:
    """Return a database whose stations can hold so many requests, with those that they hold."""
    holds = np.zeros(slots, HOLD)
    holds[: d.holds.size] = d.holds
    return d._replace(holds=holds)


def _with_indexes(relations: Sequence[Relation]) -> tuple[list[Relation], NDArray[np.int64]]:
    """Return the relations and, behind them, the other indexes of each as tables whose leaves are pages of a heap; by
    table the next index, -1: none.
    """
    found, following = list(relations), [-1] * len(relations)
    for place, relation in enumerate(relations):
        last = place
        file = relation.file or f"relation {place}"
        found[place] = replace(relation, file=file)
        for level_pages in relation.indexes:
            following[last] = last = len(found)
            following.append(-1)
            found.append(
                Relation(
                    relation.rows,
                    level_pages,
                    station=relation.station,
                    recent=relation.recent,
                    temp=relation.temp,
                    tables=relation.tables,
                    file=file,
                )
            )
    return found, np.array(following, np.int64)


class _Heap(NamedTuple):
    """A heap after the updates that it has seen."""

    moved: MovedRows
    # of each page that it had first: whether there is room for a new version of a row, and whose old version's entry in
    # the index nobody has met, see tiersim.simulator.popularity
    has_room: NDArray[np.uint8]
    dead_entry: NDArray[np.int64]


@lru_cache(_MOST_HEAPS)
def _heap(relation: Relation, seed: int, place: int) -> _Heap:
    """Draw the heap of the table at *place*: the next run on the same tables has the same one."""
    law, pages = _law(relation), relation.level_pages[-1]
    moved = moved_rows(law, relation.rows, pages, relation.moved, seed, place) if relation.moved else NONE_MOVED
    has_room, dead_entry = np.zeros(pages, np.uint8), np.zeros(pages, np.int64)
    if relation.updates:
        of_table = (law, relation.rows, pages, moved, relation.recent)
        updated = updated_pages(*of_table, relation.updates, relation.lookups, seed, place)
        has_room[:], dead_entry[:] = updated
    for values in (*moved, has_room, dead_entry):
        values.flags.writeable = False  # runs share it
    return _Heap(moved, has_room, dead_entry)


def _file_order(relations: Sequence[Relation]) -> NDArray[np.int64]:
    """Return the levels in the order of their files, which are numbered as they are made: a table before its index."""
    first = 0
    order: list[int] = []
    for relation in relations:
        heap = first + len(relation.level_pages) - 1
        order += [heap, *range(first, heap)]
        first = heap + 1
    return np.array(order, np.int64)


def _law(relation: Relation) -> Popularity:
    return zipf(relation.rows, relation.exponent, relation.hot)


def _draws(seed: int, tables: int) -> dict[str, NDArray[Any]]:
    """Return what rows and their places are drawn from; no place is known yet."""
    row_sources, placed = np.zeros((tables, TO_WARM + 1), ROW_SOURCE), np.zeros((tables, 2), PLACED)
    note_sources(row_sources, placed, seed)
    return {"row_sources": row_sources, "placed": placed}


def _changed(demands: NDArray[Any], tables: int) -> dict[str, NDArray[Any]]:
    """Return a ring for each table, as long as its demands look back at changed rows; no row was changed yet."""
    lengths = np.zeros(tables, np.int64)
    looking_back = demands[demands["changed"] > 0]
    np.maximum.at(lengths, looking_back["table"], looking_back["changed"])
    return {
        "first_changed": np.concatenate([[0], np.cumsum(lengths)]),
        "changed_rank": np.zeros(lengths.sum(), np.int64),
        "changes": np.zeros(tables, np.int64),
    }


def _room(relations: Sequence[Relation], heaps: Sequence[_Heap]) -> NDArray[np.uint8]:
    """Return of every page whether it is one of a heap with room for a new version of a row."""
    parts = [np.zeros(0, np.uint8)]
    for relation, heap in zip(relations, heaps, strict=True):
        index = np.zeros(sum(relation.level_pages[:-1]), np.uint8)
        parts += [index, heap.has_room, np.ones(heap.moved.added_pages, np.uint8)]
    return np.concatenate(parts)


def _dead_entries(relations: Sequence[Relation], heaps: Sequence[_Heap], pages: int) -> NDArray[np.int64]:
    """Return of each of all *pages*, if it is one of a heap, rank + 1 of the row whose old version's entry nobody has
    met; of none without updates. Where there is no such row the array costs no memory.
    """
    entries, first = np.zeros(pages, np.int64), 0
    for relation, heap in zip(relations, heaps, strict=True):
        left = np.flatnonzero(heap.dead_entry) if pages else np.zeros(0, np.int64)
        entries[first + sum(relation.level_pages[:-1]) + left] = heap.dead_entry[left]
        first += sum(relation.level_pages) + heap.moved.added_pages
    return entries


def _first_numbers(statements: Statements) -> NDArray[np.int64]:
    """Return the number of each session's first statement among those that are planned, and of the
    one behind the last.
    """
    if statements.planned is None:
        return np.array([0, *statements.session_ends], np.int64)
    return np.concatenate([[0], np.cumsum(statements.planned)]).astype(np.int64)


def _refuse(host: DatabaseHost) -> None:
    """Raise ScenarioError for parts that do not go together."""
    if host.lazy_writer is not None and host.policy != LRU2:
        raise ScenarioError("a lazy writer frees what LRU-2 lets go; leave it out, or choose LRU-2")
    if isinstance(host.checkpoints, Checkpoints) and isinstance(host.log, LogBlocks):
        raise ScenarioError(
            "checkpoints of PostgreSQL count log segments, which a log of blocks lacks; choose one engine"
        )
    if host.extension_pages and host.lazy_writer is None:
        raise ScenarioError("an extension of the buffer pool is filled by a lazy writer; add one, or leave it out")
    if host.page_cleaner is not None and (host.policy != MIDPOINT or not isinstance(host.log, Log)):
        raise ScenarioError(
            "page cleaners free what InnoDB's list lets go, behind a log of its kind; leave them out, or choose both"
        )
    if host.page_cleaner is not None and host.checkpoints is not None:
        raise ScenarioError("page cleaners move InnoDB's checkpoint by themselves; leave out the checkpoints")


def _log_kind(log: Log | LogBlocks) -> int:
    """Return the kind of the log's station."""
    if isinstance(log, LogBlocks):
        return LOG_BLOCKS
    return LOG_THREADS if log.threads else LOG_STATION


def _log(builder: PlantBuilder, host: DatabaseHost) -> dict[str, NDArray[Any]]:
    """Return the log's row, and the ring of blocks if it has such."""
    if isinstance(host.log, LogBlocks):
        blocks = np.zeros((remembered_blocks(host.log), 5), np.int64)
        return {
            "log": _row(LOG_ROW, log_block_fields(host.log, host.log_station, builder.queue())),
            "log_blocks": blocks,
        }
    waiting = builder.queue()
    has_binary_log = host.binary_log is not None
    return {
        "log": _row(LOG_ROW, log_fields(host.log, host.log_station, waiting, has_binary_log)),
        "log_blocks": np.zeros((0, 5), np.int64),
    }


def _midpoint(builder: PlantBuilder, host: DatabaseHost, station: int) -> dict[str, NDArray[Any]]:
    """Return InnoDB's list, the rows of its page cleaners and of its binary log, and the list of changed pages."""
    listed = host.policy == MIDPOINT
    cleaner = host.page_cleaner
    frames = host.frames if cleaner is not None else 0
    links = [np.zeros(frames + 1, np.uint32) for _ in range(2)]
    for one in links:
        one[frames] = frames
    binary_log = np.zeros(0, BINARY_LOG_ROW)
    if host.binary_log is not None:
        binary_log = _row(BINARY_LOG_ROW, binary_log_fields(host.binary_log, builder.queue()))
    return {
        "midpoint": _row(MIDPOINT_ROW, values_of(MIDPOINT_ROW, host.midpoint)) if listed else np.zeros(0, MIDPOINT_ROW),
        "midpoint_frames": np.zeros(host.frames if listed else 0, MIDPOINT_FRAME),
        "page_cleaner": (
            np.zeros(0, PAGE_CLEANER_ROW)
            if cleaner is None
            else _row(PAGE_CLEANER_ROW, cleaner_fields(cleaner, station, builder.queue(), host.doublewrite_station))
        ),
        "batches": (
            np.zeros((0, BATCH_FIRST), np.int64)
            if cleaner is None
            else np.zeros((cleaner.workers, BATCH_FIRST + cleaner.batch_pages), np.int64)
        ),
        "flush_newer": links[0],
        "flush_older": links[1],
        "oldest_position": np.zeros(frames, np.int64),
        "binary_log": binary_log,
    }


def _journals(builder: PlantBuilder, host: DatabaseHost, data_volumes: set[int]) -> dict[str, NDArray[Any]]:
    """Put the journals of the file systems whose files are synced into the plant, and return their rows."""
    volumes = set() if host.binary_log is None else {host.binary_log.station}
    if isinstance(host.log, Log) and host.log.fsync:
        volumes.add(host.log_station)
    cleaner = host.page_cleaner
    if cleaner is not None and cleaner.fsync:
        flushed = cleaner.doublewrite and cleaner.flush_doublewrite
        volumes |= data_volumes | ({host.doublewrite_station} if flushed else set())
    rows = np.zeros(len(volumes), JOURNAL_ROW)
    journal_of = np.zeros(max(volumes, default=-1) + 1, np.uint32)
    for row, volume in enumerate(sorted(volumes)):
        name = f"{builder.stations[volume].name}.journal"
        journal_of[volume] = builder.station(JOURNAL, row, name, {}, 1, role="journal")
        rows[row]["volume"], rows[row]["waiting"] = volume, builder.queue()
    return {"journals": rows, "journal_of": journal_of}


def _lazy_writer(host: DatabaseHost, pages: int) -> dict[str, NDArray[Any]]:
    """Return the lazy writer's row, if there is one, its lists, and what lies where in the pool's extension."""
    there = host.lazy_writer is not None
    row = (
        np.zeros(0, LAZY_WRITER_ROW)
        if host.lazy_writer is None
        else _row(LAZY_WRITER_ROW, values_of(LAZY_WRITER_ROW, host.lazy_writer))
    )
    return {
        "lazy_writer": row,
        "free_frames": np.zeros(host.frames if there or host.page_cleaner is not None else 0, np.uint32),
        "to_write": np.zeros((MOST_RUNS if there else 0, 2), np.int64),
        "extension_place": np.zeros(pages if host.extension_pages else 0, np.uint32),
        "extension_page": np.zeros(host.extension_pages, np.int64),
    }


def _copies(builder: PlantBuilder, sessions: int, levels: int) -> dict[str, NDArray[Any]]:
    """Return what sessions copy: nothing so far."""
    rows = np.zeros(sessions, COPY_ROW)
    rows["working"] = [builder.queue() for _ in range(sessions)]
    return {"copies": rows, "copied": np.zeros((sessions, levels), np.int64)}


def _writer(builder: PlantBuilder, host: DatabaseHost) -> dict[str, NDArray[Any]]:
    """Put the background writer into the plant, if there is one, and return its row."""
    if host.background_writer is None:
        return {"writer": np.zeros(0, WRITER)}
    if host.policy != SWEEP:
        raise ScenarioError("a background writer goes ahead of PostgreSQL's sweep; leave it out, or choose the sweep")
    station = builder.station(
        BACKGROUND_WRITER, 0, "background writer", {}, MOST_WRITE_BACK + 2, role="background writer"
    )
    return {"writer": _row(WRITER, writer_fields(host.background_writer, station))}


def _checkpointer(builder: PlantBuilder, host: DatabaseHost) -> dict[str, NDArray[Any]]:
    """Put the checkpointer into the plant, if there is one, and return its row and its list."""
    if host.checkpoints is None:
        return {"checkpointer": np.zeros(0, CHECKPOINTER_ROW), "checkpoints": np.zeros(0, CHECKPOINT)}
    if isinstance(host.checkpoints, Checkpoints):
        station = builder.station(CHECKPOINTER, 0, "checkpointer", {}, MOST_WRITE_BACK + 2, role="checkpointer")
        fields = checkpointer_fields(host.checkpoints, station)
    else:
        station = builder.station(BURSTS, 0, "checkpointer", {}, MOST_BURST_RUNS + 2, role="checkpointer")
        fields = burst_fields(host.checkpoints, station)
    return {
        "checkpointer": _row(CHECKPOINTER_ROW, fields),
        "checkpoints": np.zeros(_MOST_CHECKPOINTS, CHECKPOINT),
    }


def _write_backs(host: DatabaseHost) -> NDArray[np.int64]:
    """Return empty lists of the checkpointer and of the background writer, with how many pages
    each hands on together.
    """
    enough = (
        host.checkpoints.flush_after_pages if isinstance(host.checkpoints, Checkpoints) else 0,
        0 if host.background_writer is None else host.background_writer.flush_after_pages,
    )
    lists = np.zeros((2, MOST_WRITE_BACK + 2), np.int64)
    lists[:, 1] = np.minimum(enough, MOST_WRITE_BACK)
    return lists


def _files(relations: Sequence[Relation], tables: int) -> dict[str, NDArray[Any]]:
    """Return the files that indexes and heaps are cut into: the first of each level's relation, where each begins, none
    of them written. Relations behind the *tables* are indexes.
    """
    level_file: list[int] = []
    file_start = [0]
    for place, relation in enumerate(relations):
        heap_level = len(relation.level_pages) - (place < tables)
        for parts in (relation.level_pages[:heap_level], relation.level_pages[heap_level:]):
            pages = sum(parts)
            level_file += [len(file_start) - 1] * len(parts)
            start = file_start[-1]
            if pages:
                file_start += [
                    min(start + size, start + pages) for size in range(PAGES_A_FILE, pages + PAGES_A_FILE, PAGES_A_FILE)
                ]
    return {
        "level_file": np.array(level_file, np.int64),
        "level_files": np.ones(len(level_file), np.int64),
        "file_start": np.array(file_start, np.int64),
        "written_files": np.zeros(len(file_start) - 1, np.uint8),
        "file_changed_ns": np.zeros(0, np.int64),
    }


def _data_files(relations: Sequence[Relation], level_pages: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """Return the files of InnoDB: one for each table with its indexes."""
    first: dict[str, int] = {}
    file_start: list[int] = []
    start = level = 0
    for relation in relations:
        if relation.file not in first:
            first[relation.file] = len(file_start)
            file_start += [start] * max(other.tables for other in relations if other.file == relation.file)
        behind = level + len(relation.level_pages)
        start, level = start + int(level_pages[level:behind].sum()), behind
    of_levels = [r for r in relations for _ in r.level_pages]
    return {
        "level_file": np.array([first[r.file] for r in of_levels], np.int64),
        "level_files": np.array([r.tables for r in of_levels], np.int64),
        "file_start": np.array([*file_start, start], np.int64),
        "written_files": np.zeros(len(file_start), np.uint8),
        "file_changed_ns": np.zeros(len(file_start), np.int64),
    }


def _page_cache(builder: PlantBuilder, host: DatabaseHost) -> dict[str, NDArray[Any]]:
    """Put the operating system's page cache into the plant, if there is one, and return its row."""
    pages = host.os_cache_pages
    places = FIRST_PLACE + pages if pages else 0
    tables: dict[str, NDArray[Any]] = {
        "page_cache": np.zeros(0, PAGE_CACHE_ROW),
        "dirty_since_ns": np.zeros(places, np.int64),
        "dirty_newer": np.zeros(places, np.uint32),
        "dirty_older": np.zeros(places, np.uint32),
    }
    if pages == 0:
        return tables
    cache = builder.row("flash_caches", first=builder.reserve("cached_blocks", FIRST_PLACE + pages), blocks=pages)
    station = builder.station(PAGE_CACHE, 0, "page cache", {}, PAGES_AT_ONCE + MOST_WRITE_BACKS + 1, role="page cache")
    fields = page_cache_fields(station, cache, builder.queue(), builder.queue(), pages)
    return {**tables, "page_cache": _row(PAGE_CACHE_ROW, fields)}


def _row(kind: np.dtype[Any], fields: Mapping[str, int]) -> NDArray[Any]:
    row = np.zeros(1, kind)
    for name, value in fields.items():
        row[name] = value
    return row


def _replacement(host: DatabaseHost, pages: int, sessions: int) -> dict[str, NDArray[Any]]:
    """Return what decides which page has to go; nothing is written but the heads of empty lists."""
    timed = host.policy == LRU2
    heads = 2 if host.policy == MIDPOINT else 1
    newer, older = (np.zeros(host.frames + heads, np.uint32) for _ in range(2))
    ring_newer, ring_older = (np.zeros(host.frames + sessions, np.uint32) for _ in range(2))
    for links in (newer, older, ring_newer, ring_older):
        links[host.frames :] = np.arange(host.frames, len(links))
    return {
        "replacement": np.array([host.policy, host.correlated_ns, host.retained_ns, host.ramp_pages], np.int64),
        "newer": newer,
        "older": older,
        "times_ns": np.zeros((pages if timed else 0, 3), np.int64),
        "heap": np.zeros(host.frames if timed else 0, np.uint32),
        "heap_ns": np.zeros((host.frames if timed else 0, 2), np.int64),
        "heap_place": np.zeros(host.frames if timed else 0, np.uint32),
        "ring_newer": ring_newer,
        "ring_older": ring_older,
        "ring_of": np.zeros(host.frames, np.uint32),
        "ring_length": np.zeros(sessions, np.int64),
        "ring_pages": np.array([0, min(host.ring_bytes // host.page_bytes, host.frames // POOL_PART)], np.int64),
    }


#: Records of the tables that have columns, and dimensions of those that have two.
_RECORDS = {
    "sessions": SESSION, "asked": ASKED, "read_streams": READ_STREAM, "copies": COPY_ROW, "locks": LOCKED_ROW,
    "demands": DEMAND, "row_sources": ROW_SOURCE, "placed": PLACED, "lazy_writer": LAZY_WRITER_ROW,
    "midpoint": MIDPOINT_ROW,
    "midpoint_frames": MIDPOINT_FRAME, "page_cleaner": PAGE_CLEANER_ROW, "writer": WRITER, "page_cache": PAGE_CACHE_ROW,
    "log": LOG_ROW, "binary_log": BINARY_LOG_ROW, "journals": JOURNAL_ROW, "checkpointer": CHECKPOINTER_ROW,
    "checkpoints": CHECKPOINT,
    "holds": HOLD,
}  # fmt: skip
_PLANES = {"spending", "io_starts", "copied", "spent", "row_sources", "placed", "times_ns", "heap_ns", "to_write",
           "batches", "log_blocks", "write_backs", "history"}  # fmt: skip


def _no_rows(name: str, annotation: Any) -> NDArray[Any]:
    kind = _RECORDS[name] if name in _RECORDS else get_args(get_args(annotation)[1])[0]
    return np.zeros((0, 0) if name in _PLANES else 0, kind)


_TABLES: dict[str, Any] = {
    name: laws_of([]) if name == "laws" else _no_rows(name, annotation)
    for name, annotation in get_type_hints(Database).items()
}
#: What the engines work on when nobody runs statements: tables of the same kinds, so the same machine code takes them,
#: with no row in any.
NO_DATABASE = Database(**_TABLES)
