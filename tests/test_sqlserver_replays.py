"""SQL Server: from statements one by one and counters of files to runs that agree with the recording; the truth behind
a bundle is known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counted_bundles import bundle
from tests.runs import needs_jit
from tests.sqlserver_hours import LOG_NS, READ_NS, SCAN, Truth, sql_server_hour
from tests.sqlserver_scenarios import sql_server_scenario
from tests.sqlserver_trace_files import write_file_stats, write_trc
from tiersim.devices.station_records import Plant
from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.calibration.popularity import AccessedTable, Fitted, Law, predict
from tiersim.scenarios.calibration.popularity.fit import Missed
from tiersim.scenarios.calibration.popularity.occupancy import LRU2, Pool, levels
from tiersim.scenarios.calibration.popularity.recorded_files import SCAN_PAGES, inner_pages, names_in, recorded_files
from tiersim.scenarios.statements import warm_pools
from tiersim.scenarios.statements.assembly import Shared, assemble
from tiersim.scenarios.statements.calibration import _as_recorded
from tiersim.scenarios.statements.loads import in_sessions, load_of, processor_law, recorded_statements
from tiersim.scenarios.statements.programs import Program
from tiersim.scenarios.statements.queries import QueryWork, said_of_parallel
from tiersim.scenarios.statements.replay import replay_statements_all
from tiersim.scenarios.statements.schedule import PLACES, schedule, transactions_of
from tiersim.scenarios.statements.settings import Settings, settings_of
from tiersim.scenarios.statements.statement_load import COMMIT, StatementLoad, committing
from tiersim.scenarios.statements.variants import recorded_variants
from tiersim.simulator.database.buffer_pool import warm
from tiersim.simulator.database.buffer_pool.warm import Warmed
from tiersim.simulator.database.checkpoint.bursts import BurstCheckpoints, IndirectCheckpoints
from tiersim.simulator.database.database_state import CLOCK, LOG, LOOKUP, LOOKUPS, Database
from tiersim.simulator.database.database_state import SCAN as SCANS
from tiersim.simulator.database.wal.log_blocks import LogBlocks
from tiersim.simulator.policies import misses
from tiersim.traces.bundle import Bundle
from tiersim.traces.differences import read_counters
from tiersim.traces.readers import import_trace
from tiersim.traces.schema import STATEMENT_COLUMNS
from tiersim.traces.statistics import STATEMENTS, Table, read_statements, table_of, write_table
from tiersim.units import NS_PER_MS, NS_PER_S

_FOLDERS: list[TemporaryDirectory[str]] = []


@pytest.fixture(scope="module", autouse=True)
def _removed() -> Iterator[None]:
    """What is made once is gone after the last test."""
    yield
    for made in (hour, load):
        made.cache_clear()
    while _FOLDERS:
        _FOLDERS.pop().cleanup()


@cache
def hour(*, physical: bool = False, relations: bool = False) -> Truth:
    """Thousands of statements, recorded in one of three ways; made once."""
    _FOLDERS.append(TemporaryDirectory())
    path = Path(_FOLDERS[-1].name) / "hour.trace"
    return sql_server_hour(path, statements=20_000, physical=physical, relations=relations)


@cache
def load(*, physical: bool = False, relations: bool = False) -> StatementLoad:
    """Return it as a load."""
    return load_of(hour(physical=physical, relations=relations).path, 1)


def program(of: StatementLoad, folder: Path, *changes: str) -> Program:
    """Return what its sessions do on the recorded hardware."""
    scenario = sql_server_scenario(folder, "recorded", *changes)
    made = settings_of(scenario, of.path, of.manifest, None, of.image_bytes, of.pool_bytes)
    return Shared().program(of, scenario, made, None)


# which pages


@pytest.mark.parametrize(("exponent", "frames"), [(0.9, 300), (0.9, 1200), (0.4, 600)])
def test_a_pool_of_lru_2_misses_what_its_closed_form_says(exponent: float, frames: int) -> None:
    pages, count = 2_000, 40_000
    chance = np.arange(1, pages + 1) ** -exponent
    references = np.random.default_rng(3).choice(pages, count, p=chance / chance.sum()).astype(np.int32)
    half = count // 2
    walked = misses("lru-2", references, pages, frames) - misses("lru-2", references[:half], pages, frames)
    table = AccessedTable("made up", pages, pages, 0, half, 0, 0)
    (expected,) = Pool([table], 1, LRU2).expected([Law(exponent)], frames)
    assert expected.heap_missed == pytest.approx(walked / half, rel=0.02)
    assert expected.heap_held.sum() == pytest.approx(frames, rel=0.001)


@settings(deadline=None)
@given(st.integers(2, 10_000_000))
def test_a_tree_has_its_inner_levels_and_no_more(pages: int) -> None:
    above = levels(inner_pages(pages))
    assert above[0] == 1
    assert above[-1] == pytest.approx(-(-pages // 281), abs=1)


WAYS = [{}, {"physical": True}, {"relations": True}]


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=["profiler", "extended events", "with tables"])
def test_laws_miss_what_the_files_were_read(way: dict[str, bool]) -> None:
    truth, found = hour(**way), load(**way)
    recorded = truth.pages_missed - truth.pages_scanned
    by_law = sum(t.accesses * (m.index + m.heap) for t, m in zip(found.fitted.tables, found.fitted.missed, strict=True))
    assert by_law == pytest.approx(recorded, rel=0.01)
    for frames in (truth.frames // 2, 2 * truth.frames, 3 * truth.frames):
        there = predict(found.fitted, frames)
        by_law = sum(t.accesses * (m.index + m.heap) for t, m in zip(found.fitted.tables, there, strict=True))
        assert by_law == pytest.approx(truth.missed_by_lookups(frames), rel=0.06)


def test_what_was_concluded_is_said() -> None:
    said = "\n".join(load().inferred)
    assert "misses of single statements were not recorded" in said
    assert f"{hour().pages_scanned:,} of them by scans (long reads)" in said
    assert "table sizes were not recorded" in said
    assert "is recorded in ticks" in said
    assert "tempdb: 1 MB were read and written" in said
    assert "pg_" not in said
    assert "misses of single statements" not in "\n".join(load(physical=True).inferred)


def test_executions_of_which_something_is_not_known_are_said_to_be_left_out(tmp_path: Path) -> None:
    """Handles that were prepared before the recording run a text that it does not have."""
    truth = sql_server_hour(tmp_path / "hour.trace", statements=400, scan_pages=0)
    table = read_statements(truth.path)
    unknown = Table(
        {**table.columns, "query": np.where(np.arange(len(table)) % 40, table.columns["query"], -1)}, table.words
    )
    write_table(truth.path / STATEMENTS, STATEMENT_COLUMNS, unknown)
    lost = -(-len(table) // 40)
    found = load_of(truth.path, 1)
    assert len(found) == len(table) - lost
    assert any(one.startswith(f"{lost} of {len(table)} executions are left out") for one in found.inferred)
    assert not any("are left out, as their session" in one for one in load().inferred)


def test_queries_are_told_apart_by_what_they_waited_for() -> None:
    """A table whose statements hardly wait misses hardly a page, though nobody counted its misses."""
    own = {t.name: t.heap_missed / t.accesses for t in load().fitted.tables}
    counted = {t.name: t.heap_missed / t.accesses for t in load(physical=True).fitted.tables}
    for name in ("orders", "customers", "payments", "items"):
        assert own[name] == pytest.approx(counted[name], rel=0.1)


def test_counters_of_a_longer_time_are_taken_in_proportion(tmp_path: Path) -> None:
    truth = sql_server_hour(tmp_path / "hour.trace", statements=3_000)
    table = recorded_statements(truth.path, with_misses=False)
    assert table is not None
    early = table.columns["time_ns"] < table.columns["time_ns"].max() // 2
    half = Table({name: values[early] for name, values in table.columns.items()}, table.words)
    found = recorded_files(
        read_counters(truth.path), in_sessions(half, {}), np.zeros(int(early.sum()), np.bool_), 1 << 26, 8192
    )
    assert found.share_of_time == pytest.approx(0.5, abs=0.02)
    assert any("the same share of the file reads counts" in sentence for sentence in found.accesses.inferred)


NAMES: Sequence[tuple[str, list[str]]] = [
    ("SELECT * FROM [Sales].[dbo].[Order Lines]", ["order"]),
    ("select a from dbo.x join y on x.i = y.i where exists (select 1 from @t)", ["x", "y"]),
    ("UPDATE stock SET q = ?", ["stock"]),
    ("exec [dbo].[usp_Get] ?", ["usp_get"]),
    ("INSERT INTO #temp SELECT * FROM t", ["t"]),
    ("COMMIT TRAN", []),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_tables_are_what_a_statement_names(text: str, names: list[str]) -> None:
    assert names_in(text) == names


# what executions ask for


@pytest.mark.parametrize("way", WAYS, ids=["profiler", "extended events", "with tables"])
def test_executions_keep_their_own_pages(way: dict[str, bool], tmp_path: Path) -> None:
    truth, made = hour(**way), program(load(**way), tmp_path)
    pages = np.array(made.pages) + np.array(made.other_pages)
    assert pages[made.statements.classes].sum() == pytest.approx(truth.logical_reads, rel=0.01)
    assert len(made.classes) < 2_000
    rows = np.array([sum(d.rows for d in one if d.kind in (LOOKUP, LOOKUPS)) for one in made.classes])
    accesses = sum(table.accesses for table in load(**way).fitted.tables)
    assert rows[made.statements.classes].sum() == pytest.approx(accesses, rel=0.01)


def test_a_statement_that_asks_for_very_many_pages_scans(tmp_path: Path) -> None:
    made, found = program(load(), tmp_path), load()
    scans = [one for one in made.classes if any(demand.kind == SCANS for demand in one)]
    assert len(scans) == 1
    (scan,) = (demand for demand in scans[0] if demand.kind == SCANS)
    assert found.fitted.tables[scan.table].name == "orders"
    assert SCAN_PAGES <= scan.pages <= hour().pages_scanned
    assert scan.block_pages == 64
    name = found.queries.index(f"print of {SCAN}")
    assert int((found.query == name).sum()) == 1


_pages = st.lists(st.integers(0, 5_000), min_size=1, max_size=300).map(np.array)


@settings(deadline=None)
@given(_pages, st.lists(st.floats(0.0, 12.0), min_size=1, max_size=4), st.floats(0.0, 3.0))
def test_rows_of_a_query_add_up(pages: np.ndarray, means: list[float], changed: float) -> None:
    tables = tuple(AccessedTable(f"t{place}", 6_000, 6_000, 0, 1, 0, 0) for place in range(len(means)))
    fitted = Fitted(
        tables, 100, (Law(),) * len(tables), (Missed(0.0, 0.5),) * len(tables), (), 1, heap_held=(50.0,) * len(tables)
    )
    asked = QueryWork(tuple(means), (0.0,) * len(means), 1.0, False, True, 900.0, 0.0, changed, 0, 1.0)
    found = recorded_variants(asked, pages, 1, fitted, 5_999)
    assert len(found.chosen) == len(pages)
    assert len(found.demands) <= 129 * (len(means) + 2)
    looks_up = pages < SCAN_PAGES
    wanted = np.array(means) * int(looks_up.sum()) if looks_up.any() and pages[looks_up].any() else np.zeros(len(means))
    for table, rows in enumerate(wanted.tolist()):
        each = [sum(d.rows for d in one if d.table == table and d.kind in (LOOKUP, LOOKUPS)) for one in found.demands]
        assert np.array(each)[found.chosen].sum() == pytest.approx(rows, abs=8 + 0.02 * rows)
    for one, unattached in zip(found.demands, found.unattached_bytes, strict=True):
        attached = sum(d.log_bytes * d.rows for d in one)
        assert attached + unattached == pytest.approx(900, abs=len(one) * 130)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10_000), st.integers(-1, 50)), min_size=1, max_size=60))
def test_processor_time_keeps_its_sums(rows: list[tuple[int, int, int]]) -> None:
    query, pages, ticks = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    cpu_ns = np.where(ticks < 0, -1, ticks * 15_625_000)
    found = processor_law(query, pages, cpu_ns, 4)
    assert (found >= 0).all()
    known = cpu_ns >= 0
    for code in range(4):
        own = known & (query == code)
        assert found[own].sum() == pytest.approx(cpu_ns[own].sum(), abs=len(rows) + 1e-6 * float(cpu_ns[own].sum()))


def test_queries_that_several_processors_worked_on_are_told_by_their_cpu() -> None:
    """Short executions, which have a tick of CPU or none, are not, though one of them alone seems to be."""
    luck = np.random.default_rng(1)
    short = 64 * NS_PER_MS * (luck.random(6_400) < 1 / 64) // 4  # 0.25 ms of CPU in ticks of 16 ms
    columns = {
        "query": np.repeat([0, 1, 2], [6_400, 10, 4]),
        "duration_ns": np.repeat([NS_PER_MS // 4, 2 * NS_PER_S, NS_PER_S], [6_400, 10, 4]),
        "cpu_ns": np.concatenate([short, np.repeat([7 * NS_PER_S, NS_PER_S // 2], [10, 4])]),
    }
    said = said_of_parallel(["short", "report", "slow"], columns)
    assert said is not None
    assert said.startswith("1 queries took more CPU than time")
    assert "report (3.5 ×)" in said
    assert said_of_parallel(["short", "report", "slow"], columns | {"cpu_ns": np.full(6_414, -1)}) is None
    assert load().parallel is None


def test_a_query_that_several_processors_worked_on_leaves_the_error_unknown(tmp_path: Path) -> None:
    """One core works on it here, which its Duration knows nothing of."""
    truth = sql_server_hour(
        tmp_path / "hour.trace",
        statements=600,
        sessions=4,
        seconds=10,
        pages=400,
        frames=150,
        scan_pages=60_000,
        degree=8,
    )
    scenario = sql_server_scenario(tmp_path, "a", "replay.cache_state=cold", engine='buffer_pool = "64 MiB"')
    (found,) = replay_statements_all(Bundle(truth.path), [scenario])
    summary, name = found.summary, f"print of {SCAN}"
    assert summary["queries"][name]["max"] > 2 * truth.mean_ns[name]
    assert summary["verdict"]["error"] == "parallel"
    assert summary["model_error"] == {"basis": "unknown", "figures": {}}
    (said,) = (one for one in summary["caveats"] if "took more CPU than time" in one)
    assert name in said


def test_transactions_go_from_begin_to_commit() -> None:
    texts = ["SELECT 1", "BEGIN TRAN", "UPDATE t SET a = ?", "IF @@TRANCOUNT > ? COMMIT TRAN"]
    queries = [0, 1, 2, 0, 3, 2, 1, 2]
    rows = [
        {
            "time_ns": place,
            "session": "a" if place < 7 else "b",
            "kind": "language",
            "query": texts[code],
            "logical_reads": 1,
        }
        for place, code in enumerate(queries)
    ]
    found = in_sessions(table_of(STATEMENT_COLUMNS, rows), {text: text for text in texts})
    transaction = found.columns["transaction"]
    assert np.unique(transaction, return_inverse=True)[1].tolist() == [0, 1, 1, 1, 1, 2, 3, 4]
    changes = np.array([text.startswith("UPDATE") for text in found.words["query"]])[found.columns["query"]]
    ends = committing(found.columns["session"], transaction, changes)
    assert ends.tolist() == [False, False, False, False, True, True, False, True]


def test_a_commit_belongs_to_the_transaction_that_was_open_before_it() -> None:
    """It leaves none open, so Extended Events note none for it."""
    texts = ["SELECT 1", "BEGIN TRAN", "UPDATE t SET a = ?", "COMMIT TRAN"]
    executions = [("a", 0, None), ("a", 1, 7), ("a", 2, 7), ("a", 3, None), ("a", 0, None), ("b", 3, None)]
    rows: list[dict[str, int | str | None]] = [
        {"time_ns": place, "session": session, "kind": "language", "query": texts[code], "logical_reads": 1}
        for place, (session, code, _) in enumerate(executions)
    ]
    for row, (_, _, number) in zip(rows, executions, strict=True):
        row.update({} if number is None else {"transaction": number})
    found = in_sessions(table_of(STATEMENT_COLUMNS, rows), {text: text for text in texts})
    assert np.unique(found.columns["transaction"], return_inverse=True)[1].tolist() == [1, 0, 0, 0, 2, 3]


def test_a_commit_is_part_of_the_statement_that_ends_its_transaction(tmp_path: Path) -> None:
    made, truth = program(load(), tmp_path), hour()
    classes = made.statements.classes
    assert made.executed.all()  # nothing was added
    commits = np.array([any(demand.kind == LOG for demand in one) for one in made.classes])
    assert int(commits[classes].sum()) == truth.commits
    alone = np.array(made.category) == made.names.index(COMMIT)
    assert int(alone[classes].sum()) == truth.calls["print of COMMIT TRAN"]
    assert not made.locks_rows
    update = made.names.index("print of UPDATE dbo.orders SET state = ? WHERE id = ?")
    updates = [made.classes[one] for one in np.unique(classes).tolist() if made.category[one] == update]
    assert updates
    assert all(one[-1].kind == LOG and any(demand.dirties for demand in one) for one in updates)


def test_the_log_gets_the_bytes_that_its_file_got(tmp_path: Path) -> None:
    made, truth = program(load(), tmp_path), hour()
    each = np.array([sum(demand.log_bytes * demand.rows for demand in one) for one in made.classes])
    changed = truth.commits + truth.calls["print of COMMIT TRAN"]  # a transaction of four statements changes two rows
    assert each[made.statements.classes].sum() == pytest.approx(380 * changed, rel=0.35)  # sectors round up


# settings


def engine(tmp_path: Path, text: str = "", version: str = "14", **host: object) -> Settings:
    """Return the settings of the recorded hardware with *text* under [engine], as a server of that version was
    recorded.
    """
    known = load().manifest
    recorded = replace(known, host={**known.host, "version": version, **host})
    return settings_of(sql_server_scenario(tmp_path, engine=text), load().path, recorded, None)


def test_versions_decide_on_checkpoints_and_the_log(tmp_path: Path) -> None:
    found = engine(tmp_path).of_engine
    assert isinstance(found.checkpoints, IndirectCheckpoints)
    assert found.checkpoints.target_ns == 60 * NS_PER_S
    assert isinstance(found.log, LogBlocks)
    assert (found.log.most_writes, found.log.most_bytes, found.ramp_pages) == (112, 3840 << 10, 8)
    old = engine(tmp_path, version="10").of_engine
    assert isinstance(old.checkpoints, BurstCheckpoints)
    assert (old.checkpoints.slow_ns, old.checkpoints.gathered_pages) == (20 * NS_PER_MS, 32)
    assert isinstance(old.log, LogBlocks)
    assert (old.log.most_writes, old.log.most_bytes) == (32, 3840 << 10)
    automatic = engine(tmp_path, 'target_recovery_time = "0 s"\nrecovery_interval = "5 min"').of_engine
    assert automatic.checkpoints == BurstCheckpoints(300 * NS_PER_S)


def test_where_settings_come_from_is_said(tmp_path: Path) -> None:
    by_default = engine(tmp_path)
    assert by_default.basis["engine.target_recovery_time"] == "default"
    assert by_default.engine["checkpoints"] == "indirect"
    recorded = engine(tmp_path, target_recovery_time_s=0)
    assert recorded.basis["engine.target_recovery_time"] == "recorded"
    assert recorded.engine["checkpoints"] == "automatic"
    delayed = engine(tmp_path, "delayed_durability = true")
    assert delayed.basis["engine.delayed_durability"] == "scenario"
    assert isinstance(delayed.of_engine.log, LogBlocks)
    assert delayed.of_engine.log.delayed_durability
    assert by_default.caveats == ()


REFUSED = [
    ('checkpoint_timeout = "5 min"', "engine.checkpoint_timeout: is no setting of SQL Server; write recovery_interval"),
    ("synchronous_commit = false", "write delayed_durability"),
    ('os_cache = "1 GiB"', "reads past the page cache"),
    ("full_page_writes = true", "no images of pages"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_settings_of_the_other_engine_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        engine(tmp_path, text)


def test_an_extension_of_the_pool_needs_a_volume(tmp_path: Path) -> None:
    text = 'extension = "1 GiB"'
    with pytest.raises(ScenarioError, match=r"engine\.extension: lies on no volume"):
        assemble(load(), sql_server_scenario(tmp_path, "a", "replay.cache_state=cold", engine=text))
    placed = sql_server_scenario(tmp_path, "b", "replay.cache_state=cold", engine=text, placement='extension = "log"')
    database = assemble(load(), placed).database
    assert len(database.extension_page) == (1 << 30) // 8192


def test_the_pool_is_as_large_as_somebody_says(tmp_path: Path) -> None:
    truth = sql_server_hour(tmp_path / "hour.trace", statements=400, pool_known=False, scan_pages=0)
    with pytest.raises(TraceError, match="--recorded-on"):
        load_of(truth.path, 1)
    recorded_on = sql_server_scenario(tmp_path, engine='buffer_pool = "64 MiB"')
    found = load_of(truth.path, 1, recorded_on)
    assert found.pool_bytes == 64 << 20
    other = sql_server_scenario(tmp_path, "other")
    made = settings_of(other, found.path, found.manifest, None, None, found.pool_bytes)
    assert made.buffer_pool_bytes == 64 << 20
    assert made.basis["engine.buffer_pool"] == "as the scenario of the recorded hardware says"


def test_what_is_lacking_is_a_sentence(tmp_path: Path) -> None:
    truth = sql_server_hour(tmp_path / "hour.trace", statements=300, scan_pages=0)
    (truth.path / "statistics.parquet").unlink()
    with pytest.raises(TraceError, match=r"record sys\.dm_io_virtual_file_stats"):
        load_of(truth.path, 1)
    bundle(truth.path, [], None, [{"time_ns": 0, "kind": "language"}])
    with pytest.raises(TraceError, match="record RPC:Completed and SQL:BatchCompleted"):
        load_of(truth.path, 1)
    truth = sql_server_hour(tmp_path / "without.trace", statements=300, scan_pages=0, pool_known=False)
    (truth.path / "statistics.parquet").unlink()
    what = r"without.trace: holds no sizes and reads of data files: .*; no size of the buffer pool: "
    with pytest.raises(TraceError, match=what):  # all at once: what is given does not only bring the next refusal
        load_of(truth.path, 1)


def test_costs_of_slow_processors_do_not_exceed_what_was_recorded(tmp_path: Path) -> None:
    own = load()
    fast = replace(own, cpu_ns=own.cpu_ns // 50)
    found = _as_recorded(fast, sql_server_scenario(tmp_path))
    assert "the engine's table times 0." in found.basis
    assert found.costs.lookup_ns < 1_000
    assert _as_recorded(own, sql_server_scenario(tmp_path)).costs.lookup_ns == 4_000


# runs


def test_a_run_on_other_hardware_is_held_against_the_recording(tmp_path: Path) -> None:
    truth = sql_server_hour(
        tmp_path / "hour.trace", statements=150, sessions=4, seconds=10, pages=400, frames=150, scan_pages=0
    )
    scenarios = [
        sql_server_scenario(tmp_path, name, "replay.cache_state=cold", read=read)
        for name, read in (("recorded", "500 us"), ("faster", "100 us"))
    ]
    (found,) = replay_statements_all(Bundle(truth.path), [scenarios[1]], recorded_on=scenarios[0])
    summary = found.summary
    assert summary["verdict"]["arrivals"] == "recorded"
    assert summary["verdict"]["locks"] == "not modelled"
    assert summary["replay"]["transactions_done"] == load_of(truth.path, 1).transactions
    assert summary["settings_from"]["host.costs"] == "recorded with the statements"
    classes = summary["calibration"]["classes"]
    assert classes["data read"]["measured_mean_ns"] == pytest.approx(READ_NS, rel=0.01)
    assert classes["log write"]["measured_mean_ns"] == pytest.approx(LOG_NS, rel=0.03)
    assert summary["calibration"]["read_error_pct"] is not None
    assert all(summary["conservation"][key] for key in ("accounted_for", "little", "busy"))
    updates = summary["queries"]["print of UPDATE dbo.orders SET state = ? WHERE id = ?"]
    assert updates["breakdown_ns"]["log"] > 0


@needs_jit
@pytest.mark.parametrize(
    ("way", "seconds"),
    [(WAYS[2], 150), *(pytest.param(way, 600, marks=pytest.mark.long) for way in WAYS)],
    ids=["a quarter", "profiler", "extended events", "with tables"],
)
def test_the_recorded_hardware_runs_as_it_did(way: dict[str, bool], seconds: int, tmp_path: Path) -> None:
    truth = sql_server_hour(
        tmp_path / "hour.trace",
        statements=seconds * 1000 // 3,
        sessions=40,
        seconds=seconds,
        pages=seconds * 1000 // 3,
        frames=seconds * 250 // 3,
        physical=way.get("physical", False),
        relations=way.get("relations", False),
    )
    recorded, faster = sql_server_scenario(tmp_path), sql_server_scenario(tmp_path, "faster", read="100 us")
    (found,) = replay_statements_all(Bundle(truth.path), [faster], recorded_on=recorded)
    calibration = found.summary["calibration"]
    assert calibration["verdict"] == "calibrated"
    assert abs(calibration["read_error_pct"] or 0.0) < 5
    for query, mean_ns in truth.mean_ns.items():
        relative = found.summary["relative_latency_ns"].get(query)
        if relative is not None and calibration["classes"][query]["decides"]:
            assert relative["mean"]["value"] < mean_ns


@pytest.mark.long
def test_a_trace_file_and_counters_of_files_say_what_was_made_up(tmp_path: Path) -> None:
    truth = sql_server_hour(tmp_path / "hour.trace", statements=3_000, seconds=60)
    write_trc(tmp_path / "hour.trc", truth.path)
    import_trace([tmp_path / "hour.trc", *write_file_stats(tmp_path, truth.path)], tmp_path / "read.trace")
    recorded_on = sql_server_scenario(tmp_path, engine=f'buffer_pool = "{truth.frames * 8} KiB"')
    own, read = load_of(truth.path, 1), load_of(tmp_path / "read.trace", 1, recorded_on)
    assert len(read) == len(own)
    for column in ("duration_ns", "logical_reads"):
        assert getattr(read, column).sum() == getattr(own, column).sum()
    assert read.pages_read == own.pages_read
    assert {t.name: t.accesses for t in read.fitted.tables} == {t.name: t.accesses for t in own.fitted.tables}
    assert read.fitted.exponents == pytest.approx(own.fitted.exponents, abs=0.02)
    ends = [np.array([one.durable for one in found.asked])[found.query].sum() for found in (own, read)]
    assert ends[0] == ends[1]


def test_very_many_sessions_share_places_in_turn(tmp_path: Path) -> None:
    """Behind a pool of connections each call is a session of its own; their transactions keep their times."""
    own = load()
    rows = np.arange(len(own))
    many = replace(own, session=rows, transaction=rows, start_ns=np.sort(own.start_ns))
    scenario = sql_server_scenario(tmp_path)
    plan = schedule(scenario, many, transactions_of(many))
    assert plan.sessions == PLACES
    assert (plan.waits_for == CLOCK).all()
    assert np.array_equal(np.sort(plan.transaction), rows)
    assert (np.diff(plan.session) >= 0).all()
    within = np.diff(plan.session) == 0
    assert (np.diff(plan.start_ns)[within] >= 0).all()


def test_scenarios_that_differ_in_devices_share_a_warm_pool(tmp_path: Path) -> None:
    truth = sql_server_hour(
        tmp_path / "hour.trace", statements=200, sessions=4, seconds=10, pages=300, frames=100, scan_pages=0
    )
    own, shared = load_of(truth.path, 1), Shared()
    first, second = (
        assemble(own, sql_server_scenario(tmp_path, name, *changes, read=read), shared=shared)
        for name, read, changes in (("a", "1 ms", ()), ("b", "2 ms", ()))
    )
    alone = assemble(own, sql_server_scenario(tmp_path, "b", read="2 ms"))
    for name in Database._fields:
        found, expected = getattr(second.database, name), getattr(alone.database, name)
        for one, other in zip(
            *([each] if isinstance(each, np.ndarray) else each for each in (found, expected)), strict=True
        ):
            assert np.array_equal(one, other), name
    assert first.warmed == second.warmed
    larger = assemble(own, sql_server_scenario(tmp_path, "c", "engine.buffer_pool=1600KiB"), shared=shared)
    assert len(larger.database.page_of) == 200
    assert not np.array_equal(larger.database.page_of[:100], first.database.page_of)


def test_scenarios_that_differ_in_the_pool_share_a_program_and_those_that_differ_in_the_load_do_not(
    tmp_path: Path,
) -> None:
    own, shared = load(), Shared()
    one, same, louder = (
        assemble(own, sql_server_scenario(tmp_path, name, "replay.cache_state=cold", *changes), shared=shared)
        for name, *changes in (("a",), ("b", "engine.buffer_pool=1600KiB"), ("c", "replay.load=2"))
    )
    assert same.program is one.program
    assert len(louder.program.statements.classes) > len(one.program.statements.classes)


def test_each_pool_is_filled_once_whatever_comes_between(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = sql_server_hour(
        tmp_path / "hour.trace", statements=200, sessions=4, seconds=10, pages=300, frames=100, scan_pages=0
    )
    own, filled = load_of(truth.path, 1), list[int]()

    def noted(d: Database, p: Plant, **settings: int) -> Warmed:
        filled.append(len(d.page_of))
        return warm.warm(d, p, **settings)

    monkeypatch.setattr(warm_pools, "warm", noted)

    def replayed(shared: Shared) -> list[int]:
        filled.clear()
        for name, size in (("a", 800), ("b", 1600), ("c", 800), ("d", 1600)):
            assemble(own, sql_server_scenario(tmp_path, name, f"engine.buffer_pool={size}KiB"), shared=shared)
        return list(filled)

    assert replayed(Shared()) == [100, 200]
    monkeypatch.setattr(warm_pools, "_MOST_BYTES", 0)
    assert replayed(Shared()) == [100, 200, 100, 200]  # the last one alone is remembered
