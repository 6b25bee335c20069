"""A simulated PostgreSQL: its pool, its log and its checkpoints, as the scenario says, else as recorded, else by
default. And VACUUM and ANALYZE beside its load: how many pages they read and wrote while it was recorded, and when
autovacuum is due if the load goes on. A run reads, writes and logs as many for each transaction; no row goes.

A table is due when its dead rows exceed a threshold and a share of its rows (postmaster/autovacuum.c,
relation_needs_vacanalyze). Deletions leave dead rows, and so do updates whose new version lies on another page; of
those that stay on their page (HOT) nothing is left when the page is pruned (access/heap/pruneheap.c). VACUUM adds up
what its pages cost, and sleeps for the delay whenever that comes to the limit (commands/vacuum.c, vacuum_delay_point).
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from tiersim.devices.host.upkeep import Upkeep
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.statements.engines import EngineSettings, EngineSources
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.checkpoint.checkpointer import (
    CHECKPOINT_SEGMENTS,
    CHECKPOINT_TIMEOUT_NS,
    MAX_WAL_BYTES,
    SEGMENT_BYTES,
    Checkpoints,
    completion_target,
    counts_size,
    distance_segments,
    log_buffer_bytes,
    version_number,
)
from tiersim.simulator.database.database_state import OLDER_OF_TWO, SWEEP
from tiersim.simulator.database.wal.log import HOLE_BYTES, Log, Replica
from tiersim.traces.differences import UPKEEP_MS, UPKEEP_RUNS, Differences, EntityChange, of_log, of_upkeep
from tiersim.units import NS_PER_MS, NS_PER_S, NS_PER_US

#: A version with the rules of today, where none was recorded.
_VERSION = "18"
#: checkpoint_flush_after on Linux (include/pg_config_manual.h, DEFAULT_CHECKPOINT_FLUSH_AFTER), and the version that
#: brought it, with writing in the order of files (release notes of 9.6).
_FLUSH_AFTER_PAGES, _SORTED = 32, 90600
#: Settings by which a page that only hints change has an image in the log, and the version from which on initdb turns
#: the first on (release notes of 18).
LOG_HINTS, _CHECKSUMS = ("data_checksums", "wal_log_hints"), 180000
#: Whether anybody reads the log again, and the version from which on that is so by default (release notes of 10).
LOG_LEVEL, _REPLICA = "wal_level", 100000
#: The record of a commit: header of 24 bytes, of its data 2, the time 8 (access/xlogrecord.h, xact.h).
_COMMIT_RECORD_BYTES = 34
#: Keys that make no difference to lookups.
_WITHOUT_EFFECT = ("io_method", "io_workers", "effective_io_concurrency")


def postgresql(sources: EngineSources, basis: dict[str, str]) -> EngineSettings:
    """Return PostgreSQL's settings, and note in *basis* where they come from."""
    engine, host, version = sources.engine, sources.host, sources.version
    log = _log(sources, basis)
    checkpoints = _checkpoints(sources, basis)
    os_cache_bytes = _os_cache_bytes(sources, basis)
    return EngineSettings(
        cpu_order=OLDER_OF_TWO,
        policy=SWEEP,
        ramp_pages=1,
        background_writer=_background_writer(host, version),
        lazy_writer=None,
        extension_bytes=0,
        os_cache_bytes=os_cache_bytes,
        log=log,
        checkpoints=checkpoints,
        commits_apart=True,
        commit_record_bytes=_COMMIT_RECORD_BYTES,
        described={
            "os_cache_bytes": os_cache_bytes,
            "synchronous_commit": log.synchronous_commit,
            "full_page_writes": log.full_page_writes,
            "checkpoint_timeout_ns": checkpoints.timeout_ns,
            "checkpoint_completion_target": checkpoints.completion_target,
            "checkpoint_distance_bytes": checkpoints.segments * log.segment_bytes,
            "max_wal_size_bytes": _max_wal_bytes(engine, host),
            "direct_io": _is_direct(engine, host),
        },
        caveats=tuple(_caveats(sources)),
    )


def _is_direct(engine: EngineModel, host: Mapping[str, Any]) -> bool:
    """Tell whether pages are read past the page cache of the operating system."""
    if engine.direct_io is not None:
        return engine.direct_io
    return "data" in str(host.get("debug_io_direct", ""))


def _os_cache_bytes(sources: EngineSources, basis: dict[str, str]) -> int:
    engine, inferred = sources.engine, sources.page_cache_bytes
    basis["engine.direct_io"] = "scenario" if engine.direct_io is not None else "recorded"
    if _is_direct(engine, sources.host):
        return 0
    if engine.os_cache is None and inferred is not None:
        basis["engine.os_cache"] = "inferred from pages that the recorded pool missed and reads of the volumes"
        return inferred
    return engine.os_cache or 0


