"""The tables of ``tiersim describe`` for statements and counters."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tiersim.cli import terminal
from tiersim.units import NS_PER_MS, format_bytes, format_ns

#: Rows of a table; the JSON document has all.
SHOWN = 10
#: A query is cut here in the terminal.
_LONGEST = 70
#: Queries of a short table, their columns, and where their text is cut.
_FEW, _SHORT = 5, 28
_SHORT_QUERY_COLUMNS = ("query", "calls", "mean", "of all", "pages read", "hit ratio")
_QUERY_COLUMNS = ("query", "calls", "mean", "time", "of all", "pages hit", "pages read", "hit ratio", "written", "log")
_CPU_COLUMNS = ("query", "calls", "mean", "time", "of all", "CPU", "pages hit", "pages read", "hit ratio", "dirtied")
_ROW_COLUMNS = ("query", "calls", "mean", "time", "of all", "rows", "rows examined", "waited for locks")
_EXECUTION_COLUMNS = ("executed", "count", "sessions", "time", "mean", "p50", "p95", "p99")
_FILE_COLUMNS = ("file", "kind", "size", "reads", "mean", "read", "writes", "mean", "written")
_WAIT_COLUMNS = ("wait", "waits", "time", "mean", "of all", "for a processor")
_INDEX_COLUMNS = (
    "table or index",
    "size",
    "scans, lookups",
    "inserted",
    "updated",
    "deleted",
    "waits for pages",
    "mean",
    "in the pool",
)
_IDLE = "the server was idle: no query but the recorder's was counted; record while the load runs"
#: How the states of sessions begin; other processes of a server have names in their place.
_OF_CLIENTS, _HIDDEN = ("active", "idle", "fastpath", "disabled", "/"), "in states that the role may not see"
_RELATION_COLUMNS = ("relation", "kind", "size", "pages read", "pages hit", "hit ratio", "in the pool")


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
        rows = [_short_query(row) for row in queries]
        shown = [_Table(f"queries by time, {span}", _SHORT_QUERY_COLUMNS, rows)]
    for table in shown:
        terminal.show_table(table.title, table.columns, table.rows, table.caption, words=table.words)
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


@dataclass(frozen=True)
class _Table:
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    words: int = 1


def _tables(document: dict[str, Any], span: str) -> Iterator[_Table]:
    """Yield the tables that there is something for."""
    timed = any(query["cpu_ms"] is not None for query in document["queries"])
    for title, rows in _orders(document["queries"]):
        cells = [(_query_with_cpu if timed else _query)(row) for row in rows]
        columns: Sequence[str] = _CPU_COLUMNS if timed else _QUERY_COLUMNS
        if all(row["pages_read"] is None and row["rows_examined"] is not None for row in rows):
            columns, cells = _ROW_COLUMNS, [_query_by_rows(row) for row in rows]
        yield _Table(f"queries by {title}, {span}", columns, cells, _more(document["queries"], "queries"))
    if document["executions"]:
        counts = [name for name in _SUMS if any(row[name] is not None for row in document["executions"])]
        sums = [_SUMS[name] for name in counts]
        cells = [_execution(row, counts) for row in document["executions"][:SHOWN]]
        yield _Table("executions that were recorded one by one", (*_EXECUTION_COLUMNS, *sums), cells)
    if document["files"]:
        cells = [_file(row) for row in document["files"][:SHOWN]]
        yield _Table(f"files by time, {span}", _FILE_COLUMNS, cells, _more(document["files"], "files"), 2)
    if document["waits"]:
        yield _Table(f"waits by time, {span}", _WAIT_COLUMNS, [_wait(row) for row in document["waits"][:SHOWN]])
    relations = [row for row in document["relations"] if row["pages_read"] or row["pages_hit"]]
    if relations:
        cells = [_relation(row) for row in relations[:SHOWN]]
        yield _Table("relations by pages read", _RELATION_COLUMNS, cells, _more(relations, "relations"), 2)
    indexes = [row for row in document["relations"] if row["page_io_latch_waits"] is not None]
    if indexes:
        indexes.sort(key=lambda row: (-row["page_io_latch_waits"], -(row["index_scans"] or 0), row["name"]))
        cells = [_index(row) for row in indexes[:SHOWN]]
        yield _Table("tables and indexes by waits for pages", _INDEX_COLUMNS, cells, _more(indexes, "of them"))


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


def _text(row: dict[str, Any]) -> str:
    """Return the text of a query, that of the recorder or of monitoring marked."""
    text = str(row["text"] or row["entity"])
    return f"recorder: {text}" if _is_of_the_recording(row) else text


def _is_of_the_recording(row: dict[str, Any]) -> bool:
    from tiersim.scenarios.calibration.synthesis.counted import is_of_the_recording
    from tiersim.traces.recorders.own_queries import is_of_recorder

    text = row["text"] or ""
    return is_of_recorder(text) or is_of_the_recording(text)


def _query(row: dict[str, Any]) -> list[str]:
    return [
        _short(_text(row)),
        _count(row["calls"]),
        _ms(row["mean_ms"]),
        _ms(row["exec_ms"]),
        _share(row["share_of_time"]),
        _count(row["pages_hit"]),
        _count(row["pages_read"]),
        _share(row["hit_ratio"]),
        _count(row["pages_written"]),
        _bytes(row["log_bytes"]),
    ]


def _short_query(row: dict[str, Any]) -> list[str]:
    return [
        _short(_text(row), _SHORT),
        _count(row["calls"]),
        _ms(row["mean_ms"]),
        _share(row["share_of_time"]),
        _count(row["pages_read"]),
        _share(row["hit_ratio"]),
    ]


def _query_with_cpu(row: dict[str, Any]) -> list[str]:
    text, calls, mean, time, share, hit, read, ratio, _, _ = _query(row)
    return [text, calls, mean, time, share, _ms(row["cpu_ms"]), hit, read, ratio, _count(row["pages_dirtied"])]


def _query_by_rows(row: dict[str, Any]) -> list[str]:
    """Show a query of a server that counts no pages for it."""
    return [*_query(row)[:5], _count(row["rows"]), _count(row["rows_examined"]), _ms(row["lock_ms"])]


#: Sums of executions that a source may have, and their headings.
_SUMS = {
    "cpu_ns": "CPU",
    "rows_examined": "rows examined",
    "logical_reads": "looked up",
    "physical_reads": "read",
    "writes": "written",
}


def _execution(row: dict[str, Any], counts: Sequence[str]) -> list[str]:
    times = [_ns(row[name]) for name in ("duration_ns", "mean_ns", "p50_ns", "p95_ns", "p99_ns")]
    return [
        _short(row["text"] or row["query"] or "not recorded"),
        _count(row["count"]),
        _count(row["sessions"]),
        *times,
        *((_ns if name == "cpu_ns" else _count)(row[name]) for name in counts),
    ]


def _file(row: dict[str, Any]) -> list[str]:
    name = row["path"] or row["name"]
    return [
        name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}",
        row["kind"] or "?",
        _bytes(row["size_bytes"]),
        _count(row["reads"]),
        _ms(row["read_mean_ms"]),
        _rate(row["read_bytes_per_s"], row["read_bytes"]),
        _count(row["writes"]),
        _ms(row["write_mean_ms"]),
        _rate(row["written_bytes_per_s"], row["written_bytes"]),
    ]


def _wait(row: dict[str, Any]) -> list[str]:
    return [
        row["name"],
        _count(row["waits"]),
        _ms(row["wait_ms"]),
        _ms(row["mean_ms"]),
        _share(row["share_of_time"]),
        _ms(row["signal_wait_ms"]),
    ]


def _index(row: dict[str, Any]) -> list[str]:
    waits = row["page_io_latch_waits"]
    mean = row["page_io_latch_wait_ms"] / waits if waits and row["page_io_latch_wait_ms"] is not None else None
    counts = [_count(row[name]) for name in ("index_scans", "rows_inserted", "rows_updated", "rows_deleted")]
    return [row["name"], _bytes(row["size_bytes"]), *counts, _count(waits), _ms(mean), _count(row["pages_cached"])]


def _rate(per_s: float | None, total: float | None) -> str:
    """Write bytes a second, or bytes in all where the time is not known."""
    return _bytes(total) if per_s is None else f"{format_bytes(per_s)}/s"


def _relation(row: dict[str, Any]) -> list[str]:
    cached = _count(row["pages_cached"])
    figures = (_bytes(row["size_bytes"]), _count(row["pages_read"]), _count(row["pages_hit"]), _share(row["hit_ratio"]))
    return [row["name"], row["kind"] or "", *figures, cached]


def _whole(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    of_databases_s, of_log_s = (document["spans_ns"].get(subject, 0) / 1e9 for subject in ("database", "log"))
    least = {subject: "at least " for subject in document["resets"]}
    for row in document["databases"][:SHOWN]:
        if row["commits"]:
            rate = f" ({least.get('database', '')}{row['commits'] / of_databases_s:,.0f}/s)" if of_databases_s else ""
            hits = f", {_count(row['pages_read'])} pages read, hit ratio {_share(row['hit_ratio'])}"
            yield (
                f"database {row['name']}",
                f"{_count(row['commits'])} commits{rate}, {_count(row['rollbacks'])} rollbacks{hits}",
            )
        asked = [
            f"{least.get('database', '')}{row[name] / of_databases_s:,.0f} {name.replace('_', ' ')}/s"
            for name in ("batches", "transactions", "statements", "write_transactions")
            if row[name] is not None and of_databases_s
        ]
        if row["pages_looked_up"] is not None:
            asked.append(
                f"{_count(row['pages_looked_up'])} pages looked up, {_count(row['pages_read'])} read,"
                f" {_share(row['hit_ratio'])} of lookups were hits"
            )
        if asked:
            yield "server" if row["name"] == "*" else f"database {row['name']}", ", ".join(asked)
    if document["pool"]:
        pool = document["pool"]
        usage = ", ".join(f"{count:,} of {name}" for name, count in pool["pages_by_usage"].items())
        yield (
            "buffer pool",
            f"{pool['pages']:,} pages, {pool['pages_dirty']:,} dirty" + (f"; by usage: {usage}" if usage else ""),
        )
    if document["log"] and document["log"].get("bytes") is not None:
        log = document["log"]
        rate = f" ({least.get('log', '')}{format_bytes(log['bytes'] / of_log_s)}/s)" if of_log_s else ""
        records = f" in {_count(log['records'])} records" if log.get("records") is not None else ""
        images = (
            f", {_count(log['full_page_images'])} full-page images" if log.get("full_page_images") is not None else ""
        )
        flushes = f", {_count(log['flushes'])} flushes" if log.get("flushes") is not None else ""
        mean = of_time = ""
        if log.get("flush_ms") and log.get("flushes"):
            mean = f" of {_ms(log['flush_ms'] / log['flushes'])}"
            busy_pct = 100 * log["flush_ms"] / (1e3 * of_log_s) if of_log_s and "log" not in least else 0.0
            of_time = f" ({busy_pct:.0f} % of the time)" if 0 < busy_pct <= 100 else ""  # not of flushes side by side
        yield "log", f"{_bytes(log['bytes'])}{rate}{records}{images}{flushes}{mean}{of_time}"
    if document["log"] and document["log"].get("checkpoint_age_bytes") is not None:
        log = document["log"]
        limit = f", the server waits at {_bytes(most)}" if (most := log.get("checkpoint_age_limit_bytes")) else ""
        of = f" of {_bytes(capacity)} of redo" if (capacity := log.get("capacity_bytes")) else ""
        yield "checkpoint age", f"{_bytes(log['checkpoint_age_bytes'])}{of} at the end{limit}"
    if document["binary_log"]:
        found = document["binary_log"]
        groups = f" in {_count(found['groups'])} groups" if found.get("groups") is not None else ""
        size = f", {_bytes(found['bytes'])}" if found.get("bytes") is not None else ""
        yield "binary log", f"{_count(found.get('transactions'))} transactions{groups}{size}"
    if document["checkpointer"]:
        found = document["checkpointer"]
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
        yield "checkpoints", ", ".join(phrases)
    if document["checkpoints"]:
        took = [row["total_ms"] for row in document["checkpoints"] if row.get("total_ms") is not None]
        longest = f", {_ms(min(took))} to {_ms(max(took))}" if took else ""
        yield "checkpoints in the log", f"{len(document['checkpoints']):,}{longest}"
    if document["vacuum"]:
        tables, read = document["vacuum"]["tables"], document["vacuum"]["pages_read"]
        runs = ", ".join(
            f"{count:,} {name}"
            for name in ("autovacuums", "vacuums", "autoanalyzes", "analyzes")
            if (count := sum(row[name] for row in tables))
        )
        written = document["vacuum"]["pages_written"]
        own = "" if read is None else f"; autovacuum read {read:,} pages and wrote {written:,}"
        yield "vacuum", (runs or "none has ended") + own
    if document["background_writer"]:
        found = document["background_writer"]
        own = found.get("sessions_pages_written")
        sessions = "" if own is None else f"; sessions wrote {_count(own)} themselves"
        yield "background writer", f"{_count(found.get('pages_written'))} pages{sessions}"
    if document["sessions"]:
        told = document["sessions"]["mean"].items()
        most = [(name, mean) for name, mean in told if name.startswith(_OF_CLIENTS)][:4]
        waits = ", ".join(f"{mean:.2g} {' '.join(name.replace('/', ' ').split()) or _HIDDEN}" for name, mean in most)
        waits = waits or "none"
        yield "sessions", f"{waits} on average ({document['sessions']['samples']:,} samples)"
    if document["client"]:
        found = document["client"]
        yield (
            "load",
            (
                f"{_count(found.get('clients'))} clients, {_count(found.get('transactions'))} transactions, "
                f"{_count(found.get('transactions_per_s'))}/s, mean {_ms(found.get('mean_ms'))}"
            ),
        )


def _short(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


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
