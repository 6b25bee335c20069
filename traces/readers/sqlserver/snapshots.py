"""Snapshots of SQL Server's dynamic management views and catalogue, one or more a file, as texts that results are saved
as.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Key, Piece, Recorded, Source, lines_of
from tiersim.traces.readers.sqlserver import performance_counters
from tiersim.traces.readers.sqlserver.derived import STORED
from tiersim.traces.readers.sqlserver.events import PAGE_BYTES
from tiersim.traces.readers.sqlserver.pool_size import tell_pool
from tiersim.traces.readers.sqlserver.settings import host_of
from tiersim.traces.readers.sqlserver.text_rows import tables_of
from tiersim.traces.readers.sqlserver.views import COUNTERS, PLAN_CACHE, QUERY_STORE, SESSIONS, UNCHECKED, view_of
from tiersim.traces.readers.timestamps import Clock
from tiersim.traces.readers.views import (
    GatheredRows,
    MomentsOfViews,
    Row,
    RowsOfViews,
    TextTable,
    View,
    entity_of,
    number,
)
from tiersim.traces.statistics import Values

#: Columns that tell when a row was taken; the first that is there.
_TIMES = (
    "captured_at", "capture_time", "capture_date", "collection_time", "collected_at", "sample_time", "sampled_at",
    "snapshot_time", "recorded_at", "utc_time", "current_time", "getdate", "getutcdate", "now", "ts", "timestamp",
)  # fmt: skip
_REPEATED = "rows of what the same snapshot has already"
#: So many queries of all intervals of Query Store become a snapshot an interval; of more, the first and the last are
#: kept.
_MOST_STORED = 1 << 16
_VERSION = re.compile(r"(\d{1,3})\.\d")


def _looks_like(start: str) -> bool:
    return next(tables_of(iter(start.split("\n")), _is_known), None) is not None


def _is_known(columns: tuple[str, ...]) -> bool:
    return view_of(columns) is not None


def _read(path: Path, opened: Opened, recorded: Recorded) -> None:
    file = _File(path, recorded)
    for table in tables_of(lines_of(opened), _is_known):
        view = view_of(table.columns)
        assert view is not None
        file.read(view, table)
    if opened.damage:
        recorded.warnings.append(f"{path.name}: {opened.damage}; what stands before is read")
    file.finish()


def _finish(recorded: Recorded) -> None:
    _choose_store(recorded)
    tell_pool(recorded)


#: What the registry of sources holds of it.
SQLSERVER = Source(_read, _looks_like, _finish)


class _File:
    """A file while it is read."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._found: list[tuple[View, int | None, Mapping[Key, Values]]] = []
        self._rows = RowsOfViews(path, _AGAIN)
        self._clock = Clock()
        recorded.host["engine"] = "sqlserver"
        recorded.host["page_bytes"] = PAGE_BYTES

    def read(self, view: View, table: TextTable) -> None:
        """Take in the rows of a table, by the time that they tell. Raises TraceError when most are damaged."""
        if view.name == QUERY_STORE and "end_time" in table.columns:
            self._read_intervals(view, table)
            return
        column = next((name for name in _TIMES if name in table.columns), None)
        gathered: dict[int | None, GatheredRows] = {}
        counters: dict[int | None, dict[Key, dict[str, Decimal | str]]] = {}
        for line, row in self._whole(table):
            try:
                moment_ns = self._unix_ns(column, row)
                if view.name == COUNTERS:
                    _add_counter(row, counters.setdefault(moment_ns, {}))
                else:
                    self._take(view, row, gathered.setdefault(moment_ns, GatheredRows(view)))
            except ValueError as error:
                self._rows.damage(line, str(error))
                continue
            self._rows.read += 1
        for moment_ns, known in gathered.items():
            self._recorded.lose(_REPEATED, known.repeated)
            self._found.append((view, moment_ns, known.values))
        self._found += [(view, moment_ns, values) for moment_ns, values in counters.items()]
        if not gathered and not counters:
            self._found.append((view, None, {(part.subject, ""): NOTHING for part in view.parts}))
        self._say_unchecked(view)

    def finish(self) -> None:
        """Hand over what was found; raises TraceError when that is nothing, or when more rows are damaged than not."""
        self._rows.finish(self._recorded, views=bool(self._found))
        moments = MomentsOfViews(self._path)
        for view, moment_ns, values in self._found:
            moment = moments.name(view.name, moment_ns)
            self._recorded.add(moment, moment_ns, values)
        self._recorded.inferred += self._clock.said(self._path.name)

    def _take(self, view: View, row: Row, gathered: GatheredRows) -> None:
        kept = gathered.add(row)
        if kept is None:
            return
        if view.name in (PLAN_CACHE, QUERY_STORE) and kept["text"]:
            entity = entity_of(view.parts[0], kept)
            self._recorded.query(kept["text"], entity=entity, database=kept["database"])
        elif view.name == "configurations":
            self._recorded.host.update(host_of(kept["name"] or "", kept["setting"] or ""))
        elif view.name == "dm_os_sys_info":
            self._take_server(kept)
        elif view.name == SESSIONS:
            for what in ("event", "buffer"):
                count = number(kept.get(f"dropped_{what}_count") or "0")
                self._recorded.lose(f"{what}s that a session of Extended Events dropped", int(count or 0))

    def _take_server(self, row: Row) -> None:
        host = self._recorded.host
        version = _VERSION.match(row.get("product_version") or "")
        if version:
            host["version"] = int(version[1])
        cores = row.get("scheduler_count") or row.get("cpu_count")
        if cores and cores.isdigit() and 0 < int(cores) < 1 << 16:
            host["cores"] = int(cores)

    def _read_intervals(self, view: View, table: TextTable) -> None:
        """Take in Query Store's rows of intervals as sums that grow from interval to interval."""
        found: dict[int, GatheredRows] = {}
        starts = []
        for line, row in self._whole(table):
            try:
                end_ns = self._unix_ns("end_time", row)
                start_ns = self._unix_ns("start_time", row) if row.get("start_time") else end_ns
                if end_ns is None or start_ns is None:
                    raise ValueError("end_time: is not told")
                self._take(view, row, found.setdefault(end_ns, GatheredRows(view)))
            except ValueError as error:
                self._rows.damage(line, str(error))
                continue
            self._rows.read += 1
            starts.append(start_ns)
        self._found.append((view, min(starts, default=None), {("query", ""): NOTHING}))
        sums: dict[Key, dict[str, Decimal | str]] = {}
        for place, end_ns in enumerate(sorted(found), 1):
            _add_interval(sums, found[end_ns].values)
            if place == len(found) or len(sums) * len(found) <= _MOST_STORED:
                self._found.append((view, end_ns, {key: dict(values) for key, values in sums.items()}))
        self._say_unchecked(view)

    def _whole(self, table: TextTable) -> Iterator[tuple[int, Row]]:
        """Yield the rows that can be told, and count the others."""
        for line, row in table.rows:
            if row is None:
                self._rows.damage(line, "it is cut off, or has other values than there are columns")
            else:
                yield line, row

    def _unix_ns(self, column: str | None, row: Row) -> int | None:
        """Return the time that a row tells; raises ValueError, a phrase, when it is none."""
        text = row.get(column) if column else None
        if text is None:
            return None
        found = self._clock.unix_ns(text)
        if found is None:
            raise ValueError(f"{column}: {text[:40]!r} is no time, such as 2026-11-22 08:30:00 +01:00")
        return found

    def _say_unchecked(self, view: View) -> None:
        said = performance_counters.UNCHECKED if view.name == COUNTERS else UNCHECKED.get(view.name)
        if said is not None:
            self._recorded.inferred.append(f"{view.name}: {said}")


