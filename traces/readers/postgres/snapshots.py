"""Snapshots of PostgreSQL's views, one or more a file."""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.postgres.derived import HIDDEN, host_of
from tiersim.traces.readers.postgres.views import VIEWS
from tiersim.traces.readers.recorded import Key, Piece, Recorded, Source, spread, text_of
from tiersim.traces.readers.text_tables import tables_of
from tiersim.traces.readers.timestamps import canonical, has_offset, unix_ns
from tiersim.traces.readers.views import (
    GatheredRows,
    MomentsOfViews,
    Row,
    RowsOfViews,
    TextTable,
    View,
    entity_of,
    view_among,
)
from tiersim.traces.statistics import Values

#: Columns, or keys of JSON, that tell when a row was taken, if the view has none of that name; the first that is there.
_TIMES = (
    "clock_ts",
    "clock_timestamp",
    "captured_at",
    "snapshot_time",
    "snapshot_ts",
    "snapshot_at",
    "snap_time",
    "sample_time",
    "sampled_at",
    "collected_at",
    "collection_time",
    "recorded_at",
    "taken_at",
    "statement_timestamp",
    "transaction_timestamp",
    "current_timestamp",
    "now",
    "ts",
    "time",
    "timestamp",
    "log_time",
)
_REPEATED = "rows of what the same snapshot has already"
_HIDDEN = "queries that the recording role may not see"
#: What select version() prints, saved without a heading.
_VERSION = re.compile(r"\s*PostgreSQL \d[\w.]* (?:\([^()]*\) )?on [^\n]*")
_KEY = re.compile(r'"(\w{1,63})"\s{0,9}:')


def _looks_like(start: str) -> bool:
    if _VERSION.match(start):
        return True
    found = [table.columns for table in tables_of(start)]
    if start.lstrip()[:1] in ("{", "[") and not any(found):  # a document that is longer than its beginning
        found = [tuple(name.lower() for name in _KEY.findall(start))]
    return any(view_among(VIEWS, columns) is not None for columns in found)


def _read(path: Path, opened: Opened, recorded: Recorded) -> None:
    text = text_of(opened)
    if version := _VERSION.match(text):
        recorded.host.update({"engine": "postgresql", **host_of("server_version", version[0], "")})
        return
    file = _File(path, recorded)
    for table in tables_of(text):
        view = view_among(VIEWS, table.columns)
        if view is not None:
            file.read(view, table)
        elif not table.columns:  # nothing of it can be read
            for _ in file.whole(None, table):
                pass
    file.finish()


class _Moment(NamedTuple):
    """What one table says of one moment."""

    view: View
    moment_ns: int | None
    values: Mapping[Key, Values]
    own_start_ns: int | None  # of the statement that read pg_stat_activity


