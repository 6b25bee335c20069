"""Tables and slow logs of MySQL and MariaDB: what they become, and that nothing takes them for PostgreSQL's."""

# ruff: noqa: F401, F811 - fixtures

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.counted_bundles import synthesised
from tests.counted_databases import counted_database, law
from tests.recorded_files import read_text
from tests.test_cli import Shell, shell
from tests.test_sysbench import PRINTED
from tiersim.cli import verdicts
from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.calibration.innodb import InnoDBCounters, innodb_accesses
from tiersim.scenarios.calibration.popularity.recorded import Accesses
from tiersim.scenarios.calibration.synthesis.counted import FASTEST_CHANGE
from tiersim.scenarios.caveats import model_error_of
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sizing.judging import doubts_of
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.statements.engines import EngineSources
from tiersim.scenarios.statements.error_reasons import are_commits_unseen
from tiersim.scenarios.statements.innodb import mysql
from tiersim.scenarios.statements.loads import load_of, read_load
from tiersim.scenarios.statements.queries import changes_rows
from tiersim.scenarios.statements.replay import replay_statements
from tiersim.scenarios.statements.settings import settings_of_load, with_variables
from tiersim.traces.bundle import Manifest
from tiersim.traces.counters import SUBJECTS
from tiersim.traces.differences import Differences, EntityChange, differences, read_counters
from tiersim.traces.readers import import_trace
from tiersim.traces.readers.importing import MARKS, detect_format
from tiersim.traces.readers.mysql.query_text import without_literals
from tiersim.traces.readers.mysql.settings import KEPT
from tiersim.traces.readers.mysql.views import COUNTED, STATUS, VARIABLES, VIEWS
from tiersim.traces.readers.recorded import spread
from tiersim.traces.statistics import read_snapshots, read_statements

