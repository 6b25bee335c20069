"""What a command loads: what it uses, since all else costs time before it begins."""

import subprocess
import sys
from pathlib import Path

import pytest

from tiersim.cli.terminal import compile_if_cold
from tiersim.traces.readers import import_trace

CAPTURE = Path(__file__).parent / "data" / "vda.blktrace.0"
COMMAND = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from tiersim.cli.main import main
sys.argv[0] = "tiersim"
main()
"""
#: What few commands need.
SELDOM = {
    "numba",
    "plotly",
    "simpy",
    "distributed",
    "psycopg",
    "tiersim.traces.readers",
    "tiersim.traces.recorders",
}


def loaded(*arguments: object) -> set[str]:
    """Names of all modules that are there when a command has ended well."""
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_no_library_but_that_of_the_command_line(option: str) -> None:
    libraries = {"numba", "numpy", "pyarrow", "plotly", "simpy", "pydantic", "rich"}
    assert not loaded(option) & (libraries | {"hashlib", "importlib.resources", "tempfile"})


def test_help_of_a_command_loads_nothing_that_it_computes_with() -> None:
    assert not loaded("replay", "--help") & {"numba", "numpy", "pyarrow", "plotly", "simpy", "rich"}


def test_a_replay_of_requests_loads_neither_readers_nor_what_runs_statements(tmp_path: Path) -> None:
    compile_if_cold()
    import_trace([CAPTURE], tmp_path / "x.trace")
    found = loaded("replay", tmp_path / "x.trace", "--on", "pcie-flash", "-o", tmp_path)
    assert "tiersim.simulator.compiled.engine" in found
    statements = {
        "tiersim.scenarios.statements.replay",
        "tiersim.scenarios.workloads.model",
        "tiersim.devices.hdd.disksim",
    }
    assert not found & (SELDOM | statements)


def test_a_curve_of_references_loads_no_device(tmp_path: Path) -> None:
    (tmp_path / "x.lirs").write_text("\n".join(str(place % 7) for place in range(100)) + "\n")
    import_trace([tmp_path / "x.lirs"], tmp_path / "x.trace")
    found = loaded("mrc", tmp_path / "x.trace")
    assert "tiersim.simulator.miss_ratios" in found
    assert not found & (SELDOM | {"tiersim.devices.catalogue", "tiersim.simulator.compiled.engine"})


def test_a_list_of_devices_loads_no_tables() -> None:
    assert not loaded("devices", "list") & (SELDOM | {"pyarrow", "tiersim.scenarios.model"})
