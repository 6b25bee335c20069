"""The job files that measure what a fit needs: safe by default, and read back as what they ask for."""

import re
import shutil
import subprocess
from configparser import ConfigParser
from itertools import product
from pathlib import Path

import pytest

from tests.fio_documents import DATA
from tiersim.scenarios import library
from tiersim.traces.readers.fio_options import setting
from tiersim.traces.readers.load_generators import measurements

FIT_FIO = library.path_of("fit").with_suffix(".fio")
FIT_DISKSPD = FIT_FIO.with_name("fit-diskspd.cmd")


def sections() -> dict[str, dict[str, str]]:
    """The jobs of the job file: their options with the global ones."""
    parser = ConfigParser(interpolation=None, default_section="global", comment_prefixes=(";", "#"))
    parser.read(FIT_FIO)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_there_is_no_default_target() -> None:
    for options in sections().values():
        assert options["filename"] == "${TARGET}"
        assert options["stonewall"] == "1"
    text = FIT_FIO.read_text()
    assert set(re.findall(r"\$\{\w+\}", text)) == {"${TARGET}", "${SIZE}", "${RATE}", "${RUNTIME}"}
    assert "/dev/" not in text
    assert "THIS OVERWRITES ${TARGET}" in text.splitlines()[5]
    assert "THIS OVERWRITES" in FIT_DISKSPD.read_text()


@pytest.mark.skipif(not shutil.which("fio"), reason="fio is not installed")
def test_fio_takes_the_jobs_and_nothing_without_a_target(tmp_path: Path) -> None:
    def parse(*options: str, **environment: str) -> int:
        path = {"PATH": "/usr/bin:/bin"}
        command = ["fio", *options, str(FIT_FIO)]
        done = subprocess.run(command, cwd=tmp_path, env=path | environment, capture_output=True, check=False)
        return done.returncode

    assert parse() != 0
    assert parse(SIZE="64m", RUNTIME="1", RATE="100") != 0
    assert parse("--parse-only", SIZE="64m", RUNTIME="1", RATE="100", TARGET=str(tmp_path / "target")) == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_fit_needs_is_there() -> None:
    wanted = {
        name: setting(options | {"rate_iops": "9"} if "rate_iops" in options else options)
        for name, options in sections().items()
    }
    for block in (4096, 8192):
        of_block = [found for found in wanted.values() if found.directions["read"].block_bytes == block]
        reads = {found.depth_per_job for found in of_block if found.pattern == "random" and found.read_share == 1}
        assert reads >= {1, 2, 4, 8, 16, 32, 64, 128}
        commits = {(found.depth_per_job, found.jobs) for found in of_block if found.sync == "fdatasync"}
        assert commits == {(1, 1), (1, 16)}
    sizes = {found.directions["read"].block_bytes for found in wanted.values() if found.pattern == "random"}
    assert sizes == {4096, 8192, 16384, 65536, 262144, 1048576}
    assert {found.depth_per_job for found in wanted.values() if found.read_share == 0.7} == {1, 8, 32, 128}
    assert sum(found.directions["read"].rate_limit_iops is not None for found in wanted.values()) == 1
    assert all(found.direct and not found.warnings for found in wanted.values())


def test_results_say_what_was_asked_for() -> None:
    """A short run of the job file on a small file, with fio 3.33."""
    asked = sections()
    points = measurements(DATA / "fit.json.xz")
    assert {point.job for point in points} == set(asked)
    for point in points:
        options = asked[point.job] | ({"rate_iops": "2000"} if "rate_iops" in asked[point.job] else {})
        wanted = setting(options)
        direction = wanted.directions[point.operation]
        assert (point.block_bytes, point.rate_limit_iops) == (direction.block_bytes, direction.rate_limit_iops)
        assert (point.pattern, point.read_share, point.engine) == (wanted.pattern, wanted.read_share, wanted.engine)
        assert (point.depth, point.jobs) == (wanted.iodepth * wanted.jobs, wanted.jobs)
        assert (point.sync_every, point.sync) == (wanted.sync_every, wanted.sync)


def test_diskspd_measures_the_same() -> None:
    found = []
    loops: dict[str, list[str]] = {}
    for line in FIT_DISKSPD.read_text().splitlines():
        if line.startswith("for "):
            loops = {name: values.split() for name, values in re.findall(r"%%(\w) in \(([^)]*)\)", line)}
        elif line.startswith(")"):
            loops = {}
        elif "diskspd -" in line:
            assert line.endswith("|| exit /b 1")
            for values in product(*loops.values()):
                run = line
                for name, value in zip(loops, values, strict=True):
                    run = run.replace(f"%%{name}", value)
                found.append(run)
    runs = {_matched(r"> fit-(\S+)\.xml", run)[0].lower(): run for run in found}
    assert len(runs) == len(found)
    asked = sections()
    assert set(runs) == set(asked)
    for name, options in asked.items():
        wanted = setting(options | {"rate_iops": "9"} if "rate_iops" in options else options)
        run = runs[name]
        size = re.search(r" -b(\d+)([KM]) ", run)
        threads, outstanding = _matched(r" -t(\d+) -o(\d+)", run)
        assert size
        assert int(size[1]) * {"K": 1 << 10, "M": 1 << 20}[size[2]] == wanted.directions["read"].block_bytes
        assert (int(threads), int(outstanding)) == (wanted.jobs, wanted.depth_per_job)
        assert _matched(r" -w(\d+)", run)[0] == f"{100 * (1 - wanted.read_share):.0f}"
        assert (" -r " in run) == (wanted.pattern == "random")
        assert (" -Suw " in run) == (wanted.sync is not None)
        assert " -L " in run.replace("%ALL%", "-W5 -L -Rxml")


def _matched(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text)
    assert found, f"{text!r} has no {pattern}"
    return found.groups()
