"""Snapshots of a server: what its views say at one moment, in the words of a bundle."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from tiersim.traces.counters import SUBJECTS
from tiersim.traces.readers.postgres.views import SETTINGS, values_of
from tiersim.traces.readers.recorded import Key, Recorded, spread
from tiersim.traces.recorders.local_host import host_values
from tiersim.traces.recorders.postgres.connection import NotShownError, Row, Server
from tiersim.traces.recorders.postgres.views import (
    LARGEST,
    MOMENT,
    MOST_RELATIONS,
    MOST_STATEMENTS,
    SESSIONS,
    STATEMENTS,
    TEXTS,
    VIEWS,
    View,
)
from tiersim.traces.statistics import Snapshot
from tiersim.units import NS_PER_S

_EXTENSIONS = (
    "SELECT e.extname, quote_ident(n.nspname) || '.' AS schema FROM pg_extension e JOIN pg_namespace n "
    "ON n.oid = e.extnamespace"
)
#: Of so many queries the texts are kept.
_MOST_TEXTS = 20_000

Values = dict[Key, dict[str, Decimal | str]]


class Snapshots:
    """Takes snapshots of a server; ``recorded`` has its queries, and what was lost and why.

    A view that the first snapshot cannot read is not asked again. When one fails later, that snapshot says nothing of its
    subject: counters that come and go would be taken for new ones that count from 0.
    """

    def __init__(self, server: Server, *, with_pool: bool) -> None:
        """Prepare snapshots; *with_pool* is for the pages of each relation in the buffer pool."""
        self.recorded = Recorded()
        self.local = server.is_local()
        self._server = server
        self.extensions = {str(row["extname"]): str(row["schema"]) for row in server.rows(_EXTENSIONS)}
        self._views = [
            view
            for view in VIEWS
            if server.version >= view.since
            and (view.extension is None or view.extension in self.extensions)
            and (with_pool or not view.for_pool)
        ]
        self._first = True
        self._subjects: dict[str, set[str]] = {}  # of each view
        self._relations: dict[str, None] = {}  # their oids
        self._statements: set[str] = set()  # identifiers, where there are too many to ask for all
        self._entities: set[str] = set()  # of queries whose texts were asked for

    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""
        ends = self._first or at_end
        moment = self._server.rows(MOMENT.sql)
        found: list[tuple[Key, Mapping[str, Decimal | str]]] = list(values_of(MOMENT.name, moment).items())
        self._choose_relations()
        lost: set[str] = set()
        for view in [view for view in self._views if ends or not view.at_ends]:
            try:
                values = self._values_of(view)
            except NotShownError as why:
                lost |= self._subjects.get(view.name, set())
                self._lose(view, why)
                continue
            self._subjects.setdefault(view.name, set()).update(subject for subject, _ in values)
            found += values.items()
        if self.local:
            found += host_values().items()
        self._first = False
        return Snapshot(_unix_ns(moment[0]), {key: values for key, values in spread(found).items() if key[0] not in lost})

    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do and wait for; None when the server does not say."""
        try:
            rows = self._server.rows(SESSIONS.sql)
        except NotShownError as why:
            self.recorded.lose(f"samples of sessions: {why}", 1)
            return None
        return Snapshot(_unix_ns(rows[0]), _sessions(rows)) if rows else None

    def _values_of(self, view: View) -> Values:
        rows = self._rows(view)
        values = values_of(view.name, rows)
        if view is STATEMENTS:
            self._see_statements(rows)
        return values

    def _rows(self, view: View) -> list[Row]:
        chosen = f" AND queryid = ANY ({_array(self._statements, 'bigint')})" if self._statements else ""
        return self._server.rows(
            view.sql.format(
                schema=self.extensions.get(view.extension or "", ""),
                relations=_array(self._relations, "oid"),
                settings="'{" + ",".join(SETTINGS) + "}'::text[]",
                queries=chosen,
            )
        )

    def _choose_relations(self) -> None:
        """Choose the largest relations once; of those made later as many as there is place for."""
        for row in self._server.rows(LARGEST):
            if len(self._relations) < MOST_RELATIONS:
                self._relations[str(row["oid"])] = None

    def _see_statements(self, rows: Sequence[Row]) -> None:
        """Ask for the texts of queries that were not there before."""
        if len(rows) >= MOST_STATEMENTS and not self._statements:
            self._statements = {str(row["queryid"]) for row in rows}
            self.recorded.warnings.append(
                f"of more than {MOST_STATEMENTS:,} statements only those that asked for most pages are recorded"
            )
        new = {str(row["queryid"]) for row in rows if _entity(row) not in self._entities}
        if not new or len(self._entities) >= _MOST_TEXTS:
            return
        sql = TEXTS.format(schema=self.extensions[str(STATEMENTS.extension)], queries=_array(new, "bigint"))
        for row in self._server.rows(sql):
            self._entities.add(_entity(row))
            if row["query"] is not None:
                self.recorded.query(row["query"], entity=_entity(row), database=row["database"], user=row["role"])

    def _lose(self, view: View, why: NotShownError) -> None:
        if self._first:
            self._views.remove(view)
            self.recorded.warnings.append(f"{view.name} is not recorded: {why}")
        else:
            self.recorded.lose(f"snapshots of {view.name}: {why}", 1)


def _entity(row: Row) -> str:
    return f"{row['dbid']}/{row['userid']}/{row.get('toplevel') or 't'}/{row['queryid']}"


def _array(numbers: Iterator[str] | set[str] | dict[str, None], kind: str) -> str:
    return "'{" + ",".join(str(int(number)) for number in numbers) + "}'::" + kind + "[]"


def _unix_ns(row: Row) -> int:
    return int(Decimal(row["unix_s"] or 0) * NS_PER_S)


def _sessions(rows: Sequence[Row]) -> Values:
    """Clients are told by their state, background processes, which have none, by what they are."""
    values: Values = {}
    for row in rows:
        who = row["state"] or row["backend_type"] or ""
        counted = values.setdefault(("session", f"{who}/{row['wait_event_type'] or ''}/{row['wait_event'] or ''}"), {})
        for name in SUBJECTS["session"].gauges:
            before = counted.get(name, Decimal(0))
            assert isinstance(before, Decimal)
            counted[name] = before + Decimal(row[name] or 0)
    return values
