"""Files that are whole or not there, written to a temporary name beside the target, fsync, rename; and checksums of a
folder's files.

So a process that is killed, or a computer that stops, leaves what was there before, or what is new, and beside it a
hidden file or folder that ends in ``.partial`` (what was not finished) or ``.old`` (what was to be replaced).

Checksums are kept in the JSON document that is written last and covers itself, too. It has a key ``checksums``:
``files``, the SHA-256 of each other file by its path, and ``self``, that of the document with 64 zeros in place of this
one.
"""

import errno
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from tiersim.errors import OutputError, reason
from tiersim.operating_system import ending_signals, sync

#: After an interrupt others are let go by for so long: somebody who presses Ctrl-C twice must not stop the cleaning up.
_CLEANING_UP_S = 2.0
_REMEDY = "choose a place that exists, is writable and has room"
#: Ends of the names of what is not, or no longer, in its place.
PARTIAL, OLD = ".partial", ".old"
#: linux/fs.h, fcntl.h: fail when the target is there; let both change places; paths are relative to where the process
#: is.
_NO_REPLACE, _EXCHANGE, _HERE = 1, 2, -100


def is_utf8(path: Path) -> bool:
    """Tell whether a path is of UTF-8: pyarrow opens no other one."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif _is_there(path):
        path.unlink()


def check_target(target: Path, *, force: bool) -> None:
    """Raise OutputError if *target* exists and *force* is not set, or nothing can be written there.

    To be called before the work whose outcome is to be written, so that hours of it are not in vain.
    """
    if not is_utf8(target):
        raise OutputError(f"{target}: the name is not UTF-8; choose another name")
    if not force and _is_there(target):
        raise _already_there(target)
    place = next(parent for parent in target.absolute().parents if _is_there(parent))
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise OutputError(f"{target}: {place} is not a folder that can be written to; {_REMEDY}")


def make_folder(path: Path) -> None:
    """Make a folder for outputs, and those above it, unless it is there; raises OutputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_be_written(path, error) from error


def _already_there(target: Path) -> OutputError:
    return OutputError(f"{target}: is already there; choose another name or add --force to replace it")


def _cannot_be_written(target: Path, error: OSError) -> OutputError:
    return OutputError(f"{target}: cannot be written ({reason(error)}); {_REMEDY}")


def _is_of_another(error: OSError, target: Path, *beside: Path) -> bool:
    """Whether an error names a file that is neither *target* nor one of its folder, nor one *beside* it or in there:
    one that was read.
    """
    if not isinstance(error.filename, str | os.PathLike):
        return False
    path = Path(error.filename)
    return path != target.parent and not any(path.is_relative_to(own) for own in (target, *beside))


def _may_replace(new: Path, old: Path) -> bool:
    """Whether *old* is something of the same kind: a file for a file, for a folder one that holds the same files.

    A slip such as ``--output . --force`` must not empty the folder that somebody works in.
    """
    if not old.is_dir() or not new.is_dir():
        return old.is_dir() == new.is_dir()
    before, after = ({entry.name for entry in folder.iterdir()} for folder in (old, new))
    return before <= after or after <= before


def _renamed(path: Path, target: Path, how: int) -> bool:
    """Rename as renameat2(2) does, at one stroke; return whether system and file system know how. Raises OSError."""
    if sys.platform != "linux":
        return False
    import ctypes

    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    if call(_HERE, os.fsencode(path), _HERE, os.fsencode(target), how) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(target))


def _place_new(new: Path, target: Path) -> None:
    """Put *new* where nothing is; what another process has put there in the meantime stays. Raises OutputError."""
    try:
        if not _renamed(new, target, _NO_REPLACE):
            check_target(target, force=False)
            new.replace(target)
    except FileExistsError:
        raise _already_there(target) from None


def _replace(new: Path, old: Path, aside: Path) -> None:
    """Put *new* in the place of *old*. There is always one of them, where both cannot change
    places for a moment none.
    """
    if not _may_replace(new, old):
        kind = "folder" if old.is_dir() else "file"
        raise OutputError(f"{old}: refusing to replace a {kind} that tiersim did not write; choose another name")
    if old.is_dir():
        if _renamed(new, old, _EXCHANGE):
            return
        old.replace(aside)
    new.replace(old)


