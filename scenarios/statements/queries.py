"""What one call of a query asks of the tables whose popularity is known: rows that it looks up, and pages that it changes.

Which tables: those that its text names. How many rows: its pages, divided among them as the tables were asked for, by the pages of a
lookup, and so that all queries together look up as many rows as the tables' own counters say.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted
from tiersim.scenarios.calibration.popularity.recorded import FINDS
from tiersim.scenarios.calibration.popularity.tables import levels
from tiersim.traces.differences import Change, differences
from tiersim.traces.query_text import Kind, tokens
from tiersim.traces.statistics import read_snapshots

#: Rows a call are a whole number if they are this close to one: counters of tables and of queries are not of the same moment.
_NEAR = 0.02
#: More rows of a call are not simulated one by one.
MOST_ROWS = 120
#: Words of statements that change rows, and so of transactions whose log is made durable.
#: Of these, the words of statements that lock the rows that they change: an INSERT's are new.
_LOCKS = frozenset(["update", "delete", "merge"])
_CHANGES = frozenset(["insert", "update", "delete", "merge", "truncate", "copy", "create", "drop", "alter"])


@dataclass(frozen=True)
class Asked:
    """One call of a query, on average; by table of the fit.

    ``again`` are rows that a statement before it in its transaction has looked up. ``changes`` is the share of calls that change what
    they look up, ``locks`` whether they lock it before, ``durable`` whether its transaction makes its log durable. ``record_bytes`` are those of the
    log but images of pages. ``other_pages`` are found in the pool. Of executions whose pages are known one by one: ``changed_rows`` are those of a call,
    ``scanned`` is the table that scans go through (-1: none), ``scan_share`` how much of their pages they do not find.
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


@dataclass(frozen=True)
class _Counted:
    """Means of one query's executions."""

    calls: int
    logical: float
    physical: float
    dirtied: float | None
    log_bytes: float


def pages_of(table: AccessedTable) -> int:
    """Return how many pages a lookup of a row asks for: one of each level of the index, and one of the heap."""
    return len(levels(table.index_pages)) + 1


def asked_of(
    path: Path,
    fitted: Fitted,
    queries: Sequence[str],
    texts: Mapping[str, str],
    columns: Mapping[str, NDArray[np.int64]],
    dirtied: NDArray[np.int64],
    record_bytes: Mapping[str, float],
) -> tuple[tuple[Asked, ...], list[str]]:
    """Return what each of *queries* asks for, by code, and sentences about what could not be told.

    *columns* are those of executions, *dirtied* pages beside them. *record_bytes* are of the log, by query, where images were told apart.
    """
    relations = differences(read_snapshots(path)).of("relation")
    counted = _counted(len(queries), columns, dirtied)
    pages = [_shares(one, texts.get(query, ""), relations, fitted) for query, one in zip(queries, counted, strict=True)]
    lookups, again = np.zeros((len(queries), len(fitted.tables))), np.zeros((len(queries), len(fitted.tables)))
    said: list[str] = []
    for place, table in enumerate(fitted.tables):
        weights = np.array([own[place] * one.calls / pages_of(table) for own, one in zip(pages, counted, strict=True)])
        calls = np.array([max(one.calls, 1) for one in counted])
        finds = _find(table, weights > 0, counted)
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
                f"{table.name}: no query names it, so nothing looks its rows up here; record the texts of queries, too"
            )
    lookups, again = _bounded(lookups, again, queries, said)
    return tuple(
        _asked(one, texts.get(query), lookups[code], again[code], fitted, record_bytes.get(query, one.log_bytes))
        for code, (query, one) in enumerate(zip(queries, counted, strict=True))
    ), said


