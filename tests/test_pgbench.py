"""What pgbench writes: its logs of transactions and of intervals, and what it prints at the end."""

import gzip
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.imported_rows import said
from tests.recorded_files import DATA, SHARED, read_files, read_or_refused, read_text, statements, texts, values
from tiersim.errors import TraceError
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import detect_format, import_trace
from tiersim.traces.statistics import read_statements

US = 1_000
S = 1_000_000_000
PLAIN = "0 1 3065 0 1795290884 847712\n1 1 3539 1 1795290884 847969\n0 2 1644 0 1795290885 370\n"


def test_transactions(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, PLAIN)
    rows = statements(recorded)
    known = texts(recorded)
    assert [
        (r["time_ns"], r["duration_ns"], r["session"], r["transaction"], r["kind"], known[r["query"]]) for r in rows
    ] == [
        (1_795_290_884 * S + (847_969 - 3_539) * US, 3_539 * US, "client 1", 1, "transaction", "pgbench_script_1"),
        (1_795_290_884 * S + (847_712 - 3_065) * US, 3_065 * US, "client 0", 1, "transaction", "pgbench_script_0"),
        (1_795_290_885 * S + (370 - 1_644) * US, 1_644 * US, "client 0", 2, "transaction", "pgbench_script_0"),
    ]
    assert set(rows[0]) == {"time_ns", "duration_ns", "session", "transaction", "kind", "query"}


def test_the_wait_for_its_turn_is_not_part_of_a_transaction(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, "0 1 5000 0 1795290884 900000 3000\n0 2 700 0 1795290884 950000 100\n")
    assert [(r["time_ns"] % S, r["duration_ns"]) for r in statements(recorded)] == [
        (898_000 * US, 2_000 * US),
        (949_400 * US, 600 * US),
    ]
    assert said("pgbench ran with --rate", recorded.inferred)


def test_retries_are_no_lag() -> None:
    recorded = read_files(DATA / "pgbench_retries.log")
    lines = [line.split() for line in (DATA / "pgbench_retries.log").read_text().splitlines()]
    durations = [int(line[2]) * US for line in lines if line[2] != "failed"]
    assert sorted(row["duration_ns"] for row in statements(recorded)) == sorted(durations)
    assert recorded.dropped == {"transactions that failed": len(lines) - len(durations)}
    assert said("the seventh column is assumed to be retries", recorded.inferred)
    assert len(texts(recorded)) == 2


def test_retries_behind_a_lag(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, "0 1 5000 0 1795290884 900000 3 2\n0 2 700 0 1795290884 950000 2 0\n")
    assert [row["duration_ns"] for row in statements(recorded)] == [4_997 * US, 698 * US]


def test_what_did_not_happen_is_counted(tmp_path: Path) -> None:
    lag = (
        "0 1 4621 0 1412881037 912698 3005\n0 2 skipped 0 1412881037 914578 5217\n0 2 skipped 0 1412881037 914578"
        " 5217\n"
    )
    recorded = read_text(tmp_path, lag)
    assert len(statements(recorded)) == 1
    assert recorded.dropped == {"transactions that pgbench skipped": 2}
    failures = read_files(DATA / "pgbench_failures.log")
    lines = (DATA / "pgbench_failures.log").read_text().splitlines()
    assert failures.dropped == {"transactions that failed": sum("serialization" in line for line in lines)}
    assert len(statements(failures)) + failures.dropped["transactions that failed"] == len(lines)


def test_a_log_of_failures_alone_is_read(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, "0 1 failed 0 1795290884 847712\n" * 3)
    assert recorded.dropped == {"transactions that failed": 3}
    assert not recorded.statements


