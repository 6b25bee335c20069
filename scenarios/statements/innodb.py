"""A simulated MySQL or MariaDB: InnoDB's pool, page cleaners and redo log, and the binary log, as the scenario says,
else as recorded, else by default.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tiersim.scenarios.statements.engines import EngineSettings, EngineSources
from tiersim.simulator.database.buffer_pool.adaptive_flushing import MARIADB, MYSQL
from tiersim.simulator.database.buffer_pool.midpoint import Midpoint
from tiersim.simulator.database.buffer_pool.page_cleaner import MOST_BATCH, PageCleaner
from tiersim.simulator.database.database_state import MIDPOINT, OLDER_OF_TWO
from tiersim.simulator.database.journal import TICK_NS
from tiersim.simulator.database.wal.binary_log import BinaryLog
from tiersim.simulator.database.wal.log import Log
from tiersim.traces.readers.mysql.settings import PAGE_CLEANER_SECOND
from tiersim.units import NS_PER_MS, NS_PER_S, NS_PER_US

#: Versions that are told apart, as numbers of two parts.
_8_0, _8_4 = (8, 0), (8, 4)
#: Ages of the checkpoint by the capacity of the redo log. MySQL: log0files_capacity.cc, of which metrics of 8.4 say the
#: same to 0.1 %; its writers stop where 15/16 are the limit of the sync flush. MariaDB: 27,830,670,336 of 32 GiB.
_ASYNC, _SYNC = 0.777, 0.832
_MOST = _SYNC * 16 / 15
_MOST_OF_MARIADB, _ASYNC_OF_MARIADB = 0.81, 7 / 8
#: Assumed: MariaDB leaves a tenth of its file out when it speaks of the capacity of which adaptive flushing takes its
#: low mark (log0log.cc, set_capacity); no counter shows it.
_USED = 0.9
#: Redo is written in blocks of the page cache, or of a device that is written directly.
_BLOCK_BYTES = 4096
#: Bytes of the record of a commit in the redo log: it is in what the log grew by, which the changes have.
_COMMIT_BYTES = 1
#: Assumed, 200 to 2,000: bytes of a transaction in the binary log where nobody counted: header, row images of a small
#: row, end.
_BINARY_LOG_BYTES = 512
_MOST_INSTANCES = 8
#: Pages that sessions of MySQL before 8.0 write at once: what a batch of 120 leaves of the 128 in the doublewrite file
#: (buf0dblwr.cc, buf_dblwr_write_single_page).
_SINGLES = 8
#: Stand among the variables of a recording that counted its binary log, or told how large its redo log was.
COMMIT_BYTES_IN_BINARY_LOG, REDO_CAPACITY = "binary log bytes of a commit", "capacity of the redo log"
#: Methods that read and write data through the page cache of the operating system; "0" is the first by number.
_THROUGH_CACHE = ("fsync", "0", "o_dsync", "littlesync", "nosync")
#: What says that a switch is on; of neighbours, too, that all of an extent go along.
_ON = ("on", "1", "2", "yes", "detect_and_recover")


def mysql(sources: EngineSources, basis: dict[str, str]) -> EngineSettings:
    """Return the settings of MySQL's InnoDB, and note in *basis* where they come from."""
    return _innodb(sources, basis, MYSQL)


def mariadb(sources: EngineSources, basis: dict[str, str]) -> EngineSettings:
    """Return the settings of MariaDB's InnoDB, and note in *basis* where they come from."""
    return _innodb(sources, basis, MARIADB)


