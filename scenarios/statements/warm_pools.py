"""Pools that were filled, remembered: a run that would fill its pool alike begins with a copy."""

import hashlib
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.station_records import Plant
from tiersim.devices.tiering.cached_blocks_kernels import FIRST_PLACE
from tiersim.simulator.database.buffer_pool.warm import MOST_REFERENCES, Warmed, warm
from tiersim.simulator.database.database_state import READY, Database

#: What decides how a pool is filled; of demands these fields do; what each session does, unless all do the same.
_INPUTS = (
    "first_demand", "rows", "ordered", "next_index", "first_level", "level_pages", "first_moved", "moved_rank",
    "moved_page", "replacement", "seed", "has_room", "midpoint",
)  # fmt: skip
_INPUTS_OF_DEMANDS = ("kind", "table", "dirties", "pages", "start_page", "rows", "entry_share", "needs_room", "changed")
_INPUTS_OF_SESSIONS = ("statement_class", "begins", "ends", "first_number")
#: What is filled then.
_OUTPUTS = (
    "frame_of",
    "page_of",
    "state",
    "used",
    "dirty",
    "chain",
    "newer",
    "older",
    "times_ns",
    "heap",
    "heap_ns",
    "heap_place",
    "midpoint",
    "midpoint_frames",
    "free_frames",
    "flush_newer",
    "oldest_position",
    "flush_older",
    "placed",
    "changed_rank",
    "changes",
)
#: And of the row of the page cache, beside its blocks.
_CACHE_OUTPUTS = ("used", "dirty", "filled_ns", "filled_read_bytes", "filled_read_hit_bytes")
#: Pools are remembered up to so many bytes together, and the last one whatever it takes.
_MOST_BYTES = 256 << 20


class _Pool:
    """A pool that is filled by who comes first."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.warmed: Warmed | None = None
        self.held: list[NDArray[Any]] = []

    def take(self, d: Database, plant: Plant, warm: Callable[[], Warmed]) -> Warmed:
        """Fill *d* as it was filled, by *warm* if it was not yet."""
        with self.lock:
            if self.warmed is None:
                self.warmed = warm()
                self.held = [values.copy() for values in _filled(d, plant)]
                return self.warmed
        ready = int(d.pool_state[READY])  # a queue of the plant, which is another
        for values, held in zip(_filled(d, plant), self.held, strict=True):
            values[...] = held
        d.pool_state[READY] = ready
        return self.warmed


def _filled(d: Database, plant: Plant) -> list[NDArray[Any]]:
    """Return the tables of a pool and of the page cache below it."""
    found: list[NDArray[Any]] = [getattr(d, name) for name in (*_OUTPUTS, "pool_state")]
    for place in d.page_cache["cache"].tolist():
        cache = plant.flash_caches[place : place + 1]
        first, blocks = int(cache["first"][0]), int(cache["blocks"][0])
        found += [plant.cached_blocks[first : first + FIRST_PLACE + blocks], *(cache[name] for name in _CACHE_OUTPUTS)]
    return found


class WarmPools:
    """Remembers pools that were filled; threads that want the same one wait for who fills it."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = Lock()
        self._pools: dict[bytes, _Pool] = {}  # the one that was asked for last stands last

    def fill(
        self, d: Database, plant: Plant, *, transaction_ns: int = 0, most_references: int = MOST_REFERENCES
    ) -> Warmed:
        """Fill the pool of *d* and the page cache of its *plant* as :func:`warm` does; a large page cache, and what is
        filled besides these, is never remembered.
        """

        def filled() -> Warmed:
            return warm(d, plant, transaction_ns=transaction_ns, most_references=most_references)

        if d.extension_page.size or (d.page_cache.size and plant.cached_blocks.nbytes > _MOST_BYTES):
            return filled()
        key = _key(d, plant, transaction_ns, most_references)
        with self._lock:
            pool = self._pools[key] = self._pools.pop(key, _Pool())
        warmed = pool.take(d, plant, filled)
        with self._lock:
            self._forget()
        return warmed

    def _forget(self) -> None:
        """Forget those that nobody asked for for longest."""
        held = {key: sum(values.nbytes for values in pool.held) for key, pool in self._pools.items()}
        for key in list(self._pools)[:-1]:
            if sum(held.values()) <= _MOST_BYTES:
                return
            del self._pools[key], held[key]


def _key(d: Database, plant: Plant, transaction_ns: int, most_references: int) -> bytes:
    blocks = [int(plant.flash_caches[place]["blocks"]) for place in d.page_cache["cache"].tolist()]
    sizes = [
        len(d.page_of),
        len(d.frame_of),
        len(d.lazy_writer),
        len(d.page_cleaner),
        *blocks,
        transaction_ns,
        most_references,
    ]
    digest = hashlib.blake2b(repr(sizes).encode())
    values = [*(getattr(d, name) for name in _INPUTS), *(d.demands[name] for name in _INPUTS_OF_DEMANDS), *d.laws]
    if (d.statement_class == d.statement_class[:1]).all() and d.begins.all() and d.ends.all():
        values.append(d.statement_class[:1])  # whichever transaction is drawn
    else:
        values += [*(getattr(d, name) for name in _INPUTS_OF_SESSIONS), d.sessions["next"], d.sessions["end"]]
    for array in values:
        digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(b"|")
    return digest.digest()
