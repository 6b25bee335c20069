"""The words of ``statistics.parquet``: what is counted, under which names, in which units, whatever the source calls
it.

A source's own names are known to its reader alone. ``docs/statistics.md`` is this module for people.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Subject(NamedTuple):
    """One kind of thing that sources count."""

    entity: str  # what names one of them
    counters: frozenset[str]  # only grow, until they are reset
    gauges: frozenset[str] = frozenset()  # are what they are at the moment of the snapshot, or since the one before
    texts: frozenset[str] = frozenset()
    complete: bool = False  # a snapshot of it names all there are: what it does not name is no more
    apart: bool = False  # its counters come from several places, and begin anew one by one
    lasting: frozenset[str] = frozenset()  # counters that do not begin anew with the others
    wavering: frozenset[str] = frozenset()  # that may fall a little while the others go on
    of_32_bits: frozenset[str] = frozenset()  # that begin at 0 again behind 2^32 - 1


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: When the counters of an entity began, as text; if it differs between two snapshots, they were reset in between.
SINCE = "since"

#: Identifier of the entity of all queries that a source had no place for.
OTHERS = "others"

#: What entity "" of a subject says when there was nothing of it, such as no query yet: what comes later counts from 0.
NOTHING: Mapping[str, str] = {"": ""}

SUBJECTS: Mapping[str, Subject] = {
    "query": Subject(
        "database/user/toplevel/query identifier of the source",
        _words(
            "calls exec_ms plans plan_ms rows pages_hit pages_read pages_dirtied pages_written local_pages_hit"
            " local_pages_read local_pages_dirtied local_pages_written temp_pages_read temp_pages_written read_ms"
            " write_ms local_read_ms local_write_ms temp_read_ms temp_write_ms log_records log_full_page_images"
            " log_bytes log_buffers_full jit_functions jit_ms workers_planned workers_launched cpu_ms cpu_user_ms"
            " cpu_system_ms device_read_bytes device_written_bytes rows_examined lock_ms"
        ),
        _words(
            "exec_min_ms exec_max_ms exec_mean_ms exec_stddev_ms plan_min_ms plan_max_ms plan_mean_ms plan_stddev_ms"
        ),
        _words("since minmax_since"),
    ),
    "query store": Subject("statements", _words("evictions"), texts=_words("since")),
    "database": Subject(
        "name; * is all of a server together",
        _words(
            "commits rollbacks pages_hit pages_read read_ms write_ms rows_returned rows_fetched rows_inserted"
            " rows_updated rows_deleted temp_files temp_bytes conflicts deadlocks session_ms active_ms"
            " idle_in_transaction_ms sessions sessions_abandoned sessions_fatal sessions_killed cpu_user_ms"
            " cpu_system_ms device_read_bytes device_written_bytes transactions write_transactions batches"
            " pages_looked_up pages_missed pages_read_ahead pages_written cpu_ms statements commit_statements"
            " rollback_statements"
        ),
        _words("backends backends_active page_life_s"),
        _words("since"),
        apart=True,
    ),
    "relation": Subject(  # a table: of its heap alone unless the name says otherwise; an index: of itself
        "schema.name",
        _words(
            "pages_hit pages_read index_pages_hit index_pages_read toast_pages_hit toast_pages_read"
            " toast_index_pages_hit toast_index_pages_read sequential_scans sequential_rows index_scans index_rows"
            " index_entries rows_inserted rows_updated rows_hot_updated rows_deleted vacuums autovacuums analyzes"
            " autoanalyzes vacuum_ms autovacuum_ms analyze_ms autoanalyze_ms page_io_latch_waits page_io_latch_wait_ms"
            " rows_read rows_changed"
        ),
        _words("pages leaf_pages rows size_bytes rows_live rows_dead rows_modified"),
        _words("kind table path identifier"),
    ),
    "column": Subject("schema.table.column", frozenset(), _words("correlation distinct null_share width_bytes")),
    "pool": Subject(  # pages that the buffer pool holds, by usage count 0 to 5
        "relation/usage count/clean or dirty ('//unused' holds nothing); a relation alone where usage counts are not"
        " told; * is all relations together, */usage count those of it",
        frozenset(),
        _words("pages pages_dirty usage_mean pages_pinned pages_unused"),
        complete=True,
    ),
    "io": Subject(
        "backend/object/context",
        _words(
            "reads read_bytes read_ms writes written_bytes write_ms writebacks writeback_ms extends extended_bytes"
            " extend_ms pages_hit evictions reuses flushes flush_ms"
        ),
        texts=_words("since"),
    ),
    "file": Subject(
        "database identifier/file identifier",
        # others: opened, closed, flushed, sought
        _words("reads read_bytes read_ms writes written_bytes write_ms others other_ms"),
        _words("size_bytes"),
        _words("kind path database"),  # kind: data, log or another word of the source
    ),
    "log": Subject(
        "log; of one database alone, its name",
        _words(
            "records full_page_images full_page_image_bytes bytes buffers_full writes write_ms flushes flush_ms"
            " flush_waits written_bytes"  # written: blocks again and again; bytes are those that were new
        ),
        # in the log, of its end; waited for flushes lately; changes that a restart would have to do again
        _words("position_bytes flush_wait_ms checkpoint_age_bytes checkpoint_age_limit_bytes capacity_bytes"),
        _words("since"),
        lasting=_words("bytes"),  # a place in the log
    ),
    # groups: of commits, a flush each
    "binary log": Subject("binary log", _words("bytes transactions groups"), apart=True),
    "checkpointer": Subject(
        "checkpointer",
        _words(
            "timed requested done restart_timed restart_requested restart_done write_ms flush_ms pages_written"
            " other_pages_written indirect_pages_written"
        ),
        texts=_words("since"),
    ),
    "background writer": Subject(
        "background writer",
        _words(
            "pages_written rounds_cut_short pages_allocated sessions_pages_written sessions_flushes free_list_stalls"
            " lru_pages_written adaptive_pages_written sync_pages_written idle_pages_written neighbour_pages_written"
        ),
        texts=_words("since"),
        apart=True,
    ),
    "checkpoint": Subject(  # one that ended; its snapshot's time is that of its end
        "1, 2, 3 ... in order of time",
        frozenset(),
        _words(
            "pages write_ms flush_ms total_ms files longest_flush_ms average_flush_ms distance_bytes estimate_bytes"
            " log_files_added log_files_removed log_files_recycled"
        ),
        _words("trigger"),
    ),
    "setting": Subject("name", frozenset(), _words("setting"), _words("setting unit")),
    "server": Subject("server", frozenset(), _words("uptime_s"), _words("version started_at identifier")),
    "session": Subject(
        "state/class of wait/wait; '' is none", frozenset(), _words("sessions in_transaction"), complete=True
    ),
    "wait": Subject(
        "class/event, or query identifier/class/event; or a type of wait",
        _words("samples waits wait_ms signal_wait_ms"),  # signal: for a processor, when what was waited for had come
        _words("wait_max_ms"),
    ),
    "client": Subject(  # a load generator
        "its name",
        frozenset(),
        _words(
            "clients threads seconds transactions failed transactions_per_s mean_ms stddev_ms rate_per_s lag_mean_ms "
            "lag_max_ms scale"
        ),
        _words("script mode statements"),
    ),
    "device": Subject(
        "name",
        _words(
            "reads reads_merged read_bytes read_ms writes writes_merged written_bytes write_ms busy_ms queue_ms"
            " discards discarded_bytes discard_ms flushes flush_ms"
        ),
        # means over the time since the snapshot before
        _words(
            "in_flight reads_per_s read_bytes_per_s read_latency_ms writes_per_s written_bytes_per_s write_latency_ms "
            "flushes_per_s flush_latency_ms requests_per_s latency_ms queue_mean busy_share burst_balance_share"
        ),
        # Linux: block/genhd.c, diskstats_show
        of_32_bits=_words("read_ms write_ms busy_ms queue_ms discard_ms flush_ms"),
    ),
    "processor": Subject(
        "host",
        _words("user_ms nice_ms system_ms idle_ms io_wait_ms interrupt_ms soft_interrupt_ms steal_ms"),
        _words("user_share nice_share system_share io_wait_share steal_share idle_share busy_share cores"),
        wavering=_words("idle_ms io_wait_ms steal_ms"),  # proc(5), /proc/stat
    ),
    "process": Subject(  # while they were watched
        "kind: client backends, server helpers, load generator",
        _words("cpu_ms user_ms system_ms run_queue_ms slices observed_ms"),
    ),
    "memory": Subject(
        "host",
        frozenset(),
        _words(
            "total_bytes free_bytes available_bytes cached_bytes dirty_bytes writeback_bytes engine_bytes"
            " engine_target_bytes"
        ),
    ),
}

#: Engines whose pages InnoDB holds, as a manifest's ``host`` names them.
INNODB_ENGINES = ("mysql", "mariadb")


def is_nested(entity: str) -> bool:
    """Say whether a query of database/user/toplevel/identifier runs inside functions: it counts in those that call
    these, too.
    """
    parts = entity.split("/")
    return len(parts) == 4 and parts[2] in ("f", "false")
