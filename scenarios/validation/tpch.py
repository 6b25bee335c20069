"""Founding document 000: TPC-H at scale factor 100 with 48 and with 144 GB of memory, and on three storages with 144 GB.

The plans of the queries are not told: what they scan and look up is assumed from their predicates, in the library's workload, so claims are about
factors and not about figures. The run is one of a hundredth of the scale, memory included, whose ratios are the same.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import scaled_down, summary_of

_FACTOR = 100
#: Of 48 GB, and of 144 GB.
_SMALL, _LARGE = (f"engine.buffer_pool={size // _FACTOR}B" for size in (45 << 30, 135 * 10**9))


def _metrics(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Return what power and throughput are proportional to: queries a second, the one by their geometric mean."""
    streams = summary["streams"]
    return 1 / streams["power"]["geometric_mean_ns"], 1 / streams["throughput"]["elapsed_ns"]


def experiment() -> Experiment:
    """Memory makes a factor, storage next to none when all is in memory."""
    workload = scaled_down("tpch-100", _FACTOR)
    small, large, disks, ssds = (
        _metrics(summary_of(workload, scenario, [pool]))
        for scenario, pool in (
            ("t610-fusion", _SMALL), ("t610-fusion", _LARGE), ("hdd-100", _LARGE), ("sata-ssd-12", _LARGE),
        )
    )  # fmt: skip
    return Experiment(
        "tpch",
        "TPC-H at scale factor 100: memory against storage",
        "founding document 000: published results of 2 x Xeon X5570",
        "nothing; what queries scan and look up is assumed, and that they spill little, as the document's author says: so only factors are claimed",
        (
            Claim("power, 144 GB over 48 GB", "", 72134.0 / 38550.7, large[0] / small[0], 32),
            Claim("throughput, 144 GB over 48 GB", "", 36313.6 / 21475.1, large[1] / small[1], 32),
            Claim("144 GB, 100 disks over 4 ioDrives: power", "", 67712.9 / 72110.5, disks[0] / large[0], 10),
            Claim("144 GB, 100 disks over 4 ioDrives: throughput", "", 38019.1 / 36190.8, disks[1] / large[1], 10),
            Claim("144 GB, 12 SATA SSDs over 4 ioDrives: power", "", 70048.5 / 72110.5, ssds[0] / large[0], 10),
            Claim("144 GB, 12 SATA SSDs over 4 ioDrives: throughput", "", 37749.1 / 36190.8, ssds[1] / large[1], 10),
        ),
    )
