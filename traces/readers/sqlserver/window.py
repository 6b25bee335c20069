"""A window that goes over the bytes of a file, however long it is."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tiersim.traces.readers.opened import Opened

#: So much is read at a time.
CHUNK_BYTES = 4 << 20


class Window:
    """Some bytes of a file, ``data``, of which the first is at ``offset`` of the whole; ``final``
    when no more follow.
    """

    def __init__(self, source: Opened) -> None:
        """Begin with the first bytes of *source*."""
        self.data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.offset = 0
        self.final = False
        self._source = source
        self.advance(0)

    def advance(self, done: int) -> None:
        """Leave the first *done* bytes behind and read on: a chunk, or as much as is there already
        when that is more.
        """
        pieces = [self.data[done:].tobytes()]
        wanted = max(CHUNK_BYTES, len(pieces[0]))
        while wanted > 0 and not self.final:
            piece = self._source.read()
            self.final = not piece
            pieces.append(piece)
            wanted -= len(piece)
        self.data = np.frombuffer(b"".join(pieces), np.uint8)
        self.offset += done

    def read_on(self, at: int, take: Callable[["Window", int], int]) -> None:
        """Hand the file over from *at* on: *take* gets this and a place in it, and returns how far it came."""
        at = take(self, at)
        while not self.final:
            self.advance(at)
            at = take(self, 0)
