"""The tables of ``tiersim describe`` for statements and counters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tiersim.cli import terminal
from tiersim.units import NS_PER_MS, format_bytes, format_ns, format_per_s, format_times

Row = Mapping[str, Any]

#: Rows of a table; the JSON document has all.
SHOWN = 10
#: A query is cut here in the terminal.
_LONGEST = 70
#: Queries of a short table, and where their text is cut.
_FEW, _SHORT = 5, 28
_IDLE = "the server was idle: no query but the recorder's was counted; record while the load runs"
_OF_VACUUM = ("autovacuums", "vacuums", "autoanalyzes", "analyzes")
#: How the states of sessions begin; other processes of a server have names in their place.
_OF_CLIENTS, _HIDDEN = ("active", "idle", "fastpath", "disabled", "/"), "in states that the role may not see"


def show_counted(document: dict[str, Any], everything: bool) -> tuple[list[str], int]:
    """Print what ``counted`` of a description says, *everything* or what matters most; returns the notes below it, and
    how many tables are left out.
    """
    span = "span unknown" if document["span_ns"] is None else f"in {format_ns(document['span_ns'])}"
    tables = list(_tables(document, span))
    queries = sorted(_called(document), key=lambda row: (_is_of_the_recording(row), -_time(row)))[:_FEW]
    if everything or not queries:
        shown = tables if everything else tables[:1]
    else:
        shown = [_Table(f"queries by time, {span}", _SHORT_QUERY, queries)]
    for table in shown:
        table.show()
    whole = list(_whole(document))[: None if everything else SHOWN]
    if whole:
        terminal.show_table("overall", ["figure", "value"], whole, words=2)
    notes = [*(f"missing: {lack}" for lack in document["missing"]), *document["findings"]]
    if _was_idle(document):
        notes.insert(0, _IDLE)
    return notes, max(len(tables) - len(shown), 0)


def why_no_load(document: dict[str, Any]) -> str | None:
    """Say why a recording has no queries to replay; None where it has some."""
    from tiersim.traces.description.missing import WORK_OF_QUERIES

    if _was_idle(document):
        return _IDLE
    lacks = [lack for lack in document["missing"] if lack.startswith(WORK_OF_QUERIES)]
    return f"lacks {lacks[0]}" if lacks else None


def _was_idle(document: dict[str, Any]) -> bool:
    """Tell whether the recorder's queries alone were counted; where not even these were, nobody knows."""
    hidden = "//" in (document["sessions"] or {"mean": ()})["mean"]  # others' queries are, too
    counted = _called(document) if document["snapshots"].get("query", 0) > 1 else []
    return bool(counted) and not hidden and all(map(_is_of_the_recording, counted))


def _called(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in document["queries"] if row["calls"] != 0]


#: A column: its head, its key in a row ("": the whole row), and how that is written.
_Columns = Sequence[tuple[str, str, Callable[[Any], str]]]


@dataclass(frozen=True)
class _Table:
    title: str
    columns: _Columns
    rows: Sequence[Row]
    caption: str = ""
    words: int = 1  # columns of text

    def show(self) -> None:
        cells = [[written(row[key] if key else row) for _, key, written in self.columns] for row in self.rows[:SHOWN]]
        terminal.show_table(self.title, [head for head, _, _ in self.columns], cells, self.caption, words=self.words)


def _tables(document: dict[str, Any], span: str) -> Iterator[_Table]:
    """Yield the tables that there is something for."""
    timed = any(query["cpu_ms"] is not None for query in document["queries"])
    for title, rows in _orders(document["queries"]):
        by_rows = all(row["pages_read"] is None and row["rows_examined"] is not None for row in rows)
        columns = _QUERY_BY_ROWS if by_rows else _QUERY_WITH_CPU if timed else _QUERY
        yield _Table(f"queries by {title}, {span}", columns, rows, _more(document["queries"], "queries"))
    if document["executions"]:
        sums = [one for one in _SUMS if any(row[one[1]] is not None for row in document["executions"])]
        yield _Table("executions that were recorded one by one", (*_EXECUTION, *sums), document["executions"])
    if document["files"]:
        yield _Table(f"files by time, {span}", _FILE, document["files"], _more(document["files"], "files"), 2)
    if document["waits"]:
        yield _Table(f"waits by time, {span}", _WAIT, document["waits"])
    relations = [row for row in document["relations"] if row["pages_read"] or row["pages_hit"]]
    if relations:
        yield _Table("relations by pages read", _RELATION, relations, _more(relations, "relations"), 2)
    indexes = [row for row in document["relations"] if row["page_io_latch_waits"] is not None]
    if indexes:
        indexes.sort(key=lambda row: (-row["page_io_latch_waits"], -(row["index_scans"] or 0), row["name"]))
        yield _Table("tables and indexes by waits for pages", _INDEX, indexes, _more(indexes, "of them"))


