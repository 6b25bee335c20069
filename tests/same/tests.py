"""Runs tests of a tree with a plugin that notes something."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_tests(tree: Path, plugin: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run the tests of *tree* in up to four processes, with the packages of this interpreter; returns the last line
    that pytest printed.
    """
    workers = min(len(os.sched_getaffinity(0)), 4)
    command = [sys.executable, "-m", "pytest", "-q", "-p", f"tests.same.{plugin}"]
    command += ["-p", "no:benchmark", "-p", "no:cacheprovider", f"--numprocesses={workers}"]
    ended = subprocess.run(
        [*command, *arguments], check=False, cwd=tree, env=os.environ | environment, capture_output=True, text=True
    )
    return (ended.stdout.strip().splitlines() or [ended.stderr.strip()[-1000:]])[-1]
