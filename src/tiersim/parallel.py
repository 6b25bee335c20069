"""Work side by side: runs that know nothing of each other, one a processor, since kernels let other threads work
meanwhile; and what is expensive to make and wanted by several threads, made once, the newest of it kept.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from threading import Event, Lock
from typing import Generic, TypeVar

from tiersim.operating_system import processors

T = TypeVar("T")
#: What a run calls now and then, with how far it has come.
Note = Callable[[int], None]
#: How often whoever waits is told, in seconds.
_TOLD_S = 0.2


class _Stopped(Exception):
    """A run ends because another one has failed, or nobody waits for it any more."""


def side_by_side(
    runs: Sequence[Callable[[Note], T]], progress: Note | None = None, *, workers: int | None = None
) -> list[T]:
    """Return what *runs* return, in their order; *workers* go at a time, as many as there are processors if None.

    *progress* is called, here, with how far all have come together. When one raises, the others stop at their next
    note, and its exception is raised; so they do on Ctrl-C.
    """
    stop = Event()
    come = [0] * len(runs)

    def go(place: int) -> T:
        def note(done: int) -> None:
            if stop.is_set():
                raise _Stopped
            come[place] = done

        return runs[place](note)

    with ThreadPoolExecutor(max(min(workers or processors(), len(runs)), 1)) as pool:
        futures: list[Future[T]] = [pool.submit(go, place) for place in range(len(runs))]
        try:
            pending = set(futures)
            while pending:
                done, pending = wait(pending, timeout=_TOLD_S, return_when=FIRST_EXCEPTION)
                if progress is not None:
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


class Newest(Generic[T]):
    """Keeps the *most* things that were asked for last; who asks for one that is being made waits for it, the others do
    not.
    """

    def __init__(self, most: int) -> None:
        """Begin with nothing."""
        self._most, self._lock = most, Lock()
        self._kept: dict[Hashable, _Slot[T]] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what *make* made for *key*; what it raises, it raises here, and the next one who asks tries again."""
        with self._lock:
            slot = self._kept.pop(key, None) or _Slot[T]()
            self._kept[key] = slot
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        with slot.lock:
            if not slot.made:
                slot.made.append(make())
            return slot.made[0]

    def forget(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._kept.clear()


class _Slot(Generic[T]):
    def __init__(self) -> None:
        self.lock = Lock()
        self.made: list[T] = []
