"""A plugin of pytest that notes which lines of kernels run, in the folder ``TIERSIM_LINES_OUT``; a test ends after
``TIERSIM_LINES_SECONDS``, whatever it has shown by then.
"""

import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.same.lines import kernel_lines

_SECONDS = float(os.environ.get("TIERSIM_LINES_SECONDS") or 0)
_kernels = {str(path): lines for path, lines in kernel_lines().items()}
_ran: dict[str, set[int]] = {name: set() for name in _kernels}
#: Lines of each function that have not run yet; nothing of functions that are no kernels.
_left: dict[CodeType, set[int]] = {}


class _TimeIsUpError(BaseException):
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


def _stop(*_: object) -> None:
    raise _TimeIsUpError


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Follow a test, and end it when its time is up."""
    sys.settrace(_calls)  # Python stops looking when the time is up within what looks
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def pytest_configure() -> None:
    """Begin to look."""
    sys.settrace(_calls)


def pytest_unconfigure() -> None:
    """Write down what ran."""
    sys.settrace(None)
    lines = [f"{name}\t{' '.join(map(str, sorted(ran)))}" for name, ran in _ran.items() if ran]
    folder = Path(os.environ["TIERSIM_LINES_OUT"])
    (folder / f"{os.getpid()}.lines").write_text("\n".join(lines), encoding="utf-8")
