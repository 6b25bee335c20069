"""What the statements of a recorded load cost the processors, by the first of these that a recording tells:

1. Their CPU, recorded with each statement (SQL Server).
2. What the processors of the host did, where it is known for whom they worked: of clients that ran elsewhere, what
   sessions used.
3. How fast the load ran: a model of the recorded hardware runs as fast. Slow storage hides what statements cost; then
   waits for clients tell (:mod:`.client_gaps`). Clients take no more than the processors were counted to do, for
   whomever, nor so much that InnoDB's commits come back too late to share a flush (:mod:`.flush_groups`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tiersim.errors import ScenarioError
from tiersim.scenarios.calibration.cpu_and_waits import (
    ASSUMED_RANGE,
    AWAKE_RANGE,
    CLIENT_NS,
    COLD_NS,
    COUNTED_RANGE,
    LOG_NS,
    LOG_RANGE,
    LONG_NS,
    MOST_LOG_NS,
    READ_COUNTED_RANGE,
    READ_NS,
    READ_RANGE,
    READ_RANGE_NS,
    UNSEEN_NS,
    UNTIMED_RANGE,
    Ios,
    costs_of_host,
    hot_share,
    idle_factor,
    most_client_ns,
    stolen,
)
from tiersim.scenarios.calibration.host_time import HostTime, recorded_host_time
from tiersim.scenarios.calibration.processor import (
    LEAST_NS,
    LIMITING,
    CalibrationRun,
    Pace,
    ProcessorCosts,
    calibrate_processor,
    recorded_flushes,
    recorded_ios,
    recorded_pace,
    tells_by_groups,
    written_by_others,
    written_by_sessions,
)
from tiersim.scenarios.calibration.self_replay import MEAN_TOLERANCE_PCT
from tiersim.scenarios.calibration.synthesis.counted import MEASURED
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.statements.assembly import Shared
from tiersim.scenarios.statements.client_gaps import costs_by_gaps
from tiersim.scenarios.statements.flush_groups import costs_by_groups
from tiersim.scenarios.statements.recorded_host import (
    READS,
    TELLING_NS,
    RecordedHost,
    assumed_costs,
    executed_ns_of,
    least_ns_of,
    part_of,
    statement_ns,
    statement_ns_of,
)
from tiersim.scenarios.statements.settings import recorded_cores, settings_of_load, with_variables
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.simulator.database.sessions.processors import Costs, scaled
from tiersim.traces.differences import of_log
from tiersim.units import NS_PER_MS, NS_PER_S, format_ns

#: With fewer flushes of the log a transaction, hardly any waits for one: a choice.
_FLUSHES_A_TRANSACTION = 0.1
#: At 1, commits of InnoDB wait for a flush.
_FLUSHES_AT_COMMIT = "innodb_flush_log_at_trx_commit"
#: Sessions that are awake work, or wait for processors, for at least such a share of that time; else they mostly wait
#: for what is not described well enough. A choice.
_SHARE_OF_AWAKE = 0.1
_TOO_SLOW = (
    "the CPU cost of a read comes out as {:,} ns, less than any storage needs: the described device reads more slowly"
    " than the recorded one"
)
_NO_STORAGE = (
    "CPU of a read: {:g} µs assumed (1 to 150); to match the recorded time of reads on the described device it would be"
    " {:,.1f} µs, which no storage takes"
)
_NOT_TIMED = (
    "CPU of a read: {:g} µs assumed (1 to 150), as reads of pages were not timed; record on the server's machine, or"
    " with track_io_timing on"
)
_NOT_TOLD = (
    "CPU of a read: {:g} µs assumed (1 to 150): where a read takes {:,.1f} ms, its time does not tell; record on the"
    " server's machine"
)
_HIDDEN = (
    "CPU of a transaction: between {:,.0f} and {:,.0f} µs, as sessions waited for slow storage, and for others that"
    " did; record on the server's machine"
)
_NO_CLIENT = (
    "CPU of clients: {:,.0f} µs a statement assumed; the recording gives {:,.0f} µs, more than any client takes:"
    " sessions also waited for something else"
)
_COUNTED_CLIENT = "as the processors did no more"
#: Processors that are busy for a larger share of the time limit the load. A choice between what MariaDB's loads kept
#: them busy for: updates for 0.67 to 0.73 of it, with a binary log 0.59; lookups and longer transactions for 0.84 to 1
#: (benchmarks/real_mysql; innodb-cells).
_PACE_TELLS = 0.8
_LOG_TOO_FAST = "The described log device is too fast"
_NO_LOG = (
    f"{_LOG_TOO_FAST}: a recorded WAL write took {{:,.0f}} µs longer than a simulated one, and CPU"
    " explains at most {:g} µs of that: measure the device with fio and correct it. Until then {:.0f} µs of CPU for a"
    " WAL write are assumed"
)
_MOST = (
    "CPU of a read: {1:g} µs, the most that storage takes; the recording gives {0:,.1f} µs: sessions also waited for"
    " something else"
)
_TOO_FAST = "The described hardware is too fast"
_UNSEEN = (
    f"{_TOO_FAST}: {{}}. Sessions waited for something else, such as a cap; waits of {{:g}} ms are"
    " assumed, and a transaction behind one costs more CPU: describe the cap or the slower device"
)
_CARRIES = "it carries {:,.0f} transactions/s, {:,.0f} were recorded"
_EXECUTES = "a transaction takes {}, {} were recorded"
#: A device that carries so many more transactions than ran was not their limit; where processors are busy for a smaller
#: share of the time, only if it carries clearly more: else what it lacks of their time is no CPU, for of idle
#: processors a little more time is much more work. All three are choices.
_SLACK, _IDLE, _IDLE_SLACK = 0.02, 0.3, 0.15
#: A log that took longer than described by less than this share took as long. A choice: one log took 108 to 145 µs in
#: cells of one server (benchmarks/real_postgres), and a mean of 4.9 ms tells nothing of 0.05.
_LOG_SPREAD = 0.05


def calibrate(load: StatementLoad, recorded_on: NamedScenario, shared: Shared | None = None) -> ProcessorCosts:
    """Return what the statements of *load* cost the processors of *recorded_on*, a scenario of the recorded hardware.

    *shared*, if given, remembers the pool that is filled for it. Raises ScenarioError when that scenario differs from
    the recording in what its engine and replay are.
    """
    _refuse_changes(recorded_on)
    recorded = _pace_of(load)
    here = recorded_on.model.host is not None and recorded_on.model.host.clients == "here"
    if here and recorded.pause_ns is None:
        raise ScenarioError(
            f'{recorded_on.name}: host.clients: "here" needs what the load generator measured, which {load.path} does'
            ' not have; import its output, too, or write "elsewhere"'
        )
    if load.logical_reads is not None:  # CPU was recorded with each statement, and a read's is in the engine's table
        return replace(_as_recorded(load, recorded_on), recorded=recorded, cores=_said_cores(recorded_on, load))
    part, scenario = part_of(load, recorded_on), recorded_on.counted_whole()
    model = RecordedHost(part, scenario, recorded.pause_ns if here else None, shared)
    time = recorded_host_time(load.counters.found, model.cores)
    if not here:
        time = None if time is None else time.of_server()
    elif not recorded.transactions_per_s:
        time = None
    is_told = time is not None and (time.is_told or time.is_of_server)
    found = _by_host_time(load, model, recorded, time) if time and is_told else _by_pace(load, model, recorded, time)
    if time is not None and not is_told:
        found = _within_counted(load, model, found, recorded, time)
    if not is_told and tells_by_groups(recorded):
        found = costs_by_groups(model, found, recorded)
    own_ns = statement_ns_of(load, found, model.locked_ns)
    return replace(found, statement_ns=own_ns, cores=_said_cores(recorded_on, load))


def _pace_of(load: StatementLoad) -> Pace:
    """Return how fast a load was recorded to run; groups of commits where these waited for a flush of the log."""
    found = load.counters.found
    groups = of_log(found, "groups") / max(load.transactions, 1)
    waits = str(with_variables(load.manifest, found).host.get(_FLUSHES_AT_COMMIT, 1)) == "1"
    return replace(recorded_pace(found), groups=groups if waits and groups >= _FLUSHES_A_TRANSACTION else None)


def costs_of_recording(
    load: StatementLoad, scenario: NamedScenario, shared: Shared | None = None
) -> ProcessorCosts | None:
    """Return what the statements of *load* cost the processors of the recorded host, where nobody described that: what
    these were counted to do, on the devices of *scenario* in place of the recorded ones; of clients that ran elsewhere,
    or of whom nobody knows how fast they went, what sessions used.

    Of what is counted devices decide little: how often sessions slept, and what a write of the log costs; also how
    clients and log divide what busy processors did, unless these devices do not carry the recorded load. None where
    nobody counted its processors, or nobody counted which processes used them and the load was not limited by them: of
    idle processors ticks tell little, and other work may be much of what they did.
    """
    recorded, time = _pace_of(load), host_time_of(load)
    if load.logical_reads is not None or time is None:
        return None
    wanted, pause_ns = recorded.transactions_per_s, recorded.pause_ns
    if wanted is None or pause_ns is None or not load.closed or _are_apart(scenario, time):
        time, pause_ns = time.of_server(), None
        if time is None:
            return None
    elif not (time.is_told or (time.own_share >= LIMITING and _awake(load) >= time.busy)):
        return None
    there = scenario.on_recorded_host(time.cores)
    model = RecordedHost(part_of(load, there), there.counted_whole(), pause_ns, shared)
    found = _by_host_time(load, model, recorded, time)
    had = None if found.simulated is None else found.simulated.transactions_per_s
    limits = time.own_share >= LIMITING and not time.is_of_server
    if limits and wanted and had is not None and had < (1 - _SLACK) * wanted:
        found = _as_counted(load, model, recorded, time, 0.0)
    if found.costs.log_io_ns <= LEAST_NS and (log_ios := _log_ios(load)):  # a slower log tells nothing of their CPU
        found = _with_assumed_log(found, log_ios)
    own_ns = statement_ns_of(load, found, model.locked_ns)
    basis = found.basis.replace(f", on scenario '{scenario.name}'", "")
    # it is the asked hardware
    assumed = tuple(one for one in found.assumed if not one.startswith((_TOO_FAST, _LOG_TOO_FAST)))
    return replace(found, statement_ns=own_ns, basis=basis, assumed=assumed)


def _awake(load: StatementLoad) -> float:
    """Return how many sessions waited for no storage on average, as far as that was counted: all but the active ones,
    and of these as many as their executions needed processors, or waited for them.
    """
    executed, cpu = (float(column.sum()) / max(load.span_ns, 1) for column in (load.duration_ns, load.cpu_ns))
    return load.sessions - max(load.active or 0.0, executed) + cpu


def host_time_of(load: StatementLoad) -> HostTime | None:
    """Return what the processors of the recorded host did; None where nobody counted that."""
    cores = recorded_cores(load)
    return None if cores is None else recorded_host_time(load.counters.found, cores)


def _are_apart(scenario: NamedScenario, time: HostTime) -> bool:
    """Tell whether clients ran on another host: as the scenario says, or as sessions were counted and none of them."""
    return are_elsewhere(scenario) or (time.backends is not None and time.clients is None)


def are_elsewhere(scenario: NamedScenario) -> bool:
    """Tell whether a scenario says that clients run on another host."""
    host = scenario.model.host
    return host is not None and "clients" in host.model_fields_set and host.clients == "elsewhere"


def _log_ios(load: StatementLoad) -> float:
    """Return the writes and flushes of the log a statement, of as many writes as flushes."""
    return 2 * recorded_flushes(load.counters.found) / max(len(load), 1)


def _with_assumed_log(found: ProcessorCosts, log_ios: float, assumed_ns: int = LOG_NS) -> ProcessorCosts:
    """Return costs whose writes of the log take what is assumed; clients take the difference, of so many *log_ios* a
    statement.
    """
    client_ns = max(found.client_ns + round(log_ios * (found.costs.log_io_ns - assumed_ns)), 0)
    return replace(found, client_ns=client_ns, costs=found.costs._replace(log_io_ns=assumed_ns))


def _said_cores(recorded_on: NamedScenario, load: StatementLoad) -> int | None:
    """Return the cores of the recorded host, where its scenario says how many."""
    host = recorded_on.model.host
    is_said = host is not None and (host.cores is not None or host.cpu is not None)
    return settings_of_load(recorded_on, load).cores if is_said else None


def _by_host_time(load: StatementLoad, model: RecordedHost, recorded: Pace, time: HostTime) -> ProcessorCosts:
    """Return what statements cost by what the processors did; where these were the limit, so that as many transactions
    end as were recorded.
    """
    start = _with_untimed_log(_as_counted(load, model, recorded, time, 0.0), load, recorded)
    run = model.run(start)
    # else only what writes of the log cost is looked for; other work of the host limits nothing on another one
    limits = time.own_share >= LIMITING and not time.is_of_server
    unseen_ns, said = (0.0, "") if limits else _unseen(load, recorded, run, time.own_share * time.cores)
    waits = [run.long_waits + unseen_ns / lasted_ns for lasted_ns in (UNSEEN_NS, LONG_NS)]
    start = _with_untimed_log(_as_counted(load, model, recorded, time, *waits), load, recorded)
    if unseen_ns:
        start = replace(start, assumed=(*start.assumed, _UNSEEN.format(said, UNSEEN_NS / NS_PER_MS)))
    wanted = replace(recorded, read_ns=None, awake_ns=None)
    asked = wanted if limits else replace(wanted, transactions_per_s=None)
    is_slow_log = _waits_for_log(load, recorded)
    if is_slow_log:
        asked = replace(asked, log_sync_ns=None)
    found = calibrate_processor(asked, start, model.run)
    if is_slow_log:
        found = _with_said_log(found, recorded)
    log_ios = _log_ios(load)
    found = _with_log_bounded(found, log_ios)
    if limits:
        return found
    client_ns = max(round(start.client_ns - log_ios * found.costs.log_io_ns), 0)
    served_ns = max(found.served_ns - round((start.client_ns - client_ns) / start.hot), 0)
    return replace(found, client_ns=client_ns, served_ns=served_ns, recorded=recorded)


def _with_untimed_log(start: ProcessorCosts, load: StatementLoad, recorded: Pace) -> ProcessorCosts:
    """Return costs with the assumed CPU of a write of the log, if nothing tells it: no timing, or that of a capped
    device, and no groups of commits. The less one takes, the fewer commits share a flush.
    """
    is_timed = recorded.log_sync_ns is not None and not _waits_for_log(load, recorded)
    is_known = is_timed or tells_by_groups(recorded) or start.costs.log_io_ns > 0
    if is_known or not (log_ios := _log_ios(load)):
        return start
    log_io_ns = min(LOG_NS, round(start.client_ns / log_ios))  # no more than was counted
    return replace(start, costs=start.costs._replace(log_io_ns=log_io_ns), log_range=LOG_RANGE)


def _with_said_log(found: ProcessorCosts, recorded: Pace) -> ProcessorCosts:
    """Return costs with a warning if a recorded write and flush of the log took longer than simulated by more than
    ``_LOG_SPREAD``: another device was described.
    """
    took_ns = None if found.simulated is None else found.simulated.log_sync_ns
    if recorded.log_sync_ns is None or took_ns is None:
        return found
    lacking_ns = recorded.log_sync_ns - took_ns
    if lacking_ns <= _LOG_SPREAD * recorded.log_sync_ns:
        return found
    said = _no_log(found.costs.log_io_ns + lacking_ns / 2, found.costs.log_io_ns)
    return replace(found, assumed=(*found.assumed, said))


def _queued_ns(load: StatementLoad, time: HostTime) -> float:
    """Return how long the session of a statement waited for a processor, but behind its reads and writes, whose time
    was recorded with that; 0 where nobody counted it.
    """
    sessions = time.backends
    if sessions is None or not sessions.slices_per_s:
        return 0.0
    ios = _ios(load, NS_PER_S / max(load.span_ns, 1))
    share = max(1 - ios.of_sessions_per_s / sessions.slices_per_s, 0.0)
    return share * sessions.waited * load.span_ns / len(load)


def _unseen(load: StatementLoad, recorded: Pace, run: CalibrationRun, busy_cores: float) -> tuple[float, str]:
    """Return how much longer a transaction waited than on the described hardware, and what shows it: that carries more
    of them, or, where nobody measured clients, executes them in less time. 0 where it does not, or little more, or what
    is lacking hides less than *busy_cores* are counted wrongly.
    """
    wanted, had = recorded.transactions_per_s, run.pace.transactions_per_s
    if wanted:
        if not had or had <= (1 + _IDLE_SLACK) * wanted:
            return 0.0, ""
        unseen_ns, said = run.sessions * NS_PER_S * (1 / wanted - 1 / had), _CARRIES.format(had, wanted)
    else:
        wanted = load.transactions * NS_PER_S / max(load.span_ns, 1)
        lasted_ns = float(load.duration_ns.sum()) / load.transactions
        took_ns = (run.pace.awake_ns or 0.0) + run.reads_per_transaction * (run.pace.read_ns or 0.0)
        took_ns -= run.pace.gaps_ns or 0.0  # as executions have none
        if lasted_ns <= (1 + _IDLE_SLACK) * took_ns:
            return 0.0, ""
        unseen_ns, said = lasted_ns - took_ns, _EXECUTES.format(format_ns(round(took_ns)), format_ns(round(lasted_ns)))
    counted_ns = busy_cores * NS_PER_S / wanted
    return (unseen_ns, said) if COLD_NS * unseen_ns / LONG_NS > (1 - COUNTED_RANGE[0]) * counted_ns else (0.0, "")


def _as_counted(
    load: StatementLoad,
    model: RecordedHost,
    recorded: Pace,
    time: HostTime,
    long_waits: float,
    most_waits: float = 0.0,
) -> ProcessorCosts:
    """Return what statements cost by what the processors did, if so many *long_waits* are in a transaction, or up to
    *most_waits*.
    """
    transactions = max(load.transactions, 1)
    rate_per_s = recorded.transactions_per_s or transactions * NS_PER_S / max(load.span_ns, 1)
    ios = _ios(load, rate_per_s / transactions)
    host = costs_of_host(time, rate_per_s, ios, long_waits, most_waits)
    costs = model.start.costs
    # a page that a session writes to have its frame takes as much as one that is read
    costs = costs._replace(read_ns=round(host.read_ns), evict_dirty_ns=round(costs.evict_clean_ns + host.read_ns))
    written_ns = host.read_ns * written_by_sessions(load.counters.found) / transactions
    own_ns = statement_ns(load, costs, {}, host.hot, model.start.least_ns, is_counted=True)
    executed_ns = _in_all_ns(load, own_ns) / transactions
    rest_ns = max(host.transaction_ns - written_ns, 0.0)
    client_ns = max(rest_ns - executed_ns, 0.0) / (len(load) / transactions)
    share = min(rest_ns / executed_ns, 1.0) if executed_ns else 1.0  # what executions took more was a wait
    baseline = model.start.basis.rpartition(" on ")[2]
    basis = f"CPU time that {load.path.name} recorded, on {baseline}: {host.said}"
    return replace(
        model.start,
        costs=costs,
        client_ns=round(client_ns),
        basis=basis,
        assumed=(*host.assumed, *stolen(time)),
        cpu_range=host.cpu_range,
        read_range=host.read_range,
        hot=share * host.hot,
        is_counted=True,
        # a pause held what it took then, not what it takes on a busy host
        served_ns=round(client_ns / host.hot + _queued_ns(load, time)) if time.is_of_server else 0,
    )


def _in_all_ns(load: StatementLoad, own_ns: Mapping[str, int]) -> int:
    """Return the CPU of all executions, one of which takes *own_ns* by query."""
    calls = np.bincount(load.query, minlength=len(load.queries)).tolist()
    return sum(own_ns[query] * count for query, count in zip(load.queries, calls, strict=True))


def _ios(load: StatementLoad, each_per_s: float) -> Ios:
    """Return reads, writes and flushes a second; *each_per_s* is how often in a second something is done that was done
    once.
    """
    reads = float(load.physical_reads.sum())
    logged = sum(of_log(load.counters.found, name) for name in ("writes", "flushes"))
    counted = recorded_ios(load.counters.found, int(load.manifest.host.get("page_bytes", 8192)))
    of_sessions, everybody = counted or (reads + logged, reads + logged)
    of_others = min(written_by_others(load.counters.found), max(everybody - reads, 0.0))
    return Ios(*(each_per_s * count for count in (reads, max(of_sessions, reads), max(everybody, reads), of_others)))


def _within_counted(
    load: StatementLoad, model: RecordedHost, found: ProcessorCosts, recorded: Pace, time: HostTime
) -> ProcessorCosts:
    """Return costs with which a transaction takes no more CPU than the processors were counted to work for it, where
    the server counted that of its statements: what clients would take more was a wait for something else. Processors
    that are hardly idle limit the load, whose pace tells what it takes.
    """
    if found.pause_ns is None or not recorded.transactions_per_s or not _counts_statements(load):
        return found
    if time.own_share > _PACE_TELLS:
        return found
    run = model.run(found)
    more_ns = (run.cpu_ns - time.busy * NS_PER_S / recorded.transactions_per_s) / run.statements_per_transaction
    client_ns = round(found.client_ns - max(min(more_ns, found.client_ns), 0.0))
    if client_ns == found.client_ns:
        return found
    bounded = found.with_clients(client_ns, _COUNTED_CLIENT)
    if recorded.log_sync_ns is not None:  # it was met with clients that were in the way
        met = calibrate_processor(Pace(None, None, log_sync_ns=recorded.log_sync_ns), bounded, model.run)
        bounded = bounded if met.costs.log_io_ns > MOST_LOG_NS else met
    return replace(bounded, recorded=recorded, simulated=model.run(bounded).pace)


def _counts_statements(load: StatementLoad) -> bool:
    """Tell whether the server counted the processor time of its statements."""
    return all(MEASURED in load.cpu_basis.get(query, MEASURED) for query in load.queries)


def _by_pace(load: StatementLoad, model: RecordedHost, recorded: Pace, time: HostTime | None) -> ProcessorCosts:
    """Return what statements cost by how fast they ran, where nobody counted for whom the processors worked: by the
    first of these rules that tells.

    1. Waits may be in what executions took, and no processors were counted: how long sessions waited for clients.
    2. Reads are slow: how long sessions were awake besides them.
    3. Reads were timed: the costs with which the load runs as fast as recorded. Where their CPU is not that of any
       storage, how long sessions were awake; where another cost is more than any takes, the waits of the recorded
       hardware are not those of the described one, and are no CPU.
    4. Processors were counted: what they did, for whomever.
    5. Nothing: costs are assumed.

    What is found by 3 or 5 reaches to the least that executions take, where a slow device hides waits.
    """
    mean_ns = _in_all_ns(load, statement_ns(load, model.start.costs, {})) / len(load)
    lowest, highest = READ_RANGE_NS
    took_ns = recorded.read_ns or 0.0
    is_slow_log, is_slow_read = _waits_for_log(load, recorded), time is None and took_ns > TELLING_NS
    is_timed = recorded.read_ns is not None or not _reads_pages(load)
    may_wait = is_slow_log or is_slow_read or not is_timed
    if time is None and may_wait and (by_gaps := costs_by_gaps(load, model, recorded, mean_ns)):
        return by_gaps
    if is_slow_read and not is_slow_log:
        untold = [_NOT_TOLD.format(READ_NS / 1e3, took_ns / NS_PER_MS)]
        if awake := _by_time_awake(model, recorded, mean_ns, untold):
            return awake
    found = calibrate_processor(recorded, model.start, model.run) if is_timed else None
    if found is None:
        said = [_NOT_TIMED.format(READ_NS / 1e3)]
        model.start = replace(model.start, least_ns=least_ns_of(load, recorded))
    else:
        said, read_ns = _waits(model, found, mean_ns), found.costs.read_ns
        if time is None and not may_wait and not lowest <= read_ns <= highest:
            awake = _by_time_awake(model, recorded, mean_ns, said or [_TOO_SLOW.format(read_ns)])
            if awake:
                return awake
    if found is not None and not said:
        costs, is_fit = _with_log_bounded(_as_fast(model, recorded, found), 0.0), True
    elif time is not None:
        return _by_host_time(load, model, recorded, time)
    else:
        costs, is_fit = _by_guess(model, recorded, mean_ns, found, said)
        is_slow_read = is_slow_read or (is_fit and found is not None)
    if recorded.awake_ns is not None and (is_slow_read or is_slow_log):
        return _without_hidden_waits(load, model, costs, is_fit=is_fit)
    return costs


def _waits_for_log(load: StatementLoad, recorded: Pace) -> bool:
    """Tell whether transactions wait for a log that is so slow that their time does not tell what they cost."""
    if (recorded.log_sync_ns or 0.0) <= TELLING_NS:
        return False
    return recorded_flushes(load.counters.found) >= _FLUSHES_A_TRANSACTION * load.transactions


def _without_hidden_waits(
    load: StatementLoad, model: RecordedHost, found: ProcessorCosts, *, is_fit: bool
) -> ProcessorCosts:
    """Return costs whose range reaches to the least that transactions take: executions as the fastest, clients as any
    does. Who waited for a slow device, or for others that did, may be in the rest. Of a fit, which took waits for CPU,
    the middle is taken; what is assumed stays.
    """
    executed_ns, fastest_ns = executed_ns_of(load, found, model.locked_ns)
    took_ns = executed_ns + len(load) * found.client_ns
    least_ns = fastest_ns + len(load) * min(found.client_ns, model.least_client_ns)
    share = least_ns / took_ns if took_ns else 1.0
    middle = float(np.sqrt(share)) if is_fit else 1.0
    return replace(
        found,
        hot=middle * found.hot,
        client_ns=round(middle * found.client_ns),
        cpu_range=(min(found.cpu_range[0] * middle, share / middle), found.cpu_range[1] / middle),
        assumed=(*found.assumed, _HIDDEN.format(least_ns / load.transactions / 1e3, took_ns / load.transactions / 1e3)),
    )


def _by_time_awake(model: RecordedHost, recorded: Pace, mean_ns: float, said: Sequence[str]) -> ProcessorCosts | None:
    """Return costs with which transactions take as long as recorded besides their reads, which are taken off both: of a
    cap that answers 1 % later than described that would else be more CPU than all that there is. None where nobody
    timed it, or that rest is no CPU for the most part.

    Sessions that a cap lets go together wait for processors behind each other, which the simulation has. What reads
    themselves cost is assumed then, for what is *said*.
    """
    if not recorded.awake_ns or model.start.pause_ns is None:
        return None
    start = replace(model.start, costs=assumed_costs(model), client_ns=CLIENT_NS)
    found = calibrate_processor(replace(recorded, read_ns=None, transactions_per_s=None), start, model.run)
    run = model.run(found)
    awake_ns = run.pace.awake_ns or 0.0
    if (
        abs(awake_ns / recorded.awake_ns - 1) > MEAN_TOLERANCE_PCT / 100
        or run.cpu_ns * run.sessions / run.cores < _SHARE_OF_AWAKE * awake_ns
        or _waits_of_clients(model, found, mean_ns)
    ):
        return None
    has_slept = (recorded.read_ns or 0.0) > TELLING_NS  # and the host was idle
    hot = hot_share(run.cpu_ns, 0.0, run.busy) if has_slept else found.hot
    found = replace(
        found,
        client_ns=round(hot * found.client_ns),
        hot=hot,
        recorded=recorded,
        assumed=tuple(said),
        cpu_range=COUNTED_RANGE if run.busy >= _IDLE else AWAKE_RANGE,
        read_range=READ_RANGE,
        log_range=LOG_RANGE if recorded.log_sync_ns is None else (1.0, 1.0),
    )
    return _with_log_bounded(found, 0.0)


def _as_fast(model: RecordedHost, recorded: Pace, found: ProcessorCosts) -> ProcessorCosts:
    """Return costs with which the load runs as fast as recorded, and their ranges.

    Reads that come out with less CPU than any hide, on a device that limits the load where its processors do not, what
    clients cost: at least what any does. Clients that come out with less than any take their least, and reads as much
    less.
    """
    lowest, highest = READ_RANGE_NS
    found = replace(found, cpu_range=COUNTED_RANGE, read_range=READ_COUNTED_RANGE)
    run = model.run(found)
    if recorded.read_ns is None or found.costs.read_ns >= lowest:
        return _with_clients(model, found, run)
    read_ns = max(found.costs.read_ns, 1)  # a range is of multiples
    found = replace(found, costs=found.costs._replace(read_ns=read_ns), assumed=(_TOO_SLOW.format(read_ns),))
    if run.busy >= _IDLE:
        return replace(found, read_range=(1.0, highest / read_ns))
    return replace(
        found,
        client_ns=max(found.client_ns, 0 if found.pause_ns is None else model.assumed_client_ns(0.0)),
        costs=found.costs._replace(read_ns=READ_NS),
        cpu_range=ASSUMED_RANGE,
        read_range=READ_RANGE,
    )


def _by_guess(
    model: RecordedHost, recorded: Pace, mean_ns: float, found: ProcessorCosts | None, said: Sequence[str]
) -> tuple[ProcessorCosts, bool]:
    """Return costs that are assumed, for what is *said*, of a statement that took *mean_ns* besides its pages; and
    whether clients run as fast as recorded, which may take waits for CPU.

    *found* is what runs as fast as recorded, None where reads were not timed. Where the described device would carry
    more transactions than ran, its clients cost more, or its reads as much as storage takes: unless no client costs so
    much, so that the rest is a wait of the recorded hardware that the described one does not have.
    """
    lowest, highest = READ_RANGE_NS
    costs = assumed_costs(model)
    start = replace(
        model.start,
        costs=costs,
        client_ns=0 if model.start.pause_ns is None else model.assumed_client_ns(mean_ns),
        assumed=tuple(said),
        cpu_range=UNTIMED_RANGE if found is None else ASSUMED_RANGE,
        read_range=READ_RANGE,
        log_range=LOG_RANGE if recorded.log_sync_ns is None else (1.0, 1.0),
    )
    run = model.run(start)
    slack = _SLACK if run.busy >= _IDLE else _IDLE_SLACK
    limit_per_s = (1 + slack) * (recorded.transactions_per_s or float("inf"))
    is_slower = run.pace.transactions_per_s is not None and run.pace.transactions_per_s > limit_per_s
    if is_slower and (found is None or found.costs.read_ns > highest):
        begin, asked = replace(start, cpu_range=COUNTED_RANGE), recorded  # as many transactions as were recorded
        if found is not None:
            begin = replace(
                begin,
                costs=costs._replace(read_ns=highest),
                assumed=(_MOST.format(found.costs.read_ns / 1e3, highest / 1e3),),
                read_range=(lowest / highest, 1.0),
            )
            asked = replace(recorded, read_ns=None)
        fitted = calibrate_processor(asked, begin, model.run)
        # with reads at their most, a log that is slower than described stays in the fit
        if not (waits := (_waits if found is None else _waits_of_clients)(model, fitted, mean_ns)):
            return fitted, True
        start = replace(start, assumed=(*said, *waits))
    if found is not None:  # of what was not timed, nothing was counted on an idle host
        hot = 1 / idle_factor(run.busy)
        start = replace(start, hot=hot, costs=start.costs._replace(read_ns=round(hot * READ_NS)))
        if start.pause_ns is not None:
            start = replace(start, client_ns=model.assumed_client_ns(hot * mean_ns))
    return replace(start, recorded=recorded, simulated=run.pace, log_range=LOG_RANGE), False


def _with_clients(model: RecordedHost, found: ProcessorCosts, run: CalibrationRun) -> ProcessorCosts:
    """Return costs whose clients take as much as any does, where they came out with less; reads then take as much less,
    so that as many transactions end. How both divide is assumed: the recording tells the sum.
    """
    if found.pause_ns is None or found.client_ns >= model.least_client_ns or not run.reads_per_transaction:
        return found
    more_ns = (model.least_client_ns - found.client_ns) * run.statements_per_transaction / run.reads_per_transaction
    lowest, highest = READ_RANGE_NS
    read_ns = max(found.costs.read_ns - round(more_ns), lowest)
    return replace(
        found,
        client_ns=model.least_client_ns,
        costs=found.costs._replace(read_ns=read_ns),
        cpu_range=ASSUMED_RANGE,
        read_range=(lowest / read_ns, highest / read_ns),
    )


def _reads_pages(load: StatementLoad) -> bool:
    """Tell whether reads matter to what the load costs."""
    return float(load.physical_reads.sum()) >= READS * load.transactions


def _waits(model: RecordedHost, found: ProcessorCosts, mean_ns: float) -> list[str]:
    """Say which costs are no CPU but waits for something that the model does not have: reads, or writes of the log,
    that no storage takes, clients that take longer than any.

    *mean_ns* is what a statement takes to be executed, besides its pages.
    """
    most_ns = READ_RANGE_NS[1]
    if found.costs.read_ns > most_ns:
        return [_NO_STORAGE.format(READ_NS / 1e3, found.costs.read_ns / 1e3)]
    said = _waits_of_clients(model, found, mean_ns)
    if found.costs.log_io_ns > most_ns:
        said.append(_no_log(found.costs.log_io_ns))
    return said


def _waits_of_clients(model: RecordedHost, found: ProcessorCosts, mean_ns: float) -> list[str]:
    """Say that clients took longer than any does."""
    if found.client_ns <= most_client_ns(mean_ns):
        return []
    return [_NO_CLIENT.format(model.assumed_client_ns(mean_ns) / 1e3, found.client_ns / 1e3)]


def _no_log(each_ns: float, assumed_ns: float = LOG_NS) -> str:
    return _NO_LOG.format(2 * each_ns / 1e3, 2 * MOST_LOG_NS / 1e3, assumed_ns / 1e3)


def _with_log_bounded(found: ProcessorCosts, log_ios: float) -> ProcessorCosts:
    """Return costs whose writes of the log take what is assumed, if they came out with more CPU than any: the rest was
    the recorded device. Clients take it where their CPU is known in sum, for so many *log_ios* a statement.

    The longer they took, the less that tells of their CPU: what is assumed falls from the most that any takes to what
    it is where nothing tells, without a jump. A result says so only where the rest is more than log devices vary by.
    """
    each_ns = found.costs.log_io_ns
    if each_ns <= MOST_LOG_NS:
        return found
    assumed_ns = LOG_NS + round((MOST_LOG_NS - LOG_NS) * MOST_LOG_NS / each_ns)
    bounded = _with_assumed_log(found, log_ios, assumed_ns)
    recorded_ns = None if found.recorded is None else found.recorded.log_sync_ns
    if recorded_ns is not None and 2 * each_ns <= _LOG_SPREAD * recorded_ns:
        return bounded
    return replace(bounded, assumed=(*found.assumed, _no_log(each_ns, assumed_ns)))


def _as_recorded(load: StatementLoad, recorded_on: NamedScenario) -> ProcessorCosts:
    """Return the costs of the engine's table, and which part of a statement's CPU is due to other cores that were busy
    beside it.
    """
    settings = settings_of_load(recorded_on, load)
    spent_ns = float(load.cpu_ns.sum())
    busy = min(spent_ns / max(load.span_ns, 1), settings.cores - 1)
    unhindered = 1000 / float(np.interp(busy, range(settings.cores), settings.slowdown))
    basis = "recorded with the statements"
    costs, charged_ns = settings.costs, _charged_ns(load, settings.costs)
    if charged_ns > unhindered * spent_ns > 0:  # of slower processors than the recorded ones
        share = unhindered * spent_ns / charged_ns
        costs, basis = (
            scaled(costs, 1 / share),
            f"{basis}; the engine's table times {share:.2f}, since they took no more",
        )
    return ProcessorCosts({}, 0, costs, basis, unhindered=unhindered)


def _charged_ns(load: StatementLoad, costs: Costs) -> float:
    """Return the CPU that a model of *costs* charges for all lookups, changes and reads of a load by itself."""
    calls = np.bincount(load.query, minlength=len(load.queries))
    rows = calls @ np.array([sum(one.lookups) for one in load.asked])
    changed = calls @ np.array([min(one.changed_rows, sum(one.lookups)) for one in load.asked])
    read = sum(table.heap_missed + table.index_missed for table in load.fitted.tables)
    return float(rows * costs.lookup_ns + changed * costs.change_ns + read * (costs.read_ns + costs.evict_clean_ns))


def _refuse_changes(scenario: NamedScenario) -> None:
    """Refuse what makes a scenario one of other hardware or another load than the recorded."""
    host, replay = scenario.model.host, scenario.model.replay
    changed = []
    if host is not None and host.core_speed not in (None, 1.0):
        changed.append(f"host.core_speed = {host.core_speed}")
    if replay.load != 1.0:
        changed.append(f"replay.load = {replay.load}")
    if replay.clients is not None:
        changed.append(f"replay.clients = {replay.clients}")
    if replay.duration is not None:
        changed.append(f"replay.duration = {format_ns(replay.duration)}")
    if changed:
        raise ScenarioError(
            f"{scenario.name}: {changed[0]}: a scenario of the recorded hardware runs the recorded load; leave it out"
        )
