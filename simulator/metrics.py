"""What is measured while time moves: latency histograms and the timeline, written by both engines through one kernel."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel

#: Latency histogram: 128 bins an octave, so a bin is at most 0.78 % wide.
FINE_BITS = 7
#: Histogram of one interval of the timeline: 16 bins an octave, at most 6.3 % wide.
COARSE_BITS = 4
#: Latencies from 1 ns to 2^46 ns (19 hours); longer ones fall into the last bin.
OCTAVES = 46

_MANTISSA_BITS = 52
_EXPONENT_BIAS = 1023


class Metrics(NamedTuple):
    """Counts by category (see the replay) and interval; every interval has the same length but the last, which is open."""

    interval_ns: NDArray[np.int64]  # (1,) length of an interval
    latency: NDArray[np.int64]  # (categories, fine bins)
    latency_over_time: NDArray[np.int32]  # (intervals, categories, coarse bins), by intended start
    latency_sum_ns: NDArray[np.int64]  # (intervals, categories), by intended start
    latency_max_ns: NDArray[np.int64]  # (categories,)
    latency_min_ns: NDArray[np.int64]  # (categories,)
    arrivals: NDArray[np.int64]  # (intervals, categories)
    completions: NDArray[np.int64]  # (intervals, categories), by completion
    completed_bytes: NDArray[np.int64]  # (intervals, categories), by completion
    outstanding: NDArray[np.int64]  # (intervals, stations) at the end of the interval
    work_ns: NDArray[np.int64]  # (intervals, stations, resources) since time 0, at the end of the interval


def bins(bits: int) -> int:
    """Count the bins of a histogram with 2^bits bins an octave."""
    return OCTAVES << bits


@kernel
def bin_of(value_ns: int, bits: int) -> int:
    """Bin of a latency: octave and the leading bits of the mantissa, read off the float's own representation."""
    word = np.float64(max(value_ns, 1)).view(np.int64)
    index = (word >> (_MANTISSA_BITS - bits)) - (_EXPONENT_BIAS << bits)
    return min(index, (OCTAVES << bits) - 1)


def bin_edges_ns(bits: int) -> NDArray[np.float64]:
    """Return the lower edges of all bins and the upper edge of the last, float64[bins + 1]."""
    index = np.arange(bins(bits) + 1)
    return np.ldexp(1 + (index & (1 << bits) - 1) / (1 << bits), index >> bits)


def new_metrics(categories: int, stations: int, resources: int, intervals: int, interval_ns: int) -> Metrics:
    """Make empty metrics."""
    return Metrics(
        interval_ns=np.array([interval_ns], np.int64),
        latency=np.zeros((categories, bins(FINE_BITS)), np.int64),
        latency_over_time=np.zeros((intervals, categories, bins(COARSE_BITS)), np.int32),
        latency_sum_ns=np.zeros((intervals, categories), np.int64),
        latency_max_ns=np.zeros(categories, np.int64),
        latency_min_ns=np.full(categories, np.iinfo(np.int64).max),
        arrivals=np.zeros((intervals, categories), np.int64),
        completions=np.zeros((intervals, categories), np.int64),
        completed_bytes=np.zeros((intervals, categories), np.int64),
        outstanding=np.zeros((intervals, stations), np.int64),
        work_ns=np.zeros((intervals, stations, resources), np.int64),
    )


@kernel
def record_completion(
    m: Metrics, category: int, arrival_interval: int, now_interval: int, latency_ns: int, length_bytes: int
) -> None:
    """Count one completed request."""
    m.latency[category, bin_of(latency_ns, FINE_BITS)] += 1
    m.latency_over_time[arrival_interval, category, bin_of(latency_ns, COARSE_BITS)] += 1
    m.latency_sum_ns[arrival_interval, category] += latency_ns
    m.latency_max_ns[category] = max(m.latency_max_ns[category], latency_ns)
    m.latency_min_ns[category] = min(m.latency_min_ns[category], latency_ns)
    m.completions[now_interval, category] += 1
    m.completed_bytes[now_interval, category] += length_bytes
