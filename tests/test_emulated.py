"""Machine code for the least processor runs on one: an emulated Nehalem gives the bits of this machine's own code."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runs import needs_jit
from tiersim.kernel.machine_code import level_here
from tiersim.traces.samples import pgbench

EMULATOR = shutil.which("qemu-x86_64")
#: Some 1,200 requests of the recording that is shipped.
SAMPLE_BYTES = 48 * 4000
WORKLOAD = """
[workload]
engine = "postgresql"
buffer_pool = "8 MiB"
cores = 2
duration = "1 s"

[relations.orders]
rows = 200_000
rows_per_page = 60

[statements.change]
does = [
    { compute = "100 us" },
    { lookup = "orders", rows = 3 },
    { change = "orders", log = "300 B" },
    { commit = "200 B" },
]

[streams.users]
statements = ["change"]
clients = 4
"""

#: Replays what it is given and says whether anything was compiled.
REPLAY = """
import sys
from tiersim.cli.main import main
try:
    main()
finally:
    print("compiled", "tiersim.kernel.translate" in sys.modules)
"""


def replay(folder: Path, name: str, source: Path, *before: str, **environment: str) -> dict[str, bytes]:
    """Replay on disks and flash; returns what was written, by file."""
    code = [sys.executable, "-c", REPLAY, "replay", str(source), "--on", "15k-raid10", "--on", "pcie-flash"]
    found = folder / name
    done = subprocess.run(
        [*before, *code, "--output", str(found)],
        check=False,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    if before:
        assert "compiled False" in done.stdout
    return {
        str(path.relative_to(found)): path.read_bytes()
        for path in sorted(found.rglob("*"))
        if path.is_file() and path.name != "run.json"  # how long it took
    }


@needs_jit
@pytest.mark.long
@pytest.mark.skipif(level_here() is None, reason="code is shipped for x86-64 processors with Linux")
@pytest.mark.skipif(EMULATOR is None, reason="qemu-x86_64 is not there (Debian's qemu-user)")
@pytest.mark.parametrize("kind", ["requests", "statements"])
def test_an_emulated_processor_gives_the_same_bits(tmp_path: Path, kind: str) -> None:
    assert EMULATOR is not None
    source = tmp_path / ("sample.blktrace" if kind == "requests" else "load.toml")
    source.write_bytes(pgbench()[:SAMPLE_BYTES] if kind == "requests" else WORKLOAD.encode())
    here = replay(tmp_path, "here", source)
    # numpy's OpenBLAS takes the emulated processor for a newer one on a host whose processor it does not know
    level = {"TIERSIM_PROCESSOR": "x86-64-v2", "OPENBLAS_CORETYPE": "Nehalem"}
    assert replay(tmp_path, "made", source, **level) == here  # and the code that the emulated processor runs is made
    assert replay(tmp_path, "emulated", source, EMULATOR, "-cpu", "Nehalem", **level) == here
    assert len(here) > 6
