"""A little of the damage of :mod:`tests.fuzz`, in every run; what was found by it once; and that it finds faults."""

import json
import os
import random
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import executions
from tests.fuzz.corpus import corpus
from tests.fuzz.counts import Noted, summed
from tests.fuzz.damage import Drawn, damaged, words_of
from tests.fuzz.executions import Execution, fuzz, reading
from tests.fuzz.faults import Faults
from tests.fuzz.grow import Reach, smaller
from tests.fuzz.structure import xel_changed
from tests.fuzz.targets import TARGETS, Target
from tiersim.errors import TraceError
from tiersim.traces.readers.importing import FORMATS, SOURCES


@pytest.mark.long
def test_damaged_files_end_in_a_sentence_at_worst() -> None:
    assert [found.fault for found in fuzz(sorted(TARGETS), 2500, seed=2) if found.fault] == []


def test_kept_files_are_read_or_refused_and_some_are_read() -> None:
    with reading() as place:
        for key in TARGETS:
            found = [place.execute(key, data, through=False) for data in corpus(key)]
            assert [one.fault for one in found if one.fault] == []
            assert not all(one.refused for one in found), key


def test_every_format_has_files_to_damage() -> None:
    assert TARGETS.keys() >= SOURCES.keys() | FORMATS.keys()
    assert all(map(corpus, TARGETS))


def test_a_seed_stands_for_its_files() -> None:
    one, again, other = ([found.data for found in fuzz(["clock"], 50, seed)] for seed in (1, 1, 2))
    assert one == again != other


def test_damage_keeps_files_small_and_changes_them() -> None:
    chance, files = random.Random(1), corpus("sqlserver-trc")
    found = [damaged(files[0], Drawn(chance, files[1], words_of(files))) for _ in range(500)]
    assert max(map(len, found)) < 1 << 15
    assert len(set(found)) > 400


def test_lengths_of_blocks_stay_true() -> None:
    chance, files = random.Random(1), corpus("sqlserver-xel")
    for _ in range(50):
        data, at = xel_changed(files[0], Drawn(chance, files[-1], words_of(files))), 0x200
        while at < len(data):
            at += struct.unpack_from("<IIIHHI", data, at)[5]
        assert at == len(data) or len(data) < 0x200


def _planted(monkeypatch: pytest.MonkeyPatch, what: str) -> str:
    """Return the fault that is found in a reader that does *what*."""

    def read(path: Path) -> None:
        if what == "fail":
            raise KeyError("x")
        if what == "hang":
            while True:
                pass
        if what == "say nothing":
            raise TraceError("wrong")

    monkeypatch.setitem(TARGETS, "clock", Target(read, None, "clock.txt", __name__))
    monkeypatch.setattr(executions, "MOST_S", 0.05)
    monkeypatch.setattr(
        executions, "_most_memory", iter((0, executions.MOST_BYTES + 1) if what == "take memory" else (0, 0)).__next__
    )
    with reading() as place:
        return place.execute("clock", b"", through=False).fault


@pytest.mark.parametrize(
    ("what", "fault"),
    [
        ("fail", "KeyError"),
        ("hang", "took more than 0.05 s"),
        ("take memory", "took 256 MiB"),
        ("say nothing", "no sentence that names the file: wrong"),
        ("read", ""),
    ],
)
def test_what_a_reader_must_not_do_is_found(monkeypatch: pytest.MonkeyPatch, what: str, fault: str) -> None:
    found = _planted(monkeypatch, what)
    assert fault in found
    assert bool(found) == bool(fault)


def test_files_are_made_smaller_as_long_as_they_reach_what_is_wanted() -> None:
    with reading() as place:
        reach = Reach(place, "lirs")
        reach.of(b"1\n")
        found = reach.of(b"3\n1\n*\n4\n") - reach.of(b"3\n1\n4\n")
        small = smaller(b"3\n1\n*\n4\n", frozenset(found), reach)
    assert len(small) < 8
    assert b"*" in small


def test_counts_of_several_processes_are_summed(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    for seed in (1, 2):
        noted = Noted("v1", "clock", seed, path)
        for number in range(3):
            noted.add(Execution("clock", b"", refused=number == 0, fault="x" * (number == 1)))
        noted.write()
    (found,) = summed([path]).values()
    assert (found.all.executions, found.all.refused, found.all.faults, found.seeds) == (6, 2, 2, {1, 2})
    assert found.by_version["v1"].executions == 6


def test_the_first_file_with_a_fault_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = Faults(tmp_path / "faults")
    assert faults.report() == 0
    for data in (b"first", b"second"):
        faults.take(Execution("clock", data, refused=True, fault="KeyError in clock.py:1: 'x'", trace="how"), seed=1)
    faults.take(Execution("clock", b"read", refused=False, fault=""), seed=1)
    assert faults.report() == 1
    assert capsys.readouterr().out == "2 × KeyError in clock.py:1: 'x'\n"
    assert sorted(path.read_bytes() for path in (tmp_path / "faults").iterdir()) == [
        b"KeyError in clock.py:1: 'x'\nhow", b"first"
    ]  # fmt: skip


@pytest.mark.skipif(find_spec("atheris") is None, reason="atheris is not installed: make .venv/installed-fuzz")
@pytest.mark.long
def test_libfuzzer_keeps_files_that_reach_more(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.fuzz.guided", "--format", "scenario", "--executions", "100"]
    places = {"counts": tmp_path / "counts", "found": tmp_path / "found", "faults": tmp_path / "faults"}
    options = [text for name, path in places.items() for text in (f"--{name}", str(path))]
    subprocess.run([*command, *options], check=True, env=os.environ | {"NUMBA_DISABLE_JIT": "1"}, capture_output=True)
    noted = json.loads(places["counts"].read_text())
    assert (noted["executions"], noted["faults"], noted["jit"]) == (100, 0, False)
    assert len(list(places["found"].iterdir())) > len(corpus("scenario"))
    assert not places["faults"].exists()
