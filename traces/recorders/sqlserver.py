"""What a DBA runs to record SQL Server (2012 and later): one script for sqlcmd, whose files ``tiersim import`` takes.

Its columns are those of Microsoft's documentation of each view; it was never run on a server, which it says itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tiersim.units import format_bytes

#: Plans of the cache, those with most logical reads. A row more is a text more to be read.
MOST_QUERIES = 5_000
#: Of the text of a query: doubled quotes and those around it fit into 4,000 characters, beyond which sqlcmd cuts.
MOST_CHARACTERS = 1_900
SESSION = "tiersim"
_FILE_MIB = 128
_MOMENTS = ("before", "after")


@dataclass(frozen=True)
class ScriptPlan:
    """What is to be recorded, and how much at most."""

    minutes: int = 15
    max_bytes: int = 1 << 30  # of event files, of which the oldest is removed beyond
    folder: str = ""  # of event files, on the server; the instance's LOG folder if empty
    statements: bool = False  # statements inside batches and calls, too
    files: bool = False  # every read and write of a database file
    lossless: bool = False
    buffers: bool = False  # pages of the buffer pool by object


class ScriptQuery(NamedTuple):
    """A query of the script: each of its columns as SQL and as the name it gets."""

    name: str
    columns: tuple[tuple[str, str], ...]
    source: str
    once: bool = False  # at the beginning alone
    for_buffers: bool = False
    top: int = 0

    def sql(self) -> str:
        """Return the query."""
        columns = ",\n    ".join(sql if sql == name else f"{sql} AS {name}" for sql, name in self.columns)
        top = f" TOP ({self.top})" if self.top else ""
        return f"SELECT{top}\n    {columns}\nFROM {self.source};"


def _same(names: str, of: str = "") -> tuple[tuple[str, str], ...]:
    return tuple((f"{of}.{name}" if of else name, name) for name in names.split())


def _quoted(text: str) -> str:
    """Return SQL that puts quotes around a text, as CSV has them: sqlcmd puts none."""
    return f"""'"' + REPLACE({text}, '"', '""') + '"'"""


_INDEX_NAMES = (
    (_quoted("c.name"), "schema_name"),
    (_quoted("o.name"), "table_name"),
    (_quoted("i.name"), "index_name"),
)
_INDEXES = (
    "JOIN sys.objects AS o ON o.object_id = s.object_id\n"
    "JOIN sys.schemas AS c ON c.schema_id = o.schema_id\n"
    "JOIN sys.indexes AS i ON i.object_id = s.object_id AND i.index_id = s.index_id\n"
    "WHERE o.is_ms_shipped = 0"
)
_STATEMENT = (
    "LEFT(SUBSTRING(t.text, s.statement_start_offset / 2 + 1, CASE s.statement_end_offset WHEN -1 THEN"
    f" {MOST_CHARACTERS} ELSE (s.statement_end_offset - s.statement_start_offset) / 2 + 1 END), {MOST_CHARACTERS})"
)

VIEWS = (
    ScriptQuery(
        "server",
        (
            ("SYSDATETIMEOFFSET()", "captured_at"),
            *_same(
                "cpu_count scheduler_count physical_memory_kb committed_kb committed_target_kb sqlserver_start_time"
            ),
            ("CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))", "product_version"),
        ),
        "sys.dm_os_sys_info",
    ),
    ScriptQuery(
        "dm_io_virtual_file_stats",
        (
            *_same(
                "database_id file_id sample_ms num_of_reads num_of_bytes_read io_stall_read_ms num_of_writes "
                "num_of_bytes_written io_stall_write_ms size_on_disk_bytes",
                "s",
            ),
            ("f.type_desc", "type_desc"),
            (_quoted("DB_NAME(s.database_id)"), "database_name"),
            (_quoted("f.physical_name"), "physical_name"),
        ),
        "sys.dm_io_virtual_file_stats(NULL, NULL) AS s\n"
        "JOIN sys.master_files AS f ON f.database_id = s.database_id AND f.file_id = s.file_id",
    ),
    ScriptQuery(
        "dm_exec_query_stats",
        (
            *_same(
                "execution_count total_worker_time total_elapsed_time min_elapsed_time max_elapsed_time"
                " total_physical_reads total_logical_reads total_logical_writes total_rows creation_time query_hash"
                " plan_handle sql_handle",
                "s",
            ),
            ("t.dbid", "dbid"),
            (f"CAST({_quoted(_STATEMENT)} AS nvarchar(4000))", "statement_text"),
        ),
        "sys.dm_exec_query_stats AS s\nCROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t\nORDER BY"
        " s.total_logical_reads DESC",
        top=MOST_QUERIES,
    ),
    ScriptQuery(
        "dm_os_wait_stats",
        _same("wait_type waiting_tasks_count wait_time_ms max_wait_time_ms signal_wait_time_ms"),
        "sys.dm_os_wait_stats\nWHERE waiting_tasks_count > 0",
    ),
    ScriptQuery(
        "dm_os_performance_counters",
        (
            ("RTRIM(object_name)", "object_name"),
            ("RTRIM(counter_name)", "counter_name"),
            ("cntr_value", "cntr_value"),
            (_quoted("RTRIM(instance_name)"), "instance_name"),
        ),
        "sys.dm_os_performance_counters\nWHERE object_name LIKE '%:Buffer Manager%' OR object_name LIKE"
        " '%:Databases%'\n    OR object_name LIKE '%:Memory Manager%' OR object_name LIKE '%:SQL Statistics%'\n    OR"
        " object_name LIKE '%:General Statistics%'",
    ),
    ScriptQuery(
        "dm_db_index_operational_stats",
        (
            *_same(
                "object_id index_id partition_number leaf_insert_count leaf_delete_count leaf_update_count"
                " leaf_ghost_count range_scan_count singleton_lookup_count page_io_latch_wait_count"
                " page_io_latch_wait_in_ms",
                "s",
            ),
            *_INDEX_NAMES,
        ),
        f"sys.dm_db_index_operational_stats(DB_ID(), NULL, NULL, NULL) AS s\n{_INDEXES}",
    ),
    ScriptQuery(
        "dm_db_partition_stats",
        (*_same("object_id index_id partition_number used_page_count row_count", "s"), *_INDEX_NAMES),
        f"sys.dm_db_partition_stats AS s\n{_INDEXES}",
        once=True,
    ),
    ScriptQuery(
        "dm_os_buffer_descriptors",
        (
            ("i.index_id", "index_id"),
            ("b.is_modified", "is_modified"),
            ("COUNT_BIG(*)", "cached_pages"),
            *_INDEX_NAMES,
        ),
        "sys.dm_os_buffer_descriptors AS b\n"
        "JOIN sys.allocation_units AS a ON a.allocation_unit_id = b.allocation_unit_id\n"
        "JOIN sys.partitions AS p ON p.hobt_id = a.container_id AND a.type IN (1, 3)\n"
        "JOIN sys.objects AS o ON o.object_id = p.object_id\n"
        "JOIN sys.schemas AS c ON c.schema_id = o.schema_id\n"
        "JOIN sys.indexes AS i ON i.object_id = p.object_id AND i.index_id = p.index_id\n"
        "WHERE b.database_id = DB_ID()\n"
        "GROUP BY c.name, o.name, i.name, i.index_id, b.is_modified",
        for_buffers=True,
    ),
    ScriptQuery(
        "configurations",
        ((_quoted("name"), "name"), ("CAST(value_in_use AS bigint)", "value_in_use")),
        "sys.configurations",
        once=True,
    ),
    ScriptQuery(
        "databases",
        (
            (_quoted("name"), "name"),
            *_same("recovery_model_desc target_recovery_time_in_seconds"),
        ),
        "sys.databases",
        once=True,
    ),
)

#: Whose events count: not those of the script, whose longest batch waits for the end of the recording.
_CLIENTS = (
    "sqlserver.is_system = 0 AND sqlserver.client_app_name <> N'SQLCMD' AND sqlserver.client_app_name <> N'sqlcmd'"
)

#: Read before the session of events is stopped, with which it is forgotten.
DROPPED = ScriptQuery(
    "dm_xe_sessions",
    _same("name dropped_event_count dropped_buffer_count"),
    f"sys.dm_xe_sessions\nWHERE name = N'{SESSION}'",
)


def file_name(view: ScriptQuery, moment: str) -> str:
    """Return the name of the file that a view is written to."""
    return f"{view.name}.{moment}.csv"


def script(plan: ScriptPlan) -> Iterator[str]:
    """Yield the lines of the script, what it does and costs first, as comments."""
    for line in _preface(plan):
        yield f"-- {line}".rstrip()
    yield "SET NOCOUNT ON;"
    yield "GO"
    for moment in _MOMENTS:
        yield ""
        for view in VIEWS:
            if (plan.buffers or not view.for_buffers) and (moment == _MOMENTS[0] or not view.once):
                yield from _written(view, moment)
        if moment == _MOMENTS[0]:
            yield ":OUT stdout"
            yield from _session(plan)
            yield f"WAITFOR DELAY '{plan.minutes // 60:02d}:{plan.minutes % 60:02d}:00';"
            yield "GO"
            yield from _written(DROPPED, _MOMENTS[1])
            yield ":OUT stdout"
            yield f"DROP EVENT SESSION [{SESSION}] ON SERVER;"
            yield "GO"
    yield ":OUT stdout"


def _written(view: ScriptQuery, moment: str) -> Iterator[str]:
    yield f":OUT {file_name(view, moment)}"
    yield view.sql()
    yield "GO"


def _session(plan: ScriptPlan) -> Iterator[str]:
    """Yield what makes the session of events and starts it."""
    queries = ["rpc_completed", "sql_batch_completed"]
    queries += ["sql_statement_completed", "sp_statement_completed"] if plan.statements else []
    kept = "ACTION (sqlserver.session_id, sqlserver.database_name, sqlserver.transaction_id)"
    events = [f"sqlserver.{name} ({kept}\n    WHERE {_CLIENTS})" for name in queries]
    # which comes again when a pooled connection is given to somebody else
    events += [f"sqlserver.login (ACTION (sqlserver.session_id)\n    WHERE {_CLIENTS})"]
    if plan.files:
        own = "SET collect_path = (1) ACTION (sqlserver.session_id)"
        events += [f"sqlserver.{name} ({own})" for name in ("file_read_completed", "file_write_completed")]
    yield f"CREATE EVENT SESSION [{SESSION}] ON SERVER"
    yield ",\n".join(f"ADD EVENT {event}" for event in events)
    size = min(_FILE_MIB, max(plan.max_bytes >> 21, 1))
    files = max(plan.max_bytes // (size << 20), 2)
    separator = "" if not plan.folder or plan.folder.endswith(("\\", "/")) else "/" if "/" in plan.folder else "\\"
    path = f"{plan.folder}{separator}{SESSION}.xel".replace("'", "''")
    yield (
        f"ADD TARGET package0.event_file (SET filename = N'{path}', max_file_size = ({size}), max_rollover_files ="
        f" ({files}))"
    )
    mode = "NO_EVENT_LOSS" if plan.lossless else "ALLOW_SINGLE_EVENT_LOSS"
    yield (
        f"WITH (MAX_MEMORY = 16 MB, EVENT_RETENTION_MODE = {mode}, MAX_DISPATCH_LATENCY = 5 SECONDS, STARTUP_STATE ="
        " OFF);"
    )
    yield "GO"
    yield f"ALTER EVENT SESSION [{SESSION}] ON SERVER STATE = START;"
    yield "GO"


def _preface(plan: ScriptPlan) -> Iterator[str]:
    where = plan.folder or "the LOG folder of the instance"
    yield (
        f"Records SQL Server (2012 and later) for {plan.minutes} minutes. Save this as record.sql and run it while the"
        " load"
    )
    yield "that matters runs, in the database of the application, from a folder that the files are to be in:"
    yield ""
    yield '  sqlcmd -S SERVER -E -d DATABASE -i record.sql -s "," -W -w 65535 -f 65001'
    yield ""
    yield f"Then copy {SESSION}_0_*.xel from {where} into that folder, and anywhere else:"
    yield ""
    yield "  tiersim import FOLDER -o NAME.trace"
    yield ""
    yield (
        "Needs ALTER ANY EVENT SESSION and VIEW SERVER STATE (2022: VIEW SERVER PERFORMANCE STATE). Nothing is changed"
        " but the"
    )
    yield (
        f"session of events [{SESSION}], which the script removes. If it is interrupted: DROP EVENT SESSION [{SESSION}]"
        " ON SERVER;"
    )
    yield ""
    yield (
        "Events are of all databases, without those of sqlcmd, which runs this. Indexes and tables are those of one"
        " database."
    )
    yield (
        "Texts of queries are in the files with their literals; the import removes them. It was written from"
        " Microsoft's"
    )
    yield "documentation and never run on a server: what a version has not fails alone, and the rest is recorded."
    yield ""
    yield "What it costs the server. None of it was measured; figures are counted from sizes, or estimates."
    yield (
        f"* Disk: at most {format_bytes(plan.max_bytes)} of events; beyond it the oldest file is removed, and its"
        " events are lost."
    )
    yield (
        "  Estimate: 300 bytes an event and 2 a character of its text, so 1,000 calls/s of 200 characters are 0.7 MB/s."
    )
    yield "* Memory: 16 MB of buffers for events."
    if plan.lossless:
        yield (
            "* NO_EVENT_LOSS: no event is dropped; where events come faster than they are written, sessions wait for"
            " buffers,"
        )
        yield "  so that the recording itself can slow the server down. Without --lossless events are dropped instead."
    else:
        yield (
            "* ALLOW_SINGLE_EVENT_LOSS: where events come faster than they are written some are dropped, and nobody"
            " waits;"
        )
        yield "  dm_xe_sessions.after.csv says how many. --lossless drops none, and lets sessions wait instead."
    if plan.statements:
        yield "* Statements inside batches and calls: an event each, which may be many times as many."
    if plan.files:
        yield "* Reads and writes of files: an event each, 10,000 IOPS are 10,000 events/s; keep it to a few minutes."
    yield (
        f"* Views: read from memory, twice; the longest of them the plan cache ({MOST_QUERIES:,} plans, texts of"
        f" {MOST_CHARACTERS:,} characters at most)"
    )
    yield "  and, with many indexes, dm_db_index_operational_stats."
    if plan.buffers:
        yield (
            "* dm_os_buffer_descriptors: looks at every page of the buffer pool, twice; 64 GiB are 8,388,608 pages."
            " Leave it out (no"
        )
        yield "  --buffercache) where that many rows are too much for a busy server."
    yield ""
