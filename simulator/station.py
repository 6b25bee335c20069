"""The four functions of every station, by its kind: of the devices, and of what a database has above them; made of the
tables of both (:func:`tiersim.devices.station.dispatch`).
"""

from collections.abc import Callable

from tiersim.devices.station import STATIONS, StationKind, dispatch
from tiersim.devices.station_records import Plant
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
    LOG_BLOCKS,
    LOG_STATION,
    PAGE_CACHE,
    PAGE_CLEANER,
    PROCESSORS,
    READERS,
    Database,
)
from tiersim.simulator.database.page_cache import (
    accept_page_cache,
    choose_page_cache,
    finish_page_cache,
    resume_page_cache,
)
from tiersim.simulator.database.sessions.copies import accept_copies, choose_copies, finish_copies, resume_copies
from tiersim.simulator.database.sessions.processors import accept_processors, choose_processors, finish_processors
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

#: The stations of devices and of databases by kind.
_STATIONS = STATIONS | {
    PROCESSORS: StationKind(accept_processors, finish_processors, choose_processors),
    BUFFER_POOL: StationKind(accept_pool, finish_page, choose_pool, resume_pool),
    BACKGROUND_WRITER: StationKind(accept_writer, finish_writer, resume=resume_writer),
    PAGE_CACHE: StationKind(accept_page_cache, finish_page_cache, choose_page_cache, resume_page_cache),
    LOG_STATION: StationKind(accept_log, finish_log, choose_log, resume_log),
    CHECKPOINTER: StationKind(accept_checkpointer, finish_checkpointer, resume=resume_checkpointer),
    LOG_BLOCKS: StationKind(accept_log_blocks, finish_log_blocks, choose_log_blocks, resume_log_blocks),
    BURSTS: StationKind(accept_burst, finish_burst, resume=resume_burst),
    COPIES: StationKind(accept_copies, finish_copies, choose_copies, resume_copies),
    PAGE_CLEANER: StationKind(accept_cleaner, finish_cleaner, choose_cleaner, resume_cleaner),
    BINARY_LOG: StationKind(accept_binary_log, finish_binary_log, choose_binary_log, resume_binary_log),
    READERS: StationKind(accept_readers, finish_readers, choose_readers, resume_readers),
}

accept: Callable[[Plant, Database, int, int, int], int] = dispatch(
    "accept", _STATIONS, "p, d, station, slot, now", "WAIT", __name__
)
choose: Callable[[Plant, Database, int, int], tuple[int, int, int]] = dispatch(
    "choose", _STATIONS, "p, d, station, now", "NONE, NEVER, NEVER", __name__
)
finish: Callable[[Plant, Database, int, int], int] = dispatch("finish", _STATIONS, "p, d, station, slot", "0", __name__)
resume: Callable[[Plant, Database, int, int, int], int] = dispatch(
    "resume", _STATIONS, "p, d, station, slot, now", "0", __name__
)
