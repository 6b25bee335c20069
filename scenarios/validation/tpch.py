"""Founding document 000: TPC-H at scale factor 100 with 48 and with 144 GB of memory, and on three storages with 144
GB.

The plans of the queries are not told: what they scan and look up is assumed from their predicates, in the library's
workload, so claims are about factors and not about figures. The run is one of a hundredth of the scale, memory
included, whose ratios are the same but for what latencies make of short scans.
"""

from collections.abc import Mapping
from typing import Any

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import scaled_down, summary_of

_FACTOR = 100
#: Of 48 GB, and of 144 GB.
_SMALL, _LARGE = (f"engine.buffer_pool={size // _FACTOR}B" for size in (45 << 30, 135 * 10**9))

#: What more memory makes of it: a direction and a range, as the plans are not told.
_BY_MEMORY = (1.3, 2.5)
#: Of the document's 87 %: SPECint of the processors, and what is left.
_BY_CPU, _BY_STORAGE = 1.62, 1.15


def _metrics(summary: Mapping[str, Any]) -> tuple[float, float]:
    """Return what power and throughput are proportional to: queries a second, the one by their geometric mean."""
    streams = summary["streams"]
    return 1 / streams["power"]["geometric_mean_ns"], 1 / streams["throughput"]["elapsed_ns"]


def experiment() -> Experiment:
    """Memory makes a factor, storage next to none when all is in memory."""
    workload = scaled_down("tpch-100", _FACTOR)
    small, large, disks, ssds, small_disks, old = (
        _metrics(summary_of(workload, scenario, settings))
        for scenario, settings in (
            ("t610-fusion", [_SMALL]), ("t610-fusion", [_LARGE]), ("hdd-100", [_LARGE]), ("sata-ssd-12", [_LARGE]),
            ("hdd-100", [_SMALL]), ("hdd-100", [_SMALL, "host.cpu=xeon-x5355"]),
        )
    )  # fmt: skip
    processors, storage = small_disks[0] / old[0], small[0] / small_disks[0]
    return Experiment(
        "tpch",
        "TPC-H at scale factor 100: memory against storage",
        "founding document 000: published results of 2 x Xeon X5570 and 2 x X5355",
        "nothing; what queries scan and look up is assumed, and that they spill little, as the document's author says:"
        " so only factors are claimed",
        (
            Claim(
                "power, 144 GB over 48 GB",
                "",
                72134.0 / 38550.7,
                large[0] / small[0],
                0,
                id="G08",
                within=_BY_MEMORY,
                figure="throughput",
            ),
            Claim(
                "throughput, 144 GB over 48 GB",
                "",
                36313.6 / 21475.1,
                large[1] / small[1],
                0,
                id="G08",
                within=_BY_MEMORY,
                figure="throughput",
            ),
            *(
                Claim(
                    f"144 GB, {name} over 4 ioDrives: {of}",
                    "",
                    published,
                    found[place] / large[place],
                    10,
                    id="G09",
                    figure="throughput",
                )
                for name, found, (power, throughput) in (
                    ("100 disks", disks, (67712.9 / 72110.5, 38019.1 / 36190.8)),
                    ("12 SATA SSDs", ssds, (70048.5 / 72110.5, 37749.1 / 36190.8)),
                )
                for place, of, published in ((0, "power", power), (1, "throughput", throughput))
            ),
            Claim(
                "48 GB, 2 x 5355 on disks to 2 x 5570 on SSDs, power: part of the processors over that of storage",
                "",
                _BY_CPU / _BY_STORAGE,
                processors / storage,
                0,
                id="G10",
                kind="qualitative",
                within=(1, 100),
                note=(
                    f"predicted are {processors:.2f} by the processors and {storage:.2f} by storage; the document's"
                    f" {_BY_CPU} is SPECint's, the rest is put to storage; that the one server has 100 disks, too, is"
                    " assumed, and that versions 2005 and 2008 do the same. Latencies do not shrink with the scale: at"
                    " a twentieth of it, in place of a hundredth, 1.11 and 5.32"
                ),
            ),
        ),
        assumed=("what each query scans and looks up", "spills", "memory of 48 GB that is the pool's", "the drives"),
    )
