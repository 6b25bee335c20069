"""From files of any known format to a trace bundle: which reader it takes, and the bundle that it fills."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tiersim.errors import TraceError, did_you_mean, reason
from tiersim.traces.bundle import Bundle, Manifest, RequestWriter, write_bundle
from tiersim.traces.readers import page_references as references
from tiersim.traces.readers.arrow import looks_like_arrow, read_arrow
from tiersim.traces.readers.blkparse_text import looks_like_blkparse, read_blkparse
from tiersim.traces.readers.blkreplay import Blkreplay
from tiersim.traces.readers.blktrace import find_parts, looks_like_blktrace, read_blktrace
from tiersim.traces.readers.bpftrace_csv import looks_like_bpftrace, read_bpftrace
from tiersim.traces.readers.cloudphysics import CloudPhysicsCsv, looks_like_vscsi, read_vscsi
from tiersim.traces.readers.disksim import DiskSim, DiskSimValidate, MqSim
from tiersim.traces.readers.etw import Etw
from tiersim.traces.readers.fio_iolog import FioIolog
from tiersim.traces.readers.ftrace_text import looks_like_ftrace, read_ftrace
from tiersim.traces.readers.opencas import OpenCas
from tiersim.traces.readers.opened import first_bytes, is_compressed
from tiersim.traces.readers.plausibility import Plausibility
from tiersim.traces.readers.published import Alibaba, Msr, Spc, Systor17, Tencent
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.recorded_tables import write_recorded
from tiersim.traces.readers.sources import SNIFFED_BYTES, SOURCES, read_sources, source_of
from tiersim.traces.readers.watched import Watched

Progress = Callable[[int, int], None]


class Format(NamedTuple):
    """A foreign format: how its files begin, and what reads them."""

    looks_like: Callable[[bytes], bool]
    read: Callable[[Sequence[Path], RequestWriter, Progress | None], dict[str, Any]]
    unpacks: bool = False  # whether what reads them reads compressed files, too


FORMATS: dict[str, Format] = {
    "blktrace": Format(looks_like_blktrace, read_blktrace),
    "arrow": Format(looks_like_arrow, read_arrow),
    "blkparse": Format(looks_like_blkparse, read_blkparse, unpacks=True),
    "ftrace": Format(looks_like_ftrace, read_ftrace, unpacks=True),  # and perf script
    "bpftrace": Format(looks_like_bpftrace, read_bpftrace, unpacks=True),
    **{
        table.key: Format(table.looks_like, table.read, unpacks=True)
        for table in (
            *(FioIolog, Blkreplay, DiskSimValidate, DiskSim, MqSim, Etw, OpenCas, CloudPhysicsCsv),
            *(Msr, Systor17, Tencent, Alibaba, Spc),
        )
    },
    "vscsi": Format(looks_like_vscsi, read_vscsi, unpacks=True),
    references.ORACLE: Format(references.looks_like_oracle, references.read_oracle, unpacks=True),
    references.LIS: Format(references.looks_like_lis, references.read_lis, unpacks=True),
    references.LIRS: Format(references.looks_like_lirs, references.read_lirs, unpacks=True),
}


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
    is a
    key of either; without it the files' first bytes tell. Query texts lose their literals unless *keep_literals* is
    set.
    *progress* is called with how much is done and how much there is. *amend* may change what the manifest will say.
    Raises
    TraceError when the files cannot be read, OutputError when *target* cannot be written, or exists and *force* is not
    set.
    """
    if not paths:
        raise TraceError("no file to import was given; name the recorded files")
    if format is not None and format not in FORMATS and format not in SOURCES:
        hint = did_you_mean(format, [*FORMATS, *SOURCES])
        raise TraceError(f"the format {format!r} is not known{hint}; known are {_few_formats()}")
    found = sorted_out(paths, format)
    read = [part for path in found.requests for part in find_parts(path)] + [path for path, _ in found.others]
    watched = Watched(read)
    with write_bundle(target, force=force) as (writer, fields):
        if found.requests:
            name = format or detect_format(found.requests[0])
            plausibility = Plausibility(str(found.requests[0]))
            writer.observers.append(plausibility.see)
            fields.update(FORMATS[name].read(found.requests, writer, progress))
            # what is imported again has some of them already
            fields["warnings"] = list(dict.fromkeys([*fields.get("warnings", ()), *plausibility.warnings()]))
        if found.others:
            with tempfile.TemporaryDirectory(dir=writer.folder) as scratch:
                recorded = read_sources(
                    found.others, keep_literals=keep_literals, scratch=Path(scratch), progress=progress
                )
                _join(paths[0], fields, recorded, writer)
        fields["warnings"] = [*fields.get("warnings", ()), *found.warnings, *watched.changes()]
        if amend is not None:
            amend(fields)
    return Bundle(target).manifest


