"""Looks for small files that reach lines of a reader that no other reaches, and keeps them for being damaged.

    NUMBA_DISABLE_JIT=1 python -m tests.fuzz.grow --format msr --executions 3000 [FILE...]

Begins with what is kept already and with the files that are given, damages them, and keeps what reaches more, made
smaller as long as it still does. With the JIT off the lines of kernels count, too.
"""

import argparse
import random
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.corpus import corpus, keep
from tests.fuzz.damage import Drawn, damaged, words_of
from tests.fuzz.executions import Reading, reading
from tests.fuzz.structure import CHANGED
from tests.fuzz.targets import TARGETS

Lines = frozenset[tuple[CodeType, int]]
#: A whole file is cut into pieces when it is made smaller, and these halved, so many times.
_HALVINGS = 6


class Reach:
    """Finds which lines of the project a file reaches."""

    def __init__(self, place: Reading, key: str) -> None:
        """Look at the reader of a format."""
        self._place, self._key = place, key
        self._files: dict[str, bool] = {}
        self._seen: set[tuple[CodeType, int]] = set()

    def of(self, data: bytes) -> Lines:
        """Return the lines that are run when *data* are read; none where a fault is found, which others look for."""
        self._seen = set()
        sys.settrace(self._call)
        try:
            execution = self._place.execute(self._key, data, through=False)
        finally:
            sys.settrace(None)
        return frozenset() if execution.fault else frozenset(self._seen)

    def _call(self, frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        if name not in self._files:
            self._files[name] = "/tiersim/" in name or any(
                f"/{part}/" in name for part in ("traces", "devices", "scenarios", "cli")
            )
        return self._line if self._files[name] else None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line":
            self._seen.add((frame.f_code, frame.f_lineno))
        return self._line


def smaller(data: bytes, wanted: Lines, reach: Reach) -> bytes:
    """Return *data* without pieces that it does not need to reach all that is *wanted*."""
    size = max(len(data) // 2, 1)
    for _ in range(_HALVINGS):
        at = 0
        while at < len(data):
            shorter = data[:at] + data[at + size :]
            if wanted <= reach.of(shorter):
                data = shorter
            else:
                at += size
        if size == 1:
            break
        size = max(size // 2, 1)
    return data


def grown(key: str, files: list[bytes], executions: int, seed: int) -> list[bytes]:
    """Return files of a format that together reach what *files* and their damaged descendants reach, small ones."""
    chance = random.Random(f"{key} {seed}")
    words = words_of(files)
    kept: list[bytes] = []
    reached: set[tuple[CodeType, int]] = set()
    with reading() as place:
        reach = Reach(place, key)
        for data in files:  # what is made once is no merit of the first
            reach.of(data)

        def take(data: bytes) -> None:
            new = reach.of(data) - reached
            if new:
                small = smaller(data, new, reach)
                reached.update(reach.of(small))
                kept.append(small)

        for data in sorted(files, key=len):
            take(data)
        for _ in range(executions):
            drawn = Drawn(chance, chance.choice(kept), words)
            change = CHANGED[key] if key in CHANGED and chance.randrange(2) else damaged
            take(change(chance.choice(kept), drawn))
    return kept


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.grow", description="Look for files that reach more.")
    parser.add_argument("--format", required=True, choices=sorted(TARGETS))
    parser.add_argument("--executions", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    files = [*corpus(options.format), *(path.read_bytes() for path in options.files)]
    found = grown(options.format, files, options.executions, options.seed)
    keep(options.format, found)
    print(f"{options.format}: {len(found)} files of {sum(map(len, found)):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
