"""Snapshots of a MySQL or MariaDB server's tables of counters, one or more a file, and rows out of the texts that they
are saved as: tab-separated (``mysql -B``), in a frame (``mysql -t``), one value a line (``\\G``), CSV and JSON.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.mysql import derived
from tiersim.traces.readers.mysql.query_text import without_literals
from tiersim.traces.readers.mysql.settings import KEPT, engine_of, host_of, refuse_aurora
from tiersim.traces.readers.mysql.views import (
    COUNTED,
    METRICS,
    NAMES,
    QUERIES,
    STATUS,
    VARIABLES,
    is_known,
    view_of,
)
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.postgres.snapshots import complete_names
from tiersim.traces.readers.recorded import Key, Piece, Recorded, Source, spread, text_of
from tiersim.traces.readers.text_tables import tables_of as text_tables_of
from tiersim.traces.readers.timestamps import rank, unix_ns
from tiersim.traces.readers.views import (
    GatheredRows,
    MomentsOfViews,
    NumberedRow,
    Row,
    RowsOfViews,
    TextTable,
    View,
    entity_of,
)
from tiersim.traces.statistics import Values
from tiersim.units import NS_PER_S

_RECORD = re.compile(r"\*{3,} \d{1,9}\. row \*{3,}")
_FIELD = re.compile(r" *(\w{1,64}): ?(.*)", re.ASCII)
_NAME = re.compile(r"[^\W\d]\w{0,63}")
_ESCAPE = re.compile(r"\\([0ntb\\])")
_ESCAPED = {"0": "\0", "n": "\n", "t": "\t", "b": "\b", "\\": "\\"}

_NAMES, _ENOUGH = ("variable_name", "value"), 10

Known = Callable[[tuple[str, ...]], bool]


def tables_of(text: str, is_known: Known) -> Iterator[TextTable]:
    """Yield the tables of a text in turn; of those apart by tabs alone the ones whose columns are known."""
    if _RECORD.search(text, 0, 1 << 12):
        yield from _vertical(text.split("\n"))
    elif text.lstrip()[:1] not in ("{", "[") and "\t" in text[: 1 << 14]:
        yield from _by_tabs(text.split("\n"), is_known)
    else:
        for table in text_tables_of(text):
            yield TextTable(table.columns, _without_nulls(table.rows), table.beside)


def _without_nulls(rows: Iterator[NumberedRow]) -> Iterator[NumberedRow]:
    for line, row in rows:
        null = None if row is None else {name: None if text == "NULL" else text for name, text in row.items()}
        yield NumberedRow(line, null)


def _by_tabs(lines: Sequence[str], is_known: Known) -> Iterator[TextTable]:
    """Yield tables that follow each other without anything between them: a heading that is known begins the next."""
    starts = []
    for number, line in enumerate(lines):
        names = tuple(line.rstrip("\r").lower().split("\t"))
        if len(names) > 1 and all(map(_NAME.fullmatch, names)) and is_known(names):
            starts.append((number, names))
    if not starts and is_known(_NAMES) and sum(map(_tells_innodb, lines)) > _ENOUGH:  # mysql -N: without a heading
        starts.append((-1, _NAMES))
    ends = [*(number for number, _ in starts), len(lines)]
    for (start, names), end in zip(starts, ends[1:], strict=True):
        yield TextTable(names, _tab_rows(lines, start + 1, end, names), {})


def _tells_innodb(line: str) -> bool:
    return line[:7].lower() == "innodb_" and line.count("\t") == 1


def _tab_rows(lines: Sequence[str], start: int, end: int, names: Sequence[str]) -> Iterator[NumberedRow]:
    for number in range(start, end):
        line = lines[number].removesuffix("\r")
        if not line:
            continue
        values = [_unescaped(value) for value in line.split("\t")]
        row = dict(zip(names, values, strict=True)) if len(values) == len(names) else None
        yield NumberedRow(number + 1, row)


def _unescaped(value: str) -> str | None:
    if value == "NULL":
        return None
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], value) if "\\" in value else value


def _vertical(lines: Sequence[str]) -> Iterator[TextTable]:
    """Yield one table for all rows that have the same columns as the first of them."""
    found: list[NumberedRow] = []
    row: Row | None = None
    last = ""
    for number, line in enumerate(lines, 1):
        if _RECORD.fullmatch(line.strip()):
            row, last = {}, ""
            found.append(NumberedRow(number, row))
        elif row is not None and (field := _FIELD.fullmatch(line.removesuffix("\r"))):
            last = field[1].lower()
            row[last] = None if field[2] == "NULL" else field[2]
        elif row is not None and last and line.strip():
            row[last] = f"{row[last] or ''}\n{line}"
    while found and found[0].row is not None:
        columns = tuple(found[0].row)
        alike = [one for one in found if one.row is not None and tuple(one.row) == columns]
        found = [one for one in found if one.row is not None and tuple(one.row) != columns]
        yield TextTable(columns, iter(alike), {})


#: Columns that tell when a row was taken; the first that is there.
_TIMES = ("unix_s", "captured_at", "collected_at", "snapshot_time", "taken")
#: The subjects of what variables say.
_OF_VARIABLES = ("setting", "server", "log")
_REPEATED = "rows of what the same snapshot has already"
#: Starts that are told more than so far apart are two: uptimes are whole seconds.
_APART_NS = 5 * NS_PER_S
#: The difference of two of them is that of two whole seconds, and of what was done in them besides.
_ROUNDED_NS = 2 * NS_PER_S
#: What stands in SHOW ENGINE INNODB STATUS; nothing else of it is kept, for it shows statements.
_LSNS = {
    "log_sequence_number": re.compile(r"^Log sequence number\s+(\d{1,19})\s*$", re.MULTILINE),
    "last_checkpoint_at": re.compile(r"^Last checkpoint at\s+(\d{1,19})\s*$", re.MULTILINE),
}
_KEY = re.compile(r'"(\w{1,63})"\s{0,9}:')
_MONITOR = "INNODB MONITOR OUTPUT"


def _looks_like(start: str) -> bool:
    if _MONITOR in start:
        return True
    columns = [table.columns for table in tables_of(start, is_known)]
    if start.lstrip()[:1] in ("{", "[") and not any(columns):  # a document that is longer than its beginning
        columns = [tuple(name.lower() for name in _KEY.findall(start))]
    return any(map(is_known, columns))


def _read(path: Path, opened: Opened, recorded: Recorded) -> None:
    text = text_of(opened)
    file = _File(path, recorded)
    if _MONITOR in text:
        file.take_monitor(text)
    else:
        for table in tables_of(text, is_known):
            view = view_of(table.columns)
            if view is not None:
                file.read(view, table)
    file.finish()


class _File:
    """A file while it is read."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._found: list[tuple[str, int | None, Mapping[Key, Values]]] = []
        self._rows = RowsOfViews(path, "save the table again")

    def read(self, view: View, table: TextTable) -> None:
        """Take in the rows of a table, by the time that they tell; raises TraceError when most are damaged."""
        column = next((name for name in _TIMES if name in table.columns), None)
        gathered: dict[int | None, GatheredRows] = {}
        named: dict[int | None, dict[str, tuple[int, str | None]]] = {}
        for line, row in table.rows:
            if row is None:
                self._rows.damage(line, "it is cut off, or has other values than there are columns")
                continue
            told = row.get(column) if column else None
            moment_ns = None if told is None else self._unix_ns(line, column or "", told)
            if view.name in (NAMES, METRICS):
                self._rows.read += 1
                name, value = name_and_value(view, row)
                if name:
                    named.setdefault(moment_ns, {})[name] = line, value
                continue
            known = gathered.setdefault(moment_ns, GatheredRows(view))
            try:
                kept = known.add(row)
            except ValueError as error:
                self._rows.damage(line, str(error))
                continue
            self._rows.read += 1
            if view.name == QUERIES and kept is not None:
                take_query(self._recorded, view, kept)
        for moment_ns, lines in named.items():
            self._take_names(view, moment_ns, lines)
        for moment_ns, known in gathered.items():
            self._recorded.lose(_REPEATED, known.repeated)
            self._keep(view.name, moment_ns, known.values)
        if not gathered and not named:
            self._keep(view.name, None, {(part.subject, ""): NOTHING for part in view.parts})

    def take_monitor(self, text: str) -> None:
        """Take the places in the log that SHOW ENGINE INNODB STATUS prints."""
        row: Row = {name: found[1] for name, pattern in _LSNS.items() if (found := pattern.search(text))}
        self._rows.read += 1
        self._keep("innodb status", None, _values(STATUS, row))

    def _take_names(self, view: View, moment_ns: int | None, lines: Mapping[str, tuple[int, str | None]]) -> None:
        row: Row = {name: value for name, (_, value) in lines.items()}
        try:
            values, host = names_of(str(self._path), view, row)
        except ValueError as error:
            name = str(error).partition(":")[0]
            line = lines[name][0] if name in lines else min(line for line, _ in lines.values())
            raise TraceError(f"{self._path}: line {line}: {error}; save the table again") from None
        self._recorded.host.update(host)
        self._keep(view.name, moment_ns, values)

    def _keep(self, name: str, moment_ns: int | None, values: Mapping[Key, Values]) -> None:
        for (subject, _), said in values.items():
            if subject == "server" and "version" in said:
                self._recorded.host.update(host_of({"version": str(said["version"])}))
        self._found.append((name, moment_ns, values))

    def finish(self) -> None:
        """Hand over what was found; raises TraceError when that is nothing, or when more rows are damaged than not."""
        self._rows.finish(self._recorded, views=bool(self._found))
        moments = MomentsOfViews(self._path)
        for name, moment_ns, values in self._found:
            self._recorded.add(moments.name(name, moment_ns), moment_ns, values)

    def _unix_ns(self, line: int, column: str, text: str) -> int:
        try:
            return unix_ns(text)
        except ValueError as error:
            raise TraceError(f"{self._path}: line {line}: {column}: {text[:40]!r} is {error}") from None


