"""The scan of binary blktrace records: bytes in, the events that matter out.

A record is 48 bytes (version 7) or 64 (version 8, Linux 6.19), in the byte order of the recording host, followed by
``pdu_len`` bytes. Sources: ``include/uapi/linux/blktrace_api.h`` and the kernel patches that add ``blk_io_trace2``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.kernel import kernel

Bytes = NDArray[np.uint8]
#: Kernels take no array that is not aligned, but a packed record is, wherever it begins.
_WORD = np.dtype([("value", "<u4")])
WORD_BYTES = _WORD.itemsize
Words = NDArray[Any]
Table = NDArray[np.int64]

MAGIC = 0x65617400  # the low byte is the version
HEADER_BYTES_7, HEADER_BYTES_8 = 48, 64
#: No kernel writes longer payloads; a longer one is damage.
MAX_PDU_BYTES = 1024
MAX_RECORD_BYTES = HEADER_BYTES_8 + MAX_PDU_BYTES
#: Records of one file may be out of time order by this much (interrupts come between the clock and the buffer).
MAX_DISORDER_NS = 100_000_000
#: A leap of the clock by more than this is looked at twice.
LEAP_NS = 1_000_000_000
MAX_SECTOR = 1 << 51  # 2^60 bytes: no device is larger
MAX_CPUS = 4096
#: Sequence numbers that leap further are damaged.
MAX_LOST_EVENTS = 1 << 24
MAX_ACTION = 31

#: Categories: the bits of an action from 16 up.
CAT_WRITE, CAT_FLUSH, CAT_SYNC, CAT_PC, CAT_NOTIFY = 0x2, 0x4, 0x8, 0x200, 0x400
CAT_AHEAD, CAT_META, CAT_DISCARD, CAT_FUA = 0x800, 0x1000, 0x2000, 0x8000

#: Actions that matter: queue, requeue, issue, complete, split; a process's name is given the number 0.
NAME, QUEUE, REQUEUE, ISSUE, COMPLETE, SPLIT = 0, 1, 6, 7, 8, 13
KEPT = 1 << QUEUE | 1 << REQUEUE | 1 << ISSUE | 1 << COMPLETE | 1 << SPLIT

#: Columns of an event. EXTRA is the new sector of a split, the error of a completion, or where a name stands in the
#: bytes; BYTES is a multiple of 512.
TIME_NS, SECTOR, BYTES, ACTION, CATEGORIES, PID, DEVICE, EXTRA = range(8)
EVENT_COLUMNS = 8

#: What the scan counts: see ``SCAN_COUNTS``. IN_DAMAGE and HIGHEST_NS are its memory between calls.
LOST_BYTES, DAMAGED_PLACES, IMPOSSIBLE, OUT_OF_ORDER, RECORDS, IN_DAMAGE, HIGHEST_NS = range(7)
SCAN_COUNTS = 7


def words_of(data: Bytes) -> Words:
    """Return the 32-bit words of *data*, one from each byte on but for the last few: a record may begin anywhere."""
    return np.ndarray(len(data) - WORD_BYTES, _WORD, data, strides=(1,))


@kernel(checked=True)
def _u32(words: Words, at: int, big: bool) -> int:
    value = int(np.int64(words[at]["value"]))
    if big:
        value = (value & 0xFF) << 24 | (value & 0xFF00) << 8 | value >> 8 & 0xFF00 | value >> 24
    return value


@kernel(checked=True)
def _u64(words: Words, at: int, big: bool) -> int:
    """Return the unsigned 64-bit number at *at*, or -1 when it is 2^63 or more."""
    first, second = _u32(words, at, big), _u32(words, at + 4, big)
    high, low = (first, second) if big else (second, first)
    return -1 if high >= 1 << 31 else high << 32 | low


@kernel(checked=True)
def _u16(words: Words, at: int, first: bool, big: bool) -> int:
    """Return the *first*, or the second, of the two 16-bit numbers at *at*."""
    return _u32(words, at, big) >> (16 if big == first else 0) & 0xFFFF


@kernel(checked=True)
def header_bytes(words: Words, at: int, end: int, big: bool) -> int:
    """Return the header's length when a plausible, whole header stands at *at*, otherwise 0."""
    if at + HEADER_BYTES_7 > end:
        return 0
    magic = _u32(words, at, big)
    if magic == MAGIC | 7:
        size = HEADER_BYTES_7
    elif magic == MAGIC | 8:
        size = HEADER_BYTES_8
    else:
        return 0
    if at + size > end or _pdu_bytes(words, at, size, big) > MAX_PDU_BYTES:
        return 0
    return size


@kernel(checked=True)
def _pdu_bytes(words: Words, at: int, size: int, big: bool) -> int:
    """Return the payload's length; the last fields of either version lie at other places."""
    return _u16(words, at + (44 if size == HEADER_BYTES_7 else 48), False, big)


@kernel(checked=True)
def find_header(words: Words, start: int, big: bool) -> int:
    """Return the first place from *start* on with a plausible header, or -1."""
    end = len(words)
    for at in range(start, end - HEADER_BYTES_7 + 1):
        if header_bytes(words, at, end, big) > 0:
            return at
    return -1


