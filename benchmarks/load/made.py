"""Writes the inputs: ``python -m benchmarks.load.made KIND SIZE`` into the folder that it is started in, over what is
there.

All are made up, the same each time. What grows with SIZE is what the case is about; all else stays as it is.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tiersim.operations import WRITE
from tiersim.traces.bundle import Requests, write_bundle
from tiersim.traces.schema import FLAG_SYNC, UNKNOWN

_HERE = Path()
_PAGE_BYTES = 8192
_BLOCK = 1 << 20
_LATENCY_NS = 100_000
#: Rows of a trace that is to be simulated in next to no time.
_TINY = 200
_REQUESTS_OF_A_FILE, _REQUESTS_OF_A_SESSION = 10, 20
#: Tables that queries name, and calls of each query between two snapshots.
_TABLES, _CALLS = 20, 5


def _rows(time_ns: NDArray[np.int64], stream: NDArray[np.int64], luck: np.random.Generator) -> Requests:
    """Return reads and writes of 8 KiB anywhere in 80 GB, in order of *time_ns*."""
    count, nothing = len(time_ns), np.full(len(time_ns), -1, np.int64)
    op = (luck.random(count) < 0.3).astype(np.uint8)
    return Requests(
        time_ns=time_ns,
        op=op,
        file=np.zeros(count, np.int32),
        offset_bytes=luck.integers(0, 10**7, count) * _PAGE_BYTES,
        length_bytes=np.full(count, _PAGE_BYTES, np.int64),
        stream=stream.astype(np.int32),
        purpose=np.full(count, UNKNOWN, np.uint8),
        issue_ns=nothing,
        command=nothing,
        latency_ns=np.full(count, _LATENCY_NS, np.int64),
        flags=np.where(op == WRITE, FLAG_SYNC, 0).astype(np.uint8),
    )


def _write(name: str, blocks: Iterator[Requests], streams: int) -> None:
    with write_bundle(_HERE / name, force=True) as (writer, fields):
        writer.file_names.append("data")
        writer.stream_names += [f"backend {number}" for number in range(streams)]
        for block in blocks:
            writer.append(block)
        fields["source_format"] = "made up"


def requests(size: int) -> None:
    """Write a bundle of *size* requests of four sessions, 20,000 a second."""
    luck = np.random.default_rng(1)

    def blocks() -> Iterator[Requests]:
        now = 0
        for first in range(0, size, _BLOCK):
            count = min(_BLOCK, size - first)
            times = now + np.cumsum(luck.exponential(5e4, count)).astype(np.int64)
            now = int(times[-1])
            yield _rows(times, luck.integers(0, 4, count), luck)

    _write("requests.trace", blocks(), 4)


def tiny(_: int) -> None:
    """Write a bundle that is simulated in next to no time."""
    requests(_TINY)


def files(size: int) -> None:
    """Write an iolog of fio, version 3: *size* files, each with 10 requests among those of the others."""
    luck = np.random.default_rng(2)
    names = [f"/var/lib/postgresql/18/main/base/16384/{number}" for number in range(size)]
    order = luck.permutation(np.repeat(np.arange(size), _REQUESTS_OF_A_FILE)).tolist()
    pages = luck.integers(0, 1000, len(order)).tolist()
    with (_HERE / "files.log").open("w") as log:
        log.write("fio version 3 iolog\n")
        log.writelines(f"0 {name} add\n0 {name} open\n" for name in names)
        log.writelines(
            f"{50 * row} {names[file]} {'write' if row % 3 == 0 else 'read'} {page * _PAGE_BYTES} {_PAGE_BYTES}\n"
            for row, (file, page) in enumerate(zip(order, pages, strict=True))
        )


def sessions(size: int) -> None:
    """Write a bundle of *size* sessions with 20 requests each, and a workload of as many clients, who think for a
    second.
    """
    luck = np.random.default_rng(3)
    shape = (size, _REQUESTS_OF_A_SESSION)
    started = np.cumsum(luck.exponential(1e9, shape).astype(np.int64) + _LATENCY_NS, axis=1).ravel()
    order = np.argsort(started, kind="stable")
    stream = np.repeat(np.arange(size), _REQUESTS_OF_A_SESSION)[order]
    _write("sessions.trace", iter([_rows(started[order], stream, luck)]), size)
    (_HERE / "clients.toml").write_text(_CLIENTS.format(clients=size))
    _write_scenario("sessions")


def pool(size: int) -> None:
    """Write a workload whose table is a quarter larger than a pool of *size* pages, and a scenario that has both."""
    (_HERE / "pool.toml").write_text(_POOL.format(pool=size * _PAGE_BYTES, pages=size * 5 // 4))
    _write_scenario("pool")


def queries(size: int) -> None:
    """Write PostgreSQL's views before and after a load of *size* queries, five calls of each, on 20 tables."""
    for folder, share in (("before", 0), ("after", 1)):
        place = _HERE / folder
        place.mkdir(exist_ok=True)
        now = f"2026-01-01 00:0{share}:00+00"
        _view(place / "pg_stat_statements.csv", (_query(number, share, now) for number in range(size)))
        calls = size * _CALLS * share
        _view(place / "pg_statio_all_tables.csv", (_asked(number, calls, now) for number in range(_TABLES)))
        _view(place / "pg_class.csv", ({"now": now, **_TABLE, "relname": f"t{number}"} for number in range(_TABLES)))
        _view(place / "pg_settings.csv", ({"now": now, **one} for one in _SETTINGS))
    _write_scenario("sessions")


