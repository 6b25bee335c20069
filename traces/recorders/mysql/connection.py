"""A connection to a MySQL or MariaDB server that can change nothing there, and whose errors give no secret away.

Messages of the server may hold names and values. None is passed on: errors are told apart by their numbers, and
each has a sentence of its own.
"""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tiersim.errors import RecordingError
from tiersim.traces.readers.mysql.settings import engine_of
from tiersim.traces.recorders.rounds import NotShownError, Row

#: Of one query; what takes longer is left out.
STATEMENT_TIMEOUT_S, LOCK_TIMEOUT_S, CONNECT_TIMEOUT_S = 10, 1, 10
OLDEST = {"mysql": (5, 7), "mariadb": (10, 6)}
NOT_INSTALLED = (
    "recording MySQL needs the package PyMySQL, which is not installed; pip install 'PyMySQL[rsa]', or record by hand"
    " as --dry-run says"
)
_NO_DSN = "--dsn: {} is not understood; write it as 'host=db1 user=recorder' or 'mysql://recorder@db1:3306'"
_KEYS = ("host", "port", "user", "password", "socket", "ssl_ca", "option_file")

#: Numbers of errors: MySQL 8.0 Error Message Reference.
_NOT_CONNECTED = {
    1045: "the server refused the user or the password; check user, and MYSQL_PWD or the option file",
    1698: "the server refused the user or the password; check user, and MYSQL_PWD or the option file",
    1130: "the server does not let this host in; GRANT to the user from here",
    1040: "the server has no connection left; end one, or raise max_connections",
    1203: "the user has no connection left; end one, or raise MAX_USER_CONNECTIONS",
    1226: "the user has no connection left; end one, or raise MAX_USER_CONNECTIONS",
    1251: "the server's way to sign in is not known to PyMySQL; install a newer one",
    2002: "no server listens there; check host, port and socket",
    2003: "no server listens there; check host, port and socket",
    2026: "the encrypted connection failed; check ssl_ca",
}
_NOT_SHOWN = {
    1142: "the role may not read it",
    1044: "the role may not read it",
    1045: "the role may not read it",
    1227: "the role may not read it; GRANT PROCESS to it",
    1109: "the server has no such table",
    1146: "the server has no such table",
    1054: "the server's table has other columns",
    1205: f"it waited for a lock longer than {LOCK_TIMEOUT_S} s",
    1317: f"it took longer than {STATEMENT_TIMEOUT_S} s",
    1969: f"it took longer than {STATEMENT_TIMEOUT_S} s",
    3024: f"it took longer than {STATEMENT_TIMEOUT_S} s",
}
#: The server is gone: lost, shut down, killed.
_GONE = (0, 1053, 1077, 1079, 1927, 2006, 2013, 2055, 4031)


def options_of(dsn: str) -> dict[str, Any]:
    """Return what PyMySQL needs to connect to *dsn*; raises RecordingError when it is not understood."""
    if "://" in dsn:
        try:
            parts = urlsplit(dsn)
            given: dict[str, Any] = {"host": parts.hostname, "port": parts.port, "user": parts.username}
        except ValueError:
            raise RecordingError(_NO_DSN.format("the address")) from None
        given |= {"password": parts.password, **dict(parse_qsl(parts.query))}
        given = {name: unquote(value) if isinstance(value, str) else value for name, value in given.items() if value}
        if parts.scheme not in ("mysql", "mariadb"):
            raise RecordingError(_NO_DSN.format("what stands before ://"))
        if parts.path.strip("/"):
            raise RecordingError("--dsn: names a database, but all of the server are recorded; leave its name out")
    else:
        pairs = [word.partition("=") for word in dsn.split()]
        if not all(sign for _, sign, _ in pairs):
            raise RecordingError(_NO_DSN.format("a word without ="))
        given = {name: value for name, _, value in pairs}
    if unknown := [name for name in given if name not in _KEYS]:
        raise RecordingError(_NO_DSN.format(f"the key {unknown[0]!r}"))
    if "port" in given and not str(given["port"]).isdigit():
        raise RecordingError(_NO_DSN.format("port"))
    renamed = {"socket": "unix_socket", "option_file": "read_default_file"}
    options = {renamed.get(name, name): int(value) if name == "port" else value for name, value in given.items()}
    if "read_default_file" not in options and (own := Path.home() / ".my.cnf").is_file():
        options["read_default_file"] = str(own)
    if "password" not in options and "MYSQL_PWD" in os.environ:
        options["password"] = os.environ["MYSQL_PWD"]
    return options


