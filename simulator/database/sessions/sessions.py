"""What a session does next: it starts a statement, uses CPU, waits for a page or a row, makes its log durable, thinks.
The time of each wait is added to its wait class.

Between two waits it refers to up to 64 pages, then the CPU that this took is charged in slices of at most 1 ms; what it
has to wait for comes after that. Both engines call :func:`step` when a session wakes: it says when to wake it again, or
leaves a request in ``asked``, or waits for another session, which calls it
(:func:`tiersim.simulator.database.sessions.sessions.call`).

A helper goes through pages of its leader's scan with CPU and reads of its own. The statement ends with the last of
them. While the leader waits for that one, its time counts as what that one spends it on.

Row locks: a session that changes a row keeps its lock until its commit is durable; others wait in the order in which
they came. InnoDB without a binary log lets go before its redo is flushed (trx0trx.cc, commit_in_memory), with one once
the group is synced.

There are no deadlocks, because rows are locked in one order: that of the ranks of their tables. A transaction that asks
for a row of a table not behind all tables in which it has locked rows does not lock it (real applications that do so
meet deadlocks), and is counted in ``locks_passed``. So whoever waits holds rows of earlier tables only, and nobody can
wait for himself over others.
"""

import numpy as np

from tiersim.kernel import fetch, kernel
from tiersim.operations import READ, WRITE
from tiersim.simulator.categories import FIRST_CLASS, LOG_SYNC, PROCESSOR, READ_AHEAD, STATEMENT, TRANSACTION
from tiersim.simulator.database.buffer_pool.flush_list import has_room_in_log
from tiersim.simulator.database.buffer_pool.pages import (
    change,
    draw_row,
    is_there,
    level_of,
    note_row,
    page_at,
    references,
    touch,
    want,
)
from tiersim.simulator.database.database_state import (
    AFTER,
    AT_CLEANER,
    AT_COPIES,
    AT_LOG,
    AT_POOL,
    AT_PROCESSORS,
    AT_TEMP,
    AWAIT,
    BETWEEN,
    BURST,
    CALLING,
    CHANGE_NS,
    CLOCK,
    COMPUTE,
    COPY,
    COUNTED_FROM,
    FOR_COPY,
    FOR_CPU,
    FOR_EVICTION,
    FOR_LOCK,
    FOR_LOG,
    FOR_READ,
    FOR_TEMP,
    LOCK,
    LOG,
    LOOKUP,
    LOOKUP_NS,
    LOOKUPS,
    MOST_LOCKS,
    NO_PAGE,
    OF_ONE,
    ON_CPU,
    PAGE_NS,
    RAMP_PAGES,
    RUNNING,
    SCAN,
    SESSIONS_ACTIVE,
    SESSIONS_OVER,
    SLICE_NS,
    SPENT,
    SPILL,
    TEMP_BLOCK_BYTES,
    TEMP_BYTES,
    TEMP_POSITION,
    UNTIL,
    UNUSED,
    Database,
)
from tiersim.simulator.database.sessions.copies import open_copy
from tiersim.simulator.database.sessions.index_entries import meets_dead_entry, note_entries, put_entries
from tiersim.simulator.database.sessions.lookups import look_up_rows
from tiersim.simulator.database.sessions.read_stream import (
    NO_MORE,
    PACED,
    REFERRED,
    close_stream,
    open_stream,
    take_page,
)
from tiersim.simulator.database.wal.log import HINT, has_full_buffers, insert
from tiersim.simulator.metrics import Metrics, record_sync
from tiersim.traces.schema import BACKUP, DATA_READ, LOG_WRITE, TEMP


@kernel
def call(d: Database, session: int) -> None:
    """Let the engine wake another session at this instant."""
    d.called[0] += 1
    d.called[d.called[0]] = session


