"""What ``tiersim record sqlserver --dry-run`` prints, and that its files can be imported."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.recorded_files import read_files, statements
from tests.sqlserver_texts import event_series
from tiersim.cli.main import app
from tiersim.traces.differences import differences
from tiersim.traces.readers.sqlserver.settings import KEPT
from tiersim.traces.recorders.sqlserver import VIEWS, ScriptPlan, ScriptQuery, file_name, script

#: What a server says in columns that are no numbers, as sqlcmd prints it.
_TEXTS = {
    "captured_at": "2026-11-22 08:{minute}:00.1234567 +01:00",
    "sqlserver_start_time": "2026-11-20 06:59:43.210",
    "creation_time": "2026-11-20 07:00:00.123",
    "product_version": "15.0.4322.2",
    "type_desc": "LOG",
    "database_name": '"shop, old"',
    "physical_name": '"E:\\log ""1"", x.ldf"',
    "query_hash": "0x1F0B2C3D4E5F6071",
    "plan_handle": "0x0600",
    "sql_handle": "0x0200",
    "dbid": "NULL",
    "is_modified": "1",
    "statement_text": '"(@1 int)select a, ""b""\r\nfrom t where c = @1 and d = \'x, y\'"',
    "wait_type": "WRITELOG",
    "object_name": "SQLServer:Databases",
    "counter_name": "Log Bytes Flushed/sec",
    "instance_name": '"_Total"',
    "schema_name": '"dbo"',
    "table_name": '"orders, old"',
    "index_name": '"IX ""1"""',
    "name": '"max server memory (MB)"',
    "recovery_model_desc": "FULL",
    "index_id": "2",
    "partition_number": "1",
    "object_id": "5",
    "database_id": "7",
    "file_id": "2",
}


def printed(view: ScriptQuery, moment: str) -> str:
    """A file of the script, of one row, as ``sqlcmd -s , -W`` writes it."""
    number, minute = ("7", "00") if moment == "before" else ("12", "10")
    values = [_TEXTS.get(name, number).format(minute=minute) for _, name in view.columns]
    names = [name for _, name in view.columns]
    rule = ["-" * len(name) for name in names]
    return "".join(",".join(row) + "\r\n" for row in (names, rule, values))


def files(folder: Path, plan: ScriptPlan) -> list[Path]:
    """The files that the script says it writes."""
    text = "\n".join(script(plan))
    written = []
    for view in VIEWS:
        for moment in ("before", "after"):
            name = file_name(view, moment)
            if f":OUT {name}\n" in text:
                path = folder / name
                path.write_text(printed(view, moment), encoding="utf-8", newline="")
                written.append(path)
    named = re.findall(r"^:OUT (\S+\.csv)$", text, re.MULTILINE)
    assert sorted(named) == sorted([*(path.name for path in written), "dm_xe_sessions.after.csv"])
    path = folder / "dm_xe_sessions.after.csv"
    path.write_text("name,dropped_event_count,dropped_buffer_count\ntiersim,4,0\n", encoding="utf-8")
    return [*written, path]


def test_every_file_that_the_script_writes_is_imported(tmp_path: Path) -> None:
    written = files(tmp_path, ScriptPlan(buffers=True))
    events = tmp_path / "tiersim.xml"
    events.write_text(event_series(), encoding="utf-8")
    recorded = read_files(*written, events)
    assert recorded.formats == ["sqlserver", "sqlserver-event-xml"]
    assert recorded.dropped == {"events that a session of Extended Events dropped": 4}
    assert not recorded.warnings
    assert len(statements(recorded)) == 4
    snapshots = recorded.snapshots()
    assert len(snapshots) == 2  # by the time that the server tells, for all files of a moment
    first, last = snapshots
    assert first.time_ns is not None
    assert last.time_ns == first.time_ns + 600 * 10**9
    found = differences(snapshots)
    assert found.of("file")["7/2"].grown["write_ms"] == 5
    assert found.of("file")["7/2"].last["path"] == 'E:\\log "1", x.ldf'
    (query,) = found.of("query").values()
    assert query.grown["calls"] == 5
    text = next(row["text"] for row in recorded.queries.values() if row["entity"])
    assert text == 'select a, "b" from t where c = ? and d = ?'
    assert found.of("relation")['dbo.orders, old.IX "1"'].grown["index_scans"] == 10
    assert found.of("pool")['dbo.orders, old.IX "1"'].number("pages_dirty") == 12
    assert found.of("wait")["WRITELOG"].grown["wait_ms"] == 5
    assert found.of("log")["log"].grown["bytes"] == 5
    assert recorded.host["version"] == 15
    assert recorded.host["max_server_memory_bytes"] == 7 << 20


def test_columns_of_the_script_are_those_that_are_read() -> None:
    """A column that the import ignores would be asked for in vain."""
    from tiersim.traces.readers.sqlserver.views import view_of

    for view in VIEWS:
        assert view_of(tuple(name for _, name in view.columns)) is not None
    assert "max server memory (MB)" in KEPT


@pytest.mark.parametrize("lossless", [False, True])
def test_the_session_is_bounded_in_time_and_size(lossless: bool) -> None:
    text = "\n".join(script(ScriptPlan(minutes=90, max_bytes=300 << 20, folder="D:\\traces", lossless=lossless)))
    size, count = re.findall(r"max_file_size = \((\d+)\), max_rollover_files = \((\d+)\)", text)[0]
    assert int(size) * int(count) <= 300
    assert "filename = N'D:\\traces\\tiersim.xel'" in text
    assert "WAITFOR DELAY '01:30:00';" in text
    assert ("EVENT_RETENTION_MODE = NO_EVENT_LOSS" in text) == lossless
    assert ("sessions wait for buffers" in text) == lossless
    assert text.index("STATE = START") < text.index("WAITFOR") < text.index("\nDROP EVENT SESSION")


def test_what_is_costly_is_asked_for() -> None:
    least, most = (
        "\n".join(script(plan)) for plan in (ScriptPlan(), ScriptPlan(statements=True, files=True, buffers=True))
    )
    for costly in ("sql_statement_completed", "file_read_completed", "sys.dm_os_buffer_descriptors"):
        assert costly not in least
        assert costly in most


def test_the_command_prints_the_script_and_records_nothing_itself() -> None:
    printed_script = CliRunner().invoke(app, ["record", "sqlserver", "--dry-run", "--minutes", "5"])
    assert printed_script.exit_code == 0
    assert "CREATE EVENT SESSION [tiersim] ON SERVER" in printed_script.output
    live = CliRunner().invoke(app, ["record", "sqlserver"])
    assert live.exit_code != 0
    assert "the DBA records SQL Server with a script" in str(live.exception)
    odd = CliRunner().invoke(app, ["record", "sqlserver", "--dry-run", "--max-size", "many"])
    assert odd.exit_code == 2
