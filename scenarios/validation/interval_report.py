"""The section on intervals of the accuracy document, and the table of errors that results are shown with; both from the
tables of claims as they are printed.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, log1p
from statistics import mean, median
from typing import Any, get_args

from tiersim.scenarios.validation import registry, report
from tiersim.scenarios.validation.claims import Basis, Experiment, Figure
from tiersim.scenarios.validation.intervals import (
    COVERAGE,
    LEAST_EXPERIMENTS,
    JudgedMeasurement,
    Learned,
    Measurement,
    coverage_interval,
    judge,
    learn,
    of_range,
)

FIGURES: tuple[Figure, ...] = get_args(Figure)
BASES: tuple[Basis, ...] = get_args(Basis)
#: What stands for every figure that has no entry of its own.
OTHER = "other"
#: What is asked of the intervals.
_LEAST_MEASUREMENTS, _WIDEST = 100, 0.25
#: Outcomes of claims that no prediction could have missed.
_NOT_COUNTED = ("fitted", "exact")


def measurements_of(experiments: Sequence[Experiment]) -> list[Measurement] | None:
    """Return every measurement of all experiments; None when one of them was not tried: what is learned would depend on
    which.
    """
    tried = {found.name for found in experiments if not found.missing}
    if tried != registry.EXPERIMENTS.keys():
        return None
    return [one for found in experiments for one in _of(found)]


def _of(found: Experiment) -> Iterator[Measurement]:
    yield from measurements_of_maps(found)
    columns, rows = report.table(found)
    for row in rows:
        one = measurement(found.title, found.basis, dict(zip(columns, row, strict=True)))
        if one is not None:
            yield one


def measurements_of_maps(found: Experiment) -> Iterator[Measurement]:
    """Yield the pairs of an experiment's maps."""
    for drawn in found.maps:
        if not drawn.is_guess:
            cells = ([report.off(cell) for cell in row] for row in drawn.off_pct)
            yield from of_map(drawn.title, drawn.columns, zip(drawn.labels, cells, strict=True), found.basis)


def measurement(experiment: str, basis: Basis, row: Mapping[str, str]) -> Measurement | None:
    """Return a row of a table of claims as a measurement; None if it is none, or one that a number of the model was
    chosen to meet.
    """
    figure = next((one for one in FIGURES if one == row.get("figure")), None)
    if figure is None or row["verdict"] in _NOT_COUNTED:
        return None
    error = -log1p(float(row["error"].removesuffix(" %")) / 100)
    # results of InnoDB print no range, and no result one over its hardware
    if not row.get("range") or basis == "innodb":
        return Measurement(experiment, basis, figure, error)
    low, high = map(_number, row["range"].split(" .. "))
    return Measurement(experiment, basis, figure, error, *of_range(_number(row["predicted"]), low, high))


def of_map(
    title: str, labels: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], basis: Basis
) -> Iterator[Measurement]:
    """Return the pairs of a heat map, its cells in percent, as measurements of throughput on a *basis*.

    Pairs from one recorded cell share its faults, so each recorded cell is an experiment; without a calibration those
    of a load do. Calibrated pairs that go beyond their recording have a basis of their own.
    """
    for label, cells in rows:
        for asked, cell in zip(labels, cells, strict=True):
            if cell:
                beyond = basis == "calibrated" and _goes_beyond(label, asked)
                error = -log1p(_number(cell) / 100)
                load = title.partition(":")[0]
                experiment = load if basis in ("clients", "counted") else f"{load}, from {label}"
                yield Measurement(experiment, "extrapolated" if beyond else basis, "throughput", error)


def _goes_beyond(recorded: str, asked: str) -> bool:
    """Tell whether a cell has a larger pool than the recorded one, or no cap, so that processors limit it; both as they
    are labelled, and not alike.
    """
    pools = [_number(label.partition(" MiB")[0]) for label in (recorded, asked)]
    return pools[1] > pools[0] or asked.endswith("free")


def _number(text: str) -> float:
    return float(text.replace(",", ""))


