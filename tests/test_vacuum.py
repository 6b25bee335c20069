"""``describe`` counts VACUUM that ran during a recording apart from the statements; a replay reads and writes as many
pages for each of theirs, and says when it is due.
"""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import FRAMES, HEAP_PAGES, INDEX_PAGES, RELATIONS, counted_database, law
from tests.test_cli import Shell, shell  # noqa: F401 - a fixture
from tests.test_statements import scenario
from tiersim.devices.host.upkeep import Upkeep
from tiersim.scenarios.calibration.popularity.recorded import recorded_accesses
from tiersim.scenarios.statements.assembly import assemble
from tiersim.scenarios.statements.loads import read_load
from tiersim.scenarios.statements.postgresql import (
    due_after_s,
    images_of_upkeep,
    pages_per_s,
    said_of_vacuum,
    upkeep_of,
)
from tiersim.scenarios.statements.replay import replay_statements
from tiersim.traces.bundle import Bundle
from tiersim.traces.description import describe
from tiersim.traces.differences import Differences, Differencing, EntityChange, read_counters
from tiersim.traces.statistics import Snapshot
from tiersim.units import NS_PER_S

TABLE = next(name for name, found in RELATIONS.items() if found["kind"] == "table")
RUNS = {"autovacuums": 2, "vacuums": 1, "analyzes": 0, "autoanalyzes": 3, "rows_dead": 70}


def recorded(folder: Path, **worker: int) -> Path:
    more: dict[tuple[str, str], dict[str, int | str]] = {("relation", TABLE): {**RELATIONS[TABLE], **RUNS}}
    if worker:
        more["io", "autovacuum worker/relation/vacuum"] = dict(worker)
        more["io", "autovacuum worker/relation/normal"] = {"reads": 5, "writes": 0}
        more["io", "client backend/relation/vacuum"] = {"reads": 900, "writes": 900}
    return counted_database(folder, more=more)


def test_describe_counts_runs_and_pages_of_autovacuum(tmp_path: Path, shell: Shell) -> None:  # noqa: F811
    path = recorded(tmp_path / "v.trace", reads=100, writes=40)
    found = describe(Bundle(path))["counted"]["vacuum"]
    assert found == {"tables": [{"name": TABLE, **RUNS}], "pages_read": 105, "pages_written": 40}
    said = " ".join(shell("describe", "--all", path).out.split())
    assert "2 autovacuums, 1 vacuums, 3 autoanalyzes" in said
    assert "autovacuum read 105 pages and wrote 40" in said


def test_pages_of_autovacuum_are_told_by_bytes_where_a_read_may_have_several(tmp_path: Path) -> None:
    """PostgreSQL 18 reads up to io_combine_limit at a time, and counts that as one."""
    path = recorded(tmp_path / "v.trace", reads=100, read_bytes=1600 * 8192, writes=40, written_bytes=40 * 8192)
    found = describe(Bundle(path))["counted"]["vacuum"]
    assert (found["pages_read"], found["pages_written"]) == (1600 + 5, 40)


def test_flushes_of_the_log_are_described_wherever_they_are_counted(tmp_path: Path, shell: Shell) -> None:  # noqa: F811
    """PostgreSQL 18 counts them with all other IO, by process: in a second 20 flushes take 0.6 s."""
    more: dict[tuple[str, str], dict[str, int | str]] = {
        ("log", "log"): {"bytes": 81_920, "records": 100},
        ("io", "client backend/wal/normal"): {"flushes": 15, "flush_ms": 400},
        ("io", "walwriter/wal/normal"): {"flushes": 5, "flush_ms": 200},
        ("io", "client backend/relation/normal"): {"flushes": 900, "flush_ms": 900},
    }
    path = counted_database(tmp_path / "v.trace", more=more)
    assert describe(Bundle(path))["counted"]["log"]["flushes"] == 20
    assert "20 flushes of 30 ms (60 % of the time)" in " ".join(shell("describe", path).out.split())


def test_where_pages_were_not_counted_runs_are(tmp_path: Path) -> None:
    found = describe(Bundle(recorded(tmp_path / "v.trace")))["counted"]["vacuum"]
    assert (found["pages_read"], found["pages_written"]) == (None, None)


def test_nothing_is_said_where_nothing_ran(tmp_path: Path) -> None:
    assert describe(Bundle(counted_database(tmp_path / "v.trace")))["counted"]["vacuum"] is None


@pytest.mark.parametrize("ran", [True, False])
def test_a_replay_says_that_it_does_not_vacuum(ran: bool, tmp_path: Path) -> None:
    path = recorded(tmp_path / "v.trace") if ran else counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    assert sum("tables were vacuumed 3 times" in said for said in load.inferred) == ran


