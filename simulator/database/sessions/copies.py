"""Copies of pages past the pool, as a station: a backup, a restore, the writing of new pages (SQL Server: eager writes
of an index build).

A few buffers circulate (SQL Server: BUFFERCOUNT of MAXTRANSFERSIZE each). A backup fills one with pages from a volume,
works on them (compression, checksums), writes them to the end of a file, and fills it again; a restore goes the other
way; what writes new pages has nothing to read. So with buffers of M bytes and a latency of r for reads and w for writes
no more than buffers × M ÷ (r + w + work) passes in a second, whatever the devices could do. Volumes are read, or
written, side by side, each from its beginning; the file has one place. At most so many buffers as there are threads are
worked on at a time; their CPU holds up nobody but them.

Of a COPY demand ``table`` and ``tables`` say whose pages, ``depth`` how many buffers, ``block_pages`` how long they
are, ``degree`` how many threads, ``page_ns`` the CPU of a page. The file begins at ``file_bytes`` of ``station``
(NOTHING: there is none, as on the device NUL) and has ``ratio`` bytes for a thousand of pages; it is read if the demand
``restores``.

A demand of no ``tables`` spills: its file has ``temp_bytes``, which the buffers write and then read again.
"""

import numpy as np

from tiersim.devices import requests
from tiersim.devices.requests import add_child
from tiersim.devices.station_records import CALL, NEVER, NONE, PASS_ON_NS, WAIT, Plant
from tiersim.kernel import kernel
from tiersim.operations import READ, WRITE
from tiersim.simulator.database.database_state import AT_COPIES, AT_PROCESSORS, FILL, PREFETCH, SLICE_NS, Database

#: In place of the station of a file.
NOTHING = -1
#: A file is written and read in sectors of this length.
_SECTOR_BYTES = 512
#: Operations besides that of the session, READ: a buffer, which goes round; work on its pages.
_BUFFER, _WORK = PREFETCH, FILL
#: What a buffer waits for (``phase`` of its hold).
_READING, _WORKING, _WRITING = range(3)
#: Above the number of any station.
_STATIONS = 1 << 32


@kernel
def open_copy(d: Database, session: int, place: int) -> int:
    """Begin a session's copy of pages; returns how many bytes they are."""
    demand, row = d.demands[place], d.copies[session]
    row["place"] = place
    row["turn"] = 0
    row["file_bytes"] = demand["file_bytes"]
    pages = 0
    for level in range(d.first_level[demand["table"]], d.first_level[demand["table"] + demand["tables"]]):
        d.copied[session, level] = 0
        pages += d.level_pages[level]
    return int(pages * d.page_bytes[0] + demand["temp_bytes"])


@kernel
def accept_copies(p: Plant, d: Database, slot: int, now: int) -> int:
    """Take a copy, one of its buffers, or one that is to be worked on."""
    if p.requests[slot]["op"] != _WORK:
        return now + PASS_ON_NS
    row = d.copies[_session_of(p, slot)]
    requests.append(p, row["working"], slot)
    return CALL if row["busy"] < d.demands[row["place"]]["degree"] else WAIT


@kernel
def choose_copies(p: Plant, d: Database, now: int) -> tuple[int, int, int]:
    """Let a free thread take the oldest buffer of its copy."""
    for session in range(len(d.copies)):
        row = d.copies[session]
        slot = p.queues[row["working"]]["head"]
        if slot != NONE and row["busy"] < d.demands[row["place"]]["degree"]:
            requests.remove(p, row["working"], slot, NONE)
            row["busy"] += 1
            return slot, now + PASS_ON_NS, NEVER
    return NONE, NEVER, NEVER


@kernel
def finish_copies(p: Plant, d: Database, slot: int) -> int:
    """Send the buffers of a copy round; fill one; work on one."""
    op = p.requests[slot]["op"]
    if op == _WORK:
        d.holds[slot]["work_ns"] = p.requests[slot]["length_bytes"]
        return _work(p, d, slot)
    if op == _BUFFER:
        return _fill_buffer(p, d, slot)
    made = 0
    for _ in range(d.demands[d.copies[_session_of(p, slot)]["place"]]["depth"]):
        made = add_child(p, made, d.stations[AT_COPIES], _BUFFER, 0, 0)
    return made


@kernel
def resume_copies(p: Plant, d: Database, slot: int) -> int:
    """Go on with a buffer: from reading to work on its pages, to writing, to the next pages."""
    op, phase = p.requests[slot]["op"], d.holds[slot]["phase"]
    if op == READ:
        return 0
    if op == _WORK:
        return _work(p, d, slot)
    made = 0
    if phase == _READING:
        made = _work_or_write(p, d, slot)
    elif phase == _WORKING:
        made = _write(p, d, slot)
    return made if made > 0 else _fill_buffer(p, d, slot)


