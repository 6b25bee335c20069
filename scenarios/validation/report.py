"""Every experiment, and the document that shows them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tiersim.scenarios.validation import (
    arrays,
    backup,
    big_tables,
    ceilings,
    cells,
    checkpoint_arithmetic,
    checkpoint_bursts,
    checkpoint_hours,
    commits,
    compressed_backup,
    demerits,
    departures,
    depth_sweep,
    flash_drive,
    founding,
    halves,
    innodb_cells,
    innodb_ebs,
    innodb_gp2,
    innodb_pairs,
    innodb_samsung,
    innodb_sata,
    innodb_tpcc,
    log_volume,
    mqsim,
    order_entry,
    orders,
    pairs,
    perc6,
    pgbench_nvme,
    pgbench_raid0,
    point_reads,
    scans_and_lookups,
    shared_spindles,
    start,
    tpch,
    turbo_write,
    uncalibrated,
    updates,
    warming,
    write_amplification,
)
from tiersim.scenarios.validation.claims import Claim, Experiment, HeatMap

NAMES = (
    "founding-arithmetic",
    "drives",
    "departures",
    "arrays",
    "depth",
    "perc6",
    "backup",
    "compressed-backup",
    "scans-and-lookups",
    "ceilings",
    "tpch",
    "order-entry",
    "warming",
    "orders",
    "write-amplification",
    "mqsim",
    "flash",
    "turbo-write",
    "commits",
    "point-reads",
    "updates",
    "pools-and-caps",
    "pairs",
    "second-host",
    "unseen",
    "counted",
    "busy",
    "uncalibrated",
    "start",
    "big-tables",
    "innodb-cells",
    "innodb-pairs",
    "innodb-sata",
    "innodb-ebs",
    "innodb-gp2",
    "innodb-samsung",
    "innodb-tpcc",
    "shared-spindles",
    "log-volume",
    "checkpoint-arithmetic",
    "checkpoint-bursts",
    "checkpoint-hours",
    "pgbench-nvme",
    "pgbench-raid0",
    "halves",
)


#: Columns of words; the others hold figures.
_WORDS = ("id", "claim", "figure", "unit", "verdict")
_GOOD = ("exact", "holds", "qualitative holds")
#: Processor seconds of experiments, kernels compiled, the loading of these included; of those that are not here nobody
#: measured them alone.
SECONDS: Mapping[str, int] = {
    "founding-arithmetic": 1,
    "depth": 2,
    "perc6": 141,
    "backup": 3,
    "compressed-backup": 6,
    "scans-and-lookups": 8,
    "ceilings": 3,
    "tpch": 41,
    "order-entry": 62,
    "warming": 6,
    "orders": 44,
    "point-reads": 16,
    "pools-and-caps": 32,
    "pairs": 540,
    "second-host": 90,
    "unseen": 90,
    "start": 15,
    "big-tables": 140,
    "innodb-pairs": 162,
    "innodb-sata": 55,
    "innodb-ebs": 93,
    "innodb-gp2": 5,
    "innodb-samsung": 138,
    "innodb-tpcc": 63,
    "shared-spindles": 67,
    "log-volume": 1,
    "checkpoint-arithmetic": 1,
    "pgbench-raid0": 124,
}
#: Experiments without a founding claim that take long: ``--quick`` leaves them out.
_LONG = (
    "mqsim",
    "flash",
    "turbo-write",
    "commits",
    "pgbench-nvme",
    "pgbench-raid0",
    "halves",
    "checkpoint-bursts",
    "checkpoint-hours",
    "write-amplification",
    "updates",
    "pools-and-caps",
    "pairs",
    "second-host",
    "unseen",
    "counted",
    "busy",
    "uncalibrated",
    "big-tables",
    "innodb-cells",
    "innodb-pairs",
    "innodb-sata",
    "innodb-ebs",
    "innodb-gp2",
    "innodb-samsung",
    "innodb-tpcc",
    "drives",
    "departures",
    "arrays",
)


def run(names: Sequence[str], traces: Path | None) -> Iterator[Experiment]:
    """Run experiments by name; *traces* is a folder that has what is not part of the project."""
    every: dict[str, Callable[[], Experiment]] = {
        "founding-arithmetic": founding.experiment,
        "drives": lambda: demerits.experiment(traces),
        "departures": lambda: departures.experiment(traces),
        "arrays": lambda: arrays.experiment(traces),
        "depth": depth_sweep.experiment,
        "perc6": perc6.experiment,
        "backup": backup.experiment,
        "compressed-backup": compressed_backup.experiment,
        "scans-and-lookups": scans_and_lookups.experiment,
        "ceilings": ceilings.experiment,
        "tpch": tpch.experiment,
        "order-entry": order_entry.experiment,
        "warming": warming.experiment,
        "orders": orders.experiment,
        "write-amplification": write_amplification.experiment,
        "mqsim": mqsim.experiment,
        "flash": flash_drive.experiment,
        "turbo-write": turbo_write.experiment,
        "commits": commits.experiment,
        "point-reads": point_reads.experiment,
        "updates": updates.experiment,
        "pools-and-caps": cells.experiment,
        "pairs": pairs.experiment,
        "second-host": pairs.of_second_host,
        "unseen": pairs.of_unseen_cells,
        "counted": lambda: uncalibrated.experiment("counted"),
        "busy": lambda: uncalibrated.experiment("busy"),
        "uncalibrated": lambda: uncalibrated.experiment("uncalibrated"),
        "start": start.experiment,
        "big-tables": big_tables.experiment,
        "innodb-cells": innodb_cells.experiment,
        "innodb-pairs": lambda: innodb_pairs.experiment(traces),
        "innodb-ebs": lambda: innodb_ebs.experiment(traces),
        "innodb-gp2": lambda: innodb_gp2.experiment(traces),
        "innodb-samsung": lambda: innodb_samsung.experiment(traces),
        "innodb-tpcc": lambda: innodb_tpcc.experiment(traces),
        "innodb-sata": lambda: innodb_sata.experiment(traces),
        "shared-spindles": shared_spindles.experiment,
        "log-volume": log_volume.experiment,
        "checkpoint-arithmetic": checkpoint_arithmetic.experiment,
        "checkpoint-bursts": checkpoint_bursts.experiment,
        "checkpoint-hours": lambda: checkpoint_hours.experiment(traces),
        "pgbench-nvme": pgbench_nvme.experiment,
        "pgbench-raid0": pgbench_raid0.experiment,
        "halves": lambda: halves.experiment(traces),
    }
    for name in names:
        yield every[name]()


def quick_names() -> tuple[str, ...]:
    """Return the experiments of ``--quick``: all but those that take long and have no founding claim."""
    return tuple(name for name in NAMES if name not in _LONG)


def expected_time(names: Sequence[str]) -> str:
    """Return how long *names* take on one processor, as they were measured."""
    seconds = sum(SECONDS.get(name, 0) for name in names)
    unknown = sum(name not in SECONDS for name in names)
    more = f", and {unknown} that were not measured" if unknown else ""
    return f"{len(names)} experiments: about {-(-seconds // 60)} minutes of processor time with compiled kernels{more}"


_HEAD = """# Accuracy

