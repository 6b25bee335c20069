"""TPC-C on Percona Server 5.7 over one EBS volume of AWS, io1 by provisioned IOPS and gp2 by size (figures of 2018).

Pool and settings were not published. Each cell begins with an empty pool, and an hour is too short to fill it with what
is used most: in all cells a transaction needs the same requests of the volume after so many transactions since the
start, be it 20 minutes or 5. That was seen in the curves by the minute of all cells, after a rule of one demand for the
whole hour had failed. So two cells are fitted, minute by minute: io1 with 11,000 IOPS says how many requests a
transaction makes after so many, gp2 with 3,300 GB how many bytes; the last of either hold for what goes on longer.

A transaction reads and changes pages that lie evenly in a table of which a twentieth is in the pool: how many it misses
and how many of these it changes make its requests and bytes. Changed pages go to the doublewrite file, in batches, and
to their places; commits share writes of the redo log. A volume counts up to 256 KiB in sequence as one request, gp2
gives 3 IOPS for a GB and 160 MB/s, io1 what is provisioned and 500 MB/s (documents of AWS of 2018), each request after
0.8 ms. 72 clients. Each of 8 instances keeps 1,024 frames free, as by default, together more than a second needs: page
cleaners write in bursts, in which bytes are the limit and requests lapse. (128 frames, which are refilled without a
pause, had the knee of gp2 at 2,417 GB and the worst cell 9.7 % off. All cells were known then.) A cell is simulated at
a few points of its warming, and walked through minute by minute.

What of an allowance is not used is kept for 0.1 s. Nothing documents that. It was chosen on io1, whose cells make the
same requests for a transaction whatever is provisioned, so that nothing lapses (mean error of io1 4 %, 8 % if all
lapses within 10 ms); tested on gp2, 5 % (6 %).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from pathlib import Path

import numpy as np

from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.innodb_bench import MISSING, Bench, around, figures

FILE, MINUTES = "ebs_volumes_tpcc_2018.csv", "ebs_volumes_tpcc_2018_minutes.csv"
Cell = tuple[str, int]
#: Cells as (volume, IOPS or GB): the fitted ones, and from which on the others are steady.
_BY_IOPS, _BY_BYTES = ("io1", 11_000), ("gp2", 3_300)
_LEAST = {"io1": 3_000, "gp2": 1_300}
_IOPS_PER_GB = 3
_BYTES_PER_S = {"io1": 500_000_000, "gp2": 160_000_000}
_PAGE_BYTES, _COUNTED_PAGES = 16_384, 16
_RELATION_PAGES, _POOL_SHARE = 1_600_000, 0.05
_CLIENTS, _MINUTES = 72, 60
#: Points of a cell's warming at which it is simulated, and minutes over which the fitted curves are averaged.
_POINTS, _AVERAGED = 10, 5
#: Cells that do less than this part of what bytes let them are limited by requests.
_BELOW = 0.9
_MEAN_PCT, _WORST_PCT, _KNEE_GB, _KNEE_WITHIN_GB = 7, 20, 2_600, 150
_WARMS = "warming up at its end; not in the mean"

_WORKLOAD = """
[workload]
engine = "mysql"
version = "5.7"
buffer_pool = "{pool_bytes} B"
duration = "6 s"

[workload.variables]
innodb_lru_scan_depth = "1024"
innodb_buffer_pool_instances = "8"
innodb_flush_neighbors = "0"
innodb_flush_method = "O_DIRECT"
innodb_log_file_size = "5000000000"
log_bin = "OFF"

[relations.pages]
rows = {pages}
rows_per_page = 1

{statements}
[streams.clients]
mix = {{ {mix} }}
clients = {clients}
"""
_STATEMENT = """[statements.{name}]
does = [{{ compute = "1 ms" }}, {{ lookup = "pages", rows = {lookups} }},
 {{ change = "pages", rows = {changes}, lock = false, log = "{log} B" }}, {{ commit = "100 B" }}]

"""
_VOLUME = """
kind = "token-bucket"
name = "an EBS volume of 2018"
capacity = "4 TB"
latency = "0.8 ms"
iops = {iops}
rate = "{rate} B/s"
accounting_unit = "256 KiB"
merged_from = "32 KiB"
refill_interval = "10 ms"
carry_over = "0.1 s"
flushes_counted = false

