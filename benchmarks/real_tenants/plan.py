"""What is measured: a file of settings, a load and two servers or more."""

from pathlib import Path

from pydantic import Field

from benchmarks.real_postgres.dips import WINDOW_S
from benchmarks.real_postgres.plan import Cell, Load
from tiersim.scenarios.validation.cell_figures import Script
from tiersim.toml_files import Bytes, Nanoseconds, StrictModel, read_model


class Plan(StrictModel):
    """Servers by name, each with a script of pgbench, on one device that lets *iops* requests pass in a second, reads
    and writes together, in slices of time.
    """

    capacity: Bytes
    iops: int = Field(gt=0)
    slice: Nanoseconds = Field(gt=0)
    run: Nanoseconds = Field(ge=round(WINDOW_S * 1e9))
    repeats: int = Field(gt=0)
    load: Load
    settings: dict[str, str]
    tenants: dict[str, Script]

    @property
    def tokens(self) -> int:
        """Requests in each slice."""
        return self.iops * self.slice // 1_000_000_000

    def cell(self, tenant: str) -> Cell:
        """Return what the clients of one server do."""
        script = self.tenants[tenant]
        return Cell(tenant, tenant, script, self.settings, None, self.load, self.run / 1e9, None)


def read_plan(path: Path) -> Plan:
    """Read a plan; raises ScenarioError."""
    return read_model(Plan, path)
