"""What a class of statements costs the processors, by least squares: CPU = a + b × logical reads + c × physical reads.

None of the three is below 0. What the recording cannot tell apart is said: pages of which each statement touches the
same number cost what the statement costs, and a class that misses no page says nothing about reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import TraceError
from tiersim.traces.differences import steps
from tiersim.traces.schema import NOT_KNOWN
from tiersim.traces.statistics import Values, read_queries, read_snapshots, read_statements
from tiersim.units import NS_PER_MS

#: The coefficients, in order; where two cannot be told apart, the earlier one holds what both cost.
NAMES = ("statement", "physical read", "logical read")
#: Columns that are a combination of others but for so little are the same: counters are whole numbers.
_SAME = 1e-9


@dataclass(frozen=True)
class Observed:
    """One class: rows are single statements, or sums over the calls in an interval."""

    calls: NDArray[np.float64]
    physical: NDArray[np.float64]  # pages
    logical: NDArray[np.float64]  # pages, in the pool or not
    cpu_ns: NDArray[np.float64]

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.calls)


@dataclass(frozen=True)
class Coefficient:
    """CPU in ns of one statement, one physical or one logical read.

    ``ns`` is None where the rows do not say: nothing of it happened, or an earlier coefficient holds it. ``error_ns``
    is the standard error, None where it is not known: as many coefficients as rows, or a value at its bound of 0.
    """

    ns: float | None
    error_ns: float | None
    identified: bool  # apart from the others


@dataclass(frozen=True)
class ProcessorFit:
    """What was found of a class of statements."""

    coefficients: Mapping[str, Coefficient]  # by NAMES
    mean_ns: float  # CPU of a call, measured
    residual_ns: float  # root mean square of what the law leaves, of a call
    rows: int
    said: tuple[str, ...]  # what could not be told, a sentence each

    def cpu_ns(self, physical: float, logical: float) -> float:
        """Return the CPU of a statement that reads so many pages."""
        each = (1.0, physical, logical)
        return sum((self.coefficients[name].ns or 0.0) * count for name, count in zip(NAMES, each, strict=True))


def fit_processor(observed: Observed) -> ProcessorFit:
    """Fit the law to the rows of one class; raises TraceError when there is none.

    A sum over n calls varies as n single ones do, so each row weighs as its calls' inverse square root.
    """
    if not len(observed):
        raise TraceError("no statement has a measured CPU time; record it with Profiler or pg_stat_kcache")
    weight = 1 / np.sqrt(observed.calls)
    columns = np.stack([observed.calls, observed.physical, observed.logical], axis=1) * weight[:, None]
    cpu = observed.cpu_ns * weight
    kept, said = _independent(columns)
    entangled = _entangled(columns)
    values = np.zeros(len(NAMES))
    values[kept] = _non_negative(columns[:, kept], cpu)
    left = cpu - columns @ values
    used = [place for place in kept if values[place] > 0]
    errors = _errors(columns[:, used], float(left @ left))
    coefficients: dict[str, Coefficient] = {}
    for place, name in enumerate(NAMES):
        error = errors[used.index(place)] if errors is not None and place in used else None
        value = float(values[place]) if place in kept else None
        coefficients[name] = Coefficient(value, error, place in kept and place not in entangled)
        if value is not None and error is not None and error > value / 2:
            said.append(f"CPU of a {name}: {value:,.0f} ns, uncertain: standard error {error:,.0f} ns")
        if value == 0 and place not in entangled:
            said.append(f"CPU of a {name}: 0 ns, the bound of the fit and no measurement")
    calls = float(observed.calls.sum())
    residual = float(np.sqrt(left @ left / len(observed)))
    return ProcessorFit(coefficients, float(observed.cpu_ns.sum()) / calls, residual, len(observed), tuple(said))


def _scaled(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.sqrt((columns**2).sum(axis=0))
    return columns / np.where(length > 0, length, 1)


def _independent(columns: NDArray[np.float64]) -> tuple[list[int], list[str]]:
    """Return the columns that are no combination of earlier ones, and what is to be said of the others."""
    scaled = _scaled(columns)
    kept: list[int] = []
    said: list[str] = []
    for place, name in enumerate(NAMES):
        column = scaled[:, place]
        if not column.any():
            said.append(f"CPU of a {name}: unknown, since none was counted")
            continue
        earlier = scaled[:, kept]
        rest = column - earlier @ np.linalg.lstsq(earlier, column, rcond=None)[0] if kept else column
        if float(rest @ rest) > _SAME**2:
            kept.append(place)
        else:
            held = " and ".join(f"a {NAMES[other]}" for other in kept)
            said.append(f"CPU of a {name}: included in that of {held}, since both always occur together")
    return kept, said


def _entangled(columns: NDArray[np.float64]) -> set[int]:
    """Return the columns that take part in a combination that is zero."""
    there = [place for place in range(columns.shape[1]) if columns[:, place].any()]
    _, sizes, directions = np.linalg.svd(_scaled(columns)[:, there])
    sizes = np.concatenate([sizes, np.zeros(len(there) - len(sizes))])
    null = directions[sizes < _SAME * max(sizes.max(), 1)]
    return {place for at, place in enumerate(there) if (np.abs(null[:, at]) > _SAME**0.5).any()}


def _non_negative(columns: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least squares of *columns* @ x = *wanted* with no x below 0.

    The solution is the plain one of the columns where it is above 0; of these few, all choices are tried.
    """
    length = np.sqrt((columns**2).sum(axis=0))
    best, least = np.zeros(columns.shape[1]), float(wanted @ wanted)
    for size in range(1, columns.shape[1] + 1):
        for choice in combinations(range(columns.shape[1]), size):
            chosen = list(choice)
            found = np.linalg.lstsq(columns[:, chosen] / length[chosen], wanted, rcond=None)[0]
            left = wanted - columns[:, chosen] @ (found / length[chosen])
            if (found > 0).all() and float(left @ left) < least:
                best, least = np.zeros(columns.shape[1]), float(left @ left)
                best[chosen] = found / length[chosen]
    return best


