"""Tables of runs of statements: transactions and the most expensive queries, one column for each scenario."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tiersim.cli import terminal, verdicts
from tiersim.simulator.categories import ELSEWHERE, WAIT_NAMES
from tiersim.units import NS_PER_S, format_bytes, format_ns, format_per_s

#: So many queries are shown, those that take most time of all their calls.
_MOST_SHOWN = 5
#: A longer text of a query is cut in the table.
_TEXT = 60
#: A smaller dip of throughput is said to be none.
_LEAST_DIP_PCT = 0.5
#: Parts of a transaction's time in a short table: so many, from this share on.
_MOST_PARTS, _LEAST_SHARE = 4, 0.05
_EXPECTED = "transactions/s, expected"
#: Of what a short table has the intervals of 99th percentiles.
_TAILS = {"transaction": "transaction", "commit": "commit"}
#: What of a transaction is in none of its queries: its commit, and the client between queries; beside the recorded one.
_REST = "commit, and client between queries"
#: The row that says how far throughput falls in checkpoints.
DIP = "transactions/s in a checkpoint"

Summary = Mapping[str, Any]


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
    title += f", buffer pool {format_bytes(pool)}" if pool else ""
    title += _sessions(summaries)
    columns = ["figure", *(summary["name"] for summary in summaries)]
    recorded = _recorded(summaries[0], queries)
    if recorded:
        columns.insert(1, "recorded")
        shown = [[row[0], recorded.get(row[0], ""), *row[1:]] for row in shown]
    texts = [text + faster_outside(summaries, query) for query, text in _texts(summaries, queries, ids=everything)]
    notes = [*texts, *notes_of(summaries, queries)]
    terminal.show_table(title, columns, shown, terminal.caption(notes, everything=everything, left=left))


def _sessions(summaries: Sequence[Summary]) -> str:
    """Return how many sessions run on how many cores, where all scenarios have the same."""
    found = {(s["replay"].get("sessions"), s["host"]["cores"], s["host"].get("clients_on_cores")) for s in summaries}
    if len(found) > 1 or not next(iter(found))[0]:
        return ""
    [(sessions, cores, with_clients)] = found
    return f", {sessions:,} sessions{' and their clients' if with_clients else ''} on {cores} cores"


def _recorded(summary: Summary, queries: Mapping[str, str]) -> dict[str, str]:
    """Return what was recorded, by the name of its row; nothing of a workload that was described."""
    trace, known = summary["trace"], summary.get("recorded_mean_ns", {})
    if summary["verdict"]["arrivals"] == "described" or not trace["span_ns"]:
        return {}
    means = {f"{name}, mean": known.get(key) for key, name in {"transaction": "transaction", **queries}.items()}
    rest_ns, in_transaction_ns = _recorded_rest_ns(summary), summary.get("in_transaction_ns")
    counted = {"transaction, mean": f"about {format_ns(in_transaction_ns)}"} if in_transaction_ns else {}
    return {
        "transactions/s": format_per_s(trace["transactions"] / trace["span_ns"] * NS_PER_S),
        **counted,
        **{row: format_ns(mean_ns) for row, mean_ns in means.items() if mean_ns},
        **({} if rest_ns is None else {_REST: format_ns(rest_ns)}),
    }


def _recorded_rest_ns(summary: Summary) -> float | None:
    """Return what of a recorded transaction was in none of its queries; None where one of the means is not known."""
    means_ns = summary.get("recorded_mean_ns", {})
    known = "transaction" in means_ns and means_ns.keys() >= summary["queries"].keys()
    return _rest_ns(summary, means_ns["transaction"], means_ns) if known else None


def _rest_ns(summary: Summary, transaction_ns: float, means_ns: Mapping[str, float]) -> float:
    """Return what of a transaction is in none of its queries, which take *means_ns* a call, as often as they ran."""
    count = summary["latency_ns"]["transaction"]["count"] or 1
    queries_ns = sum(one["count"] / count * means_ns[name] for name, one in summary["queries"].items())
    return float(transaction_ns - queries_ns)


def faster_outside(summaries: Sequence[Summary], query: str) -> str:
    """Say why transactions can be faster than recorded though a *query* is slower."""
    rest_ns, recorded = _recorded_rest_ns(summaries[0]), summaries[0].get("recorded_mean_ns", {})
    found = []
    for summary in summaries if rest_ns is not None else ():
        mean_ns = (summary["latency_ns"]["transaction"]["mean"] or {}).get("value")
        own_ns = (summary["queries"].get(query, {}).get("mean") or {}).get("value")
        now_ns = _predicted_rest_ns(summary)
        if mean_ns and own_ns and now_ns and mean_ns < recorded["transaction"] and own_ns > recorded[query]:
            found.append(f"{format_ns(now_ns)} on {summary['name']}")
    if not found or rest_ns is None:
        return ""
    return (
        " This query takes longer than recorded, but the whole transaction is faster. Its other parts (commit, client)"
        f" took {format_ns(rest_ns)} in the recording; they take {', '.join(found)}."
    )


def _rows_of_rest(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the row of what is in no query, where it was recorded."""
    if _recorded_rest_ns(summaries[0]) is None:
        return []
    return [[_REST, *map(_predicted_rest, summaries)]]


