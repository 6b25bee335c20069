"""From a bundle's counters to the tables that were accessed, the pool that was asked for their pages, and the operating
system's page cache that a recorded PostgreSQL read through.

How large that was follows from the pages that its pool missed, what the devices were read for meanwhile, and the host's
memory.

What the pool misses asks the page cache, which is taken to replace pages by LRU (:meth:`.Pool.lru_below`; Che, Tung and
Wang, IEEE JSAC 20, 2002, look at caches below each other like this). So the size is that of an LRU cache that answers
as much. It is half to nine tenths of what the system calls cached: pages that were read ahead, other files and the log
take room, too, and Linux does not replace by LRU. It stays as it is beside a larger pool, as far as memory goes: 110 to
131 MiB were inferred beside pools of 32, 64 and 128 MiB on a host with 300 MiB, and 56 on one with 160 (docs/pool.md).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.occupancy import MOST, AccessedTable, Pool, levels
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import UPKEEP_RUNS, Counters, Differences, EntityChange, of_upkeep
from tiersim.traces.statistics import Values, texts_of_queries
from tiersim.units import format_bytes

if TYPE_CHECKING:
    from tiersim.scenarios.calibration.popularity.fit import Fitted

#: A query that misses less than this share of what another of the same table does, in a call, finds the other's pages.
FINDS = 0.05
#: A pool of which a smaller share holds nothing is full: relations that are dropped leave frames behind.
_FILLING = 0.1
#: Of all pages that were missed; tables with a smaller share of them are not fitted, and keep the place that they have.
_MATTERS = 0.01
#: What sessions did to relations, but for what goes through rings.
_OF_SESSIONS = "client backend/relation/normal"
#: Parts of a disk, and devices that stand on others: their reads are counted there, too.
_PART = re.compile(r"(?:(?:h|s|v|xv)d[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+)p\d+)")
_STACKED = re.compile(r"(?:md|dm-|loop|drbd|zram|ram|sr|nbd)\d+")
#: With more of the missed pages read from the devices the page cache had hardly any that the pool had not, and may be
#: as large as the pool; with less of them it had room for all that was asked for. Under a server that reads past it,
#: devices were read for 99.8 to 100.3 % of the pages (benchmarks/real_postgres).
_HARDLY, _ALL = 0.97, 0.02
#: The law of popularity says nothing of pages that scans missed; when those are more, nothing is inferred.
_MOST_SCANNED = 0.2


@dataclass(frozen=True)
class Accesses:
    """What a recorded pool was asked for, of the tables that it missed pages of or whose rows were changed."""

    tables: tuple[AccessedTable, ...]
    frames: int  # of the pool, those left out that other relations lay in
    inferred: tuple[str, ...]
    unused: int = 0  # frames that held nothing when the recording began
    added: int = 0  # pages that sessions put behind relations


def recorded_accesses(counters: Counters) -> Accesses:
    """Return what the *counters* of a bundle say; raises TraceError naming what they lack."""
    path, found = counters.path, counters.found
    host = Bundle(path).manifest.host
    pool_bytes, page_bytes = host.get("shared_buffers_bytes"), host.get("page_bytes")
    if not isinstance(pool_bytes, int) or not isinstance(page_bytes, int):
        raise TraceError(
            f"{path}: does not say how large the buffer pool was (pg_settings); record the server with tiersim record"
            " postgres, or save what all lines of its --dry-run print"
        )
    texts = texts_of_queries(path, "entity")
    said = _complete_sizes(found, page_bytes)
    least = _MATTERS * sum(_count(change, "pages_read") for change in found.of("relation").values())
    indexes = _indexes(found)
    kept_up = _misses_of_upkeep(found, page_bytes)
    tables = [
        table
        for name, change in sorted(found.of("relation").items())
        if change.last.get("kind") == "table"
        and (table := _table(name, change, indexes.get(name), least, kept_up.get(name, 0), found, texts, said))
    ]
    if not tables:
        raise TraceError(
            f"{path}: names no table with its size, rows and misses; record pg_statio_user_tables,"
            " pg_statio_user_indexes and pg_class before and after a load that misses pages, by the lines that tiersim"
            " record postgres --dry-run prints"
        )
    tables = [_with_pages_held(table, indexes.get(table.name), found, page_bytes) for table in tables]
    tables += _changed(found, indexes, {table.name for table in tables}, said)
    others = _pages_of_others(found, {table.name for table in tables})
    nameless = _pages_without_name(found)
    if nameless >= _FILLING * pool_bytes / page_bytes:
        others += nameless
        said.append(
            f"{nameless:,} of the pool's {pool_bytes // page_bytes:,} pages are of other databases, and stay theirs in"
            " a pool of another size; what their tables are asked for was not recorded"
        )
    frames = max(pool_bytes // page_bytes - others, 1)
    unused = min(unused_frames(counters.pool), frames)
    if unused < _FILLING * frames:
        unused = 0
    if unused:
        said.append(
            f"{unused:,} of the pool's {frames:,} frames for these tables were empty when the recording began: the run"
            " fills the pool, too"
        )
    # from 18 on PostgreSQL counts how often a file was extended, by several pages at a time
    added = _count(found.of("io").get(_OF_SESSIONS, EntityChange()), "extended_bytes") // page_bytes
    return Accesses(tuple(tables), frames, tuple(said), unused, added)


def unused_frames(pool: Mapping[str, Values]) -> int:
    """Return how many pages of a *pool* held nothing, as far as its entities say; 0 if they do not."""
    of_nobody = (values.get("pages") for entity, values in pool.items() if "unused" in entity)
    counted = [*of_nobody, *(values.get("pages_unused") for values in pool.values())]
    return max((int(float(count)) for count in counted if count is not None), default=0)


def _complete_sizes(found: Differences, page_bytes: int) -> list[str]:
    """Give rows and pages to tables and indexes whose catalogue has none of both, as after a restore without ANALYZE:
    the rows that the server's statistics count as live, and what their files have. Return a sentence, if there are any.
    """
    completed = []
    for name, change in sorted(found.of("relation").items()):
        if change.last.get("kind") not in ("table", "index") or (_count(change, "rows") and _count(change, "pages")):
            continue
        known = {"rows": _count(change, "rows_live"), "pages": _count(change, "size_bytes") // page_bytes}
        lacking = {word: Decimal(count) for word, count in known.items() if count and not _count(change, word)}
        if lacking and _asked(change):
            change.last.update(lacking)
            completed.append(name)
    if not completed:
        return []
    said = (
        f"rows or pages of {', '.join(completed)} are not known, as nobody analyzed them; they are taken from live rows"
        " and sizes of files"
    )
    return [said]


def _count(change: EntityChange, counter: str) -> int:
    return int(change.number(counter) or 0)


def _table(
    name: str,
    change: EntityChange,
    of_index: str | None,
    least: float,
    kept_up: int,
    found: Differences,
    texts: dict[str, str],
    said: list[str],
) -> AccessedTable | None:
    """Return a table that more than *least* pages were missed of; None for others, and where its size is not known.
    VACUUM and ANALYZE missed *kept_up* of them.
    """
    rows, heap_pages = _count(change, "rows"), _count(change, "pages")
    index = None if of_index is None else found.of("relation")[of_index]
    index_pages = 0 if index is None else _count(index, "pages")
    heap_missed = _count(change, "pages_read") - kept_up
    index_missed = 0 if index is None else _count(index, "pages_read")
    if rows < 1 or heap_pages < 1 or heap_missed + index_missed <= least:
        return None
    if index is None:
        said.append(f"{name}: no index in use was recorded; lookups are simulated without one")
    scans = _scans(change, rows)
    scanned = round(scans * heap_pages)
    if scans:
        heap_missed -= _missed_by_scans(name, change, scans, found)
        said.append(f"{name}: {scans:,.1f} full scans, and their misses, do not count as lookups")
    if index is not None and index_pages:
        looked_up = _lookups(index, index_pages)
    else:
        looked_up = _count(change, "pages_hit") + _count(change, "pages_read") - scanned
    if looked_up < 1:
        said.append(f"{name}: only scanned, never looked up by row: it has no hot rows")
        return None
    touches = _touches(name, found, texts)
    if touches > 1:
        said.append(f"{name}: {touches} statements of a transaction look up the same row; only the first reads pages")
    return AccessedTable(
        name,
        rows,
        heap_pages,
        index_pages,
        max(round(looked_up / touches), 1),
        heap_missed,
        index_missed,
        touches,
        grows=_count(change, "rows_inserted") > 0,
        updated=_count(change, "rows_updated") > 0,
    )


def _misses_of_upkeep(found: Differences, page_bytes: int) -> dict[str, int]:
    """Return how many pages VACUUM and ANALYZE missed of the tables that they ran over, shared by what was missed of
    each: tables count misses of everybody (pg_statio_all_tables).
    """
    ran = {
        name: _count(change, "pages_read")
        for name, change in found.of("relation").items()
        if any(change.number(run) for run in UPKEEP_RUNS)
    }
    missed, pages = sum(ran.values()), of_upkeep(found, "read_bytes")[0] / page_bytes
    return {name: round(count * min(pages / missed, 1)) for name, count in ran.items() if count}


def _lookups(index: EntityChange, pages: int) -> float:
    """Return how many rows were looked up through an index: its scans, if each found a row at most; else its pages by
    its levels.

    An entry that is added for a new version of a row asks for pages, too, and is no lookup.
    """
    scans, rows = index.number("index_scans"), index.number("index_rows")
    if scans and rows is not None and rows <= scans:
        return float(scans)
    return _asked(index) / len(levels(pages))


def _changed(found: Differences, indexes: Mapping[str, str], fitted: set[str], said: list[str]) -> list[AccessedTable]:
    """Return the tables that hardly a page was missed of and whose rows were changed: who changes one keeps it from
    others.
    """
    changes = {
        name: _count(change, "rows_updated") + _count(change, "rows_deleted")
        for name, change in sorted(found.of("relation").items())
        if change.last.get("kind") == "table"
    }
    least = _MATTERS * max(changes.values(), default=0)
    tables = []
    for name, count in changes.items():
        index = found.of("relation")[indexes[name]] if name in indexes else None
        rows, pages = (_count(found.of("relation")[name], counter) for counter in ("rows", "pages"))
        if name in fitted or count <= least or rows < 1 or pages < 1:
            continue
        index_pages = 0 if index is None else _count(index, "pages")
        if index is not None and _count(index, "index_scans") < count:  # its rows are found by scans
            index_pages = 0
        tables.append(AccessedTable(name, rows, pages, index_pages, count, 0, 0, even=True))
        said.append(
            f"{name}: almost no page was missed, so its hot rows are unknown; changes are spread evenly over its rows"
        )
    return tables


def _scans(change: EntityChange, rows: int) -> float:
    """Return how many scans of the whole table there were: as many as their rows make up, if they were counted; some
    end early.
    """
    scans = _count(change, "sequential_scans")
    scanned_rows = change.number("sequential_rows")
    return scans if scanned_rows is None else min(scans, float(scanned_rows) / rows)


def _missed_by_scans(name: str, change: EntityChange, scans: float, found: Differences) -> int:
    """Return the pages that scans missed, at most all: of each scan those that the pool does not hold; if that is not
    known, the share of a table's misses that is the scans' share of its pages.
    """
    pages, missed = _count(change, "pages"), _count(change, "pages_read")
    held = _by_usage(name, found)
    if held:
        return min(round(scans * max(pages - sum(held), 0)), missed)
    asked = missed + _count(change, "pages_hit")
    return round(missed * min(scans * pages / asked, 1))


def _with_pages_held(table: AccessedTable, index: str | None, found: Differences, page_bytes: int) -> AccessedTable:
    """Return a table with the pages of it and of its *index* that the pool holds, and those of its file: of one that
    grows rows and pages were both counted before.
    """
    of_index = () if index is None else _by_usage(index, found)
    file_pages = 0 if table.grows else _count(found.of("relation")[table.name], "size_bytes") // page_bytes
    return replace(table, heap_held=_by_usage(table.name, found), index_held=of_index, file_pages=file_pages)


def _by_usage(name: str, found: Differences) -> tuple[int, ...]:
    """Return how many pages of a relation the pool holds with each usage count; nothing where that was not recorded."""
    counts = [0] * (MOST + 1)
    bare = name.rpartition(".")[2]
    for entity, change in found.of("pool").items():
        relation, _, rest = entity.partition("/")
        usage = rest.partition("/")[0]
        if relation in (name, bare) and usage.isdigit() and int(usage) <= MOST:
            counts[int(usage)] += _count(change, "pages")
    return tuple(counts) if any(counts) else ()


def _indexes(found: Differences) -> dict[str, str]:
    """Return by table the index that most pages were asked for of."""
    most: dict[str, tuple[int, str]] = {}
    for name, change in found.of("relation").items():
        table, asked = change.last.get("table"), _asked(change)
        if change.last.get("kind") == "index" and isinstance(table, str) and asked:
            most[table] = max(most.get(table, (0, "")), (asked, name))
    return {table: name for table, (_, name) in most.items()}


def _asked(change: EntityChange) -> int:
    return _count(change, "pages_hit") + _count(change, "pages_read")


def _touches(name: str, found: Differences, texts: dict[str, str]) -> int:
    """Return how many statements in turn look up a row: calls of all queries of the table by calls
    of those that miss.
    """
    word = re.compile(rf"\b{re.escape(name.rpartition('.')[2])}\b")
    queries = [
        (_count(change, "calls"), _count(change, "pages_read") / calls)
        for entity, change in found.of("query").items()
        if (calls := _count(change, "calls")) and word.search(texts.get(entity, ""))
    ]
    if not queries:
        return 1
    most = max(queries)[0]
    often = [(calls, missed) for calls, missed in queries if calls > most * FINDS]
    worst = max(missed for _, missed in often)
    missing = sum(calls for calls, missed in often if missed >= worst * FINDS)
    return max(round(sum(calls for calls, _ in often) / missing), 1) if worst else 1


def _pages_of_others(found: Differences, names: set[str]) -> int:
    """Return how many pages of the pool belong to relations other than *names* and their indexes; 0 where that is not
    known.
    """
    kept = names | {other for other, change in found.of("relation").items() if change.last.get("table") in names}
    bare = kept | {name.rpartition(".")[2] for name in kept}
    return sum(
        _count(change, "pages")
        for entity, change in found.of("pool").items()
        if (relation := entity.split("/")[0]) not in bare and relation not in ("*", "")
    )


def _pages_without_name(found: Differences) -> int:
    """Return how many pages of the pool are of relations that the recorded database has no name for: those of other
    databases, and a few of relations that were dropped.
    """
    return sum(
        _count(change, "pages")
        for entity, change in found.of("pool").items()
        if entity.startswith("/") and entity.split("/")[1].isdigit()
    )


@dataclass(frozen=True)
class PageCache:
    """The page cache of the recorded host beside the recorded pool; None where nobody looked."""

    bytes: int
    pool_bytes: int  # of the recorded pool
    most_bytes: int | None  # that pool and cache could have together
    memory_bytes: int | None  # of the host
    holds_all: bool  # that was asked for: it did not have to give up a page
    said: str

    def beside(self, pool_bytes: int, memory_bytes: int | None = None) -> int:
        """Return how large it is beside a pool of *pool_bytes*, on a host with *memory_bytes* in place of the recorded
        ones.
        """
        wanted, most = self.bytes, self.most_bytes
        if self.holds_all:
            wanted += max(self.pool_bytes - pool_bytes, 0)  # pages that the pool has no room for
        if most is not None and memory_bytes is not None and self.memory_bytes is not None:
            grown = most + memory_bytes - self.memory_bytes
            if not self.holds_all:
                wanted = round(wanted * max(grown - self.pool_bytes, 0) / max(most - self.pool_bytes, 1))
            most = grown
        room = [most_of - pool_bytes for most_of in (most, memory_bytes) if most_of is not None]
        return max(min([wanted, *room]), 0)


def page_cache(counters: Counters, host: Mapping[str, Any], fitted: "Fitted", log_bytes: float) -> PageCache | None:
    """Infer the page cache of a recorded PostgreSQL on *host*; None where the recording does not tell. *log_bytes* were
    written through it, each of which took the place of one that was read.
    """
    if "data" in str(host.get("debug_io_direct", "")):
        return None
    pool_bytes, page_bytes = int(host["shared_buffers_bytes"]), int(host["page_bytes"])
    found = counters.found
    missed = sum(float(change.number("pages_read") or 0) for change in found.of("relation").values())
    read = device_pages_read(found.of("device"), page_bytes)
    of_rows = sum(table.heap_missed + table.index_missed for table in fitted.tables)
    if read is None or of_rows < (1 - _MOST_SCANNED) * missed or not missed:
        return None
    share = read / missed
    memory = found.of("memory").get("host")
    free, total = (None if memory is None else memory.last.get(name) for name in ("available_bytes", "total_bytes"))
    most_bytes = None if free is None else pool_bytes + int(float(free))
    memory_bytes = None if total is None else int(float(total))
    seen = f"the volumes were read for {min(share, 1):.0%} of the pages that the buffer pool missed"
    if share > _HARDLY:
        said = f"{seen}: no OS page cache is assumed beside the recorded pool (engine.os_cache)"
        return PageCache(0, pool_bytes, most_bytes, memory_bytes, False, said)
    pool = Pool(fitted.tables, fitted.seed, fitted.policy)
    size = round(pool.lru_below(fitted.laws, fitted.frames, max(share, _ALL))) * page_bytes
    if share >= _ALL:
        size = round(size * (1 + log_bytes / (read * page_bytes)))
    if most_bytes is not None:
        size = min(size, most_bytes - pool_bytes)
    said = (
        f"{seen}: an OS page cache of {format_bytes(size)}{' or more' if share < _ALL else ''} answered the others"
        " (engine.os_cache)"
    )
    return PageCache(size, pool_bytes, most_bytes, memory_bytes, share < _ALL, said)


def device_pages_read(devices: Mapping[str, EntityChange], page_bytes: int) -> float | None:
    """Return the pages that devices were read for, none counted twice; None where nobody counted.

    A page that is read by itself is one request, and brings others with it where the system reads ahead, which nobody
    has asked for; so there were no more than requests, and no more than bytes. Counted are whole disks together, or one
    device that stands on others or on a file, if that was read for more.
    """
    pages = {
        name: min(float(reads + (change.number("reads_merged") or 0)), float(read_bytes) / page_bytes)
        for name, change in devices.items()
        if not _PART.fullmatch(name)
        and (reads := change.number("reads")) is not None
        and (read_bytes := change.number("read_bytes")) is not None
    }
    if not pages:
        return None
    stacked = [count for name, count in pages.items() if _STACKED.fullmatch(name)]
    return max([sum(pages.values()) - sum(stacked), *stacked])
