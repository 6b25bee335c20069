"""What the documents say is so."""

import re
from collections.abc import Sequence
from dataclasses import fields
from math import ceil
from pathlib import Path
from types import ModuleType

import pytest

from tests import command_reference, device_reference, scenario_reference, workload_reference
from tiersim.devices.catalogue import instances, names, processors
from tiersim.devices.cloud.cloud_volume import CloudVolume, PriceTier, SizeStep
from tiersim.devices.cloud.instance import Instance
from tiersim.devices.cloud.token_bucket import TokenBucket
from tiersim.devices.controller.links import LINKS
from tiersim.devices.controller.raid_controller import DEFECTS
from tiersim.devices.hdd.disk_drive import Hdd
from tiersim.devices.ssd.flash import Flash
from tiersim.scenarios import library
from tiersim.scenarios.controllers import ControllerModel
from tiersim.scenarios.database_models import EngineModel
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.model import (
    CostsModel,
    HostModel,
    InstanceModel,
    NeighbourModel,
    PoolModel,
    QueueModel,
    ReplayModel,
    VolumeModel,
)
from tiersim.scenarios.sizing.candidates import CandidatesModel, ListModel, combinations, read_candidates
from tiersim.scenarios.sizing.prices import (
    EnclosureModel,
    HostPriceModel,
    LicenceModel,
    MemoryPriceModel,
    PowerModel,
    PriceModel,
)
from tiersim.scenarios.workloads.model import DatabaseModel, RelationModel, StatementModel, StreamModel
from tiersim.scenarios.workloads.steps import VERBS
from tiersim.simulator.database.sessions.processors import TABLES, Costs
from tiersim.toml_files import StrictModel
from tiersim.traces.measurement import MeasuredPoint
from tiersim.traces.readers.importing import FORMATS, SOURCES

ROOT = Path(__file__).parents[1]


def test_every_key_of_every_device_is_documented() -> None:
    text = (ROOT / "docs" / "device-reference.md").read_text()
    for model in (Hdd, Flash, TokenBucket, CloudVolume, SizeStep, PriceTier, Instance):
        for key in model.model_fields.keys() - {"kind", "name", "notes", "sources"}:
            assert f"`{key}`" in text, key


def test_every_key_of_a_volume_and_a_queue_is_documented() -> None:
    text = (ROOT / "docs" / "scenario-reference.md").read_text()
    models = (VolumeModel, QueueModel, InstanceModel, PoolModel, NeighbourModel)
    for key in {key for model in models for key in model.model_fields}:
        assert f"`{key}`" in text, key


def test_every_key_of_a_workload_is_documented() -> None:
    text = (ROOT / "docs" / "workload-reference.md").read_text()
    models: list[type[StrictModel]] = [DatabaseModel, RelationModel, StatementModel, StreamModel, *VERBS.values()]
    for model in models:
        for key in model.model_fields:
            assert f"`{key}`" in text, key
    text = (ROOT / "docs" / "workloads.md").read_text()
    for name in library.workload_names():
        assert f"`{name}`" in text, name


def test_every_key_of_a_controller_and_every_link_is_documented() -> None:
    reference = (ROOT / "docs" / "scenario-reference.md").read_text()
    assert [key for key in ControllerModel.model_fields if f"`{key}`" not in reference] == []
    text = (ROOT / "docs" / "controllers.md").read_text()
    assert [key for key in DEFECTS if f'"{key}"' not in text] == []
    for name, link in LINKS.items():
        kind = name.rstrip("0123456789")
        (row,) = [
            row
            for row in text.splitlines()
            if row.startswith(f"| `{kind}") and str(round(link.bytes_per_s / 1e6)) in row
        ]
        assert f"`{name}`" in row or f"`{name.removeprefix(kind)}`" in row


REFERENCES = (command_reference, device_reference, scenario_reference, workload_reference)


@pytest.mark.parametrize("reference", REFERENCES)
def test_a_reference_is_that_of_the_schema(reference: ModuleType) -> None:
    assert reference.DOCUMENT.read_text(encoding="utf-8") == reference.document(), (
        f"python -m {reference.__name__} writes it anew"
    )


@pytest.mark.parametrize("reference", REFERENCES)
def test_every_key_of_a_reference_has_a_meaning(reference: ModuleType) -> None:
    tables = [part.splitlines() for part in reference.document().split("\n\n") if part.startswith("| ")]
    rows = [row for heading, _, *rows in tables if heading.endswith("| meaning |") for row in rows]
    assert len(rows) > 10
    assert not [row for row in rows if row.endswith("|  |")]


