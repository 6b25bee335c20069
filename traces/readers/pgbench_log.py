"""The logs that pgbench writes with ``-l``: one line a transaction, or, with ``--aggregate-interval``, one an interval.

Columns of a transaction, of PostgreSQL 9.4 to 18: client, transaction, time (µs), script, end (s since 1970), end (µs
within that second), with ``--rate`` the schedule lag (µs), with ``--max-tries`` the retries. Instead of the time there
may be a word: ``skipped``, ``failed``, ``serialization``, ``deadlock``. With ``--rate`` the time counts from when the
transaction should have started. Of an interval: start (s since 1970), transactions, sum and sum of squares of their
times (µs), and more that is not read.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.readers.delimited import WHOLE, WORD, Delimited, Field, Lines, chunks
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.timestamps import moment_within
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS
from tiersim.traces.statistics import Table
from tiersim.units import NS_PER_S, NS_PER_US

_US_PER_S = 1_000_000
_US_PER_MS = 1_000
#: Seconds since 1970 of 2001 to 2096: what makes a number a time.
_EARLIEST_S, _LATEST_S = 10**9, 4 * 10**9
_LONGEST_US = 10 * 366 * 86_400 * _US_PER_S
#: Transactions are numbered from 0 by client; beyond these numbers they are something else.
_MOST_CLIENTS, _MOST_SCRIPTS = 1 << 20, 1 << 10

#: Retries are a few, lags tens of microseconds at least.
_MOST_RETRIES = 20
_WELL_SHARE = 0.9
_SNIFFED_LINES, _SNIFFED_BYTES = 200, 1 << 16
_MOST_DIGITS = 31
#: What a seventh column may be.
_LAG, _RETRIES = "lag_us", "retries"

_TRANSACTION = re.compile(
    r"(\d{1,9}) (\d{1,18}) (\d{1,18}|skipped|failed|serialization|deadlock) (\d{1,4}) (\d{10}) (\d{1,6})((?:"
    r" \d{1,18}){0,2})"
)
_INTERVAL = re.compile(r"\d{10} \d{1,12} \d{1,18} \d{1,30} \d{1,18} \d{1,18}(?: \d{1,30}){0,9}")
_WORDS = re.compile(rb"(?m)^\d+ \d+ (skipped|failed|serialization|deadlock) [^\n]*")

_FIELDS = [Field(name, WHOLE) for name in ("client", "transaction", "latency_us", "script", "end_s", "end_us")]


def looks_like_pgbench_log(text: str) -> bool:
    """Tell whether a file that begins so is a log of pgbench, of transactions or of intervals."""
    lines = _head(text)
    well = sum(_transaction(line) is not None or _is_interval(line) for line in lines)
    return bool(lines) and well >= _WELL_SHARE * len(lines)


def read_pgbench_log(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add the transactions of a log, or what its intervals say; raises TraceError when most lines are neither."""
    log: _Transactions | _Intervals | None = None
    seen = damaged = first_damaged = 0
    for text, first_line in chunks(source):
        if log is None:
            lines = _head(text[:_SNIFFED_BYTES].decode(errors="replace"))
            of_intervals = 2 * sum(map(_is_interval, lines)) > len(lines)
            log = _Intervals(path, recorded) if of_intervals else _Transactions(path.name, recorded, lines)
        for parsed in Delimited(log.fields, b" ", more=True).parse(log.clean(text), first_line):
            seen += len(parsed) + len(parsed.damaged)
            bad = [*parsed.damaged, *parsed.line[~log.take(parsed)].tolist()]
            if bad:
                first_damaged = first_damaged or min(bad)
                damaged += len(bad)
    if log is None and not source.damage:
        raise TraceError(f"{path}: is empty; record again")
    if damaged:
        what = f"{damaged:,} of {seen:,} lines are not of pgbench's log, the first is line {first_damaged:,}"
        if 2 * damaged > seen:
            raise TraceError(f"{path}: {what}; give the file that pgbench -l wrote")
        recorded.lose("damaged lines of a pgbench log", damaged)
        recorded.warnings.append(f"{path.name}: {what}; they were left out")
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    if log is not None:
        log.finish()


def _head(text: str) -> list[str]:
    whole = text.split("\n")[:-1] or [text]  # the last may go on
    return [line.strip() for line in whole[:_SNIFFED_LINES] if line.strip()]


def _transaction(line: str) -> re.Match[str] | None:
    found = _TRANSACTION.fullmatch(line)
    return found if found and _EARLIEST_S <= int(found[5]) < _LATEST_S else None


def _is_interval(line: str) -> bool:
    return _INTERVAL.fullmatch(line) is not None and _EARLIEST_S <= int(line.split(" ", 1)[0]) < _LATEST_S


