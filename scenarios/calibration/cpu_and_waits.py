"""What statements cost the processors, from what the host's processors did while they were recorded.

A transaction costs the host ``busy time / transactions``, whatever its storage was: waits are no part of it. What
reads, writes and flushes cost of that is kernel time: of the sessions beyond what their clients spend there to send and
receive the same messages, and of the kernel's own threads. A page that is read takes as much of it as any other.

**Who has slept is slow.** A session that waited long finds cold caches, and its transaction takes more CPU, whatever it
does (:data:`COLD_NS`); and all that a host does takes the longer the less it is busy (:data:`IDLE_COUNTED`). Measured
on two hosts (8 clients of pgbench on 2 virtual processors; ``benchmarks/real_postgres``): a lookup by key takes 38 µs
of the first one busy, 44 if one in 38 waited for 100 ms, 51 if one in 13 did, 78 if one in 5 did; 45 of the second one
busy, and 82 if one in 12 waited. That is taken off what was counted, by :func:`hot_share`.

**Hosts differ**, and what the kernel does for a slice tells how (:func:`coldness`): it wakes who waited, takes or sends
a message or a request, and puts who waits to sleep, under every load. Where that takes longer, more is lost.
"""

from dataclasses import dataclass
from math import exp

from tiersim.scenarios.calibration.host_time import HostTime, ProcessorUse
from tiersim.units import NS_PER_S

