"""What figures are of: categories of requests, by purpose; flushes and discards by themselves; names of waits and of
statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tiersim.operations import DISCARD, FLUSH
from tiersim.traces.schema import LOG_WRITE, PURPOSES
from tiersim.units import is_of_largest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

REQUEST_CATEGORIES = (*PURPOSES, "log flush", "flush", "discard")
#: Waits that are made of requests, which are counted by themselves, too: in no total. What the server waits for when it
#: makes its log durable (the write, the flush behind it, the host between and after them), and the device's part of it.
DERIVED = ("log sync", "log sync on device")
CATEGORIES = (*REQUEST_CATEGORIES, *DERIVED)
#: Where several recordings run side by side, each has so many columns of the metrics.
COUNT = len(CATEGORIES)
#: What a database above the devices adds: slices of CPU, calls that start to read ahead, statements, transactions;
#: behind them one for each class of statements.
OF_DATABASES = ("processor", "read ahead", "statement", "transaction")
PROCESSOR, READ_AHEAD, STATEMENT, TRANSACTION = range(len(CATEGORIES), len(CATEGORIES) + len(OF_DATABASES))
FIRST_CLASS = len(CATEGORIES) + len(OF_DATABASES)
LOG_SYNC, LOG_SYNC_DEVICE = len(REQUEST_CATEGORIES), len(REQUEST_CATEGORIES) + 1
#: Columns of counts by category that count requests, each once.
REQUESTS = slice(len(REQUEST_CATEGORIES))
LOG_FLUSH, _FLUSH, _DISCARD = (CATEGORIES.index(name) for name in ("log flush", "flush", "discard"))


def categorise(op: NDArray[np.uint8], purpose: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Category of each request, uint8 index into CATEGORIES."""
    category = purpose.copy()
    category[op == FLUSH] = _FLUSH
    category[(op == FLUSH) & (purpose == LOG_WRITE)] = LOG_FLUSH
    category[op == DISCARD] = _DISCARD
    return category


#: Name of a transaction's time that none of its queries took.
ELSEWHERE = "outside the queries"
#: What the parts of a statement's time are called in tables, pages and sentences; JSON has the keys.
WAIT_NAMES = {
    "cpu": "CPU time of queries",
    "cpu queue": "waiting for a core",
    "data read": "waiting for data reads",
    "eviction": "waiting for evictions",
    "log": "waiting for the WAL",
    "lock": "waiting for row locks",
    "temp": "temporary files",
    "copy": "backups",
    ELSEWHERE: "client, between queries",
}

#: Percentiles that every table shows, by their key.
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
#: What tables and pages call the figures of a latency, by their key.
STATISTICS = {"mean": "mean"} | {key: f"p{100 * share:g}" for key, share in PERCENTILES.items()}


def middle_of(figure: Mapping[str, Any]) -> float | None:
    """Return the value of a figure; of one that is not resolved, the middle of where it lies.

    >>> middle_of({"value": None, "low": 1.0, "high": 3.0}), middle_of({"value": None, "low": 1.0, "high": None})
    (2.0, None)
    """
    if figure["value"] is not None:
        return float(figure["value"])
    return None if figure["low"] is None or figure["high"] is None else (figure["low"] + figure["high"]) / 2


def is_of_too_few(statistic: str, count: int) -> bool:
    """Tell whether a percentile of so many samples is that of their largest: less than one lies beyond it.

    >>> is_of_too_few("p99", 99), is_of_too_few("p99", 100), is_of_too_few("mean", 1)
    (True, False, False)
    """
    return is_of_largest(PERCENTILES.get(statistic, 0.0), count)
