"""What boxes that hold all items cost at least, however they are packed.

With prices of the resources of each kind of box that add up to what it costs, no packing is cheaper than all items
where their shares are cheapest: that is the dual of packing in which items may be divided. The best such prices are
sought by subgradients.
"""

import numpy as np
from numpy.typing import NDArray

from tiersim.scenarios.packing.boxes import Packing

_STEPS = 2000


def lower_bound(packing: Packing, steps: int = _STEPS) -> float:
    """Return a bound, 0 at the least, where boxes may be as busy as the items in them allow."""
    need = packing.need.copy()
    need[:, :, packing.fixed :] /= packing.most[:, :, None]
    finite = np.where(np.isfinite(need).all(axis=2, keepdims=True), need, 1e9)
    by_item = finite.transpose(1, 0, 2).copy()
    prices = np.full((len(need), need.shape[2]), 1 / need.shape[2])
    best = 0.0
    for step in range(steps):
        price_of = np.einsum("kir,kr->ki", finite, prices) * packing.cost[:, None]
        chosen = price_of.argmin(axis=0)
        best = max(best, float(price_of.min(axis=0).sum()))
        gradient = np.zeros_like(prices)
        np.add.at(gradient, chosen, by_item[np.arange(len(chosen)), chosen])
        gradient *= packing.cost[:, None]
        prices = _on_simplex(prices + gradient / np.abs(gradient).max() * 0.5 / np.sqrt(step + 1))
    return best


def _on_simplex(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest rows of shares that add up to 1 (Duchi and others, ICML 2008)."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, rows.shape[1] + 1)
    last = (ordered - sums / count > 0).sum(axis=1)
    theta = sums[np.arange(len(rows)), last - 1] / last
    found: NDArray[np.float64] = np.maximum(rows - theta[:, None], 0)
    return found
