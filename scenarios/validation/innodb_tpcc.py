"""TPC-C by HammerDB on MySQL 8.4 and MariaDB 12 with an NVMe drive, by buffer pool and virtual users (figures of 2026).

The rule. Its figures were known when the engine was written, so this is no test of what nobody saw; the CPU of a
transaction alone is chosen by them. Transactions are TPC-C's with HammerDB's shares, draws and indexes
(:func:`~.innodb_bench.hammerdb`). MySQL ran with O_DIRECT_NO_FSYNC, MariaDB with its default, O_DIRECT: its counters
have some ten flushes of files a batch. Redo is 3,588 bytes a transaction, of MySQL's run with 10 users. MariaDB's log
grew by 6,655; with that, 20 and 80 users and all data in the pool are 8 to 13 % too slow, and 10 GiB 3 % less too fast.

An NVMe drive takes commands of its queues in turn, and Linux gives each processor a queue: a write of a log waits for
one of 128 KiB, not for whole batches. Until that was modelled, and until customers were drawn as HammerDB does, MySQL
with 10 GiB was -14 % and MariaDB +21 % off, and the same cells failed.

Stock level reads the items of the last 20 orders of a district (TPC-C, 2.8.2.2), and orders come to new pages, are
delivered from pages that nobody used of late, and fill the pool with those. Both are by the specification and by the
bytes of rows; before, items were drawn anew and orders began and ended on the same pages. Of MySQL with 20, 30 and
40 GiB that makes 1, 4 and 9 % more, with 50 GiB 6 % less. By its source a user of HammerDB asks for one district each:
a list of pages then misses 7.8 pages a transaction with 10 GiB, 12.8 if they asked for any, 14.5 drawn anew; 12.1 and
12.8 were counted, so that it is any.

Processors as of the SATA drive's runs, on hosts of the same kind: each busy one slows the others by 2 %. CPU of a
transaction: to MySQL with 90 GiB and 80 users. The drive's data sheet was not at hand: its rates and its latency are
assumed, for a drive of its class; pages are written at random, so no more bytes a second than random writes have. (The
first rule gave it 3.0 GB/s of sequential writes: 10 GiB were 2.2 to 3.3 times too fast.)

A fiftieth of the server runs: 20 warehouses, pool and redo as much smaller, and what is done by the second as much
oftener; frames that are kept free are all there, beyond the pool.
"""

from collections.abc import Iterator
from math import sqrt
from pathlib import Path

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.innodb_bench import (
    MISSING,
    Bench,
    figures,
    hammerdb,
    scaled,
    tpcc,
)

FILE = "hammerdb_sweep_2026.csv"
_FACTOR, _WAREHOUSES = 50, 1000
_FITTED = ("mysql", "8.4.8", 90, 80)
_WITHIN_PCT = 10
_NOTES = {
    ("mysql", 10): (
        "pages missed are 12.6 a transaction, 12.1 were counted; pages flushed 4.9, 4.2 were counted, without those"
        " that sessions wrote"
    ),
    ("mariadb", 10): (
        "the drive's writes are the limit, here and by the counters: 24,100 pages a second were flushed, of MySQL"
        " 24,300 without those that sessions wrote; here 26,900, so that the drive is assumed a tenth too fast. Pages"
        " flushed are 5.3 a transaction, 5.3 were counted; pages missed 13.0, 12.8 were counted"
    ),
    ("mysql", 50): (
        "stock and customers are as large as the pool, so that pages missed hang on the bytes of rows: 0.65 a"
        " transaction, 1.36 were counted; a list of pages with all transactions in full misses 0.87"
    ),
}
#: Between which the CPU is searched, and how often what is left is halved: to 0.4 %.
_CPU_US, _HALVES = (900.0, 1800.0), 7
#: Linux cuts requests to what the drive takes at once (assumed: 128 KiB, of drives of its class).
_VOLUME = 'max_request = "128 KiB"'
_WORKLOAD = """
[workload]
engine = "{engine}"
version = "{version}"
buffer_pool = "{pool_kib} KiB"
duration = "{seconds} s"

[workload.variables]
{by_second}innodb_flush_method = "{method}"
{own} = "{redo}"
log_bin = "ON"
sync_binlog = "1"

{tables}"""
_DRIVE = """
kind = "token-bucket"
name = "Intel P4610 3.2 TB"
capacity = "3200 GB"
latency = "0.077 ms"
read_iops = 638000
write_iops = 222000
read_rate = "3200 MB/s"
write_rate = "909 MB/s"
flush = "0.01 ms"
refill_interval = "1 ms"
carry_over = "1 ms"
flushes_counted = false
takes_turns = true

[sources]
capacity = "document: Percona-Lab-results, mysql-tpcc-buffer-pool-sweep"
latency = "assumed: 0.07 ms .. 0.1 ms"
read_iops = "assumed: 450000 .. 700000"
write_iops = "assumed: 100000 .. 250000"
read_rate = "assumed: 3000 MB/s .. 3400 MB/s"
write_rate = "derived: write_iops of 4 KiB"
flush = "assumed: 0.005 ms .. 0.025 ms"
refill_interval = "assumed: 0.1 ms .. 10 ms"
carry_over = "assumed: 0 s .. 0.01 s"
flushes_counted = "assumed: true .. false"
takes_turns = "document: NVM Express Base Specification, command arbitration: round robin between queues"
"""


