"""A queue that clients have shares of (docs/tenants.md): each request gets its tag when it comes."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tests.twins.stand_in import CALL, NEVER, NONE, Part, Twin


@dataclass
class Client:
    """Requests that wait, each with when it came and its start tag."""

    weight: int
    minimum: int | None
    finish: Fraction = Fraction(0)
    due: int = 0
    waiting: deque[tuple[int, int, Fraction]] = field(default_factory=deque)


class Shares(Twin):
    """At most *depth* requests below; *ports* says which client's requests come from a port, and where they go."""

    def __init__(
        self,
        depth: int,
        clients: Sequence[tuple[int, int | None]],
        ports: Mapping[int, tuple[int, int]],
        unit: int = 0,
    ) -> None:
        self.free, self.ports, self.unit = depth, ports, unit
        self.clients = [Client(*one) for one in clients]

    def _port(self, slot: int) -> tuple[int, int]:
        return self.ports[int(self.engine.plant.requests[self.asked(slot).parent]["station"])]

    def _cost(self, slot: int) -> int:
        return max(1, -(-self.asked(slot).length // self.unit)) if self.unit else 1

    def accept(self, now: int, slot: int) -> int:
        client = self.clients[self._port(slot)[0]]
        start = max(client.finish, self.virtual)
        client.finish = start + Fraction(self._cost(slot), client.weight)
        client.waiting.append((slot, now, start))
        return CALL

    #: The smallest start tag among those that waited when one last went.
    virtual = Fraction(0)

    def choose(self, now: int) -> tuple[int, int, int]:
        there = [one for one in self.clients if one.waiting]
        if not there or not self.free:
            return NONE, NEVER, NEVER
        self.free -= 1
        self.virtual = min(one.waiting[0][2] for one in there)
        due = [(max(one.due, one.waiting[0][1]), one) for one in there if one.minimum and one.due <= now]
        if due:
            since, client = min(due, key=lambda pair: pair[0])
            assert client.minimum
            client.due = since + self._cost(client.waiting[0][0]) * 10**9 // client.minimum
        else:
            client = min(there, key=lambda one: one.waiting[0][2])
        return client.waiting.popleft()[0], now + 1, NEVER

    def finish(self, slot: int, now: int) -> list[Part]:
        asked = self.asked(slot)
        return [Part(self._port(slot)[1], asked.op, asked.offset, asked.length)]

    def resume(self, slot: int, now: int) -> tuple[()]:
        self.free += 1
        return ()
