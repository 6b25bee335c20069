"""InnoDB's page cleaners as a passive machine: rounds that keep frames free and changed pages young.

**A round** begins every *interval_ns*, and at once when frames run short or sessions wait for the log. Its first part
goes from the tail of the pool's list forward, over *scan_depth* pages at most, until so many frames are free: clean
pages go, changed ones are written and go then. Its second part writes the pages that were changed first, as many as
:mod:`.adaptive_flushing` says. MySQL writes both beside each other (*workers* cleaners), MariaDB one batch at a time;
there only io_capacity_max pages are written in a round, the next of which begins *interval_ns* behind its beginning.

**MariaDB's rounds** (buf0flu.cc, buf_flush_page_cleaner, as the counters of 10.11.19 show it) have the first part alone
while frames run short: a load that needs *scan_depth* / 2 frames in less than *interval_ns* lets changed pages grow
old. A round that finds neither too many changed pages nor an old checkpoint lets the cleaner sleep until frames run
short, changed pages are too many, or the checkpoint is older than *async_bytes*.

**A batch** of *batch_pages* waits for the log up to its changes, goes to the doublewrite file as one write, which is
flushed if *flush_doublewrite*, then to the places of its pages, all at once, which is followed by a flush if
*flush_data* of each data file (:mod:`.data_files`; buf0dblwr.cc; MySQL 8.0.20: innodb_doublewrite_pages).

**The age of the checkpoint** is how much of the log lies behind the oldest change that is not written
(:mod:`.flush_list`). Beyond *sync_bytes* MySQL writes round after round up to twice
io_capacity_max pages; beyond *async_bytes* MariaDB writes what is older, up to io_capacity_max. From *most_bytes* on
who changes a page waits until the age is less, and MariaDB writes without limit (log0files_capacity.cc; MariaDB:
mtr0mtr.cc, log_close; log_checkpoint_margin).

Requests: FLUSH, a round (its length is the delay, its offset says why); WRITE, a batch; AWAIT, room in the log, and
READ, which waits for it. All pool instances are one.
"""

from dataclasses import dataclass

from tiersim.devices import requests
from tiersim.devices.plant import settings_of, values_of
from tiersim.devices.requests import add_background, add_child
from tiersim.devices.station_records import NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.simulator.database.buffer_pool.adaptive_flushing import (
    MARIADB,
    MYSQL,
    SCAN_FACTOR,
    percent_for_age,
    percent_for_dirty,
    percent_of_mariadb,
    wanted_pages,
    works_on_list,
)
from tiersim.simulator.database.buffer_pool.data_files import file_to_flush, flush_doublewrite, note_written
from tiersim.simulator.database.buffer_pool.flush_list import (
    BATCH_FIRST,
    BATCH_PAGES,
    BATCH_POSITION,
    arm_cleaner,
    checkpoint_age,
    count_older,
    has_room_in_log,
    later,
    oldest,
)
from tiersim.simulator.database.buffer_pool.midpoint import LEAVES, WRITTEN, before, free_frame, let_go, tail
from tiersim.simulator.database.buffer_pool.pages import clean, level_of, station_of, volume_of
from tiersim.simulator.database.database_state import (
    AT_LOG,
    AT_POOL,
    AWAIT,
    DIRTY_PAGES,
    FREE_FRAMES,
    PREFETCH,
    READY,
    TAKEN,
    UNUSED,
    VALID,
    Database,
    record,
)
from tiersim.simulator.database.journal import add_sync

#: Pages of a batch: MySQL 8.0.20 and later 4, 8.4 128; MariaDB 2 x 64 (buf0dblwr.cc).
MOST_BATCH = 128
#: Where a batch is: it waits for the log; is in the doublewrite file; that is flushed; pages are written; flushed.
_LOGGING, _DOUBLING, _DOUBLED, _WRITING, _SYNCING = range(5)
#: Why a round begins: its time has come; frames are short; a session waits for the log.
_BY_TIME, _FOR_FRAMES, _FOR_LOG = range(3)
#: Pages of an extent.
_EXTENT = 64
#: Of scan_depth frames this part is left when MariaDB's cleaner begins.
_SHORT = 2
#: MariaDB waits for so little more of the log at a time.
_STEP_BYTES = 1 << 20


