"""A controller's write-back cache (docs/controllers.md)."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.twins.stand_in import CALL, FLUSH, NEVER, NONE, READ, WRITE, Part, Twin

LINE, SECTOR, LONGEST = 4096, 512, 1 << 20


@dataclass
class Behind:
    """A volume that the cache lies before: what is dirty of it, and what is under way to it."""

    below: int
    depth: int  # writes to members that may be under way
    unit: int = LONGEST  # bytes
    columns: int = 1
    parities: int = 0
    copies: int = 1
    dirty: dict[int, set[int]] = field(default_factory=dict)  # sectors by line
    since: dict[int, int] = field(default_factory=dict)  # of lines of which nothing is under way, the oldest first
    leaving: dict[int, set[int]] = field(default_factory=dict)  # sectors under way, by line
    in_flight: int = 0

    def lines(self, begin: int, end: int) -> dict[int, set[int]]:
        """Return the sectors of each line that a range of bytes touches."""
        found: dict[int, set[int]] = {}
        for sector in range(begin // SECTOR, -(-end // SECTOR)):
            found.setdefault(sector * SECTOR // LINE, set()).add(sector)
        return found

    def write(self, begin: int, end: int, room: int, now: int) -> int:
        """Make a range dirty, up to where *room* for so many more lines lasts; return that place."""
        for line, sectors in self.lines(begin, end).items():
            if line not in self.dirty and line not in self.leaving:
                if not room:
                    return max(begin, line * LINE)
                room -= 1
                self.since[line] = now
            self.dirty.setdefault(line, set()).update(sectors)
        return end

    def has(self, begin: int, end: int) -> bool:
        """Tell whether all of a range is here."""
        nothing: set[int] = set()
        return all(
            sectors <= self.dirty.get(line, nothing) | self.leaving.get(line, nothing)
            for line, sectors in self.lines(begin, end).items()
        )

    def oldest(self) -> int:
        """Return since when the line is dirty that is dirty longest."""
        return next(iter(self.since.values()))

    def next_run(self) -> tuple[int, int]:
        """Return the bytes that go with the line that is dirty longest: what is dirty next to it, within its rows.

        Whole rows go together; else what is dirty within the row.
        """
        row = self.unit * self.columns
        group = max(1, LONGEST // self.unit) * row
        sector = min(self.dirty[next(iter(self.since))]) * SECTOR
        begin, end = self._run(sector, sector // group * group, sector // group * group + group)
        if self.parities:
            first, last = -(-begin // row) * row, end // row * row
            if first <= sector < last:
                return first, last
            return max(begin, sector // row * row), min(end, sector // row * row + row)
        return begin, end

    def _run(self, inside: int, low: int, high: int) -> tuple[int, int]:
        begin = end = inside
        while begin > low and self._is_dirty(begin - SECTOR):
            begin -= SECTOR
        while end < high and self._is_dirty(end):
            end += SECTOR
        return begin, end

    def _is_dirty(self, place: int) -> bool:
        """Tell whether a sector can go; of a line nothing more goes while a part of it is under way."""
        line = place // LINE
        return line not in self.leaving and place // SECTOR in self.dirty.get(line, ())

    def take(self, begin: int, end: int) -> None:
        """Send a range off: its lines stay until it is written."""
        for line, sectors in self.lines(begin, end).items():
            self.leaving[line] = sectors
            self.dirty[line] -= sectors
            del self.since[line]
            if not self.dirty[line]:
                del self.dirty[line]

    def written(self, begin: int, end: int, now: int) -> None:
        """Free the lines of a range; those that have more to write are the youngest."""
        for line in self.lines(begin, end):
            del self.leaving[line]
            if line in self.dirty:
                self.since[line] = now

    def members(self, begin: int, end: int) -> int:
        """Return how many writes to members a range is."""
        if self.parities and begin % (self.unit * self.columns) == 0 == end % (self.unit * self.columns):
            return self.columns + self.parities
        units = range(begin // self.unit, -(-end // self.unit))
        return len({unit % self.columns for unit in units}) * self.copies + self.parities


def used(volumes: Mapping[int, Behind]) -> int:
    """Return how many lines are taken."""
    return sum(len({*one.dirty} | {*one.leaving}) for one in volumes.values())


class WriteCache(Twin):
    """*volumes* by the route that their requests come by.

    What destages waits here as a request of nobody; when one goes it makes the next.
    """

    def __init__(
        self,
        station: int,
        lines: int,
        marks: tuple[float, float],
        flush_interval_ns: int,
        volumes: Mapping[int, Behind],
    ) -> None:
        self.station, self.lines, self.flush_interval_ns, self.volumes = station, lines, flush_interval_ns, volumes
        self.high, self.low = (int(lines * mark) for mark in marks)
        self.waiting: deque[tuple[int, int]] = deque()  # writes, and from where they have no room
        self.destager = NONE
        self.draining = self.started = False
        self.runs: dict[int, tuple[Behind, int, int]] = {}  # of destages: volume, begin and end
        self.below: set[int] = set()

    def accept(self, now: int, slot: int) -> int:
        asked = self.asked(slot)
        if asked.parent == NONE:
            self.destager = slot
            return CALL
        large = asked.op == WRITE and asked.length > self.lines * LINE / 2
        missed = asked.op == READ and not self._volume(slot).has(asked.offset, asked.end)
        if large or missed or asked.op not in (READ, WRITE, FLUSH):
            self.below.add(slot)
        elif asked.op == WRITE:
            if self.waiting:
                self.waiting.append((slot, asked.offset))
                return now
            reached = self._write(slot, asked.offset, now)
            if reached < asked.end:
                self.waiting.append((slot, reached))
                return CALL
        return now + 1

    def _volume(self, slot: int) -> Behind:
        return self.volumes[int(self.engine.plant.requests[self.asked(slot).parent]["station"])]

    def _write(self, slot: int, begin: int, now: int) -> int:
        return self._volume(slot).write(begin, self.asked(slot).end, self.lines - used(self.volumes), now)

    def choose(self, now: int) -> tuple[int, int, int]:
        if self.waiting:
            slot, begin = self.waiting[0]
            reached = self._write(slot, begin, now)
            if reached == self.asked(slot).end:
                self.waiting.popleft()
                return slot, now + 1, NEVER
            self.waiting[0] = slot, reached
        if self.destager == NONE:
            return NONE, NEVER, NEVER
        if used(self.volumes) > self.high:
            self.draining = True
        elif used(self.volumes) <= self.low:
            self.draining = False
        can = [volume for volume in self.volumes.values() if volume.since and volume.in_flight < volume.depth]
        due = {id(one): 0 if self.draining else one.oldest() + self.flush_interval_ns for one in can}
        ready = [one for one in can if due[id(one)] <= now]
        if not ready:
            return NONE, NEVER, min(due.values(), default=NEVER)
        volume = min(ready, key=lambda one: one.oldest())
        begin, end = volume.next_run()
        volume.take(begin, end)
        volume.in_flight += volume.members(begin, end)
        slot, self.destager = self.destager, NONE
        self.runs[slot] = volume, begin, end
        return slot, now + 1, NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        next_one = Part(self.station, WRITE, 0, 0, background=1)
        if slot in self.runs:
            volume, begin, end = self.runs[slot]
            return [Part(volume.below, WRITE, begin, end - begin), next_one]
        if slot in self.below:
            self.below.remove(slot)
            return [Part(self._volume(slot).below, asked.op, asked.offset, asked.length)]
        if asked.op == WRITE and not self.started:
            self.started = True
            return [next_one]
        return ()

    def resume(self, slot: int, now: int) -> tuple[()]:
        if slot in self.runs:
            volume, begin, end = self.runs.pop(slot)
            volume.written(begin, end, now)
            volume.in_flight -= volume.members(begin, end)
        return ()
