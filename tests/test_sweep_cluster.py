"""Sweeps on a Dask cluster of real processes: the same bytes as in threads, also when a worker is killed."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.runs import needs_jit
from tests.sweep_runs import begin, contents, grid_of, run_in, write_trace
from tiersim.cli.terminal import compile_if_cold
from tiersim.errors import ScenarioError
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.sweeps import cluster as clusters
from tiersim.scenarios.sweeps.cluster import Cluster
from tiersim.scenarios.sweeps.grid import Point
from tiersim.scenarios.sweeps.runner import Done

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask is not installed: pip install distributed"
)
SETTINGS = (
    "volumes.data.device=intel-p3700-800,nosuch,micron-s650dc-800",
    "replay.load=1,2",
    "volumes.data.queue_depth=8..32",
)
POINTS = 18
PATIENCE_S = 300


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    compile_if_cold()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace"), 80_000)


class Dask:
    """A scheduler and its workers on this machine, talking over TCP."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self._file = folder / "scheduler.json"
        self._start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(self._file))
        wait_until(self._file.exists, "the scheduler")

    def _start(self, what: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        with open(self._folder / f"{len(self._processes)}.log", "wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.{what}", "--no-dashboard", *arguments],
                stdout=log, stderr=log, cwd=self._folder,
                env=os.environ | environment | {"DASK_TEMPORARY_DIRECTORY": str(self._folder)},
            )  # fmt: skip
        self._processes.append(process)
        return process

    @property
    def address(self) -> str:
        return str(json.loads(self._file.read_text())["address"])

    def worker(self, **environment: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread, and wait until the scheduler knows it."""
        known = self._log().count("Register worker")
        process = self._start(
            "dask_worker", "--scheduler-file", str(self._file), "--nthreads", "1", "--no-nanny", **environment
        )
        wait_until(lambda: self._log().count("Register worker") > known, "a worker")
        return process

    def _log(self) -> str:
        return (self._folder / "0.log").read_text()

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


def wait_until(reached: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < until, f"{what} did not come"
        time.sleep(0.02)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    started = Dask(tmp_path_factory.mktemp("dask"))
    yield started
    started.close()


def sweep_command(trace: Path, target: Path, address: str) -> list[str]:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    command = "import sys; from tiersim.cli.main import main; sys.argv[0] = 'tiersim'; main()"
    return [
        sys.executable,
        "-c",
        command,
        "sweep",
        str(trace),
        "--on",
        "pcie-flash",
        *settings,
        "--keep",
        "-o",
        str(target),
        "--cluster",
        address,
    ]


@needs_dask
@needs_jit
@pytest.mark.long
def test_a_worker_is_killed_and_the_bytes_are_those_of_threads(trace: Path, dask: Dask, tmp_path: Path) -> None:
    run_in(tmp_path / "a.sweep", trace, grid_of(*SETTINGS), keep=True, workers=2)
    first, _ = dask.worker(), dask.worker()
    target = tmp_path / "b.sweep"

    def done() -> int:
        return len(list((target / "results").glob("0*")))

    with open(tmp_path / "log", "wb") as log:
        client = subprocess.Popen(sweep_command(trace, target, dask.address), stdout=log, stderr=log)
    wait_until(lambda: done() >= 3 or client.poll() is not None, "a point")
    assert client.poll() is None, (tmp_path / "log").read_text()
    assert done() < 12  # of those that can be simulated
    first.send_signal(signal.SIGKILL)
    assert client.wait(PATIENCE_S) == 0, (tmp_path / "log").read_text()
    assert contents(target) == contents(tmp_path / "a.sweep")


@pytest.mark.long
@needs_dask
@needs_jit
def test_a_worker_of_another_version_is_refused_before_any_work(trace: Path, dask: Dask, tmp_path: Path) -> None:
    older = tmp_path / "older"  # what Dask looks up the version in
    (older / "numba-0.1.0.dist-info").mkdir(parents=True)
    (older / "numba-0.1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: numba\nVersion: 0.1.0\n")
    dask.worker(PYTHONPATH=os.pathsep.join([str(older), os.environ.get("PYTHONPATH", "")]))
    command = sweep_command(trace, tmp_path / "b.sweep", dask.address)
    said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert said.returncode == 1
    assert "has numba 0.1.0, here it is" in said.stderr
    assert "install the same on both" in said.stderr
    assert "Traceback" not in said.stderr
    assert not list((tmp_path / "b.sweep" / "points").glob("0*"))


@pytest.mark.long
@needs_dask
def test_nobody_answers(trace: Path, tmp_path: Path) -> None:
    command = sweep_command(trace, tmp_path / "b.sweep", "tcp://127.0.0.1:1")
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    said = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment)
    assert said.returncode == 1
    assert "--cluster tcp://127.0.0.1:1: no scheduler answers there" in said.stderr
    assert "Traceback" not in said.stderr


def test_without_dask_it_says_what_to_install(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ScenarioError, match=r"--cluster: needs Dask.*pip install distributed"):
        Cluster("tcp://x:1", trace, load_scenario("pcie-flash"), "", None, keep=False)


def test_a_worker_does_not_see_the_trace_or_sees_another(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker: Any = SimpleNamespace(get_worker=lambda: SimpleNamespace(address="tcp://w:1"))
    monkeypatch.setitem(sys.modules, "distributed", worker)
    grid = grid_of("replay.load=1,2")
    point, scenario = grid.point(0), grid.scenario_of(grid.point(0))
    _, source = begin(trace, grid)
    for path, recorded, said in (
        (tmp_path / "x.trace", source.trace["hash"], "the worker tcp://w:1 does not see it; put the trace on storage"),
        (trace, "0" * 32, "the worker tcp://w:1 sees another trace there"),
    ):
        job = clusters._Job(str(path), recorded, scenario, None, False)
        with pytest.raises(ScenarioError, match=said):
            clusters._run(job, point, scenario)


class Flickering:
    """A cluster of one thread, away at every other look, that is done with a point as soon as it has it."""

    def __init__(self) -> None:
        self._looks = 0

    def nthreads(self) -> dict[str, int]:
        self._looks += 1
        return {"tcp://w:1": 1} if self._looks % 2 else {}

    def submit(self, _: object, job: object, point: Point, scenario: object, **how: object) -> Future[Done]:
        future: Future[Done] = Future()
        future.set_result(Done({"point": point.number}, None))
        return future

    def cancel(self, futures: list[Future[Done]]) -> None:
        assert futures == []


@needs_dask
def test_no_point_is_left_out_when_all_workers_are_away_for_a_moment(
    trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = grid_of("replay.load=1,2,3,4,5,6")
    points = [(grid.point(number), grid.scenario_of(grid.point(number))) for number in range(len(grid))]
    assert len(points) > 2 * clusters._EACH
    cluster = Cluster("tcp://x:1", trace, points[0][1], "", None, keep=False)
    monkeypatch.setattr(cluster, "_client", lambda: nullcontext(Flickering()))
    ran = [done.row["point"] for done in cluster.run(points) if done is not None]
    assert sorted(ran) == [point.number for point, _ in points]
