"""Points on the workers of a Dask cluster that is there already: the same functions, the same bits
(``docs/sweeps.md``).

A worker reads the trace itself, once, and checks that it is the one that is meant. What comes of a point travels back
and is written where the sweep was begun. A point changes nothing, so one whose worker died runs again on another.
"""

import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from tiersim.errors import ScenarioError, reason
from tiersim.parallel import Newest
from tiersim.scenarios.hardware import NamedScenario
from tiersim.scenarios.sweeps.grid import Point
from tiersim.scenarios.sweeps.runner import Done, run_point
from tiersim.scenarios.sweeps.sources import SweepSource, open_source
from tiersim.sources import sources_hash

#: How long a scheduler may take to answer, and all workers may be away, in seconds.
_ANSWERS_S, _AWAY_S = 10, 60
_LOOKS_UP_S = 0.2
#: Points that are handed out for each thread of the cluster: one to run, one to go on with.
_EACH = 2
#: What has to be the same on both sides, or the same bits are not to be expected.
_PACKAGES = ("tiersim", "numba", "numpy")


@dataclass(frozen=True)
class _Job:
    """What every point of a sweep has in common."""

    path: str
    trace_hash: str
    like: NamedScenario
    recorded_on: NamedScenario | None
    keep: bool


class Cluster:
    """The workers of the scheduler at an address."""

    def __init__(
        self,
        address: str,
        path: Path,
        like: NamedScenario,
        trace_hash: str,
        recorded_on: NamedScenario | None,
        *,
        keep: bool,
    ) -> None:
        """Use the scheduler at *address* for the trace at *path*, which its workers see under the same name and find to
        have *trace_hash*.

        *like* is one of the scenarios. Raises ScenarioError when Dask is not installed.
        """
        if find_spec("distributed") is None:
            raise ScenarioError("--cluster: needs Dask, which is not installed; pip install distributed")
        self._address = address
        self._job = _Job(str(path.absolute()), trace_hash, like, recorded_on, keep)

    def __str__(self) -> str:
        """Say which one."""
        return f"cluster {self._address}"

    def run(self, points: Iterable[tuple[Point, NamedScenario]]) -> Generator[Done | None]:
        """See :class:`tiersim.scenarios.sweeps.runner.Workers`; a point that is running on a worker cannot be stopped
        there.

        Raises ScenarioError when the cluster does not answer, has no workers, other versions, or does not see the
        trace.
        """
        left = iter(points)
        following = next(left, None)
        if following is None:
            return
        came = Event()
        with self._client() as client:

            def submit(point: Point, scenario: NamedScenario) -> Any:
                key = f"tiersim-{id(self)}-{point.number}"
                future = client.submit(_run, self._job, point, scenario, pure=False, key=key)
                future.add_done_callback(lambda _: came.set())
                return future

            running: set[Any] = set()
            seen_s = time.monotonic()
            try:
                while running or following is not None:
                    threads = sum(client.nthreads().values())
                    if threads:
                        seen_s = time.monotonic()
                    elif time.monotonic() - seen_s > _AWAY_S:
                        raise ScenarioError(
                            f"--cluster {self._address}: no worker is left; start some and give the command again,"
                            " which goes on from here"
                        )
                    while following is not None and len(running) < _EACH * threads:
                        running.add(submit(*following))
                        following = next(left, None)
                    ended = {future for future in running if future.done()}
                    running -= ended
                    for future in ended:
                        yield self._result(future)
                    yield None
                    if not ended:
                        came.wait(_LOOKS_UP_S)
                    came.clear()
            finally:
                client.cancel(list(running))

    def _result(self, future: Any) -> Done:
        from distributed import KilledWorker

        try:
            done: Done = future.result()
        except KilledWorker as error:
            raise ScenarioError(
                f"--cluster {self._address}: several workers died of the same point ({error.task}), for lack of memory"
                " perhaps; see their logs"
            ) from None
        return done

    @contextmanager
    def _client(self) -> Generator[Any]:
        import distributed

        connect: Any = distributed.Client  # which has no types
        try:
            client = connect(self._address, timeout=_ANSWERS_S, set_as_default=False)
        except (OSError, ValueError) as error:
            why = reason(error) if isinstance(error, OSError) else str(error)
            raise ScenarioError(
                f"--cluster {self._address}: no scheduler answers there ({why}); give the address that dask scheduler"
                " prints, tcp://host:port"
            ) from None
        with client:
            self._check_versions(client)
            yield client

    def _check_versions(self, client: Any) -> None:
        """Refuse workers on which the same point might give other bits."""
        found = client.get_versions(packages=list(_PACKAGES))
        if not found["workers"]:
            raise ScenarioError(
                f"--cluster {self._address}: has no workers; start some with dask worker {self._address}"
            )
        here = _versions(found["client"])
        for worker, versions in found["workers"].items():
            there = _versions(versions)
            for what, wanted in here.items():
                if there[what] != wanted:
                    has = "none" if there[what] is None else there[what]
                    raise ScenarioError(
                        f"--cluster {self._address}: the worker {worker} has {what} {has}, here it is {wanted}; install"
                        " the same on both"
                    )
        own = code_hash()
        for worker, code in client.run(code_hash).items():
            if code != own:
                raise ScenarioError(
                    f"--cluster {self._address}: tiersim on the worker {worker} has other code than here, in spite of"
                    " its version; install the same on both"
                )


def _versions(found: Mapping[str, Any]) -> dict[str, str | None]:
    python = ".".join(str(found["host"]["python"]).split(".")[:3])
    return {"Python": python, **{name: found["packages"].get(name) for name in _PACKAGES}}


def code_hash() -> str:
    """Return a hash of the sources that decide what comes of a point."""
    return sources_hash(Path(__file__).resolve())


#: The source that this process, a worker, read last.
_source: Newest[SweepSource] = Newest(1)


def _run(job: _Job, point: Point, scenario: NamedScenario) -> Done:
    """Run a point in this process, a worker; raises ScenarioError when it is not the right place."""
    recorded_on = "" if job.recorded_on is None else job.recorded_on.identity
    source = _source.get((job.path, job.trace_hash, recorded_on), lambda: _opened(job))
    return run_point(source, point, scenario, lambda _: None, keep=job.keep)


def _opened(job: _Job) -> SweepSource:
    from distributed import get_worker

    path, worker = Path(job.path), get_worker().address
    if not path.exists():
        raise ScenarioError(
            f"{path}: the worker {worker} does not see it; put the trace on storage that is mounted under the same path"
            " there"
        )
    source = open_source(path, job.like, job.recorded_on, None)
    if source.trace["hash"] != job.trace_hash:
        raise ScenarioError(f"{path}: the worker {worker} sees another trace there; let both see the same")
    source.prepare()
    return source
