"""Runs of a described workload, from its file to results."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.devices.station_records import RESOURCES
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.replay import INTERVALS
from tiersim.scenarios.statements.assembly import Assembled
from tiersim.scenarios.statements.result import summarise_statements
from tiersim.scenarios.statements.warm_pools import WarmPools
from tiersim.scenarios.workloads.assembly import Described, assemble
from tiersim.scenarios.workloads.model import read_workload
from tiersim.scenarios.workloads.program import Laid
from tiersim.simulator.categories import FIRST_CLASS
from tiersim.simulator.compiled import engine
from tiersim.simulator.database.database_state import CLOCK, UNTIL
from tiersim.simulator.metrics import new_metrics
from tiersim.simulator.result import Result
from tiersim.units import NS_PER_S

#: Passes that each client of a stream without a count begins with; eight times as many follow until the duration is
#: filled. A number that would fill less than this part of it, at the rate so far, is not tried; not two one after the
#: other, as the rate may fall.
_FIRST_PASSES, _MORE, _HOPELESS = 256, 8, 0.5
#: The timeline of a run whose length nobody knows is laid out for so long, and anew when less than this part of it was
#: needed, or more than all.
_GUESSED_NS = 600 * NS_PER_S
_ENOUGH = 0.1

Progress = Callable[[int, int], None]


class _RanOut(Exception):
    """A client that should go on until the end has nothing left to do: what follows is of no use."""


def load_workload(path: Path) -> Described:
    """Read the workload at *path*; raises ScenarioError."""
    model = read_workload(path)
    return Described(path, model, hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest())


def run_workload_all(
    described: Described, scenarios: Sequence[NamedScenario], progress: Progress | None = None
) -> list[Result]:
    """Run a workload on every scenario, one after the other; *progress* is called with the statements that have ended,
    and how many there are.
    """
    pools = WarmPools()
    return [run_workload(described, scenario, progress, pools) for scenario in scenarios]


def run_workload(
    described: Described, scenario: NamedScenario, progress: Progress | None = None, pools: WarmPools | None = None
) -> Result:
    """Run a workload on a scenario (``docs/workloads.md``); raises ScenarioError where they do not fit each other.

    *pools* were filled by runs before this one, and have those that it fills.
    """
    pools = WarmPools() if pools is None else pools
    duration_ns = described.model.workload.duration
    passes, span_ns = _FIRST_PASSES, duration_ns or _GUESSED_NS
    while True:
        assembled, laid = assemble(described, scenario, passes, span_ns, pools)
        statements = len(assembled.program.statements.classes)

        def note(ended: int, total: int = statements, tried: Assembled = assembled, rows: Laid = laid) -> None:
            if progress is not None:
                progress(ended, total)
            if duration_ns is not None and _ran_out_ns(described, tried, rows) is not None:
                raise _RanOut

        interval_ns = max(-(-assembled.timeline_ns // INTERVALS), 1)
        columns = FIRST_CLASS + len(assembled.program.names)
        warmup_ns = scenario.model.replay.warmup
        stations = len(assembled.builder.stations)
        metrics = new_metrics(columns, stations, RESOURCES, INTERVALS + 1, interval_ns, counted_from_ns=warmup_ns)
        try:
            plant, outcome = engine.run_database(assembled.plant, assembled.database, metrics, progress=note)
        except _RanOut:
            out_ns, until_ns = _ran_out_ns(described, assembled, laid), int(assembled.database.counted_ns[UNTIL])
            assert out_ns is not None
            times = _MORE
            while times < _MORE**2 and times * out_ns < _HOPELESS * until_ns:
                times *= _MORE
            passes *= times
            continue
        if duration_ns is not None:
            break
        if _ENOUGH * span_ns <= outcome.end_ns <= span_ns:
            assembled = replace(assembled, span_ns=outcome.end_ns)
            break
        span_ns = max(outcome.end_ns, 1)
    trace = _trace(described, assembled)
    result = summarise_statements(scenario, assembled, plant, metrics, outcome, trace)
    summary = {**result.summary, "streams": _streams(described, assembled, laid)}
    summary["queries"] = {
        name: {**found, **_took(assembled, laid, name, found)} for name, found in summary["queries"].items()
    }
    return replace(result, summary=summary)


def _ran_out_ns(described: Described, assembled: Assembled, laid: Laid) -> int | None:
    """Return when the first client that should go on until the end had nothing left to do; None if all had."""
    done_ns, until_ns = assembled.database.done_ns, int(assembled.database.counted_ns[UNTIL])
    found = None
    for rows in laid.streams:
        stream = described.model.streams[rows.name]
        if stream.count is None and stream.rate is None:
            last = done_ns[rows.first : rows.behind].reshape(rows.clients, -1)[:, -1]
            out = last[(last > 0) & (last < until_ns)]
            if out.size:
                found = min(int(out.min()), until_ns if found is None else found)
    return found


def _trace(described: Described, assembled: Assembled) -> dict[str, Any]:
    done = assembled.database.done_ns > 0
    return {
        "name": described.path.stem,
        "description": described.model.workload.description,
        "hash": described.hash,
        "requests": 0,
        "statements": int(done.sum()),
        "transactions": int((done & (assembled.program.statements.ends == 1)).sum()),
        "span_ns": assembled.span_ns,
        "source_format": "workload",
        "inferred": [],
        "warnings": [],
        "checkpoints": [],
    }


def _streams(described: Described, assembled: Assembled, laid: Laid) -> dict[str, Any]:
    """Return of each stream when it began and was over, and how much it did; ``geometric_mean_ns`` is of its
    statements' means, as TPC-H has it.
    """
    statements, done_ns = assembled.program.statements, assembled.database.done_ns
    found: dict[str, Any] = {}
    over_ns = {0: 0}  # by phase
    for rows in laid.streams:
        own = done_ns[rows.first : rows.behind]
        done = own > 0
        phase = described.model.streams[rows.name].phase
        start_ns = max((end for earlier, end in over_ns.items() if earlier < phase), default=0)
        end_ns = int(own.max(initial=0))
        over_ns[phase] = max(over_ns.get(phase, 0), end_ns)
        elapsed_ns = end_ns - start_ns
        ended = int((done & (statements.ends[rows.first : rows.behind] == 1)).sum())
        found[rows.name] = {
            "clients": rows.clients,
            "start_ns": start_ns,
            "end_ns": end_ns,
            "elapsed_ns": elapsed_ns,
            "statements": int(done.sum()),
            "transactions": ended,
            "transactions_per_s": ended * NS_PER_S / elapsed_ns if elapsed_ns > 0 else None,
            "geometric_mean_ns": _geometric_mean_ns(assembled, rows.first, rows.behind, rows.clients, start_ns),
        }
    return found


def _geometric_mean_ns(assembled: Assembled, first: int, behind: int, clients: int, start_ns: int) -> float | None:
    """Return the geometric mean of the times from the end of a client's statement to the next; None where the clock or
    thinking is in between.
    """
    statements, done_ns = assembled.program.statements, assembled.database.done_ns[first:behind]
    by_clock = (statements.waits_for[first:behind] == CLOCK).any()
    if by_clock or statements.think_ns[first:behind].any() or not (done_ns > 0).all():
        return None
    took = np.diff(done_ns.reshape(clients, -1), axis=1, prepend=start_ns)
    return float(np.exp(np.log(np.maximum(took, 1)).mean()))


def _took(assembled: Assembled, laid: Laid, name: str, found: dict[str, Any]) -> dict[str, Any]:
    """Return how long a statement took on average, of however few, and what it scans or copies, and how fast; None of
    one that does neither.
    """
    place = assembled.program.names.index(name)
    took_ns = float(assembled.database.spent[place].sum()) / max(found["count"], 1)
    moved = laid.bulk_pages[place] * assembled.settings.page_bytes
    return {
        "took_ns": took_ns,
        "bulk_bytes_per_call": moved or None,
        "bulk_mb_per_s": moved * 1e3 / took_ns if moved and took_ns else None,
    }
