"""Rows in any order come out in order of time, ties as they came, in memory that does not grow."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.traces.readers import ordered
from tiersim.traces.readers.ordered import OrderedRows, new_rows


@given(
    times=st.lists(st.integers(0, 12), max_size=60),
    drift=st.integers(0, 3),
    per_run=st.integers(1, 20),
    per_read=st.integers(1, 5),
    per_block=st.integers(1, 9),
)
def test_the_order_is_that_of_a_stable_sort(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], drift: int, per_run: int, per_read: int, per_block: int
) -> None:
    rows = new_rows(len(times))
    rows["time_ns"] = np.array(times, np.int64) + drift * np.arange(len(times))
    rows["offset_bytes"] = np.arange(len(times))
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordered, "ROWS_PER_RUN", per_run)
        patch.setattr(ordered, "ROWS_PER_READ", per_read)
        taken = OrderedRows(folder)
        for begin in range(0, len(rows), per_block):
            taken.add(rows[begin : begin + per_block])
        blocks = list(taken.blocks())
    found = np.concatenate([rows[:0], *blocks])
    assert np.array_equal(found, rows[np.argsort(rows["time_ns"], kind="stable")])
    assert list(folder.iterdir()) == []  # each run goes when it is read


def test_few_runs_are_open_at_a_time_where_order_is_nearly_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordered, "ROWS_PER_RUN", 1000)
    monkeypatch.setattr(ordered, "ROWS_PER_READ", 100)
    rows = new_rows(50_000)
    rows["time_ns"] = np.arange(50_000) + np.random.default_rng(3).integers(0, 300, 50_000)
    taken = OrderedRows(tmp_path)
    taken.add(rows)
    at_hand = 0
    for block in taken.blocks():
        assert len(block) <= 2000
        at_hand = max(at_hand, sum(len(run._rows) for run in taken._runs))
    assert at_hand <= 300
