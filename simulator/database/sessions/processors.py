"""The host's processors as a station: c cores and one queue, in slices that are not interrupted; and what an engine's
work costs them.

Who is next: *in order of arrival*, as an engine serves its own threads; or, where sessions are processes, as an
operating system chooses. Linux has a queue for each processor, and what it takes from there depends on what each
process has had (kernel/sched/fair.c). Of 127,000 choices that it made for a PostgreSQL with 8 clients on 2 processors
it took the process that had waited longest in 70, 49, 43 and 35 % where 2, 3, 4 and 5 waited, the one that came last in
30, 15, 9 and 5 % (docs/processors.md). The one of two drawn at random that has waited longer: 75, 56, 44, 36 and 25,
11, 6, 4 %. It matters: in order of arrival sessions that one flush of the log let go take turns, come to the log
together again, and too many commits share a flush. Hosts with more processors were not recorded: there in order of
arrival and *at random* are the ends of what is allowed for. On one processor, with up to 12 waiting, it is the same.

What a process does between a write and a flush of the log goes before all that waits: it has slept and uses next to
nothing. Recorded is a wait that is shorter, but a wait (docs/processors.md). Where sessions wait like the rest behind
the write, 1.1 times as many commits share a flush of updates on hosts with two processors as were measured.

A slice is slowed down by the cores that are busy when it starts, itself included: what shared caches, memory and locks
cost.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tiersim.devices import requests
from tiersim.devices.requests import charge
from tiersim.devices.station_records import CALL, NEVER, NONE, WAIT, Plant
from tiersim.errors import ScenarioError
from tiersim.kernel import kernel
from tiersim.random_numbers import bits_from
from tiersim.simulator.database.database_state import (
    AT_RANDOM,
    CHOICE_SOURCE,
    CHOICES,
    IN_ORDER,
    RULE,
    URGENT,
    WAITING_SLICES,
    Database,
)
from tiersim.simulator.database.wal.log import wake_log_writer


class Costs(NamedTuple):
    """CPU in ns, on a core of speed 1; the session that causes the work is charged. 0 where nothing is known."""

    lookup_ns: int = 0  # a row found through its index, all pages there
    page_ns: int = 0  # a page that a lookup refers to, besides
    scan_page_ns: int = 0  # a page of a scan that is there
    scan_row_ns: int = 0  # a row on it
    read_ns: int = 0  # one page read into the pool, and waited for
    async_read_ns: int = 0  # one read ahead
    read_page_ns: int = 0  # each page but the first of a larger read
    scan_read_ns: int = 0  # a page that a scan reads in large blocks
    evict_clean_ns: int = 0  # a page that makes room
    evict_dirty_ns: int = 0  # one that is written before, instead of that
    change_ns: int = 0  # a page that is changed
    log_io_ns: int = 0  # behind each write and each flush of the log, before the next


#: SQL Server 2008 on an E5430 of 2.66 GHz: measured by the author of founding document 002, one query at a time. What
#: he found for reads into a full pool contains the eviction of a clean page, which is taken out here.
SQL_SERVER = Costs(
    lookup_ns=4_000,  # key lookup in memory, a row
    # scans at 1.5 GB/s with one row a page and 360 MB/s with 323, less what reading costs: solved for both
    scan_page_ns=750,
    scan_row_ns=50,
    read_ns=22_700,  # 26 µs with the eviction
    async_read_ns=13_200,  # 16 to 17 µs with the eviction, 30 rows and more a query
    read_page_ns=3_471,  # a read of 64 KiB into a pool that fills: 44 to 50 µs, 47 = 22.7 + 7 × 3.471
    scan_read_ns=4_450,  # 4.3 to 4.6 µs
    evict_clean_ns=3_300,  # "just over 3"; with the scan's read about 8
    evict_dirty_ns=3_300,  # at least that of a clean one: what issuing the write costs was not measured
)

#: PostgreSQL 18 on a desktop Ryzen: medians of 555,556 pages with 18 rows each, one backend
#: (tvondra/scan-iomethod-tests, µs a page).
POSTGRESQL = Costs(
    scan_page_ns=950,  # all in the buffer pool; with its 18 rows, which one density cannot tell apart
    scan_read_ns=300,  # the page lies in the OS page cache: 1.25 µs with io_method = sync, less the page itself
    # at most: 3.6 µs cold at random, io_uring, 128 in flight, less 0.9 µs that are there; may hold some waiting
    async_read_ns=2_700,
)

#: The tables by the kind of engine; what they leave out, because nobody measured it apart: calibrate it from a
#: recording.
TABLES: Mapping[str, Costs] = {
    "postgresql": POSTGRESQL,
    "sqlserver": SQL_SERVER,
    "mysql": Costs(),
    "mariadb": Costs(),
}
UNKNOWN: Mapping[str, tuple[str, ...]] = {
    "postgresql": (
        "lookup_ns",
        "page_ns",
        "scan_row_ns",
        "read_ns",
        "read_page_ns",
        "evict_clean_ns",
        "evict_dirty_ns",
        "change_ns",
        "log_io_ns",
    ),
    "sqlserver": ("evict_dirty_ns", "change_ns", "log_io_ns"),
    "mysql": Costs._fields,
    "mariadb": Costs._fields,
}

#: The processor of the catalogue that a table was measured on; PostgreSQL's is not named by its source.
MEASURED_ON: Mapping[str, str] = {"sqlserver": "xeon-e5430"}

#: What each further busy core costs all of them, in thousandths (alpha of the Universal Scalability Law). Founding
#: document 002: 6 to 7 times one core's throughput from 8; its 200,000 reads/s from 8 cores are 6.0 times the 33,300 of
#: one (26 + 4 µs a read).
CONTENTION = 47


def slowdown(cores: int, contention: int = CONTENTION) -> tuple[int, ...]:
    """Return how slow a slice of CPU is when 1, 2 ... *cores* are busy, in thousandths of that on an idle host.

    8 cores do 6.02 times the work of one. Beyond 8 it is the law's word alone; processors of today scale better.
    """
    return tuple(1000 + contention * others for others in range(cores))


def scaled(costs: Costs, core_speed: float) -> Costs:
    """Return costs on a core that is *core_speed* times as fast as the one they are of; raises ScenarioError unless it
    is above 0.
    """
    if not core_speed > 0:
        raise ScenarioError(
            f"core_speed: {core_speed} is no speed of a core; give a number above 0, 1.0 is the table's own"
        )
    return Costs(*(round(cost / core_speed) for cost in costs))


#: Processors of the hosts whose choices were recorded.
RECORDED_CORES = (1, 2)
#: Of so many that wait longest one is chosen, lest a choice among thousands take long.
_MOST_ASKED = 64


@kernel
def accept_processors(p: Plant, d: Database, slot: int) -> int:
    """Take a slice; its length in ns is the length of the request."""
    if p.requests[slot]["op"] == URGENT:
        requests.prepend(p, d.cpu_queue[0], slot)
    else:
        requests.append(p, d.cpu_queue[0], slot)
    d.cpu_order[WAITING_SLICES] += 1
    return CALL if d.in_service[0] < d.cores[0] else WAIT


@kernel
def choose_processors(p: Plant, d: Database, station: int, now: int) -> tuple[int, int, int]:
    """Start the slice that is next if a core is free."""
    slot = p.queues[d.cpu_queue[0]]["head"]
    if slot == NONE or d.in_service[0] >= d.cores[0]:
        return NONE, NEVER, NEVER
    before = NONE
    if d.cpu_order[RULE] != IN_ORDER and d.cpu_order[WAITING_SLICES] > 1 and p.requests[slot]["op"] != URGENT:
        for _ in range(_passed_by(d)):
            before, slot = slot, p.links[slot]["next"]
    requests.remove(p, d.cpu_queue[0], slot, before)
    d.cpu_order[WAITING_SLICES] -= 1
    d.in_service[0] += 1
    service = max(p.requests[slot]["length_bytes"] * d.slowdown[d.in_service[0]] // 1000, 1)
    charge(p, station, 0, service)
    if p.requests[slot]["parent"] == NONE:  # not of a reader
        d.sessions[p.requests[slot]["stream"]]["part_ns"] = service
    return slot, now + service, NEVER


@kernel
def _passed_by(d: Database) -> int:
    """Return how many that have waited longer the operating system passes by: two are drawn, and the one goes that has
    waited longer; or one is drawn.
    """
    d.cpu_order[CHOICES] += 1
    drawn = bits_from(d.cpu_order[CHOICE_SOURCE], d.cpu_order[CHOICES])
    waiting = min(d.cpu_order[WAITING_SLICES], _MOST_ASKED)
    if d.cpu_order[RULE] == AT_RANDOM:
        return int((drawn & 0xFFFF) * waiting >> 16)
    return int(min((drawn & 0xFFFF) * waiting, (drawn >> 16) * waiting) >> 16)


@kernel
def finish_processors(p: Plant, d: Database) -> int:
    """Free a core; what was changed before may wake the log's threads."""
    d.in_service[0] -= 1
    return wake_log_writer(p, d)
