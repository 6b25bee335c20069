"""Counters of MySQL and MariaDB in the form that those of PostgreSQL have: pages, log and CPU by statement, pages
missed by table. All of it is inferred, since digests have none.

Between two snapshots that have all of it: the pages that the server missed are divided among tables as the reads of
their files are, and those of a table among the digests that name it by the leaves that they visit: one for each call,
and one more for so many rows as lie on a leaf. Times of reads are those of the files. The growth of the redo log is
divided by rows that were changed, counted processor time by what is left of execution time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import sqrt
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.popularity.midpoint import MidpointPool
from tiersim.scenarios.calibration.popularity.occupancy import AccessedTable
from tiersim.scenarios.calibration.popularity.recorded import Accesses
from tiersim.scenarios.calibration.synthesis.counted import Role, role_of
from tiersim.scenarios.statements.queries import changes_rows
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import Counters, SnapshotStep, Stepping
from tiersim.traces.query_text import NamedTables, tokens
from tiersim.traces.statistics import Snapshot, Values, texts_of_queries

#: Entries of an inner page: of an INT key 13 to 14 bytes each, of a BIGINT 17 to 18.
_INNER_ENTRIES = 1000
#: Of all pages that were missed; tables with a smaller share of them are not fitted.
_MATTERS = 0.01
#: First words, and words anywhere, of statements of monitoring.
_MONITORS = ("show", "set", "explain", "truncate", "flush")
_VIEWS = ("performance_schema", "information_schema", "innodb_")
#: A group of commits that takes longer may have waited for something else, such as a cap.
_FAST_MS = 1.0
#: Stands for digests where all were the recorder's, so that queries were counted then.
_NONE = "none"
#: What is divided, and by which counts; what a snapshot lacks one of has is divided with what the next one has.
_DIVIDED = ("database", "file", "log")
#: What a query, a table and the log have from here, and how long the processors worked on a query.
_OF_QUERIES = ("pages_read", "pages_hit", "read_ms", "log_bytes", "pages_dirtied")
_OF_TABLES, _CPU = ("pages_read", "pages_hit"), "cpu_user_ms"
_OF_LOG = ("groups", "flushes", "write_ms", "flush_ms")
#: Rows that the server changed; so many times more than statements did are those of a replica, or of events. Statements
#: count rows that are replaced twice, and none of a cascade.
_CHANGED, _MORE = ("rows_inserted", "rows_updated", "rows_deleted"), 1.5
#: Reads of files of no known table are said from this share of all on; of the recordings of MariaDB in
#: benchmarks/real_mysql 0.1 % at most were.
_READ_BY_OTHERS = 0.1
SAID = (
    "pages, redo and CPU of single digests are inferred: the reads of a table's file are divided by calls and rows"
    " examined, the redo log by rows changed, processor time by execution time; a slow log with pages tells them"
)


@dataclass
class InnoDBCounters:
    """Adds to each snapshot what its digests lack; snapshots come in order of time."""

    path: Path
    texts: dict[str, str] = field(default_factory=dict)
    tables: dict[str, "_Table"] = field(default_factory=dict)
    changed_rows: float = 0.0  # by statements
    changed_by_server: float = 0.0
    redo_bytes: float = 0.0
    reads: float = 0.0  # of the files of tables that statements name
    reads_of_others: dict[str, float] = field(default_factory=dict)  # by data file
    _stepping: Stepping = field(default_factory=Stepping)
    _subjects: set[str] = field(default_factory=set)  # of those that are divided, which there were
    _since_ns: int | None = None  # when the last snapshot that was divided was taken
    _grown: dict[tuple[str, str, str], float] = field(default_factory=dict)  # since then
    _read_ms: dict[str, float] = field(default_factory=dict)  # of it, by query
    _cpu_ms: dict[str, float] = field(default_factory=dict)
    _sums: dict[tuple[str, str, str], float] = field(default_factory=dict)
    _names: NamedTables | None = None

    def __post_init__(self) -> None:
        """Read the texts of queries."""
        self.texts = texts_of_queries(self.path, "entity")

    def with_pages(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with pages of queries and tables, without the recorder's queries."""
        values = {key: dict(one) for key, one in snapshot.values.items() if not self._is_of_recorder(*key)}
        if not any(subject == "query" for subject, _ in snapshot.values):
            return snapshot
        values["query", _NONE] = {"calls": Decimal(0)}
        for (subject, entity), one in values.items():
            if subject == "relation" and one.get("rows") and one.get("leaf_pages"):
                found = self.tables.setdefault(entity, _Table())
                found.rows, found.leaves = max(int(one["rows"]), 1), max(int(one["leaf_pages"]), 1)
        if self._names is None:
            self._names = NamedTables(self.tables)
        first = not self._subjects
        for step in self._stepping.to(Snapshot(snapshot.time_ns, {key: dict(one) for key, one in values.items()})):
            self._take(step)
        there = {subject for subject, _ in values}
        self._subjects |= {"query", *there.intersection(_DIVIDED)}
        if self._subjects <= there:
            if not first:
                self._divide(values)
                self._time_flushes(values, snapshot.time_ns)
            self._since_ns = snapshot.time_ns
            self._grown.clear()
            self._read_ms.clear()
            self._cpu_ms.clear()
        if first:
            self._begin(values)
        for (subject, entity, name), total in self._sums.items():
            if (subject, entity) in values:
                values[subject, entity][name] = Decimal(round(total))
        for (subject, _), one in values.items():
            if subject == "query":
                for name in _OF_QUERIES:
                    one.setdefault(name, Decimal(0))
        return Snapshot(snapshot.time_ns, values)

    def _take(self, step: SnapshotStep) -> None:
        """Add up what grew; what began anew counts from 0 here, too."""
        anew = {(step.subject, entity) for entity in step.reset}
        self._sums.update((key, 0.0) for key in self._sums if anew and key[:2] in anew)
        if step.then is not None:
            for entity, grown in step.grown.items():
                for name, amount in grown.items():
                    key = step.subject, entity, name
                    self._grown[key] = self._grown.get(key, 0.0) + float(amount)

    def _begin(self, values: Mapping[tuple[str, str], dict[str, Decimal | str]]) -> None:
        """Set the counters that are inferred to 0. One that appears later counts from its first reading on."""
        cpu = "cpu_ms" in values.get(("database", "*"), {})
        for (subject, entity), one in values.items():
            if subject == "query" and cpu:
                one[_CPU] = Decimal(0)
            if subject == "relation" and entity in self.tables:
                one.update(dict.fromkeys(_OF_TABLES, Decimal(0)))
            if subject == "log" and "flushes" not in one:
                one.update(dict.fromkeys(_OF_LOG, Decimal(0)))

    def _is_of_recorder(self, subject: str, entity: str) -> bool:
        if subject != "query" or entity not in self.texts:
            return False
        words = [word.lower().strip("`") for _, word in tokens(self.texts[entity])]
        views = any(word.startswith(_VIEWS) for word in words)
        return views or not words or words[0] in _MONITORS or words[:2] == ["select", "?"]

    def _growth(self, subject: str, entity: str, name: str) -> float:
        """Return what a counter grew by since the last snapshot that was divided."""
        return max(self._grown.get((subject, entity, name), 0.0), 0.0)

    def _divide(self, values: Mapping[tuple[str, str], Values]) -> None:
        assert self._names is not None
        queries = [entity for subject, entity in values if subject == "query"]
        visits: dict[str, dict[str, float]] = {}
        changed: dict[str, float] = {}
        for entity in queries:
            text = self.texts.get(entity, "")
            calls = self._growth("query", entity, "calls")
            examined = self._growth("query", entity, "rows_examined")
            named = self._names.within(text)
            for table in named:
                one = self.tables[table]
                beyond = max(examined / len(named) - calls, 0.0) * one.leaves / one.rows
                visits.setdefault(table, {})[entity] = calls + beyond
            if changes_rows(text):
                changed[entity] = max(self._growth("query", entity, "rows"), calls)
        self._divide_pages(values, visits)
        grown = self._growth("log", "log", "bytes")
        whole = sum(changed.values())
        by_server = sum(self._growth("database", "*", name) for name in _CHANGED)
        self.changed_rows += whole
        self.changed_by_server += by_server
        self.redo_bytes += grown
        whole = by_server if by_server > _MORE * whole else whole  # the redo of others is not theirs
        for entity, rows in changed.items():
            self._add("query", entity, "log_bytes", grown * rows / whole if whole else 0.0)
            self._add("query", entity, "pages_dirtied", rows)
        self._divide_processors(values, queries)

    def _divide_pages(
        self, values: Mapping[tuple[str, str], Values], visits: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Divide the pages that were missed by the reads of files, and of a table by visits of its leaves."""
        reads = {table: self._growth("file", _file(table), "reads") for table in visits}
        read_ms = {table: self._growth("file", _file(table), "read_ms") for table in visits}
        missed = self._growth("database", "*", "pages_missed")
        all_reads = sum(reads.values())
        self.reads += all_reads
        own = set(map(_file, visits))
        for subject, file in values:
            if subject == "file" and values[subject, file].get("kind") == "data" and file not in own:
                self.reads_of_others[file] = self.reads_of_others.get(file, 0.0) + self._growth("file", file, "reads")
        for table, of_queries in visits.items():
            one, total = self.tables[table], sum(of_queries.values())
            share = reads[table] / all_reads if all_reads else 1 / len(visits)
            of_table = missed * share
            one.visits += total
            one.missed += of_table
            self._add("relation", table, "pages_read", of_table)
            self._add("relation", table, "pages_hit", max(total * one.levels - of_table, 0.0))
            for entity, count in of_queries.items():
                part = count / total if total else 0.0
                self._add("query", entity, "pages_read", of_table * part)
                self._add("query", entity, "pages_hit", max(count * one.levels - of_table * part, 0.0))
                took_ms = of_table * part * (read_ms[table] / reads[table] if reads[table] else 0.0)
                self._read_ms[entity] = self._read_ms.get(entity, 0.0) + took_ms
                self._add("query", entity, "read_ms", took_ms)

    def _divide_processors(self, values: Mapping[tuple[str, str], Values], queries: list[str]) -> None:
        """Divide the processor time of sessions, where it was counted, by execution time without reads, at least the
        fastest execution for each call. A COMMIT took as long as its fastest.
        """
        cpu_ms = self._growth("database", "*", "cpu_ms")
        if not cpu_ms:
            return
        weights, most_ms = {}, {}
        for entity in queries:
            took = self._growth("query", entity, "exec_ms")
            fastest = float(values["query", entity].get("exec_min_ms", 0)) * self._growth("query", entity, "calls")
            took = min(took, fastest) if role_of(self.texts.get(entity, "")) is Role.COMMITS else took
            # reads of slow storage take nearly all of the time, and are counted by another clock
            weights[entity] = max(took - self._read_ms.get(entity, 0.0), min(took, fastest))
            most_ms[entity] = took
        whole = sum(weights.values())
        for entity, weight in weights.items():
            self._cpu_ms[entity] = min(cpu_ms * weight / whole if whole else 0.0, most_ms[entity])
            self._add("query", entity, _CPU, self._cpu_ms[entity])

    def _time_flushes(self, values: Mapping[tuple[str, str], Values], time_ns: int | None) -> None:
        """Tell how long a write and a flush of the redo log take together where the server does not: MariaDB counts
        the writes alone, one a group. A COMMIT waits for its group, and for half of the one before if that is on its
        way. Where nobody commits by a statement, those that change rows wait for it, beside their reads and processor
        time. If a group would take longer than a fast log does, or there is a binary log, they may have waited for
        anything: then the number of groups tells.
        """
        writes = self._growth("log", "log", "writes")
        if not writes or "flushes" in values.get(("log", "log"), {}):
            return
        self._add("log", "log", "groups", writes)
        if self._since_ns is None or time_ns is None or self._growth("binary log", "binary log", "transactions"):
            return
        calls, waited_ms = self._commits(values)
        if not calls:
            calls, waited_ms = self._changes(values)
        if not calls or waited_ms <= 0 or time_ns <= self._since_ns:
            return
        took_ms = group_ms(writes * 1e6 / (time_ns - self._since_ns), waited_ms / calls)
        if took_ms > _FAST_MS:
            return
        self._add("log", "log", "flushes", writes)
        for name in ("write_ms", "flush_ms"):
            self._add("log", "log", name, writes * took_ms / 2)

    def _commits(self, values: Mapping[tuple[str, str], Values]) -> tuple[float, float]:
        """Return how many COMMITs there were, and how long they took together."""
        queries = [entity for subject, entity in values if subject == "query"]
        commits = [entity for entity in queries if role_of(self.texts.get(entity, "")) is Role.COMMITS]
        calls, took_ms = (
            sum(self._growth("query", entity, name) for entity in commits) for name in ("calls", "exec_ms")
        )
        return calls, took_ms

    def _changes(self, values: Mapping[tuple[str, str], Values]) -> tuple[float, float]:
        """Return how many statements changed rows, and how long they took together without reads and processors."""
        calls = took_ms = 0.0
        for entity in (entity for subject, entity in values if subject == "query"):
            if changes_rows(self.texts.get(entity, "")):
                calls += self._growth("query", entity, "calls")
                took_ms += self._growth("query", entity, "exec_ms")
                took_ms -= self._read_ms.get(entity, 0.0) + self._cpu_ms.get(entity, 0.0)
        return calls, took_ms

    def _add(self, subject: str, entity: str, name: str, amount: float) -> None:
        key = subject, entity, name
        self._sums[key] = self._sums.get(key, 0.0) + amount


def group_ms(groups_per_ms: float, wait_ms: float) -> float:
    """Return how long a group of commits takes of which so many come in a ms, one after the other, when a commit waits
    *wait_ms*: wait = took x (1 + busy / 2), where busy = groups x took is at most 1.
    """
    return min((sqrt(1 + 2 * groups_per_ms * wait_ms) - 1) / groups_per_ms, 1 / groups_per_ms)


@dataclass
class _Table:
    """What was counted of a table so far."""

    rows: int = 1
    leaves: int = 1
    visits: float = 0.0
    missed: float = 0.0

    @property
    def levels(self) -> int:
        """Pages that a lookup asks for."""
        return 1 + len(_inner(self.leaves))


def _inner(leaves: int) -> list[int]:
    counts = []
    while leaves > 1:
        leaves = -(-leaves // _INNER_ENTRIES)
        counts.append(leaves)
    return counts


def _file(table: str) -> str:
    return f"{table.replace('.', '/', 1)}.ibd"


def innodb_accesses(counters: Counters, counted: InnoDBCounters) -> tuple[Accesses, MidpointPool]:
    """Return the tables whose pages were missed, the frames that held pages, and how these are replaced; raises
    TraceError naming what is lacking.
    """
    path, found = counters.path, counters.found
    host = Bundle(path).manifest.host
    page_bytes, pool_bytes = host.get("page_bytes"), host.get("buffer_pool_bytes")
    if not isinstance(pool_bytes, int) or not isinstance(page_bytes, int):
        raise TraceError(f"{path}: does not say how large the buffer pool was; record the variables, too")
    whole = sum(table.missed for table in counted.tables.values())
    tables = [
        AccessedTable(
            name,
            table.rows,
            table.leaves,
            sum(_inner(table.leaves)) + 1 if table.leaves > 1 else 0,
            max(round(table.visits), 1),
            round(table.missed),
            0,
            together=True,
            even=table.missed <= _MATTERS * whole,
        )
        for name, table in sorted(counted.tables.items())
        if table.visits
    ]
    if not tables:
        raise TraceError(
            f"{path}: is a recording of InnoDB, and no statement in it names a table whose rows and pages are known;"
            " record statement digests with their texts, mysql.innodb_index_stats and mysql.innodb_table_stats before"
            " and after a load"
        )
    pool = found.of("pool").get("*")
    held = 0 if pool is None else int(pool.number("pages") or 0)
    # compressed pages count beside their copies, so that more are held than there are (MySQL Reference Manual, 7.1.10)
    frames = min(held or pool_bytes // page_bytes, pool_bytes // page_bytes)
    span_ns = found.span_ns.get("query") or 0
    old_time = found.of("setting").get("innodb_old_blocks_time")
    old_ms = float(str(old_time.last.get("setting", 1000))) if old_time is not None else 1000.0
    accesses = sum(table.accesses for table in tables)
    old_accesses = accesses * old_ms * 1e6 / span_ns if span_ns else 0.0
    said = (SAID, *_said_of_others(counted), *_said_of_files(counted), *_said_of_redo(counted))
    return Accesses(tuple(tables), frames, said), MidpointPool(old_accesses)


def _said_of_others(counted: InnoDBCounters) -> list[str]:
    """Say that rows were changed that no statement changed, which is not simulated."""
    if counted.changed_by_server <= _MORE * counted.changed_rows:
        return []
    share = 1 - counted.changed_rows / counted.changed_by_server
    return [
        (
            f"{share:.0%} of the changed rows were changed by no statement that was counted, as on a replica: their"
            " reads, writes and redo are not simulated, and what they missed counts as missed by the statements"
        )
    ]


def _said_of_files(counted: InnoDBCounters) -> list[str]:
    """Say that files were read of tables that nobody knows, whose pages are divided among the others."""
    others = sum(counted.reads_of_others.values())
    share = others / max(counted.reads + others, 1.0)
    if share <= _READ_BY_OTHERS:
        return []
    most = max(counted.reads_of_others, key=counted.reads_of_others.__getitem__)
    return [
        (
            f"{share:.0%} of the reads of data files were of tables that no statement names, or whose rows and pages"
            f" are not known, most of {most}: these pages count as missed by the other tables"
        )
    ]


def _said_of_redo(counted: InnoDBCounters) -> list[str]:
    """Say that no redo is simulated where nobody counted it: before MySQL 8.0.30 only a metric that is off does."""
    if counted.redo_bytes or not counted.changed_rows:
        return []
    return [
        (
            "the redo of changed rows was not counted, and 0 B are simulated: writes of the log are too short, and no"
            " page is flushed for the age of the checkpoint; SET GLOBAL innodb_monitor_enable = 'log_lsn_current', and"
            " record again"
        )
    ]
