"""A sweep whose process is killed with signal 9, again and again, ends as one that nobody disturbed."""

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from tests.runs import needs_jit
from tests.sweep_runs import command, contents, write_trace
from tiersim.cli.terminal import compile_if_cold

pytestmark = needs_jit

KILLS = 10
#: 36 points of some tens of ms, some of which cannot be simulated.
SETTINGS = (
    "volumes.data.device=intel-p3700-800,nosuch,micron-s650dc-800",
    "replay.load=0.5,1,2",
    "volumes.data.queue_depth=4..32",
)
POINTS = 36
#: Enough for a process to begin on a machine that others use, too.
PATIENCE_S = 240


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    compile_if_cold()


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace"), 40_000)


class Sweeper:
    """Runs the command in processes that have loaded the program before, so that they are at work at once."""

    def __init__(self, trace: Path, log: Path) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.sweep_runs", "tiersim.scenarios.sweeps.screening"])
        self._trace, self._log = trace, log

    def begin(self, target: Path, *, workers: int) -> ForkServerProcess:
        settings = [part for setting in SETTINGS for part in ("--set", setting)]
        arguments = [
            "sweep",
            str(self._trace),
            "--on",
            "pcie-flash",
            *settings,
            "--keep",
            "-o",
            str(target),
            "--workers",
            str(workers),
        ]
        process = self._context.Process(target=command, args=(arguments, str(self._log)))
        process.start()
        return process

    def whole(self, target: Path, *, workers: int) -> None:
        process = self.begin(target, workers=workers)
        process.join(PATIENCE_S)
        assert process.exitcode == 0, self._log.read_text()


def points(target: Path) -> int:
    return len(list((target / "points").glob("0*.json")))


@pytest.mark.long
def test_killed_at_random_moments_it_ends_bit_by_bit_the_same(trace: Path, tmp_path: Path) -> None:
    sweeper = Sweeper(trace, tmp_path / "log")
    sweeper.whole(tmp_path / "a.sweep", workers=1)
    luck, target = random.Random(7), tmp_path / "b.sweep"
    killed_at = []
    for kill in range(KILLS):
        process = sweeper.begin(target, workers=1 + kill % 3)
        # some are killed while they read the trace, the others when they have done a few points more, or in the middle
        # of one
        more, until = points(target) + luck.randrange(0, 4), time.monotonic() + PATIENCE_S
        while points(target) < min(more, POINTS - 2) and process.is_alive() and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(luck.random() * 0.1)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        killed_at.append(points(target))
        assert process.exitcode == -signal.SIGKILL, "it was over before it was killed"
    assert len(set(killed_at)) > 2, "the kills were spread over the sweep"
    assert killed_at[-1] < POINTS
    sweeper.whole(target, workers=2)
    assert contents(target) == contents(tmp_path / "a.sweep")


def test_an_interrupt_ends_it_in_a_sentence_and_it_goes_on(trace: Path, tmp_path: Path) -> None:
    sweeper = Sweeper(trace, tmp_path / "log")
    target = tmp_path / "a.sweep"
    process = sweeper.begin(target, workers=2)
    until = time.monotonic() + PATIENCE_S
    while points(target) < 2 and process.is_alive() and time.monotonic() < until:
        time.sleep(0.001)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(PATIENCE_S)
    assert process.exitcode == 130
    assert "interrupted" in (tmp_path / "log").read_text()
    assert "Traceback" not in (tmp_path / "log").read_text()
    assert not list(target.rglob(".*"))
    assert 0 < points(target) < POINTS
    sweeper.whole(target, workers=1)
    assert (target / "points.parquet").exists()