DATA = Path(__file__).parent / "data" / "mysql"
FOLDERS = [DATA / "before", DATA / "after"]
SECRET = "planted secret"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of MariaDB 10.11 of 31 s and 6,000 transactions, as it was saved before and after."""
    path = tmp_path_factory.mktemp("mysql") / "mariadb.trace"
    import_trace(FOLDERS, path)
    return path


def found(path: Path) -> Differences:
    return differences(read_snapshots(path))


def rows_of(table: str, folder: str) -> dict[str, str]:
    lines = (DATA / folder / f"{table}.tsv").read_text().splitlines()[1:]
    return {name.lower(): value for name, value, *_ in (line.split("\t") for line in lines)}


def grown(name: str) -> int:
    return int(rows_of("global_status", "after")[name]) - int(rows_of("global_status", "before")[name])


def test_differences_are_those_of_global_status(bundle: Path) -> None:
    said = found(bundle)
    server, log, binary = said.of("database")["*"], said.of("log")["log"], said.of("binary log")["binary log"]
    assert server.number("pages_read") == grown("innodb_pages_read") == 15_070
    assert server.number("pages_looked_up") == grown("innodb_buffer_pool_read_requests")
    assert server.number("write_transactions") == 6000
    assert log.number("bytes") == grown("innodb_lsn_current") == 5_316_294
    assert log.last["checkpoint_age_bytes"] == Decimal(rows_of("global_status", "after")["innodb_checkpoint_age"])
    assert log.last["capacity_bytes"] == 64 << 20
    assert {name: int(count) for name, count in binary.grown.items()} == {
        "transactions": 6000, "groups": 5320, "bytes": grown("binlog_bytes_written")
    }  # fmt: skip
    assert log.number("written_bytes") is None  # MariaDB's counts what is new alone
    assert said.span_ns["database"] == 31_000_000_000


def test_digests_files_and_indexes_are_counted(bundle: Path) -> None:
    said = found(bundle)
    commits = [change for entity, change in said.of("query").items() if change.number("calls") == 6000]
    assert len(commits) == 7
    assert round(max(change.number("exec_ms") or 0 for change in commits)) == 14_486  # COMMIT holds the flushes
    items = said.of("file")["shop/items.ibd"]
    assert items.last["kind"] == "data"
    assert (items.number("reads") or 0) > 13_000
    assert said.of("file")["mysql/binlog.000001"].number("others") == 5320  # one flush a group
    assert said.of("relation")["shop.items"].grown["index_rows"] > 600_000
    assert said.of("relation")["shop.items"].last["leaf_pages"] == 8220
    assert said.of("relation")["shop.items.k"].last["kind"] == "index"


def test_the_manifest_tells_engine_page_and_pool(bundle: Path) -> None:
    host = json.loads((bundle / "manifest.json").read_text())["host"]
    assert (host["engine"], host["page_bytes"], host["flush_method"]) == ("mariadb", 16384, "O_DIRECT")
    assert host["version"].startswith("10.11.19-MariaDB")
    assert host["buffer_pool_bytes"] == int(rows_of("global_variables", "after")["innodb_buffer_pool_size"])


def test_describe_shows_redo_checkpoint_age_and_what_is_missing(bundle: Path, shell: Shell) -> None:
    out = shell("describe", bundle, "--all").out
    assert re.search(r"checkpoint age +3.426 MiB of 64 MiB of redo at the end, the server waits at 51.16 MiB", out)
    assert re.search(r"binary log +6,000 transactions in 5,320 groups", out)
    assert "rows examined" in out
    assert "missing: the pages that each query reads" in " ".join(out.split())


@pytest.mark.parametrize(
    "command",
    [
        ("replay", "{}", "--on", "pcie-flash"),
        ("replay", "{}", "--on", "pcie-flash", "--recorded-on", "15k-raid10"),
        ("replay", "{}", "--on", "pcie-flash", "--set", "engine.buffer_pool=1 GiB"),
        ("sweep", "{}", "--on", "pcie-flash", "--set", "engine.buffer_pool=1 GiB,2 GiB"),
        ("mrc", "{}"),
        ("size", "{}", "--slo", "p99(query) < 10 ms", "--candidates", "intel-optane-p4800x-375"),
    ],
    ids=" ".join,
)
def test_without_sizes_of_tables_no_command_gives_a_number(
    bundle: Path, shell: Shell, command: tuple[str, ...]
) -> None:
    said = shell(*(part.format(bundle) for part in command))
    assert said.code == 1
    assert "is a recording of InnoDB, and no statement in it names a table whose rows and pages are known" in said.err


def test_a_slow_log_alone_is_not_replayed(tmp_path: Path) -> None:
    slow = tmp_path / "slow.trace"
    import_trace([DATA / "mariadb_slow.log"], slow)
    with pytest.raises(TraceError, match="record the variables, too"):
        load_of(slow, 1)


@pytest.fixture(scope="module")
def with_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same recording, with the rows of its tables."""
    folder = tmp_path_factory.mktemp("innodb")
    for moment in ("before", "after"):
        shutil.copytree(DATA / moment, folder / moment)
        rows = "table_name\tdatabase_name\tn_rows\tclustered_index_size\n"
        rows += "items\tshop\t591840\t8233\norders\tshop\t306200\t2148\n"
        (folder / moment / "innodb_table_stats.tsv").write_text(rows)
    path = folder / "mariadb.trace"
    import_trace([folder / "before", folder / "after"], path)
    return path


def test_pages_redo_and_processors_are_divided_among_digests(with_rows: Path) -> None:
    counted = InnoDBCounters(with_rows)
    said = read_counters(with_rows, prepare=counted.with_pages).found
    queries = said.of("query")
    assert not any("performance_schema" in counted.texts.get(entity, "") for entity in queries)
    sums = {
        name: sum(float(change.number(name) or 0) for change in queries.values())
        for name in ("pages_read", "log_bytes")
    }
    assert sums["pages_read"] == pytest.approx(float(said.of("database")["*"].number("pages_missed") or 0), abs=9)
    assert sums["log_bytes"] == pytest.approx(5_316_294, abs=9)
    accesses, policy = innodb_accesses(read_counters(with_rows, prepare=InnoDBCounters(with_rows).with_pages), counted)
    assert [table.name for table in accesses.tables] == ["shop.items", "shop.orders"]
    assert [table.heap_pages for table in accesses.tables] == [8220, 2101]
    assert policy.old_accesses == pytest.approx(sum(table.accesses for table in accesses.tables) / 31)