[sources]
capacity = "assumed: 3 TB .. 4 TB"
latency = "assumed: 0.4 ms .. 2 ms"
iops = "document: AWS EC2 user guide, EBS volume types"
rate = "document: AWS EC2 user guide, EBS volume types, 2018"
accounting_unit = "document: AWS EBS user guide, I/O characteristics"
merged_from = "document: AWS re:Post, optimal I/O size"
refill_interval = "assumed: 1 ms .. 100 ms"
carry_over = "assumed: 0 s .. 1 s"
flushes_counted = "assumed: true .. false"
"""


def drive(iops: int, volume: str) -> str:
    """Return the text of a volume, ``io1`` or ``gp2``, with so many IOPS."""
    return _VOLUME.format(iops=iops, rate=_BYTES_PER_S[volume])


def experiment(folder: Path | None) -> Experiment:
    """Errors of the steady cells, beside linear scaling, and the knee of gp2; *folder* holds the figures."""
    title = "InnoDB on EBS volumes: TPC-C by provisioned IOPS and by size"
    source = "Percona-Lab-results, 201808-rocksdb-cloudio: 5,000 warehouses, 72 clients, second half of an hour"
    fitted = (
        "pages missed and changed by a transaction after so many, to the minutes of io1 with 11,000 IOPS and of gp2"
        " with 3,300 GB; that they hang on how many were done was seen in all cells"
    )
    rows, minutes = figures(folder, FILE), figures(folder, MINUTES)
    if not rows or not minutes:
        return Experiment("innodb-ebs", title, source, fitted, missing=MISSING)
    measured = _measured(rows)
    warming = _Warming.of(_by_minute(minutes))
    predicted = {cell: warming.rate(cell) for cell in measured}
    return Experiment(
        "innodb-ebs", title, source, fitted, tuple(_claims(measured, predicted)), fits=2,
        assumed=("latency of the volume", "pool", "bytes of redo", "settings of the server"), basis="innodb",
    )  # fmt: skip


def _cell(row: Mapping[str, str]) -> Cell:
    return row["volume"], int(float(row["provisioned_iops"] or row["size_gb"]))


def _measured(rows: Sequence[Mapping[str, str]]) -> dict[Cell, float]:
    """Return transactions a second of the cells of InnoDB with 72 clients."""
    return {
        _cell(row): float(row["tps_last_half"])
        for row in rows
        if row["engine"] == "innodb" and int(row["threads"]) == _CLIENTS
    }


def _by_minute(rows: Sequence[Mapping[str, str]]) -> dict[Cell, list[float]]:
    """Return transactions a second of the fitted cells by the minute."""
    return {
        _cell(row): [float(text) for name, text in row.items() if name[0] == "m" and name[1:].isdigit() and text]
        for row in rows
        if row["engine"] == "innodb" and _cell(row) in (_BY_IOPS, _BY_BYTES)
    }


@dataclass(frozen=True)
class _Warming:
    """What a transaction misses and changes after so many transactions since the start."""

    done: Sequence[float]
    demands: Sequence[tuple[float, float]]

    @classmethod
    def of(cls, minutes: Mapping[Cell, Sequence[float]]) -> "_Warming":
        """Fit it to the curves of the fitted cells."""
        curves = {cell: _curve(rates) for cell, rates in minutes.items()}
        done = np.geomspace(curves[_BY_IOPS][0][0], curves[_BY_IOPS][0][-1], _POINTS)
        rates = {cell: np.interp(done, *curve) for cell, curve in curves.items()}
        demands = [_fit(*pair) for pair in zip(rates[_BY_IOPS], rates[_BY_BYTES], strict=True)]
        return cls(done.tolist(), demands)

    def rate(self, cell: Cell) -> float:
        """Return the transactions a second of a cell in the second half of an hour."""
        rates = [_rate(cell, demand) for demand in self.demands]
        done, found = 0.0, []
        for _ in range(_MINUTES):
            found.append(float(np.interp(done, self.done, rates)))
            done += 60 * found[-1]
        late = found[_MINUTES // 2 :]
        return sum(late) / len(late)


def _curve(rates: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return how many transactions were done, and how many were done a second then, averaged."""
    done = list(accumulate(60 * rate for rate in rates))
    parts = range(0, len(rates) - _AVERAGED + 1, _AVERAGED)
    return (
        [sum(done[part : part + _AVERAGED]) / _AVERAGED for part in parts],
        [sum(rates[part : part + _AVERAGED]) / _AVERAGED for part in parts],
    )


def _fit(by_iops: float, by_bytes: float) -> tuple[float, float]:
    """Return pages that a transaction misses and changes; by arithmetic, then set right by what is simulated."""
    requests, pages = _BY_IOPS[1] / by_iops, _BYTES_PER_S["gp2"] / _PAGE_BYTES / by_bytes
    missed, changed = _demand(requests, pages)
    for _ in range(3):
        ratio = _rate(_BY_IOPS, (missed, changed)) / by_iops
        other = _rate(_BY_BYTES, (missed, changed)) / by_bytes
        requests, pages = requests * ratio, pages * other
        missed, changed = _demand(requests, pages)
    return missed, changed