@dataclass(frozen=True)
class PageCleaner:
    """Settings, by default those of MariaDB 10.11 with 96 MiB of redo; ``most_percent`` and ``low_percent`` are
    innodb_max_dirty_pages_pct and its low mark.

    ``async_bytes``, ``sync_bytes`` and ``most_bytes`` are ages of the checkpoint, ``low_bytes`` that from which on it
    counts.
    """

    form: int = MARIADB  # or MYSQL
    interval_ns: int = 1_000_000_000
    scan_depth: int = 1536
    io_capacity: int = 200
    io_capacity_max: int = 400
    neighbours: bool = False
    workers: int = 1
    batch_pages: int = MOST_BATCH
    doublewrite: bool = True  # pages go there first
    flush_doublewrite: bool = True
    flush_data: bool = True
    fsync: bool = False  # data files are flushed by it, not by fdatasync
    low_percent: float = 0.0
    most_percent: float = 90.0
    low_bytes: int = 10 << 20
    async_bytes: int = 68 << 20
    sync_bytes: int = 68 << 20
    most_bytes: int = 78 << 20
    loops: int = 30  # seconds that averages go over
    most_singles: int = 0  # pages that sessions write at once; 0: any number


PAGE_CLEANER_ROW = record(
    "station",
    "waiting",  # queue of sessions that wait for room in the log
    *settings_of(PageCleaner),
    "doublewrite_station",  # it lies where that volume begins
    "doublewrite_changed_ns",  # when its metadata changed
    "low_percent",  # of changed pages, in thousandths of a per cent
    "most_percent",
    "armed",
    "called",  # a round for frames is on its way
    "taken",  # frames, when it was called
    "running",  # batches of the round that runs
    "due",  # 1 + why, of the next round when that one is over
    "to_look",  # pages that are still to be looked at from the tail
    "to_free",  # frames that are to be free
    "to_write",  # pages from the tail that may still be written
    "listed",  # pages of the flush list that are still to be written
    "position",  # up to which these were changed
    "leaving",  # frames that will be free when they are written
    "round_ns",  # when the last round began
    "asleep",  # MariaDB's, until it is woken
    "rounds",  # of a second, since the averages were renewed
    "page_sum",
    "page_rate",
    "log_rate",
    "log_seen",
    "seen_ns",
    "log_before",  # at the last round
    "taken_before",
    "written_pages",
    "lru_pages",  # of these, that had to go
    "batches",
    "file_flushes",  # of data files behind batches
    "freed_frames",  # clean
    "single_pages",  # that sessions wrote
    "singles",  # of these, that are being written
    "log_waits",
    indices=("station", "waiting", "doublewrite_station"),
)


@kernel
def free_frames(d: Database) -> int:
    """Return how many frames hold no page."""
    return int(d.pool_state[FREE_FRAMES] + len(d.page_of) - d.pool_state[UNUSED])