def _background_writer(host: Mapping[str, Any], version: str | None) -> BackgroundWriter | None:
    """Return the background writer as it was set; its defaults where that was not recorded."""
    default = BackgroundWriter()
    pages = int(host.get("bgwriter_lru_maxpages", default.most_pages))
    delay_s = host.get("bgwriter_delay_s")
    delay_ns = default.delay_ns if delay_s is None else round(float(delay_s) * NS_PER_S)
    multiplier = float(host.get("bgwriter_lru_multiplier", default.multiplier))
    handed_on = default.flush_after_pages if _hands_on(version) else 0
    return BackgroundWriter(delay_ns, pages, multiplier, handed_on) if pages else None  # 0 pages: it is off


def _caveats(sources: EngineSources) -> Iterator[str]:
    engine = sources.engine
    is_known = engine.os_cache is not None or sources.page_cache_bytes is not None
    if not _is_direct(engine, sources.host) and not is_known:
        yield (
            "the OS page cache size is unknown and assumed to be 0; every buffer-pool miss reads the volume; set"
            " engine.os_cache"
        )
    if sources.host.get("fsync") == "off":
        yield (
            "fsync was off when it was recorded, and is on here: commits and checkpoints wait for storage as they did"
            " not then; for commits that do not, set engine.synchronous_commit = false"
        )
    number = version_number(sources.version or _VERSION)
    if engine.checkpoint_segments is not None and counts_size(number):
        yield "engine.checkpoint_segments has no effect here: from version 9.5 on max_wal_size counts"
    if engine.max_wal_size is not None and not counts_size(number):
        yield "engine.max_wal_size has no effect here: up to version 9.4 checkpoint_segments counts"
    if engine.checkpoint_flush_after is not None and not _hands_on(sources.version):
        yield "engine.checkpoint_flush_after has no effect here: it is of version 9.6 and later"
    without = [key for key in _WITHOUT_EFFECT if getattr(engine, key) is not None]
    if without:
        yield f"{', '.join(f'engine.{key}' for key in without)}: no effect on lookups, and only lookups are simulated"


def _log(sources: EngineSources, basis: dict[str, str]) -> Log:
    engine, host = sources.engine, sources.host
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
        file_bytes=sources.log_file_bytes,
        segment_bytes=segment_bytes,
        block_bytes=int(host.get("log_page_bytes", default.block_bytes)),
        buffer_bytes=_buffer_bytes(engine, host, sources.buffer_pool_bytes, segment_bytes),
        full_page_writes=images,
        hint_images=_logs_hints(host, sources.version),
        image_bytes=sources.page_bytes - HOLE_BYTES if sources.image_bytes is None else sources.image_bytes,
        commit_delay_ns=delay_ns,
        commit_siblings=int(host.get("commit_siblings", default.commit_siblings)),
        synchronous_commit=commit,
        writer_delay_ns=round(float(host.get("wal_writer_delay_s", 0.2)) * NS_PER_S),
        replica=replica,
        cached=stays_cached(host, sources.version),
    )


def stays_cached(host: Mapping[str, Any], version: str | None) -> bool:
    """Tell whether the log stays in the page cache: it is written through it, and others may read it."""
    by_default = "replica" if version_number(version or _VERSION) >= _REPLICA else "minimal"
    return "wal" not in str(host.get("debug_io_direct", "")) and host.get(LOG_LEVEL, by_default) != "minimal"


def _logs_hints(host: Mapping[str, Any], version: str | None) -> bool:
    """Tell whether a page that only hints change has an image in the log, too."""
    by_default = version_number(version or _VERSION) >= _CHECKSUMS
    checksums, hints = (host.get(name) for name in LOG_HINTS)
    return hints == "on" or (by_default if checksums is None else checksums == "on")


def _buffer_bytes(engine: EngineModel, host: Mapping[str, Any], pool_bytes: int, segment_bytes: int) -> int:
    """Return wal_buffers: by default it follows from the pool, so a recorded one counts only with the recorded pool."""
    if engine.wal_buffers is not None:
        return engine.wal_buffers
    recorded = host.get("wal_buffers_bytes")
    if recorded is not None and host.get("shared_buffers_bytes") == pool_bytes:
        return int(recorded)
    return log_buffer_bytes(pool_bytes, segment_bytes)


