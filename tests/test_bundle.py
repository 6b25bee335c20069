"""Bundles that other Arrow tools write: what can be taken as it is meant is taken, the rest is refused by column and
row.
"""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tiersim.errors import TraceError
from tiersim.kernel.blocks import of_tables
from tiersim.traces.bundle import Bundle
from tiersim.traces.schema import REQUEST_COLUMNS


def write(folder: Path, **columns: Any) -> Path:
    there: dict[str, Any] = {
        "time_ns": [0, 10, 10],
        "op": ["read", "write", "flush"],
        "offset_bytes": [0, 8192, 0],
        "length_bytes": [8192, 8192, 0],
    }
    there |= columns
    path = folder / "own.trace"
    path.mkdir(exist_ok=True)
    pq.write_table(
        pa.table({key: value for key, value in there.items() if value is not None}), path / "requests.parquet"
    )
    return path


def test_the_four_required_columns_are_enough(tmp_path: Path) -> None:
    requests = Bundle(write(tmp_path)).requests()
    assert requests.op.tolist() == [0, 1, 2]
    assert requests.latency_ns.tolist() == [-1, -1, -1]
    assert requests.file.tolist() == [0, 0, 0]
    assert {name: values.dtype for name, values in vars(requests).items()} == {
        "time_ns": np.int64, "op": np.uint8, "file": np.int32, "offset_bytes": np.int64, "length_bytes": np.int64,
        "stream": np.int32, "purpose": np.uint8, "issue_ns": np.int64, "command": np.int64, "latency_ns": np.int64,
        "flags": np.uint8,
    }  # fmt: skip


def test_kernels_compile_once_for_whatever_was_recorded(tmp_path: Path) -> None:
    more: list[dict[str, Any]] = [
        {},
        {"latency_ns": [1, 2, 3], "stream": ["a", "b", "c"]},
        {"latency_ns": [1, None, 3], "issue_ns": [0, 1, 2], "flags": pa.array([0, 0, 1], pa.uint8())},
    ]
    blocks = [block for one in more for block in Bundle(write(tmp_path, **one)).blocks()]
    assert len({of_tables(block.columns).kind for block in blocks}) == 1


def test_blocks_that_are_read_ahead_come_in_order_and_may_be_left(tmp_path: Path) -> None:
    path = write(
        tmp_path, time_ns=list(range(10)), op=["read"] * 10, offset_bytes=[0] * 10, length_bytes=[512] * 10,
        latency_ns=[*range(8), -7, 9],
    )  # fmt: skip
    before = set(threading.enumerate())
    found = Bundle(path).blocks(4)
    assert [next(found).time_ns.tolist(), next(found).time_ns.tolist()] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(TraceError, match="row 8: -7 is negative"):
        next(found)
    left = Bundle(path).blocks(4)
    next(left)
    left.close()  # type: ignore[attr-defined]  # a generator, of which the type says only that it goes on
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    "times",
    [
        pa.array([0, 10, 10], pa.uint8()),
        pa.array([0.0, 10.0, 10.0]),
        pa.array([0, 10, 10], pa.duration("ns")),
        pa.array([0, 10, 10], pa.int64()),
    ],
)
def test_what_casts_without_loss_is_cast(tmp_path: Path, times: pa.Array) -> None:
    assert Bundle(write(tmp_path, time_ns=times)).requests().time_ns.tolist() == [0, 10, 10]


def test_text_may_be_plain_large_or_a_dictionary(tmp_path: Path) -> None:
    for kind in (pa.string(), pa.large_string()):
        assert Bundle(write(tmp_path, op=pa.array(["read", "read", "flush"], kind))).requests().op.tolist() == [0, 0, 2]
    encoded = pa.array(["read", "write", "flush"]).dictionary_encode()
    bundle = Bundle(write(tmp_path, op=encoded, stream=["a", None, "b"]))
    requests = bundle.requests()
    assert requests.op.tolist() == [0, 1, 2]
    assert [bundle.stream_names[code] if code >= 0 else None for code in requests.stream] == ["a", None, "b"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"time_ns": [0, 10.5, 11]}, "column 'time_ns', row 1: 10.5 cannot be turned into int64 without loss"),
        ({"time_ns": [0, 10, 9]}, "column 'time_ns', row 2: 9 is before the row above; sort by time_ns"),
        ({"time_ns": [0, None, 9]}, "column 'time_ns', row 1: None is not allowed"),
        ({"time_ns": ["a", "b", "c"]}, "column 'time_ns', row 0: 'a' cannot be turned into int64"),
        ({"time_ns": None}, "the column 'time_ns' is required and not there"),
        ({"op": ["read", "wriet", "flush"]}, "column 'op', row 1: 'wriet' is not one of read, write, flush, discard"),
        ({"op": ["read", None, "flush"]}, "column 'op', row 1: None is not one of"),
        ({"op": [1, 2, 3]}, "column 'op', row 0: 1 is not one of"),
        ({"offset_bytes": [0, -1, 0]}, "column 'offset_bytes', row 1: -1 is negative"),
        ({"length_bytes": [0, 512, 0]}, "column 'length_bytes', row 0: 0 is empty"),
        ({"length_bytes": [2.0**80, 512, 0]}, "column 'length_bytes', row 0: .* without loss"),
        ({"purpose": ["x", None, None]}, "column 'purpose', row 0: 'x' is not one of data read"),
        ({"flags": [1, 2, 300]}, "column 'flags', row 2: 300 cannot be turned into uint8"),
        ({"file": ["a", None, "b"]}, "column 'file', row 1: None is not allowed"),
    ],
)
def test_the_rest_is_refused_naming_column_and_row(tmp_path: Path, columns: dict[str, Any], says: str) -> None:
    with pytest.raises(TraceError, match=says) as caught:
        Bundle(write(tmp_path, **columns)).requests()
    assert "\n" not in str(caught.value)


def test_what_is_not_a_bundle_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="is not a trace bundle"):
        Bundle(tmp_path)
    path = write(tmp_path)
    whole = (path / "requests.parquet").read_bytes()
    for damaged in (b"", whole[:100], whole[: len(whole) // 2], b"x" * 1000, whole[:40] + b"\xff" * 60 + whole[100:]):
        (path / "requests.parquet").write_bytes(damaged)
        with pytest.raises(TraceError, match=r"requests\.parquet: is (not a whole|damaged)") as caught:
            Bundle(path).requests()
        assert "\n" not in str(caught.value)
    (path / "requests.parquet").write_bytes(whole)
    for text in ("{", "[]", '{"schema": "tiersim.trace/9"}'):
        (path / "manifest.json").write_text(text)
        with pytest.raises(TraceError, match=r"manifest\.json"):
            Bundle(path)


def test_the_documented_columns_are_the_columns() -> None:
    text = (Path(__file__).parents[1] / "docs" / "bundle.md").read_text()
    for column in REQUEST_COLUMNS:
        kind = "text" if column.kind == "text" else column.kind
        needed, nullable = ("yes" if flag else "no" for flag in (column.required, column.nullable))
        assert f"| `{column.name}` | {kind} | {needed} | {nullable} | {column.meaning} |" in text
