"""Recorded texts beside the project: they say what the binary recordings say, and what a count of their lines says."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests.blktrace_records import import_paths, same_rows
from tiersim.kernel import jit_enabled
from tiersim.traces.bundle import Bundle
from tiersim.traces.readers import import_trace
from tiersim.traces.schema import FLUSH, READ, WRITE

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not (DATA / "tracepoints").is_dir(), reason="the recordings are not beside this checkout"),
    pytest.mark.skipif(not jit_enabled(), reason="takes minutes when kernels are not compiled"),
]


@pytest.mark.parametrize(
    "capture", ["fio_loop0/loop0", "fio_vda_ext4/vda", "pgbench_70tps/loop0", "pgbench_70tps/loop2"]
)
def test_the_text_of_blkparse_holds_all_that_the_binary_files_hold(tmp_path: Path, capture: str) -> None:
    """Merges, splits, requeues, flushes, discards, names: every column of every row, to the nanosecond."""
    rows, binary = import_paths(tmp_path, DATA / "blktrace" / capture)
    manifest = import_trace([DATA / "blktrace" / f"{capture}.blkparse.txt"], tmp_path / "text.trace")
    text = Bundle(tmp_path / "text.trace")
    assert same_rows(rows, text.requests())
    assert (text.stream_names, text.file_names) == (binary.stream_names, binary.file_names)
    assert (manifest.unmatched, manifest.dropped, manifest.warnings) == (0, {}, [])


def lines_of(path: Path) -> list[tuple[int, str, str, str, int, int, int]]:
    """Return time (µs), event, device, letters, bytes, sector, sectors of each line, in a way of its own."""
    found = []
    for line in path.read_text().splitlines():
        if "block_rq_" not in line:
            continue
        before, after = re.split(r"block_rq_(?=issue|complete)", line)
        fields = after.replace("()", "").split()
        plus = fields.index("+")
        us = int(float(before.replace("block:", "").split()[-1].rstrip(":")) * 1e6 + 0.5)
        length = int(fields[3]) if fields[0] == "issue:" else 0
        found.append((us, fields[0], fields[1], fields[2], length, int(fields[plus - 1]), int(fields[plus + 1])))
    return found


@pytest.mark.parametrize(("name", "unfinished"), [("ftrace_block.txt", 0), ("perf_script_block.txt", 2)])
def test_tracepoints_hold_what_a_count_of_their_lines_finds(tmp_path: Path, name: str, unfinished: int) -> None:
    manifest = import_trace([DATA / "tracepoints" / name], tmp_path / "text.trace")
    bundle = Bundle(tmp_path / "text.trace")
    rows = bundle.requests()
    issued: Counter[str] = Counter()
    issued_bytes: Counter[str] = Counter()
    latencies_us: Counter[str] = Counter()
    open_: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for us, event, device, letters, length, sector, sectors in lines_of(DATA / "tracepoints" / name):
        op = "flush" if letters == "FF" else letters[0]
        key = (device, op, "" if op == "flush" else str(sector))
        if event == "issue:":
            issued[op] += 1
            issued_bytes[op] += length
            open_[key].append(us)
        elif (sectors or op == "flush") and open_[key]:
            latencies_us[op] += us - open_[key].pop(0)
    for code, letter in ((READ, "R"), (WRITE, "W"), (FLUSH, "flush")):
        of_op = rows.op == code
        assert int(of_op.sum()) == issued[letter]
        assert int(rows.length_bytes[of_op].sum()) == issued_bytes[letter]
        measured = of_op & (rows.latency_ns >= 0)
        assert int(rows.latency_ns[measured].sum()) == 1000 * latencies_us[letter]
    assert manifest.unmatched + manifest.dropped.get("in flight when the recording ended", 0) == unfinished
    assert sum(map(len, open_.values())) == unfinished
    assert int(np.sum(rows.latency_ns < 0)) == unfinished
    assert bundle.stream_names == []  # an issue is often not done by the process that queued


def test_a_bpftrace_csv_holds_what_a_count_of_its_lines_finds(tmp_path: Path) -> None:
    path = DATA / "tracepoints" / "bpftrace_block_io.csv"
    manifest = import_trace([path], tmp_path / "text.trace")
    bundle = Bundle(tmp_path / "text.trace")
    rows = bundle.requests()
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    starts = [line for line in lines if line[1] == "start"]
    done = [line for line in lines if line[1] == "done"]
    assert len(rows) == len(starts) == 663
    assert int(rows.length_bytes.sum()) == sum(int(line[5]) for line in starts)
    assert int(np.sum(rows.op == FLUSH)) == sum(int(line[4]) == 0 for line in starts)
    assert int(rows.latency_ns[rows.latency_ns >= 0].sum()) == 1000 * sum(int(line[7][:-3]) for line in done)
    assert manifest.unmatched == len(starts) - len(done) == 8
    assert {name.rsplit(" ", 1)[0] for name in bundle.stream_names} == {line[8] for line in starts}
