"""A clock for twins of the database: processes are generators that wait for times or for each other."""

from collections.abc import Generator
from heapq import heappop, heappush


class Signal:
    """Something that one process waits for until another sets it."""

    def __init__(self) -> None:
        self.waits: Process | None = None
        self.is_set = False


#: What a process waits for: a time in ns, a time and its place among those that are due then, or a signal.
Waits = int | tuple[int, int] | Signal
Process = Generator[Waits, None, None]


class Clock:
    """Runs processes; at one time they go on in the order of places, and else in that in which they were due."""

    def __init__(self) -> None:
        self.now = 0
        self.events: list[tuple[int, int, int, Process]] = []
        self.count = 0
        self.over = False  # nothing more happens: what works in the background has no end of its own

    def at(self, time_ns: int, process: Process, place: int = 0) -> None:
        """Let a process go on at a time."""
        self.count += 1
        heappush(self.events, (time_ns, place, self.count, process))

    def set(self, signal: Signal, place: int = 0) -> None:
        """Let who waits for *signal* go on now."""
        signal.is_set = True
        if signal.waits is not None:
            self.at(self.now, signal.waits, place)

    def run(self) -> None:
        """Run to the end."""
        while self.events and not self.over:
            self.now, _, _, process = heappop(self.events)
            waited = next(process, None)
            while isinstance(waited, Signal) and waited.is_set:
                waited = next(process, None)
            if isinstance(waited, Signal):
                waited.waits = process
            elif isinstance(waited, tuple):
                self.at(waited[0], process, waited[1])
            elif waited is not None:
                self.at(waited, process)
