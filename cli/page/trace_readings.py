"""What is to be seen in the charts of a trace, in a sentence or two with the figures; computed, never boilerplate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tiersim.cli.page import trace_counters
from tiersim.cli.page.trace_figures import intervals, sized
from tiersim.units import format_bytes, format_ns, format_times

__all__ = ["READINGS", "facts", "known", "lead"]


def _share(value: float) -> str:
    percent = 100 * value
    return "less than 0.1 %" if 0 < percent < 0.1 else f"{percent:.1f} %" if percent < 9.95 else f"{percent:.0f} %"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.3g}"


def _time(seconds: float) -> str:
    return format_ns(seconds * 1e9)


def facts(description: dict[str, Any]) -> str:
    """One line below the title."""
    recorded = f"recorded as {description['format']}" if description.get("format") else "of unknown origin"
    found = (
        f"{description['requests']:,} requests"
        if trace_counters.of_requests(description)
        else "statements and counters"
    )
    span = f" in {format_ns(description['span_ns'])}" if description["span_ns"] else ""
    return f"{description['trace']}: {found}{span}, {recorded}"


def lead(description: dict[str, Any]) -> list[list[str]]:
    """Questions and answers of the first screen."""
    answers = trace_counters.answers(description)
    if trace_counters.of_requests(description):
        answers += [
            ["What does it ask for?", _asks(description)],
            ["How hard does it push?", _pushes(description)],
            ["How slow was it?", _slow(description)],
        ]
    return [answer for answer in [*answers, ["How sure is that?", _sure(description)]] if answer[1]]


def _asks(description: dict[str, Any]) -> str:
    classes, requests = description.get("classes", []), description["requests"]
    if not classes or not requests:
        return "No requests were recorded."
    parts = [f"{_share(group['count'] / requests)} {group['name']}" for group in classes[:6]]
    total_bytes = sum(group["bytes"] or 0 for group in classes)
    said = f"{', '.join(parts)}; {format_bytes(total_bytes)} in all."
    found = description.get("working_set")
    if found:
        about = "about " if found.get("estimated") else ""
        said += f" They touch {about}{format_bytes(found['total_bytes'])} of distinct places."
    return said


def _pushes(description: dict[str, Any]) -> str:
    rate, peak = description.get("rate_per_s"), description.get("peak_rate_per_s")
    if rate is None:
        return "The recording is too short for a rate."
    said = f"{_number(rate)} requests/s on average"
    if peak is not None:
        said += f", {_number(peak)} in the busiest second ({peak / rate:.1f} times)" if rate else ""
    depth = description.get("depth")
    if depth:
        most = f", and at most {depth['max']:,}" if depth.get("max") is not None else ""
        said += f"; {format_times(depth['mean'], 2)} requests are in flight on average{most}"
    return said + "."


def _slow(description: dict[str, Any]) -> str:
    said = [
        f"{group['name']} {format_ns(group['p99_ns'])}"
        for group in description.get("classes", [])[:6]
        if group.get("p99_ns") is not None
    ]
    if not said:
        return "No latency was measured."
    return f"99 % of each ended within: {', '.join(said)}. That is the recorded hardware, not a prediction."


def _sure(description: dict[str, Any]) -> str:
    measured = description.get("measured")
    said = []
    if measured is not None:
        said.append(f"The latency of {'all' if measured == 1 else _share(measured) + ' of the'} requests was measured.")
    if (description.get("working_set") or {}).get("estimated"):
        said.append(
            f"Working set and re-reference are estimates from {_share(description['working_set']['sampled_share'])} of"
            " the places."
        )
    inferred, warnings = len(description.get("inferred") or []), len(description.get("warnings") or [])
    if inferred:
        said.append(f"{inferred} thing{'s were' if inferred > 1 else ' was'} inferred on import, see below.")
    said.append(
        f"The import warns of {warnings} thing{'s' if warnings > 1 else ''}, see below."
        if warnings
        else "The import warned of nothing."
    )
    return " ".join(said)


def known(description: dict[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """What was measured, inferred, estimated: lists of texts, each with its source."""
    trace = f"trace {description['trace']}, {description.get('format') or 'format unknown'}"
    measured = description.get("measured")
    lists: dict[str, list[list[str]]] = {
        "Measured": [],
        "Inferred": [[text, "concluded on import, not recorded"] for text in description.get("inferred") or []],
        "Estimated": [],
        "Not known": trace_counters.lacks(description),
    }
    if description.get("counted"):
        lists["Measured"].append(
            ["Counts and times of queries, relations and the log: as the server counts them.", trace]
        )
        lists["Inferred"] += [[f"{text}.", "differences of counters"] for text in description["counted"]["findings"]]
    if not trace_counters.of_requests(description):
        return list(lists.items())
    lists["Measured"].append([f"{description['requests']:,} requests with time, place, length and operation.", trace])
    if not description.get("counted"):
        lists["Not known"].append(
            ["What the cache above served: only requests that reached the storage are recorded.", "block traces"]
        )
    if measured:
        lists["Measured"].append([f"Latency of {_share(measured)} of them, from queue to completion.", trace])
    else:
        lists["Not known"].append(["Latency: none was measured.", trace])
    if (description.get("working_set") or {}).get("estimated"):
        lists["Estimated"].append(["Working set and re-reference, from a sample of places.", "this description"])
    if description.get("re_reference"):
        lists["Not known"].append(["Whether a page was touched before the recording began.", "the recording is finite"])
    return list(lists.items())


def _rates(description: dict[str, Any]) -> str:
    starts, _, widths = intervals(description)
    by_class = description["timeline"]["by_class"]
    totals = [sum(one["count"][i] for one in by_class.values()) / width for i, width in enumerate(widths)]
    peak = max(range(len(totals)), key=totals.__getitem__)
    mean = sum(total * width for total, width in zip(totals, widths, strict=True)) / sum(widths)
    top = max(by_class, key=lambda name: (by_class[name]["count"][peak], name))
    share = by_class[top]["count"][peak] / max(totals[peak] * widths[peak], 1)
    idle = sum(width for total, width in zip(totals, widths, strict=True) if total == 0) / sum(widths)
    said = (
        f"On average {_number(mean)}/s; the busiest {_time(widths[peak])}, from {_time(starts[peak])} on, has"
        f" {_number(totals[peak])}/s"
    )
    said += f" ({totals[peak] / mean:.1f} times), {_share(share)} of them {top}." if mean else "."
    return said + (f" In {_share(idle)} of the time nothing arrives." if idle > 0.01 else "")


def _sizes(description: dict[str, Any]) -> str:
    groups = [group for group in description["classes"] if group.get("sizes")]
    counts: dict[int, int] = {}
    for group in groups:
        for size, count in group["sizes"]:
            if size:
                counts[size] = counts.get(size, 0) + count
    requests = sum(group["count"] - dict(map(tuple, group["sizes"])).get(0, 0) for group in groups)
    top = max(counts, key=lambda size: (counts[size], -size))
    most_bytes = max(counts, key=lambda size: (counts[size] * size, size))
    total_bytes = sum(group["bytes"] or 0 for group in groups)
    said = f"{_share(counts[top] / requests)} of the requests with a length have {format_bytes(top)}"
    if most_bytes != top:
        said += (
            f"; most bytes travel in requests of {format_bytes(most_bytes)}"
            f" ({_share(counts[most_bytes] * most_bytes / max(total_bytes, 1))})"
        )
    left = requests - sum(counts.values())
    return said + "." + (f" {_share(left / requests)} have lengths that are not listed." if left > 0 else "")


def _latency_cdf(description: dict[str, Any]) -> str:
    groups = [
        g for g in description.get("classes", []) if g["name"] in description["latency"] and g.get("p99_ns") is not None
    ]
    if not groups:
        return "The description holds no percentiles of these."
    slowest, fastest = max(groups, key=lambda g: g["p99_ns"]), min(groups, key=lambda g: g["p99_ns"])
    said = (
        f"Half of {slowest['name']} end within {format_ns(slowest['p50_ns'])} and 99 % within"
        f" {format_ns(slowest['p99_ns'])}"
    )
    said += (
        f"; {fastest['name']}: {format_ns(fastest['p50_ns'])} and {format_ns(fastest['p99_ns'])}"
        if len(groups) > 1
        else ""
    )
    few = [g["name"] for g in groups if sum(row[2] for row in description["latency"][g["name"]]) < 1000]
    return said + "." + (f" The tail of {', '.join(few)} rests on fewer than ten requests." if few else "")


def _latency_by_size(description: dict[str, Any]) -> str:
    said = []
    for operation, rows in sized(description["latency_by_size"]):
        small, large = rows[0], rows[-1]
        if len(rows) > 1:
            said.append(
                f"{operation}s from {format_bytes(small[0])} take {format_ns(small[3])} on average, from"
                f" {format_bytes(large[0])} {format_ns(large[3])} ({large[3] / small[3]:.1f} times)"
            )
        else:
            said.append(f"all {operation}s are of one size class and take {format_ns(small[3])} on average")
    text = "; ".join(said)
    return text[:1].upper() + text[1:] + "."


def _depth_over_time(description: dict[str, Any]) -> str:
    starts, _, widths = intervals(description)
    means = description["timeline"]["depth_mean"]
    peak = max(range(len(means)), key=lambda i: means[i] or 0)
    said = (
        f"The deepest {_time(widths[peak])}, from {_time(starts[peak])} on, has {_number(means[peak] or 0)} requests in"
        " flight on average"
    )
    whole = (description.get("depth") or {}).get("mean")
    return said + (f"; the whole recording {_number(whole)}." if whole is not None else ".")


def _depth(description: dict[str, Any]) -> str:
    found = description["depth"]
    share = {start: one for start, one in found["share"]}
    deep = sum(one for start, one in share.items() if start >= 8)
    most = f"; at most {found['max']:,} at one time" if found.get("max") is not None else ""
    return (
        f"In {_share(share.get(0, 0.0))} of the time nothing is in flight, in {_share(deep)} eight requests or"
        f" more{most}."
    )


def _burstiness(description: dict[str, Any]) -> str:
    found = [(window, one) for window, one in description["burstiness"]["dispersion"] if one]
    window, highest = max(found, key=lambda pair: pair[1])
    if highest < 1.5:
        return (
            f"Arrivals are no burstier than independent ones at any time scale: at most {highest:.2g} times (windows of"
            f" {format_ns(window)})."
        )
    rising = (
        " The index grows with the window: bursts come in longer bursts."
        if len(found) > 2 and found[-1][1] > 2 * found[0][1]
        else ""
    )
    return (
        f"Counts in windows of {format_ns(window)} vary {_number(highest)} times as much as independent (Poisson)"
        f" arrivals would.{rising}"
    )


def _working_set(description: dict[str, Any]) -> str:
    found = description["working_set"]
    times, touched = found["curve"]["time_ns"], found["curve"]["bytes"]
    half = next((one for time, one in zip(times, touched, strict=True) if time >= times[-1] / 2), touched[-1])
    growth = (touched[-1] - half) / touched[-1] if touched[-1] else 0.0
    about = "An estimated " if found.get("estimated") else ""
    said = (
        f"{about}{format_bytes(found['total_bytes'])} distinct: {format_bytes(found['read_bytes'])} read,"
        f" {format_bytes(found['written_bytes'])} written, {format_bytes(found['both_bytes'])} both."
    )
    if growth > 0.1:
        return (
            said + f" {_share(growth)} of it came in the second half: the recording has not seen the whole working set."
        )
    return said + f" Only {_share(growth)} of it came in the second half: it is nearly whole."


def _re_reference(description: dict[str, Any]) -> str:
    found = description["re_reference"]
    said = []
    for kind in ("read", "write"):
        after_read, after_write = found.get(f"{kind}_after_read"), found.get(f"{kind}_after_write")
        if after_read is not None and after_write is not None:
            said.append(
                f"{_share(after_read + after_write)} of the pages {'read' if kind == 'read' else 'written'} had been"
                " touched before"
            )
    text = "; ".join(said)
    times = found.get("reads_since_last_ns") or []
    again = sum(row[2] for row in times)
    if again:
        below, middle = 0, times[-1]
        for row in times:
            below += row[2]
            if below >= again / 2:
                middle = row
                break
        text += f". Half of the pages read again come back within {format_ns(middle[1])}"
    return text + "." if text else ""


READINGS: dict[str, Callable[[dict[str, Any]], str]] = {
    "rates": _rates, "sizes": _sizes, "latency-cdf": _latency_cdf, "latency-by-size": _latency_by_size,
    "depth-over-time": _depth_over_time, "depth": _depth, "burstiness": _burstiness, "working-set": _working_set,
    "re-reference": _re_reference,
}  # fmt: skip
