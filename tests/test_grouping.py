"""Rows of each code by one sort are those that a mask for each finds; rows in order those of numpy's sort by several
columns; tables by their words those that a search for each finds.
"""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.grouping import order_by, rows_of_each
from tiersim.traces.query_text import NamedTables


@given(st.lists(st.integers(0, 6) | st.sampled_from([65_535, 65_536, 10**6]), max_size=40))
def test_rows_of_each_are_those_of_a_mask(codes: list[int]) -> None:
    column = np.array(codes, np.int32)
    found = [(code, rows.tolist()) for code, rows in rows_of_each(column)]
    assert found == [(code, np.flatnonzero(column == code).tolist()) for code in sorted(set(codes))]


@given(st.lists(st.tuples(st.integers(-3, 3) | st.sampled_from([2**62, -(2**62)]), st.integers(0, 2)), max_size=60))
def test_rows_in_order_are_those_of_a_stable_sort_by_every_column(rows: list[tuple[int, int]]) -> None:
    first, other = np.array(rows, np.int64).reshape(-1, 2).T
    assert order_by(first).tolist() == np.argsort(first, kind="stable").tolist()
    assert order_by(first, other).tolist() == sorted(range(len(rows)), key=lambda row: rows[row])
    assert order_by(first, other, -other).tolist() == np.lexsort((-other, other, first)).tolist()


_WORDS = st.text("abAB1_é-. $", min_size=1, max_size=6)


@given(
    st.lists(_WORDS, max_size=5, unique=True), st.lists(_WORDS | st.sampled_from(["orders", "order-lines"]), max_size=6)
)
def test_tables_in_a_text_are_those_that_a_search_for_each_finds(names: list[str], words: list[str]) -> None:
    tables = [f"public.{name.replace('.', '_')}" for name in [*names, "Orders", "order-lines", "orders2"]]
    text = " ".join(words)

    def searched(table: str) -> bool:
        return re.search(rf"\b{re.escape(table.rpartition('.')[2])}\b", text, re.IGNORECASE) is not None

    assert sorted(NamedTables(tables).within(text)) == sorted(filter(searched, tables))


@pytest.mark.parametrize("text", ["", "SELECT 1", "SELECT * FROM reorders", "SELECT * FROM orders_old"])
def test_a_text_that_names_no_table_finds_none(text: str) -> None:
    assert NamedTables(["public.orders"]).within(text) == []
