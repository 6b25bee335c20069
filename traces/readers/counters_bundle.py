"""A bundle of counters, such as ``tiersim record`` makes, that is imported again together with what belongs to it: what
a load generator printed, logs, counters of the host.
"""

import hashlib
from pathlib import Path

from tiersim.traces.bundle import Bundle
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.statistics import NAME, read_queries, read_snapshots


def holds_counters(folder: Path) -> bool:
    """Tell whether a bundle holds counters, and neither requests nor statements."""
    manifest = Bundle(folder).manifest
    held = manifest.requests or manifest.references or manifest.statements
    return not held and (folder / NAME).exists()


def add_counters(folder: Path, recorded: Recorded) -> None:
    """Add the counters and the queries of the bundle in *folder*; raises TraceError."""
    manifest = Bundle(folder).manifest
    start_ns = manifest.host.get("clock_start_unix_ns")
    for number, snapshot in enumerate(read_snapshots(folder)):
        unix_ns = None if snapshot.time_ns is None or start_ns is None else int(start_ns) + snapshot.time_ns
        recorded.add(f"{folder.name} {number:09}", unix_ns, snapshot.values)
    queries = read_queries(folder)
    names = ("query", "entity", "text", "database", "user")
    for values in zip(*(queries.texts(name) for name in names), strict=True):
        found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        recorded.queries[str(found["query"]), found.get("entity")] = {**found}
    recorded.host.update({key: value for key, value in manifest.host.items() if key != "clock_start_unix_ns"})
    recorded.inferred += manifest.inferred
    recorded.warnings += manifest.warnings
    for why, count in manifest.dropped.items():
        recorded.lose(why, count)
    recorded.formats += [key for key in manifest.source_format.split(", ") if key not in recorded.formats]
    with (folder / NAME).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    recorded.source_files.append({"name": f"{folder.name}/{NAME}", "sha256": sha256})