Written by `tiersim validate --traces FOLDER --markdown docs/accuracy.md`; nothing here is typed in. Published is what somebody measured, or the
error of another simulator on the same requests; predicted is what tiersim says. A claim that a number of the model was fitted to, or that what is
assumed leaves open (*underdetermined*), is shown and not counted. A claim that fails stays in the table.
"""  # noqa: E501


def markdown(experiments: list[Experiment]) -> str:
    """The document of all experiments."""
    parts = [_HEAD]
    for found in experiments:
        parts.append(f"## {found.title}\n\n{origin(found)}\n")
        if found.missing:
            parts.append(f"Not tried: {found.missing}.\n")
            continue
        parts.append(f"{counted(found)}\n")
        columns, rows = table(found)
        ruled = ["---" if words else "--:" for words in (column in _WORDS for column in columns)]
        lines = [columns, None, *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" if line else f"|{'|'.join(ruled)}|" for line in lines) + "\n")
        parts += [f"* {note}" for note in notes(found)]
        if notes(found):
            parts.append("")
        parts += [_map(one) for one in found.maps if not one.is_guess]
    return "\n".join(parts)


def _map(found: HeatMap) -> str:
    """Return a map as a table: the recorded cell in front, the predicted one above, how far off it is in percent."""
    lines = [
        ["recorded", *found.columns],
        ["---", *["--:"] * len(found.columns)],
        *([label, *map(off, row)] for label, row in zip(found.labels, found.off_pct, strict=True)),
    ]
    return "\n".join([f"{found.title}, off by %:", "", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def off(percent: float | None) -> str:
    """Return how far off a cell of a map is; nothing where it is of itself."""
    return "" if percent is None else f"{percent:+,.0f}"


def origin(found: Experiment) -> str:
    """Return where an experiment's figures come from, and what its predictions stand on."""
    said = [f"Published: {found.source}.", f"Fitted: {found.fitted}."]
    if found.assumed:
        said.append(f"Assumed: {'; '.join(found.assumed)}.")
    if found.maps or any(claim.figure for claim in found.claims):
        said.append(f"Basis: {found.basis}.")
    return " ".join(said)