def pages_read(path: Path) -> dict[str, Decimal]:
    relations = read_counters(path, prepare=InnoDBCounters(path).with_pages).found.of("relation")
    read = [(name.rpartition(".")[2], change.number("pages_read")) for name, change in relations.items()]
    return {name: pages for name, pages in read if pages is not None}


def edited(with_rows: Path, folder: Path, **tables: Callable[[str], str]) -> Path:
    """Import the recording anew with some of its *tables* changed, each line by itself."""
    for moment in ("before", "after"):
        shutil.copytree(with_rows.parent / moment, folder / moment)
        for table, edit in tables.items():
            file = folder / moment / f"{table}.tsv"
            file.write_text("".join(map(edit, file.read_text().splitlines(keepends=True))))
    import_trace([folder / "before", folder / "after"], folder / "edited.trace")
    return folder / "edited.trace"


def accesses_of(path: Path) -> Accesses:
    counted = InnoDBCounters(path)
    return innodb_accesses(read_counters(path, prepare=counted.with_pages), counted)[0]


@pytest.mark.parametrize(
    ("of_files", "of_statistics"),
    [
        pytest.param(("/shop/items.ibd", "/shop/items#P#p0.ibd"), ("items\t", "items#P#p0\t"), id="partition"),
        pytest.param(("/shop/", "/shop@002d1/"), ("shop\t", "shop-1\t"), id="schema with a hyphen"),
    ],
)
def test_pages_are_divided_by_reads_of_files_whatever_these_are_called(
    with_rows: Path, tmp_path: Path, of_files: tuple[str, str], of_statistics: tuple[str, str]
) -> None:
    """Without its reads a table has none of the pages, and where none has any each has as many."""
    path = edited(
        with_rows,
        tmp_path,
        file_summary_by_instance=lambda line: line.replace(*of_files),
        innodb_index_stats=lambda line: line.replace(*of_statistics),
        innodb_table_stats=lambda line: line.replace(*of_statistics),
    )
    assert pages_read(path) == pages_read(with_rows)


def test_partitions_of_a_table_are_added_up(tmp_path: Path) -> None:
    kind = "wait/io/file/innodb/innodb_data_file"
    text = f"FILE_NAME\tEVENT_NAME\tCOUNT_READ\n./shop/t#p#a.ibd\t{kind}\t3\n./shop/t#P#b#SP#c.ibd\t{kind}\t4\n"
    text += "database_name\ttable_name\tn_rows\tclustered_index_size\nshop\tt#p#a\t30\t5\nshop\tt#P#b#SP#c\t40\t6\n"
    text += "SPACE\tNAME\tPAGE_SIZE\tFILE_SIZE\n7\tshop/t#p#a\t16384\t65536\n8\tshop/t#P#b#SP#c\t16384\t131072\n"
    pieces = read_text(tmp_path, text, key="mysql").pieces
    said = spread([(key, values) for piece in pieces for key, values in piece.values.items()])
    assert said == {
        ("relation", "shop.t"): {"rows": 70, "pages": 11, "kind": "table"},
        ("file", "shop/t.ibd"): {"reads": 7, "kind": "data", "path": "./shop/t#p#a.ibd", "size_bytes": 3 << 16},
    }


def test_reads_of_tables_that_nobody_knows_are_said_to_count_as_those_of_others(
    with_rows: Path, tmp_path: Path
) -> None:
    def known(line: str) -> str:
        return "" if "items" in line else line

    path = edited(with_rows, tmp_path, innodb_index_stats=known, innodb_table_stats=known)
    (said,), none = (
        [one for one in accesses_of(recorded).inferred if "of the reads of data files" in one]
        for recorded in (path, with_rows)
    )
    assert said.startswith("90% of the reads of data files were of tables that no statement names")
    assert "most of shop/items.ibd" in said
    assert not none


