"""From what files say of a recording to the tables of a bundle: one zero of time, order, and what
must be said of both.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tiersim.traces.bundle_tables import TableWriter, table_of, write_table
from tiersim.traces.differences import differences
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.statements import QUERIES, STATEMENTS
from tiersim.traces.statistics import Snapshot, StatisticsWriter
from tiersim.units import NS_PER_S


def write_recorded(recorded: Recorded, folder: Path, zero_unix_ns: int | None) -> dict[str, Any]:
    """Write statistics, statements and queries into *folder* and return what the manifest says of them.

    *zero_unix_ns* is where the requests of the same recording begin; without any, time begins with the first snapshot
    or
    statement.
    """
    snapshots = _spaced(recorded.snapshots(), recorded)
    times = [s.time_ns for s in snapshots if s.time_ns is not None]
    starts = [] if recorded.statements.first_ns is None else [recorded.statements.first_ns]
    zero = min([*times, *starts], default=0) if zero_unix_ns is None else zero_unix_ns
    moved = [Snapshot(None if s.time_ns is None else s.time_ns - zero, s.values) for s in snapshots]

    writer = StatisticsWriter(folder)
    try:
        for snapshot in moved:
            writer.append(snapshot)
    finally:
        writer.close()
    last_ns = writer.last_ns
    statements = len(recorded.statements)
    if statements:
        last_ns = max(last_ns, _write_statements(recorded, folder / STATEMENTS, zero))
    if recorded.queries:
        known = [recorded.queries[key] for key in sorted(recorded.queries, key=str)]
        write_table(folder / QUERIES, QUERY_COLUMNS, table_of(QUERY_COLUMNS, known))
    host = dict(recorded.host)
    if times or starts:
        host["clock_start_unix_ns"] = zero
    return {
        "statements": statements,
        "snapshots": len(snapshots),
        "span_ns": last_ns,
        "dropped": recorded.dropped,
        "inferred": list(dict.fromkeys(recorded.inferred)),
        "warnings": list(dict.fromkeys([*recorded.warnings, *differences(moved).findings()])),
        "host": host,
    }


def _write_statements(recorded: Recorded, path: Path, zero: int) -> int:
    """Write the statements in order of time, and return when the last of them ended."""
    last_ns = 0
    with TableWriter(path, STATEMENT_COLUMNS) as writer:
        for table in recorded.statements.tables():
            table.columns["time_ns"][:] -= zero
            writer.append(table)
            last_ns = max(last_ns, int((table.columns["time_ns"] + np.maximum(table.columns["duration_ns"], 0)).max()))
    return last_ns


def _spaced(snapshots: list[Snapshot], recorded: Recorded) -> list[Snapshot]:
    """Give two snapshots without times the distance that another file of the recording tells."""
    if len(snapshots) != 2 or recorded.span_ns is None or any(s.time_ns is not None for s in snapshots):
        return snapshots
    start = recorded.statements.first_ns or 0
    recorded.inferred.append(
        f"the two snapshots have no times; they are assumed to be {recorded.span_ns / NS_PER_S:g} s apart, as long as"
        " the load ran in between"
    )
    return [Snapshot(start, snapshots[0].values), Snapshot(start + recorded.span_ns, snapshots[1].values)]
