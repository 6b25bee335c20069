"""A flash volume that caches another (docs/tiers.md)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.twins.stand_in import DISCARD, FLUSH, NONE, READ, WRITE, Part, Twin
from tiersim.devices.tiering.flash_cache import Caching

#: bcache's in_flight, dm-cache's migration_threshold, and bcache's streams.
COPIES, WRITE_BACK_BYTES, STREAMS = 64, 1 << 20, 128
CLEAN, DIRTY, CLEANING, REDIRTIED, FILLING, STALE = "clean", "dirty", "cleaning", "redirtied", "filling", "stale"
#: Copies by what a request of nobody seems to ask for: a block for the cache, one that is written back, one that a
#: request has read.
FILL, WRITE_BACK, INSERT = READ, WRITE, DISCARD


@dataclass
class Block:
    """A block in its place of the flash volume."""

    place: int
    state: str


@dataclass
class Went:
    """How far a request has come: the range that its parts are of, and whether it may bring blocks in."""

    low: int
    high: int
    is_admitted: bool


def joined(parts: Iterable[Part]) -> list[Part]:
    """Join parts that follow each other."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        same = last and (last.station, last.op, last.background) == (part.station, part.op, part.background)
        if last and same and last.offset_bytes + last.length_bytes == part.offset_bytes:
            length = last.length_bytes + part.length_bytes
            found[-1] = Part(last.station, last.op, last.offset_bytes, length, last.background)
        else:
            found.append(part)
    return found


