"""Why a run of statements has other errors than results like it: clients wait for something that the recording does not
tell apart, or statements read other pages than the fitted tables miss.

What no access distribution covers is taken to be in the pool: TOAST, scans, indexes beside the one that rows are looked
up through, tables whose rows nobody counted. Where these were read, a run reads too few pages, and its storage looks
too fast. InnoDB does not count what its scans read ahead as missed.
"""

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np

from tiersim.scenarios.calibration.synthesis.counted import FASTEST_CHANGE
from tiersim.scenarios.caveats import (
    ARRIVALS,
    CLIENTS,
    COMMITS,
    FLUSHES,
    INNODB,
    OTHER_READS,
    PARALLEL,
    PAUSES,
    WAITS,
    model_error_of,
    multiples_of,
)
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.model import ReplayModel
from tiersim.scenarios.statements.assembly import Assembled
from tiersim.scenarios.statements.programs import Program
from tiersim.scenarios.statements.schedule import by_the_clock
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.database_state import FOR_EVICTION, FOR_LOCK, FOR_LOG, FOR_READ, FOR_TEMP
from tiersim.traces.counters import INNODB_ENGINES
from tiersim.traces.differences import EntityChange
from tiersim.units import NS_PER_S

#: Sessions mostly wait for what takes such a share of their time.
_MOSTLY = 0.5
#: Of the CPU that was recorded: of changes that may have waited for the log in it.
_UNSEEN = 0.1
#: Another number of pages that differs by this share, twice what a calibration allows, by fewer pages a statement, or
#: by so many standard deviations of its count, makes no difference. Of 50 recordings of lookups, updates and TPC-B the
#: fit is 2.2 % off at most.
_OFF, _NO_PAGES, _CHANCE = 0.1, 0.001, 3.0
#: What reads most of what is left out is named, by so many.
_NAMED = 3


def error_of(
    scenario: NamedScenario,
    assembled: Assembled,
    reads: str | None,
    transactions_per_s: float,
    counted_ns: int,
    *,
    keeps_rate: bool,
) -> str | None:
    """Return why a result has other errors than results like it, a word of :mod:`tiersim.scenarios.caveats`; None where
    it has none.

    *reads* is what :func:`other_reads` says of its load, *counted_ns* the time that is counted, *keeps_rate* whether
    transactions come by the clock.
    """
    load, program = assembled.load, assembled.program
    comes_by_the_clock = keeps_rate and (load.synthetic or load.described)
    if reads is not None:
        return OTHER_READS
    if load.parallel is not None:
        return PARALLEL
    if _are_pauses_unseen(load, scenario.model.replay):
        return PAUSES
    if assembled.settings.of_engine.page_cleaner is not None:  # its errors are those of clients that wait
        if comes_by_the_clock:
            return ARRIVALS
        return COMMITS if assembled.clients is None and are_commits_unseen(load) else INNODB
    if _may_keep_waits(program, transactions_per_s):
        return WAITS
    return ARRIVALS if comes_by_the_clock else _uncalibrated_error(scenario, assembled, counted_ns)


def _may_keep_waits(program: Program, transactions_per_s: float) -> bool:
    """Tell whether waits for the recorded storage make the error unknown: the recording shows them, which those did not
    whose errors were measured; or what may be one is more of the predicted time than these errors.
    """
    _, most = multiples_of(model_error_of({"calibration": "none"}), "throughput") or (1.0, 1.0)
    doubtful_ns = program.unseen_waits_ns + program.kept_waits_ns
    return program.waits_told or doubtful_ns * transactions_per_s / (program.sessions * NS_PER_S) > 1 - 1 / most


def _are_pauses_unseen(load: StatementLoad, replay: ReplayModel) -> bool:
    """Tell whether clients ask as they are answered, as *replay* says, with pauses that nobody saw: neither a load
    generator nor single executions tell of them, and those of sessions that were made up hang on how many these are.
    """
    return (
        load.synthetic and load.pooled and replay.mode == "closed" and replay.think is None and not _has_clients(load)
    )


def _has_clients(load: StatementLoad) -> bool:
    return any(change.number("clients") for change in load.counters.found.of("client").values())


