"""Whole recordings beside the project: nothing left unpaired, the containers agree, fio, blkparse and btt agree."""

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.blktrace_records import import_paths, same_rows
from tiersim.kernel import jit_enabled
from tiersim.traces.bundle import Requests
from tiersim.traces.schema import CHECKPOINT_WRITE, DISCARD, FLUSH, LOG_WRITE, READ, WRITE

SHARED = Path(__file__).resolve().parents[2] / "shared"
BLKTRACE = SHARED / "data" / "blktrace"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not BLKTRACE.is_dir(), reason="the recordings are not beside this checkout"),
    pytest.mark.skipif(not jit_enabled(), reason="takes minutes when kernels are not compiled"),
]

BTT_TOLERANCE = 0.005
CAPTURES = ("fio_loop0/loop0", "fio_vda_ext4/vda", "pgbench_70tps/loop0", "pgbench_70tps/loop2")
NAMES = ("stream",)  # a tracefs stream has no process names


@pytest.mark.parametrize("capture", [*CAPTURES, "public/takeoverjp_sample.blktrace.0"])
def test_every_event_of_a_recording_finds_its_partner(tmp_path: Path, capture: str) -> None:
    _, bundle = import_paths(tmp_path, BLKTRACE / capture)
    assert (bundle.manifest.unmatched, bundle.manifest.dropped, bundle.manifest.warnings) == (0, {}, [])


@pytest.mark.parametrize("run", ["tpcb_fast_1", "tpcb_read400_1", "sel_fast_1", "sel_read400_1"])
def test_every_event_of_a_postgresql_run_finds_its_partner(tmp_path: Path, run: str) -> None:
    packed = SHARED / "data" / "postgres" / "ab" / run / "tracefs_stream.bin.gz"
    if not packed.exists():
        pytest.skip("this run is not there")
    (tmp_path / "stream").write_bytes(gzip.decompress(packed.read_bytes()))
    _, bundle = import_paths(tmp_path, tmp_path / "stream")
    manifest = bundle.manifest
    assert manifest.unmatched == 0
    assert set(manifest.dropped) <= {"in flight when the recording began", "in flight when the recording ended"}


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_merged_dump_holds_the_same_requests(tmp_path: Path, capture: str) -> None:
    rows, bundle = import_paths(tmp_path, BLKTRACE / capture)
    dumped, dump = import_paths(tmp_path, BLKTRACE / f"{capture}.blkparse_merged.bin")
    assert same_rows(rows, dumped)
    assert bundle.stream_names == dump.stream_names


@pytest.mark.parametrize("capture", ["fio_loop0/loop0", "fio_vda_ext4/vda"])
def test_the_kernels_own_stream_holds_the_same_requests(tmp_path: Path, capture: str) -> None:
    rows, _ = import_paths(tmp_path, BLKTRACE / capture)
    streamed, _ = import_paths(tmp_path, (BLKTRACE / capture).parent / "tracefs_stream.bin")
    assert same_rows(rows, streamed, without=NAMES)


def test_a_stream_of_two_devices_holds_the_requests_of_both(tmp_path: Path) -> None:
    folder = BLKTRACE / "pgbench_70tps"
    both, bundle = import_paths(tmp_path, folder / "tracefs_stream.bin")
    for name, device in (("loop0", "7,0"), ("loop2", "7,2")):
        alone, _ = import_paths(tmp_path, folder / name)
        of_device = both.file == bundle.file_names.index(device)
        for column in ("op", "offset_bytes", "length_bytes", "latency_ns", "flags"):
            assert np.array_equal(getattr(both, column)[of_device], getattr(alone, column)), (name, column)


def blkparse_lines(capture: str) -> list[tuple[str, str, int]]:
    """Return action, flags and sectors of each event line of the text that blkparse made."""
    line = re.compile(r"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+([A-Z]+)\s+([A-Z]+)(?: \d+ \+ (\d+))?")
    matches = map(line.match, (BLKTRACE / f"{capture}.blkparse.txt").read_text().splitlines())
    return [(match[1], match[2], int(match[3] or 0)) for match in matches if match]


