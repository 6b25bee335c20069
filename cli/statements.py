"""Tables of runs of statements, a column a scenario: of recorded ones transactions and the most expensive queries, and
rows and notes that those of described ones have, too.

A row: the name of a figure, then a cell a result. A 99th percentile that a run does not tell to a factor of 2, or that
nobody compared with a measurement, has its range in its place. Notes: what everybody who reads a table has to know.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tiersim.cli import terminal, verdicts
from tiersim.cli.queries import (
    LEAST_SHARE,
    faster_outside,
    notes_of_rest,
    predicted_rest_ns,
    recorded_rest_ns,
    spent_ns,
    time_of_transaction,
)
from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import STATISTICS, WAIT_NAMES
from tiersim.units import NS_PER_S, format_bytes, format_ns, format_per_s, format_times

#: A smaller dip of throughput is said to be none.
_LEAST_DIP_PCT = 0.5


def rows_of_latency(
    what: str, found: Sequence[Mapping[str, Any] | None], statistics: Sequence[str] = tuple(STATISTICS)
) -> list[list[str]]:
    """Return a row for each of the *statistics* of *what*, none where nothing was found."""
    if not any(found):
        return []
    return [
        [f"{what}, {STATISTICS[key]}", *(terminal.figure_text(figures[key]) if figures else "" for figures in found)]
        for key in statistics
    ]


def breakdown_of(query: Mapping[str, Any] | None) -> str:
    """Return shares of a query's time, the largest first; what is less than a hundredth is left out."""
    if not query:
        return ""
    total = sum(query["breakdown_ns"].values())
    parts = sorted(query["breakdown_ns"].items(), key=lambda part: -part[1])
    shown = [(WAIT_NAMES[part], ns / total) for part, ns in parts if total and ns >= 0.01 * total]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shown)


