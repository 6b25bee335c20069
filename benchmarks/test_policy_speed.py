"""Replacement policies beside libCacheSim: the same references in the same run on one core, and the same misses.

Both get dense page ids; how long it takes to number the pages, once for all sizes and policies, is printed apart.
libCacheSim reads them from its own binary format, mapped into memory.
"""

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds
from tiersim.simulator.policies import misses, numbered

peer = pytest.importorskip("libcachesim", reason="libcachesim is not installed: see requirements-dev.lock")

REFERENCES, PAGES, EXPONENT = 10_000_000, 1_000_000, 1.0
SIZES = (10_000, 100_000)
ROUNDS = rounds(2)
#: The peer's policy for each of ours: how it is called, and how many times as fast ours is to be.
PEERS: dict[str, tuple[Callable[[int], Any], int | None]] = {
    "fifo": (peer.FIFO, None),
    "clock": (peer.Clock, 10),
    "clock-3bit": (lambda size: peer.Clock(size, init_freq=1, n_bit_counter=3), 10),
    "lru": (peer.LRU, 10),
    "sieve": (peer.Sieve, None),
    "2q": (peer.TwoQ, 4),
    "arc": (peer.ARC, 4),
    "s3-fifo": (peer.S3FIFO, 4),
}


@cache
def raw() -> NDArray[np.int64]:
    """10 million references by Zipf's law to a million pages whose numbers say nothing of their rank."""
    luck = np.random.default_rng(42)
    reach = np.cumsum(np.arange(1, PAGES + 1) ** -EXPONENT)
    ranks = np.searchsorted(reach / reach[-1], luck.random(REFERENCES))
    return luck.permutation(PAGES)[ranks] + 1


@cache
def dense() -> tuple[NDArray[np.int32], int]:
    return numbered(raw())


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    record = np.dtype([("time", "<u4"), ("object", "<u8"), ("size", "<u4"), ("next", "<i8")])
    rows = np.zeros(REFERENCES, record)
    rows["object"] = dense()[0].astype(np.uint64) + 1
    rows["size"] = 1
    rows["next"] = -1
    path = tmp_path_factory.mktemp("peer") / "references.bin"
    rows.tofile(path)
    return path


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds, the best of a few rounds, and what came out."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        found = work()
        best = min(best, time.process_time() - began)
    return best, found


def theirs(path: Path, policy: Callable[[int], Any], size: int) -> int:
    parameters = peer.ReaderInitParam(ignore_obj_size=True)
    reader = peer.TraceReader(
        trace=str(path), trace_type=peer.TraceType.ORACLE_GENERAL_TRACE, reader_init_params=parameters
    )
    ratio, _ = policy(size).process_trace(reader)
    return round(float(ratio) * REFERENCES)


def test_numbering(benchmark: BenchmarkFixture) -> None:
    """Page numbers as they were recorded to dense ones."""
    seconds, _ = timed(lambda: numbered(raw()))
    benchmark.pedantic(numbered, (raw()[:1000],), rounds=1)
    benchmark.extra_info["references_per_cpu_s"] = round(REFERENCES / seconds)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("policy", PEERS)
def test_policy_beside_its_peer(benchmark: BenchmarkFixture, trace: Path, policy: str, size: int) -> None:
    pages, distinct = dense()
    make, least = PEERS[policy]
    misses(policy, pages[:1000], distinct, size)  # compiles
    ours_s, ours = timed(lambda: misses(policy, pages, distinct, size))
    peer_s, counted = timed(lambda: theirs(trace, make, size))
    benchmark.pedantic(misses, (policy, pages, distinct, size), rounds=1)
    benchmark.extra_info |= {
        "references_per_cpu_s": round(REFERENCES / ours_s),
        "libcachesim_per_cpu_s": round(REFERENCES / peer_s),
        "ratio_to_libcachesim": round(peer_s / ours_s, 1),
        "misses": ours,
    }
    if least is not None:
        benchmark.extra_info["ratio_wanted"] = least
    assert ours == counted
