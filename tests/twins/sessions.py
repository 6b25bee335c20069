"""Sessions and their statements whose pages are all there (docs/engines.md, docs/operations.md)."""

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from tests.twins.clock import Clock, Process, Waits
from tests.twins.processors import SLICE_NS, Processors
from tests.twins.wal import Wal
from tiersim.simulator.database.sessions.processors import Costs

#: So many pages are found before their CPU is charged.
BURST = 64


@dataclass(frozen=True)
class Statement:
    """It starts when the one before has ended and *start_ns* has come, else after a think time."""

    cpu_ns: int
    client_ns: int = 0
    think_ns: int = 0
    start_ns: int | None = None


class Sessions:
    """A statement computes, looks *lookups* rows up, each on *levels* pages, and commits."""

    def __init__(
        self, clock: Clock, processors: Processors, wal: Wal, costs: Costs, lookups: int, levels: int, log_bytes: int
    ) -> None:
        self.clock, self.processors, self.wal, self.costs = clock, processors, wal, costs
        self.lookups, self.levels, self.log_bytes = lookups, levels, log_bytes
        self.done: dict[tuple[int, int], int] = {}
        self.spent: Counter[str] = Counter()

    def start(self, loads: Sequence[Sequence[Statement]]) -> None:
        """Begin all sessions."""
        for number, load in enumerate(loads):
            self.clock.at(0, self._session(number, load))

    def _session(self, number: int, load: Sequence[Statement]) -> Process:
        for place, statement in enumerate(load):
            if statement.start_ns is not None:
                yield max(statement.start_ns, self.clock.now)
            else:
                yield self.clock.now + statement.think_ns
            yield from self.processors.use(statement.client_ns)
            yield from self._run(statement)
            self.done[number, place] = self.clock.now

    def _run(self, statement: Statement) -> Process:
        charge, found, is_first = statement.cpu_ns + 1, 0, True
        for reference in range(self.lookups * self.levels):
            if found == BURST:
                found = 0
                if charge:  # one slice; what it leaves goes with the next pages
                    charge -= yield from self._slice(charge, is_first)
                    is_first = False
            charge += self.costs.page_ns + (self.costs.lookup_ns if reference % self.levels == 0 else 0)
            found += 1
        while charge:
            charge -= yield from self._slice(charge, is_first)
            is_first = False
        if self.log_bytes:
            began = self.clock.now
            yield from self.wal.commit(self.log_bytes)
            self.spent["log"] += self.clock.now - began

    def _slice(self, ns: int, first: bool) -> Generator[Waits, None, int]:
        """Use a core; the wait for the first one is before the statement begins. Return what was used."""
        asked, part = self.clock.now, min(ns, SLICE_NS)
        yield from self.processors.use(part)
        took = self.processors.last_slice_ns
        self.spent["cpu"] += took
        if not first:
            self.spent["cpu queue"] += self.clock.now - asked - took
        return part
