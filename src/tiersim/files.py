"""Files that are whole or not there: write to a temporary name beside the target, fsync, rename."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tiersim.errors import OutputError, reason


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.exists() or path.is_symlink():
        path.unlink()


def refuse_existing(target: Path, *, force: bool) -> None:
    """Raise OutputError if *target* exists and *force* is not set, so that hours of work end no one's file."""
    if not force and (target.exists() or target.is_symlink()):
        raise OutputError(f"{target}: is already there; choose another name or add --force to replace it")


@contextmanager
def _place(target: Path, *, force: bool) -> Iterator[Path]:
    refuse_existing(target, force=force)
    partial = target.parent / f".{target.name}.{os.getpid()}.partial"
    try:
        _remove(partial)
        yield partial
        for path in sorted(partial.rglob("*")) if partial.is_dir() else []:
            _sync(path)
        _sync(partial)
        if target.is_dir() or partial.is_dir():
            _remove(target)
        partial.replace(target)
        _sync(target.parent)
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({reason(error)}); choose a place that exists and is writable"
        ) from error
    finally:
        if partial.exists():
            _remove(partial)


@contextmanager
def whole_file(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path; when the block ends well the file there becomes *target*, otherwise nothing remains.

    Raises OutputError when the target exists (unless *force*) or cannot be written.
    """
    with _place(target, force=force) as partial:
        yield partial


@contextmanager
def whole_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Like :func:`whole_file`, for a folder that is made for the block to fill."""
    with _place(target, force=force) as partial:
        partial.mkdir()
        yield partial


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that temporary files go."""

    def raise_interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, raise_interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