def _counted(queries: int, columns: Mapping[str, NDArray[np.int64]], dirtied: NDArray[np.int64]) -> list[_Counted]:
    code = columns["query"]
    calls = np.bincount(code, minlength=queries)

    def mean(values: NDArray[np.int64]) -> NDArray[np.float64]:
        sums = np.bincount(code, weights=np.maximum(values, 0), minlength=queries)
        return np.asarray(sums / np.maximum(calls, 1))

    logical, physical, log = (mean(columns[name]) for name in ("logical_reads", "physical_reads", "log_bytes"))
    changed = mean(dirtied)
    known = np.bincount(code, weights=dirtied >= 0, minlength=queries) > 0
    return [
        _Counted(int(calls[q]), logical[q], physical[q], changed[q] if known[q] else None, log[q])
        for q in range(queries)
    ]


def _shares(counted: _Counted, text: str, relations: Mapping[str, Change], fitted: Fitted) -> list[float]:
    """Divide the pages of a call among the tables that its text names, in proportion to what was asked of each; by fitted table."""
    named = {
        name: _asked_pages(name, relations)
        for name, change in relations.items()
        if change.last.get("kind") == "table" and _names(text, name)
    }
    total = sum(named.values())
    return [
        counted.logical * named[table.name] / total if total and table.name in named else 0.0 for table in fitted.tables
    ]


def _names(text: str, relation: str) -> bool:
    bare = re.escape(relation.rpartition(".")[2])
    return re.search(rf"\b{bare}\b", text, re.IGNORECASE) is not None


def _asked_pages(name: str, relations: Mapping[str, Change]) -> float:
    own = [name, *(other for other, change in relations.items() if change.last.get("table") == name)]
    return sum(
        float(relations[one].number(counter) or 0)
        for one in own
        for counter in ("pages_hit", "pages_read")
        if one in relations
    )


def _find(table: AccessedTable, uses: NDArray[np.bool_], counted: Sequence[_Counted]) -> NDArray[np.bool_]:
    """Tell which queries look up rows that others of the transaction have: those that miss next to nothing beside them."""
    missed = np.array([one.physical for one in counted])
    if table.touches < 2 or not uses.any():
        return np.zeros(len(counted), np.bool_)
    finds: NDArray[np.bool_] = uses & (missed < FINDS * missed[uses].max())
    return finds


def _whole(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    near = np.rint(rows)
    return np.where(np.abs(rows - near) <= _NEAR * np.maximum(near, 1), near, rows)


def _bounded(
    lookups: NDArray[np.float64], again: NDArray[np.float64], queries: Sequence[str], said: list[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rows = lookups.sum(axis=1) + again.sum(axis=1)
    for code in np.flatnonzero(rows > MOST_ROWS).tolist():
        said.append(
            f"{queries[code]}: looks up {rows[code]:,.0f} rows a call, of which {MOST_ROWS} are simulated; it misses fewer pages than it did"
        )
    share = np.minimum(MOST_ROWS / np.maximum(rows, 1), 1.0)[:, None]
    return lookups * share, again * share


def _asked(
    counted: _Counted,
    text: str | None,
    lookups: NDArray[np.float64],
    again: NDArray[np.float64],
    fitted: Fitted,
    record_bytes: float,
) -> Asked:
    pages = sum(pages_of(table) * (a + b) for table, a, b in zip(fitted.tables, lookups, again, strict=True))
    rows = float(lookups.sum() + again.sum())
    durable = changes_rows(text) if text is not None else counted.log_bytes > 0
    changes = 1.0 if durable else float(min((counted.dirtied or 0.0) / rows, 1.0)) if rows else 0.0
    return Asked(
        lookups=tuple(lookups.tolist()),
        again=tuple(again.tolist()),
        changes=changes,
        locks=text is not None and _has_word(text, _LOCKS),
        durable=durable,
        record_bytes=record_bytes,
        other_pages=max(float(counted.logical - pages), 0.0),
    )


def changes_rows(text: str) -> bool:
    """Tell whether a statement changes rows, or locks them to; its transaction then waits for the log when it commits."""
    return _has_word(text, _CHANGES)


def _has_word(text: str, words: frozenset[str]) -> bool:
    return any(kind is Kind.WORD and word.lower() in words for kind, word in tokens(text))
