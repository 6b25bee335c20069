"""Tables of runs of statements, recorded or described. A row: the name of a figure, then a cell a result. Notes: what
everybody who reads a table has to know.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tiersim.cli import terminal, verdicts
from tiersim.cli.tails import notes_of_tails
from tiersim.cli.time_by_part import notes_of_rest, time_of_transaction
from tiersim.cli.verdicts import Summary
from tiersim.simulator.categories import STATISTICS, WAIT_NAMES
from tiersim.units import format_bytes, format_ns, format_per_s

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
    pools = [engine.get("buffer_pool_bytes") for engine in engines]
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
