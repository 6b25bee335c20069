"""Texts of SQL Server are told apart without their literals, by a kernel as by the readable way, and calls run what is
inside them.
"""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.traces.query_text import fingerprint
from tiersim.traces.readers.sqlserver.text_kernels import (
    HANDLE,
    INNER,
    KEY,
    NUMBER,
    PLAIN,
    PREPARED,
    RESET,
    SHAPE,
    UNDECIDED,
    read_texts,
    text_tables,
)
from tiersim.traces.readers.sqlserver.texts import query_of

QUERY = "SELECT a FROM t WHERE b = 'x''y' AND c IN (1, 2, 3)"
QUOTED = QUERY.replace("'", "''")


def found(texts: list[str]) -> list[tuple[int, int, int]]:
    """Return shape, key and handle of each text, as the kernel tells them."""
    encoded = [text.encode("utf-16-le", "surrogatepass") for text in texts]
    places = np.cumsum([0, *map(len, encoded)])
    packed = np.array(
        [place << 32 | len(data) for place, data in zip(places.tolist(), encoded, strict=False)], np.int64
    )
    data = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    rows = np.zeros((len(texts), 3), np.int64)
    read_texts(data, packed, np.zeros(len(texts), np.int64), text_tables(), rows)
    return [(shape, key, number) for shape, key, number in rows.tolist()]


def key(text: str) -> int:
    ((shape, key, _),) = found([text])
    assert shape != UNDECIDED
    return key


@pytest.mark.parametrize(
    ("text", "inner", "kind", "prepares", "runs"),
    [
        (f"exec sp_executesql N'{QUOTED}',N'@p int',@p=3", QUERY, "rpc", None, None),
        (f"EXECUTE sys.sp_executesql @stmt = N'{QUOTED}'", QUERY, "rpc", None, None),
        (
            f"declare @p1 int\r\nset @p1=7\r\nexec sp_prepexec @p1 output,N'@P0 int',N'{QUOTED}',1\r\nselect @p1",
            QUERY,
            "rpc",
            7,
            None,
        ),
        ("exec sp_execute 7,1,N'x'", None, "rpc", None, 7),
        ("exec sp_cursorfetch 180150003,2,0,128", None, "rpc", None, 180150003),
        ("declare @p1 int\nset @p1=NULL\nexec sp_prepexec @p1 output,NULL,N'select 1'", "select 1", "rpc", None, None),
        ("exec dbo.Shop @a=1,@b=N'exec sp_execute 7'", "exec dbo.Shop @a=1,@b=N'exec sp_execute 7'", "rpc", None, None),
        ("exec sp_executesql @sql", "exec sp_executesql @sql", "rpc", None, None),
        ("exec sp_unprepare 7", "exec sp_unprepare 7", "utility", None, None),
        ("exec sp_reset_connection ", None, "utility", None, None),
        ("", "", "rpc", None, None),
    ],
)
def test_a_call_runs_what_is_inside_it(
    text: str, inner: str | None, kind: str, prepares: int | None, runs: int | None
) -> None:
    call = query_of(text, "rpc")
    assert (call.text, call.kind, call.prepares, call.runs) == (inner, kind, prepares, runs)
    assert call.resets == ("reset" in text)


@pytest.mark.parametrize(
    ("text", "shape", "number"),
    [
        (QUERY, PLAIN, -1),
        (f"exec sp_executesql N'{QUOTED}',N'@p int',@p=3", INNER, -1),
        (
            f"declare @p1 int\r\nset @p1=7\r\nexec sp_prepexec @p1 output,N'@P0 int',N'{QUOTED}',1\r\nselect @p1",
            PREPARED,
            7,
        ),
        (f"declare @p1 int\r\nset @p1=7\r\nexec sp_prepexec @p1 output,NULL,N'{QUOTED}'", PREPARED, 7),
        ("exec sp_execute 7,1,N'x'", HANDLE, 7),
        ("exec sp_reset_connection", RESET, -1),
        ("exec [dbo].[Shop] @a=1", PLAIN, -1),
    ],
)
def test_common_calls_stay_on_the_fast_path(text: str, shape: int, number: int) -> None:
    ((told, _, handle),) = found([text])
    assert (told, handle) == (shape, number)


