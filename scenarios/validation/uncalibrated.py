"""A real PostgreSQL from anywhere to no cap without a calibration: CPU and clients decide, and counters of statements
tell little of them.

The same cells as of :mod:`~tiersim.scenarios.validation.pairs`, of which a prediction sees the counters, and nothing of
the hardware that was recorded.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from tiersim.scenarios.caveats import CLIENTS, COUNTED
from tiersim.scenarios.validation.claims import Claim, Experiment, HeatMap
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of
from tiersim.scenarios.validation.pair_figures import FAR
from tiersim.scenarios.validation.pairs import LOADS, others_of, place, results_of
from tiersim.traces.samples import matrix

#: What share of the pairs is to be near, in percent.
_NEAR_PCT = 80.0


def experiment(*, counted: bool) -> Experiment:
    """How far off throughput is, of each load and of each pair; with *counted* processors, or without."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        matrix(Path(name))
        cells = cells_of(Path(name))
        predicted = {
            (source.name, target): tps
            for source in _recorded(cells)
            for target, tps in predicted_of(source, cells, counted=counted).items()
        }
    return judged(cells, predicted, counted=counted)


def judged(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], *, counted: bool) -> Experiment:
    """Return the experiment of transactions/s that were *predicted*, by source and target."""
    known = "with CPU as it was counted" if counted else "without a calibration"
    return Experiment(
        "counted" if counted else "uncalibrated",
        "PostgreSQL 18 from anywhere to no cap, without a calibration"
        + (": CPU as it was counted on the recorded host" if counted else ""),
        "cells of the experiment before, without a cap and with the lowest one of reads and writes",
        ("CPU to what the recorded processors did" if counted else "nothing of the recorded hardware")
        + "; popularity to the misses of the recorded cell",
        tuple(_claims(cells, predicted)),
        basis="counted" if counted else "clients",
        maps=tuple(_maps(cells, predicted, known)),
    )


def predicted_of(source: Cell, cells: Sequence[Cell], *, counted: bool) -> dict[str, float]:
    """Return the predicted transactions/s of its load's other cells without a cap, where CPU and clients decide them,
    by name.
    """
    targets = [one for one in others_of(source, cells) if _is_free(one)]
    results = results_of(source, targets, ranges=False, calibrated=False, counted=counted)
    return {
        name: one.summary["throughput_per_s"]["transactions"]["value"]
        for name, one in results.items()
        if one.summary["verdict"].get("error") == (COUNTED if counted else CLIENTS)
    }


def _is_free(cell: Cell) -> bool:
    return cell.iops is None and cell.log_iops is None


def _recorded(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Yield the cells without a cap, and those of each load and pool with the lowest of reads and writes."""
    for one in cells:
        alike = [cell.iops for cell in cells if (cell.load, cell.pool_mib) == (one.load, one.pool_mib) and cell.iops]
        if _is_free(one) or (one.iops and one.iops == min(alike)):
            yield one


def _claims(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float]) -> Iterator[Claim]:
    of = {cell.name: cell for cell in cells}
    errors: dict[str, list[tuple[float, float]]] = {}
    for (source, target), tps in predicted.items():
        measured = of[target].figures["tps"]
        kind = "free to free" if _is_free(of[source]) else "saturated to free"
        off = abs(tps / measured - 1), abs(of[source].figures["tps"] / measured - 1)
        errors.setdefault(f"{LOADS[of[source].load]}, {kind}", []).append(off)
    for what, found in errors.items():
        off_pct, unchanged_pct = (100 * median(column) for column in zip(*found, strict=True))
        yield Claim(
            f"{what}: transactions, how far off in the median of {len(found)}; published: if nothing changed",
            "%",
            unchanged_pct,
            off_pct,
            0,
            within=(0, unchanged_pct),
        )
    near = [own <= FAR for found in errors.values() for own, _ in found]
    yield Claim(
        f"transactions: pairs within {FAR:.0%}, of {len(near)}",
        "%",
        100,
        100 * sum(near) / max(len(near), 1),
        0,
        within=(_NEAR_PCT, 100),
    )


def _maps(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], known: str) -> Iterator[HeatMap]:
    for load, title in LOADS.items():
        own = sorted((one for one in cells if one.load == load), key=place)
        asked = [one for one in own if _is_free(one)]
        recorded = [one for one in own if one in [*_recorded(own)]]
        off_pct = tuple(
            tuple(
                100 * (predicted[source.name, target.name] / target.figures["tps"] - 1)
                if (source.name, target.name) in predicted
                else None
                for target in asked
            )
            for source in recorded
        )
        labels, columns = (tuple(one.label for one in some) for some in (recorded, asked))
        yield HeatMap(f"{title} {known}: predicted transactions/s", labels, off_pct, asked=columns)
