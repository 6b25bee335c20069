"""Founding document 002: what its costs of reads let eight cores do when storage is no limit.

It sets 200,000 reads of 8 KB a second and 2 GB/s as targets, from 30,000 to 45,000 reads a second and core, and eight
cores that do six to seven times the work of one. How much a core slows the others down was chosen by the first of these
(:data:`tiersim.simulator.database.sessions.processors.CONTENTION`). The rate of a scan depends on the rows of a page,
360 MB/s to 1.5 GB/s a core: the dense end is taken, as a target has to be met.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import summary_of

_STATEMENTS = {"readers": "read_row", "one_scan": "scan", "scans": "scan_by_eight"}


def _per_s(summary: Mapping[str, Any], stream: str, key: str) -> float:
    """Return what a stream did of *key*, which its statement does so much of each call, in a second."""
    found = summary["streams"][stream]
    per_call = summary["queries"][_STATEMENTS[stream]][key]
    return float(found["statements"] * per_call / found["elapsed_ns"] * 1e9)


def experiment() -> Experiment:
    """Reads that one core has the time for, those of eight, and scans of both."""
    summary = summary_of("ceilings", "dell-2900-ssd")
    cpu_ns = summary["queries"]["read_row_alone"]["breakdown_ns"]["cpu"]
    reads = _per_s(summary, "readers", "physical_reads_per_call")
    alone, together = (_per_s(summary, stream, "bulk_bytes_per_call") / 1e6 for stream in ("one_scan", "scans"))
    return Experiment(
        "ceilings",
        "What eight cores of 2008 can read when storage is no limit",
        "founding document 002, storage performance implications",
        "how much a core slows others down, to 200,000 reads of eight; assumed: the SSDs, and that the target of scans"
        " is one of dense pages",
        (
            Claim("reads of 8 cores", "1/s", 200_000, reads, 15, fitted=True, id="G06"),
            Claim(
                "reads that one core has the time for",
                "1/s",
                37_500,
                1e9 / cpu_ns,
                0,
                id="G06",
                within=(30_000, 45_000),
            ),
            Claim("scan by 8 cores, 323 rows a page", "MB/s", 2000, together, 15, id="G06"),
            Claim("scan by one core, 323 rows a page", "MB/s", 360, alone, 15, id="G06"),
            Claim("8 cores over one, scan", "times", 6.5, together / alone, 15, id="G06"),
        ),
        fits=1,
        assumed=("SSDs", "rows of a page"),
    )
