"""What experiments of published figures of InnoDB have in common: the figures, a host with one drive that runs a
described load, and the tables and transactions of TPC-C.
"""

import csv
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.scenarios.workloads.replay import load_workload, run_workload
from tiersim.traces.readers.mysql.settings import PAGE_CLEANER_SECOND

#: Why an experiment was not tried.
MISSING = "the figures are no part of the project; give their folder"
_HOST = """
[host]
cores = {cores}
contention = {contention}

[host.costs]
read = "{read_us} us"

[replay]
warmup = "{warmup_s} s"

[volumes.data]
device = "drive.toml"
{volume}
"""

#: Of a warehouse of TPC-C, in pages of 16 KiB: stock, customers, order lines; districts and where orders begin and end.
TPCC_PAGES = {"stock": 2174, "customer": 1200, "old": 1500, "ends": 40}
#: Bytes of its rows, with the head of a record, lengths of fields, and what names transaction and undo.
_ROW_BYTES = {"stock": 327, "customer": 573, "old": 80}
#: Of an order: 10 lines of 75 B until they are delivered, an order of 52 B, a new order of 30 B.
_ORDER_BYTES = 10 * 75 + 52 + 30
#: Of a page, its heads and its end (InnoDB's fil0fil.h, page0page.h).
_FRAME_BYTES = 132
#: Leaf pages of 16 KiB of a warehouse in secondary indexes: entries of keys, primary key and 6 bytes, which fill ln 2
#: of a page, as what comes in no order does (Yao, On random 2-3 trees, 1978). Of 30,000 customers by name 40 B, of as
#: many orders and payments by customer 20 and 19 B, of 300,000 order lines by warehouse and item 20 B.
TPCC_INDEX_PAGES = {"customer_name": 106, "order_customer": 53, "history_customer": 50, "line_item": 529}
#: Of a table or index that TPC-C draws by NURand: how many keys are drawn from, how often they come in a warehouse, and
#: how many low bits of a key are the OR of two even ones (specification, 2.1.6).
_NURAND = {"stock": (100_000, 1, 13), "line_item": (100_000, 1, 13)} | {
    name: (3000, 10, 10) for name in ("customer", "order_customer", "history_customer")
}
#: Items of a district's last 20 orders, of 10 each, whose stock a stock level reads (specification, 2.8.2.2).
_DISTRICTS, _LEVEL = 10, 200
#: Customers of a district, and how many names they have.
_CUSTOMERS, _NAMES = 3000, 1000
#: Levels of hot pages that stand for NURand's.
_LEVELS = 16
#: Shares of the pages, and of the accesses that go to them.
Levels = tuple[list[float], list[float]]
#: Tables, each a file: warehouse, district, history; new orders, orders, order lines.
_TABLES = {"ends": 3, "old": 3}
#: Placed and delivered: the last 20 orders of a district lie on the same page of lines.
_OPEN_ORDERS = 2 * 20
#: Of earlier runs: drives, and what a transaction costs, change nothing about how a pool is filled.
_POOLS = WarmPools()
#: Bytes of a transaction in the redo log: HammerDB's, what it grew by in the run of MySQL 8.4.8 with 10 users.
REDO_BYTES = 3588
#: Of these: an entry of a secondary index, with its fields' lengths and the head of the record; the commit's part; the
#: rest is of rows of tables.
_ENTRY_BYTES, _COMMIT_PART = 50, 1 / 6
_USERS = """[streams.users]
mix = {{ {mix} }}
clients = {clients}
"""
#: Of so many transactions of that mix: who commits changes, rows of tables that these change, and orders.
_OF, _COMMITS, _ROWS, _ORDERS = 23, 21, 10 * 14 + 10 * 2 + 40, 10
#: Of so many: customers that are drawn by number, and names.
_BY_NUMBER, _BY_NAME = 10 + 4 + 10, 6 + 1


def figures(folder: Path | None, name: str) -> list[dict[str, str]]:
    """Return the rows of the table *name* somewhere below *folder*; none if it is not there."""
    places = [] if folder is None else sorted(folder.rglob(name))
    if not places:
        return []
    with places[0].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@dataclass(frozen=True)
class Tool:
    """What a tool makes of TPC-C: secondary indexes, how many other customers it reads for a name, and the levels of
    tables and indexes that it does not draw from evenly (:func:`nurand`).
    """

    indexes: Sequence[str]
    named: int
    hot: Mapping[str, Levels]


