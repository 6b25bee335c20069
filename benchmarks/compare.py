"""Speed and results of this tree beside those of another, such as the version before:
`python -m benchmarks.compare ../before`.

One process for each tree, pinned to one core, is given the same cases in turns. The figure of a case is the median of
the ratios of CPU time, other ÷ this, with the interval that holds it 95 times of 100 (by order statistics); above 1
this tree is faster. What comes of each run is hashed: the same bits are wanted. Nothing else should be at work.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

#: Makes a case ready; what that returns runs it once, and returns arrays.
Case = Callable[[], Callable[[], list[Any]]]

ROOT = Path(__file__).resolve().parents[1]
CONFIDENCE = 0.95


def _requests(builder: Any, fed: Any, metrics: Any) -> Callable[[], list[Any]]:
    from tiersim.simulator.compiled import engine

    plant = builder.build()

    def run() -> list[Any]:
        done, outcome = engine.run(plant, [fed], metrics, keep_done=True)
        return [outcome.done_ns, *metrics, *done]

    return run


def _array(count: int, per_s: float, depth: int) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from benchmarks.test_engine_speed import load, prepared

        fed = load(count, per_s)
        builder, commands, metrics = prepared(fed, depth)
        return _requests(builder, commands, metrics)

    return prepare


def _waiting() -> Callable[[], list[Any]]:
    from benchmarks.test_engine_speed import load, prepared
    from tests.drawn_streams import streams_of
    from tiersim.simulator.compiled import engine
    from tiersim.simulator.streams import CLOCK, OWN

    sessions, count = 64, 300_000
    builder, commands, metrics = prepared(load(count, 1000.0), 1)
    place = np.arange(count) // sessions
    waits = np.where(place == 0, CLOCK, OWN)
    owner = np.arange(count) % sessions
    streams = streams_of(commands, owner, np.ones(sessions, np.bool_), waits, 10_000_000, place)
    plant = builder.build()

    def run() -> list[Any]:
        done, _ = engine.run_streams(plant, streams, metrics)
        return [*metrics, *done, *streams]

    return run


def _raid5(per_s: float) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from benchmarks.test_array_speed import DRIVES
        from tests.plants import hdd
        from tests.runs import commands, poisson
        from tiersim.devices.array.volume import Volume, add_volume
        from tiersim.devices.plant import PlantBuilder
        from tiersim.devices.station_records import RESOURCES
        from tiersim.operations import WRITE
        from tiersim.simulator.metrics import new_metrics

        count = 50_000
        volume = Volume("data", hdd(queue_depth=64), DRIVES, "raid5", 65536)
        pages = np.random.default_rng(1).integers(0, volume.capacity_bytes // 8192, count)
        builder = PlantBuilder(1)
        fed = commands(poisson(count, per_s), add_volume(builder, volume), WRITE, pages * 8192)
        metrics = new_metrics(1, len(builder.stations), RESOURCES, 3, int(fed.time_ns[-1]) // 2 + 1)
        return _requests(builder, fed, metrics)

    return prepare


def _database(policy: str, lacking: int, lookups: int) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from benchmarks.test_database_speed import POLICIES, database_of
        from tiersim.devices.station_records import RESOURCES
        from tiersim.simulator.categories import FIRST_CLASS
        from tiersim.simulator.compiled import engine
        from tiersim.simulator.database.buffer_pool.warm import warm
        from tiersim.simulator.metrics import new_metrics

        builder, database = database_of(POLICIES[policy], lacking, lookups)
        warm(database)
        plant = builder.build()
        metrics = new_metrics(FIRST_CLASS + 1, len(builder.stations), RESOURCES, 241, 10**9)

        def run() -> list[Any]:
            engine.run_database(plant, database, metrics)
            return [*metrics, *plant, *database]

        return run

    return prepare


def _warm(policy: str) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from benchmarks.test_database_speed import POLICIES
        from tiersim.devices.plant import PlantBuilder
        from tiersim.simulator.database.buffer_pool.warm import warm
        from tiersim.simulator.database.build import DatabaseHost, Demand, Relation, Statements, add_database
        from tiersim.simulator.database.database_state import LOOKUP, OWN

        relation = Relation(1_000_000, (1, 10, 2_733, 16_394), 1.05)
        one, zero = np.ones(1, np.uint8), np.zeros(1, np.int64)
        statements = Statements([1], np.zeros(1, np.int32), np.full(1, OWN, np.uint8), zero, zero, zero, one, one)
        host = DatabaseHost(1, 3_277, policy=POLICIES[policy])
        database = add_database(PlantBuilder(1), host, [relation], [[Demand(LOOKUP)]], statements)

        def run() -> list[Any]:
            done = warm(database)
            return [done.missed, *database]

        return run

    return prepare


def _flash(mapping: str) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from benchmarks.test_flash_speed import LENGTH, drive
        from tests.runs import commands, poisson
        from tiersim.devices.plant import PlantBuilder
        from tiersim.devices.ssd.flash import add_flash
        from tiersim.devices.station_records import RESOURCES
        from tiersim.simulator.metrics import new_metrics

        count, device, luck = 300_000, drive(mapping), np.random.default_rng(1)
        operations = (luck.random(count) < 0.3).astype(np.uint8)
        places = luck.integers(0, device.capacity // LENGTH, count) * LENGTH
        builder = PlantBuilder(1)
        fed = commands(poisson(count, 60_000), add_flash(builder, device, "flash"), operations, places, LENGTH)
        metrics = new_metrics(1, 1, RESOURCES, 3, int(fed.time_ns[-1]) // 2 + 1)
        return _requests(builder, fed, metrics)

    return prepare


def _ftl() -> Callable[[], list[Any]]:
    from tiersim.devices.plant import PlantBuilder
    from tiersim.devices.ssd.ftl import PageMapping, add_ftl
    from tiersim.scenarios.validation.write_amplification import write_random

    units = 1 << 19
    builder = PlantBuilder(1)
    ftl = add_ftl(builder, PageMapping(units, 16, 256, 0.28), steady=True)
    plant = builder.build()

    def run() -> list[Any]:
        write_random(plant, ftl, 0, units, units, 2**32)
        return [*plant]

    return run


def _references() -> Any:
    luck = np.random.default_rng(42)
    reach = np.cumsum(1 / np.arange(1, 100_001))
    return luck.permutation(100_000)[np.searchsorted(reach / reach[-1], luck.random(2_000_000))] + 1


def _policy(policy: str) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from tiersim.simulator.policies import misses, numbered

        pages, distinct = numbered(_references())
        return lambda: [np.array([misses(policy, pages, distinct, size) for size in (1000, 20_000)])]

    return prepare


def _curve(exact: bool) -> Case:
    def prepare() -> Callable[[], list[Any]]:
        from tiersim.simulator.miss_ratios import ExactCurve, Shards, curve_of

        keys, sizes = _references(), np.arange(1000, 100_000, 1000)
        curve = ExactCurve(sizes) if exact else Shards(sizes, most_pages=8192, samples=1)

        def run() -> list[Any]:
            curve.add(keys, np.zeros(len(keys), np.int32))
            return [curve_of(curve.counts()).miss_ratio]

        return run

    return prepare


CASES: dict[str, Case] = {
    "RAID 10 of 16, first come": _array(400_000, 2700, 1),
    "RAID 10 of 16, by position": _array(400_000, 2700, 64),
    "RAID 10 of 16, by position, 8 outstanding": _array(100_000, 5200, 64),
    "RAID 10 of 16, by position, 32 outstanding": _array(100_000, 6900, 64),
    "RAID 10 of 16, by position, overloaded": _array(100_000, 20_000, 64),
    "64 sessions that wait": _waiting,
    "RAID 5 of 8, small writes": _raid5(250),
    "RAID 5 of 8, small writes, overloaded": _raid5(1350),
    **{
        f"database, {policy}, {share} % missed": _database(policy, lacking, lookups)
        for policy in ("sweep", "lru", "lru-2")
        for share, lacking, lookups in (("0.1", 200, 500_000), ("10", 20_000, 150_000))
    },
    **{f"pool filled, {policy}": _warm(policy) for policy in ("sweep", "lru", "lru-2")},
    "flash": _flash("analytic"),
    "flash, every unit mapped": _flash("mapped"),
    "random writes of units": _ftl,
    **{
        f"misses of {policy}": _policy(policy)
        for policy in ("fifo", "clock", "postgresql", "lru", "lru-2", "midpoint", "sieve", "2q", "arc", "s3-fifo")
    },
    "whole miss-ratio curve": _curve(exact=True),
    "sampled miss-ratio curve": _curve(exact=False),
}


def work() -> None:
    """Run the cases whose names come in; answer CPU seconds and a hash of what came of it."""
    for line in sys.stdin:
        run = CASES[line.strip()]()
        began = time.process_time()
        found = run()
        took = time.process_time() - began
        digest = hashlib.blake2b(digest_size=12)
        for array in found:
            if isinstance(array, np.ndarray):
                digest.update(array.tobytes())
        print(json.dumps([took, digest.hexdigest()]), flush=True)


def worker(tree: Path, core: int) -> subprocess.Popen[str]:
    """Start the process of a tree."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    # cases and all that they import are of the tree: modules may have other names there
    command = ["taskset", "-c", str(core), sys.executable, str(tree / "benchmarks" / "compare.py"), "--work"]
    return subprocess.Popen(
        command, env=environment, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ask(process: subprocess.Popen[str], case: str) -> tuple[float, str]:
    """Run a case in a process."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{case}\n")
    process.stdin.flush()
    seconds, digest = json.loads(process.stdout.readline())
    return seconds, digest


def interval(ratios: list[float]) -> tuple[float, float]:
    """Return bounds of the median by order statistics: the narrowest pair that holds it often enough."""
    ordered, count = sorted(ratios), len(ratios)
    cut = 0
    while cut + 1 < count / 2 and 1 - 2 * sum(comb(count, k) for k in range(cut + 2)) / 2**count >= CONFIDENCE:
        cut += 1
    return ordered[cut], ordered[-1 - cut]


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="a checkout of the other version")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work()
        return
    if given.other is None:
        parser.error("name a checkout of the other version")
    names = [name for name in CASES if given.only in name]
    trees = (given.other.resolve(), ROOT)
    processes = [worker(tree, given.core) for tree in trees]
    print(f"| case | {given.rounds} rounds, other ÷ this | 95 % | bits |\n|---|--:|--:|---|", flush=True)
    medians = []
    for name in names:
        for process in processes:  # compiles
            ask(process, name)
        ratios, same = [], True
        for turn in range(given.rounds):
            order = (0, 1) if turn % 2 else (1, 0)
            found = {place: ask(processes[place], name) for place in order}
            ratios.append(found[0][0] / found[1][0])
            same = same and found[0][1] == found[1][1]
        low, high = interval(ratios)
        medians.append(float(np.median(ratios)))
        print(
            f"| {name} | {medians[-1]:.3f} | {low:.3f} – {high:.3f} | {'same' if same else 'DIFFERENT'} |", flush=True
        )
    print(f"| geometric mean | {np.exp(np.mean(np.log(medians))):.3f} | least {min(medians):.3f} | |")
    for process in processes:
        process.terminate()


if __name__ == "__main__":
    main()
