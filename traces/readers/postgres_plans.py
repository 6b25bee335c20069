"""Plans that PostgreSQL's ``auto_explain`` logs with ANALYZE: what their root node says of the whole execution.

Counts of a node include those of the nodes below it, so the root's are the statement's. Names are those of EXPLAIN's
formats:
9.4 to 14 and 15 differ in "I/O Timings" (``read=`` alone, then ``shared read=``), 15 and 17 in "I/O Read Time" (then
"Shared",
"Local" and "Temp I/O Read Time"), 18 prints rows with decimals.
"""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from tiersim.units import NS_PER_MS

#: Pages are of this size unless the server was built otherwise, which its log does not tell.
PAGE_BYTES = 8192

_NODE = re.compile(r"\(cost=\d|\(actual (?:time|rows)=|\(never executed\)")
_ACTUAL = re.compile(r"\(actual (?:time=[\d.]+ ?\.\.[\d.]+ )?rows=(\d+(?:\.\d+)?) loops=(\d+)\)")
_LAUNCHED = re.compile(r"^\s*Workers Launched: (\d+)", re.MULTILINE)
_AMOUNT = re.compile(r"\b(read|written|hit|write|bytes)=(\d+(?:\.\d+)?)")
_GROUP = re.compile(r"(shared/local|shared|local|temp)\b")
_MODIFYING = ("Insert", "Update", "Delete", "Merge")
_IO_TIMES = [
    f"{prefix}I/O {way} Time"
    for prefix in ("", "Shared ", "Local ", "Temp ", "Shared/Local ")
    for way in ("Read", "Write")
]

_MOST_DIGITS = 40
#: Columns of a statement, without its time, duration and session.
Counts = dict[str, int]


class PlannedExecution(NamedTuple):
    """One execution: the query's text, and columns of STATEMENT_COLUMNS."""

    query: str
    counts: Counts


def plan_of(text: str) -> PlannedExecution | None:
    """Return what a plan says that follows ``plan:`` in a log, in text or JSON; None for XML, YAML, and what is
    damaged.
    """
    text = text.lstrip("\n")
    if text.startswith("{"):
        return _of_json(text)
    if text.startswith("Query Text: "):
        return _of_text(text)
    return None


def _of_json(text: str) -> PlannedExecution | None:
    try:
        document = json.loads(text, parse_float=_bounded, parse_int=_bounded)
        query, root = document["Query Text"], document["Plan"]
        if not isinstance(query, str) or not isinstance(root, dict):
            return None
        return PlannedExecution(query, _counts_of_json(root))
    except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
        return None


def _bounded(digits: str) -> Decimal:
    """Return a number of no more digits than a sum needs; raises ValueError: 1e999999999 takes hours to write out."""
    number = Decimal(digits)
    if number.adjusted() > _MOST_DIGITS:
        raise ValueError(digits)
    return number


def _counts_of_json(root: Mapping[str, Any]) -> Counts:
    counts: Counts = {}
    changed = root.get("Node Type") == "ModifyTable" and root.get("Plans")
    node = root["Plans"][0] if changed else root
    if "Actual Rows" in node and "Actual Loops" in node:
        counts["rows"] = round(node["Actual Rows"] * node["Actual Loops"])
    if "Shared Read Blocks" in root:
        pages = {
            way: sum(int(root.get(f"{where} {way} Blocks", 0)) for where in ("Shared", "Local"))
            for way in ("Hit", "Read", "Written")
        }
        temp = int(root.get("Temp Read Blocks", 0)) + int(root.get("Temp Written Blocks", 0))
        counts |= _pages(pages["Hit"], pages["Read"], pages["Written"], temp)
    times = [root[name] for name in _IO_TIMES if name in root]
    if times:
        counts["io_wait_ns"] = _ns(sum(times, Decimal(0)))
    if "WAL Bytes" in root:
        counts["log_bytes"] = int(root["WAL Bytes"])
    launched = [node["Workers Launched"] for node in _nodes(root) if "Workers Launched" in node]
    if launched:
        counts["parallel"] = int(sum(launched, Decimal(0)))
    return counts


def _nodes(root: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.get("Plans", ()))


def _of_text(text: str) -> PlannedExecution | None:
    lines = text.removeprefix("Query Text: ").split("\n")
    start = next((place for place, line in enumerate(lines) if place and _NODE.search(line)), None)
    if start is None:
        return None
    query = [line for line in lines[:start] if not line.startswith("Query Parameters: ")]
    below = next(
        (place for place in range(start + 1, len(lines)) if lines[place].lstrip().startswith("->")), len(lines)
    )
    counts: Counts = {}
    modifies = lines[start].startswith(_MODIFYING) and below < len(lines)
    actual = _ACTUAL.search(lines[below] if modifies else lines[start])
    if actual:
        counts["rows"] = round(Decimal(actual[1]) * int(actual[2]))
    for line in lines[start + 1 : below]:
        if line.startswith("  Buffers: "):
            amounts = _amounts(line)
            here = {
                way: sum(amounts.get((where, way), 0) for where in ("shared", "local"))
                for way in ("hit", "read", "written")
            }
            temp = amounts.get(("temp", "read"), Decimal(0)) + amounts.get(("temp", "written"), Decimal(0))
            counts |= _pages(int(here["hit"]), int(here["read"]), int(here["written"]), int(temp))
        elif line.startswith("  I/O Timings: "):
            counts["io_wait_ns"] = _ns(sum(_amounts(line).values(), Decimal(0)))
        elif line.startswith("  WAL: "):
            counts["log_bytes"] = int(_amounts(line).get(("", "bytes"), Decimal(0)))
    launched = _LAUNCHED.findall(text)
    if launched:
        counts["parallel"] = sum(map(int, launched))
    return PlannedExecution("\n".join(query), counts)


def _amounts(line: str) -> dict[tuple[str, str], Decimal]:
    """Return the amounts of a line such as ``Buffers: shared hit=1 read=2, temp read=3``, by group and name."""
    amounts = {}
    for part in line.split(": ", 1)[1].split(", "):
        group = _GROUP.match(part)
        for name, value in _AMOUNT.findall(part):
            amounts[group[1] if group else "", name] = Decimal(value)
    return amounts


def _pages(hit: int, read: int, written: int, temp: int) -> Counts:
    return {"logical_reads": hit + read, "physical_reads": read, "writes": written, "temp_bytes": temp * PAGE_BYTES}


def _ns(ms: Decimal) -> int:
    return round(ms * NS_PER_MS)