def _checkpoints(sources: EngineSources, basis: dict[str, str]) -> Checkpoints:
    engine, host, version = sources.engine, sources.host, sources.version
    number = version_number(version or _VERSION)
    target = engine.checkpoint_completion_target
    if target is None:
        target = float(host.get("checkpoint_completion_target", completion_target(number)))
    timeout_ns = engine.checkpoint_timeout
    if timeout_ns is None:
        recorded_s = host.get("checkpoint_timeout_s")
        timeout_ns = CHECKPOINT_TIMEOUT_NS if recorded_s is None else round(float(recorded_s) * NS_PER_S)
    size = _max_wal_bytes(engine, host)
    flush_bytes = engine.checkpoint_flush_after
    if flush_bytes is None:
        flush_bytes = int(host.get("checkpoint_flush_after_bytes", _FLUSH_AFTER_PAGES * sources.page_bytes))
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
        segments=distance_segments(
            number,
            size,
            target,
            segment_bytes=segment_bytes,
            checkpoint_segments=engine.checkpoint_segments or CHECKPOINT_SEGMENTS,
        ),
        flush_after_pages=flush_bytes // sources.page_bytes if _hands_on(version) else 0,
        in_file_order=_hands_on(version),
        since_ns=min(sources.since_checkpoint_ns, timeout_ns),
    )


def _max_wal_bytes(engine: EngineModel, host: Mapping[str, Any]) -> int:
    return engine.max_wal_size or int(host.get("max_wal_size_bytes", MAX_WAL_BYTES))


def _hands_on(version: str | None) -> bool:
    """Tell whether writers ask the page cache to write back what they have written, and checkpoints write in the order
    of files.
    """
    return version_number(version or _VERSION) >= _SORTED


def _basis(given: object, host: Mapping[str, Any], name: str) -> str:
    return "scenario" if given is not None else "recorded" if name in host else "default"


#: Defaults: autovacuum_vacuum_threshold, autovacuum_vacuum_scale_factor (utils/misc/guc_tables.c).
_THRESHOLD_ROWS, _SCALE_FACTOR = 50, 0.2
#: maintenance_io_concurrency of versions before 18.
_DEPTH = 10
#: Of a run, where nobody knows how much is due when a recording begins.
_HALF = 0.5


def upkeep_of(found: Differences, page_bytes: int) -> Upkeep | None:
    """Return what VACUUM and ANALYZE read for each page of all others, and wrote for each of these (pg_stat_io,
    PostgreSQL 16), in runs as long as those over the table that they missed most of; None where they read nothing.
    """
    (own, others), (written, _) = (of_upkeep(found, counter) for counter in ("read_bytes", "written_bytes"))
    if not own or not others:
        return None
    runs = {name: sum(_count(change, run) for run in UPKEEP_RUNS) for name, change in found.of("relation").items()}
    missed = {name: _count(change, "pages_read") for name, change in found.of("relation").items() if runs[name]}
    largest = max(missed, key=missed.__getitem__, default="")
    pages = own / page_bytes * missed[largest] / max(sum(missed.values()), 1) if largest else own / page_bytes
    depth = found.of("setting").get("maintenance_io_concurrency", EntityChange()).last.get("setting", _DEPTH)
    times, begun = _course(found.of("relation").get(largest, EntityChange()))
    return Upkeep(
        times * own / others,
        written / own,
        max(round(pages / max(runs.get(largest, 1), 1)), 1),
        max(int(depth), 1),
        _page_ns(found, own / page_bytes),
        begun,
    )


def _course(relation: EntityChange) -> tuple[float, float]:
    """Return how many times as often as it was recorded ANALYZE runs over a table if that goes on, and which share of
    the changes that a run waits for had come when the recording began: those that runs waited for are the recorded
    ones, and what had come, without what has come since the last run. 1 and a half where nobody counted, and of VACUUM.
    """
    before, after = relation.first.get("rows_modified"), relation.last.get("rows_modified")
    analyzed, vacuumed = (sum(_count(relation, name) for name in names) for names in (UPKEEP_RUNS[2:], UPKEEP_RUNS[:2]))
    if not (isinstance(before, Decimal) and isinstance(after, Decimal)) or vacuumed or not analyzed:
        return 1.0, _HALF
    changed = sum(_count(relation, name) for name in ("rows_inserted", "rows_updated", "rows_deleted"))
    waited_for = float(before + changed - after)
    if waited_for <= 0:
        return 1.0, _HALF
    return changed / waited_for, min(float(before) * analyzed / waited_for, 1.0)