def counted(found: Experiment) -> str:
    """How many claims hold, of those that count."""
    verdicts = [claim.verdict for claim in found.claims]
    count = sum(verdict != "underdetermined" for verdict in verdicts)
    hold = sum(verdict in _GOOD for verdict in verdicts)
    return f"{hold} of {count} claims hold."


def table(found: Experiment) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of an experiment; founding claims have their id, measured ones their kind, assumptions a range,
    where there are any.
    """
    has_id = any(claim.id for claim in found.claims)
    has_figure = any(claim.figure for claim in found.claims)
    has_range = any(claim.low is not None for claim in found.claims)
    columns = [
        *(["id"] if has_id else []),
        "claim",
        *(["figure"] if has_figure else []),
        "unit",
        "published",
        "predicted",
    ]
    ranged = "range over hardware" if found.hardware_range else "range"
    columns += [*([ranged] if has_range else []), "error", "tolerance", "verdict"]
    rows = []
    for claim in found.claims:
        row = [
            *([claim.id] if has_id else []),
            claim.what,
            *([claim.figure or ""] if has_figure else []),
            claim.unit,
            figure(claim.published),
            figure(claim.predicted),
        ]
        reach = "" if claim.low is None or claim.high is None else f"{figure(claim.low)} .. {figure(claim.high)}"
        rows.append(
            [*row, *([reach] if has_range else []), f"{claim.error_pct:+.1f} %", tolerance(claim), outcome(claim)]
        )
    return columns, rows


def notes(found: Experiment) -> list[str]:
    """Return what has to be said of single claims."""
    return [f"{claim.id or found.name}, {claim.what}: {claim.note}" for claim in found.claims if claim.note]


def outcome(claim: Claim) -> str:
    """Return the verdict, or that the claim was fitted to."""
    if claim.fitted:
        return "fitted"
    return f"**{claim.verdict}**" if claim.verdict.endswith("fails") else claim.verdict


def tolerance(claim: Claim) -> str:
    """How far it may be off."""
    if claim.within is not None:
        return f"{claim.within[0]:.4g} .. {claim.within[1]:.4g}"
    return "no more" if claim.at_most else f"±{claim.tolerance_pct:g} %"


def figure(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def document(experiments: Sequence[Experiment]) -> dict[str, Any]:
    """Everything as JSON has it: claims in one list, ``id`` that of the founding claim, or the experiment's name."""
    return {
        "schema": "tiersim.validate/1",
        "claims": [_claim(found, claim) for found in experiments for claim in found.claims],
        "experiments": [
            {
                "name": found.name,
                "title": found.title,
                "source": found.source,
                "fitted_on": found.fitted,
                "missing": found.missing,
                "assumed": None if found.assumed is None else list(found.assumed),
                "basis": found.basis,
                "maps": [asdict(one) for one in found.maps],
            }
            for found in experiments
        ],
    }


def _claim(found: Experiment, claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id or found.name,
        "experiment": found.name,
        "claim": claim.what,
        "figure": claim.figure,
        "unit": claim.unit,
        "published": claim.published,
        "predicted": claim.predicted,
        "low": claim.predicted if claim.kind == "arithmetic" else claim.low,
        "high": claim.predicted if claim.kind == "arithmetic" else claim.high,
        "error_pct": claim.error_pct,
        "tolerance_pct": None if claim.within is not None else claim.tolerance_pct,
        "within": None if claim.within is None else list(claim.within),
        "at_most": claim.at_most,
        "fitted_on": "this figure" if claim.fitted else found.fitted if found.fits else None,
        "fitted": found.fits,
        "assumed": None if found.assumed is None else len(found.assumed),
        "verdict": claim.verdict,
        "note": claim.note or None,
    }
