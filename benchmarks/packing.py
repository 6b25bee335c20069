"""Measure how well and how fast databases are packed onto arrays: ``python -m benchmarks.packing``.

By a seed, 200 databases are made up, with rates, mixes, sizes, peaks and targets of their own, and offered 30 arrays of
disks, flash and cloud volumes. A row for each seed and each tightness of the targets: what the arrays cost, a lower
bound of that, how long it took, what was simulated and refused. The bound is for arrays that may be busy all the time.
*As learned* is the same for arrays that are no busier than runs suggest. It is no bound: runs may suggest too little.
It splits the gap between bound and cost: below it lies what targets take, above it what the search may have missed and
what cannot be divided.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tiersim.operations import FLUSH, READ, WRITE
from tiersim.scenarios.packing.pack import PackingOptions, pack_tenants
from tiersim.scenarios.sizing.candidates import combinations, read_candidates
from tiersim.scenarios.tenants.model import read_tenants
from tiersim.scenarios.tenants.shared_runs import Recordings
from tiersim.traces.bundle import Bundle, Requests, write_bundle
from tiersim.traces.schema import DATA_READ, DATA_WRITE, LOG_WRITE, NOT_MEASURED

#: Nine arrays of disks, nine of flash, twelve cloud volumes. Prices are made up: each kind is worth buying for some.
ARRAYS = """
price_date = "2026-11"
[host]
price = 3000
[licences]
per_core = 150
[prices.seagate-cheetah-15k7-300]
price = 199
[prices.aws-gp3]
price_per_gib_month = 0.08
price_per_iops_month = 0.005
[prices.micron-s650dc-800]
price = 5000
[[candidates]]
device = "seagate-cheetah-15k7-300"
count = [8, 16, 24]
set = { "host.cores" = [16, 32, 64] }
[[candidates]]
device = "micron-s650dc-800"
count = [2, 4, 8]
set = { "host.cores" = [16, 32, 64] }
[[candidates]]
device = "aws-gp3"
[candidates.set]
"volumes.data.size" = ["1 TiB"]
"volumes.data.iops" = [3000, 4000, 6000, 9000]
"host.cores" = [16, 32, 64]
"""
#: Limits of p99(data read), ms, that tenants draw from; a quarter have none and are to be carried.
_LIMITS_MS = (4, 8, 15, 30)
_SESSIONS = 8


def write_database(target: Path, generator: np.random.Generator, span_s: float, size_bytes: int) -> Path:
    """Write the recording of a database: a day of sessions that read, write and log, as long as *span_s*; some have a
    batch of long reads at night.
    """
    hours = np.arange(24) + 0.5
    noon, width = generator.normal(14, 4), generator.uniform(2, 5)
    day = 0.25 + np.exp(-((((hours - noon + 12) % 24 - 12) / width) ** 2))
    per_s = generator.lognormal(np.log(150), 0.8)
    counts = generator.poisson(per_s * span_s / 24 * day / day.mean())
    hour = np.repeat(np.arange(24), counts)
    times = np.sort((hour + generator.random(len(hour))) * span_s / 24 * 1e9).astype(np.int64)
    batch = np.zeros(len(times), bool)
    if generator.random() < 0.15:
        at = (generator.uniform(0, 5) + np.sort(generator.random(int(per_s * span_s / 12)))) * span_s / 24 * 1e9
        order = np.argsort(np.concatenate([times, at]), kind="stable")
        batch = np.concatenate([batch, np.ones(len(at), bool)])[order]
        times = np.concatenate([times, at.astype(np.int64)])[order]
    reads = generator.uniform(0.5, 0.95)
    count = len(times)
    kind = generator.choice(4, count, p=[reads, (1 - reads) * 0.4, (1 - reads) * 0.3, (1 - reads) * 0.3])
    kind[batch] = 0
    log, flush = kind >= 2, kind == 3
    length = np.where(batch, 131_072, 8192)
    offset = np.where(log, np.cumsum(log) % 4000 * 8192, generator.integers(0, size_bytes // 131_072, count) * 131_072)
    nothing = np.full(count, NOT_MEASURED, np.int64)
    with write_bundle(target) as (writer, fields):
        writer.file_names += ["data", "log"]
        writer.stream_names += [f"session-{number}" for number in range(_SESSIONS)]
        writer.append(
            Requests(
                time_ns=times,
                op=np.array([READ, WRITE, WRITE, FLUSH], np.uint8)[kind],
                file=log.astype(np.int32),
                offset_bytes=np.where(flush, 0, offset),
                length_bytes=np.where(flush, 0, length),
                stream=generator.integers(0, _SESSIONS, count).astype(np.int32),
                purpose=np.array([DATA_READ, DATA_WRITE, LOG_WRITE, LOG_WRITE], np.uint8)[kind],
                issue_ns=nothing,
                command=nothing,
                latency_ns=generator.integers(50_000, 500_000, count),
                flags=np.zeros(count, np.uint8),
            )
        )
        fields["source_format"] = "made up"
    return target


def write_databases(folder: Path, seed: int, count: int, span_s: float, tightness: float) -> Path:
    """Write a tenants file with so many databases, whose limits are *tightness* times as low."""
    lines = []
    for number in range(count):
        generator = np.random.default_rng([seed, number])
        size_bytes = int(generator.lognormal(np.log(20e9), 0.8))
        write_database(folder / f"db{number}.trace", generator, span_s, size_bytes)
        lines += [f"[tenants.db{number}]", f'recording = "db{number}.trace"', f'size = "{size_bytes >> 20} MiB"']
        lines.append(f"cores = {generator.choice([0.5, 1, 2, 4])}")
        if generator.random() < 0.75:
            limit_us = 1000 * generator.choice(_LIMITS_MS) / tightness
            lines.append(f'targets = ["p99(data read) < {limit_us:.0f} us"]')
        if number and generator.random() < 0.05:
            lines.append(f'apart = ["db{generator.integers(number)}"]')
    path = folder / "databases.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def measure(seed: int, count: int, span_s: float, tightness: float, spare: bool) -> str:
    """Return the row of one draw."""
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        folder = Path(name)
        path = write_databases(folder, seed, count, span_s, tightness)
        (folder / "arrays.toml").write_text(ARRAYS, encoding="utf-8")
        began, cpu = time.monotonic(), time.process_time()
        model = read_tenants(path)
        bundles = {one: Bundle(folder / tenant.recording) for one, tenant in model.tenants.items()}
        requests = sum(bundle.rows for bundle in bundles.values())
        arrays = combinations(read_candidates(folder / "arrays.toml"), "seagate-cheetah-15k7-300", [], folder)
        asked = PackingOptions(Recordings(path, model, bundles, folder), [], 0.3 if spare else 0.0, spare)
        document = pack_tenants(asked, arrays)
        took, cpu = time.monotonic() - began, time.process_time() - cpu
    figures = "does not fit"
    if document["fits"]:
        cost, bound, learned = (document[key] for key in ("cost", "at_least", "at_least_as_learned"))
        figures = f"{cost:,.0f} | {bound:,.0f} | {learned:,.0f} | {cost / bound:.3f} | {cost / learned:.3f}"
        figures += f" | {len(document['arrays'])}"
    return (
        f"| {seed} | {tightness:g} | {requests:,} | {figures} | {took:.0f} | {cpu:.0f} | {document['simulated']:,} |"
        f" {len(document['refused'])} |"
    )


def main() -> int:
    """Print the rows; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packing", description=__doc__)
    parser.add_argument("--databases", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60, help="of each recording")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--tightness", type=float, nargs="+", default=[0.5, 1, 2])
    parser.add_argument("--spare", action="store_true", help="for 30 %% more load, and a failed drive")
    asked = parser.parse_args()
    sys.stdout.write(
        "| seed | tightness | requests | cost | bound | as learned | cost / bound | cost / learned | arrays | s | CPU s"
        " | simulated | refused |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    )
    for seed in asked.seeds:
        for tightness in asked.tightness:
            sys.stdout.write(measure(seed, asked.databases, asked.seconds, tightness, asked.spare) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
