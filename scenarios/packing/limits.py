"""How busy a box may be for each item's targets to hold: reckoned from what it gets alone, mended by what runs say.

What an item gets, as a share of what its targets allow, grows with how busy the box is as time at an M/M/1 server does:
``used = alone * (1 + growth * (x(busy) - x(busy alone)))`` with ``x(b) = b / (1 - b)``, where growth is 1 (Kleinrock,
"Queueing Systems" I, section 3.2). Each run says what growth was, for the items that were in it; the others of a kind
are taken to suffer as most of these. This only chooses what to simulate next.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

#: With all caution, so much of a target is left unused: a guess that is a little off holds, too. This and the next are
#: choices: they decide what is simulated next, never what is accepted.
_UNUSED = 0.07
#: No array is planned to be busier: its queue would grow without end.
_FULL = 0.99
#: Growth is at least this: a run in which nothing grew says little of a fuller one.
_LEAST_GROWTH = 1e-3
#: With all caution, the next box is that much less full than one that failed, and as full as one that held.
_LESS = 0.2


class BoxLimits:
    """What is known of the items of a packing in boxes of each kind."""

    def __init__(self, alone: NDArray[np.float64], busy: NDArray[np.float64]) -> None:
        """Begin with what each item uses of its targets *alone*, nan where it has no place, and how *busy* it keeps a
        box then; (kinds, items).
        """
        self._alone, self._busy = alone, np.minimum(busy, _FULL)
        self._ratio = self._busy / (1 - self._busy)
        self._growth = np.full(alone.shape, np.nan)
        self._held = np.where(np.isnan(alone), 0.0, np.minimum(busy, 1.0))  # so busy a box was, and targets held
        self._failed = np.full(alone.shape, np.inf)  # and so busy one in which they did not
        self._too_much = np.full(len(alone), np.inf)  # so busy boxes of a kind did not carry most of what they held

    def note(self, kind: int, busy: float, used: Mapping[int, float]) -> None:
        """Take in what items *used* of their targets in a box that was so busy; what came last counts."""
        for item, share in used.items():
            if share < 1:
                self._held[kind, item] = max(self._held[kind, item], busy)
                if self._failed[kind, item] <= busy:
                    self._failed[kind, item] = np.inf
            else:
                self._failed[kind, item] = min(self._failed[kind, item], busy)
                if self._held[kind, item] >= busy:
                    self._held[kind, item] = self._busy[kind, item]
            alone = self._alone[kind, item]
            more = min(busy, _FULL) / (1 - min(busy, _FULL)) - self._ratio[kind, item]
            if np.isfinite(share) and alone > 0 and more > 0:
                self._growth[kind, item] = max((share / alone - 1) / more, _LEAST_GROWTH)
        if 2 * sum(np.isinf(share) for share in used.values()) > len(used):
            self._too_much[kind] = min(self._too_much[kind], busy)
        elif busy >= self._too_much[kind]:
            self._too_much[kind] = np.inf

    def most(self, caution: float) -> NDArray[np.float64]:
        """Return how busy a box of each kind may be for each item, (kinds, items).

        Items that were not tried on a kind are taken to suffer as the share *caution* of those that were does at most.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = np.where(np.isnan(self._growth), self._usual(caution)[:, None], self._growth)
            reached = self._ratio + np.maximum((1 - _UNUSED * caution) / self._alone - 1, 0) / growth
            reckoned = np.where(np.isfinite(reached), reached / (1 + reached), 1.0)
            failed = np.minimum(self._failed, self._too_much[:, None])
            held = np.where(self._held < failed, self._held, 0.0)
            less = np.maximum(held + (failed - held) * (1 - caution), failed * (1 - _LESS * caution))
            between = np.where(np.isinf(failed), 1.0, less)
        found = np.maximum(np.minimum(reckoned, between), self._held)
        return np.where(np.isnan(self._alone), 1.0, found)

    def _usual(self, caution: float) -> NDArray[np.float64]:
        """Return the growth of items that were not tried, by kind."""
        tried = ~np.isnan(self._growth)
        anywhere = float(np.quantile(self._growth[tried], caution)) if tried.any() else 1.0
        return np.array(
            [
                np.quantile(own[known], caution) if known.any() else anywhere
                for own, known in zip(self._growth, tried, strict=True)
            ]
        )