def _innodb(sources: EngineSources, basis: dict[str, str], form: int) -> EngineSettings:
    read, engine = _Read(sources, basis), sources.engine
    version = _version(sources.version)
    cleaner = _cleaner(read, form, version, sources.buffer_pool_bytes)
    flushing = read.number(
        engine.flush_log_at_trx_commit, "flush_log_at_trx_commit", "innodb_flush_log_at_trx_commit", 1
    )
    buffered = form == MYSQL
    threads = (
        form == MYSQL
        and version >= _8_0
        and flushing == 1
        and read.text("innodb_log_writer_threads").lower() in (*_ON, "")
    )
    if form == MARIADB:
        basis["engine.adaptive_flushing_lwm"] = f"assumed: a share of {_USED:.0%} of the redo log"
    log = Log(
        file_bytes=min(_capacity(read, form, version), sources.log_file_bytes),
        segment_bytes=1 << 50,
        block_bytes=_BLOCK_BYTES,
        buffer_bytes=read.variable("innodb_log_buffer_size", (64 if version >= _8_4 and buffered else 16) << 20),
        full_page_writes=False,
        synchronous_commit=flushing == 1 or (flushing == 2 and not buffered),
        flushed_later=flushing == 2 and not buffered,
        threads=threads,
        fsync=_uses_fsync(read, form, version),
        writer_delay_ns=NS_PER_S * max(read.variable("innodb_flush_log_at_timeout", 1), 1),
        writer_flush_bytes=0,
    )
    is_on = read.is_on(engine.binary_log, "binary_log", "log_bin", form == MYSQL and version >= _8_0)
    binary_log = None
    if is_on:
        each_bytes = read.variable(COMMIT_BYTES_IN_BINARY_LOG, 0)
        basis["engine.binary_log_bytes_per_commit"] = (
            f"recorded: {each_bytes} B" if each_bytes else f"assumed: {_BINARY_LOG_BYTES} B (200 to 2,000)"
        )
        binary_log = BinaryLog(
            commit_bytes=each_bytes or _BINARY_LOG_BYTES,
            sync_every=read.number(engine.sync_binlog, "sync_binlog", "sync_binlog", 1 if form == MYSQL else 0),
            delay_ns=read.variable("binlog_group_commit_sync_delay", 0) * NS_PER_US,
        )
    old_ns = sources.engine.old_blocks_time
    old_percent = read.variable("innodb_old_blocks_pct", 37)
    midpoint = Midpoint(
        old_percent, read.variable("innodb_old_blocks_time", 1000) * NS_PER_MS if old_ns is None else old_ns
    )
    return EngineSettings(
        cpu_order=OLDER_OF_TWO,
        policy=MIDPOINT,
        ramp_pages=1,
        background_writer=None,
        lazy_writer=None,
        extension_bytes=0,
        os_cache_bytes=0,
        log=log,
        checkpoints=None,
        commits_apart=False,
        commit_record_bytes=_COMMIT_BYTES,
        described={
            "flush_log_at_trx_commit": flushing,
            "redo_log_capacity_bytes": _capacity(read, form, version),
            "checkpoint_age_limit_bytes": cleaner.most_bytes,
            "io_capacity": cleaner.io_capacity,
            "io_capacity_max": cleaner.io_capacity_max,
            "lru_scan_depth": cleaner.scan_depth,
            "doublewrite": cleaner.doublewrite,
            "binary_log": is_on,
            "sync_binlog": binary_log.sync_every if binary_log is not None else None,
        },
        caveats=(*_caveats(sources.host, form, version, read), *_of_journal(log, binary_log)),
        midpoint=midpoint,
        page_cleaner=cleaner,
        binary_log=binary_log,
    )


class _Read:
    """Values of the scenario, of recorded variables, or by default."""

    def __init__(self, sources: EngineSources, basis: dict[str, str]) -> None:
        self.engine, self._host, self._basis = sources.engine, sources.host, basis

    def number(self, given: int | None, key: str, name: str, default: int) -> int:
        """Return a number that is *given* under a *key* in the scenario, else the variable *name*."""
        self.note(given, key, name)
        return self.variable(name, default) if given is None else given

    def is_on(self, given: bool | None, key: str, name: str, default: bool) -> bool:
        """Return the same of a switch."""
        self.note(given, key, name)
        text = self.text(name)
        if given is not None:
            return given
        return text.lower() in _ON if text else default

    def note(self, given: object, key: str, name: str) -> None:
        """Note where the value of a *key* comes from, which is the variable *name*."""
        known = "recorded" if name in self._host else "default"
        self._basis[f"engine.{key}"] = known if given is None else "scenario"

    def variable(self, name: str, default: int) -> int:
        """Return a recorded number."""
        try:
            return int(float(self._host.get(name, default)))
        except ValueError:
            return default

    def text(self, name: str) -> str:
        """Return a recorded word, empty when it was not recorded."""
        return str(self._host.get(name, ""))


def _version(text: str | None) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", text or "")
    return (int(found[1]), int(found[2])) if found else _8_4


def _capacity(read: _Read, form: int, version: tuple[int, int]) -> int:
    """Return the bytes of the redo log: from MySQL 8.0.30 on a setting, where the older ones are not set; else files by
    their size.
    """
    default = (96 if form == MARIADB else 100) << 20
    files = read.variable("innodb_log_files_in_group", 2 if version < _8_0 and form == MYSQL else 1)
    size = read.variable("innodb_log_file_size", 0)
    by_variables = max(size * files, read.variable("innodb_redo_log_capacity", 0)) or default
    recorded = read.variable(REDO_CAPACITY, by_variables)
    given = read.engine.redo_log_capacity
    by_name = "innodb_log_file_size" if size else "innodb_redo_log_capacity"
    read.note(given, "redo_log_capacity", REDO_CAPACITY if read.variable(REDO_CAPACITY, 0) else by_name)
    return recorded if given is None else given


def _uses_fsync(read: _Read, form: int, version: tuple[int, int]) -> bool:
    """Return whether files are flushed by fsync: MariaDB takes fdatasync (os0file.cc), MySQL from 8.4 on by default."""
    recorded = read.text("innodb_use_fdatasync").lower()
    return form == MYSQL and (recorded not in _ON if recorded else version < _8_4)


