"""Founding document 002: table scans and key lookups of SQL Server 2008 on eight disks, and what they cost the
processor.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import summary_of, with_stream
from tiersim.scenarios.workloads.model import StatementModel

_SCENARIO = "dell-2900"
_PAGES = 20_000_000_000 // 8192


def _cpu_us(summary: Mapping[str, Any], statement: str) -> float:
    """Return the CPU of an execution."""
    return float(summary["queries"][statement]["breakdown_ns"]["cpu"]) / 1e3


def _lookup(rows: int) -> StatementModel:
    return StatementModel.model_validate({"does": [{"lookup": "keys"}, {"lookup": "rows", "rows": rows}]})


def rows_at_once() -> int:
    """Return the smallest number of rows of which a query takes less than half as long as one row fewer does; 0: none
    around the published 26.
    """
    rows = range(23, 29)
    queries = summary_of(with_stream("lookups", "reader", [_lookup(count) for count in rows]), _SCENARIO)["queries"]
    took = [queries[f"reader_{place}"]["took_ns"] for place in range(len(rows))]
    return next((count for count, before, own in zip(rows[1:], took, took[1:], strict=False) if own < before / 2), 0)


def read_ms(rows: int) -> float:
    """Return how long a read of a query of so many *rows* is at the disks: of all reads, less those that fill the pool
    before (Little's law).
    """
    totals = []
    for statements in ([_lookup(rows)], []):
        summary = summary_of(with_stream("lookups", "reader", statements), _SCENARIO)
        disks, ends = summary["stations"]["data"], [stream["end_ns"] for stream in summary["streams"].values()]
        totals.append((disks["queue_mean"] * max(ends), disks["requests"]))
    (ns, count), (before_ns, before) = totals
    return float((ns - before_ns) / (count - before) / 1e6)


def experiment() -> Experiment:
    """Rates of scans, CPU of their pages, and the step between 25 and 26 rows."""
    scans, committed = summary_of("scans", _SCENARIO), summary_of("scan-committed", _SCENARIO)
    lookups = summary_of("lookups", _SCENARIO)
    rate = {name: query["bulk_mb_per_s"] for name, query in (scans["queries"] | committed["queries"]).items()}
    took_ms = {name: query["took_ns"] / 1e6 for name, query in lookups["queries"].items()}
    in_memory = _cpu_us(scans, "nolock_in_memory")
    read_us = (_cpu_us(scans, "nolock_cold") - in_memory) / _PAGES
    evicting_us = (_cpu_us(scans, "committed_warm") - in_memory) / _PAGES
    return Experiment(
        "scans-and-lookups",
        "Table scans and key lookups of SQL Server 2008, eight disks behind a PERC 6",
        "founding document 002",
        "the engine's limit at READ COMMITTED, which is the document's own figure; the costs of pages are the"
        " document's, so those claims say that nothing is lost on the way; the drives' outer rate is fitted to the"
        " backup of another experiment, the reads ahead of a scan and the pool of the lookups are assumed",
        (
            Claim("scan, NOLOCK, empty pool", "MB/s", 707, rate["nolock_cold"], 10, id="G04", figure="throughput"),
            Claim(
                "scan, READ COMMITTED, full pool",
                "MB/s",
                680,
                rate["committed_warm"],
                10,
                id="G04",
                figure="throughput",
            ),
            Claim(
                "scan, READ COMMITTED, empty pool",
                "MB/s",
                367,
                rate["committed_cold"],
                10,
                fitted=True,
                id="G04",
                figure="throughput",
            ),
            Claim("CPU of a page that a scan reads", "µs", 4.45, read_us, 10, id="G05"),
            Claim("with the eviction of another", "µs", 8, evicting_us, 10, id="G05"),
            Claim("25 rows", "ms", 110, took_ms["rows_25"], 15, id="G01", figure="mean"),
            Claim("25 rows, CPU", "ms", 0.82, _cpu_us(lookups, "rows_25") / 1e3, 15, id="G01"),
            Claim("26 rows", "ms", 26, took_ms["rows_26"], 20, id="G02", figure="mean"),
            Claim("26 rows, a read", "ms", 8.6, read_ms(26), 25, id="G02", figure="mean"),
            Claim("26 rows, CPU", "ms", 0.69, _cpu_us(lookups, "rows_26") / 1e3, 20, id="G02"),
            Claim("rows from which on they are read at once", "", 26, rows_at_once(), 0, id="G03", kind="arithmetic"),
            Claim("26 rows by RPC over 25", "", 26 / 25, took_ms["rows_26_rpc"] / took_ms["rows_25"], 5, id="G03"),
        ),
        fits=1,
        assumed=("drives", "reads ahead of a scan", "pool of the lookups"),
    )
