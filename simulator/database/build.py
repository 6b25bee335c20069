"""Makes the arrays of a database from what is known of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.plant import PlantBuilder
from tiersim.devices.tables import NONE
from tiersim.simulator.database.tables import (
    ALIKE,
    ASKED,
    BUFFER_POOL,
    DEMAND,
    INDEPENDENT,
    PROCESSORS,
    RECENT,
    SESSION,
    Database,
)
from tiersim.simulator.popularity import Popularity, zipf


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


@dataclass(frozen=True)
class Host:
    """What a database runs on above its devices."""

    cores: int
    frames: int  # of the buffer pool
    log_station: int = 0
    log_bytes: int = 1 << 30
    page_bytes: int = 8192
    page_ns: int = 0
    read_ns: int = 0
    dirty_ns: int = 0
    slowdown: Sequence[int] = ()  # thousandths, by busy cores from 1 on


def add_database(
    builder: PlantBuilder,
    host: Host,
    relations: Sequence[Relation],
    classes: Sequence[Sequence[Demand]],
    statements: Statements,
) -> Database:
    """Put processors and a buffer pool into the plant and return the database's arrays."""
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
        cpu_ns=statements.cpu_ns,
        begins=statements.begins,
        ends=statements.ends,
        done_ns=np.zeros(len(statements.classes), wide),
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
        page_of=np.full(host.frames, -1, wide),
        state=np.zeros(host.frames, np.uint8),
        used=np.zeros(host.frames, np.uint8),
        dirty=np.zeros(host.frames, np.uint8),
        chain=np.full(host.frames, NONE, np.uint32),
        pool_state=np.array([0, 0, builder.queue()], wide),
        cores=np.array([host.cores], wide),
        in_service=np.zeros(1, wide),
        cpu_queue=np.array([builder.queue()], wide),
        slowdown=np.array([1000, *(host.slowdown or [1000] * host.cores)], wide),
        stations=np.array([processors, pool, host.log_station], np.uint32),
        costs=np.array([host.page_ns, host.read_ns, host.dirty_ns], wide),
        log_state=np.array([0, host.log_bytes], wide),
        page_bytes=np.array([host.page_bytes], wide),
        seed=np.array([builder.seed], wide),
    )


def no_database() -> Database:
    """What the compiled engine works on when there is none."""
    nothing = np.zeros(0, np.int64)
    statements = Statements(
        [], np.zeros(0, np.int32), np.zeros(0, np.uint8), nothing, nothing, nothing, np.zeros(0, np.uint8), np.zeros(0, np.uint8)
    )  # fmt: skip
    return add_database(PlantBuilder(0), Host(cores=1, frames=1), [], [], statements)
