"""Recordings that ship with the project."""

import io
import lzma
import tarfile
from importlib.resources import files
from pathlib import Path
from typing import Any

#: Runs of a real PostgreSQL, a folder a load: what was measured of each (``runs.json``), and the counters of those
#: without a cap; ``host`` is what they ran on. Measured for this project by ``benchmarks/real_postgres``, whose README
#: says how.
CELLS = Path(__file__).parent / "cells"
RECORDINGS = "recordings.tar.xz"
#: Runs of a real PostgreSQL from which others are predicted; :func:`matrix` unpacks them.
MATRIX = Path(__file__).parent / "matrix.tar.xz"
SECOND_HOST = Path(__file__).parent / "second-host.tar.xz"
UNSEEN = Path(__file__).parent / "unseen.tar.xz"
THIRD_HOST = Path(__file__).parent / "third-host.tar.xz"
THIRD_HOST_SHORT = Path(__file__).parent / "third-host-short.tar.xz"
ELSEWHERE = Path(__file__).parent / "elsewhere.tar.xz"
ELSEWHERE_UNSEEN = Path(__file__).parent / "elsewhere-unseen.tar.xz"
BIG_TABLES = Path(__file__).parent / "big-tables.tar.xz"
HALF_HOUR = Path(__file__).parent / "half-hour.tar.xz"
#: Runs of a real MariaDB; :func:`innodb` unpacks them.
INNODB = Path(__file__).parent / "innodb.tar.xz"
#: Runs of a real MariaDB from which others are predicted; :func:`mariadb` unpacks them.
MARIADB = Path(__file__).parent / "mariadb.tar.xz"


def pgbench() -> bytes:
    """A recorded pgbench run as a blktrace stream; ``README.md`` beside it says how it was made."""
    return lzma.decompress((files("tiersim.traces.samples") / "pgbench.blktrace.xz").read_bytes())


def reads(folder: Path) -> Path:
    """Unpack a PostgreSQL server's counters before and after 30 s of point reads into *folder*; returns the folder
    ``reads`` in it.

    PostgreSQL 18.4 on 2 cores, the 8 clients of pgbench beside it: 462,253 SELECTs by key of 10 million rows, drawn by
    Zipf's law with exponent 1.05 over a fixed permutation, 256 MiB of shared buffers, direct IO. ``counters`` is what
    was recorded, ``host/recorded.toml`` a scenario of the hardware. Recorded for this project.
    """
    return _unpacked("reads", folder)


def updates(folder: Path) -> Path:
    """Unpack a PostgreSQL server's counters before and after 75 s of updates into *folder*; returns the folder
    ``updates`` in it.

    The same server and rows as of :func:`reads`, with 512 MiB of shared buffers: 323,428 transactions of an UPDATE and
    a SELECT of a row, committed one by one, on a device that nothing limited; checkpoints every 60 s, the last one 10 s
    before. ``counters`` and ``host/recorded.toml`` as there. Recorded for this project.
    """
    return _unpacked("updates", folder)


def capped_updates(folder: Path) -> Path:
    """Unpack a PostgreSQL server's counters before and after 60 s of updates on slow storage into *folder*; returns the
    folder ``capped-updates`` in it.

    PostgreSQL 18.4 on 2 cores, the 8 clients of pgbench beside it: 328,148 transactions of an UPDATE and a SELECT of a
    row, of 3 million rows by Zipf's law, 128 MiB of shared buffers, direct IO. The data's device was capped at 1,500
    reads and 1,500 writes a second, the WAL's was not. It is a cell of :func:`matrix`; ``counters`` and
    ``host/recorded.toml`` as in :func:`reads`. Recorded for this project.
    """
    return _unpacked("capped-updates", folder)


def start(folder: Path) -> Path:
    """Unpack a PostgreSQL server's counters before and after 25 s that followed its start into *folder*; returns the
    folder ``start`` in it.

    PostgreSQL 15.18 on 2 cores, the 8 clients of pgbench (scale 50) beside it, 64 MiB of shared buffers, buffered IO,
    both caches empty; a CHECKPOINT by hand in the middle. ``select`` is a run of pgbench's lookups, 117,849 of them,
    ``tpcb`` one of its TPC-B, 17,039 transactions; ``host/recorded.toml`` is a scenario of the hardware, tables and log
    on a device each. Recorded for this project.
    """
    return _unpacked("start", folder)


def matrix(folder: Path) -> None:
    """Unpack 36 cells of a real PostgreSQL into *folder*, each into one of its name and the number of its repeat:
    ``result.json``, and the counters of the first repeat.

    PostgreSQL 18.4 on 2 cores, the 8 clients of pgbench beside it, three loads on three pools, each without a cap and
    with three. Recorded for this project by ``benchmarks/real_postgres``.
    """
    _extract(MATRIX.read_bytes(), folder)