def test_redo_that_nobody_counted_is_said_to_be_none(with_rows: Path, tmp_path: Path) -> None:
    """Before 8.0.30 MySQL's status has no place in the log, and its metric is off."""

    def older(line: str) -> str:
        return "" if "lsn" in line.lower() else line

    path = edited(with_rows, tmp_path, global_status=older, innodb_metrics=older)
    for recorded, said in ((path, True), (with_rows, False)):
        inferred = accesses_of(recorded).inferred
        assert any("redo of changed rows was not counted" in one for one in inferred) == said


def test_compressed_pages_make_the_pool_no_larger(with_rows: Path, tmp_path: Path) -> None:
    """Both forms of a page count as data, of which a server may hold more than its pool has pages."""

    def compressed(line: str) -> str:
        name, tab, _ = line.partition("\t")
        return f"{name}{tab}9999\n" if name == "Innodb_buffer_pool_pages_data" else line

    path = edited(with_rows, tmp_path, global_status=compressed)
    pool = int(rows_of("global_variables", "after")["innodb_buffer_pool_size"]) // 16384
    assert accesses_of(with_rows).frames < accesses_of(path).frames == pool < 9999


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("REPLACE INTO items VALUES (?)", True),
        ("replace items SELECT * FROM orders", True),
        ("SELECT REPLACE(name, ?, ?) FROM items", False),
    ],
)
def test_mysqls_replace_changes_rows_and_that_of_strings_does_not(text: str, changes: bool) -> None:
    assert changes_rows(text) == changes


@pytest.mark.long
def test_a_recording_is_replayed_with_what_was_inferred(with_rows: Path) -> None:
    load = load_of(with_rows, 1)
    assert load.transactions == pytest.approx(6000, abs=10)
    scenario = load_scenario("pcie-flash", ["engine.io_capacity=400"])
    settings = settings_of_load(scenario, load)
    assert settings.kind == "mariadb"
    assert str(load.fitted.policy) == "midpoint"
    assert settings.engine["io_capacity"] == 400
    assert settings.engine["binary_log"] is True
    assert settings.basis["engine.sync_binlog"] == "recorded"
    assert re.fullmatch(r"recorded: \d{3,4} B", settings.basis["engine.binary_log_bytes_per_commit"])
    assert settings.basis["engine.adaptive_flushing_lwm"].startswith("assumed: ")
    summary = replay_statements(load, scenario).summary
    assert summary["log"]["flushes"] > 0
    assert summary["log"]["pages_flushed"] >= 0
    assert summary["verdict"]["error"] == "arrivals"  # InnoDB's errors are those of clients that wait
    clients = ["replay.mode=closed", "replay.clients=8", "replay.think=0 s"]
    summary = replay_statements(load, load_scenario("pcie-flash", clients)).summary
    assert summary["model_error"]["basis"] == "innodb"  # other engines' errors are not InnoDB's
    assert verdicts.expected_error(summary) == verdicts._reach(summary["model_error"]["figures"]["throughput"])
    assert "Expected error (InnoDB), measured against predicted: throughput" in verdicts.notes([summary])[-1]
    with pytest.raises(ScenarioError, match=r"engine\.max_wal_size: is no setting of MariaDB; write redo_log_capacity"):
        settings_of_load(load_scenario("pcie-flash", ["engine.max_wal_size=1 GiB"]), load)


def test_a_result_of_before_innodbs_errors_were_learned_says_that_they_are_unknown() -> None:
    verdict = {"load": "steady", "calibration": "none", "error": "unknown"}
    summary = {"verdict": verdict, "model_error": model_error_of(verdict)}
    assert summary["model_error"] == {"basis": "unknown", "figures": {}}
    assert verdicts.expected_error(summary) == "unknown"
    assert "unknown" in verdicts.notes([summary])[-1]
    doubted = summary | {"in_doubt": True}
    assert verdicts.notes([doubted])[-1].endswith(
        "In doubt: whether the load is carried, as the expected error is unknown."
    )
    (doubt,) = doubts_of(parse_target("p99(commit) < 1 s"), summary, "transactions")
    assert "unknown" in doubt


