"""TPC-B for half an hour on a real PostgreSQL whose table is larger than its pool and than its memory, with a
checkpoint every 5 minutes: three repeats with a capped device, predicted from 330 s without a cap.

What a prediction sees is what that of :mod:`~tiersim.scenarios.validation.big_tables` sees; how long clients go on is
asked (``replay.duration``). ``benchmarks/real_postgres`` (``long.toml``) measures.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from tiersim.scenarios.statements.course import poisson_interval
from tiersim.scenarios.validation.big_tables import PAGES_PCT, STOPPED, claims_of, results_from, tail_of
from tiersim.scenarios.validation.claims import Claim, Experiment
from tiersim.scenarios.validation.matrix_cells import Cell, cells_of, repeats_of
from tiersim.simulator.result import Result
from tiersim.traces.samples import half_hour

#: Pages that somebody writes may be off by so much of all that are written, where that is more.
_OF_ALL = 0.02
#: Who writes pages, in a result and in pg_stat_io; VACUUM writes by a ring of its own, which is no session's.
_WRITERS = {
    "sessions": "client backend/relation/normal.writes",
    "background_writer": "background writer/relation/normal.writes",
    "checkpoints": "checkpointer/relation/normal.writes",
}


def experiment() -> Experiment:
    """How far off throughput, latency, writes and stalls are."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        half_hour(Path(name))
        (source,), targets = _apart(cells_of(Path(name)))
        asked = f"replay.duration={targets[0].run_s:.0f} s"
        claims = [
            claim
            for target, result in results_from(source, targets, asked)
            for claim in (*claims_of(source, target, result), *_more(target, result))
        ]
    return Experiment(
        "half-hour",
        "PostgreSQL 18, half an hour of TPC-B on a table larger than memory, from five minutes on a faster device",
        "our own runs of pgbench (benchmarks/real_postgres): 6 million rows, 768 MiB, a pool of 256 and some 250 MiB of"
        " page cache, a cap of 1,000 reads and 1,000 writes/s, a checkpoint every 5 minutes, 1,800 s three times, 8"
        " clients on 2 cores",
        "the recorded cell: popularity to its misses, CPU to what its processors did; no rule was changed after"
        " these runs were seen",
        tuple(claims),
        basis="calibrated",
    )


def _apart(cells: Sequence[Cell]) -> tuple[list[Cell], list[Cell]]:
    """Return the cells without a cap, and those with one."""
    return [cell for cell in cells if cell.iops is None], [cell for cell in cells if cell.iops is not None]


def _more(target: Cell, result: Result) -> Iterator[Claim]:
    """Compare what half an hour tells besides: who writes pages, the tail of commits, stalls."""
    summary, repeats = result.summary, repeats_of(target)
    done = summary["replay"]["transactions_done"]
    measured = {who: mean(_each(one, view) for one in repeats) for who, view in _WRITERS.items()}
    least = _OF_ALL * sum(measured.values())
    for who, pages in measured.items():
        apart = max(PAGES_PCT / 100 * pages, least)
        name = f"pages a transaction that {who.replace('background_', 'the background ')} wrote"
        found = summary["pages_written"][who] / done
        yield Claim(name, "pages", pages, found, 0, within=(pages - apart, pages + apart))
    tail_ms = mean(one["commits"]["quantiles_ms"]["0.99"] for one in repeats)
    yield tail_of("commits", tail_ms, summary["latency_ns"]["commit"]["p99"])
    stalls = sum(one["stalls"]["count"] for one in repeats)
    low, high = (end / len(repeats) for end in poisson_interval(stalls))
    count = summary["stalls"]["count"]
    yield Claim("stalls longer than 1 s", "", stalls / len(repeats), count, 0, within=(low, high), note=STOPPED)


def _each(repeat: Mapping[str, Any], view: str) -> float:
    return float(repeat["counted"].get(view, 0.0)) / float(repeat["transactions"])