class _Transactions:
    """Takes lines of a transaction each."""

    def __init__(self, name: str, recorded: Recorded, head: Sequence[str]) -> None:
        """Tell from the first lines what the seventh column is, if there is one."""
        self.fields = list(_FIELDS)
        self._name = name
        self._recorded = recorded
        self._scripts: dict[int, str] = {}
        seventh = [found[7].split() for line in head if (found := _transaction(line)) and found[7]]
        self._extra = ""
        if seventh:
            middle = sorted(int(numbers[0]) for numbers in seventh)[len(seventh) // 2]
            self._extra = _RETRIES if len(seventh[0]) == 1 and middle <= _MOST_RETRIES else _LAG
            self.fields.append(Field(self._extra, WHOLE))

    def clean(self, text: bytes) -> bytes:
        """Count what has a word instead of a time, and leave its lines empty."""
        return _WORDS.sub(self._set_aside, text) if _WORDS.search(text) else text

    def take(self, lines: Lines) -> NDArray[np.bool_]:
        """Add transactions, and tell which lines are such."""
        n = lines.numbers
        well = (n["client"] >= 0) & (n["client"] < _MOST_CLIENTS) & (n["transaction"] >= 0)
        well &= (n["script"] >= 0) & (n["script"] < _MOST_SCRIPTS)
        well &= (n["latency_us"] >= 0) & (n["latency_us"] < _LONGEST_US)
        well &= (n["end_s"] >= _EARLIEST_S) & (n["end_s"] < _LATEST_S) & (n["end_us"] >= 0) & (n["end_us"] < _US_PER_S)
        lag_us = n.get(_LAG, np.zeros(len(lines), np.int64))
        well &= (lag_us >= 0) & (lag_us <= n["latency_us"])
        if well.any():
            self._add({name: values[well] for name, values in n.items()}, lag_us[well])
        return well

    def finish(self) -> None:
        """Say what was concluded."""
        if self._extra == _LAG:
            self._recorded.inferred.append(
                f"{self._name}: pgbench ran with --rate; a transaction starts when it was sent, its wait for that (the"
                " schedule lag) is not part of its duration"
            )
        elif self._extra:
            self._recorded.inferred.append(
                f"{self._name}: the seventh column is assumed to be retries, since its numbers are small"
            )

    def _set_aside(self, found: re.Match[bytes]) -> bytes:
        skipped = found[1] == b"skipped"
        self._recorded.lose("transactions that pgbench skipped" if skipped else "transactions that failed", 1)
        return b""

    def _add(self, n: dict[str, NDArray[np.int64]], lag_us: NDArray[np.int64]) -> None:
        duration_ns = (n["latency_us"] - lag_us) * NS_PER_US
        clients, client = np.unique(n["client"], return_inverse=True)
        scripts, script = np.unique(n["script"], return_inverse=True)
        known: dict[str, NDArray[Any]] = {
            "time_ns": n["end_s"] * NS_PER_S + n["end_us"] * NS_PER_US - duration_ns,
            "duration_ns": duration_ns,
            "session": client.astype(np.int32),
            "transaction": n["transaction"],
            "kind": np.zeros(len(duration_ns), np.int32),
            "query": script.astype(np.int32),
        }
        words = {
            "session": [f"client {number}" for number in clients.tolist()],
            "kind": ["transaction"],
            "query": [self._script(number) for number in scripts.tolist()],
        }
        unknown = np.full(len(duration_ns), NOT_KNOWN, np.int64)
        columns = {column.name: known.get(column.name, unknown) for column in STATEMENT_COLUMNS}
        self._recorded.statements.add(Table(columns, words))

    def _script(self, number: int) -> str:
        if number not in self._scripts:
            self._scripts[number] = self._recorded.query(f"pgbench_script_{number}")
        return self._scripts[number]


class _Intervals:
    """Takes lines of an interval each."""

    fields: Sequence[Field] = (*(Field(name, WHOLE) for name in ("start_s", "count", "sum_us")), Field("squares", WORD))

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._found: list[tuple[int, int, int, int]] = []  # start, transactions, sum, sum of squares

    def clean(self, text: bytes) -> bytes:
        """Leave the text as it is."""
        return text

    def take(self, lines: Lines) -> NDArray[np.bool_]:
        """Keep intervals, and tell which lines are such."""
        n, squares = lines.numbers, lines.words["squares"]
        well = (n["start_s"] >= _EARLIEST_S) & (n["start_s"] < _LATEST_S) & (n["count"] >= 0) & (n["sum_us"] >= 0)
        well &= squares.map(lambda word: word.isdigit() and len(word) < _MOST_DIGITS).astype(bool)
        for place in np.flatnonzero(well).tolist():
            square = int(squares.words[squares.codes[place]])
            self._found.append((int(n["start_s"][place]), int(n["count"][place]), int(n["sum_us"][place]), square))
        return well

    def finish(self) -> None:
        """Add each interval at its end: it is as long as the shortest distance of two, which is that of all but the
        pauses.
        """
        starts = sorted({start for start, *_ in self._found})
        length_s = min((later - start for start, later in pairwise(starts)), default=0)
        for start, count, sum_us, squares in self._found:
            values: dict[str, Decimal | str] = {"transactions": Decimal(count)}
            if length_s:
                values["transactions_per_s"] = Decimal(count) / length_s
            if count:
                mean = Decimal(sum_us) / count
                variance = max(Decimal(squares) / count - mean * mean, Decimal(0))
                values |= {"mean_ms": mean / _US_PER_MS, "stddev_ms": variance.sqrt() / _US_PER_MS}
            end_ns = (start + length_s) * NS_PER_S
            self._recorded.add(moment_within(self._path, start), end_ns, {("client", self._path.name): values})
        self._recorded.inferred.append(
            f"{self._path.name}: pgbench logged intervals of {length_s:,} s instead of transactions; they are counters,"
            " no statements"
        )
