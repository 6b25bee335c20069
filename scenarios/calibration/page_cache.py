"""How large the operating system's page cache was that a recorded PostgreSQL read through: from the pages that its pool
missed, what the devices were read for meanwhile, and the host's memory.

What the pool misses asks the page cache, which is taken to replace pages by LRU (:meth:`.Pool.lru_below`; Che, Tung and
Wang, IEEE JSAC 20, 2002, look at caches below each other like this). So the size is that of an LRU cache that answers
as much. It is half to nine tenths of what the system calls cached: pages that were read ahead, other files and the log
take room, too, and Linux does not replace by LRU. It stays as it is beside a larger pool, as far as memory goes: 110 to
131 MiB were inferred beside pools of 32, 64 and 128 MiB on a host with 300 MiB, and 56 on one with 160 (docs/pool.md).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiersim.scenarios.calibration.popularity import Fitted
from tiersim.scenarios.calibration.popularity.occupancy import Pool
from tiersim.traces.differences import Change, Counters
from tiersim.units import format_bytes

#: Parts of a disk, and devices that stand on others: their reads are counted there, too.
_PART = re.compile(r"(?:(?:h|s|v|xv)d[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+)p\d+)")
_STACKED = re.compile(r"(?:md|dm-|loop|drbd|zram|ram|sr|nbd)\d+")
#: With more of the missed pages read from the devices the page cache had hardly any that the pool had not, and may be
#: as large as the pool; with less of them it had room for all that was asked for. Under a server that reads past it,
#: devices were read for 99.8 to 100.3 % of the pages (benchmarks/real_postgres).
_HARDLY, _ALL = 0.97, 0.02
#: The law of popularity says nothing of pages that scans missed; when those are more, nothing is inferred.
_MOST_SCANNED = 0.2


@dataclass(frozen=True)
class PageCache:
    """The page cache of the recorded host beside the recorded pool; None where nobody looked."""

    bytes: int
    pool_bytes: int  # of the recorded pool
    most_bytes: int | None  # that pool and cache could have together
    memory_bytes: int | None  # of the host
    holds_all: bool  # that was asked for: it did not have to give up a page
    said: str

    def beside(self, pool_bytes: int, memory_bytes: int | None = None) -> int:
        """Return how large it is beside a pool of *pool_bytes*, on a host with *memory_bytes* in place of the recorded
        ones.
        """
        wanted, most = self.bytes, self.most_bytes
        if self.holds_all:
            wanted += max(self.pool_bytes - pool_bytes, 0)  # pages that the pool has no room for
        if most is None:
            return wanted
        if memory_bytes is not None and self.memory_bytes is not None:
            grown = most + memory_bytes - self.memory_bytes
            if not self.holds_all:
                wanted = round(wanted * max(grown - self.pool_bytes, 0) / max(most - self.pool_bytes, 1))
            most = grown
        return max(min(wanted, most - pool_bytes), 0)


def page_cache(counters: Counters, host: Mapping[str, Any], fitted: Fitted) -> PageCache | None:
    """Infer the page cache of a recorded PostgreSQL on *host*; None where the recording does not tell."""
    if "data" in str(host.get("debug_io_direct", "")):
        return None
    pool_bytes, page_bytes = int(host["shared_buffers_bytes"]), int(host["page_bytes"])
    found = counters.found
    missed = sum(float(change.number("pages_read") or 0) for change in found.of("relation").values())
    read = device_pages_read(found.of("device"), page_bytes)
    of_rows = sum(table.heap_missed + table.index_missed for table in fitted.tables)
    if read is None or of_rows < (1 - _MOST_SCANNED) * missed or not missed:
        return None
    share = read / missed
    memory = found.of("memory").get("host")
    free, total = (None if memory is None else memory.last.get(name) for name in ("available_bytes", "total_bytes"))
    most_bytes = None if free is None else pool_bytes + int(float(free))
    memory_bytes = None if total is None else int(float(total))
    seen = f"the volumes were read for {min(share, 1):.0%} of the pages that the buffer pool missed"
    if share > _HARDLY:
        said = f"{seen}: no OS page cache is assumed beside the recorded pool (engine.os_cache)"
        return PageCache(0, pool_bytes, most_bytes, memory_bytes, False, said)
    pool = Pool(fitted.tables, fitted.seed, fitted.policy)
    size = round(pool.lru_below(fitted.laws, fitted.frames, max(share, _ALL))) * page_bytes
    if most_bytes is not None:
        size = min(size, most_bytes - pool_bytes)
    said = (
        f"{seen}: an OS page cache of {format_bytes(size)}{' or more' if share < _ALL else ''} answered the others"
        " (engine.os_cache)"
    )
    return PageCache(size, pool_bytes, most_bytes, memory_bytes, share < _ALL, said)


def device_pages_read(devices: Mapping[str, Change], page_bytes: int) -> float | None:
    """Return the pages that devices were read for, none counted twice; None where nobody counted.

    A page that is read by itself is one request, and brings others with it where the system reads ahead, which nobody
    has asked for; so there were no more than requests, and no more than bytes. Counted are whole disks together, or one
    device that stands on others or on a file, if that was read for more.
    """
    pages = {
        name: min(float(reads + (change.number("reads_merged") or 0)), float(read_bytes) / page_bytes)
        for name, change in devices.items()
        if not _PART.fullmatch(name)
        and (reads := change.number("reads")) is not None
        and (read_bytes := change.number("read_bytes")) is not None
    }
    if not pages:
        return None
    stacked = [count for name, count in pages.items() if _STACKED.fullmatch(name)]
    return max([sum(pages.values()) - sum(stacked), *stacked])
