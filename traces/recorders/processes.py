"""What processes of this machine use and wait for, from /proc: CPU, and the time for which they were ready and had no
processor.

Linux counts both to the nanosecond for each thread: ``/proc/PID/task/TID/schedstat`` has the time on a processor, the
time in a run queue, and how often it was given a processor (Documentation/scheduler/sched-stats.rst). ``stat`` has user
and system time in ticks (proc(5)).
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path

from tiersim.units import NS_PER_MS

_PROC = Path("/proc")
#: Kinds of process, entities of the subject ``process``.
BACKENDS, HELPERS, LOAD_GENERATOR = "client backends", "server helpers", "load generator"
#: Threads of the kernel, children of kthreadd, which work for everybody's IO; but those that look after memory.
KERNEL = "kernel threads"
_KTHREADD, _OF_MEMORY = 2, ("kcompactd", "kdamond", "khugepaged", "ksmd", "rcu_")
#: Programs that are known as load generators.
_GENERATORS = frozenset({"pgbench", "sysbench", "hammerdbcli", "tclsh8.6"})
#: What stands behind ``postgres:`` in the title of a process that serves no client (PostgreSQL,
#: src/backend/utils/init/miscinit.c, GetBackendTypeDesc).
_HELPERS = (
    "archiver",
    "autovacuum",
    "background",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication",
    "parallel worker",
    "slotsync",
    "startup",
    "stats collector",
    "wal writer",
    "walwriter",
    "walreceiver",
    "walsender",
    "walsummarizer",
)
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 10_000_000
#: Fields of ``stat`` behind the name of the program, which may hold blanks: the parent, the session, user and system
#: time, start in ticks.
_PARENT, _USER, _SYSTEM, _STARTED = 1, 11, 12, 19


@dataclass(frozen=True)
class ProcessUse:
    """What a process used since it began: ns, ns, ns, ns, times."""

    cpu_ns: int = 0
    user_ns: int = 0
    system_ns: int = 0
    run_queue_ns: int = 0
    slices: int = 0

    def __add__(self, other: "ProcessUse") -> "ProcessUse":
        """Return the sum of both."""
        return ProcessUse(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __sub__(self, other: "ProcessUse") -> "ProcessUse":
        """Return by how much this is more."""
        return ProcessUse(*(a - b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


@dataclass
class _Kind:
    used: ProcessUse = field(default_factory=ProcessUse)
    observed_ns: int = 0  # by the clock, while one of them was there


class Processes:
    """Adds up what kinds of process use from one look to the next; what ends between two looks is lost from the first
    of them on.
    """

    def __init__(self, server: int, *, without: int | None = None, proc: Path = _PROC) -> None:
        """Watch the children of the process *server*, a PostgreSQL server, but the one *without*,
        and load generators.
        """
        self._server, self._without, self._proc = server, without, proc
        self._others: set[str] = set()  # processes that do not count
        self._kernel: set[str] = set()  # threads of the kernel
        self._known: dict[tuple[int, int, int], ProcessUse] = {}  # by process, its start and thread
        self._kinds: dict[str, _Kind] = {}
        self._looked_ns: int | None = None

    def look(self, now_ns: int | None = None) -> None:
        """Take in what all processes used since the last look; of those that are new since then, all that they used."""
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        passed_ns = 0 if self._looked_ns is None else now_ns - self._looked_ns
        known: dict[tuple[int, int, int], ProcessUse] = {}
        seen: set[str] = set()
        for process, kind, started in self._processes():
            used = _used_by_kernel(process) if kind == KERNEL else _used(process)
            if not used:
                continue
            seen.add(kind)
            of_kind = self._kinds.setdefault(kind, _Kind())
            for thread, one in used.items():
                key = int(process.name), started, thread
                known[key] = one
                if self._looked_ns is not None:
                    of_kind.used += one - self._known.get(key, ProcessUse())
        for kind in seen:
            self._kinds[kind].observed_ns += passed_ns
        self._known, self._looked_ns = known, now_ns

    def values(self) -> dict[tuple[str, str], dict[str, Decimal | str]]:
        """Return the sums by subject and entity, in the words of ``statistics.parquet``."""
        return {
            ("process", name): {
                "cpu_ms": _ms(kind.used.cpu_ns),
                "user_ms": _ms(kind.used.user_ns),
                "system_ms": _ms(kind.used.system_ns),
                "run_queue_ms": _ms(kind.used.run_queue_ns),
                "slices": Decimal(kind.used.slices),
                "observed_ms": _ms(kind.observed_ns),
            }
            for name, kind in sorted(self._kinds.items())
        }

    def _processes(self) -> list[tuple[Path, str, int]]:
        """Return the processes that count, with their kind and when they began."""
        found = []
        there = {name for name in os.listdir(self._proc) if name.isdigit() and int(name) != self._without}
        self._others &= there
        self._kernel &= there
        for number in sorted(there - self._others):
            process = self._proc / number
            if number in self._kernel:
                found.append((process, KERNEL, 0))
                continue
            try:
                name, fields = _stat(process)
                if int(fields[_PARENT]) == _KTHREADD and not name.startswith(_OF_MEMORY):
                    self._kernel.add(number)
                    found.append((process, KERNEL, 0))
                    continue
                if int(fields[_PARENT]) == self._server:
                    kind = _kind((process / "cmdline").read_text(errors="replace"))
                elif name in _GENERATORS:
                    kind = LOAD_GENERATOR
                else:
                    self._others.add(number)
                    continue
            except OSError:  # it has ended
                continue
            found.append((process, kind, int(fields[_STARTED])))
        return found


def parent_of(process: int) -> int | None:
    """Return the parent of a process; None when that is not to be known."""
    try:
        return int(_stat(_PROC / str(process))[1][_PARENT])
    except OSError:
        return None


def _stat(process: Path) -> tuple[str, list[str]]:
    before, _, behind = (process / "stat").read_text(errors="replace").rpartition(")")
    return before.partition("(")[2], behind.split()


def _kind(title: str) -> str:
    what = title.partition("postgres:")[2].strip()
    named = what.partition(": ")[2] or what  # "cluster name: checkpointer"
    return HELPERS if what.startswith(_HELPERS) or named.startswith(_HELPERS) else BACKENDS


def _used(process: Path) -> dict[int, ProcessUse]:
    """Return what each thread of a process used, and with number 0 the user and system time of all that it ever had;
    nothing when it has ended, or nobody counts.
    """
    found: dict[int, ProcessUse] = {}
    try:
        for thread in (process / "task").iterdir():
            with suppress(OSError):  # one that has just ended
                found[int(thread.name)] = _scheduled(thread)
        fields = _stat(process)[1]
    except (OSError, ValueError):
        return {}
    whole = ProcessUse(0, int(fields[_USER]) * _TICK_NS, int(fields[_SYSTEM]) * _TICK_NS)
    return found | {0: whole} if found else {}


def _used_by_kernel(thread: Path) -> dict[int, ProcessUse]:
    """Return what a thread of the kernel used, all of it there; nothing when it has ended, or nobody counts."""
    try:
        used = _scheduled(thread)
    except (OSError, ValueError):
        return {}
    return {0: replace(used, system_ns=used.cpu_ns)}


def _scheduled(thread: Path) -> ProcessUse:
    cpu_ns, wait_ns, slices = map(int, (thread / "schedstat").read_text().split())
    return ProcessUse(cpu_ns, 0, 0, wait_ns, slices)


def _ms(ns: int) -> Decimal:
    return Decimal(ns) / NS_PER_MS
