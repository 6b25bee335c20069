"""Outputs are whole or not there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiersim import files
from tiersim.errors import OutputError, TraceError
from tiersim.files import check_target, whole_file, whole_folder
from tiersim.simulator.result import load_result
from tiersim.traces.bundle import Bundle


def test_a_file_appears_only_when_the_block_ends_well(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    with whole_file(target) as path:
        path.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    with pytest.raises(ZeroDivisionError), whole_file(target, force=True) as path:
        path.write_text("half")
        raise ZeroDivisionError
    assert target.read_text() == "whole"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_an_existing_output_is_refused_without_force(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "precious").write_text("1")
    with (
        pytest.raises(OutputError, match="already there; choose another name or add --force"),
        whole_folder(tmp_path / "x"),
    ):
        pass
    with whole_folder(tmp_path / "x", force=True) as folder:
        (folder / "precious").write_text("2")
        (folder / "new").write_text("3")
    assert sorted(path.read_text() for path in (tmp_path / "x").iterdir()) == ["2", "3"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems have UTF-8 names only")
def test_a_name_that_is_not_utf8_is_refused_before_any_work(tmp_path: Path) -> None:
    """pyarrow opens no such file: an import ended in a traceback, and a bundle was called damaged."""
    latin = tmp_path / os.fsdecode(b"caf\xe9.trace")
    with pytest.raises(OutputError, match="the name is not UTF-8; choose another name"):
        check_target(latin, force=False)
    latin.mkdir()
    (latin / "requests.parquet").write_bytes(b"PAR1")
    with pytest.raises(TraceError, match="the name is not UTF-8; rename it, or the folder that it lies in"):
        Bundle(latin)
    with pytest.raises(TraceError, match="the name is not UTF-8"):
        load_result(latin)


def test_force_replaces_only_what_is_of_the_same_kind(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "precious").write_text("1")
    (tmp_path / "file").write_text("1")
    for target in (tmp_path / "x", tmp_path / "file"):
        with (
            pytest.raises(OutputError, match=r"refusing to replace a (file|folder) that tiersim did not write"),
            whole_folder(target, force=True) as folder,
        ):
            (folder / "new").write_text("2")
    with (
        pytest.raises(OutputError, match=r"refusing to replace a (file|folder) that tiersim did not write"),
        whole_file(tmp_path / "x", force=True) as path,
    ):
        path.write_text("2")
    assert (tmp_path / "x" / "precious").read_text() == (tmp_path / "file").read_text() == "1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "x"]


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "table").write_text("old")
    really_replace = Path.replace

    def interrupt(path: Path, target: Path) -> Path:
        if path.name.endswith(".partial"):
            raise KeyboardInterrupt
        return really_replace(path, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    monkeypatch.setattr(files, "_renamed", lambda *_: False)  # as where two folders cannot change places
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "x", force=True) as folder:
        (folder / "table").write_text("new")
    assert [path.read_text() for path in tmp_path.glob("*/*")] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("system_knows", [True, False])
def test_what_another_has_written_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system_knows: bool
) -> None:
    if not system_knows:
        monkeypatch.setattr(files, "_renamed", lambda *_: False)
    for write, target in ((whole_file, tmp_path / "file"), (whole_folder, tmp_path / "folder")):
        with pytest.raises(OutputError, match="is already there"), write(target) as mine:
            with write(target) as theirs:
                (theirs / "table" if theirs.is_dir() else theirs).write_text("theirs")
            (mine / "table" if mine.is_dir() else mine).write_text("mine")
        assert (target / "table" if target.is_dir() else target).read_text() == "theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_that_cannot_be_read_is_not_called_one_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="input"), whole_file(tmp_path / "page.html"):
        (tmp_path / "input").read_bytes()
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = (
        "import os, signal; from tiersim.files import terminate_as_interrupt\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with terminate_as_interrupt(): os.kill(os.getpid(), signal.SIGHUP)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_place_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"), whole_folder(tmp_path / "no" / "such") as _:
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_killed_command_leaves_nothing(tmp_path: Path, number: int) -> None:
    code = (
        "import sys, time; from pathlib import Path; from tiersim.files import whole_folder, terminate_as_interrupt\n"
        "with terminate_as_interrupt(), whole_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'part').write_text('x'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=-1, stderr=-1)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.05)
    os.kill(process.pid, number)
    process.communicate(timeout=20)
    assert list(tmp_path.iterdir()) == []
