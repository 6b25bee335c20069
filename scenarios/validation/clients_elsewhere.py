"""A real PostgreSQL whose clients have a processor of their own, from anywhere to anywhere without a calibration: CPU
is what its sessions were counted to use.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tiersim.scenarios.validation.claims import Claim, Experiment, HeatMap
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of
from tiersim.scenarios.validation.pairs import LOADS, heat_map, others_of, place, results_of
from tiersim.scenarios.validation.uncalibrated import claims_of
from tiersim.traces.samples import elsewhere, elsewhere_unseen

_CHANGES = ("host.cores=1", "host.clients=elsewhere")


def experiment() -> Experiment:
    """How far off throughput is, of each load to no cap and to one, and of each pair."""
    return judged(*_predicted(elsewhere))


def of_unseen_cells() -> Experiment:
    """The same of cells that were measured after the rule of pauses was chosen."""
    found = judged(*_predicted(elsewhere_unseen), on="12 clients elsewhere")
    return replace(
        found,
        name="elsewhere-unseen",
        title="PostgreSQL 18 whose 12 clients have a processor of their own, without a calibration: 8 cells that nobody"
        " had seen when the rule was chosen",
        source="our own runs of pgbench (benchmarks/real_postgres, elsewhere-unseen.toml), once each: as in"
        " *elsewhere*, but 12 clients, pools of 96 and 320 MiB, and other caps",
        fitted="CPU to what the recorded sessions used; popularity to the misses of the recorded cell; nothing here",
    )


def _predicted(unpack: Callable[[Path], None]) -> tuple[Sequence[Cell], dict[tuple[str, str], float]]:
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        unpack(Path(name))
        cells = cells_of(Path(name))
        return cells, {
            (source.name, target): tps for source in cells for target, tps in predicted_of(source, cells).items()
        }


def predicted_of(source: Cell, cells: Sequence[Cell]) -> dict[str, float]:
    """Return the transactions/s of the other cells of a load, by name, as predicted from the counters of one."""
    targets = others_of(source, cells)
    results = results_of(source, targets, ranges=False, calibrated=False, changes=_CHANGES)
    return {name: one.summary["throughput_per_s"]["transactions"]["value"] for name, one in results.items()}


def judged(
    cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], on: str = "clients elsewhere"
) -> Experiment:
    """Return the experiment of transactions/s that were *predicted*, by source and target; its maps are titled *on*."""
    return Experiment(
        "elsewhere",
        "PostgreSQL 18 whose clients have a processor of their own, without a calibration: each of 16 cells predicted"
        " from the counters of every other of its load",
        "our own runs of pgbench (benchmarks/real_postgres, elsewhere.toml), once each: one processor for the server"
        " and one for 8 clients; pools of 64 and 256 MiB, caps of reads, writes and the log",
        "CPU to what the recorded sessions used; popularity to the misses of the recorded cell; which part of recorded"
        " pauses is the server's was chosen with these cells",
        tuple(_claims({cell.name: cell for cell in cells}, predicted)),
        basis="counted",
        maps=tuple(_maps(cells, predicted, on)),
    )


def _claims(cells: Mapping[str, Cell], predicted: Mapping[tuple[str, str], float]) -> Iterator[Claim]:
    errors: dict[str, list[tuple[float, float]]] = {}
    for (source, target), tps in predicted.items():
        asked, recorded = cells[target], cells[source]
        kind = "no cap" if asked.iops is None and asked.log_iops is None else "a cap"
        measured = asked.figures["tps"]
        off = abs(tps / measured - 1), abs(recorded.figures["tps"] / measured - 1)
        errors.setdefault(f"{LOADS[asked.load]}, to {kind}", []).append(off)
    yield from claims_of(dict(sorted(errors.items())))


def _maps(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], on: str) -> Iterator[HeatMap]:
    for load, title in LOADS.items():
        own = sorted((one for one in cells if one.load == load), key=place)
        yield heat_map(f"{title}, {on}: predicted transactions/s", own, own, predicted)
