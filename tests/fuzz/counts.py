"""Counts of executions: noted while they go on, so that what was stopped has been done all the same, and summed up."""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.executions import Execution
from tiersim.kernel import jit_enabled

#: Seconds between notes.
_NOTED_S = 20.0


@dataclass
class Count:
    """How many files of a format were read, and what came of it."""

    executions: int = 0
    refused: int = 0
    faults: int = 0
    cpu_s: float = 0.0

    def __str__(self) -> str:
        """Return it as a sentence."""
        rate = self.executions / self.cpu_s if self.cpu_s else 0
        return (
            f"{self.executions:,} damaged files read, {self.refused:,} refused, {self.faults:,} with a fault,"
            f" {rate:,.0f}/s"
        )

    def add(self, other: "Count") -> None:
        """Add another count."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Noted:
    """Counts the executions of one process, and adds them to a file that others add to as well."""

    def __init__(self, version: str, key: str, seed: int, path: Path | None) -> None:
        """Note executions of *version* of the reader of a format in *path*, a JSON object a line;
        nowhere without it.
        """
        self.total = Count()
        self._facts = {"format": key, "version": version, "seed": seed, "jit": jit_enabled()}
        self._path = path
        self._new = Count()
        self._begun_s, self._noted_s = time.process_time(), time.monotonic()

    @property
    def executions(self) -> int:
        """How many were counted."""
        return self.total.executions + self._new.executions

    def add(self, execution: Execution) -> None:
        """Count one."""
        self._new.executions += 1
        self._new.refused += execution.refused
        self._new.faults += bool(execution.fault)
        if not self._new.executions % 256 and time.monotonic() > self._noted_s + _NOTED_S:
            self.write()

    def write(self) -> None:
        """Note what was counted since the last note."""
        now_s = time.process_time()
        self._new.cpu_s = round(now_s - self._begun_s, 3)
        self._begun_s, self._noted_s = now_s, time.monotonic()
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:  # a line at once: other processes write there
                file.write(json.dumps({**self._facts, **vars(self._new)}) + "\n")
        self.total.add(self._new)
        self._new = Count()


@dataclass
class Summed:
    """What was done with one format."""

    all: Count = field(default_factory=Count)
    by_version: dict[str, Count] = field(default_factory=dict)
    seeds: set[int] = field(default_factory=set)


def summed(paths: Iterable[Path]) -> dict[str, Summed]:
    """Return the sums of what is noted in files, by format; executions with compiled kernels have one of their own."""
    sums: dict[str, Summed] = {}
    for line in _lines(paths):
        noted = json.loads(line)
        count = Count(*(noted[name] for name in ("executions", "refused", "faults", "cpu_s")))
        of = sums.setdefault(noted["format"] + " (compiled)" * noted["jit"], Summed())
        of.all.add(count)
        of.by_version.setdefault(noted["version"], Count()).add(count)
        of.seeds.add(noted["seed"])
    return sums


def _lines(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        yield from path.read_text(encoding="utf-8").splitlines()
