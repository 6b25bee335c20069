"""A real MariaDB server in a folder of its own, for tests that record it."""

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

REQUIRE = "TIERSIM_REQUIRE_MARIADB"
PASSWORD = "hunter2-Gu/e:ss"
_PROGRAM = shutil.which("mariadbd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_SETTINGS = (
    "--no-defaults",
    "--performance-schema=ON",
    "--userstat=ON",
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-monitor-enable=trx_rw_commits",
    "--bind-address=127.0.0.1",
)


def _user() -> dict[str, Any]:
    """Whom the server runs as: root may not."""
    if os.getuid():
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("mysql") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class MariadbServer:
    """A server, reached by root through the socket in ``folder``, and at 127.0.0.1 by who has a password."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tiersim-maria-"))
        if user := _user():
            os.chown(self.folder, user["user"], user["group"])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        install = ["mariadb-install-db", "--no-defaults", f"--datadir={self.folder / 'data'}"]
        install += ["--auth-root-authentication-method=normal", "--skip-test-db"]
        done = subprocess.run(install, capture_output=True, text=True, cwd="/", timeout=120, check=False, **_user())
        assert done.returncode == 0, done.stderr
        self.start()

    @property
    def socket(self) -> Path:
        return self.folder / "s.sock"

    @property
    def dsn(self) -> str:
        return f"socket={self.socket} user=root"

    def start(self, *settings: str) -> None:
        assert _PROGRAM
        with (self.folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                [
                    _PROGRAM, *_SETTINGS, f"--datadir={self.folder / 'data'}", f"--socket={self.socket}",
                    f"--port={self.port}", f"--pid-file={self.folder / 'pid'}", *settings,
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", **_user(),
            )  # fmt: skip
        end = time.monotonic() + 60
        while not (self.folder / "pid").exists():
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end, "the server does not start"
            time.sleep(0.05)

    def kill(self) -> None:
        """End the server as a loss of power would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        (self.folder / "pid").unlink(missing_ok=True)

    def remove(self) -> None:
        if self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder)

    def sql(self, text: str) -> list[list[str]]:
        """Rows of what the client prints for a query."""
        command = ["mariadb", "--no-defaults", "-B", "-N", f"--socket={self.socket}", "--user=root", "-e", text]
        kept = {name: value for name, value in os.environ.items() if name != "MYSQL_PWD"}
        out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, env=kept).stdout
        return [line.split("\t") for line in out.splitlines()]


@contextmanager
def running() -> Iterator[MariadbServer]:
    """A server that is there until the block ends; skips, or fails where one is required, if none is installed."""
    if not _PROGRAM:
        (pytest.fail if os.environ.get(REQUIRE) == "1" else pytest.skip)("no MariaDB server is installed")
    server = MariadbServer()
    try:
        yield server
    finally:
        server.remove()
