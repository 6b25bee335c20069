"""Snapshots of a server: what its views say at one moment, in the words of a bundle."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.postgres.derived import KEPT
from tiersim.traces.readers.postgres.snapshots import host_from
from tiersim.traces.readers.postgres.views import BY_NAME, values_of
from tiersim.traces.readers.recorded import Key, Recorded, spread
from tiersim.traces.readers.views import entity_of
from tiersim.traces.recorders.local_host import host_values
from tiersim.traces.recorders.postgres.connection import PostgresConnection, Row
from tiersim.traces.recorders.postgres.views import (
    LARGEST,
    MOMENT,
    MOST_PAGES,
    MOST_RELATIONS,
    MOST_STATEMENTS,
    SAME_STATEMENTS,
    SESSIONS,
    STATEMENTS,
    TEXTS,
    VIEWS,
    ViewQuery,
)
from tiersim.traces.recorders.processes import Processes, parent_of
from tiersim.traces.recorders.rounds import NotShownError
from tiersim.traces.recorders.steady_clock import SteadyClock, steady_ns
from tiersim.traces.statistics import Snapshot, Values
from tiersim.units import NS_PER_S

_EXTENSIONS = (
    "SELECT e.extname, quote_ident(n.nspname) || '.' AS schema FROM pg_extension e JOIN pg_namespace n "
    "ON n.oid = e.extnamespace"
)
#: Of so many queries the texts are kept.
_MOST_TEXTS = 20_000


class PostgresSnapshots:
    """Takes snapshots of a server; ``recorded`` has its queries, and what was lost and why.

    A view that the first snapshot cannot read is not asked again. When one fails later, that snapshot says nothing of
    its subject: counters that come and go would be taken for new ones that count from 0.
    """

    def __init__(self, server: PostgresConnection, *, with_pool: bool) -> None:
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
        self._clock = SteadyClock()
        parent = parent_of(server.process) if self.local else None
        self._processes = None if parent is None else Processes(parent, without=server.process)
        self._first = True
        self._subjects: dict[str, set[str]] = {}  # of each view
        self._relations: dict[str, None] = {}  # their oids
        self._choice = MOST_PAGES  # which statements
        self._entities: set[str] = set()  # of queries whose texts were asked for

    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""
        ends = self._first or at_end
        asked_ns = steady_ns(local=self.local)
        moment = self._server.rows(MOMENT.sql)
        time_ns = self._time_ns(moment[0], asked_ns)
        found: list[tuple[Key, Values]] = list(_said(MOMENT, moment).items())
        self._choose_relations()
        lost: set[str] = set()
        for view in [view for view in self._views if ends or not view.at_ends]:
            try:
                said = self._values_of(view)
            except NotShownError as refusal:
                lost |= self._subjects.get(view.name, set())
                self._lose(view, refusal.why)
                continue
            self._subjects.setdefault(view.name, set()).update(subject for subject, _ in said)
            found += said.items()
        if self.local:
            found += host_values().items()
        if self._processes is not None:
            self._processes.look()
            found += self._processes.values().items()
        values = {key: values for key, values in spread(found).items() if key[0] not in lost}
        if self._first:
            self.recorded.host |= host_from(values) | _cores(values)
        self._first = False
        return Snapshot(time_ns, values)

    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do and wait for; None when the server does not say."""
        if self._processes is not None:
            self._processes.look()  # of those that end soon, too
        asked_ns = steady_ns(local=self.local)
        rows = self._rows_or_loss(SESSIONS.sql, "samples of sessions")
        return Snapshot(self._time_ns(rows[0], asked_ns), _said(SESSIONS, rows)) if rows else None

    def _time_ns(self, row: Row, asked_ns: int) -> int:
        """Return when the server said *row*, and note it where its clock was set."""
        said = len(self._clock.steps)
        time_ns = self._clock.read(int(Decimal(row["unix_s"] or 0) * NS_PER_S), asked_ns, steady_ns(local=self.local))
        self.recorded.warnings += self._clock.steps[said:]
        return time_ns

    def _values_of(self, view: ViewQuery) -> dict[Key, dict[str, Decimal | str]]:
        rows = self._rows(view)
        values = _said(view, rows)
        if view is STATEMENTS:
            self._see_statements(rows)
        return values or {(part.subject, ""): dict(NOTHING) for part in BY_NAME[view.name].parts}

    def _rows(self, view: ViewQuery) -> list[Row]:
        return self._server.rows(
            view.sql.format(
                schema=self.extensions.get(view.extension or "", ""),
                relations=_array(self._relations, "oid"),
                settings="'{" + ",".join(sorted(KEPT)) + "}'::text[]",
                choice=self._choice,
            )
        )

    def _choose_relations(self) -> None:
        """Choose the largest relations once; of those made later as many as there is place for."""
        for row in self._rows_or_loss(LARGEST, "looks for new relations"):
            if len(self._relations) < MOST_RELATIONS:
                self._relations[str(row["oid"])] = None

    def _rows_or_loss(self, sql: str, what: str) -> list[Row]:
        try:
            return self._server.rows(sql)
        except NotShownError as refusal:
            self.recorded.lose(f"{what}: {refusal.why}", 1)
            return []

    def _see_statements(self, rows: Sequence[Row]) -> None:
        """Ask for the texts of queries that were not there before."""
        if len(rows) >= MOST_STATEMENTS and self._choice == MOST_PAGES:
            # always the same ones: a statement that comes and goes would be taken for a new one
            keys = ("/".join(str(int(row[part] or 0)) for part in ("dbid", "userid", "queryid")) for row in rows)
            self._choice = SAME_STATEMENTS.format(keys=",".join(keys))
            self.recorded.warnings.append(
                f"there are more than {MOST_STATEMENTS:,} statements: those are recorded that had asked for most pages"
                " when the recording began"
            )
        new = {_entity(row): str(row["queryid"]) for row in rows if _entity(row) not in self._entities}
        if not new or len(self._entities) >= _MOST_TEXTS:
            return
        self._entities |= new.keys()
        sql = TEXTS.format(schema=self.extensions[str(STATEMENTS.extension)], queries=_array(new.values(), "bigint"))
        for row in self._rows_or_loss(sql, "looks for texts of queries"):
            if row["query"] is not None:
                self.recorded.query(row["query"], entity=_entity(row), database=row["database"], user=row["role"])

    def _lose(self, view: ViewQuery, why: str) -> None:
        if self._first:
            self._views.remove(view)
            self.recorded.warnings.append(f"{view.name} is not recorded: {why}")
        else:
            self.recorded.lose(f"snapshots of {view.name}: {why}", 1)


def _cores(values: Mapping[Key, Values]) -> dict[str, int]:
    """Return how many processors were counted, if they were."""
    cores = values.get(("processor", "host"), {}).get("cores")
    return {} if cores is None else {"cores": int(cores)}


def _said(view: ViewQuery, rows: Sequence[Row]) -> dict[Key, dict[str, Decimal | str]]:
    try:
        return values_of(view.name, rows)
    except ValueError as error:
        raise NotShownError(str(error)) from None


def _entity(row: Row) -> str:
    view = BY_NAME[STATEMENTS.name]
    return entity_of(view.parts[0], view.derive(row))


def _array(numbers: Iterable[str], kind: str) -> str:
    return "'{" + ",".join(str(int(number)) for number in numbers) + "}'::" + kind + "[]"
