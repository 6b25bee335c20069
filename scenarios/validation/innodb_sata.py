"""sysbench on three servers with a SATA drive, by buffer pool and clients (published figures of 2026).

The rule, written down before figures of other cells than the fitted one were opened. sysbench draws keys evenly, so
all tables are one. oltp_read_only visits 19.5 leaves: 10 lookups, and 4 ranges of 100 rows of 72 a page.
oltp_read_write changes, besides, 3 rows and 2 leaves of the secondary index, and logs 1,638 bytes. The drive gives what
its link does (30,200 reads of 16 KiB a second); a read and a flush take what they took in the fitted cell. CPU of a
read-write transaction is what makes that cell as slow as it was; of a read-only one 0.67 of it, as of statements in
memory that the same source lists for other hardware. Each busy processor slows the others by 2 %: transactions of
cached data took 1.6 times the CPU with 32 clients that they took with 4. A part of the server runs: pool, tables, redo
and frames that are kept free are an eighth of what they were.
"""

import csv
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from statistics import median

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.workloads.replay import load_workload, run_workload

FILE = "sysbench_sata_2026.csv"
_FACTOR = 8
_CLIENTS = (1, 4, 32, 64)
_READS, _WRITES = "read_only", "read_write"
#: Server, version and GB of the pool, and variables that the servers do not share.
_SERVERS: Mapping[tuple[str, str], tuple[tuple[int, ...], str]] = {
    ("mariadb", "10.11.16"): ((2, 12, 32), 'innodb_lru_scan_depth = "192"'),
    ("mysql", "8.0.45"): ((2, 12, 32), 'innodb_doublewrite_pages = "4"\ninnodb_lru_scan_depth = "128"'),
    ("mysql", "8.4.8"): ((12,), 'innodb_doublewrite_pages = "128"\ninnodb_lru_scan_depth = "128"'),
}
_FITTED = ("read_write", "mariadb", "10.11.16", 2, 1)
#: Of the fitted cell: transactions a second, ms of a read and of a flush.
_FITTED_RATE, _READ_MS, _FLUSH_MS = 112.9, 0.2491, 0.06322
_READ_ONLY_CPU, _FIRST_CPU_US = 0.67, 1500.0
_SECONDS = 4
_MOST_PCT = 15

_WORKLOAD = """
[workload]
engine = "{server}"
version = "{version}"
buffer_pool = "{pool_mib} MiB"
duration = "{seconds} s"

[workload.variables]
{own}
innodb_buffer_pool_instances = "{instances}"
innodb_io_capacity = "2500"
innodb_io_capacity_max = "5000"
{redo_key} = "{redo}"
innodb_flush_method = "O_DIRECT"
innodb_flush_log_at_trx_commit = "1"
log_bin = "ON"
sync_binlog = "1"

[relations.rows]
rows = {rows}
rows_per_page = 72
index = "{index_kib} KiB"
ordered = true

[relations.entries]
rows = {rows}
rows_per_page = 850

[statements.fewer]
does = [{{ compute = "{cpu_us} us" }}, {{ lookup = "rows", rows = 19 }}{more}]

[statements.rest]
does = [{{ compute = "{cpu_us} us" }}, {{ lookup = "rows", rows = 20 }}{more}]

[streams.clients]
mix = {{ fewer = 1, rest = 1 }}
clients = {clients}
"""
_CHANGES = (
    ', { change = "rows", rows = 3, lock = false, log = "350 B" },'
    ' { change = "entries", rows = 2, lock = false, log = "200 B" }, { commit = "188 B" }'
)
_DRIVE = """
kind = "token-bucket"
name = "the SATA drive"
capacity = "400 GB"
latency = "{read_ms} ms"
flush = "{flush_ms} ms"
rate = "495 MB/s"
refill_interval = "1 ms"
carry_over = "0 s"
flushes_counted = false

[sources]
capacity = "assumed: 240 GB .. 960 GB"
latency = "measured: iostat of the fitted cell"
flush = "measured: iostat of the fitted cell"
rate = "measured: 30,200 reads of 16 KiB a second, the link"
refill_interval = "assumed: 0.1 ms .. 10 ms"
carry_over = "assumed: 0 s .. 0.01 s"
flushes_counted = "assumed: true .. false"
"""
_HOST = """
[host]
cores = 80
contention = 0.02

[volumes.data]
device = "drive.toml"
"""
_REASONS = (
    "suspected: a flush of a SATA drive is not queued, so that the drive works off its queue first and stands still"
    " (its reads take 1 to 3 ms beside 800 flushes a second); a token bucket does not. Where all is in the pool, one"
    " CPU for all servers is wrong by 20 to 40 %"
)


