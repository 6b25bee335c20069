"""Through how many modules one IO and one statement go: ``python -m tests.house.walk``; it fails where one goes through
more than it may.

Calls are followed through an uncompiled run of the commands, from a file to the page; what is imported and not called
does not count.
"""

import csv
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
#: So many modules a reader goes through at most.
MOST_OF_IO, MOST_OF_STATEMENT = 50, 75
_RECORDED = ROOT / "tests" / "data" / "recorded"
_OWN = ("cli", "devices", "scenarios", "simulator", "traces", "src")


def modules_entered(walk: Callable[[], None]) -> list[str]:
    """Return the modules of the project in which a function is called while *walk* runs, in the order of their first
    calls; what imports call does not count.
    """
    found: dict[str, None] = {}
    importing = 0
    known: dict[str, str | None] = {}

    def of(name: str) -> str | None:
        path = Path(os.path.realpath(name))
        inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in _OWN
        return str(path.relative_to(ROOT)) if inside else None

    def look(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal importing
        code = frame.f_code
        if code.co_name == "<module>" and event in ("call", "return"):
            importing += 1 if event == "call" else -1
        elif event == "call" and not importing:
            if code.co_filename not in known:
                known[code.co_filename] = of(code.co_filename)
            module = known[code.co_filename]
            if module is not None:
                found.setdefault(module)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        walk()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(found)


def commands(*lines: Sequence[str]) -> None:
    """Run commands one after the other, as the command line does."""
    from typer.testing import CliRunner

    from tiersim.cli.main import app

    for line in lines:
        done = CliRunner().invoke(app, list(line), catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(f"tiersim {' '.join(line)}: {done.output}")


def from_file_to_page(folder: Path, recordings: Sequence[Path], scenario: str) -> None:
    """Import recordings, replay it on a scenario, and write the page of the result."""
    trace, results, page = (str(folder / name) for name in ("one.trace", "results", "one.html"))
    commands(
        ["import", *map(str, recordings), "-o", trace],
        ["replay", trace, "--on", scenario, "-o", results],
        ["report", f"{results}/{Path(scenario).stem}.result", "-o", page],
    )


def one_io(folder: Path) -> None:
    """Follow one read from bytes of blktrace to the page, and one behind it, without which there is no rate."""
    from tests.blktrace_records import C, D, G, Q, record

    io = [record(action, 1000 * place, 8, 8192) for place, action in enumerate(2 * (Q, G, D, C), 1)]
    recording = folder / "sda.blktrace.0"
    recording.write_bytes(b"".join(io))
    from_file_to_page(folder, [recording], "pcie-flash")


#: The largest table of the recording is so many times smaller here: what scatters its rows runs without the compiler.
_SMALLER = 100


def smaller_recording(folder: Path) -> list[Path]:
    """Copy the recorded server's files with a smaller largest table; all else is as it was recorded."""
    for name in ("before", "after"):
        shutil.copytree(_RECORDED / name, folder / name)
        path = folder / name / "relations.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            if row["relname"].startswith("pgbench_accounts"):
                row |= {key: str(int(float(row[key]) // _SMALLER)) for key in ("relpages", "reltuples", "bytes")}
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return [folder / "before", folder / "after"]


def one_statement(folder: Path) -> None:
    """Follow the statements of a recorded server from a CSV of pg_stat_statements to the page; a pool that begins empty
    is not filled first.
    """
    scenario = folder / "small.toml"
    scenario.write_text(
        '[host]\ncores = 2\n[engine]\nbuffer_pool = "16 MiB"\n[volumes.data]\ndevice = "intel-p3700-800"\n'
        '[placement]\ndefault = "data"\n[replay]\ncache_state = "cold"\n'
    )
    from_file_to_page(folder, smaller_recording(folder), str(scenario))


def main() -> int:
    """Print the modules of both ways; returns 1 when one is too long."""
    long = False
    for what, walk, most in (("one IO", one_io, MOST_OF_IO), ("one statement", one_statement, MOST_OF_STATEMENT)):
        with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
            found = modules_entered(partial(walk, Path(name)))
        print(f"{what}: {len(found)} modules, at most {most}")
        print("  " + "\n  ".join(found))
        long |= len(found) > most
    return int(long)


if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    sys.exit(main())
