"""How many entries changes of a table's rows put into its index: of each inserted row one, and of an update whose new
version does not fit on the page of the old (non-HOT updates).

PostgreSQL counts them (``n_tup_hot_upd``). Where that was not recorded, the pages that the index was asked for tell: an
entry is put in by going through all levels once more. A page that was filled to the brim has no room for the first
update of one of its rows, and room for the later ones (:mod:`tiersim.simulator.popularity`); so how many were the first
of their page says how many updates the table had seen before the recording. What that does not explain, since a column
of an index is updated or pages are crowded, comes with a share of all updates.

A deleted row leaves its entries to VACUUM.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiersim.scenarios.calibration.counters import NamedTables
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law
from tiersim.scenarios.calibration.popularity.occupancy import levels
from tiersim.simulator.popularity import NONE_MOVED, first_updates, moved_rows, share_of_pages, updates_before
from tiersim.traces.differences import Change, Differences
from tiersim.traces.query_text import Kind, tokens

#: By what rows of a table are drawn here; how many of a large table's pages are updated first hardly depends on it.
_SEED = 1


@dataclass(frozen=True)
class IndexEntries:
    """Entries that updates of one table's rows put into its index.

    ``of_updates`` is the recorded share of the updates that did, ``share`` that of those that did though their page was
    updated before. The table had seen so many ``updates`` when the recording began; None: it does not matter.
    """

    of_updates: float = 0.0
    share: float = 0.0
    updates: float | None = None


NO_ENTRIES = IndexEntries()


def index_entries(found: Differences, fitted: Fitted, queries: Mapping[str, str]) -> tuple[IndexEntries, ...]:
    """Return what the counters say of each table of the fit; *queries* are their texts by entity."""
    return tuple(
        _entries(found, table, law, queries) if table.index_pages else NO_ENTRIES
        for table, law in zip(fitted.tables, fitted.laws, strict=True)
    )


def said_of(tables: Sequence[AccessedTable], entries: Sequence[IndexEntries]) -> list[str]:
    """Return sentences about the tables whose updates put entries into their index."""
    return [
        f"{table.name}: {one.of_updates:.1%} of the updates put an entry into the index (non-HOT)"
        for table, one in zip(tables, entries, strict=True)
        if one.of_updates
    ]


def _entries(found: Differences, table: AccessedTable, law: Law, queries: Mapping[str, str]) -> IndexEntries:
    relation = found.of("relation").get(table.name)
    if relation is None:
        return NO_ENTRIES
    updates, put = _counted(found, relation, table, queries)
    if put <= 0 or updates <= 0:
        return NO_ENTRIES
    popularity = law.table(table.rows)
    moved = moved_rows(popularity, table.rows, table.heap_pages, law.moved, _SEED, 0) if law.moved else NONE_MOVED
    pages = share_of_pages(popularity, table.rows, table.heap_pages, moved, law.recent, _SEED, 0)
    before = updates_before(pages, updates, put)
    rest = 0.0 if before is not None else put - first_updates(pages, 0.0, updates)
    return IndexEntries(put / updates, rest / updates, before or 0.0)


def _counted(
    found: Differences, relation: Change, table: AccessedTable, queries: Mapping[str, str]
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
    put = (_asked(index) - looks * depth) / depth if index is not None else 0.0
    return updates, min(max(put, 0.0), updates)


def _index(found: Differences, table: AccessedTable) -> Change | None:
    """Return the index of a table that most pages were asked for of."""
    indexes = [
        change
        for change in found.of("relation").values()
        if change.last.get("kind") == "index" and change.last.get("table") == table.name
    ]
    return max(indexes, key=_asked, default=None)


def _asked(change: Change) -> float:
    return float(change.number("pages_hit") or 0) + float(change.number("pages_read") or 0)


def verb_of(text: str) -> str:
    """Return the word that a statement begins with."""
    return next((word.lower() for kind, word in tokens(text) if kind is Kind.WORD), "")
