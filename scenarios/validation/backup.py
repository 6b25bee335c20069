"""Backups from array to array, and a scan, through RAID controllers.

Measured by J. Chang, "IO cost structure" (sqlblog.com, September 2008, text and comments). Not told: the drives' type (15K.5
drives are assumed), how many buffers a backup had and how long they were, and how many reads a scan had outstanding.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tiersim.devices.catalogue import load_device
from tiersim.devices.plant import PlantBuilder
from tiersim.operations import READ, WRITE
from tiersim.scenarios.closed import Loop, run_closed, sequential, settled_bytes_per_s
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model import Scenario
from tiersim.scenarios.validation.claims import Claim, Experiment

DRIVE = "seagate-cheetah-15k5-300"
#: Of a backup.
BUFFERS, BUFFER_BYTES = 8, 1 << 20
#: Of a scan: reads of 192 to 384 KB were observed.
SCAN_DEPTH, SCAN_BYTES = 8, 256 << 10

#: PERC 5: "limited to 800 MB/sec"; PERC 6: the most that Dell measured.
PERC5: dict[str, Any] = {
    "cache": "256 MiB", "throughput": "800 MB/s", "host_link": "pcie1-x8", "drive_link": "sas1-x8",
}  # fmt: skip
PERC6: dict[str, Any] = {**PERC5, "throughput": "1484 MB/s"}


@dataclass(frozen=True)
class Row:
    """One experiment: MB/s of data that were read."""

    name: str
    predicted_mb_s: float
    measured_mb_s: float


def _build(disks: int, controllers: Mapping[str, Mapping[str, Any]]) -> tuple[PlantBuilder, dict[str, int]]:
    """Two RAID 0 arrays, a and b, behind controllers."""
    array = {"device": DRIVE, "count": disks, "layout": "raid0"}
    values = {"volumes": {"a": array, "b": array}, "placement": {"default": "a"}, "controllers": controllers}
    drive = load_device(DRIVE)
    scenario = NamedScenario("backup", Scenario.model_validate(values), {"a": drive, "b": drive})
    builder = PlantBuilder(1)
    return builder, scenario.build(builder)


def copy_mb_s(disks: int, controllers: Mapping[str, Mapping[str, Any]], pieces: int) -> float:
    """Each buffer is read from one array, written to the other, and read again."""
    builder, entry = _build(disks, controllers)
    loops = []
    for buffer in range(BUFFERS):
        offset = np.repeat(sequential(pieces * BUFFERS, 0, BUFFER_BYTES)[buffer::BUFFERS], 2)
        op, station = np.resize([READ, WRITE], len(offset)), np.resize([entry["a"], entry["b"]], len(offset))
        loops.append(Loop(offset, op, station, BUFFER_BYTES, 1))
    return settled_bytes_per_s(run_closed(builder, loops)) / 2e6


def read_mb_s(
    disks: int,
    controllers: Mapping[str, Mapping[str, Any]],
    volumes: Sequence[str],
    length: int,
    depth: int,
    pieces: int,
) -> float:
    """Volumes are read from their beginning, with *depth* reads outstanding at each."""
    builder, entry = _build(disks, controllers)
    loops = [Loop(sequential(pieces, 0, length), READ, entry[name], length, depth) for name in volumes]
    return settled_bytes_per_s(run_closed(builder, loops)) / 1e6


def rows(pieces: int = 400) -> Iterator[Row]:
    """Every experiment with its prediction."""
    one = {"one": {**PERC5, "volumes": ["a", "b"]}}
    two = {"one": {**PERC5, "volumes": ["a"]}, "two": {**PERC5, "volumes": ["b"]}}
    defect = {"one": {**PERC6, "volumes": ["a", "b"], "known_defect": "perc6-raid0-write-back"}}
    through = {"one": {**PERC6, "volumes": ["a", "b"], "write_policy": "write-through"}}
    yield Row("backup, 2 × 5 drives, one PERC 5", copy_mb_s(5, one, pieces), 176)
    yield Row("backup, 2 × 5 drives, a PERC 5 each", copy_mb_s(5, two, pieces), 286)
    yield Row(
        "backup of 4 drives to nothing, PERC 6", read_mb_s(4, defect, "a", BUFFER_BYTES, BUFFERS, 8 * pieces), 340
    )
    yield Row("backup, 2 × 4 drives, PERC 6, with its defect", copy_mb_s(4, defect, pieces), 46)
    yield Row("backup, 2 × 4 drives, PERC 6, write-through", copy_mb_s(4, through, pieces), 65)
    yield Row("scan of 2 × 4 drives, PERC 6", read_mb_s(4, defect, "ab", SCAN_BYTES, SCAN_DEPTH, 8 * pieces), 707)


def experiment() -> Experiment:
    """All rows; the scan within 10 %, the backups within 20 %."""
    claims = [
        Claim(
            row.name,
            "MB/s",
            row.measured_mb_s,
            row.predicted_mb_s,
            10 if row.name.startswith("scan") else 20,
            id="G04" if row.name.startswith("scan") else "G24",
        )
        for row in rows()
        if "defect" not in row.name  # it is put in, not predicted
    ]
    return Experiment(
        "backup",
        "Backups from array to array and a scan, PERC 5 and PERC 6",
        "J. Chang, IO cost structure, September 2008, text and comments",
        "nothing; buffers, their length and the drives are not told and assumed",
        tuple(claims),
    )
