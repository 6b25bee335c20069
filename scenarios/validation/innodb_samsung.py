"""TPC-C by tpcc-mysql on Percona Server 5.7 with two drives of Samsung, by buffer pool and page size (figures of 2016).

Settings were not published; they are those of a sister set of the same authors and months (log_size_2016): 100 clients,
redo of 2 x 15 GB, io_capacity 5,000 of 7,500, lru_scan_depth 5,000, no binary log. Pages of 4 KiB hold less
than a quarter of the rows (:func:`~.innodb_bench.tpcc`).

tpcc-mysql draws items and customers by TPC-C's NURand (:func:`~.innodb_bench.nurand`). Tables and their redo are those
of the runs by HammerDB (:func:`~.innodb_bench.tpcc`). tpcc-mysql creates more indexes (add_fkey_idx.sql): each order
line is entered by its supplier's warehouse and item, each payment by customer. A two hundredth of the server runs: 5
warehouses, pool and redo as much smaller, what is done by the second as much oftener. The source's mean begins after
1,800 s. With the 850 Pro it goes on to 15,000 s here, as long as the sister set ran, since its pages are written in
waves of an hour or two.

Drives by their data sheets, chips as usual in their year; the 850 Pro has no power-loss protection, so that a flush
waits for programs of all that was written. One of 512 GB does 391 writes of 4 KiB a second, each
synced (centminmod-sysbench, fsync_fio, on Red Hat's kernel): 2.56 ms, in which it flushes twice, behind the write and
behind the commit of the file system's journal, and programs twice: the flush itself is 575 us. (Until the journal was
modelled it was 1.3 ms, once a write; while a program was assumed to take 1.2 ms, 30 us.) Full and overwritten at random
it does 9,000 writes of 4 KiB a second: no fewer than the 850 EVO's 8,000 (AnandTech 8747), no more than the 10,000 of
2 TB (Tom's Hardware 4205). That says how much space collection has. All 7.4 % by which its flash is larger would let it
do 26,000 with programs of 1.2 ms; its cells were two to three times too fast with that, and after that was seen the
reviews were looked up.

Until stock level read items of the latest orders, orders came to new pages, and rows had to fit on small pages, 95.8 %
of the pairs were right and the median error 13.8 %: with all data in its pool the 850 Pro was 14 % too slow with pages
of 16 KiB and 45 % too fast with 4 KiB, then 24 and 12 %. Since then programs take what Samsung published, which was
chosen before a cell ran with it, and fsync of single pages and of the doublewrite file commits the journal: 34 % too
slow and 3 % too slow. The median error fell from 13.1 to 9.2 %, and that of the 850 Pro alone rose from 17 to 24 %.

What was not published decides on the 850 Pro: it is written down as two ends (:class:`_Server`), before a cell was run
with either. The slow end has a binary log that is synced, the redo of 2 x 2 GB that the authors used too, and flushes
of 1.85 ms, as if no commit had been in what was measured; the fast end flushes no data file. On the PM1725 both ends
are within 8 %.

Percona Server 5.7 has an LRU manager for each instance, which alone frees frames (blueprint mt-lru, in 5.7.10-3), and
doublewrite for each (parallel-doublewrite, in 5.7.11-4); a session that finds no frame waits (blueprint xtradb-empty-
free-list-backoff). A manager takes up to lru_scan_depth pages, then sleeps: not at all if less than 1 % of as many
frames were free, 50 ms longer if more than 20 % were (1 ms longer from 5.7.18 on), at most 1 s (buf0flu.cc,
buf_lru_manager_adapt_sleep_time). Managers that do not sleep write what the drive takes, 22,500 pages of 16 KiB or
90,000 of 4 KiB a second on the PM1725, and 5,000 frames are not used up while they sleep. So it was computed that no
cell of it changes; then the rule was tried, with Percona Server's adaptive flushing (high_checkpoint, which alone makes
the median error 12.0 %). The PM1725 was at most 5 % slower, the 850 Pro with 5 to 35 GB 11 to 37 % faster, which makes
the median error 13.8 %, and 97.5 % of the pairs right; of gp2 one claim more failed, of EBS the mean error was 4.3 %.
It is not simulated.

The first rule, written before any cell was simulated, fitted one CPU, to the PM1725 with 115 GB and 16 KiB, and let no
page be flushed (O_DIRECT_NO_FSYNC, as in the sister set): 90 % of the pairs right, median error 178 %. Pages of 4 KiB
do 1.7 times as much on the PM1725 with all data in the pool, where the drive is not the limit; latches of pages are not
modelled, so that each page size has a CPU of its own, fitted to 115 GB. The 850 Pro with 5 GB does 74 transactions a
second: it must flush each page (O_DIRECT). Both were seen in the cells.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median

from tiersim.scenarios.calibration.cpu_and_waits import READ_NS
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.innodb_bench import (
    MISSING,
    Bench,
    figures,
    scaled,
    tpcc,
    tpcc_mysql,
)

FILE = "samsung_drives_2016.csv"
#: Drive, KiB of a page, GB of the pool.
Cell = tuple[str, int, int]


@dataclass(frozen=True)
class _Server:
    """What nobody published: whether data files are flushed, whether there is a binary log, the GB of redo, and how
    many us the 850 Pro takes to flush.
    """

    flushes: bool
    binary_log: bool
    redo_gb: int
    flush_us: int


_ASSUMED = _Server(flushes=True, binary_log=False, redo_gb=30, flush_us=575)
_SLOW = _Server(flushes=True, binary_log=True, redo_gb=4, flush_us=1850)
_FAST = _Server(flushes=False, binary_log=False, redo_gb=30, flush_us=575)
#: From so many GB on all data are in the pool, so that more change nothing.
_ALL_GB = 85
_CPU_OF: Mapping[int, Cell] = {16: ("pm1725", 16, 115), 4: ("pm1725", 4, 115)}
_FACTOR, _WAREHOUSES, _CLIENTS = 200, 1000, 100
#: New orders of all transactions.
_NEW_ORDERS = 10 / 23
_FIRST_CPU_US = 3000.0
#: Simulated seconds, before and while it is counted.
_SECONDS = {"pm1725": (10, 4), "sam850pro": (9, 66)}
_APART, _RANKED_PCT, _MEDIAN_PCT, _EACH_PCT = 0.03, 95, 12, 50

_REASONS = (
    "settings, clients and sizes of the drives were not published. With all spare flash for collection in the 850"
    " Pro, and 2,000 s counted, it was 76 %, and 94.4 % of the pairs were right. With 5 to 25 GB a PM1725 writes"
    " 13,000 to 14,000 pages of 16 KiB a second, or 17,000 to 23,000 of 4 KiB, if a transaction writes as many as"
    " here: 0.6 and at most 0.25 of what the drive takes. Not explained: a page takes 73 us, or 45, which is 36 us and"
    " 2.3 us a KiB; batches of 120 pages, one at a time, would have to take 3 to 4 ms more than their bytes do. It is"
    " not that reads wait for programs: with 64 dies of 50 us and 700 us instead of rates 5 GB are +116 and +180 % off,"
    " +65 and +181 % with rates. Percona Server's rule for free frames changes these cells by at most 5 %, and makes"
    " the 850 Pro too fast. With all data in the pool the 850 Pro does 1.6 times as much with pages of 16 KiB as of"
    " 4 KiB, here 1.1 times: not explained"
)
_WORKLOAD = """
[workload]
engine = "mysql"
version = "5.7"
page = "{page_kib} KiB"
buffer_pool = "{pool_kib} KiB"
duration = "{seconds} s"

