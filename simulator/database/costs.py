"""What a database engine's work costs the processors."""

from typing import NamedTuple


class Costs(NamedTuple):
    """CPU in ns, on a core of speed 1; the session that causes the work is charged."""

    lookup_ns: int = 0  # a row found through its index, all pages there
    page_ns: int = 0  # a page that a lookup refers to, besides
    scan_page_ns: int = 0  # a page of a scan that is there
    scan_row_ns: int = 0  # a row on it
    read_ns: int = 0  # one page read into the pool, and waited for
    async_read_ns: int = 0  # one read ahead
    read_page_ns: int = 0  # each page but the first of a larger read
    scan_read_ns: int = 0  # a page that a scan reads in large blocks
    evict_clean_ns: int = 0  # a page that makes room
    evict_dirty_ns: int = 0  # one that is written before
    change_ns: int = 0  # a page that is changed