@kernel
def lock_row(d: Database, session: int, rank: int, table: int, row: int) -> bool:
    """Lock a row for a session; returns False if it must wait: it is called when it has the row."""
    held = d.sessions[session]["locks"]
    if held > 0:
        last = d.locks[session * MOST_LOCKS + held]
        if last["table"] == table and last["row"] == row:
            return True
        if last["rank"] >= rank or held == MOST_LOCKS:
            d.locks_passed[0] += 1
            return True
    place = d.lock_heads[_list_of(d, table, row)]
    while place > 0:
        lock = d.locks[place]
        if lock["table"] == table and lock["row"] == row:
            if lock["first_waiter"] == 0:
                lock["first_waiter"] = session + 1
            else:
                d.sessions[lock["last_waiter"] - 1]["next_waiter"] = session + 1
            lock["last_waiter"] = session + 1
            d.sessions[session]["next_waiter"] = 0
            return False
        place = lock["next"]
    _hold(d, session, rank, table, row, 0, 0)
    return True


@kernel
def unlock_rows(d: Database, session: int) -> None:
    """Give all rows of a session to those who wait for them."""
    held = d.sessions[session]["locks"]
    d.sessions[session]["locks"] = 0
    for place in range(session * MOST_LOCKS + 1, session * MOST_LOCKS + 1 + held):
        lock = d.locks[place]
        _take_out(d, place)
        if lock["first_waiter"] > 0:
            other = lock["first_waiter"] - 1
            following = d.sessions[other]["next_waiter"]
            _hold(
                d,
                other,
                lock["rank"],
                lock["table"],
                lock["row"],
                following,
                lock["last_waiter"] if following > 0 else 0,
            )
            call(d, other)


@kernel
def _list_of(d: Database, table: int, row: int) -> int:
    """Return the list that a row is looked up in (multiplicative hashing, Knuth 6.4)."""
    mixed = (np.int64(row & 0x7FFF_FFFF) * 0x9E3779B1 + np.int64(table) * 0x85EBCA6B) & 0xFFFF_FFFF
    return int((mixed ^ mixed >> 15) & (len(d.lock_heads) - 1))


@kernel
def _hold(d: Database, session: int, rank: int, table: int, row: int, first_waiter: int, last_waiter: int) -> None:
    s = d.sessions[session]
    s["locks"] += 1
    place = session * MOST_LOCKS + s["locks"]
    lock = d.locks[place]
    lock["rank"] = rank
    lock["table"] = table
    lock["row"] = row
    lock["first_waiter"] = first_waiter
    lock["last_waiter"] = last_waiter
    head = _list_of(d, table, row)
    lock["next"] = d.lock_heads[head]
    d.lock_heads[head] = place


@kernel
def _take_out(d: Database, place: int) -> None:
    head = _list_of(d, d.locks[place]["table"], d.locks[place]["row"])
    other = d.lock_heads[head]
    if other == place:
        d.lock_heads[head] = d.locks[place]["next"]
        return
    while d.locks[other]["next"] != place:
        other = d.locks[other]["next"]
    d.locks[other]["next"] = d.locks[place]["next"]


#: Answers of ``step`` besides a time: it left a request; its last statement has ended; another session will call it.
ASKS, OVER, RESTS = -1, -2, -3

_NOT_SERVED = -1
#: Counters of the rows that a statement draws: so many apart from those of the next.
_MOST_DEMANDS = 256
#: Columns of statements are fetched so many before they are read: a line of the cache holds eight.
_AHEAD = 8


