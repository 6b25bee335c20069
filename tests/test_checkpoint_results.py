"""What a result says of checkpoints and the log, from what a run leaves behind."""

from typing import Any

import numpy as np
import pytest

from tests.runs import statements_of
from tiersim.devices.plant import PlantBuilder
from tiersim.scenarios.statements.course import (
    Course,
    checkpoints_of,
    database_table,
    impact_of,
    log_of,
    written_of,
)
from tiersim.simulator.categories import FIRST_CLASS, TRANSACTION
from tiersim.simulator.database.build import DatabaseHost, add_database
from tiersim.simulator.database.checkpoint.checkpointer import BY_LOG, BY_TIME, IDLE, SYNCING, WRITING, Checkpoints
from tiersim.simulator.database.database_state import EVICTED_DIRTY, MIDPOINT, POLICY, Database
from tiersim.simulator.metrics import new_metrics, record_sync
from tiersim.units import NS_PER_MS, NS_PER_S

COMMIT = FIRST_CLASS
#: Seconds of the timeline, an interval each; 10 transactions a second outside of the checkpoint, 5 inside.
SECONDS, CHECKPOINT = 100, (40, 60)


def database(**checkpointer: int) -> Database:
    """A database that ran, for as many seconds."""
    host = DatabaseHost(cores=1, frames=1, checkpoints=Checkpoints())
    made = add_database(PlantBuilder(1), host, [], [], statements_of(0), intervals=SECONDS)
    for name, value in checkpointer.items():
        made.checkpointer[0][name] = value
    return made


def course(checkpoints: list[tuple[Any, ...]], *, state: int = IDLE, from_s: int = 0, until_s: int = SECONDS) -> Course:
    """Transactions and commits of 2 ms inside of CHECKPOINT and 1 ms outside; the checkpoints are
    those that are given.
    """
    made = database(count=len(checkpoints) - (state != IDLE), state=state)
    for place, row in enumerate(checkpoints):
        made.checkpoints[place] = row
    metrics = new_metrics(FIRST_CLASS + 1, 1, 1, SECONDS + 1, NS_PER_S)
    ends = []
    for second in range(from_s, SECONDS):
        inside = CHECKPOINT[0] <= second < CHECKPOINT[1]
        for number in range(5 if inside else 10):
            ends.append(second * NS_PER_S + number * 100 * NS_PER_MS)
            for column in (TRANSACTION, COMMIT):
                record_sync(metrics, column, second, (2 if inside else 1) * NS_PER_MS)
    classes = {"transaction": TRANSACTION, "commit": COMMIT}
    return Course(made, metrics, classes, np.array(ends), from_s * NS_PER_S, until_s * NS_PER_S)


def row(start_s: float, written_s: float, end_s: float, trigger: int = BY_TIME) -> tuple[int, ...]:
    return (*(round(at * NS_PER_S) for at in (start_s, written_s, end_s)), 500, 480, 7_000_000, trigger)


def test_a_checkpoint_says_when_it_ran_what_it_wrote_and_what_transactions_felt() -> None:
    (found,) = checkpoints_of(course([row(40, 59, 60, BY_LOG)]))
    latency_ns = found.pop("latency_ns")
    assert found == {
        "start_ns": 40 * NS_PER_S,
        "end_ns": 60 * NS_PER_S,
        "write_ns": 19 * NS_PER_S,
        "sync_ns": NS_PER_S,
        "pages": 500,
        "written_pages": 480,
        "writes": 480,
        "bytes": 480 * 8192,
        "log_bytes": 7_000_000,
        "trigger": "log",
        "dip_pct": pytest.approx(100 * (1 - 5 / 9)),
        "basis": "simulated",
    }
    for name in ("transaction", "commit"):
        assert latency_ns[name]["count"] == 100
        assert latency_ns[name]["mean"] == 2 * NS_PER_MS


def test_a_checkpoint_under_way_has_no_end() -> None:
    writing = checkpoints_of(course([row(10, 11, 12), row(90, 0, 0)], state=WRITING))
    assert [one["end_ns"] for one in writing] == [12 * NS_PER_S, None]
    assert (writing[1]["write_ns"], writing[1]["sync_ns"]) == (None, None)
    assert writing[1]["latency_ns"]["transaction"]["count"] == 100  # until the run ended
    (syncing,) = checkpoints_of(course([row(90, 95, 0)], state=SYNCING))
    assert (syncing["write_ns"], syncing["sync_ns"], syncing["end_ns"]) == (5 * NS_PER_S, None, None)


