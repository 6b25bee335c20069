"""Which lines of kernels run without the compiler: ``python -m tests.same.lines [TEST ...]``.

What runs is part of what :mod:`tests.same` holds side by side, so this says how much of the kernels that is at least.
"""

import argparse
import ast
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.same.tests import run_tests

ROOT = Path(__file__).parents[2]
_FOLDERS = ("devices", "simulator", "scenarios", "traces", "src/tiersim/kernel")
#: A test ends when it has run no new line for so much CPU time.
_SECONDS = 2.0
#: Files of tests that run kernels beside those that are marked so: whole replays of statements; and of tenants those
#: tests alone that run more.
_MORE = (
    *("statements", "synthesis", "replay", "log", "innodb_twins", "index_entries", "real_index_entries"),
    *("inferred_page_cache", "checkpoint_rules", "workloads", "waiting"),
)
_OF_TENANTS = (
    "test_engines_agree_on_recordings_side_by_side_and_on_who_waits",
    "test_engines_note_the_same_requests_of_a_database",
)


def kernel_lines(root: Path = ROOT) -> dict[Path, set[int]]:
    """Return the lines of statements within kernels, by file; a text that says what a kernel does is none."""
    found: dict[Path, set[int]] = {}
    for folder in _FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and any(map(_is_kernel, node.decorator_list)):
                    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                    lines = {
                        one.lineno for statement in body for one in ast.walk(statement) if isinstance(one, ast.stmt)
                    }
                    found.setdefault(path.resolve(), set()).update(lines)
    return found


def corpus() -> list[str]:
    """Return the files of tests that run kernels, and single tests."""
    files = sorted((ROOT / "tests").glob("test_*.py"))
    return [
        *(
            str(path)
            for path in files
            if path.stem.removeprefix("test_") in _MORE or "mark.kernels" in path.read_text(encoding="utf-8")
        ),
        *(f"{ROOT / 'tests' / 'test_tenants.py'}::{name}" for name in _OF_TENANTS),
    ]


def _is_kernel(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(named, ast.Name) and named.id == "kernel"


def missed(lines: Mapping[Path, set[int]], folder: Path) -> dict[Path, list[int]]:
    """Return the lines that did not run, by file, of those that plugins noted in *folder*."""
    ran: dict[Path, set[int]] = {}
    for path in folder.glob("*.lines"):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, numbers = line.partition("\t")
            ran.setdefault(Path(name), set()).update(map(int, numbers.split()))
    return {path: sorted(own - ran.get(path, set())) for path, own in lines.items() if own - ran.get(path, set())}


def main() -> int:
    """Run tests without the compiler and print what they leave out of each file."""
    parser = argparse.ArgumentParser(prog="python -m tests.same.lines", description=__doc__)
    parser.add_argument("tests", nargs="*", default=corpus(), help="files of tests, or tests")
    parser.add_argument(
        "--seconds",
        type=float,
        default=_SECONDS,
        help="a test ends after so many of CPU without a new line; 0: never",
    )
    parser.add_argument("--into", type=Path, help="keep what ran in this folder, and count what it holds already")
    options = parser.parse_args()
    lines = kernel_lines()
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name:
        folder = options.into or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        more = {"TIERSIM_LINES_OUT": str(folder.resolve()), "TIERSIM_LINES_SECONDS": str(options.seconds)}
        line = run_tests(ROOT, "lines_plugin", options.tests, {"NUMBA_DISABLE_JIT": "1"} | more)
        left = missed(lines, folder)
    print(line)
    for path, numbers in sorted(left.items(), key=lambda one: -len(one[1])):
        print(
            f"{path.relative_to(ROOT)}: {len(numbers)} of {len(lines[path])} lines: {' '.join(map(str, numbers[:20]))}"
        )
    every, without = sum(map(len, lines.values())), sum(map(len, left.values()))
    print(f"{every - without} of {every} lines of kernels run: {100 * (1 - without / every):.1f} %")
    return 0


if __name__ == "__main__":
    sys.exit(main())
