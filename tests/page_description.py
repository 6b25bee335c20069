"""A description of a trace as docs/description.md has it, small enough to check by hand."""

from typing import Any


def _group(name: str | None, count: int, size: int, **more: Any) -> dict[str, Any]:
    reads = count if "read" in (name or "") else 0
    return {
        "name": name,
        "members": 1,
        "count": count,
        "bytes": count * size,
        "reads": reads,
        "writes": count - reads,
        "flushes": 0,
        "discards": 0,
        "read_bytes": reads * size,
        "write_bytes": (count - reads) * size,
        "sizes": [[size, count]],
        "median_bytes": size,
        "sequential": 0.25,
        "sequential_by_stream": 0.5,
        "random": 0.75,
        "mean_ns": 2e6,
        "p50_ns": 1e6,
        "p99_ns": 8e6,
        **more,
    }


def description() -> dict[str, Any]:
    """900 reads of 8 KiB and 100 log writes of 16 KiB in ten seconds."""
    return {
        "schema": "tiersim.description/1",
        "trace": "small.trace",
        "format": "blktrace",
        "requests": 1000,
        "span_ns": 9_500_000_000,
        "rate_per_s": 100.0,
        "peak_rate_per_s": 310,
        "measured": 1.0,
        "classes": [_group("data read", 900, 8192), _group("log write", 100, 16384, p50_ns=2e5, p99_ns=4e5)],
        "files": [_group("data", 900, 8192), _group("log", 100, 16384)],
        "streams": [_group(None, 990, 8192), _group("others", 10, 8192, members=7)],
        "timeline": {
            "interval_ns": 1_000_000_000,
            "start_ns": [i * 1_000_000_000 for i in range(10)],
            "by_class": {
                "data read": {
                    "count": [90] * 3 + [300] + [60] * 5 + [30],
                    "bytes": [90 * 8192] * 10,
                    "mean_latency_ns": [2e6] * 10,
                },
                "log write": {"count": [10] * 10, "bytes": [10 * 16384] * 10, "mean_latency_ns": [1e5] * 9 + [None]},
            },
            "depth_mean": [0.5, 0.5, 0.5, 4.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
        },
        "depth": {"mean": 0.85, "max": 9, "share": [[0, 0.6], [1, 0.25], [2, 0.1], [4, 0.04], [8, 0.01]]},
        "burstiness": {
            "interarrival_cv": 2.0,
            "peak_to_mean": 3.1,
            "dispersion": [
                [1_000_000, 1.5],
                [10_000_000, 4.0],
                [100_000_000, 20.0],
                [1_000_000_000, None],
                [10_000_000_000, None],
            ],
        },
        "working_set": {
            "page_bytes": 4096,
            "total_bytes": 4_194_304,
            "read_bytes": 3_145_728,
            "written_bytes": 1_572_864,
            "both_bytes": 524_288,
            "curve": {
                "time_ns": [i * 950_000_000 for i in range(1, 11)],
                "bytes": [i * 419_430 for i in range(1, 10)] + [4_194_304],
            },
            "estimated": False,
            "sampled_share": 1,
        },
        "re_reference": {
            "page_reads": 1800,
            "page_writes": 400,
            "read_after_read": 0.5,
            "read_after_write": 0.1,
            "write_after_read": 0.2,
            "write_after_write": 0.3,
            "reads_since_last_ns": [[1_048_576, 2_097_152, 300], [2_097_152, 4_194_304, 780]],
            "writes_since_last_ns": [[1_048_576, 2_097_152, 200]],
        },
        "latency": {
            "data read": [[900_000, 1_000_000, 450], [1_000_000, 2_000_000, 400], [7_000_000, 8_000_000, 50]],
            "log write": [[100_000, 200_000, 60], [300_000, 400_000, 40]],
        },
        "latency_by_size": {
            "read": [[8192, 16384, 900, 2e6]],
            "write": [[16384, 32768, 100, 2e5]],
            "flush": [[0, 1, 5, 1e5]],
        },
        "inferred": ["writes to log count as writes of the log"],
        "warnings": ["3 completions had no request"],
    }
