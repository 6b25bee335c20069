"""Executions synthesised from recordings of PostgreSQL 15 and 18, against what their files say, read here a second
time.
"""

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.counted_bundles import synthesised
from tests.test_synthesis import of_query, overlaps
from tiersim.scenarios.calibration.synthesis import Synthesis
from tiersim.traces.readers import import_trace
from tiersim.traces.statistics import STATEMENTS, read_queries
from tiersim.units import NS_PER_MS, NS_PER_S

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "postgres"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the recordings are not beside this checkout"),
]
LAB = ("select_zipf_sb1024_r2000", "select_zipf_sb256_free", "select_zipf_sb64_r500", "update_zipf_sb512_free",
       "update_zipf_sb512_rw300")  # fmt: skip
PAIRS = ("sel_fast_1", "sel_read400_1", "tpcb_fast_1", "tpcb_read400_1")
#: Of any version.
IO_MS = ("shared_blk_read_time", "blk_read_time", "shared_blk_write_time", "blk_write_time")
COUNTS = {"physical_reads": "shared_blks_read", "writes": "shared_blks_written", "pages_dirtied": "shared_blks_dirtied",
          "log_bytes": "wal_bytes", "rows": "rows"}  # fmt: skip


def after(folder: Path) -> Iterator[dict[str, str]]:
    """Statements of the load: both recordings began with an empty pg_stat_statements."""
    csv.field_size_limit(1 << 30)
    path = next(
        p for p in (folder / "pg_stat_statements.after.csv", folder / "after/pg_stat_statements.csv") if p.exists()
    )
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if int(row["calls"]) > 1:
                yield row


def seconds_of(folder: Path) -> int:
    text = next(p for p in (folder / "pgbench.txt", folder / "pgbench.out") if p.exists()).read_text()
    found = re.search(r"duration: (\d+) s", text)
    assert found
    return int(found[1])


def recorded(folder: Path, tmp_path: Path) -> Path:
    target = tmp_path / "recorded.trace"
    import_trace([folder], target)
    return target


def check_sums(made: Synthesis, folder: Path) -> None:
    """Compare what each query's executions add up to with the file."""
    rows = list(after(folder))
    assert rows
    for row in rows:
        found = of_query(made, next(q.entity for q in made.queries if q.entity.endswith("/" + row["queryid"])))
        sums = {name: int(values.sum()) for name, values in found.items()}
        duration_ms = found["duration_ns"] / NS_PER_MS
        assert len(duration_ms) == int(row["calls"])
        assert sums["duration_ns"] / NS_PER_MS == pytest.approx(float(row["total_exec_time"]), abs=1e-5)
        assert sums["io_wait_ns"] / NS_PER_MS == pytest.approx(sum(float(row.get(n) or 0) for n in IO_MS), abs=1e-5)
        assert duration_ms.mean() == pytest.approx(float(row["mean_exec_time"]), rel=1e-6)
        assert duration_ms.max() == pytest.approx(float(row["max_exec_time"]), abs=1e-5)
        assert duration_ms.min() == pytest.approx(float(row["min_exec_time"]), abs=1e-5)
        if len(duration_ms) > 100:
            assert duration_ms.std() == pytest.approx(float(row["stddev_exec_time"]), rel=0.02)
        assert sums["logical_reads"] == int(row["shared_blks_hit"]) + int(row["shared_blks_read"])
        for ours, theirs in COUNTS.items():
            assert sums[ours] == int(row[theirs])


def little(made: Synthesis) -> float:
    """Mean number of executions at once, by going through starts and ends."""
    columns = made.executions.columns
    edges = np.concatenate([columns["time_ns"], columns["time_ns"] + columns["duration_ns"]])
    steps = np.concatenate([np.ones(len(made.executions)), -np.ones(len(made.executions))])
    order = np.lexsort((-steps, edges))
    at_once = np.cumsum(steps[order])
    return float((at_once[:-1] * np.diff(edges[order])).sum() / (edges.max() - edges.min()))


@pytest.mark.parametrize("name", [LAB[0], *(pytest.param(name, marks=pytest.mark.long) for name in LAB[1:])])
def test_cells_of_the_lab(name: str, tmp_path: Path) -> None:
    folder = SHARED / "lab" / name
    made = synthesised(recorded(folder, tmp_path), 1)
    check_sums(made, folder)
    assert made.closed
    assert made.sessions == len(made.executions.words["session"]) == 8
    assert made.think_ns == 0
    assert overlaps(made) == 0
    columns, seconds = made.executions.columns, seconds_of(folder)
    rate_per_s, mean_ns = len(made.executions) / seconds, columns["duration_ns"].mean()
    assert little(made) == pytest.approx(rate_per_s * mean_ns / NS_PER_S, rel=0.01)
    # 8 = rate × (time in the server + outside of it): Little's law of the closed loop
    assert rate_per_s * (mean_ns + made.overhead_ns) / NS_PER_S == pytest.approx(8, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in LAB if name.startswith("update")])
def test_a_transaction_of_the_lab_is_an_update_and_a_select(name: str, tmp_path: Path) -> None:
    target = recorded(SHARED / "lab" / name, tmp_path)
    made, queries = synthesised(target, 1), read_queries(target)
    texts = dict(zip(queries.texts("query"), queries.texts("text"), strict=True))
    begins = [str(texts[word]).split()[0] for word in made.executions.words["query"]]
    columns = made.executions.columns
    order = np.lexsort((columns["time_ns"], columns["transaction"]))
    found: dict[int, list[str]] = {}
    for number, code in zip(columns["transaction"][order].tolist(), columns["query"][order].tolist(), strict=True):
        if begins[code] in ("UPDATE", "SELECT"):
            found.setdefault(number, []).append(begins[code])
    assert set(map(tuple, found.values())) == {("UPDATE", "SELECT")}


@pytest.mark.long
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("logged", [False, True], ids=["sums alone", "with the log of transactions"])
def test_pairs_of_snapshots(name: str, tmp_path: Path, logged: bool) -> None:
    folder = SHARED / "ab" / name
    target = recorded(folder, tmp_path)
    if not logged:
        (target / STATEMENTS).unlink()
    made = synthesised(target, 1)
    check_sums(made, folder)
    assert made.sessions == 8
    assert made.think_ns == 0
    assert overlaps(made) == 0
    sessions = [str(name) for name in made.executions.texts("session")]
    clients = {f"client {n}" for n in range(8)}
    if logged:
        assert clients < set(sessions)
        assert sum(session not in clients for session in sessions) < 20
    else:
        assert len(set(sessions)) == 8