def test_the_error_is_unknown_where_nobody_saw_how_long_changes_waited_for_the_log(tmp_path: Path) -> None:
    """The fastest change of all that commit by themselves holds a flush: 5 ms of CPU that may be 50 us."""
    path = counted_database(tmp_path / "a.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    assert not are_commits_unseen(load)
    update = next(query for query in load.queries if "UPDATE" in load.texts[query])
    assert are_commits_unseen(replace(load, cpu_basis={**load.cpu_basis, update: FASTEST_CHANGE}))
    verdict = {"load": "steady", "calibration": "none", "error": "commits"}
    summary = {"verdict": verdict, "model_error": model_error_of(verdict)}
    assert summary["model_error"] == {"basis": "unknown", "figures": {}}
    assert "nobody saw how long they waited for the log" in verdicts.notes([summary])[-1]


@pytest.mark.parametrize(
    ("version", "io_capacity", "most"),
    [("5.7.44", None, 2000), ("8.0.36", 5000, 10_000), ("8.4.3", None, 20_000), ("8.4.3", 500, 2000)],
)
def test_mysqls_io_capacity_max_follows_io_capacity(version: str, io_capacity: int | None, most: int) -> None:
    engine = EngineModel(io_capacity=io_capacity)
    sources = EngineSources(engine, {"engine": "mysql"}, version, 16384, 1 << 30, None, 1 << 30, 0)
    cleaner = mysql(sources, {}).page_cleaner
    assert cleaner is not None
    assert cleaner.io_capacity_max == most


def test_the_redo_log_is_as_large_as_the_server_says() -> None:
    """From 8.0.30 on older variables have their defaults, 2 x 48 MiB, whatever innodb_redo_log_capacity is."""
    variables = {"innodb_log_file_size": 48 << 20, "innodb_log_files_in_group": 2, "innodb_redo_log_capacity": 64 << 20}
    settings = {name: EntityChange({}, {"setting": str(value)}) for name, value in variables.items()}
    log = {"log": EntityChange({}, {"capacity_bytes": Decimal(64 << 20)})}
    recorded = with_variables(Manifest(host={"engine": "mysql"}), Differences({"setting": settings, "log": log}))
    sources = EngineSources(EngineModel(), recorded.host, "8.0.36", 16384, 1 << 30, None, 1 << 30, 0)
    basis: dict[str, str] = {}
    assert mysql(sources, basis).described["redo_log_capacity_bytes"] == 64 << 20
    assert basis["engine.redo_log_capacity"] == "recorded"


def test_a_redo_log_whose_capacity_alone_was_counted_is_recorded() -> None:
    log = {"log": EntityChange({}, {"capacity_bytes": Decimal(64 << 20)})}
    recorded = with_variables(Manifest(host={"engine": "mysql"}), Differences({"log": log}))
    sources = EngineSources(EngineModel(), recorded.host, "8.0.36", 16384, 1 << 30, None, 1 << 30, 0)
    basis: dict[str, str] = {}
    assert mysql(sources, basis).described["redo_log_capacity_bytes"] == 64 << 20
    assert basis["engine.redo_log_capacity"] == "recorded"


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"innodb_flush_method": "O_DSYNC"}, "innodb_flush_method is O_DSYNC"),  # of the log alone
        ({"innodb_flush_method": "fsync"}, "innodb_flush_method is fsync"),
        ({}, "innodb_flush_method is fsync"),
        ({"innodb_flush_method": "O_DIRECT_NO_FSYNC"}, None),
        (
            {"innodb_flush_method": "O_DIRECT", "innodb_data_file_buffering": "ON"},
            "innodb_data_file_buffering is ON",
        ),
    ],
)
def test_a_result_says_that_the_recorded_server_read_through_the_page_cache(
    variables: dict[str, str], said: str | None
) -> None:
    assert set(variables) <= KEPT
    settings = {name: EntityChange({}, {"setting": value}) for name, value in variables.items()}
    recorded = with_variables(Manifest(host={"engine": "mysql"}), Differences({"setting": settings}))
    sources = EngineSources(EngineModel(), recorded.host, "8.0.36", 16384, 1 << 30, None, 1 << 30, 0)
    found = [one for one in mysql(sources, {}).caveats if "past the page cache" in one]
    assert [one.rpartition(" though ")[2] for one in found] == ([said] if said else [])


VALUES = {"Uptime": "100", "Innodb_pages_read": "7", "Innodb_page_size": "16384", "Innodb_buffer_pool_reads": "6"}


