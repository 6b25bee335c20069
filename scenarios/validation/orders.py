"""Founding document 003: orders of 7500 warehouses on 16 disks and on 4 SAS SSDs, at eight numbers of users, and which
array is worth its price.

What transactions cost the processors is not told and assumed in the library's workload. The run is one of a hundredth
of the database, memory and the disks' cylinders included, so that caches hold the same share and arms go as far; what
is dirty at a checkpoint is not, so nothing is claimed of tails.
"""

import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from tiersim.devices.catalogue import load_device
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.scenarios import library
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.sizing.candidates import CandidatesModel, ListModel, combinations
from tiersim.scenarios.sizing.size import Request, size
from tiersim.scenarios.sizing.subject import SizingSubject, of_described
from tiersim.scenarios.sizing.targets import parse_target
from tiersim.scenarios.sweeps.sources import Note
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.workloads import with_smaller_relations
from tiersim.scenarios.workloads.assembly import Described
from tiersim.scenarios.workloads.replay import load_workload
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_S

#: Orders a minute of the SSDs over those of the disks, by users (the document's table 1).
PUBLISHED = {8: 22, 16: 27, 24: 28, 32: 28, 40: 29, 48: 29, 56: 27, 64: 27}
SSDS, _DISK = "micron-s650dc-800", "seagate-cheetah-15k7-300"
_FACTOR = 100
#: Of pool and page cache: the document's shared_buffers and effective_cache_size.
_SETTINGS = (
    f"engine.buffer_pool={(30 << 10) // _FACTOR} MiB",
    f"engine.os_cache={(72 << 10) // _FACTOR} MiB",
    "engine.checkpoint_timeout=5 min",
    "engine.checkpoint_completion_target=0.8",
)
#: What a response may take: the geometric middle of 22 ms, the SSDs at 64 users, and 158 ms, the disks at 8; both by
#: Little's law from the document's orders a minute, of which 45 % of the transactions are.
_TARGETS = ("mean(transaction) < 60 ms", "survives drive failure")


def experiment() -> Experiment:
    """Better value at every number of users, and by what factor."""
    factors, valued, cheapest = {}, 0, 0
    for users in PUBLISHED:
        by_value, by_price = sized(users)
        valued += chooses_ssds(by_value)
        cheapest += chooses_ssds(by_price)
        factors[users] = factor_of(by_value)
    return Experiment(
        "orders",
        "Orders of 7500 warehouses: 4 SAS SSDs or 16 disks",
        "founding document 003: measured with HammerDB on PostgreSQL 9.4, 8 to 64 users",
        "nothing; CPU of a transaction is assumed",
        (
            Claim("numbers of users at which the SSDs do more orders for their price", "of 8", 8, valued, 0),
            Claim(
                "numbers of users at which `size` chooses the SSDs for responses below 60 ms", "of 8", 8, cheapest, 0
            ),
            *(
                Claim(
                    f"{users} users: orders of the SSDs over those of the disks",
                    "",
                    PUBLISHED[users],
                    factor,
                    25,
                    id="G15",
                    figure="throughput",
                )
                for users, factor in factors.items()
            ),
        ),
    )


def sized(users: int, seconds: int = 10) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the documents of choices between the two arrays for so many users, who are watched for *seconds*: of the
    best value, and of the cheapest that answers in time.
    """
    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        disk = Path(folder) / f"{_DISK}.toml"
        disk.write_text(_smaller_disk(), encoding="utf-8")
        base = Path(folder) / "orders.toml"
        base.write_text(f'[volumes.data]\ndevice = "{disk.name}"\ncount = 16\nlayout = "raid10"\n', encoding="utf-8")
        model = CandidatesModel(
            candidates=[
                ListModel(device=(disk.name,), count=(16,), layout=("raid10",)),
                ListModel(device=(SSDS,), count=(4,), layout=("raid10",)),
            ]
        )
        subject = _run_once(of_described(_workload(users, seconds)))
        arrays = combinations(model, str(base), _SETTINGS, base.parent)
        targets = [parse_target(text) for text in _TARGETS]
        by_value, by_price = (
            Request(subject, str(base), _SETTINGS, tuple(asked), model) for asked in (targets[1:], targets)
        )
        return size(by_value, arrays, best_value=True), size(by_price, arrays)


def _run_once(subject: SizingSubject) -> SizingSubject:
    """Return a subject that remembers what each scenario came to."""
    found: dict[tuple[NamedScenario, float], Result] = {}

    def run(scenario: NamedScenario, load: float, note: Note) -> Result:
        if (scenario, load) not in found:
            found[scenario, load] = subject.run(scenario, load, note)
        return found[scenario, load]

    return replace(subject, run=run)


def chooses_ssds(document: Mapping[str, Any]) -> bool:
    """Whether the four SSDs were chosen."""
    return SSDS in (document["chosen"] or "")


def factor_of(document: Mapping[str, Any]) -> float:
    """Return the throughput of the SSDs over that of the disks."""
    return _rate(document, SSDS) / _rate(document, _DISK)


def _rate(document: Mapping[str, Any], device: str) -> float:
    row = next(one["row"] for one in document["candidates"] if device in one["name"])
    return float(row["summary"]["throughput_per_s"]["transactions"]["value"])


def _workload(users: int, seconds: int) -> Described:
    described = with_smaller_relations(load_workload(library.workload_path_of("orders-7500")), _FACTOR)
    model = described.model
    streams = {name: stream.model_copy(update={"clients": users}) for name, stream in model.streams.items()}
    timed = model.workload.model_copy(update={"duration": seconds * NS_PER_S})
    return replace(described, model=model.model_copy(update={"streams": streams, "workload": timed}))


def _smaller_disk() -> str:
    """Return the file of the disk with a hundredth of the cylinders, over which its arm takes as long."""
    drive = load_device(_DISK)
    assert isinstance(drive, Hdd)
    text = (Path(str(files("tiersim.devices"))) / "catalogue" / f"{_DISK}.toml").read_text(encoding="utf-8")
    for key, value in (
        ("capacity", f'"{drive.capacity // _FACTOR} B"'),
        ("cylinders", str(drive.cylinders // _FACTOR)),
    ):
        text = re.sub(rf"(?m)^{key} = (?!.*: ).*$", f"{key} = {value}", text, count=1)
    return text
