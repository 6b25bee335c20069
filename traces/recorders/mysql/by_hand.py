"""What a DBA runs with the mysql client where the recorder may not connect: the same queries, before and after."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tiersim.traces.recorders.mysql.views import MOMENT, QUERIES, TableQuery

_FOLDERS = ("before", "after")
GRANTS = (
    "GRANT PROCESS ON *.* TO recorder@localhost;",
    "GRANT SELECT ON performance_schema.* TO recorder@localhost;",
    "GRANT SELECT ON mysql.innodb_index_stats TO recorder@localhost;",
    "GRANT SELECT ON mysql.innodb_table_stats TO recorder@localhost;",
)


def commands() -> Iterator[str]:
    """Yield lines of shell that record a server at two moments, and what is to be done with the files."""
    yield "# What the role needs:"
    yield from (f"#   {grant}" for grant in GRANTS)
    yield "# Once while the load that matters runs, and again some minutes later:"
    for folder in _FOLDERS:
        yield ""
        yield f"mkdir -p {folder}"
        for name, queries in groupby((MOMENT, *QUERIES), key=lambda query: query.name):
            yield _command(list(queries), f"{folder}/{name}.tsv")
    yield ""
    yield f"tiersim import {' '.join(_FOLDERS)} -o NAME.trace"


def _command(queries: Sequence[TableQuery], file: str) -> str:
    """Write one line for the *queries* of a file: the next is tried where the server refuses the one before."""
    parts, notes = [], []
    for query in queries:
        shell = query.sql.replace('"', '\\"').replace("$", "\\$")
        parts.append(f'mysql -B -e "{shell}" > {file}')
        versions = [
            f"{name} {'.'.join(map(str, since))} and later"
            for name, since in (("MySQL", query.mysql), ("MariaDB", query.mariadb))
            if since is not None
        ]
        notes.append(f"{', '.join(versions)}{', with userstat = ON' if query.userstat else ''}")
    return f"{' || '.join(parts)}  # {'; else '.join(notes)}"
