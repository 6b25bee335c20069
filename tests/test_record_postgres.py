"""What a recorder of PostgreSQL says is what the server counted; what it must not do it does not
do. On real servers.
"""

# ruff: noqa: F401, F811 - fixtures

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from threading import Thread

import pyarrow.parquet as pq
import pytest

from tests.postgres_server import PASSWORD, PostgresServer, environment, interrupt, running, versions, wait_for
from tests.test_cli import Shell, shell
from tiersim.cli.record import _report
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.differences import Differences, differences
from tiersim.traces.readers import import_trace
from tiersim.traces.recorders.postgres.views import MOST_STATEMENTS
from tiersim.traces.statistics import PARTS, read_queries, read_snapshots

COMMAND = [sys.executable, "-c", "from tiersim.cli.main import main; main()", "record", "postgres"]
SECRETS = (PASSWORD, "planted-literal", "planted-name", "planted-conninfo", "planted-password")


@pytest.fixture(scope="module", params=versions())
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    conninfo = "host=127.0.0.1 password=planted-conninfo"
    with running(request.param, {"primary_conninfo": conninfo}) as found:
        found.sql("CREATE EXTENSION pg_stat_statements")
        found.sql("CREATE EXTENSION pg_buffercache")
        found.sql(f"CREATE ROLE watcher LOGIN PASSWORD '{PASSWORD}'")
        found.sql("GRANT pg_monitor TO watcher")
        found.sql("CREATE ROLE nobody_special LOGIN")
        found.pgbench("-i", "-q", "-s", "5")
        yield found


