"""From statements that were recorded one by one and counters of the files to the tables that were accessed: SQL Server.

Profiler says how many pages each statement asked for, and nothing of those that were missed; the files say how many
were read from each database, and nothing of whose they were. Together they are what a law needs: accesses, misses,
pages. Whose the misses were, the time that statements waited tells: what is neither CPU nor the log. Extended Events
say of each statement what it missed.

A statement that asks for very many pages goes through them in order, reading ahead, as far as it does not find them;
all others come to a page through the levels of a B-tree. What was read by scans is told from the length of reads: one
page for a lookup, 64 at most where somebody reads ahead.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.occupancy import INNER_ENTRIES, AccessedTable, levels
from tiersim.scenarios.calibration.popularity.recorded import Accesses
from tiersim.traces.differences import Counters, Differences, EntityChange
from tiersim.traces.statistics import Table, read_queries, texts_of_queries
from tiersim.units import NS_PER_MS

#: An execution that asks for so many pages or more is taken for a scan.
SCAN_PAGES = 2000
#: SQL Server reads ahead 64 pages at a time at most (Microsoft, Reading pages).
READ_AHEAD_PAGES = 64
#: Databases that are the server's own: master, tempdb, model, msdb and the resource database.
OWN_DATABASES, _TEMPDB = frozenset(["1", "2", "3", "4", "32767"]), "2"
#: Tables with a smaller share of the misses are not fitted: their pages are found.
_MATTERS = 0.001
#: Files may have been counted for so much longer than statements were recorded; beyond, reads are taken in proportion.
_LONGER = 1.05
#: Rounds of fitting how queries use trees: enough for a thousandth where what they name can agree with how these were
#: used.
_ROUNDS = 20
#: Of the statements, this share has to say how many pages it missed.
_KNOWN = 0.95

#: Where a statement names a table, or a procedure.
_OF_TABLES = re.compile(r"\b(?:from|join|into|update|merge)\s+([\[\]\w.#@\"]+)", re.IGNORECASE)
_OF_CALLS = re.compile(r"\b(?:exec|execute)\s+([\[\]\w.#@\"]+)", re.IGNORECASE)

Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class FileAccesses:
    """Tables as they were accessed, and what a page that a query asks for means to them, by its code.

        ``lookups`` (queries, tables) are the rows looked up for each page that an execution asks for, unless it scans;
        ``scanned`` (queries,) is the table that its scans go through, -1 for none, and ``scan_misses`` (tables,) how
        much of what scans asked for was missed. ``pages_read`` are those of all statements;
    ``by_statement``: each said how many it missed.
    """

    accesses: Accesses
    lookups: Amounts
    scanned: NDArray[np.int64]
    scan_misses: Amounts
    pages_read: float
    by_statement: bool
    share_of_time: float  # of the time between the counters, that statements were recorded in


@dataclass(frozen=True)
class _Asked:
    """What the executions of each query asked for, and missed where that is known, in pages:
    lookups and scans apart.
    """

    looked_up: Amounts
    scanned: Amounts
    lookups_missed: Amounts  # in proportion, where only waits are known
    scans_missed: Amounts | None  # None: only waits are known


@dataclass(frozen=True)
class _Database:
    name: str
    pages: int
    reads: float
    pages_read: float


@dataclass(frozen=True)
class _Tree:
    """A B-tree: a clustered index with its rows, or another index."""

    name: str
    table: str
    rows: int
    pages: int
    weight: float  # of the pages that are asked for in it
    missed: float | None  # a measure of its misses, to compare trees by

    @property
    def depth(self) -> int:
        return len(levels(inner_pages(self.pages))) + 1


def recorded_files(
    counters: Counters, executions: Table, commits: NDArray[np.bool_], pool_bytes: int, page_bytes: int
) -> FileAccesses:
    """Return what *executions* and the *counters* of a bundle say of a pool of *pool_bytes*; *commits* tells which of
    them waited for the log. The counters know :func:`data_files`.
    """
    path, found = counters.path, counters.found
    said: list[str] = []
    asked = _asked(executions, commits, _log_ns(found))
    share_of_time = _share_of_time(found, executions, said)
    databases = _databases(found, share_of_time, page_bytes, said)
    queries = executions.words["query"]
    weights = _weights(path, queries, databases, said)
    texts = texts_of_queries(path)
    tables: list[AccessedTable] = []
    lookups: list[Amounts] = []
    scan_misses: list[float] = []
    scanned = np.full(len(queries), -1, np.int64)
    read = 0.0
    for place, database in enumerate(databases):
        share = weights[:, place]
        missed = _missed(database, asked, share, said)
        read += missed.lookups + missed.scans
        own = asked.lookups_missed * share
        own *= missed.lookups / max(float(own.sum()), 1e-9)
        trees = _trees(found, database, databases)
        if trees:
            uses = _uses_of_trees(trees, asked.looked_up * share, queries, texts)
        else:
            trees, uses = _named(database, asked.looked_up * share, own, queries, texts, said)
        told = _told(trees, uses, asked.looked_up * share, own, missed.lookups)
        first = len(tables)
        tables += told.tables
        lookups += list((told.lookups * share[:, None]).T)
        scans = float((asked.scanned * share).sum())
        scan_misses += [missed.scans / scans if scans else 0.0] * len(told.tables)
        scans_here = (told.scanned >= 0) & (asked.scanned * share > 0)
        scanned[scans_here] = first + told.scanned[scans_here]
    if not any(table.accesses for table in tables):
        raise TraceError(
            f"{path}: no statement asks for a page of a database whose files were counted; record statements with their"
            " reads over the same time as sys.dm_io_virtual_file_stats"
        )
    accesses = Accesses(tuple(tables), max(pool_bytes // page_bytes, 1), tuple(said))
    by_statement = asked.scans_missed is not None
    return FileAccesses(
        accesses, np.array(lookups).T, scanned, np.array(scan_misses), read, by_statement, share_of_time
    )


def _asked(executions: Table, commits: NDArray[np.bool_], log_ns: float) -> _Asked:
    query, pages = executions.columns["query"], executions.columns["logical_reads"]
    missed = executions.columns["physical_reads"]
    scans = pages >= SCAN_PAGES
    count = len(executions.words["query"])

    def sums(values: NDArray[np.int64], rows: NDArray[np.bool_]) -> Amounts:
        return np.bincount(query[rows], np.maximum(values[rows], 0), count).astype(np.float64)

    if (missed >= 0).mean() >= _KNOWN:
        return _Asked(sums(pages, ~scans), sums(pages, scans), sums(missed, ~scans), sums(missed, scans))
    took_ns, cpu_ns = (sums(executions.columns[name], ~scans) for name in ("duration_ns", "cpu_ns"))
    waited_ns = took_ns - cpu_ns - log_ns * np.bincount(query[commits & ~scans], minlength=count)
    return _Asked(sums(pages, ~scans), sums(pages, scans), np.maximum(waited_ns, 0.0), None)


def _log_ns(found: Differences) -> float:
    """Return how long a write of the log took, 0 where nobody counted."""
    logs = [change for change in found.of("file").values() if change.last.get("kind") == "log"]
    writes, took_ms = (sum(_number(log, name) for log in logs) for name in ("writes", "write_ms"))
    return took_ms * NS_PER_MS / writes if writes else 0.0


def data_files(found: Differences, page_bytes: int) -> dict[str, list[EntityChange]]:
    """Return the counted data files of each of the server's databases whose size is known."""
    files: dict[str, list[EntityChange]] = {}
    for entity, change in found.of("file").items():
        identifier = entity.partition("/")[0]
        if change.last.get("kind") != "log" and identifier not in OWN_DATABASES:
            files.setdefault(identifier, []).append(change)
    return {identifier: changes for identifier, changes in files.items() if _pages(changes, page_bytes)}


