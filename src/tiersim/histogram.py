"""Log-linear histograms of durations: 2^bits bins an octave, counted fast, merged by adding; counts of codes."""

import math

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel

#: 128 bins an octave, so a bin is at most 0.78 % wide.
FINE_BITS = 7
#: 16 bins an octave, at most 6.3 % wide: for one interval of a timeline.
COARSE_BITS = 4
#: Durations from 1 ns to 2^46 ns (19 hours); longer ones fall into the last bin.
OCTAVES = 46

_MANTISSA_BITS = 52
_EXPONENT_BIAS = 1023


def bins(bits: int) -> int:
    """Count the bins of a histogram with 2^bits bins an octave."""
    return OCTAVES << bits


@kernel
def bin_of(value_ns: int, bits: int) -> int:
    """Bin of a duration: octave and the leading bits of the mantissa, read off the float's own representation."""
    word = np.float64(max(value_ns, 1)).view(np.int64)
    index = int(word >> (_MANTISSA_BITS - bits)) - (_EXPONENT_BIAS << bits)
    last = (OCTAVES << bits) - 1
    return min(index, last)


def bin_edges_ns(bits: int) -> NDArray[np.float64]:
    """Return the lower edges of all bins and the upper edge of the last, float64[bins + 1]."""
    index = np.arange(bins(bits) + 1)
    edges: NDArray[np.float64] = np.ldexp(1 + (index & (1 << bits) - 1) / (1 << bits), index >> bits)
    return edges


FINE_EDGES_NS = bin_edges_ns(FINE_BITS)
COARSE_EDGES_NS = bin_edges_ns(COARSE_BITS)


@kernel
def count_durations(
    histograms: NDArray[np.int64],
    sums_ns: NDArray[np.int64],
    most_ns: NDArray[np.int64],
    group: NDArray[np.uint8],
    duration_ns: NDArray[np.int64],
) -> None:
    """Add durations (negative: not measured) to *histograms* (groups, fine bins), *sums_ns* and *most_ns* (groups,)."""
    for row in range(duration_ns.size):
        if duration_ns[row] >= 0:
            histograms[group[row], bin_of(duration_ns[row], FINE_BITS)] += 1
            sums_ns[group[row]] += duration_ns[row]
            most_ns[group[row]] = max(most_ns[group[row]], duration_ns[row])


def coarse_quantiles_ns(
    histograms: NDArray[np.int32] | NDArray[np.int64],
    whole: NDArray[np.int64],
    probability: float,
    most_ns: float = math.inf,
) -> NDArray[np.float64]:
    """Quantile of each row of (rows, coarse bins), *most_ns* at most, the largest of all; NaN for an empty row.

    Within a coarse bin, samples lie as those of the *whole* (fine bins) do, which the rows are parts of. So the
    quantile of a whole lies between those of its parts, and that of one part is that of the whole.
    """
    found = np.full(len(histograms), np.nan)
    used = np.flatnonzero(histograms.any(axis=0))
    if not used.size:
        return found
    first = int(used[0])
    cumulative = np.cumsum(histograms[:, first : used[-1] + 1], axis=1, dtype=np.int64)
    rows = np.flatnonzero(cumulative[:, -1])
    cumulative = cumulative[rows]
    rank = cumulative[:, -1] * probability
    place = np.minimum((cumulative < rank[:, None]).sum(axis=1), cumulative.shape[1] - 1)
    each = np.arange(len(rows))
    inside = histograms[rows, first + place]
    share = np.clip((rank - (cumulative[each, place] - inside)) / np.maximum(inside, 1), 0.0, 1.0)
    parts = 1 << FINE_BITS - COARSE_BITS
    within = whole.reshape(-1, parts)[first + place].astype(np.float64)
    within[within.sum(axis=1) == 0] = 1.0  # a whole that does not hold its parts: evenly
    behind = np.cumsum(within, axis=1) / within.sum(axis=1, keepdims=True)
    fine = np.minimum((behind < share[:, None]).sum(axis=1), parts - 1)
    width = within[each, fine] / within.sum(axis=1)
    left = np.clip(1 - (behind[each, fine] - share) / np.where(width > 0, width, 1.0), 0.0, 1.0)
    index = (first + place) * parts + fine
    within_ns = FINE_EDGES_NS[index] + left * (FINE_EDGES_NS[index + 1] - FINE_EDGES_NS[index])
    found[rows] = np.minimum(within_ns, most_ns)
    return found


def quantile_ns(histogram: NDArray[np.int64], rank: float, most_ns: float = math.inf) -> float:
    """Value below which *rank* samples of a fine histogram lie, interpolated within its bin; *most_ns* at most, the
    largest of them.
    """
    cumulative = np.cumsum(histogram)
    index = int(np.searchsorted(cumulative, rank, "left"))
    index = min(index, len(histogram) - 1)
    before = cumulative[index] - histogram[index]
    share = (rank - before) / histogram[index] if histogram[index] else 0.0
    low, high = FINE_EDGES_NS[index], FINE_EDGES_NS[index + 1]
    return min(float(low + min(max(share, 0.0), 1.0) * (high - low)), most_ns)


def counts_of(codes: NDArray[np.int32], length: int) -> NDArray[np.int64]:
    """Count the rows of each code below *length*, which is above all: ``np.bincount`` makes a copy twice as large."""
    counts = np.zeros(length, np.int64)
    count_codes(codes, counts)
    return counts


@kernel
def count_codes(codes: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    """Add the rows of each code to *counts*."""
    for row in range(codes.size):
        counts[codes[row]] += 1
