"""Real PostgreSQL servers in folders of their own, for tests that record them."""

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: The folder of the npm package with PostgreSQL 18; its links are made here.
PACKAGE = "TIERSIM_POSTGRES_18"
REQUIRE = "TIERSIM_REQUIRE_POSTGRES"
PASSWORD = "hunter2-Gu/e:ss"
_SETTINGS = {
    "shared_preload_libraries": "pg_stat_statements",
    "shared_buffers": "32MB",
    "pg_stat_statements.max": "20000",
    "track_io_timing": "on",
    "autovacuum": "off",
    "fsync": "off",
    "logging_collector": "off",
    "log_statement": "all",
    "log_line_prefix": "%a: ",
    "listen_addresses": "127.0.0.1",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "1h",
}


def _installed() -> dict[str, Path]:
    """The folders of programs by major version."""
    found = {path.parent.name: path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()}
    package = Path(os.environ.get(PACKAGE, "/nowhere")) / "native"
    if (package / "bin/postgres").exists():
        found["18"] = package / "bin"
    return found


INSTALLED = _installed()
_MISSING = f"no PostgreSQL is installed, and {PACKAGE} names none"


def versions() -> list[Any]:
    """What the tests are parametrised with: the newest version, in the long run the others, or one
    that skips or fails.
    """
    *others, newest = sorted(INSTALLED, key=int) or [""]
    return [*(pytest.param(version, marks=pytest.mark.long) for version in others), newest]


def _user() -> dict[str, Any]:
    """Whom servers run as: root may not."""
    if os.getuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _make_links(package: Path) -> None:
    for link in json.loads((package / "native/pg-symlinks.json").read_text()):
        place, source = package / link["target"], package / link["source"]
        if not place.exists():
            place.symlink_to(os.path.relpath(source, place.parent))


class PostgresServer:
    """A server of one version, reached through a socket in ``folder`` without and at 127.0.0.1 with a password."""

    def __init__(self, version: str, settings: dict[str, str] | None = None) -> None:
        self.version = int(version)
        self._bin = INSTALLED[version]
        if self._bin.parent.name == "native":
            _make_links(self._bin.parents[1])
        self.folder = Path(tempfile.mkdtemp(prefix="tiersim-pg-"))
        user = _user()
        if user:
            os.chown(self.folder, user["user"], user["group"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._run("initdb", "--pgdata", str(self.data), "--username", "admin", "--auth", "trust", "--no-sync")
        lines = [f"{name} = '{value}'" for name, value in (_SETTINGS | (settings or {})).items()]
        lines += [f"port = {self.port}", f"unix_socket_directories = '{self.folder}'"]
        with (self.data / "postgresql.conf").open("a") as file:
            file.write("\n".join(lines) + "\n")
        (self.data / "pg_hba.conf").write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        self.start()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def dsn(self) -> str:
        return f"host={self.folder} port={self.port} user=admin dbname=postgres"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-l", str(self.folder / "log"), "-w", "-t", "30", "start")

    def stop(self, mode: str = "immediate") -> None:
        self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop")

    def remove(self) -> None:
        if (self.data / "postmaster.pid").exists():
            self.stop()
        shutil.rmtree(self.folder)

    def sql(self, text: str, dsn: str | None = None) -> list[list[str]]:
        """Rows of what psql prints for a query."""
        command = [
            "psql",
            "-X",
            "-A",
            "-t",
            "-q",
            "-F",
            "\t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            dsn or self.dsn,
            "-c",
            text,
        ]
        out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        return [line.split("\t") for line in out.splitlines()]

    def script(self, path: Path) -> None:
        """Run a file of SQL."""
        subprocess.run(
            ["psql", "-X", "-q", "-d", self.dsn, "-f", str(path)], check=True, capture_output=True, timeout=60
        )

    def pgbench(self, *arguments: str) -> str:
        command = ["pgbench", "-h", str(self.folder), "-p", str(self.port), "-U", "admin", *arguments, "postgres"]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout

    def cpu_ns(self) -> dict[int, tuple[str, int]]:
        """Processor time of every client backend by process: its application and its ns."""
        rows = self.sql("SELECT pid, application_name FROM pg_stat_activity WHERE backend_type = 'client backend'")
        found = {}
        for pid, name in rows:
            schedule = Path(f"/proc/{pid}/schedstat")
            if schedule.exists():
                found[int(pid)] = (name, int(schedule.read_text().split()[0]))
        return found

    def _run(self, program: str, *arguments: str) -> None:
        # the server inherits what pg_ctl has: a pipe would stay open as long as it runs
        with (self.folder / "printed").open("w") as printed:
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                check=False, env={**os.environ, "LC_ALL": "C", "TZ": "UTC"}, cwd="/", stdin=subprocess.DEVNULL,
                stdout=printed, stderr=subprocess.STDOUT, timeout=120, **_user(),
            )  # fmt: skip
        assert done.returncode == 0, (program, (self.folder / "printed").read_text())


@contextmanager
def running(version: str, settings: dict[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server that is there until the block ends; skips, or fails where one is required, if none is installed."""
    if not version:
        (pytest.fail if os.environ.get(REQUIRE) == "1" else pytest.skip)(_MISSING)
    server = PostgresServer(version, settings)
    try:
        yield server
    finally:
        server.remove()


def wait_for(condition: Any, what: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.05)


def interrupt(process: "subprocess.Popen[str]", number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Send a signal, and return the exit code and what was printed."""
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def environment(**more: str) -> dict[str, str]:
    """The environment without what libpq takes from it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return kept | more
