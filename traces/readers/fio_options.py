"""fio's options, as its JSON repeats them: what a job was asked to do.

Sources: fio's HOWTO; tried with fio 3.33, which caps the depth of its synchronous engines, reads ``8Ki`` as 8,192 and
``8KiB`` as 8,000 bytes while ``kb_base`` is 1024, and leaves options without a value (``time_based``,
``group_reporting``) out of its JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Operation = Literal["read", "write"]
OPERATIONS: tuple[Operation, ...] = ("read", "write")

_RANGES = ("bssplit", "bsrange", "blocksize_range")
#: Options that are understood; others do not change what a point is.
OPTIONS = frozenset(
    {
        *_RANGES,
        *("rw", "readwrite", "rwmixread", "rwmixwrite", "percentage_random", "random_distribution", "thinktime"),
        *("bs", "blocksize", "kb_base", "iodepth", "numjobs", "ioengine", "direct", "buffered"),
        *("fsync", "fdatasync", "sync", "rate", "rate_iops"),
    }
)

#: Engines that fio says it caps at a depth of 1.
_SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "libpmem"})
_READ_AND_WRITE = ("rw", "readwrite", "randrw")
_KINDS = ("read", "write", "randread", "randwrite", *_READ_AND_WRITE)
_SIZE = re.compile(r"(0x[0-9a-f]{1,16}|\d{1,19})([kmgtp]?)(i?b?)")
_MOST_BYTES = 1 << 40
_MOST_COUNT = 1 << 20
_DEFAULT_BLOCK_BYTES = 4096
_DEFAULT_READS = 0.5
_SYNC_WRITES = {"1": "O_SYNC", "sync": "O_SYNC", "dsync": "O_DSYNC"}


class OptionError(Exception):
    """An option that makes a job unreadable; the message says which, and what to do."""


@dataclass(frozen=True)
class Direction:
    """What one direction of a job was asked for; a rate is one job's."""

    block_bytes: int
    rate_limit_iops: float | None


@dataclass(frozen=True)
class JobOptions:
    """What a job was asked for."""

    pattern: Literal["random", "sequential"] | None
    read_share: float
    iodepth: int
    depth_per_job: int  # what an engine makes of it
    jobs: int
    pauses: bool
    sync_every: int
    sync: str | None
    direct: bool
    engine: str | None
    directions: Mapping[Operation, Direction]
    warnings: tuple[str, ...]


def setting(options: Mapping[str, str]) -> JobOptions:
    """Return what *options* mean; raises OptionError for what is no one setting."""
    for key in _RANGES:
        if key in options:
            raise OptionError(f"{key}={options[key]} mixes block sizes; measure one size a job, with bs=")
    warnings = []
    kind, _, jump = options.get("rw", options.get("readwrite", "read")).partition(":")
    if "trim" in kind:
        raise OptionError(f"rw={kind} trims, which is not read; measure reads and writes without trims")
    if kind not in _KINDS:
        raise OptionError(f"rw={kind} is not known; known are {', '.join(_KINDS)}")
    pattern: Literal["random", "sequential"] | None = "random" if kind.startswith("rand") else "sequential"
    if jump or options.get("percentage_random", "100" if pattern == "random" else "0") not in ("0", "100"):
        warnings.append("addresses are neither random nor sequential (rw with an offset, or percentage_random)")
        pattern = None
    if not options.get("random_distribution", "random").startswith("random"):
        warnings.append(f"addresses are not uniform: random_distribution={options['random_distribution']}")
    pauses = options.get("thinktime", "0") != "0"
    if pauses:
        warnings.append("jobs pause between requests (thinktime), so fewer than the depth are outstanding")
    engine = options.get("ioengine")
    iodepth = _count(options, "iodepth", 1)
    read_share = _read_share(kind, options)
    sync_every, sync = _sync(options) if read_share < 1 else (0, None)
    direct = _flag(options["direct"]) if "direct" in options else not _flag(options.get("buffered", "1"))
    if not direct:
        warnings.append(
            "requests went through the page cache (direct is not set), so these are not the device's latencies"
        )
    return JobOptions(
        pattern=pattern,
        read_share=read_share,
        iodepth=iodepth,
        depth_per_job=1 if engine is not None and engine.partition(":")[0] in _SYNCHRONOUS else iodepth,
        jobs=_count(options, "numjobs", 1),
        pauses=pauses,
        sync_every=sync_every,
        sync=sync,
        direct=direct,
        engine=engine,
        directions={operation: _direction(options, place) for place, operation in enumerate(OPERATIONS)},
        warnings=tuple(warnings),
    )


