"""What a recorder of MariaDB says is what the server counted; what it must not do it does not do. On a real server."""

# ruff: noqa: F401, F811 - fixtures

import gc
import json
import subprocess
import time
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from threading import Event

import pyarrow.parquet as pq
import pytest

from tests.mariadb_server import PASSWORD, MariadbServer, running
from tests.postgres_server import wait_for
from tests.test_cli import Shell, shell
from tiersim.errors import RecordingError
from tiersim.traces.differences import Differences, differences
from tiersim.traces.readers import import_trace
from tiersim.traces.readers.mysql.views import view_of
from tiersim.traces.recorders.mysql import record_mysql
from tiersim.traces.recorders.mysql.by_hand import GRANTS, commands
from tiersim.traces.recorders.mysql.connection import MysqlConnection, options_of
from tiersim.traces.recorders.mysql.snapshots import MysqlSnapshots
from tiersim.traces.recorders.mysql.views import MOMENT, QUERIES, VARIABLES, queries_of
from tiersim.traces.recorders.rounds import NotShownError, Plan
from tiersim.traces.statistics import read_snapshots

SECRETS = (PASSWORD, "planted-literal", "planted_user")


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    with running() as found:
        found.sql(f"CREATE USER watcher@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'")
        for grant in GRANTS:
            found.sql(grant.replace("recorder@localhost", "watcher@'127.0.0.1'"))
        found.sql("CREATE USER nobody_special@'127.0.0.1'")
        found.sql("CREATE DATABASE shop; CREATE TABLE shop.items (id INT PRIMARY KEY, k INT, c CHAR(100), KEY k (k))")
        found.sql("USE shop; INSERT INTO items SELECT seq, seq % 7, 'x' FROM seq_1_to_2000")
        found.sql("ANALYZE TABLE shop.items")
        yield found


def record(dsn: str, target: Path, seconds: float = 0.2, **more: float) -> list[str]:
    """Record for so long; returns what was said to be missing."""
    said: list[str] = []
    record_mysql(dsn, target, Plan(seconds, more.get("interval_s", 60), 0), Event(), say=said.append)
    return said


def found(target: Path) -> Differences:
    return differences(read_snapshots(target))


def as_watcher(server: MariadbServer) -> str:
    return f"host=127.0.0.1 port={server.port} user=watcher"


@pytest.mark.long
def test_on_an_idle_server_differences_are_those_of_global_status(
    server: MariadbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)

    def status() -> dict[str, int]:
        return {name: int(value) for name, value in server.sql("SHOW GLOBAL STATUS") if value.isdigit()}

    names = ("Innodb_data_fsyncs", "Innodb_data_reads", "Innodb_lsn_current", "Innodb_pages_written")
    last: list[dict[str, int]] = [{}]

    def is_idle() -> bool:
        time.sleep(0.5)
        last.append(status())
        return all(last[-1][name] == last[-2].get(name) for name in names)

    targets: list[Path] = []

    def recorded() -> bool:
        """Whether the server did nothing by itself between its figures and the recorder's."""
        wait_for(is_idle, "an idle server")
        targets.append(tmp_path / f"{len(targets)}.trace")
        assert record(as_watcher(server), targets[-1]) == []
        last.append(status())
        time.sleep(0.5)
        return all(status()[name] == last[-1][name] == last[-2][name] for name in names)

    wait_for(recorded, "a recording of an idle server")
    before, after = last[-2:]
    said = found(targets[-1])
    pairs = {
        ("database", "*", "pages_read"): "Innodb_pages_read",
        ("database", "*", "pages_written"): "Innodb_pages_written",
        ("io", "innodb/files/all", "reads"): "Innodb_data_reads",
        ("io", "innodb/files/all", "flushes"): "Innodb_data_fsyncs",
        ("io", "innodb/doublewrite/all", "writes"): "Innodb_dblwr_writes",
        ("log", "log", "bytes"): "Innodb_lsn_current",
        ("log", "log", "writes"): "Innodb_log_writes",
        ("wait", "Lock/innodb row", "waits"): "Innodb_row_lock_waits",
        ("database", "*", "commit_statements"): "Com_commit",
    }
    for (subject, entity, counter), name in pairs.items():
        assert said.of(subject)[entity].grown[counter] == after[name] - before[name], name
    # between both times that it asks for the status it asks for the rest, the devices, the time, and the status again
    rest = len(queries_of("mariadb", (10, 11))) - 1
    assert said.of("database")["*"].grown["statements"] == rest + 3
    assert said.of("database")["*"].grown["sessions"] == 0


