"""What a snapshot does when a server does not answer everything: no counter that comes and goes is counted twice."""

from collections.abc import Callable
from typing import cast

from tiersim.traces.differences import differences
from tiersim.traces.recorders.postgres.advice import reach
from tiersim.traces.recorders.postgres.connection import PostgresConnection
from tiersim.traces.recorders.postgres.snapshots import PostgresSnapshots
from tiersim.traces.recorders.rounds import NotShownError, Row

Answer = Callable[[int], list[Row]]


class Scripted:
    """A server that answers what a test says; *moment* is how many snapshots it was asked for before."""

    version = 180_000

    def __init__(self, **answers: Answer) -> None:
        self.moment = -1
        self.asked: list[str] = []
        self._answers = answers

    def is_local(self) -> bool:
        return False

    def rows(self, sql: str) -> list[Row]:
        self.asked.append(sql)
        if "pg_postmaster_start_time" in sql:
            self.moment += 1
            return [{"unix_s": str(1_795_000_000 + self.moment), "version": "PostgreSQL 18.4", "wal_lsn": "0/1"}]
        found = [answer for view, answer in self._answers.items() if f" {view}" in sql]
        return found[0](self.moment) if found else []


def refused(_moment: int) -> list[Row]:
    raise NotShownError("it took longer than 10 s")


def tables(moment: int) -> list[Row]:
    return [{"schemaname": "public", "relname": "t", "seq_scan": str(100 + moment), "n_live_tup": "5"}]


def pages(moment: int) -> list[Row]:
    if moment == 1:
        return refused(moment)
    return [{"schemaname": "public", "relname": "t", "heap_blks_read": str(10**9 + 10 * moment), "heap_blks_hit": "0"}]


def test_a_view_that_fails_once_leaves_its_subject_out_of_that_snapshot() -> None:
    server = Scripted(pg_stat_all_tables=tables, pg_statio_all_tables=pages)
    snapshots = PostgresSnapshots(cast(PostgresConnection, server), with_pool=False)
    taken = [snapshots.take() for _ in range(3)]
    relation = differences(taken).of("relation")["public.t"].grown
    assert relation["pages_read"] == 20
    assert relation["sequential_scans"] == 2
    assert ("relation", "public.t") not in taken[1].values
    assert ("log", "log") in taken[1].values
    assert snapshots.recorded.dropped == {"snapshots of pg_statio_all_tables: it took longer than 10 s": 1}


def test_a_view_that_fails_at_first_is_not_asked_again() -> None:
    server = Scripted(pg_stat_all_tables=tables, pg_statio_all_tables=refused)
    snapshots = PostgresSnapshots(cast(PostgresConnection, server), with_pool=False)
    taken = [snapshots.take() for _ in range(3)]
    assert len([sql for sql in server.asked if "pg_statio_all_tables" in sql]) == 1
    assert all(("relation", "public.t") in snapshot.values for snapshot in taken)
    assert "pg_statio_all_tables is not recorded: it took longer than 10 s" in snapshots.recorded.warnings
    assert snapshots.recorded.dropped == {}


def test_what_a_view_without_rows_counts_later_counts_from_0() -> None:
    def extensions(_moment: int) -> list[Row]:
        return [{"extname": "pg_wait_sampling", "schema": "public."}]

    def waits(moment: int) -> list[Row]:
        return [{"event_type": "IO", "event": "DataFileRead", "queryid": None, "count": "5"}] if moment else []

    server = Scripted(pg_extension=extensions, **{"public.pg_wait_sampling_profile": waits})
    snapshots = PostgresSnapshots(cast(PostgresConnection, server), with_pool=False)
    grown = differences([snapshots.take(), snapshots.take()]).of("wait")["IO/DataFileRead"].grown
    assert grown == {"samples": 5}


def test_a_value_that_is_none_costs_its_view_and_nothing_else() -> None:
    server = Scripted(pg_stat_wal=lambda moment: [{"wal_records": "many", "wal_bytes": "1"}], pg_stat_all_tables=tables)
    snapshots = PostgresSnapshots(cast(PostgresConnection, server), with_pool=False)
    taken = snapshots.take()
    assert ("relation", "public.t") in taken.values
    assert snapshots.recorded.warnings == ["pg_stat_wal is not recorded: wal_records: 'many' is no number"]


def test_times_are_the_servers_to_the_microsecond() -> None:
    server = Scripted(
        pg_stat_activity=lambda moment: [
            {
                "unix_s": "1795000000.123457",
                "count": "3",
                "state": "idle",
                "wait_event_type": None,
                "wait_event": None,
                "backend_type": "client backend",
                "in_transaction": "1",
            }
        ]
    )
    sample = PostgresSnapshots(cast(PostgresConnection, server), with_pool=False).sample()
    assert sample is not None
    assert sample.time_ns == 1_795_000_000_123_457_000
    assert {key: {name: int(str(n)) for name, n in values.items()} for key, values in sample.values.items()} == {
        ("session", "idle//"): {"sessions": 3, "in_transaction": 1}
    }


def test_how_far_a_recording_will_reach_is_said_before_it_begins() -> None:
    everything = {"pg_stat_statements", "pg_buffercache"}
    assert reach(everything, local=True, with_pool=True) == []
    (elsewhere,) = reach(everything, local=False, with_pool=True)
    assert "on another machine" in elsewhere
    (uncounted,) = reach(everything, local=True, with_pool=False)
    assert "record with --buffercache" in uncounted
    (missing,) = reach({"pg_stat_statements"}, local=True, with_pool=True)
    assert "CREATE EXTENSION pg_buffercache" in missing
