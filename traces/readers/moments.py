"""Which moment of a recording a file belongs to, by its name, where it does not say its time: before, after, 1, 2, 3
...
"""

import re
from pathlib import Path

_EARLY = ("before", "begin", "start", "first", "old", "pre")
_LATE = ("after", "end", "stop", "last", "new", "post", "finish", "final")
_PARTS = re.compile(r"[^\W\d_]+|\d+")
_MANY = 1 << 30


def moment_of(path: Path, what: str) -> str:
    """Return the moment that a file of *what* (the name of a view, say) belongs to, by its name and its folder's.

    ``before/pg_stat_wal.csv`` and ``pg_stat_io.before.csv`` are of the moment ``before`` each; a file whose name says
    no moment is of its folder, and a number in it is one within a folder called *before* or *after*.
    """
    own = _words(path.name.split(".csv")[0].split(".json")[0].split(".txt")[0].replace(what, ""))
    folder = path.parent.name
    if rank(folder)[0]:  # before, pg_before
        folder = _words(folder)
    if own and (rank(own)[0] or not rank(folder)[0]):
        return own
    # of before/pg16_io.csv the number alone would be that of after/pg16_io.csv
    return f"{folder} {own}" if own else folder


def _words(name: str) -> str:
    """Return the words of a name that tell a moment."""
    return " ".join(word for word in _PARTS.findall(name) if word.isdigit() or word.lower() in (*_EARLY, *_LATE))


def moment_within(path: Path, number: int) -> str:
    """Return the name of one of the moments that a file tells apart itself."""
    return f"{path.parent.name}/{path.name} {number}"


def rank(moment: str) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return the place of a moment among others: those called *before* first, then by number, those called *after*
    last.
    """
    words = _PARTS.findall(moment.lower())
    side = any(word in _LATE for word in words) - any(word in _EARLY for word in words)
    numbers = tuple((int(word), "") if word.isdigit() and len(word) < 10 else (_MANY, word.zfill(40)) for word in words)
    return side, numbers
