"""What a command costs before it does anything: help, a small replay and a small curve once compiled, and the
compilation itself.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from benchmarks.rounds import rounds

CAPTURE = Path(__file__).resolve().parents[1] / "tests" / "data" / "vda.blktrace.0"
COMMAND = "import sys; from tiersim.cli.main import main; sys.argv[0] = 'tiersim'; main()"
#: What any replay has to load, and does not owe to this project.
LIBRARIES = "import numba, pyarrow.parquet, typer"
ROUNDS = 7


def cpu_s(code: str, *arguments: object, **environment: str) -> float:
    """CPU time, of user and system, of one Python process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=True,
        capture_output=True,
        env=os.environ | environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(measure: Callable[[], float], times: int | None = None) -> float:
    """The least of some measurements: other work on the machine only adds to it."""
    return round(min(measure() for _ in range(times or rounds(ROUNDS))), 3)


def test_help(benchmark: BenchmarkFixture) -> None:
    cpu = benchmark.pedantic(lambda: least(lambda: cpu_s(COMMAND, "--help"), ROUNDS), rounds=1)
    benchmark.extra_info["help_cpu_s"] = cpu
    assert cpu < 0.25


def test_a_small_replay_once_compiled(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    cpu_s(COMMAND, "import", CAPTURE, "-o", tmp_path / "x.trace")  # compiles if need be
    replay = ("replay", tmp_path / "x.trace", "--on", "pcie-flash", "--force", "-o", tmp_path)
    whole = benchmark.pedantic(lambda: least(lambda: cpu_s(COMMAND, *replay)), rounds=1)
    libraries = least(lambda: cpu_s(LIBRARIES))
    benchmark.extra_info |= {
        "replay_cpu_s": whole,
        "libraries_cpu_s": libraries,
        "difference_cpu_s": round(whole - libraries, 3),
    }


def test_a_small_curve_once_compiled(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    (tmp_path / "x.lirs").write_text("\n".join(str(place * place % 37) for place in range(100)) + "\n")
    cpu_s(COMMAND, "import", tmp_path / "x.lirs", "-o", tmp_path / "x.trace")
    cpu_s(COMMAND, "mrc", tmp_path / "x.trace")  # compiles if need be
    whole = benchmark.pedantic(lambda: least(lambda: cpu_s(COMMAND, "mrc", tmp_path / "x.trace")), rounds=1)
    benchmark.extra_info["mrc_cpu_s"] = whole


@pytest.mark.long
def test_compilation(tmp_path: Path, benchmark: BenchmarkFixture) -> None:
    compiled = benchmark.pedantic(lambda: cpu_s(COMMAND, "warmup", XDG_CACHE_HOME=str(tmp_path)), rounds=1)
    warm = least(lambda: cpu_s(COMMAND, "warmup", XDG_CACHE_HOME=str(tmp_path)))
    benchmark.extra_info |= {"cold_warmup_cpu_s": round(compiled, 1), "warm_warmup_cpu_s": warm}
