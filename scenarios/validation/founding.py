"""The claims of the founding documents by id, and what of them is arithmetic: it follows from other figures of the same
document.

Where a document contradicts itself, the claim's note says so.
"""

from collections.abc import Iterator
from math import sqrt

from tiersim.devices.sourced import NAND_READ_LEAST_NS, flash_reasons
from tiersim.scenarios.validation.claims import Claim, Experiment

#: What each document claims, and where it stands.
CLAIMS = {
    "G01": "002, key lookup: 25 rows one by one",
    "G02": "002, key lookup: 26 rows at once",
    "G03": "002, key lookup: from how many rows on, and that not by RPC",
    "G04": "002, table scan: rates",
    "G05": "002, table scan: CPU of a page",
    "G06": "002, storage performance implications: what 8 cores can read",
    "G07": "000, table of results: QphH of power and throughput",
    "G08": "000, 48 GB against 144 GB",
    "G09": "000, update of 2009-10-11: disks, SATA SSDs, ioDrives at 144 GB",
    "G10": "000, transition of 2 x 5355 on disks to 2 x 5570 on SSDs",
    "G11": "001, charts: drives for the rates of an ioDrive Duo, and their cost",
    "G12": "001, backup to four disks",
    "G13": "001, backup to NUL",
    "G14": "003, orders a minute on disks",
    "G15": "003, orders a minute on SSDs",
    "G16": "003, table 2: average response times",
    "G17": "003, table 3: 99.9th percentiles",
    "G18": "003, tables 4 to 6: cost of an order",
    "G19": "004, a checkpoint on one pool of disks",
    "G20": "004, reads with 256 and with 384 GB",
    "G21": "002, comments: RAID 0 behind a PERC 6",
    "G22": "002, comments: RAID 5 behind a PERC 6 by depth",
    "G23": "002, comments: alignment",
    "G24": "002, comments: backups from array to array",
}

#: (system, QphH, power, throughput).
_RESULTS = (
    ("2 x 5355, 48 GB", 15_723.9, 20_587.9, 12_009.1),
    ("4 x 7350, 128 GB", 34_989.9, 46_708.6, 26_211.3),
    ("2 x 5570, 48 GB", 28_772.9, 38_550.7, 21_475.1),
    ("2 x 5570, 144 GB, 100 disks", 50_738.4, 67_712.9, 38_019.1),
    ("2 x 5570, 144 GB, 12 SATA SSDs", 51_422.4, 70_048.5, 37_749.1),
    ("2 x 5570, 144 GB, 4 ioDrives", 51_085.6, 72_110.5, 36_190.8),
)
_WITHDRAWN = ("2 x 5570, 144 GB, withdrawn (contradictory)", 51_110.6, 72_134.0, 36_313.6)
#: ioDrive Duo: reads and writes a second, and bytes; a card; a disk of 73 GB, its rates, its price, and what 16 of them
#: need.
_IOPS, _GB_S, _CARD = (185_000, 278_000), (1.5, 1.1), 20_000
_DISK_IOPS, _DISK_GB_S, _DISK, _ENCLOSURE = 250, 0.1, 300, 1000
#: Users: throughput of the SSDs over that of the disks, by how much shorter responses are.
RATIOS = {8: (22, 95), 16: (27, 96), 24: (28, 96), 32: (28, 96), 40: (29, 96), 48: (29, 97), 56: (27, 96), 64: (27, 96)}
#: Orders a minute by users, on disks and on SSDs; prices of the arrays.
DISKS, SSDS = {8: 1365, 48: 2988}, {8: 30_267, 48: 86_654}
_DISK_ARRAY, _SSD_ARRAY = 3440, 5048


def balanced_network(demand_s: float, stations: int, users: int) -> float:
    """Return the throughput of a closed network of alike stations among which work is spread evenly.

    Mean value analysis: a customer meets as much work at each station as the others have there, users - 1 over all
    (Reiser and Lavenberg, J. ACM 1980, of balanced networks).
    """
    return users / (demand_s * (1 + (users - 1) / stations))


def experiment() -> Experiment:
    """All of it: nothing is simulated."""
    claims = [*_key_lookup(), *_composites(), *_devices(), *_responses(), *_costs(), _network()]
    return Experiment(
        "founding-arithmetic",
        "Founding documents: what follows from their own figures",
        "founding documents 000 to 003",
        "reads of an order to 8 users, for the network of disks; nothing else",
        tuple(claims),
        fits=1,
        assumed=(),
    )


def _exact(
    id: str, what: str, unit: str, published: float, predicted: float, tolerance_pct: float, note: str = ""
) -> Claim:
    return Claim(what, unit, published, predicted, tolerance_pct, id=id, kind="arithmetic", note=note)


