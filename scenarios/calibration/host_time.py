"""What the processors of the recorded host did on average, by whom they were used; what nobody counted is None."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from tiersim.traces.differences import Differences, EntityChange
from tiersim.traces.recorders.processes import BACKENDS, HELPERS, KERNEL, LOAD_GENERATOR
from tiersim.units import NS_PER_MS, NS_PER_S

_INTERRUPTS = ("interrupt_ms", "soft_interrupt_ms")
_BUSY = ("user_ms", "nice_ms", "system_ms", *_INTERRUPTS)
_ALL = (*_BUSY, "idle_ms", "io_wait_ms", "steal_ms")


@dataclass(frozen=True)
class ProcessorUse:
    """Processors that one kind of process kept busy on average: all of their time, that in the kernel, and how many
    more they waited for; and how often in a second one of them was given a processor.
    """

    all: float
    kernel: float
    waited: float
    slices_per_s: float = 0.0


@dataclass(frozen=True)
class HostTime:
    """Processors that were busy on average, in anybody's work and in interrupts; of whom it is known, by whom."""

    cores: int
    busy: float
    interrupts: float
    stolen: float  # by other virtual machines
    backends: ProcessorUse | None = None
    helpers: ProcessorUse | None = None
    clients: ProcessorUse | None = None
    threads: ProcessorUse | None = None  # of the kernel
    is_of_server: bool = False  # without clients

    def of_server(self) -> Self | None:
        """Return what the server and the kernel did for it, whose clients run elsewhere; None where nobody counted what
        sessions used. Threads of the kernel that were not counted count as 0.
        """
        if self.backends is None:
            return None
        alone = replace(self, clients=None, is_of_server=True)
        of_kernel = 0.0 if self.threads is None else alone.of_kernel
        return replace(alone, busy=min(alone.told + of_kernel, self.busy))

    @property
    def is_told(self) -> bool:
        """Tell whether it is known what sessions used, and what the load generator did."""
        return self.backends is not None and self.clients is not None

    @property
    def told(self) -> float:
        """Processors that those processes kept busy of which it is known."""
        return sum(one.all for one in (self.backends, self.helpers, self.clients) if one is not None)

    @property
    def of_kernel(self) -> float:
        """Processors that the kernel kept busy for no process: its threads and interrupts.

        Where nobody counted the threads, what is left of busy time, which is counted in ticks of a clock that stands
        still on idle processors: good where these are busy.
        """
        if self.threads is not None:
            return self.threads.all + self.interrupts
        return max(self.busy - self.told, 0.0)

    @property
    def slice_ns(self) -> float | None:
        """What the kernel does for a slice, of all whose slices were counted; None where those of sessions, or of
        clients that are here, were not.
        """
        own = [self.backends] if self.is_of_server else [self.backends, self.clients]
        if not all(one is not None and one.slices_per_s for one in own):
            return None
        counted = [one for one in [*own, self.threads] if one is not None and one.slices_per_s]
        return NS_PER_S * sum(one.kernel for one in counted) / sum(one.slices_per_s for one in counted)

    @property
    def share(self) -> float:
        """The share of the processors' time in which they were busy."""
        return self.busy / self.cores

    @property
    def own_share(self) -> float:
        """The share in which they were busy for the server, its load generator or the kernel; where that is not known,
        for anybody.
        """
        return min(self.busy, self.told + self.of_kernel) / self.cores if self.is_told else self.share


def recorded_host_time(found: Differences, cores: int) -> HostTime | None:
    """Return what was counted of a host of so many *cores*; None when nobody counted its processors twice."""
    hosts = list(found.of("processor").values())
    if not hosts or found.snapshots.get("processor", 0) < 2:
        return None
    span_ms = _sum(hosts, _ALL) / cores
    if span_ms <= 0:
        return None
    processes = found.of("process")
    return HostTime(
        cores=cores,
        busy=_sum(hosts, _BUSY) / span_ms,
        interrupts=_sum(hosts, _INTERRUPTS) / span_ms,
        stolen=_sum(hosts, ("steal_ms",)) / span_ms,
        backends=_used(processes.get(BACKENDS)),
        helpers=_used(processes.get(HELPERS)),
        clients=_used(processes.get(LOAD_GENERATOR)),
        threads=_used(processes.get(KERNEL)),
    )


def _sum(changes: Iterable[EntityChange], names: Iterable[str]) -> float:
    return sum(float(change.grown.get(name, 0)) for change in changes for name in names)


def _used(change: EntityChange | None) -> ProcessorUse | None:
    observed_ms = 0.0 if change is None else float(change.grown.get("observed_ms", 0))
    if change is None or observed_ms <= 0:
        return None
    cpu, kernel, waited, slices = (
        float(change.grown.get(name, 0)) / observed_ms for name in ("cpu_ms", "system_ms", "run_queue_ms", "slices")
    )
    return ProcessorUse(cpu, min(kernel, cpu), waited, slices * NS_PER_S / NS_PER_MS)
