"""An hour each of sysbench-tpcc on PostgreSQL 12 with another max_wal_size (Percona, July 2020).

Told are 10 sets of tables of 100 warehouses, 56 threads, the pool (140 GB, more than the tables take), the memory, the
settings of checkpoints and of the background writer, Linux 5.3 and the SSD, an Intel D3-S4510 of 960 GB (Percona's
article of 28 July 2020). Two numbers are fitted to the run of 25 GB, its first 900 s left out as in all: what the
device writes a second, to the time between dips, and the log of a transaction, to the mean and to how deep dips are:
where both are too large, by as much of what either may be off. The other sizes are predicted.

The specification of the drive's predecessor, S4500, has up to 33,000 random writes of 4 KiB a second and 21,000 of 8
KiB: 13 us a command and 237 MB/s. A flush is a command, too, and none is under way beside it (libata does not queue
it), so commands are served one after the other.

Transactions change the pages that the benchmark's script changes, in the order in which it makes tables and indexes:
each kind of ten sets side by side, as by the 64 threads of its README (tpcc_common.lua, cmd_prepare); one thread makes
those of a set, then those of the next. Rows a page follow from the widths of its columns. Items and customers are
equally likely: NURand adds a constant that is to be drawn once, but the script draws it at every call (``if init_rand``
of Lua holds for 0, too), and what is added hides which bits are often 1. Updates stay on their page (HOT), as those of
a page that was updated before do; a row with a foreign key locks the row that it refers to. A page of order lines,
which its load fills, has 8 orders of a district, delivered one after the other: lines of the first find no room, those
of the next what pruning leaves of the last (pruneheap.c, heap_page_prune_opt), so 2 of 10 get entries in indexes anew.
Bytes of records are those of their structures (access/heapam_xlog.h, nbtxlog.h), an image has what pglz leaves of a
page; the fitted number multiplies both.

A part of the server runs: tables, pool, page cache, log and the device's rate are so much smaller; a request, a
client's work and a nap of the checkpointer take so much longer. So as many requests meet as in the whole, and time
between checkpoints stays what it is.

Writes of buffered files wait in the kernel while too many are under way (block/blk-wbt.c). Of those that nobody waits
for there may be 12 without reads, and (24 + 3) / 4 = 6 within 100 ms of a read (close_io); looks at orders of the load,
which were never read before, go on for the hour. The log's write, always under way, is one of the 6. Where the drive
has a volatile cache the next are let go when all have ended, and the log's with them (wbt_rqw_done). So as many
transactions are committed as with 3 write-backs under way all the time (to 7 %, tests/test_write_backs.py).

Where the log has grown by more than max_wal_size when a checkpoint ends, it has no old files for its next segments, and
makes each (wal/log.py). The server begins with as many files as max_wal_size allows: those of its load.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.devices.array.volume import VolumeHost as Depth
from tiersim.devices.array.volume import add_queue
from tiersim.devices.plant import PlantBuilder
from tiersim.devices.server import add_server
from tiersim.devices.station_records import RESOURCES
from tiersim.scenarios.validation import ranges
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.ranges import Assumed
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.buffer_pool.background_writer import BackgroundWriter
from tiersim.simulator.database.buffer_pool.warm import hold_all
from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
from tiersim.simulator.database.checkpoint.checkpointer import NAP_NS, Checkpoints, distance_segments
from tiersim.simulator.database.database_state import LOCK, LOG, LOOKUP, OWN
from tiersim.simulator.database.wal.log import Log
from tiersim.simulator.metrics import new_metrics
from tiersim.units import NS_PER_S

FILE = "postgresql_checkpoints_tpcc_2020.csv"
_FITTED_GB = 25
_SPAN_S, _LEFT_OUT_S, _BIN_S = 3600, 900, 10
_GIB, _PAGE_BYTES = 1 << 30, 8192
_VERSION, _TIMEOUT_S, _TARGET = 120000, 900, 0.9
_POOL_GIB, _CLIENTS, _CORES = 140, 56, 80
#: Beside pool and processes (8 GB, assumed): of 188 GB.
_OS_CACHE_GIB = 40
#: Parts that run: that of the predictions, and that whose figures say how far an assumed number moves them.
_PART, _SMALL_PART = 40, 80
#: No client does more than so many transactions a second, all together.
_MOST_PER_S = 14_000
#: Rows: of one set of tables 100 warehouses, 10 sets.
_STOCK, _CUSTOMERS, _ORDERS, _LINES, _NEW_ORDERS = 100e6, 30e6, 30e6, 300e6, 9e6
#: A page of an index that is filled in its order has 90 % of 8,168 bytes, one that is not some 70 %.
_LEAF, _RANDOM_LEAF = 366, 286
#: Bytes of an image: pglz leaves 1.6 kB of pages of stock and customers, whose texts repeat a letter, and some 3.4 kB
#: of a leaf (tests/test_real_page_images.py).
_IMAGE_BYTES = 2080
#: What a command takes beside its bytes, by two figures of the S4500's specification: 2 / 33,000 s - 1 / 21,000 s.
_COMMAND_NS = round(2e9 / 33_000 - 1e9 / 21_000)
#: Assumed: write-backs under way beside the log (2 where the kernel allows 4, 6 where it allows 12); a
#: transaction without its commit: processor, and messages to and from its client, of which an order has some 45; how
#: many sets of tables lie one behind the other.
_DEPTH = Assumed("write_backs", 2, 3, 6)
_WORK = Assumed("work_ms", 3.5, 4.5, 5.2)
_SETS_APART = Assumed("sets_apart", 1, 1, 10)
_ASSUMED = (_DEPTH, _WORK, _SETS_APART)
#: The first guess of the fit, and how often it is mended.
_RATE_BYTES_PER_S, _LOG_FACTOR, _ROUNDS = 300e6, 1.5, 4
#: More log makes the mean lower and dips deeper: a round goes this way along, as an exponent, for a mean that is too
#: high by what it may be off, less what dips are too deep by.
_DAMPING = 0.15
#: A dip is where a minute has at most so much of the minute before; two are at least so far apart.
_FALL, _MINUTE, _APART = 0.75, 60 // _BIN_S, 250 // _BIN_S

Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """Of a curve behind its first 900 s: mean transactions/s, s between dips, how far their lowest 10 s lie below the
    mean and which part of the time lies below 80 % of it, both in percent.
    """

    mean: float
    between_s: float
    depth_pct: float
    low_pct: float

    @property
    def figures(self) -> dict[str, float]:
        """By name."""
        return {"mean": self.mean, "between": self.between_s, "depth": self.depth_pct, "low": self.low_pct}


def shape_of(curve: Curve, begins: Sequence[int] | None = None) -> Shape:
    """Return the shape of transactions/s of each 10 s; dips are where checkpoints begin, and are looked for where
    nobody says when that is.
    """
    first = _LEFT_OUT_S // _BIN_S
    rates = curve[first:]
    mean = float(rates.mean())
    last = len(rates) - _MINUTE
    dips = _dips(rates) if begins is None else [begun - first for begun in begins if 0 <= begun - first <= last]
    lowest = [float(rates[dip : dip + _MINUTE].min()) for dip in dips]
    return Shape(
        mean,
        float(np.diff(dips).mean()) * _BIN_S if len(dips) > 1 else float(_SPAN_S - _LEFT_OUT_S),
        100 * (1 - float(np.mean(lowest)) / mean) if dips else 0.0,
        100 * float((rates < 0.8 * mean).mean()),
    )


def _dips(rates: Curve) -> list[int]:
    """Return where dips begin, the steepest falls first taken."""
    sums = np.concatenate([[0.0], np.cumsum(rates)])
    inside = np.arange(_MINUTE, len(rates) - _MINUTE + 1)
    behind, before = sums[inside + _MINUTE] - sums[inside], sums[inside] - sums[inside - _MINUTE]
    found: list[int] = []
    for place in np.argsort(behind / before, kind="stable").tolist():
        if behind[place] > _FALL * before[place]:
            break
        if all(abs(int(inside[place]) - other) >= _APART for other in found):
            found.append(int(inside[place]))
    return sorted(found)


def _relations(part: int, station: int, sets: int) -> tuple[list[Relation], dict[str, int]]:
    """Return what transactions change, a row for a page, in the order of the files, and the place of each by name, in
    the first of so many *sets* one behind the other.
    """
    names: dict[str, int] = {}
    found: list[Relation] = []

    def add(name: str, pages: float, rows: int = 0) -> None:
        names[name] = len(found)
        count = max(round(pages / sets), 1)
        found.append(Relation(rows // sets or count, (count,), station=station))

    add("warehouse", 12, rows=1000)
    add("district", 154, rows=10_000)
    add("customer", _CUSTOMERS / 13 / part)
    add("tails", 4 * _CLIENTS)  # where each client appends rows
    add("undelivered", _NEW_ORDERS / 226 / part)
    add("lines", 0.3 * _LINES / 81 / part)  # of orders that are to be delivered
    add("ends", 3 * 10_000 / part)  # leaves of three indexes that a district's next order goes to
    add("stock", _STOCK / 24 / part)
    add("orders_by_customer", _ORDERS / 262 / part)
    add("lines_by_item", _LINES / _RANDOM_LEAF / part)
    add("payments_by_customer", _CUSTOMERS / _LEAF / part)
    add("payments_by_district", _CUSTOMERS / _LEAF / part)
    return found * sets, names


def _transactions_of(sets: int, names: Mapping[str, int], log_factor: float) -> list[list[Demand]]:
    """Return what the five transactions ask for, of each of the *sets*."""
    kinds = _transactions(names, log_factor)
    return [
        [replace(one, table=one.table + place * len(names), rank=one.rank + place * len(names)) for one in kind]
        for place in range(sets)
        for kind in kinds
    ]


def _transactions(names: Mapping[str, int], log_factor: float) -> list[list[Demand]]:
    """Return what the five transactions ask for, of the first set."""

    def changed(name: str, log_bytes: int, rows: int = 1) -> list[Demand]:
        return [Demand(LOOKUP, names[name], dirties=True, log_bytes=round(log_factor * log_bytes))] * rows

    def locked(name: str, log_bytes: int) -> list[Demand]:
        table = names[name]
        lock = Demand(LOCK, table, dirties=True, log_bytes=round(log_factor * log_bytes), rank=table)
        return [Demand(LOOKUP, table), lock]

    commit = Demand(LOG, log_bytes=round(log_factor * 34))
    line = [*changed("stock", 144), *changed("tails", 140), *changed("lines_by_item", 64), *changed("ends", 72)]
    order = [
        *locked("district", 134), *changed("customer", 54), *changed("tails", 110), *changed("ends", 64),
        *changed("orders_by_customer", 72), *changed("tails", 82), *changed("ends", 64), *line * 10, commit,
    ]  # fmt: skip
    payment = [
        *locked("warehouse", 90), *locked("district", 90), *changed("customer", 204), *changed("tails", 120),
        *changed("payments_by_customer", 64), *changed("payments_by_district", 64), commit,
    ]  # fmt: skip
    delivered = [
        *changed("undelivered", 108), *changed("undelivered", 80), *changed("lines", 605, 2),
        *changed("lines_by_item", 64, 2), *changed("customer", 120),
    ]  # fmt: skip
    return [
        order, payment, [*delivered * 10, commit], [Demand(LOOKUP, names["customer"])],
        [Demand(LOOKUP, names["stock"])],
    ]  # fmt: skip


#: Of 23 transactions of the script: orders, payments, deliveries, looks at an order, looks at the stock.
_MIX = np.array([10, 10, 1, 1, 1]) / 23


def simulate(
    max_wal_gb: int, part: int, bytes_per_s: float, log_factor: float, values: Mapping[str, Any], seed: int = 1
) -> tuple[Curve, list[int]]:
    """Run a *part* of the server for the hour; returns the transactions/s of the whole in each 10 s, and in which of
    them checkpoints begin.
    """
    builder = PlantBuilder(seed)
    device = add_server(builder, "ssd", 1, _COMMAND_NS * part, bytes_per_s=round(bytes_per_s / part))
    data = add_queue(builder, "data", Depth(values[_DEPTH.name]), device)
    sets = values[_SETS_APART.name]
    relations, names = _relations(part, data, sets)
    kinds = _transactions_of(sets, names, log_factor)
    each = _SPAN_S * _MOST_PER_S // part // _CLIENTS
    count = each * _CLIENTS
    nothing, flags = np.zeros(count, np.int64), np.ones(count, np.uint8)
    statements = Statements(
        session_ends=[(client + 1) * each for client in range(_CLIENTS)],
        classes=np.random.default_rng(seed).choice(len(kinds), count, p=np.tile(_MIX, sets) / sets).astype(np.int32),
        waits_for=np.full(count, OWN, np.uint8),
        start_ns=nothing,
        think_ns=np.full(count, round(values[_WORK.name] * part * NS_PER_S / 1000)),
        cpu_ns=nothing,
        begins=flags,
        ends=flags,
    )
    segments = distance_segments(_VERSION, max_wal_gb * _GIB // part, _TARGET)
    host = DatabaseHost(
        cores=_CORES,
        frames=_POOL_GIB * _GIB // _PAGE_BYTES // part,
        log_station=device,
        log=Log(image_bytes=round(log_factor * _IMAGE_BYTES), most_kept_bytes=max_wal_gb * _GIB // part),
        until_ns=_SPAN_S * NS_PER_S,
        checkpoints=Checkpoints(_TIMEOUT_S * NS_PER_S, _TARGET, segments, nap_ns=NAP_NS * part),
        background_writer=BackgroundWriter(most_pages=1000, multiplier=10),
        os_cache_pages=_OS_CACHE_GIB * _GIB // _PAGE_BYTES // part,
    )
    database = add_database(builder, host, relations, kinds, statements)
    plant = builder.build(4096)
    hold_all(plant, database)
    bins = _SPAN_S // _BIN_S
    metrics = new_metrics(FIRST_CLASS + len(kinds), len(builder.stations), RESOURCES, bins + 1, _BIN_S * NS_PER_S)
    engine.run_database(plant, database, metrics)
    done_ns = database.done_ns[(database.done_ns > 0) & (database.done_ns < host.until_ns)]
    curve = np.bincount(done_ns // (_BIN_S * NS_PER_S), minlength=bins)[:bins] * part / _BIN_S
    begun = int(database.checkpointer[0]["count"]) + 1  # the last one may not be over
    starts_ns = database.checkpoints["start_ns"][:begun]
    return curve, (starts_ns[starts_ns > 0] // (_BIN_S * NS_PER_S)).tolist()


def _fit(part: int, measured: Shape, values: Mapping[str, Any]) -> tuple[float, float]:
    """Return the device's bytes/s and the factor of the log with which the fitted run has its time between dips, and is
    as much too fast as its dips are too deep, in what either may be off.
    """
    bytes_per_s, log_factor = _RATE_BYTES_PER_S, _LOG_FACTOR
    for _ in range(_ROUNDS):
        found = shape_of(*simulate(_FITTED_GB, part, bytes_per_s, log_factor, values))
        bytes_per_s *= found.between_s / measured.between_s
        too_fast, too_deep = found.mean / measured.mean - 1, found.depth_pct - measured.depth_pct
        log_factor *= math.exp(_DAMPING * (100 * too_fast / _FIGURES["mean"][2] - too_deep / _FIGURES["depth"][2]))
    return bytes_per_s, log_factor


def _all(part: int, measured: Mapping[int, Shape], values: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures of all sizes by name, predicted with the fit to one."""
    bytes_per_s, log_factor = _fit(part, measured[_FITTED_GB], values)
    figures: dict[str, float] = {}
    for size in measured:
        found = shape_of(*simulate(size, part, bytes_per_s, log_factor, values))
        figures |= {f"{size} {name}": value for name, value in found.figures.items()}
    return figures