[workload.variables]
{by_second}innodb_lru_scan_depth = "{scan_depth}"
innodb_buffer_pool_instances = "8"
innodb_flush_neighbors = "0"
innodb_flush_method = "{method}"
innodb_log_file_size = "{redo}"
innodb_log_files_in_group = "1"
innodb_change_buffering = "none"
log_bin = "{binary_log}"
sync_binlog = "1"

{tables}"""
#: Flushes that come while one is under way share the next (Linux, block/blk-flush.c).
_VOLUME = 'flush_overhead = "0 s"'
_DRIVES = {
    "pm1725": """
kind = "token-bucket"
name = "Samsung PM1725"
capacity = "1600 GB"
latency = "0.09 ms"
read_iops = 1000000
write_iops = 180000
read_rate = "6200 MB/s"
write_rate = "737 MB/s"
flush = "0.01 ms"
refill_interval = "1 ms"
carry_over = "1 ms"
flushes_counted = false

[sources]
capacity = "assumed: 800 GB .. 6400 GB"
latency = "assumed: 0.07 ms .. 0.12 ms"
read_iops = "document: AnandTech 15491, of the PM1725a as a card"
write_iops = "document: AnandTech 15491, of the PM1725a as a card"
read_rate = "document: AnandTech 15491, of the PM1725a as a card"
write_rate = "derived: write_iops of 4 KiB"
flush = "assumed: 0.005 ms .. 0.05 ms"
refill_interval = "assumed: 0.1 ms .. 10 ms"
carry_over = "assumed: 0 s .. 0.01 s"
flushes_counted = "assumed: true .. false"
""",
    "sam850pro": """
