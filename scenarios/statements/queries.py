"""What one call of a query asks of the tables whose popularity is known: rows that it looks up, pages that it changes,
and entries that its changes put into indexes.

Which tables: those that its text names. How many rows: its pages, divided among them as the tables were asked for, by
the pages of a lookup, and so that all queries together look up as many rows as the tables' own counters say.

Entries: of each inserted row one in each index, and of an update whose new version does not fit on the page of the old
(non-HOT updates). PostgreSQL counts them (``n_tup_hot_upd``). Where that was not recorded, the pages that the index was
asked for tell: an entry is put in by going through all levels once more. A page that was filled to the brim has no room
for the first update of one of its rows, and room for the later ones (:mod:`tiersim.simulator.popularity`); so how many
were the first of their page says how many updates the table had seen before the recording. What that does not explain,
since a column of an index is updated or pages are crowded, comes with a share of all updates. A deleted row leaves its
entries to VACUUM.

What executions ask for that were recorded one by one: each its own number of pages, as lookups or as a scan, and what
of them it changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.scenarios.calibration.popularity.recorded import FINDS
from tiersim.scenarios.calibration.popularity.recorded_files import SCAN_PAGES, FileAccesses, words_of
from tiersim.simulator.popularity import NONE_MOVED, first_updates, moved_rows, share_of_pages, updates_before
from tiersim.traces.differences import Differences, EntityChange
from tiersim.traces.query_text import Kind, NamedTables, tokens

#: Rows a call are a whole number if they are this close to one: counters of tables and of queries are not of the same
#: moment.
_NEAR = 0.02
#: More rows of a call are not simulated one by one.
MOST_ROWS = 120
#: Words of statements that change rows, and so of transactions whose log is made durable.
_CHANGES = frozenset(["insert", "update", "delete", "merge", "truncate", "copy", "create", "drop", "alter"])
#: Of these, the words of statements that lock the rows that they change: an INSERT's are new.
_LOCKS = frozenset(["update", "delete", "merge"])
#: MySQL's word for an insert that deletes the row that was there; further on in a text it is a function of strings.
_REPLACES = "replace"
#: SQL Server counts processor time in such ticks. More of it than a query's time is that of several processors if it is
#: more by this share, and by so many deviations of the ticks; it is said of queries with this share of all time, of so
#: many by name.
_CPU_TICK_NS = 15_625_000
_MORE_CPU, _DEVIATIONS, _MATTERS, _NAMED = 0.1, 4.0, 0.01, 3

Column = NDArray[np.int64]
Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class QueryWork:
    """One call of a query, on average; by table of the fit.

    ``again`` are rows that a statement before it in its transaction has looked up. ``changes`` is the share of calls
    that change what they look up, ``locks`` whether they lock it before, ``durable`` whether its transaction makes its
    log durable. ``record_bytes`` are those of the log but images of pages. ``other_pages`` are found in the pool.
    ``verb`` is the word that its text begins with. Of executions whose pages are known one by one: ``changed_rows`` are
    those of a call, ``scanned`` is the table that scans go through (-1: none), ``scan_share`` how much of their pages
    they do not find.
    """

    lookups: tuple[float, ...]
    again: tuple[float, ...]
    changes: float
    locks: bool
    durable: bool
    record_bytes: float
    other_pages: float
    changed_rows: float = 0.0
    scanned: int = -1
    scan_share: float = 0.0
    verb: str = ""


@dataclass(frozen=True)
class _Counted:
    """Means of the executions of each query, by code."""

    calls: NDArray[np.int64]
    logical: Amounts
    physical: Amounts
    dirtied: Amounts  # 0 where nobody counted
    log_bytes: Amounts


def pages_of(table: AccessedTable) -> int:
    """Return how many pages a lookup of a row asks for: one of each level of the index, and one of the heap."""
    return len(levels(table.index_pages)) + 1


def asked_of(
    found: Differences,
    fitted: Fitted,
    queries: Sequence[str],
    texts: Mapping[str, str],
    columns: Mapping[str, NDArray[np.int64]],
    dirtied: NDArray[np.int64],
    record_bytes: Mapping[str, float],
) -> tuple[tuple[QueryWork, ...], list[str]]:
    """Return what each of *queries* asks for, by code, and sentences about what could not be told.

    *columns* are those of executions, *dirtied* pages beside them. *record_bytes* are of the log, by query, where
    images were told apart.
    """
    counted = _counted(len(queries), columns, dirtied)
    relations = found.of("relation")
    pages = _pages_by_table([texts.get(query, "") for query in queries], counted, relations, fitted)
    lookups, again = np.zeros((len(queries), len(fitted.tables))), np.zeros((len(queries), len(fitted.tables)))
    calls = np.maximum(counted.calls, 1)
    said: list[str] = []
    for place, table in enumerate(fitted.tables):
        weights = np.zeros(len(queries))
        for code, asked in pages[place]:
            weights[code] = asked * counted.calls[code] / pages_of(table)
        finds = _find(table, weights > 0, counted.physical)
        for rows, which, into in (
            (table.accesses, ~finds, lookups),
            (table.accesses * (table.touches - 1), finds, again),
        ):
            total = weights[which].sum()
            if total:
                share = min(rows / total, 1.0)
                into[which, place] = _whole(weights[which] * share / calls[which])
        if not weights.any():
            said.append(
                f"{table.name}: 0 lookups are simulated, since no query names it; record the texts of queries, too"
            )
    lookups, again = _bounded(lookups, again, queries, said)
    return (
        tuple(
            _asked(counted, code, texts.get(query), lookups[code], again[code], fitted, record_bytes.get(query))
            for code, query in enumerate(queries)
        ),
        said,
    )


def _counted(queries: int, columns: Mapping[str, NDArray[np.int64]], dirtied: NDArray[np.int64]) -> _Counted:
    code = columns["query"]
    calls = np.bincount(code, minlength=queries)

    def mean(values: NDArray[np.int64]) -> Amounts:
        sums = np.bincount(code, weights=np.maximum(values, 0), minlength=queries)
        return np.asarray(sums / np.maximum(calls, 1))

    logical, physical, log = (mean(columns[name]) for name in ("logical_reads", "physical_reads", "log_bytes"))
    return _Counted(calls, logical, physical, mean(dirtied), log)


def _pages_by_table(
    texts: Sequence[str], counted: _Counted, relations: Mapping[str, EntityChange], fitted: Fitted
) -> list[list[tuple[int, float]]]:
    """Divide the pages of a call of each query among the tables that its text names, in proportion to what was asked of
    each.

    By fitted table, those that name it: their codes, and the pages of a call.
    """
    asked = _asked_pages(relations)
    tables = NamedTables(name for name, change in relations.items() if change.last.get("kind") == "table")
    places = {table.name: place for place, table in enumerate(fitted.tables)}
    found: list[list[tuple[int, float]]] = [[] for _ in fitted.tables]
    for code, text in enumerate(texts):
        named = tables.within(text)
        total = sum(asked[name] for name in named)
        for name in named:
            if total and name in places:
                found[places[name]].append((code, float(counted.logical[code]) * asked[name] / total))
    return found


def _asked_pages(relations: Mapping[str, EntityChange]) -> dict[str, float]:
    """Return the pages that were asked for of each relation, those of its indexes included."""
    asked = dict.fromkeys(relations, 0.0)
    for name, change in relations.items():
        for one in {name, str(change.last.get("table"))} & asked.keys():
            asked[one] += _pages_asked_for(change)
    return asked


def _find(table: AccessedTable, uses: NDArray[np.bool_], missed: Amounts) -> NDArray[np.bool_]:
    """Tell which queries look up rows that others of the transaction have: those that miss next to
    nothing beside them.
    """
    if table.touches < 2 or not uses.any():
        return np.zeros(len(missed), np.bool_)
    finds: NDArray[np.bool_] = uses & (missed < FINDS * missed[uses].max())
    return finds


def _whole(rows: Amounts) -> Amounts:
    near = np.rint(rows)
    return np.where(np.abs(rows - near) <= _NEAR * np.maximum(near, 1), near, rows)


def _bounded(lookups: Amounts, again: Amounts, queries: Sequence[str], said: list[str]) -> tuple[Amounts, Amounts]:
    rows = lookups.sum(axis=1) + again.sum(axis=1)
    for code in np.flatnonzero(rows > MOST_ROWS).tolist():
        said.append(
            f"{queries[code]}: {MOST_ROWS} of {rows[code]:,.0f} rows a call are simulated, so it misses too few pages"
        )
    share = np.minimum(MOST_ROWS / np.maximum(rows, 1), 1.0)[:, None]
    return lookups * share, again * share


def _asked(
    counted: _Counted,
    code: int,
    text: str | None,
    lookups: Amounts,
    again: Amounts,
    fitted: Fitted,
    record_bytes: float | None,
) -> QueryWork:
    pages = sum(pages_of(table) * (a + b) for table, a, b in zip(fitted.tables, lookups, again, strict=True))
    rows = float(lookups.sum() + again.sum())
    log_bytes = float(counted.log_bytes[code])
    durable = changes_rows(text) if text is not None else log_bytes > 0
    changes = 1.0 if durable else float(min(counted.dirtied[code] / rows, 1.0)) if rows else 0.0
    return QueryWork(
        lookups=tuple(lookups.tolist()),
        again=tuple(again.tolist()),
        changes=changes,
        locks=text is not None and _has_word(text, _LOCKS),
        durable=durable,
        record_bytes=log_bytes if record_bytes is None else record_bytes,
        other_pages=max(float(counted.logical[code] - pages), 0.0),
        verb="" if text is None else verb_of(text),
    )


def changes_rows(text: str) -> bool:
    """Tell whether a statement changes rows, or locks them to; its transaction then waits for the
    log when it commits.
    """
    return _has_word(text, _CHANGES) or verb_of(text) == _REPLACES


def _has_word(text: str, words: frozenset[str]) -> bool:
    return any(kind is Kind.WORD and word.lower() in words for kind, word in tokens(text))


#: By what rows of a table are drawn here; how many of a large table's pages are updated first hardly depends on it.
_SEED = 1


@dataclass(frozen=True)
class IndexEntries:
    """Entries that changes of one table's rows put into its indexes.

    ``of_updates`` is the recorded share of the updates that did, ``share`` that of those that did though their page was
    updated before. The table had seen so many ``updates`` when the recording began; None: it does not matter.
    Transactions look a row up ``lookups`` times for each of its updates.
    ``others`` are the pages of each index but the one that rows are looked up through.
    """

    of_updates: float = 0.0
    share: float = 0.0
    updates: float | None = None
    lookups: float = 1.0
    others: tuple[int, ...] = ()


NO_ENTRIES = IndexEntries()


def index_entries(found: Differences, fitted: Fitted, queries: Mapping[str, str]) -> tuple[IndexEntries, ...]:
    """Return what the counters say of each table of the fit; *queries* are their texts by entity."""
    return tuple(
        replace(_entries(found, table, law, queries), others=_other_indexes(found, table))
        if table.index_pages
        else NO_ENTRIES
        for table, law in zip(fitted.tables, fitted.laws, strict=True)
    )


def said_of(tables: Sequence[AccessedTable], entries: Sequence[IndexEntries]) -> list[str]:
    """Return sentences about the tables whose updates put entries into their indexes."""
    return [
        f"{table.name}: {one.of_updates:.1%} of the updates add an index entry (non-HOT updates)"
        + (f" to each of {1 + len(one.others)} indexes" if one.others else "")
        for table, one in zip(tables, entries, strict=True)
        if one.of_updates
    ]


def _entries(found: Differences, table: AccessedTable, law: Law, queries: Mapping[str, str]) -> IndexEntries:
    relation = found.of("relation").get(table.name)
    if relation is None:
        return NO_ENTRIES
    updates, put = _counted_entries(found, relation, table, queries)
    if put <= 0 or updates <= 0:
        return NO_ENTRIES
    popularity = law.table(table.rows)
    moved = moved_rows(popularity, table.rows, table.heap_pages, law.moved, _SEED, 0) if law.moved else NONE_MOVED
    pages = share_of_pages(popularity, table.rows, table.heap_pages, moved, law.recent, _SEED, 0)
    before = updates_before(pages, updates, put)
    rest = 0.0 if before is not None else put - first_updates(pages, 0.0, updates)
    return IndexEntries(put / updates, rest / updates, before or 0.0, max(table.accesses / updates, 1.0))


def _counted_entries(
    found: Differences, relation: EntityChange, table: AccessedTable, queries: Mapping[str, str]
) -> tuple[float, float]:
    """Return how many rows were updated, and how many of these updates put an entry into the index."""
    updated, hot = relation.number("rows_updated"), relation.number("rows_hot_updated")
    if updated is not None and hot is not None:
        return float(updated), max(float(updated) - float(hot), 0.0)
    looks, updates = 0.0, 0.0
    tables = NamedTables([table.name])
    for entity, change in found.of("query").items():
        text = queries.get(entity, "")
        calls, rows = float(change.number("calls") or 0), float(change.number("rows") or 0)
        if not calls or not tables.within(text):
            continue
        if rows > calls:  # it finds many rows at once, so its pages tell nothing
            return updates, 0.0
        looks += calls
        updates += rows * (verb_of(text) == "update")
    index = _index(found, table)
    depth = len(levels(table.index_pages))
    put = (_pages_asked_for(index) - looks * depth) / depth if index is not None else 0.0
    return updates, min(max(put, 0.0), updates)


def _index(found: Differences, table: AccessedTable) -> EntityChange | None:
    """Return the index of a table that most pages were asked for of."""
    return next(iter(_indexes(found, table)), None)


def _indexes(found: Differences, table: AccessedTable) -> list[EntityChange]:
    """Return the indexes of a table by the pages that were asked for of them, most first."""
    indexes = [
        change
        for change in found.of("relation").values()
        if change.last.get("kind") == "index" and change.last.get("table") == table.name
    ]
    return sorted(indexes, key=_pages_asked_for, reverse=True)


def _other_indexes(found: Differences, table: AccessedTable) -> tuple[int, ...]:
    """Return the pages of a table's other indexes. One that no page was asked for of was not changed: a partial one."""
    sizes = [int(index.number("pages") or 0) for index in _indexes(found, table)[1:] if _pages_asked_for(index)]
    return tuple(pages for pages in sizes if pages)


