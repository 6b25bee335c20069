"""pgbench: a table, and transactions on it."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.commands import run
from benchmarks.errors import BenchError
from benchmarks.real_postgres.plan import Cell, Load
from benchmarks.real_postgres.server import DATABASE, EXTENSIONS, Server
from tiersim.scenarios.validation.cell_figures import Script

_ROWS_PER_SCALE = 100_000  # of pgbench_accounts
#: Rows by Zipf's law, hot ones scattered over all pages.
_DRAWN = """\
\\set drawn random_zipfian(1, {rows}, 1.05)
\\set row permute(:drawn, {rows}, 42) + 1
"""
_LOOKUP = "SELECT abalance FROM pgbench_accounts WHERE aid = :row;\n"
#: pgbench's own transaction has its own name there.
_BUILT_IN: dict[Script, str] = {"tpcb": "tpcb-like"}
SCRIPTS: dict[Script, str] = {
    "reads": _DRAWN + _LOOKUP,
    "updates": (
        f"""{_DRAWN}\
\\set change random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :change WHERE aid = :row;
{_LOOKUP}END;
"""
    ),
}


@dataclass(frozen=True)
class Transactions:
    """When each ended, by the clock, and how long it took."""

    ended_unix_s: NDArray[np.float64]
    latency_ms: NDArray[np.float64]
    printed: str


def fill(server: Server, load: Load) -> None:
    """Make the table."""
    server.sql(f"CREATE DATABASE {DATABASE}", "postgres")
    run([server.programs.pgbench, *server.connection, "-i", "-q", "-s", str(load.scale), DATABASE])
    for extension in EXTENSIONS:
        server.sql(f"CREATE EXTENSION {extension}")
    server.sql("VACUUM (FREEZE, ANALYZE)")


def age(server: Server, load: Load) -> None:
    """Update rows as the load does, as often as it says."""
    command = [*_pgbench(server, load, "updates"), "-t", str(load.age // load.clients), DATABASE]
    run(command)


def prewarm(server: Server) -> None:
    """Fill the pool with pages of the table: none is free when the clients come."""
    server.sql("SELECT pg_prewarm('pgbench_accounts')")


def transact(
    server: Server, cell: Cell, seconds: float, watch: Callable[[], None], each_s: float = 60.0
) -> Transactions:
    """Run the clients for a time and call *watch* every *each_s* seconds; raises BenchError when pgbench fails."""
    command = [
        *_pgbench(server, cell.load, cell.script),
        "-T",
        f"{seconds:.0f}",
        "-P",
        "1",
        "-l",
        "--log-prefix=transactions",
        DATABASE,
    ]
    try:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=server.folder,
        ) as process:
            try:
                printed = _watched(process, each_s, watch)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            raise BenchError(f"pgbench failed: {printed[-500:]}")
        logs = [np.loadtxt(path, usecols=(2, 4, 5), ndmin=2) for path in server.folder.glob("transactions.*")]
    finally:
        for path in server.folder.glob("transactions.*"):
            path.unlink()
    rows = np.concatenate(logs)
    ended = rows[:, 1] + rows[:, 2] / 1e6
    order = np.argsort(ended)
    return Transactions(ended[order], rows[order, 0] / 1e3, printed)


def _pgbench(server: Server, load: Load, name: Script) -> list[str]:
    script = server.folder / "transaction.sql"
    if name not in _BUILT_IN:
        script.write_text(SCRIPTS[name].format(rows=load.scale * _ROWS_PER_SCALE))
    what = ["-b", _BUILT_IN[name]] if name in _BUILT_IN else ["-f", str(script)]
    return [
        server.programs.pgbench,
        *server.connection,
        "-n",
        "-M",
        "prepared",
        "-c",
        str(load.clients),
        "-j",
        "2",
        "-s",
        str(load.scale),
        *what,
    ]


def _watched(process: "subprocess.Popen[str]", each_s: float, watch: Callable[[], None]) -> str:
    while True:
        watch()
        try:
            return process.communicate(timeout=each_s)[0]
        except subprocess.TimeoutExpired:
            continue
