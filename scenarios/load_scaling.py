"""More or less load than was recorded: sessions are cloned or left out; time is never compressed.

A clone does what its original did, begins at another point of the recording and wraps around at its end, and asks for
other addresses among those that its file was touched at. Its log goes where the log went.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tiersim.grouping import rows_of_each
from tiersim.operations import FLUSH
from tiersim.random_numbers import CHOSEN_SESSIONS, CLONES, random_below, random_bits
from tiersim.scenarios.recorded import Recorded
from tiersim.scenarios.sessions import SESSION, Owners
from tiersim.scenarios.survey import EXTENT_BYTES, FileUse
from tiersim.traces.schema import LOG_WRITE


def scale_load(
    trace: Recorded, owners: Owners, load: float, span_ns: int, files: Sequence[FileUse], seed: int
) -> tuple[Recorded, Owners]:
    """Clone sessions until there are *load* times as many; of a fraction, a seeded choice of the sessions takes part.

    Writers have no sessions to choose from: of a fraction, every so many of their commands stay.
    """
    if load == 1.0:
        return trace, owners
    parts, streams = [], []
    first_stream = 0
    for copy in range(math.ceil(load)):
        share = min(1.0, load - copy)
        rows = np.flatnonzero(_kept(trace, owners, share, seed, copy))
        part = trace.take(rows)
        if copy:
            part = _elsewhere(part, span_ns, files, seed, copy)
        order = np.argsort(part.time_ns, kind="stable")
        parts.append(part.take(order))
        streams.append(owners.stream[rows][order] + np.int32(first_stream))
        first_stream += len(owners.role)
    whole = Recorded(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in Recorded.__dataclass_fields__}
    )
    order = np.argsort(whole.time_ns, kind="stable")
    stream = np.concatenate(streams)[order]
    used = np.unique(stream)
    return whole.take(order), replace(
        owners,
        stream=np.searchsorted(used, stream).astype(np.int32),
        role=np.tile(owners.role, math.ceil(load))[used],
        name=np.tile(owners.name, math.ceil(load))[used],
    )


def _kept(trace: Recorded, owners: Owners, share: float, seed: int, copy: int) -> NDArray[np.bool_]:
    if share >= 1.0:
        return np.ones(len(trace), np.bool_)
    sessions = np.flatnonzero(owners.role == SESSION)
    drawn = [random_bits(seed, CHOSEN_SESSIONS, copy, int(session)) for session in sessions]
    chosen = sessions[np.argsort(drawn)[: max(1, round(share * len(sessions)))]]
    takes_part = np.zeros(len(owners.role), np.bool_)
    takes_part[chosen] = True
    by_writers = owners.role[owners.stream] != SESSION
    number = np.arange(len(trace))
    evenly = np.floor((number + 1) * share) > np.floor(number * share)
    return np.where(by_writers, evenly, takes_part[owners.stream])


def _elsewhere(part: Recorded, span_ns: int, files: Sequence[FileUse], seed: int, copy: int) -> Recorded:
    """Another time and other addresses."""
    shift_ns = random_below(span_ns, seed, CLONES, copy, 0)
    gathered = part.time_ns - part.intended_ns
    time_ns = (part.time_ns + shift_ns) % span_ns
    offset = part.offset_bytes.copy()
    moves = np.flatnonzero((part.op != FLUSH) & (part.purpose != LOG_WRITE))
    for code, own in rows_of_each(part.file[moves]):
        rows, use = moves[own], files[code]
        if len(use.extents):
            turn = random_below(len(use.extents), seed, CLONES, copy, 1 + code)
            place = (np.searchsorted(use.extents, part.offset_bytes[rows] // EXTENT_BYTES) + turn) % len(use.extents)
            moved = use.extents[place] * EXTENT_BYTES + part.offset_bytes[rows] % EXTENT_BYTES
            offset[rows] = np.minimum(moved, np.maximum(use.end_bytes - part.length_bytes[rows], 0))
    return replace(part, time_ns=time_ns, intended_ns=np.maximum(time_ns - gathered, 0), offset_bytes=offset)
