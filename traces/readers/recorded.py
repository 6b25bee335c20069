"""What files tell of a recording that are no lists of requests: counters, statements, queries, checkpoints, hosts.

Readers of such files add to one :class:`Recorded`; times in it are ns since 1970 (UTC), or None where the file has
none. Its pieces become snapshots when all files were read: a file such as ``pg_stat_wal.before.csv`` says nothing of
its time, but others of the same moment may. A bundle of counters, such as ``tiersim record`` makes, is read again, too.
"""

import codecs
import hashlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle, RequestWriter
from tiersim.traces.differences import differences
from tiersim.traces.query_text import fingerprint, skeleton, without_literals
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.ordered import OrderedRows, StepsBack
from tiersim.traces.readers.timestamps import pair_of, rank
from tiersim.traces.schema import QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.statistics import (
    NAME,
    QUERIES,
    STATEMENTS,
    Snapshot,
    StatisticsWriter,
    Table,
    TableWriter,
    Values,
    is_storable,
    read_queries,
    read_snapshots,
    table_of,
    write_table,
)
from tiersim.units import NS_PER_S, format_ns

#: One execution: 132 bytes. Texts are places among all words of their column.
_ROW = np.dtype([(c.name, np.int32 if c.kind == "text" else np.int64) for c in STATEMENT_COLUMNS])
_TEXTS = tuple(c.name for c in STATEMENT_COLUMNS if c.kind == "text")
#: Sorting takes three times the memory of so many rows, 53 MB.
ROWS_PER_RUN = 1 << 17