@dataclass(frozen=True)
class Held:
    """Which share lay within their intervals, and the ends of its own 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Quality:
    """What intervals are worth: of the measurements together, or of the experiments, each of the same weight."""

    held: Held
    half_width: float
    score: float
    constant_score: float


def quality(judged: Sequence[JudgedMeasurement], *, by_experiment: bool) -> Quality:
    """Return what the intervals of *judged* are worth; half widths are those of the median."""
    groups = list(_by_experiment(judged).values()) if by_experiment else [list(judged)]
    return Quality(
        Held(*coverage_interval(judged, by_experiment=by_experiment)),
        median(median(one.half_width for one in some) for some in groups),
        mean(mean(one.score for one in some) for some in groups),
        mean(mean(one.constant_score for one in some) for some in groups),
    )


def model_error(measurements: Sequence[Measurement]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return for each basis between which multiples of a predicted figure 80 % of the measured ones lie.

    By kind of figure where enough experiments measured it. All kinds together stand for :data:`OTHER` ones, if any of
    these was measured; of what nobody measured nothing is known.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {basis: {} for basis in BASES}
    for basis in BASES:
        measured = {one.figure for one in measurements if one.basis == basis}
        for figure in FIGURES:
            if figure in measured:
                learned = learn(measurements, basis, figure)
                found[basis][learned.figure or OTHER] = _multiples(learned)
    return found


def _multiples(learned: Learned) -> dict[str, Any]:
    return {
        "low": round(exp(-learned.beyond), 3),
        "high": round(exp(learned.beyond), 3),
        "measurements": learned.measurements,
        "experiments": learned.experiments,
    }


def as_toml(measurements: Sequence[Measurement]) -> str:
    """Return :func:`model_error` as the file that is shipped."""
    lines = [
        (
            "# Written by `tiersim validate --model-error FILE`, never by hand: multiples of a predicted figure between"
            " which 80 % of the measured ones lay."
        )
    ]
    for basis, of in model_error(measurements).items():
        for figure, one in of.items():
            lines += ["", f"[{basis}.{figure}]", *(f"{key} = {json.dumps(value)}" for key, value in one.items())]
    return "\n".join(lines) + "\n"


def document(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Return the same as JSON has it."""
    judged = judge(measurements)
    return {
        "coverage": COVERAGE,
        "measurements": len(judged),
        "experiments": len(_by_experiment(judged)),
        "of_measurements": asdict(quality(judged, by_experiment=False)),
        "by_experiment": asdict(quality(judged, by_experiment=True)),
        "model_error": model_error(measurements),
    }


@dataclass(frozen=True)
class SectionTable:
    """A table of the section: what it shows, and how many columns are words."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]
    words: int


def tables(measurements: Sequence[Measurement]) -> list[SectionTable]:
    """Return what is asked of the intervals, what they are worth by kind of figure and by experiment, and what results
    are shown with.
    """
    judged = judge(measurements)
    figures = ("half width", "score", "score of ±20 %")
    return [
        SectionTable(
            f"{_percent(COVERAGE)} intervals of {len(judged)} measured figures",
            ("asked", "found (95 % interval)", ""),
            _targets(judged),
            1,
        ),
        SectionTable(
            "By kind of figure",
            ("of", "experiments", "measurements", "held", "95 % interval", *figures),
            [_summed(name, some) for name, some in _groups(judged)],
            1,
        ),
        SectionTable(
            "What results are shown with",
            ("basis", "figure", "measured over predicted", "measurements", "experiments"),
            _learned(measurements),
            2,
        ),
        SectionTable(
            "By experiment",
            ("experiment", "basis", "measurements", "held", *figures),
            [_of_one(name, some) for name, some in _by_experiment(judged).items()],
            2,
        ),
    ]


_HEAD = f"""## Intervals

