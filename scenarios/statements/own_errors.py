"""Whose errors a run of statements has: those of results like it, or others, where clients wait for something that the
recording does not tell apart.
"""

import numpy as np

from tiersim.scenarios.calibration.synthesis.counted import FASTEST_CHANGE
from tiersim.scenarios.caveats import CLIENTS, FLUSHES, model_error_of, multiples_of
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import Assembled
from tiersim.scenarios.statements.programs import Program
from tiersim.scenarios.statements.schedule import by_the_clock
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.database_state import FOR_EVICTION, FOR_LOCK, FOR_LOG, FOR_READ, FOR_TEMP
from tiersim.units import NS_PER_S

#: Sessions mostly wait for what takes such a share of their time.
_MOSTLY = 0.5
#: Of the CPU that was recorded: of changes that may have waited for the log in it.
_UNSEEN = 0.1


def may_keep_waits(program: Program, transactions_per_s: float) -> bool:
    """Tell whether waits for the recorded storage make the error unknown: the recording shows them, which those did not
    whose errors were measured; or what may be one is more of the predicted time than these errors.
    """
    _, most = multiples_of(model_error_of({"calibration": "none"}), "throughput") or (1.0, 1.0)
    doubtful_ns = program.unseen_waits_ns + program.kept_waits_ns
    return program.waits_told or doubtful_ns * transactions_per_s / (program.sessions * NS_PER_S) > 1 - 1 / most


def uncalibrated_error(scenario: NamedScenario, assembled: Assembled, counted_ns: int) -> str | None:
    """Return whose errors a result without a calibration has if clients go round; None: those of others like it.

    Where they wait for the log for most of the time, the rate is that of flushes, times the commits that share one:
    those whose clients are back in time. How soon they are hangs on CPU, which no counter tells, and their recorded
    pauses hold waits for processors. So does the rate itself where they wait for storage for less than most of it.
    """
    load, sessions = assembled.load, assembled.program.sessions
    goes_round = load.closed and load.synthetic and not by_the_clock(load, scenario.model.replay.mode)
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
