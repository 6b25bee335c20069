"""The four functions of every station, by its kind: of the devices, and of what a database has above them.

The event loop calls them by their addresses (:func:`station_addresses`); Python calls the same machine code
(:func:`accept` ...).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station import ACCEPT, CHOOSE, FINISH, KINDS, RESUME, StationKind, called
from tiersim.devices.station_records import NEVER, NONE, Plant
from tiersim.kernel import address_of
from tiersim.simulator.database.buffer_pool.background_writer import (
    accept_writer,
    finish_writer,
    resume_writer,
)
from tiersim.simulator.database.buffer_pool.page_cleaner import (
    accept_cleaner,
    choose_cleaner,
    finish_cleaner,
    resume_cleaner,
)
from tiersim.simulator.database.buffer_pool.pool import accept_pool, choose_pool, finish_page, resume_pool
from tiersim.simulator.database.buffer_pool.readers import (
    accept_readers,
    choose_readers,
    finish_readers,
    resume_readers,
)
from tiersim.simulator.database.checkpoint.bursts import accept_burst, finish_burst, resume_burst
from tiersim.simulator.database.checkpoint.checkpointer import (
    accept_checkpointer,
    finish_checkpointer,
    resume_checkpointer,
)
from tiersim.simulator.database.database_state import (
    BACKGROUND_WRITER,
    BINARY_LOG,
    BUFFER_POOL,
    BURSTS,
    CHECKPOINTER,
    COPIES,
    JOURNAL,
    LOG_BLOCKS,
    LOG_STATION,
    LOG_THREADS,
    PAGE_CACHE,
    PAGE_CLEANER,
    PROCESSORS,
    READERS,
    Database,
)
from tiersim.simulator.database.journal import accept_journal, choose_journal, finish_journal, resume_journal
from tiersim.simulator.database.page_cache import (
    accept_page_cache,
    choose_page_cache,
    finish_page_cache,
    resume_page_cache,
)
from tiersim.simulator.database.sessions.copies import accept_copies, choose_copies, finish_copies, resume_copies
from tiersim.simulator.database.sessions.processors import accept_processors, choose_processors, finish_processors
from tiersim.simulator.database.sessions.sessions import step
from tiersim.simulator.database.wal.binary_log import (
    accept_binary_log,
    choose_binary_log,
    finish_binary_log,
    resume_binary_log,
)
from tiersim.simulator.database.wal.log import accept_log, choose_log, finish_log, resume_log
from tiersim.simulator.database.wal.log_blocks import (
    accept_log_blocks,
    choose_log_blocks,
    finish_log_blocks,
    resume_log_blocks,
)
from tiersim.simulator.database.wal.log_threads import (
    accept_log_threads,
    choose_log_threads,
    finish_log_threads,
    resume_log_threads,
)
from tiersim.simulator.metrics import Metrics

#: The stations of databases by kind.
_OF_DATABASES = {
    PROCESSORS: StationKind(accept_processors, finish_processors, choose_processors),
    BUFFER_POOL: StationKind(accept_pool, finish_page, choose_pool, resume_pool),
    BACKGROUND_WRITER: StationKind(accept_writer, finish_writer, resume=resume_writer),
    PAGE_CACHE: StationKind(accept_page_cache, finish_page_cache, choose_page_cache, resume_page_cache),
    LOG_STATION: StationKind(accept_log, finish_log, choose_log, resume_log),
    CHECKPOINTER: StationKind(accept_checkpointer, finish_checkpointer, resume=resume_checkpointer),
    LOG_BLOCKS: StationKind(accept_log_blocks, finish_log_blocks, choose_log_blocks, resume_log_blocks),
    LOG_THREADS: StationKind(accept_log_threads, finish_log_threads, choose_log_threads, resume_log_threads),
    BURSTS: StationKind(accept_burst, finish_burst, resume=resume_burst),
    COPIES: StationKind(accept_copies, finish_copies, choose_copies, resume_copies),
    PAGE_CLEANER: StationKind(accept_cleaner, finish_cleaner, choose_cleaner, resume_cleaner),
    JOURNAL: StationKind(accept_journal, finish_journal, choose_journal, resume_journal),
    BINARY_LOG: StationKind(accept_binary_log, finish_binary_log, choose_binary_log, resume_binary_log),
    READERS: StationKind(accept_readers, finish_readers, choose_readers, resume_readers),
}
#: The functions of each kind.
_KINDS = KINDS | {kind: called(station, __name__) for kind, station in _OF_DATABASES.items()}

#: Beside the addresses of kinds, first of a row: that of the function which lets a session go on.
STEP = max(_KINDS) + 1


def station_addresses(p: Plant, d: Database, m: Metrics) -> NDArray[np.int64]:
    """Return where the functions of each kind of station in a plant are (kinds, functions), and that of sessions; 0 for
    what is not there.
    """
    found = np.zeros((STEP + 1, 4), np.int64)
    for place in {*p.stations["kind"].tolist(), *[STEP] * (d.sessions.size > 0)}:
        found[place] = addresses_of(place, p, d, m)
    return found


def addresses_of(place: int, p: Plant, d: Database, m: Metrics) -> list[int]:
    """Return where the functions of a kind of station are, or at STEP that of sessions; they are compiled first if they
    have to be.
    """
    if place == STEP:
        return [address_of(step, d, m, 0, 0, 0, 0), 0, 0, 0]
    return [0 if one is None else address_of(one, p, _taken(place, d), 0, 0, 0, 0) for one in _KINDS[place]]


def chooses(kind: int) -> bool:
    """Whether a kind of station has anything to choose: requests wait at no other."""
    return _KINDS[kind][CHOOSE] is not None


def _taken(kind: int, d: Database) -> Any:
    """Return what a kind takes of a database: devices take none, and do not compile anew where one changes."""
    return 0 if kind in KINDS else d


def _call(what: int, p: Plant, d: Database, station: int, slot: int, now: int) -> tuple[int, int, int]:
    kind = int(p.stations[station]["kind"])
    function = _KINDS[kind][what]
    if function is None:
        return (0, 0, 0) if what == RESUME else (NONE, NEVER, NEVER)
    return function(p, _taken(kind, d), station, slot, now, 0)


def accept(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Hand a request to a station, see :class:`tiersim.devices.station.StationKind`."""
    return _call(ACCEPT, p, d, station, slot, now)[0]


def choose(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Let a station start a request."""
    return _call(CHOOSE, p, d, station, 0, now)


def finish(p: Plant, d: Database, station: int, slot: int) -> int:
    """End a service at a station."""
    return _call(FINISH, p, d, station, slot, 0)[0]


def resume(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Let a station go on with a request."""
    return _call(RESUME, p, d, station, slot, now)[0]
