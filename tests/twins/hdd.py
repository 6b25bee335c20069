"""A disk drive without a buffer: where sectors are, how the arm comes there, which command is next (docs/disks.md)."""

from collections.abc import Callable
from dataclasses import dataclass
from math import erfc, sqrt

from tests.twins.stand_in import CALL, DISCARD, FLUSH, NEVER, NONE, WRITE, Twin
from tiersim.devices.hdd.disk_drive import Drive
from tiersim.random_numbers import MOVE_END, random_bits

SECTOR = 512


def seek_ns(curve: list[int], distance: int) -> int:
    """Return the time of a seek: exact below 1,024 cylinders, on straight lines between every 64th beyond."""
    if distance < 1024:
        return curve[distance]
    low, rest = distance // 64 * 64, distance % 64
    left, right = (curve[min(place, len(curve) - 1)] for place in (low, low + 64))
    return left + (right - left) * rest // 64


class Scatter:
    """Moves of the arm and the heads end sooner or later than on average: normally distributed, in steps of a 16th of
    the standard deviation, cut off at 4; chances in 2^-20.
    """

    def __init__(self, drive: Drive, seed: int, row: int = 0) -> None:
        self.deviation_ns, self.turn_ns = drive.seek_scatter, drive.revolution_ps // 1000
        self.seed, self.row, self.moves = seed, row, 0

    def _late(self, spare_ns: int) -> int:
        assert self.deviation_ns is not None
        step = spare_ns * 16 // self.deviation_ns
        return round(erfc((step + 0.5) / 16 / sqrt(2)) / 2 * 2**20) if step < 64 else 0

    def _chance(self, move_ns: int, wait_ns: int) -> int:
        if self.deviation_ns is None or move_ns == 0:
            return 0
        spare_ns = self.turn_ns - wait_ns  # a move does not end before it begins
        return self._late(wait_ns) or (-self._late(spare_ns) if spare_ns < move_ns else 0)

    def mean_ns(self, move_ns: int, wait_ns: int) -> int:
        """Return what a move costs on average that leaves so long a wait."""
        return self.turn_ns * self._chance(move_ns, wait_ns) // 2**20

    def drawn_ns(self, move_ns: int, wait_ns: int) -> int:
        """Return a turn that is lost, or one that is won, or nothing."""
        if self.deviation_ns is None or move_ns == 0:
            return 0
        chance = self._chance(move_ns, wait_ns)
        self.moves += 1
        if random_bits(self.seed, MOVE_END, self.row, self.moves) // 2**12 >= abs(chance):
            return 0
        return self.turn_ns if chance > 0 else -self.turn_ns


@dataclass(frozen=True)
class Place:
    """Where a sector is."""

    track: int
    angle_ps: int
    sector_ps: int
    left_on_track: int  # sectors from here on, within its track and its run of sectors


