"""What a device did while it was recorded is in the bundle, and the kernel's tracing is afterwards as it was before."""

import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest

from tests import blktrace_records
from tests.postgres_server import wait_for
from tiersim.errors import RecordingError, TraceError
from tiersim.operations import READ, WRITE
from tiersim.traces.bundle import Bundle
from tiersim.traces.recorders import block
from tiersim.traces.recorders.tracefs import tracefs

RECORD = [sys.executable, "-c", "from tiersim.cli.main import main; main()", "record", "blktrace"]
PAGE_BYTES = 8192


Record = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def record() -> Iterator[Record]:
    """Starts recorders, and lets none outlive the test: they have something to put back."""
    with ExitStack() as stack:

        def start(*arguments: str, **variables: str) -> "subprocess.Popen[str]":
            # a few hundred events need no compiled kernels
            environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", **variables}
            process = stack.enter_context(
                subprocess.Popen(
                    [*RECORD, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
                )
            )
            stack.callback(process.send_signal, signal.SIGINT)
            return process

        yield start


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def mounted() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        run("mount", "-t", "tracefs", "nodev", folder)
        try:
            yield Path(folder)
        finally:
            run("umount", "--lazy", folder)  # a process that is being started may hold it


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A loop device of 64 MiB, where this machine lets one be made and traced."""
    if os.getuid() or not shutil.which("losetup"):
        pytest.skip("block devices are recorded as root")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    with ExitStack() as stack:
        try:
            with mounted() as tracing:
                if (tracing / "current_tracer").read_text().strip() != "nop":
                    pytest.skip("somebody else is tracing on this machine")
            name = run("losetup", "--find", "--show", str(image))
        except (subprocess.CalledProcessError, OSError):
            pytest.skip("this machine has neither tracefs nor loop devices")
        stack.callback(run, "losetup", "--detach", name)
        yield Path(name)


def load(device: Path, pages: int = 20) -> None:
    """Write and read so many pages, one request each."""
    common = [f"bs={PAGE_BYTES}", f"count={pages}", "status=none"]
    subprocess.run(["dd", "if=/dev/zero", f"of={device}", *common, "oflag=direct", "seek=100"], check=True)
    subprocess.run(["dd", f"if={device}", "of=/dev/null", *common, "iflag=direct", "skip=50"], check=True)


def state(device: Path) -> dict[str, str]:
    """All that the recorder may have changed."""
    with mounted() as tracing:
        names = (
            "current_tracer", "tracing_on", "trace_clock", "buffer_size_kb", "saved_cmdlines_size", "options/bin",
            "options/context-info",
        )  # fmt: skip
        sizes = tracing / "buffer_size_kb"
        if "expanded" in sizes.read_text():  # the kernel's own buffer is small until somebody traces for the first time
            sizes.write_text(re.sub(r".*expanded: (\d+).*", r"\1", sizes.read_text(), flags=re.DOTALL))
        found = {name: (tracing / name).read_text() for name in names}
        found["instances"] = str(sorted(path.name for path in (tracing / "instances").iterdir()))
        found["events"] = (tracing / "events/block/enable").read_text()
    found["enabled"] = Path(f"/sys/block/{device.name}/trace/enable").read_text()
    found["mounts"] = str([line for line in Path("/proc/mounts").read_text().splitlines() if "tracefs" in line])
    return found


def traced(device: Path) -> bool:
    """Whether the device is being traced, by the tracer or by tracepoints, of which one is the last that is switched
    on.
    """
    enabled = Path(f"/sys/block/{device.name}/trace/enable").read_text().strip() == "1"
    with mounted() as tracing:
        if enabled and (tracing / "tracing_on").read_text().strip() == "1":
            return True
        on = [path.read_text().strip() for path in tracing.glob("instances/*/events/block/block_bio_complete/enable")]
    return "1" in on


def requests_of(target: Path) -> list[tuple[int, int, int]]:
    rows = Bundle(target).requests()
    return [
        row
        for row in zip(rows.op.tolist(), rows.offset_bytes.tolist(), rows.length_bytes.tolist(), strict=True)
        if row[0] in (READ, WRITE)
    ]


EXPECTED = [(WRITE, (100 + page) * PAGE_BYTES, PAGE_BYTES) for page in range(20)]
EXPECTED += [(READ, (50 + page) * PAGE_BYTES, PAGE_BYTES) for page in range(20)]


def test_what_the_device_did_is_recorded(record: Record, device: Path, tmp_path: Path) -> None:
    before = state(device)
    target = tmp_path / "r.trace"
    process = record(str(device), "-o", str(target), "--minutes", "2", "--json")
    wait_for(lambda: traced(device), "tracing")
    began_ns = time.time_ns()
    load(device)
    process.send_signal(signal.SIGINT)  # ends the recording, and is no failure
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert document["schema"] == "tiersim.record/1"
    assert requests_of(target) == EXPECTED
    bundle = Bundle(target)
    assert all(name.startswith("dd ") for name in bundle.stream_names)
    assert min(bundle.requests().latency_ns) > 0
    assert 0 <= bundle.manifest.host["clock_start_unix_ns"] - began_ns < 10**9
    assert state(device) == before


def test_where_the_tracer_is_taken_tracepoints_are_recorded(record: Record, device: Path, tmp_path: Path) -> None:
    with mounted() as tracing:
        if "blk" not in (tracing / "available_tracers").read_text().split():
            pytest.skip("this kernel has no other tracer to take")
        (tracing / "current_tracer").write_text("blk\n")
        try:
            before = state(device)
            target = tmp_path / "r.trace"
            process = record(str(device), "-o", str(target), "--minutes", "2")
            wait_for(lambda: traced(device), "tracing")
            load(device)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            assert "(ftrace)" in out
            assert requests_of(target) == EXPECTED
            assert state(device) == before
        finally:
            (tracing / "current_tracer").write_text("nop\n")


_BLKTRACE = """#!{python}
import pathlib, signal, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert set(given) == {{"-d", "-D", "-o"}} and given["-d"] == {device!r}, given
signal.signal(signal.SIGINT, lambda *_: sys.exit(0))
pathlib.Path(given["-D"], given["-o"] + ".blktrace.0").write_bytes({first!r})
pathlib.Path(given["-D"], given["-o"] + ".blktrace.1").write_bytes({second!r})
pathlib.Path({started!r}).touch()
{then}
"""


@pytest.mark.long
@pytest.mark.parametrize("works", [True, False])
def test_blktrace_is_used_where_it_works(record: Record, device: Path, tmp_path: Path, works: bool) -> None:
    # this machine's kernel may refuse it: what is started is a program that does as blktrace does
    write, read = (record_of(WRITE, 5), record_of(READ, 7))
    started, programs = tmp_path / "started", tmp_path / "bin"
    programs.mkdir()
    text = _BLKTRACE.format(
        python=sys.executable, device=str(device), first=write, second=read, started=str(started),
        then="signal.pause()" if works else "",
    )  # fmt: skip
    (programs / "blktrace").write_text(text)
    (programs / "blktrace").chmod(0o755)
    target = tmp_path / "r.trace"
    process = record(str(device), "-o", str(target), "--minutes", "2", PATH=f"{programs}:{os.environ['PATH']}")
    wait_for(started.exists if works else lambda: traced(device), "the start")
    load(device)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert requests_of(target) == ([(WRITE, 5 * 512, 4096), (READ, 7 * 512, 4096)] if works else EXPECTED)


def record_of(op: int, sector: int) -> bytes:
    """A request as blktrace writes it: queued, issued, completed."""
    letter, time_ns = ("W", 1000) if op == WRITE else ("R", 2000)
    steps = ((blktrace_records.Q, 0), (blktrace_records.D, 10), (blktrace_records.C, 100))
    return b"".join(blktrace_records.record(action, time_ns + after, sector, 4096, letter) for action, after in steps)


def test_it_ends_at_its_largest_size(record: Record, device: Path, tmp_path: Path) -> None:
    target = tmp_path / "r.trace"
    process = record(str(device), "-o", str(target), "--minutes", "2", "--max-size", "64 KiB")
    wait_for(lambda: traced(device), "tracing")
    load(device, 400)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "reached its largest size" in err
    assert 0 < len(requests_of(target)) < 800


@pytest.mark.usefixtures("device")
def test_a_mount_that_may_go_is_not_used() -> None:
    with mounted() as theirs, tracefs() as system:
        assert system.folder != theirs
        assert system.read("current_tracer").strip() == "nop"


def test_a_device_without_requests_is_said(record: Record, device: Path, tmp_path: Path) -> None:
    before = state(device)
    process = record(str(device), "-o", str(tmp_path / "r.trace"), "--minutes", "0.01")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.splitlines() == [f"tiersim: {device}: had no request while it was recorded; record while the load runs"]
    assert not (tmp_path / "r.trace").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["image"]
    assert state(device) == before


@pytest.mark.parametrize(
    ("name", "said"),
    [("nowhere", "cannot be found"), ("file", "is no block device; name one such as /dev/sdb")],
)
def test_what_is_no_device_is_refused(record: Record, tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "file").write_text("")
    process = record(str(tmp_path / name), "-o", str(tmp_path / "r.trace"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_dry_run_prints_commands_and_does_nothing(record: Record) -> None:
    process = record("/dev/sdb", "--minutes", "2", "--dry-run")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "blktrace -d /dev/sdb -w 120" in out
    assert "rmdir instances/tiersim" in out


NOTE = struct.pack("=IIQQIIIIIHH", 0x65617407, 0, 1000, 0, 0, 0x0400_0000, 7, 0, 0, 0, 16) + b"fio".ljust(16, b"\0")


@pytest.mark.parametrize(
    ("raw", "fault", "said"),
    [
        (b"", "", "had no request while it was recorded; record while the load runs"),
        (NOTE, "", "had no request while it was recorded; record while the load runs"),
        (
            record_of(READ, 8),
            "the manifest has no host",
            "was recorded, and the import failed: the manifest has no host",
        ),
        (b"noise " * 20, "", "was recorded, and the import failed: "),
    ],
    ids=["no byte", "no request", "a fault of the manifest", "no trace"],
)
def test_what_cannot_be_imported_is_said_and_not_taken_for_an_idle_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, fault: str, said: str
) -> None:
    def recorded(_: block.BlockDevice, folder: Path, __: block.Bounds) -> block.Raw:
        file = folder / "recorded.blktrace.0"
        file.write_bytes(raw)
        return block.Raw([file], [])

    def refuse(*_: object, **__: object) -> None:
        raise TraceError(fault)

    monkeypatch.setattr(block, "block_device", lambda path: block.BlockDevice(path, 7, 0))
    monkeypatch.setattr(block, "_recorded", recorded)
    if fault:
        monkeypatch.setattr(block, "import_trace", refuse)
    with pytest.raises(RecordingError) as caught:
        block.record_block(Path("/dev/sdb"), tmp_path / "r.trace", block.Bounds(1.0, 1 << 20, Event()))
    assert str(caught.value).startswith(f"/dev/sdb: {said}")
    assert not (tmp_path / "r.trace").exists()
