"""Tasks at the same time, each in a process of its own, that clean up after themselves when they are interrupted."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.errors import BenchError
from tiersim.errors import TiersimError

_CONTEXT = multiprocessing.get_context("fork")
_CPU = Path("/sys/fs/cgroup/cpu")
_SHARES = 9548  # as a process at nice -10 has, against 1024 at 0 (kernel/sched/core.c, sched_prio_to_weight)


def check() -> None:
    """Raise BenchError where processes cannot be put before others."""
    if not (_CPU / "cpu.shares").exists():
        raise BenchError(f"{_CPU} is no cgroup v1; mount it: mount -t cgroup -o cpu none {_CPU}")


@contextmanager
def told() -> Iterator[None]:
    """End the process with code 1 after an error in one sentence, with 130 after an interrupt;
    what was measured stays.
    """
    try:
        yield
    except TiersimError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: servers, devices and groups are gone, finished cells stay\n")
        sys.exit(130)


def together(tasks: Sequence[Callable[[], None]]) -> None:
    """Do all tasks; ends the others and raises BenchError when one fails, and ends all when this process is
    interrupted.
    """
    processes = [_CONTEXT.Process(target=_guarded, args=(task,)) for task in tasks]
    try:
        for process in processes:
            process.start()
        waiting = list(processes)
        while waiting and not any(process.exitcode for process in processes):
            multiprocessing.connection.wait([process.sentinel for process in waiting])
            waiting = [process for process in processes if process.exitcode is None]
    finally:
        for process in processes:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGTERM)
        for process in processes:
            if process.pid is not None:
                process.join()
    if any(process.exitcode for process in processes):
        raise BenchError("a measurement failed; its sentence stands above")


def interrupt_once() -> None:
    """Let the first SIGINT or SIGTERM end the work of this process, and none disturb the cleaning up after it."""

    def interrupt(number: int, frame: object) -> None:
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, signal.SIG_IGN)
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, interrupt)


@contextmanager
def before_others() -> Iterator[None]:
    """Let other work on the machine wait for this process and all that it starts until the block ends.

    They are a group of their own for the scheduler: nice would only count within a session, and each process of
    PostgreSQL makes itself one (sched(7), autogroup).
    """
    group = _CPU / f"tiersim-bench-{os.getpid()}"
    group.mkdir()
    try:
        (group / "cpu.shares").write_text(str(_SHARES))
        (group / "cgroup.procs").write_text(str(os.getpid()))
        yield
    finally:
        (_CPU / "cgroup.procs").write_text(str(os.getpid()))
        remove_group(group)


def remove_group(group: Path) -> None:
    """Remove a control group as soon as the last of its processes has ended."""
    for _ in range(20):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.5)


def _guarded(task: Callable[[], None]) -> None:
    interrupt_once()
    os.setsid()  # the interrupted parent ends it; a terminal's Ctrl-C does not come twice
    try:
        task()
    except BenchError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