def _query(number: int, share: int, now: str) -> dict[str, object]:
    calls, reads = _CALLS * share, share * (number % 3)
    table, column = number % _TABLES, number // _TABLES
    change = number % 10 == 0
    text = (
        f"UPDATE t{table} SET c{column} = $1 WHERE id = $2"
        if change
        else f"SELECT c{column} FROM t{table} WHERE id = $1"
    )
    return {
        "now": now,
        "userid": 10,
        "dbid": 5,
        "toplevel": "t",
        "queryid": number + 1,
        "query": text,
        "calls": calls,
        "total_exec_time": calls * 0.2 + reads * 0.1,
        "min_exec_time": 0.1,
        "max_exec_time": 2.5,
        "mean_exec_time": 0.22,
        "stddev_exec_time": 0.1,
        "rows": calls,
        "shared_blks_hit": calls * 4 - reads,
        "shared_blks_read": reads,
        "shared_blks_dirtied": calls if change else 0,
        "shared_blks_written": 0,
        "shared_blk_read_time": reads * 0.1,
        "shared_blk_write_time": 0,
        "wal_records": 2 * calls if change else 0,
        "wal_fpi": 0,
        "wal_bytes": 300 * calls if change else 0,
        "stats_since": "2025-12-31 00:00:00+00",
    }


def _asked(number: int, calls: int, now: str) -> dict[str, object]:
    own = calls * 4 // _TABLES
    return {
        "now": now, "relid": 20000 + number, "schemaname": "public", "relname": f"t{number}",
        "heap_blks_read": own // 20, "heap_blks_hit": own - own // 20, "idx_blks_read": 0, "idx_blks_hit": 0,
    }  # fmt: skip


def _view(path: Path, rows: Iterator[dict[str, object]]) -> None:
    first = next(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(first))
        writer.writeheader()
        writer.writerow(first)
        writer.writerows(rows)


_TABLE = {"relnamespace": 2200, "relpages": 100_000, "reltuples": 5_000_000, "relkind": "r", "schemaname": "public"}
_SETTINGS = (
    {"name": "shared_buffers", "setting": "65536", "unit": "8kB"},
    {"name": "block_size", "setting": "8192", "unit": ""},
    {"name": "track_io_timing", "setting": "on", "unit": ""},
    {"name": "server_version", "setting": "18.0", "unit": ""},
)


def _write_scenario(name: str) -> None:
    (_HERE / f"{name}-scenario.toml").write_text(_SCENARIO)


#: Room for half a terabyte of pages; processors that are not what is waited for.
_SCENARIO = """
[host]
cores = 128

[volumes.data]
device = "samsung-pm9a3-7680"
count = 4
layout = "raid0"
"""

_CLIENTS = """
[workload]
engine = "postgresql"
buffer_pool = "1 GiB"
duration = "10 s"

[relations.orders]
rows = 10_000_000
rows_per_page = 60

[statements.order]
does = [{{ compute = "50 us" }}, {{ change = "orders", log = "300 B" }}, {{ commit = "200 B" }}]

[streams.users]
statements = ["order"]
clients = {clients}
think = "1 s"
"""

_POOL = """
[workload]
engine = "postgresql"
buffer_pool = "{pool} B"
duration = "10 s"

[relations.orders]
rows = {pages}
rows_per_page = 1

[statements.look]
does = [{{ compute = "50 us" }}, {{ lookup = "orders", rows = 10 }}]

[streams.users]
statements = ["look"]
clients = 8
"""

_KINDS: dict[str, Callable[[int], None]] = {
    "requests": requests,
    "tiny": tiny,
    "files": files,
    "sessions": sessions,
    "pool": pool,
    "queries": queries,
}

if __name__ == "__main__":
    _KINDS[sys.argv[1]](int(sys.argv[2]))