@pytest.mark.parametrize("capture", CAPTURES)
def test_counts_and_bytes_are_those_of_the_blkparse_text(tmp_path: Path, capture: str) -> None:
    """Its text, not its totals: those count flush commands as reads."""
    rows, _ = import_paths(tmp_path, BLKTRACE / capture)
    lines = blkparse_lines(capture)
    queued = [line for line in lines if line[0] == "Q" and line[2]]
    splits = Counter(flags[0] for action, flags, _ in lines if action == "X")
    requeues = Counter(flags[0] for action, flags, _ in lines if action == "R")
    for op, letter in ((READ, "R"), (WRITE, "W"), (DISCARD, "D")):
        of_op = rows.op == op
        lengths = [sectors for _, flags, sectors in queued if flags.removeprefix("F")[0] == letter]
        assert int(np.sum(of_op)) == len(lengths) + splits[letter]
        assert int(rows.length_bytes[of_op].sum()) == 512 * sum(lengths)
        issues = sum(action == "D" and flags[0] == letter for action, flags, _ in lines)
        assert len(np.unique(rows.command[of_op])) == issues - requeues[letter]
    flush_commands = sum(action == "D" and flags == "FN" for action, flags, _ in lines)
    assert len(np.unique(rows.command[rows.op == FLUSH])) == flush_commands


def mean_us(rows: Requests, since: str) -> float:
    """Return the mean time of reads, writes and discards from Q, or from D, to C; each bio counts."""
    chosen = (rows.op != FLUSH) & (rows.latency_ns >= 0)
    begins = rows.time_ns if since == "Q" else rows.issue_ns
    return float((rows.time_ns + rows.latency_ns - begins)[chosen].mean() / 1e3)


@pytest.mark.parametrize("capture", [name for name in CAPTURES if "vda" not in name])
def test_times_are_those_of_btt(tmp_path: Path, capture: str) -> None:
    """btt leaves flushes out, and those after a write out of its time. (It takes virtio disks for device mapper, so vda
    is left out here.)
    """
    rows, _ = import_paths(tmp_path, BLKTRACE / capture)
    folder, name = (BLKTRACE / capture).parent, (BLKTRACE / capture).name
    text = (folder / f"btt_{name}.avg").read_text()
    for label in ("Q2C", "D2C"):
        match = re.search(rf"^{label}\s+\S+\s+(\S+)", text, re.MULTILINE)
        assert match
        assert mean_us(rows, label[0]) == pytest.approx(float(match[1]) * 1e6, rel=BTT_TOLERANCE), label


def test_fio_measured_the_same(tmp_path: Path) -> None:
    """Its total latency holds ours and the way through the kernel."""
    rows, _ = import_paths(tmp_path, BLKTRACE / "fio_loop0/loop0")
    jobs = json.loads((BLKTRACE / "fio_loop0/fio.json").read_text())["jobs"]
    for op, key in ((READ, "read"), (WRITE, "write")):
        of_op = rows.op == op
        measured = [job[key] for job in jobs if job[key]["total_ios"]]
        assert int(np.sum(of_op)) == sum(part["total_ios"] for part in measured)
        assert int(rows.length_bytes[of_op].sum()) == sum(part["io_bytes"] for part in measured)
        counts = [part["lat_ns"]["N"] for part in measured]
        fio_ns = np.average([part["lat_ns"]["mean"] for part in measured], weights=counts)
        assert 0.7 * fio_ns < float(rows.latency_ns[of_op].mean()) < fio_ns
    assert int(np.sum(rows.op == FLUSH)) == sum(job["sync"]["total_ios"] for job in jobs)


def test_the_log_device_of_postgresql_is_found(tmp_path: Path) -> None:
    rows, bundle = import_paths(tmp_path, BLKTRACE / "pgbench_70tps/tracefs_stream.bin")
    logs = {bundle.file_names[file] for file in np.unique(rows.file[rows.purpose == LOG_WRITE])}
    assert logs == {"7,2"}
    checkpointer = {bundle.stream_names[code] for code in np.unique(rows.stream[rows.purpose == CHECKPOINT_WRITE])}
    assert checkpointer == {"pid 21240"}  # which wrote during the CHECKPOINT and at no other time
    assert len(bundle.manifest.inferred) == 3
