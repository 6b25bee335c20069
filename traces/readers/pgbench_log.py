"""The logs that pgbench writes with ``-l``: one line a transaction, or, with ``--aggregate-interval``, one an interval.

Columns of a transaction, of PostgreSQL 9.4 to 18: client, transaction, time (µs), script, end (s since 1970), end (µs within that
second), with ``--rate`` the schedule lag (µs), with ``--max-tries`` the retries. Instead of the time there may be a word: ``skipped``,
``failed``, ``serialization``, ``deadlock``. With ``--rate`` the time counts from when the transaction should have started.
Of an interval: start (s since 1970), transactions, sum and sum of squares of their times (µs), and more that is not read.
"""

import re
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
from tiersim.traces.schema import NOT_KNOWN, STATEMENT_COLUMNS, STATEMENT_KINDS
from tiersim.traces.tables import Table
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
_SNIFFED_LINES = 200

_TRANSACTION = re.compile(
    r"(\d{1,9}) (\d{1,18}) (\d{1,18}|skipped|failed|serialization|deadlock) (\d{1,4}) (\d{10}) (\d{1,6})((?: \d{1,18}){0,2})"
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
    log = _Log(path, recorded)
    for text, first_line in chunks(source):
        if not log.begun:
            log.begin(text)
        log.take(text, first_line)
    log.finish(source.damage)


def _head(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n")[:-1][:_SNIFFED_LINES] or [text] if line.strip()]


def _transaction(line: str) -> re.Match[str] | None:
    found = _TRANSACTION.fullmatch(line)
    return found if found and _EARLIEST_S <= int(found[5]) < _LATEST_S else None


def _is_interval(line: str) -> bool:
    return _INTERVAL.fullmatch(line) is not None and _EARLIEST_S <= int(line.split(" ", 1)[0]) < _LATEST_S


class _Log:
    """Takes the text of a log piece by piece."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self.begun = False
        self._path = path
        self._recorded = recorded
        self._intervals: list[tuple[int, int, int, int]] | None = None  # start, transactions, sum, sum of squares
        self._fields: list[Field] = []
        self._extra = ""  # what the seventh column is
        self._scripts: dict[int, str] = {}
        self._lines = self._damaged = self._first_damaged = 0

    def begin(self, text: bytes) -> None:
        """Find out what the log holds."""
        self.begun = True
        lines = _head(text[: 1 << 16].decode(errors="replace"))
        if sum(map(_is_interval, lines)) * 2 > len(lines):
            self._intervals = []
            self._fields = [Field(name, WHOLE) for name in ("start_s", "count", "sum_us")] + [Field("squares", WORD)]
            return
        more = [found[7].split() for line in lines if (found := _transaction(line))]
        columns = max(map(len, more), default=0)
        self._fields = list(_FIELDS)
        if columns:
            middle = sorted(int(numbers[0]) for numbers in more if numbers)[sum(map(bool, more)) // 2]
            self._extra = "lag_us" if columns == 2 or middle > _MOST_RETRIES else "retries"
            self._fields.append(Field(self._extra, WHOLE))

    def take(self, text: bytes, first_line: int) -> None:
        """Take whole lines, the first of which has the number *first_line*."""
        if self._intervals is None and _WORDS.search(text):
            text = _WORDS.sub(self._set_aside, text)
        delimited = Delimited(self._fields, b" ", more=True)
        for lines in delimited.parse(text, first_line):
            self._lines += len(lines) + len(lines.damaged)
            well = self._take_intervals(lines) if self._intervals is not None else self._take_transactions(lines)
            bad = [*lines.damaged, *lines.line[~well].tolist()]
            if bad:
                self._first_damaged = self._first_damaged or min(bad)
                self._damaged += len(bad)

    def finish(self, damage: str) -> None:
        """Say what is to be said, and hand over intervals; raises TraceError when most lines were damaged."""
        name = self._path.name
        if not self._lines and not damage:
            raise TraceError(f"{self._path}: is empty; record again")
        if self._damaged:
            what = f"{self._damaged:,} of {self._lines:,} lines are not of pgbench's log, the first is line {self._first_damaged:,}"
            if 2 * self._damaged > self._lines:
                raise TraceError(f"{self._path}: {what}; give the file that pgbench -l wrote")
            self._recorded.lose("damaged lines of a pgbench log", self._damaged)
            self._recorded.warnings.append(f"{name}: {what}; they were left out")
        if damage:
            self._recorded.warnings.append(f"{name}: {damage}; what is before that was read")
        if self._extra == "lag_us":
            self._recorded.inferred.append(
                f"{name}: pgbench ran with --rate; a transaction starts when it was sent, its wait for that (the schedule lag) "
                "is not part of its duration"
            )
        elif self._extra:
            self._recorded.inferred.append(
                f"{name}: the seventh column is taken for retries, since its numbers are small"
            )
        if self._intervals:
            self._add_intervals(self._intervals)

    def _set_aside(self, found: re.Match[bytes]) -> bytes:
        word = found[1].decode()
        why = "skipped" if word == "skipped" else "failed"
        self._recorded.lose(f"transactions that pgbench {why}" if why == "skipped" else "transactions that failed", 1)
        return b""

    def _take_transactions(self, lines: Lines) -> NDArray[np.bool_]:
        n = lines.numbers
        well = (n["client"] >= 0) & (n["client"] < _MOST_CLIENTS) & (n["transaction"] >= 0)
        well &= (
            (n["script"] >= 0)
            & (n["script"] < _MOST_SCRIPTS)
            & (n["latency_us"] >= 0)
            & (n["latency_us"] < _LONGEST_US)
        )
        well &= (n["end_s"] >= _EARLIEST_S) & (n["end_s"] < _LATEST_S) & (n["end_us"] >= 0) & (n["end_us"] < _US_PER_S)
        lag_us = n.get("lag_us", np.zeros(len(lines), np.int64))
        well &= (lag_us >= 0) & (lag_us <= n["latency_us"])
        if well.any():
            kept = {name: values[well] for name, values in n.items()}
            self._add_transactions(kept, lag_us[well])
        return well

    def _add_transactions(self, n: dict[str, NDArray[np.int64]], lag_us: NDArray[np.int64]) -> None:
        duration_ns = (n["latency_us"] - lag_us) * NS_PER_US
        count = len(duration_ns)
        clients, client = np.unique(n["client"], return_inverse=True)
        scripts, script = np.unique(n["script"], return_inverse=True)
        known: dict[str, NDArray[Any]] = {
            "time_ns": n["end_s"] * NS_PER_S + n["end_us"] * NS_PER_US - duration_ns,
            "duration_ns": duration_ns,
            "session": client.astype(np.int32),
            "transaction": n["transaction"],
            "kind": np.zeros(count, np.int32),
            "query": script.astype(np.int32),
        }
        words = {
            "session": [f"client {number}" for number in clients.tolist()],
            "kind": [STATEMENT_KINDS[3]],
            "query": [self._script(number) for number in scripts.tolist()],
        }
        unknown = {c.name: np.full(count, NOT_KNOWN, np.int64) for c in STATEMENT_COLUMNS if c.name not in known}
        self._recorded.statements.append(Table({**known, **unknown}, words))

    def _script(self, number: int) -> str:
        if number not in self._scripts:
            self._scripts[number] = self._recorded.query(f"pgbench_script_{number}")
        return self._scripts[number]

    def _take_intervals(self, lines: Lines) -> NDArray[np.bool_]:
        n = lines.numbers
        well = (n["start_s"] >= _EARLIEST_S) & (n["start_s"] < _LATEST_S) & (n["count"] >= 0) & (n["sum_us"] >= 0)
        squares = [word.isdigit() and len(word) < 31 for word in lines.words["squares"].words]
        well &= np.array([*squares, False])[lines.words["squares"].codes]
        assert self._intervals is not None
        for place in np.flatnonzero(well).tolist():
            square = int(lines.words["squares"].words[lines.words["squares"].codes[place]])
            self._intervals.append((int(n["start_s"][place]), int(n["count"][place]), int(n["sum_us"][place]), square))
        return well

    def _add_intervals(self, intervals: list[tuple[int, int, int, int]]) -> None:
        """Add each interval at its end: it is as long as the shortest distance of two, which is that of all but the pauses."""
        starts = sorted({start for start, *_ in intervals})
        length_s = min((b - a for a, b in pairwise(starts)), default=0)
        for start, count, sum_us, squares in intervals:
            values = {"transactions": Decimal(count)}
            if length_s:
                values["transactions_per_s"] = Decimal(count) / length_s
            if count:
                mean = Decimal(sum_us) / count
                variance = max(Decimal(squares) / count - mean * mean, Decimal(0))
                values |= {"mean_ms": mean / _US_PER_MS, "stddev_ms": variance.sqrt() / _US_PER_MS}
            end_ns = (start + length_s) * NS_PER_S
            self._recorded.add(f"{self._path.name} {start}", end_ns, {("client", self._path.name): values})
        self._recorded.inferred.append(
            f"{self._path.name}: pgbench logged intervals of {length_s:,} s instead of transactions; they are counters, no statements"
        )
