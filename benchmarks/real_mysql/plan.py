"""What is to be measured: a file of tables, settings and cells."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from tiersim.toml_files import Bytes, Nanoseconds, StrictModel, read_model
from tiersim.units import parse_bytes

Workload = Literal["select_zipf", "update_zipf", "mixed"]


class Kind(StrictModel):
    """Cells of a load: one for each pool; without *iops* the device has no cap.

    *variant* names what *settings* beside those of all make of it.
    """

    load: Workload
    pools_mib: list[int] = Field(min_length=1)
    iops: int | None = Field(default=None, gt=0)
    variant: str | None = None
    settings: dict[str, str] = Field(default_factory=dict)
    warm: Nanoseconds
    run: Nanoseconds


class Plan(StrictModel):
    """A table of *rows*, and all cells on it; each begins with a time without its cap, and *settle* under it."""

    image: Bytes
    rows: int = Field(gt=0)
    clients: int = Field(gt=0)
    settle: Nanoseconds
    repeats: int = Field(default=1, gt=0)
    settings: dict[str, str]
    cells: list[Kind] = Field(min_length=1)


@dataclass(frozen=True)
class Cell:
    """One server to measure."""

    name: str
    load: Workload
    pool_mib: int
    iops: int | None
    settings: dict[str, str]
    rows: int
    clients: int
    warm_s: float
    settle_s: float
    run_s: float

    @property
    def redo_mib(self) -> int:
        """The size of the redo log."""
        return parse_bytes(f"{self.settings['innodb_log_file_size']}iB") >> 20

    @property
    def binary_log(self) -> bool:
        """Whether there is one."""
        return "log_bin" in self.settings


def read_plan(path: Path) -> Plan:
    """Read a plan; raises ScenarioError."""
    return read_model(Plan, path)


def blocks(plan: Plan) -> list[list[Cell]]:
    """Return the first repeat of all cells in an order that is drawn, then the second, and so on."""
    numbers = range(1, plan.repeats + 1)
    every = [[_cell(plan, kind, pool, number) for kind in plan.cells for pool in kind.pools_mib] for number in numbers]
    return [random.Random(number).sample(block, len(block)) for number, block in zip(numbers, every, strict=True)]


def _cell(plan: Plan, kind: Kind, pool_mib: int, number: int) -> Cell:
    cap = "free" if kind.iops is None else f"{'r' if kind.load == 'select_zipf' else 'rw'}{kind.iops}"
    parts = [kind.load, f"bp{pool_mib}", cap, *([kind.variant] if kind.variant else [])]
    return Cell(
        "_".join(parts) + (f"-{number}" if plan.repeats > 1 else ""),
        kind.load,
        pool_mib,
        kind.iops,
        plan.settings | kind.settings | {"innodb_buffer_pool_size": f"{pool_mib}M"},
        plan.rows,
        plan.clients,
        kind.warm / 1e9,
        plan.settle / 1e9,
        kind.run / 1e9,
    )