kind = "flash"
name = "Samsung 850 Pro"
interface = "SATA 6 Gb/s"
capacity = "512 GB"
cell = "mlc"
channels = 8
dies = 32
page = "16 KiB"
unit = "4 KiB"
spread = 4
read = "50 us"
program = "655 us"
program_size = "32 KiB"
erase = "10 ms"
block = "8 MiB"
over_provisioning = 0.014
channel_rate = "400 MB/s"
link_rate = "550 MB/s"
controller_iops = 100000
read_latency = "30 us"
write_latency = "20 us"
buffer = "16 MiB"
power_loss_protection = false
flush = "FLUSH us"
queue_depth = 32

[sources]
interface = "datasheet: Samsung SSD 850 Pro"
capacity = "assumed: 256 GB .. 1024 GB"
cell = "datasheet: Samsung SSD 850 Pro, 2-bit MLC V-NAND"
channels = "assumed: 4 .. 8"
dies = "derived: 128 Gbit a die (ocaholic, Samsung 850 Pro)"
page = "assumed: 8 KiB .. 32 KiB"
unit = "assumed: 4 KiB .. 16 KiB"
spread = "assumed: 1 .. 16"
read = "document: HP, Technology differences between SLC, MLC and TLC NAND, table 1: 50 us for MLC"
program = "derived: 32 KiB at 50 MB/s, of 24 layers for personal computers (Samsung, ISSCC 2014, 19.5; this has 32)"
program_size = "assumed: 16 KiB .. 64 KiB"
erase = "assumed: 3 ms .. 10 ms"
block = "assumed: 2 MiB .. 16 MiB"
over_provisioning = "derived: 9,000 writes of 4 KiB a second, full and overwritten at random (8,000 .. 10,000)"
channel_rate = "assumed: 200 MB/s .. 533 MB/s"
link_rate = "datasheet: Samsung SSD 850 Pro, sequential read"
controller_iops = "datasheet: Samsung SSD 850 Pro, random read"
read_latency = "derived: 10,000 reads of 4 KiB a second one at a time (datasheet) less sensing and transfer"
write_latency = "derived: 36,000 writes of 4 KiB a second one at a time (datasheet) less transfer"
buffer = "assumed: 4 MiB .. 64 MiB"
power_loss_protection = "datasheet: Samsung SSD 850 Pro, none"
flush = "derived: 391 writes of 4 KiB a second (centminmod-sysbench, fsync_fio), two flushes each, less a program"
queue_depth = "document: 32 commands of SATA's native queue"
""",
}


def experiment(folder: Path | None) -> Experiment:
    """Transactions of each cell, how many pairs come out in the right order; *folder* holds the figures."""
    title = "InnoDB on two drives of Samsung: TPC-C by buffer pool and size of a page"
    source = "Percona-Lab-results, 201607-tpcc-samsung-storage: tpcc-mysql, 1,000 warehouses, Percona Server 5.7"
    fitted = "CPU of a transaction by page size, to the PM1725 with 115 GB"
    rows = figures(folder, FILE)
    if not rows:
        return Experiment("innodb-samsung", title, source, fitted, missing=MISSING)
    measured: dict[Cell, float] = {
        (row["drive"], int(row["page_kib"]), int(row["pool_gb"])): float(row["notpm"])
        for row in rows
        if row["drive"] in _DRIVES
    }
    cpu_us = {page: _fit_cpu(cell, measured[cell]) for page, cell in _CPU_OF.items()}
    different = {_different(cell): cpu_us[cell[1]] for cell in measured}
    rates = {cell: _rate(cell, each_us) for cell, each_us in different.items()}
    ends = {
        cell: [_rate(cell, each_us, server) for server in (_SLOW, _FAST)]
        for cell, each_us in different.items()
        if cell[0] == "sam850pro"
    }
    predicted = {cell: rates[_different(cell)] for cell in measured}
    return Experiment(
        "innodb-samsung", title, source, fitted, tuple(_claims(measured, predicted, ends)), fits=2,
        assumed=("settings of the server: of a sister set", "clients: 100 (56 .. 200)", "sizes of rows", "contention",
                 "chips of the drives, and that they are in steady state"),
        basis="innodb",
    )  # fmt: skip


def _claims(
    measured: Mapping[Cell, float], predicted: Mapping[Cell, float], ends: Mapping[Cell, Sequence[float]]
) -> Iterator[Claim]:
    judged = [cell for cell in measured if cell not in _CPU_OF.values()]
    for cell in measured:
        drive, page_kib, pool = cell
        low, high = ends.get(_different(cell), (None, None))
        yield Claim(
            f"{drive}, {page_kib} KiB, {pool} GB: new orders",
            "per min",
            measured[cell],
            predicted[cell],
            _EACH_PCT,
            fitted=cell in _CPU_OF.values(),
            low=low,
            high=high,
            figure="throughput",
        )
    pairs = [
        (one, other)
        for one, other in combinations(measured, 2)
        if abs(measured[one] - measured[other]) > _APART * min(measured[one], measured[other])
    ]
    right = sum((measured[a] < measured[b]) == (predicted[a] < predicted[b]) for a, b in pairs)
    yield Claim(
        f"pairs of {len(pairs)} that differ by more than {_APART:.0%}, in the right order",
        "%", _RANKED_PCT, 100 * right / len(pairs), 0, within=(_RANKED_PCT, 100),
    )  # fmt: skip
    errors = [100 * abs(predicted[cell] / measured[cell] - 1) for cell in judged]
    yield Claim(
        f"median error of {len(judged)} cells", "%", _MEDIAN_PCT, median(errors), 0, at_most=True, note=_REASONS
    )


def _fit_cpu(cell: Cell, measured: float) -> float:
    """Return the CPU in us with which a cell runs as it did."""
    cpu_us = _FIRST_CPU_US
    for _ in range(3):
        cpu_us *= _rate(cell, cpu_us) / measured
    return cpu_us


def _different(cell: Cell) -> Cell:
    """Return the cell with the smallest pool that does the same."""
    drive, page_kib, pool = cell
    return drive, page_kib, min(pool, _ALL_GB)


def _rate(cell: Cell, cpu_us: float, server: _Server = _ASSUMED) -> float:
    """Return the new orders a minute of a cell."""
    drive, page_kib, pool = cell
    smaller = 16 // page_kib
    before_s, seconds = _SECONDS[drive]
    load = _WORKLOAD.format(
        page_kib=page_kib,
        pool_kib=pool * 10**9 // 1024 // _FACTOR,
        seconds=seconds,
        by_second=scaled(_FACTOR, 5000, 7500),
        scan_depth=max(5000 // _FACTOR, 1),
        redo=server.redo_gb * 10**9 // _FACTOR,
        method="O_DIRECT" if server.flushes else "O_DIRECT_NO_FSYNC",
        binary_log="ON" if server.binary_log else "OFF",
        tables=tpcc(_WAREHOUSES // _FACTOR, round(cpu_us), _CLIENTS, tpcc_mysql(smaller), smaller),
    )
    text = _DRIVES[drive].replace("FLUSH", str(server.flush_us))
    bench = Bench(text, cores=56, contention=0.02, read_us=READ_NS / 1000, warmup_s=before_s, volume=_VOLUME)
    return 60 * _NEW_ORDERS * bench.transactions_per_s(load)