def _predicted_rest(summary: Summary) -> str:
    rest_ns = _predicted_rest_ns(summary)
    return "" if rest_ns is None else format_ns(rest_ns)


def _predicted_rest_ns(summary: Summary) -> float | None:
    mean_ns = (summary["latency_ns"].get("transaction", {}).get("mean") or {}).get("value")
    if mean_ns is None:
        return None
    means_ns = {name: sum(known_parts(one["breakdown_ns"]).values()) for name, one in summary["queries"].items()}
    return _rest_ns(summary, mean_ns, means_ns)


def _left_out(summaries: Sequence[Summary]) -> list[str]:
    """Say which predicted transactions have none of what recorded ones spent outside of their queries."""
    found: dict[str, list[str]] = {}
    for summary in summaries:
        recorded_ns = _recorded_rest_ns(summary)
        if recorded_ns is not None and _leaves_out(summary, recorded_ns):
            found.setdefault(format_ns(recorded_ns), []).append(str(summary["name"]))
    return [
        f"{', '.join(names)}: a predicted transaction leaves out {rest} that a recorded one spent outside of its"
        " queries, in the client, the network or waiting for a core. It comes between transactions here: compare"
        " queries and transactions/s."
        for rest, names in found.items()
    ]


def _leaves_out(summary: Summary, recorded_ns: float) -> bool:
    """Tell whether a predicted transaction has none of the *recorded_ns* outside of its queries; or, where it is one
    query and waits for nothing else but a core, whether its session spends them between transactions (Little's law).
    """
    predicted_ns = _predicted_rest_ns(summary)
    if predicted_ns is None:
        return False
    if predicted_ns < _LEAST_SHARE * recorded_ns:
        return True
    transactions, sessions = summary["latency_ns"]["transaction"], summary.get("replay", {}).get("sessions")
    rate = (summary.get("throughput_per_s", {}).get("transactions") or {}).get("value")
    queries = sum(one["count"] for one in summary["queries"].values())
    if "commit" in summary["latency_ns"] or queries > transactions["count"] or not sessions or not rate:
        return False
    return bool(sessions / rate * NS_PER_S - transactions["mean"]["value"] >= (1 - _LEAST_SHARE) * recorded_ns > 0)


