"""A synchronous replica (docs/wal.md): what is durable here is sent there, and flushed, one flush at a time."""

from tests.twins.clock import Clock, Process, Signal
from tiersim.simulator.database.wal.log import Replica


class Confirming:
    """Answers a commit when the replica has flushed it."""

    def __init__(self, clock: Clock, settings: Replica) -> None:
        self.clock, self.settings = clock, settings
        self.began_ns = -1
        self.group: list[Signal] | None = None  # of the flush that is on its way
        self.next: list[Signal] = []
        self.flushes = 0

    def confirm(self) -> Process:
        """Send, wait for a flush there, and for the answer."""
        one_way_ns = self.settings.round_trip_ns // 2
        sent_ns = self.clock.now
        yield sent_ns + one_way_ns
        mine = Signal()
        if self.group is None:
            self.group = [mine]
            self.clock.at(self.clock.now, self._flushes())
        elif self.began_ns == self.clock.now:
            self.group.append(mine)
        else:
            self.next.append(mine)
        yield mine
        yield max(self.clock.now + one_way_ns, sent_ns + 1)

    def _flushes(self) -> Process:
        while self.group:
            self.began_ns = self.clock.now
            self.flushes += 1
            yield self.clock.now + self.settings.flush_ns, 1  # behind who comes at that time
            done, self.group, self.next = self.group, self.next or None, []
            for one in done:
                self.clock.set(one)
