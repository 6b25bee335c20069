"""From page references to what pools of several sizes would have missed of them, so that laws can be fitted where no
server counted.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.calibration.popularity.occupancy import AccessedTable
from tiersim.simulator.policies import misses, numbered
from tiersim.traces.references import ReferenceTable

#: Relations are told apart by so many bits above those of the page.
_PAGE_BITS = 44
#: The name of all pages together.
ALL = "all pages"


def referenced_accesses(path: Path, sizes: Sequence[int]) -> list[tuple[tuple[AccessedTable, ...], int]]:
    """Return what pools of *sizes* pages miss of the references of the bundle at *path*, by PostgreSQL's sweep; raises
    TraceError.

    All pages are taken together, as a table of one row each. The first half of the references fills the pools, the
    second is counted.
    """
    blocks = [block.relation.astype(np.int64) << _PAGE_BITS | block.page for block in ReferenceTable(path).blocks()]
    return missed_of(np.concatenate([np.zeros(0, np.int64), *blocks]), sizes)


def missed_of(references: NDArray[np.int64], sizes: Sequence[int]) -> list[tuple[tuple[AccessedTable, ...], int]]:
    """Return the same of *references*, numbers that name pages."""
    pages, distinct = numbered(references)
    filling = pages[: len(pages) // 2]
    found: list[tuple[tuple[AccessedTable, ...], int]] = []
    for size in sizes:
        counted = misses("postgresql", pages, distinct, size) - misses("postgresql", filling, distinct, size)
        table = AccessedTable(ALL, distinct, distinct, 0, len(pages) - len(filling), counted, 0)
        found.append(((table,), size))
    return found
