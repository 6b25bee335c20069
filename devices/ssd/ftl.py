"""The tables of a page-mapped flash translation layer, with nothing written or in the steady state of random writes.

How often flash writes each unit that the host writes, at steady state, are closed forms for drives that are full and
overwritten at random places. Spare space is over-provisioning rho: physical units = (1 + rho) x logical units, without
blocks that are open or kept in reserve. A cleaned block gives the host the room of its stale units: with x valid units
of b left, WA = b / (b - x).

Sources: P. Desnoyers, Analytic modeling of SSD write performance, SYSTOR 2012 (LRU cleaning, greedy cleaning); L. Xiang
and B. M. Kurkoski, An improved analytic expression for write amplification in NAND flash, arXiv:1110.4245 (LRU); B. Van
Houdt, A mean field model for a class of garbage collection algorithms in flash-based solid state drives, SIGMETRICS
2013 (greedy, as the limit of many choices).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.ssd.ftl_kernels import ERASED, SEALED
from tiersim.devices.station_records import NONE, Plant
from tiersim.random_numbers import FLASH_STATE

#: Halvings of an interval until a double does not change any more.
_HALVINGS = 60


def lru(over_provisioning: float, classes: Sequence[tuple[float, float]] = ((1.0, 1.0),)) -> float:
    """Write amplification when the block that was filled longest ago is cleaned, *over_provisioning* > 0.

    *classes* are (share of the logical units, share of the writes) of units that are written alike; one class is
    uniform.
    """
    return (1 + over_provisioning) / _turn(over_provisioning, classes)


def _turn(over_provisioning: float, classes: Sequence[tuple[float, float]]) -> float:
    """Host writes, in multiples of the logical units, in which the log is written from end to end.

    A unit with rate r is valid after a turn of t with probability exp(-r t), and is then written again; so it is
    written r / (1 - exp(-r t)) times per host write. These add up to WA, and WA x t is all that is there: 1 + rho. For
    one class WA = a / (a + W(-a exp(-a))) with a = 1 + rho and Lambert's W.
    """

    def written(turn: float) -> float:
        lengths = [(units, writes / units * turn) for units, writes in classes]
        return sum(units * (length / -math.expm1(-length) if length > 0 else 1) for units, length in lengths)

    low, high = 0.0, 1 + over_provisioning
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if written(middle) < 1 + over_provisioning else (low, middle)
    return (low + high) / 2


def greedy(over_provisioning: float, block_units: int) -> float:
    """Write amplification when the block with the fewest valid units is cleaned, *over_provisioning* > 0."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    return block_units / (block_units - level + level * share / flow)


def _greedy_state(over_provisioning: float, block_units: int) -> tuple[int, float, float]:
    """Lowest level j with blocks, the share of blocks with j valid units, and c; shares above j are f(i) = c / i.

    A block with i valid units loses the next one at a rate proportional to i, and what reaches a level above j leaves
    it again: i f(i) = c. Of the blocks that reach j, as many as fall on to j - 1 (j f(j) of c) are cleaned there, the
    others at j: x = j - j f(j) / c. The shares add up to 1, and the valid units, of b in a block, to b / (1 + rho).
    """
    j = np.arange(block_units)
    inverse = 1 / np.arange(1, block_units + 1)
    tail = np.cumsum(inverse[::-1])[::-1]  # sum of 1 / i over i = j + 1 .. b
    flow = (block_units / (1 + over_provisioning) - j) / (block_units - j - j * tail)
    share = 1 - flow * tail
    level = int(np.argmin(np.maximum(-share, j * share - flow)))  # the only one with 0 <= j f(j) <= c
    return level, max(float(share[level]), 0.0), float(flow[level])


