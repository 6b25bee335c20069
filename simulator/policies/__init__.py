"""Replacement policies alone, page by page and without time: how many references miss in a cache of a size.

For hit-ratio studies. Pages are numbers from 0 on, in the order in which they are first asked for (:func:`numbered`),
so that neighbours in the trace are neighbours in memory. The pools of the simulated engines, with their pins, rings and
dirty pages, are not here.
"""

from tiersim.simulator.policies.misses import POLICIES, misses, numbered

__all__ = ["POLICIES", "misses", "numbered"]
