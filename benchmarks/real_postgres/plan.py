"""What is to be measured: a file of settings, kinds of servers and rounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from benchmarks.real_postgres.dips import WINDOW_S
from tiersim.scenarios.validation.cell_figures import Script
from tiersim.toml_files import Bytes, Nanoseconds, StrictModel, read_model


class Load(StrictModel):
    """pgbench's rows and clients, and what goes before the measurement.

    *age*: so many updates before all cells, so that hot pages have room for new versions of their rows. *prewarm*:
    before each the pool is
    filled with pages of the table. With *log_image* the log lies on a device of its own, of that size. *apart*: the
    server has the first processor alone, clients and what looks on have the others.
    """

    scale: int = Field(gt=0)
    clients: int = Field(gt=0)
    age: int = Field(default=0, ge=0)
    prewarm: bool = False
    log_image: Bytes | None = None
    apart: bool = False
    warm: Nanoseconds
    settle: Nanoseconds


class Kind(StrictModel):
    """A kind of server: its load, settings beside those of all, and what memory it may use with its share of the page
    cache.
    """

    script: Script = "updates"
    settings: dict[str, str]
    memory: Bytes | None = None


class Round(StrictModel):
    """One server of each kind, measured at the same time; without *iops* the device has no cap, without *log_iops* that
    of the log has none.
    """

    name: str
    kinds: list[str] = Field(min_length=1)
    run: Nanoseconds = Field(ge=round(WINDOW_S * 1e9))
    repeats: int = Field(default=1, gt=0)
    iops: int | None = Field(default=None, gt=0)
    log_iops: int | None = Field(default=None, gt=0)
    settings: dict[str, str] = Field(default_factory=dict)


class Plan(StrictModel):
    """All rounds, in their order."""

    image: Bytes
    load: Load
    settings: dict[str, str]
    kinds: dict[str, Kind]
    rounds: list[Round] = Field(min_length=1)

    @model_validator(mode="after")
    def _kinds_are_known(self) -> Self:
        for kind in {kind for one in self.rounds for kind in one.kinds} - set(self.kinds):
            raise ValueError(f"rounds: {kind!r} is none of the kinds: {', '.join(self.kinds)}")
        return self


@dataclass(frozen=True, eq=False)
class Cell:
    """One server to measure."""

    name: str
    kind: str
    script: Script
    settings: dict[str, str]
    memory_bytes: int | None
    load: Load
    run_s: float
    iops: int | None
    log_iops: int | None = None


def read_plan(path: Path) -> Plan:
    """Read a plan; raises ScenarioError."""
    return read_model(Plan, path)


def cells(plan: Plan) -> list[list[Cell]]:
    """Return the cells; those of one list are measured at the same time."""
    return [
        [
            Cell(
                f"{kind}-{one.name}" if one.repeats == 1 else f"{kind}-{one.name}-{number}",
                kind,
                plan.kinds[kind].script,
                plan.settings | plan.kinds[kind].settings | one.settings,
                plan.kinds[kind].memory,
                plan.load,
                one.run / 1e9,
                one.iops,
                one.log_iops,
            )
            for kind in one.kinds
        ]
        for one in plan.rounds
        for number in range(1, one.repeats + 1)
    ]