#: The value of a parameter that is printed before the call that prepares with it, and that call.
PREPARES = "exec sp_prepexec @p1 output,NULL,N'select 1'"


@pytest.mark.parametrize(
    "text",
    [
        "exec [sys].sp_executesql N'select 1'",
        "exec sys].sp_execute 7",
        "exec sp_x] 1",
        "exec sp_größe 1",
        "exec sp_execute 7x",
        "exec sp_execute",
        PREPARES,
        f"declare @p1 varchar(9)\nset @p1='a\nexec b'\n{PREPARES}",
        f"declare @p1 int,@p2 int\nset @p1=7\n{PREPARES}",
        f"declare @p1 int\nset @p2=7\n{PREPARES}",
        f"declare @p1 int\nset @p10=7\n{PREPARES}",
        f"declare @p1 int\nset @p1 7\n{PREPARES}",
        f"declare @p1 int\nset @p1=12345678901234567890\n{PREPARES}",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p10 output,NULL,N'select 1'",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1;output,NULL,N'select 1'",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output,@p2,N'select 1'",
        "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output,NULL=1,N'select 1'",
        "select $",
        "select :",
        "select @",
        "select #",
        "select e'x'",
        "select u&'x'",
        'select "a',
        "select [1]",
        "select [",
        "select [a",
        "select \U0001f600",
    ],
)
def test_what_is_not_clear_is_left_to_the_readable_way(text: str) -> None:
    assert found([text]) == [(UNDECIDED, -1, -1)]


@pytest.mark.parametrize(
    "text", ["declare", "declare @q1 int exec a", "declare @p int exec a", "declare @p1", "declare @p1 int set @p1=7"]
)
def test_what_declares_and_calls_nothing_is_a_query(text: str) -> None:
    ((shape, _, _),) = found([text])
    assert (shape, query_of(text, "rpc").text) == (PLAIN, text)


@pytest.mark.parametrize(
    "other",
    [
        "$1",
        ":a",
        "?",
        "@@rowcount",
        "b'1'",
        "0xFF",
        "1.5e+3",
        ".5",
        "1_000.5_0",
        "'a''b",
        "/* /* in */ */ 1",
        "1 -- end",
    ],
)
def test_every_way_to_write_a_value_is_one_query(other: str) -> None:
    assert key(f"select {other}") == key("select 1")
    assert fingerprint(f"select {other}") == fingerprint("select 1")


def test_signs_of_two_and_three_characters_are_one() -> None:
    texts = [f"a {sign} b" for sign in ("::", ":=", "<@", "<>", "->", "->>", "!=", ">=", "||", "|", "<", ">", "!", "~")]
    texts += ['a "b""c"', "a [b c]", "a ##t", "a #t$1#", "/* open"]
    assert len({key(text) for text in texts}) == len({fingerprint(text) for text in texts}) == len(texts)


@pytest.mark.parametrize(
    "other",
    [
        "select A from T where b=N'z' and c in (1)",
        "SELECT a FROM t WHERE b = 'x' AND c IN (1, -2, @p4, 5.5e-3, 0xFF)",
        "SELECT a /* trace 4711 */ FROM t -- tag\n WHERE b = @p0 AND c IN (@p1, @p2)",
    ],
)
def test_literals_comments_lists_and_case_make_no_other_key(other: str) -> None:
    assert key(other) == key(QUERY)
    assert fingerprint(other) == fingerprint(QUERY)


def test_rows_of_an_insert_make_no_other_key() -> None:
    keys = {key(f"insert t (a, b) values {','.join(['(1, -2)'] * rows)}") for rows in (1, 2, 5)}
    assert len(keys) == 1
    assert key("insert t (a, b) values (1, 2), (1)") not in keys


def test_other_queries_have_other_keys() -> None:
    texts = [
        QUERY,
        QUERY.replace("b =", "b >"),
        QUERY.replace("t WHERE", "[T] WHERE"),
        QUERY.replace("a F", "a.b F"),
        "select a-b",
        "select a -5",
    ]
    assert len({key(text) for text in texts}) == len(texts)