def _rounded(id: str, what: str, unit: str, published: float, predicted: float, by: float) -> Claim:
    within = (published - by, published + by)
    return Claim(what, unit, published, predicted, 0, id=id, kind="arithmetic", within=within)


def _key_lookup() -> Iterator[Claim]:
    yield _exact("G01", "25 rows: 25 x 1.073 reads of 4.1 ms, and CPU", "ms", 110, 25 * 1.073 * 4.1 + 0.82, 5)


def _composites() -> Iterator[Claim]:
    for system, qphh, power, throughput in _RESULTS:
        yield _exact("G07", f"QphH, {system}", "", qphh, sqrt(power * throughput), 0.01)
    system, qphh, power, throughput = _WITHDRAWN
    yield _exact(
        "G07",
        f"QphH, {system}",
        "",
        qphh,
        sqrt(power * throughput),
        0.01,
        "the document contradicts itself: this row's power and throughput do not give its QphH; the result was"
        " withdrawn, what replaced it is exact",
    )


def _devices() -> Iterator[Claim]:
    mean_gb_s = sum(_GB_S) / 2
    yield _exact("G11", "disks for the mean IOPS of an ioDrive Duo", "", 900, sum(_IOPS) / 2 / _DISK_IOPS, 5)
    yield _exact(
        "G11",
        "disks for its bandwidth (contradictory)",
        "",
        15,
        max(_GB_S) / _DISK_GB_S,
        5,
        "the document contradicts itself: 15 are those of the reads alone; by the mean of reads and writes, which it"
        f" says it takes, they are {mean_gb_s / _DISK_GB_S:.0f}",
    )
    yield _exact(
        "G11", "cost of 900 disks over the card", "", 16, (900 * _DISK + -(-900 // 16) * _ENCLOSURE) / _CARD, 5
    )
    disks = mean_gb_s / _DISK_GB_S
    yield _exact(
        "G11",
        f"cost of the card over {disks:.0f} disks",
        "",
        4,
        _CARD / (disks * _DISK + _ENCLOSURE),
        5,
        f"follows from {disks:.0f} disks and one enclosure; the 15 of the text would give"
        f" {_CARD / (15 * _DISK + _ENCLOSURE):.1f}",
    )
    reasons = flash_reasons({"cell": "mlc", "read": 2000})
    yield Claim(
        "latency of its reads: flash takes at least",
        "µs",
        2,
        NAND_READ_LEAST_NS / 1000,
        0,
        id="G11",
        kind="qualitative",
        within=(2.001, 1000),
        note=(
            f"what was published is refused: {reasons[0] if reasons else 'not seen'}; the next model's data sheet says"
            " 68 µs"
        ),
    )


def _responses() -> Iterator[Claim]:
    for users, (ratio, shorter) in RATIOS.items():
        yield _rounded("G16", f"{users} users: responses shorter by", "%", shorter, 100 * (1 - 1 / ratio), 1)


def _costs() -> Iterator[Claim]:
    bought = 16 * 199
    yield _exact(
        "G18", "array of 16 disks at $199 (contradictory)", "$", _DISK_ARRAY, bought, 0.01,
        f"the document contradicts itself: ${bought} in its table 4, ${_DISK_ARRAY} in tables 5 and 6",
    )  # fmt: skip
    yield _exact("G18", "array of 4 SSDs at $1262", "$", _SSD_ARRAY, 4 * 1262, 0.01)
    for users, by_disks, by_ssds, times in ((8, 2.52, 0.17, 15), (48, 1.15, 0.06, 19)):
        disks, ssds = _DISK_ARRAY / DISKS[users], _SSD_ARRAY / SSDS[users]
        yield _rounded("G18", f"{users} users: an order on disks", "$", by_disks, disks, 0.005)
        yield _rounded("G18", f"{users} users: an order on SSDs", "$", by_ssds, ssds, 0.005)
        yield Claim(
            f"{users} users: an order on SSDs cheaper by",
            "times",
            times,
            disks / ssds,
            0,
            id="G18",
            kind="arithmetic",
            within=(times, times + 1),
            note=f"cut, not rounded; with ${bought} for the disks it would be {bought / DISKS[users] / ssds:.1f}",
        )


def _network() -> Claim:
    demand_s = 8 / (DISKS[8] / 60 * (1 + 7 / 16))
    return _exact(
        "G14",
        "48 users on 16 disks, as a closed network fitted to 8",
        "per min",
        DISKS[48],
        60 * balanced_network(demand_s, 16, 48),
        2,
    )
