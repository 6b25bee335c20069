"""Builds blktrace records: ``record(Q, 1000, 8, 4096, "WS")`` is what the kernel writes when a
process queues a write.
"""

import hashlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.readers.blktrace import read_blktrace

Q, M, F, G, R, D, C, P, X, A = 1, 2, 3, 4, 6, 7, 8, 9, 13, 15
MAGIC = 0x65617400
LOOP0 = 7 << 20

_LETTERS = {"W": 0x2, "F": 0x4, "S": 0x8, "A": 0x800, "M": 0x1000, "D": 0x2000, "U": 0x8000}
Order = Literal["little", "big"]


def categories(rwbs: str) -> int:
    """Turn letters into category bits: R read, W write, F flush, U forced unit access, S sync, A read-ahead, M, D."""
    return sum(_LETTERS.get(letter, 1) for letter in set(rwbs) - {"N"}) | 0x100


def record(
    action: int,
    time_ns: int,
    sector: int = 0,
    length_bytes: int = 0,
    rwbs: str = "R",
    *,
    pid: int = 100,
    device: int = LOOP0,
    cpu: int = 0,
    sequence: int = 0,
    error: int = 0,
    pdu: bytes = b"",
    version: int = 7,
    order: Order = "little",
) -> bytes:
    """Return one record, by default of version 7 in little-endian order without a sequence number."""
    action |= categories(rwbs) << 16
    mark = "<" if order == "little" else ">"
    magic = MAGIC | version
    if version == 8:
        fields: tuple[int, ...] = (
            magic,
            sequence,
            time_ns,
            sector,
            length_bytes,
            pid,
            action,
            device,
            cpu,
            error,
            len(pdu),
        )
        return struct.pack(mark + "IIQQIIQIIHH12x", *fields) + pdu
    fields = (magic, sequence, time_ns, sector, length_bytes, action, pid, device, cpu, error, len(pdu))
    return struct.pack(mark + "IIQQIIIIIHH", *fields) + pdu


def split(time_ns: int, sector: int, cut: int, rwbs: str = "R", **more: Any) -> bytes:
    """Return the record of a bio at *sector* that is cut at *cut*; the payload is big-endian on every host."""
    return record(X, time_ns, sector, 0, rwbs, pdu=struct.pack(">Q", cut), **more)


def process(time_ns: int, pid: int, name: str, **more: Any) -> bytes:
    """Return the note that names a process."""
    pdu = name.encode().ljust(16, b"\0")
    plain = record(0, time_ns, pid=pid, rwbs="", pdu=pdu, **more)
    return _with_action(plain, 0x400 << 16, **more)


def message(time_ns: int, text: str, **more: Any) -> bytes:
    """Return a note with free text, of any length."""
    return _with_action(record(0, time_ns, rwbs="", pdu=text.encode(), **more), 0x400 << 16 | 2, **more)


def _with_action(plain: bytes, action: int, *, version: int = 7, order: Order = "little", **_more: Any) -> bytes:
    place, size = (28, 4) if version == 7 else (32, 8)
    return plain[:place] + action.to_bytes(size, order) + plain[place + size :]


def import_bytes(folder: Path, *parts: bytes) -> tuple[Requests, Bundle]:
    """Import the per-CPU files with these contents; return the rows and the bundle."""
    for cpu, part in enumerate(parts):
        (folder / f"x.blktrace.{cpu}").write_bytes(part)
    return import_paths(folder, folder / "x")


def import_paths(folder: Path, *paths: Path) -> tuple[Requests, Bundle]:
    """Import files into a bundle in *folder*; return the rows and the bundle."""
    target = folder / "out.trace"
    with write_bundle(target, force=True) as (writer, fields):
        fields.update(read_blktrace(paths, writer))
    bundle = Bundle(target)
    return bundle.requests(), bundle


def as_lists(rows: Requests, *names: str) -> list[tuple[int, ...]]:
    """Return the rows as tuples of the named columns."""
    columns: Sequence[NDArray[Any]] = [getattr(rows, name) for name in names]
    return [tuple(int(value) for value in row) for row in zip(*columns, strict=True)]


def content_hash(path: Path) -> str:
    """Hash the rows of a bundle, and the names in them, and nothing else."""
    bundle = Bundle(path)
    digest = hashlib.blake2b(digest_size=16)
    for column in vars(bundle.requests()).values():
        digest.update(column.tobytes())
    digest.update(repr([bundle.file_names, bundle.stream_names]).encode())
    return digest.hexdigest()


def same_rows(one: Requests, other: Requests, *, without: Sequence[str] = ()) -> bool:
    """Compare all columns but some."""
    names = [name for name in vars(one) if name not in without]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)