def _pages(files: Sequence[EntityChange], page_bytes: int) -> int:
    return round(sum(_number(file, "size_bytes") for file in files)) // page_bytes


def _databases(found: Differences, share: float, page_bytes: int, said: list[str]) -> list[_Database]:
    """Return the databases whose data files were read, or are at least known."""
    temp = [change for entity, change in found.of("file").items() if entity.partition("/")[0] == _TEMPDB]
    of_temp = sum(_number(change, "read_bytes") + _number(change, "written_bytes") for change in temp)
    if of_temp:
        said.append(f"tempdb: {of_temp / 1e6:,.0f} MB were read and written; they are not simulated")
    databases = [
        _Database(
            str(next((c.last["database"] for c in changes if "database" in c.last), f"database {identifier}")),
            _pages(changes, page_bytes),
            share * sum(_number(c, "reads") for c in changes),
            share * sum(_number(c, "read_bytes") for c in changes) / page_bytes,
        )
        for identifier, changes in sorted(data_files(found, page_bytes).items())
    ]
    return [one for one in databases if one.reads] or databases


def _share_of_time(found: Differences, executions: Table, said: list[str]) -> float:
    """Return the part of the time between the counters that statements were recorded in."""
    counted_ns = found.span_ns.get("file")
    times = executions.columns["time_ns"]
    recorded_ns = int((times + np.maximum(executions.columns["duration_ns"], 0)).max() - times.min())
    if not counted_ns or counted_ns <= _LONGER * recorded_ns:
        return 1.0
    said.append(
        f"files were counted for {counted_ns / 1e9:,.0f} s, statements recorded for {recorded_ns / 1e9:,.0f} s of"
        " them: the same share of the file reads counts"
    )
    return recorded_ns / counted_ns


