"""The load of a bundle: its statements as they were recorded one by one, or synthesised from its counters.

Of statements that were recorded one by one it says which can run, what their processor time says, and where their
transactions end.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiersim.errors import TraceError
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.innodb import InnoDBCounters, innodb_accesses
from tiersim.scenarios.calibration.popularity import Fitted, fit
from tiersim.scenarios.calibration.popularity.occupancy import LRU2
from tiersim.scenarios.calibration.popularity.recorded import page_cache, recorded_accesses
from tiersim.scenarios.calibration.popularity.recorded_files import (
    OWN_DATABASES,
    FileAccesses,
    data_files,
    recorded_files,
)
from tiersim.scenarios.calibration.synthesis import SnapshotEvidence, Synthesis, synthesise
from tiersim.scenarios.calibration.synthesis.counted import Role, is_of_the_recording, role_of
from tiersim.scenarios.calibration.synthesis.synthesise import bytes_of_images
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.postgresql import images_of_upkeep, said_of_vacuum, stays_cached, upkeep_of
from tiersim.scenarios.statements.queries import (
    IndexEntries,
    asked_of,
    asked_of_executions,
    changes_rows,
    changing_queries,
    index_entries,
    said_of,
    said_of_parallel,
)
from tiersim.scenarios.statements.settings import with_variables
from tiersim.scenarios.statements.statement_load import Column, StatementLoad, committing, is_checkpoint
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.counters import INNODB_ENGINES, is_nested
from tiersim.traces.differences import Counters, Differences, of_log, of_upkeep, read_counters
from tiersim.traces.holes import quiet_starts
from tiersim.traces.schema import NOT_KNOWN
from tiersim.traces.statistics import Table, read_queries, read_statements, texts_of_queries
from tiersim.units import NS_PER_MS

#: Of the statements, this share has to say who issued them and which pages they asked for.
_COMPLETE = 0.95
_NEEDED = ("session", "query", "logical_reads")
#: What is read of them; with many millions of rows the other columns would be in the way.
_READ = (
    "time_ns",
    "duration_ns",
    "cpu_ns",
    "session",
    "transaction",
    "kind",
    "query",
    "logical_reads",
    "physical_reads",
    "writes",
    "rows",
    "log_bytes",
)
#: Kinds of statement that run by themselves; the others are whole transactions.
_RUN = ("language", "rpc", "utility")
#: Statements that begin a transaction, which may be in more than one piece, and those that end it, among others.
_OPENS = re.compile(r"\s*begin\s+tran(saction)?\b", re.IGNORECASE)
_ENDS = re.compile(r"\b(commit|rollback)\b", re.IGNORECASE)
#: Images of pages that statements which change nothing put into the log, for each of them: more are said.
_IMAGES = 0.01
#: Blocks of SQL Server's log end with their sector, of which half is empty on average.
_HALF_A_SECTOR_BYTES = 256
#: What a recording of SQL Server may lack: statements, files, the pool.
_LACKS = (
    (
        "no statements with session, text and reads: record RPC:Completed and SQL:BatchCompleted with SPID, TextData,"
        " StartTime, Duration, CPU, Reads, Writes and RowCounts, or these Extended Events"
    ),
    (
        "no sizes and reads of data files: record sys.dm_io_virtual_file_stats (with sys.master_files) before and"
        " after, and import all together"
    ),
    "no size of the buffer pool: set engine.buffer_pool in the scenario of --recorded-on, or import perfmon's log, too",
)


def load_of(path: Path, seed: int, recorded_on: NamedScenario | None = None) -> StatementLoad:
    """Return the load of the bundle at *path*: as recorded statement by statement, or synthesised from its counters by
    *seed*.

    *recorded_on*, a scenario of the recorded hardware, says how large the buffer pool was, where SQL Server's recording
    does not. Raises TraceError naming what is lacking.
    """
    bundle = Bundle(path)
    manifest = bundle.manifest
    if bundle.rows and not manifest.statements and not manifest.snapshots:
        raise TraceError(
            f"{path}: holds block requests and no queries, which an [engine] runs; choose hardware without [engine], or"
            " record the server, too (tiersim record)"
        )
    if manifest.host.get("engine") in INNODB_ENGINES:
        return _load_of_innodb(path, seed)
    if manifest.host.get("engine") == "sqlserver":
        return _load_of_sql_server(path, manifest, recorded_on)
    evidence = SnapshotEvidence(path) if recorded_statements(path) is None else None
    counters = read_counters(path) if evidence is None else read_counters(path, evidence)
    accesses = recorded_accesses(counters)
    synthesis = None if evidence is None else synthesise(counters, evidence, seed)
    fitted = fit(accesses.tables, accesses.frames, unused=accesses.unused)
    load = read_load(counters, synthesis, fitted)
    host = with_variables(load.manifest, counters.found).host
    log_bytes = of_log(counters.found, "bytes") if stays_cached(host, str(host.get("version", "")) or None) else 0.0
    cache = page_cache(counters, host, fitted, log_bytes)
    said = () if cache is None else (cache.said,)
    return replace(load, page_cache=cache, fitted=replace(fitted, added=accesses.added)).with_said(
        (*accesses.inferred, *fitted.said, *said)
    )


def _load_of_innodb(path: Path, seed: int) -> StatementLoad:
    """Return statements synthesised from the digests of MySQL or MariaDB, whose pages are inferred."""
    evidence, counted = SnapshotEvidence(path), InnoDBCounters(path)
    counters = read_counters(path, evidence, prepare=counted.with_pages)
    accesses, policy = innodb_accesses(counters, counted)
    synthesis = synthesise(counters, evidence, seed, changes_rows)
    fitted = fit(accesses.tables, accesses.frames, policy=policy)
    load = read_load(counters, synthesis, fitted)
    return load.with_said((*accesses.inferred, *fitted.said))


def _load_of_sql_server(path: Path, manifest: Manifest, recorded_on: NamedScenario | None) -> StatementLoad:
    """Return statements as they were recorded, with what the counters of the files say of them."""
    engine = None if recorded_on is None else recorded_on.model.engine
    pool_bytes = manifest.buffer_pool_bytes or (None if engine is None else engine.buffer_pool)
    page_bytes = int(manifest.host.get("page_bytes", 8192))
    table = recorded_statements(path, with_misses=False)
    counters = read_counters(path)
    known = (table is not None, bool(data_files(counters.found, page_bytes)), pool_bytes is not None)
    lacks = [lack for lack, is_known in zip(_LACKS, known, strict=True) if not is_known]
    if lacks or table is None or pool_bytes is None:
        raise TraceError(f"{path}: holds {'; '.join(lacks)}")
    texts, left_out = texts_of_queries(path), manifest.statements - len(table)
    table = in_sessions(table, texts)
    changing = changing_queries(table.words["query"], texts, table.columns)
    commits = committing(table.columns["session"], table.columns["transaction"], changing[table.columns["query"]])
    files = recorded_files(counters, table, commits, pool_bytes, page_bytes)
    fitted = fit(files.accesses.tables, files.accesses.frames, policy=LRU2)
    said = (
        f"{left_out:,} of {manifest.statements:,} executions are left out, as their session, text or pages are not"
        " known: rates, recorded ones too, are too low by as much"
    )
    return read_load(counters, None, fitted, files, table, pool_bytes).with_said(
        (*files.accesses.inferred, *fitted.said, *([said] if left_out > 0 else []))
    )


class Loads:
    """The loads of a bundle by seed, the *most* that were asked for last; threads may ask for them."""

    def __init__(self, path: Path, recorded_on: NamedScenario | None, most: int) -> None:
        """Read nothing yet; for *recorded_on* see :func:`load_of`."""
        self._path, self._recorded_on = path, recorded_on
        self._by_seed: Newest[StatementLoad] = Newest(most)
        self._recorded: StatementLoad | None = None  # statement by statement: the same for every seed

    def of(self, scenario: NamedScenario, further: int = 0) -> StatementLoad:
        """Return the load that *scenario* runs, by its seed; or by one that is so much *further*."""
        seed = scenario.model.replay.seed + further
        if self._recorded is None:
            load = self._by_seed.get(seed, lambda: load_of(self._path, seed, self._recorded_on))
            if load.synthetic:
                return load
            self._recorded = load
        return self._recorded


def recorded_statements(path: Path, *, with_misses: bool = True) -> Table | None:
    """Return the statements of the bundle at *path* that were recorded one by one, if nearly all say what is needed.

    *with_misses*: which pages they missed is needed, too.
    """
    table = read_statements(path, _READ)
    run = [table.words["kind"].index(kind) for kind in _RUN if kind in table.words["kind"]]
    executed = np.isin(table.columns["kind"], run)
    complete = executed.copy()
    for name in (*_NEEDED, *(["physical_reads"] if with_misses else [])):
        complete &= table.columns[name] >= 0
    if not executed.any() or complete.sum() < _COMPLETE * executed.sum():
        return None
    if complete.all():
        return table
    return Table({name: values[complete] for name, values in table.columns.items()}, table.words)


def processor_law(query: Column, pages: Column, cpu_ns: Column, queries: int) -> Column:
    """Return the processor time of each execution by its query's law: CPU = a + b x pages, with the recorded sum.

    SQL Server counts in ticks of some 15.6 ms, so that a single value means little and sums are right. Least squares by
    query, none of the two below 0.
    """
    known = cpu_ns >= 0
    code, own, spent = query[known], pages[known].astype(np.float64), cpu_ns[known]
    count = np.maximum(np.bincount(code, minlength=queries), 1)
    mean_pages, mean_ns = np.bincount(code, own, queries) / count, np.bincount(code, spent, queries) / count
    own -= mean_pages[code]
    spread = np.bincount(code, own * own, queries)
    slope = np.bincount(code, own * spent, queries) / np.where(spread > 0, spread, 1)
    steepest = np.where(mean_pages > 0, mean_ns / np.maximum(mean_pages, 1e-9), 0)  # with a = 0
    slope = np.clip(slope, 0, steepest)
    law_ns: Column = np.rint((mean_ns - slope * mean_pages)[query] + slope[query] * pages).astype(np.int64)
    return law_ns


def in_sessions(table: Table, texts: Mapping[str, str]) -> Table:
    """Return executions by session, each session's in order, with transactions numbered: as they were recorded; else
    from BEGIN to COMMIT by the *texts* of queries; else each execution is one.
    """
    order = np.argsort(table.columns["session"], kind="stable")  # the table is in order of time
    columns = {
        name: values[order].astype(np.int64, copy=False) for name, values in table.columns.items() if name != "kind"
    }
    queries = table.words["query"]
    opens = np.array([_OPENS.match(texts.get(one, "")) is not None for one in queries])[columns["query"]]
    ends = np.array([_ENDS.search(texts.get(one, "")) is not None for one in queries])[columns["query"]]
    rows = np.arange(len(order))
    first = np.diff(columns["session"], prepend=-1) != 0
    last_opened = np.maximum.accumulate(np.where(opens, rows, -1))
    closed = np.maximum.accumulate(np.where(first | np.concatenate([[False], ends[:-1]]), rows, 0))
    own = np.cumsum(opens | first | (last_opened < closed))
    recorded = columns["transaction"]
    before = np.where(first, NOT_KNOWN, np.concatenate([[NOT_KNOWN], recorded[:-1]]))
    recorded = np.where((recorded < 0) & ends, before, recorded)
    columns["transaction"] = np.where(recorded >= 0, recorded, own + int(recorded.max(initial=-1)) + 1)
    return Table(columns, table.words)


def read_load(
    counters: Counters,
    synthesis: Synthesis | None,
    fitted: Fitted,
    files: FileAccesses | None = None,
    executions: Table | None = None,
    pool_bytes: int | None = None,
) -> StatementLoad:
    """Return the load of the bundle that *counters* are of: executions of *synthesis*, or those that were recorded one
    by one where it is None.

    With *files* each of the *executions*, in sessions, asks for its own pages. *pool_bytes* is how large the recorded
    pool was, where the bundle does not say it. *fitted* are the laws of the tables that they look rows up in. Raises
    TraceError when there is nothing to run.
    """
    path = counters.path
    table = executions if synthesis is None else synthesis.executions
    if table is None and synthesis is None:
        table = recorded_statements(path)
    if table is None or not len(table):
        raise TraceError(
            f"{path}: holds no statements with their pages, neither one by one nor counted; record pg_stat_statements"
            " before and after a load, or of SQL Server statements with their reads"
        )
    dirtied = np.full(len(table), -1)
    if synthesis is not None:
        dirtied = synthesis.pages_dirtied[np.argsort(table.columns["session"], kind="stable")]
    columns = dict(in_sessions(table, {}).columns if files is None else table.columns)
    queries = tuple(table.words["query"])
    texts, counted_texts = texts_of_queries(path), texts_of_queries(path, "entity")
    manifest = Bundle(path).manifest
    page_bytes = int(manifest.host.get("page_bytes", 8192))
    entries: tuple[IndexEntries, ...] = ()
    upkeep, upkeep_log_bytes = None, 0.0
    parallel = None if synthesis is None else synthesis.parallel
    if files is None:
        record_bytes, image_bytes = log_volume(counters, page_bytes)
        entries = index_entries(counters.found, fitted, counted_texts)
        asked, said = asked_of(counters.found, fitted, queries, texts, columns, dirtied, record_bytes)
        said += said_of(fitted.tables, entries)
        upkeep = upkeep_of(counters.found, page_bytes)
        upkeep_log_bytes = 0.0 if upkeep is None else images_of_upkeep(counters.found) * (image_bytes or 0)
        said += said_of_vacuum(counters.found, upkeep)
        said += said_of_earlier_changes(counters.found, [texts.get(query) for query in queries])
    else:
        image_bytes = None
        asked, said = asked_of_executions(
            queries, texts, columns, files, fitted, files.share_of_time * log_file_bytes(counters.found)
        )
        parallel = said_of_parallel(queries, columns)
        said += _spread_processor_time(columns, len(queries))
    first_ns = int(columns["time_ns"].min())
    duration_ns = np.maximum(columns["duration_ns"], 0)
    checkpoints = np.isin(
        columns["query"], [code for code, query in enumerate(queries) if is_checkpoint(texts.get(query))]
    )
    if checkpoints.any():
        columns["cpu_ns"][checkpoints] = 0
        said.append(f"{int(checkpoints.sum()):,} executions of CHECKPOINT use no CPU: they wait for the checkpointer")
    unknown = columns["cpu_ns"] < 0
    if unknown.any():
        said.append(f"CPU time of {int(unknown.sum()):,} executions is unknown and assumed to be 0")
    span_ns = int((columns["time_ns"] + duration_ns).max()) - first_ns
    active, inside_ns = _active(counters.found, span_ns, counted_texts)
    quiet_ns = quiet_starts(columns["time_ns"]) if synthesis is None else min(synthesis.quiet_ns, span_ns)
    untracked = [] if active is None or synthesis is None or not synthesis.closed else _untracked(counters.found)
    said += untracked
    return StatementLoad(
        path=path,
        counters=counters,
        manifest=manifest,
        session=columns["session"],
        transaction=columns["transaction"],
        query=columns["query"],
        start_ns=columns["time_ns"] - first_ns,
        duration_ns=duration_ns,
        cpu_ns=np.maximum(columns["cpu_ns"], 0),
        lock_wait_ns=np.maximum(columns.get("lock_wait_ns", np.zeros(1, np.int64)), 0) + np.zeros_like(duration_ns),
        physical_reads=np.maximum(columns["physical_reads"], 0),
        logical_reads=None if files is None else columns["logical_reads"],
        log_bytes=np.maximum(columns["log_bytes"], 0),
        queries=queries,
        texts=texts,
        cpu_basis={} if synthesis is None else {query.query: query.cpu_basis for query in synthesis.queries},
        asked=asked,
        image_bytes=image_bytes,
        fitted=fitted,
        pool_bytes=pool_bytes or manifest.buffer_pool_bytes or fitted.frames * page_bytes,
        pages_read=None if files is None or files.by_statement else files.pages_read,
        span_ns=span_ns,
        commit_wait_ns=_commit_wait_ns(counters.found, queries, texts, columns),
        log_busy=_log_busy(counters.found, span_ns),
        active=active,
        inside_ns=inside_ns,
        upkeep=upkeep,
        upkeep_log_bytes=upkeep_log_bytes,
        upkeep_pages=None if upkeep is None else upkeep.reads * of_upkeep(counters.found, "read_bytes")[1] / page_bytes,
        all_tracked=not untracked,
        quiet_ns=quiet_ns,
        parallel=parallel,
        closed=synthesis is not None and synthesis.closed,
        pooled=synthesis is not None and not synthesis.closed,
        connections=None if synthesis is None else synthesis.connections,
        synthetic=synthesis is not None,
        inferred=(*(() if synthesis is None else synthesis.inferred), *said),
        entries=entries,
    )


def _spread_processor_time(columns: dict[str, Column], queries: int) -> list[str]:
    """Put the time that a query's law gives in place of single values, and say so."""
    known = columns["cpu_ns"] >= 0
    if not known.any():
        return []
    columns["cpu_ns"] = processor_law(columns["query"], columns["logical_reads"], columns["cpu_ns"], queries)
    said = (
        "CPU time of single executions is recorded in ticks of the clock; each execution gets its query's mean for so"
        " many pages, and sums are as recorded"
    )
    return [said]


