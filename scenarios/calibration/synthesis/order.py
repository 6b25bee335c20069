"""In which order the statements of a transaction come, as far as that is told."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

from tiersim.scenarios.calibration.named_tables import NamedTables
from tiersim.scenarios.calibration.synthesis.selection import Names
from tiersim.traces.differences import Change, Differences

#: A query that misses less than this share of what another of its table does, in a call, finds the other's pages, and
#: so comes after it.
_FINDS = 0.05

#: What queries are sorted by: the load generator's script, when they were first seen, the size of their table, whether
#: they find pages.
Place = tuple[int, str, Decimal, bool, str]


def places(entities: Sequence[str], names: Names, found: Differences) -> Mapping[str, Place]:
    """Return by entity what to sort queries by.

    Where nobody noted an order, those of large tables come first, and of a table those that miss pages: applications
    change the rows that many want last, to keep them from others for a short time.
    """
    script = _script(found)
    rows = {name: change.number("rows") or Decimal(0) for name, change in _tables(found).items()}
    tables = NamedTables(rows)
    named = {entity: _named(names.texts.get(entity, ""), tables, rows) for entity in entities}
    missed = {entity: _missed(found.of("query").get(entity)) for entity in entities}
    most: dict[str, float] = {}
    for entity, table in named.items():
        most[table] = max(most.get(table, 0.0), missed[entity])
    keys: dict[str, Place] = {}
    for entity, table in named.items():
        change = found.of("query").get(entity)
        since = "" if change is None else str(change.last.get("since", ""))
        finds = missed[entity] < _FINDS * most[table]
        keys[entity] = script.get(names.query(entity), len(script)), since, -rows.get(table, Decimal(0)), finds, entity
    return keys


def _script(found: Differences) -> dict[str, int]:
    """Return the place of queries in the script of the one load generator that told it."""
    told = [
        str(change.last["statements"]).split() for change in found.of("client").values() if "statements" in change.last
    ]
    return {query: place for place, query in reversed(list(enumerate(told[0])))} if len(told) == 1 else {}


def _tables(found: Differences) -> dict[str, Change]:
    return {name: change for name, change in found.of("relation").items() if change.last.get("kind") == "table"}


def _named(text: str, tables: NamedTables, rows: Mapping[str, Decimal]) -> str:
    """Return the largest table that a text names, '' for none."""
    return max(tables.within(text), key=lambda name: (rows[name], name), default="")


def _missed(change: Change | None) -> float:
    calls = 0 if change is None else change.number("calls") or 0
    return float((change.number("pages_read") or 0) / calls) if change is not None and calls else 0.0
