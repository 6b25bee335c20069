"""PostgreSQL's own arithmetic: when a checkpoint begins, how long it writes, and what other settings follow from.

Versions are numbers as ``server_version_num`` has them: 90624 is 9.6.24, 150018 is 15.18.
"""

import re

from tiersim.errors import ScenarioError
from tiersim.units import NS_PER_S

#: wal_segment_size, and the page of the log, as they are compiled in unless initdb says otherwise
#: (include/pg_config_manual.h: DEFAULT_XLOG_SEG_SIZE; XLOG_BLCKSZ).
SEGMENT_BYTES = 16 << 20
LOG_PAGE_BYTES = 8192
#: Defaults: max_wal_size is 64 segments (include/access/xlog_internal.h: DEFAULT_MAX_WAL_SEGS), checkpoint_segments of
#: 9.4 and before 3 (access/transam/xlog.c), checkpoint_timeout 5 minutes (utils/misc/guc_tables.c).
MAX_WAL_BYTES = 64 * SEGMENT_BYTES
CHECKPOINT_SEGMENTS = 3
CHECKPOINT_TIMEOUT_NS = 300 * NS_PER_S

_SIZE_NOT_COUNT = 90500  # max_wal_size takes the place of checkpoint_segments
_ONE_CHECKPOINT_KEPT = 110000  # the log since the last checkpoint but one is not kept any more
_LATER_TARGET = 140000
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?")


def version_number(version: str) -> int:
    """Return the number of a version such as ``"9.6.24"``, ``"15.18"`` or ``"15"``; raises ScenarioError."""
    match = _VERSION.match(version)
    if match is None:
        raise ScenarioError(f"engine.version: {version!r} is no version of PostgreSQL; write it as in '15.18'")
    first, second, third = (int(part or 0) for part in match.groups())
    return first * 10_000 + second if first >= 10 else first * 10_000 + second * 100 + third


def completion_target(version: int) -> float:
    """Return the default of checkpoint_completion_target (release notes of 14: 0.9 instead of 0.5)."""
    return 0.9 if version >= _LATER_TARGET else 0.5


def distance_segments(
    version: int,
    max_wal_bytes: int,
    target: float,
    *,
    segment_bytes: int = SEGMENT_BYTES,
    checkpoint_segments: int = CHECKPOINT_SEGMENTS,
) -> int:
    """Return how many segments of log lie between the beginnings of checkpoints that the log asks for.

    access/transam/xlog.c, CalculateCheckpointSegments: what is written until the next checkpoint ends has to fit into
    max_wal_size, and up to version 10 the log of one checkpoint more. Version 9.4 and earlier have
    *checkpoint_segments* and no max_wal_size.
    """
    if version < _SIZE_NOT_COUNT:
        return checkpoint_segments
    kept = 1.0 if version >= _ONE_CHECKPOINT_KEPT else 2.0
    return max(int(max_wal_bytes // segment_bytes / (kept + target)), 1)


def write_phase_ns(target: float, interval_ns: int) -> int:
    """Return how long a checkpoint takes for its writes when the next one begins *interval_ns* after it.

    postmaster/checkpointer.c, IsCheckpointOnSchedule: it is on schedule while the part written is *target* times the
    part of the interval that has passed, of time or of log, whichever has passed sooner.
    """
    return round(target * interval_ns)


def log_buffer_bytes(shared_buffer_bytes: int, segment_bytes: int = SEGMENT_BYTES) -> int:
    """Return what wal_buffers = -1 stands for (access/transam/xlog.c, XLOGChooseNumBuffers).

    A 32nd of shared_buffers in whole pages, eight at least and no more than a segment.
    """
    pages = shared_buffer_bytes // 8192 // 32  # NBuffers, of 8 KiB
    return min(max(pages, 8), segment_bytes // LOG_PAGE_BYTES) * LOG_PAGE_BYTES
