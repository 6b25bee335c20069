"""Say how much CPU a transaction of each cell took, and whose: ``python -m benchmarks.real_postgres.processes OUT``.

OUT is what ``benchmarks.real_postgres.matrix`` measured. The load generator does the same for every transaction of a
load: where it takes more, the host was slower, or idle. So was it where windows of a cell without a cap differ.
"""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

from tiersim.scenarios.validation.matrix_cells import COUNTERS, Cell, cells_of, repeats_of
from tiersim.traces.recorders.processes import BACKENDS, KERNEL, LOAD_GENERATOR

_US_PER_S = 1_000_000
_HEADING = """\
| cell | tx/s | its windows | misses/tx | µs/tx: sessions | load generator | kernel threads | all |
|---|--:|--:|--:|--:|--:|--:|--:|"""


@dataclass(frozen=True)
class Use:
    """CPU of a transaction in µs, by whose."""

    sessions_us: float
    generator_us: float
    kernel_us: float

    @property
    def all_us(self) -> float:
        """Of these together."""
        return self.sessions_us + self.generator_us + self.kernel_us


def use_of(cell: Cell, transactions_per_s: float) -> Use | None:
    """Return what processes used a transaction while so many ended in a second; None if nobody looked at them."""
    path = cell.folder / COUNTERS / "processes.after.csv"
    if not path.exists():
        return None
    with path.open(newline="", encoding="utf-8") as file:
        busy = {one["process"]: float(one["cpu_ms"]) / float(one["observed_ms"]) for one in csv.DictReader(file)}
    return Use(*(_US_PER_S * busy.get(kind, 0.0) / transactions_per_s for kind in (BACKENDS, LOAD_GENERATOR, KERNEL)))


def row(cell: Cell) -> str:
    """Return a line of the table: of the first repeat, which has the looks."""
    first = repeats_of(cell)[0]
    use = use_of(cell, first["transactions_per_s"])
    windows = first["windows_per_s"]
    mean = sum(windows) / len(windows)
    shares = f"{min(windows) / mean:.2f} to {max(windows) / mean:.2f}"
    used = ["", "", "", ""]
    if use is not None:
        used = [f"{us:.1f}" for us in (use.sessions_us, use.generator_us, use.kernel_us, use.all_us)]
    figures = [cell.name, f"{first['transactions_per_s']:,.0f}", shares, f"{cell.figures['misses']:.3f}", *used]
    return "| " + " | ".join(figures) + " |"


def main() -> int:
    """Print the table of the folder that the command names; returns the exit code."""
    if len(sys.argv) != 2:
        print("usage: python -m benchmarks.real_postgres.processes OUT", file=sys.stderr)
        return 2
    print("\n".join([_HEADING, *(row(cell) for cell in cells_of(Path(sys.argv[1])))]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
