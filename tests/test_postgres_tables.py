"""Rows of PostgreSQL's tables are the same whatever text they were saved as."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.postgres_texts import EXACT, PRINTED, Rows, as_csv, as_unaligned
from tiersim.traces.readers.text_tables import tables_of
from tiersim.traces.readers.views import Row

SAMPLES = Path(__file__).parent / "data" / "postgres" / "forms"
PSQL = [
    path for path in sorted(SAMPLES.iterdir()) if path.name.startswith(("aligned", "expanded", "comma", "semicolon"))
]


def rows_of(text: str) -> list[list[Row | None]]:
    return [[row for _, row in table.rows] for table in tables_of(text)]


def sample(*, empty: bool) -> list[Row]:
    """The rows that every sample holds, printed by psql 15 itself; *empty*: with the empty text, which psql prints as
    null.
    """
    lines = (SAMPLES / "row_to_json.json").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line, parse_int=str, parse_float=str) for line in lines]
    return [{name.lower(): value if empty else value or None for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("path", PSQL, ids=lambda path: path.name)
def test_what_psql_prints_is_read_back(path: Path) -> None:
    assert rows_of(path.read_text(encoding="utf-8")) == [sample(empty=False)]


@pytest.mark.parametrize("name", ["copy_tab.csv", "json_agg.json", "row_to_json.json", "document.json"])
def test_copy_and_json_tell_the_empty_text_from_null(name: str) -> None:
    assert rows_of((SAMPLES / name).read_text(encoding="utf-8")) == [sample(empty=True)]


def test_the_time_beside_the_rows_of_json_is_kept() -> None:
    (table,) = tables_of((SAMPLES / "document.json").read_text(encoding="utf-8"))
    assert table.beside == {"time": "2026-11-21T09:00:00+00:00"}


def test_unaligned_text_keeps_what_is_certain() -> None:
    rows = sample(empty=False)
    bars, after_lines = 2, 3  # a bar in a value; lines at the end of a row are taken for the beginning of the next
    known = [None if i in (bars, after_lines) else row for i, row in enumerate(rows)]
    assert rows_of((SAMPLES / "unaligned.txt").read_text(encoding="utf-8")) == [known]


NAMES = st.lists(st.from_regex(r"[a-z_][a-z0-9_]{0,12}", fullmatch=True), min_size=2, max_size=5, unique=True)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
#: What psql prints as it is: without control characters, and without spaces at the ends of a line.
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=9).map(
    lambda text: text.strip() or "x"
)
LINES = st.lists(PLAIN, min_size=1, max_size=3).map("\n".join)


def tables(values: st.SearchStrategy[str | None]) -> st.SearchStrategy[Rows]:
    def of(names: list[str]) -> st.SearchStrategy[Rows]:
        row = st.lists(values, min_size=len(names), max_size=len(names)).map(lambda v: dict(zip(names, v, strict=True)))
        return st.lists(row, min_size=1, max_size=4)

    return NAMES.flatmap(of)


@pytest.mark.parametrize("form", EXACT)
@given(rows=tables(st.none() | TEXTS))
@settings(max_examples=examples(25))
def test_csv_and_json_give_every_row_back(form: str, rows: Rows) -> None:
    assert rows_of(EXACT[form](rows)) == [rows]


@pytest.mark.parametrize("form", PRINTED)
@given(rows=tables(st.none() | LINES))
@settings(max_examples=examples(25))
def test_psql_forms_give_every_row_back(form: str, rows: Rows) -> None:
    rows = [{"id": str(number), **row} for number, row in enumerate(rows)]  # a row of nothing is a blank line
    assert rows_of(PRINTED[form](rows)) == [rows]


@given(rows=tables(st.none() | PLAIN.map(lambda text: text.replace("|", "!"))))
@settings(max_examples=examples(25))
def test_unaligned_rows_come_back(rows: Rows) -> None:
    rows = [{"id": str(number), **row} for number, row in enumerate(rows)]
    assert rows_of(as_unaligned(rows)) == [rows]


def test_several_tables_of_a_script_are_told_apart() -> None:
    text = "SET\nTiming is on.\n" + PRINTED["aligned, border 1"]([{"a": "1", "b": "2"}]) + "Time: 0.3 ms\n"
    text += PRINTED["expanded, border 1"]([{"c": "x\ny"}]) + as_unaligned([{"d": "4", "e": None}]) + "\n"
    assert rows_of(text) == [[{"a": "1", "b": "2"}], [{"c": "x\ny"}], [{"d": "4", "e": None}]]


def test_a_table_without_rows_has_its_columns() -> None:
    for text in ("a,b\n", " a | b \n---+---\n(0 rows)\n\n", "a|b\n(0 rows)\n"):
        assert [(table.columns, list(table.rows)) for table in tables_of(text)] == [(("a", "b"), [])]


def test_wide_characters_do_not_move_columns() -> None:
    text = " a    | b \n------+---\n 漢字 | 1\n é    | 2\n(2 rows)\n"
    assert rows_of(text) == [[{"a": "漢字", "b": "1"}, {"a": "é", "b": "2"}]]


def test_rows_that_cannot_be_told_are_none_and_the_others_stay() -> None:
    assert rows_of('a,b\n1,2\n3\n"x"y,4\n5,6\n"cut') == [[{"a": "1", "b": "2"}, None, None, {"a": "5", "b": "6"}, None]]
    assert rows_of('{"a": 1}\n{"a": \n{"a": 3}\n') == [[{"a": "1"}, None, {"a": "3"}]]


def test_rows_say_in_which_line_they_begin() -> None:
    assert [[line for line, _ in table.rows] for table in tables_of('a,b\n"x\ny",1\nz,2\n')] == [[2, 4]]


@given(st.data())
@settings(max_examples=examples(100))
def test_no_text_breaks_it(data: st.DataObject) -> None:
    rows = data.draw(tables(st.none() | LINES))
    text = data.draw(st.sampled_from([*EXACT.values(), *PRINTED.values()]))(rows)
    for _ in range(data.draw(st.integers(0, 4))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.text('",|+-\n[]{}* ', max_size=3)) + text[place + 1 :]
    for table in tables_of(text):
        assert all(row is None or isinstance(row, dict) for _, row in table.rows)


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "a,b\n" + '"' * 300_001,
        'a,b\n"' + 'x""\n' * 200_000,
        "a|b\n" + "x\n" * 400_000,
        "{" * 400_000,
        '{"a":\n' * 100_000,
        " a | b\n---+---\n" + " x+|+\n" * 100_000,
        "-[ RECORD 1 ]\n" + "a | +\n" + "  | +\n" * 100_000,
        "-" * 1_000_000,
        "+-" * 400_000,
        "a,b\n" + '"\n' * 200_000,
    ],
    ids=[
        "quotes",
        "doubled quotes",
        "unaligned",
        "braces",
        "nested",
        "goes on",
        "expanded",
        "rule",
        "rules",
        "odd quotes",
    ],
)
def test_hostile_texts_take_no_longer_than_their_length(text: str) -> None:
    begun = time.perf_counter()
    for table in tables_of(text):
        for _ in table.rows:
            pass
    assert time.perf_counter() - begun < 5  # s; one that grows with the square would take minutes


def test_quotes_of_every_kind_are_undone() -> None:
    rows: Rows = [{"a": 'say "x"', "b": None}, {"a": "x,y", "b": "2"}]
    assert rows_of(as_csv(rows)) == [rows]
    assert rows_of('"A";"b"\r\n"1";"2"\r\n') == [[{"a": "1", "b": "2"}]]
