"""Lists of frames of a pool, threaded through arrays: a ring whose head stands behind the frames.

From the head, ``newer`` leads to the frame that came first and ``older`` to the one that came last. A frame that is in
no list may hold anything.
"""

from typing import Any

from numpy.typing import NDArray

from tiersim.kernel import kernel


@kernel
def _push(newer: NDArray[Any], older: NDArray[Any], head: int, frame: int) -> None:
    """Put a frame at the new end of a list."""
    second = older[head]
    older[head] = frame
    newer[frame] = head
    older[frame] = second
    newer[second] = frame


@kernel
def _unlink(newer: NDArray[Any], older: NDArray[Any], frame: int) -> None:
    """Take a frame out of the list that it is in."""
    newer[older[frame]] = newer[frame]
    older[newer[frame]] = older[frame]
