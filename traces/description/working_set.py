"""The working set: which pages a trace touches, and when it touches them again.

Pages are kept in an open-addressing table. When it is full, half of all places are forgotten, chosen by a hash of the
place, and from then on each touch that is still watched stands for twice as many (Waldspurger et al., FAST '15, sample
places in this way for miss-ratio curves).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiersim.histogram import bin_of, bins
from tiersim.kernel import kernel, table_set
from tiersim.random_numbers import SAMPLING, random_bits
from tiersim.traces.bundle import RequestColumns, Requests
from tiersim.traces.description.survey import PAGE_BYTES, RequestSurvey
from tiersim.traces.schema import READ, WRITE

Table = NDArray[np.int64]

#: A place is 16 pages (64 KiB): it is watched as a whole, or not at all.
PLACE_PAGES = 16
FIRST_SLOTS, MOST_SLOTS = 1 << 6, 1 << 23
#: Of four slots three are used, at most.
LOAD = 0.75
#: So many page touches are followed one by one; of more, a part is followed from the beginning.
MOST_TOUCHES = 1 << 28
#: Of more, not even the places can be gone through.
HOPELESS_PAGES = 1 << 36
CURVE_POINTS = 60

#: Bits of a page's state.
WAS_READ, WAS_WRITTEN, LAST_WAS_WRITE = 1, 2, 4
#: What is counted. AGAIN + 2 * operation + operation before: touches of a page touched before.
TOTAL, BY_READS, BY_WRITES, BOTH, READ_TOUCHES, WRITE_TOUCHES, AGAIN = range(7)
COUNTS = 11
#: Where following stopped: row, and page within it; how many slots are used.
S_ROW, S_PAGE, S_USED = range(3)


@table_set
class Pages(NamedTuple):
    """The table of watched pages."""

    numbers: Table  # -1: free
    touched_ns: Table
    states: NDArray[np.uint8]


def _pages(slots: int) -> Pages:
    return Pages(np.full(slots, -1, np.int64), np.empty(slots, np.int64), np.empty(slots, np.uint8))


@kernel
def _slot(numbers: Table, page: int) -> int:
    mask = len(numbers) - 1
    slot = ((page ^ page >> 31) & 0x7FFFFFFF) * 0x9E3779B1 >> 16 & mask
    while numbers[slot] >= 0 and numbers[slot] != page:
        slot = (slot + 1) & mask
    return slot


@kernel
def _watched(page: int, halvings: int) -> bool:
    return halvings == 0 or random_bits(0, SAMPLING, page // PLACE_PAGES, 0) < 1 << 32 - halvings


@kernel
def move_pages(old: Pages, new: Pages, halvings: int) -> int:
    """Copy the pages that are still watched to a table with room for them; return how many they are."""
    used = 0
    for slot in range(len(old.numbers)):
        page = old.numbers[slot]
        if page >= 0 and _watched(page, halvings):
            place = _slot(new.numbers, page)
            new.numbers[place] = page
            new.touched_ns[place] = old.touched_ns[slot]
            new.states[place] = old.states[slot]
            used += 1
    return used


@table_set
class TouchCounts(NamedTuple):
    """What is counted of touches, and how far they were followed."""

    state: Table  # S_ROW, S_PAGE, S_USED
    counts: Table  # (COUNTS,)
    curve: Table  # (points,): new pages over time
    since: Table  # (2, octaves): times since the last touch, of reads and of writes


@kernel
def touch_pages(
    block: RequestColumns, first_pages: Table, pages: Pages, room: int, halvings: int, step_ns: int, found: TouchCounts
) -> bool:
    """Touch the pages of reads and writes; return whether all are through, or no slot is free of *room*.

    ``first_pages`` is the number of the first page of each file; the curve counts new pages by *step_ns*.
    """
    weight = 1 << halvings
    for row in range(found.state[S_ROW], len(block.op)):
        operation = int(np.int64(block.op[row]))
        if operation > WRITE:
            continue
        base = first_pages[block.file[row]]
        page = base + (block.offset_bytes[row] // PAGE_BYTES if found.state[S_PAGE] < 0 else found.state[S_PAGE])
        last = base + (block.offset_bytes[row] + block.length_bytes[row] - 1) // PAGE_BYTES
        found.state[S_PAGE] = -1
        now_ns = block.time_ns[row]
        while page <= last:
            stop = min((page // PLACE_PAGES + 1) * PLACE_PAGES, last + 1)
            if not _watched(page, halvings):
                page = stop
                continue
            if found.state[S_USED] + PLACE_PAGES > room:
                found.state[S_ROW], found.state[S_PAGE] = row, page - base
                return False
            while page < stop:
                slot = _slot(pages.numbers, page)
                found.counts[READ_TOUCHES + operation] += weight
                if pages.numbers[slot] < 0:
                    pages.numbers[slot] = page
                    known = np.int64(0)
                    found.state[S_USED] += 1
                    found.counts[TOTAL] += weight
                    found.curve[min(now_ns // step_ns, len(found.curve) - 1)] += weight
                else:
                    known = np.int64(pages.states[slot])
                    before = 1 if known & LAST_WAS_WRITE else 0
                    found.counts[AGAIN + 2 * operation + before] += weight
                    found.since[operation, bin_of(now_ns - pages.touched_ns[slot], 0)] += weight
                own = WAS_READ if operation == READ else WAS_WRITTEN
                if not known & own:
                    found.counts[BY_READS + operation] += weight
                    if known & (WAS_READ | WAS_WRITTEN):
                        found.counts[BOTH] += weight
                pages.touched_ns[slot] = now_ns
                pages.states[slot] = (
                    known & (WAS_READ | WAS_WRITTEN) | own | (LAST_WAS_WRITE if operation == WRITE else 0)
                )
                page += 1
    found.state[S_ROW] = 0
    return True


class WorkingSet:
    """The pages that a trace touches."""

    def __init__(self, survey: RequestSurvey, span_ns: int) -> None:
        """Make room for what the *survey* found."""
        self._survey, self._span_ns = survey, span_ns
        self._step_ns = span_ns // CURVE_POINTS + 1
        self._found = TouchCounts(
            state=np.array([0, -1, 0], np.int64),
            counts=np.zeros(COUNTS, np.int64),
            curve=np.zeros(max(-(-span_ns // self._step_ns), 1), np.int64),
            since=np.zeros((2, bins(0)), np.int64),
        )
        self._table = _pages(FIRST_SLOTS)
        touches = survey.page_reads + survey.page_writes
        self._halvings = max((touches - 1) // MOST_TOUCHES, 0).bit_length()
        # a place belongs to one file
        ends = [-(-int(end) // (PAGE_BYTES * PLACE_PAGES)) * PLACE_PAGES for end in survey.file_end_bytes]
        self._hopeless = touches > HOPELESS_PAGES or sum(ends) >= 1 << 62
        if not self._hopeless:
            self._first_pages = np.cumsum([0, *ends], dtype=np.int64)

    def add(self, block: Requests) -> None:
        """Touch what *block* reads and writes."""
        columns = block.columns
        while not self._hopeless and not touch_pages(
            columns,
            self._first_pages,
            self._table,
            int(len(self._table.numbers) * LOAD),
            self._halvings,
            self._step_ns,
            self._found,
        ):
            self._make_room()

    def document(self) -> dict[str, Any] | None:
        """Return the key ``working_set``."""
        if self._hopeless:
            return None
        total, read, written, both = (int(count) * PAGE_BYTES for count in self._found.counts[: BOTH + 1])
        starts = np.arange(1, len(self._found.curve) + 1) * self._step_ns
        return {
            "page_bytes": PAGE_BYTES,
            "total_bytes": total,
            "read_bytes": read,
            "written_bytes": written,
            "both_bytes": min(both, read, written),
            "curve": {
                "time_ns": np.minimum(starts, self._span_ns).tolist(),
                "bytes": (np.cumsum(self._found.curve) * PAGE_BYTES).tolist(),
            },
            "estimated": self._halvings > 0,
            "sampled_share": 0.5**self._halvings,
        }

    def re_reference(self) -> dict[str, Any] | None:
        """Return the key ``re_reference``."""
        if self._hopeless:
            return None
        reads, writes = int(self._found.counts[READ_TOUCHES]), int(self._found.counts[WRITE_TOUCHES])
        again = self._found.counts[AGAIN:].tolist()
        return {
            "page_reads": self._survey.page_reads,
            "page_writes": self._survey.page_writes,
            "read_after_read": again[0] / reads if reads else None,
            "read_after_write": again[1] / reads if reads else None,
            "write_after_read": again[2] / writes if writes else None,
            "write_after_write": again[3] / writes if writes else None,
            "reads_since_last_ns": _drawn(self._found.since[READ]),
            "writes_since_last_ns": _drawn(self._found.since[WRITE]),
        }

    def _make_room(self) -> None:
        slots = len(self._table.numbers)
        if slots < MOST_SLOTS:
            slots *= 2
        else:
            self._halvings += 1
        table = _pages(slots)
        self._found.state[S_USED] = move_pages(self._table, table, self._halvings)
        self._table = table


def _drawn(histogram: Table) -> list[list[int]]:
    return [[1 << octave, 2 << octave, int(histogram[octave])] for octave in map(int, np.flatnonzero(histogram))]
