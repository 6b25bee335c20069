"""Snapshots of a server: what its tables say at one moment, in the words of a bundle."""

from decimal import Decimal

from tiersim.traces.counters import NOTHING
from tiersim.traces.readers.mysql.snapshots import started_at, take_query, values_of
from tiersim.traces.readers.mysql.views import QUERIES as DIGESTS
from tiersim.traces.readers.mysql.views import view_of
from tiersim.traces.readers.recorded import spread
from tiersim.traces.readers.views import View
from tiersim.traces.recorders.mysql.connection import MysqlConnection
from tiersim.traces.recorders.mysql.views import MOMENT, SESSIONS, VARIABLES, TableQuery, queries_of
from tiersim.traces.recorders.rounds import NotShownError, Row, Said, ServerSnapshots, unix_ns
from tiersim.traces.statistics import Snapshot


class MysqlSnapshots(ServerSnapshots[TableQuery]):
    """Takes snapshots of a MySQL or MariaDB server."""

    def __init__(self, server: MysqlConnection) -> None:
        """Prepare snapshots."""
        variables = {row["variable_name"]: row["value"] for row in server.rows(VARIABLES.sql)}
        self.schema = variables.get("performance_schema") == "ON"
        self.userstat = variables.get("userstat") == "ON"
        self._starts_ns: list[int] = []
        views = queries_of(server.engine, server.version, schema=self.schema)
        super().__init__(server.rows, views, local=server.local_process() is not None)

    def take(self, *, at_end: bool = False) -> Snapshot:
        """Take a snapshot; raises RecordingError when the server is gone."""
        time_ns, moment = self._moment(MOMENT.sql)
        found, lost = self._counted(at_end=at_end)
        values = {key: values for key, values in spread(found).items() if key[0] not in lost}
        server = values.get(("server", "server"), {})
        if isinstance(uptime := server.get("uptime_s"), Decimal):
            server["started_at"] = started_at(self._starts_ns, unix_ns(moment[0]), uptime)  # by its clock, as set
        self._first = False
        return Snapshot(time_ns, values)

    def sample(self) -> Snapshot | None:
        """Count the sessions by what they do; None when the server does not say."""
        return self._sampled(SESSIONS.sql, lambda rows: values_of(_view(rows), rows)[0])

    def _values_of(self, view: TableQuery) -> Said:
        rows = self._ask(view.sql)
        if not rows:
            return {}
        known = _view(rows)
        try:
            values, host = values_of(known, rows)
        except ValueError as error:
            raise NotShownError(str(error)) from None
        self.recorded.host |= host
        if known.name == DIGESTS:
            for row in rows:
                take_query(self.recorded, known, known.derive(row))
        return values or {(part.subject, ""): dict(NOTHING) for part in known.parts}


def _view(rows: list[Row]) -> View:
    view = view_of(tuple(rows[0]))
    assert view is not None, tuple(rows[0])
    return view
