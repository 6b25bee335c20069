"""The tables, and sysbench's transactions on them."""

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import BenchError
from benchmarks.real_mysql.plan import Cell
from benchmarks.real_mysql.server import DATABASE, Server

_SCRIPT = Path(__file__).parent / "accounts.lua"
#: A row of accounts takes 296 bytes with its head: 51 lie on a page of 16 KiB, 15/16 of which are filled in the order
#: of their keys.
_TABLES = f"""
CREATE DATABASE {DATABASE} CHARACTER SET latin1; USE {DATABASE};
CREATE TABLE accounts (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, filler VARCHAR(264) NOT NULL);
CREATE TABLE tellers (id INT NOT NULL PRIMARY KEY, balance BIGINT NOT NULL, filler CHAR(80) NOT NULL);
CREATE TABLE history (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, teller INT NOT NULL, account INT NOT NULL,
  delta BIGINT NOT NULL, filler CHAR(22) NOT NULL);
INSERT INTO tellers SELECT seq, 0, '' FROM seq_1_to_1000;
"""
_AT_ONCE = 50_000
_SECOND = re.compile(r"^\[ (\d+)s \] thds: \d+ tps: ([\d.]+) ", re.MULTILINE)
_BIN = re.compile(r"^ +([\d.]+) \|\**\s+(\d+)$", re.MULTILINE)
_TOTALS = {
    "transactions": r"transactions: +(\d+) +\(",
    "seconds": r"total time: +([\d.]+)s",
    "sum_ms": r"sum: +([\d.]+)",
}


@dataclass(frozen=True)
class Transactions:
    """What sysbench printed: throughput by second, and how many took about so many ms."""

    printed: str
    count: int
    seconds: float
    mean_ms: float
    by_second: tuple[float, ...]
    histogram: Mapping[float, int]

    @classmethod
    def of(cls, printed: str) -> "Transactions":
        """Take it from what sysbench printed; raises BenchError when it did not come to its end."""
        found = {name: re.search(pattern, printed) for name, pattern in _TOTALS.items()}
        totals = {name: float(match[1]) for name, match in found.items() if match is not None}
        if len(totals) < len(_TOTALS):
            raise BenchError(f"sysbench came to no end: {printed[-500:]}")
        return cls(
            printed,
            round(totals["transactions"]),
            totals["seconds"],
            totals["sum_ms"] / max(totals["transactions"], 1),
            tuple(float(rate) for _, rate in _SECOND.findall(printed)),
            {float(ms): int(count) for ms, count in _BIN.findall(printed)},
        )

    def quantile_ms(self, share: float) -> float:
        """Return the latency that so large a *share* stays below, to 2 %, as wide as a bin is."""
        rank, below = share * sum(self.histogram.values()), 0
        for ms, count in sorted(self.histogram.items()):
            below += count
            if below >= rank:
                return ms
        return 0.0


def fill(server: Server, rows: int) -> None:
    """Make the tables."""
    parts = [
        f"INSERT INTO accounts SELECT seq, 0, REPEAT('x', 264) FROM seq_{first}_to_{min(first + _AT_ONCE - 1, rows)};"
        for first in range(1, rows + 1, _AT_ONCE)
    ]
    server.sql(_TABLES + "\n".join(parts) + "\nANALYZE TABLE accounts, tellers, history;")


def transact(server: Server, cell: Cell, seconds: float, watch: Callable[[], None]) -> Transactions:
    """Run the clients for a time and call *watch* every second; raises BenchError when sysbench fails."""
    command = [
        server.programs.sysbench, str(_SCRIPT), f"--load={cell.load}", f"--rows={cell.rows}",
        f"--threads={cell.clients}", f"--time={seconds:.0f}", "--report-interval=1", "--percentile=99",
        "--histogram=on", "--db-ps-mode=disable", f"--mysql-socket={server.socket}", "--mysql-user=root",
        f"--mysql-db={DATABASE}", "run",
    ]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
    ) as process:
        try:
            printed = _watched(process, watch)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise BenchError(f"sysbench failed: {printed[-500:]}")
    return Transactions.of(printed)


def _watched(process: "subprocess.Popen[str]", watch: Callable[[], None]) -> str:
    while True:
        watch()
        try:
            return process.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired:
            continue
