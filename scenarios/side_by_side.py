"""Runs that know nothing of each other, one a processor: kernels let other threads work meanwhile."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TypeVar

from tiersim.operating_system import processors

T = TypeVar("T")
#: What a run calls now and then, with how far it has come.
Note = Callable[[int], None]
#: How often whoever waits is told, in seconds.
_TOLD_S = 0.2


class _Stopped(Exception):
    """A run ends because another one has failed, or nobody waits for it any more."""


def side_by_side(runs: Sequence[Callable[[Note], T]], progress: Note) -> list[T]:
    """Return what *runs* return, in their order; *progress* is called, here, with how far all have come together.

    When one raises, the others stop at their next note, and its exception is raised; so they do on Ctrl-C.
    """
    stop = Event()
    come = [0] * len(runs)

    def go(place: int) -> T:
        def note(done: int) -> None:
            if stop.is_set():
                raise _Stopped
            come[place] = done

        return runs[place](note)

    with ThreadPoolExecutor(max(min(processors(), len(runs)), 1)) as pool:
        futures: list[Future[T]] = [pool.submit(go, place) for place in range(len(runs))]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, timeout=_TOLD_S, return_when=FIRST_EXCEPTION)
                progress(sum(come))
                if any(future.exception() is not None for future in done):
                    break
        finally:
            stop.set()
            for future in futures:
                future.cancel()
    failed = [future for future in futures if not future.cancelled() and future.exception() is not None]
    for future in failed:
        if not isinstance(future.exception(), _Stopped):
            future.result()
    return [future.result() for future in futures]