def name_and_value(view: View, row: Row) -> tuple[str, str | None]:
    """Return what a row of a table of names and values holds; no name where it does not count."""
    if view.name == METRICS:
        return ((row.get("name") or "").lower(), row.get("count")) if derived.metrics(row) else ("", None)
    return (row.get("variable_name") or "").lower(), row.get("value", row.get("variable_value"))


def names_of(place: str, view: View, row: Row) -> tuple[dict[Key, dict[str, Decimal | str]], dict[str, Any]]:
    """Return what names and values say, and what the manifest says of the host by them.

    Raises TraceError, with *place* before it, for Aurora; ValueError, a phrase, when a value is not what it must be.
    """
    if view.name == METRICS:
        return _values(COUNTED, row), {}
    refuse_aurora(place, row)
    values = _values(STATUS, row) if "uptime" in row or "innodb_pages_read" in row else {}
    if "version" not in row and "innodb_buffer_pool_size" not in row:
        if any(name.startswith(("aria_", "feature_")) for name in row):
            return values, {"engine": "mariadb"}
        return values, {}
    settings: list[tuple[Key, dict[str, Decimal | str]]] = [
        (("setting", name), {"setting": text}) for name, text in row.items() if name in KEPT and text is not None
    ]
    version = row.get("version")
    server: list[tuple[Key, dict[str, Decimal | str]]] = (
        [(("server", "server"), {"version": version})] if version else []
    )
    return spread([*values.items(), *_values(VARIABLES, row).items(), *settings, *server]), host_of(row)


