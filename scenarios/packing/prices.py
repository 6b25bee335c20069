"""What items are worth, and what resources of boxes are, where items and boxes may be divided: the dual of packing."""

import numpy as np
from numpy.typing import NDArray

#: A divisor is no smaller.
_NOTHING = 1e-6


def prices_of(
    cost: NDArray[np.float64], need: NDArray[np.float64], there: NDArray[np.bool_], steps: int
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return what items cost at least where all may be divided, with prices of resources and values of items.

    How many *steps* are taken decides how near the best prices it comes, never whether these are a bound.
    """
    by_item = need.transpose(1, 0, 2).copy()
    everybody = np.arange(need.shape[1])
    shares = np.full((len(need), need.shape[2]), 1 / need.shape[2])
    best = (0.0, shares, np.zeros(need.shape[1]))
    for step in range(steps):
        price_of = np.where(there, worth(need, shares) * cost[:, None], np.inf)
        chosen = price_of.argmin(axis=0)
        values = price_of[chosen, everybody]
        if values.sum() > best[0]:
            best = float(values.sum()), shares * cost[:, None], values
        gradient = np.zeros_like(shares)
        np.add.at(gradient, chosen, by_item[everybody, chosen])
        gradient *= cost[:, None]
        shares = _on_simplex(shares + gradient / max(np.abs(gradient).max(), _NOTHING) * 0.5 / np.sqrt(step + 1))
    return best


def worth(need: NDArray[np.float64], prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each item takes of a box of each kind, by prices of its resources."""
    found: NDArray[np.float64] = (need @ prices[:, :, None])[:, :, 0]
    return found


def _on_simplex(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest rows of shares that add up to 1 (Duchi and others, ICML 2008)."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, rows.shape[1] + 1)
    last = (ordered - sums / count > 0).sum(axis=1)
    theta = sums[np.arange(len(rows)), last - 1] / last
    found: NDArray[np.float64] = np.maximum(rows - theta[:, None], 0)
    return found
