"""What statements cost, from what the processors of their host did: by whom they were used, and how idle they were."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from tiersim.scenarios.calibration.cpu_and_waits import (
    COLD_NS,
    COLD_RANGE,
    COUNTED_RANGE,
    READ_NS,
    READ_RANGE_NS,
    SLICE_NS,
    SLICES_RANGE,
    HostCosts,
    Ios,
    coldness,
    costs_of_host,
    cpu_range,
    hot_share,
    idle_factor,
    stolen,
)
from tiersim.scenarios.calibration.host_time import HostTime, ProcessorUse, recorded_host_time
from tiersim.traces.differences import differences
from tiersim.traces.recorders.processes import BACKENDS, HELPERS, KERNEL, LOAD_GENERATOR
from tiersim.traces.statistics import Snapshot

US = 1_000
S = 1_000_000_000


def snapshots(processes: dict[str, dict[str, int]] | None, **states: int) -> list[Snapshot]:
    """Two snapshots, ten seconds apart, of the host's processors and of processes; what is given grew by so many ms in
    between.
    """
    first: dict[Any, Any] = {("processor", "host"): {f"{name}_ms": Decimal(7) for name in states}}
    last: dict[Any, Any] = {("processor", "host"): {f"{name}_ms": Decimal(7 + ms) for name, ms in states.items()}}
    for name, counters in (processes or {}).items():
        first["process", name] = {key: Decimal(3) for key in counters}
        last["process", name] = {key: Decimal(3 + value) for key, value in counters.items()}
    return [Snapshot(0, first), Snapshot(10 * S, last)]


def test_states_of_the_processors_and_processes_become_processors_that_were_busy() -> None:
    processes = {
        BACKENDS: {"cpu_ms": 5000, "system_ms": 2000, "run_queue_ms": 500, "slices": 300, "observed_ms": 10_000},
        HELPERS: {"cpu_ms": 100, "system_ms": 50, "run_queue_ms": 0, "observed_ms": 10_000},
        LOAD_GENERATOR: {"cpu_ms": 1000, "system_ms": 800, "run_queue_ms": 100, "observed_ms": 5_000},
    }
    states = {"user": 4000, "system": 3000, "soft_interrupt": 1000, "idle": 10_000, "io_wait": 1500, "steal": 500}
    found = recorded_host_time(differences(snapshots(processes, **states)), 2)
    assert found == HostTime(
        2, 0.8, 0.1, 0.05, ProcessorUse(0.5, 0.2, 0.05, 30.0), ProcessorUse(0.01, 0.005, 0.0),
        ProcessorUse(0.2, 0.16, 0.02),
    )  # fmt: skip
    assert found.share == pytest.approx(0.4)


def test_a_host_that_nobody_looked_at_twice_is_not_known() -> None:
    assert recorded_host_time(differences(snapshots(None, user=1, idle=9)[:1]), 2) is None
    assert (
        recorded_host_time(differences([Snapshot(0, {("session", "active//"): {"sessions": Decimal(1)}})]), 2) is None
    )
    nobody = recorded_host_time(differences(snapshots(None, user=8000, idle=12_000)), 2)
    assert nobody is not None
    assert (nobody.busy, nobody.backends, nobody.clients) == (0.8, None, None)


def busy_host(
    transactions_per_s: float,
    reads: float,
    *,
    transaction_ns: float,
    session_ns: float,
    kernel_ns: float,
    others: float = 0.0,
    messages_ns: float = 1 * US,
) -> HostTime:
    """A host of two processors whose transactions cost *transaction_ns*, three quarters of it in sessions, and their
    reads what is said.

    For the messages of a transaction clients and sessions spend *messages_ns* in the kernel, each.
    """
    rate = transactions_per_s / S
    clients = ProcessorUse(rate * transaction_ns / 4, rate * messages_ns, 0.0)
    of_reads = rate * reads * session_ns
    backends = ProcessorUse(rate * transaction_ns * 3 / 4 + of_reads, clients.kernel + of_reads, 0.0)
    kernel = rate * reads * kernel_ns
    busy = backends.all + clients.all + kernel + others
    return HostTime(2, busy, 0.0, 0.0, backends, None, clients)


def found(host: HostTime, transactions_per_s: float, reads: float) -> HostCosts:
    reads_per_s = reads * transactions_per_s
    return costs_of_host(host, transactions_per_s, Ios(reads_per_s, reads_per_s, reads_per_s))


@pytest.mark.parametrize(("transactions_per_s", "reads"), [(20_000, 0.5), (500, 0.8), (500, 0.05)])
def test_transactions_and_reads_are_told_apart_at_any_load(transactions_per_s: float, reads: float) -> None:
    host = busy_host(transactions_per_s, reads, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    costs = found(host, transactions_per_s, reads)
    assert costs.hot == hot_share(60 * US, 0.0, host.own_share)
    assert costs.cpu_range[0] <= COUNTED_RANGE[0] < COUNTED_RANGE[1] <= costs.cpu_range[1]
    assert costs.transaction_ns == pytest.approx(costs.hot * 60 * US)
    assert costs.read_ns == pytest.approx(costs.hot * 20 * US, rel=0.01)


def test_what_little_busy_processors_were_counted_to_take_is_less_on_busy_ones() -> None:
    """The same work: as counted where the host is busy, more than a quarter more where it hardly is."""
    shares = [hot_share(60 * US, 0.0, busy) for busy in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert shares == sorted(shares)
    assert shares[-2:] == [1.0, 1.0]
    assert 1 / shares[0] == pytest.approx(1.27, rel=0.01)
    low, high = cpu_range(60 * US, 0.0, busy=0.1)
    assert low * shares[1] == pytest.approx(COUNTED_RANGE[0] * hot_share(60 * US, 0.0, 0.1, COLD_RANGE[1]))
    assert high * shares[1] == pytest.approx(COUNTED_RANGE[1] * hot_share(60 * US, 0.0, 0.1, COLD_RANGE[0]))
    assert cpu_range(60 * US, 0.0, busy=1.0) == COUNTED_RANGE


def test_what_long_waits_make_colder_is_taken_off_in_proportion() -> None:
    """One transaction in ten waited long, and its caches were cold: 15 of 70 µs."""
    host = busy_host(500, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    costs = costs_of_host(host, 500, Ios(250, 250, 250), 0.1)
    without = costs_of_host(host, 500, Ios(250, 250, 250))
    assert costs.hot == pytest.approx((1 - 0.1 * COLD_NS / (70 * US)) * without.hot, rel=0.01)
    assert costs.transaction_ns == pytest.approx(costs.hot * 60 * US)
    assert costs.read_ns == pytest.approx(costs.hot * 20 * US, rel=0.01)


def test_what_the_kernel_does_for_a_slice_is_known_where_slices_of_sessions_and_clients_are() -> None:
    own = HostTime(2, 0.5, 0.0, 0.0, ProcessorUse(0.2, 0.1, 0.0, 8_000), None, ProcessorUse(0.1, 0.06, 0.0, 2_000))
    assert own.slice_ns == pytest.approx(16 * US)
    threads = ProcessorUse(0.04, 0.04, 0.0, 10_000)
    assert replace(own, threads=threads).slice_ns == pytest.approx(10 * US)
    assert replace(own, threads=replace(threads, slices_per_s=0.0)).slice_ns == pytest.approx(16 * US)
    assert replace(own, clients=ProcessorUse(0.1, 0.06, 0.0)).slice_ns is None
    assert replace(own, clients=None).slice_ns is None


def test_a_host_whose_slices_take_longer_loses_more_to_long_waits() -> None:
    """As much more, up to what was seen of any; on one that hardly works ticks of a clock tell little."""
    assert coldness(None, 0.5) == coldness(SLICE_NS, 0.5) == coldness(3 * SLICE_NS, 0.0) == 1.0
    assert coldness(1.2 * SLICE_NS, 0.5) == pytest.approx(1.2)
    assert coldness(1.2 * SLICE_NS, 0.025) == pytest.approx(1.1)
    assert coldness(0.1 * SLICE_NS, 0.5) == pytest.approx(0.6)
    assert coldness(9 * SLICE_NS, 0.5) == pytest.approx(1.6)
    host = busy_host(2_000, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    assert host.clients is not None
    assert host.backends is not None
    of_kernel_ns = S * (host.backends.kernel + host.clients.kernel)
    slices = of_kernel_ns / (1.5 * SLICE_NS) / 2
    sliced = replace(
        host,
        backends=replace(host.backends, slices_per_s=slices),
        clients=replace(host.clients, slices_per_s=slices),
    )
    costs = costs_of_host(sliced, 2_000, Ios(1_000, 1_000, 1_000), 0.01)
    hot = hot_share(70 * US, 0.01, host.own_share, 1.5)
    assert costs.hot == pytest.approx(hot)
    assert costs.cpu_range[0] * hot == pytest.approx(
        COUNTED_RANGE[0] * hot_share(70 * US, 0.01, host.own_share, 1.5 * SLICES_RANGE[1])
    )


def test_a_cost_that_is_mostly_cold_is_hardly_known() -> None:
    assert hot_share(60 * US, 0.0) == 1.0
    (most, least), (known, too) = cpu_range(75 * US, 0.4), cpu_range(300 * US, 0.21)
    assert least / most > 3 > too / known > COUNTED_RANGE[1] / COUNTED_RANGE[0]


def test_a_transaction_behind_a_long_wait_is_cold_once_however_long_it_waited() -> None:
    assert hot_share(2000 * US, 15.0) == hot_share(2000 * US, 1.0) == 1 - COLD_NS / (2000 * US)


def test_where_all_of_a_cost_would_be_cold_it_may_be_all_that_was_counted() -> None:
    hot = hot_share(60 * US, 10.0)
    assert hot == hot_share(60 * US, 20.0) > 0
    low, high = cpu_range(60 * US, 10.0)
    assert (low, high) == pytest.approx((COUNTED_RANGE[0], COUNTED_RANGE[1] / hot))


def test_where_nobody_knows_how_often_sessions_waited_all_may_be_cold_or_nothing() -> None:
    hot = hot_share(300 * US, 0.3)
    low, high = cpu_range(300 * US, 0.3, 3.0)
    assert low * hot == pytest.approx(COUNTED_RANGE[0] * hot_share(300 * US, 3.0))
    assert high * hot == pytest.approx(COUNTED_RANGE[1])
    assert cpu_range(300 * US, 0.3, 0.3) == cpu_range(300 * US, 0.3)


@pytest.mark.parametrize(("share", "is_part"), [(0.01, False), (0.05, True)])
def test_what_other_processes_of_the_server_do_by_the_second_is_no_part_of_a_transaction(
    share: float, is_part: bool
) -> None:
    host = busy_host(500, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    helped = replace(
        host,
        helpers=ProcessorUse(share * host.cores, 0.0, 0.0),
        threads=ProcessorUse(host.of_kernel, host.of_kernel, 0.0),
    )
    with_them, without = found(helped, 500, 0.5), found(host, 500, 0.5)
    more_ns = with_them.transaction_ns / with_them.hot - without.transaction_ns / without.hot
    assert more_ns == pytest.approx(share * 2 * S / 500 if is_part else 0.0, abs=0.01 * US)


def test_few_reads_among_many_messages_leave_what_was_known_before() -> None:
    few, many = (
        found(
            busy_host(20_000, reads, transaction_ns=60 * US, session_ns=50 * US, kernel_ns=0, messages_ns=20 * US),
            20_000,
            reads,
        )
        for reads in (0.03, 3.0)
    )
    assert few.read_ns == pytest.approx(few.hot * READ_NS, rel=0.1)
    assert many.read_ns == pytest.approx(many.hot * 50 * US, rel=0.01)


def test_writes_and_flushes_cost_what_reads_do_and_are_the_transactions() -> None:
    """Of 2.5 requests of a transaction half a one is a read: its part of the kernel's time is the read's, the rest the
    transaction's.
    """
    host = busy_host(1000, 2.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    costs = costs_of_host(host, 1000, Ios(500, 2500, 2500))
    assert costs.read_ns == pytest.approx(costs.hot * 20 * US, rel=0.01)
    assert costs.transaction_ns == pytest.approx(costs.hot * (60 + 2 * 20) * US)


def test_pages_that_other_processes_write_are_no_part_of_a_transaction() -> None:
    """Of 1.5 requests of a transaction others write 0.5: their kernel time is not charged to the transaction."""
    host = busy_host(1000, 1.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US)
    all_its, without = (costs_of_host(host, 1000, Ios(1000, 1500, 1500, others)) for others in (0, 500))
    assert all_its.transaction_ns - without.transaction_ns == pytest.approx(all_its.hot * 0.5 * 12 * US, rel=0.01)
    assert without.read_ns == all_its.read_ns


def test_waits_are_no_part_of_it() -> None:
    """A hundred times as slow a device leaves the processors idle, and the costs as they were but for that."""
    fast, slow = (
        busy_host(rate, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US) for rate in (20_000, 200)
    )
    one, other = found(fast, 20_000, 0.5), found(slow, 200, 0.5)
    assert other.transaction_ns / other.hot == pytest.approx(one.transaction_ns / one.hot)


def test_other_work_of_the_host_is_neither_a_read_nor_a_transaction() -> None:
    host = busy_host(500, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US, others=0.7)
    costs = found(host, 500, 0.5)
    assert costs.transaction_ns == pytest.approx(costs.hot * 60 * US)
    assert costs.read_ns == pytest.approx(costs.hot * 8 * US, rel=0.01)
    assert "that of the kernel's threads is more than storage takes" in costs.said


@pytest.mark.parametrize("others", [-0.01, 0.7])
def test_where_threads_of_the_kernel_are_counted_ticks_and_other_work_say_nothing(others: float) -> None:
    """The clock of ticks stands still on idle processors, so that it may even count less than processes used."""
    host = busy_host(500, 0.5, transaction_ns=60 * US, session_ns=8 * US, kernel_ns=12 * US, others=others)
    threads = ProcessorUse(500 * 0.5 * 12 * US / S, 500 * 0.5 * 12 * US / S, 0.0)
    costs = found(replace(host, threads=threads), 500, 0.5)
    assert costs.transaction_ns == pytest.approx(costs.hot * 60 * US)
    assert costs.read_ns == pytest.approx(costs.hot * 20 * US, rel=0.01)


def test_interrupts_are_the_kernel_s_own_work() -> None:
    processes = {KERNEL: {"cpu_ms": 500, "system_ms": 500, "run_queue_ms": 0, "observed_ms": 10_000}}
    host = recorded_host_time(differences(snapshots(processes, user=1000, interrupt=200, idle=18_800)), 2)
    assert host is not None
    assert host.of_kernel == pytest.approx(0.05 + 0.02)


@pytest.mark.parametrize("session_ns", [0, 400 * US])
def test_a_cost_that_no_storage_takes_is_refused(session_ns: int) -> None:
    host = busy_host(500, 0.5, transaction_ns=60 * US, session_ns=session_ns, kernel_ns=0)
    costs = found(host, 500, 0.5)
    assert READ_RANGE_NS[0] <= costs.read_ns <= READ_RANGE_NS[1]
    assert costs.read_ns == pytest.approx(costs.hot * READ_NS)
    assert "assumed" in costs.said


def test_without_processes_all_of_the_host_is_the_load() -> None:
    costs = costs_of_host(HostTime(2, 1.0, 0.0, 0.0), 10_000, Ios(0.0, 0.0, 0.0))
    assert costs.transaction_ns == pytest.approx(costs.hot * 100 * US)
    assert "does not say which processes used the CPU" in costs.said


def test_a_busy_host_is_the_measure() -> None:
    assert idle_factor(1.0) == pytest.approx(1.0, abs=0.01)
    assert idle_factor(0.0) > idle_factor(0.1) > idle_factor(0.5) > 1.0


def test_time_that_others_took_is_said() -> None:
    assert stolen(HostTime(2, 1.0, 0.0, 0.02)) == ()
    (said,) = stolen(HostTime(2, 1.0, 0.0, 0.4))
    assert "20% of the CPU time went to other virtual machines" in said


def test_a_server_without_its_clients_costs_what_its_sessions_and_the_kernel_used() -> None:
    """Half of 20,000 slices a second are for reads: half of the kernel's time of sessions, and all of its threads'."""
    sessions, threads = ProcessorUse(0.6, 0.3, 0.1, 20_000.0), ProcessorUse(0.2, 0.2, 0.0, 5_000.0)
    time = HostTime(2, 1.9, 0.0, 0.0, sessions, None, ProcessorUse(0.4, 0.2, 0.0, 9_000.0), threads)
    server = time.of_server()
    assert server is not None
    assert server.clients is None
    assert server.busy == pytest.approx(0.8)
    assert server.own_share == pytest.approx(0.4)
    found = costs_of_host(replace(server, cores=1, busy=1.0), 10_000, Ios(10_000, 10_000, 10_000))
    assert found.read_ns == pytest.approx((0.15 + 0.2) / 10_000 * S, rel=0.1)  # what is known beforehand has a part
    rest_ns = (0.6 - 0.15) / 10_000 * S
    assert found.transaction_ns / found.hot == pytest.approx(rest_ns)
    assert HostTime(2, 1.0, 0.0, 0.0).of_server() is None


def test_without_a_count_of_slices_a_read_takes_what_is_assumed() -> None:
    sessions = ProcessorUse(0.6, 0.3, 0.1)
    server = HostTime(1, 0.6, 0.0, 0.0, sessions).of_server()
    assert server is not None
    found = costs_of_host(server, 10_000, Ios(10_000, 10_000, 10_000))
    assert found.read_ns == pytest.approx(READ_NS * found.hot)
    assert found.assumed