def _values(view: View, row: Row) -> dict[Key, dict[str, Decimal | str]]:
    gathered = GatheredRows(view)
    gathered.add(row)
    return {key: values for key, values in gathered.values.items() if values}


def values_of(view: View, rows: Iterable[Row]) -> tuple[dict[Key, dict[str, Decimal | str]], dict[str, Any]]:
    """Return what the rows of one table at one moment say, and of the host; raises ValueError, TraceError."""
    if view.name in (NAMES, METRICS):
        named = dict(name_and_value(view, row) for row in rows)
        return names_of("the server", view, {name: value for name, value in named.items() if name})
    gathered = GatheredRows(view)
    for row in rows:
        gathered.add(row)
    return gathered.values, {}


def take_query(recorded: Recorded, view: View, row: Row) -> None:
    """Take in the text of a digest, which has no literals; row is what the view derives."""
    if text := row.get("digest_text"):
        recorded.query(without_literals(text), entity=entity_of(view.parts[0], row), database=row.get("schema_name"))


def started_at(starts_ns: list[int], time_ns: int, uptime_s: Decimal) -> str:
    """Return when a server was started; uptimes are whole seconds, so that starts that are near each other are one.

    *starts_ns* holds the starts that were told before, and takes up a new one.
    """
    start_ns = time_ns - int(uptime_s) * NS_PER_S
    near = next((start for start in starts_ns if abs(start - start_ns) <= _APART_NS), None)
    if near is None:
        starts_ns.append(near := start_ns)
    return datetime.fromtimestamp(near // NS_PER_S, UTC).isoformat(" ")


def _finish(recorded: Recorded) -> None:
    """Name the engine, put schemas before the names of tables, and tell starts of the server and times from uptimes."""
    version = recorded.host.get("version")
    recorded.host.setdefault("engine", "mysql" if version is None else engine_of(str(version)))
    complete_names(recorded)
    times = {piece.moment: piece.unix_ns for piece in recorded.pieces if piece.unix_ns is not None}
    starts_ns: list[int] = []
    uptimes: dict[str, Decimal] = {}
    for place, piece in enumerate(recorded.pieces):
        uptime = piece.values.get(("server", "server"), {}).get("uptime_s")
        if not isinstance(uptime, Decimal):
            continue
        uptimes[piece.moment] = uptime
        time_ns = piece.unix_ns or times.get(piece.moment)
        if time_ns is not None and 0 <= uptime * NS_PER_S <= time_ns:
            started: Values = {"started_at": started_at(starts_ns, time_ns, uptime)}
            told = {key: {**said, **started} if key[0] == "server" else said for key, said in piece.values.items()}
            recorded.pieces[place] = Piece(piece.moment, piece.unix_ns, told)
    if not times and len(uptimes) == 2:
        _space(recorded, uptimes)


def _space(recorded: Recorded, uptimes: Mapping[str, Decimal]) -> None:
    """Tell the time between two moments by the server's uptime, unless it was started in between: by how long a load
    generator ran, which is more precise, where that is as long. Variables that were saved once are of the later one.
    """
    first, last = sorted(uptimes, key=rank)
    passed_ns = int((uptimes[last] - uptimes[first]) * NS_PER_S)
    if passed_ns > 0 and abs(passed_ns - (recorded.span_ns or 0)) > _ROUNDED_NS:
        recorded.span_ns = passed_ns
    for place, piece in enumerate(recorded.pieces):
        if piece.moment not in uptimes and all(subject in _OF_VARIABLES for subject, _ in piece.values):
            recorded.pieces[place] = Piece(last, piece.unix_ns, piece.values)


#: What the registry of sources holds of it.
MYSQL = Source(_read, _looks_like, _finish)
