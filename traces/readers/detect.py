"""From files of any known format to a trace bundle: which reader it takes, and the bundle that it fills."""

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

Progress = Callable[[int, int], None]

#: The first bytes of a file that the format is told from.
SNIFFED_BYTES = 1 << 16


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
    force: bool = False,
    progress: Progress | None = None,
) -> Manifest:
    """Import one recording, of one or more files, into a new bundle at *target* and return its manifest.

    *format* is a key of FORMATS; without it the files' first bytes tell. *progress* is called with how much is done and how
    much there is. Raises TraceError when the files cannot be read, OutputError when *target* cannot be written, or exists
    and *force* is not set.
    """
    if not paths:
        raise TraceError("no file to import was given")
    name = format or detect_format(paths[0])
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS)
        raise TraceError(f"the format {name!r} is not known{hint}; known are {', '.join(FORMATS)}")
    with write_bundle(target, force=force) as (writer, fields):
        plausibility = Plausibility(str(paths[0]))
        writer.observers.append(plausibility.see)
        fields.update(FORMATS[name].read(paths, writer, progress))
        # what is imported again has some of them already
        fields["warnings"] = list(dict.fromkeys([*fields.get("warnings", ()), *plausibility.warnings()]))
    return Bundle(target).manifest


def detect_format(path: Path) -> str:
    """Return the key of FORMATS that *path* is; raises TraceError when it is none or cannot be read."""
    if path.is_dir():
        if (path / "requests.parquet").exists():
            return "arrow"
        raise TraceError(f"{path}: is a folder without a requests.parquet; give the files of the recording")
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
    for name, candidate in FORMATS.items():
        if not candidate.looks_like(start):
            continue
        if packed and not candidate.unpacks:
            raise TraceError(f"{path}: is compressed {name}; unpack it first")
        return name
    raise TraceError(
        f"{path}: {'unpacked, ' if packed else ''}at byte 0 is {start[:8]!r}, the start of no known format; known are "
        f"{', '.join(FORMATS)} (--format chooses one for a damaged file)"
    )


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SNIFFED_BYTES)
