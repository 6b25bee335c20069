"""How many requests were in flight at once, from queue to completion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.traces.bundle import Requests

Table = NDArray[np.int64]

FIRST_ROOM, MOST_ROOM = 1 << 10, 1 << 22
#: Depths are told apart by their number of binary digits: 0, 1, 2–3, 4–7, …
DIGITS = 24

SIZE, NOW_NS, MAX = range(3)


@kernel
def _digits(depth: int) -> int:
    digits = 0
    while depth > 0:
        depth >>= 1
        digits += 1
    return digits


@kernel
def _pass_until(now_ns: int, heap: Table, state: Table, times_ns: Table) -> None:
    """Let time pass up to *now_ns*: complete what ends by then."""
    size, before_ns = state[SIZE], state[NOW_NS]
    while size > 0 and heap[0] <= now_ns:
        times_ns[_digits(size)] += heap[0] - before_ns
        before_ns = heap[0]
        size -= 1
        moved = heap[size]  # takes the root's place and sinks
        place = 0
        while True:
            child = 2 * place + 1
            if child >= size:
                break
            if child + 1 < size and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= moved:
                break
            heap[place] = heap[child]
            place = child
        heap[place] = moved
    times_ns[_digits(size)] += now_ns - before_ns
    state[SIZE], state[NOW_NS] = size, now_ns


@kernel
def follow_depth(time_ns: Table, latency_ns: Table, start: int, heap: Table, state: Table, times_ns: Table) -> int:
    """Follow the requests in flight from row *start* on; return where it stopped: the end, or a row without room.

    ``heap`` holds the completions to come, the earliest first; ``times_ns`` int64[DIGITS] the time at each number of
    digits of the depth.
    """
    for row in range(start, len(time_ns)):
        latency = latency_ns[row]
        if latency < 0:
            continue
        _pass_until(time_ns[row], heap, state, times_ns)
        place = state[SIZE]
        if place == len(heap):
            return row
        done_ns = time_ns[row] + latency
        while place > 0 and heap[(place - 1) // 2] > done_ns:
            heap[place] = heap[(place - 1) // 2]
            place = (place - 1) // 2
        heap[place] = done_ns
        state[SIZE] += 1
        state[MAX] = max(state[MAX], state[SIZE])
    return len(time_ns)


@kernel
def finish_depth(span_ns: int, heap: Table, state: Table, times_ns: Table) -> None:
    """Let time pass up to the end of the trace."""
    _pass_until(span_ns, heap, state, times_ns)


class Depth:
    """Requests in flight over the whole trace."""

    def __init__(self) -> None:
        """Begin with none."""
        self._heap = np.empty(FIRST_ROOM, np.int64)
        self._state = np.zeros(3, np.int64)
        self._times_ns = np.zeros(DIGITS, np.int64)
        self._too_many = False

    def add(self, block: Requests) -> None:
        """Follow the requests of *block*."""
        at = 0
        while not self._too_many:
            at = follow_depth(block.time_ns, block.latency_ns, at, self._heap, self._state, self._times_ns)
            if at == len(block):
                return
            if len(self._heap) >= MOST_ROOM:
                self._too_many = True
                return
            self._heap = np.concatenate([self._heap, np.empty(len(self._heap), np.int64)])

    def document(self, span_ns: int, total_latency_ns: float) -> dict[str, Any]:
        """Return the key ``depth`` of a trace with measured latencies."""
        known = not self._too_many
        if known:
            finish_depth(span_ns, self._heap, self._state, self._times_ns)
        highest = int(self._state[MAX])
        return {
            "mean": total_latency_ns / span_ns if span_ns else None,
            "max": highest if known else None,
            "share": (
                [
                    [1 << digits - 1 if digits else 0, float(self._times_ns[digits] / span_ns)]
                    for digits in range(highest.bit_length() + 1)
                ]
                if known and span_ns
                else None
            ),
        }
