"""How deep checkpoints cut into throughput, and what the server's log says of them."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.real_postgres import checkpoints
from benchmarks.real_postgres.commits import commits_of
from benchmarks.real_postgres.counters import counted
from benchmarks.real_postgres.dips import Span, dips, scatter, throughput
from benchmarks.real_postgres.plan import cells, read_plan
from benchmarks.real_postgres.predict import KINDS, Checkpoint, Run, measured, table
from tiersim.errors import ScenarioError

PLANS = Path(__file__).parents[1] / "benchmarks" / "real_postgres"
LOG = """\
1795319968.569 LOG:  checkpoint starting: time
1795319988.860 LOG:  automatic analyze of table "template1.pg_catalog.pg_collation"
\tI/O timings: read: 1.063 ms, write: 0.187 ms
1795319995.159 LOG:  checkpoint complete: wrote 4877 buffers (59.5%), wrote 9 SLRU buffers; 0 WAL file(s) added, 0 removed, 2 recycled; \
write=26.300 s, sync=0.100 s, total=26.591 s; sync files=10, longest=0.099 s, average=0.010 s; distance=42350 kB, estimate=135291 kB; \
lsn=0/1646E360, redo lsn=0/14E76320
1795319998.161 LOG:  checkpoint starting: wal
"""  # noqa: E501


def test_throughput_counts_the_ends_of_each_whole_window() -> None:
    ended_s = np.array([-0.5, 0.0, 1.0, 4.999, 5.0, 9.0, 14.9, 16.0])
    assert throughput(ended_s, 17.0).tolist() == [0.6, 0.4, 0.2]


def test_a_dip_is_the_least_window_of_a_checkpoint_against_the_whole_run() -> None:
    per_s = np.array([100.0, 100.0, 60.0, 40.0, 100.0, 20.0])  # mean 70
    assert dips(per_s, [Span(10, 25)]) == [pytest.approx(40 / 70)]


def test_only_windows_wholly_within_a_checkpoint_count() -> None:
    per_s = np.array([100.0, 10.0, 100.0, 10.0, 100.0, 100.0])
    assert dips(per_s, [Span(5.1, 19.9)]) == [pytest.approx(100 / 70)]
    assert dips(per_s, [Span(5.0, 20.0)]) == [pytest.approx(10 / 70)]


def test_checkpoints_that_do_not_end_or_are_too_short_have_no_dip() -> None:
    assert dips(np.full(4, 50.0), [Span(12, 21), Span(6, 9)]) == []


def test_scatter() -> None:
    assert scatter([0.5, 0.75, 0.625]) == 0.25
    assert scatter([]) == 0


def test_the_log_says_when_checkpoints_began_and_ended() -> None:
    first, second = checkpoints.parse(LOG.splitlines())
    assert first == checkpoints.Checkpoint(1795319968.569, "time", 1795319995.159, 4877, 26.3, 0.1, 0.099, 42350)
    assert second == checkpoints.Checkpoint(1795319998.161, "wal")


def test_what_completes_without_a_start_is_of_another_log() -> None:
    assert checkpoints.parse(LOG.splitlines()[3:4]) == []


def test_the_measurement_meets_what_it_is_for() -> None:
    """Three repeats with a timeout of 5 minutes, each until the second checkpoint has ended."""
    plan = read_plan(PLANS / "cells.toml")
    assert (plan.settings["checkpoint_timeout"], plan.settings["autovacuum"]) == ("5min", "on")
    names = [[cell.name for cell in together] for together in cells(plan)]
    assert names[:2] == [["direct-free"], ["buffered-free"]]
    assert names[2:] == [[f"direct-capped-{n}", f"buffered-capped-{n}"] for n in (1, 2, 3)]
    capped = cells(plan)[2][0]
    assert capped.run_s > 2 * 300 + 0.9 * 300
    assert capped.settings["debug_io_direct"] == "data,wal"
    assert cells(plan)[2][1].settings["debug_io_direct"] == ""


def test_commits_take_what_the_log_says_of_those_that_ended_in_the_run() -> None:
    """Not how long they took to be parsed, and no other statements."""
    lines = [
        "1795319967.900 LOG:  duration: 90.000 ms  execute P_6: END;",
        "1795319968.100 LOG:  duration: 0.005 ms  parse P_6: END;",
        "1795319968.200 LOG:  duration: 1.000 ms  execute P_6: END;",
        "1795319968.300 LOG:  duration: 50.000 ms  execute P_5: UPDATE pgbench_accounts SET abalance = 1;",
        "1795319968.400 LOG:  duration: 4.000 ms  execute P_6: END;",
    ]
    found = commits_of(lines, 1795319968.0, (0.5,))
    assert found == {"timed": 2, "mean_ms": 2.5, "quantiles_ms": {"0.5": 2.5}}
    assert commits_of(lines, 1795319969.0, (0.5,)) is None


def test_rounds_name_kinds(tmp_path: Path) -> None:
    text = (PLANS / "short.toml").read_text().replace('kinds = ["buffered"]', 'kinds = ["bufered"]')
    (tmp_path / "plan.toml").write_text(text)
    with pytest.raises(ScenarioError, match="'bufered' is none of the kinds"):
        read_plan(tmp_path / "plan.toml")


def test_counters_are_what_grew(tmp_path: Path) -> None:
    for when, records, reads in (("before", 10, 3), ("after", 25, 5)):
        for view in ("pg_stat_bgwriter", "pg_stat_checkpointer", "pg_stat_database"):
            (tmp_path / f"{view}.{when}.csv").write_text("name,same\nbench,7\n")
        (tmp_path / f"pg_stat_wal.{when}.csv").write_text(
            f"wal_records,stats_reset\n{records},2026-01-01 00:00:00+00\n"
        )
        (tmp_path / f"pg_stat_io.{when}.csv").write_text(
            f"backend_type,object,context,reads\nclient backend,relation,normal,{reads}\nclient backend,wal,normal,\n"
        )
    assert counted(tmp_path) == {"pg_stat_wal.wal_records": 15, "client backend/relation/normal.reads": 2}


def test_a_run_is_made_of_when_the_transactions_of_each_client_ended() -> None:
    slow, fast = np.arange(0.9, 21.0), np.arange(0.4, 25.0, 0.5)
    run = Run.of([slow, fast], 20.0, (Checkpoint(Span(5, 20), 7),))
    assert run.transactions_per_s == 3
    assert run.mean_ms == pytest.approx((19.9 + 19.9) / 60 * 1e3)
    assert run.p95_ms == pytest.approx(1000)
    assert run.windows_per_s.tolist() == [3, 3, 3, 3]
    assert run.dips == [1]


def test_predictions_are_compared_with_the_mean_of_the_repeats() -> None:
    def run(factor: float) -> Run:
        return Run(
            100 * factor, 80 / factor, 90.0, np.array([100.0, 50 * factor, 100.0]), (Checkpoint(Span(0, 15), 10),)
        )

    lines = table("direct", [run(1.0), run(1.2)], run(1.1))
    assert lines[0] == "| direct | throughput | 110 /s | 20 | 110 | +0.0% |"
    assert lines[3] == "| direct | pages of a checkpoint | 10  | 0 | 10 | +0.0% |"
    assert lines[-1].startswith("| direct | dip to | ")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_measured_is_kept(kind: str) -> None:
    repeats = [run for _, run in measured(kind, PLANS / "results")]
    assert len(repeats) == 3
    assert sum(len(run.dips) for run in repeats) >= 5
    for run in repeats:
        assert run.windows_per_s.mean() == pytest.approx(run.transactions_per_s, rel=0.01)
        assert all(0.6 < dip < 0.9 for dip in run.dips)
