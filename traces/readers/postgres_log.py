"""A PostgreSQL server's log: checkpoints, statements over a threshold, ``auto_explain`` plans, starts and ends of the
server.

What is read are the messages of PostgreSQL 9.4 to 18 in English, in the words of its sources (``LogCheckpointEnd`` in
xlog.c, ``check_log_duration`` in postgres.c).
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.postgres_log_entries import HEAD_LINES, Entries, Entry, kind_of
from tiersim.traces.readers.postgres_plans import plan_of
from tiersim.traces.readers.recorded import Recorded, lines_of
from tiersim.units import NS_PER_MS

#: Statements that are handed over at a time, and sessions of which is remembered what they said.
_ROWS, _SESSIONS = 1 << 16, 1 << 14
#: Larger durations are damage, and sums of smaller ones fit int64.
_MOST_NS = 1 << 60

_MS, _KIB = 1000, 1024
#: Counters of a checkpoint: what stands before or behind their number, and what one of it is.
_CHECKPOINT = {
    "pages": (re.compile(r"wrote (\d+) buffers"), 1),
    "log_files_added": (re.compile(r"; (\d+) (?:WAL|transaction log) file\(s\) added"), 1),
    "log_files_removed": (re.compile(r"added, (\d+) removed"), 1),
    "log_files_recycled": (re.compile(r"removed, (\d+) recycled"), 1),
    "write_ms": (re.compile(r"; write=(\d+\.\d+) s"), _MS),
    "flush_ms": (re.compile(r", sync=(\d+\.\d+) s"), _MS),
    "total_ms": (re.compile(r", total=(\d+\.\d+) s"), _MS),
    "files": (re.compile(r"; sync files=(\d+)"), 1),
    "longest_flush_ms": (re.compile(r", longest=(\d+\.\d+) s"), _MS),
    "average_flush_ms": (re.compile(r", average=(\d+\.\d+) s"), _MS),
    "distance_bytes": (re.compile(r"; distance=(\d+) kB"), _KIB),
    "estimate_bytes": (re.compile(r", estimate=(\d+) kB"), _KIB),
}
_STARTING = re.compile(r"(checkpoint|restartpoint) starting:(.*)")
_COMPLETE = re.compile(r"(checkpoint|restartpoint) complete\b")
_DURATION = re.compile(r"duration: (\d{1,15}(?:\.\d{1,6})?) ms")
#: What follows the duration, or stands alone where ``log_statement`` logs texts before they run.
_STATEMENT = re.compile(r"\s*(statement|execute fetch from|execute|parse|bind)(?: [^:]{1,200})?: ")
#: Steps before the execution, which the extended protocol logs apart.
_STEPS = ("parse", "bind")

#: Messages of the server's own fate: how they begin, and what is said of them.
_FATES = {
    "database system is ready to accept": "started",
    "database system is shut down": "was shut down",
    "database system was interrupted": "had been stopped without a shutdown",
}

Row = dict[str, int | str | None]


def looks_like_postgres_log(text: str) -> bool:
    """Tell whether a file that begins so is the log of a PostgreSQL server."""
    return kind_of(text) is not None


def read_postgres_log(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what a log tells; raises TraceError when no line of it is an entry."""
    lines = lines_of(source)
    head = list(islice(lines, HEAD_LINES))
    kind = kind_of("\n".join(head))
    if kind is None:
        raise TraceError(f"{path}: no line is an entry of a PostgreSQL log; give the server's log as it wrote it")
    entries = Entries(chain(head, lines), kind)
    log = _Log(path.name, recorded)
    for entry in entries:
        log.take(entry)
    log.finish()
    recorded.lose("damaged lines of a PostgreSQL log", entries.damaged)
    if source.damage:
        recorded.warnings.append(f"{path.name}: {source.damage}; what is before that was read")
    recorded.inferred += entries.clock.said(path.name)