#: By how much more the processors of a host that is hardly used take than busy ones, for the same work, where costs are
#: assumed and nobody counted: and at which share of busy time it is down to a third. Read off 37 cells of two hosts, as
#: much from each; the first alone says 0.95 and 0.05, the second 0.6 and 0.3.
IDLE, _FADES = 0.6, 0.2
#: The same where processors were counted, besides what long waits cost; and what a transaction takes more that has
#: waited for longer than ``LONG_NS``. Read off the same cells together (caps of 250 to 2,000 requests/s, waits of 10 to
#: 100 ms). ``COLD_RANGE`` are multiples of what is taken off: within them, and ``COUNTED_RANGE``, lie all. Nobody
#: measured shorter waits, or a third host.
IDLE_COUNTED, _FADES_COUNTED, COLD_NS, LONG_NS = 0.3, 0.4, 150_000, 10_000_000
COLD_RANGE = (0.3, 2.0)
#: What the kernel does for a slice of a host that loses as much. 7.2 to 8.9 µs on the first host busy and 7.4 to 11.6
#: with caps; 8.9 to 10.3 and 10.1 to 17.4 on two others, whatever the load. So that pairs to no cap of the first and
#: the second are off by as much: transactions come out 8 % too cheap and 3 % too dear in the median, 12 and 5 % if both
#: lose as much. Hosts with less or more than ``_SLICES`` times that were not seen; ``SLICES_RANGE`` is ``COLD_RANGE``
#: of what is then taken off.
SLICE_NS, _SLICES, SLICES_RANGE = 11_000, (0.6, 1.6), (0.4, 1.6)
#: What of both is the server's and the kernel's where clients run elsewhere: of what a transaction takes more behind a
#: cap 0.69 to 0.95, in the median of 35 cells 0.86; its kernel's slice takes 0.74 to 1.25 of what it does with clients,
#: in the median 0.88.
_OF_SERVER, _SLICE_OF_SERVER = 0.86, 0.88
#: Hosts that are busy for a smaller share of the time are the less told by it. A choice: user and system time are
#: divided by the ticks of a clock, which fall together with those of a throttle; on a host that was busy for 1.3 % of
#: the time they left 3 % of what sessions did to the kernel, where nearly all others say 36 to 60 %.
_TICKS_TELL = 0.05
#: The measure of both are hosts that their load keeps busy for at least this share of the time.
_ALWAYS = 0.9
#: What a long wait is taken to last that nobody simulated: a throttling interval of Linux (block/blk-throttle.c).
UNSEEN_NS = 100_000_000
#: The server's other processes work by the second, whatever the rate: 1 to 13 ms of it in every cell. If they take no
#: more than this share of the processors, they are no part of a transaction.
_HELPERS = 0.02
#: What is at least left of a cost: so little that it decides nothing where the rule holds. Of 27 cells with caps none
#: takes less than 0.51 without, nor less than 0.34 by the rule (lookups, one in 5 of which waits).
_LEAST_HOT = 0.2
#: Multiples between which costs lie that were counted: repeats of a measurement are up to 11 % apart
#: (benchmarks/real_postgres), and what reads cost by recordings of one host by more.
COUNTED_RANGE, READ_COUNTED_RANGE = (0.93, 1.08), (0.7, 1.4)
#: The same of what the time tells that sessions of a capped host were awake: of 32 pairs of lookups from capped storage
#: to none, on both hosts, 80 % took 0.92 to 1.23 times the CPU that was predicted, one 1.39 times
#: (benchmarks/real_postgres); of nine cells with counted CPU, and one of another server, 0.63 to 1.36 times.
AWAKE_RANGE = (0.7, 1.4)
#: What one page that is read may cost: a bare device and io_uring, and a virtual disk of a virtual machine with a limit
#: on it.
READ_RANGE_NS = (1_000, 150_000)
#: What it is assumed to cost where nothing tells; the cells of benchmarks/real_postgres say 16 to 45 µs.
READ_NS = 25_000
#: The same of each write and each flush of PostgreSQL's log: as of a page that is read. Calibrations say 0 to 34 µs, in
#: the median 23, of 18 cells without a cap of the log (benchmarks/real_postgres), 63 of another server.
LOG_NS = READ_NS
#: The most that a calibration on a log without a cap said of it: of PostgreSQL 63 µs, of MariaDB's redo log 70.4.
MOST_LOG_NS = 71_000
#: Multiples between which a read, and a write of the log, lie where they are assumed.
READ_RANGE = READ_RANGE_NS[0] / READ_NS, READ_RANGE_NS[1] / READ_NS
LOG_RANGE = READ_RANGE_NS[0] / LOG_NS, MOST_LOG_NS / LOG_NS
#: Processors that others took for more of the time make everything longer than it is.
_STOLEN = 0.05
#: What a message of a client costs PostgreSQL's server besides executions where nobody counted it: to receive, plan and
#: answer it; a commit is one of them. 7 to 19 µs in 21 cells of two hosts without a cap, all of prepared statements
#: (benchmarks/real_postgres), in the median 13.
MESSAGE_NS, MESSAGE_RANGE_NS = 13_000, (7_000, 19_000)
#: What a statement costs besides its execution where its clients are here and nothing tells: so many times as much,
#: and ``ASSUMED_CLIENT_NS`` at least; no client takes less than ``CLIENT_NS``. What more would be no CPU but a wait: as
#: much, and at most. Measured: 0.9 to 4 times the execution of lookups by key, which take 23 µs with their execution on
#: one host, 33 on a second (8 clients; benchmarks/real_postgres).
CLIENT_SHARE, CLIENT_NS, ASSUMED_CLIENT_NS, MOST_CLIENT_SHARE, MOST_CLIENT_NS = 2.0, 20_000, 25_000, 4.0, 100_000
#: What a transaction costs besides that if it begins, changes rows and commits: of updates and TPC-B-like transactions
#: on the same hosts, without a cap, 65 and 96 µs are left beside their statements, pages, and writes of the log.
LEAST_COMMIT_NS, COMMIT_NS = 65_000, 80_000
#: The same without the messages that begin and commit it, as so many messages of a client: of a commit, and of each
#: statement that changes rows, besides its execution.
COMMIT_MESSAGES, CHANGE_MESSAGES = 1.3, 0.4
#: Multiples between which the CPU of clients lies that their sessions' waits for them tell: of 83 pairs from capped
#: storage to none, on both hosts, 80 % took 0.81 to 1.16 times the CPU of a transaction that was predicted, all 0.6 to
#: 1.25 times (benchmarks/real_postgres).
GAPS_RANGE = (0.7, 1.3)
#: Multiples between which the CPU of statements and clients lies where it is assumed: transactions of 9 cells with caps
#: took 0.8 to 1.6 times as much (benchmarks/real_postgres).
ASSUMED_RANGE = (0.5, 2.5)
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
    cpu_range: tuple[float, float]  # multiples between which the CPU of a transaction lies
    assumed: tuple[str, ...] = ()

    @property
    def read_range(self) -> tuple[float, float]:
        """Multiples between which the CPU of a read lies."""
        return READ_RANGE if self.assumed else READ_COUNTED_RANGE