_NOTES = {
    "1 between": "measured: dips come closer from 450 to 370 s in the hour, and throughput rises; here nothing changes",
    "100 mean": "here 12,200 a second where nothing is written back, published 10,600",
    "100 depth": "here 4,100 a second in the lowest 10 s, published 4,500; the mean here is too high",
}


#: By figure of a shape: what it is called, its unit, and how far off it may be, in percent or in points.
_FIGURES: Mapping[str, tuple[str, str, float, bool]] = {
    "mean": ("mean", "per s", 10, True),
    "between": ("between dips", "s", 15, True),
    "depth": ("dips below the mean by", "%", 10, False),
    "low": ("time below 80 % of the mean", "%", 5, False),
}
_FITTED = {f"{_FITTED_GB} {name}" for name in ("mean", "between", "depth")}


def experiment(folder: Path | None) -> Experiment:
    """Shapes of the hours, and how far off one curve for all sizes is; *folder* holds the figures."""
    title = "sysbench-tpcc on PostgreSQL 12: an hour each of four sizes of max_wal_size"
    source = "Percona-Lab-results, PostgreSQL-Checkpoint-Jul2020 (10 s means, the first 900 s left out)"
    fitted = (
        "what the device writes a second, to the time between dips, and the log of a transaction, to the mean and how"
        f" deep they are, with {_FITTED_GB} GB"
    )
    places = [] if folder is None else sorted(folder.rglob(FILE))
    if not places:
        return Experiment(
            "checkpoint-hours",
            title,
            source,
            fitted,
            missing="the figures are no part of the project; give their folder",
        )
    measured = {size: shape_of(curve) for size, curve in _measured(places[0]).items()}
    taken = {one.name: one.taken for one in _ASSUMED}
    predicted = _all(_PART, measured, taken)
    moved = ranges.over(_ASSUMED, lambda values: _all(_SMALL_PART, measured, values))
    return Experiment(
        "checkpoint-hours",
        title,
        source,
        fitted,
        (*_claims(measured, predicted, moved), *_beside_one_curve(measured, predicted)),
        fits=2,
        assumed=(
            *map(str, _ASSUMED),
            "bytes of an image",
            "indexes but those that rows scatter in",
        ),
    )


