"""Executions of one query in one interval: counts are handed out so that they add up; and the table of all of them."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.apportion import apportion, scattered
from tiersim.scenarios.calibration.synthesis.counted import Counted
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.calibration.synthesis.durations import draw_durations
from tiersim.scenarios.calibration.synthesis.sessions import Turns
from tiersim.scenarios.calibration.synthesis.time_split import Split
from tiersim.traces.bundle_tables import Table
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS, STATEMENT_KINDS

#: A query that looks up more pages than this in a call reads ranges, whose sizes vary as its times do; fewer are the
#: way through an index to a row or a few, and that is always as long.
_PAGES_OF_A_ROW = 32
#: Least length of a record of the log: its own header, and that of a page (PostgreSQL, access/xlogrecord.h: 24 and 20
#: bytes).
_RECORD_BYTES = 44
#: With more images an execution than this, all are given as many.
_MOST_IMAGES = 64

Counts = NDArray[np.int64]


#: Columns of statements by name, and ``pages_dirtied``; NOT_KNOWN where the source has nothing.
Executions = dict[str, Counts]


def draw_executions(query: Counted, split: Split, page_bytes: int, draws: Draws) -> Executions:
    """Draw all calls of *query*: the sums of every column are what was counted, to the last unit."""
    calls = query.calls
    sizes = _sizes(query, draws)
    weights = np.ones(calls) if sizes is None else sizes

    def handed_out(total: int | None, name: str, by: NDArray[np.float64] = weights) -> Counts:
        if total is None:
            return np.full(calls, NOT_KNOWN, np.int64)
        if not total:
            return np.zeros(calls, np.int64)
        return apportion(total, by, chance=draws.uniform(calls, name))

    logical = handed_out(None if query.pages_hit is None else query.pages_hit + (query.pages_read or 0), "pages")
    reads = handed_out(query.pages_read, "reads")
    if query.pages_read and query.pages_hit is not None:
        reads = scattered(query.pages_read, logical, draws)
    writes = handed_out(query.pages_written, "writes", reads.astype(np.float64) if query.pages_read else weights)
    temp = handed_out(query.temp_pages, "temp")

    read_ns, write_ns = query.read_ns or 0, query.write_ns or 0
    pages_ns = np.zeros(calls)
    for column, total, time_ns in ((reads, query.pages_read, read_ns), (writes, query.pages_written, write_ns)):
        if total:
            pages_ns += column * (time_ns / total)
    if query.temp_pages and not pages_ns.any():
        pages_ns += temp * ((read_ns + write_ns) / query.temp_pages)
    pages = np.maximum(reads, 0) + np.maximum(writes, 0) + np.maximum(temp, 0)
    drawn = draw_durations(query, split.io_ns or 0, sizes, pages_ns, pages, draws)
    columns = {
        "duration_ns": drawn.base_ns + drawn.io_ns,
        "pages_dirtied": handed_out(query.pages_dirtied, "dirtied"),
        "logical_reads": logical,
        "physical_reads": reads,
        "writes": writes,
        "rows": handed_out(query.rows, "rows"),
        "log_bytes": _log_bytes(query, weights, page_bytes, draws),
        "temp_bytes": np.where(temp == NOT_KNOWN, NOT_KNOWN, temp * page_bytes),
        "parallel": handed_out(query.workers, "workers"),
        "rows_examined": np.full(calls, NOT_KNOWN, np.int64),
        "io_wait_ns": np.full(calls, NOT_KNOWN, np.int64) if split.io_ns is None else drawn.io_ns,
    }
    return columns | _waits_and_cpu(query, split, drawn.base_ns)


def _sizes(query: Counted, draws: Draws) -> NDArray[np.float64] | None:
    """Return how much each execution has to do, relative to the mean; None when all have to do the same."""
    pages = (query.pages_hit or 0) + (query.pages_read or 0)
    if pages <= _PAGES_OF_A_ROW * query.calls or not query.stddev_ns or not query.exec_ns:
        return None
    spread = query.stddev_ns * query.calls / query.exec_ns
    sizes: NDArray[np.float64] = np.exp(math.sqrt(math.log1p(spread**2)) * draws.normal(query.calls, "size"))
    return sizes


def bytes_of_images(log_bytes: int, images: int, records: int, page_bytes: int) -> int:
    """Return how much of *log_bytes* is images of pages: none has more bytes than a page, and no record fewer than its
    headers.
    """
    return min(images * page_bytes, max(0, log_bytes - _RECORD_BYTES * records))


def _log_bytes(query: Counted, weights: NDArray[np.float64], page_bytes: int, draws: Draws) -> Counts:
    """Hand out bytes of the log: images of pages go to some executions, a page each, and what the
    records are to all.
    """
    if query.log_bytes is None:
        return np.full(query.calls, NOT_KNOWN, np.int64)
    images = query.log_page_images or 0
    image_bytes = bytes_of_images(query.log_bytes, images, query.log_records or 0, page_bytes)
    records = apportion(query.log_bytes - image_bytes, weights, chance=draws.uniform(query.calls, "log"))
    if not image_bytes:
        return records
    if images > _MOST_IMAGES * query.calls:
        return records + apportion(image_bytes, weights)
    having = np.bincount((draws.uniform(images, "images") * query.calls).astype(np.int64), minlength=query.calls)
    return records + apportion(image_bytes, having.astype(np.float64))


def _waits_and_cpu(query: Counted, split: Split, base_ns: Counts) -> dict[str, Counts]:
    """Divide what is not for pages, of each execution in proportion."""
    left_ns = base_ns
    columns: dict[str, Counts] = {}
    for name, total_ns in (
        ("lock_wait_ns", split.lock_ns),
        ("log_wait_ns", split.log_ns),
        ("client_wait_ns", split.client_ns),
    ):
        columns[name] = np.full(query.calls, NOT_KNOWN, np.int64)
        if total_ns is not None:
            columns[name] = _part_of(left_ns, total_ns)
            left_ns = left_ns - columns[name]
    columns["cpu_ns"] = np.full(query.calls, NOT_KNOWN, np.int64)
    if split.cpu_ns is not None:
        most = None if split.cpu_ns > int(left_ns.sum()) else left_ns  # workers' time is of the query, too
        columns["cpu_ns"] = apportion(split.cpu_ns, left_ns.astype(np.float64), most)
    return columns


def _part_of(times_ns: Counts, total_ns: int) -> Counts:
    return apportion(min(total_ns, int(times_ns.sum())), times_ns.astype(np.float64), times_ns)


Column = NDArray[np.int64]


class Assembly:
    """Takes the executions of intervals in any order."""

    def __init__(self) -> None:
        """Begin without any."""
        self._pieces: dict[str, list[Column]] = {}
        self._transactions = 0

    def add(self, executions: Sequence[Executions], entities: Column, transaction: Column, turns: Turns) -> None:
        """Take in an interval; the code of the entity and the transaction (from 0) are by execution."""
        columns = {name: np.concatenate([e[name] for e in executions]) for name in executions[0]}
        columns |= {
            "time_ns": turns.start_ns,
            "session": turns.session,
            "sequence": turns.sequence,
            "transaction": transaction + self._transactions,
            "entity": entities,
        }
        self._transactions += int(transaction.max()) + 1
        for name, values in columns.items():
            self._pieces.setdefault(name, []).append(values)

    def table(self, queries: Sequence[str], kinds: Sequence[str], sessions: Sequence[str]) -> tuple[Table, Column]:
        """Return all in order of time, and pages dirtied by row; this can be asked once, for memory's sake.

        *queries* and *kinds* are by code of the entity; *sessions* are names of the first sessions, others are
        numbered.
        """
        order = np.lexsort([np.concatenate(self._pieces[name]) for name in ("sequence", "session", "time_ns")])
        columns = {name: np.concatenate(self._pieces.pop(name))[order] for name in list(self._pieces)}
        words = list(dict.fromkeys(queries))
        places = {query: place for place, query in enumerate(words)}
        entities = columns["entity"]
        columns["query"] = np.array([places[query] for query in queries])[entities]
        columns["kind"] = np.array([STATEMENT_KINDS.index(kind) for kind in kinds])[entities]
        columns["transaction"] = _by_appearance(columns["transaction"])
        used, columns["session"] = np.unique(columns["session"], return_inverse=True)
        numbered = (code - len(sessions) for code in used.tolist())
        names = [f"session {number + 1}" if number >= 0 else sessions[number] for number in numbered]
        table = Table(
            {c.name: columns[c.name].astype(np.int32 if c.kind == "text" else np.int64) for c in STATEMENT_COLUMNS},
            {"session": names, "kind": STATEMENT_KINDS, "query": words},
        )
        return table, columns["pages_dirtied"]


def _by_appearance(numbers: Column) -> Column:
    """Return numbers renamed to 0, 1, 2 … in the order in which they first come."""
    _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place]
