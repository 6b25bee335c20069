"""Statements, queries and counters in bundles: to the last digit, in order, refused in a sentence where they cannot be
read.
"""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiersim.errors import TraceError
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.schema import NOT_KNOWN, QUERY_COLUMNS, STATEMENT_COLUMNS
from tiersim.traces.statistics import (
    NAME,
    STATEMENTS,
    Snapshot,
    StatisticsWriter,
    TableWriter,
    read_queries,
    read_snapshots,
    read_statements,
    storable,
    table_of,
)

LOG = ("log", "log")


def write(folder: Path, *snapshots: Snapshot) -> None:
    writer = StatisticsWriter(folder)
    for snapshot in snapshots:
        writer.append(snapshot)
    writer.close()


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1).map(Decimal),
            st.floats(-1e15, 1e15).filter(lambda x: x == 0 or abs(x) > 1e-2).map(lambda x: Decimal(repr(x))),
            st.text(alphabet="abc\n\u00e4", min_size=1, max_size=5),
        ),
        max_size=4,
    )
)
def test_numbers_come_back_to_the_last_digit(
    tmp_path_factory: pytest.TempPathFactory, values: list[Decimal | str]
) -> None:
    folder = tmp_path_factory.mktemp("bundle")
    named = {f"counter {place}": value for place, value in enumerate(values)}
    write(folder, Snapshot(7, {LOG: {"bytes": Decimal(0), **named}}))
    (found,) = read_snapshots(folder)
    assert found == Snapshot(7, {LOG: {"bytes": Decimal(0), **named}})


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e19", "-1e300"])
def test_what_is_no_number_that_a_counter_can_have_is_not_stored(tmp_path: Path, value: str) -> None:
    assert storable(Decimal(value)) is None
    write(tmp_path, Snapshot(None, {LOG: {"bytes": Decimal(value), "records": Decimal(1)}}))
    assert list(read_snapshots(tmp_path)) == [Snapshot(None, {LOG: {"records": Decimal(1)}})]


def test_a_bundle_without_counters_has_no_snapshots(tmp_path: Path) -> None:
    write(tmp_path)
    assert list(read_snapshots(tmp_path)) == []
    assert not (tmp_path / NAME).exists()
    assert len(read_statements(tmp_path)) == len(read_queries(tmp_path)) == 0


def test_counters_of_another_tool_are_taken_as_they_are_meant(tmp_path: Path) -> None:
    columns = {
        "snapshot": [0, 0, 1],
        "subject": ["log"] * 3,
        "entity": ["log"] * 3,
        "counter": ["bytes", "records", "bytes"],
        "value": [1.5, 2.0, 3.0],
    }
    pq.write_table(pa.table(columns), tmp_path / NAME)
    first, second = read_snapshots(tmp_path)
    assert first == Snapshot(None, {LOG: {"bytes": Decimal("1.5"), "records": Decimal(2)}})
    assert second.values[LOG]["bytes"] == 3


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"snapshot": [0], "subject": ["log"], "entity": ["log"]}, "the column 'counter' is required"),
        (
            {"snapshot": [1, 0], "subject": ["a"] * 2, "entity": ["b"] * 2, "counter": ["c"] * 2, "value": [1, 1]},
            "stands behind 1",
        ),
        ({"snapshot": [0], "subject": [None], "entity": ["b"], "counter": ["c"]}, "'subject' is empty"),
        ({"snapshot": [0], "subject": ["a"], "entity": ["b"], "counter": ["c"], "value": ["many"]}, "another type"),
    ],
)
def test_counters_that_cannot_be_read_are_refused(tmp_path: Path, columns: dict[str, list[object]], says: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / NAME)
    with pytest.raises(TraceError, match=says):
        list(read_snapshots(tmp_path))


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    for name, read in ((NAME, lambda: list(read_snapshots(tmp_path))), (STATEMENTS, lambda: read_statements(tmp_path))):
        (tmp_path / name).write_bytes(b"PAR1 and nothing")
        with pytest.raises(TraceError, match="is not a whole Parquet file"):
            read()


def test_statements_come_back_with_what_is_not_known(tmp_path: Path) -> None:
    rows: list[dict[str, int | str | None]] = [
        {"time_ns": -2, "query": "q", "rows": 0},
        {"time_ns": 5, "duration_ns": 3, "session": "a"},
    ]
    with TableWriter(tmp_path / STATEMENTS, STATEMENT_COLUMNS) as writer:
        for row in rows:
            writer.append(table_of(STATEMENT_COLUMNS, [row]))
    found = read_statements(tmp_path)
    assert found.columns["time_ns"].tolist() == [-2, 5]
    assert found.columns["duration_ns"].tolist() == [NOT_KNOWN, 3]
    assert found.columns["rows"].tolist() == [0, NOT_KNOWN]
    assert (found.texts("session"), found.texts("query")) == ([None, "a"], ["q", None])
    assert pq.read_table(tmp_path / STATEMENTS)["rows"].to_pylist() == [0, None]


def test_a_statement_needs_its_start(tmp_path: Path) -> None:
    pq.write_table(pa.table({"duration_ns": [1]}), tmp_path / STATEMENTS)
    with pytest.raises(TraceError, match="'time_ns' is required"):
        read_statements(tmp_path)
    pq.write_table(pa.table({"time_ns": [1.5]}), tmp_path / STATEMENTS)
    with pytest.raises(TraceError, match="without loss"):
        read_statements(tmp_path)
    pq.write_table(pa.table({"time_ns": [1, None]}), tmp_path / STATEMENTS)
    with pytest.raises(TraceError, match="row 1 is empty"):
        read_statements(tmp_path)


def test_every_word_of_the_tables_is_documented() -> None:
    text = (Path(__file__).parents[1] / "docs" / "bundle.md").read_text()
    for column in (*STATEMENT_COLUMNS, *QUERY_COLUMNS):
        required, null = ("yes" if flag else "no" for flag in (column.required, column.nullable))
        assert f"| `{column.name}` | {column.kind} | {required} | {null} | {column.meaning} |" in text


def test_no_word_counts_twice() -> None:
    for name, subject in SUBJECTS.items():
        assert not subject.counters & subject.gauges, name
        assert not (subject.counters | subject.gauges) & subject.texts - {"setting"}, name