def _measured(path: Path) -> dict[int, Curve]:
    """Return transactions/s of each 10 s by max_wal_size in GB."""
    found: dict[int, list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(int(row["max_wal_size_gb"]), []).append(float(row["tps_mean"]))
    return {size: np.array(curve) for size, curve in found.items()}


def _claims(
    measured: Mapping[int, Shape], predicted: Mapping[str, float], moved: Mapping[str, ranges.Range]
) -> Sequence[Claim]:
    claims = []
    for size, shape in measured.items():
        for name, (what, unit, tolerance, in_percent) in _FIGURES.items():
            key, published = f"{size} {name}", shape.figures[name]
            found, reach = predicted[key], moved[key]
            claims.append(
                Claim(
                    f"{size} GB: {what}",
                    unit,
                    published,
                    found,
                    tolerance,
                    fitted=key in _FITTED,
                    low=found + reach.low - reach.predicted,
                    high=found + reach.high - reach.predicted,
                    note=_NOTES.get(key, ""),
                    within=None if in_percent else (published - tolerance, published + tolerance),
                    figure="throughput" if name == "mean" else None,
                )
            )
    return claims


def _beside_one_curve(measured: Mapping[int, Shape], predicted: Mapping[str, float]) -> list[Claim]:
    """Return how far off the predictions of the other sizes are on average, beside the fitted size's own figures."""
    others = [size for size in measured if size != _FITTED_GB]

    def off(name: str, found: Mapping[int, float]) -> float:
        return 100 * float(np.mean([abs(found[size] / measured[size].figures[name] - 1) for size in others]))

    return [
        Claim(
            f"{_FIGURES[name][0]}, other sizes: mean error, of one curve for all sizes",
            "%",
            off(name, dict.fromkeys(others, measured[_FITTED_GB].figures[name])),
            off(name, {size: predicted[f"{size} {name}"] for size in others}),
            0,
            at_most=True,
        )
        for name in ("mean", "between")
    ]
