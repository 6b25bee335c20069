"""Makes the arrays of a database from what is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.cached_blocks_kernels import FIRST_PLACE
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import NEVER
from tiersim.errors import ScenarioError
from tiersim.simulator.database.background_writer import BackgroundWriter, writer_fields
from tiersim.simulator.database.costs import Costs
from tiersim.simulator.database.page_cache import MOST_WRITE_BACKS, PAGES_AT_ONCE, page_cache_fields
from tiersim.simulator.database.rings import RING_BYTES, ring_pages
from tiersim.simulator.database.tables import (
    ALIKE,
    ASKED,
    BACKGROUND_WRITER,
    BUFFER_POOL,
    DEMAND,
    INDEPENDENT,
    LRU2,
    PAGE_CACHE,
    PAGE_CACHE_ROW,
    PROCESSORS,
    RECENT,
    SESSION,
    SPENT,
    SWEEP,
    WRITER,
    Database,
)
from tiersim.simulator.popularity import Popularity, zipf

FREE_OF_COST = Costs()


@dataclass(frozen=True)
class Demand:
    """One thing that a class of statements asks for, see :mod:`tiersim.simulator.database.tables`."""

    kind: int
    table: int = 0
    dirties: bool = False
    share: int = 1000  # of the statement's CPU, in thousandths
    log_bytes: int = 0


@dataclass(frozen=True)
class Relation:
    """A table whose rows are looked up: pages of each level of its index, from the root on, then of its heap.

    For the law of its rows see :func:`tiersim.simulator.popularity.zipf`; if *recent*, the hottest are the last ones.
    """

    rows: int
    level_pages: Sequence[int]
    exponent: float = 0.0
    ordered: bool = True
    station: int = 0  # of the volume that it lies on
    hot_rows: int = 0
    hot_share: float = 0.0
    recent: bool = False


@dataclass(frozen=True)
class Statements:
    """Statements of all sessions, those of a session together and in order; columns of equal length."""

    session_ends: Sequence[int]  # behind the last statement of each session
    classes: NDArray[np.int32]
    waits_for: NDArray[np.uint8]
    start_ns: NDArray[np.int64]
    think_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    begins: NDArray[np.uint8]
    ends: NDArray[np.uint8]
    client_ns: NDArray[np.int64] | None = None  # CPU of the host that goes before it, and belongs to its transaction


@dataclass(frozen=True)
class Host:
    """What a database runs on above its devices."""

    cores: int
    frames: int  # of the buffer pool
    log_station: int = 0
    log_bytes: int = 1 << 30
    page_bytes: int = 8192
    costs: Costs = FREE_OF_COST
    slowdown: Sequence[int] = ()  # thousandths, by busy cores from 1 on
    counted_from_ns: int = 0  # statements that start before warm the pool and are not counted
    policy: int = SWEEP
    correlated_ns: int = 0  # LRU-2: uses of a page within this time of the one before are one
    retained_ns: int = NEVER  # a page that left is remembered so long after its last use
    ring_bytes: Sequence[int] = RING_BYTES
    background_writer: BackgroundWriter | None = None  # with the sweep only
    os_cache_pages: int = 0  # 0: direct IO


def add_database(
    builder: PlantBuilder,
    host: Host,
    relations: Sequence[Relation],
    classes: Sequence[Sequence[Demand]],
    statements: Statements,
    categories: Sequence[int] | None = None,
) -> Database:
    """Put processors and a buffer pool into the plant and return the database's arrays.

    *categories* are columns of the metrics by class, counted from FIRST_CLASS; without them each class has its own.
    """
    processors = builder.station(PROCESSORS, 0, "processors", {"cores": host.cores}, role="processors")
    pool = builder.station(BUFFER_POOL, 0, "buffer pool", {"lookups": 1}, 1, role="buffer pool")
    laws: list[Popularity] = [zipf(r.rows, r.exponent, r.hot_rows, r.hot_share) for r in relations]
    level_pages = np.array([count for r in relations for count in r.level_pages], np.int64)
    pages = int(level_pages.sum())
    starts = [0, *statements.session_ends[:-1]]
    sessions = np.zeros(len(statements.session_ends), SESSION)
    sessions["next"], sessions["end"] = starts, statements.session_ends
    for name in ("missing", "fetched", "transaction_ns"):
        sessions[name] = -1
    demands = np.zeros(max(sum(map(len, classes)), 1), DEMAND)
    for place, demand in enumerate(demand for one in classes for demand in one):
        demands[place] = (demand.kind, demand.table, demand.dirties, demand.share, demand.log_bytes)
    wide = np.int64
    return Database(
        sessions=sessions,
        asked=np.zeros(len(sessions), ASKED),
        statement_class=statements.classes,
        waits_for=statements.waits_for,
        start_ns=statements.start_ns,
        think_ns=statements.think_ns,
        client_ns=np.zeros(len(statements.classes), wide) if statements.client_ns is None else statements.client_ns,
        cpu_ns=statements.cpu_ns,
        begins=statements.begins,
        ends=statements.ends,
        done_ns=np.zeros(len(statements.classes), wide),
        counted_from_ns=np.array([host.counted_from_ns], wide),
        spending=np.zeros((len(sessions), len(SPENT)), wide),
        spent=np.zeros((len(classes), len(SPENT)), wide),
        category=np.array(range(len(classes)) if categories is None else categories, wide),
        pages_read=np.zeros(len(classes), wide),
        first_demand=np.concatenate([[0], np.cumsum([len(one) for one in classes])]).astype(wide),
        demands=demands,
        rows=np.array([r.rows for r in relations], wide),
        ordered=np.array([RECENT if r.recent else ALIKE if r.ordered else INDEPENDENT for r in relations], wide),
        first_level=np.concatenate([[0], np.cumsum([len(r.level_pages) for r in relations])]).astype(wide),
        level_start=np.concatenate([[0], np.cumsum(level_pages)[:-1]]).astype(wide),
        level_pages=level_pages,
        level_station=np.array([r.station for r in relations for _ in r.level_pages], np.uint32),
        law=np.concatenate([[0], np.cumsum([len(law.reach) for law in laws])]).astype(wide),
        reach=np.concatenate([np.zeros(0, wide), *(law.reach for law in laws)]),
        first_rank=np.concatenate([np.zeros(0, wide), *(law.first for law in laws)]),
        frame_of=np.zeros(pages, np.uint32),
        page_of=np.zeros(host.frames, wide),
        state=np.zeros(host.frames, np.uint8),
        used=np.zeros(host.frames, np.uint8),
        dirty=np.zeros(host.frames, np.uint8),
        chain=np.zeros(host.frames, np.uint32),
        pool_state=np.array([0, 0, builder.queue(), 0, 0, 0, 0, 0], wide),
        **_writer(builder, host),
        **_page_cache(builder, host),
        **_replacement(host, pages, len(sessions)),
        cores=np.array([host.cores], wide),
        in_service=np.zeros(1, wide),
        cpu_queue=np.array([builder.queue()], wide),
        slowdown=np.array([1000, *(host.slowdown or [1000] * host.cores)], wide),
        stations=np.array([processors, pool, host.log_station], np.uint32),
        costs=np.array(host.costs, wide),
        log_state=np.array([0, host.log_bytes], wide),
        page_bytes=np.array([host.page_bytes], wide),
        seed=np.array([builder.seed], wide),
    )


def _writer(builder: PlantBuilder, host: Host) -> dict[str, NDArray[Any]]:
    """Put the background writer into the plant, if there is one, and return its row."""
    if host.background_writer is None:
        return {"writer": np.zeros(0, WRITER)}
    if host.policy != SWEEP:
        raise ScenarioError("a background writer goes ahead of PostgreSQL's sweep; leave it out, or choose the sweep")
    station = builder.station(BACKGROUND_WRITER, 0, "background writer", {}, 2, role="background writer")
    return {"writer": _row(WRITER, writer_fields(host.background_writer, station))}


def _page_cache(builder: PlantBuilder, host: Host) -> dict[str, NDArray[Any]]:
    """Put the operating system's page cache into the plant, if there is one, and return its row."""
    pages = host.os_cache_pages
    if pages == 0:
        return {"page_cache": np.zeros(0, PAGE_CACHE_ROW), "dirty_since_ns": np.zeros(0, np.int64)}
    cache = builder.row("flash_caches", first=builder.reserve("cached_blocks", FIRST_PLACE + pages), blocks=pages)
    children = PAGES_AT_ONCE + MOST_WRITE_BACKS + 1
    station = builder.station(PAGE_CACHE, 0, "page cache", {}, children, role="page cache")
    return {
        "page_cache": _row(PAGE_CACHE_ROW, page_cache_fields(station, cache, builder.queue(), pages)),
        "dirty_since_ns": np.zeros(FIRST_PLACE + pages, np.int64),
    }