def idle_factor(busy: float) -> float:
    """Return how much more a piece of work takes on a host that the load keeps *busy* for such a share of the time than
    on one that it keeps busy always.
    """
    return 1 + IDLE * exp(-max(busy, 0.0) / _FADES)


def hot_share(counted_ns: float, long_waits: float, busy: float = 1.0, times: float = 1.0) -> float:
    """Return which share of the CPU that a transaction was counted to take it takes on a busy host, if it
    has so many long waits and its host was *busy* for such a share of the time; *times* as much may be lost by both.
    """
    slept = max(1 - times * COLD_NS * min(long_waits, 1.0) / counted_ns, _LEAST_HOT) if counted_ns > 0 else 1.0
    idle = max(exp(-max(busy, 0.0) / _FADES_COUNTED) - exp(-_ALWAYS / _FADES_COUNTED), 0.0)
    return slept / (1 + times * IDLE_COUNTED * idle)


def most_client_ns(mean_ns: float) -> float:
    """Return the most that a client takes for a statement whose execution takes *mean_ns*; more is a wait."""
    return max(MOST_CLIENT_SHARE * mean_ns, MOST_CLIENT_NS)


def assumed_client_ns(mean_ns: float) -> float:
    """Return what a client is assumed to take for a statement whose execution takes *mean_ns*, which may hold waits."""
    return min(max(CLIENT_SHARE * mean_ns, ASSUMED_CLIENT_NS), MOST_CLIENT_NS)


def coldness(slice_ns: float | None, busy: float) -> float:
    """Return how many times as much long waits and idle processors cost on a host whose kernel takes *slice_ns* for a
    slice, and that was *busy* for such a share of the time; 1 where nobody counted slices.
    """
    if slice_ns is None:
        return 1.0
    lowest, highest = _SLICES
    return 1 + min(busy / _TICKS_TELL, 1) * (min(max(slice_ns / SLICE_NS, lowest), highest) - 1)


def cpu_range(
    counted_ns: float, long_waits: float, most_waits: float = 0.0, busy: float = 1.0, slice_ns: float | None = None
) -> tuple[float, float]:
    """Return between which multiples the CPU of a transaction on a busy host lies that was counted like that.

    Where the rule would leave less than anything was seen to take, or it is not known how often sessions waited, at
    most *most_waits* times, it may be all that was counted.
    """
    cold, multiples = coldness(slice_ns, busy), COLD_RANGE if slice_ns is None else SLICES_RANGE
    hot = hot_share(counted_ns, long_waits, busy, cold)
    least, most = (hot_share(counted_ns, long_waits, busy, cold * times) / hot for times in reversed(multiples))
    if hot_share(counted_ns, long_waits, times=cold) <= _LEAST_HOT or most_waits > long_waits:
        most = 1 / hot
    if most_waits > long_waits:
        least = min(least, hot_share(counted_ns, most_waits, busy, cold) / hot)
    return least * COUNTED_RANGE[0], most * COUNTED_RANGE[1]


@dataclass(frozen=True)
class Ios:
    """Reads, writes and flushes a second: pages that sessions read, all that sessions did themselves, and all of the
    server; pages that its other processes wrote, which are no part of a transaction.
    """

    reads_per_s: float
    of_sessions_per_s: float
    all_per_s: float
    of_others_per_s: float = 0.0


def stolen(time: HostTime) -> tuple[str, ...]:
    """Say whether other virtual machines took so much of the processors' time that costs are not known."""
    share = time.stolen / time.cores
    return (
        (f"{share:.0%} of the CPU time went to other virtual machines (steal), which slowed everything down",)
        if share > _STOLEN
        else ()
    )


