"""Tasks at the same time, each in a process of its own, that clean up after themselves when they are interrupted."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
from collections.abc import Callable, Sequence

from benchmarks.real_postgres.errors import BenchError

_CONTEXT = multiprocessing.get_context("fork")


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


def _guarded(task: Callable[[], None]) -> None:
    interrupt_once()
    try:
        task()
    except BenchError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