class OrderedStatements:
    """Takes tables of STATEMENT_COLUMNS in any order and gives them back in order of ``time_ns``; ties keep theirs.

    Memory grows with distinct words alone, by their length. Where *scratch* is no folder, all rows stay in memory.
    """

    def __init__(self, scratch: Path | None = None) -> None:
        """Begin with no row; *scratch* must outlive this."""
        self._scratch = scratch
        self._begin()

    def begin_file(self) -> None:
        """From here on executions are of another file: their ends may be earlier than those of the last."""
        self.steps_back = StepsBack()  # of ends

    def _begin(self) -> None:
        self.begin_file()
        self.first_ns: int | None = None  # the earliest start
        self._rows = 0
        self._folder: Path | None = None
        self._ordered: OrderedRows | None = None
        self._words: dict[str, list[pa.StringArray]] = {name: [] for name in _TEXTS}
        self._counts = dict.fromkeys(_TEXTS, 0)

    def _runs(self) -> OrderedRows:
        if self._ordered is None:
            if self._scratch is not None:
                self._folder = Path(tempfile.mkdtemp(prefix="statements-", dir=self._scratch))
            self._ordered = OrderedRows(self._folder or Path(), ROWS_PER_RUN if self._folder else sys.maxsize)
        return self._ordered

    def __len__(self) -> int:
        """Count the rows."""
        return self._rows

    def add(self, table: Table) -> None:
        """Take executions; raises OSError when they cannot be stored."""
        if not len(table):
            return
        rows = np.empty(len(table), _ROW)
        for column in STATEMENT_COLUMNS:
            rows[column.name] = table.columns[column.name]
            if column.kind == "text":
                codes = rows[column.name]
                codes[codes >= 0] += self._add_words(column.name, table.words[column.name])
        ended = rows["duration_ns"] >= 0
        self.steps_back.watch(rows["time_ns"][ended] + rows["duration_ns"][ended])
        first_ns = int(rows["time_ns"].min())
        self.first_ns = first_ns if self.first_ns is None else min(first_ns, self.first_ns)
        self._rows += len(rows)
        self._runs().add(rows)

    def tables(self) -> Iterator[Table]:
        """Yield all executions in order of their starts, once, in tables of about ``ROWS_PER_RUN`` rows."""
        if not self._rows:
            return
        words = {name: pa.chunked_array(parts, pa.string()).combine_chunks() for name, parts in self._words.items()}
        for rows in self._runs().blocks():
            columns: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(rows[name]) for name in _ROW.names or ()}
            of_table: dict[str, Sequence[str]] = {}
            for name in _TEXTS:
                columns[name], of_table[name] = _distinct(columns[name], words[name])
            yield Table(columns, of_table)

    def close(self) -> None:
        """Forget everything, on disk too."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._begin()

    def _add_words(self, name: str, words: Sequence[str]) -> int:
        """Keep words, and return the place of the first among all of their column."""
        place = self._counts[name]
        self._words[name].append(pa.array(words, pa.string()))
        self._counts[name] += len(words)
        return place


def _distinct(codes: NDArray[np.int32], words: pa.StringArray) -> tuple[NDArray[np.int32], Sequence[str]]:
    """Return codes into the distinct words that *codes* into *words* mean, and these words."""
    places, own = np.unique(codes, return_inverse=True)
    missing = int(len(places) > 0 and places[0] < 0)
    encoded = pc.dictionary_encode(words.take(pa.array(places[missing:])))
    again = np.concatenate([np.full(missing, -1, np.int32), np.asarray(encoded.indices, np.int32)])
    return again[own].astype(np.int32, copy=False), encoded.dictionary.to_pylist()


#: A file that is read whole is refused beyond this, unpacked.
MOST_BYTES = 256 << 20
#: A longer line is cut: no line that means something is.
LONGEST_LINE = 1 << 20
#: Of so many query texts it is remembered what they become.
MOST_TEXTS = 1 << 14

_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}

T = TypeVar("T")
#: The keys of values: subject, entity.
Key = tuple[str, str]


class Source(NamedTuple):
    """A kind of such files: what reads one of them into what is recorded, and what tells by the first characters that
    a file may be one of them.
    """

    read: Callable[[Path, Opened, "Recorded"], None]
    looks_like: Callable[[str], bool] | None  # None: a magic number tells it
    finish: Callable[["Recorded"], None] = lambda recorded: None  # when all files were read
    in_order: Callable[[str], Any] | None = None  # key of a file's name, where files have to be read in order


class Piece(NamedTuple):
    """What a file says of one moment. Pieces of one moment are one snapshot, at the time that any of them tells."""

    moment: str  # see :func:`tiersim.traces.readers.timestamps.moment_of`
    unix_ns: int | None
    values: Mapping[Key, Values]


class FoundRequests(Protocol):
    """Requests that were found among statements and counters."""

    rows: int

    def write(self, writer: RequestWriter) -> int:
        """Write them in order of time, the first at 0, and return when that was, ns since 1970."""


@dataclass
class Recorded:
    """All that the files of a recording say; ``statements`` are of STATEMENT_COLUMNS, their ``time_ns`` since 1970.

    Statements lie in files under *scratch*, a folder that somebody else removes; without any, they are kept in memory.
    """

    keep_literals: bool = False
    scratch: Path | None = None
    pieces: list[Piece] = field(default_factory=list)
    statements: OrderedStatements = field(init=False)
    queries: dict[tuple[str, str | None], dict[str, int | str | None]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    inferred: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    host: dict[str, Any] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    source_files: list[dict[str, str]] = field(default_factory=list)
    span_ns: int | None = None  # of the recording, where a file tells that and no times
    monotonic_to_unix_ns: int | None = None
    requests: FoundRequests | None = None
    _guessed: dict[str, tuple[int, str]] = field(default_factory=dict)
    _known_texts: dict[str, tuple[str, str]] = field(default_factory=dict)
    _kept: dict[type, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no statement."""
        self.statements = OrderedStatements(self.scratch)

    def of(self, kind: type[T]) -> T:
        """Return the one *kind* that this recording has: what readers keep from one file to the next. It is made of
        this.
        """
        if kind not in self._kept:
            self._kept[kind] = kind(self)  # type: ignore[call-arg]
        kept: T = self._kept[kind]
        return kept

    def add(self, moment: str, unix_ns: int | None, values: Mapping[Key, Values]) -> None:
        """Take in what a file says of one moment, as far as a table can hold it."""
        kept = {key: found for key, said in values.items() if (found := self._storable(said))}
        if kept:
            self.pieces.append(Piece(moment, unix_ns, kept))

    def guess(self, moment: str, unix_ns: int, source: str) -> None:
        """Take in what time a moment has if no file tells it, and where that is from."""
        self._guessed.setdefault(moment, (unix_ns, source))

    def add_statements(self, rows: Sequence[Mapping[str, int | str | None]]) -> None:
        """Take in executions, keys of each from STATEMENT_COLUMNS; many are best handed over in blocks."""
        if rows:
            self.statements.add(table_of(STATEMENT_COLUMNS, rows))

    def query(
        self, text: str, *, entity: str | None = None, database: str | None = None, user: str | None = None
    ) -> str:
        """Take in a query and return its fingerprint; its literals are forgotten unless they are to be kept."""
        known = skeleton(text) or text
        if known not in self._known_texts:  # each snapshot has them again, and a log with other literals
            if len(self._known_texts) >= MOST_TEXTS:
                self._known_texts.clear()
            self._known_texts[known] = fingerprint(text), without_literals(text)
        mark, without = self._known_texts[known]
        kept = text if self.keep_literals else without
        found = self.queries.setdefault((mark, entity), {"query": mark, "entity": entity, "text": kept})
        found.update({k: v for k, v in (("database", database), ("user", user)) if v is not None})
        return mark

    def lose(self, why: str, count: int) -> None:
        """Count what could not be imported."""
        if count:
            self.dropped[why] = self.dropped.get(why, 0) + count

    def _storable(self, said: Values) -> Values:
        beyond = [name for name, value in said.items() if not isinstance(value, str) and not is_storable(value)]
        self.lose("numbers of 20 digits or more", len(beyond))
        return {name: value for name, value in said.items() if name not in beyond} if beyond else said

    def snapshots(self) -> list[Snapshot]:
        """Join the pieces of each moment and put them in order of time, ns since 1970; raises TraceError where names
        contradict times.
        """
        times = {piece.moment: piece.unix_ns for piece in self.pieces if piece.unix_ns is not None}
        for moment in dict.fromkeys(piece.moment for piece in self.pieces):
            if moment in self._guessed and moment not in times:
                times[moment], source = self._guessed[moment]
                self.inferred.append(f"the time of the snapshot {moment!r} is taken from {source}")
        _refuse_set_back(times)
        joined: dict[tuple[str, int | None], dict[Key, dict[str, Decimal | str]]] = {}
        for piece in self.pieces:
            unix_ns = times.get(piece.moment) if piece.unix_ns is None else piece.unix_ns
            values = joined.setdefault((piece.moment, unix_ns), {})
            for key, more in piece.values.items():
                values.setdefault(key, {}).update(more)
        dated = sorted((unix_ns, m) for m, unix_ns in joined if unix_ns is not None)
        undated = sorted((m for m, unix_ns in joined if unix_ns is None), key=rank)
        if dated and undated:
            self.inferred.append(
                f"{len(undated):,} snapshots have no time and are put by their names ({', '.join(undated[:3])}) before "
                "or behind those that have one"
            )
        early = [m for m in undated if rank(m)[0] < 0]
        late = undated[len(early) :]
        order: list[tuple[str, int | None]] = [(m, None) for m in early]
        order += [(m, unix_ns) for unix_ns, m in dated]
        order += [(m, None) for m in late]
        return [Snapshot(unix_ns, joined[m, unix_ns]) for m, unix_ns in order]


