"""Events of SQL Server become executions: at one level, of logical sessions, each with its own costs and waits."""

from typing import Any

import numpy as np
import pytest

from tests.imported_rows import said
from tests.recorded_files import statements, texts
from tiersim.traces.readers.recorded import Recorded
from tiersim.traces.readers.sqlserver.events import CLASSES, COLUMN_NAMES, Wait, What, wait_class
from tiersim.traces.readers.sqlserver.execution_kernels import WHAT
from tiersim.traces.readers.sqlserver.executions import ExecutionEvent, Executions, finish_executions, new_events

pytestmark = pytest.mark.kernels

S = 1_795_000_000_000_000_000
MS = 1_000_000


def recorded_of(*events: ExecutionEvent) -> Recorded:
    recorded = Recorded()
    executions = recorded.of(Executions)
    for event in events:
        executions.take(event)
    finish_executions(recorded)
    finish_executions(recorded)
    return recorded


def batch(
    text: str = "select 1", at_ms: int = 0, took_ms: int = 1, session: int = 51, what: What = What.BATCH, **more: Any
) -> ExecutionEvent:
    return ExecutionEvent(
        what, text, end_ns=S + (at_ms + took_ms) * MS, duration_ns=took_ms * MS, session=session, **more
    )


def test_a_batch_and_its_statements_are_counted_once() -> None:
    recorded = recorded_of(
        batch("select b", 1, 2, what=What.STATEMENT),
        batch("select a", 0, 5),
        batch("select c", 9, 1, what=What.PROCEDURE_STATEMENT),
    )
    (row,) = statements(recorded)
    assert (row["time_ns"], row["duration_ns"], texts(recorded)[row["query"]]) == (S, 5 * MS, "select a")
    assert recorded.dropped == {"statements inside batches and calls that were recorded, too": 2}
    assert said("executions are whole batches and remote procedure calls; statements inside them", recorded.inferred)


def test_no_open_transaction_is_none_that_executions_share() -> None:
    """The action transaction_id is 0 where none is open any more when an execution ends: each committed by itself."""
    recorded = recorded_of(*(batch(at_ms=5 * place, transaction=number) for place, number in enumerate((0, 7, 7, 0))))
    assert [row.get("transaction", -1) for row in statements(recorded)] == [-1, 7, 7, -1]


def test_executions_that_clients_gave_up_are_said() -> None:
    """Their durations are timeouts: faster storage would have let them do the rest."""
    recorded = recorded_of(batch(took_ms=30_000, outcome=2), batch(at_ms=40_000, outcome=0), batch(at_ms=50_000))
    assert len(statements(recorded)) == 3
    assert said("1 executions were aborted", recorded.warnings)
    assert not recorded_of(batch(outcome=0), batch(at_ms=5, outcome=1)).warnings


def test_statements_are_executions_where_nothing_else_is_complete() -> None:
    recorded = recorded_of(ExecutionEvent(What.BEGINNING, "select 1"), batch(what=What.STATEMENT))
    assert len(statements(recorded)) == 1
    assert recorded.dropped == {"starts of batches, calls and statements": 1}
    assert said("executions are statements; no batch or remote procedure call", recorded.inferred)


