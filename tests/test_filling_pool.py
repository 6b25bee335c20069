"""Recordings of a server that had just started: its pool fills while it is recorded, and while it is simulated."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.counted_bundles import synthesised
from tests.counted_databases import FRAMES, TRANSACTIONS, counted_database, law
from tests.test_statements import scenario
from tiersim.scenarios.calibration.processor import loop_sessions
from tiersim.scenarios.statements import recorded_host, warm_pools
from tiersim.scenarios.statements.assembly import Shared, assemble, cache_state_of
from tiersim.scenarios.statements.calibration import calibrate
from tiersim.scenarios.statements.loads import read_load
from tiersim.scenarios.statements.replay import replay_statements
from tiersim.scenarios.statements.result import curve
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool import warm as pool
from tiersim.simulator.database.database_state import Database
from tiersim.traces.differences import read_counters
from tiersim.units import NS_PER_S

pytestmark = pytest.mark.kernels


@pytest.fixture(scope="module")
def filling(tmp_path_factory: pytest.TempPathFactory) -> StatementLoad:
    path = counted_database(tmp_path_factory.mktemp("counted") / "made-up.trace", unused=90)
    return read_load(read_counters(path), synthesised(path, 1), replace(law(), unused=90))


def test_a_pool_begins_as_it_was_recorded_if_it_was_filling(filling: StatementLoad, tmp_path: Path) -> None:
    made = scenario(tmp_path)
    assert cache_state_of(made, filling) == "recorded"
    held = np.count_nonzero(assemble(filling, made).database.frame_of)
    assert FRAMES - 90 <= held <= FRAMES - 90 + 3  # the last row that was looked up brought its pages
    full = replace(filling, fitted=law())
    assert cache_state_of(made, full) == "warm"
    assert np.count_nonzero(assemble(full, made).database.frame_of) == FRAMES


def test_a_scenario_may_begin_otherwise(filling: StatementLoad, tmp_path: Path) -> None:
    cold, warm = (assemble(filling, scenario(tmp_path, f"replay.cache_state={state}")) for state in ("cold", "warm"))
    assert np.count_nonzero(cold.database.frame_of) == 0
    assert np.count_nonzero(warm.database.frame_of) == FRAMES
    assert (cold.warmed, warm.warmed) == (False, True)


def test_a_warm_pool_has_a_warm_page_cache_below_it(filling: StatementLoad, tmp_path: Path) -> None:
    def held(state: str) -> int:
        settings = (f"replay.cache_state={state}", "engine.os_cache=400 KiB", "engine.direct_io=false")
        plant = assemble(filling, scenario(tmp_path, *settings)).plant
        return int(plant.flash_caches["used"].sum())

    assert held("warm") == 50
    assert held("recorded") == held("cold") == 0


def test_costs_are_looked_for_on_a_pool_that_fills(filling: StatementLoad, tmp_path: Path) -> None:
    """With the whole load, however long it is, and from an empty pool if the scenario says so."""
    for settings in ((), ("replay.cache_state=cold",)):
        assert calibrate(filling, scenario(tmp_path, *settings)).simulated is not None


def test_a_calibration_fills_the_pool_of_replays_and_runs_nothing_twice(
    filling: StatementLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm = replace(filling, fitted=law())
    filled, ran = [], []

    def fill(*arguments: Any, **options: Any) -> Any:
        filled.append(arguments)
        return pool.warm(*arguments, **options)

    def run(plant: Any, database: Database, *arguments: Any, **options: Any) -> Any:
        ran.append((database.costs.tobytes(), database.client_ns.tobytes(), database.cpu_ns.tobytes()))
        return engine.run_database(plant, database, *arguments, **options)

    monkeypatch.setattr(warm_pools, "warm", fill)
    monkeypatch.setattr(recorded_host, "engine", SimpleNamespace(run_database=run))
    shared, made = Shared(), scenario(tmp_path)
    found = calibrate(warm, made, shared)
    assert found == calibrate(warm, made)
    assert len(filled) == 2
    assert len(ran) > 2
    assert all(one != other for one, other in pairwise(ran[: len(ran) // 2]))
    replay_statements(warm, made, processor=found, shared=shared)
    assert len(filled) == 2


def test_sessions_that_do_next_to_nothing_are_none_of_the_load(filling: StatementLoad, tmp_path: Path) -> None:
    database = assemble(filling, scenario(tmp_path)).database
    everybody = loop_sessions(database)
    assert len(everybody) == len(database.sessions)
    short = database.sessions.copy()
    short["end"][0] = short["next"][0] + 1
    assert len(loop_sessions(database._replace(sessions=short))) == len(everybody) - 1


def test_a_result_says_how_fast_each_part_of_it_was(filling: StatementLoad, tmp_path: Path) -> None:
    result = replay_statements(filling, scenario(tmp_path))
    assert result.summary["verdict"]["cache"] == "as recorded"
    found = result.summary["throughput_over_time"]
    assert found["recorded_transactions_per_s"] is None  # nobody logged when they ended


def test_transactions_are_counted_by_steps_of_the_recording_s_time(filling: StatementLoad, tmp_path: Path) -> None:
    """Whole steps, ten at most; what ends later, or in a warm-up, is in none."""
    ends_ns = np.arange(-9, TRANSACTIONS) * NS_PER_S
    found = curve(filling.path, ends_ns, 25 * NS_PER_S, filling.span_ns)
    assert found["step_ns"] == 5 * NS_PER_S
    assert found["transactions_per_s"] == [1, 1, 1, 1, 1]
    assert len(curve(filling.path, ends_ns, 10 * NS_PER_S, filling.span_ns)["transactions_per_s"]) == 10


def test_nothing_is_said_to_have_been_recorded_behind_the_recording_s_time(
    filling: StatementLoad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients may be asked to go on for longer."""
    logged = SimpleNamespace(start_ns=np.zeros(9, np.int64), end_ns=np.arange(1, 10) * NS_PER_S)
    monkeypatch.setattr("tiersim.scenarios.statements.result.logged_transactions", lambda path: logged)
    found = curve(filling.path, np.arange(25) * NS_PER_S, 25 * NS_PER_S, 10 * NS_PER_S)
    assert len(found["transactions_per_s"]) == 5
    assert found["recorded_transactions_per_s"] == [0.8, 1]