_AGAIN = (
    "save the view again, in SSMS with 'Quote strings containing list separators when saving .csv results' turned on"
)


def _add_counter(row: Row, values: dict[Key, dict[str, Decimal | str]]) -> None:
    """Take in a row of dm_os_performance_counters, whose counters "/sec" are sums. Raises ValueError, a phrase."""
    found = performance_counters.counted(
        row.get("object_name") or "", row.get("counter_name") or "", row.get("instance_name") or ""
    )
    text = row.get("cntr_value")
    if found is None or text is None:
        return
    try:
        value = number(text)
    except ValueError as error:
        raise ValueError(f"cntr_value: {error}") from None
    if value is not None:
        values.setdefault((found.subject, found.entity), {})[found.word] = value * found.factor


def _add_interval(sums: dict[Key, dict[str, Decimal | str]], more: Mapping[Key, Mapping[str, Decimal | str]]) -> None:
    for key, values in more.items():
        known = sums.setdefault(key, {})
        for word, value in values.items():
            before = known.get(word)
            if isinstance(before, Decimal) and isinstance(value, Decimal):
                least, most = min(before, value), max(before, value)
                known[word] = least if "_min_" in word else most if "_max_" in word else before + value
            else:
                known[word] = value


def _choose_store(recorded: Recorded) -> None:
    """Leave out Query Store's queries where the plan cache's are there: each execution is counted in both."""
    entities = [
        entity for piece in recorded.pieces for subject, entity in piece.values if subject == "query" and entity
    ]
    if not any(map(_is_stored, entities)) or all(map(_is_stored, entities)):
        return
    for place, piece in enumerate(recorded.pieces):
        kept = {
            key: values
            for key, values in piece.values.items()
            if key[0] != "query" or (key[1] and not _is_stored(key[1]))
        }
        recorded.pieces[place] = Piece(piece.moment, piece.unix_ns, kept)
    recorded.queries = {key: values for key, values in recorded.queries.items() if not _is_stored(key[1] or "")}
    recorded.warnings.append(
        "queries are counted by the plan cache and by Query Store, each execution in both: those of Query Store are"
        " left out"
    )


def _is_stored(entity: str) -> bool:
    return f"/{STORED}" in entity
