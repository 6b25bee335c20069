"""What can go wrong at the edges, each as one sentence for the person who gave the input.

Exception
└── TiersimError            the message names the file, the place in it, the value and the remedy
    ├── TraceError          a trace or bundle that cannot be read, or does not say what it must
    │   └── NoRequestError  a recording of a device that is intact and has no request
    ├── ScenarioError       a scenario or device file with a mistake in it
    ├── RecordingError      a server or device that cannot be recorded
    └── OutputError         a result that cannot be written where it was asked for
"""

import difflib
import os
from collections.abc import Iterable


class TiersimError(Exception):
    """A mistake in the input; ``str(error)`` is all that the user needs to see."""


class TraceError(TiersimError):
    """A trace or bundle that cannot be read."""


class NoRequestError(TraceError):
    """A recording of a device that is intact and has no request."""


class ScenarioError(TiersimError):
    """A scenario or device description with a mistake in it."""


class RecordingError(TiersimError):
    """A server or device that cannot be recorded, or stopped to be there."""


class OutputError(TiersimError):
    """An output that cannot be written."""


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the known name nearest to *value*, or an empty string."""
    near = difflib.get_close_matches(value, list(known), 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def reason(error: OSError) -> str:
    """Say why the operating system refused, without its number."""
    if error.errno:
        return os.strerror(error.errno).lower()
    return "no such file or directory" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