@contextmanager
def _place(target: Path, *, force: bool) -> Iterator[Path]:
    # processes of two computers, or containers, may have the same number
    partial, aside = (target.parent / f".{target.name}.{os.urandom(4).hex()}{end}" for end in (PARTIAL, OLD))
    try:
        check_target(target, force=force)
        yield partial
        for path in sorted(partial.rglob("*")) if partial.is_dir() else []:
            sync(path)
        sync(partial)
        if not force:
            _place_new(partial, target)
        elif _is_there(target):
            _replace(partial, target, aside)
        else:
            partial.replace(target)
        sync(target.parent)
    except OSError as error:
        if _is_of_another(error, target, partial, aside):
            raise
        raise _cannot_be_written(target, error) from error
    finally:
        if _is_there(aside) and not _is_there(target):
            aside.replace(target)
        for rest in (partial, aside):
            with suppress(
                OSError
            ):  # where nothing can be written any more it stays: what was wrong before is what to say
                _remove(rest)


@contextmanager
def whole_file(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path; when the block ends well the file there becomes *target*, otherwise nothing remains.

    Raises OutputError when the target exists (unless *force*, and it is a file) or cannot be written.
    """
    with _place(target, force=force) as partial:
        yield partial


@contextmanager
def whole_folder(target: Path, *, force: bool = False) -> Iterator[Path]:
    """Like :func:`whole_file`, for a folder that is made for the block to fill; *force* replaces
    one with such files.
    """
    with _place(target, force=force) as partial:
        partial.mkdir()
        yield partial


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that temporary files go; signals ignored stay so."""
    deaf_until = 0.0

    def raise_interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal deaf_until
        if time.monotonic() >= deaf_until:
            deaf_until = time.monotonic() + _CLEANING_UP_S
            raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in ending_signals()}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}  # nohup, &
    for number in heard:
        signal.signal(number, raise_interrupt)
    try:
        yield
    finally:
        for number, handler in heard.items():
            # once interrupted the process is about to end; another signal must not change how
            signal.signal(number, signal.SIG_IGN if deaf_until else handler)


KEY, _FILES, _SELF = "checksums", "files", "self"
_OPEN = "0" * 64


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal; raises OSError."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files in *folder* and below by their paths there, in order; hidden ones are no part of it."""
    found = ((path.relative_to(folder), path) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    visible = {name.as_posix(): path for name, path in found if not any(part.startswith(".") for part in name.parts)}
    return dict(sorted(visible.items()))


def checksums_of(folder: Path, document: str) -> dict[str, str]:
    """Return the checksums of all files of *folder* but that of the name *document*; raises OSError."""
    return {name: checksum(path) for name, path in files_of(folder).items() if name != document}


def sealed(document: Mapping[str, Any], checksums: Mapping[str, str]) -> bytes:
    """Return *document* as JSON, with the checksums of the files that it is written for, and its own."""
    whole = {**document, KEY: {_FILES: checksums, _SELF: _OPEN}}
    text = (json.dumps(whole, indent=1, sort_keys=True, default=str) + "\n").encode()
    return text.replace(_entry(_OPEN), _entry(_digest(text)))


def sealed_files(text: bytes) -> dict[str, str] | None:
    """Return the checksums in the *text* of a document, None when it was written without; raises ValueError saying what
    is wrong with it.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not JSON") from None
    found = document.get(KEY) if isinstance(document, dict) else None
    if (
        found is None and f'"{_SELF}": '.encode() not in text
    ):  # where only the name of the key is damaged it is no older one
        return None
    found = found if isinstance(found, dict) else {}
    own = found.get(_SELF)
    if not isinstance(own, str) or _digest(text.replace(_entry(own), _entry(_OPEN))) != own:
        raise ValueError("is not what its own checksum is of")
    files = found.get(_FILES)
    if not isinstance(files, dict):
        raise ValueError("has no checksums of files")
    return {str(name): str(digest) for name, digest in files.items()}


def _digest(text: bytes) -> str:
    import hashlib

    return hashlib.sha256(text).hexdigest()


def _entry(own: str) -> bytes:
    return f'"{_SELF}": "{own}"'.encode(errors="replace")
