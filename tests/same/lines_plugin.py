"""A plugin of pytest that notes which lines of kernels run, in the folder ``TIERSIM_LINES_OUT``; a test ends when
it has run no further one for ``TIERSIM_LINES_SECONDS`` of CPU, whatever it has shown by then, and a file of tests when
its last ones have run none for five times as long.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.same.lines import kernel_lines

_SECONDS = float(os.environ.get("TIERSIM_LINES_SECONDS") or 0)
_OF_FILE = 5 * _SECONDS or float("inf")
#: How long the last tests of a file ran no new line, in seconds of CPU.
_idle: dict[Path, float] = {}
_kernels = {str(path): lines for path, lines in kernel_lines().items()}
_ran: dict[str, set[int]] = {name: set() for name in _kernels}
#: Lines of each function that have not run yet; nothing of functions that are no kernels.
_left: dict[CodeType, set[int]] = {}


class _NothingNewError(BaseException):
    """Ends a test: no Exception, which property tests would take for a failure and look for a smaller one."""


def _lines_of(code: CodeType) -> set[int]:
    """Return the lines of a kernel that have not run."""
    name = os.path.realpath(code.co_filename)
    if name not in _kernels:
        return set()
    return {line for *_, line in code.co_lines() if line is not None} & _kernels[name] - _ran[name]


def _calls(frame: FrameType, event: str, argument: Any) -> Any:
    """Follow a call as long as one of the lines has not run."""
    code = frame.f_code
    left = _left.get(code)
    if left is None:
        left = _left[code] = _lines_of(code)
    return _lines if left else None


def _lines(frame: FrameType, event: str, argument: Any) -> Any:
    left = _left[frame.f_code]
    if event == "line" and frame.f_lineno in left:
        left.discard(frame.f_lineno)
        _ran[os.path.realpath(frame.f_code.co_filename)].add(frame.f_lineno)
    return _lines if left else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out the rest of a file."""
    if _idle.get(item.path, 0.0) >= _OF_FILE:
        pytest.skip("its file runs no new lines")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Follow a test, and end it when it runs no new lines; it has not failed then, whatever that made of it."""
    sys.settrace(_calls)  # Python stops looking when a test ends within what looks
    before, ended = signal.getsignal(signal.SIGPROF), False
    first = known = _count()
    begun_s = time.process_time()

    def look(*_: object) -> None:
        nonlocal known, ended
        now = _count()
        known, ended = now, ended or now == known
        if ended:  # also when something swallowed that it has, such as a function that C calls
            raise _NothingNewError

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS, _SECONDS)
    try:
        return (yield)
    except BaseException:
        if not ended:
            raise
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        took_s = time.process_time() - begun_s
        _idle[item.path] = _idle.get(item.path, 0.0) + took_s if _count() == first else 0.0


def _count() -> int:
    """Return how many lines have run."""
    return sum(map(len, _ran.values()))


def pytest_configure() -> None:
    """Begin to look, also in threads that tests begin."""
    sys.settrace(_calls)
    threading.settrace(_calls)


def pytest_unconfigure() -> None:
    """Write down what ran."""
    sys.settrace(None)
    lines = [f"{name}\t{' '.join(map(str, sorted(ran)))}" for name, ran in _ran.items() if ran]
    folder = Path(os.environ["TIERSIM_LINES_OUT"])
    (folder / f"{os.getpid()}.lines").write_text("\n".join(lines), encoding="utf-8")