def _more(rows: Sequence[object], what: str) -> str:
    return f"{len(rows) - SHOWN} more {what}: --json" if len(rows) > SHOWN else ""


def _orders(queries: Sequence[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the queries that matter by time, then by reads and by writes where these say something else."""
    shown: list[list[str]] = []
    for title, key in (("time", _time), ("pages read", _reads), ("pages dirtied and log", _writes)):
        rows = sorted((query for query in queries if key(query)), key=lambda query: -key(query))[:SHOWN]
        names = [row["entity"] for row in rows]
        if rows and names not in shown:
            shown.append(names)
            yield title, rows


def _time(query: dict[str, Any]) -> float:
    return query["exec_ms"] or 0


def _reads(query: dict[str, Any]) -> float:
    return query["pages_read"] or 0


def _writes(query: dict[str, Any]) -> float:
    return (query["pages_dirtied"] or 0) + (query["log_bytes"] or 0) / 8192


def _text(row: Row, longest: int) -> str:
    """Return the text of a query, that of the recorder or of monitoring marked."""
    text = str(row["text"] or row["entity"])
    return terminal.shortened(f"recorder: {text}" if _is_of_the_recording(row) else text, longest)


def _is_of_the_recording(row: Row) -> bool:
    from tiersim.scenarios.calibration.synthesis.counted import is_of_the_recording
    from tiersim.traces.recorders.own_queries import is_of_recorder

    text = row["text"] or ""
    return is_of_recorder(text) or is_of_the_recording(text)


def _executed(row: Row) -> str:
    return terminal.shortened(row["text"] or row["query"] or "not recorded", _LONGEST)


def _path(row: Row) -> str:
    name: str = row["path"] or row["name"]
    return name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"


def _rate(row: Row, what: str) -> str:
    """Write bytes a second, or bytes in all where the time is not known."""
    per_s = row[f"{what}_per_s"]
    return _bytes(row[what]) if per_s is None else f"{format_bytes(per_s)}/s"


def _wait_of_pages(row: Row) -> str:
    waits, wait_ms = row["page_io_latch_waits"], row["page_io_latch_wait_ms"]
    return _ms(wait_ms / waits if waits and wait_ms is not None else None)


def _whole(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what was counted of the server as a whole: its name, and all of it in a line."""
    of_databases_s, of_log_s = (document["spans_ns"].get(subject, 0) / 1e9 for subject in ("database", "log"))
    least = {subject: "at least " for subject in document["resets"]}
    for row in document["databases"][:SHOWN]:
        yield from _database(row, of_databases_s, least.get("database", ""))
    if pool := document["pool"]:
        usage = ", ".join(f"{count:,} of {name}" for name, count in pool["pages_by_usage"].items())
        by_usage = f"; by usage: {usage}" if usage else ""
        yield "buffer pool", f"{pool['pages']:,} pages, {pool['pages_dirty']:,} dirty{by_usage}"
    if log := document["log"]:
        yield from _log(log, of_log_s, least.get("log", ""))
    if found := document["binary_log"]:
        groups = f" in {_count(found['groups'])} groups" if found.get("groups") is not None else ""
        size = f", {_bytes(found['bytes'])}" if found.get("bytes") is not None else ""
        yield "binary log", f"{_count(found.get('transactions'))} transactions{groups}{size}"
    if found := document["checkpointer"]:
        yield "checkpoints", _checkpointer(found)
    if document["checkpoints"]:
        took = [row["total_ms"] for row in document["checkpoints"] if row.get("total_ms") is not None]
        longest = f", {_ms(min(took))} to {_ms(max(took))}" if took else ""
        yield "checkpoints in the log", f"{len(document['checkpoints']):,}{longest}"
    if found := document["vacuum"]:
        counts = {name: sum(row[name] for row in found["tables"]) for name in _OF_VACUUM}
        runs = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        read, written = found["pages_read"], found["pages_written"]
        own = "" if read is None else f"; autovacuum read {read:,} pages and wrote {written:,}"
        yield "vacuum", (runs or "none has ended") + own
    if found := document["background_writer"]:
        own = found.get("sessions_pages_written")
        sessions = "" if own is None else f"; sessions wrote {_count(own)} themselves"
        yield "background writer", f"{_count(found.get('pages_written'))} pages{sessions}"
    if found := document["sessions"]:
        most = [(name, mean) for name, mean in found["mean"].items() if name.startswith(_OF_CLIENTS)][:4]
        states = [(" ".join(name.replace("/", " ").split()) or _HIDDEN, mean) for name, mean in most]
        waits = ", ".join(f"{format_times(mean, 2)} {state}" for state, mean in states)
        yield "sessions", f"{waits or 'none'} on average ({found['samples']:,} samples)"
    if found := document["client"]:
        clients, count = (_count(found.get(name)) for name in ("clients", "transactions"))
        rate = "?" if (per_s := found.get("transactions_per_s")) is None else format_per_s(per_s)
        yield "load", f"{clients} clients, {count} transactions, {rate}/s, mean {_ms(found.get('mean_ms'))}"


def _database(row: Row, span_s: float, least: str) -> Iterator[tuple[str, str]]:
    name = f"database {row['name']}"
    if row["commits"]:
        rate = f" ({least}{format_per_s(row['commits'] / span_s)}/s)" if span_s else ""
        hits = f", {_count(row['pages_read'])} pages read, hit ratio {_share(row['hit_ratio'])}"
        yield name, f"{_count(row['commits'])} commits{rate}, {_count(row['rollbacks'])} rollbacks{hits}"
    asked = [
        f"{least}{format_per_s(row[what] / span_s)} {what.replace('_', ' ')}/s"
        for what in ("batches", "transactions", "statements", "write_transactions")
        if row[what] is not None and span_s
    ]
    if row["pages_looked_up"] is not None:
        asked.append(
            f"{_count(row['pages_looked_up'])} pages looked up, {_count(row['pages_read'])} read,"
            f" {_share(row['hit_ratio'])} of lookups were hits"
        )
    if asked:
        yield "server" if row["name"] == "*" else name, ", ".join(asked)


def _log(log: Row, span_s: float, least: str) -> Iterator[tuple[str, str]]:
    if log.get("bytes") is not None:
        rate = f" ({least}{format_bytes(log['bytes'] / span_s)}/s)" if span_s else ""
        records = f" in {_count(log['records'])} records" if log.get("records") is not None else ""
        images = (
            f", {_count(log['full_page_images'])} full-page images" if log.get("full_page_images") is not None else ""
        )
        flushes = f", {_count(log['flushes'])} flushes" if log.get("flushes") is not None else ""
        mean = of_time = ""
        if log.get("flush_ms") and log.get("flushes"):
            mean = f" of {_ms(log['flush_ms'] / log['flushes'])}"
            busy_pct = 100 * log["flush_ms"] / (1e3 * span_s) if span_s and not least else 0.0
            of_time = f" ({busy_pct:.0f} % of the time)" if 0 < busy_pct <= 100 else ""  # not of flushes side by side
        yield "log", f"{_bytes(log['bytes'])}{rate}{records}{images}{flushes}{mean}{of_time}"
    if log.get("checkpoint_age_bytes") is not None:
        limit = f", the server waits at {_bytes(most)}" if (most := log.get("checkpoint_age_limit_bytes")) else ""
        of = f" of {_bytes(capacity)} of redo" if (capacity := log.get("capacity_bytes")) else ""
        yield "checkpoint age", f"{_bytes(log['checkpoint_age_bytes'])}{of} at the end{limit}"


def _checkpointer(found: Row) -> str:
    phrases = []
    if found.get("timed") is not None or found.get("requested") is not None:
        phrases.append(f"{_count(found.get('timed'))} timed, {_count(found.get('requested'))} requested")
    # of a checkpoint that runs the server counts pages, and no time yet
    timed = f" in {_ms(found['write_ms'])}" if found.get("write_ms") else ""
    timed += f", flushed in {_ms(found['flush_ms'])}" if found.get("flush_ms") else ""
    if found.get("done") is not None:
        phrases.append(f"{_count(found['done'])} done")
    if found.get("pages_written") is not None or not phrases:
        phrases.append(f"{_count(found.get('pages_written'))} pages written{timed}")
    if found.get("indirect_pages_written"):
        phrases.append(f"{_count(found['indirect_pages_written'])} by indirect checkpoints")
    return ", ".join(phrases)


def _count(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.1f} %"


def _bytes(value: float | None) -> str:
    return "?" if value is None else format_bytes(value)


def _ms(value: float | None) -> str:
    return "?" if value is None else format_ns(value * NS_PER_MS)


def _ns(value: float | None) -> str:
    return "?" if value is None else format_ns(value)


_CALLS: _Columns = (("calls", "calls", _count), ("mean", "mean_ms", _ms))
_TIME: _Columns = (
    ("query", "", lambda row: _text(row, _LONGEST)),
    *_CALLS,
    ("time", "exec_ms", _ms),
    ("of all", "share_of_time", _share),
)
_PAGES: _Columns = (
    ("pages hit", "pages_hit", _count), ("pages read", "pages_read", _count), ("hit ratio", "hit_ratio", _share),
)  # fmt: skip
_SHORT_QUERY: _Columns = (
    ("query", "", lambda row: _text(row, _SHORT)),
    *_CALLS,
    ("of all", "share_of_time", _share),
    *_PAGES[1:],
)
_QUERY: _Columns = (*_TIME, *_PAGES, ("written", "pages_written", _count), ("log", "log_bytes", _bytes))
_QUERY_WITH_CPU: _Columns = (*_TIME, ("CPU", "cpu_ms", _ms), *_PAGES, ("dirtied", "pages_dirtied", _count))
#: Of a server that counts no pages for a query.
_QUERY_BY_ROWS: _Columns = (
    *_TIME, ("rows", "rows", _count), ("rows examined", "rows_examined", _count), ("waited for locks", "lock_ms", _ms),
)  # fmt: skip
_EXECUTION: _Columns = (
    ("executed", "", _executed), ("count", "count", _count), ("sessions", "sessions", _count),
    ("time", "duration_ns", _ns), ("mean", "mean_ns", _ns), ("p50", "p50_ns", _ns), ("p95", "p95_ns", _ns),
    ("p99", "p99_ns", _ns),
)  # fmt: skip
#: Sums of executions that a source may have.
_SUMS: _Columns = (
    ("CPU", "cpu_ns", _ns), ("rows examined", "rows_examined", _count), ("looked up", "logical_reads", _count),
    ("read", "physical_reads", _count), ("written", "writes", _count),
)  # fmt: skip
_FILE: _Columns = (
    ("file", "", _path), ("kind", "kind", lambda kind: kind or "?"), ("size", "size_bytes", _bytes),
    ("reads", "reads", _count), ("mean", "read_mean_ms", _ms), ("read", "", lambda row: _rate(row, "read_bytes")),
    ("writes", "writes", _count), ("mean", "write_mean_ms", _ms),
    ("written", "", lambda row: _rate(row, "written_bytes")),
)  # fmt: skip
_WAIT: _Columns = (
    ("wait", "name", str), ("waits", "waits", _count), ("time", "wait_ms", _ms), ("mean", "mean_ms", _ms),
    ("of all", "share_of_time", _share), ("for a processor", "signal_wait_ms", _ms),
)  # fmt: skip
_RELATION: _Columns = (
    ("relation", "name", str), ("kind", "kind", lambda kind: kind or ""), ("size", "size_bytes", _bytes),
    ("pages read", "pages_read", _count), ("pages hit", "pages_hit", _count), ("hit ratio", "hit_ratio", _share),
    ("in the pool", "pages_cached", _count),
)  # fmt: skip
_INDEX: _Columns = (
    ("table or index", "name", str), ("size", "size_bytes", _bytes), ("scans, lookups", "index_scans", _count),
    ("inserted", "rows_inserted", _count), ("updated", "rows_updated", _count), ("deleted", "rows_deleted", _count),
    ("waits for pages", "page_io_latch_waits", _count), ("mean", "", _wait_of_pages),
    ("in the pool", "pages_cached", _count),
)  # fmt: skip