def _number(change: EntityChange, counter: str) -> float:
    return float(change.number(counter) or 0)


def _weights(path: Path, queries: Sequence[str], databases: Sequence[_Database], said: list[str]) -> Amounts:
    """Return which part of its pages each query asks of each database for: all of its own, where that is known; else as
    these were read.
    """
    table = read_queries(path)
    own = dict(zip(table.texts("query"), table.texts("database"), strict=True))
    places = {database.name: place for place, database in enumerate(databases)}
    read = np.array([max(database.pages_read, 1.0) for database in databases])
    weights = np.tile(read / read.sum(), (len(queries), 1))
    known = [places.get(own.get(query) or "", -1) for query in queries]
    for code, place in enumerate(known):
        if place >= 0:
            weights[code] = 0
            weights[code, place] = 1
    unknown = known.count(-1)
    if unknown and len(databases) > 1:
        said.append(
            f"{unknown:,} queries have no recorded database: their pages are split in proportion to the reads of each"
            " database's files"
        )
    return weights


@dataclass(frozen=True)
class _Missed:
    lookups: float
    scans: float


def _missed(database: _Database, asked: _Asked, share: Amounts, said: list[str]) -> _Missed:
    """Return the pages that lookups and scans missed of a database."""
    if asked.scans_missed is not None:
        return _Missed(float((asked.lookups_missed * share).sum()), float((asked.scans_missed * share).sum()))
    scanned = float((asked.scanned * share).sum())
    # pages = lookups + scans and reads = lookups + scans / 64, where all read ahead is read in the largest pieces
    ahead = max(database.pages_read - database.reads, 0.0) * READ_AHEAD_PAGES / (READ_AHEAD_PAGES - 1)
    scans = min(ahead, scanned, database.pages_read)
    looked_up = float((asked.looked_up * share).sum())
    lookups = min(database.pages_read - scans, looked_up)
    said.append(
        f"{database.name}: {database.pages_read:,.0f} pages were read from its files"
        + (f", {scans:,.0f} of them by scans (long reads)" if scanned else "")
        + "; misses of single statements were not recorded and are split in proportion to their waits for neither CPU"
        " nor log"
    )
    if lookups + scans < 0.99 * database.pages_read:
        said.append(
            f"{database.name}: only {looked_up + scanned:,.0f} of the pages read belong to statements; the others (a"
            " backup, maintenance) are not simulated"
        )
    return _Missed(lookups, scans)


