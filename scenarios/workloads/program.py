"""From a workload's streams to the simulator's statements: who runs what, when, and what it waits for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.programs import COMMIT, Program
from tiersim.scenarios.workloads.demands import Ground, cpu_of, demands_of, pages_of
from tiersim.scenarios.workloads.model import StreamModel, Workload
from tiersim.simulator.database.build import Demand, Statements
from tiersim.simulator.database.tables import AFTER, CLOCK, OWN, SCAN
from tiersim.units import NS_PER_S

#: A statement has no more demands: rows that it draws are told apart by so many.
MOST_DEMANDS = 256
#: So many statements take a gigabyte.
_MOST_STATEMENTS = 20_000_000

Column = NDArray[np.int64]


@dataclass(frozen=True)
class StreamRows:
    """Where the statements of a stream lie among all, and how many clients run them."""

    name: str
    first: int
    behind: int
    clients: int


@dataclass(frozen=True)
class Laid:
    """A workload's program; ``bulk_pages`` are those that a statement of each class scans or copies."""

    program: Program
    streams: tuple[StreamRows, ...]
    bulk_pages: tuple[int, ...]
    helpers: int  # that share scans


def lay_out(workload: Workload, ground: Ground, passes: int, until_ns: int, seed: int) -> Laid:
    """Write what the clients of *workload* do until *until_ns*; one of a stream without a count gets *passes*. Raises ScenarioError."""
    names = list(workload.statements)
    classes = [demands_of(statement, ground) for statement in workload.statements.values()]
    for name, demands in zip(names, classes, strict=True):
        if len(demands) > MOST_DEMANDS:
            raise ScenarioError(
                f"statements.{name}: {len(demands)} rows and other steps are more than the {MOST_DEMANDS} of a statement; "
                "cut it into several, or look rows up together"
            )
    cpu_ns = np.array([ground.on_this_core(cpu_of(one)) for one in workload.statements.values()], np.int64)
    parts: list[dict[str, Column]] = []
    rows: list[StreamRows] = []
    ends: list[int] = []
    before, earlier, phase = 0, 0, 1
    for name, stream in workload.ordered_streams():
        if stream.phase != phase:
            phase, earlier = stream.phase, len(ends)
        part, lengths = _stream(name, stream, names, passes, until_ns, earlier, Draws(seed, "workload", name))
        parts.append(part)
        behind = before + len(part["classes"])
        rows.append(StreamRows(name, before, behind, len(lengths)))
        ends += (before + np.cumsum(lengths)).tolist()
        before = behind
        if before > _MOST_STATEMENTS:
            raise ScenarioError(
                f"streams.{name}: {before:,} statements are too many; write a smaller count or a shorter duration"
            )
    column = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    asked = [[pages_of(demand, ground.built) for demand in demands] for demands in classes]
    program = Program(
        classes=tuple(tuple(demands) for demands in classes),
        category=tuple(range(len(classes))),
        names=(*names, COMMIT),
        pages=tuple(sum(pool for pool, _ in one) for one in asked),
        other_pages=(0.0,) * len(classes),
        statements=Statements(
            session_ends=ends,
            classes=column["classes"].astype(np.int32),
            waits_for=column["waits_for"].astype(np.uint8),
            start_ns=column["start_ns"],
            think_ns=column["think_ns"],
            cpu_ns=cpu_ns[column["classes"]],
            begins=column["begins"].astype(np.uint8),
            ends=column["ends"].astype(np.uint8),
        ),
        executed=np.ones(before, np.bool_),
        length_ns=np.zeros(int(column["ends"].sum()), np.int64),
    )
    helpers = max(_helpers(workload, classes, phase) for phase in range(1, phase + 1))
    return Laid(program, tuple(rows), tuple(sum(bulk for _, bulk in one) for one in asked), helpers)


def _helpers(workload: Workload, classes: Sequence[Sequence[Demand]], phase: int) -> int:
    """Return how many sessions share scans with the clients of a phase, so that each scan has its degree."""
    degrees = [max((one.degree for one in demands if one.kind == SCAN), default=1) for demands in classes]
    degree = dict(zip(workload.statements, degrees, strict=True))
    return sum(
        (stream.clients or 1) * max(degree[name] - 1 for name in stream.names)
        for stream in workload.streams.values()
        if stream.phase == phase
    )


def _stream(
    name: str, stream: StreamModel, names: Sequence[str], passes: int, until_ns: int, earlier: int, draws: Draws
) -> tuple[dict[str, Column], Column]:
    """Return the statements of a stream, and how many each of its clients runs; sessions *earlier* than its phase are so many."""
    clients, each, arrival_ns = stream.clients or 1, stream.count or passes, np.zeros(0, np.int64)
    if stream.rate is not None:
        arrival_ns = _arrivals(stream.rate, until_ns, draws)
        clients, each = len(arrival_ns), 1
        if not clients:
            raise ScenarioError(f"streams.{name}.rate: nothing arrives in the duration; write a higher rate")
    total = clients * each
    own = np.array([names.index(one) for one in stream.names])
    if stream.mix is not None:
        shares = np.cumsum(list(stream.mix.values()))
        chosen = np.searchsorted(shares / shares[-1], draws.uniform(total, "mix"), "right")
        classes, length = own[np.minimum(chosen, len(own) - 1)], 1
    elif stream.order == "shuffled":
        order = np.argsort(draws.uniform(total * len(own), "order").reshape(total, -1), axis=1, kind="stable")
        classes, length = own[order].ravel(), len(own)
    else:
        classes, length = np.tile(own, total), len(own)
    rows = total * length
    begins, ends = np.ones(rows, np.int64), np.ones(rows, np.int64)
    first = np.arange(0, rows, length)
    if stream.transaction:
        begins[:], ends[:] = 0, 0
        begins[first], ends[first + length - 1] = 1, 1
    waits_for, starts, think_ns = np.full(rows, OWN), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    first_of_client = first[::each]
    think_ns[first] = stream.think
    think_ns[first_of_client] = 0
    if stream.rate is not None:
        waits_for[first], starts[first] = CLOCK, arrival_ns
    elif stream.phase > 1:
        waits_for[first_of_client], starts[first_of_client] = AFTER, earlier
    part = {"classes": classes.astype(np.int64), "waits_for": waits_for, "start_ns": starts, "think_ns": think_ns,
            "begins": begins, "ends": ends}  # fmt: skip
    return part, np.full(clients, each * length)


def _arrivals(rate: float, until_ns: int, draws: Draws) -> Column:
    """Return when passes come before *until_ns*, as a Poisson process."""
    expected = rate * until_ns / NS_PER_S
    count = math.ceil(expected + 10 * math.sqrt(expected) + 10)
    gaps_ns = -np.log(draws.uniform(count, "arrivals")) * NS_PER_S / rate
    start_ns: Column = np.rint(np.cumsum(gaps_ns)).astype(np.int64)
    return start_ns[start_ns < until_ns]