class Platters:
    """The geometry of a drive."""

    def __init__(self, drive: Drive, phase_ps: int) -> None:
        geometry = drive.geometry()
        self.revolution_ps, self.surfaces, self.phase_ps = geometry.revolution_ps, geometry.surfaces, phase_ps
        self.zones, self.seeks = geometry.zones, geometry.seek_ns.tolist()
        self.head_switch, self.write_settle = drive.track_switch, drive.write_settle

    def place(self, sector: int) -> Place:
        before = 0
        runs = [(zone, *run) for zone in self.zones for run in zone.runs]
        for zone, physical, count in runs:  # noqa: B007
            if sector < before + count:
                break
            before += count
        sector_ps = self.revolution_ps // zone.sectors_per_track
        tracks, place = divmod(physical + sector - before, zone.sectors_per_track)
        cylinder, head = divmod(tracks, self.surfaces)
        a_cylinder = (self.surfaces - 1) * zone.track_skew_ps + zone.cylinder_skew_ps
        angle = zone.first_angle_ps + head * zone.track_skew_ps + cylinder * a_cylinder + place * sector_ps
        track = (zone.first_cylinder + cylinder) * self.surfaces + head
        left = min(zone.sectors_per_track - place, before + count - sector)
        return Place(track, angle % self.revolution_ps, sector_ps, left)

    def move_ns(self, here: int, there: int, write: bool) -> int:
        """Return the time of a seek or head switch, with the settling of a write."""
        if here == there:
            return 0
        distance = abs(there // self.surfaces - here // self.surfaces)
        move = seek_ns(self.seeks, distance)
        if here % self.surfaces != there % self.surfaces:
            move = max(move, self.head_switch)
        return max(move + self.write_settle, 0) if write else move

    def turn_ps(self, at_ns: int, angle_ps: int) -> int:
        """Return how long the platter turns until an angle is below the heads."""
        return (angle_ps - at_ns * 1000 - self.phase_ps) % self.revolution_ps

    def transfer(self, first: int, sectors: int) -> tuple[int, int]:
        """Return the picoseconds from the first sector's begin to the last one's end, and the last track."""
        passed, reached = 0, NONE
        while sectors:
            place = self.place(first)
            if reached != NONE:
                passed += (place.angle_ps - reached) % self.revolution_ps
            taken = min(sectors, place.left_on_track)
            passed += taken * place.sector_ps
            reached = place.angle_ps + taken * place.sector_ps
            first, sectors = first + taken, sectors - taken
        return passed, place.track


class Disk(Twin):
    """One arm; of the commands that the drive knows the one that is positioned soonest is next."""

    def __init__(self, drive: Drive, phase_ps: int, seed: int = 0) -> None:
        self.drive, self.platters, self.scatter = drive, Platters(drive, phase_ps), Scatter(drive, seed)
        self.queue: list[int] = []
        self.track, self.busy = 0, False
        self.accepted: dict[int, int] = {}

    def accept(self, now: int, slot: int) -> int:
        if self.asked(slot).op == FLUSH:
            return now + self.drive.flush
        self.queue.append(slot)
        self.accepted[slot] = now
        return CALL

    def _overhead_ns(self, op: int) -> int:
        own = self.drive.write_overhead
        return own if op == WRITE and own is not None else self.drive.command_overhead

    def _positioned_ns(self, now: int, slot: int, overhead: int, scattered: Callable[[int, int], int]) -> int:
        asked = self.asked(slot)
        if asked.op == DISCARD:
            return now + overhead
        place = self.platters.place(asked.offset // SECTOR)
        move = self.platters.move_ns(self.track, place.track, asked.op == WRITE)
        at = now + overhead + move
        wait = self.platters.turn_ps(at, place.angle_ps) // 1000
        return at + wait + scattered(move, wait)

    def _distance(self, slot: int) -> int:
        if self.asked(slot).op == DISCARD:
            return 0
        track = self.platters.place(self.asked(slot).offset // SECTOR).track
        return abs(track // self.platters.surfaces - self.track // self.platters.surfaces)

    def choose(self, now: int) -> tuple[int, int, int]:
        if self.busy or not self.queue:
            return NONE, NEVER, NEVER
        known = self.queue[: 1 if self.drive.scheduler == "fcfs" else self.drive.queue_depth]
        best = known[0]
        if now - self.accepted[best] <= self.drive.age_limit:
            if self.drive.scheduler == "sstf":
                best = min(known, key=self._distance)
            else:
                # the drive compares the arm's way, not what it takes to understand a command
                overhead, mean = self.drive.command_overhead, self.scatter.mean_ns
                best = min(known, key=lambda slot: self._positioned_ns(now, slot, overhead, mean))
        self.queue.remove(best)
        asked = self.asked(best)
        first, last = asked.offset // SECTOR, (asked.end - 1) // SECTOR
        positioned, passed = self._positioned_ns(now, best, self._overhead_ns(asked.op), self.scatter.drawn_ns), 0
        if asked.op != DISCARD:
            passed, self.track = self.platters.transfer(first, last - first + 1)
        self.busy = True
        return best, max(positioned + passed // 1000, now + 1), NEVER

    def finish(self, slot: int, now: int) -> tuple[()]:
        if self.asked(slot).op != FLUSH:
            self.busy = False
        return ()
