"""What processes use and wait for, from a /proc that is made up, and from this machine's own."""

import os
import shutil
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from tiersim.traces.recorders.processes import BACKENDS, HELPERS, KERNEL, LOAD_GENERATOR, Processes, parent_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
S = 1_000_000_000


def process(
    proc: Path, number: int, name: str, *, parent: int = 1, title: str = "", cpu_ns: int = 0, wait_ns: int = 0,
    ticks: tuple[int, int] = (0, 0), started: int = 7, threads: int = 1,
) -> None:  # fmt: skip
    """Write what the kernel shows of a process, its threads with as much each."""
    folder = proc / str(number)
    for thread in range(threads):
        (folder / "task" / str(number + thread)).mkdir(parents=True, exist_ok=True)
        (folder / "task" / str(number + thread) / "schedstat").write_text(f"{cpu_ns} {wait_ns} 3\n")
    fields = ["S", parent, 0, 0, 0, 0, 0, 0, 0, 0, 0, *ticks, 0, 0, 0, 0, threads, 0, started, 0]
    (folder / "stat").write_text(f"{number} ({name}) {' '.join(map(str, fields))}\n")
    (folder / "cmdline").write_text(title)


def looked(proc: Path, *, server: int = 10, without: int | None = None) -> Processes:
    found = Processes(server, without=without, proc=proc)
    found.look(0)
    return found


def of(found: Processes, kind: str) -> dict[str, Decimal | str]:
    return found.values()["process", kind]


def test_children_of_the_server_are_told_apart_and_load_generators_are_known(tmp_path: Path) -> None:
    titles = {
        11: "postgres: checkpointer ",
        12: "postgres: main: background writer",
        13: "postgres: shop shop [local] SELECT",
        14: "postgres: walwriter ",
        15: "postgres: io worker 0",
    }
    for number, title in titles.items():
        process(tmp_path, number, "postgres", parent=10, title=title, cpu_ns=S)
    process(tmp_path, 20, "pgbench", parent=1, cpu_ns=S, threads=2)
    process(tmp_path, 30, "cron", parent=1, cpu_ns=9 * S)
    process(tmp_path, 40, "post) gres", parent=99, title="postgres: other other [local] idle", cpu_ns=9 * S)
    found = looked(tmp_path)
    for number, title in titles.items():
        process(tmp_path, number, "postgres", parent=10, title=title, cpu_ns=3 * S, wait_ns=S, ticks=(100, 50))
    process(tmp_path, 20, "pgbench", parent=1, cpu_ns=4 * S, threads=2)
    found.look(5 * S)
    assert set(found.values()) == {("process", kind) for kind in (BACKENDS, HELPERS, LOAD_GENERATOR)}
    assert of(found, BACKENDS) == {
        "cpu_ms": 2000, "run_queue_ms": 1000, "user_ms": 1000, "system_ms": 500, "slices": 0, "observed_ms": 5000,
    }  # fmt: skip
    assert of(found, HELPERS)["cpu_ms"] == 4 * 2000
    assert of(found, LOAD_GENERATOR)["cpu_ms"] == 2 * 3000


def test_a_process_that_came_counts_whole_and_one_that_went_keeps_what_it_had(tmp_path: Path) -> None:
    process(tmp_path, 11, "postgres", parent=10, title="postgres: a a [local]", cpu_ns=5 * S)
    found = looked(tmp_path)
    process(tmp_path, 12, "postgres", parent=10, title="postgres: b b [local]", cpu_ns=2 * S, started=9)
    found.look(S)
    assert of(found, BACKENDS)["cpu_ms"] == 2000
    for path in (tmp_path / "12").rglob("schedstat"):
        path.unlink()
    found.look(2 * S)
    assert of(found, BACKENDS)["cpu_ms"] == 2000
    assert of(found, BACKENDS)["observed_ms"] == 2000
    process(
        tmp_path, 12, "postgres", parent=10, title="postgres: c c [local]", cpu_ns=S, started=50
    )  # its number again
    found.look(3 * S)
    assert of(found, BACKENDS)["cpu_ms"] == 3000


def test_a_thread_that_went_takes_nothing_away(tmp_path: Path) -> None:
    """A client of a load generator has done its work, and the others go on."""
    process(tmp_path, 20, "sysbench", cpu_ns=5 * S, threads=3)
    found = looked(tmp_path)
    process(tmp_path, 20, "sysbench", cpu_ns=6 * S, threads=3, ticks=(300, 0))
    (tmp_path / "20" / "task" / "22" / "schedstat").unlink()  # it ends while the others are read
    found.look(S)
    assert of(found, LOAD_GENERATOR)["cpu_ms"] == 2000
    assert of(found, LOAD_GENERATOR)["user_ms"] == 3000  # of all three
    shutil.rmtree(tmp_path / "20" / "task" / "22")
    found.look(2 * S)
    assert of(found, LOAD_GENERATOR)["cpu_ms"] == 2000


def test_threads_of_the_kernel_work_for_everybody_but_those_of_memory(tmp_path: Path) -> None:
    for number, name in ((3, "kworker/0:1-loop0"), (4, "kdamond.0"), (5, "kworker/1:2")):
        process(tmp_path, number, name, parent=2)
        (tmp_path / str(number) / "schedstat").write_text("0 0 1\n")
    found = looked(tmp_path)
    for number in (3, 4):
        (tmp_path / str(number) / "schedstat").write_text(f"{S} {S // 2} 3\n")
    (tmp_path / "5" / "schedstat").unlink()  # a worker ends
    found.look(2 * S)
    assert of(found, KERNEL)["cpu_ms"] == of(found, KERNEL)["system_ms"] == 1000
    assert of(found, KERNEL)["run_queue_ms"] == 500


def test_the_session_of_the_recorder_is_left_out(tmp_path: Path) -> None:
    for number in (11, 12):
        process(tmp_path, number, "postgres", parent=10, title="postgres: a a [local]")
    found = looked(tmp_path, without=12)
    for number in (11, 12):
        process(tmp_path, number, "postgres", parent=10, title="postgres: a a [local]", cpu_ns=S)
    found.look(S)
    assert of(found, BACKENDS)["cpu_ms"] == 1000


def test_this_process_is_a_child_of_its_parent_and_uses_what_the_clock_says() -> None:
    parent = parent_of(os.getpid())
    assert parent == os.getppid()
    found = Processes(os.getppid())
    found.look()
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass
    found.look()
    assert Decimal(of(found, BACKENDS)["cpu_ms"]) >= 250  # whoever is no server's helper
