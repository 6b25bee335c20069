"""An hour of a SQL Server made up: statements one by one as Profiler has them, counters of its files, and the truth
behind both.

Twelve tables with laws of their own share a pool; what it misses is the closed form of LRU-2. Devices answer in one
time whatever the load, so how long a statement takes is its CPU, its reads and its commit: a closed law, and no
simulation. Who reads the bundle sees one database without tables.
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity.occupancy import LRU2, AccessedTable, Law, Pool, levels
from tiersim.scenarios.calibration.popularity.recorded_files import inner_pages
from tiersim.traces.bundle import RequestWriter
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS, STATEMENT_KINDS
from tiersim.traces.statistics import (
    QUERIES,
    STATEMENTS,
    Snapshot,
    StatisticsWriter,
    Table,
    Values,
    table_of,
    write_table,
)
from tiersim.units import NS_PER_S

Column = NDArray[np.int64]

#: How long a read takes, and a write of the log; what a read and a page cost the processors (the engine's table: 22.7 +
#: 3.3 µs, 4 µs a row).
READ_NS, LOG_NS = 500_000, 300_000
_READ_CPU_NS, _ROW_CPU_NS = 26_000, 4_000
#: SQL Server's clock for CPU (64 ticks a second).
_TICK_NS = NS_PER_S // 64
_RECORD_BYTES = 380  # of the log, a changed row
_SCAN_READ_PAGES = 64
_TABLES = (
    # share of all pages, rows on a page, exponent of Zipf's law
    (0.30, 40, 0.75),
    (0.20, 60, 0.9),
    (0.12, 25, 1.05),
    (0.10, 80, 0.8),
    (0.08, 50, 1.1),
    (0.06, 30, 0.6),
    (0.05, 100, 0.95),
    (0.04, 40, 1.0),
    (0.02, 60, 0.85),
    (0.015, 20, 1.2),
    (0.01, 50, 0.7),
    (0.005, 90, 1.0),
)
_NAMES = (
    "orders",
    "order_lines",
    "customers",
    "stock",
    "items",
    "payments",
    "addresses",
    "carts",
    "prices",
    "users",
    "vouchers",
    "shops",
)
SCAN = "SELECT COUNT(*), SUM(amount) FROM dbo.orders WHERE created < ?"
#: Statements that follow each other in a transaction of their own.
_UNIT = (
    "BEGIN TRAN",
    "UPDATE dbo.stock SET quantity = quantity - ? WHERE id = ?",
    "INSERT INTO dbo.order_lines VALUES (?, ?, ?)",
    "COMMIT TRAN",
)


@dataclass(frozen=True)
class _Shape:
    """A query: rows that a call looks up, one and as many more by a law of its own, in which table, and how many it
    changes.
    """

    text: str
    kind: str
    table: int
    rows: int
    more: float
    changed: int
    cpu_us: float
    share: float  # of calls


@dataclass(frozen=True)
class Truth:
    """What was behind a bundle: by query its calls and mean duration, what was missed, and of what."""

    path: Path
    mean_ns: dict[str, float]
    calls: dict[str, int]
    logical_reads: int
    pages_missed: int
    pages_scanned: int
    commits: int
    tables: list[AccessedTable] = field(repr=False)
    laws: list[Law] = field(repr=False)
    frames: int

    def missed_by_lookups(self, frames: int) -> float:
        """Return how many pages lookups miss in a pool of another size."""
        found = Pool(self.tables, 1, LRU2).expected(self.laws, frames)
        return sum(t.accesses * (one.index_missed + one.heap_missed) for t, one in zip(self.tables, found, strict=True))


def _shapes() -> list[_Shape]:
    found = []
    for place, name in enumerate(_NAMES):
        weight = (0.22, 0.14, 0.12, 0.09, 0.09, 0.06, 0.06, 0.05, 0.03, 0.03, 0.02, 0.02)[place]
        found.append(_Shape(f"SELECT * FROM dbo.{name} WHERE id = ?", "rpc", place, 1, 0.0, 0, 60, 0.5 * weight))
        found.append(
            _Shape(
                f"SELECT TOP (?) * FROM dbo.{name} WHERE owner = ?", "language", place, 4, 8.0, 0, 150, 0.25 * weight
            )
        )
        if place < 5:
            found.append(
                _Shape(f"UPDATE dbo.{name} SET state = ? WHERE id = ?", "rpc", place, 1, 0.0, 1, 80, 0.3 * weight)
            )
    found.append(_Shape("EXEC dbo.report_of_day ?", "rpc", 1, 60, 40.0, 0, 2_000, 0.004))
    return found


def sql_server_hour(
    folder: Path,
    *,
    statements: int = 2_000,
    sessions: int = 20,
    seconds: float = 60.0,
    pages: int = 40_000,
    frames: int = 8_000,
    scan_pages: int = 4_000,
    physical: bool = False,
    pool_known: bool = True,
    relations: bool = False,
    host: dict[str, Any] | None = None,
    degree: int = 1,
    seed: int = 1,
) -> Truth:
    """Write the bundle *folder* of about so many *statements*; with *physical* each says what it missed, as Extended
    Events do. So many processors of a *degree* work on each scan, whose CPU does not take its time as often.
    """
    luck = np.random.default_rng(seed)
    shapes = _shapes()
    texts = [*(shape.text for shape in shapes), *_UNIT, SCAN]
    unit = len(shapes)
    share = np.array([shape.share for shape in shapes])
    drawn = luck.choice(
        unit + 1, size=statements, p=np.append(share / share.sum() * 0.96, 0.04)
    )  # a unit is four statements
    drawn = drawn[: np.searchsorted(np.cumsum(np.where(drawn == unit, 4, 1)), statements) + 1]
    size = np.where(drawn == unit, len(_UNIT), 1)
    within = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size)
    query = np.repeat(drawn, size) + within
    if scan_pages:
        place = int(np.argmax((within == 0) & (np.arange(len(query)) >= len(query) // 2)))
        query, within = np.insert(query, place, len(texts) - 1), np.insert(within, place, 0)

    tables, looked_up, changed = _asked(shapes, query, pages, luck)
    laws = [Law(exponent) for _, _, exponent in _TABLES]
    expected = Pool(tables, 1, LRU2).expected(laws, frames)
    table_of_row = _table_of_row(shapes, query)
    missing = np.array([min(one.index_missed + one.heap_missed, 1.0) for one in expected])
    missed = luck.binomial(looked_up, missing[table_of_row])
    depth = np.array([len(levels(t.index_pages)) + 1 for t in tables])
    logical = np.where(looked_up > 0, looked_up * depth[table_of_row], 2)
    scans = query == len(texts) - 1
    logical[scans], missed[scans] = scan_pages, scan_pages
    commits = (changed > 0) & (query < unit) | (query == unit + 3)
    base_us = np.array([*(shape.cpu_us for shape in shapes), 15, 70, 70, 20, 100])
    cpu_ns = base_us[query] * 1000 + looked_up * _ROW_CPU_NS + missed * _READ_CPU_NS
    cpu_ns[scans] = scan_pages * 9_000
    cpu_ns = (cpu_ns * luck.gamma(8.0, 1 / 8.0, len(query))).astype(np.int64)
    waited = np.where(scans, scan_pages // 256, missed) * READ_NS
    at_a_time = np.where(scans, degree, 1)
    duration_ns = (cpu_ns // at_a_time + waited + commits * LOG_NS) // 1000 * 1000

    start_ns, session = _times(within, duration_ns, sessions, seconds, luck)
    order = np.argsort(start_ns, kind="stable")
    reads = (missed[~scans].sum(), scan_pages // _SCAN_READ_PAGES if scans.any() else 0)
    columns: dict[str, NDArray[Any]] = {c.name: np.full(len(query), -1, np.int64) for c in STATEMENT_COLUMNS}
    columns |= {
        "time_ns": start_ns // 1_000_000 * 1_000_000,
        "duration_ns": duration_ns,
        "cpu_ns": _ticks(cpu_ns, luck),
        "session": session,
        "kind": _kinds(shapes, len(texts))[query],
        "query": query,
        "logical_reads": logical,
        "writes": np.zeros(len(query), np.int64),
        "rows": np.where(changed > 0, changed, np.maximum(looked_up, 0)),
    }
    if physical:
        columns["physical_reads"] = missed
    prints = [f"print of {text}" for text in texts]
    words = {"session": [str(51 + one) for one in range(sessions)], "kind": STATEMENT_KINDS, "query": prints}
    folder.mkdir(parents=True, exist_ok=True)
    RequestWriter(folder / "requests.parquet").close()
    kinds = {c.name: np.int32 if c.kind == "text" else np.int64 for c in STATEMENT_COLUMNS}
    rows = Table({name: values[order].astype(kinds[name]) for name, values in columns.items()}, words)
    write_table(folder / STATEMENTS, STATEMENT_COLUMNS, rows)
    named = [
        {"query": p, "entity": p, "text": text, "database": "sales"} for p, text in zip(prints, texts, strict=True)
    ]
    write_table(folder / QUERIES, QUERY_COLUMNS, table_of(QUERY_COLUMNS, named))
    records = np.bincount(np.cumsum(commits) - commits, changed * _RECORD_BYTES).astype(np.float64)
    files = _files(pages, reads, int(missed.sum()), int(commits.sum()), records, int(changed.sum()))
    if relations:
        files |= _relations(tables, expected)
    end_ns = int((start_ns + duration_ns).max())
    _write_counters(folder, files, end_ns)
    known: dict[str, Any] = {"engine": "sqlserver", "version": "14", "page_bytes": 8192, "cores": 16}
    known |= {"buffer_pool_bytes": frames * 8192} if pool_known else {}
    manifest = {
        "source_format": "made up",
        "span_ns": end_ns,
        "statements": len(query),
        "snapshots": 2,
        "host": known | (host or {}),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    calls = np.bincount(query, minlength=len(texts))
    means = np.bincount(query, duration_ns, len(texts)) / np.maximum(calls, 1)
    return Truth(
        path=folder,
        mean_ns=dict(zip(prints, means.tolist(), strict=True)),
        calls=dict(zip(prints, calls.tolist(), strict=True)),
        logical_reads=int(logical.sum()),
        pages_missed=int(missed.sum()),
        pages_scanned=scan_pages,
        commits=int(commits.sum()),
        tables=tables,
        laws=laws,
        frames=frames,
    )


def _table_of_row(shapes: list[_Shape], query: Column) -> Column:
    found: Column = np.array([*(shape.table for shape in shapes), 0, 3, 1, 0, 0])[query]
    return found


def _asked(
    shapes: list[_Shape], query: Column, pages: int, luck: np.random.Generator
) -> tuple[list[AccessedTable], Column, Column]:
    """Return the tables with their accesses, and by statement the rows that it looks up and changes."""
    rows = np.array([*(shape.rows for shape in shapes), 0, 1, 1, 0, 0])
    more = np.array([*(shape.more for shape in shapes), 0, 0, 0, 0, 0])
    changed = np.array([*(shape.changed for shape in shapes), 0, 1, 1, 0, 0])[query]
    looked_up = rows[query] + luck.geometric(1 / (1 + more[query])) - 1
    accesses = np.bincount(_table_of_row(shapes, query), looked_up, len(_TABLES))
    tables = []
    for (share, on_a_page, _), name, count in zip(_TABLES, _NAMES, accesses.tolist(), strict=True):
        own = max(round(share * pages), 2)
        tables.append(
            AccessedTable(name, own * on_a_page, own, inner_pages(own), max(round(count), 1), 0, 0, together=True)
        )
    return tables, looked_up, changed


def _times(
    within: Column, duration_ns: Column, sessions: int, seconds: float, luck: np.random.Generator
) -> tuple[Column, Column]:
    """Deal units to sessions, with pauses in between that fill the time."""
    unit = np.cumsum(within == 0) - 1
    session = luck.integers(0, sessions, int(unit[-1]) + 1)[unit]
    order = np.argsort(session, kind="stable")
    own, took_ns, first = session[order], duration_ns[order], within[order] == 0
    left_ns = seconds * NS_PER_S - took_ns.sum() / sessions
    pause_ns = np.where(first, luck.exponential(max(left_ns, 0.0) * sessions / first.sum(), len(own)), 200_000)
    ends_ns = np.cumsum(pause_ns + took_ns)
    begins = np.diff(own, prepend=-1) != 0
    before = np.where(begins, ends_ns - pause_ns - took_ns, -1)
    start_ns = ends_ns - took_ns - np.maximum.accumulate(before)
    found = np.zeros(len(own), np.int64)
    found[order] = start_ns.astype(np.int64)
    return found, session


def _ticks(cpu_ns: Column, luck: np.random.Generator) -> Column:
    """Return CPU as a clock sees it that looks every tick, in whole ms; sums are right."""
    ticks = np.floor(cpu_ns / _TICK_NS + luck.random(len(cpu_ns)))
    upto = np.floor(np.cumsum(ticks) * _TICK_NS / 1e6)
    found: Column = np.diff(upto, prepend=0.0).astype(np.int64) * 1_000_000
    return found


def _kinds(shapes: list[_Shape], queries: int) -> NDArray[np.int32]:
    kinds = [*(shape.kind for shape in shapes), *(["language"] * (queries - len(shapes)))]
    return np.array([STATEMENT_KINDS.index(kind) for kind in kinds], np.int32)


_Counters = dict[tuple[str, str], dict[str, float | str]]


def _files(
    pages: int, reads: tuple[int, int], missed: int, commits: int, record_bytes: NDArray[np.float64], changed: int
) -> _Counters:
    written = float((np.ceil(record_bytes[:commits] / 512) * 512).sum())
    count = float(sum(reads))
    return {
        ("file", "5/1"): {
            "reads": count,
            "read_bytes": missed * 8192.0,
            "read_ms": count * READ_NS / 1e6,
            "writes": changed / 4.0,
            "written_bytes": changed * 8192.0,
            "write_ms": changed / 8.0,
            "size_bytes": pages * 8192.0,
            "kind": "data",
            "path": "D:\\data\\sales.mdf",
            "database": "sales",
        },
        ("file", "5/2"): {
            "reads": 0.0,
            "read_bytes": 0.0,
            "read_ms": 0.0,
            "writes": float(commits),
            "written_bytes": written,
            "write_ms": commits * LOG_NS / 1e6,
            "size_bytes": float(8 << 30),
            "kind": "log",
            "path": "L:\\log\\sales.ldf",
            "database": "sales",
        },
        ("file", "2/1"): {
            "reads": 10.0,
            "read_bytes": 655_360.0,
            "read_ms": 5.0,
            "writes": 12.0,
            "written_bytes": 786_432.0,
            "write_ms": 6.0,
            "size_bytes": float(1 << 30),
            "kind": "data",
            "path": "T:\\tempdb.mdf",
            "database": "tempdb",
        },
    }


def _relations(tables: list[AccessedTable], expected: Any) -> _Counters:
    return {
        ("relation", f"dbo.{table.name}"): {
            "kind": "table",
            "rows": float(table.rows),
            "pages": float(table.heap_pages),
            "index_scans": float(table.accesses),
            "page_io_latch_waits": float(round(table.accesses * (one.index_missed + one.heap_missed))),
        }
        for table, one in zip(tables, expected, strict=True)
    }


def _write_counters(folder: Path, counters: _Counters, end_ns: int) -> None:
    """Write them before and after; they had counted before, too."""
    gauges = ("size_bytes", "rows", "pages")
    writer = StatisticsWriter(folder)
    for time_ns, share in ((0, 0.0), (end_ns, 1.0)):
        values: dict[tuple[str, str], Values] = {
            key: {
                name: (
                    value
                    if isinstance(value, str)
                    else Decimal(round(value if name in gauges else 1000 + share * value))
                )
                for name, value in one.items()
            }
            for key, one in counters.items()
        }
        writer.append(Snapshot(time_ns, values))
    writer.close()
