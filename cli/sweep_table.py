"""What a sweep shows in the terminal: its points, or of many the best, the worst, and what each
value of an axis does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tiersim.cli import terminal, verdicts
from tiersim.scenarios.load_steps import whole_loads
from tiersim.units import format_ns, format_per_s

#: More combinations are not shown one by one, but so many of the best and of the worst; fewer in a short table.
_ALL, _SOME = 24, 8
_ALL_SHORT, _SOME_SHORT = 15, 6
#: Columns of a short table leave out this one.
_LEFT_OUT = "p95"
#: Of a longer axis only the values at even distances are shown.
_VALUES = 12
#: Sentences of points that failed, and characters of a value, that are shown.
_SENTENCES, _TEXT = 3, 28
#: Sizes of the buffer pool are shown with its hit ratio.
_POOL, _HITS = "engine.buffer_pool", "pool hit ratio"
#: What is looked at first, where there is such a class.
_HEADLINES = ("transaction", "data read", "query", *terminal.CLASS_ORDER)


@dataclass(frozen=True)
class _Shown:
    """What the tables need of a row."""

    number: int
    settings: tuple[str, ...]
    status: str
    error: str | None
    by_point: int | None
    why: str | None  # another point stands for it
    whole: str  # what loads have whole numbers of, if that is why
    means_ns: Mapping[str, float]  # by class, that are resolved
    summary: Mapping[str, Any]


def show_sweep(plan: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], target: Path, *, everything: bool) -> None:
    """Print the tables of a sweep that lies at *target*: *everything*, or what matters most."""
    most, some = (_ALL, _SOME) if everything else (_ALL_SHORT, _SOME_SHORT)
    keys = [axis["key"] for axis in plan["axes"]]
    shown = [_shown(row, keys) for row in rows]
    headline = _headline(shown)
    combinations: dict[tuple[str, ...], list[_Shown]] = {}
    for one in shown:
        combinations.setdefault(one.settings, []).append(one)
    groups = list(combinations.values())
    title = f"{plan['trace']['name']} on {plan['scenario']}: {_counts(shown)}"
    columns = [
        "point",
        *keys,
        f"{headline or 'latency'}, mean",
        "p95",
        "p99",
        _unit(shown),
        *([_HITS] if (has_pools := _POOL in keys and any(_hits(one) for one in shown)) else []),
        "busiest part",
        "carries the load",
    ]
    if headline is None or len(groups) <= most or not any(headline in one.means_ns for one in shown):
        cells = [_row(keys, group, headline, has_pools) for group in groups[:most]]
    else:
        ranked = sorted(
            (group for group in groups if _mean(group, headline) is not None), key=lambda g: _mean(g, headline) or 0.0
        )
        best, worst = ranked[:some], ranked[some:][-some:]
        cells = [
            *(_row(keys, group, headline, has_pools) for group in best),
            *([["…"] + [""] * (len(columns) - 1)] if worst else []),
            *(_row(keys, group, headline, has_pools) for group in worst),
        ]
        title += f"; the {len(best)} lowest and {len(worst)} highest means"
    errors = verdicts.notes_of_rows(one.summary for one in shown if one.status == "done")
    notes = [
        *_failures(shown),
        *_same_loads(shown),
        *verdicts.credits_last({f"point {one.number}": one.summary for one in shown}),
        f"All points: {target}/points.parquet, or --json.",
        *errors,
    ]
    long = headline is not None and len(groups) > most
    tables = 0 if everything or not long else len(keys)
    caption = terminal.caption(notes, everything=everything, left=tables, what="table")
    if not everything:
        place = columns.index(_LEFT_OUT)
        columns, *cells = [[*row[:place], *row[place + 1 :]] for row in (columns, *cells)]
    if headline is None or not long or not everything:
        terminal.show_table(title, columns, cells, caption, words=1 + len(keys))
    else:
        terminal.show_table(title, columns, cells, words=1 + len(keys))
        _show_axes(plan, shown, headline, caption)


def _headline(shown: Sequence[_Shown]) -> str | None:
    """Return the class whose latency is shown: transactions where there are any, even if no point resolves their mean;
    else the first with a mean.
    """
    first, *others = _HEADLINES
    if any(first in one.summary.get("latency_ns", {}) for one in shown):
        return first
    return next((name for name in others if any(name in one.means_ns for one in shown)), None)


def _shown(row: Mapping[str, Any], keys: Sequence[str]) -> _Shown:
    summary = row["summary"]
    means = {
        name: figures["mean"]["value"]
        for name, figures in summary.get("latency_ns", {}).items()
        if figures["mean"]["value"] is not None
    }
    kept = {
        key: summary[key]
        for key in (
            "latency_ns",
            "throughput_per_s",
            "bottleneck",
            "verdict",
            "in_doubt",
            "caveats",
            "load_not_run",
            "load_reached",
            "credits",
            "hit_ratio",
        )
        if key in summary
    }
    screened = row["screened"] if row["status"] == "screened" else {}
    by_point, why, whole = screened.get("by_point"), screened.get("why"), screened.get("load_in_whole", "")
    settings = tuple(row["settings"][key] for key in keys)
    return _Shown(row["point"], settings, row["status"], row["error"], by_point, why, whole, means, kept)


def _same_loads(shown: Sequence[_Shown]) -> list[str]:
    """Return which points run the load of another, in one sentence for all that have whole numbers of the same."""
    found: dict[str, list[str]] = {}
    for one in shown:
        if one.whole and one.why is not None:
            found.setdefault(one.whole, []).append(one.why.removeprefix(whole_loads(one.whole, [""])))
    return [f"{whole_loads(whole, said).capitalize()}." for whole, said in found.items()]


def _counts(shown: Sequence[_Shown]) -> str:
    counts = {status: sum(one.status == status for one in shown) for status in ("done", "failed", "screened")}
    parts = [f"{count:,} {status}" for status, count in counts.items() if count]
    return f"{len(shown):,} points, {', '.join(parts)}"


def _mean(group: Sequence[_Shown], headline: str) -> float | None:
    """Return the mean over replications."""
    values = [one.means_ns[headline] for one in group if headline in one.means_ns]
    return sum(values) / len(values) if values else None


def _row(keys: Sequence[str], group: Sequence[_Shown], headline: str | None, has_pools: bool) -> list[str]:
    """Return one row for a combination; where its replications differ, a range of them. *has_pools*: with the hit ratio
    of the first.
    """
    first = group[0]
    begin = [
        str(first.number),
        *(_setting(key, value, first.summary) for key, value in zip(keys, first.settings, strict=True)),
    ]
    done = [one for one in group if one.status == "done"]
    if not done:
        said = f"as point {first.by_point}" if first.status == "screened" else first.status
        return [*begin, said, *[""] * (5 + has_pools)]
    figures = [one.summary["latency_ns"].get(headline, {}) for one in done]
    latencies = [_range(figures, key) for key in ("mean", "p95", "p99")]
    rates = [_rate(one.summary["throughput_per_s"]) for one in done]
    low, high = format_per_s(min(rates)), format_per_s(max(rates))
    loads = dict.fromkeys(verdicts.carries(one.summary) for one in done)
    return [
        *begin,
        *latencies,
        low if low == high else f"{low} – {high}",
        *([_hits(done[0])] if has_pools else []),
        verdicts.busiest(done[0].summary),
        ", ".join(loads),
    ]


def _hits(one: _Shown) -> str:
    """Return the hit ratio of the buffer pool, or nothing where none is known."""
    ratio = (one.summary.get("hit_ratio") or {}).get("pool")
    return "" if ratio is None else f"{100 * ratio:.2f} %"


def _setting(key: str, value: str, summary: Mapping[str, Any]) -> str:
    """Return the value of a key, and of a load the one that was run in its place."""
    ran = summary.get("load_reached")
    if key == "replay.load" and ran is not None and ran != float(value):
        return f"{value} (ran {ran:.4g})"
    return terminal.shortened(value, _TEXT)


def _range(figures: Sequence[Mapping[str, Any]], key: str) -> str:
    """Return a figure of all replications: its range, or each that there is where one of them has no value."""
    found = ((one.get(key) or {}).get("value") for one in figures)
    values = [value for value in found if value is not None]
    if len(figures) == 1 or len(values) < len(figures):
        return ", ".join(dict.fromkeys(terminal.figure_text(one.get(key)) for one in figures))
    low, high = format_ns(min(values)), format_ns(max(values))
    return low if low == high else f"{low} – {high}"


def _unit(shown: Sequence[_Shown]) -> str:
    """Return what :func:`_rate` counts."""
    has_transactions = any("transactions" in one.summary.get("throughput_per_s", {}) for one in shown)
    return "transactions/s" if has_transactions else "requests/s"


def _rate(throughput: Mapping[str, Any]) -> float:
    """Return transactions a second where statements ran, else requests."""
    figure = throughput.get("transactions", throughput["requests"])
    return float(figure["value"])


def _show_axes(plan: Mapping[str, Any], shown: Sequence[_Shown], headline: str, caption: str) -> None:
    """Print for each value of each axis what its points have."""
    rows = []
    for place, axis in enumerate(plan["axes"]):
        values = axis["values"]
        step = -(-len(values) // _VALUES)
        for value in values[::step]:
            found = [
                one.means_ns[headline] for one in shown if one.settings[place] == value and headline in one.means_ns
            ]
            spread = [format_ns(pick(found)) for pick in (min, median, max)] if found else [""] * 3
            rows.append([axis["key"], value, f"{len(found):,}", *spread])
    columns = ["axis", "value", "points", f"{headline}, lowest mean", "median", "highest"]
    terminal.show_table("By value, over all points that have it", columns, rows, caption, words=2)


def _failures(shown: Sequence[_Shown]) -> list[str]:
    """Return a sentence for each way to fail."""
    counts: dict[str, list[int]] = {}
    for one in shown:
        if one.error is not None:
            counts.setdefault(one.error, []).append(one.number)
    notes = [
        f"point {numbers[0]}{f' and {len(numbers) - 1} more' if numbers[1:] else ''} failed: {error}"
        for error, numbers in list(counts.items())[:_SENTENCES]
    ]
    return notes + (
        [f"{len(counts) - _SENTENCES} further reasons are in the rows."] if len(counts) > _SENTENCES else []
    )