def _pages_asked_for(change: EntityChange) -> float:
    return float(change.number("pages_hit") or 0) + float(change.number("pages_read") or 0)


def verb_of(text: str) -> str:
    """Return the word that a statement begins with."""
    return next((word.lower() for kind, word in tokens(text) if kind is Kind.WORD), "")


#: First words of a call of a procedure.
_PROCEDURES = frozenset(["exec", "execute"])


@dataclass(frozen=True)
class _Means:
    """Means of the executions of each query."""

    calls: Amounts
    logical: Amounts
    looked_up: Amounts  # pages, of those that do not scan
    rows: Amounts


def asked_of_executions(
    queries: Sequence[str],
    texts: Mapping[str, str],
    columns: Mapping[str, Column],
    found: FileAccesses,
    fitted: Fitted,
    log_bytes: float,
) -> tuple[tuple[QueryWork, ...], list[str]]:
    """Return what each of *queries* asks for on average, by code, and sentences about what could not be told.

    *columns* are those of executions. *log_bytes* are what all of them put into the log, which is divided by the rows
    that they change.
    """
    means = _means(len(queries), columns)
    places = _places(found, fitted)
    said: list[str] = []
    changing = changing_queries(queries, texts, columns)
    unknown = sum(_is_call(texts.get(query)) for query in queries)
    if unknown:
        said.append(
            f"{unknown:,} queries call procedures, whose changes their text does not show: only those that wrote pages"
            " count as changes; record the statements within procedures, too"
        )
    changed = np.where(changing, np.maximum(means.rows, 1.0), 0.0)
    total = float((changed * means.calls).sum())
    record_bytes = log_bytes / total * changed if total else np.zeros(len(queries))
    if log_bytes and not total:
        said.append(
            "0 bytes go to the log here: it was written, but no recorded statement changes anything; record the"
            " statements that change rows"
        )
    depth = np.array([pages_of(table) for table in fitted.tables])
    scans = _cold_scans(found, fitted)
    asked = []
    for code in range(len(queries)):
        rows = found.lookups[code, places] * means.looked_up[code]
        table = int(found.scanned[code])
        kept = places.index(table) if table in places else -1
        asked.append(
            QueryWork(
                lookups=tuple(rows.tolist()),
                again=(0.0,) * len(places),
                changes=float(changing[code]),
                locks=False,
                durable=bool(changing[code]),
                record_bytes=float(record_bytes[code]),
                other_pages=max(float(means.logical[code] - (rows * depth).sum()), 0.0),
                changed_rows=float(changed[code]),
                scanned=kept,
                scan_share=float(scans[kept]) if kept >= 0 else 0.0,
            )
        )
    return tuple(asked), said


