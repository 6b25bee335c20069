"""A plugin of pytest that notes which lines of kernels run, of the files that have any, in the folder
``TIERSIM_LINES_OUT``.
"""

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from tests.same.lines import kernel_lines

_left: dict[str, set[int]] = {str(path): set(lines) for path, lines in kernel_lines().items()}
_ran: dict[str, set[int]] = {name: set() for name in _left}
_resolved: dict[str, str] = {}


def _file(name: str) -> str:
    if name not in _resolved:
        _resolved[name] = os.path.realpath(name)
    return _resolved[name]


def _calls(frame: FrameType, event: str, argument: Any) -> Any:
    """Follow a call into a file that has kernels, as long as one of its lines has not run."""
    name = _file(frame.f_code.co_filename)
    left = _left.get(name)
    if not left:
        return None
    first = frame.f_code.co_firstlineno
    last = max((line for *_, line in frame.f_code.co_lines() if line is not None), default=first)
    return _lines if any(first <= line <= last for line in left) else None


def _lines(frame: FrameType, event: str, argument: Any) -> Any:
    if event == "line":
        name = _file(frame.f_code.co_filename)
        _ran[name].add(frame.f_lineno)
        _left[name].discard(frame.f_lineno)
    return _lines


def pytest_configure() -> None:
    """Begin to look."""
    sys.settrace(_calls)


def pytest_unconfigure() -> None:
    """Write down what ran."""
    sys.settrace(None)
    worker = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    lines = [f"{name}\t{' '.join(map(str, sorted(ran)))}" for name, ran in _ran.items() if ran]
    (Path(os.environ["TIERSIM_LINES_OUT"]) / f"{worker}.lines").write_text("\n".join(lines), encoding="utf-8")
