"""Miss-ratio curves (1 - hit ratio): which share of references misses in a cache of each size, from one pass.

LRU exactly, by stack distances (`ExactCurve`), or from samples of the pages (`Shards`); any other policy by simulating
it at each size, on samples of the pages in caches as much smaller (`Simulated`). References come in blocks of keys,
int64 numbers that name pages, and of classes, small codes of who asks for them, whose curves are told apart.
"""

from tiersim.simulator.miss_ratios.counts import Counts, MissRatioCurve, curve_of, size_grid
from tiersim.simulator.miss_ratios.exact import ExactCurve
from tiersim.simulator.miss_ratios.knees import knees
from tiersim.simulator.miss_ratios.shards import Shards
from tiersim.simulator.miss_ratios.simulation import Simulated

__all__ = ["Counts", "ExactCurve", "MissRatioCurve", "Shards", "Simulated", "curve_of", "knees", "size_grid"]