def said_of_parallel(queries: Sequence[str], columns: Mapping[str, Column]) -> str | None:
    """Return a sentence about the *queries* whose executions took more processor time than time, where they matter:
    several processors worked on each. None where there are none, or nobody counted.
    """
    code, known = columns["query"], columns["cpu_ns"] >= 0
    spent_ns, took_ns = (
        np.bincount(code[known], np.maximum(columns[name][known], 0), len(queries))
        for name in ("cpu_ns", "duration_ns")
    )
    # of an execution of less than a tick the tick itself is counted, or nothing
    more_ns = np.maximum(_MORE_CPU * took_ns, _DEVIATIONS * np.sqrt(spent_ns * _CPU_TICK_NS))
    parallel = np.flatnonzero(spent_ns - took_ns > more_ns)
    if took_ns[parallel].sum() <= _MATTERS * took_ns.sum():
        return None
    first = sorted(parallel.tolist(), key=lambda one: took_ns[one] - spent_ns[one])[:_NAMED]
    named = ", ".join(f"{queries[one]} ({spent_ns[one] / max(took_ns[one], 1.0):.1f} ×)" for one in first)
    return (
        f"{len(parallel):,} queries took more CPU than time in the recording, as several processors worked on each:"
        f" {named}. One works on each here, so these take longer"
    )


