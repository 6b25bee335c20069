"""Extents that migrate between two tiers (docs/tiers.md)."""

from collections.abc import Iterator, Sequence

from tests.twins.stand_in import DISCARD, FLUSH, NONE, READ, WRITE, Part, Twin
from tiersim.devices.tiering.tiers import COPY_BYTES, Migration
from tiersim.units import NS_PER_S

DAY_NS = 24 * 3600 * NS_PER_S
#: Heat of one access; decay is counted in 2^-20.
ACCESS, DECAY_BITS = 256, 20


class Tiers(Twin):
    """Places of the *fast* tier come before those of the slow one; extents begin in the slow one as far as they fit.

    What moves and the clock wait here as requests of nobody.
    """

    def __init__(self, station: int, migration: Migration, fast: int, fast_places: int, slow: int, slow_places: int):
        self.station, self.migration, self.size = station, migration, migration.extent_bytes
        self.fast, self.fast_places, self.slow = fast, fast_places, slow
        self.places = range(fast_places + slow_places)
        extents = len(self.places) - 1
        self.place_of = {e: e + fast_places if e < slow_places else e - slow_places for e in range(extents)}
        self.heat, self.accesses = dict.fromkeys(range(extents), 0), dict.fromkeys(range(extents), 0)
        self.decay = round(2**DECAY_BITS * 2 ** (-migration.interval_ns / DAY_NS))
        self.moving: tuple[int, int] | None = None  # extent, and the place that it moves to
        self.copied = 0  # bytes
        self.next_copy_ns = 0
        self.started = False
        self.written: set[int] = set()  # pieces of copies that are being written

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        if asked.parent != NONE:
            return now + 1
        if asked.op == FLUSH:  # the clock
            return (now // self.migration.interval_ns + 1) * self.migration.interval_ns
        start = max(now + 1, self.next_copy_ns)
        self.next_copy_ns = start + COPY_BYTES * NS_PER_S // self.migration.rate_bytes_per_s
        return start

    def _at(self, place: int, op: int, within: int, length: int) -> Part:
        if place < self.fast_places:
            return Part(self.fast, op, place * self.size + within, length)
        return Part(self.slow, op, (place - self.fast_places) * self.size + within, length)

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        clock = Part(self.station, FLUSH, 0, 0, background=1)
        if asked.parent == NONE and asked.op == FLUSH:
            self._cool()
            return [clock, *(self._begin_move() if self.moving is None else ())]
        if asked.parent == NONE:
            assert self.moving is not None
            return [self._at(self.place_of[self.moving[0]], READ, asked.offset, asked.length)]
        parts = [Part(self.fast, FLUSH, 0, 0), Part(self.slow, FLUSH, 0, 0)]
        if asked.op != FLUSH:
            parts = list(self._parts(asked.op, asked.offset, asked.end))
        if not self.started:
            self.started = True
            parts.append(clock)
        return parts

    def _parts(self, op: int, position: int, end: int) -> Iterator[Part]:
        while position < end:
            extent, within = divmod(position, self.size)
            length = min(end - position, self.size - within)
            if op != DISCARD:
                self.accesses[extent] += 1
            yield self._at(self.place_of[extent], op, within, length)
            moves = self.moving is not None and self.moving[0] == extent and within < self.copied + COPY_BYTES
            if op == WRITE and self.moving is not None and moves:
                yield self._at(self.moving[1], op, within, length)
            position += length

    def _cool(self) -> None:
        for extent, count in self.accesses.items():
            self.heat[extent] = (self.heat[extent] * self.decay >> DECAY_BITS) + count * ACCESS
            self.accesses[extent] = 0

    def _begin_move(self) -> list[Part]:
        """Move the hottest of the second tier to the first, or make room for it there; else rest."""
        self.moving = None
        lies = {place: extent for extent, place in self.place_of.items()}
        fast = [lies[place] for place in self.places[: self.fast_places] if place in lies]
        slow = [lies[place] for place in self.places[self.fast_places :] if place in lies]
        free = [place for place in self.places if place not in lies]
        if not slow:
            return []
        hottest = max(slow, key=lambda extent: self.heat[extent])
        if self.heat[hottest] == 0:
            return []
        if fast and not any(place < self.fast_places for place in free):
            coldest = min(fast, key=lambda extent: self.heat[extent])
            if self.heat[coldest] + self.accesses[coldest] > 0:  # leaves first, if it is colder
                if self.heat[coldest] >= self.heat[hottest]:
                    return []
                return self._move(coldest, free[-1])
            was = self.place_of[coldest]
            self.place_of[coldest] = free[-1]
            free = [was]
        inside = [place for place in free if place < self.fast_places]
        return self._move(hottest, inside[-1]) if inside else []

    def _move(self, extent: int, place: int) -> list[Part]:
        self.moving, self.copied = (extent, place), 0
        return [Part(self.station, READ, 0, min(COPY_BYTES, self.size), background=1)]

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent != NONE or self.moving is None:
            return ()
        extent, place = self.moving
        if slot not in self.written:
            self.written.add(slot)
            return [self._at(place, WRITE, self.copied, asked.length)]
        self.written.remove(slot)
        self.copied += asked.length
        if self.copied < self.size:
            left = min(COPY_BYTES, self.size - self.copied)
            return [Part(self.station, READ, self.copied, left, background=1)]
        self.place_of[extent] = place
        return self._begin_move()