def test_what_runs_is_counted_and_literals_are_nowhere(
    server: MariadbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    monkeypatch.setattr("tiersim.traces.recorders.mysql.snapshots.MysqlSnapshots.sample", lambda self: None)
    load = "BEGIN; UPDATE shop.items SET c = 'planted-literal' WHERE id = {}; COMMIT;"
    seen: list[bool] = []

    def say(_: str) -> None: ...

    class Ended(Event):
        """Runs the load when the first snapshot has been taken."""

        def wait(self, timeout: float | None = None) -> bool:
            if not seen:
                seen.append(True)
                server.sql("".join(load.format(number) for number in range(100, 150)))
            self.set()
            return True

    record_mysql(as_watcher(server), tmp_path / "o.trace", Plan(5, 60, 0), Ended(), say=say)
    said = found(tmp_path / "o.trace")
    assert said.of("database")["*"].grown["write_transactions"] == 50
    assert said.of("database")["*"].grown["commit_statements"] == 50
    calls = {entity: change.grown.get("calls") for entity, change in said.of("query").items()}
    assert [count for count in calls.values() if count == 50]
    assert said.of("relation")["shop.items"].grown["rows_updated"] == 50
    assert said.of("relation")["shop.items"].last["kind"] == "table"
    assert said.of("relation")["shop.items.k"].last["leaf_pages"] > 0  # type: ignore[operator]
    assert said.of("log")["log"].grown["bytes"] > 50 * 100
    assert said.restarts == 0
    host = json.loads((tmp_path / "o.trace/manifest.json").read_text())["host"]
    assert (host["engine"], host["page_bytes"], host["buffer_pool_bytes"]) == ("mariadb", 16384, 32 << 20)
    for file in (tmp_path / "o.trace").iterdir():
        shown = str(pq.read_table(file).to_pylist()) if file.suffix == ".parquet" else file.read_text()
        assert not [secret for secret in SECRETS if secret in shown], file.name


def test_the_host_is_counted_beside_a_server_of_this_machine(server: MariadbServer, tmp_path: Path) -> None:
    record(server.dsn, tmp_path / "o.trace")
    said = found(tmp_path / "o.trace")
    assert said.of("processor")["host"].grown["user_ms"] >= 0
    assert isinstance(said.of("memory")["host"].last["total_bytes"], Decimal)


class Elsewhere(MysqlConnection):
    """A server on another machine that shows its status alone; so many seconds pass between two snapshots by its
    clock.
    """

    engine, version = "mariadb", (10, 11, 0)

    def __init__(self, seconds: int) -> None:
        self.seconds, self.moments = seconds, 0

    def local_process(self) -> None:
        return None

    def rows(self, sql: str) -> list[dict[str, str | None]]:
        if sql == VARIABLES.sql:
            return [{"variable_name": "performance_schema", "value": "OFF"}]
        if sql == MOMENT.sql:
            self.moments += 1
            return [{"unix_s": str(1_800_000_000 + self.seconds * self.moments), "version": "10.11.0-MariaDB"}]
        if sql != "SHOW GLOBAL STATUS":
            raise NotShownError("the server has no such table")
        status = {"Uptime": 5000 + self.seconds * self.moments, "Innodb_pages_read": 7 * self.moments}
        return [{"variable_name": name, "value": str(value)} for name, value in status.items()]


def test_a_clock_that_was_set_is_no_restart() -> None:
    """The server tells its uptime by that clock."""
    snapshots = MysqlSnapshots(Elsewhere(100))
    said = differences([snapshots.take(), snapshots.take()])
    assert any("clock was set forward by 100 s" in one for one in snapshots.recorded.warnings)
    assert said.restarts == 0
    assert said.of("database")["*"].number("pages_read") == 7


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="only Linux has a clock that counts on in sleep")
def test_a_server_goes_on_while_the_machine_of_its_recorder_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """For half an hour, in which Linux's monotonic clock stands still: its counts are those of half an hour."""
    passed_s = iter([0, 0, 1800, 1800])  # asked, and answered
    monkeypatch.setattr("time.clock_gettime_ns", lambda _: next(passed_s) * 10**9)
    snapshots = MysqlSnapshots(Elsewhere(1800))
    said = differences([snapshots.take(), snapshots.take()])
    assert not any("clock was set" in one for one in snapshots.recorded.warnings)
    assert said.span_ns["database"] == 1800 * 10**9