class _Log:
    """Takes entries one after the other; what belongs together is joined by session."""

    def __init__(self, name: str, recorded: Recorded) -> None:
        self._name = name
        self._recorded = recorded
        self._checkpoints = sum(any(subject == "checkpoint" for subject, _ in p.values) for p in recorded.pieces)
        self._triggers: dict[str | None, str] = {}
        self._texts: dict[str | None, str] = {}  # logged before they ran
        self._plans: dict[str | None, Row] = {}  # logged before the statement that they are of
        self._rows: list[Row] = []
        self._fates: dict[str, int] = {}
        self._logged_by: set[str] = set()  # settings that let the server log executions

    def take(self, entry: Entry) -> None:
        """Take one entry in."""
        message = entry.message
        if found := _DURATION.match(message):
            self._take_duration(entry, found)
        elif found := _STATEMENT.match(message):
            _remember(self._texts, entry.session, message[found.end() :])
        elif found := _STARTING.match(message):
            _remember(self._triggers, entry.session, found[2].strip())
        elif _COMPLETE.match(message):
            self._take_checkpoint(entry)
        else:
            for begin, what in _FATES.items():
                if message.startswith(begin):
                    self._fates[what] = self._fates.get(what, 0) + 1

    def finish(self) -> None:
        """Hand over what is left, and say what must be said of all of it."""
        self._rows += self._plans.values()
        self._recorded.add_statements(self._rows)
        if self._logged_by:
            self._recorded.inferred.append(
                f"{self._name}: its statements are the executions that were logged; how many more there were, below "
                f"{' and '.join(sorted(self._logged_by))} or left out by sampling, the log does not tell"
            )
        elif not self._checkpoints:
            self._recorded.warnings.append(
                f"{self._name}: has neither checkpoints nor durations of statements; set log_checkpoints, "
                "log_min_duration_statement or auto_explain and record again"
            )
        if self._fates:
            said = ", ".join(f"{what} {_times(count)}" for what, count in self._fates.items())
            self._recorded.warnings.append(
                f"{self._name}: the server {said} in it; counters of other files may begin anew"
            )

    def _take_checkpoint(self, entry: Entry) -> None:
        self._checkpoints += 1
        number = str(self._checkpoints)
        values: dict[str, Decimal | str] = {
            counter: Decimal(found[1]) * factor
            for counter, (pattern, factor) in _CHECKPOINT.items()
            if (found := pattern.search(entry.message))
        }
        if trigger := self._triggers.pop(entry.session, ""):
            values["trigger"] = trigger
        if values:
            self._recorded.add(f"checkpoint {number}", entry.unix_ns, {("checkpoint", number): values})

    def _take_duration(self, entry: Entry, found: re.Match[str]) -> None:
        duration_ns = int(Decimal(found[1]) * NS_PER_MS)
        if entry.unix_ns is None:
            self._recorded.lose("statements in a log without times", 1)
            return
        if duration_ns > _MOST_NS:
            self._recorded.lose("damaged lines of a PostgreSQL log", 1)
            return
        rest = entry.message[found.end() :]
        row: Row = {"time_ns": entry.unix_ns - duration_ns, "duration_ns": duration_ns, "session": entry.session}
        if rest.startswith("  plan:"):
            self._take_plan(entry, row, rest[7:])
            return
        statement = _STATEMENT.match(rest)
        text = rest[statement.end() :] if statement else self._texts.pop(entry.session, None)
        if text is None:
            self._recorded.lose("durations in a log without their statements", 1)
            return
        self._logged_by.add("log_min_duration_statement")
        row["query"] = self._query(entry, text)
        row["kind"] = "utility" if statement and statement[1] in _STEPS else "language"
        if row["kind"] == "language":
            self._join_plan(entry, row)
        self._append(row)

    def _take_plan(self, entry: Entry, row: Row, text: str) -> None:
        plan = plan_of(text)
        if plan is None:
            self._recorded.lose("plans in XML or YAML, or damaged", 1)
            return
        self._logged_by.add("auto_explain.log_min_duration")
        earlier = self._plans.pop(entry.session, None)
        if earlier is not None:
            self._append(earlier)
        row |= _storable(plan.counts)
        row |= {"query": self._query(entry, plan.query), "kind": "language"}
        if entry.session is None:
            self._append(row)
        else:
            self._plans[entry.session] = row
            if len(self._plans) > _SESSIONS:
                self._append(self._plans.pop(next(iter(self._plans))))

    def _join_plan(self, entry: Entry, row: Row) -> None:
        """Give a statement the counts of its plan, which stands before it: they are one execution."""
        plan = self._plans.pop(entry.session, None)
        if plan is None:
            return
        if plan["query"] == row["query"]:
            row |= {name: value for name, value in plan.items() if name not in row}
        else:
            self._append(plan)

    def _query(self, entry: Entry, text: str) -> str:
        return self._recorded.query(text, database=entry.database, user=entry.user)

    def _append(self, row: Row) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS:
            self._recorded.add_statements(self._rows)
            self._rows = []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _remember(kept: dict[str | None, str], session: str | None, text: str) -> None:
    """Keep what a session said last, of so many sessions."""
    kept.pop(session, None)
    kept[session] = text
    if len(kept) > _SESSIONS:
        kept.pop(next(iter(kept)))


def _storable(counts: Mapping[str, int]) -> Row:
    return {name: count for name, count in counts.items() if 0 <= count <= _MOST_NS}
