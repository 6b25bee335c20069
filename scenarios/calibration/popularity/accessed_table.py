"""What is known of a table whose rows are looked up through an index, and the pages that a lookup touches."""

from dataclasses import dataclass

from tiersim.simulator.popularity import Popularity, zipf

#: Entries of an inner page of a B-tree, for levels that nobody counted: 27,323 leaves under 97 inner pages, measured on
#: an index over bigint that PostgreSQL 18 built with the default fill factor.
INNER_ENTRIES = 281


@dataclass(frozen=True)
class AccessedTable:
    """One table, the index that its rows are looked up by, and what the recorded buffer pool missed.

    An access is one row that one or more statements (*touches*) look up, one after the other: later ones find its
    pages. Index and heap lie in the order of the key if *ordered*, and independent of each other if not.
    """

    name: str
    rows: int
    heap_pages: int
    index_pages: int  # 0: rows are not looked up through an index
    accesses: int
    heap_missed: int
    index_missed: int
    touches: int = 1
    ordered: bool = True
    index_held: tuple[int, ...] = ()  # pages in the pool by usage count, 0 to 5; empty where that was not recorded
    heap_held: tuple[int, ...] = ()
    grows: bool = False  # rows were inserted
    updated: bool = False  # rows were updated, and new versions may lie on other pages (PostgreSQL)
    together: bool = False  # misses of index and heap were counted as one number, that of the heap
    even: bool = False  # hardly a page of it was missed, so nothing tells which rows are hot: all are asked for alike
    file_pages: int = 0  # of the heap's file, where rows have come to lie behind heap_pages; 0: no more than those

    def heap_pages_by(self, law: "Law") -> int:
        """Return the pages that the rows lie on before those that *law* puts behind them: rows that have moved lie on
        more pages than the statistics counted, and a law without such rows spreads all of them over the file.
        """
        return self.heap_pages if law.moved else max(self.heap_pages, self.file_pages)


@dataclass(frozen=True)
class Law:
    """How often the rows of a table are asked for, by rank: Zipf's law, of whose accesses a hot set takes a share.

    The row of a rank lies anywhere; if *recent*, ranks count from the end of the table, where new rows are. Of a share
    *moved* of the heap's pages the row that was updated first lies on pages behind them
    (:mod:`tiersim.simulator.moved_rows`).
    """

    exponent: float = 0.0
    hot_rows: int = 0
    hot_share: float = 0.0
    recent: bool = False
    moved: float = 0.0

    def table(self, rows: int) -> Popularity:
        """Return the law over so many rows, as the simulator draws from it."""
        return zipf(rows, self.exponent, self.hot_rows, self.hot_share)


def levels(index_pages: int) -> list[int]:
    """Return how many pages each level of a B-tree has, from the root on; the page that describes the index is left
    out.

    >>> levels(27422)
    [1, 98, 27323]
    """
    if not index_pages:
        return []
    counts = [max((index_pages - 1) * (INNER_ENTRIES - 1) // INNER_ENTRIES, 1)]
    while counts[-1] > 1:
        counts.append(-(-counts[-1] // INNER_ENTRIES))
    return counts[::-1]