def _all_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    rows = [*_rows_of_transactions(summaries)]
    rows += rows_of_latency("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    for query, name in queries.items():
        found = [summary["queries"].get(query) for summary in summaries]
        rows += rows_of_latency(name, found)
        rows.append([f"{name}, time goes to", *map(breakdown_of, found)])
        rows.append([f"{name}, reads a call", *(f"{q['physical_reads_per_call']:.3g}" if q else "" for q in found)])
    rows += _rows_of_tails(summaries, _TAILS | {f"query {query}": name for query, name in queries.items()})
    return [*rows, *_rows_of_rest(summaries), *rows_of_checkpoints(summaries), *rows_of_host(summaries)]


def _first_rows(summaries: Sequence[Summary], queries: Mapping[str, str]) -> list[list[str]]:
    """Return the rows that say whether the load is carried, how fast, why, and how sure that is."""
    transactions = _rows_of_transactions(summaries)
    commits = rows_of_latency("commit", [summary["latency_ns"].get("commit") for summary in summaries])
    means = [(name, [summary["queries"].get(query) for summary in summaries]) for query, name in queries.items()]
    first, last = first_rows_of_host(summaries)
    return [
        *first,
        *(row for row in transactions if row[0].endswith(", mean")),
        *_rows_of_time(summaries),
        *(with_ranges(row, summaries, "transaction") for row in transactions if row[0].endswith(", p99")),
        *(with_ranges(row, summaries, "commit") for row in commits if row[0].endswith((", mean", ", p99"))),
        *(row for name, found in means for row in rows_of_latency(name, found)[:1]),
        *(row for row in rows_of_checkpoints(summaries) if row[0] == DIP),
        *last,
    ]


def _rows_of_transactions(summaries: Sequence[Summary]) -> list[list[str]]:
    rows = rows_of_latency("transaction", [summary["latency_ns"].get("transaction") for summary in summaries])
    if any(summary["verdict"]["calibration"] == "calibrated" for summary in summaries):
        relative = [summary["relative_latency_ns"].get("transaction", {}).get("mean") for summary in summaries]
        rows.insert(1, ["transaction, mean, corrected by the calibration", *map(terminal.figure_text, relative)])
    return rows


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
        if max(shares[part]) >= _LEAST_SHARE
    ]


