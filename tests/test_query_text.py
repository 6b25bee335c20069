"""Query texts lose their literals, and fingerprints bring together what is one query."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.traces.query_text import LONGEST, fingerprint, skeleton, without_literals


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SELECT a FROM t -- tag\n WHERE b IN (1, 2,3) AND c = 'O''Neil'", "SELECT a FROM t WHERE b IN (?) AND c = ?"),
        ("select /* a /* nested */ tag */ 1", "select ?"),
        ("insert into t(a,b) values (1,'x'),(2,'y'),($3,$4)", "insert into t(a, b) values (?, ?)"),
        ("insert into t values (1)", "insert into t values (?)"),
        ("select E'it\\'s', $tag$ body $tag$, N'x', B'01', 0xFF, 1.5e-3, .5", "select ?, ?, ?, ?, ?, ?, ?"),
        ("where a = -5 and b - 5 > +3", "where a = ? and b - ? > ?"),
        (
            "select a::int, b->>'k' from \"My Table\" where [Odd Name] = @p1",
            'select a::int, b ->> ? from "My Table" where [Odd Name] = ?',
        ),
        ("SELECT count(*) FROM t WHERE x = ANY(ARRAY[1,2,3])", "SELECT count(*) FROM t WHERE x = ANY (ARRAY[?])"),
        ("SET application_name TO 'me'; SELECT 1", "SET application_name TO ?; SELECT ?"),
        ("set app.token = hunter2", "set app.token = ?"),
        ("ALTER SYSTEM SET primary_conninfo = 'password=hunter2'", "ALTER SYSTEM SET primary_conninfo = ?"),
        ("UPDATE t SET a = b WHERE c = 1", "UPDATE t SET a = b WHERE c = ?"),
        ("ALTER ROLE bob WITH PASSWORD 'hunter2'", "ALTER ROLE bob WITH PASSWORD ?"),
        ("select 'cut off in the middle", "select ?"),
        ("DO $$ hunter2", "DO ?"),
        ("", ""),
    ],
)
def test_literals_go_and_the_rest_stays(text: str, kept: str) -> None:
    assert without_literals(text) == kept


SAME = [
    "UPDATE accounts SET abalance = abalance + $1 WHERE aid = $2;",
    "UPDATE accounts SET abalance = abalance + -4711 WHERE aid = 5",
    "update accounts\n  set abalance=abalance+:delta where aid=:aid",
    "UPDATE accounts SET abalance = abalance + @delta WHERE aid = @aid /* app:shop */",
    "UPDATE accounts SET abalance = abalance + ? WHERE aid = ?",
]


def test_one_query_has_one_fingerprint_wherever_it_was_recorded() -> None:
    assert len({fingerprint(text) for text in SAME}) == 1
    assert len(fingerprint(SAME[0])) == 16


@pytest.mark.parametrize(
    "other",
    [
        "UPDATE accounts SET abalance = abalance - $1 WHERE aid = $2",
        "UPDATE tellers SET abalance = abalance + $1 WHERE aid = $2",
        'UPDATE "Accounts" SET abalance = abalance + $1 WHERE aid = $2',
    ],
)
def test_other_queries_have_others(other: str) -> None:
    assert fingerprint(other) != fingerprint(SAME[0])


def test_lists_of_any_length_are_one_query_and_columns_are_not() -> None:
    assert fingerprint("select a from t where b in (1)") == fingerprint("select a from t where b in (1,2,3)")
    assert fingerprint("insert into t values (1, 2)") == fingerprint("insert into t values (1, 2), (3, 4), (5, 6)")
    assert fingerprint("select f(1)") != fingerprint("select f(1, 2)")


@given(st.text(max_size=200))
def test_any_text_is_taken_and_a_text_without_literals_has_the_same_fingerprint(text: str) -> None:
    assert fingerprint(without_literals(text)) == fingerprint(text)
    assert without_literals(without_literals(text)) == without_literals(text)


_PIECES = st.sampled_from(
    [
        "a",
        "t1",
        " ",
        "'",
        "''",
        "1",
        "23",
        ".",
        "-",
        "(",
        ",",
        ")",
        "in",
        "=",
        "$1",
        "E'",
        "@p",
        ":n",
        "::",
        ";",
        "set",
        "x",
        "é",
        "0x1F",
        "1e5",
        "_",
    ]
)


@settings(max_examples=examples(400))
@given(
    st.lists(_PIECES, max_size=14),
    st.lists(st.sampled_from(["'b c'", "'x'", "7", "8.25", "900"]), min_size=4, max_size=4),
)
def test_texts_that_share_a_skeleton_are_one_query(pieces: list[str], literals: list[str]) -> None:
    text = " ".join(pieces)
    bare = skeleton(text)
    if bare is None:
        return
    # what was cut out, filled with something else, has the same skeleton; so both must be one query
    numbers, strings = iter(l for l in literals * 4 if l[0] != "'"), iter(l for l in literals * 4 if l[0] == "'")
    other = re.sub(
        r"''|(?<![\w$#@:.])0(?![\w$#@.])", lambda m: next(strings if m.group() == "''" else numbers, m.group()), bare
    )
    if skeleton(other) == bare:
        assert fingerprint(other) == fingerprint(text)
        assert without_literals(other) == without_literals(text)


def test_names_are_not_taken_for_literals() -> None:
    assert skeleton("select 1 from t1 where a = 'b'") == skeleton("select 25 from t1 where a = 'other'")
    assert skeleton("select 1 from t1") != skeleton("select 1 from t2")
    assert skeleton('select 1 from "t 1"') is None
    assert skeleton("select 1 -- it's") is None


SECRET = "hunter2"


@given(st.text(alphabet=" aA1'\"$()[],;-*/=\\\n", max_size=30), st.text(alphabet=' aA1"$(),;-*/=\n', max_size=30))
def test_what_stood_in_a_literal_stands_nowhere(before: str, after: str) -> None:
    # whatever stands before and behind: if the server takes the middle for a string, nothing of it is left
    inside = before.count("'") % 2 == 0 and not any(mark in before for mark in ('"', "$", "--", "/*", "\\", "["))
    if inside:
        assert SECRET not in without_literals(f"{before} '{SECRET}' {after}")


@pytest.mark.long
@pytest.mark.parametrize(
    "evil", ["/*", "'", '"', "$a$", "(", "1.", "[", "-", "(1,", "--", "in (1", "a[", "e'\\", "),(", "set a="]
)
def test_time_grows_with_the_length_alone(evil: str) -> None:
    length = LONGEST // 2
    text = (evil * length)[:length]
    start = time.process_time()
    without_literals(text)
    fingerprint(text)
    assert time.process_time() - start < 1.25
