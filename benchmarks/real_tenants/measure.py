"""Measuring servers on one device: each warm, a checkpoint of each, the allowance, and all clients at the same time."""

import json
import multiprocessing
import multiprocessing.synchronize
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import processes
from benchmarks.commands import run
from benchmarks.errors import BenchError
from benchmarks.real_postgres.checkpoints import LOG_PREFIX, parse
from benchmarks.real_postgres.pgbench import Transactions, age, fill, prewarm, transact
from benchmarks.real_postgres.server import DATABASE, Programs, Server, find_programs, initialize, running
from benchmarks.real_tenants.allowance import KINDS, Allowance
from benchmarks.real_tenants.plan import Plan

#: So long do clients go on behind the time that is recorded: the recorder takes a while to begin and to end.
_LONGER_S = 8.0
_Barrier = multiprocessing.synchronize.Barrier


class Bench:
    """Measures servers of a plan; their files lie in *place*, which is memory."""

    def __init__(self, plan: Plan, place: Path, say: Callable[[str], None]) -> None:
        """Look for what is needed; raises BenchError."""
        self.plan, self._place, self._say = plan, place, say
        self._programs: Programs = find_programs()
        self._template = place / "template"

    def measure(self, names: Sequence[str], out: Path, *, recorded: bool = False) -> None:
        """Measure the servers of these *names* at the same time, unless *out* has that; it gets ``result.json``, and
        each server's bundle if they are *recorded*.
        """
        if (out / "result.json").exists():
            return
        out.mkdir(parents=True, exist_ok=True)
        if not self._template.exists():
            processes.together([partial(self._fill, _folder(self._place / "filling"))])
        place = _folder(self._place / "cell")
        try:
            run(["cp", "--archive", str(self._template), str(place / "files")])
            allowance, barrier = Allowance.make(place), multiprocessing.get_context("fork").Barrier(len(names))
            processes.together([partial(self._tenant, name, place, allowance, barrier, recorded) for name in names])
            requests = allowance.requests()
            found = {name: self._result(name, place / name, requests, self._number(name)) for name in names}
            for name in names if recorded else ():
                shutil.copytree(place / name / f"{name}.trace", out / f"{name}.trace", dirs_exist_ok=True)
        finally:
            shutil.rmtree(place)
        host = {"kernel": os.uname().release, "cores": os.cpu_count(), "load_before": os.getloadavg()}
        (out / "result.json").write_text(json.dumps({"tenants": found, "host": host}) + "\n")
        for name, one in found.items():
            self._say(f"{out.name}: {name}: {one['transactions_per_s']:.1f} transactions/s")

    def _number(self, name: str) -> int:
        return list(self.plan.tenants).index(name)

    def _fill(self, folder: Path) -> None:
        files = _folder(folder / "files")
        for name in self.plan.tenants:
            own, sockets = _folder(files / name), _folder(folder / name)
            initialize(self._programs, own / "cluster")
            with running(self._programs, own / "cluster", sockets, self.plan.settings) as server:
                fill(server, self.plan.load)
                if self.plan.load.age and self.plan.tenants[name] != "reads":
                    age(server, self.plan.load)
        files.rename(self._template)

    def _tenant(self, name: str, place: Path, allowance: Allowance, barrier: _Barrier, recorded: bool) -> None:
        """Run one server with its clients on a processor of its own, before all else on it: a request that comes a
        millisecond late waits behind those of the other server. Its folder gets what it did.
        """
        plan, cell, folder = self.plan, self.plan.cell(name), _folder(place / name)
        _before_others()
        core = self._number(name) % (os.cpu_count() or 1)
        settings = plan.settings | {"log_line_prefix": LOG_PREFIX}
        programs = replace(self._programs, more=allowance.environment(self._number(name)))
        os.sched_setaffinity(0, {core})
        with running(programs, place / "files" / name / "cluster", folder, settings) as server:
            if plan.load.prewarm:
                prewarm(server)
            transact(server, cell, plan.load.warm / 1e9, lambda: None)
            server.sql("CHECKPOINT")
            barrier.wait()
            allowance.limit(plan.tokens, plan.slice)
            transact(server, cell, plan.load.settle / 1e9, lambda: None)
            server.sql("SELECT pg_stat_statements_reset()")
            server.sql("SELECT pg_stat_reset()")
            barrier.wait()
            began_unix_s, began_ns = time.time(), time.monotonic_ns()
            with _recording(server, folder / f"{name}.trace", cell.run_s) if recorded else _nothing():
                done = transact(server, cell, cell.run_s + (_LONGER_S if recorded else 0.0), lambda: None)
            barrier.wait()
            allowance.limit(0, plan.slice)
            _save(folder, done, began_unix_s, began_ns)

    def _result(self, name: str, folder: Path, requests: NDArray[np.void], number: int) -> dict[str, Any]:
        """Say what one server did in the time of the run."""
        run_s = self.plan.run / 1e9
        with np.load(folder / "done.npz") as kept:
            began_unix_s, began_ns = float(kept["began_unix_s"]), int(kept["began_ns"])
            ended_s, latency_ms = kept["ended_unix_s"] - began_unix_s, kept["latency_ms"]
        within = (ended_s >= 0) & (ended_s < run_s)
        ended_s, latency_ms = ended_s[within], latency_ms[within]
        own = requests[requests["tenant"] == number]
        came_s = (own["came_ns"] - began_ns) / 1e9
        own = own[(came_s >= 0) & (came_s < run_s) & (own["done_ns"] > 0)]
        checkpoints = parse((folder / "server.log").read_text().splitlines())
        return {
            "transactions_per_s": len(ended_s) / run_s,
            "mean_ms": float(latency_ms.mean()),
            "p95_ms": float(np.quantile(latency_ms, 0.95)),
            "per_s": np.bincount(ended_s.astype(int), minlength=round(run_s)).tolist(),
            "requests": {kind: _figures(own[own["kind"] == code]) for code, kind in enumerate(KINDS)},
            "checkpoints": [
                asdict(one)
                | {
                    "start_s": one.start_unix_s - began_unix_s,
                    "end_s": None if one.end_unix_s is None else one.end_unix_s - began_unix_s,
                }
                for one in checkpoints
                if one.start_unix_s > began_unix_s
            ],
            "since_checkpoint_s": began_unix_s
            - max(one.start_unix_s for one in checkpoints if one.start_unix_s < began_unix_s),
        }


