"""Import of a block trace against blkparse, which only reads and prints it, on the same files."""

import shutil
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.rounds import rounds
from tiersim.traces.readers import import_trace

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
REPEATS = 1000
ROWS_PER_REPEAT = 140
SPAN_NS = 1_000_000_000
HEADER = struct.Struct("<IIQ")


def repeated(source: Path, target: Path) -> int:
    """Write the events in *source* REPEATS times, each later and with higher sequence numbers; return their number.

    Process names and other notes, which the kernel writes once, are left out.
    """
    data = source.read_bytes()
    records, at = [], 0
    while at < len(data):
        end = at + 48 + int.from_bytes(data[at + 46 : at + 48], "little")
        if not data[at + 31] & 0x04:
            records.append(data[at:end])
        at = end
    sequence = 0
    with target.open("wb") as file:
        for repeat in range(REPEATS):
            for record in records:
                sequence += 1
                magic, _, time_ns = HEADER.unpack_from(record)
                file.write(HEADER.pack(magic, sequence, time_ns + repeat * SPAN_NS) + record[HEADER.size :])
    return sequence


@pytest.mark.skipif(shutil.which("blkparse") is None, reason="blkparse is not installed")
def test_import_against_blkparse(tmp_path: Path, benchmark: Any) -> None:
    """A million events in per-CPU files; ``extra_info`` says how many times as fast as blkparse it
    went, in wall time.
    """
    records = sum(repeated(DATA / f"vda.blktrace.{cpu}", tmp_path / f"vda.blktrace.{cpu}") for cpu in (0, 1))
    blkparse_s = []
    for _ in range(rounds(3)):
        begin = time.perf_counter()
        subprocess.run(
            ["blkparse", "-q", "-i", "vda", "-o", "/dev/null"], cwd=tmp_path, check=True, capture_output=True
        )
        blkparse_s.append(time.perf_counter() - begin)

    def import_it() -> int:
        return import_trace([tmp_path / "vda"], tmp_path / "vda.trace", force=True).requests

    rows = benchmark.pedantic(import_it, rounds=rounds(5), warmup_rounds=rounds(2) - 1)
    assert rows == REPEATS * ROWS_PER_REPEAT
    benchmark.extra_info["records"] = records
    benchmark.extra_info["blkparse_s"] = min(blkparse_s)
    benchmark.extra_info["times_blkparse"] = min(blkparse_s) / benchmark.stats.stats.min
