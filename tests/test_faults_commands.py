"""Whole commands that are killed with signal 9 at any moment: nothing at the name, or all of it, and with ``--force``
the old or the new.
"""

import multiprocessing
import os
import random
import shutil
import signal
import time
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests.runs import needs_jit
from tests.sweep_runs import command, write_trace
from tiersim.cli.terminal import compile_if_cold
from tiersim.scenarios.check import check

pytestmark = needs_jit

#: So often the default tests kill each command, and the long ones.
KILLS = [4, pytest.param(30, marks=pytest.mark.long)]
#: What is written, and the command that writes it; what has a full stop in it is a file.
COMMANDS = {
    "a.trace": ("import", "recorded.trace", "-o", "a.trace"),
    "pcie-flash.result": ("replay", "recorded.trace", "--on", "pcie-flash", "-o", "."),
    "a.html": ("report", "kept/pcie-flash.result", "-o", "a.html"),
}


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    compile_if_cold()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.sweep_runs", "tiersim.scenarios.replay"])
    return context


@pytest.fixture(scope="module")
def folder(context: ForkServerContext, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("commands")
    write_trace(folder, 200_000).rename(folder / "recorded.trace")
    run(context, folder, "replay", "recorded.trace", "--on", "pcie-flash", "-o", "./kept")
    return folder


def run(context: ForkServerContext, folder: Path, *arguments: str, after_s: float | None = None) -> float:
    """Run a command, or kill it *after_s* of its beginning; returns how long it took."""
    given = [str(folder / one) if "." in one else one for one in arguments]
    process = context.Process(target=command, args=([*given, "--force"], str(folder / "log")))
    begun = time.monotonic()
    process.start()
    if after_s is not None:
        process.join(after_s)
        assert process.pid is not None
        with suppress(ProcessLookupError):  # it may have ended just now
            os.kill(process.pid, signal.SIGKILL)
    process.join(120)
    assert process.exitcode in ((0,) if after_s is None else (0, -signal.SIGKILL)), (folder / "log").read_text()
    return time.monotonic() - begun


def is_whole(path: Path) -> bool:
    if path.suffix == ".html":
        return path.read_bytes().rstrip().endswith(b"</html>")
    return check(path).verdict == "whole"


@pytest.mark.long
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("target", COMMANDS)
def test_killed_at_any_moment_what_is_there_is_whole(
    context: ForkServerContext, folder: Path, target: str, kills: int
) -> None:
    path, aside, luck = folder / target, folder / f"before-{target}", random.Random(kills)
    took_s = run(context, folder, *COMMANDS[target])
    assert is_whole(path)
    for kill in range(kills):
        if kill % 2 == 0:  # else over what is there
            path.rename(aside)
        run(context, folder, *COMMANDS[target], after_s=luck.uniform(0, took_s))
        assert path.exists() or kill % 2 == 0, "what was there is gone"
        assert not path.exists() or is_whole(path)
        if kill % 2 == 0:
            remove(aside) if path.exists() else aside.rename(path)
    run(context, folder, *COMMANDS[target])
    assert is_whole(path)


def remove(path: Path) -> None:
    path.unlink() if path.is_file() else shutil.rmtree(path)
