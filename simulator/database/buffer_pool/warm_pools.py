"""Pools that were filled once, for databases that begin alike: scenarios that differ in devices alone are filled by the
same statements.
"""

import hashlib
from collections.abc import Callable
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from tiersim.simulator.database.buffer_pool.warm import Warmed
from tiersim.simulator.database.database_state import READY, Database

#: What decides how a pool is filled, and what is filled then.
_ASKED = (
    "statement_class", "begins", "ends", "first_demand", "demands", "rows", "ordered", "first_level", "level_pages",
    "first_moved", "moved_rank", "moved_page", "replacement", "seed", "first_number",
)  # fmt: skip
_HELD = (
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
    "placed",
)


#: Pools are remembered up to so many bytes together, and the last one whatever it takes.
_MOST_BYTES = 256 << 20


class _Pool:
    """A pool that is filled by who comes first."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.warmed: Warmed | None = None
        self.held: dict[str, NDArray[np.generic]] = {}

    def take(self, d: Database, warm: Callable[[], Warmed]) -> Warmed:
        """Fill *d* as it was filled, by *warm* if it was not yet."""
        with self.lock:
            if self.warmed is None:
                self.warmed = warm()
                self.held = {name: getattr(d, name).copy() for name in (*_HELD, "pool_state")}
                return self.warmed
        ready = int(d.pool_state[READY])  # a queue of the plant, which is another
        for name, values in self.held.items():
            getattr(d, name)[:] = values
        d.pool_state[READY] = ready
        return self.warmed


class WarmPools:
    """Remembers pools that were filled; threads that want the same one wait for who fills it."""

    def __init__(self) -> None:
        """Begin without any."""
        self._lock = Lock()
        self._pools: dict[bytes, _Pool] = {}  # the one that was asked for last stands last

    def fill(self, d: Database, warm: Callable[[], Warmed]) -> Warmed:
        """Fill the pool of *d*, by *warm* if it is not remembered; what is filled besides a pool never is."""
        if d.page_cache.size or d.extension_page.size:
            return warm()
        key = _key(d)
        with self._lock:
            pool = self._pools[key] = self._pools.pop(key, _Pool())
        warmed = pool.take(d, warm)
        with self._lock:
            self._forget()
        return warmed

    def _forget(self) -> None:
        """Forget those that nobody asked for for longest."""
        held = {key: sum(values.nbytes for values in pool.held.values()) for key, pool in self._pools.items()}
        for key in list(self._pools)[:-1]:
            if sum(held.values()) <= _MOST_BYTES:
                return
            del self._pools[key], held[key]


def _key(d: Database) -> bytes:
    digest = hashlib.blake2b(f"{len(d.page_of)} {len(d.frame_of)} {len(d.lazy_writer)}".encode())
    for values in (*(getattr(d, name) for name in _ASKED), *d.laws, d.sessions["next"], d.sessions["end"]):
        digest.update(np.ascontiguousarray(values).tobytes())
        digest.update(b"|")
    return digest.digest()
