"""A PERC 6/i with five 15K SAS drives against what was measured of one: ``python -m tiersim.scenarios.validation.perc6``.

Measured with IOMeter by Scott R., comments of 4 and 5 September 2008 on J. Chang's "IO cost structure" (sqlblog.com): requests of
256 KB, 1 to 128 outstanding, 64 KB stripe units, no read-ahead by the controller; MB/s, lowest and highest of the eight depths.
Not told are the drives' type (15K.5 drives are assumed), how much of the volume the test file takes, and where it lies.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tiersim.devices.plant import PlantBuilder
from tiersim.operations import READ, WRITE
from tiersim.scenarios.model import load_scenario
from tiersim.scenarios.validation.closed import Loop, at_random, run_closed, sequential, settled_bytes_per_s

LENGTH_BYTES = 256 << 10
DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128)
#: Share of the volume that requests are spread over; fitted to 40 MB/s of random reads at depth 1, and to nothing else.
SPAN = 0.5
#: Where the test file begins within its partition: on whole stripe units and not on whole rows of four. Were it on rows, random
#: writes would be twice as fast with an aligned partition as without, and they were measured to be as fast.
_FILE_BYTES = 64 << 10
#: Where the test file begins, by where the partition does.
STARTS = {"31.5 KB": 63 * 512 + _FILE_BYTES, "1 MB": (1 << 20) + _FILE_BYTES}
Pattern = Literal["sequential read", "sequential write", "random read", "random write"]
Policy = Literal["write-back", "write-through"]
#: (layout, policy, start): lowest and highest of the patterns in their order.
MEASURED: dict[tuple[str, Policy, str], dict[Pattern, tuple[int, int]]] = {
    ("raid5", "write-back", "31.5 KB"): {
        "sequential read": (337, 498), "sequential write": (317, 345), "random read": (40, 135), "random write": (50, 52),
    },
    ("raid5", "write-back", "1 MB"): {
        "sequential read": (397, 498), "sequential write": (322, 354), "random read": (41, 134), "random write": (50, 52),
    },
    ("raid5", "write-through", "31.5 KB"): {
        "sequential read": (365, 498), "sequential write": (22, 22), "random read": (37, 134), "random write": (16, 47),
    },
    ("raid5", "write-through", "1 MB"): {
        "sequential read": (438, 498), "sequential write": (22, 22), "random read": (41, 133), "random write": (16, 47),
    },
    ("raid0", "write-back", "31.5 KB"): {
        "sequential read": (453, 457), "sequential write": (28, 31), "random read": (40, 123), "random write": (15, 18),
    },
    ("raid0", "write-back", "1 MB"): {
        "sequential read": (474, 623), "sequential write": (31, 33), "random read": (37, 136), "random write": (15, 19),
    },
    ("raid0", "write-through", "31.5 KB"): {
        "sequential read": (455, 457), "sequential write": (53, 55), "random read": (28, 123), "random write": (32, 98),
    },
    ("raid0", "write-through", "1 MB"): {
        "sequential read": (526, 623), "sequential write": (56, 56), "random read": (41, 137), "random write": (31, 105),
    },
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One pattern on one array: MB/s by depth, and what was measured."""

    layout: str
    policy: Policy
    start: str
    pattern: Pattern
    predicted_mb_s: dict[int, float]
    measured_mb_s: tuple[int, int]

    @property
    def ends_pct(self) -> tuple[float, float]:
        """By how much the lowest and the highest figure differ from those that were measured."""
        low, high = self.measured_mb_s
        found = self.predicted_mb_s.values()
        return 100 * (min(found) / low - 1), 100 * (max(found) / high - 1)


def predict_mb_s(layout: str, policy: Policy, start: str, pattern: Pattern, depth: int, count: int) -> float:
    """Throughput of *count* commands of 256 KiB in a closed loop, after the first half of them."""
    settings = [f"volumes.data.layout={layout}", f"controllers.perc6.write_policy={policy}"]
    if layout == "raid0":
        settings.append("controllers.perc6.known_defect=perc6-raid0-write-back")
    scenario = load_scenario("perc6-raid5", settings)
    builder = PlantBuilder(1)
    entry = scenario.build(builder)["data"]
    first = STARTS[start]
    if pattern.startswith("sequential"):
        offset = sequential(count, first, LENGTH_BYTES)
    else:
        span = int(SPAN * scenario.volumes["data"].capacity_bytes)
        offset = at_random(count, first, LENGTH_BYTES, span, seed=depth)
    op = READ if pattern.endswith("read") else WRITE
    return settled_bytes_per_s(run_closed(builder, [Loop(offset, op, entry, LENGTH_BYTES, depth)])) / 1e6


def rows(count: int = 8000) -> Iterator[Row]:
    """Every measured row with its prediction."""
    for (layout, policy, start), patterns in MEASURED.items():
        for pattern, measured in patterns.items():
            found = {depth: predict_mb_s(layout, policy, start, pattern, depth, count) for depth in DEPTHS}
            yield Row(layout, policy, start, pattern, found, measured)


def main() -> None:
    """Write the table of all rows."""
    depths = "".join(f"{depth:>7}" for depth in DEPTHS)
    sys.stdout.write(f"{'MB/s by depth':48}{depths}   measured   low  high\n")
    for row in rows():
        figures = "".join(f"{value:7.0f}" for value in row.predicted_mb_s.values())
        low, high = row.ends_pct
        name = f"{row.layout} {row.policy}, {row.start}, {row.pattern}"
        measured = "{}-{}".format(*row.measured_mb_s)
        sys.stdout.write(f"{name:48}{figures} {measured:>10} {low:+5.0f} {high:+5.0f} %\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