def _tabs(rows: dict[str, str]) -> str:
    return "Variable_name\tValue\n" + "".join(f"{name}\t{value}\n" for name, value in rows.items())


def _framed(rows: dict[str, str]) -> str:
    rule = f"+{'-' * 32}+{'-' * 12}+\n"
    lines = "".join(f"| {name:<30} | {value:<10} |\n" for name, value in {"Variable_name": "Value", **rows}.items())
    head, rest = lines.split("\n", 1)
    return rule + head + "\n" + rule + rest + rule


def _vertical(rows: dict[str, str]) -> str:
    return "".join(
        f"*************************** {number}. row ***************************\nVariable_name: {name}\n"
        f"        Value: {value}\n"
        for number, (name, value) in enumerate(rows.items(), 1)
    )


FORMS = {
    "tabs": _tabs(VALUES),
    "frame": _framed(VALUES),
    "vertical": _vertical(VALUES),
    "csv": _tabs(VALUES).replace("\t", ","),
    "json": json.dumps([{"VARIABLE_NAME": name, "VARIABLE_VALUE": value} for name, value in VALUES.items()]),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_table_says_the_same_however_it_was_saved(form: str, tmp_path: Path) -> None:
    recorded = read_text(tmp_path, FORMS[form])
    (piece,) = recorded.pieces
    assert piece.values["server", "server"] == {"uptime_s": 100}
    assert piece.values["database", "*"] == {"pages_read": 7, "pages_missed": 6}


def test_values_apart_by_tabs_keep_quotes_and_escapes(tmp_path: Path) -> None:
    text = 'schema_name\tdigest\tdigest_text\tcount_star\na\tb\tSELECT "x\\ty\n\tc\td\t1\nNULL\te\tSELECT `a`\\n\t3\n'
    recorded = read_text(tmp_path, text.replace("\n\tc", "\\n\tc").replace("\\n\tc\td\t1", "\t1"))
    entities = {entity for piece in recorded.pieces for _, entity in piece.values}
    assert entities == {"a//t/b", "//t/e"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (_tabs({**VALUES, "aurora_version": "3.04"}), "recorded: aurora_version is of Amazon Aurora"),
        (_tabs({**VALUES, "Innodb_pages_read": "many"}), "recorded: line 3: innodb_pages_read: 'many' is no number"),
        (_tabs({**VALUES, "Uptime": "9" * 40}), "recorded: line 2: uptime: '9"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=re.escape(sentence)):
        read_text(tmp_path, text, key="mysql")


def test_metrics_that_are_off_are_not_zero(tmp_path: Path) -> None:
    text = (
        "NAME\tSUBSYSTEM\tCOUNT\tSTATUS\n"
        + "trx_rw_commits\ttransaction\t0\tdisabled\nlog_checkpoints\trecovery\t0\tenabled\n"
    )
    recorded = read_text(tmp_path, text)
    (piece,) = recorded.pieces
    assert dict(piece.values) == {("checkpointer", "checkpointer"): {"done": 0}}


@pytest.mark.parametrize("part", [(v.name, part) for v in (*VIEWS, STATUS, VARIABLES, COUNTED) for part in v.parts])
def test_tables_use_the_words_of_their_subject(part: tuple[str, object]) -> None:
    _, known = part
    subject = SUBJECTS[known.subject]  # type: ignore[attr-defined]
    assert set(known.numbers) <= subject.counters | subject.gauges  # type: ignore[attr-defined]
    assert set(known.texts) <= subject.texts  # type: ignore[attr-defined]


HEAD = (
    "# User@Host: app[app] @ web [10.0.0.1]  Id: 7\n# Query_time: 0.002000  Lock_time: 0.000001"
    " Rows_sent: 1  Rows_examined: 5\n"
)
ENTRIES = {
    "mysql": "# Time: 2026-11-24T04:00:00.500000Z\n" + HEAD + "SET timestamp=1795492800;\n",
    "mariadb": HEAD.replace("  Id: 7", "")
    + "# Thread_id: 7  Schema: shop  QC_hit: No\n# Pages_accessed: 3  Pages_read: 1  Pages_prefetched: 0\n"
    + "# Pages_read_time: 0.5000  Engine_time: 0.1\nSET timestamp=1795492800;\n",
    "percona": HEAD
    + "#   InnoDB_IO_r_ops: 2  InnoDB_IO_r_bytes: 32768  InnoDB_IO_r_wait: 0.000500\n"
    + "#   InnoDB_rec_lock_wait: 0.000250\n"
    + "SET timestamp=1795492800;\n",
}


@pytest.mark.parametrize("server", ENTRIES)
def test_a_slow_log_becomes_statements(server: str, tmp_path: Path) -> None:
    (tmp_path / "slow.log").write_text(ENTRIES[server] + f"select a from t where b = '{SECRET}';\n")
    assert detect_format(tmp_path / "slow.log") == "mysql-slow-log"
    import_trace([tmp_path / "slow.log"], tmp_path / "o.trace")
    table = read_statements(tmp_path / "o.trace")
    one = {name: int(values[0]) for name, values in table.columns.items()}
    assert (one["duration_ns"], one["rows_examined"], one["rows"]) == (2_000_000, 5, 1)
    reads = {"mysql": (-1, -1, -1), "mariadb": (3, 1, 500_000), "percona": (-1, 2, 500_000)}[server]
    assert tuple(max(one[name], -1) for name in ("logical_reads", "physical_reads", "io_wait_ns")) == reads
    assert one["lock_wait_ns"] == (250_000 if server == "percona" else 1000)
    (zero,) = [json.loads((tmp_path / "o.trace/manifest.json").read_text())["host"]["clock_start_unix_ns"]]
    assert zero == 1_795_492_800_000_000_000 + (498_000_000 if server == "mysql" else 0)


def _warnings(folder: Path, *texts: str) -> list[str]:
    """Import logs of one entry each as one recording."""
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"slow{number}.log").write_text(text + "commit;\n")
    import_trace([folder], folder / "o.trace")
    found: list[str] = json.loads((folder / "o.trace/manifest.json").read_text())["warnings"]
    return found


def test_slow_logs_of_several_servers_or_years_are_told(tmp_path: Path) -> None:
    """Logs that follow each other, and a server that wrote its head again, are one recording."""
    start = (
        "/usr/sbin/mysqld, Version: {} (x). started with:\nTcp port: {}  Unix socket: /s\nTime  Id Command  Argument\n"
    )
    first, second = start.format("8.0.36", 3306), start.format("8.0.36", 3307)
    entry, years_before = ENTRIES["percona"], ENTRIES["percona"].replace("1795492800", "1195492800")
    next_day = entry.replace("1795492800", "1795570000")
    assert _warnings(tmp_path / "rotated", first + entry, first + next_day) == []
    assert _warnings(tmp_path / "years", entry, years_before) == [
        (
            "slow0.log begins 6,944 days after slow1.log ends: if they are not of one server and one time, import each"
            " by itself"
        )
    ]
    assert _warnings(tmp_path / "servers", first + entry, second + entry) == [
        (
            "the slow logs name several servers, or versions of one (slow0.log: 8.0.36, Tcp port: 3306 Unix socket: /s;"
            " slow1.log: 8.0.36, Tcp port: 3307 Unix socket: /s): import those of each by themselves"
        )
    ]


LITERALS = [
    f"'{SECRET}'",
    f'"{SECRET}"',
    f"'it\\'s {SECRET}'",
    f"'it''s {SECRET}'",
    f'"a\\"{SECRET}"',
    f"N'{SECRET}'",
    f"_utf8mb4'{SECRET}'",
    f"/* {SECRET} */ 1",
    f"1 # {SECRET}\n",
    f"1 -- {SECRET}\n",
    f"'{SECRET}",
    f"'a;\n# User@Host: x[x] @ y []\n# Query_time: 1.0  Lock_time: 0\nSET timestamp=1795492800;\n{SECRET}'",
]


@pytest.mark.parametrize("literal", LITERALS)
def test_planted_literals_are_nowhere_in_the_bundle(literal: str, tmp_path: Path) -> None:
    text = ENTRIES["mysql"] + f"select a from t where b = {literal};\n" + ENTRIES["mysql"] + "commit;\n"
    (tmp_path / "slow.log").write_text(text)
    import_trace([tmp_path / "slow.log"], tmp_path / "o.trace")
    _nowhere(tmp_path / "o.trace")


def _nowhere(bundle: Path) -> None:
    for file in bundle.iterdir():
        said = str(pq.read_table(file).to_pylist()) if file.suffix == ".parquet" else file.read_text()
        assert "planted" not in said, file.name


@given(st.text(alphabet=st.sampled_from("'\"\\` ab#-*/;\n0"), max_size=30))
def test_a_text_without_literals_has_none_of_its_strings(inside: str) -> None:
    quoted = "'" + inside.replace("\\", "\\\\").replace("'", "\\'") + "xyzzy'"
    assert "xyzzy" not in without_literals(f"select {quoted} from t")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (HEAD + "select 1;\n", "1 of 1 entries cannot be read (line 1: it has no SET timestamp"),
        (
            HEAD.replace("0.002000", "never") + "SET timestamp=1795492800;\nselect 1;\n",
            "Query_time: 'never' is no time",
        ),
        (HEAD + "SET timestamp=9999999999;\nselect 1;\n", "it started before 1970, or after 2116"),
        ("# Time: 2026-13-24T04:00:00.500000Z\n" + HEAD + "select 1;\n", "is no moment"),
    ],
)
def test_a_slow_log_that_cannot_be_read_is_refused_in_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=re.escape(sentence)):
        read_text(tmp_path, text, key="mysql-slow-log")


