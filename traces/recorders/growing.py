"""A bundle that grows while it is recorded, and is whole at any moment: a recorder that is killed leaves what it had.

It lies at its final name from the first snapshot on. Each part of ``statistics/`` is written aside, synced and renamed,
and so is the manifest, which says that the recording has not ended. At the end the parts become ``statistics.parquet``,
and the manifest gets its checksums.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tiersim.errors import OutputError
from tiersim.files import whole_file
from tiersim.traces.bundle import Bundle, Manifest, write_bundle, write_manifest
from tiersim.traces.differences import Differencing
from tiersim.traces.schema import QUERY_COLUMNS
from tiersim.traces.statistics import (
    NAME,
    PARTS,
    QUERIES,
    Snapshot,
    StatisticsWriter,
    table_of,
    write_joined,
    write_table,
)
from tiersim.units import NS_PER_S

#: A row of ``queries.parquet``.
Query = Mapping[str, int | str | None]


class GrowingBundle:
    """Takes snapshots, whose times are ns since 1970, in order; ``fields`` of the manifest may change until the end."""

    def __init__(self, target: Path, zero_unix_ns: int, fields: dict[str, Any], *, force: bool) -> None:
        """Make a bundle at *target* whose time begins at *zero_unix_ns*; raises OutputError.

        See :func:`tiersim.files.whole_folder` for what *force* may replace.
        """
        self.folder = target
        self.fields = fields
        self._zero_unix_ns = zero_unix_ns
        self._last_ns = 0
        self._parts = self._snapshots = self._queries = 0
        self._differencing = Differencing()
        with write_bundle(target, force=force) as (_, at_first):
            at_first.update(self._unfinished())
        self._own = os.stat(target)
        (target / PARTS).mkdir()

    def add(self, snapshots: Sequence[Snapshot], queries: Sequence[Query] = ()) -> None:
        """Keep snapshots, and all queries that are known by now; when this returns they outlive a crash.

        Raises OutputError when they cannot be written, or another command has put its bundle here; what was kept before
        stays.
        """
        self._refuse_another()
        if snapshots:
            self._add_part(snapshots)
        if len(queries) > self._queries:
            with whole_file(self.folder / QUERIES, force=True) as place:
                write_table(place, QUERY_COLUMNS, table_of(QUERY_COLUMNS, queries))
            self._queries = len(queries)
        write_manifest(self.folder, Manifest(**self._unfinished()))

    def _refuse_another(self) -> None:
        try:
            there = os.path.samestat(os.stat(self.folder), self._own)
        except FileNotFoundError:
            there = False
        if not there:
            raise OutputError(
                f"{self.folder}: was replaced or removed by somebody else while it was recorded; record again, to a"
                " name of its own"
            )

    def _add_part(self, snapshots: Sequence[Snapshot]) -> None:
        with whole_file(self.folder / PARTS / f"{self._parts:06d}.parquet") as place:
            writer = StatisticsWriter(place.parent, place.name, self._snapshots)
            for snapshot in snapshots:
                assert snapshot.time_ns is not None  # they were taken just now
                self._differencing.add(snapshot)
                writer.append(Snapshot(snapshot.time_ns - self._zero_unix_ns, snapshot.values))
            writer.close()
        self._parts += 1
        self._snapshots = writer.snapshots
        self._last_ns = max(self._last_ns, writer.last_ns)

    def end(self) -> Manifest:
        """Make one table of the parts and return the manifest; raises OutputError when there is no place for it."""
        self._refuse_another()
        with whole_file(self.folder / NAME) as place:
            write_joined(self.folder, place)
        shutil.rmtree(self.folder / PARTS)
        write_manifest(self.folder, Manifest(**self._counted()))
        return Bundle(self.folder).manifest

    def _unfinished(self) -> dict[str, Any]:
        last = datetime.fromtimestamp((self._zero_unix_ns + self._last_ns) // NS_PER_S, UTC).strftime(
            "%Y-%m-%d %H:%M:%S"
        )
        early = (
            f"the recording was not ended: it goes on, or was killed; its last snapshot is of {last} UTC, "
            f"{self._last_ns / NS_PER_S:.0f} s after the first"
        )
        return self._counted(early) | {"ended": False}

    def _counted(self, *more: str) -> dict[str, Any]:
        host = {**self.fields.get("host", {}), "clock_start_unix_ns": self._zero_unix_ns}
        warnings = [*self.fields.get("warnings", ()), *self._differencing.found.findings(), *more]
        counted = {"snapshots": self._snapshots, "span_ns": self._last_ns, "host": host, "warnings": warnings}
        return {**self.fields, **counted}
