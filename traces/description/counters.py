"""What counters and logged executions of a recording say: queries, hit ratios, the log, checkpoints, who waited for
what.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.grouping import rows_of_each
from tiersim.traces.bundle import Bundle
from tiersim.traces.counters import SUBJECTS, is_nested
from tiersim.traces.description.missing import missing
from tiersim.traces.differences import UPKEEP_RUNS, Differences, EntityChange, differences, of_log, steps
from tiersim.traces.holes import quiet_intervals, quiet_starts
from tiersim.traces.recorders.own_queries import is_of_recorder
from tiersim.traces.statistics import Table, read_queries, read_snapshots, read_statements
from tiersim.units import NS_PER_S, format_ns, is_of_largest

#: Of PostgreSQL, unless its settings were recorded.
_PAGE_BYTES = Decimal(8192)
#: Quantiles of logged executions.
_QUANTILES = {"p50_ns": 0.5, "p95_ns": 0.95, "p99_ns": 0.99}


def counted(bundle: Bundle) -> dict[str, Any] | None:
    """Describe statements and counters (``docs/description.md`` has every key); None when the bundle has neither.

    Raises TraceError when a table of the bundle cannot be read.
    """
    statements = read_statements(bundle.path)
    found = differences(read_snapshots(bundle.path))
    if not len(statements) and not found.snapshots:
        return None
    texts = _texts(read_queries(bundle.path))
    known = {subject: span for subject, span in sorted(found.span_ns.items()) if span}
    # of what has rates: sessions are seen until a server is lost, after its last counters
    span_ns = max(
        (span for subject, span in known.items() if subject in SUBJECTS and SUBJECTS[subject].counters), default=None
    )
    queries = [_query(entity, change, texts, known.get("query")) for entity, change in found.of("query").items()]
    # functions hold the time of statements inside them, where they were counted themselves
    total_ms = max(
        sum(query["exec_ms"] or 0 for query in queries if is_nested(query["entity"]) == nested)
        for nested in (False, True)
    )
    for query in queries:
        query["share_of_time"] = (query["exec_ms"] or 0) / total_ms if total_ms else None
    return {
        "span_ns": span_ns,
        "spans_ns": known,
        "snapshots": dict(sorted(found.snapshots.items())),
        "resets": sorted(found.resets),
        "queries": sorted(queries, key=lambda query: (-(query["exec_ms"] or 0), query["entity"])),
        "executions": _executions(statements, texts),
        "databases": _databases(found),
        "relations": _relations(found),
        "pool": _pool(found),
        "io": _io(found),
        "files": _files(found),
        "waits": _waits(found),
        "log": _log(found),
        "checkpointer": _numbers(found, "checkpointer", "checkpointer"),
        "binary_log": _numbers(found, "binary log", "binary log"),
        "background_writer": _numbers(found, "background writer", "background writer"),
        "vacuum": _vacuum(found),
        "checkpoints": [_plain(change.last) for _, change in sorted(found.of("checkpoint").items(), key=_by_number)],
        "sessions": _sessions(bundle),
        "devices": [
            {"name": name, **_plain(change.grown | change.last)} for name, change in sorted(found.of("device").items())
        ],
        "client": _numbers(found, "client", next(iter(found.of("client")), "")),
        "settings": {name: _setting(change.last) for name, change in sorted(found.of("setting").items())},
        "findings": [*found.findings(), *_holes(bundle, statements, texts)],
        "missing": missing(found, statements, bundle),
    }


def _holes(bundle: Bundle, statements: Table, texts: Mapping[str, Mapping[str, str | None]]) -> Iterator[str]:
    """Say for how long hardly any query ended; queries of the recorder do not count."""
    own = {entity for entity, known in texts.items() if is_of_recorder(known.get("text") or "")}
    intervals = []
    for step in steps(read_snapshots(bundle.path)):
        if step.subject != "query" or step.then is None or step.reset:
            continue
        if step.start_ns is not None and step.end_ns is not None:
            calls = sum(grown.get("calls", Decimal(0)) for entity, grown in step.grown.items() if entity not in own)
            intervals.append((max(step.end_ns - step.start_ns, 1), int(calls)))
    span_ns, quiet_ns = sum(length for length, _ in intervals), quiet_intervals(intervals)
    if not intervals and len(statements):
        times_ns = statements.columns["time_ns"]
        span_ns, quiet_ns = int(times_ns.max() - times_ns.min()), quiet_starts(times_ns)
    if quiet_ns:
        yield (
            f"the recording has holes: hardly any query was executed in {format_ns(quiet_ns)} of {format_ns(span_ns)},"
            " and rates are of all that time; record while the load runs"
        )


def _texts(queries: Table) -> dict[str, dict[str, str | None]]:
    """Return what is known of queries by their entity, and by their fingerprint."""
    names = ("query", "entity", "text", "database", "user")
    rows = [dict(zip(names, row, strict=True)) for row in zip(*(queries.texts(name) for name in names), strict=True)]
    by_mark = {row["query"]: row for row in rows if row["query"] is not None}
    return by_mark | {row["entity"]: row for row in rows if row["entity"] is not None}


def number(value: Decimal | None) -> int | float | None:
    """Return a whole number as int, any other as float."""
    if value is None:
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def _plain(values: Mapping[str, Decimal | str]) -> dict[str, Any]:
    return {name: number(value) if isinstance(value, Decimal) else value for name, value in sorted(values.items())}


def _setting(values: Mapping[str, Decimal | str]) -> str:
    """Return a setting as its server shows it, with its unit."""
    value, unit = values.get("setting", ""), values.get("unit", "")
    return f"{number(value) if isinstance(value, Decimal) else value} {unit}".strip()


def _numbers(found: Differences, subject: str, entity: str) -> dict[str, Any] | None:
    change = found.of(subject).get(entity)
    return None if change is None else _plain(change.grown | change.last)


def _ratio(hits: Decimal | None, misses: Decimal | None) -> float | None:
    if hits is None or misses is None or not hits + misses:
        return None
    return float(hits / (hits + misses))


_OF_QUERIES = (
    *("rows", "pages_hit", "pages_read", "pages_dirtied", "pages_written", "local_pages_read", "temp_pages_read"),
    *("temp_pages_written", "plan_ms", "read_ms", "write_ms", "temp_read_ms", "temp_write_ms", "log_records"),
    *(
        "log_full_page_images",
        "log_bytes",
        "cpu_ms",
        "cpu_user_ms",
        "cpu_system_ms",
        "device_read_bytes",
        "device_written_bytes",
        "rows_examined",
        "lock_ms",
    ),
)


def _query(
    entity: str, change: EntityChange, texts: Mapping[str, Mapping[str, str | None]], span_ns: int | None
) -> dict[str, Any]:
    known = texts.get(entity, {})
    calls, exec_ms = change.number("calls"), change.number("exec_ms")
    return {
        "entity": entity,
        "query": known.get("query"),
        "text": known.get("text"),
        "database": known.get("database"),
        "user": known.get("user"),
        "calls": number(calls),
        "calls_per_s": float(calls) * NS_PER_S / span_ns if calls is not None and span_ns else None,
        "exec_ms": number(exec_ms),
        "mean_ms": float(exec_ms / calls) if exec_ms is not None and calls else None,
        # of all executions since the counters began, not of this recording alone
        **{f"ever_{name}": number(change.number(f"exec_{name}")) for name in ("min_ms", "max_ms", "stddev_ms")},
        "hit_ratio": _ratio(change.number("pages_hit"), change.number("pages_read")),
        **{name: number(change.number(name)) for name in _OF_QUERIES},
    }


def _executions(statements: Table, texts: Mapping[str, Mapping[str, str | None]]) -> list[dict[str, Any]]:
    """Return executions that were recorded one by one, by query, those with most time first."""
    groups = []
    marks, durations = statements.columns["query"], statements.columns["duration_ns"]
    queries = [*statements.words["query"], None]  # the last is that of executions whose query is not known
    for code, rows in rows_of_each(np.where(marks >= 0, marks, len(queries) - 1)):
        took = durations[rows]
        took = took[took >= 0]
        mark = queries[code]
        groups.append(
            {
                "query": mark,
                "text": texts.get(mark or "", {}).get("text"),
                "count": len(rows),
                "duration_ns": int(took.sum()) if len(took) else None,
                "mean_ns": float(took.mean()) if len(took) else None,
                **{
                    name: None if is_of_largest(share, len(took)) else float(np.quantile(took, share))
                    for name, share in _QUANTILES.items()
                },
                **{
                    name: _sum(statements.columns[name][rows])
                    for name in ("cpu_ns", "logical_reads", "physical_reads", "writes", "log_bytes", "rows_examined")
                },
                "sessions": _distinct(statements.columns["session"][rows]),
            }
        )
    return sorted(groups, key=lambda group: (-(group["duration_ns"] or 0), group["query"] or ""))


def _distinct(codes: NDArray[np.int32]) -> int:
    """Count the different codes of what is known."""
    return len(np.unique(codes[codes >= 0]))


def _sum(values: Any) -> int | None:
    known = values[values >= 0]
    return int(known.sum()) if len(known) else None


def _hits(found: Differences, subject: str, more: Sequence[str]) -> list[dict[str, Any]]:
    rows = []
    for name, change in sorted(found.of(subject).items()):
        hits, misses = change.number("pages_hit"), change.number("pages_read")
        rows.append({
            "name": name,
            "pages_hit": number(hits),
            "pages_read": number(misses),
            "hit_ratio": _ratio(hits, misses),
            "read_ms": number(change.number("read_ms")),
            **{word: number(change.number(word)) for word in more},
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-(row["pages_read"] or 0), row["name"]))


_OF_DATABASES = (
    *(
        "commits",
        "rollbacks",
        "temp_bytes",
        "deadlocks",
        "transactions",
        "batches",
        "pages_looked_up",
        "pages_read_ahead",
    ),
    *("pages_written", "page_life_s", "statements", "write_transactions", "pages_missed"),
)


def _databases(found: Differences) -> list[dict[str, Any]]:
    """Return databases with their hit ratios, from lookups where a source counts these in place of hits."""
    rows = _hits(found, "database", _OF_DATABASES)
    for row in rows:
        # read-ahead reads pages that nobody looked up yet
        missed = row["pages_read"] if row["pages_missed"] is None else row["pages_missed"]
        if row["pages_hit"] is None and row["pages_looked_up"] is not None and missed is not None:
            row["pages_hit"] = max(row["pages_looked_up"] - missed, 0)
            looked_up = row["pages_hit"] + missed
            row["hit_ratio"] = row["pages_hit"] / looked_up if looked_up else None
    return rows


_OF_RELATIONS = (
    *(
        "size_bytes",
        "pages",
        "rows",
        "sequential_scans",
        "index_scans",
        "rows_inserted",
        "rows_updated",
        "rows_deleted",
    ),
    *("page_io_latch_waits", "page_io_latch_wait_ms"),
)


def _relations(found: Differences) -> list[dict[str, Any]]:
    """Return relations with their sizes, reads, and the pages that the pool holds of them, most pages read first."""
    rows = _hits(found, "relation", _OF_RELATIONS)
    cached = _cached(found)
    for row in rows:
        kind = found.of("relation")[row["name"]].last.get("kind")
        row["kind"] = kind if isinstance(kind, str) else None
        row["pages_cached"] = cached.get(row["name"], cached.get(row["name"].rpartition(".")[2])) if cached else None
    return rows


def _cached(found: Differences) -> dict[str, int]:
    """Return the pages that the pool holds of each relation, at the last snapshot; of all together under ``*``, if that
    is all that is known.
    """
    pages: dict[str, int] = {}
    for entity, change in found.of("pool").items():
        relation, *usage = entity.split("/")
        count = change.number("pages")
        if count is not None and "unused" not in usage and (relation != "*" or not usage):
            pages[relation] = pages.get(relation, 0) + int(count)
    return {name: count for name, count in pages.items() if name != "*"} or pages


def _pool(found: Differences) -> dict[str, Any] | None:
    """Return what the pool held at the last snapshot: pages, those of them that are dirty, and by usage count."""
    if not found.of("pool"):
        return None
    by_usage: dict[str, dict[str, int]] = {"all": {}, "by relation": {}}
    dirty: dict[str, int] = {"all": 0, "by relation": 0}
    for entity, change in found.of("pool").items():
        relation, *usage = entity.split("/")
        count, told = int(change.number("pages") or 0), "all" if relation == "*" else "by relation"
        if usage and usage[0].isdigit():
            by_usage[told][usage[0]] = by_usage[told].get(usage[0], 0) + count
        dirty[told] += count if usage[-1:] == ["dirty"] else int(change.number("pages_dirty") or 0)
    told = "by relation" if any(not entity.startswith("*") for entity in found.of("pool")) else "all"
    usage_counts = by_usage[told] or by_usage["all"]
    return {
        "pages": sum(_cached(found).values()),
        "pages_dirty": dirty[told],
        "pages_by_usage": dict(sorted(usage_counts.items())),
    }


def _vacuum(found: Differences) -> dict[str, Any] | None:
    """Return how often tables were vacuumed and analyzed, and the pages that VACUUM read and wrote as nobody's
    statements; None where nothing ran.
    """
    tables = []
    for name, change in sorted(found.of("relation").items()):
        runs = {key: number(change.number(key)) or 0 for key in UPKEEP_RUNS}
        if any(runs.values()):
            tables.append({"name": name, **runs, "rows_dead": number(change.number("rows_dead"))})
    workers = [change for entity, change in found.of("io").items() if entity.startswith("autovacuum worker/relation/")]
    block = found.of("setting").get("block_size")
    page_bytes = (None if block is None else block.number("setting")) or _PAGE_BYTES
    pages = {
        f"pages_{what}": number(sum((_pages(change, counted, what, page_bytes) for change in workers), Decimal(0)))
        if workers
        else None
        for what, counted in (("read", "reads"), ("written", "writes"))
    }
    return {"tables": tables, **pages} if tables or pages["pages_read"] or pages["pages_written"] else None


def _pages(change: EntityChange, counted: str, what: str, page_bytes: Decimal) -> Decimal:
    """Return the pages of reads or writes, by their bytes: from PostgreSQL 18 on one of them may have several pages."""
    of_bytes = change.number(f"{what}_bytes")
    return (change.number(counted) or Decimal(0)) if of_bytes is None else of_bytes / page_bytes


def _io(found: Differences) -> list[dict[str, Any]]:
    """Return who read, wrote and flushed what, those who did nothing left out."""
    rows = []
    for entity, change in sorted(found.of("io").items()):
        values = _plain(change.grown)
        if any(values.values()):
            rows.append(
                {"name": entity, **values, "read_mean_ms": _mean(values, "read_ms", "reads")}
                | {
                    "write_mean_ms": _mean(values, "write_ms", "writes"),
                    "flush_mean_ms": _mean(values, "flush_ms", "flushes"),
                }
            )
    return rows


def _files(found: Differences) -> list[dict[str, Any]]:
    """Return files with their counts, latencies and rates, those with most time first."""
    span_ns = found.span_ns.get("file")
    rows = []
    for entity, change in found.of("file").items():
        values = _plain(change.grown | change.last)
        row = {name: values.get(name) for name in ("path", "kind", "database", "size_bytes")}
        for what, counts, bytes_, time in (
            ("read", "reads", "read_bytes", "read_ms"),
            ("write", "writes", "written_bytes", "write_ms"),
        ):
            row |= {name: values.get(name) for name in (counts, bytes_, time)}
            row[f"{what}_mean_ms"] = _mean(values, time, counts)
            row[f"{bytes_}_per_s"] = (
                values[bytes_] * NS_PER_S / span_ns if values.get(bytes_) is not None and span_ns else None
            )
        rows.append({"name": entity, **row})
    return sorted(rows, key=lambda row: (-(row["read_ms"] or 0) - (row["write_ms"] or 0), row["name"]))


def _waits(found: Differences) -> list[dict[str, Any]]:
    """Return what was waited for, those with most time first; waits that were sampled are among the sessions."""
    timed = {entity: change for entity, change in found.of("wait").items() if change.number("wait_ms")}
    total = sum((change.grown["wait_ms"] for change in timed.values()), Decimal(0))
    rows = [
        {
            "name": entity,
            **{name: number(change.number(name)) for name in ("waits", "wait_ms", "signal_wait_ms")},
            "mean_ms": _mean(_plain(change.grown), "wait_ms", "waits"),
            "share_of_time": float(change.grown["wait_ms"] / total),
        }
        for entity, change in timed.items()
    ]
    return sorted(rows, key=lambda row: (-row["wait_ms"], row["name"]))


def _log(found: Differences) -> dict[str, Any] | None:
    """Return the counters of the log. Where only databases count it, return their sum.

    PostgreSQL 18 counts WAL flushes with all other IO (pg_stat_io).
    """
    together = _numbers(found, "log", "log")
    if together is None:
        sums: dict[str, Decimal] = {}
        for change in found.of("log").values():
            for name, value in change.grown.items():
                sums[name] = sums.get(name, Decimal(0)) + value
        together = _plain(sums) if sums else None
    if together is not None and "flushes" not in together and (flushes := of_log(found, "flushes")):
        together |= {"flushes": int(flushes), "flush_ms": of_log(found, "flush_ms")}
    return together


def _mean(values: Mapping[str, Any], total: str, count: str) -> float | None:
    return values[total] / values[count] if values.get(total) is not None and values.get(count) else None


def _sessions(bundle: Bundle) -> dict[str, Any] | None:
    """Return how many sessions there were by state and wait, on average over the samples."""
    sums: dict[str, float] = {}
    samples = 0
    for snapshot in read_snapshots(bundle.path):
        found = [(entity, values) for (subject, entity), values in snapshot.values.items() if subject == "session"]
        samples += bool(found)
        for entity, values in found:
            sums[entity] = sums.get(entity, 0.0) + float(values.get("sessions", 0))
    if not samples:
        return None
    return {
        "samples": samples,
        "mean": {entity: total / samples for entity, total in sorted(sums.items(), key=lambda i: -i[1])},
    }


def _by_number(item: tuple[str, EntityChange]) -> tuple[int, str]:
    name = item[0]
    return (int(name) if name.isdigit() else 0, name)
