"""How long each execution of a query took: what adds up, has the recorded spread, and is longer where pages were read.

A duration is the sum of a part that every execution has and of the time for its pages. Both are drawn between their
bounds (:mod:`.bounded`) so that their variances make up the recorded one, and then made whole nanoseconds that add up.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.synthesis.apportion import apportion, exact_sum
from tiersim.scenarios.calibration.synthesis.counted import Counted
from tiersim.scenarios.calibration.synthesis.draws import Draws, bounded_sample

#: Spread of what is not for pages, relative to its mean, where the time for pages explains the recorded one.
_BASE_SPREAD = 0.5

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Durations:
    """Of the executions of one query: ``base_ns`` + ``io_ns`` is how long each took."""

    base_ns: Times
    io_ns: Times


@dataclass(frozen=True)
class _Bounds:
    least_ns: int
    most_ns: int


@dataclass(frozen=True)
class _Part:
    total_ns: int
    stddev_ns: float


def draw_durations(
    query: Counted,
    io_total_ns: int,
    sizes: NDArray[np.float64] | None,
    pages_ns: NDArray[np.float64],
    pages: Times,
    draws: Draws,
) -> Durations:
    """Draw durations of all calls of *query*, *io_total_ns* of which were for pages.

    *sizes* are how much each has to do, None when they are alike. *pages_ns* is what each would take for its *pages* if
    pages
    took equally long; those with 0 get none of the time.
    """
    reading, idle = np.flatnonzero(pages_ns), np.flatnonzero(pages_ns == 0)
    if not io_total_ns or not len(reading):
        io_total_ns, reading, idle = 0, idle[:0], np.arange(query.calls)
    bounds = _bounds(query)
    base, io = _parts(query, io_total_ns, len(reading), bounds.most_ns, together=sizes is not None)
    noise = draws.normal(query.calls, "base")
    scores = noise if sizes is None else np.log(sizes) + _BASE_SPREAD * noise
    # The longest execution is one that reads, if the time for pages allows for it.
    longest_reads = io_total_ns >= bounds.most_ns - base.total_ns / query.calls
    base_ns = _draw_base(query, base, scores, bounds, reading, idle, io_total_ns, longest_idle=not longest_reads)
    io_ns = np.zeros(query.calls, np.int64)
    if io_total_ns:
        scores = np.log(pages_ns[reading]) + draws.normal(len(reading), "io") / np.sqrt(np.maximum(pages[reading], 1))
        longest = query.most_reached and longest_reads
        io_ns[reading] = _draw_io(io, scores, bounds, base_ns[reading], longest=longest)
    return Durations(base_ns, io_ns)


def _draw_base(
    query: Counted,
    base: _Part,
    scores: NDArray[np.float64],
    bounds: _Bounds,
    reading: Times,
    idle: Times,
    io_total_ns: int,
    *,
    longest_idle: bool,
) -> Times:
    """Draw what every execution takes besides its pages; those that are *reading* leave room for the time for these."""
    floor_ns = _floors(base.total_ns, query.calls, reading, bounds.least_ns)
    room_ns = np.full(query.calls, bounds.most_ns, np.int64)
    if len(reading):
        room_ns[reading] = np.maximum(bounds.most_ns - -(-io_total_ns // len(reading)), floor_ns[reading])
    if exact_sum(room_ns) < base.total_ns:
        room_ns = np.full(query.calls, query.exec_ns, np.int64)
    top = int(idle[np.argmax(scores[idle])]) if query.most_reached and len(idle) and longest_idle else None
    base_ns = _drawn(base, scores, floor_ns, room_ns, top)
    if query.least_reached and len(idle):
        base_ns = _pinned(base_ns, int(idle[np.argmin(base_ns[idle])]), bounds.least_ns, floor_ns, room_ns)
    return base_ns


def _draw_io(io: _Part, scores: NDArray[np.float64], bounds: _Bounds, base_ns: Times, *, longest: bool) -> Times:
    """Draw the time for pages of executions that take *base_ns* besides."""
    floor_ns = np.maximum(bounds.least_ns - base_ns, 0)
    room_ns = np.maximum(bounds.most_ns - base_ns, floor_ns)
    if exact_sum(floor_ns) > io.total_ns:
        floor_ns = np.zeros(len(base_ns), np.int64)
    if exact_sum(room_ns) < io.total_ns:  # reads of workers, or bounds that were reset
        room_ns = np.full(len(base_ns), io.total_ns)
    return _drawn(io, scores, floor_ns, room_ns, int(np.argmax(scores)) if longest else None)


def _floors(total_ns: int, count: int, reading: Times, least_ns: int) -> Times:
    """Return the least that each execution takes besides its pages: those that read none must take *least_ns* without
    them.
    """
    idle = count - len(reading)
    floor_ns = np.full(count, least_ns, np.int64)
    if least_ns * count > total_ns:
        floor_ns[reading] = max(0, (total_ns - least_ns * idle) // max(1, len(reading)))
    if exact_sum(floor_ns) > total_ns:
        floor_ns[:] = total_ns // count
    return floor_ns


def _bounds(query: Counted) -> _Bounds:
    """Return the least and most that an execution may take; the recorded mean lies between."""
    mean_ns = query.exec_ns / query.calls
    least_ns = 0 if query.least_ns is None else min(query.least_ns, math.floor(mean_ns))
    most_ns = query.exec_ns if query.most_ns is None else max(query.most_ns, math.ceil(mean_ns))
    return _Bounds(least_ns, most_ns)


def _parts(query: Counted, io_total_ns: int, reading: int, most_ns: int, *, together: bool) -> tuple[_Part, _Part]:
    """Divide total and variance between what every execution has and what is for pages.

    Both grow *together* with the size of an execution, or are independent; then the time for pages takes as much of the
    variance as it can, since storage varies most.
    """
    base_total_ns = query.exec_ns - io_total_ns
    if query.stddev_ns is None:
        return _Part(base_total_ns, 0.0), _Part(io_total_ns, 0.0)
    if not io_total_ns:
        return _Part(base_total_ns, query.stddev_ns), _Part(0, 0.0)
    base_share = base_total_ns / query.exec_ns
    mean_io, share = io_total_ns / query.calls, reading / query.calls
    mean_reading = mean_io / share
    outside = mean_io**2 * (1 / share - 1)  # because some read and others do not
    room = max(0.0, most_ns - base_total_ns / query.calls)
    most_inside = max(0.0, mean_reading * (room - mean_reading))
    variance = query.stddev_ns**2
    if together:
        wanted = variance * (1 - base_share) ** 2
        base = variance * base_share**2
    else:
        base = min((_BASE_SPREAD * base_total_ns / query.calls) ** 2, variance)
        wanted = variance - base
        possible = min(max(wanted, outside), outside + share * most_inside)
        base = max(0.0, variance - possible)
        wanted = possible
    inside = min(max(0.0, (wanted - outside) / share), most_inside)
    return _Part(base_total_ns, math.sqrt(base)), _Part(io_total_ns, math.sqrt(inside))


def _drawn(part: _Part, scores: NDArray[np.float64], least_ns: Times, most_ns: Times, top: int | None) -> Times:
    """Return times in the order of *scores* that add up, each within its bounds; that of *top* is its most, if
    possible.
    """
    count = len(scores)
    if top is not None and count > 1:
        others = np.delete(np.arange(count), top)
        left_ns = part.total_ns - int(most_ns[top])
        if exact_sum(least_ns[others]) <= left_ns <= exact_sum(most_ns[others]):
            squares = count * (part.stddev_ns**2 + (part.total_ns / count) ** 2) - float(most_ns[top]) ** 2
            variance = max(0.0, squares / (count - 1) - (left_ns / (count - 1)) ** 2)
            times = np.empty(count, np.int64)
            times[top] = most_ns[top]
            rest = _Part(left_ns, math.sqrt(variance))
            times[others] = _drawn(rest, scores[others], least_ns[others], most_ns[others], None)
            return times
    least, most = float(least_ns.min()), float(most_ns.max())
    sample = bounded_sample(scores, part.total_ns / count, part.stddev_ns, least, most)
    left_ns = part.total_ns - exact_sum(least_ns)
    return least_ns + apportion(left_ns, np.maximum(sample - least_ns, 0), most_ns - least_ns)


def _pinned(times: Times, place: int, value_ns: int, least_ns: Times, most_ns: Times) -> Times:
    """Return *times* with one of them as given and the others changed in proportion; unchanged when they cannot make up
    for it.
    """
    others = np.delete(np.arange(len(times)), place)
    left_ns = int(times.sum()) - value_ns - exact_sum(least_ns[others])
    spare_ns = most_ns[others] - least_ns[others]
    if left_ns < 0 or exact_sum(spare_ns) < left_ns:
        return times
    pinned = times.copy()
    pinned[place] = value_ns
    pinned[others] = least_ns[others] + apportion(left_ns, (times - least_ns)[others].astype(np.float64), spare_ns)
    return pinned
