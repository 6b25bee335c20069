"""When tenants would hurt each other most, if each began sooner or later: adding up what each keeps busy alone says
which beginnings to try, and simulation says what becomes of them.

For one place and stretches of one length the sum is exact and soon done: whatever shifts are, at one time each tenant
has one of the stretches that its bounds allow, and the most is asked for when each has its busiest one of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tiersim.scenarios.replay import INTERVALS, Played
from tiersim.simulator.categories import REQUESTS
from tiersim.simulator.metrics import of_recording
from tiersim.units import NS_PER_S

#: What is called a minute: at least an interval of the timeline, and of short recordings no more than a twelfth.
_MINUTE_NS, _SHORTEST = 60 * NS_PER_S, 12
#: Beginnings that are simulated.
MOST_TRIED = 3
#: Stretches in which work is added up, in minutes: a backlog grows over several of them.
_LENGTHS = (1, 5)
#: Minutes with less than this share of a tenant's mean number of requests are not judged: a few requests are no mean.
_FEWEST = 0.1


@dataclass(frozen=True)
class Beginnings:
    """A way to begin: so many minutes later than aligned each, sooner if negative; what it was chosen for."""

    place: str
    busy: float  # share of it that is asked for, in the worst stretch
    shifts: tuple[int, ...]


def minute_ns(whole_ns: int) -> int:
    """Return how long a minute is in runs of that length."""
    return max(min(_MINUTE_NS, whole_ns // _SHORTEST), -(-whole_ns // INTERVALS), 1)


def worst_beginnings(
    demands: Sequence[Mapping[str, NDArray[np.float64]]], begins: Sequence[int], most: int
) -> list[Beginnings]:
    """Return the beginnings at which most is asked for, the worst first.

    *demands* are the shares of each minute that each tenant keeps places busy (:func:`~.demands.busy`), *begins* the
    minutes at which each is aligned to begin, *most* how many it may begin sooner or later.
    """
    found = []
    for place in dict.fromkeys(place for own in demands for place in own):
        own = [demand.get(place, np.zeros(1)) for demand in demands]
        if sum(bool(one.any()) for one in own) > 1:
            found += [_worst_of(place, own, begins, most, length) for length in _LENGTHS]
    chosen: list[Beginnings] = []
    for one in sorted(found, key=lambda one: -one.busy):
        known = [(0,) * len(begins), *(other.shifts for other in chosen)]
        if all(_differ(one.shifts, other) for other in known):
            chosen.append(one)
    return chosen[:MOST_TRIED]


def _differ(shifts: Sequence[int], others: Sequence[int]) -> bool:
    """Tell whether tenants begin at other distances from each other, by more than a minute."""
    moved = [one - other for one, other in zip(shifts, others, strict=True)]
    return max(moved) - min(moved) > 1


def _worst_of(
    place: str, demands: Sequence[NDArray[np.float64]], begins: Sequence[int], most: int, length: int
) -> Beginnings:
    """Return the beginnings at which most is asked of a place over *length* minutes."""
    end = max(begin + len(own) for begin, own in zip(begins, demands, strict=True))
    reach = min(most, end)
    total, sums = np.zeros(end), []
    for begin, own in zip(begins, demands, strict=True):
        padded = np.zeros(end + 2 * reach + length - 1)
        padded[reach + begin : reach + begin + len(own)] = own
        windows = sliding_window_view(padded, length).mean(axis=1)  # window 0 begins *reach* before time 0
        sums.append(windows)
        total += sliding_window_view(windows, 2 * reach + 1).max(axis=1)
    at = int(total.argmax())
    shifts = []
    for windows in sums:
        within = windows[at : at + 2 * reach + 1]
        best = np.flatnonzero(within == within.max())
        place_of = int(best[np.abs(best - reach).argmin()])  # the nearest of those that are alike
        shifts.append(reach - place_of)
    middle = (max(shifts) + min(shifts)) // 2  # what all have in common changes nothing
    return Beginnings(place, float(total[at]), tuple(shift - middle for shift in shifts))


def worst_minute(played: Played, number: int, width_ns: int) -> dict[str, Any]:
    """Return when one tenant's requests took longest on average, in its own time, and how long.

    What comes after the last recording is over, from tenants that fall behind, is one stretch, however long.
    """
    own, interval_ns = of_recording(played.metrics, number), int(played.metrics.interval_ns[0])
    width = max(1, round(width_ns / interval_ns))
    counts, took_ns = (
        np.append(sliding_window_view(one[:INTERVALS], width).sum(axis=1), one[INTERVALS:].sum())
        for one in (own.arrivals[:, REQUESTS].sum(axis=1), own.latency_sum_ns[:, REQUESTS].sum(axis=1))
    )
    within = counts[:-1]
    enough = counts >= max(1.0, _FEWEST * within[within > 0].mean())
    means_ns = np.where(enough, took_ns / np.maximum(counts, 1), 0.0)
    at = int(means_ns.argmax())
    begin_ns = (at if at < len(within) else INTERVALS) * interval_ns - played.parts[number].shift_ns
    return {"start_ns": begin_ns, "mean_latency_ns": float(means_ns[at]), "requests": int(counts[at])}
