"""Whether the tables of a load, as they were fitted, miss as many pages as its statements were counted to read.

What no law covers is taken to be in the pool: TOAST, scans, indexes beside the one that rows are looked up through,
tables whose rows nobody counted. Where these were read, a run reads too few pages, and its storage looks too fast.
InnoDB does not count what its scans read ahead as missed.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np

from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.differences import EntityChange

#: Another number of pages that differs by this share, twice what a calibration allows, by fewer pages a statement, or
#: by so many standard deviations of its count, makes no difference. Of 50 recordings of lookups, updates and TPC-B the
#: fit is 2.2 % off at most.
_OFF, _NO_PAGES, _CHANCE = 0.1, 0.001, 3.0
#: What reads most of what is left out is named, by so many.
_NAMED = 3


def told_reads(load: StatementLoad) -> str | None:
    """Return a sentence where the fitted tables of a *load* miss clearly more or fewer pages than its statements read;
    None where they miss as many, or nobody counted.
    """
    if load.described or not load.synthetic:
        return None
    recorded = float(load.physical_reads.sum()) + _read_ahead(load)
    if not recorded:
        return None
    calls = np.bincount(load.query, minlength=len(load.queries))
    each = np.array([one.index + one.heap for one in load.fitted.missed])
    fitted = float(sum(count * (np.array(one.lookups) @ each) for count, one in zip(calls, load.asked, strict=True)))
    covered = float(sum(one.index_missed + one.heap_missed for one in load.fitted.tables))
    read = covered if covered < (1 - _OFF) * recorded else fitted
    if abs(read - recorded) <= max(_OFF * recorded, _NO_PAGES * len(load), _CHANCE * sqrt(recorded)):
        return None
    named = sorted(_left_out(load), reverse=True)[:_NAMED]
    why = "; ".join(f"{pages:,.0f} of {what}" for pages, what in named if pages > _NO_PAGES * recorded)
    of_them = f". Left out: {why}" if why and read < recorded else ""
    return (
        f"statements read {recorded:,.0f} pages in the recording, and {read / recorded:.0%} as many here, with the"
        f" recorded pool{of_them}"
    )


def _read_ahead(load: StatementLoad) -> float:
    """Return the pages that scans of InnoDB read ahead, which no statement is counted for."""
    if load.manifest.host.get("engine") not in INNODB_ENGINES:
        return 0.0
    return sum(_missed(change, "pages_read_ahead") for change in load.counters.found.of("database").values())


def _left_out(load: StatementLoad) -> Iterator[tuple[float, str]]:
    """Yield the pages that were missed of what no law covers, and what that is."""
    yield _read_ahead(load), "scans that read ahead"
    relations, kept = load.counters.found.of("relation"), {table.name for table in load.fitted.tables}
    looked_up = _most_asked(relations)
    for name, change in relations.items():
        missed, table = _missed(change, "pages_read"), change.last.get("table")
        if change.last.get("kind") == "index":
            if table in kept and looked_up.get(str(table)) != name:
                yield missed, f"{name}, an index beside the one that rows are looked up through"
            continue
        yield _missed(change, "toast_pages_read", "toast_index_pages_read"), f"TOAST of {name}"
        if name not in kept and change.last.get("kind") == "table":
            is_known = change.number("rows") and change.number("pages")
            unknown = "" if is_known else ", whose rows or pages are not known: run ANALYZE, and record again"
            yield missed + _missed(change, "index_pages_read"), f"{name}{unknown}"


def _most_asked(relations: Mapping[str, EntityChange]) -> dict[str, str]:
    found: dict[str, tuple[float, str]] = {}
    for name, change in relations.items():
        if change.last.get("kind") == "index":
            table = str(change.last.get("table"))
            found[table] = max(found.get(table, (0.0, "")), (_missed(change, "pages_read", "pages_hit"), name))
    return {table: name for table, (_, name) in found.items()}


def _missed(change: EntityChange, *counters: str) -> float:
    return sum(float(change.number(counter) or 0) for counter in counters)
