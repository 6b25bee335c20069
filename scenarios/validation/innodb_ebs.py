"""TPC-C on Percona Server 5.7 over one EBS volume of AWS, io1 by provisioned IOPS and gp2 by size (figures of 2018).

The rule, written down before figures of other cells than the two fitted ones were opened. Pool and settings were not
published. A transaction reads and changes pages that lie evenly in a table of which a twentieth is in the pool: how
many it misses and how many of these it changes are the two fitted numbers, to io1 with 11,000 IOPS (requests of a
transaction) and to gp2 with 3,300 GB (its bytes). Changed pages go to the doublewrite file, in batches, and to their
places; commits share writes of the redo log. A volume counts up to 256 KiB in sequence as one request, gp2 gives 3 IOPS
for a GB and 160 MB/s, io1 what is provisioned and 500 MB/s (documents of AWS of 2018), each request after 0.8 ms. 72
clients. Cells that were still warming up at their end are left out: io1 up to 3,000 IOPS, gp2 up to 1,300 GB.
"""

import csv
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from math import floor
from pathlib import Path

from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.workloads.replay import load_workload, run_workload

FILE = "ebs_volumes_tpcc_2018.csv"
#: Cells as (volume, IOPS or GB): the fitted ones, and from which on the others are steady.
_BY_IOPS, _BY_BYTES = ("io1", 11_000), ("gp2", 3_300)
_LEAST = {"io1": 3_000, "gp2": 1_300}
_IOPS_PER_GB = 3
_BYTES_PER_S = {"io1": 500_000_000, "gp2": 160_000_000}
_PAGE_BYTES, _BATCH_PAGES, _COUNTED_PAGES = 16_384, 120, 16
_RELATION_PAGES, _POOL_SHARE = 400_000, 0.05
_MEAN_PCT, _WORST_PCT, _KNEE_GB, _KNEE_WITHIN_GB = 7, 20, 2_600, 150

_WORKLOAD = """
[workload]
engine = "mysql"
version = "5.7"
buffer_pool = "{pool_bytes} B"
duration = "6 s"

[workload.variables]
innodb_lru_scan_depth = "128"
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
clients = 72
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
carry_over = "0 s"
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
_HOST = """
[host]
cores = 36
contention = 0.0

[replay]
warmup = "1 s"