def experiment(folder: Path | None) -> Experiment:
    """Median errors by load, server and pool; *folder* holds the figures."""
    title = "InnoDB on a SATA drive: sysbench on MariaDB and MySQL by buffer pool and clients"
    source = "Percona-Lab-results, 2026-interactive-metrics: local clients, 900 s a cell; Percona Server left out"
    fitted = "CPU of a transaction, to MariaDB with 2 GB and 1 client, read-write; its read and flush times"
    places = [] if folder is None else sorted(folder.rglob(FILE))
    if not places:
        return Experiment(
            "innodb-sata", title, source, fitted, missing="the figures are no part of the project; give their folder"
        )
    measured = _measured(places[0])
    errors: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        cpu_us = _fit(Path(place))
        for load in (_READS, _WRITES):
            for server, (pools, _) in _SERVERS.items():
                for pool, clients in product(pools, _CLIENTS):
                    if (load, *server, pool, clients) == _FITTED:
                        continue
                    share = _rate(Path(place), load, server, pool, clients, cpu_us)
                    error = 100 * (share / measured[load, *server, pool, clients] - 1)
                    errors.setdefault((load, f"{' '.join(server)}, {pool} GB"), []).append(error)
    return Experiment(
        "innodb-sata", title, source, fitted, tuple(_claims(errors)), fits=1,
        assumed=("writes take as long as reads", "all servers need the same CPU", "contention", "bytes of redo"),
    )  # fmt: skip


def _claims(errors: Mapping[tuple[str, str], list[float]]) -> Iterator[Claim]:
    """Return the median errors of blocks, and of all."""
    blocks = {f"{load.replace('_', '-')}, {server}": found for (load, server), found in errors.items()}
    everything = [error for found in errors.values() for error in found]
    for what, found in {f"all {len(everything)} cells": everything, **blocks}.items():
        clients = ", ".join(map(str, _CLIENTS[-len(found) :]))
        off = " ".join(f"{error:+.0f}" for error in found)
        yield Claim(
            f"{what}: median error of transactions a second",
            "%",
            _MOST_PCT,
            median(abs(error) for error in found),
            0,
            at_most=True,
            note=_REASONS if found is everything else f"with {clients} clients {off} %",
        )


def _measured(path: Path) -> dict[tuple[str, str, str, int, int], float]:
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["workload"], row["server"], row["version"], int(row["pool_gb"]), int(row["threads"])): float(
                row["tps"]
            )
            for row in csv.DictReader(file)
            if row["place"] == "local"
        }


def _fit(place: Path) -> float:
    """Return the CPU in us with which the fitted cell is as slow as it was."""
    load, *server, pool, clients = _FITTED
    cpu_us = _FIRST_CPU_US
    for _ in range(3):
        rate = _rate(place, load, (server[0], server[1]), pool, clients, cpu_us)
        cpu_us += 1e6 * clients * (1 / _FITTED_RATE - 1 / rate)
    return cpu_us


def _rate(place: Path, load: str, server: tuple[str, str], pool: int, clients: int, cpu_us: float) -> float:
    """Return the transactions a second of a cell."""
    (engine, version), writes = server, load == _WRITES
    text = _WORKLOAD.format(
        server=engine,
        version=version,
        pool_mib=1024 * pool // _FACTOR,
        seconds=_SECONDS,
        own=_SERVERS[server][1],
        instances=1 if pool == 2 or engine == "mariadb" else 8,
        redo=(2 if engine == "mariadb" else 4) * (1 << 30) // _FACTOR,
        redo_key="innodb_log_file_size" if engine == "mariadb" else "innodb_redo_log_capacity",
        rows=100_000_000 // _FACTOR,
        index_kib=16 * -(-100_000_000 // (72 * 1000 * _FACTOR)),
        cpu_us=round(cpu_us * (1 if writes else _READ_ONLY_CPU)),
        more=_CHANGES if writes else "",
        clients=clients,
    )
    (place / "load.toml").write_text(text, encoding="utf-8")
    (place / "drive.toml").write_text(_DRIVE.format(read_ms=_READ_MS, flush_ms=_FLUSH_MS), encoding="utf-8")
    (place / "host.toml").write_text(_HOST, encoding="utf-8")
    summary = run_workload(load_workload(place / "load.toml"), load_scenario(str(place / "host.toml"))).summary
    return float(summary["throughput_per_s"]["transactions"]["value"])