def _page_ns(found: Differences, pages: float) -> int:
    """Return how long VACUUM and ANALYZE took for each of the *pages* that they read, besides the reads and writes that
    they waited for: PostgreSQL 18 says it, if it times IO.
    """
    took_ms = sum(float(change.number(name) or 0) for change in found.of("relation").values() for name in UPKEEP_MS)
    read_ms, written_ms = (of_upkeep(found, counter)[0] for counter in ("read_ms", "write_ms"))
    return round(max(took_ms - read_ms - written_ms, 0.0) * NS_PER_MS / pages) if read_ms else 0


def images_of_upkeep(found: Differences) -> float:
    """Return how many images of pages the log got from VACUUM and ANALYZE: all that no statement is counted for.

    With checksums (initdb's default from PostgreSQL 18 on) or wal_log_hints a page that only its hint bits change in
    needs one, too (storage/bufmgr.c, MarkBufferDirtyHint): ANALYZE reads 30,000 pages of a large table, and where rows
    were changed since a checkpoint most of them.
    """
    counted = sum(_count(change, "log_full_page_images") for change in found.of("query").values())
    return max(of_log(found, "full_page_images") - counted, 0.0)


def said_of_vacuum(found: Differences, upkeep: Upkeep | None = None) -> list[str]:
    """Say what VACUUM and ANALYZE did while a load was recorded, *upkeep*, and which tables are due before it has gone
    on for as long again.
    """
    relations = found.of("relation")
    runs = sum(_count(change, name) for change in relations.values() for name in ("vacuums", "autovacuums"))
    said = []
    if upkeep is not None:
        own, others = of_upkeep(found, "read_bytes")
        said.append(
            f"VACUUM and ANALYZE read {own / others:.1%} as many pages as statements while this was recorded, some"
            f" {upkeep.run_pages:,} at a time; a replay asks for as many for each transaction, at random places;"
            " their full-page images are spread over the commits"
        )
    elif runs:
        said.append(
            f"tables were vacuumed {runs:,} times while this was recorded: pages that VACUUM reads and writes, and its"
            " WAL, are not simulated; what they cost statements is in the recorded times alone"
        )
    settings = {name: str(change.last.get("setting", "")) for name, change in found.of("setting").items()}
    span_ns = found.span_ns.get("relation")
    if not span_ns or settings.get("autovacuum") == "off":
        return said
    for name, change in sorted(relations.items()):
        due_s = due_after_s(change, span_ns / NS_PER_S, settings)
        if due_s is not None and due_s <= span_ns / NS_PER_S and not _count(change, "autovacuums"):
            said.append(
                f"{name}: autovacuum is due when the recorded load goes on for {due_s:,.0f} s; {_pace(settings)}its"
                " pages and its WAL are not simulated"
            )
    return said


def due_after_s(relation: EntityChange, span_s: float, settings: Mapping[str, str]) -> float | None:
    """Return after how many seconds a table is due that goes on as in *span_s*, 0 if it is; None if it never is or its
    dead rows were not counted.
    """
    dead, live = relation.number("rows_dead"), relation.number("rows_live")
    if dead is None or live is None:
        return None
    base = float(settings.get("autovacuum_vacuum_threshold") or _THRESHOLD_ROWS)
    share = float(settings.get("autovacuum_vacuum_scale_factor") or _SCALE_FACTOR)
    left = base + share * float(live) - float(dead)
    moved = _count(relation, "rows_updated") - _count(relation, "rows_hot_updated")
    a_second = (moved + _count(relation, "rows_deleted")) / span_s
    if left < 0:
        return 0.0
    return left / a_second if a_second > 0 else None


def pages_per_s(limit: float, delay_ms: float, page_cost: float) -> float:
    """Return how many pages VACUUM comes to at most when each costs as much; *delay_ms* > 0."""
    return limit / page_cost * 1000 / delay_ms


def _pace(settings: Mapping[str, str]) -> str:
    """Say how fast VACUUM reads and changes pages at most, where its settings were recorded and slow it down."""
    names = ("autovacuum_vacuum_cost_delay", "vacuum_cost_page_miss", "vacuum_cost_page_dirty")
    delay_ms, miss, dirty = (float(settings.get(name) or 0) for name in names)
    limit = float(settings.get("autovacuum_vacuum_cost_limit") or 0)
    if limit <= 0:  # -1: that of VACUUM
        limit = float(settings.get("vacuum_cost_limit") or 0)
    if min(delay_ms, miss, dirty, limit) <= 0:
        return ""
    read, changed = (pages_per_s(limit, delay_ms, cost) for cost in (miss, dirty))
    return f"it reads {read:,.0f} pages/s or changes {changed:,.0f} at most; "


def _count(change: EntityChange, name: str) -> int:
    return int(change.number(name) or 0)