def inner_pages(pages: int) -> int:
    """Return how many pages a B-tree has above *pages* leaves, in the terms of :func:`levels`, which leaves one out.

    >>> levels(inner_pages(1_000_000))
    [1, 13, 3559]
    """
    above = -(-pages // INNER_ENTRIES)
    return 0 if pages <= 1 else -(-above * INNER_ENTRIES // (INNER_ENTRIES - 1)) + 1


@dataclass(frozen=True)
class _Told:
    """Tables of one database: rows looked up for each page of a query, and which of them its scans go through."""

    tables: list[AccessedTable]
    lookups: Amounts
    scanned: NDArray[np.int64]


def _accessed(name: str, rows: int, pages: int, accesses: float, missed: float) -> AccessedTable:
    return AccessedTable(
        name,
        max(rows, pages),
        pages,
        inner_pages(pages),
        max(round(accesses), 1),
        round(min(missed, accesses)),
        0,
        together=True,
    )


def _named(
    database: _Database,
    looked_up: Amounts,
    missed: Amounts,
    queries: Sequence[str],
    texts: Mapping[str, str],
    said: list[str],
) -> tuple[list[_Tree], Amounts]:
    """Return the tables that queries name, or the procedures that they call, where nothing else is known of tables; and
    the use of each (queries, tables).

    The pages of the database are divided among them as the pages that were missed.
    """
    named = [names_in(texts.get(query, "")) or [database.name] for query in queries]
    names = sorted({name for one, pages in zip(named, looked_up.tolist(), strict=True) for name in one if pages})
    place = {name: number for number, name in enumerate(names)}
    uses = np.zeros((len(queries), len(names)))
    for code, one in enumerate(named):
        for name in one:
            if name in place:
                uses[code, place[name]] = 1 / len(one)
    own = uses.T @ missed
    kept = own >= _MATTERS * own.sum()
    sizes = np.where(kept, database.pages * own / max(float(own[kept].sum()), 1e-9), 0.0)
    said.append(
        f"{database.name}: table sizes were not recorded; its {database.pages:,} pages are split between the"
        f" {int(kept.sum())} tables and procedures that queries name, in proportion to their misses"
    )
    return [_Tree(name, name, 0, max(round(size), 1), 1.0, None) for name, size in zip(names, sizes, strict=True)], uses


def _uses_of_trees(
    trees: Sequence[_Tree], looked_up: Amounts, queries: Sequence[str], texts: Mapping[str, str]
) -> Amounts:
    """Return which part of its pages a query asks of each tree for: of those that it names; of any if it names none,
    such as a procedure.

    Parts are those by which all queries together use the trees as these were used, as nearly as what they name lets
    them: iterative proportional fitting (W. E. Deming, F. F. Stephan, "On a least squares adjustment of a sampled
    frequency table", 1940).
    """
    weight = np.array([tree.weight for tree in trees])
    tables = [tree.table.rpartition(".")[2].lower() for tree in trees]
    uses = np.zeros((len(queries), len(trees)))
    for code, query in enumerate(queries):
        words = words_of(texts.get(query, ""))
        named = np.array([table in words for table in tables])
        uses[code] = weight * named if named.any() else weight
    used = weight * looked_up.sum() / weight.sum()
    for _ in range(_ROUNDS):
        uses /= uses.sum(axis=1, keepdims=True)
        now = looked_up @ uses
        uses *= np.divide(used, now, out=np.ones_like(now), where=now > 0)
    found: Amounts = uses / uses.sum(axis=1, keepdims=True)
    return found


def _told(trees: Sequence[_Tree], uses: Amounts, looked_up: Amounts, missed: Amounts, all_missed: float) -> _Told:
    """Divide what queries asked for and missed among trees; those that hardly miss a page are left out, and what they
    missed is the others'.

    What trees are known to have been waited for goes before what queries missed.
    """
    depth = np.array([tree.depth for tree in trees])
    lookups = uses / depth
    rows = lookups * looked_up[:, None]
    waited = sum(tree.missed or 0.0 for tree in trees)
    if waited:
        own = all_missed * np.array([tree.missed or 0.0 for tree in trees]) / waited
    else:
        own = (missed[:, None] * rows / np.maximum(rows.sum(axis=1), 1e-9)[:, None]).sum(axis=0)
    kept = np.flatnonzero((own >= _MATTERS * own.sum()) & (rows.sum(axis=0) >= 0.5))
    own *= all_missed / max(float(own[kept].sum()), 1e-9)
    tables = [
        _accessed(trees[one].name, trees[one].rows, trees[one].pages, float(rows[:, one].sum()), float(own[one]))
        for one in kept.tolist()
    ]
    place = np.full(len(trees), -1, np.int64)
    place[kept] = np.arange(len(kept))
    sizes = np.array([tree.pages for tree in trees])
    return _Told(tables, lookups[:, kept], place[np.argmax(sizes * (uses > 0), axis=1)])


def _trees(found: Differences, database: _Database, databases: Sequence[_Database]) -> list[_Tree]:
    """Return the B-trees of a database, with how much they are used."""
    own = []
    for name, change in sorted(found.of("relation").items()):
        parts = name.split(".")
        of = parts[0] if len(parts) > 2 and parts[0] in [one.name for one in databases] else None
        if of == database.name or (of is None and len(databases) == 1):
            own.append((name, change))
    counted = any(change.number("index_scans") for _, change in own)
    trees = []
    for name, change in own:
        pages, is_table = round(_number(change, "pages")), change.last.get("kind") != "index"
        if pages < 1 or not (counted or is_table):
            continue
        table = name if is_table else str(change.last.get("table", name))
        scans = _number(change, "index_scans") if counted else 1.0
        waits = change.number("page_io_latch_waits")
        tree = _Tree(name, table, round(_number(change, "rows")), pages, 0.0, None if waits is None else float(waits))
        trees.append(_Tree(tree.name, tree.table, tree.rows, pages, scans * tree.depth, tree.missed))
    return [tree for tree in trees if tree.weight > 0]


def words_of(text: str) -> frozenset[str]:
    """Return the words of a statement in small letters, names without their brackets."""
    return frozenset(re.findall(r"\w+", text.lower()))


def names_in(text: str) -> list[str]:
    """Return the tables that a statement names, or the procedure that it calls, in small letters, without schema; none
    where it names none.

    >>> names_in("SELECT * FROM [dbo].[Orders] o JOIN Sales.dbo.Lines ON ?")
    ['lines', 'orders']
    >>> names_in("EXEC dbo.report ?"), names_in("COMMIT")
    (['report'], [])
    """
    found = {_bare(name) for name in _OF_TABLES.findall(text)} or {
        _bare(name) for name in _OF_CALLS.findall(text[:200])
    }
    return sorted(name for name in found if name and name[0] not in "@#")


def _bare(name: str) -> str:
    return name.replace("[", "").replace("]", "").replace('"', "").rpartition(".")[2].lower()
