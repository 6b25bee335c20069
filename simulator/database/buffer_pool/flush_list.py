"""InnoDB's flush list: changed pages in the order in which they were changed first since they were clean.

The first is what keeps the checkpoint back: redo from there on is needed. How much that is, is the checkpoint's age.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.requests import add_background
from tiersim.devices.station_records import Plant
from tiersim.kernel import kernel
from tiersim.operations import FLUSH
from tiersim.simulator.database.buffer_pool.frame_lists import _push, _unlink
from tiersim.simulator.database.database_state import DIRTY_PAGES, Database

#: Columns of ``batches``: how many pages are being written together, and the oldest of their first changes in the log;
#: the pages follow.
BATCH_PAGES, BATCH_POSITION, BATCH_FIRST = range(3)


@kernel
def arm_cleaner(p: Plant, d: Database, made: int) -> int:
    """Begin the rounds of the page cleaner, if there is one and they have not begun."""
    if d.page_cleaner.size == 0 or d.page_cleaner[0]["armed"]:
        return made
    c = d.page_cleaner[0]
    c["armed"] = 1
    return add_background(p, made, c["station"], FLUSH, 0, c["interval_ns"])


@kernel
def note_changed(d: Database, frame: int, position: int) -> None:
    """A clean page is changed, by a record that begins at a *position* of the log."""
    _push(d.flush_newer, d.flush_older, len(d.page_of), frame)
    d.oldest_position[frame] = position


@kernel
def note_clean(d: Database, frame: int) -> None:
    """A changed page is being written, or is gone."""
    _unlink(d.flush_newer, d.flush_older, frame)


@kernel
def oldest(d: Database) -> int:
    """Return the frame whose page was changed first; the number of frames when no page is changed."""
    return int(d.flush_newer[len(d.page_of)])


@kernel
def later(d: Database, frame: int) -> int:
    """Return the frame whose page was changed after that of another; the number of frames when there is none."""
    return int(d.flush_newer[frame])


@kernel
def checkpoint_age(d: Database) -> int:
    """Return how much of the log lies behind the first change that is not on its volume, pages that are being written
    included.
    """
    position = d.log[0]["inserted"]
    frame = oldest(d)
    if frame < len(d.page_of):
        position = min(position, d.oldest_position[frame])
    for batch in range(len(d.batches)):
        if d.batches[batch, BATCH_PAGES] > 0:
            position = min(position, d.batches[batch, BATCH_POSITION])
    return int(d.log[0]["inserted"] - position)


@kernel
def has_room_in_log(d: Database) -> bool:
    """Tell whether a page cleaner lets pages be changed."""
    return bool(checkpoint_age(d) < d.page_cleaner[0]["most_bytes"])


@kernel
def count_older(d: Database, position: int, most: int) -> int:
    """Return how many pages were changed before a *position* of the log, up to *most*."""
    count, frame = 0, oldest(d)
    while count < most and frame < len(d.page_of) and d.oldest_position[frame] < position:
        count += 1
        frame = later(d, frame)
    return count


def age(d: Database, dirty_pages: int, age_bytes: int, transaction_bytes: int) -> None:
    """Let no more than *dirty_pages* be changed before a run, the latest ones, the first so much of the log ago.

    The others were changed as many transactions ago as when the pool was filled, of so many bytes each; what would be
    older than the first was written since, and changed again at any time. Of transactions without bytes all were.
    """
    _drop(d, dirty_pages)
    changed = np.zeros(d.pool_state[DIRTY_PAGES], np.int64)
    if not len(changed):
        return
    _find_changed(d, changed)
    positions = d.oldest_position[changed] * transaction_bytes
    renewed = len(changed)
    if transaction_bytes > 0:
        renewed = int(np.searchsorted(positions, -age_bytes, side="right"))
    positions[:renewed] = -(age_bytes * np.arange(renewed, 0, -1) // max(renewed, 1))
    positions[0] = -age_bytes
    order = np.argsort(positions, kind="stable")
    _list_again(d, changed[order], positions[order])


@kernel
def _drop(d: Database, dirty_pages: int) -> None:
    frame = oldest(d)
    while d.pool_state[DIRTY_PAGES] > dirty_pages:
        following = later(d, frame)
        note_clean(d, frame)
        d.dirty[frame] = 0
        d.pool_state[DIRTY_PAGES] -= 1
        frame = following


@kernel
def _find_changed(d: Database, found: NDArray[np.int64]) -> None:
    frame = oldest(d)
    for place in range(len(found)):
        found[place] = frame
        frame = later(d, frame)


@kernel
def _list_again(d: Database, changed: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
    for place in range(len(changed)):
        note_clean(d, changed[place])
        note_changed(d, changed[place], positions[place])