def _means(queries: int, columns: Mapping[str, Column]) -> _Means:
    code, logical = columns["query"], columns["logical_reads"]
    calls = np.bincount(code, minlength=queries).astype(np.float64)
    looks_up = logical < SCAN_PAGES

    def mean(values: Column, rows: NDArray[np.bool_] | None = None) -> Amounts:
        sums = np.bincount(code, np.maximum(values, 0) if rows is None else np.where(rows, values, 0), queries)
        count = calls if rows is None else np.bincount(code, rows, queries)
        return np.asarray(sums / np.maximum(count, 1))

    return _Means(calls, mean(logical), mean(logical, looks_up), mean(columns["rows"]))


def changing_queries(
    queries: Sequence[str], texts: Mapping[str, str], columns: Mapping[str, Column]
) -> NDArray[np.bool_]:
    """Tell by code which queries change rows."""
    writes = np.bincount(columns["query"], np.maximum(columns["writes"], 0), len(queries))
    return np.array([_changes(texts.get(query), wrote) for query, wrote in zip(queries, writes.tolist(), strict=True)])


def _changes(text: str | None, writes: float) -> bool:
    """Tell whether a statement changes rows: its text says so; of a call of a procedure that it wrote pages."""
    if text is None or _is_call(text):
        return writes > 0
    return changes_rows(text)


def _is_call(text: str | None) -> bool:
    return text is not None and not changes_rows(text) and bool(_PROCEDURES & words_of(text[:40]))


def _places(found: FileAccesses, fitted: Fitted) -> list[int]:
    """Return the place of each fitted table among those that were accessed."""
    names = [table.name for table in found.accesses.tables]
    return [names.index(table.name) for table in fitted.tables]


def _cold_scans(found: FileAccesses, fitted: Fitted) -> list[float]:
    """Return by fitted table which part of the pages that scans asked for they go through here, to miss as many as they
    did.
    """
    misses = found.scan_misses[_places(found, fitted)]
    cold = [1 - held / table.heap_pages for held, table in zip(fitted.heap_held, fitted.tables, strict=True)]
    return [min(float(missed) / part, 1.0) if part > 0 else 0.0 for missed, part in zip(misses, cold, strict=True)]
