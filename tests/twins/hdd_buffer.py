"""A disk drive with a buffer that is given one command at a time, in plain Python: the twin of the kernels' rules."""

from dataclasses import dataclass, field

from tests.twins.hdd import Scatter
from tiersim.devices.hdd.disk_drive import Drive
from tiersim.devices.hdd.seek_curves import seek_table_ns

SECTOR = 512
#: Distances in cylinders whose seeks are exact; beyond, every 2^6-th is.
SEEK_EXACT, SEEK_STEP_BITS = 1024, 6


@dataclass
class Held:
    """Sectors in a segment."""

    first: int = 0
    end: int = 0
    used: int = 0


@dataclass
class Ahead:
    """What is being read ahead, into which segment, and since when the arm could have read its next sector."""

    into: Held
    at_ns: int
    sector: int
    limit: int


@dataclass
class NaiveDrive:
    """Answers commands in order; each must come when the one before it is done."""

    drive: Drive
    phase_ps: int
    seed: int = 0
    track: int = 0
    arm_free: int = 0
    switched: int = 0  # when the read-ahead's switch of tracks is over
    after_write: bool = False
    read_end: int = -1
    write_end: int = -1
    uses: int = 0
    ahead: Ahead | None = None
    # a write that is in the buffer: first sector, sectors, when the arm may move and when it may write
    waiting: tuple[int, int, int, int] | None = None
    segments: list[Held] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with an empty buffer."""
        self.geometry = self.drive.geometry()
        self.scatter = Scatter(self.drive, self.seed)
        self.zones = self.geometry.zone_rows()
        self.seeks = seek_table_ns(self.geometry.seek_ns).tolist()
        self.segments = [Held() for _ in range(self.drive.buffer_segments or 0)]
        self.size = (self.drive.buffer_segment or 0) // SECTOR

    def done_ns(self, now: int, write: bool, first: int, sectors: int) -> int:
        """When a command that comes now is done."""
        self._catch_up(now)
        done = self._write(now, first, sectors) if write else self._read(now, first, sectors)
        self.after_write = write
        if write:
            self.write_end = first + sectors
        else:
            self.read_end = first + sectors
        return max(done, now + 1)

    # where sectors are, and how the arm comes there

    def _place(self, sector: int) -> tuple[dict[str, int], int, int, int]:
        """(zone, track, place within it, angle)."""
        zone = next(z for z in self.zones if sector < z["end_sector"])
        tracks, place = divmod(zone["first_physical"] + sector - zone["first_sector"], zone["sectors_per_track"])
        cylinder, head = divmod(tracks, self.geometry.surfaces)
        angle = zone["first_angle_ps"] + head * zone["track_skew_ps"] + cylinder * zone["cylinder_skew_ps"]
        angle += place * zone["sector_ps"]
        return (
            zone,
            (zone["first_cylinder"] + cylinder) * self.geometry.surfaces + head,
            place,
            angle % self.geometry.revolution_ps,
        )

    def _cylinders(self, track: int) -> int:
        return abs(track // self.geometry.surfaces - self.track // self.geometry.surfaces)

    def _move(self, track: int, write: bool) -> int:
        if track == self.track:
            return 0
        distance = self._cylinders(track)
        move = 0
        if distance:
            knot, rest = divmod(max(distance - SEEK_EXACT, 0), 1 << SEEK_STEP_BITS)
            knot += min(distance, SEEK_EXACT)
            move = self.seeks[knot] + (
                (self.seeks[knot + 1] - self.seeks[knot]) * rest >> SEEK_STEP_BITS if rest else 0
            )
        if track % self.geometry.surfaces != self.track % self.geometry.surfaces:
            move = max(move, self.drive.track_switch)
        return max(move + self.drive.write_settle, 0) if write else move

    def _turn(self, at_ns: int, angle_ps: int) -> int:
        return at_ns + (angle_ps - at_ns * 1000 - self.phase_ps) % self.geometry.revolution_ps // 1000

    def _arrive(self, at_ns: int, move: int, angle_ps: int) -> int:
        start = self._turn(at_ns + move, angle_ps)
        return start + self.scatter.drawn_ns(move, start - at_ns - move)

    def _flow(self, at_ns: int, track: int, angle_ps: int) -> int:
        return self._turn(at_ns + (self._move(track, False) if self._cylinders(track) > 1 else 0), angle_ps)

    def _pieces(self, first: int, sectors: int) -> list[tuple[int, int, int, int]]:
        """(passed ps, sectors, ps a sector, track) of each run of a transfer, in order."""
        pieces: list[tuple[int, int, int, int]] = []
        passed = reached = 0
        while sectors:
            zone, track, place, angle = self._place(first)
            if pieces:
                passed += (angle - reached) % self.geometry.revolution_ps
            taken = min(sectors, zone["sectors_per_track"] - place, max(zone["end_sector"] - first, 1))
            pieces.append((passed, taken, zone["sector_ps"], track))
            passed += taken * zone["sector_ps"]
            reached = angle + taken * zone["sector_ps"]
            first += taken
            sectors -= taken
        return pieces

    # what the arm does by itself

    def _catch_up(self, now: int) -> None:
        if self.waiting is not None and max(self.arm_free, self.waiting[2]) <= now:
            self._destage(max(self.arm_free, self.waiting[2]))
        if self.ahead is not None and self.arm_free <= now:
            self._read_ahead(self.ahead, now)

    def _destage(self, at_ns: int) -> None:
        assert self.waiting is not None
        first, sectors, _, came = self.waiting
        _, track, _, angle = self._place(first)
        pieces = self._pieces(first, sectors)
        passed, taken, sector_ps, last = pieces[-1]
        start = self._arrive(at_ns, self._move(track, True), angle)
        if came > start:
            start = self._turn(came, angle)
        self.arm_free = start + (passed + taken * sector_ps) // 1000
        self.track = last
        self.waiting = None

    def _read_ahead(self, ahead: Ahead, now: int) -> None:
        while ahead.sector < ahead.limit:
            zone, track, place, angle = self._place(ahead.sector)
            start = self._flow(ahead.at_ns, track, angle)
            if start > now:
                self.switched = max(self.switched, ahead.at_ns + self._move(track, False))
                self.track = track
                return
            whole = min(
                ahead.limit - ahead.sector, zone["sectors_per_track"] - place, max(zone["end_sector"] - ahead.sector, 1)
            )
            taken = min((now - start) * 1000 // zone["sector_ps"], whole)
            self.track = track
            ahead.sector += taken
            ahead.at_ns = start + taken * zone["sector_ps"] // 1000
            ahead.into.end = max(ahead.into.end, ahead.sector)
            ahead.into.first = max(ahead.into.first, ahead.into.end - self.size)
            if taken < whole:
                return
        self.ahead = None

    def _limit(self, first: int, end: int) -> int:
        capacity = self.zones[-1]["end_sector"]
        kind = self.drive.read_ahead or "none"
        if kind == "none" or end >= capacity:
            return end
        limit = end + ((self.drive.read_ahead_limit or 0) // SECTOR or self.size)
        zone, _, place, _ = self._place(end)
        per_track = zone["sectors_per_track"]
        if kind == "track":
            limit = min(limit, end + per_track - place)
        elif kind == "next-track":
            limit = end + per_track - place + (per_track if first < end - place else 0)
        elif kind == "cylinder":
            per_cylinder = per_track * self.geometry.surfaces
            inside = zone["first_physical"] + end - zone["first_sector"]
            limit = min(limit, end + per_cylinder - inside % per_cylinder)
        return min(limit, capacity)

    # commands

    def _overhead(self, hit: bool, write: bool) -> int:
        drive = self.drive
        write_overhead = drive.command_overhead if drive.write_overhead is None else drive.write_overhead
        hits = drive.hit_overheads or (drive.command_overhead,) * 4
        misses = drive.miss_overheads or (
            drive.command_overhead,
            drive.command_overhead,
            write_overhead,
            write_overhead,
        )
        return (hits if hit else misses)[2 * write + self.after_write]

    def _sector_ps(self, write: bool) -> int:
        rate = (self.drive.write_interface_rate if write else None) or self.drive.interface_rate
        return 0 if rate is None else SECTOR * 10**12 // rate

    def _use(self, held: Held) -> None:
        self.uses += 1
        held.used = self.uses

    def _fill(self, held: Held, first: int, end: int) -> None:
        held.first, held.end = max(first, end - self.size), end
        self._use(held)

    def _held(self, first: int, end: int) -> Held | None:
        """The segment that a read is served from: one that has all of it, one that is being read into, an older one."""
        own = None if self.ahead is None else self.ahead.into
        found = [one for one in self.segments if one.first <= first < one.end]
        return min(found, key=lambda one: (one.end < end, one is not own, one.used), default=None)

    def _free(self) -> Held:
        """The segment that is used anew: an empty one, and the one that is being read into last."""
        own = None if self.ahead is None else self.ahead.into
        return min(self.segments, key=lambda one: (one is own, one.first < one.end, one.used))

    def _read(self, now: int, first: int, sectors: int) -> int:
        drive = self.drive
        end, bus = first + sectors, self._sector_ps(False)
        took_up = max(now, self.switched)
        through = sectors * bus // 1000
        data, completion = drive.data_overhead or 0, drive.completion_overhead or 0
        disconnect = (drive.disconnect_overheads or (0, 0, 0))[self.after_write]
        reconnect = (drive.reconnect_overheads or (0, 0))[0]
        missed = took_up + self._overhead(False, False)
        understood = now + self._overhead(True, False) + data
        ahead = self.ahead
        held = self._held(first, end)
        awaits = drive.read_awaits_ahead is not False
        if held is None and awaits and ahead is not None and ahead.sector <= first < ahead.limit:
            soon = first - ahead.sector <= self._place(first)[0]["sectors_per_track"]
            held = ahead.into if soon else None
        if held is not None and end <= held.end:
            self._use(held)
            limit = self._limit(held.first, end)
            if ahead is not None and held is ahead.into:
                ahead.limit = max(ahead.limit, limit)
            elif drive.read_ahead_after_hit and self.waiting is None and held.end < limit:
                self.ahead = Ahead(held, max(understood, self.arm_free), held.end, limit)
            if drive.read_hits_wait and self.arm_free > now:
                understood = max(missed + disconnect, self.arm_free) + reconnect + data
            return understood + through + completion
        if held is not None and ahead is not None and held is ahead.into and self.arm_free <= now:
            self._use(held)
            ahead.limit = max(ahead.limit, self._limit(held.first, end), end)
            at, reached, here = ahead.at_ns, ahead.sector, self.track
            while reached < end:
                zone, track, place, angle = self._place(reached)
                at = self._flow(at, track, angle)
                taken = min(end - reached, zone["sectors_per_track"] - place, max(zone["end_sector"] - reached, 1))
                at += taken * zone["sector_ps"] // 1000
                reached += taken
                self.track = track
            self.track = here
            return max(understood + through, at + bus // 1000) + completion
        begin = first if held is None else held.end
        _, track, _, angle = self._place(begin)
        pieces = self._pieces(begin, end - begin)
        goes_on = held is None and first == self.read_end and not self.after_write and now <= self.arm_free
        if goes_on:  # it was there before the arm had ended
            start, missed, disconnect = self._flow(self.arm_free, track, angle), now, 0
        else:
            start = self._arrive(max(missed, self.arm_free), self._move(track, False), angle)
        passed, taken, sector_ps, self.track = pieces[-1]
        read_ps = passed + taken * sector_ps
        left = end - begin
        late_ps = read_ps + bus
        for passed, taken, sector_ps, _ in pieces:
            late_ps = max(late_ps, passed + sector_ps + left * bus)
            left -= taken
        self.arm_free = start + read_ps // 1000
        if held is None:
            held = self._free()
            self._fill(held, first, end)
            mark = min(max(self._mark(sectors), 1), sectors)
            marked_ps = next(
                before + (mark - ahead_of) * own_ps
                for (before, count, own_ps, _), ahead_of in zip(pieces, self._counts(pieces), strict=True)
                if mark <= ahead_of + count
            )
            sent = max(start + marked_ps // 1000, missed + disconnect) + reconnect + data
        else:
            self._fill(held, held.first, end)
            sent = understood
        self.ahead = None
        if not drive.read_ahead_adaptive or first == self.read_end:
            limit = self._limit(held.first, end)
            if limit > end:
                self.ahead = Ahead(held, self.arm_free, end, limit)
        return max(sent + through, start + late_ps // 1000) + completion

    def _counts(self, pieces: list[tuple[int, int, int, int]]) -> list[int]:
        """How many sectors lie before each piece."""
        return [sum(taken for _, taken, _, _ in pieces[:index]) for index in range(len(pieces))]

    def _mark(self, sectors: int) -> int:
        share = round((self.drive.water_mark or 0) * 10**6)
        if self.drive.water_mark_of_segment:
            return -(-self.size * share // 10**6)
        return min(self.size, sectors) * share // 10**6

    def _write(self, now: int, first: int, sectors: int) -> int:
        drive = self.drive
        end, bus = first + sectors, self._sector_ps(True)
        stale = [one for one in self.segments if one.first < end and first < one.end]
        for held in stale:
            held.end = held.first
        if not drive.write_segment_apart:
            if drive.write_into == "longest unused":
                into = min(stale, key=lambda one: one.used) if stale else self._free()
            else:
                into = max(self.segments, key=lambda one: one.used)
            self._fill(into, first, end)
        self.ahead = None
        return self._behind(now, first, sectors, bus) if drive.write_segments else self._onto(now, first, sectors, bus)

    def _completion(self) -> int:
        own = self.drive.write_completion_overhead
        return (self.drive.completion_overhead or 0) if own is None else own

    def _behind(self, now: int, first: int, sectors: int, bus: int) -> int:
        """A write that is done when it is in the buffer, which holds one."""
        drive = self.drive
        data, through = drive.data_overhead or 0, sectors * bus // 1000
        understood = now + self._overhead(True, True)
        done = understood + data + through
        if self.waiting is not None and sum(self.waiting[:2]) == first and self.waiting[1] + sectors <= self.size:
            self.waiting = self.waiting[0], self.waiting[1] + sectors, self.waiting[2], done
            return done + self._completion()
        follows = first == self.write_end and self.waiting is None
        if (self.waiting is not None or self.arm_free > now) and not follows:
            if self.waiting is not None:
                self._destage(max(self.arm_free, now))
            done = max(done, self.arm_free + bus // 1000)
        if drive.writes_wait and self.arm_free > now and first != self.write_end:
            told = understood + (drive.disconnect_overheads or (0, 0, 0))[2]
            sent = max(told, self.arm_free) + (drive.reconnect_overheads or (0, 0))[0] + data
            done = max(done, sent + through)
        self.waiting = first, sectors, understood, done - through + self._lead_ps(first, sectors, bus) // 1000
        return done + self._completion()

    def _lead_ps(self, first: int, sectors: int, bus: int) -> int:
        """How long before a write data must have begun to come for each sector to be there when the head is."""
        lead_ps = came = 0
        for passed, taken, sector_ps, _ in self._pieces(first, sectors):  # the last sector of each is needed latest
            came += taken
            lead_ps = max(lead_ps, came * bus - passed - (taken - 1) * sector_ps)
        return lead_ps

    def _onto(self, now: int, first: int, sectors: int, bus: int) -> int:
        """A write that is done when it is on the platter."""
        drive = self.drive
        data, through = drive.data_overhead or 0, sectors * bus // 1000
        reconnects, disconnect = drive.reconnect_overheads or (0, 0), (drive.disconnect_overheads or (0, 0, 0))[2]
        taken_up = max(now, self.switched)
        begun = taken_up + self._overhead(False, True)
        come, reconnect, extra = begun + data, reconnects[0], drive.extra_write_disconnect
        if extra is not None and self.after_write and first != self.write_end:
            command, seek, away, pause, disconnect = extra
            begun = taken_up + command + seek
            come = taken_up + command + away + pause + reconnects[0] + data
            reconnect = reconnects[1]
        lead_ps = bus * ((min(sectors, 10) if sectors < 45 else 15) if extra is not None else 0)
        lead_ps = max(lead_ps, self._lead_ps(first, sectors, bus))
        pieces = self._pieces(first, sectors)
        _, track, _, angle = self._place(first)
        move, come_ns = max(self._move(track, True), drive.write_move_least or 0), come + lead_ps // 1000
        start = self._turn(come_ns, angle)
        if come_ns <= max(begun, self.arm_free) + move:
            start = self._arrive(max(begun, self.arm_free), move, angle)
            if start < come_ns:
                start = self._turn(come_ns, angle)
        passed, taken, sector_ps, self.track = pieces[-1]
        self.arm_free = start + (passed + taken * sector_ps) // 1000
        return max(self.arm_free, come + through + disconnect) + reconnect + self._completion()
