"""What is looked at again and again while a load runs: devices, processes, and what sessions wait for."""

import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.real_postgres.server import DATABASE, Server
from tiersim.traces.recorders.processes import KERNEL, LOAD_GENERATOR, Processes

_SESSIONS = (
    "SELECT statement_timestamp() AS ts, backend_type, state, wait_event_type, wait_event, count(*) AS count "
    "FROM pg_stat_activity WHERE pid <> pg_backend_pid() GROUP BY 2, 3, 4, 5;\n"
)
_COLUMNS = "ts,backend_type,state,wait_event_type,wait_event,count\n"
_PROCESS_COLUMNS = ("process", "cpu_ms", "user_ms", "system_ms", "run_queue_ms", "slices", "observed_ms")
#: What runs on other processors than a server that has one of its own.
ELSEWHERE = (LOAD_GENERATOR, KERNEL)


class Watched:
    """Takes looks, and of the devices samples of whole windows."""

    def __init__(self, count: Callable[[], dict[str, int]], take: Callable[[], None], window_s: float) -> None:
        """Begin with the first sample at the first look."""
        self.samples: list[dict[str, int]] = []
        self._count, self._take, self._window_s = count, take, window_s
        self._due_s = 0.0

    def look(self) -> None:
        """Look at processes and sessions, and at the devices where a window has ended."""
        self._take()
        now_s = time.monotonic()
        if now_s >= self._due_s:
            self._due_s = (self._due_s or now_s) + self._window_s
            self.sample()

    def sample(self) -> None:
        """Look at the devices."""
        self.samples.append(self._count())


@contextmanager
def sampling(server: Server, counters: Path, left_out: Collection[str] = ()) -> Iterator[Callable[[], None]]:
    """Give a function that looks at processes and sessions of *server*; *counters* gets what was found, but the kinds
    of process *left_out*.
    """
    processes = Processes(server.process)
    sessions = counters / "pg_stat_activity.csv"
    sessions.write_text(_COLUMNS)
    (counters / "processes.before.csv").write_text(",".join(_PROCESS_COLUMNS) + "\n")  # of nothing, yet
    with sessions.open("a") as file, subprocess.Popen(
        [server.programs.psql, *server.connection, "-d", DATABASE, "-X", "-q", "--csv", "-t"],
        stdin=subprocess.PIPE, stdout=file, stderr=subprocess.DEVNULL, text=True,
    ) as psql:  # fmt: skip
        assert psql.stdin is not None
        asked = psql.stdin

        def take() -> None:
            processes.look()
            asked.write(_SESSIONS)
            asked.flush()

        try:
            yield take
        finally:
            asked.close()
            psql.wait()
    rows = [
        [entity, *(str(values[name]) for name in _PROCESS_COLUMNS[1:])]
        for (_, entity), values in processes.values().items()
        if entity not in left_out
    ]
    lines = [_PROCESS_COLUMNS, *rows]
    (counters / "processes.after.csv").write_text("".join(",".join(line) + "\n" for line in lines))
