"""Measure what an exploration takes: ``python -m benchmarks.exploring [REQUESTS]`` prints after each change how long
the first picture and the whole took, and the most memory that the process held meanwhile (Linux alone tells that).

The traces are made up: 10 million requests of 64 processes unless told otherwise, with and without latencies. They are
explored on two scenarios.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tiersim.cli.exploring.view import ExplorationView
from tiersim.operating_system import give_memory_back
from tiersim.scenarios.exploring.draft import draft_of
from tiersim.scenarios.exploring.explorer import Explorer, open_recording
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.parquet import keep_freed
from tiersim.traces.schema import CHECKPOINT_WRITE, DATA_READ, LOG_WRITE, NOT_MEASURED, READ, WRITE

_BLOCK = 1_000_000
_PROCESSES, PER_S = 64, 4_000.0
_CHANGES: tuple[dict[str, Any], ...] = (
    {"volumes.data.count": 2},
    {"replay.load": 1.5},
    {"volumes.data.count": 1},
    {"replay.load": 2.0},
    {"replay.load": 0.5},
    {"replay.load": 1.0},
)


def write_recording(target: Path, count: int, *, measured: bool = True, per_s: float = PER_S) -> Path:
    """Write a bundle: processes that read, write and log at random places, and a checkpointer; without latencies
    commands come by the clock.
    """
    now_ns = 0
    with write_bundle(target) as (writer, fields):
        writer.file_names += ["data", "log"]
        writer.stream_names += [f"postgres-{number}" for number in range(_PROCESSES)] + ["kworker/u8:1"]
        for seed in range(-(-count // _BLOCK)):
            rows = min(_BLOCK, count - seed * _BLOCK)
            generator = np.random.default_rng(seed)
            times = now_ns + np.cumsum(generator.exponential(1e9 / per_s, rows)).astype(np.int64)
            now_ns = int(times[-1])
            kind = generator.choice(3, rows, p=[0.7, 0.2, 0.1])
            log = kind == 2
            nothing = np.full(rows, NOT_MEASURED, np.int64)
            places = generator.integers(0, 2_000_000, rows)
            writer.append(
                Requests(
                    time_ns=times,
                    op=np.where(kind == 0, READ, WRITE).astype(np.uint8),
                    file=log.astype(np.int32),
                    offset_bytes=np.where(log, np.cumsum(log) % 100_000, places) * 8192,
                    length_bytes=np.full(rows, 8192),
                    stream=np.where(kind == 1, _PROCESSES, np.arange(rows) % _PROCESSES).astype(np.int32),
                    purpose=np.array([DATA_READ, CHECKPOINT_WRITE, LOG_WRITE], np.uint8)[kind],
                    issue_ns=nothing,
                    command=nothing,
                    latency_ns=generator.integers(50_000, 500_000, rows) if measured else nothing,
                    flags=np.zeros(rows, np.uint8),
                )
            )
        fields["source_format"] = "made up"
    return target


def most_bytes() -> int:
    """The most resident memory of this process since the last call, or since it began."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = int(status.split("VmHWM:")[1].split()[0]) << 10
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): begin anew
    return found


def measure(recording: Path, tell: Callable[[str], None], changes: tuple[dict[str, Any], ...] = _CHANGES) -> int:
    """Explore a bundle; returns the most bytes that any state took."""
    tell("| after | first picture, s | the whole, s | CPU, s | most memory, MiB |\n|---|--:|--:|--:|--:|")
    began, cpu = time.monotonic(), time.process_time()
    drafts = [draft_of("pcie-flash"), draft_of("15k-raid10")]
    explorer = Explorer(open_recording(Bundle(recording), drafts[0]), drafts)
    view = ExplorationView(explorer, recording.parent)
    most = 0
    for change in ({}, *changes):
        if change:
            began, cpu = time.monotonic(), time.process_time()
            explorer.change(change)
        first_s = _until(explorer, lambda: explorer.state.picture is not None and _is_shown(explorer)) - began
        whole_s = _until(explorer, lambda: explorer.state.stage in ("done", "failed")) - began
        if explorer.state.error:
            raise RuntimeError(explorer.state.error)
        if not change:
            _until(explorer, lambda: bool(explorer.state.pins))
        view.figures()
        took = most_bytes()
        most = max(most, took)
        name = ", ".join(f"{key} {value}" for key, value in change.items()) or "the start"
        tell(f"| {name} | {first_s:.2f} | {whole_s:.1f} | {time.process_time() - cpu:.1f} | {took >> 20:,} |")
    explorer.end()
    return most


def _is_shown(explorer: Explorer) -> bool:
    picture = explorer.state.picture
    return picture is not None and picture.draft is explorer.state.draft


def _until(explorer: Explorer, holds: Callable[[], bool]) -> float:
    with explorer.changed:
        explorer.changed.wait_for(lambda: holds() or explorer.state.stage == "failed")
    return time.monotonic()


def main() -> None:
    """Make the recording, measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    give_memory_back()
    keep_freed()
    with tempfile.TemporaryDirectory(prefix="tiersim-") as folder:
        for measured in (True, False):
            print(f"\n{count:,} requests, " + ("latencies recorded" if measured else "by the clock"), flush=True)
            path = write_recording(Path(folder) / f"{measured}.trace", count, measured=measured)
            most_bytes()
            measure(path, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