def second_host(folder: Path) -> None:
    """Unpack 16 cells like those of :func:`matrix` into *folder*, of the same server on another virtual machine (AMD
    EPYC of the family 25, 2 cores), measured once each: pools of 64 and 256 MiB; lookups without a cap and with 450
    reads/s, updates and TPC-B-like transactions without a cap, with 600 requests/s, and with 250 writes of the log a
    second. Recorded for this project by ``benchmarks/real_postgres`` (``second-host.toml``).
    """
    _extract(SECOND_HOST.read_bytes(), folder)


def unseen(folder: Path) -> None:
    """Unpack 16 cells like those of :func:`second_host` into *folder*, which were measured after all rules of the model
    were chosen, on a virtual machine like that one: pools of 48 and 192 MiB, 350 reads/s, 500 requests/s, 300 writes of
    the log a second (``unseen.toml``).
    """
    _extract(UNSEEN.read_bytes(), folder)


def third_host(folder: Path) -> None:
    """Unpack 8 cells like those of :func:`second_host` into *folder*, on one more virtual machine, measured once each:
    pools of 80 and 256 MiB, 300 reads/s, 400 requests/s, 350 writes of the log a second (``third-host.toml``).
    """
    _extract(THIRD_HOST.read_bytes(), folder)


def third_host_short(folder: Path) -> None:
    """Unpack the cells of :func:`third_host` into *folder*, measured for 20 s each, before these."""
    _extract(THIRD_HOST_SHORT.read_bytes(), folder)


def elsewhere(folder: Path) -> None:
    """Unpack 16 cells like those of :func:`second_host` into *folder*, of a server with one processor whose clients
    have another: pools of 64 and 256 MiB, 400 reads/s, 600 requests/s, 350 writes of the log a second
    (``elsewhere.toml``). What clients and threads of the kernel did on theirs is in no counter.
    """
    _extract(ELSEWHERE.read_bytes(), folder)


def elsewhere_unseen(folder: Path) -> None:
    """Unpack 8 cells like those of :func:`elsewhere` into *folder*, with 12 clients, measured once each after a rule
    was chosen with those: pools of 96 and 320 MiB, 300 reads/s, 450 requests/s, 500 writes of the log a second
    (``elsewhere-unseen.toml``).
    """
    _extract(ELSEWHERE_UNSEEN.read_bytes(), folder)


def big_tables(folder: Path) -> None:
    """Unpack 4 cells of a real PostgreSQL with tables larger than its memory into *folder*, as :func:`matrix` does.

    PostgreSQL 18.4 on 2 cores, the 8 clients of pgbench beside it, two loads without a cap and with one, autovacuum on.
    Recorded for this project by ``benchmarks/real_postgres``.
    """
    _extract(BIG_TABLES.read_bytes(), folder)


def half_hour(folder: Path) -> None:
    """Unpack 2 cells like those of :func:`big_tables` into *folder*: TPC-B for 330 s without a cap, and three times
    half an hour with one, a checkpoint every 5 minutes (``long.toml``).
    """
    _extract(HALF_HOUR.read_bytes(), folder)


def innodb(folder: Path) -> None:
    """Unpack the counters of three loads of a real MariaDB into *folder*, each into ``counters`` in one of its name,
    and ``runs.json``: what was measured of these and of four runs on other pools and a capped device.

    MariaDB 10.11 on 2 cores, the 8 clients of sysbench beside it, 4 million rows by Zipf's law with exponent 1.05,
    O_DIRECT, 512 MiB of redo. Recorded for this project.
    """
    _extract(INNODB.read_bytes(), folder)


def mariadb(folder: Path) -> None:
    """Unpack 16 cells of a real MariaDB into *folder*, each into one of its name: ``result.json`` and ``counters``.

    MariaDB 10.11 on 2 cores, the 8 clients of sysbench beside it, the loads of :func:`innodb` on pools of 64 MiB to 1
    GiB, without a cap and with some, one with a small redo log and one with a binary log. Recorded for this project by
    ``benchmarks/real_mysql``.
    """
    _extract(MARIADB.read_bytes(), folder)


def unpack(folder: Path, target: Path) -> None:
    """Unpack the recordings of a folder of :data:`CELLS` into *target*, each into one with the name of its run."""
    _extract((folder / RECORDINGS).read_bytes(), target)


def _unpacked(name: str, folder: Path) -> Path:
    _extract((files("tiersim.traces.samples") / f"{name}.tar.xz").read_bytes(), folder)
    return folder / name


def _extract(packed: bytes, folder: Path) -> None:
    # Python before 3.11.4 has no filters; these archives are our own
    filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(fileobj=io.BytesIO(packed), mode="r:xz") as archive:
        archive.extractall(folder, **filters)
