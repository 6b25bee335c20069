"""What clients cost the processors, by how long their sessions waited for them within transactions. PostgreSQL counts
that (``idle_in_transaction_time`` of pg_stat_database, from 14 on).

A session that waits for its client's next statement waits for no storage: the client works, or waits for a processor
behind others. So clients cost what makes these waits as long on a model of the recorded hardware.
"""

from dataclasses import replace

import numpy as np

from tiersim.scenarios.calibration.cpu_and_waits import (
    CHANGE_MESSAGES,
    CLIENT_NS,
    COMMIT_MESSAGES,
    GAPS_RANGE,
    LOG_RANGE,
    READ_RANGE,
    hot_share,
    most_client_ns,
)
from tiersim.scenarios.calibration.processor import CalibrationRun, Pace, ProcessorCosts, calibrate_processor
from tiersim.scenarios.calibration.self_replay import MEAN_TOLERANCE_PCT
from tiersim.scenarios.statements.recorded_host import (
    RecordedHost,
    assumed_costs,
    by_fastest_ns,
    executed_ns_of,
    least_ns_of,
)
from tiersim.scenarios.statements.statement_load import StatementLoad, fastest_ns_of
from tiersim.units import NS_PER_S

#: Sessions cannot wait for clients longer within transactions than they are idle in all. Both are counted by different
#: clocks, which may be apart by this share of the time: a choice; in 48 cells none waits longer
#: (benchmarks/real_postgres).
_CLOCKS_APART = 0.02
#: Hardware that carries so many times as many transactions as were recorded lacks what sessions waited for. A choice:
#: that of 34 cells with a cap carries up to 1.3 times as many (benchmarks/real_postgres), one whose log was four times
#: as slow as described 1.9 times.
_TIMES_AS_MANY = 1.5
#: Most searches, each with other waits for locked rows, and the share of the CPU of executions and clients below which
#: that of executions no longer changes: choices.
_SEARCHES, _SETTLED = 8, 0.01
#: How many times as long as simulated executions wait for locked rows, in the median and at least. Of ten cells whose
#: log has a cap, of three hosts, by what their updates took more than those of cells without that cap
#: (benchmarks/real_postgres): by Zipf's law 0.95 to 1.31 times, of TPC-B's branches 0.97 to 1.02.
_LOCKED, _LEAST_LOCKED = 1.2, 0.95
_SAID = (
    "CPU of a transaction: between {:,.0f} and {:,.0f} µs by how long sessions waited for their clients; what a"
    " commit costs is assumed, and 25 µs for each read and each write of the log; record on the server's machine"
)


def costs_by_gaps(load: StatementLoad, model: RecordedHost, recorded: Pace, mean_ns: float) -> ProcessorCosts | None:
    """Return costs with which sessions wait as long for their clients within transactions as was counted. None where
    nobody counted it, or that is not what sessions waited for.

    *mean_ns* is what a statement takes to be executed, besides its pages.
    """
    gap_ns, rate_per_s = load.gap_ns, recorded.transactions_per_s
    if gap_ns is None or rate_per_s is None or model.start.pause_ns is None:
        return None
    messages = _messages(load)
    gaps_ns = gap_ns * messages / load.transactions
    start = replace(model.start, costs=assumed_costs(model), client_ns=CLIENT_NS, least_ns=_least_ns_of(load, recorded))
    found = _with_settled_locks(load, model, Pace(None, None, recorded.pause_ns, gaps_ns=gaps_ns), start)
    run = model.run_as_locked(found)
    cycle_ns = run.sessions * NS_PER_S / rate_per_s  # of a client, from one transaction to the next
    idle_ns = cycle_ns - (load.active or 0.0) * load.span_ns / load.transactions
    if (
        # another session was left in a transaction (of one message a client waits outside)
        gaps_ns - gap_ns > idle_ns + _CLOCKS_APART * cycle_ns
        # sessions waited for what the described hardware does not have
        or (run.pace.transactions_per_s or 0.0) > _TIMES_AS_MANY * rate_per_s
        # no client works for so long
        or abs((run.pace.gaps_ns or 0.0) / gaps_ns - 1) > MEAN_TOLERANCE_PCT / 100
        or found.client_ns * len(load) > most_client_ns(mean_ns) * messages
    ):
        return None
    return _on_busy_host(load, model, replace(found, recorded=recorded), run)


