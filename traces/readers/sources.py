"""The kinds of files that tell of a recording besides its requests, and which of them a file is."""

from collections.abc import Sequence
from pathlib import Path

from tiersim.traces.readers.clock import looks_like_clock, read_clock
from tiersim.traces.readers.host_counters.azure_monitor import looks_like_azure_monitor, read_azure_monitor
from tiersim.traces.readers.host_counters.cloudwatch import looks_like_cloudwatch, read_cloudwatch
from tiersim.traces.readers.host_counters.iostat import looks_like_iostat, read_iostat
from tiersim.traces.readers.host_counters.proc import looks_like_proc, read_proc
from tiersim.traces.readers.host_counters.sar import looks_like_sar, read_sar
from tiersim.traces.readers.opened import Opened, first_bytes
from tiersim.traces.readers.pgbench_log import looks_like_pgbench_log, read_pgbench_log
from tiersim.traces.readers.pgbench_output import looks_like_pgbench_output, read_pgbench_output
from tiersim.traces.readers.postgres.snapshots import POSTGRESQL
from tiersim.traces.readers.postgres_log import looks_like_postgres_log, read_postgres_log
from tiersim.traces.readers.recorded import Recorded, Source, decoded
from tiersim.traces.readers.sqlserver.perfmon import PERFMON
from tiersim.traces.readers.sqlserver.snapshots import SQLSERVER

SNIFFED_BYTES = 1 << 16

SOURCES: dict[str, Source] = {
    "postgresql": POSTGRESQL,  # snapshots of its views
    "postgresql-log": Source(looks_like_postgres_log, read_postgres_log),
    "pgbench-log": Source(looks_like_pgbench_log, read_pgbench_log),
    "pgbench-output": Source(looks_like_pgbench_output, read_pgbench_output),
    "sqlserver": SQLSERVER,  # snapshots of its views
    "perfmon": PERFMON,
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
    start = decoded(first_bytes(path, SNIFFED_BYTES))
    return next((key for key, source in SOURCES.items() if source.looks_like(start)), None)


def read_sources(files: Sequence[tuple[Path, str]], *, keep_literals: bool = False) -> Recorded:
    """Read files, each with its key of SOURCES, as one recording; raises TraceError for the first that cannot be read."""
    recorded = Recorded(keep_literals=keep_literals)
    for path, key in files:
        with Opened(path) as source:
            SOURCES[key].read(path, source, recorded)
            recorded.source_files.append({"name": path.name, "sha256": source.sha256()})
        if key not in recorded.formats:
            recorded.formats.append(key)
    for key in recorded.formats:
        SOURCES[key].finish(recorded)
    return recorded