@kernel
def step(d: Database, m: Metrics, session: int, interval: int, now: int, _: int) -> int:
    """Let a session go on: returns ASKS, OVER, or when to call again; those in ``called`` go on at
    this instant, too. It takes as many numbers as all that is called by its address.
    """
    d.called[0] = 0
    s = d.sessions[session]
    if s["phase"] == RUNNING:
        _account(d, session, now)
    if s["fetched"] != NO_PAGE:
        change(d, s["fetched"], s["change_bytes"])
        s["fetched"] = NO_PAGE
    if s["missing"] == NO_PAGE:
        put_entries(d, session, now)
    referred = 0
    while True:
        if s["phase"] == BETWEEN:
            if s["next"] == s["end"]:
                unlock_rows(d, session)
                _note_over(d)
                return OVER
            if _rests(d, session):
                return RESTS
            start = _start_of(d, session)
            if s["transaction_ns"] < 0 and max(start, now) >= d.counted_ns[UNTIL]:
                _note_over(d)
                return OVER
            if start > now:
                return start
            _call(d, session, now)
        if s["phase"] == CALLING:
            if s["charge_ns"] > 0:
                return _ask_processor(d, session)
            _begin(d, session, now)
        leader = leader_of(d, session)
        statement = d.sessions[leader]["next"]
        place = d.first_demand[d.statement_class[statement]] + d.sessions[leader]["demand"]
        over = place == d.first_demand[d.statement_class[statement] + 1]
        kind = -1 if over else d.demands[place]["kind"]
        waits = (
            s["missing"] != NO_PAGE or s["streamed"] or kind in (LOG, SPILL, COPY) or (kind == LOCK and s["step"] == 0)
        )
        blocked = over or waits or referred >= BURST
        if blocked and s["charge_ns"] > 0:
            return _ask_processor(d, session)
        if s["missing"] != NO_PAGE:
            return _ask_pool(d, session)
        if s["streamed"]:
            if _leaves_scan(d, session, leader, now):
                return RESTS
            continue
        if over:
            _end(d, m, session, interval, now)
            continue
        referred = 0 if referred >= BURST else referred
        demand = d.demands[place]
        durable = kind == LOG and s["step"] == 1  # what it put into the log is there already
        if demand["log_bytes"] > 0 and not durable and has_full_buffers(d):
            if s["charge_ns"] > 0:
                return _ask_processor(d, session)
            room_from = d.log[0]["inserted"] - d.log[0]["buffer_bytes"]
            s["waits"] = FOR_LOG
            return _ask(d, session, AT_LOG, WRITE, room_from, 0, LOG_WRITE)
        if demand["log_bytes"] > 0 and kind != LOG and d.page_cleaner.size > 0 and not has_room_in_log(d):
            if s["charge_ns"] > 0:
                return _ask_processor(d, session)
            s["waits"] = FOR_LOG
            return _ask(d, session, AT_CLEANER, AWAIT, 0, 0, LOG_WRITE)
        if kind == COMPUTE:
            s["charge_ns"] += d.cpu_ns[statement] * demand["share"] // 1000
            _next_demand(d, session)
        elif kind in (SCAN, LOOKUPS):
            answer = _go_through(d, session, leader, place, now)
            if answer == REFERRED:
                referred += 1
            elif answer == PACED:
                if s["charge_ns"] > 0:
                    return _ask_processor(d, session)
                s["waits"] = FOR_READ
                return int(d.read_streams[session]["due_ns"])
            elif answer == NO_MORE and (session != leader or d.read_streams[session]["first_helper"] > 0):
                s["streamed"] = 1
            elif answer == NO_MORE:
                close_stream(d, session)
                _next_demand(d, session)
        elif kind == LOCK:
            if s["step"] == 0:
                s["step"] = 1
                if not lock_row(d, session, demand["rank"], demand["table"], s["looked_up"] % d.rows[demand["table"]]):
                    s["waits"] = FOR_LOCK
                    return RESTS
            if demand["dirties"]:
                _change_looked_up(d, session, place, now)
            _next_demand(d, session)
        elif kind == SPILL:
            if s["reference"] == 2 * _temp_blocks(demand["temp_bytes"]):
                _next_demand(d, session)
                continue
            return _ask_temp(d, session, _temp_blocks(demand["temp_bytes"]))
        elif kind in (LOG, COPY):
            if s["step"] == 1:
                _next_demand(d, session)
                continue
            s["step"] = 1
            if kind == COPY:
                s["waits"], category = (FOR_COPY, BACKUP) if demand["tables"] > 0 else (FOR_TEMP, TEMP)
                return _ask(d, session, AT_COPIES, READ, 0, open_copy(d, session, place), category)
            return _ask_log(d, session, demand["log_bytes"])
        else:
            referred += _refer(d, session, place, now)


