"""Amazon CloudWatch: what ``aws cloudwatch get-metric-statistics`` and ``get-metric-data`` print, and the console's
CSV.

Metrics, units and useful statistics are those of the user guides of EBS and RDS: counts and times of a volume are sums
over the period, its times in s; latencies of RDS are in s.
"""

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.readers.host_counters.cloud_metrics import (
    AVERAGE,
    IDLE,
    READ_TIME,
    SUM,
    WRITE_TIME,
    Metric,
    Series,
    add_series,
    documents,
    looks_like_wide_table,
    named_in,
    wide_table,
)
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, text_of
from tiersim.traces.readers.timestamps import Clock

_PERCENT, _MS = Decimal("0.01"), Decimal(1000)

#: By lower-case name.
_METRICS: Mapping[str, Metric] = {
    **{
        name.lower(): Metric("device", "volume", gauge, statistic, factor)
        for name, gauge, statistic, factor in (
            ("VolumeReadOps", "reads_per_s", SUM, Decimal(1)),
            ("VolumeWriteOps", "writes_per_s", SUM, Decimal(1)),
            ("VolumeReadBytes", "read_bytes_per_s", SUM, Decimal(1)),
            ("VolumeWriteBytes", "written_bytes_per_s", SUM, Decimal(1)),
            ("VolumeTotalReadTime", READ_TIME, SUM, Decimal(1)),
            ("VolumeTotalWriteTime", WRITE_TIME, SUM, Decimal(1)),
            ("VolumeIdleTime", IDLE, SUM, Decimal(1)),
            ("VolumeQueueLength", "queue_mean", AVERAGE, Decimal(1)),
            ("VolumeAvgReadLatency", "read_latency_ms", AVERAGE, Decimal(1)),
            ("VolumeAvgWriteLatency", "write_latency_ms", AVERAGE, Decimal(1)),
            ("BurstBalance", "burst_balance_share", AVERAGE, _PERCENT),
        )
    },
    **{
        name.lower(): Metric("device", "database", gauge, AVERAGE, factor)
        for name, gauge, factor in (
            ("ReadIOPS", "reads_per_s", Decimal(1)),
            ("WriteIOPS", "writes_per_s", Decimal(1)),
            ("ReadThroughput", "read_bytes_per_s", Decimal(1)),
            ("WriteThroughput", "written_bytes_per_s", Decimal(1)),
            ("ReadLatency", "read_latency_ms", _MS),
            ("WriteLatency", "write_latency_ms", _MS),
            ("DiskQueueDepth", "queue_mean", Decimal(1)),
        )
    },
    "cpuutilization": Metric("processor", "host", "busy_share", AVERAGE, _PERCENT),
    "freeablememory": Metric("memory", "host", "available_bytes"),
}
_VOLUME = re.compile(r"\bvol-[0-9a-f]{8,17}\b")
_SNIFFED_BYTES = 1 << 13


def looks_like_cloudwatch(text: str) -> bool:
    """Tell whether a file that begins so comes from CloudWatch."""
    head = text[:_SNIFFED_BYTES]
    if head.lstrip().startswith("{"):
        return '"MetricDataResults"' in head or ('"Datapoints"' in text and '"Timestamp"' in text)
    return looks_like_wide_table(head, _METRICS)


def read_cloudwatch(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what the metrics say; raises TraceError when none is known or the file is damaged."""
    clock = Clock()
    text = text_of(source)
    if text.lstrip().startswith("{"):
        series = [
            one for document in documents(path, text.lstrip()) for one in _series(path, document, clock, recorded)
        ]
    else:
        series = wide_table(path, text, clock, _METRICS)
    for one in series:
        if (
            not one.entity
            and (volume := _VOLUME.search(path.name))
            and _METRICS.get(one.metric.lower(), ("", ""))[1] == "volume"
        ):
            one.entity = volume.group()
    add_series(path, series, _METRICS, recorded)
    recorded.inferred += clock.said(path.name)


def _series(path: Path, document: Any, clock: Clock, recorded: Recorded) -> Iterator[Series]:
    try:
        if "Datapoints" in document:
            one = Series(str(document.get("Label", "")))
            for point in document["Datapoints"]:
                unix_ns = _unix_ns(point["Timestamp"], clock)
                if unix_ns is not None:
                    one.points.append((unix_ns, {k.lower(): v for k, v in point.items() if isinstance(v, Decimal)}))
            yield one
        for result in document.get("MetricDataResults", ()):
            label = str(result.get("Label", result["Id"]))
            name = named_in(label, _METRICS) or label
            metric = _METRICS.get(name.lower())
            volume = _VOLUME.search(label)
            one = Series(name, volume.group() if volume else "")
            statistic = AVERAGE if metric is None else metric.statistic
            for time, value in zip(result["Timestamps"], result["Values"], strict=False):
                unix_ns = _unix_ns(time, clock)
                if unix_ns is not None and isinstance(value, Decimal):
                    one.points.append((unix_ns, {statistic: value}))
            if metric is not None:
                recorded.inferred.append(
                    f"{path.name}: {name} does not tell its statistic, which is assumed to be the {statistic}"
                )
            yield one
    except (AttributeError, KeyError, TypeError):
        raise TraceError(
            f"{path}: is not what aws cloudwatch prints as JSON; export it again with --output json"
        ) from None


def _unix_ns(time: Any, clock: Clock) -> int | None:
    return clock.unix_ns(format(time, "f") if isinstance(time, Decimal) else str(time))
