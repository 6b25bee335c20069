"""How a simulated PostgreSQL makes changes durable: its log and its checkpoints, as the scenario says, else as recorded, else by default."""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.database_models import EngineModel
from tiersim.simulator.database.checkpoint_rules import (
    CHECKPOINT_TIMEOUT_NS,
    MAX_WAL_BYTES,
    SEGMENT_BYTES,
    completion_target,
    distance_segments,
    log_buffer_bytes,
    version_number,
)
from tiersim.simulator.database.checkpointer import Checkpoints
from tiersim.simulator.database.log import HOLE_BYTES, Log, Replica
from tiersim.units import NS_PER_S, NS_PER_US

#: A version with the rules of today, where none was recorded.
_VERSION = "18"
#: checkpoint_flush_after on Linux (include/pg_config_manual.h, DEFAULT_CHECKPOINT_FLUSH_AFTER), and the version that brought it, with
#: writing in the order of files (release notes of 9.6).
_FLUSH_AFTER_PAGES, _SORTED = 32, 90600


def log_of(
    engine: EngineModel,
    host: Mapping[str, Any],
    page_bytes: int,
    buffer_pool_bytes: int,
    image_bytes: int | None,
    file_bytes: int,
    basis: dict[str, str],
) -> Log:
    """Return the log's settings; *image_bytes* is how long an image of a page was when it was recorded, None if nobody knows."""
    segment_bytes = int(host.get("wal_segment_bytes", SEGMENT_BYTES))
    default = Log()
    delay_ns = engine.commit_delay
    if delay_ns is None:
        delay_ns = int(host.get("commit_delay_us", 0)) * NS_PER_US
    commit = engine.synchronous_commit
    if commit is None:
        commit = host.get("synchronous_commit", "on") != "off"
    images = engine.full_page_writes
    if images is None:
        images = host.get("full_page_writes", "on") == "on"
    basis["engine.full_page_writes"] = _basis(engine.full_page_writes, host, "full_page_writes")
    basis["engine.synchronous_commit"] = _basis(engine.synchronous_commit, host, "synchronous_commit")
    replica = None if engine.replica is None else Replica(engine.replica.round_trip, engine.replica.flush)
    return Log(
        file_bytes=file_bytes,
        segment_bytes=segment_bytes,
        block_bytes=int(host.get("log_page_bytes", default.block_bytes)),
        buffer_bytes=_buffer_bytes(engine, host, buffer_pool_bytes, segment_bytes),
        full_page_writes=images,
        image_bytes=page_bytes - HOLE_BYTES if image_bytes is None else image_bytes,
        commit_delay_ns=delay_ns,
        commit_siblings=int(host.get("commit_siblings", default.commit_siblings)),
        synchronous_commit=commit,
        writer_delay_ns=round(float(host.get("wal_writer_delay_s", 0.2)) * NS_PER_S),
        replica=replica,
    )


def _buffer_bytes(engine: EngineModel, host: Mapping[str, Any], pool_bytes: int, segment_bytes: int) -> int:
    """Return wal_buffers: by default it follows from the pool, so a recorded one counts only with the recorded pool."""
    if engine.wal_buffers is not None:
        return engine.wal_buffers
    recorded = host.get("wal_buffers_bytes")
    if recorded is not None and host.get("shared_buffers_bytes") == pool_bytes:
        return int(recorded)
    return log_buffer_bytes(pool_bytes, segment_bytes)


def checkpoints_of(
    engine: EngineModel, host: Mapping[str, Any], version: str | None, since_ns: int, basis: dict[str, str]
) -> Checkpoints:
    """Return the checkpointer's settings; the last checkpoint began *since_ns* before the run."""
    number = version_number(version or _VERSION)
    target = engine.checkpoint_completion_target
    if target is None:
        target = float(host.get("checkpoint_completion_target", completion_target(number)))
    timeout_ns = engine.checkpoint_timeout
    if timeout_ns is None:
        recorded_s = host.get("checkpoint_timeout_s")
        timeout_ns = CHECKPOINT_TIMEOUT_NS if recorded_s is None else round(float(recorded_s) * NS_PER_S)
    size = engine.max_wal_size
    if size is None:
        size = int(host.get("max_wal_size_bytes", MAX_WAL_BYTES))
    flush_bytes = engine.checkpoint_flush_after
    if flush_bytes is None:
        flush_bytes = int(host.get("checkpoint_flush_after_bytes", _FLUSH_AFTER_PAGES * 8192))
    for key, name in (
        ("checkpoint_timeout", "checkpoint_timeout_s"),
        ("checkpoint_completion_target", "checkpoint_completion_target"),
        ("max_wal_size", "max_wal_size_bytes"),
    ):
        basis[f"engine.{key}"] = _basis(getattr(engine, key), host, name)
    segment_bytes = int(host.get("wal_segment_bytes", SEGMENT_BYTES))
    return Checkpoints(
        timeout_ns=timeout_ns,
        completion_target=target,
        segments=distance_segments(number, size, target, segment_bytes=segment_bytes),
        flush_after_pages=flush_bytes // 8192 if hands_on(version) else 0,
        in_file_order=hands_on(version),
        since_ns=min(since_ns, timeout_ns),
    )


def hands_on(version: str | None) -> bool:
    """Tell whether writers ask the page cache to write back what they have written, and checkpoints write in the order of files."""
    return version_number(version or _VERSION) >= _SORTED


def _basis(given: object, host: Mapping[str, Any], name: str) -> str:
    return "scenario" if given is not None else "recorded" if name in host else "default"
