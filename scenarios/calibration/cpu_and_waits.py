"""What statements cost the processors, from what the host's processors did while they were recorded.

A transaction costs the host ``busy time / transactions``, whatever its storage was: waits are no part of it. What
reads, writes and flushes cost of that is kernel time: of the sessions beyond what their clients spend there to send and
receive the same messages, and of the kernel's own threads. A page that is read takes as much of it as any other.

**Idle processors are slow.** Who has slept finds cold caches, and wakes a halted processor first. Measured: a lookup by
key takes 36 µs of a busy host, 43 of one that is busy for 6 % of the
time, 76 at 1 %, an update 181 µs, and 221 at 4 % (8 clients of pgbench on 2 virtual processors;
``benchmarks/real_postgres``). So costs from an idle host are taken down, by :func:`idle_factor`,
to what they are on a busy one.
"""

from dataclasses import dataclass
from math import exp

from tiersim.scenarios.calibration.host_time import HostTime
from tiersim.units import NS_PER_S

#: By how much more the processors of a host that is hardly used take than busy ones, for the same work; between what
#: that lies; and at which share of busy time it is down to a third. Read off 54 cells of two days; without those of one
#: load, 0.5 to 0.75 and 0.08 to 0.2 (docs/processors.md).
IDLE, IDLE_RANGE, _FADES = 0.75, (0.3, 1.2), 0.08
#: Multiples between which costs lie that were counted: repeats of a measurement are up to 11 % apart
#: (benchmarks/real_postgres), and what reads cost by recordings of one host by more.
COUNTED_RANGE, READ_COUNTED_RANGE = (0.93, 1.08), (0.7, 1.4)
#: What one page that is read may cost: a bare device and io_uring, and a virtual disk of a virtual machine with a limit
#: on it.
READ_RANGE_NS = (1_000, 150_000)
#: What it is assumed to cost where nothing tells; the cells of benchmarks/real_postgres say 16 to 45 µs.
READ_NS = 25_000
#: Processors that others took for more of the time make everything longer than it is.
_STOLEN = 0.05
#: What a statement costs besides its execution where its clients are here and nothing tells: so many times as much, and
#: at least; what more would be no CPU but a wait: as much, and at most. Measured: 0.9 to 4 times the execution of
#: lookups by key; a statement of lookups, updates and TPC-B-like transactions 20, 22 and 30 µs with its execution (8
#: clients; benchmarks/real_postgres).
CLIENT_SHARE, CLIENT_NS, MOST_CLIENT_SHARE, MOST_CLIENT_NS = 2.0, 20_000, 4.0, 100_000
#: Multiples between which the CPU of statements and clients lies then.
ASSUMED_RANGE = (0.5, 2.0)
#: The same where nothing is known of executions, either, as their reads were not timed: an update took 181 µs where 95
#: are assumed with its writes of the log, 20 of them for itself (benchmarks/real_postgres).
UNTIMED_RANGE = (0.5, 5.0)
#: Sessions and clients are taken to spend as much in the kernel for the same messages: to this share. What a read costs
#: is known beforehand to so much.
_ALIKE, _READ_SPREAD_NS = 0.15, 20_000
#: With fewer pages read a transaction, what they cost is lost in what all else does.
_TOLD = 0.02


@dataclass(frozen=True)
class HostCosts:
    """CPU in ns on a busy host: of a transaction without its reads, of a page that is read.

    ``hot`` is what share it is of what was recorded, ``said`` what it comes from; ``assumed`` is what nothing tells.
    """

    transaction_ns: float
    read_ns: float
    hot: float
    said: str
    busy: float  # share of the processors' time, as recorded
    assumed: tuple[str, ...] = ()

    @property
    def cpu_range(self) -> tuple[float, float]:
        """Multiples between which the CPU of a transaction lies."""
        return cpu_range(self.busy)

    @property
    def read_range(self) -> tuple[float, float]:
        """Multiples between which the CPU of a read lies."""
        if self.assumed:
            return READ_RANGE_NS[0] / READ_NS, READ_RANGE_NS[1] / READ_NS
        return READ_COUNTED_RANGE


