"""fio's JSON, made by hand: a document of jobs, in the layout of 3.x."""

import json
from pathlib import Path
from typing import Any

from tiersim.traces.measurement import MeasuredPoint
from tiersim.traces.readers.load_generators import measurements

DATA = Path(__file__).parent / "data" / "measurements"
OPTIONS = {"rw": "randread", "bs": "8k", "iodepth": "4", "ioengine": "libaio", "direct": "1"}


def latency_ns(mean: float = 100_000.0, samples: int = 10_000, **more: Any) -> dict[str, Any]:
    """A latency of 3.2 and later."""
    values = {"min": 20_000, "max": 900_000, "mean": mean, "stddev": 30_000.0, "N": samples}
    return {**values, "percentile": {"50.000000": 90_000, "99.000000": 300_032}, **more}


def direction(requests: int = 10_000, block_bytes: int = 8192, **more: Any) -> dict[str, Any]:
    """What one direction did in a second."""
    empty = {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0}
    return {
        "io_bytes": requests * block_bytes,
        "io_kbytes": requests * block_bytes // 1024,
        "bw_bytes": requests * block_bytes,
        "iops": float(requests),
        "runtime": 1000 if requests else 0,
        "total_ios": requests,
        "slat_ns": empty,
        "clat_ns": latency_ns(samples=requests) if requests else empty,
        "lat_ns": empty,
        **more,
    }


def job(options: dict[str, str] | None = None, name: str = "a", group: int = 0, **more: Any) -> dict[str, Any]:
    """A job that read, unless *more* says otherwise."""
    return {
        "jobname": name, "groupid": group, "error": 0, "elapsed": 2, "job options": {**OPTIONS, **(options or {})},
        "read": direction(), "write": direction(0), "trim": direction(0), **more,
    }  # fmt: skip


def document(*jobs: dict[str, Any], **more: Any) -> str:
    """A document as fio prints it."""
    return json.dumps({"fio version": "fio-3.33", **more, "jobs": list(jobs)}, indent=2) + "\n"


def read(folder: Path, text: str | bytes) -> list[MeasuredPoint]:
    """What is read of a file that holds *text*."""
    path = folder / "measured"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return measurements(path)


def read_one(folder: Path, *jobs: dict[str, Any], **more: Any) -> MeasuredPoint:
    """The only point of a document."""
    [point] = read(folder, document(*jobs, **more))
    return point