def test_statements_of_batches_count_beside_calls_where_no_batch_was_recorded() -> None:
    """rpc_completed and sql_statement_completed are all that many trace: no statement of a batch lies in a call."""
    recorded = recorded_of(
        ExecutionEvent(What.WAIT, session=51, duration_ns=MS, wait=Wait.IO),
        batch("select i", 1, 3, what=What.PROCEDURE_STATEMENT, nest=1, logical_reads=30),
        batch("exec p", 0, 5, what=What.STATEMENT, logical_reads=31),
        batch("select j", 6, 2, what=What.PROCEDURE_STATEMENT, nest=1, logical_reads=7),
        batch("exec q", 6, 3, what=What.RPC, logical_reads=8),
    )
    found = [
        (texts(recorded)[row["query"]], row["duration_ns"] // MS, row["logical_reads"], row["io_wait_ns"])
        for row in statements(recorded)
    ]
    assert found == [("exec p", 5, 31, MS), ("exec q", 3, 8, 0)]
    assert recorded.dropped == {"statements inside calls and statements that were recorded, too": 2}
    assert said("executions are remote procedure calls, and statements of batches", recorded.inferred)


def test_statements_that_lie_in_calls_are_never_counted_beside_them() -> None:
    recorded = recorded_of(
        batch("select i", 1, 9, what=What.STATEMENT), batch("exec q", 0, 20, what=What.RPC),
        batch("select j", 30, 5, what=What.STATEMENT),
    )  # fmt: skip
    assert [texts(recorded)[row["query"]] for row in statements(recorded)] == ["exec q"]
    assert said("1 of 2 statements lie in no batch or call", recorded.warnings)
    told = recorded_of(  # by its nesting level, as it is too short for its times to tell
        batch("select i", 0, 1, what=What.STATEMENT, nest=2), batch("exec q", 0, 2, what=What.RPC, nest=1),
        batch("select j", 30, 5, what=What.STATEMENT, nest=0),
    )  # fmt: skip
    assert [texts(told)[row["query"]] for row in statements(told)] == ["exec q", "select j"]


def test_statements_that_lie_in_no_batch_or_call_are_said() -> None:
    """Calls that were traced by their statements alone are no part of the batches that were traced beside them."""
    of_calls = [batch("select c", at, 1, what=What.PROCEDURE_STATEMENT, session=52, nest=1) for at in range(3)]
    between = batch("select d", 1, 1, what=What.PROCEDURE_STATEMENT, nest=1)
    inside = [batch("select b", at, 1, what=What.STATEMENT) for at in (11, 13)]
    recorded = recorded_of(*of_calls, between, batch("b", 9, 1), *inside, batch("exec b", 10, 5))
    assert said("4 of 6 statements lie in no batch or call", recorded.warnings)
    assert not recorded_of(*inside, batch("exec b", 10, 5)).warnings


def test_what_a_statement_calls_is_not_counted_twice() -> None:
    inner = [
        batch("select i", 1, 3, what=What.PROCEDURE_STATEMENT, nest=2, logical_reads=30, cpu_ns=MS),
        batch("select j", 5, 2, what=What.PROCEDURE_STATEMENT, nest=2, logical_reads=12),
    ]
    recorded = recorded_of(
        *inner, batch("exec p", 1, 7, what=What.PROCEDURE_STATEMENT, nest=1, logical_reads=45, cpu_ns=3 * MS),
        batch("exec o", 0, 10, what=What.STATEMENT, logical_reads=50),
    )  # fmt: skip
    rows = {texts(recorded)[row["query"]]: row for row in statements(recorded)}
    assert {text: row["logical_reads"] for text, row in rows.items()} == {
        "select i": 30,
        "select j": 12,
        "exec p": 3,
        "exec o": 5,
    }
    assert sum(row["duration_ns"] for row in rows.values()) == 10 * MS
    assert rows["exec p"]["time_ns"] == S + 6 * MS  # behind those that it called
    assert rows["exec p"]["cpu_ns"] == 2 * MS
    assert said("2 statements called others", recorded.inferred)


def test_a_caller_that_was_not_recorded_takes_nothing_from_others() -> None:
    recorded = recorded_of(
        batch("select i", 0, 9, what=What.PROCEDURE_STATEMENT, nest=2),
        batch("select k", 9, 2, what=What.PROCEDURE_STATEMENT, nest=1),
    )
    assert [row["duration_ns"] // MS for row in statements(recorded)] == [9, 2]


def test_sp_executesql_runs_its_statement_two_levels_below_its_caller() -> None:
    """@@NESTLEVEL is 2 more there, by Microsoft's documentation."""
    recorded = recorded_of(
        batch("select i", 1, 3, what=What.PROCEDURE_STATEMENT, nest=2, logical_reads=30),
        batch("exec sp_executesql N'select i'", 0, 4, what=What.STATEMENT, logical_reads=30),
    )
    rows = statements(recorded)
    assert [row["duration_ns"] // MS for row in rows] == [3, 1]
    assert sum(row["logical_reads"] for row in rows) == 30


def test_a_statement_takes_nothing_from_those_that_began_before_it() -> None:
    recorded = recorded_of(
        batch("select i", 0, 3, what=What.PROCEDURE_STATEMENT, nest=1),  # of a call that was not recorded
        batch("select k", 9, 20, what=What.STATEMENT),
    )
    assert [row["duration_ns"] // MS for row in statements(recorded)] == [3, 20]


@pytest.mark.parametrize(
    "end", [ExecutionEvent(What.LOGIN, session=51), batch("exec sp_reset_connection ", 1, 0, what=What.RPC)]
)
def test_a_session_ends_where_its_connection_is_given_to_somebody_else(end: ExecutionEvent) -> None:
    recorded = recorded_of(end, batch(at_ms=0), batch(at_ms=1, session=52), end, end, batch(at_ms=2), batch(at_ms=4))
    assert [row["session"] for row in statements(recorded)] == ["51.1", "52.1", "51.2", "51.2"]


def test_prepared_statements_are_what_was_prepared() -> None:
    prepare = "declare @p1 int\nset @p1=7\nexec sp_prepexec @p1 output,N'@P0 int',N'select a from t where b=@P0',1"
    recorded = recorded_of(
        batch(prepare, what=What.RPC),
        batch("exec sp_execute 7,2", 1, what=What.RPC),
        batch("exec sp_execute 7,2", 2, session=52, what=What.RPC),
    )
    first, second, other = statements(recorded)
    assert first["query"] == second["query"]
    assert "query" not in other
    assert texts(recorded)[first["query"]] == "select a from t where b = ?"
    assert said("1 executions of prepared statements have no text", recorded.inferred)


def test_waits_and_page_reads_are_those_of_the_execution_that_ends_next() -> None:
    recorded = recorded_of(
        ExecutionEvent(What.WAIT, session=51, duration_ns=300, wait=Wait.IO),
        ExecutionEvent(What.WAIT, session=51, duration_ns=200, wait=Wait.LOG),
        ExecutionEvent(What.WAIT, session=52, duration_ns=900, wait=Wait.LOCK),
        ExecutionEvent(What.WAIT, duration_ns=900, wait=Wait.LOCK),
        ExecutionEvent(What.PAGE_READ, session=51),
        ExecutionEvent(What.PAGE_READ, session=51),
        ExecutionEvent(What.PAGE_READ),
        batch(at_ms=0),
        batch(at_ms=1),
        batch(at_ms=2, session=52, physical_reads=9),
    )
    rows = statements(recorded)
    assert [(row["io_wait_ns"], row["log_wait_ns"], row["lock_wait_ns"]) for row in rows] == [
        (300, 200, 0),
        (0, 0, 0),
        (0, 0, 900),
    ]
    assert [row["physical_reads"] for row in rows] == [2, 0, 9]
    assert recorded.dropped == {"waits without a session": 1, "page reads without a session": 1}


def test_what_was_not_recorded_is_not_known() -> None:
    (row,) = statements(recorded_of(batch()))
    assert set(row) == {"time_ns", "duration_ns", "session", "kind", "query"}
    recorded = recorded_of(
        ExecutionEvent(What.BATCH, "select 1", session=51, end_ns=S),
        ExecutionEvent(What.BATCH, "x", duration_ns=1),
        batch(session=-1),
    )
    assert recorded.dropped == {"events of executions without a duration or a time": 2}
    assert "session" not in statements(recorded)[0]
    assert said("1 executions have no session", recorded.inferred)


def test_blocks_of_events_and_single_ones_may_be_mixed() -> None:
    recorded = Recorded()
    executions = recorded.of(Executions)
    executions.take(batch(at_ms=3))
    block = new_events(1)
    block[:, WHAT] = What.LOGIN
    block[:, 14] = 51
    executions.add(block)
    executions.take(batch(at_ms=4))
    finish_executions(recorded)
    assert [row["session"] for row in statements(recorded)] == ["51.1", "51.2"]


def test_events_are_those_of_the_server() -> None:
    assert (COLUMN_NAMES[1], COLUMN_NAMES[13], COLUMN_NAMES[35], COLUMN_NAMES[66]) == (
        "TextData",
        "Duration",
        "DatabaseName",
        "GroupID",
    )
    assert CLASSES[45] is What.PROCEDURE_STATEMENT
    kinds = [wait_class(name) for name in ("LCK_M_S", "PAGEIOLATCH_EX", "writelog", "ASYNC_NETWORK_IO", "CXPACKET")]
    assert kinds == [Wait.LOCK, Wait.IO, Wait.LOG, Wait.CLIENT, Wait.OTHER]


def test_a_statement_has_no_more_waits_than_it_took() -> None:
    recorded = recorded_of(ExecutionEvent(What.WAIT, session=51, duration_ns=5 * MS, wait=Wait.LOCK), batch(took_ms=2))
    assert statements(recorded)[0]["lock_wait_ns"] == 2 * MS


def test_many_sessions_have_a_state_each() -> None:
    recorded = recorded_of(*(batch(at_ms=number, session=number % 300) for number in range(900)))
    assert len({row["session"] for row in statements(recorded)}) == 300
    assert np.all(np.diff([row["time_ns"] for row in statements(recorded)]) > 0)
