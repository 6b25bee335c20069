"""Which queries are executed by sessions, and what their texts say of their places in a transaction; the recording's
own statements are left out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.scenarios.calibration.synthesis.counted import Interval
from tiersim.traces.bundle_tables import read_queries
from tiersim.traces.query_text import Kind, tokens

#: First words of what is no utility.
_LANGUAGE = frozenset(
    ["select", "insert", "update", "delete", "merge", "with", "values", "table", "(", "exec", "execute"]
)
_OPENS = frozenset(["begin", "start"])
_COMMITS = frozenset(["commit", "end"])
_ROLLS_BACK = frozenset(["rollback", "abort"])

#: Names of what snapshots are taken from. Nothing but monitoring asks for them.
_STATISTICS = (
    "pg_stat",
    "pg_buffercache",
    "pg_settings",
    "pg_wait_sampling",
    "pg_current_wal_",
    "pg_last_wal_",
    "pg_postmaster_start_time",
    "pg_is_in_recovery",
    "pg_relation_size",
    "pg_table_size",
    "pg_relation_filenode",
    "pg_has_role",
    "pg_available_extensions",
    "pg_extension",
)


class Role(Enum):
    """What a query does in a transaction."""

    INSIDE = 0
    OPENS = 1
    COMMITS = 2
    ROLLS_BACK = 3


def role_of(text: str) -> Role:
    """Return what a query does in its transaction."""
    words = _first_words(text)
    if not words:
        return Role.INSIDE
    if words[0] in _OPENS:
        return Role.OPENS
    if "prepared" in words or "to" in words[1:]:  # the second phase of another transaction; back to a savepoint
        return Role.INSIDE
    if words[0] in _COMMITS:
        return Role.COMMITS
    return Role.ROLLS_BACK if words[0] in _ROLLS_BACK else Role.INSIDE


def kind_of(text: str) -> str:
    """Return ``utility`` or ``language``."""
    words = _first_words(text)
    return "language" if not words or words[0] in _LANGUAGE else "utility"


def is_of_the_recording(text: str) -> bool:
    """Say whether a query takes statistics, as those that took the snapshots do."""
    return any(kind is not Kind.LITERAL and word.lower().startswith(_STATISTICS) for kind, word in tokens(text))


def _first_words(text: str) -> list[str]:
    words: list[str] = []
    for _, word in tokens(text):
        if len(words) == 4:
            break
        words.append(word.lower())
    return words


#: More executions are not made: their table would not fit into memory.
MOST_EXECUTIONS = 10_000_000
#: 73 years; sums of more are damage, and would not fit into 64 bits.
_MOST_EXEC_NS = 1 << 61


@dataclass
class Names:
    """What is known of queries by their names in the source."""

    queries: dict[str, str] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    of_the_recording: set[str] = field(default_factory=set)

    def query(self, entity: str) -> str:
        """Return the fingerprint of a query, or its name where its text is not known."""
        return self.queries.get(entity, entity)

    def role(self, entity: str) -> Role:
        """Return what a query does in its transaction."""
        return self.roles.get(entity, Role.INSIDE)

    def kind(self, entity: str) -> str:
        """Return what kind of statement a query is."""
        return self.kinds.get(entity, "language")


def names_of(path: Path) -> Names:
    """Read the queries of the bundle at *path*."""
    table = read_queries(path)
    names = Names()
    columns = (table.texts(name) for name in ("entity", "query", "text"))
    for entity, query, text in zip(*columns, strict=True):
        if entity is None or query is None:
            continue
        names.queries[entity] = query
        if text is not None:
            names.texts[entity] = text
            names.roles[entity], names.kinds[entity] = role_of(text), kind_of(text)
            if is_of_the_recording(text):
                names.of_the_recording.add(entity)
    return names


def select(path: Path, intervals: Iterable[Interval], names: Names) -> tuple[list[Interval], list[str]]:
    """Return the intervals with what sessions executed by themselves, and sentences of what was left out.

    A transaction of each statement that took statistics is left out, too. Raises TraceError when nothing is left, or
    too much.
    """
    kept: list[Interval] = []
    own = nested = 0
    for interval in intervals:
        taking = sum(q.calls for q in interval.queries if q.entity in names.of_the_recording)
        inside = sum(q.calls for q in interval.queries if _is_nested(q.entity))
        queries = tuple(
            q for q in interval.queries if not _is_nested(q.entity) and q.entity not in names.of_the_recording
        )
        committed = None if interval.transactions is None else max(0, interval.transactions - taking)
        kept.append(replace(interval, queries=queries, transactions=committed))
        own, nested = own + taking, nested + inside
    said = []
    if own:
        said.append(f"{own:,} executions of the recorder or of monitoring are left out")
    if nested:
        said.append(
            f"{nested:,} executions inside functions are left out: the calling statements include their time and pages"
        )
    _check(path, kept)
    return kept, said


def _is_nested(entity: str) -> bool:
    """Say whether a query of database/user/toplevel/identifier runs inside functions."""
    parts = entity.split("/")
    return len(parts) == 4 and parts[2] in ("f", "false")


def _check(path: Path, kept: Sequence[Interval]) -> None:
    queries = [query for interval in kept for query in interval.queries]
    calls = sum(query.calls for query in queries)
    if not calls:
        raise TraceError(
            f"{path}: no query was called between its snapshots, but for those that took them; take the second snapshot"
            " after the load"
        )
    if calls > MOST_EXECUTIONS:
        raise TraceError(
            f"{path}: {calls:,} executions are more than the {MOST_EXECUTIONS:,} that can be synthesised at once;"
            " import the snapshots of a shorter time"
        )
    if sum(query.exec_ns for query in queries) > _MOST_EXEC_NS:
        raise TraceError(f"{path}: its queries say more than 73 years of execution, which cannot be; import it again")
