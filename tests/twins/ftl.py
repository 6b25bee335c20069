"""A page-mapped flash translation layer (docs/flash.md)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tiersim.devices.ssd.ftl import PageMapping

#: Die, block of the die, unit of the block.
Place = tuple[int, int, int]


@dataclass
class Die:
    """*held* by block what was written there, valid or not; full blocks are *sealed*, the one filled first comes first.

    *since* orders the full blocks with equally many valid units: which has been so for longest.
    """

    erased: list[int]
    held: dict[int, list[int]]
    active: int = 0
    victim: int | None = None
    sealed: list[int] = field(default_factory=list)
    since: dict[int, int] = field(default_factory=dict)
    valid: int = 0


class Ftl:
    """Where each unit lies."""

    def __init__(self, mapping: PageMapping) -> None:
        """Begin with nothing written."""
        self.mapping, self.size = mapping, mapping.block_units
        blocks = range(mapping.sealed_blocks + 1)
        self.dies = [Die(list(blocks[1:]), {block: [] for block in blocks}) for _ in range(mapping.dies)]
        self.place_of: dict[int, Place] = {}
        self.clock = self.copied = 0

    def begin_full(
        self, place_of: Mapping[int, Place], victims: Sequence[int], sealed: Sequence[Sequence[int]]
    ) -> None:
        """Begin with a drive that was written for long: where each unit lies, and by die the block that is cleaned and
        the full ones, in order. No block is erased, the first of each die is being filled.
        """
        self.place_of = dict(place_of)
        for d, victim, full in zip(self.dies, victims, sealed, strict=True):
            d.erased, d.victim, d.sealed = [], victim, list(full)
            d.since = {block: place - len(full) for place, block in enumerate(full)}
        for unit, (die, block, slot) in sorted(place_of.items(), key=lambda one: one[1]):
            held = self.dies[die].held[block]
            held += [-1] * (slot - len(held)) + [unit]
            self.dies[die].valid += 1

    def write(self, die: int, unit: int) -> int:
        """Write a unit to a die, or to the next that may hold more; return how many units were copied for it."""
        self.trim(unit)
        while self.dies[die].valid >= self.mapping.most_valid:
            die = (die + 1) % self.mapping.dies
        copied = self._collect(die)
        self._put(die, unit)
        self.dies[die].valid += 1
        self.copied += copied
        return copied

    def trim(self, unit: int) -> None:
        """Forget a unit."""
        if unit in self.place_of:
            die, block, _ = self.place_of.pop(unit)
            self.dies[die].valid -= 1
            self._note(die, block)

    def _note(self, die: int, block: int) -> None:
        self.clock += 1
        self.dies[die].since[block] = self.clock

    def _valid_in(self, die: int, block: int) -> list[int]:
        held = self.dies[die].held[block]
        return [unit for slot, unit in enumerate(held) if self.place_of.get(unit) == (die, block, slot)]

    def _put(self, die: int, unit: int) -> None:
        """Write to the next place of the block that is being filled."""
        d = self.dies[die]
        self.place_of[unit] = die, d.active, len(d.held[d.active])
        d.held[d.active].append(unit)

    def _open(self, die: int) -> int:
        """Fill the next erased block; with the last one a victim is chosen. Return how many units that copied.

        Blocks without anything to gain are copied whole, to a block that may as well be the same.
        """
        d, copied = self.dies[die], 0
        d.sealed.append(d.active)
        self._note(die, d.active)
        d.active = d.erased.pop(0)
        while not d.erased and d.victim is None:
            chosen = self._choose(die)
            d.sealed.remove(chosen)
            if len(self._valid_in(die, chosen)) == self.size:
                copied += self.size
                d.sealed.append(chosen)
            else:
                d.victim = chosen
        return copied

    def _choose(self, die: int) -> int:
        d = self.dies[die]
        if self.mapping.collection == "lru":
            return d.sealed[0]
        return min(d.sealed, key=lambda block: (len(self._valid_in(die, block)), d.since[block]))

    def _collect(self, die: int) -> int:
        """Copy so many of the victim's units for one of the host that all are copied when the block is full."""
        d = self.dies[die]
        copied = self._open(die) if len(d.held[d.active]) == self.size else 0
        if d.victim is None:
            return copied
        left = self._valid_in(die, d.victim)
        host_units = self.size - len(d.held[d.active]) - len(left)
        share = -(-len(left) // host_units)
        for unit in left[:share]:
            self._put(die, unit)
        if share == len(left):
            d.held[d.victim] = []
            d.erased.append(d.victim)
            d.victim = None
        return copied + share
