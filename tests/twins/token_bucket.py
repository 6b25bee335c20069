"""A volume with allowances of requests and bytes (docs/cloud-volumes.md)."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from tests.twins.stand_in import CALL, DISCARD, FLUSH, NEVER, NONE, READ, Part, Twin
from tiersim.devices.cloud.token_bucket import TokenBucket

NS_PER_S = 10**9


@dataclass
class Allowance:
    """Tokens at *level*; each refill brings what an interval earns, up to the ceiling.

    What the refill that a request waits for brings beyond its need is not lost.
    """

    earned: Fraction  # a refill
    ceiling: Fraction
    level: Fraction
    behind: "Allowance | None" = None
    seen: int = 0
    wanted: int = 0  # the refill that a request waits for

    def covered(self, refill: int, cost: int) -> int:
        """Return which refill covers *cost* here and behind; what costs more than fits passes when all is there."""
        kept = max(0, min(refill, self.wanted) - self.seen)
        self.level += kept * self.earned
        if (more := refill - self.seen - kept) > 0:
            self.level = min(self.level + more * self.earned, self.ceiling)
        self.seen = refill
        short = min(Fraction(cost), self.ceiling) - self.level
        if short > 0:
            self.wanted = refill + ceil(short / self.earned)
        last = self.wanted if short > 0 else refill
        return max(last, self.behind.covered(refill, cost)) if self.behind is not None else last

    def pay(self, cost: int) -> None:
        """Take tokens; the level may fall below 0."""
        self.level -= cost
        if self.behind is not None:
            self.behind.pay(cost)


class Bucket(Twin):
    """Refills come at multiples of the interval.

    Reads wait in one queue, all else in another; of their heads the older goes that is covered. All comes from one
    station, so that nothing changes where stations take turns.
    """

    def __init__(self, volume: TokenBucket, below: int = NONE, credits: float = 1.0) -> None:
        self.volume, self.below, self.credits = volume, below, credits
        v = volume
        requests = self._allowance(v.iops, v.burst_iops, v.burst_credits, NS_PER_S)
        length = self._allowance(v.rate, v.burst_rate, v.burst_bytes, 1000)
        self.limits = [
            (requests or self._allowance(v.read_iops), length or self._allowance(v.read_rate)),
            (requests or self._allowance(v.write_iops), length or self._allowance(v.write_rate)),
        ]
        self.queues: list[deque[int]] = [deque(), deque()]
        self.run = NONE, NONE, 0  # operation, end and bytes of requests that followed each other

    def _allowance(
        self, base: int | None, burst: int | None = None, balance: int | None = None, parts: int = 1
    ) -> Allowance | None:
        if base is None:
            return None
        interval, kept = self.volume.refill_interval, self.volume.carry_over
        rate = burst or base
        ceiling = Fraction(rate * (interval + kept), NS_PER_S)
        if ceiling.denominator > 1:  # what is left of a token never lapses
            ceiling += Fraction(NS_PER_S - 1, NS_PER_S)
        behind = None
        if balance is not None:
            credit = Fraction(max(1, round(base * interval * parts / NS_PER_S)), parts)
            behind = Allowance(credit, Fraction(balance), Fraction(round(self.credits * balance)))
        earned = Fraction(rate * interval, NS_PER_S)
        return Allowance(earned, ceiling, earned, behind)

    def accept(self, now: int, slot: int) -> int:
        self.queues[self.asked(slot).op != READ].append(slot)
        return CALL

    def _length(self, slot: int) -> int:
        asked = self.asked(slot)
        return asked.length if asked.op != DISCARD else 0

    def _follows(self, slot: int) -> bool:
        asked, least = self.asked(slot), self.volume.merged_from
        return least is not None and asked.length >= least and (asked.op, asked.offset) == self.run[:2]

    def _tokens(self, slot: int) -> int:
        unit = self.volume.accounting_unit
        if self.asked(slot).op == FLUSH and not self.volume.flushes_counted:
            return 0
        if not unit:
            return 1
        before = self.run[2] if self._follows(slot) else 0
        return max(-(-(before + self._length(slot)) // unit), 1) - -(-before // unit)

    def _costs(self, slot: int, way: int) -> list[tuple[Allowance, int]]:
        both = zip(self.limits[way], (self._tokens(slot), self._length(slot)), strict=True)
        return [(allowance, cost) for allowance, cost in both if allowance is not None]

    def choose(self, now: int) -> tuple[int, int, int]:
        interval = self.volume.refill_interval
        refill = now // interval
        heads = []
        for way in (0, 1):
            if self.queues[way]:
                slot = self.queues[way][0]
                covered = max((one.covered(refill, cost) for one, cost in self._costs(slot, way)), default=refill)
                heads.append((covered, self.asked(slot).number, slot, way))
        ready = [one[1:] for one in heads if one[0] <= refill]
        if not ready:
            return NONE, NEVER, min((one[0] * interval for one in heads), default=NEVER)
        _, slot, way = min(ready)
        for allowance, cost in self._costs(slot, way):
            allowance.pay(cost)
        asked = self.asked(slot)
        before = self.run[2] if self._follows(slot) else 0
        is_long = asked.length >= (self.volume.merged_from or 0)
        self.run = asked.op, asked.end, before + self._length(slot) if is_long else 0
        self.queues[way].popleft()
        flush = self.volume.flush if asked.op == FLUSH else None
        return slot, now + (flush or self.volume.latency), NEVER

    def finish(self, slot: int, now: int) -> Sequence[Part]:
        asked = self.asked(slot)
        return [] if self.below == NONE else [Part(self.below, asked.op, asked.offset, asked.length)]
