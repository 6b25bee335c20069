"""Faults that were found: the first file of each kind is kept, with its traceback, and all are counted."""

import hashlib
import sys
from pathlib import Path

from tests.fuzz.executions import Execution


class Faults:
    """Keeps files that a fault was found with in a folder, which appears with the first."""

    def __init__(self, folder: Path) -> None:
        """Keep files in *folder*."""
        self._folder = folder
        self._found: dict[str, int] = {}

    def take(self, execution: Execution, seed: int) -> None:
        """Count the fault of an execution, if there is one."""
        fault = execution.fault
        if not fault:
            return
        if fault not in self._found:
            path = self._folder / f"{execution.key}-{hashlib.blake2b(fault.encode(), digest_size=4).hexdigest()}"
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_bytes(execution.data)
            path.with_name(f"{path.name}.txt").write_text(f"{fault}\n{execution.trace}", encoding="utf-8")
            print(f"{execution.key}, seed {seed}, kept as {path}: {fault}", file=sys.stderr, flush=True)
        self._found[fault] = self._found.get(fault, 0) + 1

    def report(self) -> int:
        """Print how often each was found; return the exit code, 1 when there is any."""
        for fault, count in sorted(self._found.items()):
            print(f"{count:,} × {fault}", flush=True)
        return 1 if self._found else 0
