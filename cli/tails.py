"""99th percentiles that a run does not tell to a factor of 2, or that nobody compared with a measurement: what stands
in their place.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tiersim.cli import verdicts
from tiersim.cli.verdicts import Summary
from tiersim.units import format_ns

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
