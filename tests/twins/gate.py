"""A queue of limited depth, in which requests may be joined (docs/host.md)."""

from collections import deque
from collections.abc import Mapping

from tests.twins.stand_in import FLUSH, NEVER, NONE, Part, Twin


class Gate(Twin):
    """At most *depth* requests below; those that wait are joined up to *merge_bytes*, or all flushes among them.

    Without *below* it is shared: *beyond* gives the station behind it by the port that a request comes from.
    """

    def __init__(
        self,
        depth: int,
        below: int = NONE,
        merge_bytes: int = 0,
        joins_flushes: bool = False,
        beyond: Mapping[int, int] | None = None,
    ) -> None:
        self.free, self.below, self.merge_bytes, self.joins_flushes = depth, below, merge_bytes, joins_flushes
        self.beyond = beyond or {}
        self.waiting: deque[int] = deque()
        self.joined: dict[int, list[int]] = {}
        self.grown: dict[int, tuple[int, int, int]] = {}  # of a carrier that waits: end, length, when it last grew
        self.over: deque[int] = deque()
        self.steps = 0

    def accept(self, now: int, slot: int) -> int:
        self.steps += 1
        asked = self.asked(slot)
        if self.free and not self.waiting:
            self.free -= 1
            self.joined[slot] = []
            self.grown[slot] = asked.end, asked.length, self.steps
            return now + 1
        carrier = self._carrier(slot)
        if carrier is not None:
            self.joined[carrier].append(slot)
            end, length, _ = self.grown[carrier]
            self.grown[carrier] = end + asked.length, length + asked.length, self.steps
            return now  # waits, and needs no dispatch
        self.waiting.append(slot)
        self.joined[slot] = []
        self.grown[slot] = asked.end, asked.length, self.steps
        return now

    def _carrier(self, slot: int) -> int | None:
        asked = self.asked(slot)
        if self.joins_flushes:
            return next((one for one in self.waiting if asked.op == FLUSH and self.asked(one).op == FLUSH), None)
        if asked.op == FLUSH or not self.merge_bytes:
            return None
        fits = [
            one
            for one in self.waiting
            if self.asked(one).op == asked.op
            and self.grown[one][0] == asked.offset
            and self.grown[one][1] + asked.length <= self.merge_bytes
        ]
        return max(fits, key=lambda one: self.grown[one][2], default=None)

    def choose(self, now: int) -> tuple[int, int, int]:
        if self.over:
            return self.over.popleft(), now + 1, NEVER
        if not self.waiting or not self.free:
            return NONE, NEVER, NEVER
        self.free -= 1
        return self.waiting.popleft(), now + 1, NEVER

    def finish(self, slot: int, now: int) -> list[Part]:
        if slot not in self.joined:
            return []
        asked = self.asked(slot)
        _, length, _ = self.grown.pop(slot)
        below = self.below
        if below == NONE:
            below = self.beyond[int(self.engine.plant.requests[asked.parent]["station"])]
        return [Part(below, asked.op, asked.offset, length)]

    def resume(self, slot: int, now: int) -> tuple[()]:
        self.free += 1
        self.over.extend(self.joined.pop(slot))
        return ()
