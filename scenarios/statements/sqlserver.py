"""A simulated SQL Server: its pool, its log and its checkpoints, as the scenario says, else as recorded, else by
default.
"""

import re
from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.statements.engines import EngineSettings, EngineSources
from tiersim.simulator.database.buffer_pool.gather_write import GATHERED, GATHERED_BEFORE_2016
from tiersim.simulator.database.buffer_pool.lazy_writer import LazyWriter
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.database_state import IN_ORDER, LRU2
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.units import NS_PER_MS, NS_PER_S

#: Majors of versions that are told apart: 2008, 2012, 2016.
_2008, _2012, _2016 = 10, 11, 13
#: Checkpoints slow down when writes take longer than this: from 2016 on, and before (SQLCAT).
_SLOW_NS, _SLOW_BEFORE_NS = 50 * NS_PER_MS, 20 * NS_PER_MS
#: Writes of the log under way: 112 from 2012 on, 32 before (P. Randal, sqlperformance.com, January 2013); bytes: 3,840
#: KB from 2008 on, 480 KB before (SQLCAT, limits of the log manager).
_LOG_WRITES, _LOG_WRITES_BEFORE = 112, 32
_LOG_BYTES, _LOG_BYTES_BEFORE = 3840 << 10, 480 << 10
#: A version with the rules of today, where none was recorded: 2022.
_VERSION = 16
#: The default of "recovery interval" is 0, which means one minute; that of TARGET_RECOVERY_TIME is 60 s for databases
#: made by 2016 and later, else 0 (Microsoft, Database checkpoints).
_RECOVERY_INTERVAL_NS, _TARGET_RECOVERY_NS = 60 * NS_PER_S, 60 * NS_PER_S
#: Pages that a page brings with it while the pool fills: of the Enterprise family 64 KiB, aligned (Microsoft, Memory
#: management architecture guide).
_RAMP_PAGES = 8


def sqlserver(sources: EngineSources, basis: dict[str, str]) -> EngineSettings:
    """Return SQL Server's settings, and note in *basis* where they come from."""
    engine, host = sources.engine, sources.host
    version = major(sources.version)
    interval_ns = _value(engine.recovery_interval, host, "recovery_interval", _RECOVERY_INTERVAL_NS, basis)
    default_ns = _TARGET_RECOVERY_NS if version >= _2016 else 0
    target_ns = _value(engine.target_recovery_time, host, "target_recovery_time", default_ns, basis)
    delayed = engine.delayed_durability
    basis["engine.delayed_durability"] = "default" if delayed is None else "scenario"
    slow_ns, gathered = (_SLOW_NS, GATHERED) if version >= _2016 else (_SLOW_BEFORE_NS, GATHERED_BEFORE_2016)
    most_writes = _LOG_WRITES if version >= _2012 else _LOG_WRITES_BEFORE
    most_bytes = _LOG_BYTES if version >= _2008 else _LOG_BYTES_BEFORE
    checkpoints = (
        IndirectCheckpoints(target_ns, slow_ns, gathered_pages=gathered)
        if target_ns
        else BurstCheckpoints(
            interval_ns, slow_ns, gathered_pages=gathered, since_ns=min(sources.since_checkpoint_ns, interval_ns)
        )
    )
    return EngineSettings(
        cpu_order=IN_ORDER,
        policy=LRU2,
        ramp_pages=_RAMP_PAGES,
        background_writer=None,
        lazy_writer=LazyWriter(gathered_pages=gathered),
        extension_bytes=engine.extension or 0,
        os_cache_bytes=0,
        log=LogBlocks(
            file_bytes=sources.log_file_bytes,
            most_writes=most_writes,
            most_bytes=most_bytes,
            delayed_durability=bool(delayed),
        ),
        checkpoints=checkpoints,
        commits_apart=False,
        commit_record_bytes=0,  # the counters of the log's file contain it
        described={
            "delayed_durability": bool(delayed),
            "checkpoints": "indirect" if target_ns else "automatic",
            "recovery_interval_ns": interval_ns,
            "target_recovery_time_ns": target_ns,
            "extension_bytes": engine.extension or 0,
        },
        caveats=(),
    )


def _value(given: int | None, host: Mapping[str, Any], key: str, default: int, basis: dict[str, str]) -> int:
    """Return a time in ns: of the scenario, or as it was recorded (``KEY_s``, in seconds), or by default."""
    recorded_s = host.get(f"{key}_s")
    basis[f"engine.{key}"] = "scenario" if given is not None else "default" if recorded_s is None else "recorded"
    if given is not None:
        return given
    return default if recorded_s is None else round(float(recorded_s) * NS_PER_S)


def major(version: str | None) -> int:
    """Return the major version, 14 of ``"14.0.3391"``; that of today where it is not known or cannot be read.

    >>> major("14.0.3391"), major("11"), major(None)
    (14, 11, 16)
    """
    found = re.match(r"\d+", version or "")
    return int(found[0]) if found else _VERSION
