"""Equal servers with one queue."""

from collections import deque
from math import log
from typing import Literal

from tests.twins.stand_in import CALL, NEVER, NONE, Twin
from tiersim.random_numbers import SERVICE, random_bits


def exponential_ns(mean_ns: float, bits: int) -> int:
    """Return the mean of one of 2^16 equally likely slices of an exponential distribution, by leading bits."""
    n, place = 1 << 16, bits >> 16

    def integral(x: float) -> float:
        return x - x * log(x) if x > 0 else 0.0

    return round((integral((n - place) / n) - integral((n - place - 1) / n)) * n * mean_ns)


class Server(Twin):
    """Service of *service_ns*, or of that mean; with a rate, what the bytes take besides."""

    def __init__(
        self,
        servers: int,
        service_ns: int,
        law: Literal["fixed", "exponential"] = "fixed",
        seed: int = 0,
        entity: int = 0,
        bytes_per_s: int | None = None,
    ) -> None:
        self.free, self.service_ns, self.law, self.bytes_per_s = servers, service_ns, law, bytes_per_s
        self.seed, self.entity = seed, entity
        self.queue: deque[int] = deque()

    def accept(self, now: int, slot: int) -> int:
        self.queue.append(slot)
        return CALL

    def choose(self, now: int) -> tuple[int, int, int]:
        if not self.queue or not self.free:
            return NONE, NEVER, NEVER
        slot = self.queue.popleft()
        self.free -= 1
        takes = self.service_ns
        if self.law == "exponential":
            takes = exponential_ns(takes, random_bits(self.seed, SERVICE, self.entity, self.asked(slot).number))
        if self.bytes_per_s:
            takes += self.asked(slot).length * -(-(10**12) // self.bytes_per_s) // 1000
        return slot, now + max(takes, 1), NEVER

    def finish(self, slot: int, now: int) -> tuple[()]:
        self.free += 1
        return ()