def test_every_instance_is_listed() -> None:
    text = (ROOT / "docs" / "device-reference.md").read_text()
    assert all(f"`{name}`" in text for name in instances())


def test_every_key_of_a_replay_is_documented() -> None:
    text = (ROOT / "docs" / "scenario-reference.md").read_text()
    for key in ReplayModel.model_fields:
        assert f"`{key}`" in text, key


def test_every_key_of_a_host_and_an_engine_is_documented() -> None:
    text = (ROOT / "docs" / "scenario-reference.md").read_text()
    for model in (HostModel, EngineModel, CostsModel):
        for key in model.model_fields:
            assert f"`{key}`" in text, key
    text = (ROOT / "docs" / "statements.md").read_text()
    for key in ("cache_state", "warmup", "duration", "since_checkpoint"):
        assert f"\n{key} = " in text, key


def test_the_scenario_for_statements_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "statements.md").read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text(text)
    model = load_scenario(str(tmp_path / "mine.toml")).model
    assert model.host is not None
    assert model.engine is not None
    assert (model.host.cores, model.engine.buffer_pool, model.replay.warmup) == (16, 64 << 30, 120 * 10**9)


def test_every_format_is_documented() -> None:
    text = (ROOT / "docs" / "formats.md").read_text()
    for key in [*FORMATS, *SOURCES]:
        assert f"| `{key}` |" in text, key


def test_every_field_of_a_measured_point_is_documented() -> None:
    text = (ROOT / "docs" / "load-generators.md").read_text()
    for field in fields(MeasuredPoint):
        assert f"`{field.name}`" in text, field.name


@pytest.mark.parametrize("document", ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_links_lead_somewhere(document: str) -> None:
    for part in (ROOT / document).read_text().split("](")[1:]:
        target = part.split(")")[0]
        assert (ROOT / document).parent.joinpath(target).exists(), target


def test_the_scenario_of_the_readme_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text().split("```toml\n")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text(text)
    scenario = load_scenario(str(tmp_path / "mine.toml"))
    assert scenario.volumes["data"].count == 24
    assert {volume.device for volume in scenario.model.volumes.values()} <= set(names())


def test_every_processor_and_every_cost_is_documented() -> None:
    text = (ROOT / "docs" / "processors.md").read_text()
    assert all(f"`{name}`" in text for name in (*processors(), *Costs._fields))
    for costs in TABLES.values():
        assert all(f"{cost:,}" in text for cost in costs if cost)


def test_every_key_of_a_candidates_file_is_documented() -> None:
    text = (ROOT / "docs" / "workload-reference.md").read_text()
    tables = (HostPriceModel, EnclosureModel, MemoryPriceModel, LicenceModel, PowerModel, PriceModel)
    for model in (CandidatesModel, ListModel, *tables):
        for key in model.model_fields:
            assert f"`{key}`" in text or f"[{key}]" in text or f"[{key}." in text, key


def test_the_candidates_file_of_the_document_is_one(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "sizing.md").read_text()
    path = tmp_path / "hardware.toml"
    path.write_text(text.partition("```toml\n")[2].partition("```")[0])
    base = tmp_path / "base.toml"
    base.write_text('[host]\ncores = 16\n[volumes.data]\ndevice = "micron-s650dc-800"\n')
    found = combinations(read_candidates(path), str(base), (), tmp_path)
    assert len(found) == 2 * 5 * 2 * 2 * 2 + 3
    assert all(one.problem is None for one in found)


def _errors(
    title: str, *figures: str, claims: str = "", verdicts: Sequence[str] = ("holds", "**fails**")
) -> list[float]:
    """How far the measured *figures* of claims lie from the predicted ones, in % of these, by a section of the accuracy
    document, which has it the other way round; without fitted ones; of those only whose text matches *claims*.
    """
    text = (ROOT / "docs" / "accuracy.md").read_text().split(f"\n## {title}")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("|")]
    return [
        10_000 / (100 + float(row[-4].split()[0])) - 100
        for row in rows
        if row[2] in figures and row[-2] in verdicts and re.search(claims, row[1])
    ]


