"""The four functions of every station: of the devices, and of what a database has above them."""

from tiersim.devices import station as devices
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool.background_writer import (
    accept_writer,
    finish_writer,
    resume_writer,
    wake_writer,
)
from tiersim.simulator.database.buffer_pool.page_cleaner import (
    accept_cleaner,
    choose_cleaner,
    finish_cleaner,
    resume_cleaner,
    wake_cleaner,
)
from tiersim.simulator.database.buffer_pool.pool import accept_pool, choose_pool, finish_pool, resume_pool
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


@kernel
def accept(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Hand a request to a station, see :func:`tiersim.devices.station.accept`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.accept(p, station, slot, now)
    if kind == PROCESSORS:
        return accept_processors(p, d, slot)
    if kind == BUFFER_POOL:
        return accept_pool(p, d, slot, now)
    if kind == BACKGROUND_WRITER:
        return accept_writer(d, now)
    if kind == PAGE_CACHE:
        return accept_page_cache(p, d, slot, now)
    if kind == LOG_STATION:
        return accept_log(p, d, slot, now)
    if kind == CHECKPOINTER:
        return accept_checkpointer(p, d, slot, now)
    if kind == LOG_BLOCKS:
        return accept_log_blocks(p, d, slot, now)
    if kind == BURSTS:
        return accept_burst(p, d, slot, now)
    if kind == COPIES:
        return accept_copies(p, d, slot, now)
    if kind == PAGE_CLEANER:
        return accept_cleaner(p, d, slot, now)
    if kind == BINARY_LOG:
        return accept_binary_log(p, d, slot)
    return accept_readers(p, d, slot)


@kernel
def choose(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start one request, if the station can, see :func:`tiersim.devices.station.choose`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.choose(p, station, now)
    if kind == PROCESSORS:
        return choose_processors(p, d, station, now)
    if kind == PAGE_CACHE:
        return choose_page_cache(p, d, now)
    if kind == BUFFER_POOL:
        return choose_pool(p, d, station, now)
    if kind == LOG_STATION:
        return choose_log(p, d, now)
    if kind == LOG_BLOCKS:
        return choose_log_blocks(p, d, now)
    if kind == COPIES:
        return choose_copies(p, d, now)
    if kind == PAGE_CLEANER:
        return choose_cleaner(p, d, now)
    if kind == BINARY_LOG:
        return choose_binary_log(p, d, now)
    return choose_readers(p, d, station, now)


@kernel
def finish(p: Plant, d: Database, station: int, slot: int) -> int:
    """End a service, see :func:`tiersim.devices.station.finish`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.finish(p, station, slot)
    if kind == PROCESSORS:
        return finish_processors(d)
    if kind == BUFFER_POOL:
        return wake_cleaner(p, d, wake_writer(p, d, finish_pool(p, d, slot)))
    if kind == BACKGROUND_WRITER:
        return finish_writer(p, d)
    if kind == PAGE_CACHE:
        return finish_page_cache(p, d, slot)
    if kind == LOG_STATION:
        return finish_log(p, d, slot)
    if kind == CHECKPOINTER:
        return finish_checkpointer(p, d, slot)
    if kind == LOG_BLOCKS:
        return finish_log_blocks(p, d, slot)
    if kind == BURSTS:
        return finish_burst(p, d, slot)
    if kind == COPIES:
        return finish_copies(p, d, slot)
    if kind == PAGE_CLEANER:
        return finish_cleaner(p, d, slot)
    if kind == BINARY_LOG:
        return finish_binary_log(p, d, slot)
    return finish_readers(p, d, slot)


@kernel
def resume(p: Plant, d: Database, station: int, slot: int, now: int) -> int:
    """Go on with a request whose children are done, see :func:`tiersim.devices.station.resume`."""
    kind = p.stations[station]["kind"]
    if kind < PROCESSORS:
        return devices.resume(p, station, slot, now)
    if kind == PROCESSORS:
        return 0
    if kind == BUFFER_POOL:
        return resume_pool(p, d, slot, now)
    if kind == BACKGROUND_WRITER:
        return resume_writer(p, d)
    if kind == PAGE_CACHE:
        return resume_page_cache(p, d, slot, now)
    if kind == LOG_STATION:
        return resume_log(p, d, slot, now)
    if kind == CHECKPOINTER:
        return resume_checkpointer(p, d, slot, now)
    if kind == LOG_BLOCKS:
        return resume_log_blocks(p, d, slot, now)
    if kind == BURSTS:
        return resume_burst(p, d, slot, now)
    if kind == COPIES:
        return resume_copies(p, d, slot)
    if kind == PAGE_CLEANER:
        return resume_cleaner(p, d, slot)
    if kind == BINARY_LOG:
        return resume_binary_log(p, d, slot)
    return resume_readers(p, d, slot)
