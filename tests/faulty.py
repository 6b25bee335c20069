"""Faults for tests: a process that is killed at any line of what writes, a file system that is full or read-only."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.recordings import rows_of, write_recording
from tiersim import files
from tiersim.cli import page as pages
from tiersim.scenarios.sweeps import folder as sweeps
from tiersim.scenarios.sweeps.axes import parse_axes
from tiersim.simulator import result as results
from tiersim.simulator.result import Result, save_result
from tiersim.traces import bundle
from tiersim.traces.readers import import_trace, importing
from tiersim.traces.recorders import growing
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.statistics import Snapshot

#: Modules that write; a process is killed at any of their lines.
WRITERS = {module.__file__ for module in (bundle, files, growing, importing, pages, results, sweeps)}
AXES = parse_axes(("replay.load=1,2,3",))
POINTS = 3
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.faulty"])
_PATIENCE_S = 60

Work = Callable[..., None]


def begin(work: Work, *arguments: Any) -> BaseProcess:
    """Run *work* in a process of its own, which has loaded the program before."""
    process = _CONTEXT.Process(target=work, args=arguments)
    process.start()
    return process


def killed_at(line: int, work: Work, *arguments: Any) -> None:
    """Run *work* in a process that is killed with signal 9 at the *line*-th line of what writes."""
    process = begin(_run_until, line, None, work, *arguments)
    process.join(_PATIENCE_S)
    assert process.exitcode == -signal.SIGKILL, process.exitcode


def lines_of(count_in: Path, work: Work, *arguments: Any) -> int:
    """Run *work* and return how many lines of what writes that took; *count_in* is a file for the number."""
    process = begin(_run_until, 0, count_in, work, *arguments)
    process.join(_PATIENCE_S)
    assert process.exitcode == 0
    return int(count_in.read_text())


def _run_until(last: int, count_in: Path | None, work: Work, *arguments: Any) -> None:
    count = 0
    known = {os.path.realpath(path) for path in WRITERS if path}
    ours: dict[str, bool] = {}

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        name = frame.f_code.co_filename
        if name not in ours:
            ours[name] = os.path.realpath(name) in known
        if not ours[name]:
            return None
        if event == "line":
            count += 1
            if count == last:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    work(*arguments)
    sys.settrace(None)
    if count_in is not None:
        count_in.write_text(str(count))


# What is written, in each way that the program writes.


def import_requests(folder: Path, luck: int, force: bool = False, place: Path | None = None) -> None:
    """Import a table of requests that depends on *luck*."""
    import_trace([folder / f"{luck}.parquet"], (place or folder) / "a.trace", force=force)


def table_of_requests(folder: Path, luck: int, rows: int = 300) -> Path:
    """Write the table that :func:`import_requests` imports."""
    offsets = np.random.default_rng(luck).integers(0, 10**6, rows) * 4096
    columns = {
        "time_ns": np.arange(rows),
        "op": pa.repeat("read", rows),
        "offset_bytes": offsets,
        "length_bytes": np.full(rows, 4096),
    }
    pq.write_table(pa.table(columns), folder / f"{luck}.parquet")
    return folder / f"{luck}.parquet"


def replay(folder: Path, luck: int, force: bool = False, place: Path | None = None) -> None:
    """Write a result that depends on *luck*."""
    numbers = np.random.default_rng(luck).integers(0, 10**9, 300)
    table = pa.table({"class": ["data read"] * 300, "count": numbers})
    summary = {"schema": results.SCHEMA, "name": str(luck)}
    save_result(
        Result(summary, table, table, table, f"# {luck}\n"),
        (place or folder) / "a.result",
        {"seconds": luck},
        force=force,
    )


def snapshot(number: int, time_ns: int | None = None) -> Snapshot:
    """Return a snapshot of a counter."""
    values = {("log", "log"): {"bytes": Decimal(number)}}
    return Snapshot(number * 10**9 if time_ns is None else time_ns, values)


def record(folder: Path, luck: int, force: bool = False) -> None:
    """Record three times, and say so in a file each time that it was kept; *luck* is the first number."""
    recorded = GrowingBundle(folder / "a.trace", 0, {"source_format": "made up"}, force=force)
    for number in range(luck, luck + 3):
        recorded.add([snapshot(number)], [{"query": str(n), "text": "SELECT ?"} for n in range(number)])
        (folder / "kept").write_text(str(number - luck + 1))
    recorded.end()
    (folder / "kept").write_text("all")


def plan(luck: int = 1) -> dict[str, object]:
    """Return the plan of a sweep."""
    words = dict.fromkeys(("tool", "scenario_hash", "scenario"), str(luck))
    return {
        **words,
        "schema": sweeps.SCHEMA,
        "trace": {},
        "axes": [],
        "fixed": {},
        "replications": 1,
        "points": POINTS,
        "keep": False,
        "screen": None,
        "recorded_on": None,
    }


def sweep(folder: Path, luck: int, force: bool = False) -> None:
    """Run a sweep, or go on with it; a row holds *luck*."""
    with sweeps.open_folder(folder / "a.sweep", plan(luck), force=force) as opened:
        for number in range(POINTS):
            if not (folder / "a.sweep" / sweeps.POINTS / f"{number:06d}.json").exists():
                opened.write(row(number, luck))
        opened.finish(POINTS, AXES, {"seconds": 1})


def row(number: int, luck: int) -> dict[str, Any]:
    """Return the row of a point."""
    said = {"status": "failed", "error": f"{luck}", "summary": {}}
    return {"point": number, "replication": 0, "settings": {"replay.load": str(number + 1)}, **said}


def page(folder: Path, luck: int, force: bool = False, place: Path | None = None) -> None:
    """Write a page of a miss-ratio curve."""
    curve = {"schema": "tiersim.mrc/1", "points": [{"cache_bytes": 8192, "miss_ratio": 0.5}]}
    taken = folder / f"input-{luck}.mrc.json"  # of its own: another process may read while this one writes
    taken.write_text(json.dumps(curve))
    pages.write_page([taken], (place or folder) / "a.html", f"page {luck}", force=force)


def made_up_bundle(folder: Path, rows: int = 9) -> Path:
    """Write a bundle of requests."""
    return write_recording(
        folder, rows_of(np.arange(rows) * 1000, 10, offset_bytes=np.arange(rows) * 8192), streams=["a"]
    )


# File systems.


@contextmanager
def mounted(place: Path, size_bytes: int) -> Iterator[Callable[[str], None]]:
    """Mount a file system of so many bytes at *place*, and yield what mounts it anew with other options; skips where
    one may not.
    """
    if os.name != "posix" or os.getuid() or not shutil.which("mount"):
        pytest.skip("only root may mount a file system")
    place.mkdir(exist_ok=True)
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "nodev", place], check=False, stderr=-3
    ).returncode:
        pytest.skip("this machine does not let a file system be mounted")

    def remount(options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", place], check=True)

    try:
        yield remount
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