@kernel
def _account(d: Database, session: int, now: int) -> None:
    """Note what the wait that has ended was for; all time of a statement is spent in such waits.

    The first is for a processor; the statement starts when it gets it, as servers measure.
    """
    s = d.sessions[session]
    waits, part = s["waits"], s["part_ns"]
    if s["started_ns"] == _NOT_SERVED:
        s["started_ns"] = s["asked_ns"] = now - part
    waited = now - s["asked_ns"]
    part = min(part, waited)  # who waits for helpers counts from then on what they do
    d.spending[session, waits] += waited - part
    d.spending[session, ON_CPU if waits == FOR_CPU else FOR_EVICTION] += part
    s["part_ns"] = 0
    s["asked_ns"] = now


@kernel
def _rests(d: Database, session: int) -> bool:
    """Tell whether a session's next statement has to wait until more sessions are over: it is called then."""
    s = d.sessions[session]
    wanted = d.start_ns[s["next"]]
    if d.waits_for[s["next"]] != AFTER or d.session_counts[SESSIONS_OVER] >= wanted:
        return False
    s["next_waiter"] = d.resting[wanted]
    d.resting[wanted] = session + 1
    return True


@kernel
def _note_over(d: Database) -> None:
    """One more session is over: those that rested until then go on."""
    d.session_counts[SESSIONS_OVER] += 1
    following = d.resting[d.session_counts[SESSIONS_OVER]]
    while following > 0:
        call(d, following - 1)
        following = d.sessions[following - 1]["next_waiter"]


@kernel
def _start_of(d: Database, session: int) -> int:
    """Return when a session's next statement may start."""
    s = d.sessions[session]
    statement = s["next"]
    if d.waits_for[statement] == CLOCK:
        return int(max(d.start_ns[statement], s["ended_ns"]))
    return int(s["ended_ns"] + d.think_ns[statement])


@kernel
def _call(d: Database, session: int, now: int) -> None:
    """Begin what comes before a statement: the client's work, if it shares the processors."""
    s = d.sessions[session]
    s["phase"] = CALLING
    _fetch_ahead(d, s["next"])
    s["charge_ns"] = d.client_ns[s["next"]]
    s["part_ns"] = 0
    if d.begins[s["next"]]:
        s["transaction_ns"] = now


@kernel
def _fetch_ahead(d: Database, statement: int) -> None:
    """Fetch what is read of the statements of a session some time from now: too many columns, each in a place of every
    session, for the processor to see them come.
    """
    behind = statement + _AHEAD
    fetch(d.start_ns, behind)
    fetch(d.think_ns, behind)
    fetch(d.client_ns, behind)
    fetch(d.cpu_ns, behind)
    fetch(d.done_ns, behind)
    fetch(d.statement_class, behind)


@kernel
def _begin(d: Database, session: int, now: int) -> None:
    s = d.sessions[session]
    s["phase"] = RUNNING
    s["demand"] = 0
    s["reference"] = 0
    s["step"] = 0
    s["started_ns"] = _NOT_SERVED
    s["part_ns"] = 0
    s["charge_ns"] = 1  # nothing takes no time
    if s["transaction_ns"] >= 0:
        d.session_counts[SESSIONS_ACTIVE] += 1


