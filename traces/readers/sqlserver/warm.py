"""Compiles the kernels of these readers ahead of their first file."""

import numpy as np

from tiersim.traces.readers.sqlserver.execution_kernels import (
    COUNTS,
    MOST_NESTED,
    NESTED_COLUMNS,
    STATE_COLUMNS,
    follow,
)
from tiersim.traces.readers.sqlserver.executions import new_events
from tiersim.traces.readers.sqlserver.text_kernels import read_texts, text_tables
from tiersim.traces.readers.sqlserver.trc import columns_of
from tiersim.traces.readers.sqlserver.trc_kernels import SCAN_COUNTS as TRC_COUNTS
from tiersim.traces.readers.sqlserver.trc_kernels import scan as scan_trc
from tiersim.traces.readers.sqlserver.xel_kernels import (
    BLOCK_HEADER_BYTES,
    FIRST_FIELD,
    WantedEvents,
    block_of,
    find_block,
    is_block,
)
from tiersim.traces.readers.sqlserver.xel_kernels import SCAN_COUNTS as XEL_COUNTS
from tiersim.traces.readers.sqlserver.xel_kernels import scan as scan_xel


def compile_readers() -> None:
    """Run every kernel that Python calls on next to nothing, with arrays of the types that the readers hand over."""
    data = np.frombuffer(bytes(BLOCK_HEADER_BYTES), np.uint8)
    none, pairs = np.zeros(0, np.int64), np.zeros((0, 2), np.int64)
    read_texts(data, none, none, text_tables(), np.zeros((0, 3), np.int64))
    scan_trc(data, 0, True, columns_of({}), np.zeros((1, 1), np.int64), np.zeros(TRC_COUNTS, np.int64))
    if not is_block(data, 0, len(data)):
        find_block(data, 0, len(data))
    block_of(data, 0)
    fields = np.zeros((0, 0, 2), np.int64)
    values = np.zeros((1, FIRST_FIELD), np.int64)
    scan_xel(data, 0, len(data), WantedEvents(none, fields, none, pairs), values, 0, np.zeros(XEL_COUNTS, np.int64))
    sessions, nested = np.zeros((1, STATE_COLUMNS), np.int64), np.zeros((1, MOST_NESTED, NESTED_COLUMNS), np.int64)
    follow(new_events(0), sessions, nested, np.zeros(COUNTS, np.int64))
