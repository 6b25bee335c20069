"""What a sweep costs: two workers against one, beside what two threads of bare simulations gain here, and what a point
costs besides its simulation.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from tests.sweep_runs import begin, contents, grid_of, run_in, write_trace
from tiersim.scenarios.sweeps.folder import open_folder
from tiersim.scenarios.sweeps.runner import Threads, run_sweep
from tiersim.simulator.compiled import engine
from tiersim.traces.readers import import_trace
from tiersim.traces.samples import pgbench

REQUESTS = 2_000_000
POINTS = ("volumes.data.device=intel-p3700-800,micron-s650dc-800", "volumes.data.queue_depth=1..100+1")
#: Runs of the event loop alone, by which this machine's second processor is judged.
_ROUNDS = 6


@contextmanager
def simulation_s(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Collect the CPU time of every run of the event loop."""
    spent: list[float] = []
    genuine = engine.run_streams

    def timed(*arguments: Any, **more: Any) -> Any:
        began = time.thread_time()
        found = genuine(*arguments, **more)
        spent.append(time.thread_time() - began)
        return found

    with monkeypatch.context() as patched:
        patched.setattr(engine, "run_streams", timed)
        yield spent


@pytest.mark.long
def test_two_workers_against_one(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    trace = write_trace(tmp_path / "trace", REQUESTS)
    grid = grid_of(*POINTS)
    assert len(grid) == 200
    wall: dict[int, float] = {}

    def sweep(workers: int) -> None:
        began = time.perf_counter()
        run_in(tmp_path / f"{workers}.sweep", trace, grid, workers=workers)
        wall[workers] = time.perf_counter() - began

    sweep(1)
    benchmark.pedantic(sweep, (2,), rounds=1)
    assert contents(tmp_path / "1.sweep") == contents(tmp_path / "2.sweep")
    _, source = begin(trace, grid)
    scenario = grid.scenario_of(grid.point(0))
    source.run(scenario, lambda _: None, tables=False)

    def several(threads: int) -> float:
        began = time.perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda _: source.run(scenario, lambda _: None, tables=False), range(_ROUNDS)))
        return time.perf_counter() - began

    benchmark.extra_info |= {
        "one_worker_s": round(wall[1], 1),
        "two_workers_s": round(wall[2], 1),
        "ratio": round(wall[1] / wall[2], 2),
        "ratio_of_bare_simulations": round(several(1) / several(2), 2),
    }


def test_what_a_point_costs_besides_its_simulation(
    tmp_path: Path, benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, trace = tmp_path / "pgbench.blktrace", tmp_path / "pgbench.trace"
    raw.write_bytes(pgbench())
    import_trace([raw], trace)
    grid = grid_of(POINTS[0], "volumes.data.queue_depth=1..50+1")
    plan, source = begin(trace, grid)
    source.run(grid.scenario_of(grid.point(0)), lambda _: None, tables=False)  # who waits for whom is found out once

    def sweep() -> float:
        with simulation_s(monkeypatch) as spent, open_folder(tmp_path / "p.sweep", plan, force=True) as folder:
            began = time.process_time()
            run_sweep(grid, folder, Threads(source, 1, keep=False))
            whole = time.process_time() - began
        simulated.append(sum(spent) / len(grid))
        return (whole - sum(spent)) / len(grid)

    simulated: list[float] = []
    least = min(benchmark.pedantic(lambda: [sweep() for _ in range(rounds(3))], rounds=1))
    benchmark.extra_info |= {
        "overhead_ms_a_point": round(1e3 * least, 1),
        "simulation_ms_a_point": round(1e3 * min(simulated), 1),
    }
