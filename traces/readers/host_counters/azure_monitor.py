"""Azure Monitor: what ``az monitor metrics list`` prints, records of diagnostic settings, and tables exported as CSV.

Metrics and units are those of the supported metrics of virtual machines, disks, and flexible servers for PostgreSQL and
MySQL.
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.readers.host_counters.cloud_metrics import (
    Metric,
    Series,
    add_series,
    documents,
    looks_like_wide_table,
    wide_table,
)  # fmt: skip
from tiersim.traces.readers.host_counters.sysstat import decimal_of
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, text_of
from tiersim.traces.readers.timestamps import Clock

_PERCENT = Decimal("0.01")
_OF_DISKS = {
    "read operations/sec": "reads_per_s",
    "write operations/sec": "writes_per_s",
    "read bytes/sec": "read_bytes_per_s",
    "write bytes/sec": "written_bytes_per_s",
    "queue depth": "queue_mean",
    "latency": "latency_ms",
}
#: By lower-case name.
_METRICS: Mapping[str, Metric] = {
    **{
        f"{disk} {name}": Metric("device", disk.removeprefix("composite "), gauge)
        for disk in ("disk", "os disk", "data disk", "temp disk", "composite disk")
        for name, gauge in _OF_DISKS.items()
    },
    "read_iops": Metric("device", "database", "reads_per_s"),
    "write_iops": Metric("device", "database", "writes_per_s"),
    "iops": Metric("device", "database", "requests_per_s"),
    "read_throughput": Metric("device", "database", "read_bytes_per_s"),
    "write_throughput": Metric("device", "database", "written_bytes_per_s"),
    "disk_queue_depth": Metric("device", "database", "queue_mean"),
    "cpu_percent": Metric("processor", "host", "busy_share", factor=_PERCENT),
    "percentage cpu": Metric("processor", "host", "busy_share", factor=_PERCENT),
    "available memory bytes": Metric("memory", "host", "available_bytes"),
}
_GRAIN = re.compile(r"P(?:(\d{1,3})D)?(?:T(?:(\d{1,3})H)?(?:(\d{1,4})M)?(?:(\d{1,6})S)?)?|(\d{1,3}):(\d\d):(\d\d)")
_STATISTICS = ("average", "total", "count", "minimum", "maximum")
_SNIFFED_BYTES = 1 << 13


def looks_like_azure_monitor(text: str) -> bool:
    """Tell whether a file that begins so comes from Azure Monitor."""
    head = text[:_SNIFFED_BYTES]
    if head.lstrip().startswith(("{", "[")):
        return ('"timeseries"' in head and '"timeStamp"' in text) or ('"metricName"' in head and '"timeGrain"' in head)
    heading = head.split("\n", 1)[0].lower()
    return ("timegenerated" in heading and "metricname" in heading) or looks_like_wide_table(head, _METRICS)


def read_azure_monitor(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what the metrics say; raises TraceError when none is known or the file is damaged."""
    clock = Clock()
    text = text_of(source).lstrip()
    if text.startswith(("{", "[")):
        series = [one for document in documents(path, text) for one in _of_json(path, document, clock)]
    elif "metricname" in text.split("\n", 1)[0].lower():
        series = _of_rows(list(_csv_rows(path, text)), clock)
    else:
        series = wide_table(path, text, clock, _METRICS)
    add_series(path, series, _METRICS, recorded)
    recorded.inferred += clock.said(path.name)


def _of_json(path: Path, document: Any, clock: Clock) -> Iterator[Series]:
    try:
        if isinstance(document, dict) and "value" in document:
            for metric in document["value"]:
                yield from _of_metric(metric, _seconds(document.get("interval")), clock)
            return
        records = document.get("records", [document]) if isinstance(document, dict) else document
        yield from _of_rows(records, clock)
    except (AttributeError, KeyError, TypeError):
        raise TraceError(f"{path}: is not what Azure Monitor exports as JSON; export it again") from None


def _of_metric(metric: Mapping[str, Any], period_s: Decimal | None, clock: Clock) -> Iterator[Series]:
    name = str(metric["name"]["value"])
    for found in metric["timeseries"]:
        unit = next(
            (
                str(pair["value"])
                for pair in found.get("metadatavalues", ())
                if str(pair["name"]["value"]).lower() == "lun"
            ),
            "",
        )
        known = _METRICS.get(name.lower())
        one = Series(name, f"{known.entity} {unit}" if known and unit else "", period_s)
        for point in found["data"]:
            unix_ns = clock.unix_ns(str(point["timeStamp"]))
            if unix_ns is not None:
                one.points.append(
                    (unix_ns, {k: v for k, v in point.items() if k in _STATISTICS and isinstance(v, Decimal)})
                )
        one.points = [point for point in one.points if point[1]]  # a period without measurements has nulls
        yield one


def _csv_rows(path: Path, text: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table of Log Analytics with the keys of diagnostic records."""
    try:
        for row in csv.DictReader(io.StringIO(text)):
            lower = {str(k).lower().split(" ")[0]: v for k, v in row.items() if isinstance(v, str)}
            numbers = {name: decimal_of(lower[name]) for name in _STATISTICS if name in lower}
            yield {
                "time": lower.get("timegenerated", "") + (" UTC" if "TimeGenerated [UTC]" in row else ""),
                "metricName": lower.get("metricname", ""),
                "timeGrain": lower.get("timegrain"), "resourceId": lower.get("resourceid", ""),
                **{name: number for name, number in numbers.items() if number is not None},
            }  # fmt: skip
    except csv.Error as error:
        raise TraceError(f"{path}: is damaged CSV ({error}); export it again") from None


def _of_rows(rows: list[dict[str, Any]], clock: Clock) -> list[Series]:
    """Return series of records that tell one point each. Which resource is which is kept apart, but not named."""
    found: dict[tuple[str, str], Series] = {}
    for row in rows:
        name, resource = str(row["metricName"]), str(row.get("resourceId", ""))
        one = found.setdefault((name, resource), Series(name, period_s=_seconds(row.get("timeGrain"))))
        unix_ns = clock.unix_ns(str(row["time"]))
        if unix_ns is not None:
            one.points.append((unix_ns, {k: v for k, v in row.items() if k in _STATISTICS and isinstance(v, Decimal)}))
    resources = list(dict.fromkeys(resource for _, resource in found))
    if len(resources) > 1:
        for (name, resource), one in found.items():
            known = _METRICS.get(name.lower())
            one.entity = f"{known.entity} of resource {resources.index(resource) + 1}" if known else ""
    return list(found.values())


def _seconds(grain: Any) -> Decimal | None:
    """Return the length of a period such as ``PT1M`` or ``0:01:00``; None when it is not told."""
    found = _GRAIN.fullmatch(str(grain))
    if found is None:
        return None
    days, hours, minutes, seconds, *clock = (int(part or 0) for part in found.groups())
    total = days * 86_400 + (hours + clock[0]) * 3_600 + (minutes + clock[1]) * 60 + seconds + clock[2]
    return Decimal(total) if total else None