def _errors(columns: NDArray[np.float64], squares: float) -> list[float] | None:
    """Return the standard errors of plain least squares; None where the rows are not more than the coefficients."""
    rows, count = columns.shape
    if rows <= count or not count:
        return None
    length = np.sqrt((columns**2).sum(axis=0))
    scaled = columns / length
    spread = np.linalg.inv(scaled.T @ scaled) * squares / (rows - count)
    return [float(error) for error in np.sqrt(np.diag(spread)) / length]


def recorded_processor_time(path: Path) -> dict[str, Observed]:
    """Return the rows of each query (its fingerprint) of the bundle at *path* whose CPU was measured.

    Single statements where they were recorded with their CPU, else intervals between snapshots (user and system time).
    """
    return _statements(path) or _intervals(path)


def _statements(path: Path) -> dict[str, Observed]:
    table = read_statements(path)
    needed = {name: table.columns[name] for name in ("physical_reads", "logical_reads", "cpu_ns")}
    known = table.columns["query"] >= 0
    for column in needed.values():
        known &= column != NOT_KNOWN
    found: dict[str, Observed] = {}
    for code in np.unique(table.columns["query"][known]).tolist():
        rows = known & (table.columns["query"] == code)
        physical, logical, cpu = (column[rows].astype(np.float64) for column in needed.values())
        found[table.words["query"][code]] = Observed(np.ones(len(cpu)), physical, logical, cpu)
    return found


def _intervals(path: Path) -> dict[str, Observed]:
    queries = read_queries(path)
    prints = dict(zip(queries.texts("entity"), queries.texts("query"), strict=True))
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for step in steps(read_snapshots(path)):
        if step.subject != "query" or step.then is None:
            continue
        for entity, grown in step.grown.items():
            name = prints.get(entity)
            row = _interval(grown)
            if name is not None and row is not None:
                rows.setdefault(name, []).append(row)
    return {name: Observed(*np.array(found, np.float64).T) for name, found in rows.items()}


def _interval(grown: Values) -> tuple[float, float, float, float] | None:
    """Return calls, physical and logical reads and CPU of an interval; None where one was not counted, or there was no
    call.
    """
    cpu = [grown[name] for name in ("cpu_user_ms", "cpu_system_ms") if name in grown]
    if not cpu or not {"calls", "pages_read", "pages_hit"} <= grown.keys() or not grown["calls"]:
        return None
    physical = float(grown["pages_read"])
    return float(grown["calls"]), physical, physical + float(grown["pages_hit"]), sum(map(float, cpu)) * NS_PER_MS