def test_a_wrong_password_is_a_sentence(server: MariadbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYSQL_PWD", "planted-literal")
    with pytest.raises(RecordingError) as refused:
        record(as_watcher(server), tmp_path / "o.trace")
    assert str(refused.value) == (
        "cannot connect to the server: the server refused the user or the password; check user, and MYSQL_PWD or the"
        " option file"
    )
    assert not (tmp_path / "o.trace").exists()


def test_no_server_is_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # PyMySQL leaves its socket to the collector
        with pytest.raises(RecordingError, match="no server listens there; check host, port and socket") as refused:
            record(f"socket={tmp_path / 'none'} user=root", tmp_path / "o.trace")
        del refused
        gc.collect()


def test_a_missing_grant_is_a_sentence_and_the_rest_is_recorded(server: MariadbServer, tmp_path: Path) -> None:
    record(f"host=127.0.0.1 port={server.port} user=nobody_special", tmp_path / "o.trace")
    said = json.loads((tmp_path / "o.trace/manifest.json").read_text())["warnings"]
    assert "innodb_metrics is not recorded: the role may not read it; GRANT PROCESS to it" in said
    assert "statements_by_digest is not recorded: the role may not read it" in said
    assert found(tmp_path / "o.trace").of("database")["*"].number("pages_read") is not None


def test_the_session_can_change_nothing(server: MariadbServer) -> None:
    from tiersim.traces.recorders.rounds import NotShownError

    session = MysqlConnection(server.dsn)
    with pytest.raises(NotShownError):
        session.rows("UPDATE shop.items SET k = 1")
    session.close()


def test_the_dry_run_prints_grants_and_queries(shell: Shell) -> None:
    printed = shell("record", "mysql", "--dry-run").out
    assert all(query.sql in printed for query in QUERIES)
    assert all(grant in printed for grant in GRANTS)


def test_a_query_that_the_server_refuses_leaves_what_another_wrote(tmp_path: Path) -> None:
    client = tmp_path / "mysql"
    client.write_text('#!/bin/sh\ncase "$3" in *INNODB_SYS_*|*SUM_CPU*|*ENABLED*) exit 1;; esac\necho "$3"\n')
    client.chmod(0o755)
    lines = [line for line in commands() if "before/" in line]
    script = "\n".join(["mkdir before", *lines])
    subprocess.run(["sh", "-c", script], cwd=tmp_path, env={"PATH": f"{tmp_path}:/bin"}, check=True)
    written = {path.stem: path.read_text() for path in (tmp_path / "before").iterdir()}
    assert len(lines) == len(written) == len({query.name for query in (MOMENT, *QUERIES)})
    assert "INNODB_TABLESPACES" in written["innodb_tablespaces"]
    assert "STATUS" in written["innodb_metrics"]
    assert "SUM_TIMER_WAIT" in written["statements_by_digest"]


@pytest.mark.long
def test_answers_to_the_queries_of_the_dry_run_can_be_imported(server: MariadbServer, tmp_path: Path) -> None:
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        for query in (MOMENT, *queries_of("mariadb", (10, 11))):
            command = ["mariadb", "--no-defaults", "-B", f"--socket={server.socket}", "--user=root", "-e", query.sql]
            out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
            (tmp_path / folder / f"{query.name}.tsv").write_text(out)
            assert not out or view_of(tuple(out.split("\n")[0].lower().split("\t"))) is not None, query.name
    manifest = import_trace([tmp_path / "before", tmp_path / "after"], tmp_path / "o.trace")
    assert (manifest.snapshots, manifest.host["engine"], manifest.warnings) == (2, "mariadb", [])
    assert 0 < manifest.span_ns < 60_000_000_000


@pytest.mark.parametrize(
    ("dsn", "options"),
    [
        ("host=a port=1 user=b", {"host": "a", "port": 1, "user": "b"}),
        (
            "mysql://b:p%40w@a:1?socket=/s",
            {"host": "a", "port": 1, "user": "b", "password": "p@w", "unix_socket": "/s"},
        ),
        ("nonsense", "a word without ="),
        ("host=a speed=9", "the key 'speed'"),
        ("host=a port=x", "port"),
        ("http://a", "what stands before ://"),
        ("mysql://a/shop", "names a database, but all of the server are recorded; leave its name out"),
    ],
)
def test_a_dsn_is_understood_or_refused_in_a_sentence(
    dsn: str, options: dict[str, object] | str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if isinstance(options, dict):
        assert options_of(dsn) == options
    else:
        with pytest.raises(RecordingError, match=f"--dsn: {options}"):
            options_of(dsn)


@pytest.mark.long
def test_a_server_that_is_killed_ends_the_recording_in_a_sentence(server: MariadbServer, tmp_path: Path) -> None:
    class Ended(Event):
        """Kills the server when the first snapshot has been taken."""

        def wait(self, timeout: float | None = None) -> bool:
            if server.process.poll() is None:
                server.kill()
            return super().wait(0.01)

    target = tmp_path / "o.trace"
    with pytest.raises(RecordingError) as lost:
        record_mysql(server.dsn, target, Plan(2, 60, 0), Ended(), say=lambda _: None)
    assert str(lost.value) == (
        f"the server ended the connection before the recording was over; it ends there, and {target} holds it"
    )
    assert len(list(read_snapshots(target))) == 1
    server.start()


@pytest.mark.long
def test_without_performance_schema_as_mariadb_is_by_default_user_statistics_are_recorded(
    server: MariadbServer, tmp_path: Path
) -> None:
    server.kill()
    server.start("--performance-schema=OFF")
    (said,) = record(server.dsn, tmp_path / "o.trace")
    assert said.startswith("performance_schema is OFF: queries and files are not recorded; start the server with")
    assert found(tmp_path / "o.trace").of("database")["*"].number("active_ms") is not None
    server.kill()
    server.start()
