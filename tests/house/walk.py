"""Through how many modules one IO and one statement go: ``python -m tests.house.walk``.

Calls are followed through an uncompiled run of the commands, from a file to the page; what is imported and not called does not count.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[2]
_OWN = ("cli", "devices", "scenarios", "simulator", "traces", "src")


def modules_entered(walk: Callable[[], None]) -> list[str]:
    """Return the modules of the project in which a function is called while *walk* runs, in the order of their first calls."""
    found: dict[str, None] = {}
    known: dict[str, str | None] = {}

    def of(name: str) -> str | None:
        path = Path(os.path.realpath(name))
        inside = path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in _OWN
        return str(path.relative_to(ROOT)) if inside else None

    def look(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and not _makes_a_class(frame):
            if code.co_filename not in known:
                known[code.co_filename] = of(code.co_filename)
            module = known[code.co_filename]
            if module is not None:
                found.setdefault(module)

    sys.setprofile(look)
    try:
        walk()
    finally:
        sys.setprofile(None)
    return list(found)


def _makes_a_class(frame: FrameType) -> bool:
    """Tell whether a frame is the body of a class, which runs when its module is imported."""
    return "__module__" in frame.f_locals and "__qualname__" in frame.f_locals


def commands(*lines: Sequence[str]) -> None:
    """Run commands one after the other, as the command line does."""
    from typer.testing import CliRunner

    from tiersim.cli.main import app

    for line in lines:
        done = CliRunner().invoke(app, list(line), catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(f"tiersim {' '.join(line)}: {done.output}")


def one_io(folder: Path) -> None:
    """Follow one read from bytes of blktrace to the page."""
    from tests.blktrace_records import C, D, G, Q, record

    io = [record(action, 1000 * place, 8, 8192) for place, action in enumerate((Q, G, D, C), 1)]
    recording = folder / "sda.blktrace.0"
    recording.write_bytes(b"".join(io))
    trace, result, page = (str(folder / name) for name in ("one.trace", "one.result", "one.html"))
    commands(
        ["import", str(recording), "-o", trace],
        ["replay", trace, "--on", "pcie-flash", "-o", result],
        ["report", result, "-o", page],
    )


def one_statement(folder: Path) -> None:
    """Follow the statements of a recorded server from a CSV of pg_stat_statements to the page."""
    from tiersim.traces.samples import reads

    counters = reads(folder)
    trace, result, page = (str(folder / name) for name in ("one.trace", "one.result", "one.html"))
    commands(
        ["import", str(counters / "counters"), "-o", trace],
        ["replay", trace, "--on", str(counters / "host" / "recorded.toml"), "-o", result],
        ["report", result, "-o", page],
    )


def main() -> int:
    """Print the modules of both ways."""
    for what, walk in (("one IO", one_io), ("one statement", one_statement)):
        with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
            found = modules_entered(partial(walk, Path(name)))
        print(f"{what}: {len(found)} modules")
        print("  " + "\n  ".join(found))
    return 0


if __name__ == "__main__":
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    sys.exit(main())
