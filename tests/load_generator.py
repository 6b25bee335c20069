"""A load generator that measures a model: its points as people keep them, as CSV, and as fio's JSON where they are
flushed.
"""

from collections.abc import Iterable, Mapping

from tests.fio_documents import direction, document, job, latency_ns
from tiersim.scenarios.calibration.fitting.loops import simulate
from tiersim.scenarios.calibration.fitting.model import device
from tiersim.scenarios.calibration.fitting.targets import PERCENTS, Setting

_HEADING = "file,rw,bs,iodepth,numjobs,rwmixread,direction,iops,mean_us,p50_us,p95_us,p99_us"


def random_reads(block_bytes: int, depth: int) -> Setting:
    return Setting("random", block_bytes, depth, 1, 1.0, 0)


def mix(depth: int, read_share: float = 0.7) -> Setting:
    return Setting("random", 4096, depth, 1, read_share, 0)


def flushed(jobs: int) -> Setting:
    return Setting("random", 4096, jobs, jobs, 0.0, 1)


def points(values: Mapping[str, float], settings: Iterable[Setting]) -> str:
    """CSV of what a drive of these numbers does."""
    drive, lines = device(values), [_HEADING]
    for setting in settings:
        rate, latencies = simulate(drive, setting, PERCENTS)
        rw = {1.0: "randread", 0.0: "randwrite"}.get(setting.read_share, "randrw")
        share = f"{100 * setting.read_share:.0f}" if rw == "randrw" else ""
        for operation, found in latencies.items():
            part = setting.read_share if operation == "read" else 1 - setting.read_share
            times = (found.mean_ns, *(found.percentiles_ns[percent] for percent in PERCENTS))
            row = (
                f"{rw}-{setting.block_bytes}-{setting.depth}",
                rw,
                setting.block_bytes,
                setting.depth,
                1,
                share,
                operation,
            )
            lines.append(",".join(map(str, (*row, round(rate * part, 1), *(round(time / 1000, 3) for time in times)))))
    return "\n".join(lines) + "\n"


def flushes(values: Mapping[str, float], settings: Iterable[Setting]) -> str:
    """fio's JSON of synchronous writes on a drive of these numbers."""
    drive, jobs = device(values), []
    for group, setting in enumerate(settings):
        rate, _ = simulate(drive, setting, PERCENTS)
        options = {"rw": "randwrite", "bs": "4k", "iodepth": "1", "numjobs": str(setting.jobs), "fdatasync": "1"}
        write = direction(round(rate), 4096, clat_ns=latency_ns(20_000.0))
        jobs.append(job({**options, "ioengine": "psync"}, f"sync{setting.jobs}", group, read=direction(0), write=write))
    return document(*jobs)
