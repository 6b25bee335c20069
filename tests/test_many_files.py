"""Traces of very many files: each has its purpose, its place and its writer as it would alone, and few sentences tell
of all.
"""

import numpy as np
import pytest

from tests.recordings import rows_of
from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios import owners as issuers
from tiersim.scenarios.hardware import Home
from tiersim.scenarios.owners import WRITER, find_owners
from tiersim.scenarios.replay import addresses
from tiersim.scenarios.survey import EXTENT_BYTES, RecordedCommands
from tiersim.traces.bundle import Requests
from tiersim.traces.readers.purposes import Purposes
from tiersim.traces.schema import DATA_WRITE, FLAG_SYNC, LOG_WRITE

FILES, EACH = 200, 40


def writes(logs: set[int]) -> Requests:
    """All files are written in turn: logs go on where they stopped and are flushed, others are written anywhere."""
    luck = np.random.default_rng(1)
    round_, file = np.divmod(np.arange(FILES * EACH), FILES)
    of_log = np.isin(file, list(logs))
    flush = of_log & (round_ % 2 == 1)
    offset = np.where(of_log, round_ // 2 * 8192, luck.integers(0, 10**6, len(file)) * 8192)
    return rows_of(
        np.arange(len(file)) * 1000, 100_000, file=file, op=np.where(flush, FLUSH, WRITE),
        offset_bytes=np.where(flush, 0, offset), length_bytes=np.where(flush, 0, 8192),
    )  # fmt: skip


def test_logs_are_told_among_very_many_files() -> None:
    logs = {3, 77, 199}
    block, purposes = writes(logs), Purposes()
    purposes.fill(block, [f"file {number}" for number in range(FILES)])
    assert set(block.file[block.purpose == LOG_WRITE].tolist()) == logs
    assert set(block.file[block.purpose == DATA_WRITE].tolist()) == set(range(FILES)) - logs


def test_few_sentences_tell_of_very_many_files() -> None:
    block, purposes = writes({77}), Purposes()
    purposes.fill(block, [f"file {number}" for number in range(FILES)])
    said = purposes.inferred
    assert len(said) == 22
    assert sum("writes to file 77 count as writes of the log" in one for one in said) == 1
    assert said[-1] == f"writes of {FILES - 21} more files count as writes of data, for similar reasons"


@pytest.mark.parametrize("packed", [False, True])
def test_each_file_is_placed_as_it_would_be_alone(packed: bool) -> None:
    luck = np.random.default_rng(2)
    extents = [np.unique(luck.integers(0, 50, 10)) for _ in range(FILES)]
    homes = [
        (
            Home("data", 0, own, luck.permutation(len(own)) * EXTENT_BYTES)
            if packed
            else Home("data", 7 * EXTENT_BYTES * code)
        )
        for code, own in enumerate(extents)
    ]
    file = luck.integers(0, FILES, 2000).astype(np.int32)
    offset = np.array([luck.choice(extents[code]) for code in file]) * EXTENT_BYTES + luck.integers(0, 100, 2000) * 512
    length = np.where(luck.random(2000) < 0.1, 0, 512)
    expected = [
        homes[code].place(offset[row : row + 1])[0] if length[row] else offset[row] for row, code in enumerate(file)
    ]
    assert addresses(homes, file, offset, length).tolist() == expected


def test_beyond_so_many_files_their_writers_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(issuers, "_MOST_WRITERS", 7)
    file, number = np.arange(400) % 20, np.arange(400)
    op = np.where(number % 3 == 0, READ, WRITE)
    rows = rows_of(number * 10**6, 1000, file=file, op=op, flags=np.where(op == READ, FLAG_SYNC, 0))
    trace = RecordedCommands(
        rows.time_ns, rows.time_ns, rows.latency_ns, rows.op, rows.file, rows.stream, rows.purpose, rows.flags,
        rows.offset_bytes, rows.length_bytes,
    )  # fmt: skip
    owners = find_owners(trace, [], None)
    assert np.count_nonzero(owners.role == WRITER) == 7
    written = op == WRITE
    for writer in np.flatnonzero(owners.role == WRITER):
        assert len(set((file[written & (owners.stream == writer)] % 7).tolist())) == 1
