"""``iostat`` of sysstat, 9 to 12: its text, with ``-x`` or without, and its JSON (``-o JSON``).

A report is what it prints at once: times with ``-t``, processors unless ``-d``, devices unless ``-c``. The first report
is of the time since the host was started, unless ``-y`` was given, which the output does not tell.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from tiersim.errors import TraceError
from tiersim.traces.readers.host_counters.sysstat import device_gauges, processor_gauges
from tiersim.traces.readers.opened import Opened, first_bytes
from tiersim.traces.readers.recorded import Key, Recorded, decoded, lines_of, text_of
from tiersim.traces.readers.timestamps import TIMESTAMP, Clock, moment_within

_HEADING = re.compile(r"^(?:avg-cpu: .*%idle|Device:? .*(?:/s|util|await).*)$", re.MULTILINE)
_SNIFFED_BYTES = 1 << 13


@dataclass
class _Report:
    """What was printed at once."""

    time: str = ""
    values: dict[Key, dict[str, Decimal | str]] = field(default_factory=dict)


def looks_like_iostat(text: str) -> bool:
    """Tell whether a file that begins so is the output of iostat."""
    head = text[:_SNIFFED_BYTES]
    if head.lstrip().startswith("{"):
        return '"sysstat"' in head and ('"avg-cpu"' in head or '"disk_device"' in head)
    return _HEADING.search(head) is not None


def read_iostat(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add each report but the first of several; raises TraceError when there is none, or the JSON is damaged."""
    is_json = decoded(first_bytes(path, _SNIFFED_BYTES)).lstrip().startswith("{")
    reports = list(_of_json(path, text_of(source)) if is_json else _of_text(source))
    if not reports:
        raise TraceError(f"{path}: holds no report of iostat; record it again")
    clock = Clock()
    kept = reports[1:] or reports
    for number, report in enumerate(kept, 1):
        unix_ns = clock.unix_ns(report.time) if report.time else None
        recorded.add(moment_within(path, number), unix_ns, report.values)
    if len(reports) > 1:
        recorded.inferred.append(
            f"{path.name}: the first report is of the time since the host was started, and was left out"
        )
    else:
        recorded.warnings.append(
            f"{path.name}: holds one report, which is of the time since the host was started unless iostat ran with -y"
        )
    if not kept[-1].time:
        recorded.warnings.append(f"{path.name}: its reports have no times; let iostat run with -t")
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    recorded.inferred += clock.said(path.name)


def _of_text(source: Opened) -> Iterator[_Report]:
    report = _Report()
    columns: list[str] = []  # of the table that is being read; the first names a device
    for line in lines_of(source):
        words = line.split()
        if not words:
            columns = []
        elif words[0] == "avg-cpu:":
            if report.values:
                yield report
                report = _Report()
            columns = words
        elif words[0].rstrip(":") == "Device" and len(words) > 1:
            if any(subject == "device" for subject, _ in report.values):
                yield report
                report = _Report()
            columns = words
        elif TIMESTAMP.match(line):
            if report.values:
                yield report
            report, columns = _Report(line.strip()), []
        elif columns and columns[0] == "avg-cpu:" and len(words) == len(columns) - 1:
            report.values["processor", "host"] = processor_gauges(dict(zip(columns[1:], words, strict=True)))
        elif columns and columns[0] != "avg-cpu:" and len(words) == len(columns):
            report.values["device", words[0]] = device_gauges(dict(zip(columns[1:], words[1:], strict=True)))
    if report.values:
        yield report


def _of_json(path: Path, text: str) -> Iterator[_Report]:
    try:
        hosts = json.loads(text, parse_float=str, parse_int=str)["sysstat"]["hosts"]
        for host in hosts:
            for found in host["statistics"]:
                yield _report_of_json(found)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TraceError(
            f"{path}: is not whole JSON of iostat; let iostat come to its end, or end it by Ctrl-C"
        ) from None


def _report_of_json(found: dict[str, Any]) -> _Report:
    report = _Report(str(found.get("timestamp", "")))
    if "avg-cpu" in found:
        report.values["processor", "host"] = processor_gauges(found["avg-cpu"])
    for device in found.get("disk", ()):
        name = device.get("disk_device") or device.get("device")
        report.values["device", str(name)] = device_gauges({k: v for k, v in device.items() if isinstance(v, str)})
    return report