def _read_share(kind: str, options: Mapping[str, str]) -> float:
    if kind not in _READ_AND_WRITE:
        return 1.0 if kind.endswith("read") else 0.0
    share = _DEFAULT_READS
    for key, text in options.items():  # of two that contradict, fio takes the one that comes later
        if key in ("rwmixread", "rwmixwrite"):
            percent = _whole(key, text)
            if percent > 100:
                raise OptionError(f"{key}={text} is more than 100 %; check the file")
            share = percent / 100 if key == "rwmixread" else 1 - percent / 100
    return share


def _sync(options: Mapping[str, str]) -> tuple[int, str | None]:
    """Return after how many writes they are made durable, and how; what is done after each write comes first."""
    for key in ("fsync", "fdatasync"):
        if every := _whole(key, options.get(key, "0")):
            return every, key
    how = _SYNC_WRITES.get(options.get("sync", "0"))
    return (1, how) if how else (0, None)


def _direction(options: Mapping[str, str], place: int) -> Direction:
    block = _of_direction("bs", options.get("bs", options.get("blocksize", "")), place)
    block_bytes = _size("bs", block, options) if block else _DEFAULT_BLOCK_BYTES
    if not 0 < block_bytes <= _MOST_BYTES:
        raise OptionError(f"bs={block} is not the size of a request; check the file")
    rates = []
    for key, per_request in (("rate_iops", 1), ("rate", block_bytes)):
        text = _of_direction(key, options.get(key, ""), place)
        if rate := _size(key, text, options) if text else 0:
            rates.append(rate / per_request)
    return Direction(block_bytes, min(rates, default=None))


def _of_direction(key: str, text: str, place: int) -> str:
    """Return what ``READS,WRITES,TRIMS`` says of a direction; one value is for all, and what is left out is the
    default.
    """
    if "-" in text:
        raise OptionError(f"{key}={text} is a range; measure one value a job")
    parts = [part.strip() for part in text.split(",")]
    return parts[place] if place < len(parts) else parts[-1]


def _size(key: str, text: str, options: Mapping[str, str]) -> int:
    """Parse a number with a unit as fio does: ``k`` and ``kb`` in units of kb_base, ``kib`` in the other one."""
    match = _SIZE.fullmatch(text.lower())
    if match is None:
        raise OptionError(f"{key}={text} is not a whole number with a unit such as 8k; check the file")
    base, other = (1000, 1024) if options.get("kb_base") == "1000" else (1024, 1000)
    power = " kmgtp".index(match[2] or " ")
    factor: int = (other if match[3] == "ib" else base) ** power
    return int(match[1], 16 if match[1].startswith("0x") else 10) * factor


def _count(options: Mapping[str, str], key: str, default: int) -> int:
    count = _whole(key, options[key]) if key in options else default
    if not 0 < count <= _MOST_COUNT:
        raise OptionError(f"{key}={options[key]} is not 1 to {_MOST_COUNT:,}; check the file")
    return count


def _whole(key: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,18}", text.strip()):
        raise OptionError(f"{key}={text} is not a whole number; check the file")
    return int(text)


def _flag(text: str) -> bool:
    return text.strip() not in ("0", "false", "no")
