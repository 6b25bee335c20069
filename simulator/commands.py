"""What an engine is fed: blocks of commands in the order in which they arrive."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import NEVER


@dataclass(frozen=True)
class Commands:
    """A block of commands, columns of equal length in time order.

    ``time_ns`` and ``intended_ns`` (when it should have started; latency counts from there), ``offset_bytes`` and
    ``length_bytes`` are int64; ``station`` int32; ``op`` and ``category`` uint8.
    """

    time_ns: NDArray[np.int64]
    intended_ns: NDArray[np.int64]
    station: NDArray[np.int32]
    op: NDArray[np.uint8]
    offset_bytes: NDArray[np.int64]
    length_bytes: NDArray[np.int64]
    category: NDArray[np.uint8]

    def __len__(self) -> int:
        """Count the commands."""
        return len(self.time_ns)


@dataclass(frozen=True)
class Outcome:
    """What an engine leaves behind besides metrics and plant."""

    last_arrival_ns: int
    end_ns: int  # when the last request was done
    arrived: int
    left: int  # requests that came out; equal to arrived in a sound run
    requests: int  # commands and everything that stations made of them
    unfinished: NDArray[np.int64]  # slots of the requests that are left: nobody waits for them
    done_ns: NDArray[np.int64] | None  # completion of each command, in arrival order, when it was kept


#: Commands of several recordings that are put in order at once: with a copy of them they stay in a processor's cache.
_ORDERED_AT_ONCE = 65_536
#: The columns of commands, in their order.
_COLUMNS = tuple(Commands.__dataclass_fields__)
_Block = list[NDArray[Any]]


def in_time_order(sources: Sequence[Iterator[Commands]]) -> Iterator[Commands]:
    """Yield the commands of several sources in one order: by time, then by source, then as each has them.

    No more is in memory than a block of each, and what of the others came in its time. So few are put in order at once
    that they stay in a processor's cache.
    """
    each = max(_ORDERED_AT_ONCE // max(len(sources), 1), 1)
    read = [map(_columns_of, source) for source in sources]
    held = {number: (block, 0) for number, source in enumerate(read) if (block := next(source, None)) is not None}
    ended = set(range(len(sources))) - held.keys()
    while held:
        read_ns = min((int(held[n][0][0][-1]) for n in held if n not in ended), default=NEVER)
        upto_ns = min((int(of[0][at + each]) for of, at in held.values() if len(of[0]) > at + each), default=NEVER)
        # what comes at the time that is read to may go on in the next block
        known_ns = min(read_ns, upto_ns + 1)
        parts = []
        for number in sorted(held):
            block, first = held.pop(number)
            behind = first + int(block[0][first:].searchsorted(known_ns))
            parts.append([column[first:behind] for column in block])
            while number not in ended and (behind == len(block[0]) or int(block[0][-1]) <= known_ns):
                more = next(read[number], None)
                if more is None:
                    ended.add(number)
                    break
                block = _joined([[column[behind:] for column in block], more])
                behind = 0
            if behind < len(block[0]):
                held[number] = block, behind
        whole = _joined(parts)
        if len(whole[0]):
            order = whole[0].argsort(kind="stable")
            yield Commands(*(column[order] for column in whole))


def _columns_of(block: Commands) -> _Block:
    return [getattr(block, name) for name in _COLUMNS]


def _joined(blocks: Sequence[_Block]) -> _Block:
    return [np.concatenate(columns) for columns in zip(*blocks, strict=True)]
