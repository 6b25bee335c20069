"""Pages that a writer has handed to the page cache, and asks it to write back when there are enough of them.

PostgreSQL's ScheduleBufferTagForWriteback and IssuePendingWritebacks (storage/buffer/bufmgr.c): neighbours go together.
The checkpointer has such a list, and the background writer. With direct IO there is nothing to write back.
"""

from tiersim.devices.children import add_child
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import FILL, Database
from tiersim.simulator.database.pages import file_of

#: Places in ``write_backs``: whose list it is. The first entry of a list says how many there are, the second after how
#: many they are handed on; 0: never.
BY_CHECKPOINTER, BY_WRITER = range(2)
_COUNT, _ENOUGH, _FIRST = range(3)
#: Pages whose writing back is asked for together are at most so many (checkpoint_flush_after is at most 2 MiB).
MOST_PAGES = 256


@kernel
def note_write_back(d: Database, who: int, page: int) -> None:
    """Remember that a page was written, if there is a page cache that has it now."""
    pending = d.write_backs
    if d.page_cache.size > 0 and pending[who, _ENOUGH] > 0:
        pending[who, _FIRST + pending[who, _COUNT]] = page
        pending[who, _COUNT] += 1


@kernel
def has_enough(d: Database, who: int) -> bool:
    """Tell whether the pages are to be handed on."""
    pending = d.write_backs
    return bool(pending[who, _COUNT] > 0 and pending[who, _COUNT] >= pending[who, _ENOUGH])


@kernel
def has_any(d: Database, who: int) -> bool:
    """Tell whether there are pages that were not handed on."""
    return bool(d.write_backs[who, _COUNT] > 0)


@kernel
def hand_on(p: Plant, d: Database, who: int, made: int) -> int:
    """Let the page cache write back the pages, neighbours together."""
    pending = d.write_backs
    size = d.page_bytes[0]
    first, end = _FIRST, _FIRST + pending[who, _COUNT]
    for place in range(_FIRST + 1, end + 1):
        if place == end or not _is_neighbour(d, pending[who, place - 1], pending[who, place]):
            made = add_child(
                p, made, d.page_cache[0]["station"], FILL, pending[who, first] * size, (place - first) * size
            )
            first = place
    pending[who, _COUNT] = 0
    return made


@kernel
def _is_neighbour(d: Database, page: int, other: int) -> bool:
    return bool(other == page + 1 and file_of(d, other) == file_of(d, page))