@dataclass(frozen=True)
class Bench:
    """A host whose data and logs lie on one drive: the text of its file, and keys of the volume."""

    drive: str
    cores: int
    contention: float = 0.0
    read_us: float = 0.0  # CPU of a page that is read
    warmup_s: float = 0.0
    volume: str = ""

    def run(self, load: str) -> Mapping[str, Any]:
        """Return the summary of a load, the text of its file."""
        host = _HOST.format(
            cores=self.cores,
            contention=self.contention,
            read_us=self.read_us,
            warmup_s=self.warmup_s,
            volume=self.volume,
        )
        with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
            folder = Path(place)
            for name, text in (("load", load), ("drive", self.drive), ("host", host)):
                (folder / f"{name}.toml").write_text(text, encoding="utf-8")
            scenario = load_scenario(str(folder / "host.toml"))
            return run_workload(load_workload(folder / "load.toml"), scenario, pools=_POOLS).summary

    def transactions_per_s(self, load: str) -> float:
        """Return the throughput of a load."""
        return float(self.run(load)["throughput_per_s"]["transactions"]["value"])


def scaled(times: int, io_capacity: int, io_capacity_max: int) -> str:
    """Return variables of a server with so many *times* less data, frames and redo at the same rates: what it does by
    the second it does as much oftener, and as much less of it.
    """
    found = {
        "innodb_io_capacity": io_capacity // times,
        "innodb_io_capacity_max": io_capacity_max // times,
        "innodb_old_blocks_time": 1000 // times,
        PAGE_CLEANER_SECOND: 1_000_000 // times,
    }
    return "".join(f'"{name}" = "{value}"\n' for name, value in found.items())


def around(number: float) -> Sequence[tuple[int, float]]:
    """Return the whole numbers around one, with shares whose mean it is."""
    low = floor(number)
    share = number - low
    return [(low, 1 - share), (low + 1, share)] if share > 1e-6 else [(low, 1.0)]


def nurand(name: str, pages_per_16_kib: int = 1) -> Levels:
    """Return how NURand spreads over the pages of a table or an index, which hold keys that follow each other: levels
    that grow alike, the hottest first.

    An OR of two even bits is 1 three times as often as 0.
    """
    keys, times, bits = _NURAND[name]
    key = np.arange(keys)
    weights = np.prod([np.where(key >> bit & 1, 3.0, 1.0) for bit in range(bits)], axis=0)
    pages = _pages(name, pages_per_16_kib)
    place = np.arange(keys * times) * pages // (keys * times)
    by_page = np.sort(np.bincount(place, weights=np.tile(weights, times)))[::-1]
    edges = np.unique(np.rint(np.geomspace(1, pages + 1, _LEVELS + 1)).astype(np.int64)) - 1
    shares = np.add.reduceat(by_page, edges[:-1]) / by_page.sum()
    return [round(float(part), 6) for part in np.diff(edges) / pages], [round(float(part), 6) for part in shares]


def _room(pages_per_16_kib: int) -> float:
    """Return the bytes of rows on a page, of which a sixteenth stays free (MySQL's reference manual)."""
    return 16_384 / pages_per_16_kib * 15 / 16 - _FRAME_BYTES


def _pages(name: str, pages_per_16_kib: int) -> int:
    """Return the pages of a table or an index of a warehouse: of each heads are taken off, and half a row in the mean
    does not fit.
    """
    lost = _ROW_BYTES.get(name, 0) / 2
    larger, smaller = (_room(each) - lost for each in (1, pages_per_16_kib))
    return round((TPCC_PAGES | TPCC_INDEX_PAGES)[name] * larger / smaller)


def tpcc_mysql(pages_per_16_kib: int = 1) -> Tool:
    """Return tpcc-mysql with its indexes (add_fkey_idx.sql; a foreign key creates an index that it lacks: MySQL's
    reference manual).
    """
    return Tool(tuple(TPCC_INDEX_PAGES), 2, {name: nurand(name, pages_per_16_kib) for name in _NURAND})


def sysbench_tpcc() -> Tool:
    """Return sysbench-tpcc on MySQL 5.7 (tpcc_common.lua, tpcc_run.lua).

    Its NURand takes another constant at each call (0 is true in Lua), so that it draws items and customers evenly. It
    finds the one customer of a name in the index. Entries of indexes wait in the change buffer, none of which is read
    for them.
    """
    return Tool(("customer_name",), 0, {})


