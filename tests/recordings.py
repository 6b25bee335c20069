"""Recordings made up for tests: bundles from columns."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiersim.operations import READ
from tiersim.scenarios.library import load_scenario
from tiersim.scenarios.replay import replay
from tiersim.scenarios.survey import survey
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.schema import UNKNOWN


def rows_of(
    time_ns: Any,
    latency_ns: Any,
    stream: Any = -1,
    op: Any = READ,
    file: Any = 0,
    offset_bytes: Any = 0,
    length_bytes: Any = 8192,
    purpose: Any = UNKNOWN,
    flags: Any = 0,
) -> Requests:
    """Requests from columns, sorted by time; scalars are repeated."""
    times = np.asarray(time_ns, np.int64)
    count = len(times)
    order = np.argsort(times, kind="stable")

    def column(values: Any, kind: Any) -> NDArray[Any]:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values), count)[order], kind)

    nothing = np.full(count, -1, np.int64)
    return Requests(
        time_ns=times[order], op=column(op, np.uint8), file=column(file, np.int32),
        offset_bytes=column(offset_bytes, np.int64), length_bytes=column(length_bytes, np.int64),
        stream=column(stream, np.int32), purpose=column(purpose, np.uint8), issue_ns=nothing, command=nothing,
        latency_ns=column(latency_ns, np.int64), flags=column(flags, np.uint8),
    )  # fmt: skip


def write_recording(folder: Path, rows: Requests, files: int = 1, streams: Any = ()) -> Path:
    """A bundle of *rows* with *files* files and the streams of those names."""
    target = folder / "made-up.trace"
    with write_bundle(target) as (writer, fields):
        writer.file_names += [f"file{number}" for number in range(files)]
        writer.stream_names += list(streams)
        writer.append(rows)
        fields["source_format"] = "made up"
    return target


def closed_recording(
    streams: int, per_stream: int, latency_ns: int, think_ns: Any, seed: int = 1
) -> dict[str, NDArray[np.int64]]:
    """Columns of streams that issue one request at a time: *think_ns* after the end of the one before.

    *think_ns* is a number, or the mean of an exponential distribution as a float.
    """
    generator = np.random.default_rng(seed)
    shape = (streams, per_stream)
    if isinstance(think_ns, float):
        think = np.rint(generator.exponential(think_ns, shape)).astype(np.int64)
    else:
        think = np.full(shape, think_ns, np.int64)
    start = np.cumsum(think + latency_ns, axis=1) - latency_ns
    return {
        "time_ns": start.ravel(),
        "latency_ns": np.full(streams * per_stream, latency_ns),
        "stream": np.repeat(np.arange(streams), per_stream),
    }


def recording_on(folder: Path, name: str, factor: float = 1.0) -> Path:
    """What a recording on a device would have been: latencies of a run of the model, times *factor*."""
    columns = closed_recording(6, 1000, 100_000, 2_000_000.0)
    offsets = np.random.default_rng(8).integers(0, 10**6, 6000) * 8192
    (folder / "first").mkdir()
    first = write_recording(folder / "first", rows_of(**columns, offset_bytes=offsets), streams=list("abcdef"))
    done = replay(survey(Bundle(first)), load_scenario(name), keep_requests=True).requests
    assert done is not None
    rows = Bundle(first).requests()
    start = done["start_ns"].to_numpy()
    latency = np.rint((done["done_ns"].to_numpy() - start) * factor).astype(np.int64)
    again = rows_of(start, latency, rows.stream, offset_bytes=rows.offset_bytes)
    return write_recording(folder, again, streams=list("abcdef"))
