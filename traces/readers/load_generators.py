"""What load generators measured, of any known format: fio's JSON, DiskSpd's XML, a table of points."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tiersim.errors import TraceError
from tiersim.traces.measurement import MeasuredPoint
from tiersim.traces.readers.diskspd_xml import looks_like_diskspd, read_diskspd
from tiersim.traces.readers.fio_json import looks_like_fio, read_fio
from tiersim.traces.readers.measured_points import looks_like_points, read_points
from tiersim.traces.readers.opened import Opened, first_bytes

#: A file that is longer, unpacked, is refused.
MOST_BYTES = 256 << 20
#: The first bytes of a file, unpacked, that tell a measurement from a recording.
_SNIFFED_BYTES = 1 << 16

_SOMETHING = re.compile(r"[^\0\s]")
_BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be", b"\xef\xbb\xbf": "utf-8"}


class _Format(NamedTuple):
    looks_like: Callable[[str], bool]
    read: Callable[[str, str], list[MeasuredPoint]]


_FORMATS = (
    _Format(looks_like_diskspd, read_diskspd),
    _Format(looks_like_fio, read_fio),
    _Format(looks_like_points, read_points),
)


def looks_like_measurement(path: Path) -> bool:
    """Tell whether the file at *path*, plain or compressed, begins as a measurement; raises TraceError when it cannot
    be read.
    """
    text = _decoded(first_bytes(path, _SNIFFED_BYTES))
    return any(format.looks_like(text) for format in _FORMATS)


def measurements(path: Path) -> list[MeasuredPoint]:
    """Return what the file at *path*, plain or compressed, measured; its content tells the format.

    Raises TraceError when it cannot be read, is of no known format, or says nothing that was measured.
    """
    text = _text(path)
    if not _SOMETHING.search(text):
        raise TraceError(f"{path}: is empty; measure again")
    for format in _FORMATS:
        if format.looks_like(text):
            return format.read(text, str(path))
    raise TraceError(
        f"{path}: begins with {text[:20]!r} and is no measurement that is known; known are fio's JSON"
        " (--output-format=json), DiskSpd's XML (-Rxml), and CSV with the headings direction, rw, bs, iodepth, iops,"
        " mean_us"
    )


def _text(path: Path) -> str:
    """Return the text of a file."""
    data = bytearray()
    with Opened(path) as source:
        while piece := source.read():
            data += piece
            if len(data) > MOST_BYTES:
                raise TraceError(f"{path}: is longer than {MOST_BYTES >> 20} MiB; split it into one file a run")
        if source.damage:
            raise TraceError(f"{path}: {source.damage}; give the whole file")
    return _decoded(data)


def _decoded(data: bytes | bytearray) -> str:
    """Return bytes as text, by their mark of byte order; what is no text becomes a mark."""
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    return data.decode(errors="replace")