def greedy_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of greedy cleaning: equally likely ones, in rising order."""
    level, share, flow = _greedy_state(over_provisioning, block_units)
    shares = np.append(share, flow / np.arange(level + 1, block_units + 1))
    drawn = np.searchsorted(np.cumsum(shares), (np.arange(blocks) + 0.5) / blocks)
    return np.minimum(level + drawn, block_units)


def lru_valid_units(over_provisioning: float, block_units: int, blocks: int) -> NDArray[np.int64]:
    """Valid units of *blocks* blocks in the steady state of LRU cleaning, oldest first: exp(-age) of each are valid."""
    turn = _turn(over_provisioning, ((1.0, 1.0),))
    expected = block_units * np.exp(-turn * (np.arange(blocks)[::-1] + 0.5) / blocks)
    valid: NDArray[np.int64] = np.diff(np.rint(np.cumsum(expected)).astype(np.int64), prepend=0)
    return valid


#: Blocks of each die at the start: the one that is being filled, and, at steady state, the one that is being cleaned.
_ACTIVE, _VICTIM = 0, 1

Collection = Literal["greedy", "lru"]


@dataclass(frozen=True)
class PageMapping:
    """How a drive maps its units; ``over_provisioning`` is spare space per logical one, without open blocks."""

    units: int  # that the host sees
    dies: int
    block_units: int
    over_provisioning: float
    collection: Collection = "greedy"

    @property
    def sealed_blocks(self) -> int:
        """Blocks of a die besides the one that is being filled: whole ones, so as to have at least the spare space."""
        blocks = self.units * (1 + self.over_provisioning) / (self.dies * self.block_units)
        return math.ceil(round(blocks, 9))  # 100 x 1.07 is a little more than 107

    @property
    def spare_share(self) -> float:
        """Over-provisioning with whole blocks."""
        return self.sealed_blocks * self.block_units * self.dies / self.units - 1

    @property
    def _fair_units(self) -> int:
        return -(-self.units // self.dies)

    @property
    def most_valid(self) -> int:
        """Units that a die may hold: its fair share, and half of what is beyond it.

        The other half is kept for collection: a die that the host filled to the last place would copy without end.
        """
        return (self._fair_units + self.sealed_blocks * self.block_units) // 2

    def problem(self) -> str | None:
        """Say why there cannot be such a mapping, or None."""
        places = self.sealed_blocks * self.block_units
        if self.sealed_blocks < 2:
            return (
                "makes fewer than three blocks a die, which leaves none to clean; choose smaller blocks or fewer dies"
            )
        if places - self._fair_units < 2:
            return "leaves a die less than two spare units; write more"
        if (self.sealed_blocks + 1) * self.block_units * self.dies >= NONE:
            return "makes more units than a map can hold; choose larger units, or the analytic mapping"
        return None


def add_ftl(builder: PlantBuilder, mapping: PageMapping, *, steady: bool) -> int:
    """Put a translation layer into the plant and return its row; raises ValueError if :meth:`PageMapping.problem` finds
    one.

    *steady*: full, and overwritten at random for ever; otherwise nothing is written.
    """
    if problem := mapping.problem():
        raise ValueError(problem)
    greedy_lists = mapping.block_units + 1 if mapping.collection == "greedy" else 1
    lists, blocks = SEALED + greedy_lists, mapping.sealed_blocks + 1
    heads = mapping.dies * lists
    first = builder.reserve("mapped_blocks", heads + mapping.dies * blocks)
    places = builder.reserve("units", mapping.units)
    holds = builder.reserve("units", mapping.dies * blocks * mapping.block_units)
    seed = [builder.seed, FLASH_STATE, first]
    valid = np.zeros((mapping.dies, blocks), np.int64)
    if steady:
        valid = _steady_units(mapping, np.random.default_rng(seed))

    def write(plant: Plant) -> None:
        rows = plant.mapped_blocks[first : first + heads + valid.size]
        rows["valid_units"][heads:] = valid.ravel()
        rows["newer"], rows["older"] = first + _rings(_lists(mapping, valid, lists, steady=steady))
        if steady:
            placed = np.flatnonzero(np.arange(mapping.block_units) < valid.reshape(-1, 1)).astype(np.uint32)
            logical = np.random.default_rng(seed).permutation(np.arange(mapping.units, dtype=np.uint32))
            plant.units[holds:][placed] = logical
            plant.units[places:][logical] = placed + 1

    dies = [
        {
            "active": first + heads + die * blocks + _ACTIVE,
            "filled_units": int(valid[die, _ACTIVE]),
            "victim": first + heads + die * blocks + _VICTIM if steady else NONE,
            "free_blocks": 0 if steady else mapping.sealed_blocks,
            "valid_units": int(valid[die].sum()),
            "lowest": 0,
        }
        for die in range(mapping.dies)
    ]
    builder.write_first(write)
    return builder.row(
        "ftls",
        logical_units=mapping.units,
        block_units=mapping.block_units,
        dies=mapping.dies,
        die_blocks=blocks,
        greedy=int(mapping.collection == "greedy"),
        most_valid=mapping.most_valid,
        places=places,
        holds=holds,
        lists=lists,
        first_list=first,
        first_block=first + heads,
        first_die=builder.rows("ftl_dies", dies),
    )


def _steady_units(mapping: PageMapping, rng: "np.random.Generator") -> NDArray[np.int64]:
    """Valid units of each block (dies, blocks): one of each die is being filled, one cleaned; dies are out of step."""
    size, sealed = mapping.block_units, mapping.sealed_blocks
    if mapping.collection == "greedy":
        rate, others = greedy(mapping.spare_share, size), greedy_valid_units(mapping.spare_share, size, sealed - 1)
    else:
        rate, others = lru(mapping.spare_share), lru_valid_units(mapping.spare_share, size, sealed - 1)
    valid = np.empty((mapping.dies, sealed + 1), np.int64)
    for die in range(mapping.dies):
        units = mapping.units // mapping.dies + int(die < mapping.units % mapping.dies)
        filled = min(size * die // mapping.dies, units)
        left = round((size - filled) * (1 - 1 / rate))  # in the victim, which is cleaned as fast as the other is filled
        left = max(min(left, units - filled, size - filled - 1), units - filled - (sealed - 1) * size)
        valid[die] = filled, left, *_adding_up(others, units - filled - left, size, rng)
    return valid


def _adding_up(counts: NDArray[np.int64], total: int, most: int, rng: "np.random.Generator") -> NDArray[np.int64]:
    """Counts from 0 to *most* nearest to the given ones that add up to *total*; which ones differ is drawn."""
    counts = counts.copy()
    while missing := total - int(counts.sum()):
        step = 1 if missing > 0 else -1
        free = np.flatnonzero((counts + step >= 0) & (counts + step <= most))
        counts[rng.permutation(free)[: abs(missing)]] += step
    return counts


def _lists(mapping: PageMapping, valid: NDArray[np.int64], lists: int, *, steady: bool) -> NDArray[np.int64]:
    """List that each head and each block is in, by its head's row; a block in none is one of its own."""
    heads = np.arange(mapping.dies * lists)
    own = len(heads) + np.arange(valid.size).reshape(valid.shape)
    member = np.zeros_like(valid) + heads[::lists, None] + (SEALED if steady else ERASED)
    if steady and mapping.collection == "greedy":
        member += valid
    loose = [_ACTIVE, _VICTIM] if steady else [_ACTIVE]
    member[:, loose] = own[:, loose]
    return np.concatenate([heads, member.ravel()])


def _rings(lists: NDArray[np.int64]) -> NDArray[np.int64]:
    """Next and previous row of each row in a ring of all rows of its list, in their order."""
    order = np.argsort(lists, kind="stable")
    first = np.flatnonzero(np.diff(lists[order], prepend=-1))  # of each ring
    after, ahead = np.roll(order, -1), np.roll(order, 1)
    after[np.roll(first, -1) - 1] = order[first]
    ahead[first] = order[np.roll(first, -1) - 1]
    rings = np.empty((2, len(order)), np.int64)
    rings[:, order] = after, ahead
    return rings