def test_the_figures_of_innodb_are_those_of_the_accuracy_document() -> None:
    """How far the predicted figures lie from the measured ones."""

    def off(title: str, figure: str, claims: str = "") -> list[float]:
        return [10_000 / (100 + error) - 100 for error in _errors(title, figure, claims=claims)]

    accuracy = (ROOT / "docs" / "accuracy.md").read_text()
    means, pairs = off("InnoDB of MariaDB 10.11: one", "mean"), off("InnoDB of MariaDB 10.11 from", "throughput")
    small = off("InnoDB on an NVMe", "throughput", "mariadb .*, 10 GiB")
    others = [one for one in off("InnoDB on an NVMe", "throughput") if one not in small]
    reads = off("InnoDB on a SATA", "throughput", "read-only.* (2|12) GB, (32|64) clients")
    writes, gp2 = off("InnoDB on a SATA", "throughput", "read-write"), off("InnoDB on gp2", "throughput")
    median = re.search(r"\| median error of 46 cells \| +\| % \| 12 \| ([\d.]+) ", accuracy)
    ebs = re.search(r"\| mean absolute error of 21 cells \| +\| % \| 7 \| ([\d.]+) ", accuracy)
    assert median
    assert ebs
    said = {
        f"mean latency | {min(means):+.0f} to {max(means):+.0f} %",
        f"within 25 %: {sum(abs(one) <= 25 for one in pairs)} of {len(pairs)} predictions",
        (f"within {ceil(max(map(abs, others)))} %, MariaDB in a small pool {min(small):+.0f} to {max(small):+.0f} %"),
        f"drive's limit within {ceil(max(map(abs, reads)))} %, writes {min(writes):+.0f} to {max(writes):+.0f} %",
        f"median {float(median[1]):.0f} %, up to {max(off('InnoDB on two drives', 'throughput')):+.0f} %",
        f"EBS, other IOPS and sizes | {float(ebs[1]):.0f} % in the mean",
        f"gp2, other pools | {min(gp2):+.0f} to {max(gp2):+.0f} %",
    }
    text = (ROOT / "docs" / "innodb.md").read_text()
    assert not {part for part in said if part not in text}