def hammerdb() -> Tool:
    """Return HammerDB for MySQL (mysqloltp.tcl), which draws items and customers' numbers evenly.

    Names are drawn by NURand (255, 0, 999), with one constant for loading and running: the first 1,000 customers of a
    district have a name each, the other 2,000 mostly the names that are asked for most. All customers of a name are
    read, 12.3 in the mean (MariaDB's counters of the published run: 24.8 rows a transaction read behind others, 24.9
    with these; 3.8 put into temporary tables, 3.5 with these).
    """
    drawn = (np.arange(256) | np.arange(_NAMES)[:, np.newaxis]) % _NAMES
    shares = np.bincount(drawn.ravel()) / drawn.size
    others = (_CUSTOMERS - _NAMES) * float((shares**2).sum())
    often = 1 - _NAMES / _CUSTOMERS
    by_name = _BY_NAME * (1 + others)
    share = (_BY_NUMBER * often + _BY_NAME * others) / (_BY_NUMBER + by_name)
    return Tool(
        ("customer_name", "order_customer"), round(others), {"customer": ([round(often, 6)], [round(share, 6)])}
    )


def tpcc(warehouses: int, cpu_us: int, clients: int, tool: Tool, pages_per_16_kib: int = 1) -> str:
    """Return TPC-C's tables, transactions and users, for behind the settings of a server."""
    tables = ""
    for name in (*TPCC_PAGES, *tool.indexes):
        tables += f"[relations.{name}]\nrows = {_pages(name, pages_per_16_kib) * warehouses}\nrows_per_page = 1\n"
        if name in tool.hot:
            tables += "hot = {}\nhot_share = {}\n".format(*tool.hot[name])
        if name in _TABLES:
            tables += f"tables = {_TABLES[name]}\n"
        tables += "\n"
    return tables + _statements(warehouses, cpu_us, clients, tool, pages_per_16_kib)


def _statements(warehouses: int, cpu_us: int, clients: int, tool: Tool, pages_per_16_kib: int) -> str:
    """Return TPC-C's transactions with HammerDB's shares, and its users; all of them need the same CPU."""
    rest = f'{{ compute = "{cpu_us} us" }}'
    commit_bytes = REDO_BYTES * _COMMIT_PART
    entries_bytes = _ORDERS * _ENTRY_BYTES  # HammerDB's: of an order
    row_bytes = round((_OF * REDO_BYTES - _COMMITS * commit_bytes - entries_bytes) / _ROWS)
    end = f'{{ commit = "{round(commit_bytes)} B" }}'
    districts = warehouses * _DISTRICTS

    def change(name: str, rows: int = 1, changed: int = 0) -> str:
        log = _ENTRY_BYTES if name in TPCC_INDEX_PAGES else row_bytes
        return f'{{ change = "{name}", rows = {rows}, lock = false, log = "{log} B", changed = {changed} }}'

    def enter(name: str, rows: int = 1) -> list[str]:
        return [change(name, rows)] if name in tool.indexes else []

    def write(orders: int, further: int) -> list[str]:
        """Change pages of so many orders: *further* ones that nobody used of late, and those of orders before."""
        before = [change("old", orders - further, districts * _OPEN_ORDERS)] if orders > further else []
        return before + ([change("old", further)] if further else [])

    pay = [change("customer"), *enter("history_customer"), change("ends"), end]
    named = '{ lookup = "customer_name" }'
    others = [f'{{ lookup = "customer", rows = {tool.named} }}'] if tool.named else []
    stock = f'{{ lookup = "stock", rows = {_LEVEL}, changed = {districts * _LEVEL} }}'
    does = {
        "payment": (4.0, pay),
        "payment_by_name": (6.0, [named, *others, *pay]),
        "level": (1.0, ['{ lookup = "ends" }', stock]),
        "status": (1.0, [
            named, *(others or ['{ lookup = "customer" }']), '{ lookup = "old", rows = 2 }', '{ lookup = "ends" }',
        ]),
    }  # fmt: skip
    pages = _ORDER_BYTES / _room(pages_per_16_kib)  # as many are read when orders are delivered
    for further, share in around(pages):
        does[f"order_{further}"] = (10 * share, [
            '{ lookup = "customer" }', change("stock", 10), *enter("order_customer"), *enter("line_item", 10),
            change("ends", 3), *write(1, further), end,
        ])  # fmt: skip
    for further, share in around(_DISTRICTS * pages):
        steps = [change("ends", 20), *write(_DISTRICTS, further), change("customer", 10), end]
        does[f"delivery_{further}"] = (share, steps)
    mix = ", ".join(f"{name} = {share:.6f}" for name, (share, _) in does.items())
    return "".join(
        f"[statements.{name}]\ndoes = [{', '.join([rest, *steps])}]\n\n" for name, (_, steps) in does.items()
    ) + _USERS.format(mix=mix, clients=clients)
