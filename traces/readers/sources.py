"""The kinds of files that tell of a recording besides its requests, and which of them a file is."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from tiersim.traces.readers.clock import looks_like_clock, read_clock
from tiersim.traces.readers.collected import opened_files
from tiersim.traces.readers.host_counters.azure_monitor import looks_like_azure_monitor, read_azure_monitor
from tiersim.traces.readers.host_counters.cloudwatch import looks_like_cloudwatch, read_cloudwatch
from tiersim.traces.readers.host_counters.iostat import looks_like_iostat, read_iostat
from tiersim.traces.readers.host_counters.proc import looks_like_proc, read_proc
from tiersim.traces.readers.host_counters.sar import looks_like_sar, read_sar
from tiersim.traces.readers.mysql.slow_log import looks_like_slow_log, read_slow_log
from tiersim.traces.readers.mysql.snapshots import MYSQL
from tiersim.traces.readers.opened import first_bytes
from tiersim.traces.readers.pgbench_log import looks_like_pgbench_log, read_pgbench_log
from tiersim.traces.readers.pgbench_output import looks_like_pgbench_output, read_pgbench_output
from tiersim.traces.readers.postgres.snapshots import POSTGRESQL
from tiersim.traces.readers.postgres_log import looks_like_postgres_log, read_postgres_log
from tiersim.traces.readers.recorded import Recorded, Source, decoded
from tiersim.traces.readers.sqlserver.event_xml import EVENT_XML
from tiersim.traces.readers.sqlserver.executions import finish_executions
from tiersim.traces.readers.sqlserver.perfmon import PERFMON
from tiersim.traces.readers.sqlserver.snapshots import SQLSERVER
from tiersim.traces.readers.sqlserver.trace_rows import TRACE_TABLE, TRACE_XML
from tiersim.traces.readers.sqlserver.trc import looks_like_trc, read_trc
from tiersim.traces.readers.sqlserver.xel import looks_like_xel, read_xel

SNIFFED_BYTES = 1 << 16
Progress = Callable[[int, int], None]
_NUMBERS = re.compile(r"(\d+)")


def by_numbers(name: str) -> list[str | tuple[int, str]]:
    """Return a key that puts names in order by the numbers in them: ``a.trc``, ``a_1.trc``,
    ``a_2.trc``, ``a_10.trc``.
    """
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else part for part in _NUMBERS.split(name)]


SOURCES: dict[str, Source] = {
    "postgresql": POSTGRESQL,  # snapshots of its views
    "postgresql-log": Source(looks_like_postgres_log, read_postgres_log),
    "pgbench-log": Source(looks_like_pgbench_log, read_pgbench_log),
    "pgbench-output": Source(looks_like_pgbench_output, read_pgbench_output),
    "sqlserver": SQLSERVER,  # snapshots of its views
    "mysql": MYSQL,  # snapshots of its tables
    "mysql-slow-log": Source(looks_like_slow_log, read_slow_log),
    "perfmon": PERFMON,
    "sqlserver-trace-xml": TRACE_XML,
    "sqlserver-trace-table": TRACE_TABLE,
    "sqlserver-event-xml": EVENT_XML,
    "sqlserver-trc": Source(looks_like_trc, read_trc, finish_executions, by_numbers),
    "sqlserver-xel": Source(looks_like_xel, read_xel, finish_executions, by_numbers),
    "proc": Source(looks_like_proc, read_proc),
    "iostat": Source(looks_like_iostat, read_iostat),
    "sar": Source(looks_like_sar, read_sar),
    "cloudwatch": Source(looks_like_cloudwatch, read_cloudwatch),
    "azure-monitor": Source(looks_like_azure_monitor, read_azure_monitor),
    "clock": Source(looks_like_clock, read_clock),
}


def source_of(path: Path) -> str | None:
    """Return the key of SOURCES that the file at *path*, plain or compressed, is; None when it is none of them."""
    if not path.is_file():
        return None
    return _source_that_begins(decoded(first_bytes(path, SNIFFED_BYTES)))


@lru_cache(maxsize=16)  # an import asks four times what a file is
def _source_that_begins(start: str) -> str | None:
    return next((key for key, source in SOURCES.items() if source.looks_like(start)), None)


def read_sources(
    files: Sequence[tuple[Path, str]],
    *,
    keep_literals: bool = False,
    scratch: Path | None = None,
    progress: Progress | None = None,
) -> Recorded:
    """Read files, each with its key of SOURCES, as one recording; raises TraceError for the first that cannot be read.

    *scratch* is a folder for what does not fit into memory; *progress* is called with the bytes read and the bytes
    there are.
    """
    recorded = Recorded(keep_literals=keep_literals, scratch=scratch)
    files = _in_order(files)
    for source, (path, key) in zip(opened_files([path for path, _ in files], progress), files, strict=True):
        SOURCES[key].read(path, source, recorded)
        recorded.source_files.append({"name": path.name, "sha256": source.sha256()})
        if key not in recorded.formats:
            recorded.formats.append(key)
    for key in recorded.formats:
        SOURCES[key].finish(recorded)
    return recorded


def _in_order(files: Sequence[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Put the files of formats whose files follow each other in order; others keep their places."""
    ordered = list(files)
    for key in {key for _, key in files}:
        in_order = SOURCES[key].in_order
        if in_order is not None:
            places = [place for place, file in enumerate(files) if file[1] == key]
            own = sorted((files[place] for place in places), key=lambda file: in_order(file[0].name))
            for place, file in zip(places, own, strict=True):
                ordered[place] = file
    return ordered
