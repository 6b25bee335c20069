"""What clients cost the processors, by how long their sessions waited for them within transactions, which PostgreSQL
counts (``idle_in_transaction_time`` of pg_stat_database, from 14 on).
"""

from dataclasses import replace

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
from tiersim.scenarios.calibration.processor import Pace, ProcessorCosts, calibrate_processor
from tiersim.scenarios.calibration.self_replay import MEAN_TOLERANCE_PCT
from tiersim.scenarios.statements.recorded_host import RecordedHost, assumed_costs, executed_ns_of, least_ns_of
from tiersim.scenarios.statements.statement_load import StatementLoad
from tiersim.units import NS_PER_S

#: Sessions cannot wait for clients longer within transactions than they are idle in all. Both are counted by different
#: clocks, which may be apart by this share of the time; in 48 cells none waits longer (benchmarks/real_postgres).
_IDLE_NEAR = 0.02
#: Hardware that carries so many times as many transactions as were recorded lacks what sessions waited for: that of 34
#: cells with a cap carries up to 1.3 times as many (benchmarks/real_postgres), one whose log was four times as slow as
#: described 1.9 times.
_FASTER = 1.5
_BY_GAPS = (
    "CPU of a transaction: between {:,.0f} and {:,.0f} µs by how long sessions waited for their clients; what a"
    " commit costs is assumed, and 25 µs for each read and each write of the log; record on the server's machine"
)


def costs_by_gaps(load: StatementLoad, model: RecordedHost, recorded: Pace, mean_ns: float) -> ProcessorCosts | None:
    """Return costs with which sessions wait within transactions as long for their clients as was counted: no storage is
    in that time, but clients that work, and wait for processors behind each other. None where nobody counted it, or
    that is not what sessions waited for.

    Of what executions took, who waited for others that wait for storage may be the rest beside what the fastest ones
    took: the middle is taken. What commits and changes cost besides is assumed to be so many messages, and what reads
    and writes of the log do.
    """
    gap_ns, rate_per_s = load.gap_ns, recorded.transactions_per_s
    if gap_ns is None or rate_per_s is None or model.start.pause_ns is None:
        return None
    messages = len(load) + 2 * load.transactions  # to begin and to commit are two
    gaps_ns = gap_ns * messages / load.transactions
    start = replace(model.start, costs=assumed_costs(model), client_ns=CLIENT_NS, least_ns=least_ns_of(load, recorded))
    run = model.run(start)  # then it is known how long sessions wait for locked rows
    cycle_ns = run.sessions * NS_PER_S / rate_per_s
    idle_ns = cycle_ns - (load.active or 0.0) * load.span_ns / load.transactions
    found = calibrate_processor(Pace(None, None, recorded.pause_ns, gaps_ns=gaps_ns), start, model.run)
    run = model.run(found)
    if (
        # another session was left in a transaction (of one message a client waits outside)
        gaps_ns - gap_ns > idle_ns + _IDLE_NEAR * cycle_ns
        # sessions waited for what the described hardware does not have
        or (run.pace.transactions_per_s or 0.0) > _FASTER * rate_per_s
        # no client works for so long
        or abs((run.pace.gaps_ns or 0.0) / gaps_ns - 1) > MEAN_TOLERANCE_PCT / 100
        or found.client_ns * len(load) > most_client_ns(mean_ns) * messages
    ):
        return None
    besides = COMMIT_MESSAGES * load.commits + CHANGE_MESSAGES * load.changing
    client_ns = hot_share(run.cpu_ns, 0.0, run.busy) * found.client_ns * (1 + besides / messages)
    took_ns, fastest_ns = executed_ns_of(load, model, found)
    share = (fastest_ns / took_ns) ** 0.5 if took_ns else 1.0
    own_ns, clients_ns = share * took_ns, len(load) * client_ns
    low, high = (
        (executed_ns + times * clients_ns) / (own_ns + clients_ns)
        for executed_ns, times in zip((fastest_ns, took_ns), GAPS_RANGE, strict=True)
    )
    least_us, most_us = ((one + clients_ns) / load.transactions / 1e3 for one in (fastest_ns, took_ns))
    return replace(
        found,
        client_ns=round(client_ns),
        recorded=recorded,
        assumed=(_BY_GAPS.format(least_us, most_us),),
        cpu_range=(low, high),
        read_range=READ_RANGE,
        log_range=LOG_RANGE,
        hot=share * found.hot,
    )