def experiment(folder: Path | None) -> Experiment:
    """Transactions a minute of each published cell; *folder* holds the figures."""
    title = "InnoDB on an NVMe drive: TPC-C by buffer pool and virtual users"
    source = "Percona-Lab-results, mysql-tpcc-buffer-pool-sweep: HammerDB 5.0, 1,000 warehouses, 60 min a cell"
    fitted = (
        "CPU of a transaction, to MySQL 8.4.8 with 90 GiB and 80 users; redo of one to 10 users; turns of writes on the"
        " drive and HammerDB's draws came by source after these cells were known"
    )
    table = figures(folder, FILE)
    if not table:
        return Experiment("innodb-tpcc", title, source, fitted, missing=MISSING)
    rows = [
        (row["engine"], row["version"], int(row["pool_gib"]), int(row["virtual_users"]), float(row["tpm"]))
        for row in table
    ]
    return Experiment(
        "innodb-tpcc", title, source, fitted, tuple(_claims(rows)), fits=1,
        assumed=(
            "sizes of rows", "all servers need the same CPU", "contention",
            "the drive: its data sheet was not at hand", "its mix of reads and writes",
        ),
        basis="innodb",
    )  # fmt: skip


def _claims(rows: list[tuple[str, str, int, int, float]]) -> Iterator[Claim]:
    (known,) = (row[4] for row in rows if row[:4] == _FITTED)
    predicted: dict[tuple[str, str, int, int], float] = {}
    cpu_us = _fit(known / 60)
    for engine, version, pool, users, tpm in rows:
        cell = engine, _release(version), pool, users
        if cell not in predicted:
            predicted[cell] = 60 * _rate(*cell, cpu_us)
        yield Claim(
            f"{engine} {version}, {pool} GiB, {users} users: transactions",
            "per min",
            tpm,
            predicted[cell],
            _WITHIN_PCT,
            fitted=(engine, version, pool, users) == _FITTED,
            note=_NOTES.get((engine, pool), ""),
            figure="throughput",
        )


def _fit(known: float) -> float:
    """Return the CPU in us with which the fitted cell runs as it did: found by halves, as the log limits it, too."""
    engine, version, pool, users = _FITTED
    low, high = _CPU_US
    for _ in range(_HALVES):
        middle = sqrt(low * high)
        if _rate(engine, _release(version), pool, users, middle) > known:
            low = middle
        else:
            high = middle
    return sqrt(low * high)


def _release(version: str) -> str:
    """Return a version without its last number: 8.4 of 8.4.8."""
    return version.rpartition(".")[0]


def _rate(engine: str, release: str, pool: int, users: int, cpu_us: float) -> float:
    """Return the transactions a second of a cell."""
    warehouses = _WAREHOUSES // _FACTOR
    free_pages = (1536 * 3 // 4) if engine == "mariadb" else 2048
    text = _WORKLOAD.format(
        engine=engine,
        version=release,
        pool_kib=(pool << 20) // _FACTOR + 16 * free_pages * (_FACTOR - 1) // _FACTOR,
        seconds=_seconds(pool),
        by_second=scaled(_FACTOR, 10_000, 20_000),
        method="O_DIRECT" if engine == "mariadb" else "O_DIRECT_NO_FSYNC",
        own=("innodb_log_file_size" if engine == "mariadb" else 'innodb_buffer_pool_instances = "2"\n')
        + ("" if engine == "mariadb" else "innodb_redo_log_capacity"),
        redo=(32 << 30) // _FACTOR,
        tables=tpcc(warehouses, round(cpu_us), users, hammerdb()),
    )
    return Bench(_DRIVE, cores=80, contention=0.02, warmup_s=_seconds(pool), volume=_VOLUME).transactions_per_s(text)


def _seconds(pool: int) -> int:
    """Return how long a cell runs before it is measured, and then: until redo has gone round where pages stay."""
    return 3 if pool <= 10 else 12
