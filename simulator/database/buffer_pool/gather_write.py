"""Changed pages that lie side by side, written as one.

SQL Server looks for the neighbours of a page that it writes, on both sides, up to the first that is clean, is not
there, or whose log has not been flushed: 32 pages together, 128 since 2016 (Microsoft, "Writing pages"; psssql, "Larger
data file writes").
"""

from tiersim.kernel import kernel
from tiersim.simulator.database.buffer_pool.pages import clean, level_of
from tiersim.simulator.database.database_state import VALID, Database
from tiersim.simulator.database.wal.log import must_flush_for

#: Pages of one write: of SQL Server 2005 to 2014, and since 2016.
GATHERED_BEFORE_2016, GATHERED = 32, 128


@kernel
def gather(d: Database, page: int, most: int) -> tuple[int, int]:
    """Return the first of the pages that are written with a changed page, and their number; they
    are clean from now on.
    """
    level = level_of(d, page)
    start, end = d.level_start[level], d.level_start[level] + d.level_pages[level]
    first, behind = page, page + 1
    while behind < end and behind - first < most and _goes_along(d, behind):
        behind += 1
    while first > start and behind - first < most and _goes_along(d, first - 1):
        first -= 1
    for one in range(first, behind):
        clean(d, d.frame_of[one] - 1)
    return first, behind - first


@kernel
def _goes_along(d: Database, page: int) -> bool:
    held = d.frame_of[page]
    if held == 0 or d.state[held - 1] != VALID or not d.dirty[held - 1]:
        return False
    return not must_flush_for(d, page)


@kernel
def last_position(d: Database, first: int, pages: int) -> int:
    """Return up to where the log must be flushed before pages may be written."""
    position = 0
    for page in range(first, first + pages):
        position = max(position, d.page_position[page])
    return int(position)
