"""Snapshots of a server: what its tables say at one moment, in the words of a bundle."""

from decimal import Decimal

from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.mysql.snapshots import started_at, take_query, values_of
from tiersim.traces.readers.mysql.views import QUERIES as DIGESTS
from tiersim.traces.readers.mysql.views import view_of
from tiersim.traces.readers.recorded import Key, Recorded, spread
from tiersim.traces.readers.views import View
from tiersim.traces.recorders.local_host import host_values
from tiersim.traces.recorders.mysql.connection import MysqlConnection, Row
from tiersim.traces.recorders.mysql.views import MOMENT, SESSIONS, VARIABLES, TableQuery, queries_of
from tiersim.traces.recorders.rounds import NotShownError
from tiersim.traces.recorders.steady_clock import SteadyClock, steady_ns
from tiersim.traces.statistics import Snapshot, Values
from tiersim.units import NS_PER_S


class MysqlSnapshots:
    """Takes snapshots of a server; ``recorded`` has its queries, and what was lost and why.

    A table that the first snapshot cannot read is not asked again. When one fails later, that snapshot says nothing of
    its subjects: counters that come and go would be taken for new ones that count from 0.
    """

    def __init__(self, server: MysqlConnection) -> None:
        """Prepare snapshots."""
        self.recorded = Recorded()
        self.local = server.local_process() is not None
        self._server = server
        variables = {row["variable_name"]: row["value"] for row in server.rows(VARIABLES.sql)}
        self.schema = variables.get("performance_schema") == "ON"
        self.userstat = variables.get("userstat") == "ON"
        self._queries = queries_of(server.engine, server.version, schema=self.schema)
        self._clock = SteadyClock()
        self._starts_ns: list[int] = []
        self._first = True
        self._subjects: dict[str, set[str]] = {}  # of each table

    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""
        ends = self._first or at_end
        asked_ns = steady_ns(local=self.local)
        moment = self._server.rows(MOMENT.sql)
        time_ns = self._time_ns(moment[0], asked_ns)
        found: list[tuple[Key, Values]] = []
        lost: set[str] = set()
        for query in [query for query in self._queries if ends or not query.at_ends]:
            try:
                said = self._values_of(query)
            except NotShownError as refusal:
                lost |= self._subjects.get(query.name, set())
                self._lose(query, refusal.why)
                continue
            self._subjects.setdefault(query.name, set()).update(subject for subject, _ in said)
            found += said.items()
        if self.local:
            found += host_values().items()
        values = {key: values for key, values in spread(found).items() if key[0] not in lost}
        server = values.get(("server", "server"), {})
        if isinstance(uptime := server.get("uptime_s"), Decimal):
            server["started_at"] = started_at(self._starts_ns, _unix_ns(moment[0]), uptime)  # by its clock, as set
        self._first = False
        return Snapshot(time_ns, values)

    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do; None when the server does not say."""
        asked_ns = steady_ns(local=self.local)
        try:
            rows = self._server.rows(SESSIONS.sql)
        except NotShownError as refusal:
            self.recorded.lose(f"samples of sessions: {refusal.why}", 1)
            return None
        if not rows:
            return None
        return Snapshot(self._time_ns(rows[0], asked_ns), values_of(_view(rows), rows)[0])

    def _time_ns(self, row: Row, asked_ns: int) -> int:
        """Return when the server said *row*, and note it where its clock was set."""
        said = len(self._clock.steps)
        time_ns = self._clock.read(_unix_ns(row), asked_ns, steady_ns(local=self.local))
        self.recorded.warnings += self._clock.steps[said:]
        return time_ns

    def _values_of(self, query: TableQuery) -> dict[Key, dict[str, Decimal | str]]:
        rows = self._server.rows(query.sql)
        if not rows:
            return {}
        view = _view(rows)
        try:
            values, host = values_of(view, rows)
        except ValueError as error:
            raise NotShownError(str(error)) from None
        self.recorded.host |= host
        if view.name == DIGESTS:
            for row in rows:
                take_query(self.recorded, view, view.derive(row))
        return values or {(part.subject, ""): dict(NOTHING) for part in view.parts}

    def _lose(self, query: TableQuery, why: str) -> None:
        if self._first:
            self._queries.remove(query)
            self.recorded.warnings.append(f"{query.name} is not recorded: {why}")
        else:
            self.recorded.lose(f"snapshots of {query.name}: {why}", 1)


def _unix_ns(row: Row) -> int:
    """Return when the server said *row*, by its own clock."""
    return int(Decimal(row["unix_s"] or 0) * NS_PER_S)


def _view(rows: list[Row]) -> View:
    view = view_of(tuple(rows[0]))
    assert view is not None, tuple(rows[0])
    return view
