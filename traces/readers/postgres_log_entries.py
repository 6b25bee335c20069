"""The entries of a PostgreSQL server's log, whichever way it writes them: stderr text, ``csvlog``, ``jsonlog``.

Columns of csvlog and keys of jsonlog are those of PostgreSQL's documentation, "Error Reporting and Logging"; csvlog has
23 columns since 9.0, 24 since 13 and 26 since 14, of which the first 14 are the same. Text has what ``log_line_prefix``
says.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tiersim.traces.readers.timestamps import TIMESTAMP, Clock

#: What an entry may be long; the text of a longer one is cut.
LONGEST_ENTRY = 4 << 20
#: Lines in which a log is told; it may begin in the middle of a plan.
HEAD_LINES = 1000

_SEVERITIES = (
    "DEBUG[1-5]|LOG|INFO|NOTICE|WARNING|ERROR|FATAL|PANIC|STATEMENT|DETAIL|HINT|QUERY|CONTEXT|LOCATION|BACKTRACE"
)
#: Whatever the prefix is, the severity follows it, with a colon and two spaces.
_TEXT = re.compile(rf"(?P<prefix>[^\t].{{0,1000}}?|)\b(?P<severity>{_SEVERITIES}):  ")
_PROCESS = re.compile(r"\[(\d{1,10})(?:-\d+)?\]")
_SESSION = re.compile(r"\b[0-9a-f]{8}\.([0-9a-f]{1,8})\b")
_EPOCH = re.compile(r"\b\d{10}\.\d{3}\b")

_CSV_START = re.compile(
    r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [^",]{1,10},(?:"[^"]{0,200}")?,(?:"[^"]{0,200}")?,\d+,'
)
#: How entries begin that tell a PostgreSQL log whose prefix tells nothing.
_OWN = ("duration: ", "statement: ", "checkpoint ", "restartpoint ", "database system ", "starting PostgreSQL ")
_CSV_SEVERITY, _CSV_MESSAGE, _CSV_COLUMNS = 11, 13, 14


class Entry(NamedTuple):
    """What the server logged of its own accord: an entry of severity LOG."""

    unix_ns: int | None
    session: str | None  # process id; with its start, where the log tells that
    message: str
    database: str | None = None
    user: str | None = None


def kind_of(text: str) -> str | None:
    """Return how a log that begins with *text* is written: ``csvlog``, ``jsonlog``, ``stderr``, or
    None if it is none.
    """
    lines = [line.rstrip("\r") for line in text.split("\n")[:HEAD_LINES]]
    if any(_CSV_START.match(line) for line in lines):
        return "csvlog"
    if any(line.startswith('{"timestamp":"') and '"error_severity":"' in line for line in lines):
        return "jsonlog"
    return "stderr" if any(map(_is_entry, lines)) else None


def _is_entry(line: str) -> bool:
    found = _TEXT.match(line)
    if found is None:
        return False
    prefix = found["prefix"]
    told = any(pattern.search(prefix) for pattern in (TIMESTAMP, _PROCESS, _SESSION, _EPOCH))
    return told or (not prefix and found["severity"] == "LOG" and line[found.end() :].startswith(_OWN))


class Entries:
    """The entries of severity LOG in the lines of a log; ``damaged`` counts lines and records that are none."""

    def __init__(self, lines: Iterable[str], kind: str) -> None:
        """Read *lines* written as *kind*, see :func:`kind_of`."""
        self.clock = Clock()
        self.damaged = 0
        self._lines = lines
        self._read = {"csvlog": self._of_csv, "jsonlog": self._of_json, "stderr": self._of_text}[kind]

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries in the order of the log; memory is that of one of them."""
        return self._read()

    def _of_text(self) -> Iterator[Entry]:
        entry: Entry | None = None
        rest: list[str] = []
        length, first = 0, True
        for line in self._lines:
            found = None if line.startswith("\t") else _TEXT.match(line)
            if found is None:
                length += len(line)
                if entry is not None and length < LONGEST_ENTRY:
                    rest.append(line.removeprefix("\t"))
                elif first and line.strip():
                    self.damaged += 1  # what a log begins with that was cut off
                continue
            if entry is not None:
                yield entry._replace(message="\n".join([entry.message, *rest])) if rest else entry
            first, rest, length = False, [], 0
            entry = None
            if found["severity"] == "LOG":
                prefix = found["prefix"]
                entry = Entry(self._time(prefix), _session(prefix), line[found.end() :])
        if entry is not None:
            yield entry._replace(message="\n".join([entry.message, *rest]))

    def _time(self, prefix: str) -> int | None:
        if found := TIMESTAMP.search(prefix):
            return self.clock.of(found)
        epoch = _EPOCH.search(prefix)
        return None if epoch is None else self.clock.unix_ns(epoch.group())

    def _of_csv(self) -> Iterator[Entry]:
        for record in self._records():
            fields = _csv_fields(record)
            if len(fields) < _CSV_COLUMNS:
                self.damaged += 1
            elif fields[_CSV_SEVERITY] == "LOG":
                session = f"{fields[3]} {fields[5]}".strip()
                yield Entry(
                    self.clock.unix_ns(fields[0]), session, fields[_CSV_MESSAGE], fields[2] or None, fields[1] or None
                )

    def _records(self) -> Iterator[str]:
        """Yield records, which may be of several lines while a quote is open; one that was cut off ends where another
        begins.
        """
        record: list[str] = []
        quotes, length = 0, 0
        for line in self._lines:
            if record and quotes % 2 and not _CSV_START.match(line) and length < LONGEST_ENTRY:
                record.append(line)
                quotes += line.count('"')
                length += len(line)
            else:
                self.damaged += bool(record)
                starts = _CSV_START.match(line)
                self.damaged += bool(not starts and line.strip())
                record, quotes, length = ([line], line.count('"'), len(line)) if starts else ([], 0, 0)
            if record and quotes % 2 == 0:
                yield "\n".join(record)
                record = []
        self.damaged += bool(record)

    def _of_json(self) -> Iterator[Entry]:
        for line in self._lines:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                severity, message, when = (record[key] for key in ("error_severity", "message", "timestamp"))
            except (ValueError, KeyError, TypeError, RecursionError):
                self.damaged += 1
                continue
            if severity == "LOG" and isinstance(message, str):
                session = f"{record.get('pid', '')} {record.get('session_id', '')}".strip()
                yield Entry(
                    self.clock.unix_ns(str(when)),
                    session or None,
                    message,
                    _word(record, "dbname"),
                    _word(record, "user"),
                )


def _csv_fields(record: str) -> list[str]:
    """Return the fields of a record that are read; fewer when it is damaged."""
    fields: list[str] = []
    place = 0
    while len(fields) < _CSV_COLUMNS and place <= len(record):
        if record[place : place + 1] != '"':
            end = record.find(",", place)
            end = len(record) if end < 0 else end
            fields.append(record[place:end])
            place = end + 1
            continue
        end = record.find('"', place + 1)
        while end >= 0 and record[end + 1 : end + 2] == '"':
            end = record.find('"', end + 2)
        if end < 0 or record[end + 1 : end + 2] not in (",", ""):
            break
        fields.append(record[place + 1 : end].replace('""', '"'))
        place = end + 2
    return fields


def _word(record: dict[str, object], key: str) -> str | None:
    found = record.get(key)
    return found if isinstance(found, str) and found else None


def _session(prefix: str) -> str | None:
    if found := _PROCESS.search(prefix):
        return found[1]
    session = _SESSION.search(prefix)
    return None if session is None else str(int(session[1], 16))
