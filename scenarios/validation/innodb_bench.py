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

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.workloads.replay import load_workload, run_workload

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

#: Of a warehouse of TPC-C, in pages of 16 KiB: stock, customers, old order lines; and where orders begin and end.
TPCC_PAGES = {"stock": 2174, "customer": 1200, "old": 1500, "ends": 40}
#: Tables that begin and end orders, each a file: warehouse, district, history, new orders, orders, order lines.
_TABLES_OF_ENDS = 6
#: Bytes of a transaction in the redo log: HammerDB's, of the run with 10 users.
_REDO_BYTES = 3588
_USERS = """[streams.users]
mix = {{ order = 10, payment = 10, delivery = 1, level = 1, status = 1 }}
clients = {clients}
"""


def figures(folder: Path | None, name: str) -> list[dict[str, str]]:
    """Return the rows of the table *name* somewhere below *folder*; none if it is not there."""
    places = [] if folder is None else sorted(folder.rglob(name))
    if not places:
        return []
    with places[0].open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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
            return run_workload(load_workload(folder / "load.toml"), load_scenario(str(folder / "host.toml"))).summary

    def transactions_per_s(self, load: str) -> float:
        """Return the throughput of a load."""
        return float(self.run(load)["throughput_per_s"]["transactions"]["value"])


def around(number: float) -> Sequence[tuple[int, float]]:
    """Return the whole numbers around one, with shares whose mean it is."""
    low = floor(number)
    share = number - low
    return [(low, 1 - share), (low + 1, share)] if share > 1e-6 else [(low, 1.0)]


def tpcc(
    warehouses: int, cpu_us: int, clients: int, hot: Mapping[str, tuple[float, float]], pages_per_16_kib: int = 1
) -> str:
    """Return TPC-C's tables, transactions and users, for behind the settings of a server.

    *hot* says of a table which share of it is hot, and which share of the accesses goes there.
    """
    tables = ""
    for name, pages in TPCC_PAGES.items():
        tables += f"[relations.{name}]\nrows = {pages * pages_per_16_kib * warehouses}\nrows_per_page = 1\n"
        if name in hot:
            tables += "hot = {}\nhot_share = {}\n".format(*hot[name])
        if name == "ends":
            tables += f"tables = {_TABLES_OF_ENDS}\n"
        tables += "\n"
    return tables + _statements(cpu_us) + _USERS.format(clients=clients)


def _statements(cpu_us: int) -> str:
    """Return TPC-C's transactions with HammerDB's shares; all of them need the same CPU and log the same."""
    rest = f'{{ compute = "{cpu_us} us" }}'
    log = f'log = "{_REDO_BYTES // 24} B"'
    end = f'{{ commit = "{_REDO_BYTES // 6} B" }}'

    def change(name: str, rows: int = 1) -> str:
        return f'{{ change = "{name}", rows = {rows}, lock = false, {log} }}'

    does = {
        "order": ['{ lookup = "customer" }', change("stock", 10), change("ends", 4), end],
        "payment": ['{ lookup = "customer" }', change("customer"), change("ends"), end],  # 3 of a name in 3 of 5
        "delivery": [change("ends", 30), change("customer", 10), end],
        "level": ['{ lookup = "ends" }', '{ lookup = "stock", rows = 200 }'],
        "status": ['{ lookup = "customer", rows = 2 }', '{ lookup = "old", rows = 2 }', '{ lookup = "ends" }'],
    }
    return "".join(f"[statements.{name}]\ndoes = [{', '.join([rest, *steps])}]\n\n" for name, steps in does.items())