def _demand(requests: float, pages: float) -> tuple[float, float]:
    """Solve requests = missed + changed (1 + 1/16) and pages = missed + 2 changed; a write of 16 pages is a request.
    Only missed pages are changed, and a tenth of them is not.
    """
    changed = (pages - requests) / (1 - 1 / _COUNTED_PAGES)
    changed = min(max(changed, 0.1), 0.9 * requests / (2 + 1 / _COUNTED_PAGES))
    return requests - changed * (1 + 1 / _COUNTED_PAGES), changed


def _rate(cell: Cell, demand: tuple[float, float]) -> float:
    """Return the transactions a second of a cell."""
    volume, size = cell
    missed, changed = (one / (1 - _POOL_SHARE) for one in demand)
    texts, mix = [], []
    for (lookups, share), (changes, part) in product(around(max(missed - changed, 1.0)), around(max(changed, 1.0))):
        name = f"s{lookups}_{changes}"
        texts.append(_STATEMENT.format(name=name, lookups=lookups, changes=changes, log=5000 // changes))
        mix.append(f"{name} = {share * part:.6f}")
    load = _WORKLOAD.format(
        pool_bytes=int(_POOL_SHARE * _RELATION_PAGES) * _PAGE_BYTES,
        pages=_RELATION_PAGES,
        statements="".join(texts),
        mix=", ".join(mix),
        clients=_CLIENTS,
    )
    iops = size if volume == "io1" else _IOPS_PER_GB * size
    return Bench(drive(iops, volume), cores=36, warmup_s=2).transactions_per_s(load)


def _claims(measured: Mapping[Cell, float], predicted: Mapping[Cell, float]) -> Iterator[Claim]:
    """Return the fitted cells, the others, how far off they are and linear scaling is, and the knee."""
    fitted = (_BY_IOPS, _BY_BYTES)
    judged = [cell for cell in measured if cell not in fitted and cell[1] > _LEAST[cell[0]]]
    for cell in measured:
        yield Claim(
            f"{cell[0]}, {cell[1]:,} {'IOPS' if cell[0] == 'io1' else 'GB'}: transactions",
            "per s",
            measured[cell],
            predicted[cell],
            _WORST_PCT,
            fitted=cell in fitted,
            note=_WARMS if cell[1] <= _LEAST[cell[0]] else "",
            figure="throughput",
        )
    linear = {cell: _linear(cell, measured) for cell in judged}
    errors, of_linear = (
        [100 * abs(found[cell] / measured[cell] - 1) for cell in judged] for found in (predicted, linear)
    )
    mean = sum(errors) / len(errors)
    beside = sum(of_linear) / len(of_linear)
    yield Claim(
        f"mean absolute error of {len(judged)} cells", "%", _MEAN_PCT, mean, 0, at_most=True,
        note=f"linear scaling from the fitted cells: {beside:.1f} %, worst {max(of_linear):.0f} %",
    )  # fmt: skip
    yield Claim("worst of them", "%", _WORST_PCT, max(errors), 0, at_most=True)
    within = (_KNEE_GB - _KNEE_WITHIN_GB, _KNEE_GB + _KNEE_WITHIN_GB)
    yield Claim(
        "gp2: size from which on bytes are the limit", "GB", _KNEE_GB, _knee(predicted), 0, within=within,
        note="by an earlier rule 2,474 GB; 2,463 simulated twice as long, and 2,420 with limits of 160 and 500 MiB/s",
    )  # fmt: skip


def _knee(rates: Mapping[Cell, float]) -> float:
    """Return the size of gp2 where the line through the cells whose limit is requests reaches the limit of bytes."""
    most = rates[_BY_BYTES]
    slower = [(size, rate) for (volume, size), rate in rates.items() if volume == "gp2" and rate < _BELOW * most]
    slope, start = np.polyfit([size for size, _ in slower], [rate for _, rate in slower], 1)
    return float((most - start) / slope)


def _linear(cell: Cell, measured: Mapping[Cell, float]) -> float:
    """Return what a cell does if transactions go with IOPS, gp2 no further than the fitted one."""
    volume, size = cell
    of_iops = measured[_BY_IOPS] * (size if volume == "io1" else _IOPS_PER_GB * size) / _BY_IOPS[1]
    return min(of_iops, measured[_BY_BYTES]) if volume == "gp2" else of_iops
