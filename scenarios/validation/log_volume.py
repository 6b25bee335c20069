"""How much log a transaction of pgbench writes: records, and whole pages after each checkpoint.

PostgreSQL puts a whole page into the log when it is changed for the first time after a checkpoint began
(full_page_writes; access/transam/xloginsert.c). Of n changes at random among N pages, N (1 - exp(-n / N)) are such.
``simple-update`` changes one page of ``pgbench_accounts`` a transaction. Its index is changed only when the new version
of the row does not fit on the page of the old one: that is the first update of each page after the table was filled
(fillfactor 100); the place that it leaves serves the later ones (HOT).

Which run is meant, its rate, and how much it logged: T. Vondra, pg-fs-benchmark (2022; 3600 s each, checkpoint_timeout
= 15 min, max_wal_size = 64 GB on "i5" and 128 GB on "xeon").
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, expm1
from statistics import median

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.pgbench import heap_pages, leaf_pages
from tiersim.simulator.database.checkpoint.checkpointer import SEGMENT_BYTES, distance_segments

#: What an image takes: a page less its hole. 61 rows of 128 bytes leave no room on a heap page; leaves are filled to 90
#: %.
HEAP_IMAGE_BYTES, INDEX_IMAGE_BYTES = 8100, 7400
#: PostgreSQL 16 in development.
VERSION = 160000
TIMEOUT_S, RUN_S = 900, 3600
MAX_WAL_BYTES = {"i5": 64 << 30, "xeon": 128 << 30}
FITTED_SCALE = 50


@dataclass(frozen=True)
class PublishedRun:
    """A published run: RAID level and scale, then transactions per second and bytes of log a transaction on XFS and on
    ext4.
    """

    host: str
    level: int
    scale: int
    tps: tuple[float, float]
    log_bytes: tuple[float, float]


RUNS = (
    PublishedRun("i5", 1, 50, (17_867, 18_212), (310, 308)),
    PublishedRun("i5", 1, 250, (9_420, 9_596), (711, 702)),
    PublishedRun("i5", 1, 1000, (3_541, 3_532), (4_127, 4_134)),
    PublishedRun("i5", 10, 50, (19_725, 20_181), (303, 301)),
    PublishedRun("i5", 10, 250, (14_652, 14_914), (542, 537)),
    PublishedRun("i5", 10, 1000, (5_820, 5_901), (2_831, 2_801)),
    PublishedRun("i5", 0, 50, (20_241, 20_777), (301, 299)),
    PublishedRun("i5", 0, 250, (16_881, 17_335), (504, 500)),
    PublishedRun("i5", 0, 1000, (7_650, 7_707), (2_257, 2_243)),
    PublishedRun("i5", 5, 50, (18_825, 18_593), (303, 304)),
    PublishedRun("i5", 5, 250, (11_835, 11_650), (618, 623)),
    PublishedRun("i5", 5, 1000, (4_957, 4_941), (3_219, 3_226)),
    PublishedRun("i5", 6, 50, (18_374, 18_223), (304, 305)),
    PublishedRun("i5", 6, 250, (11_433, 11_035), (631, 643)),
    PublishedRun("i5", 6, 1000, (4_118, 4_124), (3_705, 3_701)),
    PublishedRun("i5", 0, 5000, (5_891, 5_826), (8_133, 8_155)),
    PublishedRun("i5", 10, 5000, (4_502, 4_491), (8_503, 8_517)),
    PublishedRun("i5", 5, 5000, (3_487, 3_333), (9_338, 9_488)),
    PublishedRun("i5", 6, 5000, (2_683, 2_492), (10_177, 10_401)),
    PublishedRun("i5", 0, 5000, (4_292, 4_290), (8_647, 8_650)),
    PublishedRun("i5", 0, 5000, (2_931, 2_938), (9_879, 9_872)),
    PublishedRun("xeon", 0, 100, (85_765, 85_291), (314, 306)),
    PublishedRun("xeon", 0, 1000, (58_991, 58_736), (579, 577)),
    PublishedRun("xeon", 0, 10_000, (30_977, 30_495), (6_941, 6_962)),
    PublishedRun("xeon", 0, 10_000, (20_284, 20_165), (7_412, 7_418)),
    PublishedRun("xeon", 0, 10_000, (9_264, 9_249), (8_478, 8_484)),
)


def images(pages: float, changes: float) -> float:
    """Return how many of so many *changes* at random are the first of their page."""
    return pages * -expm1(-changes / pages)


def log_bytes(scale: int, before: float, transactions: float, record_bytes: float) -> float:
    """Return the log of the *transactions* that follow the beginning of a checkpoint, when there were so many *before*
    it.
    """
    heap, index = heap_pages(scale), leaf_pages(scale)
    moved = exp(-before / heap) * images(heap, transactions)
    return (
        record_bytes * transactions
        + HEAP_IMAGE_BYTES * images(heap, transactions)
        + INDEX_IMAGE_BYTES * images(index, moved)
    )


def transactions_until(scale: int, before: float, distance_bytes: float, record_bytes: float) -> float:
    """Return how many transactions write so much log after the beginning of a checkpoint, by bisection."""
    low, high = 0.0, distance_bytes / record_bytes
    while high - low > 1:
        middle = (low + high) / 2
        if log_bytes(scale, before, middle, record_bytes) > distance_bytes:
            high = middle
        else:
            low = middle
    return low


def distance_bytes(host: str) -> int:
    """Return the log between checkpoints that the log asks for, on a host of the runs."""
    return distance_segments(VERSION, MAX_WAL_BYTES[host], 0.9) * SEGMENT_BYTES


def log_bytes_of_run(host: str, scale: int, tps: float, record_bytes: float, timeout_s: float = TIMEOUT_S) -> float:
    """Return bytes of log a transaction, over a run with a checkpoint when time or log ask for it."""
    every, done, logged = tps * RUN_S, 0.0, 0.0
    while every - done > 1:
        transactions = min(tps * timeout_s, every - done)
        found = log_bytes(scale, done, transactions, record_bytes)
        if found > distance_bytes(host):
            transactions = transactions_until(scale, done, distance_bytes(host), record_bytes)
            found = log_bytes(scale, done, transactions, record_bytes)
        done += transactions
        logged += found
    return logged / every


def record_bytes() -> float:
    """Return what the records of a transaction take: the median over the runs of the smallest scale, which write few
    images.
    """
    return median(
        published - log_bytes_of_run(run.host, run.scale, tps, 0)
        for run in RUNS
        if run.scale == FITTED_SCALE
        for tps, published in zip(run.tps, run.log_bytes, strict=True)
    )


def experiment() -> Experiment:
    """Every run, and the median of their errors."""
    return Experiment(
        "log-volume",
        "Log of a transaction: 52 runs of pgbench (simple-update), from their rate",
        "T. Vondra, pg-fs-benchmark (means of XFS and ext4)",
        "the records of a transaction, to the runs of scale 50",
        tuple(_claims()),
        basis="calibrated",
    )


def _claims() -> Iterator[Claim]:
    records = record_bytes()
    errors = []
    for run in RUNS:
        predicted = [log_bytes_of_run(run.host, run.scale, tps, records) for tps in run.tps]
        fitted = run.scale == FITTED_SCALE
        if not fitted:
            errors += [abs(100 * (p / m - 1)) for p, m in zip(predicted, run.log_bytes, strict=True)]
        what = f"{run.host}, RAID {run.level}, scale {run.scale:,}, {sum(run.tps) / 2:,.0f} per s"
        yield Claim(what, "bytes", sum(run.log_bytes) / 2, sum(predicted) / 2, 12, fitted, figure="count")
    yield Claim(f"absolute error, median of {len(errors)} runs: 12 is wanted", "%", 12, median(errors), 0, at_most=True)
