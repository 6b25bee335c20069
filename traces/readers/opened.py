"""Opens a recorded file as a stream of bytes, decompressed if need be, and hashes it as it lies on disk; finds the
files that are one recording.
"""

import bz2
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa

from tiersim.errors import TraceError, reason

Progress = Callable[[int, int], None]

#: So much is read from disk, and handed out, at a time.
PIECE_BYTES = 1 << 18
#: pyarrow loses so much before a place where the data are damaged.
ZSTD_PIECE_BYTES = 1 << 16

#: What unpacking xz may take, whatever a file says that it needs: xz -9 needs 65 MiB (its manual), a file may say up to
#: 4 GiB.
_XZ_BYTES = 512 << 20

_MAGICS: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(memlimit=_XZ_BYTES),
}
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DAMAGE = (zlib.error, lzma.LZMAError, EOFError, ValueError, OSError, pa.ArrowException)


def is_compressed(first_bytes: bytes) -> bool:
    """Tell whether a file that begins so is compressed in a way that :class:`Opened` undoes."""
    return first_bytes.startswith((*_MAGICS, _ZSTD_MAGIC))


class Opened:
    """The decompressed bytes of the file at *path*: plain, gzip, bzip2, xz or Zstandard, told by its first bytes.

    ``damage`` says, after the last read, why the stream ended too early, and is empty if it did not. *progress* is
    called with the bytes of the file that were read. Memory does not grow with the file, nor with how far it was
    compressed.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        """Open *path*; raises TraceError when it cannot be."""
        self.path = path
        self.damage = ""
        self._read_bytes = 0
        self._progress = progress
        self._hash = hashlib.sha256()
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(path, error) from None
        self._first = self._from_disk(8)
        if self._first.startswith(_ZSTD_MAGIC):
            self._pieces = self._unpacked_by_arrow()
        else:
            make = next((make for magic, make in _MAGICS.items() if self._first.startswith(magic)), None)
            self._pieces = iter(lambda: self._next(PIECE_BYTES), b"") if make is None else self._unpacked(make)

    def __enter__(self) -> Self:
        """Return the stream."""
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._file.close()

    def read(self) -> bytes:
        """Return the next piece; empty at the end. Raises TraceError when the file cannot be read."""
        try:
            return next(self._pieces, b"")
        except MemoryError:  # pyarrow's is one of its exceptions, too
            raise
        except _DAMAGE as error:
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            self.damage = f"its compressed data are damaged ({text})"
            return b""

    def sha256(self) -> str:
        """Read what is left of the file and return the hash of all of it, hexadecimal."""
        while self._next(PIECE_BYTES):
            pass
        return self._hash.hexdigest()

    def _next(self, most: int) -> bytes:
        first, self._first = self._first, b""
        return first or self._from_disk(most)

    def _from_disk(self, most: int) -> bytes:
        try:
            piece = self._file.read(most)
        except OSError as error:
            raise _unreadable(self.path, error) from None
        self._hash.update(piece)
        self._read_bytes += len(piece)
        if self._progress and piece:
            self._progress(self._read_bytes)
        return piece

    def _unpacked(self, make: Callable[[], Any]) -> Iterator[bytes]:
        part = make()
        while piece := self._next(PIECE_BYTES):
            while True:
                if part.eof:  # a file may be of several parts, with padding between them
                    piece = piece.lstrip(b"\0")
                    if not piece:
                        break
                    part = make()
                out = part.decompress(piece, PIECE_BYTES)
                if out:
                    yield out
                piece = part.unused_data if part.eof else getattr(part, "unconsumed_tail", b"")
                if not piece and (part.eof or len(out) < PIECE_BYTES):
                    break
        if not part.eof:
            self.damage = "its compressed data end too early"

    def _unpacked_by_arrow(self) -> Iterator[bytes]:
        with pa.CompressedInputStream(pa.PythonFile(_Readable(self._next), mode="r"), "zstd") as stream:
            while piece := stream.read(ZSTD_PIECE_BYTES):
                yield bytes(piece)


class _Readable:
    """What pyarrow takes for a file."""

    closed = False

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self.read = read

    def close(self) -> None:
        """Leave the file open: its hash is still to be finished."""


def opened_files(paths: Sequence[Path], progress: Progress | None) -> Iterable[Opened]:
    """Yield the files, opened, one after the other; *progress* hears of all their bytes."""
    sizes = [path.stat().st_size if path.is_file() else 0 for path in paths]
    for number, path in enumerate(paths):
        before, total = sum(sizes[:number]), sum(sizes)

        def report(done: int, before: int = before, total: int = total) -> None:
            if progress is not None:
                progress(before + done, total)

        with Opened(path, report) as source:
            yield source


def first_bytes(path: Path, most: int) -> bytes:
    """Return the first decompressed bytes of a file, at most so many; raises TraceError when it cannot be read."""
    start = b""
    with Opened(path) as source:
        while len(start) < most and (piece := source.read()):
            start += piece
    return start[:most]


def _unreadable(path: Path, error: OSError) -> TraceError:
    return TraceError(f"{path}: cannot be read ({reason(error)}); give a file that exists and you may read")


#: What blktrace calls the files of one recording: one for each processor.
_PER_CPU = re.compile(r"(.+)\.blktrace\.(\d+)")


def find_parts(path: Path) -> list[Path]:
    """List the files of the recording that *path* is one of, or is the base name of.

    ``sda.blktrace.0`` or ``sda`` stand for all ``sda.blktrace.N`` beside it; any other file stands for itself.
    """
    match = _PER_CPU.fullmatch(path.name)
    if match is None and path.exists():
        return [path]
    base = match[1] if match else path.name
    parts: dict[int, Path] = {}
    if path.parent.is_dir():
        for sibling in path.parent.iterdir():
            found = _PER_CPU.fullmatch(sibling.name)
            if found and found[1] == base:
                parts[int(found[2])] = sibling
    return [parts[cpu] for cpu in sorted(parts)] or [path]