@kernel
def _end(d: Database, m: Metrics, session: int, interval: int, now: int) -> None:
    """A statement has ended: count it, by itself, with its class, and as its transaction's last."""
    s = d.sessions[session]
    statement = s["next"]
    kind = d.statement_class[statement]
    d.done_ns[statement] = now
    counted = s["started_ns"] >= d.counted_ns[COUNTED_FROM]
    if counted:
        d.calls[kind] += 1
        record_sync(m, STATEMENT, interval, now - s["started_ns"])
        record_sync(m, FIRST_CLASS + d.category[kind], interval, now - s["started_ns"])
    if s["transaction_ns"] >= 0:
        d.session_counts[SESSIONS_ACTIVE] -= 1
    for part in range(len(SPENT)):
        if counted:
            d.spent[kind, part] += d.spending[session, part]
        d.spending[session, part] = 0
    if d.ends[statement] or s["transaction_ns"] < 0:
        unlock_rows(d, session)
    if d.ends[statement] and s["transaction_ns"] >= 0:
        if s["transaction_ns"] >= d.counted_ns[COUNTED_FROM]:
            record_sync(m, TRANSACTION, interval, now - s["transaction_ns"])
        s["transaction_ns"] = -1
    s["phase"] = BETWEEN
    s["ended_ns"] = now
    s["next"] = statement + 1


@kernel
def _next_demand(d: Database, session: int) -> None:
    s = d.sessions[session]
    s["demand"] += 1
    s["reference"] = 0
    s["step"] = 0


@kernel
def _counter(d: Database, session: int) -> int:
    """Return by what a session draws the rows of its demand: another one for each demand of each statement.

    Statements of a session that goes round have numbers behind those of all sessions before.
    """
    s = d.sessions[session]
    first = d.first_number[session]
    planned = d.first_number[session + 1] - first
    number = np.int64(s["next"]) - np.int64(s["first"])
    if number >= planned:
        number += number // planned * (d.first_number[d.first_number.size - 1] - planned)
    return int((first + number) * _MOST_DEMANDS + s["demand"])


@kernel
def _go_through(d: Database, session: int, leader: int, place: int, now: int) -> int:
    """Go on with a demand of many pages; returns NO_MORE, WANTS, REFERRED or PACED."""
    demand = d.demands[place]
    counter = _counter(d, leader)
    opened = d.read_streams[session]["open"]
    if demand["kind"] == LOOKUPS:
        through_index = not opened and d.sessions[session]["reference"] + 1 < references(d, demand["table"])
        if through_index or not demand["in_order"]:
            return look_up_rows(d, session, place, counter, now)
    if not opened:
        open_stream(d, session, place)
        if demand["kind"] == SCAN:
            call_helpers(d, session, place, now)
    return take_page(d, session, leader, place, counter, now)


@kernel
def _leaves_scan(d: Database, session: int, leader: int, now: int) -> bool:
    """A session has gone through its part of a scan that several share; tell whether it rests now, or is a leader that
    goes on.
    """
    s = d.sessions[leader]
    if session == leader:
        if d.read_streams[leader]["first_helper"] > 0:
            s["streamed"] = 2
            await_helpers(d, leader, now)
            return True
    else:
        d.sessions[session]["streamed"] = 0
        if not rest(d, session) or s["streamed"] < 2:
            return True
        relieve(d, leader, session, now)
    s["streamed"] = 0
    close_stream(d, leader)
    _next_demand(d, leader)
    return session != leader


@kernel
def _refer(d: Database, session: int, place: int, now: int) -> int:
    """Refer to the next page of a lookup; returns how many pages that were: 1."""
    s = d.sessions[session]
    demand = d.demands[place]
    table = demand["table"]
    if s["reference"] == 0:
        if demand["kind"] == LOOKUP:
            s["looked_up"] = draw_row(d, table, OF_ONE, _counter(d, session), demand["changed"])
        s["row"] = s["looked_up"] % d.rows[table]  # the last lookup may have been in a larger table
        s["charge_ns"] += d.costs[LOOKUP_NS]
    page = page_at(d, table, s["row"], s["reference"])
    last = s["reference"] + 1 == references(d, table)
    s["charge_ns"] += d.costs[PAGE_NS]
    if demand["dirties"] and last:
        s["charge_ns"] += d.costs[CHANGE_NS]
    dirties = demand["dirties"] if last else 0
    log_bytes = demand["log_bytes"]
    if dirties:
        note_row(d, table, s["row"])
        note_entries(d, session, place, s["row"], page, _counter(d, session))
    elif meets_dead_entry(d, session, place):
        dirties, log_bytes = 1, HINT
    if not touch(d, page, now):
        want(d, session, READ, page, 1)
        s["dirties"], s["change_bytes"] = dirties, log_bytes
    elif dirties:
        change(d, page, log_bytes)
        put_entries(d, session, now)
    s["reference"] += 1
    if last:
        _next_demand(d, session)
    return 1