def _refuse_set_back(times: Mapping[str, int]) -> None:
    """Raise TraceError where a snapshot called *after* has an earlier time than the one called *before* with the same
    number: put in order of time, its counters would begin anew, and count all that was ever counted as done in between.
    """
    whole = {(rank(one)[0], pair_of(one)): (unix_ns, one) for one, unix_ns in times.items() if "/" not in one}
    for (side, pair), (after_ns, after) in whole.items():
        before_ns, before = whole.get((-1, pair), (after_ns, after))
        if side > 0 and after_ns < before_ns:
            raise TraceError(
                f"the snapshot {after!r} was taken {format_ns(before_ns - after_ns)} earlier than {before!r} by their"
                " times: was the clock set back in between (daylight saving time)? Correct the times, or record again"
                " with times in UTC"
            )


def text_of(source: Opened) -> str:
    """Return the whole text of a file; raises TraceError when it is too long or its compressed data are damaged."""
    data = bytearray()
    while piece := source.read():
        data += piece
        if len(data) > MOST_BYTES:
            raise TraceError(f"{source.path}: is longer than {MOST_BYTES >> 20} MiB; split it into one file a snapshot")
    if source.damage:
        raise TraceError(f"{source.path}: {source.damage}; give the whole file")
    return decoded(bytes(data))


def lines_of(source: Opened) -> Iterator[str]:
    """Yield the lines of a file of any length, without their ends, by its mark of byte order; what is no text becomes a
    mark.
    """
    decoder: codecs.IncrementalDecoder | None = None
    rest = ""
    while piece := source.read():
        if decoder is None:
            mark = next((mark for mark in _BYTE_ORDER_MARKS if piece.startswith(mark)), b"")
            decoder = codecs.getincrementaldecoder(_BYTE_ORDER_MARKS.get(mark, "utf-8"))(errors="replace")
            piece = piece[len(mark) :]
        *whole, rest = (rest + decoder.decode(piece)).split("\n")
        for line in whole:
            yield line[:LONGEST_LINE].rstrip("\r")
        rest = rest[:LONGEST_LINE]
    if rest:
        yield rest.rstrip("\r")


