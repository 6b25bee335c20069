"""Row locks until the end of the transaction, in order of arrival (docs/wal.md)."""

from collections import deque
from collections.abc import Hashable

from tests.twins.clock import Clock, Process, Signal


class Locks:
    """Who holds what, and who waits for it; of several that get a row at one time the first session goes first."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.held: dict[Hashable, deque[tuple[Signal, int]]] = {}

    def lock(self, row: Hashable, session: int) -> Process:
        """Lock a row."""
        if row not in self.held:
            self.held[row] = deque()
            return
        mine = Signal()
        self.held[row].append((mine, session))
        yield mine

    def unlock(self, row: Hashable) -> None:
        """Give a row to who waits longest."""
        if self.held[row]:
            mine, session = self.held[row].popleft()
            self.clock.set(mine, 1 + session)
        else:
            del self.held[row]
