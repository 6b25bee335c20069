"""What monitoring services of clouds have in common: series of a metric's statistics, a point a period, that become
gauges.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.readers.host_counters.sysstat import decimal_of
from tiersim.traces.readers.recorded import Key, Recorded
from tiersim.traces.readers.timestamps import TIMESTAMP, Clock, moment_within
from tiersim.units import NS_PER_S

SUM, AVERAGE = "sum", "average"
#: Gauges that others are computed from, and that are not kept: seconds of reading a second, and shares of the time
#: without a request.
READ_TIME, WRITE_TIME, IDLE = "read time", "write time", "idle share"

_MS_PER_S = 1000
_LONGEST_PERIOD_S = 366 * 86_400
_HEADINGS = 30
_LONGEST_NAME = 60  # of a metric that is not known, in a sentence
_COUNTS = ("samplecount", "count")


class Metric(NamedTuple):
    """What a metric is here. Of a SUM the gauge is what it is divided by the period, in s."""

    subject: str
    entity: str
    gauge: str
    statistic: str = AVERAGE
    factor: Decimal = Decimal(1)


@dataclass
class Series:
    """A metric of one resource: the starts of its periods with the statistics that were asked for,
    by lower-case names.
    """

    metric: str
    entity: str = ""  # of the resource, where the source names it
    period_s: Decimal | None = None
    points: list[tuple[int, dict[str, Decimal]]] = field(default_factory=list)


def named_in(text: str, metrics: Mapping[str, Metric]) -> str | None:
    """Return the metric that a label names, the longest of several; None if it names none."""
    lower = text.lower()
    found = [name for name in metrics if re.search(rf"(?<![\w/]){re.escape(name)}(?![\w/])", lower)]
    return max(found, key=len, default=None)


def add_series(path: Path, series: Sequence[Series], metrics: Mapping[str, Metric], recorded: Recorded) -> None:
    """Add what the series say at the end of each period; raises TraceError when no metric of them is known."""
    at: dict[int, dict[Key, dict[str, Decimal]]] = {}
    unknown: set[str] = set()
    for one in series:
        metric = metrics.get(one.metric.lower())
        if metric is None:
            unknown.add(" ".join(one.metric.split())[:_LONGEST_NAME])
            continue
        told = one.period_s is not None and 0 < one.period_s <= _LONGEST_PERIOD_S
        period_s = one.period_s if told else _shortest_step_s([time for time, _ in one.points])
        for time, statistics in one.points:
            value = _value(metric, statistics, period_s)
            if value is None or period_s is None:
                recorded.lose("points of metrics without the statistic that is needed, or without their period", 1)
                continue
            values = at.setdefault(time + int(period_s * NS_PER_S), {})
            values.setdefault((metric.subject, one.entity or metric.entity), {})[metric.gauge] = value
    if not at:
        which = f" ({', '.join(sorted(unknown)[:3])})" if unknown else ""
        raise TraceError(f"{path}: holds no metric that is known{which}; export those of volumes, disks or databases")
    for unix_ns in sorted(at):
        kept = {key: _derived(gauges) for key, gauges in at[unix_ns].items()}
        recorded.add(moment_within(path, unix_ns), unix_ns, {key: gauges for key, gauges in kept.items() if gauges})
    if unknown:
        recorded.warnings.append(
            f"{path.name}: metrics that are not known, and not read: {', '.join(sorted(unknown)[:5])}"
        )


def _shortest_step_s(times: Sequence[int]) -> Decimal | None:
    distinct = sorted(set(times))
    steps = [later - time for time, later in pairwise(distinct)]
    return Decimal(min(steps)) / NS_PER_S if steps else None


def _value(metric: Metric, statistics: Mapping[str, Decimal], period_s: Decimal | None) -> Decimal | None:
    count = next((statistics[name] for name in _COUNTS if name in statistics), None)
    total = statistics.get(SUM, statistics.get("total"))
    average = statistics.get(AVERAGE)
    if metric.statistic == AVERAGE:
        if average is None and total is not None and count:
            average = total / count
        return None if average is None else average * metric.factor
    if total is None and average is not None and count is not None:
        total = average * count
    return None if total is None or not period_s else total * metric.factor / period_s


def _derived(gauges: dict[str, Decimal]) -> dict[str, Decimal | str]:
    """Return gauges with those in place of which others are kept."""
    found: dict[str, Decimal | str] = {k: v for k, v in gauges.items() if k not in (READ_TIME, WRITE_TIME, IDLE)}
    for time, rate, latency in (
        (READ_TIME, "reads_per_s", "read_latency_ms"),
        (WRITE_TIME, "writes_per_s", "write_latency_ms"),
    ):
        if time in gauges and gauges.get(rate):
            found[latency] = gauges[time] / gauges[rate] * _MS_PER_S
    if IDLE in gauges:
        found["busy_share"] = 1 - gauges[IDLE]
    return found


def documents(path: Path, text: str) -> Iterator[Any]:
    """Yield the JSON documents of a file, one behind the other; raises TraceError when one is damaged."""
    decoder = json.JSONDecoder(parse_float=_finite, parse_int=_finite)
    place = 0
    while place < len(text):
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, ArithmeticError, RecursionError):
            raise TraceError(f"{path}: is damaged JSON behind character {place:,}; export it again") from None
        yield document
        while place < len(text) and text[place].isspace():
            place += 1


def _finite(text: str) -> Decimal:
    number = Decimal(text)
    if number.adjusted() > 30:  # no metric is; and what is computed with it would not fit
        raise InvalidOperation
    return number


def wide_table(path: Path, text: str, clock: Clock, metrics: Mapping[str, Metric]) -> list[Series]:
    """Return the series of a CSV whose first column is the time and each other a metric, named somewhere above.

    Raises TraceError when the CSV is damaged.
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text)) if any(row)]
    except csv.Error as error:
        raise TraceError(f"{path}: is damaged CSV ({error}); export it again") from None
    start = next((place for place, row in enumerate(rows) if row and TIMESTAMP.match(row[0].strip())), len(rows))
    columns: dict[int, Series] = {}
    statistic: dict[int, str] = {}
    for place in range(1, max((len(row) for row in rows[:start]), default=0)):
        headings = {row[0].strip().lower(): row[place].strip() for row in rows[:start] if len(row) > place}
        name = next((name for cell in headings.values() if (name := named_in(cell, metrics))), None)
        if name is not None:
            columns[place] = Series(name, period_s=decimal_of(headings.get("period", "")))
            told = next((cell.lower() for cell in headings.values() if cell.lower() in (SUM, AVERAGE)), None)
            statistic[place] = told or metrics[name].statistic
    for row in rows[start:]:
        unix_ns = clock.unix_ns(row[0].strip())
        for place, one in columns.items():
            value = decimal_of(row[place]) if place < len(row) else None
            if unix_ns is not None and value is not None:
                one.points.append((unix_ns, {statistic[place]: value}))
    return list(columns.values())


def looks_like_wide_table(text: str, metrics: Mapping[str, Metric]) -> bool:
    """Tell whether a text begins as :func:`wide_table` reads it."""
    lines = text.split("\n")[:_HEADINGS]
    start = next((place for place, line in enumerate(lines) if TIMESTAMP.match(line.strip().strip('"'))), 0)
    cells = (cell.strip().strip('"') for line in lines[:start] for cell in line[:4000].split(",")[1:])
    return any(named_in(cell, metrics) for cell in cells)
