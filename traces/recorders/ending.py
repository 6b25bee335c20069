"""Recordings that somebody may end at any time: Ctrl-C and SIGTERM are a wish to end, and what was recorded stays."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType

from tiersim.operating_system import ending_signals

#: After a signal others are let go by for so long: somebody who presses Ctrl-C twice must not stop what puts things
#: back.
_PUTTING_BACK_S = 2.0


@contextmanager
def ended_by_signals() -> Iterator[Event]:
    """Yield what is set by the first SIGINT, SIGTERM or SIGHUP; one that comes 2 s later, or more, raises
    KeyboardInterrupt.

    Signals that are ignored (nohup) stay so. To be called in the main thread.
    """
    ended = Event()
    deaf_until = 0.0

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal deaf_until
        if time.monotonic() < deaf_until:
            return
        deaf_until = time.monotonic() + _PUTTING_BACK_S
        if ended.is_set():
            raise KeyboardInterrupt
        ended.set()

    before = {number: signal.getsignal(number) for number in ending_signals()}
    heard = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heard:
        signal.signal(number, end)
    try:
        yield ended
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