@kernel
def _least_frames(d: Database) -> int:
    """Return with fewer free frames than how many MariaDB's cleaner begins, if it looks at pages at all: with none in
    any case, as a session calls it then (buf0lru.cc, buf_LRU_get_free_block).
    """
    depth = d.page_cleaner[0]["scan_depth"]
    return int(min(max(depth // _SHORT, 1), depth))


@kernel
def wake_cleaner(p: Plant, d: Database, made: int) -> int:
    """Begin the rounds with the first page that is read, and one at once when frames are short; *made* children are
    there already.
    """
    if d.page_cleaner.size == 0 or made + 2 > p.children.size:
        return made
    c = d.page_cleaner[0]
    made = arm_cleaner(p, d, made)
    least = _least_frames(d) if c["form"] == MARIADB else 1
    if c["called"] or free_frames(d) >= least or c["taken"] == d.pool_state[TAKEN]:
        return made
    c["called"] = 1
    c["taken"] = d.pool_state[TAKEN]
    return add_background(p, made, c["station"], FLUSH, _FOR_FRAMES, 0)


@kernel
def accept_cleaner(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a round when its time comes, a batch at once, and a session that waits for the log."""
    request = p.requests[slot]
    if request["op"] == FLUSH:
        return int(now + max(request["length_bytes"], PASS_ON_NS))
    if request["op"] != READ or has_room_in_log(d):
        return now + PASS_ON_NS
    requests.append(p, d.page_cleaner[0]["waiting"], slot)
    return WAIT


@kernel
def choose_cleaner(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let go whoever waits for the log first, if there is room."""
    waiting = d.page_cleaner[0]["waiting"]
    slot = p.queues[waiting]["head"]
    if slot == NONE or not has_room_in_log(d):
        return NONE, NEVER, NEVER
    requests.remove(p, waiting, slot, NONE)
    return slot, now + PASS_ON_NS, NEVER


@kernel
def finish_cleaner(p: Plant, d: Database, slot: int) -> int:
    """Begin a round or a batch, or wait for the log."""
    c, request = d.page_cleaner[0], p.requests[slot]
    op = request["op"]
    if op == READ:
        return 0
    if op == AWAIT:
        c["log_waits"] += 1
        made = arm_cleaner(p, d, 0)  # one round may not make room
        made = add_background(p, made, c["station"], FLUSH, _FOR_LOG, 0)
        return add_child(p, made, c["station"], READ, 0, 0)
    if op == WRITE:
        return _begin_batch(p, d, slot, 0)
    made = 0
    now, why = request["accepted_ns"] + max(request["length_bytes"], PASS_ON_NS), request["offset_bytes"]
    if why == _BY_TIME:
        early_ns = c["round_ns"] + c["interval_ns"] - now
        if c["form"] == MARIADB and early_ns > 0:
            return add_background(p, made, c["station"], FLUSH, _BY_TIME, early_ns)
        made = add_background(p, made, c["station"], FLUSH, _BY_TIME, c["interval_ns"])
        if c["form"] == MYSQL:
            _look_at_log(d, now)
    elif why == _FOR_FRAMES:
        c["called"] = 0
    if c["running"] > 0:
        if why == _FOR_LOG or c["due"] != 1 + _FOR_LOG:
            c["due"] = 1 + why
        return made
    return _begin_round(p, d, made, why, now)


@kernel
def _look_at_log(d: Database, now: int) -> None:
    """Renew the averages every *loops* rounds, a second apart: pages written in a second, growth of the log in one.
    MariaDB does so after as many seconds, too, and counts rounds that work on the flush list by the age of the
    checkpoint.
    """
    c = d.page_cleaner[0]
    c["rounds"] += 1
    elapsed_ns = max(now - c["seen_ns"], 1)
    if c["rounds"] < c["loops"] and (c["form"] == MYSQL or elapsed_ns < c["loops"] * c["interval_ns"]):
        return
    c["page_rate"] = (c["page_rate"] + c["page_sum"] * c["interval_ns"] // elapsed_ns) // 2
    grown = d.log[0]["inserted"] - c["log_seen"]
    c["log_rate"] = (c["log_rate"] + int(grown * c["interval_ns"] / elapsed_ns)) // 2
    c["rounds"], c["page_sum"] = 0, 0
    c["log_seen"], c["seen_ns"] = d.log[0]["inserted"], now


@kernel
def _begin_round(p: Plant, d: Database, made: int, why: int, now: int) -> int:
    """Say what a round is to do, and begin its batches."""
    c = d.page_cleaner[0]
    c["round_ns"] = now
    c["listed"], c["position"] = 0, d.log[0]["inserted"] + 1
    c["to_look"], c["to_free"] = 0, min(c["scan_depth"], len(d.page_of) - 1)
    least = c["scan_depth"]
    if c["form"] == MARIADB:
        is_short = free_frames(d) < _least_frames(d)
        _want_listed_of_mariadb(d, why, is_short, now)
        if not is_short and c["listed"] == 0:
            least = 0
        c["to_write"] = max(c["io_capacity_max"] - c["listed"], min(c["io_capacity_max"], c["scan_depth"]))
    else:
        if why != _FOR_FRAMES:
            _want_listed(d, why)
        c["to_write"] = c["scan_depth"]
    if free_frames(d) < least and d.pool_state[UNUSED] == len(d.page_of):
        c["to_look"] = max(c["scan_depth"], 1)
    c["log_before"], c["taken_before"] = d.log[0]["inserted"], d.pool_state[TAKEN]
    if c["to_look"] == 0 and c["listed"] == 0:
        return made
    c["running"] = c["workers"]
    for _ in range(c["workers"]):
        made = add_background(p, made, c["station"], WRITE, 0, 0)
    return made


@kernel
def _want_listed(d: Database, why: int) -> None:
    """Say how many pages of the flush list a round of MySQL writes, and up to where in the log they were changed."""
    c, log = d.page_cleaner[0], d.log[0]
    age, dirty = checkpoint_age(d), d.pool_state[DIRTY_PAGES]
    if dirty == 0:
        return
    if age >= c["most_bytes"] or why == _FOR_LOG:
        c["position"] = log["inserted"] - c["most_bytes"] + _STEP_BYTES
        c["listed"] = count_older(d, c["position"], 2 * c["io_capacity_max"])
    elif age > c["sync_bytes"]:
        c["position"] = log["inserted"] - c["sync_bytes"] + SCAN_FACTOR * c["log_rate"]
        c["listed"] = count_older(d, c["position"], 2 * c["io_capacity_max"])
    elif why == _BY_TIME:
        c["listed"] = min(_adaptive(d, age), dirty)


@kernel
def _want_listed_of_mariadb(d: Database, why: int, is_short: bool, now: int) -> None:
    """Say the same of MariaDB, where frames may be short."""
    c, log = d.page_cleaner[0], d.log[0]
    age, dirty = checkpoint_age(d), d.pool_state[DIRTY_PAGES]
    if age >= c["most_bytes"] or why == _FOR_LOG:
        c["position"] = log["inserted"] - c["most_bytes"] + _STEP_BYTES
        c["listed"] = count_older(d, c["position"], dirty)
    elif age > c["async_bytes"]:
        c["position"] = log["inserted"] - c["async_bytes"]
        c["listed"] = count_older(d, c["position"], c["io_capacity_max"])
    elif is_short:
        c["asleep"] = 0
    elif why == _BY_TIME:
        share, low, most = dirty_percent(d), c["low_percent"] / 1000, c["most_percent"] / 1000
        rests = log["inserted"] == c["log_before"] and d.pool_state[TAKEN] == c["taken_before"]
        if low > 0 and c["asleep"] and rests:
            c["listed"] = min(c["io_capacity"], dirty)
        elif (c["asleep"] and low == 0 and share < most) or not works_on_list(age, c["low_bytes"], share, low, most):
            c["asleep"] = 1
        else:
            c["asleep"] = 0
            c["listed"] = min(_adaptive_of_mariadb(d, age, now), dirty)


@kernel
def dirty_percent(d: Database) -> float:
    """Return how many of its pages the pool has changed, in per cent; of MariaDB's free frames count."""
    frames = len(d.page_of)
    if d.page_cleaner[0]["form"] == MYSQL:
        frames = max(frames - free_frames(d), 1)
    return float(d.pool_state[DIRTY_PAGES] * 100 / frames)


@kernel
def _adaptive(d: Database, age: int) -> int:
    """Return how many pages of the flush list MySQL writes in a second by their number and the age of the
    checkpoint.
    """
    c, log = d.page_cleaner[0], d.log[0]
    if log["inserted"] == c["log_before"] and d.pool_state[TAKEN] == c["taken_before"]:
        return int(c["io_capacity"])  # idle
    ratio = float(c["io_capacity_max"] // c["io_capacity"])
    percent = max(
        percent_for_dirty(dirty_percent(d), c["low_percent"] / 1000, c["most_percent"] / 1000),
        percent_for_age(age, c["low_bytes"], c["async_bytes"], ratio),
    )
    start = log["inserted"] - age
    most_older = 2 * c["io_capacity_max"]
    older = count_older(d, start + SCAN_FACTOR * c["log_rate"], SCAN_FACTOR * most_older)
    return wanted_pages(percent, c["io_capacity"], float(c["page_rate"]), older / SCAN_FACTOR, c["io_capacity_max"])


@kernel
def _adaptive_of_mariadb(d: Database, age: int, now: int) -> int:
    """Return the same of MariaDB, whose averages begin anew where the checkpoint is young."""
    c, log = d.page_cleaner[0], d.log[0]
    if age < c["low_bytes"]:
        c["log_seen"], c["seen_ns"] = log["inserted"], now
        return int(c["io_capacity"])
    _look_at_log(d, now)
    ratio = c["io_capacity_max"] / c["io_capacity"]
    by_age = percent_for_age(age, c["low_bytes"], c["async_bytes"], ratio)
    percent = percent_of_mariadb(dirty_percent(d), c["low_percent"] / 1000, c["most_percent"] / 1000, by_age)
    older = count_older(d, log["inserted"] - age + SCAN_FACTOR * c["log_rate"], c["io_capacity_max"])
    older = max(older // SCAN_FACTOR, 1)
    return wanted_pages(percent, c["io_capacity"], float(c["page_rate"]), float(older), c["io_capacity_max"])


@kernel
def _begin_batch(p: Plant, d: Database, slot: int, made: int) -> int:
    """Take pages for a batch and begin to write them; if there are none, this cleaner's part of the round is over."""
    c, hold = d.page_cleaner[0], d.holds[slot]
    worker = _free_batch(d)
    hold["position"] = worker
    d.batches[worker, BATCH_PAGES] = 0
    d.batches[worker, BATCH_POSITION] = d.log[0]["inserted"]
    _take_from_tail(d, worker)
    _take_from_list(d, worker)
    if d.pool_state[FREE_FRAMES] > 0:
        made = tell_pool(p, d, made)
    pages = d.batches[worker, BATCH_PAGES]
    if pages == 0:
        c["running"] -= 1
        if c["running"] == 0 and c["due"] > 0:
            why = c["due"] - 1
            c["due"] = 0
            return _begin_round(p, d, made, why, p.requests[slot]["accepted_ns"] + PASS_ON_NS)
        return made
    c["batches"] += 1
    c["written_pages"] += pages
    position = 0
    for place in range(pages):
        position = max(position, d.page_position[d.batches[worker, BATCH_FIRST + place]])
    hold["phase"] = _LOGGING
    if position > d.log[0]["flushed"]:
        return add_child(p, made, d.stations[AT_LOG], FLUSH, position, 0)
    return _write_twice(p, d, slot, made)


@kernel
def _free_batch(d: Database) -> int:
    """Return a row of ``batches`` that holds no pages: there is one for each cleaner."""
    worker = 0
    while d.batches[worker, BATCH_PAGES] > 0:
        worker += 1
    return worker


@kernel
def tell_pool(p: Plant, d: Database, made: int) -> int:
    """Let the pool look at its requests again, if some wait: frames are free, or may be taken."""
    if p.queues[d.pool_state[READY]]["head"] == NONE or made == p.children.size:
        return made
    return add_background(p, made, d.stations[AT_POOL], PREFETCH, 0, 0)


@kernel
def _take_from_tail(d: Database, worker: int) -> None:
    """Let clean pages at the tail go, and take changed ones, until enough frames are or will be free."""
    c, frames = d.page_cleaner[0], len(d.page_of)
    frame = tail(d)
    while (
        c["to_look"] > 0
        and frame < frames
        and free_frames(d) + c["leaving"] < c["to_free"]
        and d.batches[worker, BATCH_PAGES] < c["batch_pages"]
    ):
        following = before(d, frame)
        if d.used[frame] < WRITTEN:
            c["to_look"] -= 1
            if d.state[frame] == VALID and not d.dirty[frame]:
                let_go(d, frame)
                free_frame(d, frame)
                c["freed_frames"] += 1
            elif d.state[frame] == VALID and c["to_write"] > 0:
                c["to_write"] -= 1
                c["lru_pages"] += 1
                c["page_sum"] += c["form"] == MARIADB
                c["leaving"] += 1
                _take(d, worker, frame, LEAVES)
                if c["neighbours"]:
                    _take_neighbours(d, worker, frame)
        frame = following
    if frame >= frames or free_frames(d) + c["leaving"] >= c["to_free"]:
        c["to_look"] = 0


@kernel
def _take_from_list(d: Database, worker: int) -> None:
    """Take the pages that were changed first, as many as the round still has to write."""
    c, frames = d.page_cleaner[0], len(d.page_of)
    frame = oldest(d)
    while c["listed"] > 0 and frame < frames and d.batches[worker, BATCH_PAGES] < c["batch_pages"]:
        if d.oldest_position[frame] >= c["position"]:
            c["listed"] = 0
            break
        following = later(d, frame)
        if d.state[frame] == VALID and d.used[frame] < WRITTEN:
            _take(d, worker, frame, WRITTEN)
            taken = 1
            if c["neighbours"]:
                taken += _take_neighbours(d, worker, frame)
                following = oldest(d)
            c["listed"] -= taken
            c["page_sum"] += taken
        frame = following
    if frame >= frames:
        c["listed"] = 0


@kernel
def _take(d: Database, worker: int, frame: int, mark: int) -> None:
    """Put a changed page into a batch; it is clean from now on."""
    d.batches[worker, BATCH_POSITION] = min(d.batches[worker, BATCH_POSITION], d.oldest_position[frame])
    d.batches[worker, BATCH_FIRST + d.batches[worker, BATCH_PAGES]] = d.page_of[frame]
    d.batches[worker, BATCH_PAGES] += 1
    clean(d, frame)
    d.used[frame] = mark


@kernel
def _take_neighbours(d: Database, worker: int, frame: int) -> int:
    """Take the changed pages beside one in its extent, without a gap (innodb_flush_neighbors = 1); returns how many."""
    c, page = d.page_cleaner[0], d.page_of[frame]
    level = level_of(d, page)
    start = d.level_start[level]
    first = max(page - (page - start) % _EXTENT, start)
    behind = min(first + _EXTENT, start + d.level_pages[level])
    taken = 0
    for side in range(2):
        step = 2 * side - 1
        other = page + step
        while first <= other < behind and d.batches[worker, BATCH_PAGES] < c["batch_pages"]:
            held = d.frame_of[other]
            if held == 0 or d.state[held - 1] != VALID or not d.dirty[held - 1] or d.used[held - 1] >= WRITTEN:
                break
            _take(d, worker, held - 1, WRITTEN)
            taken += 1
            other += step
    return taken


@kernel
def resume_cleaner(p: Plant, d: Database, slot: int, now: int) -> int:
    """Go on with a batch; a session that has waited for the log goes on itself."""
    if p.requests[slot]["op"] != WRITE:
        return 0
    c, hold = d.page_cleaner[0], d.holds[slot]
    phase = hold["phase"]
    if phase == _LOGGING:
        return _write_twice(p, d, slot, 0)
    if phase == _DOUBLING and c["flush_doublewrite"]:
        hold["phase"] = _DOUBLED
        return flush_doublewrite(p, d, now)
    if phase in (_DOUBLING, _DOUBLED):
        return _write_pages(p, d, slot, 0)
    if phase == _WRITING and c["flush_data"]:
        hold["phase"], hold["level"] = _SYNCING, 0
        note_written(d, hold["position"], now)
    if hold["phase"] == _SYNCING:
        file = file_to_flush(d, hold["level"])
        if file < len(d.written_files):
            hold["level"] = file + 1
            c["file_flushes"] += 1
            page = d.file_start[file]
            if c["fsync"] and d.page_cache.size == 0:
                return add_sync(p, d, 0, volume_of(d, page), d.file_changed_ns[file])
            return add_child(p, 0, station_of(d, page), FLUSH, 0, 0)
    _end_batch(d, hold["position"])
    made = tell_pool(p, d, 0)  # pages that stayed may go now, though no frame is free
    return add_background(p, made, c["station"], WRITE, 0, 0)


@kernel
def _write_twice(p: Plant, d: Database, slot: int, made: int) -> int:
    """Write a batch to the doublewrite file, or to its places if there is none."""
    c, hold = d.page_cleaner[0], d.holds[slot]
    if not c["doublewrite"]:
        return _write_pages(p, d, slot, made)
    hold["phase"] = _DOUBLING
    length = d.batches[hold["position"], BATCH_PAGES] * d.page_bytes[0]
    return add_child(p, made, c["doublewrite_station"], WRITE, 0, length)


@kernel
def _write_pages(p: Plant, d: Database, slot: int, made: int) -> int:
    """Write the pages of a batch to their places."""
    hold = d.holds[slot]
    hold["phase"] = _WRITING
    worker, size = hold["position"], d.page_bytes[0]
    for place in range(d.batches[worker, BATCH_PAGES]):
        page = d.batches[worker, BATCH_FIRST + place]
        made = add_child(p, made, station_of(d, page), WRITE, page * size, size)
    return made


@kernel
def _end_batch(d: Database, worker: int) -> None:
    """Pages of a batch have been written: those that were to go do, unless they were changed again."""
    c = d.page_cleaner[0]
    for place in range(d.batches[worker, BATCH_PAGES]):
        frame = d.frame_of[d.batches[worker, BATCH_FIRST + place]] - 1
        leaves = d.used[frame] == LEAVES
        d.used[frame] = 0
        if leaves:
            c["leaving"] -= 1
            if not d.dirty[frame]:
                let_go(d, frame)
                free_frame(d, frame)
    d.batches[worker, BATCH_PAGES] = 0


def cleaner_fields(settings: PageCleaner, station: int, waiting: int, doublewrite_station: int) -> dict[str, int]:
    """Return what of the cleaner's row is not 0 at the start."""
    return {
        "station": station,
        "waiting": waiting,
        "doublewrite_station": doublewrite_station,
        **values_of(PAGE_CLEANER_ROW, settings),
        "low_percent": round(settings.low_percent * 1000),
        "most_percent": round(settings.most_percent * 1000),
    }
