"""From files of any known format to a trace bundle.

Which of the known formats a file has: the formats, and what their files begin with.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiersim.errors import TraceError, did_you_mean, reason
from tiersim.traces.bundle import Bundle, Manifest, RequestWriter, write_bundle
from tiersim.traces.readers import page_references as references
from tiersim.traces.readers.arrow import ARROW_MAGIC, PARQUET_MAGIC, read_arrow
from tiersim.traces.readers.blkparse_text import looks_like_blkparse, read_blkparse
from tiersim.traces.readers.blkreplay import Blkreplay
from tiersim.traces.readers.blktrace import MAGICS as BLKTRACE_MAGICS
from tiersim.traces.readers.blktrace import read_blktrace
from tiersim.traces.readers.bpftrace_csv import looks_like_bpftrace, read_bpftrace
from tiersim.traces.readers.clock import looks_like_clock, read_clock
from tiersim.traces.readers.cloudphysics import CloudPhysicsCsv, looks_like_vscsi, read_vscsi
from tiersim.traces.readers.disksim import DiskSim, DiskSimValidate, MqSim
from tiersim.traces.readers.etw import Etw
from tiersim.traces.readers.fio_iolog import FioIolog
from tiersim.traces.readers.ftrace_text import looks_like_ftrace, read_ftrace
from tiersim.traces.readers.host_counters.azure_monitor import looks_like_azure_monitor, read_azure_monitor
from tiersim.traces.readers.host_counters.cloudwatch import looks_like_cloudwatch, read_cloudwatch
from tiersim.traces.readers.host_counters.iostat import looks_like_iostat, read_iostat
from tiersim.traces.readers.host_counters.proc import looks_like_proc, read_proc
from tiersim.traces.readers.host_counters.sar import looks_like_sar, read_sar
from tiersim.traces.readers.mysql.slow_log import finish_slow_logs, looks_like_slow_log, read_slow_log
from tiersim.traces.readers.mysql.snapshots import MYSQL
from tiersim.traces.readers.opencas import OpenCas
from tiersim.traces.readers.opened import Progress, find_parts, first_bytes, is_compressed, opened_files
from tiersim.traces.readers.pgbench_log import looks_like_pgbench_log, read_pgbench_log
from tiersim.traces.readers.pgbench_output import looks_like_pgbench_output, read_pgbench_output
from tiersim.traces.readers.plausibility import Plausibility
from tiersim.traces.readers.postgres.snapshots import POSTGRESQL
from tiersim.traces.readers.postgres_log import looks_like_postgres_log, read_postgres_log
from tiersim.traces.readers.published import Alibaba, Msr, Spc, Systor17, Tencent
from tiersim.traces.readers.recorded import (
    Recorded,
    Source,
    add_counters,
    decoded,
    holds_counters,
    write_recorded,
)
from tiersim.traces.readers.sqlserver.event_xml import EVENT_XML
from tiersim.traces.readers.sqlserver.executions import finish_executions
from tiersim.traces.readers.sqlserver.perfmon import PERFMON
from tiersim.traces.readers.sqlserver.snapshots import SQLSERVER
from tiersim.traces.readers.sqlserver.trace_rows import TRACE_TABLE, TRACE_XML
from tiersim.traces.readers.sqlserver.trc import looks_like_trc, read_trc
from tiersim.traces.readers.sqlserver.xel import MAGIC as XEL_MAGIC
from tiersim.traces.readers.sqlserver.xel import read_xel
from tiersim.traces.readers.sysbench_output import looks_like_sysbench_output, read_sysbench_output

SNIFFED_BYTES = 1 << 16
_NUMBERS = re.compile(r"(\d+)")


class Format(NamedTuple):
    """A format of requests: what reads its files, and what tells by the first bytes that a file may be one of them."""

    read: Callable[[Sequence[Path], RequestWriter, Progress | None], dict[str, Any]]
    looks_like: Callable[[bytes], bool] | None = None  # None: MAGICS has it
    unpacks: bool = False  # whether what reads them reads compressed files, too


def by_numbers(name: str) -> list[str | tuple[int, str]]:
    """Return a key that puts names in order by the numbers in them: ``a.trc``, ``a_1.trc``, ``a_2.trc``,
    ``a_10.trc``.
    """
    return [(len(part.lstrip("0")), part.lstrip("0")) if part.isdigit() else part for part in _NUMBERS.split(name)]


#: How files begin that nothing else begins like, and the key of their format.
MAGICS: dict[bytes, str] = {
    **dict.fromkeys(BLKTRACE_MAGICS, "blktrace"),
    **dict.fromkeys((PARQUET_MAGIC, ARROW_MAGIC), "arrow"),
    XEL_MAGIC: "sqlserver-xel",
}

FORMATS: dict[str, Format] = {
    "blktrace": Format(read_blktrace),
    "arrow": Format(read_arrow),
    "blkparse": Format(read_blkparse, looks_like_blkparse, unpacks=True),
    "ftrace": Format(read_ftrace, looks_like_ftrace, unpacks=True),  # and perf script
    "bpftrace": Format(read_bpftrace, looks_like_bpftrace, unpacks=True),
    **{
        table.key: Format(table.read, table.looks_like, unpacks=True)
        for table in (
            *(FioIolog, Blkreplay, DiskSimValidate, DiskSim, MqSim, Etw, OpenCas, CloudPhysicsCsv),
            *(Msr, Systor17, Tencent, Alibaba, Spc),
        )
    },
    "vscsi": Format(read_vscsi, looks_like_vscsi, unpacks=True),
    references.ORACLE: Format(references.read_oracle, references.looks_like_oracle, unpacks=True),
    references.LIS: Format(references.read_lis, references.looks_like_lis, unpacks=True),
    references.LIRS: Format(references.read_lirs, references.looks_like_lirs, unpacks=True),
}

#: The kinds of files that tell of a recording besides its requests; they are asked before FORMATS.
SOURCES: dict[str, Source] = {
    "postgresql": POSTGRESQL,  # snapshots of its views
    "postgresql-log": Source(read_postgres_log, looks_like_postgres_log),
    "pgbench-log": Source(read_pgbench_log, looks_like_pgbench_log),
    "pgbench-output": Source(read_pgbench_output, looks_like_pgbench_output),
    "sysbench-output": Source(read_sysbench_output, looks_like_sysbench_output),
    "sqlserver": SQLSERVER,  # snapshots of its views
    "mysql": MYSQL,  # snapshots of its tables
    "mysql-slow-log": Source(read_slow_log, looks_like_slow_log, finish_slow_logs),
    "perfmon": PERFMON,
    "sqlserver-trace-xml": TRACE_XML,
    "sqlserver-trace-table": TRACE_TABLE,
    "sqlserver-event-xml": EVENT_XML,
    "sqlserver-trc": Source(read_trc, looks_like_trc, finish_executions, by_numbers),
    "sqlserver-xel": Source(read_xel, None, finish_executions, by_numbers),
    "proc": Source(read_proc, looks_like_proc),
    "iostat": Source(read_iostat, looks_like_iostat),
    "sar": Source(read_sar, looks_like_sar),
    "cloudwatch": Source(read_cloudwatch, looks_like_cloudwatch),
    "azure-monitor": Source(read_azure_monitor, looks_like_azure_monitor),
    "clock": Source(read_clock, looks_like_clock),
}

#: What a file of a kind has in its first bytes, if it is one: its reader is asked only then. Others are always asked.
MARKS: dict[str, re.Pattern[str]] = {
    key: re.compile(mark, re.MULTILINE | re.ASCII)
    for key, mark in {
        "postgresql": r"PostgreSQL \d|(?i:"
        r"quer(?:y|yid)\b|dealloc|exec_user_time|user_time|cpu_ms|backend_type|xact_commit|blks_(?:read|hit|zeroed)|"
        r"buffers|num_timed|wal_records|heap_blks_read|idx_(?:blks_read|scan)|seq_scan|attname|usagecount|usage_count|"
        r"relpages|setting|query_start|wait_event|event_type|archived_count|self_time|"
        r"wal_lsn|pg_current_(?:wal_lsn|xlog_location)|pg_postmaster_start_time)",
        "postgresql-log": r"(?:DEBUG\d|[A-Z]{3,}):  |\d\d:\d\d:\d\d.*,|\"error_severity\":\"",
        "pgbench-log": r"^\s*\d+ \d+ (?:\d+|skipped|failed|serialization|deadlock) \d+ \d+",
        "pgbench-output": r"transaction type: |\Apgbench \(",
        "sysbench-output": r"^sysbench \d",
        "sqlserver": r"(?i:num_of_reads|physical_name|execution_count|count_executions|range_scan_count|row_count|"
        r"is_modified|dirty_pages|cached_pages|buffer_count|wait_type|value_in_use|recovery_model_desc|target_recovery_time_in_seconds|"
        r"cpu_count|dropped_event_count|cntr_value)".replace("_", "[_ ]"),
        "mysql": r"INNODB MONITOR OUTPUT|(?i:variable_name|subsystem|unix_s|count_(?:star|read|fetch)|file_size|"
        r"rows_read|busy_time|stat_value|clust(?:ered)?_index_size|data_length|\bcommand\b|\bstatus\b|free_buffers)",
        "mysql-slow-log": r"User@Host: ",
        "perfmon": r"\(PDH-[CT]SV",
        "sqlserver-trace-xml": r"TraceData\b",
        "sqlserver-trace-table": r"(?i:eventclass)",
        "sqlserver-event-xml": r"<event\s|<RingBufferTarget\b",
        "sqlserver-trc": r"Microsoft SQL Server",
        "iostat": r"^avg-cpu: |^Device|\"sysstat\"",
        "sar": r"\A# hostname;|^Linux ",
        "clock": r"\A\s*realtime_ns \d",
    }.items()
}


class UnknownFormatError(TraceError):
    """A file that can be read and is of no known format."""


class RecordingFiles(NamedTuple):
    """The files of a recording: those that hold requests and the key of FORMATS that they are, the others with the key
    of SOURCES each; *named* is what was asked for first, *warnings* says what is left out.
    """

    named: Path
    requests: Sequence[Path]
    format: str
    others: Sequence[tuple[Path, str]]
    warnings: Sequence[str]
    counters: Sequence[Path] = ()  # bundles of counters alone


def sort_files(paths: Sequence[Path], format: str | None = None) -> RecordingFiles:
    """Tell what each of *paths* is; of a folder, those files count that are known.

    *format* is what the files are, a key of FORMATS or SOURCES, where nobody is to ask their first bytes. Raises
    TraceError when there is nothing to read, or no format is known by such a key.
    """
    if not paths:
        raise TraceError("no file to import was given; name the recorded files")
    if format is not None and format not in FORMATS and format not in SOURCES:
        hint = did_you_mean(format, [*FORMATS, *SOURCES])
        raise TraceError(f"the format {format!r} is not known{hint}; known are {_few_formats()}")
    requests: dict[Path, str] = {}
    others: list[tuple[Path, str]] = []
    counters: list[Path] = []
    of_folders: dict[Path, str] = {}
    unknown: list[str] = []
    for path in paths:
        if format is None and _is_bundle(path) and holds_counters(path):
            counters.append(path)
        elif format not in FORMATS and path.is_dir() and not _is_bundle(path):
            for file in sorted(file for file in path.rglob("*") if file.is_file()):
                key = _known(file)
                if key in SOURCES:
                    others.append((file, key))
                elif key:
                    of_folders[file] = key
                else:
                    unknown.append(file.name)
        else:  # of requests the first file tells what all are
            key = format or (_known(path) if requests else detect_format(path))
            if key in SOURCES:
                others.append((path, key))
            else:
                requests[path] = key
    warnings = []
    recordings = {find_parts(file)[0] for file in of_folders}
    if len(recordings) == 1 and not requests:
        requests = dict(list(of_folders.items())[:1])
    elif recordings and not requests:
        names = ", ".join(sorted(path.name for path in recordings))
        several = f"{paths[0]}: holds more than one recording of requests ({names}), of which none is read; name one"
        if not others:
            raise TraceError(several)
        warnings.append(several)
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        warnings.append(f"of no known format, and not read: {', '.join(unknown[:3])}{more}")
    if not requests and not others and not counters:
        raise TraceError(f"{paths[0]}: no file in it is of a known format; give the files of the recording")
    return RecordingFiles(paths[0], list(requests), next(iter(requests.values()), ""), others, warnings, counters)


def detect_format(path: Path) -> str:
    """Return the key of FORMATS or SOURCES that *path* is; raises TraceError when it is none or cannot be read.

    A folder that is no bundle is what the first of its files is that is known.
    """
    if path.is_dir():
        if _is_bundle(path):
            return "arrow"
        found = sort_files([path])
        return found.others[0][1] if found.others else found.format
    parts = find_parts(path)
    for part in parts:
        if part.is_fifo() or part.is_char_device():
            raise TraceError(
                f"{part}: cannot be read twice, as an import must; save what comes from it as a file first"
            )
    try:
        # The first file of a recording may be empty: a CPU without events.
        starts = (start for part in parts if not part.is_dir() and (start := _start(part)))
        start = next(starts, b"")
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({reason(error)}); give a file that exists and you may read"
        ) from None
    if not start:
        raise UnknownFormatError(f"{path}: is empty; record again")
    packed = is_compressed(start)
    if packed:
        start = first_bytes(path, SNIFFED_BYTES)
        if not start:
            raise UnknownFormatError(f"{path}: holds nothing that can be unpacked; record again")
    key = next(formats_like(start), None)
    if key is None:
        raise UnknownFormatError(
            f"{path}: is of no known format: it begins with {start[:8]!r}{' when unpacked' if packed else ''}; known"
            f" are {_few_formats()}; --format chooses one for a damaged file"
        )
    if packed and key in FORMATS and not FORMATS[key].unpacks:
        raise UnknownFormatError(f"{path}: is compressed {key}; unpack it first")
    return key


def formats_like(start: bytes) -> Iterator[str]:
    """Yield the keys of what a file that begins with so many bytes, decompressed, may be; the likeliest first."""
    for magic, key in MAGICS.items():
        if start.startswith(magic):
            yield key
            return
    text = decoded(start)
    plain = text.replace("\0", "")
    for key, source in SOURCES.items():
        mark = MARKS.get(key)
        if source.looks_like and (mark is None or mark.search(plain)) and source.looks_like(text):
            yield key
    for key, kind in FORMATS.items():
        if kind.looks_like and kind.looks_like(start):
            yield key


def _known(path: Path) -> str:
    """Return the key of a file, none when it is of no known format; raises TraceError when it cannot be read."""
    try:
        return detect_format(path)
    except UnknownFormatError:
        return ""


def _is_bundle(path: Path) -> bool:
    return (path / "requests.parquet").exists()


def _few_formats() -> str:
    """Name some formats of either kind; all of them are more than a sentence."""
    named = ("blktrace", "fio-iolog", "etw", "postgresql", "postgresql-log", "pgbench-log", "sqlserver-trc")
    return f"{', '.join(named)} and {len(FORMATS) + len(SOURCES) - len(named)} more (docs/formats.md)"


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)


_State = tuple[int, int, int]


def import_trace(
    paths: Sequence[Path],
    target: Path,
    *,
    format: str | None = None,
    keep_literals: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    amend: Callable[[dict[str, Any]], None] | None = None,
) -> Manifest:
    """Import one recording, of one or more files, into a new bundle at *target* and return its manifest.

    Requests come from files of one of FORMATS, all else from those of SOURCES; folders stand for their files. *format*
    is a key of either; without it the files' first bytes tell. For the rest see :func:`import_files`. Raises TraceError
    when the files cannot be read, OutputError when *target* cannot be written, or exists and *force* is not set.
    """
    files = sort_files(paths, format)
    return import_files(files, target, keep_literals=keep_literals, force=force, progress=progress, amend=amend)


def import_files(
    files: RecordingFiles,
    target: Path,
    *,
    keep_literals: bool = False,
    force: bool = False,
    progress: Progress | None = None,
    amend: Callable[[dict[str, Any]], None] | None = None,
) -> Manifest:
    """Import files of which it is known what they are.

    Query texts lose their literals unless *keep_literals* is set. *progress* is called with how much is done and how
    much there is. *amend* may change what the manifest will say. Raises what :func:`import_trace` does.
    """
    watched = Watched(
        [part for path in files.requests for part in find_parts(path)] + [path for path, _ in files.others]
    )
    with write_bundle(target, force=force) as (writer, fields):
        if files.requests:
            plausibility = Plausibility(str(files.requests[0]))
            writer.observers.append(plausibility.see)
            fields.update(FORMATS[files.format].read(files.requests, writer, progress))
            # what is imported again has some of them already
            fields["warnings"] = list(dict.fromkeys([*fields.get("warnings", ()), *plausibility.warnings()]))
        if files.others or files.counters:
            with tempfile.TemporaryDirectory(dir=writer.folder) as scratch:
                recorded = read_sources(
                    files.others, keep_literals=keep_literals, scratch=Path(scratch), progress=progress
                )
                for bundle in files.counters:
                    add_counters(bundle, recorded)
                _join(files.named, fields, recorded, writer)
        fields["warnings"] = [*fields.get("warnings", ()), *files.warnings, *watched.changes()]
        if amend is not None:
            amend(fields)
    return Bundle(target).manifest


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
        recorded.statements.begin_file()
        SOURCES[key].read(path, source, recorded)
        _say_steps_back(path, recorded)
        recorded.source_files.append({"name": path.name, "sha256": source.sha256()})
        if key not in recorded.formats:
            recorded.formats.append(key)
    for key in recorded.formats:
        SOURCES[key].finish(recorded)
    return recorded


def _say_steps_back(path: Path, recorded: Recorded) -> None:
    if minutes := recorded.statements.steps_back.minutes():
        recorded.warnings.append(
            f"{path.name}: its clock was set back by {minutes} min (daylight saving time?): what ran before lies among"
            " what ran after, so rates there are too high; import both parts of the file apart"
        )


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


def _join(path: Path, fields: dict[str, Any], recorded: Recorded, writer: RequestWriter) -> None:
    """Write what was recorded besides requests, on the clock of the requests if both clocks are known."""
    if recorded.requests is not None:
        if writer.rows:
            recorded.lose("requests that a file told besides those of a block trace", recorded.requests.rows)
        else:
            fields["host"] = {**fields.get("host", {}), "clock_start_unix_ns": recorded.requests.write(writer)}
    host = fields.get("host", {})
    zero_unix_ns = host.get("clock_start_unix_ns")
    if zero_unix_ns is None and recorded.monotonic_to_unix_ns is not None and "clock_start_ns" in host:
        zero_unix_ns = host["clock_start_ns"] + recorded.monotonic_to_unix_ns
    if writer.rows and zero_unix_ns is None:
        recorded.inferred.append(
            "when the requests began is not known beside the clock of the statements and counters: both begin at 0"
        )
    found = write_recorded(recorded, writer.folder, zero_unix_ns)
    if recorded.dropped and not (writer.rows or found["statements"] or found["snapshots"] or recorded.queries):
        lost = "; ".join(f"{count:,} {why}" for why, count in recorded.dropped.items())
        raise TraceError(f"{path}: nothing in it can be imported ({lost}); record again")
    fields["source_format"] = ", ".join(
        [*([fields["source_format"]] if "source_format" in fields else []), *recorded.formats]
    )
    span_ns = found.pop("span_ns")
    if not writer.rows:  # otherwise it is that of the requests, which rates are taken over
        fields["span_ns"] = span_ns
    for name, value in found.items():
        if isinstance(value, dict):
            fields[name] = {**fields.get(name, {}), **value}
        elif isinstance(value, list):
            fields[name] = [*fields.get(name, ()), *value]
        else:
            fields[name] = value
    fields["source_files"] = [*fields.get("source_files", ()), *recorded.source_files]


class Watched:
    """Files, and those in folders, as they are before they are read."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Note how they are now."""
        files = (file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path]))
        self._before = {file: _state(file) for file in files if file.is_file()}

    def changes(self) -> list[str]:
        """Say what became of them since, a sentence for each that is not what it was."""
        return [said for file, before in self._before.items() if (said := _change(file, before, _state(file)))]


def _state(file: Path) -> _State | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _change(file: Path, before: _State | None, now: _State | None) -> str:
    if now == before:
        return ""
    if now is None or before is None or now[0] != before[0]:
        return f"{file.name}: was removed or replaced while it was read; what it held before was read"
    if now[1] > before[1]:
        return (
            f"{file.name}: grew from {before[1]:,} to {now[1]:,} bytes while it was read; import it again when its"
            " recording has ended"
        )
    what = f"shrank from {before[1]:,} to {now[1]:,} bytes" if now[1] < before[1] else "was changed"
    return (
        f"{file.name}: {what} while it was read; what was read may be of before and after: import it again when nobody"
        " writes it"
    )
