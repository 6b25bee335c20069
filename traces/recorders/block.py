"""Records the requests of a block device with what the machine has: blktrace(8), the kernel's blk tracer, or its
tracepoints.

All three are bounded in time and size. Tracers and switches that were changed are put back, also on Ctrl-C.
"""

import os
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

from tiersim.errors import NoRequestError, RecordingError, TraceError, reason
from tiersim.files import check_target
from tiersim.traces.bundle import Manifest
from tiersim.traces.readers import import_trace
from tiersim.traces.recorders.local_host import device_of
from tiersim.traces.recorders.tracefs import BUFFER_KIB, Tracefs, tracefs

_POLL_S = 0.2
#: blktrace has so long to write what it holds.
_PATIENCE_S = 30
#: Tracepoints that pair requests; see the reader of ftrace's text.
_TRACEPOINTS = (
    "block_bio_queue", "block_split", "block_rq_insert", "block_rq_issue", "block_rq_requeue", "block_rq_complete",
    "block_bio_complete",
)  # fmt: skip
_PROCESS_NAMES = 8192
_RECORD = struct.Struct("=IIQQIIIIIHH")
_MAGIC, _NOTIFY_PROCESS, _NAME_BYTES = 0x65617407, 0x0400_0000, 16


@dataclass(frozen=True)
class BlockDevice:
    """A block device: its name in messages, and its number."""

    path: Path
    major: int
    minor: int

    @property
    def sys(self) -> Path:
        """The folder of sysfs that has its switches."""
        return Path(f"/sys/dev/block/{self.major}:{self.minor}")


@dataclass(frozen=True)
class Bounds:
    """When a recording ends: after so many seconds or bytes, or when *ended* is set."""

    length_s: float
    most_bytes: int
    ended: Event

    def clock(self) -> Callable[[], bool]:
        """Return what says whether it goes on, beginning now."""
        end = time.monotonic() + self.length_s
        return lambda: not self.ended.is_set() and time.monotonic() < end


@dataclass(frozen=True)
class Raw:
    """Files as the kernel wrote them, and what must be said of them."""

    files: Sequence[Path]
    warnings: Sequence[str]
    lost_events: int = 0


def block_device(path: Path) -> BlockDevice:
    """Return the device at *path*; raises RecordingError when there is none."""
    try:
        found = path.stat()
    except OSError as error:
        raise RecordingError(
            f"{path}: cannot be found ({reason(error)}); name a block device such as /dev/sdb"
        ) from None
    if not stat.S_ISBLK(found.st_mode):
        raise RecordingError(f"{path}: is no block device; name one such as /dev/sdb (lsblk lists them)")
    return BlockDevice(path, os.major(found.st_rdev), os.minor(found.st_rdev))


def record_block(path: Path, target: Path, bounds: Bounds, *, force: bool = False) -> Manifest:
    """Record the device at *path* into a new bundle at *target* and return its manifest.

    Raises RecordingError when the device cannot be recorded, had no request, or gave what cannot be imported, and
    OutputError when *target* cannot be written.
    """
    check_target(target, force=force)
    device = block_device(path)
    with tempfile.TemporaryDirectory(prefix=".tiersim-", dir=target.absolute().parent) as folder:
        unix_minus_clock_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw = _recorded(device, Path(folder), bounds)

        def complete(fields: dict[str, Any]) -> None:
            clock_start_unix_ns = fields["host"]["clock_start_ns"] + unix_minus_clock_ns
            fields["host"] = {**fields["host"], "clock_start_unix_ns": clock_start_unix_ns}
            fields["warnings"] = [*fields["warnings"], *raw.warnings]
            if device_of(target.absolute().parent) == device.sys.resolve().name:
                fields["warnings"].append(
                    "the recording was written to the device that it is of, and holds these writes, too"
                )
            if raw.lost_events:
                why, lost = "events lost while recording", raw.lost_events
                fields["dropped"] = {**fields["dropped"], why: fields["dropped"].get(why, 0) + lost}
                fields["warnings"].append(f"{lost:,} events were lost while recording: the kernel's buffers were full")

        try:
            return import_trace(raw.files, target, force=force, amend=complete)
        except TraceError as error:
            recorded = any(file.stat().st_size for file in Path(folder).iterdir())
            if recorded and not isinstance(error, NoRequestError):
                raise RecordingError(f"{path}: was recorded, and the import failed: {error}") from None
            raise RecordingError(f"{path}: had no request while it was recorded; record while the load runs") from None


def commands(path: Path, length_s: float) -> list[str]:
    """Return what one runs by hand instead."""
    return [
        f"blktrace -d {path} -w {length_s:.0f} -o recorded",
        "tiersim import recorded.blktrace.0 -o NAME.trace",
        "",
        "# where blktrace is not installed, or the kernel refuses it, as root:",
        "cd /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing && cd /sys/kernel/tracing",
        "mkdir instances/tiersim && cd instances/tiersim",
        f"echo mono > trace_clock; echo {BUFFER_KIB} > buffer_size_kb",
        *(
            f"echo 'dev == '$(($(stat -c 0x%t {path}) << 20 | $(stat -c 0x%T {path}))) > events/block/{name}/filter; "
            f"echo 1 > events/block/{name}/enable"
            for name in _TRACEPOINTS
        ),
        f"timeout {length_s:.0f} cat trace_pipe > /var/tmp/recorded.txt",
        "echo 0 > events/enable; cd ../..; rmdir instances/tiersim",
        "tiersim import /var/tmp/recorded.txt -o NAME.trace",
    ]