def _uncalibrated_error(scenario: NamedScenario, assembled: Assembled, counted_ns: int) -> str | None:
    """Return whose errors a result without a calibration has if clients go round; None: those of others like it.

    Where they wait for the log for most of the time, the rate is that of flushes, times the commits that share one:
    those whose clients are back in time. How soon they are hangs on CPU, which no counter tells, and their recorded
    pauses hold waits for processors. So does the rate itself where they wait for storage for less than most of it.
    """
    load, sessions = assembled.load, assembled.program.sessions
    goes_round = load.synthetic and not by_the_clock(load, scenario.model.replay.mode)
    if assembled.clients is not None or not goes_round:
        return None
    spent_ns = assembled.database.spent.sum(axis=0).astype(np.float64)
    rows_ns, spent_ns[FOR_LOCK] = spent_ns[FOR_LOCK], 0.0
    spent_ns *= 1 + rows_ns / max(spent_ns.sum(), 1.0)  # who waits for a row waits for what its holder does
    mostly_ns = _MOSTLY * sessions * counted_ns
    if spent_ns[FOR_LOG] > mostly_ns:
        return FLUSHES if sessions > 1 else None
    return None if spent_ns[[FOR_READ, FOR_EVICTION, FOR_LOG, FOR_TEMP]].sum() > mostly_ns else CLIENTS


def are_commits_unseen(load: StatementLoad) -> bool:
    """Tell whether a part of the CPU that matters is that of changes that commit by themselves, of which nobody saw how
    long they waited for the log: it may be such a wait.
    """
    of_changes = np.array([FASTEST_CHANGE in load.cpu_basis.get(query, "") for query in load.queries], np.bool_)
    return bool(load.cpu_ns[of_changes[load.query]].sum() > _UNSEEN * load.cpu_ns.sum())


def other_reads(load: StatementLoad) -> str | None:
    """Return a sentence where the fitted tables of a *load* miss clearly more or fewer pages than its statements read;
    None where they miss as many, or nobody counted.
    """
    if load.described or not load.synthetic:
        return None
    recorded = float(load.physical_reads.sum()) + _read_ahead(load)
    if not recorded:
        return None
    calls = np.bincount(load.query, minlength=len(load.queries))
    each = np.array([one.index + one.heap for one in load.fitted.missed])
    fitted = float(sum(count * (np.array(one.lookups) @ each) for count, one in zip(calls, load.asked, strict=True)))
    covered = float(sum(one.index_missed + one.heap_missed for one in load.fitted.tables))
    read = covered if covered < (1 - _OFF) * recorded else fitted
    if abs(read - recorded) <= max(_OFF * recorded, _NO_PAGES * len(load), _CHANCE * sqrt(recorded)):
        return None
    named = sorted(_left_out(load), reverse=True)[:_NAMED]
    why = "; ".join(f"{pages:,.0f} pages of {what}" for pages, what in named if pages > _NO_PAGES * recorded)
    of_them = f". Not simulated: {why}" if why and read < recorded else ""
    return (
        f"statements read {recorded:,.0f} pages in the recording, and {read / recorded:.0%} of that in the model of the"
        f" recorded pool{of_them}"
    )


def _read_ahead(load: StatementLoad) -> float:
    """Return the pages that scans of InnoDB read ahead, which no statement is counted for."""
    if load.manifest.host.get("engine") not in INNODB_ENGINES:
        return 0.0
    return sum(_missed(change, "pages_read_ahead") for change in load.counters.found.of("database").values())


def _left_out(load: StatementLoad) -> Iterator[tuple[float, str]]:
    """Yield the pages that were missed of what no law covers, and what that is."""
    yield _read_ahead(load), "scans that read ahead"
    relations, kept = load.counters.found.of("relation"), {table.name for table in load.fitted.tables}
    looked_up = _most_asked(relations)
    for name, change in relations.items():
        missed, table = _missed(change, "pages_read"), change.last.get("table")
        if change.last.get("kind") == "index":
            if table in kept and looked_up.get(str(table)) != name:
                yield missed, f"{name}, an index beside the one that rows are looked up through"
            continue
        yield _missed(change, "toast_pages_read", "toast_index_pages_read"), f"TOAST of {name}"
        if name not in kept and change.last.get("kind") == "table":
            is_known = change.number("rows") and change.number("pages")
            unknown = "" if is_known else ", whose rows or pages are not known: run ANALYZE, and record again"
            yield missed + _missed(change, "index_pages_read"), f"{name}{unknown}"


def _most_asked(relations: Mapping[str, EntityChange]) -> dict[str, str]:
    found: dict[str, tuple[float, str]] = {}
    for name, change in relations.items():
        if change.last.get("kind") == "index":
            table = str(change.last.get("table"))
            found[table] = max(found.get(table, (0.0, "")), (_missed(change, "pages_read", "pages_hit"), name))
    return {table: name for table, (_, name) in found.items()}


def _missed(change: EntityChange, *counters: str) -> float:
    return sum(float(change.number(counter) or 0) for counter in counters)
