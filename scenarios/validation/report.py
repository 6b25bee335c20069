"""Every experiment, and the document that shows them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from tiersim.scenarios.validation import (
    backup,
    checkpoint_arithmetic,
    checkpoint_bursts,
    commits,
    compressed_backup,
    demerits,
    depth_sweep,
    flash_drive,
    halves,
    log_volume,
    mqsim,
    orders,
    perc6,
    pgbench_nvme,
    pgbench_raid0,
    point_reads,
    scans_and_lookups,
    shared_spindles,
    start,
    tpch,
    updates,
    write_amplification,
)
from tiersim.scenarios.validation.claims import Claim, Experiment

NAMES = (
    "drives",
    "depth",
    "perc6",
    "backup",
    "compressed-backup",
    "scans-and-lookups",
    "tpch",
    "orders",
    "write-amplification",
    "mqsim",
    "flash",
    "commits",
    "point-reads",
    "updates",
    "start",
    "shared-spindles",
    "log-volume",
    "checkpoint-arithmetic",
    "checkpoint-bursts",
    "pgbench-nvme",
    "pgbench-raid0",
    "halves",
)


def run(names: tuple[str, ...], traces: Path | None) -> Iterator[Experiment]:
    """Run experiments by name; *traces* is a folder that has what is not part of the project."""
    every: dict[str, Callable[[], Experiment]] = {
        "drives": lambda: demerits.experiment(traces),
        "depth": depth_sweep.experiment,
        "perc6": perc6.experiment,
        "backup": backup.experiment,
        "compressed-backup": compressed_backup.experiment,
        "scans-and-lookups": scans_and_lookups.experiment,
        "tpch": tpch.experiment,
        "orders": orders.experiment,
        "write-amplification": write_amplification.experiment,
        "mqsim": mqsim.experiment,
        "flash": flash_drive.experiment,
        "commits": commits.experiment,
        "point-reads": point_reads.experiment,
        "updates": updates.experiment,
        "start": start.experiment,
        "shared-spindles": shared_spindles.experiment,
        "log-volume": log_volume.experiment,
        "checkpoint-arithmetic": checkpoint_arithmetic.experiment,
        "checkpoint-bursts": checkpoint_bursts.experiment,
        "pgbench-nvme": pgbench_nvme.experiment,
        "pgbench-raid0": pgbench_raid0.experiment,
        "halves": lambda: halves.experiment(traces),
    }
    for name in names:
        yield every[name]()


_HEAD = """# Accuracy

Written by `tiersim validate --traces FOLDER --markdown docs/accuracy.md`; nothing here is typed in. Published is what somebody measured, or the
error of another simulator on the same requests; predicted is what tiersim says. A claim that a number of the model was fitted to, or that what is
assumed leaves open, is shown and not counted. A claim that is not met stays in the table.
"""


def markdown(experiments: list[Experiment]) -> str:
    """The document of all experiments."""
    parts = [_HEAD]
    for found in experiments:
        parts.append(f"## {found.title}\n\nPublished: {found.source}. Fitted: {found.fitted}.\n")
        if found.missing:
            parts.append(f"Not tried: {found.missing}.\n")
            continue
        counted = [claim for claim in found.claims if not claim.fitted and not claim.underdetermined]
        met = sum(claim.met for claim in counted)
        parts.append(f"{met} of {len(counted)} claims are met.\n")
        rows = ["| claim | unit | published | predicted | error | tolerance | |", "|---|---|--:|--:|--:|--:|---|"]
        rows += [_row(claim) for claim in found.claims]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def outcome(claim: Claim) -> str:
    """Met, not met, or why it does not count."""
    if claim.underdetermined:
        return "underdetermined"
    return "fitted" if claim.fitted else "met" if claim.met else "**not met**"


def tolerance(claim: Claim) -> str:
    """How far it may be off."""
    return "no more" if claim.at_most else f"±{claim.tolerance_pct:g} %"


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _row(claim: Claim) -> str:
    cells = [claim.what, claim.unit, figure(claim.published), figure(claim.predicted), f"{claim.error_pct:+.1f} %"]
    return f"| {' | '.join([*cells, tolerance(claim), outcome(claim)])} |"