def _figures(rows: NDArray[np.void]) -> dict[str, float]:
    took_ms = (rows["done_ns"] - rows["came_ns"]) / 1e6
    if not len(rows):
        return {"count": 0}
    mean_ms, p95_ms = float(took_ms.mean()), float(np.quantile(took_ms, 0.95))
    after_ms = float(np.median(rows["done_ns"] - rows["granted_ns"])) / 1e6
    return {"count": len(rows), "mean_ms": mean_ms, "p95_ms": p95_ms, "after_grant_ms": after_ms}


def _save(folder: Path, done: Transactions, began_unix_s: float, began_ns: int) -> None:
    np.savez(
        folder / "done.npz",
        ended_unix_s=done.ended_unix_s,
        latency_ms=done.latency_ms,
        began_unix_s=began_unix_s,
        began_ns=began_ns,
    )


def _before_others() -> None:
    """Let other work on the machine wait for this process and all that it starts (sched(7)); raises BenchError."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(os.sched_get_priority_min(os.SCHED_RR)))
    except OSError as error:
        raise BenchError(f"servers cannot run in real time ({error.strerror}); be root, in no control group") from None


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _recording(server: Server, target: Path, run_s: float) -> Iterator[None]:
    """Record a server while the block runs, on the processors that it does not run on."""
    program = shutil.which("tiersim", path=str(Path(sys.executable).parent))
    if program is None:
        raise BenchError("tiersim is not beside this Python; install the project (make demo does)")
    mine = os.sched_getaffinity(0)
    others = set(range(os.cpu_count() or 1)) - mine or mine
    command = [
        "taskset", "-c", ",".join(str(core) for core in sorted(others)), program, "record", "postgres",
        "--dsn", f"host={server.folder} user=postgres dbname={DATABASE}", "--minutes", f"{run_s / 60:.4f}",
        "--interval", "5", "--buffercache", "-o", str(target),
    ]  # fmt: skip
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, cwd="/")
        try:
            yield
            code = process.wait(60)
        finally:
            process.kill()
            process.wait()
        said.seek(0)
        if code:
            raise BenchError(f"tiersim record failed: {said.read()[-500:]}")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
