"""The upkeep of a server: for each page that clients read or have written so many of its own (docs/statements.md)."""

from collections.abc import Sequence
from fractions import Fraction

from tests.twins.stand_in import NONE, READ, WRITE, Part, Twin
from tiersim.random_numbers import UPKEEP_PLACE, random_below


class Upkeep(Twin):
    """It adds up what it owes; its own pages wait here as requests of nobody, reads before writes."""

    def __init__(self, station: int, seed: int, shares: dict[int, Fraction], page: int, room: int, below: int) -> None:
        self.station, self.seed, self.below = station, seed, below
        self.shares, self.page, self.places = shares, page, room // page
        self.owed = dict.fromkeys(shares, Fraction(0))
        self.asked_pages = 0

    def accept(self, now: int, slot: int) -> int:
        return now + 1

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent == NONE:
            self.asked_pages += 1
            place = random_below(self.places, self.seed, UPKEEP_PLACE, self.station, self.asked_pages)
            return [Part(self.below, asked.op, place * self.page, self.page)]
        if asked.op in self.shares:
            self.owed[asked.op] += self.shares[asked.op] * asked.length / self.page
        made = [Part(self.below, asked.op, asked.offset, asked.length)]
        for op in (READ, WRITE):
            while self.owed[op] >= 1 and len(made) <= 8:
                self.owed[op] -= 1
                made.append(Part(self.station, op, 0, 0, background=1))
        return made