def _row(kind: np.dtype[Any], fields: Mapping[str, int]) -> NDArray[Any]:
    row = np.zeros(1, kind)
    for name, value in fields.items():
        row[name] = value
    return row


def _replacement(host: Host, pages: int, sessions: int) -> dict[str, NDArray[Any]]:
    """Return what decides which page has to go; nothing is written but the heads of empty lists."""
    timed = host.policy == LRU2
    newer, older = (np.zeros(host.frames + 1, np.uint32) for _ in range(2))
    ring_newer, ring_older = (np.zeros(host.frames + sessions, np.uint32) for _ in range(2))
    for links, heads in ((newer, 1), (older, 1), (ring_newer, sessions), (ring_older, sessions)):
        links[host.frames :] = np.arange(host.frames, host.frames + heads)
    return {
        "replacement": np.array([host.policy, host.correlated_ns, host.retained_ns], np.int64),
        "newer": newer,
        "older": older,
        "times_ns": np.zeros((3, pages if timed else 0), np.int64),
        "heap": np.zeros(host.frames if timed else 0, np.uint32),
        "heap_place": np.zeros(host.frames if timed else 0, np.uint32),
        "ring_newer": ring_newer,
        "ring_older": ring_older,
        "ring_of": np.zeros(host.frames, np.uint32),
        "ring_length": np.zeros(sessions, np.int64),
        "ring_pages": np.array(
            [0, *(ring_pages(size, host.page_bytes, host.frames) for size in host.ring_bytes)], np.int64
        ),
    }


def no_database() -> Database:
    """What the compiled engine works on when there is none."""
    nothing = np.zeros(0, np.int64)
    statements = Statements(
        [], np.zeros(0, np.int32), np.zeros(0, np.uint8), nothing, nothing, nothing, np.zeros(0, np.uint8), np.zeros(0, np.uint8)
    )  # fmt: skip
    return add_database(PlantBuilder(0), Host(cores=1, frames=1), [], [], statements)
