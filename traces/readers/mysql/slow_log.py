"""Slow logs of MySQL, MariaDB and Percona Server: statements one by one, with the pages that they read where the server
logs them.

Facts: MySQL Reference Manual 8.0, 7.4.5; MariaDB Knowledge Base, "Slow Query Log Extended Statistics"; Percona Server
for MySQL 8.0, "Slow query log".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.mysql.query_text import open_quote, without_literals
from tiersim.traces.readers.mysql.settings import engine_of
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, lines_of
from tiersim.traces.readers.timestamps import LATEST_NS
from tiersim.units import NS_PER_MS, NS_PER_S

_ROWS = 1 << 16
#: Larger durations are damage, and sums of smaller ones fit int64.
_MOST_NS = 1 << 60
#: A statement's text is cut here; a longer one is a bulk load.
_LONGEST = 100_000
#: Entries after a text that ends inside a string, whose texts may be a part of that string.
_TAINTED = 1000

_USER = re.compile(r"# (?:Time: .{10,40} # )?User@Host: ")
_TIME = re.compile(r"# Time: (\d{6} +\d{1,2}:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d))")
_BANNER = re.compile(
    r".{0,200}, Version: (\S{1,80}).{0,200}\. (?:started with|embedded library):?|Tcp port: .*|Time +Id .*"
)
_FIELD = re.compile(r"([A-Za-z_]\w{1,40}): {1,3}([\w.:@+-]{1,64})", re.ASCII)
_SET = re.compile(r"SET (?:[a-z_]{1,40}=\d{1,20},){0,4}timestamp=(\d{9,10})(?:\.(\d{1,6}))?;", re.IGNORECASE)
_USE = re.compile(r"use `?([^`;]{1,64})`?;", re.IGNORECASE)
#: Logs are rotated daily; one that begins later than that, and than so many times as long as a log is, after the one
#: before is perhaps none of the same server.
_ROTATED_NS, _LONGER = 24 * 3600 * NS_PER_S, 10
_ADMINISTRATOR = "# administrator command: "
_DECIMAL = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?", re.ASCII)
_COUNT = re.compile(r"\d{1,18}", re.ASCII)

#: Fields that count, and the columns that they are; the first that is there.
_COUNTS = {
    "logical_reads": ("Pages_accessed",),
    "physical_reads": ("Pages_read", "InnoDB_IO_r_ops"),
    "rows_examined": ("Rows_examined",),
}
#: Fields that are times, and what one is in ns.
_TIMES = {
    "lock_wait_ns": (("InnoDB_rec_lock_wait", NS_PER_S), ("Lock_time", NS_PER_S)),
    "io_wait_ns": (("Pages_read_time", NS_PER_MS), ("InnoDB_IO_r_wait", NS_PER_S)),
}

_BEGINNING = re.compile(r"^# User@Host: .*\n(?:#.*\n){0,12}?#.*\bQuery_time: ", re.MULTILINE)


def looks_like_slow_log(text: str) -> bool:
    """Tell whether *text* is the beginning of a slow log."""
    return (
        _BEGINNING.search(text) is not None or re.search(r"^# Time: .* # User@Host: ", text, re.MULTILINE) is not None
    )


class _Logs:
    """The logs of a recording, which are to be of one server and one time."""

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        self._spans: list[tuple[int, int, str]] = []
        self._servers: dict[str, str] = {}

    def see(self, name: str, span_ns: tuple[int, int], server: str) -> None:
        """Take in when the first and the last statement of a log began, and what its head says of the server."""
        self._spans.append((*span_ns, name))
        if server:
            self._servers.setdefault(server, name)

    def finish(self) -> None:
        """Warn of logs that are of several servers or times."""
        begun_ns, ended_ns, ended = min(self._spans)
        for first_ns, last_ns, name in sorted(self._spans):
            gap_ns = first_ns - ended_ns
            if gap_ns > max(_ROTATED_NS, _LONGER * (ended_ns - begun_ns), _LONGER * (last_ns - first_ns)):
                self._recorded.warnings.append(
                    f"{name} begins {gap_ns / _ROTATED_NS:,.0f} days after {ended} ends: if they are not of one server"
                    " and one time, import each by itself"
                )
                begun_ns = first_ns
            if last_ns > ended_ns:
                ended_ns, ended = last_ns, name
        if len(self._servers) > 1:
            told = "; ".join(f"{name}: {server}" for server, name in self._servers.items())
            self._recorded.warnings.append(
                f"the slow logs name several servers, or versions of one ({told}): import those of each by themselves"
            )


def finish_slow_logs(recorded: Recorded) -> None:
    """Warn of logs that are of several servers or times; all were read."""
    recorded.of(_Logs).finish()


@dataclass
class _Entry:
    """One entry, as far as it was read."""

    line: int
    time: str | None  # of its own # Time
    fields: dict[str, str] = field(default_factory=dict)
    database: str | None = None
    timestamp_ns: int | None = None
    body: list[str] = field(default_factory=list)
    length: int = 0

    def head(self, line: str) -> None:
        """Take in a line of the head."""
        self.fields.update(_FIELD.findall(line))

    def take(self, line: str) -> None:
        """Take in a line of what was executed."""
        if not self.body and (found := _SET.fullmatch(line)):
            self.timestamp_ns = int(found[1]) * NS_PER_S + int((found[2] or "").ljust(9, "0"))
        elif not self.body and (found := _USE.fullmatch(line)):
            self.database = found[1]
        elif self.length < _LONGEST:
            self.body.append(line)
            self.length += len(line)


def read_slow_log(path: Path, opened: Opened, recorded: Recorded) -> None:
    """Take the statements of the log at *path* into *recorded*; raises TraceError when none can be read."""
    log = _Log(path, recorded)
    for entry in _entries(lines_of(opened), log):
        log.take(entry)
    log.finish()


def _entries(lines: Iterator[str], log: "_Log") -> Iterator[_Entry]:
    entry: _Entry | None = None
    time: str | None = None
    for number, line in enumerate(lines, 1):
        if found := _TIME.match(line):
            time = found[1]
            if not _USER.match(line):
                continue
        if _USER.match(line):
            if entry is not None:
                yield entry
            entry, time = _Entry(number, time), None
            entry.head(line.partition("@ ")[2])
        elif (found := _BANNER.fullmatch(line)) and "\t" not in (found[1] or ""):
            log.head(line, found[1])
        elif entry is None:
            continue
        elif line.startswith("#") and not entry.body and not line.startswith(_ADMINISTRATOR):
            entry.head(line)
        else:
            entry.take(line)
    if entry is not None:
        yield entry


class _Log:
    """A log while it is read."""

    def __init__(self, path: Path, recorded: Recorded) -> None:
        self._path = path
        self._recorded = recorded
        self._rows: list[dict[str, int | str | None]] = []
        self._read = self._damaged = self._tainted = 0
        self._first_damage = self._quote = ""
        self._whole_seconds = False
        self._sampled: set[str] = set()
        self._server: list[str] = []
        self._first_ns, self._last_ns = LATEST_NS, 0

    def head(self, line: str, version: str | None) -> None:
        """Take in a line that a server writes when it begins a log."""
        if version:
            self._recorded.host.update(version=version, engine=engine_of(version))
        if len(self._server) < 2 and not line.startswith("Time"):
            self._server.append(version or " ".join(line.split()))

    def take(self, entry: _Entry) -> None:
        """Take in an entry, or count it as damaged."""
        text = "\n".join(entry.body)
        hidden = self._is_inside(text)
        if text.startswith(_ADMINISTRATOR):
            self._recorded.lose("administrator commands, such as Prepare and Quit", 1)
            return
        try:
            row = self._row(entry)
        except ValueError as error:
            self._damaged += 1
            self._first_damage = self._first_damage or f"line {entry.line}: {error}"
            return
        self._read += 1
        if text and not hidden:
            without = without_literals(text)
            if without:
                database = entry.database or entry.fields.get("Schema")
                database = None if database is None or database.endswith(":") else database
                row["query"] = self._recorded.query(
                    text if self._recorded.keep_literals else without, database=database
                )
        self._rows.append(row)
        if len(self._rows) == _ROWS:
            self._hand_over()

    def finish(self) -> None:
        """Hand over what was found; raises TraceError when that is nothing, or when more is damaged than not."""
        if self._damaged > self._read or not self._read:
            damage = f" ({self._first_damage})" if self._first_damage else ""
            raise TraceError(
                f"{self._path}: {self._damaged:,} of {self._damaged + self._read:,} entries cannot be read{damage};"
                " give a slow log that the server wrote to a file"
            )
        self._hand_over()
        said = self._recorded
        said.of(_Logs).see(self._path.name, (self._first_ns, self._last_ns), ", ".join(self._server))
        said.lose("damaged entries of the slow log", self._damaged)
        if self._damaged:
            said.warnings.append(
                f"{self._path.name}: {self._damaged:,} damaged entries are left out, the first: {self._first_damage}"
            )
        said.host.setdefault("engine", "mysql")
        if self._whole_seconds:
            said.inferred.append(
                f"{self._path.name}: starts of statements are known to whole seconds alone, those of one second are in"
                " the order of the log"
            )
        for sampled in sorted(self._sampled):
            said.warnings.append(f"{self._path.name}: holds a sample, one in {sampled} (log_slow_rate_limit)")

    def _hand_over(self) -> None:
        self._recorded.add_statements(self._rows)
        self._rows = []

    def _is_inside(self, text: str) -> bool:
        """Tell whether a text may be a part of a string that an earlier one began: no log says where a text ends."""
        was = self._quote
        if was:
            self._tainted -= 1
            if text.count(was) % 2 or not self._tainted:
                self._quote = ""
            return True
        self._quote = open_quote(text[:_LONGEST]) if len(text) < _LONGEST else ""
        self._tainted = _TAINTED
        return False

    def _row(self, entry: _Entry) -> dict[str, int | str | None]:
        fields = entry.fields
        duration_ns = _ns(fields, "Query_time", NS_PER_S)
        if duration_ns is None:
            raise ValueError("it has no Query_time")
        start_ns = self._start_ns(entry, duration_ns)
        if not 0 <= start_ns <= LATEST_NS:
            raise ValueError("it started before 1970, or after 2116")
        self._first_ns, self._last_ns = min(self._first_ns, start_ns), max(self._last_ns, start_ns)
        row: dict[str, int | str | None] = {
            "time_ns": start_ns,
            "duration_ns": duration_ns,
            "session": fields.get("Thread_id") or fields.get("Id"),
            "kind": "language",
        }
        for column, names in _COUNTS.items():
            row[column] = next((_count(fields, name) for name in names if name in fields), None)
        for column, times in _TIMES.items():
            row[column] = next((_ns(fields, name, unit) for name, unit in times if name in fields), None)
        row["rows"] = (_count(fields, "Rows_sent") or 0) + (_count(fields, "Rows_affected") or 0)
        limit = fields.get("Log_slow_rate_limit", "1")
        if limit.isdigit() and limit != "1":
            self._sampled.add(limit)
        return row

    def _start_ns(self, entry: _Entry, duration_ns: int) -> int:
        """Return when a statement began: its # Time, with µs, is when it ended."""
        if entry.time is not None and "T" in entry.time:
            try:
                ended = datetime.fromisoformat(entry.time).astimezone(UTC)
            except (ValueError, OverflowError):
                raise ValueError(f"# Time: {entry.time!r} is no moment") from None
            since = ended - datetime(1970, 1, 1, tzinfo=UTC)
            return ((since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds) * 1000 - duration_ns
        if entry.timestamp_ns is None:
            raise ValueError("it has no SET timestamp, nor a # Time with µs")
        self._whole_seconds |= entry.timestamp_ns % NS_PER_S == 0
        return entry.timestamp_ns


def _count(fields: dict[str, str], name: str) -> int | None:
    text = fields.get(name)
    if text is None:
        return None
    if _COUNT.fullmatch(text) is None:
        raise ValueError(f"{name}: {text[:40]!r} is no count")
    return int(text)


def _ns(fields: dict[str, str], name: str, unit_ns: int) -> int | None:
    text = fields.get(name)
    if text is None:
        return None
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError(f"{name}: {text[:40]!r} is no time")
    ns = int(found[1]) * unit_ns + int((found[2] or "").ljust(9, "0")) * unit_ns // NS_PER_S
    if ns > _MOST_NS:
        raise ValueError(f"{name}: {text[:40]!r} is longer than 36 years")
    return ns
