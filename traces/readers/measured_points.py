"""A table of measured points as CSV, which people keep: a heading names the columns.

``direction`` is read or write; ``rw``, ``bs``, ``iodepth``, ``numjobs`` and ``rwmixread`` are fio's options; ``iops``;
``mean_us``; columns such as ``p99_us``, ``p999_us`` or ``p99.9_us`` are percentiles. ``file`` names a row. Other
columns are not read.
"""

import csv
import io
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from tiersim.errors import TraceError
from tiersim.traces.measurement import MeasuredPoint, Percentiles
from tiersim.traces.readers.fio_options import OPERATIONS, OptionError, setting
from tiersim.units import NS_PER_US

_NEEDED = frozenset({"direction", "rw", "bs", "iodepth", "iops", "mean_us"})
_OPTIONS = ("rw", "bs", "iodepth", "numjobs", "rwmixread")
_PERCENTILE = re.compile(r"p(\d\d?)(?:\.?(\d{1,7}))?_us")
_MOST = Decimal(10**15)
_MOST_LINES = 100_000
_LONGEST_CELL = 100
_LONGEST_HEADING = 1 << 16


def looks_like_points(text: str) -> bool:
    """Tell whether text begins with the heading of such a table."""
    return set(_headings(text)) >= _NEEDED


def read_points(text: str, file: str) -> list[MeasuredPoint]:
    """Return the points of a table, of the file of that name; raises TraceError when a row is
    none, or there is no row.
    """
    headings = _headings(text)
    twice = next((name for name in headings if name and headings.count(name) > 1), None)
    if twice:
        raise TraceError(f"{file}:1: has two columns {twice!r}; leave one out")
    rows = csv.reader(io.StringIO(text), strict=True)
    points = []
    try:
        next(rows)
        for row in rows:
            if rows.line_num > _MOST_LINES:
                raise TraceError(f"{file}: has more than {_MOST_LINES:,} lines; split the table")
            if any(cell.strip() for cell in row):
                if len(row) != len(headings):
                    raise TraceError(
                        f"{file}:{rows.line_num}: has {len(row)} columns, the heading {len(headings)}; correct the row"
                    )
                cells = {name: cell.strip()[:_LONGEST_CELL] for name, cell in zip(headings, row, strict=True)}
                points.append(_point(cells, file, f"{file}:{rows.line_num}"))
    except csv.Error as error:
        raise TraceError(f"{file}:{rows.line_num}: is not CSV ({error}); save the table as CSV") from None
    if not points:
        raise TraceError(f"{file}: has a heading and no row; add what was measured")
    return points


def _headings(text: str) -> list[str]:
    try:
        return [name.strip().lower() for name in next(csv.reader([text[:_LONGEST_HEADING].partition("\n")[0]]), [])]
    except csv.Error:
        return []


def _point(cells: Mapping[str, str], file: str, place: str) -> MeasuredPoint:
    operation = next((name for name in OPERATIONS if name == cells["direction"].lower()), None)
    if operation is None:
        raise TraceError(f"{place}: direction is {cells['direction']!r}; write read or write")
    try:
        # a table does not say what it leaves out: only what follows from these options is taken
        wanted = setting({key: cells[key] for key in _OPTIONS if cells.get(key)})
    except OptionError as error:
        raise TraceError(f"{place}: {error}") from None
    mean_us = _number(cells, "mean_us", place)
    iops = _number(cells, "iops", place)
    return MeasuredPoint(
        file=file,
        job=cells.get("file", ""),
        operation=operation,
        iops=None if iops is None else float(iops),
        pattern=wanted.pattern,
        block_bytes=wanted.directions[operation].block_bytes,
        depth=wanted.iodepth * wanted.jobs,
        jobs=wanted.jobs,
        read_share=wanted.read_share,
        mean_ns=None if mean_us is None else float(mean_us * NS_PER_US),
        percentiles=_percentiles(cells, place),
    )


def _percentiles(cells: Mapping[str, str], place: str) -> Percentiles:
    found = {}
    for name in cells:
        match = _PERCENTILE.fullmatch(name)
        value_us = _number(cells, name, place) if match else None
        if match and value_us is not None:
            percent = 100.0 if name == "p100_us" else float(f"{match[1]}.{match[2] or 0}")
            found[percent] = round(value_us * NS_PER_US)
    return tuple(sorted(found.items()))


def _number(cells: Mapping[str, str], name: str, place: str) -> Decimal | None:
    """Return a cell as a number, None when it is empty."""
    if not cells[name]:
        return None
    try:
        value = Decimal(cells[name])
        if 0 <= value <= _MOST:
            return value
    except InvalidOperation:  # also what comparing with no number raises
        pass
    raise TraceError(f"{place}: {name} is {cells[name]!r}, not a number of 0 or more; correct it")
