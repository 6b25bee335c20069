"""A copy of the project in which a fault can be made."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutations.fault import ROOT
from tiersim.kernel import store

_NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "build", "demo", "dist")
_FIRST_FAILURE = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
#: What pytest returns when tests ran, and some failed.
_SOME_FAILED = 1


@dataclass(frozen=True)
class Outcome:
    """What became of a run of tests: pytest's exit status, and what it printed."""

    status: int
    printed: str

    @property
    def passed(self) -> bool:
        """Whether tests ran and none failed."""
        return self.status == 0

    @property
    def first_failure(self) -> str | None:
        """The test that failed first; None where none did, or where pytest could not run them."""
        found = _FIRST_FAILURE.search(self.printed)
        return found[1] if found and self.status == _SOME_FAILED else None


@dataclass(frozen=True)
class Copy:
    """A copy at *root*; with *variables* in its environment Python imports the project from there."""

    root: Path
    variables: dict[str, str]

    def test(self, tests: Sequence[str]) -> Outcome:
        """Run *tests*, the whole default run where there are none, up to the first that fails."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:benchmark",
            "-p",
            "tests.mutations.unshrunk",
            *tests,
        ]
        environment = os.environ | self.variables
        done = subprocess.run(command, cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        return Outcome(done.returncode, done.stdout + done.stderr)


@contextmanager
def copied(*, without_compiler: bool) -> Iterator[Copy]:
    """Copy the project for as long as the context lasts.

    Machine code of kernels is linked to the copy: what is compiled from a fault displaces nothing of the project's own.
    """
    with tempfile.TemporaryDirectory() as folder:
        root, code = Path(folder) / ROOT.name, Path(folder) / "code"
        shutil.copytree(ROOT, root, symlinks=True, ignore=_NOT_COPIED)
        variables = {"PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(code)}
        if without_compiler:
            variables["NUMBA_DISABLE_JIT"] = "1"
        elif (kept := store.folder()) is not None:
            shutil.copytree(kept, code / "tiersim" / "kernels", copy_function=_link)
        yield Copy(root, variables)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