class _File:
    """A file while it is read."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._found: list[_Moment] = []
        self._views = 0
        self._rows = RowsOfViews(path, "save the view again")
        self._whole_times = True  # all so far say how far they are from UTC

    def read(self, view: View, table: TextTable) -> None:
        """Take in the rows of a table, by the time that they tell. Raises TraceError when most are damaged."""
        self._views += 1
        column = next((name for name in _TIMES if name in table.columns), None)
        beside = next((table.beside[name] for name in _TIMES if table.beside.get(name)), None)
        gathered: dict[int | None, GatheredRows] = {}
        own_start_ns = None
        for line, row in self.whole(view, table):
            told = row.get(column) if column else beside
            moment_ns = None if told is None else self._unix_ns(line, column or "time", told)
            if moment_ns not in gathered:
                gathered[moment_ns] = GatheredRows(view, canonical)
            try:
                kept = gathered[moment_ns].add(row)
            except ValueError as error:
                self._rows.damage(line, str(error))
                continue
            self._rows.read += 1
            if view.needs == "queryid":
                self._take_query(view, kept, row.get("query"))
            if view.name == "pg_stat_activity" and _reads_activity(row):
                own_start_ns = self._unix_ns(line, "query_start", row["query_start"] or "")
        for moment_ns, known in gathered.items():
            self._recorded.lose(_REPEATED, known.repeated)
            self._found.append(_Moment(view, moment_ns, known.values, own_start_ns))
            self._recorded.host.update(host_from(known.values))
        if not gathered:
            self._found.append(_Moment(view, None, {(part.subject, ""): NOTHING for part in view.parts}, None))

    def finish(self) -> None:
        """Hand over what was found; raises TraceError when that is nothing, or when more rows are damaged than not."""
        self._rows.finish(self._recorded, views=self._views > 0)
        moments = MomentsOfViews(self._path)
        for view, moment_ns, values, own_start_ns in self._found:
            moment = moments.name(view.name, moment_ns)
            if own_start_ns is not None:
                self._recorded.guess(moment, own_start_ns, "query_start of the session that read pg_stat_activity")
            self._recorded.add(moment, moment_ns, values)

    def whole(self, view: View | None, table: TextTable) -> Iterator[tuple[int, Row]]:
        """Yield the rows that can be told, and count the others."""
        for line, row in table.rows:
            if row is None or (len(row) != len(table.columns) and view_among(VIEWS, tuple(row)) is not view):
                self._rows.damage(line, "it is cut off, or has other values than there are columns")
            else:
                yield line, row

    def _unix_ns(self, line: int, column: str, text: str) -> int:
        try:
            found = unix_ns(text)
        except ValueError as error:
            raise TraceError(f"{self._path}: line {line}: {column}: {text[:40]!r} is {error}") from None
        if self._whole_times and not has_offset(text):
            self._whole_times = False
            self._recorded.inferred.append(
                f"{self._path.name}: {column} does not say how far from UTC it is, and is assumed to be UTC"
            )
        return found

    def _take_query(self, view: View, kept: Row | None, text: str | None) -> None:
        if kept is None or text == HIDDEN:
            self._recorded.lose(_HIDDEN, 1)
        elif text:
            entity = entity_of(view.parts[0], kept)
            self._recorded.query(text, entity=entity, database=kept["dbid"], user=kept["userid"])


def _reads_activity(row: Row) -> bool:
    text = row.get("query")
    return bool(text and row.get("query_start")) and row.get("state") == "active" and "pg_stat_activity" in (text or "")


def host_from(values: Mapping[Key, Mapping[str, Decimal | str]]) -> dict[str, Any]:
    """Return what values tell of the host, for the manifest."""
    found: dict[str, Any] = {"engine": "postgresql"}
    for (subject, entity), said in values.items():
        if subject == "setting":
            found |= host_of(entity, str(said.get("setting", "")), str(said.get("unit", "")))
        elif subject == "server" and "version" in said:
            found |= host_of("server_version", str(said["version"]), "")
    return found


def complete_names(recorded: Recorded) -> None:
    """Give the schema that other files tell to relations that a file names without; where several have the name, to
    none.
    """
    schemas: dict[str, set[str]] = {}
    for piece in recorded.pieces:
        for subject, entity in piece.values:
            schema, dot, name = entity.partition(".")
            if subject == "relation" and dot:
                schemas.setdefault(name, set()).add(schema)
    full = {name: f"{min(found)}.{name}" for name, found in schemas.items() if len(found) == 1}
    changed: set[str] = set()
    for place, piece in enumerate(recorded.pieces):
        recorded.pieces[place] = Piece(piece.moment, piece.unix_ns, _renamed(piece.values, full, changed))
    if changed:
        recorded.inferred.append(
            f"one file of counters leaves out the schema of {len(changed):,} tables and indexes (such as"
            f" {full[min(changed)]}); it is from another file"
        )


def _renamed(
    values: Mapping[Key, Mapping[str, Decimal | str]], full: Mapping[str, str], changed: set[str]
) -> Mapping[Key, Mapping[str, Decimal | str]]:
    rows = []
    for (subject, entity), said in values.items():
        name, slash, rest = entity.partition("/") if subject == "pool" else (entity, "", "")
        if subject in ("relation", "pool") and name in full:
            changed.add(name)
            entity = f"{full[name]}{slash}{rest}"
        rows.append(((subject, entity), said))
    return spread(rows)


#: What the registry of sources holds of it.
POSTGRESQL = Source(_read, _looks_like, complete_names)
