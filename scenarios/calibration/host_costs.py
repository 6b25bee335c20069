"""What statements cost the processors, from what the host's processors did while they were recorded.

A transaction costs the host ``busy time / transactions``, whatever its storage was: waits are no part of it. What a page that is read costs of that is kernel
time: of the sessions beyond what their clients spend there to send and receive the same messages, and of the kernel's own threads.

**Idle processors are slow.** Who has slept finds cold caches, and wakes a halted processor first. Measured: a lookup by key takes 25 µs of a busy host and 47 of one
that is busy for 7 % of the time (8 clients of pgbench on 2 virtual processors; ``benchmarks/real_postgres``). So costs from an idle host are taken down, by
:func:`idle_factor`, to what they are on a busy one.
"""

from dataclasses import dataclass

from tiersim.scenarios.calibration.host_time import HostTime
from tiersim.units import NS_PER_S

#: By how much more an idle host's processors take than busy ones, for the same work.
IDLE = 0.8
#: What one page that is read may cost: a bare device and io_uring, and a virtual disk of a virtual machine with a limit on it.
READ_RANGE_NS = (1_000, 150_000)
#: What it is taken to cost where nothing tells.
READ_NS = 25_000
#: What a statement costs besides its execution where its clients are here and nothing tells: so many times as much. Measured: 0.9 to 4 times (lookups by key, 8 clients).
CLIENT_SHARE = 2.0
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
    assumed: tuple[str, ...] = ()


def idle_factor(busy: float) -> float:
    """Return how much more a piece of work takes on a host that is *busy* for such a share of the time than on one that always is."""
    return 1 + IDLE * (1 - min(max(busy, 0.0), 1.0))


def costs_of_host(time: HostTime, transactions_per_s: float, reads_per_s: float) -> HostCosts:
    """Return what a transaction and a page cost, of what the processors did while so many of both were done in a second."""
    hot = 1 / idle_factor(time.share)
    if time.backends is None or time.clients is None:
        all_ns = time.busy * NS_PER_S / transactions_per_s
        rest_ns = max(all_ns - READ_NS * reads_per_s / transactions_per_s, 0.0)
        return _assumed(hot, rest_ns, "nobody counted who used the processors")
    known = sum(one.all for one in (time.backends, time.helpers, time.clients) if one is not None)
    of_sessions = max(time.backends.kernel - time.clients.kernel, 0.0)
    if reads_per_s < _TOLD * transactions_per_s:
        rest_ns = known * NS_PER_S / transactions_per_s
        return _assumed(hot, rest_ns, "too few pages were read")
    rest_ns = max(known - of_sessions, 0.0) * NS_PER_S / transactions_per_s
    of_sessions_ns, of_kernel_ns = (one * NS_PER_S / reads_per_s for one in (of_sessions, max(time.busy - known, 0.0)))
    lowest, highest = READ_RANGE_NS
    read_ns, said = of_sessions_ns + of_kernel_ns, "of the kernel's time for sessions and for itself"
    if not lowest <= read_ns <= highest:
        read_ns, said = (
            of_sessions_ns,
            "of the kernel's time for sessions; beside them the host did what no storage takes",
        )
    if not lowest <= read_ns <= highest:
        found_us = (of_sessions_ns + of_kernel_ns) / 1e3
        return _assumed(hot, rest_ns, f"{found_us:,.1f} µs come out of the kernel's time, which no storage takes")
    return HostCosts(hot * rest_ns, hot * read_ns, hot, f"CPU of a read: {read_ns / 1e3:,.1f} µs, {said}")


def _assumed(hot: float, rest_ns: float, why: str) -> HostCosts:
    said = f"CPU of a read: {READ_NS / 1e3:g} µs assumed (1 to 150): {why}"
    return HostCosts(hot * rest_ns, hot * READ_NS, hot, said, (said,))
