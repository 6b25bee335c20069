"""What is predicted of a cell from another, and how far off that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from tiersim.scenarios.caveats import multiples_of
from tiersim.scenarios.validation.cell_figures import SLOW_MS
from tiersim.scenarios.validation.matrix_cells import Cell, kind_of, pools_of, scaled_by_cap
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_MS

#: Pairs are compared that differ by more; a prediction is far off beyond; shares of slow transactions that are further
#: apart are so, too.
DIFFERENT, FAR, SLOW_APART = 0.15, 0.25, 0.03
#: So few misses a transaction are none.
_NO_MISSES = 1e-4


@dataclass(frozen=True)
class Predicted:
    """What a result says of a cell: transactions a second and between what they lie, ms, the share of slow ones, and
    pages missed a transaction.
    """

    tps: float
    tps_low: float
    tps_high: float
    mean_ms: float
    p95_ms: float
    slow: float
    misses: float
    read_ns: int  # CPU
    calibrated: bool
    underdetermined: bool
    reasons: Sequence[str]  # why it is not calibrated
    basis: str  # of the stated error of the models: calibrated, extrapolated or assumed

    @classmethod
    def of(cls, result: Result) -> Self:
        """Take them from a result."""
        summary = result.summary
        transaction = summary["latency_ns"]["transaction"]
        read = sum(query["count"] * query["physical_reads_per_call"] for query in summary["queries"].values())
        tps = summary["throughput_per_s"]["transactions"]["value"]
        return cls(
            tps,
            *_interval(result, tps),
            (transaction["mean"]["value"] or 0) / NS_PER_MS,
            (transaction["p95"]["value"] or 0) / NS_PER_MS,
            _slow_share(result),
            read / max(transaction["count"], 1),
            summary["host"]["costs_ns"]["read_ns"],
            summary["verdict"]["calibration"] == "calibrated",
            (summary.get("range") or {}).get("verdict") == "underdetermined",
            tuple(summary["calibration"]["reasons"]),
            summary["model_error"]["basis"],
        )


def _interval(result: Result, tps: float) -> tuple[float, float]:
    """Return between what a result says that transactions/s lie: by the error of the models alone where nothing was
    drawn of what the recording leaves open; nothing but what is predicted where that error is unknown.
    """
    found = result.summary.get("range")
    if found is not None:
        return found["transactions_per_s"]["low"], found["transactions_per_s"]["high"]
    low, high = multiples_of(result.summary["model_error"], "throughput") or (1.0, 1.0)
    return tps * low, tps * high


def _slow_share(result: Result) -> float:
    table = result.latency.to_pydict()
    own = [place for place, name in enumerate(table["class"]) if name == "transaction"]
    slow = sum(table["count"][place] for place in own if table["low_ns"][place] >= SLOW_MS * NS_PER_MS)
    return float(slow / max(sum(table["count"][place] for place in own), 1))


@dataclass(frozen=True)
class Pair:
    """How far a prediction and two guesses are off, as shares of what was measured; *pools* says how the target's
    compares with the source's.
    """

    load: str
    source: str
    kinds: str
    pools: str
    error: float
    spread: float  # of the target's repeats
    source_spread: float  # of the source's, of which a prediction sees one
    unchanged: float
    scaled: float
    misses: float
    mean: float
    p95: float
    slow: float  # apart, in shares of all transactions
    low: float  # ends of the interval that a result states, as shares of what was measured
    high: float
    underdetermined: bool
    calibrated: bool
    basis: str  # of the stated error of the models

    @property
    def held(self) -> bool:
        """Tell whether what was measured is within the interval."""
        return self.low <= 1 <= self.high

    @property
    def factor(self) -> float:
        """How many times the lower end the upper one is."""
        return self.high / self.low

    @property
    def tail_is_near(self) -> bool:
        """Tell whether the 95th percentile is near what was measured, or the share of slow ones, between which it may
        jump.
        """
        return abs(self.p95) <= FAR or abs(self.slow) <= SLOW_APART


def pairs_of(cells: Sequence[Cell], predicted: Mapping[tuple[str, str], Predicted]) -> list[Pair]:
    """Return the pairs that differ enough in what was measured."""
    by_name = {cell.name: cell for cell in cells}
    found = [(by_name[source], by_name[target], said) for (source, target), said in predicted.items()]
    return [
        _pair(source, target, said, f"{kind_of(source, cells)} to {kind_of(target, cells)}")
        for source, target, said in found
        if abs(target.figures["tps"] / source.figures["tps"] - 1) > DIFFERENT
    ]


def _pair(source: Cell, target: Cell, said: Predicted, kinds: str) -> Pair:
    known = target.figures
    return Pair(
        load=source.load,
        source=source.name,
        kinds=kinds,
        pools=pools_of(source, target),
        error=said.tps / known["tps"] - 1,
        spread=known["spread"],
        unchanged=source.figures["tps"] / known["tps"] - 1,
        scaled=scaled_by_cap(source, target) / known["tps"] - 1,
        misses=said.misses / known["misses"] - 1 if known["misses"] > _NO_MISSES else 0.0,
        mean=said.mean_ms / known["mean_ms"] - 1,
        p95=said.p95_ms / known["p95_ms"] - 1,
        slow=said.slow - known["slow"],
        low=said.tps_low / known["tps"],
        high=said.tps_high / known["tps"],
        underdetermined=said.underdetermined,
        calibrated=said.calibrated,
        basis=said.basis,
        source_spread=source.figures["spread"],
    )