class MysqlConnection:
    """One session of a server; raises RecordingError when it cannot be begun, or is lost."""

    def __init__(self, dsn: str) -> None:
        """Connect to *dsn*; what it leaves open comes from ~/.my.cnf and MYSQL_PWD."""
        try:
            import pymysql
        except ImportError:
            raise RecordingError(NOT_INSTALLED) from None
        options = options_of(dsn)
        self._error = pymysql.MySQLError
        try:
            self._connection = pymysql.connect(
                **options,
                autocommit=True,
                charset="utf8mb4",
                connect_timeout=CONNECT_TIMEOUT_S,
                read_timeout=3 * STATEMENT_TIMEOUT_S,
                conv={},  # values as the server prints them
                program_name="tiersim",
            )
        except (pymysql.MySQLError, RuntimeError, OSError) as error:
            raise RecordingError(f"cannot connect to the server: {_why_not(error)}") from None
        self.version_text = str(self._connection.get_server_info())
        self.engine = engine_of(self.version_text)
        told = re.search(r"(\d+)\.(\d+)\.(\d+)", self.version_text.removeprefix("5.5.5-"))
        self.version = tuple(int(part) for part in told.groups()) if told else (0,)
        try:
            self._check_version()
            timeout = "max_statement_time = 10" if self.engine == "mariadb" else "max_execution_time = 10000"
            self.rows(f"SET SESSION {timeout}, lock_wait_timeout = {LOCK_TIMEOUT_S}, time_zone = '+00:00'")
            self.rows("SET SESSION TRANSACTION READ ONLY")
        except RecordingError:
            self.close()
            raise

    def _check_version(self) -> None:
        oldest = OLDEST[self.engine]
        if self.version < oldest:
            name = "MariaDB" if self.engine == "mariadb" else "MySQL"
            raise RecordingError(
                f"the server is {name} {'.'.join(map(str, self.version))}; version {'.'.join(map(str, oldest))} or"
                " later can be recorded, of others import what mysql wrote"
            )

    def rows(self, sql: str) -> list[Row]:
        """Return what *sql* gives, by names in lower case; raises NotShownError when it gives nothing."""
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                names = [column[0].lower() for column in cursor.description or ()]
                return [dict(zip(names, map(_text, row), strict=True)) for row in cursor.fetchall()]
        except (self._error, OSError) as error:
            number = error.args[0] if error.args else 0
            if number in _GONE or isinstance(error, OSError) or not self._connection.open:
                raise RecordingError("the server ended the connection") from None
            raise NotShownError(_NOT_SHOWN.get(number, f"the server refused (error {number})")) from None

    def local_process(self) -> int | None:
        """Return the server's process on this machine, in sight; None when it is elsewhere."""
        host = str(self._connection.host)
        if not self._connection.unix_socket and host not in ("localhost", "127.0.0.1", "::1"):
            return None
        try:
            told = self.rows("SELECT @@pid_file AS pid_file, @@datadir AS datadir")[0]
            text = (Path(told["datadir"] or "/") / (told["pid_file"] or "")).read_text(encoding="ascii")
            process = int(text)
            name = Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
        except (OSError, ValueError, NotShownError):
            return None
        return process if name in ("mysqld", "mariadbd") else None

    def close(self) -> None:
        """End the session."""
        if self._connection.open:
            self._connection.close()


def _why_not(error: Exception) -> str:
    """Return why no session began, and what to do."""
    number = error.args[0] if error.args else 0
    return _NOT_CONNECTED.get(number, "its message is not repeated here since it may hold secrets; mysql shows it")


def _text(value: Any) -> str | None:
    return value.decode(errors="replace") if isinstance(value, bytes) else None if value is None else str(value)
