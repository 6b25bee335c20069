"""Tells texts of queries apart without their literals, many times faster than :mod:`tiersim.traces.query_text` reads
them.

Texts of one key have one fingerprint: the kernel takes UTF-16 apart as ``query_text.tokens`` does, leaves out of a
62-bit hash what ``query_text.fingerprint`` leaves out, and sees through the calls of
:mod:`tiersim.traces.readers.sqlserver.texts` whose shape is plain. What it is not sure of it leaves to these two. One
query may have several keys.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.traces.query_text import LONGEST, NO_OPERANDS

Bytes = NDArray[np.uint8]
Units = NDArray[np.int64]

#: What a text is: not decided here, a query as it stands, the query inside of sp_executesql, of sp_prepexec with its
#: handle, the run of a handle, a reset of the connection, housekeeping.
UNDECIDED, PLAIN, INNER, PREPARED, HANDLE, RESET, HOUSEKEEPING = range(7)

#: Columns of what is found: the shape, the key (equal only for one query of one shape), the handle or -1.
SHAPE, KEY, NUMBER = 0, 1, 2

#: Classes of UTF-16 code units; a letter is what may begin a name.
_SIGN, _LETTER, _DIGIT, _SPACE, _SURROGATE = range(5)
_TAB, _LINE, _RETURN, _BLANK = 0x09, 0x0A, 0x0D, 0x20

#: Two polynomial hashes over the field of 2^31 - 1; factors are primes under 2^30, so that no product leaves int64.
_FIELD = (1 << 31) - 1
_FACTOR_A, _FACTOR_B = 998_244_353, 536_870_909
#: What a literal is in the hashes; what names and signs are there besides their letters, in bits above those of a code
#: unit.
_LITERAL_MARK, _NAME_MARK, _QUOTED_MARK, _SIGN_MARK = 1 << 26, 1 << 27, 1 << 28, 1 << 29
#: What the token before was.
_NOTHING, _WAS_LITERAL, _WAS_WORD, _WAS_QUOTED, _WAS_SIGN = range(5)
_MOST_DIGITS = 18


def _word_hash(word: str) -> int:
    """Return what ``_hash_name`` makes of a word."""
    found = 0
    for place in range(0, len(word), 2):
        product = found * _FACTOR_A + (ord(word[place]) << 16 | (ord(word[place + 1]) if place + 1 < len(word) else 0))
        found = (product & _FIELD) + (product >> 31)
    return found


_IN, _ARRAY, _EXEC, _EXECUTE = map(_word_hash, ("in", "array", "exec", "execute"))
_DECLARE, _INT, _SET, _SYS = map(_word_hash, ("declare", "int", "set", "sys"))
_EXECUTESQL, _PREPEXEC, _RESET_CONNECTION = map(_word_hash, ("sp_executesql", "sp_prepexec", "sp_reset_connection"))
_RUN, _FETCH, _CURSOR_RUN = map(_word_hash, ("sp_execute", "sp_cursorfetch", "sp_cursorexecute"))
_UNPREPARE, _UNPREPARE_CURSOR, _CLOSE = map(_word_hash, ("sp_unprepare", "sp_cursorunprepare", "sp_cursorclose"))
_LEFT = tuple(
    map(_word_hash, ("sp_prepare", "sp_cursoropen", "sp_cursorprepare", "sp_cursorprepexec", "sp_cursoroption"))
)


@table_set
class TextTables(NamedTuple):
    """What the kernels look up."""

    classes: NDArray[np.uint8]  # of each UTF-16 code unit
    no_operands: NDArray[np.int64]  # hashes of words after which a minus is a sign, sorted
    units: Units  # room for a text


@lru_cache(1)
def text_tables() -> TextTables:
    """Return the tables; what a letter, digit and space is, is asked of ``re``, which ``query_text`` asks."""
    classes = np.zeros(1 << 16, np.uint8)
    every = "".join(map(chr, range(1 << 16)))
    for kind, pattern in ((_LETTER, r"[^\W\d]"), (_DIGIT, r"\d"), (_SPACE, r"\s")):
        classes[[found.start() for found in re.finditer(pattern, every)]] = kind
    classes[0xD800:0xE000] = _SURROGATE
    words = np.array(sorted(map(_word_hash, NO_OPERANDS)), np.int64)
    return TextTables(classes, words, np.zeros(LONGEST + 2, np.int64))


@kernel(checked=True)
def read_texts(
    data: Bytes,
    texts: Units,
    origins: Units,
    tables: TextTables,
    found: NDArray[np.int64],
) -> None:
    """Tell for each of *texts* what it is, and by which key it is one query with others.

    ``texts`` int64[n] holds place << 32 | bytes of UTF-16 in *data*, or less than 0: no text. ``origins`` int64[n]
    tells texts apart that come from different kinds of events, 0 to 31. ``found`` int64[n, 3] gets SHAPE, KEY and
    NUMBER.
    """
    units = tables.units
    for row in range(len(texts)):
        found[row, SHAPE] = UNDECIDED
        found[row, KEY] = -1
        found[row, NUMBER] = -1
        if texts[row] < 0:
            continue
        place, count = texts[row] >> 32, (texts[row] & 0xFFFFFFFF) >> 1
        if count > LONGEST:
            continue
        for unit in range(count):
            units[unit] = np.int64(data[place + 2 * unit]) | np.int64(data[place + 2 * unit + 1]) << 8
        shape, handle, first, end = _shape(units, count)
        if shape == UNDECIDED:
            continue
        a, b = 64 * shape + int(origins[row]), 1
        well = True
        if shape in (INNER, PREPARED):
            end = _unquote(units, first, end)
        if shape not in (HANDLE, RESET):
            well, a, b = _hash_tokens(tables, first, end, a, b)
        if well:
            found[row, SHAPE] = shape
            found[row, KEY] = (a % _FIELD) << 31 | b % _FIELD
            found[row, NUMBER] = handle


@kernel(checked=True)
def _mixed(found: int, factor: int, value: int) -> int:
    product = found * factor + value
    return (product & _FIELD) + (product >> 31)


@kernel(checked=True)
def _is_blank(unit: int) -> bool:
    return unit == _BLANK or _TAB <= unit <= _RETURN


@kernel(checked=True)
def _is_word(unit: int) -> bool:
    """Tell an ASCII letter, digit or underscore."""
    return 0x61 <= unit <= 0x7A or 0x41 <= unit <= 0x5A or 0x30 <= unit <= 0x39 or unit == 0x5F


@kernel(checked=True)
def _behind_blanks(units: Units, at: int, end: int) -> int:
    while at < end and _is_blank(units[at]):
        at += 1
    return at


@kernel(checked=True)
def _behind_word(units: Units, at: int, end: int) -> tuple[int, int]:
    """Return where a word of ASCII ends, and the first hash of its small letters."""
    first = at
    while at < end and _is_word(units[at]):
        at += 1
    word, _ = _hash_name(units, first, at, True)
    return at, word


@kernel(checked=True)
def _hash_name(units: Units, at: int, end: int, folds: bool) -> tuple[int, int]:
    """Return both hashes of a name, in small letters of ASCII where it *folds*.

    Two units are taken at a time. Pairs that are one number in the field have their halves the other way round in the
    other hash.
    """
    a = b = 0
    while at < end:
        one, two = units[at], units[at + 1] if at + 1 < end else 0
        if folds:
            if 0x41 <= one <= 0x5A:
                one += 32
            if 0x41 <= two <= 0x5A:
                two += 32
        a, b = _mixed(a, _FACTOR_A, one << 16 | two), _mixed(b, _FACTOR_B, two << 16 | one)
        at += 2
    return a, b


@kernel(checked=True)
def _behind_string(units: Units, at: int, end: int) -> int:
    """Return where the string ends whose inside begins at *at*."""
    while at < end:
        if units[at] == 0x27:
            if at + 1 < end and units[at + 1] == 0x27:
                at += 1
            else:
                return at + 1
        at += 1
    return end


@kernel(checked=True)
def _unquote(units: Units, first: int, end: int) -> int:
    """Make two quotes one inside the string that begins at *first*, in place, and return where it ends now."""
    to = at = first
    while at < end:
        if units[at] == 0x27:
            if at + 1 < end and units[at + 1] == 0x27:
                at += 1
            else:
                break
        units[to] = units[at]
        to += 1
        at += 1
    return to


@kernel(checked=True)
def _number(units: Units, at: int, end: int) -> tuple[int, int]:
    """Return where digits of ASCII end, and what they mean, or -1 where they are none or too many."""
    first, value = at, 0
    while at < end and 0x30 <= units[at] <= 0x39 and at - first < _MOST_DIGITS:
        value = value * 10 + units[at] - 0x30
        at += 1
    return at, value if first < at <= first + _MOST_DIGITS else -1


@kernel(checked=True)
def _shape(units: Units, count: int) -> tuple[int, int, int, int]:
    """Return the shape of a text, its handle, and where the query in it begins and ends; see texts.query_of."""
    start, handle_of, handle_end, handle = _printed(units, count)
    at = _behind_blanks(units, start, count)
    behind, word = _behind_word(units, at, count)
    if word not in (_EXEC, _EXECUTE) or behind == count or not _is_blank(units[behind]):
        return PLAIN, -1, 0, count
    at = _behind_blanks(units, behind, count)
    behind, word = _behind_word(units, at, count)
    if word == _SYS and behind < count and units[behind] == 0x2E:
        at = behind + 1
        behind, word = _behind_word(units, at, count)
    elif word == _SYS and behind < count and units[behind] == 0x5D:
        return UNDECIDED, -1, 0, count
    if at < count and units[at] == 0x5B:
        its_first = units[at + 1] | 32 if at + 1 < count else 0
        return UNDECIDED if its_first == 0x73 else PLAIN, -1, 0, count
    if behind < at + 4 or units[at] | 32 != 0x73 or units[at + 1] | 32 != 0x70 or units[at + 2] != 0x5F:
        return PLAIN, -1, 0, count
    if behind < count and (units[behind] == 0x5D or units[behind] > 0x7F):
        return UNDECIDED, -1, 0, count
    at = _behind_blanks(units, behind, count)
    if word == _EXECUTESQL:
        at = _inside(units, _behind_name(units, at, count), count)
        return (PLAIN, -1, 0, count) if at < 0 else (INNER, -1, at, count)
    if word == _RESET_CONNECTION:
        return RESET, -1, 0, 0
    if word in (_RUN, _FETCH, _CURSOR_RUN):
        at, handle = _number(units, at, count)
        if at < count and not _is_blank(units[at]) and units[at] not in (0x2C, 0x27, 0x3B):
            handle = -1
        return UNDECIDED if handle < 0 else HANDLE, handle, 0, 0
    if word == _PREPEXEC:
        at = _third(units, at, count, handle_of, handle_end) if handle >= 0 else -1
        return UNDECIDED if at < 0 else PREPARED, handle, max(at, 0), count
    if word in (_UNPREPARE, _UNPREPARE_CURSOR, _CLOSE):
        return HOUSEKEEPING, -1, 0, count
    return UNDECIDED if word in _LEFT else PLAIN, -1, 0, count


@kernel(checked=True)
def _printed(units: Units, count: int) -> tuple[int, int, int, int]:
    """Return where the call begins behind the parameters printed before it, 0 without them; where the name of the first
    stands, and its value, -1 if it is not the only one, or no number: ``declare @p1 int set @p1=7 exec``.
    """
    at = _behind_blanks(units, 0, count)
    at, word = _behind_word(units, at, count)
    if word != _DECLARE or at == count or not _is_blank(units[at]):
        return 0, 0, 0, -1
    at = _behind_blanks(units, at, count)
    name = at
    if at + 2 >= count or units[at] != 0x40 or units[at + 1] | 32 != 0x70:
        return 0, 0, 0, -1
    at += 2
    digits = at
    while at < count and 0x30 <= units[at] <= 0x39:
        at += 1
    name_end = at
    if at in (digits, count) or not _is_blank(units[at]):
        return 0, 0, 0, -1
    first = at
    call = -1
    while at < count and call < 0:
        if units[at] == 0x27:
            at = _behind_string(units, at + 1, count)
        elif units[at] == _LINE:
            at += 1
            while at < count and units[at] in (_BLANK, _TAB):
                at += 1
            behind, word = _behind_word(units, at, count)
            if word in (_EXEC, _EXECUTE) and behind < count and _is_blank(units[behind]):
                call = at
        else:
            at += 1
    if call < 0:
        return 0, 0, 0, -1
    return call, name, name_end, _printed_value(units, first, call, name, name_end)


@kernel(checked=True)
def _printed_value(units: Units, at: int, end: int, name: int, name_end: int) -> int:
    at, word = _behind_word(units, _behind_blanks(units, at, end), end)
    if word != _INT or at == end or not _is_blank(units[at]):
        return -1
    at, word = _behind_word(units, _behind_blanks(units, at, end), end)
    if word != _SET or at == end or not _is_blank(units[at]):
        return -1
    at = _behind_blanks(units, at, end)
    if not _same(units, at, end, name, name_end):
        return -1
    at = _behind_blanks(units, at + name_end - name, end)
    if at == end or units[at] != 0x3D:
        return -1
    at, value = _number(units, _behind_blanks(units, at + 1, end), end)
    return value if _behind_blanks(units, at, end) == end and at < end else -1


@kernel(checked=True)
def _same(units: Units, at: int, end: int, name: int, name_end: int) -> bool:
    """Tell whether the letters at *at* are those of a name that stands elsewhere, and end there."""
    if at + name_end - name > end:
        return False
    for place in range(name_end - name):
        if units[at + place] != units[name + place]:
            return False
    behind = at + name_end - name
    return not (behind < end and _is_word(units[behind]))


@kernel(checked=True)
def _behind_name(units: Units, at: int, end: int) -> int:
    """Return where the value of an argument begins: behind ``@stmt =``, where that stands."""
    if at < end and units[at] == 0x40:
        behind, _ = _behind_word(units, at + 1, end)
        equal = _behind_blanks(units, behind, end)
        if behind > at + 1 and equal < end and units[equal] == 0x3D:
            return _behind_blanks(units, equal + 1, end)
    return at


@kernel(checked=True)
def _inside(units: Units, at: int, end: int) -> int:
    """Return where the inside of a string begins that begins at *at*, or -1."""
    if at < end and units[at] | 32 == 0x6E:
        at += 1
    return at + 1 if at < end and units[at] == 0x27 else -1


@kernel(checked=True)
def _third(units: Units, at: int, end: int, name: int, name_end: int) -> int:
    """Return where the inside of the third argument begins; -1 where it is no string, or the first not the parameter
    *name*.
    """
    if not _same(units, at, end, name, name_end):
        return -1
    at += name_end - name
    if at < end and not _is_blank(units[at]) and units[at] != 0x2C:
        return -1
    for argument in range(2):
        if argument == 1:
            if at < end and units[at] == 0x40:
                return -1
            inside = _inside(units, at, end)
            at = at if inside < 0 else _behind_string(units, inside, end)
        while at < end and units[at] not in (0x2C, 0x27, 0x3B, 0x3D):
            at += 1
        if at == end or units[at] != 0x2C:
            return -1
        at = _behind_blanks(units, at + 1, end)
    return _inside(units, at, end)


@kernel(checked=True)
def _behind_literal(units: Units, at: int, end: int, classes: NDArray[np.uint8]) -> int:
    """Return where a number, parameter or string that begins at *at* ends; *at* where none does, -1 where that is not
    clear.
    """
    unit = units[at]
    following = units[at + 1] if at + 1 < end else 0
    if unit == 0x27:
        return _behind_string(units, at + 1, end)
    if following == 0x27 and unit | 32 in (0x6E, 0x62, 0x78):
        return _behind_string(units, at + 2, end)
    if (following == 0x27 and unit | 32 == 0x65) or (following == 0x26 and unit | 32 == 0x75):
        return -1
    if classes[unit] == _DIGIT or (unit == 0x2E and classes[following] == _DIGIT and at + 1 < end):
        return _behind_digits(units, at, end, classes)
    if unit == 0x3F:
        return at + 1
    if unit == 0x40:
        while at < end and units[at] == 0x40:
            at += 1
        return _behind_letters(units, at, end, classes) if at < end and _names(classes[units[at]]) else -1
    if unit == 0x24:
        if not (at + 1 < end and classes[following] == _DIGIT):
            return -1
        at += 1
        while at < end and classes[units[at]] == _DIGIT:
            at += 1
        return at
    if unit == 0x3A and at + 1 < end and classes[following] == _LETTER:
        return _behind_letters(units, at + 1, end, classes)
    return at


@kernel(checked=True)
def _names(kind: int) -> bool:
    return kind in (_LETTER, _DIGIT)


@kernel(checked=True)
def _behind_letters(units: Units, at: int, end: int, classes: NDArray[np.uint8]) -> int:
    while at < end and _names(classes[units[at]]):
        at += 1
    return at


@kernel(checked=True)
def _behind_digits(units: Units, at: int, end: int, classes: NDArray[np.uint8]) -> int:
    if units[at] == 0x30 and at + 2 < end and units[at + 1] | 32 == 0x78:
        digit = units[at + 2]
        if classes[digit] == _DIGIT or digit == 0x5F or 0x61 <= digit | 32 <= 0x66:
            return _behind_letters(units, at, end, classes)
    while at < end and (classes[units[at]] == _DIGIT or units[at] == 0x5F):
        at += 1
    if at < end and units[at] == 0x2E:
        at += 1
        while at < end and (classes[units[at]] == _DIGIT or units[at] == 0x5F):
            at += 1
    if at < end and units[at] | 32 == 0x65:
        digits = at + 1
        if digits < end and units[digits] in (0x2B, 0x2D):
            digits += 1
        if digits < end and classes[units[digits]] == _DIGIT:
            at = digits
    return _behind_letters(units, at, end, classes)


@kernel(checked=True)
def _behind_comment(units: Units, at: int, end: int) -> int:
    """Return where a comment ends whose inside begins at *at*; comments nest."""
    depth = 1
    while at + 1 < end:
        if units[at] == 0x2F and units[at + 1] == 0x2A:
            depth += 1
            at += 2
        elif units[at] == 0x2A and units[at + 1] == 0x2F:
            depth -= 1
            at += 2
            if depth == 0:
                return at
        else:
            at += 1
    return end


@kernel(checked=True)
def _behind_plain(units: Units, at: int, end: int, classes: NDArray[np.uint8]) -> int:
    """Return where a name ends that begins at *at*, maybe with signs of temporary tables; -1 where
    it has nothing else.
    """
    while at < end and units[at] == 0x23:
        at += 1
    if at == end or not _names(classes[units[at]]):
        return -1
    while at < end and (_names(classes[units[at]]) or units[at] in (0x23, 0x24)):
        at += 1
    return at


@kernel(checked=True)
def _behind_quoted(units: Units, at: int, end: int, classes: NDArray[np.uint8]) -> int:
    """Return where a name in brackets or double quotes ends that begins at *at*; -1 where it is not clear that it is
    one.
    """
    if units[at] == 0x5B:
        at += 1
        if at == end or classes[units[at]] != _LETTER:
            return -1
        while at < end and units[at] not in (0x5B, 0x27):
            if units[at] == 0x5D:
                return at + 1
            at += 1
        return -1
    at += 1
    while at < end:
        if units[at] == 0x22:
            if at + 1 < end and units[at + 1] == 0x22:
                at += 1
            else:
                return at + 1
        at += 1
    return -1


@kernel(checked=True)
def _sign_units(unit: int, following: int, third: int) -> int:
    """Return how many units a sign has, 0 where that is not clear."""
    if unit == 0x3A:
        return 2 if following in (0x3A, 0x3D) else 0
    if unit == 0x3C:
        return 2 if following in (0x3E, 0x3D, 0x40) else 1
    if unit in (0x3E, 0x21):
        return 2 if following == 0x3D else 1
    if unit == 0x7C:
        return 2 if following == 0x7C else 1
    if unit == 0x2D and following == 0x3E:
        return 3 if third == 0x3E else 2
    return 0 if unit in (0x23, 0x40, 0x5B, 0x5D, 0x22, 0x24) else 1


@kernel(checked=True)
def _hash_tokens(tables: TextTables, at: int, end: int, a: int, b: int) -> tuple[bool, int, int]:
    """Return whether all tokens are clear, and both hashes of them, which go on from *a* and *b*."""
    units, classes, no_operands = tables.units, tables.classes, tables.no_operands
    before, before_word, before_sign = _NOTHING, 0, 0
    # signs of numbers: where the hashes stood before them
    in_run, base_a, base_b, base_pure, base_chain = False, a, b, False, 0
    # the innermost bracket: literals and commas alone so far, and what stood when it opened
    pure, listed, follows_row, begins_well = False, False, False, False
    inside, row, open_a, open_b = 0, 0, a, b
    # a row of literals that closed: 1 behind it, 2 behind its comma
    chain, last_row, row_a, row_b = 0, 0, a, b
    while at < end:
        unit = units[at]
        kind = int(np.int64(classes[unit]))
        following = units[at + 1] if at + 1 < end else 0
        if kind == _SPACE:
            at += 1
            continue
        if unit == 0x2D and following == 0x2D:
            while at < end and units[at] != _LINE:
                at += 1
            continue
        if unit == 0x2F and following == 0x2A:
            at = _behind_comment(units, at + 2, end)
            continue
        if kind == _SURROGATE:
            return False, a, b
        is_name = kind == _LETTER and following != 0x27 and following != 0x26
        behind = at if is_name else _behind_literal(units, at, end, classes)
        if behind < 0:
            return False, a, b
        if behind > at:
            if in_run:
                a, b, pure, chain = base_a, base_b, base_pure, base_chain
            a, b = _mixed(a, _FACTOR_A, _LITERAL_MARK), _mixed(b, _FACTOR_B, _LITERAL_MARK)
            if pure:
                begins_well = begins_well or inside == 0
                inside += 1
                row = _mixed(row, 3, 1)
            chain, before, in_run, at = 0, _WAS_LITERAL, False, behind
            continue
        is_name = is_name or kind == _LETTER or (unit == 0x23 and (following == 0x23 or _names(classes[following])))
        if is_name or unit in (0x5B, 0x22):
            behind = _behind_plain(units, at, end, classes) if is_name else _behind_quoted(units, at, end, classes)
            if behind < 0:
                return False, a, b
            before_word, other = _hash_name(units, at, behind, is_name)
            mark = behind - at + (_NAME_MARK if is_name else _QUOTED_MARK)
            a, b = (
                _mixed(_mixed(a, _FACTOR_A, mark), _FACTOR_A, before_word),
                _mixed(_mixed(b, _FACTOR_B, mark), _FACTOR_B, other),
            )
            before = _WAS_WORD if is_name else _WAS_QUOTED
            chain, pure, in_run, at = 0, False, False, behind
            continue
        length = _sign_units(unit, following, units[at + 2] if at + 2 < end else 0)
        if length == 0:
            return False, a, b
        if length == 1 and unit in (0x2B, 0x2D) and not in_run:
            in_run, base_a, base_b, base_pure, base_chain = True, a, b, pure, chain
            takes = before == _NOTHING or (before == _WAS_SIGN and before_sign != 0x29)
            if before == _WAS_WORD:
                for place in range(no_operands.size):
                    word = no_operands[place]
                    takes = takes or word == before_word
            if not takes:
                base_a, base_b = _mixed(a, _FACTOR_A, _SIGN_MARK | unit), _mixed(b, _FACTOR_B, _SIGN_MARK | unit)
                base_pure, base_chain = False, 0
        elif not (length == 1 and unit in (0x2B, 0x2D)):
            in_run = False
        if unit == 0x29 and pure and inside > 0 and listed and begins_well:
            a, b = _mixed(open_a, _FACTOR_A, _LITERAL_MARK), _mixed(open_b, _FACTOR_B, _LITERAL_MARK)
        if unit == 0x29 and pure and inside > 0 and not listed and follows_row and row == last_row:
            a, b = row_a, row_b
        else:
            sign = _SIGN_MARK | (length - 1) << 16 | unit
            a, b = _mixed(a, _FACTOR_A, sign), _mixed(b, _FACTOR_B, sign)
            for place in range(1, length):
                a, b = _mixed(a, _FACTOR_A, units[at + place]), _mixed(b, _FACTOR_B, units[at + place])
        if unit == 0x2C:
            chain = 2 if chain == 1 else 0
            if pure:
                inside += 1
                row = _mixed(row, 3, 2)
        elif unit == 0x28:
            pure, inside, row, begins_well, open_a, open_b = True, 0, 1, False, a, b
            listed = before == _WAS_WORD and before_word in (_IN, _ARRAY)
            follows_row = chain == 2
            chain = 0
        elif unit == 0x29 and pure and inside > 0 and not listed:
            chain, last_row, row_a, row_b, pure = 1, row, a, b, False
        else:
            chain, pure = 0, False
        before, before_sign = _WAS_SIGN, unit if length == 1 else 0
        at += length
    return True, a, b
