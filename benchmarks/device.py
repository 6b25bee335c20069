"""A file as a block device with a file system on it, and a cap on its requests.

The cap is ``blkio.throttle`` of the root group of cgroup v1: it holds for whatever is sent to the device, also what the
kernel writes back by itself, which belongs to no server's group.
"""

import mmap
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.commands import run
from benchmarks.errors import BenchError

_THROTTLE = Path("/sys/fs/cgroup/blkio")
_FILES = [_THROTTLE / f"blkio.throttle.{direction}_iops_device" for direction in ("read", "write")]
_PAGE_BYTES, _PROBES = 8192, 4000
#: As large as a segment of the log, and as many of its writes are timed.
_SEGMENT_BYTES, _SYNCS = 16 << 20, 1000
#: What ``/sys/block/*/stat`` counts (Documentation/block/stat.rst), by its place there.
REQUESTS = {"reads": 0, "sectors_read": 2, "writes": 4, "sectors_written": 6, "flushes": 15}
_TIMES = {"read": 3, "write": 7, "flush": 16}


def check() -> None:
    """Raise BenchError where devices cannot be made or capped."""
    for file in _FILES:
        if not file.exists():
            raise BenchError(f"{file} is not there; mount cgroup v1: mount -t cgroup -o blkio none {_THROTTLE}")
    for program in ("losetup", "mkfs.ext4", "mount", "umount", "findmnt"):
        if shutil.which(program) is None:
            raise BenchError(f"{program} is not there; install util-linux and e2fsprogs")


@dataclass(frozen=True)
class Device:
    """A loop device, mounted."""

    path: str
    mount: Path

    @property
    def _system(self) -> Path:
        return Path("/sys/block") / Path(self.path).name

    def cap(self, iops: int | None) -> None:
        """Let so many reads and as many writes pass in a second; a flush is a write. None: as many as come."""
        number = (self._system / "dev").read_text().strip()
        for file in _FILES:
            file.write_text(f"{number} {iops or 0}\n")

    def counted(self) -> dict[str, int]:
        """Requests so far."""
        return self._stat(REQUESTS)

    def times_ms(self) -> dict[str, int]:
        """How long all reads, writes and flushes so far took together."""
        return self._stat(_TIMES)

    def _stat(self, places: Mapping[str, int]) -> dict[str, int]:
        fields = (self._system / "stat").read_text().split()
        return {name: int(fields[place]) for name, place in places.items()}


def latency_ns(file: Path, page_bytes: int = _PAGE_BYTES) -> int:
    """Return the median time of reads of a page of a file on the device, one after the other, past the page cache."""
    pages = file.stat().st_size // page_bytes
    draw = random.Random(1)
    page = mmap.mmap(-1, page_bytes)  # aligned, as direct IO wants it
    opened = os.open(file, os.O_RDONLY | os.O_DIRECT)
    try:
        took = []
        for _ in range(_PROBES):
            offset = page_bytes * draw.randrange(pages)
            began = time.perf_counter_ns()
            os.preadv(opened, [page], offset)
            took.append(time.perf_counter_ns() - began)
    finally:
        os.close(opened)
        page.close()
    return round(median(took))


def log_times_ns(folder: Path) -> dict[str, int]:
    """Return how long a device takes for a log in *folder*, medians of writes one after the other over a file that is
    there: ``write``, of a page past the page cache, ``write_synced`` with an fdatasync behind it; ``synced`` and
    ``synced_64k``, of a page and of 64 KiB by way of the page cache, with the fdatasync.
    """
    file = folder / "probe"
    file.write_bytes(bytes(_SEGMENT_BYTES))
    try:
        opened = os.open(file, os.O_RDWR)
        try:
            os.fsync(opened)
            synced = {
                "synced": _median_ns(opened, bytes(_PAGE_BYTES), os.fdatasync),
                "synced_64k": _median_ns(opened, bytes(8 * _PAGE_BYTES), os.fdatasync),
            }
        finally:
            os.close(opened)
        opened = os.open(file, os.O_WRONLY | os.O_DIRECT)
        try:
            with mmap.mmap(-1, _PAGE_BYTES) as page:
                return {
                    "write": _median_ns(opened, page, lambda _: None),
                    "write_synced": _median_ns(opened, page, os.fdatasync),
                } | synced
        finally:
            os.close(opened)
    finally:
        file.unlink()


def _median_ns(opened: int, data: bytes | mmap.mmap, behind: Callable[[int], None]) -> int:
    """Return the median time of a write of *data* and what comes *behind* it, along the file."""
    took = []
    for number in range(_SYNCS):
        began = time.perf_counter_ns()
        os.pwrite(opened, data, number * len(data) % _SEGMENT_BYTES)
        behind(opened)
        took.append(time.perf_counter_ns() - began)
    return round(median(took))


def make_image(image: Path, size_bytes: int) -> None:
    """Make a file with an empty file system that does nothing by itself later on."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    run(["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(image)])


def copy_image(source: Path, target: Path) -> None:
    """Copy an image without its holes."""
    run(["cp", "--sparse=always", str(source), str(target)])


def copy_whole_image(source: Path, target: Path) -> None:
    """Copy an image to blocks of its own on a disk, none of which is a hole, nor stays in memory."""
    run(["cp", "--sparse=never", "--reflink=never", str(source), str(target)])
    to_disk(target)


def rewrite(file: Path) -> None:
    """Write a file over with what it holds: its blocks are no longer such as were never written."""
    with file.open("r+b") as opened:
        while block := opened.read(_SEGMENT_BYTES):
            opened.seek(-len(block), os.SEEK_CUR)
            opened.write(block)
    to_disk(file)


def to_disk(file: Path) -> None:
    """Wait until a file is on its disk, and forget it in memory."""
    opened = os.open(file, os.O_RDONLY)
    try:
        os.fsync(opened)
        os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(opened)


@contextmanager
def attached(image: Path, mount: Path, sector_bytes: int | None = None) -> Iterator[Device]:
    """Mount an image until the block ends; the file behind the device is read and written past the page cache."""
    mount.mkdir()
    try:
        sectors = [] if sector_bytes is None else [f"--sector-size={sector_bytes}"]
        path = run(["losetup", "--find", "--show", "--direct-io=on", *sectors, str(image)]).strip()
        device = Device(path, mount)
        try:
            run(["mount", "-o", "noatime", path, str(mount)])
            try:
                yield device
            finally:
                device.cap(None)
                _unmount(mount)
        finally:
            run(["losetup", "--detach", path])
    finally:
        mount.rmdir()


def _unmount(mount: Path) -> None:
    for attempt in range(20):
        try:
            run(["umount", str(mount)])
            return
        except BenchError:
            if attempt == 19:
                raise
            time.sleep(0.5)  # the last process of the server may still be ending
