"""A flash drive that holds commands back, in plain Python, for requests within one page: the twin of the kernels'
rules.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from tiersim.devices.ssd.flash import Flash
from tiersim.units import NS_PER_S


@dataclass
class Held:
    """A request."""

    number: int
    write: bool
    die: int
    length: int
    plane: int = 0  # of all planes of the chip
    page: int = 0  # in its block
    ready: int = 0  # when it can go to its die, or the channel can take what was sensed
    behind_buffer: bool = False  # the host does not wait for it


@dataclass
class Die:
    """What a die has before it."""

    free: int | None = 0  # from when on; None: what it senses or has sensed is still there
    to_leave: int = 0  # what it has sensed, or senses, and the channel has not taken yet
    reads: list[Held] = field(default_factory=list)
    writes: list[Held] = field(default_factory=list)


@dataclass
class Channel:
    """What a channel has before it."""

    free: int = 0
    turn: int = 0
    sensed: list[Held] = field(default_factory=list)


class NaiveHeld:
    """A drive with one sensing time for each request, and programs of one unit."""

    def __init__(self, drive: Flash, sensing_ns: Callable[[Held], int]) -> None:
        """Begin empty and at rest."""
        self.drive, self.sensing_ns = drive, sensing_ns
        self.transfer = drive.unit * NS_PER_S // drive.channel_rate
        self.channels = [Channel() for _ in range(drive.channels)]
        self.dies = [Die() for _ in range(drive.dies)]
        self.pages = {(die, plane): 0 for die in range(drive.dies) for plane in range(16)}
        self.controller = self.buffer_free = self.in_buffer = 0
        self.link = {True: 0, False: 0}  # until when it is busy with writes, and with reads
        self.waiting: list[Held] = []  # for the drive to work on fewer
        self.in_service = 0
        self.for_buffer: list[Held] = []
        self.done: dict[int, int] = {}
        self.events: list[tuple[int, int, str, Held | None]] = []
        self.count = 0

    def run(self, times: list[int], requests: list[Held]) -> list[int]:
        """When each request is done."""
        for time, request in zip(times, requests, strict=True):
            self._later(time, "arrives", request)
        while self.events:
            now = self.events[0][0]
            while self.events and self.events[0][0] == now:
                _, _, what, about = heappop(self.events)
                if about is not None:
                    self._event(now, what, about)
            self._act(now)
        return [self.done[request.number] for request in requests]

    def _later(self, at: int, what: str, request: Held | None = None) -> None:
        self.count += 1
        heappush(self.events, (at, self.count, what, request))

    def _event(self, now: int, what: str, request: Held) -> None:
        if what == "arrives":
            self.waiting.append(request)
        elif what == "ends":
            self.in_service -= 1
        elif what == "buffered":
            behind = Held(-1, True, request.die, request.length, request.plane, ready=now, behind_buffer=True)
            self.dies[request.die].writes.append(self._with_page(behind))
        elif what == "programmed":
            self.in_buffer -= 1

    def _begin(self, now: int, request: Held) -> None:
        self.in_service += 1
        self.controller = max(self.controller, now) + max(1, NS_PER_S // self.drive.controller_iops)
        request.ready = self._over_link(self.controller, request) if request.write else self.controller
        if not request.write:
            self.dies[request.die].reads.append(self._with_page(request))
        elif self.drive.buffer:
            self.for_buffer.append(request)
        else:
            self.dies[request.die].writes.append(self._with_page(request))
        self._later(request.ready, "look", request)

    def _with_page(self, request: Held) -> Held:
        """Give a request the next page of its plane: the drive is fresh."""
        request.page = self.pages[request.die, request.plane] % (self.drive.block // self.drive.page)
        self.pages[request.die, request.plane] += 1
        return request

    def _together(self, now: int, waiting: list[Held], first: Held) -> list[Held]:
        """Take a request off a list, and what one command takes with it."""
        found = [first]
        for one in waiting:
            same_die = (one.plane - first.plane) % self.drive.chip_dies == 0
            new = all(one.plane != other.plane for other in found)
            fits = self.drive.chip_planes > 1 and same_die and new and one.page == first.page and one.ready <= now
            if one is not first and fits:
                found.append(one)
        waiting[:] = [one for one in waiting if not any(one is other for other in found)]
        return found

    def _ends(self, at: int, request: Held) -> None:
        self.done[request.number] = at
        self._later(at, "ends", request)

    def _act(self, now: int) -> None:
        while self.waiting and self.in_service < self.drive.queue_depth:
            self._begin(now, self.waiting.pop(0))
        while self.for_buffer and self.in_buffer < self.drive.buffer // self.drive.unit:
            request = self.for_buffer.pop(0)
            self.in_buffer += 1
            at = max(request.ready, self.buffer_free, now)
            if self.drive.buffer_rate:
                at += request.length * (10**12 // self.drive.buffer_rate) // 1000
                self.buffer_free = at
            self._ends(max(at + self.drive.write_latency, now + 1), request)
            self._later(self.done[request.number], "buffered", request)
        for place, channel in enumerate(self.channels):
            if channel.free <= now and channel.sensed and channel.sensed[0].ready <= now:
                self._data_out(now, channel, channel.sensed.pop(0))
            own = range(place, self.drive.dies, self.drive.channels)
            begun = channel.turn
            for step in range(begun, begun + len(own)):
                die = self.dies[own[step % len(own)]]
                there = [one for one in die.reads[:1] + die.writes[:1] if one.ready <= now]
                if there and channel.free <= now and die.free is not None and die.free <= now:
                    self._command(now, channel, die, there[0])
                    channel.turn = (step + 1) % len(own)

    def _command(self, now: int, channel: Channel, die: Die, request: Held) -> None:
        if not request.write:
            together = self._together(now, die.reads, request)
            die.free = None
            die.to_leave = len(together)
            ready = now + self.sensing_ns(request)
            for one in together:
                one.ready = ready
            channel.sensed.extend(together)
            channel.sensed.sort(key=lambda one: one.ready)
            self._later(ready, "look")
            return
        together = self._together(now, die.writes, request)
        channel.free = now + self.drive.program_command + len(together) * self.transfer
        die.free = channel.free + self.drive.program
        self._later(channel.free, "look")
        for one in together:
            self._later(die.free, "programmed" if one.behind_buffer else "look", one)
            if not one.behind_buffer:
                self._ends(die.free + self.drive.write_latency, one)

    def _data_out(self, now: int, channel: Channel, request: Held) -> None:
        channel.free = now + self.transfer
        die = self.dies[request.die]
        die.to_leave -= 1
        die.free = None if die.to_leave else channel.free
        on_link = request.length * (10**12 // self.drive.link_rate) // 1000
        at_host = max(channel.free + on_link, self._over_link(now, request))
        self._ends(at_host + self.drive.read_latency, request)
        self._later(channel.free, "look")

    def _over_link(self, at: int, request: Held) -> int:
        until = max(self.link[request.write], at) + request.length * (10**12 // self.drive.link_rate) // 1000
        self.link[request.write] = until
        return until