def _with_settled_locks(
    load: StatementLoad, model: RecordedHost, wanted: Pace, start: ProcessorCosts
) -> ProcessorCosts:
    """Return costs with which the load runs as *wanted*, while executions wait for locked rows as long as was taken off
    what they took.

    What is taken off and what clients take hang on each other: a search that changed both at once would end wherever
    one run happens to meet *wanted*. So what is taken off stays for each search, and goes half of the way to what that
    leads to for the next.
    """
    model.run(start)
    for _ in range(_SEARCHES):
        found = calibrate_processor(wanted, start, model.run_as_locked)
        own_ns, _ = executed_ns_of(load, found, model.locked_ns)
        given = model.locked_ns
        model.run_as_locked(found)
        model.locked_ns = {
            query: (given[query] + _LOCKED * waited_ns) / 2 for query, waited_ns in model.waited_ns.items()
        }
        settled_ns, _ = executed_ns_of(load, found, model.locked_ns)
        if abs(settled_ns - own_ns) <= _SETTLED * (own_ns + len(load) * found.client_ns):
            break
        start = replace(start, client_ns=found.client_ns)
    return found


def _least_ns_of(load: StatementLoad, recorded: Pace) -> dict[str, float]:
    """Return by query the least CPU of an execution, where the recording tells it: of those that wait for nobody the
    mean, of others :func:`by_fastest_ns`. Executions that change rows do more that their fastest does not, images of
    pages and entries of indexes: they take at least as many times that.
    """
    calls, cpu_ns, sampled_ns = (
        np.bincount(load.query, weights, len(load.queries)) for weights in (None, load.cpu_ns, load.lock_wait_ns)
    )
    fastest_ns = np.maximum(fastest_ns_of(load), 1)
    alone, each_ns = by_fastest_ns(load) or (np.zeros(len(calls), np.bool_), fastest_ns)
    took_ns = cpu_ns + np.where(alone, sampled_ns, 0.0)  # samples do not say whose wait for a lock they are
    mean_ns = np.maximum(took_ns / np.maximum(calls, 1), fastest_ns)
    told = least_ns_of(load, recorded)
    least_ns = np.where(alone, mean_ns, np.minimum(each_ns, mean_ns))
    return {query: least for query, least in zip(load.queries, least_ns.tolist(), strict=True) if query in told}


def _messages(load: StatementLoad) -> int:
    """Count the messages that clients send: statements, and two to begin and to commit each transaction."""
    return len(load) + 2 * load.transactions


def _on_busy_host(
    load: StatementLoad, model: RecordedHost, found: ProcessorCosts, run: CalibrationRun
) -> ProcessorCosts:
    """Return the costs *found*, which a *run* had, as they are on a busy host, and between what they lie.

    Commits and changes cost clients so many messages more; that is assumed, and what reads and writes of the log cost.
    Executions may hold waits for others that wait for storage, beside what they take at least: the geometric mean of
    both is taken. The most that they take holds what may be less of the waits for locked rows than was taken off.
    """
    besides = COMMIT_MESSAGES * load.commits + CHANGE_MESSAGES * load.changing
    hot = hot_share(run.cpu_ns, run.long_waits, run.busy)
    client_ns = hot * found.client_ns * (1 + besides / _messages(load))
    least_locked_ns = {query: _LEAST_LOCKED / _LOCKED * ns for query, ns in model.locked_ns.items()}
    most_ns, _ = executed_ns_of(load, found, least_locked_ns)
    took_ns, least_ns = executed_ns_of(load, found, model.locked_ns)
    found = replace(found, hot=(least_ns / took_ns) ** 0.5 * found.hot if took_ns else found.hot)
    (own_ns, _), clients_ns = executed_ns_of(load, found, model.locked_ns), len(load) * client_ns
    low, high = (
        (executed_ns + times * clients_ns) / (own_ns + clients_ns)
        for executed_ns, times in zip((least_ns, most_ns), GAPS_RANGE, strict=True)
    )
    least_us, most_us = ((one + clients_ns) / load.transactions / 1e3 for one in (least_ns, most_ns))
    return replace(
        found,
        client_ns=round(client_ns),
        assumed=(_SAID.format(least_us, most_us),),
        cpu_range=(low, high),
        read_range=READ_RANGE,
        log_range=LOG_RANGE,
    )