def test_a_dip_is_the_worst_five_seconds_against_all_of_the_run() -> None:
    edge, short, late = checkpoints_of(course([row(56, 58, 62), row(39, 39.5, 40), row(97, 98, 99)]))
    assert edge["dip_pct"] == pytest.approx(100 * (1 - 6 / 9))  # 4 seconds of 5, 1 of 10
    assert short["dip_pct"] == pytest.approx(100 * (1 - 6 / 9))  # of 39 to 44 s
    assert late["dip_pct"] is None  # the run is over sooner


def test_inside_and_outside_of_checkpoints() -> None:
    found = impact_of(course([row(40, 50, 60)]))
    assert found is not None
    assert found["inside"]["transactions_per_s"] == 5
    assert found["outside"]["transactions_per_s"] == 10
    assert found["inside"]["duration_ns"] == 20 * NS_PER_S
    assert found["outside"]["duration_ns"] == 80 * NS_PER_S
    for name in ("transaction", "commit"):
        inside, outside = (found[side]["latency_ns"][name] for side in ("inside", "outside"))
        assert (inside["count"], outside["count"]) == (100, 800)
        assert (inside["mean"], outside["mean"]) == (2 * NS_PER_MS, NS_PER_MS)
        assert inside["p95"] is None  # 5 samples lie beyond it
        assert outside["p95"] == pytest.approx(NS_PER_MS, rel=0.04)


def test_what_is_not_counted_is_on_neither_side() -> None:
    found = impact_of(course([row(10, 11, 12), row(30, 45, 50), row(95, 0, 0)], state=WRITING, from_s=40, until_s=90))
    assert found is not None
    assert found["inside"]["duration_ns"] == 10 * NS_PER_S
    assert found["outside"]["duration_ns"] == 40 * NS_PER_S
    assert found["inside"]["latency_ns"]["transaction"]["count"] == 50
    assert found["outside"]["latency_ns"]["transaction"]["count"] == 50 + 300
    assert found["outside"]["transactions_per_s"] == 350 / 40
    assert impact_of(course([row(10, 11, 12)], from_s=40)) is None
    assert impact_of(course([])) is None


def test_the_log_by_flush_and_by_transaction() -> None:
    made = database()
    log = made.log[0]
    log["inserted"], log["flushes"], log["commits"], log["images"] = 80_000, 20, 50, 3
    log["written_bytes"], log["sync_ns"] = 163_840, 20 * NS_PER_MS
    assert log_of(made, 40) == {
        "flushes": 20,
        "commits": 50,
        "commits_per_flush": 2.5,
        "bytes": 80_000,
        "written_bytes": 163_840,
        "bytes_per_transaction": 2000,
        "full_page_images": 3,
        "sync_mean_ns": NS_PER_MS,
    }
    idle = log_of(database(), 0)
    assert (idle["commits_per_flush"], idle["bytes_per_transaction"], idle["sync_mean_ns"]) == (None, None, None)


def test_pages_are_told_by_who_wrote_them() -> None:
    made = course([row(1, 2, 3), row(40, 0, 0)], state=WRITING).database
    assert written_of(made) == {"sessions": 0, "background_writer": 0, "checkpoints": 2 * 480}
    made.pool_state[EVICTED_DIRTY] = 7
    assert written_of(made) == {"sessions": 7, "background_writer": 0, "checkpoints": 2 * 480}
    made.replacement[POLICY] = MIDPOINT  # of InnoDB, whose page cleaners count for themselves
    assert written_of(made) is None


def test_the_database_over_time() -> None:
    run = course([row(1, 2, 3)])
    run.database.history[:4, :5] = [(5, 100, 1, 0, 0), (7, 300, 3, 2, 1), (6, 300, 3, 6, 2), (6, 350, 4, 6, 0)]
    table = database_table(run, end_ns=3 * NS_PER_S + 1)  # the fourth interval was not over
    assert table.to_pydict() == {
        "start_ns": [0, NS_PER_S, 2 * NS_PER_S],
        "end_ns": [NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S],
        "dirty_pages": [5, 7, 6],
        "log_bytes": [100, 200, 0],
        "log_flushes": [1, 2, 0],
        "checkpoint_pages": [0, 2, 4],
        "checkpoint_phase": ["none", "writing", "syncing"],
        "transactions": [10, 10, 10],
    }