def _io(**bytes_: tuple[int, int]) -> Differences:
    """Pages of a page read and written, by who and what."""
    changes = {
        entity.replace("__", "/").replace("_", " "): EntityChange(
            {"read_bytes": Decimal(read * 8192), "written_bytes": Decimal(written * 8192)}
        )
        for entity, (read, written) in bytes_.items()
    }
    return Differences({"io": changes})


def test_upkeep_is_what_autovacuum_and_sessions_that_vacuum_do_for_each_page_of_others() -> None:
    io = _io(
        client_backend__relation__normal=(1000, 100),
        client_backend__relation__vacuum=(50, 0),
        client_backend__wal__normal=(0, 10_000),
        autovacuum_worker__relation__normal=(10, 10),
        autovacuum_worker__relation__vacuum=(40, 80),
        background_writer__relation__normal=(0, 200),
    )
    assert upkeep_of(io, 8192) == Upkeep(reads=0.1, writes=0.9, run_pages=100, depth=10)
    io.changes["relation"] = {  # four runs over the large table, which missed four fifths of the pages
        "large": EntityChange({"autoanalyzes": Decimal(3), "vacuums": Decimal(1), "pages_read": Decimal(400)}),
        "small": EntityChange({"autovacuums": Decimal(9), "pages_read": Decimal(100)}),
        "other": EntityChange({"pages_read": Decimal(9000)}),
    }
    io.changes["setting"] = {"maintenance_io_concurrency": EntityChange(last={"setting": "16"})}
    assert upkeep_of(io, 8192) == Upkeep(reads=0.1, writes=0.9, run_pages=20, depth=16)
    assert upkeep_of(_io(client_backend__relation__normal=(1000, 100)), 8192) is None


@pytest.mark.parametrize(
    ("before", "after", "runs", "times", "begun"),
    [
        (0, 400, {"autoanalyzes": 2}, 10 / 6, 0.0),  # 1,000 changes: runs after 300 and 600
        (150, 550, {"autoanalyzes": 1, "analyzes": 1}, 10 / 6, 0.5),  # after 150 and 450
        (0, 400, {"autoanalyzes": 2, "autovacuums": 1}, 1.0, 0.5),  # VACUUM waits for dead rows
        (0, 1000, {"autoanalyzes": 1}, 1.0, 0.5),  # of a table that was filled before it was seen
        (None, 400, {"autoanalyzes": 2}, 1.0, 0.5),
    ],
)
def test_analyze_runs_when_as_much_has_changed_as_before_the_recorded_runs(
    before: int | None, after: int, runs: dict[str, int], times: float, begun: float
) -> None:
    io = _io(client_backend__relation__normal=(1000, 100), autovacuum_worker__relation__vacuum=(100, 0))
    grown = {"rows_updated": 900, "rows_inserted": 60, "rows_deleted": 40, "pages_read": 9, **runs}
    first: dict[str, Decimal | str] = {} if before is None else {"rows_modified": Decimal(before)}
    counted = {name: Decimal(count) for name, count in grown.items()}
    io.changes["relation"] = {"t": EntityChange(counted, {"rows_modified": Decimal(after)}, first)}
    upkeep = upkeep_of(io, 8192)
    assert upkeep is not None
    assert upkeep.reads == pytest.approx(0.1 * times)
    assert upkeep.begun == begun


def test_what_a_gauge_said_first_is_kept() -> None:
    both = Differencing()
    for number, (modified, updated) in enumerate([(7, 100), (5, 130), (9, 150)]):
        values: dict[str, Decimal | str] = {"rows_modified": Decimal(modified), "rows_updated": Decimal(updated)}
        both.add(Snapshot(number * NS_PER_S, {("relation", "t"): values}))
    change = both.found.of("relation")["t"]
    assert change.first == {"rows_modified": Decimal(7)}
    assert change.last == {"rows_modified": Decimal(9)}
    assert change.grown == {"rows_updated": Decimal(50)}


def test_what_runs_took_besides_their_io_is_work_on_their_pages() -> None:
    io = _io(client_backend__relation__normal=(1000, 0), autovacuum_worker__relation__vacuum=(100, 0))
    took = {"autoanalyze_ms": Decimal(50), "vacuum_ms": Decimal(20), "pages_read": Decimal(9)}
    io.changes["relation"] = {"t": EntityChange({**took, "autoanalyzes": Decimal(1)})}
    counted = io.changes["io"]["autovacuum worker/relation/vacuum"].grown
    assert _page_ns(io) == 0  # nobody timed the reads
    counted |= {"read_ms": Decimal(15), "write_ms": Decimal(5)}
    assert _page_ns(io) == 500_000
    counted["read_ms"] = Decimal(90)
    assert _page_ns(io) == 0


