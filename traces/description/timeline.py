"""How a trace goes over time: requests, bytes and latency by class, and requests in flight, in equal intervals."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel, table_set
from tiersim.traces.bundle import RequestColumns, Requests
from tiersim.traces.description.survey import CLASSES, RequestSurvey

Table = NDArray[np.int64]

MAX_INTERVALS = 240


@table_set
class IntervalCounts(NamedTuple):
    """What is counted of each interval."""

    counts: Table  # (3, classes, intervals): requests, bytes, measured
    sums_ns: NDArray[np.float64]  # (classes, intervals): latencies
    in_flight_ns: NDArray[np.float64]  # (intervals + 1,): spent in flight, in those that a request fills in part
    whole: Table  # (intervals + 1,): steps up and down, of those that it fills


@kernel
def count_in_intervals(
    block: RequestColumns, classes: NDArray[np.uint8], interval_ns: int, intervals: IntervalCounts
) -> None:
    """Add requests to the intervals that they lie in."""
    for row in range(len(block.time_ns)):
        code = int(np.int64(classes[row]))
        begin, latency = block.time_ns[row], block.latency_ns[row]
        first = begin // interval_ns
        intervals.counts[0, code, first] += 1
        intervals.counts[1, code, first] += block.length_bytes[row]
        if latency < 0:
            continue
        intervals.counts[2, code, first] += 1
        intervals.sums_ns[code, first] += latency
        last = (begin + latency) // interval_ns
        if last == first:
            intervals.in_flight_ns[first] += latency
        else:
            intervals.in_flight_ns[first] += (first + 1) * interval_ns - begin
            intervals.in_flight_ns[last] += begin + latency - last * interval_ns
            intervals.whole[first + 1] += 1
            intervals.whole[last] -= 1


class Timeline:
    """The figures of each interval."""

    def __init__(self, survey: RequestSurvey, span_ns: int) -> None:
        """Cut the *span_ns* of the trace into intervals."""
        self._span_ns, self._measured = span_ns, survey.measured
        self.interval_ns = round_interval_ns(span_ns)
        count = span_ns // self.interval_ns + 1
        self._intervals = IntervalCounts(
            counts=np.zeros((3, len(CLASSES), count), np.int64),
            sums_ns=np.zeros((len(CLASSES), count)),
            in_flight_ns=np.zeros(count + 1),
            whole=np.zeros(count + 1, np.int64),
        )

    def add(self, block: Requests, classes: NDArray[np.uint8]) -> None:
        """Count the requests of *block*."""
        count_in_intervals(block.columns, classes, self.interval_ns, self._intervals)

    def document(self) -> dict[str, Any]:
        """Return the key ``timeline``."""
        counts, length_bytes, measured = self._intervals.counts
        starts = np.arange(counts.shape[1]) * self.interval_ns
        return {
            "interval_ns": self.interval_ns,
            "start_ns": starts.tolist(),
            "by_class": {
                name: {
                    "count": counts[code].tolist(),
                    "bytes": length_bytes[code].tolist(),
                    "mean_latency_ns": _ratios(self._intervals.sums_ns[code], measured[code]),
                }
                for code, name in enumerate(CLASSES)
                if counts[code].any()
            },
            "depth_mean": self._depths(starts) if self._measured else None,
        }

    def _depths(self, starts: Table) -> list[float | None]:
        in_flight_ns = self._intervals.in_flight_ns + np.cumsum(self._intervals.whole) * self.interval_ns
        return _ratios(in_flight_ns[:-1], np.minimum(self.interval_ns, self._span_ns - starts))


def round_interval_ns(span_ns: int) -> int:
    """Return the smallest of 1, 2, 5, 10, 20 … ns that cuts the span into at most MAX_INTERVALS."""
    power = 1
    while True:
        for step in (1, 2, 5):
            if span_ns // (step * power) < MAX_INTERVALS:
                return step * power
        power *= 10


def _ratios(sums: NDArray[np.float64], counts: Table) -> list[float | None]:
    """Divide, to the six digits that a drawing can show."""
    return [float(f"{total / count:.6g}") if count else None for total, count in zip(sums, counts, strict=True)]