class FlashCache(Twin):
    """*blocks* are kept in the order of their last use."""

    def __init__(self, station: int, caching: Caching, flash: int, places: int, backing: int) -> None:
        self.station, self.caching, self.size = station, caching, caching.block_bytes
        self.flash, self.places, self.backing = flash, places, backing
        self.blocks: dict[int, Block] = {}
        self.given_up: list[int] = []  # places of blocks that were dropped
        self.used = self.copies = 0
        self.dirty_limit = places * 10 // 100
        self.streams: list[list[int]] = [[-1, 0] for _ in range(STREAMS)]  # end, length
        self.next_stream = 0
        self.went: dict[int, Went] = {}
        self.written: set[int] = set()  # copies that are being written

    def accept(self, now: int, slot: int) -> int:
        return now + 1

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent == NONE:
            if asked.op == FILL:
                return [Part(self.backing, READ, asked.offset, asked.length)]
            return self._on_flash(READ if asked.op == WRITE_BACK else WRITE, asked.offset, asked.length)
        if asked.op == FLUSH:
            return [Part(self.flash, FLUSH, 0, 0), Part(self.backing, FLUSH, 0, 0)]
        if asked.op == DISCARD:
            return [Part(self.backing, DISCARD, asked.offset, asked.length)]
        went = Went(asked.offset, asked.end, self._is_admitted(asked.offset, asked.end))
        self.went[slot] = went
        if asked.op == WRITE and self.caching.mode == "read":
            parts = [Part(self.backing, WRITE, asked.offset, asked.length)]
            parts += joined(self._through(asked.offset, asked.end))
        else:
            parts = joined(self._part(asked.op, *piece, went) for piece in self._pieces(asked.offset, asked.end))
        return [*parts, *self._write_back()]

    def _is_admitted(self, begin: int, end: int) -> bool:
        """Go on with a stream, or begin one in place of that which began longest ago."""
        cutoff = self.caching.sequential_cutoff_bytes
        if cutoff == 0:
            return True
        stream = next((one for one in self.streams if one[0] == begin), None)
        if stream is None:
            stream = self.streams[self.next_stream]
            stream[1] = 0
            self.next_stream = (self.next_stream + 1) % STREAMS
        stream[0] = end
        stream[1] += end - begin
        return stream[1] < cutoff

    def _pieces(self, begin: int, end: int) -> Iterable[tuple[int, int, int]]:
        """Block, first byte and length of what a range has of each block."""
        for block in range(begin // self.size, -(-end // self.size)):
            low = max(begin, block * self.size)
            yield block, low, min(end, (block + 1) * self.size) - low

    def _flash_part(self, op: int, block: int, low: int, length: int) -> Part:
        return Part(self.flash, op, self.blocks[block].place * self.size + low - block * self.size, length)

    def _use(self, block: int, state: str) -> None:
        """Let a block be of that state, and the one used last."""
        one = self.blocks.pop(block)
        one.state = state
        self.blocks[block] = one

    def _through(self, begin: int, end: int) -> Iterable[Part]:
        """What is written to flash besides; what is being copied there becomes stale."""
        for block, low, length in self._pieces(begin, end):
            if block in self.blocks:
                if self.blocks[block].state == CLEAN:
                    self._use(block, CLEAN)
                    yield self._flash_part(WRITE, block, low, length)
                else:
                    self.blocks[block].state = STALE

    def _part(self, op: int, block: int, low: int, length: int, went: Went) -> Part:
        if op == READ:
            hit = block in self.blocks and self.blocks[block].state not in (FILLING, STALE)
            if hit and self.blocks[block].state in (CLEAN, DIRTY):
                self._use(block, self.blocks[block].state)
        else:
            hit = self._takes_write(block, went.is_admitted and length == self.size)
        return self._flash_part(op, block, low, length) if hit else Part(self.backing, op, low, length)

    def _takes_write(self, block: int, may_enter: bool) -> bool:
        """Tell whether a write ends on flash: of a block that is there, or that is overwritten whole."""
        if block not in self.blocks:
            return may_enter and self._enter(block, DIRTY)
        state = self.blocks[block].state
        after = {CLEAN: DIRTY, CLEANING: REDIRTIED, FILLING: STALE}.get(state, state)
        self._use(block, after)
        return after not in (FILLING, STALE)

    def _enter(self, block: int, state: str) -> bool:
        """Give a block a place: an unused one, one that was given up, or that of the clean block used longest ago."""
        if self.used < self.places:
            place = self.used
            self.used += 1
        elif self.given_up:
            place = self.given_up.pop()
        else:
            oldest = next((one for one, held in self.blocks.items() if held.state == CLEAN), None)
            if oldest is None:
                return False
            place = self.blocks.pop(oldest).place
        self.blocks[block] = Block(place, state)
        return True

    def _write_back(self) -> list[Part]:
        """Begin to write back what was used longest ago, with the dirty blocks behind it, while too many are dirty."""
        parts = []
        while self._dirty() > self.dirty_limit and self.copies < COPIES:
            first = end = next(block for block, held in self.blocks.items() if held.state == DIRTY)
            while end in self.blocks and self.blocks[end].state == DIRTY:
                self.blocks[end].state = CLEANING
                end += 1
                if (end - first + 1) * self.size > WRITE_BACK_BYTES or end - first == 256:
                    break
            self.copies += 1
            parts.append(Part(self.station, WRITE_BACK, first * self.size, (end - first) * self.size, background=1))
        return parts

    def _dirty(self) -> int:
        return sum(held.state == DIRTY for held in self.blocks.values())

    def _on_flash(self, op: int, offset: int, length: int) -> list[Part]:
        """Read or write the blocks of a copy on flash, those that are still there."""
        there = [
            piece
            for piece in self._pieces(offset, offset + length)
            if piece[0] in self.blocks and self.blocks[piece[0]].state != STALE
        ]
        return joined(self._flash_part(op, *piece) for piece in there)

    def resume(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.parent == NONE:
            return self._go_on_copying(slot)
        went = self.went.pop(slot, None)
        if went is None:
            return ()
        parts: list[Part] = []
        if went.is_admitted and (asked.op == READ or self.caching.mode == "write-back"):
            parts = self._bring_in(asked.op, asked.offset, asked.end)
        return [*parts, *self._write_back()]

    def _bring_in(self, op: int, begin: int, end: int) -> list[Part]:
        """Put the blocks into the cache that a request has missed; those that it has in part are read first."""
        copies: list[Part] = []
        for block, _, length in self._pieces(begin, end):
            whole = length == self.size
            if block in self.blocks:
                continue
            if whole and op == READ and self._enter(block, CLEAN):
                copies.append(Part(self.station, INSERT, block * self.size, self.size, background=1))
            elif not whole and self.copies < COPIES and self._enter(block, FILLING):
                self.copies += 1
                copies.append(Part(self.station, FILL, block * self.size, self.size, background=1))
        return joined(copies)

    def _go_on_copying(self, slot: int) -> Sequence[Part]:
        asked = self.asked(slot)
        if asked.op == INSERT:
            return ()
        if slot not in self.written:
            self.written.add(slot)
            if asked.op == WRITE_BACK:
                return [Part(self.backing, WRITE, asked.offset, asked.length)]
            if parts := self._on_flash(WRITE, asked.offset, asked.length):
                return parts
        self.written.remove(slot)
        for block, _, _ in self._pieces(asked.offset, asked.end):
            state = self.blocks[block].state
            if state == STALE:
                self.given_up.append(self.blocks.pop(block).place)
            else:
                self._use(block, DIRTY if state == REDIRTIED else CLEAN)
        self.copies -= 1
        return self._write_back()