def costs_of_host(
    time: HostTime, transactions_per_s: float, ios: Ios, long_waits: float = 0.0, most_waits: float = 0.0
) -> HostCosts:
    """Return what a transaction and a page cost, of what the processors did while so many transactions, and *ios*, were
    done in a second; in a transaction were so many *long_waits*, or up to *most_waits* where that is more.
    """
    rest_ns, read_ns, said = _as_counted(time, NS_PER_S / transactions_per_s, ios)
    of_both, of_slice = (_OF_SERVER, _SLICE_OF_SERVER) if time.is_of_server else (1.0, 1.0)
    assumed = (said,) if read_ns is None else ()
    read_ns = READ_NS if read_ns is None else read_ns
    counted_ns = (rest_ns + read_ns * ios.reads_per_s / transactions_per_s) / of_both
    busy, slice_ns = time.own_share, None if time.slice_ns is None else time.slice_ns / of_slice
    hot = hot_share(counted_ns, long_waits, busy, coldness(slice_ns, busy))
    bounds = cpu_range(counted_ns, long_waits, most_waits, busy, slice_ns)
    return HostCosts(hot * rest_ns, hot * read_ns, hot, said, bounds, assumed)


def _as_counted(time: HostTime, each_ns: float, ios: Ios) -> tuple[float, float | None, str]:
    """Return what a transaction took, of which *each_ns* was one's share of the time, and what a page did; None if
    nothing tells, and why, else from what it is known.
    """
    if time.backends is None or not (time.clients is not None or time.is_of_server):
        return (
            max(time.busy - READ_NS * ios.reads_per_s / NS_PER_S, 0.0) * each_ns,
            None,
            _not_told(
                "the recording does not say which processes used the CPU; run tiersim record postgres on the server"
            ),
        )
    known, of_kernel = time.told, time.of_kernel
    if time.helpers is not None and time.helpers.all <= _HELPERS * time.cores:
        known -= time.helpers.all
    if ios.reads_per_s * each_ns < _TOLD * NS_PER_S:
        return known * each_ns, None, _not_told("too few pages were read")
    for_messages = _for_messages(time.backends, time.clients, ios)
    of_sessions = max(time.backends.kernel - for_messages, 0.0)
    session_ns, kernel_ns = of_sessions * NS_PER_S / ios.of_sessions_per_s, of_kernel * NS_PER_S / ios.all_per_s
    rest = max(known - of_sessions * ios.reads_per_s / ios.of_sessions_per_s, 0.0)
    lowest, highest = READ_RANGE_NS
    noise_ns = _ALIKE * for_messages * NS_PER_S / ios.of_sessions_per_s
    told = 1 / (1 + (noise_ns / _READ_SPREAD_NS) ** 2)  # the rest is what is known beforehand
    if lowest <= session_ns + kernel_ns <= highest:
        rest += of_kernel * (1 - (ios.reads_per_s + ios.of_others_per_s) / ios.all_per_s)
        read_ns, said = session_ns + kernel_ns, "kernel time of the sessions and of the kernel's threads"
    elif lowest <= session_ns <= highest:
        read_ns, said = (
            session_ns,
            "kernel time of the sessions; that of the kernel's threads is more than storage takes",
        )
    else:
        found_us = (session_ns + kernel_ns) / 1e3
        return (
            rest * each_ns,
            None,
            _not_told(f"the kernel's time would give {found_us:,.1f} µs, which no storage takes"),
        )
    return rest * each_ns, told * read_ns + (1 - told) * READ_NS, said


def _for_messages(sessions: ProcessorUse, clients: ProcessorUse | None, ios: Ios) -> float:
    """Return how many processors the kernel kept busy for messages of *sessions*: as many as for those of *clients*.
    Where these are elsewhere, each slice takes as much, one of a message and one of a read or write.
    """
    if clients is not None:
        return clients.kernel
    if not sessions.slices_per_s:  # a read takes what is assumed
        return sessions.kernel
    return sessions.kernel * max(1 - ios.of_sessions_per_s / sessions.slices_per_s, 0.0)


def _not_told(why: str) -> str:
    return f"CPU of a read: {READ_NS / 1e3:g} µs assumed (1 to 150): {why}"
