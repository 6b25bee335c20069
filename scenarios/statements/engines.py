"""What an engine's settings are made from, and what becomes of them: the form that :mod:`.postgresql`,
:mod:`.sqlserver` and :mod:`.innodb` fill in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiersim.scenarios.database_models import EngineModel
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.buffer_pool.midpoint import Midpoint
from tiersim.simulator.database.buffer_pool.page_cleaner import PageCleaner
from tiersim.simulator.database.build import PLAIN_MIDPOINT
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.checkpoint.checkpointer import Checkpoints
from tiersim.simulator.database.wal.binary_log import BinaryLog
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.database.wal.log_blocks import LogBlocks


@dataclass(frozen=True)
class EngineSources:
    """What the scenario and the recording say of an engine.

    ``since_checkpoint_ns`` is how long before the run the last checkpoint began; ``image_bytes`` how long an image of a
    page was in the log, ``page_cache_bytes`` how large the operating system's page cache is beside this pool on the
    recorded host: None if nobody knows.
    """

    engine: EngineModel
    host: Mapping[str, Any]  # of the recording
    version: str | None
    page_bytes: int
    buffer_pool_bytes: int
    image_bytes: int | None
    log_file_bytes: int
    since_checkpoint_ns: int
    page_cache_bytes: int | None = None


@dataclass(frozen=True)
class EngineSettings:
    """How an engine replaces pages and makes changes durable; ``described`` is what a summary shows of it."""

    cpu_order: int  # whom a core serves next: IN_ORDER where the engine schedules threads itself
    policy: int  # of replacement
    ramp_pages: int  # that a page brings with it while the pool fills
    background_writer: BackgroundWriter | None
    lazy_writer: LazyWriter | None
    extension_bytes: int  # of the buffer pool
    os_cache_bytes: int
    log: Log | LogBlocks
    checkpoints: Checkpoints | BurstCheckpoints | IndirectCheckpoints | None
    commits_apart: bool  # a commit is no part of the last statement, as its duration was recorded
    commit_record_bytes: int  # of the log, for the commit by itself
    described: Mapping[str, Any]
    caveats: tuple[str, ...]
    midpoint: Midpoint = PLAIN_MIDPOINT
    page_cleaner: PageCleaner | None = None
    binary_log: BinaryLog | None = None