def idle_factor(busy: float, idle: float = IDLE) -> float:
    """Return how much more a piece of work takes on a host that the load keeps *busy* for such a share of the time than
    on one that it keeps busy always.
    """
    return 1 + idle * exp(-max(busy, 0.0) / _FADES)


def cpu_range(busy: float) -> tuple[float, float]:
    """Return between which multiples the CPU of a transaction on a busy host lies, which was counted on one that was
    *busy* for such a share of the time.
    """
    least, most = (idle_factor(busy) / idle_factor(busy, idle) for idle in reversed(IDLE_RANGE))
    return least * COUNTED_RANGE[0], most * COUNTED_RANGE[1]


@dataclass(frozen=True)
class Ios:
    """Reads, writes and flushes a second: pages that sessions read, all that sessions did themselves, and all of the
    server.
    """

    reads_per_s: float
    of_sessions_per_s: float
    all_per_s: float


def stolen(time: HostTime) -> tuple[str, ...]:
    """Say whether other virtual machines took so much of the processors' time that costs are not known."""
    share = time.stolen / time.cores
    return (
        (f"{share:.0%} of the CPU time went to other virtual machines (steal), which slowed everything down",)
        if share > _STOLEN
        else ()
    )


def costs_of_host(time: HostTime, transactions_per_s: float, ios: Ios) -> HostCosts:
    """Return what a transaction and a page cost, of what the processors did while so many transactions, and *ios*, were
    done in a second.
    """
    each_ns = NS_PER_S / transactions_per_s
    busy = time.share
    hot = 1 / idle_factor(busy)
    if time.backends is None or time.clients is None:
        rest_ns = max(time.busy * each_ns - READ_NS * ios.reads_per_s / transactions_per_s, 0.0)
        return _assumed(
            hot,
            busy,
            rest_ns,
            "the recording does not say which processes used the CPU; run tiersim record postgres on the server",
        )
    known, of_kernel = time.told, time.of_kernel
    busy = known / time.cores
    hot = 1 / idle_factor(busy)
    if ios.reads_per_s < _TOLD * transactions_per_s:
        return _assumed(hot, busy, known * each_ns, "too few pages were read")
    of_sessions = max(time.backends.kernel - time.clients.kernel, 0.0)
    session_ns, kernel_ns = of_sessions * NS_PER_S / ios.of_sessions_per_s, of_kernel * NS_PER_S / ios.all_per_s
    rest = max(known - of_sessions * ios.reads_per_s / ios.of_sessions_per_s, 0.0)
    lowest, highest = READ_RANGE_NS
    noise_ns = _ALIKE * time.clients.kernel * NS_PER_S / ios.of_sessions_per_s
    told = 1 / (1 + (noise_ns / _READ_SPREAD_NS) ** 2)  # the rest is what is known beforehand
    if lowest <= session_ns + kernel_ns <= highest:
        rest += of_kernel * (1 - ios.reads_per_s / ios.all_per_s)
        read_ns, said = session_ns + kernel_ns, "kernel time of the sessions and of the kernel's threads"
    elif lowest <= session_ns <= highest:
        read_ns, said = (
            session_ns,
            "kernel time of the sessions; that of the kernel's threads is more than storage takes",
        )
    else:
        found_us = (session_ns + kernel_ns) / 1e3
        return _assumed(
            hot, busy, rest * each_ns, f"the kernel's time would give {found_us:,.1f} µs, which no storage takes"
        )
    read_ns = told * read_ns + (1 - told) * READ_NS
    return HostCosts(hot * rest * each_ns, hot * read_ns, hot, said, busy)


def _assumed(hot: float, busy: float, rest_ns: float, why: str) -> HostCosts:
    said = f"CPU of a read: {READ_NS / 1e3:g} µs assumed (1 to 150): {why}"
    return HostCosts(hot * rest_ns, hot * READ_NS, hot, said, busy, (said,))