def test_intervals_are_gauges_at_their_ends() -> None:
    recorded = read_files(DATA / "pgbench_aggregated.log")
    lines = [
        [int(word) for word in line.split()] for line in (DATA / "pgbench_aggregated.log").read_text().splitlines()
    ]
    assert [s.time_ns for s in recorded.snapshots()] == [(line[0] + 1) * S for line in lines]
    for place, (_, count, total, squares, *_rest) in enumerate(lines):
        found = values(recorded, "client", place)["pgbench_aggregated.log"]
        assert found["transactions"] == found["transactions_per_s"] == count
        assert float(found["mean_ms"]) == pytest.approx(total / count / 1000)
        assert float(found["stddev_ms"]) == pytest.approx(np.sqrt(squares / count - (total / count) ** 2) / 1000)
    assert not recorded.statements


def test_damaged_lines_are_left_out_and_named(tmp_path: Path) -> None:
    lines = (
        PLAIN * 20
        + "0 3 x 0 1795290884 1\n0 3 5 0 17952 1\n0 3 5 0 1795290884 1000000\n0 3 5\n"
        + "0 4 skipped 0 1795290884 1\n"
    )
    recorded = read_text(tmp_path, lines + PLAIN)
    assert len(statements(recorded)) == 63
    assert recorded.dropped == {"damaged lines of a pgbench log": 4, "transactions that pgbench skipped": 1}
    assert said("4 of 67 lines are not of pgbench's log, the first is line 61; they were left out", recorded.warnings)


def test_a_log_of_which_most_is_damaged_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        TraceError, match=r"recorded: 4 of 7 lines are not of pgbench's log, the first is line 4; give the file"
    ):
        read_text(tmp_path, PLAIN + "a\nb\nc\nd\n", key="pgbench-log")
    with pytest.raises(TraceError, match="recorded: is empty"):
        read_text(tmp_path, "", key="pgbench-log")


def test_a_compressed_log_that_was_cut_off_is_read_so_far(tmp_path: Path) -> None:
    packed = gzip.compress("".join(f"0 {n} {n % 977} 0 1795290884 {n}\n" for n in range(50_000)).encode())
    recorded = read_text(tmp_path, packed[: len(packed) // 2])
    assert 0 < len(statements(recorded)) < 50_000
    assert said("its compressed data end too early", recorded.warnings)


TRANSACTIONS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.integers(1, 10**6),
        st.integers(0, 10**10),
        st.integers(0, 3),
        st.integers(10**9, 4 * 10**9 - 1),
        st.integers(0, 999_999),
    ),
    min_size=1,
)


@settings(max_examples=examples(100), deadline=None)
@given(TRANSACTIONS)
def test_a_log_becomes_what_it_says(tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[int, ...]]) -> None:
    text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
    recorded = read_text(tmp_path_factory.mktemp("log"), text)
    assert recorded.formats == ["pgbench-log"]
    known = texts(recorded)
    again = [
        (
            int(row["session"].split()[1]),
            row["transaction"],
            row["duration_ns"] // US,
            int(known[row["query"]].split("_")[2]),
            *divmod((row["time_ns"] + row["duration_ns"]) // US, 10**6),
        )
        for row in statements(recorded)
    ]
    assert sorted(again) == sorted(lines)


@settings(max_examples=examples(100), deadline=None)
@given(
    places=st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=6), st.integers(0, 8)), max_size=4),
    name=st.sampled_from(["pgbench_rate.log", "pgbench_failures.log", "pgbench_retries.log", "pgbench_aggregated.log"]),
)
def test_whatever_is_done_to_a_log_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, places: list[tuple[int, bytes, int]], name: str
) -> None:
    data = (DATA / name).read_bytes()
    for place, new, gone in places:
        data = data[:place] + new + data[place + gone :]
    recorded = read_or_refused(tmp_path_factory.mktemp("fuzz"), data, "pgbench-log")
    if recorded is None:
        return
    assert all(row["duration_ns"] >= 0 for row in statements(recorded))


# What it prints.


