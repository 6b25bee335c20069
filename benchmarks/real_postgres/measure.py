"""Measuring one server: warm without a cap, a checkpoint, the cap, the run between two looks at its counters."""

import json
import os
import platform
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import device
from benchmarks.commands import run
from benchmarks.device import REQUESTS, Device
from benchmarks.processes import before_others
from benchmarks.real_postgres.checkpoints import LOG_PREFIX, Checkpoint, parse
from benchmarks.real_postgres.commits import commits_of
from benchmarks.real_postgres.counters import counted
from benchmarks.real_postgres.dips import WINDOW_S, Span, dips, throughput
from benchmarks.real_postgres.pgbench import Transactions, age, fill, prewarm, transact
from benchmarks.real_postgres.plan import Cell, Load, Plan
from benchmarks.real_postgres.server import DATABASE, Programs, Server, initialize, running
from benchmarks.real_postgres.watched import ELSEWHERE, Watched, sampling
from tiersim.scenarios.statements.course import stalls_of
from tiersim.scenarios.validation.cell_figures import slow_share
from tiersim.scenarios.validation.matrix_cells import COUNTERS

VIEWS = {
    "server": (
        "SELECT statement_timestamp() AS ts, version() AS version, pg_postmaster_start_time() AS"
        " pg_postmaster_start_time"
    ),
    "pg_stat_statements": "SELECT * FROM pg_stat_statements",
    "pg_stat_io": "SELECT * FROM pg_stat_io",
    "pg_stat_checkpointer": "SELECT * FROM pg_stat_checkpointer",
    "pg_stat_bgwriter": "SELECT * FROM pg_stat_bgwriter",
    "pg_stat_wal": "SELECT * FROM pg_stat_wal",
    "pg_stat_database": f"SELECT * FROM pg_stat_database WHERE datname = '{DATABASE}'",
    "pg_stat_user_tables": "SELECT * FROM pg_stat_user_tables",
    "pg_statio_user_tables": "SELECT * FROM pg_statio_user_tables",
    "pg_statio_user_indexes": "SELECT * FROM pg_statio_user_indexes",
    "pg_class": (
        "SELECT relname, relkind, relpages, reltuples, pg_relation_size(oid) AS bytes "
        "FROM pg_class WHERE relname LIKE 'pgbench%'"
    ),
    "pg_settings": "SELECT name, setting, unit FROM pg_settings WHERE setting NOT LIKE '%/%'",
    "pg_buffercache_usage": (
        "SELECT c.relname, b.usagecount, b.isdirty, count(*) FROM pg_buffercache b "
        "LEFT JOIN pg_class c ON pg_relation_filenode(c.oid) = b.relfilenode GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    ),
}
#: Beside the recordings: no format that is read.
_CONTROL = "SELECT *, extract(epoch FROM now() - checkpoint_time) AS since_s FROM pg_control_checkpoint()"
#: Processes and sessions are looked at as often.
_LOOKS_S = 0.5
_QUANTILES = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)


def make_template(programs: Programs, plan: Plan, image: Path, folder: Path) -> None:
    """Make an image with a filled cluster on it."""
    device.make_image(image, plan.image)
    with before_others(), device.attached(image, folder / "mount") as made:
        initialize(programs, made.mount / "cluster")
        with running(programs, made.mount / "cluster", folder, plan.settings) as server:
            fill(server, plan.load)
            if plan.load.age:
                age(server, plan.load)


def measure(programs: Programs, cell: Cell, template: Path, folder: Path, say: Callable[[str], None]) -> None:
    """Measure a cell on a copy of *template*; *folder* gets ``result.json``, the counters, and the server's log."""
    image = folder / "image"
    first, *others = sorted(os.sched_getaffinity(0))
    if cell.load.apart:
        os.sched_setaffinity(0, others)
    try:
        device.copy_image(template, image)
        settings = cell.settings | {"log_line_prefix": LOG_PREFIX}
        with (
            before_others(),
            device.attached(image, folder / "mount") as made,
            _with_log(cell, folder, made.mount / "cluster") as log,
            running(
                programs,
                made.mount / "cluster",
                folder,
                settings,
                cell.memory_bytes,
                first if cell.load.apart else None,
            ) as server,
        ):
            latencies: dict[str, Any] = {"device_latency_ns": device.latency_ns(_table(server, made.mount / "cluster"))}
            if log is not None:
                latencies["log_device_ns"] = device.log_times_ns(log.mount)
            _warm(server, made, log, cell)
            say(f"{cell.name}: warm, measuring for {cell.run_s:.0f} s")
            result = _run(server, made, cell, folder) | latencies
    finally:
        image.unlink(missing_ok=True)
    (folder / "result.json").write_text(_compact(result))
    say(f"{cell.name}: {result['transactions_per_s']:.1f} transactions/s, dips {result['dips']}")


@contextmanager
def _with_log(cell: Cell, folder: Path, cluster: Path) -> Iterator[Device | None]:
    """Move the log of *cluster* to a device of its own, if the load wants that, and give that device."""
    if cell.load.log_image is None:
        yield None
        return
    image, there = folder / "log-image", cluster / "pg_wal"
    try:
        device.make_image(image, cell.load.log_image)
        with device.attached(image, folder / "log") as made:
            shutil.move(there, made.mount / "pg_wal")
            run(["chown", "-R", f"--reference={cluster}", str(made.mount)])
            there.symlink_to(made.mount / "pg_wal")
            yield made
    finally:
        image.unlink(missing_ok=True)


