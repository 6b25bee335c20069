"""The kernel's tracefs: found or mounted, changed for a recording, and put back as it was, whatever happens.

Documentation/trace/ftrace.rst, block/blk-tracer, events.rst of the kernel say what the files are.
"""

import os
import select
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from tiersim.errors import RecordingError, reason

#: Trace buffer of each processor.
BUFFER_KIB = 16_384
#: Where systems mount it for good; a mount elsewhere may be somebody's own, and go while this records.
_PLACES = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_READ_BYTES = 1 << 20
_POLL_MS = 200


class Tracefs:
    """A folder of tracefs; ``undoing`` is what puts back, last first, what was changed."""

    def __init__(self, folder: Path, undoing: ExitStack) -> None:
        """Work in *folder*."""
        self.folder = folder
        self.undoing = undoing

    def read(self, name: str) -> str:
        """Return what a file says."""
        return (self.folder / name).read_text(encoding="utf-8", errors="replace")

    def write(self, name: str, value: str) -> None:
        """Write to a file; raises OSError."""
        path = self.folder / name
        with path.open("w", encoding="utf-8") as file:
            file.write(f"{value}\n")

    def change(self, name: str, value: str) -> None:
        """Write to a file, which gets back what it says now."""
        before = _chosen(self.read(name))
        self.undoing.callback(self._put_back, name, before)
        self.write(name, value)

    def instance(self, name: str) -> "Tracefs":
        """Make an instance of its own, with buffers and switches apart from everybody's; it goes in the end."""
        folder = self.folder / "instances" / name
        folder.mkdir()
        self.undoing.callback(folder.rmdir)
        return Tracefs(folder, self.undoing)

    def copy(self, to: BinaryIO, most_bytes: int, goes_on: Callable[[], bool], stop: Callable[[], None]) -> bool:
        """Copy what is traced, until *goes_on* says no, then *stop* and copy the rest; return whether all had place."""
        pipe = os.open(self.folder / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        try:
            while goes_on() and to.tell() < most_bytes:
                poll.poll(_POLL_MS)
                _copy_what_is_there(pipe, to, most_bytes)
            stop()
            _copy_what_is_there(pipe, to, most_bytes)
            return to.tell() < most_bytes
        finally:
            os.close(pipe)

    def lost_events(self) -> int:
        """Count the events that the buffers had no place for."""
        lines = [line.split(":") for path in self.folder.glob("per_cpu/cpu*/stats") for line in _lines(path)]
        return sum(int(value) for name, value in lines if name in ("overrun", "dropped events"))

    def _put_back(self, name: str, value: str) -> None:
        with suppress(OSError):
            self.write(name, value)


@contextmanager
def tracefs() -> Iterator[Tracefs]:
    """Yield tracefs, mounted for as long as this lasts if it was not; raises RecordingError when it cannot be had."""
    mounts = [line.split() for line in _lines(Path("/proc/mounts"))]
    mounted = [place for _, place, kind, *_ in mounts if kind == "tracefs" and place in _PLACES]
    with tempfile.TemporaryDirectory(prefix="tiersim-tracefs-") as place:
        folder = Path(mounted[0] if mounted else place)
        if not mounted:
            _run("mount", "-t", "tracefs", "nodev", place)
        try:
            with ExitStack() as undoing:
                yield Tracefs(folder, undoing)
        except OSError as error:
            raise RecordingError(
                f"the kernel's tracefs does not do {error.filename or 'what is needed'} ({reason(error)}); record as"
                " root, or where the kernel may trace"
            ) from None
        finally:
            if not mounted:
                _run("umount", "--lazy", place)  # who still looks at it must not keep it here: the folder is deleted


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RecordingError(
            f"{command[0]} of the kernel's tracefs was refused ({done.stderr.strip()}); record as root"
        )


def _copy_what_is_there(pipe: int, to: BinaryIO, most_bytes: int) -> None:
    with suppress(BlockingIOError):
        while to.tell() < most_bytes and (piece := os.read(pipe, _READ_BYTES)):
            to.write(piece)


def _chosen(text: str) -> str:
    """Return the value that a file of tracefs stands at: ``[mono]`` among others, ``1408``, or ``7
    (expanded: 1408)``.
    """
    words = text.split()
    return next((word[1:-1] for word in words if word.startswith("[")), words[0] if words else "")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
