"""A connection to a PostgreSQL server that can change nothing there, and whose errors give no secret away.

libpq's messages may hold pieces of the connection string, and the server's may hold names and values. None is passed
on: errors are told apart, and each has a sentence of its own.
"""

import re
from pathlib import Path
from typing import Any

from tiersim.errors import RecordingError
from tiersim.traces.recorders.rounds import NotShownError, Row

#: Of one query; what takes longer is left out.
STATEMENT_TIMEOUT_S, LOCK_TIMEOUT_S, CONNECT_TIMEOUT_S = 10, 1, 10
OLDEST_VERSION = 100_000
#: Said when psycopg is not installed.
NOT_INSTALLED = (
    "recording PostgreSQL needs the package psycopg, which is not installed; pip install 'psycopg[binary]', or record"
    " by hand as --dry-run says"
)

#: A server that stops answering is noticed within half a minute.
_DEFAULTS = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
_SESSION = (
    ("default_transaction_read_only", "on"),
    ("statement_timeout", f"{STATEMENT_TIMEOUT_S}s"),
    ("lock_timeout", f"{LOCK_TIMEOUT_S}s"),
    ("idle_in_transaction_session_timeout", f"{STATEMENT_TIMEOUT_S}s"),
    ("DateStyle", "ISO"),
    ("TimeZone", "UTC"),
    ("client_encoding", "UTF8"),
    ("search_path", "pg_catalog"),
)

_NOT_CONNECTED = (
    (r"password authentication failed", "the server refused the user or the password; check them"),
    (r"no password supplied", "the server asks for a password; set PGPASSWORD or PGPASSFILE, or name a service"),
    (r"translate host name|resolve host|not known", "the name of the host is not known; check host"),
    (r"refused|No such file or directory", "no server listens there; check host and port"),
    (r"timeout|timed out", f"the server did not answer within {CONNECT_TIMEOUT_S} s; check host, port and firewalls"),
    (r"database .* does not exist", "the server has no database of that name; check dbname"),
    (r"role .* does not exist|Peer auth|Ident auth", "the server does not let that user in; check user"),
    (
        r"not permitted to log in|permission denied",
        "the role may not connect to that database; GRANT CONNECT, or use another",
    ),
    (r"pg_hba\.conf", "the server's pg_hba.conf does not let this user in from here"),
    (r"too many|connection slots", "the server has no connection left"),
    (
        r"starting up|shutting down|recovery mode|not accepting",
        "the server is starting, stopping or recovering; try again",
    ),
    (r"service", "the service is not in the service file; check PGSERVICEFILE"),
    (r"invalid response to|expected authentication request", "no PostgreSQL answers there; check host and port"),
    (r"SSL|certificate", "the encrypted connection failed; check sslmode and the certificates"),
)
_NOT_SHOWN = {
    "57014": f"it took longer than {STATEMENT_TIMEOUT_S} s",
    "55P03": f"it waited for a lock longer than {LOCK_TIMEOUT_S} s",
    "42501": "the role may not read it",
    "55000": "its library is not loaded (shared_preload_libraries)",
}


class PostgresConnection:
    """One session of a server; raises RecordingError when it cannot be begun, or is lost."""

    def __init__(self, dsn: str) -> None:
        """Connect to *dsn*; what it leaves open libpq takes from its environment and files."""
        try:
            import psycopg
        except ImportError:
            raise RecordingError(NOT_INSTALLED) from None
        self._error = psycopg.Error
        try:
            given = psycopg.conninfo.conninfo_to_dict(dsn)
        except psycopg.Error:
            raise RecordingError(
                "--dsn is no connection string of libpq; write it as 'host=db1 dbname=shop' or 'postgresql://db1/shop'"
            ) from None
        options: dict[str, Any] = {**_DEFAULTS, **given, "application_name": "tiersim"}
        try:
            self._connection = psycopg.connect(**options, autocommit=True)
        except psycopg.Error as error:
            raise RecordingError(f"cannot connect to the server: {_why_not(str(error))}") from None
        self.version = self._connection.info.server_version
        if self.version < OLDEST_VERSION:
            self.close()
            raise RecordingError(
                f"the server is PostgreSQL {self.version // 10_000}.{self.version // 100 % 100}; version 10 or later"
                " can be recorded, of others import what psql wrote"
            )
        for name, value in (*_SESSION, *([("jit", "off")] if self.version >= 110_000 else [])):
            self.rows(f"SET {name} = '{value}'")

    def rows(self, sql: str) -> list[Row]:
        """Return what *sql* gives, values as the server prints them; raises NotShownError when it gives nothing."""
        try:
            cursor = self._connection.execute(sql)
        except self._error as error:
            if self._connection.closed:
                raise RecordingError("the server ended the connection") from None
            state = error.sqlstate or "unknown"
            raise NotShownError(_NOT_SHOWN.get(state, f"the server refused (SQLSTATE {state})")) from None
        result = cursor.pgresult
        assert result is not None
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        return [
            {name: _text(result.get_value(row, column)) for column, name in enumerate(names)}
            for row in range(result.ntuples)
        ]

    def is_local(self) -> bool:
        """Tell whether the server runs on this machine, in sight: its process here is the one of this connection."""
        info = self._connection.info
        if not (info.host.startswith(("/", "@")) or info.hostaddr in ("127.0.0.1", "::1")):
            return False
        try:
            command = Path(f"/proc/{info.backend_pid}/cmdline").read_bytes()
        except OSError:
            return False
        return command.startswith(b"postgres:")

    @property
    def process(self) -> int:
        """The number of the process that serves this connection, on the server's machine."""
        return self._connection.info.backend_pid

    def close(self) -> None:
        """End the session."""
        self._connection.close()


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _why_not(message: str) -> str:
    found = (sentence for pattern, sentence in _NOT_CONNECTED if re.search(pattern, message))
    return next(found, "it refused, and its message is not repeated here since it may hold secrets; psql shows it")