def _commit_wait_ns(
    found: Differences, queries: Sequence[str], texts: Mapping[str, str], columns: Mapping[str, Column]
) -> float:
    """Return how long a write and a flush of the log took together where flushes took longer than all commits, which
    then did not hold them.

    A commit waited for that at least: for the flush before it, too, if that was under way.
    """
    flushes, flush_ms, write_ms = (of_log(found, name) for name in ("flushes", "flush_ms", "write_ms"))
    commits = [code for code, query in enumerate(queries) if role_of(texts.get(query, "")) is Role.COMMITS]
    commits_ns = int(columns["duration_ns"][np.isin(columns["query"], commits)].sum())
    if not flushes or flush_ms * NS_PER_MS <= commits_ns:
        return 0.0
    return (flush_ms + write_ms) * NS_PER_MS / flushes


def _log_busy(found: Differences, span_ns: int) -> float:
    """Return the share of the time in which the log was written or flushed; 1 where that was not timed."""
    flush_ms, write_ms = (of_log(found, name) for name in ("flush_ms", "write_ms"))
    return min((flush_ms + write_ms) * NS_PER_MS / span_ns, 1.0) if flush_ms else 1.0


def _active(found: Differences, span_ns: int, texts: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Return how many sessions were at work on average, and how long they were that or in a transaction, where
    databases count both; without what executions leave out, too: statements that took statistics, by the *texts* of
    counted ones.
    """
    databases = found.of("database").values()
    active_ms, idle_ms = (
        [one for change in databases if (one := change.number(name)) is not None]
        for name in ("active_ms", "idle_in_transaction_ms")
    )
    if not active_ms or not idle_ms:
        return None, None
    own_ms = sum(
        float(change.number("exec_ms") or 0)
        for entity, change in found.of("query").items()
        if entity in texts and is_of_the_recording(texts[entity]) and not is_nested(entity)
    )
    active_ns = (float(sum(active_ms)) - own_ms) * NS_PER_MS
    return active_ns / span_ns, active_ns + float(sum(idle_ms)) * NS_PER_MS


def _untracked(found: Differences) -> list[str]:
    """Say why sessions may have executed statements that nobody counted; nothing where all were."""
    whys = []
    setting = found.of("setting").get("pg_stat_statements.track_utility")
    if setting is not None and setting.last.get("setting") == "off":
        whys.append("pg_stat_statements.track_utility is off")
    if any(change.number("evictions") for change in found.of("query store").values()):
        whys.append("entries of pg_stat_statements were evicted")
    if not whys:
        return []
    said = (
        f"sessions may have executed statements that were not counted ({', '.join(whys)}); that looks like waiting for"
        " commits, so such waits may be none"
    )
    return [said]


def said_of_earlier_changes(found: Differences, texts: Sequence[str | None]) -> list[str]:
    """Say that a recorded load of lookups alone also wrote pages: those whose rows were loaded or changed before it,
    and whose hint bits it set (PostgreSQL's checksums or ``wal_log_hints`` put an image of each into the log).
    """
    if any(text is None or changes_rows(text) for text in texts):
        return []
    counted = list(found.of("query").values())
    calls, images = (sum(float(one.number(name) or 0) for one in counted) for name in ("calls", "log_full_page_images"))
    if images <= _IMAGES * calls:
        return []
    said = (
        f"{calls:,.0f} read-only statements wrote {images:,.0f} full-page images into the WAL, because PostgreSQL"
        " marks a row as committed when it is read for the first time (hint bits). The CPU time of these writes is in"
        " the CPU time of the lookups. To keep it out, run VACUUM before recording"
    )
    return [said]


def log_file_bytes(found: Differences) -> float:
    """Return the bytes of records that went to the log files of users' databases, as their counters say; half a sector
    of each write held none.
    """
    logs = [
        change
        for entity, change in found.of("file").items()
        if change.last.get("kind") == "log" and entity.partition("/")[0] not in OWN_DATABASES
    ]
    written, writes = (sum(float(log.number(name) or 0) for log in logs) for name in ("written_bytes", "writes"))
    return max(written - _HALF_A_SECTOR_BYTES * writes, 0.0)


def log_volume(counters: Counters, page_bytes: int) -> tuple[Mapping[str, float], int | None]:
    """Return the bytes of records of a call by query, and how long an image of a page is; None if no images were
    counted.

    Images are told apart as in :mod:`tiersim.scenarios.calibration.synthesis.synthesise`.
    """
    table = read_queries(counters.path)
    queries = dict(zip(table.texts("entity"), table.texts("query"), strict=True))
    record_bytes: dict[str, int] = {}
    all_calls: dict[str, int] = {}
    images = image_bytes = 0
    for entity, change in counters.found.of("query").items():
        calls, log, count, own = (
            int(change.number(name) or 0) for name in ("calls", "log_bytes", "log_full_page_images", "log_records")
        )
        if not calls or change.number("log_full_page_images") is None:
            continue
        of_images = bytes_of_images(log, count, own, page_bytes)
        query = queries.get(entity) or entity
        record_bytes[query] = record_bytes.get(query, 0) + log - of_images
        all_calls[query] = all_calls.get(query, 0) + calls
        images, image_bytes = images + count, image_bytes + of_images
    records = {query: count / all_calls[query] for query, count in record_bytes.items()}
    return records, round(image_bytes / images) if images else None
