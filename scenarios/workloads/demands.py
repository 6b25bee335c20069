"""From the steps of a statement to what the simulator's statements demand, by the rules of the workload's engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tiersim.scenarios.workloads.model import StatementModel
from tiersim.scenarios.workloads.steps import (
    Backup,
    Change,
    Commit,
    Compute,
    Copying,
    Lookup,
    Restore,
    Scan,
    Spill,
    Step,
    Write,
)
from tiersim.simulator.database.build import Demand, Relation
from tiersim.simulator.database.database_state import COMPUTE, COPY, LOCK, LOG, LOOKUP, LOOKUPS, SCAN, SPILL
from tiersim.simulator.database.sessions.copies import NOTHING
from tiersim.units import NS_PER_S

Engine = Literal["postgresql", "sqlserver", "mysql", "mariadb"]

#: Fewer rows are read one by one; only of statements that come as language events (founding document 002: the step is
#: between 25 and 26).
PREFETCHED_ROWS = 26
#: What SQL Server 2008 scanned a second at READ COMMITTED into an empty pool, where NOLOCK did 707 MB (founding
#: document 002, Dell 2900): a limit of the engine's lock mode and not of the disks. How it grows with faster cores
#: nobody measured; here it is as much faster as they are.
READ_COMMITTED_BYTES_PER_S = 367_000_000
#: A spill of SQL Server: so many buffers of this length, 256 KB as other bulk writes have (sizes of its IO, blog.csdn
#: OrchidCat 108216468); how many are under way was not found, assumed as many as a scan has.
_SPILL_BUFFERS, _SPILL_BYTES = 8, 256 << 10
#: A scan's reads: how many are under way and how long each is. SQL Server: up to 512 KB, 2 MB ahead (reading-pages.md;
#: dbanation). PostgreSQL 18: effective_io_concurrency and io_combine_limit by default. InnoDB: linear read-ahead, the
#: 64 pages of the next extent, a request each (buf0rea.cc).
_READS: Mapping[Engine, tuple[int, int]] = {
    "sqlserver": (4, 512 << 10),
    "postgresql": (16, 128 << 10),
    "mysql": (64, 16 << 10),
    "mariadb": (64, 16 << 10),
}


@dataclass(frozen=True)
class Ground:
    """What steps are laid on: relations by name and place, the volume of backups and where a file begins there, sizes,
    and cores' speed.
    """

    engine: Engine
    relations: Mapping[str, int]
    built: Sequence[Relation]
    lasting: int  # of the relations: those before the ones of tempdb
    page_bytes: int
    core_speed: float
    backup_station: int
    backup_from_bytes: int
    temp_station: int
    temp_from_bytes: int

    def on_this_core(self, cpu_ns: int) -> int:
        """Return CPU on a core of the scenario's host."""
        return round(cpu_ns / self.core_speed)


def cpu_of(statement: StatementModel) -> int:
    """Return the CPU in ns that a statement's own steps take on the described host."""
    return sum(step.compute for step in statement.does if isinstance(step, Compute))


def demands_of(statement: StatementModel, ground: Ground) -> list[Demand]:
    """Return the demands of a statement, in the order of its steps."""
    whole = max(cpu_of(statement), 1)
    return [demand for step in statement.does for demand in _of_step(step, statement, whole, ground)]


def pages_of(demand: Demand, relations: Sequence[Relation]) -> tuple[int, int]:
    """Return pages that a demand asks the pool for, and those that it goes through in bulk: of a scan, of a copy."""
    levels = relations[demand.table].level_pages
    if demand.kind == LOOKUP:
        return len(levels), 0
    if demand.kind == LOOKUPS:
        return demand.rows * len(levels), 0
    if demand.kind == SCAN:
        pages = demand.pages or levels[-1]
        return pages, pages
    if demand.kind == COPY:
        return 0, sum(sum(one.level_pages) for one in relations[demand.table : demand.table + demand.tables])
    return 0, 0


def _of_step(step: Step, statement: StatementModel, whole_ns: int, ground: Ground) -> list[Demand]:
    if isinstance(step, Compute):
        return [Demand(COMPUTE, share=1000 * step.compute // whole_ns)]
    if isinstance(step, Scan):
        return [_scan(step, ground)]
    if isinstance(step, Lookup):
        return [_lookup(step, statement, ground)]
    if isinstance(step, Change):
        return _change(step, ground)
    if isinstance(step, Commit):
        return [Demand(LOG, log_bytes=step.commit)]
    if isinstance(step, Spill):
        return [_spill(step, ground)]
    return [_copy(step, ground)]


def _scan(step: Scan, ground: Ground) -> Demand:
    table = ground.relations[step.scan]
    pages = ground.built[table].level_pages[-1]
    ahead, block = _READS[ground.engine]
    paced_ns = ground.page_bytes * NS_PER_S // READ_COMMITTED_BYTES_PER_S if step.isolation == "read committed" else 0
    return Demand(
        SCAN,
        table=table,
        pages=max(round(step.part * pages), 1),
        depth=ahead if step.ahead is None else step.ahead,
        block_pages=max((step.block or block) // ground.page_bytes, 1),
        full=ground.engine == "sqlserver",
        degree=step.degree,
        page_ns=ground.on_this_core(step.cpu_per_page),
        paced_ns=ground.on_this_core(paced_ns),
    )


def _lookup(step: Lookup, statement: StatementModel, ground: Ground) -> Demand:
    one = Demand(LOOKUP, table=ground.relations[step.lookup], changed=step.changed)
    if step.rows == 1:
        return one
    prefetches = ground.engine == "sqlserver" and statement.via == "language"
    depth = step.prefetch if prefetches else 0
    return replace(one, kind=LOOKUPS, rows=step.rows, depth=depth, in_order=False, threshold=PREFETCHED_ROWS)


def _change(step: Change, ground: Ground) -> list[Demand]:
    table = ground.relations[step.change]
    changed = Demand(
        LOOKUP, table=table, dirties=True, log_bytes=step.log, entry_share=round(step.entries * 1_000_000),
        changed=step.changed,
    )  # fmt: skip
    if not step.lock:
        return [changed] * step.rows
    changed = replace(changed, kind=LOCK, rank=table, changed=0)
    return [Demand(LOOKUP, table=table, changed=step.changed), changed] * step.rows


def _spill(step: Spill, ground: Ground) -> Demand:
    if ground.engine != "sqlserver":
        return Demand(SPILL, temp_bytes=step.spill)
    return Demand(
        COPY,
        tables=0,
        depth=_SPILL_BUFFERS,
        block_pages=max(_SPILL_BYTES // ground.page_bytes, 1),
        station=ground.temp_station,
        file_bytes=ground.temp_from_bytes,
        temp_bytes=-(-step.spill // ground.page_bytes) * ground.page_bytes,
    )


def _copy(step: Copying, ground: Ground) -> Demand:
    table, tables, station, ratio, transfer = 0, ground.lasting, NOTHING, 1000, 0
    if isinstance(step, Write):
        table, tables, transfer = ground.relations[step.write], 1, step.transfer
    if isinstance(step, Backup | Restore):
        ratio, transfer = round(1000 / step.compression), step.transfer
        if isinstance(step, Restore) or step.backup == "file":
            station = ground.backup_station
    return Demand(
        COPY,
        table=table,
        tables=tables,
        depth=step.buffers,
        block_pages=max(transfer // ground.page_bytes, 1),
        degree=step.threads,
        page_ns=ground.on_this_core(step.cpu_per_page),
        station=station,
        file_bytes=ground.backup_from_bytes,
        restores=not isinstance(step, Backup),
        ratio=ratio,
    )
