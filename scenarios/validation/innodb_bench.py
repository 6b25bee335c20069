"""What experiments of published figures of InnoDB have in common: the figures, and a host with one drive that runs a
described load.
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