def first_rows_of_host(summaries: Sequence[Summary]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of :func:`rows_of_host` that a short table begins and ends with."""
    rates, *more = rows_of_host(summaries)
    expected = [row for row in more if row[0] == _EXPECTED]
    first = [*_row_of_load(summaries, verdicts.carries), rates, *expected]
    last = [["limited by", *map(_limit, summaries)], ["busiest part", *map(verdicts.busiest, summaries)]]
    if not expected:
        what, errors = verdicts.error_row(summaries)
        last.append([what, *errors])
    return first, last


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


def _row_of_load(summaries: Sequence[Summary], text: Callable[[Summary], str]) -> list[list[str]]:
    """Return the row that says whether the load is carried; none of clients that have no pace to keep."""
    cells = [*map(text, summaries)]
    return [] if set(cells) == {verdicts.NO_PACE} else [["carries the load", *cells]]


def rows_of_host(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of how fast all went, and what was busy."""
    return [
        *rows_of_rates(summaries),
        ["stalls longer than 1 s", *map(_stalls, summaries)],
        ["pool hit ratio", *map(_hit_ratio, summaries)],
        ["processors", *(f"{s['host']['cores']} cores {100 * s['host']['utilisation']:.0f} %" for s in summaries)],
        ["busiest part", *map(verdicts.busiest, summaries)],
        ["cache", *(s["verdict"]["cache"] + (", extrapolated" if s["extrapolated"] else "") for s in summaries)],
        *_row_of_load(summaries, _load),
    ]


def rows_of_rates(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return the row of transactions/s, and of those to expect, where the recording does not set them."""
    is_told = any(s.get("range") for s in summaries) or not verdicts.are_paced(summaries)
    return [
        ["transactions/s", *(format_per_s(s["throughput_per_s"]["transactions"]["value"]) for s in summaries)],
        *([[_EXPECTED, *map(_expected, summaries)]] if is_told else []),
    ]


def rows_of_latency(what: str, found: Sequence[Mapping[str, Any] | None]) -> list[list[str]]:
    """Return rows of the mean and percentiles of *what*, none where nothing was found."""
    from tiersim.simulator.categories import STATISTICS

    if not any(found):
        return []
    return [
        [f"{what}, {label}", *(terminal.figure_text(figures[key]) if figures else "" for figures in found)]
        for key, label in STATISTICS.items()
    ]


def _rows_of_tails(summaries: Sequence[Summary], names: Mapping[str, str]) -> list[list[str]]:
    """Return a row of the interval of each 99th percentile, by the keys of *names*."""
    tails = [(summary.get("tails") or {}).get("p99_ns", {}) for summary in summaries]
    return [
        [f"{label}, p99, 80 % interval", *(_tail(found.get(key)) for found in tails)]
        for key, label in names.items()
        if any(key in found for found in tails)
    ]


def with_ranges(row: list[str], summaries: Sequence[Summary], key: str) -> list[str]:
    """Return a row of 99th percentiles, with its interval in place of each one that is not known to a factor of 2,
    without those that nobody checked; other rows as they are.
    """
    if not row[0].endswith(", p99"):
        return row
    from tiersim.scenarios.caveats import tail_of

    found = [tail_of(summary, key) for summary in summaries]
    ranges = [
        "unknown" if _is_unchecked(one) or _has_unknown_tails(summary) else range_of_tail(one)
        for summary, one in zip(summaries, found, strict=True)
    ]
    label = f"{row[0]} or its range" if any(one not in ("", "unknown") for one in ranges) else row[0]
    return [label, *(one or cell for one, cell in zip(ranges, row[1:], strict=True))]


def _has_unknown_tails(summary: Summary) -> bool:
    """Tell whether nobody compared percentiles of such a result with measurements."""
    return bool(summary.get("model_error")) and "tail" not in verdicts.expected_multiples(summary)


def _is_unchecked(tail: Mapping[str, Any] | None) -> bool:
    """Tell whether nobody compared such a 99th percentile with a measurement."""
    return tail is not None and tail["verdict"] == "not checked"


def range_of_tail(found: Mapping[str, Any] | None) -> str:
    """Return the interval of a 99th percentile that is not resolved, or not checked; nothing of others."""
    if not found or found["verdict"] == "resolved" or found["low"] is None:
        return ""
    return f"{format_ns(found['low'])} – {format_ns(found['high'])}"


def _tail(found: Mapping[str, Any] | None) -> str:
    if not found:
        return ""
    if found["low"] is None:
        return str(found["verdict"])
    text = f"{format_ns(found['low'])} … {format_ns(found['high'])}"
    return text if found["verdict"] == "resolved" else f"{text}, {found['verdict']}"


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def rows_of_checkpoints(summaries: Sequence[Summary]) -> list[list[str]]:
    """Return rows of the log and of checkpoints, if there were any."""
    found = [summary["checkpoints"] for summary in summaries]
    rows = []
    if any(summary["log"]["flushes"] for summary in summaries):
        each = [summary["log"]["commits_per_flush"] for summary in summaries]
        rows.append(["commits a flush", *map(_ratio, each)])
        relative = [summary["log"].get("relative_commits_per_flush") for summary in summaries]
        if any(relative):
            rows.append(["commits a flush, corrected by the calibration", *map(_ratio, relative)])
    if not any(found):
        return rows
    rows.append(["checkpoints", *(f"{len(some)}" for some in found)])
    for key, label in (("write_ns", "writing"), ("sync_ns", "syncing")):
        rows.append([f"checkpoint, {label}", *(_mean_time(summary, key) for summary in summaries)])
    rows.append([DIP, *map(_dip, summaries)])
    for side_of, where in (("inside", "in checkpoints"), ("outside", "outside of them")):
        sides = [(summary["checkpoint_impact"] or {}).get(side_of) for summary in summaries]
        means = [side["latency_ns"]["transaction"]["mean"] if side else None for side in sides]
        rows.append([f"transaction, mean {where}", *("" if mean is None else format_ns(mean) for mean in means)])
    return rows


def _stalls(summary: Summary) -> str:
    """Return how many stalls there were, how many other random numbers would make, and how long the longest is."""
    found = summary.get("stalls")
    if found is None:
        return "not resolved"
    text = f"{found['count']} ({found['low']:.1f} … {found['high']:.1f})"
    return f"{text}, longest {format_ns(found['longest_ns'])}" if found["count"] else text


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
            spent[query] = max(spent.get(query, 0.0), figures["count"] * sum(figures["breakdown_ns"].values()))
    return sorted(spent, key=lambda query: (-spent[query], query))[:_MOST_SHOWN]


def breakdown_of(query: Mapping[str, Any] | None) -> str:
    """Shares of a query's time, the largest first; what is less than a hundredth is left out."""
    if not query:
        return ""
    total = sum(query["breakdown_ns"].values())
    parts = sorted(query["breakdown_ns"].items(), key=lambda part: -part[1])
    shown = [(WAIT_NAMES[part], ns / total) for part, ns in parts if total and ns >= 0.01 * total]
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in shown)


def _load(summary: Summary) -> str:
    """Say whether it is carried, and what of the recorded load is kept."""
    verdict = summary["verdict"]
    return verdicts.carries(summary) + (
        "" if verdict["arrivals"] == "described" else f", same {summary['replay']['keeps']}"
    )


def _expected(summary: Summary) -> str:
    """Return between which transactions/s a measurement is expected, four times of five; where nobody measured how
    often, between which it may be.
    """
    found, wide = verdicts.expected_multiples(summary).get("throughput"), summary.get("range")
    if found is None:
        perhaps = f", perhaps {_between(**wide['transactions_per_s'])}" if wide else ""
        return f"unknown{perhaps}" if summary.get("model_error") else ""
    rate = summary["throughput_per_s"]["transactions"]["value"]
    low, high = (rate * multiple for multiple in found)
    underdetermined = (wide or {}).get("verdict") == "underdetermined"
    return _between(low, high) + (", underdetermined" if underdetermined else "")


def _between(low: float, high: float) -> str:
    return f"{format_per_s(low)} – {format_per_s(high)}"


def _ranges(summaries: Sequence[Summary]) -> list[str]:
    """Say why a range is too wide to decide by, and what would narrow it."""
    return [
        f"{s['name']}: the range of transactions/s is too wide to decide by, mostly because of {s['range']['mostly']};"
        f" {s['range']['remedy']}."
        for s in summaries
        if s.get("range") and s["range"]["verdict"] == "underdetermined"
    ]


def _hit_ratio(summary: Summary) -> str:
    ratio = summary["hit_ratio"]["pool"]
    return "" if ratio is None else f"{100 * ratio:.2f} %"


def _texts(summaries: Sequence[Summary], queries: Mapping[str, str], *, ids: bool) -> list[tuple[str, str]]:
    """Return each of the *queries* with its text, and its id if *ids*."""
    lines = []
    for query, name in queries.items():
        figures = next(s["queries"][query] for s in summaries if query in s["queries"])
        text = " ".join((figures["text"] or "text not known").split())
        head = f"{name} ({query})" if ids else name
        lines.append((query, f"{head}: {text if len(text) <= _TEXT else text[: _TEXT - 1] + '…'}"))
    return lines


def _calibration(found: Mapping[str, Any], queries: Mapping[str, str]) -> str:
    """Say what the run on the model of the recorded hardware gives; *queries* have names."""
    means, reads = list[str](), list[str]()
    for name, figures in found["classes"].items():
        if not figures["decides"]:
            continue
        error_pct, shown = figures["error_pct"], queries.get(name, name)
        means.append(f"{shown} {'not resolved' if error_pct is None else verdicts.percent(error_pct)}")
        if error_pct is not None and figures["read_error_pct"]:
            reads.append(f"{shown} {verdicts.percent(figures['read_error_pct'], 1)}")
    if found.get("read_error_pct") is not None:
        reads.append(f"all statements {verdicts.percent(found['read_error_pct'], 1)}")
    passed = "passed" if found["verdict"] == "calibrated" else "failed"
    limits = found["tolerance_pct"]
    sentences = [
        f"Calibration {passed} on scenario '{found['baseline']}' (the recorded hardware).",
        *(f"{reason}." for reason in found.get("reasons", ())),
        f"Mean latency simulated on this scenario, against the recording: {', '.join(means) or 'nothing to compare'}"
        f" (allowed: ±{limits['mean']:.0f} %)"
        + (f"; pages read: {', '.join(reads)} (allowed: ±{limits['reads']:.0f} %)." if reads else "."),
    ]
    return " ".join(sentences)


_CHECKED = (
    "A range in place of a p99 of statements holds the error of the model: on the recorded kind of storage, 80 % of"
    " measured p99s lay within such ranges."
)
_UNCHECKED = (
    "p99 is unknown: for replays like this (another kind of storage, or not calibrated), no p99 was ever compared with"
    " a measurement."
)


def _says_more(summary: Summary) -> bool:
    """Tell whether the verdict on load needs its reason."""
    return summary["verdict"]["load"] != "steady" or "grows_from_ns" in summary["load"]


def notes_of(summaries: Sequence[Summary], queries: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """Return what everybody who reads the table has to know, a sentence each, the most important first; *queries* have
    names.
    """
    notes = [f"{s['name']}: {s['load']['explanation']}." for s in summaries if _says_more(s)]
    if "calibration" in summaries[0]:
        notes.append(_calibration(summaries[0]["calibration"], queries))
    notes += verdicts.notes(summaries)
    tails = [one for summary in summaries for one in (summary.get("tails") or {}).get("p99_ns", {}).values()]
    if any(map(_is_unchecked, tails)) or any(map(_has_unknown_tails, summaries)):
        notes.append(_UNCHECKED)
    elif any(map(range_of_tail, tails)):
        notes.append(_CHECKED)
    notes += _ranges(summaries)
    notes += _left_out(summaries)
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
    return [*notes, *_assumed(summaries)]


def _assumed(summaries: Sequence[Summary]) -> list[str]:
    """Return what was taken by default: a sentence for each that has a reason, one for all others."""
    defaults = {
        key: basis.removeprefix("default").removeprefix(": ")
        for s in summaries
        for key, basis in s["settings_from"].items()
        if basis.startswith("default")
    }
    plain = [key for key, why in defaults.items() if not why]
    return [
        *(f"Assumed: {why} ({key})." for key, why in defaults.items() if why),
        *([f"Not recorded, so left at their defaults: {', '.join(plain)}."] if plain else []),
    ]


def known_parts(breakdown_ns: Mapping[str, float | None]) -> dict[str, float]:
    """Return the parts of a time, 0 where nothing is known."""
    return {part: ns or 0.0 for part, ns in breakdown_ns.items()}


def time_of_transaction(summary: Mapping[str, Any]) -> dict[str, float]:
    """Mean time of a transaction by part: of its queries and its commit, each as often as it ran; the rest is outside
    of them.
    """
    count = summary["latency_ns"]["transaction"]["count"] or 1
    found: dict[str, float] = {}
    commits = (summary["latency_ns"].get("commit") or {}).get("count", 0)
    each = [(one["count"], one["breakdown_ns"]) for one in summary["queries"].values()]
    for calls, breakdown in [*each, (commits, summary.get("commit_breakdown_ns") or {})]:
        for part, ns in known_parts(breakdown).items():
            found[part] = found.get(part, 0.0) + calls * ns / count
    mean = (summary["latency_ns"]["transaction"].get("mean") or {}).get("value")
    if mean is not None and mean > sum(found.values()):
        found[ELSEWHERE] = mean - sum(found.values())
    return found
