"""What a pool with a midpoint holds in the long run, in closed form, when each access is independent of those before.

A page of probability p comes into the old part, which it has passed after T_o accesses; if it is asked for between the
old time and T_o it becomes young. In the young part it stays until it is not asked for during T_y; then it passes the
old part again, and any access makes it young. So it is a Markov chain of four states (gone, new, young, old again),
whose times are those of Che, Tung and Wang's argument for LRU. T_y and T_o are where the shares add up to the frames,
and those in the old part to its part of them. A young page is taken to move with every access.

Where pages pass the old part sooner than in the old time, none becomes young any more, and those that are young stay
for good: the ones that came first when the pool was filled, one of probability p with a chance of 1 - e^(-p n), n
accesses having filled the young part. The others pass the old part, one after the other as they came.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: innodb_old_blocks_pct, as a share.
OLD_SHARE = 0.37
#: Beyond this exponent a page stays for good.
_STAYS = 600.0


@dataclass(frozen=True)
class MidpointPool:
    """How a pool replaces pages: InnoDB's list; an old page becomes young so many accesses of all after its first."""

    old_accesses: float

    def __str__(self) -> str:
        """Return what the policy is called."""
        return "midpoint"


def shares(x: NDArray[np.float64], ratio: float, delay: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the share of the time that a page is in the pool, and in its old part, when T_y brings x accesses to it,
    T_o is *ratio* times, and the old time *delay* times as long.
    """
    x = np.minimum(x, _STAYS / (1 + ratio))
    counts = -np.expm1(-x * max(ratio - delay, 0.0))  # new pages that become young
    new = x * min(delay, ratio) + counts
    visits = counts * np.exp(x * ratio)
    young = visits * np.expm1(x)
    again = visits * -np.expm1(-x * ratio)
    whole = new + young + again + 1.0
    return (new + young + again) / whole, (new + again) / whole


def shares_of_settled(x: NDArray[np.float64], ratio: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the same where no page becomes young: n, which filled the young part, brings x accesses to a page, and
    T_o is *ratio* times as long.
    """
    missed = np.exp(-np.minimum(x, _STAYS))
    passing = missed * x * ratio / (1 + x * ratio)
    return 1 - missed + passing, passing
