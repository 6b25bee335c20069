"""A log and a checkpointer on one drive, under the rules of Linux 5.3's block/blk-wbt.c, and with 3 write-backs under
way all the time, as in the hours of checkpoints: as many transactions are committed either way.
"""

import heapq
import random
from collections.abc import Callable
from typing import Any

import pytest

_CLIENTS, _WORK_S, _COPY_S, _COMMAND_S, _SPAN_S = 56, 4.5e-3, 3e-4, 13e-6, 4.0
_LARGEST_BYTES = 1.28e6
#: What may be under way of writes that somebody waits for (REQ_SYNC), and of others beside reads: 24, (24 + 3) / 4.
_MOST, _BACKGROUND = 24, 6

Then = Callable[[float], None]


class Server:
    """Clients whose commits are written and flushed together, and a checkpointer that copies 32 pages and then asks for
    their writing back; *gate*: so many write-backs are under way, and the log waits in the drive alone.
    """

    def __init__(self, bytes_per_s: float, log_bytes: float, write_back_bytes: float, gate: int | None) -> None:
        self.bytes_per_s, self.log_bytes, self.write_back_bytes, self.gate = (
            bytes_per_s,
            log_bytes,
            write_back_bytes,
            gate,
        )
        self.events: list[tuple[float, int, Then]] = []
        self.number = self.under_way = self.done = 0
        self.free_at = 0.0
        self.asleep: list[tuple[bool, float, Then, Then]] = []
        self.waiting: list[float] = []
        self.flushing = False
        self.draws = random.Random(1)

    def run(self) -> float:
        """Return transactions/s."""
        self._at(0.0, self._checkpoint)
        for _ in range(_CLIENTS):
            self._at(self.draws.random() * _WORK_S, self._commit)
        now = 0.0
        while now < _SPAN_S:
            now, _, then = heapq.heappop(self.events)
            then(now)
        return self.done / _SPAN_S

    def _at(self, when: float, then: Then) -> None:
        self.number += 1
        heapq.heappush(self.events, (when, self.number, then))

    def _most(self, is_log: bool) -> int:
        if self.gate is not None:
            return _MOST if is_log else self.gate
        return _MOST if is_log else _BACKGROUND

    def _submit(self, now: float, is_log: bool, length: float, ended: Then, gone: Then) -> None:
        if self.gate is not None and is_log:
            self._send(now, is_log, length, ended)
            gone(now)
        elif not self.asleep and self.under_way < self._most(is_log):
            self.under_way += 1
            self._send(now, is_log, length, ended)
            gone(now)
        else:
            self.asleep.append((is_log, length, ended, gone))

    def _send(self, now: float, is_log: bool, length: float, ended: Then) -> None:
        self.free_at = max(self.free_at, now) + _COMMAND_S + length / self.bytes_per_s
        self._at(self.free_at, lambda when: self._ended(when, is_log, ended))

    def _ended(self, now: float, is_log: bool, ended: Then) -> None:
        if self.gate is None or not is_log:
            self.under_way -= 1
        if self.gate is not None or self.under_way == 0:  # with a volatile cache all have to have ended
            while self.asleep and self.under_way < self._most(self.asleep[0][0]):
                sleeper, length, then, gone = self.asleep.pop(0)
                self.under_way += 1
                self._send(now, sleeper, length, then)
                gone(now)
        ended(now)

    def _checkpoint(self, now: float) -> None:
        self._submit(
            now, False, self.write_back_bytes, lambda _: None, lambda t: self._at(t + _COPY_S, self._checkpoint)
        )

    def _commit(self, now: float) -> None:
        self.waiting.append(now)
        if not self.flushing:
            self._begin(now)

    def _begin(self, now: float) -> None:
        self.flushing = True
        group = len(self.waiting)
        self.waiting.clear()
        left = group * self.log_bytes
        pieces = [_LARGEST_BYTES] * int(left // _LARGEST_BYTES) + [left % _LARGEST_BYTES]
        ended = [0]

        def written(when: float) -> None:
            ended[0] += 1
            if ended[0] == group_pieces:
                self._submit(when, True, 0.0, lambda t: self._flushed(t, group), lambda _: None)

        def next_piece(when: float) -> None:
            if pieces:
                self._submit(when, True, pieces.pop(), written, next_piece)

        group_pieces = len(pieces)
        next_piece(now)

    def _flushed(self, now: float, group: int) -> None:
        self.done += group
        for _ in range(group):
            self._at(now + self.draws.expovariate(1 / _WORK_S), self._commit)
        self.flushing = False
        if self.waiting:
            self._begin(now)


def _rate(gate: int | None, **load: Any) -> float:
    return Server(gate=gate, **load).run()


@pytest.mark.parametrize("bytes_per_s", [260e6, 290e6])
@pytest.mark.parametrize("log_bytes", [20e3, 45e3])
@pytest.mark.parametrize("write_back_bytes", [100e3, 256e3])
def test_three_write_backs_do_what_batches_of_six_do(
    bytes_per_s: float, log_bytes: float, write_back_bytes: float
) -> None:
    load = {"bytes_per_s": bytes_per_s, "log_bytes": log_bytes, "write_back_bytes": write_back_bytes}
    batches = _rate(None, **load)
    assert _rate(3, **load) == pytest.approx(batches, rel=0.08)
    assert abs(_rate(3, **load) - batches) < abs(_rate(5, **load) - batches)
