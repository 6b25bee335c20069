"""Executions come back in order however many there are, from disk where there is a folder for them."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.recorded_files import statements
from tiersim.traces.readers import recorded as readers_recorded
from tiersim.traces.readers.recorded import OrderedStatements, Recorded, write_recorded
from tiersim.traces.schema import STATEMENT_COLUMNS
from tiersim.traces.statistics import read_statements, table_of

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from([None, "a", "b", "c"]), st.sampled_from([None, "rpc", "language"])),
    max_size=60,
)


@settings(max_examples=examples(150), deadline=None)
@given(ROWS, st.lists(st.integers(0, 60), max_size=4), st.booleans())
def test_order_and_ties(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, str | None, str | None]],
    cuts: list[int],
    stored: bool,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers_recorded, "ROWS_PER_RUN", 7)
        recorded = Recorded(scratch=tmp_path_factory.mktemp("scratch") if stored else None)
        known = [
            {"time_ns": time, "rows": number, "session": session, "kind": kind}
            for number, (time, session, kind) in enumerate(rows)
        ]
        edges = [0, *sorted(cuts), len(rows)]
        for start, end in pairwise(edges):
            recorded.add_statements(known[start:end])
        assert len(recorded.statements) == len(rows)
        assert recorded.statements.first_ns == min((row[0] for row in rows), default=None)
        again = statements(recorded)
    in_order = sorted(range(len(rows)), key=lambda number: rows[number][0])
    assert again == [{k: v for k, v in known[number].items() if v is not None} for number in in_order]


def test_a_bundle_of_many_runs_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_recorded, "ROWS_PER_RUN", 100)
    (tmp_path / "scratch").mkdir()
    recorded = Recorded(scratch=tmp_path / "scratch")
    count = 1_234
    for start in range(0, count, 50):
        recorded.add_statements(
            [
                {"time_ns": (number * 7919) % 1000, "session": f"s{number}", "duration_ns": 5}
                for number in range(start, min(start + 50, count))
            ]
        )
    found = write_recorded(recorded, tmp_path, None)
    table = read_statements(tmp_path)
    expected = sorted(range(count), key=lambda number: (number * 7919) % 1000)
    assert table.texts("session") == [f"s{number}" for number in expected]
    assert (found["statements"], found["span_ns"]) == (count, max(table.columns["time_ns"]) + 5)


def test_what_is_closed_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_recorded, "ROWS_PER_RUN", 2)
    ordered = OrderedStatements(tmp_path)
    ordered.add(table_of(STATEMENT_COLUMNS, [{"time_ns": time} for time in range(5)]))
    assert len(list(tmp_path.rglob("*"))) == 3
    ordered.close()
    assert not list(tmp_path.iterdir())
    assert not list(ordered.tables())
