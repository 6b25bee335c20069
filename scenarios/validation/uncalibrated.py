"""A real PostgreSQL from anywhere to no cap without a calibration: CPU and clients decide, and counters of statements
tell little of them; those of the recorded host tell more.

The same cells as of :mod:`~tiersim.scenarios.validation.pairs`, of which a prediction sees the counters, and nothing of
the hardware that was recorded.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tiersim.scenarios.caveats import CLIENTS, COUNTED
from tiersim.scenarios.validation.claims import Claim, Experiment, HeatMap
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of
from tiersim.scenarios.validation.pair_figures import FAR
from tiersim.scenarios.validation.pairs import LOADS, heat_map, others_of, place, results_of
from tiersim.traces.samples import matrix

#: What share of the pairs is to be near, in percent.
_NEAR_PCT = 80.0


@dataclass(frozen=True)
class _Known:
    """What is known of the recorded host, as results say by their ``error``: all but files of these names.

    Cells without a cap are recorded and asked: ``from_caps``, cells with one are recorded, too; else cells with a cap
    of the log are asked, too.
    """

    left_out: tuple[str, ...]
    error: str
    title: str
    said: str  # of a map
    fitted: str
    from_caps: bool = True


_KNOWN = {
    "counted": _Known(
        left_out=(),
        error=COUNTED,
        title="from anywhere to no cap, without a calibration: CPU as it was counted on the recorded host",
        said="with CPU as it was counted",
        fitted="CPU to what the recorded processors did",
    ),
    "busy": _Known(
        left_out=("processes.*",),
        error=COUNTED,
        title="from no cap to none and to one of the log, without a calibration: CPU of a busy host, no matter whose",
        said="with CPU of a busy host",
        fitted="CPU to how long the recorded processors were busy",
        from_caps=False,
    ),
    "uncalibrated": _Known(
        left_out=("processes.*", "diskstats.*"),
        error=CLIENTS,
        title="from anywhere to no cap, without a calibration",
        said="without a calibration",
        fitted="nothing of the recorded hardware",
    ),
}


def experiment(name: str) -> Experiment:
    """How far off throughput is, of each load and of each pair, with what *name* says that is known of the recorded
    host.
    """
    with tempfile.TemporaryDirectory(prefix="tiersim-") as place:
        matrix(Path(place))
        cells = cells_of(Path(place))
        predicted = {
            (source.name, target): tps
            for source in _recorded(cells)
            for target, tps in predicted_of(source, cells, name).items()
        }
    return judged(cells, predicted, name)


def judged(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], name: str) -> Experiment:
    """Return the experiment *name* of transactions/s that were *predicted*, by source and target."""
    known = _KNOWN[name]
    return Experiment(
        name,
        f"PostgreSQL 18 {known.title}",
        "cells of the experiment before, without a cap and with "
        + ("the lowest one of reads and writes" if known.from_caps else "one of the log"),
        f"{known.fitted}; popularity to the misses of the recorded cell",
        tuple(_claims(cells, predicted)),
        basis="counted" if known.error == COUNTED else "clients",
        maps=tuple(_maps(cells, predicted, known.said)),
    )


def predicted_of(source: Cell, cells: Sequence[Cell], name: str) -> dict[str, float]:
    """Return the predicted transactions/s of its load's other cells that are asked, where CPU and clients decide them,
    by name; none where the experiment *name* has nothing to say of the source.
    """
    known = _KNOWN[name]
    if not (known.from_caps or _is_free(source)):
        return {}
    targets = [one for one in others_of(source, cells) if _is_free(one) or (one.log_iops and not known.from_caps)]
    results = results_of(source, targets, ranges=False, calibrated=False, left_out=known.left_out)
    return {
        target: one.summary["throughput_per_s"]["transactions"]["value"]
        for target, one in results.items()
        if one.summary["verdict"].get("error") == known.error
    }


def _is_free(cell: Cell) -> bool:
    return cell.iops is None and cell.log_iops is None


def _kind(cell: Cell, otherwise: str) -> str:
    return "free" if _is_free(cell) else otherwise


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
        kind = f"{_kind(of[source], 'saturated')} to {_kind(of[target], 'a capped log')}"
        off = abs(tps / measured - 1), abs(of[source].figures["tps"] / measured - 1)
        errors.setdefault(f"{LOADS[of[source].load]}, {kind}", []).append(off)
    yield from claims_of(errors)


def claims_of(errors: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[Claim]:
    """Yield a claim of each block of pairs, and one of all: *errors* are by block the shares by which predictions are
    off, and by which the recorded rate is.
    """
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


def _maps(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], float], said: str) -> Iterator[HeatMap]:
    for load, title in LOADS.items():
        own = sorted((one for one in cells if one.load == load), key=place)
        asked = [one for one in own if any(one.name == target for _, target in predicted)]
        recorded = [one for one in own if any(one.name == source for source, _ in predicted)]
        yield heat_map(f"{title} {said}: predicted transactions/s", recorded, asked, predicted)
