"""SQL Server's buffer pool extension: clean pages that leave the pool go to a file on faster storage than theirs, and
are read back from there.

Microsoft, "Buffer pool extension" (2014 and later): a second level for clean pages, which the lazy writer and the
workers fill as they free frames. What makes room in it is not published; here its places are used in turn, so that
pages which leave together are written together. A page that is changed in the pool is no longer good there.
"""

from tiersim.kernel import kernel
from tiersim.simulator.database.database_state import Database


@kernel
def has_extension(d: Database) -> bool:
    """Tell whether the pool has one."""
    return d.extension_page.size > 0


@kernel
def extend(d: Database, page: int) -> None:
    """Give a clean page that leaves the pool the next place, unless it has one still."""
    if d.extension_place[page] > 0:
        return
    w = d.lazy_writer[0]
    place = w["extended_place"]
    old = d.extension_page[place]
    if old > 0:
        d.extension_place[old - 1] = 0
    d.extension_page[place] = page + 1
    d.extension_place[page] = place + 1
    w["extended_place"] = (place + 1) % len(d.extension_page)
    w["extended_pages"] = min(w["extended_pages"] + 1, len(d.extension_page))


@kernel
def is_extended(d: Database, page: int) -> bool:
    """Tell whether a page can be read from the extension."""
    return bool(d.extension_page.size > 0 and d.extension_place[page] > 0)


@kernel
def outdate(d: Database, page: int) -> None:
    """A page is changed in the pool: what the extension holds of it is old."""
    if is_extended(d, page):
        d.extension_page[d.extension_place[page] - 1] = 0
        d.extension_place[page] = 0