@kernel
def _change_looked_up(d: Database, session: int, place: int, now: int) -> None:
    """Change the heap's page of the row that the session has locked; it may have left the pool while the session waited
    for the lock.
    """
    s = d.sessions[session]
    demand = d.demands[place]
    table = demand["table"]
    row = s["looked_up"] % d.rows[table]
    page = page_at(d, table, row, references(d, table) - 1)
    s["charge_ns"] += d.costs[CHANGE_NS]
    note_row(d, table, row)
    note_entries(d, session, place, row, page, _counter(d, session))
    if is_there(d, page):
        change(d, page, demand["log_bytes"])
        put_entries(d, session, now)
    else:
        want(d, session, READ, page, 1)
        s["dirties"], s["change_bytes"] = 1, demand["log_bytes"]


@kernel
def _ask_processor(d: Database, session: int) -> int:
    s = d.sessions[session]
    slice_ns = min(s["charge_ns"], SLICE_NS)
    s["charge_ns"] -= slice_ns
    s["waits"] = FOR_CPU
    return _ask(d, session, AT_PROCESSORS, READ, 0, slice_ns, PROCESSOR)


@kernel
def _ask(d: Database, session: int, station: int, op: int, offset_bytes: int, length_bytes: int, category: int) -> int:
    asked = d.asked[session]
    asked["station"] = d.stations[station]
    asked["op"] = op
    asked["offset_bytes"] = offset_bytes
    asked["length_bytes"] = length_bytes
    asked["category"] = category
    return ASKS


@kernel
def _ask_pool(d: Database, session: int) -> int:
    """Ask the pool for the pages that the session wants."""
    s = d.sessions[session]
    page, op, size = s["missing"], s["missing_op"], d.page_bytes[0]
    s["missing"] = NO_PAGE
    s["fetched"] = page if s["dirties"] else NO_PAGE
    s["dirties"] = 0
    pages = s["missing_pages"]
    if op == READ and pages == 1:
        page, pages = _ramped_up(d, page)
    length = pages if op == AWAIT else pages * size
    category = DATA_READ if op == READ else READ_AHEAD
    s["waits"] = FOR_READ
    return _ask(d, session, AT_POOL, op, page * size, length, category)


@kernel
def _ramped_up(d: Database, page: int) -> tuple[int, int]:
    """Return first page and number of what is read for one page: an aligned block of its level while that finds unused
    frames.

    SQL Server's pool fills so, by 64 KiB (Microsoft, memory management architecture guide).
    """
    block = d.replacement[RAMP_PAGES]
    if block == 1 or d.pool_state[UNUSED] + block > len(d.page_of):
        return page, 1
    level = level_of(d, page)
    start = d.level_start[level]
    first = page - (page - start) % block
    return first, min(block, start + d.level_pages[level] - first)


@kernel
def _ask_log(d: Database, session: int, log_bytes: int) -> int:
    """Put the record of the commit into the log, and ask for a flush up to it; half of the record comes later where a
    binary log lies between (:mod:`~tiersim.simulator.database.wal.log_threads`).
    """
    log = d.log[0]
    log["commits"] += 1
    if d.page_cleaner.size > 0 and d.binary_log.size == 0:
        unlock_rows(d, session)
    d.sessions[session]["waits"] = FOR_LOG
    later_bytes = log_bytes // 2 if log["threads"] and d.binary_log.size > 0 else 0
    position = insert(d, log_bytes - later_bytes)
    return _ask(d, session, AT_LOG, log["commit_op"], position, later_bytes, LOG_SYNC)