@kernel(checked=True)
def _is_leap(words: Words, following: int, end: int, big: bool, time_ns: int) -> bool:
    """Tell a damaged clock from an idle device: after damage, the next record is back in time."""
    if header_bytes(words, following, end, big) == 0:
        return False
    next_ns = _u64(words, following + 8, big)
    return 0 <= next_ns < time_ns - MAX_DISORDER_NS


@kernel(checked=True)
def scan(
    words: Words, final: bool, big: bool, sequences: Table, events: Table, counts: Table
) -> tuple[int, int, int, int]:
    """Read the records in *words* and write the events that matter.

    A word stands for its first byte; what it has beyond the last is never looked at. Returns how many bytes are done
    with, how many events were written, how many of them are names, and how many have a time before that of the event
    above. Unless *final*, fewer than MAX_RECORD_BYTES remain: the start of a record whose end is not there yet.

    ``sequences`` int64[MAX_CPUS, 3]: lowest and highest sequence number and records seen of each CPU; ``events``
    int64[n, EVENT_COLUMNS] with room for one event every HEADER_BYTES_7 bytes; ``counts`` int64[SCAN_COUNTS].
    """
    end = len(words)
    at = 0
    written = names = behind = 0
    highest_ns = counts[HIGHEST_NS]
    retry = 0  # where the search for a record begins when none stands at `at`
    while at < end:
        size = header_bytes(words, at, end, big)
        pdu = at + size
        following = pdu + _pdu_bytes(words, at, size, big) if size > 0 else pdu
        if size == 0 or following > end:
            if not final and at + MAX_RECORD_BYTES > end:
                break
            # The record before may have claimed too long a payload: look inside it. One that runs past the end is none.
            found = find_header(words, at + 1 if size > 0 else retry, big)
            stop = found
            if found < 0:
                stop = end if final else end - HEADER_BYTES_8 + 1
            counts[DAMAGED_PLACES] += 1 - counts[IN_DAMAGE]
            counts[IN_DAMAGE] = 1
            counts[LOST_BYTES] += max(stop - at, 0)
            at = stop
            retry = stop
            continue
        counts[IN_DAMAGE] = 0
        start = at
        retry = pdu
        at = following
        counts[RECORDS] += 1

        # Version 8 has the pid before the action, whose categories beyond 16 bits change nothing here.
        if size == HEADER_BYTES_7:
            action_at, pid_at, device_at = start + 28, start + 32, start + 36
        else:
            action_at, pid_at, device_at = start + (36 if big else 32), start + 28, start + 40
        action = _u32(words, action_at, big)
        cpu = _u32(words, device_at + 4, big)
        sequence = _u32(words, start + 4, big)
        categories = action >> 16 & 0xFFFF
        kind = action & 0xFF
        if kind > MAX_ACTION:
            counts[IMPOSSIBLE] += 1
            continue
        if sequence > 0 and cpu < MAX_CPUS:
            lowest, highest, seen = sequences[cpu, 0], sequences[cpu, 1], sequences[cpu, 2]
            if seen == 0:
                lowest = highest = sequence
            if sequence < highest + MAX_LOST_EVENTS:
                if sequence < lowest or seen == 0:
                    sequences[cpu, 0] = sequence
                if sequence > highest or seen == 0:
                    sequences[cpu, 1] = sequence
                sequences[cpu, 2] = seen + 1
        if categories & CAT_NOTIFY:
            if kind != NAME or following - pdu < 16:
                continue
        elif categories & CAT_PC or kind > SPLIT or KEPT >> kind & 1 == 0:
            continue
        time_ns = _u64(words, start + 8, big)
        sector = _u64(words, start + 16, big)
        bytes_ = _u32(words, start + 24, big)
        with_cgroup = action & 0x100  # then the payload begins with the control group's number
        extra = pdu + (8 if with_cgroup else 0)
        if kind == COMPLETE:
            extra = _u16(words, device_at + 8, True, big)
        elif kind == SPLIT:
            extra = _u64(words, extra, True) if extra + 8 <= following else -1
        elif kind == NAME:
            # Dumps of blkparse give names the host's clock and events another: a name counts from the event before.
            extra, sector, time_ns = min(extra, following - 16), 0, max(highest_ns, 0)
        if bytes_ == 0:
            sector = max(sector, 0)  # flushes have no place on the device; some kernels write -1
        if time_ns < 0 or sector < 0 or sector + (bytes_ >> 9) >= MAX_SECTOR or bytes_ & 511 or extra < 0:
            counts[IMPOSSIBLE] += 1
            continue
        if time_ns < highest_ns - MAX_DISORDER_NS or (
            time_ns > highest_ns + LEAP_NS and _is_leap(words, following, end, big, time_ns)
        ):
            counts[OUT_OF_ORDER] += 1
            continue
        names += kind == NAME
        behind += time_ns < highest_ns
        highest_ns = max(highest_ns, time_ns)
        events[written, TIME_NS] = time_ns
        events[written, SECTOR] = sector
        events[written, BYTES] = bytes_
        events[written, ACTION] = kind
        events[written, CATEGORIES] = categories
        events[written, PID] = _u32(words, pid_at, big)
        events[written, DEVICE] = _u32(words, device_at, big)
        events[written, EXTRA] = extra
        written += 1
    counts[HIGHEST_NS] = highest_ns
    return at, written, names, behind