def _recorded(device: BlockDevice, folder: Path, bounds: Bounds) -> Raw:
    """Record with the first of the three ways that the machine allows."""
    if shutil.which("blktrace"):
        raw = _by_blktrace(device, folder, bounds)
        if raw is not None:
            return raw
    with tracefs() as system:
        free = system.read("current_tracer").strip() == "nop"
        if free and "blk" in system.read("available_tracers").split() and (device.sys / "trace/enable").exists():
            return _by_tracer(system, device, folder, bounds)
        return _by_tracepoints(system, device, folder, bounds)


def _by_blktrace(device: BlockDevice, folder: Path, bounds: Bounds) -> Raw | None:
    """Run blktrace(8); None when it cannot record here."""
    goes_on = bounds.clock()
    command = ["blktrace", "-d", str(device.path), "-D", str(folder), "-o", "recorded"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    full = False
    try:
        while process.poll() is None and goes_on() and not full:
            bounds.ended.wait(_POLL_S)
            full = sum(path.stat().st_size for path in folder.iterdir()) >= bounds.most_bytes
    finally:
        early = process.poll() is not None
        if not early:
            process.send_signal(signal.SIGINT)
            _wait(process)
    files = sorted(folder.glob("recorded.blktrace.*"))
    if early or not files:
        for path in files:
            path.unlink()
        return None
    return Raw(files[:1], _fullness(full))


def _wait(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _by_tracer(system: Tracefs, device: BlockDevice, folder: Path, bounds: Bounds) -> Raw:
    """Record binary with the tracer ``blk``, which is there once for all."""
    stream, names = folder / "stream", folder / "names"
    switch = device.sys / "trace/enable"
    system.change("tracing_on", "0")
    system.change("current_tracer", "blk")
    settings = {"trace_clock": "mono", "options/blk_classic": "0", "options/bin": "1", "options/context-info": "0"}
    for name, value in settings.items():
        system.change(name, value)
    system.change("buffer_size_kb", str(BUFFER_KIB))
    system.change("saved_cmdlines_size", str(_PROCESS_NAMES))
    system.write("trace", "")
    system.undoing.callback(system.write, "trace", "")
    before = switch.read_text().strip()
    system.undoing.callback(switch.write_text, before)
    switch.write_text("1")
    system.write("tracing_on", "1")

    def stop() -> None:
        switch.write_text("0")
        system.write("tracing_on", "0")

    with stream.open("wb") as file:
        whole = system.copy(file, bounds.most_bytes, bounds.clock(), stop)
    names.write_bytes(_names(system.read("saved_cmdlines"), stream))
    return Raw([names, stream], _fullness(not whole), system.lost_events())


def _by_tracepoints(system: Tracefs, device: BlockDevice, folder: Path, bounds: Bounds) -> Raw:
    """Record the text of tracepoints in an instance of its own; they name the disk of what goes to a partition."""
    if (device.sys / "partition").exists():
        disk = device.sys.resolve().parent.name
        raise RecordingError(
            f"{device.path}: is a partition, which this kernel cannot record by itself; record /dev/{disk}"
        )
    text = folder / "text"
    own = system.instance(f"tiersim-{os.getpid()}")
    own.write("trace_clock", "mono")
    own.write("buffer_size_kb", str(BUFFER_KIB))
    there = [name for name in _TRACEPOINTS if (own.folder / "events/block" / name).is_dir()]
    for name in there:
        own.write(f"events/block/{name}/filter", f"dev == {device.major << 20 | device.minor}")
        own.change(f"events/block/{name}/enable", "1")

    def stop() -> None:
        for name in there:
            own.write(f"events/block/{name}/enable", "0")

    with text.open("wb") as file:
        whole = own.copy(file, bounds.most_bytes, bounds.clock(), stop)
    return Raw([text], _fullness(not whole), own.lost_events())


def _names(saved: str, stream: Path) -> bytes:
    """Return the names of processes, ``PID NAME`` a line, as blktrace(8) writes them, at the time
    of the first event.
    """
    with stream.open("rb") as file:
        start = file.read(_RECORD.size)
    if len(start) < _RECORD.size:
        return b""
    first_ns = _RECORD.unpack(start)[2]
    found = b""
    for line in saved.splitlines():
        pid, _, name = line.strip().partition(" ")
        if pid.isdigit():
            found += _RECORD.pack(_MAGIC, 0, first_ns, 0, 0, _NOTIFY_PROCESS, int(pid), 0, 0, 0, _NAME_BYTES)
            found += name.encode(errors="replace")[: _NAME_BYTES - 1].ljust(_NAME_BYTES, b"\0")
    return found


def _fullness(full: bool) -> list[str]:
    return ["the recording reached its largest size and ended early; --max-size sets it"] if full else []
