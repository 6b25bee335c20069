"""One allowance of requests that several servers share: a library that their processes load, and a file that says how
much it is and who took of it.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.commands import run

_HERE = Path(__file__).parent
_LAST, _TOKENS, _SLICE_NS, _ROOM, _USED = range(5)
_HEAD = np.dtype((np.int64, 8))
_ROW = np.dtype([("came_ns", "i8"), ("granted_ns", "i8"), ("done_ns", "i8"), ("tenant", "u4"), ("kind", "u4")])
#: What a request is, by its number.
KINDS = ("read", "write", "flush")
_ROWS = 1 << 21


@dataclass(frozen=True)
class Allowance:
    """The file that processes share; times are those of the monotonic clock."""

    path: Path
    library: Path

    @classmethod
    def make(cls, folder: Path) -> "Allowance":
        """Compile the library, and make a file that limits nothing; raises BenchError."""
        made = cls(folder / "allowance", folder / "allowance.so")
        run(["cc", "-O2", "-Wall", "-shared", "-fPIC", "-o", str(made.library), str(_HERE / "allowance.c")])
        with made.path.open("wb") as file:
            file.truncate(_HEAD.itemsize + _ROWS * _ROW.itemsize)
        os.chmod(made.path, 0o666)  # servers run as another user
        made.library.chmod(0o755)
        return made

    def environment(self, tenant: int) -> dict[str, str]:
        """Return what a server that is to be limited needs to be started with."""
        return {"LD_PRELOAD": str(self.library), "TIERSIM_ALLOWANCE": str(self.path), "TIERSIM_TENANT": str(tenant)}

    def limit(self, tokens: int, slice_ns: int) -> None:
        """Let so many requests pass in each slice of time; 0: as many as come, and these are not noted."""
        head = self._head()
        head[_SLICE_NS], head[_ROOM] = slice_ns, _ROWS
        head[_TOKENS] = tokens  # the last: it is looked at first

    def requests(self) -> NDArray[np.void]:
        """Return what was limited so far, in the order in which it was granted."""
        used = min(int(self._head()[_USED]), _ROWS)
        rows = np.memmap(self.path, _ROW, "r", _HEAD.itemsize, (_ROWS,))
        found: NDArray[np.void] = np.array(rows[:used])
        return found

    def _head(self) -> "np.memmap[tuple[int], np.dtype[np.int64]]":
        return np.memmap(self.path, np.int64, "r+", 0, (8,))
