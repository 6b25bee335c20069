"""Every experiment by its name: what runs it, and how long that takes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tiersim.scenarios.validation import (
    arrays,
    backup,
    big_tables,
    capped_device,
    ceilings,
    cells,
    checkpoint_arithmetic,
    checkpoint_bursts,
    checkpoint_hours,
    clients_elsewhere,
    commits,
    compressed_backup,
    demerits,
    departures,
    depth_sweep,
    flash_drive,
    founding,
    half_hour,
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
    scans_and_lookups,
    shared_spindles,
    start,
    tpch,
    turbo_write,
    uncalibrated,
    warming,
    write_amplification,
)
from tiersim.scenarios.validation.claims import Experiment


class Listed(NamedTuple):
    """An experiment as the list has it."""

    run: Callable[..., Experiment]
    seconds: int | None = None  # of a processor, with the loading of compiled kernels; None: not measured alone
    is_long: bool = False  # and has no founding claim: ``--quick`` leaves it out
    of_traces: bool = False  # of what is no part of the project: ``run`` takes its folder, or None


EXPERIMENTS: dict[str, Listed] = {
    "founding-arithmetic": Listed(founding.experiment, 1),
    "drives": Listed(demerits.experiment, is_long=True, of_traces=True),
    "departures": Listed(departures.experiment, is_long=True, of_traces=True),
    "arrays": Listed(arrays.experiment, is_long=True, of_traces=True),
    "depth": Listed(depth_sweep.experiment, 2),
    "perc6": Listed(perc6.experiment, 141),
    "backup": Listed(backup.experiment, 3),
    "compressed-backup": Listed(compressed_backup.experiment, 6),
    "scans-and-lookups": Listed(scans_and_lookups.experiment, 8),
    "ceilings": Listed(ceilings.experiment, 3),
    "tpch": Listed(tpch.experiment, 41),
    "order-entry": Listed(order_entry.experiment, 62),
    "warming": Listed(warming.experiment, 6),
    "orders": Listed(orders.experiment, 44),
    "write-amplification": Listed(write_amplification.experiment, is_long=True),
    "mqsim": Listed(mqsim.experiment, is_long=True),
    "flash": Listed(flash_drive.experiment, is_long=True),
    "turbo-write": Listed(turbo_write.experiment, is_long=True),
    "commits": Listed(commits.experiment, is_long=True),
    "point-reads": Listed(capped_device.point_reads, 16),
    "updates": Listed(capped_device.updates, is_long=True),
    "pools-and-caps": Listed(cells.experiment, 32, is_long=True),
    "pairs": Listed(pairs.experiment, 540, is_long=True),
    "second-host": Listed(pairs.of_second_host, 90, is_long=True),
    "unseen": Listed(pairs.of_unseen_cells, 90, is_long=True),
    "third-host": Listed(pairs.of_third_host, 15, is_long=True),
    "short-recordings": Listed(pairs.of_short_recordings, 14, is_long=True),
    "counted": Listed(partial(uncalibrated.experiment, "counted"), is_long=True),
    "busy": Listed(partial(uncalibrated.experiment, "busy"), is_long=True),
    "uncalibrated": Listed(partial(uncalibrated.experiment, "uncalibrated"), is_long=True),
    "elsewhere": Listed(clients_elsewhere.experiment, 100, is_long=True),
    "elsewhere-unseen": Listed(clients_elsewhere.of_unseen_cells, 15, is_long=True),
    "start": Listed(start.experiment, 15),
    "big-tables": Listed(big_tables.experiment, 140, is_long=True),
    "half-hour": Listed(half_hour.experiment, 144, is_long=True),
    "innodb-cells": Listed(innodb_cells.experiment, is_long=True),
    "innodb-pairs": Listed(innodb_pairs.experiment, 162, is_long=True, of_traces=True),
    "innodb-sata": Listed(innodb_sata.experiment, 55, is_long=True, of_traces=True),
    "innodb-ebs": Listed(innodb_ebs.experiment, 93, is_long=True, of_traces=True),
    "innodb-gp2": Listed(innodb_gp2.experiment, 5, is_long=True, of_traces=True),
    "innodb-samsung": Listed(innodb_samsung.experiment, 138, is_long=True, of_traces=True),
    "innodb-tpcc": Listed(innodb_tpcc.experiment, 63, is_long=True, of_traces=True),
    "shared-spindles": Listed(shared_spindles.experiment, 67),
    "log-volume": Listed(log_volume.experiment, 1),
    "checkpoint-arithmetic": Listed(checkpoint_arithmetic.experiment, 1),
    "checkpoint-bursts": Listed(checkpoint_bursts.experiment, is_long=True),
    "checkpoint-hours": Listed(checkpoint_hours.experiment, is_long=True, of_traces=True),
    "pgbench-nvme": Listed(pgbench_nvme.experiment, is_long=True),
    "pgbench-raid0": Listed(pgbench_raid0.experiment, 124, is_long=True),
    "halves": Listed(halves.experiment, is_long=True, of_traces=True),
}


def run(names: Sequence[str], traces: Path | None) -> Iterator[Experiment]:
    """Run experiments by name; *traces* is a folder that has what is not part of the project."""
    for entry in map(EXPERIMENTS.__getitem__, names):
        yield entry.run(traces) if entry.of_traces else entry.run()


def quick_names() -> tuple[str, ...]:
    """Return the experiments of ``--quick``: all but those that take long and have no founding claim."""
    return tuple(name for name, entry in EXPERIMENTS.items() if not entry.is_long)


def expected_time(names: Sequence[str]) -> str:
    """Return how long *names* take on one processor, as they were measured."""
    known = [EXPERIMENTS[name].seconds for name in names]
    seconds, unknown = sum(one or 0 for one in known), known.count(None)
    more = f", and {unknown} that were not measured" if unknown else ""
    return f"{len(names)} experiments: about {-(-seconds // 60)} minutes of processor time with compiled kernels{more}"
