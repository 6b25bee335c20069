"""From a workload's streams to the simulator's statements: who runs what, when, and what it waits for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.synthesis.draws import Draws
from tiersim.scenarios.statements.programs import Program
from tiersim.scenarios.statements.statement_load import COMMIT
from tiersim.scenarios.workloads.demands import Ground, cpu_of, demands_of, pages_of
from tiersim.scenarios.workloads.model import StreamModel, Workload
from tiersim.simulator.database.build import Demand, Statements
from tiersim.simulator.database.database_state import AFTER, CLOCK, OWN, SCAN
from tiersim.units import NS_PER_S

#: A statement has no more demands: rows that it draws are told apart by so many.
MOST_DEMANDS = 256
#: So many statements take a gigabyte; no more can be told apart by what they draw.
_MOST_STATEMENTS, _MOST_PLANNED = 20_000_000, 1 << 31

Column = NDArray[Any]


@dataclass(frozen=True)
class StreamRows:
    """Where the statements of a stream lie among all, and how many clients run them: those that its clients can come
    to.
    """

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
    """Write what the clients of *workload* do until *until_ns*; one of a stream without a count gets *passes*. Raises
    ScenarioError.
    """
    names = list(workload.statements)
    classes = [demands_of(statement, ground) for statement in workload.statements.values()]
    for name, demands in zip(names, classes, strict=True):
        if len(demands) > MOST_DEMANDS:
            raise ScenarioError(
                f"statements.{name}: {len(demands)} rows and other steps are more than the {MOST_DEMANDS} of a"
                " statement; cut it into several, or look rows up together"
            )
    cpu_ns = np.array([ground.on_this_core(cpu_of(one)) for one in workload.statements.values()], np.int64)
    parts: list[dict[str, Column]] = []
    rows: list[StreamRows] = []
    ends: list[int] = []
    planned: list[Column] = []
    before, earlier, phase, transactions, statements = 0, 0, 1, 0, 0
    for name, stream in workload.ordered_streams():
        if stream.phase != phase:
            phase, earlier = stream.phase, len(ends)
        made = 1 if stream.rate is not None else stream.count or passes
        part, clients = _stream(name, stream, names, made, until_ns, earlier, Draws(seed, "workload", name))
        parts.append(part)
        behind = before + len(part["classes"])
        rows.append(StreamRows(name, before, behind, clients))
        length = (behind - before) // clients
        ends += range(before + length, behind + 1, length)
        before = behind
        length = made * stream.pass_statements
        planned.append(np.full(clients, length))
        statements += clients * length
        transactions += clients * made * stream.pass_transactions
        if before > _MOST_STATEMENTS or statements > _MOST_PLANNED:
            raise ScenarioError(
                f"streams.{name}: {statements:,} statements are too many; write a smaller count or a shorter duration"
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
            classes=column["classes"],
            waits_for=column["waits_for"],
            start_ns=column["start_ns"],
            think_ns=column["think_ns"],
            cpu_ns=cpu_ns[column["classes"]],
            begins=column["begins"],
            ends=column["ends"],
            planned=np.concatenate(planned),
        ),
        executed=np.ones(before, np.bool_),
        transactions=transactions,
        length_ns=np.zeros(0, np.int64),
        anew_ns=np.zeros(0, np.int64),
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


def _begun(stream: StreamModel, passes: int, until_ns: int) -> int:
    """Return how many of its *passes* a client may begin, and one that it does not: it thinks before each, and begins
    none at *until_ns* or later.

    Passes that are drawn are all there: they are drawn together.
    """
    if stream.think == 0 or stream.mix is not None or stream.order == "shuffled":
        return passes
    return min(passes, -(-until_ns // stream.think) + 1)


def _stream(
    name: str, stream: StreamModel, names: Sequence[str], passes: int, until_ns: int, earlier: int, draws: Draws
) -> tuple[dict[str, Column], int]:
    """Return the statements of a stream each of whose clients makes *passes* until then, and how many clients these
    are.

    Sessions *earlier* than its phase are so many.
    """
    clients, each, arrival_ns = stream.clients or 1, _begun(stream, passes, until_ns), np.zeros(0, np.int64)
    if stream.rate is not None:
        arrival_ns = _arrivals(stream.rate, until_ns, draws)
        clients = len(arrival_ns)
        if not clients:
            raise ScenarioError(f"streams.{name}.rate: nothing arrives in the duration; write a higher rate")
    total, length = clients * each, stream.pass_statements
    own = np.array([names.index(one) for one in stream.names], np.int32)
    if stream.mix is not None:
        shares = np.cumsum(list(stream.mix.values()))
        chosen = np.searchsorted(shares / shares[-1], draws.uniform(total, "mix"), "right")
        classes = own[np.minimum(chosen, len(own) - 1)]
    elif stream.order == "shuffled":
        order = np.argsort(draws.uniform(total * len(own), "order").reshape(total, -1), axis=1, kind="stable")
        classes = own[order].ravel()
    else:
        classes = np.tile(own, total)
    rows = total * length
    begins, ends = np.ones(rows, np.uint8), np.ones(rows, np.uint8)
    first = np.arange(0, rows, length)
    if stream.transaction:
        begins[:], ends[:] = 0, 0
        begins[first], ends[first + length - 1] = 1, 1
    waits_for, starts, think_ns = np.full(rows, OWN, np.uint8), np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    first_of_client = first[::each]
    think_ns[first] = stream.think
    think_ns[first_of_client] = 0
    if stream.rate is not None:
        # the verdict on load looks at when each transaction is due: all of a pass when it comes
        waits_for[first], starts = CLOCK, np.repeat(arrival_ns, length)
    elif stream.phase > 1:
        waits_for[first_of_client], starts[first_of_client] = AFTER, earlier
    part: dict[str, Column] = {
        "classes": classes,
        "waits_for": waits_for,
        "start_ns": starts,
        "think_ns": think_ns,
        "begins": begins,
        "ends": ends,
    }
    return part, clients


def _arrivals(rate: float, until_ns: int, draws: Draws) -> Column:
    """Return when passes come before *until_ns*, as a Poisson process."""
    expected = rate * until_ns / NS_PER_S
    count = math.ceil(expected + 10 * math.sqrt(expected) + 10)
    gaps_ns = -np.log(draws.uniform(count, "arrivals")) * NS_PER_S / rate
    start_ns: Column = np.rint(np.cumsum(gaps_ns)).astype(np.int64)
    return start_ns[start_ns < until_ns]
