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
    ready: int = 0  # when it can go to its die, or the channel can take what was sensed
    behind_buffer: bool = False  # the host does not wait for it


@dataclass
class Die:
    """What a die has before it."""

    free: int | None = 0  # from when on; None: what it senses or has sensed is still there
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
        self.controller = self.link = self.buffer_free = self.in_buffer = 0
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
            self.dies[request.die].writes.append(Held(-1, True, request.die, request.length, now, True))
        elif what == "programmed":
            self.in_buffer -= 1

    def _begin(self, now: int, request: Held) -> None:
        self.in_service += 1
        self.controller = max(self.controller, now) + max(1, NS_PER_S // self.drive.controller_iops)
        request.ready = self._over_link(self.controller, request) if request.write else self.controller
        if not request.write:
            self.dies[request.die].reads.append(request)
        elif self.drive.buffer:
            self.for_buffer.append(request)
        else:
            self.dies[request.die].writes.append(request)
        self._later(request.ready, "look", request)

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
            die.reads.remove(request)
            die.free = None
            request.ready = now + self.sensing_ns(request)
            channel.sensed.append(request)
            channel.sensed.sort(key=lambda one: one.ready)
            self._later(request.ready, "look")
            return
        die.writes.remove(request)
        channel.free = now + self.transfer
        die.free = channel.free + self.drive.program
        self._later(channel.free, "look")
        self._later(die.free, "programmed" if request.behind_buffer else "look", request)
        if not request.behind_buffer:
            self._ends(die.free + self.drive.write_latency, request)

    def _data_out(self, now: int, channel: Channel, request: Held) -> None:
        channel.free = self.dies[request.die].free = now + self.transfer
        on_link = request.length * (10**12 // self.drive.link_rate) // 1000
        at_host = max(channel.free + on_link, self._over_link(now, request))
        self._ends(at_host + self.drive.read_latency, request)
        self._later(channel.free, "look")

    def _over_link(self, at: int, request: Held) -> int:
        self.link = max(self.link, at) + request.length * (10**12 // self.drive.link_rate) // 1000
        return self.link