Each {100 * COVERAGE:.0f} % interval is learned from the errors of the other experiments ([how](validation.md)). Left out are claims that name no figure in the tables above, and those
that a number was fitted to. *Held* is the share that lay within; half widths are those of the median; the score is the mean interval score, in logs: less is better. What results are
shown with is learned from all experiments: between which multiples of a predicted figure {100 * COVERAGE:.0f} % of the measured ones lay. Where fewer than {LEAST_EXPERIMENTS} experiments
measured a kind of figure, all kinds together stand for it, as *{OTHER}*. The error of a kind that nobody measured is unknown.
"""  # noqa: E501


def section(measurements: Sequence[Measurement]) -> str:
    """Return the section in Markdown."""
    return "\n".join([_HEAD, *(f"{table.title}:\n\n{_markdown(table)}\n" for table in tables(measurements))])


def _groups(judged: Sequence[JudgedMeasurement]) -> Iterator[tuple[str, list[JudgedMeasurement]]]:
    for basis in BASES:
        of_basis = [one for one in judged if one.measurement.basis == basis]
        for figure in FIGURES:
            alike = [one for one in of_basis if one.measurement.figure == figure]
            if alike:
                yield f"{basis}, {figure}", alike
        if of_basis:
            yield f"**{basis}**", of_basis
    yield "**all**", list(judged)


def _by_experiment(judged: Iterable[JudgedMeasurement]) -> dict[str, list[JudgedMeasurement]]:
    found: dict[str, list[JudgedMeasurement]] = {}
    for one in judged:
        found.setdefault(one.measurement.experiment, []).append(one)
    return found


def _summed(name: str, judged: Sequence[JudgedMeasurement]) -> list[str]:
    count, held, *others = _figures(judged)
    experiments = len(_by_experiment(judged))
    _, low, high = coverage_interval(judged, by_experiment=False)
    interval = f"{_percent(low)} .. {_percent(high)}" if experiments > 1 else ""
    return [name, str(experiments), count, held, interval, *others]


def _of_one(name: str, judged: Sequence[JudgedMeasurement]) -> list[str]:
    return [name, judged[0].measurement.basis, *_figures(judged)]


def _figures(judged: Sequence[JudgedMeasurement]) -> list[str]:
    return [
        str(len(judged)),
        _percent(mean(one.held for one in judged)),
        f"±{_percent(median(one.half_width for one in judged), 1)}",
        f"{mean(one.score for one in judged):.2f}",
        f"{mean(one.constant_score for one in judged):.2f}",
    ]


def _targets(judged: Sequence[JudgedMeasurement]) -> list[list[str]]:
    """Return what is asked of the intervals, what was found, and whether it is met."""
    rows = [
        [f"at least {_LEAST_MEASUREMENTS} measurements", str(len(judged)), _met(len(judged) >= _LEAST_MEASUREMENTS)]
    ]
    for words, by_experiment in (("of the measurements", False), ("by experiment, each of the same weight", True)):
        found = quality(judged, by_experiment=by_experiment)
        held = found.held
        rows += [
            [
                f"{_percent(COVERAGE)} held, {words}",
                f"{_percent(held.share, 1)} ({_percent(held.low)} .. {_percent(held.high)})",
                _met(held.low <= COVERAGE <= held.high),
            ],
            [
                f"half width of the median, {words}, at most ±{_percent(_WIDEST)}",
                f"±{_percent(found.half_width, 1)}",
                _met(found.half_width <= _WIDEST),
            ],
            [
                f"interval score, {words}, below that of a constant ±20 %",
                f"{found.score:.3f} against {found.constant_score:.3f}",
                _met(found.score < found.constant_score),
            ],
        ]
    return rows


def _met(is_met: bool) -> str:
    return "met" if is_met else "**missed**"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _learned(measurements: Sequence[Measurement]) -> list[list[str]]:
    return [
        [basis, figure, f"{one['low']:.3f} .. {one['high']:.3f}", str(one["measurements"]), str(one["experiments"])]
        for basis, of in model_error(measurements).items()
        for figure, one in of.items()
    ]


def _markdown(table: SectionTable) -> str:
    ruled = "|".join("---" if place < table.words else "--:" for place in range(len(table.columns)))
    return "\n".join(
        [f"| {' | '.join(table.columns)} |", f"|{ruled}|", *(f"| {' | '.join(row)} |" for row in table.rows)]
    )
