"""Whether the numbers that an import wrote can be those of a storage: a wrong unit, or a clock too coarse, is said
aloud.

It looks at the written columns alone, so every format goes through the same check. Nothing is changed or left out by
it.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.bundle import MOST, Requests, starts_late
from tiersim.traces.schema import COARSE_CLOCK, FLUSH
from tiersim.units import NS_PER_MS, NS_PER_S, NS_PER_US, format_bytes, format_ns

#: Nobody records for longer; a Unix time in a wrong unit gives such spans.
LONGEST_SPAN_NS = 10 * 365 * 24 * 3600 * NS_PER_S
#: More than this no host can issue: two orders above the largest all-flash arrays (about a million a second).
HIGHEST_RATE_PER_S = 100_000_000
#: Linux gives a command up after 30 s and tries five times (sd), so a mean above 100 s is a unit.
LONGEST_MEAN_NS = 100 * NS_PER_S
#: Below the time that a kernel takes to pass a request on; the fastest drives take ten times as long.
SHORTEST_MEAN_NS = NS_PER_US
#: On average in flight, rate × mean latency: an NVMe queue holds 65,535, SCSI hosts some thousands.
MOST_IN_FLIGHT = 65_535
#: Volumes end far below this, and the bundle's own limit (1 EiB) far above.
LARGEST_OFFSET_BYTES = 1 << 50
#: Kernels cut requests to some MiB; a mean above this comes from sectors taken for pages, or bytes for sectors.
LARGEST_MEAN_BYTES = 64 << 20
SECTOR_BYTES = 512
#: Fewer requests say nothing about a clock, a rate or a mean.
ENOUGH = 16
#: A clock is too coarse where so many requests share their time with the one before.
TIED_SHARE = 0.1
#: A latency of fewer ticks than this, on average, is mostly rounding.
ENOUGH_TICKS = 10
EXACTLY_ZERO_SHARE = 0.1
_TICKS_NS = (NS_PER_S, 100 * NS_PER_MS, 10 * NS_PER_MS, NS_PER_MS)
_LIMITED = ("time_ns", "offset_bytes", "length_bytes")


class Plausibility:
    """Running figures of all blocks, and what is odd about them."""

    def __init__(self, source: str) -> None:
        """Know nothing yet; *source* is what a refusal names."""
        self._source = source
        self._rows = 0
        self._first_ns = self._last_ns = 0
        self._measured = self._zero_latencies = 0
        self._latency_ns = 0
        self._transfers = self._transferred_bytes = self._unaligned = 0
        self._end_bytes = 0
        self._length_bytes = 0.0
        self._resolution, self._latency_clock = Resolution(), _Clock()

    def see(self, block: Requests) -> None:
        """Take a block in; raises TraceError for a value that no bundle can hold."""
        if not len(block):
            return
        self._refuse_what_no_bundle_holds(block)
        times = block.time_ns
        if not self._rows:
            self._first_ns = self._last_ns = int(times[0])
        self._rows += len(block)
        self._last_ns = int(times[-1])
        self._resolution.see(times)

        latencies = block.latency_ns[block.latency_ns >= 0]
        self._measured += len(latencies)
        self._latency_ns += int(latencies.sum(dtype=np.float64))
        self._zero_latencies += int(np.count_nonzero(latencies == 0))
        self._latency_clock.see(latencies)

        with_place, moved = block.op != FLUSH, block.op < FLUSH
        unaligned = (block.offset_bytes | block.length_bytes) & (SECTOR_BYTES - 1) != 0
        self._unaligned += int(np.count_nonzero(unaligned & with_place))
        ends = block.offset_bytes + block.length_bytes
        self._end_bytes = max(self._end_bytes, int(ends.max(where=with_place, initial=0)))
        self._transfers += int(np.count_nonzero(moved))
        self._transferred_bytes += int(block.length_bytes.sum(where=moved, dtype=np.float64))

    def warnings(self) -> list[str]:
        """Say what is odd, one sentence each."""
        if not self._rows:
            return ["there is not one request"]
        return [*self._about_time(), *self._about_latency(), *self._about_places()]

    def _refuse_what_no_bundle_holds(self, block: Requests) -> None:
        for name in _LIMITED:
            column: NDArray[np.int64] = getattr(block, name)
            if column.min() < 0 or column.max() > MOST:
                bad = np.flatnonzero((column < 0) | (column > MOST))
                raise TraceError(
                    f"{self._source}: request {self._rows + int(bad[0]):,}: {name} {int(column[bad[0]])} is not between"
                    " 0 and 2^60; the file is damaged, or of another format"
                )
        self._length_bytes += float(block.length_bytes.sum(dtype=np.float64))
        if self._length_bytes > MOST:
            raise TraceError(
                f"{self._source}: its requests together are longer than 2^60 bytes; is the unit of lengths right?"
            )

    def _about_time(self) -> list[str]:
        said = []
        span_ns = self._last_ns - self._first_ns
        if self._rows > 1 and span_ns == 0:
            said.append(f"all {self._rows:,} requests have the same time: rates and queues mean nothing")
        if span_ns > LONGEST_SPAN_NS:
            said.append(f"the requests span {span_ns / LONGEST_SPAN_NS * 10:,.0f} years: is the unit of time right?")
        if starts_late(self._first_ns, span_ns):
            said.append(f"the first request comes {format_ns(self._first_ns)} after time 0: are times counted from it?")
        if self._rows >= ENOUGH and span_ns and self._rows / span_ns * NS_PER_S > HIGHEST_RATE_PER_S:
            rate = self._rows / span_ns * NS_PER_S
            said.append(f"{rate:,.0f} requests a second are more than any host issues: is the unit of time right?")
        if self._resolution.tick_ns:
            tick = format_ns(self._resolution.tick_ns)
            said.append(
                f"{COARSE_CLOCK} {tick}: order inside {tick} is all there is, so queues, bursts and latency at this"
                " load are not recorded"
            )
        return said

    def _about_latency(self) -> list[str]:
        if self._measured < ENOUGH:
            return []
        said = []
        mean_ns = self._latency_ns / self._measured
        span_ns = self._last_ns - self._first_ns
        if mean_ns > LONGEST_MEAN_NS:
            said.append(f"the mean latency is {format_ns(mean_ns)}: is the unit of latency right?")
        elif mean_ns < SHORTEST_MEAN_NS:
            said.append(
                f"the mean latency is {format_ns(mean_ns)}, less than any storage takes: was it measured at all?"
            )
        elif self._zero_latencies > EXACTLY_ZERO_SHARE * self._measured:
            share = self._zero_latencies / self._measured
            said.append(f"{share:.0%} of the latencies are exactly 0: they were not measured, or are below the clock")
        if span_ns and self._latency_ns / span_ns > MOST_IN_FLIGHT:
            said.append(
                f"by rate and mean latency {self._latency_ns / span_ns:,.0f} requests were in flight on average: do"
                " times and latencies have the units that were assumed?"
            )
        tick_ns = self._latency_clock.tick_ns
        if 0 < mean_ns < ENOUGH_TICKS * tick_ns:
            said.append(
                f"latencies are multiples of {format_ns(tick_ns)} and {format_ns(mean_ns)} on average: mostly rounding"
            )
        return said

    def _about_places(self) -> list[str]:
        said = []
        if self._end_bytes > LARGEST_OFFSET_BYTES:
            said.append(
                f"the last byte touched is {format_bytes(self._end_bytes)} from the start: is the unit of offsets"
                " right?"
            )
        if self._transfers and self._transferred_bytes / self._transfers > LARGEST_MEAN_BYTES:
            mean = self._transferred_bytes / self._transfers
            said.append(f"the mean request is {format_bytes(mean)}: is the unit of lengths right?")
        if self._unaligned:
            said.append(
                f"{self._unaligned:,} of {self._rows:,} requests do not begin and end on a multiple of {SECTOR_BYTES}"
                " bytes: no block device is asked so, they were recorded above it"
            )
        return said


class _Clock:
    """The coarsest of a few ticks that all durations seen are multiples of; 0 when there is none."""

    def __init__(self) -> None:
        self._left = list(_TICKS_NS)
        self._seen = False

    @property
    def tick_ns(self) -> int:
        return self._left[0] if self._left and self._seen else 0

    def see(self, durations_ns: NDArray[np.int64]) -> None:
        self._seen = self._seen or bool(np.any(durations_ns))
        while self._left and np.any(durations_ns % self._left[0]):
            self._left.pop(0)


class Resolution:
    """The tick of the clock that requests were recorded by, where so many share one that their order inside it is all
    that is known; 0 elsewhere.
    """

    def __init__(self) -> None:
        """Know no request."""
        self._rows = self._ties = 0
        self._first_ns = self._last_ns = -1
        self._clock = _Clock()

    def see(self, time_ns: NDArray[np.int64]) -> None:
        """Take in times, which do not fall."""
        if not self._rows:
            self._first_ns = int(time_ns[0])
        self._ties += int(np.count_nonzero(time_ns[1:] == time_ns[:-1])) + (int(time_ns[0]) == self._last_ns)
        self._rows += len(time_ns)
        self._last_ns = int(time_ns[-1])
        self._clock.see(time_ns - self._first_ns)

    @property
    def tick_ns(self) -> int:
        """That tick."""
        is_coarse = self._rows >= ENOUGH and self._ties >= TIED_SHARE * self._rows
        return self._clock.tick_ns if is_coarse else 0
