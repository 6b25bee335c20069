"""Query texts without their literals, and fingerprints that are the same wherever a query was recorded.

Literals are customers' data: strings, numbers, dollar-quoted bodies, and what follows SET ... TO. Comments go, too:
they carry tags of applications. A text that was cut off inside a literal ends there.

Which tables texts name is found word by word: neither tables nor texts are gone through once for each of the others.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from enum import Enum

#: A literal, or a parameter, in a text without literals.
PLACEHOLDER = "?"
#: Longer texts are cut here before anything else.
LONGEST = 100_000


class Kind(Enum):
    """What a token is."""

    LITERAL = 0
    WORD = 1  # a keyword or a name
    QUOTED = 2  # a name in quotes, whose case counts
    SIGN = 3


Token = tuple[Kind, str]

_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(r"(?:0[xX][\da-fA-F_]+|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d+)?)\w*")
_WORD = re.compile(r"[^\W\d][\w$#]*|#+\w[\w$#]*")
_PARAMETER = re.compile(r"\$\d+|@+\w+|:[^\W\d]\w*|\?")
_DOLLAR = re.compile(r"\$(?:[^\W\d]\w*)?\$")
_STRING = re.compile(r"(?:[eEnNbBxX]|[uU]&)?'")
_ESCAPED_END = re.compile(r"(?:[^'\\]|''|\\.)*(?:'(?!')|\Z)", re.DOTALL)
_END = re.compile(r"(?:[^']|'')*(?:'(?!')|\Z)")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_BRACKETED = re.compile(r"\[[^\W\d][^\]\[']*\]")
_COMMENT = re.compile(r"--[^\n]*|/\*")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_SIGN = re.compile(r"::|<>|<=|>=|!=|\|\||->>|->|#>>|#>|@>|<@|:=|.", re.DOTALL)

#: Where these stand, what is a literal is told only by reading all before it: names in quotes, comments, escapes,
#: dollar quotes.
_NOT_SIMPLE = re.compile(r'["\\\[]|--|/\*|\$(?!\d)')
_SIMPLE = re.compile(r"'[^']*'|(?<![\w$#@:.])\d+(?:\.\d+)?(?![\w$#@.])")

#: Words that a minus may follow and still be the sign of a number.
NO_OPERANDS = frozenset(
    [
        "select",
        "where",
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "ilike",
        "then",
        "else",
        "when",
        "case",
        "limit",
        "offset",
        "values",
        "set",
        "return",
        "returning",
        "by",
        "on",
        "having",
        "is",
        "any",
        "all",
        "some",
    ]
)


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a query, comments and space left out. Takes any text, in time that grows with its length
    alone.
    """
    text = text[:LONGEST]
    place, end, before = 0, len(text), ""
    while place < end:
        if found := _SPACE.match(text, place):
            place = found.end()
            continue
        if found := _COMMENT.match(text, place):
            place = _behind_comment(text, found.end()) if found.group() == "/*" else found.end()
            continue
        kind, place, word = _token(text, place, before)
        before = word.lower()
        yield kind, word


def _token(text: str, place: int, before: str) -> tuple[Kind, int, str]:
    if found := _STRING.match(text, place):
        closing = _ESCAPED_END if found.group()[0] in "eE" else _END
        return Kind.LITERAL, closing.match(text, found.end()).end(), PLACEHOLDER  # type: ignore[union-attr]
    if found := _DOLLAR.match(text, place):
        close = text.find(found.group(), found.end())
        return Kind.LITERAL, len(text) if close < 0 else close + len(found.group()), PLACEHOLDER
    if (found := _NUMBER.match(text, place)) or (before != ":" and (found := _PARAMETER.match(text, place))):
        return Kind.LITERAL, found.end(), PLACEHOLDER
    if text[place] == '"':
        found = _QUOTED.match(text, place)
        return (Kind.QUOTED, found.end(), found.group()) if found else (Kind.LITERAL, len(text), PLACEHOLDER)
    if found := _BRACKETED.match(text, place):
        return Kind.QUOTED, found.end(), found.group()
    if found := _WORD.match(text, place):
        return Kind.WORD, found.end(), found.group()
    found = _SIGN.match(text, place)
    assert found is not None  # it takes any character
    return Kind.SIGN, found.end(), found.group()


def _behind_comment(text: str, place: int) -> int:
    """Return where a comment ends whose inside begins at *place*; comments nest in PostgreSQL."""
    depth = 1
    for edge in _COMMENT_EDGE.finditer(text, place):
        depth += 1 if edge.group() == "/*" else -1
        if not depth:
            return edge.end()
    return len(text)


def without_literals(text: str) -> str:
    """Return a query with every literal, parameter, and list of them, as ``?``, one space between words, no comments.

    >>> without_literals("SELECT a FROM t -- tag\\n WHERE b IN (1, 2,3) AND c = 'O''Neil'")
    'SELECT a FROM t WHERE b IN (?) AND c = ?'
    """
    return "".join(_spaced(_shortened(list(tokens(text)))))