def _cleaner(read: _Read, form: int, version: tuple[int, int], pool_bytes: int) -> PageCleaner:
    engine, modern = read.engine, form == MYSQL and version >= _8_4
    instances = 1
    if form == MYSQL:
        instances = read.variable("innodb_buffer_pool_instances", _MOST_INSTANCES if pool_bytes >= 1 << 30 else 1)
    depth = read.number(
        engine.lru_scan_depth, "lru_scan_depth", "innodb_lru_scan_depth", 1536 if form == MARIADB else 1024
    )
    io_capacity = read.number(engine.io_capacity, "io_capacity", "innodb_io_capacity", 10_000 if modern else 200)
    most = read.number(
        engine.io_capacity_max,
        "io_capacity_max",
        "innodb_io_capacity_max",
        2 * io_capacity if form == MARIADB else max(2 * io_capacity, 2000),  # ha_innodb.cc
    )
    method = read.text("innodb_flush_method").upper() or "O_DIRECT"
    flushes = "NO_FSYNC" not in method
    capacity = _capacity(read, form, version)
    most_bytes = int((_MOST_OF_MARIADB if form == MARIADB else _MOST) * capacity)
    pages = MOST_BATCH if form == MARIADB or modern else 4 if version >= _8_0 else 120
    return PageCleaner(
        form=form,
        interval_ns=read.variable(PAGE_CLEANER_SECOND, 1_000_000) * NS_PER_US,
        scan_depth=depth * instances,
        io_capacity=io_capacity,
        io_capacity_max=max(most, io_capacity),
        neighbours=read.is_on(
            engine.flush_neighbors, "flush_neighbors", "innodb_flush_neighbors", form == MARIADB or version < _8_0
        ),
        workers=1 if form == MARIADB else max(min(read.variable("innodb_page_cleaners", 4), instances), 1),
        batch_pages=min(read.variable("innodb_doublewrite_pages", pages) or pages, MOST_BATCH),
        doublewrite=read.is_on(engine.doublewrite, "doublewrite", "innodb_doublewrite", True),
        flush_doublewrite=flushes and (form == MARIADB or version < _8_0),
        flush_data=flushes,
        fsync=_uses_fsync(read, form, version),
        low_percent=float(read.variable("innodb_max_dirty_pages_pct_lwm", 10 if version >= _8_0 and not form else 0)),
        most_percent=float(read.variable("innodb_max_dirty_pages_pct", 90 if version >= _8_0 else 75)),
        low_bytes=int(_USED * capacity if form == MARIADB else capacity)
        * read.variable("innodb_adaptive_flushing_lwm", 10)
        // 100,
        async_bytes=int(_ASYNC_OF_MARIADB * most_bytes) if form == MARIADB else int(_ASYNC * capacity),
        sync_bytes=int(_SYNC * capacity) if form == MYSQL else most_bytes,
        most_bytes=most_bytes,
        loops=max(read.variable("innodb_flushing_avg_loops", 30), 1),
        most_singles=_SINGLES if form == MYSQL and version < _8_0 else 0,
    )


def _caveats(host: Mapping[str, Any], form: int, version: tuple[int, int], read: _Read) -> Iterator[str]:
    yield (
        "mean latency was up to 9 % off in the four runs of MariaDB 10.11 that InnoDB's model was compared with;"
        " measure before you decide"
    )
    method = read.text("innodb_flush_method")
    cached = ""
    if read.text("innodb_data_file_buffering").lower() in _ON:  # in place of the method, from MariaDB 11.0 on
        cached = "innodb_data_file_buffering is ON"
    elif method.lower() in _THROUGH_CACHE or (not method and form == MYSQL and version < _8_4):
        cached = f"innodb_flush_method is {method if method not in ('', '0') else 'fsync'}"
    if cached:
        yield f"pages are read past the page cache of the operating system (O_DIRECT), though {cached}"
    if read.text("innodb_change_buffering") not in ("", "none", "NONE"):
        yield "the change buffer is not simulated: pages of secondary indexes are read at once; set it to none"
    if "adaptive_hash_index" in str(host) and read.text("innodb_adaptive_hash_index") == "ON":
        yield "the adaptive hash index is not simulated; it saves CPU alone"


def _of_journal(log: Log, binary_log: BinaryLog | None) -> Iterator[str]:
    """Say what is assumed of the file system where its journal's commits are part of those of transactions."""
    synced = binary_log is not None and binary_log.sync_every > 0
    by_fsync = log.fsync and log.synchronous_commit
    if synced or by_fsync:
        ticks = f" with ticks of {TICK_NS // NS_PER_MS} ms (with 1 ms, as in Red Hat's kernels, there are more)"
        yield (
            f"commits of the file system's journal are simulated as ext4's{ticks if by_fsync else ''}; those of other"
            " file systems were not measured"
        )