class Recorder:
    """``tiersim record postgres`` as a process."""

    def __init__(self, target: Path, dsn: str, *options: str, **variables: str) -> None:
        self.target = target
        self.process = subprocess.Popen(
            [*COMMAND, "--dsn", dsn, "-o", str(target), *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(**variables),
        )  # fmt: skip

    def begun(self) -> "Recorder":
        """Wait for the first snapshot."""
        wait_for(lambda: self.parts() or self.process.poll() is not None, "the first snapshot")
        assert self.process.poll() is None, self.process.communicate()
        return self

    def parts(self) -> int:
        return len(list((self.target / PARTS).glob("*.parquet")))

    def end(self) -> tuple[int, str, str]:
        return interrupt(self.process)

    def wait(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def refused(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What the command says, in this process, of a connection from which it takes nothing."""
    for name in os.environ.keys() - environment().keys():
        monkeypatch.delenv(name)
    return lambda dsn: shell.fails("record", "postgres", "--dsn", dsn, "-o", "r.trace")


def found_in(target: Path) -> Differences:
    return differences(read_snapshots(target))


def secrets_in(target: Path) -> list[str]:
    """Those of SECRETS that are in a bundle: in the bytes of its files or in the values of its tables."""
    texts = []
    for path in target.rglob("*"):
        if path.is_file():
            texts.append(path.read_bytes().decode(errors="replace"))
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            texts += [str(table[name].to_pylist()) for name in table.column_names]
    return [secret for secret in SECRETS if any(secret in text for text in texts)]


_QUERY = (
    "SELECT query, sum(calls), sum(shared_blks_hit), sum(shared_blks_read), sum(shared_blks_dirtied), sum(wal_records),"
    " sum(wal_bytes) FROM pg_stat_statements WHERE query LIKE '%pgbench_%' GROUP BY query"
)
_COUNTERS = ("calls", "pages_hit", "pages_read", "pages_dirtied", "log_records", "log_bytes")


def statements_of(server: PostgresServer) -> dict[str, list[Decimal]]:
    return {text: [Decimal(value) for value in values] for text, *values in server.sql(_QUERY)}


def log_of(server: PostgresServer) -> list[Decimal]:
    return [Decimal(value) for value in server.sql("SELECT wal_records, wal_bytes FROM pg_stat_wal")[0]]


@pytest.mark.long
def test_a_recording_says_what_the_server_counted(server: PostgresServer, tmp_path: Path) -> None:
    before, logs = statements_of(server), [log_of(server)]
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "2", "--sample", "0.1", "--buffercache").begun()
    logs.append(log_of(server))
    printed = server.pgbench("-n", "-M", "prepared", "-c", "4", "-t", "500")
    logs.append(log_of(server))
    code, _, err = recorder.end()
    logs.append(log_of(server))
    after = statements_of(server)
    assert code == 0, err
    assert "actually processed: 2000/2000" in printed
    assert "ended early" in err

    changed = found_in(recorder.target)
    queries = read_queries(recorder.target)
    entities = dict(zip(queries.texts("entity"), queries.texts("text"), strict=True))
    counted: dict[str, list[Decimal]] = {}
    for entity, change in changed.of("query").items():
        text = entities[entity] or ""
        if "pgbench_" in text and change.grown.get("calls"):
            counted[text] = [change.grown[name] for name in _COUNTERS]
    expected = {
        text: [now - then for now, then in zip(values, before.get(text, [Decimal(0)] * 6), strict=True)]
        for text, values in after.items()
    }
    grown = sorted(values for values in expected.values() if values[0])
    assert sorted(counted.values()) == grown
    transactions = [values for text, values in counted.items() if text.startswith("UPDATE pgbench_accounts")]
    assert [values[0] for values in transactions] == [2000]

    log = changed.of("log")["log"].grown
    for column, name in enumerate(("records", "bytes")):  # processes in the background write a little at any time
        outer, inner = (logs[last][column] - logs[first][column] for first, last in ((0, 3), (1, 2)))
        assert inner <= log[name] <= outer
        assert outer - inner < inner * Decimal("0.02")
    assert changed.of("database")["postgres"].grown["commits"] >= 2000
    assert changed.of("relation")["public.pgbench_accounts"].last["size_bytes"] == Decimal(
        server.sql("SELECT pg_relation_size('pgbench_accounts')")[0][0]
    )
    assert "session" in changed.changes
    manifest = Bundle(recorder.target).manifest
    assert manifest.host["engine"] == "postgresql"
    assert manifest.host["cores"] == os.cpu_count()  # the server runs on this machine
    assert not (recorder.target / PARTS).exists()
    assert not [sentence for sentence in manifest.warnings if "not ended" in sentence]


@pytest.mark.long
def test_it_ends_when_its_time_is_over_and_says_what_it_took_as_json(server: PostgresServer, tmp_path: Path) -> None:
    target = tmp_path / "r.trace"
    code, out, _ = Recorder(
        target, server.dsn, "--minutes", "0.04", "--interval", "1", "--sample", "0.5", "--json"
    ).wait()
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "tiersim.record/1"
    assert document["trace"] == str(target)
    taken = list(read_snapshots(target))
    assert document["snapshots"] == len(taken)
    assert len([1 for snapshot in taken if ("log", "log") in snapshot.values]) == 4  # at 0, 1, 2, and 2.4 s
    assert len([1 for snapshot in taken if not ("log", "log") in snapshot.values]) in (3, 4)  # every 0.5 s
    times = [snapshot.time_ns or 0 for snapshot in taken]
    assert times == sorted(times)
    assert times[0] == 0
    assert document["span_ns"] == times[-1]


@pytest.mark.long
def test_it_asks_little_of_the_server(
    server: PostgresServer, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    recorder = Recorder(tmp_path / "r.trace", server.dsn).begun()
    bench = subprocess.Popen(
        [
            "pgbench",
            "-h",
            str(server.folder),
            "-p",
            str(server.port),
            "-U",
            "admin",
            "-n",
            "-c",
            "2",
            "-T",
            "26",
            "postgres",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(25)
    used = server.cpu_ns()
    bench.wait(timeout=30)
    recorder.end()
    # from its connection on: a snapshot, which is due every 30 s, and 25 samples
    own = sum(ns for name, ns in used.values() if name == "tiersim")
    everything = sum(ns for _, ns in used.values())
    said = f"{own / 1e6:.1f} ms of {everything / 1e6:.0f} ms, {own / everything:.2%}"
    record_testsuite_property(f"processor time of the recorder's session, PostgreSQL {server.version}", said)
    assert 0 < own < everything * 0.01, said


@pytest.mark.long
def test_killed_it_leaves_a_bundle_that_says_where_it_ends(server: PostgresServer, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "1").begun()
    server.pgbench("-n", "-t", "100")
    there = recorder.parts()
    wait_for(lambda: recorder.parts() >= there + 2, "two more snapshots")
    code, _, _ = interrupt(recorder.process, signal.SIGKILL)
    assert code == -signal.SIGKILL
    bundle = Bundle(recorder.target)
    assert bundle.rows == 0
    (sentence,) = [sentence for sentence in bundle.manifest.warnings if "was not ended" in sentence]
    snapshots = list(read_snapshots(recorder.target))
    # it is written behind each part, which may hold samples besides its snapshot
    last = pq.read_table(max((recorder.target / PARTS).glob("*.parquet")), columns=["snapshot"])
    assert bundle.manifest.snapshots in (len(snapshots), len(snapshots) - len(last["snapshot"].unique()))
    assert f"{bundle.manifest.span_ns / 1e9:.0f} s after the first" in sentence
    texts = dict(
        zip(read_queries(recorder.target).texts("entity"), read_queries(recorder.target).texts("text"), strict=True)
    )
    calls = [
        change.grown["calls"]
        for entity, change in found_in(recorder.target).of("query").items()
        if (texts[entity] or "").startswith("UPDATE pgbench_tellers")
    ]
    assert max(calls) == 100


@pytest.mark.long
@pytest.mark.parametrize("mode", ["immediate", "fast"])
def test_a_server_that_stops_ends_the_recording_in_a_sentence(
    server: PostgresServer, tmp_path: Path, mode: str
) -> None:
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "1").begun()
    there = recorder.parts()
    wait_for(lambda: recorder.parts() > there, "one more snapshot")
    server.stop(mode)
    try:
        code, _, err = recorder.wait()
    finally:
        server.start()
    assert code == 1
    assert "Traceback" not in err
    assert (
        err.splitlines()[-1]
        == "tiersim: the server ended the connection before the recording was over; it ends there, and"
        f" {recorder.target} holds it"
    )
    assert any("ended the connection" in sentence for sentence in Bundle(recorder.target).manifest.warnings)
    assert len(list(read_snapshots(recorder.target))) >= 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": "127.0.0.1", "user": "watcher", "password": "planted-password"}, "refused the user or the password"),
        ({"host": "127.0.0.1", "user": "watcher"}, "asks for a password"),
        ({"host": "planted-name.invalid", "password": PASSWORD}, "the name of the host is not known"),
        ({"port": "1", "password": PASSWORD}, "no server listens there"),
        ({"dbname": "planted-name"}, "no database of that name"),
        ({"user": "planted-name"}, "does not let that user in"),
        ({"nonsense": "planted-name"}, "--dsn is no connection string"),
        ({"sslmode": "require", "host": "127.0.0.1", "password": PASSWORD}, "the encrypted connection failed"),
    ],
)
def test_a_server_that_cannot_be_reached_is_one_sentence_without_secrets(
    server: PostgresServer, refused: Callable[[str], str], change: dict[str, str], said: str
) -> None:
    given = {"host": str(server.folder), "port": str(server.port), "user": "admin", "dbname": "postgres"} | change
    notice = refused(" ".join(f"{name}='{value}'" for name, value in given.items()))
    assert said in notice
    assert not [secret for secret in SECRETS if secret in notice]


def test_a_url_with_a_password_is_not_repeated(server: PostgresServer, refused: Callable[[str], str]) -> None:
    for url in (
        f"postgresql://watcher:planted-password@127.0.0.1:{server.port}/postgres",
        "postgresql://watcher:planted-password@planted-name.invalid:port/postgres?planted-literal",
    ):
        notice = refused(url)
        assert not [secret for secret in SECRETS if secret in notice]


@pytest.mark.long
def test_what_is_locked_is_left_out_of_a_snapshot(server: PostgresServer, tmp_path: Path) -> None:
    server.sql("SELECT count(*) FROM pgbench_tellers")
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "1").begun()
    there = recorder.parts()
    locking = "BEGIN; LOCK TABLE pgbench_tellers IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2.5); COMMIT"
    server.sql(locking)
    wait_for(lambda: recorder.parts() >= there + 2, "two more snapshots")
    code, _, err = recorder.end()
    assert code == 0, err
    dropped = Bundle(recorder.target).manifest.dropped
    assert "snapshots of pg_class: it waited for a lock longer than 1 s" in dropped


@pytest.mark.long
def test_a_member_of_pg_monitor_sees_everything(server: PostgresServer, tmp_path: Path) -> None:
    server.pgbench("-n", "-t", "10")
    dsn = f"host=127.0.0.1 port={server.port} user=watcher dbname=postgres password='{PASSWORD}'"
    recorder = Recorder(tmp_path / "r.trace", dsn).begun()
    code, _, err = recorder.end()
    assert code == 0, err
    assert "pg_monitor" not in err
    assert "is not recorded: the role" not in err
    texts = read_queries(recorder.target).texts("text")
    assert any(text and text.startswith("UPDATE pgbench_accounts") for text in texts)
    assert secrets_in(recorder.target) == []


def test_a_role_without_anything_is_told_what_it_misses(server: PostgresServer, tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.trace", server.dsn.replace("admin", "nobody_special")).begun()
    code, _, err = recorder.end()
    assert code == 0, err
    assert "not a member of pg_monitor" in err
    texts = read_queries(recorder.target).texts("text")
    assert not any(text and "pgbench" in text for text in texts)
    assert "log" in found_in(recorder.target).changes


def test_what_is_off_or_not_installed_is_said_and_kept(server: PostgresServer, tmp_path: Path) -> None:
    server.sql("CREATE DATABASE bare")
    server.sql("ALTER ROLE watcher SET track_activities = off")
    server.sql("ALTER ROLE watcher SET track_io_timing = off")
    dsn = f"host=127.0.0.1 port={server.port} user=watcher dbname=bare password='{PASSWORD}'"
    recorder = Recorder(tmp_path / "r.trace", dsn).begun()
    code, _, err = recorder.end()
    server.sql("ALTER ROLE watcher RESET ALL")
    assert code == 0, err
    kept = Bundle(recorder.target).manifest.warnings
    for sentence in (
        "pg_stat_statements is not installed in the database: what each query asks for is not recorded",
        "track_io_timing is off: how long reads and writes took is not recorded",
        "track_activities is off: what sessions wait for is not recorded",
    ):
        assert f"tiersim: warning: {sentence}" in err
        assert any(warning.startswith(sentence) for warning in kept)
    assert "query" not in found_in(recorder.target).changes


@pytest.mark.long
def test_no_literal_and_no_password_is_kept(server: PostgresServer, tmp_path: Path) -> None:
    server.sql("SELECT count(*) FROM pgbench_accounts WHERE filler = 'planted-literal'")
    server.sql("ALTER ROLE nobody_special PASSWORD 'planted-password'")
    server.sql("SET application_name = 'planted-literal'")
    named = server.dsn + " application_name=planted-name"
    asleep = subprocess.Popen(
        ["psql", "-X", "-d", named, "-c", "SELECT pg_sleep(4), 'planted-literal'"], stdout=subprocess.DEVNULL
    )
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "1", "--sample", "0.3").begun()
    time.sleep(1.2)
    whole = secrets_in(recorder.target)
    code, out, err = recorder.end()
    asleep.kill()
    asleep.wait()
    assert code == 0
    assert whole == secrets_in(recorder.target) == []
    assert not [secret for secret in SECRETS if secret in out + err]
    texts = read_queries(recorder.target).texts("text")
    assert any(text and text.startswith("ALTER ROLE nobody_special PASSWORD") for text in texts)


@pytest.mark.long
def test_it_only_reads(server: PostgresServer, tmp_path: Path) -> None:
    start = len(server.log)
    code, _, err = Recorder(
        tmp_path / "r.trace", server.dsn, "--minutes", "0.03", "--interval", "1", "--buffercache"
    ).wait()
    assert code == 0, err
    lines = [line for line in server.log[start:].splitlines() if line.startswith("tiersim: ")]
    asked = [line.split("statement: ", 1)[1] for line in lines if "statement: " in line]
    assert len(asked) > 20
    assert {text.split()[0] for text in asked} == {"SELECT", "SET"}
    assert next(text for text in asked if text.startswith("SET")) == "SET default_transaction_read_only = 'on'"
    assert not [text for text in asked if "reset" in text]
    assert not [line for line in lines if "ERROR" in line]


def by_hand(folder: Path, server: PostgresServer, commands: list[str]) -> list[str]:
    """Run lines of shell and return those that failed."""
    variables = environment(PGHOST=str(server.folder), PGPORT=str(server.port), PGUSER="admin", PGDATABASE="postgres")
    failed = []
    for line in commands:
        done = subprocess.run(["bash", "-c", line], check=False, cwd=folder, env=variables, capture_output=True)
        failed += [line] if done.returncode else []
    return failed


@pytest.mark.long
def test_what_is_taken_by_hand_says_the_same(server: PostgresServer, tmp_path: Path) -> None:
    script = subprocess.run([*COMMAND, "--dry-run"], capture_output=True, text=True, check=True).stdout
    *commands, importing = [line for line in script.splitlines() if line and not line.startswith("#")]
    half = commands.index("mkdir -p after")
    failed = by_hand(tmp_path, server, commands[:half])
    recorder = Recorder(tmp_path / "r.trace", server.dsn).begun()
    server.pgbench("-n", "-t", "50")
    recorder.end()
    failed += by_hand(tmp_path, server, commands[half:])
    assert not [
        line for line in failed if not re.search(r"# .*(PostgreSQL 1[678]|if pg_(stat_kcache|wait_sampling))", line)
    ]
    assert importing == "tiersim import before after -o NAME.trace"
    import_trace([tmp_path / "before", tmp_path / "after"], tmp_path / "NAME.trace")

    live, imported = found_in(recorder.target), found_in(tmp_path / "NAME.trace")
    texts = dict(
        zip(read_queries(recorder.target).texts("entity"), read_queries(recorder.target).texts("text"), strict=True)
    )
    bench = [entity for entity in live.of("query") if "pgbench_" in (texts[entity] or "")]
    assert len(bench) >= 5
    for entity in bench:
        assert imported.of("query")[entity].grown == live.of("query")[entity].grown
    missing = {"session", "device", "processor", "process", "memory"}  # which only a recorder sees
    assert set(live.changes) - missing <= set(imported.changes)


@pytest.mark.long
def test_more_statements_than_are_recorded_are_always_the_same(server: PostgresServer, tmp_path: Path) -> None:
    server.sql("SELECT pg_stat_statements_reset()")
    wide = [
        f"SELECT {', '.join(['1'] * (1 + number % 90))} FROM t{number // 90}" for number in range(MOST_STATEMENTS + 400)
    ]
    tables = [f"CREATE TABLE t{number} (a int)" for number in range(len(wide) // 90 + 1)]
    script = tmp_path / "wide.sql"
    script.write_text(";\n".join([*tables, *wide, *(f"DROP TABLE {line.split()[2]}" for line in tables)]) + ";\n")
    server.script(script)
    recorder = Recorder(tmp_path / "r.trace", server.dsn, "--interval", "1").begun()
    server.pgbench("-n", "-t", "50")  # asks for more pages than all of them
    wait_for(lambda: recorder.parts() > 2, "two more snapshots")
    code, _, err = recorder.end()
    assert code == 0
    assert f"more than {MOST_STATEMENTS:,} statements" in err
    seen = [
        {entity for subject, entity in snapshot.values if subject == "query"}
        for snapshot in read_snapshots(recorder.target)
        if ("log", "log") in snapshot.values
    ]
    assert len(seen) >= 3
    assert len(seen[0]) == MOST_STATEMENTS
    assert all(entities == seen[0] for entities in seen)
    assert found_in(recorder.target).evicted.get("query") is None
    server.sql("SELECT pg_stat_statements_reset()")


def test_without_psycopg_a_sentence_says_how_to_install_it(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['psycopg'] = None; "
    command = [sys.executable, "-c", hidden + COMMAND[2], *COMMAND[3:], "-o", str(tmp_path / "r.trace")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'psycopg[binary]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_bundle_that_is_there_is_refused_before_the_server_is_asked(
    shell: Shell, refused: Callable[[str], str]
) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    (shell.folder / "r.trace").mkdir()
    assert "is already there" in refused("host=planted-name.invalid")


def test_a_server_of_another_kind_is_told_from_a_failed_encryption(refused: Callable[[str], str]) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            """Speak first, as MariaDB does, until the listener is closed."""
            with suppress(OSError):
                while True:
                    accepted = listener.accept()[0]
                    with accepted, suppress(ConnectionError):
                        accepted.sendall(b"J\0\0\0\n10.11.19-MariaDB\0")
                        accepted.recv(100)

        Thread(target=greet, daemon=True).start()
        said = refused(f"host=127.0.0.1 port={listener.getsockname()[1]} user=a")
    assert "no PostgreSQL answers there; check host and port" in said


@pytest.mark.parametrize("server", ["postgres", "mysql"])
def test_lines_to_run_by_hand_do_not_drop_the_server_in_silence(server: str, shell: Shell) -> None:
    said = shell("record", server, "--dry-run", "--dsn", "host=a password=planted-literal")
    assert "--dsn: is not in the printed lines" in said.err
    assert "planted-literal" not in said.out + said.err
    assert not shell("record", server, "--dry-run").err


def test_what_was_taken_is_not_called_snapshots_where_most_are_samples(capsys: pytest.CaptureFixture[str]) -> None:
    _report(Manifest(source_format="postgresql", snapshots=62, span_ns=60_200_000_000), Path("a.trace"), json=False)
    assert "62 snapshots and samples in 60.2 s" in capsys.readouterr().out
