"""What differs between operating systems, in one place: nothing else but the Linux recorders calls what Windows has
not.
"""

import mmap
import os
import signal
import stat
import sys
from pathlib import Path

#: Of malloc.h.
_M_MMAP_THRESHOLD = -3


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_bytes() -> int:
    """Memory that can be had without swapping and within the limit; all of the machine's where the
    system does not say.
    """
    free, most = _free_bytes(), memory_limit_bytes()
    if sys.platform != "linux" or most is None:
        return free
    # what counts against the limit: proc(5), statm, data and stacks
    taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * os.sysconf("SC_PAGE_SIZE")
    return max(min(free, most - taken), 0)


def memory_limit_bytes() -> int | None:
    """How much memory the system gives this process at most, None: as much as there is."""
    if sys.platform != "linux":
        return None
    import resource

    most = resource.getrlimit(resource.RLIMIT_DATA)[0]
    return None if most == resource.RLIM_INFINITY else most


def limit_memory(most_bytes: int | None) -> None:
    """Let the system give this process no more than *most_bytes*, or with None what it may have had before.

    What counts is the heap, and all that is private and can be written (RLIMIT_DATA). Raises ValueError where no such
    limit is known.
    """
    if sys.platform != "linux":
        raise ValueError("this system cannot bound the memory of a process; leave it out")
    import resource

    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (hard if most_bytes is None else most_bytes, hard))


def give_memory_back() -> None:
    """Have what is freed in pieces of 1 MiB or more go back to the system at once.

    glibc keeps pieces of up to 32 MiB for what comes next once such a piece was freed, which at each size of blocks
    are others (mallopt(3), M_MMAP_THRESHOLD). Nothing happens where the C library is another one.
    """
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def sparse_bytes(count: int) -> mmap.mmap:
    """Return so many bytes, all 0, of which those pages take memory and time that are written. Raises MemoryError.

    Memory that numpy asks for comes in pages of 2 MiB on Linux (madvise(2), MADV_HUGEPAGE): a byte in each takes all.
    """
    try:
        if sys.platform == "win32":
            return mmap.mmap(-1, count)
        return mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no {count:,} bytes of memory") from error


def _free_bytes() -> int:
    if sys.platform == "win32":
        import ctypes

        # MEMORYSTATUSEX (sysinfoapi.h): its own length and a percentage in one word, ullTotalPhys, ullAvailPhys, five
        # more
        status = (ctypes.c_uint64 * 8)(64)
        if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
            raise ctypes.WinError()
        return status[2]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found = dict(line.split(":", 1) for line in lines)
        return int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def ending_signals() -> tuple[signal.Signals, ...]:
    """Signals that ask a process to end: Ctrl-C, SIGTERM, and SIGHUP where terminals hang up."""
    known = signal.Signals.__members__
    return tuple(known[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in known)


def sync(path: Path) -> None:
    """Have the contents of a file, or the names in a folder, reach the disk.

    Windows opens no folders, and flushes only what is open for writing.
    """
    if sys.platform == "win32" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_own(path: Path) -> bool:
    """Whether nobody but this user may have written a file or folder; Windows, whose home folders are closed to others,
    is not asked.
    """
    if sys.platform == "win32":
        return True
    status = path.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def lock(descriptor: int) -> None:
    """Lock an open file for this process alone, until it is closed; raises BlockingIOError when another process has it,
    else OSError.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # beyond the end: what is locked there cannot be read by anybody
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from None
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
