"""How a trace goes over time: requests, bytes and latency by class, and requests in flight, in equal intervals."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel
from tiersim.traces.bundle import Requests
from tiersim.traces.description.survey import CLASSES, Survey

Table = NDArray[np.int64]

MAX_INTERVALS = 240


@kernel
def count_in_intervals(
    classes: NDArray[np.uint8],
    time_ns: Table,
    length_bytes: Table,
    latency_ns: Table,
    interval_ns: int,
    counts: Table,
    sums_ns: NDArray[np.float64],
    in_flight_ns: NDArray[np.float64],
    whole: Table,
) -> None:
    """Add requests to the intervals that they lie in.

    ``counts`` (3, classes, intervals): requests, bytes, measured; ``sums_ns`` (classes, intervals): latencies; what a
    request spends in flight goes to ``in_flight_ns`` (intervals + 1,) for the intervals that it fills in part, and to
    ``whole`` (intervals + 1,), as steps up and down, for those that it fills.
    """
    for row in range(len(time_ns)):
        code = int(np.int64(classes[row]))
        begin, latency = time_ns[row], latency_ns[row]
        first = begin // interval_ns
        counts[0, code, first] += 1
        counts[1, code, first] += length_bytes[row]
        if latency < 0:
            continue
        counts[2, code, first] += 1
        sums_ns[code, first] += latency
        last = (begin + latency) // interval_ns
        if last == first:
            in_flight_ns[first] += latency
        else:
            in_flight_ns[first] += (first + 1) * interval_ns - begin
            in_flight_ns[last] += begin + latency - last * interval_ns
            whole[first + 1] += 1
            whole[last] -= 1


class Timeline:
    """The figures of each interval."""

    def __init__(self, survey: Survey, span_ns: int) -> None:
        """Cut the *span_ns* of the trace into intervals."""
        self._span_ns, self._measured = span_ns, survey.measured
        self.interval_ns = round_interval_ns(span_ns)
        self._intervals = span_ns // self.interval_ns + 1
        self._counts = np.zeros((3, len(CLASSES), self._intervals), np.int64)
        self._sums_ns = np.zeros((len(CLASSES), self._intervals))
        self._in_flight_ns = np.zeros(self._intervals + 1)
        self._whole = np.zeros(self._intervals + 1, np.int64)

    def add(self, block: Requests, classes: NDArray[np.uint8]) -> None:
        """Count the requests of *block*."""
        count_in_intervals(
            classes,
            block.time_ns,
            block.length_bytes,
            block.latency_ns,
            self.interval_ns,
            self._counts,
            self._sums_ns,
            self._in_flight_ns,
            self._whole,
        )

    def document(self) -> dict[str, Any]:
        """Return the key ``timeline``."""
        counts, length_bytes, measured = self._counts
        starts = np.arange(self._intervals) * self.interval_ns
        return {
            "interval_ns": self.interval_ns,
            "start_ns": starts.tolist(),
            "by_class": {
                name: {
                    "count": counts[code].tolist(),
                    "bytes": length_bytes[code].tolist(),
                    "mean_latency_ns": _ratios(self._sums_ns[code], measured[code]),
                }
                for code, name in enumerate(CLASSES)
                if counts[code].any()
            },
            "depth_mean": self._depths(starts) if self._measured else None,
        }

    def _depths(self, starts: Table) -> list[float | None]:
        in_flight_ns = self._in_flight_ns + np.cumsum(self._whole) * self.interval_ns
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