def test_a_real_slow_log_is_read(tmp_path: Path) -> None:
    import_trace([DATA / "mariadb_slow.log"], tmp_path / "o.trace")
    text = (DATA / "mariadb_slow.log").read_text()
    table = read_statements(tmp_path / "o.trace")
    assert len(table) == text.count("# User@Host")
    reads = [int(count) for count in re.findall(r"Pages_read: (\d+)", text)]
    assert int(table.columns["physical_reads"][table.columns["physical_reads"] >= 0].sum()) == sum(reads)


def test_a_cell_of_the_lab_is_read(shared: Path, tmp_path: Path) -> None:
    manifest = import_trace([shared / "mysql/lab/update_zipf_bp512_rw300"], tmp_path / "o.trace")
    said = found(tmp_path / "o.trace")
    assert manifest.span_ns == 150_075_600_000  # sysbench's total time: counters tell whole seconds
    assert said.of("log")["log"].last["capacity_bytes"] == 512 << 20
    assert said.of("database")["*"].number("write_transactions") == 46_465


def spaced(folder: Path, before: int, after: int, more: str = "") -> int:
    """Import two snapshots without times of servers that have been up for so many seconds; returns the span in ns."""
    for name, uptime in (("before", before), ("after", after)):
        (folder / name).mkdir(parents=True)
        (folder / name / "global_status.tsv").write_text(_tabs({**VALUES, "Uptime": str(uptime)}))
    files = [folder / "before", folder / "after"]
    if more:
        (folder / "sysbench.txt").write_text(more)
        files.append(folder / "sysbench.txt")
    return import_trace(files, folder / "o.trace").span_ns


def test_uptimes_tell_the_time_between_two_snapshots_unless_the_server_was_started_in_between(tmp_path: Path) -> None:
    assert spaced(tmp_path / "up", 864_000, 864_600) == 600 * 10**9
    assert spaced(tmp_path / "restarted", 864_000, 300) == 0


def test_a_load_that_ran_for_a_part_of_the_time_does_not_tell_the_time_between_two_snapshots(tmp_path: Path) -> None:
    """Rates over the 90 s of sysbench would be four times too high."""
    assert spaced(tmp_path / "same", 100, 190, PRINTED) == 90_013_000_000
    assert spaced(tmp_path / "longer", 100, 460, PRINTED) == 360 * 10**9


def test_each_table_has_a_word_for_which_a_file_is_looked_into() -> None:
    for told in (told for view in VIEWS for told in view.told_by):
        assert MARKS["mysql"].search(told.upper()), told
