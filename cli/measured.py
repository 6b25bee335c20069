"""What was measured, to be set beside predictions: recorded latencies of a trace, or a small table of figures."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tiersim.errors import TraceError, did_you_mean, reason
from tiersim.simulator.categories import STATISTICS, is_of_too_few
from tiersim.units import NS_PER_MS, NS_PER_S, NS_PER_US

if TYPE_CHECKING:
    from tiersim.traces.bundle import Bundle

COLUMNS = ("class", "statistic", "value", "unit")
#: Class of rates; their statistics are those of ``throughput_per_s``.
THROUGHPUT = "throughput"
RATES = ("requests", "statements", "transactions")
PER_S = "per_s"
_NS_PER = {"ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}


@dataclass(frozen=True)
class MeasuredFigure:
    """One measured figure: a latency in nanoseconds, or a rate a second where the class is ``throughput``."""

    name: str  # a class of latency_ns, ``query ID``, or ``throughput``
    statistic: str
    value: float


def read_measured(path: Path) -> list[MeasuredFigure]:
    """Read figures from a table of them (CSV or JSON, ``docs/report.md``) or from what a trace recorded.

    Raises TraceError naming the file, the row and the remedy; also when nothing was measured.
    """
    rows = _table(path) if path.is_file() and path.suffix in (".csv", ".json") else None
    if rows is not None:
        found = [_measurement(row, f"{path}: row {number}") for number, row in enumerate(rows, 1)]
    else:
        found = _of_trace(path)
    if not found:
        raise TraceError(
            f"{path}: holds no measured latency; give a recording that has them, or a table with the columns "
            f"{', '.join(COLUMNS)}"
        )
    return found


def _table(path: Path) -> list[dict[str, Any]] | None:
    """Rows of a table of figures; None where the file is something else, such as a trace in CSV."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None
    if path.suffix == ".csv":
        reader = csv.DictReader(io.StringIO(text))
        return list(reader) if set(COLUMNS) <= set(reader.fieldnames or ()) else None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):  # the latter where it is nested without end
        return None
    if isinstance(values, list) and all(isinstance(row, dict) and "statistic" in row for row in values):
        return values
    return None


def _measurement(row: dict[str, Any], where: str) -> MeasuredFigure:
    name, statistic, unit = (str(row.get(column) or "").strip() for column in ("class", "statistic", "unit"))
    statistics = RATES if name == THROUGHPUT else STATISTICS
    units = (PER_S,) if name == THROUGHPUT else tuple(_NS_PER)
    if not name:
        raise TraceError(f"{where}: has no class; write for example 'transaction', 'query 7123' or 'throughput'")
    if statistic not in statistics:
        raise TraceError(
            f"{where}: {statistic!r} is not a statistic of {name}; write one of"
            f" {', '.join(statistics)}{did_you_mean(statistic, statistics)}"
        )
    if unit not in units:
        raise TraceError(f"{where}: {unit!r} is not a unit of {name}; write one of {', '.join(units)}")
    try:
        value = float(row.get("value") or "")
    except (TypeError, ValueError):
        raise TraceError(f"{where}: the value {row.get('value')!r} is not a number; correct it") from None
    if not math.isfinite(value) or value <= 0:
        raise TraceError(f"{where}: the value {row.get('value')!r} is not above 0; correct it")
    return MeasuredFigure(name, statistic, value * _NS_PER.get(unit, 1))


def _of_trace(path: Path) -> list[MeasuredFigure]:
    """Latencies that a trace recorded: of requests by class, of executions and counted queries by query."""
    from tiersim.cli.import_trace import open_trace
    from tiersim.traces.description import describe

    with open_trace(path) as bundle:
        found = _of_requests(bundle) if bundle.rows else []
        counted = describe(bundle)["counted"] or {}
    of_queries: dict[tuple[str, str], float] = {}
    for query in counted.get("queries") or ():
        if query["mean_ms"]:
            of_queries[f"query {query['entity']}", "mean"] = query["mean_ms"] * NS_PER_MS
    for query in counted.get("executions") or ():  # recorded one by one, they say more
        for statistic in STATISTICS:
            value = query.get(f"{statistic}_ns")
            if query["query"] is not None and value:
                of_queries[f"query {query['query']}", statistic] = value
    return [*found, *(MeasuredFigure(name, statistic, value) for (name, statistic), value in of_queries.items())]


def _of_requests(bundle: Bundle) -> list[MeasuredFigure]:
    from tiersim.scenarios.survey import survey

    return [
        MeasuredFigure(name, statistic, float(figures[statistic]))
        for name, figures in survey(bundle).measured.items()
        for statistic in STATISTICS
        if figures.get(statistic) and not is_of_too_few(statistic, figures["count"])
    ]