def test_the_figures_of_the_readme_are_those_of_the_accuracy_document() -> None:
    nvme, sata = "pgbench on an NVMe", "pgbench on six SATA"
    small = _errors(nvme, "throughput") + _errors(sata, "throughput", claims="select-only")
    judged = ("holds", "**fails**", "underdetermined")
    wide = [-off for off in _errors(sata, "throughput", claims="RAID 10", verdicts=judged)]
    wide += [-off for off in _errors(nvme, "throughput", verdicts=["underdetermined"])]
    large = _errors("PostgreSQL 18 with tables larger than memory", "per s", claims="transactions$")
    queued = "other depths|depth 32"
    flash = sorted(map(abs, _errors("Samsung PM981a", "mean", claims=queued)))
    tails = _errors("Samsung PM981a", "tail", claims=queued)
    alone, bare = (_errors("Samsung PM981a", figure, claims="^(sequential|random)") for figure in ("mean", "tail"))
    commits, cells, cell_tails = (
        _errors("Commits by jobs", "throughput"),
        _errors("Lookups and updates of", "throughput", "mean"),
        _errors("Lookups and updates of", "tail"),
    )
    accuracy = (ROOT / "docs" / "accuracy.md").read_text()
    held = re.findall(r"(\d+) of (\d+) claims hold", accuracy.partition("## Commits by jobs")[2])[0]
    left_out = [line for line in accuracy.splitlines() if "with what is chosen on other families: demerit" in line]
    left_out = [line for line in left_out if line.startswith("|")]
    against = sorted(float(line.split("|")[-4].split()[0]) for line in left_out)
    numbers = ["no", "one", "two", "three", "four", "five", "six", "seven"]
    smaller, below = (numbers[sum(them)] for them in ((e < 0 for e in against), ("holds" in line for line in left_out)))
    said = {
        f"On {smaller} of the {below} disks tiersim is closer to the measurements than DiskSim",
        "| " + ", ".join(f"{-off:.0f}" for off in sorted(small, reverse=True)) + " % lower |",
        (
            f"| our server: {-max(large):.0f} to {-min(large):.0f} % lower; published runs whose deciding settings are"
            f" not known: {min(wide):.0f} to {max(wide):.0f} % lower |"
        ),
        f"| mean: within ±{flash[-1]:.0f} %; p99: {-min(tails):.0f} % lower to {max(tails):.0f} % higher |",
        f"| {len(flash)} means and {len(tails)} p99s, one drive |",
        (
            f"| mean: {-min(alone):.0f} % lower to {max(alone):.0f} % higher; p99: {1 + min(bare) / 100:.1f} and"
            f" {1 + max(bare) / 100:.1f} times the prediction, because the host's own latency is not simulated |"
            f" {len(alone)} means and p99s |"
        ),
        f"| {held[0]} of {held[1]} within ±20 %; worst: {-min(commits):.0f} % lower, {max(commits):.0f} % higher |",
        f"within ±{max(map(abs, _errors('Response times of seven drives', 'mean', 'tail'))):.1f} % | 7 drives",
        (
            f"within ±{max(map(abs, cells)):.1f} %; p95: {sum(abs(off) <= 25 for off in cell_tails)} of"
            f" {len(cell_tails)} within ±25 %, once {1 + max(cell_tails) / 100:.1f} times as long as"
            f" predicted |"
            f" {len(cells) // 2} set-ups"
        ),
        (
            "within ±25 %: 99 % of the 423 with which the rules were chosen; 97 % of 65 measured afterwards"
            " | 423 + 65 predictions |"
        ),
        "79.1 % (target: 80 %) | 1,236 figures",
    }
    text = (ROOT / "README.md").read_text()
    same_kind = re.search(r"\| calibrated \| throughput \| ([\d.]+) \.\. ([\d.]+) \|", accuracy)
    assert same_kind
    low, high = (100 * (float(end) - 1) for end in same_kind.groups())
    beyond = re.search(r"\| extrapolated \| throughput \| ([\d.]+) \.\. ([\d.]+) \|", accuracy)
    assert beyond
    least, most = (100 * (float(end) - 1) for end in beyond.groups())
    said.add(f"calibration passed | {low:+.0f}/{high:+.0f} %; with a larger pool, or the CPU full, ")
    said.add(f"the CPU full, {least:+.0f}/{most:+.0f} % |")
    innodb = re.search(r"\| innodb \| throughput \| ([\d.]+) \.\. ([\d.]+) \|", accuracy)
    assert innodb
    low, high = (100 * (float(end) - 1) for end in innodb.groups())
    said.add(f"MariaDB | any | {low:+.0f}/{high:+.0f} % |")
    other_kind = re.search(r"\| assumed \| throughput \| ([\d.]+) \.\. ([\d.]+) \|", accuracy)
    assert other_kind
    low, high = (100 * (float(end) - 1) for end in other_kind.groups())
    said |= {
        f"not calibrated | {low:+.0f}/{high:+.0f} % in checks",
        f"it is *in doubt* if a part is busier than {100 + low:.0f} % on average.",
    }
    other_latency = re.search(r"\| assumed \| other \| ([\d.]+) \.\. ([\d.]+) \|", accuracy)
    assert other_latency
    low, high = (100 * (float(end) - 1) for end in other_latency.groups())
    said.add(f"block traces | anything else | mean latency: {low:+.0f}/{high:+.0f} % in the same checks")
    known = [re.search(rf"\| calibrated \| {kind} \| ([\d.]+) \.\. ([\d.]+) \|", accuracy) for kind in ("mean", "tail")]
    mean, tail = ([100 * (float(end) - 1) for end in found.groups()] for found in known if found)
    said.add(
        f"calibration passed | mean latency: {mean[0]:+.0f}/{mean[1]:+.0f} %; p95 and above:"
        f" {tail[0]:+.0f}/{tail[1]:+.0f} % |"
    )
    assert not {part for part in said if part not in text}
    assert "pairs within 25%, of 359 | % | 100 | 99.7 |" in accuracy
    assert "pairs within 25%, of 64 | % | 100 | 100 |" in accuracy  # 423 in all
    assert "pairs within 25%, of 65 | % | 100 | 96.9 |" in accuracy
    assert "| 80 % held, of the measurements | 79.1 %" in accuracy
    assert "80 % intervals of 1236 measured figures" in accuracy
    within = re.search(r"\| innodb, throughput \| \d+ \| (\d+) \| (\d+) % \|", accuracy)
    assert within
    assert f"| {within[2]} % of the figures in the expected range | {within[1]} figures |" in text
    assert len(text.splitlines()) <= 120


def test_a_fit_of_a_real_drive_meets_what_it_was_not_given() -> None:
    """Depths, sizes, mixes, and one write at a time behind the host of the measurements."""
    section = (ROOT / "docs" / "accuracy.md").read_text().partition("## Samsung PM981a")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert not [row for row in rows if "fails" in row and "p99 without the host" not in row]
    assert sum("| holds |" in row for row in rows) >= 14
