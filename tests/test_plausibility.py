"""What an import says about numbers that no storage can have produced; every format goes through it."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tiersim.errors import TraceError
from tiersim.traces.bundle import Requests
from tiersim.traces.readers import import_trace
from tiersim.traces.readers.plausibility import Plausibility

S, MS, US = 10**9, 10**6, 10**3


def block(rows: int = 1000, /, **columns: Any) -> Requests:
    """Return plausible requests (one each 1.000007 ms, 8 KiB, 200 µs), with some columns replaced."""
    number = np.arange(rows)
    values = {
        "time_ns": number * 1_000_007,
        "op": number % 2,
        "file": 0,
        "offset_bytes": number * 8192,
        "length_bytes": 8192,
        "stream": -1,
        "purpose": 6,
        "issue_ns": -1,
        "command": -1,
        "latency_ns": 200_123,
        "flags": 0,
        **columns,
    }
    kinds: dict[str, Any] = dict.fromkeys(("op", "purpose", "flags"), np.uint8)
    kinds |= dict.fromkeys(("file", "stream"), np.int32)
    full = {name: np.broadcast_to(value, rows).astype(kinds.get(name, np.int64)) for name, value in values.items()}
    return Requests(**full)


def said(*blocks: Requests) -> str:
    plausibility = Plausibility("x.csv")
    for one in blocks:
        plausibility.see(one)
    return "\n".join(plausibility.warnings())


def test_a_plausible_trace_is_left_in_peace() -> None:
    assert said(block()) == ""
    assert said(block(latency_ns=-1)) == ""
    assert said(block(3, time_ns=np.array([0, 1, 2]) * S)) == ""  # too few to say anything


NUMBER = np.arange(1000)


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"time_ns": 5}, "all 1,000 requests have the same time"),
        ({"time_ns": NUMBER * 10**15}, "span 32 years"),
        ({"time_ns": NUMBER * US + 10**17}, "the first request comes 100,000,000 s after time 0"),
        ({"time_ns": NUMBER}, "more than any host issues"),
        ({"time_ns": NUMBER // 10 * S}, "time resolution is 1 s: order inside 1 s is all there is"),
        ({"time_ns": NUMBER // 10 * 3 * MS}, "time resolution is 1 ms"),
        ({"latency_ns": 101 * S + 1}, "the mean latency is 101 s"),
        ({"latency_ns": 0}, "was it measured at all?"),
        ({"latency_ns": 999}, "less than any storage takes"),
        ({"latency_ns": NUMBER % 5 * 100_001}, "20% of the latencies are exactly 0"),
        ({"latency_ns": 90 * S + 1, "time_ns": NUMBER * 1001}, "requests were in flight"),
        ({"latency_ns": (NUMBER % 3 + 1) * MS}, "latencies are multiples of 1 ms and 2 ms on average"),
        ({"offset_bytes": 1 << 51}, "2048 TiB from the start"),
        ({"length_bytes": 65 << 20}, "the mean request is 65 MiB"),
        ({"length_bytes": np.where(NUMBER == 7, 100, 512)}, "1 of 1,000 requests do not begin and end"),
        ({"offset_bytes": 1}, "1,000 of 1,000 requests do not begin and end"),
    ],
)
def test_an_odd_column_is_named(columns: dict[str, Any], sentence: str) -> None:
    assert sentence in said(block(**columns))


@pytest.mark.parametrize(
    "columns",
    [
        {"time_ns": NUMBER * S},  # whole seconds, but no two in one of them: nothing is lost
        {"op": np.where(NUMBER % 2, 2, 0), "length_bytes": np.where(NUMBER % 2, 0, 8192)},
        {"op": 3, "length_bytes": 1 << 40},  # discards may be as large as the device
        {"latency_ns": (NUMBER % 3 + 20) * MS},
        {"time_ns": NUMBER * 1_000_007 + 30 * S},
    ],
)
def test_what_storage_does_is_not_odd(columns: dict[str, Any]) -> None:
    assert said(block(**columns)) == ""


def test_nothing_at_all_is_odd() -> None:
    assert said() == said(block(0)) == "there is not one request"


@pytest.mark.parametrize("column", ["time_ns", "offset_bytes", "length_bytes"])
@pytest.mark.parametrize("value", [-1, 2**60 + 1])
def test_what_no_bundle_holds_is_refused(column: str, value: int) -> None:
    with pytest.raises(TraceError, match=rf"^x.csv: request 3: {column} {value} is not between"):
        said(block(**{column: np.where(NUMBER == 3, value, 5)}))


@given(st.lists(st.tuples(*[st.integers(0, 3 * S)] * 2, st.integers(-1, 3 * S)), min_size=1), st.data())
@settings(max_examples=examples(50), deadline=None)
def test_cutting_a_trace_in_blocks_changes_nothing(rows: list[tuple[int, int, int]], data: st.DataObject) -> None:
    times, offsets, latencies = (np.array(column) for column in zip(*rows, strict=True))
    whole = block(len(rows), time_ns=np.sort(times), offset_bytes=offsets, latency_ns=latencies)
    cut = data.draw(st.integers(0, len(rows)))
    parts = [Requests(**{n: c[s] for n, c in vars(whole).items()}) for s in (slice(None, cut), slice(cut, None))]
    assert said(*parts) == said(whole)


def test_an_import_says_it_once_and_the_next_import_not_again(tmp_path: Path) -> None:
    table = pa.table(
        {"time_ns": NUMBER // 10 * S, "op": ["read"] * 1000, "offset_bytes": NUMBER * 512, "length_bytes": [512] * 1000}
    )
    pq.write_table(table, tmp_path / "own.parquet")
    first = import_trace([tmp_path / "own.parquet"], tmp_path / "one.trace")
    again = import_trace([tmp_path / "one.trace"], tmp_path / "two.trace")
    assert len(first.warnings) == 1
    assert "time resolution is 1 s" in first.warnings[0]
    assert again.warnings == first.warnings


def test_lengths_that_cannot_be_added_are_refused() -> None:
    with pytest.raises(TraceError, match=r"x\.csv: its requests together are longer than 2\^60 bytes"):
        said(block(2, length_bytes=1 << 60))
