"""Imports of texts and samples for tests, and what comes out as plain rows."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.schema import OPERATIONS


class Row(NamedTuple):
    """One request, with words instead of codes."""

    time_ns: int
    op: str
    file: str
    offset_bytes: int
    length_bytes: int
    latency_ns: int | None = None
    stream: str | None = None


def import_text(folder: Path, text: str | bytes, *, format: str | None = None) -> tuple[list[Row], Bundle]:
    """Import a file with this content; return its requests and the bundle."""
    path = folder / "recorded"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return import_files(folder, path, format=format)


def import_files(folder: Path, *paths: Path, format: str | None = None) -> tuple[list[Row], Bundle]:
    """Import files; return their requests and the bundle."""
    target = folder / "out.trace"
    import_trace(paths, target, format=format, force=True)
    bundle = Bundle(target)
    return rows_of(bundle), bundle


def rows_of(bundle: Bundle) -> list[Row]:
    """Return the requests of a bundle."""
    found = bundle.requests()
    files, streams = bundle.file_names, bundle.stream_names
    columns: Iterable[tuple[int, ...]] = zip(
        found.time_ns.tolist(),
        found.op.tolist(),
        found.file.tolist(),
        found.offset_bytes.tolist(),
        found.length_bytes.tolist(),
        found.latency_ns.tolist(),
        found.stream.tolist(),
        strict=True,
    )
    return [
        Row(
            time,
            OPERATIONS[op],
            files[file],
            offset,
            length,
            None if took < 0 else took,
            streams[who] if who >= 0 else None,
        )
        for time, op, file, offset, length, took, who in columns
    ]


def said(what: str, sentences: Sequence[str]) -> bool:
    """Tell whether one of the sentences has it."""
    return any(what in sentence for sentence in sentences)


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in order of time, the first at 0; of one time, in the order given."""
    ordered = sorted(rows, key=lambda row: row.time_ns)
    return [row._replace(time_ns=row.time_ns - ordered[0].time_ns) for row in ordered]
