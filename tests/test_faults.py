"""Faults, tried for real: file systems that are full or read-only, files that change while they are read, two writers,
too little memory.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests import faulty
from tests.faulty import Work, begin, mounted
from tests.test_faults_kills import content, is_whole
from tiersim.errors import OutputError, TraceError
from tiersim.files import whole_folder
from tiersim.operating_system import lock, memory_limit_bytes
from tiersim.scenarios.check import check
from tiersim.scenarios.sweeps.folder import open_folder
from tiersim.traces.bundle import Bundle
from tiersim.traces.parquet import open_parquet
from tiersim.traces.readers import import_trace
from tiersim.traces.recorders.growing import GrowingBundle
from tiersim.traces.recorders.steady_clock import SteadyClock
from tiersim.traces.statistics import PARTS, read_snapshots

COMMANDS: dict[str, tuple[Work, str]] = {
    "import": (faulty.import_requests, "a.trace"),
    "replay": (faulty.replay, "a.result"),
    "report": (faulty.page, "a.html"),
}
MIB = 1 << 20
ROOM = 16 * MIB


def input_files(folder: Path, rows: int = 300) -> None:
    for luck in (1, 2):
        faulty.table_of_requests(folder, luck, rows)


# A full disk.


@pytest.mark.parametrize("command", COMMANDS)
def test_on_a_full_disk_there_is_nothing_or_all_and_the_old_one_stays(tmp_path: Path, command: str) -> None:
    work, name = COMMANDS[command]
    place, target = tmp_path / "place", tmp_path / "place" / name
    input_files(tmp_path)
    with mounted(place, ROOM) as remount:
        work(tmp_path, 2, False, place)
        new = content(target)
        needed = shutil.disk_usage(place).used
        work(tmp_path, 1, True, place)
        old = content(target)
        failed = 0
        for eighths in (0, 1, 2, 3, 4, 6, 7, 8, 10):
            used = shutil.disk_usage(place).used
            remount(f"size={used + max(needed * eighths // 8, 4096)}")
            try:
                work(tmp_path, 2, True, place)
            except OutputError as error:
                failed += 1
                said = str(error)
                assert content(target) == old
            else:
                said = ""
                assert content(target) == new
                remount(f"size={ROOM}")
                work(tmp_path, 1, True, place)
            assert not said or said.startswith(f"{target}: cannot be written (no space left on device); choose"), said
            assert is_whole(target)
            assert [path.name for path in place.iterdir()] == [name], "nothing is left that takes room"
        assert 2 < failed < 9


def test_a_recording_on_a_full_disk_keeps_what_was_kept(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with mounted(place, MIB >> 2):
        recorded = GrowingBundle(place / "a.trace", 0, {"source_format": "made up"}, force=False)
        kept = 0
        with pytest.raises(OutputError, match="no space left on device"):
            for number in range(1000):
                recorded.add([faulty.snapshot(number)])
                kept += 1
        assert 10 < kept < 1000
        assert len(list(read_snapshots(place / "a.trace"))) >= kept
        with pytest.raises(OutputError, match="no space left on device"):
            recorded.end()
        assert check(place / "a.trace").verdict == "unfinished"
        assert len(list(read_snapshots(place / "a.trace"))) >= kept
        assert not Bundle(place / "a.trace").manifest.ended


def test_a_sweep_on_a_full_disk_goes_on_when_there_is_room(tmp_path: Path) -> None:
    place = tmp_path / "place"
    faulty.sweep(tmp_path, 1)
    with mounted(place, 8 << 10) as remount:
        with pytest.raises(OutputError, match="no space left on device"):
            faulty.sweep(place, 1)
        assert check(place / "a.sweep").verdict in ("unfinished", "unknown")
        remount(f"size={ROOM}")
        faulty.sweep(place, 1)
        assert content(place / "a.sweep") == content(tmp_path / "a.sweep")
        assert is_whole(place / "a.sweep")


# A disk that is, or becomes, read-only.


@pytest.mark.parametrize("command", COMMANDS)
def test_what_cannot_be_written_to_is_said_before_any_work(tmp_path: Path, command: str) -> None:
    work, name = COMMANDS[command]
    place = tmp_path / "place"
    input_files(tmp_path)
    with mounted(place, ROOM) as remount:
        work(tmp_path, 1, False, place)
        old = content(place / name)
        remount("ro")
        with pytest.raises(OutputError, match="is not a folder that can be written to"):
            work(tmp_path, 2, True, place)
        assert content(place / name) == old


def test_a_disk_that_becomes_read_only_leaves_nothing_that_looks_whole(tmp_path: Path) -> None:
    place = tmp_path / "place"
    with mounted(place, MIB) as remount:
        recorded = GrowingBundle(place / "r.trace", 0, {"source_format": "made up"}, force=False)
        recorded.add([faulty.snapshot(1)])
        with pytest.raises(OutputError, match="read-only file system"), whole_folder(place / "a.result") as folder:
            (folder / "summary.json").write_text("{}")
            remount("ro")
            (folder / "run.json").write_text("{}")
        assert check(place / "a.result").verdict == "unknown"
        (left,) = place.glob(".*")  # which cannot be removed any more
        assert check(left).verdict == "unfinished"
        with pytest.raises(OutputError, match="is not a folder that can be written to"):
            recorded.add([faulty.snapshot(2)])
        assert len(list(read_snapshots(place / "r.trace"))) == 1
        assert check(place / "r.trace").verdict == "unfinished"


# Files that change while they are read.


def requests_as_text(path: Path, rows: int = 40_000) -> Path:
    """An SPC trace of some 800 KB: more than is read at a time."""
    lines = (f"0,{8 * number},4096,r,{number / 1000:.6f}\n" for number in range(rows))
    path.write_text("".join(lines))
    return path


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"0,8,4096,r,99.0\n" * 1000)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1000, 2)
        file.write(b"\n" * 900)
    os.utime(path, ns=(1, 1))


def replace(path: Path) -> None:
    path.with_suffix(".new").write_bytes(path.read_bytes()[:1000])
    path.with_suffix(".new").replace(path)


CHANGES: list[tuple[Callable[[Path], object], str]] = [
    (truncate, "shrank from"),
    (grow, "grew from"),
    (overwrite, "was changed while it was read"),
    (replace, "was removed or replaced while it was read"),
    (Path.unlink, "was removed or replaced while it was read"),
]


@pytest.mark.parametrize(("change", "said"), CHANGES, ids=["shrinks", "grows", "changes", "is replaced", "vanishes"])
@pytest.mark.parametrize("kind", ["text", pytest.param("table", marks=pytest.mark.long)])
def test_a_file_that_changes_while_it_is_imported_is_said(
    tmp_path: Path, kind: str, change: Callable[[Path], object], said: str
) -> None:
    target = tmp_path / "a.trace"
    if kind == "text":
        source = requests_as_text(tmp_path / "spc.txt")
    else:
        source = faulty.table_of_requests(tmp_path, 1, rows=1_100_000)
    changed = False

    def progress(done: int, _all: int) -> None:
        nonlocal changed
        if done and not changed:
            changed = True
            change(source)

    refused = ""
    try:
        import_trace([source], target, progress=progress)
    except (TraceError, OSError) as error:
        refused = str(error)
    assert changed
    assert target.exists() == (not refused)
    if refused:
        assert str(source) in refused
    else:
        assert any(said in sentence for sentence in Bundle(target).manifest.warnings)
        assert is_whole(target)
    assert not list(tmp_path.glob(".*"))


def test_a_bundle_that_is_cut_after_it_was_opened_is_said(tmp_path: Path) -> None:
    import_trace([faulty.table_of_requests(tmp_path, 1, rows=100_000)], tmp_path / "a.trace")
    bundle = Bundle(tmp_path / "a.trace")
    truncate(tmp_path / "a.trace" / "requests.parquet")
    with pytest.raises(TraceError, match="is damaged"):
        bundle.requests()
    assert check(tmp_path / "a.trace").verdict == "damaged"


# Two writers.


def write_together(folder: Path, work: str, luck: int, force: bool) -> None:
    """Write when all others are ready, too, and say how it ended."""
    (folder / f"ready-{luck}").touch()
    while len(list(folder.glob("ready-*"))) < 2:
        time.sleep(0.001)
    try:
        {"import": faulty.import_requests, "replay": faulty.replay, "report": faulty.page, "sweep": faulty.sweep}[work](
            folder, luck, force
        )
    except OutputError as error:
        (folder / f"ended-{luck}").write_text(str(error))
    else:
        (folder / f"ended-{luck}").write_text("")


def together(folder: Path, work: str, *, force: bool) -> dict[int, str]:
    for path in (*folder.glob("ready-*"), *folder.glob("ended-*")):
        path.unlink()
    processes: list[BaseProcess] = [begin(write_together, folder, work, luck, force) for luck in (1, 2)]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    return {luck: (folder / f"ended-{luck}").read_text() for luck in (1, 2)}


ROUNDS = [2, pytest.param(15, marks=pytest.mark.long)]


@pytest.mark.long
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("work", ["import", "replay", "report"])
def test_of_two_that_write_the_same_one_is_told_that_it_is_there(tmp_path: Path, work: str, rounds: int) -> None:
    input_files(tmp_path)
    write, name = COMMANDS[work]
    expected = {}
    for luck in (1, 2):
        write(tmp_path, luck, True)
        expected[luck] = content(tmp_path / name)
    for _ in range(rounds):
        shutil.rmtree(tmp_path / name) if (tmp_path / name).is_dir() else (tmp_path / name).unlink()
        ended = together(tmp_path, work, force=False)
        (winner,) = [luck for luck, said in ended.items() if not said]
        assert "is already there" in ended[3 - winner]
        assert content(tmp_path / name) == expected[winner]
        assert is_whole(tmp_path / name)
        ended = together(tmp_path, work, force=True)
        assert "" in ended.values(), ended
        assert content(tmp_path / name) in [expected[luck] for luck, said in ended.items() if not said]
        assert is_whole(tmp_path / name)
        assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_two_that_sweep_into_one_folder_one_is_told_and_rows_are_never_mixed(tmp_path: Path, rounds: int) -> None:
    for number in range(rounds):
        ended = together(tmp_path, "sweep", force=bool(number % 2))
        assert "" in ended.values(), ended
        for said in ended.values():
            assert (
                not said or "is already there" in said or "another tiersim is at work" in said or "begun with" in said
            )
        rows = [json.loads(path.read_bytes()) for path in sorted((tmp_path / "a.sweep" / "points").glob("*.json"))]
        plan = json.loads((tmp_path / "a.sweep" / "sweep.json").read_bytes())
        assert {row["error"] for row in rows} == {plan["tool"]}
        assert is_whole(tmp_path / "a.sweep")
        if not number % 2 and number + 1 == rounds:
            break
        if number % 2:
            shutil.rmtree(tmp_path / "a.sweep")


def test_who_began_a_folder_waits_for_who_only_looks_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = [True, True]

    def busy(descriptor: int) -> None:
        if held:
            held.pop()
            raise BlockingIOError
        lock(descriptor)

    monkeypatch.setattr("tiersim.scenarios.sweeps.folder.lock", busy)
    with open_folder(tmp_path / "a.sweep", faulty.plan(1), force=False):
        assert not held
    held = [True]
    with (
        pytest.raises(OutputError, match="another tiersim is at work there"),
        open_folder(tmp_path / "a.sweep", faulty.plan(1), force=False),
    ):
        pass


def test_a_sweep_that_was_replaced_between_opening_and_locking_is_not_worked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = fcntl.flock
    with open_folder(tmp_path / "a.sweep", faulty.plan(1), force=False):
        pass

    def too_late(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", really)
        with open_folder(tmp_path / "a.sweep", faulty.plan(2), force=True):
            pass
        really(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", too_late)
    with (
        pytest.raises(OutputError, match="another tiersim is at work there"),
        open_folder(tmp_path / "a.sweep", faulty.plan(1), force=False),
    ):
        pass


def test_a_recorder_whose_bundle_another_one_replaced_stops(tmp_path: Path) -> None:
    first = GrowingBundle(tmp_path / "a.trace", 0, {"source_format": "first"}, force=False)
    first.add([faulty.snapshot(1)])
    shutil.rmtree(tmp_path / "a.trace" / PARTS)  # as --force would refuse
    second = GrowingBundle(tmp_path / "a.trace", 0, {"source_format": "second"}, force=True)
    second.add([faulty.snapshot(2)])
    for write in (lambda: first.add([faulty.snapshot(3)]), first.end):
        with pytest.raises(OutputError, match="was replaced or removed by somebody else while it was recorded"):
            write()
    assert second.end().source_format == "second"
    assert is_whole(tmp_path / "a.trace")
    shutil.rmtree(tmp_path / "a.trace")
    with pytest.raises(OutputError, match="was replaced or removed"):
        second.add([faulty.snapshot(4)])


# Clocks that are set.

S = 10**9


@pytest.mark.parametrize("step_s", [-7200, -5, 5, 7200])
def test_a_servers_clock_that_is_set_is_told_and_times_count_on(step_s: int) -> None:
    clock = SteadyClock()
    read = [clock.read((1000 + n) * S + (step_s * S if n > 2 else 0), n * S - 1000, n * S + 1000) for n in range(6)]
    assert read == [(1000 + n) * S for n in range(6)]
    (sentence,) = clock.steps
    assert f"set {'back' if step_s < 0 else 'forward'} by {abs(step_s):,} s" in sentence


def test_a_clock_that_is_corrected_bit_by_bit_is_not_set() -> None:
    clock = SteadyClock()
    for minute in range(600):
        clock.read(minute * 60 * S - minute * 30_000_000, minute * 60 * S, minute * 60 * S + 10)  # 500 ppm
    assert clock.steps == []


def test_an_answer_that_took_long_is_no_step() -> None:
    clock = SteadyClock()
    clock.read(0, 0, 10)
    clock.read(9 * S, 1 * S, 10 * S)
    assert clock.steps == []


# Too little memory.


def test_memory_that_does_not_suffice_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = faulty.table_of_requests(tmp_path, 1)

    def refuse(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 1048576000 failed")

    monkeypatch.setattr(pq, "ParquetFile", refuse)
    with pytest.raises(MemoryError):
        open_parquet(table, "import it again")


def run_with(most: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [
        sys.executable,
        "-c",
        "from tiersim.cli.main import main; main()",
        *map(str, arguments),
        "--memory",
        most,
    ]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of a process")


@pytest.fixture(scope="module")
def many_statements(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small bundle whose statements take 1 GB when they are read."""
    path = tmp_path_factory.mktemp("many") / "a.trace"
    path.mkdir()
    pq.write_table(
        pa.table({"time_ns": [0], "op": ["read"], "offset_bytes": [0], "length_bytes": [512]}),
        path / "requests.parquet",
    )
    pq.write_table(pa.table({"time_ns": np.zeros(8_000_000, np.int64)}), path / "statements.parquet")
    return path