def _page_ns(found: Differences) -> int:
    upkeep = upkeep_of(found, 8192)
    assert upkeep is not None
    return upkeep.page_ns


def test_a_run_of_upkeep_reads_what_the_page_cache_lacks(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    keeping = Upkeep(reads=0.5, writes=0.0, run_pages=1000, depth=1, page_ns=70_000)
    load = replace(load, upkeep=keeping, upkeep_pages=3.0 * load.transactions)
    without, beside = (
        assemble(load, scenario(tmp_path, "engine.direct_io=false", f"engine.os_cache={pages * 8}KiB")).plant.upkeeps[0]
        for pages in (0, HEAP_PAGES * 9 // 10)
    )
    assert (without["run"], without["page_ns"]) == (1000, 70_000)
    assert 10 < beside["run"] < 900
    assert beside["run"] * beside["page_ns"] == pytest.approx(1000 * 70_000, rel=1e-3)
    assert beside["owed_reads"] == beside["run"] * 8192 * 500_000


@pytest.mark.parametrize("begun", [0.0, 0.9])
def test_a_run_begins_when_what_is_left_of_it_was_read(begun: float, tmp_path: Path) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    load = replace(load, upkeep=Upkeep(reads=0.5, writes=0.0, run_pages=100, begun=begun), upkeep_pages=None)
    assembled = assemble(load, scenario(tmp_path, "replay.cache_state=cold"))
    assert assembled.plant.upkeeps["owed_reads"].tolist() == [round(100 * 8192 * 1_000_000 * begun)]


def test_a_run_reads_and_writes_pages_of_upkeep_beside_those_of_statements(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    where = scenario(tmp_path, "replay.cache_state=cold")
    alone, beside = (
        replay_statements(replace(load, upkeep=upkeep), where).summary
        for upkeep in (None, Upkeep(reads=0.5, writes=0.0))
    )  # a pool that is empty at first: as many for each of the clients' as recorded
    (name,) = (key for key in beside["stations"] if key.endswith(".upkeep"))
    volume = name.removesuffix(".upkeep")
    reads = beside["latency_ns"]["data read"]["count"]
    assert beside["stations"][volume]["requests"] - alone["stations"][volume]["requests"] == pytest.approx(
        0.5 * reads, rel=0.05
    )
    assert beside["latency_ns"]["data read"]["count"] == alone["latency_ns"]["data read"]["count"]


def test_pages_of_upkeep_take_processors_as_those_of_sessions_do(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    where = scenario(tmp_path, "host.costs.read=100 us", "host.costs.evict_dirty=30 us")
    load = replace(load, upkeep=Upkeep(reads=0.5, writes=2.0))
    assembled = assemble(load, where)
    assert assembled.builder.stations[assembled.plant.upkeeps["processors"][0]].kind == "processors"
    assert assembled.plant.upkeeps["cpu_ns"].tolist() == [160_000]


@pytest.mark.parametrize(("of_log", "images"), [(100, 40), (60, 0), (50, 0)])
def test_images_that_no_statement_wrote_are_those_of_upkeep(of_log: int, images: int) -> None:
    queries = {str(number): EntityChange({"log_full_page_images": Decimal(30)}) for number in range(2)}
    found = Differences({"log": {"log": EntityChange({"full_page_images": Decimal(of_log)})}, "query": queries})
    assert images_of_upkeep(found) == images


def test_commits_carry_the_images_of_upkeep(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    where = scenario(tmp_path)
    each = [
        replay_statements(replace(load, upkeep_log_bytes=added * load.transactions), where).summary["log"][
            "bytes_per_transaction"
        ]
        for added in (0, 4096)
    ]
    assert each[1] - each[0] == pytest.approx(4096, rel=1 / 8)  # sizes of commits come in steps of an eighth


@pytest.mark.parametrize("part", [1, 2])
def test_upkeep_reads_as_many_pages_a_transaction_with_a_smaller_pool_but_for_those_that_are_there(
    tmp_path: Path, part: int
) -> None:
    path = counted_database(tmp_path / "v.trace")
    load = read_load(read_counters(path), synthesised(path, 1), law())
    load = replace(load, upkeep=Upkeep(reads=0.5, writes=0.0), upkeep_pages=3.0 * load.transactions)
    pool = FRAMES // part
    summary = replay_statements(load, scenario(tmp_path, f"engine.buffer_pool={pool * 8}KiB")).summary
    (name,) = (key for key in summary["stations"] if key.endswith(".upkeep"))
    volume, pages = summary["stations"][name.removesuffix(".upkeep")], HEAP_PAGES + INDEX_PAGES + 1
    upkeep = volume["requests"] - summary["latency_ns"]["data read"]["count"]
    each = 3.0 * (1 - pool / pages) / (1 - FRAMES / pages)
    assert upkeep / summary["latency_ns"]["transaction"]["count"] == pytest.approx(each, rel=0.25)


def test_pages_that_vacuum_missed_are_none_of_the_lookups(tmp_path: Path) -> None:
    missed = int(RELATIONS[TABLE]["pages_read"])
    more: dict[tuple[str, str], dict[str, int | str]] = {
        ("io", "autovacuum worker/relation/vacuum"): {"read_bytes": missed // 4 * 8192, "written_bytes": 0},
        ("relation", TABLE): {**RELATIONS[TABLE], **RUNS},
    }
    plain, vacuumed = (
        recorded_accesses(read_counters(counted_database(tmp_path / f"{number}.trace", more=given))).tables[0]
        for number, given in enumerate((None, more))
    )
    assert vacuumed.heap_missed == plain.heap_missed - missed // 4
    assert vacuumed.index_missed == plain.index_missed


def _table(
    dead: int, updated: int = 0, hot: int = 0, deleted: int = 0, live: int = 1000, vacuumed: int = 0
) -> EntityChange:
    grown = {"rows_updated": updated, "rows_hot_updated": hot, "rows_deleted": deleted, "autovacuums": vacuumed}
    last: dict[str, Decimal | str] = {"rows_dead": Decimal(dead), "rows_live": Decimal(live)}
    return EntityChange({name: Decimal(value) for name, value in grown.items()}, last)


def _found(table: EntityChange, **settings: str) -> Differences:
    said = {name: EntityChange(last={"setting": value}) for name, value in settings.items()}
    return Differences({"relation": {"app.t": table}, "setting": said}, span_ns={"relation": 10 * NS_PER_S})


@pytest.mark.parametrize(
    ("table", "due_s"),
    [
        (_table(dead=251), 0),  # 50 and a fifth of 1,000 rows is the limit
        (_table(dead=250), None),  # nothing more dies
        (_table(dead=150, updated=300, hot=200), 10),
        (_table(dead=150, updated=300, hot=300, deleted=50), 20),
        (_table(dead=0, updated=300, hot=300), None),
        (EntityChange(), None),
    ],
)
def test_a_table_is_due_when_its_dead_rows_pass_the_threshold(table: EntityChange, due_s: float | None) -> None:
    assert due_after_s(table, 10, {}) == due_s


def test_recorded_thresholds_count() -> None:
    settings = {"autovacuum_vacuum_threshold": "100", "autovacuum_vacuum_scale_factor": "0.4"}
    assert due_after_s(_table(dead=150, deleted=100), 10, settings) == 35


def test_what_is_due_before_the_load_has_gone_on_as_long_again_is_said() -> None:
    (said,) = said_of_vacuum(_found(_table(dead=200, deleted=100)))
    assert said == (
        "app.t: autovacuum is due when the recorded load goes on for 5 s; its pages and its WAL are not simulated"
    )
    assert not said_of_vacuum(_found(_table(dead=100, deleted=100)))  # after 15 s
    assert not said_of_vacuum(_found(_table(dead=200, deleted=100), autovacuum="off"))
    (ran,) = said_of_vacuum(_found(_table(dead=200, deleted=100, vacuumed=1)))
    assert "were vacuumed 1 times" in ran


@pytest.mark.parametrize(("limit", "said_of_pace"), [("-1", True), ("200", True), ("0", False)])
def test_how_fast_vacuum_is_follows_its_costs(limit: str, said_of_pace: bool) -> None:
    assert (pages_per_s(200, 2, 2), pages_per_s(200, 2, 20)) == (50_000, 5_000)
    costs = {
        "autovacuum_vacuum_cost_delay": "2", "autovacuum_vacuum_cost_limit": limit, "vacuum_cost_page_miss": "2",
        "vacuum_cost_page_dirty": "20",
    }  # fmt: skip
    if limit == "-1":
        costs["vacuum_cost_limit"] = "200"
    (said,) = said_of_vacuum(_found(_table(dead=251), **costs))
    assert ("it reads 50,000 pages/s or changes 5,000 at most; " in said) is said_of_pace