def decoded(data: bytes) -> str:
    """Return bytes as text, by their mark of byte order; what is no text becomes a mark."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    return data.decode(errors="replace")


def spread(rows: Sequence[tuple[Key, Mapping[str, Decimal | str]]]) -> dict[Key, dict[str, Decimal | str]]:
    """Join values by key; of what is said twice the later counts."""
    joined: dict[Key, dict[str, Decimal | str]] = {}
    for key, values in rows:
        joined.setdefault(key, {}).update(values)
    return joined


def write_recorded(recorded: Recorded, folder: Path, zero_unix_ns: int | None) -> dict[str, Any]:
    """Write statistics, statements and queries into *folder* and return what the manifest says of them.

    *zero_unix_ns* is where the requests of the same recording begin; without any, time begins with the first snapshot
    or statement.
    """
    snapshots = _spaced(recorded.snapshots(), recorded)
    times = [s.time_ns for s in snapshots if s.time_ns is not None]
    starts = [] if recorded.statements.first_ns is None else [recorded.statements.first_ns]
    zero = min([*times, *starts], default=0) if zero_unix_ns is None else zero_unix_ns
    moved = [Snapshot(None if s.time_ns is None else s.time_ns - zero, s.values) for s in snapshots]

    writer = StatisticsWriter(folder)
    try:
        for snapshot in moved:
            writer.append(snapshot)
    finally:
        writer.close()
    last_ns = writer.last_ns
    statements = len(recorded.statements)
    if statements:
        last_ns = max(last_ns, _write_statements(recorded, folder / STATEMENTS, zero))
    if recorded.queries:
        known = [recorded.queries[key] for key in sorted(recorded.queries, key=str)]
        write_table(folder / QUERIES, QUERY_COLUMNS, table_of(QUERY_COLUMNS, known))
    host = dict(recorded.host)
    if times or starts:
        host["clock_start_unix_ns"] = zero
    return {
        "statements": statements,
        "snapshots": len(snapshots),
        "span_ns": last_ns,
        "dropped": recorded.dropped,
        "inferred": list(dict.fromkeys(recorded.inferred)),
        "warnings": list(dict.fromkeys([*recorded.warnings, *differences(moved).findings()])),
        "host": host,
    }


def _write_statements(recorded: Recorded, path: Path, zero: int) -> int:
    """Write the statements in order of time, and return when the last of them ended."""
    last_ns = 0
    with TableWriter(path, STATEMENT_COLUMNS) as writer:
        for table in recorded.statements.tables():
            table.columns["time_ns"][:] -= zero
            writer.append(table)
            last_ns = max(last_ns, int((table.columns["time_ns"] + np.maximum(table.columns["duration_ns"], 0)).max()))
    return last_ns


def _spaced(snapshots: list[Snapshot], recorded: Recorded) -> list[Snapshot]:
    """Give two snapshots without times the distance that another file of the recording tells."""
    if len(snapshots) != 2 or recorded.span_ns is None or any(s.time_ns is not None for s in snapshots):
        return snapshots
    start = recorded.statements.first_ns or 0
    recorded.inferred.append(
        f"the two snapshots have no times; they are assumed to be {recorded.span_ns / NS_PER_S:g} s apart; that is"
        " right only if the load ran from the first to the second"
    )
    return [Snapshot(start, snapshots[0].values), Snapshot(start + recorded.span_ns, snapshots[1].values)]


def holds_counters(folder: Path) -> bool:
    """Tell whether a bundle holds counters, and neither requests nor statements."""
    manifest = Bundle(folder).manifest
    held = manifest.requests or manifest.references or manifest.statements
    return not held and (folder / NAME).exists()


def add_counters(folder: Path, recorded: Recorded) -> None:
    """Add the counters and the queries of the bundle in *folder*; raises TraceError."""
    manifest = Bundle(folder).manifest
    start_ns = manifest.host.get("clock_start_unix_ns")
    for number, snapshot in enumerate(read_snapshots(folder)):
        unix_ns = None if snapshot.time_ns is None or start_ns is None else int(start_ns) + snapshot.time_ns
        recorded.add(f"{folder.name} {number:09}", unix_ns, snapshot.values)
    queries = read_queries(folder)
    names = ("query", "entity", "text", "database", "user")
    for values in zip(*(queries.texts(name) for name in names), strict=True):
        found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        recorded.queries[str(found["query"]), found.get("entity")] = {**found}
    recorded.host.update({key: value for key, value in manifest.host.items() if key != "clock_start_unix_ns"})
    recorded.inferred += manifest.inferred
    recorded.warnings += manifest.warnings
    for why, count in manifest.dropped.items():
        recorded.lose(why, count)
    recorded.formats += [key for key in manifest.source_format.split(", ") if key not in recorded.formats]
    with (folder / NAME).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    recorded.source_files.append({"name": f"{folder.name}/{NAME}", "sha256": sha256})
