"""The arrays that a simulated database lives in; the engines and their kernels share them, as they share a plant's."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import KIND_NAMES
from tiersim.kernel import table_set
from tiersim.simulator.popularity import Laws

#: Kinds of station besides those of the devices, see :mod:`tiersim.simulator.station`.
(
    PROCESSORS,
    BUFFER_POOL,
    BACKGROUND_WRITER,
    PAGE_CACHE,
    READERS,
    LOG_STATION,
    CHECKPOINTER,
    COPIES,
    LOG_BLOCKS,
    BURSTS,
    PAGE_CLEANER,
    BINARY_LOG,
    LOG_THREADS,
    JOURNAL,
) = range(len(KIND_NAMES), len(KIND_NAMES) + 14)

#: What a demand asks for, in the order of the codes: COMPUTE a share of the statement's CPU; LOOKUP a row, through its
#: index; AGAIN the row that the session looked up last in the same table; LOG the record of a commit, made durable with
#: all before it; SCAN pages of a heap one after the other; LOOKUPS many rows, with reads ahead; LOCK the row that the
#: session looked up last, until its transaction ends, and change it when it is had; SPILL bytes to temp blocks, and
#: read them back; COPY pages past the pool, see :mod:`tiersim.simulator.database.sessions.copies`.
COMPUTE, LOOKUP, AGAIN, LOG, SCAN, LOOKUPS, LOCK, SPILL, COPY = range(9)

#: Operations of requests to the pool besides READ: start to read what is not there, and return at once; wait until one
#: more of the pages that the session reads ahead has come; (made by the pool) read pages whose frames are there. The
#: log and the page cache have meanings of their own for them.
PREFETCH, AWAIT, FILL = range(4, 7)
#: Operation of the pool itself: write pages that have left it into its extension.
EXTEND = 7
#: Operation of a slice of CPU that goes before those that wait.
URGENT = FILL
#: Most pages of such a request (SQL Server reads ahead up to 64 at a time).
MOST_PAGES = 64

#: What a statement waits for before it starts: its recorded time; its session; until so many sessions, those before its
#: own, are over.
CLOCK, OWN, AFTER = range(3)

#: Phase of a session: its next statement has not started, its client works on it, it runs.
BETWEEN, CALLING, RUNNING = range(3)

#: Where the row of a rank lies: anywhere, and elsewhere in the index; anywhere, in both alike; so far from the end of
#: both.
INDEPENDENT, ALIKE, RECENT = range(3)

#: State of a frame of the pool.
FREE, READING, VALID = range(3)

#: Where the time of a statement goes: CPU as it was served (a slower core included), waiting for a core, waiting for
#: pages, of that the writing of a page that had to go first, waiting for the log, for rows that others have locked, for
#: temp blocks, for copies.
SPENT = ("cpu", "cpu queue", "data read", "eviction", "log", "lock", "temp", "copy")
ON_CPU, FOR_CPU, FOR_READ, FOR_EVICTION, FOR_LOG, FOR_LOCK, FOR_TEMP, FOR_COPY = range(len(SPENT))
#: Which page has to go: PostgreSQL's sweep; the one whose last use is longest ago; the one whose last use but one is;
#: InnoDB's list with a midpoint.
SWEEP, LRU, LRU2, MIDPOINT = range(4)
#: LRU-2: what ``used`` says of a frame whose page is being written so that it can go.
GOING = 1
#: What a page was read through, when a session does not want to fill the pool with what it reads only once.
NO_RING, BULK_READ = range(2)

#: A session has no page in mind.
NO_PAGE = -1

#: A slice of CPU is no longer; so many pages are referred to before one is charged.
SLICE_NS = 1_000_000
BURST = 64


def record(*names: str, indices: tuple[str, ...] = ()) -> np.dtype[Any]:
    """Return a row of integers of these names: 64 bits, those of *indices* 32 and unsigned."""
    return np.dtype([(name, np.uint32 if name in indices else np.int64) for name in names], align=True)


SESSION = record(
    "first",  # of its statements
    "next",  # that it runs, or will
    "end",  # behind its last
    "phase",
    "demand",  # of the running statement
    "reference",  # pages of the demand that were referred to
    "row",  # that the demand looks up
    "looked_up",  # the last row that the session looked up
    "charge_ns",  # CPU that was used and not charged yet
    "missing",  # page that it asks the pool for, or -1
    "missing_pages",  # from that one on
    "missing_op",  # READ, PREFETCH or AWAIT
    "dirties",  # it is to be changed when it is there
    "fetched",  # page that was asked for and is to be changed, or -1
    "change_bytes",  # of the log, of that change
    "leaf",  # of the index that the row was looked up through, which gets an entry when that page is changed, or -1
    "index",  # the next other one that gets an entry, or -1, and the level of it that is referred to next
    "level",
    "step",  # of a demand that is made of two: 0, or 1 when the first is done
    "started_ns",  # when the running statement was first served, or -1
    "transaction_ns",  # when its transaction began, or -1
    "ended_ns",  # when its last statement ended
    "asked_ns",  # since when it waits
    "waits",  # what for, a place in SPENT
    "part_ns",  # of this wait: CPU that was served, or the writing of old pages
    "in_flight",  # pages that are being read ahead for it
    "awaiting",  # slot of its request that waits for one of them, or NONE
    "ring",  # through which it reads pages: NO_RING, BULK_READ
    # it has gone through its part of a scan that others share: 1 and has CPU to be charged, 2 and waits for them
    "streamed",
    "spill_bytes",  # where its temp blocks begin
    "locks",  # rows that it has locked
    "next_waiter",  # session + 1 behind it that waits for the same row, or rests until as many are over
    indices=("first", "next", "end", "awaiting"),
)

#: Columns of ``log_blocks``: up to which position a block goes, where it lies on its volume and how long it is there,
#: when its write began, whether it is durable.
BLOCK_END, BLOCK_OFFSET, BLOCK_BYTES, BLOCK_BEGAN_NS, BLOCK_DURABLE = range(5)
#: A checkpoint as a result; what has not come yet is 0.
CHECKPOINT = record("start_ns", "written_ns", "end_ns", "pages", "written_pages", "log_bytes", "trigger")
#: State of a page of a checkpoint: it has to write it; another has.
CHECKPOINT_PENDING, CHECKPOINT_WRITTEN = 1, 2
#: Files of a relation are so long at most (1 GiB of 8 KiB, RELSEG_SIZE).
PAGES_A_FILE = 131_072
#: Columns of ``history``.
HISTORY = (
    *("dirty pages", "log bytes", "log flushes", "checkpoint pages", "checkpoint phase"),
    *("pages asked of the OS cache", "pages hit there"),
)

DEMAND = record(
    "kind",
    "table",
    "dirties",
    "share",
    "log_bytes",
    "pages",
    "start_page",
    "rows",
    "depth",
    "block_pages",
    "full",
    "in_order",
    "threshold",
    "degree",
    "temp_bytes",
    "rank",
    "page_ns",
    "paced_ns",
    "tables",
    "station",
    "file_bytes",
    "restores",
    "ratio",
    "entry_share",
    "needs_room",
    "changed",
)

#: What a session copies; pages of each level that were taken are in ``copied``.
COPY_ROW = record(
    "place",  # of its demand
    "turn",  # the volume that pages were taken from, or are for, last
    "file_bytes",  # how far the file is read or written
    "working",  # queue of pieces whose pages are to be worked on
    "busy",  # pieces whose pages are
    indices=("working",),
)

#: Pages that a session goes through in order, see :mod:`tiersim.simulator.database.sessions.read_stream`; they are
#: counted within the demand.
READ_STREAM = record(
    "open",
    "position",  # the next page that the session takes
    "ahead",  # the next one that no read has been started for; those in between it may take soon
    "pending",  # pages from there on that the next read will be for
    "end",  # behind the last page that this session goes through
    "ended",  # it has asked for a page behind that one, and found none
    "distance",  # how far it looks ahead
    "ios",  # reads that were started and not waited for
    "first_io",  # place of the oldest in `io_starts`
    "in_hand",  # a page was taken and its rows are not looked at yet
    "leader",  # of a helper: session + 1 whose scan it shares
    "first_helper",  # of a leader: session + 1 of those that share its scan; 0: nobody does
    "next_helper",  # of a helper: session + 1 of the next one of its leader, and of the one before
    "previous_helper",
    "allotted",  # of a leader: pages that have been given to somebody
    "chunk_pages",  # so many are given at a time
    "due_ns",  # when the pages of the next read may be taken
)

#: A row that a session has locked. Sessions have MOST_LOCKS places each, one behind the other; numbers of places and
#: sessions count from 1.
MOST_LOCKS = 8
LOCKED_ROW = record("rank", "table", "row", "next", "first_waiter", "last_waiter")

#: Where the row lies that was looked for last, so that each page of a lookup need not ask anew; 0: none was.
#: Behind that the rounds of the permutation that says where rows lie.
PLACED = record("rank_after", "place", "first", "second", "third", "fourth")

#: What the ranks of a table's rows are drawn from, see :mod:`tiersim.simulator.popularity`; and for what: to look up
#: one or many, to fill the pool.
ROW_SOURCE = record("of_part", "within")
OF_ONE, OF_MANY, TO_WARM = range(3)

#: What a station of the database knows of a request that it holds, one row per slot; beside the HOLD of the devices.
HOLD = record(
    "phase",  # what the request does: each station has its own numbers
    # up to where the page cache and the pool have come; the block that the log writes; the first page that a copy holds
    "position",
    # of what the page cache reads, and where a copy is in its file; the page that a session has written to make room
    "start_bytes",
    "end_bytes",
    "chain",  # next that waits for the same page of the pool
    "level",  # whose pages a copy holds; of a batch of the page cleaner: the file that it looks at next
    "pages",  # that it holds
    "work_ns",  # CPU that it has still to use
    indices=("chain",),
)

#: A request that a session asks for.
ASKED = record("station", "op", "offset_bytes", "length_bytes", "category", indices=("station",))

#: Places in ``readers``: how many processes read ahead for the sessions, how many of them are busy, the queue of what
#: they are to read.
READERS_COUNT, READERS_BUSY, READERS_QUEUE = range(3)
#: Places in ``costs``: the fields of :class:`tiersim.simulator.database.sessions.processors.Costs`.
(
    LOOKUP_NS, PAGE_NS, SCAN_PAGE_NS, SCAN_ROW_NS, READ_NS, ASYNC_READ_NS, READ_PAGE_NS, SCAN_READ_NS, EVICT_CLEAN_NS,
    EVICT_DIRTY_NS, CHANGE_NS, LOG_IO_NS,
) = range(12)  # fmt: skip
#: Places in ``pool_state``: the hand of the sweep, frames that were ever used, the queue of what may start, frames that
#: were taken so far, laps of the hand, frames in the heap of LRU-2, when it saw a page last, what its time was when the
#: run began, how many pages are dirty, how many frames are in ``free_frames``, and how many dirty pages who needed a
#: frame wrote by itself.
(
    HAND, UNUSED, READY, TAKEN, LAPS, IN_HEAP, CLOCK_NS, ORIGIN_NS, DIRTY_PAGES, FREE_FRAMES, EVICTED_DIRTY,
) = range(11)  # fmt: skip
#: Places in ``replacement``: SWEEP, LRU, LRU2 or MIDPOINT; of LRU-2 its correlated and its retained period; how many
#: pages a page brings with it while there are frames that were never used.
POLICY, CORRELATED_NS, RETAINED_NS, RAMP_PAGES = range(4)
#: Places in ``temp_state``.
TEMP_POSITION, TEMP_BYTES = range(2)
#: Places in ``counted_ns``: statements that start before are in no statistics, and from when on nobody starts a
#: transaction.
COUNTED_FROM, UNTIL = range(2)
#: Temp files are written and read in blocks of this length.
TEMP_BLOCK_BYTES = 128 << 10
#: Places in ``session_counts``: those that are over, and those that run a statement of a transaction.
SESSIONS_OVER, SESSIONS_ACTIVE = range(2)
#: Who is next for a core: who came first; of two drawn at random who has waited longer; one drawn at random.
IN_ORDER, OLDER_OF_TWO, AT_RANDOM = range(3)
#: Places in ``cpu_order``: which of these it is, how many slices wait, how often one was drawn, and from what.
RULE, WAITING_SLICES, CHOICES, CHOICE_SOURCE = range(4)
#: Places in ``stations``.
AT_PROCESSORS, AT_POOL, AT_LOG, AT_READERS, AT_TEMP, AT_COPIES, AT_EXTENSION, AT_CLEANER, AT_BINARY_LOG = range(9)


@table_set
class Database(NamedTuple):
    """Sessions, their statements, and what these run on."""

    sessions: NDArray[Any]  # SESSION
    asked: NDArray[Any]  # ASKED, one for each session
    spending: NDArray[np.int64]  # (sessions, SPENT): ns of the running statement
    called: NDArray[np.int64]  # how many sessions the last step called, and which
    read_streams: NDArray[Any]  # READ_STREAM, one for each session
    io_starts: NDArray[
        np.int64
    ]  # (sessions, most reads ahead): first page of each read that was started and not waited for
    first_helper: NDArray[np.int64]  # (1,): sessions from here on have no statements, but share the scans of others
    idle_helpers: NDArray[np.int64]  # how many there are, and which
    session_counts: NDArray[np.int64]  # SESSIONS_OVER, SESSIONS_ACTIVE
    resting: NDArray[np.int64]  # (clients + 1,): session + 1 of those that rest until so many are over; 0: nobody does
    first_number: NDArray[
        np.int64
    ]  # (clients + 1,): of the first statement of each, see Statements.planned; its rows are drawn by it
    copies: NDArray[Any]  # COPY_ROW, one for each session; none: nobody copies
    copied: NDArray[np.int64]  # (copies, levels): pages
    locks: NDArray[Any]  # LOCKED_ROW
    lock_heads: NDArray[np.int64]  # first place of each list in which locked rows are looked up; a power of two
    locks_passed: NDArray[np.int64]  # (1,): row locks that would have been out of order and were not taken
    # by statement, those of a session together and in order
    statement_class: NDArray[np.int32]
    waits_for: NDArray[np.uint8]
    start_ns: NDArray[np.int64]  # recorded
    think_ns: NDArray[np.int64]
    client_ns: NDArray[np.int64]  # CPU before it: of a client that shares the processors
    cpu_ns: NDArray[np.int64]
    begins: NDArray[np.uint8]  # 1: a transaction begins with it
    ends: NDArray[np.uint8]
    done_ns: NDArray[np.int64]  # written while time moves
    counted_ns: NDArray[np.int64]  # COUNTED_FROM, UNTIL
    spent: NDArray[np.int64]  # (classes, SPENT): ns, summed over the statements that have ended
    # by class
    category: NDArray[np.int64]  # its column of the metrics, behind FIRST_CLASS: several classes may be counted as one
    calls: NDArray[np.int64]  # statements that are counted
    pages_read: NDArray[np.int64]  # into the pool, for these
    first_demand: NDArray[np.int64]  # (classes + 1,)
    demands: NDArray[Any]  # DEMAND
    # by table, see tiersim.simulator.popularity
    rows: NDArray[np.int64]
    ordered: NDArray[np.int64]  # INDEPENDENT, ALIKE, RECENT
    row_sources: NDArray[Any]  # ROW_SOURCE (tables, OF_ONE ...)
    placed: NDArray[Any]  # PLACED (tables, 2): in the heap, in an index of another order
    first_changed: NDArray[np.int64]  # (tables + 1,): of rows that were changed last, for those that demands ask for
    changed_rank: NDArray[np.int64]  # a ring for each table
    changes: NDArray[np.int64]  # (tables,): how many there were
    first_moved: NDArray[np.int64]  # (tables + 1,): rows that updates moved, see tiersim.simulator.popularity
    moved_rank: NDArray[np.int64]
    moved_page: NDArray[np.int64]  # counted behind the pages that the others lie on
    moved_pages: NDArray[np.int64]  # (tables,): how many pages these are
    next_index: NDArray[np.int64]  # (tables,): another index that gets its entries, too, a table of its own; -1: none
    first_level: NDArray[np.int64]  # (tables + 1,)
    level_start: NDArray[np.int64]  # (levels,): first page
    level_pages: NDArray[np.int64]
    level_station: NDArray[np.uint32]
    file_order: NDArray[np.int64]  # (levels,): which come first as files were made: a table's heap before its indexes
    level_temp: NDArray[np.uint8]  # 1: of a temporary database, which nobody recovers
    has_room: NDArray[np.uint8]  # (pages,): 1: a page of a heap with room for a new version of a row
    # (pages,): of a heap, rank + 1 of a row whose old version's entry in the index no lookup has met; none: no updates
    dead_entry: NDArray[np.int64]
    laws: Laws
    # the pool; frames that were never used hold zeros, so that they cost no memory
    frame_of: NDArray[np.uint32]  # (pages,): frame + 1; 0 when a page is in none
    page_of: NDArray[np.int64]  # (frames,); -1: none
    state: NDArray[np.uint8]
    used: NDArray[np.uint8]  # the sweep: usage count; LRU-2: GOING or 0
    dirty: NDArray[np.uint8]
    chain: NDArray[np.uint32]  # slots that wait for the page of a frame
    leaving: NDArray[np.int64]  # dirty page + 1 that must be written before its page can be read
    starting: NDArray[np.uint8]  # 1: its page is to be read and the read has not started
    ahead_for: NDArray[np.uint32]  # session + 1 for which its page is read ahead
    pool_state: NDArray[np.int64]
    readers: NDArray[np.int64]
    replacement: NDArray[np.int64]
    # (frames + 1,): by last use, for LRU and LRU-2, see tiersim.simulator.database.buffer_pool.frame_lists; of MIDPOINT
    # two lists, (frames + 2,): of young and of old pages
    newer: NDArray[np.uint32]
    older: NDArray[np.uint32]
    times_ns: NDArray[np.int64]  # (pages, 3): of LRU-2, also of pages that have left
    heap: NDArray[np.uint32]  # (frames,): of LRU-2
    heap_ns: NDArray[np.int64]  # (frames, 2): uses by which what is at a place of the heap stands there
    heap_place: NDArray[np.uint32]  # (frames,): place in the heap + 1; 0: in none
    ring_newer: NDArray[np.uint32]  # (frames + sessions,): frames of the ring of each session
    ring_older: NDArray[np.uint32]
    ring_of: NDArray[np.uint32]  # (frames,): session + 1; 0: in no ring
    ring_length: NDArray[np.int64]  # (sessions,)
    ring_pages: NDArray[np.int64]  # by kind of ring: how many frames one has
    lazy_writer: NDArray[Any]  # LAZY_WRITER_ROW; none: frames are taken from their pages as they are needed
    free_frames: NDArray[np.uint32]  # that hold no page any more
    to_write: NDArray[np.int64]  # (runs, 2): first page and number of pages that are to be written so that some can go
    extension_place: NDArray[np.uint32]  # (pages,): place in the pool's extension + 1; 0: in none
    extension_page: NDArray[np.int64]  # (places,): page + 1; 0: none
    midpoint: NDArray[Any]  # MIDPOINT_ROW; none: pages are replaced in another way
    midpoint_frames: NDArray[Any]  # MIDPOINT_FRAME
    page_cleaner: NDArray[Any]  # PAGE_CLEANER_ROW; none: pages are written when they have to go
    batches: NDArray[np.int64]  # (cleaners, BATCH_FIRST + pages): see tiersim.simulator.database.buffer_pool.flush_list
    flush_newer: NDArray[np.uint32]  # (frames + 1,): changed pages by their first change
    flush_older: NDArray[np.uint32]
    oldest_position: NDArray[np.int64]  # (frames,): of the log, before that change
    writer: NDArray[Any]  # WRITER; none: nobody writes pages before they have to go
    page_cache: NDArray[Any]  # PAGE_CACHE_ROW; none: pages are read and written past the operating system
    dirty_since_ns: NDArray[np.int64]  # by place in the page cache
    dirty_newer: NDArray[np.uint32]  # ring of its dirty pages by when they became so; its head is NOWHERE
    dirty_older: NDArray[np.uint32]
    # processors
    cores: NDArray[np.int64]  # (1,)
    in_service: NDArray[np.int64]  # (1,)
    cpu_queue: NDArray[np.int64]  # (1,)
    cpu_order: NDArray[np.int64]  # RULE, WAITING_SLICES, CHOICES, CHOICE_SOURCE
    slowdown: NDArray[np.int64]  # (cores + 1,): of a slice when so many cores are busy with it, in thousandths
    stations: NDArray[np.uint32]  # by AT_PROCESSORS and so on
    costs: NDArray[np.int64]
    temp_state: NDArray[np.int64]
    # the log and the checkpointer
    log: NDArray[Any]  # LOG_ROW
    log_blocks: NDArray[np.int64]  # (blocks, 5): BLOCK_END and so on, a ring
    binary_log: NDArray[Any]  # BINARY_LOG_ROW; none: a commit is done when the log is flushed
    journals: NDArray[Any]  # JOURNAL_ROW: of file systems whose files the database syncs
    journal_of: NDArray[np.uint32]  # by station of a volume: that of its journal
    checkpointer: NDArray[Any]  # CHECKPOINTER_ROW; none: no checkpoints
    checkpoints: NDArray[Any]  # CHECKPOINT
    page_position: NDArray[np.int64]  # (pages,): of the log, behind the record of its last change
    checkpoint_mark: NDArray[np.uint8]  # (pages,)
    write_backs: NDArray[np.int64]  # lists of pages, see tiersim.simulator.database.write_backs
    level_file: NDArray[np.int64]  # (levels,): first file of the relation that a level lies in
    level_files: NDArray[np.int64]  # (levels,): over how many files of InnoDB it is spread evenly
    file_start: NDArray[np.int64]  # (files + 1,): first page; of InnoDB's files, which have several runs, one of it
    written_files: NDArray[np.uint8]  # (files,): 1: written to and not synced
    file_changed_ns: NDArray[np.int64]  # (files,): when its metadata changed, see tiersim.simulator.database.journal
    history: NDArray[np.int64]  # (intervals, HISTORY): at the end of each
    page_bytes: NDArray[np.int64]  # (1,)
    seed: NDArray[np.int64]  # (1,)
    holds: NDArray[Any]  # HOLD[slots]
