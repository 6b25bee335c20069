"""From references to misses, by the name of a policy."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError, did_you_mean
from tiersim.simulator.policies.lists import PolicyState, new_state
from tiersim.simulator.policies.lru2 import lru2_misses
from tiersim.simulator.policies.midpoint import midpoint_misses
from tiersim.simulator.policies.queues import arc_misses, s3_fifo_misses, two_queue_misses
from tiersim.simulator.policies.simple import Pages, clock_misses, fifo_misses, lru_misses, sieve_misses

#: Of InnoDB's list: the percentage of old pages (innodb_old_blocks_pct), and constants of buf0lru.h: by how many pages
#: the old part may differ from it (BUF_LRU_OLD_TOLERANCE), with how many pages it begins (BUF_LRU_OLD_MIN_LEN).
_OLD_PERCENT, _TOLERANCE, _LEAST = 37, 20, 512
_FOR_EVER = 1 << 62

#: Policies by name; what they are called with besides pages, capacity and state: clock with a bit, and with three bits
#: of which a page begins with one; PostgreSQL's sweep; LRU-2 without a correlated period that forgets nothing.
_RUN: dict[str, tuple[Callable[..., int], tuple[int, ...]]] = {
    "fifo": (fifo_misses, ()),
    "clock": (clock_misses, (0, 1)),
    "clock-3bit": (clock_misses, (1, 7)),
    "postgresql": (clock_misses, (1, 5)),
    "lru": (lru_misses, ()),
    "lru-2": (lru2_misses, (0, _FOR_EVER)),
    "midpoint": (midpoint_misses, (_OLD_PERCENT, 0, _TOLERANCE, _LEAST)),
    "sieve": (sieve_misses, ()),
    "2q": (two_queue_misses, ()),
    "arc": (arc_misses, ()),
    "s3-fifo": (s3_fifo_misses, ()),
}
_TIMED = ("lru-2", "midpoint")

POLICIES = tuple(_RUN)


def numbered(references: NDArray[Any]) -> tuple[Pages, int]:
    """Return references as page numbers in the order of their first occurrence, and how many pages there are."""
    distinct, first, inverse = np.unique(references, return_index=True, return_inverse=True)
    numbers = np.empty(len(distinct), np.int32)
    numbers[np.argsort(first)] = np.arange(len(distinct), dtype=np.int32)
    return numbers[inverse], len(distinct)


def of_a_sample(policy: str, rate: float) -> tuple[int, ...]:
    """Return the parameters of a *policy* in a cache *rate* times as large as the one that it stands for: numbers of
    pages are as much smaller.
    """
    if policy != "midpoint":
        return ()
    return _OLD_PERCENT, 0, round(_TOLERANCE * rate), max(round(_LEAST * rate), 1)


def misses(policy: str, pages: Pages, distinct: int, capacity: int, *parameters: int) -> int:
    """Count the misses of a cache of *capacity* pages that is empty at first.

    *pages* are numbers below *distinct* (:func:`numbered`); *distinct* of the misses are compulsory, however large the
    cache. *parameters* replace those that a policy has by default: of ``lru-2`` the correlated and the retained period,
    of ``midpoint`` the percentage of old pages, after how many references one may become young, the tolerance of that
    percentage and the least pages with an old part. Raises ScenarioError for a policy that is not known, or a cache of
    no pages.
    """
    if policy not in _RUN:
        known = ", ".join(POLICIES)
        raise ScenarioError(f"{policy!r} is no replacement policy{did_you_mean(policy, POLICIES)}; known are {known}")
    if capacity < 1:
        raise ScenarioError(f"a cache of {capacity} pages holds nothing; give it one page or more")
    run, defaults = _RUN[policy]
    state: PolicyState = new_state(distinct, capacity, timed=policy in _TIMED)
    return int(run(pages, capacity, state, *(parameters or defaults)))