def test_what_pgbench_prints() -> None:
    recorded = read_files(DATA / "pgbench_rate.out")
    assert values(recorded, "client") == {
        "pgbench_rate.out": {
            "clients": Decimal(2),
            "threads": Decimal(2),
            "seconds": Decimal(2),
            "transactions": Decimal(67),
            "failed": Decimal(0),
            "transactions_per_s": Decimal("34.190250"),
            "mean_ms": Decimal("1.870"),
            "stddev_ms": Decimal("0.606"),
            "lag_mean_ms": Decimal("0.173"),
            "lag_max_ms": Decimal("0.812"),
            "scale": Decimal(2),
            "script": "<builtin: TPC-B (sort of)>",
            "mode": "simple",
        }
    }
    assert recorded.span_ns == 2 * S


def test_the_parts_of_several_scripts_are_not_the_whole() -> None:
    found = values(read_files(DATA / "pgbench_retries.out"), "client")["pgbench_retries.out"]
    assert found["transactions"] == 2200
    assert found["failed"] == 612
    assert found["mean_ms"] == Decimal("2.845")
    assert "stddev_ms" not in found


OLD = """starting vacuum...end.
transaction type: /home/somebody/private.sql
scaling factor: 10
query mode: prepared
number of clients: 4
number of threads: 1
number of transactions per client: 100
number of transactions actually processed: 400/400
latency average: 2.125 ms
latency stddev: 1.500 ms
tps = 1876.5 (including connections establishing)
tps = 1901.25 (excluding connections establishing)
"""


def test_older_versions(tmp_path: Path) -> None:
    recorded = read_text(tmp_path, OLD)
    found = values(recorded, "client")["recorded"]
    assert (found["mean_ms"], found["stddev_ms"]) == (Decimal("2.125"), Decimal("1.500"))
    assert found["transactions"] == 400
    assert found["transactions_per_s"] == Decimal("1901.25")
    assert found["script"] == "private.sql"
    assert recorded.span_ns is None
    assert "failed" not in found
    assert "seconds" not in found


def test_a_run_that_did_not_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="recorded: pgbench printed no result in it"):
        read_text(tmp_path, "pgbench (15.18)\nstarting vacuum...end.\nprogress: 5.0 s, 1.0 tps\n")


# Recordings.

RUNS = (
    *(f"postgres/ab/{run}" for run in ("sel_fast_1", "sel_read400_1", "tpcb_fast_1", "tpcb_read400_1")),
    "blktrace/pgbench_70tps",
)


def _lines(logs: list[Path]) -> Iterator[list[str]]:
    for log in logs:
        data = log.read_bytes()
        for line in (gzip.decompress(data) if log.suffix == ".gz" else data).decode().splitlines():
            yield line.split(" ")


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason="the sample traces are not beside this checkout")
@pytest.mark.parametrize("run", RUNS)
def test_a_recorded_log_agrees_with_a_naive_reader_and_with_what_pgbench_printed(tmp_path: Path, run: str) -> None:
    logs = sorted((SHARED / run).glob("*txn*"))
    printed = SHARED / run / "pgbench.out"
    assert {detect_format(log) for log in logs} == {"pgbench-log"}
    assert detect_format(printed) == "pgbench-output"
    import_trace([*logs, printed], tmp_path / "a.trace")
    table = read_statements(tmp_path / "a.trace")
    lines = list(_lines(logs))
    lag_us = [int(line[6]) if len(line) > 6 else 0 for line in lines]
    starts = [
        int(line[4]) * S + (int(line[5]) - int(line[2]) + lag) * US for line, lag in zip(lines, lag_us, strict=True)
    ]
    first = min(starts)
    assert Bundle(tmp_path / "a.trace").manifest.host["clock_start_unix_ns"] == first
    assert table.columns["time_ns"].tolist() == [start - first for start in sorted(starts)]
    assert int(table.columns["duration_ns"].sum()) == (sum(int(line[2]) for line in lines) - sum(lag_us)) * US
    assert sorted(set(table.texts("session")), key=str) == sorted({f"client {line[0]}" for line in lines})
    found = values(read_files(printed), "client")["pgbench.out"]
    assert len(table) == found["transactions"]
    mean_ms = (table.columns["duration_ns"].sum() / US + sum(lag_us)) / len(table) / 1000
    assert round(mean_ms, 3) == pytest.approx(float(str(found["mean_ms"])), abs=0.0011)