def skeleton(text: str) -> str | None:
    """Return a query without its plainest literals, many times faster than it is read: texts that share it are one
    query.

    None where that cannot be told so cheaply. Shorter than LONGEST, and not what is shown to anybody.
    """
    if len(text) > LONGEST or _NOT_SIMPLE.search(text):
        return None
    return _SIMPLE.sub(_cut, text)


def _cut(found: re.Match[str]) -> str:
    return "''" if found.group()[0] == "'" else "0"


def fingerprint(text: str) -> str:
    """Return 16 hexadecimal digits that tell a query from others: the same for every text that differs in literals,
    case of words and space alone, so that what PostgreSQL, a log and another recording say of a query comes together.
    """
    words = [word if kind is Kind.QUOTED else word.lower() for kind, word in _shortened(list(tokens(text)))]
    while words and words[-1] == ";":
        words.pop()
    return hashlib.blake2b(" ".join(words).encode(errors="replace"), digest_size=8).hexdigest()


def _shortened(found: list[Token]) -> list[Token]:
    """Return tokens with signs of numbers taken into them, lists and rows of literals as one, and the values of SET
    hidden.
    """
    short: list[Token] = []
    setting = bool(found) and (found[0][1].lower() == "set" or _alters_setting(found))
    hidden = False
    for kind, word in found:
        if hidden and word != ";":
            if short[-1][0] is not Kind.LITERAL:
                short.append((Kind.LITERAL, PLACEHOLDER))
            continue
        if kind is Kind.LITERAL:
            while short and short[-1][1] in ("-", "+") and (len(short) == 1 or _needs_operand(short[-2])):
                short.pop()
        if kind is Kind.SIGN and word in (")", "]"):
            _shorten_list(short)
        short.append((kind, word))
        hidden = setting and len(short) > 1 and (word == "=" or word.lower() == "to")
    return short


def _alters_setting(found: list[Token]) -> bool:
    words = [word.lower() for _, word in found[:12]]
    return words[0] == "alter" and "set" in words and words[1] in ("system", "role", "user", "database")


def _needs_operand(token: Token) -> bool:
    kind, word = token
    return (kind is Kind.SIGN and word not in (")", "]")) or (kind is Kind.WORD and word.lower() in NO_OPERANDS)


def _shorten_list(short: list[Token]) -> None:
    """Take away what does not tell queries apart before a closing bracket: ``IN (?, ?``, ``(?, ?), (?, ?``."""
    start = len(short)
    while start and (short[start - 1][0] is Kind.LITERAL or short[start - 1][1] == ","):
        start -= 1
    count = len(short) - start
    if not count or start < 2 or short[start - 1][1] not in ("(", "["):
        return
    if short[start - 2][1].lower() in ("in", "array"):
        del short[start + 1 :]
        return
    row = short[start - 1 :]
    above = start - 3 - len(row)  # where the row above opens: row, ")", ",", row
    if (
        above >= 0
        and [word for _, word in short[start - 3 : start - 1]] == [")", ","]
        and short[above : start - 3] == row
    ):
        del short[start - 3 :]


#: Words that an opening parenthesis keeps its distance from.
_APART = NO_OPERANDS | frozenset(
    [
        "as",
        "from",
        "into",
        "join",
        "using",
        "exists",
        "over",
        "filter",
        "update",
        "distinct",
        "union",
        "except",
        "with",
        "to",
        "copy",
    ]
)


def _spaced(found: list[Token]) -> Iterator[str]:
    before, kind_before = "", Kind.SIGN
    for kind, word in found:
        called = word in ("(", "[") and kind_before in (Kind.WORD, Kind.QUOTED) and before.lower() not in _APART
        close = called or word in (",", ")", ";", ".", "::", "]") or before in ("(", ".", "::", "[", "")
        yield word if close else f" {word}"
        before, kind_before = word, kind


_WORDS = re.compile(r"\w+")


class NamedTables:
    """Tables that texts may name, as ``schema.table`` or by the name alone, in any case."""

    def __init__(self, tables: Iterable[str]) -> None:
        """Note *tables* under the first word of their names without a schema."""
        self._of_word: dict[str, list[tuple[str, re.Pattern[str] | None]]] = {}
        for table in tables:
            bare = table.rpartition(".")[2].lower()
            first = _WORDS.search(bare)
            # a name that is not one word has to stand in the text as it is
            whole = None if first and first[0] == bare else re.compile(rf"\b{re.escape(bare)}\b")
            self._of_word.setdefault(first[0] if first else "", []).append((table, whole))

    def within(self, text: str) -> list[str]:
        """Return the tables that *text* names, in no order that means anything.

        >>> known = NamedTables(["public.orders", "public.order-lines"])
        >>> known.within('SELECT * FROM "Order-Lines" JOIN orders')
        ['public.order-lines', 'public.orders']
        """
        text = text.lower()
        return [
            table
            for word in sorted({*_WORDS.findall(text), ""} & self._of_word.keys())
            for table, whole in self._of_word[word]
            if whole is None or whole.search(text)
        ]
