"""Two clocks of a host at one moment, as a recording notes them: ``realtime_ns N`` and ``monotonic_ns N``
(``clock_gettime``).
"""

import re
from pathlib import Path

from tiersim.errors import TraceError
from tiersim.traces.readers.opened import Opened
from tiersim.traces.readers.recorded import Recorded, text_of
from tiersim.traces.readers.timestamps import LATEST_NS

_CLOCKS = re.compile(r"\s*realtime_ns (\d{1,19})\s+monotonic_ns (\d{1,19})\s*")


def looks_like_clock(text: str) -> bool:
    """Tell whether a file that begins so notes both clocks."""
    return _CLOCKS.fullmatch(text) is not None


def read_clock(path: Path, source: Opened, recorded: Recorded) -> None:
    """Add what lies between both clocks; raises TraceError when the file does not note both."""
    found = _CLOCKS.fullmatch(text_of(source))
    if found is None or max(map(int, found.groups())) >= LATEST_NS:
        raise TraceError(f"{path}: does not note both clocks; write a line 'realtime_ns N' and a line 'monotonic_ns N'")
    recorded.monotonic_to_unix_ns = int(found[1]) - int(found[2])
