"""Processes that are killed with signal 9: what was written before is there, and nothing half written looks whole."""

import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from tests import faulty
from tests.faulty import Work, killed_at, lines_of
from tiersim.files import files_of
from tiersim.scenarios.check import check
from tiersim.traces.bundle import Bundle
from tiersim.traces.statistics import read_snapshots

#: What writes, and what it writes.
COMMANDS: dict[str, tuple[Work, str]] = {
    "import": (faulty.import_requests, "a.trace"),
    "replay": (faulty.replay, "a.result"),
    "report": (faulty.page, "a.html"),
}
#: So often the default tests kill each command, and the long ones.
KILLS = [5, pytest.param(40, marks=pytest.mark.long)]


def content(path: Path) -> dict[str, bytes] | None:
    """All that is there, with the facts of the clock left out; None when nothing is."""
    if not path.exists():
        return None
    if path.is_file():
        return {"": path.read_bytes()}
    return {name: file.read_bytes() for name, file in files_of(path).items() if name != "run.json"}


def is_whole(path: Path) -> bool:
    return path.suffix == ".html" or check(path).verdict == "whole"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for luck in (1, 2):
        faulty.table_of_requests(tmp_path, luck)
    return tmp_path


def moments(folder: Path, kills: int, work: Work, *arguments: object) -> list[int]:
    """Lines at which to kill, one of each stretch of all lines; among them the last one, when all is done and nothing
    said.
    """
    all_lines = lines_of(folder / "lines", work, folder, *arguments)
    luck = random.Random(kills)
    ends = sorted({1 + number * all_lines // kills for number in range(kills)} | {all_lines})
    return [*(luck.randrange(*stretch) for stretch in pairwise(ends)), all_lines]


def remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)


@pytest.mark.long
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("command", ["import", "replay", "report"])
def test_killed_at_any_line_there_is_nothing_or_all(folder: Path, command: str, kills: int) -> None:
    work, name = COMMANDS[command]
    target = folder / name
    lines = moments(folder, kills, work, 1)
    undisturbed = content(target)
    for line in lines:
        remove(target)
        killed_at(line, work, folder, 1)
        assert content(target) in (None, undisturbed), line
    assert content(target) == undisturbed
    assert is_whole(target)


@pytest.mark.long
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("command", ["import", "replay", "report"])
def test_killed_at_any_line_while_it_replaces_there_is_the_old_or_the_new(
    folder: Path, command: str, kills: int
) -> None:
    work, name = COMMANDS[command]
    target = folder / name
    work(folder, 1)
    old = content(target)
    lines = moments(folder, kills, work, 2, True)
    new = content(target)
    assert old != new
    seen = []
    for line in lines:
        work(folder, 1, True)
        killed_at(line, work, folder, 2, True)
        assert content(target) in (old, new), line
        assert is_whole(target), line
        seen.append(content(target) == new)
    assert not seen[0]
    assert seen[-1]


@pytest.mark.parametrize("kills", KILLS)
def test_a_recording_that_is_killed_at_any_line_has_what_was_kept(folder: Path, kills: int) -> None:
    target, kept = folder / "a.trace", folder / "kept"
    lines = moments(folder, kills, faulty.record, 1)
    undisturbed = content(target)
    for line in lines:
        remove(target)
        kept.unlink(missing_ok=True)
        killed_at(line, faulty.record, folder, 1)
        said = kept.read_text() if kept.exists() else "0"
        assert target.exists() or said == "0", line
        if target.exists():
            verdict = check(target).verdict
            assert verdict in ("unfinished", "whole"), line
            assert (verdict == "whole") == (content(target) == undisturbed), line
            assert len(list(read_snapshots(target))) >= int(said), line
            assert Bundle(target).manifest.ended == (verdict == "whole")


@pytest.mark.parametrize("kills", KILLS)
def test_a_sweep_that_is_killed_at_any_line_goes_on_and_ends_the_same(folder: Path, kills: int) -> None:
    target = folder / "a.sweep"
    lines = moments(folder, kills, faulty.sweep, 1)
    undisturbed = content(target)
    for line in lines:
        remove(target)
        killed_at(line, faulty.sweep, folder, 1)
        if target.exists() and is_whole(target):
            assert content(target) == undisturbed, line
            continue
        faulty.sweep(folder, 1)
        assert content(target) == undisturbed, line
        assert is_whole(target), line
