"""Naive readers of the sample traces, one line after the other in plain Python, each with its own
idea of the format.
"""

import bz2
import gzip
import re
import struct
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from tests.imported_rows import Row

READ_WRITE = {"R": "read", "W": "write", "Read": "read", "Write": "write", "RA": "read"}


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, unpacked."""
    unpack: Callable[[bytes], bytes] = {".gz": gzip.decompress, ".bz2": bz2.decompress}.get(path.suffix, bytes)
    yield from unpack(path.read_bytes()).decode().splitlines()


def ns(text: str, unit: str) -> int:
    """Return a decimal number of some unit in ns, rounded half up."""
    value = Decimal(text) * {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[unit]
    return int(value.quantize(Decimal(1), ROUND_HALF_UP))


def msr(path: Path) -> Iterator[Row]:
    for line in lines(path):
        time, host, disk, kind, offset, size, took = line.split(",")
        yield Row(int(time) * 100, kind.lower(), f"{host} disk {disk}", int(offset), int(size), int(took) * 100)


def systor17(path: Path) -> Iterator[Row]:
    for line in list(lines(path))[1:]:
        time, took, kind, lun, offset, size = line.split(",")
        yield Row(ns(time, "s"), READ_WRITE[kind], f"lun {lun}", int(offset), int(size), ns(took, "s"))


def tencent(path: Path) -> Iterator[Row]:
    for line in lines(path):
        time, offset, size, kind, volume = map(int, line.split(","))
        yield Row(time * 10**9, ("read", "write")[kind], f"volume {volume}", offset * 512, size * 512)


def blkreplay(path: Path) -> Iterator[Row]:
    for line in lines(path):
        if re.match(r" *\d", line):
            time, sector, length, kind, _delay, _took = (part.strip() for part in line.split(";"))
            yield Row(ns(time, "s"), READ_WRITE[kind], "data", int(sector) * 512, int(length) * 512)


def mqsim(path: Path) -> Iterator[Row]:
    for line in lines(path):
        time, device, sector, count, kind = map(int, line.split())
        yield Row(time, ("write", "read")[kind], f"device {device}", sector * 512, count * 512)


def validate(path: Path) -> Iterator[Row]:
    clock = 0
    for line in lines(path):
        kind, _hit, block, blocks, took, think = line.split()
        yield Row(clock, READ_WRITE[kind], "data", int(block) * 512, int(blocks) * 512, ns(took, "us"))
        clock += ns(took, "us") + ns(think, "us")


def etw(path: Path) -> Iterator[Row]:
    for line in list(lines(path))[1:]:
        cells = line.split(";")
        german = [cell.replace(".", "").replace(",", ".") for cell in cells]
        flush = cells[0] == "Flush"
        yield Row(
            ns(german[3], "s"),
            cells[0].lower(),
            f"disk {cells[12]}",
            0 if flush else int(cells[8], 16),
            0 if flush else int(german[7]),
            ns(german[5], "us"),
            cells[2],
        )


def opencas(path: Path) -> Iterator[Row]:
    for line in list(lines(path))[1:]:
        time, took, kind, sector, count, _class = line.split(",")
        op = {"R": "read", "W": "write", "D": "discard"}[kind]
        yield Row(int(time), op, "data", int(sector) * 512, int(count) * 512, int(took))


def cloudphysics_csv(path: Path) -> Iterator[Row]:
    for line in list(lines(path))[1:]:
        _version, time, command, size, block = line.split(",")
        yield Row(int(time) * 10**9, {"28": "read", "2a": "write"}[command], "data", int(block) * 512, int(size))


def vscsi(path: Path) -> Iterator[Row]:
    for _sn, length, _sg, command, _version, block, time in struct.iter_unpack("<IIIHHQQ", path.read_bytes()):
        yield Row(time * 1000, {0x28: "read", 0x2A: "write"}[command], "data", block * 512, length)


def fio_iolog(path: Path) -> Iterator[Row]:
    for line in lines(path):
        match = re.fullmatch(r"(\d+) (\S+) (read|write|sync) (\d+) (\d+)", line)
        if match:
            time, file, kind, offset, length = match.groups()
            if kind == "sync":
                yield Row(int(time) * 1000, "flush", file, 0, 0)
            else:
                yield Row(int(time) * 1000, kind, file, int(offset), int(length))
