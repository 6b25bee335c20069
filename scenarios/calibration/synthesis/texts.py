"""What the text of a query says of its place in a transaction, and of whose it is."""

from enum import Enum

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
