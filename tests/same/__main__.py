"""The command line of :mod:`tests.same`."""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.same.compare import Compared, compare, read
from tests.same.names import FILE
from tests.same.tests import run_tests

ROOT = Path(__file__).parents[2]
#: A part for every commit: engines, databases, devices, one replay and one page.
QUICK = (
    "tests/test_databases.py",
    "tests/test_engines.py",
    "tests/test_arrays.py",
    "tests/test_pools.py",
    "tests/test_copies.py",
    "tests/test_popularity.py",
    "tests/test_statements.py",
    "tests/test_replay.py",
)
#: So many differences are printed.
_SHOWN = 40


def main() -> int:
    """Run both trees, print what differs; returns 1 when something does."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.same", description="Tell whether a change of the code changed a figure."
    )
    parser.add_argument("base", help="a commit")
    parser.add_argument("tests", nargs="*", help="files of tests, or tests; all by default")
    parser.add_argument("--quick", action="store_true", help="a part that takes a minute")
    parser.add_argument("--leaves", action="store_true", help="say of each number whether it differs: for few tests")
    options = parser.parse_args()
    tests = QUICK if options.quick else options.tests
    with tempfile.TemporaryDirectory(prefix="tiersim-") as name, _checked_out(options.base, Path(name)) as base:
        folders = [Path(name) / "noted-base", Path(name) / "noted-here"]
        for tree, folder in zip((base, ROOT), folders, strict=True):
            folder.mkdir()
            _run(tree, tests, folder, is_base=tree == base, leaves=options.leaves)
        found = compare(*map(read, folders))
    _print(found)
    return 1 if found.different or not found.tests else 0


@contextmanager
def _checked_out(commit: str, scratch: Path) -> Iterator[Path]:
    """Have the tree of a commit in a folder for a while, with this tree's way of noting."""
    tree = scratch / "base" / "main"
    _git("worktree", "add", "--quiet", "--detach", str(tree), commit)
    try:
        shared = ROOT.parent / "shared"
        if shared.exists():
            (tree.parent / "shared").symlink_to(shared)
        own = tree / "tests" / "same"
        own.mkdir(exist_ok=True)
        for path in Path(__file__).parent.glob("*.py"):
            (own / path.name).write_bytes(path.read_bytes())
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def _git(*arguments: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *arguments], check=True)


def _run(tree: Path, tests: Sequence[str], folder: Path, *, is_base: bool, leaves: bool) -> None:
    """Run tests of a tree with the packages of this one, and note what they compute."""
    more = {
        "PYTHONPATH": os.pathsep.join([str(tree), str(tree / "src")]),
        "TIERSIM_SAME_OUT": str(folder),
        "TIERSIM_SAME_NAMES": str(FILE),
        "TIERSIM_SAME_IS_BASE": "1" if is_base else "",
        "TIERSIM_SAME_LEAVES": "1" if leaves else "",
    }
    line = run_tests(tree, "plugin", ["--hypothesis-seed=1", *tests], more)
    print(f"{'base' if is_base else 'here'}: {line}", flush=True)


def _print(found: Compared) -> None:
    for sentence in found.different[:_SHOWN]:
        print(sentence)
    if len(found.different) > _SHOWN:
        print(f"... and {len(found.different) - _SHOWN} more")
    for what, names in (("the base", found.only_base), ("this tree", found.only_here)):
        if names:
            print(f"only {what} has {len(names)} tests: {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}")
    print(f"{found.tests} tests of both, {found.same} things noted the same, {len(found.different)} differ")


if __name__ == "__main__":
    sys.exit(main())