def _table(server: Server, cluster: Path) -> Path:
    rows = server.sql("SELECT pg_relation_filepath('pgbench_accounts')")
    return cluster / rows.splitlines()[1]


def _warm(server: Server, made: Device, log: Device | None, cell: Cell) -> None:
    if cell.load.prewarm:
        prewarm(server)
    transact(server, cell, cell.load.warm / 1e9, lambda: None)
    server.sql("CHECKPOINT")
    made.cap(cell.iops)
    if log is not None:
        log.cap(cell.log_iops)
    transact(server, cell, cell.load.settle / 1e9, lambda: None)
    server.sql("SELECT pg_stat_statements_reset()")
    server.sql("SELECT pg_stat_reset()")  # autovacuum counts changes from here on


def _run(server: Server, made: Device, cell: Cell, folder: Path) -> dict[str, Any]:
    counters = folder / COUNTERS
    counters.mkdir()
    _look(server, cell, counters, "before")
    began = time.time()
    with sampling(server, counters, ELSEWHERE if cell.load.apart else ()) as take:
        watched = Watched(lambda: made.counted() | server.memory(), take, WINDOW_S)
        done = transact(server, cell, cell.run_s, watched.look, _LOOKS_S)
        watched.sample()
    made.cap(None)
    _look(server, cell, counters, "after")
    (counters / "pgbench.txt").write_text(done.printed)
    log = (folder / "server.log").read_text()
    every = parse(log.splitlines())
    checkpoints = [one for one in every if one.start_unix_s > began]
    since_s = began - max(one.start_unix_s for one in every if one.start_unix_s <= began)
    host = {
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "free_memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"),
    } | {path.name: int(path.read_text()) for path in sorted(Path("/proc/sys/vm").glob("dirty_*")) if path.is_file()}
    return _result(cell, done, checkpoints, began) | {
        "since_checkpoint_s": round(since_s, 3),
        "commits": commits_of(log.splitlines(), began, _QUANTILES),
        "counted": counted(counters),
        "host": host,
        "device": _per_window(watched.samples),
    }


def _result(cell: Cell, done: Transactions, checkpoints: list[Checkpoint], began: float) -> dict[str, Any]:
    per_s = throughput(done.ended_unix_s - began, cell.run_s)
    spans = [
        Span(one.start_unix_s - began, one.end_unix_s - began) for one in checkpoints if one.end_unix_s is not None
    ]
    return {
        "cell": asdict(cell) | {"load": cell.load.model_dump()},
        "began_unix_s": round(began, 3),
        "transactions": len(done.latency_ms),
        "transactions_per_s": round(len(done.latency_ms) / cell.run_s, 2),
        "mean_ms": round(float(done.latency_ms.mean()), 4),
        "slow_share": round(slow_share(done.latency_ms), 5),
        "quantiles_ms": {str(q): round(float(np.quantile(done.latency_ms, q)), 3) for q in _QUANTILES},
        "window_s": WINDOW_S,
        "windows_per_s": [round(float(value), 1) for value in per_s],
        "checkpoints": [
            {
                "start_s": round(one.start_unix_s - began, 3),
                "end_s": None if one.end_unix_s is None else round(one.end_unix_s - began, 3),
            }
            | {name: value for name, value in asdict(one).items() if not name.endswith("_unix_s")}
            for one in checkpoints
        ],
        "dips": [round(value, 4) for value in dips(per_s, spans)],
        "stalls": stalls_of(np.round((done.ended_unix_s - began) * 1e9).astype(np.int64), 0, round(cell.run_s * 1e9)),
    }


def _per_window(samples: list[dict[str, int]]) -> dict[str, list[int]]:
    """Requests in each window, and what the page cache held at its end."""
    requests = {name: [after[name] - before[name] for before, after in pairwise(samples)] for name in REQUESTS}
    cache = {
        f"{name}_mb": [round(one[name] / 1e6) for one in samples[1:]] for name in samples[0] if name not in REQUESTS
    }
    return requests | cache


def _look(server: Server, cell: Cell, counters: Path, when: str) -> None:
    (counters.parent / f"pg_control_checkpoint.{when}.csv").write_text(server.sql(_CONTROL))
    for view, query in VIEWS.items():
        (counters / f"{view}.{when}.csv").write_text(server.sql(query))
    (counters / f"diskstats.{when}.txt").write_text(_processors(cell.load) + Path("/proc/meminfo").read_text())


def _processors(load: Load) -> str:
    """Return /proc/stat; of a server with a processor of its own that of the first one, as all that there is."""
    stat = Path("/proc/stat").read_text()
    if not load.apart:
        return stat
    _, first, *others = stat.splitlines(keepends=True)
    return "".join([first.replace("cpu0", "cpu ", 1), first, *(line for line in others if not line.startswith("cpu"))])


def _compact(result: dict[str, Any]) -> str:
    """JSON with a line for each key."""
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in result.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"
