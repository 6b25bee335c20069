"""What a write of InnoDB's redo log and clients cost the processors, where nobody timed flushes of that log: by how
many there were. Each is that of a group of commits.

The longer a write and its flush take, the more commits wait for the next one, and share it. So a write costs what makes
the groups as many as were recorded (:mod:`tiersim.scenarios.calibration.processor` looks for that).
"""

from dataclasses import replace

from tiersim.scenarios.calibration.cpu_and_waits import MOST_LOG_NS
from tiersim.scenarios.calibration.processor import GROUPS_NEAR, Pace, ProcessorCosts, calibrate_processor
from tiersim.scenarios.statements.recorded_host import RecordedHost

#: The search for what clients take ends when it is known to so much. A choice: less than a sixth of the least that any
#: client takes (``CLIENT_NS``).
_CLIENT_NEAR_NS = 3_000
_WHY = "so that as many commits share a flush of the log as were recorded"


def costs_by_groups(model: RecordedHost, found: ProcessorCosts, recorded: Pace) -> ProcessorCosts:
    """Return costs with which as many commits share a flush of the log as were recorded; all but that of the log are
    those *found* by the pace of the load.

    Where even the dearest write leaves more groups than were recorded, commits come back too late for the next flush:
    clients then take less, at least the least that any does, and the rest of what the pace gives them was a wait.
    """
    wanted = Pace(None, None, groups=recorded.groups)
    grouped = replace(calibrate_processor(wanted, found, model.run), recorded=recorded)
    least_ns, most_ns = float(model.least_client_ns), float(grouped.client_ns)
    if (
        grouped.pause_ns is None  # clients are elsewhere
        or grouped.costs.log_io_ns < MOST_LOG_NS
        or most_ns - least_ns <= _CLIENT_NEAR_NS
        or not _are_too_many(model, grouped, recorded)
    ):
        return grouped
    while most_ns - least_ns > _CLIENT_NEAR_NS:
        middle_ns = (least_ns + most_ns) / 2
        if _are_too_many(model, replace(grouped, client_ns=round(middle_ns)), recorded):
            most_ns = middle_ns
        else:
            least_ns = middle_ns
    less = grouped.with_clients(round(least_ns), _WHY)
    return replace(less, simulated=model.run(less).pace)


def _are_too_many(model: RecordedHost, found: ProcessorCosts, recorded: Pace) -> bool:
    """Tell whether a run with the costs *found* flushes the log for more groups than were recorded."""
    had = model.run(found).pace.groups
    return had is not None and recorded.groups is not None and had > (1 + GROUPS_NEAR) * recorded.groups
