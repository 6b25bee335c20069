"""Events as lines of text, printed as blkparse, the kernel and perf print them, and as binary records."""

from pathlib import Path
from typing import NamedTuple

from tests import blktrace_records as binary
from tiersim.traces.bundle import Bundle, Manifest, Requests
from tiersim.traces.readers import import_trace

TRACEPOINTS = {
    "Q": "block_bio_queue",
    "D": "block_rq_issue",
    "C": "block_rq_complete",
    "R": "block_rq_requeue",
    "X": "block_split",
    "I": "block_rq_insert",
}


class Line(NamedTuple):
    """One event; sector and length in sectors, the length of a split is where it is cut."""

    time_us: int
    action: str
    rwbs: str
    sector: int = 0
    sectors: int = 0
    pid: int = 100
    comm: str = "fio"
    minor: int = 0
    error: int = 0

    @property
    def tracepoint_rwbs(self) -> str:
        return "FF" if self.rwbs == "FN" else self.rwbs

    def blkparse(self) -> str:
        seconds, us = divmod(self.time_us, 1_000_000)
        head = (
            f"{7:3d},{self.minor:<3d} {0:2d} {1:8d} {seconds:5d}.{us * 1000:09d} {self.pid:5d} {self.action:>2s}"
            f" {self.rwbs:>3s} "
        )
        if self.action == "X":
            return f"{head}{self.sector} / {self.sectors} [{self.comm}]"
        if self.action in "CR":
            length = f" + {self.sectors}" if self.sectors else ""
            return f"{head}{self.sector}{length} [{self.error}]"
        place = f"{self.sector} + {self.sectors} " if self.sectors else ""
        return f"{head}{place}[{self.comm}]"

    def _tracepoint(self, priority: str) -> str:
        place = f"{self.sector} + {self.sectors}"
        device = f"7,{self.minor} {self.tracepoint_rwbs}"
        if self.action == "Q":
            return f"{device} {place} [{self.comm}]"
        if self.action == "X":
            return f"{device} {self.sector} / {self.sectors} [{self.comm}]"
        if self.action in "DI":
            return f"{device} {self.sectors * 512} () {place}{priority} [{self.comm}]"
        return f"{device} () {place}{priority} [{self.error}]"

    def ftrace(self) -> str:
        seconds, us = divmod(self.time_us, 1_000_000)
        task = f"{self.comm}-{self.pid}"
        return (
            f"{task:>22s}   [000] d.s1. {seconds:5d}.{us:06d}: {TRACEPOINTS[self.action]}:"
            f" {self._tracepoint(' be,0,4')}"
        )

    def old_ftrace(self) -> str:
        """Without priority, flags and microseconds: kernels before 6.2, trace-cmd with ``-t``."""
        seconds, us = divmod(self.time_us, 1_000_000)
        return (
            f"{self.comm}-{self.pid} [001] {seconds}.{us:06d}000: {TRACEPOINTS[self.action]}:    "
            f" {self._tracepoint('')}"
        )

    def perf(self) -> str:
        seconds, us = divmod(self.time_us, 1_000_000)
        return (
            f"{self.comm:>16s} {self.pid:5d} [001] {seconds:5d}.{us:06d}:    block:{TRACEPOINTS[self.action]}:"
            f" {self._tracepoint(' 0x2,0,4')}"
        )

    def record(self) -> bytes:
        device, time_ns = 7 << 20 | self.minor, self.time_us * 1000
        letters = self.rwbs.replace("N", "")
        if self.action == "X":
            return binary.split(time_ns, self.sector, self.sectors, letters, pid=self.pid, device=device)
        # the letters of blkparse say F twice: before the operation a flush, behind it forced unit access
        before, operation, after = _parts(letters)
        letters = before + operation + after.replace("F", "U")
        code = {"Q": binary.Q, "D": binary.D, "C": binary.C, "R": binary.R}[self.action]
        return binary.record(
            code, time_ns, self.sector, self.sectors * 512, letters, pid=self.pid, device=device, error=self.error
        )


def _parts(letters: str) -> tuple[str, str, str]:
    before = "F" if letters.startswith("F") else ""
    rest = letters[len(before) :]
    return before, rest[:1], rest[1:]


def import_text(folder: Path, text: str | bytes, format: str | None = None) -> tuple[Requests, Manifest, Bundle]:
    """Import a text; return rows, manifest and bundle."""
    source = folder / "events.txt"
    source.write_bytes(text.encode() if isinstance(text, str) else text)
    manifest = import_trace([source], folder / "text.trace", format=format, force=True)
    bundle = Bundle(folder / "text.trace")
    return bundle.requests(), manifest, bundle
