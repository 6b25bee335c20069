"""Runs of statements: what was counted of a small database, on other hosts and devices."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import ALONE, FRAMES, QUERIES, TEXTS, TRANSACTIONS, counted_database, law
from tests.made_up_devices import token_bucket
from tests.sweep_runs import write_trace
from tiersim.cli import verdicts
from tiersim.cli.statements import show_statements
from tiersim.devices.catalogue import load_processor
from tiersim.devices.host.processor import core_speed
from tiersim.devices.station_records import RESOURCES
from tiersim.errors import ScenarioError, TraceError
from tiersim.scenarios.calibration.processor import ProcessorCosts
from tiersim.scenarios.calibration.synthesis.counted import MEASURED
from tiersim.scenarios.library import load_scenario, refuse_keys_of_statements, runs_statements
from tiersim.scenarios.replay import replay
from tiersim.scenarios.statements import assembly
from tiersim.scenarios.statements.assembly import Assembled, assemble
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.loads import load_of, read_load, said_of_earlier_changes
from tiersim.scenarios.statements.programs import _in_steps
from tiersim.scenarios.statements.replay import replay_statements, replay_statements_all
from tiersim.scenarios.statements.settings import Settings, settings_of, with_variables
from tiersim.scenarios.statements.statement_load import COMMIT, StatementLoad
from tiersim.scenarios.survey import survey
from tiersim.scenarios.sweeps.rows import row_of
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.build import with_statements
from tiersim.simulator.database.database_state import AGAIN, CLOCK, LOCK, LOG, LOOKUP, OWN, SPENT, Database
from tiersim.simulator.database.sessions.processors import Costs
from tiersim.simulator.database.sessions.sessions import _counter
from tiersim.simulator.metrics import Metrics, new_metrics
from tiersim.simulator.reference.engine import ReferenceEngine
from tiersim.simulator.result import Result, load_result, save_result
from tiersim.simulator.summary_model import Summary
from tiersim.traces import statistics
from tiersim.traces.bundle import Bundle, Manifest
from tiersim.traces.differences import Differences, EntityChange, read_counters
from tiersim.traces.parquet import open_parquet
from tiersim.units import NS_PER_MS, NS_PER_S


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> StatementLoad:
    path = counted_database(tmp_path_factory.mktemp("counted") / "made-up.trace")
    return read_load(read_counters(path), synthesised(path, 1), law())


def scenario(folder: Path, *settings: str, latency: str = "200 us", text: str = "") -> Any:
    (folder / "device.toml").write_text(token_bucket(latency=latency, iops=1_000_000))
    (folder / "other.toml").write_text('[host]\ncores = 2\n[volumes.data]\ndevice = "device.toml"\n' + text)
    return load_scenario(str(folder / "other.toml"), settings)


def run(load: StatementLoad, folder: Path, *settings: str, latency: str = "200 us", **more: Any) -> Result:
    made = scenario(
        folder, "replay.cache_state=cold", *settings, latency=latency
    )  # warming takes long when kernels are not compiled
    return replay_statements(load, made, **more)


def kinds(assembled: Assembled, name: str) -> list[list[int]]:
    """Demands of the classes of a query, but for CPU."""
    program = assembled.program
    of = program.names.index(name)
    pairs = zip(program.classes, program.category, strict=True)
    return [[demand.kind for demand in demands[1:]] for demands, category in pairs if category == of]


def named(load: StatementLoad, name: str) -> str:
    """The query whose text holds *name*."""
    return next(query for query, text in load.texts.items() if name in text)


def test_queries_look_up_what_tables_and_queries_counted(load: StatementLoad, tmp_path: Path) -> None:
    assembled = assemble(load, scenario(tmp_path, "replay.cache_state=cold"))
    assert kinds(assembled, named(load, "UPDATE")) == [[LOOKUP, LOCK]]
    assert kinds(assembled, named(load, "SELECT balance FROM accounts WHERE id")) == [[AGAIN]]
    assert kinds(assembled, named(load, "branches")) == [[]]
    assert sorted(kinds(assembled, named(load, "WHERE name"))) == [[], [LOOKUP]]
    assert all(demands[-1] == LOG for demands in kinds(assembled, COMMIT))
    update = assembled.program.classes[assembled.program.category.index(load.queries.index(named(load, "UPDATE")))]
    assert (update[1].dirties, update[2].dirties) == (False, True)  # it changes a row when it has locked it


def test_calls_and_pages_are_those_that_were_counted(load: StatementLoad, tmp_path: Path) -> None:
    program = assemble(load, scenario(tmp_path, "replay.cache_state=cold")).program
    assert int(program.executed.sum()) == sum(counters["calls"] for counters in QUERIES.values())
    assert program.transactions == TRANSACTIONS
    classes = program.statements.classes
    pages = np.array(program.pages)[classes] + np.array(program.other_pages)[classes]
    counted = sum(counters.get("pages_hit", 0) + counters.get("pages_read", 0) for counters in QUERIES.values())
    assert pages[program.executed].sum() == pytest.approx(counted, rel=0.05)  # which calls look up a row is drawn
    looked_up = np.array([sum(d.kind == LOOKUP for d in demands) for demands in program.classes])[classes]
    assert looked_up.sum() == pytest.approx(TRANSACTIONS + ALONE / 3, abs=8)


def test_a_run_ends_and_its_sums_are_kept(load: StatementLoad, tmp_path: Path) -> None:
    found = run(load, tmp_path).summary
    assert {query: figures["count"] for query, figures in found["queries"].items()} == {
        query: calls["calls"]
        for name, calls in QUERIES.items()
        if (query := next(q for q in load.queries if load.texts[q] == TEXTS[name])) and name != "commit"
    }
    assert found["latency_ns"]["transaction"]["count"] == TRANSACTIONS
    assert found["latency_ns"]["commit"]["count"] == TRANSACTIONS
    for figures in found["queries"].values():
        assert set(figures["breakdown_ns"]) == set(SPENT)
        mean = figures["mean"]
        assert mean["low"] <= sum(figures["breakdown_ns"].values()) <= mean["high"]
    reads = sum(figures["count"] * figures["physical_reads_per_call"] for figures in found["queries"].values())
    assert reads == pytest.approx(
        found["latency_ns"]["data read"]["count"], abs=20
    )  # a page that two wait for is read once
    assert 0 < found["hit_ratio"]["pool"] < 1
    assert found["verdict"] | {"cache": ""} == {
        "load": "steady", "calibration": "none", "cache": "", "arrivals": "synthetic", "locks": "modelled",
        "error": "clients",
    }  # fmt: skip
    assert all(found["conservation"][key] for key in ("accounted_for", "little", "busy"))
    assert found["settings_from"]["host.cores"] == "scenario"
    assert found["settings_from"]["engine.buffer_pool"] == "recorded"
    assert found["engine"]["frames"] == FRAMES
    recorded = {query: load.duration_ns[load.query == code].mean() for code, query in enumerate(load.queries)}
    assert found["recorded_mean_ns"] == pytest.approx(recorded)  # without a calibration, too


def test_the_same_seed_gives_the_same_result(load: StatementLoad, tmp_path: Path) -> None:
    assert run(load, tmp_path).summary == run(load, tmp_path).summary


def mean_ns(result: Result, load: StatementLoad, name: str = "UPDATE") -> float:
    """Mean latency of a query."""
    return float(sum(result.summary["queries"][named(load, name)]["breakdown_ns"].values()))


def test_a_faster_device_and_a_larger_pool_lower_the_latency(load: StatementLoad, tmp_path: Path) -> None:
    slow, fast = run(load, tmp_path, latency="2 ms"), run(load, tmp_path)
    small, large = (run(load, tmp_path, f"engine.buffer_pool={size}") for size in ("160KiB", "2MiB"))
    assert mean_ns(fast, load) < 0.5 * mean_ns(slow, load)
    assert mean_ns(large, load) < mean_ns(small, load)
    assert large.summary["hit_ratio"]["pool"] > small.summary["hit_ratio"]["pool"]
    assert slow.summary["latency_ns"]["commit"]["mean"]["low"] > fast.summary["latency_ns"]["commit"]["mean"]["high"]
    assert (large.summary["extrapolated"], small.summary["extrapolated"]) == (False, True)


def test_a_cold_pool_misses_more_than_a_warm_one(load: StatementLoad, tmp_path: Path) -> None:
    cold, warm = (run(load, tmp_path, f"replay.cache_state={state}") for state in ("cold", "warm"))
    assert cold.summary["verdict"]["cache"] == "cold"
    assert cold.summary["hit_ratio"]["pool"] < warm.summary["hit_ratio"]["pool"]


def test_a_recorded_pool_is_as_full_as_it_was(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "made-up.trace", unused=70)
    found = read_load(read_counters(path), synthesised(path, 1), law())
    assembled = assemble(found, scenario(tmp_path, "replay.cache_state=recorded"))
    assert np.count_nonzero(assembled.database.frame_of) == FRAMES - 70
    assert np.count_nonzero(assemble(found, scenario(tmp_path)).database.frame_of) == FRAMES


def test_a_commit_waits_for_its_log(load: StatementLoad, tmp_path: Path) -> None:
    found = run(load, tmp_path, latency="1 ms").summary
    assert found["latency_ns"]["commit"]["p50"]["low"] >= 2 * NS_PER_MS  # a write and a flush
    assert found["latency_ns"]["log sync"]["count"] == TRANSACTIONS


def test_the_recorded_wait_for_the_log_is_not_think_time(load: StatementLoad, tmp_path: Path) -> None:
    """Nobody counted it in a commit, so it is in what the clients took outside of executions, and
    a run has it again.
    """
    assert load.commit_wait_ns == 1_500_000  # 75 ms in 50 flushes, which is more than all commits took
    made = scenario(tmp_path, "replay.cache_state=cold")
    think_ns, plain_ns = (
        assemble(one, made).program.statements.think_ns for one in (load, replace(load, commit_wait_ns=0.0))
    )
    assert plain_ns.sum() - think_ns.sum() == pytest.approx(TRANSACTIONS * 1_500_000, rel=0.01)


def test_the_error_is_unknown_where_clients_may_have_waited_for_the_log(load: StatementLoad, tmp_path: Path) -> None:
    """The log of the recorded storage was always busy: how long commits queued for it is in no counter."""
    found = run(replace(load, log_busy=1.0), tmp_path).summary
    assert found["verdict"]["error"] == "waits"
    assert found["model_error"] == {"basis": "unknown", "figures": {}}
    assert "faster storage may give more transactions/s than predicted" in str(verdicts.sentence(found))
    assert load.log_busy == 0.075 / (load.span_ns / NS_PER_S)
    assert run(load, tmp_path).summary["verdict"]["error"] == "clients"


def test_what_was_counted_as_cpu_is_used_once(load: StatementLoad, tmp_path: Path) -> None:
    """A cost that the model charges by itself is taken off statements whose CPU was measured, which holds it; what
    reads leave of the time of an execution does not.
    """

    def cpu_ns(load: StatementLoad, read: str, *settings: str) -> Any:
        made = scenario(tmp_path, "replay.cache_state=cold", f'host.costs.read="{read}"', *settings)
        return assemble(load, made).program.statements.cpu_ns

    assert not any(MEASURED in load.cpu_basis[query] for query in load.queries)
    np.testing.assert_array_equal(cpu_ns(load, "20 us"), cpu_ns(load, "0 s"))
    measured = replace(load, cpu_basis={})
    plain, charged = cpu_ns(measured, "0 s"), cpu_ns(measured, "20 us")
    taken = load.physical_reads.sum() * 20_000
    assert plain.sum() - taken <= charged.sum() < plain.sum()
    assert charged.min() >= 0
    faster = cpu_ns(measured, "0 s", "host.core_speed=2")
    assert faster.sum() == pytest.approx(plain.sum() / 2, rel=1e-3)


def test_costs_of_a_calibration_take_the_place_of_what_was_counted(load: StatementLoad, tmp_path: Path) -> None:
    update = named(load, "UPDATE")
    costs = ProcessorCosts({update: 70_000}, 30_000, Costs(read_ns=5_000), "a test", pause_ns=0)
    assembled = assemble(load, scenario(tmp_path, "replay.cache_state=cold"), costs)
    program = assembled.program
    own = np.array(program.category)[program.statements.classes] == program.names.index(update)
    assert set(program.statements.cpu_ns[own].tolist()) == {70_000}
    client_ns = program.statements.client_ns
    assert client_ns is not None
    np.testing.assert_array_equal(client_ns, 30_000 * program.executed.astype(np.int64))
    assert assembled.settings.costs.read_ns == 5_000
    assert not program.statements.think_ns.any()  # the client was on the host: its time is CPU
    found = run(load, tmp_path, processor=costs).summary
    assert found["settings_from"]["host.costs"] == "a test"


def test_clones_are_more_sessions_with_other_rows(load: StatementLoad, tmp_path: Path) -> None:
    once, twice, less = (run(load, tmp_path, f"replay.load={k}").summary for k in (1, 2, 0.5))
    assert twice["replay"]["sessions"] == 2 * once["replay"]["sessions"] == 8
    assert twice["replay"]["transactions"] == 2 * once["replay"]["transactions"]
    assert less["replay"]["sessions"] == 2


def test_clients_run_one_transaction_after_the_other(load: StatementLoad, tmp_path: Path) -> None:
    found = run(load, tmp_path, "replay.mode=closed", "replay.clients=8", "replay.think=1ms").summary
    assert found["replay"]["sessions"] == 8
    assert found["replay"]["transactions"] == 8 * round(TRANSACTIONS / 4)


def test_the_error_is_unknown_where_nobody_saw_how_long_clients_pause(tmp_path: Path, load: StatementLoad) -> None:
    """Those of sessions that were made up hang on how many these are."""
    path = counted_database(tmp_path / "made-up.trace", clients=None)
    pooled = read_load(read_counters(path), synthesised(path, 1), law())
    closed = ["replay.mode=closed", "replay.clients=8"]
    unseen = run(pooled, tmp_path, *closed).summary
    assert (unseen["verdict"]["error"], unseen["model_error"]["basis"]) == ("pauses", "unknown")
    assert "Set replay.think" in str(verdicts.sentence(unseen))
    said = run(pooled, tmp_path, *closed, "replay.think=1ms").summary["verdict"].get("error")
    counted = run(load, tmp_path, *closed).summary["verdict"].get("error")
    assert "pauses" not in (said, counted)


def test_a_table_counts_the_sessions_of_those_alone_that_wait_for_answers(
    load: StatementLoad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the clock each transaction is a session in the program, and nobody's."""
    for mode, said in (("partly-open", ", 4 sessions on 2 cores"), ("open", ", on 2 cores")):
        show_statements([run(load, tmp_path, f"replay.mode={mode}").summary], everything=False)
        assert said in " ".join(capsys.readouterr().out.split())


