"""What is asked of a server, by recorder and by hand: one query a table, all of them bounded.

What each column means is known to :mod:`tiersim.traces.readers.mysql.views`.
"""

from typing import NamedTuple

_MOST = 20_000


class TableQuery(NamedTuple):
    """A table, and the query that reads it; ``since`` are the versions of MySQL and of MariaDB, None: not there."""

    name: str
    sql: str
    mysql: tuple[int, ...] | None = (5, 7)
    mariadb: tuple[int, ...] | None = (10, 6)
    at_ends: bool = False  # in the first and the last snapshot alone
    userstat: bool = False  # in place of performance_schema, where MariaDB runs without it

    def since(self, engine: str) -> tuple[int, ...] | None:
        """Return the version from which on *engine* has the table; None when it never has."""
        return self.mariadb if engine == "mariadb" else self.mysql


#: When it is, as the server says. First of a snapshot, whose time it is.
MOMENT = TableQuery("moment", "SELECT UNIX_TIMESTAMP(SYSDATE(6)) AS unix_s, VERSION() AS version")
FOLDERS = "SELECT @@datadir AS data, @@innodb_log_group_home_dir AS log"
VARIABLES = TableQuery("global_variables", "SHOW GLOBAL VARIABLES", at_ends=True)

_DIGESTS = (
    "SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR, SUM_TIMER_WAIT, MIN_TIMER_WAIT, MAX_TIMER_WAIT,"
    " SUM_LOCK_TIME{cpu}, SUM_ROWS_AFFECTED, SUM_ROWS_SENT, SUM_ROWS_EXAMINED, FIRST_SEEN"
    f" FROM performance_schema.events_statements_summary_by_digest LIMIT {_MOST}"
)
_SPACES = "SELECT SPACE, NAME, PAGE_SIZE, FILE_SIZE FROM information_schema.{} LIMIT " + str(_MOST)
_METRICS = "SELECT NAME, SUBSYSTEM, COUNT, {state} FROM information_schema.INNODB_METRICS"

QUERIES = (
    TableQuery("global_status", "SHOW GLOBAL STATUS"),
    VARIABLES,
    TableQuery("innodb_metrics", _METRICS.format(state="STATUS"), mariadb=None),
    TableQuery("innodb_metrics", _METRICS.format(state="ENABLED"), mysql=None),
    # QUERY_SAMPLE_TEXT is left out: it holds literals
    TableQuery("statements_by_digest", _DIGESTS.format(cpu=", SUM_CPU_TIME"), mysql=(8, 0, 28), mariadb=None),
    TableQuery("statements_by_digest", _DIGESTS.format(cpu="")),
    TableQuery(
        "file_summary_by_instance",
        "SELECT FILE_NAME, EVENT_NAME, COUNT_READ, SUM_TIMER_READ, SUM_NUMBER_OF_BYTES_READ, COUNT_WRITE,"
        " SUM_TIMER_WRITE, SUM_NUMBER_OF_BYTES_WRITE, COUNT_MISC, SUM_TIMER_MISC"
        f" FROM performance_schema.file_summary_by_instance WHERE COUNT_STAR > 0 LIMIT {_MOST}",
    ),
    TableQuery(
        "table_io_by_index",
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE"
        " FROM performance_schema.table_io_waits_summary_by_index_usage WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA"
        f" NOT IN ('mysql', 'sys', 'performance_schema') LIMIT {_MOST}",
    ),
    TableQuery(
        "index_statistics",
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ FROM information_schema.INDEX_STATISTICS"
        f" LIMIT {_MOST}",
        mysql=None,
        userstat=True,
    ),
    TableQuery(
        "table_statistics",
        "SELECT TABLE_SCHEMA, TABLE_NAME, ROWS_READ, ROWS_CHANGED FROM information_schema.TABLE_STATISTICS"
        f" LIMIT {_MOST}",
        mysql=None,
        userstat=True,
    ),
    TableQuery(
        "user_statistics",
        "SELECT '*' AS USER, SUM(BUSY_TIME) AS BUSY_TIME, SUM(CPU_TIME) AS CPU_TIME"
        " FROM information_schema.USER_STATISTICS",
        mysql=None,
        userstat=True,
    ),
    TableQuery("innodb_tablespaces", _SPACES.format("INNODB_TABLESPACES"), (8, 0), None, at_ends=True),
    TableQuery("innodb_tablespaces", _SPACES.format("INNODB_SYS_TABLESPACES"), (5, 7), (10, 6), at_ends=True),
    TableQuery(
        "innodb_index_stats",
        "SELECT database_name, table_name, index_name, stat_name, stat_value FROM mysql.innodb_index_stats"
        f" WHERE stat_name IN ('size', 'n_leaf_pages') LIMIT {_MOST}",
        at_ends=True,
    ),
    TableQuery(
        "innodb_table_stats",
        f"SELECT database_name, table_name, n_rows, clustered_index_size FROM mysql.innodb_table_stats LIMIT {_MOST}",
        at_ends=True,
    ),
)

#: What sessions do at the moment, but for the one that asks: counts alone, neither texts nor addresses.
SESSIONS = TableQuery(
    "sessions",
    "SELECT UNIX_TIMESTAMP(SYSDATE(6)) AS unix_s, COMMAND, STATE, COUNT(*) AS COUNT FROM information_schema.PROCESSLIST"
    " WHERE ID <> CONNECTION_ID() GROUP BY COMMAND, STATE",
)


def queries_of(engine: str, version: tuple[int, ...], *, schema: bool = True) -> list[TableQuery]:
    """Return the queries for a server: of those with one name the first that its version has.

    *schema* tells whether performance_schema is on.
    """
    found: dict[str, TableQuery] = {}
    for query in QUERIES:
        since = query.since(engine)
        of_schema = "performance_schema." in query.sql
        if since is not None and version >= since and not (query.userstat and schema) and (schema or not of_schema):
            found.setdefault(query.name, query)
    return list(found.values())
