"""A flash drive that plans each command when it takes it (docs/flash.md), without garbage collection."""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.twins.stand_in import CALL, DISCARD, FLUSH, NEVER, NONE, READ, Twin
from tiersim.devices.ssd.flash import Flash
from tiersim.units import NS_PER_S


@dataclass
class Channel:
    """What a channel has been promised to."""

    taken: list[tuple[int, int]] = field(default_factory=list)  # begin and end, in order
    later_free: int = 0  # of what lies so far ahead that reads do not see it

    def idle_from(self, at: int) -> int:
        """When it is idle first."""
        for begin, end in self.taken:
            if begin <= at:
                at = max(at, end)
        return at

    def transfer(self, now: int, at: int, length: int) -> int:
        """Take all time that is left from *at* on; return when that is enough."""
        self.taken = [one for one in self.taken if one[1] > now]
        left, pieces = length, []
        for begin, end in [*self.taken, (NEVER, NEVER)]:
            if left and at < begin:
                part = min(left, begin - at)
                pieces.append((at, at + part))
                left -= part
            if not left:
                break
            at = max(at, end)
        for piece in pieces:
            insort(self.taken, piece)
        return pieces[-1][1]


@dataclass
class Die:
    """*sensed* pages by plane; one sensing is joined by reads of other planes until it begins."""

    read_free: int = 0
    program_free: int = 0
    sensing_from: int = 0
    sensed_at: int = 0
    sensing: set[int] = field(default_factory=set)
    registers: dict[int, int] = field(default_factory=dict)


class Planned(Twin):
    """*die_of* a unit, and *sensing_ns* of a page of a die, are drawn."""

    def __init__(self, drive: Flash, die_of: Callable[[int], int], sensing_ns: Callable[[int, int], int]) -> None:
        self.drive, self.die_of, self.sensing_ns = drive, die_of, sensing_ns
        self.queue: deque[int] = deque()
        self.dies = [Die() for _ in range(drive.dies)]
        self.channels = [Channel() for _ in range(drive.channels)]
        self.in_service = self.controller = self.link = self.buffer_entry = self.last_program = self.programs = 0
        self.last_flush = -(drive.flush_interval or 0)
        self.buffer = deque([0] * (drive.buffer // drive.unit))  # when each unit of it is free
        self.gathered: list[tuple[int, bool]] = []  # when units came, and whether in part
        self.transfer_ns = drive.unit * NS_PER_S // drive.channel_rate

    def accept(self, now: int, slot: int) -> int:
        self.queue.append(slot)
        return CALL

    def choose(self, now: int) -> tuple[int, int, int]:
        if not self.queue or self.in_service == self.drive.queue_depth:
            return NONE, NEVER, NEVER
        self.in_service += 1
        slot = self.queue.popleft()
        asked = self.asked(slot)
        self.controller = max(self.controller, now) + max(NS_PER_S // self.drive.controller_iops, 1)
        at = self.controller
        if asked.op == FLUSH:
            done = self._flush(now, at)
        elif asked.op == DISCARD:
            done = at + self.drive.flush
        elif asked.op == READ:
            done = self._read(now, at, asked.offset, asked.end)
        else:
            done = self._write(now, at, asked.offset, asked.end)
        return slot, max(done, now + 1), NEVER

    def finish(self, slot: int, now: int) -> tuple[()]:
        self.in_service -= 1
        return ()

    def _over_link(self, at: int, length: int) -> int:
        self.link = max(self.link, at) + self._link_ns(length)
        return self.link

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
        self._over_link(at, end - begin)
        there = max(
            self._read_part(now, at, die, page, units)
            for die, page, units in self._parts(begin // self.drive.unit, -(-end // self.drive.unit))
        )
        return max(there + self._link_ns(end - begin), self.link) + self.drive.read_latency

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
            in_progress = max(die.program_free - start, 0) % self.drive.program
            start += in_progress if self.drive.suspend is None else min(in_progress, self.drive.suspend)
            start = channel.idle_from(start)
            die.sensing_from, die.sensing = start, planes
            die.sensed_at = start + self.sensing_ns(number, page)
        die.registers.update(dict.fromkeys(planes, page))
        transferred = channel.transfer(now, max(at, die.sensed_at), len(units) * self.transfer_ns)
        end = max(die.read_free, transferred)
        if die.program_free > start:
            die.program_free += end - start
            self.last_program = max(self.last_program, die.program_free)
        die.read_free = end
        return end

    def _write(self, now: int, at: int, begin: int, end: int) -> int:
        at = max(self._over_link(at, end - begin), self.buffer_entry)
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
            at = max(at, self.buffer.popleft())
        self.gathered.append((at, is_part))
        if len(self.gathered) * self.drive.unit < self.drive.program_size:
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
        ready = start + sum(is_part for _, is_part in self.gathered) * self.drive.read[0]
        if start <= now + self.drive.program:
            there = channel.transfer(now, ready, count * self.transfer_ns)
        else:
            channel.later_free = max(channel.later_free, now) + count * self.transfer_ns
            there = max(channel.later_free, ready + count * self.transfer_ns)
        end = there + self.drive.program
        die.registers.clear()
        die.program_free = end
        if self.drive.buffer:
            self.buffer.extend([end] * count)
        self.last_program = max(self.last_program, end)
        self.programs += 1
        self.gathered.clear()
        return end