@linux
def test_what_takes_more_than_memory_allows_ends_in_a_sentence(many_statements: Path) -> None:
    ended = run_with("512 MiB", "check", many_statements)
    assert ended.returncode == 1
    assert (
        ended.stderr
        == "tiersim: the 512 MiB of --memory do not suffice; allow more, or ask for less at a time: fewer --workers, a"
        " shorter recording, --set replay.mode=open, which holds no causes\n"
    )


@pytest.mark.long
@linux
@pytest.mark.parametrize("most", ["10 MiB", "half"])
def test_a_limit_that_cannot_be_is_a_wrong_use(tmp_path: Path, most: str) -> None:
    ended = run_with(most, "check", tmp_path)
    assert ended.returncode == 2
    assert "--memory" in ended.stderr


@linux
def test_what_is_free_is_within_the_limit(tmp_path: Path) -> None:
    code = (
        "from tiersim.operating_system import available_bytes, limit_memory, memory_limit_bytes\n"
        "before = available_bytes(); limit_memory(600 << 20); assert 300 << 20 < available_bytes() < 600 << 20\n"
        "assert memory_limit_bytes() == 600 << 20\n"
        "limit_memory(None); assert memory_limit_bytes() is None and available_bytes() > before / 2"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert memory_limit_bytes() is None