@kernel
def _session_of(p: Plant, slot: int) -> int:
    while p.requests[slot]["parent"] != NONE:
        slot = p.requests[slot]["parent"]
    return int(np.int64(p.requests[slot]["stream"]))


@kernel
def _next_level(d: Database, session: int, first: int, behind: int) -> int:
    """Return the level that the next pages are of: the first that is not done on the volume whose turn it is; -1 if all
    are.
    """
    turn = d.copies[session]["turn"]
    best, least = -1, _STATIONS
    for level in range(first, behind):
        if d.copied[session, level] < d.level_pages[level]:
            gap = (np.int64(d.level_station[level]) - turn - 1) % _STATIONS
            if gap < least:
                best, least = level, gap
    return int(best)


@kernel
def _fill_buffer(p: Plant, d: Database, slot: int) -> int:
    """Let a buffer take the next pages, or leave when there are none."""
    session = _session_of(p, slot)
    hold, row = d.holds[slot], d.copies[session]
    demand = d.demands[row["place"]]
    if demand["tables"] == 0:
        return _spill(p, d, slot, session)
    table = demand["table"]
    level = _next_level(d, session, d.first_level[table], d.first_level[table + demand["tables"]])
    if level < 0:
        return 0
    taken = d.copied[session, level]
    pages = min(demand["block_pages"], d.level_pages[level] - taken)
    d.copied[session, level] = taken + pages
    row["turn"] = d.level_station[level]
    of_file = -(-pages * d.page_bytes[0] * demand["ratio"] // (1000 * _SECTOR_BYTES)) * _SECTOR_BYTES
    hold["position"] = d.level_start[level] + taken
    hold["level"] = level
    hold["pages"] = pages
    hold["start_bytes"] = row["file_bytes"]
    hold["end_bytes"] = row["file_bytes"] + of_file
    row["file_bytes"] = hold["end_bytes"]
    hold["phase"] = _READING
    if not demand["restores"]:
        return _of_pages(p, d, slot, READ)
    if demand["station"] != NOTHING:
        return _of_file(p, d, slot, demand["station"], READ)
    return _work_or_write(p, d, slot)


@kernel
def _spill(p: Plant, d: Database, slot: int, session: int) -> int:
    """Let a buffer write or read the next part of a file of temp blocks, or leave when all is read."""
    row = d.copies[session]
    demand = d.demands[row["place"]]
    whole, done = demand["temp_bytes"], row["file_bytes"] - demand["file_bytes"]
    if done == 2 * whole:
        return 0
    length = min(demand["block_pages"] * d.page_bytes[0], whole - done % whole)
    row["file_bytes"] += length
    d.holds[slot]["phase"] = _WRITING
    op = WRITE if done < whole else READ
    return add_child(p, 0, demand["station"], op, demand["file_bytes"] + done % whole, length)


@kernel
def _work_or_write(p: Plant, d: Database, slot: int) -> int:
    """Let a buffer that is full wait for a thread, or be written if there is nothing to work on."""
    hold = d.holds[slot]
    page_ns = d.demands[d.copies[_session_of(p, slot)]["place"]]["page_ns"]
    if page_ns == 0:
        return _write(p, d, slot)
    hold["phase"] = _WORKING
    return add_child(p, 0, d.stations[AT_COPIES], _WORK, 0, hold["pages"] * page_ns)


@kernel
def _write(p: Plant, d: Database, slot: int) -> int:
    """Write what is in a buffer; returns 0 if there is no file to write to."""
    demand = d.demands[d.copies[_session_of(p, slot)]["place"]]
    d.holds[slot]["phase"] = _WRITING
    if demand["restores"]:
        return _of_pages(p, d, slot, WRITE)
    if demand["station"] != NOTHING:
        return _of_file(p, d, slot, demand["station"], WRITE)
    return 0


@kernel
def _of_pages(p: Plant, d: Database, slot: int, op: int) -> int:
    """Read or write the pages of a buffer on their volume."""
    hold, size = d.holds[slot], d.page_bytes[0]
    return add_child(p, 0, d.level_station[hold["level"]], op, hold["position"] * size, hold["pages"] * size)


@kernel
def _of_file(p: Plant, d: Database, slot: int, station: int, op: int) -> int:
    """Read or write what a buffer is in the file."""
    hold = d.holds[slot]
    return add_child(p, 0, station, op, hold["start_bytes"], hold["end_bytes"] - hold["start_bytes"])


@kernel
def _work(p: Plant, d: Database, slot: int) -> int:
    """Use the next slice of CPU for a buffer; the thread is free when there is none left to use."""
    hold = d.holds[slot]
    slice_ns = min(hold["work_ns"], SLICE_NS)
    if slice_ns == 0:
        d.copies[_session_of(p, slot)]["busy"] -= 1
        return 0
    hold["work_ns"] -= slice_ns
    return add_child(p, 0, d.stations[AT_PROCESSORS], READ, 0, slice_ns)