WORDS = [
    "select",
    "a",
    "b",
    "in",
    "array",
    "values",
    "set",
    "alter",
    "exec",
    "#t",
    "and",
    "x1$",
    "größe",
    "and",
    "=",
    "to",
]
LITERALS = [
    "1",
    "-2",
    "'x'",
    "N'y''z'",
    "@p",
    "@@v",
    "?",
    "0xFF",
    "1.5e-3",
    ".5",
    "$1",
    "'--'",
    "'/*'",
    ":n",
    "1abc",
    "- -3",
]
SIGNS = [
    "(",
    ")",
    ",",
    "-",
    "+",
    ".",
    "=",
    "<>",
    "<=",
    ";",
    "*",
    "/",
    "::",
    "->",
    "->>",
    ":=",
    "||",
    "!=",
    "~",
    "(1,2)",
    ",(3,4)",
    "in (1,2)",
]
OTHER = [
    "[a b]",
    "[1]",
    '"q""r"',
    '"',
    "[",
    "]",
    "'",
    "--c\n",
    "/*c*/",
    "/*",
    "$",
    "@",
    "#",
    ":",
    "E'\\''",
    "U&'x'",
    "\u00b2",
    "\U0001f600",
    "\ud800",
    "\u3000",
    "\0",
    "\n",
    "\u212a",
]
PIECES = st.sampled_from([*WORDS, *LITERALS, *SIGNS, *OTHER])
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(["", " ", "\r\n\t"])), max_size=14)


def joined(pieces: list[tuple[str, str]]) -> str:
    return "".join(piece + space for piece, space in pieces)


@st.composite
def alike(draw: st.DrawFn) -> list[str]:
    """Draw texts that differ in literals, lists, rows and comments, and a few times in more."""
    pieces = draw(TEXTS)
    texts = [joined(pieces)]
    for _ in range(draw(st.integers(1, 3))):
        other = []
        for piece, space in pieces:
            if piece in LITERALS and draw(st.booleans()):
                other.append((draw(st.sampled_from(LITERALS)), space))
            elif piece in (",(3,4)", "in (1,2)", "/*c*/") and draw(st.booleans()):
                other.append((draw(st.sampled_from([",(3,4),(5,6)", "in (7)", "/*d*/", ",(3,4)", "in (1,2)"])), space))
            else:
                other.append((piece, space))
        texts.append(joined(other))
    return texts


def wrapped(text: str, how: int) -> str:
    quoted = text.replace("'", "''")
    return [
        text,
        f"exec sp_executesql N'{quoted}',N'@p int',@p=1",
        f"declare @p1 int\r\nset @p1=5\r\nexec sp_prepexec @p1 output,NULL,N'{quoted}'",
        f"  EXEC sys.sp_executesql @stmt= '{quoted}",
        f"exec sp_prepare @p1 output,N'',N'{quoted}',1",
        f"exec {text}",
        f"declare @p1 int\nset @p1='\nexec {text}'\nexec {text}",
    ][how]


@pytest.mark.kernels
@settings(max_examples=examples(1500), deadline=None)
@given(alike(), st.integers(0, 6))
@example(["x - 1", "x - -1"], 0)
@example(["in (1)", "in (,1)"], 0)
def test_texts_of_one_key_are_one_query(texts: list[str], how: int) -> None:
    texts = [wrapped(text, how) for text in texts]
    told = found(texts)
    calls = [query_of(text, "rpc") for text in texts]
    for (one, first), (two, second) in itertools.combinations(zip(told, calls, strict=True), 2):
        if one[SHAPE] != UNDECIDED and one[KEY] == two[KEY]:
            assert first.kind == second.kind
            assert (first.text is None) == (second.text is None)
            assert fingerprint(first.text or "") == fingerprint(second.text or "")
    for (shape, _, number), call in zip(told, calls, strict=True):
        if shape != UNDECIDED:
            assert number == next((n for n in (call.prepares, call.runs) if n is not None), -1)
            assert (shape == RESET) == call.resets
            assert (shape == HANDLE) == (call.runs is not None)


def test_a_text_that_is_too_long_is_left_to_be_read() -> None:
    assert found(["select " + "a" * 100_000])[0][SHAPE] == UNDECIDED
    assert found(["select '" + "a" * 90_000])[0][NUMBER] == -1
