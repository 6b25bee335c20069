"""What a write of the log and clients cost the processors, by how many flushes of its redo log InnoDB needed for groups
of commits, where nobody timed these.
"""

from dataclasses import replace

from tiersim.scenarios.calibration.cpu_and_waits import MOST_LOG_NS
from tiersim.scenarios.calibration.processor import GROUPS_NEAR, Pace, ProcessorCosts, calibrate_processor
from tiersim.scenarios.statements.recorded_host import RecordedHost

_COMING_BACK = (
    "CPU of clients: {:,.0f} µs a statement, so that as many commits share a flush of the log as were recorded; the"
    " recording's pace gives {:,.0f} µs: sessions also waited for something else"
)
#: The search for the CPU of clients ends within so much of it.
_CLIENT_NEAR_NS = 3_000


def costs_by_groups(model: RecordedHost, found: ProcessorCosts, recorded: Pace) -> ProcessorCosts:
    """Return costs with which as many commits share a flush of the log as were recorded: what the log costs was looked
    for with other costs of all else. Where even the slowest log lets too few of them come back in time for the next
    flush, clients take less: the rest of what the pace gives them was a wait.
    """
    wanted = Pace(None, None, groups=recorded.groups)
    grouped = replace(calibrate_processor(wanted, found, model.run), recorded=recorded)
    least_ns, most_ns = float(model.least_client_ns), float(grouped.client_ns)
    if grouped.pause_ns is None or grouped.costs.log_io_ns < MOST_LOG_NS or most_ns - least_ns <= _CLIENT_NEAR_NS:
        return grouped
    if not _are_too_many(model, grouped, recorded):
        return grouped
    while most_ns - least_ns > _CLIENT_NEAR_NS:
        middle_ns = (least_ns + most_ns) / 2
        if _are_too_many(model, replace(grouped, client_ns=round(middle_ns)), recorded):
            most_ns = middle_ns
        else:
            least_ns = middle_ns
    client_ns = round(min(least_ns, most_ns))
    said = _COMING_BACK.format(client_ns / 1e3, grouped.client_ns / 1e3)
    less = replace(grouped, client_ns=client_ns, assumed=(*grouped.assumed, said))
    return replace(less, simulated=model.run(less).pace)


def _are_too_many(model: RecordedHost, found: ProcessorCosts, recorded: Pace) -> bool:
    """Tell whether the log is flushed for more groups than were recorded."""
    had = model.run(found).pace.groups
    return had is not None and recorded.groups is not None and had > (1 + GROUPS_NEAR) * recorded.groups