[volumes.data]
device = "volume.toml"
"""
_OPEN = (
    "Allowances that are not used lapse, as was assumed before; kept for 0.01 to 1 s, the mean error is 6.7 to 7.9 %,"
    " the knee at 2,324 to 2,295 GB. Pages changed end at what the rule lets them be (9.3 of 11.4 missed). Measured"
    " requests of a transaction fall from 25 to 22 as its rate grows, and here do not"
)


def experiment(folder: Path | None) -> Experiment:
    """Errors of the steady cells, beside linear scaling, and the knee of gp2; *folder* holds the figures."""
    title = "InnoDB on EBS volumes: TPC-C by provisioned IOPS and by size"
    source = "Percona-Lab-results, 201808-rocksdb-cloudio: 5,000 warehouses, 72 clients, second half of an hour"
    fitted = "pages missed and changed by a transaction, to io1 with 11,000 IOPS and gp2 with 3,300 GB"
    places = [] if folder is None else sorted(folder.rglob(FILE))
    if not places:
        return Experiment(
            "innodb-ebs", title, source, fitted, missing="the figures are no part of the project; give their folder"
        )
    measured = _measured(places[0])
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        demand = _fit(Path(place), measured[_BY_IOPS], measured[_BY_BYTES])
        predicted = {cell: _rate(Path(place), cell, demand) for cell in measured}
    return Experiment(
        "innodb-ebs", title, source, fitted, tuple(_claims(measured, predicted)), fits=2,
        assumed=("latency of the volume", "pool", "bytes of redo", "settings of the server"),
    )  # fmt: skip


Cell = tuple[str, int]


def _measured(path: Path) -> dict[Cell, float]:
    """Return transactions a second of the steady cells of InnoDB."""
    with path.open(encoding="utf-8", newline="") as file:
        found = {
            (row["volume"], int(float(row["provisioned_iops"] or row["size_gb"]))): float(row["tps_last_half"])
            for row in csv.DictReader(file)
            if row["engine"] == "innodb"
        }
    return {(volume, size): rate for (volume, size), rate in found.items() if size > _LEAST[volume]}


def _fit(place: Path, by_iops: float, by_bytes: float) -> tuple[float, float]:
    """Return pages that a transaction misses and changes; by arithmetic, then set right by what is simulated."""
    requests, pages = _BY_IOPS[1] / by_iops, _BYTES_PER_S["gp2"] / _PAGE_BYTES / by_bytes
    missed, changed = _demand(requests, pages)
    for _ in range(3):
        ratio = _rate(place, _BY_IOPS, (missed, changed)) / by_iops
        other = _rate(place, _BY_BYTES, (missed, changed)) / by_bytes
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


def _rate(place: Path, cell: Cell, demand: tuple[float, float]) -> float:
    """Return the transactions a second of a cell."""
    volume, size = cell
    missed, changed = (one / (1 - _POOL_SHARE) for one in demand)
    texts, mix = [], []
    for lookups, share in _around(max(missed - changed, 1.0)):
        for changes, part in _around(max(changed, 1.0)):
            name = f"s{lookups}_{changes}"
            texts.append(_STATEMENT.format(name=name, lookups=lookups, changes=changes, log=5000 // changes))
            mix.append(f"{name} = {share * part:.6f}")
    (place / "load.toml").write_text(
        _WORKLOAD.format(
            pool_bytes=int(_POOL_SHARE * _RELATION_PAGES) * _PAGE_BYTES,
            pages=_RELATION_PAGES,
            statements="".join(texts),
            mix=", ".join(mix),
        ),
        encoding="utf-8",
    )
    iops = size if volume == "io1" else _IOPS_PER_GB * size
    (place / "volume.toml").write_text(_VOLUME.format(iops=iops, rate=_BYTES_PER_S[volume]), encoding="utf-8")
    (place / "host.toml").write_text(_HOST, encoding="utf-8")
    summary = run_workload(load_workload(place / "load.toml"), load_scenario(str(place / "host.toml"))).summary
    return float(summary["throughput_per_s"]["transactions"]["value"])


def _around(number: float) -> Sequence[tuple[int, float]]:
    """Return the whole numbers around one, with shares whose mean it is."""
    low = floor(number)
    share = number - low
    return [(low, 1 - share), (low + 1, share)] if share > 1e-6 else [(low, 1.0)]


def _claims(measured: Mapping[Cell, float], predicted: Mapping[Cell, float]) -> Iterator[Claim]:
    """Return the fitted cells, the others, how far off they are and linear scaling is, and the knee."""
    judged = [cell for cell in measured if cell not in (_BY_IOPS, _BY_BYTES)]
    for cell in measured:
        yield Claim(
            f"{cell[0]}, {cell[1]:,} {'IOPS' if cell[0] == 'io1' else 'GB'}: transactions",
            "per s",
            measured[cell],
            predicted[cell],
            _WORST_PCT,
            fitted=cell not in judged,
        )
    linear = {cell: _linear(cell, measured) for cell in judged}
    errors, of_linear = (
        [100 * abs(found[cell] / measured[cell] - 1) for cell in judged] for found in (predicted, linear)
    )
    mean = sum(errors) / len(errors)
    beside = sum(of_linear) / len(of_linear)
    yield Claim(
        f"mean absolute error of {len(judged)} cells", "%", _MEAN_PCT, mean, 0, at_most=True,
        note=f"linear scaling from the fitted cells: {beside:.1f} %, worst {max(of_linear):.0f} %. {_OPEN}",
    )  # fmt: skip
    yield Claim("worst of them", "%", _WORST_PCT, max(errors), 0, at_most=True)
    least = min(size for volume, size in predicted if volume == "gp2")
    knee = least * predicted[_BY_BYTES] / predicted["gp2", least]
    within = (_KNEE_GB - _KNEE_WITHIN_GB, _KNEE_GB + _KNEE_WITHIN_GB)
    yield Claim("gp2: size from which on bytes are the limit", "GB", _KNEE_GB, knee, 0, within=within)


def _linear(cell: Cell, measured: Mapping[Cell, float]) -> float:
    """Return what a cell does if transactions go with IOPS, gp2 no further than the fitted one."""
    volume, size = cell
    of_iops = measured[_BY_IOPS] * (size if volume == "io1" else _IOPS_PER_GB * size) / _BY_IOPS[1]
    return min(of_iops, measured[_BY_BYTES]) if volume == "gp2" else of_iops
