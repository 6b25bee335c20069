"""A neighbour on the same devices: Poisson arrivals of reads and writes at random places (docs/arrays.md)."""

from collections.abc import Sequence

from tests.twins.server import exponential_ns
from tests.twins.stand_in import NONE, READ, WRITE, Part, Twin
from tiersim.devices.array.storage_pool import Neighbour as Load
from tiersim.random_numbers import NEIGHBOUR_GAP, NEIGHBOUR_OPERATION, NEIGHBOUR_PLACE, random_below, random_bits
from tiersim.units import NS_PER_S


class Neighbour(Twin):
    """Its arrivals wait here as requests of nobody; the first comes with the first request of ours."""

    def __init__(self, station: int, seed: int, load: Load, first_byte: int, room_bytes: int, below: int) -> None:
        self.station, self.seed, self.load, self.below = station, seed, load, below
        self.first_byte, self.places = first_byte, room_bytes // load.size_bytes
        self.per_s = load.reads_per_s + load.writes_per_s
        self.arrivals = 0

    def accept(self, now: int, slot: int) -> int:
        if self.asked(slot).parent != NONE:
            return now + 1
        self.arrivals += 1
        bits = random_bits(self.seed, NEIGHBOUR_GAP, self.station, self.arrivals)
        return now + max(exponential_ns(NS_PER_S / self.per_s, bits), 1)

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        arrival = Part(self.station, READ, 0, 0, background=1)
        if asked.parent != NONE:
            ours = Part(self.below, asked.op, asked.offset, asked.length)
            return [ours] if self.arrivals else [ours, arrival]
        draw = random_bits(self.seed, NEIGHBOUR_OPERATION, self.station, self.arrivals)
        op = READ if draw < round(self.load.reads_per_s / self.per_s * (1 << 32)) else WRITE
        place = random_below(self.places, self.seed, NEIGHBOUR_PLACE, self.station, self.arrivals)
        size = self.load.size_bytes
        return [Part(self.below, op, self.first_byte + place * size, size), arrival]
