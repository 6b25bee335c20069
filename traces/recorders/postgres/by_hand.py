"""What a DBA runs with psql where the recorder may not connect: the same queries, before and after the load."""

from collections.abc import Iterator

from tiersim.traces.readers.postgres.derived import KEPT
from tiersim.traces.recorders.postgres.views import LARGEST, MOMENT, STATEMENTS, VIEWS, ViewQuery

_FOLDERS = ("before", "after")


def commands(*, with_pool: bool = False) -> Iterator[str]:
    """Yield lines of shell that record a server at two moments, and what is to be done with the files."""
    yield "# Once while the load that matters runs, and again some minutes later:"
    for folder in _FOLDERS:
        yield ""
        yield f"mkdir -p {folder}"
        for view in (MOMENT, *VIEWS):
            if with_pool or not view.for_pool:
                yield _command(view, folder)
    yield ""
    yield f"tiersim import {' '.join(_FOLDERS)} -o NAME.trace"


def _command(view: ViewQuery, folder: str) -> str:
    sql = "SELECT * FROM pg_stat_statements" if view is STATEMENTS else view.sql
    filled = sql.format(
        schema="", relations=f"ARRAY({LARGEST})", settings="'{" + ",".join(sorted(KEPT)) + "}'::text[]", choice=""
    )
    needs = [f"PostgreSQL {view.since // 10_000} and later"] if view.since else []
    needs += [f"if {view.extension} is installed"] if view.extension else []
    note = f"  # {', '.join(needs)}" if needs else ""
    shell = filled.replace('"', '\\"').replace("$", "\\$")
    return f"psql -X -c \"\\copy ({shell}) to '{folder}/{view.name}.csv' csv header\"{note}"
