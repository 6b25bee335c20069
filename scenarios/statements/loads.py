"""The load of a bundle: its statements as they were recorded one by one, or synthesised from its counters."""

from dataclasses import replace
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.parallel import Newest
from tiersim.scenarios.calibration.innodb import InnoDBCounters, innodb_accesses
from tiersim.scenarios.calibration.popularity import fit
from tiersim.scenarios.calibration.popularity.occupancy import LRU2
from tiersim.scenarios.calibration.popularity.recorded import page_cache, recorded_accesses
from tiersim.scenarios.calibration.popularity.recorded_files import data_files, recorded_files
from tiersim.scenarios.calibration.synthesis import SnapshotEvidence, synthesise
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.postgresql import stays_cached
from tiersim.scenarios.statements.queries import changes_rows, changing_queries
from tiersim.scenarios.statements.settings import with_variables
from tiersim.scenarios.statements.statement_load import (
    StatementLoad,
    committing,
    in_sessions,
    read_load,
    recorded_statements,
)
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.differences import of_log, read_counters
from tiersim.traces.statistics import texts_of_queries

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
    manifest = Bundle(path).manifest
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
