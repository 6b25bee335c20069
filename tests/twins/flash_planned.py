"""A flash drive that plans each command when it takes it (docs/flash.md), without garbage collection."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.twins.stand_in import CALL, DISCARD, FLUSH, NEVER, NONE, READ, WRITE, Twin
from tiersim.devices.ssd.flash import Flash
from tiersim.units import NS_PER_S


@dataclass
class Channel:
    """What a channel has been promised to."""

    taken: list[tuple[int, int]] = field(default_factory=list)  # begin and end, in order
    passed: int = 0  # when all will have passed that lies so far ahead that reads do not see it
    later: int = 0  # how much that was, ever

    def idle_from(self, at: int) -> int:
        """When it is idle first."""
        for begin, end in self.taken:
            if begin <= at:
                at = max(at, end)
        return at

    def transfer_later(self, now: int, length: int) -> int:
        """Take some time that reads need not leave; return when that is over."""
        self.later += length
        self.passed = self.pieces(max(self.passed, now), length)[-1][1]
        return self.passed

    def transfer(self, now: int, at: int, length: int) -> int:
        """Take all time that is left from *at* on; return when that is enough."""
        self.taken = [one for one in self.taken if one[1] > now]
        pieces = self.pieces(at, length)
        for piece in pieces:
            insort(self.taken, piece)
        return pieces[-1][1]

    def left(self, begin: int, end: int) -> int:
        """Return how long it is idle between two times."""
        return sum(max(min(to, end) - at, 0) for at, to in self.pieces(begin, max(end - begin, 0)))

    def pieces(self, at: int, length: int) -> list[tuple[int, int]]:
        """Return the first so much that is left from *at* on, begin and end of each piece."""
        found = []
        for begin, end in [*self.taken, (NEVER, NEVER)]:
            if length and at < begin:
                part = min(length, begin - at)
                found.append((at, at + part))
                length -= part
            at = max(at, end)
        return found


@dataclass
class Die:
    """*sensed* pages by plane; one sensing is joined by reads of other planes until it begins."""

    read_free: int = 0
    program_free: int = 0
    program_took: int = 0
    channel_free: int = 0  # when its channel has done what reads need not leave
    programmed_after: int = 0  # how long after that its last program ends, which may be before copies have passed
    free_after: int = 0  # and it is free
    owed: int = 0  # units to be moved out of the cache of one bit a cell, in 1/65536: their blocks' erases below
    erases: int = 0
    sensing_from: int = 0
    sensed_at: int = 0
    sensing: set[int] = field(default_factory=set)
    registers: dict[int, int] = field(default_factory=dict)


class Planned(Twin):
    """*die_of* a unit, and *sensing_ns* of a page of a die, are drawn."""

    def __init__(self, drive: Flash, die_of: Callable[[int], int], sensing_ns: Callable[[int, int], int]) -> None:
        self.drive, self.die_of, self.sensing_ns = drive, die_of, sensing_ns
        self.is_sata = (drive.interface or "").startswith("SATA")
        self.queue: deque[int] = deque()
        self.dies = [
            Die(program_took=drive.program, owed=die * 2**16 // drive.dies, erases=die * 2**32 // drive.dies)
            for die in range(drive.dies)
        ]
        self.channels = [Channel() for _ in range(drive.channels)]
        self.in_service = self.controller = self.buffer_entry = self.last_program = self.programs = 0
        self.link = {READ: 0, WRITE: 0}  # until when it is busy, by direction
        self.flushing = False
        self.last_flush = -(drive.flush_interval or 0)
        # when each unit of it is free; its die and how much of the channel was promised later up to it, or None
        self.buffer: deque[tuple[int, tuple[int, int] | None]] = deque([(0, None)] * (drive.buffer // drive.unit))
        self.gathered: list[tuple[int, bool]] = []  # when units came, and whether in part
        self.transfer_ns = drive.unit * NS_PER_S // drive.channel_rate
        self.stream_end, self.ahead = -1, dict[int, int]()  # when each unit is there that was read ahead
        dynamic = drive.slc_dynamic if drive.state == "fresh" else 0
        self.cache = ((drive.slc_static or 0) + (dynamic or 0)) // drive.unit
        self.room = self.cache - (drive.slc_used or 0) // drive.unit
        self.worked = 0
        self._choose_cells()

    def accept(self, now: int, slot: int) -> int:
        self.queue.append(slot)
        return CALL

    def choose(self, now: int) -> tuple[int, int, int]:
        if not self.queue or self.in_service == self.drive.queue_depth:
            return NONE, NEVER, NEVER
        asked = self.asked(self.queue[0])
        if self.is_sata and self.in_service and (asked.op == FLUSH or self.flushing):
            return NONE, NEVER, NEVER
        self.flushing = asked.op == FLUSH
        if not self.in_service:
            self._move_out(now)
        self.in_service += 1
        slot = self.queue.popleft()
        self.controller = max(self.controller, now) + max(NS_PER_S // self.drive.controller_iops, 1)
        at = self.controller
        if asked.op == FLUSH:
            done = self._flush(now, at)
        elif asked.op == DISCARD:
            self._forget_ahead(asked.offset)
            done = at + self.drive.flush
        elif asked.op == READ:
            done = self._read(now, at, asked.offset, asked.end)
        else:
            done = self._write(now, at, asked.offset, asked.end)
        self.worked = max(self.worked, done)
        return slot, max(done, now + 1), NEVER

    def finish(self, slot: int, now: int) -> tuple[()]:
        self.in_service -= 1
        return ()

    def _over_link(self, at: int, length: int, op: int) -> int:
        """Return when data have passed the link: SATA's carries those of reads or those of writes, others both."""
        until = max(max(self.link.values()) if self.is_sata else self.link[op], at) + self._link_ns(length)
        self.link[op] = until
        return until

    def _link_ns(self, length: int) -> int:
        return length * (10**12 // self.drive.link_rate) // 1000

    def _flush(self, now: int, at: int) -> int:
        if not self.drive.power_loss_protection:
            if self.gathered:  # what does not fill a program is not programmed before somebody asks for it
                self._program(now, self.programs % self.drive.dies, at)
            at = max(at, self.last_program)
        self.last_flush = max(at + self.drive.flush, self.last_flush + (self.drive.flush_interval or 0))
        return self.last_flush

    def _read(self, now: int, at: int, begin: int, end: int) -> int:
        passed = self._over_link(at, end - begin, READ)
        there = self._read_units(now, at, begin // self.drive.unit, -(-end // self.drive.unit))
        return max(there + self._link_ns(end - begin), passed) + self.drive.read_latency

    def _read_units(self, now: int, at: int, first: int, end: int) -> int:
        goes_on, self.stream_end = first == self.stream_end, end
        if not goes_on or not self.drive.read_ahead:
            self.ahead.clear()
            return self._from_dies(now, at, range(first, end))
        there = [self.ahead.pop(unit) for unit in range(first, end) if unit in self.ahead]
        left = max([at, *there]) + self._link_ns(len(there) * self.drive.unit)
        there.append(self._from_dies(now, at, range(first + len(there), end)))
        limit = min(end + self.drive.read_ahead // self.drive.unit, -(-self.drive.capacity // self.drive.unit))
        alone = self.in_service == 1 and not self.queue
        more = range(end + len(self.ahead), limit) if alone else range(0)
        came = self._from_dies(now, left, more)
        self.ahead.update(dict.fromkeys(more, came))
        return max(there)

    def _from_dies(self, now: int, at: int, units: range) -> int:
        parts = self._parts(units.start, units.stop) if units else ()
        return max((self._read_part(now, at, die, page, some) for die, page, some in parts), default=at)

    def _forget_ahead(self, begin: int) -> None:
        for unit in [unit for unit in self.ahead if unit >= begin // self.drive.unit]:
            del self.ahead[unit]

    def _parts(self, first: int, end: int) -> Iterable[tuple[int, int, list[int]]]:
        """Die, page, and the units within the page, by what is sensed together."""
        spread, page_units = self.drive.spread, self.drive.page // self.drive.unit
        parts: dict[tuple[int, int], tuple[int, list[int]]] = {}
        for unit in range(first, end):
            page, within = divmod(unit, page_units * spread)
            _, units = parts.setdefault((page, within % spread), (self.die_of(unit), []))
            units.append(within // spread)
        for (page, _), (die, units) in parts.items():
            yield die, page, units

    def _read_part(self, now: int, at: int, number: int, page: int, units: list[int]) -> int:
        die, channel = self.dies[number], self.channels[number % self.drive.channels]
        plane_units = self.drive.page // self.drive.unit // self.drive.planes
        planes = {unit // plane_units for unit in units}
        start = die.read_free
        if all(die.registers.get(plane) == page for plane in planes):
            start = max(start, at)
        elif die.sensing_from > at and not die.sensing & planes:
            die.sensing |= planes
        else:
            start = max(start, at)
            in_progress = max(die.program_free - start, 0) % die.program_took
            start += in_progress if self.drive.suspend is None else min(in_progress, self.drive.suspend)
            start = channel.idle_from(start)
            die.sensing_from, die.sensing = start, planes
            die.sensed_at = start + self.sensing_ns(number, page)
        die.registers.update(dict.fromkeys(planes, page))
        programmed = die.program_free
        end = max(die.read_free, self._transfer(now, max(at, die.sensed_at), number, len(units)))
        if programmed > start:
            die.program_free = max(die.program_free, programmed + end - start)
            self.last_program = max(self.last_program, die.program_free)
        die.read_free = end
        return end

    def _transfer(self, now: int, at: int, number: int, units: int) -> int:
        """Take units over the channel of a die, before what is to pass it later; return when that is over."""
        channel, length = self.channels[number % self.drive.channels], units * self.transfer_ns
        done = channel.transfer(now, at, length)
        for other in self.dies[number % self.drive.channels :: self.drive.channels]:
            if other.channel_free > at:
                other.channel_free = channel.pieces(other.channel_free, length)[-1][1]
                other.program_free = max(other.program_free, other.channel_free + other.free_after)
                self.last_program = max(self.last_program, other.channel_free + other.programmed_after)
                channel.passed = max(channel.passed, other.channel_free)
        return done

    def _write(self, now: int, at: int, begin: int, end: int) -> int:
        self._forget_ahead(begin)
        at = max(self._over_link(at, end - begin, WRITE), self.buffer_entry)
        if not self.drive.power_loss_protection:
            at = max(at, self.last_flush)  # what is being flushed takes nothing in
        if self.drive.buffer_rate:
            at += (end - begin) * (10**12 // self.drive.buffer_rate) // 1000
            self.buffer_entry = at
        size, done = self.drive.unit, at
        for unit in range(begin // size, -(-end // size)):
            is_part = unit * size < begin or (unit + 1) * size > end
            done = max(done, self._write_unit(now, at, unit, is_part))
        if not self.drive.buffer and self.gathered:
            done = max(done, self._program(now, self.programs % self.drive.dies))
        return done + self.drive.write_latency

    def _write_unit(self, now: int, at: int, unit: int, is_part: bool) -> int:
        if self.drive.buffer:
            free, overtaken = self.buffer.popleft()
            if overtaken:
                free = max(free, self._programmed(now, *overtaken))
            at = max(at, free)
        self.gathered.append((at, is_part))
        if len(self.gathered) * self.drive.unit < self.size:
            return at
        die = self.die_of(unit) if self.drive.allocation == "static" else self.programs % self.drive.dies
        done = self._program(now, die)
        return at if self.drive.buffer else done

    def _program(self, now: int, number: int, asked: int = 0) -> int:
        """Write what is gathered, when that is *asked* for; return when that has ended. Units written in part are read
        first.
        """
        die, channel, count = self.dies[number], self.channels[number % self.drive.channels], len(self.gathered)
        came = max(at for at, _ in self.gathered)
        start = max(came, asked, die.program_free, die.read_free)
        ready = start + sum(is_part for _, is_part in self.gathered) * round(self.drive.read_mean_ns)
        soon = start <= now + self.took
        spare, overtaken = 0, None
        if soon:
            there = self._transfer(now, ready, number, count)
        else:
            passed = channel.transfer_later(now, count * self.transfer_ns)
            there = max(passed, ready + count * self.transfer_ns)
            spare, overtaken = there - passed, (number, channel.later)
        end = there + self.took
        die.registers.clear()
        die.program_took = self.took
        die.program_free = self._fold(now, number, count, end, is_soon=soon)
        if not soon:
            die.channel_free = channel.passed
            die.programmed_after = end - spare - channel.passed
            die.free_after = max(die.program_free - spare - channel.passed, 0)
        if self.drive.buffer:
            self.buffer.extend([(end, overtaken)] * count)
        self.last_program = max(self.last_program, end)
        self.programs += 1
        self.gathered.clear()
        self._choose_cells()
        return end

    def _programmed(self, now: int, number: int, promised: int) -> int:
        """Return when a program ends, if what its channel was promised later up to it has what is left now."""
        channel = self.channels[number % self.drive.channels]
        left = channel.left(now, channel.passed) - (channel.later - promised)
        return channel.pieces(now, left)[-1][1] + self.dies[number].program_took if left > 0 else now

    def _choose_cells(self) -> None:
        size = self.drive.slc_program_size or 0
        self.cached = self.cache > 0 and (self.drive.slc_full == "fold" or self.room * self.drive.unit >= size)
        self.size = size if self.cached else self.drive.program_size
        self.took = (self.drive.slc_program or 0) if self.cached else self.drive.program

    def _fold(self, now: int, number: int, count: int, at: int, *, is_soon: bool) -> int:
        """Take room for a program that ends at a time; return when the die has moved units out for which there is none.

        They leave over the channel and come back, page by page, where that is soon.
        """
        if not self.cached:
            return at
        die, channel = self.dies[number], self.channels[number % self.drive.channels]
        moved = max(count - self.room, 0)
        self.room = max(self.room - count, 0)
        die.owed += moved << 16
        cells = self.drive.program_size / (self.drive.slc_program_size or 1)
        die.erases += moved * round(self.drive.unit / self.drive.block * cells * 2**32)
        whole, die.owed = divmod(die.owed, 2**16)
        blocks, die.erases = divmod(die.erases, 2**32)
        page = self.drive.page // self.drive.unit
        done = at + whole * self.drive.copy_ns + blocks * self.drive.erase
        if whole:
            over_ns = 2 * whole * self.transfer_ns
            done = max(done, channel.pieces(at, over_ns)[-1][1] if is_soon else channel.transfer_later(now, over_ns))
        for first in range(0, whole, page) if is_soon else ():
            last = min(first + page, whole)
            for moved in (first, last):
                self._transfer(now, at + moved * self.drive.copy_ns, number, last - first)
        return done

    def _move_out(self, now: int) -> None:
        """Account what an idle drive moved out of the cache before a command came."""
        idle = now - max(self.worked, self.last_program) - (self.drive.slc_idle or 0)
        if self.room == self.cache or idle <= 0:
            return
        over_channels = 2 * self.drive.unit * NS_PER_S / self.drive.channel_rate / self.drive.channels
        unit_ps = max(1, round(max(self.drive.copy_ns / self.drive.dies, over_channels) * 1000))
        if idle > (self.cache - self.room) * unit_ps // 1000:
            self.room = self.cache
        else:
            self.room += idle * 1000 // unit_ps
            for number, die in enumerate(self.dies):
                begun = (idle + number * self.drive.program // self.drive.dies) % self.drive.program
                die.program_free = max(die.program_free, now + self.drive.program - begun)
                die.program_took = self.drive.program
                die.registers.clear()
        if not self.gathered:
            self._choose_cells()
