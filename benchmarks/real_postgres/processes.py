"""Tasks at the same time, each in a process of its own, that clean up after themselves when they are interrupted."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.real_postgres.errors import BenchError

_CONTEXT = multiprocessing.get_context("fork")
_PRIORITY = -10  # nice


def together(tasks: Sequence[Callable[[], None]]) -> None:
    """Do all tasks; ends the others and raises BenchError when one fails, and ends all when this process is interrupted."""
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


def before_others() -> None:
    """Let other work on the machine wait for this session's processes, and for those that they start in it.

    The kernel shares processors among sessions first (sched(7), autogroup); nice counts within one. Each process of PostgreSQL makes itself
    a session of its own.
    """
    os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    group = Path("/proc/self/autogroup")
    if group.exists():
        group.write_text(str(_PRIORITY))


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
