"""Miss-ratio curves beside libCacheSim: the whole exact curve, from keys as they were recorded, against one size there,
in the same run.

CPU time, the best of a few rounds: what else runs on the machine slows both.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.test_policy_speed import REFERENCES, SIZES, peer, raw, theirs, timed, trace
from tiersim.simulator.miss_ratios import ExactCurve, MissRatioCurve, Shards, Simulated, curve_of

__all__ = ["trace"]  # the fixture

BLOCK = 1 << 20
WANTED_PER_S = 50_000_000


def fed(curve: ExactCurve | Shards) -> MissRatioCurve:
    keys, classes = raw(), np.zeros(BLOCK, np.int32)
    for start in range(0, len(keys), BLOCK):
        part = keys[start : start + BLOCK]
        curve.add(part, classes[: len(part)])
    return curve_of(curve.counts())


def hundredths() -> NDArray[np.int64]:
    """1 % to 100 % of the pages."""
    return np.rint(np.arange(1, 101) * len(np.unique(raw())) / 100).astype(np.int64)


def whole() -> NDArray[np.int64]:
    return np.arange(1, len(np.unique(raw())) + 1)


def test_the_whole_curve_beside_one_size_of_the_peer(benchmark: BenchmarkFixture, trace: Path) -> None:
    """Every size from 1 page to all of them; the peer's misses have to be on it."""
    sizes = whole()
    ours_s, curve = timed(lambda: fed(ExactCurve(sizes)))
    figures: dict[str, float] = {"references_per_cpu_s": round(REFERENCES / ours_s), "ratio_wanted": 1}
    for size in SIZES:
        peer_s, missed = timed(lambda size=size: theirs(trace, peer.LRU, size))  # type: ignore[misc]
        figures[f"libcachesim_per_cpu_s_at_{size}"] = round(REFERENCES / peer_s)
        figures[f"ratio_to_libcachesim_at_{size}"] = round(peer_s / ours_s, 2)
        assert round(curve.miss_ratio[size - 1] * REFERENCES) == missed
    benchmark.pedantic(lambda: fed(ExactCurve(sizes)), rounds=1)
    benchmark.extra_info |= figures


@pytest.mark.parametrize("samples", [1, 8])
def test_samples_of_one_per_cent(benchmark: BenchmarkFixture, samples: int) -> None:
    sizes = hundredths()
    fed(Shards(sizes, 0.01, samples=samples))  # compiles
    seconds, curve = timed(lambda: fed(Shards(sizes, 0.01, samples=samples)))
    benchmark.pedantic(lambda: fed(Shards(sizes, 0.01, samples=samples)), rounds=1)
    benchmark.extra_info |= {
        "references_per_cpu_s": round(REFERENCES / seconds),
        "wanted_per_cpu_s": WANTED_PER_S,
        "mean_absolute_error": round(float(np.abs(curve.miss_ratio - fed(ExactCurve(sizes)).miss_ratio).mean()), 4),
    }


def test_samples_of_8192_pages(benchmark: BenchmarkFixture) -> None:
    sizes = hundredths()
    seconds, _ = timed(lambda: fed(Shards(sizes, most_pages=8192, samples=1)))
    benchmark.pedantic(lambda: fed(Shards(sizes, most_pages=8192, samples=1)), rounds=1)
    benchmark.extra_info["references_per_cpu_s"] = round(REFERENCES / seconds)


def test_small_simulations_of_ten_sizes(benchmark: BenchmarkFixture) -> None:
    """A tenth of the pages, one sample: how many references of the trace are simulated in a
    second, all sizes together.
    """
    sizes = np.geomspace(1000, 700_000, 10).astype(np.int64)

    def run() -> None:
        policy = Simulated("arc", 0.1, samples=1)
        policy.add(raw())
        policy.counts(sizes)

    run()  # compiles
    seconds, _ = timed(run)
    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info["references_times_sizes_per_cpu_s"] = round(len(sizes) * REFERENCES / seconds)
