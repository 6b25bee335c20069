"""The upkeep of a server: for each page that clients read so many of its own, in runs (docs/statements.md)."""

from collections.abc import Sequence
from fractions import Fraction

from tests.twins.stand_in import NONE, READ, WRITE, Part, Twin
from tiersim.devices.host.upkeep import Upkeep as Keeping
from tiersim.random_numbers import UPKEEP_PLACE, random_below


class Upkeep(Twin):
    """It adds up what it owes; its own pages wait here as requests of nobody."""

    def __init__(
        self, station: int, seed: int, keeping: Keeping, page: int, room: int, below: int, processors: int, cpu_ns: int
    ) -> None:
        self.station, self.seed, self.below, self.keeping = station, seed, below, keeping
        self.processors, self.cpu_ns = processors, cpu_ns
        self.worked_on: set[int] = set()
        self.page, self.places = page, room // page
        self.reads, self.writes = (Fraction(str(share)) for share in (keeping.reads, keeping.writes))
        self.owed_reads, self.owed_writes = keeping.run_pages * Fraction(str(keeping.begun)), Fraction(0)
        self.left = self.asked_pages = self.free_ns = 0

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        if not self.keeping.page_ns or asked.parent != NONE or asked.op != READ:
            return now + 1
        self.free_ns = max(self.free_ns, now) + self.keeping.page_ns
        return self.free_ns

    def next_read(self) -> Part:
        self.left -= 1
        return Part(self.station, READ, 0, 0, background=1)

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent == NONE:
            self.asked_pages += 1
            place = random_below(self.places, self.seed, UPKEEP_PLACE, self.station, self.asked_pages)
            made = [Part(self.below, asked.op, place * self.page, self.page)]
            if asked.op == READ:
                self.owed_writes += self.writes
                whole = int(self.owed_writes)
                self.owed_writes -= whole
                made += [Part(self.station, WRITE, 0, 0, background=1)] * whole
            return made
        made = [Part(self.below, asked.op, asked.offset, asked.length)]
        if asked.op == READ:
            self.owed_reads += self.reads * asked.length / self.page
        run = self.keeping.run_pages
        if self.left == 0 and self.owed_reads >= run:
            self.owed_reads -= run
            self.left = run
            made += [self.next_read() for _ in range(min(self.keeping.depth, run))]
        return made

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent != NONE or asked.op != READ:
            return []
        if self.cpu_ns and slot not in self.worked_on:
            self.worked_on.add(slot)
            return [Part(self.processors, READ, 0, self.cpu_ns)]
        self.worked_on.discard(slot)
        return [self.next_read()] if self.left else []
