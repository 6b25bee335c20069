"""Measuring one server: warm without a cap, the cap, the run between two looks at its counters."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import device
from benchmarks.device import Device
from benchmarks.processes import before_others
from benchmarks.real_mysql.accounts import Transactions, fill, transact
from benchmarks.real_mysql.figures import Looked, figures_of
from benchmarks.real_mysql.plan import Cell, Plan
from benchmarks.real_mysql.server import DATABASE, Programs, Server, initialize, running
from tiersim.scenarios.validation.matrix_cells import COUNTERS
from tiersim.traces.readers.mysql.settings import KEPT
from tiersim.traces.recorders.mysql.views import QUERIES, VARIABLES

#: As a drive has them, so that the server writes no smaller part of its log.
_SECTOR_BYTES, _PAGE_BYTES = 4096, 16_384
#: Of a server that is filled: what is written for safety alone is not waited for, and all pages fit.
_FILLING = {"innodb_flush_log_at_trx_commit": "0", "innodb_buffer_pool_size": "2G"}
#: Looked at every second: no format that is read.
_SERIES = (
    "SELECT 'unix_s', UNIX_TIMESTAMP(SYSDATE(6)); SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions',"
    " 'Innodb_buffer_pool_reads', 'Innodb_buffer_pool_pages_data', 'Innodb_buffer_pool_pages_dirty',"
    " 'Innodb_buffer_pool_pages_free', 'Innodb_buffer_pool_pages_flushed', 'Innodb_buffer_pool_pages_lru_flushed',"
    " 'Innodb_buffer_pool_wait_free', 'Innodb_dblwr_pages_written', 'Innodb_dblwr_writes', 'Innodb_data_fsyncs',"
    " 'Innodb_log_writes', 'Innodb_os_log_written', 'Innodb_checkpoint_age', 'Innodb_history_list_length',"
    " 'Threads_running');\n"
)


def make_template(programs: Programs, plan: Plan, image: Path, folder: Path) -> None:
    """Make an image with a server's filled folder on it."""
    device.make_image(image, plan.image)
    with before_others(), device.attached(image, folder / "mount", _SECTOR_BYTES) as made:
        data = made.mount / "data"
        initialize(programs, data, plan.settings)
        with running(programs, data, folder, plan.settings | _FILLING) as server:
            fill(server, plan.rows)
        device.rewrite(_redo(data))


def measure(programs: Programs, cell: Cell, template: Path, folder: Path, say: Callable[[str], None]) -> None:
    """Measure a cell on a copy of *template*; *folder* gets ``result.json``, the counters, and the server's log."""
    image = folder / "image"
    try:
        device.copy_whole_image(template, image)
        with before_others(), device.attached(image, folder / "mount", _SECTOR_BYTES) as made:
            data = made.mount / "data"
            if _redo(data).stat().st_size >> 20 != cell.redo_mib:
                with running(programs, data, folder, cell.settings):
                    pass  # it makes a log of the other size
                device.rewrite(_redo(data))
            with running(programs, data, folder, cell.settings, to_its_end=False) as server:
                at_rest = {
                    "device_latency_ns": device.latency_ns(data / DATABASE / "accounts.ibd", _PAGE_BYTES),
                    "log_device_ns": device.log_times_ns(made.mount),
                }
                transact(server, cell, cell.warm_s, _nothing)
                made.cap(cell.iops)
                transact(server, cell, cell.settle_s, _nothing)
                say(f"{cell.name}: warm, measuring for {cell.run_s:.0f} s")
                result = _run(server, made, cell, folder) | at_rest
    finally:
        image.unlink(missing_ok=True)
    (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    say(f"{cell.name}: {result['tps']:.1f} transactions/s")


def _redo(data: Path) -> Path:
    return data / "ib_logfile0"


def _nothing() -> None:
    """Look at nothing."""


def _run(server: Server, made: Device, cell: Cell, folder: Path) -> dict[str, object]:
    counters = folder / COUNTERS
    counters.mkdir()
    server.sql("TRUNCATE performance_schema.events_statements_summary_by_digest")
    before = _look(server, made, counters, "before")
    with _sampling(server, folder / "series.tsv") as sample:
        done: Transactions = transact(server, cell, cell.run_s, sample)
    after = _look(server, made, counters, "after")
    made.cap(None)
    (counters / "sysbench.txt").write_text(done.printed)
    return figures_of(cell, done, before, after)


def _look(server: Server, made: Device, counters: Path, when: str) -> Looked:
    """Read all counters into files, without places on this machine, and return what figures are made of."""
    tables = {}
    for query in {query.name: query for query in reversed(QUERIES) if query.mariadb is not None}.values():
        text = server.sql(query.sql).replace(f"{server.data}/", "")
        if query is VARIABLES:
            text = "".join(
                line for line in text.splitlines(True) if line.partition("\t")[0] in {"Variable_name", *KEPT}
            )
        (counters / f"{query.name}.{when}.tsv").write_text(text)
        tables[query.name] = text
    (counters / f"proc.{when}.txt").write_text("".join(Path("/proc", name).read_text() for name in ("stat", "meminfo")))
    return Looked.of(tables, made.counted(), made.times_ms(), server.cpu_s())


@contextmanager
def _sampling(server: Server, series: Path) -> Iterator[Callable[[], None]]:
    """Give a function that lets the server say how its pool and its log are, below each other in *series*."""
    with series.open("w") as file, subprocess.Popen(
        [*server.client, "--skip-column-names", "--unbuffered"],
        stdin=subprocess.PIPE, stdout=file, stderr=subprocess.DEVNULL, text=True,
    ) as client:  # fmt: skip
        assert client.stdin is not None
        asked = client.stdin

        def sample() -> None:
            asked.write(_SERIES)
            asked.flush()

        try:
            yield sample
        finally:
            asked.close()
            client.wait()
