"""What is expensive to make and wanted by several threads: made once, and the newest of it kept."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


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


class _Slot(Generic[T]):
    def __init__(self) -> None:
        self.lock = Lock()
        self.made: list[T] = []
