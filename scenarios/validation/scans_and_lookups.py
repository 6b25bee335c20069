"""Founding document 002: table scans and key lookups of SQL Server 2008 on eight disks, and what they cost the processor."""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import summary_of

_SCENARIO = "dell-2900"
_PAGES = 20_000_000_000 // 8192


def _cpu_us(summary: Mapping[str, Any], statement: str) -> float:
    """Return the CPU of an execution."""
    return float(summary["queries"][statement]["breakdown_ns"]["cpu"]) / 1e3


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
        "the engine's limit at READ COMMITTED, which is the document's own figure; the costs of pages are the document's, so those claims say "
        "that nothing is lost on the way; the drives, the reads ahead of a scan and the pool of the lookups are assumed",
        (
            Claim("scan, NOLOCK, empty pool", "MB/s", 707, rate["nolock_cold"], 10),
            Claim("scan, READ COMMITTED, full pool", "MB/s", 680, rate["committed_warm"], 10),
            Claim("scan, READ COMMITTED, empty pool", "MB/s", 367, rate["committed_cold"], 10, fitted=True),
            Claim("CPU of a page that a scan reads", "µs", 4.45, read_us, 5),
            Claim("with the eviction of another", "µs", 8, evicting_us, 5),
            Claim("25 rows", "ms", 110, took_ms["rows_25"], 20),
            Claim("25 rows, CPU", "ms", 0.82, _cpu_us(lookups, "rows_25") / 1e3, 15),
            Claim("26 rows", "ms", 26, took_ms["rows_26"], 20),
            Claim("26 rows, CPU", "ms", 0.69, _cpu_us(lookups, "rows_26") / 1e3, 20),
            Claim("26 rows by RPC over 25", "", 26 / 25, took_ms["rows_26_rpc"] / took_ms["rows_25"], 5),
        ),
    )
