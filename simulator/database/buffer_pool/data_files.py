"""InnoDB's data files: each table is one, with its indexes, and each is flushed by itself.

A batch that was written flushes every file that was written to and not flushed since, one after the other (fil0fil.cc:
fil_flush_file_spaces goes through the list of unflushed spaces; buf0dblwr.cc calls it, in MySQL and MariaDB alike). A
file whose flush another batch has begun is not flushed again, unless more was written since.
"""

from tiersim.devices.requests import add_child
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH
from tiersim.simulator.database.buffer_pool.flush_list import BATCH_FIRST, BATCH_PAGES
from tiersim.simulator.database.buffer_pool.pages import level_of, volume_of
from tiersim.simulator.database.database_state import Database
from tiersim.simulator.database.journal import add_sync, changed_by_write


@kernel
def data_file_of(d: Database, page: int) -> int:
    """Return the file that a page lies in: tables that a relation stands for have equal parts of each level."""
    level = level_of(d, page)
    place = (page - d.level_start[level]) * d.level_files[level] // d.level_pages[level]
    return int(d.level_file[level] + place)


@kernel
def note_written(d: Database, batch: int, now: int) -> None:
    """The pages of a batch are written: their files are to be flushed."""
    for place in range(d.batches[batch, BATCH_PAGES]):
        d.written_files[_change_file(d, d.batches[batch, BATCH_FIRST + place], now)] = 1


@kernel
def _change_file(d: Database, page: int, now: int) -> int:
    """A page is written: its file's metadata changes. Return the file."""
    file = data_file_of(d, page)
    d.file_changed_ns[file] = changed_by_write(d.file_changed_ns[file], now)
    return file


@kernel
def flush_file_of(p: Plant, d: Database, page: int, now: int) -> int:
    """Flush the file of a page that was written by itself (fil_flush)."""
    file, volume = _change_file(d, page, now), volume_of(d, page)
    if d.page_cleaner[0]["fsync"] and d.page_cache.size == 0:
        return add_sync(p, d, 0, volume, d.file_changed_ns[file])
    return add_child(p, 0, volume, FLUSH, 0, 0)


@kernel
def flush_doublewrite(p: Plant, d: Database, now: int) -> int:
    """Flush the doublewrite file, which was written just now (fil_flush of the system tablespace)."""
    c = d.page_cleaner[0]
    c["doublewrite_changed_ns"] = changed_by_write(c["doublewrite_changed_ns"], now)
    if c["fsync"] and d.page_cache.size == 0:
        return add_sync(p, d, 0, c["doublewrite_station"], c["doublewrite_changed_ns"])
    return add_child(p, 0, c["doublewrite_station"], FLUSH, 0, 0)


@kernel
def file_to_flush(d: Database, first: int) -> int:
    """Return the next file from *first* on that is to be flushed, whose flush begins now; the number of files if there
    is none.
    """
    file = first
    while file < len(d.written_files) and d.written_files[file] == 0:
        file += 1
    if file < len(d.written_files):
        d.written_files[file] = 0
    return int(file)