def holds_requests(paths: Sequence[Path], format: str | None = None) -> bool:
    """Tell whether a recording holds requests, and not statements and counters alone; raises TraceError, see
    import_trace.
    """
    found = sorted_out(paths, format)
    if found.requests and format is None:
        detect_format(found.requests[0])
    return bool(found.requests)


class SortedOut(NamedTuple):
    """The files of a recording: those that hold requests, the others with the key of SOURCES each, and what is left
    out.
    """

    requests: Sequence[Path]
    others: Sequence[tuple[Path, str]]
    warnings: Sequence[str]


def sorted_out(paths: Sequence[Path], format: str | None = None) -> SortedOut:
    """Tell what each of *paths* is; of a folder, those files count that are known. Raises
    TraceError, see import_trace.
    """
    requests: list[Path] = []
    others: list[tuple[Path, str]] = []
    unknown: list[str] = []
    of_folders: list[Path] = []
    for path in paths:
        if format in FORMATS:  # which one file or bundle is to be
            requests.append(path)
        elif path.is_dir() and not (path / "requests.parquet").exists():
            for file in sorted(file for file in path.rglob("*") if file.is_file()):
                key = source_of(file)
                if key is not None:
                    others.append((file, key))
                elif _holds_requests(file):
                    of_folders.append(file)
                else:
                    unknown.append(file.name)
        elif format in SOURCES or (format is None and source_of(path) is not None):
            others.append((path, format or source_of(path) or ""))
        else:
            requests.append(path)
    recordings = {find_parts(file)[0] for file in of_folders}
    warnings = []
    if len(recordings) == 1 and not requests:
        requests = of_folders[:1]
    elif recordings and not requests:
        names = ", ".join(sorted(path.name for path in recordings))
        several = f"{paths[0]}: holds more than one recording of requests ({names}), of which none is read; name one"
        if not others:
            raise TraceError(several)
        warnings.append(several)
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        warnings.append(f"of no known format, and not read: {', '.join(unknown[:3])}{more}")
    if not requests and not others:
        raise TraceError(f"{paths[0]}: no file in it is of a known format; give the files of the recording")
    return SortedOut(requests, others, warnings)


def _holds_requests(path: Path) -> bool:
    try:
        return detect_format(path) in FORMATS
    except TraceError:
        return False


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


def detect_format(path: Path) -> str:
    """Return the key of FORMATS or SOURCES that *path* is; raises TraceError when it is none or cannot be read.

    A folder that is no bundle is what the first of its files is that is known.
    """
    if path.is_dir():
        if (path / "requests.parquet").exists():
            return "arrow"
        found = sorted_out([path])
        return found.others[0][1] if found.others else detect_format(found.requests[0])
    parts = find_parts(path)
    for part in parts:
        if part.is_fifo() or part.is_char_device():
            raise TraceError(
                f"{part}: cannot be read twice, as an import must; save what comes from it as a file first"
            )
    try:
        # The first file of a recording may be empty: a CPU without events.
        starts = [_start(part) for part in parts if not part.is_dir()]
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({reason(error)}); give a file that exists and you may read"
        ) from None
    start = next((start for start in starts if start), b"")
    if not start:
        raise TraceError(f"{path}: is empty; record again")
    packed = is_compressed(start)
    if packed:
        start = first_bytes(path, SNIFFED_BYTES)
        if not start:
            raise TraceError(f"{path}: holds nothing that can be unpacked; record again")
    key = source_of(path)
    if key is not None:
        return key
    for name, candidate in FORMATS.items():
        if not candidate.looks_like(start):
            continue
        if packed and not candidate.unpacks:
            raise TraceError(f"{path}: is compressed {name}; unpack it first")
        return name
    raise TraceError(
        f"{path}: {'unpacked, ' if packed else ''}at byte 0 is {start[:8]!r}, the start of no known format; known are "
        f"{_few_formats()} (--format chooses one for a damaged file)"
    )


def _few_formats() -> str:
    """Name some formats of either kind; all of them are more than a sentence."""
    named = ("blktrace", "fio-iolog", "etw", "postgresql", "postgresql-log", "pgbench-log", "sqlserver-trc")
    return f"{', '.join(named)} and {len(FORMATS) + len(SOURCES) - len(named)} more, see docs/formats.md"


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)