def test_assumed_cores_are_a_caveat_which_rows_of_sweeps_and_searches_have_too(
    load: StatementLoad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "8 cores are assumed, as nothing says how many the host has: set host.cores"
    (tmp_path / "device.toml").write_text(token_bucket())
    (tmp_path / "plain.toml").write_text('[volumes.data]\ndevice = "device.toml"\n')
    plain = replay_statements(load, load_scenario(str(tmp_path / "plain.toml"), ["replay.cache_state=cold"]))
    assert said in row_of(plain)["summary"]["caveats"]
    assert not any("cores" in one for one in run(load, tmp_path).summary["caveats"])
    show_statements([plain.summary], everything=True)
    assert " ".join(capsys.readouterr().out.split()).count("host.cores") == 1


def test_open_transactions_come_at_their_times(load: StatementLoad, tmp_path: Path) -> None:
    assembled = assemble(load, scenario(tmp_path, "replay.mode=open", "replay.cache_state=cold"))
    statements = assembled.program.statements
    begins = statements.begins == 1
    assert assembled.program.sessions == assembled.program.transactions
    assert (statements.waits_for[begins] == CLOCK).all()
    found = run(load, tmp_path, "replay.mode=open", latency="50 ms").summary
    # one transaction never holds up another but at the device, so latency counts from the intended start
    assert found["throughput_per_s"]["transactions"]["value"] > 0
    assert found["replay"]["sessions"] == assembled.program.transactions


def test_sessions_that_nobody_saw_start_by_the_clock(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "made-up.trace", clients=None)
    found = read_load(read_counters(path), synthesised(path, 1), law())
    assert found.pooled
    assembled = assemble(found, scenario(tmp_path, "replay.cache_state=cold"))
    assert assembled.program.sessions == assembled.program.transactions
    with pytest.raises(ScenarioError, match=r"how many sessions there were; write clients"):
        assemble(found, scenario(tmp_path, "replay.mode=closed"))


def test_a_long_pause_is_a_new_visit(load: StatementLoad, tmp_path: Path) -> None:
    """Of sessions that were recorded, not of a benchmark."""
    later = load.start_ns + np.where(load.transaction > load.transaction.max() // 2, 40 * NS_PER_S, 0)
    pausing = replace(load, start_ns=later, closed=False, span_ns=41 * NS_PER_S)
    statements = assemble(pausing, scenario(tmp_path, "replay.cache_state=cold")).program.statements
    by_clock = statements.waits_for == CLOCK
    sessions = len(statements.session_ends)
    assert sessions < by_clock.sum() <= 2 * sessions
    assert statements.think_ns[~by_clock].max() < 30 * NS_PER_S


def test_statements_in_the_warm_up_are_not_counted(load: StatementLoad, tmp_path: Path) -> None:
    found = run(load, tmp_path, 'replay.warmup="500 ms"', goes_on=False).summary
    assert 0 < found["latency_ns"]["transaction"]["count"] < TRANSACTIONS


def test_a_pool_that_memory_does_not_hold_is_named(load: StatementLoad, tmp_path: Path, monkeypatch: Any) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(assembly, "add_database", full)
    with pytest.raises(ScenarioError, match=r"engine\.buffer_pool: the [\d,]+ pages of 100 TiB take more memory than"):
        run(load, tmp_path, "engine.buffer_pool=100TiB")


def test_a_warm_up_that_outlasts_the_run_is_refused(load: StatementLoad, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"replay\.warmup: 100 s leave nothing to count of a run that ends after"):
        run(load, tmp_path, "replay.warmup=100s", goes_on=False)


def test_more_clients_have_to_do_as_many_times_the_recorded_work(load: StatementLoad, tmp_path: Path) -> None:
    """Of twice the load of given clients, the recorded transactions/s are half: such a run is far behind."""
    settings = ["replay.mode=closed", "replay.clients=2"]
    once, twice = (run(load, tmp_path, *settings, f"replay.load={n}", latency="20 ms").summary for n in (1, 2))
    recorded_per_s = load.transactions * NS_PER_S / load.span_ns
    for n, found in ((1, once), (2, twice)):
        rate = found["throughput_per_s"]["transactions"]["value"]
        assert found["throughput_shortfall_pct"] == pytest.approx(100 * (1 - rate / (n * recorded_per_s)), abs=1)


def test_clients_that_do_not_get_through_are_stopped_and_behind(load: StatementLoad, tmp_path: Path) -> None:
    """They go round until the time of the recording is over, so what was not done is nobody's latency."""
    found = run(load, tmp_path, latency="50 ms").summary
    done = found["replay"]["transactions_done"]
    assert 0 < done < TRANSACTIONS
    assert found["latency_ns"]["transaction"]["count"] == done
    assert found["verdict"]["load"] == "behind"
    in_time = found["throughput_per_s"]["transactions"]["value"] * load.span_ns / NS_PER_S
    assert found["throughput_shortfall_pct"] == pytest.approx(100 * (1 - in_time / TRANSACTIONS), abs=1)
    assert found["replay"]["counted_ns"]["until"] == load.span_ns


def test_a_load_is_judged_by_the_sessions_that_run(load: StatementLoad, tmp_path: Path) -> None:
    """As many run at either load; what is carried is a share of this load, not of the recorded one."""
    lower, upper = (run(load, tmp_path, f"replay.load={share}", latency="50 ms").summary for share in (0.5, 0.51))
    assert lower["replay"]["sessions"] == upper["replay"]["sessions"]
    assert upper["throughput_shortfall_pct"] == lower["throughput_shortfall_pct"]
    assert upper["load"]["sustainable_load"] == pytest.approx(1 - upper["throughput_shortfall_pct"] / 100)
    assert upper["verdict"]["load"] == "behind"


def test_clients_that_are_through_early_go_on_until_the_time_of_the_recording_is_over(
    load: StatementLoad, tmp_path: Path
) -> None:
    """So a run on faster hardware sees what comes late, as checkpoints do; each round looks up other rows."""
    once, whole = (
        run(load, tmp_path, "replay.mode=closed", 'replay.think="0 s"', goes_on=goes_on).summary
        for goes_on in (False, True)
    )
    assert once["replay"]["counted_ns"]["until"] < 0.9 * load.span_ns
    assert whole["replay"]["counted_ns"]["until"] == load.span_ns
    assert once["replay"]["transactions_done"] == TRANSACTIONS < whole["replay"]["transactions_done"]
    rates = [one["throughput_per_s"]["transactions"]["value"] for one in (once, whole)]
    assert rates[1] == pytest.approx(rates[0], rel=0.3)
    assert whole["verdict"]["load"] == "steady"
    assert whole["throughput_shortfall_pct"] < 0


@pytest.mark.parametrize("settings", [["replay.clients=3"], []])
def test_a_run_whose_clients_get_more_to_do_is_the_run_that_began_with_it(
    load: StatementLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Sequence[str]
) -> None:
    """Where the engine looks up often enough, it sees half-way that clients will be through early."""
    runs = []
    run_database = engine.run_database

    def counted(plant: Any, database: Any, metrics: Any, **more: Any) -> Any:
        runs.append(len(database.statement_class))
        return run_database(plant, database, metrics, **more)

    monkeypatch.setattr(engine, "run_database", counted)
    again = run(load, tmp_path, "replay.mode=closed", 'replay.think="0 s"', *settings)
    assert len(runs) > 1
    runs.clear()
    monkeypatch.setattr(engine, "_EVENTS_PER_STEP", 50)
    once = run(load, tmp_path, "replay.mode=closed", 'replay.think="0 s"', *settings)
    assert len(runs) == 1
    assert once.summary["replay"]["counted_ns"]["until"] == load.span_ns
    assert once.timeline.equals(again.timeline)
    for name in ("latency_ns", "queries", "throughput_per_s", "log"):
        assert once.summary[name] == again.summary[name]


def test_both_engines_run_clients_alike_that_go_round(load: StatementLoad, tmp_path: Path) -> None:
    """The compiled one gets more statements on the way, the other has them from the start."""
    settings = ["replay.cache_state=cold", "replay.mode=closed", 'replay.think="0 s"']
    first, second = (assemble(load, scenario(tmp_path, *settings)) for _ in range(2))
    program = first.program.in_rounds(3, load.span_ns)
    databases: list[Database] = []

    def more(database: Database, now_ns: int) -> Database:
        assert now_ns > 0
        databases.append(with_statements(database, program.statements) if not databases else database)
        return databases[-1]

    def empty(assembled: Assembled) -> Metrics:
        columns = FIRST_CLASS + len(assembled.program.names)
        return new_metrics(columns, len(assembled.builder.stations), RESOURCES, 4, 10**9)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_EVENTS_PER_STEP", 100)
        engine.run_database(first.builder.build(4), first.database, empty(first), more=more)
    other = with_statements(second.database, program.statements)
    ReferenceEngine(second.builder.build(4), [], empty(second), database=other).run()
    assert len(databases) > 1
    assert (other.done_ns > 0).sum() > len(first.program.statements.classes)
    for name in ("done_ns", "spent", "pages_read", "frame_of"):
        np.testing.assert_array_equal(getattr(databases[-1], name), getattr(other, name), err_msg=name)


def test_rounds_of_a_session_are_what_it_does_once_and_look_up_rows_of_their_own(
    load: StatementLoad, tmp_path: Path
) -> None:
    one = assemble(load, scenario(tmp_path, "replay.cache_state=cold", "replay.mode=closed"))
    program, once = one.program.in_rounds(3, load.span_ns), one.program.statements
    statements = program.statements
    assert program.transactions == 3 * TRANSACTIONS == len(program.length_ns)
    ends = np.array(once.session_ends)
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        for name in ("classes", "cpu_ns", "begins", "ends"):
            whole = getattr(statements, name)[3 * begin : 3 * end].reshape(3, -1)
            assert (whole == getattr(once, name)[begin:end]).all()
        waits, starts = statements.waits_for[3 * begin : 3 * end], statements.start_ns[3 * begin : 3 * end]
        assert waits[0] == once.waits_for[begin]
        assert (waits[1:] == OWN).all()
        assert starts[:: end - begin].tolist() == [once.start_ns[begin] + n * load.span_ns for n in range(3)]
    counters = [_counter(one.database, session) for session in range(len(ends))]
    database = with_statements(one.database, statements)
    assert [_counter(database, session) for session in range(len(ends))] == counters
    drawn = set()
    for session in range(len(ends)):
        for row in range(int(database.sessions[session]["first"]), int(database.sessions[session]["end"])):
            database.sessions[session]["next"] = row
            drawn.add(_counter(database, session))
    assert len(drawn) == 3 * len(once.classes)
    assert max(drawn) == (3 * len(once.classes) - 1) * (counters[1] - counters[0]) // int(ends[0])


def test_clients_go_on_for_the_time_that_is_asked_at_the_pace_that_they_have(
    load: StatementLoad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Checkpoints by time come as often as in that time."""
    settings = ["replay.mode=closed", "engine.checkpoint_timeout=30s", "replay.since_checkpoint=29s"]
    once, long = (run(load, tmp_path, *settings, *more).summary for more in ([], ["replay.duration=100s"]))
    until_ns = long["replay"]["counted_ns"]["until"]  # the last of them may pause then
    assert 0.99 * 100 * NS_PER_S < until_ns <= 100 * NS_PER_S
    assert long["trace"]["span_ns"] == load.span_ns  # what was recorded is as long as it was
    assert (long["replay"]["asked_ns"], "asked_ns" in once["replay"]) == (100 * NS_PER_S, False)
    show_statements([long], everything=False)
    assert "run for 100 s" in " ".join(capsys.readouterr().out.split())
    rates = [one["throughput_per_s"]["transactions"]["value"] for one in (once, long)]
    assert rates[1] == pytest.approx(rates[0], rel=0.2)
    assert long["throughput_shortfall_pct"] == pytest.approx(once["throughput_shortfall_pct"], abs=20)
    assert [one["start_ns"] // NS_PER_S for one in long["checkpoints"]] == [1, 31, 61, 91]


def test_a_time_is_asked_of_clients_that_wait_alone_and_of_no_more_than_fits(
    load: StatementLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "replay.duration=100s"
    with pytest.raises(ScenarioError, match=r"replay\.duration: transactions of .* start at a fixed rate"):
        run(load, tmp_path, "replay.mode=open", asked)
    with pytest.raises(ScenarioError, match=r"replay\.duration = 100 s: a scenario of the recorded hardware"):
        calibrate(load, scenario(tmp_path, asked))
    monkeypatch.setattr("tiersim.scenarios.statements.replay._MOST_ASKED", 3 * len(load))
    with pytest.raises(ScenarioError, match=r"replay\.duration: clients have .* ask for less time"):
        run(load, tmp_path, "replay.mode=closed", asked)


def test_the_time_of_the_recording_comes_behind_the_warm_up(load: StatementLoad, tmp_path: Path) -> None:
    """Of clients that go round; the timeline covers both."""
    found = run(load, tmp_path, 'replay.warmup="200 ms"', latency="20 ms")
    counted = found.summary["replay"]["counted_ns"]
    assert counted == {"from": 200 * NS_PER_MS, "until": 200 * NS_PER_MS + load.span_ns}
    timeline = found.timeline.to_pylist()
    ends = [one["end_ns"] for one in timeline if one["class"] == "transaction"]
    assert counted["until"] <= ends[-2] < counted["until"] + 240  # one interval more takes what ends later
    assert not any(one["arrivals"] for one in timeline if one["end_ns"] < counted["from"])
    figures = found.summary["latency_ns"]
    assert figures["log sync"]["count"] == pytest.approx(figures["commit"]["count"], rel=0.05)
    parts = [one for one in found.stations.to_pylist()[:-1] if one["station"] == "processors"]
    busy = [one["utilisation"] for one in parts if counted["from"] <= one["start_ns"] < counted["until"]]
    assert found.summary["host"]["utilisation"] == pytest.approx(sum(busy) / len(busy), rel=0.02)
    count = found.summary["latency_ns"]["transaction"]["count"]
    rate = found.summary["throughput_per_s"]["transactions"]["value"]
    assert rate == pytest.approx(count / load.span_ns * NS_PER_S, rel=0.1)


def test_throughput_over_time_is_that_of_the_recording_s_time(load: StatementLoad, tmp_path: Path) -> None:
    """An empty pool fills in the warm-up, in which transactions take longer."""
    found = run(load, tmp_path, 'replay.warmup="8 s"', latency="20 ms").summary
    steps, rate = found["throughput_over_time"], found["throughput_per_s"]["transactions"]["value"]
    per_s = steps["transactions_per_s"]
    assert sum(per_s) / len(per_s) == pytest.approx(rate, rel=0.05)


def test_a_result_shows_the_log_and_the_pool_over_time(load: StatementLoad, tmp_path: Path) -> None:
    found = run(load, tmp_path)
    log, database = found.summary["log"], found.database
    assert log["commits"] == TRANSACTIONS
    assert 1 <= log["commits_per_flush"] == log["commits"] / log["flushes"]
    assert log["sync_mean_ns"] >= 400_000  # a write and a flush
    assert database is not None
    rows = database.to_pylist()
    assert sum(row["log_bytes"] for row in rows) <= log["bytes"]
    assert sum(row["transactions"] for row in rows) == pytest.approx(TRANSACTIONS, abs=4)
    assert {row["checkpoint_phase"] for row in rows} == {"none"}
    assert max(row["dirty_pages"] for row in rows) > 0
    assert (found.summary["checkpoints"], found.summary["checkpoint_impact"]) == ([], None)
    target = tmp_path / "made.result"
    save_result(found, target, {})
    kept = load_result(target).database
    assert kept is not None
    assert kept.equals(database)


def test_checkpoints_are_in_the_result(load: StatementLoad, tmp_path: Path) -> None:
    """By time: the last one began 299.9 s before the run."""
    found = run(load, tmp_path, "engine.checkpoint_timeout=300s", "replay.since_checkpoint=299.9s").summary
    (checkpoint,) = found["checkpoints"]
    assert checkpoint["start_ns"] == 100 * NS_PER_MS
    assert checkpoint["trigger"] == "time"
    assert 0 < checkpoint["written_pages"] <= checkpoint["pages"]
    impact = found["checkpoint_impact"]
    transactions = found["latency_ns"]["transaction"]["count"]
    told = sum(impact[side]["latency_ns"]["transaction"]["count"] for side in impact)
    assert (
        0.5 * transactions < told < transactions
    )  # when the first client has nothing left to do, the others run faster
    assert impact["inside"]["duration_ns"] + impact["outside"]["duration_ns"] <= load.span_ns


def statements_of(load: StatementLoad) -> tuple[dict[str, int | str | None], ...]:
    return tuple(
        {
            "time_ns": 1000 * number,
            "duration_ns": 500_000,
            "cpu_ns": 50_000,
            "session": f"s{number % 3}",
            "kind": "rpc",
            "query": named(load, "UPDATE" if number % 2 else "branches"),
            "logical_reads": 3,
            "physical_reads": 1,
            "log_bytes": 100 if number % 2 else 0,
        }
        for number in range(90)
    )


def test_statements_that_were_recorded_one_by_one_need_no_synthesis(load: StatementLoad, tmp_path: Path) -> None:
    path = counted_database(tmp_path / "made-up.trace", statements=statements_of(load))
    found = read_load(read_counters(path), None, law())
    assert (len(found), found.synthetic, found.closed, found.pooled) == (90, False, False, False)
    summary = run(found, tmp_path).summary
    assert summary["verdict"]["arrivals"] == "recorded"
    assert summary["replay"]["sessions"] == 3
    assert summary["latency_ns"]["transaction"]["count"] == 90
    assert summary["latency_ns"]["commit"]["count"] == 45  # nobody counted them


def test_lengths_of_logs_are_told_apart_to_an_eighth() -> None:
    pages = np.arange(1, 5000)
    steps = _in_steps(pages)
    assert (np.abs(steps - pages) <= pages / 16).all()
    assert len(np.unique(steps)) < 100


MISTAKES: Sequence[tuple[Sequence[str], str, str]] = [
    (("engine.bufer_pool=64MiB",), "", "unknown key 'bufer_pool'; did you mean 'buffer_pool'?"),
    (("engine.shared_buffers=64MiB",), "", "unknown key 'shared_buffers'; did you mean 'engine.buffer_pool'?"),
    (("host.innodb_buffer_pool_size=64MiB",), "", "did you mean 'engine.buffer_pool'?"),
    (("engine.max server memory (MB)=64MiB",), "", "did you mean 'engine.buffer_pool'?"),
    (('host.cpu="xeon-e5-2690v4"',), "", "leave out one of them"),
    (("engine.kind=sqlserver",), "", "was recorded on postgresql"),
    (("engine.kind=oracle",), "", "'postgresql', 'sqlserver', 'mysql' or 'mariadb'"),
    (("engine.buffer_pool=1KiB",), "", "hold no page of"),
    (("replay.clients=3",), "", "of statements the sessions are known"),
    (("host.memory=1MiB", "engine.buffer_pool=64MiB"), "", "make them smaller or the memory larger"),
    (("host.memory=64KiB",), "", "64 KiB do not hold the recorded buffer pool of 800 KiB; set engine.buffer_pool"),
    ((), '[placement]\n"relation:acounts" = "data"\n', "is not a relation of .*; did you mean 'accounts'"),
    ((), '[placement]\nlogs = "data"\n', "did you mean 'log'"),
    ((), '[placement]\ntemp = "data"\ntempdb = "data"\n', "another word for temp"),
]


@pytest.mark.parametrize(("settings", "text", "message"), MISTAKES)
def test_a_scenario_that_does_not_fit_is_a_sentence(
    load: StatementLoad, tmp_path: Path, settings: Sequence[str], text: str, message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        assemble(load, scenario(tmp_path, *settings, text=text))


def test_relations_may_lie_on_volumes_of_their_own(load: StatementLoad, tmp_path: Path) -> None:
    text = '[volumes.flash]\ndevice = "device.toml"\n[placement]\n"relation:accounts" = "flash"\ndefault = "data"\n'
    result = replay_statements(load, scenario(tmp_path, "replay.cache_state=cold", text=text)).summary
    requests = {name: station["requests"] for name, station in result["stations"].items()}
    assert requests["flash"] > 0
    assert requests["data"] == 2 * TRANSACTIONS  # the log


def test_a_volume_holds_all_that_was_recorded_and_not_only_what_is_looked_up(tmp_path: Path) -> None:
    """An archive of 164 GB that no statement reads does not fit a volume of 100 GB beside the accounts."""
    archive: dict[str, int | str] = {"kind": "table", "rows": 10**9, "pages": 20_000_000, "pages_read": 0}
    path = counted_database(tmp_path / "a.trace", more={("relation", "public.archive"): archive})
    found = read_load(read_counters(path), synthesised(path, 1), law())
    with pytest.raises(ScenarioError, match=r"volume 'data' holds 100 GB, tables and log need 15[0-9.]* GiB; choose"):
        assemble(found, scenario(tmp_path, "replay.cache_state=cold"))
    (tmp_path / "large.toml").write_text(token_bucket(capacity="1 TB", iops=1000))
    text = '[volumes.slow]\ndevice = "large.toml"\n[placement]\n"relation:archive" = "slow"\ndefault = "data"\n'
    assert assemble(found, scenario(tmp_path, "replay.cache_state=cold", text=text)).volumes == ("data", "data")


def test_holes_of_a_recording_are_said_and_not_filled_with_clones(load: StatementLoad, tmp_path: Path) -> None:
    holed = replace(load, quiet_ns=load.span_ns * 3 // 4)
    found = run(holed, tmp_path).summary
    assert found["trace"]["quiet_ns"] == holed.quiet_ns
    assert any(one.startswith("the recording has holes: hardly any statement ended in") for one in found["caveats"])
    with pytest.raises(ScenarioError, match=r"replay\.load: hardly any statement ended in .* sessions that are cloned"):
        assemble(holed, scenario(tmp_path, "replay.cache_state=cold", "replay.load=2"))
    assert "quiet_ns" not in run(load, tmp_path).summary["trace"]


def test_what_a_bundle_lacks_is_a_sentence(load: StatementLoad, tmp_path: Path) -> None:
    path = counted_database(tmp_path / "a.trace", relations=False)
    with pytest.raises(TraceError, match="names no table with its size, rows and misses"):
        load_of(path, 1)
    with pytest.raises(TraceError, match="holds no statements with their pages"):
        read_load(read_counters(counted_database(tmp_path / "b.trace")), None, law())
    with pytest.raises(TraceError, match=r"holds block requests and no queries, which an \[engine\] runs"):
        load_of(write_trace(tmp_path / "c", 8), 1)


def test_assembling_again_with_other_costs_needs_no_other_load(load: StatementLoad, tmp_path: Path) -> None:
    made = assemble(read_load(read_counters(load.path), synthesised(load.path, 1), law()), scenario(tmp_path))
    again = assemble(load, scenario(tmp_path))
    for name in ("page_of", "used", "dirty"):
        np.testing.assert_array_equal(getattr(made.database, name), getattr(again.database, name))
    np.testing.assert_array_equal(made.program.statements.cpu_ns, again.program.statements.cpu_ns)


def test_a_replay_reads_the_counters_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = counted_database(tmp_path / "a.trace")
    opened: list[Path] = []
    real = open_parquet

    def counting(table: Path, remedy: str) -> pq.ParquetFile:
        if table.name not in (statistics.STATEMENTS, statistics.QUERIES):
            opened.append(table)
        return real(table, remedy)

    monkeypatch.setattr(statistics, "open_parquet", counting)
    scenarios = [
        scenario(tmp_path, "replay.cache_state=cold"),
        scenario(tmp_path, "replay.cache_state=cold", "host.cores=1"),
    ]
    text = '[placement]\n"relation:ghost" = "data"\n'
    with pytest.raises(ScenarioError, match="relation:ghost"):
        replay_statements_all(Bundle(path), [scenario(tmp_path, "replay.cache_state=cold", text=text)])
    assert len(opened) == 1
    first, second = replay_statements_all(Bundle(path), scenarios)
    assert len(opened) == 2
    assert first.summary["trace"]["hash"] == second.summary["trace"]["hash"]


def test_a_bundle_of_counters_goes_from_end_to_end(tmp_path: Path) -> None:
    path = counted_database(tmp_path / "made-up.trace")
    found = replay_statements(load_of(path, 1), scenario(tmp_path)).summary
    Summary.model_validate(found)
    assert found["level"] == "statements"
    assert found["latency_ns"]["transaction"]["count"] == TRANSACTIONS


def test_both_engines_run_a_load_alike(load: StatementLoad, tmp_path: Path) -> None:
    first, second = (assemble(load, scenario(tmp_path, "replay.cache_state=cold")) for _ in range(2))

    def empty(assembled: Assembled) -> Metrics:
        columns = FIRST_CLASS + len(assembled.program.names)
        return new_metrics(columns, len(assembled.builder.stations), RESOURCES, 4, 10**9)

    engine.run_database(first.builder.build(4), first.database, empty(first))
    ReferenceEngine(second.builder.build(4), [], empty(second), database=second.database).run()
    for name in ("done_ns", "spent", "pages_read", "frame_of"):
        np.testing.assert_array_equal(getattr(first.database, name), getattr(second.database, name), err_msg=name)


def test_an_engine_or_a_lack_of_requests_asks_for_statements(tmp_path: Path) -> None:
    both = Bundle(counted_database(tmp_path / "both.trace", requests=10))
    counters = Bundle(counted_database(tmp_path / "counters.trace"))
    plain, with_engine = scenario(tmp_path), scenario(tmp_path, "engine.version=18")
    assert [runs_statements(bundle, one) for bundle in (both, counters) for one in (plain, with_engine)] == [
        False,
        True,
        True,
        True,
    ]
    told = replay(survey(both), plain).summary["caveats"]
    assert any("add [engine] to run the queries" in one for one in told)
    for key in ("cache_state=cold", "warmup=1s", "duration=1s", "since_checkpoint=1s"):
        with pytest.raises(ScenarioError, match="this one replays requests"):
            refuse_keys_of_statements(scenario(tmp_path, f"replay.{key}"))


def test_values_come_from_the_scenario_then_the_recording_then_defaults(load: StatementLoad, tmp_path: Path) -> None:
    (tmp_path / "device.toml").write_text(token_bucket(latency="1 ms", iops=1_000_000))
    (tmp_path / "bare.toml").write_text('[volumes.data]\ndevice = "device.toml"\n')
    manifest = replace(load.manifest, host={**load.manifest.host, "cores": 6, "version": "18.4"})

    def settings(*changes: str, recorded: Manifest = manifest, processor: ProcessorCosts | None = None) -> Settings:
        return settings_of(load_scenario(str(tmp_path / "bare.toml"), changes), load.path, recorded, processor)

    found = settings()
    assert (found.cores, found.version, found.basis["host.cores"]) == (6, "18.4", "recorded")
    assert settings("host.cores=3").cores == 3
    unknown = settings(recorded=load.manifest)
    assert (unknown.cores, unknown.basis["host.cores"].partition(":")[0]) == (8, "default")
    counted = Differences({"processor": {"host": EntityChange({}, {"cores": Decimal(2)})}})
    assert settings(recorded=with_variables(load.manifest, counted)).cores == 2
    of_recorded_host = replace(ProcessorCosts({}, 0, unknown.costs, "a test"), cores=2)
    assert settings(processor=of_recorded_host).cores == 2
    assert settings("host.cores=3", processor=of_recorded_host).cores == 3
    assert unknown.slowdown[7] / 1000 == pytest.approx(
        8 / 6, rel=0.01
    )  # 8 cores do the work of 6: founding document 002
    assert settings("host.contention=[1, 1.5]").slowdown == (1000, 1500, 1500, 1500, 1500, 1500)
    of_catalogue = settings("host.cpu=xeon-x5570", "host.recorded_cpu=xeon-e5430", "host.count=2")
    assert of_catalogue.cores == 2 * load_processor("xeon-x5570").cores
    assert of_catalogue.core_speed == core_speed(load_processor("xeon-x5570"), load_processor("xeon-e5430"))
    with pytest.raises(
        ScenarioError, match=r"host\.cpu: 'xeon-x5571' is not a processor of the catalogue; did you mean"
    ):
        settings("host.cpu=xeon-x5571")


def test_a_resolved_scenario_reads_back(tmp_path: Path) -> None:
    text = """
[engine]
checkpoint_timeout = "1 min"
max_wal_size = "2 GiB"
commit_delay = "10 us"
replica = { round_trip = "0.5 ms", flush = "1 ms" }
"""
    made = scenario(tmp_path, "replay.since_checkpoint=10 s", "replay.warmup=2 s", text=text)
    (tmp_path / "again.toml").write_text(made.to_toml())
    assert load_scenario(str(tmp_path / "again.toml")).model == made.model


@pytest.mark.parametrize(
    ("images", "text", "is_said"),
    [(60, "select a from t", True), (5, "select a from t", False), (60, "update t set a = ?", False)],
)
def test_pages_that_lookups_put_into_the_log_are_said(images: int, text: str, is_said: bool) -> None:
    """Rows that were loaded before have no hint bits; what an update does to pages is its own work."""
    grown = {"calls": Decimal(1000), "log_full_page_images": Decimal(images)}
    said = said_of_earlier_changes(Differences({"query": {"1": EntityChange(grown)}}), [text])
    assert bool(said) == is_said
    assert all(
        line.startswith(f"1,000 read-only statements wrote {images} full-page images into the WAL") for line in said
    )
    assert not said_of_earlier_changes(Differences({"query": {"1": EntityChange(grown)}}), [None])
