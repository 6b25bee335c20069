"""What is asked of a server, by recorder and by hand: one query a view, all of them bounded.

What each column means is known to :mod:`tiersim.traces.readers.postgres.views`.
"""

from typing import NamedTuple

MOST_STATEMENTS = 5_000
MOST_RELATIONS = 1_000
MOST_COLUMNS = 20_000


class ViewQuery(NamedTuple):
    """A view, and the query that reads it.

    In ``sql`` stand {schema} of the extension with its point, {relations} as an array of oid, {settings} as one of
    names, {choice} of statements.
    """

    name: str  # as the reader knows it
    sql: str
    since: int = 0  # server_version_num
    extension: str | None = None
    at_ends: bool = False  # in the first and the last snapshot alone
    for_pool: bool = False  # asked for by --buffercache: it looks at every page of the buffer pool


#: The largest relations, by what the last VACUUM or ANALYZE saw.
LARGEST = (
    "SELECT oid FROM pg_catalog.pg_class WHERE relkind IN ('r', 'm', 'i', 't') AND relpersistence <> 't' "
    f"ORDER BY relpages DESC, oid LIMIT {MOST_RELATIONS}"
)

#: When it is, as the server says. First of a snapshot, whose time it is.
MOMENT = ViewQuery(
    "server",
    "SELECT now AS ts, extract(epoch FROM now) AS unix_s, CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()"
    " ELSE pg_current_wal_lsn() END AS wal_lsn, version() AS version, pg_postmaster_start_time() AS"
    " pg_postmaster_start_time FROM clock_timestamp() AS now",
)

#: Statements without their texts, which cost the server a file.
STATEMENTS = ViewQuery(
    "pg_stat_statements",
    "SELECT * FROM {schema}pg_stat_statements(false) WHERE queryid IS NOT NULL{choice}",
    extension="pg_stat_statements",
)
#: The choice of statements: at first, and where there are more, from then on; {keys} are ``dbid/userid/queryid``.
MOST_PAGES = f" ORDER BY shared_blks_hit + shared_blks_read + shared_blks_written DESC LIMIT {MOST_STATEMENTS}"
SAME_STATEMENTS = " AND concat_ws('/', dbid, userid, queryid) = ANY ('{{{keys}}}'::text[])"
TEXTS = (
    "SELECT s.*, d.datname AS database, pg_get_userbyid(s.userid) AS role FROM {schema}pg_stat_statements(true) s "
    "LEFT JOIN pg_database d ON d.oid = s.dbid WHERE s.queryid = ANY ({queries})"
)

VIEWS = (
    STATEMENTS,
    ViewQuery(
        "pg_stat_statements_info", "SELECT * FROM {schema}pg_stat_statements_info", 140_000, "pg_stat_statements"
    ),
    ViewQuery("pg_stat_database", "SELECT * FROM pg_stat_database"),
    ViewQuery("pg_stat_bgwriter", "SELECT * FROM pg_stat_bgwriter"),
    ViewQuery("pg_stat_checkpointer", "SELECT * FROM pg_stat_checkpointer", 170_000),
    ViewQuery("pg_stat_wal", "SELECT * FROM pg_stat_wal", 140_000),
    ViewQuery("pg_stat_io", "SELECT * FROM pg_stat_io", 160_000),
    ViewQuery("pg_stat_all_tables", "SELECT * FROM pg_stat_all_tables WHERE relid = ANY ({relations})"),
    ViewQuery("pg_statio_all_tables", "SELECT * FROM pg_statio_all_tables WHERE relid = ANY ({relations})"),
    ViewQuery("pg_stat_all_indexes", "SELECT * FROM pg_stat_all_indexes WHERE indexrelid = ANY ({relations})"),
    ViewQuery("pg_statio_all_indexes", "SELECT * FROM pg_statio_all_indexes WHERE indexrelid = ANY ({relations})"),
    ViewQuery(
        "pg_class",
        "SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpages, c.reltuples, pg_relation_size(c.oid) AS bytes "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY ({relations})",
    ),
    ViewQuery(
        "pg_stats",  # neither common values nor histograms: they are data
        "SELECT schemaname, tablename, attname, null_frac, avg_width, n_distinct, correlation FROM pg_stats WHERE "
        "(schemaname, tablename) IN (SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON "
        f"n.oid = c.relnamespace WHERE c.oid = ANY ({{relations}})) LIMIT {MOST_COLUMNS}",
        at_ends=True,
    ),
    ViewQuery("pg_settings", "SELECT name, setting, unit FROM pg_settings WHERE name = ANY ({settings})", at_ends=True),
    ViewQuery("pg_buffercache_summary", "SELECT * FROM {schema}pg_buffercache_summary()", 160_000, "pg_buffercache"),
    ViewQuery(
        "pg_buffercache_usage_counts", "SELECT * FROM {schema}pg_buffercache_usage_counts()", 160_000, "pg_buffercache"
    ),
    ViewQuery(
        "pg_buffercache_usage",
        "SELECT n.nspname, c.relname, b.usagecount, b.isdirty, count(*) AS count FROM {schema}pg_buffercache b LEFT"
        " JOIN pg_class c ON b.relfilenode = pg_relation_filenode(c.oid) AND b.reldatabase IN (0, (SELECT oid FROM"
        " pg_database WHERE datname = current_database())) LEFT JOIN pg_namespace n ON n.oid = c.relnamespace GROUP BY"
        " 1, 2, 3, 4",
        extension="pg_buffercache",
        at_ends=True,
        for_pool=True,
    ),
    ViewQuery("pg_stat_kcache_detail", "SELECT * FROM {schema}pg_stat_kcache()", extension="pg_stat_kcache"),
    ViewQuery(
        "pg_wait_sampling_profile",
        "SELECT event_type, event, queryid, sum(count) AS count FROM {schema}pg_wait_sampling_profile GROUP BY 1, 2, 3",
        extension="pg_wait_sampling",
    ),
)

#: What sessions do at the moment, but for the one that asks: counts alone, neither texts nor addresses.
SESSIONS = ViewQuery(
    "pg_stat_activity",
    "SELECT extract(epoch FROM clock_timestamp()) AS unix_s, backend_type, state, wait_event_type, wait_event, "
    "count(*) AS count, count(xact_start) AS in_transaction FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
    "GROUP BY backend_type, state, wait_event_type, wait_event",
)
