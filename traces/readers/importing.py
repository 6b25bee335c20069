"""From files of any known format to a trace bundle."""

import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle, Manifest, RequestWriter, write_bundle
from tiersim.traces.readers.blktrace import find_parts
from tiersim.traces.readers.collected import opened_files
from tiersim.traces.readers.detect import FORMATS, SOURCES, Recording, sort_files
from tiersim.traces.readers.plausibility import Plausibility
from tiersim.traces.readers.recorded import Recorded, write_recorded

Progress = Callable[[int, int], None]
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
    files: Recording,
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
        if files.others:
            with tempfile.TemporaryDirectory(dir=writer.folder) as scratch:
                recorded = read_sources(
                    files.others, keep_literals=keep_literals, scratch=Path(scratch), progress=progress
                )
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
