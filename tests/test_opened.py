"""Opening recorded files: compression, damage, hashes, progress."""

import bz2
import gzip
import hashlib
import lzma
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import PIECE_BYTES, Opened, first_bytes, is_compressed

DATA = np.random.default_rng(1).integers(0, 4, 3 * PIECE_BYTES, np.uint8).tobytes() + b"\0" * (20 * PIECE_BYTES)


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return bytes(sink.getvalue())


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


@cache
def packed(kind: str) -> bytes:
    """What all tests read, packed once."""
    return PACKERS[kind](DATA)


def read_all(path: Path) -> tuple[list[bytes], Opened]:
    """Return the pieces of a file, and the stream, closed."""
    with Opened(path) as source:
        pieces = list(iter(source.read, b""))
        assert source.sha256() == hashlib.sha256(path.read_bytes()).hexdigest()
    return pieces, source


@pytest.mark.parametrize("kind", PACKERS)
def test_whatever_packed_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(packed(kind))
    pieces, source = read_all(path)
    assert b"".join(pieces) == DATA
    assert source.damage == ""
    assert max(map(len, pieces)) <= PIECE_BYTES  # zeros pack a thousandfold
    assert is_compressed(path.read_bytes()[:8]) == (kind != "plain")
    assert first_bytes(path, 1000) == DATA[:1000]


@pytest.mark.parametrize("kind", [kind for kind in PACKERS if kind != "plain"])
def test_several_parts_are_one_stream(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(PACKERS[kind](b"one ") + PACKERS[kind](b"two"))
    assert b"".join(read_all(path)[0]) == b"one two"


@pytest.mark.parametrize("kind", [kind for kind in PACKERS if kind != "plain"])
def test_a_file_that_ends_too_early_is_read_to_there(tmp_path: Path, kind: str) -> None:
    whole = packed(kind)
    for size in (9, len(whole) // 2, len(whole) - 3):
        path = tmp_path / "file"
        path.write_bytes(whole[:size])
        pieces, source = read_all(path)
        assert DATA.startswith(b"".join(pieces))
        assert source.damage


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])  # Arrow writes Zstandard without a checksum
def test_damage_is_told(tmp_path: Path, kind: str) -> None:
    damaged = bytearray(packed(kind))
    damaged[len(damaged) // 2] ^= 0x55
    path = tmp_path / "file"
    path.write_bytes(damaged)
    _, source = read_all(path)
    assert "damaged" in source.damage or "too early" in source.damage


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(packed("gzip"))
    said: list[int] = []
    with Opened(path, said.append) as source:
        while source.read():
            pass
    assert said[-1] == path.stat().st_size
    assert said == sorted(said)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"cannot be read \(no such file"):
        Opened(tmp_path / "nosuch")
    with pytest.raises(TraceError, match=r"cannot be read \(is a directory"):
        Opened(tmp_path)