@kernel
def _temp_blocks(temp_bytes: int) -> int:
    return -(-temp_bytes // TEMP_BLOCK_BYTES)


@kernel
def _ask_temp(d: Database, session: int, blocks: int) -> int:
    """Write the next temp block of a statement, or read back the next when all are written."""
    s = d.sessions[session]
    if s["reference"] == 0:
        s["spill_bytes"] = d.temp_state[TEMP_POSITION]
        d.temp_state[TEMP_POSITION] = (s["spill_bytes"] + blocks * TEMP_BLOCK_BYTES) % d.temp_state[TEMP_BYTES]
    op = WRITE if s["reference"] < blocks else READ
    offset = (s["spill_bytes"] + s["reference"] % blocks * TEMP_BLOCK_BYTES) % d.temp_state[TEMP_BYTES]
    s["reference"] += 1
    s["waits"] = FOR_TEMP
    return _ask(d, session, AT_TEMP, op, offset, TEMP_BLOCK_BYTES, TEMP)


@kernel
def leader_of(d: Database, session: int) -> int:
    """Return the session whose statement a session works on: its own, or that of a helper's leader."""
    if session < d.first_helper[0]:
        return session
    return int(d.read_streams[session]["leader"] - 1)


@kernel
def call_helpers(d: Database, leader: int, place: int, now: int) -> None:
    """Let as many helpers share a scan as it wants and as are free."""
    for _ in range(d.demands[place]["degree"] - 1):
        free = d.idle_helpers[0]
        if free == 0:
            return
        helper = d.idle_helpers[free]
        d.idle_helpers[0] = free - 1
        s = d.sessions[helper]
        s["phase"] = RUNNING
        s["charge_ns"] = 1  # nothing takes no time
        s["asked_ns"] = now
        s["part_ns"] = 0
        open_stream(d, helper, place)
        _join(d, leader, helper)
        call(d, helper)


@kernel
def await_helpers(d: Database, leader: int, now: int) -> None:
    """The leader's own part is done: from now on, what its helpers spend their time on may be what it waits for."""
    following = d.read_streams[leader]["first_helper"]
    while following > 0:
        helper = following - 1
        d.sessions[helper]["asked_ns"] = now
        for part in range(len(SPENT)):
            d.spending[helper, part] = 0
        following = d.read_streams[helper]["next_helper"]


@kernel
def rest(d: Database, helper: int) -> bool:
    """A helper finds no more pages: it is free; tell whether it was the last."""
    close_stream(d, helper)
    leader = leader_of(d, helper)
    _part(d, leader, helper)
    d.sessions[helper]["phase"] = BETWEEN
    d.idle_helpers[0] += 1
    d.idle_helpers[d.idle_helpers[0]] = helper
    return bool(d.read_streams[leader]["first_helper"] == 0)


@kernel
def _join(d: Database, leader: int, helper: int) -> None:
    """Put a helper before the others of its leader."""
    r = d.read_streams[helper]
    following = d.read_streams[leader]["first_helper"]
    r["leader"] = leader + 1
    r["next_helper"] = following
    r["previous_helper"] = 0
    if following > 0:
        d.read_streams[following - 1]["previous_helper"] = helper + 1
    d.read_streams[leader]["first_helper"] = helper + 1


@kernel
def _part(d: Database, leader: int, helper: int) -> None:
    """Take a helper from among those of its leader."""
    r = d.read_streams[helper]
    before, behind = r["previous_helper"], r["next_helper"]
    r["leader"] = 0
    if before > 0:
        d.read_streams[before - 1]["next_helper"] = behind
    else:
        d.read_streams[leader]["first_helper"] = behind
    if behind > 0:
        d.read_streams[behind - 1]["previous_helper"] = before


@kernel
def relieve(d: Database, leader: int, helper: int, now: int) -> None:
    """Count the leader's wait as what its last helper spent it on, and call it."""
    for part in range(len(SPENT)):
        d.spending[leader, part] += d.spending[helper, part]
    d.sessions[leader]["asked_ns"] = now
    call(d, leader)
