"""pgbench on a model of its host: the tables, the built-in scripts, and clients without think time.

A transaction is one statement of the model: lookups, row locks and the log in the order of the script
(src/bin/pgbench/pgbench.c). Its CPU, that of its client included, comes in equal parts, one a command. Tables are as
they were filled, and the page of pgbench_history that rows are inserted on is one page.

A run takes the log of an average transaction, images of pages included, and no checkpoint: those of the runs that are
compared write for minutes, and a thousand pages a second at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tiersim.devices.array.volume import Volume, add_volume
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.station_records import RESOURCES
from tiersim.operations import WRITE
from tiersim.scenarios.calibration.popularity.occupancy import INNER_ENTRIES
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.database_state import AGAIN, COMPUTE, LOCK, LOG, LOOKUP, OLDER_OF_TWO, OWN
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.metrics import Metrics, new_metrics
from tiersim.simulator.taps import rows_of, tapped
from tiersim.units import NS_PER_S

#: A scale unit of pgbench_accounts, and how many of its rows a page of the heap and a leaf of the primary key hold
#: (src/bin/pgbench; fillfactor 100 and 90; 163,935 pages and 27,323 leaves of 10 million rows, PostgreSQL 18).
ROWS, ROWS_A_PAGE, ROWS_A_LEAF = 100_000, 61, 366
TELLERS = 10
PAGE_BYTES = 8192

Script = Literal["select-only", "simple-update", "tpcb-like"]
_ACCOUNTS, _HISTORY, _TELLERS, _BRANCHES = range(4)
#: A client does no more than so many times the mean of all.
_UNEVEN = 1.5
#: A transaction asks its volume for no more than so many requests, on average: it reads a page or two, writes one back,
#: and has its log written and flushed.
_MOST_REQUESTS = 5
#: That a pool is filled with: a page of a table that hardly fits has been asked for several times then.
_MOST_REFERENCES = 100_000_000
#: Of earlier runs: devices, and what a transaction costs, change nothing about how a pool is filled.
_POOLS = WarmPools()


@dataclass(frozen=True)
class PgbenchServer:
    """A host with PostgreSQL: data and log on one volume."""

    cores: int
    clients: int
    pool_bytes: int
    os_cache_bytes: int
    volume: Volume


def heap_pages(scale: int) -> int:
    """Return the pages of pgbench_accounts."""
    return -(-ROWS * scale // ROWS_A_PAGE)


def leaf_pages(scale: int) -> int:
    """Return the leaves of its primary key."""
    return -(-ROWS * scale // ROWS_A_LEAF)


def _index_levels(scale: int) -> list[int]:
    pages = [leaf_pages(scale)]
    while pages[0] > 1:
        pages.insert(0, -(-pages[0] // INNER_ENTRIES))
    return pages


def relations(scale: int, station: int) -> list[Relation]:
    """Return the tables at a scale, on a volume's *station*."""
    tellers, branches = (-(-count * scale // 200) for count in (TELLERS, 1))  # about 200 rows of 40 bytes on a page
    return [
        Relation(ROWS * scale, (*_index_levels(scale), heap_pages(scale)), station=station),
        Relation(1, (1,), station=station),
        Relation(TELLERS * scale, (1, tellers), station=station),
        Relation(scale, (1, branches), station=station),
    ]


def demands(script: Script, log_bytes: int) -> list[Demand]:
    """Return what a transaction asks for; its log is put into the last record."""

    def update(table: int) -> list[Demand]:
        return [Demand(LOOKUP, table, dirties=True), Demand(LOCK, table, rank=table)]

    commands: dict[Script, list[list[Demand]]] = {
        "select-only": [[Demand(LOOKUP, _ACCOUNTS)]],
        "simple-update": [
            [],
            update(_ACCOUNTS),
            [Demand(AGAIN, _ACCOUNTS)],
            [Demand(LOOKUP, _HISTORY, dirties=True)],
            [],
        ],
        "tpcb-like": [
            [],
            update(_ACCOUNTS),
            [Demand(AGAIN, _ACCOUNTS)],
            update(_TELLERS),
            update(_BRANCHES),
            [Demand(LOOKUP, _HISTORY, dirties=True)],
            [],
        ],
    }
    parts = commands[script]
    share = 1000 // len(parts)
    found = [demand for part in parts for demand in (Demand(COMPUTE, share=share), *part)]
    return found if script == "select-only" else [*found, Demand(LOG, log_bytes=log_bytes)]


@dataclass(frozen=True)
class Rate:
    """What came out of a run."""

    per_s: float  # transactions
    device_reads: float  # a transaction: pages that neither pool nor page cache had
    device_writes: float  # a transaction that is counted: write-backs of the page cache


def rate(
    server: PgbenchServer,
    script: Script,
    scale: int,
    cpu_ns: float,
    log_bytes: float = 0,
    *,
    settle_s: float,
    measure_s: float,
    most_per_s: float,
    seed: int = 1,
) -> Rate:
    """Run clients from *settle_s* on, from a pool and a page cache as they are in the long run.

    *most_per_s* is above any rate that can come out: so many transactions are made; raises ValueError if a client has
    done all of its own.
    """
    builder = PlantBuilder(seed)
    volume = add_volume(builder, server.volume)
    until_s = settle_s + measure_s
    host = DatabaseHost(
        cores=server.cores,
        cpu_order=OLDER_OF_TWO,
        frames=server.pool_bytes // PAGE_BYTES,
        log_station=volume,
        log=Log(full_page_writes=False),
        until_ns=round(until_s * NS_PER_S),
        background_writer=BackgroundWriter(),
        os_cache_pages=server.os_cache_bytes // PAGE_BYTES,
    )
    each = round(until_s * most_per_s / server.clients * _UNEVEN)
    classes = [demands(script, round(log_bytes))]
    database = add_database(builder, host, relations(scale, volume), classes, closed_loop(server.clients, each, cpu_ns))
    plant = builder.build()
    _POOLS.fill(database, plant, most_references=_MOST_REFERENCES)
    metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 2, NS_PER_S)
    metrics = tapped(metrics, np.array([volume]), round(until_s * most_per_s * _MOST_REQUESTS))
    engine.run_database(plant, database, metrics)
    if database.done_ns[each - 1 :: each].any():
        raise ValueError(f"most_per_s: with {most_per_s:,.0f} a second a client ran out of transactions; more come out")
    done = database.done_ns[database.done_ns > 0]
    counted = np.count_nonzero((done >= settle_s * NS_PER_S) & (done < host.until_ns))
    cache = database.page_cache[0]
    return Rate(
        counted / measure_s,
        int(cache["read_pages"] - cache["hit_pages"]) / len(done),
        _write_backs(metrics, int(cache["station"]), round(settle_s * NS_PER_S)) / max(int(counted), 1),
    )


def _write_backs(metrics: Metrics, cache: int, since_ns: int) -> int:
    """Return how many writes the page cache has asked for since then; raises ValueError if there was no room to note
    them.
    """
    asked = rows_of(metrics)
    if asked is None:
        raise ValueError(f"_MOST_REQUESTS: more than {len(metrics.taps):,} requests were made; raise it")
    return int(np.count_nonzero((asked["op"] == WRITE) & (asked["through"] == cache) & (asked["came_ns"] >= since_ns)))


def closed_loop(clients: int, each: int, cpu_ns: float) -> Statements:
    """Return what *clients* do, one transaction after the other without a pause, *each* so many."""
    count = clients * each
    nothing, flags = np.zeros(count, np.int64), np.ones(count, np.uint8)
    ends: Sequence[int] = [(client + 1) * each for client in range(clients)]
    cpu = np.full(count, round(cpu_ns))
    return Statements(
        ends, np.zeros(count, np.int32), np.full(count, OWN, np.uint8), nothing, nothing, cpu, flags, flags
    )
