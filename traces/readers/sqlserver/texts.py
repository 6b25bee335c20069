"""What a client's text runs: batches as they are, ``exec sp_executesql N'...'`` and prepared calls as the statement
inside.

The shapes are those in which SQL Server prints remote procedure calls: ``declare``, ``set`` and ``insert`` lines of its
output and table parameters first, then one ``exec``.
"""

import re
from typing import NamedTuple

from tiersim.traces.query_text import LONGEST

#: Prints of parameters that come before the call itself.
_DECLARES = re.compile(r"\s*declare\s+@p\d+\s", re.IGNORECASE | re.ASCII)
_STRING_OR_CALL = re.compile(r"'(?:[^']|'')*(?:'|\Z)|\n[ \t]*(?=exec(?:ute)?\s)", re.IGNORECASE | re.ASCII)
_VALUE = re.compile(r"\bset\s+(@p\d+)\s*=\s*(\d{1,18})\b", re.IGNORECASE | re.ASCII)
_EXEC = re.compile(r"\s*exec(?:ute)?\s+(?:\[?sys\]?\.)?\[?(sp_\w+)\]?(?!\w)\s*", re.IGNORECASE | re.ASCII)
_ARGUMENT = re.compile(
    r"(?:@\w+\s*=\s*)?(?:[Nn]?'(?P<text>(?:[^']|'')*)(?:'|\Z)|(?P<word>[^,';\s]*))[^,';]*(?P<end>,\s*)?",
    re.ASCII,
)
_HANDLE = re.compile(r"\d{1,18}", re.ASCII)

#: Procedures that carry a statement: which argument it is. All but the first give a handle, their first argument.
_STATEMENTS = {
    "sp_executesql": 0,
    "sp_prepexec": 2,
    "sp_prepare": 2,
    "sp_cursoropen": 1,
    "sp_cursorprepare": 2,
    "sp_cursorprepexec": 3,
}
#: Procedures that go on with what a handle, their first argument, stands for.
_HANDLES = ("sp_execute", "sp_cursorexecute", "sp_cursorfetch")
#: Procedures that run no statement.
_HOUSEKEEPING = (
    "sp_prepare",
    "sp_cursorprepare",
    "sp_unprepare",
    "sp_cursorunprepare",
    "sp_cursorclose",
    "sp_cursoroption",
)
_RESET = "sp_reset_connection"


class Call(NamedTuple):
    """What a text runs."""

    text: str | None  # of the query; None where it runs a handle, or no query at all
    kind: str  # of STATEMENT_KINDS: language, rpc or utility
    prepares: int | None = None  # the handle that stands for the text from now on, within the session
    runs: int | None = None  # the handle that it runs, of the same session
    resets: bool = False  # it is no query: a pooled connection is given to somebody else


def query_of(text: str, kind: str) -> Call:
    """Return what *text* runs that came as *kind*, ``language`` or ``rpc``.

    >>> query_of("exec sp_executesql N'select a from t where b=@p and c=''x''',N'@p int',@p=3", "rpc").text
    "select a from t where b=@p and c='x'"
    >>> query_of("exec sp_execute 7,1,N'x'", "rpc").runs
    7
    """
    start = _call_start(text)
    called = _EXEC.match(text, start)
    if called is None:
        return Call(text, kind)
    name = called[1].lower()
    if name == _RESET:
        return Call(None, "utility", resets=True)
    arguments = _arguments(text, called.end())
    handle = _handle(arguments, text[:start])
    if name in _STATEMENTS:
        place = _STATEMENTS[name]
        inner = arguments[place][0] if place < len(arguments) else None
        if inner is None:
            return Call(text, kind)
        return Call(inner, "utility" if name in _HOUSEKEEPING else "rpc", prepares=handle if place else None)
    if name in _HANDLES and handle is not None:
        return Call(None, "rpc", runs=handle)
    return Call(text, "utility" if name in _HOUSEKEEPING else kind)


def _call_start(text: str) -> int:
    """Return where the call begins behind the parameters that are printed before it; 0 where there are none."""
    if not _DECLARES.match(text):
        return 0
    for found in _STRING_OR_CALL.finditer(text[:LONGEST]):
        if found.group()[0] != "'":
            return found.end()
    return 0


def _arguments(text: str, place: int) -> list[tuple[str | None, str]]:
    """Return the first arguments of a call, each as its string, or None, and as its word."""
    found: list[tuple[str | None, str]] = []
    while len(found) < 4 and (argument := _ARGUMENT.match(text, place)):
        inner = argument["text"]
        found.append((None if inner is None else inner.replace("''", "'"), argument["word"] or ""))
        if argument["end"] is None:
            break
        place = argument.end()
    return found


def _handle(arguments: list[tuple[str | None, str]], before: str) -> int | None:
    """Return the number that the first argument is, or that was printed for it: ``set @p1=5`` stands before
    ``@p1 output``.
    """
    word = arguments[0][1] if arguments else ""
    if _HANDLE.fullmatch(word):
        return int(word)
    return next((int(found[2]) for found in _VALUE.finditer(before) if found[1] == word), None)