def first_rows_of_host(summaries: Sequence[Summary]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows that a short table begins and ends with: whether the load is carried and how fast all went; what
    limits that, and how sure it is.
    """
    rates, *expected = rows_of_rates(summaries)
    first = [*_row_of_load(summaries, verdicts.carries), *row_of_pool(summaries), rates, *expected]
    last = [["limited by", *map(_limit, summaries)], ["busiest part", *map(verdicts.busiest, summaries)]]
    if not expected:
        what, errors = verdicts.error_row(summaries)
        last.append([what, *errors])
    return first, last


def row_of_pool(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the row of the buffer pool's size, where it is another than the recorded one."""
    engines = [summary.get("engine") or {} for summary in summaries]
    pools: list[Any] = [engine.get("buffer_pool_bytes") for engine in engines]
    recorded = {engine.get("recorded_buffer_pool_bytes") for engine in engines}
    if None in pools or None in recorded or {*pools} == recorded:
        return []
    return [["buffer pool", *map(format_bytes, pools)]]


def rows_of_host(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of how fast all went, and what was busy."""
    return [
        *rows_of_rates(summaries),
        *row_of_pool(summaries),
        ["stalls longer than 1 s", *map(_stalls, summaries)],
        ["pool hit ratio", *map(_hit_ratio, summaries)],
        ["processors", *(f"{s['host']['cores']} cores {100 * s['host']['utilisation']:.0f} %" for s in summaries)],
        ["busiest part", *map(verdicts.busiest, summaries)],
        ["cache", *(s["verdict"]["cache"] + (", extrapolated" if s["extrapolated"] else "") for s in summaries)],
        *_row_of_load(summaries, _load),
    ]


def rows_of_rates(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the row of transactions/s, and of those to expect, where the recording does not set them, or a range says
    that it may not be kept up with.
    """
    is_told = any(map(_falls_short, summaries)) or not verdicts.are_paced(summaries)
    return [
        ["transactions/s", *(format_per_s(s["throughput_per_s"]["transactions"]["value"]) for s in summaries)],
        *([["transactions/s, expected", *map(expected_rate, summaries)]] if is_told else []),
    ]


def _falls_short(summary: Summary) -> bool:
    """Tell whether the range of transactions/s reaches below what the hardware is taken to carry."""
    from tiersim.simulator.verdict import BEHIND_THROUGHPUT

    wide, rate = summary.get("range"), summary["throughput_per_s"]["transactions"]["value"]
    return bool(wide and wide["transactions_per_s"]["low"] < BEHIND_THROUGHPUT * rate)


def expected_rate(summary: Summary) -> str:
    """Return between which transactions/s a measurement is expected, four times of five; where nobody measured how
    often, between which it may be, if that holds what the models are off (draws alone, which have a share, do not).
    """
    found, wide = verdicts.expected_multiples(summary).get("throughput"), summary.get("range")
    if found is None:
        perhaps = f", perhaps {_between(**wide['transactions_per_s'])}" if wide and wide.get("share") is None else ""
        return f"unknown{perhaps}" if summary.get("model_error") else ""
    rate = summary["throughput_per_s"]["transactions"]["value"]
    low, high = (rate * multiple for multiple in found)
    underdetermined = (wide or {}).get("verdict") == "underdetermined"
    return _between(low, high) + (", underdetermined" if underdetermined else "")


def _between(low: float, high: float) -> str:
    return f"{format_per_s(low)} – {format_per_s(high)}"


def _row_of_load(summaries: Sequence[Summary], text: Callable[[Summary], str]) -> list[list[str]]:
    """Return the row that says whether the load is carried; none of clients that have no pace to keep."""
    cells = [*map(text, summaries)]
    return [] if set(cells) == {verdicts.NO_PACE} else [["carries the load", *cells]]


def _load(summary: Summary) -> str:
    """Say whether it is carried, and what of the recorded load is kept."""
    verdict = summary["verdict"]
    return verdicts.carries(summary) + (
        "" if verdict["arrivals"] == "described" else f", same {summary['replay']['keeps']}"
    )


def _limit(summary: Summary) -> str:
    """Return what bounds the rate: a part that is busy all the time, or the latency of what transactions spend most of
    their time on.
    """
    if verdicts.is_always_busy(summary):
        return verdicts.busiest_name(summary)
    parts = time_of_transaction(summary)
    if not parts:
        return ""
    return WAIT_NAMES[max(parts, key=lambda part: parts[part])]


def _hit_ratio(summary: Summary) -> str:
    ratio = summary["hit_ratio"]["pool"]
    return "" if ratio is None else f"{100 * ratio:.2f} %"


def _stalls(summary: Summary) -> str:
    """Return how many stalls there were, how many other random numbers would make, and how long the longest is."""
    found = summary.get("stalls")
    if found is None:
        return "not resolved"
    text = f"{found['count']} ({found['low']:.1f} … {found['high']:.1f})"
    return f"{text}, longest {format_ns(found['longest_ns'])}" if found["count"] else text


def rows_of_checkpoints(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of the log and of checkpoints, if there were any."""
    rows = []
    if any(summary["log"]["flushes"] for summary in summaries):
        for key, label in (("", ""), ("relative_", ", corrected by the calibration")):
            shared = [summary["log"].get(f"{key}commits_per_flush") for summary in summaries]
            if any(shared) or not key:
                rows.append([f"commits a flush{label}", *("" if one is None else f"{one:.2f}" for one in shared)])
    if not (dip := row_of_dip(summaries)):
        return rows
    rows.append(["checkpoints", *(f"{len(summary['checkpoints'])}" for summary in summaries)])
    for key, label in (("write_ns", "writing"), ("sync_ns", "syncing")):
        rows.append([f"checkpoint, {label}", *(_mean_time(summary, key) for summary in summaries)])
    rows += dip
    for side_of, where in (("inside", "in checkpoints"), ("outside", "outside of them")):
        sides = [(summary["checkpoint_impact"] or {}).get(side_of) for summary in summaries]
        means = [side["latency_ns"]["transaction"]["mean"] if side else None for side in sides]
        rows.append([f"transaction, mean {where}", *("" if mean is None else format_ns(mean) for mean in means)])
    return rows


def row_of_dip(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the row of how far throughput falls in checkpoints, if there were any."""
    there = any(summary["checkpoints"] for summary in summaries)
    return [["transactions/s in a checkpoint", *map(_dip, summaries)]] if there else []


def _mean_time(summary: Summary, key: str) -> str:
    """Return how long checkpoints took on average, or that the one that was under way at the end takes longer than
    until then.
    """
    checkpoints = summary["checkpoints"]
    known = [one[key] for one in checkpoints if one[key] is not None]
    if known:
        return format_ns(sum(known) / len(known))
    if key == "sync_ns" or not checkpoints:
        return ""
    return f"> {format_ns(summary['replay']['counted_ns']['until'] - checkpoints[-1]['start_ns'])}"


def _dip(summary: Summary) -> str:
    """Return how far transactions/s fall below the mean at most; a saturated run has no steady one."""
    dips = [one["dip_pct"] for one in summary["checkpoints"] if one["dip_pct"] is not None]
    if not dips or summary["verdict"]["load"] == "saturated":
        return ""
    return f"worst 5 s: {max(dips):.0f} % below mean" if max(dips) >= _LEAST_DIP_PCT else "not below mean"


def notes_of(summaries: Sequence[Summary], queries: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return a sentence for each, the most important first; *queries* have names."""
    notes = [f"{s['name']}: {s['load']['explanation']}." for s in summaries if _says_more(s)]
    if "calibration" in summaries[0]:
        notes.append(verdicts.calibration_note(summaries[0]["calibration"], queries))
    notes += verdicts.notes(summaries)
    notes += notes_of_tails(summaries)
    notes += [f"{s['name']}: {said}." for s in summaries if (said := verdicts.undetermined(s))]
    notes += notes_of_rest(summaries)
    notes += verdicts.caveats(summaries)
    if any(s["verdict"]["arrivals"] == "synthetic" for s in summaries):
        notes.append(
            "The server counts totals, not single executions. Their order and overlap are simulated, so percentiles"
            " are less sure than means."
        )
    if summaries[0].get("in_transaction_ns") and "transaction" not in summaries[0]["recorded_mean_ns"]:
        notes.append(
            "The recorded mean of transactions: how long sessions were active or in a transaction, as the server counts"
            " it, divided by the transactions."
        )
    notes += _assumed(summaries)
    # a reason that a longer note has said already is not said again
    return [note for place, note in enumerate(notes) if not any(note[1:] in one for one in notes[:place])]


def _says_more(summary: Summary) -> bool:
    """Tell whether the verdict on load needs its reason."""
    return summary["verdict"]["load"] != "steady" or "grows_from_ns" in summary["load"]


def _assumed(summaries: Sequence[Summary]) -> list[str]:
    """Return what was taken by default and no caveat names: a sentence for each with a reason, one for the others."""
    defaults = {
        key: basis.removeprefix("default").removeprefix(": ")
        for s in summaries
        for key, basis in s["settings_from"].items()
        if basis.startswith("default") and not any(key in caveat for caveat in s.get("caveats", ()))
    }
    plain = [key for key, why in defaults.items() if not why]
    return [
        *(f"Assumed: {why} ({key})." for key, why in defaults.items() if why),
        *([f"Not recorded, so left at their defaults: {', '.join(plain)}."] if plain else []),
    ]


_CHECKED = (
    "A range in place of a p99 of statements holds the error of the model: on the recorded kind of storage, 80 % of"
    " measured p99s lay within such ranges."
)


def with_ranges(row: list[str], summaries: Sequence[Summary], key: str) -> list[str]:
    """Return a row of 99th percentiles, with its interval in place of each one that is not known to a factor of 2,
    without those that nobody checked; other rows as they are.
    """
    if not row[0].endswith(", p99"):
        return row
    from tiersim.scenarios.caveats import tail_of

    found = [tail_of(summary, key) for summary in summaries]
    ranges = [
        verdicts.ERROR_UNKNOWN if _is_unchecked(one) or is_unknown(summary) else range_of_tail(one)
        for summary, one in zip(summaries, found, strict=True)
    ]
    label = f"{row[0]} or its range" if set(ranges) - {"", verdicts.ERROR_UNKNOWN} else row[0]
    return [label, *(one or cell for one, cell in zip(ranges, row[1:], strict=True))]


def range_of_tail(found: Mapping[str, Any] | None) -> str:
    """Return the interval of a 99th percentile that is not resolved, or not checked; nothing of others."""
    if not found or found["verdict"] == "resolved" or found["low"] is None:
        return ""
    return f"{format_ns(found['low'])} – {format_ns(found['high'])}"


def rows_of_tails(summaries: Sequence[Summary], names: Mapping[str, str]) -> list[list[str]]:
    """Return a row of the interval of each 99th percentile, by the keys of *names*."""
    tails = [(summary.get("tails") or {}).get("p99_ns", {}) for summary in summaries]
    return [
        [f"{label}, p99, 80 % interval", *(_interval(found.get(key)) for found in tails)]
        for key, label in names.items()
        if any(key in found for found in tails)
    ]


def notes_of_tails(summaries: Sequence[Summary]) -> list[str]:
    """Say what ranges in place of percentiles hold, or that there are none."""
    tails = [one for summary in summaries for one in (summary.get("tails") or {}).get("p99_ns", {}).values()]
    if any(map(_is_unchecked, tails)) or any(map(is_unknown, summaries)):
        return [verdicts.WHY_UNKNOWN.format("", "p99")]
    return [_CHECKED] if any(map(range_of_tail, tails)) else []


def is_unknown(summary: Summary) -> bool:
    """Tell whether nobody compared percentiles of such a result with measurements."""
    return bool(summary.get("model_error")) and "tail" not in verdicts.expected_multiples(summary)


def _is_unchecked(tail: Mapping[str, Any] | None) -> bool:
    """Tell whether nobody compared such a 99th percentile with a measurement."""
    return tail is not None and tail["verdict"] == "not checked"


def _interval(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    if found["low"] is None:
        return str(found["verdict"])
    text = f"{format_ns(found['low'])} … {format_ns(found['high'])}"
    return text if found["verdict"] == "resolved" else f"{text}, {found['verdict']}"


#: So many queries are shown, those that take most time of all their calls.
_MOST_SHOWN = 5
#: A longer text of a query is cut in the table.
_TEXT = 60
#: Most parts of a transaction's time in a short table.
_MOST_PARTS = 4
#: What of a transaction is in none of its queries, beside the recorded one.
_REST = "commit, and client between queries"


def show_statements(summaries: Sequence[Summary], everything: bool) -> None:
    """Print the table, and below it what everybody who reads it has to know."""
    queries = {query: f"query {number}" for number, query in enumerate(_most_expensive(summaries), 1)}
    rows = _all_rows(summaries, queries)
    shown, left = rows, 0
    if not everything:
        queries = dict(list(queries.items())[:1])
        shown = _first_rows(summaries, queries)
        left = max(len(rows) - len(shown), 0)
    trace = summaries[0]["trace"]
    rate = f" ({format_per_s(trace['transactions'] / trace['span_ns'] * NS_PER_S)}/s)" if trace["span_ns"] else ""
    pool = summaries[0]["engine"].get("recorded_buffer_pool_bytes")
    title = f"{trace['name']}: {trace['transactions']:,} transactions in {format_ns(trace['span_ns'])}{rate}"
    title += f", {format_ns(trace['quiet_ns'])} of it with hardly any" if "quiet_ns" in trace else ""
    title += f", buffer pool {format_bytes(pool)}" if pool and not row_of_pool(summaries) else ""
    title += verdicts.said_load(summaries) + _run_for(summaries)
    title += _sessions(summaries)
    columns = ["figure", *(summary["name"] for summary in summaries)]
    if recorded := _recorded(summaries[0], queries):
        columns, shown = terminal.beside_recorded(columns, shown, recorded)
    texts = [text + faster_outside(summaries, query) for query, text in _texts(summaries, queries, ids=everything)]
    notes = [*texts, *notes_of(summaries, queries)]
    terminal.show_table(title, columns, shown, terminal.caption(notes, everything=everything, left=left))


def _run_for(summaries: Sequence[Summary]) -> str:
    """Return for how long clients go on, where that was asked."""
    asked_ns = dict.fromkeys(summary["replay"].get("asked_ns") for summary in summaries)
    texts = ["as recorded" if one is None else format_ns(one) for one in asked_ns]
    return "" if [*asked_ns] == [None] else f", run for {', '.join(texts)}"


def _sessions(summaries: Sequence[Summary]) -> str:
    """Return how many sessions run on how many cores, where all scenarios have the same. Transactions by the clock have
    no sessions of their own: how many run at a time hangs on the hardware.
    """
    found = {
        (s["replay"].get("sessions"), s["replay"].get("keeps"), s["host"]["cores"], s["host"].get("clients_on_cores"))
        for s in summaries
    }
    if len(found) > 1 or not next(iter(found))[0]:
        return ""
    [(sessions, keeps, cores, with_clients)] = found
    if keeps == "rate":
        return f", on {cores} cores"
    return f", {sessions:,} sessions{' and their clients' if with_clients else ''} on {cores} cores"


def _recorded(summary: Summary, queries: Mapping[str, str]) -> dict[str, str]:
    """Return what was recorded, by the name of its row; nothing of a workload that was described."""
    trace, known = summary["trace"], summary.get("recorded_mean_ns", {})
    if summary["verdict"]["arrivals"] == "described" or not trace["span_ns"]:
        return {}
    means = {f"{name}, mean": known.get(key) for key, name in {"transaction": "transaction", **queries}.items()}
    rest_ns, in_transaction_ns = recorded_rest_ns(summary), summary.get("in_transaction_ns")
    counted = {"transaction, mean": f"about {format_ns(in_transaction_ns)}"} if in_transaction_ns else {}
    pool = summary["engine"].get("recorded_buffer_pool_bytes")
    return {
        **({"buffer pool": format_bytes(pool)} if pool else {}),
        "transactions/s": format_per_s(trace["transactions"] / trace["span_ns"] * NS_PER_S),
        **counted,
        **{row: format_ns(mean_ns) for row, mean_ns in means.items() if mean_ns},
        **({} if rest_ns is None else {_REST: format_ns(rest_ns)}),
    }


def _all_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    rows = rows_of_latency("transaction", [summary["latency_ns"].get("transaction") for summary in summaries])
    if any(summary["verdict"]["calibration"] == "calibrated" for summary in summaries):
        relative = [summary["relative_latency_ns"].get("transaction", {}).get("mean") for summary in summaries]
        rows.insert(1, ["transaction, mean, corrected by the calibration", *map(terminal.figure_text, relative)])
    rows += rows_of_latency("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    for query, name in queries.items():
        found = [summary["queries"].get(query) for summary in summaries]
        rows += rows_of_latency(name, found)
        rows.append([f"{name}, time goes to", *map(breakdown_of, found)])
        reads = (format_times(query["physical_reads_per_call"]) if query else "" for query in found)
        rows.append([f"{name}, reads a call", *reads])
    tails = {"transaction": "transaction", "commit": "commit"}
    rows += rows_of_tails(summaries, tails | {f"query {query}": name for query, name in queries.items()})
    if recorded_rest_ns(summaries[0]) is not None:
        rests_ns = map(predicted_rest_ns, summaries)
        rows.append([_REST, *("" if rest_ns is None else format_ns(rest_ns) for rest_ns in rests_ns)])
    return [*rows, *rows_of_checkpoints(summaries), *rows_of_host(summaries)]


def _first_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    """Return the rows that say whether the load is carried, how fast, why, and how sure that is."""
    transactions, commits = ([s["latency_ns"].get(what) for s in summaries] for what in ("transaction", "commit"))
    first, last = first_rows_of_host(summaries)
    return [
        *first,
        *rows_of_latency("transaction", transactions, ["mean"]),
        *_rows_of_time(summaries),
        *(with_ranges(row, summaries, "transaction") for row in rows_of_latency("transaction", transactions, ["p99"])),
        *(with_ranges(row, summaries, "commit") for row in rows_of_latency("commit", commits, ["mean", "p99"])),
        *(
            row
            for query, name in queries.items()
            for row in rows_of_latency(name, [s["queries"].get(query) for s in summaries], ["mean"])
        ),
        *row_of_dip(summaries),
        *last,
    ]


def _rows_of_time(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return a row for each part of a transaction's time that matters, below its mean; a saturated run has no steady
    parts.
    """
    shares: dict[str, list[float]] = {}
    steady = [summary["verdict"]["load"] != "saturated" for summary in summaries]
    for place, summary in enumerate(summaries):
        parts = time_of_transaction(summary) if steady[place] else {}
        total = sum(parts.values())
        for part, ns in parts.items():
            shares.setdefault(part, [0.0] * len(summaries))[place] = ns / total if total else 0.0
    largest = sorted(shares, key=lambda part: -max(shares[part]))[:_MOST_PARTS]
    return [
        [
            f"  {WAIT_NAMES[part]}",
            *(f"{100 * share:.0f} %" if known else "" for share, known in zip(shares[part], steady, strict=True)),
        ]
        for part in largest
        if max(shares[part]) >= LEAST_SHARE
    ]


def _most_expensive(summaries: Sequence[Summary]) -> list[str]:
    """Return the queries that take most time, without COMMIT where commits have rows of their own: as a query its CPU
    is predicted, and its flush recorded.
    """
    from tiersim.scenarios.calibration.synthesis.counted import Role, role_of

    spent: dict[str, float] = {}
    for summary in summaries:
        for query, figures in summary["queries"].items():
            if role_of(figures["text"] or "") is Role.COMMITS and summary["latency_ns"].get("commit"):
                continue
            spent[query] = max(spent.get(query, 0.0), spent_ns(figures))
    return sorted(spent, key=lambda query: (-spent[query], query))[:_MOST_SHOWN]


def _texts(summaries: Sequence[Summary], queries: Mapping[str, str], *, ids: bool) -> list[tuple[str, str]]:
    """Return each of the *queries* with its text, and its id if *ids*."""
    lines = []
    for query, name in queries.items():
        figures = next(s["queries"][query] for s in summaries if query in s["queries"])
        head = f"{name} ({query})" if ids else name
        lines.append((query, f"{head}: {terminal.one_line(figures['text'] or 'text not known', _TEXT)}"))
    return lines
