"""What statements and counters say, on the page of a trace: charts of queries and relations, tables, answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tiersim.cli.page.figure_style import colour, figure, plain
from tiersim.cli.page.trace_tables import Columns, Table, column_table
from tiersim.cli.terminal import shortened
from tiersim.units import NS_PER_MS, format_bytes, format_ns, format_per_s

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

#: Bars of a chart, and characters of a query beside one.
_BARS, _LABEL = 10, 44
#: Of all time; a query that took less has no bar.
_LEAST_SHARE = 0.002
#: Parts of a query's time, in the order of their colours.
_PARTS = ("reading pages", "writing pages", "processors", "all else")


def of_requests(description: dict[str, Any]) -> bool:
    """Tell whether a description is one of requests, and not of statements and counters alone."""
    return "classes" in description or not description.get("counted")


def query_time(description: dict[str, Any]) -> Figure:
    """Time of the queries with most of it, in seconds, in the parts that were timed."""
    queries = _queries(description)
    parts = [_parts_s(query) for query in queries]
    labels = [f"{place + 1}" for place in range(len(queries))]
    traces = [
        {
            "type": "bar", "name": name, "x": labels, "y": [part[index] for part in parts],
            "meta": {"series": index}, "marker": {"color": colour(index)}, "hovertemplate": "%{y:.4~g} s",
        }
        for index, name in enumerate(_PARTS)
        if any(part[index] for part in parts)
    ]  # fmt: skip
    axis = {"type": "category", "title": {"text": "query, see the table below"}}
    return figure(traces, "Time by query", axis, {"ticksuffix": " s"}, barmode="stack", bargap=0.35)


def relation_reads(description: dict[str, Any]) -> Figure:
    """Pages of the relations that most were read of, found in the buffer pool and not."""
    relations = _relations(description)
    labels = [plain(shortened(row["name"], _LABEL)) for row in relations]
    traces = [
        {
            "type": "bar", "name": name, "x": labels, "y": [row[key] or 0 for row in relations],
            "meta": {"series": index}, "marker": {"color": colour(index)}, "hovertemplate": "%{y:,}",
        }
        for index, (name, key) in enumerate((("not in the pool", "pages_read"), ("in the pool", "pages_hit")))
        if relations
    ]  # fmt: skip
    return figure(traces, "Pages by relation", {"type": "category"}, {}, barmode="stack", bargap=0.35)


def _queries(description: dict[str, Any]) -> list[dict[str, Any]]:
    found = (description.get("counted") or {}).get("queries") or []
    return [query for query in found if (query["share_of_time"] or 0) >= _LEAST_SHARE][:_BARS]


def _relations(description: dict[str, Any]) -> list[dict[str, Any]]:
    found = (description.get("counted") or {}).get("relations") or []
    asked = sum((row["pages_read"] or 0) + (row["pages_hit"] or 0) for row in found)
    return [row for row in found if (row["pages_read"] or 0) + (row["pages_hit"] or 0) > _LEAST_SHARE * asked][:_BARS]


def _parts_s(query: dict[str, Any]) -> tuple[float, float, float, float]:
    """Return the timed parts of a query; workers together may use more processor time than passes."""
    read_ms = (query["read_ms"] or 0) + (query["temp_read_ms"] or 0)
    write_ms = (query["write_ms"] or 0) + (query["temp_write_ms"] or 0)
    rest_ms = max(query["exec_ms"] - read_ms - write_ms, 0)
    cpu_ms = min(query["cpu_ms"] or 0, rest_ms)
    return read_ms / 1e3, write_ms / 1e3, cpu_ms / 1e3, (rest_ms - cpu_ms) / 1e3


def _query_reading(description: dict[str, Any]) -> str:
    queries = _queries(description)
    first, parts = queries[0], [_parts_s(query) for query in queries]
    share = first["share_of_time"]
    said = (
        f"The first takes {100 * share:.0f} % of all time that queries took ({format_ns(first['exec_ms'] * NS_PER_MS)})"
    )
    total = sum(map(sum, parts))
    reading = sum(part[0] for part in parts)
    if reading:
        return f"{said}; of the time shown, {100 * reading / total:.0f} % is reading pages."
    cpu = sum(part[2] for part in parts)
    return (
        f"{said}; of the time shown, {100 * cpu / total:.0f} % is processor time, all else waits."
        if cpu
        else f"{said}."
    )


def _relation_reading(description: dict[str, Any]) -> str:
    first = _relations(description)[0]
    if first["hit_ratio"] is None or not first["pages_read"]:
        return "Every page was found in the buffer pool."
    return (
        f"Most pages were read of {first['name']}: {first['pages_read']:,}, {100 * first['hit_ratio']:.1f} % of those"
        " it was asked for were found in the pool."
    )


READINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "query-time": _query_reading,
    "relation-reads": _relation_reading,
}
CHARTS: dict[str, Callable[[dict[str, Any]], Figure]] = {"query-time": query_time, "relation-reads": relation_reads}


def chart_tables(name: str, description: dict[str, Any]) -> list[Table]:
    """The numbers of one chart."""
    if name == "query-time":
        rows = [
            [place, query["text"] or query["entity"], *(float(f"{part:.6g}") for part in _parts_s(query))]
            for place, query in enumerate(_queries(description), 1)
        ]
        head = ["Query", "Text", *(f"{part} (s)" for part in _PARTS)]
        return [{"caption": "Time by query", "head": head, "rows": rows}]
    rows = [[row["name"], row["pages_read"], row["pages_hit"]] for row in _relations(description)]
    return [{"caption": "Pages by relation", "head": ["Relation", "Not in the pool", "In the pool"], "rows": rows}]


def groups(description: dict[str, Any]) -> list[Table]:
    """Tables below the charts: queries, executions, relations."""
    found = description.get("counted")
    if not found:
        return []
    tables = [
        column_table("queries", "By query", _QUERY, found["queries"]),
        column_table("executions", "Executions recorded one by one", _EXECUTION, found["executions"]),
        column_table("files", "By file", _FILE, found["files"]),
        column_table("waits", "By wait", _WAIT, found["waits"]),
        column_table(
            "relations", "By relation", _RELATION, [r for r in found["relations"] if r["pages_read"] or r["pages_hit"]]
        ),
        column_table(
            "indexes",
            "Tables and indexes",
            _INDEX,
            [r for r in found["relations"] if r["page_io_latch_waits"] is not None],
        ),
        column_table("checkpoints", "Checkpoints", _CHECKPOINT, found["checkpoints"]),
    ]
    return [table for table in tables if table["rows"]]


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


def _ms(value: float | None) -> str:
    return "not measured" if value is None else format_ns(value * NS_PER_MS)


def _ns(value: float | None) -> str:
    return "not known" if value is None else format_ns(value)


def _bytes(value: float | None) -> str:
    return "–" if value is None else format_bytes(value)


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{format_bytes(value)}/s"


def _text(value: str | None) -> str:
    return value or "not recorded"


_QUERY: Columns = (
    ("Query", "text", _text),
    ("Calls", "calls", _count),
    ("Mean", "mean_ms", _ms),
    ("Time", "exec_ms", _ms),
    ("Of all", "share_of_time", _share),
    ("CPU", "cpu_ms", _ms),
    ("Pages read", "pages_read", _count),
    ("Hit ratio", "hit_ratio", _share),
    ("Dirtied", "pages_dirtied", _count),
    ("Written", "pages_written", _count),
    ("Log", "log_bytes", _bytes),
)
_FILE: Columns = (
    ("File", "path", _text), ("Kind", "kind", _text), ("Database", "database", _text), ("Size", "size_bytes", _bytes),
    ("Reads", "reads", _count), ("Read", "read_mean_ms", _ms), ("Read rate", "read_bytes_per_s", _rate),
    ("Writes", "writes", _count), ("Write", "write_mean_ms", _ms), ("Write rate", "written_bytes_per_s", _rate),
)  # fmt: skip
_WAIT: Columns = (
    ("Wait", "name", _text), ("Waits", "waits", _count), ("Time", "wait_ms", _ms), ("Mean", "mean_ms", _ms),
    ("Of all", "share_of_time", _share), ("For a processor", "signal_wait_ms", _ms),
)  # fmt: skip
_INDEX: Columns = (
    ("Table or index", "name", _text), ("Size", "size_bytes", _bytes), ("Scans and lookups", "index_scans", _count),
    ("Inserted", "rows_inserted", _count), ("Updated", "rows_updated", _count), ("Deleted", "rows_deleted", _count),
    ("Waits for pages", "page_io_latch_waits", _count), ("Waited", "page_io_latch_wait_ms", _ms),
    ("In the pool", "pages_cached", _count),
)  # fmt: skip
_EXECUTION: Columns = (
    ("Query", "text", _text), ("Count", "count", _count), ("Sessions", "sessions", _count), ("Mean", "mean_ns", _ns),
    ("p50", "p50_ns", _ns), ("p95", "p95_ns", _ns), ("p99", "p99_ns", _ns), ("CPU", "cpu_ns", _ns),
    ("Looked up", "logical_reads", _count), ("Read", "physical_reads", _count),
)  # fmt: skip
_RELATION: Columns = (
    ("Relation", "name", _text), ("Kind", "kind", lambda kind: kind or "–"), ("Size", "size_bytes", _bytes),
    ("Pages read", "pages_read", _count), ("Pages hit", "pages_hit", _count), ("Hit ratio", "hit_ratio", _share),
    ("In the pool", "pages_cached", _count),
)  # fmt: skip
_CHECKPOINT: Columns = (
    ("Trigger", "trigger", _text), ("Pages", "pages", _count), ("Write phase", "write_ms", _ms),
    ("Flush phase", "flush_ms", _ms), ("Whole", "total_ms", _ms), ("Files", "files", _count),
    ("Log since the last", "distance_bytes", _bytes),
)  # fmt: skip


def answers(description: dict[str, Any]) -> list[list[str]]:
    """Questions and answers of the first screen."""
    found = description.get("counted")
    if not found:
        return []
    return [
        answer
        for answer in (["What runs?", _runs(found)], ["What does it read and write?", _moves(found)])
        if answer[1]
    ]


def _runs(found: dict[str, Any]) -> str:
    queries = [query for query in found["queries"] if query["calls"]]
    calls, span_ns = sum(query["calls"] for query in queries), found["spans_ns"].get("query")
    said = []
    if queries:
        rate = f" ({format_per_s(calls * 1e9 / span_ns)}/s)" if span_ns else ""
        said.append(
            f"{len(queries):,} queries, {calls:,} calls{rate}; the first takes {_share(queries[0]['share_of_time'])} of"
            " the time."
        )
    if found["executions"]:
        said.append(f"{sum(row['count'] for row in found['executions']):,} executions were recorded one by one.")
    return " ".join(said)


def _moves(found: dict[str, Any]) -> str:
    missed = (row["pages_read"] if row["pages_missed"] is None else row["pages_missed"] for row in found["databases"])
    read = sum(count or 0 for count in missed)
    hit = sum(row["pages_hit"] or 0 for row in found["databases"])
    said = []
    if read + hit == 0:
        read = sum(query["pages_read"] or 0 for query in found["queries"])
        hit = sum(query["pages_hit"] or 0 for query in found["queries"])
    if read + hit:
        said.append(
            f"{hit + read:,} pages looked up, {read:,} of them not in the buffer pool (hit ratio"
            f" {100 * hit / (hit + read):.1f} %)."
        )
    if found["files"]:
        moved = [sum(row[name] or 0 for row in found["files"]) for name in ("read_bytes", "written_bytes")]
        said.append(f"{format_bytes(moved[0])} read from files, {format_bytes(moved[1])} written.")
    log = (found["log"] or {}).get("bytes")
    if log is not None:
        said.append(f"{format_bytes(log)} of log.")
    return " ".join(said)


def lacks(description: dict[str, Any]) -> list[list[str]]:
    """What is missing to predict well, each with its source."""
    found = description.get("counted")
    return [[f"{text[:1].upper()}{text[1:]}.", "this recording"] for text in found["missing"]] if found else []
