"""A MariaDB server of its own, in a folder."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.commands import run
from benchmarks.errors import BenchError

DATABASE = "bench"
_USER = "mysql"
_START_S, _STOP_S = 120, 300
_CLOCK_HZ = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Programs:
    """MariaDB's server, what makes its folder, its client, and sysbench."""

    server: str
    install: str
    client: str
    sysbench: str


def find_programs() -> Programs:
    """Find the programs; raises BenchError."""
    place = f"{os.environ.get('PATH', '')}:/usr/sbin"
    found = []
    for name in ("mariadbd", "mariadb-install-db", "mariadb", "sysbench"):
        path = shutil.which(name, path=place)
        if path is None:
            raise BenchError(f"{name} is not there; install MariaDB's server and client, and sysbench 1.0")
        found.append(path)
    return Programs(*found)


@dataclass(frozen=True)
class Server:
    """A running server: its socket is in *folder*."""

    programs: Programs
    folder: Path
    data: Path
    process: int

    @property
    def socket(self) -> Path:
        """Where it is reached."""
        return self.folder / "s.sock"

    @property
    def client(self) -> list[str]:
        """The command of a client that prints rows apart by tabs."""
        return [self.programs.client, "--no-defaults", "--batch", f"--socket={self.socket}", "--user=root"]

    def sql(self, text: str) -> str:
        """Run statements; returns rows apart by tabs, with a heading."""
        return run([*self.client, "-e", text])

    def cpu_s(self) -> float:
        """The CPU time that it has used (proc(5), fields 14 and 15 of stat)."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _CLOCK_HZ


def initialize(programs: Programs, data: Path, settings: Mapping[str, str]) -> None:
    """Make a server's folder."""
    shutil.chown(data.parent, _USER)
    own = [f"--{name}={value}" for name, value in settings.items() if name in ("innodb_data_file_path",)]
    run(
        [
            programs.install, "--no-defaults", f"--datadir={data}", f"--user={_USER}",
            "--auth-root-authentication-method=normal", "--skip-test-db", *own,
        ]
    )  # fmt: skip


@contextmanager
def running(
    programs: Programs, data: Path, folder: Path, settings: Mapping[str, str], *, to_its_end: bool = True
) -> Iterator[Server]:
    """Run a server until the block ends; its log is ``server.log`` in *folder*, its socket is there, too.

    Then it is shut down, or, not *to_its_end*, killed: what is in its folder is of no use any more.
    """
    shutil.chown(folder, _USER)  # for its socket
    command = [
        "setpriv", "--reuid", _USER, "--regid", _USER, "--init-groups", programs.server, "--no-defaults",
        f"--datadir={data}", f"--socket={folder / 's.sock'}", f"--pid-file={data / 'pid'}", "--skip-networking",
        "--skip-name-resolve", *[f"--{name}={value}" for name, value in settings.items()],
    ]  # fmt: skip
    with (folder / "server.log").open("a") as log:
        process = subprocess.Popen(
            command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        try:
            server = Server(programs, folder, data, process.pid)
            _wait(process, server)
            yield server
        finally:
            if to_its_end:
                process.terminate()
            else:
                process.kill()
            _ended(process)


def _wait(process: "subprocess.Popen[bytes]", server: Server) -> None:
    end = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            server.sql("SELECT 1")
            return
        except BenchError:
            time.sleep(0.2)
    raise BenchError(f"the server did not start; its log is {server.folder / 'server.log'}")


def _ended(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the end of the server, and leave nothing of it."""
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
